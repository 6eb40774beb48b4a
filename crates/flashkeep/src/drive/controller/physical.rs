//! Erases of physical pages.

use super::Controller;
use super::queue::DriveOp;
use crate::engine::{Contents, Done};
use crate::flash::UnitId;
use crate::kernel::{Id, SimTime, Span};

impl<C: Contents> Controller<C> {
    /// The erase that was granted last in a unit, and is over at `end` if nothing suspends it.
    pub(in crate::drive) fn end_erase(
        &mut self,
        unit: UnitId,
        erase: Id<DriveOp>,
        now: SimTime,
        end: SimTime,
    ) {
        if !self.open.answer_when_over(unit, erase) {
            self.erased(erase, end, end.since(now));
        }
    }

    /// One erase of a trim is over at `end`, or will not be; the last one answers for all.
    pub(in crate::drive) fn erased(&mut self, erase: Id<DriveOp>, end: SimTime, service: Span) {
        let trim = Id::new(self.queues[erase].command.to.low());
        self.queues.release(erase);
        let state = &mut self.queues[trim];
        state.placed -= 1;
        state.durable = state.durable.max(end);
        state.service = state.service.max(service);
        if state.placed > 0 {
            return;
        }
        let DriveOp { token, command, since, durable, service, .. } = *state;
        let spent = self.probe.erases(durable.since(since), service);
        self.done.push(Done { service, spent, ..Done::at(token, u32::from(command.count), durable) });
        self.queues.release(trim);
    }
}
