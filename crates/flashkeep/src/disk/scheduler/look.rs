//! # What it does
//! The arm sweeps: it takes the next command in its direction, by sector, and turns round if there is none.
//! Commands for the same sector go by age.
//!
//! # What it costs
//! A command just behind the arm waits for the sweep there and back; no command waits for more than two
//! sweeps.
//!
//! # Source
//! The elevator with a look ahead: Merten, "Some quantitative techniques for file organization", 1970, as
//! compared by Worthington, Ganger and Patt, "Scheduling algorithms for modern disk drives", SIGMETRICS 1994.

use super::{Candidate, Head, ReadyCommands, Rule};

/// Back and forth.
pub(super) const RULE: Rule = Rule {
    name: "look",
    summary: "the next one in the arm's direction, then back",
    source: include_str!("look.rs"),
    pick,
};

fn pick(ready: &ReadyCommands, head: Head) -> (Candidate, bool) {
    let up = || ready.from(head.sector).map(|one| (one, true));
    let down = || ready.before(head.sector).map(|one| (one, false));
    let next = if head.inwards { up().or_else(down) } else { down().or_else(up) };
    next.expect("every candidate is on one side or the other")
}
