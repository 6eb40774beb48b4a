"""Reads the folder of a sweep: its plan, its table, and the notes of its cells."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain, product
from typing import TYPE_CHECKING, Any

from ..cli.options import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TABLE, PLAN, CELLS = "results.csv", "plan.toml", "cells"
IDENTITY = ("workload", "drive", "variant")
"""The columns that are swept without being keys of a drive."""
OTHER = ("cell", *IDENTITY, "seed", "status", "error", "digest")
"""The columns that are no figures, besides swept keys."""
NUMBER = re.compile(r"\d[\d.,]*")
STATUSES = {"0": "done", "3": "done, and pages were lost or read wrong", "2": "refused", "failed": "failed"}


@dataclass(slots=True)
class SweepFolder:
    """A sweep as it lies in its folder."""

    folder: str
    name: str
    plan: dict[str, Any]
    columns: dict[str, list[Any]]
    keys: list[str]
    """The swept keys of drives, in the order of the plan."""
    notes: dict[str, Counter[str]] = field(default_factory=dict)
    """The warnings of the cells and how many cells have each; those that differ in numbers only are together."""
    versions: set[str] = field(default_factory=set)
    hashes: dict[str, str] = field(default_factory=dict)
    """SHA-256 of workloads."""

    def __len__(self) -> int:
        return len(self.columns["cell"])

    def planned(self) -> int:
        """The number of cells of the plan: all combinations but the excluded ones."""
        plan = self.plan

        def several(name: str, default: Any = None) -> list[Any]:
            found = plan.get(name, default)
            return found if isinstance(found, list) else [found]

        grid = dict(flat_keys(plan.get("grid", {})))
        rules = [dict(flat_keys(rule)) for rule in plan.get("exclude", ())]
        axes = [[{name: value} for value in several(name, 1)] for name in ("workload", "drive", "seed")]
        axes.append([{"variant" if key == "name" else key: value for key, value in flat_keys(variant)}
                     for variant in plan.get("variant", ())] or [{}])  # fmt: skip
        axes += [[{key: value} for value in values] for key, values in grid.items()]
        if not rules:
            return math.prod(map(len, axes))
        every = (dict(chain.from_iterable(part.items() for part in parts)) for parts in product(*axes))
        return sum(not any(_fits(cell, rule) for rule in rules) for cell in every)

    def told_notes(self) -> list[str]:
        """Each warning with the number of its cells; of warnings that differ in numbers only the first one."""
        lines = []
        for alike in self.notes.values():
            cells = sum(alike.values())
            many = f"{cells:,} of {len(self):,} cells" if len(self) > 1 else ""
            numbers = "; the numbers differ" if len(alike) > 1 else ""
            lines.append(f"{next(iter(alike))}{f' ({many}{numbers})' if many else ''}")
        return lines

    def reasons(self, status: str) -> list[tuple[str, int]]:
        """Why cells of a status ended as they did, the most frequent reason first."""
        told = Counter(
            str(error or "no reason was given")
            for found, error in zip(self.columns["status"], self.columns["error"], strict=True) if found == status
        )  # fmt: skip
        return told.most_common()


def is_sweep(folder: str) -> bool:
    """Whether a folder is one that `flashkeep sweep --out` has written."""
    return os.path.isfile(os.path.join(folder, PLAN)) and (
        os.path.isfile(os.path.join(folder, TABLE)) or os.path.isdir(os.path.join(folder, CELLS))
    )


def read_sweep(folder: str, command: str = "flashkeep report") -> SweepFolder:
    """The plan, the table, and what the cells' summaries warn of."""
    if not is_sweep(folder):
        raise UsageError(f"{command}: {folder} is not the folder of a sweep: it has no {PLAN} with {TABLE}; "
                         "name the --out of flashkeep sweep")  # fmt: skip
    if not os.path.isfile(os.path.join(folder, TABLE)):
        raise UsageError(f"{command}: {folder} has no {TABLE}: the sweep has not ended; the same flashkeep sweep "
                         "command goes on with it")  # fmt: skip
    plan = _plan(os.path.join(folder, PLAN), command)
    columns = _table(os.path.join(folder, TABLE), command)
    keys = [key for key in _keys(plan) if key in columns and key not in OTHER]
    # The seed and the hash stay text or whole numbers; a status is a word.
    name = os.path.basename(os.path.abspath(folder))
    kept = {column: values if column in ("cell", "status", "error", "digest") else _typed(values)
            for column, values in columns.items()}  # fmt: skip
    found = SweepFolder(folder, name, plan, kept, keys)
    _read_cells(found, command)
    return found


def _plan(path: str, command: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{command}: {path}: not TOML ({error})") from None


def _fits(cell: dict[str, Any], rule: dict[str, Any]) -> bool:
    """Whether a rule of exclusion is about a cell; a list means any of its values."""
    return all(cell.get(key) in (value if isinstance(value, list) else [value]) for key, value in rule.items())


def _keys(plan: dict[str, Any]) -> list[str]:
    """The keys that a plan sweeps: those of the grid, then those of variants."""
    of_variants = chain.from_iterable(dict(flat_keys(variant)) for variant in plan.get("variant", ()))
    found = chain(dict(flat_keys(plan.get("grid", {}))), (key for key in of_variants if key != "name"))
    return list(dict.fromkeys(found))


def flat_keys(values: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Keys by their dotted names; TOML reads `ftl.gc.victim = …` as nested tables."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from flat_keys(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _table(path: str, command: str) -> dict[str, list[Any]]:
    csv.field_size_limit(1 << 24)  # the reason of a refusal may be long
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
    except (csv.Error, UnicodeDecodeError) as error:
        raise UsageError(f"{command}: {path}: not a CSV table ({error})") from None
    head = rows[0] if rows else []
    missing = [name for name in ("cell", "workload", "drive", "seed", "status", "error", "digest") if name not in head]
    if missing:
        raise UsageError(f"{command}: {path}: the column {missing[0]} is missing; a table of flashkeep sweep has it")
    uneven = next((at for at, row in enumerate(rows, 1) if len(row) != len(head)), None)
    if uneven is not None:
        raise UsageError(f"{command}: {path}:{uneven}: found {len(rows[uneven - 1])} columns; the first line has "
                         f"{len(head)}")  # fmt: skip
    columns: Any = zip(*rows[1:], strict=True) if len(rows) > 1 else ((),) * len(head)
    return {name: list(values) for name, values in zip(head, columns, strict=True)}


WORDS = {"true": True, "True": True, "false": False, "False": False}


def _typed(texts: Sequence[str]) -> list[Any]:
    """A column as numbers or truth values if all of its texts are; empty texts are no value."""
    told = [text for text in texts if text]
    if told and all(text in WORDS for text in told):
        return [WORDS[text] if text else None for text in texts]
    for read in (int, _finite):
        try:
            return [read(text) if text else None for text in texts]
        except ValueError:
            continue
    return [text or None for text in texts]


def _finite(text: str) -> float | None:
    """A number; neither NaN nor an infinity is a figure."""
    value = float(text)
    return value if abs(value) < float("inf") else None


def _read_cells(sweep: SweepFolder, command: str) -> None:
    """What only the summaries of cells tell: warnings, versions, hashes of workloads."""
    for cell, workload in zip(sweep.columns["cell"], sweep.columns["workload"], strict=True):
        path = os.path.join(sweep.folder, CELLS, f"{cell}.json")
        try:
            with open(path, "rb") as file:
                summary = json.load(file).get("summary")
        except FileNotFoundError:
            continue
        except (json.JSONDecodeError, UnicodeDecodeError, AttributeError) as error:
            raise UsageError(f"{command}: {path}: not the JSON of a cell ({error})") from None
        if summary:
            for note in dict.fromkeys(map(str, summary.get("warnings") or ())):
                sweep.notes.setdefault(NUMBER.sub("#", note), Counter())[note] += 1
            sweep.versions.add(str(summary.get("flashkeep")))
            told = (summary.get("workload") or {}).get("sha256")
            if told:
                sweep.hashes.setdefault(str(workload), told)
