//! The collections of planes: each plane has a place in the queue of its unit, and a victim while it is collected.

use super::{Gc, Maintenance, Translation};
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
    ftl: &'a Translation<C>,
    controller: &'a Controller<C>,
    plane: PlaneId,
}

impl<C: Contents> CollectedUnits for CollectedPlane<'_, C> {
    #[inline]
    fn next_current(&self, block: u32, from: u32) -> Option<u32> {
        let CollectedPlane { ftl, controller, plane } = *self;
        let (geometry, backend) = (ftl.blocks.geometry(), ftl.ftl_of(plane));
        let end = geometry.pages_in(block);
        (from..end).find(|&page| {
            if page + AHEAD < end {
                let later = geometry.ppn(plane, block, page + AHEAD);
                ftl.maps.prefetch(backend, ftl.blocks.owner(later));
            }
            let ppn = geometry.ppn(plane, block, page);
            ftl.is_current(plane, ftl.blocks.owner(ppn), ppn, controller)
        })
    }
}

impl Gc {
    /// Whether a plane has so few free pages that it collects.
    #[inline(always)]
    pub(in crate::drive) fn is_low<C: Contents>(&self, plane: PlaneId, ftl: &Translation<C>) -> bool {
        self.thresholds.is_low(ftl.blocks.plane(plane).free_pages)
    }

    /// Whether it does, at least in idle moments.
    #[inline(always)]
    pub(super) fn is_low_for_idle<C: Contents>(&self, plane: PlaneId, ftl: &Translation<C>) -> bool {
        self.thresholds.is_low_for_idle(ftl.blocks.plane(plane).free_pages)
    }

    /// The next valid page of the victim.
    pub(super) fn next_valid<C: Contents>(
        &mut self,
        plane: PlaneId,
        victim: u32,
        ftl: &Translation<C>,
        controller: &Controller<C>,
    ) -> Option<(u32, Ppn)> {
        if ftl.blocks.is_garbage(plane, victim) {
            return None;
        }
        let collection = self.collections[plane.0 as usize].under_way?;
        let next = collection.next(&CollectedPlane { ftl, controller, plane });
        let page = next.expect("a victim's valid pages are among those that have not been examined");
        self.collections[plane.0 as usize].pass(page + 1);
        let ppn = ftl.blocks.geometry().ppn(plane, victim, page);
        Some((ftl.blocks.owner(ppn), ppn))
    }

    pub(in crate::drive) fn victim_of<C: Contents>(
        &mut self,
        plane: PlaneId,
        maintenance: &mut Maintenance,
        ftl: &mut Translation<C>,
        controller: &mut Controller<C>,
    ) -> Option<u32> {
        let under_way = self.collections[plane.0 as usize].victim();
        if under_way.is_some() {
            return under_way;
        }
        let refreshed =
            if controller.errors.may_occur() { maintenance.next_refresh(plane, ftl) } else { None };
        let chosen = refreshed.or_else(|| self.choose(plane, ftl));
        self.collections[plane.0 as usize].under_way = chosen;
        let victim = chosen?.victim;
        if self.notices.leaving {
            ftl.tell_leaving(plane, victim, controller);
        }
        Some(victim)
    }
}
