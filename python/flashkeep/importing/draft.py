"""A drive file that is being written, and the notes about it."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .. import _flashkeep
from .elements import Element, WrongInputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TABLES = ("", "flash", "flash.timing", "flash.commands", "flash.energy", "ftl", "ftl.gc", "ftl.wear", "buffer",
          "buffer.energy", "host", "start", "ageing")  # fmt: skip
"""The tables in the order in which they are written."""


class Draft:
    """Keys with their values and sources; parameters without a counterpart."""

    def __init__(self, form: str, simulator: str, file: str) -> None:
        self.form, self.simulator = form, simulator
        self.file = "".join(letter if letter.isprintable() else "?" for letter in file)
        self.keys: dict[str, tuple[Any, str]] = {}
        self.origins: dict[str, Element] = {}
        self.assumed: list[tuple[str, Any, str]] = []
        self.dropped: list[tuple[Element, str]] = []
        self.notes: list[str] = []

    def take(self, key: str, value: Any, *elements: Element, how: str = "") -> None:
        """A value that the file has."""
        told = ", ".join(map(str, elements))
        self.keys[key] = (_short(value), f"{told}{': ' if how else ''}{how}")
        self.origins[key] = elements[0]

    def assume(self, key: str, value: Any, why: str) -> None:
        """A value that the file does not have."""
        self.keys[key] = (_short(value), f"assumed: {why}")
        self.assumed.append((key, _short(value), why))

    def drop(self, element: Element | None, why: str) -> None:
        """A parameter that a drive file cannot express."""
        if element is not None:
            self.dropped.append((element, why))

    def text(self) -> str:
        """The drive file."""
        lines = [
            f"# Imported from {self.file}, a configuration of {self.simulator}.",
            "# Behind each key stands the parameter that it is from, or why its value was assumed.",
            f"description = {json.dumps(f'Imported from {self.simulator}: {self.file}', ensure_ascii=False)}",
        ]
        for table in TABLES:
            keys = [(key, *self.keys[key]) for key in self.keys if key.rpartition(".")[0] == table]
            if not keys:
                continue
            rows = [(f"{key.rpartition('.')[2]} = {_toml(value)}", comment) for key, value, comment in keys]
            wide = max(len(left) for left, _ in rows)
            lines += ["", f"[{table}]"] if table else []
            lines += [f"{left:{wide}}  # {comment}" for left, comment in rows]
        return "\n".join(lines) + "\n"

    def check(self, path: str) -> None:
        """Whether flashkeep accepts the drive; if not, the error names the parameter."""
        try:
            checked = json.loads(_flashkeep.check(path, [], self.text()))
        except _flashkeep.DriveError as error:
            origin = self.origins.get(error.field or "")
            message = str(error).removeprefix(f"{error.path}:{error.line}: ").removeprefix(f"{error.path}: ")
            line = origin.line if origin else None
            raise WrongInputError(path, line, origin.name if origin else None, message) from None
        self.notes = checked["warnings"]

    def report(self) -> Iterator[str]:
        """The assumptions, and the elements without a counterpart."""
        yield f"{self.file}: {self.simulator}; {len(self.keys) - len(self.assumed)} keys are from the file"
        yield from _block("assumed", [(f"{key} = {_toml(value)}", why) for key, value, why in self.assumed])
        yield from _block("no counterpart", [(str(element), why) for element, why in self.dropped])
        yield from (f"note: {note}" for note in self.notes)

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        given = {key for key, _, _ in self.assumed}
        return {
            "format": self.form,
            "keys": [{"key": key, "value": value, "source": source}
                     for key, (value, source) in self.keys.items() if key not in given],
            "assumed": [{"key": key, "value": value, "why": why} for key, value, why in self.assumed],
            "no_counterpart": no_counterpart(self.dropped),
            "notes": self.notes,
            "text": self.text(),
        }  # fmt: skip


def no_counterpart(dropped: Sequence[tuple[Element, str]]) -> list[dict[str, Any]]:
    """Parameters that were left out as JSON, with the reasons."""
    return [{"parameter": element.name, "value": element.text, "line": element.line, "why": why}
            for element, why in dropped]  # fmt: skip


def _block(title: str, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    if not rows:
        return
    yield f"{title}:"
    wide = min(44, max(len(left) for left, _ in rows))
    for left, right in rows:
        yield f"  {left:{wide}}  {right}"


def _short(value: Any) -> Any:
    """Fractions as whole numbers or as the nearest floating-point number."""
    if isinstance(value, list):
        return [_short(item) for item in value]
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return value


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)
