"""What `reproduce fleet` asks the fleet model: arrays and options by the names of the published cells."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..fleets.api import fleet_of
from ..fleets.options import Options

if TYPE_CHECKING:
    from .paper import Results

BIASING_ERROR, QUICK_ERROR = 0.003, 0.005
"""Half of the 95 % interval at which biasing stops, of its estimate: at full scale, and for a quick look."""
GROUPS = 400_000
"""Arrays simulated for each interval of scrubbing at full scale: ten times those of the sketch."""
LEAST_GROUPS = 100_000
"""At any scale: with fewer, losses under frequent scrubbing scatter by more than the rule allows."""


class Case(NamedTuple):
    """An array and its options, as `flashkeep fleet` takes them."""

    array: str
    options: tuple[tuple[str, Any], ...]

    def asked(self, **more: object) -> Case:
        """The same with more options, or other ones."""
        return Case(self.array, tuple({**dict(self.options), **more}.items()))


@cache
def model(case: Case) -> dict[str, Any]:
    """What `flashkeep fleet --json` says of it."""
    return fleet_of(case.array, Options(**dict(case.options)))


def plain(array: str, afr: str, hours: float, **more: object) -> Case:
    """Exponential lives and repairs."""
    return Case(array, (("afr", afr), ("mttr_hours", hours), *more.items()))


def with_ubers() -> dict[str, Case]:
    """Eight drives of 1.92 TB with errors met by rebuilds."""
    return {
        f"RAID-{level} of 8 x 1.92 TB (UBER {uber})": plain(f"8*1.92TB:raid{level}", "1%", 24, uber=uber)
        for level in (5, 6) for uber in ("1e-15", "1e-16", "1e-17")
    }  # fmt: skip


CASES = {
    "RAID-5 of 8 (AFR 1 %; 24 h)": plain("8*1TB:raid5", "1%", 24),
    "RAID-5 of 14 (AFR 2 %; 12 h)": plain("14*1TB:raid5", "2%", 12),
    "RAID-6 of 8 (AFR 1 %; 24 h)": plain("8*1TB:raid6", "1%", 24),
    "RAID-6 of 8 (AFR 1 %; 24 h; serial repair)": plain("8*1TB:raid6", "1%", 24, repair="serial"),
    "RAID-6 of 12 (AFR 2 %; 48 h)": plain("12*1TB:raid6", "2%", 48),
    "11 + 3 of 14 (AFR 2 %; 48 h)": plain("14*1TB:11+3", "2%", 48),
    **with_ubers(),
}
"""The closed forms' arrays, by the rows of their tables."""


def exact(row: str) -> float:
    """P(loss) by the Markov chain."""
    found: float = model(CASES[row].asked(method="exact"))["p_loss"]["value"]
    return found


def biasing_error(results: Results) -> float:
    """When biasing stops."""
    return BIASING_ERROR if results.scale == 1 else QUICK_ERROR


def biased(row: str, results: Results) -> float:
    """P(loss) by failure biasing."""
    case = CASES[row].asked(method="biasing", rel_error=biasing_error(results), seed=results.seed)
    found: float = model(case)["p_loss"]["value"]
    return found


MLEC_AFR = 0.05
MLEC_HOURS = 20e12 / 100e6 / 3600
"""20 TB at 100 MB/s, both decimal."""


def pools(survives: int, **more: object) -> Case:
    """Ten pools of ten drives that lose data when one more than `survives` of a pool are missing."""
    rule: dict[str, object] = {"years": 1, "repair": "serial", **more}
    return plain(f"10*10*20TB:{10 - survives}+{survives}:none", f"{100 * MLEC_AFR:g}%", MLEC_HOURS, **rule)


MLEC = {"two of a pool at once": 1, "three, after two": 2, "four, after three: data loss": 3}
"""mlec-sim's stages, and the failures that a pool survives if the stage's are a loss."""
RULES = {
    "serial, rate -ln(1 - AFR)": pools(3),
    "serial, rate AFR": pools(3).asked(afr=-math.expm1(-MLEC_AFR)),
    "parallel, rate -ln(1 - AFR)": pools(3, repair="parallel"),
}
"""Ways to read the same experiment. The AFR of drives with a rate of 0.05 a year is 1 - e^-0.05."""


def stage(row: str) -> float:
    """The nines of a stage: those of this number missing at once, less those of the stage before."""
    if row not in MLEC:
        return nines(pools(max(MLEC.values())))
    survives = MLEC[row]
    return nines(pools(survives)) - (nines(pools(survives - 1)) if survives > 1 else 0.0)


def nines(case: Case) -> float:
    """-log10 of P(loss)."""
    found: float = model(case)["nines"]
    return found


SCRUBBED = {"no scrubbing": None, "every 336 h": 336, "every 168 h": 168, "every 48 h": 48, "every 12 h": 12}
"""Elerath and Pecht's intervals: the scale of the Weibull time to scrub a drive."""
ARRAYS = 1000
LATENT = Case(
    "8*1TB:raid5",
    (("life", "weibull:1.12:461386"), ("mttr_hours", "weibull:2:12:6"), ("latent_hours", 9259), ("years", 10),
     ("groups", ARRAYS), ("method", "plain"), ("rel_error", 1e-6)),
)  # fmt: skip
METHOD = Case(
    "8*1TB:raid5", (("life", "weibull:1:461386"), ("mttr_hours", 12), ("years", 10), ("groups", ARRAYS))
)  # fmt: skip
"""The same drives with exponential lives and repairs, and no latent errors: what MTTDL assumes."""


def losses(row: str, results: Results) -> float:
    """Expected losses of a thousand arrays in ten years, by plain simulation."""
    samples = max(LEAST_GROUPS, round(results.scale * GROUPS))
    case = LATENT.asked(samples=samples, seed=results.seed)
    hours = SCRUBBED[row]
    if hours is not None:
        case = case.asked(scrub_hours=f"weibull:3:{hours}:6")
    found: float = model(case)["expected_losses"]
    return found


def by_method() -> float:
    """Expected losses by the method of MTTDL."""
    found: float = model(METHOD)["expected_losses"]
    return found


def fails(afr: float) -> float:
    """The share of lone drives, in per cent, that fail within a year."""
    found: float = model(Case("1*1TB:raid0", (("afr", f"{afr}%"), ("years", 1))))["p_loss"]["value"]
    return 100 * found


def lost(level: int, afr: float) -> float:
    """P(loss) in five years of eight drives of 1.92 TB with a rate of failures from the field."""
    case = plain(f"8*1.92TB:raid{level}", f"{afr}%", 24, uber="1e-17")
    found: float = model(case)["p_loss"]["value"]
    return found
