"""The figures of SIRF-1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..render.figures import Picture, Series, bars, legend, lines, pairs, panels
from .paper import Run
from .sirf1_runs import BY_TITLE, CAPACITY, CHANNELS, GREEK, MEANS, PAGES_KIB, PAIRS, TITLES, gain, page_size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..render.figures import Style
    from .paper import Cell, Results


MARKS = ((0, 3, 2), (1, 4, 5))
"""Hatches of plain drives and of mirrored ones: six that differ without colours."""


def pictures(results: Results, cells: dict[tuple[str, str], Cell]) -> list[Picture]:
    """Figures 4, 5 and 6 as the paper draws them, and Tables VI and VII as pictures."""
    return [
        Picture("figure-4", "Figure 4. Performance with channel scalability: mean response time, simulated",
                lambda figure, style: means(results, figure, style, CHANNELS)),
        Picture("figure-5", "Figure 5. Performance with capacity scalability: mean response time, simulated",
                lambda figure, style: means(results, figure, style, CAPACITY)),
        Picture("figure-6", "Figure 6. Performance impacts of page size (TP1): mean response time and its gain, "
                "simulated", lambda figure, style: page_sizes(results, figure, style), (8.6, 6.0)),
        Picture("table-6", "Table VI as a figure: gain of the mirrored drive, published and simulated",
                lambda figure, style: side_by_side(cells, figure, style, CHANNELS), (8.6, 6.4)),
        Picture("table-7", "Table VII as a figure: gain of the mirrored drive, published and simulated",
                lambda figure, style: side_by_side(cells, figure, style, CAPACITY), (8.6, 6.4)),
    ]  # fmt: skip


def means(results: Results, figure: Figure, style: Style, names: tuple[str, ...]) -> None:
    """Mean response times: one group for each workload, two bars for each test pair."""
    axes = figure.subplots()
    series = tuple(
        Series(f"{name} {drive}", tuple(
            results.figure(Run(drive, workload), "response_us.all.mean") for workload in BY_TITLE.values()
        ), at, MARKS[mirrored][at])
        for at, name in enumerate(names)
        for mirrored, drive in enumerate(PAIRS[name])
    )  # fmt: skip
    bars(axes, style, TITLES, series, "mean response time, µs")
    legend(figure, axes, 3)


def page_sizes(results: Results, figure: Figure, style: Style) -> None:
    """Mean response times by page size, and the gain."""
    above, below = panels(figure, 2, height_ratios=(3, 2))
    series = tuple(
        Series(f"{kib} KB, {('plain', 'mirrored')[mirrored]}", tuple(
            results.figure(page_size(kib, workload)[mirrored], "response_us.all.mean")
            for workload in BY_TITLE.values()
        ), at, MARKS[mirrored][at])
        for at, kib in enumerate(PAGES_KIB)
        for mirrored in (0, 1)
    )  # fmt: skip
    bars(above, style, TITLES, series, "mean response time, µs")
    legend(figure, above, 3)
    gains = tuple(
        Series(title, tuple(gain(results, page_size(kib, workload), "dMRT") for kib in PAGES_KIB), at, at)
        for at, (title, workload) in enumerate(BY_TITLE.items())
    )
    lines(below, style, tuple(range(len(PAGES_KIB))), gains, "ΔMRT, %")
    below.set_xticks(range(len(PAGES_KIB)), [f"{kib} KB" for kib in PAGES_KIB])
    below.set_xlim(-0.2, len(PAGES_KIB) - 0.4)
    below.set_ylim(bottom=0)
    below.set_xlabel("page size")
    below.legend(loc="center right")


def side_by_side(cells: dict[tuple[str, str], Cell], figure: Figure, style: Style, names: tuple[str, ...]) -> None:
    """Published and simulated gains, one panel for each column of the table."""
    rows = [(title, name) for title in TITLES for name in names]
    every = list(panels(figure, len(MEANS), sharex=True))
    for mean, axes in zip(MEANS, every, strict=True):
        here = [cells[f"{name}/{title}", mean] for title, name in rows]
        published = Series("published", tuple(cell.published for cell in here), 0, 2)
        simulated = Series("simulated", tuple(cell.simulated for cell in here), 0, 0)
        pairs(axes, style, tuple(name for _, name in rows), published, simulated, f"{GREEK[mean]}, %")
        for at in range(1, len(TITLES)):
            axes.axvline(at * len(names) - 0.5, color=style["grid"], linewidth=0.8)
    for at, title in enumerate(TITLES):
        every[0].annotate(title, (at * len(names) + 1, 1.02), xycoords=("data", "axes fraction"), ha="center",
                          weight="bold")  # fmt: skip
    legend(figure, every[0], 2)
