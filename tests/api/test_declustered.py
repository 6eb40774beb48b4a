"""Declustered arrays: how fast they are rebuilt, what they survive, and what is told of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flashkeep as fk
import pytest
from conftest import Command

MEMBER = """\
[flash]
channels = 2
chips_per_channel = 2
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = {blocks}
pages_per_block = 64
page_kib = 16
[flash.timing]
read_us = 400
program_us = 400
erase_us = 1
bus_ns_per_byte = 0.1
[ftl]
over_provisioning = 0.3
"""
"""A drive whose reads take as long as its programs."""

FEW = "synth:random,requests=20,write=0,size=16KiB,footprint=16MiB,rate=1000"
MIXED = "synth:random,requests=600,write=0.6,size=16KiB,footprint=64MiB,rate=2000"


def array(folder: Path, members: int, blocks: int = 64, **redundancy: Any) -> Path:
    member = folder / "member.toml"
    member.write_text(MEMBER.format(blocks=blocks))
    keys = "".join(f"{key} = {value!r}\n" for key, value in redundancy.items())
    path = folder / f"{redundancy['scheme']}-{members}.toml"
    path.write_text(f'members = ["{members} * {member}"]\n[redundancy]\nrebuild_share = 1.0\n{keys}')
    return path


def rebuilt(drive: Path, fail: str) -> dict[str, Any]:
    result = fk.run(drive, FEW, existing="all", fail=fail, requests=False).to_dict()
    assert result["integrity"]["lost_pages"] == 0
    (rebuild,) = result["rebuilds"]
    assert rebuild["member"] == "member:1"
    assert rebuild["share"] == pytest.approx(1, abs=0.02), "all that a full member holds"
    return dict(rebuild)


@pytest.mark.parametrize(
    ("children", "data", "parities", "spares"),
    [(11, 2, 2, 1), (16, 4, 2, 1), (20, 6, 2, 2), (24, 6, 2, 1), (11, 3, 1, 1), (24, 4, 1, 2)],
)
def test_all_survivors_rebuild(tmp_path: Path, children: int, data: int, parities: int, spares: int) -> None:
    """They read k pages for each that they write, where a hot spare takes all writes: (c − 1)/(k + 1) times as fast.
    With two parities that is (c − 1)/(g − 1) for groups of g."""
    keys = {"stripe_data": data, "stripe_parities": parities, "distributed_spares": spares}
    spread = rebuilt(array(tmp_path, children, scheme="declustered", **keys), "member:1@1ms")
    classic = array(tmp_path, data + parities, scheme=f"raid{4 + parities}", rebuild_depth=64)
    spare = rebuilt(classic, "member:1@1ms,replace_after=0s")
    ratio = spread["mib_s"] / spare["mib_s"]
    assert ratio == pytest.approx((children - 1) / (data + 1), rel=0.1)
    if parities == 2:
        assert ratio == pytest.approx((children - 1) / (data + parities - 1), rel=0.1)
    times = spare["full_member_hours"] / spread["full_member_hours"]
    assert times == pytest.approx(ratio * children / (children - spares), rel=0.02)


def test_units_move_back_when_the_member_is_replaced(tmp_path: Path) -> None:
    drive = array(tmp_path, 7, 16, scheme="declustered", stripe_data=2, stripe_parities=2)
    result = fk.run(drive, MIXED, existing="all", fail="member:1@1ms,replace_after=200ms", verify=True).to_dict()
    phases = {phase["phase"]: phase for phase in result["phases"]}
    names = [phase["phase"] for phase in result["phases"]]
    assert names == ["before", "rebuilding", "after", "moving back", "after"]
    assert len(result["rebuilds"]) == 1
    moved = phases["moving back"]["operations"]["program"]["migrate"]
    assert moved == pytest.approx(phases["rebuilding"]["operations"]["program"]["rebuild"], rel=0.05)
    assert phases["moving back"]["operations"]["program"]["rebuild"] == 0
    integrity = result["integrity"]
    assert (integrity["lost_pages"], integrity["wrong_reads"]) == (0, 0)


def test_members_fail_one_after_the_other(tmp_path: Path) -> None:
    """One parity and two spare columns: with time to rebuild in between, two failures are survived without a
    replacement, and a third one is too, degraded."""
    drive = array(tmp_path, 7, 16, scheme="declustered", stripe_data=2, distributed_spares=2)
    fails = [f"member:{member}@{at}ms" for member, at in ((1, 10), (4, 360), (2, 710))]
    longer = MIXED.replace("requests=600", "requests=2k")
    result = fk.run(drive, longer, existing="all", fail=fails, verify=True).to_dict()
    assert (result["integrity"]["lost_pages"], result["integrity"]["wrong_reads"]) == (0, 0)
    assert len(result["rebuilds"]) == 2
    assert result["phases"][-1]["phase"] == "degraded"
    together = [fail.split("@")[0] + "@10ms" for fail in fails[:2]]
    assert fk.run(drive, longer, existing="all", fail=together).to_dict()["integrity"]["lost_pages"] > 0


def test_too_few_members(flashkeep: Command, tmp_path: Path) -> None:
    drive = array(tmp_path, 5, scheme="declustered", stripe_data=3, stripe_parities=2)
    code, _, err = flashkeep("check", drive)
    assert code == 2
    assert "at least 6 members are needed" in err


def test_compare_shows_rebuilds(flashkeep: Command, tmp_path: Path) -> None:
    spread = array(tmp_path, 8, 16, scheme="declustered", stripe_data=2, stripe_parities=2)
    classic = array(tmp_path, 4, 16, scheme="raid6")
    options = ("--existing", "all", "--fail", "member:1@1ms,replace_after=0s")
    code, out, _ = flashkeep("compare", FEW, spread, classic, *options)
    assert code == 0
    assert "Rebuilds" in out
    assert "for a full member" in out
