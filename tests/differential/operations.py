"""An oracle for `--operations` of a lone drive, which knows flash but not how flashkeep simulates it.

Erase before program; the pages of a block in order; one operation at a time on what is busy as one; one transfer at a
time on a channel; and as many operations of each kind and cause as the summary says.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

KINDS = ("read", "program", "erase", "copyback")


class Operation(NamedTuple):
    """A row of the file."""

    start: int
    end: int
    channel: int
    chip: int
    die: int
    plane: int
    block: int
    page: int
    kind: str
    cause: str


def read(path: Path) -> list[Operation]:
    """The operations in the file's order."""
    with path.open() as file:
        rows = csv.reader(file)
        header = next(rows)
        if "member" in header:
            raise ValueError("the oracle is for lone drives")
        return [_operation(row) for row in rows]


def _operation(row: list[str]) -> Operation:
    start, end, channel, chip, die, plane, block, page = map(int, row[:8])
    return Operation(start, end, channel, chip, die, plane, block, page, row[8], row[9])


def problems(operations: list[Operation], summary: Mapping[str, Any], tags: set[str]) -> Iterator[tuple[str, str]]:
    """The problems of a list of operations: a kind of problem, and its first place."""
    flash, ftl = summary["drive"]["flash"], summary["drive"]["ftl"]
    if "warmup" not in tags:
        yield from _counts(operations, summary)
    if ftl["logical_page_kib"] not in {0, flash["page_kib"]}:
        return  # a row is a part of a flash page then, or one of several
    if ftl["gc"]["run"] == "hold-channel":
        return  # all operations of a collection begin when it is granted
    # Erases that make room for pages that exist at first touch are not logged, nor is new for old. A trimmed page
    # comes to exist at its next read.
    start = summary["drive"]["start"]
    unlogged = start["existing"] == "reads" and (not start["scan"] or summary["workload"]["trims"] > 0)
    if not unlogged and not tags & {"replace_after", "warmup", "condition"}:
        # Pages that exist at first touch are placed without a program, as are many while a drive is conditioned; maps
        # of blocks put pages where they belong.
        existing = start["existing"] != "none" or ftl["map"] != "page"
        # Stripes leave out pages that have failed, and logs of stripes a slot that is left over in a row.
        stripes = summary["redundancy"] is not None and summary["redundancy"]["scheme"] in {"ds", "dvs", "lifespan"}
        # What recovery from a power loss reconstructs is written without time, so it is not logged.
        rewritten = "power" in tags and summary["redundancy"] is not None
        gaps = not existing and "faults" not in tags and not stripes and not rewritten
        done = begun(operations, summary["drive"]) if "power" in tags and flash["bus"] == "rounds" else operations
        yield from _order(done, flash, gaps)
    if "power" not in tags:  # operations under way at a power cut end there
        yield from _units(operations, summary["drive"])
        # The next attempt of a read begins while the data of the one before, which ends here, wait for the channel.
        pipelined = summary["drive"].get("errors", {}).get("retry", {}).get("pipelined")
        # Programs of slow parts do not take what the drive file says.
        if not pipelined and not tags & {"replace_after", "slow"}:
            yield from _channels(operations, flash)


def _counts(operations: list[Operation], summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    logged = Counter((each.kind, each.cause) for each in operations)
    for kind in KINDS:
        for cause, counted in summary["operations"][kind].items():
            if logged[kind, cause] != counted:
                yield f"count.{kind}.{cause}", f"{logged[kind, cause]} in the file, {counted} in the summary"


def begun(operations: list[Operation], drive: Mapping[str, Any]) -> list[Operation]:
    """Without the programs of rounds that a power loss came before: rows are written when a batch of rounds is granted.

    The rows of a recovery tell when the power failed, where nothing else reads metadata.
    """
    if drive["ftl"]["map"] != "page" or drive["ftl"]["map_memory"] != "dram":
        return []
    found: list[Operation] = []
    for recovers, rows in groupby(operations, lambda each: each.kind in {"read", "erase"} and each.cause == "metadata"):
        those = list(rows)
        if recovers:
            cut = min(each.start for each in those)
            found = [each for each in found if each.start <= cut or each.kind == "erase"]
        found += those
    return found


def _order(operations: list[Operation], flash: Mapping[str, Any], gaps: bool) -> Iterator[tuple[str, str]]:
    """Programs go forward in a block until it is erased; they leave no page out, unless planes keep in step."""
    skips = not gaps or flash["commands"]["multi_plane"] == "skip" or flash["page_types"] != "interleaved"
    skips |= flash["pages_per_program"] > 1  # what a program lacks stays empty
    blocks: dict[tuple[int, ...], list[Operation]] = defaultdict(list)
    for each in operations:
        # A summary is programmed within the program of the last data page; blocks of a map are erased as others.
        is_data = each.kind in {"program", "copyback"} and each.cause != "metadata"
        if is_data or each.kind == "erase":
            blocks[each[2:7]].append(each)
    for place, those in blocks.items():
        last: int | None = None  # nothing is known of what was programmed before the run
        for each in sorted(those, key=lambda each: each.start):
            if each.kind == "erase":
                last = -1
                continue
            if last is not None and each.page <= last:
                yield "order.program", f"{place}: page {each.page} after page {last} at {each.start} ns"
                return
            if last is not None and each.page > last + 1 and not skips and each.kind == "program":
                yield "order.gap", f"{place}: page {each.page} after page {last} at {each.start} ns"
                return
            last = each.page


def _units(operations: list[Operation], drive: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A busy unit performs one operation at a time; its planes may perform the same operation together."""
    flash = drive["flash"]
    commands = flash["commands"]
    if commands["cache_program"] or commands["cache_read"] or commands["suspend"] != "off":
        return
    units: dict[tuple[int, ...], list[Operation]] = defaultdict(list)
    for each in operations:
        if each.cause == "metadata":
            continue  # a summary is programmed within the program of the last data page
        pair = each.plane // 2 if flash["busy_unit"] == "plane-pair" else each.plane
        unit = {"chip": each[2:4], "die": each[2:5]}.get(flash["busy_unit"], (*each[2:5], pair))
        units[unit].append(each)
    together = commands["multi_plane"] != "off"
    at_once = flash["pages_per_program"]
    for unit, those in units.items():
        those.sort(key=lambda each: (each.start, each.end))
        for one, next_ in pairwise(those):
            same = together and one.kind == next_.kind and one.plane != next_.plane
            word_line = (one[2:7], one.kind, one.end) == (next_[2:7], next_.kind, next_.end)
            same |= word_line and one.page // at_once == next_.page // at_once
            if next_.start < one.end and not same and next_.end > next_.start:
                yield "overlap.unit", f"{unit}: {one} and {next_}"
                return


def _channels(operations: list[Operation], flash: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The transfers of programs on a channel follow each other, and no read ends within one."""
    commands, times = flash["commands"], flash["timing"]["program_us"]
    special = any(
        commands[key] not in {False, "off"} for key in ("multi_plane", "cache_program", "cache_read", "suspend")
    )
    special |= flash["pages_per_program"] > 1 or flash["timing"].get("program_sigma", 0) > 0
    if special or isinstance(times, list) or flash["bus"] != "transfers" or flash["summary_page"]:
        return
    array = -(-round(times * 1e6) // 1000)
    channels: dict[int, list[Operation]] = defaultdict(list)
    # A read that a failure or the end of the run interrupts, the last of its plane, has sent nothing.
    last_reads = set({each[2:6]: at for at, each in enumerate(operations) if each.kind == "read"}.values())
    for at, each in enumerate(operations):
        if each.kind in {"read", "program"} and at not in last_reads:
            channels[each.channel].append(each)
    for channel, those in channels.items():
        sent = sorted((each.start, max(each.end - array, each.start)) for each in those if each.kind == "program")
        for one, next_ in pairwise(sent):
            if next_[0] < one[1]:
                yield "overlap.channel", f"channel {channel}: programs send at {one} and {next_} ns"
                return
        ends = sorted(each.end for each in those if each.kind == "read")
        at = 0
        for start, end in sent:
            while at < len(ends) and ends[at] <= start:
                at += 1
            if at < len(ends) and ends[at] < end:
                yield (
                    "overlap.channel",
                    f"channel {channel}: a read ends at {ends[at]}, a program sends {start}..{end} ns",
                )
                return
