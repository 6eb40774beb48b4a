"""SSDSim's `page.parameters`.

Facts from its parameter file, its public source and Hu et al., ICS 2011: times in ns, currents in µA, capacities in
bytes; `overprovide` is a share of the physical pages; collection begins at `gc hard threshold`.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from .elements import Element, Elements, WrongInputError

if TYPE_CHECKING:
    from .draft import Draft

NAME = "SSDSim"
MARK = r"^\s*(page capacity|channel number|chip number\s*\[\d+\])\s*="
ACCEPTED = "SSDSim's page.parameters"

GEOMETRY = {
    "flash.dies_per_chip": "die number",
    "flash.planes_per_die": "plane number",
    "flash.blocks_per_plane": "block number",
    "flash.pages_per_block": "page number",
}
STATIC = ("WDPC", "CWDP", "CPWD", "CDWP", "CPDW", "CDPW")
"""The static orders 0 to 5, the level that varies fastest first."""
DYNAMIC = ("dynamic", "dynamic-in-channel")
"""What `dynamic_allocation` means."""
MAPS = {"1": "page", "2": "block", "3": "hybrid"}
MOST_CHANNELS = 4096
"""As many as a drive file may have."""
COPYBACK, TWO_PLANE_PROGRAM, INTERLEAVE, TWO_PLANE_READ = 2, 4, 8, 16
"""Bits of `advanced command`."""
UNUSED = ("t_CLS", "t_CLH", "t_CS", "t_CH", "t_WP", "t_ALS", "t_ALH", "t_DS", "t_DH", "t_WH", "t_ADL", "t_AR", "t_CLR",
          "t_RR", "t_RP", "t_REA", "t_CEA", "t_RHZ", "t_CHZ", "t_RHOH", "t_RLOH", "t_COH", "t_REH", "t_IR", "t_RHW",
          "t_WHR", "t_RST")  # fmt: skip
NO_COUNTERPART = {
    **dict.fromkeys(UNUSED, "SSDSim does not use it either"),
    "erase limit": "SSDSim does not enforce it; ftl.wear.erase_budget would",
    "wear leveling": "SSDSim's public source has none",
    "gc": "SSDSim has one collection",
    "buffer management": "the buffer is LRU, as in SSDSim",
    "scheduling algorithm": "flash.scheduler has SSDSim's own order",
    "advanced command priority": "commands join whatever waits",
    "subpage page": "page capacity over subpage capacity",
}


def read(path: str, text: str) -> Elements:
    """The lines `name = value; # comment`."""
    elements = Elements(path)
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        name, equals, value = line.partition("=")
        name = " ".join(name.split())
        if not equals or not name:
            raise WrongInputError(path, number, None, f"found {line[:40]!r}; accepted: NAME = VALUE; as in SSDSim's "
                                  "page.parameters")  # fmt: skip
        elements.add(Element(name, value.partition(";")[0].strip(), number))
    return elements


def translate(elements: Elements, draft: Draft) -> None:
    """The parameters as keys."""
    _channels(elements, draft)
    for key, name in GEOMETRY.items():
        element = elements.get(name)
        draft.take(key, elements.whole(element, 1), element)
    page, sector = elements.get("page capacity"), elements.get("subpage capacity")
    sector_bytes = elements.whole(sector, 1)
    if elements.whole(page, 1) % sector_bytes:
        raise elements.wrong(page, f"a multiple of subpage capacity, {sector_bytes}")
    draft.take("flash.page_kib", Fraction(elements.whole(page, 1), 1024), page, how="bytes")
    draft.take("flash.sector_bytes", sector_bytes, sector)
    draft.assume("flash.bus", "transfers", "SSDSim's channel is free while a chip reads, programs or erases")
    draft.assume("flash.acknowledge", "transfer", "SSDSim completes a write at the end of its transfer")
    draft.assume("flash.scheduler", "ssdsim", "SSDSim's order on a channel")
    _timing(elements, draft)
    _energy(elements, draft)
    _ftl(elements, draft)
    _commands(elements, draft)
    memory = elements.get("dram capacity")
    sectors = elements.whole(memory) // sector_bytes
    draft.take(
        "buffer.dram_mib", Fraction(sectors * sector_bytes, 2**20), memory, how="bytes, of which whole sectors count"
    )
    draft.assume("buffer.hit_us", 1, "SSDSim's buffer takes 1,000 ns")
    if sectors > 0:
        draft.assume("buffer.flush", "none", "SSDSim writes back what it evicts")
    draft.assume("host.queue_depth", 5, "SSDSim sets queue_length in its source")
    draft.assume("host.late_requests", "from-arrival", "SSDSim sets the clock to the arrival of a late request")
    draft.assume("start.existing", "reads", "SSDSim creates what the trace reads before time 0")
    draft.assume("start.scan", True, "the same, in one pass over the trace")
    _ageing(elements, draft)
    for name, why in NO_COUNTERPART.items():
        draft.drop(elements.find(name), why)


def _channels(elements: Elements, draft: Draft) -> None:
    channels = elements.get("channel number")
    count = elements.whole(channels, 1, MOST_CHANNELS)
    draft.take("flash.channels", count, channels)
    listed = [element for at in range(count) if (element := elements.find(f"chip number[{at}]"))]
    total = elements.find("chip number")
    if listed and len(listed) < count:
        raise WrongInputError(
            elements.path, None, None, f"chip number[{len(listed)}] is missing, with {count} channels"
        )
    for element in list(elements.unused()):
        if re.fullmatch(r"chip number\s*\[\d+\]", element.name):
            draft_channel = elements.find(element.name)
            if draft_channel and elements.whole(draft_channel):
                draft.drop(draft_channel, f"there are {count} channels")
    if listed:
        chips = [elements.whole(element, 1) for element in listed]
        for element, found in zip(listed, chips, strict=True):
            if found != chips[0]:
                raise elements.wrong(element, f"as many chips on every channel, {chips[0]}")
        draft.take("flash.chips_per_channel", chips[0], listed[0], how="on every channel")
        if total and elements.whole(total) != sum(chips):
            draft.drop(total, f"the channels have {sum(chips)}")
        return
    total = elements.get("chip number")
    if elements.whole(total, 1) % count:
        raise elements.wrong(total, f"a multiple of channel number, {count}")
    draft.take("flash.chips_per_channel", elements.whole(total) // count, total, channels, how="chips over channels")


def _timing(elements: Elements, draft: Draft) -> None:
    for key, name in (("read_us", "t_R"), ("program_us", "t_PROG"), ("erase_us", "t_BERS")):
        element = elements.get(name)
        draft.take(f"flash.timing.{key}", elements.number(element, 0) / 1000, element, how="ns")
    write, out = elements.get("t_WC"), elements.get("t_RC")
    cycle = elements.number(write)
    if cycle == elements.number(out):
        draft.take("flash.timing.bus_ns_per_byte", cycle, write, out)
    else:
        slower = max(write, out, key=elements.number)
        draft.take("flash.timing.bus_ns_per_byte", elements.number(slower), slower, how="the slower of t_WC and t_RC")
        draft.drop(write if slower is out else out, "the bus has one rate, that of the slower direction")
    draft.take("flash.timing.command_ns", 7 * cycle, write, how="7 cycles of a command and its address")
    draft.take("flash.timing.erase_command_ns", 5 * cycle, write, how="5 cycles")
    busy = elements.find("t_WB")
    if busy:
        draft.take("flash.timing.erase_setup_ns", elements.number(busy), busy)


def _energy(elements: Elements, draft: Draft) -> None:
    volt, current = elements.find("flash supply voltage"), elements.find("flash operating current")
    if volt and current:
        draft.take("flash.energy.voltage_v", elements.number(volt), volt)
        for key in ("read_ma", "program_ma", "erase_ma", "transfer_ma"):
            draft.take(f"flash.energy.{key}", elements.number(current) / 1000, current, how="uA")
    volt = elements.find("dram voltage")
    states = {key: elements.find(f"dram {key} current") for key in ("active", "standby", "refresh")}
    if volt and all(states.values()):
        draft.take("buffer.energy.voltage_v", elements.number(volt), volt)
        for key, element in states.items():
            if element:
                draft.take(f"buffer.energy.{key}_ma", elements.number(element) / 1000, element, how="uA")


def _allocation(elements: Elements, draft: Draft) -> None:
    """Forks have values of their own, which the file does not explain: these are assumed to be SSDSim's first ones."""
    kind, static, dynamic = (elements.find(name) for name in ("allocation", "static_allocation", "dynamic_allocation"))
    chosen = elements.whole(kind) if kind else 0
    orders: tuple[str, ...] = DYNAMIC
    which, how = dynamic, ""
    if chosen == 1:
        orders, which, how = STATIC, elements.get("static_allocation"), "the first letter varies fastest"
        draft.drop(dynamic, "the allocation is static")
    else:
        draft.drop(static, "the allocation is dynamic")
    if chosen > 1:
        draft.drop(dynamic, "an allocation of a fork")
        which = kind
    if which is None:
        draft.assume("ftl.allocation", "dynamic", "SSDSim's default")
    elif chosen <= 1 and (at := elements.whole(which)) < len(orders):
        draft.take("ftl.allocation", orders[at], *filter(None, (kind, which)), how=how)
    else:
        draft.assume("ftl.allocation", orders[0], f"{which} is a fork's own; this is SSDSim's 0")
        draft.drop(which, "an allocation of a fork")


def _ftl(elements: Elements, draft: Draft) -> None:
    spare = elements.get("overprovide")
    share = elements.number(spare, 0, 1)
    draft.take("ftl.over_provisioning", share / (1 - share), spare, how="of the raw pages")
    _allocation(elements, draft)
    mapping = elements.find("address mapping")
    if mapping:
        draft.take("ftl.map", elements.word(mapping, MAPS), mapping)
    draft.assume("ftl.coalesce_reads", True, "SSDSim answers a read of a page that is being read in 1 us")
    hard, soft = elements.get("gc hard threshold", "gc threshold"), elements.find("gc threshold")
    draft.take("ftl.gc.threshold", elements.number(hard, 0, 1), hard, how="free pages of a plane")
    if soft and soft is not hard and elements.number(soft) != elements.number(hard):
        draft.drop(soft, "SSDSim's public source begins at the hard threshold only")
    draft.assume("ftl.gc.victim", "greedy", "SSDSim takes the block with the most invalid pages")
    draft.assume("ftl.gc.run", "hold-channel", "SSDSim holds the channel for the sum of a block's moves")


def _commands(elements: Elements, draft: Draft) -> None:
    """The bits of `advanced command`, and the two switches for greed."""
    commands = elements.find("advanced command")
    bits = elements.whole(commands, 0, 31) if commands else 0
    greedy = {name: element for name in ("greed CB command", "greed MPW command") if (element := elements.find(name))}

    def is_greedy(name: str) -> bool:
        return name in greedy and elements.whole(greedy[name], 0, 1) == 1

    if commands is None:
        draft.assume("flash.busy_unit", "chip", "SSDSim's scheduler knows busy and idle chips")
        return
    bit = f"bit {INTERLEAVE}, interleave,"
    draft.take("flash.busy_unit", "die" if bits & INTERLEAVE else "chip", commands,
               how=f"{bit} {'lets dies of a chip work at once' if bits & INTERLEAVE else 'is off'}")  # fmt: skip
    if bits & COPYBACK:
        mode = "parity-skip" if is_greedy("greed CB command") else "parity"
        draft.take("ftl.gc.copyback", mode, commands, *filter(None, [greedy.get("greed CB command")]), how="bit 2")
    else:
        draft.take("ftl.gc.copyback", "off", commands, how="bit 2")
    busy = elements.find("t_DBSY")
    if bits & TWO_PLANE_PROGRAM:
        mode = "skip" if is_greedy("greed MPW command") else "match"
        draft.take("flash.commands.multi_plane", mode, commands, *filter(None, [greedy.get("greed MPW command")]),
                   how="bit 4")  # fmt: skip
        if busy:
            draft.take("flash.commands.register_ns", elements.number(busy), busy)
    else:
        draft.take("flash.commands.multi_plane", "off", commands, how="bit 4")
        draft.drop(busy, "there are no multi-plane programs")
    if bool(bits & TWO_PLANE_READ) != bool(bits & TWO_PLANE_PROGRAM):
        draft.drop(commands, "bit 16: flash.commands.multi_plane is for reads and programs alike")


def _ageing(elements: Elements, draft: Draft) -> None:
    aged, ratio = elements.find("aged"), elements.find("aged ratio")
    if aged and elements.whole(aged, 0, 1) == 1:
        ratio = elements.get("aged ratio")
        draft.take("ageing.model", "basic", aged)
        draft.take("ageing.aged_ratio", elements.number(ratio, None, 1), ratio)
    else:
        draft.drop(ratio, "aged is 0")
