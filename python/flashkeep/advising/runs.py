"""The simulations of a design: a run without failures, and one in which a member fails and is replaced."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .._flashkeep import DriveError, OptionError, TraceError
from ..api import job_of, simulate
from ..cli.progress import State
from ..cli.runner import StoppedError, Threads
from ..fleets.rebuild import SAMPLE
from .pairs import pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..cli.progress import Display
    from ..inputs.traces import Trace
    from ..results.result import Requests
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
    paired: Mapping[str, Any] | None = None
    """The requests of the run with the failure beside the same ones of the run without it, by phase."""


class Ran(NamedTuple):
    """A run, or why there is none."""

    summary: Summary | None
    requests: Requests | None
    reason: str | None


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
        def simulated(begin: float, more: Mapping[str, Any]) -> Ran:
            """A run, which is the half of the design's work that begins at this share."""
            before = states[at].requests

            def progress(requests: int, share: float | None, _simulated_ns: int) -> None:
                if threads.stop:
                    raise StoppedError
                states[at].requests = before + requests
                states[at].share = None if share is None else begin + share / 2

            drive = designs[at].drive
            assert drive is not None
            job = job_of(drive, trace, seed, {"breakdown": False, **options, **more}, tolerances[at] > 0)
            summary, requests, _ = simulate(job, progress, None, trace.tables)
            return Ran(summary, requests, None)

        found = _both(designs[at], tolerances[at], simulated)
        states[at].share = 1.0
        return found

    # What survives more failures writes more, and takes longer: it begins first.
    order = sorted(range(len(designs)), key=lambda at: -tolerances[at])
    threads = Threads(lambda at: work(order[at]), len(designs))
    try:
        found: list[Simulated] = threads.run(workers, lambda: view.draw(states))
    finally:
        view.clear()
    of_design = dict(zip(order, found, strict=True))
    return [of_design[at] for at in range(len(designs))]


def _both(design: Design, tolerance: int, simulated: Callable[[float, Mapping[str, Any]], Ran]) -> Simulated:
    if design.drive is None:
        return Simulated(reason=design.reason)
    healthy, requests, reason = _tried(simulated, 0.0, {})
    if healthy is None:
        return Simulated(reason=reason)
    if not tolerance:
        return Simulated(healthy, failed_reason="no member may fail")
    wait_us = max(1, round(MISSING * 1e6 * healthy["simulated_s"]))
    fail = f"member:0@{100 * FAILED_AT:g}%,replace_after={wait_us}us"
    failed, others, reason = _tried(simulated, 0.5, {"fail": fail, "stop_rebuild": SAMPLE})
    paired = None if failed is None or not requests or not others else pairs(requests, others, failed["phases"])
    return Simulated(healthy, failed, failed_reason=reason, paired=paired)


def _tried(simulated: Callable[[float, Mapping[str, Any]], Ran], begin: float, more: Mapping[str, Any]) -> Ran:
    """A run, or why there is none: if one run ends with an error, the others are still worth their time."""
    try:
        return simulated(begin, more)
    except StoppedError:
        raise
    except (DriveError, OptionError, TraceError) as refusal:
        return Ran(None, None, str(refusal))
    except MemoryError as lack:
        return Ran(None, None, str(lack) or "out of memory")
    except Exception as failure:
        if "FLASHKEEP_TRACEBACK" in os.environ:
            raise
        return Ran(None, None, f"internal error, please report it: {type(failure).__name__}: {failure}")
