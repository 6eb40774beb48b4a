"""Makes the files of a case shorter: `flashkeep.torturing.reduce` does the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .draw import Case


def shorter_files(case: Case) -> Iterator[Case]:
    """Cases with a key less, or without the run before."""
    for drive in _without_lines(case.drive):
        yield replace(case, drive=drive)
    for name, text in case.members.items():
        for member in _without_lines(text):
            yield replace(case, members={**case.members, name: member})
    if case.aged:
        yield replace(case, aged=False)


def _without_lines(text: str) -> Iterator[str]:
    lines = text.splitlines()
    for at in reversed(range(len(lines))):
        # Without its geometry a drive would have the default one, which is large.
        if not lines[at].startswith(("members", "flash.channels", "flash.blocks", "flash.chips")):
            yield "".join(line + "\n" for line in lines[:at] + lines[at + 1 :])
