//! `[flash]`: geometry, wiring and timing.

use super::commands::{CommandsSpec, SUSPEND_TIMES};
use super::energy::FlashEnergySpec;
use super::page_types::PerType;
use super::scheduler;
use super::slc::SlcSpec;
use crate::options::{self, Options};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

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
    /// The number of consecutive pages of a block that one operation programs (a word line): 3 for one-shot programs of
    /// TLC, 4 of QLC. Their data cross the channel one after the other, then the array works once, for the longest
    /// `timing.program_us` among them. Each page is read by itself. What does not wait for the program stays empty: a
    /// word line is not programmed twice. Divides `pages_per_block`.
    #[schemars(range(min = 1, max = 16))]
    pub pages_per_program: u32,
    /// Each block has one more page, for a summary of its data pages: one sector that is programmed right after the
    /// last data page (Agrawal et al., USENIX ATC 2008).
    pub summary_page: bool,
    /// Page size in KiB: a whole number of sectors, from 1 to 64.
    #[schemars(range(max = 4096.0), extend("exclusiveMinimum" = 0.0))]
    pub page_kib: f64,
    /// Sector size in bytes, the smallest unit a host writes.
    #[schemars(range(min = 1, max = 65_536))]
    pub sector_bytes: u32,
    /// Bytes transferred over the pins for each sector: more than `sector_bytes` if metadata are transferred as well.
    /// Default: equal to it.
    #[schemars(range(min = 1, max = 131_072))]
    pub pin_bytes_per_sector: u32,
    /// The unit that performs one operation at a time: while it reads or programs a page, its other parts wait.
    pub busy_unit: BusyUnit,
    /// How long an operation holds its channel: for `transfers`, for whole `operations`, or for `rounds` of one
    /// operation on each busy unit.
    pub bus: BusUse,
    /// The number of channels that share their control lines (a gang): the operations or transfers that hold them
    /// (`bus`) begin together, and none begins the next before all have ended. 1: each channel has its own.
    #[schemars(range(min = 1, max = 4096))]
    pub control_gang: u32,
    /// When a program is acknowledged.
    pub acknowledge: Acknowledge,
    /// The scheduler: which operation a free channel grants next.
    #[schemars(extend("enum" = scheduler::names()))]
    pub scheduler: String,
    /// The type of each page of a block, if `timing` has several types: `interleaved` (page number mod number of
    /// types), or types as digits that repeat, with those of a block's first pages before a colon (`00000011:001122`).
    #[schemars(extend("pattern" = "^(interleaved|([0-7]*:)?[0-7]+)$"))]
    pub page_types: String,
    /// Times of operations.
    pub timing: TimingSpec,
    /// Commands of the chips for more than one page.
    pub commands: CommandsSpec,
    /// Blocks that are used with one bit per cell.
    pub slc: SlcSpec,
    /// Currents of operations.
    pub energy: FlashEnergySpec,
}

/// Times of the flash operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct TimingSpec {
    /// Read time, array to page register, µs; a list has one time for each page type.
    pub read_us: PerType,
    /// Program time, page register to array, µs; a list has one time for each page type. With `pages_per_program` above
    /// 1: of a whole word line, or the longest among its pages.
    pub program_us: PerType,
    /// Spread of program times: word lines take `program_us` times a log-normal factor of mean 1, of which this is the
    /// standard deviation of the logarithm. A command that programs several planes takes as long as the slowest.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub program_sigma: f64,
    /// Erase time of a block, µs.
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0.0))]
    pub erase_us: f64,
    /// Transfer time of a byte on the channel, ns.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub bus_ns_per_byte: f64,
    /// Time of the command and address cycles of a page operation on the channel, ns.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub command_ns: f64,
    /// Time of the command and address cycles of an erase on the channel, ns.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub erase_command_ns: f64,
    /// Time between the last cycle of an erase command and the start of the erase, ns.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub erase_setup_ns: f64,
    /// The times of suspensions.
    #[serde(flatten)]
    #[schemars(schema_with = "of_suspensions")]
    pub options: Options,
}

fn of_suspensions(generator: &mut SchemaGenerator) -> Schema {
    options::schema(generator, &[SUSPEND_TIMES])
}

/// The unit that performs one operation at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BusyUnit {
    /// A whole chip, as in SSDSim.
    Chip,
    /// A die: the dies of a chip work in parallel.
    Die,
    /// Two planes: the pairs of a die work in parallel, as in the DiskSim extension.
    PlanePair,
    /// A plane: the planes of a die work in parallel.
    Plane,
}

/// How long an operation holds its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BusUse {
    /// For commands and data only; the array works while other operations use the channel.
    Transfers,
    /// For the whole operation, array time included.
    Operations,
    /// For rounds of one operation on each busy unit, whose array times overlap; waiting operations start immediately.
    Rounds,
}

/// When a program is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Acknowledge {
    /// When the data have crossed the channel (SSDSim).
    Transfer,
    /// When the page is in the array.
    Program,
}

/// A level at which a drive is divided into equal parts.
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

/// A level in the order of static placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StripingLevel {
    /// C.
    Channel,
    /// W, as in "way": a chip on its channel.
    Chip,
    /// D.
    Die,
    /// P.
    Plane,
}

impl StripingLevel {
    /// All four, outermost first.
    pub const ALL: [StripingLevel; 4] =
        [StripingLevel::Channel, StripingLevel::Chip, StripingLevel::Die, StripingLevel::Plane];

    /// The letter that represents it in a static order.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            StripingLevel::Channel => 'C',
            StripingLevel::Chip => 'W',
            StripingLevel::Die => 'D',
            StripingLevel::Plane => 'P',
        }
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
            pages_per_program: 1,
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
            slc: SlcSpec::default(),
            energy: FlashEnergySpec::default(),
        }
    }
}

impl Default for TimingSpec {
    fn default() -> Self {
        TimingSpec {
            read_us: PerType::All(25.0),
            program_us: PerType::All(200.0),
            program_sigma: 0.0,
            erase_us: 1500.0,
            bus_ns_per_byte: 3.0,
            command_ns: 0.0,
            erase_command_ns: 0.0,
            erase_setup_ns: 0.0,
            options: Options::default(),
        }
    }
}
