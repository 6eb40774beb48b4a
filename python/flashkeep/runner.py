"""Runs jobs in threads, a few at once, while the main thread draws progress and handles signals.

The simulator releases the GIL, so threads run in parallel, and the main thread handles Ctrl-C even while a run waits
for standard input.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from queue import Empty, SimpleQueue

from .api import simulate
from .progress import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeVar

    from .progress import Display

    T = TypeVar("T")
    Summary = dict[str, Any]
    Job = tuple[dict[str, object], tuple[str, str] | None]
    """The keys of a job, and the files for its tables."""

GRACE_S = 1.0
"""The time that interrupted runs have to stop by themselves."""


class StoppedError(Exception):
    """Raised in a run's progress, to end it."""


def run_jobs(jobs: Sequence[Job], at_once: int, line: Display) -> list[Summary]:
    """Runs each job and returns their summaries, in order; the first failure stops them all."""
    return [summary for summary, _ in run_with_requests(jobs, at_once, line)]


def run_with_requests(
    jobs: Sequence[Job], at_once: int, line: Display, in_memory: Mapping[str, bytes] | None = None
) -> list[tuple[Summary, tuple[bytes, ...]]]:
    """The same, with the columns of requests; `in_memory` has traces that are not files."""
    states = [State() for _ in jobs]

    def run(index: int) -> tuple[Summary, tuple[bytes, ...]]:
        def progress(requests: int, share: float | None, _simulated_ns: int) -> None:
            states[index].requests, states[index].share = requests, share
            if threads.stop:
                raise StoppedError

        job, tables = jobs[index]
        done = simulate(job, progress, tables, in_memory)
        states[index].share = 1.0
        return done

    threads = Threads(run, len(jobs))
    return threads.run(at_once, lambda: line.draw(states))


def run_call(call: Callable[[], T]) -> T:
    """Runs one call in a thread, so that the main thread can handle Ctrl-C."""
    result: T = Threads(lambda _: call(), 1).run(1, lambda: None)[0]
    return result


class Threads:
    """Calls `work(0)`, `work(1)`, … in threads."""

    def __init__(self, work: Callable[[int], Any], count: int) -> None:
        self.stop = False
        self._work = work
        self._waiting = list(range(count))[::-1]  # popping is atomic
        self._results: dict[int, Any] = {}
        self._failures: dict[int, BaseException] = {}
        # `SimpleQueue` waits in C code. A signal raised within the Python code of a semaphore could leave its lock
        # held.
        self._ended: SimpleQueue[None] = SimpleQueue()

    def run(self, at_once: int, tick: Callable[[], None]) -> list[Any]:
        """All results in order; `tick` is called every tenth of a second. The first failure ends the others."""
        count = len(self._waiting)
        threads = [threading.Thread(target=self._worker, daemon=True) for _ in range(min(at_once, count))]
        for thread in threads:
            thread.start()
        try:
            running = len(threads)
            while running:
                with suppress(Empty):
                    self._ended.get(timeout=0.1)
                    running -= 1
                tick()
        except BaseException:
            self.stop = True
            until = time.monotonic() + GRACE_S
            for thread in threads:
                thread.join(max(0.0, until - time.monotonic()))
            raise
        if self._failures:
            raise self._failures[min(self._failures)]
        return [self._results[index] for index in range(count)]

    def _worker(self) -> None:
        try:
            while not self.stop:
                try:
                    index = self._waiting.pop()
                except IndexError:
                    return
                try:
                    self._results[index] = self._work(index)
                except StoppedError:
                    pass
                except BaseException as failure:
                    self._failures[index] = failure
                    self.stop = True
        finally:
            self._ended.put(None)
