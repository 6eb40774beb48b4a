"""Reasons for deviations: paragraphs of `data/PAPER.toml`, the cells that each explains, and the cells that are
evidence for it."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

AGREES, SAME_SHAPE, DIFFERS = "agrees", "same shape", "differs"
VERDICTS = (AGREES, SAME_SHAPE, DIFFERS)
"""The verdicts of a cell; `verdicts` has the rules."""

FAR = 10.0
"""In points: a share that is off by more needs a reason under every verdict."""


class Number(NamedTuple):
    """The data about a cell that a reason needs."""

    table: str
    row: str
    column: str
    published: float | None
    simulated: float | None
    unit: str
    verdict: str | None

    @property
    def is_off(self) -> bool:
        """Whether it needs a reason: it does not agree, or it is a share that is off by more than ten points."""
        if self.verdict is None or self.published is None or self.simulated is None:
            return False
        return self.verdict != AGREES or (self.unit == "%" and abs(self.simulated - self.published) > FAR)


@dataclass(frozen=True, slots=True)
class Grid:
    """A small table: rows by columns, of one unit or of many."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[float | None, str], ...]], ...]
    """A row's name, and its numbers with their units."""


@dataclass(frozen=True, slots=True)
class Why:
    """A paragraph that explains deviations, the cells that deviate, and the runs that are evidence."""

    title: str
    text: str
    grids: tuple[Grid, ...] = ()
    cells: tuple[Number, ...] = ()


@dataclass(frozen=True, slots=True)
class Reason:
    """A paragraph of the data file. `cells` and `shown` are patterns of table, row and column (`*` is anything).

    The first reason that covers a cell explains it; one without `cells` is a remark. In `shown` a row or column may be
    `{row}` or `{column}`, the explained cell's own: such ablations are beside it.
    """

    title: str
    text: str
    cells: tuple[tuple[str, str, str], ...] = ()
    shown: tuple[tuple[str, str, str], ...] = ()

    def covers(self, cell: Number) -> bool:
        """Whether this is a reason for the cell."""
        return any(_like(cell, pattern) for pattern in self.cells)


def explain(reasons: Sequence[Reason], cells: Sequence[Number]) -> list[Why]:
    """The paragraphs for these cells, in the order of the file, and the remarks."""
    groups: dict[str, list[Number]] = {reason.title: [] for reason in reasons}
    for cell in cells:
        found = reason_for(reasons, cell) if cell.is_off else None
        if found:
            groups[found.title].append(cell)
    return [
        Why(reason.title, reason.text, tuple(_grids(reason, groups[reason.title], cells)), tuple(groups[reason.title]))
        for reason in reasons
        if groups[reason.title] or not reason.cells
    ]


def reason_for(reasons: Iterable[Reason], cell: Number) -> Reason | None:
    """The first reason that covers a cell."""
    return next((reason for reason in reasons if reason.covers(cell)), None)


def _like(cell: Number, pattern: tuple[str, str, str]) -> bool:
    return all(fnmatchcase(name, one) for name, one in zip(cell[:3], pattern, strict=True))


def _grids(reason: Reason, off: Sequence[Number], every: Sequence[Number]) -> Iterator[Grid]:
    """The cells that deviate, each beside its own ablations; then the ablations for several cells."""
    own = [pattern for pattern in reason.shown if "{row}" in pattern]
    if off:
        yield _beside(off, own, every)
    for pattern in reason.shown:
        if pattern not in own:
            found = [cell for cell in every if _like(cell, pattern)]
            for table in dict.fromkeys(cell.table for cell in found):
                yield by_place(table, [cell for cell in found if cell.table == table])


def _beside(off: Sequence[Number], own: Sequence[tuple[str, str, str]], every: Sequence[Number]) -> Grid:
    tables = list(dict.fromkeys(
        cell.table for pattern in own for cell in every if fnmatchcase(cell.table, pattern[0])
    ))  # fmt: skip
    known = {cell[:3]: cell for cell in every}
    rows = []
    for cell in off:
        told = [(cell.published, cell.unit), (cell.simulated, cell.unit)]
        for table in tables:
            there = known.get((table, cell.row, cell.column))
            told.append((there.simulated if there else None, cell.unit))
        rows.append((f"{cell.table}: {cell.row}, {cell.column}", tuple(told)))
    names = tuple(table.removeprefix("ablation: ") for table in tables)
    return Grid("", ("published", "simulated", *names), tuple(rows))


def by_place(table: str, cells: Sequence[Number]) -> Grid:
    """Cells by row and column; the dimension with more values goes down the page."""
    rows, columns = (tuple(dict.fromkeys(names)) for names in zip(*(cell[1:3] for cell in cells), strict=True))
    known = {(cell.row, cell.column): (cell.simulated, cell.unit) for cell in cells}
    if len(columns) > len(rows):
        known = {(column, row): value for (row, column), value in known.items()}
        rows, columns = columns, rows
    nothing = (None, "")
    return Grid(table, columns, tuple((row, tuple(known.get((row, column), nothing) for column in columns))
                                      for row in rows))  # fmt: skip
