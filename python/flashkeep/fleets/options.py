"""What is asked of the model: options, their defaults, and those that exclude each other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .._flashkeep import OptionError

METHODS = ("auto", "exact", "plain", "biasing", "splitting")
ORDERS = ("parallel", "serial")
SECTOR_BYTES = 4096
"""What a latent error loses."""

DEFAULT_AFR = 0.01
DEFAULT_MTTR = "24"
DEFAULT_RESTOCK = "24"


@dataclass(frozen=True)
class Options:
    """The options, by the names of the command line. None stands for the default."""

    years: float | None = None
    groups: int | None = None
    afr: float | str | None = None
    life: str | None = None
    uber: float | str | None = None
    mttr_hours: float | str | None = None
    rebuild: str | None = None
    repair: str | None = None
    detect_hours: float | str | None = None
    spares: int | None = None
    restock_hours: float | str | None = None
    latent_hours: float | str | None = None
    scrub_hours: float | str | None = None
    batch_frailty: float | str | None = None
    shock: float | str | None = None
    price: str | None = None
    method: str | None = None
    rel_error: float | str | None = None
    samples: int | None = None
    threads: int | None = None
    seed: int | None = None

    def check(self) -> None:
        """Refuses options that exclude each other, and words that are not known."""
        for one, other, why in (
            ("afr", "life", "both say how long drives live"),
            ("uber", "latent_hours", "both are models of latent errors: errors per bit read, or errors that arise with "
             "time"),
            ("mttr_hours", "rebuild", "both say how long a repair takes"),
        ):  # fmt: skip
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise OptionError(f"{_flag(one)} and {_flag(other)}: {why}; give one of them")
        for one, needed, why in (
            ("scrub_hours", "latent_hours", "scrubbing removes errors that arise with time"),
            ("restock_hours", "spares", "without a number of spares there is always one"),
        ):
            if getattr(self, one) is not None and getattr(self, needed) is None:
                raise OptionError(f"{_flag(one)}: has no effect without {_flag(needed)}: {why}")
        for name, accepted in (("method", METHODS), ("repair", ORDERS), ("rebuild", ("simulated",))):
            found = getattr(self, name)
            if found is not None and found not in accepted:
                raise OptionError(f"{_flag(name)}: found {found!r}; {' or '.join(accepted)} is accepted")

    def of_model(self) -> dict[str, Any]:
        """The options as the model takes them, defaults filled in."""
        self.check()
        afr = None if self.life is not None else self._share("afr", DEFAULT_AFR, 1e-9, 0.999999)
        spares = self._whole("spares", None, 0, 1000)
        latent = self._number("latent_hours", None, 1.0, 1e12)
        return {
            "years": self._number("years", 5.0, 1e-3, 100.0),
            "groups": self._whole("groups", 1, 1, 10**12),
            "afr": afr,
            "life": self.life,
            "mttr_hours": str(DEFAULT_MTTR if self.mttr_hours is None else self.mttr_hours),
            "repair": self.repair or ORDERS[0],
            "detect_hours": None if self.detect_hours in (None, 0, "0") else str(self.detect_hours),
            "spares": spares,
            "restock_hours": None if spares is None else str(self.restock_hours or DEFAULT_RESTOCK),
            "uber": None if latent is not None else self._number("uber", 0.0, 0.0, 1.0),
            "latent_hours": latent,
            "scrub_hours": None if self.scrub_hours is None else str(self.scrub_hours),
            "batch_frailty": self._number("batch_frailty", 0.0, 0.0, 100.0),
            "shock": self._share("shock", 0.0, 0.0, 1.0),
            "method": self.method or METHODS[0],
            "rel_error": self._share("rel_error", 0.01, 1e-6, 1.0),
            "samples": self._whole("samples", 10_000_000, 1, 10**15),
            "seed": self._whole("seed", 1, 0, 2**64 - 1),
        }

    def _number(self, name: str, usual: float | None, low: float, high: float) -> float | None:
        found = getattr(self, name)
        return usual if found is None else _within(name, found, _plain(found), low, high)

    def _share(self, name: str, usual: float, low: float, high: float) -> float:
        """A share, which may be a percentage."""
        found = getattr(self, name)
        if found is None:
            return usual
        if isinstance(found, str) and found.endswith("%"):
            return _within(name, found, _plain(found[:-1]) / 100, low, high)
        return _within(name, found, _plain(found), low, high)

    def _whole(self, name: str, usual: int | None, low: int, high: int) -> int | None:
        found = getattr(self, name)
        if found is None:
            return usual
        try:
            number = found.__index__()
        except AttributeError:
            number = None
        if number is None or isinstance(found, bool) or not low <= number <= high:
            raise OptionError(f"{_flag(name)}: found {found!r}; a whole number from {low} to {high} is accepted")
        return int(number)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _plain(found: Any) -> float:
    try:
        return float(found)
    except (TypeError, ValueError):
        return math.nan


def _within(name: str, found: object, number: float, low: float, high: float) -> float:
    if low <= number <= high:
        return number
    raise OptionError(f"{_flag(name)}: found {found!r}; a number from {low:g} to {high:g} is accepted")
