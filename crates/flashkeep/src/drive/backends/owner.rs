//! What the controller asks of the backends, and tells them ([`PageOwner`]).

use super::DriveBackends;
use super::backend::DieQueue;
use crate::drive::LoggedOperation;
use crate::drive::controller::{Controller, DriveOp, Next, OwnerRules, PageOwner, ProgramMode, Taker};
use crate::engine::{BackendId, Cause, Contents, Done, Page};
use crate::flash::{PlaneId, Ppn, UnitId};
use crate::ftl::{Allocation, GcRun, MapEntry, PlaneChoice};
use crate::kernel::{Id, SimTime};
use std::ops::Range;

impl OwnerRules {
    /// Those of a drive's backends.
    pub(in crate::drive) fn of<C>(backends: &DriveBackends<C>) -> OwnerRules {
        OwnerRules {
            physical: backends.ftl.physical,
            gathers_writes: backends.packing.gathers_writes(),
            collects_in_background: backends.gc.background,
            run: backends.gc.run,
            time_to_note: backends.ftl.memory.write,
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
        let die_queue = &self.ftl.die_queues[die_queue];
        let head = controller.queues.first_write(die_queue.write_queue);
        if !head.is_some() {
            return None;
        }
        let gathers = || self.packing.gathers_until(die_queue.write_queue, &self.ftl, controller).is_some();
        if !M::PLAIN && self.packing.active && gathers() {
            return None;
        }
        if !M::PLAIN
            && self.slc.active
            && let Some(found) = self.ftl.plane_in_cache(die_queue, head, controller)
        {
            return Some(found);
        }
        if !M::PLAIN && controller.dies.is_spread() {
            return self.plane_in_unit(die_queue, head, controller);
        }
        let ftl = &self.ftl.backends[usize::from(die_queue.ftl)];
        if !matches!(ftl.allocation, Allocation::Dynamic) {
            if M::PHYSICAL || (!M::PLAIN && self.ftl.physical) {
                return self.ftl.physical_plane_for(die_queue, head, &self.power, controller);
            }
            let op = &controller.queues[head];
            let lpn = op.command.start.low() + u32::from(op.placed);
            if let Allocation::Partial(order) = &ftl.allocation {
                let chooses = self.ftl.placement.plane_choice != PlaneChoice::InTurn && !order.binds_planes();
                return if chooses {
                    self.plane_by_version(die_queue, head, controller)
                } else {
                    self.bound_plane(die_queue, lpn, |_| true)
                };
            }
            if self.ftl.remaps {
                return self.bound_plane(die_queue, lpn, |_| true);
            }
            let bound = ftl.allocation.plane(&self.flash.geometry, &ftl.domain, lpn);
            return bound
                .filter(|&plane| self.ftl.blocks.has_room(plane))
                .map(|plane| (plane, die_queue.turn));
        }
        if !M::PLAIN && self.ftl.placement.plane_choice != PlaneChoice::InTurn {
            return self.plane_by_version(die_queue, head, controller);
        }
        Allocation::next_plane(&die_queue.planes, die_queue.turn, |plane| self.ftl.blocks.has_room(plane))
    }

    #[inline(always)]
    fn grant_next<M: ProgramMode>(
        &mut self,
        now: SimTime,
        channel: usize,
        taker: Taker,
        controller: &mut Controller<C>,
    ) -> UnitId {
        controller.dies.channel_mut(channel).turn = taker.turn_of_die_queues;
        let unit = if (M::PHYSICAL || !M::PLAIN) && self.ftl.erases_next(taker.die_queue, controller) {
            self.erase_physical(now, channel, taker.die_queue, controller)
        } else {
            self.grant_write::<M>(now, channel, taker, controller)
        };
        if !M::PLAIN {
            self.ftl.pass_on(channel, taker.die_queue, controller);
        }
        unit
    }

    #[inline(never)]
    fn writes_later(&self, now: SimTime, channel: usize, controller: &Controller<C>) -> Next {
        let until = if self.ftl.physical {
            // A write may wait for programs of others.
            let waits = self.power.is_kept() && controller.queues.are_waiting();
            waits.then(|| now + self.flash.timing.slowest_read().sense)
        } else if self.packing.active {
            self.packing.gathered_at(channel, &self.ftl, controller)
        } else {
            None
        };
        until.map_or(Next::Nothing, Next::NotBefore)
    }

    #[inline(never)]
    fn offer_gathered(&mut self, now: SimTime, channel: usize, controller: &mut Controller<C>) {
        let mut last = None;
        for at in 0..controller.dies.channel(channel).die_queues.len() {
            let die_queue = controller.dies.channel(channel).die_queues[at].0 as usize;
            let DieQueue { ftl, write_queue, .. } = self.ftl.die_queues[die_queue];
            if last.replace(write_queue) == Some(write_queue) {
                continue;
            }
            let channels = self.ftl.channels_offered(usize::from(ftl));
            let waits = controller.queues.has_writes(write_queue);
            let gathers = || self.packing.gathers_until(write_queue, &self.ftl, controller).is_some();
            if channels > 1 && waits && !gathers() {
                self.offer(now, usize::from(ftl), write_queue, channels, controller);
            }
        }
    }

    #[inline(always)]
    fn write_queue_of(&self, die_queue: usize) -> u32 {
        self.ftl.die_queues[die_queue].write_queue
    }

    fn deal_out(&self, gang: &Range<usize>, controller: &mut Controller<C>) -> Vec<u32> {
        self.ftl.deal_out(gang, controller)
    }

    #[inline]
    fn visits_later(&mut self, channel: usize) -> bool {
        self.parts.visits_later(channel)
    }

    // ---------------------------------------------------------------- what is collected next

    fn collect(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        idle: u64,
        controller: &mut Controller<C>,
    ) -> Option<UnitId> {
        while let Some(plane) = controller.dies[unit].collect_head {
            let whole = self.gc.run == GcRun::HoldChannel;
            // Folding in idle time waits for other work.
            if self.gc.folds(plane, &self.ftl) && !self.slc.is_due(plane, &self.ftl) {
                self.gc.start_anew(plane);
            }
            match self.collect_plane(now, channel, plane, idle, whole, controller) {
                Some(begun) => return begun,
                None => self.gc.advance(plane, &self.ftl, controller),
            }
        }
        None
    }

    fn idle_work(&self) -> Option<Cause> {
        let folds = || self.slc.uses_idle_time().then_some(Cause::Fold);
        if self.gc.is_soft() { Some(Cause::Gc) } else { folds() }
    }

    fn work_softly(
        &mut self,
        now: SimTime,
        channel: usize,
        [unit, home]: [UnitId; 2],
        idle: u64,
        controller: &mut Controller<C>,
    ) -> Option<Option<UnitId>> {
        let collected =
            if self.gc.is_soft() { self.collect_softly(now, channel, home, idle, controller) } else { None };
        if !self.slc.uses_idle_time() || matches!(collected, Some(Some(_))) {
            return collected;
        }
        self.fold_softly(now, channel, [unit, home], idle, controller).or(collected)
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
        let DriveOp { ppn, ftl, command, course, .. } = controller.queues[op];
        let (plane, page) = (self.flash.geometry.plane_of(ppn), command.start.low());
        self.maintenance.scrub_on(end, controller);
        let failed = controller.fails(course, ppn, self);
        if C::KEEP {
            controller.queues.take_carried(op);
        }
        if failed && self.ftl.maps.get(usize::from(ftl), page) == MapEntry::At(ppn) {
            self.lose(plane, page, ppn, controller);
        }
    }

    fn scrub_on(&mut self, now: SimTime, controller: &mut Controller<C>) {
        self.maintenance.scrub_on(now, controller);
    }

    #[cold]
    fn ask_for_refresh(&mut self, now: SimTime, ppn: Ppn, controller: &mut Controller<C>) {
        let (plane, block) = (self.flash.geometry.plane_of(ppn), self.flash.geometry.block_of(ppn));
        if self.ftl.physical {
            // A log or map above the drive decides where pages are.
            let backend = BackendId(self.ftl.ftl_of(plane) as u16);
            return controller.done.push(Done::due(backend, Page::of(self.ftl.blocks.owner(ppn))));
        }
        if self.flash.geometry.is_slc_block(block) {
            return;
        }
        self.maintenance.note_due(plane, block);
        if self.immediate.active {
            return self.refresh_immediately(plane, controller);
        }
        if self.maintenance.has_refresh(plane, &self.ftl) {
            self.ask_for_collection(plane, controller);
            self.gc.wake_collector(now, plane, controller);
        }
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
