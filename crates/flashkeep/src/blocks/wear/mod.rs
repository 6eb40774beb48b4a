//! Wear leveling: accepts or rejects the proposed victim according to its wear. One file per policy, one line
//! in the table.

mod both;
mod migration;
mod none;
mod rate_limit;

use crate::options::{Options, OptionsPart, Selector, SelectorValue, WrongOption};
use migration::MigrationOptions;
use rate_limit::RateLimitOptions;

/// The view for a policy: the unit to be reclaimed, and those that compete with it.
pub struct Wear<'a> {
    /// Its remaining life.
    pub remaining: Remaining,
    /// A random number for this decision.
    pub draw: u64,
    /// The coldest block: the one closed longest ago, of those that hold data and have more than a share of the average
    /// life left. Searched on demand.
    pub coldest: &'a dyn Fn(Share) -> Option<u32>,
    /// What the user can choose.
    pub limits: Limits,
}

/// A fraction: the remaining erases of a unit, divided by the mean of all units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remaining {
    /// Its numerator.
    pub left: u128,
    /// Its denominator.
    pub of: u128,
}

/// A share in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(u32);

impl Share {
    /// The nearest to a number.
    #[must_use]
    pub fn of(number: f64) -> Share {
        Share((number * 1e3).round() as u32)
    }

    /// Whether the remaining life is less than this share of the average.
    #[must_use]
    pub fn exceeds(self, remaining: Remaining) -> bool {
        remaining.left * 1000 < u128::from(self.0) * remaining.of
    }
}

/// Numbers that a drive file chooses, of the average remaining life.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// `ftl.wear.rate_limit_below`: X.
    pub rate_limit_below: Share,
    /// `ftl.wear.rate_limit_window`: W.
    pub rate_limit_window: Share,
    /// `ftl.wear.migrate_below`: Y.
    pub migrate_below: Share,
}

impl Limits {
    /// The limits of these options.
    #[must_use]
    pub fn new(options: &Options) -> Limits {
        let RateLimitOptions { rate_limit_below, rate_limit_window } = options.read();
        let MigrationOptions { migrate_below } = options.read();
        Limits {
            rate_limit_below: Share::of(rate_limit_below),
            rate_limit_window: Share::of(rate_limit_window),
            migrate_below: Share::of(migrate_below),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits::new(&Options::default())
    }
}

/// The decision about a block that will be reclaimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WearVerdict {
    /// The block is reclaimed.
    Take,
    /// Another block is reclaimed, if there is one.
    Pass,
    /// The block is reclaimed, and the data of this other block are moved into it.
    Migrate(u32),
}

/// A policy of wear levelling.
#[derive(Clone, Copy)]
pub struct Levelling {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Its file, whose doc comment is its manual page.
    pub source: &'static str,
    /// Its options in `[ftl.wear]`.
    pub options: &'static [OptionsPart],
    /// Checks its options against each other.
    pub check: fn(&Options) -> Result<(), WrongOption>,
    /// Whether it ever migrates.
    pub migrates: bool,
    /// The decision about a block.
    pub judge: fn(&Wear<'_>) -> WearVerdict,
}

impl Levelling {
    /// The defaults.
    const BASE: Levelling = Levelling {
        name: "",
        summary: "",
        source: "",
        options: &[],
        check: |_| Ok(()),
        migrates: false,
        judge: |_| WearVerdict::Take,
    };
}

impl std::fmt::Debug for Levelling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The table of policies.
pub const LEVELLINGS: [Levelling; 4] = [none::POLICY, rate_limit::POLICY, migration::POLICY, both::POLICY];

/// `ftl.wear.levelling` and the options of the policies.
pub const SELECTOR: Selector = Selector {
    key: "levelling",
    values: || {
        let values =
            LEVELLINGS.iter().map(|policy| SelectorValue { name: policy.name, options: policy.options });
        values.collect()
    },
    shapes_state: true,
};

/// What `ftl.wear.levelling` may be.
#[must_use]
pub fn names() -> Vec<&'static str> {
    LEVELLINGS.iter().map(|policy| policy.name).collect()
}

/// The policy of that name.
#[must_use]
pub fn named(name: &str) -> Option<Levelling> {
    LEVELLINGS.into_iter().find(|policy| policy.name == name)
}

impl Levelling {
    /// Whether the policy accepts every block.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.name == none::POLICY.name
    }
}

#[cfg(test)]
mod tests;
