"""The runs for Design Tradeoffs for SSD Performance, one function for each experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .paper import Run, Workload
from .published import Published

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PUBLISHED = Published("tradeoffs")
WORKLOADS = (
    Workload("sequential", "sequential microbenchmarks", 5_000_000),
    Workload("random", "random microbenchmarks", 5_000_000),
    Workload("atc08-sequential", "the extension's sequential runs", 250_000),
    Workload("atc08-random", "the extension's random runs", 250_000),
    Workload("atc08-tpcc", "TPC-C", 2_500_000),
    Workload("atc08-exchange", "Exchange", 1_000_000),
    Workload("atc08-iozone", "IOzone", 585_000),
    Workload("atc08-postmark", "Postmark", 95_000),
)
NAMED = {"TPC-C": "atc08-tpcc", "Exchange": "atc08-exchange", "IOzone": "atc08-iozone", "Postmark": "atc08-postmark"}
SHORT = 20_000
"""The number of requests for a mean response without cleaning."""

EIGHTH = "flash.blocks_per_plane=256"
"""An eighth of the drive's blocks, for runs in which their number does not matter: the drive fills sooner."""
FOOTPRINT = {"TPC-C": "footprint=2GiB", "Exchange": "footprint=2GiB"}
"""The footprint that fits that drive."""
MICRO_PLACES = "footprint=3593678848"
"""An eighth of the drive's logical pages, as in the validation runs; with cleaning."""
CLEANED_PLACES = "footprint=3800MiB"
"""TPC-C's locality is not published. With this one, a cleaned block has as few valid pages as in the paper."""


def named(drive: str, title: str, *values: str, at_most: int = SHORT, faster: float = 1.0, synth: str = "") -> Run:
    """A named workload on an eighth of a drive."""
    options = () if faster == 1.0 else (("time_scale", 1 / faster),)
    more = ",".join(text for text in (FOOTPRINT.get(title, ""), synth) if text)
    return Run(drive, NAMED[title], (EIGHTH, *values), more, options, at_most)


def micro(row: str) -> Run:
    """A microbenchmark. Random ones have enough outstanding requests to keep all elements busy."""
    places, kind = row.partition(",")[0].split(" ")
    queue, values = ("depth=512", ("host.queue_depth=0",)) if places == "random" else ("depth=16", ())
    keys = f"write={int(kind == 'write')},size=4KiB,{queue}"
    if row.endswith("cleaning"):
        return Run("atc08-interplane", places, values, f"{keys},{MICRO_PLACES}")
    return Run("atc08-32gb", places, values, keys, at_most=700_000)


def extension(row: str) -> Run:
    """A validation run that comes with the extension, its requests drawn number by number."""
    places, kind = row.split(" ")
    return Run("atc08-32gb", f"atc08-{places}", (), f"write={int(kind == 'write')}")


def package(row: str) -> Run:
    """One package, always busy; the run writes less than its spare space."""
    drive, keys = {
        "reads": ("atc08-ideal", "write=0,depth=1"),
        "reads, interleaved": ("atc08-interleaved", "write=0,depth=128"),
        "writes": ("atc08-ideal", "write=1,depth=8"),
    }[row]
    return Run(drive, "random", ("flash.channels=1", EIGHTH), f"{keys},size=4KiB", at_most=8_000)


def gang(row: str, faster: float = 1.0) -> Run:
    """TPC-C; twice the requests for twice the packages."""
    drive = {"no gang": "atc08-32gb", "8-gang": "atc08-gang8-bus", "16-gang": "atc08-gang16-bus"}[row]
    return named(drive, "TPC-C", faster=faster * (2.0 if row == "16-gang" else 1.0))


RATES = (0.5, 1.0, 1.25, 1.5, 2.0)
"""The paper's rate of requests is not published."""


def control(kind: str, title: str) -> Run:
    """A workload on eight packages that share control lines."""
    return named(f"atc08-gang8-{kind}", title, at_most=10_000)


PAGES_KIB = (4, 8, 16, 32, 64, 128, 256)
ALIGNED, UNALIGNED = "align=8KiB", "align=512"


def paged(kib: int, faster: float = 1.0) -> Run:
    """TPC-C with logical pages of a size; the run is limited to what the spare space holds with the largest size."""
    return named("atc08-32gb", "TPC-C", f"ftl.logical_page_kib={kib}", at_most=4_000, faster=faster)


def aligned(kib: int, align: str) -> Run:
    """TPC-C, with aligned or unaligned requests; parts of pages are merged with the rest of the page."""
    return named("atc08-32gb", "TPC-C", f"ftl.logical_page_kib={kib}", "ftl.partial_writes=merge", synth=align)


def cleaning(row: str) -> Run:
    """A workload that is long enough to clean as many blocks as the paper's."""
    title, _, how = row.partition(", ")
    drive = "atc08-interplane" if how == "inter-plane" else "atc08-32gb"
    if title == "TPC-C":
        return Run(drive, NAMED[title], (), CLEANED_PLACES, at_most=1_293_000)
    return Run(drive, NAMED[title], wear_of("greedy") if title == "IOzone" else ())


LEVELLING = {"greedy": "none", "rate limiting": "rate-limit", "migration": "migration"}


def wear_of(row: str) -> tuple[str, ...]:
    """The budget of the published program: 50 erases, so that wear shows."""
    return "ftl.wear.erase_budget=50", f"ftl.wear.levelling={LEVELLING[row]}"


def worn(row: str, footprint: str = "") -> Run:
    """IOzone with a method of wear leveling; the ablation uses a smaller file on an eighth of the drive."""
    if not footprint:
        return Run("atc08-32gb", NAMED["IOzone"], wear_of(row))
    return Run("atc08-32gb", NAMED["IOzone"], (EIGHTH, *wear_of(row)), f"footprint={footprint}", at_most=73_000)


FILES = {"512MiB": "4 GiB", "256MiB": "2 GiB", "192MiB": "1.5 GiB"}
"""The size of the file on an eighth of the drive, and on the whole drive."""

UNITS = {"none": "chip", "two dies": "die", "four pairs of planes": "plane-pair", "eight planes": "plane"}
FASTER = (1.0, 10.0, 20.0, 30.0)


def interleaved(title: str, unit: str, faster: float) -> Run:
    """A workload with a higher rate, on packages whose parts overlap."""
    return named("atc08-ideal", title, f"flash.busy_unit={UNITS[unit]}", faster=faster)


BACKGROUND = {
    "foreground": "ftl.gc.background=false",
    "background": "ftl.gc.background=true",
    "background, ahead": "ftl.gc.soft_threshold=0.08",
}


CLEANED = {"TPC-C": ("475MiB", 300_000), "IOzone": ("512MiB", 20_000), "Postmark": ("256MiB", 20_000)}
"""Workloads for cleaning on an eighth of a drive: their footprint there, and the number of requests."""


def cleaned_for(drive: str, title: str, *values: str) -> Run:
    """A workload for cleaning on an eighth of a drive."""
    footprint, at_most = CLEANED[title]
    return Run(drive, NAMED[title], (EIGHTH, *values), f"footprint={footprint}", at_most=at_most)


def background(title: str, how: str) -> Run:
    """A workload with cleaning when a request waits, when none waits, or ahead of need."""
    return cleaned_for("atc08-32gb", title, BACKGROUND[how])


POOLS = {
    "a plane, copy-back": "atc08-32gb",
    "a plane, over the pins": "atc08-interplane",
    "a package": "atc08-element",
}
"""The unit with an open block, a threshold and victims of its own; how its pages move; and the drive."""


def pooled_micro(row: str, pool: str) -> Run:
    """A microbenchmark with cleaning; the paper does not name its block pools."""
    run = micro(row)
    return Run(POOLS[pool], run.workload, run.set, run.synth)


_OVERLAP = ("flash.bus=transfers", "ftl.read_in_flight=memory")
"""The pins are free while a part is busy."""
TURNS = {
    "a package as one": ("atc08-32gb",),
    "two dies": ("atc08-32gb", "flash.busy_unit=die", *_OVERLAP),
    "two dies, rounds": ("atc08-rounds",),
    "four pairs of planes": ("atc08-32gb", "flash.busy_unit=plane-pair", *_OVERLAP),
    "four pairs of planes, rounds": ("atc08-rounds", "flash.busy_unit=plane-pair"),
}
"""The parts of a package that work in parallel, and whether they take requests as they arrive or in rounds, like the
extension."""
IN_TURN_FASTER = (1.0, 10.0, 20.0)


def in_turn(title: str, how: str, faster: float) -> Run:
    """A workload with a higher rate, on packages whose parts work in parallel or in rounds."""
    drive, *values = TURNS[how]
    return named(drive, title, *values, faster=faster)


RESERVE = (0.08, 0.10, 0.15, 0.20, 0.30, 0.40)


def reserved(title: str, share: float) -> Run:
    """A workload on a drive that reserves a share of its blocks."""
    blocks = int(share * 256)
    return named("atc08-32gb", title, f"ftl.over_provisioning={blocks / (256 - blocks):.12g}", at_most=1_000_000)


DEVICES: Mapping[str, tuple[str, tuple[str, ...], str, int]] = {
    "USB": ("atc08-32gb", ("flash.channels=1", "ftl.logical_page_kib=256", "ftl.partial_writes=merge",
                           "host.link_us_per_sector=8.533", EIGHTH), "256KiB", 1),
    "MTron": ("atc08-32gb", ("ftl.logical_page_kib=512", "ftl.stride_pages=1", "ftl.partial_writes=merge",
                             "host.link_us_per_sector=3.413", EIGHTH), "512KiB", 1),
    "Zeus": ("atc08-32gb", ("host.link_us_per_sector=1.28", "host.queue_depth=0", EIGHTH), "256KiB", 32),
    "FusionIO": ("atc08-interleaved", ("flash.channels=24", "host.link_us_per_sector=0.512", EIGHTH), "1MiB", 32),
}  # fmt: skip
"""A drive of each kind: the preset, its changed values, the size of sequential requests, and the number of outstanding
random requests."""
KINDS = (
    "USB: one package, a map of blocks, USB 2 (60 MB/s), one request at a time.",
    "MTron: eight packages, a map of stripes of 512 KiB, SATA 1 (150 MB/s), one request at a time.",
    "Zeus: eight packages, a map of pages, Fibre Channel (400 MB/s), 32 requests at once.",
    "FusionIO: 24 packages whose two dies overlap, a map of pages, PCI Express (1,000 MB/s), 32 requests at once.",
)


def device(row: str, test: str) -> Run:
    """A test of a drive of a kind. If requests move whole stripes, fewer are needed."""
    drive, values, large, depth = DEVICES[row]
    places, kind = test.split(" ")
    size, waiting, at_most = (large, max(depth, 8), SHORT) if places == "sequential" else ("4KiB", depth, SHORT)
    if kind == "write":
        at_most = 3_000 if row in ("USB", "MTron") else SHORT if places == "sequential" else 2_000_000
    keys = f"write={int(kind == 'write')},size={size},depth={waiting}"
    return Run(drive, places, values, keys, at_most=at_most)


def runs() -> Iterator[Run]:
    """Everything that is simulated for this paper."""
    for table, of in (("micro", micro), ("extension", extension), ("package", package), ("gang", gang),
                      ("cleaning", cleaning), ("wear", worn)):  # fmt: skip
        yield from (of(row) for row in PUBLISHED.rows(table))
    yield from (device(cell.row, cell.column) for cell in PUBLISHED.cells("industry", lambda _: None))
    for title in NAMED:
        yield from (control(kind, title) for kind in ("async", "sync"))
    yield from (gang(row, faster) for row in PUBLISHED.rows("gang") for faster in RATES)
    yield from map(paged, PAGES_KIB)
    yield from (paged(PAGES_KIB[-1], faster) for faster in RATES)
    yield from (aligned(kib, align) for kib in (4, 32) for align in (ALIGNED, UNALIGNED))
    yield from (worn(row, footprint) for footprint in FILES for row in LEVELLING)
    for title in ("TPC-C", "Exchange"):
        yield from (interleaved(title, unit, faster) for unit in UNITS for faster in FASTER)
        yield from (reserved(title, share) for share in RESERVE)
    yield from (background(title, how) for title in CLEANED for how in BACKGROUND)
    yield from (cleaned_for(drive, title) for title in CLEANED for drive in POOLS.values())
    yield from (
        pooled_micro(row, pool) for row in PUBLISHED.rows("micro") if row.endswith("cleaning") for pool in POOLS
    )
    yield from (in_turn(title, how, faster) for title in ("TPC-C", "Exchange") for how in TURNS
                for faster in IN_TURN_FASTER)  # fmt: skip
