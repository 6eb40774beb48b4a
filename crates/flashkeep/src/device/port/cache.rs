//! The write cache: sectors that have been written and are not behind the port yet. It evicts the page that was used
//! longest ago, or with it the rest of its stripe.

use super::lru::{Held, Lru, Slot};

/// How often the cache had what was asked for, in sectors.
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
    /// Those since `before`.
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

/// The cache; of each page it holds also a `T`.
#[derive(Clone, Debug)]
pub struct Cache<T> {
    lru: Lru<T>,
    /// The pages of a stripe, which are evicted together; none if each page is evicted alone.
    stripe: Option<u32>,
    /// Pages on their way out, kept for their memory.
    leaving: Vec<(u32, Held<T>)>,
    /// Sector hits and misses.
    pub hits: Hits,
}

impl<T: Copy + Default> Cache<T> {
    /// A cache for so many sectors, if there is any, which evicts stripes of so many pages together, if it does.
    #[must_use]
    pub fn new(sectors: u64, stripe: Option<u32>) -> Option<Self> {
        let cache = || Cache { lru: Lru::new(sectors), stripe, leaving: Vec::new(), hits: Hits::default() };
        (sectors > 0).then(cache)
    }

    /// Whether it holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lru.is_empty()
    }

    /// What it holds of a page.
    #[must_use]
    pub fn get(&self, page: u32) -> Option<Held<T>> {
        self.lru.get(page)
    }

    /// What is known of a page that it holds.
    pub fn set(&mut self, page: u32, what: T) {
        self.lru.set(page, what);
    }

    /// Forgets a page.
    pub fn remove(&mut self, page: u32) {
        self.lru.remove(page);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.lru.clear();
    }

    /// Sectors of a page are read: what it holds of the page, and which of them it does not have.
    pub fn read(&mut self, page: u32, mask: u64) -> (Option<Held<T>>, u64) {
        let held = self.lru.touch(page);
        let hit = held.map_or(0, |held| held.sectors) & mask;
        let missing = mask & !hit;
        self.hits.read_hits += u64::from(hit.count_ones());
        self.hits.read_misses += u64::from(missing.count_ones());
        (held, missing)
    }

    /// Sectors of a page come in, of which `what` is known where it does not hold the page yet: those that it has no
    /// place for, to be [added](Cache::add) to its slot once there is [room](Cache::make_room).
    pub fn open(&mut self, page: u32, mask: u64, what: T) -> (Slot, u64) {
        let slot = self.lru.touch_slot(page);
        let hit = slot.map_or(0, |slot| self.lru.at(slot).sectors) & mask;
        let needed = mask & !hit;
        self.hits.write_hits += u64::from(hit.count_ones());
        self.hits.write_misses += u64::from(needed.count_ones());
        (slot.unwrap_or_else(|| self.lru.insert(page, Held { sectors: 0, what })), needed)
    }

    /// Gives up what was used longest ago, but for the page `kept`, where sectors have no room; whether it did. Who asks
    /// takes what leaves, and asks again. The page itself was just used, so it would be given up last, and there is
    /// room for a page.
    pub fn make_room(&mut self, sectors: u64, kept: u32) -> bool {
        if self.lru.free() >= u64::from(sectors.count_ones()) {
            return false;
        }
        let (victim, held) = self.lru.evict().expect("a full buffer holds something");
        let Some(stripe) = self.stripe else {
            self.leaving.push((victim, held));
            return true;
        };
        let first = victim - victim % stripe;
        for page in (first..first + stripe).filter(|&page| page != kept) {
            let gone = if page == victim { Some(held) } else { self.lru.remove(page) };
            self.leaving.extend(gone.map(|held| (page, held)));
        }
        true
    }

    /// What leaves, in order of pages; it is [given back](Cache::gone) for its memory.
    #[must_use]
    pub fn leaving(&mut self) -> Vec<(u32, Held<T>)> {
        std::mem::take(&mut self.leaving)
    }

    /// What left has left.
    pub fn gone(&mut self, mut leaving: Vec<(u32, Held<T>)>) {
        leaving.clear();
        self.leaving = leaving;
    }

    /// Sectors for which there is room now, and what is known of their page from now on.
    pub fn add(&mut self, slot: Slot, sectors: u64, what: T) {
        self.lru.add(slot, sectors, what);
    }
}

/// How many of these pages, from the first on, are whole ones that lie side by side.
#[must_use]
pub(super) fn side_by_side<T>(pages: &[(u32, Held<T>)], whole: u64) -> usize {
    let first = pages[0].0;
    (first..).zip(pages).take_while(|(page, (other, held))| held.sectors == whole && other == page).count()
}
