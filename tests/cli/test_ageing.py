"""`--untimed`, `--condition`, `age` and `--aged`: the command's output and exit code."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import flashkeep as fk
import pytest
from conftest import Command

DRIVE = """\
[flash]
channels = 2
chips_per_channel = 1
blocks_per_plane = 24
pages_per_block = 16
[ftl]
over_provisioning = 0.4
"""
WORKLOAD = "synth:random,requests=2000,write=0.7,size=4KiB,rate=1k"


@pytest.fixture
def drive(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(DRIVE, encoding="utf-8")
    return str(path)


def test_an_untimed_run_has_counts_and_no_times(flashkeep: Command, drive: str) -> None:
    told = flashkeep("run", drive, WORKLOAD, "--untimed")
    assert told.code == 0
    assert "Response time" not in told.out
    assert "untimed" in told.out
    summary = json.loads(flashkeep("run", drive, WORKLOAD, "--untimed", "--json").out)
    assert summary["response_us"] == {"all": None, "read": None, "write": None}
    assert summary["wear"]["erases_total"] > 0


def test_a_saved_drive_goes_on(flashkeep: Command, drive: str, tmp_path: Path) -> None:
    file = str(tmp_path / "aged.fk")
    aged = flashkeep("age", drive, file)
    assert aged.code == 0
    assert "rounds" in aged.out
    later = json.loads(flashkeep("run", drive, WORKLOAD, "--aged", file, "--json").out)
    at_once = json.loads(flashkeep("run", drive, WORKLOAD, "--condition", "--json").out)
    assert later["digest"] == at_once["digest"]
    other = flashkeep("run", drive, WORKLOAD, "--aged", file, "--set", "flash.channels=4")
    assert other.code == 2
    assert "flash.channels is 2 in the file and 4 here" in other.err
    missing = flashkeep("run", drive, WORKLOAD, "--aged", file + "x")
    assert missing.code == 2


def test_python_has_them_too(drive: str, tmp_path: Path) -> None:
    file = tmp_path / "aged.fk"
    first = fk.run(drive, WORKLOAD, untimed=True, condition=True, save_aged=file)
    assert not first.response_us.all
    assert (first.conditioning.rounds or 0) >= 5
    with pytest.raises(ValueError, match="untimed"):
        first.requests()
    assert len(fk.run(drive, WORKLOAD, aged=file).requests()) == 2000


def test_a_saved_drive_leaves_pipes_and_links_alone(flashkeep: Command, drive: str, tmp_path: Path) -> None:
    link, file, pipe = tmp_path / "link.fk", tmp_path / "aged.fk", tmp_path / "pipe"
    file.touch()
    link.symlink_to(file)
    assert flashkeep("age", drive, link).code == 0
    assert link.is_symlink()
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        read = pool.submit(pipe.read_bytes)
        assert flashkeep("age", drive, pipe).code == 0
        assert read.result() == file.read_bytes()
    assert pipe.is_fifo()


@pytest.mark.parametrize("option", ["--save-aged", "--map"])
def test_what_cannot_be_written_at_the_end_is_said_before_the_run(
    flashkeep: Command, drive: str, tmp_path: Path, option: str
) -> None:
    """A run that would take hours, of which the end was known."""
    endless = "synth:random,requests=100G,write=1,size=4KiB,rate=1k"
    told = flashkeep("run", drive, endless, "--untimed", option, tmp_path / "nowhere" / "file")
    assert told.code == 1
    assert "nowhere/file: cannot be written" in told.err
