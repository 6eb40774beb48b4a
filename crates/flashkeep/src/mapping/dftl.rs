//! # What it does
//! The whole page map is in flash, in *translation pages* of 4-byte entries. Memory holds a directory of
//! these, and a cache of entries (`ftl.cache_kib`, 8 bytes each: page and place). A page whose entry is in
//! the cache costs nothing more. Otherwise another entry is evicted; if it had changed, its translation page
//! is first read and written, with all of its other changed entries. Then the page's own translation page is
//! read.
//!
//! GC changes the places of pages. Entries in the cache are marked as changed; the FTL keeps the others until
//! their translation page is written for any reason. Each host write also updates, behind itself, the
//! translation page that has waited longest. A translation page that GC moves costs nothing more, because the
//! directory is in memory.
//!
//! # What it costs
//! A miss takes one page read, and another read and a program if the evicted entry has changed. With GC each
//! write takes at most one more read and program. The pages of the map come out of the over-provisioned ones,
//! of which every plane reserves two more blocks.
//!
//! A translation page that cannot be read is rebuilt before it is needed again: the FTL reads the OOB areas of
//! all pages that it maps, and writes it again (cause `metadata`); commands whose entries are not cached wait for that.
//! Pages of data that are lost are missing.
//!
//! After a power loss the recovery finds the directory from the OOB areas of all pages, like a page map.
//! Translation pages that lack entries of the cache, or later writes, are updated behind writes in the same
//! way. If cache and directory are in a non-volatile memory (`ftl.map_memory`), nothing is read and the cache
//! stays; only translation pages whose program was interrupted are updated.
//!
//! # Source
//! Gupta, Kim and Urgaonkar, "DFTL: a flash translation layer employing demand-based selective caching of
//! page-level address mappings", ASPLOS 2009: data and translation pages in separate blocks, collected
//! separately (cause `metadata`), here with an open block of each kind in every plane. Ours: one read serves
//! neighbouring pages of one command (at most 64, within 64 aligned pages), and updates after GC are
//! deferred; the paper updates them with each victim. Also ours: what a lost translation page costs. A read of
//! an OOB area takes as long as a read of its page, and the controller knows which blocks to look at.

use super::cache::MapCache;
use super::{BACKEND, BackendKind, Counts, Mapping, MappingEntry, MappingOptions};
use crate::engine::{
    Cause, Change, Command, Flags, Key, Lock, Page, Plan, Release, RepairOutcome, Role, Step,
};
use crate::engine::{Verb, View, Why};
use crate::kernel::{Bits, Permutation, Random};
use crate::options::OptionsPart;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::Range;

pub(super) const ENTRY: MappingEntry = MappingEntry {
    name: "dftl",
    summary: "a page map in flash, with a cache of entries in memory",
    source: include_str!("dftl.rs"),
    below: BackendKind::Mapped,
    least_spare: (0, ""),
    own_victim: None,
    options: &[OptionsPart::of::<DftlOptions>()],
    build: |options| Some(Mapping::Dftl(Box::new(Dftl::new(options)))),
};

/// The cache of the map.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DftlOptions {
    /// Size of the cache of `dftl`, KiB for each member: 8 bytes per entry.
    #[schemars(range(min = 0.03125, max = 16_777_216.0))]
    pub cache_kib: f64,
    /// What the cache of `dftl` holds at time 0: entries of random pages that the workload may use (`warm`), or nothing
    /// (`cold`).
    pub cache_start: CacheStart,
}

/// What the cache of a map holds at time 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheStart {
    /// Entries of random pages that the workload may use.
    Warm,
    /// Nothing.
    Cold,
}

impl Default for DftlOptions {
    fn default() -> Self {
        DftlOptions { cache_kib: 64.0, cache_start: CacheStart::Warm }
    }
}

impl DftlOptions {
    /// The number of entries in the cache.
    #[must_use]
    pub fn entries(&self) -> u32 {
        (self.cache_kib * 1024.0 / CACHED_ENTRY_BYTES) as u32
    }
}

/// Bytes of an entry in the cache: a page and its place.
const CACHED_ENTRY_BYTES: f64 = 8.0;

/// Bytes of an entry in a translation page.
const ENTRY_BYTES: u64 = 4;

/// Plans that rebuild translation pages are in progress under this key.
const REBUILDS: Key = Key(u64::MAX);

/// Most pages that one read of a translation page serves.
const LONGEST: u32 = 64;

/// Entries of a translation page.
fn per_page(page_bytes: u64) -> u32 {
    (page_bytes / ENTRY_BYTES) as u32
}

/// Translation pages of a map of this many pages.
#[must_use]
pub fn translation_pages(pages: u64, page_bytes: u64) -> u64 {
    pages.div_ceil(u64::from(per_page(page_bytes)))
}

/// A page map in flash, cached.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Dftl {
    pages: u32,
    per_page: u32,
    /// Commands are cut so that they touch one translation page, and no more entries than can be taken in at once.
    pub(super) grain: u32,
    cache: MapCache,
    /// Whether the cache has entries at time 0.
    #[serde(skip)]
    starts_warm: bool,
    /// Whether the cache is in a memory that keeps it without power.
    #[serde(skip)]
    survives: bool,
    /// Translation pages of which collection has moved pages that are not in the cache.
    outdated: VecDeque<u32>,
    is_outdated: Bits,
    /// A write has been planned since the last one was brought up to date.
    is_due: bool,
    /// Plans that rebuild translation pages may be in progress.
    #[serde(skip)]
    rebuilds: bool,
    /// Translation pages to be written back; empty between plans.
    leaving: Vec<u32>,
    /// Pages that the member's last change has cost.
    #[serde(skip)]
    losses: Vec<Change>,
    pub(super) counts: Counts,
}

impl Dftl {
    /// With nothing in the cache.
    #[must_use]
    pub fn new(options: &MappingOptions) -> Self {
        let per_page = per_page(options.page_bytes);
        // A command's own entries and those that they push out of the protected half must fit the other half.
        let most = LONGEST.min(options.cache_entries / 4).max(1);
        let grain = (1..=most).rev().find(|grain| per_page.is_multiple_of(*grain)).unwrap_or(1);
        Dftl {
            pages: options.pages,
            per_page,
            grain,
            cache: MapCache::new(options.cache_entries, options.pages, per_page),
            starts_warm: options.warm,
            survives: options.survives,
            outdated: VecDeque::new(),
            is_outdated: Bits::default(),
            is_due: false,
            rebuilds: false,
            leaving: Vec::new(),
            losses: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Fills an empty cache with entries of random pages among these, each equally likely. None of them is changed.
    pub(super) fn warm(&mut self, pages: Range<u32>, seed: u64) {
        if !self.starts_warm || pages.is_empty() || self.cache.has_any() {
            return;
        }
        let order = Permutation::new(pages.end - pages.start, &mut Random::stream(seed, "ftl.map cache"));
        let entries = order.limit().min(self.cache.capacity());
        (0..entries).for_each(|rank| {
            self.cache.insert(pages.start + order.at(rank));
        });
    }

    /// A state that was loaded is in the memory of the drive that it is loaded into.
    pub(super) fn adopt_policies(&mut self, built: &Dftl) {
        self.survives = built.survives;
    }

    pub(super) fn capacity(&self) -> u64 {
        u64::from(self.pages)
    }

    fn translation_of(&self, page: u32) -> u32 {
        page / self.per_page
    }

    fn key(&self, page: Page) -> Key {
        Key(u64::from(page.low() / self.grain))
    }

    /// A command that waits for entries keeps later ones from overtaking it; one whose entries are all cached only
    /// queues. A page that gets another address has two keys, for which [`Dftl::waits`] looks.
    pub(super) fn lock(&self, command: &Command) -> Lock {
        if command.verb == Verb::Remap {
            return Lock::Free;
        }
        let key = self.key(command.start);
        let cached = command.low_pages().all(|page| self.cache.has(page));
        if cached || command.flags.has(Flags::BEFORE) { Lock::Pass(key) } else { Lock::Hold(key) }
    }

    /// Whether a command, and all later ones, wait: a page gets another address while an earlier command to one of both
    /// waits for entries, or a translation page is being rebuilt, which no other plan rebuilds meanwhile.
    pub(super) fn waits(&mut self, command: &Command, view: &View<'_>) -> bool {
        if command.verb == Verb::Remap
            && [command.start, command.to].map(|page| self.key(page)).iter().any(|&key| view.held(key))
        {
            return true;
        }
        if !self.rebuilds || command.flags.has(Flags::BEFORE) {
            return false;
        }
        self.rebuilds = view.held(REBUILDS);
        let cached = |first: Page| {
            (first.low()..first.low() + u32::from(command.count)).all(|page| self.cache.has(page))
        };
        self.rebuilds && !(cached(command.start) && (command.verb != Verb::Remap || cached(command.to)))
    }

    pub(super) fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) {
        let wanted = self.translation_of(command.start.low());
        let host = Step::new(BACKEND, *command, 0);
        if command.flags.has(Flags::BEFORE) {
            plan.push(host);
            if command.verb == Verb::Write && !self.exists(wanted, view) {
                plan.push(self.store(wanted, 0));
            }
            return;
        }
        self.is_due |= command.verb != Verb::Read;
        let misses = self.counts.misses;
        self.want_all(command.start, command);
        let remaps = command.verb == Verb::Remap;
        let other = self.translation_of(if remaps { command.to.low() } else { command.start.low() });
        if remaps {
            self.want_all(command.to, command);
            // It takes effect at once: what follows may be about the new address.
            plan.push(host);
        }
        if self.counts.misses == misses {
            if !remaps {
                plan.push(host);
            }
            return;
        }
        plan.release = Release::Submitted;
        let leaving = std::mem::take(&mut self.leaving);
        let mut stage = self.rewrite(&leaving, view, plan);
        if self.exists(wanted, view) && !leaving.contains(&wanted) {
            stage = self.look_up(wanted, stage, view, plan);
        }
        if other != wanted && self.exists(other, view) && !leaving.contains(&other) {
            stage = self.look_up(other, stage, view, plan);
        }
        self.leaving = leaving;
        self.leaving.clear();
        if !remaps {
            plan.push(host.stage(stage));
        }
    }

    /// The entries of a command's pages are asked for, or those of the addresses that it gives them, from `first` on.
    fn want_all(&mut self, first: Page, command: &Command) {
        for page in first.low()..first.low() + u32::from(command.count) {
            self.want(page);
            if command.verb != Verb::Read {
                self.cache.mark(page);
            }
        }
    }

    /// The entry of a page is asked for.
    fn want(&mut self, page: u32) {
        if self.cache.touch(page) {
            self.counts.hits += 1;
            return;
        }
        self.counts.misses += 1;
        let Some(evicted) = self.cache.insert(page) else { return };
        self.counts.evictions += 1;
        if evicted.dirty {
            self.counts.write_backs += 1;
            let translation = self.translation_of(evicted.page);
            self.bring_up_to_date(translation);
            self.leaving.push(translation);
        }
    }

    /// What collection has moved; and, where a write has been planned, the next translation page that this has made
    /// out of date.
    pub(super) fn hear(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        match why {
            Why::Moved(_, page) if page.low() < self.pages => {
                let translation = self.translation_of(page.low());
                if self.cache.has(page.low()) {
                    self.cache.mark(page.low());
                } else if self.is_outdated.set(translation, true) {
                    self.outdated.push_back(translation);
                }
                false
            }
            Why::Urgent if self.rebuilds && view.held(REBUILDS) => false,
            Why::Urgent => {
                self.is_due = false;
                // Some have been written since, for another reason.
                let Some(translation) = std::iter::from_fn(|| self.outdated.pop_front())
                    .find(|&translation| self.is_outdated.has(translation))
                else {
                    return false;
                };
                self.counts.moved_updates += 1;
                self.bring_up_to_date(translation);
                self.rewrite(&[translation], view, plan);
                true
            }
            _ => false,
        }
    }

    pub(super) fn urgent(&self) -> bool {
        self.is_due && !self.outdated.is_empty()
    }

    /// The power was cut: the cache is empty, unless its memory keeps it. The scan that found the pages has also found
    /// which translation pages do not say where they are; those are brought up to date after writes, like those of
    /// which collection has moved pages.
    pub(super) fn recover(&mut self, view: &View<'_>) {
        let translations = self.pages.div_ceil(self.per_page);
        // What a cache that is still there has changed is written when it leaves that.
        let late = |&translation: &u32| {
            self.is_outdated.has(translation)
                || match self.cache.is_dirty(translation) {
                    true => !self.survives,
                    false => self.is_behind(translation, view),
                }
        };
        let outdated: VecDeque<u32> = (0..translations).filter(late).collect();
        if !self.survives {
            self.cache.empty();
        }
        self.is_outdated = Bits::default();
        outdated.iter().for_each(|&translation| {
            self.is_outdated.set(translation, true);
        });
        (self.outdated, self.is_due) = (outdated, false);
        self.leaving.clear();
    }

    /// Whether a page was written after its translation page.
    fn is_behind(&self, translation: u32, view: &View<'_>) -> bool {
        let written = |page| view.oob(BACKEND, page).map_or(0, |oob| oob.sequence);
        let first = translation * self.per_page;
        let mut pages = first..self.pages.min(first + self.per_page);
        let known = written(self.page_of(translation));
        pages.any(|page| written(Page::of(page)) > known)
    }

    /// All that is known of its pages goes into the translation page.
    fn bring_up_to_date(&mut self, translation: u32) {
        self.cache.clean(translation);
        self.is_outdated.set(translation, false);
    }

    /// Reads and writes translation pages; the stage after that.
    fn rewrite(&mut self, translations: &[u32], view: &View<'_>, plan: &mut Plan) -> u8 {
        for &translation in translations {
            if !self.exists(translation, view) {
                continue;
            }
            if view.has(BACKEND, self.page_of(translation)) {
                plan.push(self.fetch(translation, 0));
            } else {
                self.read_oobs(translation, view, plan);
            }
        }
        let stage = u8::from(!plan.steps.is_empty());
        for &translation in translations {
            plan.push(self.store(translation, stage));
        }
        stage + u8::from(!translations.is_empty())
    }

    /// Reads a translation page, or works it out and writes it again; the stage after that.
    fn look_up(&mut self, translation: u32, stage: u8, view: &View<'_>, plan: &mut Plan) -> u8 {
        if view.has(BACKEND, self.page_of(translation)) {
            plan.push(self.fetch(translation, stage));
            return stage + 1;
        }
        let read = plan.steps.len();
        self.read_oobs(translation, view, plan);
        plan.steps[read..].iter_mut().for_each(|step| step.stage = stage);
        let next = stage + u8::from(plan.steps.len() > read);
        plan.push(self.store(translation, next));
        next + 1
    }

    /// Reads the OOB areas of all pages that a translation page maps and that can be read.
    fn read_oobs(&mut self, translation: u32, view: &View<'_>, plan: &mut Plan) {
        self.rebuilds = true;
        plan.under = Some(REBUILDS);
        let first = translation * self.per_page;
        let pages = first..self.pages.min(first + self.per_page);
        for page in pages.map(Page::of).filter(|&page| view.holds(BACKEND, page) && view.has(BACKEND, page)) {
            let stage = plan.steps.last().map_or(0, |step| step.stage);
            plan.push(Step::fetch(BACKEND, page, Role::Plain, Cause::Metadata).stage(stage));
        }
    }

    // ---------------------------------------------------------------- failures

    /// A translation page cannot be read: the OOB areas of its pages say the same.
    pub(super) fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
        let page = failed[failed.len() - 1].command.start.low();
        let Some(translation) = page.checked_sub(self.pages) else { return RepairOutcome::Lost };
        // Reads that fail while the OOB areas are being read for another one need not read them again.
        if !(self.rebuilds && view.held(REBUILDS)) {
            self.read_oobs(translation, view, plan);
        }
        let stage = u8::from(!plan.steps.is_empty());
        plan.push(self.store(translation, stage));
        RepairOutcome::Planned
    }

    /// What has become of the member's pages: those of data are this map's own; translation pages that cannot be read
    /// are rebuilt after writes, if no command needs them before. A new member has nothing.
    pub(super) fn member(&mut self, change: Change) {
        if change == Change::Replaced {
            self.cache.empty();
            self.outdated.clear();
            self.is_outdated = Bits::default();
        }
        let Some(page) = change.page() else { return };
        let Some(translation) = page.low().checked_sub(self.pages) else { return self.losses.push(change) };
        if !matches!(change, Change::Refused(_)) && self.is_outdated.set(translation, true) {
            self.outdated.push_back(translation);
        }
    }

    pub(super) fn losses(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.losses)
    }

    fn page_of(&self, translation: u32) -> Page {
        Page::of(self.pages + translation)
    }

    /// One that was never written says that its pages are nowhere.
    fn exists(&self, translation: u32, view: &View<'_>) -> bool {
        let page = self.page_of(translation);
        view.holds(BACKEND, page) || !view.has(BACKEND, page)
    }

    fn fetch(&self, translation: u32, stage: u8) -> Step {
        Step::fetch(BACKEND, self.page_of(translation), Role::Plain, Cause::Metadata).stage(stage)
    }

    fn store(&self, translation: u32, stage: u8) -> Step {
        Step::store(BACKEND, self.page_of(translation), Role::Plain, Cause::Metadata).stage(stage)
    }
}
