"""dRAID: how fast an array rebuilds a member into distributed spares, against a hot spare, by simulation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from .fleet_wear import PUBLISHED
from .paper import Run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .paper import Results

READS = 20
"""Requests of the host, before and during the rebuild: hardly any load."""
MEMBER = (
    "4CNM-32,flash.channels=2,flash.chips_per_channel=2,flash.dies_per_chip=1,flash.planes_per_die=1,"
    "flash.blocks_per_plane=64,flash.pages_per_block=64,flash.page_kib=16,flash.timing.read_us=400,"
    "flash.timing.program_us=400,flash.timing.erase_us=1,flash.timing.bus_ns_per_byte=0.1,ftl.over_provisioning=0.3,"
    "ftl.gc.threshold=0.02,buffer.dram_mib=0"
)
"""A drive whose reads take as long as its programs, so that the rule's count of pages is a count of time."""


class Shape(NamedTuple):
    """A declustered array."""

    children: int
    data: int
    parities: int
    spares: int

    @classmethod
    def of(cls, row: str) -> Shape:
        """From a row such as `11 drives: 2 + 2, 1 spare`."""
        return cls(*(int(word) for word in row.replace(":", " ").replace(",", " ").split() if word.isdigit()))


SHAPES = {row: Shape.of(row) for row in PUBLISHED.rows("dRAID: rebuild")}


def rebuilding(members: int, fail: str, *values: str) -> Run:
    """A full array whose second member fails."""
    keys = (f"members={json.dumps([f'{members} * {MEMBER}'])}", "redundancy.rebuild_share=1", *values)
    options = (("existing", "all"), ("fail", (fail,)))
    return Run("8-tlc-datacenter-raid6", "random", keys, "write=0,size=16KiB,footprint=16MiB,rate=1000", options,
               at_least=READS, at_most=READS)  # fmt: skip


def spread(shape: Shape) -> Run:
    """Into the spare places of all other members."""
    return rebuilding(
        shape.children, "member:1@1ms", "redundancy.scheme=declustered", f"redundancy.stripe_data={shape.data}",
        f"redundancy.stripe_parities={shape.parities}", f"redundancy.distributed_spares={shape.spares}",
        "redundancy.stripe_kib=16",
    )  # fmt: skip


def classic(shape: Shape) -> Run:
    """Onto a replacement, of as many members as a stripe has units."""
    scheme = f"redundancy.scheme=raid{4 + shape.parities}"
    return rebuilding(shape.data + shape.parities, "member:1@1ms,replace_after=0s", scheme,
                      "redundancy.rebuild_depth=64", "redundancy.stripe_kib=16")  # fmt: skip


def runs() -> Iterator[Run]:
    """All rebuilds."""
    for shape in SHAPES.values():
        yield from (spread(shape), classic(shape))


def speed(results: Results, run: Run) -> float:
    """Of the rebuild, MiB/s."""
    (rebuild,) = results[run]["rebuilds"]
    return float(rebuild["mib_s"])


def ratio(results: Results, row: str) -> float:
    """How many times as fast as onto a hot spare."""
    shape = SHAPES[row]
    return speed(results, spread(shape)) / speed(results, classic(shape))
