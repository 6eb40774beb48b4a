"""A drive whose blocks wear out: the command's output about its life, and its exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Command

DRIVE = """\
[flash]
channels = 1
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 64
pages_per_block = 16
page_kib = 4

[ftl]
over_provisioning = 0.2
wear.erase_budget = 40

[start]
existing = "all"
"""


@pytest.fixture
def worn(tmp_path: Path) -> Path:
    path = tmp_path / "worn.toml"
    path.write_text(DRIVE)
    return path


def test_the_end_of_a_drive_is_exit_code_3(flashkeep: Command, worn: Path) -> None:
    to_the_end = "synth:random,requests=200k,write=1,size=4KiB,depth=4"
    code, out, err = flashkeep("run", worn, to_the_end, "--json")
    assert (code, err) == (3, "")
    found = json.loads(out)
    assert found["workload"]["requests"] < 200_000
    assert 0 < found["wear"]["first_block_dead_s"] < found["wear"]["first_loss_s"]
    code, out, _ = flashkeep("run", worn, to_the_end)
    assert code == 3
    assert "the drive has reached the end of its life" in out


def test_a_short_life_is_extrapolated(flashkeep: Command, worn: Path) -> None:
    some = "synth:random,requests=2000,write=1,size=4KiB,depth=4"
    wear = flashkeep.json("run", worn, some)["wear"]
    assert wear["expired_blocks"] == 0 < wear["tbw_first_block"] < wear["tbw"]
    years = flashkeep.json("run", worn, some, "--set", "ftl.wear.warranty_years=10")["wear"]
    assert years["dwpd"] == pytest.approx(wear["dwpd"] / 2)
    code, out, _ = flashkeep("run", worn, some)
    assert code == 0
    assert "drive writes a day" in out
    longer = flashkeep.json("run", worn, some, "--set", "ftl.wear.erase_budget=1000")["wear"]
    assert longer["lifetime_days"] == pytest.approx(25 * wear["lifetime_days"])


def test_leveling_without_a_budget_follows_the_mean(flashkeep: Command, worn: Path) -> None:
    plain = worn.with_name("unlimited.toml")
    lines = [line for line in worn.read_text().splitlines() if "erase_budget" not in line]
    plain.write_text("\n".join(lines))
    hot = "synth:random,requests=40k,write=1,size=4KiB,footprint=512KiB"
    spread = {}
    for policy in ("none", "migration", "rate-limit", "both"):
        options = ("--untimed", "--existing", "all", "--verify", "--set", f"ftl.wear.levelling={policy}")
        spread[policy] = flashkeep.json("run", plain, hot, *options)["wear"]["erases_stddev"]
    assert spread["migration"] < 0.8 * spread["none"], spread
    assert spread["both"] < 0.8 * spread["none"], spread


def test_mirrored_drives_come_to_their_ends_together(flashkeep: Command, worn: Path) -> None:
    pair = worn.with_name("pair.toml")
    pair.write_text('members = ["2 * ./worn.toml"]\nredundancy.scheme = "mirror"\nstart.existing = "all"\n')
    writes = "synth:random,requests=60k,write=1,size=4KiB"
    fails = ("--fail", "member:0@worn", "--fail", "member:1@worn")
    code, out, err = flashkeep("run", pair, writes, "--untimed", *fails, "--json")
    assert (code, err) == (3, "")
    found = json.loads(out)["wear_out"]
    assert (found["worn_out"], found["apart_bytes"]) == (2, 0)
    assert found["lost_pages"] == json.loads(out)["capacity_bytes"] // 4096
    code, out, _ = flashkeep("run", pair, writes, "--untimed")
    assert code == 3
    assert "members at the end of their lives" in out
    assert "read-only from then on" in out
    code, _, err = flashkeep("run", worn, writes, "--fail", "channel:0@worn,transient")
    assert code == 2
    assert "`worn` is for a permanent failure of flash or of a member of an array" in err
    code, _, err = flashkeep("run", "2CM-128", writes, "--fail", "channel:0@worn")
    assert (code, "takes ftl.wear.erase_budget" in err) == (2, True)


def test_blocks_fail_when_they_are_worn(flashkeep: Command, tmp_path: Path) -> None:
    """They had been retired with their last erases, and nothing was left on them: the failures cost nothing."""
    drive = tmp_path / "drive.toml"
    drive.write_text(
        "[flash]\nchannels = 1\nchips_per_channel = 1\nplanes_per_die = 1\nblocks_per_plane = 16\n"
        "pages_per_block = 8\n[ftl]\nover_provisioning = 0.9\nwear.erase_budget = 4\n"
    )
    writes = "synth:random,requests=405,write=1,size=4KiB,rate=1k"
    fails = [word for block in range(16) for word in ("--fail", f"block:0.0.0.0.{block}@worn")]
    found = []
    for options in ([], fails):
        code, out, _ = flashkeep("run", drive, writes, *options, "--verify", "--json")
        found.append((code, json.loads(out)))
    (code, alone), (failed, summary) = found
    assert failed == code
    assert summary["integrity"]["lost_pages"] == alone["integrity"]["lost_pages"]
    assert summary["wear"]["expired_blocks"] == alone["wear"]["expired_blocks"] > 0
    begun = [phase for phase in summary["phases"] if phase["event"]]
    assert 0 < len(begun) <= summary["wear"]["expired_blocks"]


@pytest.mark.parametrize("scheme", ["none", "raid5"])
@pytest.mark.parametrize("pace", ["depth=1", "rate=30k"])
def test_a_worn_drive_that_loses_power_runs_to_its_end(
    flashkeep: Command, tmp_path: Path, scheme: str, pace: str
) -> None:
    """Planes that had neither room nor garbage waited for each other, and old versions of refused pages stayed."""
    drive = tmp_path / "drive.toml"
    drive.write_text(
        "[flash]\nchannels = 6\nchips_per_channel = 1\nplanes_per_die = 2\nblocks_per_plane = 16\n"
        "pages_per_block = 8\npage_kib = 4\n[ftl]\nover_provisioning = 0.7\nwear.erase_budget = 2\n"
        f'[redundancy]\nscheme = "{scheme}"\n[start]\nexisting = "none"\n'
    )
    writes = f"synth:random,requests=3000,write=1,size=4KiB,{pace}"
    for seed in range(3):
        code, out, err = flashkeep(
            "run", drive, writes, "--seed", str(seed), "--verify", "--fail", "power@40%", "--json"
        )
        assert (code in (0, 3), err) == (True, "")
        found = json.loads(out)
        assert found["integrity"]["wrong_reads"] == 0
        assert found["wear"]["expired_blocks"] > 0
        assert found["wear"]["first_loss_s"] is not None


@pytest.mark.parametrize("untimed", [False, True])
def test_a_drive_that_conditioning_wears_out_says_so(flashkeep: Command, tmp_path: Path, untimed: bool) -> None:
    """Pages that the last collections had evicted waited in memory for room that did not come."""
    drive = tmp_path / "drive.toml"
    drive.write_text(
        "[flash]\nchannels = 2\nchips_per_channel = 1\ndies_per_chip = 2\nplanes_per_die = 1\n"
        "blocks_per_plane = 64\npages_per_block = 4\n[ftl]\nover_provisioning = 0.5\nstreams = 2\n"
        "wear.erase_budget = 3\n"
    )
    options = ["--seed", "811", "--verify", "--condition", *(["--untimed"] if untimed else [])]
    code, _, err = flashkeep("run", drive, "synth:random,requests=1,write=1,size=4KiB,depth=1", *options)
    assert (code, "the drive reached the end of its life before time 0" in err) == (2, True)
