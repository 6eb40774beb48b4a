"""What each assumption changes, one at a time, and how far it has to change for a tenth of the loss."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .._flashkeep import OptionError
from .assumptions import assumptions_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..fleets.api import Question
    from .assumptions import Assumption, Change

TENTH = 0.1
SAMPLED_ERROR = 0.05
"""Half of the 95 % interval of a sampled probability, as a share of it: a page takes dozens of estimates."""
MOST_SAMPLES = 200_000
STEPS = (2.0, 8.0, 64.0, 4096.0)
"""Factors that are tried one after the other until the loss is a tenth."""


@dataclass(frozen=True)
class Loss:
    """P(loss) with its interval, and whether it was sampled."""

    value: float
    low: float
    high: float
    is_sampled: bool

    def overlaps(self, other: Loss) -> bool:
        """Whether the intervals have a part in common: the difference may be due to sampling."""
        return (self.is_sampled or other.is_sampled) and self.low <= other.high and other.low <= self.high


@dataclass(frozen=True)
class End:
    """One end of the range of an assumption."""

    told: str
    loss: Loss


@dataclass(frozen=True)
class Swing:
    """What an assumption changes."""

    assumption: Assumption
    ends: tuple[End, ...]
    base: Loss

    @property
    def width(self) -> float:
        """The orders of magnitude between the lowest and the highest probability."""
        values = [self.base.value, *(end.loss.value for end in self.ends)]
        return math.log10(max(values) / max(min(values), 1e-300))

    @property
    def is_seen(self) -> bool:
        """Whether it changes more than sampling does."""
        return any(abs(end.loss.value - self.base.value) > 1e-9 * self.base.value and not end.loss.overlaps(self.base)
                   for end in self.ends)  # fmt: skip


@dataclass(frozen=True)
class Target:
    """How an assumption has to change for a tenth of the loss."""

    title: str
    now: str
    needed: str | None
    """Its value then; none if no value does."""
    remark: str


@dataclass
class Sensitivity:
    """All of it, for one array."""

    base: Loss
    swings: list[Swing] = field(default_factory=list)
    """The assumptions that change something, the most important first."""
    without_effect: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """Assumptions that the method could not vary, and why."""
    targets: list[Target] = field(default_factory=list)


class Asker:
    """Asks the model with changed options."""

    def __init__(self, question: Question) -> None:
        sampling = {"rel_error": max(question.asked["rel_error"], SAMPLED_ERROR),
                    "samples": min(question.asked["samples"], MOST_SAMPLES)}  # fmt: skip
        self._question = replace(question, asked={**question.asked, **sampling})

    def loss(self, options: dict[str, Any] | None = None) -> Loss:
        """P(loss) with these options of the model changed."""
        asked = {**self._question.asked, **(options or {})}
        answer = replace(self._question, asked=asked).answer()
        found = answer["p_loss"]
        return Loss(found["value"], found["low"], found["high"], answer["samples"] is not None)


def sensitivity_of(question: Question, found: dict[str, Any]) -> Sensitivity:
    """Varies each assumption of a question, whose result is known."""
    p_loss = found["p_loss"]
    base = Loss(p_loss["value"], p_loss["low"], p_loss["high"], found["samples"] is not None)
    told = Sensitivity(base)
    if base.value <= 0.0:
        return told
    asker = Asker(question)
    for assumption in assumptions_of(question):
        try:
            swing = Swing(assumption, tuple(End(change.told, asker.loss(change.options)) for change in assumption.ends),
                          base)  # fmt: skip
        except OptionError as refusal:
            told.refused.append(f"{assumption.title}: {refusal}")
            continue
        if not swing.is_seen:
            told.without_effect.append(assumption.title)
            continue
        told.swings.append(swing)
    told.swings.sort(key=lambda swing: -swing.width)
    group = question.array.group
    if group.fatal is None and group.layout is None:
        told.targets.append(_more_redundancy(question, asker, base))
    told.targets += [target for swing in told.swings if (target := _target(swing, asker)) is not None]
    return told


def _more_redundancy(question: Question, asker: Asker, base: Loss) -> Target:
    """One more drive of redundancy in each group, with the same usable capacity."""
    drives, tolerance = question.array.group_drives, question.array.group.tolerance
    loss = asker.loss({"drives": drives + 1, "tolerance": tolerance + 1})
    more = f"P(loss) {told_factor(base, loss)}, drives +{100 / drives:.3g} %, the same usable capacity"
    enough = f"{drives + 1} drives, survives {tolerance + 1}" if loss.value <= TENTH * base.value else None
    return Target("one more drive of redundancy in each group", f"{drives} drives, survives {tolerance}", enough, more)


def _target(swing: Swing, asker: Asker) -> Target | None:
    """What an assumption has to be; nothing for one that is as good as it can be."""
    assumption, base = swing.assumption, swing.base
    best, loss = _best(assumption, asker, base)
    if best is None or loss is None:
        return None
    if loss.value > TENTH * base.value:
        return Target(
            assumption.title, assumption.now, None, f"cannot: with {best.told} P(loss) is {told_factor(base, loss)}"
        )
    if assumption.better is None:
        return Target(assumption.title, assumption.now, best.told, f"P(loss) {told_factor(base, loss)}")
    by = _solved(assumption, asker, base)
    if by is None:
        return Target(assumption.title, assumption.now, best.told, f"P(loss) {told_factor(base, loss)}")
    better = assumption.better(by)
    return Target(assumption.title, assumption.now, better.told, f"{_factor(by)} times better")


def _best(assumption: Assumption, asker: Asker, base: Loss) -> tuple[Change | None, Loss | None]:
    """The first value on the way to the best that is enough, or else the best."""
    tried: Change | None = None
    loss: Loss | None = None
    changes = [assumption.better(by) for by in _steps(assumption)] if assumption.better is not None else []
    if assumption.at_best is not None:
        changes.append(assumption.at_best)
    for tried in changes:
        loss = asker.loss(tried.options)
        if loss.value <= TENTH * base.value:
            break
    return tried, loss


def _steps(assumption: Assumption) -> list[float]:
    """Factors up to the largest one."""
    return [*(step for step in STEPS if step < assumption.most), assumption.most]


def _solved(assumption: Assumption, asker: Asker, base: Loss) -> float | None:
    """The factor by which an assumption has to be better for a tenth of the loss, by bisection of logarithms; none if
    only its best value does."""
    assert assumption.better is not None
    better: Callable[[float], Change] = assumption.better

    def enough(by: float) -> bool:
        return asker.loss(better(by).options).value <= TENTH * base.value

    low = 1.0
    for high in _steps(assumption):
        if enough(high):
            break
        low = high
    else:
        return None
    halvings = 7 if base.is_sampled else 30
    for _ in range(halvings):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
        if high / low < 1.001:
            break
    return high


def told_factor(base: Loss, loss: Loss) -> str:
    """`÷ 950`, `× 2.3`, `unchanged`."""
    if loss.value <= 0.0:
        return "0"
    factor = loss.value / base.value
    if abs(factor - 1) < 0.005:
        return "unchanged"
    return f"÷ {_factor(1 / factor)}" if factor < 1 else f"× {_factor(factor)}"


def _factor(by: float) -> str:
    """`1.53`, `143`, `14,200`, `3.2e+08`."""
    return f"{by:.3g}" if by < 1000 or by >= 1e7 else f"{by:,.0f}"
