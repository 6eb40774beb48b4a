"""The command `flashkeep reproduce`."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..options import UsageError, did_you_mean
from . import PAPERS, find
from .simulate import READING, Farm, Setup, Store, real_traces

if TYPE_CHECKING:
    from collections.abc import Callable


def reproduce(arguments: dict[str, Any], say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Runs a paper, or all, and returns the contents of their JSON files."""
    word = arguments["paper"]
    if word != "all" and word not in PAPERS:
        hint = did_you_mean(word, [*PAPERS, "all"]) or f"; there are {', '.join(PAPERS)} and all"
        raise UsageError(f"flashkeep reproduce: there is no paper {word!r}{hint}")
    need_libraries("reproduce")
    papers = [find(name) for name in (PAPERS if word == "all" else (word,))]
    _check_traces(arguments["trace"], {workload.name for each in papers for workload in each.workloads})
    reading = {key: arguments[key] for key in READING if arguments[key] is not None}
    if reading and not arguments["trace"]:
        raise UsageError(f"flashkeep reproduce: --{next(iter(reading)).replace('_', '-')} says how a file is read; "
                         "there is no --trace NAME=PATH")  # fmt: skip
    folder = arguments["out"] or word
    store = Store(os.path.join(folder, "runs"))
    results = []
    for each in papers:
        real = real_traces(each, arguments["trace"], reading)
        setup = Setup(each, arguments["scale"] or 1.0, _seed(arguments), real, reading)
        farm = Farm(setup, store, arguments["workers"] or _cores(), arguments["quiet"])
        findings = each.find(farm.run())
        from .write import write  # after the runs, because matplotlib takes time to load

        written = write(setup, findings, farm.took, folder)
        say(_report(written, os.path.join(folder, f"{each.name}.html"), farm))
        results.append(written)
    return results


def need_libraries(command: str) -> None:
    """Raises an error if the packages for pages and figures are not installed."""
    missing = [name for name in ("jinja2", "matplotlib") if find_spec(name) is None]
    if missing:
        raise UsageError(f"flashkeep {command}: {' and '.join(missing)} missing; install flashkeep[reports]")


def _cores() -> int:
    """The number of cores that this process may use; all cores if the system does not tell."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _seed(arguments: dict[str, Any]) -> int:
    seed: int = 1 if arguments["seed"] is None else arguments["seed"]
    return seed


def _check_traces(given: list[str], known: set[str]) -> None:
    names = [text.partition("=")[0] for text in given]
    for name in names:
        if name not in known:
            told = did_you_mean(name, known) or f"; there are {', '.join(sorted(known))}"
            raise UsageError(f"flashkeep reproduce: --trace: there is no workload {name!r} here{told}")
        if names.count(name) > 1:
            raise UsageError(f"flashkeep reproduce: --trace: {name} is given twice")


def _report(results: dict[str, Any], page: str, farm: Farm) -> str:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in results["verdicts"].items())
    predicted = results["predictions"]
    if predicted["cells"]:
        told = ", ".join(f"{count} {verdict}" for verdict, count in predicted["verdicts"].items())
        counts += f"; predicted, not counted: {told}"
    runs = f"{farm.done} runs" + (f", {farm.reused} kept from before" if farm.reused else "")
    return f"{results['paper']}: {counts} ({runs})\n  {page}\n  {results['provenance']}"
