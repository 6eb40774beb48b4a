"""Served drives under random requests, faults, power cuts and crash images (`served_storm`)."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Literal

import flashkeep as fk
import pytest
from differential.draw import draw, leaves
from flashkeep import _flashkeep
from served_storm import storm_of

PARTS = ("chip:0.0", "die:0.0.0", "channel:0", "member:0", "member:1", "member:0/chip:0.0")
DRAWN = int(os.environ.get("FLASHKEEP_SERVED_DRIVES", "8"))

DRIVES = {
    "lone": ("tlc-client", "chip:0.0"),
    "handles": ("1CNM-64,ftl.handles=2,ftl.handle_isolation=persistently", "die:0.0.0"),
    "without DRAM": ("tlc-client,buffer.dram_mib=0", "channel:1"),
    "1CNM": ("1CNM-64", "die:0.0.0"),
    "raid5 within": ("tlc-client,redundancy.scheme=raid5", "chip:0.1"),
    "raid5 of drives": ("t7-ssd-raid5", "member:1"),
    "raid6 of drives": ("8-tlc-datacenter-raid6", "member:2"),
    "dvs": ("dvs-8chip", "chip:1.0"),
    "disk": ("st3500630a", "page:7"),
    "mirror of disk and drive": ("t7-hybrid-raid1", "member:0"),
    "log": ("t7-backup-8", "member:0"),
}


@pytest.mark.parametrize("on_cut", ["fail", "wait"])
@pytest.mark.parametrize("name", DRIVES)
def test_bytes_are_right_or_an_error(name: str, on_cut: Literal["fail", "wait"], tmp_path: Path) -> None:
    drive, part = DRIVES[name]
    seed = sorted(DRIVES).index(name) * 2 + (on_cut == "wait")
    faults = [("fail", part, "transient" if on_cut == "fail" else "replace_after=1ms")]
    slow = [("slow", part, 3, "1s")] if "page" not in part else []
    failed = storm_of(drive, [*faults, *slow], on_cut, seed, tmp_path, forgets_trims=name == "dvs")
    assert failed == 0 or on_cut == "fail"


@pytest.mark.parametrize("seed", range(DRAWN))
def test_bytes_of_drawn_drives_are_right_or_an_error(seed: int, tmp_path: Path) -> None:
    case = draw(seed, leaves(json.loads(_flashkeep.schema())))
    case.write(tmp_path)
    drive = tmp_path / "drive.toml"
    try:
        fk.drive(str(drive))
    except fk.DriveError as refused:
        pytest.skip(f"refused: {refused}")
    rng = random.Random(seed)
    faults = [("fail", rng.choice(PARTS), rng.choice(("transient", "replace_after=1ms"))) for _ in range(2)]
    storm_of(drive, [*faults, ("slow", rng.choice(PARTS), 3, "1s")], rng.choice(("fail", "wait")), seed, tmp_path,
             forgets_trims=True)  # fmt: skip
