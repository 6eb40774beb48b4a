//! Full planes of drives with hidden addresses, if addresses are bound to planes (`ftl.allocation`).
//!
//! A page that gets a hidden address stays where it is, and its address is written again to the same plane. So a plane
//! may be given more pages than it holds; further pages go to the next planes. A plane always has room, or something to
//! collect, as long as it maps no more pages than [`super::limit`] says.

use super::{Drive, Ftl, Lane};
use crate::engine::Contents;
use crate::flash::PlaneId;
use crate::ftl::Allocation;

impl<C: Contents> Drive<C> {
    /// The write queue for a page that is bound to `pool`: the first one from there on that can take another page.
    #[inline(never)]
    pub(super) fn pool_with_room(&self, ftl: usize, pool: u32) -> u32 {
        let this = &self.ftl.leaves[ftl];
        let lanes = &self.queues.lanes[this.lanes_range()];
        let end = lanes.iter().map(|lane| lane.pool + 1).max().unwrap_or(pool);
        (pool..end).chain(this.first_pool..pool).find(|&pool| self.takes_more(ftl, pool)).unwrap_or(pool)
    }

    /// Whether the planes of a write queue can take another page behind those that wait.
    fn takes_more(&self, ftl: usize, pool: u32) -> bool {
        let queue = &self.queues.pools[pool as usize];
        let (mut at, mut waiting) = (queue.head, 0);
        while at.is_some() {
            let op = &self.queues.ops[at];
            waiting += u32::from(op.command.count - op.placed);
            at = op.next;
        }
        let blocks = &self.ftl.blocks;
        let pool_of = |plane: PlaneId| self.queues.lanes[self.queues.lane_of[plane.0 as usize] as usize].pool;
        let planes = || self.planes_in(ftl).filter(|&plane| pool_of(plane) == pool);
        let free = |plane| blocks.plane(plane).free_pages.saturating_sub(blocks.reserve());
        let valid = |plane| blocks.valid_counts(plane).map(u32::from).sum();
        planes().map(free).sum::<u32>() > waiting
            || planes().map(|plane| self.mappable(plane).saturating_sub(valid(plane))).sum::<u32>() > waiting
    }

    /// The plane of a lane for a page that is bound to some of the planes of the lane's queue: one of these, or the next
    /// one if none of them has room or anything to collect.
    #[inline(never)]
    pub(super) fn bound_plane(
        &self,
        lane: &Lane,
        lpn: u32,
        fits: impl Fn(PlaneId) -> bool,
    ) -> Option<(PlaneId, u32)> {
        let bound = self.allowed_plane(lane, lpn, &fits);
        if bound.is_some() || !self.ftl.remaps {
            return bound;
        }
        let Ftl { allocation, domain, .. } = &self.ftl.leaves[usize::from(lane.ftl)];
        let allows = |plane| allocation.allows(&self.flash.geometry, domain, lpn, plane);
        let waits =
            |&plane: &PlaneId| allows(plane) && (self.ftl.blocks.has_room(plane) || self.has_garbage(plane));
        let lanes = &self.queues.lanes[self.ftl.leaves[usize::from(lane.ftl)].lanes_range()];
        let mut lanes = lanes.iter().filter(|other| other.pool == lane.pool);
        let is_full = !lanes.any(|other| other.planes.iter().any(waits));
        let takes = |plane| self.ftl.blocks.has_room(plane) && fits(plane);
        if is_full { Allocation::next_plane(&lane.planes, lane.turn, takes) } else { None }
    }
}
