"""`flashkeep compare`: drives side by side, and the comparison in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Command

WORKLOAD = "synth:random,requests=3000,rate=2k"


def test_json_is_the_runs(flashkeep: Command, drive: Path, mirrored: Path) -> None:
    runs = flashkeep.json("compare", WORKLOAD, drive, mirrored, drive)["runs"]
    alone = [flashkeep.json("run", each, WORKLOAD) for each in (drive, mirrored, drive)]
    assert [run["digest"] for run in runs] == [run["digest"] for run in alone]
    assert runs[1]["drive"]["redundancy"]["scheme"] == "mirror"


def test_the_table(flashkeep: Command, drive: Path, mirrored: Path) -> None:
    code, out, err = flashkeep("compare", WORKLOAD, drive, mirrored)
    assert (code, err) == (0, "")
    head = next(line for line in out.splitlines() if "Δ" in line)
    assert head.split() == ["small", "mirrored", "Δ", "better"]
    for row in (
        "all requests, mean",
        "reads, mean",
        "writes, mean",
        "p50",
        "p95",
        "p99.9",
        "write amplification in bytes",
        "mirror",
    ):
        assert any(row in line for line in out.splitlines())
    assert "↓ lower" in out
    assert "↑ higher" in out
    assert "every page is programmed twice." in out
    _, out, _ = flashkeep("compare", WORKLOAD, drive, mirrored, "--limit", 100)
    assert "small: garbage collection never ran" in out
    assert "mirrored: garbage collection never ran" in out


def test_a_drive_against_itself_differs_in_nothing(flashkeep: Command, drive: Path) -> None:
    _, out, _ = flashkeep("compare", WORKLOAD, drive, drive)
    assert "small reads and writes as fast as small." in out
    assert "+" not in out.partition("Δ")[2]


def test_one_drive_is_enough(flashkeep: Command, drive: Path) -> None:
    assert len(flashkeep.json("compare", WORKLOAD, drive)["runs"]) == 1
    assert flashkeep("compare", WORKLOAD, drive).code == 0


def test_out_has_a_folder_a_drive(flashkeep: Command, drive: Path, mirrored: Path, tmp_path: Path) -> None:
    printed = flashkeep.json("compare", WORKLOAD, drive, mirrored, "--out", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["01-small", "02-mirrored", "summary.json"]
    assert json.loads((tmp_path / "summary.json").read_text()) == printed
    assert json.loads((tmp_path / "02-mirrored" / "summary.json").read_text()) == printed["runs"][1]


def test_one_wrong_drive_ends_it(flashkeep: Command, drive: Path) -> None:
    code, out, err = flashkeep("compare", WORKLOAD, drive, "2CM-129")
    assert (code, out) == (2, "")
    assert "2CM-128" in err


def test_a_drive_takes_values_of_its_own(flashkeep: Command, drive: Path) -> None:
    raid = f"{drive},flash.channels=4,redundancy.scheme=raid5"
    runs = flashkeep.json("compare", WORKLOAD, drive, raid, "2CNM-64,buffer.dram_mib=1")["runs"]
    assert [run["drive"]["flash"]["channels"] for run in runs] == [2, 4, 2]
    assert [run["drive"]["redundancy"]["scheme"] for run in runs] == ["none", "raid5", "none"]
    assert [run["drive"]["name"] for run in runs] == ["small", "small", "2CNM-64"]
    text = flashkeep("compare", WORKLOAD, drive, raid, "--set", "ftl.over_provisioning=0.3").out
    assert text.startswith(
        "small (ftl.over_provisioning=0.3) against "
        "small (ftl.over_provisioning=0.3, flash.channels=4, redundancy.scheme=raid5) under "
    )
    heads = [line.split() for line in text.splitlines()[4:8]]
    assert heads[:2] == [["small", "small", "Δ", "better"], ["ftl.over_provisioning=0.3"] * 2]
    assert heads[2:] == [["flash.channels=4"], ["redundancy.scheme=raid5"]]
    alone = flashkeep.json("run", drive, WORKLOAD, "--set", "flash.channels=4", "--set", "redundancy.scheme=raid5")
    assert alone["response_us"] == runs[1]["response_us"]


def test_a_drive_that_cannot_carry_the_load_is_said_to_be_saturated(
    flashkeep: Command, drive: Path, mirrored: Path
) -> None:
    # Four dies of 25 + 200 µs carry some 30,000 requests a second; the wide drive has 64.
    load = "synth:random,requests=20000,write=0.5,size=4KiB,rate=60k,footprint=1MiB"
    wide = f"{drive},flash.channels=16,flash.chips_per_channel=4"
    code, out, err = flashkeep("compare", load, wide, drive, mirrored)
    assert (code, err) == (0, "")
    assert "times slower" not in out
    assert "× 1" not in out.partition("Throughput")[0].partition("Response time")[2]
    runs = flashkeep.json("compare", load, wide, drive, mirrored)["runs"]
    assert "saturation" not in runs[0]
    for run, name in zip(runs[1:], ("small", "mirrored"), strict=True):
        found = run["saturation"]
        assert found["offered_iops"] == pytest.approx(run["workload"]["requests"] / run["workload"]["span_s"])
        assert found["reached_iops"] == pytest.approx(run["throughput"]["iops"], rel=1e-6)
        told = f"{name} cannot carry {found['offered_iops']:,.0f}/s; it reaches {found['reached_iops']:,.0f}/s"
        assert told in " ".join(out.split())
    heads = next(line for line in out.splitlines() if "better" in line)
    means = next(line for line in out.splitlines() if "writes, mean" in line)
    assert means.split()[-4:] == [f"{runs[2]['response_us']['write']['mean']:,.0f}", "saturated", "↓", "lower"]
    assert means.index("saturated") + len("saturated") == heads.index("Δ") + 1
    _, out, _ = flashkeep("compare", load, drive, wide, mirrored)
    assert " carries " in out
    assert "neither small nor mirrored can carry" in out
