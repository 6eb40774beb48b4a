//! # What it does
//! Takes a random closed block that has an invalid page, all equally likely.
//!
//! # What it costs
//! The most copies, and no search. Wear is even.
//!
//! # Source
//! Van Houdt, "A mean field model for a class of garbage collection algorithms in flash-based solid state
//! drives", SIGMETRICS 2013. MQSim calls it RANDOM_P. Under uniform random writes, with b pages per block and
//! a share ρ of them in use: A = b / (b (1 − ρ) + ρ), see docs/wear.md.

use super::{Candidates, Score, Victim};

/// Draws that may fail before blocks are counted.
const TRIES: u32 = 16;

/// Any.
pub(super) const POLICY: Victim = Victim {
    name: "random",
    summary: "a random closed block with an invalid page (MQSim: RANDOM_P)",
    source: include_str!("random.rs"),
    pick: |candidates| nth(candidates, 0),
    pick_wide: |candidates| nth(candidates, 0),
    steady: Some(|tried| tried.chosen(1)),
    ..Victim::BASE
};

/// The `n`th block drawn.
pub(super) fn nth<S: Score>(candidates: &Candidates<'_, S>, n: u32) -> Option<u32> {
    let blocks = candidates.valid.len() as u32;
    let first = n * (TRIES + 1);
    let worth = |block: &u32| candidates.valid[*block as usize] < candidates.pages;
    let drawn = (first..first + TRIES).map(|n| candidates.random.below(n, blocks));
    if let Some(block) = drawn.into_iter().find(worth) {
        return Some(block);
    }
    // Few blocks are worth taking: draws one of them.
    let count = candidates.valid.iter().filter(|&&valid| valid < candidates.pages).count() as u32;
    let at = (count > 0).then(|| candidates.random.below(first + TRIES, count))?;
    (0..blocks).filter(worth).nth(at as usize)
}

/// Of `count` blocks drawn the one with the fewest valid pages, the first drawn of equals.
pub(super) fn best_of<S: Score>(candidates: &Candidates<'_, S>, count: u32) -> Option<u32> {
    let drawn = (0..count).map_while(|n| nth(candidates, n));
    drawn.min_by_key(|&block| candidates.valid[block as usize])
}
