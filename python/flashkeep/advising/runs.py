"""The simulations of a design: a run without failures, and one in which a member fails and is replaced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._flashkeep import DriveError, OptionError, TraceError
from ..api import job_of, simulate
from ..progress import State
from ..runner import StoppedError, Threads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..progress import Display
    from ..traces import Trace
    from .designs import Design

    Summary = dict[str, Any]

FAILED_AT = 0.5
"""The share of the requests after which member 0 fails."""
MISSING = 0.1
"""The share of the time of the run without failures after which it is replaced."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """What became of a design: the summaries of both runs, or why there are none."""

    healthy: Summary | None = None
    failed: Summary | None = None
    reason: str | None = None
    failed_reason: str | None = None
    """Why there is no run with a failure, or none that says anything."""


def simulate_all(
    designs: Sequence[Design],
    tolerances: Sequence[int],
    trace: Trace,
    seed: int,
    options: Mapping[str, Any],
    workers: int,
    view: Display,
) -> list[Simulated]:
    """Simulates all designs that could be built, `workers` at a time. What one refuses does not end the others."""
    states = [State() for _ in designs]
    threads: Threads

    def work(at: int) -> Simulated:
        def progress(requests: int, share: float | None, _simulated_ns: int) -> None:
            if threads.stop:
                raise StoppedError
            states[at].requests, states[at].share = requests, share

        found = _both(designs[at], tolerances[at], trace, seed, options, progress)
        states[at].share = 1.0
        return found

    threads = Threads(work, len(designs))
    try:
        found: list[Simulated] = threads.run(workers, lambda: view.draw(states))
    finally:
        view.clear()
    return found


def _both(
    design: Design, tolerance: int, trace: Trace, seed: int, options: Mapping[str, Any], progress: Any
) -> Simulated:
    if design.drive is None:
        return Simulated(reason=design.reason)

    def summary(**more: Any) -> Summary:
        assert design.drive is not None
        job = job_of(design.drive, trace, seed, {"breakdown": False, **options, **more}, False)
        return simulate(job, progress, None, trace.tables)[0]

    try:
        healthy = summary()
    except (DriveError, OptionError, TraceError) as refusal:
        return Simulated(reason=str(refusal))
    if not tolerance:
        return Simulated(healthy, failed_reason="no member may fail")
    wait_us = max(1, round(MISSING * 1e6 * healthy["simulated_s"]))
    fail = f"member:0@{100 * FAILED_AT:g}%,replace_after={wait_us}us"
    try:
        return Simulated(healthy, summary(fail=fail))
    except (DriveError, OptionError, TraceError) as refusal:
        return Simulated(healthy, failed_reason=str(refusal))
