"""Workloads of the Python interface: trace files, synthetic workloads, and tables in memory."""

from __future__ import annotations

import json
import os

from .. import _flashkeep
from ..results.tree_view import Figures
from .run_options import factor, names_of, whole

TYPE_CHECKING = False  # importing `typing` would delay every start of the command line by milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, SupportsFloat, SupportsIndex

    from ..choices import BadRecords, TraceFormat
    from .tabular import Table


READING = names_of("reading")
"""The options of a trace that control how its file is read; the others control how it is placed on a drive."""

PLACING = names_of("placing")
"""The others."""


def of_trace(name: str) -> str | None:
    """Where an option of traces belongs; none for other names."""
    return f"it belongs to the trace: flashkeep.trace(PATH, {name}=…)" if name in (*READING, *PLACING) else None


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
        return Figures(self._info_on(None))

    def _info_on(self, drive: str | None) -> dict[str, Any]:
        """The same as JSON; a synthetic workload without a footprint is as large as this drive."""
        tables = list(self.tables.items())
        found: dict[str, Any] = json.loads(
            _flashkeep.trace_info(list(self.paths), **self._reading, drive=drive, in_memory=tables)
        )
        return found

    @property
    def _reading(self) -> dict[str, Any]:
        return {key: self.options[key] for key in READING if key in self.options}

    def plot(self) -> Any:
        """Its rate, data and addresses over time, and its sizes, as a figure of matplotlib."""
        from ..extras import need

        need("plot()", "reports", "matplotlib")
        from ..render import figures, trace_picture

        found = trace_picture.records_of(self.paths, self._reading, self.tables)
        return figures.shown(trace_picture.picture(" ".join(self.paths), found))

    def __eq__(self, other: object) -> bool:
        # A table's name has the digest of its content.
        return isinstance(other, Trace) and (self.paths, self.options) == (other.paths, other.options)

    __hash__ = None  # type: ignore[assignment]  # it holds a dict

    def __reduce__(self) -> tuple[Any, ...]:
        return (Trace, (self.paths, self.options, self.tables))

    def __repr__(self) -> str:
        options = "".join(f", {key}={value!r}" for key, value in self.options.items())
        return f"<flashkeep.Trace {' '.join(self.paths)}{options}>"


def trace(
    *sources: str | os.PathLike[str] | Table,
    format: TraceFormat | None = None,
    sector_bytes: SupportsIndex | None = None,
    columns: str | Mapping[str, object] | None = None,
    limit: SupportsIndex | None = None,
    time_scale: SupportsFloat | None = None,
    compact: bool = False,
    wrap: bool = False,
    merge_devices: bool = False,
    bad_records: BadRecords | None = None,
    action: str | None = None,
    overlay: bool = False,
    repeat: SupportsIndex | None = None,
) -> Trace:
    """A workload: trace files, directories or patterns of them, `synth:random,requests=1M,…`, or tables in memory.

    Several are one trace: in the order of their clocks, or else one after the other (docs/formats.md). `overlay=True`
    begins all of them at time 0; an array with several volumes gets one each. `repeat=10` is the workload ten times.
    `action="D"` takes the issued events of a recording by blktrace, `"C"` the completed ones.

    `columns="time=0:us,op=3,offset=1:sectors,size=2"`, or the same as a mapping, assigns the columns of a table in a
    text (`flashkeep formats csv`).

    A table is a data frame of pandas or polars, an Arrow table, a structured array of NumPy, or a mapping of columns.
    Its columns are `time_ns`, `time_us`, `time_ms` or `time_s` (or `time` as datetime64), `offset` and `size` in bytes,
    `op` (R, W, T or Read, Write, Trim), and `device` if there are several; `columns` assigns others, as for a file.
    Rows are sorted by time. A bad row is a `TraceError` that names it, or skipped with `bad_records="skip"`.
    """
    if not sources:
        raise TypeError("a trace needs at least one path, synth:… workload or table")
    sector_bytes = whole("sector_bytes", sector_bytes, 1, 32)
    named = columns if columns is None or isinstance(columns, str) else _column_map(columns)
    paths: list[str] = []
    tables: dict[str, bytes] = {}
    for source in sources:
        if isinstance(source, (str, os.PathLike)):
            paths.append(os.fspath(source))
            continue
        from ..extras import need

        need("a trace from a table", "numpy", "numpy")
        from .tabular import records

        name, content = records(source, named, sector_bytes, bad_records == "skip")
        paths.append(name)
        tables[name] = content
    if tables and (format is not None or len(tables) < len(set(paths))):
        beside = "a format" if format is not None else "a file"
        raise _flashkeep.OptionError(f"trace: found a table and {beside}; tables have no format, and go with "
                                     "tables only")  # fmt: skip
    options = {
        "format": "records" if tables else format,
        "sector_bytes": None if tables else sector_bytes,
        "columns": None if tables else named,
        "limit": whole("limit", limit, 1, 64),
        "time_scale": factor("time_scale", time_scale),
        "compact": bool(compact),
        "wrap": bool(wrap),
        "merge_devices": bool(merge_devices),
        "bad_records": bad_records,
        "action": action,
        "overlay": bool(overlay),
        "repeat": whole("repeat", repeat, 1, 64),
    }
    return Trace(tuple(paths), options, tables)


def _column_map(columns: Mapping[str, object]) -> str:
    return ",".join(f"{field}={place}" for field, place in columns.items())
