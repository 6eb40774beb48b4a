//! `[start]`, `[ageing]` and `[condition]`: what there is before time 0.

use super::super::names::ageing_models;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

impl Default for StartSpec {
    fn default() -> Self {
        StartSpec { existing: Existing::Reads, scan: false }
    }
}
