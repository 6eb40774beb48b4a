//! The keys of a drive file: one set of types that reads TOML, rejects unknown keys, and exports the JSON Schema. Every
//! default, every limit of a single key and every list of names is declared only in these types; the checks, the
//! messages and the schema are derived from them.

mod ftl;
mod start;

pub use ftl::*;
pub use start::*;

use crate::device::port::BufferSpec;
use crate::disk::DiskSpec;
use crate::flash::{ErrorsSpec, FlashSpec};
use crate::ftl::AgeingSpec;
use crate::host::HostSpec;
use crate::schemes::RedundancySpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A drive as the user describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DriveSpec {
    /// Another drive whose values apply to keys that this file does not set: a preset's name, or a path relative to
    /// this file (it has a `/` or ends in `.toml`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The drive's name. Default: the preset's name or the file's stem. Not taken from `base`.
    pub name: String,
    /// A sentence about it. Not taken from `base`.
    pub description: String,
    /// The members, which make it an array: each `[COUNT *] DRIVE[,KEY=VALUE…]`, where DRIVE is a preset or a path
    /// relative to this file, such as `["8 * 2CM-128"]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
    /// Price of a GB (10⁹ bytes) of the drive's or disk's capacity, USD. The price of an array is that of its members.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub price_per_gb: Option<f64>,
    /// The volumes of an array.
    pub array: ArraySpec,
    /// The flash chips: geometry, wiring and timing.
    pub flash: FlashSpec,
    /// Bit errors of the flash, error correction and read retries.
    pub errors: ErrorsSpec,
    /// The flash translation layer: mapping, allocation, collection.
    pub ftl: FtlSpec,
    /// The DRAM write buffer.
    pub buffer: BufferSpec,
    /// The redundancy inside the drive.
    pub redundancy: RedundancySpec,
    /// Heads and platters: a drive with this table is a disk and has no flash.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DiskSpec")]
    pub disk: Option<DiskSpec>,
    /// The host interface.
    pub host: HostSpec,
    /// The contents of the drive before time 0.
    pub start: StartSpec,
    /// How the flash has been used before time 0, by construction.
    pub ageing: AgeingSpec,
    /// How `--condition` writes the drive before time 0.
    pub condition: ConditionSpec,
}

/// The volumes of an array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ArraySpec {
    /// The number of equal parts of its address space. The traces of a run are assigned to them in order, each with a
    /// closed loop of its own.
    #[schemars(range(min = 1, max = 255))]
    pub volumes: u32,
}

impl Default for ArraySpec {
    fn default() -> Self {
        ArraySpec { volumes: 1 }
    }
}
