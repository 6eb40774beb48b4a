//! Disk scheduling: one file per rule, one line in the table.

mod fcfs;
mod look;
mod sstf;

use std::collections::BTreeMap;

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

/// The commands that may be begun, in the order of their sectors; those of the same sector by age.
#[derive(Clone, Debug, Default)]
pub struct ReadyCommands {
    cylinders: BTreeMap<(u64, u64), u32>,
}

impl ReadyCommands {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cylinders.is_empty()
    }

    /// Another command may be begun.
    pub fn insert(&mut self, one: Candidate) {
        self.cylinders.insert((one.sector, one.sequence), one.cylinder);
    }

    /// A command has been begun; whether it was a candidate.
    pub fn remove(&mut self, one: Candidate) -> bool {
        self.cylinders.remove(&(one.sector, one.sequence)).is_some()
    }

    /// The candidate with the least key.
    fn least<K: Ord>(&self, key: impl Fn(&Candidate) -> K) -> Option<Candidate> {
        self.cylinders.iter().map(candidate).min_by_key(key)
    }

    /// The oldest of those on the first sector from this one on.
    fn from(&self, sector: u64) -> Option<Candidate> {
        self.cylinders.range((sector, 0)..).next().map(candidate)
    }

    /// The oldest of those on the last sector before this one.
    fn before(&self, sector: u64) -> Option<Candidate> {
        let (&(last, _), _) = self.cylinders.range(..(sector, 0)).next_back()?;
        self.from(last)
    }
}

fn candidate((&(sector, sequence), &cylinder): (&(u64, u64), &u32)) -> Candidate {
    Candidate { sector, cylinder, sequence }
}

/// Where the arm is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The sector after the last one transferred.
    pub sector: u64,
    /// The cylinder that it is on.
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
    pub pick: fn(&ReadyCommands, Head) -> (Candidate, bool),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_found_by_sector_and_age() {
        let mut candidates = ReadyCommands::default();
        for (sector, sequence) in [(80, 1), (8, 4), (8, 2), (40, 3)] {
            candidates.insert(Candidate { sector, cylinder: sector as u32 / 8, sequence });
        }
        let found = |one: Option<Candidate>| one.map(|one| (one.sector, one.sequence));
        assert_eq!(
            [8, 9, 81].map(|sector| found(candidates.from(sector))),
            [Some((8, 2)), Some((40, 3)), None]
        );
        assert_eq!(
            [8, 40, 41].map(|sector| found(candidates.before(sector))),
            [None, Some((8, 2)), Some((40, 3))]
        );
        let head = Head { sector: 41, cylinder: 7, inwards: false };
        let choices = RULES.map(|rule| found(Some((rule.pick)(&candidates, head).0)));
        assert_eq!(choices, [Some((80, 1)), Some((40, 3)), Some((40, 3))], "fcfs, sstf, look");
        let oldest = Candidate { sector: 8, cylinder: 1, sequence: 2 };
        assert!(candidates.remove(oldest) && !candidates.remove(oldest));
        assert_eq!(found(candidates.from(0)), Some((8, 4)));
    }
}
