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
from .extras import need

TYPE_CHECKING = False  # importing `typing` would delay every start of the command line by milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, Literal, TypeAlias, TypedDict, Unpack

    import numpy as np
    from numpy.typing import NDArray

    from .catalogue import Presets
    from .choices import BadRecords, DriveFile, Existing, Figure, Library, Replay, TraceFormat
    from .comparison import Comparison
    from .tabular import Table

    Progress = Callable[[int, float | None, int], object]

    class AgeOptions(TypedDict, total=False):
        """The options of `age`: those of `run` that do not need time."""

        replay: Replay
        depth: int
        existing: Existing
        condition: bool
        aged: str | os.PathLike[str]

    class RunOptions(AgeOptions, total=False):
        """The options of `run` that hold for several drives."""

        warmup: int | str
        verify: bool
        fail: str | Sequence[str]
        scenario: str | os.PathLike[str]
        untimed: bool

    Given: TypeAlias = "Drive | str | os.PathLike[str] | DriveFile | Mapping[str, object]"
    """What names a drive."""


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

    __slots__ = ("capacity_bytes", "name", "overrides", "resolved", "text", "warnings")

    name: str
    overrides: tuple[str, ...]
    text: str | None
    """The drive file, if it was given as a mapping."""
    resolved: Figures
    capacity_bytes: int
    warnings: tuple[str, ...]

    def __init__(self, name: str, overrides: tuple[str, ...] = (), text: str | None = None) -> None:
        checked = json.loads(_check(name, overrides, text))
        set_field = object.__setattr__
        set_field(self, "name", name)
        set_field(self, "overrides", overrides)
        set_field(self, "text", text)
        set_field(self, "resolved", Figures(checked["drive"]))
        set_field(self, "capacity_bytes", checked["capacity_bytes"])
        set_field(self, "warnings", tuple(checked["warnings"]))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a drive does not change; use drive.replace(**{{{name!r}: …}})")

    def replace(self, **changes: object) -> Drive:
        """The same drive with other values: `drive.replace(**{"buffer.dram_mib": 32})`."""
        added = tuple(f"{key}={_toml(plain(value))}" for key, value in changes.items())
        return Drive(self.name, self.overrides + added, self.text)

    def to_dict(self) -> dict[str, Any]:
        """The resolved drive: the keys that have an effect, defaults filled in."""
        return self.resolved.to_dict()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Drive) and self._source() == other._source()

    def __hash__(self) -> int:
        return hash(self._source())

    def __reduce__(self) -> tuple[Any, ...]:
        return (Drive, self._source())

    def _source(self) -> tuple[str, tuple[str, ...], str | None]:
        return self.name, self.overrides, self.text

    def _repr_html_(self) -> str:
        from .html import drive_page

        return drive_page(self)

    def __repr__(self) -> str:
        overrides = "".join(f", {override}" for override in self.overrides)
        return f"<flashkeep.Drive {self.name}{overrides}>"


def _check(name: str, overrides: tuple[str, ...], text: str | None) -> str:
    try:
        return _flashkeep.check(name, overrides, text)
    except _flashkeep.DriveError as error:
        if text is None or error.line is None:
            raise
        # The lines are those of a text that the user has not seen.
        told = str(error).replace(f"{error.path}:{error.line}:", f"{error.path}:", 1)
        raise _wrong_drive(told, error.path, error.field) from None


def _wrong_drive(message: str, path: str, field: str | None) -> _flashkeep.DriveError:
    error = _flashkeep.DriveError(message)
    error.path, error.line, error.field = path, None, field
    return error


def plain(value: object) -> Any:
    """A value as Python's own types: NumPy's scalars become numbers, its arrays and tuples become lists."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a drive's values are numbers, strings, booleans and lists, not {type(value).__name__}")


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, list) else str(value)


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
    """A workload: trace files, `synth:…` or tables, and the options for reading them."""

    __slots__ = ("options", "paths", "tables")

    def __init__(
        self, paths: tuple[str, ...], options: Mapping[str, object], tables: Mapping[str, bytes] | None = None
    ) -> None:
        self.paths = paths
        self.options = {key: value for key, value in options.items() if value is not None and value is not False}
        self.tables = dict(tables or {})  # by the name that `paths` has

    def info(self) -> Figures:
        """Statistics of the workload: requests, span, write share, sizes, footprint, warnings."""
        (path,) = self.paths
        options: dict[str, Any] = {key: self.options[key] for key in READING if key in self.options}
        return Figures(json.loads(_flashkeep.trace_info(path, **options, in_memory=self.tables.get(path))))

    def __eq__(self, other: object) -> bool:
        # A table's name has the digest of its content.
        return isinstance(other, Trace) and (self.paths, self.options) == (other.paths, other.options)

    __hash__ = None  # type: ignore[assignment]  # it holds a dict

    def __reduce__(self) -> tuple[Any, ...]:
        return (Trace, (self.paths, self.options, self.tables))

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

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """The requests one by one, as named tuples, which `pandas.DataFrame(requests)` takes."""
        from collections import namedtuple

        one = namedtuple("Request", self._buffers)  # type: ignore[misc]
        return map(one._make, zip(*(self.memory(column) for column in self._buffers), strict=True))

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

    def __init__(self, summary: Mapping[str, Any], requests: Requests | Callable[[], Requests] | None = None) -> None:
        super().__init__(summary)
        self._requests = requests

    def requests(self) -> Requests:
        """Arrival, response and place of every request."""
        if self._requests is None:
            raise ValueError("this run kept no requests; leave out requests=False and untimed=True")
        if not isinstance(self._requests, Requests):
            self._requests = self._requests()  # they are read at first use
        return self._requests

    def has_requests(self) -> bool:
        """Whether the run kept its requests."""
        return self._requests is not None

    def flat(self) -> dict[str, Any]:
        """Every figure by its dotted path; items of lists by their number: `utilization.channel.0`."""
        from .flat import flat

        return flat(self._values)

    def to_frame(self, library: Library | None = None) -> Any:
        """The figures as a data frame with one row and a column for each dotted path.

        `library` is "pandas" or "polars"; the first one that is installed if it is left out.
        """
        from .flat import frame

        return frame([self.flat()], library)

    def plot(self, figure: Figure = "distributions") -> Any:
        """One of the figures of `flashkeep report`, as a figure of matplotlib."""
        from .plots import plot

        return plot([self], figure)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Result, (self._values, self.requests() if self._requests is not None else None))

    def __repr__(self) -> str:
        means = ((kind, (self._values["response_us"].get(kind) or {}).get("mean")) for kind in ("read", "write"))
        told = ", ".join(f"{kind}s {mean:,.1f} µs" for kind, mean in means if mean is not None)
        return f"<flashkeep.Result {self._values['drive'].get('name', '')}: {told}>"

    def _repr_html_(self) -> str:
        from .html import result_page

        return result_page(self.to_dict())


def simulate(
    job: Mapping[str, object],
    progress: Progress | None = None,
    tables: tuple[str, str] | None = None,
    in_memory: Mapping[str, bytes] | None = None,
) -> tuple[dict[str, Any], tuple[bytes, ...]]:
    """Runs a job. Returns its summary, with the time and memory that it took on this machine, and its columns of
    requests. `in_memory` has traces that are not files, by the name that the job gives them."""
    started = time.perf_counter()
    text, columns = _flashkeep.run(json.dumps(job), progress, tables, list((in_memory or {}).items()))
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


def drive(name: str | os.PathLike[str] | DriveFile | Mapping[str, object]) -> Drive:
    """A drive by its preset's name (`"2CM-128"`), the path of its file, or as a mapping like such a file.

    A mapping may be nested (`{"base": "tlc-client", "flash": {"channels": 4}}`) or have dotted keys
    (`{"flash.channels": 4}`). NumPy's scalars are accepted as values.
    """
    if not isinstance(name, (str, os.PathLike)):
        if not hasattr(name, "items"):
            raise TypeError(f"a drive is a preset's name, a path or a mapping, not {type(name).__name__}")
        return _drive_of(name)
    text = os.fspath(name)
    if not isinstance(name, str) and "/" not in text and not text.endswith(".toml"):
        text = os.path.join(".", text)  # a path object is never the name of a preset
    return Drive(text)


def _drive_of(given: Mapping[str, Any]) -> Drive:
    """The drive of a mapping: the text of a drive file."""
    from . import listing

    tree: dict[str, Any] = {}
    _fill(tree, given, "")
    return Drive(str(tree.get("name") or "drive"), (), listing.toml(tree) + "\n")


def _fill(tree: dict[str, Any], given: Mapping[str, Any], above: str) -> None:
    """Adds a mapping to a tree of tables; dotted keys name tables below."""
    for key, value in given.items():
        path = _below(above, str(key))
        if value is None:
            continue
        if hasattr(value, "items"):
            _fill(tree, value, path)
            continue
        at = tree
        *tables, last = path.split(".")
        for table in tables:
            at = at.setdefault(table, {})
            if not isinstance(at, dict):
                raise _wrong_drive(f"drive: {path}: {table} is a value and a table", "drive", path)
        if last in at:
            raise _wrong_drive(f"drive: {path}: given twice, in a table and as a dotted key", "drive", path)
        at[last] = plain(value)


def trace(
    *sources: str | os.PathLike[str] | Table,
    format: TraceFormat | None = None,
    sector_bytes: int | None = None,
    columns: str | Mapping[str, object] | None = None,
    limit: int | None = None,
    time_scale: float | None = None,
    compact: bool = False,
    wrap: bool = False,
    merge_devices: bool = False,
    bad_records: BadRecords | None = None,
) -> Trace:
    """A workload: trace files (several are merged by time), `synth:random,requests=1M,…`, or tables in memory.

    `columns="time=0:us,op=3,offset=1:sectors,size=2"`, or the same as a mapping, assigns the columns of a
    comma-separated trace (`flashkeep formats csv`).

    A table is a data frame of pandas or polars, an Arrow table, a structured array of NumPy, or a mapping of columns.
    Its columns are `time_ns`, `time_us`, `time_ms` or `time_s` (or `time` as datetime64), `offset` and `size` in bytes,
    `op` (R, W, T or Read, Write, Trim), and `device` if there are several; `columns` assigns others, as for a file.
    Rows are sorted by time. A bad row is a `TraceError` that names it, or skipped with `bad_records="skip"`.
    """
    if not sources:
        raise TypeError("a trace needs at least one path, synth:… workload or table")
    sector_bytes = _whole("sector_bytes", sector_bytes, 1, 32)
    named = columns if columns is None or isinstance(columns, str) else _column_map(columns)
    paths: list[str] = []
    tables: dict[str, bytes] = {}
    for source in sources:
        if isinstance(source, (str, os.PathLike)):
            paths.append(os.fspath(source))
            continue
        need("a trace from a table", "numpy", "numpy")
        from .tabular import records

        name, content = records(source, named, sector_bytes, bad_records == "skip")
        paths.append(name)
        tables[name] = content
    if tables and (format is not None or len(tables) < len(set(paths))):
        beside = "a format" if format is not None else "a file"
        raise _flashkeep.OptionError(f"trace: found a table and {beside}; tables have no format, and are merged with "
                                     "tables only")  # fmt: skip
    options = {
        "format": format,
        "sector_bytes": None if tables else sector_bytes,
        "columns": None if tables else named,
        "limit": _whole("limit", limit, 1, 64),
        "time_scale": _factor("time_scale", time_scale),
        "compact": bool(compact),
        "wrap": bool(wrap),
        "merge_devices": bool(merge_devices),
        "bad_records": bad_records,
    }
    return Trace(tuple(paths), options, tables)


def _column_map(columns: Mapping[str, object]) -> str:
    return ",".join(f"{field}={place}" for field, place in columns.items())


def _as_drive(given: Given) -> Drive:
    return given if isinstance(given, Drive) else drive(given)


def _as_trace(given: Trace | str | os.PathLike[str] | Table) -> Trace:
    return given if isinstance(given, Trace) else trace(given)


OPTIONS = ("replay", "depth", "existing", "warmup", "verify", "fail", "scenario", "operations", "timeline",
           "timeline_window", "map", "untimed", "condition", "aged", "save_aged")  # fmt: skip
"""The options of a run that are keys of a job."""
FILES = ("scenario", "operations", "timeline", "map", "aged", "save_aged")


def job_of(drive: Drive, trace: Trace | None, seed: int, options: Mapping[str, Any], keep: bool) -> dict[str, object]:
    """A run as a job."""
    unknown = [name for name in options if name not in OPTIONS]
    if unknown:
        raise TypeError(f"unexpected option {unknown[0]!r}; {_suggested(unknown[0], OPTIONS)}")
    fail = options.get("fail", ())
    warmup = options.get("warmup")
    given = {
        **options,
        **{name: os.fspath(options[name]) for name in FILES if options.get(name)},
        "depth": _whole("depth", options.get("depth"), 1, 32),
        "warmup": None if warmup is None else str(warmup),
        "fail": [fail] if isinstance(fail, str) else list(fail),
    }
    flags = {name: bool(options.get(name)) for name in ("verify", "untimed", "condition")}
    job = {
        "drive": drive.name,
        "drive_text": drive.text,
        "set": drive.overrides,
        "traces": trace.paths if trace else (),
        **(trace.options if trace else {}),
        "seed": _whole("seed", seed, 0, 64),
        **{name: value for name, value in given.items() if value is not None and value != ""},
        **flags,
        "keep_requests": keep and not flags["untimed"],
    }
    return {name: value for name, value in job.items() if value is not None}


def run(
    drive: Given,
    trace: Trace | str | os.PathLike[str] | Table,
    seed: int = 1,
    *,
    replay: Replay | None = None,
    depth: int | None = None,
    existing: Existing | None = None,
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
    progress: Progress | bool | None = None,
) -> Result:
    """Simulates one drive under one workload. Equal arguments give equal results, to the byte.

    `progress(requests, share, simulated_ns)` is called about every tenth of a second; raising in it ends the run.
    `progress=True` shows progress, `False` does not; without it, progress is shown in notebooks.
    `fail="chip:3.0@10s"` (or several) injects failures of parts of the drive; a `scenario` file holds many such events.
    `untimed=True` skips timing: counts, wear and integrity only, without times and requests. `condition=True` first
    writes the drive until random writes are in a steady state; `aged` starts with a drive that `save_aged`, or
    `flashkeep age`, has saved. `timeline` is a file for the busy periods of each channel and unit, within
    `timeline_window="10s..12s"`. `requests=False` does not keep every request's times (48 bytes each).
    """
    options = {
        "replay": replay,
        "depth": depth,
        "existing": existing,
        "warmup": warmup,
        "verify": verify,
        "fail": fail,
        "scenario": scenario,
        "operations": operations,
        "timeline": timeline,
        "timeline_window": timeline_window,
        "map": map,
        "untimed": untimed,
        "condition": condition,
        "aged": aged,
        "save_aged": save_aged,
    }
    return start(_as_drive(drive), _as_trace(trace), seed, options, requests, progress)


def start(
    drive: Drive,
    trace: Trace | None,
    seed: int,
    options: Mapping[str, Any],
    requests: bool,
    progress: Progress | bool | None,
) -> Result:
    """Runs one drive, and shows the progress."""
    from .progress import shown

    job = job_of(drive, trace, seed, options, requests)
    with shown(progress) as tell:
        summary, columns = simulate(job, tell, None, trace.tables if trace else None)
    return Result(summary, Requests(columns) if job["keep_requests"] else None)


def age(
    drive: Given,
    file: str | os.PathLike[str],
    trace: Trace | str | os.PathLike[str] | Table | None = None,
    seed: int = 1,
    *,
    progress: Progress | bool | None = None,
    **options: Unpack[AgeOptions],
) -> Result:
    """Ages a drive and saves it in a file, for `run(…, aged=file)`.

    It is aged by its `ageing.model`, by a trace without timing, or, without either, by random writes until these are in
    a steady state.
    """
    workload = None if trace is None else _as_trace(trace)
    given = {**options, "save_aged": file, "untimed": True}
    return start(_as_drive(drive), workload, seed, given, False, progress)


def drives() -> Presets:
    """The presets, with their main figures."""
    from .catalogue import presets

    return presets()


def compare(
    trace: Trace | str | os.PathLike[str] | Table,
    drives: Sequence[Given] | Mapping[str, Given],
    seed: int = 1,
    *,
    workers: int = 2,
    requests: bool = True,
    progress: bool | None = None,
    **options: Unpack[RunOptions],
) -> Comparison:
    """Runs the same workload on several drives, `workers` at a time, and compares each with the first.

    `drives` as a mapping gives the drives labels. The options are those of `run`.
    """
    from .comparison import compare_runs

    if isinstance(drives, (str, os.PathLike, Drive)):
        raise TypeError("compare takes a list of drives, or a mapping of labels to drives")
    labels = [str(label) for label in drives] if hasattr(drives, "values") else None
    given = list(drives.values() if hasattr(drives, "values") else drives)
    checked = [_as_drive(one) for one in given]
    return compare_runs(_as_trace(trace), checked, labels, seed, options, requests, workers, progress)


def load(folder: str | os.PathLike[str]) -> Result:
    """A result that `flashkeep run --out DIR` has written: its summary, and its requests if they are there."""
    from .loading import load_result

    return load_result(os.fspath(folder))


def load_comparison(folder: str | os.PathLike[str]) -> Comparison:
    """The results that `flashkeep compare --out DIR` has written, or of several runs below one folder."""
    from .loading import load_results

    return load_results(os.fspath(folder))
