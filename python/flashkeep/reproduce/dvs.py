"""DVS-RAID (Kim, Lee, Choi, Lee and Noh): RAID-0, RAID-5, dynamic striping and stripes of variable size in one drive.

Runs: four workloads under the four schemes, with the volumes of the paper; and what the paper lacks: the same before
anything is collected, collected sooner, and on an empty drive whose RAID-5 holds stripes back.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .dvs_figures import pictures
from .dvs_runs import (
    ABLATED,
    ABLATIONS,
    BEFORE,
    PARTS,
    PUBLISHED,
    SCHEMES,
    TITLES,
    UNCOLLECTED,
    WORKLOADS,
    cleaning_s,
    erases,
    faster,
    longer,
    part,
    response,
    run,
    runs,
    schemes,
)
from .paper import Cell, Findings, Run, Table, described
from .verdicts import Near, Same, own_group

if TYPE_CHECKING:
    from collections.abc import Callable

    from .paper import Results

LEVEL = 0.02
"""Two means that differ by no more than this count as equal."""

NEGLIGIBLE = 0.01

FAR_FEWER = 0.5


def find(results: Results) -> Findings:
    """The tables and figures of the paper, from the runs."""
    tables = [*inputs(results), *figure_4(results), figure_5(results), *text(results), *bars_as_tables(results)]
    return Findings([*tables, lives(results), *ablations(results)], pictures(results))


def inputs(results: Results) -> list[Table]:
    """The properties of the drive and of the workloads."""
    summary = results[run("Financial", "DVS")]
    drive, flash = summary["drive"], summary["drive"]["flash"]
    page_bytes = 1024 * flash["page_kib"]
    figures = {
        "page size (KB)": flash["page_kib"],
        "block size (KB)": flash["page_kib"] * flash["pages_per_block"],
        "page read (us)": flash["timing"]["read_us"],
        "page write (us)": flash["timing"]["program_us"],
        "block erase (us)": flash["timing"]["erase_us"],
        "page transfer (us)": page_bytes * flash["timing"]["bus_ns_per_byte"] / 1e3,
        "chips": flash["channels"] * flash["chips_per_channel"],
        "pages of a full stripe": drive["redundancy"]["width"],
        "over-provisioned (%)": 100 * drive["ftl"]["over_provisioning"],
        "partial stripe after (ms)": drive["redundancy"]["timeout_ms"],
    }

    def workload(cell: Cell) -> float | None:
        put_in = results[run(cell.row, "DVS")]["workload"]
        if cell.column == "written":
            return float(put_in["bytes_written"] / 2**30)
        return float(put_in["bytes_written"] / put_in["writes"] / 1024) if put_in["writes"] else None

    near = Near(0.02, 0.0, own_group, "nothing", relative=True)
    return [
        Table("1", "Parameters", PUBLISHED.cells("1", lambda cell: float(figures[cell.row])), near, is_input=True),
        Table("2", "Workloads", PUBLISHED.cells("2", workload), near, (
            "KB and GB are 1,024 and 2³⁰ bytes, as in the paper's pages and blocks. For the synthetic stand-ins this "
            "table was put in.",
        ), is_input=True),
    ]  # fmt: skip


def figure_4(results: Results) -> list[Table]:
    """The text's claims about response times, cleaning times and erases, whose numbers are not printed."""
    close = PUBLISHED.value("text", "Postmark", "response")

    def judge(of: Callable[[Results, Run], float | None], cell: Cell) -> float | None:
        found = {scheme: of(results, run(cell.row, scheme)) for scheme in SCHEMES}
        known = {scheme: value for scheme, value in found.items() if value is not None}
        if len(known) < len(SCHEMES) or not any(known.values()):
            return None
        if cell.column == "RAID-5 close to DVS":
            return float(known["RAID-5"] <= known["DVS"] * (1 + close / 100))
        if cell.column.startswith("far fewer"):
            others = [erases(results, run(title, scheme)) or 0.0 for title in ("Random", "Financial")
                      for scheme in SCHEMES]  # fmt: skip
            return float(max(known.values()) < FAR_FEWER * min(others))
        pairs = {
            "RAID-0 fastest": [("RAID-0", other) for other in SCHEMES],
            "RAID-0 least": [("RAID-0", other) for other in SCHEMES],
            "DVS no slower than RAID-5": [("DVS", "RAID-5")],
            "RAID-5 most": [(other, "RAID-5") for other in SCHEMES],
            "DS no more than DVS": [("DS", "DVS")],
        }
        return float(all(known[less] <= known[more] * (1 + LEVEL) for less, more in pairs[cell.column]))

    level = f"{100 * LEVEL:g} %"
    quoted = {
        "Fig. 4(a)": ("Mean response: “RAID-0 offers the best performance”, RAID-5 “does not show much degradation” "
                      f"for Sequential (here: within the {close:g} % that it is said to lose with Postmark)", response),
        "Fig. 4(b)": ("Cleaning time: “RAID-0 performs best”, “RAID-5 performs worst”, “DVS-RAID sacrifices some "
                      "cleaning time”", cleaning_s),
        "Fig. 4(c)": ("Erases: “similar trends to cleaning times”, “much smaller” for Sequential and Postmark (here: "
                      "the scheme that erases most erases less than half of what any does with the others)", erases),
    }  # fmt: skip
    return [
        Table(figure, title, PUBLISHED.cells(figure, partial(judge, of)),
              Same(f"what the text says holds (up to {level} count as equal)"))
        for figure, (title, of) in quoted.items()
    ]  # fmt: skip


def figure_5(results: Results) -> Table:
    """The text's claims about the parts of the overhead."""

    def simulate(cell: Cell) -> float | None:
        pages = {scheme: {name: part(results, run(cell.row, scheme), name) for name in PARTS} for scheme in SCHEMES}
        host = results[run(cell.row, "DVS")]["operations"]["program"]["host"]
        if not host:
            return None
        return float({
            "RAID-5 reads for parity": pages["RAID-5"]["PR"] > 0,
            "DS and DVS read nothing": pages["DS"]["PR"] == pages["DVS"]["PR"] == 0,
            "partial parities matter": pages["DVS"]["PPW"] > NEGLIGIBLE * host,
        }[cell.column])  # fmt: skip

    return Table("Fig. 5", "Parity management: what the text says of its parts", PUBLISHED.cells("Fig. 5", simulate),
                 Same(f"what the text says holds (parts up to {100 * NEGLIGIBLE:g} % of the pages that the host writes "
                      "do not matter)"))  # fmt: skip


def text(results: Results) -> list[Table]:
    """The three numbers that are printed."""

    def simulate(cell: Cell) -> float | None:
        return longer(results, cell.row) if cell.column == "life" else faster(results, cell.row)

    cells = PUBLISHED.cells("text", simulate)
    rule = Near(10.0, 0.0, own_group, "nothing")
    return [
        Table("improvement", "DVS against RAID-5: response, and life “for realistic workloads”",
              [cell for cell in cells if cell.row != "Postmark"], rule, (
                  "Life is blocks erased, RAID-5 over DVS; how the paper forms it is not said. Financial is the one of "
                  "the two realistic workloads that the response of the same sentence belongs to.",
              )),
        Table("improvement, Postmark", "DVS against RAID-5: response",
              [cell for cell in cells if cell.row == "Postmark"], rule, (
                  "The rate of this stand-in was chosen with this number in view: no evidence, and not counted.",
              ), is_input=True),
    ]  # fmt: skip


def bars_as_tables(results: Results) -> list[Table]:
    """The bars of Figures 4 and 5."""
    units = {"response": ("µs", response), "cleaning time": ("s", cleaning_s), "erases": ("blocks", erases)}
    four = [Cell("Fig. 4, bars", f"{title}/{scheme}", name, None, of(results, run(title, scheme)), unit)
            for title in TITLES for scheme in SCHEMES for name, (unit, of) in units.items()]  # fmt: skip
    five = [Cell("Fig. 5, bars", f"{title}/{scheme}", name, None, part(results, run(title, scheme), name), "pages")
            for title in TITLES for scheme in SCHEMES if scheme != "RAID-0" for name in PARTS]  # fmt: skip
    programs = {"host": "pages of the host", "gc": "pages moved in cleaning"}
    moved = [
        Cell("pages", f"{title}/{scheme}", name, None,
             results.figure(run(title, scheme), f"operations.program.{cause}"), "pages")
        for title in TITLES for scheme in SCHEMES for cause, name in programs.items()
    ]  # fmt: skip
    return [
        Table("Fig. 4, bars", "Figure 4: mean response, time of all chips in cleaning, blocks erased", four),
        Table("Fig. 5, bars", "Figure 5: pages read for parity (PR), parities of host writes (PW_WR), of partial "
              "stripes (PPW), of what cleaning moved (PW_CL)", five),
        Table("pages", "Pages that the host wrote, and that cleaning moved", moved),
    ]  # fmt: skip


def lives(results: Results) -> Table:
    """The distribution of erases, and the erases of RAID-5 beyond those of DVS."""

    def erased(title: str, scheme: str) -> list[float]:
        members = results[run(title, scheme)].get("members") or []
        return [float(member["operations"]["erase"]["gc"]) for member in members]

    def busiest(title: str, scheme: str) -> float | None:
        return max(erased(title, scheme), default=None)

    cells = []
    for title in TITLES:
        five, dvs = busiest(title, "RAID-5"), busiest(title, "DVS")
        values = {
            "all chips": longer(results, title),
            "busiest chip": 100 * (five / dvs - 1) if five is not None and dvs else None,
        }
        for scheme in ("RAID-5", "DVS"):
            each = erased(title, scheme)
            mean = sum(each) / len(each) if each else 0.0
            values[f"busiest chip over the mean, {scheme}"] = 100 * (max(each) / mean - 1) if mean else None
        cells += [Cell("life", title, column, None, value, "%") for column, value in values.items()]
    return Table("life", "Blocks that RAID-5 erases more than DVS: a drive with DVS lives as much longer",
                 cells, notes=(
        "If a drive is worn out when its first chip is, the busiest chip counts. RAID-5 binds a page to a chip, and so "
        "a popular page; DVS writes all chips alike.",
    ))  # fmt: skip


def ablations(results: Results) -> list[Table]:
    """The points that the paper leaves open: how collection interacts with requests, and the initial contents of the
    drive."""
    notes = (f"At most {ABLATED:,} requests; before collection and empty at most {UNCOLLECTED:,} (Postmark "
             f"{BEFORE['Postmark']}).",)  # fmt: skip
    return [
        Table("ablation: gain", "By how much DVS answers faster than RAID-5, by circumstances that the paper leaves "
              "open", [
                  Cell("ablation: gain", title, name, None, faster(results, title, ablated), "%")
                  for title in TITLES for name, ablated in ABLATIONS.items()
              ], notes=notes),
        Table("ablation: response", "Mean response under these circumstances", [
            Cell("ablation: response", f"{title}/{scheme}", name, None, response(results, ablated(title, scheme)), "µs")
            for title in TITLES for scheme in SCHEMES for name, ablated in ABLATIONS.items() if scheme in schemes(name)
        ], notes=notes),
    ]  # fmt: skip


PAPER = described("dvs", WORKLOADS, runs, find, (("wrap", True),))
