"""The published numbers: `data/PAPER.csv` with table, row, column, value, unit and page (or section)."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import TYPE_CHECKING

from .paper import Cell

if TYPE_CHECKING:
    from collections.abc import Callable


class Published:
    """All published numbers of a paper."""

    __slots__ = ("_cells",)

    def __init__(self, name: str) -> None:
        text = files(__package__).joinpath("data", f"{name}.csv").read_text(encoding="utf-8")
        self._cells: dict[tuple[str, str, str], Cell] = {}
        for line in csv.DictReader(text.splitlines()):
            at = line["table"], line["row"], line["column"]
            if at in self._cells:
                raise ValueError(f"{name}.csv has two values for {' / '.join(at)}")
            self._cells[at] = Cell(*at, float(line["value"]), None, line["unit"], page=line["page"])

    def value(self, table: str, row: str, column: str) -> float:
        """One published number."""
        value = self._cells[table, row, column].published
        if value is None:
            raise KeyError(table, row, column)
        return value

    def cells(self, table: str, simulate: Callable[[Cell], float | None]) -> list[Cell]:
        """The cells of a table, each with the simulated number that `simulate` returns."""
        found = [cell for cell in self._cells.values() if cell.table == table]
        if not found:
            raise KeyError(table)
        return [
            Cell(c.table, c.row, c.column, c.published, simulate(c), c.unit, page=c.page)
            for c in found
        ]  # fmt: skip

    def rows(self, table: str) -> list[str]:
        """The rows of a table, in the paper's order."""
        return list(dict.fromkeys(cell.row for cell in self._cells.values() if cell.table == table))
