"""The redundancies that are compared: arrays of equal drives, one for each scheme."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _flashkeep
from .._flashkeep import DriveError, OptionError
from ..cli.options import did_you_mean
from ..fleets.rebuild import text_of
from ..fleets.spec import ALIASES, SIZE, STRIPED, read, simulated_scheme
from ..inputs.drive_files import Drive

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DRIVES = re.compile(r"\s*(\d+)\s*\*\s*([^,]+?)\s*((?:,[^,]+)*)")
MOST = 255
MOST_FILLED_BYTES = 2**40
"""Of arrays whose drives start new and are filled before the trace."""
MOST_WITHOUT_ROWS = 2**36
"""The same, with a scheme whose arrays cannot be filled in rows: page by page this takes some seconds."""
COPIES = 2
"""Schemes of copies stripe over groups of this number of drives: more copies cost a drive each."""
SLOW = ("left out, because a full array of this size is filled page by page and takes many minutes and GB of memory; "
        "--schemes with its name tries it, as do drives with fewer flash.blocks_per_plane")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Drives:
    """A number of drives of one kind."""

    text: str
    count: int
    drive: str
    overrides: tuple[str, ...]

    @property
    def single(self) -> Drive:
        """One of them."""
        return Drive(self.drive, self.overrides)

    @property
    def existing(self) -> str:
        """What they hold at first, unless it is said otherwise: `start.existing`."""
        return str(self.single.to_dict()["start"]["existing"])

    @property
    def starts_new(self) -> bool:
        """Whether that is nothing but what the workload reads."""
        return self.existing == "reads"

    @property
    def bytes(self) -> int:
        """The capacity of all of them."""
        return self.count * self.single.capacity_bytes

    @property
    def can_be_filled(self) -> bool:
        """Whether the memory of this machine has room for the maps of full drives."""
        return self.bytes <= MOST_FILLED_BYTES


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


def designs_of(drives: Drives, schemes: Sequence[str] | None, full: bool) -> list[Design]:
    """An array for each scheme: those named, as `flashkeep fleet` takes them, or all that run over equal drives and
    write their redundancy with the data. Of `full` drives, those are left out that would be filled for minutes."""
    facts = {fact["name"]: fact for fact in json.loads(_flashkeep.fleet_schemes())}
    if schemes is None:
        slow = full and drives.bytes > MOST_WITHOUT_ROWS
        return [Design(name, None, None, SLOW) if slow and not fact["in_rows"] else _design(drives, name, facts)
                for name, fact in facts.items() if _is_sensible(fact)]  # fmt: skip
    return [_design(drives, name, facts) for name in dict.fromkeys(ALIASES.get(name, name) for name in schemes)]


def _design(drives: Drives, named: str, facts: Mapping[str, Any]) -> Design:
    """An array under a scheme; one that does not fit the number of drives has a reason.

    Raises `OptionError` if there is no such scheme.
    """
    is_code = re.match(r"\d+\+|[a-z0-9]+=|raid[156]0", named) is not None
    try:
        if is_code:
            read(f"{drives.count}*1TB:{named}")
        name, keys = simulated_scheme(named, named, drives.count)
    except OptionError as refusal:
        return Design(named, None, None, str(refusal).removeprefix(f"{drives.count}*1TB:{named}: "))
    if name not in facts:
        if is_code:
            return Design(named, None, None, "the simulator has no such code; flashkeep fleet has")
        known = [*facts, *ALIASES, *STRIPED]
        hint = did_you_mean(named, known) or f"; {', '.join(known)}, K+M, lrc=K+L+R and declustered=K+M+S are accepted"
        raise OptionError(f"--schemes: there is no scheme {named!r}{hint}")
    if facts[name]["copies"] and drives.count > COPIES:
        keys = {"width": COPIES, **keys}
    width = keys.get("width")
    shown = named if keys and width is None else name
    try:
        text = text_of(drives.count, drives.drive, name, drives.overrides, keys)
        return Design(shown, width, Drive("array", (), text))
    except DriveError as refusal:
        return Design(shown, width, None, str(refusal))


def _is_sensible(fact: dict[str, Any]) -> bool:
    """Whether a scheme needs equal drives alone, and never leaves data exposed that it has acknowledged."""
    return not (fact["disks"] or fact["memory"] or fact["file"] or fact["defers"] or fact["sizes"])
