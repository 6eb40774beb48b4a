//! The pages that the cache holds, least recently used first.

use crate::kernel::{FixedMap, UseOrder};

/// The part of a page that the cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CachedSectors<T> {
    /// The sectors, all newer than those below the port.
    pub sectors: u64,
    /// The owner's data about the page.
    pub what: T,
}

/// A page's place while the cache holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LruSlot(u32);

#[derive(Clone, Debug)]
struct LruNode<T> {
    page: u64,
    held: CachedSectors<T>,
}

/// The pages in order of use, and the slot of each.
#[derive(Clone, Debug)]
pub struct Lru<T> {
    nodes: Vec<LruNode<T>>,
    order: UseOrder<1>,
    spare: Vec<u32>,
    place: FixedMap<u64, u32>,
    capacity: u64,
    held: u64,
}

impl<T: Copy + Default> Lru<T> {
    /// Room for `sectors` sectors.
    #[must_use]
    pub fn new(sectors: u64) -> Self {
        let (nodes, order) = (Vec::new(), UseOrder::default());
        Lru { nodes, order, spare: Vec::new(), place: FixedMap::default(), capacity: sectors, held: 0 }
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.place.is_empty()
    }

    /// Whether it holds any page but this one.
    #[must_use]
    pub fn holds_others(&self, page: u64) -> bool {
        self.place.len() > usize::from(self.place.contains_key(&page))
    }

    /// Free room, in sectors; none where it holds more than it has room for.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.capacity.saturating_sub(self.held)
    }

    /// The number of sectors that it holds.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held
    }

    /// What it holds of a page.
    #[must_use]
    pub fn get(&self, page: u64) -> Option<CachedSectors<T>> {
        self.place.get(&page).map(|&at| self.nodes[at as usize].held)
    }

    /// The same, and marks the page as used now.
    pub fn touch(&mut self, page: u64) -> Option<CachedSectors<T>> {
        self.touch_slot(page).map(|slot| self.at(slot))
    }

    /// A page's place; marks the page as used now.
    #[inline]
    pub fn touch_slot(&mut self, page: u64) -> Option<LruSlot> {
        let at = *self.place.get(&page)?;
        self.order.remove(at);
        self.order.add(at, 0);
        Some(LruSlot(at))
    }

    /// The part that it holds of the page in a slot.
    #[inline]
    #[must_use]
    pub fn at(&self, LruSlot(at): LruSlot) -> CachedSectors<T> {
        self.nodes[at as usize].held
    }

    /// Adds a page as the most recently used one.
    pub fn insert(&mut self, page: u64, held: CachedSectors<T>) -> LruSlot {
        let node = LruNode { page, held };
        let at = if let Some(at) = self.spare.pop() {
            self.nodes[at as usize] = node;
            self.order.add(at, 0);
            at
        } else {
            self.nodes.push(node);
            self.order.grow(0);
            self.nodes.len() as u32 - 1
        };
        self.held += u64::from(held.sectors.count_ones());
        self.place.insert(page, at);
        LruSlot(at)
    }

    /// Adds sectors to a page that it holds, and sets the owner's data.
    pub fn add(&mut self, LruSlot(at): LruSlot, sectors: u64, what: T) {
        let held = &mut self.nodes[at as usize].held;
        self.held += u64::from((sectors & !held.sectors).count_ones());
        held.sectors |= sectors;
        held.what = what;
    }

    /// The owner's data about a page that it holds.
    pub fn set(&mut self, page: u64, what: T) {
        let at = self.place[&page];
        self.nodes[at as usize].held.what = what;
    }

    /// Removes the least recently used page.
    pub fn evict(&mut self) -> Option<(u64, CachedSectors<T>)> {
        let page = self.nodes[self.order.oldest(0)? as usize].page;
        let held = self.remove(page);
        Some((page, held.expect("the list and the index agree")))
    }

    /// The pages that it holds, by their slots.
    pub fn pages(&self) -> impl Iterator<Item = (u64, CachedSectors<T>)> + '_ {
        let held = |(at, node): &(u32, &LruNode<T>)| self.place.get(&node.page) == Some(at);
        (0..).zip(&self.nodes).filter(held).map(|(_, node)| (node.page, node.held))
    }

    /// Removes all pages.
    pub fn clear(&mut self) {
        while self.evict().is_some() {}
    }

    /// Removes a page.
    pub fn remove(&mut self, page: u64) -> Option<CachedSectors<T>> {
        let at = self.place.remove(&page)?;
        self.order.remove(at);
        self.spare.push(at);
        let held = self.nodes[at as usize].held;
        self.held -= u64::from(held.sectors.count_ones());
        Some(held)
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
