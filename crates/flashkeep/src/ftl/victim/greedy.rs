//! # What it does
//! Takes the closed block with the fewest valid pages; of equal ones the one with the lowest number.
//!
//! # What it costs
//! The fewest copies for this collection. Blocks of cold data are never taken, so they do not wear.
//!
//! # Source
//! SSDSim's and the DiskSim extension's default (Agrawal et al., USENIX ATC 2008, section 3.5).

use super::{Candidates, Victim};

/// Fewest valid pages first.
pub(super) const POLICY: Victim = Victim {
    name: "greedy",
    summary: "the block with the fewest valid pages, lowest number first",
    source: include_str!("greedy.rs"),
    keys: &[],
    pick,
};

/// Blocks that are compared together: their least count is found without a branch.
const CHUNK: usize = 128;

fn pick(candidates: &Candidates<'_>) -> Option<u32> {
    let (mut least, mut at) = (candidates.pages, None);
    for (chunk, valid) in candidates.valid.chunks(CHUNK).enumerate() {
        let here = valid.iter().copied().fold(u16::MAX, u16::min);
        if here < least {
            (least, at) = (here, Some(chunk * CHUNK));
        }
    }
    let rest = &candidates.valid[at?..];
    let place = rest.iter().position(|&valid| valid == least);
    place.map(|place| (at.unwrap_or(0) + place) as u32)
}
