"""Makes a drive or an array small: at most `MOST` pages in each member, with all keys that a size allows to keep."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from flashkeep import _flashkeep

from .case import Request, as_records
from .faults import Flash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Keys = dict[str, Any]

MOST = 4096
"""Pages of a member."""

AIMS = (256, 512, 1024, 2048, MOST)
"""Numbers of pages that are tried in this order, the first ones for members of arrays only."""

LARGER = (4 * MOST, 16 * MOST)
"""Numbers of pages of drives that cannot be smaller."""

ROOM = (None, 0.15, 0.3, 0.5, 0.8, 1.25, 2.0, 3.0)
"""Over-provisioning: the user's, then as much as a small drive needs for garbage collection."""

NEVER = "1000000req"
"""An instant that a run of one request does not come to."""

WORN = 300
"""Erases of a block that a case may come to."""

BLOCKS = (10, 12, 16, 24, 32, 48, 64)
SIZED = {
    "buffer.dram_mib": 16, "redundancy.nvram_mib": 8, "redundancy.log_mib": 4, "redundancy.segment_kib": 16,
    "redundancy.stripe_kib": 32, "redundancy.extent_kib": 32, "disk.write_cache_mib": 16,
}  # fmt: skip
"""Keys that are sizes, and by how much a member must be larger."""

LEAST = {"buffer.dram_mib": 0.03125, "redundancy.nvram_mib": 0.0625, "redundancy.log_mib": 1.0,
         "redundancy.segment_kib": 16.0, "redundancy.stripe_kib": 4.0, "redundancy.extent_kib": 16.0,
         "disk.write_cache_mib": 0.0625}  # fmt: skip
"""The least values that such keys get."""


@dataclass(frozen=True)
class Small:
    """A reduced drive: how a job names it, and what cases are drawn from."""

    drive: str
    text: str | None
    overrides: tuple[str, ...]
    """Its keys: the user's, and the reduction's."""
    capacity: int
    """Bytes of a volume."""
    page: int
    """Bytes of a page."""
    flash: tuple[Flash, ...]
    """The flash of each drive in it."""
    parts: tuple[str, ...]
    """Other parts that can fail: members, disks, memories."""
    volumes: int
    tags: frozenset[str]
    """What the judge must know."""
    dram: bool
    """Whether it has DRAM of its own that writes stay in."""
    notes: tuple[str, ...] = ()
    """The sizes smaller than in the user's drive, and those that could not be kept."""
    survives: int = 0
    """Failures that its redundancy survives."""

    def to_dict(self) -> dict[str, Any]:
        """The drive for another process."""
        return {**asdict(self), "tags": sorted(self.tags)}

    @staticmethod
    def from_dict(told: Mapping[str, Any]) -> Small:
        """The reverse of `to_dict`."""
        flash = tuple(Flash(each["path"], tuple(each["counts"])) for each in told["flash"])
        lists = {key: tuple(told[key]) for key in ("overrides", "parts", "notes")}
        return Small(**{**told, **lists, "flash": flash, "tags": frozenset(told["tags"])})


@dataclass
class _Tree:
    """The findings on the way through a drive and its members."""

    flash: list[Flash] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)
    notes: dict[str, None] = field(default_factory=dict)


def check(name: str, overrides: Sequence[str], text: str | None = None) -> dict[str, Any]:
    """The resolved drive and its capacity; raises DriveError."""
    found: dict[str, Any] = json.loads(_flashkeep.check(name, list(overrides), text))
    return found


def split(drive: str) -> tuple[str, list[str]]:
    """A drive's name and the keys after it; a comma within brackets belongs to a list."""
    parts, depth = [""], 0
    for letter in drive:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    name, *pairs = parts
    return (name, pairs) if all("=" in pair for pair in pairs) else (drive, [])


def shrink(drive: str, overrides: Sequence[str] = (), text: str | None = None) -> Small:
    """The reduced drive; DriveError if the user's is wrong."""
    name, pairs = split(drive)
    given = [*overrides, *pairs]
    check(name, given, text)
    tree = _Tree()
    keys = _smaller(name, given, text, tree)
    found = check(name, keys, text)
    resolved = found["drive"]
    _look(resolved, "", tree)
    volumes = resolved.get("array", {}).get("volumes", 1)
    small = Small(
        drive=name,
        text=text,
        overrides=tuple(keys),
        capacity=found["capacity_bytes"] // volumes,
        page=_page_bytes(resolved),
        flash=tuple(tree.flash),
        parts=(),
        volumes=volumes,
        tags=frozenset(tree.tags),
        dram=_keeps_writes(resolved),
        notes=tuple(tree.notes),
    )
    return _tried(small, tree.parts)


def _tried(small: Small, parts: Sequence[str]) -> Small:
    """Asks the drive which of some parts it has, and how many failures it survives."""
    summary = _try(small, [])
    known = tuple(part for part in dict.fromkeys(parts) if _try(small, [f"{part}@{NEVER}"]) is not None)
    survives = (summary or {}).get("redundancy") or {}
    return replace(small, parts=known, survives=survives.get("survives") or 0)


def _try(small: Small, fail: list[str]) -> dict[str, Any] | None:
    """The summary of a single request; None if the failure is refused."""
    job = {"drive": small.drive, "drive_text": small.text, "set": small.overrides, "fail": fail, "format": "records",
           "traces": ["one"] * small.volumes}  # fmt: skip
    one = as_records([Request(0, "W", 0, 512)])
    try:
        text, _ = _flashkeep.run(json.dumps(job), None, None, [("one", one)], {})
    except _flashkeep.OptionError:
        if fail:
            return None
        raise
    except (_flashkeep.DriveError, RuntimeError):  # a finding of the cases to come
        return {}
    found: dict[str, Any] = json.loads(text)
    return found


def _smaller(name: str, given: list[str], text: str | None, tree: _Tree, alone: bool = True) -> list[str]:
    """The keys with which a drive is small."""
    resolved = check(name, given, text)["drive"]
    if "members" in resolved:
        return _smaller_array(name, given, text, resolved, tree)
    aims = AIMS[len(AIMS) - 3 :] if alone else AIMS
    candidates = _disks(resolved, aims) if "disk" in resolved else _drives(resolved, aims)
    original = Size(resolved)
    for keys in candidates:
        pairs = [*given, *(f"{key}={value:g}" for key, value in keys.items())]
        if Size.of(resolved, keys).pages >= original.pages:
            break
        try:
            small = check(name, pairs, text)
        except _flashkeep.DriveError:
            continue
        _note(tree, name, resolved, small["drive"], keys)
        return pairs
    if original.pages > MOST:
        tree.notes[f"{name} keeps its {original.pages:,} pages: no smaller drive with its other keys is accepted"] = (
            None
        )
    return given


def _smaller_array(
    name: str, given: list[str], text: str | None, resolved: Mapping[str, Any], tree: _Tree
) -> list[str]:
    """Each member is made small; keys for all members become keys of each."""
    own = [pair for pair in given if not pair.startswith("member.")]
    below = [pair.removeprefix("member.") for pair in given if pair.startswith("member.")]
    members = []
    for each in resolved["members"]:
        count, star, drive = each.partition("*")
        member, pairs = split(drive.strip() if star else each.strip())
        small = _smaller(member, [*pairs, *below], None, tree, alone=False)
        members.append(f"{count.strip() if star else 1} * {','.join([member, *small])}")
    # An array of arrays has lists within a list: the inner ones have the other quotes.
    quote = '"' if any("'" in each for each in members) else "'"
    inner = f"members=[{', '.join(f'{quote}{each}{quote}' for each in members)}]"
    for extra in _array_sizes(resolved, members):
        pairs = [*own, inner, *(f"{key}={value:g}" for key, value in extra.items())]
        try:
            small_array = check(name, pairs, text)["drive"]
        except _flashkeep.DriveError:
            continue
        _note(tree, name, resolved, small_array, extra)
        return pairs
    tree.notes[f"{name} keeps the size of its members: it takes no smaller ones"] = None
    return given


def _array_sizes(resolved: Mapping[str, Any], members: Sequence[str]) -> Iterator[Keys]:
    """Sizes of an array's own: smaller ones where the user's do not fit small members."""
    member_kib = MOST * 4
    sizes = _sizes(resolved, member_kib)
    dram = {key: value for key, value in sizes.items() if key == "buffer.dram_mib"}
    yield dram
    yield sizes
    for shift in (2, 4):
        yield {key: max(value / shift, LEAST[key]) for key, value in sizes.items()}
    least = {key: LEAST[key] for key in SIZED if get(resolved, key)}
    yield least
    yield {**least, "redundancy.log_mib": 1.0}


def _sizes(resolved: Mapping[str, Any], kib: float) -> Keys:
    """Sizes that are large for a member of this number of KiB."""
    found: Keys = {}
    for key, share in SIZED.items():
        value = get(resolved, key)
        room = kib / share / (1024 if key.endswith("mib") else 1)
        if value and value > room:
            found[key] = max(2.0 ** int(room).bit_length() / 2 if room >= 1 else room, LEAST[key])
    return found


def get(node: Mapping[str, Any], key: str) -> Any:
    """A key of a resolved drive, None where it has none."""
    found: Any = node
    for part in key.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


@dataclass(frozen=True)
class Size:
    """The size of a drive or disk."""

    resolved: Mapping[str, Any]

    @staticmethod
    def of(resolved: Mapping[str, Any], keys: Mapping[str, Any]) -> Size:
        """The size with other keys."""
        changed = json.loads(json.dumps(resolved))
        for key, value in keys.items():
            table, last = changed, key
            for part in key.split(".")[:-1]:
                table, last = table.setdefault(part, {}), key.rpartition(".")[2]
            table[last] = value
        return Size(changed)

    @property
    def places(self) -> int:
        """Logical pages in a page of flash."""
        logical = get(self.resolved, "ftl.logical_page_kib")
        return max(round(get(self.resolved, "flash.page_kib") / logical), 1) if logical else 1

    @property
    def pages(self) -> int:
        """The pages of a member."""
        if "disk" in self.resolved:
            page_kib = get(self.resolved, "disk.page_kib") or 4
            return int(get(self.resolved, "disk.capacity_gb") * 1e9 / 1024 / page_kib)
        flash = self.resolved["flash"]
        blocks = flash["blocks_per_plane"]
        planes = flash["channels"] * flash["chips_per_channel"] * flash["dies_per_chip"] * flash["planes_per_die"]
        return int(planes * blocks * flash["pages_per_block"] * self.places)


def _drives(resolved: Mapping[str, Any], aims: Sequence[int]) -> Iterator[Keys]:
    """Smaller drives, the best first: with as few pages as possible, and much like the user's."""
    flash, size = resolved["flash"], Size(resolved)
    shapes = _shapes(flash, get(resolved, "redundancy.scheme") or "none")
    program = flash.get("pages_per_program", 1)
    lengths = sorted((program * n for n in (1, 2, 3, 4, 6, 8, 12, 16)), reverse=True)
    own = get(resolved, "ftl.over_provisioning") or 0
    lengths = [length for length in lengths if length <= flash["pages_per_block"]] or [flash["pages_per_block"]]
    blocks = [count for count in BLOCKS if count <= flash["blocks_per_plane"]] or [flash["blocks_per_plane"]]
    rooms = [room for room in ROOM if room is None or room > own]
    full = math.prod(flash[name] for name in PARALLEL[:3])
    for aim, most_room, shortest, dies in _wishes(aims):
        for shape, room, count, length in itertools.product(shapes, rooms, blocks, lengths):
            pages = math.prod(shape) * count * length * size.places
            if pages > aim or length < shortest or (room or 0) > most_room or math.prod(shape[:3]) < min(dies, full):
                continue
            keys: Keys = dict(zip(("flash." + name for name in PARALLEL), shape, strict=True))
            keys |= {"flash.blocks_per_plane": count, "flash.pages_per_block": length}
            if room is not None:
                keys["ftl.over_provisioning"] = room
            keys = {key: value for key, value in keys.items() if get(resolved, key) != value}
            keys |= _cache(resolved, count, length)
            yield keys | _sizes(resolved, pages * get(resolved, "flash.page_kib") / size.places)


def _wishes(aims: Sequence[int]) -> Iterator[tuple[int, float, int, int]]:
    """The most pages, the most over-provisioning, the shortest blocks and the fewest dies, in the order in which they
    are given up."""
    given_up = ((0.5, 4, 2), (1.25, 4, 2), (1.25, 1, 2), (3.0, 1, 1))
    wishes = [(aim, *wish) for wish in given_up for aim in aims]
    # Of many members each must be as small as it can be.
    yield from wishes if aims[0] == AIMS[-3] else sorted(wishes, key=lambda wish: wish[0])
    yield from ((aim, 3.0, 1, 1) for aim in LARGER)


def _cache(resolved: Mapping[str, Any], blocks: int, length: int) -> Keys:
    """The keys of a smaller SLC cache."""
    keys: Keys = {}
    if get(resolved, "flash.slc.blocks"):
        keys["flash.slc.blocks"] = min(get(resolved, "flash.slc.blocks"), max(blocks // 8, 1))
    if get(resolved, "flash.slc.pages_per_block"):
        keys["flash.slc.pages_per_block"] = min(get(resolved, "flash.slc.pages_per_block"), length)
    return keys


PARALLEL = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die")


def _shapes(flash: Mapping[str, Any], scheme: str) -> Iterable[tuple[int, ...]]:
    """Numbers of channels, chips, dies and planes: some that work side by side, no more than there are."""
    full = tuple(flash[name] for name in PARALLEL)
    channels = [n for n in (full[0], 8, 6, 5, 4, 3, 2, 1) if n <= full[0] and full[0] % n == 0]
    if scheme != "none":  # its members are channels, chips or dies
        channels = [n for n in channels if n == full[0] or n >= 2]
    options = itertools.product(dict.fromkeys(channels), *(_halves(count) for count in full[1:]))
    wanted = 8 if scheme != "none" else 4

    def rank(shape: tuple[int, ...]) -> tuple[float, ...]:
        dies = shape[0] * shape[1] * shape[2]
        return (dies > wanted or dies < min(2, full[0] * full[1] * full[2]), -shape[3], -shape[0], dies)

    return sorted(options, key=rank)


def _halves(count: int) -> list[int]:
    return list(dict.fromkeys(n for n in (1, 2, 4, count) if n <= count and count % n == 0))


def _disks(resolved: Mapping[str, Any], aims: Sequence[int]) -> Iterator[Keys]:
    """Smaller disks."""
    page_kib = get(resolved, "disk.page_kib") or 4
    for pages, cylinders in itertools.product((*aims, *LARGER), (None, 1000, 100, 10)):
        keys: Keys = {"disk.capacity_gb": pages * page_kib * 1024 / 1e9}
        if cylinders is not None:
            keys["disk.cylinders"] = cylinders
        yield keys | _sizes(resolved, pages * page_kib)


def _note(tree: _Tree, name: str, before: Mapping[str, Any], after: Mapping[str, Any], keys: Mapping[str, Any]) -> None:
    """Says which keys are not the user's."""
    changed = [f"{key} {get(before, key):g} → {get(after, key):g}" for key in keys
               if isinstance(get(before, key), (int, float)) and isinstance(get(after, key), (int, float))]  # fmt: skip
    if changed:
        tree.notes[f"{name}: {', '.join(changed)}"] = None


def _page_bytes(resolved: Mapping[str, Any]) -> int:
    while "members" in resolved:
        resolved = _member(resolved["members"][0])
    kib = get(resolved, "ftl.logical_page_kib") or get(resolved, "flash.page_kib") or get(resolved, "disk.page_kib")
    return int((kib or 4) * 1024)


def _member(text: str) -> dict[str, Any]:
    _, star, drive = text.partition("*")
    name, pairs = split(drive.strip() if star else text.strip())
    found: dict[str, Any] = check(name, pairs)["drive"]
    return found


def _keeps_writes(resolved: Mapping[str, Any]) -> bool:
    return bool(get(resolved, "buffer.dram_mib")) and get(resolved, "buffer.write_policy") != "through"


def _look(resolved: Mapping[str, Any], path: str, tree: _Tree) -> None:
    """Collects the parts that may fail, and the tags. Some parts do not exist: `_tried` finds out."""
    _tag(resolved, path, tree)
    tree.parts.append(f"{path}nvram")
    if "members" in resolved:
        at = 0
        for text in resolved["members"]:
            member = _member(text)
            for _ in range(int(text.partition("*")[0]) if "*" in text else 1):
                tree.parts.append(f"{path}member:{at}")
                _look(member, f"{path}member:{at}/", tree)
                at += 1
    elif "disk" in resolved:
        tree.parts += [f"{path}{part}" for part in ("disk", "page:0", "page:1", "page:5", "page:17")]
    else:
        flash = resolved["flash"]
        counts = [flash[name] for name in (*PARALLEL, "blocks_per_plane", "pages_per_block")]
        counts[5] *= Size(resolved).places
        tree.flash.append(Flash(path, tuple(counts)))
        tree.parts += ["member:0", "member:1"] if not path else []


def _tag(resolved: Mapping[str, Any], path: str, tree: _Tree) -> None:
    """What the judge must know of a drive, and of each member."""
    scheme = get(resolved, "redundancy.scheme") or "none"
    if not path or scheme == "fra":
        tree.tags.add(f"scheme={scheme}")
    if get(resolved, "redundancy.incomplete") == "wait":
        tree.tags.add('redundancy.incomplete="wait"')
    if (get(resolved, "ftl.wear.erase_budget") or math.inf) < WORN:
        tree.tags.add("erase_budget")
    if get(resolved, "errors.model") not in (None, "none"):
        tree.tags.add("errors")
    volatile = _keeps_writes(resolved) and not get(resolved, "buffer.protected")
    if volatile or get(resolved, "flash.acknowledge") == "transfer" or get(resolved, "disk.write_cache_mib"):
        tree.tags.add("volatile")
