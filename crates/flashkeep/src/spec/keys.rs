//! The keys of a drive file: one set of types that reads TOML, rejects what it does not know, and exports the
//! JSON Schema. Every default, every limit of a single key and every choice of names stands here and nowhere
//! else: the checks, the messages and the schema all read them from these types.

use super::cleaning::Copyback;
use super::commands::CommandsSpec;
use super::disk::DiskSpec;
use super::energy::{DramEnergySpec, FlashEnergySpec};
use super::names::{ageing_models, levellings, maps, schedulers, schemes, victims};
use super::page_types::PerType;
use super::pools::Pool;
use super::shares::Shares;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A drive as the user describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DriveSpec {
    /// Another drive whose values hold where this one says nothing: a preset's name, or a path relative to
    /// this file (it has a `/` or ends in `.toml`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// What to call it; the preset's name or the file's stem where it is left out. Not taken from `base`.
    pub name: String,
    /// A sentence about it. Not taken from `base`.
    pub description: String,
    /// Makes an array of it: its members, each `[COUNT *] DRIVE[,KEY=VALUE…]`, where DRIVE is a preset or a path
    /// relative to this file, such as `["8 * 2CM-128"]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
    /// What a GB (10⁹ bytes) of what a drive or disk offers costs, USD. An array's price is its members'.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub price_per_gb: Option<f64>,
    /// What the host sees of an array.
    pub array: ArraySpec,
    /// The flash chips, how they are wired, and how long they take.
    pub flash: FlashSpec,
    /// The flash translation layer: mapping, allocation, collection.
    pub ftl: FtlSpec,
    /// The DRAM write buffer.
    pub buffer: BufferSpec,
    /// The redundancy inside the drive.
    pub redundancy: RedundancySpec,
    /// Heads and platters: a drive with this table is a disk, and has no flash.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DiskSpec")]
    pub disk: Option<DiskSpec>,
    /// The host interface.
    pub host: HostSpec,
    /// What there is before time 0.
    pub start: StartSpec,
    /// How the flash has been used before time 0, by construction.
    pub ageing: AgeingSpec,
    /// How `--condition` uses it before time 0, by writing.
    pub condition: ConditionSpec,
}

/// What the host sees of an array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ArraySpec {
    /// Equal parts of its address space; the traces of a run go to them in order, each with its own closed loop.
    #[schemars(range(min = 1, max = 255))]
    pub volumes: u32,
}

impl Default for ArraySpec {
    fn default() -> Self {
        ArraySpec { volumes: 1 }
    }
}

/// Geometry, wiring and timing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlashSpec {
    /// Channels (buses between controller and chips).
    #[schemars(range(min = 1, max = 4096))]
    pub channels: u32,
    /// Chips (packages) on each channel.
    #[schemars(range(min = 1, max = 128))]
    pub chips_per_channel: u32,
    /// Dies (LUNs) in each chip.
    #[schemars(range(min = 1, max = 128))]
    pub dies_per_chip: u32,
    /// Planes in each die.
    #[schemars(range(min = 1, max = 128))]
    pub planes_per_die: u32,
    /// Erase blocks in each plane.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub blocks_per_plane: u32,
    /// Data pages in each block.
    #[schemars(range(min = 1, max = 32_768))]
    pub pages_per_block: u32,
    /// A block has one more page behind its data pages, for a summary of them: one sector that is programmed right
    /// after the last data page (Agrawal et al., USENIX ATC 2008).
    pub summary_page: bool,
    /// Page size in KiB: a whole number of sectors, from 1 to 64.
    #[schemars(range(max = 4096.0), extend("exclusiveMinimum" = 0.0))]
    pub page_kib: f64,
    /// Sector size in bytes, the smallest unit a host writes.
    #[schemars(range(min = 1, max = 65_536))]
    pub sector_bytes: u32,
    /// Bytes that cross the pins for each sector: more than `sector_bytes` where metadata travel along, and
    /// equal to it where left out.
    #[schemars(range(min = 1, max = 131_072))]
    pub pin_bytes_per_sector: u32,
    /// What is busy as one: while one page is read or programmed, the rest of the unit does nothing else.
    pub busy_unit: BusyUnit,
    /// What the channel is held for: `transfers`, whole `operations`, or `rounds` of one operation for each busy unit.
    pub bus: BusUse,
    /// Channels that share their control lines (a gang): they begin operations together, and none begins the next
    /// before all have ended. 1: each has its own.
    #[schemars(range(min = 1, max = 4096))]
    pub control_gang: u32,
    /// When a program is reported as done.
    pub acknowledge: Acknowledge,
    /// Who goes first when a channel is free.
    #[schemars(extend("enum" = schedulers()))]
    pub scheduler: String,
    /// Which type each page of a block is of, where `timing` tells several apart: `interleaved` (page mod types), or
    /// types as digits that repeat, those of a block's first pages before a colon (`00000011:001122`).
    #[schemars(extend("pattern" = "^(interleaved|([0-7]*:)?[0-7]+)$"))]
    pub page_types: String,
    /// Times of the operations.
    pub timing: TimingSpec,
    /// What the chips can do besides one page at a time.
    pub commands: CommandsSpec,
    /// What the operations draw.
    pub energy: FlashEnergySpec,
}

/// Times of the flash operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimingSpec {
    /// Array to page register, µs; a list: one for each type of page.
    pub read_us: PerType,
    /// Page register to array, µs; a list: one for each type of page.
    pub program_us: PerType,
    /// A block's erase, µs.
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0.0))]
    pub erase_us: f64,
    /// One byte over the channel, ns.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub bus_ns_per_byte: f64,
    /// Command and address cycles of a page operation on the channel, ns.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub command_ns: f64,
    /// Command and address cycles of an erase on the channel, ns.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub erase_command_ns: f64,
    /// Between the last cycle of an erase command and the start of the erase, ns.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub erase_setup_ns: f64,
}

/// What is busy as one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BusyUnit {
    /// A whole chip, as in SSDSim.
    Chip,
    /// A die: the dies of a chip work side by side.
    Die,
    /// Two planes: the pairs of a die work side by side, as in the DiskSim extension.
    PlanePair,
    /// A plane: the planes of a die work side by side.
    Plane,
}

/// What the channel is held for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BusUse {
    /// Commands and data only; the array works while others use the channel.
    Transfers,
    /// The whole operation, array time included.
    Operations,
    /// Rounds of one operation for each busy unit, whose array times overlap; what waits is taken at once.
    Rounds,
}

/// When a program is reported as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Acknowledge {
    /// When the data have crossed the channel (SSDSim).
    Transfer,
    /// When the page is in the array.
    Program,
}

/// The flash translation layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FtlSpec {
    /// (physical − logical) / logical pages, of what one copy can use.
    #[schemars(range(max = 100.0), extend("exclusiveMinimum" = 0.0))]
    pub over_provisioning: f64,
    /// `dynamic` (any idle chip, placed late), `dynamic-in-channel` (the channel fixed by the address),
    /// `dynamic-in-chip` (channel and chip, the chips of a channel side by side), or the levels that the address fixes:
    /// letters of C (channel), W (chip), D (die), P (plane), each at most once, the one that varies fastest first.
    /// `CWDP` leaves no choice, `CWD` one (the plane), `CW` two.
    #[schemars(extend("pattern" = "^(dynamic|dynamic-in-channel|dynamic-in-chip|[CWDP]{1,4})$"))]
    pub allocation: String,
    /// With `dynamic-in-channel` and `dynamic-in-chip`: so many consecutive pages go to the same one. 0: a logical page, or
    /// as many as share a flash page.
    #[schemars(range(max = 65_536))]
    pub stride_pages: u32,
    /// A page of the map, KiB; 0 for a flash page. Several flash pages are written as one: a write of a part reads the
    /// rest and writes all of it, flash page by flash page. Of pages that are smaller, a whole number share a flash page:
    /// a program takes as many as wait, and leaves the other places empty.
    #[schemars(range(min = 0.0, max = 65_536.0))]
    pub logical_page_kib: f64,
    /// How long a page waits at most for others with which it can share a flash page, µs; 0: it does not.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub gather_us: f64,
    /// What has one open block, and is collected as one: a `plane`, an `element` (all planes of a chip that is busy as
    /// one) or a `gang` (all chips of a channel that is held for operations). What is said of planes elsewhere in
    /// `[ftl]` and `[ageing]`, thresholds above all, is then said of that.
    pub pool: Pool,
    /// Which plane of a chip takes the next page, where the address does not say: `in-turn`, `most-free`, or `same`
    /// (that of the page's older copy).
    pub plane_choice: PlaneChoice,
    /// What a write of a part of a page does about the rest: `merge` (it is read first) or `whole` (nothing: the whole
    /// page is programmed, as in the DiskSim extension).
    pub partial_writes: PartialWrites,
    /// Where a page is read that is still on its way to flash: from the controller's `memory`, or from `flash`, behind
    /// the program (only where a channel has one busy unit).
    pub read_in_flight: InFlight,
    /// A read of a page that is already being read on the same channel rides along (SSDSim).
    pub coalesce_reads: bool,
    /// How pages are found: `page` (an entry a page, in memory), `dftl` (the same in flash, cached), `block` (an entry
    /// a block), or `hybrid` (an entry a block, and logs of pages).
    #[schemars(extend("enum" = maps()))]
    pub map: String,
    /// What memory the map is in: `dram` (gone with the power, and found again from spare areas), `pcm` or `mram`.
    pub map_memory: MapMemory,
    /// What a write to a map in `pcm` or `mram` takes, after each program, before that is acknowledged. Left out, what is
    /// known of the memory.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub map_write_us: Option<f64>,
    /// The cache of `dftl`, in KiB for each member: 8 bytes an entry.
    #[schemars(range(min = 0.03125, max = 16_777_216.0))]
    pub cache_kib: f64,
    /// Blocks of each plane that `hybrid` gives to logs, or `block` to replacements; all that are not needed otherwise
    /// where left out.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub log_blocks: Option<u32>,
    /// Open blocks a plane for data of different temperature: a page gets one class hotter with each write of the
    /// host, one colder each time that it is moved. 1: one block for all.
    #[schemars(range(min = 1, max = 16))]
    pub streams: u8,
    /// Collection.
    pub gc: GcSpec,
    /// Wear, and what is done against it.
    pub wear: WearSpec,
}

/// Garbage collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GcSpec {
    /// Which block is reclaimed.
    #[schemars(extend("enum" = victims()))]
    pub victim: String,
    /// Collect in a plane when its free pages fall below this share of its pages.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub threshold: f64,
    /// Collect in a plane also when its free pages fall below this share, but page by page and only while nothing waits
    /// for its busy unit or its channel. Left out, never.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub soft_threshold: Option<f64>,
    /// How a collection uses the channel.
    pub run: GcRun,
    /// Whether planes are also collected while nothing waits for them. Otherwise a read or write that finds its unit
    /// below the threshold waits until the unit is above it again.
    pub background: bool,
    /// Whether moves stay inside their plane (`on`) or cross the pins (`off`), or stay where the numbers of both pages
    /// within their blocks are odd, or both even: else they cross the pins (`parity`), or a page is left out
    /// (`parity-skip`).
    pub copyback: Copyback,
    /// Pages that are moved go to an open block of their own.
    pub separate: bool,
    /// With `victim = "d-choices"`: blocks drawn, of which the best is reclaimed.
    #[schemars(range(min = 1, max = 65_536))]
    pub choices: u32,
    /// With `victim = "windowed-greedy"`: how many of the oldest blocks are looked at.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub window: u32,
}

/// Wear, and what is done against it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WearSpec {
    /// Erases that a block stands; one that has had them is not used any more. Left out, blocks last forever.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub erase_budget: Option<u32>,
    /// How wear is spread: needs `erase_budget`.
    #[schemars(extend("enum" = levellings()))]
    pub levelling: String,
    /// `rate-limit`: a block with less than this share of its plane's average life left is reclaimed less often.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub rate_limit_below: f64,
    /// `rate-limit`: over this share below that, the chance of being reclaimed falls from 1 to 0.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub rate_limit_window: f64,
    /// `migration`: a block with less than this share of its plane's average life left gets the coldest data.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub migrate_below: f64,
    /// The years that drive writes a day (DWPD) are told for.
    #[schemars(range(max = 100.0), extend("exclusiveMinimum" = 0.0))]
    pub warranty_years: f64,
}

/// Which plane takes the next page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlaneChoice {
    /// Planes take turns.
    InTurn,
    /// The one with the most room, of those whose open block is younger than the page's older copy.
    MostFree,
    /// The one that holds the page's older copy.
    Same,
}

/// What memory the map is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MapMemory {
    /// Volatile.
    Dram,
    /// Phase-change memory.
    Pcm,
    /// Magnetic memory.
    Mram,
}

/// What a write of a part of a page does about the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartialWrites {
    /// It is read, and written together with the new part.
    Merge,
    /// Nothing: the page is programmed as if all of it were new.
    Whole,
}

/// Where a page is read that is still on its way to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InFlight {
    /// The controller's memory has it.
    Memory,
    /// Flash, when it has arrived there.
    Flash,
}

/// How a collection uses the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GcRun {
    /// Page by page, competing with host work under the scheduler.
    Steps,
    /// The channel is held for the whole sum of a block's moves (SSDSim).
    HoldChannel,
}

/// The DRAM write buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BufferSpec {
    /// Its size in MiB; 0 for none.
    #[schemars(range(min = 0.0, max = 1_048_576.0))]
    pub dram_mib: f64,
    /// What a request takes that the controller's memory serves alone, µs.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub hit_us: f64,
    /// What is given up when it is full: the `page` used longest ago, or with it the rest of its `stripe`.
    pub evict: Evict,
    /// What it draws.
    pub energy: DramEnergySpec,
}

/// What the write buffer gives up when it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Evict {
    /// The page used longest ago.
    Page,
    /// That page, and what the buffer holds of the same stripe.
    Stripe,
}

/// The redundancy inside the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RedundancySpec {
    /// A scheme's name, as `flashkeep schemes` lists them.
    #[schemars(extend("enum" = schemes()))]
    pub scheme: String,
    /// What its members are made of: `channel`, `chip` or `die`.
    pub across: Across,
    /// How many members; all of that level where left out (a mirror's groups: 2).
    #[schemars(range(min = 2, max = 255))]
    pub width: Option<u32>,
    /// In an array: consecutive KiB on one member before the next has its turn; 0: the members lie one after another
    /// (`none` only).
    #[schemars(range(min = 0.0, max = 1e9))]
    pub stripe_kib: f64,
    /// Which copy a mirror reads: `round-robin`, `least-busy`, or that of the `first` member which has the page.
    pub read_policy: ReadPolicy,
    /// A mirror acknowledges a write when `all` copies are acknowledged, or the `first`.
    pub acknowledge: MirrorAcknowledge,
    /// What of a stripe that has never been written in full: `zeros` (its other pages are known zeros, so it has
    /// parity from its first page on) or `wait` (its parity is written when it is full, in idle time, or at the
    /// end).
    pub incomplete: Incomplete,
    /// A stripe of `dvs` that has waited so long for more data is given a parity of its own, ms; 0: after each
    /// request that leaves one open.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub timeout_ms: f64,
    /// Without host requests for so long, parity that was put off is written, ms.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub idle_ms: f64,
    /// Address space for old versions of pages, as a share of each member's pages; it is taken from the
    /// over-provisioned ones.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub shadow: f64,
    /// The non-volatile memory for partial parities, MiB.
    #[schemars(range(max = 1_048_576.0), extend("exclusiveMinimum" = 0.0))]
    pub nvram_mib: f64,
    /// What one page takes to or from that memory, µs.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub nvram_us: f64,
    /// `backup`: what a GB (10⁹ bytes) of that memory costs, USD.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub nvram_price_per_gb: Option<f64>,
    /// The log on disks of `hpda`, `griffin` and `i-cash` (of deltas), MiB; at most what the disks have left.
    #[schemars(range(max = 16_777_216.0), extend("exclusiveMinimum" = 0.0))]
    pub log_mib: f64,
    /// The log of `griffin` migrates when its oldest entry is so old, s.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub migrate_after_s: f64,
    /// The log of `griffin` migrates when it is filled to this share.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub migrate_at: f64,
    /// The log of `griffin` migrates when more than this share of page reads goes to the disk.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub migrate_reads: f64,
    /// Members of `spd-raid4` that have the parity, the last ones.
    #[schemars(range(min = 2, max = 253))]
    pub parity_drives: u32,
    /// A partial parity is committed when collection is about to move an old version that it needs.
    pub commit_on_collection: bool,
    /// The narrowest stripe of `lifespan`, parity included: it decides the capacity.
    #[schemars(range(min = 2, max = 255))]
    pub narrowest: u32,
    /// The chance of losing a stripe that `lifespan` tolerates.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub stripe_loss: f64,
    /// Raw bit error rate of a block that has never been erased.
    #[schemars(range(max = 0.5), extend("exclusiveMinimum" = 0.0))]
    pub rber_new: f64,
    /// Raw bit error rate after `rber_cycles` erases; in between and beyond, it grows exponentially.
    #[schemars(range(max = 0.5), extend("exclusiveMinimum" = 0.0))]
    pub rber_worn: f64,
    /// Erases after which a block's bit error rate is `rber_worn`.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub rber_cycles: u32,
    /// Bits that the code of each 512 bytes corrects.
    #[schemars(range(min = 0, max = 512))]
    pub ecc_bits: u32,
    /// The shares of all parities that the members of `diff-raid` have: the first one's, the others having equal parts
    /// of the rest, or a list of each one's; they add up to 1.
    pub shares: Shares,
    /// What adding a page to a parity takes the controller, µs.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub xor_us: f64,
    /// Units that are kept empty, each to stand in for a member that fails.
    #[schemars(range(max = 254))]
    pub spares: u32,
    /// The share of its time that a rebuild works; the rest is the host's.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub rebuild_share: f64,
    /// `i-cash`: the share of pages that are like a reference, which others are not (Yang and Ren: 85 % under sysbench).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub similar_share: f64,
    /// `i-cash`: the share of pages that are references (Yang and Ren: 1 % under sysbench).
    #[schemars(range(min = 1e-6, max = 0.5))]
    pub reference_share: f64,
    /// `i-cash`: what the difference to a reference takes, bytes (ours).
    #[schemars(range(min = 1, max = 4096))]
    pub delta_bytes: u32,
    /// `i-cash`: it is looked for what is alike after so many pages read or written (Yang and Ren: 2,000 I/Os).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub scan_every: u32,
    /// `i-cash`: among so many pages, those used last (Yang and Ren: 4,000).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub scan_pages: u32,
    /// `backup`: a segment of a disk, data or free, KiB (2 MB: Fan, section 2.3).
    #[schemars(range(min = 1, max = 1_048_576))]
    pub segment_kib: u32,
    /// `backup`: data segments of a disk for each free one ("dozens": Fan, section 2.2; 32 is ours).
    #[schemars(range(min = 1, max = 65_536))]
    pub free_every: u32,
    /// `backup`: free segments beside each other that are recalled in one pass (Fan, figure 2: 3).
    #[schemars(range(min = 1, max = 64))]
    pub recall_segments: u32,
    /// `backup`: with a greater share of a disk's free segments in use they are recalled though the host writes (ours).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub recall_share: f64,
    /// `backup`: after so long without writes free segments are recalled, ms (ours).
    #[schemars(range(min = 0.0, max = 1e9))]
    pub recall_idle_ms: f64,
    /// `backup`: which disk has which part of an SSD: `interleaved` or `contiguous`.
    pub spread: Spread,
}

/// Which disk backs up which part of an SSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// Segments go to the disks in turn, so that all of them take part in a burst on one place (ours).
    Interleaved,
    /// Each disk has one stretch of every SSD.
    Contiguous,
}

/// What of a stripe that has never been written in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Incomplete {
    /// Its other pages are known zeros.
    Zeros,
    /// It waits for the rest, unprotected.
    Wait,
}

/// The level over which redundancy runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Across {
    /// Groups of channels.
    Channel,
    /// Groups of chips.
    Chip,
    /// Groups of dies.
    Die,
}

/// Which copy a mirror reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadPolicy {
    /// Each page read goes to the next copy in turn.
    RoundRobin,
    /// The copy whose chip and channel are free soonest; in turn where they are equal.
    LeastBusy,
    /// That of the first member that has the page: of a drive and a disk, the drive.
    First,
}

/// When a mirror acknowledges a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MirrorAcknowledge {
    /// When every copy is acknowledged.
    All,
    /// When the first copy is.
    First,
}

/// The host interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostSpec {
    /// Requests in the drive at once; later ones wait outside (their response time runs from arrival). 0: no
    /// bound.
    #[schemars(range(max = 1_048_576))]
    pub queue_depth: u32,
    /// From when a request is served that had to wait for a place in the queue.
    pub late_requests: LateRequests,
    /// Who comes in next of those that wait outside: by `arrival`, or `c-look` (the next one upwards by address).
    pub order: HostOrder,
    /// What a sector takes on the link to the host, µs: in before a write's pages go to flash, out after a read's have
    /// come, one request at a time. Part of response times, not of service times. 0: nothing.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub link_us_per_sector: f64,
}

/// From when a request is served that had to wait for a place in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LateRequests {
    /// From its admission.
    #[default]
    FromAdmission,
    /// From its arrival, by whatever has been idle since and by the controller's memory: SSDSim sets its clock back to
    /// the arrival of a request that it admits late.
    FromArrival,
}

/// Who comes in next of the requests that wait outside the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostOrder {
    /// The one that arrived first.
    #[default]
    Arrival,
    /// The one at the lowest address that is not below that of the last one, or else at the lowest of all.
    CLook,
}

/// What there is before time 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StartSpec {
    /// Which pages exist.
    pub existing: Existing,
    /// With `reads`: scan the whole workload before time 0 and create just the sectors that it reads, as
    /// SSDSim does, instead of whole pages at first touch.
    pub scan: bool,
}

/// Which pages exist before time 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Existing {
    /// Those that the workload reads.
    Reads,
    /// All of the drive.
    All,
    /// None; a read of nothing costs no flash time and is counted.
    None,
}

/// Flash that has been used before time 0, by construction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgeingSpec {
    /// What aged blocks look like: `none` (the flash is new), `basic` (every block written in part, all of it invalid),
    /// `approach1` (blocks written in full, all of it invalid), `approach2` (the same, a random part of each valid).
    #[schemars(extend("enum" = ageing_models()))]
    pub model: String,
    /// The share of each plane's pages that have been written.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub aged_ratio: f64,
    /// With `approach2`: the mean share of valid pages in blocks written in full.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub valid_ratio: f64,
}

/// Writing before time 0 until the drive is in a steady state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConditionSpec {
    /// Size of the random writes in KiB, rounded up to whole pages.
    #[schemars(range(max = 65_536.0), extend("exclusiveMinimum" = 0.0))]
    pub write_kib: f64,
    /// What is written in a round, as a share of the drive's capacity.
    #[schemars(range(max = 100.0), extend("exclusiveMinimum" = 0.0))]
    pub round: f64,
    /// At most so many rounds.
    #[schemars(range(min = 5, max = 10_000))]
    pub most_rounds: u32,
}

impl Default for AgeingSpec {
    fn default() -> Self {
        AgeingSpec { model: "none".into(), aged_ratio: 0.7, valid_ratio: 0.0 }
    }
}

impl Default for ConditionSpec {
    fn default() -> Self {
        ConditionSpec { write_kib: 4.0, round: 0.5, most_rounds: 100 }
    }
}

impl Default for FlashSpec {
    fn default() -> Self {
        FlashSpec {
            channels: 8,
            chips_per_channel: 4,
            dies_per_chip: 1,
            planes_per_die: 2,
            blocks_per_plane: 2048,
            pages_per_block: 64,
            summary_page: false,
            page_kib: 4.0,
            sector_bytes: 512,
            pin_bytes_per_sector: 512,
            busy_unit: BusyUnit::Die,
            bus: BusUse::Transfers,
            control_gang: 1,
            acknowledge: Acknowledge::Program,
            scheduler: "reads-first".into(),
            page_types: "interleaved".into(),
            timing: TimingSpec::default(),
            commands: CommandsSpec::default(),
            energy: FlashEnergySpec::default(),
        }
    }
}

impl Default for TimingSpec {
    fn default() -> Self {
        TimingSpec {
            read_us: PerType::All(25.0),
            program_us: PerType::All(200.0),
            erase_us: 1500.0,
            bus_ns_per_byte: 3.0,
            command_ns: 0.0,
            erase_command_ns: 0.0,
            erase_setup_ns: 0.0,
        }
    }
}

impl Default for FtlSpec {
    fn default() -> Self {
        FtlSpec {
            over_provisioning: 0.15,
            allocation: "dynamic".into(),
            stride_pages: 0,
            logical_page_kib: 0.0,
            gather_us: 0.0,
            pool: Pool::Plane,
            plane_choice: PlaneChoice::InTurn,
            partial_writes: PartialWrites::Merge,
            read_in_flight: InFlight::Memory,
            coalesce_reads: false,
            map: "page".into(),
            map_memory: MapMemory::Dram,
            map_write_us: None,
            cache_kib: 64.0,
            log_blocks: None,
            streams: 1,
            gc: GcSpec::default(),
            wear: WearSpec::default(),
        }
    }
}

impl Default for GcSpec {
    fn default() -> Self {
        GcSpec {
            victim: "greedy".into(),
            threshold: 0.05,
            soft_threshold: None,
            run: GcRun::Steps,
            background: true,
            copyback: Copyback::Off,
            separate: false,
            choices: 10,
            window: 64,
        }
    }
}

impl Default for WearSpec {
    fn default() -> Self {
        WearSpec {
            erase_budget: None,
            levelling: "none".into(),
            rate_limit_below: 0.8,
            rate_limit_window: 0.8,
            migrate_below: 0.85,
            warranty_years: 5.0,
        }
    }
}

impl Default for BufferSpec {
    fn default() -> Self {
        BufferSpec { dram_mib: 0.0, hit_us: 1.0, evict: Evict::Page, energy: DramEnergySpec::default() }
    }
}

impl Default for RedundancySpec {
    fn default() -> Self {
        RedundancySpec {
            scheme: "none".into(),
            across: Across::Channel,
            width: None,
            stripe_kib: 64.0,
            read_policy: ReadPolicy::RoundRobin,
            acknowledge: MirrorAcknowledge::All,
            incomplete: Incomplete::Zeros,
            timeout_ms: 50.0,
            idle_ms: 10.0,
            shadow: 0.02,
            nvram_mib: 1.0,
            nvram_us: 1.0,
            nvram_price_per_gb: None,
            log_mib: 1024.0,
            migrate_after_s: 60.0,
            migrate_at: 0.9,
            migrate_reads: 0.05,
            parity_drives: 2,
            commit_on_collection: false,
            narrowest: 4,
            stripe_loss: 1e-12,
            rber_new: 1e-6,
            rber_worn: 1e-4,
            rber_cycles: 5000,
            ecc_bits: 8,
            shares: Shares::First(0.4),
            xor_us: 0.0,
            spares: 0,
            rebuild_share: 0.5,
            similar_share: 0.85,
            reference_share: 0.01,
            delta_bytes: 512,
            scan_every: 2000,
            scan_pages: 4000,
            segment_kib: 2048,
            free_every: 32,
            recall_segments: 3,
            recall_share: 0.75,
            recall_idle_ms: 10.0,
            spread: Spread::Interleaved,
        }
    }
}

impl Default for StartSpec {
    fn default() -> Self {
        StartSpec { existing: Existing::Reads, scan: false }
    }
}
