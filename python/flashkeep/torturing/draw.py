"""Draws a case of a reduced drive: one seed and one number, one case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .case import Case
from .faults import failure, power_losses, tags_of, when
from .source import Source
from .workload import draw_requests

if TYPE_CHECKING:
    import random

    from .shrink import Small

LENGTHS = (10, 30, 60, 60, 100, 200)
"""Numbers of requests."""


def draw(small: Small, seed: int, number: int, attempt: int = 0) -> Case:
    """Case `number` of a seed. Later attempts, after an intended refusal, draw no keys of the drive."""
    source = Source(f"{seed}/{number}")
    rng = source("options")
    count = max(rng.choice(LENGTHS) // small.volumes, min(LENGTHS))
    case = Case(tags=set(small.tags))
    case.options = {"drive": small.drive, "drive_text": small.text, "set": list(small.overrides), "verify": True}
    _options(rng, case)
    if attempt == 0:
        _keys(source("keys"), case, small)
    workload = source("workload")
    reach = workload.choice((small.capacity, small.capacity, small.capacity // 4, 64 * small.page, 16 * small.page))
    reach = max(min(reach, small.capacity) // small.page, 1) * small.page
    case.requests = draw_requests(workload, small.page, reach, count)
    events = _events(source("faults"), small, count)
    case.options["fail"] = events
    case.tags |= tags_of(events)
    return case


def _options(rng: random.Random, case: Case) -> None:
    """Options of the run."""
    chosen: dict[str, Any] = {
        "seed": rng.randrange(1, 1000),
        "existing": rng.choice((None, None, "all", "all", "reads", "none")),
        "no_breakdown": rng.random() < 0.9,
        "untimed": rng.random() < 0.08,
        "flush_at_end": rng.random() < 0.05,
        "twice": rng.random() < 0.03,
    }
    if rng.random() < 0.25:
        chosen |= {"replay": "closed", "depth": rng.choice((1, 4, 16))}
    if chosen.pop("twice"):
        case.tags.add("twice")
    case.options |= {key: value for key, value in chosen.items() if value is not None and value is not False}
    case.tags |= {key for key in ("untimed", "flush_at_end") if chosen[key]}
    case.tags.add("closed" if "replay" in chosen else "open")


def _keys(rng: random.Random, case: Case, small: Small) -> None:
    """Keys of the drive that are drawn as one more kind of stress: when its DRAM is written back, and
    errors of its flash."""
    if small.dram and rng.random() < 0.3:
        flush = rng.choice(("none", "watermark", "idle"))
        keys: dict[str, Any] = {"buffer.flush": flush}
        if flush == "idle":
            keys |= {"buffer.flush_after_us": rng.choice((50, 200, 2000)), "buffer.flush_pages": rng.choice((1, 2, 8))}
        if flush == "watermark":
            keys |= {"buffer.flush_above": rng.choice((0, 0.25, 0.5))}
        case.options["set"] += [f"{key}={value}" for key, value in keys.items()]
        case.tags.add("dram_flush")
    # A key of all members would be refused by disks among them.
    if small.flash and not small.flash[0].path and rng.random() < 0.15:
        case.options["set"] += [f"errors.{key}={value}" for key, value in _errors(rng).items()]
        case.tags.add("errors")


def _errors(rng: random.Random) -> dict[str, Any]:
    """Flash whose pages become unreadable now and then, and what its controller does about it."""
    keys: dict[str, Any] = {"model": "kim", "scale": rng.choice((3, 3.5, 4, 5)), "retry.steps": rng.choice((0, 0, 1))}
    if rng.random() < 0.3:
        keys |= {"ecc.decode_us": 20, "ecc.corrects_soft": 90, "retry.pipelined": "true"}
    if rng.random() < 0.3:
        keys |= {"maintenance.scrub_days": rng.choice((1e-6, 1e-5)), "maintenance.reclaim_reads": 0.5}
    return keys


def _events(rng: random.Random, small: Small, count: int) -> list[str]:
    """Power losses, failures within and beyond what the redundancy survives, bursts of unreadable pages."""
    way = rng.random()
    if way < 0.12:
        return []
    if way < 0.4:
        return power_losses(rng, count, 4)
    if way < 0.65:
        found = _failures(rng, small, count, max(small.survives, 1))
    elif way < 0.82:
        found = _failures(rng, small, count, 4)
    else:
        found = _burst(rng, small, count)
        found += _failures(rng, small, count, 1) if rng.random() < 0.4 else []
    return found + (power_losses(rng, count, 2) if rng.random() < 0.3 else [])


def _failures(rng: random.Random, small: Small, count: int, most: int) -> list[str]:
    """Failures of parts."""
    parts = list(small.parts)
    for _ in range(2 if small.flash else 0):
        parts += rng.choice(small.flash).some(rng)
    if not parts:
        return []
    return [failure(rng, rng.choice(parts), when(rng, count)) for _ in range(rng.randint(1, most))]


def _burst(rng: random.Random, small: Small, count: int) -> list[str]:
    """Pages close together that become unreadable at one instant."""
    if not small.flash:
        return _failures(rng, small, count, 4)
    instant = when(rng, count)
    return [f"{page}@{instant},transient" for page in rng.choice(small.flash).burst(rng, 8)]
