"""Runs many cases and counts what was found."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashkeep.torturing.judge import (
    REFUSALS,
    Finding,
    Refused,
    findings,
    flat,
    outcome,
    read_refused,
    refusal,
    unintended,
)
from flashkeep.torturing.reduce import reduced

from . import operations
from .draw import ATTEMPTS, Case, draw, leaves
from .judge import Known, differences
from .reduce import shorter_files
from .versions import Version

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .bias import Bias

RESPONSES = ("response_us", "service_us", "latency_us")
"""What requests have met."""
RESULTS = (
    *RESPONSES,
    "operations",
    "phases",
    "waf_bytes",
    "utilization",
    "wear",
    "queue",
)
"""What a related run has in common with a case."""

SHOWN = 3
"""Cases named for each kind of finding."""


def related(case: Case, answer: Mapping[str, Any]) -> list[Finding]:
    """Whether the related run of a case has the same results."""
    other = answer["related"]
    if "error" in other:
        return [Finding(f"relation.{case.relation}", other["message"][:300])]
    if case.relation == "halves":
        return halves(answer, other)
    parts: tuple[str, ...] = RESPONSES if case.relation == "shifted" else RESULTS
    parts = tuple(part for part in parts if case.relation != "unmeasured" or part != "latency_us")
    first, second = (dict(flat({part: of["summary"].get(part) for part in parts})) for of in (answer, other))
    for shown, of in ((first, answer), (second, other)):
        shown["integrity.lost_pages"] = of["summary"]["integrity"]["lost_pages"]
    unlike = [path for path in {**first, **second} if first.get(path) != second.get(path)]
    told = ", ".join(f"{path} {first.get(path)} and {second.get(path)}" for path in unlike[:3])
    return [Finding(f"relation.{case.relation}", told)] if unlike else []


def halves(whole: Mapping[str, Any], second: Mapping[str, Any]) -> list[Finding]:
    """Whether two halves have as many operations as the whole."""
    first = dict(flat(second["before"][-1]["operations"]))
    sums = {path: first[path] + count for path, count in flat(second["summary"]["operations"])}
    counts = dict(flat(whole["summary"]["operations"]))
    unlike = [f"{path} {counts[path]} and {sums[path]}" for path in counts if counts[path] != sums[path]]
    return [Finding("relation.halves", ", ".join(unlike[:3]))] if unlike else []


class Campaign:
    """Cases under one or two versions; the new version is the last, and findings are about that."""

    def __init__(
        self,
        roots: Sequence[str | Path],
        folder: Path,
        *,
        limit_s: float = 20,
        known: Sequence[Known] = (),
        refused: Sequence[Refused] | None = None,
        bias: Bias | None = None,
    ) -> None:
        self.roots, self.folder, self.limit_s = list(roots), folder, limit_s
        self.refusals = read_refused(REFUSALS) if refused is None else list(refused)
        self.known = list(known)
        self.bias = bias
        self.outcomes: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.refused_by: dict[str, str] = {}
        self.tags: Counter[str] = Counter()
        self.found: dict[str, list[tuple[Case, Finding]]] = defaultdict(list)
        self.accepted = self.drawn = self.newly_accepted = self.mended = 0
        self._lock = threading.Lock()
        first = Version(self.roots[0], limit_s)
        self.keys = leaves(first.ask("schema"))
        first.close()

    @property
    def bad(self) -> bool:
        """Whether there was a finding without a reason."""
        return bool(self.found)

    def run(self, seed: int, cases: int, workers: int = 1, minutes: float | None = None) -> None:
        """Draws from `seed` on until the wanted number of cases was accepted."""
        until = time.monotonic() + 60 * minutes if minutes else None
        seeds = iter(range(seed, seed + 100 * cases))

        def work() -> None:
            versions = [Version(root, self.limit_s) for root in self.roots]
            try:
                while self.accepted < cases and (until is None or time.monotonic() < until):
                    with self._lock:
                        which = next(seeds, None)
                    if which is None:
                        return
                    self.case(which, versions)
                    if sys.stderr.isatty():
                        print(f"\r{self.accepted} accepted, {len(self.found)} kinds", end="", file=sys.stderr)
            finally:
                for version in versions:
                    version.close()

        with ThreadPoolExecutor(workers) as pool:
            for each in [pool.submit(work) for _ in range(workers)]:
                each.result()

    def only(self, names: Sequence[str]) -> None:
        """Runs single cases by name and shows them."""
        versions = [Version(root, self.limit_s) for root in self.roots]
        for name in names:
            case = self.drawn_as(name)
            folder = self.folder / case.name
            case.write(folder)
            print("".join(f"# {path.name}\n{path.read_text()}\n" for path in sorted(folder.iterdir())))
            print(case.command(folder), sep="\n")
            answers = self._answers(case, folder, versions)
            for version, answer in zip(versions, answers, strict=True):
                print(f"{version.root}: {outcome(answer)} {answer.get('message', '')}")
            self._judge(case, folder, answers)
            for found in self.found.values():
                print(*(f"  {finding.kind}: {finding.detail}" for each, finding in found if each is case), sep="\n")
        for version in versions:
            version.close()

    def drawn_as(self, name: str) -> Case:
        """Draws a case by its name."""
        seed, _, attempt = name.partition(".")
        return draw(int(seed), self.keys, int(attempt or 0), self.bias)

    def reduce(self, name: str, keep: Path) -> str:
        """Makes a case smaller as long as it has a finding of the same kind; writes it, and says how to run it."""
        versions = [Version(root, self.limit_s) for root in self.roots]
        case = self.drawn_as(name)

        def kinds(case: Case) -> set[str]:
            folder = self.folder / "reduced"
            shutil.rmtree(folder, ignore_errors=True)
            case.write(folder)
            return {finding.kind for finding in self._found(case, folder, self._answers(case, folder, versions))}

        wanted = kinds(case)
        if not wanted:
            return f"{name}: nothing is wrong"
        case = reduced(case, lambda smaller: bool(kinds(smaller) & wanted), shorter_files)
        left = kinds(case)
        for version in versions:
            version.close()
        shutil.rmtree(keep / name, ignore_errors=True)
        case.write(keep / name)
        return f"{name}: {', '.join(sorted(left))}\n  {case.command(keep / name)}"

    def case(self, seed: int, versions: list[Version]) -> None:
        """Draws until a version accepts it, with fewer keys each time, and judges what it did."""
        for attempt in range(ATTEMPTS):
            case = draw(seed, self.keys, attempt, self.bias)
            folder = self.folder / case.name
            case.write(folder)
            answers = self._answers(case, folder, versions)
            with self._lock:
                accepted = self._judge(case, folder, answers)
                keep = case.name in self.remarkable()
            if not keep:
                shutil.rmtree(folder)
            if accepted:
                return

    def remarkable(self) -> set[str]:
        """The cases to show."""
        return {case.name for found in self.found.values() for case, _ in found[:SHOWN]}

    def _answers(self, case: Case, folder: Path, versions: list[Version]) -> list[dict[str, Any]]:
        jobs = [case.jobs(folder, str(at)) for at in range(len(versions))]
        if case.relation == "table":
            jobs[-1][-1]["table"] = case.table(folder)
        answers = [version.ask(asked) for version, asked in zip(versions, jobs, strict=True)]
        if case.relation and "error" not in answers[-1]:
            answers[-1]["related"] = versions[-1].ask(case.related(folder, "related"))
        return answers

    def _found(self, case: Case, folder: Path, answers: list[dict[str, Any]]) -> list[Finding]:
        """What is wrong with the new version's answer, and what differs, unless the reason is known."""
        new = answers[-1]
        found = findings(case, new) + unintended(new, self.refusals)
        if case.options.get("operations") and "error" not in new:
            file = folder / f"{len(answers) - 1}.operations.csv"
            wrong = operations.problems(operations.read(file), new["summary"], case.tags)
            found += [Finding(f"operations.{kind}", detail) for kind, detail in wrong]
        if "related" in new:
            found += related(case, new)
        if len(answers) > 1 and not self._better(answers):
            found += [Finding(f"delta.{each.kind}", each.detail) for each in differences(*answers)]
        unknown = []
        for finding in found:
            reason = next((known for known in self.known if known.covers(case, finding)), None)
            if reason is None:
                unknown.append(finding)
            else:
                reason.count += 1
        return unknown

    @staticmethod
    def _better(answers: list[dict[str, Any]]) -> bool:
        """Whether the new version runs what the old one refused or broke down at."""
        old, new = map(outcome, answers)
        return old != new and old in {"refused", "internal", "hang", "crash"} and new in {"done", "lost", "refused"}

    def _judge(self, case: Case, folder: Path, answers: list[dict[str, Any]]) -> bool:
        """Counts a case; whether a version accepted it."""
        self.drawn += 1
        new = answers[-1]
        how = [outcome(answer) for answer in answers]
        self.outcomes[" → ".join(how)] += 1
        if how[-1] == "refused":
            message = refusal(new["message"])
            self.refused[message] += 1
            self.refused_by.setdefault(message, case.name)
        if len(answers) > 1 and self._better(answers):
            self.newly_accepted += how[0] == "refused"
            self.mended += how[0] != "refused"
        for finding in self._found(case, folder, answers):
            self.found[finding.kind].append((case, finding))
        if set(how) == {"refused"}:
            return False
        self.accepted += 1
        self.tags.update(tag for tag in case.tags if not tag.startswith(("flash.", "ftl.")))
        return True

    def report(self, keep: Path) -> str:
        """The findings as text."""
        lines = [f"{self.drawn} drawn, {self.accepted} accepted: {_counts(self.outcomes)}"]
        if len(self.roots) > 1:
            lines.append(f"accepted by the new version only: {self.newly_accepted}; crashed in the old: {self.mended}")
        lines.append(f"accepted with: {_counts(self.tags)}")
        if self.refused:
            lines.append(f"refusals ({sum(self.refused.values())}):")
            lines += [f"{count:6}  {text}  [{self.refused_by[text]}]" for text, count in self.refused.most_common(60)]
        for entry in self.refusals:
            if entry.gap and entry.count:
                lines.append(f"refused {entry.count} times, to be supported: {entry.entry}")
        for known in self.known:
            lines.append(f"known, {known.count} times: {', '.join(known.paths)}: {known.reason}")
        lines.append(f"{len(self.found)} kinds of differences (delta.…) and findings")
        for kind, found in sorted(self.found.items(), key=lambda each: (-len(each[1]), each[0])):
            lines.append(f"{len({case.name for case, _ in found}):6} cases  {kind}")
            lines += [f"              {case.name}: {finding.detail}" for case, finding in found[:SHOWN]]
        if self.found:
            roots = " ".join(map(str, self.roots))
            lines.append(f"repeat: python -m tests.differential {roots} --only CASE")
            lines += [
                f"  {name}: {self.drawn_as(name).command(keep / name)}" for name in sorted(self.remarkable())[:20]
            ]
        return "\n".join(lines)


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counter.most_common())
