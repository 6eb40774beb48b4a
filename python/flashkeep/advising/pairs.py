"""The same requests with and without a failure: those that arrive while a member is missing, or is rebuilt."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..results.result import Requests

KINDS = {"read": 0, "write": 1}
"""Operations, and their codes in a table of requests."""
SHARES = {"p50": 0.5, "p99": 0.99, "p99_9": 0.999}
PHASES = ("degraded", "rebuilding")


def pairs(healthy: Requests, failed: Requests, phases: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Response times in the run with a failure and, of the same requests, in the run without one, by phase and
    operation; none if the runs did not admit the same requests. The run with the failure may end earlier."""
    if any(failed.memory(column) != healthy.memory(column)[: len(failed)] for column in ("offset", "op")):
        return None
    arrivals, kinds = failed.memory("arrival_ns"), failed.memory("op")
    times = failed.memory("response_ns"), healthy.memory("response_ns")
    found: dict[str, Any] = {}
    for name in PHASES:
        spans = [
            range(bisect_left(arrivals, _ns(phase["from_s"])), bisect_left(arrivals, _ns(phase["until_s"])))
            for phase in phases if phase["phase"] == name
        ]  # fmt: skip
        found[name] = None if not spans else {
            kind: _pair([at for span in spans for at in span if kinds[at] == code], *times)
            for kind, code in KINDS.items()
        }  # fmt: skip
    return found


def _pair(numbers: Sequence[int], failed: memoryview[Any], healthy: memoryview[Any]) -> dict[str, Any]:
    return {
        "requests": len(numbers), **_times([failed[at] for at in numbers]),
        "healthy": _times([healthy[at] for at in numbers]),
    }  # fmt: skip


def _times(times: list[int]) -> dict[str, float | None]:
    """Mean and percentiles (nearest rank), µs; none that fewer requests than it divides would decide."""
    times.sort()
    count = len(times)
    found: dict[str, float | None] = {"mean": sum(times) / count / 1000 if count else None}
    for name, share in SHARES.items():
        enough = count and count * (1 - share) > 1 - 1e-9
        found[name] = times[math.ceil(share * count - 1e-9) - 1] / 1000 if enough else None
    return found


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
