"""The charts of fleets: loss against cost, loss by year, and a tornado for each array."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..render.figures import DASHES, HATCHES, MARKERS, Picture, draw, plain_numbers, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..render.figures import Drawn, Style
    from .sensitivity import Sensitivity, Swing

    Row = dict[str, Any]

MOST_NAMED = 12
"""The largest number of arrays with names in a chart."""
MOST_LINES = 6
NARROW = 4.4
"""The width of a figure for a telephone, inches."""


@dataclass(frozen=True)
class Chart:
    """A figure for wide pages, and one for narrow ones."""

    wide: Drawn
    narrow: Drawn


def drawn(picture: Picture, taller: float = 1.0) -> Chart:
    """Draws a picture for both; the narrow one is `taller` times as tall as the other."""
    narrow = replace(picture, name=f"{picture.name}-narrow", size=(NARROW, taller * picture.size[1]))
    return Chart(draw(picture), draw(narrow))


def is_narrow(figure: Figure) -> bool:
    """Whether it is for a telephone."""
    return float(figure.get_figwidth()) <= NARROW


@dataclass(frozen=True)
class Axis:
    """What an array costs, by one measure."""

    title: str
    values: tuple[float, ...]
    falls: bool = False
    """Whether more is better."""


def cost_axes(fleets: Sequence[Row]) -> list[Axis]:
    """The costs of a usable TB and in total; where not all have prices, the usable share of the raw capacity."""
    if all(fleet["cost"] for fleet in fleets):
        return [
            Axis("USD for each usable TB", tuple(fleet["cost"]["usd_per_usable_tb"] for fleet in fleets)),
            Axis("USD in total", tuple(fleet["cost"]["usd"] for fleet in fleets)),
        ]
    shares = (100 * fleet["array"]["usable_bytes"] / fleet["array"]["raw_bytes"] for fleet in fleets)
    return [Axis("usable share of the raw capacity, %", tuple(shares), falls=True)]


def front_of(fleets: Sequence[Row], axis: Axis) -> list[int]:
    """The arrays that no other one beats in one of loss and cost without being worse in the other; losses with
    overlapping intervals are equal."""

    def cost(at: int) -> float:
        return -axis.values[at] if axis.falls else axis.values[at]

    def beats(one: int, other: int) -> bool:
        mine, theirs = fleets[one]["p_loss"], fleets[other]["p_loss"]
        safer, riskier = mine["high"] < theirs["low"], mine["low"] > theirs["high"]
        near = abs(cost(one) - cost(other)) <= 1e-5 * abs(cost(one))
        cheaper = cost(one) < cost(other) and not near
        return not riskier and (near or cheaper) and (safer or cheaper)

    every = range(len(fleets))
    return [at for at in every if not any(beats(other, at) for other in every)]


def loss_and_cost(fleets: Sequence[Row], names: Sequence[str]) -> Picture:
    """A point for each array."""
    axes = cost_axes(fleets)
    years = fleets[0]["years"]
    better = "right" if axes[0].falls else "left"
    against = " and ".join(axis.title.removesuffix(", %") for axis in axes)
    caption = (f"P(loss) in {years:g} years against {against}: lower and further {better} is better; diamonds are on "
               "the Pareto front. Lines across points are 95 % intervals")  # fmt: skip
    tall = min(6.4, 3.2 + 0.12 * len(fleets))
    return Picture("loss-cost", caption, partial(_draw_costs, fleets, names, axes), (8.6, tall))


def _draw_costs(
    fleets: Sequence[Row], names: Sequence[str], axes: Sequence[Axis], figure: Figure, style: Style
) -> None:
    losses = [fleet["p_loss"] for fleet in fleets]
    fronts = [front_of(fleets, axis) for axis in axes]
    draw_losses(figure, style, losses, names, axes, fronts, fleets[0]["years"])


def draw_losses(
    figure: Figure,
    style: Style,
    losses: Sequence[Row],
    names: Sequence[str],
    axes: Sequence[Axis],
    fronts: Sequence[Sequence[int]],
    years: float,
) -> None:
    """P(loss) against each of some measures, side by side; on narrow figures one below the other."""
    narrow = is_narrow(figure)
    shape = (len(axes), 1) if narrow else (1, len(axes))
    panels = figure.subplots(*shape, squeeze=False, sharey=not narrow).ravel()
    for axis, front, panel in zip(axes, fronts, panels, strict=True):
        _draw_points(losses, names, axis, front, panel, style)
    for panel in panels if narrow else panels[:1]:
        panel.set_ylabel(f"P(loss) in {years:g} years")


def _draw_points(
    losses: Sequence[Row], names: Sequence[str], axis: Axis, front: Sequence[int], panel: Axes, style: Style
) -> None:
    panel.set_yscale("log")
    middle = (min(axis.values) + max(axis.values)) / 2
    for at, (p_loss, place) in enumerate(zip(losses, axis.values, strict=True)):
        low, value = _shown(p_loss)
        panel.plot([place, place], [low, p_loss["high"] or value], color=style["ink"], linewidth=1.0)
        panel.plot(
            [place], [value], linestyle="none", marker="D" if at in front else "o", markersize=7 if at in front else 6,
            markerfacecolor=style.series(5) if at in front else style["grid"], markeredgecolor=style["ink"],
            markeredgewidth=0.7,
        )  # fmt: skip
        if len(losses) <= MOST_NAMED:
            right = place > middle
            panel.annotate(
                wrapped(names[at], 26), (place, value), (-8 if right else 8, 0), textcoords="offset points",
                ha="right" if right else "left", va="center", fontsize=8,
            )  # fmt: skip
    panel.set_xlabel(axis.title)
    panel.margins(x=0.12, y=0.15)
    panel.grid(visible=True, axis="both", color=style["grid"])
    plain_numbers(panel.xaxis)
    _powers(panel, "y")


def _shown(p_loss: dict[str, float]) -> tuple[float, float]:
    """The low end and the estimate, where a logarithmic axis can show them."""
    value = p_loss["value"] or p_loss["high"]
    return (p_loss["low"] or value, value)


def by_year(fleets: Sequence[Row], names: Sequence[str]) -> Picture | None:
    """A line for each array over the years; nothing for a mission of a year or less, or for many arrays."""
    shown = [(name, fleet) for name, fleet in zip(names, fleets, strict=True) if max(fleet["p_loss_by_year"]) > 0]
    if fleets[0]["years"] <= 1 or not shown or len(fleets) > MOST_LINES:
        return None
    return Picture("by-year", "P(loss) by the end of each year", partial(_draw_years, shown), (8.6, 3.4))


def _draw_years(shown: Sequence[tuple[str, Row]], figure: Figure, style: Style) -> None:
    panel = figure.subplots()
    for at, (name, fleet) in enumerate(shown):
        by_year, years = fleet["p_loss_by_year"], fleet["years"]
        places = [min(year + 1.0, years) for year in range(len(by_year))]
        kept = [(place, value) for place, value in zip(places, by_year, strict=True) if value > 0]
        panel.plot(
            [place for place, _ in kept], [value for _, value in kept], label=wrapped(name), color=style.series(at),
            linestyle=DASHES[at], marker=MARKERS[at], markersize=5, markeredgecolor=style["ink"], markeredgewidth=0.6,
        )  # fmt: skip
    panel.set(yscale="log", xlabel="years", ylabel="P(loss) until then")
    plain_numbers(panel.xaxis)
    _powers(panel, "y")
    if len(shown) > 1:
        figure.legend(loc="outside upper center", ncols=1 if is_narrow(figure) else 2, handlelength=2.2)


def tornado(sensitivity: Sensitivity, name: str, number: int) -> Picture | None:
    """What each assumption changes; nothing if none changes anything."""
    swings = sensitivity.swings
    if not swings:
        return None
    caption = (f"{name}: P(loss) if one assumption is changed. The line is P(loss) with all assumptions as they are. "
               "The present value stands below a name, the changed one at the end of a bar: blue where it is "
               "smaller, orange where it is larger, hatched where it is switched off here")  # fmt: skip
    tall = 1.0 + 0.42 * len(swings)
    return Picture(f"tornado-{number}", caption, partial(_draw_tornado, sensitivity.base.value, swings), (8.6, tall))


def _draw_tornado(base: float, swings: Sequence[Swing], figure: Figure, style: Style) -> None:
    panel = figure.subplots()
    narrow = is_narrow(figure)
    title_width, end_width = (18, 12) if narrow else (60, 24)
    panel.set_xscale("log")
    for place, swing in enumerate(reversed(swings)):
        ends = [(max(end.loss.value, base * 1e-9), end.told) for end in swing.ends]
        for at, (value, told) in enumerate(ends):
            is_off = len(ends) == 1
            panel.barh(
                place, value - base, 0.62, left=base, color=style.series(1 if at or is_off else 0),
                edgecolor=style["ink"], hatch=HATCHES[1] if is_off else "",
            )  # fmt: skip
            off, side = (4, "left") if value >= base else (-4, "right")
            panel.annotate(wrapped(told, end_width), (value, place), (off, 0), textcoords="offset points", ha=side,
                           va="center", fontsize=7.5)  # fmt: skip
    panel.axvline(base, color=style["ink"], linewidth=1.0)
    titles = [f"{wrapped(swing.assumption.title, title_width)}\n{swing.assumption.now}" for swing in reversed(swings)]
    panel.set_yticks(range(len(swings)), titles, fontsize=8)
    panel.tick_params(axis="y", length=0)
    panel.grid(visible=False, axis="y")
    panel.grid(visible=True, axis="x", color=style["grid"])
    values = [base, *(max(end.loss.value, base * 1e-9) for swing in swings for end in swing.ends)]
    low, high = math.log10(min(values)), math.log10(max(values))
    room = (0.45 if narrow else 0.25) * max(high - low, 0.5)
    panel.set_xlim(10 ** (low - room), 10 ** (high + room))
    panel.set_xlabel("P(loss)")
    _powers(panel, "x")
    if narrow:
        panel.tick_params(axis="x", which="both", labelrotation=60)


def _powers(panel: Axes, which: str) -> None:
    """Probabilities as powers of ten: `1e-7`; where they span little, as `2e-7` as well."""
    from matplotlib.ticker import LogFormatter, LogLocator

    class Written(LogFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return written(x) if super().__call__(x, pos) else ""

    axis = panel.yaxis if which == "y" else panel.xaxis
    axis.set_major_locator(LogLocator(numticks=8))
    axis.set_major_formatter(Written())
    axis.set_minor_formatter(Written(minor_thresholds=(1.0, 0.4)))


def written(value: float) -> str:
    """`0.02`, `3.1e-7`: a probability with two digits."""
    if value >= 1e-3 or value <= 0:
        return f"{value:.2g}"
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{mantissa.removesuffix('.0')}e−{abs(int(exponent))}"
