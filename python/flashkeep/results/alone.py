"""`--alone`: runs each flow of a job alone as well, and adds slowdowns and fairness to the summary of all of them."""

from __future__ import annotations

import json

from .. import _flashkeep
from .provenance import OUTPUTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..api import Progress

AT_ONCE = 2
"""Flows that run at a time."""


def add_slowdowns(
    summary: dict[str, Any],
    job: Mapping[str, Any],
    progress: Progress | None,
    tables: Sequence[tuple[str, bytes]],
) -> None:
    """Runs the flows, each on the same drive with the same seed; after an interrupted run there are no slowdowns."""
    from ..cli.runner import StoppedError, Threads

    if summary.get("interrupted"):
        return
    plain = {key: value for key, value in job.items() if key not in OUTPUTS}

    def run(number: int) -> float | None:
        def ends(*_: object) -> bool:
            if threads.stop:
                raise StoppedError
            return False

        text, _ = _flashkeep.run(json.dumps({**plain, "only_flow": number}), ends, None, list(tables), None)
        return mean(json.loads(text)["flows"][0])

    def tick() -> None:
        requests, simulated_s = summary["workload"]["requests"], summary["simulated_s"] or 0
        if progress is not None and progress(requests, 1.0, int(simulated_s * 1e9)) is True:
            raise StoppedError

    threads = Threads(run, len(summary["flows"]))
    try:
        alone = threads.run(AT_ONCE, tick)
    except StoppedError:
        return
    for flow, without in zip(summary["flows"], alone, strict=True):
        together = mean(flow)
        flow["slowdown"] = together / without if together is not None and without else None
    known = [flow["slowdown"] for flow in summary["flows"]]
    summary["fairness"] = None if None in known else min(known) / max(known)


def mean(flow: Mapping[str, Any]) -> float | None:
    """The mean response time of all requests of a flow, µs."""
    times = flow["response_us"]["all"]
    found: float | None = times and times["mean"]
    return found
