//! Collection: a victim's valid pages move within their plane, then the block is erased.
//!
//! It takes real time on real resources: page by page under the scheduler, or, as SSDSim does it, in one go that
//! holds the channel for the sum of its moves.

use super::{Collection, Drive, Kind, Lane, Levelled};
use crate::engine::{Cause, Contents, Done, LeafId, Page};
use crate::flash::{BusUse, MultiPlane, PlaneId, Pools, Ppn, UnitId};
use crate::ftl::{Entry, GcRun};
use crate::kernel::{SimTime, Span};

impl<C: Contents> Drive<C> {
    /// A plane is short of free pages: it waits to be collected, once.
    pub(super) fn ask_for_collection(&mut self, plane: PlaneId) {
        let this = &mut self.collections[plane.0 as usize];
        if std::mem::replace(&mut this.queued, !self.untimed || self.damaged) || !this.queued {
            return;
        }
        this.next = None;
        let unit = self.unit_of[plane.0 as usize];
        let state = &mut self.units[unit.0 as usize];
        match state.collect_tail {
            Some(tail) if state.collect_head.is_some() => {
                self.collections[tail.0 as usize].next = Some(plane)
            }
            _ => state.collect_head = Some(plane),
        }
        state.collect_tail = Some(plane);
        let (channel, bit) = (state.channel as usize, state.bit);
        self.channels[channel].collecting |= bit;
    }

    /// Whoever is to collect a plane may be idle and unaware of it.
    pub(super) fn wake_collector(&mut self, now: SimTime, plane: PlaneId) {
        if !self.collections[plane.0 as usize].queued {
            return;
        }
        let unit = self.unit_of[plane.0 as usize];
        let channel = self.units[unit.0 as usize].channel as usize;
        self.arm_unit(now, unit);
        if self.is_idle(now, unit) {
            let at = self.channels[channel].free_at.max(now);
            let slot = self.units.len() + channel;
            self.agenda.set(slot, self.agenda.at(slot).min(at));
        }
    }

    /// The plane has been collected, or there is nothing to gain in it: the next one of its unit comes up.
    fn collected(&mut self, unit: UnitId, plane: PlaneId) {
        let this = std::mem::take(&mut self.collections[plane.0 as usize]);
        self.empty_hand(plane);
        let state = &mut self.units[unit.0 as usize];
        state.collect_head = this.next;
        if state.collect_head.is_none() {
            let (channel, bit) = (state.channel as usize, state.bit);
            self.channels[channel].collecting &= !bit;
        }
        // Others may take a write that has waited for this plane alone.
        let Lane { ftl, pool, .. } = self.lanes[self.lane_of[plane.0 as usize] as usize];
        if self.selective && self.pools[pool as usize].head.is_some() {
            self.wake_all(self.now, usize::from(ftl));
        }
    }

    /// Does the next thing for the first plane of an idle unit that waits to be collected; false where there was
    /// nothing to do.
    pub(super) fn collect(&mut self, now: SimTime, channel: usize, unit: UnitId) -> bool {
        while let Some(plane) = self.units[unit.0 as usize].collect_head {
            let whole = self.gc == GcRun::HoldChannel;
            match self.collect_plane(now, channel, unit, plane, whole) {
                Some(begun) => return begun,
                None => self.collected(unit, plane),
            }
        }
        false
    }

    /// Does the next thing for a plane, or all of it: whether there was something that can be done now; none where
    /// there is nothing to do.
    pub(super) fn collect_plane(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        plane: PlaneId,
        whole: bool,
    ) -> Option<bool> {
        loop {
            let victim = self.victim_of(plane)?;
            if (self.damaged && self.is_stuck(plane, victim))
                || (self.power.is_some() && self.lacks_room(plane, victim))
            {
                return None;
            }
            if whole {
                return Some(self.collect_whole(now, channel, unit, plane, victim));
            }
            if self.packs {
                return Some(self.collect_packed(now, channel, unit, plane, victim));
            }
            if let Some(from) = self.collections[plane.0 as usize].moving.take() {
                // Its owner now: it may have been renamed since it was read.
                let lpn = self.blocks.owner(from);
                if self.is_current(plane, lpn, from)
                    && !(self.damaged && self.cannot_move(now, plane, lpn, from))
                {
                    self.program_move(now, channel, unit, plane, lpn, from);
                    return Some(true);
                }
                continue;
            }
            if let Some((lpn, from)) = self.next_valid(plane, victim) {
                if !self.copies_back(plane, lpn, from) {
                    self.read_move(now, channel, unit, plane, from);
                    return Some(true);
                }
                if !(self.damaged && self.cannot_move(now, plane, lpn, from)) {
                    self.copy_back(now, channel, unit, plane, lpn, from);
                    return Some(true);
                }
                continue;
            }
            return Some(self.erase_victim(now, channel, unit, plane, victim));
        }
    }

    pub(super) fn victim_of(&mut self, plane: PlaneId) -> Option<u32> {
        let this = &self.collections[plane.0 as usize];
        if this.victim.is_some() {
            return this.victim;
        }
        let (victim, levelled) = self.choose(plane).unzip();
        let this = &mut self.collections[plane.0 as usize];
        (this.victim, this.levelled) = (victim, levelled.unwrap_or_default());
        if let Some(victim) = victim
            && self.notify_leaving
        {
            self.tell_leaving(plane, victim);
        }
        victim
    }

    /// Pages of the shadow that are in a new victim: whoever keeps them may still prevent that they are moved.
    pub(super) fn tell_leaving(&mut self, plane: PlaneId, victim: u32) {
        let ftl = self.ftl_of(plane);
        let first = self.ftls[ftl].pages;
        for page in 0..self.geometry.pages {
            let ppn = self.geometry.ppn(plane, victim, page);
            let lpn = self.blocks.owner(ppn);
            if lpn >= first && self.is_current(plane, lpn, ppn) {
                self.done.push(Done::leaving(LeafId(ftl as u16), Page(lpn)));
            }
        }
    }

    /// A plane that has failed is not collected any more.
    pub(super) fn forget_collection(&mut self, unit: UnitId, plane: PlaneId) {
        self.collections[plane.0 as usize].queued = false;
        let mut waiting = Vec::new();
        let mut at = self.units[unit.0 as usize].collect_head;
        while let Some(queued) = at {
            at = self.collections[queued.0 as usize].next;
            if queued != plane {
                waiting.push(queued);
            }
        }
        self.collections[plane.0 as usize] = Collection::default();
        self.empty_hand(plane);
        let state = &mut self.units[unit.0 as usize];
        (state.collect_head, state.collect_tail) = (waiting.first().copied(), waiting.last().copied());
        for (n, queued) in waiting.iter().enumerate() {
            self.collections[queued.0 as usize].next = waiting.get(n + 1).copied();
        }
        if waiting.is_empty() {
            self.channels[state.channel as usize].collecting &= !state.bit;
        }
    }

    pub(super) fn ftl_of(&self, plane: PlaneId) -> usize {
        usize::from(self.lanes[self.lane_of[plane.0 as usize] as usize].ftl)
    }

    /// Whether the logical page is still at `ppn`.
    pub(super) fn is_current(&self, plane: PlaneId, lpn: u32, ppn: Ppn) -> bool {
        let ftl = self.ftl_of(plane);
        self.maps.is_at(ftl, lpn, ppn) || self.power.is_some() && self.is_kept(ftl, lpn, ppn)
    }

    /// The next valid page of the victim.
    pub(super) fn next_valid(&mut self, plane: PlaneId, victim: u32) -> Option<(u32, Ppn)> {
        if self.blocks.is_garbage(plane, victim) {
            return None;
        }
        for page in self.collections[plane.0 as usize].cursor..self.geometry.pages {
            let ppn = self.geometry.ppn(plane, victim, page);
            let lpn = self.blocks.owner(ppn);
            if self.is_current(plane, lpn, ppn) {
                self.collections[plane.0 as usize].cursor = page + 1;
                return Some((lpn, ppn));
            }
        }
        unreachable!("a victim's valid pages are at or after the cursor")
    }

    fn read_move(&mut self, now: SimTime, channel: usize, unit: UnitId, plane: PlaneId, from: Ppn) {
        self.collections[plane.0 as usize].moving = Some(from);
        let cause = self.moves_because(plane);
        self.counters.count(self.ftl_of(plane) as u16, Kind::Read, cause);
        let end = now + self.timing.command + self.array_read(from) + self.timing.transfer(0);
        self.tell(now, end, from, Kind::Read, cause, 0);
        self.start_array_read(now, channel, unit, from, 1, cause);
    }

    fn program_move(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        plane: PlaneId,
        lpn: u32,
        from: Ppn,
    ) {
        let to = self.move_page(unit, plane, lpn, from);
        self.tell_moved(plane, lpn);
        let summary = self.seals(self.ftl_of(plane), plane);
        let (_, durable) = self.program::<false>(now, channel, unit, to, 0, summary);
        self.units[unit.0 as usize].programs = Some(to);
        let cause = self.moves_because(plane);
        self.counters.count(self.ftl_of(plane) as u16, Kind::Program, cause);
        self.tell(now, durable, to, Kind::Program, cause, 0);
    }

    /// A page moves within its plane; nothing crosses the pins but the command.
    fn copy_back(&mut self, now: SimTime, channel: usize, unit: UnitId, plane: PlaneId, lpn: u32, from: Ppn) {
        let to = self.move_page(unit, plane, lpn, from);
        self.tell_moved(plane, lpn);
        let whole = self.copy_back_time(from, to) + self.seals(self.ftl_of(plane), plane);
        let held = if self.bus == BusUse::Operations { whole } else { self.timing.command };
        self.occupy_channel(now, channel, held);
        self.occupy_unit(now, unit, now + whole);
        self.units[unit.0 as usize].programs = Some(to);
        let cause = self.moves_because(plane);
        self.counters.count(self.ftl_of(plane) as u16, Kind::Copyback, cause);
        self.tell(now, now + whole, to, Kind::Copyback, cause, 0);
    }

    pub(super) fn copy_back_time(&self, from: Ppn, to: Ppn) -> Span {
        self.timing.command + self.array_read(from) + self.array_program(to)
    }

    /// The page is elsewhere in its plane from now on; reads that wait for it go there.
    pub(super) fn move_page(&mut self, unit: UnitId, plane: PlaneId, lpn: u32, from: Ppn) -> Ppn {
        let ftl = self.ftl_of(plane);
        let to = self.program_moved(ftl, plane, lpn, self.blocks.contents(from));
        self.blocks.invalidate(from);
        self.blocks.validate(to);
        if !(self.power.is_some() && self.note_move(ftl, lpn, from, to)) {
            self.maps.set(ftl, lpn, Entry::At(to));
        }
        let reads = self.units[unit.0 as usize].reads;
        reads.redirect(&mut self.ops, |ppn| (ppn == from).then_some(to));
        to
    }

    /// Whoever keeps where pages are elsewhere learns that one has moved.
    pub(super) fn tell_moved(&mut self, plane: PlaneId, lpn: u32) {
        if self.notify_moves {
            self.done.push(Done::moved(LeafId(self.ftl_of(plane) as u16), Page(lpn)));
        }
    }

    /// Whether a read waits for a page of the victim that has been written again since: it is owed the old
    /// contents, so the block stays until it has been served.
    pub(super) fn is_owed(&self, unit: UnitId, plane: PlaneId, victim: u32) -> bool {
        let block = self.geometry.block_index(plane, victim);
        let ftl = self.ftl_of(plane);
        self.units[unit.0 as usize].reads.any(&self.ops, |op| {
            self.geometry.block_index_of(op.ppn) == block
                && !self.maps.is_at(ftl, self.blocks.owner(op.ppn), op.ppn)
        })
    }

    pub(super) fn is_awaited(&self, unit: UnitId, plane: PlaneId, victim: u32) -> bool {
        let block = self.geometry.block_index(plane, victim);
        self.units[unit.0 as usize].reads.any(&self.ops, |op| self.geometry.block_index_of(op.ppn) == block)
    }

    pub(super) fn erase_victim(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        plane: PlaneId,
        victim: u32,
    ) -> bool {
        if self.is_owed(unit, plane, victim) || self.is_guarded(now, unit, plane, victim) {
            return false;
        }
        let join = self.commands.multi_plane != MultiPlane::Off;
        let others = if join { self.joining_erases(unit, plane) } else { Vec::new() };
        let command = self.timing.erase_command * (1 + others.len() as u64);
        let whole = self.bus == BusUse::Operations;
        let held = if whole { command + self.timing.erase } else { command };
        self.occupy_channel(now, channel, held);
        for (plane, victim) in others {
            let cause = self.moves_because(plane);
            self.reclaim(now, now + command + self.timing.erase, plane, victim, cause);
            if self.collections[plane.0 as usize].victim.is_none() && self.has_enough(plane) {
                self.forget_collection(unit, plane);
            }
        }
        self.finish_erase(now, now + command, unit, plane, victim);
        true
    }

    /// The erase itself, from `start` on; then the next collection, if the plane still keeps the host waiting.
    pub(super) fn finish_erase(
        &mut self,
        granted: SimTime,
        start: SimTime,
        unit: UnitId,
        plane: PlaneId,
        victim: u32,
    ) {
        let end = start + self.timing.erase;
        let cause = self.moves_because(plane);
        self.units[unit.0 as usize].programs = None;
        self.occupy_unit(granted, unit, end);
        self.reclaim(granted, end, plane, victim, cause);
        if self.collections[plane.0 as usize].victim.is_none() && self.has_enough(plane) {
            if self.units[unit.0 as usize].collect_head == Some(plane) {
                self.collected(unit, plane);
            } else if self.collections[plane.0 as usize].queued {
                self.forget_collection(unit, plane);
            }
        }
    }

    /// Whether collection leaves a plane alone: the host can go on, and a pool of several planes has a block more
    /// erased than its threshold says.
    pub(super) fn has_enough(&self, plane: PlaneId) -> bool {
        let erased = self.blocks.erased(plane) * self.geometry.pages;
        let enough = self.planes == Pools::PLANES || erased >= self.collect_below + self.geometry.pages;
        enough && self.blocks.has_room(plane)
    }

    /// A victim is erased by `end`.
    fn reclaim(&mut self, granted: SimTime, end: SimTime, plane: PlaneId, victim: u32, cause: Cause) {
        self.tell(granted, end, self.geometry.ppn(plane, victim, 0), Kind::Erase, cause, 0);
        self.counters.count(self.ftl_of(plane) as u16, Kind::Erase, cause);
        self.erase(end, plane, victim);
    }

    /// Whatever victim the plane had, it has none now; its place in the queue stays.
    pub(super) fn start_anew(&mut self, plane: PlaneId) {
        let Collection { queued, next, .. } = self.collections[plane.0 as usize];
        self.collections[plane.0 as usize] = Collection { queued, next, ..Collection::default() };
        self.empty_hand(plane);
    }

    /// The victim is erased, which is over at `end`; a migration has the next one already.
    pub(super) fn erase(&mut self, end: SimTime, plane: PlaneId, victim: u32) {
        let levelled = self.collections[plane.0 as usize].levelled;
        if levelled == Levelled::Out {
            self.forget_held(plane);
            self.blocks.let_go(plane);
        }
        self.blocks.erase(plane, victim);
        let ftl = self.ftl_of(plane);
        self.ftls[ftl].erases += 1;
        self.start_anew(plane);
        if self.life.is_over(self.blocks.erases_of(plane, victim)) {
            self.expire(end, plane, victim);
        } else if let Levelled::Into(coldest) = levelled {
            self.migrate(plane, victim, coldest);
        }
    }
}
