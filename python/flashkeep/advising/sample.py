"""How much of a long workload is simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..inputs.traces import Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .designs import Drives

MOST_WRITTEN = 2**33
"""Bytes that the workload may write: each redundancy writes them several times, in two runs, with garbage collection.
The drives begin in a steady state, so that more requests say little more."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The requests that are simulated."""

    trace: Trace
    requests: int | None = None
    """Those of the whole workload, where these are only its first ones."""
    written: int = 0
    """The bytes that all of them write."""

    def notes(self) -> Iterator[str]:
        """That it is not the whole workload."""
        if self.requests is not None:
            yield (
                f"only the first {self.trace.options['limit']:,} of {self.requests:,} requests were simulated, because "
                f"all of them write {self.written / 2**30:.1f} GiB; --limit {self.requests} takes all"
            )


def sampled(trace: Trace, drives: Drives) -> Sample:
    """The workload, or its first requests if all of them write more than `MOST_WRITTEN` and no option says how many to
    take (`--limit`).

    Raises `TraceError` or `OptionError`.
    """
    if "limit" in trace.options:
        return Sample(trace)
    found = trace._info_on(",".join((drives.drive, *drives.overrides)))
    requests, written = found["requests"], found["written_bytes"]
    if written <= MOST_WRITTEN:
        return Sample(trace)
    limit = max(1, requests * MOST_WRITTEN // written)
    return Sample(Trace(trace.paths, {**trace.options, "limit": limit}, trace.tables), requests, written)
