//! `[buffer]`: the DRAM write buffer, and what it draws.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// What the DRAM draws.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DramEnergySpec {
    /// Supply voltage, V.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub voltage_v: Option<f64>,
    /// While sectors go in or out, on top of standby, mA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub active_ma: Option<f64>,
    /// All the time, mA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub standby_ma: Option<f64>,
    /// All the time, for refreshing, mA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub refresh_ma: Option<f64>,
    /// How long a byte that goes in or out keeps it active, ns.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub active_ns_per_byte: f64,
}

impl Default for DramEnergySpec {
    fn default() -> Self {
        // DDR3-1600, 16 bits wide: 3.2 GB/s.
        DramEnergySpec {
            voltage_v: None,
            active_ma: None,
            standby_ma: None,
            refresh_ma: None,
            active_ns_per_byte: 0.3125,
        }
    }
}

impl Default for BufferSpec {
    fn default() -> Self {
        BufferSpec { dram_mib: 0.0, hit_us: 1.0, evict: Evict::Page, energy: DramEnergySpec::default() }
    }
}
