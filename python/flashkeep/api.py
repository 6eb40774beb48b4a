"""The Python interface of the simulator: drives, traces, runs and their results.

It imports third-party modules only when a caller asks for a result's columns.
"""

from __future__ import annotations

import json
import operator
import os
import sys
import time

from . import _flashkeep
from .inputs.drive_files import Drive, drive
from .inputs.flows import as_options, has_flows
from .inputs.run_options import factor, options_of, whole
from .inputs.traces import Trace, of_trace, trace
from .results.provenance import Inputs
from .results.result import Requests, Result, Series
from .results.tree_view import suggested

TYPE_CHECKING = False  # importing `typing` would delay every start of the command line by milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor
    from typing import Any, Literal, SupportsIndex, TypeAlias, TypedDict, Unpack

    from ._generated.run_options import AgeOptions, OneRunOptions, RunOptions
    from .advising.api import Advice
    from .advising.handles import HandleAdvice
    from .choices import DriveFile, Existing, Replay
    from .fleets.api import FleetResult
    from .inputs.catalogue import Presets
    from .inputs.tabular import Table
    from .results.comparison import Comparison
    from .serving.server import Served
    from .sweep_report.results import SweepResults
    from .torturing.api import TortureResult

    Progress = Callable[[int, float | None, int], object]
    OnCut: TypeAlias = Literal["fail", "wait"]
    Ended: TypeAlias = tuple[dict[str, Any], Requests | None, Series | None]

    class FleetAssumptions(TypedDict, total=False):
        """The assumptions about fleets: the options of `flashkeep fleet` and `flashkeep advise`."""

        groups: SupportsIndex | None
        afr: float | str | None
        life: str | None
        wear: float | str | None
        wear_spread: float | str | None
        uber: float | str | None
        latent_hours: float | str | None
        scrub_hours: float | str | None
        mttr_hours: float | str | None
        repair: str | None
        detect_hours: float | str | None
        spares: SupportsIndex | None
        restock_hours: float | str | None
        batch_frailty: float | str | None
        shock: float | str | None
        price: str | os.PathLike[str] | None

    class ServeOptions(TypedDict, total=False):
        """The options of `run` that a served drive has."""

        existing: Existing | None
        handle: str | Sequence[str]
        fail: str | Sequence[str]
        scenario: str | os.PathLike[str] | None
        condition: bool
        aged: str | os.PathLike[str] | None

    Given: TypeAlias = "Drive | str | os.PathLike[str] | DriveFile | Mapping[str, object]"
    """What names a drive."""


def simulate(
    job: Mapping[str, object],
    progress: Progress | None = None,
    tables: tuple[str, str, str] | None = None,
    in_memory: Mapping[str, bytes] | None = None,
    command: str | None = None,
) -> Ended:
    """Runs a job: what a `Result` is made of. The summary has its inputs and the time and memory that it took on this
    machine. `in_memory` has traces that are not files, by the name that the job gives them; `command` is the command
    line, if there is one."""
    inputs = Inputs(job, in_memory)
    series: dict[str, tuple[str, bytes]] = {}
    started = time.perf_counter()
    text, columns = _flashkeep.run(json.dumps(job), progress, tables, list((in_memory or {}).items()), series)
    summary: dict[str, Any] = json.loads(text)
    if job.get("alone"):
        from .results.alone import add_slowdowns

        add_slowdowns(summary, job, progress, list((in_memory or {}).items()))
    note_run(summary, time.perf_counter() - started)
    inputs.describe(summary, command)
    return summary, Requests(columns) if job.get("keep_requests") else None, Series(series) if series else None


def note_run(summary: dict[str, Any], wall_s: float) -> None:
    """Adds to a summary what its run took on this machine."""
    operations = sum(sum(summary["operations"][kind].values()) for kind in ("read", "program", "copyback"))
    summary["run"] = {
        "wall_s": wall_s,
        "requests_per_s": summary["workload"]["requests"] / wall_s,
        "page_operations_per_s": operations / wall_s,
        "peak_rss_mib": _peak_rss_mib(),
        "threads": 1,
    }


def _peak_rss_mib() -> float:
    """The peak memory of this process."""
    try:
        # What `getrusage` says includes the peak of the process that has started this one.
        with open("/proc/self/status", encoding="ascii") as status:
            kibibytes = next(line.split()[1] for line in status if line.startswith("VmHWM:"))
        return int(kibibytes) / 2**10
    except (OSError, StopIteration):
        import resource

        # In kilobytes, but in bytes on Darwin.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def _as_drive(given: Given) -> Drive:
    return given if isinstance(given, Drive) else drive(given)


def _as_trace(given: Trace | str | os.PathLike[str] | Table) -> Trace:
    return given if isinstance(given, Trace) else trace(given)


def _as_workload(
    given: Trace | str | os.PathLike[str] | Table | None, options: Mapping[str, Any], what: str
) -> Trace | None:
    """The trace of a run; none if its workloads are flows."""
    if given is None and not has_flows(options):
        raise TypeError(f"{what} needs a trace, or flows=…")
    return None if given is None else _as_trace(given)


OPTIONS = options_of("replaying", "starting", "running", "series", "writing")
"""The options of a run that are not those of its drive or its trace."""

OF_FLOWS = (*options_of("reading", "placing"), *OPTIONS)
"""The same of a run of flows, whose traces are read and placed alike."""


def job_of(
    drive: Drive, trace: Trace | None, seed: SupportsIndex, options: Mapping[str, Any], keep: bool
) -> dict[str, object]:
    """A run as a job."""
    options = as_options(options)
    accepted = OF_FLOWS if trace is None and has_flows(options) else OPTIONS
    known = [option.in_python for option in accepted]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise TypeError(f"unexpected option {unknown[0]!r}; {of_trace(unknown[0]) or suggested(unknown[0], known)}")
    given = {option.name: option.of(options) for option in accepted}
    job = {
        "drive": drive.name,
        "drive_text": drive.text,
        "set": drive.overrides,
        "traces": trace.paths if trace else (),
        **(trace.options if trace else {}),
        "seed": whole("seed", seed, 0, 64),
        **given,
        "keep_requests": keep and not given["untimed"],
    }
    return {name: value for name, value in job.items() if value is not None}


def run(
    drive: Given,
    trace: Trace | str | os.PathLike[str] | Table | None = None,
    seed: SupportsIndex = 1,
    *,
    requests: bool = True,
    progress: Progress | bool | None = None,
    **options: Unpack[OneRunOptions],
) -> Result:
    """Simulates one drive under one workload. Equal arguments give equal results, to the byte.

    The options are those of `flashkeep run`, with underscores for dashes: `existing="all"`, `verify=True`.
    `progress(requests, share, simulated_ns)` is called about every tenth of a second; raising in it ends the run, and
    returning True ends it early, with a result (`interrupted`) for the requests admitted until then.
    `progress=True` shows progress, `False` does not; without it, progress is shown in notebooks.
    `flush_at_end=True` writes all buffers back after the last request, so that their programs are counted.
    `stop_rebuild="end"` ends a rebuild with the last request: its speed is that beside the workload. With a size
    such as `"1GiB"` no more requests come once that is rebuilt.
    `fail="chip:3.0@10s"` (or several) injects failures of parts of the drive; a `scenario` file holds many such events.
    `flows=[{"name": "db", "workload": "oltp.spc", "priority": "high"}, …]`, `flows={"db": "oltp.spc", …}` or a TOML
    file runs several workloads beside each other instead of a trace (`Result.flows`; options of traces are then options
    of the run); `alone=True` also runs each alone, for its `slowdown`.
    `untimed=True` skips timing: counts, wear and integrity only, without times and requests. `condition=True` first
    writes the drive until random writes are in a steady state; `aged` starts with a drive that `save_aged`, or
    `flashkeep age`, has saved. `timeline` is a file for the busy periods of each channel and unit, within
    `timeline_window="10s..12s"`. `series="10ms"` keeps figures over time (`Result.series`), with a row every 10 ms;
    `series=200` with at most 200 rows. `requests=False` does not keep every request's times (176 bytes
    each, 48 without breakdown). `breakdown=False` does not measure where response times go (`latency_us`).
    """
    workload = _as_workload(trace, options, "run")
    return start(_as_drive(drive), workload, seed, options, requests, progress)


def start(
    drive: Drive,
    trace: Trace | None,
    seed: SupportsIndex,
    options: Mapping[str, Any],
    requests: bool,
    progress: Progress | bool | None,
) -> Result:
    """Runs one drive, and shows the progress."""
    from .cli.progress import shown

    job = job_of(drive, trace, seed, options, requests)
    with shown(progress) as tell:
        return Result(*simulate(job, tell, None, trace.tables if trace else None))


def age(
    drive: Given,
    file: str | os.PathLike[str],
    trace: Trace | str | os.PathLike[str] | Table | None = None,
    seed: SupportsIndex = 1,
    *,
    progress: Progress | bool | None = None,
    **options: Unpack[AgeOptions],
) -> Result:
    """Ages a drive and saves it in a file, for `run(…, aged=file)`.

    It is aged by its `ageing.model`, by a trace without timing, or, without either, by random writes until these are in
    a steady state.
    """
    workload = None if trace is None else _as_trace(trace)
    given = {**options, "save_aged": file, "untimed": True}
    return start(_as_drive(drive), workload, seed, given, False, progress)


def serve(
    drive: Given,
    *,
    listen: str | Sequence[str] = (),
    allow_remote: bool = False,
    control: str | os.PathLike[str] | None = None,
    http: str | None = None,
    time: str = "real",
    session: str | os.PathLike[str] | None = None,
    store: str | os.PathLike[str] | None = None,
    on_cut: OnCut = "fail",
    ignore_flush: bool = False,
    save_aged: str | os.PathLike[str] | None = None,
    seed: SupportsIndex = 1,
    **options: Unpack[ServeOptions],
) -> Served:
    """Serves a drive over NBD until the `with` block ends: `with fk.serve("tlc-client") as served: …`.

    Clients connect to `served.uri`; `served.control("fail", "chip:0.0")` is a verb of `flashkeep control`; afterwards
    `served.result` is the result of the run that the requests of the clients made.

    `listen` has addresses, `unix:PATH` or `tcp:127.0.0.1:PORT`; without it, and without `control`, sockets are in a
    folder that only its user can read. Addresses that other machines reach need `allow_remote=True`.
    `http="127.0.0.1:0"` serves the live page at `served.http_url`. With
    `time="real"` a reply leaves when its simulated time has come, with `"scale=10"` ten times later, with `"no-wait"`
    at once. `session` records all requests and faults in a file: `run(drive, file)` repeats their response times.
    `store` keeps the bytes in a file instead of in memory. After a power cut, requests that it ended fail, or wait for
    the recovery with `on_cut="wait"`. With `ignore_flush=True` the drive lies: FLUSH is answered at once, and FUA
    ignored. `save_aged` saves the drive at the end. The options `existing`, `handle`, `fail`, `scenario`, `condition`
    and `aged` are those of `run`.

    Raises `OptionError` or `DriveError`, both `ValueError`s, or `OSError` for files.
    """
    from .serving.server import serve_drive

    checked = _as_drive(drive)
    given = {
        "listen": [listen] if isinstance(listen, str) else list(listen),
        "allow_remote": bool(allow_remote),
        "control": None if control is None else os.fspath(control),
        "http": http,
        "time": time,
        "session": None if session is None else os.fspath(session),
        "store": None if store is None else os.fspath(store),
        "on_cut": on_cut,
        "ignore_flush": bool(ignore_flush),
        "save_aged": None if save_aged is None else os.fspath(save_aged),
    }
    return serve_drive(checked, seed, options, given)


def drives() -> Presets:
    """The presets, with their main figures."""
    from .inputs.catalogue import presets

    return presets()


def compare(
    trace: Trace | str | os.PathLike[str] | Table | None,
    drives: Sequence[Given] | Mapping[str, Given],
    seed: SupportsIndex = 1,
    *,
    workers: int = 2,
    requests: bool = True,
    progress: bool | None = None,
    **options: Unpack[RunOptions],
) -> Comparison:
    """Runs the same workload on several drives, `workers` at a time, and compares each with the first.

    `drives` as a mapping gives the drives labels. The options are those of `run`; with `flows`, the trace is None.
    """
    from .results.comparison import compare_runs

    if isinstance(drives, (str, os.PathLike, Drive)):
        raise TypeError("compare takes a list of drives, or a mapping of labels to drives")
    labels = [str(label) for label in drives] if hasattr(drives, "values") else None
    given = list(drives.values() if hasattr(drives, "values") else drives)
    checked = [_as_drive(one) for one in given]
    workload = _as_workload(trace, options, "compare")
    return compare_runs(workload, checked, labels, seed, options, requests, workers, progress)


def load(folder: str | os.PathLike[str]) -> Result:
    """A result that `flashkeep run --out DIR` has written: its summary, and its requests if they are there."""
    from .results.loading import load_result

    return load_result(os.fspath(folder))


def load_comparison(folder: str | os.PathLike[str]) -> Comparison:
    """The results that `flashkeep compare --out DIR` has written, or of several runs below one folder."""
    from .results.loading import load_results

    return load_results(os.fspath(folder))


def sweep(
    plan: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    *,
    drives: Sequence[Given] | Given | None = None,
    traces: Sequence[Trace | str | os.PathLike[str]] | Trace | str | os.PathLike[str] | None = None,
    seeds: Sequence[int] | int | None = None,
    grid: Mapping[str, Sequence[Any]] | None = None,
    variants: Sequence[Mapping[str, Any]] | None = None,
    exclude: Sequence[Mapping[str, Any]] | None = None,
    ageing: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    workers: SupportsIndex | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | bool | None = None,
) -> SweepResults:
    """Runs all combinations of a plan, and returns their table, charts and Pareto fronts.

    `plan` is the path of a plan, or the same as a mapping; or its parts are given by name. `out` is the folder of the
    results: the same call continues a sweep that was interrupted, and runs only cells without a result. Without it
    the results are in a temporary folder, which goes with the object. Local runs use `workers` processes (default: one
    per core); `executor` is any `concurrent.futures.Executor`, such as `client.get_executor()` of Dask. `progress(done,
    total)` is called again and again; `True` shows progress.

    Raises `ValueError` if the plan is wrong, with `.path`, `.line` and `.field`. Refused and failed cells are rows.
    """
    from .sweeping.api import run_sweep

    parts = {"workload": traces, "drive": drives, "seed": seeds, "grid": grid, "variant": variants, "exclude": exclude,
             "ageing": ageing, "options": options}  # fmt: skip
    return run_sweep(plan, parts, out, workers, executor, progress)


def torture(
    drive: Given,
    cases: SupportsIndex | None = None,
    *,
    minutes: float | None = None,
    seed: SupportsIndex = 1,
    workers: SupportsIndex | None = None,
    only: Sequence[int] = (),
    keep: str | os.PathLike[str] = "",
    progress: Callable[[int, int], object] | None = None,
) -> TortureResult:
    """Tries random workloads, failures, power losses and error bursts on a small version of a drive, with verified
    contents, in `workers` processes (default: one per core).

    It tries `cases` cases (10,000 if no time is given), or as many as `minutes` allow; `only` names some by their
    numbers. Equal drives, seeds and numbers are equal cases. The first case of each kind of finding is made smaller and
    written to the folder `keep`. `progress(cases, findings)` is called again and again. Ctrl-C ends it with what was
    found.
    """
    from .torturing.api import torture_drive
    from .torturing.campaign import no_tick

    given = _as_drive(drive)
    return torture_drive(
        given.name,
        given.overrides,
        given.text,
        cases=whole("cases", cases, 1, 64),
        minutes=factor("minutes", minutes),
        seed=whole("seed", seed, 0, 64) or 0,
        workers=whole("workers", workers, 1, 32),
        only=[operator.index(number) for number in only],
        keep=os.fspath(keep),
        tick=progress or no_tick,
    )


def fleet(
    array: Given,
    years: float | None = None,
    *,
    rebuild: float | str | None = None,
    workload: str | os.PathLike[str] | None = None,
    method: str | None = None,
    rel_error: float | str | None = None,
    samples: SupportsIndex | None = None,
    threads: SupportsIndex | None = None,
    seed: SupportsIndex | None = None,
    **assumptions: Unpack[FleetAssumptions],
) -> FleetResult:
    """The probability that an array loses data within `years` (default 5), and that of a fleet of `groups` such arrays.

    `array` is a drive, or a text such as `"8*1.92TB:raid6"` or `"8*tlc-datacenter:raid5"`. The options are those of
    `flashkeep fleet`: times are hours (the mean of an exponential time), or texts such as `"fixed:24"` and
    `"weibull:2:12:6"`; shares are numbers or texts such as `"1%"`. `result.p_loss.value`, `result.nines`, and all other
    keys of `flashkeep fleet --json` are attributes; `result.to_dict()` has them as a dictionary, and
    `result.report("fleet.html")` writes a page.

    Raises `OptionError` or `DriveError`, both `ValueError`s.
    """
    from .fleets.api import FleetResult, question_of, result_of
    from .fleets.options import Options

    options = Options.of(
        assumptions, "fleet", years=years, rebuild=rebuild, workload=workload, method=method, rel_error=rel_error,
        samples=samples, threads=threads, seed=seed,
    )  # fmt: skip
    if isinstance(array, str) and "*" in array:
        question = question_of(array, options)
    else:
        drive = _as_drive(array)
        question = question_of(drive.name, options, drive.overrides, drive.text)
    return FleetResult(result_of(question), question)


def fleet_report(results: Sequence[FleetResult], path: str | os.PathLike[str]) -> None:
    """Writes a page that compares results of `fleet`: loss against cost, and what each assumption changes.

    Raises `OptionError` without results, or if their missions differ.
    """
    from .fleets.api import report

    report(results, path)


def advise(
    trace: Trace | str | os.PathLike[str] | Table,
    drives: str,
    years: float | None = None,
    *,
    schemes: Sequence[str] | None = None,
    seed: SupportsIndex = 1,
    replay: Replay | None = None,
    depth: SupportsIndex | None = None,
    existing: Existing | None = None,
    max_loss: float | str | None = None,
    max_p99: float | None = None,
    rebuild: str | None = None,
    workers: SupportsIndex | None = None,
    progress: bool | None = None,
    **assumptions: Unpack[FleetAssumptions],
) -> Advice:
    """The redundancies for `drives` (`"8*tlc-datacenter"`) under a trace, as rows: simulated response times, also
    with a failed member, the rebuild, the life of the flash, the probability of data loss within `years` (default 5),
    and the cost.

    `schemes` are names (default: all that suit equal drives); the other options are those of `fleet` and `run`. A
    redundancy that cannot be built or run is a row whose `reason` says why. `row.pareto` marks the Pareto front of
    probability of loss, 99th percentile of reads and cost of a usable TB. `conclusion.text` names the cheapest row with
    a probability of loss below `max_loss` (default 1e-4) and a 99th percentile below `max_p99` µs (default: twice the
    lowest). `rebuild="simulated"` takes the measured rebuilds for the repair times. Times are µs.

    Raises `OptionError`, `DriveError` or `TraceError`, all `ValueError`s.
    """
    from .advising.api import Advice, advise_on
    from .advising.conclusion import Limits
    from .cli.progress import display
    from .fleets.options import Options

    if isinstance(schemes, str):
        raise TypeError("advise takes a list of schemes")
    for name in assumptions:
        if hint := of_trace(name):
            raise TypeError(f"advise() got an unexpected keyword argument {name!r}; {hint}")
    asked = Options.of(assumptions, "advise", years=years, seed=seed, rebuild=rebuild)
    options = {"replay": replay, "depth": depth, "existing": existing}
    given = {key: value for key, value in options.items() if value is not None}
    found = advise_on(_as_trace(trace), drives, schemes, asked, Limits(max_loss, max_p99), asked.seed or 0,
                      given, whole("workers", workers, 1, 32), display(progress))  # fmt: skip
    return Advice(found)


def advise_handles(
    trace: Trace | str | os.PathLike[str] | Table,
    drive: str,
    handles: SupportsIndex,
    *,
    seed: SupportsIndex = 1,
    workers: SupportsIndex | None = None,
    progress: bool | None = None,
) -> HandleAdvice:
    """What separating data by 2 to 8 placement handles saves on one drive: the same trace, untimed, with all data
    together, by the handles of the trace, by its devices, and by how often addresses are written.

    `saved.to` is the least write amplification, `saved.programs` the share of programs that it saves. Needs numpy.

    Raises `OptionError`, `DriveError` or `TraceError`, all `ValueError`s.
    """
    from .advising.handles import HandleAdvice, advise_on_handles
    from .cli.progress import display

    found = advise_on_handles(_as_trace(trace), drive, whole("handles", handles, 0, 32) or 0,
                              whole("seed", seed, 0, 64) or 0, {}, whole("workers", workers, 1, 32),
                              display(progress))  # fmt: skip
    return HandleAdvice(found)


def load_sweep(folder: str | os.PathLike[str]) -> SweepResults:
    """The results of a sweep: its table, charts and Pareto fronts."""
    from .sweep_report.results import SweepResults

    return SweepResults(folder)
