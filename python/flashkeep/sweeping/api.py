"""`fk.sweep`: a sweep from Python."""

from __future__ import annotations

import os
import tempfile
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, SupportsIndex

from ..cli.progress import State, display
from ..inputs.run_options import whole
from ..sweep_report.results import SweepResults
from .plan import plan_of, read_plan
from .run import sweep_plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from concurrent.futures import Executor

    from .run import Progress


def run_sweep(
    plan: str | os.PathLike[str] | Mapping[str, Any] | None,
    parts: Mapping[str, Any],
    out: str | os.PathLike[str] | None,
    workers: SupportsIndex | None,
    executor: Executor | None,
    progress: Progress | bool | None,
) -> SweepResults:
    """Runs a plan, which is a file, a mapping, or its parts; see `flashkeep.sweep`."""
    given = {key: value for key, value in parts.items() if value is not None}
    if plan is not None and given:
        raise TypeError(f"sweep takes a plan or its parts; {next(iter(given))!r} goes into the plan")
    read = read_plan(os.fspath(plan)) if isinstance(plan, (str, os.PathLike)) else plan_of(plan or given)
    count = whole("workers", workers, 1, 32)
    with _shown(progress) as show:
        if out is not None:
            sweep_plan(read, os.fspath(out), count, executor, show)
            return SweepResults(out)
        folder = tempfile.TemporaryDirectory(prefix="flashkeep-sweep-")
        try:
            sweep_plan(read, folder.name, count, executor, show)
            results = SweepResults(folder.name)
        except BaseException:
            folder.cleanup()
            raise
    weakref.finalize(results, folder.cleanup)
    return results


@contextmanager
def _shown(progress: Progress | bool | None) -> Iterator[Progress]:
    """What a sweep calls with its progress: the caller's function, or one that shows the share of cells done."""
    if callable(progress):
        yield progress
        return
    view, state = display(progress), State()

    def show(done: int, total: int) -> None:
        state.requests, state.share = done, done / total if total else None
        view.draw([state])

    try:
        yield show
    finally:
        view.clear()
