"""Draws failures, power losses, bursts of unreadable pages, and parts that are slow or stall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

LEVELS = ("channel", "chip", "die", "plane", "block", "page")
"""The parts of a drive, each within the one before."""

TAGS = frozenset({"power", "faults", "transient", "replace_after", "slow", "stall"})
"""The tags of events."""

REPLACED = ("0s", "10us", "1ms", "20ms", "1s")
"""Times after which a part is replaced."""

SLOW_PARTS = 4
"""How many of the levels can be slow or stall."""

FACTORS = ("1", "1.5", "3", "10", "10", "100", "1000")
"""How much longer the operations of a slow part take."""

LASTS = ("1ns", "50us", "500us", "2ms", "20ms", "1s")
"""How long a part is slow or stalls."""


@dataclass(frozen=True)
class Flash:
    """The flash of a drive: the path of its member numbers, and how many parts of each level are in one above."""

    path: str
    counts: tuple[int, ...]

    def part(self, rng: random.Random, level: int) -> str:
        """A part of a level, somewhere."""
        return self.named(level, [rng.randrange(count) for count in self.counts[: level + 1]])

    def named(self, level: int, numbers: Sequence[int]) -> str:
        """The part with these numbers."""
        return f"{self.path}{LEVELS[level]}:{'.'.join(map(str, numbers))}"

    def some(self, rng: random.Random) -> list[str]:
        """A part of each level, all within one another."""
        numbers = [rng.randrange(count) for count in self.counts]
        return [self.named(level, numbers[: level + 1]) for level in range(len(LEVELS))]

    def burst(self, rng: random.Random, most: int) -> list[str]:
        """Pages that lie close together: of a block one after the other, or the same page of neighbouring blocks."""
        numbers = [rng.randrange(count) for count in self.counts]
        level = rng.choice((4, 5))
        room = self.counts[level]
        pages = []
        for n in range(min(rng.randint(2, most), room)):
            place = [*numbers]
            place[level] = (numbers[level] + n) % room
            pages.append(self.named(5, place))
        return pages


def when(rng: random.Random, requests: int) -> str:
    """An instant, mostly by requests, so that it lies within the run."""
    way = rng.random()
    if way < 0.6:
        return f"{rng.randrange(requests + 1)}req"
    return f"{rng.randrange(1, 101)}%" if way < 0.8 else f"{rng.randrange(20_000)}us"


def failure(rng: random.Random, what: str, instant: str) -> str:
    """The failure of a part: for good, transient, or until it is replaced."""
    how = rng.choice(("", "", ",transient", f",replace_after={rng.choice(REPLACED)}"))
    if what == "power" or ("replace" in how and what.rsplit("/", 1)[-1].startswith(("block", "page"))):
        how = ""
    return f"{what}@{instant}{how}"


def power_losses(rng: random.Random, requests: int, most: int) -> list[str]:
    """Power losses."""
    return [f"power@{when(rng, requests)}" for _ in range(rng.randint(1, most))]


def draw_events(
    rng: random.Random, flash: Sequence[Flash], parts: Sequence[str], requests: int, survives: int
) -> list[str]:
    """Power losses, failures within and beyond what the redundancy survives, bursts of unreadable pages; at times none.
    `parts` can fail besides those of the flash."""
    way = rng.random()
    if way < 0.12:
        return []
    if way < 0.4:
        return power_losses(rng, requests, 4)
    if way < 0.65:
        found = _failures(rng, flash, parts, requests, max(survives, 1))
    elif way < 0.82 or not flash:
        found = _failures(rng, flash, parts, requests, 4)
    else:
        found = _burst(rng, flash, requests)
        found += _failures(rng, flash, parts, requests, 1) if rng.random() < 0.4 else []
    return found + (power_losses(rng, requests, 2) if rng.random() < 0.3 else [])


def _failures(rng: random.Random, flash: Sequence[Flash], parts: Sequence[str], requests: int, most: int) -> list[str]:
    """Failures of parts."""
    known = [*parts]
    for _ in range(2 if flash else 0):
        known += rng.choice(flash).some(rng)
    if not known:
        return []
    return [failure(rng, rng.choice(known), when(rng, requests)) for _ in range(rng.randint(1, most))]


def _burst(rng: random.Random, flash: Sequence[Flash], requests: int) -> list[str]:
    """Pages close together that become unreadable at one instant."""
    instant = when(rng, requests)
    return [f"{page}@{instant},transient" for page in rng.choice(flash).burst(rng, 8)]


def draw_slow(rng: random.Random, flash: Sequence[Flash], parts: Sequence[str], requests: int) -> list[str]:
    """Parts of all kinds that are slow or stall. `parts` can fail besides those of the flash."""
    known = [part for part in parts if part.rsplit("/", 1)[-1].startswith(("member:", "disk"))]
    for each in flash:
        known += rng.choice((each, *flash)).some(rng)[:SLOW_PARTS]
    if any(not each.path for each in flash):
        known.append("drive")
    return [slow(rng, rng.choice(known), when(rng, requests)) for _ in range(rng.randint(1, 4) if known else 0)]


def slow(rng: random.Random, what: str, instant: str) -> str:
    """A part that is slow or stalls."""
    lasts = rng.choice(LASTS)
    if rng.random() < 0.4:
        return f"stall:{what}@{instant},for={lasts}"
    return f"slow:{what}@{instant},factor={rng.choice(FACTORS)},for={lasts}"


def is_slow(event: str) -> bool:
    """Whether a part is slow or stalls, and nothing fails."""
    return event.startswith(("slow", "stall"))


def tags_of(events: Sequence[str]) -> set[str]:
    """What the events of a case are, for the judge and for the report."""
    kinds = ("power", "slow", "stall")
    found = {next((kind for kind in kinds if event.startswith(kind)), "faults") for event in events}
    return found | {word for word in ("transient", "replace_after") if any(word in event for event in events)}
