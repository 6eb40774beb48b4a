"""Plans of sweeps: reads one from a TOML file or a mapping, and refuses invalid ones."""

from __future__ import annotations

import json
import os
import tomllib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .. import _flashkeep
from ..cli.options import did_you_mean
from ..fleets.options import Options as Fleet
from ..inputs.drive_files import Drive, plain
from ..inputs.drive_files import drive as drive_of
from ..inputs.flows import as_options, has_flows
from ..inputs.run_options import options_of
from ..inputs.traces import Trace
from .assumptions import KEYS, check

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import NoReturn

    Value = Any
    """A number, a text, a boolean, or a list of these."""

PARTS = ("workload", "drive", "seed", "grid", "variant", "exclude", "options", "ageing", "fleet")
"""The keys of a plan."""

LABELS = ("workload", "drive", "variant", "seed")
"""What identifies a cell beside the swept keys."""

KEEPING = ("requests",)
_OF_RUNS = options_of("reading", "placing", "replaying", "running", "starting", "series")
OPTIONS = (*(option.in_python for option in _OF_RUNS), *KEEPING)
"""The options of a run that a plan can have."""
FILES = tuple(option.name for option in _OF_RUNS if option.kind == "file")


class PlanError(ValueError):
    """An invalid plan: where it is wrong, and what is accepted."""

    def __init__(self, path: str, line: int | None, field: str | None, message: str) -> None:
        where = path if line is None else f"{path}:{line}"
        super().__init__(f"{where}: {field}: {message}" if field else f"{where}: {message}")
        self.path, self.line, self.field, self._message = path, line, field, message

    def __reduce__(self) -> tuple[Any, ...]:
        return (PlanError, (self.path, self.line, self.field, self._message))


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload of a plan: its label, and its traces."""

    label: str
    trace: Trace


@dataclass(frozen=True, slots=True)
class Setting:
    """Keys that are set together: a variant, or the default one without a name."""

    name: str | None = None
    keys: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan that was read and checked, but for the values of drive keys, which are checked for each cell."""

    path: str
    workloads: Sequence[Workload]
    drives: Sequence[tuple[str, Drive | str]]
    """Each drive with its label; a text names a drive that is read when its cells are made."""
    seeds: Sequence[int]
    grid: Mapping[str, Sequence[Value]]
    variants: Sequence[Setting]
    exclude: Sequence[Mapping[str, Sequence[Value]]]
    options: Mapping[str, Value]
    ageing: Mapping[str, Value]
    fleet: Fleet | None
    """The assumptions about fleets, if the table is to have their figures."""
    text: str
    """The plan as TOML, for `plan.toml`."""

    @property
    def swept(self) -> list[str]:
        """The keys that differ between cells: those of the grid, then those of variants."""
        return list(dict.fromkeys([*self.grid, *(key for variant in self.variants for key in variant.keys)]))

    @property
    def has_variants(self) -> bool:
        """Whether variants have names."""
        return any(variant.name is not None for variant in self.variants)


def read_plan(path: str) -> Plan:
    """Reads a plan's file. Paths in it are relative to its folder, or else to the working directory."""
    try:
        with open(path, "rb") as file:
            raw = file.read()
        text = raw.decode()
        values = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise PlanError(path, 1 + raw[: error.start].count(b"\n"), None, "not UTF-8 text; a plan is TOML") from None
    except tomllib.TOMLDecodeError as error:
        raise PlanError(path, None, None, f"not TOML: {error}") from None
    except OSError as error:
        raise PlanError(path, None, None, f"cannot be read: {error.strerror}; a plan (TOML) is accepted") from None
    lines = dict(_flashkeep.toml_lines(text))
    return _Reader(path, lines, os.path.dirname(path)).plan(values, text)


def plan_of(given: Mapping[str, Any]) -> Plan:
    """The plan of a mapping, whose drives and workloads can also be `Drive` and `Trace` objects."""
    parts = {key: value for key, value in given.items() if value is not None}
    text = "".join(f"{key} = {_toml(value)}\n" for key, value in parts.items())
    return _Reader("plan", {}, "").plan(parts, text)


def _toml(value: Any) -> str:
    """A value as `plan.toml` has it: tables inline, objects by their labels."""
    if isinstance(value, Drive):
        value = _drive_label(value)
    elif isinstance(value, Trace):
        value = " ".join(value.paths)
    if hasattr(value, "items"):
        return f"{{{', '.join(f'{json.dumps(str(key))} = {_toml(item)}' for key, item in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(plain(value), ensure_ascii=False)  # a text, a number and a boolean are the same in TOML


def _drive_label(drive: Drive) -> str:
    return ",".join((drive.name, *drive.overrides))


class _Reader:
    """Reads the parts of a plan; knows where they are, for messages."""

    def __init__(self, path: str, lines: Mapping[str, int], folder: str) -> None:
        self._path, self._lines, self._folder = path, lines, folder

    def wrong(self, field: str, message: str) -> NoReturn:
        """Refuses a field of the plan."""
        at = field
        while at and at not in self._lines:
            at = at.rpartition(".")[0]
        raise PlanError(self._path, self._lines.get(at), field, message)

    def plan(self, values: dict[str, Any], text: str) -> Plan:
        self._known("", values, PARTS, "a plan has")
        options = self._options(self._table(values, "options"))
        grid = {key: self._list(f"grid.{key}", key, value) for key, value in self._keys(values, "grid").items()}
        variants = self._variants(values.get("variant"))
        plan = Plan(
            path=self._path,
            workloads=self._workloads(values, _has_flows(options, grid, variants)),
            drives=self._drives(values),
            seeds=self._seeds(values),
            grid=grid,
            variants=variants,
            exclude=(),
            options=options,
            ageing={f"ageing.{key}": plain(value) for key, value in self._table(values, "ageing").items()},
            fleet=self._fleet(self._table(values, "fleet")),
            text=text,
        )
        return replace(plan, exclude=self._exclude(values.get("exclude"), plan))

    def _known(self, above: str, values: Iterable[str], accepted: Sequence[str], told: str) -> None:
        for key in values:
            if key not in accepted:
                hint = did_you_mean(key, accepted) or f"; {told} {', '.join(accepted)}"
                self.wrong(f"{above}.{key}" if above else key, f"there is no such key{hint}")

    def _table(self, values: Mapping[str, Any], name: str) -> dict[str, Any]:
        table = values.get(name)
        if table is None:
            return {}
        if not hasattr(table, "items"):
            self.wrong(name, f"found {table!r}; a table of keys is accepted")
        return dict(table)

    def _keys(self, values: Mapping[str, Any], name: str) -> dict[str, Any]:
        """A table of drive keys and options; dotted keys of TOML are tables in it."""
        found = dict(_dotted(self._table(values, name), ""))
        self._check_keys(name, found)
        return found

    def _check_keys(self, above: str, keys: Iterable[str]) -> None:
        for key in keys:
            if key.startswith("options."):
                self._known(f"{above}.options", [key.removeprefix("options.")], OPTIONS, "the options of a run are")

    def _list(self, where: str, key: str, value: Any) -> list[Value]:
        values = plain(value)
        if not isinstance(values, list) or not values:
            self.wrong(where, f"found {value!r}; a list of values is accepted")
        if len(values) != len({repr(each) for each in values}):
            self.wrong(where, "a value is given twice")
        return [self._option(where, key, each) for each in values]

    def _option(self, where: str, key: str, value: Any) -> Any:
        """A value of the grid or a variant; options of a run are read as in `[options]`."""
        return self._options({key.removeprefix("options."): value}, where)[key.removeprefix("options.")] \
            if key.startswith("options.") else value  # fmt: skip

    def _options(self, given: dict[str, Any], where: str = "") -> dict[str, Any]:
        self._known("options", given, OPTIONS, "the options of a run are")
        options = as_options(given)
        for name in FILES:
            if options.get(name) is not None:
                options[name] = self._file(os.fspath(options[name]))
        if "fail" in options:
            fail = plain(options["fail"])
            options["fail"] = [fail] if isinstance(fail, str) else fail
            if not all(isinstance(each, str) for each in options["fail"]):
                self.wrong(where or "options.fail", f"found {fail!r}; texts such as 'chip:3.0@10s' are accepted")
        return options

    def _fleet(self, given: dict[str, Any]) -> Fleet | None:
        """The assumptions of `[fleet]`; an empty table has none."""
        if not given:
            return None
        if "rebuild" in given:
            self.wrong("fleet.rebuild", "each array would need a simulation of its own; give mttr_hours, which "
                       "flashkeep fleet ARRAY --rebuild simulated measures")  # fmt: skip
        if given.get("wear") == "simulated":
            self.wrong("fleet.wear", "each array would need a simulation of its own; give hours, or dwpd:WRITTEN:RATED")
        self._known("fleet", given, KEYS, "the assumptions are")
        values = {key: plain(value) for key, value in given.items()}
        if "price" in values:
            values["price"] = self._file(str(values["price"]))
        options = Fleet(**values)
        try:
            check(options)
        except _flashkeep.OptionError as error:
            flag, _, message = str(error).partition(": ")
            key = flag.removeprefix("--").replace("-", "_")
            self.wrong(f"fleet.{key}" if key in values else "fleet", message if key in values else str(error))
        return options

    def _file(self, path: str) -> str:
        near = os.path.join(self._folder, path)
        return near if os.path.exists(near) else path

    def _several(self, values: Mapping[str, Any], name: str) -> list[Any]:
        value = values.get(name)
        if value is None:
            self.wrong(name, f"missing; a plan needs a {name}, or a list of them")
        found = list(value) if isinstance(value, (list, tuple)) else [value]
        if not found:
            self.wrong(name, f"an empty list; a plan needs a {name}")
        return found

    def _workloads(self, values: Mapping[str, Any], are_flows: bool) -> list[Workload]:
        if are_flows:
            if values.get("workload") is not None:
                self.wrong("workload", "a plan with flows has none: each flow names its own")
            return [Workload("flows", Trace((), {}))]
        found = []
        for number, value in enumerate(self._several(values, "workload")):
            if isinstance(value, Trace):
                found.append(Workload(" ".join(value.paths), value))
                continue
            paths = value if isinstance(value, (list, tuple)) else [value]
            if not paths or not all(isinstance(path, (str, os.PathLike)) for path in paths):
                self.wrong(f"workload.{number}", f"found {value!r}; a trace file, synth:…, or a list of trace files "
                           "for the volumes of an array is accepted")  # fmt: skip
            names = [os.fspath(path) for path in paths]
            if "-" in names:
                self.wrong(f"workload.{number}", "standard input can be read only once; save it to a file")
            files = tuple(name if name.startswith("synth:") else self._file(name) for name in names)
            found.append(Workload(" ".join(names), Trace(files, {})))
        self._once("workload", [workload.label for workload in found])
        return found

    def _drives(self, values: Mapping[str, Any]) -> list[tuple[str, Drive | str]]:
        found: list[tuple[str, Drive | str]] = []
        for number, value in enumerate(self._several(values, "drive")):
            if isinstance(value, Drive):
                found.append((_drive_label(value), value))
            elif isinstance(value, (str, os.PathLike)):
                name, comma, keys = os.fspath(value).partition(",")
                found.append(
                    (os.fspath(value), self._file(name) + comma + keys if ".toml" in name else name + comma + keys)
                )
            elif hasattr(value, "items"):
                drive = drive_of(value)
                found.append((_drive_label(drive), drive))
            else:
                self.wrong(f"drive.{number}", f"found {value!r}; a preset or the path of a drive file is accepted")
        self._once("drive", [label for label, _ in found])
        return found

    def _seeds(self, values: Mapping[str, Any]) -> list[int]:
        found = plain(values["seed"]) if "seed" in values else [1]
        found = found if isinstance(found, list) else [found]
        for seed in found:
            if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
                self.wrong("seed", f"found {seed!r}; whole numbers, 0 or more and below 2^64, are accepted")
        if not found:
            self.wrong("seed", "an empty list; leave it out for seed 1")
        self._once("seed", [str(seed) for seed in found])
        return found

    def _once(self, name: str, labels: list[str]) -> None:
        for number, label in enumerate(labels):
            if label in labels[:number]:
                self.wrong(f"{name}.{number}", f"{label!r} is given twice")

    def _variants(self, given: Any) -> list[Setting]:
        if given is None:
            return [Setting()]
        found = []
        for number, table in enumerate(self._tables(given, "variant")):
            name = table.pop("name", None)
            if not isinstance(name, str) or not name:
                self.wrong(f"variant.{number}", "needs a name")
            keys = {key: plain(value) for key, value in _dotted(table, "")}
            self._check_keys(f"variant.{number}", keys)
            found.append(Setting(name, {key: self._option(f"variant.{number}.{key}", key, value)
                                        for key, value in keys.items()}))  # fmt: skip
        self._once("variant", [str(setting.name) for setting in found])
        return found or [Setting()]

    def _tables(self, given: Any, name: str) -> list[dict[str, Any]]:
        tables = list(given) if isinstance(given, (list, tuple)) else [given]
        if not all(hasattr(table, "items") for table in tables):
            self.wrong(name, f"found {given!r}; [[{name}]] tables are accepted")
        return [dict(table) for table in tables]

    def _exclude(self, given: Any, plan: Plan) -> list[dict[str, list[Value]]]:
        """Keys and the values that together leave a cell out; a list means any of its values."""
        accepted = [label for label in LABELS if label != "variant" or plan.has_variants] + plan.swept
        found = []
        for number, table in enumerate(self._tables(given or (), "exclude")):
            rule = dict(_dotted(table, ""))
            self._known(f"exclude.{number}", rule, accepted, "this plan varies")
            if not rule:
                self.wrong(f"exclude.{number}", "needs at least one key; without any it leaves out all cells")
            found.append({key: value if isinstance(value, list) else [value]
                          for key, value in ((key, plain(value)) for key, value in rule.items())})  # fmt: skip
        return found


def _has_flows(options: Mapping[str, Any], grid: Mapping[str, Any], variants: Iterable[Setting]) -> bool:
    """Whether the workloads of a plan are flows."""
    keys = [*grid, *(key for variant in variants for key in variant.keys)]
    return has_flows(options) or "options.flow" in keys or "options.flows" in keys


def _dotted(table: Mapping[str, Any], above: str) -> Iterable[tuple[str, Any]]:
    """The keys of nested tables, dotted."""
    for key, value in table.items():
        path = f"{above}.{key}" if above else str(key)
        if hasattr(value, "items"):
            yield from _dotted(value, path)
        else:
            yield path, value
