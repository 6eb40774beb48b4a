"""Compares two runs in words."""

from __future__ import annotations

from ..results.provenance import overrides
from .summary_rows import SECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Summary = dict[str, Any]


def name(summary: Summary) -> str:
    """The name of a drive."""
    return str(summary["drive"].get("name") or "drive")


def label(summary: Summary) -> str:
    """The name of a drive, and what was set in it: `tlc-client (redundancy.scheme=raid5)`."""
    own = overrides(summary)
    return f"{name(summary)} ({', '.join(own)})" if own else name(summary)


FACTOR = 2
"""From this factor on a change is written as a factor, and below it in per cent."""


def times(factor: float) -> str:
    """`2.3`, `143`, `14,200`: a factor of at least 1."""
    return f"{factor:.1f}" if factor < 9.95 else f"{factor:,.0f}"


def change(before: float | None, after: float | None) -> str:
    """How a figure differs from the first one: `−44.0 %`, `× 143`, `÷ 2.3`, `=`. Nothing if that is missing, zero or a
    saving."""
    if before is None or after is None or before <= 0:
        return ""
    if after >= FACTOR * before:
        return f"× {times(after / before)}"
    if 0 < after <= before / FACTOR:
        return f"÷ {times(before / after)}"
    percent = 100 * (after - before) / before
    return "=" if abs(percent) < 0.05 else f"{percent:+.1f} %".replace("-", "−")


def _pace(before: float, after: float) -> str:
    """The speed of something that took `before`, and takes `after` now."""
    if after >= FACTOR * before:
        return f"{times(after / before)} times slower"
    if 0 < after <= before / FACTOR:
        return f"{times(before / after)} times faster"
    percent = 100 * (before - after) / before
    return "as fast" if abs(percent) < 0.5 else f"{abs(percent):.0f} % {'faster' if percent > 0 else 'slower'}"


def cannot_carry(saturation: Summary) -> str:
    """`cannot carry 12,000/s; it reaches 4,879/s`."""
    return f"cannot carry {saturation['offered_iops']:,.0f}/s; it reaches {saturation['reached_iops']:,.0f}/s"


def in_words(first: Summary, other: Summary) -> str:
    """`2CM-128 reads 44 % faster and writes 3 % slower than 1CNM-64; every page is programmed twice.`"""
    programmed = _programmed(first, other)
    added = f"{'; ' if programmed else ''}{programmed}."
    if told := _saturated(first, other):
        return told + added
    verdicts = []
    for verb, key in (("reads", "read"), ("writes", "write")):
        row = SECTIONS.row(f"response_us.{key}.mean")
        before, after = row.value(first), row.value(other)
        if before and after is not None:
            verdicts.append((verb, _pace(before, after)))
    if not verdicts and first.get("untimed"):
        told = f"{label(other)} {_pages(first, other)} {label(first)}"
    elif not verdicts:
        told = f"{label(other)} answered no request that {label(first)} answered too"
    elif len(verdicts) == 2 and verdicts[0][1] == verdicts[1][1]:
        told = f"{label(other)} reads and writes {_than(verdicts[0][1], label(first))}"
    else:
        told = " and ".join(f"{verb} {pace}" for verb, pace in verdicts)
        told = f"{label(other)} {_than(told, label(first))}"
    return told + added


def _saturated(first: Summary, other: Summary) -> str | None:
    """The text that replaces times that have no meaning: `dvs cannot carry 12,000/s; it reaches 4,879/s`."""
    before, after = first.get("saturation"), other.get("saturation")
    if after and before:
        reached = [f"{saturation['reached_iops']:,.0f}/s" for saturation in (before, after)]
        return (f"neither {label(first)} nor {label(other)} can carry {after['offered_iops']:,.0f}/s; they reach "
                f"{' and '.join(reached)}")  # fmt: skip
    if after:
        return f"{label(other)} {cannot_carry(after)}"
    if before:
        carried, least = (f"{before[key]:,.0f}/s" for key in ("offered_iops", "reached_iops"))
        return f"{label(other)} carries {carried}, of which {label(first)} reaches {least}"
    return None


def _pages(first: Summary, other: Summary) -> str:
    """Compares untimed runs by the pages that they program."""
    before, after = (summary["write_amplification"]["total"] or 0 for summary in (first, other))
    if 0 < FACTOR * before <= after:
        return f"programs {times(after / before)} times as many pages as"
    percent = 100 * (after - before) / before if before else 0
    if abs(percent) < 0.5:
        return "programs as many pages as"
    return f"programs {abs(percent):.0f} % {'more' if percent > 0 else 'fewer'} pages than"


def _than(pace: str, whom: str) -> str:
    return f"{pace} {'as' if pace.endswith('as fast') else 'than'} {whom}"


def _programmed(first: Summary, other: Summary) -> str:
    """The pages that the other drive's redundancy programs, if the first drive does not program them as well."""
    copies, parity = _copies(other), other["write_amplification"]["parity"] or 0
    told = []
    if copies > _copies(first):
        often = {2.0: "twice", 3.0: "three times"}.get(round(copies, 2), f"{copies:.2f} times")
        told.append(f"every page is programmed {often}")
    if parity > (first["write_amplification"]["parity"] or 0):
        told.append(f"parity adds {parity:.2f} programs a page")
    return " and ".join(told)


def _copies(summary: Summary) -> float:
    """How often each host page is programmed, without garbage collection."""
    program = summary["operations"]["program"]
    once: int = program["host"] + program.get("update", 0)
    return 1 + program.get("mirror", 0) / once if once else 1.0
