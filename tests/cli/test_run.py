"""`flashkeep run`: its JSON, its table, its files, its exit codes."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Command, rows_of
from summaries import PARTS, SUMMARY, shape

WORKLOAD = "synth:random,requests=3000,rate=5k"


def without_run(summary: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in summary.items() if key != "run"}


def test_json_has_the_keys_of_the_interface(flashkeep: Command, drive: Path) -> None:
    found = flashkeep.json("run", drive, WORKLOAD)
    for key, wanted in SUMMARY.items():
        assert key in found
        if key not in ("drive", "operations", "energy"):  # open sets: a drive's keys, the causes that occur; or null
            missing = keys(shape(wanted)) - keys(shape(found[key]))
            assert not missing, f"{key}: {missing}"
    assert set(SUMMARY["operations"]) <= set(found["operations"])
    assert found["schema"] == 1
    assert len(found["digest"]) == 64
    assert found["drive"]["flash"]["channels"] == 2
    assert found["workload"]["requests"] == 3000
    assert found["workload"]["synthetic"] is True
    assert found["response_us"]["all"]["p99_99"] is None, "no p99.99 of fewer than 10,000 samples"


def keys(tree: Any, prefix: str = "") -> set[str]:
    if not isinstance(tree, dict):
        return set()
    return {f"{prefix}{key}" for key in tree}.union(*(keys(inner, f"{prefix}{key}.") for key, inner in tree.items()))


def test_parts_of_write_amplification_add_up(flashkeep: Command, mirrored: Path) -> None:
    found = flashkeep.json("run", mirrored, "synth:random,requests=20k,write=1,rate=2k")["write_amplification"]
    assert found["total"] == pytest.approx(1 + sum(value for part, value in found.items() if part != "total"))
    assert found["mirror"] == pytest.approx(1, abs=0.01)


def test_figures_without_a_value_are_null(flashkeep: Command, drive: Path) -> None:
    found = flashkeep.json("run", drive, "synth:random,requests=100,write=1,rate=1k")
    assert found["response_us"]["read"] is None
    assert found["response_us"]["write"]["count"] == 100


def test_seed_0_is_a_seed(flashkeep: Command, drive: Path) -> None:
    none, one = (flashkeep.json("run", drive, WORKLOAD, "--seed", seed) for seed in (0, 1))
    assert none["seed"] == 0
    assert none["digest"] != one["digest"]


def test_equal_runs_are_equal_and_other_seeds_differ(flashkeep: Command, drive: Path) -> None:
    first, again, other = (flashkeep.json("run", drive, WORKLOAD, "--seed", seed) for seed in (7, 7, 8))
    assert without_run(first) == without_run(again)
    assert first["digest"] != other["digest"]
    assert (first["seed"], other["seed"]) == (7, 8)


def test_the_table_is_for_people(flashkeep: Command, drive: Path) -> None:
    code, out, err = flashkeep("run", drive, WORKLOAD)
    assert (code, err) == (0, ""), "no progress where standard error is no terminal"
    for words in ("small", "3,000 requests", "all requests", "reads, mean", "write amplification", "blocks erased"):
        assert words in out
    assert "\033" not in out, "no colour where standard output is no terminal"
    assert max(map(len, out.splitlines())) < 120


def test_energy_is_told_where_currents_are_given(flashkeep: Command, drive: Path) -> None:
    assert flashkeep.json("run", drive, WORKLOAD)["energy"] is None
    assert "mean power" not in flashkeep("run", drive, WORKLOAD).out
    energy = flashkeep.json("run", "ssdsim-basic", WORKLOAD)["energy"]
    assert energy["flash_j"]["read"] > 0
    assert energy["flash_j"]["standby"] is None, "SSDSim has no such current"
    operations = sum(joules for causes in energy["operations_j"].values() for joules in causes.values())
    assert energy["total_j"] == pytest.approx(operations + energy["dram_j"])
    assert "mean power, W" in flashkeep("run", "ssdsim-basic", WORKLOAD).out


def test_page_types_are_lists_on_the_command_line_too(flashkeep: Command, drive: Path) -> None:
    programs = "flash.timing.program_us=[200, 400, 900]"
    listed = flashkeep.json("run", drive, WORKLOAD, "--set", programs)
    assert listed["drive"]["flash"]["timing"]["program_us"] == [200, 400, 900]
    named = flashkeep.json("run", f"{drive},{programs.replace(' ', '')}", WORKLOAD)
    assert named["response_us"] == listed["response_us"]
    assert "program 200 µs to 900 µs" in flashkeep("check", drive, "--set", programs).out


def test_collection_that_never_ran_is_said(flashkeep: Command, drive: Path) -> None:
    _, out, _ = flashkeep("run", drive, "synth:random,requests=10,rate=1k")
    assert "collection never ran" in out


def test_a_trace_from_a_file_or_standard_input(flashkeep: Command, drive: Path, trace: Path) -> None:
    from_file = flashkeep.json("run", drive, trace)
    piped = flashkeep.json("run", drive, "-", stdin=trace.read_text())
    assert from_file["workload"]["requests"] == 400
    assert from_file["workload"]["format"] == "ssdsim"
    assert from_file["response_us"] == piped["response_us"]


def test_several_traces_are_merged_by_time(flashkeep: Command, drive: Path, trace: Path) -> None:
    found = flashkeep.json("run", drive, trace, trace, "--merge-devices")
    assert found["workload"]["requests"] == 800


def test_set_reaches_the_drive(flashkeep: Command, drive: Path) -> None:
    found = flashkeep.json("run", drive, WORKLOAD, "--set", "redundancy.scheme=mirror", "--set", "flash.channels=4")
    assert found["drive"]["redundancy"]["scheme"] == "mirror"
    assert found["drive"]["flash"]["channels"] == 4


def test_limit_warmup_and_depth(flashkeep: Command, drive: Path, trace: Path) -> None:
    assert flashkeep.json("run", drive, trace, "--limit", 100)["workload"]["requests"] == 100
    warm = flashkeep.json("run", drive, trace, "--warmup", "50%")["response_us"]["all"]["count"]
    assert warm == 200 == flashkeep.json("run", drive, trace, "--warmup", 200)["response_us"]["all"]["count"]
    assert flashkeep.json("run", drive, trace, "--replay", "closed", "--depth", 4)["queue"]["max"] <= 4


def test_time_scale_stretches_arrivals(flashkeep: Command, drive: Path, trace: Path) -> None:
    plain, stretched = (flashkeep.json("run", drive, trace, "--time-scale", factor) for factor in (1, 4))
    assert stretched["simulated_s"] > 3 * plain["simulated_s"]


def test_verify_checks_reads(flashkeep: Command, mirrored: Path) -> None:
    integrity = flashkeep.json("run", mirrored, WORKLOAD, "--verify")["integrity"]
    assert integrity["checked_reads"] > 0
    assert (integrity["wrong_reads"], integrity["lost_pages"]) == (0, 0)


def test_options_may_stand_anywhere(flashkeep: Command, drive: Path, trace: Path) -> None:
    code, _, err = flashkeep("run", "--limit", 10, drive, trace, "--seed=3", trace, "--json", "--merge-devices")
    assert (code, err) == (0, "")


def test_where_response_times_go(flashkeep: Command, drive: Path, trace: Path) -> None:
    found = flashkeep.json("run", drive, trace)
    for which, told in found["latency_us"].items():
        assert sum(told["mean"].values()) == pytest.approx(found["response_us"][which]["mean"], rel=1e-9)
        assert sum(told["slowest"].values()) >= sum(told["mean"].values()) * 0.999
    table = flashkeep("run", drive, trace).out
    assert "Where the time goes, mean, µs" in table
    assert "reads: array" in table
    without = flashkeep.json("run", drive, trace, "--no-breakdown")
    assert without["latency_us"] is None
    assert without["digest"] == found["digest"]
    assert "Where the time goes" not in flashkeep("run", drive, trace, "--no-breakdown").out


class TestOut:
    """`--out DIR` and the files beside it."""

    def test_leaves_whole_files(self, flashkeep: Command, drive: Path, trace: Path, tmp_path: Path) -> None:
        out = tmp_path / "new" / "results"
        printed = flashkeep.json("run", drive, trace, "--out", out)
        assert sorted(path.name for path in out.iterdir()) == ["requests.parquet", "seconds.parquet", "summary.json"]
        assert json.loads((out / "summary.json").read_text()) == printed
        rows = rows_of(out, "requests")
        assert len(rows) == 400
        assert [row["op"] for row in rows] == ["write", "read"] * 200
        (second,) = rows_of(out, "seconds")
        assert (second["requests"], second["reads"], second["writes"]) == (400, 200, 200)
        assert second["bytes_read"] == 200 * 4096
        mean = sum(row["response_ns"] for row in rows) / 400 / 1000
        assert second["response_us_mean"] == pytest.approx(mean, abs=0.001)
        assert printed["response_us"]["all"]["mean"] == pytest.approx(mean)
        for row in rows:
            assert sum(row[f"{part}_ns"] for part in PARTS) == row["response_ns"]

    def test_refuses_a_directory_with_something_in_it(
        self, flashkeep: Command, drive: Path, trace: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "mine.txt").write_text("precious")
        code, out, err = flashkeep("run", drive, trace, "--out", tmp_path)
        assert (code, out) == (2, "")
        assert "not empty" in err
        assert "--force" in err
        assert flashkeep("run", drive, trace, "--out", tmp_path, "--force").code == 0
        assert (tmp_path / "mine.txt").read_text() == "precious"
        assert (tmp_path / "summary.json").exists()

    def test_a_run_that_fails_leaves_nothing(self, flashkeep: Command, drive: Path, tmp_path: Path) -> None:
        bad = tmp_path / "bad.ssdsim"
        bad.write_text("0 0 0 8 0\n" * 10 + "rubbish\n")
        operations = tmp_path / "operations.csv"
        found = flashkeep("run", drive, bad, "--out", tmp_path / "results", "--operations", operations)
        assert found.code == 2
        assert [path.name for path in tmp_path.iterdir()] == ["bad.ssdsim"]

    def test_unwritable_output_is_not_the_input_s_fault(self, flashkeep: Command, drive: Path, trace: Path) -> None:
        code, _, err = flashkeep("run", drive, trace, "--operations", "/proc/nowhere/operations.csv")
        assert code == 1
        assert err.count("\n") == 1
        assert "/proc/nowhere/operations.csv" in err

    def test_operations_name_their_request_and_page(self, flashkeep: Command, tmp_path: Path) -> None:
        drive, log = tmp_path / "drive.toml", tmp_path / "operations.csv"
        drive.write_text("[flash]\nchannels = 2\nchips_per_channel = 1\nblocks_per_plane = 16\npages_per_block = 8\n")
        load = "synth:random,requests=2k,write=0.7,size=4KiB,rate=2k"
        whole = flashkeep.json("run", drive, load, "--operations", log, "--out", tmp_path / "out")
        requests = rows_of(tmp_path / "out", "requests")
        with log.open() as file:
            rows = list(csv.DictReader(file))
        asked = [row for row in rows if row["request"]]
        assert {row["cause"] for row in asked} == {"host"}
        assert len(asked) == sum(whole["operations"][kind]["host"] for kind in ("read", "program"))
        for row in asked:
            request = requests[int(row["request"])]
            assert int(row["logical_page"]) * 4096 == request["offset"]
            assert (row["kind"] == "read") == (request["op"] == "read")
            assert request["arrival_ns"] <= int(row["start_ns"])
        others = [row for row in rows if not row["request"]]
        assert {row["cause"] for row in others} == {"gc"}
        assert all(bool(row["logical_page"]) == (row["kind"] != "erase") for row in others)

    def test_timeline(self, flashkeep: Command, drive: Path, trace: Path, tmp_path: Path) -> None:
        timeline, operations = tmp_path / "timeline.json.gz", tmp_path / "operations.csv"
        found = flashkeep.json("run", drive, trace, "--timeline", timeline, "--operations", operations)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["operations.csv", "timeline.json.gz"]
        with gzip.open(timeline, "rt") as file:
            whole = json.load(file)["traceEvents"]
        units = {event["tid"] for event in whole if event["ph"] == "M" and event["args"]["name"].startswith("chip ")}
        programs = [event for event in whole if event["name"] == "program host" and event["tid"] in units]
        assert len(programs) == found["operations"]["program"]["host"] == 200
        assert sum(event["ph"] == "b" for event in whole) == found["workload"]["requests"]

        window = tmp_path / "window.json"
        assert flashkeep("run", drive, trace, "--timeline", window, "--timeline-window", "10ms..12ms").code == 0
        part = [event for event in json.loads(window.read_text())["traceEvents"] if event["ph"] != "M"]
        assert 0 < len(part) < len(whole) / 10
        assert all(10_000 <= event["ts"] <= event["ts"] + event.get("dur", 0) <= 12_000 for event in part)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--timeline", "t.json", "--timeline-window", "2s..1s"], "ends before it begins"),
            (["--timeline", "t.json", "--timeline-window", "1..2"], "found `1`; a time such as 10s"),
            (["--timeline-window", "1s..2s"], "needs --timeline"),
            (["--timeline", "t.json", "--untimed"], "an untimed run has no times"),
            (["--timeline", "."], "is a directory"),
        ],
    )
    def test_a_timeline_that_makes_no_sense(
        self, flashkeep: Command, drive: Path, trace: Path, tmp_path: Path, options: list[str], message: str
    ) -> None:
        code, out, err = flashkeep("run", drive, trace, *options, cwd=tmp_path)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert message in err
        assert list(tmp_path.iterdir()) == []

    def test_operations_and_map(self, flashkeep: Command, mirrored: Path, trace: Path, tmp_path: Path) -> None:
        operations, placed = tmp_path / "operations.csv", tmp_path / "map.csv"
        found = flashkeep.json("run", mirrored, trace, "--operations", operations, "--map", placed)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["map.csv", "operations.csv"]
        with operations.open() as file:
            rows = list(csv.DictReader(file))
        assert {"start_ns", "end_ns", "channel", "block", "kind", "cause"} <= set(rows[0])
        programs = [row for row in rows if row["kind"] == "program"]
        assert len(programs) == sum(found["operations"]["program"].values())
        with placed.open() as file:
            assert len(next(csv.reader(file))) >= 3, "the page and a column a copy"
