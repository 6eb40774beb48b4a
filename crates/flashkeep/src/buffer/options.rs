//! Options: which pages exist before time 0, and how writes of parts of pages are handled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which pages exist before time 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Existing {
    /// The pages that the workload reads.
    Reads,
    /// All of the drive.
    All,
    /// None; a read of a page that does not exist costs no flash time and is counted.
    None,
    /// All of the drive, in the steady state of random writes (`ageing.model = "steady"`); where that is not known, each
    /// page written once. With another `ageing.model`, `--aged` or `--condition`: the same as `reads`.
    Steady,
}

/// How a write of a part of a page handles the rest of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartialWrites {
    /// The rest is read, and written together with the new part.
    Merge,
    /// The rest is ignored: the page is programmed as if all of it were new.
    Whole,
}
