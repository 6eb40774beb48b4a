//! The non-volatile memory: the page in each of its slots, and the pages that wait for each disk, in the
//! order of arrival.

use crate::engine::{FixedMap, Page};
use crate::kernel::RebuildQueue;

/// No slot.
const NONE: u32 = u32::MAX;

/// The use of a page of the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum BufferSlotState {
    #[default]
    Free,
    /// A version that waits for its disk.
    Queued,
    /// One that is being written to its disk.
    Moving,
    /// One that is being read from its disk.
    Coming,
    /// One that was read from a free segment and waits to be written to its data segment.
    Recalled,
}

/// A page of the memory.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct BufferSlot {
    state: BufferSlotState,
    /// The page whose contents it has.
    page: u32,
    disk: u8,
    older: u32,
    newer: u32,
}

/// The pages of the memory for a disk.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct DiskBacklog {
    oldest: u32,
    newest: u32,
    /// Versions that wait.
    pub(super) queued: u32,
    /// Pages in use, for any purpose.
    pub(super) used: u32,
    /// The most that ever were.
    pub(super) most: u32,
}

/// The memory.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Memory {
    /// Whether the memory exists and responds.
    pub(super) alive: bool,
    slots: Vec<BufferSlot>,
    free: RebuildQueue,
    used: u32,
    pub(super) most: u32,
    /// Where the latest version of a page is, if that is here.
    of: FixedMap<u32, u32>,
    held: Vec<DiskBacklog>,
}

impl Memory {
    pub(super) fn new(pages: u32, disks: u8) -> Self {
        let mut free = RebuildQueue::default();
        (0..pages).for_each(|slot| free.set(slot, true));
        let held = DiskBacklog { oldest: NONE, newest: NONE, queued: 0, used: 0, most: 0 };
        Memory {
            alive: pages > 0,
            slots: vec![BufferSlot::default(); pages as usize],
            free,
            used: 0,
            most: 0,
            of: FixedMap::default(),
            held: vec![held; usize::from(disks)],
        }
    }

    pub(super) fn capacity(&self) -> u32 {
        self.slots.len() as u32
    }

    pub(super) fn used(&self) -> u32 {
        self.used
    }

    /// Pages that can be taken.
    pub(super) fn room(&self) -> u32 {
        if self.alive { self.capacity() - self.used } else { 0 }
    }

    pub(super) fn held(&self, disk: usize) -> &DiskBacklog {
        &self.held[disk]
    }

    /// Where the latest version of a page is, if that is here.
    #[inline]
    pub(super) fn slot_of(&self, page: Page) -> Option<u32> {
        self.of.get(&page.low()).copied()
    }

    /// The page whose contents a slot holds.
    pub(super) fn page_of(&self, slot: u32) -> Option<Page> {
        let slot = self.slots.get(slot as usize)?;
        (slot.state != BufferSlotState::Free).then_some(Page::of(slot.page))
    }

    pub(super) fn state(&self, slot: u32) -> BufferSlotState {
        self.slots[slot as usize].state
    }

    /// Whether a slot is in use for a disk.
    pub(super) fn is_for(&self, slot: u32, disk: usize) -> bool {
        usize::from(self.slots[slot as usize].disk) == disk
    }

    /// Whether a slot holds the latest version of its page.
    pub(super) fn is_latest(&self, slot: u32) -> bool {
        self.state(slot) != BufferSlotState::Free
            && self.slot_of(Page::of(self.slots[slot as usize].page)) == Some(slot)
    }

    /// The version that has waited longest for a disk.
    pub(super) fn oldest(&self, disk: usize) -> Option<u32> {
        let oldest = self.held[disk].oldest;
        (oldest != NONE).then_some(oldest)
    }

    /// The version that came next for the same disk.
    pub(super) fn after(&self, slot: u32) -> Option<u32> {
        let newer = self.slots[slot as usize].newer;
        (newer != NONE).then_some(newer)
    }

    /// The slot of a page that waits for its disk.
    pub(super) fn queued(&self, page: Page) -> Option<u32> {
        self.slot_of(page).filter(|&slot| self.state(slot) == BufferSlotState::Queued)
    }

    /// Takes a free slot for a page.
    pub(super) fn take(&mut self, page: Page, disk: usize) -> u32 {
        let slot = self.free.next(|_| false).expect("room was reserved for the slot") as u32;
        self.free.set(slot, false);
        let state = BufferSlotState::Coming;
        self.slots[slot as usize] =
            BufferSlot { state, page: page.low(), disk: disk as u8, older: NONE, newer: NONE };
        self.used += 1;
        self.most = self.most.max(self.used);
        let held = &mut self.held[disk];
        held.used += 1;
        held.most = held.most.max(held.used);
        slot
    }

    /// A slot that has been taken, or moves, waits for its disk: it is the latest version of its page.
    pub(super) fn queue(&mut self, slot: u32) {
        let this = &mut self.slots[slot as usize];
        let held = &mut self.held[usize::from(this.disk)];
        this.state = BufferSlotState::Queued;
        (this.older, this.newer) = (held.newest, NONE);
        self.of.insert(this.page, slot);
        held.queued += 1;
        match std::mem::replace(&mut held.newest, slot) {
            NONE => held.oldest = slot,
            before => self.slots[before as usize].newer = slot,
        }
    }

    /// What a slot holds has been read from a free segment and is the latest version of its page.
    pub(super) fn recall(&mut self, slot: u32) {
        let this = &mut self.slots[slot as usize];
        this.state = BufferSlotState::Recalled;
        self.of.insert(this.page, slot);
    }

    /// A slot is being written to its disk.
    pub(super) fn start(&mut self, slot: u32) {
        self.unqueue(slot);
        self.slots[slot as usize].state = BufferSlotState::Moving;
    }

    fn unqueue(&mut self, slot: u32) {
        let BufferSlot { state, disk, older, newer, .. } = self.slots[slot as usize];
        if state != BufferSlotState::Queued {
            return;
        }
        let held = &mut self.held[usize::from(disk)];
        held.queued -= 1;
        match older {
            NONE => held.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
        match newer {
            NONE => held.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
    }

    /// The slot is free again.
    pub(super) fn release(&mut self, slot: u32) {
        self.unqueue(slot);
        if self.is_latest(slot) {
            self.of.remove(&self.slots[slot as usize].page);
        }
        let this = &mut self.slots[slot as usize];
        this.state = BufferSlotState::Free;
        self.held[usize::from(this.disk)].used -= 1;
        self.used -= 1;
        self.free.set(slot, true);
    }

    /// A page's version here is out of date, or no longer needed. One that moves keeps its slot until it is there.
    pub(super) fn forget(&mut self, page: Page) {
        let Some(slot) = self.of.remove(&page.low()) else { return };
        if self.state(slot) != BufferSlotState::Moving {
            self.release(slot);
        }
    }

    /// Drops all contents; calls `tell` with each page whose latest version was here. A page that is being read into
    /// a slot comes later, and no other page gets the slot before.
    pub(super) fn clear(&mut self, mut tell: impl FnMut(Page)) {
        for slot in 0..self.capacity() {
            let page = Page::of(self.slots[slot as usize].page);
            if self.is_latest(slot) {
                tell(page);
            }
            if !matches!(self.state(slot), BufferSlotState::Free | BufferSlotState::Coming) {
                self.release(slot);
            }
        }
    }

    /// The slots of a disk that hold the latest version of their page.
    pub(super) fn latest(&self, disk: usize) -> Vec<u32> {
        let own = |slot: &u32| usize::from(self.slots[*slot as usize].disk) == disk && self.is_latest(*slot);
        (0..self.capacity()).filter(own).collect()
    }

    #[cfg(test)]
    pub(super) fn check(&self) {
        let in_use = (0..self.capacity()).filter(|&slot| self.state(slot) != BufferSlotState::Free);
        assert_eq!(in_use.clone().count() as u32, self.used);
        assert_eq!(self.held.iter().map(|held| held.used).sum::<u32>(), self.used);
        assert_eq!(in_use.filter(|&slot| self.is_latest(slot)).count(), self.of.len());
        for (disk, held) in self.held.iter().enumerate() {
            let mut slot = self.oldest(disk);
            let mut queued = 0;
            while let Some(this) = slot {
                assert!(
                    self.is_latest(this) && self.state(this) == BufferSlotState::Queued,
                    "a superseded version waits"
                );
                queued += 1;
                slot = self.after(this);
            }
            assert_eq!(queued, held.queued);
        }
    }
}
