"""Finds the results in a folder."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..cli.options import UsageError
from ..render.verdict_text import label
from .outdir import STAGING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..render.report_tables import Requests
    from .result import Series

    Summary = dict[str, Any]


@dataclass(slots=True)
class Found:
    """A run that was found: its summary, and its requests and figures over time if they were kept."""

    summary: Summary
    folder: str | None
    label: str = ""
    requests: Requests | None = None
    series: Series | None = None

    @property
    def workload(self) -> str:
        return str(self.summary["workload"]["name"])


def find(folder: str, command: str = "flashkeep report") -> list[Found]:
    """The runs of a folder: each summary.json in or below it, and the runs that `reproduce` keeps."""
    if not os.path.isdir(folder):
        raise UsageError(f"{command}: {folder} is not a directory; name one written by --out of run, "
                         "compare, reproduce or sweep")  # fmt: skip
    runs = [run for path in sorted(_files(folder)) for run in _read(path, command)]
    if not runs:
        raise UsageError(f"{command}: there is no summary.json in {folder}, nor below it")
    return runs


def _files(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != STAGING]
        if "summary.json" in names:
            yield os.path.join(place, "summary.json")
        elif place.endswith(os.path.join("runs", "cells")):  # of `reproduce`
            yield from (os.path.join(place, name) for name in names if name.endswith(".json"))


def _read(path: str, command: str) -> Iterator[Found]:
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{command}: {path}: not JSON ({error}); a summary.json of flashkeep is accepted") from None
    if isinstance(value, dict) and isinstance(value.get("runs"), list):
        return  # of `compare`: each of its runs has a folder with a summary of its own
    if isinstance(value, dict) and "cell" in value:
        value = value["summary"]
        if value is None or "response_us" not in value:
            return  # refused, or the statistics of a workload
    if not isinstance(value, dict) or "response_us" not in value or "workload" not in value:
        raise UsageError(f"{command}: {path}: found other JSON; accepted: a summary.json of flashkeep")
    yield Found(value, os.path.dirname(path) if path.endswith("summary.json") else None)


def name_apart(runs: Sequence[Found]) -> None:
    """Gives each run a label that distinguishes it from the others of its workload."""
    for workload in workloads(runs):
        alike: dict[str, list[Found]] = {}
        for run in runs:
            if run.workload == workload:
                alike.setdefault(label(run.summary), []).append(run)
        for drive, group in alike.items():
            flat = [dict(_flat(run.summary["drive"])) for run in group]
            # A drive has only the options of what was selected, so one may lack the key in which others differ.
            every = dict.fromkeys(key for one in flat for key in one)
            keys = [key for key in every if any(one.get(key) != flat[0].get(key) for one in flat)]
            for at, (run, values) in enumerate(zip(group, flat, strict=True), 1):
                own = [f"{key}={values[key]}" for key in keys if key in values]
                apart = f"({', '.join(own[:3])})" if own else f"#{at}" if len(group) > 1 else ""
                run.label = " ".join(filter(None, (drive, apart)))


def workloads(runs: Iterable[Found]) -> list[str]:
    return list(dict.fromkeys(run.workload for run in runs))


def _flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        elif prefix or key not in ("name", "description"):
            yield f"{prefix}{key}", value
