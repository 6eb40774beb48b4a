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

    def __call__(self, drive: str, workload: list[str] | str, *options: str, member: str = "") -> dict[str, Any]:
        """The summary of `flashkeep run` with a workload, or with a trace of these rows: time in ns, device, operation,
        offset, size."""
        (self.folder / "drive.toml").write_text(drive)
        (self.folder / "member.toml").write_text(member)
        if isinstance(workload, list):
            lines = ["time_ns,device,op,offset_B,size_B", *workload]
            (self.folder / "trace.csv").write_text("".join(f"{line}\n" for line in lines))
            workload, options = "trace.csv", ("--wrap", *options)
        words = [str(COMMAND), "run", "drive.toml", workload, "--json", "--verify", *options]
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


def test_a_power_loss_while_parities_change_their_members(case: Case) -> None:
    # Diff-RAID exchanges a parity and data units: what had been written in the place of another unit was taken for it.
    drive = 'members = ["6 * ./member.toml"]\nredundancy.scheme = "diff-raid"\n'
    member = (
        "flash.channels = 1\n"
        "flash.chips_per_channel = 3\n"
        "flash.dies_per_chip = 2\n"
        "flash.planes_per_die = 1\n"
        "flash.blocks_per_plane = 32\n"
        "flash.page_kib = 8\n"
        'flash.bus = "rounds"\n'
    )
    workload = "synth:zipf,requests=45,size=512,write=0.3,footprint=512KiB,theta=0.5,rate=100"
    for cut in range(80, 100):
        fails = ["--fail", "member:0@39req,replace_after=0s", "--fail", f"power@{cut}%"]
        integrity = case(drive, workload, *fails, member=member)["integrity"]
        assert (integrity["wrong_reads"], integrity["lost_pages"]) == (0, 0)


def test_the_same_with_dram_in_members(case: Case) -> None:
    drive = 'members = ["4 * ./member.toml"]\nredundancy.scheme = "diff-raid"\n'
    member = (
        "flash.channels = 2\n"
        "flash.chips_per_channel = 2\n"
        "flash.blocks_per_plane = 24\n"
        'flash.bus = "operations"\n'
        "buffer.dram_mib = 0.125\n"
    )
    workload = "synth:sequential,requests=150,size=4KiB,write=0,rate=20k"
    fails = ["--fail", "member:0@6%,replace_after=0s", "--fail", "power@9%", "--fail", "power@16%"]
    assert case(drive, workload, *fails, "--seed", "735", member=member)["integrity"]["wrong_reads"] == 0


def test_many_unreadable_pages_of_a_disk_take_seconds(case: Case) -> None:
    # For each of 100,000 unreadable pages all plans were looked through that had ever been under way at once.
    drive = 'members = ["6 * ./member.toml"]\nredundancy.scheme = "spd-raid4"\nredundancy.shares = 0.4\n'
    member = 'disk.capacity_gb = 0.1\ndisk.page_kib = 0.5\ndisk.queue_depth = 1\nhost.order = "arrival"\n'
    workload = "synth:random,requests=40,size=4KiB,write=0.5,rate=100"
    fails = ["--fail", "power@22%", "--fail", "member:3@53%,transient"]
    integrity = case(drive, workload, "--existing", "all", *fails, member=member)["integrity"]
    assert (integrity["wrong_reads"], integrity["lost_pages"]) == (0, 0)
