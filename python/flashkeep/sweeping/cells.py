"""The cells of a plan: each combination of workload, drive, keys and seed as a job, with a name by its content."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _flashkeep
from ..api import job_of
from ..extras import need
from ..inputs.drive_files import Drive, set_value
from ..inputs.flows import with_tables, with_workloads, workloads
from ..inputs.traces import PLACING, READING, Trace
from ..results.figure_paths import flat
from ..results.provenance import build
from .plan import FILES, KEEPING, LABELS, PlanError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .plan import Plan, Setting, Workload

NAME = 16
"""Hexadecimal digits of a cell's name."""

FORMAT = 1
"""The version of the files of cells."""

INPUTS = ("drive", "drive_text", "drive_files", "set", "traces", "seed", "aged", "scenario")
"""Keys of a job that represent contents, which identify a cell instead of them."""


NAMED_FILES = ("ftl.gc.file", "redundancy.file", "errors.file")
"""Keys of a drive that name a file, in Python or of measurements: its text is a part of the drive, where it lies is
not."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of a sweep."""

    name: str
    """The first digits of the SHA-256 of all that its result depends on."""
    labels: Mapping[str, Any]
    """Workload, drive, variant, seed and each swept key: its place in the table."""
    job: Mapping[str, Any]
    in_memory: Mapping[str, bytes]
    """Traces that are not files, by the name that the job gives them."""
    keep: Mapping[str, Any]
    """The files kept beside the summary."""
    inputs: Mapping[str, str]
    """The hash of each file that the job reads."""
    named: Sequence[str]
    """The files among them that the drive or a member names."""
    refused: str | None = None
    """Why the drive cannot be simulated."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A drive with the keys set, for all workloads and seeds."""

    drive: Drive | None
    name: str
    overrides: tuple[str, ...]
    options: Mapping[str, Any]
    labels: Mapping[str, Any]
    refused: str | None


def need_for(cells: Iterable[Cell]) -> None:
    """Requests and figures over time are kept as Parquet; raises `ImportError` if that cannot be written."""
    if any(cell.keep or cell.job.get("series") for cell in cells):
        need("keeping requests or series of cells", "reports", "pyarrow")


def cells_of(plan: Plan) -> list[Cell]:
    """The cells, in the order of the plan: workloads, drives, variants, the grid's keys in their order, seeds.

    Raises `PlanError` if a trace or another file of the plan cannot be read, or if no drive has a key of it.
    """
    digests = Digests(plan.path)
    choices = list(_choices(plan))
    _check_keys(plan, choices)
    found = []
    for workload, choice in itertools.product(plan.workloads, choices):
        for seed in plan.seeds:
            labels = {"workload": workload.label, **choice.labels, "seed": seed}
            if not _is_excluded(plan, labels):
                try:
                    found.append(_cell(workload, choice, seed, labels, digests))
                except (_flashkeep.OptionError, TypeError) as error:
                    raise PlanError(plan.path, None, "options", str(error)) from None
    if not found:
        raise PlanError(plan.path, None, "exclude", "no cell is left")
    return found


def _choices(plan: Plan) -> Iterator[Choice]:
    grids = [[(key, value) for value in values] for key, values in plan.grid.items()]
    for (label, drive), variant in itertools.product(plan.drives, plan.variants):
        for values in itertools.product(*grids):
            yield _choice(plan, label, drive, variant, dict(values))


def _choice(plan: Plan, label: str, drive: Drive | str, variant: Setting, grid: dict[str, Any]) -> Choice:
    keys = {**grid, **variant.keys}
    named = {"variant": variant.name} if plan.has_variants else {}
    labels = {"drive": label, **named, **{key: keys.get(key) for key in plan.swept}}
    options = {**plan.options, **{key.removeprefix("options."): value for key, value in keys.items()
                                  if key.startswith("options.")}}  # fmt: skip
    of_drive = {**plan.ageing, **{key: value for key, value in keys.items() if not key.startswith("options.")}}
    overrides = tuple(f"{key}={set_value(value)}" for key, value in of_drive.items())
    name, first = (drive.name, drive.overrides) if isinstance(drive, Drive) else (drive, ())
    text = drive.text if isinstance(drive, Drive) else None
    try:
        known = Drive(name, first + overrides, text)
        # A key that only other variants set has the drive's own value here.
        labels |= {key: _own_value(known, key) for key in plan.swept if key not in keys}
        return Choice(known, name, first + overrides, options, labels, None)
    except _flashkeep.DriveError as error:
        return Choice(None, name, first + overrides, options, labels, str(error))


def _own_value(drive: Drive, key: str) -> Any:
    value: Any = drive.to_dict()
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _check_keys(plan: Plan, choices: list[Choice]) -> None:
    """A plan that no drive accepts is refused with the first reason: most often a key is misspelt."""
    if all(choice.refused for choice in choices):
        raise PlanError(plan.path, None, None, f"every drive is refused; the first: {choices[0].refused}")


def _is_excluded(plan: Plan, labels: Mapping[str, Any]) -> bool:
    return any(all(labels[key] in values for key, values in rule.items()) for rule in plan.exclude)


def _cell(workload: Workload, choice: Choice, seed: int, labels: dict[str, Any], digests: Digests) -> Cell:
    keep = {key: choice.options[key] for key in KEEPING if choice.options.get(key)}
    reading = {key: choice.options[key] for key in (*READING, *PLACING) if key in choice.options}
    trace = Trace(workload.trace.paths, {**workload.trace.options, **reading}, workload.trace.tables)
    running = {key: value for key, value in choice.options.items() if key not in reading and key not in KEEPING}
    labels = {**{key: labels[key] for key in LABELS if key in labels}, **labels}
    if choice.drive is None:
        name = digests.refused(trace, choice, seed, {**running, **reading})
        return Cell(name, labels, {}, {}, {}, {}, (), choice.refused)
    job = job_of(choice.drive, trace, seed, running, "requests" in keep)
    return cell_of(job, choice.drive, labels, digests, trace.tables, keep)


def cell_of(
    job: Mapping[str, Any],
    drive: Drive,
    labels: Mapping[str, Any],
    digests: Digests,
    tables: Mapping[str, bytes] | None = None,
    keep: Mapping[str, Any] | None = None,
) -> Cell:
    """A job as a cell."""
    job, tables, keep = with_tables(job), tables or {}, keep or {}
    parts = digests.parts(drive)
    name, inputs = digests.cell(job, parts, tables, keep), digests.inputs(job, parts, tables)
    return Cell(name, labels, {**job, "drive_files": parts.texts}, tables, keep, inputs, parts.named)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a drive consists of."""

    resolved: str
    """The drive and the members of all levels with every default, in JSON; files that they name by their hashes."""
    texts: Mapping[str, str]
    """The drive files by their paths: its own, and those of bases and members."""
    named: Sequence[str]
    """Other files that it or a member names."""


class Digests:
    """Hashes of what results depend on; each file is read once. `source` names the plan in messages; `known` has
    hashes of files that were read before."""

    def __init__(self, source: str, known: Mapping[str, str] | None = None) -> None:
        self._source = source
        self._files = dict(known or {})
        self._parts: dict[Drive, Parts] = {}
        self._texts: dict[str, str] = {}
        self._program = [FORMAT, _flashkeep.__version__, build()]

    def parts(self, drive: Drive) -> Parts:
        """What a drive consists of; worked out once for each drive."""
        if drive not in self._parts:
            checked = json.loads(_flashkeep.check(drive.name, drive.overrides, drive.text))
            named: list[str] = []
            resolved = self._contents(checked, named)
            del resolved["name"]
            # Drives of a sweep share most files, so each text is kept once.
            texts = {path: self._texts.setdefault(text, text) for path, text in checked["files"].items()}
            self._parts[drive] = Parts(json.dumps(resolved, sort_keys=True), texts, tuple(dict.fromkeys(named)))
        return self._parts[drive]

    def _contents(self, checked: dict[str, Any], named: list[str]) -> dict[str, Any]:
        """A resolved drive without the paths of its files: members are identified by their contents, other files
        by their hashes. The latter's paths are added to `named`."""
        resolved: dict[str, Any] = checked["drive"]
        resolved.pop("description", None)
        values = flat(resolved)
        for key in NAMED_FILES:
            if isinstance(path := values.get(key), str):
                named.append(path)
                set_value_of(resolved, key, self.file(path, key))
        if checked["members"]:
            resolved["members"] = [self._contents(member, named) for member in checked["members"]]
        return resolved

    def inputs(self, job: Mapping[str, Any], parts: Parts, tables: Mapping[str, bytes]) -> dict[str, str]:
        """The hash of each file that a job reads."""
        traces = (*job["traces"], *workloads(job))
        paths = [path for path in traces if not path.startswith("synth:") and path not in tables]
        found = {path: self.file(path, "workload") for path in paths}
        found |= {path: _flashkeep.sha256_of_bytes(text.encode()) for path, text in parts.texts.items()}
        found |= {path: self.file(path, "drive") for path in parts.named}
        return found | {str(job[key]): self.file(job[key], f"options.{key}") for key in FILES if job.get(key)}

    def cell(self, job: Mapping[str, Any], parts: Parts, tables: Mapping[str, bytes], keep: Mapping[str, Any]) -> str:
        """The name of a cell."""
        inputs = {key: self.file(job[key], f"options.{key}") for key in FILES if job.get(key)}
        options = {key: value for key, value in job.items() if key not in INPUTS}
        if flow := job.get("flow"):
            options["flow"] = with_workloads(flow, lambda path: self.trace(path, tables))
        traces = [self.trace(path, tables) for path in job["traces"]]
        return _name([*self._program, parts.resolved, traces, job["seed"], inputs, options, dict(keep)])

    def refused(self, trace: Trace, choice: Choice, seed: int, options: Mapping[str, Any]) -> str:
        """The name of a cell whose drive is refused."""
        traces = [self.trace(path, trace.tables) for path in trace.paths]
        return _name([*self._program, choice.name, choice.overrides, traces, seed, dict(options)])

    def trace(self, path: str, tables: Mapping[str, bytes]) -> str:
        """The text of a synthetic workload, the hash of a trace's content."""
        if path.startswith("synth:") or path in tables:
            return path  # a table's name has its digest
        return self.file(path, "workload")

    def file(self, path: str, field: str) -> str:
        """The hash of a file's content."""
        if path not in self._files:
            if not os.path.isfile(path):
                raise PlanError(self._source, None, field, f"{path}: no such file")
            try:
                self._files[path] = _flashkeep.sha256_of_file(path)
            except OSError as error:
                raise PlanError(self._source, None, field, f"{path}: cannot be read: {error}") from None
        return self._files[path]


def set_value_of(resolved: dict[str, Any], key: str, value: Any) -> None:
    """Replaces the value of a key that a resolved drive has."""
    *tables, last = key.split(".")
    place: Any = resolved
    for table in tables:
        place = place.get(table) if isinstance(place, dict) else None
    if isinstance(place, dict) and last in place:
        place[last] = value


def _name(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:NAME]
