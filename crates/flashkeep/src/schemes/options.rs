//! `[redundancy]`: the scheme, and its options.
//!
//! The options of a scheme are parts: structs shared by several schemes, which are here, and one in the
//! scheme's own file. The keys of a drive file, their ranges, defaults and descriptions come from the parts
//! in the table of schemes.

use super::{SCHEMES, names};
pub use crate::engine::Reading;
use crate::flash::Across;
use crate::options::{self, Options, OptionsPart, Selector, SelectorValue};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

/// The redundancy of a drive or an array: the scheme and its options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct RedundancySpec {
    /// A scheme's name, as `flashkeep schemes` lists them.
    #[schemars(extend("enum" = names()))]
    pub scheme: String,
    #[serde(flatten)]
    #[schemars(schema_with = "of_schemes")]
    options: Options,
}

fn of_schemes(generator: &mut SchemaGenerator) -> Schema {
    options::schema(generator, &[SELECTOR])
}

/// `redundancy.scheme` and the options of the schemes.
const SELECTOR: Selector = Selector {
    key: "scheme",
    values: || {
        let values = SCHEMES.iter().map(|entry| SelectorValue { name: entry.name, options: entry.options });
        values.collect()
    },
    shapes_state: true,
};

impl Default for RedundancySpec {
    fn default() -> Self {
        RedundancySpec::of("none")
    }
}

impl RedundancySpec {
    /// A scheme with default options.
    #[must_use]
    pub fn of(scheme: &str) -> Self {
        RedundancySpec { scheme: scheme.into(), options: Options::default() }
    }

    /// Reads a part of the options: [`Options::read`].
    #[must_use]
    pub fn read<T: DeserializeOwned>(&self) -> T {
        self.options.read()
    }

    /// Sets an option.
    pub fn set(&mut self, key: &str, value: impl Serialize) {
        self.options.set(key, value);
    }

    /// Sets all options of a part: [`Options::put`].
    pub fn put(&mut self, part: impl Serialize) {
        self.options.put(part);
    }

    /// The same, for a row of them.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Serialize) -> Self {
        self.set(key, value);
        self
    }

    /// The options that are set, by key.
    pub fn given(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.options.given()
    }

    /// Replaces all options by those of these parts, with defaults for missing ones.
    pub(super) fn keep(&mut self, parts: &[&OptionsPart]) {
        self.options.keep(parts);
    }
}

/// Members inside a drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Inside {
    /// The level that is divided into members: `channel`, `chip` or `die`.
    pub across: Across,
    /// The number of members. Default: all parts of the level (for a mirror: 2). Over drives: the members form groups
    /// of this many, each with the scheme, and stripes go over the groups (RAID-10, RAID-50, RAID-60).
    #[schemars(range(min = 2, max = 255))]
    pub width: Option<u32>,
    /// The number of hot spares: empty members, each of which can replace a failed one.
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
    /// The number of members in each group. Default: one group of all members.
    #[schemars(range(min = 2, max = 255))]
    pub width: Option<u32>,
}

/// Stripes over drives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Striping {
    /// In an array: chunk size in KiB, the consecutive data on one member; 0: the members are concatenated (`none`
    /// only).
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

/// Handling of stripes that have never been written in full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Incompletes {
    /// Parity of a stripe that has never been written in full: `zeros` (its other pages count as known zeros, so that
    /// it has parity from its first page on) or `wait` (parity is written when the stripe is full, in idle time, or at
    /// the end).
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
    /// Time without host requests after which deferred parity is written, ms.
    #[schemars(range(min = 0.0, max = 1e9), extend("examples" = [0.4, 1000]))]
    pub idle_ms: f64,
}

impl Default for Idle {
    fn default() -> Self {
        Idle { idle_ms: 10.0 }
    }
}

/// Parity computation by the controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Sums {
    /// The controller's time to add a page to a parity, µs.
    #[schemars(range(min = 0.0, max = 1e6), extend("examples" = [0.3, 10]))]
    pub xor_us: f64,
}

impl Default for Sums {
    fn default() -> Self {
        Sums { xor_us: 0.0 }
    }
}

/// Rebuilds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Rebuilds {
    /// The share of the time in which a rebuild works; the rest is left to the host.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0), extend("examples" = [0.7, 1]))]
    pub rebuild_share: f64,
    /// The number of pages of a member that are rebuilt at the same time. Default: as many as the member can program at
    /// a time, one for each plane, but at least 8; with distributed spares, eight chunks for each other member
    /// or more.
    #[schemars(range(min = 1, max = 65_536))]
    pub rebuild_depth: Option<u32>,
}

impl Default for Rebuilds {
    fn default() -> Self {
        Rebuilds { rebuild_share: 0.5, rebuild_depth: None }
    }
}

/// Reads of pages that can be read in several ways.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Reads {
    /// Where a read goes if its page has alternatives: other copies, or the rest of its stripe. `plain`: to the place that
    /// the scheme chooses. `around-busy`: to the alternative, if that is expected to be done before the read could begin.
    /// `hedge=p95` (any percentile from `hedge=p50` to `hedge=p99.9`): to that place, and to the alternative as well if the
    /// read has not come after this percentile of the last 1,000 read times; what comes first is taken.
    pub read: Reading,
}

impl From<Reading> for String {
    fn from(choice: Reading) -> String {
        match choice {
            Reading::Plain => "plain".into(),
            Reading::AroundBusy => "around-busy".into(),
            Reading::Hedge(permille) if permille % 10 == 0 => format!("hedge=p{}", permille / 10),
            Reading::Hedge(permille) => format!("hedge=p{}.{}", permille / 10, permille % 10),
        }
    }
}

impl TryFrom<String> for Reading {
    type Error = String;

    fn try_from(text: String) -> Result<Reading, String> {
        let permille = |percentile: &str| {
            let (whole, tenth) = percentile.split_once('.').unwrap_or((percentile, "0"));
            let digits = |text: &str, many: usize| {
                text.len() == many && text.bytes().all(|byte| byte.is_ascii_digit())
            };
            let fits = digits(whole, 2) && digits(tenth, 1);
            let permille = fits.then(|| format!("{whole}{tenth}").parse::<u16>().ok()).flatten();
            permille.filter(|permille| (500..1000).contains(permille))
        };
        match text.as_str() {
            "plain" => Ok(Reading::Plain),
            "around-busy" => Ok(Reading::AroundBusy),
            other => {
                let hedge = other.strip_prefix("hedge=p").and_then(permille).map(Reading::Hedge);
                hedge.ok_or_else(|| format!("{other:?} is no way to read"))
            }
        }
    }
}

impl JsonSchema for Reading {
    fn schema_name() -> Cow<'static, str> {
        "ReadChoice".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Where reads go whose pages have alternatives.",
            "type": "string",
            "oneOf": [
                { "const": "plain", "description": "To the place that the scheme chooses." },
                { "const": "around-busy", "description": "Where they are expected to be done first." },
                {
                    "title": "`hedge=p50` to `hedge=p99.9`",
                    "pattern": "^hedge=p[5-9][0-9](\\.[0-9])?$",
                    "description": "To the place that the scheme chooses, and elsewhere as well after this percentile of \
                                    read times.",
                },
            ],
        })
    }
}

/// Old versions of pages, which are kept in a hidden LBA range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OldVersions {
    /// The hidden LBA range for old versions of pages, as a share of each member's pages; it is taken from the
    /// over-provisioned pages.
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
    /// Size of the non-volatile memory for partial parities, MiB.
    #[schemars(range(max = 1_048_576.0), extend("exclusiveMinimum" = 0.0), extend("examples" = [0.03125, 4]))]
    pub nvram_mib: f64,
    /// Time to read or write a page of that memory, µs.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub nvram_us: f64,
}

impl Default for NvramOptions {
    fn default() -> Self {
        NvramOptions { nvram_mib: 1.0, nvram_us: 1.0 }
    }
}

/// The price of that memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NvramPrice {
    /// Price of a GB (10⁹ bytes) of that memory, USD.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub nvram_price_per_gb: Option<f64>,
}

/// A log on a disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DiskLog {
    /// Size of the log on disks of `hpda`, `griffin` and `i-cash` (deltas), MiB; at most the free space of the disks.
    #[schemars(range(max = 16_777_216.0), extend("exclusiveMinimum" = 0.0), extend("examples" = [0.0625, 1024]))]
    pub log_mib: f64,
}

impl Default for DiskLog {
    fn default() -> Self {
        DiskLog { log_mib: 1024.0 }
    }
}

/// Parity of a stripe that has never been written in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Incomplete {
    /// Its other pages count as known zeros.
    Zeros,
    /// It waits for the other pages, without protection.
    Wait,
}
