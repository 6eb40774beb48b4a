//! Replacement of failed flash by new, empty flash.

use super::{Drive, Fault};
use crate::engine::Contents;
use crate::flash::{PlaneId, Ppn};
use crate::kernel::SimTime;

impl<C: Contents> Drive<C> {
    /// At `now` new planes, erased and never worn, stand where those of `what` have failed, or a new block, a page that
    /// can be programmed after the next erase of its block, or a new and empty NVRAM. What has not failed stays as it
    /// is. A backend that was dead begins empty; one that was damaged uses what is new too.
    pub fn renew(&mut self, now: SimTime, what: Fault) {
        self.now = now;
        match what {
            Fault::Nvram(backend) => self.nvram_mut(backend).renew(),
            Fault::Planes { .. } => self.renew_planes(now, what),
            Fault::PoolPart { .. } => self.renew_parts(now, what),
            Fault::Block(plane, block) => self.renew_blocks(now, plane, [block]),
            Fault::Page(ppn) => self.renew_page(now, ppn),
            Fault::DiskPage(_) => {}
        }
        self.look_again(now);
    }

    fn renew_blocks(&mut self, now: SimTime, plane: PlaneId, blocks: impl IntoIterator<Item = u32>) {
        if self.ftl.blocks.is_dead(plane) {
            return;
        }
        let (backend, mut any) = (self.ftl_of(plane), false);
        for block in blocks {
            if self.ftl.blocks.is_failed_block(plane, block) {
                any = true;
                self.renew_block(backend, plane, block);
            }
        }
        if any && self.ftl.backends[backend].rows.is_none() {
            self.set_limit(now, backend);
        }
    }

    fn renew_block(&mut self, backend: usize, plane: PlaneId, block: u32) {
        let erases = u64::from(self.ftl.blocks.renew_block(plane, block));
        if !self.flash.geometry.is_slc_block(block) {
            self.ftl.backends[backend].erases -= erases;
            self.begin_wear_of(plane, block);
        }
        self.note_renewed(plane, block);
        self.forget_oobs(plane, block);
        self.land_in(plane, block);
        if self.ftl.backends[backend].rows.is_some() {
            self.ftl.next_pages[self.flash.geometry.block_index(plane, block)] = 0;
        }
    }

    /// Parts of pools are new. A pool that had failed as a whole has only these.
    fn renew_parts(&mut self, now: SimTime, what: Fault) {
        let geometry = self.flash.geometry.clone();
        for plane in what.planes(&geometry).map(PlaneId) {
            if !self.ftl.blocks.is_dead(plane) {
                self.renew_blocks(now, plane, what.blocks(&geometry));
                continue;
            }
            self.renew_planes(now, Fault::Planes { first: plane, count: 1 });
            let backend = self.ftl_of(plane);
            for block in (0..geometry.all_blocks()).filter(|&block| !what.takes_block(&geometry, block)) {
                self.ftl.blocks.retire_block(plane, block);
                self.tell_retired(backend, Fault::Block(plane, block));
            }
            if self.ftl.backends[backend].rows.is_none() {
                self.set_limit(now, backend);
            }
        }
    }

    fn renew_page(&mut self, now: SimTime, ppn: Ppn) {
        let backend = self.ftl_of(self.flash.geometry.plane_of(ppn));
        if self.ftl.blocks.renew_page(ppn) && self.ftl.backends[backend].rows.is_none() {
            self.set_limit(now, backend);
        }
    }

    fn renew_planes(&mut self, now: SimTime, what: Fault) {
        let planes = what.planes(&self.flash.geometry).map(PlaneId);
        let planes: Vec<PlaneId> = planes.filter(|&plane| self.ftl.blocks.is_dead(plane)).collect();
        for &plane in &planes {
            let backend = self.ftl_of(plane);
            self.ftl.backends[backend].erases -= self.ftl.blocks.renew_plane(plane);
            for block in 0..self.flash.geometry.all_blocks() {
                self.note_renewed(plane, block);
                self.forget_oobs(plane, block);
            }
            for block in 0..self.flash.geometry.blocks {
                self.begin_wear_of(plane, block);
            }
            // Operations of the old plane do not continue on the new one.
            self.land(plane);
            if self.ftl.backends[backend].rows.is_some() {
                let first = self.flash.geometry.block_index(plane, 0);
                self.ftl.next_pages[first..first + self.flash.geometry.blocks as usize].fill(0);
            }
        }
        if planes.len() == self.flash.geometry.plane_count() as usize {
            self.health.life.begin_anew();
        }
        for backend in self.backends_of(&planes) {
            let whole = self.planes_of(backend).iter().all(|plane| planes.contains(plane));
            let was_dead = std::mem::take(&mut self.ftl.backends[backend].dead);
            if self.ftl.backends[backend].rows.is_some() {
                continue;
            }
            if was_dead && whole {
                let domain = self.ftl.backends[backend].domain;
                self.ftl.backends[backend].allocation = self.allocation_of(&domain);
                self.assign_write_queues(backend);
            } else {
                self.set_limit(now, backend);
            }
        }
    }
}
