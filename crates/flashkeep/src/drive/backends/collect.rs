//! Garbage collection: the valid pages of a victim move within their plane, then the block is erased.
//!
//! It occupies dies and channels: page by page under the scheduler, or, as SSDSim does it, atomically,
//! holding the channel for the sum of its moves. Its steps are in [`super::gc`].

use super::backend::DieQueue;
use super::collection::PlaneCollection;
use super::{DriveBackends, Gc, Translation};
use crate::drive::controller::{Controller, Full, Manner, PageWrite};
use crate::engine::{BackendId, Contents, Done, Page};
use crate::flash::{MultiPlane, PlaneId, Ppn, Target, UnitId};
use crate::ftl::MapEntry;
use crate::kernel::{SimTime, Span};

impl<C: Contents> Translation<C> {
    /// Reports pages of the hidden range in a new victim: the scheme that keeps them may still avoid their move.
    pub(super) fn tell_leaving(&self, plane: PlaneId, victim: u32, controller: &mut Controller<C>) {
        let ftl = self.ftl_of(plane);
        let first = self.backends[ftl].pages;
        for page in 0..self.blocks.geometry().pages_in(victim) {
            let ppn = self.blocks.geometry().ppn(plane, victim, page);
            let lpn = self.blocks.owner(ppn);
            if lpn >= first && self.maps.is_at(ftl, lpn, ppn) {
                controller.done.push(Done::leaving(BackendId(ftl as u16), Page::of(lpn)));
            }
        }
    }

    /// Whether the logical page is still at `ppn`, also if a write in flight is to replace it there.
    pub(super) fn is_current(&self, plane: PlaneId, lpn: u32, ppn: Ppn, controller: &Controller<C>) -> bool {
        let ftl = self.ftl_of(plane);
        self.maps.is_at(ftl, lpn, ppn) || self.is_older_copy(ftl, lpn, ppn, controller)
    }

    /// Whether a read waits for the old contents of a page of the victim that has been overwritten since: the block is
    /// kept until the read is served.
    pub(in crate::drive) fn is_owed(
        &self,
        unit: UnitId,
        plane: PlaneId,
        victim: u32,
        controller: &Controller<C>,
    ) -> bool {
        let block = self.blocks.geometry().block_index(plane, victim);
        controller.dies.is_any_read(unit, &controller.queues, |op| {
            self.blocks.geometry().block_index_of(op.ppn) == block
                && !self.is_current(plane, self.blocks.owner(op.ppn), op.ppn, controller)
        })
    }
}

impl Gc {
    /// A failed plane is not collected.
    pub(super) fn forget_collection<C: Contents>(&mut self, plane: PlaneId, controller: &mut Controller<C>) {
        let unit = controller.dies.unit_of(plane);
        self.collections[plane.0 as usize].queued = false;
        let mut waiting = Vec::new();
        let mut at = controller.dies[unit].collect_head;
        while let Some(queued) = at {
            at = self.collections[queued.0 as usize].next;
            if queued != plane {
                waiting.push(queued);
            }
        }
        self.collections[plane.0 as usize] = PlaneCollection::default();
        self.hands[plane.0 as usize].clear();
        let state = &mut controller.dies[unit];
        (state.collect_head, state.collect_tail) = (waiting.first().copied(), waiting.last().copied());
        for (n, queued) in waiting.iter().enumerate() {
            self.collections[queued.0 as usize].next = waiting.get(n + 1).copied();
        }
        if waiting.is_empty() {
            let (channel, bit) = (state.channel as usize, state.bit);
            controller.dies.channel_mut(channel).collecting &= !bit;
        }
    }

    /// Wakes the unit that has to collect a plane, which may be idle.
    pub(in crate::drive) fn wake_collector<C: Contents>(
        &self,
        now: SimTime,
        plane: PlaneId,
        controller: &mut Controller<C>,
    ) {
        if !self.collections[plane.0 as usize].queued {
            return;
        }
        let unit = controller.dies.unit_of(plane);
        let channel = controller.dies[unit].channel as usize;
        controller.dies.arm_unit(now, unit);
        if controller.dies.is_idle(now, unit) || controller.dies.is_spread() {
            controller.dies.wake_channel(now, channel);
        }
    }

    fn erase_of<C: Contents>(&self, plane: PlaneId, victim: u32, ftl: &Translation<C>) -> PageWrite {
        let (backend, cause) = (ftl.ftl_of(plane) as u16, self.moves_because(plane, ftl));
        PageWrite::moved(backend, cause, plane, Target::page(ftl.blocks.geometry().ppn(plane, victim, 0)))
    }

    /// Whether collection of a plane can end: the host can continue, and a pool of several planes has one erased block
    /// more than its threshold.
    pub(super) fn has_enough<C: Contents>(&self, plane: PlaneId, ftl: &Translation<C>) -> bool {
        let erased = ftl.blocks.erased(plane) * ftl.blocks.geometry().pages;
        erased >= self.enough && ftl.blocks.has_room(plane)
    }

    /// The plane has been collected, or GC gains nothing in it: the next plane of its unit follows.
    pub(super) fn advance<C: Contents>(
        &mut self,
        plane: PlaneId,
        ftl: &Translation<C>,
        controller: &mut Controller<C>,
    ) {
        let unit = controller.dies.unit_of(plane);
        let this = std::mem::take(&mut self.collections[plane.0 as usize]);
        self.hands[plane.0 as usize].clear();
        let state = &mut controller.dies[unit];
        state.collect_head = this.next;
        if state.collect_head.is_none() {
            let (channel, bit) = (state.channel as usize, state.bit);
            controller.dies.channel_mut(channel).collecting &= !bit;
        }
        // Other planes may take a write that was waiting for this one.
        let DieQueue { ftl: backend, write_queue, .. } = ftl.die_queues[ftl.die_queue_of(plane)];
        if ftl.placement.selective && controller.queues.has_writes(write_queue) {
            ftl.wake_all(controller.now, usize::from(backend), controller);
        }
    }
}

impl<C: Contents> DriveBackends<C> {
    /// A plane is below its threshold: queues it for collection, once.
    pub(in crate::drive) fn ask_for_collection(&mut self, plane: PlaneId, controller: &mut Controller<C>) {
        if !self.gc.may_collect(controller.now, plane, &self.ftl, &self.maintenance, &self.flash) {
            return;
        }
        let this = &mut self.gc.collections[plane.0 as usize];
        if std::mem::replace(&mut this.queued, !self.immediate.active || self.health.damaged) || !this.queued
        {
            return;
        }
        this.next = None;
        let unit = controller.dies.unit_of(plane);
        let state = &mut controller.dies[unit];
        match state.collect_tail {
            Some(tail) if state.collect_head.is_some() => {
                self.gc.collections[tail.0 as usize].next = Some(plane)
            }
            _ => state.collect_head = Some(plane),
        }
        state.collect_tail = Some(plane);
        let (channel, bit) = (state.channel as usize, state.bit);
        controller.dies.channel_mut(channel).collecting |= bit;
    }

    /// A plane without room is queued for collection, and its unit is woken: writes may wait for it.
    #[inline]
    pub(in crate::drive) fn ask_if_full(&mut self, plane: PlaneId, controller: &mut Controller<C>) {
        if !self.ftl.blocks.has_room(plane) {
            self.ask_for_collection(plane, controller);
            self.gc.wake_collector(controller.now, plane, controller);
        }
    }

    /// The page has moved within its plane; reads that wait for it follow.
    pub(super) fn move_page(
        &mut self,
        plane: PlaneId,
        lpn: u32,
        from: Ppn,
        controller: &mut Controller<C>,
    ) -> Ppn {
        let ftl = self.ftl.ftl_of(plane);
        let to = self.ftl.program_moved(plane, lpn, self.ftl.blocks.contents(from), &self.gc);
        self.ftl.blocks.invalidate(from);
        self.ftl.blocks.validate(to);
        if self.gc.folds(plane, &self.ftl) {
            self.ftl.blocks.note_folded(from);
            controller.accounts.counters_mut().slc.folded += 1;
            if self.gc.is_low_for_idle(plane, &self.ftl) {
                self.look_at(plane, controller);
            }
        }
        self.power.note_move(from, to, &self.ftl.blocks);
        if !self.ftl.move_older(ftl, lpn, from, to, controller) {
            self.ftl.maps.set(ftl, lpn, MapEntry::At(to));
        }
        let unit = controller.dies.unit_of_page(&controller.flash.geometry, from);
        if !controller.dies.is_spread()
            || controller.dies.unit_of_page(&controller.flash.geometry, to) == unit
        {
            controller.dies.redirect_reads(unit, &mut controller.queues, |ppn| (ppn == from).then_some(to));
            controller.errors.move_doomed(from, to);
        }
        to
    }

    pub(super) fn erase_victim(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        plane: PlaneId,
        victim: u32,
        controller: &mut Controller<C>,
    ) -> Option<UnitId> {
        if self.power.must_stay(now, unit, (plane, victim), &self.ftl, controller) {
            return None;
        }
        let counter = self.flash.commands.multi_plane != MultiPlane::Off;
        let others = if counter { self.joining_erases(now, plane, victim, controller) } else { Vec::new() };
        let mut pages = controller.scratch.take();
        pages.extend(others.iter().map(|&(plane, victim)| self.gc.erase_of(plane, victim, &self.ftl)));
        pages.push(self.gc.erase_of(plane, victim, &self.ftl));
        let end = controller.commit::<Full>(now, channel, unit, Manner::erase(), &pages, self);
        pages.clear();
        controller.scratch.put_back(pages);
        for (plane, victim) in others {
            self.erase(end, plane, victim, controller);
            if self.gc.collections[plane.0 as usize].under_way.is_none()
                && self.gc.has_enough(plane, &self.ftl)
            {
                self.gc.forget_collection(plane, controller);
            }
        }
        self.finish_erase(end, plane, victim, controller);
        Some(unit)
    }

    /// The erase after moves that have held the channel for `held` since `now`; it releases the channel.
    pub(super) fn erase_held(
        &mut self,
        now: SimTime,
        unit: UnitId,
        plane: PlaneId,
        victim: u32,
        held: Span,
        controller: &mut Controller<C>,
    ) {
        let end = controller.commit_held(now, unit, held, self.gc.erase_of(plane, victim, &self.ftl), self);
        self.finish_erase(end, plane, victim, controller);
    }

    /// The victim is erased at `end`; then the next collection, if the plane still keeps the host waiting.
    fn finish_erase(&mut self, end: SimTime, plane: PlaneId, victim: u32, controller: &mut Controller<C>) {
        self.erase(end, plane, victim, controller);
        if self.slc.active {
            self.look_at_cache(plane, controller);
        }
        if self.gc.collections[plane.0 as usize].under_way.is_none()
            && self.gc.has_enough(plane, &self.ftl)
            && !self.maintenance.has_refresh(plane, &self.ftl)
        {
            let home = controller.dies.unit_of(plane);
            if controller.dies[home].collect_head == Some(plane) {
                self.gc.advance(plane, &self.ftl, controller);
            } else if self.gc.collections[plane.0 as usize].queued {
                self.gc.forget_collection(plane, controller);
            }
        }
    }

    /// The victim is erased, which is over at `end`; a migration has the next one already.
    pub(super) fn erase(
        &mut self,
        end: SimTime,
        plane: PlaneId,
        victim: u32,
        controller: &mut Controller<C>,
    ) {
        if self.flash.geometry.is_slc_block(victim) {
            return self.erase_cached(end, plane, victim, controller);
        }
        let collection = self.gc.collections[plane.0 as usize].under_way;
        if self.gc.collections[plane.0 as usize].migrates() {
            self.power.forget_held(plane, &self.ftl);
            self.ftl.blocks.let_go(plane);
        }
        self.ftl.blocks.erase(plane, victim);
        controller.errors.note_erased(plane, victim);
        self.maintenance.forget_refresh(plane, victim);
        let ftl = self.ftl.ftl_of(plane);
        self.ftl.backends[ftl].erases += 1;
        self.gc.start_anew(plane);
        if self.is_used_up(plane, victim, controller) {
            self.expire(end, plane, victim, controller);
        } else if let Some(cold) = collection.and_then(|collection| collection.follower()) {
            self.gc.migrate(plane, victim, cold, &mut self.ftl, controller);
        }
    }
}
