"""The figures of the hybrid backup."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..render.figures import Picture, Series, bars, legend, lines, plain_numbers
from .hybrid_runs import GROUPS, MEMORIES_MIB, PUBLISHED, SYSTEMS, iops, relative, swept_memory
from .hybrid_sweeps import feasible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..render.figures import Style
    from .paper import Results


def pictures(results: Results) -> list[Picture]:
    """Table 7 as bars, and the two sweeps."""
    return [
        Picture("table-7", "Table 7: requests a second, SSD RAID1 = 1, published and simulated",
                partial(draw_table_7, results), (8.6, 5.2)),
        Picture("feasibility", "Requests a second of the array (8 MB) over those of its SSD, by share of writes",
                partial(draw_feasibility, results)),
        Picture("memory", "Requests a second by size of the memory, a disk for each SSD",
                partial(draw_memory, results)),
    ]  # fmt: skip


def draw_table_7(results: Results, figure: Figure, style: Style) -> None:
    """One panel for each group, one pair of bars for each system."""
    panels = figure.subplots(len(GROUPS), 1, sharex=True)
    for axes, group in zip(panels, GROUPS, strict=True):
        theirs = tuple(PUBLISHED.value("7 relative", group, system) for system in SYSTEMS)
        ours = tuple(relative(results, system, group) for system in SYSTEMS)
        labels = tuple(system.replace(" RAID", "\nRAID") for system in SYSTEMS)
        bars(
            axes,
            style,
            labels,
            (Series("published", theirs, 4, 1), Series("simulated", ours, 0)),
            "requests a second,\nSSD RAID1 = 1",
        )
        axes.set_title(group)
    legend(figure, panels[0], 2)


def draw_feasibility(results: Results, figure: Figure, style: Style) -> None:
    """The ratio, and the bound by the formula."""
    axes = figure.subplots()
    points = feasible(results)
    ratios = tuple(array / ssd for _, ssd, array in points)
    shares = tuple(100 * share for share, _, _ in points)
    lines(axes, style, shares, (Series("array / SSD", ratios, 0),), "requests a second,\nSSD alone = 1")
    _, ps, pd = points[-1]
    axes.axvline(100 * pd / ps, color=style["ink"], linewidth=0.9, linestyle=":", label="Pd / Ps")
    axes.set_xlabel("share of writes, %")
    axes.set_ylim(0, 1.1)
    legend(figure, axes, 2)


def draw_memory(results: Results, figure: Figure, style: Style) -> None:
    """One line for each group."""
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
