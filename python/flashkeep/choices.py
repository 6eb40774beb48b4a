"""The words that options accept, and the keys of a drive file, as types.

Generated from the schema and the table of options: python -m flashkeep.registry
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

BadRecords = Literal["refuse", "skip"]
Existing = Literal["reads", "all", "none", "steady"]
Figure = Literal["distributions", "breakdown", "over_time", "amplification", "operations", "utilization", "wear"]
Library = Literal["pandas", "polars"]
Replay = Literal["open", "closed", "batch"]
TraceFormat = Literal["ssdsim", "mqsim", "disksim", "vscsi", "msr", "spc", "blkparse", "blktrace", "tencent", "systor", "fio", "fio-log", "alibaba", "fiu", "etw", "biosnoop", "perf", "baleen", "oracle-general", "csv", "records"]

class ArraySpec(TypedDict, total=False):
    """The volumes of an array."""

    volumes: int

class FlashSpec(TypedDict, total=False):
    """Geometry, wiring and timing."""

    channels: int
    chips_per_channel: int
    dies_per_chip: int
    planes_per_die: int
    blocks_per_plane: int
    pages_per_block: int
    pages_per_program: int
    summary_page: bool
    page_kib: float
    sector_bytes: int
    pin_bytes_per_sector: int
    busy_unit: Literal["chip", "die", "plane-pair", "plane"]
    bus: Literal["transfers", "operations", "rounds"]
    control_gang: int
    acknowledge: Literal["transfer", "program"]
    scheduler: Literal["reads-first", "fifo", "ssdsim"]
    page_types: str
    timing: TimingSpec
    commands: CommandsSpec
    slc: SlcSpec
    energy: FlashEnergySpec

class TimingSpec(TypedDict, total=False):
    """Times of the flash operations."""

    read_us: float | Sequence[float]
    program_us: float | Sequence[float]
    program_sigma: float
    erase_us: float
    bus_ns_per_byte: float
    command_ns: float
    erase_command_ns: float
    erase_setup_ns: float
    suspend_program_us: float
    suspend_erase_us: float
    resume_us: float

class CommandsSpec(TypedDict, total=False):
    """Advanced commands, beyond read, program and erase of one page or block."""

    multi_plane: Literal["off", "match", "skip"]
    cache_program: bool
    cache_read: bool
    suspend: Literal["off", "erase", "program-erase"]
    register_ns: float
    suspensions: int

class SlcSpec(TypedDict, total=False):
    """Blocks with one bit per cell."""

    blocks: int
    pages_per_block: int
    read_us: float
    program_us: float

class FlashEnergySpec(TypedDict, total=False):
    """Currents of the flash, for each operation."""

    voltage_v: float
    read_ma: float
    program_ma: float
    erase_ma: float
    transfer_ma: float
    standby_ma: float

class ErrorsSpec(TypedDict, total=False):
    """Bit errors of the flash, and what the controller does about them."""

    model: Literal["none", "kim", "table"]
    preset: Literal["tlc-72l", "mlc-3xnm", "mlc-2ynm"]
    scale: float
    cycles: float
    retention_days: float
    page_reads: float
    block_sigma: float
    layer_sigma: float
    layers: int
    type_factors: float | Sequence[float]
    slc_factor: float
    temperature_c: float
    reference_c: float
    uber_target: float
    uber_days: float
    events_per_drive_day: float
    frailty_shape: float
    file: str
    ecc: EccOptionsTable
    retry: RetryOptionsTable
    maintenance: MaintenanceOptionsTable

class EccOptionsTable(TypedDict, total=False):
    """A table of `[errors]`: the options `T`, which a drive with errors has."""

    codeword_bits: int
    user_bits: int
    corrects: int
    corrects_soft: int
    decode_us: float
    decode_soft_us: float
    soft_sensings: int
    miscorrects: float
    end_to_end: bool

class RetryOptionsTable(TypedDict, total=False):
    """A table of `[errors]`: the options `T`, which a drive with errors has."""

    steps: int
    factor: float
    floor: float
    sense_us: float
    pipelined: bool

class MaintenanceOptionsTable(TypedDict, total=False):
    """A table of `[errors]`: the options `T`, which a drive with errors has."""

    reclaim_reads: float
    refresh_days: float
    scrub_days: float
    retire_after: int

class FtlSpec(TypedDict, total=False):
    """The flash translation layer."""

    over_provisioning: float
    allocation: str
    logical_page_kib: float
    pool: Literal["plane", "element", "gang"]
    plane_choice: Literal["in-turn", "most-free", "same"]
    partial_writes: Literal["merge", "whole"]
    read_in_flight: Literal["memory", "flash"]
    coalesce_reads: bool
    map: Literal["page", "dftl", "block", "hybrid"]
    map_memory: Literal["dram", "pcm", "mram"]
    streams: int
    handles: int
    handle_isolation: Literal["initially", "persistently"]
    stride_pages: int
    gather_us: float
    cache_kib: float
    cache_start: Literal["warm", "cold"]
    log_blocks: int
    map_write_us: float
    gc: GcSpec
    wear: WearSpec
    slc: SlcCacheSpec

class GcSpec(TypedDict, total=False):
    """Garbage collection."""

    victim: Literal["greedy", "greedy-last", "fifo", "cost-benefit", "random", "d-choices", "rga", "windowed-greedy", "python"]
    threshold: float
    soft_threshold: float
    run: Literal["steps", "hold-channel"]
    background: bool
    copyback: Literal["off", "on", "parity", "parity-skip"]
    separate: bool
    turn_ms: float
    choices: int
    window: int
    file: str

class WearSpec(TypedDict, total=False):
    """Wear leveling."""

    erase_budget: int
    levelling: Literal["none", "rate-limit", "migration", "both"]
    rate_limit_below: float
    rate_limit_window: float
    migrate_below: float
    warranty_years: float

class SlcCacheSpec(TypedDict, total=False):
    """The SLC cache: what a page map does with the blocks of `flash.slc`."""

    fold: Literal["idle", "full"]
    idle_us: float
    fold_above: float
    erase_budget: int

class BufferSpec(TypedDict, total=False):
    """The DRAM that buffers writes, or holds copies for reads."""

    dram_mib: float
    hit_us: float
    write_policy: Literal["back", "through"]
    evict: Literal["page", "stripe", "run"]
    protected: bool
    flush: Literal["none", "idle", "watermark"]
    flush_pages: int
    flush_after_us: float
    flush_above: float
    flush_below: float
    energy: DramEnergySpec

class DramEnergySpec(TypedDict, total=False):
    """The power of the DRAM."""

    voltage_v: float
    active_ma: float
    standby_ma: float
    refresh_ma: float
    active_ns_per_byte: float

class RedundancySpec(TypedDict, total=False):
    """The redundancy of a drive or an array: the scheme and its options."""

    scheme: Literal["none", "mirror", "chained", "raid4", "raid5", "raid6", "raid-tp", "lrc", "ds", "dvs", "fra", "ppc", "lifespan", "hpda", "diff-raid", "declustered", "griffin", "i-cash", "spd-raid4", "backup", "python"]
    stripe_kib: float
    across: Literal["channel", "chip", "die"]
    width: int
    spares: int
    read_policy: Literal["round-robin", "least-busy", "first"]
    acknowledge: Literal["all", "first"]
    rebuild_share: float
    rebuild_depth: int
    read: str
    chain_offset: int
    chain_read: Literal["first", "in-turn", "least-busy"]
    incomplete: Literal["zeros", "wait"]
    idle_ms: float
    xor_us: float
    local_groups: int
    global_parities: int
    extent_kib: float
    log_over_provisioning: float
    timeout_ms: float
    shadow: float
    nvram_mib: float
    nvram_us: float
    commit_on_collection: bool
    narrowest: int
    stripe_loss: float
    rber_new: float
    rber_worn: float
    rber_cycles: int
    ecc_bits: int
    log_mib: float
    shares: float | Sequence[float]
    stripe_data: int
    stripe_parities: int
    distributed_spares: int
    migrate_after_s: float
    migrate_at: float
    migrate_reads: float
    similar_share: float
    reference_share: float
    delta_bytes: int
    scan_every: int
    scan_pages: int
    parity_drives: int
    nvram_price_per_gb: float
    segment_kib: int
    free_every: int
    recall_segments: int
    recall_share: float
    recall_idle_ms: float
    spread: Literal["interleaved", "contiguous"]
    file: str

class DiskSpec(TypedDict, total=False):
    """Heads and platters."""

    capacity_gb: float
    page_kib: float
    rpm: int
    heads: int
    cylinders: int
    zones: int
    rate_outer_mb_s: float
    rate_inner_mb_s: float
    command_ms: float
    head_switch_ms: float
    track_switch_ms: float
    rotation: Literal["position", "random", "mean"]
    scheduler: Literal["fcfs", "sstf", "look"]
    queue_depth: int
    write_cache_mib: float
    interface_mb_s: float
    seek: SeekSpec
    power: DiskPowerSpec

class SeekSpec(TypedDict, total=False):
    """How long the arm takes, by the number of cylinders."""

    curve: Literal["three-points", "two-pieces", "table"]
    read_track_ms: float
    read_average_ms: float
    read_full_ms: float
    write_track_ms: float
    write_average_ms: float
    write_full_ms: float
    pieces: float | Sequence[float]
    write_settle_ms: float
    points: float | Sequence[float]

class DiskPowerSpec(TypedDict, total=False):
    """What a disk draws, W. What is left out is not counted."""

    read_w: float
    write_w: float
    seek_w: float
    idle_w: float
    standby_w: float
    spin_up_w: float
    standby_after_s: float
    spin_up_s: float

class HostSpec(TypedDict, total=False):
    """The host interface."""

    queue_depth: int
    late_requests: Literal["from-admission", "from-arrival"]
    order: Literal["arrival", "c-look"]
    queues: int
    entries: int
    fetch: int
    arbitration: Literal["round-robin", "weighted", "priority"]
    link_us_per_sector: float
    command_us: float
    latency_us: float
    controller_w: float
    link_w: float

class StartSpec(TypedDict, total=False):
    """The contents of the drive before time 0."""

    existing: Literal["reads", "all", "none", "steady"]
    scan: bool

class AgeingSpec(TypedDict, total=False):
    """Flash that has been used before time 0, by construction."""

    model: Literal["none", "basic", "approach1", "approach2", "steady"]
    aged_ratio: float
    valid_ratio: float

class ConditionSpec(TypedDict, total=False):
    """Writing before time 0 until the drive is in a steady state."""

    write_kib: float
    round: float
    most_rounds: int

class DriveFile(TypedDict, total=False):
    """A drive as the user describes it."""

    base: str
    name: str
    description: str
    members: Sequence[str]
    price_per_gb: float
    array: ArraySpec
    flash: FlashSpec
    errors: ErrorsSpec
    ftl: FtlSpec
    buffer: BufferSpec
    redundancy: RedundancySpec
    disk: DiskSpec
    host: HostSpec
    start: StartSpec
    ageing: AgeingSpec
    condition: ConditionSpec