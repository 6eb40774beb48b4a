"""How a chart of a sweep is laid out: which keys are its axis, its lines and its panels, and which are held."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .sheet import FOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .measures import Measure
    from .sheet import Configuration, Dimension, Estimate, Sheet

MOST_LINES = 12
"""More lines in a panel could not be distinguished."""
MOST_ROWS, MOST_COLUMNS = 6, 4
"""More panels would be too small, or too many for a page."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The keys of a chart. `held` are the keys that it does not show, with the value that it is drawn for."""

    x: str | None
    by: str | None = None
    column: str | None = None
    row: str | None = None
    held: dict[str, Any] = field(default_factory=dict)


def default(sheet: Sheet) -> Layout:
    """The axis is a number if one was swept; lines are words (schemes, policies); workloads and drives are panels."""
    left = sheet.free(())  # keys that follow from others, such as those of a variant, take no place

    def take(*tests: Any) -> str | None:
        for test in tests:
            found = [one for one in left if test(one)]
            if found:
                best = max(found, key=lambda one: len(one.values))  # of equals the first in the plan
                left.remove(best)
                return best.name
        return None

    def named(name: str) -> Any:
        return lambda one: one.name == name

    def key(one: Dimension) -> bool:
        return one.name not in (FOLDER, "workload", "drive")

    def any_of(_: Dimension) -> bool:
        return True

    x = take(lambda one: key(one) and one.numeric, key, named("drive"), named("workload"), any_of)
    by = take(named(FOLDER), lambda one: key(one) and not one.numeric and len(one.values) <= MOST_LINES,
              lambda one: key(one) and len(one.values) <= MOST_LINES, named("drive"), any_of)  # fmt: skip
    column = take(named("workload"), named("drive"), any_of)
    row = take(named("drive"), any_of)
    return complete(sheet, Layout(x, by, column, row))


def complete(sheet: Sheet, layout: Layout) -> Layout:
    """Holds each key that is not shown at a value: that of most lines and cells, of equals the first."""
    chosen = [name for name in (layout.x, layout.by, layout.column, layout.row) if name]
    held: dict[str, Any] = {}
    for one in sheet.free(chosen):
        if one.name in layout.held:
            held[one.name] = layout.held[one.name]
            continue
        left = kept(sheet, {**layout.held, **held})
        counts = Counter(each.values[one.name] for each in left)
        lines = Counter(
            value for value, _ in {(each.values[one.name], each.values.get(layout.by or "")) for each in left}
        )
        held[one.name] = max(one.values, key=lambda value: (lines[value], counts[value]))
    held |= {name: value for name, value in layout.held.items() if name not in held}
    return Layout(layout.x, layout.by, layout.column, layout.row, held)


def kept(sheet: Sheet, held: dict[str, Any]) -> list[Configuration]:
    """The configurations with these values."""
    return [each for each in sheet.configurations if all(each.values[name] == value for name, value in held.items())]


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of a chart: the value of its key, its place among all values, and its points."""

    value: Any
    at: int
    points: list[tuple[Any, Estimate, bool]]
    """Value on the axis, estimate, and whether pages were lost."""


@dataclass(frozen=True, slots=True)
class Facet:
    """A panel: the values of its keys, and its lines."""

    row: Any
    column: Any
    traces: list[Curve]


def facets(sheet: Sheet, measure: Measure, layout: Layout) -> tuple[list[list[Facet]], list[str]]:
    """The panels row by row, and what does not fit the figure."""
    missing: list[str] = []
    found: dict[tuple[Any, Any, Any], list[tuple[Any, Estimate, bool]]] = {}
    for one in kept(sheet, layout.held):
        row, column, by = (one.values[name] if name else None for name in (layout.row, layout.column, layout.by))
        told = sheet.estimate(measure.path, one)
        if told is not None:
            at = one.values[layout.x] if layout.x else ""
            found.setdefault((row, column, by), []).append((at, told, sheet.lost(one)))
    rows = _values(sheet, layout.row, MOST_ROWS, "rows", missing, {place[0] for place in found})
    columns = _values(sheet, layout.column, MOST_COLUMNS, "columns", missing, {place[1] for place in found})
    lines = _values(sheet, layout.by, MOST_LINES, "lines", missing)
    order = {value: at for at, value in enumerate(sheet.dimension(layout.x).values)} if layout.x else {"": 0}
    grid = [
        [
            Facet(row, column, [
                Curve(line, at, sorted(found[row, column, line], key=lambda point: order[point[0]]))
                for at, line in enumerate(lines) if (row, column, line) in found
            ])
            for column in columns
        ]
        for row in rows
    ]  # fmt: skip
    return grid, missing


def _values(
    sheet: Sheet, name: str | None, most: int, what: str, missing: list[str], present: set[Any] | None = None
) -> Sequence[Any]:
    """The values of a key, as many as fit; of panels only those with cells. Lines keep their places in all charts."""
    if name is None:
        return [None]
    values = [value for value in sheet.dimension(name).values if present is None or value in present]
    if len(values) > most:
        missing.append(f"{most} of {len(values)} values of {name} are shown as {what}")
    return values[:most]
