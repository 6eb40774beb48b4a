"""What `flashkeep torture` and `fk.torture` do."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .campaign import Campaign
from .shrink import shrink

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .shrink import Small

CASES = 10_000
"""Cases that are tried if neither their number nor a time is given."""


@dataclass(frozen=True)
class TortureResult:
    """What a campaign of random cases has found."""

    small: Small
    campaign: Campaign
    interrupted: bool = False

    @property
    def findings(self) -> list[dict[str, Any]]:
        """The kinds of findings, each with its cases, and the command that runs the first one, reduced."""
        return [kept.to_dict() for _, kept in sorted(self.campaign.kinds.items())]

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.campaign.kinds

    @property
    def cpu_ms_per_case(self) -> float | None:
        """The mean cost of a case."""
        campaign = self.campaign
        return 1000 * campaign.cpu_s / campaign.cases if campaign.cases and campaign.cpu_s else None

    def to_dict(self) -> dict[str, Any]:
        """The result in JSON."""
        small, campaign = self.small, self.campaign
        return {
            "drive": small.drive, "set": list(small.overrides), "reduced": list(small.notes),
            "capacity_bytes": small.capacity * small.volumes, "seed": campaign.seed, "cases": campaign.cases,
            "interrupted": self.interrupted, "cpu_ms_per_case": self.cpu_ms_per_case, "wall_s": campaign.wall_s,
            "outcomes": dict(sorted(campaign.outcomes.items())), "coverage": dict(sorted(campaign.coverage.items())),
            "findings": self.findings,
        }  # fmt: skip


def torture(
    drive: str,
    overrides: Sequence[str] = (),
    text: str | None = None,
    *,
    cases: int | None = None,
    minutes: float | None = None,
    seed: int = 1,
    workers: int | None = None,
    only: Sequence[int] = (),
    keep: str = "",
    tick: Callable[[int, int], None] = lambda *_: None,
) -> TortureResult:
    """Tries random cases of a drive. Ctrl-C ends it with what was found until then."""
    from ..sweeping.local import cores

    small = shrink(drive, overrides, text)
    campaign = Campaign(small, seed, workers or cores())
    numbers = iter(only) if only else itertools.count() if cases is None and minutes is not None else iter(
        range(cases or CASES)
    )  # fmt: skip
    interrupted = False
    try:
        campaign.run(numbers, minutes, tick)
    except KeyboardInterrupt:
        interrupted = True
    if campaign.kinds and not interrupted:
        try:
            campaign.reduce(keep)
        except KeyboardInterrupt:
            interrupted = True
    return TortureResult(small, campaign, interrupted)
