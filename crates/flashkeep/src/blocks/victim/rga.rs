//! # What it does
//! The randomised greedy algorithm: `d-choices` with the base-2 logarithm of a plane's blocks, rounded down,
//! as the number of choices.
//!
//! # What it costs
//! Slightly more copies than greedy, and hardly any search.
//!
//! # Source
//! Li, Lee and Lui, SIGMETRICS 2013; the number of choices is MQSim's (Tavakkol et al., FAST 2018), which
//! calls it RGA.

use super::{Candidates, Score, Victim, random};

/// The best of log₂ n.
pub(super) const POLICY: Victim = Victim {
    name: "rga",
    summary: "of log2(blocks of a plane) random blocks, the one with the fewest valid pages (MQSim: RGA)",
    source: include_str!("rga.rs"),
    pick: best,
    pick_wide: best,
    steady: Some(|tried| tried.chosen(choices(tried.units as usize))),
    ..Victim::BASE
};

fn best<S: Score>(candidates: &Candidates<'_, S>) -> Option<u32> {
    random::best_of(candidates, choices(candidates.valid.len()))
}

/// The number of choices among these units.
fn choices(units: usize) -> u32 {
    units.max(1).ilog2().max(1)
}
