"""SIRF-1: a mirror across the channels of one drive, against a plain drive of the same storage.

Runs: six test pairs under five workloads, three page sizes of the first pair; and what the paper lacks: both drives
with the same DRAM, reads from the less busy copy, arrivals in bursts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .paper import Cell, Findings, Run, Table, described
from .sirf1_figures import pictures
from .sirf1_runs import (
    ABLATED,
    ABLATIONS,
    BY_TITLE,
    CAPACITY,
    CHANNELS,
    MEANS,
    PAGES_KIB,
    PAIRS,
    PUBLISHED,
    WORKLOADS,
    ablated_pairs,
    gain,
    page_size,
    pair,
    runs,
)
from .verdicts import Near, Same, trend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .paper import Results


def find(results: Results) -> Findings:
    """The tables and figures of the paper, from the runs."""
    tables = [table_3(results), table_5(results), *tables_6_and_7(results), text(results), *trends(results)]
    by_key = {cell.key: cell for table in tables if table.name in ("VI", "VII") for cell in table.cells}
    return Findings([*tables, *ablations(results)], pictures(results, by_key))


def table_3(results: Results) -> Table:
    """The properties of the workloads; for synthetic ones, their parameters."""

    def simulate(cell: Cell) -> float:
        workload: dict[str, float] = results[pair("TP1", BY_TITLE[cell.row])[0]]["workload"]
        requests = workload["requests"]
        figures = {
            "Requests": requests,
            "Write %": 100 * workload["writes"] / requests,
            "Read %": 100 * workload["reads"] / requests,
            "Avg. Reqs. / Sec": requests / workload["span_s"],
            "Avg. Reqs. Size": (workload["bytes_read"] + workload["bytes_written"]) / requests / 1024,
        }
        return figures[cell.column]

    rule = Near(0.10, 0.0, lambda cell: cell.column, "the workloads", relative=True)
    return Table("III", "Characteristics of the traces", PUBLISHED.cells("III", simulate), rule, (
        "For the synthetic stand-ins this table was put in: it is evidence of nothing but that they are as said.",
    ), is_input=True)  # fmt: skip


def table_5(results: Results) -> Table:
    """The properties of the drives."""

    def simulate(cell: Cell) -> float:
        name, printed = cell.row.split("/")
        run = pair(name, WORKLOADS[0].name)["NM" not in printed or printed == "8CNM-64"]
        summary = results[run]
        drive, flash = summary["drive"], summary["drive"]["flash"]
        dies = flash["channels"] * flash["chips_per_channel"] * flash["dies_per_chip"]
        pages = dies * flash["planes_per_die"] * flash["blocks_per_plane"] * flash["pages_per_block"]
        figures = {
            "# of Channels": flash["channels"],
            "Flash Memory": pages * flash["page_kib"] / 2**20,
            "Storage Capacity": summary["capacity_bytes"] / 2**30,
            "DRAM": drive["buffer"]["dram_mib"],
        }
        return float(figures[cell.column])

    rule = Near(0.101, 0.0, lambda cell: cell.column, "the drives", relative=True)
    return Table("V", "Varied simulation parameters", PUBLISHED.cells("V", simulate), rule, (
        "TP4's mirrored drive is printed as 8CNM-64; with mirroring its name is 8CM-64, as here.",
        "The paper's storage capacity is all or half of the flash. Here SSDSim's over-provisioning, 10 % of the flash, "
        "is taken from it, as SSDSim does; hence 10.1 % in this table's rule.",
    ), is_input=True)  # fmt: skip


def tables_6_and_7(results: Results) -> list[Table]:
    """The gains."""

    def simulate(cell: Cell) -> float | None:
        name, title = cell.row.split("/")
        return gain(results, pair(name, BY_TITLE[title]), cell.column)

    def a_workload(cell: Cell) -> str:
        return f"{cell.row.split('/')[1]} {cell.column}"

    rule = Near(10.0, 1.0, a_workload, "the three test pairs of its workload and column")
    tables = [
        Table("VI", "Relative performance improvements from test pairs 1 through 3", [], rule),
        Table("VII", "Relative performance improvements from test pairs 4 through 6", [], rule, (
            "TP5 is the same pair as TP3, and yet three of five workloads have other figures in Table VI.",
            "TP5 and TP6 of TPC-C have ΔMRT = ΔMRRT, which can only be where writes take no time. The columns have "
            "probably slipped: 31.5 is what ΔMRT of TP6 works out at.",
        )),
    ]  # fmt: skip
    for table in tables:
        table.cells = PUBLISHED.cells(table.name, simulate)
        for cell in table.cells:
            if cell.row in ("TP5/TPC-C", "TP6/TPC-C") and cell.column != "dMWRT":
                cell.note = "likely a misprint: dMRT = dMRRT"
    return tables


def text(results: Results) -> Table:
    """The numbers in the conclusions."""
    gains = {
        (name, title): gain(results, pair(name, workload), "dMRT")
        for name in PAIRS
        for title, workload in BY_TITLE.items()
    }
    known = [value for value in gains.values() if value is not None]
    simulated = {"mean of TP1 to TP6": sum(known) / len(known), "best": max(known), "worst": min(known)}
    rule = Near(10.0, 0.0, lambda cell: cell.column, "mean, best and worst")
    return Table("text", "ΔMRT over all test pairs and workloads", PUBLISHED.cells(
        "text", lambda cell: simulated[cell.row]), rule, (
        "The 30 printed values of ΔMRT have a mean of 15.08 %. The best case is called one of “2 or more channels”; it "
        "is TP1, whose plain drive has one.",
    ))  # fmt: skip


def trends(results: Results) -> list[Table]:
    """The text's claims about the three figures, whose numbers are not printed."""

    def mean(drive: str, workload: str) -> float | None:
        return results.figure(Run(drive, workload), "response_us.all.mean")

    def falling(drives: Sequence[str], workload: str) -> float | None:
        first, last = mean(drives[0], workload), mean(drives[-1], workload)
        return trend(first, last, 0.001 * (first or 0.0))

    def gains(pairs: Sequence[tuple[Run, Run]]) -> float | None:
        return trend(gain(results, pairs[0], "dMRT"), gain(results, pairs[-1], "dMRT"), 0.1)

    def simulate(cell: Cell) -> float | None:
        workload, figure = BY_TITLE[cell.row], cell.table
        if cell.table == "Fig. 6":
            return gains([page_size(kib, workload) for kib in PAGES_KIB])
        names = CHANNELS if figure == "Fig. 4" else CAPACITY
        if cell.column.startswith("dMRT"):
            return gains([pair(name, workload) for name in names])
        return falling([PAIRS[name]["mirrored" in cell.column] for name in names], workload)

    rule = Same("it rises or falls as the paper says (by more than 0.1 % or 0.1 points)")
    title = "what the text says of it (its numbers are not printed)"
    return [Table(figure, title, PUBLISHED.cells(figure, simulate), rule) for figure in ("Fig. 4", "Fig. 5", "Fig. 6")]


def ablations(results: Results) -> list[Table]:
    """The gains under other circumstances; the paper has no such runs."""
    titles = {
        "as it is": f"As in Tables VI and VII, at most {ABLATED:,} requests: to compare the others with",
        "equal DRAM": "The mirrored drive with the plain drive's DRAM",
        "least busy": "Reads from the less busy copy",
        "bursts": "Arrivals in bursts: a tenth of the gaps are pauses, the others a hundredth of the mean",
        "bursts, equal DRAM": "Arrivals in bursts, and the plain drive's DRAM",
    }
    return [
        Table(f"ablation: {name}", titles[name], [
            Cell(f"ablation: {name}", f"{at}/{title}", mean, None, gain(results, ablated(at, workload), mean), "%")
            for title, workload in BY_TITLE.items()
            if not (workload in results.real and "bursts" in name)  # a real trace has its recorded arrivals
            for at in ablated_pairs(name)
            for mean in MEANS
        ], notes=(f"At most {ABLATED:,} requests a run.",))
        for name, ablated in ABLATIONS.items()
    ]  # fmt: skip


PAPER = described("sirf1", WORKLOADS, runs, find, (("merge_devices", True), ("wrap", True)))
"""Addresses of its traces are mapped to a drive as in SSDSim."""
