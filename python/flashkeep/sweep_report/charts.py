"""Draws small multiples and Pareto fronts with matplotlib, in the style of the figures of `report` and `reproduce`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..render.figures import DASHES, MARKERS, Picture, plain, plain_numbers, wrapped
from .folders import IDENTITY
from .layout import facets
from .pareto import candidates, front
from .sheet import FOLDER, Estimate, told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from ..render.figures import Style
    from .layout import Curve, Facet, Layout
    from .measures import Measure
    from .pareto import Candidate
    from .sheet import Dimension, Sheet

    Made = tuple[Picture | None, str]

LOGARITHMIC_KEY, LOGARITHMIC_FIGURE = 8, 50
"""The span (largest over smallest) from which an axis of a key, and of a figure, is logarithmic."""
FEW_POINTS = 30
"""With more configurations a Pareto front shows only its own intervals: others would cover it."""
MOST_POINTS = 2000
"""Of more configurations that are not on a front only some are drawn."""
FITTED = 0.6
"""If the smallest value is above this share of the largest, the axis does not begin at zero."""


def marks(at: int) -> dict[str, Any]:
    """The marker and dash of a line; from the seventh on other combinations than those of the first six."""
    return {"marker": MARKERS[(at + at // 6) % 6], "linestyle": DASHES[(at + at // 6) % 6]}


def scale_of(values: Sequence[float]) -> str:
    """The axis that fits the values of a figure: from zero, fitted, or logarithmic."""
    low, high = min(values), max(values)
    if low > 0 and high / low > LOGARITHMIC_FIGURE:
        return "logarithmic"
    return "fitted" if low > FITTED * high > 0 else "zero"


def trend(sheet: Sheet, measure: Measure, layout: Layout) -> Made:
    """Small multiples of a figure."""
    grid, missing = facets(sheet, measure, layout)
    every = [facet for row in grid for facet in row]
    points = [one for facet in every for curve in facet.traces for _, one, _ in curve.points]
    values = [measure.scale * one.mean for one in points]
    if not points:
        return None, f"No chart of {measure.words}: no cell has it with {_held(layout) or 'these keys'}."
    x = sheet.dimension(layout.x) if layout.x else None
    by = sheet.dimension(layout.by) if layout.by else None
    rows, columns = len(grid), len(grid[0])

    def draw(figure: Figure, style: Style) -> None:
        panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        shown: dict[int, Any] = {}
        for at, (line, row) in enumerate(zip(panels, grid, strict=True)):
            for axes, facet in zip(line, row, strict=True):
                for curve in facet.traces:
                    shown[curve.at] = _curve(axes, style, curve, measure, x, len(by.values) if by else 1)
                axes.set_title(_facet_title(facet, layout, at == 0, columns), loc="left", fontsize=9)
                if not facet.traces:
                    axes.annotate("no cells", (0.5, 0.5), xycoords="axes fraction", ha="center", alpha=0.7)
        fit_axis(panels[0][0].yaxis, points, measure.scale)
        _key_axis(panels[-1], x, columns)
        for line in panels:
            line[0].set_ylabel(wrapped(measure.title, 26))
        if by:
            handles = [shown[at] for at in sorted(shown)]
            labels = [folded(told(by.values[at]), 44) for at in sorted(shown)]
            figure.legend(handles, labels, title=by.name, loc="outside upper center", ncols=_legend_columns(labels))

    size = (8.6, 1.2 + 2.5 * rows if rows == 1 else 1.2 + 2.1 * rows)
    return Picture(_file_name(measure), _caption(sheet, measure, layout, values, missing), draw, size), ""


def _curve(axes: Axes, style: Style, curve: Curve, measure: Measure, x: Dimension | None, lines: int) -> Any:
    """A line over numbers; over words only markers, beside each other."""
    numeric = x is not None and x.numeric
    aside = 0.0 if numeric else (curve.at - (lines - 1) / 2) * min(0.12, 0.6 / lines)
    places = [at if numeric else (x.values.index(at) if x else 0) + aside for at, _, _ in curve.points]
    means = [measure.scale * one.mean for _, one, _ in curve.points]
    halves = [measure.scale * (one.half or 0) for _, one, _ in curve.points]
    look = marks(curve.at)
    colour = style.series(curve.at)
    if any(halves):
        axes.errorbar(places, means, halves, fmt="none", ecolor=colour, elinewidth=1.1, capsize=2.5)
    look["linestyle"] = look["linestyle"] if numeric else "none"
    (handle,) = axes.plot(places, means, color=colour, linewidth=1.6, markersize=5, markeredgecolor=style["ink"],
                          markeredgewidth=0.6, **look)  # fmt: skip
    lost = [(place, mean) for place, mean, (_, _, lost) in zip(places, means, curve.points, strict=True) if lost]
    if lost:
        axes.plot(*zip(*lost, strict=True), linestyle="none", marker=look["marker"], markersize=5,
                  markerfacecolor=style["paper"], markeredgecolor=colour, markeredgewidth=1.2)  # fmt: skip
    return handle


def fit_axis(axis: Axis, points: Sequence[Estimate], factor: float, linear: str | None = None) -> None:
    """Scales an axis to means and intervals; `linear` is the scale that is not logarithmic. Where no mean is below
    zero, intervals are cut at zero."""
    means = [factor * one.mean for one in points]
    low = min(factor * (one.mean - (one.half or 0)) for one in points)
    high = max(factor * (one.mean + (one.half or 0)) for one in points)
    scale = scale_of(means)
    scale = linear if linear and scale != "logarithmic" else scale
    name = axis.axis_name  # type: ignore[attr-defined]  # "x" or "y"
    set_limits = getattr(axis.axes, f"set_{name}lim")
    if scale == "logarithmic":
        getattr(axis.axes, f"set_{name}scale")("log")
        set_limits(max(low, 0.5 * min(means)) / 1.25, 1.25 * high)
    else:
        if min(means) >= 0:
            low = 0.0 if scale == "zero" else max(low, 0.0)
        room = 0.07 * ((high - low) or abs(high) or 1)
        set_limits(low - room if low or scale != "zero" else 0.0, high + room)
    plain_numbers(axis)


def logarithmic_key(one: Dimension) -> bool:
    """Whether the axis of a key is logarithmic: 1, 2, 4, 8, 16."""
    return one.numeric and one.values[0] > 0 and one.values[-1] / one.values[0] >= LOGARITHMIC_KEY


def _key_axis(panels: Sequence[Axes], x: Dimension | None, columns: int) -> None:
    """Ticks are at the swept values, as far as there is room for their labels."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    for axes in panels:
        if x is None:
            axes.set_xticks([])
            continue
        if logarithmic_key(x):
            axes.set_xscale("log")
        labels = [plain(value) if x.numeric else folded(told(value), 16) for value in x.values]
        places = list(x.values) if x.numeric else list(range(len(labels)))
        longest = max(len(line) for label in labels for line in label.splitlines())
        room = 96 / columns / len(labels)  # letters that fit the place of a label
        turned = longest > room and not x.numeric
        few = 1 if turned else max(1, math.ceil((longest + 1) / room))
        axes.xaxis.set_major_locator(FixedLocator(places[::few]))
        axes.xaxis.set_major_formatter(FixedFormatter(labels[::few]))
        axes.xaxis.set_minor_locator(NullLocator())
        if turned:
            axes.tick_params(axis="x", labelrotation=35)
            for label in axes.get_xticklabels():
                label.set(ha="right", rotation_mode="anchor")
        if not x.numeric:
            axes.set_xlim(-0.6, len(labels) - 0.4)
        axes.set_xlabel(x.name)


def folded(text: str, width: int) -> str:
    """A name on several lines; those of synthetic workloads are folded at commas."""
    return wrapped(text.replace(",", ", "), width).replace(", ", ",").replace(" \n", "\n")


def _named(key: str, value: Any) -> str:
    """A value with the last word of its key; workloads and drives are known by their names."""
    alone = key in (FOLDER, *IDENTITY)
    return told(value) if alone else f"{key.rpartition('.')[2]} {told(value)}"


def _facet_title(facet: Facet, layout: Layout, first_row: bool, columns: int) -> str:
    parts = []
    if layout.column and (first_row or layout.row):
        parts.append(_named(layout.column, facet.column))
    if layout.row:
        parts.append(_named(layout.row, facet.row))
    return "\n".join(folded(part, 96 // columns) for part in parts)


def _legend_columns(labels: Sequence[str]) -> int:
    longest = max(len(line) for label in labels for line in label.splitlines())
    return min(len(labels), max(1, 90 // (longest + 8)), 6)


def _held(layout: Layout) -> str:
    return ", ".join(f"{name} {told(value)}" for name, value in layout.held.items())


def _caption(sheet: Sheet, measure: Measure, layout: Layout, values: Sequence[float], missing: Sequence[str]) -> str:
    """What the chart shows: figure, keys that are held, intervals, axis."""
    axis = f" over {layout.x}" if layout.x else ""
    parts = [f"{measure.words[0].upper()}{measure.words[1:]}{axis}" + f" ({measure.direction})" * bool(measure.better)]
    if layout.held:
        parts.append(f"held: {_held(layout)}")
    parts.append(seeds_told(sheet))
    scale = scale_of(values)
    if scale != "zero":
        parts.append("logarithmic axis" if scale == "logarithmic" else "the axis does not begin at zero")
    if any(sheet.lost(one) for one in sheet.configurations):
        parts.append("hollow: pages were lost")
    return "; ".join([*parts, *missing])


def seeds_told(sheet: Sheet) -> str:
    """How many seeds the means are of, and what intervals are shown."""
    counts = sorted({len(one.rows) for one in sheet.configurations})
    if counts == [1]:
        return "one seed, no intervals"
    n = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    alone = "; no interval with one seed" if counts[0] == 1 else ""
    return f"means and 95 % t-intervals over seeds, n = {n}{alone}"


def _file_name(measure: Measure) -> str:
    return measure.path.replace("_us.", "-").replace(".", "-").replace("_", "-")


def pareto(sheet: Sheet, a: Measure, b: Measure) -> Made:
    """A Pareto front of two figures for each workload."""
    found = candidates(sheet, a, b)
    if not found:
        return None, f"No Pareto front of {a.words} and {b.words}: no cell has both."
    shown = list(found.items())[: 2 * 3]
    columns = min(len(shown), 3)
    rows = math.ceil(len(shown) / columns)

    def draw(figure: Figure, style: Style) -> None:
        panels = figure.subplots(rows, columns, squeeze=False)
        flat = [axes for line in panels for axes in line]
        for axes in flat[len(shown) :]:
            axes.set_axis_off()
        for axes, (workload, points) in zip(flat, shown, strict=False):
            _points(axes, style, points, front(points, a, b), a, b)
            if len(shown) > 1:
                axes.set_title(folded(workload, 96 // columns), loc="left", fontsize=9)
            axes.set_xlabel(a.title)
            axes.set_ylabel(wrapped(b.title, 30))
        figure.legend(handles=_front_handles(style), loc="outside upper center", ncols=2)

    caption = (f"Pareto front of {a.words} ({a.direction}) and {b.words} ({b.direction}) among configurations of one "
               f"workload; {seeds_told(sheet)}")  # fmt: skip
    if any(len(points) > FEW_POINTS for points in found.values()) and "interval" in seeds_told(sheet):
        caption += " (of the front only)"
    if any(one.lost for points in found.values() for one in points):
        caption += "; hollow: pages were lost"
    if any(len(points) > MOST_POINTS for points in found.values()):
        caption += f"; of those that are not on the front about {MOST_POINTS:,} are drawn"
    if len(found) > len(shown):
        caption += f"; {len(shown)} of {len(found)} workloads"
    size = (8.6, 0.7 + 3.3 * rows) if columns > 1 else (8.6, 4.4)
    return Picture(f"pareto-{_file_name(a)}-{_file_name(b)}", caption, draw, size), ""


def _front_handles(style: Style) -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], linestyle="none", marker=marker, markersize=6, markerfacecolor=colour,
               markeredgecolor=style["ink"], markeredgewidth=0.7, label=label)
        for marker, colour, label in (("D", style.series(5), "Pareto front"),
                                      ("o", style["grid"], "other configurations"))
    ]  # fmt: skip


def _spread(points: Sequence[Estimate], whole: Sequence[Estimate]) -> list[Estimate]:
    """All means, and the intervals that are drawn."""
    return [Estimate(one.mean, None, one.n) for one in points] + list(whole)


def _points(
    axes: Axes, style: Style, points: Sequence[Candidate], best: Sequence[Candidate], a: Measure, b: Measure
) -> None:
    """All configurations, and the front as steps: right of and above a corner nothing is better."""
    chosen = {id(one.configuration) for one in best}
    others = [one for one in points if id(one.configuration) not in chosen]
    others = others[:: math.ceil(len(others) / MOST_POINTS) or 1]
    for group, colour, marker, size in ((others, style["grid"], "o", 26), (best, style.series(5), "D", 40)):
        x = [a.scale * one.a.mean for one in group]
        y = [b.scale * one.b.mean for one in group]
        if group is best or len(points) <= FEW_POINTS:
            axes.errorbar(x, y, [b.scale * (one.b.half or 0) for one in group],
                          [a.scale * (one.a.half or 0) for one in group], fmt="none", ecolor=style["ink"],
                          elinewidth=0.7, alpha=0.6)  # fmt: skip
        axes.scatter(x, y, size, marker=marker, facecolor=[style["paper"] if one.lost else colour for one in group],
                     edgecolor=[colour if one.lost and group is best else style["ink"] for one in group],
                     linewidth=[1.4 if one.lost and group is best else 0.7 for one in group], zorder=3)  # fmt: skip
    axes.step([a.scale * one.a.mean for one in best], [b.scale * one.b.mean for one in best], where="post",
              color=style.series(5), linewidth=1.4, zorder=2)  # fmt: skip
    whole = points if len(points) <= FEW_POINTS else best
    fit_axis(axes.xaxis, _spread([one.a for one in points], [one.a for one in whole]), a.scale, "fitted")
    fit_axis(axes.yaxis, _spread([one.b for one in points], [one.b for one in whole]), b.scale, "fitted")
    axes.grid(visible=True)
