"""The cells of one or several sweeps, and runs beside them, as one table; configurations and their means over seeds."""

from __future__ import annotations

import math
import os
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .folders import IDENTITY, OTHER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..results.folder_results import Found
    from .folders import SweepFolder

FOLDER = "folder"
"""The column that tells several folders apart."""
ENDED = ("0", "3")
"""The statuses of cells that have figures."""
LEFT_OUT = ("schema", "flashkeep", "command", "interrupted", "drive", "options", "drive_changes", "workload", "run",
            "warnings")  # fmt: skip
"""Groups of a summary that are no results."""

T_95 = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448,
    2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484,
    2.0452, 2.0423,
)  # fmt: skip
"""Student's t for 95 % intervals, for 1 to 30 degrees of freedom."""
Z_95 = 1.959964


def student(freedom: int) -> float:
    """Student's t for a two-sided 95 % interval; above 30 degrees of freedom by its expansion in 1/n (error < 1e-4)."""
    if freedom <= len(T_95):
        return T_95[freedom - 1]
    z = Z_95
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The mean of a figure over seeds, and half of its 95 % t-interval; one seed has no interval."""

    mean: float
    half: float | None
    n: int


def estimate(values: Sequence[float]) -> Estimate | None:
    n = len(values)
    if not n:
        return None
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(mean, None, 1)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    return Estimate(mean, student(n - 1) * deviation / math.sqrt(n), n)


@dataclass(frozen=True, slots=True)
class Dimension:
    """Something that differs between cells: its column and its values, numbers in order, others as in the plan."""

    name: str
    values: tuple[Any, ...]

    @property
    def numeric(self) -> bool:
        return all(map(_is_number, self.values))


@dataclass(slots=True)
class Configuration:
    """Cells that differ in their seed only."""

    values: dict[str, Any]
    rows: list[int] = field(default_factory=list)


@dataclass
class Sheet:
    """A table of cells. `keys` are the swept columns: folder, workload, drive, variant, and keys of drives."""

    columns: dict[str, list[Any]]
    keys: list[str]
    orders: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns["cell"])

    @cached_property
    def ended(self) -> list[int]:
        """The rows that have figures."""
        return [at for at, status in enumerate(self.columns["status"]) if status in ENDED]

    @cached_property
    def figures(self) -> list[str]:
        """The numeric columns that are results."""
        keep = set(self.keys) | {*OTHER, FOLDER}
        return [name for name, values in self.columns.items() if name not in keep and _numeric(values)]

    @cached_property
    def differing(self) -> list[str]:
        """The figures that differ between cells."""
        return [name for name in self.figures if not _constant([self.columns[name][at] for at in self.ended])]

    @cached_property
    def dimensions(self) -> list[Dimension]:
        """The swept columns that have several values in cells with figures."""
        found = []
        for name in self.keys:
            values = list(dict.fromkeys(self.columns[name][at] for at in self.ended))
            if len(values) > 1:
                found.append(Dimension(name, ordered(values, self.orders.get(name, ()))))
        return found

    def dimension(self, name: str) -> Dimension:
        found = next((one for one in self.dimensions if one.name == name), None)
        if found is None:
            known = ", ".join(one.name for one in self.dimensions) or "nothing"
            raise ValueError(f"{name!r} has one value or none in this sweep; what differs: {known}")
        return found

    @cached_property
    def configurations(self) -> list[Configuration]:
        """Cells that differ in their seed only, in the order of the table."""
        found: dict[tuple[Any, ...], Configuration] = {}
        names = [one.name for one in self.dimensions]
        for at in self.ended:
            place = tuple(self.columns[name][at] for name in names)
            if place not in found:
                found[place] = Configuration(dict(zip(names, place, strict=True)))
            found[place].rows.append(at)
        return list(found.values())

    def estimate(self, figure: str, configuration: Configuration) -> Estimate | None:
        """The mean of a figure over the seeds of a configuration."""
        column = self.columns[figure]
        return estimate([column[at] for at in configuration.rows if column[at] is not None])

    def lost(self, configuration: Configuration) -> bool:
        """Whether any of its cells lost pages."""
        return any(self.columns["status"][at] == "3" for at in configuration.rows)

    def free(self, chosen: Iterable[str]) -> list[Dimension]:
        """The dimensions that are not determined by the chosen ones: a chart must hold them at one value."""
        fixed, left = list(chosen), []
        for one in self.dimensions:
            if one.name in fixed or self._determined(one.name, fixed):
                continue
            left.append(one)
            fixed.append(one.name)
        return left

    def _determined(self, name: str, by: Sequence[str]) -> bool:
        """Whether cells with equal values of `by` have one value of a dimension."""
        seen: dict[tuple[Any, ...], Any] = {}
        for one in self.configurations:
            place = tuple(one.values[each] for each in by)
            if seen.setdefault(place, one.values[name]) != one.values[name]:
                return False
        return True


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _numeric(values: Sequence[Any]) -> bool:
    return any(value is not None for value in values) and all(value is None or _is_number(value) for value in values)


def _constant(values: Sequence[Any]) -> bool:
    known = [value for value in values if value is not None]
    return not known or max(known) - min(known) <= 1e-9 * max(abs(max(known)), abs(min(known)))


def ordered(values: Sequence[Any], plan: Sequence[Any]) -> tuple[Any, ...]:
    """Numbers in order, other values as the plan has them; a missing value first."""
    if all(value is None or _is_number(value) for value in values):
        return tuple(sorted(values, key=lambda value: (value is not None, value or 0)))
    places = {_spelled(value): at for at, value in enumerate(plan)}
    return tuple(sorted(values, key=lambda value: (value is not None, places.get(_spelled(value), len(places)))))


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def told(value: object) -> str:
    """A value of a key as people read it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def sheet_of(sweeps: Sequence[SweepFolder], runs: Sequence[tuple[str, Found]] = (), short: bool = False) -> Sheet:
    """One table of all sweeps and of single runs; the column `folder` exists if there are several folders.

    `short` leaves the folders out of the names of traces and drive files.
    """
    keys = list(dict.fromkeys(key for sweep in sweeps for key in sweep.keys))
    several = len(sweeps) + len({folder for folder, _ in runs}) > 1
    identity = [name for name in IDENTITY if name != "variant" or any("variant" in one.columns for one in sweeps)]
    names = _names(sweeps)
    rows = sum(map(len, sweeps))
    columns: dict[str, list[Any]] = {FOLDER: []} if several else {}
    every = dict.fromkeys(name for sweep in sweeps for name in sweep.columns)
    columns |= {name: [] for name in every}
    for sweep, name in zip(sweeps, names, strict=True):
        for column, values in columns.items():
            own = [name] * len(sweep) if column == FOLDER else sweep.columns.get(column, [None] * len(sweep))
            values.extend(own)
    for folder, run in runs:
        _append(columns, rows, _row(folder, run, keys))
        rows += 1
    orders = orders_of(sweeps)
    for name in ("workload", "drive") if short else ():
        shorter = _shorter(columns[name])
        columns[name] = [shorter[value] for value in columns[name]]
        orders[name] = [shorter.get(value, value) for value in orders[name]]
    return Sheet(columns, [*([FOLDER] if several else []), *identity, *keys], orders)


def _append(columns: dict[str, list[Any]], rows: int, row: Mapping[str, Any]) -> None:
    for name in row:
        columns.setdefault(name, [None] * rows)
    for name, values in columns.items():
        values.append(row.get(name))


def _row(folder: str, run: Found, keys: Sequence[str]) -> dict[str, Any]:
    """A single run as a cell: the swept keys have the values of its resolved drive."""
    from ..results.figure_paths import flat

    summary = run.summary
    figures = {key: value for key, value in summary.items() if key not in LEFT_OUT}
    drive = flat(summary["drive"])
    return {
        **flat(figures), **{key: drive.get(key) for key in keys}, FOLDER: folder, "cell": summary["digest"][:16],
        "workload": run.workload, "drive": run.label, "seed": summary["seed"], "error": None,
        "status": "3" if _lost(summary) else "0", "digest": summary["digest"],
    }  # fmt: skip


def _lost(summary: Mapping[str, Any]) -> bool:
    integrity = summary.get("integrity") or {}
    return bool(integrity.get("lost_pages") or integrity.get("wrong_reads"))


def _names(sweeps: Sequence[SweepFolder]) -> list[str]:
    """The folders' names; with the folder above where two have one name."""
    alone = [sweep.name for sweep in sweeps]
    return [
        sweep.name if alone.count(sweep.name) == 1 else os.path.join(*os.path.abspath(sweep.folder).split(os.sep)[-2:])
        for sweep in sweeps
    ]


def _shorter(values: Iterable[str]) -> dict[str, str]:
    """Names of files without their folders, except where two would become the same."""
    found = {value: _short(value) for value in dict.fromkeys(values)}
    alike = Counter(found[value] for value in {os.path.normpath(value): value for value in found}.values())
    return {value: short if alike[short] == 1 else value for value, short in found.items()}


def _short(name: str) -> str:
    """The names of traces, or of a drive file with keys after it, without folders; a synthetic workload as it is."""
    if name.startswith("synth:"):
        return name
    file, comma, keys = name.partition(",")
    return " ".join(os.path.basename(one).removesuffix(".toml") for one in file.split(" ")) + comma + keys


def orders_of(sweeps: Sequence[SweepFolder]) -> dict[str, list[Any]]:
    """The values of each key in the order of the plans."""
    orders: dict[str, list[Any]] = {}
    for sweep in sweeps:
        for name in ("workload", "drive"):
            given = sweep.plan.get(name, [])
            labels = [" ".join(value) if isinstance(value, list) else value for value in
                      (given if isinstance(given, list) else [given])]  # fmt: skip
            orders.setdefault(name, []).extend(labels)
        variants = sweep.plan.get("variant", [])
        orders.setdefault("variant", []).extend(variant.get("name") for variant in variants)
        for key in sweep.keys:
            orders.setdefault(key, []).extend(_values(sweep.plan.get("grid", {}), key))
            orders[key] += [value for variant in variants for value in _values(variant, key)]
    return orders


def _values(table: Mapping[str, Any], key: str) -> list[Any]:
    """The value of a dotted key of a table as a list."""
    found: Any = table.get(key)
    if found is None:
        found = table
        for part in key.split("."):
            found = found.get(part) if isinstance(found, dict) else None
    return found if isinstance(found, list) else [] if found is None else [found]
