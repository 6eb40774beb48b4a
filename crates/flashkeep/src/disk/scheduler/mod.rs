//! Disk scheduling: one file per rule, one line in the table.

mod fcfs;
mod look;
mod sstf;

/// A command that may be begun: nothing older that waits overlaps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its first sector.
    pub sector: u64,
    /// That sector's cylinder.
    pub cylinder: u32,
    /// Its sequence number.
    pub sequence: u64,
}

/// Where the arm is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The sector behind the last one transferred.
    pub sector: u64,
    /// The cylinder that it stands on.
    pub cylinder: u32,
    /// Whether it moves inwards, to higher cylinders.
    pub inwards: bool,
}

/// A rule: chooses one of the candidates, of which there is at least one, and the direction of the arm after it.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Its file, whose doc comment is its manual page.
    pub source: &'static str,
    /// The choice.
    pub pick: fn(&[Candidate], Head) -> (usize, bool),
}

/// The table of rules.
pub const RULES: [Rule; 3] = [fcfs::RULE, sstf::RULE, look::RULE];

/// The values of `disk.scheduler`.
#[must_use]
pub fn names() -> Vec<&'static str> {
    RULES.iter().map(|rule| rule.name).collect()
}

/// The rule of that name.
#[must_use]
pub fn named(name: &str) -> Option<Rule> {
    RULES.into_iter().find(|rule| rule.name == name)
}

/// The candidate with the least key.
fn least<K: Ord>(candidates: &[Candidate], key: impl Fn(&Candidate) -> Option<K>) -> Option<usize> {
    let keyed = candidates.iter().enumerate().filter_map(|(at, one)| Some((key(one)?, at)));
    keyed.min().map(|(_, at)| at)
}
