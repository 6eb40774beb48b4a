"""Collects the results of `reproduce all` in one small file, `docs/validation.json`, from which documents are made."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..cli.options import UsageError
from . import PAPERS
from .reasons import VERDICTS, Number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DIGITS = 6
"""Significant digits of simulated numbers: documents show three or four."""


def collect(folder: str) -> dict[str, Any]:
    """The contents of every paper's `PAPER.json`, without data that other files have."""
    papers = {name: _shorten(_read(os.path.join(folder, f"{name}.json"))) for name in PAPERS}
    first, *others = papers.values()
    for key in ("flashkeep", "seed", "scale"):
        if any(other[key] != first[key] for other in others):
            told = ", ".join(f"{name} {paper[key]}" for name, paper in papers.items())
            raise UsageError(f"flashkeep reproduce documents: {folder} is not of one run: {key} of {told}")
    return {"made by": "flashkeep reproduce documents", "papers": papers}


def read(path: str) -> dict[str, Any]:
    """The result of `collect`, from a folder or from the file that `dump` wrote."""
    if os.path.isdir(path):
        return collect(path)
    found = _read(path)
    if not isinstance(found, dict) or list(found.get("papers", ())) != list(PAPERS):
        raise UsageError(f"flashkeep reproduce documents: {path} has no results of all papers; "
                         "name the DIR of `flashkeep reproduce all --out DIR`, or validation.json")  # fmt: skip
    return found


def _read(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        raise UsageError(f"flashkeep reproduce documents: {path} is not there; "
                         "`flashkeep reproduce all --out DIR` leaves it in DIR") from None  # fmt: skip
    except json.JSONDecodeError as error:
        raise UsageError(f"flashkeep reproduce documents: {path} is not JSON: {error}") from None


def dump(results: dict[str, Any]) -> str:
    """JSON with one line for each cell, so that two runs can be compared line by line."""
    text = json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False)
    return "".join(_joined(text.splitlines(keepends=True)))


def _joined(lines: list[str]) -> Iterator[str]:
    """Lists of plain values, which `indent` has put on a line each, on one line."""
    at = 0
    while at < len(lines):
        end = at + 1
        if lines[at].rstrip().endswith("["):
            while lines[end].strip() and lines[end].strip()[0] not in "[{]":
                end += 1
        if end > at + 1 and lines[end].strip()[0] == "]":
            yield lines[at].rstrip("\n") + " ".join(line.strip() for line in lines[at + 1 : end]) + lines[end].lstrip()
            at = end + 1
        else:
            yield lines[at]
            at += 1
    yield "\n"


def _shorten(results: dict[str, Any]) -> dict[str, Any]:
    cells = iter(results["cells"])  # a table's after those of the table before
    kept = ("flashkeep", "seed", "scale", "provenance", "run", "verdicts", "inputs", "predictions")
    return {
        **{key: results[key] for key in kept},
        "workloads": [[each["name"], each["requests"], each["digest"]] for each in results["workloads"]],
        "drives": [[each["drive"], *each["set"], each["digest"][:16]] for each in results["drives"]],
        "tables": [
            {
                **table,
                "rule": results["rules"].get(table["name"]),
                "cells": [_short(cell, table["name"]) for cell in islice(cells, table["cells"])],
            }
            for table in results["tables"]
        ],
    }


def _short(cell: dict[str, Any], table: str) -> list[Any]:
    simulated = cell["simulated"]
    short = None if simulated is None else float(f"{simulated:.{DIGITS}g}")
    return [
        "" if cell["table"] == table else cell["table"], cell["row"], cell["column"],
        cell["published"], short, cell["unit"], cell["verdict"], cell["note"],
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judged:
    """A table of a paper in the file."""

    name: str
    title: str
    rule: str | None
    is_input: bool
    is_prediction: bool
    cells: tuple[Number, ...]
    notes: tuple[str, ...]
    """One for each cell, mostly empty."""

    @property
    def verdicts(self) -> dict[str, int]:
        """The number of cells with each verdict."""
        return {verdict: sum(cell.verdict == verdict for cell in self.cells) for verdict in VERDICTS}

    def deviations(self, points: bool) -> list[tuple[float, Number]]:
        """The deviations of cells: shares in points, other numbers in per cent of the published ones."""
        found = []
        for cell in self.cells:
            if cell.published is None or cell.simulated is None or cell.unit in ("trend", "holds"):
                continue
            off = cell.simulated - cell.published
            if points and cell.unit == "%":
                found.append((off, cell))
            elif not points and cell.unit != "%" and cell.published:
                found.append((100 * off / abs(cell.published), cell))
        return found


def tables(paper: dict[str, Any]) -> list[Judged]:
    """The tables of a paper of the file."""
    return [
        Judged(
            table["name"], table["title"], table["rule"], table["input"], table["prediction"],
            tuple(Number(cell[0] or table["name"], *cell[1:-1]) for cell in table["cells"]),
            tuple(cell[-1] for cell in table["cells"]),
        )
        for table in paper["tables"]
    ]  # fmt: skip


def numbers(several: Sequence[Judged]) -> list[Number]:
    """All cells of several tables."""
    return [cell for table in several for cell in table.cells]
