//! The engine of log-structured schemes: stripes of one page per member, filled in the order in which data arrive.
//!
//! Members have physical pages: the scheme decides where each page lies, and erases. *Superpage* r is page r of every
//! member, a *superblock* the superpages that are erased as one. Data fill the open superpage, member by member; a
//! *stripe* consists of some of them and their parity, which the controller computes from its running sum without
//! reads. An overwritten page leaves an obsolete copy, which stays part of its stripe until its superblock is cleaned:
//! GC copies the superblock's current pages into new stripes and erases it.
//!
//! | file | part |
//! |---|---|
//! | `places` | which page lies where, and which stripe each place belongs to |
//! | `superblocks` | how much each superblock holds, how often it has been erased, which ones are free |
//! | `frontier` | a superblock that is being filled: slots, stripes, superpages |
//! | `streams` | several open superblocks, one for each class of pages |
//! | `retire` | superblocks that have had their last erase, and the end |
//! | `write` | what the host asks, and stripes that are closed early |
//! | `clean`, `victims` | cleaning, piece by piece; which superblock, and what that gains |
//! | `refresh` | superblocks whose data are moved before they can no longer be corrected |
//! | `health` | units that stripes lack, and what that exposes |
//! | `repair` | a page that cannot be read, had from the rest of its stripe |
//! | `rebuild` | members that fail and are replaced, stripes made whole in place or elsewhere |
//! | `recover` | the state after a power cut |
//! | `medium` | what the log lies on: physical pages, or devices |
//! | `journal`, `guard` | over devices: what says where pages are, and when a superblock may be erased |
//! | `wear` | how wide a stripe may be, by wear |
//! | `age` | superblocks that are filled before time 0 |
//!
//! # Room
//! The host never gets the last empty superblock, because GC needs it. A write that finds no slot waits while GC cleans
//! the superblock with the fewest current pages, which must gain at least one slot. With G superblocks of R superpages
//! and d data slots in a superpage, of which the host may fill M·d (M pages a member), all of them then are in G − 1
//! closed superblocks, and the least of those has a slot to spare as long as M·d < (G − 1)·R·d: [`least_superblocks`].

use super::{RedundancySpec, SchemeOptions, Sums};
use crate::blocks::{Chooser, GcThresholds};
use crate::engine::{
    BackgroundWork, Capabilities, Cause, Change, Command, Flags, Key, Lock, Member, MemberRow, Page, Plan,
    PlanVerdict, Protection, RepairOutcome, Scheme, Step, Triggers, Verb, View, Why,
};
use crate::kernel::Span;
pub use age::AgedSuperblock;
use age::LogAgeing;
use clean::{Cleaning, Migration, Piece};
use frontier::{NONE, WriteFrontier};
use guard::Guard;
use health::LogHealth;
use journal::Journal;
use medium::Medium;
pub(super) use medium::over_drives;
use places::{LogPlace, Places};
use rebuild::StripeRebuild;
use retire::RefusedPages;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use streams::LogStreams;
use superblocks::Superblocks;
use wear::MemberWear;
pub(super) use wear::{Reliability, Widths};

mod age;
mod clean;
mod frontier;
mod guard;
mod health;
mod journal;
mod medium;
mod places;
mod rebuild;
mod recover;
mod refresh;
mod repair;
mod retire;
mod streams;
mod superblocks;
#[cfg(test)]
mod tests;
mod victims;
mod wear;
mod write;

/// The differences between log-structured schemes.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Policy {
    /// The time after which a stripe that waits for data is closed early.
    pub(super) timeout: Option<Span>,
    /// The width of stripes.
    pub(super) widths: Widths,
}

impl Policy {
    /// Data slots of a superpage over this many members, at the narrowest.
    fn data_slots(&self, members: u8) -> u32 {
        data_in_superpage(members.into(), self.widths.narrowest().into())
    }

    /// Data slots of a superpage over this many members of which nothing has been erased.
    fn data_when_new(&self, members: u8) -> u32 {
        data_in_superpage(members.into(), self.widths.after(0).into())
    }
}

/// The locks of plans, through which the scheme learns when they are durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogHold {
    /// The stripe that is open, while its parity waits for the controller.
    Open,
    /// A piece of a cleaning.
    Piece,
    /// The erase of a superblock.
    Erase(u32),
    /// A piece of a superblock that is made whole in place.
    StripeRebuild(u32),
    /// Commands under way, of one of two kinds.
    Order(u32),
    /// Pages of the journal that are read after a power loss.
    Journal,
}

impl LogHold {
    fn key(self) -> Key {
        let (kind, superblock) = match self {
            LogHold::Open => (0, 0),
            LogHold::Piece => (1, 0),
            LogHold::Erase(superblock) => (2, superblock),
            LogHold::StripeRebuild(superblock) => (3, superblock),
            LogHold::Order(turn) => (4, turn),
            LogHold::Journal => (5, 0),
        };
        Key(kind << 32 | u64::from(superblock))
    }

    fn of(key: Key) -> Self {
        let superblock = key.0 as u32;
        match key.0 >> 32 {
            0 => LogHold::Open,
            1 => LogHold::Piece,
            2 => LogHold::Erase(superblock),
            3 => LogHold::StripeRebuild(superblock),
            4 => LogHold::Order(superblock),
            _ => LogHold::Journal,
        }
    }
}

/// A log of stripes over members with physical pages.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct StripeLog {
    pages: u64,
    members: u8,
    medium: Medium,
    policy: Policy,
    /// How few free superblocks make it clean.
    thresholds: GcThresholds,
    /// Which superblock is cleaned.
    chooser: Chooser,
    /// Whether parity computation takes time, so that parities are submitted later than their data.
    adds_slowly: bool,
    stripes: LogStripes,
    /// While superblocks are aged by construction: those that will be filled.
    #[serde(skip)]
    ageing: Option<LogAgeing>,
    cleaning: Option<Cleaning>,
    migration: Option<Migration>,
    /// Closed superblocks whose data must be moved, because they are old or were read often.
    #[serde(skip)]
    due: VecDeque<u32>,
    /// The piece of a cleaning that is under way, and whether one is.
    #[serde(skip)]
    piece: Piece,
    moving: bool,
    /// Erases under way.
    erasing: usize,
    /// How often each member had erased the superblocks of these erases before.
    #[serde(skip)]
    erases_before: BTreeMap<u32, Vec<u32>>,
    /// Superblocks have been retired, and the host has been given all that is left (`retire`).
    gives_all: bool,
    refused: RefusedPages,
    /// Whether a possible reason for GC has not been examined yet.
    wants_room: bool,
    /// The last command happened before time 0, and so does what follows from it.
    before: bool,
    health: LogHealth,
    journal: Journal,
    guard: Guard,
    worn: MemberWear,
    /// Places written in the background and not examined since.
    unchecked: Vec<LogPlace>,
    #[serde(skip)]
    stripe_rebuilds: Vec<StripeRebuild>,
    /// The power has been cut.
    restarted: bool,
}

/// The places of pages and the state of superblocks, and where the next page goes.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct LogStripes {
    places: Places,
    superblocks: Superblocks,
    /// The superblock that the host fills, those of other streams, and those that it will fill later.
    frontier: WriteFrontier,
    streams: LogStreams,
    rests: VecDeque<WriteFrontier>,
    /// Cleanings begun for a write that waits, since the last one that found a slot.
    #[serde(skip)]
    vain_cleanings: u32,
}

impl LogStripes {
    /// The page of a member that a place is.
    fn address(&self, place: LogPlace) -> (Member, Page) {
        (Member(self.places.member(place)), Page::of(self.places.superpage(place)))
    }

    /// Whether it is part of an open stripe of the host, which no parity on flash covers yet.
    #[inline]
    fn is_pending(&self, place: LogPlace) -> bool {
        let (superpage, stripe) = (self.places.superpage(place), self.places.stripe(place));
        self.frontiers().any(|frontier| frontier.is_open(superpage, stripe))
    }

    /// The superblock that is being filled with the open stripe that a place is part of, if it is.
    #[inline]
    fn pending_frontier(&mut self, place: LogPlace) -> Option<&mut WriteFrontier> {
        let (superpage, stripe) = (self.places.superpage(place), self.places.stripe(place));
        self.frontiers_mut().find(|frontier| frontier.is_open(superpage, stripe))
    }

    /// The places of a superblock, as places are numbered.
    fn places_of(&self, superblock: u32) -> std::ops::Range<u32> {
        let superpages = self.superblocks.superpages(superblock);
        self.places.at(superpages.start, 0).0..self.places.at(superpages.end, 0).0
    }

    #[inline]
    fn superblock_of(&self, place: LogPlace) -> u32 {
        self.superblocks.of_superpage(self.places.superpage(place))
    }
}

impl StripeLog {
    pub(super) fn new(options: &SchemeOptions<'_>, policy: Policy) -> Self {
        let members = options.members;
        let superpage = data_in_superpage(u32::from(members), u32::from(policy.widths.narrowest()));
        let medium = Medium::of(options);
        let pages = medium.offered * u64::from(superpage);
        let superpages = medium.pages * medium.superblocks;
        let section = medium::section_superpages(options.page_bytes.max(1), members.into());
        let mut chooser = Chooser::new(options.policies.clone());
        chooser.seed(options.seed);
        // Devices retire blocks themselves.
        let budget = options.policies.erase_budget.filter(|_| medium.oob);
        StripeLog {
            pages,
            members,
            medium,
            policy,
            thresholds: GcThresholds::new(options.clean_below.max(1) + 1, options.soft_below + 1),
            chooser,
            adds_slowly: options.redundancy.read::<Sums>().xor_us > 0.0,
            stripes: LogStripes {
                places: Places::new(members, superpages, pages + 1),
                superblocks: Superblocks::new(medium.superblocks, medium.pages, medium.journal_pages, budget),
                frontier: WriteFrontier::none(),
                streams: LogStreams::new(options.streams, options.separate, pages as u32 + 1),
                rests: VecDeque::new(),
                vain_cleanings: 0,
            },
            ageing: None,
            cleaning: None,
            migration: None,
            due: VecDeque::new(),
            piece: Piece::default(),
            moving: false,
            erasing: 0,
            erases_before: BTreeMap::new(),
            gives_all: false,
            refused: RefusedPages::default(),
            wants_room: false,
            before: false,
            health: LogHealth::new(members),
            journal: Journal::new(section),
            guard: Guard::default(),
            worn: MemberWear::new(if medium.oob { 0 } else { members }),
            unchecked: Vec::new(),
            stripe_rebuilds: Vec::new(),
            restarted: false,
        }
    }

    /// A loaded state takes over the policies of the drive that loads it.
    pub(super) fn adopt_policies(&mut self, built: &StripeLog) {
        self.thresholds = built.thresholds;
        self.stripes.superblocks.set_budget_of(&built.stripes.superblocks);
        let turn = self.chooser.turn();
        self.chooser = built.chooser.clone();
        self.chooser.set_turn(turn);
    }

    // ---------------------------------------------------------------- pages and their places

    /// Unmaps the page.
    #[inline]
    fn release(&mut self, page: u32) {
        let Some(place) = self.stripes.places.find(page) else { return };
        self.count_less(place);
        self.stripes.places.unmap(page, place);
    }

    /// Maps the page, which had no place.
    #[inline]
    fn take(&mut self, page: u32, place: LogPlace) {
        self.stripes.places.map(page, place);
        self.count_more(place);
    }

    /// Maps the page to another place.
    #[inline]
    fn remap(&mut self, page: u32, from: LogPlace, to: LogPlace) {
        self.count_less(from);
        self.stripes.places.remap(page, from, to);
        self.count_more(to);
    }

    /// A place is about to be current no more.
    #[inline]
    fn count_less(&mut self, place: LogPlace) {
        let superblock = self.stripes.superblock_of(place);
        self.stripes.superblocks.less(superblock);
        if let Some(frontier) = self.stripes.pending_frontier(place) {
            frontier.current -= 1;
        } else if self.health.troubled && self.is_lacking(place) {
            self.health.count(superblock, -1);
        }
    }

    /// A place has become current.
    #[inline]
    fn count_more(&mut self, place: LogPlace) {
        let superblock = self.stripes.superblock_of(place);
        self.stripes.superblocks.more(superblock);
        if let Some(frontier) = self.stripes.pending_frontier(place) {
            frontier.current += 1;
        } else if self.health.troubled && self.is_lacking(place) {
            self.health.count(superblock, 1);
        }
    }

    /// The place is programmed, as a unit of this stripe. A member that is gone does not take it.
    #[inline]
    fn occupy(&mut self, place: LogPlace, stripe: u8, page: u32) {
        self.stripes.places.occupy(place, stripe, page);
        if self.health.troubled && !self.health.alive(self.stripes.places.member(place)) {
            self.health.missing.set(place.0, true);
        }
    }
}

impl Scheme for StripeLog {
    fn capacity(&self) -> u64 {
        self.pages
    }

    fn capabilities(&self) -> Capabilities {
        let idle_after = self.thresholds.uses_idle_time().then_some(Span::ZERO);
        let triggers = Triggers { wake_after: self.policy.timeout, idle_after, ..Triggers::default() };
        Capabilities { triggers, waits_for_gc: true, ..Capabilities::default() }
    }

    fn protection(&self) -> Protection<'_> {
        Protection::Own(self)
    }

    fn places(&self, page: Page, mut tell: impl FnMut(Member, Page)) {
        if let Some(place) = self.stripes.places.find(page.low()) {
            let (member, page) = self.stripes.address(place);
            tell(member, page);
        }
    }

    #[inline]
    fn prefetch(&self, page: Page, _: impl FnMut(Member, Page)) {
        self.stripes.places.prefetch(page.low());
    }

    fn grain(&self, verb: Verb) -> u32 {
        if verb == Verb::Read { u32::MAX } else { 1 }
    }

    /// Superpages that are filled one after the other, as long as nothing has been written.
    fn row(&self) -> Option<MemberRow> {
        let is_new = self.stripes.frontier.superblock == NONE
            && self.stripes.places.mapped() == 0
            && self.ageing.is_none();
        let plain = self.medium.oob && !self.stripes.streams.are_several() && !self.health.troubled;
        (is_new && plain).then(|| MemberRow {
            pages: self.policy.data_when_new(self.members),
            each: 1,
            reads: false,
        })
    }

    fn note_rows(&mut self, rows: Range<u64>) {
        let data = self.policy.data_when_new(self.members);
        self.fill_in_order(rows.start as u32 * data..rows.end as u32 * data);
    }

    #[inline]
    fn lock(&self, command: &Command) -> Lock {
        if self.adds_slowly { self.stripes.lock_open(command) } else { Lock::Free }
    }

    #[inline]
    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        if self.journal.is_reading() && !command.flags.has(Flags::BEFORE) {
            return PlanVerdict::Wait;
        }
        match command.verb {
            Verb::Read => self.read(command, plan),
            Verb::Write => return self.write(command, view, plan),
            Verb::Trim | Verb::Remap => self.forget(command),
        }
        PlanVerdict::Go
    }

    fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
        self.bring_back(failed, view, plan)
    }

    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        let place = self.stripes.places.at(page.low(), member.0);
        self.stripes.places.is_data(place).then(|| Page::of(self.stripes.places.owner(place)))
    }

    fn settled(&mut self, key: Key, _: &View<'_>) {
        match LogHold::of(key) {
            LogHold::Open | LogHold::Order(_) => {}
            LogHold::Journal => self.journal.note_read(),
            LogHold::Piece => self.moved(),
            LogHold::Erase(superblock) => self.erased(superblock),
            LogHold::StripeRebuild(superblock) => self.rebuilt(superblock),
        }
    }

    fn member(&mut self, member: Member, change: Change, view: &View<'_>) {
        self.change(member, change, view);
    }
}

impl BackgroundWork for StripeLog {
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        if self.journal.is_reading() {
            return why == Why::Urgent && self.journal.read(plan);
        }
        self.look_back(view);
        self.guard.watch(&self.medium, self.members, view);
        self.worn.note(view);
        // What pages that were there before time 0 make necessary takes no time either; a rebuild and a refresh do.
        self.before &= !matches!(why, Why::Rebuild | Why::Due(..));
        let begun = match why {
            Why::Wake => self.close_early(plan),
            Why::Urgent => self.make_room(plan),
            Why::Rebuild => self.rebuild(view, plan),
            Why::Idle => self.clean_softly(plan),
            Why::Due(_, page) => self.note_due(page) && self.make_room(plan),
            Why::Renew(_) | Why::Leaving(..) | Why::Moved(..) => false,
        };
        if let Some(LogHold::Erase(superblock)) = plan.hold.map(LogHold::of) {
            self.note_erases_before(superblock, view);
        }
        if self.before {
            for step in &mut plan.steps {
                step.command.flags = step.command.flags.with(Flags::BEFORE);
            }
        }
        begun
    }

    #[inline]
    fn urgent(&self) -> bool {
        self.journal.wants_to_read()
            || !self.unchecked.is_empty()
            || self.stripes.is_stuck()
            || self.wants_to_clean()
    }

    /// Whether there is anything to make whole that can be begun, or has been. While a superblock is on its way to be
    /// free, it may be that it gives the room.
    fn rebuilding(&self, _: bool) -> bool {
        let moving = |cleaning: &Cleaning| cleaning.cause == Cause::Rebuild && !cleaning.is_over;
        let busy = self.cleaning.is_some() || self.erasing > 0;
        self.journal.lacks_records(&self.health)
            || self.stripe_rebuilds.iter().any(StripeRebuild::is_flying)
            || self.cleaning.as_ref().is_some_and(moving)
            || self.pending_lacks()
            || self.piece_lacks()
            || self.health.lacking > 0
                && (!self.stripe_rebuilds.is_empty()
                    || busy && self.can_move()
                    || self.next_stripe_rebuild().is_some()
                    || self.next_move().is_some())
    }
}

// -------------------------------------------------------------------- for the table and the checks

/// A log-striped scheme takes all parts of its level, or `width` of equal size; with fewer than three members, a
/// stripe would be a page and its copy.
pub(super) fn members(parts: u64, width: Option<u32>, level: &str) -> Result<u32, String> {
    let width = width.map_or(parts, u64::from);
    if width < 3 {
        return Err(format!(
            "stripes over {width} {level}s: at least 3 members are accepted (data and parity)"
        ));
    }
    if width > 255 {
        return Err(format!(
            "stripes over {width} {level}s: at most 255 members are accepted; set redundancy.width"
        ));
    }
    if !parts.is_multiple_of(width) {
        return Err(format!(
            "stripes over {width} members of {parts} {level}s: every member takes the same number of {level}s, so \
             {width} must divide {parts}"
        ));
    }
    Ok(width as u32)
}

/// The number of data slots in a superpage of this many members that is divided into stripes of `width`, parity
/// included. The last stripe may be narrower; a single remaining slot is wasted.
pub(super) fn data_in_superpage(members: u32, width: u32) -> u32 {
    let width = width.clamp(2, members.max(2));
    let rest = members % width;
    members / width * (width - 1) + rest.saturating_sub(1)
}

/// The same for stripes over all members.
pub(super) fn data_in_whole_superpage(members: u32, _: &RedundancySpec) -> u32 {
    data_in_superpage(members, members)
}

/// The smallest number of superblocks with which GC always works if members offer `member_pages` pages each: for the
/// offered pages, one spare slot, and the superblock that is kept empty. Restoring redundancy without a replacement of
/// a failed member needs more superblocks (see `StripeLog::is_roomy`).
#[must_use]
pub fn least_superblocks(member_pages: u64, superblock_pages: u32) -> u64 {
    (member_pages + 1).div_ceil(u64::from(superblock_pages)) + 1
}
