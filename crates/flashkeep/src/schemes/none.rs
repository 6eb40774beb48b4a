//! # What it does
//! Nothing: each page is written once, wherever `ftl.allocation` puts it.
//!
//! # What it costs
//! Nothing.
//!
//! # What it survives
//! No failure of any unit.
//!
//! # Example
//! `flashkeep run 1CNM-64 synth:sirf-fin2 --set redundancy.scheme=none`
//!
//! # Source
//! The baseline; over chips with a static allocation it is RAID-0.

use super::{Entry, Options};
use crate::engine::{Command, Member, Page, Plan, Scheme, Step, Verdict, View};

pub(super) const ENTRY: Entry = Entry {
    name: "none",
    summary: "no redundancy: every page once, placed by ftl.allocation",
    source: include_str!("none.rs"),
    keys: &[],
    members: |_, _, _| Ok(1),
    data_members: |members| members,
};

/// No redundancy.
#[derive(Clone, Debug)]
pub struct Plain {
    pages: u64,
}

impl Plain {
    /// No redundancy over one member.
    #[must_use]
    pub fn new(options: &Options<'_>) -> Self {
        Plain { pages: options.member_pages }
    }
}

impl Scheme for Plain {
    fn capacity(&self) -> u64 {
        self.pages
    }

    #[inline]
    fn plan(&mut self, command: &Command, _: &View<'_>, plan: &mut Plan) -> Verdict {
        plan.push(Step::new(Member(0), *command, 0));
        Verdict::Go
    }

    fn owner(&self, _: Member, page: Page) -> Option<Page> {
        Some(page)
    }
}
