"""Logs of stripes and maps of blocks with the policies and kinds of flash that page maps have, also after failures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Command

DRIVE = """\
[flash]
channels = 4
chips_per_channel = 2
planes_per_die = 2
blocks_per_plane = 16
pages_per_block = 8

[ftl]
over_provisioning = 0.9
"""
BUSY = "synth:random,requests=3k,write=0.7,size=4KiB,rate=3k"
LOGS = ["ds", "dvs", "lifespan"]
KINDS = {
    "pools of elements": ["ftl.pool=element", "flash.busy_unit=chip"],
    "pools of gangs": ["ftl.pool=gang", "flash.busy_unit=chip", "flash.bus=operations"],
    "rounds": ["flash.bus=rounds"],
    "summary pages": ["flash.summary_page=true"],
    "migration": ["ftl.wear.levelling=migration"],
    "soft threshold": ["ftl.gc.soft_threshold=0.3", "ftl.gc.victim=cost-benefit"],
    "victims": ["ftl.gc.victim=d-choices", "ftl.wear.levelling=both", "ftl.wear.erase_budget=100"],
}


@pytest.mark.parametrize("fail", ["", "channel:1@50%", "channel:1@40%,replace_after=5ms", "power@50%"])
@pytest.mark.parametrize("kind", KINDS)
def test_logs_lose_nothing(flashkeep: Command, tmp_path: Path, kind: str, fail: str) -> None:
    (tmp_path / "drive.toml").write_text(DRIVE)
    for scheme in LOGS:
        options = [option for key in [f"redundancy.scheme={scheme}", *KINDS[kind]] for option in ("--set", key)]
        options += ["--existing", "all", "--verify", "--json", *(["--fail", fail] if fail else [])]
        code, out, err = flashkeep("run", tmp_path / "drive.toml", BUSY, *options)
        assert (code, err) == (0, ""), scheme
        integrity = json.loads(out)["integrity"]
        assert (integrity["wrong_reads"], integrity["lost_pages"]) == (0, 0), scheme


@pytest.mark.parametrize(
    ("kind", "fail"),
    [
        (kind, fail)
        for kind in ("pools of elements", "pools of gangs", "rounds", "summary pages")
        for fail in ("", "power@50%")
    ],
)
def test_maps_of_blocks_lose_nothing(flashkeep: Command, tmp_path: Path, kind: str, fail: str) -> None:
    (tmp_path / "drive.toml").write_text(DRIVE)
    for keys in (["ftl.map=block"], ["ftl.map=hybrid"], ["ftl.map=hybrid", "ftl.gc.victim=greedy"]):
        options = [option for key in [*keys, *KINDS[kind]] for option in ("--set", key)]
        options += ["--verify", "--json", *(["--fail", fail] if fail else [])]
        code, out, err = flashkeep("run", tmp_path / "drive.toml", BUSY, *options)
        assert (code, err) == (0, ""), keys
        integrity = json.loads(out)["integrity"]
        assert (integrity["wrong_reads"], integrity["lost_pages"]) == (0, 0), keys


def test_victims_of_logs_differ(flashkeep: Command, tmp_path: Path) -> None:
    (tmp_path / "drive.toml").write_text(DRIVE)
    erases = []
    for victim in ("greedy", "fifo", "random"):
        keys = ["redundancy.scheme=ds", f"ftl.gc.victim={victim}"]
        options = [option for key in keys for option in ("--set", key)]
        load = "synth:zipf,requests=20k,write=1,size=4KiB,depth=4"
        _, out, _ = flashkeep("run", tmp_path / "drive.toml", load, *options, "--json", "--existing", "all")
        erases.append(sum(json.loads(out)["operations"]["erase"].values()))
    assert erases[0] < min(erases[1:])
