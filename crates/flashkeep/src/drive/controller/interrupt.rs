//! What failures of flash take from the operations that wait or are in progress.

use super::Controller;
use super::queue::DriveOp;
use crate::drive::Fault;
use crate::drive::backends::{DriveBackends, UNASKED};
use crate::engine::{BackendId, Command, CompletionToken, Contents, Done, Verb};
use crate::flash::PlaneId;
use crate::kernel::{Id, SimTime, Span};

impl<C: Contents> Controller<C> {
    /// A read that waited, or was being done, fails.
    pub(in crate::drive) fn fail_read(
        &mut self,
        now: SimTime,
        op: Id<DriveOp>,
        backends: &mut DriveBackends<C>,
    ) {
        let DriveOp { token, command, ftl, ppn, course, .. } = self.queues[op];
        self.errors.forget_doomed(ppn);
        if token.slot == UNASKED && !course.discarded {
            backends.maintenance.scrub_on(now, self);
        } else if !course.discarded {
            self.done.push(Done { failed: Some((BackendId(ftl), command.start)), ..Done::at(token, 1, now) });
        }
        self.queues.release(op);
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
        backends: &mut DriveBackends<C>,
    ) {
        for unit in self.dies.units_of(plane) {
            let strikes = |op: &DriveOp| what.strikes(&self.flash.geometry, op.ppn);
            for op in self.dies.take_reads(unit, &mut self.queues, strikes) {
                self.fail_read(now, op, backends);
            }
        }
    }
}
