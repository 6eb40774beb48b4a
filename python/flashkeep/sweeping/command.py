"""The command `flashkeep sweep`."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from ..cli.options import UsageError
from ..cli.progress import Lines, in_words
from .conduct import SweepError
from .estimate import estimate
from .plan import PlanError, read_plan
from .run import sweep_plan
from .search import goal_of, search
from .task import FAILED, REFUSED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor

    from .estimate import Estimate
    from .plan import Plan
    from .run import Progress, Swept
    from .search import Found, Goal

TRIALS = 50
REASONS = 5
"""The reasons of cells without a result that are printed; the table has all."""


def sweep(arguments: dict[str, Any], say: Callable[[str], None], print_json: Callable[[object], None]) -> int:
    """Runs a plan. Returns the exit code."""
    goal = goal_of(arguments["minimize"], arguments["maximize"], arguments["subject_to"])
    try:
        plan = read_plan(arguments["plan"])
        out = arguments["out"] or _default_folder(arguments["plan"])
        if arguments["dry_run"]:
            judged = estimate(plan, out, arguments["workers"])
            print_json(judged.to_dict()) if arguments["json"] else say(_told_before(plan, judged))
            return 0
        with _means(arguments) as means:
            if goal is not None:
                found = search(plan, out, goal, arguments["trials"] or TRIALS, *means)
                print_json(_found(out, found, goal)) if arguments["json"] else say(_told_found(out, found, goal))
                return found.table.exit_code
            swept = sweep_plan(plan, out, *means)
    except PlanError as error:
        raise UsageError(str(error)) from None
    except SweepError as error:
        raise OSError(f"flashkeep sweep: {error}; the same command goes on from here") from None
    if arguments["json"]:
        status = dict(sorted(swept.table.status.items()))
        print_json({"out": out, "cells": swept.cells, "ran": swept.ran, "status": status, "wall_s": swept.wall_s})
    else:
        say(_told_after(out, swept))
    return swept.table.exit_code


def _default_folder(plan: str) -> str:
    name = os.path.basename(plan).removesuffix(".toml")
    if name == plan or not name:
        raise UsageError(f"flashkeep sweep: --out DIR missing: the name of {plan} does not give one")
    return name


@contextmanager
def _means(arguments: dict[str, Any]) -> Iterator[tuple[int | None, Executor | None, Progress]]:
    """Workers or executor, and where progress is shown."""
    with ExitStack() as stack:
        executor = None
        if arguments["dask"]:
            from .cluster import connect

            client = stack.enter_context(connect(arguments["dask"]))
            executor = client.get_executor()
        yield arguments["workers"], executor, stack.enter_context(progress_line(arguments["quiet"]))


@contextmanager
def progress_line(quiet: bool, what: str = "cells") -> Iterator[Callable[[int, int], None]]:
    """Shows how many cells are done."""
    view = Lines(quiet)
    drawn = 0.0

    def show(done: int, total: int) -> None:
        nonlocal drawn
        elapsed = view.elapsed
        if elapsed - drawn > 0.1:
            left = f"  {in_words(elapsed * (total - done) / done)} left" if done else ""
            view.show(f"{done:,} of {total:,} {what}{left}")
            drawn = elapsed

    try:
        yield show
    finally:
        view.clear()


def _told_before(plan: Plan, found: Estimate) -> str:
    refused = sum(cell.refused is not None for cell, _ in found.refused)
    equal = found.cells - found.to_run - found.done - refused
    words = [f"{found.to_run:,} to run", f"{found.done:,} done", f"{refused:,} refused"]
    words += [f"{equal:,} equal to others"] if equal else []
    lines = [f"{plan.path}: {found.cells:,} cells: {', '.join(words)}"]
    reasons: dict[str, int] = {}
    for _, error in found.refused:
        reasons[error] = reasons.get(error, 0) + 1
    lines += _reasons(reasons)
    if found.seconds is not None:
        lines.append(f"about {in_words(found.seconds)} with {found.workers} workers, judged by a few cells")
    elif found.to_run:
        lines.append("no estimate: none of the cells that were begun got as far as its replay")
    return "\n".join(lines)


def _told_after(out: str, swept: Swept) -> str:
    status = swept.table.status
    other = [f"{status[key]:,} {word}" for key, word in
             (("3", "lost pages"), (str(REFUSED), "refused"), (FAILED, "failed")) if status[key]]  # fmt: skip
    cells = ", ".join([f"{swept.cells:,} cells", *other])
    told = f"{out}: {cells}; {swept.ran:,} run in {swept.wall_s:.1f} s"
    notes = [f"note: {swept.table.note}"] if swept.table.note else []
    return "\n".join([told, *_reasons(swept.table.reasons), *notes])


def _found(out: str, found: Found, goal: Goal) -> dict[str, Any]:
    best = found.best
    told = None if best is None else {"value": best.value, "keys": dict(best.labels),
                                      "cells": [cell.name for cell in best.cells]}  # fmt: skip
    return {"out": out, "figure": goal.figure, "trials": len(found.trials), "choices": found.choices, "ran": found.ran,
            "best": told}  # fmt: skip


def _told_found(out: str, found: Found, goal: Goal) -> str:
    lines = [f"{out}: {len(found.trials):,} of {found.choices:,} choices tried; {found.ran:,} cells run"]
    if found.best is None:
        lines.append("no choice has a result that meets all conditions")
    else:
        lines.append(f"{'largest' if goal.largest else 'smallest'} {goal.figure}: {found.best.value:g}")
        lines += [f"  {key} = {value}" for key, value in found.best.labels.items()]
    if len(found.trials) < found.choices:
        lines.append("note: not all choices were tried, so there may be better ones")
    return "\n".join(lines)


def _reasons(reasons: dict[str, int]) -> list[str]:
    most = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    lines = [f"  {count:,} × {reason}" for reason, count in most[:REASONS]]
    return lines + ([f"  and {len(most) - REASONS:,} other reasons"] if len(most) > REASONS else [])
