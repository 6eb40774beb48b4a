//! A circular log on a disk: appended pages, and the place of the newest version of each.

use crate::engine::{Key, OobData, Page, View};
use crate::kernel::Bits;

/// Slots of a log, and what they hold. A slot is used again when it holds no newest version any more, all older slots
/// are free, and no plan reads it.
///
/// In a log that [guards](Ring::guarded) its slots, the newest version must be durable, too, or a power loss could cost both.
/// Appends in progress have one of two keys; those before the last change of keys are durable when no plan has the other key.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Ring {
    size: u32,
    /// The slot that is written next.
    head: u32,
    /// Slots that are not free: the last ones before `head`.
    used: u32,
    /// The page that each slot was written with, plus one; 0 where it is free. Grown as slots are used.
    slots: Vec<u32>,
    /// The slot with each page's newest version, plus one; 0 where that is not in the log. Grown as well.
    of: Vec<u32>,
    /// Pages whose newest version is in the log.
    pages: Bits,
    /// Appends so far, those before the key last changed, and those that are known to be durable.
    appended: u64,
    changed: u64,
    durable: u64,
    /// The key of new appends.
    turn: bool,
}

impl Ring {
    pub(super) fn new(size: u32) -> Self {
        Ring { size, durable: u64::MAX, ..Ring::default() }
    }

    /// A log whose appends take time, and that keeps older versions until then.
    pub(super) fn guarded(size: u32) -> Self {
        Ring { size, ..Ring::default() }
    }

    /// The key that the plan of an append is under, of these two.
    pub(super) fn key(&self, keys: [Key; 2]) -> Key {
        keys[usize::from(self.turn)]
    }

    /// Looks which appends are still in progress.
    pub(super) fn watch(&mut self, keys: [Key; 2], view: &View<'_>) {
        for _ in 0..2 {
            if view.held(keys[usize::from(!self.turn)]) {
                return;
            }
            (self.durable, self.changed, self.turn) = (self.changed, self.appended, !self.turn);
        }
    }

    /// Whether a slot may still be on its way to the disk.
    fn is_under_way(&self, slot: u32) -> bool {
        let behind = if slot < self.head { self.head - slot } else { self.head + (self.size - slot) };
        self.appended - u64::from(behind) >= self.durable
    }

    /// Where a page's newest version lies, if that is in the log.
    #[inline]
    pub(super) fn of(&self, page: u32) -> Option<u32> {
        self.of.get(page as usize)?.checked_sub(1)
    }

    /// The page that a slot was written with last.
    pub(super) fn written(&self, slot: u32) -> Option<u32> {
        self.slots.get(slot as usize)?.checked_sub(1)
    }

    /// The page whose newest version a slot holds.
    pub(super) fn page_at(&self, slot: u32) -> Option<u32> {
        self.written(slot).filter(|&page| self.of(page) == Some(slot))
    }

    /// Pages whose newest version is in the log.
    pub(super) fn pages(&self) -> &Bits {
        &self.pages
    }

    /// Slots that can be written.
    #[inline]
    pub(super) fn room(&self) -> u32 {
        self.size - self.used
    }

    pub(super) fn size(&self) -> u32 {
        self.size
    }

    /// Gives a page the next slot, of which there must be one.
    pub(super) fn append(&mut self, page: u32) -> u32 {
        assert!(self.room() > 0, "a full log takes nothing");
        let slot = self.head;
        self.head = if slot + 1 == self.size { 0 } else { slot + 1 };
        self.used += 1;
        self.appended += 1;
        put(&mut self.slots, slot, page + 1);
        put(&mut self.of, page, slot + 1);
        self.pages.set(page, true);
        slot
    }

    /// A page's newest version is not in the log any more; where it was.
    pub(super) fn forget(&mut self, page: u32) -> Option<u32> {
        let slot = self.of(page)?;
        self.of[page as usize] = 0;
        self.pages.set(page, false);
        Some(slot)
    }

    /// After a power loss: of the versions in each logged page's slots, and the one that is `there` outside of the
    /// log, the newest version is the page. `newer` compares versions of a page.
    pub(super) fn recover(
        &mut self,
        has: impl Fn(u32, u32) -> Option<OobData>,
        there: impl Fn(u32) -> Option<OobData>,
        newer: impl Fn(u32, &OobData, &OobData) -> bool,
    ) {
        (self.durable, self.changed) = (self.durable.max(self.appended), self.appended);
        let slots = (0..self.used).map(|n| self.nth(n));
        let mut slots: Vec<(u32, u32)> = slots.filter_map(|slot| Some((self.written(slot)?, slot))).collect();
        slots.retain(|&(page, _)| self.pages.has(page));
        slots.sort_unstable();
        for of_page in slots.chunk_by(|one, other| one.0 == other.0) {
            let page = of_page[0].0;
            let (mut newest, mut chosen) = (there(page), None);
            for &(_, slot) in of_page {
                let found =
                    has(slot, page).filter(|found| newest.is_none_or(|than| newer(page, found, &than)));
                if found.is_some() {
                    (newest, chosen) = (found, Some(slot));
                }
            }
            self.forget(page);
            if let Some(slot) = chosen {
                put(&mut self.of, page, slot + 1);
                self.pages.set(page, true);
            }
        }
    }

    /// Frees the oldest slots as far as they hold nothing any more, and their pages are not `busy`.
    pub(super) fn release(&mut self, busy: impl Fn(u32) -> bool) {
        while self.used > 0 {
            let slot = self.oldest();
            let page = self.slots[slot as usize] - 1;
            let newest = self.of(page);
            if newest == Some(slot) || newest.is_some_and(|newest| self.is_under_way(newest)) || busy(page) {
                return;
            }
            self.slots[slot as usize] = 0;
            self.used -= 1;
        }
    }

    /// Slots that are not free.
    pub(super) fn used(&self) -> u32 {
        self.used
    }

    /// Of the oldest `slots` slots, those that hold newest versions, and the pages these are of, the oldest first.
    pub(super) fn live(&self, slots: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let slots = (0..self.used.min(slots)).map(|n| self.nth(n));
        slots.filter_map(|slot| Some((slot, self.page_at(slot)?)))
    }

    /// The slot that `n` others were written before, of those that are not free.
    pub(super) fn nth(&self, n: u32) -> u32 {
        let oldest = self.oldest();
        if n < self.size - oldest { oldest + n } else { n - (self.size - oldest) }
    }

    fn oldest(&self) -> u32 {
        if self.head >= self.used { self.head - self.used } else { self.head + (self.size - self.used) }
    }
}

/// What a place of a log says of itself, if it has this page.
pub(super) fn of_page(oob: OobData, page: u32, view: &View<'_>) -> Option<OobData> {
    view.version(Page::of(page), oob.stamp).map(|_| oob)
}

/// Puts a number at a place, which need not be there yet.
fn put(list: &mut Vec<u32>, at: u32, number: u32) {
    let at = at as usize;
    if list.len() <= at {
        list.resize(at + 1, 0);
    }
    list[at] = number;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_power_loss_the_newest_version_that_is_there_is_the_page() {
        let mut ring = Ring::new(8);
        [7, 8, 7, 9, 8].iter().for_each(|&page| _ = ring.append(page));
        ring.forget(9);
        let oob = |version| OobData { sequence: version, stamp: 0, mark: 0 };
        // The second version of page 7 has not come; page 8 has been moved since its first; 9 is in the log no more.
        let slots = [Some((7, oob(1))), Some((8, oob(1))), None, Some((9, oob(1))), None];
        let has = |slot: u32, page| {
            let (owner, oob) = slots[slot as usize]?;
            (owner == page).then_some(oob)
        };
        let newer = |_, one: &OobData, other: &OobData| one.sequence > other.sequence;
        ring.recover(has, |page| (page == 8).then(|| oob(1)), newer);
        assert_eq!([7, 8, 9].map(|page| ring.of(page)), [Some(0), None, None]);
    }

    #[test]
    fn round_and_round() {
        let mut ring = Ring::new(4);
        assert_eq!([7, 8, 7].map(|page| ring.append(page)), [0, 1, 2]);
        assert_eq!((ring.of(7), ring.of(8), ring.of(9), ring.room()), (Some(2), Some(1), None, 1));
        // The first slot's version is not the newest, but a plan reads it.
        assert_eq!((ring.written(0), ring.page_at(0), ring.page_at(2)), (Some(7), None, Some(7)));
        ring.release(|page| page == 7);
        assert_eq!(ring.room(), 1);
        ring.release(|_| false);
        assert_eq!((ring.room(), ring.written(0)), (2, None));
        assert_eq!([9, 10].map(|page| ring.append(page)), [3, 0]);
        assert_eq!(ring.live(u32::MAX).collect::<Vec<_>>(), [(1, 8), (2, 7), (3, 9), (0, 10)]);
        assert_eq!(ring.live(2).collect::<Vec<_>>(), [(1, 8), (2, 7)]);
        assert_eq!((ring.pages().count(), ring.room()), (4, 0));
        // A newer slot does not become free before an older one.
        assert_eq!((ring.forget(7), ring.forget(7)), (Some(2), None));
        ring.release(|_| false);
        assert_eq!(ring.room(), 0);
        assert_eq!(ring.forget(8), Some(1));
        ring.release(|_| false);
        assert_eq!(ring.room(), 2);
        assert_eq!([7, 7].map(|page| ring.append(page)), [1, 2]);
        assert_eq!(ring.live(u32::MAX).collect::<Vec<_>>(), [(3, 9), (0, 10), (2, 7)]);
    }
}
