"""The `ssdmodel_ssd` block of a DiskSim parameter file (`.parv`), of the SSD extension.

Facts from its module specification, its public source and Agrawal et al., USENIX ATC 2008: times in ms, pages in
sectors; each block's last page holds a summary; `Reserve pages percentage` is of a plane's blocks, rounded down.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from .elements import Element, Elements, WrongInputError

if TYPE_CHECKING:
    from .draft import Draft

NAME = "DiskSim's SSD extension"
MARK = r"^\s*ssdmodel_ssd\s+\S+\s*\{"
ACCEPTED = "a .parv file of DiskSim with an ssdmodel_ssd block"

SECTOR = 512
HEAD = re.compile(r"^[ \t]*(ssdmodel_ssd|disksim_bus|disksim_iodriver)\s+([^\s{}]+)\s*\{", re.MULTILINE)
TOKEN = re.compile(r"[{}=,]|[^{}=,]+")
IGNORED = {
    "Print stats": "--out writes statistics",
    "Never disconnect": "the link carries one request at a time",
    "Timing model": "there is one model",
    "Block count": "the capacity follows from the geometry",
    "Plane block mapping": "which numbers the blocks of a plane have makes no difference",
}
IF_NOT_ZERO = {
    "Command overhead": "a request has no overhead of its own; host.link_us_per_sector is per sector",
    "Bus transaction latency": "the link has no latency of its own",
    "Bulk sector transfer time": "host.link_us_per_sector is from the bus",
}


class Block(NamedTuple):
    """A block of the file: its kind, name, line and parameters; those of blocks inside are `OUTER/INNER`."""

    kind: str
    name: str
    line: int
    elements: Elements


def read(path: str, text: str) -> Elements:
    """The parameters of the first `ssdmodel_ssd` block; those of the host's bus and driver as `bus/…`, `driver/…`."""
    plain = re.sub(r"#[^\n]*", "", text)
    blocks = [_block(path, plain, head) for head in HEAD.finditer(plain)]
    ssds = [block for block in blocks if block.kind == "ssdmodel_ssd"]
    if not ssds:
        raise WrongInputError(path, None, None, f"there is no ssdmodel_ssd block; accepted: {ACCEPTED}")
    elements = ssds[0].elements
    for other in ssds[1:]:
        elements.add(Element(f"ssdmodel_ssd {other.name}", "", other.line))
    for kind, prefix in (("disksim_bus", "bus"), ("disksim_iodriver", "driver")):
        of_kind = [block for block in blocks if block.kind == kind]
        # Of the buses, the one that takes time.
        slowest = max(of_kind, key=_block_time, default=None)
        for element in slowest.elements.all() if slowest else ():
            elements.add(Element(f"{prefix}/{element.name}", element.text, element.line))
    return elements


def _block_time(block: Block) -> Fraction:
    found = block.elements.find("Read block transfer time")
    return block.elements.number(found) if found else Fraction(0)


def _block(path: str, text: str, head: re.Match[str]) -> Block:
    """A block `KIND NAME { PARAMETER = VALUE, … }`, whose head was found."""
    line = 1 + text.count("\n", 0, head.end())
    block = Block(head[1], head[2], line, Elements(path))
    inside: list[str] = []  # the parameters that hold the blocks inside
    pending, since, words = "", line, ""
    for token in TOKEN.findall(text, head.end()):
        if token == "=":
            pending, since, words = " ".join(words.split()), line, ""
        elif token == "{":
            inside.append(pending)
            pending, words = "", ""
        elif token in ("}", ","):
            if pending:
                block.elements.add(Element("/".join([*inside, pending]), " ".join(words.split()), since))
            pending, words = "", ""
            if token == "}":
                if not inside:
                    return block
                inside.pop()
        else:
            words += token
        line += token.count("\n")
    raise WrongInputError(path, block.line, f"{block.kind} {block.name}", "the block does not end: a } is missing")


def translate(elements: Elements, draft: Draft) -> None:
    """The parameters as keys."""
    blocks = _geometry(elements, draft)
    _wiring(elements, draft)
    for key, name in (("read_us", "Page read latency"), ("program_us", "Page write latency"),
                      ("erase_us", "Block erase latency")):  # fmt: skip
        element = elements.get(name)
        draft.take(f"flash.timing.{key}", elements.number(element, 0) * 1000, element, how="ms")
    transfer = elements.get("Chip xfer latency")
    draft.take("flash.timing.bus_ns_per_byte", elements.number(transfer) * 10**6, transfer, how="ms a byte")
    _ftl(elements, draft, blocks)
    draft.assume("buffer.dram_mib", 0, "the extension has no buffer")
    draft.assume("buffer.hit_us", 0, "what needs no flash takes no time")
    _host(elements, draft)
    draft.assume("start.existing", "all", "the extension maps the whole drive before time 0")
    for name, why in IGNORED.items():
        draft.drop(elements.find(name), why)
    for name, why in IF_NOT_ZERO.items():
        found = elements.find(name)
        if found and elements.number(found):
            draft.drop(found, why)
    for element in list(elements.unused()):
        if element.name.startswith("ssdmodel_ssd "):
            draft.drop(elements.find(element.name), "the first ssdmodel_ssd block was read")
        elif "/" in element.name:
            elements.find(element.name)  # of the bus, the driver and the scheduler: of no concern to a drive


def _geometry(elements: Elements, draft: Draft) -> int:
    """Channels to pages; returns the blocks of a plane."""
    chips, gang = elements.get("Flash chip elements"), elements.get("Elements per gang")
    count, each = elements.whole(chips, 1), elements.whole(gang, 1)
    share = elements.find("Gang share")
    control = share is not None and elements.whole(share, 1, 2) == 2 and each > 1
    if count % each:
        raise elements.wrong(gang, f"a divisor of Flash chip elements, {count}")
    if control and share:
        draft.take("flash.channels", count, chips)
        draft.assume("flash.chips_per_channel", 1, "an element has pins of its own")
        draft.take("flash.control_gang", each, gang, share, how="shared control lines")
    else:
        draft.take("flash.channels", count // each, chips, gang, how="gangs")
        draft.take("flash.chips_per_channel", each, gang)
    planes, units = elements.get("Planes per package"), elements.get("Number of parallel units")
    inside = elements.whole(planes, 1)
    dies = 2 if inside % 2 == 0 else 1
    draft.assume(
        "flash.dies_per_chip", dies, "the paper's packages have two dies" if dies == 2 else "an odd number of planes"
    )
    draft.take("flash.planes_per_die", inside // dies, planes, how=f"over {dies} dies")
    blocks, element_blocks = elements.get("Blocks per plane"), elements.find("Blocks per element")
    per_plane = elements.whole(blocks, 1)
    if element_blocks and elements.whole(element_blocks) != inside * per_plane:
        raise elements.wrong(element_blocks, f"Planes per package times Blocks per plane, {inside * per_plane}")
    draft.take("flash.blocks_per_plane", per_plane, blocks)
    pages, page = elements.get("Pages per block"), elements.get("Page size")
    draft.take("flash.pages_per_block", elements.whole(pages, 2) - 1, pages, how="without the summary page")
    draft.assume("flash.summary_page", True, "the extension's last page of a block is its summary")
    draft.take("flash.page_kib", Fraction(elements.whole(page, 1) * SECTOR, 1024), page, how="sectors")
    draft.assume("flash.sector_bytes", SECTOR, "DiskSim's sector")
    draft.assume("flash.pin_bytes_per_sector", 528, "the extension moves 16 bytes of metadata with a sector")
    unit = elements.word(units, {"1": "chip", "2": "die", "4": "plane-pair"})
    draft.take("flash.busy_unit", unit, units)
    return per_plane


def _wiring(elements: Elements, draft: Draft) -> None:
    several = draft.keys["flash.busy_unit"][0] != "chip"
    draft.assume("flash.bus", "rounds" if several else "operations",
                 "the extension serves parallel units in rounds" if several else
                 "the extension holds an element for the whole of an operation")  # fmt: skip
    draft.assume("flash.acknowledge", "program", "the extension completes a write when the page is in the array")
    queue = elements.find("Scheduler/Scheduling policy")
    if queue and elements.whole(queue) == 1:
        draft.take("flash.scheduler", "fifo", queue, how="first come, first served")
    else:
        draft.assume("flash.scheduler", "fifo", "an element's queue is first come, first served")
        draft.drop(queue, "the queue of an element is first come, first served")


def _ftl(elements: Elements, draft: Draft, blocks: int) -> None:
    policy = elements.find("Write policy")
    if policy:
        elements.word(policy, {"2": "log"})
    reserve = elements.get("Reserve pages percentage")
    spare = elements.whole(reserve, 1, 99) * blocks // 100
    if not spare:
        raise elements.wrong(reserve, f"a percentage that is one block of {blocks} or more")
    draft.take(
        "ftl.over_provisioning", Fraction(spare, blocks - spare), reserve, how=f"{spare} of {blocks} blocks of a plane"
    )
    gang = draft.keys["flash.chips_per_channel"][0]
    draft.assume("ftl.allocation", "dynamic-in-chip" if gang > 1 else "dynamic-in-channel",
                 "the extension finds the element from the page's number")  # fmt: skip
    stride = elements.find("Element stride pages")
    if stride and elements.whole(stride, 1) > 1:
        draft.take("ftl.stride_pages", elements.whole(stride), stride)
    draft.assume("ftl.partial_writes", "whole", "a part of a page costs a whole page, and nothing is read first")
    draft.assume("ftl.read_in_flight", "flash", "the extension has no controller memory")
    copyback, pool = elements.get("Copy back"), elements.find("Allocation pool logic")
    per_plane = elements.whole(copyback, 0, 1) == 1
    if per_plane:
        logic = elements.word(pool, {"0": "most-free", "1": "most-free", "2": "same"}) if pool else "most-free"
        draft.take("ftl.plane_choice", logic, *filter(None, (pool, copyback)))
        if pool and elements.whole(pool) == 0:
            draft.drop(pool, "a gang chooses among the planes of one element")
    else:
        draft.take("ftl.pool", "element", copyback, how="one open block for all planes of an element")
        draft.drop(pool, "there is one open block for each element")
    _cleaning(elements, draft, copyback, blocks)


def _cleaning(elements: Elements, draft: Draft, copyback: Element, blocks: int) -> None:
    per_plane = draft.keys.get("ftl.pool", ("plane",))[0] == "plane"
    cleaning, least = elements.get("Cleaning policy"), elements.get("Minimum free blocks percentage")
    kind = elements.word(cleaning, {"2": "greedy", "3": "wear-aware"})
    how = "of equals the last" if per_plane else "of equals the first"
    draft.take("ftl.gc.victim", "greedy-last" if per_plane else "greedy", cleaning, how=how)
    planes = draft.keys["flash.planes_per_die"][0] * draft.keys["flash.dies_per_chip"][0]
    pool = blocks if per_plane else blocks * planes
    free = elements.whole(least, 0, 99) * pool // 100
    draft.take("ftl.gc.threshold", Fraction(free + 1, pool), least, how=f"{free} free blocks of {pool}, or fewer")
    draft.assume("ftl.gc.run", "hold-channel", "the extension cleans a whole block, and the element waits")
    background = elements.find("Cleaning in background")
    if background:
        draft.take("ftl.gc.background", elements.whole(background, 0, 1) == 1, background)
    draft.take(
        "ftl.gc.copyback", "on", copyback, how="" if per_plane else "a move within a plane never crosses the pins"
    )
    if kind == "wear-aware":
        draft.take("ftl.wear.levelling", "both", cleaning, how="rate limiting and migration")
        draft.assume("ftl.wear.erase_budget", 50, "the life of a block in the extension's source")


def _host(elements: Elements, draft: Draft) -> None:
    depth = elements.get("Max queue length")
    draft.take("host.queue_depth", elements.whole(depth), depth)
    order = elements.find("driver/Scheduler/Scheduling policy")
    if order and elements.whole(order) in (1, 3):
        draft.take("host.order", "c-look" if elements.whole(order) == 3 else "arrival", order)
    else:
        draft.drop(order, "the host's queue is in order of arrival, or C-LOOK (policy 3)")
    reads, writes = elements.find("bus/Read block transfer time"), elements.find("bus/Write block transfer time")
    if reads and elements.number(reads):
        draft.take("host.link_us_per_sector", elements.number(reads) * 1000, reads, how="ms a sector")
        if writes and elements.number(writes) != elements.number(reads):
            draft.drop(writes, "the link has one rate, that of reads")
