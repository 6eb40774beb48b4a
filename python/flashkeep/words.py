"""Compares two runs in words."""

from __future__ import annotations

from .rows import SECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Summary = dict[str, Any]


def name(summary: Summary) -> str:
    """The name of a drive."""
    return str(summary["drive"].get("name") or "drive")


def in_words(first: Summary, other: Summary) -> str:
    """`2CM-128 reads 44 % faster and writes 3 % slower than 1CNM-64; every page is programmed twice.`"""
    verdicts = []
    for verb, key in (("reads", "read"), ("writes", "write")):
        row = SECTIONS.row(f"response_us.{key}.mean")
        before, after = row.value(first), row.value(other)
        if before and after is not None:
            percent = 100 * (before - after) / before
            pace = "as fast" if abs(percent) < 0.5 else f"{abs(percent):.0f} % {'faster' if percent > 0 else 'slower'}"
            verdicts.append((verb, pace))
    if not verdicts and first.get("untimed"):
        told = f"{name(other)} {_pages(first, other)} {name(first)}"
    elif not verdicts:
        told = f"{name(other)} answered no request that {name(first)} answered too"
    elif len(verdicts) == 2 and verdicts[0][1] == verdicts[1][1]:
        told = f"{name(other)} reads and writes {_than(verdicts[0][1], name(first))}"
    else:
        told = " and ".join(f"{verb} {pace}" for verb, pace in verdicts)
        told = f"{name(other)} {_than(told, name(first))}"
    programmed = _programmed(first, other)
    return f"{told}{'; ' if programmed else ''}{programmed}."


def _pages(first: Summary, other: Summary) -> str:
    """Compares untimed runs by the pages that they program."""
    before, after = (summary["write_amplification"]["total"] or 0 for summary in (first, other))
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
