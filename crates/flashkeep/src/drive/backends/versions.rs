//! Plane choice if planes do not take turns (`ftl.plane_choice`): blocks are numbered as they are opened, and
//! of two copies of a page the one with the greater <number of its block, place in it> is the newer one.
//!
//! Source: the DiskSim extension of Agrawal et al., USENIX ATC 2008.

use super::backend::DieQueue;
use super::{DriveBackends, Translation};
use crate::drive::controller::{Controller, DriveOp};
use crate::engine::Contents;
use crate::flash::PlaneId;
use crate::ftl::{Allocation, PlaneChoice};
use crate::kernel::Id;

/// The copy of a page that a write replaces.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::drive) struct Replaced {
    version: u64,
    plane: Option<PlaneId>,
}

impl<C: Contents> Translation<C> {
    /// What a write replaces, so that the new copy gets a greater version: of the copies of its pages that the flash has
    /// now, the youngest one. Where the page is written once more meanwhile, that write replaces the same copy.
    pub(in crate::drive) fn replaced_by(&self, op: Id<DriveOp>, controller: &Controller<C>) -> Replaced {
        let DriveOp { command, placed, ftl, .. } = controller.queues[op];
        let pages = command.low_pages().skip(usize::from(placed));
        let copies = pages.filter_map(|lpn| self.copy_on_flash(usize::from(ftl), lpn, controller));
        let replaced = |ppn| Replaced {
            version: self.blocks.version(ppn),
            plane: Some(self.blocks.geometry().plane_of(ppn)),
        };
        copies.map(replaced).max_by_key(|copy| copy.version).unwrap_or_default()
    }

    /// The plane of the older copy, if the new one must go there as well.
    pub(in crate::drive) fn only_plane_for(&self, older: Replaced) -> Option<PlaneId> {
        older.plane.filter(|_| self.placement.plane_choice == PlaneChoice::Same)
    }

    /// Whether a copy in a plane has a greater version than an older copy, and may go there.
    pub(super) fn may_replace(&self, older: Replaced, plane: PlaneId) -> bool {
        self.only_plane_for(older).is_none_or(|same| same == plane)
            && self.blocks.next_version(plane) > older.version
    }
}

impl<C: Contents> DriveBackends<C> {
    /// The plane of a die queue for the first page of its write queue: the roomiest of those that give it a greater
    /// version than its older copy has. Where no plane of the write queue's die queues does, or ever will, any that has
    /// room.
    pub(super) fn plane_by_version(
        &self,
        die_queue: &DieQueue,
        head: Id<DriveOp>,
        controller: &Controller<C>,
    ) -> Option<(PlaneId, u32)> {
        let has_room = |plane: PlaneId| self.ftl.blocks.has_room(plane);
        let roomiest = |fits: &dyn Fn(PlaneId) -> bool| {
            let room = |plane| (has_room(plane) && fits(plane)).then(|| self.ftl.blocks.room(plane));
            Allocation::roomiest(&die_queue.planes, die_queue.turn, room)
        };
        let ftl = &self.ftl.backends[usize::from(die_queue.ftl)];
        // A degraded backend uses any room, regardless of the address.
        if ftl.limit.is_some() {
            return roomiest(&|_| true);
        }
        if let Some(dealt) = controller.queues[head].dealt {
            let at = die_queue.planes.iter().position(|&plane| plane == dealt && has_room(plane));
            return at.map(|at| (dealt, (at as u32 + 1) % die_queue.planes.len() as u32));
        }
        let older = self.ftl.replaced_by(head, controller);
        let same = self.ftl.only_plane_for(older);
        if same.is_some_and(|same| self.gc.is_wedged(same, &self.ftl, &self.power)) {
            // What the recovery goes by is the number of the write, not the block that it went to.
            return roomiest(&|_| true);
        }
        let fits = |plane: PlaneId| self.ftl.may_replace(older, plane);
        roomiest(&fits).or_else(|| {
            let mut others = self.ftl.die_queues[ftl.die_queues_range()]
                .iter()
                .filter(|other| other.write_queue == die_queue.write_queue);
            let waits = |plane: &PlaneId| fits(*plane) && (has_room(*plane) || self.can_collect(*plane));
            let hopeless = !others.any(|other| other.planes.iter().any(waits));
            hopeless.then(|| roomiest(&|_| true)).flatten()
        })
    }
}
