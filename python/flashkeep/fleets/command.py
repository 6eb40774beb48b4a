"""The command `flashkeep fleet`."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from .. import listing
from ..runner import run_call
from .api import fleet_of
from .options import Options

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..terminal import Page

CAUSES = {
    "failures": "more failures than it survives",
    "latent_errors": "latent errors in a rebuild",
    "shock": "shocks",
}


def run(arguments: dict[str, Any], say: Callable[[str], None], print_json: Callable[[object], None], page: Page) -> int:
    """Asks the model and prints what it says. Returns the exit code."""
    options = Options(**{option.name: arguments[option.name] for option in fields(Options)})
    found = run_call(lambda: fleet_of(arguments["array"], options, arguments["set"]))
    if arguments["json"]:
        print_json(found)
    else:
        say(told(found, page))
    return 0


def told(found: dict[str, Any], page: Page) -> str:
    """The result as a table: the array, the figures, the method, the assumptions."""
    parts = [
        _array(found["array"]),
        listing.listing(_figures(found), page),
        _method(found),
        "Assumptions\n" + listing.listing(_assumptions(found["assumptions"]), page),
        *(f"note: {note}" for note in found["notes"]),
    ]
    return "\n".join(parts)


def _array(array: dict[str, Any]) -> str:
    drives = f"{array['group_drives']} drives" if array["group_drives"] > 1 else "a drive"
    text = f"{array['name']}: {drives} of {_size(array['drive_bytes'])} under {array['scheme']}"
    text += f" (survives {array['tolerance']})"
    for level in array["levels"]:
        text += f", {level['members']} of these under {level['scheme']} (survives {level['tolerance']})"
    return f"{text}, {_size(array['usable_bytes'])} usable"


def _size(count: float) -> str:
    """Bytes with a decimal unit, as drives are sold."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000:
            return f"{count:.4g} {unit}"
        count /= 1000
    return f"{count:.4g} PB"


def _figures(found: dict[str, Any]) -> list[tuple[str, str]]:
    p_loss, years, groups = found["p_loss"], found["years"], found["groups"]
    interval = "" if found["samples"] is None else f"  (95 %: {p_loss['low']:.3e} to {p_loss['high']:.3e})"
    rows = [(f"P(loss) in {years:g} year{'' if years == 1 else 's'}", f"{p_loss['value']:.6e}{interval}")]
    rows += [(f"  by {CAUSES[cause]}", f"{value:.3e}") for cause, value in found["causes"].items() if value]
    by_year = found["p_loss_by_year"]
    if len(by_year) > 1:
        rows.append(("  by year", " ".join(f"{value:.3e}" for value in by_year)))
    nines = found["nines"]
    rows += [
        ("nines", "–" if nines is None else f"{nines:.3f}"),
        (f"losses in a fleet of {groups:,}", f"{found['expected_losses']:.4g}"),
        ("bytes lost per usable TB (NOMDL)", f"{found['nomdl']:,.4g}"),
    ]
    cost = found["cost"]
    if cost is not None:
        told = f"{cost['usd']:,.2f} USD, {cost['usd_per_usable_tb']:,.2f} a usable TB"
        rows.append(("drives and spares", told))
    if found["mttdl_years"] is not None:
        rows.append(("MTTDL (no forecast of a mission)", f"{found['mttdl_years']:,.6g} years"))
    return rows


def _method(found: dict[str, Any]) -> str:
    reason = f": {found['method_reason']}" if found["method_reason"] else ""
    text = f"method {found['method']}{reason}"
    if found["samples"] is not None:
        why = "the relative error" if found["stopped_by"] == "rel_error" else "--samples"
        text += f"; {found['samples']:,} paths, {found['paths_with_loss']:,} with a loss; ended by {why}"
    return text


def _assumptions(assumptions: dict[str, Any]) -> list[tuple[str, str]]:
    told = []
    for name, value in assumptions.items():
        if name == "rules":
            told += [("rule", rule) for rule in value]
        elif value is not None:
            told.append((name, f"{value:.6g}" if isinstance(value, float) else f"{value}"))
    return told
