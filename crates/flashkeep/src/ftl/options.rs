//! `[ftl.gc]`, `[ftl.wear]` and `[ageing]`, and the choices of `[ftl]` that flash translation layers carry out.

use super::ageing;
use crate::blocks::{victim, wear};
use crate::options::{self, Options, OptionsPart, Selector, SelectorValue};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

/// Garbage collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct GcSpec {
    /// The victim policy.
    #[schemars(extend("enum" = victim::names()))]
    pub victim: String,
    /// GC starts in a plane when its free pages fall below this share of its pages.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub threshold: f64,
    /// Soft threshold: below this share of free pages, GC also works page by page while no operation waits for the
    /// plane's busy unit or channel. Default: none.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub soft_threshold: Option<f64>,
    /// How GC uses the channel.
    pub run: GcRun,
    /// Whether GC also works on planes for which no operation waits. Otherwise a read or write that finds its unit
    /// below the threshold waits until the unit is above it again.
    pub background: bool,
    /// Copyback: whether GC moves pages inside their plane (`on`) or over the pins (`off`). With `parity`, a move stays
    /// inside the plane if both page numbers within the blocks are odd or both are even, and otherwise crosses the
    /// pins; with `parity-skip`, a page is left out instead.
    pub copyback: Copyback,
    /// Whether moved pages go to an open block of their own.
    pub separate: bool,
    /// The members of a redundancy collect in turns of this length, ms: those inside the drive or, if it is a member of
    /// an array, the drives. A plane collects out of turn if it has no more than a block left before writes wait for it.
    /// Default: no turns.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0.0), extend("examples" = [10, 250]))]
    pub turn_ms: Option<f64>,
    /// The options of the victim policy.
    #[serde(flatten)]
    #[schemars(schema_with = "of_victims")]
    pub options: Options,
}

fn of_victims(generator: &mut SchemaGenerator) -> Schema {
    options::schema(generator, &[victim::SELECTOR])
}

/// Wear leveling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct WearSpec {
    /// The erase budget of a block: after this many erases it is retired. Default: blocks never wear out.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub erase_budget: Option<u32>,
    /// The policy of wear leveling. It works with the remaining erases of `erase_budget` or, without a budget, with the
    /// mean erase count.
    #[schemars(extend("enum" = wear::names()))]
    pub levelling: String,
    /// The options of the policy, and of lifetimes.
    #[serde(flatten)]
    #[schemars(schema_with = "of_wear")]
    pub options: Options,
}

fn of_wear(generator: &mut SchemaGenerator) -> Schema {
    options::schema(generator, &[wear::SELECTOR, BUDGET])
}

/// `ftl.wear.erase_budget` and its options.
pub const BUDGET: Selector = Selector::of::<WarrantyOptions>("erase_budget");

/// How lifetimes are reported.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WarrantyOptions {
    /// The warranty, in years, for which drive writes per day (DWPD) are reported.
    #[schemars(range(max = 100.0), extend("exclusiveMinimum" = 0.0))]
    pub warranty_years: f64,
}

impl Default for WarrantyOptions {
    fn default() -> Self {
        WarrantyOptions { warranty_years: 5.0 }
    }
}

/// The SLC cache: what a page map does with the blocks of `flash.slc`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct SlcCacheSpec {
    /// The options of a drive that has such blocks.
    #[serde(flatten)]
    #[schemars(schema_with = "of_slc_cache")]
    pub options: Options,
}

impl SlcCacheSpec {
    /// Whether there is nothing to say about it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.options.given().next().is_none()
    }
}

fn of_slc_cache(generator: &mut SchemaGenerator) -> Schema {
    options::schema(generator, &[SLC_CACHE])
}

/// The options of `ftl.slc`, for drives with `flash.slc.blocks`.
pub const SLC_CACHE: Selector = Selector::of::<SlcCacheOptions>("blocks");

/// When the SLC cache is emptied, and how it wears.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SlcCacheOptions {
    /// When valid pages of the cache are folded, which means moved to the other blocks of their plane: `idle` (in idle
    /// time) or `full` (in idle time, and under load while the cache of the plane has no room). Writes that find no room
    /// in the cache go to the other blocks directly.
    pub fold: Fold,
    /// Idle time begins when a busy unit has done nothing else for this time, µs.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub idle_us: f64,
    /// In idle time the cache of a plane is folded while more than this share of its blocks is full.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub fold_above: f64,
    /// The erase budget of a block of the cache: after this many erases it is retired, and the cache is smaller. Default:
    /// such blocks never wear out.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub erase_budget: Option<u32>,
}

impl Default for SlcCacheOptions {
    fn default() -> Self {
        SlcCacheOptions { fold: Fold::Idle, idle_us: 10_000.0, fold_above: 0.0, erase_budget: None }
    }
}

/// When the SLC cache is folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fold {
    /// In idle time.
    Idle,
    /// In idle time, and under load while the cache has no room.
    Full,
}

/// Flash that has been used before time 0, by construction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct AgeingSpec {
    /// The model of aged blocks: `none` (the flash is new), `basic` (every block is written in part, all pages
    /// invalid), `approach1` (blocks are written in full, all pages invalid), `approach2` (the same, with a random part
    /// of each block valid), `steady` (the full drive in the state that it reaches under random writes).
    #[schemars(extend("enum" = ageing::names()))]
    pub model: String,
    /// The options of the model.
    #[serde(flatten)]
    #[schemars(schema_with = "of_models")]
    pub options: Options,
}

fn of_models(generator: &mut SchemaGenerator) -> Schema {
    options::schema(generator, &[ageing::SELECTOR])
}

/// Planes that share an open block, erased blocks and victims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pool {
    /// Each plane by itself.
    Plane,
    /// The planes of a chip: an element of the DiskSim extension.
    Element,
    /// The planes of all chips of a channel: a gang that shares its bus.
    Gang,
}

impl Pool {
    /// Its name in messages.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Pool::Plane => "plane",
            Pool::Element => "chip",
            Pool::Gang => "channel",
        }
    }
}

/// Whether moves stay inside their plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Copyback {
    /// All moves cross the pins.
    Off,
    /// All moves stay inside their plane.
    On,
    /// Moves from an even to an odd page, or from an odd to an even one, cross the pins.
    Parity,
    /// A page is left out to avoid such a move, as long as the plane still has room for the host.
    ParitySkip,
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

/// The memory of the map.
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

/// `ftl.map_memory` and the options of the memories.
pub const MAP_MEMORY: Selector = Selector {
    key: "map_memory",
    values: || {
        let value = |name, options| SelectorValue { name, options };
        vec![value("dram", &[]), value("pcm", NON_VOLATILE), value("mram", NON_VOLATILE)]
    },
    shapes_state: false,
};

/// Volatile memory is written while the channel is in use, so that takes no time.
const NON_VOLATILE: &[OptionsPart] = &[OptionsPart::of::<MapWriteOptions>()];

/// The speed of a non-volatile memory.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MapWriteOptions {
    /// Time of a write to a map in `pcm` or `mram`, which follows each program and precedes its acknowledgement.
    /// Default: the published time of the memory.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub map_write_us: Option<f64>,
}

/// `ftl.logical_page_kib` and the options of logical pages that are programmed together.
pub const SHARED_PAGES: Selector = Selector::of::<GatherOptions>("logical_page_kib");

/// How logical pages wait for others to be programmed with them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GatherOptions {
    /// The longest time that a page waits for others to fill its flash page, or its word line
    /// (`flash.pages_per_program`), µs; 0: it does not wait, or only for pages of the same instant to fill its word line.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub gather_us: f64,
}

/// How a page in flight to flash is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InFlight {
    /// From the controller's memory.
    Memory,
    /// From flash, after the program.
    Flash,
}

/// How GC uses the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GcRun {
    /// Page by page, competing with host work under the scheduler.
    Steps,
    /// The channel is held for the whole sum of a block's moves (SSDSim).
    HoldChannel,
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
            turn_ms: None,
            options: Options::default(),
        }
    }
}

impl Default for WearSpec {
    fn default() -> Self {
        WearSpec { erase_budget: None, levelling: "none".into(), options: Options::default() }
    }
}

impl Default for AgeingSpec {
    fn default() -> Self {
        AgeingSpec { model: "none".into(), options: Options::default() }
    }
}
