//! Which pages one multi-plane command programs, and which blocks it erases ([`multiplane`](crate::drive::controller) says
//! what such commands are).
//!
//! Source: ONFI's multi-plane operations; Hu et al., ICS 2011, for planes that skip pages to catch up.

use super::backend::DieQueue;
use super::{DriveBackends, Power, Translation};
use crate::drive::controller::{Channel, Controller, DriveOp, Full, PageOwner, PageWrite};
use crate::engine::Contents;
use crate::flash::{BusUse, MultiPlane, PlaneId};
use crate::ftl::{Allocation, SLC_STREAM};
use crate::kernel::{Id, SimTime};
use smallvec::SmallVec;

/// How many waiting pages are looked at, at least, for those that a command may take besides the first.
const LOOK_AHEAD: usize = 64;

impl<C: Contents> Translation<C> {
    /// Which of the planes a page of a waiting write may go to: any, unless its address says which.
    fn plane_among(
        &self,
        die_queue: usize,
        op: Id<DriveOp>,
        n: u16,
        stream: u8,
        free: &[PlaneId],
        controller: &Controller<C>,
    ) -> Option<usize> {
        let of_die_queue = usize::from(self.die_queues[die_queue].ftl);
        if !self.joins_stream(stream, of_die_queue, op, n, controller) {
            return None;
        }
        let ftl = &self.backends[of_die_queue];
        if matches!(ftl.allocation, Allocation::Dynamic) {
            return Some(0);
        }
        let lpn = controller.queues[op].command.start.low() + u32::from(n);
        free.iter()
            .position(|&plane| ftl.allocation.allows(&controller.flash.geometry, &ftl.domain, lpn, plane))
    }

    /// A plane leaves pages out until its next one has that number.
    fn catch_up(
        &mut self,
        stream: u8,
        plane: PlaneId,
        number: u32,
        power: &mut Power,
        controller: &mut Controller<C>,
    ) {
        while self.blocks.next_number(stream, plane) != number {
            let left_out = self.blocks.leave_empty(Some(stream), plane);
            power.note_oob(left_out, 0, 0);
            controller.accounts.counters_mut().wasted_pages += 1;
        }
    }
}

impl<C: Contents> DriveBackends<C> {
    /// Which waiting pages are programmed together: the first one in `plane`, the others in the same word line
    /// or in planes of the same die whose next page has, or can get, the same number. Those of a plane follow each
    /// other.
    pub(super) fn share_out(
        &mut self,
        now: SimTime,
        die_queue: usize,
        plane: PlaneId,
        stream: u8,
        pages: &mut Vec<PageWrite>,
        controller: &mut Controller<C>,
    ) {
        let head = controller.queues.first_write(self.ftl.die_queues[die_queue].write_queue);
        pages.push(controller.queues.page_of_write(head, controller.queues[head].placed, plane));
        let alone = controller.flash.commands.multi_plane == MultiPlane::Off
            || self.health.damaged
            || (self.ftl.streams.are_several() && stream != SLC_STREAM);
        if alone && !self.packing.active {
            return;
        }
        // A plane is there once for each place that it has left.
        let places = if self.packing.active { self.ftl.blocks.places_left(Some(stream), plane) } else { 1 };
        let mut free: SmallVec<[PlaneId; 32]> = (1..places).map(|_| plane).collect();
        let number = self.ftl.blocks.next_number(stream, plane);
        if !alone {
            let siblings = self.ftl.die_queues[die_queue].planes.iter().copied();
            let joining =
                siblings.filter(|&other| self.ftl.can_join(stream, plane, number, other, controller));
            free.extend(joining.flat_map(|other| (0..places).map(move |_| other)));
        }
        let most = self.fair_share(now, die_queue, 1 + free.len(), controller);
        let (mut op, mut n) = (head, controller.queues[head].placed + 1);
        for _ in 0..LOOK_AHEAD.max(free.len()) {
            if free.is_empty() || pages.len() == most {
                break;
            }
            if n == controller.queues[op].command.count {
                op = controller.queues[op].next;
                if !op.is_some() {
                    break;
                }
                n = controller.queues[op].placed;
            }
            match self.ftl.plane_among(die_queue, op, n, stream, &free, controller) {
                Some(at) => {
                    let other = free.remove(at);
                    if other != plane {
                        self.ftl.catch_up(stream, other, number, &mut self.power, controller);
                    }
                    let last = pages.iter().rposition(|page| page.plane == other);
                    let page = controller.queues.page_of_write(op, n, other);
                    pages.insert(last.map_or(pages.len(), |last| last + 1), page);
                    n += 1;
                }
                // The pages of a write find their places in order.
                None => n = controller.queues[op].command.count,
            }
        }
    }

    /// How many of the pages that wait, `most` at the most, one command takes: other channels that could program some of
    /// them now get as many. Word lines are filled instead.
    fn fair_share(&self, now: SimTime, die_queue: usize, most: usize, controller: &Controller<C>) -> usize {
        let DieQueue { ftl, write_queue, unit, .. } = self.ftl.die_queues[die_queue];
        let channels = self.ftl.channels_offered(usize::from(ftl)) as usize;
        if most == 1 || channels == 1 || self.packing.active || controller.flash.bus == BusUse::Rounds {
            return most;
        }
        let own = controller.dies[unit].channel as usize;
        let first = self.ftl.backends[usize::from(ftl)].domain.first.channel as usize;
        let others = (first..first + channels).filter(|&channel| channel != own);
        let sharers =
            1 + others.filter(|&channel| self.could_take(now, channel, write_queue, controller)).count();
        let mut waiting = 0;
        let mut op = controller.queues.first_write(write_queue);
        while op.is_some() && waiting < most * sharers {
            let DriveOp { placed, command, next, .. } = controller.queues[op];
            waiting += usize::from(command.count - placed);
            op = next;
        }
        most.min(waiting.div_ceil(sharers))
    }

    /// Whether a channel has nothing to do now but to program what comes first in a write queue.
    fn could_take(&self, now: SimTime, channel: usize, write_queue: u32, controller: &Controller<C>) -> bool {
        let Channel { free_at, waiting, ready, collecting, die_queues, .. } =
            controller.dies.channel(channel);
        if *free_at > now || waiting | ready | collecting != 0 {
            return false;
        }
        let idle = controller.dies.idle_units(now, channel);
        die_queues.iter().any(|&(die_queue, bit)| {
            let die_queue = die_queue as usize;
            idle >> bit & 1 == 1
                && self.ftl.die_queues[die_queue].write_queue == write_queue
                && self.plane_for::<Full>(die_queue, controller).is_some()
        })
    }

    /// A write whose pages all have their places leaves its write queue; with several of its pages in one command, the
    /// last of them finds it gone.
    pub(super) fn take_if_placed(
        &mut self,
        die_queue: usize,
        page: &PageWrite,
        controller: &mut Controller<C>,
    ) {
        let state = &controller.queues[page.op];
        if page.n + 1 < state.command.count {
            return;
        }
        controller.queues.remove(self.ftl.die_queues[die_queue].write_queue, page.op);
        self.all_placed(page.op, controller);
    }

    // ---------------------------------------------------------------- erases

    /// Planes of the same die whose victims are ready to be erased too.
    #[inline(never)]
    pub(super) fn joining_erases(
        &mut self,
        now: SimTime,
        first: PlaneId,
        block: u32,
        controller: &mut Controller<C>,
    ) -> Vec<(PlaneId, u32)> {
        let (die, home) = (controller.flash.die_of(first, block), controller.dies.unit_of(first));
        let unit = controller.dies.unit_of_block(first, block);
        let mut ready = Vec::new();
        let mut at = controller.dies[home].collect_head;
        while let Some(plane) = at {
            at = self.gc.next_plane(plane);
            if plane == first {
                continue;
            }
            if let Some(victim) = self.gc.victim_of(plane, &mut self.maintenance, &mut self.ftl, controller)
                && controller.flash.die_of(plane, victim) == die
                && (self.packing.active || self.gc.is_hand_empty(plane))
                && self.ftl.blocks.is_garbage(plane, victim)
                && !self.power.must_stay(now, unit, (plane, victim), &self.ftl, controller)
            {
                ready.push((plane, victim));
            }
        }
        ready
    }
}
