"""Reads results that `--out DIR` has written."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ..cli.options import UsageError
from .comparison import Comparison
from .folder_results import find, name_apart
from .result import ALL_COLUMNS, COLUMNS, Requests, Result, Series
from .table_files import columns_of, read_columns, table_in, type_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .folder_results import Found

T = TypeVar("T")


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
    return Result(run.summary, _table(run, "requests", read_requests), _table(run, "series", read_series))


def _table(run: Found, name: str, read: Callable[[str], T]) -> Callable[[], T] | None:
    """Reads a table of a run, if there is one."""
    path = table_in(run.folder, name)
    return partial(read, path) if path is not None else None


def series_of(run: Found) -> Series | None:
    """The figures over time of a run, if there are any."""
    read = _table(run, "series", read_series)
    return read() if read else None


def read_requests(path: str) -> Requests:
    """The table of requests. Columns of later versions are left out."""
    found = columns_of(path)
    missing = [name for name, _, _ in COLUMNS if name not in found]
    if missing:
        raise ValueError(f"{path}: the column {missing[0]} is missing; found {', '.join(found)}")
    kept = ALL_COLUMNS if all(name in found for name, _, _ in ALL_COLUMNS) else COLUMNS
    return Requests(tuple(read_columns(path, [name for name, _, _ in kept]).values()))


def read_series(path: str) -> Series:
    """The figures over time."""
    columns = read_columns(path, columns_of(path))
    return Series({name: (type_of(name), memory) for name, memory in columns.items()})
