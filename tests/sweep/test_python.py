"""`fk.sweep`: sweeps from Python."""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import flashkeep as fk
import pytest
from elsewhere import check_equal, check_sent, write_sweep

WORKLOAD = "synth:random,requests=500,write=0.5,size=4KiB,footprint=64MiB,rate=5k"


def test_a_sweep_gives_its_table_and_its_runs() -> None:
    found = fk.sweep(drives=["1CNM-64", "2CM-128"], traces=WORKLOAD, seeds=[1, 2], grid={"buffer.dram_mib": [0, 16]})
    assert found.counts == {"0": 8}
    assert found.keys["buffer.dram_mib"] == [0, 16]
    folder = found.folder
    assert os.path.isdir(folder)
    for row in list(found)[:2]:
        drive = fk.drive(row["drive"]).replace(**{"buffer.dram_mib": row["buffer.dram_mib"]})
        assert found[row["cell"]].digest == fk.run(drive, WORKLOAD, row["seed"], requests=False).digest
    del found
    assert not os.path.exists(folder), "a sweep without a folder leaves nothing"


def test_a_plan_is_a_path_or_a_mapping_and_is_resumed(tmp_path: Path) -> None:
    plan: dict[str, Any] = {"workload": WORKLOAD, "drive": "1CNM-64", "seed": [1, 2]}
    (tmp_path / "plan.toml").write_text(f'workload = "{WORKLOAD}"\ndrive = "1CNM-64"\nseed = [1, 2]\n')
    calls: list[tuple[int, int]] = []
    fk.sweep(plan, out=tmp_path / "out", progress=lambda done, total: calls.append((done, total)))
    assert calls[-1][1] == 2
    first = (tmp_path / "out" / "results.csv").read_bytes()
    calls.clear()
    again = fk.sweep(
        tmp_path / "plan.toml", out=tmp_path / "out", progress=lambda done, total: calls.append((done, total))
    )
    assert calls == [], "no cell is run again"
    assert (tmp_path / "out" / "results.csv").read_bytes() == first
    assert again.counts == {"0": 2}


def test_drives_as_mappings_and_traces_in_memory(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"time_us": [0, 10, 20], "op": ["W", "R", "W"], "offset": [0, 0, 4096], "size": 4096})
    drives = [{"base": "1CNM-64", "buffer": {"dram_mib": mib}, "name": f"{mib} MiB"} for mib in (0, 16)]
    found = fk.sweep(drives=drives, traces=fk.trace(table), out=tmp_path / "out")
    assert found.counts == {"0": 2}
    for row in found:
        drive = next(each for each in drives if each["name"] == row["drive"])
        assert found[row["cell"]].digest == fk.run(drive, table, requests=False).digest


def test_an_executor_of_the_caller_is_used(tmp_path: Path) -> None:
    with ProcessPoolExecutor(2) as executor:
        found = fk.sweep(drives="1CNM-64", traces=WORKLOAD, seeds=[1, 2], out=tmp_path, executor=executor)
    assert found.counts == {"0": 2}


def move_to(folder: str) -> None:
    """Has a worker run in a directory, with its temporary files there."""
    tempfile.tempdir = os.path.join(folder, "temporary")
    os.makedirs(tempfile.tempdir)
    os.chdir(folder)


def test_an_executor_elsewhere_gets_the_members_of_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    write_sweep(here, elsewhere)
    monkeypatch.chdir(here)
    local = fk.sweep("plan.toml", out="local")
    with ProcessPoolExecutor(1, initializer=move_to, initargs=(str(elsewhere),)) as executor:
        sent = fk.sweep("plan.toml", out="sent", executor=executor)
    assert sent.counts == {"0": 4}
    check_equal(here / "local", here / "sent", 4)
    check_sent(elsewhere)
    assert len({row["digest"] for row in local}) == 4, "keys of members have an effect"


def test_an_array_in_the_folder_of_a_plan_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Members are found beside the array, whatever the working directory is, and a moved array keeps its cells."""
    write_sweep(tmp_path / "project", tmp_path / "elsewhere")
    (tmp_path / "project" / "files").rename(tmp_path / "files")  # relative to the working directory
    monkeypatch.chdir(tmp_path)
    first = fk.sweep("project/plan.toml", out="out")
    assert first.counts == {"0": 4}
    (tmp_path / "project").rename(tmp_path / "moved")
    calls: list[tuple[int, int]] = []
    fk.sweep("moved/plan.toml", out="out", progress=lambda done, total: calls.append((done, total)))
    assert calls == [], "no cell is run again"
    (tmp_path / "moved" / "drives" / "disk.toml").write_text("[disk]\ncapacity_gb = 0.03\n")
    fk.sweep("moved/plan.toml", out="out", progress=lambda done, total: calls.append((done, total)))
    assert calls[-1][1] == 4, "another member is another drive"


def test_wrong_calls() -> None:
    with pytest.raises(TypeError, match="'grid' goes into the plan"):
        fk.sweep({"workload": WORKLOAD, "drive": "1CNM-64"}, grid={"buffer.dram_mib": [0]})
    with pytest.raises(ValueError, match="workload: missing"):
        fk.sweep(drives="1CNM-64")
    with pytest.raises(ValueError, match="did you mean 'limit'"):
        fk.sweep(drives="1CNM-64", traces=WORKLOAD, options={"limt": 3})
