"""Drives of the Python interface: presets, files and mappings, read and checked."""

from __future__ import annotations

import json
import os

from .. import _flashkeep
from ..results.tree_view import Figures, below

TYPE_CHECKING = False  # importing `typing` would delay every start of the command line by milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..choices import DriveFile


class Drive:
    """A drive, read and checked. Immutable: `replace` returns another one."""

    __slots__ = ("capacity_bytes", "name", "overrides", "resolved", "text", "warnings")

    name: str
    overrides: tuple[str, ...]
    text: str | None
    """The drive file, if it was given as a mapping."""
    resolved: Figures
    capacity_bytes: int
    warnings: tuple[str, ...]

    def __init__(self, name: str, overrides: tuple[str, ...] = (), text: str | None = None) -> None:
        checked = json.loads(_check(name, overrides, text))
        set_field = object.__setattr__
        set_field(self, "name", name)
        set_field(self, "overrides", overrides)
        set_field(self, "text", text)
        set_field(self, "resolved", Figures(checked["drive"]))
        set_field(self, "capacity_bytes", checked["capacity_bytes"])
        set_field(self, "warnings", tuple(checked["warnings"]))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a drive does not change; use drive.replace(**{{{name!r}: …}})")

    def replace(self, **changes: object) -> Drive:
        """The same drive with other values: `drive.replace(**{"buffer.dram_mib": 32})`."""
        added = tuple(f"{key}={set_value(plain(value))}" for key, value in changes.items())
        return Drive(self.name, self.overrides + added, self.text)

    def to_dict(self) -> dict[str, Any]:
        """The resolved drive: the keys that have an effect, defaults filled in."""
        return self.resolved.to_dict()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Drive) and self._source() == other._source()

    def __hash__(self) -> int:
        return hash(self._source())

    def __reduce__(self) -> tuple[Any, ...]:
        return (Drive, self._source())

    def _source(self) -> tuple[str, tuple[str, ...], str | None]:
        return self.name, self.overrides, self.text

    def _repr_html_(self) -> str:
        from ..render.html import drive_page

        return drive_page(self)

    def __repr__(self) -> str:
        overrides = "".join(f", {override}" for override in self.overrides)
        return f"<flashkeep.Drive {self.name}{overrides}>"


def _check(name: str, overrides: tuple[str, ...], text: str | None) -> str:
    try:
        return _flashkeep.check(name, overrides, text)
    except _flashkeep.DriveError as error:
        if text is None or error.line is None:
            raise
        # The lines are those of a text that the user has not seen.
        told = str(error).replace(f"{error.path}:{error.line}:", f"{error.path}:", 1)
        raise _wrong_drive(told, error.path, error.field) from None


def _wrong_drive(message: str, path: str, field: str | None) -> _flashkeep.DriveError:
    error = _flashkeep.DriveError(message)
    error.path, error.line, error.field = path, None, field
    return error


def plain(value: object) -> Any:
    """A value as Python's own types: NumPy's scalars become numbers, its arrays and tuples become lists."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a drive's values are numbers, strings, booleans and lists, not {type(value).__name__}")


def set_value(value: object) -> str:
    """A value as `--set` takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"[{', '.join(map(set_value, value))}]" if isinstance(value, list) else str(value)


def drive(name: str | os.PathLike[str] | DriveFile | Mapping[str, object]) -> Drive:
    """A drive by its preset's name (`"2CM-128"`), the path of its file, or as a mapping like such a file.

    A mapping may be nested (`{"base": "tlc-client", "flash": {"channels": 4}}`) or have dotted keys
    (`{"flash.channels": 4}`). NumPy's scalars are accepted as values.
    """
    if not isinstance(name, (str, os.PathLike)):
        if not hasattr(name, "items"):
            raise TypeError(f"a drive is a preset's name, a path or a mapping, not {type(name).__name__}")
        return _drive_of(name)
    text = os.fspath(name)
    if not isinstance(name, str) and "/" not in text and not text.endswith(".toml"):
        text = os.path.join(".", text)  # a path object is never the name of a preset
    return Drive(text)


def _drive_of(given: Mapping[str, Any]) -> Drive:
    """The drive of a mapping: the text of a drive file."""
    from ..render import text_list

    tree: dict[str, Any] = {}
    _fill(tree, given, "")
    return Drive(str(tree.get("name") or "drive"), (), text_list.toml(tree) + "\n")


def _fill(tree: dict[str, Any], given: Mapping[str, Any], above: str) -> None:
    """Adds a mapping to a tree of tables; dotted keys name tables below."""
    for key, value in given.items():
        path = below(above, str(key))
        if value is None:
            continue
        if hasattr(value, "items"):
            _fill(tree, value, path)
            continue
        at = tree
        *tables, last = path.split(".")
        for table in tables:
            at = at.setdefault(table, {})
            if not isinstance(at, dict):
                raise _wrong_drive(f"drive: {path}: {table} is a value and a table", "drive", path)
        if last in at:
            raise _wrong_drive(f"drive: {path}: given twice, in a table and as a dotted key", "drive", path)
        at[last] = plain(value)
