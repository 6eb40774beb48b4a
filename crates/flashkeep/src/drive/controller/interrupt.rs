//! What failures of flash take from the operations that wait or are in progress.

use super::dies::UnitPhase;
use super::queue::{DriveOp, UNASKED};
use super::{Controller, PageOwner};
use crate::drive::{Fault, Resource};
use crate::engine::{BackendId, Command, CompletionToken, Contents, Done, Verb};
use crate::flash::{PlaneId, UnitId};
use crate::kernel::{Id, SimTime, Span};

impl<C: Contents> Controller<C> {
    /// A read that waited, or was being done, fails.
    pub(in crate::drive) fn fail_read(
        &mut self,
        now: SimTime,
        op: Id<DriveOp>,
        backends: &mut impl PageOwner<C>,
    ) {
        let DriveOp { token, command, ftl, ppn, course, .. } = self.queues[op];
        self.errors.forget_doomed(ppn);
        if token.slot == UNASKED && !course.discarded {
            backends.scrub_on(now, self);
        } else if !course.discarded {
            self.done.push(Done { failed: Some((BackendId(ftl), command.start)), ..Done::at(token, 1, now) });
        }
        self.queues.release(op);
    }

    /// A unit that reads a page of a plane that has failed is free: it may have other planes.
    pub(in crate::drive) fn stop_reading(
        &mut self,
        now: SimTime,
        unit: UnitId,
        plane: PlaneId,
        backends: &mut impl PageOwner<C>,
    ) {
        let state = &mut self.dies[unit];
        if state.programs.is_some_and(|ppn| self.flash.geometry.plane_of(ppn) == plane) {
            state.programs = None;
        }
        let collects = !state.current.is_some() && state.collects == Some(plane);
        if state.phase == UnitPhase::Free {
            return;
        }
        if collects {
            self.log_interrupted_collection(now, unit, backends);
            self.collection_reads.forget(unit);
        }
        let gone = self.dies.empty_registers(unit, plane, &self.flash.geometry, &mut self.queues);
        let state = &mut self.dies[unit];
        let untouched = gone.is_empty() && !collects;
        if untouched || state.current.is_some() {
            // Nothing of it was read, or other planes' pages still are.
        } else if state.cached.is_some() {
            state.current = std::mem::replace(&mut state.cached, Id::NONE);
            state.phase = UnitPhase::Ready;
            self.dies.wake_unit_at(unit, SimTime::NEVER);
        } else {
            self.dies.cut_off_unit(now, unit.0 as usize, false);
            let (channel, bit) = (self.dies[unit].channel as usize, self.dies[unit].bit);
            self.dies.channel_mut(channel).ready &= !bit;
            if self.open.end_read(unit, now) {
                self.dies[unit].phase = UnitPhase::Suspended;
            } else {
                self.dies[unit].phase = UnitPhase::Free;
                self.dies.set_free(now, unit);
            }
            self.accounts.tell_cut_off(now, Resource::Unit(unit));
            self.dies.wake_unit_at(unit, SimTime::NEVER);
        }
        for op in gone {
            self.log_interrupted_read(now, op, backends);
            self.fail_read(now, op, backends);
        }
    }

    /// Answers commands for a failed backend.
    pub(in crate::drive) fn answer_for_dead(
        &mut self,
        now: SimTime,
        backend: BackendId,
        command: &Command,
        token: CompletionToken,
    ) {
        if command.verb != Verb::Read {
            return self.answer(token, u32::from(command.count), now, Span::ZERO, C::default());
        }
        for n in 0..u32::from(command.count) {
            let failed = Some((backend, command.start.plus(n)));
            self.done.push(Done { failed, ..Done::at(token.plus(n), 1, now) });
        }
    }

    /// Fails the reads that wait for failed parts.
    pub(in crate::drive) fn fail_waiting_reads(
        &mut self,
        now: SimTime,
        plane: PlaneId,
        what: Fault,
        backends: &mut impl PageOwner<C>,
    ) {
        for unit in self.dies.units_of(plane) {
            let strikes = |op: &DriveOp| what.strikes(&self.flash.geometry, op.ppn);
            for op in self.dies.take_reads(unit, &mut self.queues, strikes) {
                self.fail_read(now, op, backends);
            }
        }
    }
}
