//! Map entries in memory: a segmented LRU list, and the changed entries by translation page.
//!
//! New entries start in the *probationary* segment. An entry that is used again moves to the *protected*
//! segment, which has half of the room, and whose oldest entry then moves back. The oldest probationary entry
//! is evicted first (Karedla, Love and Wherry, "Caching strategies to improve disk system performance", 1994;
//! the half is ours).

use crate::kernel::UseOrder;

/// No slot.
const NONE: u32 = u32::MAX;

/// The segments.
const PROBATIONARY: usize = 0;
const PROTECTED: usize = 1;

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct MapCacheSlot {
    page: u32,
    protected: bool,
    dirty: bool,
    /// The changed entries of the same translation page.
    next_dirty: u32,
    last_dirty: u32,
}

/// An evicted entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Evicted {
    pub(super) page: u32,
    pub(super) dirty: bool,
}

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct MapCache {
    capacity: u32,
    /// Entries of a translation page.
    per_page: u32,
    slots: Vec<MapCacheSlot>,
    /// The slot of each page, plus one.
    slot_of: Vec<u32>,
    /// Each segment's slots, and how many it has.
    order: UseOrder,
    len: [u32; 2],
    /// The first changed entry of each translation page, plus one.
    dirty: Vec<u32>,
}

impl MapCache {
    pub(super) fn new(capacity: u32, pages: u32, per_page: u32) -> Self {
        MapCache {
            capacity,
            per_page,
            slots: Vec::new(),
            slot_of: vec![0; pages as usize],
            order: UseOrder::new(2),
            len: [0; 2],
            dirty: vec![0; pages.div_ceil(per_page) as usize],
        }
    }

    /// The number of entries for which it has room.
    pub(super) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Whether it has any entry.
    pub(super) fn has_any(&self) -> bool {
        !self.slots.is_empty()
    }

    #[inline]
    pub(super) fn has(&self, page: u32) -> bool {
        self.slot_of[page as usize] != 0
    }

    /// Looks up a page and marks its entry as used; false if it has no entry.
    #[inline]
    pub(super) fn touch(&mut self, page: u32) -> bool {
        let Some(slot) = self.slot_of[page as usize].checked_sub(1) else { return false };
        self.put(slot, PROTECTED);
        if self.len[PROTECTED] > self.capacity / 2
            && let Some(oldest) = self.order.oldest(PROTECTED)
        {
            self.put(oldest, PROBATIONARY);
        }
        true
    }

    /// Adds the entry of a page; returns the evicted entry.
    pub(super) fn insert(&mut self, page: u32) -> Option<Evicted> {
        if self.slots.len() < self.capacity as usize {
            let (next_dirty, last_dirty) = (NONE, NONE);
            self.slots.push(MapCacheSlot { page, protected: false, dirty: false, next_dirty, last_dirty });
            self.order.grow(PROBATIONARY);
            self.len[PROBATIONARY] += 1;
            self.slot_of[page as usize] = self.slots.len() as u32;
            return None;
        }
        let slot = self.order.oldest(PROBATIONARY).or(self.order.oldest(PROTECTED))?;
        let MapCacheSlot { page: victim, dirty, .. } = self.slots[slot as usize];
        self.clear_dirty(slot);
        self.slot_of[victim as usize] = 0;
        self.slots[slot as usize].page = page;
        self.slot_of[page as usize] = slot + 1;
        self.put(slot, PROBATIONARY);
        Some(Evicted { page: victim, dirty })
    }

    /// Marks the page's entry, if it is cached, as changed.
    #[inline]
    pub(super) fn mark(&mut self, page: u32) {
        let Some(slot) = self.slot_of[page as usize].checked_sub(1) else { return };
        if std::mem::replace(&mut self.slots[slot as usize].dirty, true) {
            return;
        }
        let first = &mut self.dirty[(page / self.per_page) as usize];
        let next = first.checked_sub(1).unwrap_or(NONE);
        *first = slot + 1;
        let state = &mut self.slots[slot as usize];
        (state.next_dirty, state.last_dirty) = (next, NONE);
        if next != NONE {
            self.slots[next as usize].last_dirty = slot;
        }
    }

    /// The translation page has been written with all that changed.
    pub(super) fn clean(&mut self, translation: u32) {
        let mut slot = std::mem::take(&mut self.dirty[translation as usize]).checked_sub(1).unwrap_or(NONE);
        while slot != NONE {
            let state = &mut self.slots[slot as usize];
            state.dirty = false;
            slot = state.next_dirty;
        }
    }

    /// Whether an entry of the translation page has changed.
    pub(super) fn is_dirty(&self, translation: u32) -> bool {
        self.dirty[translation as usize] != 0
    }

    /// Clears the cache.
    pub(super) fn empty(&mut self) {
        *self = MapCache::new(self.capacity, self.slot_of.len() as u32, self.per_page);
    }

    fn clear_dirty(&mut self, slot: u32) {
        let MapCacheSlot { page, next_dirty, last_dirty, dirty, .. } = self.slots[slot as usize];
        if !dirty {
            return;
        }
        self.slots[slot as usize].dirty = false;
        if next_dirty != NONE {
            self.slots[next_dirty as usize].last_dirty = last_dirty;
        }
        if last_dirty != NONE {
            self.slots[last_dirty as usize].next_dirty = next_dirty;
        } else {
            self.dirty[(page / self.per_page) as usize] = next_dirty.wrapping_add(1);
        }
    }

    /// Moves an entry to the other segment, or to the newest end of its own.
    fn put(&mut self, slot: u32, segment: usize) {
        let protected = std::mem::replace(&mut self.slots[slot as usize].protected, segment == PROTECTED);
        self.len[usize::from(protected)] -= 1;
        self.len[segment] += 1;
        self.order.remove(slot);
        self.order.add(slot, segment);
    }
}
