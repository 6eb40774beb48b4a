//! Operations whose end may still move: programs, copybacks and erases in a drive whose units suspend them for reads
//! ([`super::suspend`]).
//!
//! Elsewhere the end of an operation is known when it is granted, and everything that depends on it is done then. Here
//! it stays with the operation and is *settled* when that is over: when the pages of its writes are on the media, the
//! reports to observers, which blocks may be erased then. Places, maps and counters change at the grant, as elsewhere.

use super::dies::{Channel, bits};
use super::open_operations::{OpenOperation, PageUnderWay};
use super::program::{Manner, PageTimes, PageWrite};
use super::queue::DriveOp;
use super::{Controller, Dies, OpenOperations, PageOwner};
use crate::drive::{LoggedOperation, Resource};
use crate::engine::{Breakdown, Cause, CompletionPart, Contents, Done};
use crate::flash::{Acknowledge, OpKind, OpPhases, Ppn, UnitId};
use crate::kernel::{Id, SimTime, Span};

/// A page of a program or of a copyback, or a block of an erase, that may be under way.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct Flight {
    /// When the operation begins, the first of its pages: all of them are torn together. Later than the grant where
    /// several operations are granted at once.
    pub begun: SimTime,
    pub end: SimTime,
    /// The page, or the first page of the block.
    pub ppn: Ppn,
    pub kind: OpKind,
}

impl<C: Contents> Controller<C> {
    // ---------------------------------------------------------------- grants

    /// An operation is granted that may be suspended.
    pub(super) fn put_under_way(
        &mut self,
        [granted, end]: [SimTime; 2],
        unit: UnitId,
        phases: &OpPhases,
        manner: Manner,
        cause: Cause,
    ) {
        self.open.push(unit, OpenOperation::new([granted, end], phases.summary, manner, cause));
        self.dies.arm_end(unit, &self.open);
        let (channel, bit) = (self.dies[unit].channel, self.dies[unit].bit);
        self.dies.channels[channel as usize].under_way |= bit;
        if self.accounts.watch.is_some() {
            let until = self.dies.channels[channel as usize].free_at;
            self.accounts.tell_hold(Resource::Channel(channel), granted, until, manner.kind, cause);
        }
    }

    /// A page of the operation that was granted last in a unit.
    pub(super) fn put_page_under_way(
        &mut self,
        unit: UnitId,
        kind: OpKind,
        page: PageWrite,
        times: PageTimes,
        first: bool,
    ) {
        let op = page.op;
        let waited =
            if op.is_some() { self.put_write_under_way(unit, op, times) } else { Breakdown::default() };
        // In a round everything has begun together, and blocks are erased together.
        let start = if first || kind == OpKind::Erase { times.granted } else { times.begun };
        if let Some(operation) = self.open.last_mut(unit) {
            operation.pages.push(page);
            operation.times.push(PageUnderWay { times, waited, start, landed: false });
        }
    }

    /// One more page of a write is being programmed; what it has waited for, if the write is acknowledged later.
    fn put_write_under_way(&mut self, unit: UnitId, op: Id<DriveOp>, times: PageTimes) -> Breakdown {
        let PageTimes { granted, sent, freed, .. } = times;
        self.open.begin_program(op);
        if self.flash.acknowledge == Acknowledge::Program {
            self.queues[op].placed += 1;
            return self.wait_of_page(op, granted, unit, freed);
        }
        if sent >= self.queues[op].acknowledged {
            self.probe.note_placed(op, &times, unit, sent, self.flash.commands.cache_program);
        }
        self.queues[op].note_placed(granted, sent, sent);
        Breakdown::default()
    }

    /// All pages of a write have their places. Whether some of its programs are still under way; it is answered when
    /// they are over, but acknowledged now if it is when its data have crossed the channel.
    pub(in crate::drive) fn is_still_programmed(&mut self, op: Id<DriveOp>) -> bool {
        if !self.open.has_programs(op) {
            return false;
        }
        if self.flash.acknowledge != Acknowledge::Program {
            self.answer_write(op, CompletionPart::Acknowledged);
            self.probe.keep_acknowledged(op, self.done.last().map(|done| done.spent));
        }
        true
    }

    // ---------------------------------------------------------------- ends

    /// Settles the operations of a unit that are over by now.
    #[inline]
    pub(in crate::drive) fn settle_unit(
        &mut self,
        now: SimTime,
        unit: UnitId,
        backends: &mut impl PageOwner<C>,
    ) {
        if self.open.is_over(now, unit) {
            self.settle_first(now, unit, backends);
        }
    }

    /// The same, where the first of them is over.
    fn settle_first(&mut self, now: SimTime, unit: UnitId, backends: &mut impl PageOwner<C>) {
        while let Some(operation) = self.open.take_over(now, unit) {
            self.settle(unit, &operation, backends);
        }
        self.dies.arm_end(unit, &self.open);
    }

    /// The same for the units of a channel.
    pub(super) fn settle_channel(&mut self, now: SimTime, channel: usize, backends: &mut impl PageOwner<C>) {
        let Channel { first_unit, under_way, .. } = self.dies.channels[channel];
        for bit in bits(under_way) {
            let unit = UnitId(first_unit + bit);
            self.settle_unit(now, unit, backends);
            if self.open.of(unit).len() == 0 {
                self.dies.channels[channel].under_way &= !(1 << bit);
            }
        }
    }

    /// Settles all operations: the time begins again.
    pub(in crate::drive) fn settle_all(&mut self, backends: &mut impl PageOwner<C>) {
        self.open.end_suspensions();
        for unit in 0..self.dies.unit_count() {
            self.settle_unit(SimTime::NEVER, UnitId(unit as u32), backends);
        }
    }

    /// An operation is over.
    fn settle(&mut self, unit: UnitId, operation: &OpenOperation, backends: &mut impl PageOwner<C>) {
        let OpenOperation { kind, end, granted, suspended, erase, .. } = *operation;
        self.tell_over(unit, operation, end, backends);
        for (page, under_way) in operation.pages.iter().zip(&operation.times) {
            if page.op.is_some() {
                self.settle_page(page.op, unit, under_way, end, suspended, backends);
            }
        }
        let mut over = self.open.take_over_writes();
        over.drain(..).for_each(|op| self.end_write(op));
        self.open.put_back(over);
        if erase.is_some() {
            self.erased(erase, end, end.since(granted).beyond(suspended));
        }
        let guards = !operation.guards.is_empty() || operation.pages.iter().any(|page| page.guards.is_some());
        if guards || kind == OpKind::Erase && self.rules.physical {
            self.dies.wake_waiting_erases(end, self.queues.are_waiting());
        }
    }

    /// Tells the observers of an operation that ends, or is cut off, at `end`.
    fn tell_over(
        &mut self,
        unit: UnitId,
        operation: &OpenOperation,
        end: SimTime,
        backends: &impl PageOwner<C>,
    ) {
        if self.accounts.watch.is_none() {
            return;
        }
        let OpenOperation { kind, since, cause, .. } = *operation;
        self.accounts.tell_hold(Resource::Unit(unit), since, end, kind, cause);
        for (page, under_way) in operation.pages.iter().zip(&operation.times) {
            let (start, ppn) = (under_way.start, page.target.to);
            let (age, told) = (
                self.queues.age_of_write(page.op),
                LoggedOperation::new([start, end], ppn, kind, page.cause),
            );
            self.accounts.log_operation(&LoggedOperation { age, ..told }, backends);
        }
        if operation.summaries > 0 {
            // A power loss may have cut off the summary, too.
            let summary = operation.summary.min(end.since(since));
            self.accounts.tell_summaries(end, summary, &operation.pages, operation.summaries);
        }
    }

    /// A page of a write is on the media.
    fn settle_page(
        &mut self,
        op: Id<DriveOp>,
        unit: UnitId,
        under_way: &PageUnderWay,
        end: SimTime,
        suspended: Span,
        backends: &mut impl PageOwner<C>,
    ) {
        let last = self.queues[op].acknowledged;
        let is_last = self.probe.is_last_page(op, last, (under_way.times.granted, unit), end);
        let state = &mut self.queues[op];
        state.durable = state.durable.max(end);
        if self.flash.acknowledge == Acknowledge::Program {
            state.acknowledged = state.acknowledged.max(end);
            state.service = state.service.max(end.since(under_way.times.granted).beyond(suspended));
            if is_last {
                let (over, cached) = (SimTime(end.0 - suspended.0), self.flash.commands.cache_program);
                self.probe.note_placed(op, &under_way.times, unit, over, cached);
                self.probe.keep_open(op, under_way.waited, suspended);
            }
        }
        let DriveOp { placed, command, sequence, .. } = self.queues[op];
        if self.rules.physical {
            backends.note_over(sequence);
        }
        self.open.end_program(op, placed == command.count);
    }

    /// A write is over; or it is acknowledged, or has become durable.
    #[inline(always)]
    pub(in crate::drive) fn answer_write(&mut self, op: Id<DriveOp>, part: CompletionPart) {
        if !self.paths.are_direct() && self.queues.is_unasked(op) {
            return;
        }
        let noted = self.rules.time_to_note;
        let spent = match part {
            CompletionPart::Durable => {
                let DriveOp { since, durable, .. } = self.queues[op];
                self.probe.durable_write(op, durable.since(since) + noted)
            }
            _ => self.breakdown_of_write(op, noted),
        };
        let DriveOp { token, command, acknowledged, durable, service, .. } = &self.queues[op];
        let done = Done::at(*token, u32::from(command.count), *durable + noted);
        let (acknowledged, service) = (*acknowledged + noted, *service + noted);
        self.done.push(Done { part, acknowledged, service, spent, ..done });
    }

    /// The last program of a write is over.
    fn end_write(&mut self, op: Id<DriveOp>) {
        let part = match self.flash.acknowledge {
            Acknowledge::Program => CompletionPart::Both,
            Acknowledge::Transfer => CompletionPart::Durable,
        };
        self.answer_write(op, part);
        self.queues.release(op);
    }

    /// Logs the operations under way of a run that ends at `now`: the end of those that are suspended is not known.
    pub(super) fn log_open_operations(&mut self, now: SimTime, backends: &impl PageOwner<C>) {
        for unit in (0..self.dies.units.len() as u32).map(UnitId) {
            let is_suspended = self.open.suspended(unit).is_some();
            for mut operation in self.open.of(unit).cloned().collect::<Vec<_>>() {
                if is_suspended {
                    (operation.since, operation.end) = (now, now);
                }
                self.tell_over(unit, &operation, operation.end, backends);
            }
        }
    }

    // ---------------------------------------------------------------- power and failures

    /// The power fails: returns the operations under way, which are cut off. A suspended operation has begun, also if
    /// it has hardly progressed.
    pub(in crate::drive) fn cut_under_way(
        &mut self,
        now: SimTime,
        backends: &mut impl PageOwner<C>,
    ) -> Vec<Flight> {
        let mut flights = Vec::new();
        for unit in (0..self.dies.unit_count() as u32).map(UnitId) {
            self.settle_unit(now, unit, backends);
            for operation in self.open.take_all(unit, now) {
                self.tell_over(unit, &operation, now, backends);
                let end = if operation.interruptions > 0 { SimTime(now.0 + 1) } else { operation.end };
                let (begun, kind) = (operation.granted, operation.kind);
                for (page, under_way) in operation.pages.iter().zip(&operation.times) {
                    if !under_way.landed {
                        flights.push(Flight { begun, end, ppn: page.target.to, kind });
                    }
                }
            }
        }
        self.open.forget_writes();
        flights
    }
}

impl Dies {
    /// The end of the operation that comes first in a unit is an event.
    pub(super) fn arm_end(&mut self, unit: UnitId, open: &OpenOperations) {
        if let Some(end) = open.first_end(unit) {
            self.agenda.set(self.units.len() + self.channels.len() + unit.0 as usize, end);
        }
    }

    /// Blocks that waited for a program may be erased; `writes` wait, too.
    fn wake_waiting_erases(&mut self, now: SimTime, writes: bool) {
        for channel in 0..self.channels.len() {
            if writes || self.channels[channel].collecting != 0 {
                self.wake_channel(now, channel);
            }
        }
    }
}
