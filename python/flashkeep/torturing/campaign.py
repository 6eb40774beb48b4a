"""Tries many cases of a drive in worker processes, and reduces the first case of each kind of finding."""

from __future__ import annotations

import itertools
import os
import re
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .case import as_csv, command_line, scenario
from .draw import draw
from .reduce import reduced
from .workers import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future
    from typing import TypeAlias

    from .case import Case
    from .judge import Finding
    from .shrink import Small

    Tick: TypeAlias = Callable[[int, int], object]

CHUNK = 32
"""Cases that a worker is asked for at once."""

LIMIT_S = 20.0
"""A case that takes longer hangs."""

SOON_S = 3.0
"""The same while a case that hangs is made smaller."""

TRIES = 3000
"""How often a smaller case is tried: about ten seconds."""

SLOW_TRIES = {"hang": 40, "crash": 200}
"""The same where each try may cost a time limit, or a new process."""

SHOWN = 5
"""Kinds of findings that are reduced, and cases that are named for each."""


def no_tick(_cases: int, _findings: int) -> None:
    """Shows no progress."""


@dataclass
class Kept:
    """A kind of finding: its cases, and the first one made smaller."""

    kind: str
    cases: list[tuple[int, str]] = field(default_factory=list)
    """Numbers and details, the first ones."""
    count: int = 0
    requests: int | None = None
    """Requests of the reduced case."""
    events: int = 0
    command: str | None = None
    """What runs the reduced case."""
    files: list[str] = field(default_factory=list)
    repeats: bool = False
    """Whether that command repeats the finding."""
    detail: str = ""

    @property
    def slug(self) -> str:
        """The kind as a part of a file's name."""
        return re.sub(r"\W+", "-", self.kind).strip("-")

    def to_dict(self) -> dict[str, Any]:
        """The finding in JSON."""
        return {
            "kind": self.kind, "count": self.count, "cases": [number for number, _ in self.cases],
            "detail": self.detail or self.cases[0][1], "requests": self.requests, "events": self.events,
            "command": self.command, "files": self.files, "repeats": self.repeats,
        }  # fmt: skip


@dataclass
class Campaign:
    """Cases of one drive and one seed."""

    small: Small
    seed: int
    workers: int
    limit_s: float = LIMIT_S
    cases: int = 0
    """Cases tried."""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    coverage: Counter[str] = field(default_factory=Counter)
    kinds: dict[str, Kept] = field(default_factory=dict)
    _stopped: bool = False
    _open: list[Worker] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, numbers: Iterable[int], minutes: float | None = None, tick: Tick = no_tick) -> None:
        """Tries cases, at most for a number of minutes. `tick` is called with the number of cases and of findings."""
        started = time.monotonic()
        until = started + 60 * minutes if minutes is not None else None
        chunks = _chunks(numbers)

        def work() -> None:
            worker = self._worker()
            while not self._stopped and (until is None or time.monotonic() < until):
                with self._lock:
                    chunk = next(chunks, None)
                if chunk is None:
                    return
                for answer in worker.numbers(chunk):
                    if self._stopped:
                        return
                    self._take(answer)

        try:
            with ThreadPoolExecutor(self.workers) as pool:
                self._watch({pool.submit(work) for _ in range(self.workers)}, tick)
        finally:
            self.close()
            self.wall_s += time.monotonic() - started
            for kept in self.kinds.values():
                kept.cases = sorted(kept.cases)[:SHOWN]

    def _watch(self, running: set[Future[None]], tick: Tick) -> None:
        """Waits for the threads; an interruption ends them."""
        try:
            while running:
                done, running = wait(running, 0.1)
                for each in done:
                    each.result()
                tick(self.cases, sum(kept.count for kept in self.kinds.values()))
        finally:
            self._stopped = True
            for worker in self._open:
                worker.kill()

    def close(self) -> None:
        """Ends the workers."""
        while self._open:
            self._open.pop().close()

    def _worker(self) -> Worker:
        worker = Worker(self.small, self.seed, self.limit_s)
        self._open.append(worker)
        return worker

    def _take(self, answer: list[Any] | dict[str, Any]) -> None:
        with self._lock:
            if isinstance(answer, dict):
                self.cpu_s += answer["cpu_s"]
                return
            number, ended, found, tags = answer
            self.cases += 1
            self.outcomes[ended] += 1
            self.coverage.update(tag for tag in tags if "=" not in tag)
            for kind, detail in found:
                kept = self.kinds.setdefault(kind, Kept(kind))
                kept.count += 1
                kept.cases.append((number, detail))

    def reduce(self, folder: str) -> None:
        """Makes the first case of each kind smaller, and writes its files."""
        worker = self._worker()
        try:
            for kind in sorted(self.kinds)[:SHOWN]:
                self._reduce(self.kinds[kind], worker, folder)
        finally:
            self.close()

    def _reduce(self, kept: Kept, worker: Worker, folder: str) -> None:
        number = kept.cases[0][0]
        case = self._as_found(kept.kind, number, worker)
        if case is None:
            return

        if kept.kind == "hang":
            worker.limit_s = min(self.limit_s, SOON_S)

        def still(smaller: Case) -> bool:
            return any(found.kind == kept.kind for found in worker.case(smaller))

        case = reduced(case, still, self._fewer_keys, SLOW_TRIES.get(kept.kind, TRIES))
        job, kept.files = self._write(case, folder, f"torture-{self.seed}-{number}-{kept.slug}")
        found = _of_kind(worker.case(case, job), kept.kind)
        kept.repeats = found is not None
        kept.detail = found.detail if found else ""
        kept.requests, kept.events = len(case.requests or []), len(case.options.get("fail", []))
        kept.command = command_line(job)
        worker.limit_s = self.limit_s

    def _as_found(self, kind: str, number: int, worker: Worker) -> Case | None:
        """The case that had the finding: the first attempt of drawing it, or the one after an intended refusal."""
        for attempt in (0, 1):
            case = draw(self.small, self.seed, number, attempt)
            if _of_kind(worker.case(case), kind) is not None:
                return case
        return None

    def _fewer_keys(self, case: Case) -> Iterator[Case]:
        """The case without a key that was drawn."""
        own = len(self.small.overrides)
        keys = case.options["set"]
        for at in range(own, len(keys)):
            yield replace(case, options={**case.options, "set": keys[:at] + keys[at + 1 :]})

    def _write(self, case: Case, folder: str, name: str) -> tuple[dict[str, Any], list[str]]:
        """Writes a case's files. Returns the job that reads them, and their names."""
        os.makedirs(folder or ".", exist_ok=True)
        start = os.path.join(folder, name)
        files = {f"{start}.csv": as_csv(case.requests or [], case.handles)}
        job = {key: value for key, value in case.options.items() if key not in ("drive_text", "fail")}
        job["traces"] = [f"{start}.csv"] * self.small.volumes
        if self.small.text is not None:
            job["drive"] = os.path.join(folder or ".", f"{name}-drive.toml")
            files[job["drive"]] = self.small.text
        if case.options.get("fail"):
            files[f"{start}.toml"] = scenario(case.options["fail"])
            job["scenario"] = f"{start}.toml"
        for path, text in files.items():
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return job, list(files)


def _of_kind(found: list[Finding], kind: str) -> Finding | None:
    return next((each for each in found if each.kind == kind), None)


def _chunks(numbers: Iterable[int]) -> Iterator[list[int]]:
    them = iter(numbers)
    while chunk := list(itertools.islice(them, CHUNK)):
        yield chunk
