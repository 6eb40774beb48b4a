"""The redundancies that are compared: arrays of equal drives, one for each scheme."""

from __future__ import annotations

import json
import os
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _flashkeep
from .._flashkeep import DriveError, OptionError
from ..drive_files import Drive
from ..fleets.rebuild import text_of
from ..fleets.spec import ALIASES, SIZE
from ..options import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

DRIVES = re.compile(r"\s*(\d+)\s*\*\s*([^,]+?)\s*((?:,[^,]+)*)")
MOST = 255
MOST_FILLED_BYTES = 2**40
"""Of arrays whose drives are filled before the trace: a map takes some 8 bytes for each page of 4 KiB, so 2 GiB."""
COPIES = 2
"""Schemes of copies stripe over groups of so many drives: more copies cost a drive each."""


@dataclass(frozen=True, slots=True)
class Drives:
    """So many drives of one kind."""

    text: str
    count: int
    drive: str
    overrides: tuple[str, ...]

    @property
    def single(self) -> Drive:
        """One of them."""
        return Drive(self.drive, self.overrides)

    @property
    def starts_new(self) -> bool:
        """Whether they hold nothing at first but what the workload reads, unless it is said otherwise."""
        return bool(self.single.to_dict()["start"]["existing"] == "reads")

    @property
    def can_be_filled(self) -> bool:
        """Whether the memory of this machine has room for the maps of full drives."""
        return self.count * self.single.capacity_bytes <= MOST_FILLED_BYTES


@dataclass(frozen=True, slots=True)
class Design:
    """An array of the drives under a scheme."""

    scheme: str
    width: int | None
    """Drives of a group, if stripes go over groups."""
    drive: Drive | None
    reason: str | None = None
    """Why it cannot be built."""


def drives_of(text: str) -> Drives:
    """Reads `8 * tlc-datacenter,KEY=VALUE`.

    Raises `OptionError` or `DriveError`.
    """
    found = DRIVES.fullmatch(text)
    if found is None:
        raise OptionError(f"--drives: found {text!r}; N*DRIVE[,KEY=VALUE…] is accepted, such as 8*tlc-datacenter")
    count, drive = int(found[1]), found[2]
    if SIZE.fullmatch(drive):
        raise OptionError(f"--drives: {text}: a size has no drive model to simulate; name a preset or a drive file")
    if not 1 <= count <= MOST:
        raise OptionError(f"--drives: {text}: {count} drives; 1 to {MOST} are accepted")
    drives = Drives(text.strip(), count, drive, tuple(part.strip() for part in found[3].split(",") if part))
    drives.single  # noqa: B018  # a wrong drive is one error, not a reason in each row
    return drives


def designs_of(drives: Drives, schemes: Sequence[str] | None) -> list[Design]:
    """An array for each scheme: those named, or all that run over equal drives and write their redundancy with the
    data."""
    facts = {fact["name"]: fact for fact in json.loads(_flashkeep.fleet_schemes())}
    if schemes is None:
        names = [name for name, fact in facts.items() if _is_sensible(fact)]
    else:
        names = list(dict.fromkeys(ALIASES.get(name, name) for name in schemes))
        for name in names:
            if name not in facts:
                known = [*facts, *ALIASES]
                hint = did_you_mean(name, known) or f"; {', '.join(known)} are accepted"
                raise OptionError(f"--schemes: there is no scheme {name!r}{hint}")
    return [_design(drives, facts[name]) for name in names]


def _is_sensible(fact: dict[str, Any]) -> bool:
    """Whether a scheme needs equal drives alone, and never leaves data exposed that it has acknowledged."""
    return not (fact["disks"] or fact["memory"] or fact["file"] or fact["defers"] or fact["sizes"])


def _design(drives: Drives, fact: dict[str, Any]) -> Design:
    width = COPIES if fact["copies"] and drives.count > COPIES else None
    text = text_of(drives.count, drives.drive, fact["name"], drives.overrides)
    if width is not None:
        text += f"width = {width}\n"
    try:
        return Design(fact["name"], width, Drive("array", (), text))
    except DriveError as refusal:
        return Design(fact["name"], width, None, str(refusal))


def stated_uber(drives: Drives) -> float | None:
    """The UBER that the drive names as its target; none if neither its file nor what is set names one."""
    for override in reversed(drives.overrides):
        key, _, value = override.partition("=")
        if key.strip() == "errors.uber_target":
            return float(value)
    name: str | None = drives.drive
    place = ""
    while name is not None:
        table, place = _table(name, place)
        errors = table.get("errors")
        if isinstance(errors, dict) and "uber_target" in errors:
            return float(errors["uber_target"])
        name = table.get("base")
    return None


def _table(name: str, place: str) -> tuple[dict[str, Any], str]:
    """A drive file or preset, and the folder to which its own paths are relative."""
    if "/" in name or name.endswith(".toml"):
        path = os.path.join(place, name)
        with open(path, "rb") as file:
            return tomllib.load(file), os.path.dirname(path)
    return tomllib.loads(_flashkeep.drive_text(name)), place
