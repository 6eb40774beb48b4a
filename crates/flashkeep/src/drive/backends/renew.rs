//! Replacement of failed flash by new, empty flash.

use super::DriveBackends;
use crate::drive::Fault;
use crate::drive::controller::Controller;
use crate::engine::Contents;
use crate::flash::{PlaneId, Ppn};
use crate::kernel::SimTime;

impl<C: Contents> DriveBackends<C> {
    pub(in crate::drive) fn renew_blocks(
        &mut self,
        now: SimTime,
        plane: PlaneId,
        blocks: impl IntoIterator<Item = u32>,
        controller: &mut Controller<C>,
    ) {
        if self.ftl.blocks.is_dead(plane) {
            return;
        }
        let (backend, mut any) = (self.ftl.ftl_of(plane), false);
        for block in blocks {
            if self.ftl.blocks.is_failed_block(plane, block) {
                any = true;
                self.renew_block(backend, plane, block, controller);
            }
        }
        if any && self.ftl.backends[backend].rows.is_none() {
            self.set_limit(now, backend, controller);
        }
    }

    fn renew_block(&mut self, backend: usize, plane: PlaneId, block: u32, controller: &mut Controller<C>) {
        let erases = u64::from(self.ftl.blocks.renew_block(plane, block));
        if !self.flash.geometry.is_slc_block(block) {
            self.ftl.backends[backend].erases -= erases;
            *self.health.erases_before_of(&self.flash.geometry, plane, block) = 0;
        }
        controller.errors.note_renewed(plane, block);
        self.power.forget_oobs(plane, block, &self.flash.geometry);
        let index = self.flash.geometry.block_index(plane, block);
        self.power.land(|ppn| self.flash.geometry.block_index_of(ppn) == index, controller);
        if self.ftl.backends[backend].rows.is_some() {
            self.ftl.next_pages[index] = 0;
        }
    }

    /// Parts of pools are new. A pool that had failed as a whole has only these.
    pub(in crate::drive) fn renew_parts(
        &mut self,
        now: SimTime,
        what: Fault,
        controller: &mut Controller<C>,
    ) {
        let geometry = self.flash.geometry.clone();
        for plane in what.planes(&geometry).map(PlaneId) {
            if !self.ftl.blocks.is_dead(plane) {
                self.renew_blocks(now, plane, what.blocks(&geometry), controller);
                continue;
            }
            self.renew_planes(now, Fault::Planes { first: plane, count: 1 }, controller);
            let backend = self.ftl.ftl_of(plane);
            for block in (0..geometry.all_blocks()).filter(|&block| !what.takes_block(&geometry, block)) {
                self.ftl.blocks.retire_block(plane, block);
                self.ftl.tell_retired(backend, Fault::Block(plane, block), controller);
            }
            if self.ftl.backends[backend].rows.is_none() {
                self.set_limit(now, backend, controller);
            }
        }
    }

    pub(in crate::drive) fn renew_page(&mut self, now: SimTime, ppn: Ppn, controller: &mut Controller<C>) {
        let backend = self.ftl.ftl_of(self.flash.geometry.plane_of(ppn));
        if self.ftl.blocks.renew_page(ppn) && self.ftl.backends[backend].rows.is_none() {
            self.set_limit(now, backend, controller);
        }
    }

    pub(in crate::drive) fn renew_planes(
        &mut self,
        now: SimTime,
        what: Fault,
        controller: &mut Controller<C>,
    ) {
        let planes = what.planes(&self.flash.geometry).map(PlaneId);
        let planes: Vec<PlaneId> = planes.filter(|&plane| self.ftl.blocks.is_dead(plane)).collect();
        for &plane in &planes {
            let backend = self.ftl.ftl_of(plane);
            self.ftl.backends[backend].erases -= self.ftl.blocks.renew_plane(plane);
            for block in 0..self.flash.geometry.all_blocks() {
                controller.errors.note_renewed(plane, block);
                self.power.forget_oobs(plane, block, &self.flash.geometry);
            }
            for block in 0..self.flash.geometry.blocks {
                *self.health.erases_before_of(&self.flash.geometry, plane, block) = 0;
            }
            // Operations of the old plane do not continue on the new one.
            self.power.land(|ppn| self.flash.geometry.plane_of(ppn) == plane, controller);
            if self.ftl.backends[backend].rows.is_some() {
                let first = self.flash.geometry.block_index(plane, 0);
                self.ftl.next_pages[first..first + self.flash.geometry.blocks as usize].fill(0);
            }
        }
        if planes.len() == self.flash.geometry.plane_count() as usize {
            self.health.life.begin_anew();
        }
        for backend in self.ftl.backends_of(&planes) {
            let whole = self.ftl.planes_of(backend).iter().all(|plane| planes.contains(plane));
            let was_dead = std::mem::take(&mut self.ftl.backends[backend].dead);
            if self.ftl.backends[backend].rows.is_some() {
                continue;
            }
            if was_dead && whole {
                let domain = self.ftl.backends[backend].domain;
                self.ftl.backends[backend].allocation = self.ftl.allocation_of(&domain);
                self.ftl.assign_write_queues(backend, controller);
            } else {
                self.set_limit(now, backend, controller);
            }
        }
    }
}
