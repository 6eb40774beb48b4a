"""Random streams by name: each decision has one of its own, so that a new decision changes none of the others."""

from __future__ import annotations

import random
from typing import Any


class Source:
    """The random streams of a case."""

    def __init__(self, seed: object) -> None:
        self.seed = seed

    def __call__(self, name: str) -> random.Random:
        return random.Random(f"{self.seed}/{name}")

    def pick(self, name: str, values: Any) -> Any:
        """One of the values."""
        return self(name).choice(values)

    def chance(self, name: str, share: float) -> bool:
        """True in that share of the cases."""
        return self(name).random() < share
