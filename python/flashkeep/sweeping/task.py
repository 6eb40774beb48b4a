"""Carries out one cell, in any process: a local worker, a worker of a cluster, or any executor's."""

from __future__ import annotations

import json
import os
import socket
import time
from typing import TYPE_CHECKING, Any

from .. import _flashkeep
from ..api import simulate
from ..inputs.flows import with_workloads
from ..inputs.traces import READING
from ..results.provenance import build, hash_of
from ..results.writing import own_mark, put

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..results.result import Columns

    Task = Mapping[str, Any]
    """`cell`, its `job` (with the key `info`, the statistics of its workload are wanted, not a run) and what to `keep`;
    `folder` and `token` of the results; `tables`: files of traces in memory, by name; `inputs`: the hash of each file
    that the job reads; `named`: the files among them that the drive or a member names; `build`: the hash of the
    simulator. Drive files whose text is none in the job are among the inputs too."""
    Done = dict[str, Any]
    """`cell`, `status`, `error`, `wall_s`, `cpu_s`, `worker`; `files` if the folder is not reachable here; `needs`:
    input files that are not here; `build` if another simulator is installed here."""

DONE, REFUSED, LOST, FAILED = 0, 2, 3, "failed"
"""What became of a cell: as the exit code of `run`, or that it has no result."""

LEFT_OUT = ("run", "command")
"""What differs between two equal runs, and is not kept."""

TOKEN = ".sweep"
"""The file by which a worker sees that its folder is the client's."""


def carry_out(task: Task, received: Mapping[str, bytes] | None = None) -> Done:
    """Runs a cell and writes its files into the sweep's folder, or returns them if the folder is not shared.

    `received` has the contents of input files that this machine does not have, by their hash.
    """
    answer: Done = {"cell": task["cell"], "worker": f"{socket.gethostname()}:{os.getpid()}"}
    if task.get("build") not in (None, build()):
        return answer | {"build": _flashkeep.__version__}
    missing, places = _inputs(task, received or {})
    if missing:
        return answer | {"needs": missing}
    started, started_cpu = time.perf_counter(), time.thread_time()
    status, error, files = _run(task, places)
    took = {"wall_s": time.perf_counter() - started, "cpu_s": time.thread_time() - started_cpu}
    answer |= {"status": status, "error": error, **took}
    if not shares_folder(task):
        return answer | {"files": files}
    try:
        write_files(task["folder"], files)
    except OSError as error:
        return answer | {"unwritten": f"{task['folder']}: {error.strerror}"}
    return answer


def _run(task: Task, places: Mapping[str, str]) -> tuple[int | str, str | None, dict[str, bytes]]:
    """The status, the error and the files of a cell."""
    job = _placed(task, places)
    summary: dict[str, Any] | None = None
    tables: dict[str, Columns | None] = {}
    status: int | str = DONE
    error = None
    try:
        if job.pop("info", False):
            summary = _info(job)
        else:
            summary, requests, series = simulate(job, None, None, _tables(task))
            tables = {"requests": requests if task["keep"].get("requests") else None, "series": series}
    except (_flashkeep.DriveError, _flashkeep.TraceError, _flashkeep.OptionError) as refusal:
        status, error = REFUSED, str(refusal)
    except MemoryError:
        status, error = FAILED, "out of memory"
    except Exception as failure:
        status, error = FAILED, f"{type(failure).__name__}: {failure}"
    if summary is not None:
        summary = {key: value for key, value in summary.items() if key not in LEFT_OUT}
        status = LOST if any(summary.get("integrity", {}).get(each) for each in ("lost_pages", "wrong_reads")) else DONE
    if places:
        origins = {place: path for path, place in places.items()}
        error, summary = _named_back(error, origins), _named_back(summary, origins)
    kept = {"cell": task["cell"], "status": status, "error": error, "summary": summary}
    ending = "failed.json" if status == FAILED else "json"
    wanted = {name: columns for name, columns in tables.items() if columns is not None}
    if wanted:
        from ..results.table_files import as_parquet
    files = {f"{task['cell']}.{name}.parquet": as_parquet(columns) for name, columns in wanted.items()}
    files[f"{task['cell']}.{ending}"] = json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode()
    return status, error, files


def _placed(task: Task, places: Mapping[str, str]) -> dict[str, Any]:
    """The job of a task with the files that were sent in the place of those that are not here."""
    job = dict(task["job"])
    job["traces"] = [places.get(path, path) for path in job["traces"]]
    if flow := job.get("flow"):
        job["flow"] = with_workloads(flow, lambda path: places.get(path, path))
    job |= {key: places.get(job[key], job[key]) for key in ("aged", "scenario") if job.get(key)}
    texts = job["drive_files"].items()
    job["drive_files"] = {path: _text(places.get(path, path)) if text is None else text for path, text in texts}
    job["copies"] = {path: places[path] for path in task["named"] if path in places}
    return job


def _text(path: str) -> str:
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def _named_back(value: Any, origins: Mapping[str, str]) -> Any:
    """A value of JSON that names files where the client has them; `origins` are their paths there by those here."""
    if isinstance(value, dict):
        return {key: _named_back(inner, origins) for key, inner in value.items()}
    if isinstance(value, list):
        return [_named_back(inner, origins) for inner in value]
    if isinstance(value, str):
        for place, path in origins.items():
            value = value.replace(place, path)
    return value


def _info(job: Mapping[str, Any]) -> dict[str, Any]:
    """The statistics of a job's workload."""
    wanted = {key: job[key] for key in (*READING, "seed", "drive", "set") if key in job}
    found: dict[str, Any] = json.loads(_flashkeep.trace_info(list(job["traces"]), **wanted))
    return found


def write_files(folder: str, files: Mapping[str, bytes]) -> None:
    """Writes the files of a cell under temporary names and renames them; the one that says that it is done is last."""
    for name, content in files.items():
        put(os.path.join(folder, "cells", name), content, own_mark())


def shares_folder(task: Task) -> bool:
    """Whether the sweep's folder is reachable from this process."""
    try:
        with open(os.path.join(task["folder"], TOKEN), encoding="ascii") as file:
            return file.read() == str(task["token"])
    except OSError:
        return False


_tables_read: dict[str, bytes] = {}


def _tables(task: Task) -> dict[str, bytes]:
    """Traces in memory; the last ones are kept, because the next cell often has them too."""
    wanted: Mapping[str, str | bytes] = task["tables"]
    for name in [name for name in _tables_read if name not in wanted]:
        del _tables_read[name]
    for name, place in wanted.items():
        if isinstance(place, bytes):
            _tables_read[name] = place
        elif name not in _tables_read:
            with open(place, "rb") as file:
                _tables_read[name] = file.read()
    return dict(_tables_read)


def _inputs(task: Task, received: Mapping[str, bytes]) -> tuple[list[str], dict[str, str]]:
    """Input files that are not here with the content expected, and the paths of those that were sent."""
    missing, places = [], {}
    for path, expected in (task.get("inputs") or {}).items():
        found = hash_of(path)
        if found is not None and found.found() == expected:
            continue
        place = _sent_file(path, expected)
        kept = hash_of(place)
        if kept is None or kept.found() != expected:
            if expected not in received:
                missing.append(path)
                continue
            _keep_sent(place, received[expected])
        places[path] = place
    return missing, places


def _sent_file(path: str, digest: str) -> str:
    """Where a file that was sent is kept: under its own name, which results may have, in a folder for its content."""
    import tempfile

    return os.path.join(tempfile.gettempdir(), f"flashkeep-{os.getuid()}", digest[:32], os.path.basename(path))


def _keep_sent(place: str, content: bytes) -> None:
    own = os.path.dirname(place)
    for folder in (os.path.dirname(own), own):
        os.makedirs(folder, mode=0o700, exist_ok=True)
    put(place, content, own_mark())
