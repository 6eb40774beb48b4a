"""How notebooks show results, drives and comparisons: tables without scripts, in the notebook's own colours."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

from .run_tables import run_tables
from .table import compared, notes_of
from .text_list import size
from .verdict_text import in_words, label

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..inputs.catalogue import Presets
    from ..inputs.drive_files import Drive
    from .run_tables import RunTable

    Summary = dict[str, Any]

RIGHT, LEFT = ' style="text-align:right"', ' style="text-align:left"'
WAYS = {1: ("better", "#2f8f6b"), -1: ("worse", "#c0392b"), 0: ("", "")}


def result_page(summary: Summary) -> str:
    """A run: its headline, its figures, its notes."""
    tables = "".join(_table(table) for table in run_tables(summary))
    return f"{_headline([summary])}{_figures([summary])}{tables}{_notes([summary])}"


def comparison_page(summaries: Sequence[Summary]) -> str:
    """Runs side by side, with changes against the first."""
    words = "".join(f"<p>{escape(in_words(summaries[0], other))}</p>" for other in summaries[1:])
    return f"{_headline(summaries)}{words}{_figures(summaries)}{_notes(summaries)}"


def _headline(summaries: Sequence[Summary]) -> str:
    workload = summaries[0]["workload"]
    told = " and ".join(label(summary) for summary in summaries) if len(summaries) < 3 else f"{len(summaries)} drives"
    return (f"<p><b>{escape(told)}</b> under {escape(str(workload['name']))}: {workload['requests']:,} requests, "
            f"seed {summaries[0]['seed']}</p>")  # fmt: skip


def _figures(summaries: Sequence[Summary]) -> str:
    several = len(summaries) > 1
    lines = []
    if several:
        heads = "".join(f"<th{RIGHT}>{escape(label(summary))}</th>{'<th>Δ</th>' if at else ''}"
                        for at, summary in enumerate(summaries))  # fmt: skip
        lines.append(f"<tr><th></th>{heads}<th>better</th></tr>")
    wide = 2 * len(summaries) + 1 if several else 2
    for title, rows in compared(summaries):
        lines.append(f'<tr><th colspan="{wide}"{LEFT}>{escape(title)}</th></tr>')
        for words, cells, better in rows:
            told = "".join(_cell(value, change, way, at) for at, (value, change, way) in enumerate(cells))
            arrow = {-1: "↓", 1: "↑"}.get(better, "") if several else ""
            end = f"<td>{arrow}</td>" if several else ""
            lines.append(f"<tr><td{LEFT}>{escape(words)}</td>{told}{end}</tr>")
    return f"<table><tbody>{''.join(lines)}</tbody></table>"


def _table(table: RunTable) -> str:
    """Phases, rebuilds, volumes or flows."""
    sides = [LEFT if at in table.words else RIGHT for at in range(len(table.heads))]
    lines = ["".join(f"<th{side}>{escape(head)}</th>" for side, head in zip(sides, table.heads, strict=True))]
    lines += [
        "".join(f"<td{side}>{escape(cell)}</td>" for side, cell in zip(sides, row, strict=True)) for row in table.rows
    ]
    rows = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<p><b>{escape(table.title)}</b></p><table><tbody>{rows}</tbody></table>"


def _cell(value: str, change: str, way: int, at: int) -> str:
    cell = f"<td{RIGHT}>{escape(value)}</td>"
    if not at:
        return cell
    words, colour = WAYS[way]
    style = f' style="text-align:right;color:{colour}" title="{words}"' if way else RIGHT
    return f"{cell}<td{style}>{escape(change)}</td>"


def _notes(summaries: Sequence[Summary]) -> str:
    items = "".join(
        f"<li>{escape(note)}</li>" for note in notes_of(summaries, [label(summary) for summary in summaries])
    )
    return f"<ul>{items}</ul>" if items else ""


def drive_page(drive: Drive) -> str:
    """A drive: its capacity, its own values, its warnings, and all keys folded away."""
    values = drive.to_dict()
    about = values.get("description") or ""
    own = "".join(f"<li><code>{escape(override)}</code></li>" for override in drive.overrides)
    notes = "".join(f"<li>{escape(warning)}</li>" for warning in drive.warnings)
    keys = "".join(f"<tr><td{LEFT}><code>{escape(key)}</code></td><td{LEFT}>{escape(value)}</td></tr>"
                   for key, value in _keys(values, ""))  # fmt: skip
    name = escape(str(values.get("name") or drive.name))
    return (
        f"<p><b>{name}</b>, {size(drive.capacity_bytes)}{': ' * bool(about)}{escape(about)}</p>"
        f"{f'<ul>{own}</ul>' if own else ''}{f'<ul>{notes}</ul>' if notes else ''}"
        f"<details><summary>keys</summary><table><tbody>{keys}</tbody></table></details>"
    )


def _keys(values: dict[str, Any], above: str) -> Iterable[tuple[str, str]]:
    for key, value in values.items():
        path = f"{above}.{key}" if above else key
        if isinstance(value, dict):
            yield from _keys(value, path)
        elif value is not None and path not in ("name", "description"):
            yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def presets_page(presets: Presets) -> str:
    """The presets as a table."""
    heads = ("preset", "GB", "members", "channels", "dies", "page, KiB", "spare", "DRAM, MiB", "scheme", "")
    lines = ["".join(f"<th>{head}</th>" for head in heads)]
    for preset in presets:
        spare = None if preset.over_provisioning is None else f"{100 * preset.over_provisioning:.1f} %"
        figures = (f"{preset.capacity_gb:,.1f}", preset.members or None, preset.channels, preset.dies, preset.page_kib,
                   spare, preset.dram_mib, preset.scheme)  # fmt: skip
        cells = "".join(f"<td{RIGHT}>{'' if cell is None else escape(_short(cell))}</td>" for cell in figures)
        lines.append(f"<td{LEFT}>{escape(preset.name)}</td>{cells}<td{LEFT}>{escape(preset.description)}</td>")
    rows = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><tbody>{rows}</tbody></table>"


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
