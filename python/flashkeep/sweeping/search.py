"""Searches a plan's drives, variants and grid for the best value of a figure, on the same cells as the sweep."""

from __future__ import annotations

import csv
import operator
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..cli.options import UsageError, did_you_mean
from ..extras import need
from ..registry import read
from ..results.writing import unfinished
from ..sweep_report.measures import FLEETS
from .assumptions import FleetFigures
from .cells import cells_of, need_for
from .folder import Folder
from .run import Runner
from .tidy import figures, write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

    from .cells import Cell
    from .plan import Plan
    from .run import Progress
    from .tidy import Written

BATCH = 4
"""Trials that are chosen at a time, however many workers there are, so that a search does not depend on them."""
SEED = 1
TRIALS = "trials.csv"

COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Limit:
    """A condition on a figure: `wear.dwpd >= 1`."""

    text: str
    figure: str
    comparison: str
    value: float

    def excess(self, found: float | None) -> float:
        """How far a figure is beyond the limit: not above 0 if the condition holds. Without a figure it does not."""
        if found is None:
            return float("inf")
        if COMPARE[self.comparison](found, self.value):
            return 0.0
        return abs(found - self.value) or 1e-12  # on the limit, where that is not enough


@dataclass(frozen=True, slots=True)
class Goal:
    """The goals of a search."""

    figure: str
    largest: bool
    limits: Sequence[Limit]


def goal_of(minimize: str | None, maximize: str | None, limits: Sequence[str]) -> Goal | None:
    """The goal that the options name; none without one."""
    if minimize is not None and maximize is not None:
        raise UsageError("flashkeep sweep: --minimize and --maximize exclude each other")
    figure = minimize if minimize is not None else maximize
    if figure is None:
        if limits:
            raise UsageError("flashkeep sweep: --subject-to goes with --minimize or --maximize")
        return None
    _check_figure(figure, "--minimize" if minimize is not None else "--maximize")
    return Goal(figure, maximize is not None, [_limit(text) for text in limits])


def _limit(text: str) -> Limit:
    found = re.fullmatch(r"\s*(\S+?)\s*(<=|>=|<|>)\s*(\S+)\s*", text)
    try:
        value = float(found[3]) if found else float("nan")
    except ValueError:
        value = float("nan")
    if found is None or value != value:  # noqa: PLR0124  # NaN
        raise UsageError(f"flashkeep sweep: --subject-to: found {text!r}; 'FIGURE < NUMBER' is accepted, or <=, >, >=")
    _check_figure(found[1], "--subject-to")
    return Limit(text, found[1], found[2], value)


def _check_figure(figure: str, option: str) -> None:
    known = [metric["path"] for metric in read()["metrics"] if metric["kind"] in ("count", "number")]
    known += FLEETS
    if re.sub(r"\.\d+(?=\.|$)", "[]", figure) not in known:
        hint = did_you_mean(figure, known) or "; flashkeep metrics lists them"
        raise UsageError(f"flashkeep sweep: {option}: there is no figure {figure!r}{hint}")


@dataclass(frozen=True, slots=True)
class Trial:
    """A choice of drive, variant and keys, over all workloads and seeds."""

    labels: Mapping[str, Any]
    cells: Sequence[Cell]
    value: float | None
    """The mean of the figure; none if a cell has no result or no such figure."""
    excess: Sequence[float]
    """For each limit, the largest excess of any cell."""

    @property
    def feasible(self) -> bool:
        """Whether there is a value, and all limits hold in every cell."""
        return self.value is not None and not any(self.excess)


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to."""

    trials: Sequence[Trial]
    best: Trial | None
    choices: int
    ran: int
    table: Written


def search(
    plan: Plan,
    out: str,
    goal: Goal,
    trials: int,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress = lambda done, total: None,
) -> Found:
    """Searches a plan in at most `trials` choices; the table has the cells that were run.

    The same command continues where an interrupted search ended: it makes the same choices, whose cells are stored.
    """
    _need_fleet(plan, goal)
    cells = cells_of(plan)
    need_for(cells)
    choices = _choices(cells)
    with Folder(out, plan.text) as folder, Runner(folder, workers, executor, progress) as runner:
        judge = _Judge(folder, runner, goal, FleetFigures(plan.fleet))
        every = len(choices) <= trials
        done = judge.all(list(choices.values())) if every else _optimise(choices, judge, goal, trials)
        tried = list({id(cell): cell for trial in done for cell in trial.cells}.values())
        table = write_table(tried, folder, plan.fleet)
        _write_trials(os.path.join(folder.path, TRIALS), done, goal)
    feasible = [trial for trial in done if trial.feasible]
    best = min(feasible, key=lambda trial: _rank(trial, goal), default=None)
    return Found(done, best, len(choices), runner.ran, table)


def _need_fleet(plan: Plan, goal: Goal) -> None:
    """Figures of fleets need the assumptions that they follow from."""
    for figure in (goal.figure, *(limit.figure for limit in goal.limits)):
        if figure.startswith("fleet.") and plan.fleet is None:
            raise UsageError(f"flashkeep sweep: {figure} needs the assumptions of [fleet] in the plan")


def _rank(trial: Trial, goal: Goal) -> float:
    assert trial.value is not None
    return -trial.value if goal.largest else trial.value


Choice = tuple[str, ...]


def _choices(cells: Sequence[Cell]) -> dict[Choice, list[Cell]]:
    """The cells of each choice, by its values as texts."""
    found: dict[Choice, list[Cell]] = {}
    for cell in cells:
        found.setdefault(tuple(str(value) for value in _point(cell).values()), []).append(cell)
    return found


def _point(cell: Cell) -> dict[str, Any]:
    return {key: value for key, value in cell.labels.items() if key not in ("workload", "seed")}


class _Judge:
    """Has choices run, and reads their figures."""

    def __init__(self, folder: Folder, runner: Runner, goal: Goal, fleets: FleetFigures) -> None:
        self._folder, self._runner, self._goal, self._fleets = folder, runner, goal, fleets

    def all(self, several: Sequence[Sequence[Cell]]) -> list[Trial]:
        self._runner.run([cell for cells in several for cell in cells])
        return [self._trial(cells) for cells in several]

    def _trial(self, cells: Sequence[Cell]) -> Trial:
        rows = [self._figures(cell) for cell in cells]
        values = [row.get(self._goal.figure) for row in rows]
        found = [value for value in values if value is not None]
        return Trial(
            _point(cells[0]), cells, sum(found) / len(found) if len(found) == len(values) else None,
            [max(limit.excess(row.get(limit.figure)) for row in rows) for limit in self._goal.limits],
        )  # fmt: skip

    def _figures(self, cell: Cell) -> Mapping[str, Any]:
        found = None if cell.refused is not None else self._folder.result(cell.name)
        summary = (found or {}).get("summary") or {}
        return {**figures(summary), **(self._fleets.of(cell) if summary else {})}


def _optimise(choices: Mapping[Choice, list[Cell]], judge: _Judge, goal: Goal, trials: int) -> list[Trial]:
    """The trials that optuna's sampler chooses."""
    optuna = need("a search", "search", "optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    keys = list(_point(next(iter(choices.values()))[0]))
    values = {key: list(dict.fromkeys(choice[at] for choice in choices)) for at, key in enumerate(keys)}
    direction = "maximize" if goal.largest else "minimize"
    study = optuna.create_study(direction=direction, sampler=optuna.samplers.TPESampler(seed=SEED))
    done: dict[Choice, Trial] = {}
    asked = 0
    # A sampler asks for choices again that it has seen; those are answered at once, up to a number of times.
    while len(done) < trials and asked < 10 * trials:
        batch = [study.ask() for _ in range(BATCH)]
        asked += BATCH
        points = [tuple(trial.suggest_categorical(key, values[key]) for key in keys) for trial in batch]
        new = [point for point in dict.fromkeys(points) if point in choices and point not in done]
        new = new[: trials - len(done)]
        done |= zip(new, judge.all([choices[point] for point in new]), strict=True)
        for trial, point in zip(batch, points, strict=True):
            _tell(study, trial, done.get(point), goal)
    return list(done.values())


def _tell(study: Any, trial: Any, found: Trial | None, goal: Goal) -> None:
    """Tells the sampler what came of a choice; one that is excluded, or has no result, has failed."""
    if found is None or found.value is None:
        study.tell(trial, state=_failed())
        return
    for limit, excess in zip(goal.limits, found.excess, strict=True):
        trial.set_constraint(limit.text, min(excess, 1e300))
    study.tell(trial, found.value)


def _failed() -> Any:
    from optuna.trial import TrialState

    return TrialState.FAIL


def _write_trials(path: str, trials: Sequence[Trial], goal: Goal) -> None:
    """The choices in the order in which they were made, with the figure and the limits."""
    with unfinished(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["trial", *trials[0].labels, goal.figure, "feasible"])
        for number, trial in enumerate(trials):
            value = "" if trial.value is None else trial.value
            writer.writerow([number, *trial.labels.values(), value, str(trial.feasible).lower()])
