//! # What it does
//! Draws `ftl.gc.choices` blocks, as `random` does, and takes the one with the fewest valid pages.
//!
//! # What it costs
//! With one choice as `random`; with ten nearly as few copies as greedy, without a search.
//!
//! # Source
//! Van Houdt, SIGMETRICS 2013; Li, Lee and Lui, "Stochastic modeling of large-scale solid-state storage
//! systems", SIGMETRICS 2013.

use super::{Victim, random};
use crate::options::OptionsPart;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The best of a few.
pub(super) const POLICY: Victim = Victim {
    name: "d-choices",
    summary: "of ftl.gc.choices random blocks, the one with the fewest valid pages",
    source: include_str!("d_choices.rs"),
    options: &[OptionsPart::of::<DChoicesOptions>()],
    considers: |options| options.read::<DChoicesOptions>().choices,
    pick: |candidates| random::best_of(candidates, candidates.considered),
    pick_wide: |candidates| random::best_of(candidates, candidates.considered),
    steady: Some(|tried| tried.chosen(tried.considered)),
    ..Victim::BASE
};

/// The number of choices.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct DChoicesOptions {
    /// With `victim = "d-choices"`: the number of blocks drawn, of which the best is reclaimed.
    #[schemars(range(min = 1, max = 65_536))]
    choices: u32,
}

impl Default for DChoicesOptions {
    fn default() -> Self {
        DChoicesOptions { choices: 10 }
    }
}
