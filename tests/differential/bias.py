"""Campaigns that draw what is rare otherwise: `--bias NAME` gives each case some keys and events.

A biased case has the name of the case that it comes from. Its own decisions have random streams of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flashkeep.torturing.faults import failure
from flashkeep.torturing.keys import flush, suspension

if TYPE_CHECKING:
    from collections.abc import Callable

    Keys = dict[str, Any]


@dataclass(frozen=True)
class Bias:
    """What a biased campaign draws besides."""

    kinds: tuple[str, ...]
    """The kinds of cases."""
    keys: Callable[[Any, Keys], Keys]
    """More keys of a drive, or of the drives of an array, from its random streams and its keys."""
    events: Callable[[Any, list[str]], list[str]] = lambda _source, _units: []
    """More events, from the random streams and the parts that can fail."""
    verify: bool = True
    """Whether cases are timed and verified."""


def _cuts(source: Any, least: int, most: int) -> list[str]:
    """Power losses at random places."""
    rng = source("bias cuts")
    return [f"power@{rng.randrange(1, 100)}%" for _ in range(rng.randint(least, most))]


def _failures(source: Any, units: list[str], most: int) -> list[str]:
    """Failures of parts at random places."""
    rng = source("bias failures")
    found = []
    parts = [unit for unit in units if unit != "power"]
    for _ in range(rng.randint(0, most if parts else 0)):
        found.append(failure(rng, rng.choice(parts), f"{rng.randrange(1, 100)}%"))
    return found


def _dram(source: Any, _: Keys) -> Keys:
    """A write cache, written back in each way."""
    return {"buffer.dram_mib": source.pick("bias dram", (0.03125, 0.125, 0.5)), **flush(source)}


def _recent(source: Any, keys: Keys) -> Keys:
    """Word lines, SLC caches, suspension, protected DRAM, steady ageing."""
    lines = {"flash.pages_per_program": source.pick("bias lines", (2, 2, 4))}
    offered: list[Keys] = [
        lines,
        lines | {"ftl.logical_page_kib": keys["flash.page_kib"] / source.pick("bias places", (1, 2, 4))},
        {"flash.slc.blocks": source.pick("bias slc", (1, 2, 4)), "ftl.slc.fold": source.pick("fold", ("idle", "full")),
         "ftl.slc.idle_us": source.pick("bias idle", (0, 100, 3000))},
        suspension(source),
        _dram(source, keys) | {"buffer.protected": True},
        {"ageing.model": "steady"},
        {"ftl.gather_us": source.pick("bias gather", (50, 1000))},
    ]  # fmt: skip
    found: Keys = {}
    for index in source("bias recent").sample(range(len(offered)), source.pick("bias how many", (1, 1, 2, 2, 3))):
        found |= offered[index]
    return found


def _protected(source: Any, keys: Keys) -> Keys:
    """A write cache that survives a power loss, mostly."""
    return _dram(source, keys) | {"buffer.protected": source.chance("bias protected", 0.8)}


def _everywhere(source: Any, keys: Keys) -> Keys:
    """A write cache at some levels, protected at times, and at times what a controller does for its data."""
    found = _dram(source, keys) if source.chance("bias cached", 0.4) else {}
    if found and source.chance("bias safe", 0.4):
        found |= {"buffer.protected": True}
    if source.chance("bias errors", 0.15):
        found |= {"errors.model": "kim", "errors.maintenance.reclaim_reads": source.pick("bias reads", (0.5, 5))}
    return found


def _parts_one_by_one(source: Any, units: list[str]) -> list[str]:
    """All parts of a member fail and are replaced, some twice."""
    rng = source("bias parts")
    inner = sorted({unit for unit in units if unit.count("member:") == 2 and unit.count("/") == 1})
    found = []
    if inner and rng.random() < 0.5:
        for unit in inner:
            at = rng.randrange(5, 40)
            found.append(f"{unit}@{at}%,replace_after={rng.choice(('0s', '10us', '1ms'))}")
            if rng.random() < 0.3:
                found.append(f"{unit}@{at + 1}%,replace_after=20ms")
    return found


BIASES = {
    "nested": Bias(
        ("nested",),
        _everywhere,
        lambda source, units: [*_cuts(source, 0, 2), *_parts_one_by_one(source, units), *_failures(source, units, 2)],
    ),
    "cached-members": Bias(
        ("array", "array", "array", "mixed"),
        _dram,
        lambda source, units: [*_cuts(source, 2, 4), *_failures(source, units, 2)],
    ),
    "power": Bias(
        ("flash", "flash", "array", "mixed", "disk"),
        lambda _source, _keys: {},
        lambda source, units: [*_cuts(source, 2, 4), *_failures(source, units, 1)],
    ),
    "through": Bias(
        ("flash", "flash", "array", "array", "mixed", "disk"),
        lambda source, _: {
            "buffer.dram_mib": source.pick("bias dram", (0.03125, 0.125, 0.5)),
            "buffer.write_policy": "through",
        },
        lambda source, units: [*_cuts(source, 1, 3), *_failures(source, units, 2)],
    ),
    "protected": Bias(
        ("flash", "array", "array", "mixed"),
        _protected,
        lambda source, units: [*_cuts(source, 1, 3), *_failures(source, units, 1)],
    ),
    "recent": Bias(("flash", "flash", "flash", "array"), _recent, verify=False),
}
"""The biases by name."""
