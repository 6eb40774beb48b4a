"""How likely the reads of one page fail, without a simulation."""

from __future__ import annotations

import json

from . import _flashkeep
from .render import text_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from .render.terminal import Page

PAGE_KIB = 16
"""The page without a drive."""


def page_errors(
    drive: str | None = None,
    *,
    cycles: float = 0.0,
    days: float = 0.0,
    reads: float = 0.0,
    preset: str | None = None,
    page_kib: float | None = None,
    set: Sequence[str] = (),
) -> dict[str, Any]:
    """What becomes of the reads of a page after a number of P/E cycles, days since its program, and reads of its block
    (divided by the pages of the block).

    `rber` is the share of wrong bits, `codeword_failure` and `page_failure` the probabilities that hard decoding of
    the first read fails, and `uber` the first of these for each bit of data. `stages` has the same for each attempt:
    the first read, the retries, soft decoding. `redundancy` is what is left of it where redundancy restores pages:
    `others` pages restore one, of which `spare` may fail as well; None without redundancy. Without a drive: the
    constants `preset`, the default code and retries, and a page of 16 KiB.
    """
    overrides = [*([f"errors.preset={preset}"] if preset else []), *set]
    if switch := _switch(drive, overrides):
        overrides.insert(0, switch)
    size = page_kib if page_kib is not None or drive else PAGE_KIB
    name, contents = (drive, None) if drive else ("errors", "")
    found: dict[str, Any] = json.loads(
        _flashkeep.page_errors(
            name, overrides, contents, None if size is None else round(size * 1024), (cycles, days, reads)
        )
    )
    return found


def _switch(drive: str | None, overrides: Sequence[str]) -> str | None:
    """The key that switches errors on, in the drive or in the members of the array; none if they are on, or if a key
    says where they come from."""
    if any(each.removeprefix("member.").startswith("errors.model=") for each in overrides):
        return None
    if drive is None:
        return "errors.model=kim"
    checked = json.loads(_flashkeep.check(drive, list(overrides)))
    if any(errors.get("model", "none") != "none" for errors in _errors_of(checked)):
        return None
    return "member.errors.model=kim" if checked["members"] else "errors.model=kim"


def _errors_of(checked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """`[errors]` of a drive, or of all drives of an array."""
    yield checked["drive"].get("errors", {})
    for member in checked["members"]:
        yield from _errors_of(member)


def text(found: dict[str, Any], page: Page) -> str:
    """The printed form: the RBER, a line for each attempt, the lifetime."""
    names = {"hard": "first read", "retry": "retry", "soft": "soft decoding"}
    rows = [("", f"{'RBER':>12}  {'codeword fails':>14}  {'page fails':>12}  {'UBER':>12}")]
    for stage in found["stages"]:
        count = f" {stage['retries']}" if stage["stage"] == "retry" else ""
        figures = f"{stage['rber']:12.4e}  {stage['codeword_failure']:14.4e}  {stage['page_failure']:12.4e}"
        rows.append((names[stage["stage"]] + count, f"{figures}  {stage['uber']:12.4e}"))
    lines = [
        f"raw bit error rate {found['rber']:.4e}, {found['codewords']} codewords",
        text_list.listing(rows, page),
        f"P/E cycles until the UBER is too high: {_cycles(found['lifetime_cycles'])}",
    ]
    if left := found["redundancy"]:
        lines.append(
            f"with {left['scheme']} (other pages of the stripe: {left['others']}; of these may fail: {left['spare']}): "
            f"page lost {left['page_loss']:.4e}, UBER {left['uber']:.4e}, "
            f"P/E cycles {_cycles(left['lifetime_cycles'])}"
        )
    if not found["in_fitted_range"]:
        lines.append(
            "note: the RBER is extrapolated, beyond the P/E cycles or days that it was fitted to or measured at"
        )
    return "\n".join(lines)


def _cycles(cycles: int | None) -> str:
    return "more than 10 million" if cycles is None else f"{cycles:,}"
