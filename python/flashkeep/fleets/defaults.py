"""What `fleet` and `advise` assume of drives and repairs unless options say otherwise: so that both say the same.

The functions put them into the options of the model, and say where each comes from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .options import Options
    from .spec import Array

AFR = 0.01
"""Near the SSDs of Backblaze in 2021 and 2022, 1.05 % and 0.98 % a year."""
MTTR_HOURS = "24"
"""The mean time from a failure to the end of its repair in a rack that is serviced daily, without a hot spare: the
failure is noticed, the drive replaced and rebuilt within a day."""
REPLACE_HOURS = "24"
"""Before a measured rebuild, where no hot spare is at hand: until the failure is noticed and the drive replaced, as on
the next business day of a service contract."""
NOTICE_HOURS = "4"
"""Before it, where a spare is at hand (ours): until a drive that errs or stalls is taken out for the spare."""
RESTOCK_HOURS = "24"
"""Until a hot spare that was taken is replaced."""
SHORTEST_HOURS = 0.001
"""The shortest repair that the model takes; rebuilds of very small drives are shorter."""
USUAL_UBER = "1e-16"
"""What enterprise drives are rated for (JESD218, noted from memory)."""

SERVICED = "default: without a hot spare, noticed, replaced and rebuilt within a day"
WITH_SPARES = "default, which is that without a hot spare: --rebuild or --mttr-hours say how soon one takes over"
WAITED = "default, after a wait for a new drive (restock_hours)"
GIVEN = "given"
STATED = "the drive (errors.uber_target)"


def repair_from(options: Options, asked: dict[str, Any], rebuild: float | None) -> str:
    """Fills in the repair time; says where it comes from. `rebuild` is the time of a rebuild, which does not begin at
    the failure: `--detect-hours` comes before it, or a default."""
    if rebuild is None:
        if options.mttr_hours is not None:
            return GIVEN
        spares = asked["spares"]
        return SERVICED if spares is None else WITH_SPARES if spares else WAITED
    asked["mttr_hours"] = f"fixed:{max(rebuild, SHORTEST_HOURS)!r}"
    what = "the simulated rebuild of a full member" if options.rebuild == "simulated" else "a given rebuild (--rebuild)"
    if options.detect_hours is not None:
        return f"{what}, after --detect-hours"
    if asked["spares"] == 0:
        return f"{what}, once a new drive has arrived (restock_hours)"
    spare = bool(asked["spares"])
    asked["detect_hours"] = NOTICE_HOURS if spare else REPLACE_HOURS
    until = "is noticed and a spare takes over" if spare else "is noticed and the drive replaced"
    return f"{what}, after the failure {until} (detect_hours)"


def uber_from(options: Options, asked: dict[str, Any], array: Array) -> str | None:
    """Fills in the UBER; says where it comes from."""
    if options.latent_hours is not None:
        return None
    if options.uber is not None:
        return GIVEN
    stated = array.stated_uber
    asked["uber"] = stated or 0.0
    return None if stated is None else STATED


def note_on_uber(array: Array, source: str | None, asked: dict[str, Any]) -> str | None:
    """The losses that a UBER of 0 leaves out if no option chose it."""
    if source is not None or asked["latent_hours"] is not None or not array.group.tolerance:
        return None
    what = f"{array.name} names no error rate (errors.uber_target)" if array.model else "a bare size has no error rate"
    return (f"{what}: UBER 0, so no rebuild meets an unreadable sector; --uber {USUAL_UBER} is what enterprise drives "
            "are rated for")  # fmt: skip
