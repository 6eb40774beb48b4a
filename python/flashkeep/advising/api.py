"""What `flashkeep advise` and `flashkeep.advise` do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .. import _flashkeep
from .._flashkeep import OptionError
from ..extras import need
from ..fleets.api import RULES
from ..fleets.defaults import MTTR_HOURS
from ..fleets.spec import read
from ..render.table import unlike
from ..results.tree_view import Figures
from .conclusion import Limits, conclude, name_of
from .designs import designs_of, drives_of
from .found import Found
from .front import mark
from .notes import alike
from .rows import row_of
from .runs import FAILED_AT, MISSING, simulate_all
from .sample import Sample, sampled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..cli.progress import Display
    from ..fleets.options import Options
    from ..inputs.traces import Trace
    from .designs import Drives

    Row = dict[str, Any]

SATURATED = "the workload saturates the drive"
"""How a run's note begins."""
SHARED = ("life", "afr", "wear_spread", "repair", "detect_hours", "spares", "restock_hours", "uber", "uber_from",
          "latent_hours", "scrub_hours", "batch_frailty", "shock", "shock_share", "hours_per_year",
          "rel_error")  # fmt: skip
"""The assumptions of the fleet's model that all rows have in common."""


class Advice(Found):
    """The redundancies as rows, with the assumptions that they follow from."""

    __slots__ = ()

    @property
    def front(self) -> list[Figures]:
        """The rows on the Pareto front."""
        return [row for row in self.rows if row["pareto"]]

    @property
    def conclusion(self) -> Figures:
        """The cheapest redundancy within both limits, or what comes closest: `text`, and what it follows from."""
        return Figures(self._found["conclusion"])

    @property
    def assumptions(self) -> Figures:
        """Everything that the rows follow from."""
        return Figures(self._found["assumptions"])

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes a page: loss against response time and cost, the table, the assumptions."""
        from ..fleet_pages.advice import write_page

        need("a page of advice", "reports", "jinja2")
        need("a page of advice", "reports", "matplotlib")
        write_page(self._found, os.fspath(path))

    def __getitem__(self, at: int | str) -> Figures:
        """A row by its number or scheme."""
        if isinstance(at, str):
            for row in self.rows:
                if row["scheme"] == at:
                    return row
            raise KeyError(f"{at!r}; there are {', '.join(row['scheme'] for row in self._found['rows'])}")
        return self.rows[at]

    def __repr__(self) -> str:
        from ..render.terminal import Page
        from .command import told

        return told(self._found, Page())


def advise_on(
    trace: Trace,
    drives: str,
    schemes: Sequence[str] | None,
    asked: Options,
    limits: Limits,
    seed: int,
    options: Mapping[str, Any],
    workers: int | None,
    view: Display,
) -> dict[str, Any]:
    """The keys of `flashkeep advise --json`.

    Raises `OptionError`, `DriveError` or `TraceError`; also if no redundancy could be simulated.
    """
    from ..sweeping.local import cores

    asked.of_model()
    limits.check()
    if "-" in trace.paths:
        raise OptionError("advise: each redundancy reads the trace anew, and standard input can be read only once")
    given = drives_of(drives)
    if given.starts_new and given.can_be_filled:
        # Parity of unwritten pages costs nothing: arrays in use are full.
        options = {"existing": "all", **options}
    designs = designs_of(given, schemes, full=options.get("existing", given.existing) == "all")
    sample = sampled(trace, given)
    arrays = [None if each.drive is None else read("array", (), each.drive.text) for each in designs]
    tolerances = [0 if array is None else array.group.tolerance for array in arrays]
    ended = simulate_all(designs, tolerances, sample.trace, seed, options, workers or cores(), view)
    if not any(each.healthy for each in ended):
        raise OptionError(f"no redundancy can be simulated; {designs[0].scheme}: {ended[0].reason}")
    rows = [row_of(*each, asked) for each in zip(designs, arrays, ended, strict=True)]
    latency = "read" if any(row["response_us"] and row["response_us"]["read"]["p99"] for row in rows) else "write"
    mark([row for row in rows if row["reason"] is None], latency)
    ran = [(row, each.healthy) for row, each in zip(rows, ended, strict=True) if each.healthy is not None]
    return {
        **_question(sample, given, ran[0][1], seed, options),
        **_answer(rows, asked, limits, latency),
        "notes": [*sample.notes(), *_start(given, options), *_notes(ran, asked)],
    }


def _question(
    sample: Sample, drives: Drives, first: Mapping[str, Any], seed: int, options: Mapping[str, Any]
) -> dict[str, Any]:
    asked = sample.trace.options
    return {
        "schema": 1,
        "flashkeep": _flashkeep.__version__,
        "workload": first["workload"],
        "simulated_s": first["simulated_s"],
        "limit": asked.get("limit"),
        "sample_of": sample.requests,
        "options": {key: value for key, value in {**asked, **options}.items() if key != "limit"},
        "seed": seed,
        "drives": {"text": drives.text, "count": drives.count, "capacity_bytes": drives.single.capacity_bytes},
    }


def _answer(rows: list[Row], model: Options, limits: Limits, latency: str) -> dict[str, Any]:
    """The rows, what follows from them, and what they follow from."""
    answered = sorted((row for row in rows if "assumed" in row), key=lambda row: not row["tolerance"])
    assumed: Row = answered[0]["assumed"] if answered else {}  # of a row that is repaired, if there is one
    source = assumed.get("mttr_from")
    prices = any(row["cost"] for row in rows)
    for row in rows:
        row.pop("assumed", None)
    asked = model.of_model()
    assumptions = {
        **{key: assumed.get(key) for key in SHARED},
        "wear_from": "measured: life_years of each row" if model.wear == "simulated" else model.wear,
        "mttr_hours": None if model.rebuild == "simulated" else assumed.get("mttr_hours"),
        "mttr_from": source and source.replace("a given rebuild (--rebuild)", "the simulated rebuild of a full member"),
        "failed_at": FAILED_AT, "missing": MISSING,
        "cost_from": None if not prices else "given (--price)" if model.price else "the drives (price_per_gb)",
        "rules": list(RULES),
    }  # fmt: skip
    return {
        "years": asked["years"],
        "groups": asked["groups"],
        "front": ["p_loss", f"response_us.{latency}.p99",
                  "cost.usd_per_usable_tb" if prices else "raw_per_usable"],
        "conclusion": conclude(rows, limits, latency, asked["years"], prices),
        "rows": rows,
        "assumptions": assumptions,
    }  # fmt: skip


def _start(drives: Drives, options: Mapping[str, Any]) -> list[str]:
    """Drives that hold nothing flatter redundancy."""
    if not drives.starts_new or "existing" in options:
        return []
    return [
        "the drives start new, because filling so many takes much memory and time: parity of pages that were never "
        "written costs nothing, so writes are slower and wear more in an array in use (--existing all)"
    ]


def _notes(ran: Sequence[tuple[Row, Row]], model: Options) -> list[str]:
    # That a row cannot carry the load is said with the table.
    warned = [(name_of(row), [text for text in healthy["warnings"] if not text.startswith(SATURATED)])
              for row, healthy in ran]  # fmt: skip
    notes = alike(warned) + unlike([healthy for _, healthy in ran])
    notes += [
        f"{name_of(row)}: {row['lost_pages']:,} pages were lost in the run with a failure"
        for row, _ in ran if row["lost_pages"]
    ]  # fmt: skip
    hours = float(MTTR_HOURS)
    if model.rebuild != "simulated" and model.mttr_hours is None:
        notes += [
            f"{name_of(row)}: the rebuild of a full member beside this workload takes {row['rebuild_hours']:,.0f} h, "
            f"longer than the {hours:g} h that P(loss) assumes for a whole repair; --rebuild simulated takes the "
            "measured one"
            for row, _ in ran if (row["rebuild_hours"] or 0.0) > hours
        ]  # fmt: skip
    return notes
