"""Draws figures, as SVG whose colours follow the page (light or dark), and as PNG.

matplotlib is imported when the first figure is drawn. It draws SVG in placeholder colours, which are then replaced by
variables of the style sheet, so that one drawing serves both. Series differ in hatch, marker and dash as well as in
colour, so that figures can be read in black and white.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

NAMES = ("ink", "grid", "paper", "s1", "s2", "s3", "s4", "s5", "s6")
"""The colours of a figure: its text and axes, its grid, its background, and its series."""

LIGHT = dict(zip(NAMES, (
    "#1c2733", "#d5dbe1", "#ffffff", "#1f6fb4", "#e8a33d", "#2f8f6b", "#c65d8f", "#7fb8de", "#a4461f",
), strict=True))  # fmt: skip
DARK = dict(zip(NAMES, (
    "#e3e8ee", "#3b4652", "#12181f", "#5aa9e6", "#f0bd68", "#5cc49b", "#e58fb7", "#2f6f9f", "#dd8058",
), strict=True))  # fmt: skip

HATCHES = ("", "////", "xxxx", "....", "\\\\\\\\", "++++")
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)), (0, (9, 2)), (0, (3, 1, 1, 1, 1, 1)))

_PLACEHOLDERS = {name: f"#0{at}0{at}f{at}" for at, name in enumerate(NAMES)}


@dataclass(frozen=True, slots=True)
class Style:
    """The colours to draw with."""

    colours: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        return self.colours[name]

    def series(self, at: int) -> str:
        """The colour of a series."""
        return self.colours[f"s{at % 6 + 1}"]


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure to be drawn: its file's name, its caption, its size in inches, and the function that draws it."""

    name: str
    caption: str
    draw: Callable[[Figure, Style], None]
    size: tuple[float, float] = (8.6, 3.6)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure as files, and as a part of a page."""

    name: str
    caption: str
    svg: str
    inline: str
    png: bytes


def draw(picture: Picture) -> Drawn:
    """Draws a figure for light and dark pages."""
    import matplotlib as mpl

    with mpl.rc_context(_settings(picture.name, _PLACEHOLDERS)):
        buffer = io.StringIO()
        _figure(picture, Style(_PLACEHOLDERS)).savefig(
            buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
        )
        inline = _follow_page(buffer.getvalue(), picture)
    with mpl.rc_context(_settings(picture.name, LIGHT)):
        png = io.BytesIO()
        _figure(picture, Style(LIGHT)).savefig(
            png, format="png", dpi=160, facecolor=LIGHT["paper"], metadata={"Software": None}
        )
    svg = inline.replace(">", f">\n<style>{style_sheet()}</style>", 1)
    return Drawn(picture.name, picture.caption, svg, inline, png.getvalue())


def style_sheet(dark: str = "@media (prefers-color-scheme: dark)") -> str:
    """The colours of figures as variables, light and dark."""

    def variables(colours: Mapping[str, str]) -> str:
        return "".join(f"--{name}:{colour};" for name, colour in colours.items())

    return f":root{{{variables(LIGHT)}}}{dark}{{:root{{{variables(DARK)}}}}}"


def _settings(salt: str, colours: Mapping[str, str]) -> Any:  # matplotlib's type lists every key
    return {
        "svg.fonttype": "none",  # text stays text: small, searchable, in the reader's font
        "svg.hashsalt": salt,
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "hatch.linewidth": 0.7,
        "text.color": colours["ink"],
        "axes.edgecolor": colours["ink"],
        "axes.labelcolor": colours["ink"],
        "axes.titlecolor": colours["ink"],
        "axes.titlesize": 9.5,
        "axes.titleweight": "bold",
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.grid.axis": "y",
        "axes.axisbelow": True,
        "grid.color": colours["grid"],
        "grid.linewidth": 0.7,
        "xtick.color": colours["ink"],
        "ytick.color": colours["ink"],
        "patch.linewidth": 0.8,
        "legend.frameon": False,
    }


def shown(picture: Picture) -> Figure:
    """A figure of matplotlib in light colours, which a notebook shows without pyplot."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    class Shown(Figure):
        def _repr_png_(self) -> bytes:
            file = io.BytesIO()
            self.savefig(file, format="png", dpi=110)
            return file.getvalue()

    with mpl.rc_context(_settings(picture.name, LIGHT)):
        figure = Shown(figsize=picture.size, layout="constrained", facecolor=LIGHT["paper"])
        picture.draw(figure, Style(LIGHT))
    return figure


def _figure(picture: Picture, style: Style) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=picture.size, layout="constrained")
    picture.draw(figure, style)
    return figure


def _follow_page(svg: str, picture: Picture) -> str:
    """An SVG element without a head, with variables for placeholder colours and ids that are unique in the page."""
    body = svg[svg.index("<svg") :]
    for name, placeholder in _PLACEHOLDERS.items():
        body = body.replace(placeholder, f"var(--{name})")
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    body = re.sub(r'<(g|text) id="[^"]*"', r"<\1", body)  # a page has several figures
    body = body.replace("'DejaVu Sans'", "system-ui, 'DejaVu Sans', sans-serif")
    body = re.sub(r'(<svg[^>]*?) width="[^"]*pt"', r"\1", re.sub(r'(<svg[^>]*?) height="[^"]*pt"', r"\1", body))
    title = picture.caption.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return body.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)


@dataclass(frozen=True, slots=True)
class Series:
    """A row of numbers over the groups of a figure. `colour` and `mark` choose colour, and hatch or marker and dash."""

    label: str
    values: tuple[float | None, ...]
    colour: int
    mark: int = 0


def bars(axes: Axes, style: Style, groups: tuple[str, ...], series: tuple[Series, ...], unit: str) -> None:
    """Groups of bars, one for each series; the place of a missing number stays empty."""
    wide = 0.84 / len(series)
    for at, one in enumerate(series):
        places = [group + (at - (len(series) - 1) / 2) * wide for group in range(len(groups))]
        axes.bar(
            places, [value if value is not None else 0.0 for value in one.values], wide * 0.92, label=one.label,
            color=style.series(one.colour), edgecolor=style["ink"], hatch=HATCHES[one.mark % len(HATCHES)],
        )  # fmt: skip
    axes.set_xticks(range(len(groups)), groups)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, len(groups) - 0.4)
    axes.set_ylabel(unit)
    if any(value is not None and value < 0 for one in series for value in one.values):
        axes.axhline(0, color=style["ink"], linewidth=0.8)


def stacks(axes: Axes, style: Style, groups: tuple[str, ...], series: tuple[Series, ...], unit: str) -> None:
    """One bar for each group, with the series on top of each other."""
    below = [0.0] * len(groups)
    for one in series:
        heights = [value if value is not None else 0.0 for value in one.values]
        axes.bar(
            range(len(groups)), heights, 0.72, bottom=below, label=one.label, color=style.series(one.colour),
            edgecolor=style["ink"], hatch=HATCHES[one.mark % len(HATCHES)],
        )  # fmt: skip
        below = [low + high for low, high in zip(below, heights, strict=True)]
    axes.set_ylim(0, 1.05 * max(below) or 1)
    axes.set_xticks(range(len(groups)), groups)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, len(groups) - 0.4)
    axes.set_ylabel(unit)


def lines(axes: Axes, style: Style, places: tuple[float, ...], series: tuple[Series, ...], unit: str) -> None:
    """Lines with markers over numbered places."""
    for one in series:
        axes.plot(
            places, [float("nan") if value is None else value for value in one.values], label=one.label,
            color=style.series(one.colour), linestyle=DASHES[one.mark % len(DASHES)], linewidth=1.6,
            marker=MARKERS[one.mark % len(MARKERS)], markersize=5, markeredgecolor=style["ink"], markeredgewidth=0.6,
        )  # fmt: skip
    axes.set_ylabel(unit)


def pairs(axes: Axes, style: Style, groups: tuple[str, ...], published: Series, simulated: Series, unit: str) -> None:
    """Published and simulated numbers one above the other, joined by a line that shows their distance."""
    for at, (theirs, ours) in enumerate(zip(published.values, simulated.values, strict=True)):
        if theirs is not None and ours is not None:
            axes.plot([at, at], [theirs, ours], color=style["ink"], linewidth=0.9, zorder=1)
    for one, face in ((published, style["paper"]), (simulated, style.series(simulated.colour))):
        kept = [(at, value) for at, value in enumerate(one.values) if value is not None]
        axes.scatter(
            [at for at, _ in kept], [value for _, value in kept], s=34, marker=MARKERS[one.mark],
            facecolor=face, edgecolor=style["ink"], linewidth=0.9, label=one.label, zorder=2,
        )  # fmt: skip
    axes.set_xticks(range(len(groups)), groups)
    axes.set_xlim(-0.6, len(groups) - 0.4)
    axes.axhline(0, color=style["ink"], linewidth=0.8, zorder=0)
    axes.margins(y=0.12)  # markers are not clipped
    axes.set_ylabel(unit)


def plain_numbers(*log: Axis) -> None:
    """Writes 1000 on logarithmic axes, not 10³."""
    from matplotlib.ticker import LogFormatter

    for axis in log:
        axis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set_minor_formatter(LogFormatter(minor_thresholds=(1.0, 0.4)))


def legend(figure: Figure, axes: Axes, columns: int) -> None:
    """One legend for all, above."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, handlelength=2.2, columnspacing=1.4)


def panels(figure: Figure, rows: int, columns: int = 1, **options: Any) -> Iterator[Axes]:
    """The panels of a figure, row by row."""
    grid = figure.subplots(rows, columns, squeeze=False, **options)
    return (axes for row in grid for axes in row)
