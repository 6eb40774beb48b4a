"""Carries out a sweep: makes its cells, has those without a result run, writes the table."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .cells import cells_of, need_for
from .conduct import Conductor
from .folder import Folder
from .local import LocalWorkers, cores
from .tidy import Written, write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from concurrent.futures import Executor
    from typing import Self

    from .cells import Cell
    from .conduct import Workers
    from .plan import Plan
    from .task import Done

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
    need_for(cells)
    with Folder(out, plan.text) as folder, Runner(folder, workers, executor, progress) as runner:
        try:
            runner.run(cells)
        except BaseException as stopped:
            runner.stop()
            folder.look()
            write_table(cells, folder, plan.fleet)
            if not isinstance(stopped, Exception):  # interrupted or terminated
                done = sum(cell.name in folder.done for cell in cells)
                stopped.args = (f"{out}: {done} of {len(cells)} cells are done; the same command goes on from here",)
            raise
        return Swept(len(cells), runner.ran, time.monotonic() - started, write_table(cells, folder, plan.fleet))


def to_run(cells: Sequence[Cell], done: Container[str]) -> list[Cell]:
    """The cells without a result, each once; those that failed are tried again."""
    missing = {cell.name: cell for cell in cells if cell.refused is None and cell.name not in done}
    return list(missing.values())


class Runner:
    """Has cells run; its workers start with the first of them."""

    def __init__(self, folder: Folder, count: int | None, executor: Executor | None, progress: Progress) -> None:
        self.ran = 0
        self._folder, self._count, self._executor, self._progress = folder, count, executor, progress
        self._wanted = 0
        self._workers: Workers | None = None

    def run(self, cells: Sequence[Cell], hear: Callable[[Done], None] = lambda done: None) -> None:
        """Runs the cells that have no result; `hear` gets each answer, and ends the others if it raises an error."""
        missing = to_run(cells, self._folder.done)
        if not missing:
            return
        self._wanted += len(missing)
        if self._workers is None:
            self._workers = self._start()

        def take(answer: Done, tries: int) -> None:
            self._folder.take(answer, tries)
            self.ran += 1
            hear(answer)

        Conductor(self._workers, take, self._show).run(map(self._folder.task, missing))

    def _start(self) -> Workers:
        if self._executor is None:
            return LocalWorkers(self._count or cores())
        from .cluster import ExecutorWorkers

        return ExecutorWorkers(self._executor)

    def _show(self) -> None:
        self._progress(self.ran, self._wanted)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends local workers, and the cells that they run."""
        if self._workers is not None:
            self._workers.stop()
            self._workers = None
