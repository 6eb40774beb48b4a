"""The figures of a summary that a table shows: where each stands, how it is written, which way it is better."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Summary = dict[str, Any]

LOWER, HIGHER, NEITHER = -1, 1, 0
"""Which way a figure is better."""


class Row:
    """A figure of a summary: where it stands, how it is written, which way it is better."""

    __slots__ = ("better", "label", "path", "write")

    def __init__(self, label: str, path: str, write: Callable[[float], str], better: int) -> None:
        self.label, self.path, self.write, self.better = label, path.split("."), write, better

    def value(self, summary: Summary) -> float | None:
        """The figure, a list's mean, or None where the run has no such thing (no reads, say)."""
        node: Any = summary
        for key in self.path:
            node = node.get(key) if isinstance(node, dict) else None
        if isinstance(node, list):
            return sum(node) / len(node) if node else None
        return node if isinstance(node, (int, float)) else None


def micros(value: float) -> str:
    """Four significant digits, and all of those before the point."""
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


def _latency(what: str, key: str, mean: str) -> Iterable[Row]:
    yield Row(f"{what}, mean ({mean})", f"response_us.{key}.mean", micros, LOWER)
    if key == "all":
        return
    for name in ("p50", "p95", "p99", "p99_9"):
        yield Row(f"  {name.replace('_', '.')}", f"response_us.{key}.{name}", micros, LOWER)


SECTIONS: tuple[tuple[str, tuple[Row, ...]], ...] = (
    ("Response time, µs", (
        *_latency("all requests", "all", "MRT"),
        *_latency("reads", "read", "MRRT"),
        *_latency("writes", "write", "MWRT"),
    )),
    ("Throughput", (
        Row("requests a second", "throughput.iops", count, HIGHER),
        Row("read, MiB/s", "throughput.read_mib_s", micros, HIGHER),
        Row("written, MiB/s", "throughput.write_mib_s", micros, HIGHER),
    )),
    ("Pages programmed for each page written", (
        Row("write amplification", "write_amplification.total", ratio, LOWER),
        *(Row(f"  {words}", f"write_amplification.{cause}", ratio, LOWER) for cause, words in (
            ("buffer", "saved by the buffer"), ("mirror", "mirror"), ("gc", "garbage collection"),
            ("parity", "parity"), ("wear", "wear levelling"), ("metadata", "metadata"), ("rebuild", "rebuild"),
            ("empty", "places left empty"))),
        Row("flash pages programmed", "packing.flash_pages.program", count, LOWER),
        Row("flash pages read", "packing.flash_pages.read", count, LOWER),
    )),
    ("Wear and use", (
        Row("blocks erased", "wear.erases_total", count, LOWER),
        Row("most erases of a block", "wear.erases_max", count, LOWER),
        Row("  deviation over the blocks", "wear.erases_stddev", micros, LOWER),
        Row("lifetime, days", "wear.lifetime_days", micros, HIGHER),
        Row("  terabytes written by then (TBW)", "wear.tbw", micros, HIGHER),
        Row("  drive writes a day (DWPD)", "wear.dwpd", ratio, HIGHER),
        Row("blocks worn out", "wear.expired_blocks", count, LOWER),
        Row("  the first one after, s", "wear.first_block_dead_s", micros, HIGHER),
        Row("first write refused after, s", "wear.first_loss_s", micros, HIGHER),
        Row("members at the end of their lives", "wear_out.worn_out", count, LOWER),
        Row("  the second after the first, of its life", "wear_out.apart_share", share, HIGHER),
        Row("  the same, as foreseen", "wear_out.expected_apart_share", share, HIGHER),
        Row("  writes turned away from then on", "wear.refused_requests", count, LOWER),
        Row("dies busy, mean", "utilization.die_mean", share, NEITHER),
        Row("dies busy, busiest", "utilization.die_max", share, NEITHER),
        Row("channels busy, mean", "utilization.channel", share, NEITHER),
    )),
    ("Money and life", (
        Row("a GB of what it offers, USD", "economy.cost_per_gb", ratio, LOWER),
        Row("  by formula", "economy.formula.cost_per_gb", ratio, LOWER),
        Row("life of the SSDs, one written once = 1", "economy.lifespan", ratio, HIGHER),
        Row("  by formula", "economy.formula.lifespan", ratio, HIGHER),
        Row("  of the one written most", "economy.lifespan_least", ratio, HIGHER),
    )),
    ("Before time 0", (
        Row("rounds of writes", "conditioning.rounds", count, NEITHER),
        Row("write amplification of the last", "conditioning.write_amplification", ratio, LOWER),
    )),
    ("Map", (
        Row("entries found in memory", "mapping.hits", count, HIGHER),
        Row("entries not there", "mapping.misses", count, LOWER),
        Row("  share", "mapping.miss_rate", share, LOWER),
        Row("translation pages written back", "mapping.write_backs", count, LOWER),
        Row("  for pages that were moved", "mapping.moved_updates", count, LOWER),
        Row("blocks switched", "mapping.switch_merges", count, NEITHER),
        Row("blocks completed by copies", "mapping.partial_merges", count, LOWER),
        Row("blocks merged from several", "mapping.full_merges", count, LOWER),
    )),
    ("Several at once", (
        Row("multi-plane reads", "commands.multi_plane.read", count, NEITHER),
        Row("multi-plane programs", "commands.multi_plane.program", count, NEITHER),
        Row("multi-plane erases", "commands.multi_plane.erase", count, NEITHER),
        Row("pages left out for them", "commands.wasted_pages", count, LOWER),
        Row("reads through a cache register", "commands.cache.read", count, NEITHER),
        Row("programs through a cache register", "commands.cache.program", count, NEITHER),
    )),
    ("Energy", (
        Row("in all, J", "energy.total_j", micros, LOWER),
        Row("mean power, W", "energy.mean_w", micros, LOWER),
        Row("for a GiB written, J", "energy.per_gib_written_j", micros, LOWER),
    )),
    ("Integrity", (
        Row("reads reconstructed", "integrity.reconstructed_reads", count, LOWER),
        Row("reads checked", "integrity.checked_reads", count, NEITHER),
        Row("reads wrong", "integrity.wrong_reads", count, LOWER),
        Row("pages lost", "integrity.lost_pages", count, LOWER),
        Row("power cuts", "integrity.power_cuts", count, NEITHER),
        Row("  until requests were taken again, µs", "integrity.recovery_us", micros, LOWER),
        Row("  pages read to find the map", "integrity.recovery_reads", count, LOWER),
        Row("requests interrupted", "integrity.interrupted_requests", count, LOWER),
        Row("pages lost that were volatile", "integrity.volatile_pages_lost", count, LOWER),
        Row("unprotected page-seconds", "integrity.unprotected_page_s", micros, LOWER),
        Row("until redundant again, s", "integrity.time_to_full_redundancy_s", micros, LOWER),
    )),
)  # fmt: skip

ALWAYS = {"total", "erases_total", "die_mean", "apart_share"}
"""Figures whose zero says something; a row of other zeros is left out."""
