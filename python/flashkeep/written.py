"""Files that a command writes: none of them is one that it reads, and each is another one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .options import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .options import Command


def check_written(command: Command, arguments: dict[str, Any]) -> None:
    """Raises `UsageError` for a command that would write over one of its files."""
    written = command.writes(arguments)
    read = {os.path.realpath(name) for name in _read(command, arguments) if os.path.isfile(name)}
    places: dict[str, str] = {}
    for what, name in written.items():
        place = os.path.realpath(name)
        if place in read:
            raise UsageError(
                f"flashkeep {command.name}: {what}: {name} is a file that this command reads; name another"
            )
        if place in places and (os.path.isfile(place) or not os.path.exists(place)):
            raise UsageError(f"flashkeep {command.name}: {places[place]} and {what} both write {name}; name two files")
        places[place] = what


def _read(command: Command, arguments: dict[str, Any]) -> Iterator[str]:
    """The words that may name files to read. A drive may have keys behind its name."""
    written = {what.removeprefix("--").replace("-", "_").lower() for what in command.writes(arguments)}
    for key, value in arguments.items():
        for word in value if isinstance(value, list) else [value]:
            if isinstance(word, str) and key not in written:
                yield from (word, word.partition(",")[0], word.partition("*")[2].partition(",")[0].strip())
