//! `[ftl.gc]`, `[ftl.wear]` and `[ageing]`, and the choices of `[ftl]` that flash translation layers carry out.

use super::ageing;
use crate::blocks::{victim, wear};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Garbage collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GcSpec {
    /// Which block is reclaimed.
    #[schemars(extend("enum" = victim::names()))]
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
    /// How wear is spread: by what is left of `erase_budget`, or, without one, by the mean erase count.
    #[schemars(extend("enum" = wear::names()))]
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

/// Flash that has been used before time 0, by construction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgeingSpec {
    /// What aged blocks look like: `none` (the flash is new), `basic` (every block written in part, all of it invalid),
    /// `approach1` (blocks written in full, all of it invalid), `approach2` (the same, a random part of each valid).
    #[schemars(extend("enum" = ageing::names()))]
    pub model: String,
    /// The share of each plane's pages that have been written.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub aged_ratio: f64,
    /// With `approach2`: the mean share of valid pages in blocks written in full.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub valid_ratio: f64,
}

/// Planes that share an open block, erased blocks and victims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pool {
    /// Each plane by itself.
    Plane,
    /// Those of a chip: an element of the DiskSim extension.
    Element,
    /// Those of all chips of a channel: a gang that shares its bus.
    Gang,
}

impl Pool {
    /// What messages call it.
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
    /// Every move crosses the pins.
    Off,
    /// No move does.
    On,
    /// Those do that would make an odd page of an even one, or the other way round.
    Parity,
    /// Instead of such a move a page is left out, as long as the plane has room for the host besides.
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
