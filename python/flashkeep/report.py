"""`flashkeep report DIR -o FILE.html`: results of `run`, `compare` or `reproduce` as one page."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import pages, table
from .figures import draw
from .options import UsageError
from .outdir import STAGING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .figures import Drawn
    from .report_tables import Requests

    Summary = dict[str, Any]

AT_MOST = 6
"""Runs in a figure, and workloads with figures: more cannot be told apart, and would make pages without end."""
IN_DETAIL = 4
"""Runs of which every figure is shown side by side."""


@dataclass(slots=True)
class Found:
    """A run that was found: its summary, and its requests where they were kept."""

    summary: Summary
    folder: str | None
    label: str = ""
    requests: Requests | None = None

    @property
    def workload(self) -> str:
        return str(self.summary["workload"]["name"])


@dataclass(slots=True)
class Group:
    """The runs of one workload: its figures, its numbers, and what is missing."""

    workload: str
    runs: list[Found]
    figures: list[Drawn] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    overview: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)
    detail: list[Any] = field(default_factory=list)


def report(folder: str, out: str) -> str:
    """Writes the page of a folder of results, and says what is in it."""
    runs = find(folder)
    name_apart(runs)
    groups = [Group(workload, [run for run in runs if run.workload == workload]) for workload in _workloads(runs)]
    missing = []
    for at, group in enumerate(groups):
        if at < AT_MOST:
            _draw(group, at)
        group.overview = list(_overview(group.runs))
        if len(group.runs) <= IN_DETAIL:
            group.detail = table.compared([run.summary for run in group.runs])
    if len(groups) > AT_MOST:
        missing.append(f"Figures are drawn for the first {AT_MOST} of {len(groups)} workloads.")
    page = pages.render(
        "results.html.jinja", folder=os.path.basename(os.path.abspath(folder)), groups=groups, missing=missing,
        provenance=_provenance(runs), overview=OVERVIEW,
    )  # fmt: skip
    with open(f"{out}.unfinished", "w", encoding="utf-8") as file:
        file.write(page)
    os.replace(f"{out}.unfinished", out)
    drawn = sum(len(group.figures) for group in groups)
    return f"{out}: {len(runs)} run{'s' * (len(runs) > 1)}, {drawn} figures"


def find(folder: str) -> list[Found]:
    """The runs of a folder: each summary.json in or below it, and the runs that `reproduce` keeps."""
    if not os.path.isdir(folder):
        raise UsageError(f"flashkeep report: {folder} is no directory; name one that --out of run, compare or "
                         "reproduce has left")  # fmt: skip
    runs = [run for path in sorted(_files(folder)) for run in _read(path)]
    if not runs:
        raise UsageError(f"flashkeep report: there is no summary.json in {folder}, nor below it")
    return runs


def _files(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != STAGING]
        if "summary.json" in names:
            yield os.path.join(place, "summary.json")
        elif os.path.basename(place) == "runs":  # of `reproduce`
            yield from (os.path.join(place, name) for name in names if name.endswith(".json"))


def _read(path: str) -> Iterator[Found]:
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"flashkeep report: {path}: no JSON ({error}); a summary.json of flashkeep is accepted"
        ) from None
    if isinstance(value, dict) and isinstance(value.get("runs"), list):
        return  # of `compare`: each of its runs has a folder with a summary of its own
    if not isinstance(value, dict) or "response_us" not in value or "workload" not in value:
        raise UsageError(f"flashkeep report: {path}: found other JSON; accepted: a summary.json of flashkeep")
    yield Found(value, os.path.dirname(path) if path.endswith("summary.json") else None)


def name_apart(runs: Sequence[Found]) -> None:
    """Gives each run a label by which it can be told from the others of its workload."""
    for workload in _workloads(runs):
        alike: dict[str, list[Found]] = {}
        for run in runs:
            if run.workload == workload:
                alike.setdefault(table.name(run.summary), []).append(run)
        for name, group in alike.items():
            flat = [dict(_flat(run.summary["drive"])) for run in group]
            keys = [key for key in flat[0] if any(one.get(key) != flat[0][key] for one in flat)]
            for at, (run, values) in enumerate(zip(group, flat, strict=True), 1):
                apart = " ".join(f"{key.rpartition('.')[2]}={values.get(key)}" for key in keys[:3])
                run.label = " ".join(filter(None, (name, apart if keys else f"#{at}" if len(group) > 1 else "")))


def _workloads(runs: Iterable[Found]) -> list[str]:
    return list(dict.fromkeys(run.workload for run in runs))


def _flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        elif prefix or key not in ("name", "description"):
            yield f"{prefix}{key}", value


def _draw(group: Group, number: int) -> None:
    from .report_figures import FIGURES
    from .report_tables import read_requests

    shown = group.runs[:AT_MOST]
    if len(group.runs) > AT_MOST:
        group.missing.append(f"Figures show the first {AT_MOST} of {len(group.runs)} runs.")
    for run in shown:
        run.requests = read_requests(run.folder)
    without = [run.label for run in shown if run.requests is None]
    if without:
        group.missing.append(
            f"No requests.csv.gz of {', '.join(without)}: curves of response times join the percentiles of the "
            "summary, and there are no percentiles over time (--out leaves it, but not of untimed runs)."
        )
    for figure in FIGURES:
        picture, why_not = figure(shown, f"{number}-")
        if picture is None:
            group.missing.append(why_not)
        else:
            group.figures.append(draw(picture))
    for run in shown:
        run.requests = None  # they take 17 bytes each


OVERVIEW = (
    ("mean response, µs", "response_us.all.mean"),
    ("reads, µs", "response_us.read.mean"),
    ("p99, µs", "response_us.read.p99"),
    ("writes, µs", "response_us.write.mean"),
    ("p99, µs", "response_us.write.p99"),
    ("write amplification", "write_amplification.total"),
    ("blocks erased", "wear.erases_total"),
    ("dies busy", "utilization.die_mean"),
)
"""The columns of the comparison of runs, and which figures they are."""


def _overview(runs: Sequence[Found]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each run's name, and its figures with their change against the first run."""
    for run in runs:
        cells = []
        for _, path in OVERVIEW:
            write = table.share if path.startswith("utilization") else table.count if path.startswith("wear") else \
                table.ratio if path.startswith("write_amp") else table.micros  # fmt: skip
            row = table.Row("", path, write, table.NEITHER)
            value, first = row.value(run.summary), row.value(runs[0].summary)
            change = ""
            if run is not runs[0] and value is not None and first:
                change = f"{100 * (value - first) / first:+.1f} %".replace("-", "−")
            cells.append(("–" if value is None else write(value), change))
        yield run.label, cells


def _provenance(runs: Sequence[Found]) -> list[str]:
    """A line a workload: what it is, of which seed and version, and the digests of the results."""
    lines = []
    for workload in _workloads(runs):
        group = [run.summary for run in runs if run.workload == workload]
        kind = "synthetic" if group[0]["workload"]["synthetic"] else f"trace ({group[0]['workload']['format']})"
        digests = ", ".join(summary["digest"][:12] for summary in group[:AT_MOST])
        more = " …" if len(group) > AT_MOST else ""
        versions = "/".join(sorted({summary["flashkeep"] for summary in group}))
        lines.append(f"{workload}: {kind}; {group[0]['workload']['requests']:,} requests; seed {group[0]['seed']}; "
                     f"flashkeep {versions}; digests {digests}{more}")  # fmt: skip
    return lines
