"""Traces from tables in memory: data frames, Arrow, NumPy, mappings."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

import flashkeep as fk
import numpy as np
import pytest
from flashkeep.inputs.tabular import RECORD

COUNT = 3000
RANDOM = np.random.default_rng(7)
COLUMNS: dict[str, Any] = {
    "time_us": np.sort(RANDOM.integers(0, 600_000, COUNT)) + 10**15,
    "offset": RANDOM.integers(0, 1500, COUNT) * 4096,
    "size": RANDOM.choice([512, 4096, 8192], COUNT),
    "op": np.where(RANDOM.random(COUNT) < 0.5, "R", "W"),
}


def rows(changes: dict[str, Any] | None = None, /, **more: Any) -> dict[str, Any]:
    """Eight rows, with one column replaced or left out."""
    columns = {name: column[:8] for name, column in COLUMNS.items()}
    columns["time_us"] = np.arange(8)
    return {name: column for name, column in {**columns, **(changes or {}), **more}.items() if column is not None}


def bad(row: int, value: object, column: str) -> list[Any]:
    changed = list(rows()[column].tolist())
    changed[row] = value
    return changed


def as_csv(path: Path) -> Path:
    """The same trace as flashkeep writes it."""
    lines = zip(*(COLUMNS[name].tolist() for name in ("time_us", "op", "offset", "size")), strict=True)
    text = "".join(f"{1000 * time},0,{op},{offset},{size}\n" for time, op, offset, size in lines)
    path.write_text(f"time_ns,device,op,offset_B,size_B\n{text}")
    return path


def test_a_table_is_the_same_as_its_file(tmp_path: Path, drive: Path) -> None:
    table, file = fk.trace(COLUMNS), fk.trace(as_csv(tmp_path / "t.csv"))
    ran, read = fk.run(drive, table, verify=True), fk.run(drive, file, verify=True)
    assert ran.digest == read.digest
    assert ran.workload.name.startswith("table:")
    assert (ran.workload.format, ran.workload.requests) == ("records", COUNT)
    assert table.info().to_dict() | {"format": "csv"} == file.info().to_dict()
    again = pickle.loads(pickle.dumps(table))
    assert again == table
    assert fk.run(drive, again).digest == fk.run(drive, file).digest


def test_the_name_has_the_digest_of_the_content(tmp_path: Path) -> None:
    trace = fk.trace(COLUMNS)
    ((name, content),) = trace.tables.items()
    assert name == f"table:{hashlib.sha256(content).hexdigest()[:16]}"
    assert len(content) == COUNT * RECORD.itemsize == COUNT * 32
    (tmp_path / "kept").write_bytes(content)
    assert fk.trace(tmp_path / "kept").info() == trace.info(), "the content is a trace file"


@pytest.mark.parametrize("unit", ["ns", "us", "ms", "s"])
def test_times_have_units(unit: str) -> None:
    tick = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}[unit]
    for times in (
        np.arange(8),
        np.arange(8.0) + 0.5,
        np.arange(8, dtype=np.uint8),
        list(range(8)),
        -np.arange(8)[::-1] + 7,
    ):
        trace = fk.trace(rows({"time_us": None, f"time_{unit}": times}))
        assert trace.info().span_s == pytest.approx(7 * tick / 1e9)
    exact = fk.trace(rows(time_us=None, time_ns=np.array([10**18 + 1, *range(10**18 + 2, 10**18 + 9)])))
    assert np.frombuffer(exact.tables[exact.paths[0]], RECORD)["arrival_ns"].tolist() == list(range(8))


def test_times_as_dates() -> None:
    dates = np.datetime64("2024-02-28T23:59:59.999999") + np.arange(8) * np.timedelta64(250, "us")
    assert fk.trace(rows(time_us=None, time=dates)).info().span_s == 0.00175
    with pytest.raises(fk.TraceError, match=r"dict: row 3, column 'time': found None; accepted: a time"):
        fk.trace(rows(time_us=None, time=np.where(np.arange(8) == 3, np.datetime64("NaT"), dates)))


def test_rows_are_sorted_by_time_and_equal_times_keep_their_order() -> None:
    trace = fk.trace(rows(time_us=[5, 1, 5, 0, 1, 5, 0, 1], offset=np.arange(8) * 4096))
    found = np.frombuffer(trace.tables[trace.paths[0]], RECORD)
    assert (found["offset"] // 4096).tolist() == [3, 6, 1, 4, 7, 0, 2, 5]


def test_flushes_and_fua_of_a_table() -> None:
    rows = {"time_us": [0, 1, 2, 3], "op": ["W", "flush", "FUA", "F"], "offset": [0, None, 4096, 7.5],
            "size": [512, None, 512, 0]}  # fmt: skip
    trace = fk.trace(rows)
    found = np.frombuffer(trace.tables[trace.paths[0]], RECORD)
    assert [found[name].tolist() for name in ("op", "fua", "offset", "length")] == [
        [1, 3, 1, 3], [0, 0, 1, 0], [0, 0, 4096, 0], [512, 0, 512, 0]
    ]  # fmt: skip
    workload = fk.run("2CM-128", trace).workload
    assert (workload.writes, workload.flushes, workload.fua_writes) == (2, 2, 1)


def test_a_structured_array() -> None:
    array = np.empty(COUNT, [("time_us", "u8"), ("offset", "u8"), ("size", "u4"), ("op", "S5")])
    for name, column in COLUMNS.items():
        array[name] = np.where(column == "R", b"Read", b"Write") if name == "op" else column
    assert fk.trace(array) == fk.trace(COLUMNS)
    with pytest.raises(fk.TraceError, match="structured array"):
        fk.trace(np.zeros((3, 4)))  # type: ignore[arg-type]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_data_frames_and_arrow(library: str) -> None:
    module = pytest.importorskip(library)
    frame = module.table(COLUMNS) if library == "pyarrow" else module.DataFrame(COLUMNS)
    assert fk.trace(frame) == fk.trace(COLUMNS)


def test_requests_of_a_run_are_a_trace(drive: Path) -> None:
    result = fk.run(drive, COLUMNS)
    again = fk.run(drive, result.requests())
    assert again.digest == result.digest


def test_other_columns_and_units() -> None:
    table = {"When": np.arange(8) * 3, "Kind": np.array([0, 1] * 4), "At": np.arange(8) * 8, "Len": [8] * 8}
    columns = {"time": "When:ms", "op": "Kind:read=0/write=1", "offset": "At:sectors", "size": "Len:sectors"}
    info = fk.trace(table, columns=columns).info()
    assert (info.span_s, info.reads, info.max_address, info.mean_kib) == (0.021, 4, 64 * 512, 4.0)
    assert fk.trace(table, columns="time=0:ms,op=1:read=0/write=1,offset=2:sectors,size=3:sectors").info() == info
    small = fk.trace(table, columns=columns, sector_bytes=64).info()
    assert small.mean_kib == 0.5
    for wrong, told in (
        ("time=When:weeks", "unit 'weeks'"),
        ("tiem=When", "found 'tiem=When'"),
        ("op=Kind:reed=0", "reed"),
    ):
        with pytest.raises(fk.TraceError, match=told):
            fk.trace(table, columns=wrong)


def test_devices_are_kept_apart(drive: Path) -> None:
    table = rows(device=["b", "a"] * 4)
    assert fk.trace(table).info().devices == 2
    small = rows(device=["b", "a"] * 4, offset=np.arange(8) * 4096)
    assert fk.run(drive, fk.trace(small, compact=True)).workload.requests == 8


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"op": bad(3, "X", "op")}, "row 3, column 'op': found 'X'; accepted: R or Read, W or Write"),
        ({"op": [1] * 8}, "row 0, column 'op': found 1; .* numbers are spelt out"),
        ({"size": bad(5, 0, "size")}, "row 5, column 'size': found 0; accepted: a whole number of bytes, at least 1"),
        ({"size": bad(5, -4096, "size")}, "row 5, column 'size': found -4096"),
        ({"size": bad(5, 2**32, "size")}, "row 5, column 'size': found 4294967296; accepted: requests below 4 GiB"),
        ({"size": bad(5, "many", "size")}, "row 5, column 'size': found 'many'"),
        ({"offset": bad(2, 0.5, "offset")}, "row 2, column 'offset': found 0.5; accepted: a whole number of bytes"),
        ({"offset": bad(2, None, "offset")}, "row 2, column 'offset': found nan"),
        ({"offset": bad(2, 2**64 - 1, "offset")}, "row 2, column 'offset': .*end below"),
        ({"time_us": bad(1, float("nan"), "time_us")}, "row 1, column 'time_us': found nan"),
        ({"time_us": bad(1, -1, "time_us")}, "row 1, column 'time_us': found -1"),
        ({"device": ["a"] * 7 + [None]}, "row 7, column 'device': found None; accepted: a name or number"),
        ({"op": None}, "no column for op: found time_us, offset, size; accepted: op, or columns="),
        ({"time_us": None, "time": np.arange(8)}, "column 'time': the unit of the times is not known"),
        ({"size": [4096] * 7}, "column 'size': found 7 rows; the column 'time_us' has 8 rows"),
    ],
)  # fmt: skip
def test_bad_input_names_column_and_row(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(fk.TraceError, match=f"^dict: {told}") as caught:
        fk.trace(rows(**changes))
    assert caught.value.path == "dict"
    if "row" in told[:3]:
        assert caught.value.line == int(told.split(",", maxsplit=1)[0].removeprefix("row "))
        assert caught.value.field == told.split("'")[1]
        if "spelt out" in told:  # all of them
            return
        left = fk.trace(rows(**changes), bad_records="skip").info()
        assert left.requests == 7


def test_skipped_rows_are_counted(drive: Path) -> None:
    result = fk.run(drive, fk.trace(rows(size=bad(5, 0, "size")), bad_records="skip"))
    assert (result.workload.requests, result.workload.skipped) == (7, 1)


def test_what_is_no_table() -> None:
    with pytest.raises(fk.TraceError, match="no rows"):
        fk.trace({name: column[:0] for name, column in COLUMNS.items()})
    with pytest.raises(TypeError, match="a trace is a path"):
        fk.trace(3)  # type: ignore[arg-type]
    with pytest.raises(fk.OptionError, match="tables have no format"):
        fk.trace(COLUMNS, format="csv")
    with pytest.raises(fk.OptionError, match="a table and a file"):
        fk.trace(COLUMNS, "x.csv")
