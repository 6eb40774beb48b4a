"""Draws keys of a drive that leave its size, its layout and its redundancy as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from .source import Source

    Keys: TypeAlias = dict[str, Any]


def flush(source: Source) -> Keys:
    """When the drive's DRAM is written back."""
    way = source.pick("flush", ("none", "watermark", "idle"))
    keys: Keys = {"buffer.flush": way}
    if way == "idle":
        keys |= {"buffer.flush_after_us": source.pick("flush after", (50, 200, 2000)),
                 "buffer.flush_pages": source.pick("flush pages", (1, 2, 8))}  # fmt: skip
    if way == "watermark":
        keys |= {"buffer.flush_above": source.pick("flush above", (0, 0.25, 0.5))}
    return keys


def errors(source: Source) -> Keys:
    """Flash whose pages become unreadable now and then, and what its controller does about it."""
    keys: Keys = {"errors.model": "kim", "errors.scale": source.pick("rber", (2, 3, 3.5, 4, 5)),
                  "errors.retry.steps": source.pick("retries", (0, 0, 1))}  # fmt: skip
    if source.chance("soft", 0.3):
        keys |= {"errors.ecc.decode_us": 20, "errors.ecc.corrects_soft": 90, "errors.retry.pipelined": True}
    if source.chance("scrubbed", 0.3):
        keys |= {"errors.maintenance.scrub_days": source.pick("scrub", (1e-8, 1e-6, 1e-5)),
                 "errors.maintenance.reclaim_reads": source.pick("reclaim", (0.5, 5))}  # fmt: skip
    return keys


def suspension(source: Source) -> Keys:
    """Which operations a read interrupts."""
    return {"flash.commands.suspend": source.pick("suspend", ("erase", "program-erase")),
            "flash.commands.suspensions": source.pick("suspensions", (0, 1, 3)),
            "flash.timing.suspend_program_us": source.pick("suspension", (0, 20))}  # fmt: skip


def commands(source: Source) -> Keys:
    """Commands of the flash that overlap or join operations."""
    offered: tuple[Keys, ...] = (
        {"flash.commands.cache_program": True, "flash.commands.cache_read": True},
        {"flash.commands.multi_plane": source.pick("multi-plane", ("match", "skip"))},
    )
    return {**source.pick("commands", offered)}


def collection(source: Source) -> Keys:
    """How garbage collection moves pages."""
    offered: tuple[Keys, ...] = (
        {"ftl.gc.run": "hold-channel"},
        {"ftl.gc.copyback": source.pick("copyback", ("on", "parity", "parity-skip"))},
    )
    return {**source.pick("collection", offered)}


def turns(source: Source) -> Keys:
    """Members that collect in turns."""
    return {
        "ftl.gc.turn_ms": source.pick("turn", (0.3, 3, 30)),
        "ftl.gc.threshold": source.pick("threshold", (0.1, 0.3)),
    }


def queue(source: Source) -> Keys:
    """A short queue of the host."""
    offered: tuple[Keys, ...] = ({"host.late_requests": "from-arrival"}, {"host.order": "c-look"}, {})
    return {"host.queue_depth": source.pick("queue depth", (1, 4, 32)), **source.pick("queue", offered)}


def placement(source: Source) -> Keys:
    """Placement handles, whose data have blocks of their own."""
    return {"ftl.handles": source.pick("handles", (2, 2, 3, 4)),
            "ftl.handle_isolation": source.pick("isolation", ("initially", "persistently"))}  # fmt: skip


STRESSES: dict[str, Callable[[Source], Keys]] = {
    "errors": errors,
    "suspension": suspension,
    "commands": commands,
    "collection": collection,
    "queue": queue,
    "placement": placement,
    "turns": turns,
}
"""What any drive with flash can be given besides its own keys."""


def literal(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    return repr(value)


def assignments(keys: Keys) -> list[str]:
    """Keys as `--set` takes them."""
    return [f"{key}={value if isinstance(value, str) else literal(value)}" for key, value in keys.items()]
