"""The questions to the model: options, their defaults, and those that exclude each other."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from .._flashkeep import OptionError
from ..inputs.run_options import whole
from . import defaults
from .wear import life_of

if TYPE_CHECKING:
    from collections.abc import Mapping

METHODS = ("auto", "exact", "plain", "biasing", "splitting")
ORDERS = ("parallel", "serial")
SECTOR_BYTES = 4096
"""What a latent error loses."""

WHOLE = {"groups": (1, 63), "spares": (0, 32), "samples": (1, 63), "threads": (1, 10), "seed": (0, 64)}
"""The options that are whole numbers: the least, and the bits of the largest."""


@dataclass(frozen=True)
class Options:
    """The options, by the names of the command line. None means the default."""

    years: float | None = None
    groups: int | None = None
    afr: float | str | None = None
    life: str | None = None
    wear: float | str | None = None
    wear_spread: float | str | None = None
    uber: float | str | None = None
    mttr_hours: float | str | None = None
    rebuild: float | str | None = None
    workload: str | None = None
    repair: str | None = None
    detect_hours: float | str | None = None
    spares: int | None = None
    restock_hours: float | str | None = None
    latent_hours: float | str | None = None
    scrub_hours: float | str | None = None
    batch_frailty: float | str | None = None
    shock: float | str | None = None
    price: str | None = None
    method: str | None = None
    rel_error: float | str | None = None
    samples: int | None = None
    threads: int | None = None
    seed: int | None = None

    @classmethod
    def of(cls, assumptions: Mapping[str, Any], command: str, **others: Any) -> Options:
        """The options of a call from Python; whole numbers and paths may be of any type that says so.

        Raises `TypeError` for names that there are not.
        """
        given = {**assumptions, **others}
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                raise TypeError(f"{command}() got an unexpected keyword argument {name!r}")
        for name, (least, bits) in WHOLE.items():
            given[name] = whole(name, given.get(name), least, bits)
        for name in ("price", "workload"):
            given[name] = None if given.get(name) is None else os.fspath(given[name])
        return cls(**given)

    def check(self) -> None:
        """Refuses options that exclude each other, and words that are not known."""
        for one, other, why in (
            ("afr", "life", "both say how long drives live"),
            ("uber", "latent_hours", "both are models of latent errors: errors per bit read, or errors that arise with "
             "time"),
            ("mttr_hours", "rebuild", "both say how long a repair takes"),
        ):  # fmt: skip
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise OptionError(f"{_flag(one)} and {_flag(other)}: {why}; give one of them")
        for one, needed, why in (
            ("scrub_hours", "latent_hours", "scrubbing removes errors that arise with time"),
            ("wear_spread", "wear", "without wear no drive is worn out"),
        ):
            if getattr(self, one) is not None and getattr(self, needed) is None:
                raise OptionError(f"{_flag(one)}: has no effect without {_flag(needed)}: {why}")
        if self.workload is not None and "simulated" not in (self.rebuild, self.wear):
            raise OptionError("--workload: has no effect without --rebuild simulated or --wear simulated")
        if self.rebuild is not None and self.rebuild != "simulated" and not 0.0 < _plain(self.rebuild) <= 1e12:
            raise OptionError(f"--rebuild: found {self.rebuild!r}; simulated, or hours, is accepted")
        for name, accepted in (("method", METHODS), ("repair", ORDERS)):
            found = getattr(self, name)
            if found is not None and found not in accepted:
                raise OptionError(f"{_flag(name)}: found {found!r}; {' or '.join(accepted)} is accepted")

    def of_model(self) -> dict[str, Any]:
        """The options as the model takes them, defaults filled in."""
        self.check()
        afr = None if self.life is not None else self._share("afr", defaults.AFR, 1e-9, 0.999999)
        spares = self._whole("spares", None, 0, 1000)
        latent = self._number("latent_hours", None, 1.0, 1e12)
        shock, taken = self._shock()
        return {
            "years": self._number("years", 5.0, 1e-3, 100.0),
            "groups": self._whole("groups", 1, 1, 10**12),
            "afr": afr,
            "life": self.life,
            "wear": None if self.wear in (None, "simulated") else life_of(str(self.wear)),
            "wear_spread": self._number("wear_spread", 0.0, 0.0, 3.0),
            "mttr_hours": str(defaults.MTTR_HOURS if self.mttr_hours is None else self.mttr_hours),
            "repair": self.repair or ORDERS[0],
            "detect_hours": None if self.detect_hours in (None, 0, "0") else str(self.detect_hours),
            "spares": spares,
            "restock_hours": None if self.restock_hours is None else str(self.restock_hours),
            "uber": None if latent is not None else self._number("uber", 0.0, 0.0, 1.0),
            "latent_hours": latent,
            "scrub_hours": self._scrub(),
            "batch_frailty": self._number("batch_frailty", 0.0, 0.0, 100.0),
            "shock": shock,
            "shock_share": taken,
            "method": self.method or METHODS[0],
            "rel_error": self._share("rel_error", 0.01, 1e-6, 1.0),
            "samples": self._whole("samples", 10_000_000, 1, 10**15),
            "seed": self._whole("seed", 1, 0, 2**64 - 1),
        }

    def _scrub(self) -> str | None:
        """A number of hours is a period: an error stays until the next pass, at most for this period."""
        if self.scrub_hours is None:
            return None
        text = str(self.scrub_hours)
        return text if math.isnan(_plain(text)) else f"uniform:{text}"

    def _shock(self) -> tuple[float, float | None]:
        """The probability that a failure is a shock, and that with which it takes each other drive, if that is said."""
        if not isinstance(self.shock, str) or ":" not in self.shock:
            return self._share("shock", 0.0, 0.0, 1.0), None
        beta, taken = self.shock.split(":", 1)
        of, each = replace(self, shock=beta), replace(self, shock=taken)
        return of._share("shock", 0.0, 0.0, 1.0), each._share("shock", 0.0, 0.0, 1.0)

    def _number(self, name: str, usual: float | None, low: float, high: float) -> float | None:
        found = getattr(self, name)
        return usual if found is None else _within(name, found, _plain(found), low, high)

    def _share(self, name: str, usual: float, low: float, high: float) -> float:
        """A share, which may be a percentage."""
        found = getattr(self, name)
        if found is None:
            return usual
        if isinstance(found, str) and found.endswith("%"):
            return _within(name, found, _plain(found[:-1]) / 100, low, high)
        return _within(name, found, _plain(found), low, high)

    def _whole(self, name: str, usual: int | None, low: int, high: int) -> int | None:
        found = getattr(self, name)
        if found is None:
            return usual
        try:
            number = found.__index__()
        except AttributeError:
            number = None
        if number is None or isinstance(found, bool) or not low <= number <= high:
            raise OptionError(f"{_flag(name)}: found {found!r}; a whole number from {low} to {high} is accepted")
        return int(number)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _plain(found: Any) -> float:
    try:
        return float(found)
    except (TypeError, ValueError):
        return math.nan


def _within(name: str, found: object, number: float, low: float, high: float) -> float:
    if low <= number <= high:
        return number
    raise OptionError(f"{_flag(name)}: found {found!r}; a number from {low:g} to {high:g} is accepted")
