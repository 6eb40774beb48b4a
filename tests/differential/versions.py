"""A version of flashkeep: a worker process that is fed with jobs, and started again when it hangs or dies."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from pathlib import Path
from typing import Any

WORKER = Path(__file__).with_name("worker.py")


class Version:
    """The flashkeep in the Python source root `root` (the folder that holds `flashkeep/`, or its parent)."""

    def __init__(self, root: str | os.PathLike[str], limit_s: float) -> None:
        path = Path(root).resolve()
        self.root = path if (path / "flashkeep").is_dir() else path / "python"
        if not any((self.root / "flashkeep").glob("_flashkeep*.so")):
            raise SystemExit(f"{root}: no built flashkeep there (python/flashkeep/_flashkeep*.so); make build")
        self.limit_s = limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""

    def ask(self, question: object) -> Any:
        """The worker's answer; `{"error": "hang"}` past the time limit, `{"error": "crash"}` if it died."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return self._ended("crash", process)
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(self.limit_s):
                    return self._ended("hang", process)
                got = os.read(process.stdout.fileno(), 1 << 20)
                if not got:
                    return self._ended("crash", process)
                self._buffer += got
        line, self._buffer = self._buffer.split(b"\n", 1)
        return json.loads(line)

    def close(self) -> None:
        """Ends the worker."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
            self._buffer = b""

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": str(self.root)},
            )
        return self._process

    def _ended(self, how: str, process: subprocess.Popen[bytes]) -> dict[str, str]:
        told = f"no answer within {self.limit_s:g} s" if how == "hang" else f"the process died: {process.poll()}"
        self.close()
        return {"error": how, "message": told}
