"""The tables in the files of a run: Parquet if PyArrow is installed, compressed CSV otherwise."""

from __future__ import annotations

import gzip
import os
import sys
from array import array
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..extras import need
from .outdir import CSV, PARQUET
from .result import CODES, COLUMNS
from .writing import unfinished

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .result import Columns


OPS = ("read", "write", "trim", "flush")
"""The texts that files have in the place of the numbers of the column `op`."""

BLOCK = 1 << 24
"""Bytes of CSV that are converted at a time; each makes a row group."""

STORED: dict[str, Any] = {"compression": "zstd", "use_dictionary": ["op"]}
"""How Parquet is written. Dictionaries of times would make it larger and slower."""

TYPES = {name: dtype for name, _, dtype in COLUMNS}
MEANS = ("response_us_mean", "response_us_max")
"""Columns of the table of seconds that are no counts."""


def table_in(folder: str | None, name: str) -> str | None:
    """The file of a table, if the folder has it."""
    paths = [os.path.join(folder, name + ending) for ending in (PARQUET, CSV)] if folder is not None else []
    return next(filter(os.path.exists, paths), None)


def is_number(column: str) -> bool:
    """Whether a column has numbers that may have no value, rather than counts."""
    group, _, figure = column.rpartition(".")
    is_figure = group.startswith(("response_us", "throughput", "queue")) and figure not in ("count", "depth")
    return is_figure or column in MEANS


def type_of(column: str) -> str:
    """NumPy's name of the type that a column has in memory."""
    return "<f8" if is_number(column) else TYPES.get(column, "<u8")


def can_be_parquet() -> bool:
    """Whether Parquet can be written."""
    return find_spec("pyarrow") is not None


def to_parquet(path: str) -> None:
    """Puts a Parquet file in the place of a table in compressed CSV. Memory does not grow with the table."""
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq

    rows = pa_csv.open_csv(
        path,
        read_options=pa_csv.ReadOptions(block_size=BLOCK),
        convert_options=pa_csv.ConvertOptions(column_types={name: _arrow_type(name) for name in columns_of(path)}),
    )
    target = path.removesuffix(CSV) + PARQUET
    with rows, unfinished(target) as place, pq.ParquetWriter(place, rows.schema, **STORED) as out:
        for batch in rows:
            out.write_batch(batch)
    os.remove(path)


def as_parquet(columns: Columns) -> bytes:
    """A table in memory as the contents of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(columns)
    if "op" in table.column_names:
        at = table.column_names.index("op")
        table = table.set_column(at, "op", pa.array(OPS).take(table.column(at).combine_chunks()))
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **STORED)
    return bytes(sink.getvalue())


def _arrow_type(column: str) -> Any:
    import pyarrow as pa

    types = {"<u8": pa.uint64(), "<u4": pa.uint32(), "<f8": pa.float64()}
    return pa.string() if column == "op" else types[type_of(column)]


def columns_of(path: str) -> list[str]:
    """The names of a table's columns."""
    if path.endswith(PARQUET):
        names: list[str] = _parquet(path).read_schema(path).names
        return names
    with gzip.open(path, "rt", encoding="ascii", newline="\n") as file:
        return file.readline().rstrip("\n").split(",")


def read_columns(path: str, wanted: Sequence[str]) -> dict[str, bytes]:
    """Columns of a table, in little-endian memory of their types; NaN for numbers without a value."""
    return _read_parquet(path, wanted) if path.endswith(PARQUET) else _read_csv(path, wanted)


def _parquet(path: str) -> Any:
    need(f"reading {path}", "reports", "pyarrow")
    from pyarrow import parquet

    return parquet


def _read_parquet(path: str, wanted: Sequence[str]) -> dict[str, bytes]:
    table = _parquet(path).read_table(path, columns=list(wanted))
    import pyarrow as pa
    import pyarrow.compute as pc

    found = {}
    for name in wanted:
        column = table[name]
        if name == "op":
            column = pc.index_in(column, value_set=pa.array(OPS)).cast(pa.uint8())
        elif is_number(name):
            column = column.fill_null(float("nan"))
        values = column.combine_chunks()
        size, buffer = values.type.bit_width // 8, values.buffers()[1]
        start = values.offset * size
        found[name] = b"" if buffer is None else buffer[start : start + len(values) * size].to_pybytes()
    return found


def _read_csv(path: str, wanted: Sequence[str]) -> dict[str, bytes]:
    numbers: dict[str, Any] = {name: array(CODES[type_of(name)]) for name in wanted}
    with gzip.open(path, "rt", encoding="ascii", newline="\n") as file:
        names = file.readline().rstrip("\n").split(",")
        places = [(names.index(name), values.append, _reader(name)) for name, values in numbers.items()]
        for line in file:
            fields = line.rstrip("\n").split(",")
            for at, add, read in places:
                add(read(fields[at]))
    return dict(zip(numbers, map(_little_endian, numbers.values()), strict=True))


def _reader(column: str) -> Callable[[str], float]:
    if column == "op":
        return OPS.index
    return _number if is_number(column) else int


def _number(text: str) -> float:
    return float(text or "nan")


def _little_endian(values: array[Any]) -> bytes:
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()
