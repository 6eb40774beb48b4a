"""Figures over time: `--series`, `fk.run(series=…)`."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import flashkeep as fk
import nanoarrow as na
import numpy as np
import pytest
from conftest import SMALL_DRIVE, Command, rows_of

RANDOM = "synth:random,requests=4000,write=0.6,size=4KiB,footprint=4MiB"
ARRAY = {"members": ["4 * 2CM-128"], "redundancy.scheme": "raid5"}
FLUSHING = {"base": "tlc-client", "buffer.dram_mib": 4, "flash.blocks_per_plane": 128}

RUNS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "a drive that collects": ("small", f"{RANDOM},rate=2k", {"existing": "all"}),
    "a closed loop": ("small", f"{RANDOM},depth=8", {"existing": "all"}),
    "a warm-up under load": ("small", f"{RANDOM},rate=40k", {"existing": "all", "warmup": "20%"}),
    "late requests from their arrival on": ("1CNM-64", f"{RANDOM},rate=20k", {}),
    "a buffer that is flushed": (FLUSHING, f"{RANDOM},rate=50k", {"flush_at_end": True}),
    "parity inside": (
        {"base": "dvs-8chip", "flash.blocks_per_plane": 64},
        f"{RANDOM},rate=2k",
        {"fail": "chip:3.0@500ms"},
    ),
    "power cuts": ("small", f"{RANDOM},rate=2k", {"fail": ["power@200ms", "power@50%"]}),
    "an array that loses a member": (ARRAY, f"{RANDOM},rate=10k", {"fail": "member:1@100ms"}),
    "a disk": ("st3500630a", "synth:random,requests=300,rate=200", {}),
    "a log with a memory of its own": ("t7-hpda", f"{RANDOM},rate=2k", {}),
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("series", ["1ms", 9])
def test_the_rows_add_up_to_the_summary(drive: Path, name: str, series: str | int) -> None:
    given, workload, options = RUNS[name]
    what = drive if given == "small" else given
    without = fk.run(what, workload, requests=False, **options).to_dict()
    result = fk.run(what, workload, requests=False, series=series, **options)
    with_series = result.to_dict()
    for summary in (without, with_series):
        del summary["run"], summary["options"]
    assert with_series == without, "a series changes nothing"
    table, figures = result.series(), result.flat()
    names = table.keys()
    counts = [name for name in names if name.startswith("operations.") or name.endswith(".count")]
    assert len(counts) == 4 + sum(key.startswith("operations.") for key in figures)
    for key in counts:
        assert table[key].sum() == (figures.get(key) or 0), key
    assert np.array_equal(table["start_ns"][1:], table["end_ns"][:-1])
    assert np.all(table["start_ns"] <= table["end_ns"])
    assert np.nanmax(table["response_us.all.max"]) == pytest.approx(figures["response_us.all.max"])
    assert len(table) <= 9 if series == 9 else set(np.diff(table["start_ns"])) <= {10**6}
    assert table["queue.depth"][-1] == 0
    seconds = (table["end_ns"] - table["start_ns"]) / 1e9
    busy = figures["queue.mean"] * figures["simulated_s"]
    if "warmup" not in options and not any("power" in each for each in options.get("fail", ())):
        assert (table["queue.mean"] * seconds).sum() == pytest.approx(busy, rel=1e-6)


def test_percentiles_are_those_of_the_requests(drive: Path) -> None:
    result = fk.run(drive, f"{RANDOM},rate=2k", series="50ms")
    table, requests = result.series(), result.requests()
    ends = requests.arrival_ns + requests.response_ns
    for row in range(len(table)):
        within = (ends >= table["start_ns"][row]) & (ends < table["end_ns"][row])
        if row == len(table) - 1:
            within |= ends == table["end_ns"][row]
        for kind, op in (("read", 0), ("write", 1)):
            times = np.sort(requests.response_ns[within & (requests.op == op)]) / 1000
            assert table[f"response_us.{kind}.count"][row] == len(times)
            for figure, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0)):
                exact = times[int(np.ceil(share * len(times) - 1e-9)) - 1]
                assert table[f"response_us.{kind}.{figure}"][row] == pytest.approx(exact)
    arrived = np.array([(requests.arrival_ns < end).sum() for end in table["end_ns"]])
    over = np.array([(ends < end).sum() for end in table["end_ns"]])
    assert np.array_equal(table["queue.depth"][:-1], (arrived - over)[:-1])


def test_collection_shows_when_it_runs(drive: Path) -> None:
    """A drive that is empty at first: collection runs when its free blocks have been used up."""
    series = fk.run(drive, "synth:random,requests=6000,write=1,size=4KiB,rate=2k", existing="none", series=30).series()
    copies, erases = series["operations.program.gc"], series["operations.erase.gc"]
    first = int(np.flatnonzero(erases)[0])
    assert first > 3
    assert copies[:first].sum() == 0
    free = series["free_blocks"]
    assert np.all(np.diff(free[: first - 1].astype(int)) < 0)
    assert copies[first + 1 :].min() > 0
    assert series["host_pages"].sum() == 6000


def test_tables_travel(drive: Path) -> None:
    result = fk.run(drive, f"{RANDOM},rate=2k", series=20)
    series, again = result.series(), pickle.loads(pickle.dumps(result)).series()
    assert repr(series) == f"<flashkeep.Series {len(series)} × 94 columns>"
    assert np.array_equal(series.start_ns, again.start_ns)
    stream = na.Array(series)
    assert stream.schema.fields[0].name == "start_ns"
    flushes = next(at for at, field in enumerate(stream.schema.fields) if field.name == "response_us.flush.p99")
    assert stream.child(flushes).to_pylist() == [None] * len(series), "null, not NaN"


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_as_frames(drive: Path, library: Any) -> None:
    pytest.importorskip(library)
    result = fk.run(drive, f"{RANDOM},rate=2k", series=20)
    for table in (result.series(), result.requests()):
        frame = table.to_frame(library)
        assert list(frame.columns) == list(table.keys())
        first = table.keys()[0]
        assert frame[first].to_numpy().tolist() == table[first].tolist()


def test_the_figure_over_time_is_drawn_from_the_series(drive: Path, tmp_path: Path, flashkeep: Command) -> None:
    pytest.importorskip("matplotlib")
    plain = fk.run(drive, f"{RANDOM},rate=2k", existing="all")
    result = fk.run(drive, f"{RANDOM},rate=2k", existing="all", series=20, requests=False)
    assert len(plain.plot("over_time").axes) == 1
    drawn = result.plot("over_time")
    labels = [axes.get_ylabel().replace("\n", " ") for axes in drawn.axes]
    assert labels[1:] == ["GC, pages copied/s", "requests in progress", "free blocks"]
    (queue,) = drawn.axes[2].lines
    assert np.array_equal(queue.get_ydata(), result.series()["queue.mean"])
    out, page = tmp_path / "out", tmp_path / "page.html"
    words = ("run", drive, f"{RANDOM},rate=2k", "--existing", "all", "--series", 20, "--out", out, "--quiet")
    assert flashkeep(*words).code == 0
    assert flashkeep("report", out, "-o", page).code == 0
    assert "by when requests ended; below, what the drive did" in page.read_text()


def test_files_hold_the_same(flashkeep: Command, tmp_path: Path) -> None:
    drive = tmp_path / "small.toml"
    drive.write_text(SMALL_DRIVE)
    arguments = ["run", drive, f"{RANDOM},rate=2k", "--series", "50ms", "--json", "--out"]
    printed = flashkeep.json(*arguments, tmp_path / "one")
    flashkeep.json(*arguments, tmp_path / "two")
    one, two = (tmp_path / name / "series.parquet" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert "series" not in printed["options"], "it changes no result"
    loaded = fk.load(tmp_path / "one").series()
    direct = fk.run(drive, f"{RANDOM},rate=2k", series="50ms").series()
    names = direct.keys()
    assert loaded.keys() == names
    for key in names:
        assert loaded[key].dtype == direct[key].dtype
        assert np.array_equal(loaded[key], direct[key], equal_nan=loaded[key].dtype.kind == "f"), key
    assert rows_of(tmp_path / "one", "series")[0]["response_us.flush.p99"] is None, "a figure without a value"
    compared = flashkeep("compare", f"{RANDOM},rate=2k", drive, "2CM-128", "--series", "9", "--out", tmp_path / "both")
    assert compared.code == 0, compared.err
    assert len(list((tmp_path / "both").glob("*/series.parquet"))) == 2


def test_what_cannot_be_shown_is_refused(flashkeep: Command, drive: Path, trace: Path, tmp_path: Path) -> None:
    for option, message in (
        ("0ms", "--series: found `0ms`; accepted: the length of an interval, such as 10ms or 1s, or their number"),
        ("often", "--series: found `often`"),
        ("1ns", "--series 1ns: the run has more than 1000000 intervals; choose longer ones"),
    ):
        code, out, err = flashkeep("run", drive, trace, "--series", option, "--out", tmp_path / "out")
        assert (code, out) == (2, "")
        assert message in err
        assert not (tmp_path / "out").exists()
    assert "--series: needs --out" in flashkeep("run", drive, trace, "--series", "1s").err
    untimed = flashkeep("run", drive, trace, "--untimed", "--series", "1s", "--out", tmp_path / "out")
    assert (untimed.code, untimed.err.strip()) == (2, "flashkeep: --series: an untimed run has no times to show")
    with pytest.raises(ValueError, match='run it with series="10ms"'):
        fk.run(drive, trace).series()
    with pytest.raises(fk.OptionError, match="series: found 0; a whole number, 1 or more"):
        fk.run(drive, trace, series=0)
