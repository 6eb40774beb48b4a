//! # What it does
//! Writes every page once into each mirror group. A group is an equal part of the drive's channels, chips or dies
//! with an FTL of its own: copies are placed, moved and collected independently. Each page read goes to one copy:
//! the next in turn (`redundancy.read_policy = "round-robin"`), or the one whose die and channel are free soonest
//! (`"least-busy"`, in turn where they are equal). The old part of a page that is written in part is read once,
//! from the less busy copy, and serves all copies. A write is done when all copies are
//! (`redundancy.acknowledge = "all"`), or when the first is.
//!
//! # What it costs
//! Half of the flash (with two groups), and as many programs a page as there are groups. The copies of a write run
//! side by side; reads find as many dies to be served by.
//!
//! # What it survives
//! Any one of the units it runs over: a mirror over channels survives a channel, one over the dies of a chip does
//! not survive that chip.
//!
//! # Example
//! `flashkeep compare synth:sirf-build 1CNM-64 2CM-128`
//!
//! # Source
//! MacFadden, Shelby and Xie, "SIRF-1: Enhancing reliability of single flash SSD through internal mirroring for
//! mission-critical mobile applications", sections I and III. The paper reads in turn (III.C, table II) and says
//! "less busy" of the update read (III.B) and of all reads (I): both are here. It does not say when a write is done:
//! all copies is RAID-1's rule.

use super::{Entry, Options};
use crate::engine::{Cause, Command, Member, Outcome, Page, Plan, Scheme, Step, Tell, Verb, Verdict, View};
use crate::spec::{MirrorAcknowledge, ReadPolicy};

pub(super) const ENTRY: Entry = Entry {
    name: "mirror",
    summary: "SIRF-1: every page once in each group of channels, chips or dies",
    source: include_str!("mirror.rs"),
    keys: &["across", "width", "read_policy", "acknowledge"],
    members: groups,
    data_members: |_| 1,
};

/// Every group takes the same number of parts.
fn groups(parts: u64, width: Option<u32>, level: &str) -> Result<u32, String> {
    let width = width.unwrap_or(2);
    if parts.is_multiple_of(u64::from(width)) {
        return Ok(width);
    }
    let mirror = match width {
        2 => format!("a mirror over an odd number of {level}s ({parts})"),
        _ => format!("a mirror of {width} copies over {parts} {level}s"),
    };
    Err(format!("{mirror}: every copy takes the same number of {level}s, so {width} must divide {parts}"))
}

/// A mirror of two or more groups.
#[derive(Clone, Debug)]
pub struct Mirror {
    pages: u64,
    groups: u8,
    policy: ReadPolicy,
    tell: Tell,
    /// The group that the next page is read from.
    turn: u8,
}

impl Mirror {
    /// A mirror over the members that there are.
    #[must_use]
    pub fn new(options: &Options<'_>) -> Self {
        let tell = match options.redundancy.acknowledge {
            MirrorAcknowledge::All => Tell::All,
            MirrorAcknowledge::First => Tell::First,
        };
        Mirror {
            pages: options.member_pages,
            groups: options.members,
            policy: options.redundancy.read_policy,
            tell,
            turn: 0,
        }
    }

    /// The groups that have a page, from the one whose turn it is on.
    fn having(&self, page: Page, first: Member, view: &View<'_>) -> impl Iterator<Item = Member> {
        let groups = self.groups;
        (0..groups).map(move |n| Member((first.0 + n) % groups)).filter(move |&member| view.has(member, page))
    }

    /// The group that a page is read from; only host reads take turns.
    fn reader(&mut self, command: &Command, page: Page, view: &View<'_>) -> Member {
        let first = Member(self.turn);
        let update = command.cause == Cause::Update;
        if !update {
            self.turn = if self.turn + 1 == self.groups { 0 } else { self.turn + 1 };
        }
        let mut candidates = self.having(page, first, view);
        if update || self.policy == ReadPolicy::LeastBusy {
            return candidates.min_by_key(|&member| view.backlog(member, page)).unwrap_or(first);
        }
        candidates.next().unwrap_or(first)
    }
}

impl Scheme for Mirror {
    fn capacity(&self) -> u64 {
        self.pages
    }

    /// Which copy is less busy is asked page by page, each page read being part of the answer for the next.
    fn read_grain(&self) -> u32 {
        if self.policy == ReadPolicy::LeastBusy { 1 } else { u32::MAX }
    }

    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> Verdict {
        if command.verb == Verb::Read {
            for n in 0..command.count {
                let page = command.start.plus(u32::from(n));
                let member = self.reader(command, page, view);
                plan.push(Step::new(member, command.over(page, 1), n));
            }
            return Verdict::Go;
        }
        for group in 0..self.groups {
            let copy = group > 0 && command.cause == Cause::Host;
            let command = if copy { command.because(Cause::Mirror) } else { *command };
            plan.push(Step::new(Member(group), command, 0));
        }
        plan.tell = self.tell;
        Verdict::Go
    }

    fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> Outcome {
        let wanted = failed[failed.len() - 1];
        let tried = |member: &Member| failed.iter().any(|step| step.member == *member);
        let Some(other) =
            self.having(wanted.command.start, wanted.member, view).find(|member| !tried(member))
        else {
            return Outcome::Lost;
        };
        plan.push(Step::new(other, wanted.command, 0));
        Outcome::Planned
    }

    fn owner(&self, _: Member, page: Page) -> Option<Page> {
        Some(page)
    }
}
