//! # What it does
//! Takes the closed block with the fewest valid pages; of equal ones the one with the highest number.
//!
//! # What it costs
//! As `greedy`.
//!
//! # Source
//! The DiskSim extension of Agrawal et al., USENIX ATC 2008: its scan keeps the last of the best blocks.

use super::{Candidates, Score, Victim};

/// Fewest valid pages first, the highest number of equals.
pub(super) const POLICY: Victim = Victim {
    name: "greedy-last",
    summary: "the block with the fewest valid pages, highest number first",
    source: include_str!("greedy_last.rs"),
    pick: pick::<u16>,
    pick_wide: pick::<u32>,
    steady: Some(|tried| tried.windowed(f64::INFINITY)),
    ..Victim::BASE
};

fn pick<S: Score>(candidates: &Candidates<'_, S>) -> Option<u32> {
    let least = candidates.valid.iter().copied().fold(S::MAX, S::min);
    if least >= candidates.pages {
        return None;
    }
    candidates.valid.iter().rposition(|&valid| valid == least).map(|block| block as u32)
}
