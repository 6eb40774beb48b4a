//! # What it does
//! Takes the block with the largest benefit/cost ratio, age · (1 − u) / 2u, where u is its share of valid
//! pages and its age the number of blocks of the plane closed since it was. A block without valid pages has
//! no cost and goes first, the oldest of several.
//!
//! # What it costs
//! More copies than greedy under uniform writes, fewer if some pages are rewritten more often than others: an
//! old, nearly full block is worth collecting, because its valid pages will stay valid.
//!
//! # Source
//! Rosenblum and Ousterhout, "The design and implementation of a log-structured file system", 1992, with the
//! cost of Kawaguchi, Nishioka and Motoda, "A flash-memory based file system", USENIX 1995: a page is read
//! and written, hence 2u.

use super::{Candidates, Score, Victim};

/// Most benefit for its cost first.
pub(super) const POLICY: Victim = Victim {
    name: "cost-benefit",
    summary: "the block with the largest age · (1 − u) / 2u, where u is its share of valid pages",
    source: include_str!("cost_benefit.rs"),
    pick: pick::<u16>,
    pick_wide: pick::<u32>,
    ..Victim::BASE
};

fn pick<S: Score>(candidates: &Candidates<'_, S>) -> Option<u32> {
    let pages = u64::from(candidates.pages.into());
    // Benefit and cost of the best block so far; multiplied crosswise they compare without a division, in 63 bits.
    let mut best: Option<(u64, u64, u32)> = None;
    for ((&valid, &closed), block) in candidates.valid.iter().zip(candidates.closed_at).zip(0..) {
        if valid >= candidates.pages {
            continue;
        }
        let valid = u64::from(valid.into());
        let age = u64::from(candidates.closings - closed) + 1;
        let (benefit, cost) = (age * (pages - valid), 2 * valid);
        let is_better = |&(most, least, _): &(u64, u64, u32)| match (cost, least) {
            (0, 0) => benefit > most,
            _ => benefit * least > most * cost,
        };
        if best.as_ref().is_none_or(is_better) {
            best = Some((benefit, cost, block));
        }
    }
    best.map(|(_, _, block)| block)
}
