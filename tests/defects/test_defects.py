"""Defects that random testing found, each as the command that showed it, and what must hold instead.

A unit test shows defect 18 (`schemes/tests/rebuilds.rs`). Defect 19 was in code that a document printed; documents
print no such code any more.
"""

from __future__ import annotations

import csv
import json
import random
import re
import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import COMMAND, ROOT, Command, Finished, call
from differential import operations

REPRO = Path(__file__).with_name("repro")

SMALL = """\
flash.channels = 2
flash.chips_per_channel = 1
flash.blocks_per_plane = 64
flash.pages_per_block = 16
ftl.over_provisioning = 0.5
"""

SIX = """\
members = ["6 * 2CNM-64,flash.chips_per_channel=2,flash.blocks_per_plane=64,start.existing=all"]
redundancy.scheme = "raid6"
"""

TINY = {
    "flash.chips_per_channel": 1, "flash.planes_per_die": 1, "flash.blocks_per_plane": 16, "flash.pages_per_block": 8,
    "ftl.over_provisioning": 0.5,
}  # fmt: skip

HEALING = ("mirror", "raid4", "raid5", "raid6", "ds", "dvs", "fra", "ppc", "lifespan")


class Bench:
    """Runs drives that a test describes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(
        self, drive: str, workload: str, *options: object, limit_s: float = 120, **keys: Any
    ) -> tuple[Finished, dict[str, Any]]:
        """`flashkeep run` with `--json`: how it ended, and the summary; keys have `__` for a dot."""
        return self.run(drive, workload, {key.replace("__", "."): value for key, value in keys.items()}, *options,
                        limit_s=limit_s)  # fmt: skip

    def run(
        self, drive: str, workload: str, keys: dict[str, Any], *options: object, limit_s: float = 120
    ) -> tuple[Finished, dict[str, Any]]:
        """The same with keys as a mapping; past the time limit it fails."""
        path = self.folder / "drive.toml"
        path.write_text(drive)
        trace = REPRO / workload if workload.endswith(".csv") and "/" not in workload else workload
        settings = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
        words = ["run", path, trace, *settings, *options, "--json"]
        done = call([*map(str, words)], limit_s=limit_s)
        return done, json.loads(done.out) if done.out else {}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def ended_well(done: Finished) -> None:
    """The run succeeded, or it was refused with one message."""
    assert done.code in {0, 2, 3}, done.err


def test_two_members_that_are_replaced_together_are_both_rebuilt(bench: Bench) -> None:
    replaced = [f"--fail=member:{member}@10%,replace_after=1s" for member in (1, 2)]
    later = [f"--fail=member:{member}@80%" for member in (3, 4)]
    workload = "synth:random,requests=40k,write=0,size=4KiB,rate=500"
    done, summary = bench(SIX, workload, "--existing", "all", *replaced, *later)
    assert summary["integrity"]["lost_pages"] == 0
    assert done.code == 0


def test_a_power_cut_loses_no_page_that_ageing_placed(bench: Bench) -> None:
    done, summary = bench(SMALL, "two.csv", "--fail", "power@1s", ageing__model="approach2", ageing__valid_ratio=0.3)
    assert summary["integrity"]["lost_pages"] == 0
    assert done.code == 0


def test_pages_that_a_transient_failure_made_unreadable_are_reported_as_lost(bench: Bench) -> None:
    keys = {**TINY, "flash.channels": 2}
    fail = "channel:0@1s,transient"
    done, summary = bench.run("", "transient-unread.csv", keys, "--fail", fail, "--verify")
    assert (summary["integrity"]["lost_pages"], done.code) == (4, 3)


@pytest.mark.parametrize("scheme", HEALING)
def test_a_write_over_pages_that_failed_in_passing_is_read_as_written(bench: Bench, scheme: str) -> None:
    keys = {**TINY, "flash.channels": 2 if scheme == "mirror" else 4, "redundancy.scheme": scheme}
    fail = f"channel:0@{20 if scheme in {'raid4', 'raid5', 'ppc', 'lifespan'} else 50}us,transient"
    trace = f"transient-race-{scheme}.csv"
    done, summary = bench.run("", trace, keys, "--existing", "all", "--fail", fail, "--verify")
    assert summary["integrity"]["wrong_reads"] == 0
    assert done.code == 0


def test_a_read_in_flight_may_see_a_trim_that_a_repair_overtook(bench: Bench) -> None:
    keys = {**TINY, "flash.channels": 2, "redundancy.scheme": "mirror"}
    done, summary = bench.run("", "trim-race-T.csv", keys, "--existing", "all", "--fail", "channel:0@10us", "--verify")
    assert summary["integrity"]["wrong_reads"] == 0
    assert done.code == 0


def test_a_mirror_reads_what_was_written_after_one_page_has_failed(bench: Bench) -> None:
    keys = {
        **TINY, "flash.channels": 2, "flash.chips_per_channel": 2, "flash.dies_per_chip": 3,
        "flash.blocks_per_plane": 12, "flash.pages_per_block": 6, "redundancy.scheme": "mirror",
        "ftl.over_provisioning": 1.0,
    }  # fmt: skip
    options = ("--fail", "page:1.1.0.0.0.3@115req", "--verify", "--wrap", "--seed", 2)
    done, summary = bench.run("", "min-1795369020730.csv", keys, *options)
    assert summary["integrity"]["wrong_reads"] == 0
    assert done.code == 0


@pytest.mark.parametrize("scheme", ["ds", "dvs", "lifespan"])
def test_a_log_structured_scheme_under_a_high_threshold_ends_after_a_failure(bench: Bench, scheme: str) -> None:
    keys = {
        **TINY, "flash.channels": 4, "flash.chips_per_channel": 2, "ftl.over_provisioning": 1.0,
        "redundancy.scheme": scheme, "ftl.gc.threshold": 0.9,
    }  # fmt: skip
    workload = "synth:random,requests=1000,write=1,size=4KiB,rate=1k"
    done, _ = bench.run("", workload, keys, "--fail", "channel:1@50%", limit_s=3)
    ended_well(done)


@pytest.mark.parametrize("more", [{}, {"flash.bus": "operations"}, {"flash.commands.cache_read": "true"}])
def test_a_bus_may_take_no_time(bench: Bench, more: dict[str, str]) -> None:
    workload = "synth:random,requests=1000,size=32KiB,rate=20k"
    done, summary = bench.run(SMALL, workload, {"flash.timing.bus_ns_per_byte": 0, **more}, "--verify")
    assert (done.code, summary["response_us"]["all"]["count"]) == (0, 1000)


@pytest.mark.parametrize("model", ["basic", "approach1", "approach2"])
@pytest.mark.parametrize("map", ["block", "hybrid"])
def test_ageing_of_block_and_log_block_maps_runs_or_is_refused(bench: Bench, map: str, model: str) -> None:
    done, _ = bench(SMALL, "synth:random,requests=10", ftl__map=map, ageing__model=model)
    ended_well(done)


def test_a_drive_that_wears_out_while_it_is_conditioned_is_refused(bench: Bench) -> None:
    workload = "synth:random,requests=2000,write=1,size=4KiB,depth=4"
    done, _ = bench(SMALL, workload, "--condition", ftl__wear__erase_budget=3)
    assert done.code == 2
    assert "ftl.wear.erase_budget: the drive reached the end of its life before time 0" in done.err


@pytest.mark.parametrize("budget", [8, 12, 16, 20])
def test_blocks_may_wear_out_while_a_drive_is_conditioned(bench: Bench, budget: int) -> None:
    workload = "synth:random,requests=2000,write=0.5,size=4KiB,depth=4"
    done, _ = bench(SMALL, workload, "--condition", "--verify", ftl__wear__erase_budget=budget)
    ended_well(done)


def test_parity_that_waits_does_not_stall_collection(bench: Bench) -> None:
    keys = {
        "flash.channels": 4, "flash.chips_per_channel": 2, "flash.planes_per_die": 1,
        "flash.blocks_per_plane": 12, "flash.pages_per_block": 4,
        "redundancy.scheme": "raid5", "ftl.over_provisioning": 0.3, "ftl.gc.victim": "d-choices",
        "ftl.gc.soft_threshold": 0.6, "redundancy.across": "die", "redundancy.incomplete": "wait",
        "redundancy.spares": 1,
    }  # fmt: skip
    options = ("--wrap", "--seed", 4, "--time-scale", 0.001)
    done, _ = bench.run("", "min-1795368946799.csv", keys, *options)
    ended_well(done)


def test_sub_page_packing_under_ppc_collects_after_a_failure(bench: Bench) -> None:
    keys = {
        "flash.channels": 4, "flash.chips_per_channel": 1, "flash.dies_per_chip": 2, "flash.blocks_per_plane": 12,
        "flash.pages_per_block": 6, "redundancy.scheme": "ppc", "ftl.over_provisioning": 0.6,
        "ftl.logical_page_kib": 2, "ftl.gc.threshold": 0.9, "redundancy.commit_on_collection": "true",
        "ageing.model": "basic",
    }  # fmt: skip
    fail = "channel:2@150093ms,replace_after=1000ms"
    done, _ = bench.run("", "min-1795367967729.csv", keys, "--fail", fail, "--verify", "--untimed")
    ended_well(done)


@pytest.mark.parametrize("scheme", ["mirror", "ds", "dvs", "lifespan"])
def test_pages_that_were_found_unreadable_are_rewritten(bench: Bench, scheme: str) -> None:
    """40 pages, a transient failure of a channel, every page read twice, then the next channel fails. A mirror of two
    that only took turns would read the same copy of a page both times, 40 reads apart."""
    keys = {**TINY, "flash.channels": 2 if scheme == "mirror" else 4, "redundancy.scheme": scheme}
    fails = ("--fail", "channel:0@5s,transient", "--fail", "channel:1@9s")
    _, summary = bench.run("", "read-twice.csv", keys, *fails, "--verify")
    assert summary["integrity"]["wrong_reads"] == 0
    # With parity, only what was on parity pages that nothing has read, and then on a page that failed.
    assert summary["integrity"]["lost_pages"] <= (0 if scheme == "mirror" else 10)


@pytest.mark.parametrize("map", ["block", "hybrid", "dftl"])
@pytest.mark.parametrize("members", [2, 4])
def test_writes_that_wait_in_a_member_are_no_zeros_to_a_mirror(bench: Bench, map: str, members: int) -> None:
    """A member is replaced while the others have writes that no map knows yet: those pages are to be copied, too."""
    (bench.folder / "member.toml").write_text(
        f'flash.channels = 2\nflash.chips_per_channel = 1\nflash.blocks_per_plane = 32\nftl.map = "{map}"\n'
    )
    array = f'members = ["{members} * ./member.toml"]\nredundancy.scheme = "mirror"\n'
    workload = "synth:sequential,requests=150,size=2048,write=1,footprint=256KiB,depth=4"
    done, summary = bench(array, workload, "--fail", "member:1@85%,replace_after=0s", "--verify")
    assert (summary["integrity"]["wrong_reads"], done.code) == (0, 0)


def test_running_out_of_memory_is_an_error_with_a_message(tmp_path: Path) -> None:
    drive = tmp_path / "drive.toml"
    drive.write_text(SMALL)
    workload = "synth:random,requests=20M,rate=100k,footprint=1MiB"

    def less_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (600_000 << 10, 600_000 << 10))

    words = [str(COMMAND), "run", str(drive), workload, "--out", str(tmp_path / "out")]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=120, check=False, preexec_fn=less_memory
    )  # nothing else runs in this process
    assert done.returncode == 1
    assert "memory" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not [path for path in tmp_path.rglob("*") if "unfinished" in path.name]


def test_the_read_of_every_page_at_the_end_is_not_counted(bench: Bench) -> None:
    keys = {**TINY, "flash.channels": 4, "redundancy.scheme": "raid5"}
    workload = "synth:random,requests=20,write=0,size=4KiB,rate=2k"
    fails = ("--fail", "channel:1@50%", "--fail", "channel:0@60%,transient")
    _, summary = bench.run("", workload, keys, "--existing", "all", *fails)
    reads = [phase["operations"]["read"]["host"] for phase in summary["phases"]]
    assert summary["operations"]["read"]["host"] == sum(reads)


def test_losses_are_of_the_phase_that_the_event_begins(bench: Bench) -> None:
    keys = {**TINY, "flash.channels": 2, "redundancy.scheme": "mirror"}
    fails = ("--fail", "channel:0@1s", "--fail", "channel:1@2s")
    done, summary = bench.run("", "readback-counted.csv", keys, *fails, "--existing", "all")
    assert (done.code, summary["integrity"]["lost_pages"]) == (3, 86)
    lost = {phase["event"]: phase["lost_pages"] for phase in summary["phases"]}
    assert lost == {None: 0, "channel:0@1s": 0, "channel:1@2s": 86}
    assert all(phase["phase"] != "after" for phase in summary["phases"])


def test_erases_before_time_0_are_in_neither_total(bench: Bench) -> None:
    keys = {
        "flash.channels": 1, "flash.chips_per_channel": 8, "flash.planes_per_die": 1, "flash.blocks_per_plane": 32,
        "flash.pages_per_block": 6, "flash.page_kib": 2, "ftl.over_provisioning": 0.8, "redundancy.scheme": "ppc",
        "redundancy.across": "chip", "ftl.streams": 3, "ftl.gc.victim": "cost-benefit",
    }  # fmt: skip
    workload = "synth:sequential,requests=2000,size=8192,write=0,depth=16"
    _, summary = bench.run("", workload, keys, "--seed", 754)
    assert summary["wear"]["erases_total"] == sum(summary["operations"]["erase"].values())


def test_no_die_is_busy_for_more_than_all_of_the_time(bench: Bench) -> None:
    workload = "synth:random,requests=2000,write=0.5,size=4KiB,rate=50k"
    keys = {"host.queue_depth": 1, "host.late_requests": "from-arrival"}
    _, summary = bench.run(SMALL, workload, keys, "--warmup", "90%")
    assert summary["utilization"]["die_max"] <= 1


def operations_in(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_summary_pages_are_among_the_operations(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "operations.csv"
    workload = "synth:random,requests=500,write=1,size=4KiB,rate=2k"
    _, summary = bench(SMALL, workload, "--operations", file, flash__summary_page="true")
    written = sum((row["kind"], row["cause"]) == ("program", "metadata") for row in operations_in(file))
    assert summary["operations"]["program"]["metadata"] == written > 0


def test_times_in_another_unit_bring_a_warning(flashkeep: Command, tmp_path: Path) -> None:
    """A trace in SSDSim's format, which has ns, whose times are in µs: a request each 2.6 ms looks like 385,000/s."""
    rng = random.Random(1)
    rows = [f"{at * 2600} 0 {rng.randrange(1 << 20) * 8} {rng.choice((8, 16))} {at % 2}\n" for at in range(2000)]
    trace = tmp_path / "in-us.ssdsim"
    trace.write_text("".join(rows))
    info = flashkeep.json("trace", "info", trace, "--format", "ssdsim")
    assert any(re.search(r"\bunit|µs|\bns\b", warning) for warning in info["warnings"])
    assert "if these are µs, --time-scale 1000 makes them 384 a second" in info["warnings"][0]
    for options, notes in (((), 1), (("--time-scale", 1000), 0)):
        run = flashkeep.json("run", "2CM-128", trace, "--wrap", *options)
        assert sum("the unit of time looks wrong" in warning for warning in run["warnings"]) == notes


def test_sizes_in_another_unit_bring_a_warning(flashkeep: Command, tmp_path: Path) -> None:
    """A trace in DiskSim's format whose places and sizes are in bytes where sectors are meant."""
    rng = random.Random(1)
    rows = [f"{at / 2:.3f} 0 {rng.randrange(1 << 24) * 512} {rng.choice((4096, 8192))} {at % 2}" for at in range(500)]
    trace = tmp_path / "in-bytes.disksim"
    trace.write_text("".join(row + "\n" for row in rows))
    info = flashkeep.json("trace", "info", trace, "--format", "disksim")
    assert any(re.search(r"sector|byte", warning) for warning in info["warnings"])
    assert "they may be bytes: --sector-bytes 1 (mean request 6.0 KiB" in info["warnings"][0]
    assert flashkeep.json("trace", "info", trace, "--sector-bytes", 1)["warnings"] == []


def test_two_units_in_rounds_are_not_slower_than_one_while_they_collect(bench: Bench) -> None:
    keys: dict[str, Any] = {"flash.blocks_per_plane": 128, "ftl.gc.threshold": 7 / 128}
    workload = "synth:random,requests=200k,write=0.7,size=4KiB,rate=4k,footprint=1028MiB"
    means = {}
    for unit in ("chip", "die"):
        keys["flash.busy_unit"] = unit
        _, summary = bench.run('base = "atc08-rounds"\n', workload, keys, "--existing", "all")
        assert summary["operations"]["erase"]["gc"] > 0
        means[unit] = summary["response_us"]["read"]["mean"]
    assert means["die"] <= means["chip"]


def test_no_document_says_that_asynchronous_gangs_of_the_extension_read_before_they_write() -> None:
    assert "(the extension: reads, then writes)" not in (ROOT / "docs" / "atc08.md").read_text()


def test_raid6_over_block_maps_loses_nothing_when_one_member_is_replaced_at_once(bench: Bench) -> None:
    (bench.folder / "member.toml").write_text(
        'flash.channels = 2\nflash.chips_per_channel = 1\nflash.blocks_per_plane = 32\nftl.map = "block"\n'
    )
    array = 'members = ["4 * ./member.toml"]\nredundancy.scheme = "raid6"\n'
    workload = "synth:sequential,requests=150,size=2048,write=1,footprint=256KiB,depth=4"
    done, summary = bench(array, workload, "--fail", "member:1@85%,replace_after=0s", "--verify")
    assert summary["integrity"]["lost_pages"] == 0
    assert done.code == 0


def test_two_power_cuts_around_the_failure_of_a_die_leave_no_wrong_read(bench: Bench) -> None:
    keys = {
        "flash.channels": 4, "flash.chips_per_channel": 1, "flash.dies_per_chip": 2, "flash.blocks_per_plane": 12,
        "ftl.over_provisioning": 0.5, "ftl.allocation": "C",
    }  # fmt: skip
    workload = "synth:random,requests=269,size=2048,write=0.7,footprint=64KiB,depth=4"
    fails = ("--fail", "die:2.0.1@13152us", "--fail", "power@14073us", "--fail", "power@1205us")
    _, summary = bench.run("", workload, keys, *fails, "--seed", 854, "--verify")
    assert summary["integrity"]["wrong_reads"] == 0


def test_a_power_cut_after_the_failure_of_a_die_brings_back_no_old_version(bench: Bench) -> None:
    keys = {
        "flash.channels": 1, "flash.chips_per_channel": 2, "flash.dies_per_chip": 2, "flash.planes_per_die": 1,
        "flash.blocks_per_plane": 24, "flash.pages_per_block": 4, "ftl.over_provisioning": 0.5, "host.queue_depth": 4,
    }  # fmt: skip
    workload = "synth:random,requests=140,size=1024,write=0.3,depth=16"
    fails = ("--fail", "die:0.0.1@21req", "--fail", "power@20%")
    _, summary = bench.run("", workload, keys, *fails, "--existing", "all", "--verify")
    assert summary["integrity"]["wrong_reads"] == 0


def test_after_a_power_cut_pages_of_a_channel_that_was_replaced_are_lost_and_not_wrong(bench: Bench) -> None:
    keys = {
        "flash.channels": 1, "flash.chips_per_channel": 3, "flash.blocks_per_plane": 16, "flash.pages_per_block": 4,
    }  # fmt: skip
    workload = "synth:zipf,requests=133,size=2048,write=0.3,theta=0.5,rate=2k"
    fails = ("--fail", "power@37%", "--fail", "channel:0@39req,replace_after=1ms")
    _, summary = bench.run("", workload, keys, *fails, "--seed", 970, "--verify")
    assert summary["integrity"]["wrong_reads"] == 0


def test_trims_while_a_plane_of_spd_raid4_is_rebuilt_leave_no_wrong_read(bench: Bench) -> None:
    (bench.folder / "member.toml").write_text(
        "flash.channels = 2\nflash.chips_per_channel = 1\nflash.blocks_per_plane = 16\nflash.pages_per_block = 16\n"
        "flash.page_kib = 8\nftl.over_provisioning = 1.0\nftl.streams = 3\nflash.scheduler = 'fifo'\n"
        "host.queue_depth = 32\n"
    )
    array = 'members = ["5 * ./member.toml"]\nredundancy.scheme = "spd-raid4"\n'
    fail = "member:0/plane:0.0.0.0@18req,replace_after=1s"
    options = ("--wrap", "--verify", "--time-scale", 0.001, "--fail", fail)
    _, summary = bench(array, "trims-spd-raid4.csv", *options)
    assert summary["integrity"]["wrong_reads"] == 0


def test_a_power_loss_of_a_drive_that_wears_out_leaves_nothing_under_way(bench: Bench) -> None:
    keys = {
        "flash.channels": 4, "flash.chips_per_channel": 1, "flash.planes_per_die": 1, "flash.blocks_per_plane": 16,
        "flash.pages_per_block": 8, "redundancy.scheme": "raid6", "ftl.wear.erase_budget": 3,
    }  # fmt: skip
    workload = "synth:random,requests=124,size=4096:0.7/32768:0.3,write=1,depth=1"
    done, _ = bench.run("", workload, keys, "--fail", "power@7872us")
    ended_well(done)


def test_a_channel_of_a_member_behind_a_link_that_forgets_leaves_nothing_under_way(bench: Bench) -> None:
    (bench.folder / "member.toml").write_text(
        "flash.channels = 4\nflash.chips_per_channel = 1\nflash.planes_per_die = 4\nflash.blocks_per_plane = 16\n"
        'ftl.over_provisioning = 0.5\nredundancy.scheme = "ppc"\nftl.map_memory = "mram"\nhost.link_us_per_sector = 2\n'
    )
    array = 'members = ["6 * ./member.toml"]\nredundancy.scheme = "raid5"\nhost.link_us_per_sector = 2\n'
    workload = "synth:sequential,requests=40,size=4KiB,write=1,rate=200k"
    fail = "member:0/member:1@37req,transient"
    done, _ = bench(array, workload, "--existing", "all", "--fail", fail)
    ended_well(done)


def test_a_saved_log_structured_drive_has_no_wrong_reads_after_failures_and_a_power_loss(bench: Bench) -> None:
    keys = {
        "flash.channels": 8, "flash.chips_per_channel": 1, "flash.planes_per_die": 1, "flash.blocks_per_plane": 32,
        "flash.pages_per_block": 6, "redundancy.scheme": "lifespan",
    }  # fmt: skip
    saved = bench.folder / "used"
    use = "synth:random,requests=300,write=0.8,size=4KiB,depth=4"
    bench.run("", use, keys, "--verify", "--untimed", "--save-aged", saved)
    fails = ["plane:1.0.0.0@3042us", "plane:3.0.0.0@28req,replace_after=1ms", "power@17401us"]
    options = [word for fail in fails for word in ("--fail", fail)]
    workload = "synth:random,requests=29,size=1024,write=0.3,footprint=64KiB,depth=16"
    _, summary = bench.run("", workload, keys, *options, "--verify", "--aged", saved)
    assert summary["integrity"]["wrong_reads"] == 0


def test_a_power_loss_with_late_requests_loses_nothing_that_was_durable(bench: Bench) -> None:
    keys = {
        "flash.channels": 5, "flash.chips_per_channel": 3, "flash.blocks_per_plane": 32,
        "redundancy.scheme": "raid6", "host.queue_depth": 4, "host.late_requests": "from-arrival",
        "start.existing": "none",
    }  # fmt: skip
    workload = "synth:sequential,requests=13,size=4096,write=0.5,footprint=64KiB,rate=2k"
    options = ("--seed", 209, "--time-scale", 0.001, "--fail", "power@12req")
    _, summary = bench.run("", workload, keys, *options)
    assert summary["integrity"]["lost_pages"] == 0


def test_a_trim_that_a_power_loss_cuts_off_may_leave_its_page(bench: Bench, tmp_path: Path) -> None:
    """The trim waits behind a write of its stripe. The parity still knows the page, which comes back with it."""
    trace = tmp_path / "trim.csv"
    rows = ("6401001,0,W,14336,6144", "6401002,0,W,30720,6144", "8402002,0,W,36864,2048", "12604002,0,W,22528,6144",
            "19099003,0,T,22528,6144", "47530009,0,R,24576,4096")  # fmt: skip
    trace.write_text("\n".join(("time_ns,device,op,offset_B,size_B", *rows, "")))
    keys = {
        "flash.channels": 1, "flash.chips_per_channel": 4, "flash.blocks_per_plane": 32, "redundancy.scheme": "raid5",
        "redundancy.across": "chip", "flash.timing.program_us": "[200, 900]",
    }  # fmt: skip
    options = ("--existing", "none", "--time-scale", 0.1, "--fail", "power@3419us", "--verify")
    _, summary = bench.run("", str(trace), keys, *options)
    assert (summary["integrity"]["wrong_reads"], summary["integrity"]["lost_pages"]) == (0, 0)


def test_a_second_power_loss_of_members_with_dram_loses_only_what_was_volatile(bench: Bench) -> None:
    """After the first power loss, members' write caches take pages that the second one costs: they were not durable."""
    (bench.folder / "member.toml").write_text(
        "flash.channels = 1\nflash.chips_per_channel = 3\nflash.planes_per_die = 1\nflash.blocks_per_plane = 12\n"
        "flash.pages_per_block = 16\nflash.page_kib = 8\nftl.over_provisioning = 0.25\nbuffer.dram_mib = 0.125\n"
    )
    array = 'members = ["5 * ./member.toml"]\nredundancy.scheme = "raid6"\n'
    fails = ("--fail", "power@19req", "--fail", "power@88%")
    options = ("--wrap", "--replay", "closed", "--depth", 16, "--verify")
    done, summary = bench(array, "two-power-losses.csv", *options, *fails)
    integrity = summary["integrity"]
    assert (done.code, integrity["lost_pages"], integrity["wrong_reads"]) == (0, 0, 0)
    assert integrity["volatile_pages_lost"] > 0


def test_what_a_power_loss_interrupts_is_busy_until_then(bench: Bench) -> None:
    """A lone die programs page after page until the power fails; then it reads what it has programmed."""
    keys = {
        "flash.channels": 1, "flash.chips_per_channel": 1, "flash.planes_per_die": 1, "flash.blocks_per_plane": 16,
        "flash.pages_per_block": 8, "ftl.over_provisioning": 0.5,
    }  # fmt: skip
    load = "synth:random,requests=20,write=1,size=4KiB,depth=4"
    _, summary = bench.run("", load, keys, "--existing", "none", "--fail", "power@1ms")
    before, recovering, *after = summary["phases"]
    assert (before["until_s"], recovering["from_s"]) == (0.001, 0.001)
    end = after[-1]["until_s"] if after else recovering["until_s"]
    assert 0.99 * end < summary["utilization"]["die_max"] * end <= end


@pytest.mark.parametrize("map", ["page", "hybrid", "block"])
def test_wear_has_the_erases_that_operations_counts(bench: Bench, map: str) -> None:
    """Pages that exist at first touch make room in a small drive by erases that are not counted."""
    keys = {**TINY, "flash.channels": 1, "ftl.map": map, "flash.blocks_per_plane": 32}
    load = "synth:random,requests=600,write=0.5,size=4KiB,depth=2"
    for options in ((), ("--condition",), ("--fail", "block:0.0.0.0.3@50%")):
        _, summary = bench.run("", load, keys, *options)
        assert summary["wear"]["erases_total"] == sum(summary["operations"]["erase"].values()) > 0


@pytest.mark.parametrize(("seed", "keys", "load", "options"), [
    (801, {"flash.channels": 4, "flash.dies_per_chip": 2, "redundancy.across": "chip", "ftl.wear.erase_budget": 3},
     "write=0.5,size=512,rate=20k", ("--existing", "none", "--fail", "power@90%")),
    (361, {"flash.channels": 2, "flash.chips_per_channel": 4, "flash.dies_per_chip": 2, "flash.planes_per_die": 2,
           "redundancy.across": "die", "ftl.wear.erase_budget": 5},
     "write=1,size=512,depth=16", ("--existing", "none", "--condition", "--fail", "power@4%")),
])  # fmt: skip
def test_idle_collection_of_a_worn_drive_that_lost_power_does_not_stall(
    bench: Bench, seed: int, keys: dict[str, Any], load: str, options: tuple[str, ...]
) -> None:
    """A victim that was found in idle time, and for whose pages there was no room, is not kept."""
    keys = {
        "flash.chips_per_channel": 1, "flash.planes_per_die": 1, "flash.blocks_per_plane": 16,
        "flash.pages_per_block": 4, "ftl.over_provisioning": 0.8, "ftl.gc.soft_threshold": 0.9,
        "redundancy.scheme": "mirror", "flash.control_gang": 2, **keys,
    }  # fmt: skip
    done, _ = bench.run("", f"synth:random,requests=2000,{load}", keys, "--seed", seed, *options)
    ended_well(done)


def test_maps_of_a_replaced_member_count_on(bench: Bench) -> None:
    """As many lookups as without the replacement, and those of the rebuild."""
    member = f"{SMALL}ftl.map = 'dftl'\nftl.cache_kib = 1\n".replace("'", '"')
    (bench.folder / "member.toml").write_text(member)
    array = 'members = ["2 * ./member.toml"]\nredundancy.scheme = "mirror"\n'
    load = "synth:random,requests=2000,write=0.5,size=4KiB,rate=500"
    counts = []
    for fails in ((), ("--fail", "member:1@90%,replace_after=1us")):
        done, summary = bench(array, load, "--warmup", "50%", "--existing", "all", *fails)
        assert done.code == 0
        counts.append(summary["mapping"]["hits"] + summary["mapping"]["misses"])
    assert counts[1] > counts[0]


def test_a_power_loss_costs_nothing_of_what_timers_that_conditioning_left_have_written(bench: Bench) -> None:
    """The log of Griffin migrates while the drive is conditioned, with the clock at 60 s."""
    (bench.folder / "disk.toml").write_text("disk.capacity_gb = 0.05\n")
    (bench.folder / "member.toml").write_text(SMALL)
    array = 'members = ["./member.toml", "./disk.toml"]\nredundancy.scheme = "griffin"\n'
    file = bench.folder / "operations.csv"
    load = "synth:random,requests=100,write=0,size=4KiB,rate=1k"
    done, summary = bench(array, load, "--condition", "--fail", "power@50%", "--operations", file)
    assert (done.code, summary["integrity"]["lost_pages"]) == (0, 0)
    rows = operations_in(file)
    assert sum(row["cause"] == "host" for row in rows) == 100
    assert all(row["cause"] in {"host", "metadata"} and int(row["end_ns"]) < 10**9 for row in rows)


@pytest.mark.parametrize("cut", [44, 70, 94])
def test_slots_of_a_log_are_used_again_when_the_versions_behind_them_are_durable(bench: Bench, cut: int) -> None:
    """The log goes round while writes wait at the disk. The list of entries had only the last writes of the slots."""
    (bench.folder / "disk.toml").write_text("disk.capacity_gb = 0.01\n")
    keys = {"channels": 2, "chips_per_channel": 1, "dies_per_chip": 2, "planes_per_die": 1, "blocks_per_plane": 12,
            "pages_per_block": 6, "page_kib": 2}  # fmt: skip
    member = [*(f"flash.{key} = {value}" for key, value in keys.items()), "ftl.over_provisioning = 0.5"]
    (bench.folder / "member.toml").write_text("\n".join(member))
    array = 'members = ["./member.toml", "./disk.toml"]\nredundancy.scheme = "griffin"\n'
    load = "synth:zipf,requests=2000,size=8192,write=1,footprint=64KiB,theta=0.5,rate=2k"
    options = ("--time-scale", "0.1", "--existing", "all", "--verify", "--seed", 556, "--fail", f"power@{cut}%")
    done, summary = bench(array, load, *options)
    assert (done.code, summary["integrity"]["wrong_reads"], summary["integrity"]["lost_pages"]) == (0, 0, 0)


def test_reads_behind_cache_programs_take_their_time_when_the_clock_goes_back(bench: Bench) -> None:
    """An event of a die that a program had left ended its next read at once, if a late request set it again."""
    file = bench.folder / "operations.csv"
    keys = {
        "flash.channels": 2, "flash.chips_per_channel": 1, "flash.planes_per_die": 1, "flash.blocks_per_plane": 32,
        "flash.pages_per_block": 8, "ftl.over_provisioning": 0.5, "flash.commands.cache_program": "true",
        "host.queue_depth": 4,
    }  # fmt: skip
    load = "synth:random,requests=2000,size=4096,write=0.3,footprint=64KiB,rate=200k"
    shortest = set()
    for late in ("from-admission", "from-arrival"):
        keys["host.late_requests"] = late
        _, summary = bench.run("", load, keys, "--existing", "all", "--operations", file)
        assert summary["utilization"]["die_max"] <= 1
        reads = [each.end - each.start for each in operations.read(file) if each.kind == "read"]
        shortest.add(min(reads))
    assert len(shortest) == 1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_griffin_has_migrated_is_not_only_in_the_dram_of_its_drive(bench: Bench, seed: int) -> None:
    """The first power loss finds pages in the log; when the second one comes, the log has been freed."""
    (bench.folder / "disk.toml").write_text("disk.capacity_gb = 0.05\n")
    (bench.folder / "member.toml").write_text(f"{SMALL}buffer.dram_mib = 0.125\n")
    array = (
        'members = ["./member.toml", "./disk.toml"]\nredundancy.scheme = "griffin"\nredundancy.migrate_after_s = 1\n'
    )
    load = "synth:random,requests=300,write=1,size=4KiB,rate=100"
    cuts = ("--fail", "power@30%", "--fail", "power@85%")
    done, summary = bench(array, load, "--existing", "all", "--verify", "--seed", seed, *cuts)
    found = summary["integrity"]
    assert (done.code, found["wrong_reads"], found["lost_pages"], found["volatile_pages_lost"]) == (0, 0, 0, 0)
    assert summary["operations"]["program"]["migrate"] > 0


@pytest.mark.parametrize("keys", [
    {}, {"flash.channels": 3, "redundancy.scheme": "dvs"}, {"flash.blocks_per_plane": 16, "ftl.wear.erase_budget": 60},
])  # fmt: skip
def test_the_file_of_operations_begins_at_time_0(bench: Bench, keys: dict[str, Any]) -> None:
    """What conditioning did is neither in the summary nor in the file."""
    file = bench.folder / "operations.csv"
    load = "synth:random,requests=300,write=0.5,size=4KiB,rate=2k"
    _, summary = bench.run(SMALL, load, keys, "--condition", "--operations", file)
    counted = {(kind, cause): n for kind, by in summary["operations"].items() if isinstance(by, dict)
               for cause, n in by.items() if n}  # fmt: skip
    rows = [(row["kind"], row["cause"]) for row in operations_in(file)]
    assert {row: rows.count(row) for row in set(rows)} == counted


@pytest.mark.parametrize("keys", [
    {"flash.channels": 6, "flash.blocks_per_plane": 12, "flash.pages_per_block": 4, "redundancy.scheme": "mirror"},
    {"flash.chips_per_channel": 3, "flash.blocks_per_plane": 12, "flash.pages_per_block": 6, "ftl.gc.copyback": "on"},
])  # fmt: skip
def test_collections_that_a_saved_drive_begins_with_are_counted(bench: Bench, keys: dict[str, Any]) -> None:
    """Work that a drive begins at time 0, before the first request, is in `operations` as in the file and `wear`."""
    keys = {"flash.channels": 1, "flash.chips_per_channel": 1, "flash.planes_per_die": 1,
            "ftl.over_provisioning": 0.5, **keys}  # fmt: skip
    saved, file = bench.folder / "used", bench.folder / "operations.csv"
    use = "synth:random,requests=300,write=0.8,size=4KiB,depth=4"
    bench.run("", use, keys, "--seed", 487, "--untimed", "--save-aged", saved)
    load = "synth:sequential,requests=1,size=1024,write=0.3,footprint=256KiB,rate=20k"
    _, summary = bench.run("", load, keys, "--seed", 487, "--operations", file, "--aged", saved)
    erases = sum(summary["operations"]["erase"].values())
    assert erases > 0
    assert erases == summary["wear"]["erases_total"] == sum(",erase," in line for line in file.read_text().splitlines())


def test_pages_that_are_unprotected_while_a_drive_recovers_before_its_first_request_are_of_a_phase(
    bench: Bench,
) -> None:
    keys = {
        "flash.channels": 6, "flash.chips_per_channel": 2, "flash.blocks_per_plane": 16, "ftl.over_provisioning": 0.5,
        "redundancy.scheme": "lifespan",
    }  # fmt: skip
    load = "synth:random,requests=1,size=512,write=0"
    _, summary = bench.run("", load, keys, "--existing", "all", "--fail", "power@0req")
    parts = sum(phase["unprotected_page_s"] for phase in summary["phases"])
    assert parts == pytest.approx(summary["integrity"]["unprotected_page_s"])
    assert parts > 0


def test_schemes_that_survive_nothing_have_no_unprotected_pages_in_their_phases(bench: Bench) -> None:
    (bench.folder / "disk.toml").write_text("disk.capacity_gb = 0.02\n")
    (bench.folder / "member.toml").write_text(SMALL)
    array = 'members = ["./member.toml", "./disk.toml"]\nredundancy.scheme = "griffin"\n'
    load = "synth:random,requests=200,write=0.7,size=4KiB,rate=2k"
    _, summary = bench(array, load, "--fail", "member:0/page:0.0.0.0.0.1@50%")
    assert summary["integrity"]["unprotected_page_s"] is None
    assert {phase["unprotected_page_s"] for phase in summary["phases"]} == {0}


@pytest.mark.parametrize("seed", range(10, 14))
def test_the_check_of_all_pages_after_a_power_loss_changes_nothing_on_flash(bench: Bench, seed: int) -> None:
    """With seed 12 it erased a block without an operation, to rewrite what a torn page had held."""
    file = bench.folder / "operations.csv"
    keys = {
        "flash.channels": 1, "flash.chips_per_channel": 5, "flash.blocks_per_plane": 32, "flash.pages_per_block": 4,
        "ftl.over_provisioning": 0.8, "ftl.map": "block", "redundancy.scheme": "raid6", "redundancy.across": "chip",
    }  # fmt: skip
    load = "synth:random,requests=400,write=0.8,size=4KiB,rate=2k"
    options = ("--existing", "none", "--verify", "--fail", f"power@{5 + seed}req", "--seed", seed)
    done, summary = bench.run("", load, keys, "--operations", file, *options)
    assert (done.code, summary["integrity"]["lost_pages"]) == (0, 0)
    assert list(operations.problems(operations.read(file), summary, {"power"})) == []


def test_pools_of_several_units_collect_the_pages_that_exist_at_time_0(bench: Bench) -> None:
    """The rule by which planes take turns gave the first page of a pool to no logical page."""
    keys = {
        "flash.channels": 4, "flash.chips_per_channel": 2, "flash.planes_per_die": 1, "flash.blocks_per_plane": 16,
        "flash.pages_per_block": 16, "ftl.pool": "gang",
    }  # fmt: skip
    done, summary = bench.run("", "pool-of-units.csv", keys, "--wrap", "--existing", "all")
    assert done.code == 0, done.err
    assert summary["operations"]["erase"]["gc"] > 0


@pytest.mark.parametrize(("keys", "load", "options"), [
    (
        {"flash.channels": 2, "flash.blocks_per_plane": 24}, "cut-in-recovery.csv",
        ("--existing", "all", "--wrap", "--warmup", 5, "--fail", "power@11898us", "--fail", "power@6req"),
    ),
    (
        {"flash.channels": 1, "flash.blocks_per_plane": 64, "flash.bus": "rounds", "buffer.dram_mib": 0.0625,
         "buffer.protected": "true"},
        "synth:sequential,requests=10,size=16KiB:0.5/4KiB:0.5,write=1,depth=1",
        ("--warmup", "10%", "--fail", "power@61%", "--fail", "power@37%"),
    ),
])  # fmt: skip
def test_dies_are_not_busy_with_what_a_power_loss_cuts_off_in_a_recovery_or_in_rounds(
    bench: Bench, keys: dict[str, Any], load: str, options: tuple[object, ...]
) -> None:
    """After the warmup, what was planned for the time after the power loss exceeded the time that had passed."""
    done, summary = bench.run("", load, {"flash.chips_per_channel": 1, **keys}, "--verify", *options)
    assert done.code == 0, done.err
    assert 0 < summary["utilization"]["die_max"] <= 1


def test_a_power_loss_tears_all_pages_of_a_word_line(bench: Bench) -> None:
    """A page whose data were to cross the channel after the power loss was clean, and was programmed again."""
    file = bench.folder / "operations.csv"
    keys = {
        "flash.channels": 5, "flash.chips_per_channel": 2, "flash.blocks_per_plane": 12, "flash.pages_per_program": 2,
        "ftl.over_provisioning": 1.0,
    }  # fmt: skip
    load = "synth:zipf,requests=26,size=4KiB,write=1,footprint=256KiB,theta=0.99,rate=20k"
    cuts = ("--fail", "power@4%", "--fail", "power@18%")
    done, summary = bench.run("", load, keys, "--existing", "none", "--verify", "--operations", file, *cuts)
    assert done.code == 0, done.err
    assert list(operations.problems(operations.read(file), summary, {"power"})) == []


def test_attempts_of_a_read_of_gc_follow_each_other_in_rounds(bench: Bench) -> None:
    """The first attempt was reported to last until the end of the last one."""
    file = bench.folder / "operations.csv"
    keys = {
        "flash.channels": 1, "flash.chips_per_channel": 1, "flash.dies_per_chip": 6, "flash.planes_per_die": 1,
        "flash.blocks_per_plane": 16, "flash.pages_per_block": 8, "flash.page_kib": 2, "flash.bus": "rounds",
        "redundancy.scheme": "lrc", "redundancy.across": "die", "errors.model": "kim", "errors.cycles": 3000,
    }  # fmt: skip
    load = "synth:random,requests=64,size=16KiB:0.5/4KiB:0.5,write=0.3,rate=200k"
    _, summary = bench.run("", load, keys, "--seed", 280, "--verify", "--operations", file)
    assert summary["operations"]["read"]["retry"] > 0
    assert list(operations.problems(operations.read(file), summary, set())) == []


def test_logs_over_members_with_dram_erase_many_superblocks_at_once(bench: Bench) -> None:
    """Each FLUSH before an erase went through all that others waited for: the run took minutes."""
    keys = {"channels": 1, "chips_per_channel": 3, "planes_per_die": 1, "blocks_per_plane": 16, "pages_per_block": 16}
    member = [*(f"flash.{key} = {value}" for key, value in keys.items()), "ftl.over_provisioning = 0.8",
              "ftl.logical_page_kib = 8", "buffer.dram_mib = 0.03125", 'buffer.flush = "none"']  # fmt: skip
    (bench.folder / "member.toml").write_text("\n".join(member))
    (bench.folder / "inner.toml").write_text('members = ["4 * ./member.toml"]\nredundancy.scheme = "raid5"\n')
    array = 'members = ["4 * ./inner.toml"]\nredundancy.scheme = "lifespan"\nredundancy.extent_kib = 8\n'
    load = "synth:random,requests=2000,size=4096:0.7/32768:0.3,write=1,footprint=64KiB,rate=2k"
    done, summary = bench(array, load, "--seed", 291, "--existing", "reads")
    assert done.code == 0, done.err
    assert summary["operations"]["erase"]["gc"] > 0


def test_a_power_loss_without_any_of_many_members_is_recovered_from_in_time(bench: Bench) -> None:
    """All sets of missing units were gone through, and most of them exceeded the parities."""
    scheme = ROOT / "examples" / "schemes" / "raid5.py"
    keys = {
        "flash.channels": 1, "flash.chips_per_channel": 3, "flash.dies_per_chip": 8, "flash.blocks_per_plane": 24,
        "redundancy.scheme": "python", "redundancy.file": scheme, "redundancy.across": "die",
    }  # fmt: skip
    load = "synth:random,requests=21,size=4KiB,write=1,depth=16"
    done, summary = bench.run("", load, keys, "--verify", "--fail", "channel:0@70%", "--fail", "power@72%")
    assert done.code == 3, done.err
    assert summary["integrity"]["wrong_reads"] == 0
