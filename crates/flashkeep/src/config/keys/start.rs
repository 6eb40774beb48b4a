//! `[start]`, `[ageing]` and `[condition]`: the drive before time 0.

use crate::host::Existing;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The contents of the drive before time 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StartSpec {
    /// Which pages exist.
    pub existing: Existing,
    /// With `reads`: scan the whole workload before time 0 and create only the sectors that it reads, as SSDSim does,
    /// instead of whole pages at first touch.
    pub scan: bool,
}

/// Writing before time 0 until the drive is in a steady state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConditionSpec {
    /// Size of the random writes in KiB, rounded up to whole pages.
    #[schemars(range(max = 65_536.0), extend("exclusiveMinimum" = 0.0))]
    pub write_kib: f64,
    /// Volume written in a round, as a share of the drive's capacity.
    #[schemars(range(max = 100.0), extend("exclusiveMinimum" = 0.0))]
    pub round: f64,
    /// The largest number of rounds.
    #[schemars(range(min = 5, max = 10_000))]
    pub most_rounds: u32,
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
