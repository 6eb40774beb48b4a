"""Writes that wait for others to be programmed with them: a FLUSH or a write with FUA does not wait for that."""

from __future__ import annotations

from typing import Any

import flashkeep as fk
import pytest

DRIVE: dict[str, Any] = {
    "flash": {
        "channels": 4, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 2, "blocks_per_plane": 32,
        "pages_per_block": 16, "page_kib": 4, "pages_per_program": 4,
    },
    "ftl": {"over_provisioning": 0.5},
    "start": {"existing": "all"},
}  # fmt: skip


def run(gather_us: float, trace: str, **keys: Any) -> dict[str, Any]:
    settings = {"ftl.gather_us": gather_us, **{key.replace("__", "."): value for key, value in keys.items()}}
    return fk.run(fk.drive(DRIVE).replace(**settings), fk.trace(trace)).to_dict()


@pytest.mark.parametrize("keys", [
    {}, {"redundancy__scheme": "raid5"}, {"redundancy__scheme": "mirror"}, {"buffer__dram_mib": 0.25},
])  # fmt: skip
@pytest.mark.parametrize("size", ["4KiB", "2KiB"])
def test_a_lone_write_with_fua_is_programmed_at_once(keys: dict[str, Any], size: str) -> None:
    trace = f"synth:random,requests=100,write=1,size={size},align=2KiB,fua=1,depth=1"
    waiting, at_once = (run(gather_us, trace, **keys) for gather_us in (6000, 0))
    assert waiting["response_us"] == at_once["response_us"]
    assert waiting["operations"] == at_once["operations"]


def test_a_flush_ends_the_wait_of_what_the_cache_holds() -> None:
    trace = "synth:random,requests=200,write=1,size=4KiB,flush_every=4,depth=1"
    waiting, at_once = (run(gather_us, trace, buffer__dram_mib=0.25) for gather_us in (6000, 0))
    assert waiting["response_us"]["flush"] == at_once["response_us"]["flush"]


def test_a_flush_ends_the_wait_of_writes_that_are_acknowledged_early() -> None:
    trace = "synth:random,requests=200,write=1,size=4KiB,flush_every=1,depth=1"
    found = run(6000, trace, buffer__dram_mib=0.25, buffer__flush="watermark", buffer__flush_above=0)
    assert found["response_us"]["flush"]["max"] < 3000


def test_writes_without_fua_still_wait() -> None:
    found = run(6000, "synth:random,requests=50,write=1,size=4KiB,depth=1")
    assert found["response_us"]["write"]["min"] >= 6000


def test_the_client_preset_answers_a_lone_write_with_fua_after_its_program() -> None:
    trace = fk.trace("synth:random,requests=20,write=1,size=4KiB,fua=1,depth=1")
    parts = fk.run(fk.drive("tlc-client"), trace).to_dict()["latency_us"]["write"]["mean"]
    assert (parts["timer"], parts["array"]) == (0, 250)


def test_a_lost_translation_page_is_rebuilt_by_one_plan() -> None:
    drive = {
        "flash": {"channels": 2, "chips_per_channel": 2, "dies_per_chip": 1, "planes_per_die": 4,
                  "blocks_per_plane": 24, "pages_per_block": 8, "page_kib": 4},
        "ftl": {"over_provisioning": 1.0, "map": "dftl", "cache_kib": 0.03125},
        "start": {"existing": "all"},
    }  # fmt: skip
    trace = fk.trace("synth:zipf,requests=160,size=4KiB,write=0.7,theta=0.5,rate=200k")
    found = fk.run(fk.drive(drive), trace, verify=True, fail=["chip:1.0@85%"]).to_dict()
    assert found["integrity"]["wrong_reads"] == 0
    # One translation page maps all 1,536 pages; the commands themselves read and write it once each at most.
    assert found["operations"]["read"]["metadata"] < 2 * 1536 + 3 * 160
