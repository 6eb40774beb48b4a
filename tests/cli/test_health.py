"""The effects of failures, repairs and rebuilds, and the figures about them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

SMALL = {
    "flash.channels": 4,
    "flash.chips_per_channel": 1,
    "flash.planes_per_die": 1,
    "flash.blocks_per_plane": 16,
    "flash.pages_per_block": 8,
    "ftl.over_provisioning": 0.5,
}
REDUNDANT = ["mirror", "raid4", "raid5", "raid6", "raid-tp", "lrc", "fra", "ppc", "ds", "dvs", "lifespan"]
CHANNELS = {"mirror": 2, "raid-tp": 5, "lrc": 6}
"""Others run over four."""

Record = tuple[int, str, int, int]


def setting(**keys: object) -> list[str]:
    """`--set` for each key; `__` stands for the dot."""
    pairs = {**SMALL, **{key.replace("__", "."): value for key, value in keys.items()}}
    return [word for key, value in pairs.items() for word in ("--set", f"{key}={value}")]


class Bench:
    """A blank drive, and traces of a few records: microseconds, operation, first page, pages."""

    def __init__(self, flashkeep: Command, folder: Path) -> None:
        self.flashkeep, self.folder = flashkeep, folder
        self.drive = folder / "blank.toml"
        self.drive.write_text("\n")

    def trace(self, records: Iterable[Record]) -> Path:
        path = self.folder / "trace.csv"
        lines = [f"{at * 1000},0,{op},{first * 4096},{count * 4096}" for at, op, first, count in records]
        path.write_text("time_ns,device,op,offset_B,size_B\n" + "\n".join(lines) + "\n")
        return path

    def run(self, records: Iterable[Record], *options: str, **keys: object) -> dict[str, Any]:
        """A verified run. Its exit code says whether pages were lost or read wrong."""
        trace = self.trace(records)
        code, out, err = self.flashkeep("run", self.drive, trace, *setting(**keys), *options, "--verify", "--json")
        assert code in (0, 3), err
        found: dict[str, Any] = json.loads(out)
        integrity = found["integrity"]
        assert (code == 3) == (integrity["lost_pages"] + integrity["wrong_reads"] > 0)
        return found


@pytest.fixture
def bench(flashkeep: Command, tmp_path: Path) -> Bench:
    return Bench(flashkeep, tmp_path)


def test_spoiled_pages_that_nothing_reads_are_reported(bench: Bench) -> None:
    """Half of the pages are on the channel whose contents cannot be read any more."""
    writes: list[Record] = [(0, "W", 0, 8), (1_000_000, "W", 64, 1), (2_000_000, "W", 65, 1)]
    found = bench.run(writes, "--fail", "channel:0@1s,transient", flash__channels=2)
    assert found["integrity"]["lost_pages"] == 4
    assert sum(phase["lost_pages"] for phase in found["phases"]) == 4
    assert found["operations"]["read"].get("host", 0) == 0, "the last look at every page is not counted"


@pytest.mark.parametrize("scheme", REDUNDANT)
@pytest.mark.parametrize("op", ["W", "T"])
def test_a_repair_may_read_what_came_after_the_read(bench: Bench, scheme: str, op: str) -> None:
    """The page that a read waits for cannot be read; meanwhile it is written or trimmed."""
    channels = CHANNELS.get(scheme, 4)
    records: list[Record] = [(0, "R", page, 1) for page in range(16)]
    records += [(1, op, page, 1) for page in range(16)]
    for at in (5, 10, 20, 50):
        fail = f"channel:0@{at}us,transient"
        found = bench.run(
            records, "--fail", fail, flash__channels=channels, redundancy__scheme=scheme, start__existing='"all"'
        )
        assert found["integrity"]["wrong_reads"] == 0, f"{scheme}, {fail}"


@pytest.mark.parametrize("scheme", REDUNDANT)
def test_the_last_look_at_every_page_is_not_counted(bench: Bench, scheme: str) -> None:
    """For any failure at the end: operations are those of the requests, and phases add up to them."""
    records: list[Record] = [(page * 10_000, "W", page, 1) for page in range(40)]
    records += [(500_000 + page * 10_000, "R", page, 1) for page in range(10)]
    channels = CHANNELS.get(scheme, 4)
    found = bench.run(records, "--fail", "channel:1@590ms", flash__channels=channels, redundancy__scheme=scheme)
    reads = found["operations"]["read"]
    for cause in reads:
        assert sum(phase["operations"]["read"].get(cause, 0) for phase in found["phases"]) == reads[cause]


def test_losses_are_of_the_phase_that_their_failure_begins(bench: Bench) -> None:
    """A mirror loses one half, then the other."""
    records: list[Record] = [(page * 10_000, "W", page, 1) for page in range(20)]
    records += [(600_000 + page * 10_000, "R", page, 1) for page in range(20)]
    halves = ("--fail", "channel:0@300ms", "--fail", "channel:1@500ms")
    found = bench.run(records, *halves, flash__channels=2, redundancy__scheme="mirror")
    assert [phase["phase"] for phase in found["phases"]] == ["before", "degraded", "degraded"]
    assert [phase["lost_pages"] for phase in found["phases"]] == [0, 0, 20]
    assert found["integrity"]["lost_pages"] == 20


def test_a_phase_that_begins_with_a_failure_is_not_called_after(bench: Bench) -> None:
    records: list[Record] = [(page * 10_000, "W", page, 1) for page in range(20)]
    spoiled = bench.run(records, "--fail", "channel:0@100ms,transient", flash__channels=2, redundancy__scheme="mirror")
    assert [phase["phase"] for phase in spoiled["phases"]] == ["before", "latent"]


@pytest.mark.parametrize("scheme", REDUNDANT)
def test_what_is_found_unreadable_is_written_anew(bench: Bench, scheme: str) -> None:
    """Each page is read twice; then another channel fails. That costs what only parities that nothing has read had."""
    channels = CHANNELS.get(scheme, 4)
    records: list[Record] = [(page * 10_000, "W", page, 1) for page in range(40)]
    # A mirror reads its copies in turn.
    records += [(6_000_000 + n * 10_000, "R", n // 2, 1) for n in range(80)]
    records += [(12_000_000, "R", 0, 1)]
    faults = ("--fail", "channel:0@5s,transient", "--fail", "channel:1@10s")
    found = bench.run(records, *faults, flash__channels=channels, redundancy__scheme=scheme, redundancy__timeout_ms=1)
    assert found["integrity"]["wrong_reads"] == 0
    lost = found["integrity"]["lost_pages"]
    assert lost == 0 if scheme in ("mirror", "raid6", "raid-tp", "lrc") else lost <= 10, f"{scheme}: {lost}"


SIX = """\
members = ["6 * 2CNM-64,flash.chips_per_channel=2,flash.blocks_per_plane=64,start.existing=all"]
[redundancy]
"""


@pytest.mark.parametrize("scheme", ['scheme = "raid6"', 'scheme = "mirror"\nwidth = 3', 'scheme = "mirror"\nwidth = 6'])
@pytest.mark.parametrize("second", ["10%", "10.02s"])
def test_members_that_are_replaced_together_are_all_rebuilt(
    flashkeep: Command, tmp_path: Path, scheme: str, second: str
) -> None:
    """Two members fail, the second with the first or while that is rebuilt. Once all is whole, two others may fail."""
    members = 3 if "width = 3" in scheme else 6
    drive = tmp_path / "six.toml"
    drive.write_text(SIX.replace("6 *", f"{members} *") + scheme.replace(f"\nwidth = {members}", "") + "\n")
    later = [member for member in (3, 4) if member < members] or [0]
    faults = [f"member:1@{'10%' if second == '10%' else '10s'},replace_after=1s", f"member:2@{second},replace_after=1s"]
    faults += [f"member:{member}@80%" for member in later]
    workload = "synth:random,requests=8k,write=0,size=4KiB,rate=100"
    found = flashkeep.json(
        "run", drive, workload, "--existing", "all", *(word for fault in faults for word in ("--fail", fault))
    )
    assert found["integrity"]["lost_pages"] == 0
    assert "after" in [phase["phase"] for phase in found["phases"]]


def test_a_page_that_was_never_written_is_not_lost(bench: Bench) -> None:
    """A mirror whose halves have been replaced one after the other knows its zeros."""
    records: list[Record] = [(page * 1000, "W", page, 1) for page in range(20)]
    records += [(100_000, "T", 3, 2), (4_000_000, "R", 0, 30)]
    faults = ("--fail", "channel:0@1s,replace_after=1ms", "--fail", "channel:1@3s")
    found = bench.run(records, *faults, flash__channels=2, redundancy__scheme="mirror")
    assert found["integrity"]["lost_pages"] == 0
