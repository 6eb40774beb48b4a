//! # What it does
//! A drive holds reference pages, and pages that are similar to no reference. For a page similar to a
//! reference only the difference is kept: a *delta*, in memory (`redundancy.nvram_mib`, `nvram_us`) until
//! many of them go to a log on a disk in one sequential write. A read of such a page takes its reference from
//! the drive and its delta from memory or the log.
//!
//! Similarity is a parameter of the workload: `reference_share` of the pages are references, and
//! `similar_share` are similar to one of them, according to a hash of their numbers. The scheme detects it
//! gradually: after every `scan_every` pages read or written, a scan examines the `scan_pages` used last. A
//! reference among them is copied to a place where it does not change. From then on pages that the scan found
//! similar to it (including the reference itself) are written as deltas of `delta_bytes` each.
//!
//! Memory also holds the most recent deltas of the log. If the log (`log_mib`) is full, its oldest deltas
//! become whole pages on the drive again.
//!
//! # What it costs
//! A disk, the memory, and on the drive the copies of references. A write of a delta takes a read of its
//! reference, a computation (`xor_us`), and later an eighth of a page (512 of 4,096 bytes) in a sequential
//! write; the drive programs nothing. A read takes one read of the drive, and one of the disk if memory does
//! not have the delta.
//!
//! # What it survives
//! No failure. Lost are: with the memory, the deltas that are not in the log; with the disk, those that are
//! only in the log; with the drive, everything. Lost pages are reported. If any of the three has failed,
//! pages are written whole. A power loss costs nothing: memory keeps deltas and lists.
//!
//! # Example
//! Members of an array file: a drive, then a disk; `redundancy.scheme = "i-cash"`.
//!
//! # Source
//! Yang and Ren, "I-CASH: Intelligently Coupled Array of SSD and HDD", HPCA 2011: 1 % references, 85 %
//! deltas, 14 % independent under sysbench; a scan of 4,000 blocks every 2,000 I/Os. Ours: 512 bytes per
//! delta, the hash instead of content signatures, pages for I/Os, the copies of references, the behaviour
//! with a full memory or log. A delta has a page of the disk's addresses, so that its contents can be
//! distinguished from others', but only its bytes pass under the head.

mod background;
mod recovery;
mod similar;

use crate::engine::{
    BackgroundWork, Cause, Change, Command, Flags, Hazard, Key, Lock, Member, OwnHealth, Page, Plan,
    PlanVerdict, Protection, Recoverable, Role, Scheme, Step, Verb, View, Why,
};
use crate::kernel::Bits;
use crate::schemes::hybrid::{self, HybridMembers};
use crate::schemes::ring::Ring;
use crate::schemes::{
    DiskLog, MemberFacts, NvramOptions, OptionsPart, RedundancySpec, SchemeEntry, SchemeOptions, TriedWith,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use similar::{Likeness, Recent};
use std::collections::VecDeque;

/// Bytes of a sector of the disks that hold the deltas.
const SECTOR_BYTES: u32 = 512;

pub(in crate::schemes) const ENTRY: SchemeEntry = SchemeEntry {
    name: "i-cash",
    summary: "I-CASH: a drive's reference pages, and deltas to them in memory and in a log on a disk",
    source: include_str!("mod.rs"),
    options: &[
        OptionsPart::of::<NvramOptions>(),
        OptionsPart::of::<DiskLog>(),
        OptionsPart::of::<ICashOptions>(),
    ],
    members: hybrid::not_in_a_drive,
    memory: true,
    over_drives: offered,
    memory_page: |redundancy, _| u64::from(redundancy.read::<ICashOptions>().delta_bytes),
    tried_with: &[TriedWith { drives: 1, disks: 1, ..TriedWith::BASE }],
    ..SchemeEntry::BASE
};

/// Options of `i-cash`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(in crate::schemes) struct ICashOptions {
    /// The share of pages that are like a reference, which others are not (Yang and Ren: 85 % under sysbench).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(in crate::schemes) similar_share: f64,
    /// The share of pages that are references (Yang and Ren: 1 % under sysbench).
    #[schemars(range(min = 1e-6, max = 0.5))]
    pub(in crate::schemes) reference_share: f64,
    /// What the difference to a reference takes, bytes (ours).
    #[schemars(range(min = 1, max = 4096))]
    pub(in crate::schemes) delta_bytes: u32,
    /// The scan for similar pages runs after this many pages read or written (Yang and Ren: 2,000 I/Os).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(in crate::schemes) scan_every: u32,
    /// It covers this many pages, those used last (Yang and Ren: 4,000).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(in crate::schemes) scan_pages: u32,
}

impl Default for ICashOptions {
    fn default() -> Self {
        ICashOptions {
            similar_share: 0.85,
            reference_share: 0.01,
            delta_bytes: 512,
            scan_every: 2000,
            scan_pages: 4000,
        }
    }
}

/// Pages over these members, or the missing condition.
fn offered(members: &[MemberFacts], redundancy: &RedundancySpec) -> Result<u64, String> {
    let parts = HybridMembers::of(members)?;
    if (parts.flash, parts.disks) != (1, 1) || parts.disk_pages == 0 || parts.flash_pages < 2 {
        return Err(format!(
            "found {} drives and {} disks; it needs one drive and one disk; for several pairs nest arrays",
            parts.flash, parts.disks
        ));
    }
    let own: ICashOptions = redundancy.read();
    let NvramOptions { nvram_mib, .. } = redundancy.read();
    if nvram_mib * 1_048_576.0 < f64::from(own.delta_bytes) {
        return Err(format!(
            "redundancy.nvram_mib = {nvram_mib} holds no delta of {} bytes",
            own.delta_bytes
        ));
    }
    Ok(similar::offered(parts.flash_pages, own.reference_share))
}

const DRIVE: Member = Member(0);
const DISK: Member = Member(1);
const MEMORY: Member = Member(2);

/// Most deltas that go to the log, or come back from it, at a time.
const PIECE: u32 = 64;

/// What background work holds: beyond all pages.
const FLUSHING: Key = Key(1 << 40);
const FOLDING: Key = Key(2 << 40);
const COPYING: Key = Key(3 << 40);

/// References and deltas.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct ICash {
    pages: u64,
    likeness: Likeness,
    recent: Recent,
    scan_every: usize,
    /// Pages that have been found to be like a reference.
    known: Bits,
    /// Families whose reference has its copy, and those that are to have one.
    copied: Bits,
    wanted: VecDeque<u32>,
    copying: Option<u32>,
    /// Deltas in memory, by slot; those that the log has, too, are the oldest.
    memory: Ring,
    /// Slots of memory ever written, and how many of those, the first ones, are in the log or hold nothing any more.
    filled: u64,
    clean: u64,
    /// What `clean` will be when the flush that is under way is over.
    flushing: Option<u64>,
    /// Slots of memory whose deltas are being computed.
    writing: Bits,
    /// Of those, the slots that still hold the whole page because a power loss interrupted the computation.
    whole: Bits,
    /// Pages that are being written whole, whose deltas are kept until then.
    replaced: Bits,
    /// Deltas in the log.
    log: Ring,
    /// Pages that are being made whole, and their slots in the log.
    piece: Vec<(u32, u32)>,
    folding: bool,
    /// Deltas of a flush, and sectors of each.
    batch: u32,
    sectors: u16,
    /// All members answer.
    answers: bool,
    damaged: bool,
}

pub(in crate::schemes) fn build(options: &SchemeOptions<'_>) -> ICash {
    let parts = HybridMembers::checked(options);
    let own: ICashOptions = options.redundancy.read();
    let DiskLog { log_mib } = options.redundancy.read();
    let pages = similar::offered(parts.flash_pages, own.reference_share);
    let deltas = hybrid::pages_of(log_mib, u64::from(own.delta_bytes));
    let log = deltas.clamp(1, parts.disk_pages) as u32;
    let memory = options.memory_pages.max(1);
    ICash {
        pages,
        likeness: Likeness::new(pages, own.reference_share, own.similar_share),
        recent: Recent::new(own.scan_pages),
        scan_every: own.scan_every as usize,
        known: Bits::default(),
        copied: Bits::default(),
        wanted: VecDeque::new(),
        copying: None,
        memory: Ring::new(memory),
        filled: 0,
        clean: 0,
        flushing: None,
        writing: Bits::default(),
        whole: Bits::default(),
        replaced: Bits::default(),
        log: Ring::new(log),
        piece: Vec::new(),
        folding: false,
        batch: PIECE.min(memory / 2).min(log / 2).max(1),
        sectors: own.delta_bytes.min(options.page_bytes as u32).div_ceil(SECTOR_BYTES) as u16,
        answers: true,
        damaged: false,
    }
}

/// Which pages are alike, for tests.
#[cfg(test)]
pub(in crate::schemes) fn likeness(pages: u64, reference_share: f64, similar_share: f64) -> Likeness {
    Likeness::new(pages, reference_share, similar_share)
}

impl ICash {
    /// The slot of memory that holds a page as a whole.
    fn whole_slot(&self, page: u32) -> Option<u32> {
        self.memory.of(page).filter(|&slot| self.whole.has(slot))
    }

    /// Where a page's delta is.
    fn delta(&self, page: u32) -> Option<(Member, Page)> {
        let in_memory = self.memory.of(page).map(|slot| (MEMORY, Page::of(slot)));
        in_memory.or_else(|| self.log.of(page).map(|slot| (DISK, Page::of(slot))))
    }

    /// The drive's copy of a family's reference.
    fn copy_of(&self, family: u32) -> Page {
        Page::of(self.pages as u32 + family)
    }

    /// The copy that a page's delta is to, where it can have one.
    fn base(&self, page: u32) -> Option<Page> {
        let family = self.likeness.like(page)?;
        self.copied.has(family).then(|| self.copy_of(family))
    }

    /// Reads a delta for the sums.
    fn fetch(&self, member: Member, slot: Page) -> Step {
        let mut step = Step::fetch(member, slot, Role::P, Cause::Parity);
        step.command.sectors = if member == DISK { self.sectors } else { 0 };
        step
    }

    /// Whether a page is being made whole.
    fn folds(&self, page: u32) -> bool {
        self.folding && self.piece.iter().any(|&(other, _)| other == page)
    }

    /// A page is used; every so often it is looked what the last ones are like.
    fn touch(&mut self, page: Page, view: &View<'_>) {
        if self.recent.touch(page.low()) < self.scan_every {
            return;
        }
        for &page in self.recent.scan() {
            let Some(family) = self.likeness.like(page) else { continue };
            self.known.set(page, true);
            let is_reference = self.likeness.reference(family) == page;
            let has_copy = self.copied.has(family) || self.copying == Some(family);
            if is_reference
                && !has_copy
                && view.holds(DRIVE, Page::of(page))
                && !self.wanted.contains(&family)
            {
                self.wanted.push_back(family);
            }
        }
    }

    fn read(&self, command: &Command, plan: &mut Plan) {
        let page = command.start;
        if let Some(slot) = self.whole_slot(page.low()) {
            return plan.push(Step::new(MEMORY, command.over(Page::of(slot), 1), 0));
        }
        let (Some((member, slot)), Some(base)) = (self.delta(page.low()), self.base(page.low())) else {
            return plan.push(Step::new(DRIVE, *command, 0));
        };
        plan.push(Step::fetch(DRIVE, base, Role::Data(0), command.cause));
        plan.push(self.fetch(member, slot));
        plan.push(Step::new(DRIVE, *command, 0).role(Role::Lost(1)).stage(1));
    }

    /// The whole page, to the drive. What the page was before stays until the drive has it.
    fn write_whole(&mut self, command: &Command, plan: &mut Plan) -> PlanVerdict {
        let page = command.start.low();
        let was_delta = self.delta(page).is_some();
        if command.verb == Verb::Trim || command.flags.has(Flags::BEFORE) {
            self.forget(page);
        } else {
            self.replaced.set(page, was_delta);
        }
        let flags = if was_delta { command.flags.without(Flags::OLD_IN_HAND) } else { command.flags };
        plan.push(Step::new(DRIVE, Command { flags, ..*command }, 0));
        if was_delta {
            // The delta is forgotten when this has ended.
            plan.force();
        }
        PlanVerdict::Go
    }

    /// The difference to `base`, to memory, in which the new page is kept whole until the reference has been read.
    fn write_delta(
        &mut self,
        command: &Command,
        base: Page,
        view: &View<'_>,
        plan: &mut Plan,
    ) -> PlanVerdict {
        self.make_room();
        if self.memory.room() == 0 {
            return PlanVerdict::Wait;
        }
        let page = command.start;
        self.forget(page.low());
        let slot = self.memory.append(page.low());
        self.filled += 1;
        self.writing.set(slot, true);
        let flags = command.flags.without(Flags::OLD_IN_HAND);
        let whole = Command { flags, sectors: 0, ..command.over(Page::of(slot), 1) };
        plan.push(Step::new(MEMORY, whole, 0).role(Role::Data(1)));
        Self::store_delta(page, slot, base, view, plan);
        PlanVerdict::Go
    }

    /// Computes the delta of a page that is whole in a slot of memory; the drive does not need the page any more.
    fn store_delta(page: Page, slot: u32, base: Page, view: &View<'_>, plan: &mut Plan) {
        plan.push(Step::fetch(DRIVE, base, Role::Data(0), Cause::Parity));
        plan.push(Step::store(MEMORY, Page::of(slot), Role::P, Cause::Parity).stage(1));
        if view.holds(DRIVE, page) {
            let trim = Command::new(Verb::Trim, page, 1).because(Cause::Parity);
            plan.push(Step::new(DRIVE, trim, Step::NOWHERE).stage(1));
        }
    }

    /// A page has no delta any more.
    fn forget(&mut self, page: u32) {
        if let Some(slot) = self.memory.forget(page) {
            self.writing.set(slot, false);
            self.whole.set(slot, false);
        }
        self.log.forget(page);
    }

    /// Slots of memory that can be given up, the oldest first.
    fn clean_slots(&self) -> u32 {
        self.clean.saturating_sub(self.filled - u64::from(self.memory.used())) as u32
    }

    /// Gives up the oldest delta in memory that the log has, too, where there is no room otherwise.
    fn make_room(&mut self) {
        self.memory.release(|_| false);
        if self.memory.room() == 0
            && self.clean_slots() > 0
            && let Some(page) = self.memory.page_at(self.memory.nth(0))
        {
            self.memory.forget(page);
            self.memory.release(|_| false);
        }
    }
}

impl Scheme for ICash {
    fn capacity(&self) -> u64 {
        self.pages
    }

    /// Each page is a decision, and holds others back, by itself.
    fn grain(&self, _: Verb) -> u32 {
        1
    }

    fn protection(&self) -> Protection<'_> {
        Protection::Own(self)
    }

    fn places(&self, page: Page, mut tell: impl FnMut(Member, Page)) {
        match (self.delta(page.low()), self.base(page.low())) {
            (Some((member, slot)), _) if self.whole_slot(page.low()).is_some() => tell(member, slot),
            (Some((member, slot)), Some(base)) => {
                tell(DRIVE, base);
                tell(member, slot);
            }
            _ => tell(DRIVE, page),
        }
    }

    fn lock(&self, command: &Command) -> Lock {
        let page = command.start.low();
        let reads = command.verb == Verb::Read;
        if self.folds(page) {
            return if reads { Lock::Pass(FOLDING) } else { Lock::Hold(FOLDING) };
        }
        let key = Key(u64::from(page));
        match self.known.has(page) {
            true if reads => Lock::Pass(key),
            true => Lock::Hold(key),
            false => Lock::Free,
        }
    }

    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        assert!(command.verb != Verb::Remap, "old versions are kept below, not above");
        let page = command.start;
        let before = command.flags.has(Flags::BEFORE);
        let verdict = if command.verb == Verb::Read {
            self.read(command, plan);
            PlanVerdict::Go
        } else {
            let whole = command.verb == Verb::Trim || before || !self.answers || !self.known.has(page.low());
            let base = if whole { None } else { self.base(page.low()) };
            match base.filter(|&base| view.has(DRIVE, base)) {
                Some(base) => self.write_delta(command, base, view, plan),
                None => self.write_whole(command, plan),
            }
        };
        if verdict == PlanVerdict::Go && command.verb != Verb::Trim && !before {
            self.touch(page, view);
            plan.wants_urgent_work = !self.wanted.is_empty();
        }
        verdict
    }

    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        let owner = match member {
            DRIVE => Some(page.low()).filter(|&page| u64::from(page) < self.pages),
            DISK => self.log.page_at(page.low()),
            _ => self.memory.page_at(page.low()),
        };
        owner.map(Page::of)
    }

    fn settled(&mut self, key: Key, view: &View<'_>) {
        match key {
            COPYING => self.copy_settled(view),
            FLUSHING => self.flush_settled(),
            FOLDING => self.fold_settled(),
            Key(page) => {
                let page = page as u32;
                if self.replaced.set(page, false) {
                    self.forget(page);
                } else if let Some(slot) = self.memory.of(page) {
                    self.writing.set(slot, false);
                    self.whole.set(slot, false);
                }
            }
        }
    }

    fn member(&mut self, member: Member, change: Change, view: &View<'_>) {
        self.answers = [DRIVE, DISK, MEMORY].into_iter().all(|member| view.alive(member));
        self.damaged |= !matches!(change, Change::Unreadable(_));
        match (member, change) {
            // Only memory has these pages now.
            (DISK, Change::Failed) => {
                self.clean = 0;
                self.flushing = self.flushing.map(|_| 0);
            }
            (MEMORY, Change::Failed) => self.forget_clean(),
            _ => {}
        }
    }
}

impl BackgroundWork for ICash {
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        if why != Why::Urgent || !self.answers {
            return false;
        }
        self.log.release(|_| false);
        self.shrink(view, plan) || self.copy(view, plan) || self.flush(plan) || self.fold(plan)
    }

    fn urgent(&self) -> bool {
        let wants_shrink = self.whole.count() > 0;
        self.answers && (wants_shrink || self.wants_copy() || self.wants_flush() || self.wants_fold())
    }
}

impl Recoverable for ICash {
    /// Memory is non-volatile, and so is the list of deltas and of copies.
    fn recover(&mut self, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
        self.restore(view, lacks);
    }
}

impl OwnHealth for ICash {
    fn is_sum(&self, page: Page) -> bool {
        let has_delta = self.delta(page.low()).is_some() && self.base(page.low()).is_some();
        has_delta && self.whole_slot(page.low()).is_none()
    }

    fn is_whole(&self) -> bool {
        !self.damaged
    }

    fn is_exposed(&self, _: Page, hazard: Hazard) -> bool {
        hazard == Hazard::Unit
    }
}
