"""Runs a case in this process and judges it."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from flashkeep import _flashkeep

from .case import as_records
from .draw import draw
from .judge import REFUSALS, Finding, findings, outcome, read_refused, unintended

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .case import Case
    from .judge import Refused
    from .shrink import Small

ATTEMPTS = 2
"""How often a case is drawn, if a run is refused as it may be."""


class Tried(NamedTuple):
    """How a case ended."""

    outcome: str
    found: list[Finding]
    tags: list[str]


@cache
def _refusals() -> list[Refused]:
    return read_refused(REFUSALS)


def job_of(case: Case, small: Small) -> dict[str, Any]:
    """The job of a case whose requests are in memory."""
    return {**case.options, "traces": ["torture"] * small.volumes, "format": "records"}


def answer(job: Mapping[str, Any], trace: bytes | None) -> dict[str, Any]:
    """A job's summary, or how it failed."""
    in_memory = [] if trace is None else [("torture", trace)]
    try:
        text, _ = _flashkeep.run(json.dumps(job), None, None, in_memory, {})
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)}
    return {"summary": json.loads(text)}


def judged(case: Case, job: Mapping[str, Any], trace: bytes | None) -> tuple[str, list[Finding]]:
    """Runs a job and says what is wrong."""
    told = answer(job, trace)
    found = findings(case, told) + unintended(told, _refusals())
    if "twice" in case.tags and "summary" in told:
        again = answer(job, trace)
        if (again.get("summary") or again).get("digest") != told["summary"]["digest"]:
            found.append(Finding("not repeatable", "the same run gives another result"))
    return outcome(told), found


def tried(case: Case, small: Small) -> tuple[str, list[Finding]]:
    """Runs a case and says what is wrong."""
    return judged(case, job_of(case, small), as_records(case.requests or [], case.handles))


def try_number(small: Small, seed: int, number: int) -> Tried:
    """Draws a case by its number and tries it; once more without drawn keys if it is refused as it may be."""
    for attempt in range(ATTEMPTS):
        case = draw(small, seed, number, attempt)
        ended, found = tried(case, small)
        if ended != "refused" or found or len(case.options["set"]) == len(small.overrides):
            break
    return Tried(ended, found, sorted(case.tags))
