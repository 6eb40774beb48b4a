"""Design Tradeoffs for SSD Performance (Agrawal et al.): what a drive's organisation does to its speed and its wear.

Runs: microbenchmarks, the validation runs of the paper's simulator, gangs, logical pages, copy-back, wear levelling,
alignment, interleaving, cleaning in the background, spare room, and drives of the kinds in its table of the industry.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .paper import Cell, Findings, Run, Table, described
from .tradeoffs_figures import pictures
from .tradeoffs_runs import (
    ALIGNED,
    BACKGROUND,
    CLEANED,
    FASTER,
    FILES,
    IN_TURN_FASTER,
    KINDS,
    LEVELLING,
    NAMED,
    PAGES_KIB,
    POOLS,
    PUBLISHED,
    RATES,
    RESERVE,
    SHORT,
    TURNS,
    UNALIGNED,
    UNITS,
    WORKLOADS,
    aligned,
    background,
    cleaned_for,
    cleaning,
    control,
    device,
    extension,
    gang,
    in_turn,
    interleaved,
    micro,
    package,
    paged,
    pooled_micro,
    reserved,
    runs,
    worn,
)
from .verdicts import Near, Same, own_group, trend

if TYPE_CHECKING:
    from .paper import Results


def mean(results: Results, run: Run) -> float | None:
    """The mean response, µs."""
    return results.figure(run, "response_us.all.mean")


def micro_figure(results: Results, cell: Cell, run: Run | None = None) -> float | None:
    """The element's own time for a page, with its share of cleaning; or pages per second."""
    run = run or micro(cell.row)
    rate = results.figure(run, "throughput.iops")
    if cell.column == "rate" or not rate:
        return rate
    if not cell.row.endswith("cleaning"):
        return results.figure(run, "service_us.all.mean")
    busy, elements = results.figure(run, "utilization.die_mean"), results[run]["drive"]["flash"]["channels"]
    return None if busy is None else busy * elements * 1e6 / rate


def cleaned(results: Results, run: Run, column: str) -> float | None:
    """The time of cleaning a block, the share of free pages in it, and the number of cleaned blocks."""
    summary = results[run]
    done, flash = summary["operations"], summary["drive"]["flash"]
    blocks = done["erase"]["gc"]
    if column == "blocks a package":
        return float(blocks / flash["channels"])
    if not blocks:
        return None
    backed, over = done["copyback"]["gc"], done["program"]["gc"]
    if column == "efficiency":
        return float(100 * (1 - (backed + over) / (blocks * flash["pages_per_block"])))
    timing = flash["timing"]
    array = timing["read_us"] + timing["program_us"]
    sectors = flash["page_kib"] * 1024 / flash["sector_bytes"]
    pins = 2 * sectors * flash["pin_bytes_per_sector"] * timing["bus_ns_per_byte"] / 1e3
    return float((timing["erase_us"] + (backed * array + over * (array + pins)) / blocks) / 1e3)


def find(results: Results) -> Findings:
    """The tables and figures of the paper, from the runs."""
    tables = [flash(results), *rates(results), *gangs(results), *sizes(results), *cleanings(results), *wear(results)]
    tables.append(industry(results))
    return Findings([*tables, *lacking(results)], pictures(results, tables))


def flash(results: Results) -> Table:
    """The properties of a package."""
    told = results[package("reads")]["drive"]["flash"]
    page = told["page_kib"] * 1024
    figures = {
        "page read to register": told["timing"]["read_us"],
        "serial access to register": page * told["timing"]["bus_ns_per_byte"] / 1e3,
        "page write": told["timing"]["program_us"],
        "block erase": told["timing"]["erase_us"],
    }
    cells = PUBLISHED.cells("flash", lambda cell: float(figures[cell.row]))
    return Table("flash", "Properties of flash", cells, Near(0.001, 0.0, own_group, "nothing", True), is_input=True)


def rates(results: Results) -> list[Table]:
    """One package, eight of them, and the simulator that the paper used."""

    def of_package(cell: Cell) -> float | None:
        rate = results.figure(package(cell.row), "throughput.iops")
        return rate * 4096 / 2**20 if rate is not None and cell.column == "bandwidth" else rate

    def of_extension(cell: Cell) -> float | None:
        if cell.column == "mean response":
            found = mean(results, extension(cell.row))
            return None if found is None else found / 1e3
        summary = results[extension(cell.row)]
        return float(summary["utilization"]["channel"][0] * summary["simulated_s"] * 1e3)

    def near(within: float) -> Near:
        return Near(within, 0.0, own_group, "nothing", relative=True)

    return [
        Table("micro", "Microbenchmarks", PUBLISHED.cells("micro", partial(micro_figure, results)), near(0.02), (
            "Latency is the time of an element for a page, without waiting; with cleaning, what cleaning takes of its "
            "time is spread over the pages. Sequential requests at a depth of 16, random ones at 512, so that no "
            "element is idle; the paper's depth is not said. With cleaning: 5 M writes to an eighth of the drive, "
            "pages moved over the pins, which is what gives the published figures.",
        )),
        Table("package", "One package: bandwidth and interleaving", PUBLISHED.cells("package", of_package),
              near(0.03), (
            "MB are 2²⁰ bytes: with 10⁶ the paper's 8,000 pages of 4 KB would be 32.8 MB/s, not 32 (10,000: 41.0).",
        )),
        Table("extension", "Results that come with the extension of DiskSim that the paper describes",
              PUBLISHED.cells("extension", of_extension), near(0.001)),
    ]  # fmt: skip


def gangs(results: Results) -> list[Table]:
    """Packages that share a bus, or control lines."""

    def shared_bus(cell: Cell) -> float | None:
        found = mean(results, gang(cell.row))
        return 1e6 / found if found and cell.column == "rate" else found

    def shared_control(cell: Cell) -> float | None:
        before, after = (mean(results, control(kind, cell.row)) for kind in ("async", "sync"))
        return trend(before, after, 0.001 * (before or 0.0))

    rule = Near(0.15, 0.0, lambda cell: cell.column, "the three gangs", relative=True)
    bus = PUBLISHED.cells("gang", shared_bus)
    for cell in bus:
        if cell.column == "rate" and cell.row != "no gang":
            cell.note = "likely miscopied in the slides: the three rates are not in the order of the three latencies"
    return [
        Table("gang", "Shared bus, TPC-C", bus, rule, (
            "The rate is 1 / latency: a gang with one request at a time. The stand-in has 500 requests a second for "
            "eight packages, 1,000 for sixteen; the paper's rate is not published, and decides how long requests wait.",
        )),
        Table("control", "Shared control: synchronous ganging “uniformly underperforms” asynchronous",
              PUBLISHED.cells("control", shared_control), Same("the mean response rises (by more than 0.1 %)")),
    ]  # fmt: skip


def sizes(results: Results) -> list[Table]:
    """Logical pages, and requests that begin inside one."""

    def by_page(cell: Cell) -> float | None:
        return mean(results, paged(int(cell.row.split(" ")[0])))

    def by_place(_: Cell) -> float | None:
        if NAMED["TPC-C"] in results.real:
            return None  # requests of a real trace keep their start addresses
        before, after = (mean(results, aligned(4, align)) for align in (ALIGNED, UNALIGNED))
        return trend(before, after, 0.001 * (before or 0.0))

    pages = PUBLISHED.cells("page size", by_page)
    pages[-1].note = "printed as: over 20 ms"
    rule = Near(0.10, 0.0, lambda cell: cell.column, "page sizes", relative=True)
    return [
        Table("page size", "Logical pages, TPC-C", pages, rule, ("How far beyond 20 ms depends on the rate, ours.",)),
        Table("alignment", "“Alignment is important”: TPC-C's requests of 8 KB beginning at any sector",
              PUBLISHED.cells("alignment", by_place), Same("the mean response rises (by more than 0.1 %)")),
    ]  # fmt: skip


def cleanings(results: Results) -> list[Table]:
    """The cost of cleaning a block."""
    every = PUBLISHED.cells("cleaning", lambda cell: cleaned(results, cleaning(cell.row), cell.column))
    blocks = PUBLISHED.cells("blocks", lambda cell: cleaned(results, cleaning(cell.row), cell.column))

    def put_in(cell: Cell) -> bool:
        return cell.row.startswith("TPC-C") and cell.column == "efficiency"

    near = Near(0.05, 0.0, own_group, "nothing", relative=True)
    return [
        Table("cleaning", "Copy-back and inter-plane transfer", [cell for cell in every if not put_in(cell)], near, (
            "Efficiency is the share of a cleaned block's pages that were superseded.",
        )),
        Table("cleaning, put in", "Blocks cleaned, and TPC-C's efficiency",
              [cell for cell in every if put_in(cell)] + blocks, Near(0.20, 0.0, own_group, "nothing", relative=True), (
                  "The traces' lengths and TPC-C's locality are not published: runs are as long, and TPC-C as "
                  "local, as it takes to come near these.",
              ), is_input=True),
    ]  # fmt: skip


def wear(results: Results) -> list[Table]:
    """Life left after IOzone."""
    keys = {"mean life": "remaining_life_mean", "deviation": "remaining_life_stddev", "expired": "expired_blocks"}

    def left(cell: Cell) -> float | None:
        return results.figure(worn(cell.row), f"wear.{keys[cell.column]}")

    order = Near(0.10, 0.01, lambda cell: cell.column, "the three ways", relative=True)
    return [
        Table("wear", "Block wear in IOzone: erases that blocks have left, of 50",
              PUBLISHED.cells("wear", left), order, (
            "These figures are remembered, not read. One thing confirms them: 50 less 101,170 cleaned blocks a package "
            "(another table) over its 16,384 is 43.82, the mean life of greedy. The budget of 50 is the published "
            "program's.",
        )),
        Table("expired", "Blocks whose life has ended, of 131,072", PUBLISHED.cells("expired", left), order),
    ]  # fmt: skip


def industry(results: Results) -> Table:
    """Products, beside modelled drives of the same kind."""

    def reach(cell: Cell) -> float | None:
        run = device(cell.row, cell.column)
        if cell.unit == "1/s":
            return results.figure(run, "throughput.iops")
        kind = cell.column.split(" ")[1]
        found = results.figure(run, f"throughput.{kind}_mib_s")
        return None if found is None else found * 2**20 / 1e6

    cells = PUBLISHED.cells("industry", reach)
    for cell in cells:
        if (cell.row, cell.column) == ("USB", "random write"):
            cell.note = "printed as: fewer than 20"
    rule = Near(0.50, 0.0, lambda cell: cell.column, "the four kinds", relative=True)
    return Table("industry", "Industry trends: products, and modelled drives of their kind", cells, rule, (
        *KINDS, "Packages and flash are the paper's, the links their standards'; how many packages, which map and how "
        "many requests at once is ours. None is a model of the product: those had older flash and slower controllers. "
        "Sequential requests have the size of a stripe, what a write buffer would make of smaller ones.",
    ))  # fmt: skip


def lacking(results: Results) -> list[Table]:
    """Experiments whose numbers are not printed, or that the paper describes in words only."""

    def cell(table: str, row: str, column: str, run: Run, path: str = "response_us.all.mean", unit: str = "µs") -> Cell:
        return Cell(table, row, column, None, results.figure(run, path), unit)

    two = ("TPC-C", "Exchange")
    inter = [
        cell("interleaving", f"{title}, x{faster:g}", f"{unit}, {word}", interleaved(title, unit, faster), path, kind)
        for title in two for faster in FASTER for unit in UNITS
        for word, path, kind in (("response", "response_us.all.mean", "µs"), ("queue", "queue.mean", "requests"))
    ]  # fmt: skip
    ganged = [cell("control, bars", title, kind, control(kind, title)) for title in NAMED for kind in ("async", "sync")]
    rates = [
        cell("ablation: rate", row, f"x{faster:g}", gang(row, faster))
        for row in PUBLISHED.rows("gang") for faster in RATES
    ] + [
        cell("ablation: rate", f"pages of {PAGES_KIB[-1]} KB", f"x{faster:g}", paged(PAGES_KIB[-1], faster))
        for faster in RATES
    ]  # fmt: skip
    sized = [cell("page sizes", f"{kib} KB", "response", paged(kib)) for kib in PAGES_KIB]
    placed = [
        cell("alignments", f"pages of {kib} KB", name, aligned(kib, align))
        for kib in (4, 32) for name, align in (("8 KB", ALIGNED), ("512 B", UNALIGNED))
        if NAMED["TPC-C"] not in results.real
    ]  # fmt: skip
    behind = [
        cell("background", title, how, background(title, how))
        for title in CLEANED for how in BACKGROUND
    ]  # fmt: skip
    spare = [
        cell("over-provisioning", f"{title}, {100 * share:g} %", name, reserved(title, share), path, kind)
        for title in two for share in RESERVE
        for name, path, kind in (("response", "response_us.all.mean", "µs"),
                                 ("write amplification", "write_amplification.total", "x"))
    ]  # fmt: skip
    files = [
        cell("ablation: IOzone's file", f"{name}, {row}", word, worn(row, footprint), f"wear.{key}", "erases")
        for footprint, name in FILES.items() for row in LEVELLING
        if NAMED["IOzone"] not in results.real
        for word, key in (("mean life", "remaining_life_mean"), ("deviation", "remaining_life_stddev"))
    ]  # fmt: skip
    pools = [
        Cell("pools", row, f"{pool}, {word}", None, micro_figure(results, Cell("pools", row, column, None, None, kind),
                                                                 pooled_micro(row, pool)), kind)
        for row in PUBLISHED.rows("micro") if row.endswith("cleaning") for pool in POOLS
        for word, column, kind in (("page", "latency", "µs"), ("rate", "rate", "1/s"))
    ] + [
        Cell("pools", row, f"published, {word}", None, PUBLISHED.value("micro", row, column), kind)
        for row in PUBLISHED.rows("micro") if row.endswith("cleaning")
        for word, column, kind in (("page", "latency", "µs"), ("rate", "rate", "1/s"))
    ] + [
        cell("pools", title, f"{pool}, response", cleaned_for(drive, title))
        for title in CLEANED for pool, drive in POOLS.items()
    ]  # fmt: skip
    turns = [
        cell("rounds", f"{title}, x{faster:g}", how, in_turn(title, how, faster))
        for title in two for faster in IN_TURN_FASTER for how in TURNS
    ]  # fmt: skip
    tables = [
        Table("interleaving", "Interleaving: mean response and mean queue, requests coming faster", inter),
        Table(
            "control, bars",
            "Shared control: mean response of asynchronous and synchronous gangs of 8",
            ganged,
            notes=("IOzone saturates the synchronous gang: its mean grows with the length of the run.",),
        ),
        Table("ablation: rate", "TPC-C coming slower and faster: mean response", rates),
        Table("page sizes", "Logical pages, TPC-C: mean response", sized),
        Table("alignments", "Alignment, TPC-C: mean response by where requests may begin", placed),
        Table("background", "Cleaning when a request waits, after it, or ahead of the need: mean response", behind),
        Table(
            "pools",
            "The unit of cleaning: a plane or a package; time of a package for a page, pages a second, mean response",
            pools,
            notes=(
                "The paper does not say of which. Its extension cleans planes where it copies back, and packages "
                "where it does not. The microbenchmarks come out with either, so long as pages cross the pins.",
            ),
        ),
        Table(
            "rounds",
            "Parts of a package side by side, requests taken as they come or in rounds: mean response",
            turns,
            notes=(
                "In rounds, what waits is taken at once and done one operation a part, as in the paper's extension.",
            ),
        ),
        Table("over-provisioning", "Share of blocks kept back: mean response and write amplification", spare),
        Table("ablation: IOzone's file", "Wear by the size of IOzone's file, on an eighth of the drive", files),
    ]
    return [table for table in tables if table.cells]


PAPER = described("tradeoffs", WORKLOADS, runs, find, (("wrap", True),), short=SHORT)
