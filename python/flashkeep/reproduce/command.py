"""The command `flashkeep reproduce`."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..cli.options import UsageError, did_you_mean
from ..sweeping.command import progress_line
from ..sweeping.conduct import SweepError
from ..sweeping.folder import Folder
from . import PAPERS, find
from .reasons import AGREES, DIFFERS, SAME_SHAPE
from .simulate import READING, Setup, real_traces, simulate

if TYPE_CHECKING:
    from collections.abc import Callable

    from .simulate import Done


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
    out = arguments["out"] or word
    if os.path.lexists(out) and not os.path.isdir(out):
        raise UsageError(f"flashkeep reproduce: --out: {out} is a file, not a directory")
    setups = [
        Setup(
            each, arguments["scale"] or 1.0, _seed(arguments), real_traces(each, arguments["trace"], reading), reading
        )
        for each in papers
    ]
    with Folder(runs_of(out), None, "reproduce") as folder:
        return [_one(setup, folder, out, arguments, say) for setup in setups]


def runs_of(out: str) -> str:
    """Where the runs are kept."""
    return os.path.join(out, "runs")


def _one(
    setup: Setup, folder: Folder, out: str, arguments: dict[str, Any], say: Callable[[str], None]
) -> dict[str, Any]:
    """Runs a paper, and writes what was found."""
    try:
        with progress_line(arguments["quiet"], "runs") as progress:
            done = simulate(setup, folder, arguments["workers"], progress)
    except SweepError as error:
        raise OSError(f"flashkeep reproduce: {error}; the same command goes on from here") from None
    findings = setup.paper.find(done.results)
    from .write import write  # after the runs, because matplotlib takes time to load

    written = write(setup, findings, done.took, out)
    say(_report(written, os.path.join(out, f"{setup.paper.name}.html"), done))
    return written


def need_libraries(command: str) -> None:
    """Raises an error if the packages for pages and figures are not installed."""
    missing = [name for name in ("jinja2", "matplotlib") if find_spec(name) is None]
    if missing:
        raise UsageError(f"flashkeep {command}: {' and '.join(missing)} missing; install flashkeep[reports]")


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


def _counts(verdicts: dict[str, int]) -> str:
    """`61 cells agree, 3 have the same shape, 1 differs`."""
    words = {AGREES: ("agrees", "agree"), SAME_SHAPE: ("has the same shape", "have the same shape"),
             DIFFERS: ("differs", "differ")}  # fmt: skip
    told = [f"{count} {words[verdict][count != 1]}" for verdict, count in verdicts.items()]
    first, _, rest = told[0].partition(" ")
    return ", ".join([f"{first} {'cell' if first == '1' else 'cells'} {rest}", *told[1:]])


def _report(results: dict[str, Any], page: str, done: Done) -> str:
    counts = _counts(results["verdicts"])
    predicted = results["predictions"]
    if predicted["cells"]:
        counts += f"; predicted, not counted: {_counts(predicted['verdicts'])}"
    runs = f"{done.ran} runs" + (f", {done.reused} kept from before" if done.reused else "")
    return f"{results['paper']}: {counts} ({runs})\n  {page}\n  {results['provenance']}"
