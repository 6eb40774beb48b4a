"""What `flashkeep fleet` and `flashkeep.fleet` do."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _flashkeep
from .._flashkeep import OptionError
from ..extras import need
from ..results.tree_view import Figures
from . import defaults
from .options import SECTOR_BYTES, Options
from .prices import cost
from .rebuild import simulated, simulated_hours
from .spec import copies, read
from .times import scaled, told_time
from .wear import life_of_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .spec import Array


class FleetResult(Figures):
    """What the model says of an array: the keys of `flashkeep fleet --json` as attributes."""

    __slots__ = ("_question",)

    def __init__(self, values: Mapping[str, Any], question: Question) -> None:
        super().__init__(values)
        self._question = question

    @property
    def question(self) -> Question:
        """The user's question."""
        return self._question

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes a page: loss against cost, and what each assumption changes."""
        report([self], path)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._values, self._question))


def report(results: Sequence[FleetResult], path: str | os.PathLike[str]) -> None:
    """Writes a page that compares results.

    Raises `OptionError` without results, or if their missions differ.
    """
    from ..cli.progress import Counted
    from ..cli.runner import run_call
    from ..fleet_pages.write import write_page

    need("a page of fleets", "reports", "jinja2")
    need("a page of fleets", "reports", "matplotlib")
    if not results:
        raise OptionError("a page of fleets needs at least one result")
    asked = [(result.question, result.to_dict()) for result in results]
    run_call(lambda: write_page(asked, os.fspath(path), Counted(True)))


RULES = (
    "a repaired drive is as good as new",
    "repairs do not wear or fail the drives that they read",
    "a group that lost data is whole again at once",
)
"""Assumptions that no option changes."""


@dataclass(frozen=True)
class Question:
    """An array, and what is asked of the model about it."""

    array: Array
    asked: dict[str, Any]
    """The options of the model, defaults filled in; what is here of the array takes precedence."""
    price: dict[str, Any] | None
    threads: int
    mttr_from: str
    """Where the repair time comes from."""
    uber_from: str | None
    """Where the UBER comes from; none if none is stated."""
    notes: tuple[str, ...] = ()
    """How the array and its measurements changed what was asked."""

    def answer(self) -> dict[str, Any]:
        """What the model says."""
        array = self.array
        job = {
            "drives": array.group_drives, "tolerance": array.group.tolerance, "rebuild_bits": array.rebuild_bits,
            "fatal": array.group.fatal, "threads": self.threads,
            "levels": [[len(level.members), level.tolerance, level.fatal] for level in array.levels],
            **self.asked,
        }  # fmt: skip
        answer: dict[str, Any] = json.loads(_flashkeep.fleet(json.dumps(job)))
        return answer


def question_of(array: str, options: Options, overrides: Sequence[str] = (), contents: str | None = None) -> Question:
    """Reads an array and checks what is asked of it.

    Raises `OptionError` or `DriveError`.
    """
    from ..sweeping.local import cores

    asked = options.of_model()
    found = read(array, overrides, contents)
    price = cost(found, options.price, asked["spares"] or 0)
    uber = defaults.uber_from(options, asked, found)
    notes = [*_spares(found, asked, options)]
    mttr = defaults.repair_from(options, asked, _rebuild(found, asked, options))
    notes += [*_wear(found, asked, options), *copies(found)]
    if (told := defaults.note_on_uber(found, uber, asked)) is not None:
        notes.append(told)
    return Question(found, asked, price, options.threads or cores(), mttr, uber, tuple(notes))


def _spares(array: Array, asked: dict[str, Any], options: Options) -> Iterator[str]:
    """Fills in spares; if they are distributed, how many there are and how long a rebuild into them takes."""
    layout = array.group.layout
    if layout is not None and layout.spares:
        asked["spares"] = (asked["spares"] or 0) + layout.spares
        drives = array.group_drives
        if options.rebuild is None:
            given = told_time(asked["mttr_hours"])
            data = layout.stripe - array.group.tolerance
            asked["mttr_hours"] = scaled(asked["mttr_hours"], (data + 1) / (drives - 1))
            yield (f"all {drives} drives rebuild one into distributed spares: a repair takes ({data} + 1)/"
                   f"({drives} − 1) of the time onto one drive ({given})")  # fmt: skip
    if asked["spares"] is None:
        if asked["restock_hours"] is not None:
            raise OptionError("--restock-hours: has no effect without --spares: without a number of spares there is "
                              "always one")  # fmt: skip
    else:
        asked["restock_hours"] = asked["restock_hours"] or defaults.RESTOCK_HOURS


def _rebuild(array: Array, asked: dict[str, Any], options: Options) -> float | None:
    """The hours of a rebuild, if the repair time follows from it."""
    if options.rebuild != "simulated":
        return None if options.rebuild is None else float(options.rebuild)
    return simulated_hours(array, asked["seed"], options.workload)


def _wear(array: Array, asked: dict[str, Any], options: Options) -> Iterator[str]:
    """Fills in the time until drives are worn out, if a simulation must measure it."""
    if options.wear != "simulated":
        return
    if options.workload is None:
        raise OptionError("--wear simulated: needs --workload: what is written to the drives")
    summary = simulated(array, asked["seed"], "--wear simulated", "--wear as hours", options.workload)
    asked["wear"] = life_of_run(summary, array.name)
    yield from (f"--wear simulated: {warning}" for warning in summary["warnings"] if warning.startswith("TBW"))


def result_of(question: Question) -> dict[str, Any]:
    """The probability that an array loses data, and what follows from it: the keys of `flashkeep fleet --json`."""
    result = _result(question, question.answer())
    text = json.dumps(result, sort_keys=True, separators=(",", ":"))
    result["digest"] = hashlib.sha256(text.encode()).hexdigest()
    return result


def fleet_of(
    array: str, options: Options, overrides: Sequence[str] = (), contents: str | None = None
) -> dict[str, Any]:
    """The same for an array as text."""
    return result_of(question_of(array, options, overrides, contents))


def _result(question: Question, answer: dict[str, Any]) -> dict[str, Any]:
    array, asked = question.array, question.asked
    groups = asked["groups"]
    failures, latent, shock, wear = answer["causes"]
    whole = _array_bytes(array, answer)
    return {
        "schema": 1,
        "flashkeep": _flashkeep.__version__,
        "array": _described(array),
        "years": asked["years"],
        "groups": groups,
        "p_loss": answer["p_loss"],
        "p_loss_by_year": answer["p_loss_by_year"],
        "nines": answer["nines"],
        "expected_losses": groups * answer["losses"],
        "expected_groups_lost": groups * answer["p_loss"]["value"],
        "p_any_loss": answer["p_any_loss"],
        "array_loss": _extent(failures + shock + wear, whole),
        "sector_loss": _extent(latent, latent * SECTOR_BYTES),
        "nomdl": (whole + latent * SECTOR_BYTES) / (array.node.bytes / 1e12),
        "mttdl_years": answer["mttdl_years"],
        "causes": {"failures": failures, "latent_errors": latent, "wear": wear if asked["wear"] else None,
                   "shock": shock},
        "cost": question.price,
        "method": answer["method"],
        "method_reason": answer["reason"],
        "samples": answer["samples"],
        "paths_with_loss": answer["hits"],
        "standard_error": answer["standard_error"],
        "stopped_by": answer["stopped"],
        "seed": asked["seed"],
        "assumptions": _assumptions(question, answer),
        "notes": [*_notes(array, answer), *question.notes],
    }  # fmt: skip


def _described(array: Array) -> dict[str, Any]:
    group, node = array.group, array.node
    return {
        "name": array.name,
        "scheme": group.scheme,
        "drives": node.drives,
        "group_drives": array.group_drives,
        "tolerance": group.tolerance,
        "drive_bytes": array.drive_bytes,
        "raw_bytes": node.raw_bytes,
        "usable_bytes": node.bytes,
        "levels": [
            {"scheme": level.scheme, "members": len(level.members), "tolerance": level.tolerance}
            for level in array.levels
        ],
        **({} if group.fatal is None else {"fatal": list(group.fatal)}),
        **({} if group.layout is None else {"stripe": group.layout.stripe, "distributed_spares": group.layout.spares}),
    }


def _array_bytes(array: Array, answer: dict[str, Any]) -> float:
    """The expected bytes within the mission that losses of an array take: of the failed drives what was not rebuilt."""
    protected = array.group
    for level in array.levels:
        if level.tolerance:
            protected = level
    return float(answer["unrebuilt"]) * protected.lost_share * protected.bytes


def _extent(p: float, lost: float) -> dict[str, float | None]:
    """A loss of one kind: its probability as the first loss, the expected bytes, and those of one such loss."""
    return {"p": p, "bytes": lost, "bytes_each": lost / p if p else None}


def _assumptions(question: Question, answer: dict[str, Any]) -> dict[str, Any]:
    """Everything that the result follows from, defaults included."""
    array, asked, words = question.array, question.asked, answer["words"]
    return {
        "life": words["life"],
        "afr": answer["afr"],
        **({"wear": words["wear"], "wear_spread": asked["wear_spread"]} if asked["wear"] else {}),
        "mttr_hours": words["mttr_hours"],
        "mttr_from": question.mttr_from,
        "repair": asked["repair"],
        "detect_hours": words["detect_hours"] or "at once",
        "spares": "always one within the repair time" if asked["spares"] is None else asked["spares"],
        "restock_hours": words["restock_hours"],
        "uber": asked["uber"],
        "uber_from": question.uber_from,
        "rebuild_bits": array.rebuild_bits if asked["uber"] else None,
        "rebuild_error_probability": answer["on_read"],
        "latent_hours": asked["latent_hours"],
        "scrub_hours": words["scrub_hours"] or (None if asked["latent_hours"] is None else "never"),
        "batch_frailty": asked["batch_frailty"],
        "shock": asked["shock"],
        **({} if asked["shock_share"] is None else {"shock_share": asked["shock_share"]}),
        "hours_per_year": 8760,
        "sector_bytes": SECTOR_BYTES,
        "rel_error": asked["rel_error"],
        "samples": asked["samples"],
        "rules": list(RULES),
    }


def _notes(array: Array, answer: dict[str, Any]) -> list[str]:
    """Where a figure would mislead."""
    notes = []
    if answer["hits"] == 0:
        notes.append(f"none of {answer['samples']:,} paths lost data: only the interval's high end means something")
    if not answer["repeats"]:
        notes.append("expected_losses counts the first loss of each group only")
    if answer["stopped"] == "samples" and answer["hits"]:
        notes.append("sampling ended at --samples, before the interval was as narrow as --rel-error")
    if (answer["p_loss"]["low"], answer["p_loss"]["high"]) == (0, 1):
        notes.append("no interval (0 to 1): fewer than ten paths say too little about their scatter")
    if answer["of_members"]:
        notes.append("the arrays below a redundant level are taken as members that fail with their own rate of loss")
    if array.node.members == ():
        notes.append("a drive alone: its failure is the loss")
    return notes
