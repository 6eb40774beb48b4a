"""What the results of a run follow from: its options, the hashes of its inputs, and what was changed in the drive."""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress

from .. import _flashkeep
from ..inputs.run_options import names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

OUTPUTS = frozenset((*names_of("series", "writing"), "keep_requests"))
"""Keys of a job that say what is written, and change no result."""

BROUGHT = frozenset(("drive_files", "copies"))
"""Keys of a job that replace files, which other keys name."""

OPEN = ("drive", "options", "drive_changes")
"""The groups of a summary whose keys are not known beforehand."""

WHOLE = 1 << 30
"""Of a larger file only a part may be read (`--limit`): hashing all of it could take longer than the run."""


class FileHash(threading.Thread):
    """SHA-256 of a file, computed beside a run."""

    def __init__(self, path: str) -> None:
        super().__init__(daemon=True)
        self._path, self._found = path, ""

    def run(self) -> None:
        with suppress(OSError):  # the run reports a file that cannot be read
            self._found = _flashkeep.sha256_of_file(self._path)

    def found(self) -> str | None:
        self.join()
        return self._found or None


_hashes: dict[tuple[object, ...], FileHash] = {}
_lock = threading.Lock()


def hash_of(path: str) -> FileHash | None:
    """The hash of a file, which several runs share; none for what is not a file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    if not os.path.isfile(path):
        return None
    key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    with _lock:
        if key not in _hashes:
            _hashes[key] = FileHash(path)
            _hashes[key].start()
        return _hashes[key]


_builds: list[str] = []


def build() -> str:
    """A hash of the simulator itself: during development its version number does not change."""
    if not _builds:
        _builds.append(_flashkeep.sha256_of_file(str(_flashkeep.__file__)))
    return _builds[0]


class Inputs:
    """The inputs of a job. Hashing begins at once."""

    __slots__ = ("_aged", "_job", "_traces")

    def __init__(self, job: Mapping[str, Any], in_memory: Mapping[str, bytes] | None = None) -> None:
        self._job = job
        limited, tables = job.get("limit") is not None, in_memory or {}
        self._traces = [
            [_flashkeep.sha256_of_bytes(tables[trace])] if trace in tables else _trace_hashes(trace, limited)
            for trace in job.get("traces", ())
        ]
        self._aged = hash_of(job["aged"]) if job.get("aged") else None

    def describe(self, summary: dict[str, Any], command: str | None) -> None:
        """Adds what the results follow from to a summary."""
        workload = summary["workload"]
        if flows := summary.get("flows"):
            limited = self._job.get("limit") is not None
            self._traces = [_trace_hashes(flow["workload"], limited) for flow in flows]
        if not summary.get("interrupted"):  # it would wait until all of a long trace has been read
            workload["sha256"] = self._trace(workload["sha256"])
        summary["options"] = self._options(bool(summary.get("interrupted")))
        summary["command"] = command
        job = self._job
        summary["drive_changes"] = json.loads(
            _flashkeep.drive_changes(
                job["drive"],
                list(job.get("set", ())),
                job.get("drive_text"),
                job.get("drive_files", {}),
                job.get("copies", {}),
            )
        )

    def _trace(self, stream: str | None) -> str | None:
        """The hash of the workload; `stream` is that of standard input."""
        return _joined([
            _joined([each.found() if isinstance(each, FileHash) else each or stream for each in trace])
            for trace in self._traces
        ])  # fmt: skip

    def _options(self, interrupted: bool) -> dict[str, Any]:
        found: dict[str, Any] = {
            key: _plain(value) for key, value in self._job.items() if key not in OUTPUTS | BROUGHT and _is_given(value)
        }
        if "scenario" in found:
            found["scenario"] = {"file": found["scenario"], **_events(found["scenario"])}
        if self._aged is not None and not interrupted:
            found["aged"] = {"file": found["aged"], "sha256": self._aged.found()}
        return found


def _joined(hashes: Sequence[str | None]) -> str | None:
    """The one hash, or that of several hashes in their order."""
    if len(hashes) == 1:
        return hashes[0]
    if not hashes or None in hashes:
        return None
    return _flashkeep.sha256_of_bytes("".join(f"{each}\n" for each in hashes).encode())


def _trace_hashes(trace: str, limited: bool) -> list[FileHash | str | None]:
    """The hashes of the files of a trace: one, or those that blktrace made for the processors."""
    if trace.startswith("synth:"):
        return [_flashkeep.sha256_of_bytes(trace.encode())]
    files = _files(trace)
    if trace == "-" or (limited and sum(os.path.getsize(file) for file in files if os.path.isfile(file)) > WHOLE):
        return [None]
    return [hash_of(file) for file in files]


def _files(trace: str) -> list[str]:
    """The files that the reader opens, in its order (`open` in crates/trace/src/reader.rs)."""
    if os.path.isdir(trace) or any(letter in os.path.basename(trace) for letter in "*?"):
        try:
            return _flashkeep.trace_files(trace)
        except _flashkeep.TraceError:  # the run reports it
            return [trace]
    folder, name = os.path.split(trace)
    if trace == "-" or os.path.exists(trace) or not os.path.isdir(folder or "."):
        return [trace]
    start = f"{name}.blktrace."
    numbers = sorted(
        int(entry.removeprefix(start))
        for entry in os.listdir(folder or ".")
        if entry.startswith(start) and entry.removeprefix(start).isdecimal()
    )
    files = [f"{trace}.blktrace.{number}" for number in numbers]
    return [file for file in files if os.path.exists(file) and os.path.getsize(file) > 0] or [trace]


def _is_given(value: object) -> bool:
    # `0 == False`: seed 0 is a seed.
    return value is not None and value is not False and value not in ([], ())


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _events(path: str) -> dict[str, Any]:
    """The events of a scenario. The run has read it, so what is wrong now has changed since."""
    import tomllib

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError):
        return {}


def overrides(summary: Mapping[str, Any]) -> list[str]:
    """What the command line has set in a drive, as resolved, unless that is the preset's own value:
    `redundancy.scheme=raid5`."""
    changes: dict[str, Sequence[Any]] = summary.get("drive_changes") or {}
    told: dict[str, str] = {}
    for pair in _pairs(summary.get("options") or {}):
        key, _, value = (part.strip() for part in pair.partition("="))
        if key in changes:
            told[key] = f"{key}={_written(changes[key][1])}"
        elif any(change.rpartition(".")[2] == key.rpartition(".")[2] for change in changes):
            told[key] = f"{key}={value}"  # of the members of an array
    return list(told.values())


def _pairs(options: Mapping[str, Any]) -> list[str]:
    """The pairs of `--set`, and those after the drive's name, where a comma within brackets belongs to a list."""
    found: list[str] = list(options.get("set", ()))
    depth, word = 0, ""
    for letter in [*str(options.get("drive", "")), ","]:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            if "=" in word:
                found.append(word)
            word = ""
        else:
            word += letter
    return found


def _written(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
