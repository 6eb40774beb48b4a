"""Ageing in SSDSim (Kim, Park and Shin): response times and erases of a drive that was aged in one of three ways.

Runs: four workloads on a drive aged by `basic`, `approach1` and `approach2` with valid ratios 0.0 to 0.3; and what the
paper lacks: collection from 10 % of free pages on, not from 30 %.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..render.figures import Picture, Series, bars, legend
from .paper import Cell, Findings, Run, Table, Workload, described
from .published import Published
from .verdicts import Near, Same, trend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

    from ..render.figures import Style
    from .paper import Results

PUBLISHED = Published("aging")
REQUESTS = 200_000
"""Requests of a run at full scale: enough to use up the drive's free pages early and to collect at a steady rate."""
WORKLOADS = tuple(
    Workload(name, title, REQUESTS)
    for name, title in (
        ("ageing-src2", "src2_0"),
        ("ageing-ts", "ts_0"),
        ("ageing-wdev", "wdev_0"),
        ("ageing-financial1", "financial1"),
    )
)
BY_TITLE = {workload.title: workload.name for workload in WORKLOADS}
VALID = (0.0, 0.1, 0.2, 0.3)
AGEINGS = {
    "basic": ("basic", 0.0),
    "approach1": ("approach1", 0.0),
    **{f"approach2 ({valid:.1f})": ("approach2", valid) for valid in VALID},
}
"""The bars of the paper's figures: the model of ageing, and the mean share of valid pages in full blocks."""
FIGURES = {"Fig. 4": "response_us.write.mean", "Fig. 5": "wear.erases_total"}
ABLATED_THRESHOLD = 0.10
GROWTH = ("approach2 (0.1)", "approach2 (0.3)")
"""The valid ratios between which the paper gives the growth."""
SLOW = ("src2_0", "ts_0", "wdev_0")
"""Workloads whose requests are half a second apart."""


CLOSER = {"as recorded": 1.0, "10 times closer": 0.1, "50 times closer": 0.02}
"""Factors by which requests arrive closer; with 50, those of the three slow workloads are as close as financial1's."""


def run(ageing: str, workload: str, threshold: float | None = None, closer: float = 1.0) -> Run:
    """A workload on the aged drive."""
    model, valid = AGEINGS[ageing]
    aged = PUBLISHED.value("2", "aged ratio", "value")
    values: tuple[str, ...] = (f"ageing.model={model}", f"ageing.aged_ratio={aged:g}", f"ageing.valid_ratio={valid:g}")
    if threshold is not None:
        values = (*values, f"ftl.gc.threshold={threshold:g}")
    return Run("aging-8gb", workload, values, options=() if closer == 1.0 else (("time_scale", closer),))


def runs() -> Iterator[Run]:
    """Everything that is simulated for this paper."""
    for workload in BY_TITLE.values():
        for ageing in AGEINGS:
            yield run(ageing, workload)
            yield run(ageing, workload, ABLATED_THRESHOLD)
    for title in SLOW:
        yield from (run(ageing, BY_TITLE[title], None, closer) for ageing in GROWTH for closer in CLOSER.values())


def relative(results: Results, figure: str, workload: str, ageing: str, threshold: float | None = None) -> float | None:
    """A figure as a multiple of that of `basic`."""
    ours, basic = (results.figure(run(which, workload, threshold), FIGURES[figure]) for which in (ageing, "basic"))
    return ours / basic if ours is not None and basic else None


def find(results: Results) -> Findings:
    """The tables and figures of the paper, from the runs."""
    tables = [table_1(results), *claims(results), *bars_as_tables(results), closer(results)]
    return Findings(tables, pictures(results))


def table_1(results: Results) -> Table:
    """The properties of the workloads."""

    def simulate(cell: Cell) -> float:
        workload: dict[str, float] = results[run("basic", BY_TITLE[cell.row])]["workload"]
        if cell.column == "write %":
            return 100 * workload["writes"] / workload["requests"]
        return 1000 * workload["span_s"] / workload["requests"]

    rule = Near(0.10, 0.0, lambda cell: cell.column, "the workloads", relative=True)
    return Table("1", "Traces", PUBLISHED.cells("1", simulate), rule, (
        "The column of 449, 388, 529 and 8 is printed as the number of requests. It can only be the mean gap between "
        "two requests in ms; src2_0 and ts_0 are probably mixed up.",
        "For the synthetic stand-ins this table was put in.",
    ), is_input=True)  # fmt: skip


def claims(results: Results) -> list[Table]:
    """The text's claims about the two figures, whose numbers are not printed."""

    def growth(cell: Cell) -> float | None:
        workload = BY_TITLE[cell.row]
        low, high = (relative(results, cell.table, workload, f"approach2 ({valid:.1f})") for valid in (0.1, 0.3))
        if cell.unit == "%":
            return 100 * (high / low - 1) if high is not None and low else None
        if cell.column == "approach1 against basic":
            return trend(1.0, relative(results, cell.table, workload, "approach1"), 0.001)
        return trend(relative(results, cell.table, workload, "approach2 (0.0)"), high, 0.001)

    def kind(cells: list[Cell], trends: bool) -> list[Cell]:
        return [cell for cell in cells if (cell.unit == "trend") == trends]

    every = [cell for figure in FIGURES for cell in PUBLISHED.cells(figure, growth)]
    for cell in every:
        if cell.table == "Fig. 5" and cell.unit == "%":
            cell.note = "more than a greedy collector can need: 28.6 % at most"
    growths = Near(10.0, 1.0, lambda cell: f"{cell.table} {cell.column}", "the workloads")
    return [
        Table("Figures 4 and 5, growth", "From a valid ratio of 0.1 to 0.3: “approximately two times” the response "
              "time “on the most traces”, “more than 30 %” more erases “on all”", kind(every, False), growths),
        Table("Figures 4 and 5, trends", "approach1 “slightly reduces”, a growing valid ratio “significantly degrades”",
              kind(every, True), Same("it rises or falls as the paper says (by more than 0.1 %)")),
    ]  # fmt: skip


def bars_as_tables(results: Results) -> list[Table]:
    """The bars of the figures, and the same with another threshold of collection."""
    words = {"Fig. 4": "Response time of writes", "Fig. 5": "Blocks erased"}
    return [
        Table(name, f"{words[figure]}, relative to basic{more}", [
            Cell(name, title, ageing, None, relative(results, figure, workload, ageing, threshold), "x")
            for title, workload in BY_TITLE.items()
            for ageing in AGEINGS
        ])
        for threshold, more in ((None, ""), (ABLATED_THRESHOLD, ", collection from 10 % of free pages on"))
        for figure in FIGURES
        for name in (f"{figure}, bars" if threshold is None else f"ablation: threshold 0.10, {figure}",)
    ]  # fmt: skip


def closer(results: Results) -> Table:
    """The growth of the response time if requests arrive closer."""

    def growth(title: str, factor: float) -> float | None:
        low, high = (results.figure(run(ageing, BY_TITLE[title], None, factor), FIGURES["Fig. 4"]) for ageing in GROWTH)
        return 100 * (high / low - 1) if high is not None and low else None

    cells = [
        Cell("ablation: gaps", title, name, None, growth(title, factor), "%")
        for title in SLOW for name, factor in CLOSER.items()
    ]  # fmt: skip
    return Table("ablation: gaps", "Growth of the response time from a valid ratio of 0.1 to 0.3, by how close "
                 "requests come", cells)  # fmt: skip


def pictures(results: Results) -> list[Picture]:
    """Figures 4 and 5, as the paper draws them."""
    return [
        Picture("figure-4", "Figure 4. Average response time of write requests, relative to basic, simulated",
                partial(draw, results, "Fig. 4", "response time of writes,\nbasic = 1")),
        Picture("figure-5", "Figure 5. Total block erase count, relative to basic, simulated",
                partial(draw, results, "Fig. 5", "blocks erased,\nbasic = 1")),
    ]  # fmt: skip


def draw(results: Results, which: str, unit: str, figure: Figure, style: Style) -> None:
    """One group for each workload, one bar for each way of ageing."""
    axes = figure.subplots()
    series = tuple(
        Series(ageing, tuple(relative(results, which, workload, ageing) for workload in BY_TITLE.values()), at, at)
        for at, ageing in enumerate(AGEINGS)
    )
    bars(axes, style, tuple(BY_TITLE), series, unit)
    axes.axhline(1.0, color=style["ink"], linewidth=0.8, linestyle=":")
    legend(figure, axes, 3)


PAPER = described("aging", WORKLOADS, runs, find, (("merge_devices", True), ("wrap", True)), requests=REQUESTS)
