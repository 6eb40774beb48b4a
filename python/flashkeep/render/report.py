"""`flashkeep report DIR... -o FILE.html`: results of `run`, `compare`, `reproduce` or `sweep` as one page."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..cli.options import UsageError
from ..results.folder_results import Found, find, name_apart, workloads
from . import pages
from .figures import draw
from .run_tables import run_tables
from .summary_rows import SECTIONS
from .table import changed, compared, notes_of
from .verdict_text import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .figures import Drawn
    from .run_tables import RunTable

    Summary = dict[str, Any]

AT_MOST = 6
"""The largest number of runs in a figure, and of workloads with figures: more runs could not be distinguished, and more
workloads would make the page too long."""
IN_DETAIL = 4
"""The largest number of runs whose figures are shown side by side."""


@dataclass(slots=True)
class Group:
    """The runs of one workload: figures, numbers, and notes on what is missing."""

    workload: str
    runs: list[Found]
    figures: list[Drawn] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Warnings of the runs, each once."""
    verdicts: list[str] = field(default_factory=list)
    tables: list[tuple[str, str, list[tuple[str, RunTable]]]] = field(default_factory=list)
    """Phases, rebuilds, volumes and flows of runs that have them."""
    overview: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)
    detail: list[Any] = field(default_factory=list)


def report(folders: Sequence[str], out: str, figures: str | None = None) -> str:
    """Writes the page for folders of results, and its figures to a folder; returns a description of the contents."""
    from ..sweep_report.folders import is_sweep, read_sweep

    if figures is not None and os.path.lexists(figures) and not os.path.isdir(figures):
        raise UsageError(f"flashkeep report: --figures: {figures} is a file, not a directory")
    names = list(dict.fromkeys(os.path.normpath(folder) for folder in folders))
    sweeps = [read_sweep(folder) for folder in names if is_sweep(folder)]
    found = [(folder, find(folder)) for folder in names if not is_sweep(folder)]
    runs = [run for _, of_folder in found for run in of_folder]
    name_apart(runs)
    if sweeps:
        from ..sweep_report.page import sweep_page

        page, drawn = sweep_page(sweeps, [(os.path.basename(os.path.abspath(folder)), run)
                                          for folder, of_folder in found for run in of_folder])  # fmt: skip
        cells = sum(map(len, sweeps))
        told = ", ".join([f"{cells:,} cells", *([_plural(len(runs), "run")] if runs else [])])
    else:
        page, drawn = _page_of_runs(names, runs)
        told = _plural(len(runs), "run")
    pages.write(out, page)
    told = f"{out}: {told}, {_plural(len(drawn), 'figure')}"
    if figures is None:
        return told
    from ..sweep_report.page import write_figures

    write_figures(figures, drawn)
    return f"{told}; {figures}: {_plural(len(drawn), 'figure')} as SVG and PNG"


def _plural(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _page_of_runs(folders: Sequence[str], runs: list[Found]) -> tuple[str, list[Drawn]]:
    """The page of single runs, by workload, and its figures."""
    groups = [Group(workload, [run for run in runs if run.workload == workload]) for workload in workloads(runs)]
    missing = []
    for at, group in enumerate(groups):
        if at < AT_MOST:
            _draw(group, at)
        summaries = [run.summary for run in group.runs]
        group.notes = notes_of(summaries, [run.label for run in group.runs])
        group.verdicts = [in_words(summaries[0], other) for other in summaries[1:]]
        group.tables = _tables(group.runs)
        group.overview = list(_overview(group.runs))
        if len(group.runs) <= IN_DETAIL:
            group.detail = compared([run.summary for run in group.runs])
    if len(groups) > AT_MOST:
        missing.append(f"Figures are drawn for the first {AT_MOST} of {len(groups)} workloads.")
    page = pages.render(
        "results.html.jinja", folder=", ".join(os.path.basename(os.path.abspath(folder)) for folder in folders),
        groups=groups, missing=missing, provenance=_provenance(runs), overview=OVERVIEW, inputs=_inputs(runs),
    )  # fmt: skip
    return page, [figure for group in groups for figure in group.figures]


def _draw(group: Group, number: int) -> None:
    from ..results.loading import series_of
    from .report_figures import FIGURES
    from .report_tables import read_requests

    shown = group.runs[:AT_MOST]
    if len(group.runs) > AT_MOST:
        group.missing.append(f"Figures show the first {AT_MOST} of {len(group.runs)} runs.")
    for run in shown:
        run.requests = read_requests(run.folder)
        run.series = series_of(run)
    without = [run.label for run in shown if run.requests is None]
    if without:
        group.missing.append(
            f"No requests of {', '.join(without)}: curves of response times join the percentiles of the "
            "summary, and there are no percentiles over time (--out leaves it, but not of untimed runs)."
        )
    for figure in FIGURES:
        picture, why_not = figure(shown, f"{number}-")
        if picture is None:
            group.missing.append(why_not)
        else:
            group.figures.append(draw(picture))
    for run in shown:
        run.requests = run.series = None  # requests take 17 bytes each


OVERVIEW = (
    ("mean response, µs", "response_us.all.mean"),
    ("reads, µs", "response_us.read.mean"),
    ("reads p99, µs", "response_us.read.p99"),
    ("writes, µs", "response_us.write.mean"),
    ("writes p99, µs", "response_us.write.p99"),
    ("written to flash, B/B", "waf_bytes"),
    ("blocks erased", "wear.erases_total"),
    ("dies busy", "utilization.die_mean"),
)
"""The columns of the comparison of runs, and their figures."""


def _overview(runs: Sequence[Found]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each run's name, and its figures with their change against the first run."""
    for run in runs:
        cells = []
        for _, path in OVERVIEW:
            row = SECTIONS.row(path)
            value = row.value(run.summary)
            told = "" if run is runs[0] else changed(row, runs[0].summary, run.summary)
            cells.append(("–" if value is None else row.write(value), told))
        yield run.label, cells


def _tables(runs: Sequence[Found]) -> list[tuple[str, str, list[tuple[str, RunTable]]]]:
    """The tables about single runs: name and title of each, and the runs that have it."""
    found: dict[str, list[tuple[str, RunTable]]] = {}
    for run in runs:
        for table in run_tables(run.summary):
            if table.name == "phases":
                _add_letters(table, run)
            found.setdefault(table.name, []).append((run.label, table))
    return [(name, told[0][1].title, told) for name, told in found.items()]


def _add_letters(table: RunTable, run: Found) -> None:
    """A column in front of the phases: their letters on time axes."""
    from .report_figures import marks

    letters = {at: letter for letter, at in reversed(marks(run))}
    table.heads, table.words = ("", *table.heads), (0, *(at + 1 for at in table.words))
    for row, phase in zip(table.rows, run.summary["phases"], strict=True):
        marked = phase["event"] or phase["from_s"] > 0
        row.insert(0, letters.pop(phase["from_s"], "") if marked else "")


def _inputs(runs: Sequence[Found]) -> list[tuple[str, list[tuple[str, str]]]]:
    """What each run's results follow from."""
    found = []
    for run in runs[: AT_MOST * AT_MOST]:
        summary = run.summary
        changes = summary.get("drive_changes") or {}
        told = [
            ("command", summary.get("command") or ""),
            ("changed in the drive", "; ".join(f"{key}: {_value(a)} → {_value(b)}" for key, (a, b) in changes.items())),
            ("faults", "; ".join((summary.get("options") or {}).get("fail", ()))),
            ("SHA-256 of the workload", summary["workload"].get("sha256") or ""),
            ("digest", summary["digest"]),
        ]
        found.append((run.label, [(what, text) for what, text in told if text]))
    return found


def _value(value: object) -> str:
    return "–" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _provenance(runs: Sequence[Found]) -> list[str]:
    """One line for each workload: its name, seed and version, and the digests of the results."""
    lines = []
    for workload in workloads(runs):
        group = [run.summary for run in runs if run.workload == workload]
        kind = "synthetic" if group[0]["workload"]["synthetic"] else f"trace ({group[0]['workload']['format']})"
        digests = ", ".join(summary["digest"][:12] for summary in group[:AT_MOST])
        more = " …" if len(group) > AT_MOST else ""
        versions = "/".join(sorted({summary["flashkeep"] for summary in group}))
        lines.append(f"{workload}: {kind}; {group[0]['workload']['requests']:,} requests; seed {group[0]['seed']}; "
                     f"flashkeep {versions}; digests {digests}{more}")  # fmt: skip
    return lines
