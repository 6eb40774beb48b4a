"""The figures of Design Tradeoffs for SSD Performance, and its tables as pictures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..render.figures import Picture, Series, bars, legend, lines, pairs, panels, plain_numbers
from .tradeoffs_runs import (
    DEVICES,
    FASTER,
    LEVELLING,
    PAGES_KIB,
    PUBLISHED,
    RESERVE,
    UNITS,
    interleaved,
    paged,
    reserved,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..render.figures import Style
    from .paper import Cell, Results, Table

    Cells = dict[tuple[str, str], Cell]


def pictures(results: Results, tables: list[Table]) -> list[Picture]:
    """The paper's figures, and its tables as pictures."""
    cells = {table.name: {cell.key: cell for cell in table.cells} for table in tables}
    return [
        Picture("interleaving", "Interleaving: mean response and average queue length, requests coming faster, "
                "simulated", partial(draw_interleaving, results), (8.6, 5.6)),
        Picture("micro", "Microbenchmarks: published and simulated", partial(draw_micro, cells["micro"]), (8.6, 5.0)),
        Picture("page-size", "TPC-C with larger logical pages, simulated, and two published numbers",
                partial(draw_pages, results, cells["page size"]), (8.6, 3.4)),
        Picture("over-provisioning", "Blocks kept back: mean response and write amplification, simulated",
                partial(draw_reserve, results), (8.6, 3.4)),
        Picture("wear", "IOzone: life left and its deviation, published and simulated",
                partial(draw_wear, cells["wear"]), (8.6, 3.2)),
        Picture("industry", "Products, and modelled drives of their kind",
                partial(draw_industry, cells["industry"]), (8.6, 5.4)),
    ]  # fmt: skip


def draw_interleaving(results: Results, figure: Figure, style: Style) -> None:
    """Response above, queue below; one column for each workload."""
    every = list(panels(figure, 2, 2))
    words = (("response_us.all.mean", "mean response, µs"), ("queue.mean", "requests in the drive"))
    for at, axes in enumerate(every):
        title = ("TPC-C", "Exchange")[at % 2]
        path, unit = words[at // 2]
        series = tuple(
            Series(name, tuple(results.figure(interleaved(title, name, faster), path) for faster in FASTER), mark, mark)
            for mark, name in enumerate(UNITS)
        )
        lines(axes, style, tuple(float(place) for place in range(len(FASTER))), series, unit)
        axes.set_xticks(range(len(FASTER)), [f"×{faster:g}" for faster in FASTER])
        known = [value for one in series for value in one.values if value]
        if known and max(known) > 5 * min(known):
            axes.set_yscale("log")
            plain_numbers(axes.yaxis)
        else:
            axes.set_ylim(bottom=0)
        if at < 2:
            axes.set_title(title)
        else:
            axes.set_xlabel("requests come faster")
    legend(figure, every[0], len(UNITS))


def draw_micro(cells: Cells, figure: Figure, style: Style) -> None:
    """Latency above, rate below; one place for each benchmark."""
    rows = PUBLISHED.rows("micro")
    every = list(panels(figure, 2))
    names = tuple(row.replace(" ", "\n", 1).replace(", ", ",\n") for row in rows)
    for axes, column, unit in zip(every, ("latency", "rate"), ("latency, µs", "requests a second"), strict=True):
        here = [cells[row, column] for row in rows]
        series = (
            Series("published", tuple(cell.published for cell in here), 1, 1),
            Series("simulated", tuple(cell.simulated for cell in here), 0, 0),
        )
        bars(axes, style, names, series, unit)
    legend(figure, every[0], 2)


def draw_pages(results: Results, cells: Cells, figure: Figure, style: Style) -> None:
    """A line over page sizes, with the two published numbers."""
    axes = figure.subplots()
    values = tuple(results.figure(paged(kib), "response_us.all.mean") for kib in PAGES_KIB)
    lines(axes, style, tuple(float(at) for at in range(len(PAGES_KIB))), (Series("simulated", values, 0, 0),), "µs")
    for cell, above in zip(cells.values(), (False, True), strict=True):
        at = PAGES_KIB.index(int(cell.row.split(" ")[0]))
        axes.scatter([at], [cell.published or 0.0], s=60, marker="^" if above else "s", facecolor=style["paper"],
                     edgecolor=style["ink"], zorder=3, label=f"published{', or more' if above else ''}")  # fmt: skip
    axes.set_yscale("log")
    plain_numbers(axes.yaxis)
    axes.set_ylabel("mean response, µs")
    axes.set_xlabel("logical page")
    axes.set_xticks(range(len(PAGES_KIB)), [f"{kib} KB" for kib in PAGES_KIB])
    legend(figure, axes, 3)


def draw_reserve(results: Results, figure: Figure, style: Style) -> None:
    """Response on the left, amplification on the right."""
    every = list(panels(figure, 1, 2))
    for axes, path, unit in zip(every, ("response_us.all.mean", "write_amplification.total"),
                                ("mean response, µs", "write amplification"), strict=True):  # fmt: skip
        series = tuple(
            Series(title, tuple(results.figure(reserved(title, share), path) for share in RESERVE), mark, mark)
            for mark, title in enumerate(("TPC-C", "Exchange"))
        )
        lines(axes, style, tuple(100 * share for share in RESERVE), series, unit)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("blocks kept back, %")
    legend(figure, every[0], 2)


def draw_wear(cells: Cells, figure: Figure, style: Style) -> None:
    """Mean life on the left, deviation on the right."""
    every = list(panels(figure, 1, 2))
    for axes, column in zip(every, ("mean life", "deviation"), strict=True):
        here = [cells[row, column] for row in LEVELLING]
        series = (
            Series("published", tuple(cell.published for cell in here), 1, 1),
            Series("simulated", tuple(cell.simulated for cell in here), 0, 0),
        )
        bars(axes, style, tuple(LEVELLING), series, f"{column}, erases")
    legend(figure, every[0], 2)


def draw_industry(cells: Cells, figure: Figure, style: Style) -> None:
    """One panel for each test, one place for each product."""
    every = list(panels(figure, 2, 2))
    tests = dict.fromkeys(column for _, column in cells)
    for axes, test in zip(every, tests, strict=True):
        here = [cells.get((row, test)) for row in DEVICES]
        published = Series("published", tuple(cell.published if cell else None for cell in here), 0, 2)
        simulated = Series("simulated", tuple(cell.simulated if cell else None for cell in here), 0, 0)
        pairs(
            axes, style, tuple(DEVICES), published, simulated, "MB/s" if "sequential" in test else "requests a second"
        )
        axes.set_title(test)
        axes.set_yscale("log")
        plain_numbers(axes.yaxis)
    legend(figure, every[0], 2)
