//! Replacement of failed flash by new, empty flash.

use super::Halves;
use crate::drive::Fault;
use crate::engine::Contents;
use crate::flash::{PlaneId, Ppn};
use crate::kernel::SimTime;

impl<C: Contents> Halves<'_, C> {
    pub(in crate::drive) fn renew_blocks(
        &mut self,
        now: SimTime,
        plane: PlaneId,
        blocks: impl IntoIterator<Item = u32>,
    ) {
        if self.backends.ftl.blocks.is_dead(plane) {
            return;
        }
        let (backend, mut any) = (self.backends.ftl.ftl_of(plane), false);
        for block in blocks {
            if self.backends.ftl.blocks.is_failed_block(plane, block) {
                any = true;
                self.renew_block(backend, plane, block);
            }
        }
        if any && self.backends.ftl.backends[backend].rows.is_none() {
            self.backends.set_limit(now, backend, self.controller);
        }
    }

    fn renew_block(&mut self, backend: usize, plane: PlaneId, block: u32) {
        let Halves { controller, backends } = self;
        let erases = u64::from(backends.ftl.blocks.renew_block(plane, block));
        if !backends.flash.geometry.is_slc_block(block) {
            backends.ftl.backends[backend].erases -= erases;
            *backends.health.erases_before_of(&backends.flash.geometry, plane, block) = 0;
        }
        controller.errors.note_renewed(plane, block);
        backends.power.forget_oobs(plane, block, &backends.flash.geometry);
        let index = backends.flash.geometry.block_index(plane, block);
        backends.power.land(|ppn| backends.flash.geometry.block_index_of(ppn) == index, controller);
        if backends.ftl.backends[backend].rows.is_some() {
            backends.ftl.next_pages[index] = 0;
        }
    }

    /// Parts of pools are new. A pool that had failed as a whole has only these.
    pub(in crate::drive) fn renew_parts(&mut self, now: SimTime, what: Fault) {
        let geometry = self.backends.flash.geometry.clone();
        for plane in what.planes(&geometry).map(PlaneId) {
            if !self.backends.ftl.blocks.is_dead(plane) {
                self.renew_blocks(now, plane, what.blocks(&geometry));
                continue;
            }
            self.renew_planes(now, Fault::Planes { first: plane, count: 1 });
            let backend = self.backends.ftl.ftl_of(plane);
            for block in (0..geometry.all_blocks()).filter(|&block| !what.takes_block(&geometry, block)) {
                self.backends.ftl.blocks.retire_block(plane, block);
                self.backends.ftl.tell_retired(backend, Fault::Block(plane, block), self.controller);
            }
            if self.backends.ftl.backends[backend].rows.is_none() {
                self.backends.set_limit(now, backend, self.controller);
            }
        }
    }

    pub(in crate::drive) fn renew_page(&mut self, now: SimTime, ppn: Ppn) {
        let Halves { controller, backends } = self;
        let backend = backends.ftl.ftl_of(backends.flash.geometry.plane_of(ppn));
        if backends.ftl.blocks.renew_page(ppn) && backends.ftl.backends[backend].rows.is_none() {
            backends.set_limit(now, backend, controller);
        }
    }

    pub(in crate::drive) fn renew_planes(&mut self, now: SimTime, what: Fault) {
        let Halves { controller, backends } = self;
        let planes = what.planes(&backends.flash.geometry).map(PlaneId);
        let planes: Vec<PlaneId> = planes.filter(|&plane| backends.ftl.blocks.is_dead(plane)).collect();
        for &plane in &planes {
            let backend = backends.ftl.ftl_of(plane);
            backends.ftl.backends[backend].erases -= backends.ftl.blocks.renew_plane(plane);
            for block in 0..backends.flash.geometry.all_blocks() {
                controller.errors.note_renewed(plane, block);
                backends.power.forget_oobs(plane, block, &backends.flash.geometry);
            }
            for block in 0..backends.flash.geometry.blocks {
                *backends.health.erases_before_of(&backends.flash.geometry, plane, block) = 0;
            }
            // Operations of the old plane do not continue on the new one.
            backends.power.land(|ppn| backends.flash.geometry.plane_of(ppn) == plane, controller);
            if backends.ftl.backends[backend].rows.is_some() {
                let first = backends.flash.geometry.block_index(plane, 0);
                backends.ftl.next_pages[first..first + backends.flash.geometry.blocks as usize].fill(0);
            }
        }
        if planes.len() == backends.flash.geometry.plane_count() as usize {
            backends.health.life.begin_anew();
        }
        for backend in backends.ftl.backends_of(&planes) {
            let whole = backends.ftl.planes_of(backend).iter().all(|plane| planes.contains(plane));
            let was_dead = std::mem::take(&mut backends.ftl.backends[backend].dead);
            if backends.ftl.backends[backend].rows.is_some() {
                continue;
            }
            if was_dead && whole {
                let domain = backends.ftl.backends[backend].domain;
                backends.ftl.backends[backend].allocation = backends.ftl.allocation_of(&domain);
                backends.ftl.assign_write_queues(backend, controller);
            } else {
                backends.set_limit(now, backend, controller);
            }
        }
    }
}
