"""The figures of DVS-RAID."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..render.figures import Picture, Series, bars, legend, panels, plain_numbers, stacks
from .dvs_runs import ABLATIONS, PARTS, PUBLISHED, SCHEMES, TITLES, cleaning_s, erases, faster, part, response, run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..render.figures import Style
    from .paper import Results


def pictures(results: Results) -> list[Picture]:
    """Figures 4 and 5, as the paper draws them."""
    return [
        Picture("figure-4", "Figure 4. (a) mean response, (b) cleaning time, (c) blocks erased, simulated",
                partial(draw_4, results), (8.6, 7.4)),
        Picture("figure-5", "Figure 5. Pages of parity management: all schemes with parity, and without RAID-5, "
                "simulated", partial(draw_5, results), (8.6, 6.6)),
        Picture("improvement", "By how much DVS answers faster than RAID-5: published (dashed), and simulated under "
                "circumstances that the paper leaves open", partial(draw_gain, results), (8.6, 3.8)),
    ]  # fmt: skip


def draw_4(results: Results, figure: Figure, style: Style) -> None:
    """One panel for each figure, one group for each workload, one bar for each scheme."""
    units = {"(a) mean response, ms": (response, 1e3), "(b) cleaning, s of chip time": (cleaning_s, 1.0),
             "(c) blocks erased, thousands": (erases, 1e3)}  # fmt: skip
    every = list(panels(figure, len(units)))
    for axes, (unit, (of, scale)) in zip(every, units.items(), strict=True):
        found = {(title, scheme): of(results, run(title, scheme)) for title in TITLES for scheme in SCHEMES}
        series = tuple(
            Series(scheme, tuple(None if (value := found[title, scheme]) is None else value / scale
                                 for title in TITLES), at, at)
            for at, scheme in enumerate(SCHEMES)
        )  # fmt: skip
        bars(axes, style, TITLES, series, unit)
        if of is response:
            axes.set_yscale("log")
            axes.set_ylim(bottom=0.1)
            plain_numbers(axes.yaxis)
    legend(figure, every[0], len(SCHEMES))


def draw_5(results: Results, figure: Figure, style: Style) -> None:
    """One stack for each scheme, with its parts from below."""
    above, below = panels(figure, 2)
    for axes, schemes in ((above, ("RAID-5", "DS", "DVS")), (below, ("DS", "DVS"))):
        at = [(title, scheme) for title in TITLES for scheme in schemes]
        series = tuple(
            Series(name, tuple(part(results, run(*one), name) / 1e3 for one in at), mark, mark)
            for mark, name in enumerate(PARTS)
        )
        stacks(axes, style, tuple(scheme for _, scheme in at), series, "pages, thousands")
        for group, title in enumerate(TITLES):
            middle = group * len(schemes) + (len(schemes) - 1) / 2
            axes.annotate(title, (middle, 1.02), xycoords=("data", "axes fraction"), ha="center", weight="bold")
            if group:
                axes.axvline(group * len(schemes) - 0.5, color=style["grid"], linewidth=0.8)
    legend(figure, above, len(PARTS))


def draw_gain(results: Results, figure: Figure, style: Style) -> None:
    """One group for each workload, one bar for each circumstance, a dash at a number that the paper prints."""
    axes = figure.subplots()
    series = tuple(
        Series(name, tuple(faster(results, title, ablated) for title in TITLES), at, at)
        for at, (name, ablated) in enumerate(ABLATIONS.items())
    )
    bars(axes, style, TITLES, series, "faster than RAID-5, %")
    for cell in PUBLISHED.cells("text", lambda _: None):
        if cell.column == "response" and cell.published is not None:
            at = TITLES.index(cell.row)
            axes.plot([at - 0.47, at + 0.47], [cell.published] * 2, color=style["ink"], linestyle="--", linewidth=1.6,
                      label="published" if cell.row == "Postmark" else None)  # fmt: skip
    legend(figure, axes, 3)
