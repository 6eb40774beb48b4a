"""Runs jobs in threads, a few at once, while the main thread draws progress and handles signals.

The simulator releases the GIL, so threads run in parallel, and the main thread handles Ctrl-C even while a run waits
for standard input.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from queue import Empty, SimpleQueue

from ..api import simulate
from .progress import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeVar

    from ..api import Ended
    from .progress import Display

    T = TypeVar("T")
    Summary = dict[str, Any]
    Job = tuple[Mapping[str, Any], tuple[str, str, str] | None]
    """The keys of a job, and the files for its tables."""

GRACE_S = 1.0
"""The time that interrupted runs have to stop by themselves, or to hear that they are to end."""
FINISH_S = 30.0
"""The time that they have to finish the requests under way and to write what they have done, unless a second signal
comes."""


class StoppedError(Exception):
    """Raised in a run's progress, to end it."""


def run_jobs(
    jobs: Sequence[Job],
    at_once: int,
    line: Display,
    command: str | None = None,
    kept: dict[int, Summary] | None = None,
) -> list[Summary]:
    """Runs each job and returns their summaries, in order; the first failure stops them all. With `kept`, interrupted
    runs end with the requests that they have admitted, and the summaries that there are then go there, by number."""
    found: dict[int, Ended] | None = None if kept is None else {}
    try:
        return [ended[0] for ended in run_results(jobs, at_once, line, command=command, kept=found)]
    finally:
        if kept is not None and found is not None:
            kept.update((index, ended[0]) for index, ended in found.items())


def run_results(
    jobs: Sequence[Job],
    at_once: int,
    line: Display,
    in_memory: Mapping[str, bytes] | None = None,
    command: str | None = None,
    kept: dict[int, Ended] | None = None,
) -> list[Ended]:
    """The same, with the tables; `in_memory` has traces that are not files."""
    states = [State() for _ in jobs]

    def run(index: int) -> Ended:
        def progress(requests: int, share: float | None, _simulated_ns: int) -> bool:
            states[index].requests, states[index].share = requests, share
            if threads.stop and kept is None:
                raise StoppedError
            states[index].ends = threads.stop
            return threads.stop

        job, tables = jobs[index]
        own = {name: content for name, content in (in_memory or {}).items() if name in job["traces"]}
        done = simulate(job, progress, tables, own, command)
        states[index].share = 1.0
        return done

    threads = Threads(run, len(jobs), lambda: any(state.ends for state in states))
    try:
        return threads.run(at_once, lambda: line.draw(states))
    except BaseException:
        if kept is not None:
            kept.update(threads.results)
        raise


def run_call(call: Callable[[], T]) -> T:
    """Runs one call in a thread, so that the main thread can handle Ctrl-C."""
    result: T = Threads(lambda _: call(), 1).run(1, lambda: None)[0]
    return result


class Threads:
    """Calls `work(0)`, `work(1)`, … in threads."""

    def __init__(self, work: Callable[[int], Any], count: int, ends: Callable[[], bool] = lambda: False) -> None:
        self.stop = False
        self.results: dict[int, Any] = {}
        self._work = work
        self._ends = ends  # whether a call has heard that it is to end, and takes its time
        self._waiting = list(range(count))[::-1]  # popping is atomic
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
            stopped = time.monotonic()
            for thread in threads:
                while thread.is_alive() and time.monotonic() - stopped < (FINISH_S if self._ends() else GRACE_S):
                    thread.join(0.02)
            raise
        if self._failures:
            raise self._failures[min(self._failures)]
        return [self.results[index] for index in range(count)]

    def _worker(self) -> None:
        try:
            while not self.stop:
                try:
                    index = self._waiting.pop()
                except IndexError:
                    return
                try:
                    self.results[index] = self._work(index)
                except (StoppedError, KeyboardInterrupt):
                    pass  # the latter: stopped before its first request
                except BaseException as failure:
                    self._failures[index] = failure
                    self.stop = True
        finally:
            self._ended.put(None)
