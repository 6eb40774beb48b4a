"""Results of fleets as tables in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..render import text_list
from ..render.terminal import BOLD
from .options import SECTOR_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..render.terminal import Page

CAUSES = {
    "failures": "more failures than it survives",
    "latent_errors": "latent errors in a rebuild",
    "wear": "drives that were worn out",
    "shock": "shocks",
}


def told(found: dict[str, Any], page: Page) -> str:
    """The result as a table: the array, the figures, the method, the assumptions."""
    parts = [
        _array(found["array"]),
        text_list.listing(_figures(found), page),
        _method(found),
        "Assumptions\n" + text_list.listing(_assumptions(found["assumptions"]), page),
        *(f"note: {note}" for note in found["notes"]),
    ]
    return "\n".join(parts)


def _array(array: dict[str, Any]) -> str:
    drives = f"{array['group_drives']} drives" if array["group_drives"] > 1 else "a drive"
    text = f"{array['name']}: {drives} of {size(array['drive_bytes'])} under {array['scheme']}"
    text += f" (survives {array['tolerance']})"
    for level in array["levels"]:
        text += f", {level['members']} of these under {level['scheme']} (survives {level['tolerance']})"
    return f"{text}, {size(array['usable_bytes'])} usable"


def size(count: float) -> str:
    """Bytes with a decimal unit, as drives are sold."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000:
            return f"{count:.4g} {unit}"
        count /= 1000
    return f"{count:.4g} PB"


def _figures(found: dict[str, Any]) -> list[tuple[str, str]]:
    p_loss, years, groups = found["p_loss"], found["years"], found["groups"]
    interval = "" if found["samples"] is None else f"  (95 %: {p_loss['low']:.3e} to {p_loss['high']:.3e})"
    if (p_loss["low"], p_loss["high"]) == (0, 1):
        interval = "  (too few paths for an interval)"
    rows = [(f"P(loss) in {years:g} year{'' if years == 1 else 's'}", f"{p_loss['value']:.6e}{interval}")]
    rows += _extents(found)
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


def _extents(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The losses, and of arrays by which cause if there are several."""
    rows = []
    array, sector = found["array_loss"], found["sector_loss"]
    causes = {cause: value for cause, value in found["causes"].items() if value and cause != "latent_errors"}
    if array["p"]:
        only = f" ({CAUSES[next(iter(causes))]})" if len(causes) == 1 else ""
        rows.append((f"  an array is lost{only}", f"{array['p']:.3e}, {size(array['bytes_each'])} each"))
    if len(causes) > 1:
        rows += [(f"    by {CAUSES[cause]}", f"{value:.3e}") for cause, value in causes.items()]
    if sector["p"]:
        rows.append((f"  a sector is lost ({CAUSES['latent_errors']})",
                     f"{sector['p']:.3e}, {size(sector['bytes_each'])} each"))  # fmt: skip
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


def compared(every: Sequence[dict[str, Any]], page: Page) -> str:
    """Several results, a row for each array; then what differs in how they were found, the assumptions, the notes."""
    names = [found["array"]["name"] for found in every]
    columns = [[*heads, *(write(found) for found in every)] for heads, write in _columns(every)]
    lines = _rows(["", "array", *names], columns)
    parts = [*(page.paint(line, BOLD) for line in lines[:2]), *lines[2:]]
    if any(found["sector_loss"]["p"] for found in every):
        parts.append(f"a sector is {size(SECTOR_BYTES)} that a rebuild cannot read; an array is lost when more drives "
                     "are missing than it survives")  # fmt: skip
    parts += [f"{name}: {_method(found)}" for name, found in zip(names, every, strict=True)]
    parts += ["Assumptions", text_list.listing(_shared(every, names), page)]
    notes: dict[str, list[str]] = {}
    for name, found in zip(names, every, strict=True):
        for note in found["notes"]:
            notes.setdefault(note, []).append(name)
    for note, of in notes.items():
        parts.append(f"note: {note}" if len(of) == len(every) else f"note: {', '.join(of)}: {note}")
    return "\n".join(parts)


def _columns(every: Sequence[dict[str, Any]]) -> list[tuple[tuple[str, str], Callable[[dict[str, Any]], str]]]:
    """The heading of each column, and what writes a cell."""
    columns: list[tuple[tuple[str, str], Callable[[dict[str, Any]], str]]] = [
        (("", "usable"), lambda found: size(found["array"]["usable_bytes"])),
        (("P(loss)", f"in {every[0]['years']:g} y"), lambda found: f"{found['p_loss']['value']:.3e}"),
        (("", "nines"), lambda found: "–" if found["nines"] is None else f"{found['nines']:.2f}"),
        (("an array", "is lost"), lambda found: _chance(found["array_loss"])),
        (("bytes", "each"), lambda found: size(found["array_loss"]["bytes_each"] or 0)),
        (("a sector", "is lost"), lambda found: _chance(found["sector_loss"])),
        (("bytes lost", "per TB"), lambda found: f"{found['nomdl']:,.3g}"),
    ]
    if every[0]["groups"] > 1:
        columns.append((("losses of", f"{every[0]['groups']:,}"), lambda found: f"{found['expected_losses']:.3g}"))
    if any(found["cost"] for found in every):
        columns.append((("", "USD"), lambda found: _money(found, "usd", ",.0f")))
        columns.append((("USD", "per TB"), lambda found: _money(found, "usd_per_usable_tb", ",.2f")))
    else:
        columns.append(
            (("usable", "of raw"), lambda found: f"{found['array']['usable_bytes'] / found['array']['raw_bytes']:.3f}")
        )
    return columns


def _chance(extent: dict[str, Any]) -> str:
    return f"{extent['p']:.2e}" if extent["p"] else "–"


def _money(found: dict[str, Any], key: str, form: str) -> str:
    return format(found["cost"][key], form) if found["cost"] else "–"


def _rows(names: Sequence[str], columns: Sequence[Sequence[str]]) -> list[str]:
    wide = max(map(len, names))
    widths = [max(map(len, column)) for column in columns]
    return [
        f"{name:{wide}}" + "".join(f"  {column[at]:>{width}}" for column, width in zip(columns, widths, strict=True))
        for at, name in enumerate(names)
    ]  # fmt: skip


def _shared(every: Sequence[dict[str, Any]], names: Sequence[str]) -> list[tuple[str, str]]:
    """The assumptions of all arrays; where they differ, those of each."""
    each = [dict.fromkeys(_assumptions(found["assumptions"])) for found in every]
    rows = [row for row in each[0] if all(row in other for other in each)]
    for name, own in zip(names, each, strict=True):
        rows += [(f"{key} ({name})", value) for key, value in own if (key, value) not in rows]
    return rows
