"""Draws a case of a reduced drive: one seed and one number, one case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .case import Case
from .faults import draw_events, draw_slow, tags_of
from .keys import STRESSES, assignments, flush
from .run_options import draw_options
from .run_options import tags_of as tags_of_options
from .source import Source
from .workload import draw_requests

if TYPE_CHECKING:
    from .shrink import Small

LENGTHS = (10, 30, 60, 60, 100, 200)
"""Numbers of requests."""

SHARES = {"existing": 0.65, "no_breakdown": 0.9, "untimed": 0.08, "flush_at_end": 0.05, "replay": 0.25}
"""How often each option is drawn."""


def draw(small: Small, seed: int, number: int, attempt: int = 0) -> Case:
    """Case `number` of a seed. Later attempts, after an intended refusal, draw no keys of the drive."""
    source = Source(f"{seed}/{number}")
    count = max(source.pick("length", LENGTHS) // small.volumes, min(LENGTHS))
    options = draw_options(source, SHARES)
    events = draw_events(source("faults"), small.flash, small.parts, count, small.survives)
    if source.chance("slow parts", 0.25):
        events += draw_slow(source("which slow parts"), small.flash, small.parts, count)
    case = Case(tags=set(small.tags) | tags_of_options(options) | tags_of(events))
    case.options = {"drive": small.drive, "drive_text": small.text, "set": list(small.overrides), "verify": True,
                    **options, "fail": events}  # fmt: skip
    if source.chance("twice", 0.03):
        case.tags.add("twice")
    if attempt == 0:
        _keys(source, case, small)
    case.give_handles([small.text or "", *case.options["set"]])
    workload = source("workload")
    reach = workload.choice((small.capacity, small.capacity, small.capacity // 4, 64 * small.page, 16 * small.page))
    reach = max(min(reach, small.capacity) // small.page, 1) * small.page
    case.requests = draw_requests(workload, small.page, reach, count)
    return case


def _keys(source: Source, case: Case, small: Small) -> None:
    """Keys of the drive that are drawn as more kinds of stress."""
    if small.dram and source.chance("dram_flush", 0.3):
        case.options["set"] += assignments(flush(source))
        case.tags.add("dram_flush")
    if small.survives and source.chance("reads_around", 0.25):
        hedge = source("hedge").choice(("hedge=p50", "hedge=p80", "hedge=p95")) if source.chance("hedged", 0.5) else ""
        case.options["set"] += assignments({"redundancy.read": hedge or "around-busy"})
        case.tags.add("hedged" if hedge else "reads_around")
    # A key of all members would be refused by disks among them.
    if small.flash and not small.flash[0].path:
        for name, keys in STRESSES.items():
            if source.chance(f"stress {name}", 0.15):
                case.options["set"] += assignments(keys(source))
                case.tags.add(name)
