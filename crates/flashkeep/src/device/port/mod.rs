//! The port of a device: its link, its write cache or clean copies, and the one place where the old part of a page is
//! merged with the new. A lone drive has one, and so has every member of an array that needs one.
//!
//! A [`Port`] decides which sectors are served by the cache, which pages are read and written below it, and which are
//! merged. It has no clock and no queue: its owner (the executor) hands in requests and carries out what the port asks
//! for through [`PortBackend`].

mod backend;
mod cache;
mod clean;
mod flush;
mod link;
mod lru;
mod options;
mod pages;
mod protected;
mod write;

pub use backend::{Fragment, Merge, PartialPages, PortBackend, PortOptions, Run};
pub use cache::{EvictedPages, Hits, WriteCache};
use clean::CleanCopies;
pub use flush::FlushRule;
pub use link::{Crossing, Link, LinkTimes, ps_per_sector};
pub use lru::{CachedSectors, Lru};
pub use options::{
    BufferSpec, DRAM, DramEnergySpec, DramOptions, Evict, FLUSH, Flush, FlushBatch, IdleFlush, WRITE_POLICY,
    Watermarks, WriteBackOptions, WritePolicy,
};
pub use pages::{SectorMap, whole};
use protected::ProtectedCache;

use super::command::{Origin, Sectors};
use super::contents::Contents;
use crate::kernel::{SimTime, Sparse};

/// A page in the cache.
#[derive(Clone, Copy, Debug, Default)]
struct CachedContents<C> {
    newest: C,
    /// Where its last write came from.
    origin: Origin,
}

/// A port: its cache, and which pages exist below it. The owner keeps the link.
#[derive(Clone, Debug)]
pub struct Port<C> {
    parts: PartialPages,
    pages: SectorMap,
    cache: Option<WriteCache<CachedContents<C>>>,
    /// Instead of a cache: copies of what is below the port.
    copies: Option<Box<CleanCopies<C>>>,
    /// Pages that are written as one logical page: they leave the cache together, and those that are not in the cache
    /// are rewritten unchanged.
    logical_page: u32,
    /// The contents of each page below the port; empty if contents are not kept.
    stored: Sparse<C>,
    protection: ProtectedCache<C>,
}

impl<C: Contents> Port<C> {
    /// The port of a device of `pages` pages of `page_sectors` sectors, with a cache for `cache_sectors`.
    #[must_use]
    pub fn new(
        pages: u64,
        page_sectors: u32,
        cache_sectors: u64,
        evicts: EvictedPages,
        parts: PartialPages,
    ) -> Self {
        // Requests for pages as they are never ask for single sectors.
        let known = if parts == PartialPages::AsTheyAre { 0 } else { pages };
        Port {
            parts,
            pages: SectorMap::new(known, page_sectors),
            cache: WriteCache::new(cache_sectors, evicts),
            copies: None,
            logical_page: 1,
            stored: Sparse::default(),
            protection: ProtectedCache::default(),
        }
    }

    /// The same for a device that writes this many pages as one.
    #[must_use]
    pub fn with_logical_pages(self, logical_page: u32, cache_sectors: u64, evicts: EvictedPages) -> Self {
        let evicts = match evicts {
            EvictedPages::Stripe(stripe) => {
                // Stripes of whole logical pages.
                let mut several = (1..=logical_page).map(|n| n * stripe);
                let whole = several.find(|pages| pages.is_multiple_of(logical_page));
                whole.map_or(EvictedPages::Stripe(stripe), EvictedPages::Stripe)
            }
            EvictedPages::Oldest(_) if logical_page > 1 => EvictedPages::Stripe(logical_page),
            EvictedPages::Run(_) => EvictedPages::Run(logical_page),
            pages => pages,
        };
        let cache = WriteCache::new(cache_sectors, evicts);
        Port { cache, logical_page, ..self }
    }

    /// The port with these options.
    #[must_use]
    pub fn of(options: &PortOptions) -> Self {
        let PortOptions { pages, page_sectors, cache_sectors, evicts, parts, logical_page, .. } = *options;
        Port::new(pages, page_sectors, cache_sectors, evicts, parts)
            .with_logical_pages(logical_page.max(1), cache_sectors, evicts)
            .with_flush(options.flush)
            .with_copies(options.copied_sectors)
            .with_protection(options.protected)
    }

    /// The same with clean copies of this many sectors.
    #[must_use]
    pub fn with_copies(self, sectors: u64) -> Self {
        Port { copies: CleanCopies::new(sectors), ..self }
    }

    /// Which sectors of each page exist below the port.
    #[must_use]
    #[inline]
    pub fn pages(&self) -> &SectorMap {
        &self.pages
    }

    /// The same, mutable.
    #[inline]
    pub fn pages_mut(&mut self) -> &mut SectorMap {
        &mut self.pages
    }

    /// How it handles parts of pages.
    #[must_use]
    #[inline]
    pub fn parts(&self) -> PartialPages {
        self.parts
    }

    /// Whether there is a cache, which may hold the only newest version of a page.
    #[must_use]
    #[inline]
    pub fn has_cache(&self) -> bool {
        self.cache.is_some()
    }

    /// Divides the room of its empty write cache among shares from 1 on, in sectors; share 0 keeps the rest.
    pub fn divide_cache(&mut self, shares: &[u64]) {
        if let Some(cache) = &mut self.cache {
            cache.divide(shares);
        }
    }

    /// Whether it keeps clean copies, which serve reads.
    #[must_use]
    #[inline]
    pub fn has_copies(&self) -> bool {
        self.copies.is_some()
    }

    /// A request that reads from below the port ends at an instant, with these contents at each of its places; none
    /// where a read failed. To be called once for each such request.
    pub fn end_reads(&mut self, request: u32, at: SimTime, contents: impl Fn(u32) -> Option<C>) {
        if let Some(copies) = &mut self.copies {
            copies.end_request(request, at, contents);
        }
    }

    /// Drops all clean copies: what has been written may not be below the port.
    pub fn drop_copies(&mut self) {
        if let Some(copies) = &mut self.copies {
            copies.clear();
        }
    }

    /// The sectors that the cache holds.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.cache.as_ref().map_or(0, |cache| cache.held())
    }

    /// Whether the cache holds pages.
    #[must_use]
    pub fn holds_pages(&self) -> bool {
        self.cache.as_ref().is_some_and(|cache| !cache.is_empty())
    }

    /// Sector hits and misses of the cache, or of the clean copies.
    #[must_use]
    pub fn hits(&self) -> Option<Hits> {
        let of_copies = || self.copies.as_ref().map(|copies| copies.hits);
        self.cache.as_ref().map(|cache| cache.hits).or_else(of_copies)
    }

    /// The newest contents of a page that is in the cache.
    #[must_use]
    pub fn newest(&self, page: u64) -> Option<C> {
        self.cache.as_ref()?.get(page).map(|held| held.what.newest)
    }

    /// The sectors that the cache holds of a page.
    #[must_use]
    pub fn cached(&self, page: u64) -> u64 {
        self.cache.as_ref().and_then(|cache| cache.get(page)).map_or(0, |held| held.sectors)
    }

    /// Pages of which the cache holds sectors.
    pub fn cached_pages(&self) -> impl Iterator<Item = u64> + '_ {
        self.cache.iter().flat_map(|cache| cache.pages().map(|(page, _)| page))
    }

    /// The device failed: the cache loses its contents.
    pub fn fail(&mut self) {
        self.empty_cache();
        self.protection.forget_everything();
    }

    fn empty_cache(&mut self) {
        if let Some(cache) = &mut self.cache {
            cache.clear();
        }
        self.drop_copies();
    }

    /// The power was cut: the same, unless the cache is protected, and nothing is on its way below the port any more.
    pub fn cut_power(&mut self) {
        self.save_protected();
        self.empty_cache();
        if let Some(cache) = &mut self.cache {
            cache.write_back.cut();
        }
        if let Some(copies) = &mut self.copies {
            copies.cut();
        }
    }

    /// After a power cut, a page is found to hold this below the port. Its sectors stay as recorded.
    pub fn fall_back(&mut self, page: u64, contents: C) {
        if contents == C::default() {
            return self.pages.set(page, 0);
        }
        if self.pages.sectors(page) == 0 {
            self.pages.set(page, self.pages.whole());
        }
        self.set_stored(page, contents);
    }

    /// The device below the port is replaced by an empty one.
    pub fn forget(&mut self) {
        self.fail();
        self.pages = SectorMap::new(self.pages.len(), self.pages.page_sectors());
        self.stored = Sparse::default();
    }

    /// The sectors that exist below the port, and the contents of its pages as tokens.
    #[must_use]
    pub fn state(&self) -> (&SectorMap, Vec<(u64, u64)>) {
        let stored = |(page, _)| (page, self.stored(page).stamp());
        (&self.pages, self.stored.iter().map(stored).collect())
    }

    /// Restores the state that another run saved.
    pub fn restore(&mut self, pages: SectorMap, stored: Vec<(u64, u64)>) {
        self.pages = pages;
        stored.into_iter().for_each(|(page, token)| self.set_stored(page, C::token(token)));
    }

    /// The contents of a page below the port; the default if it does not exist.
    #[must_use]
    #[inline]
    pub fn stored(&self, page: u64) -> C {
        stored(&self.pages, &self.stored, page)
    }

    /// The pages whose contents below the port are not those of their creation, or were not.
    pub fn changed_pages(&self) -> impl Iterator<Item = u64> {
        self.stored.iter().map(|(page, _)| page)
    }

    /// Sets the contents of a page below the port.
    #[inline]
    pub fn set_stored(&mut self, page: u64, contents: C) {
        if C::KEEP && page < self.pages.len() {
            self.stored.set(page, contents.plus(1, C::initial(page)));
        }
    }

    // ---------------------------------------------------------------- requests

    /// Reads a fragment; false if the controller's memory had all of it.
    #[inline]
    pub fn read(&mut self, fragment: Fragment, at: u32, behind: &mut impl PortBackend<C>) -> bool {
        if self.cache.is_some() {
            let mut asked = false;
            for n in 0..fragment.count {
                asked |= self.read_through(fragment.page + u64::from(n), fragment.mask, at + n, behind);
            }
            return asked;
        }
        if self.copies.is_some() {
            return self.read_with_copies(fragment, at, behind);
        }
        self.read_behind(fragment, at, behind, |_, _, _| {});
        true
    }

    /// Reads a fragment below the port; `note` gets each run, and the index of its first page.
    #[inline]
    fn read_behind<B: PortBackend<C>>(
        &self,
        fragment: Fragment,
        at: u32,
        behind: &mut B,
        mut note: impl FnMut(&mut B, Run, u32),
    ) {
        let (pages, contents) = (&self.pages, &self.stored);
        if self.parts != PartialPages::Merge {
            let sectors = pages.part(fragment.mask).unwrap_or(Sectors::ALL);
            let Fragment { page, count, continues, .. } = fragment;
            let run = Run { page, count, sectors, continues };
            note(behind, run, at);
            return behind.read(run, at, |page| stored(pages, contents, page), None);
        }
        let mut page = fragment.page;
        let end = fragment.page + u64::from(fragment.count);
        while page < end {
            // Without a cache, whole pages are read, or the part of them that exists; whole pages as one run.
            let run = (page..end).take_while(|&page| pages.is_whole(page)).count() as u32;
            let sectors = if run > 0 { Sectors::ALL } else { Sectors::first(pages.count(page)) };
            let run = Run { page, count: run.max(1), sectors, continues: false };
            let place = at + (page - fragment.page) as u32;
            note(behind, run, place);
            behind.read(run, place, |page| stored(pages, contents, page), None);
            page += u64::from(run.count);
        }
    }

    /// Reads the pages of a fragment of which there are no copies below the port, as if there were no memory.
    #[inline(never)]
    fn read_with_copies(&mut self, fragment: Fragment, at: u32, behind: &mut impl PortBackend<C>) -> bool {
        let mut copies = self.copies.take().expect("there are copies");
        copies.go_on(behind.now(), behind.failures());
        let found = |copies: &CleanCopies<C>, page| {
            let held = copies.sectors(page);
            // A request for pages as they are asks for all that exists of them.
            let known = if self.parts == PartialPages::AsTheyAre { held } else { self.pages.sectors(page) };
            let needed = fragment.mask & known;
            (needed != 0 && needed & !held == 0).then_some(needed)
        };
        let end = fragment.page + u64::from(fragment.count);
        let (mut page, mut asked) = (fragment.page, false);
        while page < end {
            if let Some(sectors) = found(&copies, page) {
                behind.copied(page, at + (page - fragment.page) as u32, copies.hit(page, sectors));
                page += 1;
                continue;
            }
            let count = (page..end).take_while(|&page| found(&copies, page).is_none()).count() as u32;
            (0..count).for_each(|_| copies.miss(fragment.mask));
            let continues = fragment.continues && page + u64::from(count) == end;
            let rest = Fragment { page, count, continues, ..fragment };
            self.read_behind(rest, at + (page - fragment.page) as u32, behind, |behind, run, at| {
                let (request, place) = behind.places(at);
                for n in 0..run.count {
                    let page = run.page + u64::from(n);
                    let sectors = match self.parts {
                        PartialPages::AsTheyAre => self.pages.mask(run.sectors),
                        PartialPages::Merge => self.pages.sectors(page),
                        PartialPages::PassOn => self.pages.mask(run.sectors) & self.pages.sectors(page),
                    };
                    copies.begin_read(request, page, sectors, place + n);
                }
            });
            (page, asked) = (page + u64::from(count), true);
        }
        self.copies = Some(copies);
        asked
    }

    fn read_through(&mut self, page: u64, mask: u64, at: u32, behind: &mut impl PortBackend<C>) -> bool {
        let (held, missing) = self.cache.as_mut().expect("there is a cache").read(page, mask);
        let newest = held.map(|held| held.what.newest);
        if missing == 0 || (self.parts == PartialPages::AsTheyAre && held.is_some()) {
            behind.hit(at, newest.unwrap_or_default());
            return false;
        }
        let sectors = match self.parts {
            PartialPages::Merge => Sectors::first(self.pages.sectors_of(missing)),
            // A request for pages as they are asks for all that exists of them.
            PartialPages::AsTheyAre => Sectors::first(self.pages.sectors_of(mask)),
            PartialPages::PassOn => self.pages.part(missing).unwrap_or(Sectors::ALL),
        };
        let stored = self.stored(page);
        behind.read(Run::part(page, sectors), at, |_| stored, newest);
        true
    }

    /// Trims whole pages, which are zeros from now on; a page that is trimmed in part stays as it is. False if that
    /// takes only the controller's memory time; a device with a port of its own below this one takes its time.
    #[inline]
    pub fn trim(&mut self, fragment: Fragment, at: u32, behind: &mut impl PortBackend<C>) -> bool {
        let Fragment { page: first, count, mask, continues } = fragment;
        self.forget_copies(first, count);
        if mask != self.pages.whole() {
            if let Some(sectors) = self.pages.part(mask)
                && self.parts == PartialPages::PassOn
                && behind.is_healthy()
            {
                behind.trim(Run { page: first, count, sectors, continues }, at);
                return true;
            }
            return false;
        }
        for page in first..first + u64::from(count) {
            if self.parts != PartialPages::AsTheyAre {
                self.pages.set(page, 0);
            }
            if let Some(cache) = &mut self.cache {
                cache.remove(page);
            }
            self.protection.forget(page);
        }
        let continues = continues && self.parts == PartialPages::PassOn;
        behind.trim(Run { continues, ..Run::whole(first, count) }, at);
        self.parts == PartialPages::PassOn
    }

    // ---------------------------------------------------------------- without time

    /// Reads pages. The cache serves pages of which it holds sectors, as if it held them whole.
    pub fn peek(&mut self, first: u64, count: u32, at: u32, behind: &mut impl PortBackend<C>) {
        if !self.holds_pages() {
            let (pages, contents) = (&self.pages, &self.stored);
            return behind.read(Run::whole(first, count), at, |page| stored(pages, contents, page), None);
        }
        for n in 0..count {
            let page = first + u64::from(n);
            let stored = self.stored(page);
            match self.newest(page) {
                Some(newest) => behind.hit(at + n, newest),
                None => behind.read(Run::whole(page, 1), at + n, |_| stored, None),
            }
        }
    }

    /// Creates a part of a page before time 0 or, at first touch, as if it had existed.
    pub fn create(&mut self, page: u64, mask: u64, at: u32, contents: C, behind: &mut impl PortBackend<C>) {
        let old = self.pages.sectors(page);
        let contents = if old == 0 { contents } else { self.stored(page) };
        if old == 0 {
            self.forget_copies(page, 1);
        }
        self.pages.set(page, old | mask);
        self.set_stored(page, contents);
        if self.parts == PartialPages::PassOn && behind.is_healthy() {
            for sectors in self.pages.runs(mask & !old) {
                behind.create(Run::part(page, sectors), at, |_| contents);
            }
        } else if old == 0 {
            behind.create(Run::whole(page, 1), at, |_| contents);
        }
    }

    /// Creates whole pages before time 0, or writes them without time. A page in the cache is changed there only.
    pub fn create_run(
        &mut self,
        first: u64,
        count: u32,
        at: u32,
        contents: impl Fn(u64) -> C,
        behind: &mut impl PortBackend<C>,
    ) {
        self.protection.forget_all(first, count);
        self.forget_copies(first, count);
        if !self.holds_pages() {
            self.note_run(first, count, &contents);
            return behind.create(Run::whole(first, count), at, contents);
        }
        for page in first..first + u64::from(count) {
            let cache = self.cache.as_mut().expect("it holds pages");
            if let Some(held) = cache.get(page) {
                cache.set(page, CachedContents { newest: contents(page), ..held.what });
                behind.hit(at + (page - first) as u32, C::default());
            } else {
                self.note_run(page, 1, &contents);
                behind.create(Run::whole(page, 1), at + (page - first) as u32, &contents);
            }
        }
    }
}

/// The contents of a page below a port.
#[inline]
fn stored<C: Contents>(pages: &SectorMap, contents: &Sparse<C>, page: u64) -> C {
    if C::KEEP && !pages.is_empty() && pages.sectors(page) != 0 {
        contents.get(page).plus(1, C::initial(page))
    } else {
        C::default()
    }
}
