//! Victim selection: one file per policy, one line in the table.

use super::RandomStream;
use super::units::Score;
use crate::options::{Options, OptionsPart, Selector, SelectorValue};

mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod greedy_last;
pub(super) mod python;
mod random;
mod rga;
mod steady;
mod windowed_greedy;

pub(super) use greedy::POLICY as GREEDY;
pub use python::{ForeignVictim, LoadVictim, load, load_victims_with};
pub use steady::{SteadyState, SteadyUnits, TriedDecay, ValidLevels, normal};

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
    pub random: RandomStream,
    /// The number of units that the policy considers, from its options.
    pub considered: u32,
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
    /// Its options in `[ftl.gc]`.
    pub options: &'static [OptionsPart],
    /// The number of units that it considers with these options; 0 if it has none.
    pub considers: fn(&Options) -> u32,
    /// The file that decides, if its options name one; `pick` is not called then.
    pub file: Option<fn(&Options) -> Option<String>>,
    /// The unit to reclaim; none if that would gain nothing.
    pub pick: fn(&Candidates<'_, u16>) -> Option<u32>,
    /// The same for units with more pages.
    pub pick_wide: fn(&Candidates<'_, u32>) -> Option<u32>,
    /// How many units have how many valid pages under uniform random writes; none if that is not known.
    pub steady: Option<fn(&TriedDecay) -> ValidLevels>,
}

impl Victim {
    /// The defaults.
    const BASE: Victim = Victim {
        name: "",
        summary: "",
        source: "",
        options: &[],
        considers: |_| 0,
        file: None,
        pick: |_| None,
        pick_wide: |_| None,
        steady: None,
    };
}

impl std::fmt::Debug for Victim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The table of victim policies.
pub const VICTIMS: [Victim; 9] = [
    greedy::POLICY,
    greedy_last::POLICY,
    fifo::POLICY,
    cost_benefit::POLICY,
    random::POLICY,
    d_choices::POLICY,
    rga::POLICY,
    windowed_greedy::POLICY,
    python::POLICY,
];

/// `ftl.gc.victim` and the options of the policies.
pub const SELECTOR: Selector = Selector {
    key: "victim",
    values: || {
        let values =
            VICTIMS.iter().map(|policy| SelectorValue { name: policy.name, options: policy.options });
        values.collect()
    },
    shapes_state: false,
};

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
