"""Makes a case smaller as long as it keeps its finding."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .draw import Case

KEPT = {"wrap", "traces", "replay", "depth"}
"""Options without which the workload is another one."""


def reduced(case: Case, still: Callable[[Case], bool], most: int = 600) -> Case:
    """The smallest case found for which `still` holds, after at most `most` tries."""
    tried = 0
    again = True
    while again and tried < most:
        again = False
        for smaller in _smaller(case):
            tried += 1
            if tried > most:
                break
            if still(smaller):
                case, again = smaller, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    """Cases with something less, the largest parts first."""
    if case.trace is not None:
        header, *rows = case.trace.splitlines()
        for part in _without_parts(rows):
            yield replace(case, trace="\n".join([header, *part]) + "\n")
    else:
        (workload,) = case.options["traces"]
        requests = int(re.search(r"requests=(\d+)", workload)[1])  # type: ignore[index]  # each has it
        for fewer in {requests // 2, requests * 9 // 10, requests - 1} - {0, requests}:
            shorter = workload.replace(f"requests={requests}", f"requests={fewer}")
            yield replace(case, options={**case.options, "traces": [shorter]})
    fails: list[str] = case.options.get("fail", [])
    for at in range(len(fails)):
        yield replace(case, options={**case.options, "fail": fails[:at] + fails[at + 1 :]})
    for key in set(case.options) - KEPT - {"fail"}:
        rest: dict[str, Any] = {name: value for name, value in case.options.items() if name != key}
        yield replace(case, options=rest)
    yield from _shorter_files(case)
    if case.aged:
        yield replace(case, aged=False)


def _shorter_files(case: Case) -> Iterator[Case]:
    for drive in _without_lines(case.drive):
        yield replace(case, drive=drive)
    for name, text in case.members.items():
        for member in _without_lines(text):
            yield replace(case, members={**case.members, name: member})


def _without_lines(text: str) -> Iterator[str]:
    lines = text.splitlines()
    for at in reversed(range(len(lines))):
        # Without its geometry a drive would have the default one, which is large.
        if not lines[at].startswith(("members", "flash.channels", "flash.blocks", "flash.chips")):
            yield "".join(line + "\n" for line in lines[:at] + lines[at + 1 :])


def _without_parts(rows: list[str]) -> Iterator[list[str]]:
    size = len(rows) // 2
    while size:
        for at in range(0, len(rows), size):
            yield rows[:at] + rows[at + size :]
        size //= 2
