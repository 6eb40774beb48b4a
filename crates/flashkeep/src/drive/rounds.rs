//! Units that work in rounds (`flash.bus = "rounds"`): a channel takes what waits for it at once, reads first, then writes,
//! at most [`BATCH`] of each. A round has one request for each unit. All of them begin together, the k-th is done when its
//! array has worked and k transfers have passed, and the next round begins when the last of this one is done. Whatever
//! comes meanwhile waits until the channel has done all that it took. Collections of several units run side by side, and
//! the channel waits for the longest.
//!
//! Source: the parallel units of the DiskSim extension of Agrawal et al., USENIX ATC 2008.

use super::dies::{Channel, bits};
use super::{Drive, Kind, Op};
use crate::engine::{Contents, Done, LeafId};
use crate::flash::{Acknowledge, Ppn, UnitId};
use crate::kernel::{SimTime, Span};

/// Reads, or writes, that a channel takes at once.
const BATCH: u32 = 100;

/// A round that is being put together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InStep {
    begun: SimTime,
    /// What has crossed the pins in it.
    crossed: Span,
    /// When the last so far is done.
    end: SimTime,
}

impl InStep {
    fn at(begun: SimTime) -> InStep {
        InStep { begun, crossed: Span::ZERO, end: begun }
    }

    /// One more: when its data have crossed and when it is done.
    fn add(&mut self, bus: Span, array: Span) -> (SimTime, SimTime) {
        self.crossed += bus;
        let crossed = self.begun + self.crossed;
        self.end = self.end.max(crossed + array);
        (crossed, crossed + array)
    }
}

impl<C: Contents> Drive<C> {
    /// A channel that is free takes what waits for it.
    #[inline(never)]
    pub(super) fn visit_in_rounds(&mut self, now: SimTime, channel: usize) {
        let Channel { free_at, first_unit, busy, .. } = self.channels[channel];
        if free_at > now {
            return self.arm_channel(channel);
        }
        let mut end = self.collect_side_by_side(now, channel);
        if end == now {
            end = self.read_in_rounds(now, channel);
            end = self.write_in_rounds(now, end, channel);
        }
        if end == now {
            return;
        }
        let state = &mut self.channels[channel];
        (state.free_at, state.busy) = (end, busy + end.since(now));
        let first = first_unit as usize;
        self.free_at[first..first + self.units_per_channel].fill(end);
        let Channel { waiting, collecting, .. } = self.channels[channel];
        if waiting | collecting != 0 || self.pools_waiting > 0 {
            self.arm_channel(channel);
        }
    }

    /// A block of each unit that is short of pages, one beside the other; until when, or `now` where there is none.
    fn collect_side_by_side(&mut self, now: SimTime, channel: usize) -> SimTime {
        let Channel { collecting, first_unit, .. } = self.channels[channel];
        let wanted = if self.background { collecting } else { collecting & self.wanted_units(channel) };
        let mut end = now;
        for unit in bits(wanted).map(|bit| UnitId(first_unit + bit)) {
            self.channels[channel].free_at = now;
            if self.collect(now, channel, unit) {
                end = end.max(self.free_at[unit.0 as usize]);
            }
        }
        end
    }

    fn read_in_rounds(&mut self, mut begun: SimTime, channel: usize) -> SimTime {
        let mut left = BATCH;
        loop {
            let Channel { waiting, first_unit, .. } = self.channels[channel];
            if waiting == 0 || left == 0 {
                return begun;
            }
            let mut round = InStep::at(begun);
            for bit in bits(waiting).take(left as usize) {
                self.read_in_step(&mut round, channel, UnitId(first_unit + bit));
                left -= 1;
            }
            begun = round.end;
        }
    }

    /// The first read that waits for a unit.
    fn read_in_step(&mut self, round: &mut InStep, channel: usize, unit: UnitId) {
        let state = &mut self.units[unit.0 as usize];
        let op = state.reads.pop(&mut self.ops);
        let Op { ticket, command, ftl, ppn, service: alone, .. } = self.ops[op];
        state.queued = state.queued - alone;
        state.programs = None;
        if !state.reads.head.is_some() {
            self.channels[channel].waiting &= !state.bit;
        }
        let bus = self.timing.command + self.timing.transfer(command.sectors);
        let (_, end) = round.add(bus, self.array_read(ppn));
        let service = end.since(round.begun);
        self.units[unit.0 as usize].busy += service;
        self.counters.count(ftl, Kind::Read, command.cause);
        if self.damaged && self.blocks.is_unreadable(ppn) {
            let failed = Some((LeafId(ftl), command.start));
            self.done.push(Done { failed, service, ..Done::at(ticket, 1, end) });
        } else {
            let contents = self.take_carried(op);
            self.answer(ticket, 1, end, service, contents);
        }
        self.ops.release(op);
        self.tell(round.begun, end, ppn, Kind::Read, command.cause, command.sectors);
    }

    fn write_in_rounds(&mut self, now: SimTime, mut begun: SimTime, channel: usize) -> SimTime {
        let all = u64::MAX >> (64 - self.units_per_channel);
        let mut left = BATCH;
        loop {
            let mut idle = all;
            self.in_step = InStep::at(begun);
            while left > 0
                && let Some((lane, plane, turn)) = self.next_write::<false>(channel, idle)
            {
                let unit = self.grant_write::<false>(begun, channel, lane, plane, turn);
                self.pass_on(now, channel, lane);
                idle &= !self.units[unit.0 as usize].bit;
                left -= 1;
            }
            if idle == all {
                return begun;
            }
            begun = self.in_step.end;
        }
    }

    /// A program of the round that is being put together: when it is acknowledged, and when it is over.
    #[inline(never)]
    pub(super) fn program_in_step(
        &mut self,
        unit: UnitId,
        ppn: Ppn,
        sectors: u16,
        summary: Span,
    ) -> (SimTime, SimTime) {
        let bus = self.timing.command + self.timing.transfer(sectors);
        let (crossed, durable) = self.in_step.add(bus, self.array_program(ppn) + summary);
        self.units[unit.0 as usize].busy += durable.since(self.in_step.begun);
        (if self.acknowledge == Acknowledge::Transfer { crossed } else { durable }, durable)
    }
}
