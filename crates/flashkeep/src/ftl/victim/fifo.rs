//! # What it does
//! Takes the block that was closed longest ago, unless all of its pages are still valid.
//!
//! # What it costs
//! More copies than greedy; wear is even.
//!
//! # Source
//! Xiang and Kurkoski, "An improved analytic expression for write amplification in NAND flash", ICNC 2012: A
//! = a / (a + W(−a·e^−a)) under uniform random writes.

use super::{Candidates, Victim};

/// Oldest first.
pub(super) const POLICY: Victim = Victim {
    name: "fifo",
    summary: "the block closed longest ago",
    source: include_str!("fifo.rs"),
    keys: &[],
    pick,
};

fn pick(candidates: &Candidates<'_>) -> Option<u32> {
    let blocks = candidates.valid.iter().zip(candidates.sealed).zip(0..);
    let worth = blocks.filter(|((valid, _), _)| **valid < candidates.pages);
    worth.min_by_key(|((_, sealed), _)| **sealed).map(|(_, block)| block)
}
