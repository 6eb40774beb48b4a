"""The answers of a served drive as text."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

SHOWN_RANGES = 10
"""The most ranges that an answer for people lists."""


def shown(answer: Mapping[str, Any]) -> str:
    """An answer for people: a line for each figure."""
    lines = [f"virtual time  {answer['time_ns'] / 1e9:.9f} s"] if "time_ns" in answer else []
    for key, value in answer.items():
        if key == "time_ns":
            continue
        if key in ("ranges", "lost", "unreadable"):
            total = sum(entry["length"] for entry in value)
            lines.append(f"{key}  {len(value)} ({total:,} bytes)")
            lines.extend(f"  {entry['offset']} +{entry['length']}" for entry in value[:SHOWN_RANGES])
            if len(value) > SHOWN_RANGES:
                lines.append(f"  … and {len(value) - SHOWN_RANGES:,} more; --json has all")
        elif key == "serve":
            lines.append(served_text(value))
        elif key == "summary":
            lines.extend(_main_figures(value))
        elif isinstance(value, dict):
            lines.append(f"{key}:")
            lines.append(json.dumps(value, indent=2))
        elif value is not None:
            lines.append(f"{key}  {value}")
    return "\n".join(lines)


def served_text(served: Mapping[str, Any]) -> str:
    """What the server has done."""
    return (
        f"served  {served['requests']:,} requests of clients, {served['failed_requests']:,} failed; "
        f"{served['late_replies']:,} replies late, the latest by {served['latest_reply_us'] / 1e3:,.3f} ms; "
        f"{served['stored_bytes'] / 2**20:,.1f} MiB of contents"
    )


def _main_figures(summary: Mapping[str, Any]) -> Iterator[str]:
    """The figures of a summary that are of interest while a drive is served; JSON has all."""
    workload = summary["workload"]
    kinds = ("reads", "writes", "trims", "flushes", "fua_writes")
    yield "  ".join(f"{kind.replace('_', ' ')} {workload[kind]:,}" for kind in kinds)
    for kind, times in summary["response_us"].items():
        if isinstance(times, dict) and times.get("count"):
            figures = ((name, times.get(name)) for name in ("mean", "p50", "p99", "max"))
            shown = "  ".join(f"{name} {value:,.1f}" for name, value in figures if value is not None)
            yield f"{kind}, µs  {shown}"
