//! # What it does
//! Takes the block that was closed longest ago, unless all of its pages are still valid.
//!
//! # What it costs
//! More copies than greedy; wear is even.
//!
//! # Source
//! Xiang and Kurkoski, "An improved analytic expression for write amplification in NAND flash", ICNC 2012: A
//! = a / (a + W(−a·e^−a)) under uniform random writes.

use super::{Candidates, Score, Victim};

/// Oldest first.
pub(super) const POLICY: Victim = Victim {
    name: "fifo",
    summary: "the block closed longest ago",
    source: include_str!("fifo.rs"),
    pick: pick::<u16>,
    pick_wide: pick::<u32>,
    steady: Some(|tried| tried.windowed(0.0)),
    ..Victim::BASE
};

fn pick<S: Score>(candidates: &Candidates<'_, S>) -> Option<u32> {
    let blocks = candidates.valid.iter().zip(candidates.closed_at).zip(0..);
    let worth = blocks.filter(|((valid, _), _)| **valid < candidates.pages);
    worth.min_by_key(|((_, closed), _)| **closed).map(|(_, block)| block)
}
