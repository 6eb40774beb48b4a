"""The Pareto front of designs: probability of loss, 99th percentile of response times, cost of a usable TB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    Row = dict[str, Any]


def mark(rows: Sequence[Row], latency: str) -> None:
    """Sets `pareto` of each row: true if no other one is better in one of the three and worse in none. Rows without
    one of the figures are no candidates, and neither are those that cannot carry the load: their response times say
    only how long the trace is."""
    known = [
        row for row in rows
        if None not in (row["p_loss"], row["response_us"][latency]["p99"], cost_of(row)) and row["saturation"] is None
    ]  # fmt: skip
    for row in rows:
        row["pareto"] = any(row is each for each in known) and not any(_beats(other, row, latency) for other in known)


def cost_of(row: Row) -> float | None:
    """The cost of a usable TB; without prices the raw bytes of a usable byte, which rank equal drives alike."""
    cost = row["cost"]
    found: float | None = row["raw_per_usable"] if cost is None else cost["usd_per_usable_tb"]
    return found


def _beats(one: Row, other: Row, latency: str) -> bool:
    loss = _order(one["p_loss"]["high"], other["p_loss"]["low"]), _order(other["p_loss"]["high"], one["p_loss"]["low"])
    # Losses whose intervals overlap are equal.
    orders = [-1 if loss[0] < 0 else 1 if loss[1] < 0 else 0]
    orders.append(_order(one["response_us"][latency]["p99"], other["response_us"][latency]["p99"]))
    orders.append(_order(cost_of(one) or 0.0, cost_of(other) or 0.0))
    return max(orders) <= 0 and min(orders) < 0


def _order(one: float, other: float) -> int:
    """−1 if the first is less; numbers that are equal to five digits are equal."""
    if abs(one - other) <= 1e-5 * max(abs(one), abs(other)):
        return 0
    return -1 if one < other else 1
