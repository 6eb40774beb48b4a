"""Times as the model takes them: hours, fixed:H, uniform:H, exponential:H, weibull:SHAPE:SCALE[:LOCATION]."""

from __future__ import annotations

SHORTEST = 1e-3
"""The shortest time that the model takes, hours."""


def percent(share: float) -> str:
    """`1 %`, `0.0233 %`."""
    return f"{100 * share:.3g} %"


def scaled(text: str, by: float) -> str:
    """A time as the model takes it, with all hours times a factor."""
    kind, colon, numbers = text.partition(":")
    if not colon:
        return repr(float(text) * by)
    parts = numbers.split(":")
    kept = 1 if kind == "weibull" else 0
    return ":".join([kind, *parts[:kept], *(repr(float(part) * by) for part in parts[kept:])])


def shortest(text: str) -> float:
    """The scale of a time, hours."""
    kind, colon, numbers = text.partition(":")
    return float(numbers.split(":")[kind == "weibull"] if colon else kind)


def told_time(text: str) -> str:
    """`24 h`, `always 24 h`, `Weibull 2, 12 h + 6 h`."""
    kind, colon, numbers = text.partition(":")
    if not colon:
        return duration(float(text))
    if kind != "weibull":
        words = {"fixed": "always ", "uniform": "up to "}.get(kind, "")
        return f"{words}{duration(float(numbers))}"
    shape, scale, *location = map(float, numbers.split(":"))
    after = f" + {duration(location[0])}" if location and location[0] else ""
    return f"Weibull {shape:.3g}, {duration(scale)}{after}"


def told_scale(text: str) -> str:
    """`8.33 years`: the time by which 63 % of lives have ended, or the mean of exponential ones."""
    hours = shortest(text)
    return f"{hours / 8760:.3g} years" if hours >= 8760 else duration(hours)


def duration(value: float) -> str:
    """`24 h`, `461,000 h`."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f} h" if rounded >= 1000 else f"{rounded:.3g} h"
