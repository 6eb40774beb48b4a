"""Multi-plane commands, cache registers and partly free placement as a user sees them: docs/model.md's closed forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

DRIVE = """\
[flash]
channels = 1
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 4
blocks_per_plane = 64
pages_per_block = 64
page_kib = 4
timing = { read_us = 60, program_us = 300, erase_us = 2000, bus_ns_per_byte = 10, command_ns = 1000 }
commands = { register_ns = 500 }

[ftl]
over_provisioning = 0.5
allocation = "PDWC"
"""
COMMAND_US, TRANSFER_US, READ_US, PROGRAM_US, REGISTER_US = 1.0, 40.96, 60.0, 300.0, 0.5


@pytest.fixture(scope="module")
def die(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("commands") / "drive.toml"
    path.write_text(DRIVE)
    return path


def run(command: Command, drive: Path, write: int, *settings: str) -> dict[str, Any]:
    workload = f"synth:sequential,requests=4000,write={write},size=4KiB,footprint=32MiB,depth=32"
    options = [part for setting in settings for part in ("--set", setting)]
    # A drive in which every page exists has written one plane less far than the others.
    existing = "none" if write else "all"
    done = command("run", drive, workload, "--existing", existing, "--verify", "--json", *options)
    assert done.code == 0, done.err
    summary: dict[str, Any] = json.loads(done.out)
    assert summary["integrity"]["wrong_reads"] == 0
    return summary


def page_us(summary: dict[str, Any]) -> float:
    return 1e6 / float(summary["throughput"]["iops"])


def test_programs_of_four_planes_take_little_longer_than_one(flashkeep: Command, die: Path) -> None:
    sent = COMMAND_US + TRANSFER_US
    alone = run(flashkeep, die, 1)
    assert page_us(alone) == pytest.approx(sent + PROGRAM_US, rel=0.002)
    assert "commands" not in alone
    together = run(flashkeep, die, 1, "flash.commands.multi_plane=match")
    assert page_us(together) == pytest.approx((4 * sent + 3 * REGISTER_US + PROGRAM_US) / 4, rel=0.01)
    assert together["commands"]["multi_plane"]["program"] == pytest.approx(1000, rel=0.01)
    assert together["operations"]["program"]["host"] == 4000


def test_reads_of_four_planes_share_the_array_time(flashkeep: Command, die: Path) -> None:
    alone = run(flashkeep, die, 0)
    assert page_us(alone) == pytest.approx(COMMAND_US + READ_US + TRANSFER_US, rel=0.002)
    together = run(flashkeep, die, 0, "flash.commands.multi_plane=match")
    assert page_us(together) == pytest.approx(COMMAND_US + READ_US / 4 + TRANSFER_US, rel=0.01)


def test_cache_registers_hide_the_shorter_half(flashkeep: Command, die: Path) -> None:
    writes = run(flashkeep, die, 1, "flash.commands.cache_program=true")
    assert page_us(writes) == pytest.approx(REGISTER_US + PROGRAM_US, rel=0.002)
    assert writes["commands"]["cache"]["program"] >= 3990
    reads = run(flashkeep, die, 0, "flash.commands.cache_read=true")
    # The next command goes out first, and the array then takes longer than the page that leaves meanwhile.
    assert page_us(reads) == pytest.approx(COMMAND_US + READ_US, rel=0.002)


def test_planes_that_lag_leave_pages_out_only_if_they_may(flashkeep: Command, die: Path) -> None:
    def random(mode: str) -> dict[str, Any]:
        workload = "synth:random,requests=4000,write=1,size=4KiB,footprint=32MiB,depth=16"
        done = flashkeep("run", die, workload, "--verify", "--json", "--set", f"flash.commands.multi_plane={mode}")
        assert done.code == 0, done.err
        summary: dict[str, Any] = json.loads(done.out)
        return summary

    match, skip = random("match"), random("skip")
    assert match["commands"]["wasted_pages"] == 0
    assert skip["commands"]["wasted_pages"] > 0
    assert skip["commands"]["multi_plane"]["program"] > match["commands"]["multi_plane"]["program"]


@pytest.mark.parametrize(
    ("setting", "warning"),
    [
        ("flash.busy_unit=plane", "flash.commands.multi_plane: no effect"),
        ("flash.planes_per_die=1", "flash.commands.multi_plane: no effect"),
    ],
)
def test_commands_without_effect_are_named(flashkeep: Command, die: Path, setting: str, warning: str) -> None:
    done = flashkeep("check", die, "--set", "flash.commands.multi_plane=match", "--set", setting)
    assert done.code == 0
    assert warning in done.out + done.err


def test_fewer_bound_levels_wait_less(flashkeep: Command, drive: Path) -> None:
    workload = "synth:random,requests=3000,write=1,size=4KiB,footprint=1MiB,rate=4k"
    means = []
    for allocation in ("CWDP", "W", "dynamic"):
        done = flashkeep("run", drive, workload, "--json", "--set", f"ftl.allocation={allocation}")
        assert done.code == 0, done.err
        means.append(json.loads(done.out)["response_us"]["write"]["mean"])
    assert means[0] > means[1] > means[2]


def test_letters_that_are_none_are_refused(flashkeep: Command, drive: Path) -> None:
    done = flashkeep("check", drive, "--set", "ftl.allocation=CC")
    assert done.code == 2
    assert "each at most once" in done.err


def test_small_pages_share_programs_and_reads(flashkeep: Command, die: Path) -> None:
    small = ("flash.page_kib=16", "ftl.logical_page_kib=4", "ftl.allocation=dynamic")
    sent = COMMAND_US + 4 * TRANSFER_US
    alone = run(flashkeep, die, 1, *small)
    assert page_us(alone) == pytest.approx((sent + PROGRAM_US) / 4, rel=0.01)
    together = run(flashkeep, die, 1, *small, "flash.commands.multi_plane=match")
    assert page_us(together) == pytest.approx((4 * sent + 3 * REGISTER_US + PROGRAM_US) / 16, rel=0.01)
    assert alone["packing"]["places"] == together["packing"]["places"] == 4
    assert alone["packing"]["empty_places"] == 4 * alone["packing"]["flash_pages"]["program"] - 4000
    reads = run(flashkeep, die, 0, *small)
    assert page_us(reads) == pytest.approx((COMMAND_US + READ_US) / 4 + TRANSFER_US, rel=0.01)
    done = flashkeep("check", die, *(part for setting in small for part in ("--set", setting)))
    assert "64 pages × 4 places × 4 KiB" in done.out


def test_pages_that_do_not_fit_the_flash_s_are_refused(flashkeep: Command, die: Path) -> None:
    done = flashkeep("check", die, "--set", "ftl.logical_page_kib=3")
    assert done.code == 2
    assert "does not hold a whole number of pages of 3 KiB" in done.err
