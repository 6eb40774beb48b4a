"""`--fail` and `--scenario`: the command's output and exit code."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from conftest import Command

WORKLOAD = "synth:random,requests=2000,write=0.5,size=4KiB,rate=1k"

DRIVE = """\
[flash]
channels = 5
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 24
pages_per_block = 16
page_kib = 4

[ftl]
over_provisioning = 0.4

[start]
existing = "all"
"""

SCENARIO = """\
# A channel fails and is replaced; a page cannot be read, once.
[[event]]
what = "channel:1"
when = "40%"
replace_after = "30ms"

[[event]]
what = "page:0.0.0.0.2.3"
when = "1800req"
transient = true
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("failing") / "plain.toml"
    path.write_text(DRIVE)
    return path


@pytest.fixture(scope="module")
def raid5(plain: Path) -> Path:
    path = plain.with_name("raid5.toml")
    path.write_text(DRIVE + '\n[redundancy]\nscheme = "raid5"\n')
    return path


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    return path


def test_lost_pages_are_exit_code_3(flashkeep: Command, plain: Path) -> None:
    """Results are written for every requested failure."""
    code, out, err = flashkeep("run", plain, WORKLOAD, "--fail", "channel:1@50%", "--json")
    assert (code, err) == (3, "")
    found = json.loads(out)
    assert found["integrity"]["lost_pages"] > 0
    assert found["integrity"]["unprotected_page_s"] is None, "nothing was protected to begin with"
    assert [phase["phase"] for phase in found["phases"]] == ["before", "degraded"]
    assert found["phases"][1]["lost_pages"] <= found["integrity"]["lost_pages"]
    code, out, _ = flashkeep("run", plain, WORKLOAD, "--fail", "channel:1@50%")
    assert code == 3
    assert "lost" in out


def test_with_redundancy_nothing_is_lost(flashkeep: Command, raid5: Path) -> None:
    found = flashkeep.json("run", raid5, WORKLOAD, "--fail", "channel:1@50%", "--verify")
    assert (found["integrity"]["lost_pages"], found["integrity"]["wrong_reads"]) == (0, 0)
    assert found["integrity"]["checked_reads"] > 0
    assert found["integrity"]["reconstructed_reads"] > 0
    assert found["integrity"]["unprotected_page_s"] > 0
    assert found["integrity"]["time_to_full_redundancy_s"] is None, "it was not replaced"
    assert [phase["phase"] for phase in found["phases"]] == ["before", "degraded"]
    assert found["phases"][1]["event"] == "channel:1@50%"


def test_what_is_replaced_is_rebuilt(flashkeep: Command, raid5: Path) -> None:
    found = flashkeep.json("run", raid5, WORKLOAD, "--fail", "channel:1@0.5s,replace_after=50ms")
    phases = found["phases"]
    assert [phase["phase"] for phase in phases] == ["before", "degraded", "rebuilding", "after"]
    assert phases[1]["from_s"] == pytest.approx(0.5, abs=0.001)
    assert phases[2]["from_s"] - phases[1]["from_s"] == pytest.approx(0.05)
    full = phases[3]["from_s"] - phases[1]["from_s"]
    assert found["integrity"]["time_to_full_redundancy_s"] == pytest.approx(full)
    assert phases[2]["operations"]["program"]["rebuild"] > 0
    assert phases[3]["operations"]["program"]["rebuild"] == 0
    assert sum(phase["response_us"]["all"]["count"] for phase in phases) == 2000


def test_phases_are_in_the_table(flashkeep: Command, raid5: Path) -> None:
    code, out, err = flashkeep("run", raid5, WORKLOAD, "--fail", "channel:1@0.5s,replace_after=50ms")
    assert (code, err) == (0, "")
    for words in ("before", "degraded", "rebuilding", "after"):
        assert words in out
    assert max(map(len, out.splitlines())) < 120


def test_without_failures_there_are_no_phases(flashkeep: Command, raid5: Path) -> None:
    found = flashkeep.json("run", raid5, WORKLOAD)
    assert found["phases"] == []
    assert found["integrity"]["reconstructed_reads"] == found["integrity"]["lost_pages"] == 0


def test_a_scenario_is_many_events(flashkeep: Command, raid5: Path, scenario: Path) -> None:
    from_file = flashkeep.json("run", raid5, WORKLOAD, "--scenario", scenario)
    events = ["channel:1@40%,replace_after=30ms", "page:0.0.0.0.2.3@1800req,transient"]
    options = flashkeep.json("run", raid5, WORKLOAD, "--fail", events[0], "--fail", events[1])
    assert from_file["digest"] == options["digest"]
    assert from_file["phases"] == options["phases"]
    told = [phase["event"] for phase in from_file["phases"] if phase["event"]]
    assert told == ["channel:1@40%", "page:0.0.0.0.2.3@1800req"]


def test_a_scenario_and_options_add_up(flashkeep: Command, plain: Path, scenario: Path) -> None:
    code, out, _ = flashkeep("run", plain, WORKLOAD, "--scenario", scenario, "--fail", "chip:4.0@20%", "--json")
    told = [phase["event"] for phase in json.loads(out)["phases"] if phase["event"]]
    assert (code, told) == (3, ["chip:4.0@20%", "channel:1@40%", "page:0.0.0.0.2.3@1800req"])


def test_what_never_happens_is_said(flashkeep: Command, raid5: Path) -> None:
    found = flashkeep.json("run", raid5, WORKLOAD, "--fail", "channel:1@3000req", "--fail", "channel:2@1000s")
    for event in ("channel:1@3000req", "channel:2@1000s"):
        assert f"--fail {event}: the run ended before it happened" in found["warnings"]
    assert found["integrity"]["lost_pages"] == 0


def test_drives_are_compared_under_the_same_failure(flashkeep: Command, plain: Path) -> None:
    code, out, err = flashkeep(
        "compare", WORKLOAD, plain, f"{plain},redundancy.scheme=raid5", "--fail", "channel:1@50%", "--json"
    )
    assert (code, err) == (3, ""), "the first of them lost pages"
    lost, kept = (run["integrity"]["lost_pages"] for run in json.loads(out)["runs"])
    assert lost > 0
    assert kept == 0


def test_a_share_needs_a_length(flashkeep: Command, raid5: Path, trace: Path) -> None:
    piped = trace.read_text()
    code, out, err = flashkeep("run", raid5, "-", "--fail", "channel:1@50%", stdin=piped)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "channel:1@50%" in err
    assert flashkeep("run", raid5, "-", "--fail", "channel:1@200req", stdin=piped).code == 0


@pytest.mark.parametrize("map_", ["page", "block", "hybrid"])
@pytest.mark.parametrize("scheme", ["raid5", "raid6"])
def test_first_writes_that_only_the_parity_has(flashkeep: Command, tmp_path: Path, map_: str, scheme: str) -> None:
    """A cut leaves the parity of a first write, and no data page: reads bring what the parity says."""
    drive = tmp_path / "drive.toml"
    drive.write_text(
        f"[flash]\nchannels = {3 if scheme == 'raid5' else 4}\nchips_per_channel = 1\nblocks_per_plane = 16\n"
        f'pages_per_block = 8\npage_kib = 4\n[ftl]\nover_provisioning = 0.7\nmap = "{map_}"\n'
        f'[redundancy]\nscheme = "{scheme}"\n[start]\nexisting = "none"\n'
    )
    some = "synth:random,requests=40,write=0.6,size=4KiB,align=4096,rate=30k,footprint=128KiB"
    for seed in range(10, 40):
        found = flashkeep.json("run", drive, some, "--seed", str(seed), "--verify", "--fail", "power@50%")
        assert found["integrity"]["wrong_reads"] == found["integrity"]["lost_pages"] == 0


@pytest.mark.parametrize("set_", [["redundancy.scheme=fra"], ["redundancy.scheme=raid5", "redundancy.incomplete=wait"]])
def test_idle_work_before_time_0_is_over_when_the_power_fails(
    flashkeep: Command, tmp_path: Path, set_: list[str]
) -> None:
    """Conditioning ends with idle work at 10 ms. The power fails at 6 ms of the run: what was written is there."""
    drive = tmp_path / "drive.toml"
    drive.write_text(
        "[flash]\nchannels = 4\nchips_per_channel = 1\nplanes_per_die = 4\nblocks_per_plane = 24\n"
        "pages_per_block = 16\npage_kib = 2\n[ftl]\nover_provisioning = 0.5\n[redundancy]\nidle_ms = 10\n"
    )
    keys = [word for pair in set_ for word in ("--set", pair)]
    some = "synth:random,requests=40,write=0.8,size=4KiB"
    options = ["--verify", "--condition", "--fail", "power@6ms"]
    for seed in (1, 5, 6, 8):
        found = flashkeep.json("run", drive, some, *keys, "--seed", str(seed), *options)["integrity"]
        assert found["wrong_reads"] == found["lost_pages"] == 0
        assert found["recovery_erases"] <= 16 // 4, "of the blocks that GC erases during the run"


def test_unprotected_time_adds_up_if_the_clock_goes_back(flashkeep: Command, tmp_path: Path) -> None:
    """Requests that are served from their arrival on: a phase that begins later has counted that time already."""
    drive = tmp_path / "drive.toml"
    drive.write_text(
        "[flash]\nchannels = 4\nchips_per_channel = 2\nplanes_per_die = 2\nblocks_per_plane = 32\npages_per_block = 6\n"
        'page_kib = 2\n[ftl]\nover_provisioning = 0.25\ngc.run = "hold-channel"\n[redundancy]\nscheme = "dvs"\n'
        '[host]\nqueue_depth = 4\nlate_requests = "from-arrival"\n'
    )
    some = "synth:random,requests=300,size=2048:0.7/16384:0.3,write=0.7,footprint=64KiB,rate=20k"
    fails = ["--fail", "member:0@18370us", "--fail", "block:0.1.0.1.0@61%"]
    for seed in (147, 148, 149):
        code, out, _ = flashkeep("run", drive, some, "--seed", str(seed), "--json", *fails)
        assert code in (0, 3)
        found = json.loads(out)
        parts = [phase["unprotected_page_s"] for phase in found["phases"]]
        assert min(parts) >= 0
        assert sum(parts) == pytest.approx(found["integrity"]["unprotected_page_s"])


def test_a_die_of_a_block_pool_fails(flashkeep: Command, raid5: Path) -> None:
    """With `ftl.pool` the blocks of the die fail: the pool is rebuilt in its other die, and goes on."""
    pool = ("--set", "flash.dies_per_chip=2", "--set", "flash.blocks_per_plane=12", "--set", "ftl.pool=element")
    fail = ("--fail", "die:1.0.1@50%,replace_after=100ms")
    found = flashkeep.json("run", raid5, WORKLOAD, *pool, *fail, "--verify")
    assert (found["integrity"]["lost_pages"], found["integrity"]["wrong_reads"]) == (0, 0)
    assert found["integrity"]["reconstructed_reads"] > 0
    phases = [phase["phase"] for phase in found["phases"]]
    assert (phases[:2], phases[-1]) == (["before", "rebuilding"], "after")


def test_a_log_that_holds_a_page_twice_is_kept(flashkeep: Command, tmp_path: Path) -> None:
    """A log block holds the same contents of page 11 twice, and nothing else that counts. The power fails."""
    drive, trace = tmp_path / "drive.toml", tmp_path / "trace.csv"
    drive.write_text(
        "[flash]\nchannels = 4\nchips_per_channel = 3\ndies_per_chip = 1\nplanes_per_die = 1\nblocks_per_plane = 64\n"
        "pages_per_block = 8\npage_kib = 2\n"
        '[ftl]\nover_provisioning = 1.0\nlogical_page_kib = 4\nmap = "hybrid"\n'
    )
    trace.write_text(
        "time_ns,device,op,offset_B,size_B\n0,0,R,26112,512\n30000,0,W,28160,16384\n33003,0,W,11776,10752\n"
        "33003,0,W,28672,1536\n63003,0,W,7680,16896\n64003,0,W,21504,512\n20295004,0,W,23552,1024\n"
        "20295004,0,W,22016,512\n22295004,0,R,7680,4096\n"
    )
    found = flashkeep.json("run", drive, trace, "--verify", "--fail", "power@8req")["integrity"]
    assert found["wrong_reads"] == found["lost_pages"] == 0


def test_idle_collection_ends_with_its_die(flashkeep: Command, tmp_path: Path) -> None:
    """A die fails while its chip has read a page of it for a collection in idle time: the page is not transferred."""
    drive, operations = tmp_path / "drive.toml", tmp_path / "operations.csv"
    drive.write_text(
        "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 2\nplanes_per_die = 1\nblocks_per_plane = 64\n"
        'pages_per_block = 8\npage_kib = 2\nbusy_unit = "chip"\n'
        '[ftl]\nover_provisioning = 0.5\nmap_memory = "pcm"\npool = "element"\n'
        'gc.copyback = "parity"\ngc.soft_threshold = 0.6\n[redundancy]\nscheme = "mirror"\nacross = "die"\n'
    )
    some = "synth:zipf,requests=2000,size=16384,write=0.5,theta=0.99,depth=1"
    options = ["--seed", "163", "--existing", "all", "--fail", "die:0.0.0@82%"]
    found = flashkeep.json("run", drive, some, *options, "--operations", operations)
    failed_at = next(phase["from_s"] for phase in found["phases"] if phase["event"]) * 1e9
    with operations.open(newline="") as file:
        of_die = [row for row in csv.DictReader(file) if row["die"] == "0"]
    reads = [float(row["end_ns"]) for row in of_die if row["kind"] == "read"]
    assert max(reads) <= failed_at + 1e5, "what was granted before may end, and no more"


def test_what_is_being_erased_holds_no_current_page(flashkeep: Command, tmp_path: Path) -> None:
    """Older versions of unreadable pages, in the only superblock that can be erased, do not keep it."""
    drive = tmp_path / "drive.toml"
    drive.write_text(
        "[flash]\nchannels = 1\nchips_per_channel = 2\ndies_per_chip = 5\nblocks_per_plane = 16\npages_per_block = 6\n"
        '[ftl]\nover_provisioning = 0.5\n[redundancy]\nscheme = "ds"\nacross = "die"\n'
    )
    some = "synth:random,requests=287,size=16KiB:0.5/4KiB:0.5,write=1,rate=2k"
    options = ["--seed", "34", "--time-scale", "0.1", "--condition", "--json", "--verify"]
    fails = ["--fail", "power@14762us", "--fail", "chip:0.1@741us,transient"]
    code, out, _ = flashkeep("run", drive, some, *options, *fails)
    assert code == 3
    assert json.loads(out)["integrity"]["wrong_reads"] == 0


@pytest.mark.parametrize("block_map", ["block", "hybrid"])
def test_pages_that_could_not_be_computed_stay_lost_over_block_maps(
    flashkeep: Command, tmp_path: Path, block_map: str
) -> None:
    """Half pages are written whose other halves a chip has lost. A power loss does not make the whole pages data."""
    drive = tmp_path / "drive.toml"
    load = "synth:random,requests=400,size=4KiB,write=0.5,rate=1k"
    fails = ["--fail", "chip:0.1@10%,transient", "--fail", "power@55%"]
    lost = []
    for name in (block_map, "page"):
        drive.write_text(
            "[flash]\nchannels = 1\nchips_per_channel = 2\ndies_per_chip = 4\nblocks_per_plane = 16\n"
            "pages_per_block = 16\npage_kib = 8\n"
            f'[ftl]\nover_provisioning = 0.5\nmap = "{name}"\n[buffer]\ndram_mib = 0.125\n'
            '[redundancy]\nscheme = "raid5"\nacross = "die"\n'
        )
        options = ["--existing", "all", "--seed", "1", "--json", "--verify"]
        code, out, _ = flashkeep("run", drive, load, *options, *fails)
        integrity = json.loads(out)["integrity"]
        assert (code, integrity["wrong_reads"]) == (3, 0)
        lost.append(integrity["lost_pages"])
    assert lost[0] == lost[1], "with a block map as with a page map"


def test_i_cash_does_not_use_the_references_of_a_replaced_drive_after_a_power_loss(
    flashkeep: Command, tmp_path: Path
) -> None:
    """The replaced drive lacks them. Pages are written whole, and deltas to them are lost."""
    (tmp_path / "disk.toml").write_text("disk.capacity_gb = 0.1\n")
    (tmp_path / "ssd.toml").write_text(
        "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 4\nblocks_per_plane = 16\npages_per_block = 16\n"
    )
    array = tmp_path / "array.toml"
    array.write_text('members = ["ssd.toml", "disk.toml"]\nredundancy.scheme = "i-cash"\n')
    load = "synth:random,requests=6000,size=4KiB,write=0.5,rate=2k"
    fails = ["--fail", "member:0@40%,replace_after=1ms", "--fail", "power@70%"]
    code, out, _ = flashkeep("run", array, load, "--condition", "--seed", "1", "--json", "--verify", *fails)
    assert code == 3
    assert json.loads(out)["integrity"]["wrong_reads"] == 0


def test_slow_parts_of_a_scenario_are_those_of_the_option(flashkeep: Command, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        '[[event]]\nwhat = "slow:channel:1"\nwhen = "25%"\nfactor = 2.5\nfor = "20ms"\n'
        '[[event]]\nwhat = "stall"\nwhen = "75%"\nfor = "5ms"\n'
    )
    workload = "synth:random,requests=400,write=0.3,size=4KiB,rate=4k"
    run = ["run", "ssdsim-basic", workload, "--json"]
    options = ["--fail", "slow:channel:1@25%,factor=2.5,for=20ms", "--fail", "stall@75%,for=5ms"]
    answers = [flashkeep(*run, *more) for more in (options, ["--scenario", scenario], [])]
    assert [code for code, _, _ in answers] == [0, 0, 0]
    one, other, sound = (json.loads(out) for _, out, _ in answers)
    assert one["digest"] == other["digest"] != sound["digest"]
    assert [phase["phase"] for phase in one["phases"]] == ["before", "slow", "after", "stalled", "after"]
