"""Documents made from results, `docs/validation.md` and others. Their prose is in the templates beside."""

from __future__ import annotations

import os
import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...cli.options import UsageError
from ...render.pages import environment, number, with_unit
from .. import find
from ..collected import Judged, dump, numbers, read, tables
from ..reasons import explain, reason_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jinja2 import Environment

    from ..paper import Paper
    from ..reasons import Number, Why

DOCUMENTS = ("validation", "hybrid", "dvs")
"""The templates: `NAME.md.jinja` makes `NAME.md`."""


@dataclass(frozen=True, slots=True)
class Told:
    """A paper, its results, and the text about them."""

    paper: Paper
    found: Mapping[str, Any]
    tables: tuple[Judged, ...]
    whys: tuple[Why, ...]

    @property
    def drives(self) -> str:
        """One digest of all drives, as in the paper's provenance line."""
        digest: str = self.found["provenance"].partition("digest ")[2].partition(";")[0]
        return digest

    @property
    def unexplained(self) -> list[Number]:
        """Cells that want a reason and have none."""
        return [
            cell for cell in numbers(self.tables)
            if cell.is_off and reason_for(self.paper.reasons, cell) is None
        ]  # fmt: skip

    def table(self, name: str) -> Judged:
        """A table by its name."""
        return next(table for table in self.tables if table.name == name)

    def cell(self, table: str, row: str, column: str) -> Number:
        """A cell by its place."""
        return next(cell for cell in numbers(self.tables) if cell[:3] == (table, row, column))

    def same_sign(self, column: str) -> list[bool]:
        """Whether each published cell of a column has the simulated one's sign."""
        found = [cell for cell in numbers(self.tables) if cell.column == column and cell.published is not None]
        return [(cell.simulated or 0.0) * (cell.published or 0.0) > 0 for cell in found]

    def published(self, table: str, row: str, column: str) -> str:
        """A published number as text."""
        cell = self.cell(table, row, column)
        return number(cell.published, cell.unit)

    def simulated(self, table: str, row: str, column: str) -> str:
        """A simulated number as text."""
        cell = self.cell(table, row, column)
        return number(cell.simulated, cell.unit)


def documents(arguments: dict[str, Any], say: Callable[[str], None]) -> None:
    """Writes every document, and the results that they are made from, to `--out`."""
    folder = arguments["out"]
    if folder is None:
        raise UsageError("flashkeep reproduce documents: --out DIR missing: where do they go?")
    results = read(arguments["results"])
    texts = {f"{name}.md": render(name, results) for name in DOCUMENTS}
    texts["validation.json"] = dump(results)
    os.makedirs(folder, exist_ok=True)
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    say("\n".join(os.path.join(folder, name) for name in texts))


def render(name: str, results: Mapping[str, Any]) -> str:
    """A document."""
    papers = {each: tell(find(each), found) for each, found in results["papers"].items()}
    first = next(iter(results["papers"].values()))
    values = {key: first[key] for key in ("flashkeep", "seed", "scale")}
    text = _environment().get_template(f"{name}.md.jinja").render(papers=papers, **values)
    return re.sub(r"[ \t]+$", "", re.sub(r"\n{3,}", "\n\n", text.rstrip() + "\n"), flags=re.MULTILINE)


def tell(paper: Paper, found: Mapping[str, Any]) -> Told:
    """A paper's results with their reasons."""
    its = tuple(tables(dict(found)))
    return Told(paper, found, its, tuple(explain(paper.reasons, numbers(its))))


def _environment() -> Environment:
    ours = environment("flashkeep.reproduce.documents", ".", escape=False)
    ours.filters |= {
        "number": number, "with_unit": with_unit, "paragraph": paragraph, "item": item, "deviation": deviation,
    }  # fmt: skip
    return ours


def paragraph(text: str, first: str = "") -> str:
    """Text in lines, as documents have them; `first` precedes it, the other lines below its end."""
    return textwrap.fill(text, 118, initial_indent=first, subsequent_indent=" " * len(first), break_long_words=False,
                         break_on_hyphens=False)  # fmt: skip


def item(text: str) -> str:
    """An item of a list."""
    return paragraph(text, "- ")


def deviation(table: Judged) -> str:
    """How far a table's cells are off, in the mean and at worst."""
    told = []
    for points, unit in ((True, "points"), (False, "%")):
        off = table.deviations(points)
        if off:
            mean = sum(abs(value) for value, _ in off) / len(off)
            worst, cell = max(off, key=lambda pair: abs(pair[0]))
            sign = "+" if worst > 0 else ""
            told.append(f"{number(mean, '%')} {unit}; {sign}{number(worst, '%')} ({cell.row}, {cell.column})")
    return "; ".join(told) or "–"
