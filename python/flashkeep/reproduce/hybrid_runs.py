"""The runs for the hybrid backup, one function for each experiment, and the figures computed from them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .hybrid_lives import LIVES
from .paper import Run, Workload
from .published import Published

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .paper import Results

PUBLISHED = Published("hybrid")

REQUESTS = 181_900
"""Requests of every run at full scale, of all four volumes together: one per cent of the shortest trace (Develop, Table
2). The same for all systems, chosen without looking at results."""

BY_TITLE = {
    "USR": "hybrid-usr",
    "SRC1": "hybrid-src1",
    "SRC2": "hybrid-src2",
    "Proj": "hybrid-proj",
    "LiveMaps": "hybrid-livemaps",
    "Develop": "hybrid-develop",
    "MSNFile": "hybrid-msnfile",
    "Exchange": "hybrid-exchange",
}

WORKLOADS = (
    *(Workload(name, title, REQUESTS) for title, name in BY_TITLE.items()),
    Workload("random", "random pages", REQUESTS),
)

_NAMES = tuple(BY_TITLE.values())

GROUPS = {"Group1": _NAMES[:4], "Group2": _NAMES[4:]}

SYSTEMS = {
    "SSD RAID1": "t7-ssd-raid1",
    "SSD+disk RAID1": "t7-hybrid-raid1",
    "SSD RAID5": "t7-ssd-raid5",
    "HPDA": "t7-hpda",
    "8 MB": "t7-backup-8",
    "16 MB": "t7-backup-16",
    "32 MB": "t7-backup-32",
    "64 MB": "t7-backup-64",
    "three disks": "t7-backup-3disks",
}
"""The columns of Table 7."""

PAIR = "t7-backup-pair"
"""An SSD and its disk, as in section 4.2."""

CLOSED = (("replay", "closed"), ("depth", 1))

BATCH = (("replay", "batch"), ("depth", 1))
"""Section 4.2: "when a bunch of requests are returned immediately next bunch of requests are sent". How many there are
in a bunch is not said; here one of each trace."""

AMPLE = ("redundancy.nvram_mib=512",)
"""More memory than any stand-in fills, so that the memory used is the memory needed."""

MEMORIES_MIB = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)

SHARES = (0.0, 0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.8, 1.0)

TABLE_1 = {
    "RAID1 (SSD)": ("t7-mirror-base", (), 2, 1),
    "RAID5 (SSD)": ("t7-ssd-raid5", (), 5, 4),
    "RAID6 (SSD)": ("t7-ssd-raid5", ("redundancy.scheme=raid6", 'members=["6 * intel-320-160"]'), 6, 4),
    "SSD+disk": ("t7-backup-3disks", (), 4, 4),
}
"""The drive, its changed values, its number of SSDs, and how many of them hold data."""


def group_run(
    system: str, group: str, *values: str, at_most: int | None = None, options: tuple[tuple[str, object], ...] = BATCH
) -> Run:
    """Four traces in batches, one for each volume."""
    first, *others = GROUPS[group]
    return Run(SYSTEMS[system], first, values, options=options, at_most=at_most, beside=tuple(others))


def acknowledging(evict: str) -> tuple[str, ...]:
    """Section 4.4's 64 MB as a write-back memory."""
    memory = PUBLISHED.value("parameters", "systems compared", "memory")
    return f"buffer.dram_mib={memory:g}", "buffer.write_policy=back", f"buffer.evict={evict}"


UNCACHED = 'members=["4 * intel-320-160","2 * st3500630a"]'
"""HPDA's disks with their write caches off."""
ONE_DISK = 'members=["4 * intel-320-160","st3500630a"]'
"""One disk for all four SSDs, of which it holds only a part."""
CHUNKS = "redundancy.stripe_kib=64"
FEWER = REQUESTS // 5


def pairs(mib: float) -> str:
    """Four SSDs with a disk each, and this memory, which they share equally."""
    return f'members=["4 * {PAIR},redundancy.nvram_mib={mib / 4:g}"]'


def ablations(group: str) -> dict[str, tuple[Run, ...]]:
    """The ablations, one change each."""

    def changed(system: str, *values: str) -> tuple[Run, ...]:
        return (group_run(system, group, *values),)

    def on_their_own(system: str) -> tuple[Run, ...]:
        return (group_run(system, group, options=CLOSED),)

    def fewer(system: str) -> tuple[Run, ...]:
        return (group_run(system, group, at_most=FEWER),)

    return {
        "SSD RAID1, 64 MB that acknowledge writes": changed("SSD RAID1", *acknowledging("page")),
        "SSD RAID1, each trace a loop of its own": on_their_own("SSD RAID1"),
        "SSD RAID5, 64 MB that acknowledge writes": changed("SSD RAID5", *acknowledging("stripe")),
        "SSD RAID5, chunks of 512 KiB": changed("SSD RAID5", "redundancy.stripe_kib=512"),
        "SSD RAID5, chunks of 4 KiB": changed("SSD RAID5", "redundancy.stripe_kib=4"),
        "SSD+disk RAID1, 64 MB that acknowledge writes": changed("SSD+disk RAID1", *acknowledging("run")),
        "HPDA, 64 MB that acknowledge writes": changed("HPDA", *acknowledging("page")),
        "HPDA, chunks of 64 KiB": changed("HPDA", CHUNKS),
        "HPDA, write caches off": changed("HPDA", UNCACHED),
        "64 MB, one disk for all four SSDs": changed("three disks", ONE_DISK),
        "64 MB, each trace a loop of its own": on_their_own("64 MB"),
        "64 MB, a fifth of the requests": fewer("64 MB"),
    }


def idle(drive: str, *values: str, write: float = 1.0) -> Run:
    """One page at a time on a full, idle drive or array: at that rate no request waits for another."""
    blocks = "flash.blocks_per_plane=64" if drive == "intel-320-160" else "member.flash.blocks_per_plane=64"
    if "disk" in drive or "backup" in drive:
        # `member.` would change the disk as well.
        blocks = 'members=["4 * intel-320-160,flash.blocks_per_plane=64","st3500630a"]'
    elif any(value.startswith("members") for value in values):
        values = tuple(value.replace("320-160", "320-160,flash.blocks_per_plane=64") for value in values)
        blocks = ""
    keys = tuple(key for key in (*values, blocks, "start.existing=all") if key)
    return Run(drive, "random", keys, _idle_keys(write), at_most=2000)


def _idle_keys(write: float) -> str:
    return f"write={write:g},size=4KiB,footprint=1GiB,rate=1"


def alone(title: str, drive: str = PAIR) -> Run:
    """A trace by itself at full load, with more memory than it needs."""
    return Run(drive, BY_TITLE[title], AMPLE, options=BATCH)


def together(group: str) -> Run:
    """A group's four traces at full load on three disks, with more memory than they need."""
    return group_run("three disks", group, *AMPLE)


def paced(run: Run) -> Run:
    """The same at the traces' own rates."""
    return replace(run, options=())


BURSTS = {"short": "bursts=0.1:100", "as they are": "", "long": "bursts=0.0001:10000"}
"""Burstiness at the traces' own rates: one pause in ten gaps, in a thousand (as in the stand-ins), in ten thousand."""
REWRITES = {"as it is": "", "0": "rewrite=0", "0.5": "rewrite=0.5", "0.84": "rewrite=0.84", "0.95": "rewrite=0.95"}
"""The share of what is written that was written before."""
FOOTPRINTS = {"as it is": "", "128 MiB": "footprint=128MiB", "64 MiB": "footprint=64MiB"}
"""The footprint of a trace: 128 GiB in the stand-ins."""


def changed(run: Run, synth: str) -> Run:
    """A shorter run with other arrivals, rewrites, or another footprint."""
    return replace(run, synth=synth, at_most=FEWER)


def contents(title: str) -> Run:
    """The statistics of a trace."""
    return Run("intel-320-160", BY_TITLE[title], info=True)


def swept_share(share: float, *, backed_up: bool) -> Run:
    """Proj's lengths and sequences with another share of writes, on an SSD alone or with a disk and 8 MB besides."""
    drive, values = (PAIR, ("redundancy.nvram_mib=8",)) if backed_up else ("intel-320-160", ())
    return Run(drive, "hybrid-proj", values, f"footprint=64GiB,write={share:g}", BATCH, at_most=FEWER)


def swept_memory(group: str, mib: int) -> Run:
    """Four SSDs with a disk each, and this much memory."""
    return group_run("64 MB", group, pairs(mib))


def runs() -> Iterator[Run]:
    """Everything that is simulated for this paper."""
    yield from (idle("intel-320-160", write=share) for share in (0.0, 1.0))
    yield from (idle(drive, *values) for drive, values, _, _ in TABLE_1.values())
    for title in BY_TITLE:
        yield from (contents(title), alone(title), alone(title, SYSTEMS["three disks"]))
        yield from (changed(paced(alone(title)), synth) for synth in BURSTS.values())
        yield from (changed(alone(title), synth) for synth in (*REWRITES.values(), *FOOTPRINTS.values()))
    for group in GROUPS:
        yield together(group)
        yield from (changed(paced(together(group)), synth) for synth in BURSTS.values())
        yield from (group_run(system, group) for system in SYSTEMS)
        yield from (swept_memory(group, mib) for mib in MEMORIES_MIB)
        for several in ablations(group).values():
            yield from several
    for share in SHARES:
        yield from (swept_share(share, backed_up=backed_up) for backed_up in (False, True))
    yield from LIVES.values()


PHASES = ("in_place", "staged", "recalled", "destaged")
"""The volume written to a disk after reorganisation."""


def moved(results: Results, run: Run) -> dict[str, float]:
    """Operations and pages before and after reorganisation."""
    backup: dict[str, Any] = results[run]["backup"]
    after = {
        key: sum(disk[phase][key] for disk in backup["disks"] for phase in PHASES) for key in ("operations", "pages")
    }
    staged = sum(disk["staged"]["pages"] for disk in backup["disks"])
    before, pages = backup["writes"]["operations"], backup["writes"]["pages"]
    return {
        "length before": pages / max(before, 1),
        "length after": after["pages"] / max(after["operations"], 1),
        "operations after / before": after["operations"] / max(before, 1),
        "volume after / before": after["pages"] / max(pages, 1),
        "share staged f": staged / max(pages, 1),
    }


def iops(results: Results, *several: Run) -> float:
    """Requests per second, all volumes together."""
    return sum(float(results[run]["throughput"]["iops"]) for run in several)


def relative(results: Results, system: str, group: str) -> float:
    """Requests a second as a multiple of the mirrored SSDs'."""
    return iops(results, group_run(system, group)) / iops(results, group_run("SSD RAID1", group))
