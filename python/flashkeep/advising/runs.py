"""The simulations of a design: a run without failures, and one in which a member fails and is replaced."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._flashkeep import DriveError, OptionError, TraceError
from ..api import job_of, simulate
from ..progress import State
from ..runner import StoppedError, Threads

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
    """Simulates all designs that could be built, `workers` at a time. What fails in one does not end the others."""
    states = [State() for _ in designs]
    threads: Threads

    def work(at: int) -> Simulated:
        def simulated(begin: float, more: Mapping[str, Any]) -> Summary:
            """A run, which is the half of the design's work that begins at this share."""
            before = states[at].requests

            def progress(requests: int, share: float | None, _simulated_ns: int) -> None:
                if threads.stop:
                    raise StoppedError
                states[at].requests = before + requests
                states[at].share = None if share is None else begin + share / 2

            drive = designs[at].drive
            assert drive is not None
            job = job_of(drive, trace, seed, {"breakdown": False, **options, **more}, False)
            return simulate(job, progress, None, trace.tables)[0]

        found = _both(designs[at], tolerances[at], simulated)
        states[at].share = 1.0
        return found

    threads = Threads(work, len(designs))
    try:
        found: list[Simulated] = threads.run(workers, lambda: view.draw(states))
    finally:
        view.clear()
    return found


def _both(design: Design, tolerance: int, simulated: Callable[[float, Mapping[str, Any]], Summary]) -> Simulated:
    if design.drive is None:
        return Simulated(reason=design.reason)
    healthy, reason = _tried(simulated, 0.0, {})
    if healthy is None:
        return Simulated(reason=reason)
    if not tolerance:
        return Simulated(healthy, failed_reason="no member may fail")
    wait_us = max(1, round(MISSING * 1e6 * healthy["simulated_s"]))
    failed, reason = _tried(simulated, 0.5, {"fail": f"member:0@{100 * FAILED_AT:g}%,replace_after={wait_us}us"})
    return Simulated(healthy, failed, failed_reason=reason)


def _tried(
    simulated: Callable[[float, Mapping[str, Any]], Summary], begin: float, more: Mapping[str, Any]
) -> tuple[Summary | None, str | None]:
    """The summary of a run, or why there is none: whatever ends one run, the others are still worth their time."""
    try:
        return simulated(begin, more), None
    except StoppedError:
        raise
    except (DriveError, OptionError, TraceError) as refusal:
        return None, str(refusal)
    except MemoryError as lack:
        return None, str(lack) or "out of memory"
    except Exception as failure:
        if "FLASHKEEP_TRACEBACK" in os.environ:
            raise
        return None, f"internal error, please report it: {type(failure).__name__}: {failure}"
