"""Printed reports: the figures of a run in a table, several drives side by side, and a comparison in words."""

from __future__ import annotations

from .. import _flashkeep
from ..results.provenance import overrides
from .run_tables import run_tables
from .summary_rows import LOWER, NEITHER, Row, ratio, sections, share
from .terminal import BOLD, DIM, GREEN, RED, Page
from .verdict_text import change, in_words, label, name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Any

    from .run_tables import RunTable

    Summary = dict[str, Any]


GROWING = ("response_us", "latency_us", "queue", "volumes", "flows")
"""The sections of a summary that grow with the length of the trace if a drive cannot carry it."""


def run_report(summary: Summary, page: Page) -> str:
    """One drive under one workload."""
    told = [_headline([summary], page), "", *_table([summary], page)]
    for table in run_tables(summary):
        told += _run_table(table, page)
    return "\n".join([*told, *_closing([summary], page)])


def age_report(file: str, summary: Summary) -> str:
    """A saved drive: how full it is, how it was conditioned, and the warnings."""
    told = f"{file}: {label(summary)}"
    if summary["fill"] is not None:  # a disk
        told += f", {share(summary['fill'])} of its pages hold data"
    found = summary.get("conditioning")
    if found:
        steady = "steady" if found["steady"] else "not steady"
        told += f"; {found['rounds']} rounds, write amplification {ratio(found['write_amplification'])}, {steady}"
    return "\n".join([told, *(f"note: {warning}" for warning in summary["warnings"])])


def _run_table(table: RunTable, page: Page) -> list[str]:
    """A table about the run, with a blank line in front."""
    lines = [f"  {line}" for line in aligned([list(table.heads), *table.rows], table.words)]
    return ["", page.paint(table.title, BOLD), page.paint(lines[0], DIM), *lines[1:]]


def aligned(rows: Sequence[Sequence[str]], words: Collection[int]) -> list[str]:
    """The rows of a table as lines. Columns whose numbers are in `words` are aligned to the left."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [f"{cell:{width}}" if at in words else f"{cell:>{width}}"
                 for at, (cell, width) in enumerate(zip(row, widths, strict=True))]  # fmt: skip
        lines.append("  ".join(cells).rstrip())
    return lines


def compare_report(summaries: Sequence[Summary], page: Page) -> str:
    """Several drives under one workload, and the comparison in words."""
    lines = [_headline(summaries, page), ""]
    for block in _blocks(summaries, page):
        lines += [*_table(block, page), ""]
    lines += [page.paint(in_words(summaries[0], other), BOLD) for other in summaries[1:]]
    return "\n".join([*lines, *_closing(summaries, page)])


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
    drives = " against ".join([label(summaries[0]), ", ".join(map(label, summaries[1:]))][: len(summaries)])
    told = page.paint(f"{drives} under {workload['name']}", BOLD)
    return "\n".join(
        [told, page.paint(" · ".join(parts), DIM), *(page.paint(line, DIM) for line in _starts(summaries))]
    )


def _starts(summaries: Sequence[Summary]) -> list[str]:
    """How the drives start: one line, or one for each drive where they differ."""
    starts = [summary["start"] for summary in summaries]
    if len(set(starts)) == 1:
        return [f"starts {starts[0]}"]
    return [f"{label(summary)} starts {start}" for summary, start in zip(summaries, starts, strict=True)]


def _span(seconds: float) -> str:
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms simulated"
    return f"{seconds:,.1f} s simulated"


def _blocks(summaries: Sequence[Summary], page: Page) -> Iterable[list[Summary]]:
    """As many drives side by side as fit the page; every block has the first drive, because Δ refers to it."""
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
    """Label, the first drive, then each other drive with its change, then the better direction."""
    rows = [(title, [row for row in rows if _worth_a_line(row, summaries)]) for title, rows in sections(summaries)]
    rows = [(title, kept) for title, kept in rows if kept]
    label_width = max(len(row.label) for _, kept in rows for row in kept) + 2
    heads = [[name(summary), *overrides(summary)] for summary in summaries]
    columns = [[_written(row, summary) for _, kept in rows for row in kept] for summary in summaries]
    widths = [max(map(len, head + column)) + 3 for head, column in zip(heads, columns, strict=True)]
    compared = len(summaries) > 1
    changes = [changed(row, summaries[0], other) for _, kept in rows for row in kept for other in summaries[1:]]
    change_width = max(11, 2 + max(map(len, ["", *changes])))
    lines = [page.paint(line, BOLD) for line in _heads(heads, widths, label_width + 2, change_width)]
    place = 0
    for title, kept in rows:
        lines.append(page.paint(title, BOLD))
        for row in kept:
            line = f"  {row.label:{label_width}}"
            for index, column in enumerate(columns):
                line += f"{column[place]:>{widths[index]}}"
                if index:
                    line += _change(row, summaries[0], summaries[index], page, change_width)
            if compared and row.better:
                line += "   " + page.paint("↓ lower" if row.better == LOWER else "↑ higher", DIM)
            lines.append(line.rstrip())
            place += 1
    return lines


def _heads(heads: Sequence[list[str]], widths: Sequence[int], left: int, change_width: int) -> list[str]:
    """The names of the columns; below each, what was set in the drive, a line each."""
    lines = []
    for at in range(max(map(len, heads))):
        line = " " * left
        for index, (head, width) in enumerate(zip(heads, widths, strict=True)):
            line += f"{head[at] if at < len(head) else '':>{width}}"
            line += f"{'' if at else 'Δ':>{change_width}}" if index else ""
        lines.append((line + ("   better" if len(heads) > 1 and not at else "")).rstrip())
    return lines


def _worth_a_line(row: Row, summaries: Sequence[Summary]) -> bool:
    values = [row.value(summary) for summary in summaries]
    return any(value is not None and (value != 0 or row.always) for value in values)


def _written(row: Row, summary: Summary) -> str:
    value = row.value(summary)
    return "–" if value is None else row.write(value)


def _change(row: Row, first: Summary, other: Summary, page: Page, width: int) -> str:
    text = f"{changed(row, first, other):>{width}}"
    way = _way(row, first, other)
    return page.paint(text, GREEN if way > 0 else RED) if way else text


def changed(row: Row, first: Summary, other: Summary) -> str:
    """How a figure differs from that of the first run. Response times of a run that cannot carry its trace say how long
    the trace is: they are not compared."""
    grows = row.path[0] in GROWING
    if grows and other.get("saturation"):
        return "saturated"
    if grows and first.get("saturation"):
        return ""
    return change(row.value(first), row.value(other))


def compared(
    summaries: Sequence[Summary],
) -> list[tuple[str, list[tuple[str, list[tuple[str, str, int]], int]]]]:
    """Figures side by side, by section: label, each run's figure with its change against the first and whether that is
    better (1), worse (−1) or neither (0), and the better direction."""
    return [
        (title, [
            (row.label, [
                (_written(row, other), changed(row, summaries[0], other) if at else "",
                 _way(row, summaries[0], other) if at else NEITHER)
                for at, other in enumerate(summaries)
            ], row.better)
            for row in rows if _worth_a_line(row, summaries)
        ])
        for title, rows in sections(summaries)
        if any(_worth_a_line(row, summaries) for row in rows)
    ]  # fmt: skip


def _way(row: Row, first: Summary, other: Summary) -> int:
    before, after = row.value(first), row.value(other)
    slow, slower = (bool(summary.get("saturation")) for summary in (first, other))
    if row.path[0] in GROWING and (slow or slower):
        return slow - slower
    if not before or before <= 0 or after is None or abs(after - before) < 0.0005 * before:
        return NEITHER
    return row.better if after > before else -row.better


def _closing(summaries: Sequence[Summary], page: Page) -> list[str]:
    """The notes, and the speed of the simulation."""
    notes = [f"note: {note}" for note in notes_of(summaries, [label(summary) for summary in summaries])]
    wall = sum(summary["run"]["wall_s"] for summary in summaries)
    requests = sum(summary["workload"]["requests"] for summary in summaries)
    pace = ["", page.paint(f"{_pace(requests / wall)} requests a second simulated", DIM)] if wall > 0 else []
    return ["", *notes, *pace] if notes else pace


def notes_of(summaries: Sequence[Summary], labels: Sequence[str]) -> list[str]:
    """Each warning once, with the drives that it is about."""
    about: dict[str, list[str]] = {}
    for summary, called in zip(summaries, labels, strict=True):
        for warning in summary["warnings"]:
            about.setdefault(warning, []).append(called)
    notes = [
        warning if len(names) == len(summaries) else f"{', '.join(names)}: {warning}"
        for warning, names in about.items()
    ]
    return notes + unlike(summaries)


def unlike(summaries: Sequence[Summary]) -> list[str]:
    """Warns if the columns of a table are not of the same workload."""
    workload = summaries[0]["workload"]
    capacities = {summary["capacity_bytes"] for summary in summaries}
    if len(capacities) == 1 or not workload["synthetic"] or _flashkeep.has_footprint(workload["name"]):
        return []
    return ["the drives differ in capacity and the workload spreads over each drive's own: name a footprint"]


def _pace(rate: float) -> str:
    return f"{rate / 1e6:.2f} M" if rate >= 1e6 else f"{rate / 1e3:,.0f} k" if rate >= 1e3 else f"{rate:.0f}"
