"""Draws options of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .source import Source

OPTIONS: dict[str, tuple[object, ...]] = {
    "verify": (True,),
    "existing": ("all", "all", "reads", "none"),
    "no_breakdown": (True,),
    "untimed": (True,),
    "flush_at_end": (True,),
    "replay": ("closed",),
    "warmup": ("5", "10%"),
    "time_scale": (0.001, 0.1, 3.0),
    "condition": (True,),
    "operations": (True,),
}
"""The options of a run that can be drawn, with their values."""

TIMED = ("time_scale", "operations")
"""Options that an untimed run does not take."""


def draw_options(source: Source, shares: Mapping[str, float]) -> dict[str, Any]:
    """Options of a job; each name of `shares` is drawn in that share of the cases."""
    chosen: dict[str, Any] = {"seed": source("seed").randrange(1, 1000)}
    for name, share in shares.items():
        if source.chance(name, share):
            chosen[name] = source.pick(f"{name} value", OPTIONS[name])
    if "untimed" in chosen:
        chosen = {name: value for name, value in chosen.items() if name not in TIMED}
    if "replay" in chosen:
        chosen["depth"] = source.pick("depth", (1, 4, 16))
    return chosen


def tags_of(options: Mapping[str, Any]) -> set[str]:
    """What the options of a case are, for the judge and for the report."""
    told = ("verify", "untimed", "flush_at_end", "condition", "warmup", "operations")
    return {"closed" if "replay" in options else "open"} | {name for name in told if name in options}
