"""Files that a run leaves behind: written under a temporary name, and renamed when they are whole."""

from __future__ import annotations

import json
import os
import shutil

from . import _flashkeep
from .options import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

STAGING = ".unfinished"
"""Where a run writes until it is done, inside the directory that was asked for: on the same file system."""


class Unfinished:
    """Something that is kept when its `with` block ends well, and leaves nothing when it does not."""

    __slots__ = ()

    def keep(self) -> None:
        """Gives it its name."""

    def discard(self) -> None:
        """Takes it away."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        if failed:
            self.discard()
            return
        try:
            self.keep()
        except BaseException:
            self.discard()
            raise


class Outputs(Unfinished):
    """All that a `run` or `compare` was asked to leave: `--out`, `--operations`, `--map`."""

    __slots__ = ("_all", "_directory", "_files", "_folders")

    def __init__(self, arguments: dict[str, Any], drives: Sequence[str]) -> None:
        self._all: list[Unfinished] = []
        self._directory: OutDir | None = None
        self._files: dict[str, str] = {}
        self._folders = _folders(drives)
        try:
            if arguments["out"]:
                self._directory = OutDir(arguments["out"], arguments["force"])
                self._all.append(self._directory)
            for key in ("operations", "map"):
                if arguments.get(key):
                    file = OutFile(arguments[key])
                    self._all.append(file)
                    self._files[key] = file.path
        except BaseException:
            self.discard()
            raise

    def keys(self, run: int) -> dict[str, str]:
        """Where this run writes: keys of its job."""
        if self._directory is None:
            return self._files
        return {**self._files, "requests": self._directory.file(self._folders[run], "requests.csv")}

    def pack(self, summaries: Sequence[dict[str, Any]]) -> None:
        """Turns what the runs wrote into what was asked for, before it is kept."""
        if self._directory is None:
            return
        for folder, summary in zip(self._folders, summaries, strict=True):
            self._directory.pack(folder, summary)
        if len(summaries) > 1:
            self._directory.write({"runs": list(summaries)})

    def keep(self) -> None:
        for each in self._all:
            each.keep()

    def discard(self) -> None:
        for each in self._all:
            each.discard()


def _folders(drives: Sequence[str]) -> list[str]:
    """Where under `--out` each drive's results go: there itself for one, numbered folders for several."""
    if len(drives) == 1:
        return [""]
    return [f"{at:02}-{os.path.basename(drive).removesuffix('.toml')}" for at, drive in enumerate(drives, 1)]


class OutDir(Unfinished):
    """A directory for results."""

    __slots__ = ("_new", "_path", "_staging")

    def __init__(self, path: str, force: bool) -> None:
        self._path = path
        self._staging = os.path.join(path, STAGING)
        self._new = not os.path.isdir(path)
        if self._new and os.path.lexists(path):
            raise UsageError(f"--out: {path} is a file, not a directory")
        if not self._new and not force and any(entry != STAGING for entry in os.listdir(path)):
            raise UsageError(f"--out: {path} is not empty; take another directory, or --force to write to this one")
        shutil.rmtree(self._staging, ignore_errors=True)  # left by a run that was killed
        os.makedirs(self._staging)

    def file(self, *names: str) -> str:
        """Where to write a file until it is kept."""
        path = os.path.join(self._staging, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def pack(self, folder: str, summary: dict[str, Any]) -> None:
        """A run's results, from its plain table of requests and its summary."""
        plain = self.file(folder, "requests.csv")
        _flashkeep.pack_requests(plain, self.file(folder, "requests.csv.gz"), self.file(folder, "seconds.csv.gz"))
        os.remove(plain)
        self.write(summary, folder)

    def write(self, summary: dict[str, Any], folder: str = "") -> None:
        """`summary.json`."""
        with open(self.file(folder, "summary.json"), "w", encoding="utf-8") as file:
            json.dump(summary, file, indent=1, ensure_ascii=False)
            file.write("\n")

    def keep(self) -> None:
        whole = [
            os.path.relpath(os.path.join(folder, file), self._staging)
            for folder, _, files in os.walk(self._staging)
            for file in files
        ]
        # The summary last: where it stands, everything does.
        for relative in sorted(whole, key=lambda path: (path == "summary.json", path)):
            target = os.path.join(self._path, relative)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.replace(os.path.join(self._staging, relative), target)
        shutil.rmtree(self._staging)

    def discard(self) -> None:
        shutil.rmtree(self._staging, ignore_errors=True)
        if self._new and os.path.isdir(self._path) and not os.listdir(self._path):
            os.rmdir(self._path)


class OutFile(Unfinished):
    """One file."""

    __slots__ = ("_final", "path")

    def __init__(self, path: str) -> None:
        self._final = path
        if os.path.isdir(path):
            raise UsageError(f"{path} is a directory; name a file")
        special = os.path.exists(path) and not os.path.isfile(path)  # a pipe, /dev/null: nothing to rename
        self.path = path if special else f"{path}.unfinished"
        if self.path != path:
            with open(self.path, "wb"):  # unwritable: said before the run, not after it
                pass

    def keep(self) -> None:
        if self.path != self._final:
            os.replace(self.path, self._final)

    def discard(self) -> None:
        if self.path != self._final and os.path.exists(self.path):
            os.remove(self.path)
