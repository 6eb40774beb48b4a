//! The pages that the cache holds, least recently used first.

use crate::kernel::FixedMap;

/// What the cache holds of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held<T> {
    /// Its sectors, all of them newer than those in flash.
    pub sectors: u64,
    /// What is known of the page.
    pub what: T,
}

/// Where a page stands as long as the cache holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u32);

#[derive(Clone, Debug)]
struct Node<T> {
    page: u32,
    held: Held<T>,
    newer: u32,
    older: u32,
}

/// A list in order of use, and where each page stands in it. Node 0 is both ends.
#[derive(Clone, Debug)]
pub struct Lru<T> {
    nodes: Vec<Node<T>>,
    spare: Vec<u32>,
    place: FixedMap<u32, u32>,
    free: u64,
}

impl<T: Copy + Default> Lru<T> {
    /// Room for `sectors` sectors.
    #[must_use]
    pub fn new(sectors: u64) -> Self {
        let ends = Node { page: u32::MAX, held: Held::default(), newer: 0, older: 0 };
        Lru { nodes: vec![ends], spare: Vec::new(), place: FixedMap::default(), free: sectors }
    }

    /// Whether it holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.place.is_empty()
    }

    /// Sectors that it could still take.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.free
    }

    /// What it holds of a page.
    #[must_use]
    pub fn get(&self, page: u32) -> Option<Held<T>> {
        self.place.get(&page).map(|&at| self.nodes[at as usize].held)
    }

    /// What it holds of a page, which is used now.
    pub fn touch(&mut self, page: u32) -> Option<Held<T>> {
        self.touch_slot(page).map(|slot| self.at(slot))
    }

    /// Where a page stands, which is used now.
    #[inline]
    pub fn touch_slot(&mut self, page: u32) -> Option<Slot> {
        let at = *self.place.get(&page)?;
        self.unlink(at);
        self.link_newest(at);
        Some(Slot(at))
    }

    /// What it holds of the page in a slot.
    #[inline]
    #[must_use]
    pub fn at(&self, Slot(at): Slot) -> Held<T> {
        self.nodes[at as usize].held
    }

    /// Takes a page, the most recently used one.
    pub fn insert(&mut self, page: u32, held: Held<T>) -> Slot {
        let node = Node { page, held, newer: 0, older: 0 };
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
        Slot(at)
    }

    /// More sectors of a page that it holds, and what is known of the page from now on.
    pub fn add(&mut self, Slot(at): Slot, sectors: u64, what: T) {
        let held = &mut self.nodes[at as usize].held;
        self.free -= u64::from((sectors & !held.sectors).count_ones());
        held.sectors |= sectors;
        held.what = what;
    }

    /// What is known of a page that it holds.
    pub fn set(&mut self, page: u32, what: T) {
        let at = self.place[&page];
        self.nodes[at as usize].held.what = what;
    }

    /// Gives up the page that was used longest ago.
    pub fn evict(&mut self) -> Option<(u32, Held<T>)> {
        let oldest = self.nodes[0].newer;
        (oldest != 0).then(|| {
            let page = self.nodes[oldest as usize].page;
            let held = self.remove(page);
            (page, held.expect("the list and the index agree"))
        })
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        while self.evict().is_some() {}
    }

    /// Forgets a page.
    pub fn remove(&mut self, page: u32) -> Option<Held<T>> {
        let at = self.place.remove(&page)?;
        self.unlink(at);
        self.spare.push(at);
        let held = self.nodes[at as usize].held;
        self.free += u64::from(held.sectors.count_ones());
        Some(held)
    }

    fn unlink(&mut self, at: u32) {
        let Node { newer, older, .. } = self.nodes[at as usize];
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
            lru.insert(page, Held { sectors: 0b11, ..Held::default() });
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
