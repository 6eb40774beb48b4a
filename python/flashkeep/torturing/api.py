"""What `flashkeep torture` and `flashkeep.torture` do."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .campaign import Campaign, no_tick
from .shrink import shrink

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .campaign import Tick
    from .shrink import Small

CASES = 10_000
"""Cases that are tried if neither their number nor a time is given."""


@dataclass(frozen=True)
class TortureResult:
    """What a campaign of random cases has found."""

    small: Small
    campaign: Campaign
    stopped: type[BaseException] | None = None
    """What ended it early."""

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
            "interrupted": self.stopped is not None, "cpu_ms_per_case": self.cpu_ms_per_case, "wall_s": campaign.wall_s,
            "outcomes": dict(sorted(campaign.outcomes.items())), "coverage": dict(sorted(campaign.coverage.items())),
            "findings": self.findings,
        }  # fmt: skip


def torture_drive(
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
    tick: Tick = no_tick,
    stops: tuple[type[BaseException], ...] = (KeyboardInterrupt,),
) -> TortureResult:
    """Tries random cases of a drive. An exception of `stops` ends it with what was found until then."""
    from ..sweeping.local import cores

    campaign = Campaign(shrink(drive, overrides, text), seed, workers or cores())
    numbers: Iterable[int] = only or range(cases or CASES)
    if not only and cases is None and minutes is not None:
        numbers = itertools.count()
    stopped = None
    try:
        campaign.run(numbers, minutes, tick)
        campaign.reduce(keep)
    except stops as stop:
        stopped = type(stop)
    return TortureResult(campaign.small, campaign, stopped)
