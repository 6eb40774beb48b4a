"""The hybrid backup (Fan): SSDs that disks back up through a small non-volatile memory, beside other arrays.

Runs: Tables 1 to 7; and what the paper lacks: write share and size of the memory swept to their knees, one disk against
three for each trace, the systems compared without memory and caches, longer runs, other rewrite shares.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from .hybrid_figures import pictures
from .hybrid_lives import lives
from .hybrid_runs import (
    BY_TITLE,
    GROUPS,
    PAIR,
    PUBLISHED,
    REQUESTS,
    SYSTEMS,
    TABLE_1,
    WORKLOADS,
    ablations,
    alone,
    contents,
    group_run,
    idle,
    iops,
    moved,
    relative,
    runs,
    together,
)
from .hybrid_sweeps import bursts, feasibility, locality, memory_knee, rewrites
from .paper import Cell, Findings, Table, described
from .verdicts import Near, Same, own_group

if TYPE_CHECKING:
    from .paper import Results

LENGTH_KIB = 4
"""The page size of the paper's tables, as the stand-ins use it."""


def find(results: Results) -> Findings:
    """The tables and figures of the paper, from the runs."""
    tables = [
        table_1(results), money(results), table_2(results), table_3(results), *table_4(results), *table_5(results),
        table_6(results), *table_7(results), *feasibility(results), memory_knee(results),
        lives(results),
        bursts(results), rewrites(results), locality(results),
    ]  # fmt: skip
    return Findings(tables, pictures(results))


def table_1(results: Results) -> Table:
    """Latency of idle arrays relative to the SSD's, the capacity that is paid for, and pages that SSDs write."""
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
    return Table("2", "Traces: the share of writes", cells, rule, ("What flashkeep trace info finds.",), is_input=True)


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
        "What flashkeep trace info finds. Counts are those of whole traces; their ratio is what a stand-in can have.",
    ), is_input=True)  # fmt: skip


def table_4(results: Results) -> list[Table]:
    """The memory that each trace needs."""
    keys = {"max": "backup.nvram_most_mib", "mean": "backup.nvram_mean_mib"}
    cells = PUBLISHED.cells("4", lambda cell: results.figure(alone(cell.row), keys[cell.column]))
    rule = Near(0.25, 0.0, lambda cell: cell.column, "the traces", relative=True)
    spread = [
        Cell("one disk or three", title, column, None, results.figure(alone(title, drive), keys["max"]), "MiB")
        for title in BY_TITLE
        for column, drive in (("max, one disk", PAIR), ("max, three disks", SYSTEMS["three disks"]))
    ]
    for group in GROUPS:
        both = results.figure(together(group), keys["max"])
        spread.append(Cell("one disk or three", f"{group}, all four", "max, three disks", None, both, "MiB"))
    return [
        Table("4", "NVRAM use", cells, rule, (
            "A prediction: each trace alone on one disk, at full load as in the paper, with 512 MiB. The memory holds "
            "what runs of writes between reads bring faster than the disk takes it. How long and how dense they are "
            "in the real traces is not published; the stand-ins have reads and writes in random order.",
        ), is_prediction=True),
        Table("one disk or three", "Peak of a trace alone: one disk, and three that share its SSD", spread),
    ]  # fmt: skip


def table_5(results: Results) -> list[Table]:
    """Reorganisation: lengths and ratios, and the volume compared with the one predicted from f."""
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
            "A prediction: how much of a trace is written again, and when, decides how much the disk moves, and the "
            "paper's traces are not available. After: what phases 1 to 3 moved, reads of free segments included. "
            "1 + 2f exceeds the volume by what was written again before it came to rest; published f follow from "
            "published volumes by this formula, without rewrites.",
        ), is_prediction=True),
    ]  # fmt: skip


def table_6(results: Results) -> Table:
    """Three disks: the memory that each needs."""

    def simulate(cell: Cell) -> float:
        what, _, disk = cell.column.partition(", disk ")
        key = {"max": "nvram_most_mib", "mean": "nvram_mean_mib"}[what]
        return float(results[together(cell.row)]["backup"]["disks"][int(disk) - 1][key])

    rule = Near(0.25, 0.0, own_group, "nothing", relative=True)
    return Table("6", "NVRAM use with three disks", PUBLISHED.cells("6", simulate), rule, (
        "Group 1's mean of 19.8 for disk 1 stands beside a maximum of 21.6 and means of 4.4 and 5.9: probably a typo.",
        "A prediction, as Table 4. Segments go to the disks in turn (ours), so that the three are used alike; the "
        "paper's are not.",
    ), is_prediction=True)  # fmt: skip


def table_7(results: Results) -> list[Table]:
    """Requests per second as multiples of the first column, and their order."""
    plain = PUBLISHED.cells("7", lambda cell: iops(results, group_run(cell.column, cell.row)))
    base = next(iter(SYSTEMS))
    shares = PUBLISHED.cells("7 relative", lambda cell: relative(results, cell.column, cell.row))
    # Its own multiple of itself says nothing.
    shares = [cell for cell in shares if cell.column != base]
    order = []
    for group in GROUPS:
        theirs = {system: PUBLISHED.value("7 relative", group, system) for system in SYSTEMS}
        ours = {system: relative(results, system, group) for system in SYSTEMS}
        ranked = sorted(SYSTEMS, key=lambda system: -theirs[system])
        order += [
            Cell("7 order", group, f"{high} over {low}", 1.0, float(ours[high] > ours[low]), "holds")
            for high, low in pairwise(ranked)
        ]
    near = Near(0.10, 0.02, lambda cell: cell.row, "the systems of a group", relative=True)
    changed = [
        Cell("7 ablations", group, name, None, iops(results, *several), "IOPS")
        for group in GROUPS
        for name, several in ablations(group).items()
    ]
    return [
        Table("7", "Requests a second, four traces in batches", plain, near, (
            "How many requests the paper sends at a time is not said; here one of each trace.",
        )),
        Table("7 relative", "Table 7 over its first column", shares, near),
        Table("7 order", "Table 7: neighbours in the paper's order", order, Same("the first is the faster, as there")),
        Table("7 ablations", "Table 7 with one thing changed", changed),
    ]  # fmt: skip


PAPER = described("hybrid", WORKLOADS, runs, find, (("wrap", True),), requests=REQUESTS)
