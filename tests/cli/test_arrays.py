"""Arrays and disks through the command line and the package."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import flashkeep as fk
import pytest
from conftest import Command

DRIVE = """\
[flash]
channels = 2
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 32
pages_per_block = 16
page_kib = 4

[ftl]
over_provisioning = 0.5

[start]
existing = "all"
"""
BASIC = ("--set", "member.start.existing=none", "--set", "member.ageing.model=basic")
"""Members that have been written before the array has."""
ARRAY = """\
members = ["5 * ./drive.toml"]

[array]
volumes = 4

[redundancy]
scheme = "raid5"
stripe_kib = 16

[start]
existing = "all"
"""
RANDOM = "synth:random,requests=500,write=0.5,size=4KiB,depth=1"


@pytest.fixture
def array(tmp_path: Path) -> Path:
    (tmp_path / "drive.toml").write_text(DRIVE)
    path = tmp_path / "array.toml"
    path.write_text(ARRAY)
    return path


def test_an_array_of_a_file_beside_it(flashkeep: Command, array: Path) -> None:
    code, out, err = flashkeep("run", array, RANDOM, "--json", "--verify")
    assert (code, err) == (0, "")
    run = json.loads(out)
    assert len(run["members"]) == 5
    assert run["integrity"]["checked_reads"] > 200
    assert "flash" not in run["drive"]
    total = sum(member["operations"]["program"]["host"] for member in run["members"])
    assert total == run["operations"]["program"]["host"]
    again = flashkeep("run", array, RANDOM, "--json", "--verify")
    assert json.loads(again[1])["digest"] == run["digest"]


def test_a_workload_for_each_volume(flashkeep: Command, array: Path) -> None:
    code, out, _ = flashkeep("run", array, RANDOM, RANDOM, RANDOM, RANDOM, "--replay", "closed", "--json")
    assert code == 0
    assert json.loads(out)["workload"]["requests"] == 2000
    code, out, err = flashkeep("run", array, *[RANDOM] * 5)
    assert (code, out) == (2, "")
    assert "4 volumes" in err


def test_members_fail(flashkeep: Command, array: Path) -> None:
    code, out, _ = flashkeep("run", array, RANDOM, "--json", "--verify", "--fail", "member:1@50%")
    assert code == 0
    assert json.loads(out)["integrity"]["reconstructed_reads"] > 0
    both = ("--fail", "member:1@20%", "--fail", "member:2/channel:0@60%")
    code, out, _ = flashkeep("run", array, RANDOM, "--json", "--verify", *both)
    found = json.loads(out)["integrity"]
    assert (code, found["wrong_reads"]) == (3, 0)
    assert found["lost_pages"] > 0


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--fail", "member:9@1s"), "0 to 4"),
        (("--fail", "chip:0.0@1s"), "member:M"),
        (("--set", "flash.channels=4"), "belongs to the members"),
        (("--set", "redundancy.scheme=dvs", "--set", "redundancy.extent_kib=4"), "at least 2 are accepted"),
        (("--set", "members=[]"), "members"),
        (("--set", 'members=["5 * nosuch"]'), "nosuch"),
        (("--condition", *BASIC, "--existing", "reads"), "exclude each other"),
        (("--timeline-window", "1s..2s"), "needs --timeline"),
    ],
)
def test_what_makes_no_sense(flashkeep: Command, array: Path, arguments: tuple[str, ...], part: str) -> None:
    code, out, err = flashkeep("run", array, RANDOM, *arguments)
    assert (code, out) == (2, "")
    assert part in err
    assert err.count("\n") == 1


def test_an_array_of_used_drives(flashkeep: Command, array: Path) -> None:
    _, new, _ = flashkeep("run", array, RANDOM, "--json")
    code, out, err = flashkeep("run", array, RANDOM, "--json", "--verify", "--condition")
    assert (code, err) == (0, "")
    used = json.loads(out)
    assert used["conditioning"]["steady"]
    assert used["write_amplification"]["gc"] > json.loads(new)["write_amplification"]["gc"]
    keys = ("start.existing=none", "ageing.model=approach2", "ageing.aged_ratio=0.6", "ageing.valid_ratio=0.5")
    aged = tuple(word for key in keys for word in ("--set", f"member.{key}"))
    code, out, err = flashkeep("run", array, RANDOM, "--json", "--verify", "--existing", "none", *aged)
    assert (code, err) == (0, "")
    # Half of the pages of three fifths of the blocks, but for those that are kept free.
    assert 0.2 < json.loads(out)["fill"] < 0.35


def test_an_array_is_drawn_with_its_members(flashkeep: Command, array: Path) -> None:
    code, out, _ = flashkeep("check", array)
    assert code == 0
    assert "members 0 to 4" in out
    assert "any one member may fail" in out


def test_a_width_over_drives_makes_groups(flashkeep: Command, array: Path) -> None:
    members = f'members=["6 * {array.with_name("drive.toml")}"]'
    raid50 = ("--set", members, "--set", "redundancy.width=3")
    code, out, err = flashkeep("check", array, *raid50)
    assert (code, err) == (0, "")
    assert "members 0 to 1" in out
    assert "raid5 of 3" in out
    assert "any one member may fail" in out
    fails = ("--fail", "member:2@30%", "--fail", "member:3@60%")
    code, out, _ = flashkeep("run", array, RANDOM, *raid50, *fails, "--json", "--verify")
    found = json.loads(out)
    assert (code, found["integrity"]["lost_pages"], found["redundancy"]["scheme"]) == (0, 0, "raid5")
    code, _, err = flashkeep("check", array, "--set", "redundancy.width=3")
    assert code == 2
    assert "groups of 3 of 5 members: every group takes the same number, so 3 must divide 5" in err


def test_members_have_dram_and_links_of_their_own(flashkeep: Command, array: Path) -> None:
    def run(*more: str) -> dict[str, Any]:
        pairs = [argument for pair in more for argument in ("--set", f"member.{pair}")]
        code, out, _ = flashkeep("run", array, RANDOM, "--json", "--verify", *pairs)
        assert code == 0
        return dict(json.loads(out))

    plain, linked = run(), run("host.link_us_per_sector=5")
    assert "buffer" not in plain["members"][0]
    # Old data and parity come over two links at once, then the new ones go there: 40 µs each way.
    writes = [run["response_us"]["write"]["mean"] for run in (plain, linked)]
    assert writes[1] - writes[0] == pytest.approx(80, rel=0.1)
    reads = [run["response_us"]["read"]["mean"] for run in (plain, linked)]
    assert reads[1] - reads[0] == pytest.approx(40, rel=0.1)
    buffered = run("buffer.dram_mib=1", "buffer.hit_us=3")
    assert all(member["buffer"]["write_hits"] > 0 for member in buffered["members"])
    assert buffered["operations"]["program"]["host"] == 0, "all of it stays in DRAM"
    assert buffered["response_us"]["write"]["p50"] < writes[0] / 2
    code, out, _ = flashkeep("check", array, "--set", "member.buffer.dram_mib=1")
    assert (code, "1 MiB of DRAM" in out) == (0, True)


def test_a_disk(flashkeep: Command) -> None:
    reads = "synth:random,requests=1k,write=0,size=4KiB,depth=1"
    code, out, _ = flashkeep("run", "st3500630a", reads, "--json")
    assert code == 0
    run = json.loads(out)
    assert 74 < run["throughput"]["iops"] < 80
    assert run["disk"]["seeks"] > 900
    assert run["energy"]["disk_j"]["seek"] > 0


def test_arrays_in_python(array: Path) -> None:
    drive = fk.drive(array)
    assert pickle.loads(pickle.dumps(drive)) == drive
    wider = drive.replace(**{"redundancy.stripe_kib": 64})
    first, second = (fk.run(one, RANDOM).to_dict() for one in (drive, wider))
    assert first["workload"] == second["workload"]
    assert len(second["members"]) == 5
