"""The figures of a summary that a table shows: path, format and better direction of each.

They are declared in the registry of figures (crates/flashkeep/src/metrics).
"""

from __future__ import annotations

import json

from .. import _flashkeep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    Summary = dict[str, Any]

LOWER, HIGHER, NEITHER = -1, 1, 0
"""The better direction of a figure."""


class Row:
    """A figure of a summary: its path, its format, its better direction."""

    __slots__ = ("always", "better", "label", "path", "write")

    def __init__(self, label: str, path: str, write: Callable[[float], str], better: int, always: bool = False) -> None:
        self.label, self.path, self.write, self.better = label, path.split("."), write, better
        self.always = always  # shown even if it is zero

    def value(self, summary: Summary) -> float | None:
        """The figure, the mean of a list, or None if the run has no value (without reads, for example)."""
        node: Any = summary
        for key in self.path:
            if isinstance(node, list) and key.isdigit():
                node = node[int(key)] if int(key) < len(node) else None
            else:
                node = node.get(key) if isinstance(node, dict) else None
        if isinstance(node, list):
            known = [each for each in node if each is not None]
            return sum(known) / len(known) if known else None
        return node if isinstance(node, (int, float)) else None


def micros(value: float) -> str:
    """Four significant digits, and all digits before the decimal point."""
    for limit, digits in ((10, 3), (100, 2), (1000, 1)):
        if abs(value) < limit:
            return f"{value:.{digits}f}"
    return f"{value:,.0f}"


def ratio(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")


def count(value: float) -> str:
    return f"{value:,.0f}"


def share(value: float) -> str:
    return f"{100 * value:.1f} %" if value >= 0.01 or value == 0 else f"{100 * value:.3f} %"


def rate(value: float) -> str:
    """Three significant digits of a number that is mostly very small."""
    return "0" if value == 0 else f"{value:.2e}".replace("-", "−")


def expected(value: float) -> str:
    """An expected number, which may be far below one."""
    return micros(value) if abs(value) >= 0.01 else rate(value)


def _written_as(kind: str, unit: str) -> Callable[[float], str]:
    """The format of figures in this unit."""
    if kind == "count":
        return count
    formats = {"share": share, "ratio": ratio, "1/day": ratio, "USD/GB": ratio, "1/bit": rate, "pages": expected}
    return formats.get(unit, micros)


class Sections:
    """The rows of the tables by heading, from the registry of figures; read at first use."""

    __slots__ = ("_all",)

    def __init__(self) -> None:
        self._all: list[tuple[str, list[Row]]] = []

    def __iter__(self) -> Iterator[tuple[str, list[Row]]]:
        if not self._all:
            self._all = [
                (heading, [
                    Row(label, path, _written_as(kind, unit), better, always)
                    for label, path, kind, unit, better, always in rows
                ])
                for heading, rows in json.loads(_flashkeep.table_rows())
            ]  # fmt: skip
        return iter(self._all)

    def row(self, path: str) -> Row:
        """The row of a figure."""
        return next(row for _, rows in self for row in rows if ".".join(row.path) == path)


SECTIONS = Sections()


def sections(summaries: Sequence[Summary]) -> Iterator[tuple[str, list[Row]]]:
    """The rows of a table of these runs; of several, also their volumes, flows, placement handles and rebuilds, which
    have tables of their own where there is one run."""
    yield from SECTIONS
    if len(summaries) > 1:
        most = {key: max(len(summary.get(key) or ()) for summary in summaries) for key in ("volumes", "rebuilds")}
        yield "Volumes", [row for at in range(most["volumes"]) for row in _volume(at)]
        named = max((summary.get("flows") or () for summary in summaries), key=len)
        yield "Flows", [row for at, flow in enumerate(named) for row in _flow(at, flow["name"])]
        placed = max((summary.get("handles") or () for summary in summaries), key=len)
        yield "Placement handles", [_handle(at, row["handle"], row["data"]) for at, row in enumerate(placed)]
        yield "Rebuilds", [row for at in range(most["rebuilds"]) for row in _rebuild(at)]


def _volume(at: int) -> Iterator[Row]:
    for kind in ("read", "write"):
        path = f"volumes.{at}.response_us.{kind}"
        yield Row(f"volume {at}: {kind}s, mean, µs", f"{path}.mean", micros, LOWER)
        yield Row("  p99", f"{path}.p99", micros, LOWER)
    yield Row("  requests a second", f"volumes.{at}.throughput.iops", micros, HIGHER)


def _flow(at: int, name: str) -> Iterator[Row]:
    yield Row(f"{name}: mean, µs", f"flows.{at}.response_us.all.mean", micros, LOWER)
    for kind in ("read", "write"):
        yield Row(f"  p99 of {kind}s", f"flows.{at}.response_us.{kind}.p99", micros, LOWER)
    yield Row("  requests a second", f"flows.{at}.throughput.iops", micros, HIGHER)
    yield Row("  slowdown", f"flows.{at}.slowdown", lambda factor: f"{factor:.2f}", LOWER)


def _handle(at: int, handle: int | None, data: str) -> Row:
    label = data if handle is None else f"handle {handle}"
    if handle is None:
        return Row(f"{label}: bytes programmed", f"handles.{at}.media_bytes", micros, LOWER)
    return Row(f"{label}: write amplification", f"handles.{at}.waf", lambda factor: f"{factor:.3f}", LOWER)


def _rebuild(at: int) -> Iterator[Row]:
    yield Row(f"rebuild {at + 1}: GiB", f"rebuilds.{at}.gib", micros, NEITHER)
    yield Row("  MB/s", f"rebuilds.{at}.mb_s", micros, HIGHER)
    yield Row("  hours for a full member", f"rebuilds.{at}.full_member_hours", lambda hours: f"{hours:.3g}", LOWER)
