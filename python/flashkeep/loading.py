"""Reads results that `--out DIR` has written."""

from __future__ import annotations

import gzip
import os
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from .comparison import Comparison
from .found import find, name_apart
from .options import UsageError
from .results import ALL_COLUMNS, COLUMNS, Requests, Result, Series

if TYPE_CHECKING:
    from collections.abc import Callable

    from .found import Found

T = TypeVar("T")

OPS = {"read": 0, "write": 1, "trim": 2, "flush": 3}


def load_result(folder: str) -> Result:
    """The one result of a folder."""
    runs = _found(folder, "fk.load")
    if len(runs) > 1:
        raise ValueError(f"{folder} has {len(runs)} runs; fk.load_comparison reads them all, fk.load one, such as "
                         f"{os.path.join(folder, os.path.relpath(runs[0].folder or folder, folder))}")  # fmt: skip
    return _result(runs[0])


def load_results(folder: str) -> Comparison:
    """All results of a folder."""
    runs = _found(folder, "fk.load_comparison")
    name_apart(runs)
    return Comparison([_result(run) for run in runs], [run.label for run in runs])


def _found(folder: str, command: str) -> list[Found]:
    try:
        return find(folder, command)
    except UsageError as error:
        raise ValueError(str(error)) from None


def _result(run: Found) -> Result:
    return Result(run.summary, _table(run, "requests.csv.gz", _requests), _table(run, "series.csv.gz", read_series))


def _table(run: Found, name: str, read: Callable[[str], T]) -> Callable[[], T] | None:
    """Reads a table of a run, if there is one."""
    path = os.path.join(run.folder or "", name)
    return partial(read, path) if run.folder is not None and os.path.exists(path) else None


def series_of(run: Found) -> Series | None:
    """The figures over time of a run, if there are any."""
    read = _table(run, "series.csv.gz", read_series)
    return read() if read else None


def _columns(path: str) -> dict[str, Any]:
    """The columns of a file, as texts."""
    with gzip.open(path, "rt", encoding="ascii", newline="\n") as file:
        header = file.readline().rstrip("\n").split(",")
        rows = [line.rstrip("\n").split(",") for line in file]
    return dict(zip(header, zip(*rows, strict=True) if rows else ((),) * len(header), strict=True))


def _requests(path: str) -> Requests:
    """The table of requests. Columns of later versions are left out."""
    columns = _columns(path)
    missing = [name for name, _, _ in COLUMNS if name not in columns]
    if missing:
        raise ValueError(f"{path}: the column {missing[0]} is missing; found {', '.join(columns)}")
    kept = ALL_COLUMNS if all(name in columns for name, _, _ in ALL_COLUMNS) else COLUMNS
    ops = OPS.__getitem__
    return Requests(tuple(_column(code, ops if name == "op" else int, columns[name]) for name, code, _ in kept))


def read_series(path: str) -> Series:
    """The figures over time. Those that may have no value are numbers, the others counts."""
    return Series({
        name: ("<f8", _column("d", _number, texts)) if is_number(name) else ("<u8", _column("Q", int, texts))
        for name, texts in _columns(path).items()
    })  # fmt: skip


def is_number(column: str) -> bool:
    """Whether a column of a series has numbers that may have no value, rather than counts."""
    group, _, figure = column.rpartition(".")
    return group.startswith(("response_us", "throughput", "queue")) and figure not in ("count", "depth")


def _number(text: str) -> float:
    return float(text or "nan")


def _column(code: Literal["Q", "I", "B", "d"], read: Callable[[str], Any], texts: tuple[str, ...]) -> bytes:
    import sys
    from array import array

    column = array(code, map(read, texts))
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()
