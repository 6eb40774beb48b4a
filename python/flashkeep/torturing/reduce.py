"""Makes a case smaller as long as it keeps its finding: delta debugging of requests and events, then of options."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from .faults import TAGS, tags_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .case import Case, Request

    AnyCase = TypeVar("AnyCase", bound=Case)
    Row = TypeVar("Row")

KEPT = {"wrap", "traces", "drive", "drive_text", "set", "verify", "fail"}
"""Options that are not left out, or that are reduced in other ways."""


class _Enough(Exception):  # noqa: N818  # no error
    """No more tries are left."""


def reduced(
    case: AnyCase,
    still: Callable[[AnyCase], bool],
    more: Callable[[AnyCase], Iterator[AnyCase]] = lambda _: iter(()),
    most: int = 600,
) -> AnyCase:
    """The smallest case found for which `still` holds, after at most `most` tries. `more` yields other cases with
    something less, such as fewer keys of the drive."""
    tries = 0
    best = case

    def holds(smaller: AnyCase) -> bool:
        nonlocal tries, best
        if tries == most:
            raise _Enough
        tries += 1
        found = still(smaller)
        if found:
            best = smaller
        return found

    before = None
    try:
        while best is not before:
            before = best
            if best.requests is None:
                _first(lambda: _shorter_workloads(best), holds)
            else:
                _fewer_requests(best, best.requests, holds)
            _fewer_events(best, holds)
            _first(lambda: _fewer_options(best), holds)
            _first(lambda: more(best), holds)
    except _Enough:
        pass
    return best


def fewest(rows: list[Row], still: Callable[[list[Row]], bool]) -> list[Row]:
    """Leaves out halves, quarters, … and single rows as long as `still` holds."""
    size = max(len(rows) // 2, 1)
    while size:
        at = 0
        while at < len(rows):
            less = rows[:at] + rows[at + size :]
            if still(less):
                rows = less
            else:
                at += size
        size //= 2
    return rows


def with_events(case: AnyCase, events: list[str]) -> AnyCase:
    """The case with other failures."""
    return replace(case, options={**case.options, "fail": events}, tags=(case.tags - TAGS) | tags_of(events))


def _first(smaller: Callable[[], Iterator[AnyCase]], holds: Callable[[AnyCase], bool]) -> None:
    """Takes the first smaller case that holds, until there is none."""
    while any(holds(each) for each in smaller()):
        pass


def _fewer_requests(case: AnyCase, rows: list[Request], holds: Callable[[AnyCase], bool]) -> None:
    """Leaves out requests. Events at a number of requests stay between the same two."""

    def still(kept: list[int]) -> bool:
        events = [_moved(event, kept, len(rows)) for event in case.options.get("fail", [])]
        options = {**case.options, "fail": events} if events else case.options
        return bool(kept) and holds(replace(case, requests=[rows[at] for at in kept], options=options))

    fewest(list(range(len(rows))), still)


def _moved(event: str, kept: list[int], count: int) -> str:
    """An event where only some of `count` requests are left: their numbers, ascending."""
    found = re.fullmatch(r"(.*@)([\d.]+)(req|%)(.*)", event)
    if found is None:
        return event
    head, number, unit, rest = found.groups()
    at = int(number) if unit == "req" else int(count * float(number) / 100)
    return f"{head}{sum(row < at for row in kept)}req{rest}"


def _fewer_events(case: AnyCase, holds: Callable[[AnyCase], bool]) -> None:
    fewest(case.options.get("fail", []), lambda events: holds(with_events(case, events)))


def _shorter_workloads(case: AnyCase) -> Iterator[AnyCase]:
    (workload,) = case.options["traces"]
    requests = int(re.search(r"requests=(\d+)", workload)[1])  # type: ignore[index]  # each has it
    for fewer in sorted({requests // 2, requests * 9 // 10, requests - 1} - {0, requests}):
        shorter = workload.replace(f"requests={requests}", f"requests={fewer}")
        yield replace(case, options={**case.options, "traces": [shorter]})


def _fewer_options(case: AnyCase) -> Iterator[AnyCase]:
    for key in sorted(set(case.options) - KEPT):
        rest = {name: value for name, value in case.options.items() if name != key}
        yield replace(case, options=rest, tags=case.tags - {key})
