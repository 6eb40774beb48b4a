"""Reads arrays: drive files, presets, and texts such as `8*1.92TB:raid5`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import _flashkeep
from .._flashkeep import OptionError
from .rebuild import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

UNITS = {"GB": 10**9, "TB": 10**12, "PB": 10**15, "GIB": 2**30, "TIB": 2**40, "PIB": 2**50}
SIZE = re.compile(r"(\d+(?:\.\d*)?)\s*([GTP]i?B)", re.IGNORECASE)
OVER = re.compile(r"\s*(\d+)\s*\*\s*(.+):([^:*/]+)")
CODE = re.compile(r"(\d+)\+(\d+)")
ALIASES = {"raid0": "none", "raid1": "mirror"}

FORMS = (
    "an array is a drive file, a preset, or N*DRIVE:SCHEME, where DRIVE is a preset, a size (1.92TB) or such an array: "
    "8*tlc-datacenter:raid6, 8*1.92TB:raid5, 4*8*1.92TB:raid6:none"
)


Model: TypeAlias = "tuple[str, tuple[str, ...], str | None]"
"""A drive file: its name, what is set in it, and its text if there is no file."""


@dataclass(frozen=True)
class Node:
    """A drive, or a scheme over such nodes."""

    name: str
    scheme: str
    tolerance: int
    """Members that may be missing."""
    bytes: int
    """What the host can use."""
    cost_usd: float | None = None
    members: tuple[Node, ...] = ()

    @property
    def drives(self) -> int:
        """The number of drives in it."""
        return sum(member.drives for member in self.members) or 1

    @property
    def raw_bytes(self) -> int:
        """The capacity of all drives."""
        return sum(member.raw_bytes for member in self.members) or self.bytes

    @property
    def shape(self) -> tuple[Any, ...]:
        """What its reliability depends on."""
        return (len(self.members), self.tolerance, *{member.shape for member in self.members})


@dataclass(frozen=True)
class Array:
    """An array: equal groups of drives, and the levels above them."""

    name: str
    node: Node
    group: Node
    """The group of drives; a drive alone is a group of one."""
    levels: tuple[Node, ...] = ()
    """The levels above, from below."""
    model: Model | None = None
    """What the simulator runs, if it can."""

    @property
    def group_drives(self) -> int:
        return len(self.group.members) or 1

    @property
    def drive_bytes(self) -> int:
        """The capacity of the smallest drive of a group."""
        return min((member.bytes for member in self.group.members), default=self.group.bytes)

    @property
    def rebuild_bits(self) -> float:
        """What a rebuild without redundancy left has to read."""
        return 8.0 * (self.group_drives - self.group.tolerance) * self.drive_bytes


def read(text: str, overrides: Sequence[str] = (), contents: str | None = None) -> Array:
    """Reads an array; `contents` is the text of a drive file that has none.

    Raises `OptionError` or `DriveError`.
    """
    node = _node(text, overrides) if contents is None else _resolved(text, overrides, contents)
    levels = []
    group = node
    while group.members and any(member.members for member in group.members):
        if len({member.shape for member in group.members}) > 1:
            raise OptionError(
                f"{text}: members of {group.name} differ in their number of drives or in what they survive; the model "
                "takes arrays of equal arrays"
            )
        levels.append(group)
        group = group.members[0]
    return Array(text, node, group, tuple(reversed(levels)), _model(text, overrides, contents))


def _model(text: str, overrides: Sequence[str], contents: str | None) -> Model | None:
    """What the simulator runs for an array, if it has a drive model."""
    over = OVER.fullmatch(text)
    if over is None or contents is not None:
        return text, tuple(overrides), contents
    count, drive, scheme = int(over[1]), over[2].strip(), over[3].strip()
    if SIZE.fullmatch(drive) or OVER.fullmatch(drive) or CODE.fullmatch(scheme):
        return None
    return "array", (), text_of(count, drive, ALIASES.get(scheme, scheme), tuple(overrides))


def _node(text: str, overrides: Sequence[str]) -> Node:
    over = OVER.fullmatch(text)
    if over is None:
        return _resolved(text, overrides)
    count, below, scheme = int(over[1]), over[2].strip(), over[3].strip()
    if not 1 <= count <= 255:
        raise OptionError(f"{text}: {count} members; 1 to 255 are accepted")
    size = SIZE.fullmatch(below)
    if size is not None:
        if overrides:
            raise OptionError(f"--set: {text} has no drive model whose keys could be set")
        number = round(float(size[1]) * UNITS[size[2].upper()])
        if not 10**9 <= number <= 10**18:
            raise OptionError(f"{text}: a drive of {below}; from 1 GB to 1000 PB are accepted")
        member = Node(below, "none", 0, number)
    else:
        member = _node(below, overrides)
    return _over(text, member, count, ALIASES.get(scheme, scheme))


def _over(text: str, member: Node, count: int, scheme: str) -> Node:
    """A scheme over equal members."""
    code = CODE.fullmatch(scheme)
    if code is not None:
        data, parity = int(code[1]), int(code[2])
        if data < 1 or data + parity != count:
            raise OptionError(f"{text}: a code of {scheme} is over {data + parity} members, not {count}")
        found = {"tolerance": parity, "usable_bytes": data * member.bytes}
    else:
        known = [entry["name"] for entry in json.loads(_flashkeep.schemes())]
        if scheme not in known:
            raise OptionError(
                f"{text}: there is no scheme {scheme!r}; {', '.join(known)}, raid0, raid1, or K+M (any M of K + M "
                "members may be missing)"
            )
        found = json.loads(_flashkeep.fleet_scheme(scheme, count, member.bytes))
    cost = None if member.cost_usd is None else count * member.cost_usd
    return Node(text, scheme, found["tolerance"], found["usable_bytes"], cost, (member,) * count)


def _resolved(text: str, overrides: Sequence[str], contents: str | None = None) -> Node:
    """A drive file or preset."""
    if contents is None and "*" in text and "/" not in text and not text.endswith(".toml"):
        raise OptionError(f"{text}: {FORMS}")
    return _of_tree(json.loads(_flashkeep.fleet_array(text, list(overrides), contents)))


def _of_tree(tree: dict[str, Any]) -> Node:
    members = tuple(map(_of_tree, tree["members"]))
    name = tree["name"] or "drive"
    return Node(name, tree["scheme"], tree["tolerance"], tree["capacity_bytes"], tree["cost_usd"], members)
