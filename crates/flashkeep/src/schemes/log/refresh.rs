//! Refresh and read reclaim: a member reports a page whose data are old, or whose block was read often. All current pages
//! of its superblock are copied into a free one, and it is erased, like a victim of GC, with the cause `refresh`.
//!
//! That waits until the log has room to spare: it takes a free superblock that neither the host needs now nor GC.

use super::StripeLog;
use super::clean::Begin;
use super::superblocks::SuperblockState;
use crate::blocks::{Collection, Levelled};
use crate::engine::Page;

impl StripeLog {
    /// The data of a page must be moved; false if they cannot be. A superblock that is being filled is reported again.
    pub(super) fn note_due(&mut self, page: Page) -> bool {
        let superblock = self.stripes.superblocks.of_superpage(page.low());
        let is_closed = self.stripes.superblocks.state(superblock) == SuperblockState::Closed;
        if is_closed && !self.due.contains(&superblock) {
            self.due.push_back(superblock);
        }
        is_closed
    }

    /// Whether a superblock is due and there is room for its pages.
    #[inline]
    pub(super) fn can_refresh(&self) -> bool {
        !self.due.is_empty() && self.has_room_to_refresh()
    }

    fn has_room_to_refresh(&self) -> bool {
        let fits = |&superblock: &u32| {
            let current = self.stripes.superblocks.current(superblock);
            current <= self.room_of_free(0, false) && !self.stripes.superblocks.is_busy(superblock)
        };
        self.stripes.superblocks.free() > self.kept()
            && !self.is_low()
            && !self.health.troubled
            && self.due.front().is_some_and(fits)
    }

    /// Begins to move the data of the superblock that has been due longest.
    pub(super) fn refresh(&mut self) -> bool {
        if !self.can_refresh() {
            return false;
        }
        let Some(superblock) = self.due.pop_front() else { return false };
        let is_closed = self.stripes.superblocks.state(superblock) == SuperblockState::Closed;
        if !is_closed || self.stripes.superblocks.current(superblock) == 0 {
            return false;
        }
        let collection = Collection::of((superblock, Levelled::Refreshed));
        self.begin_cleaning(&Begin { superblocks: 1, ..Begin::of(collection) });
        true
    }
}
