"""Every key of a drive file has the effect that it describes: one row for each key, and no key without a row.

A row has two values of the key, what else is set, a workload, and a figure of the summary. Expected of the figure is
that it gets larger or smaller, or two values that are worked out by hand, or how many times the first the second is.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import flashkeep as fk
import pytest
from flashkeep import _flashkeep
from small_drives import small_drive

if TYPE_CHECKING:
    from collections.abc import Mapping

POLICIES = Path(__file__).parents[1] / "differential"
"""Victim policies in Python."""

SCHEMES = Path(__file__).parents[2] / "examples" / "schemes"
"""Redundancy schemes in Python."""

LESS, MORE = "less", "more"
"""The expected change of the figure with the second value."""

OTHER = "other"
"""The figure changes; the direction is not determined."""

Settings = dict[str, Any]
NOTHING: Mapping[str, Any] = MappingProxyType({})
READ, WRITE = "response_us.read.mean", "response_us.write.mean"
IOPS, TOTAL, ERASES = "throughput.iops", "write_amplification.total", "wear.erases_total"

READS = "synth:random,requests=100,write=0,size=4KiB,rate=1"
"""Reads that never overlap."""
WRITES = "synth:sequential,requests=100,write=1,size=4KiB,rate=1"
PRESSED = "synth:sequential,requests=300,write=1,size=4KiB,depth=32"
"""Writes, always more than there are units."""
PRESSED_READS = "synth:sequential,requests=300,write=0,size=4KiB,depth=32"
CHURN = "synth:random,requests=4k,write=1,size=4KiB,depth=4"
"""Twelve times the drive's capacity, so that GC runs."""
SKEWED = "synth:zipf,requests=6k,write=1,size=4KiB,theta=0.99,depth=4"
MIXED = "synth:random,requests=2k,write=0.5,size=4KiB,depth=8"
PARTS = "synth:random,requests=200,write=1,size=2KiB,align=2KiB,rate=1"
ONE_PAGE = "synth:random,requests=1k,write=1,size=4KiB,footprint=4KiB,depth=1"

SUSPEND: Settings = {"flash.commands.suspend": "program-erase"}
EMPTY: Settings = {"start.existing": "none"}
CHANNELS: Settings = {"flash.channels": 4}
MIRROR: Settings = {**CHANNELS, "redundancy.scheme": "mirror"}
RAID5: Settings = {**CHANNELS, "redundancy.scheme": "raid5"}
LRC: Settings = {"flash.channels": 8, "redundancy.scheme": "lrc"}
CURRENTS: Settings = {
    f"flash.energy.{name}": 10
    for name in ("voltage_v", "read_ma", "program_ma", "erase_ma", "transfer_ma", "standby_ma")
}
APART = "synth:random,requests=400,write=1,size=4KiB,rate=100"
FEW = "synth:sequential,requests=12,write=1,size=4KiB,rate=100"
"""Fewer pages than the buffer of 16 pages holds."""
FLUSHED = "synth:random,requests=20,write=1,size=4KiB,rate=1,flush_every=1"
"""A page, a FLUSH, a page, …"""
WATERMARK: Settings = {"buffer.dram_mib": 0.0625, "buffer.flush": "watermark"}

DRAM: Settings = {
    "buffer.dram_mib": 0.125,
    **{f"buffer.energy.{name}": 10 for name in ("voltage_v", "active_ma", "standby_ma", "refresh_ma")},
}


class Knob(NamedTuple):
    """A key, two values, a figure, and its expected change."""

    key: str
    first: object
    second: object
    workload: str
    figure: str
    expected: str | float | tuple[float, float]
    given: Mapping[str, Any] = NOTHING
    options: Mapping[str, Any] = NOTHING


HOT = "synth:random,requests=1k,write=0.5,size=4KiB,footprint=16KiB,depth=8"
UNFOLDED: Settings = {"flash.slc.blocks": 4, "ftl.slc.idle_us": 1e9}
"""A cache that is never folded."""

FLASH = (
    Knob("flash.channels", 1, 2, PRESSED, IOPS, 2.0, EMPTY),
    Knob("flash.chips_per_channel", 1, 2, PRESSED, IOPS, 2.0, EMPTY),
    Knob("flash.dies_per_chip", 1, 2, PRESSED, IOPS, 2.0, EMPTY),
    Knob("flash.planes_per_die", 1, 2, PRESSED, IOPS, 2.0, {**EMPTY, "flash.busy_unit": "plane"}),
    Knob("flash.blocks_per_plane", 32, 64, WRITES, "capacity_bytes", (2730 * 512, 5461 * 512)),
    Knob("flash.pages_per_block", 16, 32, CHURN, ERASES, LESS),
    Knob("flash.summary_page", False, True, WRITES, "operations.program.metadata", (0, 100 // 16), EMPTY),
    Knob("flash.page_kib", 4, 8, "synth:sequential,requests=10,write=1,size=64KiB,rate=1",
         "operations.program.host", (160, 80)),
    Knob("flash.sector_bytes", 512, 4096, PARTS, "operations.read.update", (200, 0)),
    Knob("flash.pin_bytes_per_sector", 512, 528, READS, READ, (90.96, 92.24)),
    Knob("flash.busy_unit", "die", "plane", PRESSED, IOPS, 2.0, {**EMPTY, "flash.planes_per_die": 2}),
    Knob("flash.bus", "transfers", "operations", PRESSED, IOPS, 0.5, {**EMPTY, "flash.chips_per_channel": 2}),
    Knob("flash.control_gang", 1, 2, MIXED, IOPS, LESS, {"flash.channels": 2, "flash.bus": "operations"}),
    Knob("flash.acknowledge", "program", "transfer", WRITES, WRITE, (340.96, 40.96), EMPTY),
    Knob("flash.scheduler", "fifo", "reads-first", MIXED, READ, LESS),
    Knob("flash.page_types", "0", "1", READS, READ, (90.96, 130.96), {"flash.timing.read_us": [50, 90]}),
    Knob("flash.timing.read_us", 50, 80, READS, READ, (90.96, 120.96)),
    Knob("flash.timing.program_us", 300, 500, WRITES, WRITE, (340.96, 540.96), EMPTY),
    Knob("flash.timing.program_sigma", 0, 0.3, CHURN, "response_us.write.p99", MORE),
    Knob("flash.timing.erase_us", 1000, 5000, CHURN, WRITE, MORE),
    Knob("flash.timing.bus_ns_per_byte", 10, 20, READS, READ, (90.96, 131.92)),
    Knob("flash.timing.command_ns", 0, 1000, READS, READ, (90.96, 91.96)),
    Knob("flash.timing.erase_command_ns", 0, 100_000, CHURN, WRITE, MORE),
    Knob("flash.timing.erase_setup_ns", 0, 100_000, CHURN, WRITE, MORE),
    Knob("flash.commands.multi_plane", "off", "match", PRESSED, IOPS, 2 * 340.96 / (2 * 40.96 + 300),
         {**EMPTY, "flash.planes_per_die": 2, "ftl.allocation": "PDWC"}),
    Knob("flash.commands.cache_program", False, True, PRESSED, IOPS, 340.96 / 300, EMPTY),
    Knob("flash.commands.cache_read", False, True, PRESSED_READS, IOPS, 90.96 / 50),
    Knob("flash.commands.register_ns", 0, 30_000, PRESSED, IOPS, 300 / 330,
         {**EMPTY, "flash.commands.cache_program": True}),
    Knob("flash.slc.blocks", 0, 16, WRITES, WRITE, (340.96, 240.96), EMPTY),
    Knob("flash.slc.pages_per_block", 4, 16, WRITES, "slc_cache.written", (4 * 4, 4 * 16), {**EMPTY, **UNFOLDED}),
    Knob("flash.slc.read_us", 10, 20, HOT.replace("depth=8", "rate=100"), READ, MORE, {**EMPTY, **UNFOLDED}),
    Knob("flash.slc.program_us", 100, 200, WRITES, WRITE, (140.96, 240.96), {**EMPTY, "flash.slc.blocks": 16}),
    Knob("flash.commands.suspend", "off", "program-erase", MIXED, READ, LESS),
    Knob("flash.commands.suspensions", 1, 0, MIXED, READ, LESS, SUSPEND),
    Knob("flash.timing.suspend_program_us", 0, 100, MIXED, READ, MORE, SUSPEND),
    Knob("flash.timing.suspend_erase_us", 0, 500, "synth:random,requests=4k,write=0.5,size=4KiB,rate=1k", READ, MORE,
         {"flash.commands.suspend": "erase"}),
    Knob("flash.timing.resume_us", 0, 100, MIXED, WRITE, MORE, SUSPEND),
    Knob("flash.energy.voltage_v", 1, 3, CHURN, "energy.total_j", 3.0, CURRENTS),
    Knob("flash.energy.read_ma", 10, 20, CHURN, "energy.flash_j.read", 2.0, CURRENTS),
    Knob("flash.energy.program_ma", 10, 20, CHURN, "energy.flash_j.program", 2.0, CURRENTS),
    Knob("flash.energy.erase_ma", 10, 20, CHURN, "energy.flash_j.erase", 2.0, CURRENTS),
    Knob("flash.energy.transfer_ma", 10, 20, CHURN, "energy.flash_j.transfer", 2.0, CURRENTS),
    Knob("flash.energy.standby_ma", 10, 20, WRITES, "energy.flash_j.standby", 2.0, CURRENTS),
)  # fmt: skip

BUDGET: Settings = {"ftl.wear.erase_budget": 1000}
WORN: Settings = {
    "ftl.wear.erase_budget": 100, "flash.blocks_per_plane": 64, "ftl.wear.levelling": "migration",
}  # fmt: skip
LIMITED: Settings = {**WORN, "ftl.wear.levelling": "rate-limit"}
FILE = "synth:random,requests=20k,write=1,size=4KiB,footprint=128KiB,depth=4"
"""A small file written again and again beside data that is not touched."""
UNTIMED: Settings = {"untimed": True}

FTL = (
    Knob("ftl.over_provisioning", 0.25, 0.5, WRITES, "capacity_bytes", (3276 * 512, 2730 * 512)),
    Knob("ftl.allocation", "dynamic", "CWDP", "synth:random,requests=2k,write=1,size=4KiB,rate=3k", WRITE, MORE,
         {"flash.channels": 4, "flash.blocks_per_plane": 64}),
    Knob("ftl.stride_pages", 1, 2, "synth:random,requests=100,write=0,size=8KiB,align=8KiB,rate=1", READ,
         (90.96, 181.92), {"flash.channels": 2, "ftl.allocation": "dynamic-in-channel"}),
    Knob("flash.pages_per_program", 1, 4, "synth:sequential,requests=100,write=1,size=16KiB,depth=1", WRITE,
         (4 * 340.96, 4 * 40.96 + 300), EMPTY),
    Knob("ftl.logical_page_kib", 2, 8, PARTS, "operations.read.update", (0, 400)),
    Knob("ftl.gather_us", 0, 100, PARTS, WRITE, MORE, {"ftl.logical_page_kib": 1}),
    Knob("ftl.pool", "plane", "element", CHURN, "operations.copyback.gc", LESS,
         {"flash.planes_per_die": 2, "flash.busy_unit": "chip", "ftl.gc.copyback": "on"}),
    Knob("ftl.plane_choice", "in-turn", "same", ONE_PAGE, "wear.erases_max", MORE, {"flash.planes_per_die": 2}),
    Knob("ftl.partial_writes", "merge", "whole", PARTS, "operations.read.update", (200, 0)),
    Knob("ftl.read_in_flight", "memory", "flash", HOT, "reads_from_memory", LESS,
         {"flash.scheduler": "fifo", "ftl.allocation": "CWDP"}),
    Knob("ftl.coalesce_reads", False, True, "synth:random,requests=100,write=0,size=4KiB,footprint=4KiB,depth=8",
         "reads_from_memory", MORE),
    Knob("ftl.map", "page", "dftl", CHURN, "operations.program.metadata", MORE, {"ftl.cache_kib": 0.25}),
    Knob("ftl.map_memory", "dram", "pcm", ONE_PAGE, WRITE, MORE),
    Knob("ftl.map_write_us", 1, 2, ONE_PAGE, WRITE, MORE, {"ftl.map_memory": "mram"}),
    Knob("ftl.cache_kib", 0.25, 1, CHURN, "mapping.misses", LESS, {"ftl.map": "dftl"}),
    Knob("ftl.cache_start", "warm", "cold", READS, "mapping.misses", MORE, {"ftl.map": "dftl", "ftl.cache_kib": 1024}),
    Knob("ftl.log_blocks", 2, 6, SKEWED, "operations.program.gc", LESS, {"ftl.map": "hybrid"}),
    Knob("ftl.streams", 1, 3, SKEWED, "write_amplification.gc", LESS,
         {"flash.blocks_per_plane": 64, "ftl.over_provisioning": 0.25, "ftl.gc.victim": "cost-benefit"}, UNTIMED),
    Knob("ftl.slc.fold", "idle", "full", PRESSED, "slc_cache.folded", MORE, {**EMPTY, "flash.slc.blocks": 2}),
    Knob("ftl.slc.idle_us", 100, 1e9, WRITES, "slc_cache.folded", LESS, {**EMPTY, "flash.slc.blocks": 2}),
    Knob("ftl.slc.fold_above", 0, 1, WRITES, "slc_cache.folded", (96, 0), {**EMPTY, "flash.slc.blocks": 8}),
    Knob("ftl.slc.erase_budget", 1, 100, WRITES, "slc_cache.erases", (2, 6), {**EMPTY, "flash.slc.blocks": 2}),
    Knob("ftl.gc.victim", "greedy", "random", CHURN, "write_amplification.gc", MORE),
    Knob("ftl.gc.threshold", 0.05, 0.25, CHURN, "write_amplification.gc", MORE),
    Knob("ftl.gc.soft_threshold", 0.1, 0.3, CHURN.replace("depth=4", "rate=100"), "operations.program.gc", MORE),
    Knob("ftl.gc.turn_ms", 1, 10, MIXED, "gc_turns.in_turn", OTHER, {**RAID5, "ftl.gc.threshold": 0.25}),
    Knob("ftl.gc.run", "steps", "hold-channel", MIXED, READ, MORE, {"flash.chips_per_channel": 4}),
    Knob("ftl.gc.background", True, False, CHURN.replace("depth=4", "rate=100"), WRITE, MORE),
    Knob("ftl.gc.copyback", "off", "on", CHURN, "operations.copyback.gc", MORE),
    Knob("ftl.gc.separate", False, True, SKEWED, "write_amplification.gc", LESS,
         {"flash.blocks_per_plane": 64, "ftl.over_provisioning": 0.25, "ftl.gc.victim": "cost-benefit"}, UNTIMED),
    Knob("ftl.gc.file", str(POLICIES / "greedy.py"), str(POLICIES / "last.py"), CHURN, "write_amplification.gc", MORE,
         {"ftl.gc.victim": "python"}),
    Knob("ftl.gc.choices", 1, 10, CHURN, "write_amplification.gc", LESS, {"ftl.gc.victim": "d-choices"}),
    Knob("ftl.gc.window", 1, 16, CHURN, "write_amplification.gc", LESS, {"ftl.gc.victim": "windowed-greedy"}),
    Knob("ftl.wear.erase_budget", 1000, 2000, CHURN, "wear.tbw", 2.0),
    Knob("ftl.wear.levelling", "none", "migration", FILE, "wear.erases_stddev", LESS, WORN, UNTIMED),
    Knob("ftl.wear.rate_limit_below", 0.2, 0.9, FILE, "operations.erase.wear", MORE,
         {**LIMITED, "ftl.wear.rate_limit_window": 0.2}, UNTIMED),
    Knob("ftl.wear.rate_limit_window", 0.1, 0.8, FILE, "operations.erase.wear", OTHER, LIMITED, UNTIMED),
    Knob("ftl.wear.migrate_below", 0.5, 0.95, FILE, "operations.program.migrate", MORE, WORN, UNTIMED),
    Knob("ftl.wear.warranty_years", 5, 10, CHURN, "wear.dwpd", 0.5, BUDGET),
)  # fmt: skip

BUFFER = (
    Knob("buffer.dram_mib", 0.125, 0.5, SKEWED, "buffer.write_hits", MORE),
    Knob("buffer.hit_us", 1, 3, "synth:random,requests=20,write=1,size=4KiB,rate=1", WRITE, (1, 3), DRAM),
    Knob("buffer.write_policy", "back", "through", "synth:random,requests=20,write=1,size=4KiB,rate=1", WRITE,
         (1, 340.96), DRAM),
    Knob("buffer.evict", "page", "stripe", CHURN, "operations.read.parity", LESS,
         {**RAID5, "buffer.dram_mib": 1}),
    Knob("buffer.protected", False, True, FLUSHED, "response_us.flush.mean", (340.96, 1), DRAM),
    Knob("buffer.flush", "none", "watermark", APART, WRITE, LESS, DRAM),
    Knob("buffer.flush_above", 0.9, 0.3, FEW, "operations.program.host", MORE, WATERMARK),
    Knob("buffer.flush_below", 0.25, 0, FEW, "operations.program.host", MORE, {**WATERMARK, "buffer.flush_above": 0.3}),
    Knob("buffer.flush_after_us", 100, 1e8, APART, WRITE, MORE,
         {**DRAM, "buffer.flush": "idle"}),
    Knob("buffer.flush_pages", 1, 4, "synth:random,requests=2k,write=1,size=4KiB,depth=1", IOPS, MORE,
         {**CHANNELS, **WATERMARK, "buffer.flush_above": 0, "buffer.flush_below": 0}),
    Knob("buffer.energy.voltage_v", 10, 30, MIXED, "energy.dram_j", 3.0, DRAM),
    Knob("buffer.energy.active_ma", 10, 20, MIXED, "energy.dram_j", 2.0,
         {**DRAM, "buffer.energy.standby_ma": 0, "buffer.energy.refresh_ma": 0}),
    Knob("buffer.energy.standby_ma", 10, 20, MIXED, "energy.dram_j", 1.5, {**DRAM, "buffer.energy.active_ma": 0}),
    Knob("buffer.energy.refresh_ma", 10, 20, MIXED, "energy.dram_j", 1.5, {**DRAM, "buffer.energy.active_ma": 0}),
    Knob("buffer.energy.active_ns_per_byte", 1, 2, MIXED, "energy.dram_j", 2.0,
         {**DRAM, "buffer.energy.standby_ma": 0, "buffer.energy.refresh_ma": 0}),
)  # fmt: skip

PARITY = "write_amplification.parity"
DVS: Settings = {**CHANNELS, "redundancy.scheme": "dvs"}
FRA: Settings = {**CHANNELS, "redundancy.scheme": "fra"}
PPC: Settings = {**CHANNELS, "redundancy.scheme": "ppc"}
LIFESPAN: Settings = {
    **CHANNELS, "redundancy.scheme": "lifespan", "flash.channels": 8, "redundancy.narrowest": 3,
    "redundancy.rber_new": 1e-5, "redundancy.rber_worn": 1e-3, "redundancy.rber_cycles": 5,
    "redundancy.ecc_bits": 4, "redundancy.stripe_loss": 1e-9,
}  # fmt: skip
SPARSE = "synth:random,requests=500,write=1,size=4KiB,rate=100"
AGEING = "synth:random,requests=20k,write=1,size=4KiB"
FAILS: Settings = {"fail": "channel:1@50%"}
REPLACED: Settings = {"fail": "channel:1@50%,replace_after=5ms"}

DECLUSTERED = {"flash.channels": 6, "redundancy.scheme": "declustered", "redundancy.stripe_data": 2}
REDUNDANCY = (
    Knob("redundancy.scheme", "none", "mirror", WRITES, "write_amplification.mirror", (0, 1), CHANNELS),
    Knob("redundancy.across", "channel", "chip", MIXED, "integrity.lost_pages", MORE,
         {**RAID5, "flash.chips_per_channel": 2}, FAILS),
    Knob("redundancy.width", 2, 4, WRITES, "write_amplification.mirror", (1, 3), MIRROR),
    Knob("redundancy.file", str(SCHEMES / "mirror.py"), str(SCHEMES / "raid5.py"), WRITES, "capacity_bytes", MORE,
         {**CHANNELS, "redundancy.scheme": "python"}),
    Knob("redundancy.read_policy", "round-robin", "least-busy", MIXED, READ, LESS, MIRROR),
    Knob("redundancy.read", "plain", "around-busy", MIXED, READ, LESS, RAID5),
    Knob("redundancy.acknowledge", "all", "first", MIXED, WRITE, LESS, MIRROR),
    Knob("redundancy.incomplete", "zeros", "wait", PRESSED, "operations.read.parity", LESS, {**RAID5, **EMPTY}),
    Knob("redundancy.timeout_ms", 1, 1000, SPARSE, "operations.program.partial_parity", LESS, DVS),
    Knob("redundancy.idle_ms", 1, 1000, SPARSE, "operations.program.parity", LESS, FRA),
    Knob("redundancy.shadow", 0.02, 0.15, CHURN, "operations.program.parity", LESS, FRA),
    Knob("redundancy.nvram_mib", 0.0625, 4, CHURN, "operations.program.parity", LESS, PPC),
    Knob("redundancy.nvram_us", 1, 400, WRITES, WRITE, MORE, PPC),
    Knob("redundancy.commit_on_collection", False, True, CHURN, "operations.program.parity", MORE,
         {**PPC, "redundancy.nvram_mib": 4, "redundancy.shadow": 0.2}),
    Knob("redundancy.stripe_data", 1, 2, WRITES, "capacity_bytes", MORE, DECLUSTERED),
    Knob("redundancy.stripe_parities", 1, 2, WRITES, "operations.program.parity", 2.0, DECLUSTERED),
    Knob("redundancy.distributed_spares", 0, 2, WRITES, "capacity_bytes", 4 / 6, DECLUSTERED),
    Knob("redundancy.narrowest", 3, 4, WRITES, "capacity_bytes", MORE, LIFESPAN),
    Knob("redundancy.stripe_loss", 1e-9, 1e-14, AGEING, PARITY, MORE, LIFESPAN, UNTIMED),
    Knob("redundancy.rber_new", 1e-5, 1e-3, AGEING, PARITY, MORE, LIFESPAN, UNTIMED),
    Knob("redundancy.rber_worn", 1e-4, 1e-3, AGEING, PARITY, MORE, LIFESPAN, UNTIMED),
    Knob("redundancy.rber_cycles", 5, 2000, AGEING, PARITY, LESS, LIFESPAN, UNTIMED),
    Knob("redundancy.ecc_bits", 4, 40, AGEING, PARITY, LESS, LIFESPAN, UNTIMED),
    Knob("redundancy.local_groups", 1, 3, WRITES, "capacity_bytes", LESS, LRC),
    Knob("redundancy.global_parities", 1, 2, WRITES, "write_amplification.parity", MORE, LRC),
    Knob("redundancy.xor_us", 0, 10, WRITES, WRITE, MORE, RAID5),
    Knob("redundancy.spares", 0, 1, MIXED, "integrity.unprotected_page_s", LESS,
         {**RAID5, "redundancy.width": 3, "flash.channels": 12}, {"fail": "member:1@50%"}),
    Knob("redundancy.rebuild_share", 0.1, 1, MIXED, "integrity.time_to_full_redundancy_s", LESS, RAID5, REPLACED),
    Knob("redundancy.rebuild_depth", 1, 8, MIXED, "integrity.time_to_full_redundancy_s", LESS, RAID5, REPLACED),
)  # fmt: skip

BURST = "synth:random,requests=1k,write=0,size=4KiB,rate=20k"

AROUND = (
    Knob("price_per_gb", 1, 2, WRITES, "economy.cost_usd", 2.0),
    Knob("host.queue_depth", 1, 2, PRESSED, IOPS, 2.0, {**EMPTY, "flash.channels": 2}),
    Knob("host.fetch", 1, 2, PRESSED, IOPS, 2.0, {**EMPTY, "flash.channels": 2}),
    Knob("host.entries", 1, 2, PRESSED, IOPS, 2.0, {**EMPTY, "flash.channels": 2}),
    Knob("host.late_requests", "from-admission", "from-arrival", MIXED.replace("depth=8", "rate=5k"), WRITE, LESS,
         {"flash.channels": 4, "host.queue_depth": 2}),
    Knob("host.order", "arrival", "c-look", BURST, "response_us.all.p99", MORE, {"host.queue_depth": 1}),
    Knob("host.link_us_per_sector", 0, 1, READS, READ, (90.96, 98.96)),
    Knob("host.command_us", 0, 5, READS, READ, (90.96, 95.96)),
    Knob("host.latency_us", 0, 5, READS, READ, (90.96, 95.96)),
    Knob("host.controller_w", 1, 3, MIXED, "energy.controller_j", 3.0),
    Knob("host.link_w", 1, 3, MIXED, "energy.controller_j", 3.0, {"host.link_us_per_sector": 1}),
    Knob("start.existing", "all", "none", READS, "unmapped_reads", (0, 100)),
    Knob("start.scan", False, True, "synth:random,requests=100,write=0,size=512,align=4KiB,rate=1", READ,
         (90.96, 55.12), {"start.existing": "reads"}),
    Knob("ageing.model", "none", "approach1", CHURN, ERASES, MORE, EMPTY),
    Knob("ageing.aged_ratio", 0.3, 0.8, CHURN, ERASES, MORE, {**EMPTY, "ageing.model": "approach1"}),
    Knob("ageing.valid_ratio", 0.0, 0.5, WRITES, "fill", MORE, {**EMPTY, "ageing.model": "approach2"}),
    Knob("condition.write_kib", 4, 64, WRITES, "conditioning.write_amplification", LESS, NOTHING, {"condition": True}),
    Knob("condition.round", 0.5, 1.0, WRITES, "conditioning.pages_per_round", 2.0, NOTHING, {"condition": True}),
    Knob("condition.most_rounds", 5, 50, WRITES, "conditioning.rounds", MORE,
         {"condition.round": 0.3}, {"condition": True}),
)  # fmt: skip

KIM: Settings = {"errors.model": "kim"}
WORN_OUT: Settings = {**KIM, "errors.cycles": 3000, "errors.retention_days": 365}
"""An RBER of 0.0114, of which hard decoding corrects next to nothing and the fourth retry nearly all."""
HOPELESS: Settings = {**KIM, "errors.scale": 100, "errors.retry.factor": 1}
RBER, RETRIES, DRAWN = "errors.rber.mean", "errors.retries_per_read", "errors.uncorrectable.drawn"
LIFE = "errors.lifetime_cycles"
SOFT: Settings = {**WORN_OUT, "errors.retry.steps": 0, "errors.ecc.corrects_soft": 200}
FIELD: Settings = {**KIM, "errors.events_per_drive_day": 0.003}
MEASURED = Path(__file__).parent / "rber"
"""RBERs in CSV files."""

ERRORS = (
    Knob("errors.model", "kim", "table", READS, RBER, MORE, {"errors.file": str(MEASURED / "high.csv")}),
    Knob("errors.file", str(MEASURED / "low.csv"), str(MEASURED / "high.csv"), READS, RBER, (1e-4, 4e-3),
         {"errors.model": "table"}),
    Knob("errors.preset", "tlc-72l", "mlc-3xnm", READS, RBER, (1.48e-3, 5.06e-8), KIM),
    Knob("errors.scale", 1, 2, READS, RBER, (1.48e-3, 2.96e-3), KIM),
    Knob("errors.cycles", 0, 3000, READS, RBER, MORE, KIM),
    Knob("errors.retention_days", 0, 365, READS, RBER, MORE, {**KIM, "errors.cycles": 3000}),
    Knob("errors.page_reads", 0, 1000, READS, RBER, MORE, {**KIM, "errors.cycles": 3000}),
    Knob("errors.block_sigma", 0, 1, READS, "errors.rber.max", MORE, KIM),
    Knob("errors.layer_sigma", 0, 1, READS, "errors.rber.max", MORE, KIM),
    Knob("errors.layers", 1, 16, READS, RBER, OTHER, {**KIM, "errors.layer_sigma": 1}),
    Knob("errors.type_factors", 1, 2, READS, RBER, (1.48e-3, 2.96e-3), KIM),
    Knob("errors.slc_factor", 0.01, 0.1, HOT.replace("depth=8", "rate=100"), RBER, MORE,
         {**KIM, **EMPTY, **UNFOLDED}),
    Knob("errors.temperature_c", 40, 70, READS, RBER, MORE, WORN_OUT),
    Knob("errors.reference_c", 30, 50, READS, RBER, LESS, {**WORN_OUT, "errors.temperature_c": 40}),
    Knob("errors.uber_target", 1e-16, 1e-15, READS, LIFE, MORE, KIM),
    Knob("errors.uber_days", 90, 365, READS, LIFE, LESS, KIM),
    Knob("errors.events_per_drive_day", 0.003, 0.006, READS, "errors.field.events_per_1000_drive_days", 2.0, KIM),
    Knob("errors.frailty_shape", 0.25, 1, READS, "errors.field.drives_in_4_years", MORE, FIELD),
    Knob("errors.ecc.codeword_bits", 9200, 18400, READS, RETRIES, MORE, {**KIM, "errors.cycles": 2500}),
    Knob("errors.ecc.user_bits", 8192, 4096, READS, "errors.uber", 2.0, {**WORN_OUT, "errors.scale": 2}),
    Knob("errors.ecc.corrects", 60, 90, READS, RETRIES, LESS, WORN_OUT),
    Knob("errors.ecc.corrects_soft", 73, 200, READS, DRAWN, LESS, {**WORN_OUT, "errors.retry.steps": 0}),
    Knob("errors.ecc.decode_us", 0, 10, READS, READ, (90.96, 100.96), KIM),
    Knob("errors.ecc.decode_soft_us", 0, 10, READS, READ, (3 * 90.96, 3 * 90.96 + 10), SOFT),
    Knob("errors.ecc.soft_sensings", 0, 3, READS, READ, (90.96, 4 * 90.96), SOFT),
    Knob("errors.ecc.miscorrects", 0.01, 1, READS, "errors.miscorrected", MORE, HOPELESS),
    Knob("errors.ecc.end_to_end", False, True, READS, "errors.caught", MORE, {**HOPELESS, "errors.ecc.miscorrects": 1}),
    Knob("errors.retry.steps", 1, 6, READS, DRAWN, LESS, WORN_OUT),
    Knob("errors.retry.factor", 0.9, 0.5, READS, RETRIES, LESS, WORN_OUT),
    Knob("errors.retry.floor", 0, 0.01, READS, DRAWN, MORE, WORN_OUT),
    Knob("errors.retry.sense_us", 50, 150, READS, READ, MORE, WORN_OUT),
    Knob("errors.maintenance.reclaim_reads", 4, 1000, HOT.replace("write=0.5", "write=0"), "operations.read.refresh",
         LESS, KIM),
    Knob("errors.maintenance.refresh_days", 10, 100, READS, "operations.program.refresh", LESS,
         {**KIM, "errors.retention_days": 50}),
    Knob("errors.maintenance.scrub_days", 0.001, 0.01, READS, "operations.read.scrub", LESS, KIM),
    Knob("errors.maintenance.retire_after", 1, 2, CHURN, "wear.expired_blocks", LESS,
         {**KIM, "errors.scale": 4.2, "errors.retry.steps": 0}),
    Knob("errors.retry.pipelined", False, True, READS, READ, LESS, WORN_OUT),
)  # fmt: skip

KNOBS = FLASH + FTL + BUFFER + REDUNDANCY + ERRORS + AROUND
NAMES = {"base", "name", "description"}
"""Keys that only say where a drive comes from and what it is called."""
OF_ARRAYS = {
    "redundancy.log_mib",
    "redundancy.nvram_price_per_gb",
    "redundancy.similar_share",
    "redundancy.reference_share",
    "redundancy.delta_bytes",
    "redundancy.scan_every",
    "redundancy.scan_pages",
    "redundancy.migrate_after_s",
    "redundancy.migrate_at",
    "redundancy.migrate_reads",
    "redundancy.parity_drives",
    "redundancy.shares",
    "redundancy.stripe_kib",
    "redundancy.extent_kib",
    "redundancy.log_over_provisioning",
    "redundancy.segment_kib",
    "redundancy.free_every",
    "redundancy.recall_segments",
    "redundancy.recall_share",
    "redundancy.recall_idle_ms",
    "redundancy.spread",
}
"""Read by arrays only: crates/flashkeep/tests/arrays and crates/flashkeep/src/schemes/tests have their tests."""


OF_FLOWS = {"host.queues", "host.arbitration", "ftl.handles", "ftl.handle_isolation"}
"""Read in runs of several workloads, or with placement handles: test_flows.py and test_handles.py have their tests."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("knobs") / "die.toml"
    path.write_text(small_drive())
    return path


def figure(path: Path, knob: Knob, value: object) -> float:
    drive = fk.drive(path).replace(**{**knob.given, knob.key: value})
    assert not any(knob.key in warning.partition(":")[0] for warning in drive.warnings), "the key is read"
    node: Any = fk.run(drive, knob.workload, requests=False, **knob.options).to_dict()
    for name in knob.figure.split("."):
        node = node[name]
    return float(node)


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.key)
def test_a_knob_changes_what_it_says(path: Path, knob: Knob) -> None:
    first, second = figure(path, knob, knob.first), figure(path, knob, knob.second)
    match knob.expected:
        case tuple(both):
            assert (first, second) == pytest.approx(both, rel=1e-9)
        case float(times):
            assert second / first == pytest.approx(times, rel=0.01)
        case "less":
            assert second < first
        case "more":
            assert second > first
        case _:
            assert second != first


def test_names_name(path: Path) -> None:
    """`base` brings another drive's values, but for what that one is called and said to be; names change no result."""
    named = path.with_name("named.toml")
    named.write_text('base = "./die.toml"\n')
    plain, other = fk.run(path, READS), fk.run(named, READS)
    assert other.digest == plain.digest != fk.run(fk.drive(path).replace(**CHANNELS), READS).digest
    assert (plain.drive.name, other.drive.name) == ("die", "named")
    named.write_text('base = "./die.toml"\nname = "mine"\ndescription = "A die."\n')
    said = fk.run(named, READS)
    assert (said.digest, said.drive.name, said.drive.description) == (plain.digest, "mine", "A die.")


def leaves(schema: dict[str, Any], node: dict[str, Any], prefix: str = "") -> dict[str, dict[str, Any]]:
    """The keys of a schema, and what it says about each of them."""
    if "$ref" in node and "properties" in (table := schema["$defs"][node["$ref"].rpartition("/")[2]]):
        node = table
    if "properties" not in node:
        return {prefix: node}
    below = node["properties"].items()
    tables = [leaves(schema, value, f"{prefix}.{key}" if prefix else key) for key, value in below]
    return {key: about for table in tables for key, about in table.items()}


SCHEMA = json.loads(_flashkeep.schema())
KEYS = leaves(SCHEMA, SCHEMA)
ROWS = {knob.key for knob in KNOBS}
DECLARED = {
    key: about
    for key, about in KEYS.items()
    if key not in ROWS | OF_ARRAYS and len(about.get("examples", ())) > 1 and "scheme" in about.get("x-selected-by", {})
}
"""Options that a scheme's file gives two examples of: a row each, without saying what changes."""


@pytest.mark.parametrize("key", DECLARED)
def test_an_option_with_examples_changes_a_run(path: Path, key: str) -> None:
    about = DECLARED[key]
    for scheme in about["x-selected-by"]["scheme"]:
        drive = fk.drive(path).replace(**CHANNELS, **{"redundancy.scheme": scheme})
        first, second = (fk.run(drive.replace(**{key: value}), MIXED) for value in about["examples"][:2])
        assert first.digest != second.digest, (scheme, key)


def options(table: str) -> dict[str, tuple[str, list[str]]]:
    """The options in tables of this name: the key that selects each, and the values that it is an option of."""
    found = {}
    for key, about in KEYS.items():
        if key.startswith(table) and key not in OF_ARRAYS:
            for selector, values in about.get("x-selected-by", {}).items():
                found[key] = (f"{key.rpartition('.')[0]}.{selector}", values)
    return found


def values_of(key: str) -> list[str]:
    """The values that a key accepts."""
    about = KEYS[key]
    if "$ref" in about:
        about = SCHEMA["$defs"][about["$ref"].rpartition("/")[2]]
    return about.get("enum") or [one["const"] for one in about.get("oneOf", ())] or ["dynamic", "CWDP"]


@pytest.mark.parametrize("key", [key for table in ("ftl.", "ageing.", "redundancy.") for key in options(table)])
def test_an_option_of_what_is_not_selected_is_ignored_with_a_warning(path: Path, key: str) -> None:
    selector, selecting = options(key)[key]
    other = next(value for value in values_of(selector) if value not in selecting)
    about = KEYS[key]
    value = about.get("examples", [about.get("default")])[0]
    value = value if value is not None else 2
    drive = fk.drive(path).replace(**{**CHANNELS, "ftl.over_provisioning": 1.0, selector: other, key: value})
    assert drive.warnings == (f'{key}: no effect with {selector} = "{other}"',)
    table, name = key.rsplit(".", 1)
    node = drive.to_dict()
    for part in table.split("."):
        node = node[part]
    assert name not in node
    if "maximum" in about or "exclusiveMaximum" in about:
        with pytest.raises(fk.DriveError, match="accepted"):
            drive.replace(**{key: 1e20})


def test_every_key_of_the_schema_has_a_row() -> None:
    keys = list(KEYS)
    assert len(keys) > 100
    shown = [knob.key for knob in KNOBS]
    assert len(shown) == len(set(shown))
    # Disks and arrays have tests of their own: crates/flashkeep/src/disk/tests and crates/flashkeep/tests/it/arrays.
    keys = [key for key in keys if key.split(".")[0] not in {"disk", "array", "members"}]
    assert set(shown) | set(DECLARED) | NAMES | OF_ARRAYS | OF_FLOWS == set(keys), (
        "keys without a row, or rows without a key"
    )
