"""Diff-RAID: how fast the members of an array age, by simulation, and what a rebuild of the oldest then loses, by the
error model."""

from __future__ import annotations

import json
import math
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ..errors_of_page import page_errors
from .hybrid_lives import SSD, parity
from .paper import Run
from .published import Published

if TYPE_CHECKING:
    from .paper import Results

PUBLISHED = Published("fleet")
DRIVES = round(PUBLISHED.value("Diff-RAID: setting", "array", "drives"))
BYTES = PUBLISHED.value("Diff-RAID: setting", "array", "capacity of a drive") * 1e9
UBER = PUBLISHED.value("Diff-RAID: setting", "drive", "UBER within its life")
SHARES = {f"{percent} % of the parities": percent / 100 for percent in (40, 60, 80, 100)}
"""The largest member's share of the parities; the others have equal ones."""
WRITES = 20_000
"""Of a page; several hundred erases of each member."""
DAYS = 365
"""The age of data, at which the UBER at the end of life is that of the paper (ours)."""
PAGE_KIB = 4


class Chip(NamedTuple):
    """Flash and its code."""

    preset: str
    set: tuple[str, ...]


def code(bits: int, user: int, corrects: int) -> tuple[str, ...]:
    """A code without retries."""
    return (
        f"errors.ecc.codeword_bits={bits}", f"errors.ecc.user_bits={user}", f"errors.ecc.corrects={corrects}",
        "errors.retry.steps=0",
    )  # fmt: skip


CHIPS = {
    "planar MLC (3x nm), 8 bits of 512 B": Chip("mlc-3xnm", code(4200, 4096, 8)),
    "planar MLC (2y nm), 40 bits of 1 KiB": Chip("mlc-2ynm", code(8752, 8192, 40)),
    "3D TLC, 72 bits of 1 KiB, retries": Chip("tlc-72l", ()),
}
"""Constants of other chips than the paper's twelve, with codes of their time (ours)."""


def wearing(share: float) -> Run:
    """Random pages written to a full array of small drives that endure all of it."""
    ssd, _, _ = SSD.rpartition(",")  # without the small erase budget
    values = (
        f"members={json.dumps([f'{DRIVES} * {ssd}'])}", "start.existing=all",
        *parity("redundancy.scheme=diff-raid", f"redundancy.shares={share:g}"),
    )  # fmt: skip
    return Run("t7-ssd-raid5", "random", values, "write=1,size=4KiB,depth=1", (("untimed", True),),
               at_least=WRITES, at_most=WRITES)  # fmt: skip


def ageing(results: Results, share: float) -> float:
    """How many times faster the member with most parities is erased than the others."""
    first, *others = (member["wear"]["erases_total"] for member in results[wearing(share)]["members"])
    return float(first * len(others) / sum(others))


def ages(faster: float) -> tuple[float, ...]:
    """The ages of the other members when the oldest reaches its end of life, as shares of that life, once every
    replacement finds the array as the one before did.

    Between two replacements the oldest ages by `faster` times t, each other by t. The new member is the youngest, and
    the next in age takes over most of the parities, so ages before are t apart, and (n - 1)·t + faster·t is a life.
    """
    step = 1 / (DRIVES - 1 + faster)
    return tuple(step * place for place in range(1, DRIVES))


@cache
def life(chip: Chip) -> int:
    """P/E cycles until the UBER is that of the paper for data that are `DAYS` old."""
    target = (*chip.set, f"errors.uber_target={UBER:g}", f"errors.uber_days={DAYS}")
    found: int = page_errors(preset=chip.preset, page_kib=PAGE_KIB, set=target)["lifetime_cycles"]
    return found


@cache
def page_loss(chip: Chip, age: float) -> float:
    """The probability that a page of a member of that age cannot be read, by any attempt."""
    found = page_errors(preset=chip.preset, page_kib=PAGE_KIB, cycles=age * life(chip), days=DAYS, set=chip.set)
    last: float = found["stages"][-1]["page_failure"]
    return last


def loss(chip: Chip, members: tuple[float, ...]) -> float:
    """The probability that a rebuild from these members, by their ages, meets a page that cannot be read."""
    pages = BYTES / (PAGE_KIB * 1024)
    return -math.expm1(sum(pages * math.log1p(-page_loss(chip, age)) for age in members))


def even(chip: Chip) -> float:
    """The same for RAID-5, whose members all reach the end of life together."""
    return loss(chip, (1.0,) * (DRIVES - 1))


def times_safer(results: Results, chip: Chip, share: float) -> float:
    """How many times less likely a rebuild of the oldest member of Diff-RAID loses data than one of RAID-5."""
    return even(chip) / loss(chip, ages(ageing(results, share)))
