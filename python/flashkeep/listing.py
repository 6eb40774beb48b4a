"""Printed lists: names with descriptions, figures of a trace, the keys of a drive."""

from __future__ import annotations

import json

from .terminal import BOLD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .extending import Conformance
    from .terminal import Page


LEAST_ROOM = 24
"""Descriptions are not broken into lines shorter than this."""


SIZES = {
    "mean_kib": "mean size, KiB", "mean_write_kib": "mean size of writes, KiB",
    "mean_sequence_kib": "mean sequence, KiB", "mean_write_sequence_kib": "mean sequence of writes, KiB",
    "rate_per_s": "requests per second", "footprint_bytes": "footprint", "max_address": "end of addresses",
    "fua_writes": "FUA writes",
}  # fmt: skip
UNITS = {"s": "s", "kib": "KiB", "bytes": "bytes"}


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
    """The printed form of `trace info`: one line for each figure, then the warnings."""
    lines = [(_name(key), _figure(key, value)) for key, value in info.items() if key != "warnings"]
    return "\n".join([listing(lines, page), *(f"note: {warning}" for warning in info["warnings"])])


def _name(key: str) -> str:
    """`mean_write_kib`: `mean size of writes, KiB`."""
    if key in SIZES:
        return SIZES[key]
    name, _, unit = key.rpartition("_")
    return f"{name.replace('_', ' ')}, {UNITS[unit]}" if unit in UNITS else key.replace("_", " ")


def _figure(key: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "–" if value is None else str(value)
    if key in ("footprint_bytes", "max_address"):
        return f"{value:,} ({size(value)})"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


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
