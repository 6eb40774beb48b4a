"""Files that a command writes: none of them is one that it reads, and each is another one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .options import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


def check_written(command: str, written: Mapping[str, str], arguments: Mapping[str, Any]) -> None:
    """Raises `UsageError` for a command that would write over one of its files; `written` has the arguments that name
    files to write, and what each of them is called."""
    others = [value for key, value in arguments.items() if key not in written]
    read = {os.path.realpath(name) for value in others for name in _names(value) if os.path.isfile(name)}
    places: dict[str, str] = {}
    for key, what in written.items():
        name = arguments[key]
        place = os.path.realpath(name)
        if place in read:
            raise UsageError(f"flashkeep {command}: {what}: {name} is a file that this command reads; name another")
        if place in places and (os.path.isfile(place) or not os.path.exists(place)):
            raise UsageError(f"flashkeep {command}: {places[place]} and {what} both write {name}; name two files")
        places[place] = what


def _names(value: object) -> Iterator[str]:
    """What an argument may name: a drive may have keys after its name, and their number before it."""
    for word in value if isinstance(value, list) else [value]:
        if isinstance(word, str):
            yield from (word, word.partition(",")[0], word.partition("*")[2].partition(",")[0].strip())
