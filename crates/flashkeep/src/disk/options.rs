//! `[disk]`: heads and platters instead of flash.

use super::{SeekSpec, scheduler};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Bytes in a disk's sector.
pub const DISK_SECTOR_BYTES: u32 = 512;

/// Most numbers in a list of a disk's.
const MOST_NUMBERS: usize = 64;

/// Heads and platters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DiskSpec {
    /// Capacity in GB of 10⁹ bytes, in sectors of 512 bytes; a last part that does not fill a page is left out.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0.0))]
    pub capacity_gb: f64,
    /// The page size with which it is addressed, in KiB: a whole number of sectors, from 0.5 to 32.
    #[schemars(range(min = 0.5, max = 32.0))]
    pub page_kib: f64,
    /// Revolutions a minute.
    #[schemars(range(min = 60, max = 100_000))]
    pub rpm: u32,
    /// Surfaces with a head each: tracks of a cylinder.
    #[schemars(range(min = 1, max = 64))]
    pub heads: u32,
    /// Cylinders, which the seek curve spans; as many as capacity, heads and rates need where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16_777_216))]
    pub cylinders: Option<u32>,
    /// Zones of equal capacity from the outermost inwards, each with one rate.
    #[schemars(range(min = 1, max = 1024))]
    pub zones: u32,
    /// What the outermost zone transfers, MB/s (10⁶ bytes): sectors of a track follow from it. A data sheet's sustained
    /// rate has head and track switches in it.
    #[schemars(range(max = 100_000.0), extend("exclusiveMinimum" = 0.0))]
    pub rate_outer_mb_s: f64,
    /// What the innermost zone transfers, MB/s; the zones between, in even steps.
    #[schemars(range(max = 100_000.0), extend("exclusiveMinimum" = 0.0))]
    pub rate_inner_mb_s: f64,
    /// What a command takes before the arm moves, ms; nothing if it continues where the last one ended.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub command_ms: f64,
    /// From one track of a cylinder to the next, ms. 0 where the rates have it in them.
    #[schemars(range(min = 0.0, max = 1e3))]
    pub head_switch_ms: f64,
    /// From the last track of a cylinder to the first of the next while data are transferred, ms. 0 where the rates
    /// have it in them.
    #[schemars(range(min = 0.0, max = 1e3))]
    pub track_switch_ms: f64,
    /// How long the platter turns until the data are under the head: `position` (from where it is at that time),
    /// `random` (evenly distributed over a revolution), `mean` (half a revolution).
    pub rotation: Rotation,
    /// Which command is next.
    #[schemars(extend("enum" = scheduler::names()))]
    pub scheduler: String,
    /// Commands among which it chooses; later ones wait until one of them has been begun.
    #[schemars(range(min = 1, max = 65_536))]
    pub queue_depth: u32,
    /// Memory for writes, which are acknowledged when they are there, in MiB; 0: when they are on the platter.
    #[schemars(range(min = 0.0, max = 1_048_576.0))]
    pub write_cache_mib: f64,
    /// What the interface transfers to and from memory, MB/s.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0.0))]
    pub interface_mb_s: f64,
    /// How long the arm takes.
    pub seek: SeekSpec,
    /// What it draws.
    pub power: DiskPowerSpec,
}

/// How long the platter turns until the data are under the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rotation {
    /// From where it stands at that time.
    Position,
    /// Evenly distributed over a revolution.
    Random,
    /// Half a revolution.
    Mean,
}

/// What a disk draws, W. What is left out is not counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DiskPowerSpec {
    /// On the track of a read: while the platter turns to its data and they pass, W.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e3))]
    pub read_w: Option<f64>,
    /// On the track of a write, W.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e3))]
    pub write_w: Option<f64>,
    /// While the arm moves, W.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e3))]
    pub seek_w: Option<f64>,
    /// While it turns and does nothing else, W.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e3))]
    pub idle_w: Option<f64>,
    /// While it does not turn, W.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e3))]
    pub standby_w: Option<f64>,
    /// While it spins up, W.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e3))]
    pub spin_up_w: Option<f64>,
    /// It stops after this time without a command, s; never if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0.0))]
    pub standby_after_s: Option<f64>,
    /// What it then takes to turn again, s.
    #[schemars(range(min = 0.0, max = 1e3))]
    pub spin_up_s: f64,
}

impl Default for DiskSpec {
    fn default() -> Self {
        DiskSpec {
            capacity_gb: 500.0,
            page_kib: 4.0,
            rpm: 7200,
            heads: 6,
            cylinders: None,
            zones: 16,
            rate_outer_mb_s: 78.0,
            rate_inner_mb_s: 39.0,
            command_ms: 0.3,
            head_switch_ms: 0.0,
            track_switch_ms: 0.0,
            rotation: Rotation::Position,
            scheduler: "look".into(),
            queue_depth: 32,
            write_cache_mib: 0.0,
            interface_mb_s: 100.0,
            seek: SeekSpec::default(),
            power: DiskPowerSpec::default(),
        }
    }
}

/// Numbers in brackets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "OneOrMore")]
pub struct Numbers(pub Vec<f64>);

/// As a file may write it: brackets around a single number can be left out.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(f64),
    More(Vec<f64>),
}

impl From<OneOrMore> for Numbers {
    fn from(found: OneOrMore) -> Self {
        match found {
            OneOrMore::One(number) => Numbers(vec![number]),
            OneOrMore::More(numbers) => Numbers(numbers),
        }
    }
}

impl JsonSchema for Numbers {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Numbers".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = json_schema!({ "type": "number", "minimum": 0.0, "maximum": 1e9 });
        let each = json_schema!({ "type": "array", "items": one, "minItems": 1, "maxItems": MOST_NUMBERS });
        json_schema!({ "anyOf": [one, each] })
    }
}

impl DiskSpec {
    /// Sectors of a page.
    #[must_use]
    pub fn page_sectors(&self) -> u64 {
        (self.page_kib * 1024.0) as u64 / u64::from(DISK_SECTOR_BYTES)
    }

    /// Sectors that it holds: whole pages.
    #[must_use]
    pub fn sectors(&self) -> u64 {
        let sectors = (self.capacity_gb * 1e9 / f64::from(DISK_SECTOR_BYTES)).round() as u64;
        sectors - sectors % self.page_sectors()
    }
}

impl DiskPowerSpec {
    /// Whether anything is known of what it draws.
    #[must_use]
    pub fn draws(&self) -> bool {
        let watts = [self.read_w, self.write_w, self.seek_w, self.idle_w, self.standby_w, self.spin_up_w];
        watts.iter().any(Option::is_some)
    }
}
