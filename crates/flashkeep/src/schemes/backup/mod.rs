//! # What it does
//! Disks back up SSDs, in an array. The SSDs concatenate their pages, and each SSD serves its own reads. A
//! write goes to its SSD and to a non-volatile memory (`redundancy.nvram_mib`, `nvram_us`), and is
//! acknowledged when both have it; if the memory is full, it waits. The disks take the pages from the memory.
//! Each disk does one thing at a time:
//!
//! 1. *Stage.* A disk consists of data segments (`segment_kib`), whose addresses follow from the SSDs', with
//!    a free segment after each `free_every` of them. If the data segment of the page that has waited longest
//!    is no farther from the head than the nearest free segment with room, the disk writes the page there,
//!    with all adjacent waiting pages. Otherwise it writes as many waiting pages as fit to that free segment,
//!    as one sequential write, and enters them in a map.
//! 2. *Recall.* After `recall_idle_ms` without writes, or with more than `recall_share` of the free segments
//!    in use, the disk reads up to `recall_segments` neighbouring free segments into the memory in one pass,
//!    as far as there is room.
//! 3. *Destage.* These pages are sorted and written to their data segments, run by run in one sweep, unless
//!    the host has overwritten them. New writes go first between two runs; with too many free segments in
//!    use, the two alternate.
//!
//! Every disk has a part of every SSD (`spread`): segments in turn, or a contiguous range.
//!
//! # What it costs
//! Disks with the capacity of the SSDs plus one segment in `free_every`, and the memory. The map is also in
//! the memory but not charged to it (16 bytes per entry). A page is written to a disk once; if it was staged
//! to a free segment it is also read and written once more. With a share f of staged pages the disks transfer
//! 1 + 2f times the written volume.
//!
//! # What it survives
//! Any one SSD, disk or the memory, at any time. If an SSD fails, its pages are served from memory and disks,
//! and a replacement is filled from there. If the memory or a disk fails, the SSDs hold the only copies until
//! the disks have them again. A disk gives every second operation to a rebuild if other work waits.
//!
//! # Example
//! `flashkeep run t7-backup-3disks synth:hybrid-usr synth:hybrid-src1 synth:hybrid-src2 synth:hybrid-proj`
//!
//! # Source
//! Fan, "High performance storage systems based on SSD": sections 2 (segments and phases) and 3 (several
//! disks). Ours: priorities among waiting work, K, J, the idle time and the threshold, and that an SSD's part
//! of a disk is no longer than needed.

mod address;
mod disk;
mod facts;
mod health;
mod pending;
mod recovery;
mod reorganise;
mod restore;
mod segments;
mod serve;
mod stage;
#[cfg(test)]
mod tests;

use super::{
    NvramOptions, NvramPrice, OptionsPart, Rebuilds, SchemeEntry, SchemeOptions, Terms, TriedWith, hybrid,
};
use crate::engine::{
    BackgroundWork, Capabilities, Change, Command, Hazard, Key, Lock, Member, OwnHealth, Page, Plan,
    PlanVerdict, Protection, Recoverable, RepairOutcome, Role, Scheme, Step, StripeUnit, Triggers, Verb,
    View, Why,
};
use crate::figures::Reported;
use crate::kernel::{Bits, Span};
use address::BackupLayout;
use disk::{BackupDisk, DiskJobKind, DiskTurn};
pub use facts::{BackupDiskFigures, BackupFacts, BackupFigures, DiskFacts, Moved};
use pending::Memory;
use schemars::JsonSchema;
use segments::Segments;
use serde::{Deserialize, Serialize};

pub(super) const ENTRY: SchemeEntry = SchemeEntry {
    name: "backup",
    summary: "over drives: disks back up SSDs through a non-volatile memory, with sequential writes",
    source: include_str!("mod.rs"),
    options: &[
        OptionsPart::of::<NvramOptions>(),
        OptionsPart::of::<NvramPrice>(),
        OptionsPart::of::<BackupOptions>(),
        OptionsPart::of::<Rebuilds>(),
    ],
    members: hybrid::not_in_a_drive,
    survives: |_| 1,
    memory: true,
    over_drives: |members, redundancy| {
        BackupLayout::over(members, &redundancy.read()).map(|layout| u64::from(layout.pages()))
    },
    formula: |_| Some(Terms { ssd: 1.0, disk: 1.0, life: 1.0 }),
    survives_memory: true,
    shows_occupancy: true,
    figures: Some(BackupFigures::shape),
    tried_with: &[TriedWith { drives: 2, disks: 1, ..TriedWith::BASE }],
    ..SchemeEntry::BASE
};

/// Options of `backup`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct BackupOptions {
    /// A segment of a disk, data or free, KiB (2 MB: Fan, section 2.3).
    #[schemars(range(min = 1, max = 1_048_576), extend("examples" = [16, 2048]))]
    pub(super) segment_kib: u32,
    /// Data segments of a disk for each free one ("dozens": Fan, section 2.2; 32 is ours).
    #[schemars(range(min = 1, max = 65_536), extend("examples" = [4, 32]))]
    pub(super) free_every: u32,
    /// Free segments beside each other that are recalled in one pass (Fan, figure 2: 3).
    #[schemars(range(min = 1, max = 64))]
    pub(super) recall_segments: u32,
    /// Share of a disk's free segments in use above which they are recalled even while the host writes (ours).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(super) recall_share: f64,
    /// Time without writes after which free segments are recalled, ms (ours).
    #[schemars(range(min = 0.0, max = 1e9), extend("examples" = [0.4, 10]))]
    pub(super) recall_idle_ms: f64,
    /// The disk that backs up each part of an SSD: `interleaved` or `contiguous`.
    pub(super) spread: Spread,
}

impl Default for BackupOptions {
    fn default() -> Self {
        BackupOptions {
            segment_kib: 2048,
            free_every: 32,
            recall_segments: 3,
            recall_share: 0.75,
            recall_idle_ms: 10.0,
            spread: Spread::Interleaved,
        }
    }
}

/// The disk that backs up each part of an SSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// Segments go to the disks in turn, so that all disks share a burst of writes to one place (ours).
    Interleaved,
    /// Each disk has one contiguous range of every SSD.
    Contiguous,
}

/// SSDs with disks as their backups.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Backup {
    layout: BackupLayout,
    memory: Memory,
    segments: Segments,
    disks: Vec<BackupDisk>,
    recall_segments: u32,
    /// Of 1,000 free segments, how many may be in use before they are recalled under load.
    recall_permille: u32,
    recall_idle: Span,
    /// There were no writes for this long.
    quiet: bool,
    /// Commands are cut into pieces of this many pages.
    grain: u32,
    /// Whether a part has failed.
    troubled: bool,
    /// Pages that the host has written and not trimmed.
    written: Bits,
    /// Of those: pages that neither the memory nor a disk has been given, or that were lost there.
    missed: Bits,
    /// Of those: pages that their SSD lacks; pages that no backup can be had of now; and how many are one of the two.
    missing: Bits,
    outdated: Bits,
    exposed: u64,
    /// Pages that the host has trimmed and not written again.
    trimmed: Bits,
    writes: Moved,
}

pub(super) fn build(options: &SchemeOptions<'_>) -> Backup {
    let own: BackupOptions = options.redundancy.read();
    let layout = BackupLayout::over(options.array, &own).expect("checked when the array was resolved");
    Backup::new(layout, options.memory_pages, &own)
}

impl Backup {
    fn new(layout: BackupLayout, memory_pages: u32, own: &BackupOptions) -> Self {
        Backup {
            layout,
            memory: Memory::new(memory_pages, layout.disks),
            segments: Segments::new(layout),
            disks: vec![BackupDisk::new(); usize::from(layout.disks)],
            recall_segments: own.recall_segments,
            recall_permille: (own.recall_share * 1e3).round() as u32,
            recall_idle: Span((own.recall_idle_ms * 1e6).ceil() as u64),
            quiet: false,
            // So that a piece that waits for room does not wait for all of it.
            grain: layout.grain(if memory_pages == 0 { u32::MAX } else { memory_pages / 2 }),
            troubled: false,
            written: Bits::default(),
            missed: Bits::default(),
            missing: Bits::default(),
            outdated: Bits::default(),
            exposed: 0,
            trimmed: Bits::default(),
            writes: Moved::default(),
        }
    }

    /// What a plan that works with a disk holds.
    fn key(disk: usize) -> Key {
        Key(disk as u64)
    }

    /// The member that the memory is: the one after the last disk.
    fn nvram(&self) -> Member {
        self.layout.disk(self.disks.len())
    }

    /// Where a page's backup is, if it has one: in the memory, a free segment, or its data segment.
    fn backup(&self, page: Page) -> Option<(Member, Page)> {
        if let Some(slot) = self.memory.slot_of(page) {
            return Some((self.nvram(), Page::of(slot)));
        }
        if !self.written.has(page.low()) || self.missed.has(page.low()) {
            return None;
        }
        let (disk, home) = self.layout.home(page);
        Some((self.layout.disk(disk), self.segments.place_of(page).unwrap_or(home)))
    }

    /// The next work of a free disk: new pages first, except for the rebuild's turns, and except for every other
    /// operation while too many free segments are in use.
    fn next(&self, disk: usize) -> Option<DiskJobKind> {
        let this = &self.disks[disk];
        let reserved = this.rebuild_waits && this.last != DiskTurn::Rebuild && !this.rebuild_queue.is_empty();
        if !this.alive || this.doing.kind != DiskJobKind::Nothing || reserved {
            return None;
        }
        let forced = self.segments.used(disk) * 1000 > self.recall_permille * self.layout.free_segments();
        let recalls = (forced || self.quiet) && self.can_recall(disk);
        let reorganises = match this.sweep.is_empty() {
            false => Some(DiskJobKind::Destage),
            true => recalls.then_some(DiskJobKind::Recall),
        };
        let turn = forced && this.last == DiskTurn::Host && reorganises.is_some();
        if self.memory.held(disk).queued > 0 && !turn {
            return Some(DiskJobKind::Stage);
        }
        // Without the memory, a disk gets the pages that were written only by this refill.
        let refills = !self.memory.alive && !this.rebuild_queue.is_empty();
        reorganises.or(refills.then_some(DiskJobKind::Refill))
    }

    /// Starts the next work of a disk; false if there is none.
    fn work(&mut self, disk: usize, view: &View<'_>, plan: &mut Plan) -> bool {
        if view.held(Self::key(disk)) {
            return false;
        }
        while let Some(kind) = self.next(disk) {
            let (begun, turn) = match kind {
                DiskJobKind::Recall => (self.recall(disk, plan), DiskTurn::Reorganisation),
                DiskJobKind::Destage => (self.destage(disk, plan), DiskTurn::Reorganisation),
                DiskJobKind::Refill => (self.restore(disk, plan), DiskTurn::Host),
                _ => (self.stage(disk, plan), DiskTurn::Host),
            };
            if begun {
                self.disks[disk].last = turn;
                plan.hold = Some(Self::key(disk));
                return true;
            }
        }
        false
    }
}

impl Scheme for Backup {
    fn capacity(&self) -> u64 {
        u64::from(self.layout.pages())
    }

    /// A piece lies within a segment, so that one SSD and one disk have all of it. Pages of an SSD that fails may lie
    /// anywhere on its disk.
    fn grain(&self, verb: Verb) -> u32 {
        let scattered = verb == Verb::Read && self.missing.count() > 0;
        if scattered { self.layout.grain(self.grain.min(64)) } else { self.grain }
    }

    fn capabilities(&self) -> Capabilities {
        let triggers = Triggers { wake_after: Some(self.recall_idle), ..Triggers::default() };
        Capabilities { triggers, ..Capabilities::default() }
    }

    fn protection(&self) -> Protection<'_> {
        Protection::Own(self)
    }

    fn places(&self, page: Page, mut tell: impl FnMut(Member, Page)) {
        let (ssd, on_ssd) = self.layout.on_ssd(page);
        tell(ssd, on_ssd);
        if let Some((member, place)) = self.backup(page) {
            tell(member, place);
        }
    }

    #[inline]
    fn prefetch(&self, page: Page, mut ask: impl FnMut(Member, Page)) {
        let (ssd, on_ssd) = self.layout.on_ssd(page);
        ask(ssd, on_ssd);
    }

    /// A page that is being copied is locked; a read that needs a disk holds that disk.
    fn lock(&self, command: &Command) -> Lock {
        if !self.troubled {
            return Lock::Free;
        }
        let key = Key(self.layout.disk_of(command.start) as u64);
        if command.verb == Verb::Read && self.needs_disk(command) {
            Lock::Detour(key)
        } else if self.is_being_copied(command) {
            Lock::Pass(key)
        } else {
            Lock::Free
        }
    }

    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        assert!(command.verb != Verb::Remap, "old versions are kept in drives, not in arrays of them");
        match command.verb {
            Verb::Read => self.read(command, plan),
            Verb::Trim => self.trim(command, plan),
            _ => return self.write(command, view, plan),
        }
        PlanVerdict::Go
    }

    fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
        self.have_otherwise(failed, view, plan)
    }

    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        self.layout.of_ssd(member, page).filter(|_| member.0 < self.layout.ssds)
    }

    fn settled(&mut self, key: Key, view: &View<'_>) {
        let disk = key.0 as usize;
        match self.disks[disk].doing.kind {
            DiskJobKind::Stage | DiskJobKind::InPlace | DiskJobKind::Destage => self.moved(disk, view),
            DiskJobKind::Recall => self.recalled(disk, view),
            DiskJobKind::Restore | DiskJobKind::Refill => self.copied(disk, view),
            DiskJobKind::Read | DiskJobKind::Nothing => {}
        }
        let doing = &mut self.disks[disk].doing;
        (doing.kind, doing.renewed) = (DiskJobKind::Nothing, false);
        doing.slots.clear();
        doing.places.clear();
    }

    fn member(&mut self, member: Member, change: Change, view: &View<'_>) {
        self.hear(member, change, view);
    }
}

impl BackgroundWork for Backup {
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        match why {
            Why::Urgent => {}
            Why::Wake => self.quiet = true,
            Why::Rebuild => return self.rebuild(view, plan),
            Why::Idle | Why::Renew(_) | Why::Leaving(..) | Why::Moved(..) | Why::Due(..) => return false,
        }
        (0..self.disks.len()).any(|disk| self.work(disk, view, plan))
    }

    fn urgent(&self) -> bool {
        (0..self.disks.len()).any(|disk| self.next(disk).is_some())
    }

    fn rebuilding(&self, _: bool) -> bool {
        let copies =
            |disk: &BackupDisk| matches!(disk.doing.kind, DiskJobKind::Restore | DiskJobKind::Refill);
        self.disks.iter().any(|disk| !disk.rebuild_queue.is_empty() || copies(disk))
    }
}

impl Recoverable for Backup {
    /// The memory keeps its pages, and with them the map.
    fn recover(&mut self, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
        self.restart(view, lacks);
    }
}

impl OwnHealth for Backup {
    #[inline]
    fn exposed(&self) -> u64 {
        self.exposed
    }

    fn is_whole(&self) -> bool {
        self.missing.count() + self.outdated.count() == 0
    }

    /// A page that one of SSD and backup has alone.
    fn is_exposed(&self, page: Page, hazard: Hazard) -> bool {
        hazard == Hazard::Unit && self.missing.has(page.low()) != self.outdated.has(page.low())
    }

    fn covers(&self, visit: &mut dyn FnMut(&[StripeUnit])) {
        for page in
            self.written.iter().filter(|&page| !self.missing.has(page) && !self.outdated.has(page)).map(Page)
        {
            let unit = |(member, page)| StripeUnit { member, page, role: Role::Plain };
            let backup = self.backup(page).expect("what is not outdated has a backup");
            visit(&[unit(self.layout.on_ssd(page)), unit(backup)]);
        }
    }

    fn repair_key(&self, member: Member, page: Page) -> Option<Key> {
        let page = self.layout.of_ssd(member, page).filter(|_| member.0 < self.layout.ssds)?;
        let (backup, _) = self.backup(page)?;
        (backup != self.nvram()).then(|| Key(u64::from(backup.0 - self.layout.ssds)))
    }
}
