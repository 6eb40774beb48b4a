"""A DRAM that survives a power loss: what has been acknowledged is there afterwards."""

from __future__ import annotations

from typing import Any

import flashkeep as fk
import pytest

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


def test_flushes_take_a_hit_and_members_are_told() -> None:
    trace = fk.trace("synth:random,requests=500,write=1,size=4KiB,rate=100,fua=0.3,flush_every=3")
    result = fk.run(fk.drive(DRIVE).replace(**{"buffer.protected": True, "buffer.hit_us": 2}), trace).to_dict()
    flushes = result["response_us"]["flush"]
    assert (flushes["min"], flushes["max"]) == (2, 2)
    array = fk.drive({"members": ["2 * tlc-client"], "redundancy": {"scheme": "mirror"}})
    assert not any("protected" in warning for warning in array.warnings)
    array = fk.drive({"members": ["2 * tlc-client,buffer.protected=true"], "redundancy": {"scheme": "mirror"}})
    assert any(warning.startswith("buffer.protected: no effect in members") for warning in array.warnings)
