//! The pages that the cache holds, least recently used first. Its room may be divided into parts, each with an order of its
//! own.

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
    part: u8,
    held: CachedSectors<T>,
}

/// A part of the room, in sectors.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    capacity: u64,
    held: u64,
    pages: usize,
}

/// The pages in order of use, and the slot of each.
#[derive(Clone, Debug)]
pub struct Lru<T> {
    nodes: Vec<LruNode<T>>,
    order: UseOrder,
    spare: Vec<u32>,
    place: FixedMap<u64, u32>,
    parts: Vec<Part>,
    /// The sums over all parts.
    capacity: u64,
    held: u64,
}

impl<T: Copy + Default> Lru<T> {
    /// Room for `sectors` sectors.
    #[must_use]
    pub fn new(sectors: u64) -> Self {
        Lru {
            nodes: Vec::new(),
            order: UseOrder::new(1),
            spare: Vec::new(),
            place: FixedMap::default(),
            parts: vec![Part { capacity: sectors, ..Part::default() }],
            capacity: sectors,
            held: 0,
        }
    }

    /// The same with these parts after the first, which keeps the rest of the room.
    #[must_use]
    pub fn divided(&self, shares: &[u64]) -> Self {
        let mut lru = Lru::new(self.capacity);
        lru.parts[0].capacity -= shares.iter().sum::<u64>();
        lru.parts.extend(shares.iter().map(|&capacity| Part { capacity, ..Part::default() }));
        lru.order = UseOrder::new(lru.parts.len() as u32);
        lru
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.place.is_empty()
    }

    /// The part that a page counts against.
    #[must_use]
    pub fn part_of(&self, page: u64) -> Option<usize> {
        self.place.get(&page).map(|&at| usize::from(self.nodes[at as usize].part))
    }

    /// Whether a part holds any page but this one.
    #[must_use]
    pub fn holds_others(&self, part: usize, page: u64) -> bool {
        self.parts[part].pages > usize::from(self.part_of(page) == Some(part))
    }

    /// The part that is fullest for its size, of those that hold something.
    #[must_use]
    pub fn fullest(&self) -> Option<usize> {
        let fuller = |&one: &usize, &other: &usize| {
            let (one, other) = (self.parts[one], self.parts[other]);
            let fill = |this: Part, than: Part| u128::from(this.held) * u128::from(than.capacity);
            fill(one, other).cmp(&fill(other, one))
        };
        (0..self.parts.len()).rev().filter(|&part| self.parts[part].pages > 0).max_by(fuller)
    }

    /// Free room, in sectors; none where it holds more than it has room for.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.capacity.saturating_sub(self.held)
    }

    /// The same of a part.
    #[must_use]
    pub fn free_of(&self, part: usize) -> u64 {
        self.parts[part].capacity.saturating_sub(self.parts[part].held)
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
        self.order.add(at, usize::from(self.nodes[at as usize].part));
        Some(LruSlot(at))
    }

    /// The page in a slot, used just now, counts against this part from now on. Returns its slot.
    #[inline]
    pub fn move_to(&mut self, LruSlot(at): LruSlot, part: u8) -> LruSlot {
        let LruNode { page, held, part: before } = self.nodes[at as usize];
        if part == before {
            return LruSlot(at);
        }
        self.remove(page);
        self.insert(page, held, part)
    }

    /// The part that it holds of the page in a slot.
    #[inline]
    #[must_use]
    pub fn at(&self, LruSlot(at): LruSlot) -> CachedSectors<T> {
        self.nodes[at as usize].held
    }

    /// Adds a page as the most recently used one of a part.
    pub fn insert(&mut self, page: u64, held: CachedSectors<T>, part: u8) -> LruSlot {
        let node = LruNode { page, part, held };
        let at = if let Some(at) = self.spare.pop() {
            self.nodes[at as usize] = node;
            self.order.add(at, usize::from(part));
            at
        } else {
            self.nodes.push(node);
            self.order.grow(usize::from(part));
            self.nodes.len() as u32 - 1
        };
        self.parts[usize::from(part)].pages += 1;
        self.count(part, held.sectors);
        self.place.insert(page, at);
        LruSlot(at)
    }

    /// Adds sectors to a page that it holds, and sets the owner's data.
    pub fn add(&mut self, LruSlot(at): LruSlot, sectors: u64, what: T) {
        let LruNode { part, held, .. } = &mut self.nodes[at as usize];
        let (part, new) = (*part, sectors & !held.sectors);
        held.sectors |= sectors;
        held.what = what;
        self.count(part, new);
    }

    /// More sectors of a page of a part are held.
    #[inline]
    fn count(&mut self, part: u8, sectors: u64) {
        let sectors = u64::from(sectors.count_ones());
        self.held += sectors;
        self.parts[usize::from(part)].held += sectors;
    }

    /// The owner's data about a page that it holds.
    pub fn set(&mut self, page: u64, what: T) {
        let at = self.place[&page];
        self.nodes[at as usize].held.what = what;
    }

    /// Removes the least recently used page of a part.
    pub fn evict(&mut self, part: usize) -> Option<(u64, CachedSectors<T>)> {
        let page = self.oldest(part)?;
        let held = self.remove(page);
        Some((page, held.expect("the list and the index agree")))
    }

    /// The page that is evicted next from a part.
    #[must_use]
    pub fn oldest(&self, part: usize) -> Option<u64> {
        Some(self.nodes[self.order.oldest(part)? as usize].page)
    }

    /// The pages that it holds, by their slots.
    pub fn pages(&self) -> impl Iterator<Item = (u64, CachedSectors<T>)> + '_ {
        let held = |(at, node): &(u32, &LruNode<T>)| self.place.get(&node.page) == Some(at);
        (0..).zip(&self.nodes).filter(held).map(|(_, node)| (node.page, node.held))
    }

    /// Removes all pages.
    pub fn clear(&mut self) {
        for part in 0..self.parts.len() {
            while self.evict(part).is_some() {}
        }
    }

    /// Removes a page.
    pub fn remove(&mut self, page: u64) -> Option<CachedSectors<T>> {
        let at = self.place.remove(&page)?;
        self.order.remove(at);
        self.spare.push(at);
        let LruNode { part, held, .. } = self.nodes[at as usize];
        let sectors = u64::from(held.sectors.count_ones());
        self.held -= sectors;
        let part = &mut self.parts[usize::from(part)];
        (part.held, part.pages) = (part.held - sectors, part.pages - 1);
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
            lru.insert(page, CachedSectors { sectors: 0b11, ..CachedSectors::default() }, 0);
        }
        assert_eq!((lru.free(), lru.touch(1).unwrap().sectors), (2, 0b11));
        let slot = lru.touch_slot(2).unwrap();
        lru.add(slot, 0b110, ());
        assert_eq!((lru.touch(3), lru.touch(1)), (lru.get(3), lru.get(1)));
        assert_eq!((lru.free(), lru.get(2).unwrap().sectors), (1, 0b111));
        assert_eq!(lru.evict(0).unwrap().0, 2);
        assert_eq!((lru.evict(0).unwrap().0, lru.evict(0).unwrap().0), (3, 1));
        assert_eq!((lru.evict(0), lru.free()), (None, 8));
    }

    #[test]
    fn parts_have_their_own_room_and_order() {
        let mut lru = Lru::<()>::new(8).divided(&[2, 1]);
        let held = CachedSectors { sectors: 0b1, ..CachedSectors::default() };
        (0..4).for_each(|page| _ = lru.insert(page, held, (page % 2) as u8));
        assert_eq!(([0, 1, 2].map(|part| lru.free_of(part)), lru.free()), ([3, 0, 1], 4));
        assert_eq!((lru.fullest(), lru.part_of(3)), (Some(1), Some(1)));
        assert!(lru.holds_others(1, 3) && !lru.holds_others(2, 3));
        // The last writer's part has the page.
        let slot = lru.touch_slot(1).unwrap();
        assert_eq!(lru.move_to(slot, 2), slot);
        assert_eq!([0, 1, 2].map(|part| lru.free_of(part)), [3, 1, 0]);
        assert_eq!([1, 2, 0].map(|part| lru.evict(part).unwrap().0), [3, 1, 0]);
        lru.clear();
        assert!(lru.is_empty() && lru.free_of(0) == 5 && lru.fullest().is_none());
    }
}
