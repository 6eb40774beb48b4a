"""Workers that an executor has: those of a Dask cluster, or any `concurrent.futures.Executor`."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, Future, InvalidStateError
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .. import _flashkeep
from ..cli.options import UsageError
from ..extras import need
from ..results.provenance import build
from .conduct import FilesLostError, SweepError
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
        """By their hashes the contents of files, or where the cluster has them."""
        self._waiting: dict[Future[Done], Sequence[str]] = {}
        """Tasks without an answer, and the files sent with them."""
        self.window = _window(executor, self._client)

    def submit(self, task: Task) -> Future[Done]:
        """Has a task carried out."""
        # Drive files are sent as other files are.
        job = {**task["job"], "drive_files": dict.fromkeys(task["job"]["drive_files"])}
        whole = {**task, "job": job, "build": build()}
        self._inputs |= task["inputs"]
        self.look()
        digests = [digest for digest in dict.fromkeys(task["inputs"].values()) if digest in self._sent]
        outer: Future[Done] = Future()
        try:
            inner = self._executor.submit(carry_out_with, whole, digests, *(self._sent[each] for each in digests))
        except BrokenExecutor as broken:
            raise SweepError(f"the executor has broken: {broken}") from None
        self._waiting[outer] = digests
        outer.add_done_callback(self._waiting.pop)
        has_files = self._client is not None and bool(digests)
        inner.add_done_callback(lambda done: _pass_on(done, outer, has_files))
        return outer

    def send(self, paths: Sequence[str]) -> None:
        """Sends files with the tasks from now on."""
        for path in paths:
            digest = self._inputs[path]
            if digest not in self._sent:
                with open(path, "rb") as file:
                    content = file.read()
                if _flashkeep.sha256_of_bytes(content) != digest:
                    raise SweepError(f"{path} has changed since the sweep began")
                self._sent[digest] = content if self._client is None else self._client.scatter(content)

    def look(self) -> None:
        """Sends files again that died with the only worker of Dask that had them. Of the tasks that have them, Dask
        cancels some; others it never ends."""
        lost = [digest for digest, sent in self._sent.items() if getattr(sent, "status", None) in ("cancelled", "lost")]
        for digest in lost:
            del self._sent[digest]
        for outer, digests in list(self._waiting.items()) if lost else ():
            if not set(lost).isdisjoint(digests):
                _answer(outer, FilesLostError())
        self.send([path for path, digest in self._inputs.items() if digest in lost])

    def stop(self) -> None:
        """The executor is the caller's; running tasks end by themselves."""


def carry_out_with(task: Task, digests: Sequence[str], *contents: bytes) -> Done:
    """Runs a task with the files that were sent."""
    return carry_out(task, dict(zip(digests, contents, strict=True)))


def _pass_on(inner: Future[Done], outer: Future[Done], has_files: bool) -> None:
    """The answer of an executor; the loss of a worker as the local ones tell it."""
    if inner.cancelled():
        _answer(outer, FilesLostError() if has_files else SweepError("a task was cancelled"))
        return
    error = inner.exception()
    if error is None:
        _answer(outer, inner.result())
    elif type(error).__name__ == "KilledWorker":
        _answer(outer, WorkerDiedError(None))
    elif isinstance(error, BrokenExecutor):
        _answer(outer, SweepError(f"the executor has broken: {error}"))
    else:
        _answer(outer, SweepError(f"a worker failed: {type(error).__name__}: {error}"))


def _answer(outer: Future[Done], answer: Done | Exception) -> None:
    """Ends a task, unless it has ended: files may be found lost while their last answer comes."""
    with suppress(InvalidStateError):
        outer.set_exception(answer) if isinstance(answer, Exception) else outer.set_result(answer)


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
