//! `[errors]`: bit errors of the flash, and what the controller does about them.
//!
//! The formulas are those of the crate `flashkeep-errors`; here are the keys, and the model that follows from them. One
//! file for each source of raw bit error rates: [`kim`] and [`table`].

mod kim;
mod model;
mod table;

pub use flashkeep_errors::chain::Stage;
pub use flashkeep_errors::rber::Conditions;
pub use kim::KimOptions;
pub use model::{ErrorModel, PageErrors, SoftSensing};
pub use table::TableOptions;

use crate::options::{self, Options, OptionsPart, Selector, SelectorValue};
use flashkeep_errors::Invalid;
use flashkeep_errors::rber::Rber;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// Bit errors of the flash, and what the controller does about them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct ErrorsSpec {
    /// Where raw bit error rates come from: `none` (reads of healthy flash never fail), `kim` (the formula of Kim, Choi and
    /// Min, FAST '19), `table` (measurements in a CSV file).
    #[schemars(extend("enum" = names()))]
    pub model: String,
    /// The options of the model.
    #[serde(flatten)]
    #[schemars(schema_with = "of_models")]
    pub options: Options,
    /// The error-correcting code.
    #[serde(skip_serializing_if = "TableOf::is_empty")]
    pub ecc: TableOf<EccOptions>,
    /// Read retries.
    #[serde(skip_serializing_if = "TableOf::is_empty")]
    pub retry: TableOf<RetryOptions>,
    /// What keeps data readable.
    #[serde(skip_serializing_if = "TableOf::is_empty")]
    pub maintenance: TableOf<MaintenanceOptions>,
}

impl Default for ErrorsSpec {
    fn default() -> Self {
        ErrorsSpec {
            model: "none".into(),
            options: Options::default(),
            ecc: TableOf::default(),
            retry: TableOf::default(),
            maintenance: TableOf::default(),
        }
    }
}

impl ErrorsSpec {
    /// Whether reads can fail.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.model != "none"
    }

    /// The same with a model, if there are values that one would read: that of a table where they name a file.
    #[must_use]
    pub fn switched_on(&self) -> ErrorsSpec {
        let tables = [&self.options, &self.ecc.options, &self.retry.options, &self.maintenance.options];
        let mut given = tables.into_iter().flat_map(Options::given).map(|(key, _)| key.as_str());
        let model = match (self.is_on(), given.next()) {
            (false, Some(first)) => {
                let measured = first == "file" || given.any(|key| key == "file");
                if measured { table::SOURCE.name } else { kim::SOURCE.name }
            }
            _ => &self.model,
        };
        ErrorsSpec { model: model.into(), ..self.clone() }
    }
}

/// A source of raw bit error rates.
struct Source {
    name: &'static str,
    options: &'static [OptionsPart],
    rber: fn(&Options) -> Result<Rber, Invalid>,
}

/// The table of sources: one line each.
const SOURCES: [Source; 2] = [kim::SOURCE, table::SOURCE];

fn names() -> Vec<&'static str> {
    std::iter::once("none").chain(SOURCES.iter().map(|source| source.name)).collect()
}

/// `errors.model` and the options of its values.
pub const ERRORS: Selector = Selector {
    key: "model",
    values: || {
        SOURCES.iter().map(|source| SelectorValue { name: source.name, options: source.options }).collect()
    },
    shapes_state: false,
};

fn of_models(generator: &mut SchemaGenerator) -> Schema {
    options::schema(generator, &[ERRORS])
}

/// A table of `[errors]`: the options `T`, which a drive with errors has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields, rename = "{T}Table")]
#[schemars(bound = "T: JsonSchema + Serialize + DeserializeOwned + Default + 'static")]
pub struct TableOf<T> {
    /// The options.
    #[serde(flatten)]
    #[schemars(schema_with = "of_table::<T>")]
    pub options: Options,
    #[serde(skip)]
    part: PhantomData<T>,
}

impl<T: DeserializeOwned> TableOf<T> {
    fn is_empty(&self) -> bool {
        self.options.given().next().is_none()
    }

    /// The options that are set, with defaults for missing ones.
    #[must_use]
    pub fn read(&self) -> T {
        self.options.read()
    }
}

fn of_table<T: JsonSchema + Serialize + DeserializeOwned + 'static>(
    generator: &mut SchemaGenerator,
) -> Schema {
    options::schema(generator, &[table_selector::<T>()])
}

const fn table_selector<T: JsonSchema + Serialize + DeserializeOwned + 'static>() -> Selector {
    Selector::of::<T>("model")
}

/// The options of `errors.ecc`. Saved drives have no state of these tables.
pub const ECC: Selector = table_selector::<EccOptions>();

/// The options of `errors.retry`.
pub const RETRY: Selector = table_selector::<RetryOptions>();

/// The options of `errors.maintenance`.
pub const MAINTENANCE: Selector = table_selector::<MaintenanceOptions>();

/// When data are moved before they become unreadable, and what else a controller does for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MaintenanceOptions {
    /// Read reclaim: the data of a block are moved after this many reads of the block, divided by its pages. Default: never.
    #[schemars(range(max = 1e12), extend("exclusiveMinimum" = 0.0))]
    pub reclaim_reads: Option<f64>,
    /// Refresh: the data of a block are moved when they are this old, in days. A block is looked at when it is read.
    /// Default: never.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0.0))]
    pub refresh_days: Option<f64>,
    /// Scrubbing: all pages that hold data are read once in this many days, one after the other. Default: none.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0.0))]
    pub scrub_days: Option<f64>,
    /// Growth of bad blocks: a block is retired at its next erase after this many of its pages were uncorrectable. Default:
    /// never.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub retire_after: Option<u32>,
}

/// The code, and how long decoding takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EccOptions {
    /// Bits of a codeword, n.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub codeword_bits: u32,
    /// Bits of data in a codeword, k.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub user_bits: u32,
    /// Wrong bits of a codeword that hard decoding corrects, t.
    #[schemars(range(max = 16_777_215))]
    pub corrects: u32,
    /// Wrong bits that soft decoding corrects, with the RBER of the last retry. Default: there is no soft decoding.
    #[schemars(range(max = 16_777_215))]
    pub corrects_soft: Option<u32>,
    /// Hard decoding of a read, from the end of its transfer, µs.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub decode_us: f64,
    /// Soft decoding of a read, µs.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub decode_soft_us: f64,
    /// Sensings, each with its transfer, that soft decoding needs in addition.
    #[schemars(range(max = 32))]
    pub soft_sensings: u32,
    /// The probability that the decoder takes a codeword beyond its reach for another one: wrong data, without an error.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub miscorrects: f64,
    /// Whether the controller checks data end to end (a checksum beside each page): wrong data become an error.
    pub end_to_end: bool,
}

impl Default for EccOptions {
    fn default() -> Self {
        EccOptions {
            codeword_bits: 9200,
            user_bits: 8192,
            corrects: 72,
            corrects_soft: None,
            decode_us: 0.0,
            decode_soft_us: 0.0,
            soft_sensings: 2,
            miscorrects: 0.0,
            end_to_end: false,
        }
    }
}

/// What is tried when hard decoding fails.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RetryOptions {
    /// Retries at most, each with other reference voltages.
    #[schemars(range(max = 64))]
    pub steps: u32,
    /// Each retry has this share of the RBER of the read before.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub factor: f64,
    /// No retry has a lower RBER than this, unless the page has.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub floor: f64,
    /// Sensing of a retry, µs. Default: as long as the page's first.
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0.0))]
    pub sense_us: Option<f64>,
    /// Whether the die senses the next retry while the data of the last one are transferred and decoded.
    pub pipelined: bool,
}

impl Default for RetryOptions {
    fn default() -> Self {
        RetryOptions { steps: 4, factor: 0.72, floor: 0.0, sense_us: None, pipelined: false }
    }
}

/// What any source of raw bit error rates has.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RberOptions {
    /// A factor on all RBERs.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub scale: f64,
    /// P/E cycles of every block at time 0. Default: the erases that the block has had in the simulation, by conditioning or
    /// in a saved drive.
    #[schemars(range(min = 0.0, max = 1e7))]
    pub cycles: Option<f64>,
    /// Days since the data that exist at time 0 were programmed.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub retention_days: f64,
    /// Reads of each block at time 0, since its last erase, divided by its pages.
    #[schemars(range(min = 0.0, max = 1e12))]
    pub page_reads: f64,
    /// The standard deviation of the natural logarithm of a factor on the RBER of each block, whose mean is 1.
    #[schemars(range(min = 0.0, max = 5.0))]
    pub block_sigma: f64,
    /// The same for the layers of all blocks.
    #[schemars(range(min = 0.0, max = 5.0))]
    pub layer_sigma: f64,
    /// Layers of a block: pages of a block that follow each other share one.
    #[schemars(range(min = 1, max = 32_768))]
    pub layers: u32,
    /// A factor on the RBER of the pages of each type, in the order of `flash.timing.read_us`, or of all pages.
    #[schemars(schema_with = "crate::flash::page_types::factors")]
    pub type_factors: crate::flash::PerType,
    /// A factor on the RBER of pages with one bit per cell (`flash.slc`).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub slc_factor: f64,
    /// The temperature at which data are kept, °C: time passes faster or slower than at `reference_c` by Arrhenius' law
    /// (1.1 eV). Default: that temperature.
    #[schemars(range(min = -55.0, max = 150.0))]
    pub temperature_c: Option<f64>,
    /// The temperature for which retention is known, °C.
    #[schemars(range(min = -55.0, max = 150.0))]
    pub reference_c: f64,
    /// The uncorrectable bit error rate at which flash is worn out, for `lifetime_cycles`. JESD218 asks of client drives 1e-15
    /// after a year, of enterprise drives 1e-16 after three months (noted from memory).
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub uber_target: f64,
    /// The age of data at which that counts, days.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub uber_days: f64,
    /// Field rates: days with an uncorrectable error, per day of a drive, in the mean over drives. Fitted to drives in the
    /// field (0.003), not derived from an RBER; the report says what follows. Default: no such figures.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub events_per_drive_day: Option<f64>,
    /// Field rates: the shape of the gamma distribution of drives' rates; the smaller, the more drives differ.
    #[schemars(range(min = 0.001, max = 1e6))]
    pub frailty_shape: f64,
}

impl Default for RberOptions {
    fn default() -> Self {
        RberOptions {
            scale: 1.0,
            cycles: None,
            retention_days: 0.0,
            page_reads: 0.0,
            block_sigma: 0.0,
            layer_sigma: 0.0,
            layers: 64,
            type_factors: crate::flash::PerType::All(1.0),
            slc_factor: 0.01,
            temperature_c: None,
            reference_c: 40.0,
            uber_target: 1e-15,
            uber_days: 365.0,
            events_per_drive_day: None,
            frailty_shape: 0.25,
        }
    }
}
