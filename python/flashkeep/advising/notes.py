"""What the runs warn of: notes that differ in their numbers only are one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?")
PLACE = "\0"


def alike(found: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """The notes of each row, with its name in front unless all rows have the note. Numbers that differ become a range:
    `0.01 to 0.02 %`."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, notes in found:
        for note in notes:
            groups.setdefault(NUMBER.sub(PLACE, note), []).append((name, note))
    told = []
    for pattern, rows in groups.items():
        names = list(dict.fromkeys(name for name, _ in rows))
        text = _filled(pattern, [NUMBER.findall(note) for _, note in rows])
        told.append(text if len(names) == len(found) else f"{', '.join(names)}: {text}")
    return told


def _filled(pattern: str, numbers: Sequence[Sequence[str]]) -> str:
    parts = pattern.split(PLACE)
    text = parts[0]
    for part, values in zip(parts[1:], zip(*numbers, strict=True), strict=True):
        ordered = sorted(set(values), key=lambda value: float(value.replace(",", "")))
        text += (ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}") + part
    return text
