//! Arbitration of a free channel: one file per scheduler, one line in the table.

mod fifo;
mod reads_first;
mod ssdsim;

/// The classes of operations that compete for a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The next step of a collection.
    Collect,
    /// The command of a waiting read.
    Read,
    /// The data of a read whose page is in the register.
    DataOut,
    /// A program: command and data.
    Write,
}

/// A scheduling rule.
#[derive(Clone, Copy, Debug)]
pub struct Scheduler {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Its file, whose doc comment is its manual page.
    pub source: &'static str,
    /// The classes in order of precedence.
    pub order: [Class; 4],
    /// Reads, data and writes go by age instead.
    pub by_age: bool,
    /// Whether a channel serves no other operation while GC waits for its chip.
    pub collection_holds_channel: bool,
}

/// The table of schedulers.
pub const SCHEDULERS: [Scheduler; 3] = [reads_first::RULE, fifo::RULE, ssdsim::RULE];

/// What `flash.scheduler` may be.
#[must_use]
pub fn names() -> Vec<&'static str> {
    SCHEDULERS.iter().map(|rule| rule.name).collect()
}

/// The scheduler of that name.
#[must_use]
pub fn named(name: &str) -> Option<Scheduler> {
    SCHEDULERS.into_iter().find(|rule| rule.name == name)
}
