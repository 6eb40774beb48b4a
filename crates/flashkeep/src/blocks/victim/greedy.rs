//! # What it does
//! Takes the closed block with the fewest valid pages; of equal ones the one with the lowest number. Logs of stripes
//! take equal superblocks in turn.
//!
//! # What it costs
//! The fewest copies for this collection. Blocks of cold data are never taken, so they do not wear.
//!
//! # Source
//! SSDSim's and the DiskSim extension's default (Agrawal et al., USENIX ATC 2008, section 3.5).

use super::{Candidates, Score, Victim};

/// Fewest valid pages first.
pub(in crate::blocks) const POLICY: Victim = Victim {
    name: "greedy",
    summary: "the block with the fewest valid pages, lowest number first",
    source: include_str!("greedy.rs"),
    pick: pick::<u16>,
    pick_wide: pick::<u32>,
    steady: Some(|tried| tried.windowed(f64::INFINITY)),
    ..Victim::BASE
};

/// The number of blocks compared together; their least count is found without a branch.
const CHUNK: usize = 128;

fn pick<S: Score>(candidates: &Candidates<'_, S>) -> Option<u32> {
    let (before, after) = candidates.valid.split_at(candidates.first as usize);
    let found = least(after, candidates.pages).map(|(score, at)| (score, at + candidates.first));
    // A search from the first unit has no units before it.
    let other = if before.is_empty() { None } else { least(before, candidates.pages) };
    found.into_iter().chain(other).min_by_key(|(score, _)| *score).map(|(_, unit)| unit)
}

/// The first unit with the least score below a limit.
fn least<S: Score>(scores: &[S], below: S) -> Option<(S, u32)> {
    let (mut least, mut at) = (below, None);
    for (chunk, scores) in scores.chunks(CHUNK).enumerate() {
        let here = scores.iter().copied().fold(S::MAX, S::min);
        if here < least {
            (least, at) = (here, Some(chunk * CHUNK));
        }
    }
    let at = at?;
    let place = scores[at..].iter().position(|&score| score == least)?;
    Some((least, (at + place) as u32))
}
