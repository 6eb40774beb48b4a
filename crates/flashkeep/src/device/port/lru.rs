//! The pages that the cache holds, least recently used first.

use crate::kernel::FixedMap;

/// The part of a page that the cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CachedSectors<T> {
    /// The sectors, all newer than those behind the port.
    pub sectors: u64,
    /// The owner's data about the page.
    pub what: T,
}

/// A page's place while the cache holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LruSlot(u32);

#[derive(Clone, Debug)]
struct LruNode<T> {
    page: u32,
    held: CachedSectors<T>,
    newer: u32,
    older: u32,
}

/// A list in order of use, and each page's place in it. Node 0 is both ends.
#[derive(Clone, Debug)]
pub struct Lru<T> {
    nodes: Vec<LruNode<T>>,
    spare: Vec<u32>,
    place: FixedMap<u32, u32>,
    free: u64,
}

impl<T: Copy + Default> Lru<T> {
    /// Room for `sectors` sectors.
    #[must_use]
    pub fn new(sectors: u64) -> Self {
        let ends = LruNode { page: u32::MAX, held: CachedSectors::default(), newer: 0, older: 0 };
        Lru { nodes: vec![ends], spare: Vec::new(), place: FixedMap::default(), free: sectors }
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.place.is_empty()
    }

    /// Free room, in sectors.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.free
    }

    /// What it holds of a page.
    #[must_use]
    pub fn get(&self, page: u32) -> Option<CachedSectors<T>> {
        self.place.get(&page).map(|&at| self.nodes[at as usize].held)
    }

    /// The same, and marks the page as used now.
    pub fn touch(&mut self, page: u32) -> Option<CachedSectors<T>> {
        self.touch_slot(page).map(|slot| self.at(slot))
    }

    /// A page's place; marks the page as used now.
    #[inline]
    pub fn touch_slot(&mut self, page: u32) -> Option<LruSlot> {
        let at = *self.place.get(&page)?;
        self.unlink(at);
        self.link_newest(at);
        Some(LruSlot(at))
    }

    /// The part that it holds of the page in a slot.
    #[inline]
    #[must_use]
    pub fn at(&self, LruSlot(at): LruSlot) -> CachedSectors<T> {
        self.nodes[at as usize].held
    }

    /// Adds a page as the most recently used one.
    pub fn insert(&mut self, page: u32, held: CachedSectors<T>) -> LruSlot {
        let node = LruNode { page, held, newer: 0, older: 0 };
        let at = if let Some(at) = self.spare.pop() {
            self.nodes[at as usize] = node;
            at
        } else {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        };
        self.free -= u64::from(held.sectors.count_ones());
        self.place.insert(page, at);
        self.link_newest(at);
        LruSlot(at)
    }

    /// Adds sectors to a page that it holds, and sets the owner's data.
    pub fn add(&mut self, LruSlot(at): LruSlot, sectors: u64, what: T) {
        let held = &mut self.nodes[at as usize].held;
        self.free -= u64::from((sectors & !held.sectors).count_ones());
        held.sectors |= sectors;
        held.what = what;
    }

    /// The owner's data about a page that it holds.
    pub fn set(&mut self, page: u32, what: T) {
        let at = self.place[&page];
        self.nodes[at as usize].held.what = what;
    }

    /// Removes the least recently used page.
    pub fn evict(&mut self) -> Option<(u32, CachedSectors<T>)> {
        let oldest = self.nodes[0].newer;
        (oldest != 0).then(|| {
            let page = self.nodes[oldest as usize].page;
            let held = self.remove(page);
            (page, held.expect("the list and the index agree"))
        })
    }

    /// Removes all pages.
    pub fn clear(&mut self) {
        while self.evict().is_some() {}
    }

    /// Removes a page.
    pub fn remove(&mut self, page: u32) -> Option<CachedSectors<T>> {
        let at = self.place.remove(&page)?;
        self.unlink(at);
        self.spare.push(at);
        let held = self.nodes[at as usize].held;
        self.free += u64::from(held.sectors.count_ones());
        Some(held)
    }

    fn unlink(&mut self, at: u32) {
        let LruNode { newer, older, .. } = self.nodes[at as usize];
        self.nodes[newer as usize].older = older;
        self.nodes[older as usize].newer = newer;
    }

    /// Between the newest so far and the end: `nodes[0].older` is the newest, `nodes[0].newer` the oldest.
    fn link_newest(&mut self, at: u32) {
        let newest = self.nodes[0].older;
        self.nodes[at as usize].older = newest;
        self.nodes[at as usize].newer = 0;
        self.nodes[newest as usize].newer = at;
        self.nodes[0].older = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_up_what_was_used_longest_ago() {
        let mut lru = Lru::<()>::new(8);
        for page in 1..=3 {
            lru.insert(page, CachedSectors { sectors: 0b11, ..CachedSectors::default() });
        }
        assert_eq!((lru.free(), lru.touch(1).unwrap().sectors), (2, 0b11));
        let slot = lru.touch_slot(2).unwrap();
        lru.add(slot, 0b110, ());
        assert_eq!((lru.touch(3), lru.touch(1)), (lru.get(3), lru.get(1)));
        assert_eq!((lru.free(), lru.get(2).unwrap().sectors), (1, 0b111));
        assert_eq!(lru.evict().unwrap().0, 2);
        assert_eq!((lru.evict().unwrap().0, lru.evict().unwrap().0), (3, 1));
        assert_eq!((lru.evict(), lru.free()), (None, 8));
    }
}
