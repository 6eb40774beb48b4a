"""What `flashkeep advise` and `flashkeep.advise` do."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import _flashkeep
from .._flashkeep import OptionError
from ..extras import need
from ..fleets.api import RULES, fleet_of
from ..fleets.options import Options
from ..fleets.spec import read
from ..fleets.wear import HOURS_A_YEAR, life_years
from ..nodes import Figures
from ..runner import run_call
from ..table import notes_of
from .designs import designs_of, drives_of, stated_uber
from .front import mark
from .runs import FAILED_AT, MISSING, simulate_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..choices import Library
    from ..fleets.spec import Array
    from ..progress import Display
    from ..traces import Trace
    from .designs import Design, Drives
    from .runs import Simulated

    Row = dict[str, Any]

REL_ERROR = 0.05
"""Half the 95 % interval of a sampled probability, as a share of it: ten estimates are to take seconds."""
LEAST_HOURS = 0.001
"""The shortest repair that the fleet's model takes; rebuilds of very small drives are shorter."""
SHARED = ("life", "afr", "wear_spread", "repair", "detect_hours", "spares", "restock_hours", "uber", "latent_hours",
          "scrub_hours", "batch_frailty", "shock", "hours_per_year")  # fmt: skip
"""The assumptions of the fleet's model that all rows have in common."""


class Advice:
    """The redundancies as rows, with the assumptions that they follow from."""

    __slots__ = ("_found",)

    def __init__(self, found: Mapping[str, Any]) -> None:
        self._found = dict(found)

    @property
    def rows(self) -> list[Figures]:
        """A row for each redundancy: its keys are attributes."""
        return [Figures(row) for row in self._found["rows"]]

    @property
    def front(self) -> list[Figures]:
        """The rows on the Pareto front."""
        return [row for row in self.rows if row["pareto"]]

    @property
    def assumptions(self) -> Figures:
        """Everything that the rows follow from."""
        return Figures(self._found["assumptions"])

    @property
    def notes(self) -> list[str]:
        """What the runs warn of."""
        return list(self._found["notes"])

    def to_dict(self) -> dict[str, Any]:
        """The same as `flashkeep advise --json`."""
        copy: dict[str, Any] = Figures(self._found).to_dict()
        return copy

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes a page: loss against response time and cost, the table, the assumptions."""
        from ..fleet_pages.advice import write_page

        need("a page of advice", "reports", "jinja2")
        need("a page of advice", "reports", "matplotlib")
        write_page(self._found, os.fspath(path))

    def to_frame(self, library: Library | None = None) -> Any:
        """The rows as a data frame, with their keys by dotted path."""
        from ..flat import flat, frame

        return frame([flat(row) for row in self._found["rows"]], library)

    def __len__(self) -> int:
        return len(self._found["rows"])

    def __iter__(self) -> Iterator[Figures]:
        return iter(self.rows)

    def __getitem__(self, at: int | str) -> Figures:
        """A row by its number or scheme."""
        if isinstance(at, str):
            for row in self.rows:
                if row["scheme"] == at:
                    return row
            raise KeyError(f"{at!r}; there are {', '.join(row['scheme'] for row in self._found['rows'])}")
        return self.rows[at]

    def __reduce__(self) -> tuple[Any, ...]:
        return (Advice, (self._found,))

    def __repr__(self) -> str:
        from ..terminal import Page
        from .command import told

        return told(self._found, Page())


def advise_on(
    trace: Trace,
    drives: str,
    schemes: Sequence[str] | None,
    asked: Options,
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
    if "-" in trace.paths:
        raise OptionError("advise: each redundancy reads the trace anew, and standard input can be read only once")
    given = drives_of(drives)
    uber = stated_uber(given) if asked.uber is None and asked.latent_hours is None else None
    model = replace(asked, uber=asked.uber if uber is None else uber, rel_error=REL_ERROR)
    designs = designs_of(given, schemes)
    arrays = [None if each.drive is None else read("array", (), each.drive.text) for each in designs]
    tolerances = [0 if array is None else array.group.tolerance for array in arrays]
    ended = simulate_all(designs, tolerances, trace, seed, options, workers or cores(), view)
    if not any(each.healthy for each in ended):
        raise OptionError(f"no redundancy can be simulated; {designs[0].scheme}: {ended[0].reason}")
    rows = [_row(*each, model) for each in zip(designs, arrays, ended, strict=True)]
    latency = "read" if any(row["response_us"] and row["response_us"]["read"]["p99"] for row in rows) else "write"
    mark([row for row in rows if row["reason"] is None], latency)
    return _result(trace, given, rows, ended, model, uber, latency, seed, options)


def _row(design: Design, array: Array | None, ended: Simulated, model: Options) -> Row:
    row: Row = {
        "scheme": design.scheme, "width": design.width, "reason": ended.reason, "pareto": False, "tolerance": None,
        "usable_bytes": None, "raw_per_usable": None, "response_us": None, "degraded_us": None, "rebuilding_us": None,
        "waf_bytes": None, "tbw": None, "life_years": None, "rebuild_mb_s": None, "rebuild_hours": None,
        "lost_pages": None, "p_loss": None, "nines": None, "nomdl": None, "causes": None, "cost": None,
        "mttr_hours": None, "method": None, "fleet_reason": None, "failed_reason": ended.failed_reason, "digest": None,
        "failed_digest": None,
    }  # fmt: skip
    if ended.healthy is not None:
        assert design.drive is not None
        assert array is not None
        row |= _of_runs(ended)
        row |= _of_fleet(design.drive.text, array, row, model)
    return row


def _times(of: Mapping[str, Any] | None) -> dict[str, Any]:
    """Of reads and writes; a run without one of them has none of its times."""
    known = {kind: (of and of[kind]) or {} for kind in ("read", "write")}
    return {kind: {key: times.get(key) for key in ("mean", "p99")} for kind, times in known.items()}


def _of_runs(ended: Simulated) -> Row:
    """What both runs say."""
    healthy, failed = ended.healthy, ended.failed
    assert healthy is not None
    wear = healthy.get("wear") or {}
    found: Row = {
        "response_us": _times(healthy["response_us"]), "waf_bytes": healthy["waf_bytes"], "tbw": wear.get("tbw"),
        "life_years": life_years(healthy), "digest": healthy["digest"],
    }  # fmt: skip
    if failed is None:
        return found
    found["failed_digest"] = failed["digest"]
    found["lost_pages"] = failed["integrity"]["lost_pages"]
    for name, key in (("degraded", "degraded_us"), ("rebuilding", "rebuilding_us")):
        phase = next((phase for phase in failed.get("phases") or () if phase["phase"] == name), None)
        found[key] = None if phase is None else _times(phase["response_us"])
    rebuilds = [each for each in failed.get("rebuilds") or () if each["full_member_hours"]]
    if rebuilds:
        found |= {"rebuild_mb_s": rebuilds[-1]["mb_s"], "rebuild_hours": rebuilds[-1]["full_member_hours"]}
    else:
        found["failed_reason"] = "nothing was rebuilt within the trace"
    return found


def _of_fleet(text: str | None, array: Array, row: Row, model: Options) -> Row:
    """What the model of fleets says of an array, with the repair time that was measured unless one is given."""
    found: Row = {
        "tolerance": array.group.tolerance, "usable_bytes": array.node.bytes,
        "raw_per_usable": array.node.raw_bytes / array.node.bytes,
    }  # fmt: skip
    options, hours = model, row["rebuild_hours"]
    if model.mttr_hours is None and array.group.tolerance:
        if hours is None:
            return found | {"fleet_reason": f"no rebuild was measured ({row['failed_reason']}); give --mttr-hours"}
        options = replace(model, mttr_hours=f"fixed:{max(hours, LEAST_HOURS)!r}")
    if model.wear == "simulated":
        if row["life_years"] is None:
            return found | {"fleet_reason": "nothing wears the drives out; leave --wear away"}
        options = replace(options, wear=HOURS_A_YEAR * row["life_years"])
    try:
        fleet = run_call(lambda: fleet_of("array", options, (), text))
    except OptionError as refusal:
        return found | {"fleet_reason": str(refusal)}
    kept = {key: fleet[key] for key in ("p_loss", "nines", "nomdl", "causes", "cost", "method")}
    return found | kept | {"mttr_hours": fleet["assumptions"]["mttr_hours"], "assumed": fleet["assumptions"]}


def _result(
    trace: Trace,
    drives: Drives,
    rows: list[Row],
    ended: Sequence[Simulated],
    model: Options,
    uber: float | None,
    latency: str,
    seed: int,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    ran = [(row, each) for row, each in zip(rows, ended, strict=True) if each.healthy is not None]
    healthy = [each.healthy for _, each in ran if each.healthy is not None]
    assumed: Row = next((row["assumed"] for row in rows if "assumed" in row), {})
    prices = any(row["cost"] for row in rows)
    for row in rows:
        row.pop("assumed", None)
    first, asked = healthy[0], model.of_model()
    assumptions = {
        **{key: assumed.get(key) for key in SHARED},
        "wear_from": "measured: life_years of each row" if model.wear == "simulated" else model.wear,
        "uber_from": "the drive (errors.uber_target)" if uber is not None else "given" if model.uber else None,
        "mttr_from": "measured: the rebuild of a full member, fixed" if model.mttr_hours is None else "given",
        "failed_at": FAILED_AT, "missing": MISSING, "rel_error": REL_ERROR,
        "cost_from": None if not prices else "given (--price)" if model.price else "the drives (price_per_gb)",
        "rules": list(RULES),
    }  # fmt: skip
    return {
        "schema": 1,
        "flashkeep": _flashkeep.__version__,
        "workload": first["workload"],
        "simulated_s": first["simulated_s"],
        "limit": trace.options.get("limit"),
        "options": {key: value for key, value in {**trace.options, **options}.items() if key != "limit"},
        "seed": seed,
        "drives": {"text": drives.text, "count": drives.count, "capacity_bytes": drives.single.capacity_bytes},
        "years": asked["years"],
        "groups": asked["groups"],
        "front": ["p_loss", f"response_us.{latency}.p99",
                  "cost.usd_per_usable_tb" if prices else "raw_per_usable"],
        "rows": rows,
        "assumptions": assumptions,
        "notes": _notes(ran, model.mttr_hours is not None),
    }  # fmt: skip


def _notes(ran: Sequence[tuple[Row, Simulated]], mttr_given: bool) -> list[str]:
    healthy = [each.healthy for _, each in ran if each.healthy is not None]
    notes = notes_of(healthy, [row["scheme"] for row, _ in ran])
    brief = [row["scheme"] for row, _ in ran if (row["rebuild_hours"] or LEAST_HOURS) < LEAST_HOURS]
    if brief and not mttr_given:
        notes.append(f"{', '.join(brief)}: P(loss) is for repairs of {LEAST_HOURS} h, the shortest that are modelled")
    notes += [
        f"{row['scheme']}: {row['lost_pages']:,} pages were lost in the run with a failure"
        for row, _ in ran if row["lost_pages"]
    ]  # fmt: skip
    return notes
