"""The rows: what the runs and the model of fleets say of a redundancy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._flashkeep import DriveError, OptionError
from ..cli.runner import run_call
from ..fleets.api import fleet_of
from ..fleets.rebuild import measured
from ..fleets.wear import HOURS_A_YEAR, life_years
from .pairs import PHASES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..fleets.options import Options
    from ..fleets.spec import Array
    from .designs import Design
    from .runs import Simulated

    Row = dict[str, Any]

OF_FLEET = ("p_loss", "array_loss", "sector_loss", "nines", "nomdl", "causes", "cost", "method")
"""What a row takes from the model of fleets."""


def row_of(design: Design, array: Array | None, ended: Simulated, model: Options) -> Row:
    """A row; an unknown figure is none, and has a reason."""
    row: Row = {
        "scheme": design.scheme, "width": design.width, "reason": ended.reason, "pareto": False, "tolerance": None,
        "usable_bytes": None, "raw_per_usable": None, "response_us": None, "saturation": None, "degraded_us": None,
        "rebuilding_us": None, "failed_saturation": None, "waf_bytes": None, "tbw": None, "life_years": None,
        "rebuild_mb_s": None, "rebuild_hours": None, "rebuild_gib": None, "rebuild_reason": None, "lost_pages": None,
        **dict.fromkeys(OF_FLEET), "mttr_hours": None, "fleet_reason": None, "failed_reason": ended.failed_reason,
        "digest": None, "failed_digest": None,
    }  # fmt: skip
    if ended.healthy is not None:
        assert array is not None
        assert design.drive is not None
        row |= _of_runs(ended)
        row |= _of_fleet(design.drive.text, array, row, model)
    return row


def _times(of: Mapping[str, Any] | None) -> dict[str, Any]:
    """Of reads and writes; a run without one of them has none of its times."""
    known = {kind: (of and of[kind]) or {} for kind in ("read", "write")}
    return {kind: {key: times.get(key) for key in ("mean", "p50", "p99", "p99_9")} for kind, times in known.items()}


def _waf(summary: Mapping[str, Any]) -> float | None:
    """Bytes programmed for each byte written; none if the DRAM could hold all that was written."""
    waf: float | None = summary["waf_bytes"]
    return waf if summary["workload"]["bytes_written"] > summary["dram_bytes"] else None


def _of_runs(ended: Simulated) -> Row:
    """What both runs say."""
    healthy, failed = ended.healthy, ended.failed
    assert healthy is not None
    wear = healthy.get("wear") or {}
    found: Row = {
        "response_us": _times(healthy["response_us"]), "saturation": healthy.get("saturation"),
        "waf_bytes": _waf(healthy), "tbw": wear.get("tbw"), "life_years": life_years(healthy),
        "digest": healthy["digest"],
    }  # fmt: skip
    if failed is None:
        return found
    found |= {"failed_digest": failed["digest"], "lost_pages": failed["integrity"]["lost_pages"],
              "failed_saturation": failed.get("saturation")}  # fmt: skip
    found |= {f"{name}_us": (ended.paired or {}).get(name) for name in PHASES}
    rebuild = measured(failed)
    return found | {"rebuild_mb_s": rebuild.mb_s, "rebuild_hours": rebuild.hours, "rebuild_gib": rebuild.gib,
                    "rebuild_reason": rebuild.reason}  # fmt: skip


def _of_fleet(text: str | None, array: Array, row: Row, model: Options) -> Row:
    """What the model of fleets says of an array, with the assumptions of `flashkeep fleet`."""
    found: Row = {
        "tolerance": array.group.tolerance, "usable_bytes": array.node.bytes,
        "raw_per_usable": array.node.raw_bytes / array.node.bytes,
    }  # fmt: skip
    options = model
    if model.rebuild == "simulated":
        if array.group.tolerance and row["rebuild_hours"] is None:
            reason = row["failed_reason"] or row["rebuild_reason"]
            return found | {"fleet_reason": f"no rebuild was measured ({reason}); leave --rebuild away"}
        options = replace(model, rebuild=row["rebuild_hours"] if array.group.tolerance else None)
    if model.wear == "simulated":
        if row["life_years"] is None:
            return found | {"fleet_reason": "the run does not say when the drives are worn out: it programmed too "
                                            "little of the flash, or they have no erase budget; leave --wear simulated "
                                            "away"}  # fmt: skip
        options = replace(options, wear=HOURS_A_YEAR * row["life_years"])
    try:
        fleet = run_call(lambda: fleet_of("array", options, (), text))
    except (DriveError, OptionError) as refusal:
        return found | {"fleet_reason": str(refusal)}
    kept = {key: fleet[key] for key in OF_FLEET}
    return found | kept | {"mttr_hours": fleet["assumptions"]["mttr_hours"], "assumed": fleet["assumptions"]}
