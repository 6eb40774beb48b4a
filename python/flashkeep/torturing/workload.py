"""Draws requests: of parts of pages and of many, in bursts and with pauses, often to the same places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .case import Request

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

OPS = ("W", "RW", "RWW", "RRWWT", "RWT", "RRRW", ("R", "W", "W", "WF"), ("R", "W", "W", "W", "F"),
       ("R", "W", "WF", "T", "F", "W"))  # fmt: skip
"""Mixes of operations, each as likely as it is often there."""

PAUSES = (0, 0, 0, 1, 1000, 30_000, 200_000, 2_000_000)
"""Times between requests, ns."""

MOST = 1 << 20
"""Bytes of the largest request."""


def draw_requests(rng: random.Random, page: int, reach: int, count: int) -> list[Request]:
    """`count` requests within the first `reach` bytes of a drive whose pages have `page` bytes."""
    ops = rng.choice(OPS)
    sector = min(rng.choice((512, 512, 1024, page)), reach)
    sizes = _sizes(rng, sector, page)
    longest = rng.choice((0, 200_000, 20_000_000, 60_000_000))
    offsets = _offsets(rng, sector, reach)
    at, found = 0, []
    draw, choices = rng.random, (len(ops), len(PAUSES), len(sizes))  # `rng.choice` would take most of the time
    for _ in range(count):
        op = ops[int(draw() * choices[0])]
        pause = PAUSES[int(draw() * choices[1])]
        at += pause if pause or longest == 0 or draw() > 0.03 else int(draw() * longest)
        if op == "F":
            found.append(Request(at, op, 0, 0))
            continue
        size = min(sizes[int(draw() * choices[2])], reach)
        found.append(Request(at, op, min(next(offsets), reach - size), size))
    return found


def _sizes(rng: random.Random, sector: int, page: int) -> list[int]:
    """The sizes of a case's requests."""
    some = [sector, sector, 2 * sector, 3 * sector, 8 * sector, page, page, 4 * page]
    some += [sector * rng.randint(1, 33), page * rng.randint(1, 16)]
    kept = rng.sample(some, rng.choice((1, 3, len(some))))
    return [min(size, MOST) for size in kept]


def _offsets(rng: random.Random, sector: int, reach: int) -> Iterator[int]:
    """Places: anywhere, in runs one after the other, mostly in a hot part, or near the last one."""
    sectors = max(reach // sector, 1)
    way = rng.choice(("anywhere", "anywhere", "runs", "hot", "near"))
    hot = max(sectors // rng.choice((8, 64)), 1)
    begin = rng.randrange(sectors)
    at = begin
    step = rng.choice((1, 2, 8))
    draw = rng.random
    while True:
        if way == "anywhere" or draw() < 0.1:
            at = int(draw() * sectors)
        elif way == "runs":
            at = (at + step) % sectors
        elif way == "hot":
            at = (begin + int(draw() * hot)) % sectors
        else:
            at = (at + int(draw() * 9) - 4) % sectors
        yield at * sector
