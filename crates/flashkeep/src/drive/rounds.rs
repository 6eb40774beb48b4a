//! Busy units that work in rounds (`flash.bus = "rounds"`): a channel takes all waiting operations at once,
//! reads first, then writes, at most [`BATCH`] of each. A round has one operation per unit. All of them start
//! together; the k-th is done when its array operation has ended and k transfers have passed; the next round
//! starts when the last one of this round is done. Later operations wait until the channel has completed the
//! batch. Collections of several units run in parallel, and the channel waits for the longest.
//!
//! Source: the parallel units of the DiskSim extension of Agrawal et al., USENIX ATC 2008.

use super::dies::{Channel, bits};
use super::program::Full;
use super::sources::{ByAge, Next, Writes};
use super::{Drive, Kind, Op};
use crate::engine::{Contents, Done, LeafId};
use crate::flash::{Phases, Round, Target, UnitId};
use crate::kernel::SimTime;

/// Reads, or writes, that a channel takes at once.
const BATCH: u32 = 100;

impl<C: Contents> Drive<C> {
    /// A channel that is free takes what waits for it.
    #[inline(never)]
    pub(super) fn visit_in_rounds(&mut self, now: SimTime, channel: usize) {
        let Channel { free_at, first_unit, busy, .. } = self.dies.channels[channel];
        if free_at > now {
            return self.arm_channel(channel);
        }
        let mut end = self.collect_side_by_side(now, channel);
        if end == now {
            end = self.read_in_rounds(now, channel);
            end = self.write_in_rounds(now, end, channel);
        }
        if end == now {
            // An erase may wait for what is still under way.
            if let Next::NotBefore(at) = self.writes_later(now, channel) {
                self.wake_slot(self.dies.units.len() + channel, at);
            }
            return;
        }
        let state = &mut self.dies.channels[channel];
        (state.free_at, state.busy) = (end, busy + end.since(now));
        let first = first_unit as usize;
        self.dies.free_at[first..first + self.dies.per_channel].fill(end);
        let Channel { waiting, collecting, .. } = self.dies.channels[channel];
        if waiting | collecting != 0 || self.queues.waiting > 0 {
            self.arm_channel(channel);
        }
    }

    /// A block of each unit that is short of pages, one beside the other; until when, or `now` where there is none.
    fn collect_side_by_side(&mut self, now: SimTime, channel: usize) -> SimTime {
        let Channel { collecting, first_unit, .. } = self.dies.channels[channel];
        let wanted = if self.gc.background { collecting } else { collecting & self.wanted_units(channel) };
        let mut end = now;
        for unit in bits(wanted).map(|bit| UnitId(first_unit + bit)) {
            self.dies.channels[channel].free_at = now;
            if self.collect(now, channel, unit) {
                end = end.max(self.dies.free_at[unit.0 as usize]);
            }
        }
        end
    }

    fn read_in_rounds(&mut self, mut begun: SimTime, channel: usize) -> SimTime {
        let mut left = BATCH;
        loop {
            let Channel { waiting, first_unit, .. } = self.dies.channels[channel];
            if waiting == 0 || left == 0 {
                return begun;
            }
            let mut round = Round::at(begun);
            for bit in bits(waiting).take(left as usize) {
                self.read_in_step(&mut round, channel, UnitId(first_unit + bit));
                left -= 1;
            }
            begun = round.end;
        }
    }

    /// The first read that waits for a unit.
    fn read_in_step(&mut self, round: &mut Round, channel: usize, unit: UnitId) {
        let state = &mut self.dies.units[unit.0 as usize];
        let op = state.reads.pop(&mut self.queues.ops);
        let Op { ticket, command, ftl, ppn, service: alone, .. } = self.queues.ops[op];
        state.queued = state.queued - alone;
        state.programs = None;
        if !state.reads.head.is_some() {
            self.dies.channels[channel].waiting &= !state.bit;
        }
        let target = Target::sectors(ppn, command.sectors);
        let (_, end) = round.add(&self.flash.timing.cost_of(&self.flash.geometry, Kind::Read, target));
        let service = end.since(round.begun);
        self.dies.units[unit.0 as usize].busy += service;
        self.accounts.counters.count(ftl, Kind::Read, command.cause);
        if self.health.damaged && self.ftl.blocks.is_unreadable(ppn) {
            let failed = Some((LeafId(ftl), command.start));
            self.done.push(Done { failed, service, ..Done::at(ticket, 1, end) });
        } else {
            let contents = self.take_carried(op);
            self.answer(ticket, 1, end, service, contents);
        }
        self.queues.ops.release(op);
        self.tell(round.begun, end, ppn, Kind::Read, command.cause, command.sectors);
    }

    fn write_in_rounds(&mut self, now: SimTime, mut begun: SimTime, channel: usize) -> SimTime {
        let all = u64::MAX >> (64 - self.dies.per_channel);
        let mut left = BATCH;
        loop {
            let mut idle = all;
            self.dies.in_step = Round::at(begun);
            while left > 0
                && let Some(taker) = Writes::<Full>::find(self, channel, idle)
            {
                let unit = self.give::<Full>(begun, channel, taker);
                self.pass_on(now, channel, taker.lane);
                idle &= !self.dies.units[unit.0 as usize].bit;
                left -= 1;
            }
            if idle == all {
                return begun;
            }
            begun = self.dies.in_step.end;
        }
    }

    /// A program joins the round that is being put together: when its transfers begin, and when it is over.
    #[inline(never)]
    pub(super) fn join_round(&mut self, unit: UnitId, phases: &Phases) -> (SimTime, SimTime) {
        let (first, end) = self.dies.in_step.add(phases);
        self.dies.units[unit.0 as usize].busy += end.since(self.dies.in_step.begun);
        (first, end)
    }
}
