//! # What it does
//! RAID-4 over drives with the parity on a part of a disk, and a log in front of it. The rest of that disk
//! and a second disk form a mirrored log, to which small writes are appended sequentially, so that neither
//! disk moves its arm far. A full-stripe write goes to the drives, and its parity to the first disk, without
//! reads. Smaller writes are logged, and acknowledged when both disks have them. Reads go to the drives
//! unless the newest version is in the log; then to the disk that is free sooner, of equal ones the second.
//!
//! The log is reclaimed when the host has been idle for `redundancy.idle_ms`, and when it is full
//! (`redundancy.log_mib`). Stripe by stripe, starting with the oldest entry, the newest versions are read
//! from the log and written to the drives, past their write caches, and the parity is updated
//! (read-modify-write or reconstruct-write, whichever reads fewer pages). The list of log entries is in
//! memory that survives a power loss.
//!
//! If a disk has failed, or if the log is full and cannot be reclaimed because another member has failed,
//! small writes go directly to the drives and their parity.
//!
//! # What it costs
//! Two disks, and no flash for redundancy. A small write takes two sequential disk writes; later a logged
//! page takes a read of the log and a parity update. A read of recently written pages waits for a disk.
//!
//! # What it survives
//! Any one of its drives and disks, at any time: the pages of a drive are reconstructed from the others and
//! the parity, or are in the log, of which there are two copies.
//!
//! # Example
//! Members of an array file: four drives, then two disks; `redundancy.scheme = "hpda"`.
//!
//! # Source
//! Mao, Jiang, Wu, Tian, Feng, Chen and Zeng, "HPDA: A hybrid parity-based disk array for enhanced
//! performance and reliability", ACM Transactions on Storage 8 (1), 2012, of which the abstract is available.
//! Ours: a write is large if it covers a whole stripe; the order of reclaiming; the behaviour with a failed
//! disk.

mod reclaim;
mod restore;

use crate::engine::{
    BackgroundWork, Capabilities, Cause, Change, Codewords, Command, Flags, Key, Lock, Member, OobData, Page,
    Plan, PlanVerdict, Protection, Recoverable, RepairOutcome, Scheme, Step, StripeUnit, Triggers, Verb,
    View, Why,
};
use crate::kernel::Span;
use crate::schemes::hybrid::{self, HybridMembers, extend};
use crate::schemes::parity::{Fixed, Settling, StripePart, Stripes, UnitSet, milliseconds};
use crate::schemes::ring::{Ring, of_page};
use crate::schemes::{
    DiskLog, Idle, MemberFacts, OptionsPart, Reads, Rebuilds, RedundancySpec, SchemeEntry, SchemeOptions,
    Striping, Sums, TriedWith,
};

pub(in crate::schemes) const ENTRY: SchemeEntry = SchemeEntry {
    name: "hpda",
    summary: "HPDA: RAID-4 of drives with its parity on a disk, and a log for small writes on two disks",
    source: include_str!("hpda.rs"),
    options: &[
        OptionsPart::of::<Striping>(),
        OptionsPart::of::<Idle>(),
        OptionsPart::of::<DiskLog>(),
        OptionsPart::of::<Sums>(),
        OptionsPart::of::<Rebuilds>(),
        OptionsPart::of::<Reads>(),
    ],
    members: hybrid::not_in_a_drive,
    data_members: Some(|members, _| members.saturating_sub(2)),
    survives: |_| 1,
    over_drives: offered,
    tried_with: &[TriedWith { drives: 3, disks: 2, ..TriedWith::BASE }],
    ..SchemeEntry::BASE
};

/// The number of pages over these members, or a message about missing members.
fn offered(members: &[MemberFacts], _: &RedundancySpec) -> Result<u64, String> {
    let parts = HybridMembers::of(members)?;
    if parts.flash < 2 || parts.disks != 2 {
        return Err(format!(
            "found {} drives and {} disks; it needs at least 2 drives, for the data, and 2 disks, the \
             first for the parity and the log, the second for the log's copy",
            parts.flash, parts.disks
        ));
    }
    let first = &members[usize::from(parts.flash)];
    if first.pages <= parts.flash_pages {
        return Err(format!(
            "the first disk has {} pages; it needs {} for the parity (as many as a drive has) and room \
             for the log",
            first.pages, parts.flash_pages
        ));
    }
    Ok(parts.flash_pages * u64::from(parts.flash))
}

/// The keys of appends in progress; stripes have the numbers below.
const APPENDING: [Key; 2] = [Key(1 << 32), Key(1 << 32 | 1)];

/// RAID-4 with a log before it.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Hpda {
    /// Data on the drives, parity on the first disk, from its first page on.
    stripes: Stripes<Fixed>,
    /// Slot `s` is page `first_slot + s` of the first disk, and page `s` of the second.
    log: Ring,
    first_slot: u32,
    drives: u8,
    /// Whether both disks respond.
    logs: bool,
    /// Stripes being reclaimed because a command waits.
    reclaiming: u8,
    idle_after: Span,
}

pub(in crate::schemes) fn build(options: &SchemeOptions<'_>) -> Hpda {
    let parts = HybridMembers::checked(options);
    let disks = &options.array[usize::from(parts.flash)..];
    let most = (disks[0].pages - parts.flash_pages).min(disks[1].pages);
    let asked = hybrid::pages_of(options.redundancy.read::<DiskLog>().log_mib, options.page_bytes);
    let size = most.min(asked.max(u64::from(parts.flash)));
    let raid4 =
        SchemeOptions { members: parts.flash + 1, member_pages: parts.flash_pages, ..options.clone() };
    Hpda {
        stripes: Stripes::new(&raid4),
        log: Ring::guarded(size as u32),
        first_slot: parts.flash_pages as u32,
        drives: parts.flash,
        logs: true,
        reclaiming: 0,
        idle_after: milliseconds(options.redundancy.read::<Idle>().idle_ms),
    }
}

impl Hpda {
    /// A slot on both disks: on the second first, because the other has the parity to write.
    fn at(&self, slot: u32) -> [(Member, Page); 2] {
        [(Member(self.drives + 1), Page::of(slot)), (Member(self.drives), Page::of(self.first_slot + slot))]
    }

    /// The slot that a disk's page is.
    fn slot(&self, member: Member, page: Page) -> Option<u32> {
        let slot = match member.0.checked_sub(self.drives)? {
            0 => page.low().checked_sub(self.first_slot)?,
            _ => page.low(),
        };
        (slot < self.log.size()).then_some(slot)
    }

    fn stripe(&self, page: u32) -> u32 {
        self.stripes.split(Page::of(page)).0
    }

    fn key(&self, page: u32) -> Key {
        Key(u64::from(self.stripe(page)))
    }

    /// Data units of a stripe whose newest version is in the log.
    fn logged(&self, stripe: u32) -> UnitSet {
        self.stripes.units(self.log.pages(), stripe)
    }

    /// The disk that a slot is read from: the one that is free sooner, of those that have it.
    fn reader(&self, slot: u32, view: &View<'_>) -> (Member, Page) {
        let [second, first] = self.at(slot);
        match (view.has(second.0, second.1), view.has(first.0, first.1)) {
            (true, true) if view.backlog(first.0, first.1) < view.backlog(second.0, second.1) => first,
            (false, true) => first,
            _ => second,
        }
    }

    /// Whether a command is a small write, which belongs into the log.
    fn is_small(&self, command: &Command) -> bool {
        let whole = command.count == u16::from(self.stripes.data());
        command.verb == Verb::Write && !whole && self.logs && !command.flags.has(Flags::BEFORE)
    }

    fn has_room(&self, command: &Command) -> bool {
        self.log.room() >= u32::from(command.count)
    }

    fn read(&self, command: &Command, view: &View<'_>, plan: &mut Plan) {
        let StripePart { seats, first, end } = self.stripes.place(command);
        for (at, index) in (0..).zip(first..end) {
            let number = command.start.plus(u32::from(at));
            let (member, page) = (seats.data(index), seats.page());
            if let Some(slot) = self.log.of(number.low()) {
                let (member, page) = self.reader(slot, view);
                extend(plan, member, page, at, command);
            } else if view.has(member, page) || self.stripes.written.has(number.0) {
                plan.push(Step::new(member, command.over(page, 1), at));
            }
        }
    }

    /// Frees the oldest slots that hold nothing any more.
    fn release(&mut self, view: &View<'_>) {
        let (stripes, log) = (&self.stripes, &mut self.log);
        log.watch(APPENDING, view);
        log.release(|page| view.held(Key(u64::from(stripes.split(Page::of(page)).0))));
    }

    /// Both disks append the pages.
    fn append(&mut self, command: &Command, plan: &mut Plan) {
        let pages = || (0..).zip(command.low_pages());
        pages().for_each(|(_, page)| _ = self.log.append(page));
        plan.under = Some(self.log.key(APPENDING));
        let plain = Command { flags: command.flags.without(Flags::OLD_IN_HAND), ..*command };
        for (disk, cause) in [(1, command.cause), (0, Cause::Mirror)] {
            for (at, page) in pages() {
                let slot = self.log.of(page).expect("it has just been appended");
                let (member, page) = self.at(slot)[disk];
                extend(plan, member, page, at, &plain.because(cause));
            }
        }
    }

    /// Writes or trims pages on the drives, with their parity; versions in the log are older from then on.
    fn write_through(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) {
        let place = self.stripes.place(command);
        let stripe = place.seats.stripe;
        let older = self.logged(stripe).within(UnitSet::range(place.first, place.end));
        // The contents that the caller supplies are the log's version, which the parity does not cover.
        let flags = if older.is_empty() { command.flags } else { command.flags.without(Flags::OLD_IN_HAND) };
        let command = Command { flags, ..*command };
        let touch = self.stripes.touch(&command, place);
        self.stripes.update(&command, place, view, plan);
        if !older.is_empty() {
            // The slots of the older versions are free when this has ended.
            plan.force();
            let touched = touch.touched.with(older);
            let settling = Settling { touched, trims: command.verb == Verb::Trim, ..Settling::default() };
            self.stripes.settling.insert(stripe, settling);
        }
    }
}

impl Scheme for Hpda {
    fn capacity(&self) -> u64 {
        self.stripes.capacity()
    }

    fn grain(&self, _: Verb) -> u32 {
        u32::from(self.stripes.data())
    }

    fn capabilities(&self) -> Capabilities {
        let triggers = Triggers { idle_after: Some(self.idle_after), ..Triggers::default() };
        Capabilities { triggers, ..Capabilities::default() }
    }

    fn protection(&self) -> Protection<'_> {
        Protection::Stripes(self)
    }

    fn places(&self, page: Page, mut tell: impl FnMut(Member, Page)) {
        match self.log.of(page.low()) {
            Some(slot) => self.at(slot).into_iter().for_each(|(member, page)| tell(member, page)),
            None => self.stripes.whereabouts(page, tell),
        }
    }

    /// A read from the log keeps its stripe's slots from being used again. A write that appends to it only waits for
    /// the plans that work on the stripe.
    fn lock(&self, command: &Command) -> Lock {
        let key = self.key(command.start.low());
        if command.verb == Verb::Read {
            let logged = command.low_pages().any(|page| self.log.of(page).is_some());
            return if logged { Lock::Share(key) } else { Lock::Pass(key) };
        }
        if self.is_small(command) && self.has_room(command) { Lock::Pass(key) } else { Lock::Hold(key) }
    }

    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        assert!(command.verb != Verb::Remap, "old versions are kept below a parity, not above it");
        if command.verb == Verb::Read {
            self.read(command, view, plan);
            return PlanVerdict::Go;
        }
        if !self.is_small(command) {
            self.write_through(command, view, plan);
            return PlanVerdict::Go;
        }
        if !self.has_room(command) {
            self.release(view);
        }
        if self.has_room(command) {
            self.append(command, plan);
        } else if self.reclaiming > 0 || self.reclaimable(view).is_some() {
            return PlanVerdict::Wait;
        } else {
            self.write_through(command, view, plan);
        }
        PlanVerdict::Go
    }

    fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
        let wanted = failed[failed.len() - 1];
        let (member, page) = (wanted.member, wanted.command.start);
        let Some(slot) = self.slot(member, page) else {
            let word = self.stripes.codeword(page.low());
            return word.bring_back(word.seats.role(member), failed, view, plan);
        };
        let tried = |at: &(Member, Page)| failed.iter().any(|step| (step.member, step.command.start) == *at);
        let mut copies = self.at(slot).into_iter().filter(|&(member, page)| view.has(member, page));
        let Some((other, from)) = copies.find(|at| !tried(at)) else { return RepairOutcome::Lost };
        plan.push(Step::new(other, wanted.command.over(from, 1), 0));
        if view.alive(member) {
            let back = Command::new(Verb::Write, page, 1).because(Cause::Rebuild);
            plan.push(Step::new(member, back, 0).stage(1).later());
        }
        RepairOutcome::Planned
    }

    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        match self.slot(member, page) {
            Some(slot) => self.log.page_at(slot).map(Page::of),
            None => self.stripes.owner(member, page).filter(|page| self.log.of(page.low()).is_none()),
        }
    }

    fn settled(&mut self, key: Key, view: &View<'_>) {
        let Some((stripe, settling)) = self.stripes.settle(key, view) else { return };
        self.reclaiming -= u8::from(settling.makes_room);
        self.stripes.set_written(stripe, settling.touched, settling.trims);
        settling
            .touched
            .iter()
            .for_each(|index| _ = self.log.forget(self.stripes.number(stripe, index) as u32));
    }

    fn member(&mut self, _: Member, _: Change, view: &View<'_>) {
        self.logs = [self.drives, self.drives + 1].iter().all(|&disk| view.alive(Member(disk)));
    }
}

impl BackgroundWork for Hpda {
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        match why {
            Why::Renew(stripe) => self.restore(stripe, view, plan),
            Why::Idle => self.reclaim(false, view, plan),
            Why::Urgent => self.reclaim(true, view, plan),
            Why::Wake | Why::Rebuild | Why::Leaving(..) | Why::Moved(..) | Why::Due(..) => false,
        }
    }
}

impl Recoverable for Hpda {
    /// The list of log entries survives a power loss. Pages that had not come to the log are where they were before.
    fn recover(&mut self, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
        self.reclaiming = 0;
        let mut lost = view.lost().cloned().unwrap_or_default();
        // Of these the drives have older versions.
        self.log.pages().iter().for_each(|page| _ = lost.set(page, false));
        let (drives, first_slot) = (self.drives, self.first_slot);
        let at = |slot| [(Member(drives + 1), Page::of(slot)), (Member(drives), Page::of(first_slot + slot))];
        let newest = |slot, page| {
            let copies = at(slot).into_iter().filter_map(|(member, at)| view.oob(member, at));
            let newer = |one, other| if view.is_newer(Page::of(page), &other, &one) { other } else { one };
            copies.filter_map(|oob| of_page(oob, page, view)).reduce(newer)
        };
        let stripes = &self.stripes;
        let newer = |page, one: &OobData, other: &OobData| view.is_newer(Page::of(page), one, other);
        self.log.recover(newest, |page| stripes.oob_of(Page::of(page), view), newer);
        for (slot, page) in self.log.live(u32::MAX) {
            let stamp = newest(slot, page).map(|oob| oob.stamp);
            for (member, at) in at(slot) {
                if view.alive(member) && view.oob(member, at).map(|oob| oob.stamp) != stamp {
                    lacks(member, at);
                }
            }
        }
        self.stripes.recover(lost, view, lacks);
    }
}

/// The parity covers what the drives have; newer versions are in the log, with two copies each.
impl Codewords for Hpda {
    fn count(&self) -> u32 {
        self.stripes.count()
    }

    fn data(&self) -> u8 {
        self.stripes.data()
    }

    fn units(&self, stripe: u32, tell: &mut dyn FnMut(StripeUnit)) {
        self.stripes.codeword(stripe).each(tell);
    }

    fn stripe_of(&self, member: Member, page: Page) -> Option<u32> {
        match self.slot(member, page) {
            Some(slot) => self.log.written(slot).map(|page| self.stripe(page)),
            None => Some(page.low()).filter(|&stripe| stripe < self.stripes.count()),
        }
    }

    fn is_newer(&self, stripe: u32, index: u8) -> bool {
        self.log.of(self.stripes.number(stripe, index) as u32).is_some()
    }

    fn has_newer(&self, stripe: u32) -> bool {
        !self.logged(stripe).is_empty()
    }

    fn has_copies(&self) -> bool {
        true
    }

    fn copies(&self, stripe: u32, index: u8, tell: &mut dyn FnMut(Member, Page)) {
        let slot = self.log.of(self.stripes.number(stripe, index) as u32);
        slot.into_iter().flat_map(|slot| self.at(slot)).for_each(|(member, page)| tell(member, page));
    }
}
