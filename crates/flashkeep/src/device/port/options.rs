//! `[buffer]`: the DRAM, and its power.

use crate::options::{self, Options, OptionsPart, Selector, SelectorValue};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The DRAM that buffers writes, or holds copies for reads.
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
    options::schema(generator, &[DRAM, WRITE_POLICY, FLUSH])
}

/// `buffer.dram_mib` and its options.
pub const DRAM: Selector = Selector::of::<DramOptions>("dram_mib");

/// `buffer.write_policy` and the options of its values.
pub const WRITE_POLICY: Selector = Selector {
    key: "write_policy",
    values: || {
        vec![
            SelectorValue { name: "back", options: const { &[of::<WriteBackOptions>()] } },
            SelectorValue { name: "through", options: &[] },
        ]
    },
    shapes_state: false,
};

/// `buffer.flush` and the options of its values.
pub const FLUSH: Selector = Selector {
    key: "flush",
    values: || {
        vec![
            SelectorValue { name: "none", options: &[] },
            SelectorValue { name: "idle", options: const { &[of::<FlushBatch>(), of::<IdleFlush>()] } },
            SelectorValue { name: "watermark", options: const { &[of::<FlushBatch>(), of::<Watermarks>()] } },
        ]
    },
    shapes_state: false,
};

const fn of<T: JsonSchema + Serialize + DeserializeOwned + 'static>() -> OptionsPart {
    OptionsPart::of::<T>()
}

/// What the DRAM does.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DramOptions {
    /// When a write is acknowledged: when the DRAM has it (`back`: a write buffer, which evicts pages to make room), or
    /// when the flash, the array or the disk below acknowledges it (`through`). With `through` the DRAM only holds copies
    /// of pages that were written or read, which serve reads; the least recently used ones make room, nothing is written
    /// back, and a power loss loses nothing.
    pub write_policy: WritePolicy,
}

/// When a write is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WritePolicy {
    /// When the DRAM has it.
    #[default]
    Back,
    /// When the device below acknowledges it.
    Through,
}

/// What leaves a write buffer, and when.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WriteBackOptions {
    /// What the buffer evicts or writes back: the least recently used `page` (with `flash.pages_per_program` as many as
    /// fill a program), or that page with the rest of its `stripe`, or with the `run` of pages beside it that the buffer
    /// holds (for disks). By default `stripe` under schemes that compute parity, and `page` under others.
    #[schemars(with = "Evict")]
    pub evict: Option<Evict>,
    /// Whether the buffer survives a power loss, as in drives for data centres: capacitors let the drive save what the
    /// DRAM holds, and what has left it and is not programmed yet. A write is durable when the DRAM has it, and FLUSH and
    /// FUA take no longer than a write to the DRAM.
    pub protected: bool,
    /// When the buffer writes pages back although it has room: `none` (a write to a full buffer waits for evictions),
    /// `idle` (while no request is in progress) or `watermark` (when it holds more than a share of its size). A page
    /// that is written back leaves the buffer, and its room is free when the write is complete.
    pub flush: Flush,
}

/// When the buffer writes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Flush {
    /// Only to make room.
    #[default]
    None,
    /// While no request is in progress.
    Idle,
    /// Above a watermark, down to another one.
    Watermark,
}

/// How much is written back at a time.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FlushBatch {
    /// The number of pages that are written back at the same time, at most half of the buffer. Default: what one program
    /// of each plane behind the buffer holds, and one page for each disk.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub flush_pages: Option<u32>,
}

/// `buffer.flush = "idle"`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IdleFlush {
    /// The buffer writes back when no request has been in progress for this time, µs.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub flush_after_us: f64,
}

impl Default for IdleFlush {
    fn default() -> Self {
        IdleFlush { flush_after_us: 1000.0 }
    }
}

/// `buffer.flush = "watermark"`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Watermarks {
    /// The buffer begins to write back when it holds more than this share of its size.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub flush_above: f64,
    /// It stops at this share, which is not more. Default: half of `flush_above`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub flush_below: Option<f64>,
}

impl Watermarks {
    /// The share at which the write-back stops.
    #[must_use]
    pub fn stop(&self) -> f64 {
        self.flush_below.unwrap_or(self.flush_above / 2.0)
    }
}

impl Default for Watermarks {
    fn default() -> Self {
        Watermarks { flush_above: 0.5, flush_below: None }
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
    /// That page, and the pages beside it as far as the buffer holds them, up to 256: a disk writes them in one go.
    Run,
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
