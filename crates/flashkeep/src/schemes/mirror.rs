//! # What it does
//! Writes every page once to each mirror group. A group is an equal part of the drive's channels, chips or
//! dies with its own FTL: copies are placed, moved and collected independently.
//!
//! Each page read goes to one copy: the next in turn (`redundancy.read_policy = "round-robin"`), the one
//! whose die and channel are free soonest (`"least-busy"`, ties in turn), or always the first that has the
//! page (`"first"`: with a drive and a disk that mirrors it, the drive). For a partial-page write the old
//! part is read once, from the less busy copy (with `"first"` from the first one), and serves all copies. A
//! write is done when all copies are (`redundancy.acknowledge = "all"`), or when the first is.
//!
//! A group that was replaced or came back is rebuilt page by page from another copy, at the pace of
//! `redundancy.rebuild_share`. After a read has found a page of a group unreadable, each other page is read from that
//! group the next time (not with `"first"`), so that what else the group lost is found.
//!
//! # What it costs
//! Half of the flash (with two groups), and one program per page and group. The copies of a write are
//! programmed in parallel; reads have as many more dies to go to.
//!
//! # What it survives
//! Any one of the units it runs over: a mirror over channels survives a channel, one over the dies of a chip
//! does not survive that chip.
//!
//! # Example
//! `flashkeep compare synth:sirf-build 1CNM-64 2CM-128`
//!
//! # Source
//! MacFadden, Shelby and Xie, "SIRF-1: Enhancing reliability of single flash SSD through internal mirroring
//! for mission-critical mobile applications", sections I and III. The paper alternates reads (III.C, table
//! II) and says "less busy" of the update read (III.B) and of all reads (I); both are implemented. It does
//! not say when a write is done; waiting for all copies is RAID-1's rule.

use super::copied::CopiedPages;
use super::doubts::Doubts;
use super::{
    Inside, OptionsPart, PageNumbers, Reads, Rebuilds, SchemeEntry, SchemeOptions, TriedWith, members,
};
use crate::engine::{
    BackgroundWork, Capabilities, Cause, Change, Command, Member, MemberRow, Page, Plan, PlanVerdict,
    Protection, Recoverable, Scheme, Step, Tell, Verb, View,
};
use crate::kernel::Bits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

pub(super) const ENTRY: SchemeEntry = SchemeEntry {
    name: "mirror",
    summary: "SIRF-1: every page once on each group of channels, chips or dies",
    source: include_str!("mirror.rs"),
    options: &[
        OptionsPart::of::<Inside>(),
        OptionsPart::of::<MirrorOptions>(),
        OptionsPart::of::<Rebuilds>(),
        OptionsPart::of::<Reads>(),
    ],
    members: members::groups,
    survives: |members| members - 1,
    over_drives: members::mirrored,
    numbers: PageNumbers::Wide,
    copies: true,
    follows_load: |redundancy| redundancy.read::<MirrorOptions>().read_policy == ReadPolicy::LeastBusy,
    formula: members::sum_of_members,
    tried_with: &[
        TriedWith { parts: 2, drives: 3, ..TriedWith::BASE },
        TriedWith { parts: 3, drives: 3, set: &["redundancy.width=3"], ..TriedWith::BASE },
    ],
    in_rows: true,
    ..SchemeEntry::BASE
};

/// Options of mirrors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct MirrorOptions {
    /// Which copy a mirror reads: `round-robin`, `least-busy`, or that of the `first` member which has the page.
    pub(super) read_policy: ReadPolicy,
    /// A mirror acknowledges a write when `all` copies are acknowledged, or the `first`.
    pub(super) acknowledge: MirrorAcknowledge,
}

impl Default for MirrorOptions {
    fn default() -> Self {
        MirrorOptions { read_policy: ReadPolicy::RoundRobin, acknowledge: MirrorAcknowledge::All }
    }
}

/// Which copy a mirror reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadPolicy {
    /// Each page read goes to the next copy in turn.
    RoundRobin,
    /// The copy whose chip and channel are free soonest; in turn where they are equal.
    LeastBusy,
    /// The copy of the first member that has the page: with a drive and a disk, the drive.
    First,
}

/// When a mirror acknowledges a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MirrorAcknowledge {
    /// When every copy is acknowledged.
    All,
    /// When the first copy is.
    First,
}

/// A mirror of two or more groups.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Mirror {
    pages: u64,
    groups: u8,
    policy: ReadPolicy,
    tell: Tell,
    /// The group from which the next page is read.
    turn: u8,
    /// Copies that may be unreadable.
    doubts: Doubts,
    copied: CopiedPages,
}

impl Mirror {
    /// A mirror over the given members.
    #[must_use]
    pub fn new(options: &SchemeOptions<'_>) -> Self {
        let own: MirrorOptions = options.redundancy.read();
        let tell = match own.acknowledge {
            MirrorAcknowledge::All => Tell::All,
            MirrorAcknowledge::First => Tell::First,
        };
        Mirror {
            pages: options.member_pages,
            groups: options.members,
            policy: own.read_policy,
            tell,
            turn: 0,
            doubts: Doubts::default(),
            copied: CopiedPages::default(),
        }
    }

    /// The groups that have a page, beginning with the one whose turn it is.
    fn having(&self, page: Page, first: Member, view: &View<'_>) -> impl Iterator<Item = Member> {
        let groups = self.groups;
        (0..groups).map(move |n| Member((first.0 + n) % groups)).filter(move |&member| view.has(member, page))
    }

    /// The group from which a page is read; only host reads take turns.
    fn reader(&mut self, command: &Command, page: Page, view: &View<'_>, plan: &mut Plan) -> Member {
        let in_turn = self.policy != ReadPolicy::First;
        let first = if in_turn { Member(self.turn) } else { Member(0) };
        let update = command.cause == Cause::Update;
        if !update && in_turn {
            self.turn = if self.turn + 1 == self.groups { 0 } else { self.turn + 1 };
        }
        let doubted = if in_turn { self.doubts.check(page, |_| Some(page), view) } else { None };
        let mut candidates = self.having(page, first, view);
        let reader = if let Some(doubted) = doubted {
            doubted
        } else if in_turn && (update || self.policy == ReadPolicy::LeastBusy) {
            candidates.min_by_key(|&member| view.backlog(member, page)).unwrap_or(first)
        } else {
            candidates.next().unwrap_or(first)
        };
        if reader != first && command.cause == Cause::Host {
            plan.rescued += u16::from(!view.has(first, page) && view.holds(reader, page));
        }
        reader
    }
}

/// A step of a write as a mirror with the planted defect has it; none if it forgets the copy.
#[cfg(debug_assertions)]
fn with_planted_defect(step: Step) -> Option<Step> {
    use crate::kernel::{Planted, is_planted};
    let forgets = is_planted(Planted::SingleCopy) && step.member.0 > 0 && step.command.start.0 % 4 == 2;
    (!forgets).then_some(step)
}

pub(super) fn build(options: &SchemeOptions<'_>) -> Mirror {
    Mirror::new(options)
}

impl Scheme for Mirror {
    fn capacity(&self) -> u64 {
        self.pages
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { passes_parts: true, stateless: true, ..Capabilities::default() }
    }

    fn protection(&self) -> Protection<'_> {
        Protection::Copies
    }

    /// Which copy is less busy is asked page by page, each page read being part of the answer for the next.
    fn grain(&self, verb: Verb) -> u32 {
        if verb == Verb::Read && self.policy == ReadPolicy::LeastBusy { 1 } else { u32::MAX }
    }

    #[inline]
    fn places(&self, page: Page, mut tell: impl FnMut(Member, Page)) {
        (0..self.groups).for_each(|group| tell(Member(group), page));
    }

    #[inline]
    fn prefetch(&self, page: Page, ask: impl FnMut(Member, Page)) {
        self.copied.prefetch(page.0);
        self.places(page, ask);
    }

    fn row(&self) -> Option<MemberRow> {
        Some(MemberRow { pages: 1, each: 1, reads: false })
    }

    fn note_rows(&mut self, rows: Range<u64>) {
        self.copied.create(rows);
    }

    fn ever_used(&self) -> Option<&Bits> {
        Some(self.copied.ever_used())
    }

    fn used(&self) -> Option<&Bits> {
        self.copied.used()
    }

    fn period(&self, _: Range<u64>) -> Option<u32> {
        Some(1)
    }

    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        if command.verb == Verb::Read {
            for n in 0..command.count {
                let page = command.start.plus(u32::from(n));
                let member = self.reader(command, page, view, plan);
                plan.push(Step::new(member, command.over(page, 1), n));
            }
            return PlanVerdict::Go;
        }
        for group in 0..self.groups {
            let copy = group > 0 && command.cause == Cause::Host;
            let command = if copy { command.because(Cause::Mirror) } else { *command };
            let step = Step::new(Member(group), command, 0);
            #[cfg(debug_assertions)]
            let Some(step) = with_planted_defect(step) else { continue };
            plan.push(step);
        }
        plan.tell = self.tell;
        self.copied.note(command);
        self.doubts.write(command.start.0..command.end());
        PlanVerdict::Go
    }

    fn owner(&self, _: Member, page: Page) -> Option<Page> {
        Some(page)
    }

    fn member(&mut self, member: Member, change: Change, view: &View<'_>) {
        match change {
            Change::Unreadable(page) => {
                let copies = (0..self.pages).map(|page| (Page(page), Page(page)));
                self.doubts.doubt(member, page, copies, view);
            }
            Change::Failed | Change::Replaced | Change::Returned => self.doubts.forget(member),
            Change::Damaged(_) | Change::Lacking(_) | Change::Refused(_) | Change::Retired(_) => {}
        }
    }
}

impl BackgroundWork for Mirror {}

impl Recoverable for Mirror {
    /// Its own state is in volatile memory.
    fn recover(&mut self, _: &View<'_>, _: &mut dyn FnMut(Member, Page)) {
        (self.turn, self.doubts) = (0, Doubts::default());
        self.copied.cut_power();
    }
}
