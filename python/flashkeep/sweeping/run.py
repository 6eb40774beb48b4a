"""Carries out a sweep: makes its cells, has those without a result run, writes the table."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .cells import cells_of
from .conduct import Conductor
from .folder import Folder
from .local import LocalWorkers, cores
from .task import FAILED, LOST
from .tidy import Written, write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from concurrent.futures import Executor

    from .cells import Cell
    from .conduct import Workers
    from .plan import Plan

    Progress = Callable[[int, int], None]
    """Called with the number of cells done in this call, and the number that there were to do."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep came to."""

    cells: int
    ran: int
    """Cells run by this call."""
    wall_s: float
    table: Written

    @property
    def exit_code(self) -> int:
        """1 if cells failed, else 3 if some lost pages, else 0. Refused cells are rows, and change nothing."""
        return 1 if self.table.status[FAILED] else 3 if self.table.status[str(LOST)] else 0


def sweep_plan(
    plan: Plan,
    out: str,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress = lambda done, total: None,
) -> Swept:
    """Runs the cells of a plan that `out` has no result of, and writes the table of all.

    An interrupted sweep leaves what was done, with a table of it.
    """
    started = time.monotonic()
    cells = cells_of(plan)
    with Folder(out, plan.text) as folder:
        missing = to_run(cells, folder.done)
        ran = 0
        if missing:
            try:
                ran = _run(missing, folder, workers, executor, progress)
            except BaseException as stopped:
                write_table(cells, folder)
                if not isinstance(stopped, Exception):  # interrupted or terminated
                    done = sum(cell.name in folder.done for cell in cells)
                    stopped.args = (
                        f"{out}: {done} of {len(cells)} cells are done; the same command goes on from here",
                    )
                raise
        return Swept(len(cells), ran, time.monotonic() - started, write_table(cells, folder))


def to_run(cells: Sequence[Cell], done: Container[str]) -> list[Cell]:
    """The cells without a result, each once; those that failed are tried again."""
    missing = {cell.name: cell for cell in cells if cell.refused is None and cell.name not in done}
    return list(missing.values())


def _run(
    missing: Sequence[Cell], folder: Folder, count: int | None, executor: Executor | None, progress: Progress
) -> int:
    done = 0

    def report(answer: dict[str, Any], tries: int) -> None:
        nonlocal done
        folder.take(answer, tries)
        done += 1

    with ExitStack() as stack:
        workers = _workers(missing, count, executor)
        stack.callback(workers.stop)
        Conductor(workers, report, lambda: progress(done, len(missing))).run(map(folder.task, missing))
    return done


def _workers(missing: Sequence[Cell], count: int | None, executor: Executor | None) -> Workers:
    if executor is None:
        return LocalWorkers(min(count or cores(), len(missing)))
    from .cluster import ExecutorWorkers

    return ExecutorWorkers(executor, {path: digest for cell in missing for path, digest in cell.inputs.items()})
