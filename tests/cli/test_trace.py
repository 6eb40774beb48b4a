"""`flashkeep trace info` and `synth`."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Command

KEYS = {
    "format", "requests", "reads", "writes", "trims", "span_s", "rate_per_s", "mean_kib", "footprint_bytes",
    "max_address", "devices", "sequences", "mean_sequence_kib", "warnings",
}  # fmt: skip


def test_info_has_the_keys_of_the_interface(flashkeep: Command, trace: Path) -> None:
    found = flashkeep.json("trace", "info", trace)
    assert set(found) >= KEYS
    assert (found["format"], found["requests"], found["writes"], found["devices"]) == ("ssdsim", 400, 200, 1)
    assert found["mean_kib"] == 4
    assert found["footprint_bytes"] == 50 * 4096


def test_info_for_people(flashkeep: Command, trace: Path) -> None:
    code, out, err = flashkeep("trace", "info", trace)
    assert (code, err) == (0, "")
    assert "400" in out
    assert "200 KiB" in out


def test_synth_makes_a_trace_that_reads_back(flashkeep: Command, drive: Path, tmp_path: Path) -> None:
    out = tmp_path / "made.ssdsim"
    workload = "synth:random,requests=500,rate=1k,footprint=1MiB,size=4KiB"
    made = flashkeep.json("trace", "synth", workload, out)
    assert made == {"requests": 500, "format": "ssdsim"}
    assert [path.name for path in tmp_path.iterdir()] == ["made.ssdsim"]
    assert flashkeep.json("trace", "info", out)["requests"] == 500
    replayed, direct = (flashkeep.json("run", drive, source) for source in (out, workload))
    assert replayed["response_us"] == direct["response_us"]
    again = tmp_path / "again.ssdsim"
    assert flashkeep("trace", "synth", workload, again).out == f"{again}: 500 requests, ssdsim\n"
    assert again.read_bytes() == out.read_bytes()
    assert flashkeep("trace", "synth", workload, again, "--seed", 2).code == 0
    assert again.read_bytes() != out.read_bytes()


def test_synth_fills_the_drive_that_is_named(flashkeep: Command, drive: Path, tmp_path: Path) -> None:
    out = tmp_path / "made.spc"
    made = flashkeep.json("trace", "synth", "synth:sequential,requests=100,rate=1k", out, "--drive", drive)
    assert made["format"] == "spc"


def test_synth_to_standard_output(flashkeep: Command, drive: Path) -> None:
    _, text, err = flashkeep(
        "trace", "synth", "synth:random,requests=9,rate=1k,footprint=1MiB,size=4KiB", "-", "--to", "ssdsim"
    )
    assert err == ""
    assert len(text.splitlines()) == 9
    assert flashkeep.json("run", drive, "-", "--format", "ssdsim", stdin=text)["workload"]["requests"] == 9


REAL = {
    "financial1-head-10k.ssdsim.zst": ("ssdsim", 10_000),
    "iozone-100k.disksim.zst": ("disksim", 100_000),
    "msr-hm0-1k.csv.zst": ("msr", 1_000),
    "cloudphysics-2h.vscsi.zst": ("vscsi", 113_872),
}


@pytest.mark.parametrize("name", REAL)
def test_real_traces(flashkeep: Command, real_traces: Path, name: str) -> None:
    found = flashkeep.json("trace", "info", real_traces / name)
    assert (found["format"], found["requests"]) == REAL[name]


def test_a_real_trace_on_a_preset(flashkeep: Command, real_traces: Path) -> None:
    trace = real_traces / "financial1-head-10k.ssdsim.zst"
    found = flashkeep.json("compare", trace, "1CNM-64", "2CM-128", "--compact")["runs"]
    assert all(run["workload"]["requests"] == 10_000 for run in found)
    assert found[1]["response_us"]["read"]["mean"] < found[0]["response_us"]["read"]["mean"]


def test_a_workload_with_a_footprint_of_its_own_needs_no_drive(flashkeep: Command) -> None:
    info = flashkeep.json("trace", "info", "synth:sirf-fin2,requests=20k")
    assert info["requests"] == 20_000
    assert abs(info["mean_kib"] - 4) < 0.1
