//! Reads whose data could not be corrected: retries, and sensings for soft decoding.
//!
//! How often a page is sensed is drawn when its read is submitted ([`errors`](super::errors)). A read that continues
//! after an attempt returns to the head of its die's queue when its data have been transferred: the die can serve no
//! other read before, and begins to sense when the decoder has given up. With `errors.retry.pipelined` the die
//! continues sensing while the data of the last attempt are in its cache register; the transfer of these is an
//! operation of its own. Reads of GC continue in the same way, without a queue.

use super::dies::UnitPhase;
use super::errors::ReadAttempts;
use super::queue::DriveOp;
use super::{Controller, Dies, PageOwner, Queues};
use crate::engine::{Cause, CompletionToken, Contents};
use crate::flash::{OpKind, Ppn, UnitId};
use crate::kernel::{Id, SimTime, Span};

impl<C: Contents> Controller<C> {
    /// Data that cannot be corrected cross the channel from `now` on; with `last` no other page waits in the unit.
    #[cold]
    pub(super) fn end_attempt(
        &mut self,
        now: SimTime,
        unit: UnitId,
        op: Id<DriveOp>,
        last: bool,
        transfer: Span,
        backends: &mut impl PageOwner<C>,
    ) {
        let (channel, end) = (self.dies.channel_of(unit), now + transfer);
        let cause = self.cause_of_transfer(unit, op, backends);
        if op.is_some() && !self.queues[op].course.discarded {
            let course = self.queues[op].course;
            let decoding = self.errors.decoding(course);
            self.probe.keep_attempt(now, channel, (op, course.again), transfer, decoding);
            self.tell_attempt(op, self.queues[op].acknowledged, end, backends);
            self.queue_again(channel, unit, op, end);
        }
        self.occupy_channel(now, channel, transfer, cause);
        if self.accounts.watch.is_some() {
            self.tell_data_out(now, unit, op.is_some().then_some(cause), backends);
        }
        if !op.is_some() {
            return self.sense_again_for_gc(now, unit, end, backends);
        }
        if self.queues[op].course.discarded {
            self.queues.release(op);
        }
        if last && !self.stays_suspended(now, unit, end, cause) {
            self.occupy_unit(now, unit, end, cause);
        }
    }

    /// A read goes back to the head of its queue. It may sense when its data have been decoded in vain.
    fn queue_again(&mut self, channel: usize, unit: UnitId, op: Id<DriveOp>, end: SimTime) {
        let decoding = self.errors.decoding(self.queues[op].course);
        let whole = self.queues[op].service_of_read(&self.flash, end);
        let this = &mut self.queues[op];
        this.course.advance();
        this.command.cause = Cause::Retry;
        this.durable = this.durable + whole + decoding;
        (this.since, this.placed) = (end + decoding, 0);
        let service = this.service;
        let state = &mut self.dies[unit];
        state.reads.push_first(&mut self.queues.ops, op);
        state.queued += service;
        self.dies.channels[channel].waiting |= state.bit;
    }

    /// A unit has a page in its register. With pipelined retries, the page goes into the cache register if it will be
    /// read again, and the unit continues sensing.
    pub(super) fn goes_on_sensing(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        backends: &mut impl PageOwner<C>,
    ) -> bool {
        let Some(model) = self.errors.model().filter(|model| model.pipelined) else { return false };
        let state = &self.dies[unit];
        let op = state.current;
        if !op.is_some() || self.queues[op].next.is_some() || state.cached.is_some() {
            return false;
        }
        let course = self.queues[op].course;
        let senses_softly = model.soft.is_some_and(|soft| course.sensings < soft.sensings);
        if course.retries == 0 && !(course.sensings > 0 && senses_softly) {
            return false;
        }
        self.tell_attempt(op, self.queues[op].acknowledged, now, backends);
        let attempt = DriveOp {
            token: CompletionToken::default(),
            course: ReadAttempts { discarded: true, ..ReadAttempts::default() },
            ..self.queues[op]
        };
        let cached = self.queues.ops.claim();
        self.queues[cached] = attempt;
        let phases = self.errors.phases_of_retry(&self.flash, self.queues[op].ppn);
        let this = &mut self.queues[op];
        this.course.advance();
        this.command.cause = Cause::Retry;
        this.durable = this.durable + phases.busy();
        let ftl = this.ftl;
        this.acknowledged = now;
        self.accounts.counters.count(ftl, OpKind::Read, Cause::Retry);
        self.probe.go_on_sensing(op, phases.busy(), course.again);
        let state = &mut self.dies[unit];
        (state.cached, state.phase) = (cached, UnitPhase::Array);
        state.busy += phases.busy();
        self.dies.channels[channel].ready |= state.bit;
        self.dies.agenda.set(unit.0 as usize, now + phases.busy());
        true
    }

    /// Reports an attempt of a read from `start` to `end`.
    pub(super) fn tell_attempt(
        &mut self,
        op: Id<DriveOp>,
        start: SimTime,
        end: SimTime,
        backends: &mut impl PageOwner<C>,
    ) {
        let DriveOp { token, ppn, command, placed: along, .. } = self.queues[op];
        let (kind, age) = (OpKind::Read, Some(token.age));
        if along > 0 {
            let transfer = self.flash.timing.transfer_of(ppn, command.sectors);
            return self.tell_along(start, end, ppn, kind, command.cause, transfer, age, backends);
        }
        self.tell(start, end, ppn, kind, command.cause, command.sectors, age, backends);
    }

    // ---------------------------------------------------------------- GC

    /// The data of a page that GC reads could not be corrected: the unit senses it again.
    fn sense_again_for_gc(
        &mut self,
        now: SimTime,
        unit: UnitId,
        end: SimTime,
        backends: &mut impl PageOwner<C>,
    ) {
        let (course, collects) = (self.dies[unit].gc_course, self.dies[unit].collects);
        let begins = end + self.errors.decoding(course);
        let busy = self.errors.phases_of_retry(&self.flash, self.dies[unit].gc_page).busy();
        if collects.is_some() {
            let ftl = self.dies[unit].gc_backend;
            self.accounts.counters.count(ftl, OpKind::Read, Cause::Retry);
        }
        self.repeat_collection_read(unit, begins, end, backends);
        let state = &mut self.dies[unit];
        state.gc_course.advance();
        state.phase = UnitPhase::Array;
        state.busy += (begins + busy).since(now);
        self.dies.wake_unit_at(unit, begins + busy);
    }

    /// How much longer a read of a page of a backend for GC takes that holds its channel until `since` and has this course, if one sensing and
    /// transfer takes `whole`.
    pub(in crate::drive) fn time_of_attempts(
        &mut self,
        since: SimTime,
        (ftl, ppn): (u16, Ppn),
        sectors: u16,
        mut course: ReadAttempts,
        whole: Span,
        backends: &mut impl PageOwner<C>,
    ) -> Span {
        let mut time = Span::ZERO;
        while course.goes_on() {
            let begins = since + time + self.errors.decoding(course);
            time = (begins + whole).since(since);
            self.accounts.counters.count(ftl, OpKind::Read, Cause::Retry);
            self.tell(begins, begins + whole, ppn, OpKind::Read, Cause::Retry, sectors, None, backends);
            course.advance();
        }
        time + self.errors.decoding(course)
    }
}

impl Dies {
    /// Whether the data that leave a unit are of an attempt that fails.
    #[inline]
    pub(super) fn is_given_up<C>(&self, unit: UnitId, op: Id<DriveOp>, queues: &Queues<C>) -> bool {
        match op.is_some() {
            true => {
                let course = queues[op].course;
                course.goes_on() || course.discarded
            }
            false => self[unit].gc_course.goes_on(),
        }
    }
}
