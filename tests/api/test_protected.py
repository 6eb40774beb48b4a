"""A DRAM that survives a power loss: what has been acknowledged is there afterwards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import flashkeep as fk
import pytest

if TYPE_CHECKING:
    from pathlib import Path

DRIVE: dict[str, Any] = {
    "flash": {
        "channels": 4, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 2, "blocks_per_plane": 32,
        "pages_per_block": 16, "page_kib": 4,
    },
    "ftl": {"over_provisioning": 0.5},
    "buffer": {"dram_mib": 0.5},
}  # fmt: skip
TRACE = "synth:random,requests=2k,write=0.8,size=4KiB:0.7/2KiB:0.2/12KiB:0.1,align=2KiB,rate=20k,fua=0.1,flush_every=9"
CUTS = ["power@300req", "power@777req", "power@1400req"]


def run(protected: bool, **keys: Any) -> fk.Result:
    settings = {"buffer.protected": protected, **{key.replace("__", "."): value for key, value in keys.items()}}
    return fk.run(fk.drive(DRIVE).replace(**settings), fk.trace(TRACE), verify=True, fail=CUTS, existing="none")


@pytest.mark.parametrize("flush", ["none", "watermark", "idle"])
@pytest.mark.parametrize("scheme", ["none", "mirror", "raid5", "dvs", "ppc"])
def test_no_acknowledged_page_is_lost(scheme: str, flush: str) -> None:
    found = run(True, redundancy__scheme=scheme, buffer__flush=flush).to_dict()["integrity"]
    assert (found["wrong_reads"], found["lost_pages"], found["volatile_pages_lost"]) == (0, 0, 0)


def test_an_unprotected_buffer_loses_what_it_holds() -> None:
    found = run(False).to_dict()["integrity"]
    assert (found["wrong_reads"], found["lost_pages"]) == (0, 0)
    assert found["volatile_pages_lost"] > 0


@pytest.mark.parametrize("keys", [
    {"flash__pages_per_program": 4, "flash__commands__multi_plane": "match"},
    {"ftl__logical_page_kib": 8, "ftl__map": "dftl"},
    {"ftl__logical_page_kib": 2, "flash__acknowledge": "transfer"},
    {"ftl__map": "hybrid", "host__link_us_per_sector": 1},
])  # fmt: skip
def test_with_other_programs_and_maps(keys: dict[str, Any]) -> None:
    found = run(True, **keys).to_dict()["integrity"]
    assert (found["wrong_reads"], found["lost_pages"], found["volatile_pages_lost"]) == (0, 0, 0)


def test_flushes_take_a_hit() -> None:
    trace = fk.trace("synth:random,requests=500,write=1,size=4KiB,rate=100,fua=0.3,flush_every=3")
    result = fk.run(fk.drive(DRIVE).replace(**{"buffer.protected": True, "buffer.hit_us": 2}), trace).to_dict()
    flushes = result["response_us"]["flush"]
    assert (flushes["min"], flushes["max"]) == (2, 2)


ARRAYS = {"none": 2, "mirror": 2, "raid5": 3, "raid6": 4, "fra": 4, "ppc": 4, "ds": 4, "dvs": 4, "lifespan": 4}


class Array:
    """Runs arrays of small drives."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def drive(self, scheme: str, *, protected: bool = True, **keys: Any) -> fk.Drive:
        """Members with these keys, whose names have `__` for dots."""
        of_member = {f"{table}.{key}": value for table, keys in DRIVE.items() for key, value in keys.items()}
        of_member |= {"buffer.protected": protected, "buffer.dram_mib": 0.125}
        of_member |= {key.replace("__", "."): value for key, value in keys.items()}
        lines = [f"{key} = {json.dumps(value)}\n" for key, value in of_member.items()]
        (self.folder / "member.toml").write_text("".join(lines))
        array = self.folder / "array.toml"
        array.write_text(f'members = ["{ARRAYS[scheme]} * ./member.toml"]\nredundancy.scheme = "{scheme}"\n')
        return fk.drive(array)

    def integrity(self, drive: fk.Drive, fail: list[str]) -> dict[str, int]:
        result = fk.run(drive, fk.trace(TRACE), verify=True, fail=fail, existing="none")
        found: dict[str, int] = result.to_dict()["integrity"]
        assert found["wrong_reads"] == 0
        return found


@pytest.fixture
def array(tmp_path: Path) -> Array:
    return Array(tmp_path)


@pytest.mark.parametrize("flush", ["none", "watermark", "idle"])
@pytest.mark.parametrize("scheme", ARRAYS)
def test_members_lose_no_acknowledged_page(array: Array, scheme: str, flush: str) -> None:
    found = array.integrity(array.drive(scheme, buffer__flush=flush), CUTS)
    assert (found["lost_pages"], found["volatile_pages_lost"]) == (0, 0)


@pytest.mark.parametrize("keys", [
    {"ftl__map": "dftl"},
    {"ftl__map": "hybrid", "host__link_us_per_sector": 1},
    {"redundancy__scheme": "raid5", "flash__acknowledge": "transfer"},
])  # fmt: skip
def test_members_with_maps_links_and_parity(array: Array, keys: dict[str, Any]) -> None:
    for scheme in ("mirror", "raid5"):
        found = array.integrity(array.drive(scheme, **keys), CUTS)
        assert (found["lost_pages"], found["volatile_pages_lost"]) == (0, 0)


def test_unprotected_members_lose_what_they_hold(array: Array) -> None:
    found = array.integrity(array.drive("none", protected=False), CUTS)
    assert found["lost_pages"] == 0
    assert found["volatile_pages_lost"] > 0


def test_a_member_that_fails_loses_its_buffer(array: Array) -> None:
    found = array.integrity(
        array.drive("raid5"), ["power@300req", "member:1@777req,replace_after=1ms", "power@1400req"]
    )
    assert (found["lost_pages"], found["volatile_pages_lost"]) == (0, 0)
    assert array.integrity(array.drive("none"), ["member:1@777req"])["lost_pages"] > 0


def test_a_flush_passes_over_protected_members(array: Array) -> None:
    trace = fk.trace("synth:random,requests=60,write=1,size=4KiB,rate=100,fua=0.3,flush_every=3")
    drive = array.drive("mirror", buffer__dram_mib=0.5)
    times = fk.run(drive, trace).to_dict()["response_us"]
    assert times["write"]["max"] < 10
    assert times["flush"]["max"] < 10
    before, after = (
        fk.run(drive, trace, flush_at_end=at_end).to_dict()["operations"]["program"]["host"] for at_end in (False, True)
    )
    assert (before, after > 0) == (0, True)
