"""The options of a run, from the table in `crates/flashkeep/src/job.rs`."""

from __future__ import annotations

import json
import operator
import os

from .. import _flashkeep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, SupportsFloat, SupportsIndex


def whole(option: str, found: SupportsIndex | None, least: int, bits: int) -> int | None:
    """Checks a number of requests, bytes or the like here, where the argument's name is known for the message."""
    if found is None:
        return None
    try:
        number = operator.index(found)  # NumPy's integers too
    except TypeError:
        number = -1
    if not least <= number < 2**bits:
        raise _flashkeep.OptionError(
            f"{option}: found {found!r}; a whole number, {least} or more and below 2^{bits}, is accepted"
        )
    return number


def factor(option: str, found: SupportsFloat | None) -> float | None:
    """Checks a factor, and makes it Python's own number."""
    if found is None:
        return None
    if not 0.0 < float(found) < float("inf"):
        raise _flashkeep.OptionError(f"{option}: found {found!r}; a number above 0 is accepted")
    return float(found)


class RunOption:
    """An option of a run: what it is for, and what it takes; see `RunOption` in Rust."""

    __slots__ = ("about", "bits", "kind", "least", "metavar", "name", "repeat", "scope")
    name: str
    about: str
    scope: str
    metavar: str | None
    kind: str
    least: int
    bits: int
    repeat: bool

    def __init__(self, entry: Mapping[str, Any]) -> None:
        for key, value in entry.items():
            setattr(self, key, value)

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def in_python(self) -> str:
        """Its name in Python, where switches say what is done: `breakdown` for `no_breakdown`."""
        return self.name.removeprefix("no_")

    def of(self, given: Mapping[str, Any]) -> object:
        """Its value in a job, from options of Python; None without one."""
        if self.in_python != self.name:
            return not given.get(self.in_python, True)
        value = given.get(self.name)
        if self.kind == "flag":
            return bool(value)
        if self.repeat:
            value = given.get(self.name, ())
            return [value] if isinstance(value, str) else list(value)
        if value is None or value == "":
            return None
        if self.kind == "file":
            return os.fspath(value)
        if self.kind == "whole":
            return whole(self.name, value, self.least, self.bits)
        if self.kind == "count" and not isinstance(value, str):
            return str(whole(self.name, value, self.least, 64))
        return str(value) if self.kind == "warmup" else value


RUN_OPTIONS = tuple(map(RunOption, json.loads(_flashkeep.run_options())))
"""The options of a run, in the order of the command line."""


OF_SERVED_DRIVES = ("existing", "handle", "fail", "scenario", "condition", "aged")
"""The options of a run that a served drive has, besides `seed`."""


def options_of(*scopes: str) -> list[RunOption]:
    """The options of some scopes."""
    return [option for scope in scopes for option in RUN_OPTIONS if option.scope == scope]


def names_of(*scopes: str) -> tuple[str, ...]:
    """Their names in Python."""
    return tuple(option.in_python for option in options_of(*scopes))
