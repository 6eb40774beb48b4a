"""Tables in memory as traces: data frames, Arrow tables, NumPy arrays.

A table becomes records of the format `records` (`flashkeep formats records`), which the simulator reads from memory as
it would from a file.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from .._flashkeep import TraceError
from ..extras import need

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    Column = NDArray[Any]

    class Arrow(Protocol):
        """A table with the Arrow C stream interface: of pandas, polars, PyArrow, DuckDB."""

        def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

    Table = Arrow | NDArray[np.void] | Mapping[str, object]

TIMES_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "filetime": 100}
BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20}
NAMES = {
    "time": (*(f"time_{unit}" for unit in TIMES_NS), "time", "arrival_ns"),
    "op": ("op",),
    "offset": ("offset", "offset_B"),
    "size": ("size", "size_B", "length"),
    "device": ("device",),
    "handle": ("handle",),
}
"""The columns that a field is found in if `columns` does not say; the first is what messages recommend."""
OPTIONAL = ("device", "handle")
"""The fields that a table may lack."""

WORDS = {
    "read": ("r", "read"), "write": ("w", "write"), "trim": ("t", "trim", "d", "discard", "unmap"),
    "flush": ("f", "flush"), "fua": ("wf", "fua"),
}  # fmt: skip
CODES = {"read": 0, "write": 1, "trim": 2, "flush": 3, "fua": 4}
"""The ops of a record, and a code for writes with FUA, which a record marks apart."""
HANDLES = 8
"""Placement handles that a write can name."""
BAD = 255
"""The op of a record that is skipped and counted."""

RECORD = np.dtype([
    ("arrival_ns", "<u8"), ("offset", "<u8"), ("length", "<u4"), ("device", "<u4"), ("op", "u1"), ("fua", "u1"),
    ("handle", "u1"), ("zero", "u1"), ("mark", "S4"),
])  # fmt: skip
"""A record of the format `records`."""


@dataclass(frozen=True, slots=True)
class Place:
    """The column of a field: its name, its unit, and the words of an op."""

    column: str
    unit: str = ""
    words: tuple[tuple[str, str], ...] = ()


def records(table: object, columns: str | None, sector_bytes: int | None, skip: bool) -> tuple[str, bytes]:
    """A table as records, sorted by time, and the name by which the run knows them: `table:` and a part of their
    SHA-256."""
    source = _Source(table)
    places = source.places(columns)
    made = np.zeros(len(source), RECORD)
    made["mark"] = b"fkr1"
    bad = np.zeros(len(source), bool)
    checks = _Checks(source.label, skip, bad)
    ops = _ops(source.column(places["op"]), places["op"], checks)
    made["fua"] = ops == CODES["fua"]
    made["op"] = np.where(ops == CODES["fua"], CODES["write"], ops)
    flushes = ops == CODES["flush"]
    offset = _bytes(_but(flushes, source.column(places["offset"])), places["offset"], sector_bytes, 0, checks)
    length = _bytes(_but(flushes, source.column(places["size"])), places["size"], sector_bytes, 1, checks)
    checks.refuse(length >= 2**32, places["size"].column, length, "requests below 4 GiB")
    checks.refuse(offset > np.uint64(2**64 - 1) - length, places["offset"].column, offset,
                  "requests that end below 2^64 bytes")  # fmt: skip
    made["offset"], made["length"] = np.where(flushes, 0, offset), np.where(length < 2**32, length, 1)
    made["length"][flushes] = 0
    if "device" in places:
        made["device"] = _devices(source.column(places["device"]), places["device"], checks)
    if "handle" in places:
        handles = _numbers(source.column(places["handle"]), places["handle"].column, checks,
                           f"a placement handle from 0 to {HANDLES - 1}", HANDLES - 1)  # fmt: skip
        made["handle"] = np.where(made["op"] == CODES["write"], handles, 0)
    made["arrival_ns"] = _times(source.column(places["time"]), places["time"], checks)
    if not len(made):
        raise error(source.label, None, None, "the table has no rows")
    made["op"][bad], made["fua"][bad], made["handle"][bad] = BAD, 0, 0
    times = made["arrival_ns"]
    if np.any(times[1:] < times[:-1]):
        made = made[np.argsort(times, kind="stable")]
    content = made.tobytes()
    return f"table:{hashlib.sha256(content).hexdigest()[:16]}", content


def error(label: str, row: int | None, column: str | None, message: str) -> TraceError:
    """The error of a table: its row, counted from 0 as in its index, its column, and the message."""
    where = ", ".join(([] if row is None else [f"row {row}"]) + ([] if column is None else [f"column {column!r}"]))
    told = TraceError(f"{label}: {where}: {message}" if where else f"{label}: {message}")
    told.path, told.line, told.field = label, row, column
    return told


class _Source:
    """Any kind of table: the names of its columns, its columns as NumPy arrays, its number of rows."""

    def __init__(self, table: object) -> None:
        self.label = type(table).__name__
        if isinstance(table, np.ndarray):
            if table.dtype.names is None or table.ndim != 1:
                raise error(self.label, None, None, "a structured array of one dimension is accepted, with a field "
                            "for each of time, op, offset and size")  # fmt: skip
            names: Iterable[Any] = table.dtype.names
        elif hasattr(table, "column_names") and not callable(table.column_names):
            names = table.column_names  # PyArrow's Table
        elif hasattr(table, "columns") and hasattr(table, "__getitem__"):
            names = table.columns  # pandas and polars
        elif hasattr(table, "keys") and hasattr(table, "__getitem__"):
            names = table.keys()
        elif hasattr(table, "__arrow_c_stream__"):
            arrow = _through_pyarrow(table, self.label)
            table, names = arrow, arrow.column_names
        else:
            raise TypeError(f"a trace is a path, synth:…, a data frame, an Arrow table, a structured array or a "
                            f"mapping of columns, not {self.label}")  # fmt: skip
        self._table: Any = table
        self.names = [str(name) for name in names]
        self._rows: int | None = None
        self.is_own = self.label == "Requests" and "response_ns" in self.names

    def __len__(self) -> int:
        if self._rows is None:
            self._rows = len(self._array(self.names[0])) if self.names else 0
        return self._rows

    def _array(self, name: str) -> Column:
        column = self._table[name]
        array = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
        if array.dtype.kind in "US" and isinstance(column, (list, tuple)):
            # NumPy makes the numbers among texts texts.
            return np.array(column, object) if any(not isinstance(item, (str, bytes)) for item in column) else array
        if array.dtype.kind == "f" and isinstance(column, (list, tuple)) and all(type(item) is int for item in column):
            return np.array(column, object)  # NumPy makes whole numbers from 2^63 on floats
        return array

    def column(self, place: Place) -> Column:
        """A column; all have as many rows."""
        array = self._array(place.column)
        if array.ndim != 1 or len(array) != len(self):
            found = f"{len(array)} rows" if array.ndim == 1 else f"{array.ndim} dimensions"
            raise error(
                self.label, None, place.column, f"found {found}; the column {self.names[0]!r} has {len(self)} rows"
            )
        return array

    def places(self, columns: str | None) -> dict[str, Place]:
        """The column of each field: as `columns` says, else by the usual names."""
        given = _read_columns(columns, self.label) if columns else {}
        found: dict[str, Place] = {}
        for field, usual in NAMES.items():
            if field in given:
                place = given[field]
                if place.column not in self.names and place.column.isdigit() and int(place.column) < len(self.names):
                    place = Place(self.names[int(place.column)], place.unit, place.words)
            else:
                name = next((name for name in usual if name in self.names), None)
                if name is None:
                    if field in OPTIONAL:
                        continue
                    self._missing(field, usual)
                unit = name.rpartition("_")[2] if "_" in name else ""
                words = tuple((str(code), verb) for verb, code in CODES.items()) if self.is_own else ()
                place = Place(name, unit, words)
            if place.column not in self.names:
                self._missing(field, (place.column,))
            found[field] = place
        return found

    def _missing(self, field: str, usual: tuple[str, ...]) -> NoReturn:
        told = f"no column for {field}: found {', '.join(self.names) or 'none'}"
        raise error(
            self.label, None, None, f"{told}; accepted: {' or '.join(usual)}, or columns={{{field!r}: NAME, …}}"
        )


def _through_pyarrow(table: object, label: str) -> Any:
    return need(f"a trace from a {label}", "reports", "pyarrow").table(table)


def _read_columns(text: str, label: str) -> dict[str, Place]:
    """Reads `time=When:s,op=Kind:read=0/write=1,offset=At:sectors,size=Len`, as for a file."""
    places = {}
    for part in text.split(","):
        field, _, rest = part.partition("=")
        if field not in NAMES or not rest:
            raise error(label, None, None, f"columns: found {part!r}; accepted: {', '.join(NAMES)}, each with a "
                        "column, and a unit after a colon")  # fmt: skip
        column, _, more = rest.partition(":")
        if field == "op":
            words = [tuple(word.split("=", 1)) for word in more.split("/")] if more else []
            if any(len(word) != 2 or word[0] not in CODES for word in words):
                raise error(
                    label,
                    None,
                    column,
                    f"columns: found {more!r}; accepted: read=WORD/write=WORD/trim=WORD/flush=WORD/fua=WORD",
                )
            places[field] = Place(column, words=tuple((word, verb) for verb, word in words))
        else:
            units: Iterable[str] = TIMES_NS if field == "time" else () if field in OPTIONAL else (*BYTES, "sectors")
            if more and more not in units:
                raise error(
                    label, None, column, f"columns: found the unit {more!r}; accepted: {', '.join(units) or 'none'}"
                )
            places[field] = Place(column, more)
    return places


@dataclass(frozen=True, slots=True)
class _Checks:
    """What to do with bad rows: the first is an error, or all are marked."""

    label: str
    skip: bool
    bad: NDArray[np.bool_]

    def refuse(self, wrong: NDArray[np.bool_], column: str, found: Column, accepted: str) -> None:
        if not wrong.any():
            return
        if self.skip:
            self.bad[wrong] = True
            return
        row = int(np.flatnonzero(wrong)[0])
        value = found[row]
        value = value.item() if isinstance(value, np.generic) else value
        raise error(self.label, row, column, f"found {value!r}; accepted: {accepted}; bad_records='skip' leaves such "
                    "rows out")  # fmt: skip


def _numbers(array: Column, column: str, checks: _Checks, what: str, most: int) -> Column:
    """A column of numbers, with 0 in the place of bad ones: integers, or floats if the column has floats."""
    if array.dtype.kind not in "iuf":
        try:
            array = array.astype("f8") if _has_gaps(array) else _exactly(array.tolist())
        except (TypeError, ValueError, OverflowError):
            wrong = np.array([not _is_number(value) for value in array.tolist()])
            checks.refuse(wrong, column, array, what)
            array = np.array([value if _is_number(value) else 0 for value in array.tolist()], "f8")
    if array.dtype.kind == "O":  # whole numbers beyond 64 bits
        array = array.astype("f8")
    # A NaN is refused too.
    limit = float(most + 1) if array.dtype.kind == "f" else most + 1
    wrong = array >= limit if array.dtype.kind == "u" else ~((array >= 0) & (array < limit))
    checks.refuse(wrong, column, array, what)
    return np.where(wrong, array.dtype.type(0), array) if wrong.any() else array


def _has_gaps(array: Column) -> bool:
    return any(value is None for value in array.tolist())


def _exactly(values: list[object]) -> Column:
    """Python's numbers; whole ones stay whole."""
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in values):
        raise TypeError
    if any(isinstance(value, float) for value in values):
        return np.array(values, "f8")
    negative = any(isinstance(value, int) and value < 0 for value in values)
    return np.array(values, np.int64 if negative else np.uint64)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)


def _but(flushes: NDArray[np.bool_], array: Column) -> Column:
    """A column of places or sizes, which do not matter for flushes: 1 there."""
    if not flushes.any():
        return array
    array = array.copy()
    array[flushes] = 1
    return array


def _bytes(array: Column, place: Place, sector_bytes: int | None, least: int, checks: _Checks) -> NDArray[np.uint64]:
    unit = sector_bytes or 512 if place.unit == "sectors" else BYTES.get(place.unit, 1)
    what = f"a whole number of {place.unit or 'bytes'}{', at least 1' if least else ''}"
    array = _numbers(array, place.column, checks, what, (2**64 - 1) // unit)
    if array.dtype.kind == "f":
        checks.refuse(array != np.floor(array), place.column, array, what)
    whole = _whole(array)
    checks.refuse((whole < least) & ~checks.bad, place.column, array, what)
    kept: NDArray[np.uint64] = np.where(checks.bad, np.uint64(least), whole)
    return kept * np.uint64(unit)


def _times(array: Column, place: Place, checks: _Checks) -> NDArray[np.uint64]:
    """Times in ns since the first one."""
    if array.dtype.kind in "mM":
        checks.refuse(np.isnat(array), place.column, array, "a time")
        good = array[~checks.bad]
        since = array - (good.min() if good.size else array[0])
        whole = since.astype("m8[ns]").astype(np.int64)
        return _whole(np.where(checks.bad, 0, whole))
    if place.unit not in TIMES_NS:
        raise error(checks.label, None, place.column, f"the unit of the times is not known; accepted: a column of "
                    f"datetime64, a name such as time_us, or columns={{'time': '{place.column}:us', …}} "
                    f"({', '.join(TIMES_NS)})")  # fmt: skip
    tick = TIMES_NS[place.unit]
    what = f"a time in {place.unit}, not negative"
    array = _numbers(array, place.column, checks, what, 2**63)
    good = array[~checks.bad]
    first = good.min() if good.size else array.dtype.type(0)
    since = np.where(checks.bad, array.dtype.type(0), array - np.minimum(first, array))
    checks.refuse(since > (2**63) // tick, place.column, array, "times less than 292 years after the first")
    if array.dtype.kind == "f":
        return _whole(np.rint(since.astype("f8") * tick))
    return _whole(since) * np.uint64(tick)


def _whole(array: Column) -> NDArray[np.uint64]:
    whole: NDArray[np.uint64] = array.astype(np.uint64)
    return whole


def _ops(array: Column, place: Place, checks: _Checks) -> NDArray[np.uint8]:
    words = place.words or tuple((word, verb) for verb, known in WORDS.items() for word in known)
    accepted = (
        "/".join(f"{verb}={word}" for word, verb in words)
        if place.words
        else "R or Read, W or Write, T, Trim, D, Discard or Unmap, F or Flush, WF or FUA"
    )
    codes = {word.lower(): CODES[verb] for word, verb in words}
    known, at = _factorize(array)
    table = np.array([codes.get(_word(value), BAD) for value in known], np.uint8)
    found = table[at]
    if array.dtype.kind in "iub" and not place.words:
        accepted += f"; numbers are spelt out: columns={{'op': '{place.column}:read=0/write=1', …}}"
    checks.refuse(found == BAD, place.column, array, accepted)
    return found


def _word(value: object) -> str:
    return (value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)).strip().lower()


def _devices(array: Column, place: Place, checks: _Checks) -> NDArray[np.uint32]:
    """Numbers of devices, in order of appearance."""
    known, at = _factorize(array)
    missing = np.array([value is None or value != value for value in known], bool)  # noqa: PLR0124  # NaN
    checks.refuse(missing[at], place.column, array, "a name or number")
    return at.astype(np.uint32)


def _factorize(array: Column) -> tuple[list[Any], NDArray[np.intp]]:
    """The different values of a column, and the place of each row's value among them."""
    if array.dtype.kind == "O":
        numbers: dict[Any, int] = {}
        at = np.fromiter((numbers.setdefault(value, len(numbers)) for value in array), np.intp, len(array))
        return list(numbers), at
    known, first, at = np.unique(array, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return known[order].tolist(), rank[at.reshape(-1)]
