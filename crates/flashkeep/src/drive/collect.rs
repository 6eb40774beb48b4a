//! Garbage collection: the valid pages of a victim move within their plane, then the block is erased.
//!
//! It occupies dies and channels: page by page under the scheduler, or, as SSDSim does it, atomically,
//! holding the channel for the sum of its moves. Its steps are in [`super::gc`].

use super::program::{Full, Manner, PageWrite};
use super::{DieQueue, Drive, PlaneCollection};
use crate::engine::{BackendId, Contents, Done, Page};
use crate::flash::{MultiPlane, PlaneId, Pools, Ppn, Target, UnitId};
use crate::ftl::{GcRun, MapEntry};
use crate::kernel::{SimTime, Span};

impl<C: Contents> Drive<C> {
    /// A plane is below its threshold: queues it for collection, once.
    pub(super) fn ask_for_collection(&mut self, plane: PlaneId) {
        let this = &mut self.gc.collections[plane.0 as usize];
        if std::mem::replace(&mut this.queued, !self.immediate.active || self.health.damaged) || !this.queued
        {
            return;
        }
        this.next = None;
        let unit = self.dies.of_plane[plane.0 as usize];
        let state = &mut self.dies.units[unit.0 as usize];
        match state.collect_tail {
            Some(tail) if state.collect_head.is_some() => {
                self.gc.collections[tail.0 as usize].next = Some(plane)
            }
            _ => state.collect_head = Some(plane),
        }
        state.collect_tail = Some(plane);
        let (channel, bit) = (state.channel as usize, state.bit);
        self.dies.channels[channel].collecting |= bit;
    }

    /// A plane without room is queued for collection, and its unit is woken: writes may wait for it.
    #[inline]
    pub(super) fn ask_if_full(&mut self, plane: PlaneId) {
        if !self.ftl.blocks.has_room(plane) {
            self.ask_for_collection(plane);
            self.wake_collector(self.now, plane);
        }
    }

    /// Wakes the unit that has to collect a plane, which may be idle.
    pub(super) fn wake_collector(&mut self, now: SimTime, plane: PlaneId) {
        if !self.gc.collections[plane.0 as usize].queued {
            return;
        }
        let unit = self.dies.of_plane[plane.0 as usize];
        let channel = self.dies.units[unit.0 as usize].channel as usize;
        self.arm_unit(now, unit);
        if self.dies.is_idle(now, unit) || self.dies.spread.is_some() {
            let at = self.dies.channels[channel].free_at.max(now);
            let slot = self.dies.units.len() + channel;
            self.dies.agenda.set(slot, self.dies.agenda.at(slot).min(at));
        }
    }

    /// The plane has been collected, or GC gains nothing in it: the next plane of its unit follows.
    fn collected(&mut self, plane: PlaneId) {
        let unit = self.dies.of_plane[plane.0 as usize];
        let this = std::mem::take(&mut self.gc.collections[plane.0 as usize]);
        self.gc.hands[plane.0 as usize].clear();
        let state = &mut self.dies.units[unit.0 as usize];
        state.collect_head = this.next;
        if state.collect_head.is_none() {
            let (channel, bit) = (state.channel as usize, state.bit);
            self.dies.channels[channel].collecting &= !bit;
        }
        // Other planes may take a write that was waiting for this one.
        let DieQueue { ftl, write_queue, .. } =
            self.queues.die_queues[self.queues.die_queue_of[plane.0 as usize] as usize];
        if self.placement.selective && self.queues.write_queues[write_queue as usize].head.is_some() {
            self.wake_all(self.now, usize::from(ftl));
        }
    }

    /// Takes the next step of GC for the first plane that waits at one of the `idle` units of the channel; returns the
    /// unit, or none if there was no step to take.
    pub(super) fn collect(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        idle: u64,
    ) -> Option<UnitId> {
        while let Some(plane) = self.dies.units[unit.0 as usize].collect_head {
            let whole = self.gc.run == GcRun::HoldChannel;
            // What is folded in idle time waits for other work.
            if self.folds(plane) && !self.is_due(plane) {
                self.start_anew(plane);
            }
            match self.collect_plane(now, channel, plane, idle, whole) {
                Some(begun) => return begun,
                None => self.collected(plane),
            }
        }
        None
    }

    /// Reports pages of the hidden range in a new victim: the scheme that keeps them may still avoid their move.
    pub(super) fn tell_leaving(&mut self, plane: PlaneId, victim: u32) {
        let ftl = self.ftl_of(plane);
        let first = self.ftl.backends[ftl].pages;
        for page in 0..self.flash.geometry.pages_in(victim) {
            let ppn = self.flash.geometry.ppn(plane, victim, page);
            let lpn = self.ftl.blocks.owner(ppn);
            if lpn >= first && self.ftl.maps.is_at(ftl, lpn, ppn) {
                self.done.push(Done::leaving(BackendId(ftl as u16), Page::of(lpn)));
            }
        }
    }

    /// A failed plane is not collected.
    pub(super) fn forget_collection(&mut self, plane: PlaneId) {
        let unit = self.dies.of_plane[plane.0 as usize];
        self.gc.collections[plane.0 as usize].queued = false;
        let mut waiting = Vec::new();
        let mut at = self.dies.units[unit.0 as usize].collect_head;
        while let Some(queued) = at {
            at = self.gc.collections[queued.0 as usize].next;
            if queued != plane {
                waiting.push(queued);
            }
        }
        self.gc.collections[plane.0 as usize] = PlaneCollection::default();
        self.gc.hands[plane.0 as usize].clear();
        let state = &mut self.dies.units[unit.0 as usize];
        (state.collect_head, state.collect_tail) = (waiting.first().copied(), waiting.last().copied());
        for (n, queued) in waiting.iter().enumerate() {
            self.gc.collections[queued.0 as usize].next = waiting.get(n + 1).copied();
        }
        if waiting.is_empty() {
            self.dies.channels[state.channel as usize].collecting &= !state.bit;
        }
    }

    pub(super) fn ftl_of(&self, plane: PlaneId) -> usize {
        usize::from(self.queues.die_queues[self.queues.die_queue_of[plane.0 as usize] as usize].ftl)
    }

    /// Whether the logical page is still at `ppn`, also if a write in flight is to replace it there.
    pub(super) fn is_current(&self, plane: PlaneId, lpn: u32, ppn: Ppn) -> bool {
        let ftl = self.ftl_of(plane);
        self.ftl.maps.is_at(ftl, lpn, ppn) || self.is_older_copy(ftl, lpn, ppn)
    }

    /// The page has moved within its plane; reads that wait for it follow.
    pub(super) fn move_page(&mut self, plane: PlaneId, lpn: u32, from: Ppn) -> Ppn {
        let ftl = self.ftl_of(plane);
        let to = self.program_moved(ftl, plane, lpn, self.ftl.blocks.contents(from));
        self.ftl.blocks.invalidate(from);
        self.ftl.blocks.validate(to);
        if self.folds(plane) {
            self.note_fold(plane, from);
        }
        if self.power.is_some() {
            self.note_move(from, to);
        }
        if !self.move_older(ftl, lpn, from, to) {
            self.ftl.maps.set(ftl, lpn, MapEntry::At(to));
        }
        let unit = self.unit_of_page(from);
        if self.dies.spread.is_none() || self.unit_of_page(to) == unit {
            let reads = self.dies.units[unit.0 as usize].reads;
            reads.redirect(&mut self.queues.ops, |ppn| (ppn == from).then_some(to));
            self.move_doomed(from, to);
        }
        to
    }

    /// Reports a moved page to a map that keeps places elsewhere.
    pub(super) fn tell_moved(&mut self, plane: PlaneId, lpn: u32) {
        if self.gc.notices.moves {
            self.done.push(Done::moved(BackendId(self.ftl_of(plane) as u16), Page::of(lpn)));
        }
    }

    /// Whether a read waits for the old contents of a page of the victim that has been overwritten since: the block is
    /// kept until the read is served.
    pub(super) fn is_owed(&self, unit: UnitId, plane: PlaneId, victim: u32) -> bool {
        let block = self.flash.geometry.block_index(plane, victim);
        self.dies.units[unit.0 as usize].reads.any(&self.queues.ops, |op| {
            self.flash.geometry.block_index_of(op.ppn) == block
                && !self.is_current(plane, self.ftl.blocks.owner(op.ppn), op.ppn)
        })
    }

    pub(super) fn is_awaited(&self, unit: UnitId, plane: PlaneId, victim: u32) -> bool {
        let block = self.flash.geometry.block_index(plane, victim);
        self.dies.units[unit.0 as usize]
            .reads
            .any(&self.queues.ops, |op| self.flash.geometry.block_index_of(op.ppn) == block)
    }

    pub(super) fn erase_victim(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        plane: PlaneId,
        victim: u32,
    ) -> Option<UnitId> {
        if self.is_owed(unit, plane, victim) || self.is_guarded(now, unit, plane, victim) {
            return None;
        }
        let counter = self.flash.commands.multi_plane != MultiPlane::Off;
        let others = if counter { self.joining_erases(plane, victim) } else { Vec::new() };
        let mut pages = std::mem::take(&mut self.scratch.pages);
        pages.extend(others.iter().map(|&(plane, victim)| self.erase_of(plane, victim)));
        pages.push(self.erase_of(plane, victim));
        let end = self.commit::<Full>(now, channel, unit, Manner::erase(), &pages);
        pages.clear();
        self.scratch.pages = pages;
        for (plane, victim) in others {
            self.erase(end, plane, victim);
            if self.gc.collections[plane.0 as usize].under_way.is_none() && self.has_enough(plane) {
                self.forget_collection(plane);
            }
        }
        self.finish_erase(end, plane, victim);
        Some(unit)
    }

    /// The erase behind moves that have held the channel for so long since `now`; it lets go of the channel.
    pub(super) fn erase_held(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        plane: PlaneId,
        victim: u32,
        held: Span,
    ) {
        let end = self.commit_held(now, channel, unit, held, self.erase_of(plane, victim));
        self.finish_erase(end, plane, victim);
    }

    fn erase_of(&self, plane: PlaneId, victim: u32) -> PageWrite {
        let (ftl, cause) = (self.ftl_of(plane) as u16, self.moves_because(plane));
        PageWrite::moved(ftl, cause, plane, Target::page(self.flash.geometry.ppn(plane, victim, 0)))
    }

    /// The victim is erased at `end`; then the next collection, if the plane still keeps the host waiting.
    fn finish_erase(&mut self, end: SimTime, plane: PlaneId, victim: u32) {
        self.erase(end, plane, victim);
        if self.slc.active {
            self.look_at_cache(plane);
        }
        if self.gc.collections[plane.0 as usize].under_way.is_none()
            && self.has_enough(plane)
            && !self.has_refresh(plane)
        {
            let home = self.dies.of_plane[plane.0 as usize];
            if self.dies.units[home.0 as usize].collect_head == Some(plane) {
                self.collected(plane);
            } else if self.gc.collections[plane.0 as usize].queued {
                self.forget_collection(plane);
            }
        }
    }

    /// Whether collection of a plane can end: the host can continue, and a pool of several planes has one erased block
    /// more than its threshold.
    pub(super) fn has_enough(&self, plane: PlaneId) -> bool {
        let erased = self.ftl.blocks.erased(plane) * self.flash.geometry.pages;
        let enough = self.flash.pools == Pools::PLANES
            || erased >= self.gc.thresholds.below + self.flash.geometry.pages;
        enough && self.ftl.blocks.has_room(plane)
    }

    /// The victim is erased, which is over at `end`; a migration has the next one already.
    pub(super) fn erase(&mut self, end: SimTime, plane: PlaneId, victim: u32) {
        if self.flash.geometry.is_slc_block(victim) {
            return self.erase_cached(end, plane, victim);
        }
        let collection = self.gc.collections[plane.0 as usize].under_way;
        if self.gc.collections[plane.0 as usize].migrates() {
            self.forget_held(plane);
            self.ftl.blocks.let_go(plane);
        }
        self.ftl.blocks.erase(plane, victim);
        self.note_erased(plane, victim);
        self.forget_refresh(plane, victim);
        let ftl = self.ftl_of(plane);
        self.ftl.backends[ftl].erases += 1;
        self.start_anew(plane);
        if self.is_used_up(plane, victim) {
            self.expire(end, plane, victim);
        } else if let Some(cold) = collection.and_then(|collection| collection.follower()) {
            self.migrate(plane, victim, cold);
        }
    }
}
