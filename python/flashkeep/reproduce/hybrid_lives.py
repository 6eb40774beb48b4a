"""The hybrid-backup paper's third argument: SSDs that share their writes wear equally, and reach their ends of life
together."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from .paper import Cell, Run, Table

if TYPE_CHECKING:
    from .paper import Results

SSD = (
    "intel-320-160,flash.channels=1,flash.chips_per_channel=1,flash.planes_per_die=1,flash.blocks_per_plane=64,"
    "flash.pages_per_block=16,ftl.over_provisioning=0.3,ftl.wear.erase_budget=20"
)
"""A small part of the SSD with a small erase budget, so that lives are short."""
PAGE = 4096
WRITES = 40_000
"""Of a page; enough for every array here."""
DISKS = ("redundancy.segment_kib=64", "redundancy.free_every=4", "redundancy.nvram_mib=0.25")
"""Segments and a memory in the same proportion to the SSD as in Table 7."""


class System(NamedTuple):
    """An array whose drives fail when they are worn out."""

    drive: str
    ssds: int
    disk: bool = False
    set: tuple[str, ...] = ()
    share: float | None = None
    """The share of parities on the first drive."""


def parity(*values: str) -> tuple[str, ...]:
    """With units of one page, and no memory: these SSDs are smaller than that of the preset."""
    return ("redundancy.stripe_kib=4", "buffer.dram_mib=0", *values)


ARRAYS = {
    "RAID1 (SSD)": System("t7-mirror-base", 2),
    "RAID5 (SSD)": System("t7-ssd-raid5", 5, set=parity(), share=0.2),
    "Diff-RAID, 40 % of the parities": System(
        "t7-ssd-raid5", 5, set=parity("redundancy.scheme=diff-raid", "redundancy.shares=0.4"), share=0.4
    ),
    "Diff-RAID, 80 % of the parities": System(
        "t7-ssd-raid5", 5, set=parity("redundancy.scheme=diff-raid", "redundancy.shares=0.8"), share=0.8
    ),
    "RAID4 (SSD)": System("t7-ssd-raid5", 5, set=parity("redundancy.scheme=raid4"), share=1.0),
    "SSD + disk": System("t7-backup-3disks", 1, disk=True, set=DISKS),
    "four SSDs + disk": System("t7-backup-3disks", 4, disk=True, set=DISKS),
}


def life(system: System) -> Run:
    """Random pages written to a full array, until one more of its drives has failed than it survives."""
    members = [f"{system.ssds} * {SSD}", *(["st3500630a"] if system.disk else [])]
    values = (f"members={json.dumps(members)}", "start.existing=all", *system.set)
    fail = tuple(f"member:{number}@worn" for number in range(system.ssds))
    options = (("untimed", True), ("fail", fail))
    return Run(system.drive, "random", values, "write=1,size=4KiB,depth=1", options, at_least=WRITES, at_most=WRITES)


LIVES = {name: life(system) for name, system in ARRAYS.items()}
"""Their runs."""


def ageing(share: float, drives: int = 5) -> float:
    """r0 / r1 - 1 (Balakrishnan et al. 2010): how much longer the other drives last than the one with that share."""
    rates = [one + (1 - one) / (drives - 1) for one in (share, (1 - share) / (drives - 1))]
    return rates[0] / rates[1] - 1


def lives(results: Results) -> Table:
    """When the first and the second drive were worn out, and the pages lost."""
    cells = []
    for name, system in ARRAYS.items():
        summary = results[LIVES[name]]
        told, capacity = summary["wear_out"], summary["capacity_bytes"]
        first, apart = told["first"], told["apart_share"]
        lost = told["lost_pages"] * PAGE / capacity
        cells += [
            Cell("lives", name, "first worn out", None, first and first["bytes"] / capacity, "array writes"),
            Cell("lives", name, "second, of a life later", None, None if apart is None else 100 * apart, "%"),
            Cell("lives", name, "by formula", None, None if system.share is None else 100 * ageing(system.share), "%"),
            Cell("lives", name, "lost", None, 100 * lost, "%"),
        ]
    return Table("lives", "SSDs of equal wear: the second to be worn out after the first, and what is lost then", cells,
                 None, (
        "SSDs of 64 blocks of 16 pages that stand 20 erases, random pages, untimed. One that can no longer hold its "
        "data fails whole, and none is replaced. A mirror's drives fail at the same write. The disk behind SSDs does "
        "not wear: what it backs up outlives them. Diff-RAID's formula is r0 / r1 - 1.",
    ))  # fmt: skip
