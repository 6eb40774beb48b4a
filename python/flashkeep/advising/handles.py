"""What `flashkeep advise --handles` does: the same workload on a drive with mixed and with separated data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _flashkeep
from .._flashkeep import OptionError
from ..api import job_of
from ..cli.runner import run_results
from ..extras import need
from ..inputs.tabular import HANDLES
from ..inputs.traces import Trace
from ..render.trace_picture import records_of
from ..results.tree_view import Figures
from ..sweeping.local import cores
from .designs import drives_of
from .found import Found

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from ..cli.progress import Display
    from ..inputs.drive_files import Drive
    from ..render.terminal import Page

    Records: TypeAlias = np.ndarray[Any, Any]
    Row = dict[str, Any]

ISOLATIONS = ("initially", "persistently")
WARMUP = "50%"
"""The requests that statistics leave out: until then the data of before time 0 have no handle of their own."""
MOST_EXTENTS = 2**24
WRITE = 1
IN_RECORDS = (
    "format",
    "sector_bytes",
    "columns",
    "action",
    "overlay",
    "repeat",
    "limit",
    "bad_records",
    "merge_devices",
)
"""Options of a trace that its records have taken into account."""
SOURCES = {
    "mixed": "all data together, as on a drive without handles",
    "given": "by the handles of the trace",
    "device": "a handle for each device of the trace",
    "heat": "by how often an address is written: each class has about the same share of the bytes written",
}


class HandleAdvice(Found):
    """A row for each placement of the data (`placement`, `isolation`, `waf`, …), the first with all data together."""

    __slots__ = ()

    @property
    def saved(self) -> Figures:
        """What the best placement saves: the write amplification `from` and `to`, and the share of `programs`."""
        return Figures(self._found["saved"])

    def __repr__(self) -> str:
        from ..render.terminal import Page

        return told(self._found, Page())


def advise_on_handles(
    trace: Trace,
    drive: str,
    handles: int,
    seed: int,
    options: Mapping[str, Any],
    workers: int | None,
    view: Display,
) -> dict[str, Any]:
    """The keys of `flashkeep advise --handles N --json`.

    Raises `OptionError`, `DriveError` or `TraceError`.
    """
    need("advise --handles", "numpy", "numpy")
    given = drives_of(drive if "*" in drive.partition(",")[0] else f"1*{drive}")
    if given.count > 1:
        raise OptionError(f"--drives: {drive}: one drive is compared with itself if its data are separated by handles")
    single = given.single
    if not 2 <= handles <= HANDLES:
        raise OptionError(f"--handles: found {handles}; 2 to {HANDLES} are accepted")
    if "-" in trace.paths:
        raise OptionError("advise: each run reads the trace anew, and standard input can be read only once")
    records = _records(trace, single, seed)
    plans = list(_plans(trace, records, single, handles))
    options = {"existing": "all", "warmup": WARMUP, "untimed": True, "breakdown": False, **options}
    jobs = [(job_of(plan.drive, plan.trace, seed, options, False), None) for plan in plans]
    in_memory = {name: content for plan in plans for name, content in plan.trace.tables.items()}
    try:
        summaries = [ended[0] for ended in run_results(jobs, workers or cores(), view, in_memory)]
    finally:
        view.clear()
    rows = [_row(plan, summary) for plan, summary in zip(plans, summaries, strict=True)]
    best = min(rows, key=lambda row: row["waf"] or 0.0)
    mixed = rows[0]["waf"]
    return {
        "schema": 1,
        "flashkeep": _flashkeep.__version__,
        "workload": {**summaries[0]["workload"], "name": " ".join(trace.paths)},
        "drive": {"text": drive, "capacity_bytes": single.capacity_bytes},
        "handles": handles,
        "seed": seed,
        "options": {key: value for key, value in options.items() if key != "breakdown"},
        "rows": rows,
        "saved": {"from": mixed, "to": best["waf"], "placement": best["placement"], "isolation": best["isolation"],
                  "programs": 1 - best["waf"] / mixed if mixed else None},
        "notes": _notes(rows, summaries),
    }  # fmt: skip


def _records(trace: Trace, drive: Drive, seed: int) -> Records:
    options = {**trace.options, "drive": drive.name, "set": list(drive.overrides), "seed": seed}
    drop = ("time_scale", "compact", "wrap")
    kept = {key: value for key, value in options.items() if value not in (None, False) and key not in drop}
    return records_of(trace.paths, kept, trace.tables)


class Plan:
    """A run: the drive, the trace with its handles, and how data are placed."""

    __slots__ = ("drive", "isolation", "placement", "trace")

    def __init__(self, placement: str, isolation: str | None, drive: Drive, trace: Trace) -> None:
        self.placement, self.isolation, self.drive, self.trace = placement, isolation, drive, trace


def _plans(trace: Trace, records: Records, drive: Drive, handles: int) -> Iterator[Plan]:
    yield Plan("mixed", None, drive.replace(**{"ftl.handles": 1}), _with_handles(trace, records, None))
    given = records["handle"]
    ways = {
        "given": given if given.any() and given.max() < handles else None,
        "device": records["device"] % handles if records["device"].any() else None,
        "heat": heat_classes(records, int(drive.resolved.flash.page_kib * 1024), handles),
    }
    for placement, chosen in ways.items():
        for isolation in ISOLATIONS if chosen is not None else ():
            keys = {"ftl.handles": handles, "ftl.handle_isolation": isolation}
            yield Plan(placement, isolation, drive.replace(**keys), _with_handles(trace, records, chosen))


def _with_handles(trace: Trace, records: Records, handles: NDArray[Any] | None) -> Trace:
    """The workload with these placement handles of its writes."""
    import hashlib

    import numpy as np

    made = records.copy()
    made["handle"] = 0 if handles is None else np.where(made["op"] == WRITE, handles, 0)
    content = made.tobytes()
    name = f"table:{hashlib.sha256(content).hexdigest()[:16]}"
    options = {key: value for key, value in trace.options.items() if key not in IN_RECORDS}
    return Trace((name,), {**options, "format": "records"}, {name: content})


def heat_classes(records: Records, page_bytes: int, handles: int) -> NDArray[np.uint8]:
    """The class of each request, the coldest being 0, by how often its addresses are written in all of the trace. Each
    class has about the same share of the bytes written."""
    import numpy as np

    heat, writes = np.zeros(len(records)), records["op"] == WRITE
    for device in np.unique(records["device"][writes]):
        mine = writes & (records["device"] == device)
        first = records["offset"][mine]
        last = first + np.maximum(records["length"][mine], 1) - np.uint64(1)
        extent = page_bytes
        while int(last.max()) // extent >= MOST_EXTENTS:
            extent *= 2
        first, last = (first // extent).astype(np.int64), (last // extent).astype(np.int64)
        steps = np.zeros(int(last.max()) + 2)
        np.add.at(steps, first, 1)
        np.add.at(steps, last + 1, -1)
        before = np.concatenate([[0.0], np.cumsum(np.cumsum(steps))])
        heat[mine] = (before[last + 1] - before[first]) / (last + 1 - first)
    found = np.zeros(len(records), np.uint8)
    if not writes.any():
        return found
    order = np.argsort(heat[writes], kind="stable")
    shares = np.cumsum(records["length"][writes][order], dtype=np.float64)
    cuts = np.searchsorted(shares, shares[-1] * np.arange(1, handles) / handles)
    limits = heat[writes][order][np.minimum(cuts, len(order) - 1)]
    found[writes] = np.searchsorted(limits, heat[writes], side="left")
    return found


def _row(plan: Plan, summary: Mapping[str, Any]) -> Row:
    rows = summary.get("handles") or []
    operations = summary["operations"]
    return {
        "placement": plan.placement,
        "isolation": plan.isolation,
        "waf": summary["waf_bytes"],
        "moved_pages": operations["program"]["gc"] + operations["copyback"]["gc"],
        "erases": summary["wear"]["erases_total"],
        "handles": rows,
        "digest": summary["digest"],
    }


def _notes(rows: list[Row], summaries: list[dict[str, Any]]) -> list[str]:
    # A closed loop has no times, and nothing takes time here.
    texts = (text for summary in summaries for text in summary["warnings"] if "the unit of time" not in text)
    notes = list(dict.fromkeys(texts))
    if not rows[0]["moved_pages"]:
        notes.append(
            "nothing was collected, so placement does not matter yet: a longer trace, or a fuller drive, would say more"
        )
    return notes


def told(found: Mapping[str, Any], page: Page) -> str:
    """The result as a table, its conclusion and its notes."""
    from ..render.table import aligned
    from ..render.terminal import BOLD, DIM

    workload = found["workload"]
    title = f"{found['drive']['text']} ({found['drive']['capacity_bytes'] / 1e9:,.4g} GB) under {workload['name']}"
    counts = f"{workload['requests']:,} requests, the first half not counted, seed {found['seed']}"
    if found["options"]["warmup"] != WARMUP:
        counts = f"{workload['requests']:,} requests, warm-up {found['options']['warmup']}, seed {found['seed']}"
    heads = ["placement", "isolated", "WAF", "moved pages", "erases", "WAF of each handle"]
    cells = [[row["placement"], row["isolation"] or "", _factor(row["waf"]), f"{row['moved_pages']:,}",
              f"{row['erases']:,}", " ".join(_factor(each["waf"]) for each in row["handles"] if each["data"] == "host")]
             for row in found["rows"]]  # fmt: skip
    lines = aligned([heads, *cells], words=(0, 1, 5))
    placements = dict.fromkeys(row["placement"] for row in found["rows"])
    parts = [page.paint(title, BOLD), page.paint(counts, DIM), "", page.paint(lines[0], BOLD), *lines[1:], ""]
    parts += [page.paint(conclusion(found), BOLD), ""]
    parts += [f"{placement}: {SOURCES[placement]}" for placement in placements]
    parts += [f"note: {note}" for note in found["notes"]]
    return "\n".join(parts)


def conclusion(found: Mapping[str, Any]) -> str:
    """What separation saves, in a sentence."""
    saved = found["saved"]
    if saved["placement"] == "mixed" or not saved["programs"]:
        return f"Separation by {found['handles']} handles saves nothing: write amplification {_factor(saved['from'])}"
    how = {"given": "by the handles of the trace", "device": "by device", "heat": "by heat"}[saved["placement"]]
    return (
        f"Separation {how}, isolated {saved['isolation']}, saves {100 * saved['programs']:.0f} % of the programs: "
        f"write amplification {_factor(saved['from'])} mixed, {_factor(saved['to'])} separated"
    )


def _factor(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
