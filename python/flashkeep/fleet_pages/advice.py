"""The page of advice: loss against response time and cost, the table, the assumptions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..advising import command
from ..advising.conclusion import name_of
from ..render import pages
from ..render.figures import Picture, draw
from .charts import Axis, draw_losses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from ..render.figures import Style

    Row = Mapping[str, Any]


def write_page(found: Mapping[str, Any], path: str) -> str:
    """Writes the page; returns a description of its contents."""
    figures = [draw(picture) for picture in losses(found)]
    rows = [row for row in found["rows"] if row["reason"] is None]
    columns = command.columns_of(dict(found))
    page = pages.render(
        "advice.html.jinja", title=command.title(dict(found)), subtitle=command.subtitle(dict(found)), figures=figures,
        heads=[" ".join(filter(None, heads)) for heads, _ in columns],
        rows=[(name_of(row), row["pareto"], [write(row) for _, write in columns]) for row in rows],
        conclusion=found["conclusion"]["text"], limits=command.limits_in_words(dict(found)),
        front=command.front_in_words(dict(found)), notes=found["notes"],
        reasons=[(name_of(row), reason) for row in found["rows"] for reason in command.reasons_of(row)],
        failure_title=command.FAILURE_TITLE, failure_heads=command.FAILURE_HEADS, pairs=("p50", "p99", "p99.9"),
        failure_rows=command.failure_rows(dict(found)),
        assumptions=command.assumptions_of(dict(found)), version=found["flashkeep"], seed=found["seed"],
    )  # fmt: skip
    pages.write(path, page)
    return f"{path}: {len(rows)} redundancies, {len(figures)} figure{'s' * (len(figures) != 1)}"


def losses(found: Mapping[str, Any]) -> list[Picture]:
    """P(loss) against cost, and against response time; nothing if no row has all of them. Two figures, so that a narrow
    screen shows one below the other."""
    latency, cost = found["front"][1], found["front"][2]
    kind = latency.split(".")[1]
    known = [
        row for row in found["rows"]
        if row["p_loss"] and row["response_us"] and row["response_us"][kind]["p99"] and not row["saturation"]
    ]  # fmt: skip
    if not known:
        return []
    priced = cost == "cost.usd_per_usable_tb"
    axes = [
        Axis("USD for each usable TB" if priced else "raw TB for each usable TB",
             tuple(row["cost"]["usd_per_usable_tb"] if priced else row["raw_per_usable"] for row in known)),
        Axis(f"99th percentile of {kind}s, µs", tuple(row["response_us"][kind]["p99"] for row in known)),
    ]  # fmt: skip
    years = found["years"]
    caption = (f"P(loss) in {years:g} years against cost and response time: lower and further left is better. "
               "Diamonds are on the Pareto front of all three")  # fmt: skip
    return [Picture(f"advice-{at}", caption, partial(_draw, known, axis, years), (4.4, 3.5))
            for at, axis in enumerate(axes)]  # fmt: skip


def _draw(known: Sequence[Row], axis: Axis, years: float, figure: Figure, style: Style) -> None:
    front = [at for at, row in enumerate(known) if row["pareto"]]
    names = [name_of(dict(row)) for row in known]
    draw_losses(figure, style, [row["p_loss"] for row in known], names, [axis], [front], years)
