//! # What it does
//! A disk is the write cache of a drive: every write is appended to a log on the disk, and acknowledged when
//! it is there. Reads of pages whose newest version is in the log go to the disk, all others to the drive. If
//! a page is overwritten while it is in the log, its old version never reaches the drive.
//!
//! The log *migrates* to the drive, oldest part first: the newest versions are read sequentially and written
//! to the drive. Migration starts `redundancy.migrate_after_s` after the first write since the last such
//! start, when the log is filled to `redundancy.migrate_at`, or when more than `redundancy.migrate_reads` of
//! 1,000 page reads went to the disk. It covers all entries in the log at that time; later writes are
//! appended behind them. Migrated pages are written past the drive's write cache, because their entries are
//! free when they are durable. If the log (`redundancy.log_mib`) is full, writes wait for the migration. The
//! list of log entries is in memory that survives a power loss.
//!
//! # What it costs
//! A disk. Writes wait for it; sequentially it is as fast as a drive, except for the way back from a read.
//! Reads of recently written pages are served by the disk.
//!
//! # What it survives
//! No failure: a failed disk loses the entries that have not migrated, a failed drive those that have. The
//! scheme saves the drive's lifetime and adds no protection; use a mirror or parity over several such pairs
//! for that.
//!
//! # Example
//! Members of an array file: a drive, then a disk; `redundancy.scheme = "griffin"`.
//!
//! # Source
//! Soundararajan, Prabhakaran, Balakrishnan and Wobber, "Extending SSD lifetimes with disk-based write
//! caches", FAST 2010: the abstract, and that of the patent. Ours: the window of 1,000 reads, and the
//! defaults except the 5 % of reads.

use crate::engine::{
    BackgroundWork, Capabilities, Cause, Change, Command, Flags, Hazard, Key, Lock, Member, OobData,
    OwnHealth, Page, Plan, PlanVerdict, Protection, Recoverable, Scheme, Step, Triggers, Verb, View, Why,
};
use crate::kernel::Span;
use crate::schemes::hybrid::{self, HybridMembers, extend};
use crate::schemes::ring::{Ring, of_page};
use crate::schemes::{
    DiskLog, MemberFacts, OptionsPart, RedundancySpec, SchemeEntry, SchemeOptions, TriedWith,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(in crate::schemes) const ENTRY: SchemeEntry = SchemeEntry {
    name: "griffin",
    summary: "Griffin: a disk caches a drive's writes in a log, which migrates to the drive",
    source: include_str!("griffin.rs"),
    options: &[OptionsPart::of::<DiskLog>(), OptionsPart::of::<GriffinOptions>()],
    members: hybrid::not_in_a_drive,
    over_drives: offered,
    tried_with: &[TriedWith { drives: 1, disks: 1, ..TriedWith::BASE }],
    ..SchemeEntry::BASE
};

/// Options of `griffin`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(in crate::schemes) struct GriffinOptions {
    /// The log of `griffin` migrates when its oldest entry is so old, s.
    #[schemars(range(min = 0.0, max = 1e9), extend("examples" = [0.05, 1]))]
    pub(in crate::schemes) migrate_after_s: f64,
    /// The log of `griffin` migrates when it is filled to this share.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub(in crate::schemes) migrate_at: f64,
    /// The log of `griffin` migrates when more than this share of page reads goes to the disk.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(in crate::schemes) migrate_reads: f64,
}

impl Default for GriffinOptions {
    fn default() -> Self {
        GriffinOptions { migrate_after_s: 60.0, migrate_at: 0.9, migrate_reads: 0.05 }
    }
}

/// The number of pages over these members, or a message about missing members.
fn offered(members: &[MemberFacts], _: &RedundancySpec) -> Result<u64, String> {
    let parts = HybridMembers::of(members)?;
    if (parts.flash, parts.disks) != (1, 1) || parts.disk_pages == 0 {
        return Err(format!(
            "found {} drives and {} disks; it needs one drive and one disk; for several pairs nest arrays",
            parts.flash, parts.disks
        ));
    }
    Ok(parts.flash_pages)
}

const DRIVE: Member = Member(0);
const DISK: Member = Member(1);

/// Slots that migrate at a time.
const PIECE: u32 = 64;

/// Page reads of which a share is counted.
const WINDOW: u32 = 1000;

/// The key that reads from the log share, so that a failed read knows its page.
const READING: Key = Key(0);
/// The key that a migrating piece holds.
const MIGRATING: Key = Key(1);
/// The keys of appends in progress.
const APPENDING: [Key; 2] = [Key(2), Key(3)];

/// A disk that caches the writes of a drive.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Griffin {
    pages: u64,
    log: Ring,
    /// How many of the oldest slots are still to migrate.
    left: u32,
    /// Pages that migrate now, and the slots they come from.
    piece: Vec<(u32, u32)>,
    under_way: bool,
    /// A migration begins with this many used slots, …
    fill: u32,
    /// … or with more than this many page reads of a window that go to the disk.
    disk_reads: u32,
    /// Page reads of this window, and those of them that went to the disk.
    reads: [u32; 2],
    after: Span,
    /// Whether both members respond.
    answers: bool,
    damaged: bool,
}

pub(in crate::schemes) fn build(options: &SchemeOptions<'_>) -> Griffin {
    let (parts, redundancy) = (HybridMembers::checked(options), options.redundancy);
    let own: GriffinOptions = redundancy.read();
    let size = hybrid::pages_of(redundancy.read::<DiskLog>().log_mib, options.page_bytes)
        .clamp(1, parts.disk_pages) as u32;
    let permille = |share: f64| (share * 1000.0).round() as u64;
    Griffin {
        pages: parts.flash_pages,
        log: Ring::guarded(size),
        left: 0,
        piece: Vec::new(),
        under_way: false,
        fill: (u64::from(size) * permille(own.migrate_at) / 1000).max(1) as u32,
        disk_reads: permille(own.migrate_reads) as u32 * WINDOW / 1000,
        reads: [0; 2],
        after: Span((own.migrate_after_s * 1e9).round() as u64),
        answers: true,
        damaged: false,
    }
}

impl Griffin {
    /// All entries that are in the log now are to migrate.
    fn begin(&mut self) {
        if self.left == 0 && self.answers {
            self.left = self.log.used();
            self.reads = [0; 2];
        }
    }

    /// Whether a page of the command is migrating: a newer version on the drive would be overtaken by that.
    fn migrates(&self, command: &Command) -> bool {
        self.under_way && self.piece.iter().any(|&(page, _)| command.low_pages().contains(&page))
    }

    fn read(&mut self, command: &Command, plan: &mut Plan) {
        let mut from_disk = 0;
        for at in 0..command.count {
            let page = command.start.plus(u32::from(at));
            let slot = self.log.of(page.low());
            from_disk += u32::from(slot.is_some());
            let (member, page) = slot.map_or((DRIVE, page), |slot| (DISK, Page::of(slot)));
            extend(plan, member, page, at, command);
        }
        if command.cause != Cause::Host || self.left > 0 {
            return;
        }
        self.reads[0] += u32::from(command.count);
        self.reads[1] += from_disk;
        if self.reads[0] >= WINDOW {
            if self.reads[1] > self.disk_reads {
                self.begin();
                plan.wants_urgent_work = true;
            }
            self.reads = [0; 2];
        }
    }

    fn write(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        let count = u32::from(command.count);
        let caches = command.verb == Verb::Write && !command.flags.has(Flags::BEFORE) && self.answers;
        if !caches {
            return self.write_through(command, plan);
        }
        if self.log.room() < count {
            self.log.watch(APPENDING, view);
            self.release();
        }
        if self.log.room() < count {
            return PlanVerdict::Wait;
        }
        let plain = Command { flags: command.flags.without(Flags::OLD_IN_HAND), ..*command };
        for (at, page) in (0..).zip(command.low_pages()) {
            let slot = self.log.append(page);
            extend(plan, DISK, Page::of(slot), at, &plain);
        }
        plan.under = Some(self.log.key(APPENDING));
        if self.log.used() >= self.fill {
            self.begin();
        }
        PlanVerdict::Go
    }

    /// Trims, and writes that are not for the log: nothing of these pages is in the log from then on.
    fn write_through(&mut self, command: &Command, plan: &mut Plan) -> PlanVerdict {
        if self.migrates(command) {
            return PlanVerdict::Wait;
        }
        let mut newest = true;
        for page in command.low_pages() {
            newest &= self.log.forget(page).is_none();
        }
        let flags = if newest { command.flags } else { command.flags.without(Flags::OLD_IN_HAND) };
        plan.push(Step::new(DRIVE, Command { flags, ..*command }, 0));
        PlanVerdict::Go
    }

    /// Moves the next piece of the log to the drive.
    fn migrate(&mut self, view: &View<'_>, plan: &mut Plan) -> bool {
        if self.under_way || !self.answers {
            return false;
        }
        self.log.watch(APPENDING, view);
        self.release();
        self.piece.clear();
        self.piece.extend(self.log.live(self.left.min(PIECE)).map(|(slot, page)| (page, slot)));
        if self.piece.is_empty() {
            // The oldest slots are kept until newer versions of their pages are durable.
            self.piece.extend(self.log.live(self.left).take(PIECE as usize).map(|(slot, page)| (page, slot)));
        }
        if self.piece.is_empty() {
            return false;
        }
        let read = Command::new(Verb::Read, Page(0), 1).because(Cause::Migrate);
        for (at, &(_, slot)) in (0..).zip(&self.piece) {
            extend(plan, DISK, Page::of(slot), at, &read);
        }
        let (reads, write) = (plan.steps.len(), Command { verb: Verb::Write, ..read });
        for (at, &(page, _)) in (0..).zip(&self.piece) {
            extend(plan, DRIVE, Page::of(page), at, &write);
        }
        plan.steps[reads..].iter_mut().for_each(|step| step.stage = 1);
        // Their slots are used again when they are on the drive: a volatile cache there is not enough.
        plan.force();
        plan.hold = Some(MIGRATING);
        self.under_way = true;
        true
    }

    /// Frees the oldest slots that hold nothing any more, unless some of them are migrating: a page could be given the
    /// same slot again in the meantime.
    fn release(&mut self) {
        if self.under_way {
            return;
        }
        let used = self.log.used();
        self.log.release(|_| false);
        self.left = self.left.saturating_sub(used - self.log.used());
    }
}

impl Scheme for Griffin {
    fn capacity(&self) -> u64 {
        self.pages
    }

    fn grain(&self, _: Verb) -> u32 {
        PIECE.min(self.log.size())
    }

    fn capabilities(&self) -> Capabilities {
        let triggers = Triggers { wake_after: Some(self.after), from_first: true, ..Triggers::default() };
        Capabilities { triggers, ..Capabilities::default() }
    }

    fn protection(&self) -> Protection<'_> {
        Protection::Own(self)
    }

    fn places(&self, page: Page, mut tell: impl FnMut(Member, Page)) {
        match self.log.of(page.low()) {
            Some(slot) => tell(DISK, Page::of(slot)),
            None => tell(DRIVE, page),
        }
    }

    fn lock(&self, command: &Command) -> Lock {
        let logged = |page| self.log.of(page).is_some();
        let reads = command.verb == Verb::Read && command.low_pages().any(logged);
        if reads { Lock::Share(READING) } else { Lock::Free }
    }

    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        assert!(command.verb != Verb::Remap, "old versions are kept below, not above");
        if command.verb == Verb::Read {
            self.read(command, plan);
            return PlanVerdict::Go;
        }
        self.write(command, view, plan)
    }

    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        if member == DRIVE { Some(page) } else { self.log.page_at(page.low()).map(Page::of) }
    }

    fn settled(&mut self, key: Key, view: &View<'_>) {
        if key != MIGRATING {
            return;
        }
        self.under_way = false;
        if !view.alive(DRIVE) {
            self.left = 0;
            return;
        }
        for at in 0..self.piece.len() {
            let (page, slot) = self.piece[at];
            if self.log.of(page) == Some(slot) {
                self.log.forget(page);
            }
        }
        self.release();
    }

    fn member(&mut self, _: Member, change: Change, view: &View<'_>) {
        self.answers = view.alive(DRIVE) && view.alive(DISK);
        self.damaged |= !matches!(change, Change::Unreadable(_));
        if !self.answers {
            self.left = 0;
        }
    }
}

impl BackgroundWork for Griffin {
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        if matches!(why, Why::Wake | Why::Urgent) {
            self.begin();
            return self.migrate(view, plan);
        }
        false
    }

    fn urgent(&self) -> bool {
        self.left > 0 && !self.under_way && self.answers
    }
}

impl Recoverable for Griffin {
    /// The list of log entries survives a power loss. Pages that had not come to the log are where they were before.
    fn recover(&mut self, view: &View<'_>, _: &mut dyn FnMut(Member, Page)) {
        (self.under_way, self.left) = (false, 0);
        let logged = |slot, page| view.oob(DISK, Page::of(slot)).and_then(|oob| of_page(oob, page, view));
        let newer = |page, one: &OobData, other: &OobData| view.is_newer(Page::of(page), one, other);
        self.log.recover(logged, |page| view.oob(DRIVE, Page::of(page)), newer);
    }
}

impl OwnHealth for Griffin {
    fn is_whole(&self) -> bool {
        !self.damaged
    }

    fn is_exposed(&self, _: Page, hazard: Hazard) -> bool {
        hazard == Hazard::Unit
    }
}
