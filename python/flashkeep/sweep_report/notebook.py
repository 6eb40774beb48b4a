"""How notebooks show sweeps and Pareto fronts: tables without scripts, in the notebook's own colours."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING, Any

from .folders import STATUSES
from .measures import defaults
from .sheet import told

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .folders import SweepFolder
    from .measures import Measure
    from .pareto import Candidate
    from .sheet import Estimate, Sheet

RIGHT, LEFT = ' style="text-align:right"', ' style="text-align:left"'
MOST_ROWS = 40


def sweep_html(sweep: SweepFolder, sheet: Sheet) -> str:
    """A sweep: its cells by status, its notes, its configurations with the default figures."""
    counts = Counter(sweep.columns["status"])
    done = ", ".join(f"{counts[status]:,} {words}" for status, words in STATUSES.items() if counts[status])
    notes = "".join(f"<li>{escape(note)}</li>" for note in sweep.told_notes())
    shown = defaults(sheet.differing)
    kept = sheet.configurations[:MOST_ROWS]
    lines = [
        _line(list(map(told, one.values.values())), ((each, sheet.estimate(each.path, one)) for each in shown),
              len(one.rows))
        for one in kept
    ]  # fmt: skip
    more = len(sheet.configurations) - len(kept)
    rest = f"<p>… and {more:,} more configurations: <code>to_frame()</code> has all cells</p>" if more else ""
    heads = _heads([one.name for one in sheet.dimensions], shown)
    return (f"<p><b>{escape(sweep.name)}</b>: {len(sweep):,} cells: {escape(done)}</p>"
            f"{f'<ul>{notes}</ul>' if notes else ''}{_table(heads, lines)}{rest}")  # fmt: skip


def front_html(a: Measure, b: Measure, best: Mapping[str, Sequence[Candidate]]) -> str:
    """A Pareto front: a table for each workload."""
    parts = []
    for workload, points in best.items():
        names = list(points[0].configuration.values) if points else []
        lines = [
            _line([told(value) for value in one.configuration.values.values()], ((a, one.a), (b, one.b)), one.a.n)
            for one in points
        ]
        parts.append(f"<p><b>{escape(workload)}</b></p>{_table(_heads(names, (a, b)), lines)}")
    return "".join(parts)


def _heads(names: Iterable[str], figures: Iterable[Measure]) -> str:
    texts = [*((name, LEFT) for name in names), *((one.title, RIGHT) for one in figures), ("n", RIGHT)]
    return "".join(f"<th{side}>{escape(text)}</th>" for text, side in texts)


def _line(keys: Sequence[str], figures: Iterable[tuple[Measure, Estimate | None]], n: int) -> str:
    cells = [f"<td{LEFT}>{escape(key)}</td>" for key in keys]
    cells += [f"<td{RIGHT}>{escape(_written(*one))}</td>" for one in figures]
    return "".join([*cells, f"<td{RIGHT}>{n}</td>"])


def _written(figure: Measure, value: Estimate | None) -> str:
    if value is None:
        return "–"
    half = f" ± {figure.write(value.half)}" if value.half is not None else ""
    return f"{figure.write(value.mean)}{half}"


def _table(heads: str, lines: Sequence[Any]) -> str:
    rows = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
