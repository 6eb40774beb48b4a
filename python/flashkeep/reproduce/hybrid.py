"""The hybrid backup (Fan): SSDs that disks back up through a small non-volatile memory, beside other arrays.

Runs: Tables 1 to 7; and what the paper lacks: write share and size of the memory swept to their knees, one disk against
three for each trace, write caches and DRAM for the systems compared, longer runs.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..figures import Picture, Series, bars, legend, lines, plain_numbers
from .paper import Cell, Findings, Paper, Run, Table, Why, Workload
from .published import Published
from .verdicts import Near, Same, own_group, trend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

    from ..figures import Style
    from .paper import Results

PUBLISHED = Published("hybrid")
REQUESTS = 40_000
"""A run at full scale; of four volumes, all together. HPDA's log makes longer ones slow."""
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
"""More memory than any of the stand-ins fills: what is used is what is needed."""
ABLATED = 10_000
SWEPT = 20_000
MEMORIES_MIB = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
SHARES = (0.0, 0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.8, 1.0)
FEASIBLE = 0.98
"""An array this near to its SSD alone does not feel its disk (ours)."""
PHASES = ("in_place", "staged", "recalled", "destaged")
LENGTH_KIB = 4
"""A page of the paper's tables, as the stand-ins have it."""
TABLE_1 = {
    "RAID1 (SSD)": ("t7-mirror-base", (), 2, 1),
    "RAID5 (SSD)": ("t7-ssd-raid5", (), 5, 4),
    "RAID6 (SSD)": ("t7-ssd-raid5", ("redundancy.scheme=raid6", 'members=["6 * intel-320-160"]'), 6, 4),
    "SSD+disk": ("t7-backup-64", (), 4, 4),
}
"""The drive, what is set of it, its SSDs, and how many of them hold data."""


def group_run(system: str, group: str, *values: str, at_most: int | None = None) -> Run:
    """Four traces in closed loop, one a volume."""
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
    """A volume of the RAID-1 of SSDs and disks, by itself, its disk's write cache on."""
    cache = PUBLISHED.value("parameters", "disk", "cache")
    members = f'members=["intel-320-160","st3500630a,disk.write_cache_mib={cache:g}"]'
    return Run("t7-hybrid-mirror-base", name, (members,), options=CLOSED, at_most=ABLATED)


def ablations(group: str) -> dict[str, tuple[Run, ...]]:
    """What is changed one at a time; volumes that know nothing of each other may run by themselves."""
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
    """One page at a time on an idle drive or array that is full: at that rate none waits for another."""
    blocks = "flash.blocks_per_plane=64" if drive == "intel-320-160" else "member.flash.blocks_per_plane=64"
    if "disk" in drive or "backup" in drive:
        # `member.` would mean the disk, too.
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


def contents(title: str) -> Run:
    """What is in a trace."""
    return Run("intel-320-160", BY_TITLE[title], info=True)


def swept_share(drive: str, share: float) -> Run:
    """Proj's lengths and sequences with another share of writes."""
    return Run(drive, "hybrid-proj", (), f"footprint=64GiB,write={share:g}", CLOSED, at_most=SWEPT)


def swept_memory(group: str, mib: int) -> Run:
    """One disk behind four SSDs with so much memory."""
    return group_run("64 MB", group, f"redundancy.nvram_mib={mib}")


def runs() -> Iterator[Run]:
    """Everything that is simulated for this paper."""
    yield from (idle("intel-320-160", write=share) for share in (0.0, 1.0))
    yield from (idle(drive, *values) for drive, values, _, _ in TABLE_1.values())
    for title in BY_TITLE:
        yield from (contents(title), alone(title), alone(title, "three disks"))
    for group in GROUPS:
        yield together(group)
        yield from (group_run(system, group) for system in SYSTEMS)
        yield from (swept_memory(group, mib) for mib in MEMORIES_MIB)
        for several in ablations(group).values():
            yield from several
    for share in SHARES:
        yield from (swept_share(drive, share) for drive in ("intel-320-160", SYSTEMS["8 MB"]))


def iops(results: Results, *several: Run) -> float:
    """Requests a second, of all."""
    return sum(float(results[run]["throughput"]["iops"]) for run in several)


def find(results: Results) -> Findings:
    """The tables and figures of the paper, from the runs."""
    tables = [
        table_1(results), money(results), table_2(results), table_3(results), *table_4(results), *table_5(results),
        table_6(results), *table_7(results), feasibility(results), memory_knee(results),
    ]  # fmt: skip
    return Findings(tables, pictures(results), whys(results))


def table_1(results: Results) -> Table:
    """Latency on idle arrays in the SSD's own, capacity that is paid for, and pages that SSDs write."""
    reads, writes = (
        float(results[idle("intel-320-160", write=share)]["response_us"][kind]["mean"])
        for share, kind in ((0.0, "read"), (1.0, "write"))
    )

    def simulate(cell: Cell) -> float:
        drive, values, ssds, data = TABLE_1[cell.row]
        summary = results[idle(drive, *values)]
        if cell.column.startswith("latency"):
            latency: float = summary["response_us"]["write"]["mean"]
            theirs = PUBLISHED.value("1", cell.row, "latency, Sr") * reads
            return (latency - theirs) / writes if cell.column == "latency, Sw" else (latency - writes) / reads
        if cell.column == "cost, Cs":
            return ssds / data
        if cell.column == "cost, Ch":
            return 1.0 if cell.row == "SSD+disk" else 0.0
        written: int = sum(member["host_pages_written"] for member in summary["members"] if member["wear"])
        return ssds * int(summary["workload"]["writes"]) / (data * written)

    cells = PUBLISHED.cells("1", simulate)
    for cell in cells:
        if cell.column.startswith("cost"):
            cell.note = "counted: members a unit of data"
    pair = results[idle(TABLE_1["SSD+disk"][0])]["response_us"]["write"]["mean"]
    cells.append(Cell("1", "SSD+disk", "latency, us", None, pair, "us"))
    cells += [
        Cell("1", "SSD", "Sw", None, writes, "us"),
        Cell("1", "SSD", "Sr", None, reads, "us"),
    ]
    rule = Near(0.01, 0.0, own_group, "nothing")
    return Table("1", "Write latency, cost and lifespan, N = 4", cells, rule, (
        "Latency: mean of single random writes of a page, a second apart in the mean, on full arrays (of smaller "
        "SSDs, so that filling them takes no time), as multiples of what the lone SSD takes. Lifespan: pages that the "
        "host wrote over pages that SSDs were given, by the SSDs that share them. The hybrid's latency Hrw is not in "
        "the SSD's terms; it is given in microseconds.",
    ))  # fmt: skip


def money(results: Results) -> Table:
    """Table 1's formulas with prices."""
    ssd, disk = (
        PUBLISHED.value("parameters", *at) for at in (("SSD", "price Cs"), ("disk", "price Ch"))
    )  # fmt: skip
    base = ssd * PUBLISHED.value("1", "RAID1 (SSD)", "cost, Cs")
    cells = []
    for row in TABLE_1:
        cost = ssd * PUBLISHED.value("1", row, "cost, Cs") + disk * PUBLISHED.value("1", row, "cost, Ch")
        cells.append(Cell("1, money", row, "cost", None, cost, "USD/GB"))
        cells.append(Cell("1, money", row, "cost against RAID1", None, cost / base, "x"))
        life = PUBLISHED.value("1", row, "lifespan, Ls")
        cells.append(Cell("1, money", row, "cost a lifespan of RAID1", None, cost / life, "USD/GB"))
    del results
    return Table("1, money", "What that costs, at prices of 2011 (ours)", cells, None, (
        f"Prices stand in hybrid.csv: {ssd:g} USD a GB of SSD, {disk:g} of disk. The hybrid is the cheapest wherever "
        "a GB of disk costs less than 1/N of one of SSD.",
    ))  # fmt: skip


def table_2(results: Results) -> Table:
    """The shares of reads and writes; SRC1 and SRC2 as in Table 3."""
    swapped = {"SRC1": "SRC2", "SRC2": "SRC1"}
    cells = []
    for title in BY_TITLE:
        row = swapped.get(title, title)
        reads, writes = (PUBLISHED.value("2", row, column) for column in ("reads", "writes"))
        info = results[contents(title)]
        told = 100 * info["writes"] / info["requests"]
        note = f"printed as {row}" if row != title else ""
        cells.append(Cell("2", title, "write %", 100 * writes / (reads + writes), told, "%", note=note))
    rule = Near(0.10, 0.0, own_group, "nothing", relative=True)
    return Table("2", "Traces: the share of writes", cells, rule, ("What `trace info` finds.",), is_input=True)


def table_3(results: Results) -> Table:
    """Requests, sequences, and their lengths, of writes."""
    cells = []
    for title in BY_TITLE:
        info = results[contents(title)]
        requests, sequences = (PUBLISHED.value("3", title, column) for column in ("requests", "sequences"))
        ours = info["write_sequences"] / info["writes"] if info["writes"] else None
        cells.append(Cell("3", title, "sequences / requests", sequences / requests, ours, "x"))
        for column, key in (
            ("length of requests", "mean_write_kib"),
            ("length of sequences", "mean_write_sequence_kib"),
        ):
            pages = info[key] / LENGTH_KIB if info[key] else None
            cells.append(Cell("3", title, column, PUBLISHED.value("3", title, column), pages, "pages"))
    for cell in cells:
        if cell.row == "LiveMaps" and cell.column.startswith("sequences"):
            cell.note = "the paper's row contradicts itself by a factor of five"
    rule = Near(0.10, 0.0, own_group, "nothing", relative=True)
    return Table("3", "Traces: writes, sequences, and their lengths", cells, rule, (
        "What `trace info` finds. The counts are those of whole traces; their ratio is what a stand-in can have.",
    ), is_input=True)  # fmt: skip


def table_4(results: Results) -> list[Table]:
    """The memory that each trace takes."""
    keys = {"max": "backup.nvram_most_mib", "mean": "backup.nvram_mean_mib"}
    cells = PUBLISHED.cells("4", lambda cell: results.figure(alone(cell.row), keys[cell.column]))
    rule = Near(0.25, 0.0, lambda cell: cell.column, "the traces", relative=True)
    spread = [
        Cell("one disk or three", title, column, None, results.figure(alone(title, system), keys["max"]), "MiB")
        for title in BY_TITLE
        for column, system in (("max, one disk", "64 MB"), ("max, three disks", "three disks"))
    ]
    for group in GROUPS:
        both = results.figure(together(group), keys["max"])
        spread.append(Cell("one disk or three", f"{group}, all four", "max, three disks", None, both, "MiB"))
    return [
        Table("4", "NVRAM use", cells, rule, (
            "Each trace alone on one disk, at its own rate, with 512 MiB. How long and how dense the bursts of the "
            "real traces are is not published; those of the stand-ins are ours, and peaks follow from them.",
        )),
        Table("one disk or three", "Peak of a trace alone: one disk, and three that share its SSD", spread),
    ]  # fmt: skip


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


def table_5(results: Results) -> list[Table]:
    """Reorganisation: lengths and ratios, and the volume against what f makes of it."""
    figures = {title: moved(results, alone(title)) for title in BY_TITLE}
    lengths = [
        cell
        for cell in PUBLISHED.cells("5", lambda cell: figures[cell.row].get(cell.column))
        if cell.column.startswith("length")
    ]
    derived = PUBLISHED.cells("5 derived", lambda cell: figures[cell.row][cell.column])
    for title in BY_TITLE:
        expected = 1 + 2 * figures[title]["share staged f"]
        derived.append(Cell("5 derived", title, "1 + 2f, of the f here", None, expected, "x"))
    rule = Near(0.25, 0.0, lambda cell: cell.column, "the traces", relative=True)
    return [
        Table("5", "Mean lengths before and after reorganisation", lengths, rule),
        Table("5 derived", "Operations and volume after reorganisation over those before", derived, rule, (
            "After: what phases 1 to 3 moved, reads of free segments included. 1 + 2f exceeds the volume by what was "
            "written again before it came to rest.",
        )),
    ]  # fmt: skip


def table_6(results: Results) -> Table:
    """Three disks, the memory that each takes."""

    def simulate(cell: Cell) -> float:
        what, _, disk = cell.column.partition(", disk ")
        key = {"max": "nvram_most_mib", "mean": "nvram_mean_mib"}[what]
        return float(results[together(cell.row)]["backup"]["disks"][int(disk) - 1][key])

    rule = Near(0.25, 0.0, own_group, "nothing", relative=True)
    return Table("6", "NVRAM use with three disks", PUBLISHED.cells("6", simulate), rule, (
        "Group 1's mean of 19.8 for disk 1 stands beside a maximum of 21.6 and means of 4.4 and 5.9: probably a typo.",
        "Segments go to the disks in turn (ours), so that the three are used alike; the paper's are not.",
    ))  # fmt: skip


def relative(results: Results, system: str, group: str) -> float:
    """Requests a second as a multiple of the mirrored SSDs'."""
    return iops(results, group_run(system, group)) / iops(results, group_run("SSD RAID1", group))


def table_7(results: Results) -> list[Table]:
    """Requests a second, as multiples of the first column, and in which order."""
    plain = PUBLISHED.cells("7", lambda cell: iops(results, group_run(cell.column, cell.row)))
    shares = PUBLISHED.cells("7 relative", lambda cell: relative(results, cell.column, cell.row))
    order = []
    for group in GROUPS:
        theirs = {system: PUBLISHED.value("7 relative", group, system) for system in SYSTEMS}
        ours = {system: relative(results, system, group) for system in SYSTEMS}
        ranked = sorted(SYSTEMS, key=lambda system: -theirs[system])
        order += [
            Cell("7 order", group, f"{high} over {low}", trend(theirs[low], theirs[high], 0.0),
                 trend(ours[low], ours[high], 0.0), "trend")
            for high, low in pairwise(ranked)
        ]  # fmt: skip
    near = Near(0.10, 0.02, lambda cell: cell.row, "the systems of a group", relative=True)
    changed = [
        Cell("7 ablations", group, name, None, iops(results, *several), "IOPS")
        for group in GROUPS
        for name, several in ablations(group).items()
    ]
    return [
        Table("7", "Requests a second, four traces in closed loop", plain, near, (
            "How many requests the paper keeps outstanding is not said; here one a trace.",
        )),
        Table("7 relative", "Table 7 over its first column", shares, near),
        Table("7 order", "Table 7: neighbours in the paper's order", order, Same("the first is the faster, as there")),
        Table("7 ablations", f"Table 7 with one thing changed, {ABLATED:,} requests", changed),
    ]  # fmt: skip


def feasible(results: Results) -> list[tuple[float, float, float]]:
    """Share of writes, requests a second of the lone SSD, and of the array."""
    ssd, array = (partial(swept_share, drive) for drive in ("intel-320-160", SYSTEMS["8 MB"]))
    return [(share, iops(results, ssd(share)), iops(results, array(share))) for share in SHARES]


def knee(points: list[tuple[float, float, float]]) -> float:
    """The share of writes from which on the array falls behind its SSD, between two points by a straight line."""
    before = (points[0][0], 1.0)
    for share, ssd, array in points:
        ratio = array / ssd
        if ratio < FEASIBLE:
            return before[0] + (before[1] - FEASIBLE) / (before[1] - ratio) * (share - before[0])
        before = (share, ratio)
    return points[-1][0]


def feasibility(results: Results) -> Table:
    """The bound Pd/(Ps − Pd) beside the knee."""
    points = feasible(results)
    _, ps, pd = points[-1]
    cells = [
        Cell("feasibility", f"{100 * share:g} % writes", column, None, value, unit)
        for share, ssd, array in points
        for column, value, unit in (("SSD", ssd, "IOPS"), ("array", array, "IOPS"), ("array / SSD", array / ssd, "x"))
    ]
    found = knee(points)
    cells += [
        Cell("feasibility", "bound", column, None, value, unit)
        for column, value, unit in (
            ("Ps: SSD, writes only", ps, "IOPS"),
            ("Pd: array, writes only", pd, "IOPS"),
            ("writes a read, Pd / (Ps - Pd)", pd / (ps - pd) if ps > pd else None, "x"),
            ("writes a read at the knee", found / (1 - found) if found < 1 else None, "x"),
            ("share of writes, Pd / Ps", pd / ps, "share"),
            ("share of writes at the knee", found, "share"),
        )
    ]
    return Table("feasibility", "Share of writes up to which the disk keeps up (ours)", cells, None, (
        f"Proj's lengths and sequences, one request outstanding, 8 MB. The knee is where the array reaches less than "
        f"{100 * FEASIBLE:g} % of its SSD.",
    ))  # fmt: skip


def memory_knee(results: Results) -> Table:
    """Requests a second over the size of the memory."""
    cells = []
    for group in GROUPS:
        by_size = {mib: iops(results, swept_memory(group, mib)) for mib in MEMORIES_MIB}
        cells += [Cell("memory", group, f"{mib} MiB", None, value, "IOPS") for mib, value in by_size.items()]
        most = max(by_size.values())
        enough = min(mib for mib, value in by_size.items() if value >= 0.95 * most)
        cells.append(Cell("memory", group, "knee: 95 % of the most", None, float(enough), "MiB"))
    return Table("memory", "Requests a second over the size of the memory, one disk (ours)", cells, None, (
        "A closed loop has no pauses: once the memory is full, the disk sets the pace, whatever its size. Sizes that "
        "hold a good part of all that the run writes look better the shorter the run is.",
    ))  # fmt: skip


def whys(results: Results) -> list[Why]:
    """Why Table 7 is not the paper's, with the runs that show it."""
    rows = tuple(
        (name, tuple(iops(results, *ablations(group)[name]) for group in GROUPS)) for name in ablations("Group1")
    )
    volumes = tuple(
        (title, (moved(results, alone(title))["share staged f"], PUBLISHED.value("5 derived", title, "share staged f")))
        for title in BY_TITLE
    )
    return [
        Why("Table 7: what the disks' write caches, and DRAM, change",
            "HPDA and the RAID-1 of SSD and disk acknowledge a write when a disk has it. Here a disk has it when it is "
            "on the platter (write caches off, as durability asks): some 10 ms. The paper's 0.42 and 0.75 of the "
            "mirrored SSDs cannot be reached so: with a share of writes w and 10 ms each, a loop of one request turns "
            "at most 1 / (w · 10 ms) times a second. With caches on, and with the 64 MB that the paper gives to the "
            "systems it compares with, they come nearer.", tuple(GROUPS), rows),
        Why("Table 7: one disk behind four SSDs that never pause",
            "The SSDs here are several times as fast as the paper's figures say of theirs, so the same disk is a "
            "smaller part of them: four closed loops write more than it takes in, the memory fills, and its pace is "
            "the disk's. More memory only puts that off (the rows with more requests, and the sweep). With three "
            "disks the array stands where the paper's does or higher."),
        Why("Table 5: nearly everything takes the detour",
            "E.4 of the reference infers from the paper's volumes that 10 to 32 % of the data are staged in free "
            "segments, the rest is written in place. By the rule that the text gives (in place where the data segment "
            "is no farther from the head than the nearest free one) nearly all are staged here: a free segment follows "
            "every 32 data segments, so the nearest is at most 32 away, and the stand-ins spread over 128 GiB. The "
            "volume is then 1 + 2f with f near one, as it must be. The paper's traces are more local, or its rule is "
            "another.", ("f here", "f of the paper"), volumes),
    ]  # fmt: skip


def pictures(results: Results) -> list[Picture]:
    """Table 7 as bars, and the two sweeps."""
    return [
        Picture("table-7", "Table 7: requests a second, SSD RAID1 = 1, published and simulated",
                partial(draw_table_7, results), (8.6, 5.2)),
        Picture("feasibility", "Requests a second of the array (8 MB) over those of its SSD, by share of writes",
                partial(draw_feasibility, results)),
        Picture("memory", "Requests a second by size of the memory, one disk", partial(draw_memory, results)),
    ]  # fmt: skip


def draw_table_7(results: Results, figure: Figure, style: Style) -> None:
    """A panel a group, a pair of bars a system."""
    panels = figure.subplots(len(GROUPS), 1, sharex=True)
    for axes, group in zip(panels, GROUPS, strict=True):
        theirs = tuple(PUBLISHED.value("7 relative", group, system) for system in SYSTEMS)
        ours = tuple(relative(results, system, group) for system in SYSTEMS)
        labels = tuple(system.replace(" RAID", "\nRAID") for system in SYSTEMS)
        bars(axes, style, labels, (Series("published", theirs, 4, 1), Series("simulated", ours, 0)), "IOPS, relative")
        axes.set_title(group)
    legend(figure, panels[0], 2)


def draw_feasibility(results: Results, figure: Figure, style: Style) -> None:
    """The ratio, and where the formula has its bound."""
    axes = figure.subplots()
    points = feasible(results)
    ratios = tuple(array / ssd for _, ssd, array in points)
    shares = tuple(100 * share for share, _, _ in points)
    lines(axes, style, shares, (Series("array / SSD", ratios, 0),), "IOPS, SSD alone = 1")
    _, ps, pd = points[-1]
    axes.axvline(100 * pd / ps, color=style["ink"], linewidth=0.9, linestyle=":", label="Pd / Ps")
    axes.set_xlabel("share of writes, %")
    axes.set_ylim(0, 1.1)
    legend(figure, axes, 2)


def draw_memory(results: Results, figure: Figure, style: Style) -> None:
    """A line a group."""
    axes = figure.subplots()
    series = tuple(
        Series(group, tuple(iops(results, swept_memory(group, mib)) for mib in MEMORIES_MIB), at, at)
        for at, group in enumerate(GROUPS)
    )
    lines(axes, style, tuple(float(mib) for mib in MEMORIES_MIB), series, "requests a second")
    axes.set_xscale("log", base=2)
    plain_numbers(axes.xaxis)
    axes.set_xlabel("memory, MiB")
    axes.set_ylim(bottom=0)
    legend(figure, axes, 2)


PAPER = Paper(
    name="hybrid",
    title="SSDs backed up on disks through a small non-volatile memory",
    citation="Fan, High performance storage systems based on SSD",
    workloads=WORKLOADS,
    runs=runs,
    find=find,
    stand_ins="The paper's traces are not part of flashkeep. Each workload that is not replaced by a real trace "
    "(--trace) is a synthetic stand-in fitted to Tables 2 and 3; addresses, and when requests come, are ours. A run "
    f"has {REQUESTS:,} requests at full scale, of four traces together where four run side by side.",
    misprints=(
        "“61 pages … 4 ms … 62.5 µs”: 4 ms / 62.5 µs is 64 pages.",
        "SRC1 and SRC2 are swapped between Table 2 and Tables 3 and 5.",
        "Table 2's rows add up to round totals, and its writes differ from Table 3's by up to 20,500.",
        "LiveMaps in Table 3: sequences times their length is a fifth of requests times theirs.",
        "“Eight” loads, but nine in Table 2; Proxy is not used.",
        "Table 6, Group 1: disk 1's mean of 19.8 beside a maximum of 21.6 is probably a typo.",
        "Section 4.4 announces a RAID-5 of SSDs and disks; the table has HPDA. The memory with three disks is not "
        "given: 64 MB here.",
        "Table 1: the hybrid's cost is “the lowest” only where Ch < Cs / N.",
        "The unit of lengths is not given; here pages of 4 KiB.",
    ),
    trace_options=(("wrap", True),),
)
