"""HTML pages from templates: each is one file that needs nothing else, and no network."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from ...results.writing import put
from ..figures import style_sheet

if TYPE_CHECKING:
    from jinja2 import Environment

    from ...reproduce.paper import Table
    from ...reproduce.reasons import Grid


UNTOLD = ("trend", "holds", "multiple", "share", "")
"""Units that a number does without."""


def render(template: str, **values: Any) -> str:
    """A page from a template of this folder."""
    return _environment().get_template(template).render(**values, figure_colours=style_sheet())


def write(out: str, page: str) -> None:
    """Replaces the page at once; a symbolic link is kept, and a pipe or device is written to directly."""
    place = os.path.realpath(out)
    if os.path.isfile(place) or not os.path.exists(place):
        put(place, page.encode())
    else:
        with open(place, "w", encoding="utf-8") as file:
            file.write(page)


def environment(package: str, folder: str, *, escape: bool) -> Environment:
    """Templates of a folder in a package; a name that they do not know is a mistake."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader(package, folder)
    return Environment(
        loader=loader, autoescape=escape, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


@cache
def _environment() -> Environment:
    ours = environment("flashkeep.render", "pages", escape=True)
    ours.filters |= {
        "number": number, "with_unit": with_unit, "grid": grid, "told": told,
        "difference": difference, "greek": greek, "unit": unit,
    }  # fmt: skip
    return ours


def number(value: float | None, unit: str = "") -> str:
    """A number as people read it; a trend as a word; nothing as a dash."""
    if value is None:
        return "–"
    if unit == "trend":
        return "rises" if value > 0 else "falls" if value < 0 else "level"
    if unit == "holds":
        return "yes" if value else "no"
    if value == int(value) and (abs(value) >= 1000 or unit not in ("%", "x")):
        text = f"{value:,.0f}"
    else:
        size = abs(value)
        text = f"{value:,.0f}" if size >= 1000 else f"{value:.1f}" if size >= 10 or unit == "%" else f"{value:.3g}"
    return text.replace("-", "−") if text.strip("-0.") else text.removeprefix("-")


def grid(table: Table) -> Grid:
    """The cells of a table that has nothing to be judged by."""
    from ...reproduce.reasons import by_place

    return by_place(table.name, [cell.number for cell in table.cells])


def told(grid: Grid) -> list[tuple[str, list[str]]]:
    """The rows of a small table as text."""
    return [(name, [with_unit(*value) for value in values]) for name, values in grid.rows]


def with_unit(value: float | None, unit: str) -> str:
    """A number with its unit after it, for tables of many units."""
    words = "" if value is None or unit in UNTOLD else "×" if unit == "x" else f" {unit}"
    return f"{number(value, unit)}{words}"


def difference(simulated: float | None, published: float | None, unit: str) -> str:
    """How far apart two numbers are: in points where they are shares, else in per cent of what is published."""
    if simulated is None or published is None or unit in ("trend", "holds"):
        return ""
    off = simulated - published
    if unit != "%":
        if not published:
            return ""
        off *= 100 / published
    text = f"{off:+.1f}".replace("-", "−")
    text = "0.0" if text[1:] == "0.0" else text
    return text if unit == "%" else f"{text} %"


def unit(unit: str, column: str) -> str:
    """The text after a column's name: nothing where the name says it already."""
    return "" if unit in ("trend", "holds") or unit.lower() in column.lower() else f", {unit}"


def greek(name: str) -> str:
    """`dMRT` as the paper prints it."""
    return f"Δ{name[1:]}" if name[:1] == "d" and name[1:2].isupper() else name
