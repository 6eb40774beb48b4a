"""Writes the results of `--out`: into a temporary folder, which is moved to its place when it is complete.

Of an interrupted `run` it keeps the results up to then, of an interrupted `compare` the drives that were finished.
"""

from __future__ import annotations

import json
import os
import sys

from ..cli.options import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

TABLES = ("requests", "seconds", "series")
PARQUET, CSV = ".parquet", ".csv.gz"
"""The files of a run's tables: Parquet if PyArrow is installed, compressed CSV otherwise."""

STAGING = ".unfinished"
"""The temporary folder of a run, inside the output directory, so that it is on the same file system."""


class Outputs:
    """The results of a `run` or `compare`, kept once they are written; without `--out`, none."""

    __slots__ = ("_folders", "_lock", "_new", "_path", "_quiet", "_staging", "_whole")

    def __init__(self, arguments: dict[str, Any], drives: Sequence[str]) -> None:
        self._folders = _folders(drives)
        self._path: str | None = arguments["out"]
        self._quiet = bool(arguments["quiet"])
        self._whole = False
        if self._path is None:
            return
        self._staging = os.path.join(self._path, STAGING)
        self._new = not os.path.isdir(self._path)
        if self._new and os.path.lexists(self._path):
            raise UsageError(f"flashkeep: --out: {self._path} is a file, not a directory")
        if not (self._new or arguments["force"]) and any(entry != STAGING for entry in os.listdir(self._path)):
            raise UsageError(f"flashkeep: --out: {self._path} is not empty; name another directory, or "
                             "add --force")  # fmt: skip
        os.makedirs(self._path, exist_ok=True)
        self._lock = _locked(self._path)
        _remove(self._staging)  # left over by a run that was killed
        os.makedirs(self._staging)  # reports a folder that cannot be written before the run, not after it

    def tables(self, run: int) -> tuple[str, str, str] | None:
        """The files for a run's requests, for their sums per second, and for figures over time (`--series`)."""
        if self._path is None:
            return None
        folder = self._folders[run]
        requests, seconds, series = (self._file(folder, name + CSV) for name in TABLES)
        return requests, seconds, series

    @property
    def wanted(self) -> bool:
        """Whether there is a directory for them."""
        return self._path is not None

    def write(self, summaries: Sequence[dict[str, Any]]) -> None:
        """Writes each run's `summary.json`, and for several runs one that holds them all."""
        if self._path is None:
            return
        for folder, summary in zip(self._folders, summaries, strict=True):
            self._write_json(summary, folder, "summary.json")
        if len(summaries) > 1:
            self._write_json({"runs": summaries}, "summary.json")
        self._whole = True

    def write_interrupted(self, kept: dict[int, dict[str, Any]]) -> str:
        """Writes what an interrupted command leaves, and says what that is; `kept` has summaries by number of the run.
        Several runs are there to be compared, so only those that saw all requests are kept."""
        if self._path is None:
            return ""
        several = len(self._folders) > 1
        if several:
            kept = {run: summary for run, summary in kept.items() if not summary.get("interrupted")}
        for run, folder in enumerate(self._folders):
            if run in kept:
                self._write_json(kept[run], folder, "summary.json")
            elif folder:
                _remove(os.path.join(self._staging, folder))
        if not kept:
            return f"{self._path}: nothing was finished"
        self._whole = True
        if not several:
            if not kept[0].get("interrupted"):
                return f"{self._path} has the whole run, which had just ended"
            requests = kept[0]["workload"]["requests"]
            return f'{self._path} has the first {requests:,} requests (summary.json says "interrupted": true)'
        if len(kept) == len(self._folders):
            self._write_json({"runs": [kept[run] for run in sorted(kept)]}, "summary.json")
            return f"{self._path} has all runs, which had just ended"
        runs = [kept[run] for run in sorted(kept)]
        unfinished = [folder for run, folder in enumerate(self._folders) if run not in kept]
        self._write_json({"runs": runs, "interrupted": True, "unfinished": unfinished}, "summary.json")
        return f"{self._path} has {len(runs)} of {len(self._folders)} runs; not finished: {', '.join(unfinished)}"

    def _write_json(self, value: object, *names: str) -> None:
        with open(self._file(*names), "w", encoding="utf-8") as file:
            json.dump(value, file, indent=1, ensure_ascii=False)
            file.write("\n")

    def _file(self, *names: str) -> str:
        path = os.path.join(self._staging, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._path is None:
            return
        try:
            if self._whole:
                try:
                    self._convert()
                finally:  # what is not converted is kept as it is
                    self._keep(self._path)
        finally:
            _remove(self._staging)
            if self._new and not os.listdir(self._path):
                os.rmdir(self._path)
            os.close(self._lock)

    def _convert(self) -> None:
        """Makes the tables Parquet, if that can be written."""
        tables = [table for table in self._written() if table.endswith(CSV)]
        if not tables:
            return
        from .table_files import can_be_parquet, to_parquet

        if can_be_parquet():
            for table in tables:
                to_parquet(os.path.join(self._staging, table))
        elif not self._quiet:
            sys.stderr.write("flashkeep: tables are written as compressed CSV; Parquet needs pyarrow: "
                             "pip install 'flashkeep[reports]'\n")  # fmt: skip

    def _written(self) -> list[str]:
        """The files, relative to the folder."""
        return [
            os.path.relpath(os.path.join(folder, file), self._staging)
            for folder, _, files in os.walk(self._staging)
            for file in files
        ]

    def _keep(self, path: str) -> None:
        whole = self._written()
        # The summary is moved last: if it exists, the results are complete.
        for relative in sorted(whole, key=lambda name: (name == "summary.json", name)):
            target = os.path.join(path, relative)
            if os.path.basename(relative) == "summary.json":
                _remove_tables(path, os.path.dirname(relative), whole)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.replace(os.path.join(self._staging, relative), target)


def _locked(path: str) -> int:
    """The directory, open and locked: two commands would write over each other's files."""
    import fcntl  # needed for --out only

    lock = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise UsageError(f"flashkeep: --out: another command writes to {path} now; name another directory") from None
    return lock


def _remove_tables(path: str, folder: str, new: Sequence[str]) -> None:
    """Removes the tables of an earlier run (`--force`), which would pass for those of this one."""
    for name in (table + ending for table in TABLES for ending in (PARQUET, CSV)):
        old = os.path.join(folder, name)
        if old not in new and os.path.exists(os.path.join(path, old)):
            os.remove(os.path.join(path, old))


def _remove(folder: str) -> None:
    import shutil  # the import takes 3 ms and is needed for --out only

    shutil.rmtree(folder, ignore_errors=True)


def _folders(drives: Sequence[str]) -> list[str]:
    """The folder of each drive's results: that of `--out` for one drive, numbered folders in it for several."""
    if len(drives) == 1:
        return [""]
    return [f"{at:02}-{os.path.basename(drive).removesuffix('.toml')}" for at, drive in enumerate(drives, 1)]
