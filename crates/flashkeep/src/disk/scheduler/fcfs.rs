//! # What it does
//! Takes commands in the order of their arrival.
//!
//! # What it costs
//! The arm travels a third of the cylinders for each random command, however many wait.
//!
//! # Source
//! The baseline of every comparison of disk schedulers.

use super::{Candidate, Head, ReadyCommands, Rule};

/// First come, first served.
pub(super) const RULE: Rule =
    Rule { name: "fcfs", summary: "in order of arrival", source: include_str!("fcfs.rs"), pick };

fn pick(ready: &ReadyCommands, head: Head) -> (Candidate, bool) {
    (ready.least(|one| one.sequence).expect("there are candidates"), head.inwards)
}
