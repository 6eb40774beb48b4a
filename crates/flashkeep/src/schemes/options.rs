//! `[redundancy]`: the scheme, and its options.
//!
//! The options of a scheme are parts: structs shared by several schemes, which are here, and one in the
//! scheme's own file. The keys of a drive file, their ranges, defaults and descriptions come from the parts
//! in the table of schemes.

use super::{SCHEMES, names};
use crate::flash::Across;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::any::TypeId;
use std::borrow::Cow;

/// The redundancy of a drive or an array: the scheme, and the options that it has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RedundancySpec {
    /// A scheme's name.
    pub scheme: String,
    #[serde(flatten)]
    options: Value,
}

impl Default for RedundancySpec {
    fn default() -> Self {
        RedundancySpec::of("none")
    }
}

impl RedundancySpec {
    /// A scheme with nothing said about its options.
    #[must_use]
    pub fn of(scheme: &str) -> Self {
        RedundancySpec { scheme: scheme.into(), options: Value::Object(Map::new()) }
    }

    /// A part of the options; the defaults of what was not given.
    ///
    /// # Panics
    /// Where a value does not fit its key, which readers of drive files check.
    #[must_use]
    pub fn read<T: DeserializeOwned>(&self) -> T {
        T::deserialize(&self.options).expect("values fit their keys")
    }

    /// Gives an option.
    ///
    /// # Panics
    /// Never: values of options can be written as JSON.
    pub fn set(&mut self, key: &str, value: impl Serialize) {
        self.options[key] = serde_json::to_value(value).expect("an option");
    }

    /// Takes an option away: its default holds.
    pub fn remove(&mut self, key: &str) {
        if let Some(options) = self.options.as_object_mut() {
            options.remove(key);
        }
    }

    /// The same, for a row of them.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Serialize) -> Self {
        self.set(key, value);
        self
    }

    /// What has been given, by key.
    pub fn given(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.options.as_object().into_iter().flatten()
    }

    /// Puts the options of these parts in place of all that was given, with defaults where nothing was.
    pub(super) fn keep(&mut self, parts: &[&Part]) {
        let values = parts.iter().flat_map(|part| (part.values)(&self.options));
        self.options = Value::Object(values.collect());
    }
}

impl JsonSchema for RedundancySpec {
    fn schema_name() -> Cow<'static, str> {
        "RedundancySpec".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let scheme = json_schema!({
            "description": "A scheme's name, as `flashkeep schemes` lists them.",
            "type": "string",
            "enum": names(),
            "default": "none",
        });
        let mut properties = Map::new();
        properties.insert("scheme".into(), scheme.to_value());
        let mut known = Vec::new();
        for part in SCHEMES.iter().flat_map(|entry| entry.options) {
            // Several schemes have the same part.
            if known.contains(&(part.id)()) {
                continue;
            }
            known.push((part.id)());
            let same = |other: &Part| (other.id)() == (part.id)();
            let schemes: Vec<_> = SCHEMES.iter().filter(|entry| entry.options.iter().any(same)).collect();
            let schemes: Value = schemes.into_iter().map(|entry| entry.name).collect();
            for (key, mut schema) in part.properties(generator) {
                schema["x-schemes"] = schemes.clone();
                properties.entry(key).or_insert(schema);
            }
        }
        json_schema!({
            "description": "The redundancy of a drive or an array.",
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        })
    }
}

/// A part of a scheme's options: the keys of a struct.
#[derive(Clone, Copy)]
pub struct Part {
    id: fn() -> TypeId,
    schema: fn(&mut SchemaGenerator) -> Schema,
    /// Its values out of all that was given, with its defaults for the rest.
    values: fn(&Value) -> Map<String, Value>,
}

impl Part {
    /// The part that this struct is.
    pub(super) const fn of<T: JsonSchema + Serialize + DeserializeOwned + 'static>() -> Part {
        Part { id: TypeId::of::<T>, schema: T::json_schema, values: values::<T> }
    }

    /// Whether it is that struct.
    pub(super) fn is<T: 'static>(&self) -> bool {
        (self.id)() == TypeId::of::<T>()
    }

    /// The schema of each of its keys.
    pub(super) fn properties(&self, generator: &mut SchemaGenerator) -> Map<String, Value> {
        let schema = (self.schema)(generator).to_value();
        schema["properties"].as_object().cloned().unwrap_or_default()
    }
}

fn values<T: Serialize + DeserializeOwned>(given: &Value) -> Map<String, Value> {
    let part = T::deserialize(given).expect("values fit their keys");
    match serde_json::to_value(part) {
        Ok(Value::Object(mut values)) => {
            values.retain(|_, value| !value.is_null());
            values
        }
        _ => Map::new(),
    }
}

/// Members inside a drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Inside {
    /// What its members are made of: `channel`, `chip` or `die`.
    pub across: Across,
    /// How many members; all of that level if left out (a mirror: 2). Over drives: the members form groups of this many,
    /// each with the scheme, and stripes go over the groups (RAID-10, RAID-50, RAID-60).
    #[schemars(range(min = 2, max = 255))]
    pub width: Option<u32>,
    /// Units that are kept empty, each to stand in for a member that fails.
    #[schemars(range(max = 254))]
    pub spares: u32,
}

impl Default for Inside {
    fn default() -> Self {
        Inside { across: Across::Channel, width: None, spares: 0 }
    }
}

/// Groups of members over drives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Groups {
    /// Members of each group; one group of all members if left out.
    #[schemars(range(min = 2, max = 255))]
    pub width: Option<u32>,
}

/// Stripes over drives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Striping {
    /// In an array: consecutive KiB on one member before the next has its turn; 0: the members lie one after another
    /// (`none` only).
    #[schemars(range(min = 0.0, max = 1e9), extend("examples" = [8, 64]))]
    pub stripe_kib: f64,
}

impl Default for Striping {
    fn default() -> Self {
        Striping { stripe_kib: 64.0 }
    }
}

/// Superblocks over drives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Extents {
    /// In an array: a superblock of a log-structured scheme is an extent of this many KiB of each member, which is trimmed
    /// as a whole.
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0.0), extend("examples" = [16, 32]))]
    pub extent_kib: f64,
    /// In an array: what is left for GC of a log-structured scheme, as a share of the capacity that it offers; at least
    /// a superblock.
    #[schemars(range(min = 0.0, max = 100.0), extend("examples" = [0.5, 1]))]
    pub log_over_provisioning: f64,
}

impl Default for Extents {
    fn default() -> Self {
        Extents { extent_kib: 256.0, log_over_provisioning: 0.1 }
    }
}

/// Stripes that have never been written in full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Incompletes {
    /// What of a stripe that has never been written in full: `zeros` (its other pages are known zeros, so it has
    /// parity from its first page on) or `wait` (its parity is written when it is full, in idle time, or at the
    /// end).
    pub incomplete: Incomplete,
}

impl Default for Incompletes {
    fn default() -> Self {
        Incompletes { incomplete: Incomplete::Zeros }
    }
}

/// When idle time begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Idle {
    /// Without host requests for so long, parity that was put off is written, ms.
    #[schemars(range(min = 0.0, max = 1e9), extend("examples" = [0.4, 1000]))]
    pub idle_ms: f64,
}

impl Default for Idle {
    fn default() -> Self {
        Idle { idle_ms: 10.0 }
    }
}

/// Parities, which the controller works out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Sums {
    /// What adding a page to a parity takes the controller, µs.
    #[schemars(range(min = 0.0, max = 1e6), extend("examples" = [0.3, 10]))]
    pub xor_us: f64,
}

impl Default for Sums {
    fn default() -> Self {
        Sums { xor_us: 0.0 }
    }
}

/// Rebuilds, which share the time with the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Rebuilds {
    /// The share of its time that a rebuild works; the rest is the host's.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0), extend("examples" = [0.7, 1]))]
    pub rebuild_share: f64,
}

impl Default for Rebuilds {
    fn default() -> Self {
        Rebuilds { rebuild_share: 0.5 }
    }
}

/// Old versions of pages, kept at addresses of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OldVersions {
    /// Address space for old versions of pages, as a share of each member's pages; it is taken from the
    /// over-provisioned ones.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0), extend("examples" = [0.2, 0.1]))]
    pub shadow: f64,
}

impl Default for OldVersions {
    fn default() -> Self {
        OldVersions { shadow: 0.02 }
    }
}

/// A non-volatile memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NvramOptions {
    /// The non-volatile memory for partial parities, MiB.
    #[schemars(range(max = 1_048_576.0), extend("exclusiveMinimum" = 0.0), extend("examples" = [0.03125, 4]))]
    pub nvram_mib: f64,
    /// What one page takes to or from that memory, µs.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub nvram_us: f64,
}

impl Default for NvramOptions {
    fn default() -> Self {
        NvramOptions { nvram_mib: 1.0, nvram_us: 1.0 }
    }
}

/// What that memory costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NvramPrice {
    /// What a GB (10⁹ bytes) of that memory costs, USD.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub nvram_price_per_gb: Option<f64>,
}

/// A log on a disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DiskLog {
    /// The log on disks of `hpda`, `griffin` and `i-cash` (of deltas), MiB; at most what the disks have left.
    #[schemars(range(max = 16_777_216.0), extend("exclusiveMinimum" = 0.0), extend("examples" = [0.0625, 1024]))]
    pub log_mib: f64,
}

impl Default for DiskLog {
    fn default() -> Self {
        DiskLog { log_mib: 1024.0 }
    }
}

/// What of a stripe that has never been written in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Incomplete {
    /// Its other pages are known zeros.
    Zeros,
    /// It waits for the rest, unprotected.
    Wait,
}
