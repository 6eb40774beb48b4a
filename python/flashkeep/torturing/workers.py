"""Supervised worker processes: one that dies or hangs is replaced, and the case that it was at is known."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .judge import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .case import Case
    from .shrink import Small

START = "import sys; sys.path.append(sys.argv[1]); from flashkeep.torturing.worker import main; main()"
"""What a worker runs. It does not import the caller's main module, as `multiprocessing` would."""


class EndedError(Exception):
    """A worker has died, or does not answer."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.finding = Finding(kind, message)


class Worker:
    """A process that tries cases of one drive and one seed."""

    def __init__(self, small: Small, seed: int, limit_s: float) -> None:
        self._told = {"small": small.to_dict(), "seed": seed}
        self.limit_s = limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""

    def numbers(self, numbers: Sequence[int]) -> Iterator[list[Any] | dict[str, Any]]:
        """Tries cases: an answer each, `[number, outcome, findings, tags]`, then `{"cpu_s": …}` of those before. A case
        at which the worker ends has the outcome `crash` or `hang`."""
        left = list(numbers)
        while left:
            self._send({"cases": left})
            while True:
                try:
                    answer = self._line()
                except EndedError as ended:
                    yield [left[0], ended.finding.kind, [list(ended.finding)], []]
                    del left[0]
                    break
                yield answer
                if isinstance(answer, dict):
                    return
                left.remove(answer[0])

    def case(self, case: Case, job: Mapping[str, Any] | None = None) -> list[Finding]:
        """The findings of a case; with a job, those of the case as the job runs it."""
        self._send({"case": case.to_dict(), "job": job})
        try:
            return [Finding(*each) for each in self._line()]
        except EndedError as ended:
            return [ended.finding]

    def kill(self) -> None:
        """Ends the process; for a thread other than the one that waits for its answers, and then closes it."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Ends the process, and closes its pipes."""
        process, self._process, self._buffer = self._process, None, b""
        if process is not None:
            process.kill()
            with suppress(BrokenPipeError), process:
                pass  # closes its pipes, and waits for it

    def _send(self, question: object) -> None:
        if self._process is None:
            package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
            # In a session of its own, so that Ctrl-C reaches the caller alone.
            self._process = subprocess.Popen(
                [sys.executable, "-c", START, package],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            self._write(self._told)
        self._write(question)

    def _write(self, question: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # its end is seen when its answer is read
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()

    def _line(self) -> Any:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(self.limit_s):
                    self.close()
                    raise EndedError("hang", f"no result within {self.limit_s:g} s")
                got = os.read(process.stdout.fileno(), 1 << 16)
                if not got:
                    code = process.wait()
                    self.close()
                    raise EndedError("crash", f"the process ended with exit code {code}")
                self._buffer += got
        line, self._buffer = self._buffer.split(b"\n", 1)
        return json.loads(line)
