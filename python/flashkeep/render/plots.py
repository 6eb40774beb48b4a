"""The figures of `flashkeep report` for results in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..extras import need

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..choices import Figure
    from ..results.result import Result


def plot(results: Sequence[Result], figure: Figure, labels: Sequence[str] | None = None) -> Any:
    """A figure of matplotlib, which notebooks show."""
    need("plot()", "reports", "matplotlib")
    from ..results.folder_results import Found, name_apart
    from . import figures, report_figures
    from .report import AT_MOST

    known = {each.__name__: each for each in report_figures.FIGURES}
    if figure not in known:
        raise ValueError(f"figure: found {figure!r}; accepted: {', '.join(known)}")
    runs = [Found(result.to_dict(), None) for result in results[:AT_MOST]]
    name_apart(runs)
    for run, result, label in zip(runs, results, labels or [run.label for run in runs], strict=False):
        run.label = label
        run.requests = _requests(result) if figure in ("distributions", "over_time") else None
        run.series = result.series() if figure == "over_time" and result.has_series() else None
    picture, why_not = known[figure](runs, "")
    if picture is None:
        raise ValueError(why_not)
    return figures.shown(picture)


def _requests(result: Result) -> Any:
    """The requests as the figures of a report take them."""
    import numpy as np

    from .report_tables import Requests

    if not result.has_requests() or not len(result.requests()):
        return None
    kept = result.requests()
    order = np.argsort(kept["arrival_ns"], kind="stable")
    op = kept["op"][order]
    kinds = {"reads": op == 0, "writes": op == 1}
    return Requests(kept["arrival_ns"][order].astype(np.int64), kept["response_ns"][order].astype(np.int64), kinds)
