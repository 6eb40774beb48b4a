"""What differs between the results of a case under two versions, and which findings have a reason.

`differences` compares all figures of two summaries and the columns of requests. What must hold for every result is in
`flashkeep.torturing.judge`.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from flashkeep.torturing.judge import NOT_COMPARED, Finding, flat, grouped, outcome

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flashkeep.torturing.case import Case


def figures(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The figures that are compared."""
    summary = {key: value for key, value in answer["summary"].items() if key not in NOT_COMPARED}
    found = dict(flat(summary))
    for part in ("requests", "files"):
        found |= {f"{part}.{name}": value for name, value in answer.get(part, {}).items()}
    found.pop("workload.name", None)  # has the path of a file
    return found


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


def read_known(path: Path) -> list[Known]:
    """A file of `[[known]]`: `paths`, `reason`, and if wanted `tags` and `detail`."""
    with path.open("rb") as file:
        return [Known(**each) for each in tomllib.load(file).get("known", [])]
