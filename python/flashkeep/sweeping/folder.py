"""The folder of a sweep: its plan, a file for each cell that was run, the table, and how long cells took."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import re
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..cli.options import UsageError
from ..results.writing import UNFINISHED, put
from .conduct import SweepError
from .task import FAILED, TOKEN, write_files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self, TextIO

    from .cells import Cell
    from .task import Done

TIMES = ("wall_s", "cpu_s")
PLAN, CELLS, TIMINGS, LOCK = "plan.toml", "cells", "timings.csv", ".lock"


def stored(path: str) -> tuple[set[str], set[str]]:
    """The cells that a folder has results of, and those that failed."""
    try:
        names = os.listdir(os.path.join(path, CELLS))
    except FileNotFoundError:
        names = []
    done = {name.removesuffix(".json") for name in names if re.fullmatch(r"[0-9a-f]+\.json", name)}
    return done, {name.removesuffix(".failed.json") for name in names if name.endswith(".failed.json")} - done


class Folder:
    """A sweep's folder, locked while it is open: two clients would do the same cells. Cells without a
    plan can have one too, which another `command` uses."""

    def __init__(self, path: str, plan: str | None, command: str = "sweep") -> None:
        self.path = path
        self.token = uuid.uuid4().hex  # says only which client this is; no result depends on it
        self._lock: TextIO | None = None
        self._timings: TextIO | None = None
        self._tables: dict[str, str] = {}
        self._check(command)
        os.makedirs(os.path.join(path, CELLS), exist_ok=True)
        self._lock_it(command)
        self._clean()
        if plan is not None:
            self._write(PLAN, plan)
        self._write(TOKEN, self.token)
        self.done: set[str] = set()
        self.failed: set[str] = set()
        self.look()

    def _check(self, command: str) -> None:
        if os.path.lexists(self.path) and not os.path.isdir(self.path):
            raise UsageError(f"flashkeep {command}: --out: {self.path} is a file, not a directory")
        names = os.listdir(self.path) if os.path.isdir(self.path) else []
        if names and PLAN not in names and CELLS not in names:
            raise UsageError(f"flashkeep {command}: --out: {self.path} is not empty and not the folder of a {command}; "
                             "name another one")  # fmt: skip

    def _lock_it(self, command: str) -> None:
        self._lock = open(os.path.join(self.path, LOCK), "w", encoding="ascii")  # noqa: SIM115  # closed by `close`
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise UsageError(f"flashkeep {command}: {self.path} is in use by another {command}") from None

    def _clean(self) -> None:
        """Removes what clients and workers left that were killed."""
        for folder in (self.path, os.path.join(self.path, CELLS)):
            for name in os.listdir(folder):
                if name.endswith(UNFINISHED):
                    with suppress(FileNotFoundError):
                        os.remove(os.path.join(folder, name))

    def _write(self, name: str, text: str) -> None:
        put(os.path.join(self.path, name), text.encode())

    def look(self) -> None:
        """Sees which cells have results."""
        self.done, self.failed = stored(self.path)

    def task(self, cell: Cell) -> dict[str, Any]:
        """A cell as a task for workers."""
        tables = {name: self._table(name, content) for name, content in cell.in_memory.items()}
        return {"cell": cell.name, "job": dict(cell.job), "keep": dict(cell.keep), "tables": tables,
                "inputs": dict(cell.inputs), "named": list(cell.named), "folder": os.path.abspath(self.path),
                "token": self.token}  # fmt: skip

    def _table(self, name: str, content: bytes) -> str:
        """The file of a trace that was in memory, for the workers."""
        if name not in self._tables:
            folder = os.path.abspath(os.path.join(self.path, "traces"))
            os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, name.replace(":", "-"))
            put(path, content)
            self._tables[name] = path
        return self._tables[name]

    def take(self, answer: Done, tries: int) -> None:
        """Records an answer; writes its files if the worker could not."""
        name = answer["cell"]
        if "files" in answer:
            write_files(self.path, answer["files"])
        if answer["status"] == FAILED:
            self.failed.add(name)
            kept = {"cell": name, "status": FAILED, "error": answer["error"], "summary": None}
            write_files(self.path, {f"{name}.failed.json": json.dumps(kept, ensure_ascii=False).encode()})
        else:
            self.done.add(name)
            with suppress(FileNotFoundError):
                os.remove(os.path.join(self.path, CELLS, f"{name}.failed.json"))
            self.failed.discard(name)
        if self._timings is None:
            path = os.path.join(self.path, TIMINGS)
            is_new = not os.path.exists(path)
            self._timings = open(path, "a", encoding="utf-8", buffering=1)  # noqa: SIM115  # closed by `close`
            if is_new:
                self._timings.write("cell,wall_s,tries,worker,cpu_s\n")
        cpu_s = answer.get("cpu_s", 0.0)
        self._timings.write(f"{name},{answer['wall_s']:.6f},{tries},{answer['worker']},{cpu_s:.6f}\n")

    def timings(self) -> dict[str, dict[str, float]]:
        """How long each cell took when it was run last: `wall_s`, `cpu_s`."""
        try:
            with open(os.path.join(self.path, TIMINGS), encoding="utf-8", newline="") as file:
                return {row["cell"]: {key: float(row[key]) for key in TIMES} for row in csv.DictReader(file)}
        except FileNotFoundError:
            return {}

    def result(self, name: str) -> Mapping[str, Any] | None:
        """What became of a cell that was run."""
        ending = "json" if name in self.done else "failed.json" if name in self.failed else None
        if ending is None:
            return None
        path = os.path.join(self.path, CELLS, f"{name}.{ending}")
        try:
            with open(path, encoding="utf-8") as file:
                found: dict[str, Any] = json.load(file)
        except ValueError as error:
            raise SweepError(f"{path}: not JSON ({error}); remove it") from None
        return found

    def forget(self, name: str) -> None:
        """Has a cell run again."""
        self.done.discard(name)
        self.failed.discard(name)

    def close(self) -> None:
        """Lets other clients use the folder."""
        for file in (self._timings, self._lock):
            if file is not None:
                file.close()
        for name in (TOKEN, LOCK):
            with suppress(FileNotFoundError):
                os.remove(os.path.join(self.path, name))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
