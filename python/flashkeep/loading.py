"""Reads results that `--out DIR` has written."""

from __future__ import annotations

import gzip
import os
from functools import partial
from typing import TYPE_CHECKING, Any

from .comparison import Comparison
from .found import find, name_apart
from .options import UsageError
from .results import ALL_COLUMNS, COLUMNS, Requests, Result

if TYPE_CHECKING:
    from .found import Found

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
    path = os.path.join(run.folder or "", "requests.csv.gz")
    return Result(run.summary, partial(_requests, path) if run.folder is not None and os.path.exists(path) else None)


def _requests(path: str) -> Requests:
    """The table of requests. Columns of later versions are left out."""
    with gzip.open(path, "rt", encoding="ascii", newline="\n") as file:
        header = file.readline().rstrip("\n").split(",")
        rows = [line.rstrip("\n").split(",") for line in file]
    columns: dict[str, Any] = dict(zip(header, zip(*rows, strict=True) if rows else ((),) * len(header), strict=True))
    missing = [name for name, _, _ in COLUMNS if name not in columns]
    if missing:
        raise ValueError(f"{path}: the column {missing[0]} is missing; found {', '.join(header)}")
    kept = ALL_COLUMNS if all(name in columns for name, _, _ in ALL_COLUMNS) else COLUMNS
    return Requests(tuple(_column(name, code, columns[name]) for name, code, _ in kept))


def _column(name: str, code: str, texts: tuple[str, ...]) -> bytes:
    import sys
    from array import array

    read = OPS.__getitem__ if name == "op" else int
    column = array(code, map(read, texts))
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()
