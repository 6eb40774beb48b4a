//! `[ftl.gc]`, `[ftl.wear]` and `[ageing]`, and the choices of `[ftl]` that flash translation layers carry out.

use super::ageing;
use crate::blocks::{victim, wear};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Garbage collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
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
    /// With `victim = "d-choices"`: the number of blocks drawn, of which the best is reclaimed.
    #[schemars(range(min = 1, max = 65_536))]
    pub choices: u32,
    /// With `victim = "windowed-greedy"`: the number of oldest blocks that are considered.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub window: u32,
}

/// Wear leveling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WearSpec {
    /// The erase budget of a block: after this many erases it is retired. Default: blocks never wear out.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub erase_budget: Option<u32>,
    /// The policy of wear leveling. It works with the remaining erases of `erase_budget` or, without a budget, with the
    /// mean erase count.
    #[schemars(extend("enum" = wear::names()))]
    pub levelling: String,
    /// `rate-limit`: a block with less than this share of its plane's average remaining life is reclaimed less often.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub rate_limit_below: f64,
    /// `rate-limit`: the width of the range below that in which the probability falls from 1 to 0.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub rate_limit_window: f64,
    /// `migration`: a block with less than this share of its plane's average remaining life gets the coldest data.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub migrate_below: f64,
    /// The warranty, in years, for which drive writes per day (DWPD) are reported.
    #[schemars(range(max = 100.0), extend("exclusiveMinimum" = 0.0))]
    pub warranty_years: f64,
}

/// Flash that has been used before time 0, by construction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgeingSpec {
    /// The model of aged blocks: `none` (the flash is new), `basic` (every block is written in part, all pages
    /// invalid), `approach1` (blocks are written in full, all pages invalid), `approach2` (the same, with a random part
    /// of each block valid).
    #[schemars(extend("enum" = ageing::names()))]
    pub model: String,
    /// The share of each plane's pages that have been written.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub aged_ratio: f64,
    /// With `approach2`: the mean share of valid pages in full blocks.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub valid_ratio: f64,
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

impl Default for AgeingSpec {
    fn default() -> Self {
        AgeingSpec { model: "none".into(), aged_ratio: 0.7, valid_ratio: 0.0 }
    }
}
