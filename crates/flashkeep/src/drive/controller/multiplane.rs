//! Multi-plane commands: planes of one die work in parallel. They program or read pages of the same number,
//! each in its own block, and erase a block each. Commands and data cross the channel one after the other;
//! the array operation runs once.
//!
//! Source: ONFI's multi-plane operations; Hu et al., ICS 2011, for planes that skip pages to catch up.

use super::Controller;
use super::dies::Channel;
use super::program::{Full, PageWrite};
use super::queue::DriveOp;
use crate::drive::backends::{DieQueue, DriveBackends};
use crate::engine::{Command, Contents};
use crate::flash::{BusUse, MultiPlane, OpKind, PlaneId, UnitId};
use crate::ftl::{Allocation, SLC_STREAM};
use crate::kernel::{Id, SimTime};

/// How many waiting pages are looked at, at least, for those that a command may take besides the first.
const LOOK_AHEAD: usize = 64;

impl<C: Contents> Controller<C> {
    /// Whether several pages of a command may be read or programmed together, so that all of them come before one begins.
    #[inline]
    pub(in crate::drive) fn pages_may_join(&self, command: &Command) -> bool {
        command.count > 1 && self.flash.commands.multi_plane != MultiPlane::Off
    }

    /// The pages that one command programs: the first of a die queue's write queue, which goes to `plane`, and those
    /// that go with it. The stream that they belong to.
    #[inline(always)]
    pub(in crate::drive) fn gather(
        &mut self,
        now: SimTime,
        die_queue: usize,
        plane: PlaneId,
        pages: &mut Vec<PageWrite>,
        backends: &mut DriveBackends<C>,
    ) -> u8 {
        let &DieQueue { ftl, write_queue, .. } = backends.ftl.die_queue(die_queue);
        if backends.ftl.is_physical() {
            backends.packing.gather_physical(write_queue, plane, pages, self);
            return 0;
        }
        let head = self.queues.first_write(write_queue);
        let page = self.queues[head].placed;
        let stream = backends.ftl.stream_into(plane, usize::from(ftl), head, page, self);
        self.share_out(now, die_queue, plane, stream, pages, backends);
        stream
    }

    /// Which waiting pages are programmed together: the first one in `plane`, the others in the same word line
    /// or in planes of the same die whose next page has, or can get, the same number. Those of a plane follow each
    /// other.
    pub(in crate::drive) fn share_out(
        &mut self,
        now: SimTime,
        die_queue: usize,
        plane: PlaneId,
        stream: u8,
        pages: &mut Vec<PageWrite>,
        backends: &mut DriveBackends<C>,
    ) {
        let head = self.queues.write_queues[backends.ftl.die_queue(die_queue).write_queue as usize].head;
        pages.push(self.queues.page_of_write(head, self.queues[head].placed, plane));
        let alone = self.flash.commands.multi_plane == MultiPlane::Off
            || backends.health.is_damaged()
            || (backends.ftl.has_several_streams() && stream != SLC_STREAM);
        if alone && !backends.packing.is_active() {
            return;
        }
        // A plane is there once for each place that it has left.
        let places = if backends.packing.is_active() {
            backends.ftl.blocks_mut().places_left(Some(stream), plane)
        } else {
            1
        };
        let mut free = std::mem::take(&mut self.scratch.free_planes);
        free.extend((1..places).map(|_| plane));
        let number = backends.ftl.blocks().next_number(stream, plane);
        if !alone {
            let siblings = backends.ftl.die_queue(die_queue).planes.iter().copied();
            let joining = siblings.filter(|&other| backends.ftl.can_join(stream, plane, number, other, self));
            free.extend(joining.flat_map(|other| (0..places).map(move |_| other)));
        }
        let most = self.fair_share(now, die_queue, 1 + free.len(), backends);
        let (mut op, mut n) = (head, self.queues[head].placed + 1);
        for _ in 0..LOOK_AHEAD.max(free.len()) {
            if free.is_empty() || pages.len() == most {
                break;
            }
            if n == self.queues[op].command.count {
                op = self.queues[op].next;
                if !op.is_some() {
                    break;
                }
                n = self.queues[op].placed;
            }
            match self.plane_among(die_queue, op, n, stream, &free, backends) {
                Some(at) => {
                    let other = free.remove(at);
                    if other != plane {
                        self.catch_up(stream, other, number, backends);
                    }
                    let last = pages.iter().rposition(|page| page.plane == other);
                    let page = self.queues.page_of_write(op, n, other);
                    pages.insert(last.map_or(pages.len(), |last| last + 1), page);
                    n += 1;
                }
                // The pages of a write find their places in order.
                None => n = self.queues[op].command.count,
            }
        }
        free.clear();
        self.scratch.free_planes = free;
    }

    /// How many of the pages that wait, `most` at the most, one command takes: other channels that could program some of
    /// them now get as many. Word lines are filled instead.
    fn fair_share(&self, now: SimTime, die_queue: usize, most: usize, backends: &DriveBackends<C>) -> usize {
        let &DieQueue { ftl, write_queue, unit, .. } = backends.ftl.die_queue(die_queue);
        let channels = backends.ftl.channels_offered(usize::from(ftl)) as usize;
        if most == 1 || channels == 1 || backends.packing.is_active() || self.flash.bus == BusUse::Rounds {
            return most;
        }
        let own = self.dies[unit].channel as usize;
        let first = backends.ftl[usize::from(ftl)].domain.first.channel as usize;
        let others = (first..first + channels).filter(|&channel| channel != own);
        let sharers =
            1 + others.filter(|&channel| self.could_take(now, channel, write_queue, backends)).count();
        let mut waiting = 0;
        let mut op = self.queues.write_queues[write_queue as usize].head;
        while op.is_some() && waiting < most * sharers {
            let DriveOp { placed, command, next, .. } = self.queues[op];
            waiting += usize::from(command.count - placed);
            op = next;
        }
        most.min(waiting.div_ceil(sharers))
    }

    /// Whether a channel has nothing to do now but to program what comes first in a write queue.
    fn could_take(
        &self,
        now: SimTime,
        channel: usize,
        write_queue: u32,
        backends: &DriveBackends<C>,
    ) -> bool {
        let Channel { free_at, waiting, ready, collecting, die_queues, .. } = &self.dies.channels[channel];
        if *free_at > now || waiting | ready | collecting != 0 {
            return false;
        }
        let idle = self.dies.idle_units(now, channel);
        die_queues.iter().any(|&(die_queue, bit)| {
            let die_queue = die_queue as usize;
            idle >> bit & 1 == 1
                && backends.ftl.die_queue(die_queue).write_queue == write_queue
                && backends.plane_for::<Full>(die_queue, self).is_some()
        })
    }

    /// Which of the planes a page of a waiting write may go to: any, unless its address says which.
    fn plane_among(
        &self,
        die_queue: usize,
        op: Id<DriveOp>,
        n: u16,
        stream: u8,
        free: &[PlaneId],
        backends: &DriveBackends<C>,
    ) -> Option<usize> {
        let of_die_queue = usize::from(backends.ftl.die_queue(die_queue).ftl);
        if !backends.ftl.joins_stream(stream, of_die_queue, op, n, self) {
            return None;
        }
        let ftl = &backends.ftl[of_die_queue];
        if matches!(ftl.allocation, Allocation::Dynamic) {
            return Some(0);
        }
        let lpn = self.queues[op].command.start.low() + u32::from(n);
        free.iter().position(|&plane| ftl.allocation.allows(&self.flash.geometry, &ftl.domain, lpn, plane))
    }

    /// A plane leaves pages out until its next one has that number.
    fn catch_up(&mut self, stream: u8, plane: PlaneId, number: u32, backends: &mut DriveBackends<C>) {
        while backends.ftl.blocks().next_number(stream, plane) != number {
            let left_out = backends.ftl.blocks_mut().leave_empty(Some(stream), plane);
            backends.power.note_oob(left_out, 0, 0);
            self.accounts.counters.wasted_pages += 1;
        }
    }

    /// A write whose pages all have their places leaves its write queue; with several of its pages in one command, the
    /// last of them finds it gone.
    pub(in crate::drive) fn take_if_placed(
        &mut self,
        die_queue: usize,
        page: &PageWrite,
        backends: &mut DriveBackends<C>,
    ) {
        let state = &self.queues[page.op];
        if page.n + 1 < state.command.count {
            return;
        }
        let write_queue = backends.ftl.die_queue(die_queue).write_queue as usize;
        self.queues.write_queues[write_queue].remove(&mut self.queues.ops, page.op);
        self.queues.waiting -= u32::from(!self.queues.write_queues[write_queue].head.is_some());
        backends.all_placed(page.op, self);
    }

    // ---------------------------------------------------------------- reads

    /// Reads that wait for pages of the same number in other planes of the die join one that starts, and those that
    /// wait for other places of the same page of the flash. How many planes read.
    #[inline(never)]
    pub(super) fn join_reads(
        &mut self,
        now: SimTime,
        unit: UnitId,
        first: Id<DriveOp>,
        backends: &DriveBackends<C>,
    ) -> usize {
        let geometry = &self.flash.geometry;
        let number = geometry.flash_page_of(self.queues[first].ppn);
        let plane = geometry.plane_of(self.queues[first].ppn).0;
        let die = |ppn| self.flash.die_of(geometry.plane_of(ppn), geometry.block_of(ppn));
        let die_of_first = die(self.queues[first].ppn);
        let mut planes = 1_u128 << (plane % geometry.planes);
        let (mut last, mut count, several) = (first, 1, self.flash.commands.multi_plane != MultiPlane::Off);
        let mut at = self.dies[unit].reads.head;
        while at.is_some() {
            let DriveOp { ppn, next, command, ftl, .. } = self.queues[at];
            let plane = self.flash.geometry.plane_of(ppn).0;
            let bit = 1 << (plane % self.flash.geometry.planes);
            let apart = several
                && self.flash.geometry.is_slc(ppn) == self.flash.geometry.is_slc(self.queues[first].ppn)
                && self.flash.geometry.flash_page_of(ppn) == number
                && self.flash.die_of(PlaneId(plane), self.flash.geometry.block_of(ppn)) == die_of_first
                && planes & bit == 0;
            let along = backends.packing.shares()
                && !apart
                && self.queues.is_brought_up(first, ppn, &self.flash.geometry);
            if (apart || along) && !self.open.keeps_waiting(&self.flash.geometry, unit, ppn) {
                planes |= bit;
                self.queues[at].placed = u16::from(along);
                self.accounts.counters.along[OpKind::Read as usize] += u64::from(along);
                let state = &mut self.dies[unit];
                state.queued = state.queued - self.queues[at].service;
                state.reads.remove(&mut self.queues.ops, at);
                self.queues[at].next = Id::NONE;
                self.queues[at].acknowledged = now;
                self.queues[last].next = at;
                self.accounts.counters.count(ftl, OpKind::Read, command.cause);
                (last, count) = (at, count + usize::from(apart));
            }
            at = next;
        }
        self.accounts.counters.multi_plane[OpKind::Read as usize] += u64::from(count > 1);
        count
    }

    // ---------------------------------------------------------------- erases

    /// Planes of the same die whose victims are ready to be erased too.
    #[inline(never)]
    pub(in crate::drive) fn joining_erases(
        &mut self,
        now: SimTime,
        first: PlaneId,
        block: u32,
        backends: &mut DriveBackends<C>,
    ) -> Vec<(PlaneId, u32)> {
        let (die, home) = (self.flash.die_of(first, block), self.dies.of_plane[first.0 as usize]);
        let unit = self.dies.unit_of_block(first, block);
        let mut ready = Vec::new();
        let mut at = self.dies[home].collect_head;
        while let Some(plane) = at {
            at = backends.gc.next_plane(plane);
            if plane == first {
                continue;
            }
            if let Some(victim) =
                backends.gc.victim_of(plane, &mut backends.maintenance, &mut backends.ftl, self)
                && self.flash.die_of(plane, victim) == die
                && (backends.packing.is_active() || backends.gc.is_hand_empty(plane))
                && backends.ftl.blocks().is_garbage(plane, victim)
                && !backends.power.must_stay(now, unit, (plane, victim), &backends.ftl, self)
            {
                ready.push((plane, victim));
            }
        }
        ready
    }
}
