"""The Python interface of the simulator: drives, traces, runs and their results.

It imports third-party modules only when a caller asks for a result's columns.
"""

from __future__ import annotations

import json
import operator
import os
import resource
import sys
import time

from . import _flashkeep

TYPE_CHECKING = False  # importing `typing` would delay every start of the command line by milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, Literal

    import numpy as np
    from numpy.typing import NDArray

    Progress = Callable[[int, float | None, int], object]


class Node:
    """A group of figures: its keys as items, and as attributes."""

    __slots__ = ("_path", "_values")

    def __init__(self, values: Mapping[str, Any], path: str = "") -> None:
        self._values = values
        self._path = path  # its path in a summary

    def __getitem__(self, name: str) -> Any:
        return _wrap(self._values[name], _below(self._path, name))

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self._values == other._values

    __hash__ = None  # type: ignore[assignment]  # it holds a dict

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._values, self._path))

    def __repr__(self) -> str:
        return f"Figures({json.dumps(self._values, indent=1)})"

    def to_dict(self) -> dict[str, Any]:
        """A copy as plain dictionaries and lists."""
        copy: dict[str, Any] = json.loads(json.dumps(self._values))
        return copy


class Figures(Node):
    """A group of figures whose types are not known beforehand, such as those of a drive file."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return _wrap(self._values[name], _below(self._path, name))
        except KeyError:
            known = _suggested(name, self._values)
            raise AttributeError(f"no figure {name!r} here; {known}") from None


if TYPE_CHECKING:
    from ._summary import Summary
else:

    class Summary(Node):
        """A group of figures of a run. A figure that the run does not have is None, a group that it does not have is
        empty (false)."""

        __slots__ = ()

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            path, value = _below(self._path, name), self._values.get(name)
            return _missing(path, self._values) if value is None else _wrap(value, path, Summary)

        def __getitem__(self, name):
            return _wrap(self._values[name], _below(self._path, name), Summary)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _wrap(value: Any, path: str, kind: type[Node] = Figures) -> Any:
    if isinstance(value, dict):
        return (Figures if path == "drive" else kind)(value, path)
    if isinstance(value, list):
        return [_wrap(item, f"{path}[]", kind) for item in value]
    return value


_known: dict[str, Any] = {}  # the shape of the value at each path of a summary; read at first use


def _missing(path: str, values: Mapping[str, Any]) -> Any:
    """The value of a figure that a run does not have."""
    if not _known:
        for metric in json.loads(_flashkeep.metrics())["metrics"]:
            keys = metric["path"].split(".")
            _known[metric["path"]] = list if metric["list"] else None
            for at in range(1, len(keys)):
                _known[".".join(keys[:at])] = _known[".".join(keys[:at]).removesuffix("[]")] = Summary
                if keys[at - 1].endswith("[]"):
                    _known[".".join(keys[:at]).removesuffix("[]")] = list
    if path in _known:
        kind = _known[path]
        return None if kind is None else [] if kind is list else Summary({}, path)
    parent, _, name = path.rpartition(".")
    if name in values:
        return None
    here = f"{parent}." if parent else ""
    names = {
        known.removeprefix(here).partition(".")[0].removesuffix("[]") for known in _known if known.startswith(here)
    }
    raise AttributeError(f"no figure {path!r}; {_suggested(name, sorted(names))}")


def _suggested(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    known = list(known)
    close = get_close_matches(name, known, 1)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"


class Drive:
    """A drive, read and checked. Immutable: `replace` returns another one."""

    __slots__ = ("name", "overrides", "resolved", "warnings")

    name: str
    overrides: tuple[str, ...]
    resolved: Figures
    warnings: tuple[str, ...]

    def __init__(self, name: str, overrides: tuple[str, ...] = ()) -> None:
        checked = json.loads(_flashkeep.check(name, overrides))
        set_field = object.__setattr__
        set_field(self, "name", name)
        set_field(self, "overrides", overrides)
        set_field(self, "resolved", Figures(checked["drive"]))
        set_field(self, "warnings", tuple(checked["warnings"]))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a drive does not change; use drive.replace(**{{{name!r}: …}})")

    def replace(self, **changes: object) -> Drive:
        """The same drive with other values: `drive.replace(**{"buffer.dram_mib": 32})`."""
        added = tuple(f"{key}={_toml(value)}" for key, value in changes.items())
        return Drive(self.name, self.overrides + added)

    def to_dict(self) -> dict[str, Any]:
        """The resolved drive: the keys that have an effect, defaults filled in."""
        return self.resolved.to_dict()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Drive) and (self.name, self.overrides) == (other.name, other.overrides)

    def __hash__(self) -> int:
        return hash((self.name, self.overrides))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Drive, (self.name, self.overrides))

    def __repr__(self) -> str:
        overrides = "".join(f", {override}" for override in self.overrides)
        return f"<flashkeep.Drive {self.name}{overrides}>"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, str)):
        return str(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    raise TypeError(f"a drive's values are numbers, strings, booleans and lists, not {type(value).__name__}")


def _whole(option: str, found: int | None, least: int, bits: int) -> int | None:
    """Checks a number of requests, bytes or the like here, where the argument's name is known for the message."""
    if found is not None:
        try:
            number = operator.index(found)  # NumPy's integers too
        except TypeError:
            number = -1
        if not least <= number < 2**bits:
            raise _flashkeep.OptionError(
                f"{option}: found {found!r}; a whole number, {least} or more and below 2^{bits}, is accepted"
            )
        found = number
    return found


def _factor(option: str, found: float | None) -> float | None:
    if found is not None and not 0.0 < found < float("inf"):
        raise _flashkeep.OptionError(f"{option}: found {found!r}; a number above 0 is accepted")
    return found


READING = ("format", "sector_bytes", "columns", "bad_records", "limit")
"""The options of a trace that control how its file is read; the others control how it is placed on a drive."""


class Trace:
    """A workload: trace files or `synth:…`, and the options for reading them."""

    __slots__ = ("options", "paths")

    def __init__(self, paths: tuple[str, ...], options: Mapping[str, object]) -> None:
        self.paths = paths
        self.options = {key: value for key, value in options.items() if value is not None and value is not False}

    def info(self) -> Figures:
        """Statistics of the workload: requests, span, write share, sizes, footprint, warnings."""
        (path,) = self.paths
        options: dict[str, Any] = {key: self.options[key] for key in READING if key in self.options}
        return Figures(json.loads(_flashkeep.trace_info(path, **options)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and (self.paths, self.options) == (other.paths, other.options)

    __hash__ = None  # type: ignore[assignment]  # it holds a dict

    def __reduce__(self) -> tuple[Any, ...]:
        return (Trace, (self.paths, self.options))

    def __repr__(self) -> str:
        options = "".join(f", {key}={value!r}" for key, value in self.options.items())
        return f"<flashkeep.Trace {' '.join(self.paths)}{options}>"


COLUMNS: tuple[tuple[str, Literal["Q", "I", "B"], str], ...] = (
    ("arrival_ns", "Q", "<u8"),
    ("response_ns", "Q", "<u8"),
    ("service_ns", "Q", "<u8"),
    ("offset", "Q", "<u8"),
    ("length", "I", "<u4"),
    ("op", "B", "|u1"),
)
"""The columns of a run's requests: name, code for `memoryview.cast`, NumPy's type. `op` is 0 read, 1 write, 2 trim."""


class Requests:
    """Every request of a run in order of arrival, with a column for each figure; columns are read without copying."""

    __slots__ = ("_buffers",)

    def __init__(self, buffers: tuple[bytes, ...]) -> None:
        self._buffers = dict(zip((name for name, _, _ in COLUMNS), buffers, strict=True))

    def __len__(self) -> int:
        return len(self._buffers["op"])

    def keys(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._buffers)

    def __getitem__(self, column: str) -> NDArray[np.integer[Any]]:
        """A column as a NumPy array (read-only: it is the run's own memory)."""
        import numpy as np

        types = {name: dtype for name, _, dtype in COLUMNS}
        return np.frombuffer(self._buffers[column], dtype=types[column])

    def __getattr__(self, column: str) -> NDArray[np.integer[Any]]:
        if column.startswith("_") or column not in self._buffers:
            raise AttributeError(f"no column {column!r}; there are {', '.join(name for name, _, _ in COLUMNS)}")
        return self[column]

    def memory(self, column: str) -> memoryview[int]:
        """A column without NumPy."""
        codes = {name: code for name, code, _ in COLUMNS}
        return memoryview(self._buffers[column]).cast(codes[column])

    def to_numpy(self) -> dict[str, NDArray[np.integer[Any]]]:
        """All columns as NumPy arrays: what `pandas.DataFrame` and `polars.DataFrame` take."""
        return {column: self[column] for column in self._buffers}

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns as an Arrow stream: `polars.DataFrame(requests)`, `pyarrow.table(requests)`, DuckDB."""
        del requested_schema  # a producer may offer its own types, and leave the conversion to the consumer
        return _flashkeep.arrow_stream([(name, dtype, self._buffers[name]) for name, _, dtype in COLUMNS])

    def __reduce__(self) -> tuple[Any, ...]:
        return (Requests, (tuple(self._buffers.values()),))

    def __repr__(self) -> str:
        return f"<flashkeep.Requests {len(self):,} × {', '.join(self._buffers)}>"


class Result(Summary):
    """The result of a run: `summary.json` as attributes, and its requests."""

    __slots__ = ("_requests",)

    def __init__(self, summary: Mapping[str, Any], requests: Requests | None = None) -> None:
        super().__init__(summary)
        self._requests = requests

    def requests(self) -> Requests:
        """Arrival, response and place of every request."""
        if self._requests is None:
            raise ValueError("this run kept no requests; leave out requests=False and untimed=True")
        return self._requests

    def __reduce__(self) -> tuple[Any, ...]:
        return (Result, (self._values, self._requests))

    def __repr__(self) -> str:
        mean = self._values["response_us"]["all"]
        told = "no times" if mean is None else f"mean response {mean['mean']:.1f} µs"
        return f"<flashkeep.Result {self._values['drive'].get('name', '')}: {told}>"


def simulate(
    job: Mapping[str, object], progress: Progress | None = None, tables: tuple[str, str] | None = None
) -> tuple[dict[str, Any], tuple[bytes, ...]]:
    """Runs a job. Returns its summary, with the time and memory that it took on this machine, and its columns of
    requests."""
    started = time.perf_counter()
    text, columns = _flashkeep.run(json.dumps(job), progress, tables)
    wall_s = time.perf_counter() - started
    summary: dict[str, Any] = json.loads(text)
    operations = sum(sum(summary["operations"][kind].values()) for kind in ("read", "program", "copyback"))
    # In kilobytes, but in bytes on Darwin.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    summary["run"] = {
        "wall_s": wall_s,
        "requests_per_s": summary["workload"]["requests"] / wall_s,
        "page_operations_per_s": operations / wall_s,
        "peak_rss_mib": peak,
        "threads": 1,
    }
    return summary, columns


def drive(name: str | os.PathLike[str]) -> Drive:
    """A drive by its preset's name (`"2CM-128"`) or the path of its file."""
    text = os.fspath(name)
    if not isinstance(name, str) and "/" not in text and not text.endswith(".toml"):
        text = os.path.join(".", text)  # a path object is never the name of a preset
    return Drive(text)


def trace(
    *paths: str | os.PathLike[str],
    format: str | None = None,
    sector_bytes: int | None = None,
    columns: str | Mapping[str, object] | None = None,
    limit: int | None = None,
    time_scale: float | None = None,
    compact: bool = False,
    wrap: bool = False,
    merge_devices: bool = False,
    bad_records: str | None = None,
) -> Trace:
    """A workload: trace files (several are merged by time), or `synth:random,requests=1M,…`.

    `columns="time=0:us,op=3,offset=1:sectors,size=2"`, or the same as a mapping, assigns the columns of a
    comma-separated trace (`flashkeep formats csv`).
    """
    if not paths:
        raise TypeError("a trace needs at least one path or synth:… workload")
    options = {
        "format": format,
        "sector_bytes": _whole("sector_bytes", sector_bytes, 1, 32),
        "columns": columns if columns is None or isinstance(columns, str) else _column_map(columns),
        "limit": _whole("limit", limit, 1, 64),
        "time_scale": _factor("time_scale", time_scale),
        "compact": compact,
        "wrap": wrap,
        "merge_devices": merge_devices,
        "bad_records": bad_records,
    }
    return Trace(tuple(os.fspath(path) for path in paths), options)


def _column_map(columns: Mapping[str, object]) -> str:
    return ",".join(f"{field}={place}" for field, place in columns.items())


def _as_drive(given: Drive | str | os.PathLike[str]) -> Drive:
    return given if isinstance(given, Drive) else drive(given)


def _as_trace(given: Trace | str | os.PathLike[str]) -> Trace:
    return given if isinstance(given, Trace) else trace(given)


def run(
    drive: Drive | str | os.PathLike[str],
    trace: Trace | str | os.PathLike[str],
    seed: int = 1,
    *,
    replay: str | None = None,
    depth: int | None = None,
    existing: str | None = None,
    warmup: int | str | None = None,
    verify: bool = False,
    fail: str | Sequence[str] = (),
    scenario: str | os.PathLike[str] | None = None,
    operations: str | os.PathLike[str] | None = None,
    timeline: str | os.PathLike[str] | None = None,
    timeline_window: str | None = None,
    map: str | os.PathLike[str] | None = None,
    untimed: bool = False,
    condition: bool = False,
    aged: str | os.PathLike[str] | None = None,
    save_aged: str | os.PathLike[str] | None = None,
    requests: bool = True,
    progress: Progress | None = None,
) -> Result:
    """Simulates one drive under one workload. Equal arguments give equal results, to the byte.

    `progress(requests, share, simulated_ns)` is called about every tenth of a second; raising in it ends the run.
    `fail="chip:3.0@10s"` (or several) injects failures of parts of the drive; a `scenario` file holds many such events.
    `untimed=True` skips timing: counts, wear and integrity only, without times and requests. `condition=True` first
    writes the drive until random writes are in a steady state; `aged` starts with a drive that `save_aged`, or
    `flashkeep age`, has saved. `timeline` is a file for the busy periods of each channel and unit, within
    `timeline_window="10s..12s"`. `requests=False` does not keep every request's times (48 bytes each).
    """
    checked, workload = _as_drive(drive), _as_trace(trace)
    job = {
        "drive": checked.name,
        "set": checked.overrides,
        "traces": workload.paths,
        **workload.options,
        "seed": _whole("seed", seed, 0, 64),
        "replay": replay,
        "depth": _whole("depth", depth, 1, 32),
        "existing": existing,
        "warmup": None if warmup is None else str(warmup),
        "verify": verify,
        "fail": [fail] if isinstance(fail, str) else list(fail),
        "scenario": scenario and os.fspath(scenario),
        "operations": operations and os.fspath(operations),
        "timeline": timeline and os.fspath(timeline),
        "timeline_window": timeline_window,
        "map": map and os.fspath(map),
        "untimed": untimed,
        "condition": condition,
        "aged": aged and os.fspath(aged),
        "save_aged": save_aged and os.fspath(save_aged),
        "keep_requests": requests and not untimed,
    }
    summary, columns = simulate(job, progress)
    return Result(summary, Requests(columns) if requests and not untimed else None)
