"""Keeps workers busy with cells, and repeats those whose worker was lost."""

from __future__ import annotations

import signal
from collections import Counter, deque
from concurrent.futures import FIRST_COMPLETED, wait
from typing import TYPE_CHECKING, Protocol

from .local import WorkerDiedError
from .task import FAILED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Future

    from .task import Done, Task

    class Workers(Protocol):
        """What carries out tasks."""

        window: int
        """Tasks under way and waiting at the workers."""

        def submit(self, task: Task, /) -> Future[Done]: ...

        def send(self, paths: Sequence[str], /) -> None:
            """Sends the contents of input files with all tasks from now on: a worker does not have them."""

        def look(self) -> None:
            """Ends tasks with an exception that would never end; called now and then."""

        def stop(self) -> None: ...


TRIES = 3
"""Deaths of its worker after which a cell is given up."""


class SweepError(RuntimeError):
    """The sweep cannot continue; finished cells are kept."""


class FilesLostError(Exception):
    """A task has no answer, because files that were sent with it were lost with a worker."""


class Conductor:
    """Hands out tasks, a window of them at a time, so that memory does not grow with the number of cells."""

    def __init__(self, workers: Workers, report: Callable[[Done, int], None], tick: Callable[[], None]) -> None:
        self._workers, self._report, self._tick = workers, report, tick
        self._running: dict[Future[Done], Task] = {}
        self._tries: Counter[str] = Counter()
        self._killed: Counter[str] = Counter()
        self._died: Counter[str] = Counter()
        self._alone: deque[Task] = deque()
        """Cells whose workers were killed again and again: run with no other cell, which may have taken the memory."""

    def run(self, tasks: Iterable[Task]) -> None:
        """Carries out all tasks; `report` gets each answer and how often the cell was tried."""
        waiting = iter(tasks)
        again: deque[Task] = deque()
        is_empty = False
        while not is_empty or again or self._running or self._alone:
            while len(self._running) < self._workers.window and not (is_empty and not again):
                task = again.popleft() if again else next(waiting, None)
                if task is None:
                    is_empty = True
                else:
                    self._submit(task)
            if not self._running and self._alone:
                self._submit(self._alone.popleft())
            self._tick()
            self._workers.look()
            if self._running:
                done, _ = wait(self._running, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in done:
                    self._end(future, again)

    def _submit(self, task: Task) -> None:
        self._tries[task["cell"]] += 1
        self._running[self._workers.submit(task)] = task

    def _end(self, future: Future[Done], again: deque[Task]) -> None:
        task = self._running.pop(future)
        cell = task["cell"]
        try:
            answer = future.result()
        except WorkerDiedError as death:
            if self._is_given_up(cell, death):
                alone = ", also when it ran alone: memory may be short" if self._killed[cell] >= TRIES else ""
                told = f"{death}, {TRIES} times{alone}"
                self._report({"cell": cell, "status": FAILED, "error": told, "worker": "", "wall_s": 0.0},
                             self._tries[cell])  # fmt: skip
            elif self._killed[cell] >= TRIES:
                self._alone.append(task)
            else:
                again.appendleft(task)
            return
        except FilesLostError:
            again.append(task)
            return
        if "build" in answer:
            raise SweepError(f"worker {answer['worker']} has another flashkeep ({answer['build']}); "
                             "install the same build everywhere")  # fmt: skip
        if "unwritten" in answer:
            raise SweepError(answer["unwritten"])
        if "needs" in answer:
            self._workers.send(answer["needs"])
            again.append(task)
            return
        self._report(answer, self._tries.pop(cell))

    def _is_given_up(self, cell: str, death: WorkerDiedError) -> bool:
        """Whether a cell has killed its worker by itself often enough. A worker that was killed from outside says
        nothing about its cell, unless that ran alone."""
        if death.signal not in (signal.SIGKILL, signal.SIGTERM) or self._killed[cell] >= TRIES:
            self._died[cell] += 1
        else:
            self._killed[cell] += 1
        return self._died[cell] >= TRIES
