//! Retired blocks, and the end of the drive.
//!
//! A block that has used its erase budget is *retired*: it is treated like a failed block, but no page is lost, because
//! it has just been erased. From the first retirement on the backend works in degraded mode ([`limit`](super::limit)):
//! it places pages wherever there is room, and maps no more pages than it can sustain. The first write beyond that is
//! refused, which is the drive's end. A backend of physical pages refuses nothing by itself: the map or log above it is
//! told, and says when it finds no room.

use super::backends::DriveBackends;
use super::controller::Controller;
use super::{Fault, Parameters};
use crate::engine::Contents;
use crate::flash::PlaneId;
use crate::kernel::SimTime;

/// The wear of a drive: retired blocks, and the end of life.
#[derive(Clone, Debug)]
pub struct DriveLife {
    budget: u32,
    /// Blocks of each plane that hold no data with the drive full.
    pub(super) spare_blocks: u32,
    /// Places of each other block that may stay empty while its pages are moved.
    padding: u32,
    /// Blocks that have reached the erase budget.
    pub expired: u32,
    /// When the first one reached it.
    pub first_death: Option<SimTime>,
    /// When the first write was refused, for want of good blocks.
    pub first_refusal: Option<SimTime>,
}

impl DriveLife {
    pub(super) fn new(drive: &Parameters) -> Self {
        DriveLife {
            budget: drive.policies.erase_budget.unwrap_or(u32::MAX),
            spare_blocks: drive.spare_blocks,
            padding: drive.padding,
            expired: 0,
            first_death: None,
            first_refusal: None,
        }
    }

    /// The values for a device that does not wear out.
    #[must_use]
    pub fn endless() -> Self {
        DriveLife {
            budget: u32::MAX,
            spare_blocks: 0,
            padding: 0,
            expired: 0,
            first_death: None,
            first_refusal: None,
        }
    }

    /// Adds those of another drive.
    pub fn add(&mut self, other: &DriveLife) {
        let earlier = |a: Option<SimTime>, b: Option<SimTime>| a.into_iter().chain(b).min();
        self.expired += other.expired;
        self.first_death = earlier(self.first_death, other.first_death);
        self.first_refusal = earlier(self.first_refusal, other.first_refusal.filter(|_| other.has_ended()));
    }

    /// All blocks are new.
    pub(super) fn begin_anew(&mut self) {
        *self = DriveLife { expired: 0, first_death: None, first_refusal: None, ..self.clone() };
    }

    /// Erases that a block has in all.
    pub(super) fn budget(&self) -> u32 {
        self.budget
    }

    /// Whether a block that was erased so often has no erase left.
    pub(super) fn is_over(&self, erases: u32) -> bool {
        erases >= self.budget
    }

    pub(super) fn refuse(&mut self, now: SimTime) {
        self.first_refusal.get_or_insert(now);
    }

    /// Whether blocks have died, and a write was refused since.
    #[must_use]
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.expired > 0 && self.first_refusal.is_some()
    }
}

impl<C: Contents> DriveBackends<C> {
    /// Retires a block after its last erase, which ends at `end`.
    #[cold]
    pub(super) fn expire(
        &mut self,
        end: SimTime,
        plane: PlaneId,
        block: u32,
        controller: &mut Controller<C>,
    ) {
        let ftl = self.ftl.ftl_of(plane);
        if self.flash.geometry.is_slc_block(block) {
            // The drive goes on with a smaller cache, or without one.
            self.set_damaged(controller);
            return self.ftl.blocks.retire_block(plane, block);
        }
        self.health.life.expired += 1;
        if self.health.life.first_death.is_none() {
            self.health.life.first_death = Some(end);
            controller.note_first_death(controller.dies.unit_of_block(plane, block));
        }
        self.set_damaged(controller);
        if self.ftl.physical {
            self.ftl.blocks.retire_block(plane, block);
            self.void_physical(controller.now, ftl, Fault::Block(plane, block), controller);
            return self.tell_retired(ftl, Fault::Block(plane, block), controller);
        }
        let before = self.mappable(plane);
        self.ftl.blocks.retire_block(plane, block);
        let lost = before - self.mappable(plane);
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
    pub(super) fn is_worn(&self, what: Fault) -> bool {
        let (mut erases, mut budgets, mut blocks) = (0, 0, 0);
        for plane in what.planes(&self.flash.geometry).map(PlaneId) {
            for block in what.blocks(&self.flash.geometry) {
                // The cache of a plane wears by itself.
                if self.flash.geometry.is_slc_block(block)
                    && !matches!(what, Fault::Block(..) | Fault::Page(_))
                {
                    continue;
                }
                blocks += 1;
                erases += u64::from(self.ftl.blocks.erases_of(plane, block));
                budgets += u64::from(self.budget_of(block));
            }
        }
        blocks > 0 && erases >= budgets
    }

    /// Whether a block has reached the erase budget.
    pub(super) fn has_expired(&self, plane: PlaneId, block: u32, controller: &Controller<C>) -> bool {
        self.is_used_up(plane, block, controller)
            && self.ftl.blocks.is_failed_block(plane, block)
            && !self.ftl.blocks.is_dead(plane)
    }

    /// The last erase of a block was granted together with the moves before it, and the power was cut before it began.
    #[cold]
    pub(super) fn take_back_expiry(&mut self, plane: PlaneId, block: u32) {
        self.ftl.blocks.reinstate_block(plane, block);
        if self.flash.geometry.is_slc_block(block) {
            return;
        }
        self.health.life.expired -= 1;
        if self.health.life.expired == 0 {
            self.health.life.first_death = None;
        }
    }

    /// A block may have died while pages were submitted one by one to a backend that did not count them yet: they are
    /// counted now.
    #[cold]
    #[inline(never)]
    pub(super) fn count_anew(&mut self, now: SimTime, ftl: usize, controller: &mut Controller<C>) {
        if self.ftl.backends[ftl].limit.is_some() {
            self.set_limit(now, ftl, controller);
        }
    }

    /// The number of pages of a plane that can be mapped so that it can always continue.
    pub(super) fn mappable(&self, plane: PlaneId) -> u32 {
        let DriveLife { spare_blocks, padding, .. } = self.health.life;
        let others = self.flash.geometry.blocks.saturating_sub(spare_blocks);
        let spare = spare_blocks * self.flash.geometry.pages + others * padding;
        self.ftl.blocks.good_pages(plane).saturating_sub(spare)
    }

    /// A page that was there before time 0, or one that is written without time, finds no room any more.
    #[cold]
    pub(super) fn void_before(&mut self, now: SimTime, ftl: usize, lpn: u32, controller: &mut Controller<C>) {
        self.count_unmapped(ftl, controller);
        self.refuse(now, ftl, lpn, controller);
    }
}
