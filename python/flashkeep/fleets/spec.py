"""Reads arrays: drive files, presets, and texts such as `8*1.92TB:raid5`."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import _flashkeep
from .._flashkeep import OptionError
from .rebuild import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

UNITS = {"GB": 10**9, "TB": 10**12, "PB": 10**15, "GIB": 2**30, "TIB": 2**40, "PIB": 2**50}
SIZE = re.compile(r"(\d+(?:\.\d*)?)\s*([GTP]i?B)", re.IGNORECASE)
OVER = re.compile(r"\s*(\d+)\s*\*\s*(.+):([^:*/]+)")
CODE = re.compile(r"(\d+)\+(\d+)")
LOCAL = re.compile(r"lrc=(\d+)\+(\d+)\+(\d+)")
DECLUSTERED = re.compile(r"declustered=(\d+)\+(\d+)\+(\d+)")
MOST_PARITIES = 20
"""Of a code with local parities."""
OPTIMAL = {1: "raid5", 2: "raid6", 3: "raid-tp"}
"""The schemes of the simulator for K+M, by M."""
ALIASES = {"raid0": "none", "raid1": "mirror"}
STRIPED = {"raid10": "mirror", "raid50": "raid5", "raid60": "raid6"}
"""Stripes over groups, and the scheme of each group."""
GROUPS = re.compile(r"(raid10|raid50|raid60)(?:=(\d+))?")
"""With the number of groups, unless it is that of [`grouped`]."""
LEAST_WIDE = {"mirror": 2, "raid5": 3, "raid6": 4}
MOST_WIDE = 12
"""Drives of a group of parities, unless the number of groups is given (ours)."""

FORMS = (
    "an array is a drive file, a preset, or N*DRIVE:SCHEME, where DRIVE is a preset, a size (1.92TB) or such an array: "
    "8*tlc-datacenter:raid6, 8*1.92TB:raid10, 10*20TB:7+3, 16*20TB:lrc=12+2+2, 24*20TB:declustered=8+2+1, "
    "4*8*1.92TB:raid6:none"
)


Model: TypeAlias = "tuple[str, tuple[str, ...], str | None]"
"""A drive file: its name, what is set in it, and its text if there is no file."""


@dataclass(frozen=True)
class Declustered:
    """Stripes that are spread over more drives than they have units."""

    stripe: int
    """The units of a stripe."""
    spares: int
    """Drives' worth of spare units among the others."""


@dataclass(frozen=True)
class Node:
    """A drive, or a scheme over such nodes."""

    name: str
    scheme: str
    tolerance: int
    """Members that may be missing, whichever they are."""
    bytes: int
    """What the host can use."""
    cost_usd: float | None = None
    members: tuple[Node, ...] = ()
    fatal: tuple[float, ...] | None = None
    """The share of patterns of 0, 1, … missing members that lose data, if some of more than `tolerance` do not."""
    layout: Declustered | None = None
    uber: float | None = None
    """The UBER that a drive states."""

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
        own = (len(self.members), self.tolerance, self.fatal, self.layout)
        return (*own, *{member.shape for member in self.members})

    @property
    def lost_share(self) -> float:
        """The share of the data that is lost if one member more than it survives is missing: what stripes with units on
        all of these members have there."""
        count, stripe = self.tolerance + 1, self.stripe
        return self.share_of_stripes(count) * count / stripe

    @property
    def stripe(self) -> int:
        """The units of a stripe."""
        return (len(self.members) or 1) if self.layout is None else self.layout.stripe

    def share_of_stripes(self, count: int) -> float:
        """The share of stripes that have units on all of a number of members."""
        return math.comb(self.stripe, count) / math.comb(len(self.members) or 1, count)


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
    def stated_uber(self) -> float | None:
        """The UBER that the drives of a group state, the largest of them; none if none states one."""
        drives = self.group.members or (self.group,)
        return max((drive.uber for drive in drives if drive.uber is not None), default=None)

    @property
    def rebuild_bits(self) -> float:
        """What a rebuild without redundancy left has to read: of the stripes on all missing drives, the units that are
        left."""
        group = self.group
        stripes = self.group_drives / group.stripe * group.share_of_stripes(group.tolerance)
        return 8.0 * stripes * (group.stripe - group.tolerance) * self.drive_bytes


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
    name, keys = simulated_scheme(text, scheme, count)
    if SIZE.fullmatch(drive) or OVER.fullmatch(drive) or name not in _schemes():
        return None
    return "array", (), text_of(count, drive, name, tuple(overrides), keys)


def simulated_scheme(text: str, scheme: str, count: int) -> tuple[str, dict[str, int]]:
    """The scheme and the keys with which the simulator runs a scheme over `count` drives; no name if it does not.

    Raises `OptionError` where groups of it do not fit.
    """
    optimal = CODE.fullmatch(scheme)
    if optimal is not None:
        return OPTIMAL.get(int(optimal[2]), ""), {}
    if (groups := grouped(text, scheme, count)) is not None:
        return groups[0], {"width": groups[1]}
    for code, name, keys in (
        (LOCAL, "lrc", ("", "local_groups", "global_parities")),
        (DECLUSTERED, "declustered", ("stripe_data", "stripe_parities", "distributed_spares")),
    ):
        numbers = code.fullmatch(scheme)
        if numbers is not None:
            return name, {key: int(number) for key, number in zip(keys, numbers.groups(), strict=True) if key}
    return ALIASES.get(scheme, scheme), {}


def grouped(text: str, scheme: str, count: int) -> tuple[str, int] | None:
    """The scheme and the width of the groups of raid10, raid50 and raid60; none for other schemes.

    raid10 has pairs. The others have as few groups as give each at most 12 drives, and at least two. A number of groups
    may follow: raid50=3.

    Raises `OptionError` if equal groups do not fit.
    """
    found = GROUPS.fullmatch(scheme)
    if found is None:
        return None
    name, base = found[1], STRIPED[found[1]]
    least = LEAST_WIDE[base]
    fits = [groups for groups in range(2, count // least + 1) if count % groups == 0]
    if found[2] is not None:
        if int(found[2]) in fits:
            return base, count // int(found[2])
        what = f"{found[2]} groups"
    elif name == "raid10":
        if count // 2 in fits and count % 2 == 0:
            return base, 2
        what = "pairs, two or more,"
    else:
        narrow = [groups for groups in fits if count // groups <= MOST_WIDE]
        if narrow:
            return base, count // narrow[0]
        what = f"two or more equal groups of {least} to {MOST_WIDE}"
    shapes = ", ".join(f"{name}={groups} ({groups} groups of {count // groups})" for groups in fits)
    other = next(other for other in range(max(count + 1, 2 * least), count + 2 * least + 1) if other % (2 * least) == 0)
    fit = f"; {shapes} fits" if shapes else f"; {other} members fit"
    raise OptionError(f"{text}: {name} of {count} members: no {what} have all of them{fit}")


def copies(array: Array) -> Iterator[str]:
    """A note on mirrors of more members than two."""
    for node in (array.group, *array.levels):
        count = len(node.members)
        if node.scheme == "mirror" and count > 2:
            pairs = "" if count % 2 else "; raid10 is pairs with stripes over them"
            yield f"{count} copies of everything{pairs}"


def _schemes() -> list[str]:
    return [entry["name"] for entry in json.loads(_flashkeep.schemes())]


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
    cost = None if member.cost_usd is None else count * member.cost_usd
    for code, of_code in ((CODE, _optimal), (LOCAL, _local), (DECLUSTERED, _declustered)):
        numbers = code.fullmatch(scheme)
        if numbers is not None:
            node = of_code(text, member, count, tuple(map(int, numbers.groups())))
            return replace(node, scheme=scheme, cost_usd=cost)
    if (groups := grouped(text, scheme, count)) is not None:
        base, width = groups
        group = _over(f"{base} of {width}", member, width, base)
        return Node(text, "none", 0, count // width * group.bytes, cost, (group,) * (count // width))
    known = _schemes()
    if scheme not in known:
        raise OptionError(
            f"{text}: there is no scheme {scheme!r}; {', '.join([*known, *ALIASES, *STRIPED])}, raid50=G (G groups), "
            "K+M (any M of K + M members may be missing), lrc=K+L+R (L local and R global parities), or "
            "declustered=K+M+S (S spares)"
        )
    found = json.loads(_flashkeep.fleet_scheme(scheme, count, member.bytes))
    return Node(
        text, scheme, found["tolerance"], found["usable_bytes"], cost, (member,) * count, _fatal(found), _layout(found)
    )


def _fatal(found: dict[str, Any]) -> tuple[float, ...] | None:
    """What a scheme says of patterns of failures, if it says anything."""
    return tuple(found["fatal"]) if found.get("fatal") else None


def _layout(found: dict[str, Any]) -> Declustered | None:
    """What a scheme says of stripes that are spread over more members than they have units."""
    layout = found.get("layout")
    return None if layout is None else Declustered(layout["stripe"], layout["spares"])


def _optimal(text: str, member: Node, count: int, code: tuple[int, ...]) -> Node:
    """K+M: any M members may be missing."""
    data, parity = code
    _fits(text, data, f"{data}+{parity}", data + parity, count, [f"{count - parity}+{parity}"] * (count > parity))
    return Node(text, "", parity, data * member.bytes, members=(member,) * count)


def _local(text: str, member: Node, count: int, code: tuple[int, ...]) -> Node:
    """lrc=K+L+R: data in L groups with a parity each, and R parities over all of them."""
    data, local, parity = code
    other = [(local, parity), (local + 1, parity + 1), (local + 2, parity + 2), (local, parity + 2)]
    shapes = [f"lrc={count - every - over}+{every}+{over}" for every, over in other
              if every > 0 and count - every - over >= every and (count - over) % every == 0]  # fmt: skip
    _fits(text, data, f"lrc={data}+{local}+{parity}", data + local + parity, count, shapes)
    if not 1 <= local <= data:
        raise OptionError(f"{text}: {local} groups of {data} data members; 1 to {data} are accepted")
    if local + parity > MOST_PARITIES:
        raise OptionError(f"{text}: {local + parity} parities; at most {MOST_PARITIES} are accepted")
    fatal = tuple(json.loads(_flashkeep.fleet_local_code(data, local, parity)))
    certain = sum(1 for share in fatal if share == 0) - 1
    return Node(text, "", certain, data * member.bytes, members=(member,) * count, fatal=fatal)


def _declustered(text: str, member: Node, count: int, code: tuple[int, ...]) -> Node:
    """declustered=K+M+S: stripes of K + M units and S drives' worth of spare units, spread over all members."""
    data, parity, spares = code
    stripe = data + parity
    if data < 1 or stripe + spares > count:
        raise OptionError(
            f"{text}: stripes of {stripe} members and {spares} spares need {stripe + spares} members or more, one of "
            "them for data"
        )
    usable = member.bytes * (count - spares) * data // stripe
    return Node(text, "", parity, usable, members=(member,) * count, layout=Declustered(stripe, spares))


def _fits(text: str, data: int, code: str, members: int, count: int, shapes: Sequence[str]) -> None:
    """Refuses a code over another number of members, and names some that are over this one."""
    if data < 1 or members != count:
        fit = f"; of {count}: {', '.join(shapes)}" if shapes else ""
        raise OptionError(f"{text}: a code of {code} is over {members} members, not {count}{fit}")


def _resolved(text: str, overrides: Sequence[str], contents: str | None = None) -> Node:
    """A drive file or preset."""
    if contents is None and "*" in text and "/" not in text and not text.endswith(".toml"):
        raise OptionError(f"{text}: {FORMS}")
    return _of_tree(json.loads(_flashkeep.fleet_array(text, list(overrides), contents)))


def _of_tree(tree: dict[str, Any]) -> Node:
    members = tuple(map(_of_tree, tree["members"]))
    return Node(
        tree["name"] or "drive", tree["scheme"], tree["tolerance"], tree["capacity_bytes"], tree["cost_usd"], members,
        _fatal(tree), _layout(tree), tree["uber"],
    )  # fmt: skip
