"""MQSim's `ssdconfig.xml`.

Facts from its documentation and public source: times in ns, capacities in bytes, rates in MT/s;
`Overprovisioning_Ratio` is a share of the physical pages; a plane is collected when its free blocks fall below
`GC_Exec_Threshold`; a preemptible collection goes first below `GC_Hard_Threshold` only, any other always.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING
from xml.parsers import expat

from .elements import Element, Elements, WrongInputError

if TYPE_CHECKING:
    from .draft import Draft

NAME = "MQSim"
MARK = r"<\s*(Execution_Parameter_Set|Device_Parameter_Set|Flash_Parameter_Set)\b"
ACCEPTED = "MQSim's ssdconfig.xml"

GEOMETRY = {
    "flash.channels": "Flash_Channel_Count",
    "flash.chips_per_channel": "Chip_No_Per_Channel",
    "flash.dies_per_chip": "Die_No_Per_Chip",
    "flash.planes_per_die": "Plane_No_Per_Die",
    "flash.blocks_per_plane": "Block_No_Per_Plane",
    "flash.pages_per_block": "Page_No_Per_Block",
}
BITS = {"SLC": ("LSB",), "MLC": ("LSB", "MSB"), "TLC": ("LSB", "CSB", "MSB")}
"""The latencies that a technology has."""
VICTIMS = {"GREEDY": "greedy", "RGA": "rga", "RANDOM": "random", "RANDOM_P": "random", "RANDOM_PP": "random",
           "FIFO": "fifo"}  # fmt: skip
SUSPENSIONS = {"NONE": "off", "ERASE": "erase", "PROGRAM": "program-erase", "PROGRAM_ERASE": "program-erase"}
SECTOR = 512
"""MQSim's sector, bytes."""
LEAST_BLOCKS = 10
"""MQSim begins to collect at 10 free blocks at the latest."""

NO_COUNTERPART = {
    "Seed": "the seed belongs to a run: --seed",
    "Enable_ResponseTime_Logging": "--out writes response times",
    "ResponseTime_Logging_Period_Length": "--out writes response times, per second",
    "SATA_Processing_Delay": "the host's software takes no time",
    "Data_Cache_Sharing_Mode": "all flows share the buffer",
    "CMT_Sharing_Mode": "all flows share the cache (with SHARED, MQSim gives each flow one of that size)",
    "Dynamic_Wearleveling_Enabled": "free blocks are taken in turn, not by their erases",
    "Static_Wearleveling_Enabled": "ftl.wear.levelling has other policies",
    "Static_Wearleveling_Threshold": "ftl.wear.levelling has other policies",
    "Block_PE_Cycles_Limit": "MQSim does not retire blocks; ftl.wear.erase_budget would",
    "Page_Metadat_Capacity": "MQSim does not transfer it either",
    "Page_Metadata_Capacity": "MQSim does not transfer it either",
    "Preferred_suspend_erase_time_for_read": "a read suspends what has longer to go than it costs to suspend it",
    "Preferred_suspend_erase_time_for_write": "writes suspend nothing",
    "Preferred_suspend_write_time_for_read": "a read suspends what has longer to go than it costs to suspend it",
    "Flash_Comm_Protocol": "only its rate counts (Channel_Transfer_Rate)",
    "Data_Cache_DRAM_tRP": "an access stays within a row",
    "Data_Cache_DRAM_Row_Size": "an access stays within a row",
}


def read(path: str, text: str) -> Elements:
    """The elements of the document without children."""
    elements = Elements(path)
    for _, element in leaves(path, text):
        elements.add(element)
    return elements


def leaves(path: str, text: str) -> list[tuple[list[tuple[str, int]], Element]]:
    """The elements of a document without children, each after the elements around it and their lines."""
    found: list[tuple[list[tuple[str, int]], Element]] = []
    parser = expat.ParserCreate()
    # Some forks' files begin with blank lines, which XML does not have before its declaration.
    body = text.lstrip()
    above = text[: len(text) - len(body)].count("\n")
    open_tags: list[tuple[str, int, list[str]]] = []
    leaf = [True]

    def start(name: str, _attributes: dict[str, str]) -> None:
        open_tags.append((name, above + parser.CurrentLineNumber, []))
        leaf[0] = True

    def characters(data: str) -> None:
        if open_tags:
            open_tags[-1][2].append(data)

    def end(name: str) -> None:
        _, line, parts = open_tags.pop()
        if leaf[0]:
            around = [(tag, at) for tag, at, _ in open_tags]
            found.append((around, Element(name, "".join(parts).strip(), line)))
        leaf[0] = False

    def doctype(*_: object) -> None:
        raise WrongInputError(
            path, above + parser.CurrentLineNumber, None, "a DOCTYPE, which MQSim's files do not have"
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = characters, doctype
    try:
        # The declared encoding is that of the bytes; they have been decoded.
        parser.Parse(body.encode("utf-8") if body.isascii() else body.encode("latin-1"), True)
    except expat.ExpatError as error:
        message = f"not XML: {expat.errors.messages[error.code]}; accepted: {ACCEPTED}"
        raise WrongInputError(path, above + error.lineno, None, message) from None
    return found


def translate(elements: Elements, draft: Draft) -> None:
    """The parameters as keys."""
    memory = elements.find("Memory_Type")
    if memory:
        elements.word(memory, {"FLASH": "flash"})
    for key, name in GEOMETRY.items():
        element = elements.get(name)
        draft.take(key, elements.whole(element, 1), element)
    page = elements.get("Page_Capacity")
    page_bytes = elements.whole(page, 512)
    draft.take("flash.page_kib", Fraction(page_bytes, 1024), page, how="bytes")
    draft.assume("flash.busy_unit", "chip", "MQSim gives commands to chips that are idle as a whole")
    draft.assume("flash.scheduler", "reads-first", "MQSim's scheduler serves reads before writes")
    _scheduling(elements, draft)
    _timing(elements, draft)
    _suspension(elements, draft)
    _ftl(elements, draft)
    _collection(elements, draft)
    _memory(elements, draft, page_bytes)
    _host(elements, draft)
    for name, why in NO_COUNTERPART.items():
        draft.drop(elements.find(name), why)


def _scheduling(elements: Elements, draft: Draft) -> None:
    policy = elements.find("Transaction_Scheduling_Policy")
    if policy and policy.text.strip().upper() != "OUT_OF_ORDER":
        draft.drop(policy, "reads go first; there are no priorities and no fairness between flows")


def _timing(elements: Elements, draft: Draft) -> None:
    technology = elements.get("Flash_Technology")
    bits = BITS[elements.word(technology, {name: name for name in BITS})]
    for key, what in (("read_us", "Read"), ("program_us", "Program")):
        found = [elements.get(f"Page_{what}_Latency_{bit}") for bit in bits]
        times = [elements.number(element, 0) / 1000 for element in found]
        if len(set(times)) == 1:
            draft.take(f"flash.timing.{key}", times[0], found[0], how="ns")
        else:
            draft.take(f"flash.timing.{key}", times, *found, how="ns")
    for bit in ("LSB", "CSB", "MSB"):
        for what in ("Read", "Program"):
            element = elements.find(f"Page_{what}_Latency_{bit}")
            if bit not in bits:
                draft.drop(element, f"{technology.text.strip()} has no such pages")
    if any(isinstance(draft.keys[f"flash.timing.{key}"][0], list) for key in ("read_us", "program_us")):
        if len(bits) == 3:
            draft.take("flash.page_types", "00000011:001122", technology, how="MQSim's order of TLC pages")
        else:
            draft.take("flash.page_types", "interleaved", technology, how="lower and upper pages in turn")
    else:
        draft.drop(technology, "all pages take equally long")
    erase = elements.get("Block_Erase_Latency")
    draft.take("flash.timing.erase_us", elements.number(erase, 0) / 1000, erase, how="ns")
    rate, width = elements.get("Channel_Transfer_Rate"), elements.get("Flash_Channel_Width")
    per_byte = 1000 / (elements.number(rate, 0) * elements.whole(width, 1))
    draft.take("flash.timing.bus_ns_per_byte", per_byte, rate, width, how="1000 / (MT/s · bytes)")
    draft.assume("flash.timing.command_ns", 290, "MQSim's command and address cycles of a read (361 of a program)")
    draft.assume("flash.timing.erase_command_ns", 220, "MQSim's command and address cycles of an erase")
    draft.assume("flash.commands.multi_plane", "match", "MQSim joins pages of one number in the planes of a die")
    draft.assume("flash.commands.register_ns", 500, "MQSim's tDBSY")


def _suspension(elements: Elements, draft: Draft) -> None:
    support = elements.find("CMD_Suspension_Support")
    times = {
        "flash.timing.suspend_program_us": elements.find("Suspend_Program_Time"),
        "flash.timing.suspend_erase_us": elements.find("Suspend_Erase_Time"),
    }
    suspend = elements.word(support, SUSPENSIONS) if support else "off"
    if support:
        draft.take("flash.commands.suspend", suspend, support)
        if support.text.strip().upper() == "PROGRAM":
            draft.drop(support, "`program-erase` suspends erases as well")
    if suspend == "off":
        for element in times.values():
            draft.drop(element, "operations are not suspended")
        return
    for key, element in times.items():
        if element:
            draft.take(key, elements.number(element) / 1000, element, how="ns")
    draft.assume("flash.timing.resume_us", 0, "MQSim resumes at once")
    draft.assume("flash.commands.suspensions", 0, "MQSim has no limit (its public source never suspends for reads, "
                 "because a `break` is missing)")  # fmt: skip


def _ftl(elements: Elements, draft: Draft) -> None:
    spare = elements.get("Overprovisioning_Ratio")
    share = elements.number(spare, 0, 1)
    draft.take("ftl.over_provisioning", share / (1 - share), spare, how="of the raw pages")
    scheme = elements.get("Plane_Allocation_Scheme")
    order = scheme.text.strip().upper()
    if sorted(order) != sorted("CWDP"):
        raise elements.wrong(scheme, "the letters C, W, D and P in any order, such as CWDP")
    draft.take("ftl.allocation", order, scheme, how="the first varies fastest in both")
    mapping, ideal, cache = (elements.find(name) for name in ("Address_Mapping", "Ideal_Mapping_Table", "CMT_Capacity"))
    page_level = mapping is None or elements.word(mapping, {"PAGE_LEVEL": "page", "HYBRID": "hybrid"}) == "page"
    if not page_level and mapping:
        draft.take("ftl.map", "hybrid", mapping, how="MQSim does not implement it; this is FAST")
        draft.drop(cache, "the hybrid map is in memory")
    elif ideal and elements.flag(ideal):
        draft.take("ftl.map", "page", ideal, how="the whole map is in memory")
        draft.drop(cache, "the whole map is in memory")
    elif cache:
        entry = _cached_entry_bytes(draft)
        size = Fraction(elements.whole(cache, 1) // entry * 8, 1024)
        draft.take("ftl.map", "dftl", ideal or mapping or cache, how="the map is in flash, with a cache of entries")
        draft.take("ftl.cache_kib", size, cache, how=f"bytes; an entry has {entry} in MQSim and 8 here")
        filled = elements.find("Enabled_Preconditioning")
        if filled:
            draft.take("ftl.cache_start", "warm" if elements.flag(filled) else "cold", filled,
                       how="preconditioning fills the cache")  # fmt: skip
    else:
        draft.assume("ftl.map", "page", "there is no CMT_Capacity")


def _cached_entry_bytes(draft: Draft) -> int:
    """The size of an entry in MQSim's cache: a logical and a physical page, and a bit for each sector of the page."""
    pages: int = math.prod(draft.keys[key][0] for key in GEOMETRY)
    sectors: float = draft.keys["flash.page_kib"][0] * 1024 / SECTOR
    return math.ceil((2 * math.log2(pages) + sectors) / 8)


def _collection(elements: Elements, draft: Draft) -> None:
    policy = elements.get("GC_Block_Selection_Policy")
    draft.take("ftl.gc.victim", elements.word(policy, VICTIMS), policy)
    if policy.text.strip().upper() in ("RANDOM", "RANDOM_PP"):
        draft.drop(policy, "`random` is RANDOM_P: a block without an invalid page is not taken, any other is")
    blocks = draft.keys["flash.blocks_per_plane"][0]
    begin, hard = elements.get("GC_Exec_Threshold", "GC_Exect_Threshold"), elements.find("GC_Hard_Threshold")
    share = elements.number(begin, 0, 1)
    how = "free blocks of a plane"
    if share * blocks < LEAST_BLOCKS:
        share, how = Fraction(LEAST_BLOCKS, blocks), f"{how}; MQSim takes {LEAST_BLOCKS} at least"
    preemptible = elements.find("Preemptible_GC_Enabled")
    if preemptible and elements.flag(preemptible) and hard:
        draft.take("ftl.gc.threshold", elements.number(hard, 0, 1), hard, preemptible, how="from here on it goes first")
        draft.take("ftl.gc.soft_threshold", share, begin, how=how)
    else:
        draft.take("ftl.gc.threshold", share, begin, how=how)
        draft.drop(hard, "MQSim reads it with Preemptible_GC_Enabled only")
        draft.drop(preemptible, "reads go before collection (flash.scheduler); in MQSim a collection that is not "
                   "preemptible goes before requests")  # fmt: skip
    copyback = elements.find("Use_Copyback_for_GC")
    if copyback:
        draft.take("ftl.gc.copyback", "on" if elements.flag(copyback) else "off", copyback)
    draft.assume("ftl.gc.run", "steps", "MQSim collects page by page")


def _memory(elements: Elements, draft: Draft, page_bytes: int) -> None:
    cache = elements.get("Data_Cache_Capacity")
    size = elements.whole(cache)
    draft.take("buffer.dram_mib", Fraction(size, 2**20), cache, how="bytes")
    mechanism = elements.find("Caching_Mechanism")
    if size > 0 and mechanism and mechanism.text.strip().upper() == "ADVANCED":
        draft.take("buffer.flush", "watermark", mechanism, how="what was not written a short time before is written "
                   "back at once")  # fmt: skip
        draft.assume("buffer.flush_above", 0, "the same")
        draft.assume("buffer.flush_below", 0, "the same")
    elif size > 0:
        draft.assume("buffer.flush", "none", "MQSim writes back what it evicts")
    rate, burst = (elements.find("Data_Cache_DRAM_Data_Rate"),
                   elements.find("Data_Cache_DRAM_Data_Burst_Size", "Data_Cache_DRAM_Data_Busrt_Size"))  # fmt: skip
    row, column = elements.find("Data_Cache_DRAM_tRCD"), elements.find("Data_Cache_DRAM_tCL")
    if rate and burst and row and column:
        bursts = page_bytes // elements.whole(burst, 1) // 2
        ns = elements.number(row) + elements.number(column) + bursts * 1000 / elements.number(rate, 0)
        draft.take("buffer.hit_us", ns / 1000, row, column, rate, burst, how="a page, as MQSim computes it")
    else:
        draft.assume("buffer.hit_us", 1, "the file has no complete DRAM timing")


def _host(elements: Elements, draft: Draft) -> None:
    interface = elements.get("HostInterface_Type")
    kind = elements.word(interface, {"NVME": "nvme", "SATA": "sata"})
    depth, fetch = elements.get("IO_Queue_Depth"), elements.find("Queue_Fetch_Size")
    if kind == "nvme" and fetch:
        draft.take("host.fetch", elements.whole(fetch, 1), fetch, interface, how="requests of a queue in the drive")
        draft.take("host.entries", elements.whole(depth, 1), depth, interface, how="entries of a queue")
    else:
        draft.take("host.queue_depth", elements.whole(depth, 1), depth, interface)
        draft.drop(fetch, "it counts with NVMe")
    bandwidth, lanes = elements.find("PCIe_Lane_Bandwidth"), elements.find("PCIe_Lane_Count")
    if kind == "nvme" and bandwidth and lanes:
        rate = elements.number(bandwidth, 0) * elements.whole(lanes, 1)
        draft.take(
            "host.link_us_per_sector", Fraction("0.512") / rate, bandwidth, lanes, how="512 bytes / (GB/s · lanes)"
        )
    else:
        for element in (bandwidth, lanes):
            draft.drop(element, "the interface is SATA")
    filled = elements.find("Enabled_Preconditioning")
    if filled and elements.flag(filled):
        draft.take("start.existing", "all", filled, how="--condition writes until the drive is in a steady state")
    elif filled:
        draft.take("start.existing", "reads", filled, how="pages that are read are created")
