"""What is wrong with the result of a case, and what differs between two.

`findings` needs no second version: it checks what must hold for every result. `differences` compares all figures of
two summaries and the columns of requests. A figure has a path (`operations.read.host`), in which list places are `*`.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from .draw import Case

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


def figures(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The figures that are compared."""
    summary = {key: value for key, value in answer["summary"].items() if key not in NOT_COMPARED}
    found = dict(flat(summary))
    for part in ("requests", "files"):
        found |= {f"{part}.{name}": value for name, value in answer.get(part, {}).items()}
    found.pop("workload.name", None)  # has the path of a file
    return found


def grouped(path: str) -> str:
    """A path with its list places left out."""
    return re.sub(r"\.\d+(?=\.|$)", ".*", path)


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Finding]:
    """Figures that differ. A figure of only the new version is not a difference."""
    before, after = outcome(old), outcome(new)
    if "error" in old or "error" in new:
        return [] if before == after else [Finding("outcome", f"{told(old)} → {told(new)}")]
    first, second = figures(old), figures(new)
    found: dict[str, list[str]] = defaultdict(list)
    for path, value in first.items():
        other = second.get(path, "absent")
        if other != value and not (value is None and path not in second):
            found[grouped(path)].append(f"{path}: {value} → {other}")
    if before != after:
        found["outcome"].append(f"{before} → {after}")
    return [Finding(path, details[0]) for path, details in sorted(found.items())]


def told(answer: Mapping[str, Any]) -> str:
    """An outcome and its message."""
    return f"{outcome(answer)} ({answer['message'][:200]})" if "error" in answer else outcome(answer)


def findings(case: Case, answer: Mapping[str, Any]) -> list[Finding]:
    """Findings that no case may have."""
    how = outcome(answer)
    if "error" in answer:
        return [] if how == "refused" else [Finding(how, answer["message"][:300])]
    summary = answer["summary"]
    of_case = (_integrity(case, summary), _phases(case, summary), _sums(case, summary))
    checks = (*of_case, _ranges(summary), _percentiles(summary), _breakdowns(summary))
    return [finding for check in checks for finding in check]


def _integrity(case: Case, summary: Mapping[str, Any]) -> Iterator[Finding]:
    integrity = summary["integrity"]
    if integrity["wrong_reads"]:
        yield Finding("wrong reads", f"{integrity['wrong_reads']} of {integrity['checked_reads']}")
    if integrity["lost_pages"] and not _may_lose(case, summary):
        events = ", ".join(case.options.get("fail", ())) or "no failure"
        yield Finding("undeclared loss", f"{integrity['lost_pages']} pages lost after {events}")


def _may_lose(case: Case, summary: Mapping[str, Any]) -> bool:
    """Whether the failures asked for may exceed what the redundancy survives."""
    events = [event for event in case.options.get("fail", ()) if not event.startswith("power")]
    survives = (summary.get("redundancy") or {}).get("survives") or 0
    first = next(iter(summary["phases"]), {"unprotected_page_s": 0, "from_s": 0, "until_s": 1})
    # A scheme that protects pages some time after it wrote them; without time, that instant is unknown.
    late = first["unprotected_page_s"] > 0 and "power" not in case.tags
    defers = "scheme=fra" in case.tags or 'redundancy.incomplete="wait"' in case.tags
    late |= defers and ("untimed" in case.tags or first["from_s"] == first["until_s"])
    cut = "power" in case.tags and bool(events)  # a power cut while degraded: the write hole
    levels = ("die", "chip", "channel")
    unit = get(summary, "redundancy.unit")
    wide = [level for level in levels if unit in levels and levels.index(level) > levels.index(unit)]
    several = any(event.rsplit("/", 1)[-1].startswith(level) for event in events for level in wide)
    return cut or late or several or len(events) > survives or "erase_budget" in case.tags


def _phases(case: Case, summary: Mapping[str, Any]) -> Iterator[Finding]:
    """Phases add up to the totals."""
    phases = summary["phases"]
    if not phases or "warmup" in case.tags:
        return
    sums: dict[str, float] = defaultdict(float)
    for phase in phases:
        parts = {key: phase[key] for key in ("operations", "reconstructed_reads", "lost_pages", "unprotected_page_s")}
        for path, value in flat(parts):
            sums[path] += value
        for kind, figure in phase["response_us"].items():
            sums[f"response_us.{kind}.count"] += figure["count"] if figure else 0
    for path, value in sums.items():
        at = path if path.startswith(("operations", "response_us")) else f"integrity.{path}"
        total = get(summary, at) or 0
        if not math.isclose(value, total, rel_tol=NEAR, abs_tol=1e-9 if isinstance(total, int) else 1e-6):
            yield Finding(f"phases.{path}", f"the phases have {value:g}, the total is {total:g}")


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
        for path, value in flat(summary["operations"]):
            of_members = sum(get(member, f"operations.{path}") or 0 for member in members)
            if of_members != value:
                yield Finding(f"sum.members.operations.{path}", f"members have {of_members}, the total is {value}")
    erases = sum(summary["operations"]["erase"].values())
    wear = summary["wear"] or {}
    cached = get(summary, "slc_cache.erases") or 0
    if wear and wear["erases_total"] + cached != erases and not case.tags & {"warmup", "replace_after"}:
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
    for path, value in flat({key: value for key, value in summary.items() if key not in NOT_COMPARED}):
        if isinstance(value, (int, float)) and (math.isnan(value) or value < 0) and "amplification" not in path:
            yield Finding(f"range.{grouped(path)}", f"{path} is {value:g}")


def _breakdowns(summary: Mapping[str, Any]) -> Iterator[Finding]:
    """The parts of the mean response time add up to it; those of the slowest requests to no less."""
    for which in ("read", "write"):
        times = summary["response_us"][which]
        parts = (summary.get("latency_us") or {}).get(which)
        if (times is None or bool(summary.get("untimed"))) != (parts is None):
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
class Known:
    """A difference or finding that has a reason: paths (with `*`), tags that the case must have, and the reason."""

    paths: list[str]
    reason: str
    tags: list[str] = field(default_factory=list)
    detail: str = "*"
    count: int = 0

    def covers(self, case: Case, finding: Finding) -> bool:
        """Whether it explains that finding."""
        return (
            case.tags.issuperset(self.tags)
            and fnmatchcase(finding.detail, self.detail)
            and any(fnmatchcase(finding.kind, path) for path in self.paths)
        )


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


def read_known(path: Path) -> list[Known]:
    """A file of `[[known]]`: `paths`, `reason`, and if wanted `tags` and `detail`."""
    with path.open("rb") as file:
        return [Known(**each) for each in tomllib.load(file).get("known", [])]
