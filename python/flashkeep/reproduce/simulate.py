"""Carries out a paper's runs: in parallel, each result stored when it is done, equal runs only once."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .. import _flashkeep, api
from ..drive_files import Drive
from ..options import UsageError
from ..progress import ERASE, State, line
from ..provenance import build
from ..runner import StoppedError, Threads
from ..traces import trace
from .paper import Results, Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .paper import Paper, Workload

LEAST_REQUESTS = 1000
"""The smallest number of requests at any scale: fewer give no useful mean."""

READING = ("format", "sector_bytes", "columns", "bad_records")
"""The options of `run` for reading a trace file."""


@dataclass(frozen=True, slots=True)
class Real:
    """A trace of the user's in place of a stand-in."""

    path: str
    requests: int
    digest: str


@dataclass(frozen=True, slots=True)
class Setup:
    """How a paper is to be run."""

    paper: Paper
    scale: float
    seed: int
    real: Mapping[str, Real]
    reading: Mapping[str, Any] = field(default_factory=dict)
    """The options of `run` for reading the real traces: `format`, `sector_bytes`, …"""

    def workload(self, name: str) -> Workload:
        return next(known for known in self.paper.workloads if known.name == name)

    def requests(self, run: Run) -> int:
        """The number of requests of a run."""
        real = self.real.get(run.workload)
        whole = real.requests if real else self.workload(run.workload).requests
        return min(whole, run.at_most or whole, max(LEAST_REQUESTS, run.at_least, round(self.scale * whole)))

    def job(self, run: Run) -> dict[str, object]:
        """The arguments for the simulator."""
        job: dict[str, object] = {"drive": run.drive, "set": run.set, "seed": self.seed, "keep_requests": False}
        names, requests = (run.workload, *run.beside), self.requests(run)
        job["traces"] = self.traces(run)
        if run.beside or run.workload in self.real:
            job["limit"] = requests
        if any(name in self.real for name in names):
            job |= {**dict(self.paper.trace_options), **self.reading}
        return job | dict(run.options)

    def traces(self, run: Run) -> list[str]:
        """A run's workloads, as the command line names them."""
        more = f"requests={self.requests(run)}" + (f",{run.synth}" if run.synth else "")
        names = (run.workload, *run.beside)
        return [self.real[name].path if name in self.real else f"synth:{name},{more}" for name in names]

    def info(self, run: Run) -> dict[str, Any]:
        """The statistics of a run's workload."""
        (trace,), limit = self.traces(run), self.requests(run)
        if run.workload in self.real:
            text = _flashkeep.trace_info(trace, limit=limit, **self.reading)
        else:
            text = _flashkeep.trace_info(trace, limit=limit, seed=self.seed, drive=run.drive, set=run.set)
        found: dict[str, Any] = json.loads(text)
        return found

    def digest(self, run: Run) -> str:
        """A hash (64 hexadecimal digits) of everything that a run's result depends on: drive, workload, options,
        version."""
        job = self.job(run)
        del job["drive"], job["set"]
        if any(name in self.real for name in (run.workload, *run.beside)):
            digests = {real.path: real.digest for real in self.real.values()}
            job["traces"] = [digests.get(trace, trace) for trace in self.traces(run)]
        if run.info:
            job["info"] = True
        key = [drive_digest(run), job, _flashkeep.__version__, build()]
        return _sha256(json.dumps(key, sort_keys=True).encode())


def drive_digest(run: Run) -> str:
    """A hash of a run's drive with every default filled in."""
    return _drive_digest(run.drive, run.set)


_drives: dict[tuple[str, tuple[str, ...]], str] = {}


def _drive_digest(name: str, values: tuple[str, ...]) -> str:
    if (name, values) not in _drives:
        resolved = Drive(name, values).to_dict()
        told = {key: value for key, value in resolved.items() if key not in ("name", "description")}
        _drives[name, values] = _sha256(json.dumps(told, sort_keys=True).encode())
    return _drives[name, values]


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def file_digest(path: str) -> str:
    """A hash of a file's contents."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def real_traces(paper: Paper, given: Iterable[str], reading: Mapping[str, Any]) -> dict[str, Real]:
    """The traces of `--trace NAME=PATH` that are for this paper, counted."""
    names = {workload.name for workload in paper.workloads}
    found = {}
    for text in given:
        name, _, path = text.partition("=")
        if name in names:
            found[name] = Real(path, trace(path, **reading).info().requests, file_digest(path))
    return found


class Store:
    """Finished runs, one file each, named by the hash of their inputs."""

    __slots__ = ("_folder",)

    def __init__(self, folder: str) -> None:
        self._folder = folder
        if os.path.lexists(os.path.dirname(folder)) and not os.path.isdir(os.path.dirname(folder)):
            raise UsageError(f"flashkeep reproduce: --out: {os.path.dirname(folder)} is a file, not a directory")
        os.makedirs(folder, exist_ok=True)

    def get(self, digest: str) -> dict[str, Any] | None:
        try:
            with open(self._path(digest), encoding="utf-8") as file:
                summary: dict[str, Any] = json.load(file)
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return summary

    def put(self, digest: str, summary: dict[str, Any]) -> None:
        path = self._path(digest)
        with open(f"{path}.unfinished", "w", encoding="utf-8") as file:
            json.dump(summary, file, ensure_ascii=False)
        os.replace(f"{path}.unfinished", path)

    def _path(self, digest: str) -> str:
        return os.path.join(self._folder, f"{digest[:32]}.json")


class Farm:
    """Carries out runs in threads; the simulator releases the GIL."""

    def __init__(self, setup: Setup, store: Store, workers: int, quiet: bool) -> None:
        self._setup, self._store, self._workers = setup, store, workers
        self._shown = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self.reused = 0
        self.done = 0
        self.took: dict[str, float] = {}
        """The total cost of the runs, including stored ones: seconds of processor time, and of wall-clock time."""

    def run(self) -> Results:
        """The results of every run of the paper, from the store if it has them."""
        wanted = {run: self._setup.digest(run) for run in dict.fromkeys(self._setup.paper.runs())}
        summaries = {digest: self._store.get(digest) for digest in wanted.values()}
        # The longest runs start first, so that cores finish at about the same time; equal runs are done once.
        missing = {digest: run for run, digest in wanted.items() if summaries[digest] is None}
        order = sorted(missing, key=lambda digest: -self._setup.requests(missing[digest]))
        self.reused = len(summaries) - len(order)
        self.done = len(order)
        summaries.update(zip(order, self._simulate([(missing[digest], digest) for digest in order]), strict=True))
        costs = [_there(summary)["run"] for summary in summaries.values()]
        self.took = {"runs": len(costs), **{key: sum(cost[key] for cost in costs) for key in ("cpu_s", "wall_s")}}
        return Results({run: _there(summaries[digest]) for run, digest in wanted.items()}, self._setup.real)

    def _simulate(self, runs: list[tuple[Run, str]]) -> list[dict[str, Any]]:
        if not runs:
            return []
        sizes = [self._setup.requests(run) for run, _ in runs]
        states = [State() for _ in runs]
        started = time.monotonic()

        def simulate(at: int) -> dict[str, Any]:
            def progress(requests: int, share: float | None, _simulated_ns: int) -> None:
                states[at].requests, states[at].share = requests, share
                if threads.stop:
                    raise StoppedError

            (run, digest), started_cpu, started_wall = runs[at], time.thread_time(), time.monotonic()
            summary = self._setup.info(run) if run.info else api.simulate(self._setup.job(run), progress)[0]
            took = {"wall_s": time.monotonic() - started_wall, "cpu_s": time.thread_time() - started_cpu}
            summary["run"] = summary.get("run", {}) | took
            self._store.put(digest, summary)
            states[at].requests, states[at].share = sizes[at], 1.0
            return summary

        def tick() -> None:
            if self._shown:
                share = sum(min(state.requests, size) for state, size in zip(states, sizes, strict=True)) / sum(sizes)
                whole = State()
                whole.requests, whole.share = sum(state.requests for state in states), share
                ended = sum(state.share == 1.0 for state in states)
                sys.stderr.write(f"{ERASE}{ended} of {len(runs)} runs  {line([whole], time.monotonic() - started)}")
                sys.stderr.flush()

        threads = Threads(simulate, len(runs))
        try:
            return threads.run(self._workers, tick)
        finally:
            if self._shown:
                sys.stderr.write(ERASE)
                sys.stderr.flush()


def _there(summary: dict[str, Any] | None) -> dict[str, Any]:
    assert summary is not None
    return summary
