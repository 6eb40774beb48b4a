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

/// The best of a few.
pub(super) const POLICY: Victim = Victim {
    name: "d-choices",
    summary: "of ftl.gc.choices random blocks, the one with the fewest valid pages",
    source: include_str!("d_choices.rs"),
    keys: &["choices"],
    pick: |candidates| random::best_of(candidates, candidates.tuning.choices),
    pick_wide: |candidates| random::best_of(candidates, candidates.tuning.choices),
};
