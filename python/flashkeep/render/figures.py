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

CAUSES = {
    "host": "host", "update": "partial pages", "mirror": "mirror", "parity": "parity",
    "parity_gc": "parity moved by GC", "partial_parity": "partial parity", "gc": "garbage collection",
    "wear": "wear leveling", "migrate": "migration", "metadata": "metadata", "rebuild": "rebuild",
    "fold": "SLC cache fold-out", "retry": "read retries", "refresh": "refresh", "scrub": "scrubbing",
}  # fmt: skip
"""The causes of operations, with their names in legends. Each has a colour and a hatch of its own."""

NAMES = ("ink", "grid", "paper", *(f"s{at}" for at in range(1, 7)), *(f"c{at}" for at in range(1, 16)))
"""The colours of a figure: its text and axes, its grid, its background, its series, and the causes of operations."""

# Series: the palette of Okabe and Ito. Causes: colours that also differ for eyes without one of the three cones
# (tests/reproduce/test_figures.py measures it), beginning with Tol's.
LIGHT = dict(zip(NAMES, (
    "#1c2733", "#d5dbe1", "#ffffff", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00",
    "#0072b2", "#88ccee", "#ddcc77", "#882255", "#c387ff", "#c378a5", "#cc6677", "#789600", "#c3e1b4", "#2d3ca5",
    "#117733", "#6b3e00", "#8501fa", "#240651", "#27fd21",
), strict=True))  # fmt: skip
DARK = dict(zip(NAMES, (
    "#e3e8ee", "#3b4652", "#12181f", "#4ba3e3", "#f0b94a", "#2fbf91", "#e39cc4", "#8fd0f5", "#f07f35",
    "#5aa9e6", "#0fffff", "#f0bd68", "#963c69", "#5a4bb4", "#e58fb7", "#ff4b69", "#789600", "#f0f05a", "#695a0f",
    "#5cc49b", "#a51eff", "#060167", "#bef9b6", "#71031e",
), strict=True))  # fmt: skip

HATCHES = ("", "////", "xxxx", "....", "\\\\\\\\", "++++", "oo", "----", "||||", "**", "//..", "xx..",
           "oo..", "--||", "**//")  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)), (0, (9, 2)), (0, (3, 1, 1, 1, 1, 1)))

_PLACEHOLDERS = {name: f"#{at:02x}5eed" for at, name in enumerate(NAMES)}


@dataclass(frozen=True, slots=True)
class Style:
    """The colours to draw with."""

    colours: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        return self.colours[name]

    def series(self, at: int) -> str:
        """The colour of a series."""
        return self.colours[f"s{at % 6 + 1}"]

    def cause(self, name: str) -> dict[str, Any]:
        """The colour and hatch of a cause, as options of a bar."""
        at = list(CAUSES).index(name)
        return {"color": self.colours[f"c{at + 1}"], "edgecolor": self["ink"], "hatch": HATCHES[at]}


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
    plain_numbers(axes.yaxis)
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
    plain_numbers(axes.yaxis)


def lines(axes: Axes, style: Style, places: tuple[float, ...], series: tuple[Series, ...], unit: str) -> None:
    """Lines with markers over numbered places."""
    for one in series:
        axes.plot(
            places, [float("nan") if value is None else value for value in one.values], label=one.label,
            color=style.series(one.colour), linestyle=DASHES[one.mark % len(DASHES)], linewidth=1.6,
            marker=MARKERS[one.mark % len(MARKERS)], markersize=5, markeredgecolor=style["ink"], markeredgewidth=0.6,
        )  # fmt: skip
    axes.set_ylabel(unit)
    plain_numbers(axes.yaxis)


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
    plain_numbers(axes.yaxis)


def plain(value: float) -> str:
    """`0.01`, `2.5`, `1,000,000`: the one notation of numbers on axes."""
    if value and abs(value) < 1:
        return f"{value:.10f}".rstrip("0").rstrip(".").replace("-", "−")
    text = f"{value:,.3f}".rstrip("0").rstrip(".")
    return text.replace("-", "−")


def plain_numbers(*axes: Axis) -> None:
    """Writes all numbers of an axis in the same notation: neither 10³ nor 1e6 beside 1,000."""
    from matplotlib.ticker import LogFormatter, LogLocator, NullFormatter

    class Minor(LogFormatter):
        """The minor numbers of a logarithmic axis, where it spans too little to have several others."""

        def __call__(self, x: float, pos: int | None = None) -> str:
            return plain(x) if super().__call__(x, pos) else ""

    for axis in axes:
        logarithmic = axis.get_scale() == "log"
        if logarithmic:
            axis.set_major_locator(LogLocator(numticks=7))
        axis.set_major_formatter(lambda value, _: plain(value))
        axis.set_minor_formatter(Minor(minor_thresholds=(1.0, 0.4)) if logarithmic else NullFormatter())


def time_unit(shortest_us: float, longest_us: float) -> tuple[float, str]:
    """The unit for times of a range, and how many µs it has: numbers on the axis stay short."""
    if longest_us < 1e6:
        return 1.0, "µs"
    return (1e3, "ms") if shortest_us < 1e3 or longest_us < 1e8 else (1e6, "s")


def count_unit(most: float) -> tuple[float, str]:
    """The unit for counts up to `most`: 1, thousands, millions."""
    if most < 1e5:
        return 1.0, ""
    return (1e3, "thousand ") if most < 1e8 else (1e6, "million ")


def wrapped(label: str, width: int = 32) -> str:
    """A long label on several lines."""
    import textwrap

    return "\n".join(textwrap.wrap(label, width, break_on_hyphens=False, break_long_words=False)) or label


def legend(figure: Figure, axes: Axes, columns: int) -> None:
    """One legend for all, above."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, handlelength=2.2, columnspacing=1.4)


def panels(figure: Figure, rows: int, columns: int = 1, **options: Any) -> Iterator[Axes]:
    """The panels of a figure, row by row."""
    grid = figure.subplots(rows, columns, squeeze=False, **options)
    return (axes for row in grid for axes in row)
