//! Which block is reclaimed: one file a policy, one line in the table.

use super::blocks::Blocks;
use crate::engine::Contents;
use crate::media::PlaneId;

mod fifo;
mod greedy;

/// What a policy may look at: the sealed blocks of one plane.
pub struct Candidates<'a> {
    /// Each block's valid pages; [`Candidates::NOT_SEALED`] or more for a block that cannot be taken.
    pub valid: &'a [u16],
    /// When each block was sealed: a count that grows.
    pub sealed: &'a [u32],
    /// Pages in a block.
    pub pages: u16,
}

impl Candidates<'_> {
    /// Scores from here on are of blocks that are free or being filled.
    pub const NOT_SEALED: u16 = super::blocks::OPEN;
}

/// A victim policy.
#[derive(Clone, Copy)]
pub struct Victim {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// The block to reclaim; none where that would gain nothing.
    pub pick: fn(&Candidates<'_>) -> Option<u32>,
}

impl std::fmt::Debug for Victim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The table of victim policies.
pub const VICTIMS: [Victim; 2] = [greedy::POLICY, fifo::POLICY];

/// The policy of that name.
#[must_use]
pub fn named(name: &str) -> Option<Victim> {
    VICTIMS.into_iter().find(|policy| policy.name == name)
}

impl Victim {
    /// The block of a plane to reclaim.
    #[must_use]
    pub fn of<C: Contents>(&self, blocks: &Blocks<C>, plane: PlaneId, pages: u32) -> Option<u32> {
        let candidates = Candidates {
            valid: blocks.scores(plane),
            sealed: blocks.sealed(plane),
            pages: u16::try_from(pages).expect("a block's pages fit 15 bits"),
        };
        (self.pick)(&candidates)
    }
}
