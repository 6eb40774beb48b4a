"""Judges the result of a case: the conditions that every run must meet.

A figure has a path (`operations.read.host`), in which list places are `*`.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .faults import is_slow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .case import Case

REFUSALS = Path(__file__).with_name("refused.toml")
"""Intended refusals. Any other refusal is a finding."""

NOT_COMPARED = {"schema", "flashkeep", "digest", "run", "drive", "warnings", "options", "command", "drive_changes"}
"""Parts of a summary that say nothing about results, or say in words or other names what is compared elsewhere."""

REFUSED = {"DriveError", "TraceError", "OptionError"}

NEAR = 1e-6
"""How far a sum of parts may be from its total, relative: both are floating point."""


class Finding(NamedTuple):
    """A finding: its kind, by which findings are grouped (`phases.operations.read.host`), and the details."""

    kind: str
    detail: str


def outcome(answer: Mapping[str, Any]) -> str:
    """The exit code's class: `done`, `lost`, `refused`, `internal` (a panic), `hang`, `crash`, or another error."""
    error = answer.get("error")
    if error is None:
        integrity = answer["summary"]["integrity"]
        return "lost" if integrity["lost_pages"] or integrity["wrong_reads"] else "done"
    if error in REFUSED:
        return "refused"
    return "internal" if error == "RuntimeError" else str(error)


def refusal(message: str) -> str:
    """A refusal's message without names of files, numbers and places, so that equal ones can be counted."""
    text = re.sub(r"\S*/(\w+\.(toml|csv))(:\d+)?", r"\1", message)
    return re.sub(r"-?\d[\d_.,]*(e-?\d+)?", "N", text)


def flat(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """All figures below a node, with their paths."""
    if isinstance(node, dict):
        for key, inner in node.items():
            yield from flat(inner, f"{path}.{key}" if path else key)
    elif isinstance(node, list):
        yield f"{path}.length", len(node)
        for index, inner in enumerate(node):
            yield from flat(inner, f"{path}.{index}")
    else:
        yield path, node


def grouped(path: str) -> str:
    """A path with its list places left out."""
    return re.sub(r"\.\d+(?=\.|$)", ".*", path)


def findings(case: Case, answer: Mapping[str, Any]) -> list[Finding]:
    """Findings that no case may have."""
    how = outcome(answer)
    if "error" in answer:
        return [] if how == "refused" else [Finding(how, " ".join(answer["message"].split())[:300])]
    summary = answer["summary"]
    of_case = (_integrity(case, summary), _phases(case, summary), _sums(case, summary))
    checks = (*of_case, _ranges(summary), _percentiles(summary), _breakdowns(case, summary))
    return [finding for check in checks for finding in check]


def _integrity(case: Case, summary: Mapping[str, Any]) -> Iterator[Finding]:
    integrity = summary["integrity"]
    events = ", ".join(case.options.get("fail", ())) or "no failure"
    if integrity["wrong_reads"]:
        yield Finding("wrong reads", f"{integrity['wrong_reads']} of {integrity['checked_reads']} after {events}")
    if integrity["lost_pages"] and not _may_lose(case, summary):
        yield Finding("undeclared loss", f"{integrity['lost_pages']} pages lost after {events}")
    if integrity["volatile_pages_lost"] and "volatile" not in case.tags and not _may_lose(case, summary):
        told = f"{integrity['volatile_pages_lost']} pages that no volatile memory held, after {events}"
        yield Finding("acknowledged data lost", told)


def _may_lose(case: Case, summary: Mapping[str, Any]) -> bool:
    """Whether the failures asked for, or pages that error correction gives up, may exceed what the redundancy
    survives."""
    events = [event for event in case.options.get("fail", ()) if not event.startswith("power") and not is_slow(event)]
    survives = (summary.get("redundancy") or {}).get("survives") or 0
    first = next(iter(summary["phases"]), {"unprotected_page_s": 0, "from_s": 0, "until_s": 1})
    # A scheme that protects pages some time after it wrote them; without time, that instant is unknown.
    late = first["unprotected_page_s"] > 0 and "power" not in case.tags
    defers = "scheme=fra" in case.tags or 'redundancy.incomplete="wait"' in case.tags
    late |= defers and ("untimed" in case.tags or first["from_s"] == first["until_s"])
    late |= defers and any(phase["unprotected_page_s"] > 0 for phase in summary["phases"])
    cut = "power" in case.tags and bool(events)  # a power cut while degraded: the write hole
    units = {failed_unit(event, get(summary, "redundancy.unit")) for event in events}
    return cut or late or None in units or len(units) > survives or bool({"erase_budget", "errors"} & case.tags)


def failed_unit(event: str, unit: str | None) -> str | None:
    """The member, or part of a drive, that a failure concerns; None if it concerns several of those that may fail."""
    levels = ("channel", "chip", "die", "plane", "block", "page")
    what = event.partition("@")[0].partition("/")[0]
    level, _, address = what.partition(":")
    if level not in levels or unit not in levels:
        return what
    if levels.index(level) < levels.index(unit):
        return None
    return ".".join(address.split(".")[: levels.index(unit) + 1])


def _phases(case: Case, summary: Mapping[str, Any]) -> Iterator[Finding]:
    """Phases add up to the totals."""
    phases = summary["phases"]
    if not phases or "warmup" in case.tags:
        return
    sums: dict[str, float] = defaultdict(float)
    for phase in phases:
        parts = {key: phase[key] for key in ("operations", "reconstructed_reads", "lost_pages", "unprotected_page_s")}
        _add(sums, parts, "")
        for kind, figure in phase["response_us"].items():
            sums[f"response_us.{kind}.count"] += figure["count"] if figure else 0
    for path, value in sums.items():
        at = path if path.startswith(("operations", "response_us")) else f"integrity.{path}"
        total = get(summary, at) or 0
        if not math.isclose(value, total, rel_tol=NEAR, abs_tol=1e-9 if isinstance(total, int) else 1e-6):
            yield Finding(f"phases.{path}", f"the phases have {value:g}, the total is {total:g}")


def _add(sums: dict[str, float], node: Mapping[str, Any], above: str) -> None:
    for key, value in node.items():
        if isinstance(value, dict):
            _add(sums, value, f"{above}{key}.")
        else:
            sums[above + key] += value


def get(node: Any, path: str) -> Any:
    """A figure of a summary, None where there is none."""
    for key in path.split("."):
        node = node.get(key) if isinstance(node, dict) else None
    return node


def _sums(case: Case, summary: Mapping[str, Any]) -> Iterator[Finding]:
    """Totals are the sums of their parts."""
    response = summary["response_us"]
    counts = {kind: figure["count"] for kind, figure in response.items() if figure}
    if counts.get("all", 0) != counts.get("read", 0) + counts.get("write", 0):
        yield Finding("sum.response_us.count", str(counts))
    parts = summary["write_amplification"]
    values = [value for key, value in parts.items() if key != "total"]
    if None not in values and parts["total"] is not None:
        total = 1 + sum(values)
        if not math.isclose(total, parts["total"], rel_tol=NEAR, abs_tol=1e-6):
            yield Finding("sum.write_amplification", f"1 and its parts are {total:g}, the total is {parts['total']:g}")
    members = summary["members"]
    if members and all("operations" in member for member in members):
        added: dict[str, float] = defaultdict(float)
        for member in members:
            _add(added, member["operations"], "")
        for path, value in flat(summary["operations"]):
            of_members = added.get(path, 0)
            if of_members != value:
                yield Finding(f"sum.members.operations.{path}", f"members have {of_members}, the total is {value}")
    erases = sum(summary["operations"]["erase"].values())
    wear = summary["wear"] or {}
    cached = get(summary, "slc_cache.erases") or 0
    if wear and wear["erases_total"] + cached != erases and not case.tags & {"warmup", "replace_after", "power"}:
        yield Finding("sum.wear.erases_total", f"{wear['erases_total']}, operations.erase has {erases}")
    blocks = sum(each["blocks"] for each in wear.get("erases_histogram") or ())
    if blocks and not math.isclose(wear["erases_mean"] * blocks, wear["erases_total"], rel_tol=1e-6, abs_tol=1e-3):
        told_ = f"{wear['erases_mean']:g} × {blocks} blocks, erases_total is {wear['erases_total']}"
        yield Finding("sum.wear.erases_mean", told_)


def _ranges(summary: Mapping[str, Any]) -> Iterator[Finding]:
    """Shares are shares, and nothing is negative that cannot be."""
    for path in ("die_max", "die_mean", "channel"):
        value = get(summary, f"utilization.{path}")
        for each in value if isinstance(value, list) else [value]:
            if each is not None and not 0 <= each <= 1 + NEAR:
                yield Finding(f"range.utilization.{path}", f"{each:g}")
    figures = {key: value for key, value in summary.items() if key not in NOT_COMPARED}
    if not _has_odd(figures):
        return
    for path, value in flat(figures):
        if isinstance(value, (int, float)) and (math.isnan(value) or value < 0) and "amplification" not in path:
            yield Finding(f"range.{grouped(path)}", f"{path} is {value:g}")


def _has_odd(node: Any) -> bool:
    """Whether a number is negative or not a number. Most summaries have none, and this is quicker than `flat`."""
    for key, value in node.items() if type(node) is dict else enumerate(node):
        kind = type(value)
        if kind is dict or kind is list:
            if value and key != "write_amplification" and _has_odd(value):
                return True
        elif (kind is int or kind is float) and not value >= 0:
            return True
    return False


def _breakdowns(case: Case, summary: Mapping[str, Any]) -> Iterator[Finding]:
    """The parts of the mean response time add up to it; those of the slowest requests to no less."""
    absent = bool(summary.get("untimed") or case.options.get("no_breakdown"))
    for which in ("read", "write"):
        times = summary["response_us"][which]
        parts = (summary.get("latency_us") or {}).get(which)
        if (times is None or absent) != (parts is None):
            yield Finding(f"sum.latency_us.{which}", f"parts {parts} of {times}")
        if not parts or not times:
            continue
        mean, slowest = (sum(parts[key].values()) for key in ("mean", "slowest"))
        if not math.isclose(mean, times["mean"], rel_tol=1e-9, abs_tol=1e-9):
            yield Finding(f"sum.latency_us.{which}", f"the parts add up to {mean!r}, the mean is {times['mean']!r}")
        if slowest < mean * (1 - 1e-9):
            yield Finding(f"range.latency_us.{which}", f"slowest {slowest:g}, mean {mean:g}")


def _percentiles(summary: Mapping[str, Any]) -> Iterator[Finding]:
    """Percentiles rise, and the mean is between the least and the largest."""
    for kind in ("response_us", "service_us"):
        for which, times in summary[kind].items():
            if not times:
                continue
            line = [times[key] for key in ("min", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "max")]
            rising = [each for each in line if each is not None]
            if any(a > b * 1.0011 for a, b in pairwise(rising)):
                yield Finding(f"range.{kind}.{which}", f"{rising}")
            if not rising[0] - NEAR <= times["mean"] <= rising[-1] + NEAR:
                yield Finding(f"range.{kind}.{which}.mean", f"{times['mean']:g} outside of {rising}")


@dataclass
class Refused:
    """Intended refusals: messages that match `pattern`, and their entry in the list. With `gap`, the combination is to
    be supported but is not yet."""

    entry: str
    pattern: str
    gap: bool = False
    count: int = 0

    def covers(self, message: str) -> bool:
        """Whether a message is one of them."""
        return re.search(self.pattern, message) is not None


def read_refused(path: Path) -> list[Refused]:
    """A file of `[[refused]]`: `entry`, `pattern` (a regular expression), and `gap` if it is one."""
    with path.open("rb") as file:
        return [Refused(**each) for each in tomllib.load(file)["refused"]]


def unintended(answer: Mapping[str, Any], refusals: Sequence[Refused]) -> list[Finding]:
    """A refusal that is not in the list of intended ones; counts one that is."""
    if outcome(answer) != "refused":
        return []
    entry = next((each for each in refusals if each.covers(answer["message"])), None)
    if entry is None:
        return [Finding("refused outside of the list", refusal(answer["message"]))]
    entry.count += 1
    return []
