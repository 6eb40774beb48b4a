"""The figures of a sweep's table: their words, units, formats and better directions, from the registry of figures."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from ..registry import read
from ..render.summary_rows import HIGHER, LOWER, SECTIONS, count, micros, rate, ratio, share

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FORMS: dict[str, Callable[[float], str]] = {
    "count": count,
    "share": share,
    "ratio": ratio,
    "micros": micros,
    "rate": rate,
}
"""How numbers are written, by the name that the page's script knows."""

DEFAULTS = (
    ("response_us.read.p99",),
    ("response_us.write.p99",),
    ("waf_bytes",),
    ("wear.tbw", "wear.lifetime_days", "economy.lifespan"),
    ("throughput.iops",),
    ("economy.cost_per_gb", "economy.cost_usd"),
    ("fleet.nines", "fleet.p_loss.value"),
)
"""The figures that are shown first: of each row the first that the sweep has."""

FRONTS = (
    ("response_us.read.p99", "waf_bytes"),
    ("response_us.write.p99", "waf_bytes"),
    ("response_us.write.p99", "wear.tbw"),
    ("economy.cost_per_gb", "response_us.read.p99"),
    ("response_us.all.mean", "waf_bytes"),
)
"""Pairs of figures for the first Pareto front, by preference."""

SHORT = {
    "wear.tbw": "life (TBW)", "wear.dwpd": "drive writes a day (DWPD)", "waf_bytes": "write amplification in bytes",
    "economy.cost_per_gb": "cost of a GB", "economy.cost_usd": "cost",
}  # fmt: skip
KINDS = {"all": "all requests", "read": "reads", "write": "writes", "flush": "flushes"}


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure: its dotted path, what it is called, its unit, its better direction and how it is written."""

    path: str
    words: str
    unit: str
    better: int
    form: str

    def write(self, value: float | None) -> str:
        return "–" if value is None else FORMS[self.form](value)

    @property
    def title(self) -> str:
        """For axes and headings: `reads, p99, µs`."""
        return f"{self.words}, {self.unit}" if self.unit else self.words

    @property
    def scale(self) -> float:
        """What values are multiplied by on axes."""
        return 100.0 if self.form == "share" else 1.0

    @property
    def direction(self) -> str:
        return {LOWER: "lower is better", HIGHER: "higher is better"}.get(self.better, "")


FLEETS = {
    one.path: one
    for one in (
        Measure("fleet.p_loss.value", "probability of data loss", "", LOWER, "rate"),
        Measure("fleet.p_loss.low", "probability of data loss, low end of 95 %", "", LOWER, "rate"),
        Measure("fleet.p_loss.high", "probability of data loss, high end of 95 %", "", LOWER, "rate"),
        Measure("fleet.nines", "nines of keeping all data", "", HIGHER, "ratio"),
        Measure("fleet.expected_losses", "expected losses of the fleet", "", LOWER, "rate"),
        Measure("fleet.p_any_loss", "probability of a loss in the fleet", "", LOWER, "rate"),
        Measure("fleet.nomdl", "bytes lost per usable TB (NOMDL)", "", LOWER, "micros"),
        Measure("fleet.mttdl_years", "MTTDL", "years", HIGHER, "micros"),
        Measure("fleet.causes.failures", "losses by more failures than it survives", "", LOWER, "rate"),
        Measure("fleet.causes.latent_errors", "losses by latent errors", "", LOWER, "rate"),
        Measure("fleet.causes.shock", "losses by shocks", "", LOWER, "rate"),
        Measure("fleet.cost.usd", "cost of drives and spares", "USD", LOWER, "micros"),
        Measure("fleet.cost.usd_per_usable_tb", "cost of a usable TB", "USD", LOWER, "micros"),
    )
}
"""The figures of `[fleet]` in a plan, which no summary has."""


@cache
def _registered() -> dict[str, dict[str, object]]:
    return {metric["path"]: metric for metric in read()["metrics"]}


@cache
def _labels() -> dict[str, str]:
    """The labels of the tables of runs, by dotted path."""
    return {".".join(row.path): row.label.strip() for _, rows in SECTIONS for row in rows}


@cache
def measure(path: str) -> Measure:
    """A figure by its dotted path; one that the registry does not know has no unit and no direction."""
    if path in FLEETS:
        return FLEETS[path]
    known = _registered().get(re.sub(r"\.\d+(?=\.|$)", "[]", path)) or _registered().get(re.sub(r"\.\d+$", "", path))
    if known is None:
        return Measure(path, path, "", 0, "micros")
    unit, better = str(known["unit"]), known["better"]
    assert isinstance(better, int)
    form = "count" if known["kind"] == "count" else {"share": "share", "ratio": "ratio"}.get(unit, "micros")
    if unit in ("1/day", "USD/GB"):
        form = "ratio"
    words = _words(path)
    return Measure(path, words, _shown_unit(words, unit, form), better, form)


def _words(path: str) -> str:
    times = re.fullmatch(r"(response|service)_us\.(\w+)\.(\w+)", path)
    if times and times[3] != "count":
        what, kind, which = times.groups()
        return f"{KINDS.get(kind, kind)}, {'service ' if what == 'service' else ''}{which.replace('_', '.')}"
    return SHORT.get(path) or _labels().get(path) or path


def _shown_unit(words: str, unit: str, form: str) -> str:
    """A unit where the words do not say it already."""
    if form == "share":
        return "%"
    if unit in ("ratio", "1/day", "") or unit in words or form == "count" or "a second" in words:
        return ""
    return unit


def defaults(paths: Iterable[str]) -> list[Measure]:
    """The figures that are shown first, of those that exist."""
    known = set(paths)
    found = (next((path for path in row if path in known), None) for row in DEFAULTS)
    return [measure(path) for path in found if path]


def default_pair(paths: Iterable[str]) -> tuple[Measure, Measure] | None:
    """The figures of the first Pareto front, of those that exist and differ between cells."""
    known = list(paths)
    for a, b in FRONTS:
        if a in known and b in known:
            return measure(a), measure(b)
    two = [one for one in defaults(known) if one.better][:2]
    return (two[0], two[1]) if len(two) == 2 else None
