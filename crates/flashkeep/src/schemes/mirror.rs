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

use super::todo::Todo;
use super::{Inside, OptionsPart, Rebuilds, Recovers, SchemeEntry, SchemeOptions, TriedWith, members};
use crate::engine::{
    Cause, Change, Command, Hazard, Key, Lock, Member, Page, Plan, PlanVerdict, RepairOutcome, Role, Scheme,
    Spare, Step, StripeUnit, Tell, Verb, View, Why,
};
use crate::kernel::Bits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const ENTRY: SchemeEntry = SchemeEntry {
    name: "mirror",
    summary: "SIRF-1: every page once on each group of channels, chips or dies",
    source: include_str!("mirror.rs"),
    options: &[
        OptionsPart::of::<Inside>(),
        OptionsPart::of::<MirrorOptions>(),
        OptionsPart::of::<Rebuilds>(),
    ],
    members: members::groups,
    survives: |members| members - 1,
    over_drives: members::mirrored,
    copies: true,
    recovers: Recovers::Always,
    follows_load: |redundancy| redundancy.read::<MirrorOptions>().read_policy == ReadPolicy::LeastBusy,
    formula: members::sum_of_members,
    tried_with: &[
        TriedWith { parts: 2, drives: 3, ..TriedWith::BASE },
        TriedWith { parts: 3, drives: 3, set: &["redundancy.width=3"], ..TriedWith::BASE },
    ],
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
    /// Whether no part ever failed, so that every group has every page.
    sound: bool,
    copies: Copies,
}

/// Pages that some group lacks.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Copies {
    /// Pages that at least one group lacks.
    thin: Bits,
    /// Pages of which one group has the last copy.
    single: Bits,
    /// Pages that can be copied to a group.
    todo: Todo,
    /// The number of copies being made.
    copying: u32,
    /// For each group, after a read has found one of its pages unreadable.
    doubts: Vec<Doubt>,
}

/// The pages of such a group that may be unreadable as well, and those of them that have been read since.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Doubt {
    doubtful: Bits,
    checked: Bits,
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
            sound: true,
            copies: Copies::default(),
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
        let doubted = if in_turn { self.copies.check_doubtful(page, view) } else { None };
        let mut candidates = self.having(page, first, view);
        let reader = if let Some(doubted) = doubted {
            doubted
        } else if in_turn && (update || self.policy == ReadPolicy::LeastBusy) {
            candidates.min_by_key(|&member| view.backlog(member, page)).unwrap_or(first)
        } else {
            candidates.next().unwrap_or(first)
        };
        if !self.sound && command.cause == Cause::Host {
            plan.rescued += u16::from(!view.has(first, page) && reader != first && view.holds(reader, page));
        }
        reader
    }

    /// Whether pages are being copied or wait to be copied.
    fn is_copying(&self) -> bool {
        self.copies.copying > 0 || !self.copies.todo.is_empty()
    }
}

impl Copies {
    /// Examines a page: which groups have it, and which can get it.
    fn examine(&mut self, page: u32, groups: u8, view: &View<'_>) {
        let (number, page) = (page, Page(page));
        let members = || (0..groups).map(Member);
        let having = members().filter(|&member| view.has(member, page)).count() as u8;
        let there = members().any(|member| view.has(member, page) && view.holds(member, page));
        let to_do = having > 0 && members().any(|member| lacks(member, page, there, view));
        // A page that all groups have lost lacks copies until it is written again.
        self.thin.set(number, if having == 0 { self.thin.has(number) } else { there && having < groups });
        self.single.set(number, there && having == 1);
        self.todo.set(number, to_do);
    }

    /// A page is written or trimmed on all groups that respond.
    fn write(&mut self, page: u32, writes: bool, groups: u8, alive: u8) {
        self.thin.set(page, writes && alive < groups);
        self.single.set(page, writes && alive == 1);
        self.todo.set(page, false);
        self.doubts.iter_mut().for_each(|doubt| _ = doubt.doubtful.set(page, false));
    }

    /// A group whose copy of the page may be unreadable, and is therefore read now.
    fn check_doubtful(&mut self, page: Page, view: &View<'_>) -> Option<Member> {
        let mut doubts = (0..).map(Member).zip(&mut self.doubts);
        let is_doubtful = |doubt: &Doubt, group| doubt.doubtful.has(page.0) && view.has(group, page);
        let (group, doubt) = doubts.find(|(group, doubt)| is_doubtful(doubt, *group))?;
        doubt.doubtful.set(page.0, false);
        doubt.checked.set(page.0, true);
        Some(group)
    }

    /// A read has found that a group's copy of a page is unreadable: unless its copies are being checked already, they are
    /// doubtful from now on.
    fn doubt(&mut self, group: Member, page: Page, pages: u64, view: &View<'_>) {
        let at = usize::from(group.0);
        self.doubts.resize_with(self.doubts.len().max(at + 1), Doubt::default);
        let doubt = &mut self.doubts[at];
        if doubt.doubtful.set(page.0, false) || doubt.checked.set(page.0, false) {
            return;
        }
        *doubt = Doubt::default();
        for other in (0..pages as u32).map(Page).filter(|&other| other != page) {
            doubt.doubtful.set(other.0, view.has(group, other) && view.holds(group, other));
        }
    }
}

/// Whether a group must get a page that another one has, or trim a page that was trimmed on the other one meanwhile.
fn lacks(member: Member, page: Page, there: bool, view: &View<'_>) -> bool {
    view.alive(member) && !view.has(member, page) && (there || view.holds(member, page))
}

pub(super) fn build(options: &SchemeOptions<'_>) -> Mirror {
    Mirror::new(options)
}

impl Scheme for Mirror {
    fn capacity(&self) -> u64 {
        self.pages
    }

    /// A copy locks one page at a time.
    fn grain(&self) -> u32 {
        if self.is_copying() { 1 } else { u32::MAX }
    }

    /// Which copy is less busy is asked page by page, each page read being part of the answer for the next.
    fn read_grain(&self) -> u32 {
        if self.policy == ReadPolicy::LeastBusy { 1 } else { self.grain() }
    }

    /// Reads go behind a copy too: they must not overtake a write that does.
    fn lock(&self, command: &Command) -> Lock {
        if self.is_copying() { Lock::Pass(Key(u64::from(command.start.0))) } else { Lock::Free }
    }

    #[inline]
    fn places(&self, page: Page, mut tell: impl FnMut(Member, Page)) {
        (0..self.groups).for_each(|group| tell(Member(group), page));
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
            plan.push(Step::new(Member(group), command, 0));
        }
        plan.tell = self.tell;
        if !self.sound {
            let alive = (0..self.groups).filter(|&group| view.alive(Member(group))).count() as u8;
            let writes = command.verb == Verb::Write;
            for page in command.start.0..command.end() {
                self.copies.write(page, writes, self.groups, alive);
            }
        }
        PlanVerdict::Go
    }

    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        if why != Why::Rebuild {
            return false;
        }
        while let Some(number) = self.copies.todo.next(|page| view.held(Key(u64::from(page)))) {
            self.copies.todo.set(number, false);
            let page = Page(number);
            let one = |verb| Command::new(verb, page, 1).because(Cause::Rebuild);
            if self.having(page, Member(0), view).next().is_none() {
                continue; // The page is lost: a group may still have outdated contents, which are not zeros.
            }
            let from = self.having(page, Member(0), view).find(|&member| view.holds(member, page));
            let there = from.is_some();
            let verb = if there { Verb::Write } else { Verb::Trim };
            plan.steps.extend(from.map(|from| Step::new(from, one(Verb::Read), 0)));
            for to in (0..self.groups).map(Member).filter(|&to| lacks(to, page, there, view)) {
                plan.push(Step::new(to, one(verb), 0).stage(1));
            }
            if plan.steps.len() > usize::from(there) {
                plan.hold = Some(Key(u64::from(number)));
                self.copies.copying += 1;
                return true;
            }
            plan.steps.clear();
            // What was being written when the page was examined was a trim.
            self.copies.examine(number, self.groups, view);
        }
        false
    }

    fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
        let wanted = failed[failed.len() - 1];
        let tried = |member: &Member| failed.iter().any(|step| step.member == *member);
        let Some(other) =
            self.having(wanted.command.start, wanted.member, view).find(|member| !tried(member))
        else {
            return RepairOutcome::Lost;
        };
        plan.push(Step::new(other, wanted.command, 0));
        RepairOutcome::Planned
    }

    fn passes_parts(&self) -> bool {
        true
    }

    fn is_carefree(&self) -> bool {
        true
    }

    fn owner(&self, _: Member, page: Page) -> Option<Page> {
        Some(page)
    }

    #[inline]
    fn exposed(&self) -> u64 {
        self.copies.single.count()
    }

    /// A write that is acknowledged by its first copy is still in the controller's memory for the others.
    fn is_exposed(&self, page: Page, hazard: Hazard) -> bool {
        hazard == Hazard::Unit && self.copies.thin.has(page.0)
    }

    fn covers(&self, visit: &mut dyn FnMut(&[StripeUnit])) {
        let mut units = Vec::new();
        for page in (0..self.pages as u32).map(Page).filter(|page| !self.copies.thin.has(page.0)) {
            units.clear();
            units.extend((0..self.groups).map(|group| StripeUnit {
                member: Member(group),
                page,
                role: Role::Plain,
            }));
            visit(&units);
        }
    }

    /// Only plans that make copies hold a page.
    fn settled(&mut self, key: Key, view: &View<'_>) {
        let page = key.0 as u32;
        self.copies.copying -= 1;
        self.copies.examine(page, self.groups, view);
        // The copy is not tried again until a member changes; copies for other groups are.
        if view.fell_short() {
            self.copies.todo.set(page, false);
        }
    }

    fn is_whole(&self) -> bool {
        self.copies.thin.count() == 0
    }

    fn rebuilding(&self) -> bool {
        self.is_copying()
    }

    /// The newest copy is valid; the others are rebuilt from it, unless they are equal.
    fn recover(&mut self, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
        (self.turn, self.sound, self.copies) = (0, false, Copies::default());
        let groups = self.groups;
        for page in (0..self.pages as u32).map(Page) {
            let copies = (0..groups).map(Member).filter_map(|member| view.spare(member, page));
            let newer = |one: Spare, other: Spare| if other.is_newer_than(&one) { other } else { one };
            let Some(newest) = copies.reduce(newer) else { continue };
            let alive = (0..groups).map(Member).filter(|&member| view.alive(member));
            for member in alive {
                if view.spare(member, page).is_none_or(|copy| copy.stamp != newest.stamp) {
                    lacks(member, page);
                }
            }
        }
    }

    fn member(&mut self, member: Member, change: Change, view: &View<'_>) {
        self.sound = false;
        match change {
            Change::Unreadable(page) => self.copies.doubt(member, page, self.pages, view),
            Change::Failed | Change::Replaced | Change::Returned => {
                self.copies
                    .doubts
                    .get_mut(usize::from(member.0))
                    .into_iter()
                    .for_each(|doubt| *doubt = Doubt::default());
            }
            Change::Damaged(_) | Change::Lacking(_) | Change::Refused(_) | Change::Retired(_) => {}
        }
        let pages = change.page().map_or(0..self.pages as u32, |page| page.0..page.0 + 1);
        for page in pages.clone() {
            self.copies.examine(page, self.groups, view);
        }
        if let Change::Refused(page) = change {
            self.copies.todo.set(page.0, false);
        }
    }
}
