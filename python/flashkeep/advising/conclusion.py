"""What follows for somebody who has to choose: the cheapest redundancy within two limits, or what comes closest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._flashkeep import OptionError
from ..render.summary_rows import micros
from .front import cost_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    Row = dict[str, Any]

MAX_LOSS = 1e-4
"""One array of 10,000 within the mission."""
TIMES_LOWEST = 2.0
"""The largest 99th percentile, as a multiple of the lowest of all rows."""


@dataclass(frozen=True)
class Limits:
    """The limits that were asked for; none means the default."""

    loss: float | str | None = None
    p99_us: float | str | None = None

    def check(self) -> None:
        """Refuses limits that are no limits."""
        _number("--max-loss", self.loss, 1.0)
        _number("--max-p99", self.p99_us, math.inf)


def conclude(rows: Sequence[Row], limits: Limits, latency: str, years: float, priced: bool) -> dict[str, Any]:
    """The row to take: of those that carry the load, the cheapest within both limits; or the one that exceeds them
    least."""
    candidates = [row for row in rows if _counts(row, latency)]
    loss, p99 = _number("--max-loss", limits.loss, 1.0), _number("--max-p99", limits.p99_us, math.inf)
    lowest = min((_p99(row, latency) for row in candidates), default=None)
    found: Row = {
        "max_loss": MAX_LOSS if loss is None else loss,
        "max_loss_from": "default: one array of 10,000" if loss is None else "given",
        "max_p99_us": p99 if p99 is not None or lowest is None else TIMES_LOWEST * lowest,
        "max_p99_from": f"default: {TIMES_LOWEST:g} times the lowest of the table" if p99 is None else "given",
        "latency": latency, "scheme": None, "width": None, "meets": False,
    }  # fmt: skip
    if not candidates:
        return found | {"text": "No conclusion: no redundancy that carries this load has both a P(loss) and a response "
                                "time."}  # fmt: skip

    def excess(row: Row) -> float:
        """By which factor a row exceeds the limit that it exceeds most, as a logarithm."""
        return max(0.0, math.log(max(_loss(row), 1e-300) / found["max_loss"]),
                   math.log(_p99(row, latency) / found["max_p99_us"]))  # fmt: skip

    def order(row: Row) -> tuple[float, ...]:
        return excess(row), cost_of(row) or 0.0, _loss(row), _p99(row, latency)

    best = min(candidates, key=order)
    found |= {"scheme": best["scheme"], "width": best["width"], "meets": excess(best) == 0.0}
    return found | {"text": _text(found, best, candidates, years, priced)}


def _text(found: Row, best: Row, candidates: Sequence[Row], years: float, priced: bool) -> str:
    latency = found["latency"]
    limits = f"P(loss) < {probability(found['max_loss'])} in {_years(years)} and {latency} p99 < " \
             f"{micros(found['max_p99_us'])} µs"  # fmt: skip
    cost = f"{cost_of(best):,.2f} {'USD' if priced else 'raw TB'} for each usable TB"
    other = "write" if latency == "read" else "read"
    beside = best["response_us"][other]["p99"]
    figures = f"P(loss) {probability(_loss(best))}, {latency} p99 {micros(_p99(best, latency))} µs, "
    figures += ("" if beside is None else f"{other} p99 {micros(beside)} µs, ") + cost
    if not found["meets"]:
        return f"No redundancy has {limits}; {name_of(best)} comes closest: {figures}."
    cheaper = [row for row in candidates if (cost_of(row) or 0.0) < (cost_of(best) or 0.0) * (1 - 1e-9)]
    why = [f"{name_of(row)} ({_excess_of(row, found)})" for row in sorted(cheaper, key=lambda row: cost_of(row) or 0.0)]
    more = f" Cheaper, but beyond a limit: {', '.join(why)}." if why else ""
    return f"The cheapest with {limits} is {name_of(best)}: {figures}.{more}"


def _excess_of(row: Row, found: Row) -> str:
    told = []
    if _loss(row) > found["max_loss"]:
        told.append(f"P(loss) {probability(_loss(row))}")
    if _p99(row, found["latency"]) > found["max_p99_us"]:
        told.append(f"p99 {micros(_p99(row, found['latency']))} µs")
    return ", ".join(told)


def _counts(row: Row, latency: str) -> bool:
    """Whether a row has the compared figures, carries the load, and lost nothing when one member failed."""
    known = row["reason"] is None and None not in (row["p_loss"], row["response_us"][latency]["p99"], cost_of(row))
    return known and row["saturation"] is None and not row["lost_pages"]


def _loss(row: Row) -> float:
    """The high end of the interval."""
    return float(row["p_loss"]["high"])


def _p99(row: Row, latency: str) -> float:
    return float(row["response_us"][latency]["p99"])


def _years(years: float) -> str:
    return f"{years:g} year{'' if years == 1 else 's'}"


def name_of(row: Row) -> str:
    """`mirror 2`: the scheme, and the width of its groups if it has groups."""
    return f"{row['scheme']} {row['width']}" if row["width"] else str(row["scheme"])


def probability(value: float) -> str:
    """`0.33`, `2.1e-3`, `1e-4`."""
    if value >= 0.01 or value <= 0:
        return f"{value:.2g}"
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}"


def _number(flag: str, found: float | str | None, most: float) -> float | None:
    if found is None:
        return None
    try:
        number = float(found[:-1]) / 100 if isinstance(found, str) and found.endswith("%") else float(found)
    except ValueError:
        number = math.nan
    if not (0 < number <= most and math.isfinite(number)):
        accepted = "a probability above 0 and up to 1, such as 1e-4" if most == 1.0 else "µs above 0, such as 300"
        raise OptionError(f"{flag}: found {found!r}; {accepted}, is accepted")
    return number
