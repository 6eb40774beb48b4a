"""Workers that an executor has: those of a Dask cluster, or any `concurrent.futures.Executor`."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, Future
from typing import TYPE_CHECKING, Any

from ..extras import need
from ..options import UsageError
from ..provenance import build
from .conduct import SweepError
from .local import WorkerDiedError
from .task import carry_out

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Executor

    from .task import Done, Task

WINDOW = 32
"""Tasks under way where the number of workers is not known."""


class ExecutorWorkers:
    """The workers of an executor. Files that they do not have are sent to them: once to each worker of Dask, with each
    task to others."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._inputs: dict[str, str] = {}
        self._client: Any = getattr(executor, "_client", None)  # of Dask's executors
        self._sent: dict[str, Any] = {}
        self.window = _window(executor, self._client)

    def submit(self, task: Task) -> Future[Done]:
        """Has a task carried out."""
        whole = {**task, "build": build()}
        self._inputs |= task["inputs"]
        outer: Future[Done] = Future()
        try:
            inner = self._executor.submit(carry_out_with, whole, list(self._sent), *self._sent.values())
        except BrokenExecutor as broken:
            raise SweepError(f"the executor has broken: {broken}") from None
        inner.add_done_callback(lambda done: _pass_on(done, outer))
        return outer

    def send(self, paths: Sequence[str]) -> None:
        """Sends files with the tasks from now on."""
        for path in paths:
            digest = self._inputs[path]
            if digest not in self._sent:
                with open(path, "rb") as file:
                    content = file.read()
                self._sent[digest] = content if self._client is None else self._client.scatter(content)

    def stop(self) -> None:
        """The executor is the caller's; running tasks end by themselves."""


def carry_out_with(task: Task, digests: Sequence[str], *contents: bytes) -> Done:
    """Runs a task with the files that were sent."""
    return carry_out(task, dict(zip(digests, contents, strict=True)))


def _pass_on(inner: Future[Done], outer: Future[Done]) -> None:
    """The answer of an executor; the loss of a worker as the local ones tell it."""
    if inner.cancelled():
        outer.set_exception(SweepError("a task was cancelled"))
        return
    error = inner.exception()
    if error is None:
        outer.set_result(inner.result())
    elif type(error).__name__ == "KilledWorker":
        outer.set_exception(WorkerDiedError(None))
    elif isinstance(error, BrokenExecutor):
        outer.set_exception(SweepError(f"the executor has broken: {error}"))
    else:
        outer.set_exception(SweepError(f"a worker failed: {type(error).__name__}: {error}"))


def _window(executor: Executor, client: Any) -> int:
    if client is not None:
        threads: dict[str, int] = client.nthreads()
        return 2 * max(1, sum(threads.values()))
    workers: int | None = getattr(executor, "_max_workers", None)
    return 2 * workers if workers else WINDOW


def connect(address: str) -> Any:
    """The client of a Dask cluster."""
    distributed = need("--dask", "dask", "distributed")
    try:
        return distributed.Client(address, timeout="10s", set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError(f"flashkeep sweep: --dask: no scheduler answers at {address}: {error}") from None
