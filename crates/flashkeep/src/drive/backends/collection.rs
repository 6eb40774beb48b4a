//! The collections of planes: each plane has a place in the queue of its unit, and a victim while it is collected.

use super::DriveBackends;
use crate::blocks::{CollectedUnits, Collection};
use crate::drive::controller::Controller;
use crate::engine::Contents;
use crate::flash::{PlaneId, Ppn};

/// A plane that is being collected, or will be.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::drive) struct PlaneCollection {
    pub queued: bool,
    pub next: Option<PlaneId>,
    pub under_way: Option<Collection>,
    /// With `parity-skip`: pages that its moves have taken, those left out included.
    pub spent: u32,
    /// Blocks whose last page has been left out, and whose summary pages follow the next move.
    pub summaries: u8,
}

impl PlaneCollection {
    #[inline]
    pub(super) fn victim(&self) -> Option<u32> {
        self.under_way.map(|collection| collection.victim)
    }

    /// Whether cold data move into a worn block.
    #[inline]
    pub(super) fn migrates(&self) -> bool {
        self.under_way.is_some_and(|collection| collection.migrates())
    }

    /// The pages of the victim before this one have been examined.
    #[inline]
    pub(super) fn pass(&mut self, page: u32) {
        if let Some(collection) = &mut self.under_way {
            collection.pass(page);
        }
    }
}

/// How many pages of a victim ahead the entries of the map are prefetched: they are anywhere in memory.
const AHEAD: u32 = 16;

/// The blocks of a plane, with the pages whose newest version they have.
struct CollectedPlane<'a, C> {
    backends: &'a DriveBackends<C>,
    controller: &'a Controller<C>,
    plane: PlaneId,
}

impl<C: Contents> CollectedUnits for CollectedPlane<'_, C> {
    #[inline]
    fn next_current(&self, block: u32, from: u32) -> Option<u32> {
        let CollectedPlane { backends, controller, plane } = *self;
        let end = backends.flash.geometry.pages_in(block);
        (from..end).find(|&page| {
            if page + AHEAD < end {
                let later = backends.flash.geometry.ppn(plane, block, page + AHEAD);
                backends.ftl.maps.prefetch(backends.ftl.ftl_of(plane), backends.ftl.blocks.owner(later));
            }
            let ppn = backends.flash.geometry.ppn(plane, block, page);
            backends.ftl.is_current(plane, backends.ftl.blocks.owner(ppn), ppn, controller)
        })
    }
}

impl<C: Contents> DriveBackends<C> {
    /// Whether a plane has so few free pages that it collects.
    #[inline(always)]
    pub(in crate::drive) fn is_low(&self, plane: PlaneId) -> bool {
        self.gc.thresholds.is_low(self.ftl.blocks.plane(plane).free_pages)
    }

    /// Whether it does, at least in idle moments.
    #[inline(always)]
    pub(super) fn is_low_for_idle(&self, plane: PlaneId) -> bool {
        self.gc.thresholds.is_low_for_idle(self.ftl.blocks.plane(plane).free_pages)
    }

    pub(in crate::drive) fn victim_of(
        &mut self,
        plane: PlaneId,
        controller: &mut Controller<C>,
    ) -> Option<u32> {
        let under_way = self.gc.collections[plane.0 as usize].victim();
        if under_way.is_some() {
            return under_way;
        }
        let refreshed = if controller.errors.is_some() { self.next_refresh(plane) } else { None };
        let chosen = refreshed.or_else(|| self.choose(plane));
        self.gc.collections[plane.0 as usize].under_way = chosen;
        let victim = chosen?.victim;
        if self.gc.notices.leaving {
            self.ftl.tell_leaving(plane, victim, controller);
        }
        Some(victim)
    }

    /// The next valid page of the victim.
    pub(super) fn next_valid(
        &mut self,
        plane: PlaneId,
        victim: u32,
        controller: &Controller<C>,
    ) -> Option<(u32, Ppn)> {
        if self.ftl.blocks.is_garbage(plane, victim) {
            return None;
        }
        let collection = self.gc.collections[plane.0 as usize].under_way?;
        let next = collection.next(&CollectedPlane { backends: self, controller, plane });
        let page = next.expect("a victim's valid pages are among those that have not been examined");
        self.gc.collections[plane.0 as usize].pass(page + 1);
        let ppn = self.flash.geometry.ppn(plane, victim, page);
        Some((self.ftl.blocks.owner(ppn), ppn))
    }
}
