//! Full planes of drives with hidden addresses, if addresses are bound to planes (`ftl.allocation`).
//!
//! A page that gets a hidden address stays where it is, and its address is written again to the same plane. So a plane
//! may be given more pages than it holds; further pages go to the next planes. A plane always has room, or something to
//! collect, as long as it maps no more pages than [`super::limit`] says.

use super::backend::{DieQueue, Ftl};
use super::{DriveBackends, Translation};
use crate::drive::controller::Controller;
use crate::engine::Contents;
use crate::flash::PlaneId;
use crate::ftl::Allocation;

impl<C: Contents> Translation<C> {
    /// Whether the planes of a write queue can take another page after those that wait.
    fn takes_more(&self, ftl: usize, write_queue: u32, controller: &Controller<C>) -> bool {
        let (mut at, mut waiting) = (controller.queues.first_write(write_queue), 0);
        while at.is_some() {
            let op = &controller.queues[at];
            waiting += u32::from(op.command.count - op.placed);
            at = op.next;
        }
        let blocks = &self.blocks;
        let write_queue_of = |plane: PlaneId| self.die_queues[self.die_queue_of(plane)].write_queue;
        let planes = || self.planes_in(ftl).filter(|&plane| write_queue_of(plane) == write_queue);
        let free = |plane| blocks.plane(plane).free_pages.saturating_sub(blocks.reserve());
        let valid = |plane| blocks.valid_counts(plane).map(u32::from).sum();
        let left = |plane| self.mappable(plane).saturating_sub(valid(plane));
        planes().map(free).sum::<u32>() > waiting || planes().map(left).sum::<u32>() > waiting
    }

    /// The write queue for a page that is bound to `write_queue`: the first one from there on that can take another
    /// page.
    #[inline(never)]
    pub(super) fn write_queue_with_room(
        &self,
        ftl: usize,
        write_queue: u32,
        controller: &Controller<C>,
    ) -> u32 {
        let this = &self.backends[ftl];
        let die_queues = &self.die_queues[this.die_queues_range()];
        let end = die_queues.iter().map(|die_queue| die_queue.write_queue + 1).max().unwrap_or(write_queue);
        (write_queue..end)
            .chain(this.first_write_queue..write_queue)
            .find(|&write_queue| self.takes_more(ftl, write_queue, controller))
            .unwrap_or(write_queue)
    }
}

impl<C: Contents> DriveBackends<C> {
    /// The plane of a die queue for a page that is bound to some of the planes of its planes: one of these, or the next
    /// one if none of them has room or anything to collect.
    #[inline(never)]
    pub(super) fn bound_plane(
        &self,
        die_queue: &DieQueue,
        lpn: u32,
        fits: impl Fn(PlaneId) -> bool,
    ) -> Option<(PlaneId, u32)> {
        let bound = self.ftl.allowed_plane(die_queue, lpn, &fits);
        if bound.is_some() || !self.ftl.remaps {
            return bound;
        }
        let Ftl { allocation, domain, .. } = &self.ftl.backends[usize::from(die_queue.ftl)];
        let allows = |plane| allocation.allows(&self.flash.geometry, domain, lpn, plane);
        let waits =
            |&plane: &PlaneId| allows(plane) && (self.ftl.blocks.has_room(plane) || self.can_collect(plane));
        let die_queues =
            &self.ftl.die_queues[self.ftl.backends[usize::from(die_queue.ftl)].die_queues_range()];
        let mut die_queues = die_queues.iter().filter(|other| other.write_queue == die_queue.write_queue);
        let is_full = !die_queues.any(|other| other.planes.iter().any(waits));
        let takes = |plane| self.ftl.takes(plane, lpn) && fits(plane);
        if is_full { Allocation::next_plane(&die_queue.planes, die_queue.turn, takes) } else { None }
    }
}
