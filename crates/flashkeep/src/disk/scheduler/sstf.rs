//! # What it does
//! Takes the command on the nearest cylinder; of equal ones the one that continues where the last one ended,
//! then the oldest.
//!
//! # What it costs
//! A command far from the others may wait as long as nearer ones keep arriving.
//!
//! # Source
//! Shortest seek time first: Denning, "Effects of scheduling on file memory operations", AFIPS 1967.

use super::{Candidate, Head, ReadyCommands, Rule};

/// Shortest seek time first.
pub(super) const RULE: Rule = Rule {
    name: "sstf",
    summary: "the nearest cylinder first; distant commands may wait long",
    source: include_str!("sstf.rs"),
    pick,
};

fn pick(ready: &ReadyCommands, head: Head) -> (Candidate, bool) {
    let key =
        |one: &Candidate| (one.cylinder.abs_diff(head.cylinder), one.sector != head.sector, one.sequence);
    (ready.least(key).expect("there are candidates"), head.inwards)
}
