"""Defects that campaigns of random drives found (`python -m tests.differential`), each as its reduced case."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import COMMAND


class Case:
    """Runs an array, or a drive, that a test describes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, drive: str, rows: list[str], *options: str, member: str = "") -> dict[str, Any]:
        """The summary of `flashkeep run` with a trace of these rows: time in ns, device, operation, offset, size."""
        (self.folder / "drive.toml").write_text(drive)
        (self.folder / "member.toml").write_text(member)
        lines = ["time_ns,device,op,offset_B,size_B", *rows]
        (self.folder / "trace.csv").write_text("".join(f"{line}\n" for line in lines))
        words = [str(COMMAND), "run", "drive.toml", "trace.csv", "--wrap", "--json", "--verify", *options]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, cwd=self.folder)
        assert done.returncode in {0, 3}, done.stderr
        summary: dict[str, Any] = json.loads(done.stdout)
        return summary


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def test_work_before_time_0_is_acknowledged_when_it_is_planned(case: Case) -> None:
    # The page that the second request reads is written to the copies before time 0, while the clock is at 201,536 ns:
    # where one copy is enough, the breakdown of that plan ended before it began.
    drive = 'members = ["4 * ./member.toml"]\nredundancy.scheme = "mirror"\nredundancy.acknowledge = "first"\n'
    member = (
        "flash.channels = 4\nflash.chips_per_channel = 1\nflash.blocks_per_plane = 12\nftl.over_provisioning = 0.5\n"
    )
    rows = ["0,0,W,263168,512", "9011001,0,R,264192,1024"]
    summary = case(drive, rows, "--replay", "closed", "--depth", "1", member=member)
    assert summary["integrity"]["wrong_reads"] == 0
