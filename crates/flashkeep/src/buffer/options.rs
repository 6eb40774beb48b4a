//! Which pages exist before time 0, and what is done about parts of pages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which pages exist before time 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Existing {
    /// Those that the workload reads.
    Reads,
    /// All of the drive.
    All,
    /// None; a read of nothing costs no flash time and is counted.
    None,
}

/// What a write of a part of a page does about the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartialWrites {
    /// It is read, and written together with the new part.
    Merge,
    /// Nothing: the page is programmed as if all of it were new.
    Whole,
}
