"""Printed lists: names with descriptions, figures of a trace, the keys of a drive."""

from __future__ import annotations

import json

from .terminal import BOLD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..extending import Conformance
    from .terminal import Page


LEAST_ROOM = 24
"""Descriptions are not broken into lines shorter than this."""


def listing(rows: Iterable[tuple[str, str]], page: Page) -> str:
    """Names with their descriptions, one per line; a terminal gets lines that fit it."""
    pairs = list(rows)
    wide = max((len(left) for left, _ in pairs), default=0)
    room = (page.width or 0) - wide - 2
    if page.width is not None and room >= LEAST_ROOM:
        import textwrap

        pairs = [
            (left if first else "", line)
            for left, right in pairs
            for first, line in zip([True, *[False] * len(right)], textwrap.wrap(right, room) or [""], strict=False)
        ]
    return "\n".join(f"{page.paint(f'{left:{wide}}', BOLD)}  {right}".rstrip() for left, right in pairs)


def conformance(found: Conformance, page: Page) -> str:
    """The printed form of `conformance`: one line for each promise, then why some are not kept."""
    members = " and ".join(map(str, found.members))
    rows = [("kept" if check["kept"] else "broken", f"{check['promise']} ({check['members']} members)")
            for check in found.checks]  # fmt: skip
    broken = [f"{check['name']}: {check['message']}" for check in found.broken]
    verdict = f"{len(found.checks) - len(broken)} of {len(rows)} promises are kept, with {members} members"
    return "\n".join([listing(rows, page), *broken, f"{found.file}: {verdict}"])


def figures(info: dict[str, Any], page: Page) -> str:
    """The printed form of `trace info`: a few lines, what can be done next, the warnings."""
    lines = [
        ("format", f"{info['format']}, {_count(info['devices'], 'device')}"),
        ("requests", _requests(info)),
        *[(kind, _kind(info, kind)) for kind in ("reads", "writes") if info[kind]],
        *[(kind, f"{info[kind]:,}") for kind in ("trims", "flushes", "fua_writes") if info[kind]],
        ("footprint", _footprint(info)),
        ("sequences", _sequences(info)),
    ]
    if info["writes"]:
        lines.insert(-1, ("overwrites", _overwrites(info)))
    depth = info["queue_depth"]
    if depth is not None:
        at = f"{depth['mean']:.3g} on average, p99 {depth['p99']:,}, at most {depth['max']:,}"
        lines.append(("queue depth", f"{at}, on a drive that takes {depth['latency_us']:g} µs a request"))
    told = [(name.replace("fua_writes", "FUA writes"), text) for name, text in lines if text]
    return "\n".join([
        listing(told, page),
        *(f"next: {step}" for step in info["next"]),
        *(f"note: {warning}" for warning in info["warnings"]),
    ])  # fmt: skip


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _requests(info: dict[str, Any]) -> str:
    text = f"{info['requests']:,}"
    if info["rate_per_s"] is None:
        return f"{text}, all at one instant" if info["requests"] > 1 else text
    text += f" in {_seconds(info['span_s'])}, {info['rate_per_s']:,.4g}/s"
    if info["burstiness"] is not None:
        text += f", {info['peak_rate_per_s']:,} in the busiest second ({info['burstiness']:.3g} × the mean)"
    return text


def _kind(info: dict[str, Any], kind: str) -> str:
    """Reads or writes: count, share, bytes, sizes, and what is written in a day."""
    one = kind.removesuffix("s")
    total, sizes = info["reads"] + info["writes"], info[f"{one}_kib"]
    volume = info["written_bytes" if one == "write" else "read_bytes"]
    parts = [
        f"{info[kind]:,} ({info[kind] / total:.1%})",
        size(volume),
        f"KiB: p50 {sizes['p50']:,g}, p90 {sizes['p90']:,g}, p99 {sizes['p99']:,g}, max {sizes['max']:,g}",
    ]
    if one == "write" and info["written_gb_per_day"] is not None:
        parts.append(f"{info['written_gb_per_day']:,.4g} GB a day")
    return ", ".join(parts)


def _footprint(info: dict[str, Any]) -> str:
    text = size(info["footprint_bytes"])
    text += f" (read {size(info['footprint_read_bytes'])}, written {size(info['footprint_written_bytes'])})"
    return text + ("" if info["max_address"] is None else f", addresses up to {size(info['max_address'])}")


def _overwrites(info: dict[str, Any]) -> str:
    text = f"{info['overwrite_share']:.1%} of the bytes written"
    distance = info["median_overwrite_distance_bytes"]
    return text if distance is None else f"{text}, at the median {size(distance)} of writes later"


def _sequences(info: dict[str, Any]) -> str:
    if info["mean_sequence_kib"] is None:
        return ""
    return f"{info['sequential_share']:.1%} of requests go on with one; {info['mean_sequence_kib']:,.4g} KiB on average"


def _seconds(value: float) -> str:
    for unit, seconds in (("days", 86400.0), ("h", 3600.0)):
        if value >= 2 * seconds:
            return f"{value / seconds:,.3g} {unit}"
    return f"{value:,.4g} s"


def size(value: float) -> str:
    """Bytes with a binary unit."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.4g} {unit}"
        value /= 1024
    return f"{value:.4g} TiB"


def toml(values: dict[str, Any], prefix: str = "") -> str:
    """A resolved drive in the form of a drive file."""
    own = [f"{key} = {_toml_value(value)}" for key, value in values.items()
           if not isinstance(value, dict) and value is not None]  # fmt: skip
    parts = ["\n".join(([f"[{prefix}]"] if prefix and own else []) + own)] if own else []
    for key, value in values.items():
        if isinstance(value, dict):
            parts.append(toml(value, f"{prefix}.{key}" if prefix else key))
    return "\n\n".join(part for part in parts if part)


def _toml_value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML does not allow it, JSON does
