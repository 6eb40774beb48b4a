"""Local workers: one supervised process each, so that a death names its cell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from .task import Done, Task

START = "import sys; sys.path.append(sys.argv[1]); from flashkeep.sweeping.worker import main; main()"
"""What a worker runs. It does not import the caller's main module, as `multiprocessing` would."""


class WorkerDiedError(Exception):
    """A worker ended without an answer."""

    def __init__(self, code: int | None) -> None:
        """`code` is the exit code, negative for a signal, if it is known."""
        if code is None:
            told = "its worker was lost"
        else:
            told = f"its worker ended with exit code {code}" if code >= 0 else f"its worker died of {_name(code)}"
        super().__init__(told)
        self.signal = -code if code is not None and code < 0 else None


def _name(code: int) -> str:
    import signal

    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class LocalWorkers:
    """Processes of this machine. A thread for each sends it a task and waits for the answer."""

    def __init__(self, workers: int) -> None:
        self.window = 2 * workers
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="flashkeep-worker")
        self._own = threading.local()
        self._processes: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def submit(self, task: Task) -> Future[Done]:
        """Has a task carried out; raises `WorkerDiedError` in its place if the worker dies."""
        # They read the client's own files, which need no check.
        return self._threads.submit(self._ask, {**task, "inputs": {}})

    def send(self, paths: Sequence[str]) -> None:
        """Never called: these workers see the client's files."""
        raise FileNotFoundError(f"{paths[0]}: no such file")

    def look(self) -> None:
        """Nothing to do: the death of a worker ends its task."""

    def stop(self) -> None:
        """Ends all workers at once."""
        self._stopped = True
        for process in list(self._processes):
            process.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in list(self._processes):
            self._bury(process)

    def _ask(self, task: Task) -> Done:
        process = self._process()
        assert process.stdin is not None
        assert process.stdout is not None
        line = ""
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        if line.endswith("\n"):
            answer: dict[str, Any] = json.loads(line)
            return answer
        self._own.process = None
        raise WorkerDiedError(self._bury(process))

    def _bury(self, process: subprocess.Popen[str]) -> int:
        """Waits for the end of a worker that was killed or has died, and returns its exit code."""
        self._processes.discard(process)
        code = process.wait()
        with suppress(BrokenPipeError), process:
            pass  # closes its pipes
        return code

    def _process(self) -> subprocess.Popen[str]:
        """The worker of this thread; a new one if there is none."""
        process: subprocess.Popen[str] | None = getattr(self._own, "process", None)
        if process is None:
            package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
            # In a session of its own, so that Ctrl-C reaches the client alone.
            process = self._own.process = subprocess.Popen(
                [sys.executable, "-c", START, package],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", start_new_session=True,
            )  # fmt: skip
            self._processes.add(process)
            if self._stopped:
                process.kill()
        return process
