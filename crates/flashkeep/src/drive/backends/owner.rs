//! What the controller asks of the backends, and tells them ([`PageOwner`]): each function is that of a component, which
//! has the same name where it is one of several.

use super::DriveBackends;
use crate::drive::LoggedOperation;
use crate::drive::controller::{Controller, DriveOp, Next, OwnerRules, PageOwner, ProgramMode, Taker};
use crate::engine::{Cause, Contents};
use crate::flash::{PlaneId, Ppn, UnitId};
use crate::kernel::{Id, SimTime};
use std::ops::Range;

impl<C: Contents> DriveBackends<C> {
    /// What never changes.
    pub(in crate::drive) fn rules(&self) -> OwnerRules {
        OwnerRules {
            physical: self.ftl.physical,
            gathers_writes: self.packing.gathers_writes(),
            collects_in_background: self.gc.background,
            run: self.gc.run,
            time_to_note: self.ftl.memory.write,
        }
    }
}

impl<C: Contents> PageOwner<C> for DriveBackends<C> {
    #[inline(always)]
    fn plane_for<M: ProgramMode>(
        &self,
        die_queue: usize,
        controller: &Controller<C>,
    ) -> Option<(PlaneId, u32)> {
        DriveBackends::plane_for::<M>(self, die_queue, controller)
    }

    #[inline(always)]
    fn write_queue_of(&self, die_queue: usize) -> u32 {
        self.ftl.die_queues[die_queue].write_queue
    }

    #[inline(always)]
    fn grant_next<M: ProgramMode>(
        &mut self,
        now: SimTime,
        channel: usize,
        taker: Taker,
        controller: &mut Controller<C>,
    ) -> UnitId {
        self.grant::<M>(now, channel, taker, controller)
    }

    #[inline]
    fn writes_later(&self, now: SimTime, channel: usize, controller: &Controller<C>) -> Next {
        DriveBackends::writes_later(self, now, channel, controller)
    }

    fn offer_gathered(&mut self, now: SimTime, channel: usize, controller: &mut Controller<C>) {
        DriveBackends::offer_gathered(self, now, channel, controller);
    }

    fn deal_out(&self, gang: &Range<usize>, controller: &mut Controller<C>) -> Vec<u32> {
        self.ftl.deal_out(gang, controller)
    }

    #[inline]
    fn visits_later(&mut self, channel: usize) -> bool {
        self.parts.visits_later(channel)
    }

    // ---------------------------------------------------------------- what is collected next

    #[inline]
    fn collect(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        idle: u64,
        controller: &mut Controller<C>,
    ) -> Option<UnitId> {
        DriveBackends::collect(self, now, channel, unit, idle, controller)
    }

    fn idle_work(&self) -> Option<Cause> {
        let folds = || self.slc.uses_idle_time().then_some(Cause::Fold);
        if self.gc.is_soft() { Some(Cause::Gc) } else { folds() }
    }

    fn work_softly(
        &mut self,
        now: SimTime,
        channel: usize,
        units: [UnitId; 2],
        idle: u64,
        controller: &mut Controller<C>,
    ) -> Option<Option<UnitId>> {
        DriveBackends::work_softly(self, now, channel, units, idle, controller)
    }

    fn moves_because(&self, plane: PlaneId) -> Cause {
        self.gc.moves_because(plane, &self.ftl)
    }

    fn left_to_collect(&self, now: SimTime, plane: PlaneId) -> Option<(Ppn, u32)> {
        let victim = self.gc.victim_in(now, plane, &self.ftl, &self.maintenance, &self.flash)?;
        Some((self.flash.geometry.ppn(plane, victim, 0), self.ftl.blocks.valid_in(plane, victim)))
    }

    // ---------------------------------------------------------------- what is over

    #[inline]
    fn note_flight(&mut self, now: SimTime, begun: SimTime, operation: &LoggedOperation) {
        self.power.note_flight(now, begun, operation);
    }

    #[inline]
    fn guard(&mut self, block: Option<usize>, until: SimTime) {
        self.power.guard(block, until);
    }

    #[inline]
    fn note_over(&mut self, sequence: u64) {
        self.power.note_over(sequence);
    }

    fn note_death(&mut self, end: SimTime) {
        self.health.note_death(end);
    }

    fn end_scrub(&mut self, op: Id<DriveOp>, end: SimTime, controller: &mut Controller<C>) {
        DriveBackends::end_scrub(self, op, end, controller);
    }

    fn scrub_on(&mut self, now: SimTime, controller: &mut Controller<C>) {
        self.maintenance.scrub_on(now, controller);
    }

    // ---------------------------------------------------------------- pages and blocks

    #[inline]
    fn is_unreadable(&self, ppn: Ppn) -> bool {
        self.health.checks_pages() && self.ftl.blocks.is_unreadable(ppn)
    }

    fn lose_page(&mut self, ppn: Ppn) {
        self.ftl.blocks.poison(ppn);
        self.health.unreadable = true;
    }

    fn ask_for_refresh(&mut self, now: SimTime, ppn: Ppn, controller: &mut Controller<C>) {
        DriveBackends::ask_for_refresh(self, now, ppn, controller);
    }

    #[inline]
    fn erases_of(&self, plane: PlaneId, block: u32) -> [u32; 2] {
        let geometry = &self.flash.geometry;
        let slc = geometry.is_slc_block(block);
        let before = if slc { 0 } else { self.health.erases_before(geometry, plane, block) };
        [self.ftl.blocks.erases_of(plane, block), before]
    }

    #[inline]
    fn logical_page(&self, operation: &LoggedOperation) -> Option<u32> {
        self.ftl.page_at(operation)
    }

    fn is_dead(&self, plane: PlaneId) -> bool {
        self.health.damaged && self.ftl.blocks.is_dead(plane)
    }

    fn is_programmed(&self, ppn: Ppn) -> bool {
        self.ftl.physical || self.ftl.blocks.is_programmed(ppn)
    }
}
