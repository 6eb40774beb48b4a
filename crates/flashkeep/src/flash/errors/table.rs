//! `table`: raw bit error rates that the user has measured, in a CSV file.

use super::{RberOptions, Source};
use crate::options::{Options, OptionsPart};
use flashkeep_errors::Invalid;
use flashkeep_errors::rber::Rber;
use flashkeep_errors::table::Table;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the measurements are.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TableOptions {
    /// The CSV file: columns `cycles` and `rber` and, where they matter, `days` and `reads`; a row for every combination
    /// of the values that occur. The path is relative to the working directory.
    pub file: Option<String>,
}

pub(super) const SOURCE: Source = Source {
    name: "table",
    options: const { &[OptionsPart::of::<TableOptions>(), OptionsPart::of::<RberOptions>()] },
    rber: read,
};

fn read(options: &Options) -> Result<Rber, Invalid> {
    let invalid = |message: String| Invalid { field: "file", message };
    let Some(file) = options.read::<TableOptions>().file else {
        return Err(invalid(
            "\"table\" needs errors.file, a CSV file with the columns cycles,days,reads,rber".into(),
        ));
    };
    let text = std::fs::read_to_string(&file).map_err(|error| invalid(format!("{file:?}: {error}")))?;
    let table = Table::parse(&text).map_err(|error| invalid(format!("{file:?}: {error}")))?;
    Ok(Rber::table(table))
}
