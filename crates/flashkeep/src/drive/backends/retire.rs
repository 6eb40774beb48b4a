//! Retired blocks, and the end of the drive.
//!
//! A block that has used its erase budget is *retired*: it is treated like a failed block, but no page is lost,
//! because it has just been erased. From the first retirement on the backend works in degraded mode
//! ([`limit`](super::limit)): it places pages wherever there is room, and maps no more pages than it can sustain. The
//! first write beyond that is refused, which is the drive's end. A backend of physical pages refuses nothing by
//! itself: it notifies the map or log above it, which reports when it finds no room.

use super::{DriveBackends, Halves, Translation};
use crate::drive::controller::Controller;
use crate::drive::{BlockErases, Fault};
use crate::engine::{Cause, Contents};
use crate::flash::{OpKind, PlaneId};
use crate::kernel::SimTime;

impl<C: Contents> Translation<C> {
    pub(in crate::drive) fn all_erases(&self) -> BlockErases {
        let blocks = self.blocks.geometry().block_count();
        if self.backends.iter().all(|backend| backend.erases == 0) {
            return BlockErases::none(blocks);
        }
        let mut all = Vec::with_capacity(blocks);
        let planes = (0..self.blocks.geometry().plane_count()).map(PlaneId);
        planes.for_each(|plane| all.extend_from_slice(self.blocks.erases(plane)));
        BlockErases::from(all)
    }

    /// The number of pages of a plane that can be mapped so that it can always continue.
    pub(super) fn mappable(&self, plane: PlaneId) -> u32 {
        self.blocks.good_pages(plane).saturating_sub(self.spare_pages)
    }
}

impl<C: Contents> DriveBackends<C> {
    /// Retires a block after its last erase, which ends at `end`.
    #[cold]
    pub(in crate::drive) fn expire(
        &mut self,
        end: SimTime,
        plane: PlaneId,
        block: u32,
        controller: &mut Controller<C>,
    ) {
        let ftl = self.ftl.ftl_of(plane);
        if self.flash.geometry.is_slc_block(block) {
            // The drive continues with a smaller cache, or without one.
            self.health.set_damaged(controller);
            return self.ftl.blocks.retire_block(plane, block);
        }
        self.health.life.expired += 1;
        if self.health.life.first_worn_block.is_none() {
            self.health.life.first_worn_block = Some(end);
            controller.open.note_first_death(controller.dies.unit_of_block(plane, block));
        }
        self.health.set_damaged(controller);
        if self.ftl.physical {
            self.ftl.blocks.retire_block(plane, block);
            self.void_physical(controller.now, ftl, Fault::Block(plane, block), controller);
            return self.ftl.tell_retired(ftl, Fault::Block(plane, block), controller);
        }
        let before = self.ftl.mappable(plane);
        self.ftl.blocks.retire_block(plane, block);
        let lost = before - self.ftl.mappable(plane);
        let Some(limit) = &mut self.ftl.backends[ftl].limit else {
            return self.set_limit(controller.now, ftl, controller);
        };
        limit.most -= lost;
        self.cut_waiting_writes(controller.now, ftl, controller);
        // A collection in idle time may have spent the plane's last pages for this block.
        self.ask_if_full(plane, controller);
    }

    /// Whether the blocks that a fault strikes have had, on average, all their erases.
    #[must_use]
    pub(in crate::drive) fn is_worn(&self, what: Fault) -> bool {
        let (mut erases, mut budgets, mut blocks) = (0, 0, 0);
        for plane in what.planes(&self.flash.geometry).map(PlaneId) {
            for block in what.blocks(&self.flash.geometry) {
                let is_cache = self.flash.geometry.is_slc_block(block);
                // The cache of a plane wears by itself.
                if is_cache && !matches!(what, Fault::Block(..) | Fault::Page(_)) {
                    continue;
                }
                let budget = if is_cache { self.slc.budget } else { self.health.life.budget() };
                blocks += 1;
                erases += u64::from(self.ftl.blocks.erases_of(plane, block));
                budgets += u64::from(budget);
            }
        }
        blocks > 0 && erases >= budgets
    }

    /// A block may have died while pages were submitted one by one to a backend that did not count them yet: they are
    /// counted now.
    #[cold]
    #[inline(never)]
    pub(in crate::drive) fn count_anew(&mut self, now: SimTime, ftl: usize, controller: &mut Controller<C>) {
        if self.ftl.backends[ftl].limit.is_some() {
            self.set_limit(now, ftl, controller);
        }
    }

    /// A page that was there before time 0, or one that is written without time, finds no room any more.
    #[cold]
    pub(super) fn void_before(&mut self, now: SimTime, ftl: usize, lpn: u32, controller: &mut Controller<C>) {
        self.count_unmapped(ftl, controller);
        self.refuse(now, ftl, lpn, controller);
    }

    /// An erase of a block without time. If it is not counted, it is not this run's.
    pub(super) fn count_erase(
        &mut self,
        ftl: usize,
        cause: Cause,
        plane: PlaneId,
        block: u32,
        controller: &mut Controller<C>,
    ) {
        self.count_untimed(ftl, OpKind::Erase, cause, self.flash.geometry.ppn(plane, block, 0), controller);
        if !self.immediate.counting && !self.flash.geometry.is_slc_block(block) {
            *self.health.erases_before_of(&self.flash.geometry, plane, block) += 1;
        }
    }
}

impl<C: Contents> Halves<'_, C> {
    pub(in crate::drive) fn begin_wear(&mut self) {
        let Halves { controller, backends } = self;
        backends.health.erases_before = backends.ftl.all_erases();
        backends.slc.begin();
        controller.errors.begin();
        backends.maintenance.begin_scrubbing(controller);
        self.look_at_caches(SimTime::ZERO);
    }
}
