"""The runs for the hybrid backup, one function for each experiment, and the figures computed from them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from .hybrid_lives import LIVES
from .paper import Run, Workload
from .published import Published

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .paper import Results

PUBLISHED = Published("hybrid")

REQUESTS = 40_000
"""Requests of a run at full scale, of all four volumes together. HPDA's log makes longer runs slow."""

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

CLOSED = (("replay", "closed"), ("depth", 1))

AMPLE = ("redundancy.nvram_mib=512",)
"""More memory than any stand-in fills, so that the memory used is the memory needed."""

ABLATED = 10_000

SWEPT = 20_000

MEMORIES_MIB = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)

SHARES = (0.0, 0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.8, 1.0)

TABLE_1 = {
    "RAID1 (SSD)": ("t7-mirror-base", (), 2, 1),
    "RAID5 (SSD)": ("t7-ssd-raid5", (), 5, 4),
    "RAID6 (SSD)": ("t7-ssd-raid5", ("redundancy.scheme=raid6", 'members=["6 * intel-320-160"]'), 6, 4),
    "SSD+disk": ("t7-backup-64", (), 4, 4),
}
"""The drive, its changed values, its number of SSDs, and how many of them hold data."""


def group_run(system: str, group: str, *values: str, at_most: int | None = None) -> Run:
    """Four traces in closed loops, one for each volume."""
    first, *others = GROUPS[group]
    return Run(SYSTEMS[system], first, values, options=CLOSED, at_most=at_most, beside=tuple(others))


def cached(disks: int) -> str:
    """Disks with their write caches on, beside the SSDs."""
    cache = PUBLISHED.value("parameters", "disk", "cache")
    ssds, disk = ("4 * intel-320-160", f"{disks} * st3500630a")
    return f'members=["{ssds}","{disk},disk.write_cache_mib={cache:g}"]'


def dram() -> str:
    """The memory that the paper gives the systems it compares with."""
    return f"buffer.dram_mib={PUBLISHED.value('parameters', 'systems compared', 'memory'):g}"


def cached_pair(name: str) -> Run:
    """A single volume of the RAID-1 of SSDs and disks, with its disk's write cache on."""
    cache = PUBLISHED.value("parameters", "disk", "cache")
    members = f'members=["intel-320-160","st3500630a,disk.write_cache_mib={cache:g}"]'
    return Run("t7-hybrid-mirror-base", name, (members,), options=CLOSED, at_most=ABLATED)


def ablations(group: str) -> dict[str, tuple[Run, ...]]:
    """The ablations, one change each; independent volumes may run separately."""
    few = partial(group_run, group=group, at_most=ABLATED)
    return {
        "SSD RAID1, as it is": (few("SSD RAID1"),),
        "SSD RAID1, 64 MB of DRAM": (group_run("SSD RAID1", group, dram(), at_most=ABLATED),),
        "SSD RAID5, as it is": (few("SSD RAID5"),),
        "SSD RAID5, 64 MB of DRAM": (group_run("SSD RAID5", group, dram(), at_most=ABLATED),),
        "SSD+disk RAID1, as it is": (few("SSD+disk RAID1"),),
        "SSD+disk RAID1, write caches on": tuple(cached_pair(name) for name in GROUPS[group]),
        "HPDA, as it is": (few("HPDA"),),
        "HPDA, write caches on": (group_run("HPDA", group, cached(2), at_most=ABLATED),),
        "HPDA, 64 MB of DRAM": (group_run("HPDA", group, dram(), at_most=ABLATED),),
        "HPDA, both": (group_run("HPDA", group, cached(2), dram(), at_most=ABLATED),),
        "64 MB, as it is": (few("64 MB"),),
        "64 MB, write cache on": (group_run("64 MB", group, cached(1), at_most=ABLATED),),
        "64 MB, four times the requests": (group_run("64 MB", group),),
    }


def idle(drive: str, *values: str, write: float = 1.0) -> Run:
    """One page at a time on a full, idle drive or array: at that rate no request waits for another."""
    blocks = "flash.blocks_per_plane=64" if drive == "intel-320-160" else "member.flash.blocks_per_plane=64"
    if "disk" in drive or "backup" in drive:
        # `member.` would change the disk as well.
        blocks = 'members=["4 * intel-320-160,flash.blocks_per_plane=64","st3500630a"]'
    elif any(value.startswith("members") for value in values):
        values = tuple(value.replace("320-160", "320-160,flash.blocks_per_plane=64") for value in values)
        return Run(drive, "random", (*values, "start.existing=all"), _idle_keys(write), at_most=2000)
    return Run(drive, "random", (*values, blocks, "start.existing=all"), _idle_keys(write), at_most=2000)


def _idle_keys(write: float) -> str:
    return f"write={write:g},size=4KiB,footprint=1GiB,rate=1"


def alone(title: str, system: str = "64 MB") -> Run:
    """A trace by itself, at its own rate, with more memory than it needs."""
    return Run(SYSTEMS[system], BY_TITLE[title], AMPLE)


def together(group: str) -> Run:
    """A group's four traces at their own rates on three disks, with more memory than they need."""
    first, *others = GROUPS[group]
    return Run(SYSTEMS["three disks"], first, AMPLE, beside=tuple(others))


BURSTS = {"short": "bursts=0.1:100", "as they are": "", "long": "bursts=0.0001:10000"}
"""Burstiness: one pause in ten gaps, in a thousand (as in the stand-ins), in ten thousand."""
FOOTPRINTS = {"as it is": "", "128 MiB": "footprint=128MiB", "64 MiB": "footprint=64MiB"}
"""The footprint of a trace: 128 GiB in the stand-ins."""


def changed(run: Run, synth: str) -> Run:
    """A run with other arrivals or another footprint."""
    return replace(run, synth=synth)


def contents(title: str) -> Run:
    """The statistics of a trace."""
    return Run("intel-320-160", BY_TITLE[title], info=True)


def swept_share(drive: str, share: float) -> Run:
    """Proj's lengths and sequences with another share of writes."""
    return Run(drive, "hybrid-proj", (), f"footprint=64GiB,write={share:g}", CLOSED, at_most=SWEPT)


def swept_memory(group: str, mib: int) -> Run:
    """One disk behind four SSDs with this much memory."""
    return group_run("64 MB", group, f"redundancy.nvram_mib={mib}")


def runs() -> Iterator[Run]:
    """Everything that is simulated for this paper."""
    yield from (idle("intel-320-160", write=share) for share in (0.0, 1.0))
    yield from (idle(drive, *values) for drive, values, _, _ in TABLE_1.values())
    for title in BY_TITLE:
        yield from (contents(title), alone(title), alone(title, "three disks"))
        yield from (changed(alone(title), synth) for synth in (*BURSTS.values(), *FOOTPRINTS.values()))
    for group in GROUPS:
        yield from (changed(together(group), synth) for synth in BURSTS.values())
        yield from (group_run(system, group) for system in SYSTEMS)
        yield from (swept_memory(group, mib) for mib in MEMORIES_MIB)
        for several in ablations(group).values():
            yield from several
    for share in SHARES:
        yield from (swept_share(drive, share) for drive in ("intel-320-160", SYSTEMS["8 MB"]))
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
