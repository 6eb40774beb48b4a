//! Which block is reclaimed next: a [`Chooser`](crate::blocks::Chooser) decides among the blocks of a plane.

use super::{DriveBackends, DriveHealth, Gc, Power, Translation};
use crate::blocks::{Collection, Levelled};
use crate::drive::controller::Controller;
use crate::engine::{Cause, Contents};
use crate::flash::PlaneId;

impl Gc {
    /// The collection of the block to reclaim.
    pub(super) fn choose<C: Contents>(
        &mut self,
        plane: PlaneId,
        ftl: &mut Translation<C>,
    ) -> Option<Collection> {
        let (block, levelled) = self.chooser.choose(&ftl.blocks.of_plane(plane))?;
        let chosen = match self.instead_of(block, plane, ftl) {
            Some(emptier) => (emptier, Levelled::No),
            None => (block, levelled),
        };
        ftl.blocks.choose_victim(plane, chosen.0);
        Some(Collection::of(chosen))
    }

    /// The block with the fewest valid pages, if the plane lacks the room to move those of the one that the policy has
    /// chosen: another one may still give it room.
    fn instead_of<C: Contents>(&self, victim: u32, plane: PlaneId, ftl: &Translation<C>) -> Option<u32> {
        ftl.lacks_room(plane, victim).then(|| self.chooser.emptiest(&ftl.blocks.of_plane(plane)))?
    }

    /// The victim, a worn block, has been erased: it is held, and the coldest block is collected into it.
    pub(super) fn migrate<C: Contents>(
        &mut self,
        plane: PlaneId,
        worn: u32,
        cold: Collection,
        ftl: &mut Translation<C>,
        controller: &mut Controller<C>,
    ) {
        ftl.blocks.hold(plane, worn);
        ftl.blocks.choose_victim(plane, cold.victim);
        self.collections[plane.0 as usize].under_way = Some(cold);
        if self.notices.leaving {
            ftl.tell_leaving(plane, cold.victim, controller);
        }
    }

    /// Whether the victim of a plane is a block of translation pages.
    fn collects_tables<C: Contents>(&self, plane: PlaneId, ftl: &Translation<C>) -> bool {
        let victim = self.collections[plane.0 as usize].victim().filter(|_| self.notices.moves);
        let first = |block| ftl.blocks.owner(ftl.blocks.geometry().ppn(plane, block, 0));
        victim.is_some_and(|block| ftl.streams.of_table(first(block)).is_some())
    }

    /// The victim of a plane's collection, or the one that its next collection would have.
    pub(super) fn next_victim_of<C: Contents>(&self, plane: PlaneId, ftl: &Translation<C>) -> Option<u32> {
        let under_way = self.collections[plane.0 as usize].victim();
        // Folding gives way to garbage collection.
        under_way.filter(|_| !self.folds(plane, ftl)).or_else(|| {
            let proposed = self.chooser.proposed(&ftl.blocks.of_plane(plane))?;
            Some(self.instead_of(proposed, plane, ftl).unwrap_or(proposed))
        })
    }

    /// The cause of moves and erase of a plane's victim.
    pub(in crate::drive) fn moves_because<C: Contents>(&self, plane: PlaneId, ftl: &Translation<C>) -> Cause {
        if self.folds(plane, ftl) {
            return Cause::Fold;
        }
        let collection = self.collections[plane.0 as usize].under_way;
        match collection.map_or(Cause::Gc, |collection| collection.cause()) {
            Cause::Gc if self.collects_tables(plane, ftl) => Cause::Metadata,
            cause => cause,
        }
    }

    /// The victim of a plane, if its collection gains something.
    pub(super) fn garbage_of<C: Contents>(
        &self,
        plane: PlaneId,
        ftl: &Translation<C>,
        health: &DriveHealth,
    ) -> Option<u32> {
        let victim = self.next_victim_of(plane, ftl);
        victim.filter(|&victim| !health.is_damaged() || !ftl.is_stuck(plane, victim))
    }

    /// Whether a plane has neither room nor anything that it could collect, because copies stay in it until their
    /// successors have a place, or because of torn pages: writes bound to it go to another plane.
    pub(super) fn is_wedged<C: Contents>(&self, plane: PlaneId, ftl: &Translation<C>, power: &Power) -> bool {
        let lacks_room = |victim| power.lacks_room(plane, victim, ftl);
        !ftl.blocks.has_room(plane) && self.next_victim_of(plane, ftl).is_none_or(lacks_room)
    }
}

impl<C: Contents> DriveBackends<C> {
    /// Whether a plane has something to collect, and the room to move its valid pages: torn pages may have left it too
    /// little.
    pub(super) fn can_collect(&self, plane: PlaneId) -> bool {
        self.gc
            .garbage_of(plane, &self.ftl, &self.health)
            .is_some_and(|victim| !self.power.lacks_room(plane, victim, &self.ftl))
    }
}
