"""The assumptions of a fleet, one at a time: what each is, within which range it is varied, and which way is better.

A number is halved and doubled. An option that is switched off or is no number has a range that is named here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..fleets.times import SHORTEST, duration, percent, scaled, shortest, told_scale, told_time
from ..fleets.wear import LATE, at_share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..fleets.api import Question

    Options = dict[str, Any]

LEAST_AFR, MOST_AFR = 1e-9, 0.999999
FAR = 1e6
"""No assumption is changed by more than this factor."""
SHAPES = (0.8, 1.25)
"""Factors of the shape of a Weibull life. Half of it would be another kind of life."""

DETECT, UBER, SCRUB, RESTOCK, SHOCK, FRAILTY, SPREAD = "24", 1e-16, "uniform:168", "24", 0.01, 0.5, 0.2
"""Where an assumption is switched off: its other end (ours)."""


@dataclass(frozen=True)
class Change:
    """An assumption with another value: in words, and as options of the model."""

    told: str
    options: Options


@dataclass(frozen=True)
class Assumption:
    """What can be assumed otherwise."""

    name: str
    title: str
    now: str
    ends: tuple[Change, ...]
    """The ends of its range, the smaller one first; one end, if it is switched off or a word."""
    better: Callable[[float], Change] | None = None
    """It, better by a factor; none if it cannot be better."""
    most: float = FAR
    """The largest such factor."""
    at_best: Change | None = None
    """The best that there is, if no factor reaches it."""


def assumptions_of(question: Question) -> list[Assumption]:
    """All assumptions of a question."""
    asked = question.asked
    found = [*_lives(asked), *_wear(asked)]
    found += [_time("mttr_hours", "time of a repair", asked), _order(asked), _detection(asked)]
    found += [*_spares(asked), *_latent(asked)]
    others = "a second one" if asked["shock_share"] is None else "others"
    found.append(_share("shock", f"failures that bring {others} (shock)", asked, SHOCK, 1.0))
    if asked["shock"] and asked["shock_share"]:
        found.append(_share("shock_share", "drives that a shock takes", asked, SHOCK, 1.0))
    found.append(_share("batch_frailty", "variance within batches (frailty)", asked, FRAILTY, 100.0, "{:.3g}"))
    return found


def _life(name: str, title: str, life: str) -> Assumption:
    """The scale of a life."""

    def change(by: float) -> Change:
        return Change(told_scale(scaled(life, by)), {name: scaled(life, by)})

    return Assumption(name, title, told_scale(life), (change(0.5), change(2.0)), change)


def _shape(name: str, title: str, life: str) -> Iterator[Assumption]:
    """The shape of a Weibull life."""
    kind, *numbers = life.split(":")
    if kind == "weibull":
        shape, rest = float(numbers[0]), numbers[1:]

        def change(by: float) -> Change:
            return Change(f"{by * shape:.3g}", {name: ":".join([kind, repr(by * shape), *rest])})

        yield Assumption(f"{name}_shape", title, f"{shape:.3g}", tuple(map(change, SHAPES)), change, 100.0 / shape)


def _lives(asked: Options) -> Iterator[Assumption]:
    if asked["life"] is None:
        yield _scaled("afr", "drives that fail in a year (AFR)", asked["afr"], lambda value: {"afr": value}, percent,
                      least=LEAST_AFR, most=MOST_AFR)  # fmt: skip
        return
    yield _life("life", "characteristic life of a drive", asked["life"])
    yield from _shape("life", "shape of the lives (Weibull)", asked["life"])


def _wear(asked: Options) -> Iterator[Assumption]:
    wear, title = asked["wear"], "drives that are worn out"
    if wear is None:
        worn = {"wear": at_share(LATE, 8760.0 * asked["years"])}
        yield Assumption("wear", title, "none", (Change(f"{percent(LATE)} by the end of the mission", worn),))
        return
    yield _life("wear", "time until a drive is worn out", wear)
    yield from _shape("wear", "shape of wear (Weibull)", wear)
    title = "spread of the wear of groups"
    yield _share("wear_spread", title, asked, SPREAD, 3.0, "{:.3g}")


def _time(name: str, title: str, asked: Options) -> Assumption:
    text = asked[name]

    def change(by: float) -> Change:
        return Change(told_time(scaled(text, by)), {name: scaled(text, by)})

    return Assumption(name, title, told_time(text), (change(0.5), change(2.0)), lambda by: change(1 / by),
                      max(1.0, shortest(text) / SHORTEST))  # fmt: skip


def _order(asked: Options) -> Assumption:
    other = "serial" if asked["repair"] == "parallel" else "parallel"
    change = Change(other, {"repair": other})
    return Assumption("repair", "order of repairs", asked["repair"], (change,),
                      at_best=change if other == "parallel" else None)  # fmt: skip


def _detection(asked: Options) -> Assumption:
    title = "time until a failure is noticed"
    if asked["detect_hours"] is None:
        return Assumption("detect_hours", title, "at once", (Change(told_time(DETECT), {"detect_hours": DETECT}),))
    found = _time("detect_hours", title, asked)
    at_once = Change("at once", {"detect_hours": None})
    return Assumption(found.name, title, found.now, found.ends, found.better, found.most, at_once)


def _spares(asked: Options) -> Iterator[Assumption]:
    title, always = "hot spares of a group", Change("always one", {"spares": None, "restock_hours": None})
    if asked["spares"] is None:
        none = Change(f"none, a new drive after {RESTOCK} h", {"spares": 0, "restock_hours": RESTOCK})
        yield Assumption("spares", title, "always one", (none,))
        return
    none = Change("none", {"spares": 0})
    ends = (always,) if asked["spares"] == 0 else (none, always)
    yield Assumption("spares", title, f"{asked['spares']}", ends, at_best=always)
    yield _time("restock_hours", "time until a spare is replaced", asked)


def _latent(asked: Options) -> Iterator[Assumption]:
    if asked["latent_hours"] is None:
        yield _share("uber", "errors of a bit that is read (UBER)", asked, UBER, 1.0, "{:.3g}")
        return
    hours = asked["latent_hours"]
    yield _scaled("latent_hours", "time until a drive has a latent error", hours,
                  lambda value: {"latent_hours": value}, duration, most=1e12, more=True)  # fmt: skip
    title = "time until scrubbing removes it"
    if asked["scrub_hours"] is None:
        yield Assumption("scrub_hours", title, "never", (Change(told_time(SCRUB), {"scrub_hours": SCRUB}),),
                         at_best=Change(told_time("uniform:1"), {"scrub_hours": "uniform:1"}))  # fmt: skip
    else:
        yield _time("scrub_hours", title, asked)


def _share(name: str, title: str, asked: Options, other: float, most: float, form: str = "") -> Assumption:
    """A number of which none is best."""

    def told(value: float) -> str:
        return form.format(value) if form else percent(value)

    if not asked[name]:
        return Assumption(name, title, "0", (Change(told(other), {name: other}),))
    found = _scaled(name, title, asked[name], lambda value: {name: value}, told, most=most)
    return Assumption(name, title, found.now, found.ends, found.better, found.most, Change("0", {name: 0.0}))


def _scaled(
    name: str,
    title: str,
    value: float,
    options: Callable[[float], Options],
    told: Callable[[float], str],
    *,
    least: float = 0.0,
    most: float,
    more: bool = False,
) -> Assumption:
    """A number that is halved and doubled; `more` of it is better, or less."""

    def change(by: float) -> Change:
        new = min(max(value * by, least), most)
        return Change(told(new), options(new))

    limit = most / value if more else value / least if least else FAR
    return Assumption(name, title, told(value), (change(0.5), change(2.0)),
                      lambda by: change(by if more else 1 / by), min(limit, FAR))  # fmt: skip
