//! # What it does
//! The randomised greedy algorithm: `d-choices` with as many choices as the logarithm of a plane's blocks to base 2,
//! rounded down.
//!
//! # What it costs
//! A little more copying than greedy, and hardly any search.
//!
//! # Source
//! Li, Lee and Lui, SIGMETRICS 2013; the number of choices is MQSim's (Tavakkol et al., FAST 2018), where it is called RGA.

use super::{Victim, random};

/// The best of log₂ n.
pub(super) const POLICY: Victim = Victim {
    name: "rga",
    summary: "of log2(blocks of a plane) random blocks the one with the fewest valid pages (MQSim: RGA)",
    source: include_str!("rga.rs"),
    keys: &[],
    pick: |candidates| random::best_of(candidates, candidates.valid.len().ilog2().max(1)),
};
