//! Victim selection: one file per policy, one line in the table.

use super::Draws;
use super::units::Score;

mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod greedy_last;
mod random;
mod rga;
mod windowed_greedy;

/// The closed units that compete, as a policy sees them.
pub struct Candidates<'a, S> {
    /// Each unit's valid pages; [`Score::NOT_CLOSED`] or more for one that cannot be taken.
    pub valid: &'a [S],
    /// When each unit was closed: a count that grows.
    pub closed_at: &'a [u32],
    /// That count now.
    pub closings: u32,
    /// A unit with fewer valid pages than this is worth collecting.
    pub pages: S,
    /// Among equal units `greedy` takes the first one from here on.
    pub first: u32,
    /// The random numbers of this decision.
    pub draws: Draws,
    /// The options of a drive file.
    pub tuning: Tuning,
}

/// Options of policies.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// `ftl.gc.choices`: candidates that `d-choices` draws.
    pub choices: u32,
    /// `ftl.gc.window`: blocks that `windowed-greedy` looks at.
    pub window: u32,
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
    /// The unit to reclaim; none if that would gain nothing.
    pub pick: fn(&Candidates<'_, u16>) -> Option<u32>,
    /// The same for units with more pages.
    pub pick_wide: fn(&Candidates<'_, u32>) -> Option<u32>,
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

#[cfg(test)]
mod tests;
