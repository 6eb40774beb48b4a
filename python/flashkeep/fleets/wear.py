"""When drives are worn out by what is written to them, as a Weibull life."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .._flashkeep import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

HOURS_A_YEAR = 8760.0
DAYS_A_YEAR = 365
SHAPE = 10.0
"""Of wear (ours): 30 % of the drives are worn out at 90 % of the time, 0.1 % at half of it."""
LATE = 0.03
"""The share of drives that may fail while they are used within their rating (JESD218, noted from memory)."""
WARRANTY_YEARS = 5.0
"""For how long drives are rated, unless it is said."""
FORMS = ("hours until the rated endurance is used up, dwpd:WRITTEN:RATED[:YEARS], weibull:SHAPE:SCALE[:LOCATION] in "
         "hours, or simulated")  # fmt: skip


def life_of(text: str) -> str:
    """The life by wear, as the model takes it: `weibull:SHAPE:SCALE[:LOCATION]`.

    Raises `OptionError`.
    """
    kind, colon, numbers = text.strip().partition(":")
    if kind == "weibull" and colon:
        return text.strip()
    try:
        found = [float(number) for number in (numbers if colon else kind).split(":")]
    except ValueError:
        found = []
    if any(not 0.0 < number < 1e12 for number in found):
        found = []
    if not colon and len(found) == 1:
        return weibull(found[0])
    if kind == "dwpd" and len(found) in (2, 3):
        written, rated, years = (*found, WARRANTY_YEARS)[:3]
        return weibull(HOURS_A_YEAR * years * rated / written)
    raise OptionError(f"--wear: found {text!r}; {FORMS} is accepted")


def weibull(hours: float) -> str:
    """A life by wear whose scale is the time until the rated endurance is used up."""
    return f"weibull:{SHAPE!r}:{hours!r}"


def at_share(share: float, hours: float) -> str:
    """A life by wear by which this share of drives is worn out at this time."""
    return weibull(hours / (-math.log1p(-share)) ** (1 / SHAPE))


def life_years(summary: Mapping[str, Any]) -> float | None:
    """How long the drives last if the workload of a run continues: what a host can write over what it writes a day."""
    wear = summary.get("wear") or {}
    tbw, a_day = wear.get("tbw"), wear.get("workload_dwpd")
    if not tbw or not a_day:
        return None
    return float(tbw * 1e12 / (a_day * summary["capacity_bytes"]) / DAYS_A_YEAR)


def life_of_run(summary: Mapping[str, Any], name: str) -> str:
    """The life by wear of drives under the workload of a run.

    Raises `OptionError` if the run wrote nothing, or the drives have no erase budget.
    """
    years = life_years(summary)
    if years is None:
        raise OptionError(f"--wear simulated: nothing wears {name} out under this workload: it programs less than a "
                          "tenth of the flash, or the drives have no erase budget (ftl.wear.erase_budget); give --wear "
                          "as hours")  # fmt: skip
    return weibull(HOURS_A_YEAR * years)
