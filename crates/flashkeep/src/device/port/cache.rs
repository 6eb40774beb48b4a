//! The write cache: sectors that have been written but not yet passed to the device below the port. It evicts the
//! least recently used page, or that page with the rest of its stripe, or with the pages beside it.

use super::flush::WriteBack;
use super::lru::{CachedSectors, Lru, LruSlot};

/// Hits and misses of the cache, in sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// Sectors read from the cache.
    pub read_hits: u64,
    /// Sectors read that it did not hold.
    pub read_misses: u64,
    /// Sectors written again while it held them.
    pub write_hits: u64,
    /// Sectors written that it did not hold.
    pub write_misses: u64,
}

impl Hits {
    /// The difference since `before`.
    #[must_use]
    pub fn since(self, before: Hits) -> Hits {
        Hits {
            read_hits: self.read_hits - before.read_hits,
            read_misses: self.read_misses - before.read_misses,
            write_hits: self.write_hits - before.write_hits,
            write_misses: self.write_misses - before.write_misses,
        }
    }
}

/// What a cache evicts at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictedPages {
    /// This many pages, the least recently used ones.
    Oldest(u32),
    /// The least recently used page with the rest of its stripe of this many pages.
    Stripe(u32),
    /// The least recently used page with its neighbours, in groups of this many pages: as far as the cache holds some
    /// page of each group.
    Run(u32),
}

/// The most pages of a run: 1 MiB in pages of 4 KiB.
const LONGEST_RUN: u32 = 256;

impl Default for EvictedPages {
    fn default() -> EvictedPages {
        EvictedPages::Oldest(1)
    }
}

/// The cache; it holds a `T` for each page.
#[derive(Clone, Debug)]
pub struct WriteCache<T> {
    lru: Lru<T>,
    evicts: EvictedPages,
    /// Pages that are being evicted; the list is kept to reuse its memory.
    leaving: Vec<(u64, CachedSectors<T>)>,
    pub(super) write_back: WriteBack,
    /// Sector hits and misses.
    pub hits: Hits,
}

impl<T: Copy + Default> WriteCache<T> {
    /// A cache for this many sectors, none for 0.
    #[must_use]
    pub fn new(sectors: u64, evicts: EvictedPages) -> Option<Self> {
        let cache = || WriteCache {
            lru: Lru::new(sectors),
            evicts,
            leaving: Vec::new(),
            write_back: WriteBack::default(),
            hits: Hits::default(),
        };
        (sectors > 0).then(cache)
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lru.is_empty()
    }

    /// The number of sectors that it holds; those that are being written back are not among them.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.lru.held()
    }

    /// The sectors that it holds of a page.
    #[must_use]
    pub fn get(&self, page: u64) -> Option<CachedSectors<T>> {
        self.lru.get(page)
    }

    /// The `T` of a page that it holds.
    pub fn set(&mut self, page: u64, what: T) {
        self.lru.set(page, what);
    }

    /// Divides its room while it is empty: these many sectors are for pages of the shares from 1 on, and the rest is for
    /// those of share 0.
    pub fn divide(&mut self, shares: &[u64]) {
        self.lru = self.lru.divided(shares);
    }

    /// Puts a page of a share back that it held before, with or without room.
    pub fn restore(&mut self, page: u64, held: CachedSectors<T>, share: u8) {
        self.lru.insert(page, held, share);
    }

    /// Removes a page.
    pub fn remove(&mut self, page: u64) {
        self.lru.remove(page);
    }

    /// The pages that it holds, in no particular order of use.
    pub fn pages(&self) -> impl Iterator<Item = (u64, CachedSectors<T>)> + '_ {
        self.lru.pages()
    }

    /// Removes all pages.
    pub fn clear(&mut self) {
        self.lru.clear();
    }

    /// Reads sectors of a page: returns what the cache holds of the page, and the sectors that it lacks.
    pub fn read(&mut self, page: u64, mask: u64) -> (Option<CachedSectors<T>>, u64) {
        let held = self.lru.touch(page);
        let hit = held.map_or(0, |held| held.sectors) & mask;
        let missing = mask & !hit;
        self.hits.read_hits += u64::from(hit.count_ones());
        self.hits.read_misses += u64::from(missing.count_ones());
        (held, missing)
    }

    /// Writes sectors of a page, with `what` if the cache does not hold the page yet; the page counts against a share from
    /// now on. Returns the page's slot and the sectors that the cache does not hold yet; the caller makes
    /// [room](WriteCache::make_room) and [adds](WriteCache::add) them.
    pub fn open(&mut self, page: u64, mask: u64, what: T, share: u8) -> (LruSlot, u64) {
        let slot = self.lru.touch_slot(page).map(|slot| self.lru.move_to(slot, share));
        let hit = slot.map_or(0, |slot| self.lru.at(slot).sectors) & mask;
        let needed = mask & !hit;
        self.hits.write_hits += u64::from(hit.count_ones());
        self.hits.write_misses += u64::from(needed.count_ones());
        let empty = CachedSectors { sectors: 0, what };
        (slot.unwrap_or_else(|| self.lru.insert(page, empty, share)), needed)
    }

    /// If there is no room for the sectors, evicts the least recently used pages or stripe of the share of the page `kept`,
    /// but not this page; returns whether it did. The caller handles the evicted pages and calls again. `kept` was just
    /// used, so it would be evicted last, and there is room for one page. Pages that are being written back take room
    /// until they are written; if nothing else is left, the cache holds more than its capacity until then.
    pub fn make_room(&mut self, sectors: u64, kept: u64) -> bool {
        let needed = u64::from(sectors.count_ones());
        let share = self.lru.part_of(kept).expect("the page has been opened");
        let fits = self.lru.free_of(share) >= needed;
        if fits && self.lru.free() >= needed + self.write_back.leaving {
            return false;
        }
        let evicts = self.lru.holds_others(share, kept) && self.evict(share, Some(kept));
        assert!(evicts || fits, "a full buffer holds something");
        evicts
    }

    /// The page that is evicted next from the share of this page.
    #[must_use]
    pub fn next_victim(&self, beside: u64) -> Option<u64> {
        self.lru.oldest(self.lru.part_of(beside)?)
    }

    /// Evicts the least recently used pages or stripe of the share that is fullest for its size; false if there is none.
    pub fn evict_any(&mut self) -> bool {
        self.lru.fullest().is_some_and(|share| self.evict(share, None))
    }

    /// Evicts the least recently used pages or stripe of a share, except the page `kept`; false if there is none.
    fn evict(&mut self, share: usize, kept: Option<u64>) -> bool {
        let Some((victim, held)) = self.lru.evict(share) else { return false };
        let (first, count) = match self.evicts {
            EvictedPages::Stripe(stripe) => (victim - victim % u64::from(stripe), stripe),
            EvictedPages::Run(group) => self.run_around(victim, u64::from(group)),
            EvictedPages::Oldest(pages) => {
                self.leaving.push((victim, held));
                for _ in 1..pages {
                    if kept.is_some_and(|kept| !self.lru.holds_others(share, kept)) {
                        break;
                    }
                    self.leaving.extend(self.lru.evict(share));
                }
                return true;
            }
        };
        for page in (first..first + u64::from(count)).filter(|&page| Some(page) != kept) {
            let gone = if page == victim { Some(held) } else { self.lru.remove(page) };
            self.leaving.extend(gone.map(|held| (page, held)));
        }
        true
    }

    /// The first page and the number of pages of the run around a page.
    fn run_around(&self, page: u64, group: u64) -> (u64, u32) {
        let holds = |number: u64| {
            let first = number.checked_mul(group).filter(|first| first.checked_add(group).is_some());
            first.is_some_and(|first| (first..first + group).any(|page| self.lru.get(page).is_some()))
        };
        let (mut first, mut last) = (page / group, page / group);
        let most = (u64::from(LONGEST_RUN) / group).max(1);
        while last - first + 1 < most && first > 0 && holds(first - 1) {
            first -= 1;
        }
        while last - first + 1 < most && holds(last + 1) {
            last += 1;
        }
        (first * group, ((last - first + 1) * group) as u32)
    }

    /// The evicted pages in order; the caller [returns](WriteCache::gone) the list so that its memory is reused.
    #[must_use]
    pub fn leaving(&mut self) -> Vec<(u64, CachedSectors<T>)> {
        std::mem::take(&mut self.leaving)
    }

    /// Takes back the list of evicted pages.
    pub fn gone(&mut self, mut leaving: Vec<(u64, CachedSectors<T>)>) {
        leaving.clear();
        self.leaving = leaving;
    }

    /// Adds sectors for which there is room now, and sets the `T` of their page.
    pub fn add(&mut self, slot: LruSlot, sectors: u64, what: T) {
        self.lru.add(slot, sectors, what);
    }
}

/// How many of these pages, from the first on, are whole and consecutive.
#[must_use]
pub(super) fn side_by_side<T>(pages: &[(u64, CachedSectors<T>)], whole: u64) -> usize {
    let first = pages[0].0;
    (first..).zip(pages).take_while(|(page, (other, held))| held.sectors == whole && other == page).count()
}
