"""The page of fleets: what is compared, in words, charts and tables, in one file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._flashkeep import OptionError
from ..fleets.table import CAUSES, size
from ..render import pages
from . import charts
from .sensitivity import SAMPLED_ERROR, TENTH, sensitivity_of, told_factor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..cli.progress import Counted
    from ..fleets.api import Question
    from .sensitivity import Sensitivity, Swing

    Row = dict[str, Any]
    Asked = tuple[Question, Row]
    """A question, and its result."""

MOST_IN_DETAIL = 8
"""The largest number of arrays whose assumptions are varied."""
LEAST_SHOWN = 0.005
"""Smaller shares of causes are left out."""
ALIKE = 1.5
"""Arrays whose usable capacities differ by a larger factor are compared for equal capacities, too."""


@dataclass(frozen=True)
class Part:
    """What the page says of one array: its tornado, its numbers, and how a tenth of the loss is reached."""

    name: str
    sensitivity: Sensitivity
    figure: charts.Chart | None
    swings: list[tuple[str, str, str]]
    remarks: list[str]


def fleet_page(asked: Sequence[Asked], view: Counted) -> tuple[str, list[charts.Chart]]:
    """The page of some results of fleets, and its figures.

    Raises `OptionError` if their missions differ.
    """
    fleets = [found for _, found in asked]
    missions = sorted({fleet["years"] for fleet in fleets})
    if len(missions) > 1:
        told = " and ".join(f"{years:g}" for years in missions)
        raise OptionError(f"missions of {told} years: probabilities of loss compare over equal missions only")
    names = names_of(asked)
    figures = [charts.drawn(charts.loss_and_cost(fleets, names), float(len(charts.cost_axes(fleets))))]
    over_time = charts.by_year(fleets, names)
    figures += [charts.drawn(over_time, 1.2)] if over_time is not None else []
    parts = []
    detailed = asked[:MOST_IN_DETAIL]
    for at, (question, found) in enumerate(detailed):
        view.draw(at, len(detailed), f"assumptions of {names[at]}")
        parts.append(_part(question, found, names[at], at))
    heads, rows = _table(fleets)
    page = pages.render(
        "fleet.html.jinja", title=", ".join(names) if len(names) <= 4 else f"{len(names)} arrays",
        notes=list(_notes(fleets, names)), words=[*_verdicts(fleets, names), *map(_in_words, fleets, names)],
        figures=figures, heads=heads, rows=list(zip(names, rows, strict=True)), parts=parts,
        left_out=names[MOST_IN_DETAIL:], assumptions=list(_assumptions(fleets, names)), error=100 * SAMPLED_ERROR,
        provenance=[f"{name}: {fleet['method']}, seed {fleet['seed']}, flashkeep {fleet['flashkeep']}, digest "
                    f"{fleet['digest'][:12]}" for name, fleet in zip(names, fleets, strict=True)],
    )  # fmt: skip
    drawn = [*figures, *(part.figure for part in parts if part.figure is not None)]
    return page, drawn


def names_of(asked: Sequence[Asked]) -> list[str]:
    """The arrays' names, followed by the options that tell arrays of one name apart."""
    names = [str(found["array"]["name"]) for _, found in asked]
    counts = Counter(names)
    differing = [
        key for key in asked[0][0].asked
        if len({str(question.asked.get(key)) for question, _ in asked}) > 1
    ]  # fmt: skip
    told = [
        f"{name} ({', '.join(f'{key}={question.asked[key]}' for key in differing)})"
        if counts[name] > 1 and differing else name
        for name, (question, _) in zip(names, asked, strict=True)
    ]  # fmt: skip
    seen: Counter[str] = Counter()
    for at, name in enumerate(told):
        seen[name] += 1
        if seen[name] > 1:
            told[at] = f"{name} ({seen[name]})"
    return told


def _part(question: Question, found: Row, name: str, number: int) -> Part:
    sensitivity = sensitivity_of(question, found)
    picture = charts.tornado(sensitivity, name, number)
    remarks = []
    if sensitivity.base.value <= 0.0:
        remarks.append("No path of the simulation lost data, so nothing can be said about what makes losses likelier.")
    if sensitivity.without_effect:
        seen = " that is larger than the error of sampling" if sensitivity.base.is_sampled else ""
        remarks.append(f"Without an effect{seen}: {', '.join(sensitivity.without_effect)}.")
    remarks += [f"Not varied: {refusal}" for refusal in sensitivity.refused]
    return Part(name, sensitivity, None if picture is None else charts.drawn(picture, 1.5),
                [_swing(swing) for swing in sensitivity.swings], remarks)  # fmt: skip


def _swing(swing: Swing) -> tuple[str, str, str]:
    ends = "; ".join(f"{end.told}: {charts.written(end.loss.value)} ({told_factor(swing.base, end.loss)})"
                     for end in swing.ends)  # fmt: skip
    return swing.assumption.title, swing.assumption.now, ends


def _in_words(fleet: Row, name: str) -> str:
    """`8*1.92TB:raid6: 1 of 12,900,000 such arrays loses data in 5 years; 92 % of these by …`."""
    value, years = fleet["p_loss"]["value"], fleet["years"]
    if value <= 0:
        most = charts.written(fleet["p_loss"]["high"])
        return f"{name}: no simulated path lost data in {years:g} years; P(loss) is at most {most}."
    one_of = f"1 of {_count(1 / value)} such arrays loses data in {years:g} year{'s' * (years != 1)}"
    causes = {cause: share for cause, share in fleet["causes"].items() if share}
    if len(causes) < 2:
        return f"{name}: {one_of}."
    cause = max(causes, key=lambda each: causes[each])
    return f"{name}: {one_of}; {100 * causes[cause] / value:.0f} % of these by {CAUSES[cause]}."


def _count(value: float) -> str:
    """`13 million`, `2,900`, `5.5`."""
    for unit, words in ((1e12, " trillion"), (1e9, " billion"), (1e6, " million")):
        if value >= unit:
            return f"{value / unit:,.3g}{words}" if value < 1000 * unit else f"{value:.2g}"
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if value >= 10 else f"{rounded:g}"


def _verdicts(fleets: Sequence[Row], names: Sequence[str]) -> Iterator[str]:
    """What a tenth of the loss of the cheapest array costs, among these arrays."""
    if len(fleets) < 2:
        return
    axis = charts.cost_axes(fleets)[0]
    costs = [100 / value if axis.falls else value for value in axis.values]
    what = "raw capacity" if axis.falls else "USD"
    order = sorted(range(len(fleets)), key=lambda at: (costs[at], fleets[at]["p_loss"]["value"]))
    first = order[0]
    before = fleets[first]["p_loss"]["value"]
    enough = [at for at in order[1:] if fleets[at]["p_loss"]["value"] <= TENTH * before]
    if not enough:
        yield f"None of these arrays has a tenth of the loss of {names[first]}, the cheapest for each usable TB."
        return
    best = enough[0]
    value = fleets[best]["p_loss"]["value"]
    more = 100 * (costs[best] / costs[first] - 1)
    pays = f"+{more:.3g} % {what} for each usable TB" if more > 1e-3 else f"no more {what} for each usable TB"
    less = f"÷ {_count(before / value)}" if value > 0 else "0 in this simulation"
    yield (f"The cheapest of these arrays with at most a tenth of the loss of {names[first]} is {names[best]}: "
           f"P(loss) {less}, {pays}.")  # fmt: skip


def _notes(fleets: Sequence[Row], names: Sequence[str]) -> Iterator[str]:
    """Notes of the arrays, each once, and those of their comparison."""
    usable = [fleet["array"]["usable_bytes"] for fleet in fleets]
    if max(usable) > ALIKE * min(usable):
        yield ("The arrays hold different amounts of data, and a larger one has more to lose: compare losses for each "
               "usable PB, in the table")  # fmt: skip
    if any(fleet["cost"] for fleet in fleets) and not all(fleet["cost"] for fleet in fleets):
        without = ", ".join(name for name, fleet in zip(names, fleets, strict=True) if not fleet["cost"])
        yield (f"No price of {without}: costs are usable shares of the raw capacity (--price, or price_per_gb of the "
               "drives)")  # fmt: skip
    told: dict[str, list[str]] = {}
    for name, fleet in zip(names, fleets, strict=True):
        for note in fleet["notes"]:
            told.setdefault(note, []).append(name)
    for note, of in told.items():
        yield note if len(of) == len(fleets) else f"{', '.join(of)}: {note}"


def _table(fleets: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """The headings and rows of the comparison."""
    has_cost = all(fleet["cost"] for fleet in fleets)
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("drives", lambda fleet: f"{fleet['array']['drives']:,}"),
        ("survives", lambda fleet: f"{fleet['array']['tolerance']}"),
        ("usable", lambda fleet: size(fleet["array"]["usable_bytes"])),
        (f"P(loss) in {fleets[0]['years']:g} years", lambda fleet: charts.written(fleet["p_loss"]["value"])),
        ("95 % interval", _interval),
        ("nines", lambda fleet: "–" if fleet["nines"] is None else f"{fleet['nines']:.2f}"),
        ("losses for each usable PB", _per_petabyte),
        ("bytes lost for each usable TB", lambda fleet: f"{fleet['nomdl']:,.3g}"),
        ("an array is lost; bytes each", lambda fleet: _extent(fleet["array_loss"])),
        ("a sector is lost; bytes each", lambda fleet: _extent(fleet["sector_loss"])),
        ("lost by", _causes),
    ]
    if has_cost:
        columns += [("USD", lambda fleet: f"{fleet['cost']['usd']:,.0f}"),
                    ("USD for each usable TB", lambda fleet: f"{fleet['cost']['usd_per_usable_tb']:,.2f}")]  # fmt: skip
    else:
        columns.append(("usable share of the raw capacity", lambda fleet: _share(fleet["array"])))
    if any(fleet["groups"] > 1 for fleet in fleets):
        columns.append(
            (f"losses in a fleet of {fleets[0]['groups']:,}", lambda fleet: f"{fleet['expected_losses']:.3g}")
        )
    return [head for head, _ in columns], [[write(fleet) for _, write in columns] for fleet in fleets]


def _interval(fleet: Row) -> str:
    if fleet["samples"] is None:
        return "exact"
    p_loss = fleet["p_loss"]
    return f"{charts.written(p_loss['low'])} to {charts.written(p_loss['high'])}"


def _per_petabyte(fleet: Row) -> str:
    return charts.written(fleet["p_loss"]["value"] * 1e15 / fleet["array"]["usable_bytes"])


def _causes(fleet: Row) -> str:
    value = fleet["p_loss"]["value"]
    shares = {cause: share / value for cause, share in fleet["causes"].items() if share} if value else {}
    shares = {cause: share for cause, share in shares.items() if share >= LEAST_SHOWN}
    return ", ".join(f"{cause.replace('_', ' ')} {100 * share:.0f} %" for cause, share in shares.items()) or "–"


def _extent(extent: Row) -> str:
    """`3.1e-7; 840 GB`."""
    return f"{charts.written(extent['p'])}; {size(extent['bytes_each'])}" if extent["p"] else "–"


def _share(array: Row) -> str:
    return f"{100 * array['usable_bytes'] / array['raw_bytes']:.1f} %"


def _assumptions(fleets: Sequence[Row], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every assumption; where arrays differ, of each of them."""
    every = [fleet["assumptions"] for fleet in fleets]
    for key in every[0]:
        if key == "rules":
            yield from (("rule", rule) for rule in dict.fromkeys(rule for one in every for rule in one["rules"]))
            continue
        values = [_told(one.get(key)) for one in every]
        if len(set(values)) == 1:
            if every[0][key] is not None:
                yield key, values[0]
        else:
            yield key, "; ".join(f"{name}: {value}" for name, value in zip(names, values, strict=True))


def _told(value: object) -> str:
    return "–" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
