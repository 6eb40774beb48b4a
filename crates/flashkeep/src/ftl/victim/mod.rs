//! Victim selection: one file per policy, one line in the table.

use super::Draws;
use super::blocks::Blocks;
use crate::engine::Contents;
use crate::flash::PlaneId;

mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod greedy_last;
mod random;
mod rga;
mod windowed_greedy;

/// What a policy may look at: the sealed blocks of one plane.
pub struct Candidates<'a> {
    /// Each block's valid pages; [`Candidates::NOT_SEALED`] or more for a block that cannot be taken.
    pub valid: &'a [u16],
    /// When each block was sealed: a count that grows.
    pub sealed: &'a [u32],
    /// That count now.
    pub seals: u32,
    /// Pages in a block, those left out that must be to gain: with fewer valid ones it is worth collecting.
    pub pages: u16,
    /// Random numbers, others at every decision.
    pub draws: Draws,
    /// What the user can choose.
    pub tuning: Tuning,
}

/// Numbers that a drive file chooses.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// `ftl.gc.choices`: candidates that `d-choices` draws.
    pub choices: u32,
    /// `ftl.gc.window`: blocks that `windowed-greedy` looks at.
    pub window: u32,
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
    /// Its file, whose doc comment is its manual page.
    pub source: &'static str,
    /// Keys of `[ftl.gc]` that it reads.
    pub keys: &'static [&'static str],
    /// The block to reclaim; none where that would gain nothing.
    pub pick: fn(&Candidates<'_>) -> Option<u32>,
}

impl std::fmt::Debug for Victim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The table of victim policies.
pub const VICTIMS: [Victim; 8] = [
    greedy::POLICY,
    greedy_last::POLICY,
    fifo::POLICY,
    cost_benefit::POLICY,
    random::POLICY,
    d_choices::POLICY,
    rga::POLICY,
    windowed_greedy::POLICY,
];

/// What `ftl.gc.victim` may be.
#[must_use]
pub fn names() -> Vec<&'static str> {
    VICTIMS.iter().map(|policy| policy.name).collect()
}

/// The policy of that name.
#[must_use]
pub fn named(name: &str) -> Option<Victim> {
    VICTIMS.into_iter().find(|policy| policy.name == name)
}

impl Victim {
    /// The block of a plane to reclaim, of those that `valid` offers: the plane's scores, or a part of them.
    #[must_use]
    pub fn of<C: Contents>(
        &self,
        blocks: &Blocks<C>,
        plane: PlaneId,
        valid: &[u16],
        draws: Draws,
        tuning: Tuning,
    ) -> Option<u32> {
        let candidates = Candidates {
            valid,
            sealed: blocks.sealed(plane),
            seals: blocks.seals(plane),
            pages: blocks.worth(),
            draws,
            tuning,
        };
        (self.pick)(&candidates)
    }
}

#[cfg(test)]
mod tests;
