"""Carries out a paper's runs, as cells of a sweep that has no plan: what is done is kept, equal runs are done once."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .. import _flashkeep
from ..cli.options import UsageError
from ..inputs.drive_files import Drive
from ..inputs.traces import trace
from ..sweeping.cells import Digests, cell_of
from ..sweeping.conduct import SweepError
from ..sweeping.run import Runner
from ..sweeping.task import FAILED, REFUSED
from .paper import Results, Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ..sweeping.cells import Cell
    from ..sweeping.folder import Folder
    from ..sweeping.run import Progress
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
    """How a paper is run."""

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
        if run.flows:
            return job | {"traces": (), "flow": list(self.flows(run))} | dict(run.options)
        job["traces"] = self.traces(run)
        if run.beside or run.workload in self.real:
            job["limit"] = requests
        if any(name in self.real for name in names):
            job |= {**dict(self.paper.trace_options), **self.reading}
        return job | dict(run.options)

    def flows(self, run: Run) -> Iterator[str]:
        """A run's flows, as the command line names them."""
        for flow in run.flows:
            requests = max(1, round(flow.share * self.requests(run)))
            synth = f"synth:{run.workload},requests={requests},{run.synth}".replace(",", ";")
            yield f"{flow.name}={synth},depth={flow.depth}"

    def traces(self, run: Run) -> list[str]:
        """A run's workloads, as the command line names them."""
        more = f"requests={self.requests(run)}" + (f",{run.synth}" if run.synth else "")
        names = (run.workload, *run.beside)
        return [self.real[name].path if name in self.real else f"synth:{name},{more}" for name in names]

    def digests(self) -> Digests:
        """Hashes of what runs depend on."""
        return Digests("flashkeep reproduce", {real.path: real.digest for real in self.real.values()})

    def cell(self, run: Run, digests: Digests) -> Cell:
        """A run as a cell."""
        job = self.job(run)
        if run.info:
            job["info"] = True
        return cell_of(job, resolved(run.drive, run.set), {}, digests)


def drive_digest(run: Run) -> str:
    """A hash of a run's drive with every default filled in."""
    values = resolved(run.drive, run.set).to_dict()
    told = {key: value for key, value in values.items() if key not in ("name", "description")}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


_drives: dict[tuple[str, tuple[str, ...]], Drive] = {}


def resolved(name: str, values: tuple[str, ...]) -> Drive:
    """A drive with values set; many runs have the same one."""
    if (name, values) not in _drives:
        _drives[name, values] = Drive(name, values)
    return _drives[name, values]


def real_traces(paper: Paper, given: Iterable[str], reading: Mapping[str, Any]) -> dict[str, Real]:
    """The traces of `--trace NAME=PATH` that are for this paper, counted."""
    names = {workload.name for workload in paper.workloads}
    found = {}
    for text in given:
        name, _, path = text.partition("=")
        if name in names:
            found[name] = Real(path, trace(path, **reading).info().requests, _flashkeep.sha256_of_file(path))
    return found


@dataclass(slots=True)
class Done:
    """What a paper's runs came to."""

    results: Results
    ran: int
    """Runs carried out by this call."""
    reused: int
    took: dict[str, float]
    """The total cost of the runs, including stored ones: seconds of processor time, and of wall-clock time."""


def simulate(setup: Setup, folder: Folder, workers: int | None, progress: Progress) -> Done:
    """Carries out the runs of a paper that have no result yet; equal runs are done once."""
    digests = setup.digests()
    cells = {run: setup.cell(run, digests) for run in dict.fromkeys(setup.paper.runs())}
    # The longest runs start first, so that cores finish at about the same time.
    longest = sorted(cells, key=lambda run: -setup.requests(run))
    names = dict.fromkeys(cell.name for cell in cells.values())
    summaries = {name: found for name in names if (found := _stored(folder, name)) is not None}
    with Runner(folder, workers, None, progress) as runner:
        runner.run([cells[run] for run in longest if cells[run].name not in summaries], _refuse)
        ran = runner.ran
    for name in names:
        if name not in summaries:
            summaries[name] = _there(folder.result(name))
    times = folder.timings()
    took = {"runs": len(names), **{key: sum(times[name][key] for name in names) for key in ("cpu_s", "wall_s")}}
    of_runs = {run: summaries[cell.name] for run, cell in cells.items()}
    results = Results(of_runs, setup.real, setup.scale, setup.seed)
    return Done(results, ran, len(names) - ran, took)


def _stored(folder: Folder, name: str) -> dict[str, Any] | None:
    """The summary of a run that was done before; what cannot be read is done again."""
    try:
        found = folder.result(name)
    except SweepError:
        folder.forget(name)
        return None
    return None if found is None or found["status"] == FAILED else _there(found)


def _there(found: Mapping[str, Any] | None) -> dict[str, Any]:
    assert found is not None
    _refuse(found)
    summary: dict[str, Any] = found["summary"]
    return summary


def _refuse(found: Mapping[str, Any]) -> None:
    """Ends a paper at the first run that has no result."""
    if found["status"] == REFUSED:
        raise UsageError(found["error"])
    if found["status"] == FAILED:
        raise SweepError(found["error"])
