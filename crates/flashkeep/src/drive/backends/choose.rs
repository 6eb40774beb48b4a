//! Which block is reclaimed next: a [`Chooser`](crate::blocks::Chooser) decides among the blocks of a plane.

use super::DriveBackends;
use crate::blocks::Collection;
use crate::drive::controller::{Controller, Next};
use crate::engine::{Cause, Contents};
use crate::flash::PlaneId;
use crate::kernel::SimTime;

impl<C: Contents> DriveBackends<C> {
    /// Whether GC gains anything in a plane.
    pub(super) fn has_garbage(&self, plane: PlaneId) -> bool {
        self.garbage_of(plane).is_some()
    }

    /// Whether a plane has something to collect, and the room to move its valid pages: torn pages may have left it too
    /// little.
    pub(super) fn can_collect(&self, plane: PlaneId) -> bool {
        self.garbage_of(plane)
            .is_some_and(|victim| !self.power.is_kept() || !self.ftl.lacks_room(plane, victim))
    }

    /// The victim of a plane, if its collection gains something.
    fn garbage_of(&self, plane: PlaneId) -> Option<u32> {
        self.next_victim_of(plane).filter(|&victim| !self.health.damaged || !self.ftl.is_stuck(plane, victim))
    }

    /// The victim of a plane's collection, or the one that its next collection would have.
    pub(super) fn next_victim_of(&self, plane: PlaneId) -> Option<u32> {
        let under_way = self.gc.collections[plane.0 as usize].victim();
        // Folding gives way to garbage collection.
        under_way
            .filter(|_| !self.folds(plane))
            .or_else(|| self.gc.chooser.proposed(&self.ftl.blocks.of_plane(plane)))
    }

    /// The collection of the block to reclaim.
    pub(super) fn choose(&mut self, plane: PlaneId) -> Option<Collection> {
        let chosen = self.gc.chooser.choose(&self.ftl.blocks.of_plane(plane));
        if let Some((block, _)) = chosen {
            self.ftl.blocks.choose_victim(plane, block);
        }
        chosen.map(Collection::of)
    }

    /// The cause of moves and erase of a plane's victim.
    pub(in crate::drive) fn moves_because(&self, plane: PlaneId) -> Cause {
        if self.folds(plane) {
            return Cause::Fold;
        }
        let collection = self.gc.collections[plane.0 as usize].under_way;
        match collection.map_or(Cause::Gc, |collection| collection.cause()) {
            Cause::Gc if self.collects_tables(plane) => Cause::Metadata,
            cause => cause,
        }
    }

    /// Whether the victim of a plane is a block of translation pages.
    fn collects_tables(&self, plane: PlaneId) -> bool {
        let victim = self.gc.collections[plane.0 as usize].victim().filter(|_| self.gc.notices.moves);
        let first = |block| self.ftl.blocks.owner(self.flash.geometry.ppn(plane, block, 0));
        victim.is_some_and(|block| self.ftl.streams.of_table(first(block)).is_some())
    }

    /// The victim, a worn block, has been erased: it is held, and the coldest block is collected into it.
    pub(super) fn migrate(
        &mut self,
        plane: PlaneId,
        worn: u32,
        cold: Collection,
        controller: &mut Controller<C>,
    ) {
        self.ftl.blocks.hold(plane, worn);
        self.ftl.blocks.choose_victim(plane, cold.victim);
        self.gc.collections[plane.0 as usize].under_way = Some(cold);
        if self.gc.notices.leaving {
            self.ftl.tell_leaving(plane, cold.victim, controller);
        }
    }

    /// No write can start now: when that may change without another event.
    #[inline(never)]
    pub(in crate::drive) fn writes_later(
        &self,
        now: SimTime,
        channel: usize,
        controller: &Controller<C>,
    ) -> Next {
        let until = if self.ftl.physical {
            self.power.look_again_at(now, controller)
        } else if self.packing.active {
            self.gathered_at(channel, controller)
        } else {
            None
        };
        until.map_or(Next::Nothing, Next::NotBefore)
    }
}
