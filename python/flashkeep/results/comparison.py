"""Runs of one workload on several drives, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from ..api import job_of
from ..cli.progress import display
from ..cli.runner import run_results
from ..render import table
from ..render.terminal import Page
from .result import Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..choices import Figure, Library
    from ..inputs.drive_files import Drive
    from ..inputs.traces import Trace


class Comparison:
    """Results side by side; changes are against the first."""

    __slots__ = ("labels", "results")

    def __init__(self, results: Sequence[Result], labels: Sequence[str]) -> None:
        if not results:
            raise ValueError("a comparison needs at least one result")
        self.results = tuple(results)
        self.labels = tuple(labels)

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    @overload
    def __getitem__(self, at: int | str) -> Result: ...

    @overload
    def __getitem__(self, at: slice) -> Comparison: ...

    def __getitem__(self, at: int | str | slice) -> Result | Comparison:
        """A result by its number or label; a slice is a comparison."""
        if isinstance(at, slice):
            return Comparison(self.results[at], self.labels[at])
        if isinstance(at, str):
            if at not in self.labels:
                raise KeyError(f"{at!r}; there are {', '.join(self.labels)}")
            at = self.labels.index(at)
        return self.results[at]

    def to_dict(self) -> dict[str, Any]:
        """The same as `flashkeep compare --json`."""
        return {"runs": [result.to_dict() for result in self.results]}

    def to_frame(self, library: Library | None = None) -> Any:
        """A data frame with a row for each run: its label in the column `run`, and its figures by dotted path."""
        from .figure_paths import frame

        rows = [{"run": label, **result.flat()} for label, result in zip(self.labels, self.results, strict=True)]
        return frame(rows, library)

    def plot(self, figure: Figure = "distributions") -> Any:
        """One of the figures of `flashkeep report`, of all runs, as a figure of matplotlib."""
        from ..render.plots import plot

        return plot(self.results, figure, self.labels)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Comparison, (self.results, self.labels))

    def __repr__(self) -> str:
        return table.compare_report(self._summaries(), Page())

    def _summaries(self) -> list[dict[str, Any]]:
        """The summaries, with the labels in the place of the drives' names."""
        summaries = [result.to_dict() for result in self.results]
        for summary, label in zip(summaries, self.labels, strict=True):
            summary["drive"]["name"] = label
        return summaries

    def _repr_html_(self) -> str:
        from ..render.html import comparison_page

        return comparison_page(self._summaries())


def compare_runs(
    trace: Trace | None,
    drives: Sequence[Drive],
    labels: Sequence[str] | None,
    seed: SupportsIndex,
    options: Mapping[str, Any],
    requests: bool,
    workers: int,
    progress: bool | None,
) -> Comparison:
    """Runs the workload on each drive."""
    if not drives:
        raise TypeError("compare needs at least one drive")
    if trace and "-" in trace.paths:
        raise ValueError("compare: each drive reads the trace anew, and standard input can be read only once")
    jobs = [job_of(drive, trace, seed, options, requests) for drive in drives]
    view, tables = display(progress), trace.tables if trace else None
    try:
        kept = [Result(*ended) for ended in run_results([(job, None) for job in jobs], workers, view, tables)]
    finally:
        view.clear()
    return Comparison(kept, labels or _labels(kept, drives))


def _labels(results: Sequence[Result], drives: Sequence[Drive]) -> list[str]:
    """The names of the drives, with what distinguishes drives of one name."""
    names = [str(result["drive"].to_dict().get("name") or "drive") for result in results]
    return [
        ", ".join((name, *drive.overrides)) if names.count(name) > 1 else name
        for name, drive in zip(names, drives, strict=True)
    ]
