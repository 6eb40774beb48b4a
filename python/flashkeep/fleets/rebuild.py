"""How long a rebuild takes: an array is simulated, a member of it fails, and the new one is rebuilt."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from .._flashkeep import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .spec import Array

WORKLOAD = "synth:sequential,requests=131072,write=0,size=64KiB,footprint=4GiB,depth=1"
"""Two passes over 4 GiB, one request at a time. The first creates the pages; their rebuild during the second has a
speed, from which the time of a full member follows."""

FAILURE = "member:0@50%,replace_after=1ms"

SAMPLE = "512MiB"
"""The part rebuilt in a simulation: its speed is known then, and the rest of a full drive would take minutes."""

LEAST_DRAM_FILLS = 4.0
"""What a rebuild writes has to fill the DRAM of the new drive so often: before, its speed is partly the DRAM's."""


class Measured(NamedTuple):
    """The rebuild that a run has measured beside its workload, until enough was rebuilt or the last request came."""

    hours: float | None
    """What the rebuild of a full member takes at this speed."""
    mb_s: float | None
    gib: float | None
    """What it wrote."""
    reason: str | None
    """Why it says nothing about a full member."""


def measured(summary: Mapping[str, Any]) -> Measured:
    """The last rebuild of a run."""
    found = [rebuild for rebuild in summary.get("rebuilds") or () if rebuild["full_member_hours"]]
    if not found:
        return Measured(None, None, None, "nothing was rebuilt within the trace")
    last = found[-1]
    fills = last.get("dram_fills")
    if fills is not None and fills < LEAST_DRAM_FILLS:
        return Measured(None, None, last["gib"], f"the rebuild wrote {last['gib']:.3f} GiB within the trace, only "
                        f"{fills:.1f} times what the new drive's DRAM holds")  # fmt: skip
    return Measured(last["full_member_hours"], last["mb_s"], last["gib"], None)


def text_of(
    count: int, drive: str, scheme: str, overrides: tuple[str, ...], keys: Mapping[str, int] | None = None
) -> str:
    """The drive file of an array of equal drives; `keys` are those of the scheme."""
    path = os.path.abspath(drive) if "/" in drive or drive.endswith(".toml") else drive
    member = ",".join([f"{count} * {path}", *overrides])
    own = "".join(f"{key} = {value}\n" for key, value in (keys or {}).items())
    return f"members = [{_quoted(member)}]\n\n[redundancy]\nscheme = {_quoted(scheme)}\n" + own


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def simulated_hours(array: Array, seed: int, workload: str | None = None) -> float:
    """The hours that the rebuild of a full drive takes by a simulation, under a workload or the reads above.

    Raises `OptionError` if there is no drive model or nothing to rebuild.
    """
    if array.levels or not array.group.tolerance:
        raise OptionError(f"--rebuild simulated: {array.name} is no array of drives with redundancy; give --mttr-hours")
    summary = simulated(array, seed, "--rebuild simulated", "--mttr-hours", workload, FAILURE)
    found = measured(summary)
    if found.hours is None:
        under = "" if workload is None else f" under {workload}"
        raise OptionError(
            f"--rebuild simulated: {array.name}{under}: {found.reason}; give --mttr-hours, or a --workload that leaves "
            "time for a rebuild"
        )
    return found.hours


def simulated(
    array: Array, seed: int, option: str, instead: str, workload: str | None, fail: str | None = None
) -> dict[str, Any]:
    """The summary of a run of an array, as `flashkeep run` gives it.

    Raises `OptionError`, `DriveError` or `TraceError`.
    """
    from ..api import run
    from ..inputs.drive_files import Drive

    if array.model is None:
        raise OptionError(f"{option}: {array.name} has no drive model; give {instead}")
    given: dict[str, Any] = {"existing": "reads"} if workload is None else {}
    if fail is not None:
        given |= {"fail": fail, "stop_rebuild": SAMPLE}
    result = run(
        Drive(*array.model), workload or WORKLOAD, seed, requests=False, breakdown=False, progress=False, **given
    )
    return result.to_dict()
