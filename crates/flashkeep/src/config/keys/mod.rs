//! The keys of a drive file: one set of types that reads TOML, rejects what it does not know, and exports the
//! JSON Schema. Every default, every limit of a single key and every choice of names stands here and nowhere
//! else: the checks, the messages and the schema all read them from these types.

mod ftl;
mod start;

pub use ftl::*;
pub use start::*;

use crate::device::port::BufferSpec;
use crate::disk::DiskSpec;
use crate::flash::FlashSpec;
use crate::ftl::AgeingSpec;
use crate::host::HostSpec;
use crate::schemes::RedundancySpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A drive as the user describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DriveSpec {
    /// Another drive whose values hold where this one says nothing: a preset's name, or a path relative to
    /// this file (it has a `/` or ends in `.toml`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// What to call it; the preset's name or the file's stem where it is left out. Not taken from `base`.
    pub name: String,
    /// A sentence about it. Not taken from `base`.
    pub description: String,
    /// Makes an array of it: its members, each `[COUNT *] DRIVE[,KEY=VALUE…]`, where DRIVE is a preset or a path
    /// relative to this file, such as `["8 * 2CM-128"]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
    /// What a GB (10⁹ bytes) of what a drive or disk offers costs, USD. An array's price is its members'.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub price_per_gb: Option<f64>,
    /// What the host sees of an array.
    pub array: ArraySpec,
    /// The flash chips, how they are wired, and how long they take.
    pub flash: FlashSpec,
    /// The flash translation layer: mapping, allocation, collection.
    pub ftl: FtlSpec,
    /// The DRAM write buffer.
    pub buffer: BufferSpec,
    /// The redundancy inside the drive.
    pub redundancy: RedundancySpec,
    /// Heads and platters: a drive with this table is a disk, and has no flash.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DiskSpec")]
    pub disk: Option<DiskSpec>,
    /// The host interface.
    pub host: HostSpec,
    /// What there is before time 0.
    pub start: StartSpec,
    /// How the flash has been used before time 0, by construction.
    pub ageing: AgeingSpec,
    /// How `--condition` uses it before time 0, by writing.
    pub condition: ConditionSpec,
}

/// What the host sees of an array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ArraySpec {
    /// Equal parts of its address space; the traces of a run go to them in order, each with its own closed loop.
    #[schemars(range(min = 1, max = 255))]
    pub volumes: u32,
}

impl Default for ArraySpec {
    fn default() -> Self {
        ArraySpec { volumes: 1 }
    }
}
