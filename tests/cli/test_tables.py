"""The tables of `--out`: Parquet, or compressed CSV without PyArrow, with the same values."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import flashkeep as fk
import numpy as np
import pytest
from conftest import Command
from flashkeep.results import outdir, table_files
from flashkeep.results.outdir import Outputs
from pyarrow import parquet

RUN = ("synth:random,requests=2000,write=0.5,size=4KiB,footprint=4MiB,rate=2k", "--series", "20ms")
HIDDEN = "import sys; sys.modules['pyarrow'] = None; from flashkeep.cli import main; sys.exit(main())"
"""The command where PyArrow is not installed."""


def without_pyarrow(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HIDDEN, *map(str, words)], capture_output=True, text=True, timeout=100, check=False
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def assert_equal(one: fk.Result, two: fk.Result) -> None:
    for first, second in ((one.requests(), two.requests()), (one.series(), two.series())):
        assert first.keys() == second.keys()
        for name in first.keys():  # noqa: SIM118  # not a mapping
            assert first[name].dtype == second[name].dtype
            assert np.array_equal(first[name], second[name], equal_nan=first[name].dtype.kind == "f"), name


def test_values_are_the_same_with_and_without_pyarrow(
    flashkeep: Command, drive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast, plain = tmp_path / "fast", tmp_path / "plain"
    assert flashkeep("run", drive, *RUN, "--out", fast)[::2] == (0, "")
    done = without_pyarrow("run", drive, *RUN, "--out", plain)
    told = "flashkeep: tables are written as compressed CSV; Parquet needs pyarrow: pip install 'flashkeep[reports]'\n"
    assert (done.returncode, done.stderr) == (0, told)
    assert names(fast) == ["requests.parquet", "seconds.parquet", "series.parquet", "summary.json"]
    assert names(plain) == ["requests.csv.gz", "seconds.csv.gz", "series.csv.gz", "summary.json"]
    direct = fk.run(drive, RUN[0], series="20ms")
    assert_equal(fk.load(fast), direct)
    assert_equal(fk.load(plain), direct)
    # Tables that are converted in several parts.
    shutil.copytree(plain, tmp_path / "parts")
    monkeypatch.setattr(table_files, "BLOCK", 1 << 14)
    for name in outdir.TABLES:
        table_files.to_parquet(str(tmp_path / "parts" / f"{name}.csv.gz"))
        one, two = (parquet.read_table(folder / f"{name}.parquet") for folder in (fast, tmp_path / "parts"))
        assert one.equals(two)
    assert parquet.ParquetFile(tmp_path / "parts" / "requests.parquet").num_row_groups > 3
    assert names(tmp_path / "parts") == names(fast)
    assert_equal(fk.load(tmp_path / "parts"), direct)


def test_columns_have_types(flashkeep: Command, drive: Path, tmp_path: Path) -> None:
    flashkeep("run", drive, *RUN, "--out", tmp_path / "out")
    types = {name: dict(zip(schema.names, map(str, schema.types), strict=True)) for name, schema in
             ((name, parquet.read_schema(tmp_path / "out" / f"{name}.parquet")) for name in outdir.TABLES)}  # fmt: skip
    assert types["requests"]["op"] == "string"
    assert types["requests"]["length"] == "uint32"
    assert {kind for name, kind in types["requests"].items() if name.endswith("_ns")} == {"uint64"}
    assert types["seconds"] == {name: "double" if "_us_" in name else "uint64" for name in types["seconds"]}
    assert (types["series"]["queue.mean"], types["series"]["queue.depth"]) == ("double", "uint64")


def test_reading_parquet_without_pyarrow_says_what_is_missing(flashkeep: Command, drive: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    flashkeep("run", drive, *RUN, "--out", out)
    done = without_pyarrow("report", out, "-o", tmp_path / "page.html")
    told = f"flashkeep: reading {out / 'requests.parquet'} needs pyarrow: pip install 'flashkeep[reports]'\n"
    assert (done.returncode, done.stderr) == (2, told)
    assert not (tmp_path / "page.html").exists()
    done = without_pyarrow("run", drive, *RUN, "--out", out, "--force", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    done = without_pyarrow("report", out, "-o", tmp_path / "page.html")
    assert (done.returncode, done.stderr) == (0, "")


def test_tables_of_an_earlier_run_do_not_stay(flashkeep: Command, drive: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert without_pyarrow("run", drive, *RUN, "--out", out).returncode == 0
    (out / "mine.csv.gz").write_text("precious")
    assert flashkeep("run", drive, RUN[0], "--out", out, "--force").code == 0
    assert names(out) == ["mine.csv.gz", "requests.parquet", "seconds.parquet", "summary.json"]
    assert flashkeep("run", drive, RUN[0], "--out", out, "--force", "--untimed").code == 0
    assert names(out) == ["mine.csv.gz", "summary.json"]


def test_what_is_interrupted_while_it_is_converted_is_kept(
    flashkeep: Command, drive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables that are not converted yet stay as they are."""
    assert without_pyarrow("run", drive, *RUN, "--out", tmp_path / "whole").returncode == 0
    convert = table_files.to_parquet

    def interrupt(path: str) -> None:
        if "requests" in path:
            raise KeyboardInterrupt
        convert(path)

    monkeypatch.setattr(table_files, "to_parquet", interrupt)
    out = tmp_path / "out"
    outputs = Outputs({"out": str(out), "force": False, "quiet": True}, ["one"])

    def write() -> None:
        with outputs:
            tables = outputs.tables(0)
            assert tables is not None
            for name, place in zip(outdir.TABLES, tables, strict=True):
                shutil.copy(tmp_path / "whole" / f"{name}.csv.gz", place)
            outputs.write([fk.load(tmp_path / "whole").to_dict()])

    with pytest.raises(KeyboardInterrupt):
        write()
    assert {"requests.csv.gz", "summary.json"} <= set(names(out))
    assert len(names(out)) == 4
    assert_equal(fk.load(out), fk.load(tmp_path / "whole"))
