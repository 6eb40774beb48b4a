//! `[buffer]`: the DRAM write buffer, and its power.

use crate::options::{self, Options, Selector};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

/// The DRAM write buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct BufferSpec {
    /// Its size in MiB; 0 for none.
    #[schemars(range(min = 0.0, max = 1_048_576.0))]
    pub dram_mib: f64,
    /// Time of a request that the controller's memory serves, µs.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub hit_us: f64,
    /// The options of a buffer that has DRAM.
    #[serde(flatten)]
    #[schemars(schema_with = "of_dram")]
    pub options: Options,
    /// Its power.
    pub energy: DramEnergySpec,
}

fn of_dram(generator: &mut SchemaGenerator) -> Schema {
    options::schema(generator, &[DRAM])
}

/// `buffer.dram_mib` and its options.
pub const DRAM: Selector = Selector::of::<EvictOptions>("dram_mib");

/// What leaves a full buffer.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EvictOptions {
    /// What a full buffer evicts: the least recently used `page`, or that page with the rest of its `stripe`.
    pub evict: Evict,
}

impl Default for EvictOptions {
    fn default() -> Self {
        EvictOptions { evict: Evict::Page }
    }
}

/// What a full write buffer evicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Evict {
    /// The least recently used page.
    Page,
    /// That page, and the rest of its stripe in the buffer.
    Stripe,
}

/// The power of the DRAM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DramEnergySpec {
    /// Supply voltage, V.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub voltage_v: Option<f64>,
    /// Current while sectors are written or read, in addition to standby, mA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub active_ma: Option<f64>,
    /// Standby current, mA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub standby_ma: Option<f64>,
    /// Current for refreshing, mA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub refresh_ma: Option<f64>,
    /// Active time per byte written or read, ns.
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
        BufferSpec {
            dram_mib: 0.0,
            hit_us: 1.0,
            options: Options::default(),
            energy: DramEnergySpec::default(),
        }
    }
}
