"""What a sweep would do: the number of its cells, those that are refused, and how long it would take."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _flashkeep
from ..api import simulate
from ..cli.runner import StoppedError, Threads
from .cells import cells_of
from .folder import stored
from .local import cores
from .run import to_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .cells import Cell
    from .plan import Plan

SAMPLE = 6
"""Cells that are begun, spread over the plan."""
SAMPLE_S = 1.0
"""Seconds of replay for each of them."""
PREPARING_S = 15.0
"""The longest time for what comes before the replay, such as the conditioning of a drive."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a sweep would do."""

    cells: int
    done: int
    to_run: int
    refused: Sequence[tuple[Cell, str]]
    seconds: float | None
    """With the workers given; none if there is nothing to run, or nothing could be sampled."""
    workers: int

    def to_dict(self) -> dict[str, Any]:
        """The same for `--json`."""
        refused = [{**cell.labels, "cell": cell.name, "error": error} for cell, error in self.refused]
        return {"cells": self.cells, "done": self.done, "to_run": self.to_run, "refused": refused,
                "estimate_s": self.seconds, "workers": self.workers}  # fmt: skip


def estimate(plan: Plan, out: str, workers: int | None) -> Estimate:
    """Checks all cells, and begins a few of those without a result."""
    cells = cells_of(plan)
    refused = [(cell, cell.refused) for cell in cells if cell.refused is not None]
    finished = stored(out)[0]
    missing = to_run(cells, finished)
    count = workers or cores()
    sample = missing[:: max(1, len(missing) // SAMPLE)][:SAMPLE]
    times: list[float] = []
    for cell, (seconds, error) in zip(sample, Threads(lambda at: _time_of(sample[at]), len(sample)).run(
            min(count, cores()), lambda: None), strict=True):  # fmt: skip
        if error is not None:
            refused.append((cell, error))
        elif seconds is not None:
            times.append(seconds)
    seconds = sum(times) / len(times) * len(missing) / min(count, len(missing)) if times else None
    done = sum(cell.name in finished for cell in cells)
    return Estimate(len(cells), done, len(missing), refused, seconds, count)


def _time_of(cell: Cell) -> tuple[float | None, str | None]:
    """The seconds that a cell would take, from its beginning; or why it is refused."""
    started = replayed = time.monotonic()
    share = 0.0

    def progress(_requests: int, done: float | None, _simulated_ns: int) -> None:
        nonlocal share, replayed
        now = time.monotonic()
        if not done:
            replayed = now
        share = done or 0.0
        if now - replayed > SAMPLE_S or replayed - started > PREPARING_S:
            raise StoppedError

    try:
        simulate(dict(cell.job), progress, None, cell.in_memory)
        share = 1.0
    except StoppedError:
        pass
    except (_flashkeep.DriveError, _flashkeep.TraceError, _flashkeep.OptionError) as refusal:
        return None, str(refusal)
    preparing, replaying = replayed - started, time.monotonic() - replayed
    return (preparing + replaying / share if share > 0 else None), None
