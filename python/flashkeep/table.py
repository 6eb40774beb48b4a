"""What a person reads: a run's figures in a table, several drives side by side, and what they show in words."""

from __future__ import annotations

from . import _flashkeep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    Summary = dict[str, Any]

LOWER, HIGHER, NEITHER = -1, 1, 0
"""Which way a figure is better."""

GREEN, RED, DIM, BOLD, PLAIN = "\033[32m", "\033[31m", "\033[2m", "\033[1m", "\033[0m"


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
            ("parity", "parity"), ("wear", "wear levelling"), ("metadata", "metadata"), ("rebuild", "rebuild"))),
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


class Page:
    """Where text goes: its width, and whether it takes colour."""

    __slots__ = ("colour", "width")

    def __init__(self, colour: bool = False, width: int | None = None) -> None:
        self.colour, self.width = colour, width

    def paint(self, text: str, *codes: str) -> str:
        return f"{''.join(codes)}{text}{PLAIN}" if self.colour and text else text


def run_report(summary: Summary, page: Page) -> str:
    """One drive under one workload."""
    told = [_headline([summary], page), "", *_table([summary], page), *_phases(summary, page)]
    return "\n".join([*told, *_closing([summary], page)])


def age_report(file: str, summary: Summary) -> str:
    """What has been done to a drive that was saved, and what is to be said about it."""
    told = f"{file}: {name(summary)}, {share(summary['fill'])} of its pages hold data"
    found = summary.get("conditioning")
    if found:
        steady = "steady" if found["steady"] else "not steady"
        told += f"; {found['rounds']} rounds, write amplification {ratio(found['write_amplification'])}, {steady}"
    return "\n".join([told, *(f"note: {warning}" for warning in summary["warnings"])])


def _phases(summary: Summary, page: Page) -> list[str]:
    """What the run was like before, during and after each failure: a line a phase."""
    phases = summary["phases"]
    if not phases:
        return []
    head = ("phase", "from, s", "reads, µs", "writes, µs", "reconstructed", "lost", "unprotected, page·s", "event")
    rows = [head]
    for phase in phases:
        means = ((phase["response_us"][what] or {}).get("mean") for what in ("read", "write"))
        rows.append((
            phase["phase"], f"{phase['from_s']:.3f}", *("–" if mean is None else micros(mean) for mean in means),
            count(phase["reconstructed_reads"]), count(phase["lost_pages"]), micros(phase["unprotected_page_s"]),
            phase["event"] or "",
        ))  # fmt: skip
    widths = [max(len(row[at]) for row in rows) for at in range(len(head))]
    lines = []
    for row in rows:
        cells = [f"{cell:{width}}" if at in (0, 7) else f"{cell:>{width}}"
                 for at, (cell, width) in enumerate(zip(row, widths, strict=True))]  # fmt: skip
        lines.append("  " + "   ".join(cells).rstrip())
    return ["", page.paint("Before, during and after", BOLD), page.paint(lines[0], DIM), *lines[1:]]


def compare_report(summaries: Sequence[Summary], page: Page) -> str:
    """Several drives under one workload, and what that shows."""
    lines = [_headline(summaries, page), ""]
    for block in _blocks(summaries, page):
        lines += [*_table(block, page), ""]
    lines += [page.paint(in_words(summaries[0], other), BOLD) for other in summaries[1:]]
    return "\n".join([*lines, *_closing(summaries, page)])


def name(summary: Summary) -> str:
    """What a drive is called."""
    return str(summary["drive"].get("name") or "drive")


def _headline(summaries: Sequence[Summary], page: Page) -> str:
    workload = summaries[0]["workload"]
    requests = workload["requests"]
    parts = [f"{requests:,} requests"]
    if requests:
        parts[0] += f" ({share(workload['writes'] / requests)} writes)"
    if summaries[0].get("untimed"):
        parts.append("untimed")
    if summaries[0]["simulated_s"] is not None:
        parts.append(_span(summaries[0]["simulated_s"]))
    if workload["synthetic"]:
        parts.append(f"seed {summaries[0]['seed']}")
    drives = " against ".join([name(summaries[0]), ", ".join(map(name, summaries[1:]))][: len(summaries)])
    told = page.paint(f"{drives} under {workload['name']}", BOLD)
    return f"{told}\n{page.paint(' · '.join(parts), DIM)}"


def _span(seconds: float) -> str:
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms simulated"
    return f"{seconds:,.1f} s simulated"


def _blocks(summaries: Sequence[Summary], page: Page) -> Iterable[list[Summary]]:
    """As many drives side by side as the page is wide; the first in every block, for it is what Δ is against."""
    first, others = summaries[0], list(summaries[1:])
    fit = len(others) or 1
    if page.width is not None:
        while fit > 1 and max(map(len, _table([first, *others[:fit]], Page()))) > page.width:
            fit -= 1
    for at in range(0, len(others), fit):
        yield [first, *others[at : at + fit]]
    if not others:
        yield [first]


def _table(summaries: Sequence[Summary], page: Page) -> list[str]:
    """Label, the first drive, then each other drive with its change, then which way is better."""
    rows = [(title, [row for row in rows if _worth_a_line(row, summaries)]) for title, rows in SECTIONS]
    rows = [(title, kept) for title, kept in rows if kept]
    label_width = max(len(row.label) for _, kept in rows for row in kept) + 2
    columns = [[name(summary), *(_written(row, summary) for _, kept in rows for row in kept)] for summary in summaries]
    widths = [max(map(len, column)) + 3 for column in columns]
    compared = len(summaries) > 1
    head = " " * (label_width + 2)
    for index, column in enumerate(columns):
        head += f"{column[0]:>{widths[index]}}" + (f"{'Δ':>11}" if index else "")
    lines = [page.paint(head + ("   better" if compared else ""), BOLD)]
    place = 1
    for title, kept in rows:
        lines.append(page.paint(title, BOLD))
        for row in kept:
            line = f"  {row.label:{label_width}}"
            for index, column in enumerate(columns):
                line += f"{column[place]:>{widths[index]}}"
                if index:
                    line += _change(row, summaries[0], summaries[index], page)
            if compared and row.better:
                line += "   " + page.paint("↓ lower" if row.better == LOWER else "↑ higher", DIM)
            lines.append(line.rstrip())
            place += 1
    return lines


def _worth_a_line(row: Row, summaries: Sequence[Summary]) -> bool:
    values = [row.value(summary) for summary in summaries]
    return any(value is not None and (value != 0 or row.path[-1] in ALWAYS) for value in values)


def _written(row: Row, summary: Summary) -> str:
    value = row.value(summary)
    return "–" if value is None else row.write(value)


def _change(row: Row, first: Summary, other: Summary, page: Page) -> str:
    before, after = row.value(first), row.value(other)
    if before is None or after is None or before <= 0:  # no share of nothing, nor of a saving
        return " " * 11
    change = 100 * (after - before) / before
    text = "=" if abs(change) < 0.05 else f"{change:+.1f} %".replace("-", "−")
    if abs(change) >= 1000:
        text = f"× {after / before:,.0f}"
    if text == "=" or not row.better:
        return f"{text:>11}"
    return page.paint(f"{text:>11}", GREEN if change * row.better > 0 else RED)


def compared(
    summaries: Sequence[Summary],
) -> list[tuple[str, list[tuple[str, list[tuple[str, str, int]], int]]]]:
    """Figures side by side, by section: label, each run's figure with its change against the first and whether that is
    for the better (1), the worse (−1) or neither, and which way is better."""
    return [
        (title, [
            (row.label, [
                (_written(row, other), _change(row, summaries[0], other, Page()).strip() if at else "",
                 _way(row, summaries[0], other) if at else NEITHER)
                for at, other in enumerate(summaries)
            ], row.better)
            for row in rows if _worth_a_line(row, summaries)
        ])
        for title, rows in SECTIONS
        if any(_worth_a_line(row, summaries) for row in rows)
    ]  # fmt: skip


def _way(row: Row, first: Summary, other: Summary) -> int:
    before, after = row.value(first), row.value(other)
    if not before or before <= 0 or after is None or abs(after - before) < 0.0005 * before:
        return NEITHER
    return row.better if after > before else -row.better


def in_words(first: Summary, other: Summary) -> str:
    """`2CM-128 reads 44 % faster and writes 3 % slower than 1CNM-64; every page is programmed twice.`"""
    verdicts = []
    for verb, key in (("reads", "read"), ("writes", "write")):
        row = Row("", f"response_us.{key}.mean", micros, LOWER)
        before, after = row.value(first), row.value(other)
        if before and after is not None:
            percent = 100 * (before - after) / before
            pace = "as fast" if abs(percent) < 0.5 else f"{abs(percent):.0f} % {'faster' if percent > 0 else 'slower'}"
            verdicts.append((verb, pace))
    if not verdicts and first.get("untimed"):
        told = f"{name(other)} {_pages(first, other)} {name(first)}"
    elif not verdicts:
        told = f"{name(other)} answered no request that {name(first)} answered too"
    elif len(verdicts) == 2 and verdicts[0][1] == verdicts[1][1]:
        told = f"{name(other)} reads and writes {_than(verdicts[0][1], name(first))}"
    else:
        told = " and ".join(f"{verb} {pace}" for verb, pace in verdicts)
        told = f"{name(other)} {_than(told, name(first))}"
    programmed = _programmed(first, other)
    return f"{told}{'; ' if programmed else ''}{programmed}."


def _pages(first: Summary, other: Summary) -> str:
    """What a run without times shows: how many pages are programmed."""
    before, after = (summary["write_amplification"]["total"] or 0 for summary in (first, other))
    percent = 100 * (after - before) / before if before else 0
    if abs(percent) < 0.5:
        return "programs as many pages as"
    return f"programs {abs(percent):.0f} % {'more' if percent > 0 else 'fewer'} pages than"


def _than(pace: str, whom: str) -> str:
    return f"{pace} {'as' if pace.endswith('as fast') else 'than'} {whom}"


def _programmed(first: Summary, other: Summary) -> str:
    """What the other drive's redundancy programs, where the first does not do so as well."""
    copies, parity = _copies(other), other["write_amplification"]["parity"] or 0
    told = []
    if copies > _copies(first):
        often = {2.0: "twice", 3.0: "three times"}.get(round(copies, 2), f"{copies:.2f} times")
        told.append(f"every page is programmed {often}")
    if parity > (first["write_amplification"]["parity"] or 0):
        told.append(f"parity adds {parity:.2f} programs a page")
    return " and ".join(told)


def _copies(summary: Summary) -> float:
    """How often a page is programmed that the host wrote, collection apart."""
    program = summary["operations"]["program"]
    once: int = program["host"] + program.get("update", 0)
    return 1 + program.get("mirror", 0) / once if once else 1.0


def _closing(summaries: Sequence[Summary], page: Page) -> list[str]:
    """Warnings once each, with the drives that they are about."""
    about: dict[str, list[str]] = {}
    for summary in summaries:
        for warning in summary["warnings"]:
            about.setdefault(warning, []).append(name(summary))
    notes = [
        f"note: {warning}" if len(names) == len(summaries) else f"note: {', '.join(names)}: {warning}"
        for warning, names in about.items()
    ]
    notes += [f"note: {note}" for note in _unlike(summaries)]
    wall = sum(summary["run"]["wall_s"] for summary in summaries)
    requests = sum(summary["workload"]["requests"] for summary in summaries)
    pace = ["", page.paint(f"{_pace(requests / wall)} requests a second simulated", DIM)] if wall > 0 else []
    return ["", *notes, *pace] if notes else pace


def _unlike(summaries: Sequence[Summary]) -> list[str]:
    """Where the columns of a table are not under the same workload after all."""
    workload = summaries[0]["workload"]
    capacities = {summary["capacity_bytes"] for summary in summaries}
    if len(capacities) == 1 or not workload["synthetic"] or _flashkeep.has_footprint(workload["name"]):
        return []
    return ["the drives differ in capacity and the workload spreads over each drive's own: name a footprint"]


def _pace(rate: float) -> str:
    return f"{rate / 1e6:.2f} M" if rate >= 1e6 else f"{rate / 1e3:,.0f} k" if rate >= 1e3 else f"{rate:.0f}"


def listing(rows: Iterable[tuple[str, str]], page: Page) -> str:
    """Names and what they are, one a line."""
    pairs = list(rows)
    wide = max((len(left) for left, _ in pairs), default=0)
    return "\n".join(f"{page.paint(f'{left:{wide}}', BOLD)}  {right}".rstrip() for left, right in pairs)


def figures(info: dict[str, Any], page: Page) -> str:
    """`trace info` for a person: a line a figure, then its warnings."""
    lines = [(key.replace("_", " "), _figure(key, value)) for key, value in info.items() if key != "warnings"]
    return "\n".join([listing(lines, page), *(f"note: {warning}" for warning in info["warnings"])])


def _figure(key: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "–" if value is None else str(value)
    if key in ("footprint_bytes", "max_address"):
        return f"{value:,} ({size(value)})"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def size(value: float) -> str:
    """Bytes as a person says them."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.4g} {unit}"
        value /= 1024
    return f"{value:.4g} TiB"


def toml(values: dict[str, Any], prefix: str = "") -> str:
    """A resolved drive as the file that it could have been written as."""
    own = [f"{key} = {_toml_value(value)}" for key, value in values.items()
           if not isinstance(value, dict) and value is not None]  # fmt: skip
    parts = ["\n".join(([f"[{prefix}]"] if prefix and own else []) + own)] if own else []
    for key, value in values.items():
        if isinstance(value, dict):
            parts.append(toml(value, f"{prefix}.{key}" if prefix else key))
    return "\n\n".join(part for part in parts if part)


def _toml_value(value: object) -> str:
    import json

    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML forbids it, JSON does not
