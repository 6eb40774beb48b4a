//! Where the time of commands goes in a drive ([`super::probe`]): what the controller knows of their waits.

use super::probe::{PlacedPage, Worker};
use super::queue::DriveOp;
use super::{Controller, PageOwner};
use crate::engine::{Breakdown, Cause, Contents, Part, TimeSpent};
use crate::flash::{Acknowledge, BusUse, OpPhases, UnitId};
use crate::kernel::{Id, SimTime, Span};

impl<C: Contents> Controller<C> {
    // ---------------------------------------------------------------- histories

    /// A unit works until then, which is recorded if that is not for the host.
    #[inline(always)]
    pub(super) fn record_unit(&mut self, now: SimTime, unit: UnitId, until: SimTime, cause: Cause) {
        if cause != Cause::Host && self.probe.is_on() {
            self.record_other(Worker::Unit(unit), now, until, cause);
        }
    }

    /// The same of a channel.
    #[inline(always)]
    pub(super) fn record_channel(&mut self, now: SimTime, channel: usize, until: SimTime, cause: Cause) {
        if cause != Cause::Host && self.probe.is_on() {
            self.record_other(Worker::Channel(channel), now, until, cause);
        }
    }

    #[inline(never)]
    fn record_other(&mut self, worker: Worker, now: SimTime, until: SimTime, cause: Cause) {
        let Some(with) = Part::of_other(cause) else { return };
        let awaited = self.queues.waiting > 0
            || match worker {
                Worker::Unit(unit) => self.dies[unit].reads.head.is_some() || !self.queues.behind.is_empty(),
                Worker::Channel(channel) => {
                    self.dies.channels[channel].waiting | self.dies.channels[channel].ready != 0
                }
            };
        if self.probe.record(worker, (now, until), with, awaited) {
            self.forget_history();
        }
    }

    /// Forgets what all waiting operations came after.
    #[cold]
    fn forget_history(&mut self) {
        let writes = self.queues.write_queues.iter().map(|queue| queue.head);
        let reads = self.dies.units.iter().map(|unit| unit.reads.head);
        let waiting = writes.chain(reads).chain(self.queues.behind.iter().map(|behind| behind.read));
        let waiting = waiting.filter(|op| op.is_some());
        let Some(oldest) = waiting.map(|op| self.queues[op].since).min() else { return };
        self.probe.forget_before(oldest);
    }

    // ---------------------------------------------------------------- operations

    /// The part for time in which an operation waited although its unit and its channel were free.
    pub(super) fn other_wait(&self, writes: bool, late: bool) -> Part {
        if late {
            // The unit was granted to others before the request was admitted.
            Part::Queue
        } else if writes && self.rules.gathers_writes {
            Part::Timer
        } else if self.dies.gangs.size > 1 || self.flash.bus == BusUse::Rounds {
            // The channel waits for the others of its gang, or the round before is not over.
            Part::Channel
        } else if writes && self.rules.physical {
            // An erase comes first, which must wait.
            Part::Gc
        } else {
            Part::Die
        }
    }

    /// Reads that are linked to this one are granted; their pages will be in the register after these phases.
    #[inline(never)]
    pub(super) fn begin_reads(
        &mut self,
        granted: SimTime,
        channel: usize,
        unit: UnitId,
        first: Id<DriveOp>,
        phases: &OpPhases,
    ) {
        let mut op = first;
        while op.is_some() {
            op = self.begin_read(granted, channel, unit, op, phases);
        }
    }

    /// One of them is granted; the next one.
    #[inline(always)]
    fn begin_read(
        &mut self,
        granted: SimTime,
        channel: usize,
        unit: UnitId,
        op: Id<DriveOp>,
        phases: &OpPhases,
    ) -> Id<DriveOp> {
        let DriveOp { since, late, next, course, .. } = self.queues[op];
        let (at, waited) = ((unit, channel), (since, granted));
        let mut freed = [granted; 2];
        if since < granted {
            freed = self.dies.freed(channel, unit);
            // A suspended unit takes reads.
            freed[0] = self.open.free_for_reads(unit).unwrap_or(freed[0]);
        }
        let new = self.errors.may_occur() && !course.again;
        if !self.probe.begin_read(op, at, waited, freed, phases, new) {
            let rest = self.other_wait(false, late);
            self.probe.list_wait(op, self.probe.wait(at, waited, freed, rest));
        }
        next
    }

    /// A unit senses a page after `lead`, for reads that have just been granted, or for GC, and then keeps it for the
    /// channel.
    #[inline(always)]
    pub(super) fn record_sensing(
        &mut self,
        now: SimTime,
        unit: UnitId,
        phases: &OpPhases,
        lead: Span,
        cause: Cause,
    ) {
        let (channel, first) = (self.dies.channel_of(unit), self.dies[unit].current);
        if first.is_some() {
            // Seldom are others linked to it.
            let next = self.begin_read(now, channel, unit, first, phases);
            if next.is_some() {
                self.begin_reads(now, channel, unit, next, phases);
            }
        }
        if lead > Span::ZERO {
            self.note_lead(now, unit, lead);
        }
        if cause != Cause::Host {
            self.record_unit(now, unit, SimTime::NEVER, cause);
        } else {
            // A read of GC may have ended with its plane.
            self.probe.end_work(unit, now);
        }
    }

    /// Why a unit's page crosses the channel; asked only if that is measured.
    #[inline]
    pub(super) fn cause_of_transfer(
        &self,
        unit: UnitId,
        op: Id<DriveOp>,
        backends: &impl PageOwner<C>,
    ) -> Cause {
        if op.is_some() || (!self.probe.is_on() && self.flash.geometry.slc.blocks == 0) {
            return self.queues[op].command.cause;
        }
        self.dies[unit].collects.map_or(Cause::Gc, |plane| backends.moves_because(plane))
    }

    /// Where the time of a read goes whose data cross the channel from now on.
    #[inline(always)]
    pub(super) fn breakdown_of_read(
        &mut self,
        now: SimTime,
        channel: usize,
        op: Id<DriveOp>,
        transfer: Span,
    ) -> TimeSpent {
        if !op.is_some() || !self.probe.is_on() {
            return TimeSpent::Memory;
        }
        if self.errors.may_occur() {
            let course = self.queues[op].course;
            let decoding = self.errors.decoding(course);
            return self.probe.decoded_read(now, channel, (op, course.again), transfer, decoding);
        }
        self.probe.read(now, channel, op, transfer)
    }

    /// Where the time of a write goes whose pages all have their places. The map then notes them, which takes `noted`.
    #[inline(always)]
    pub(in crate::drive) fn breakdown_of_write(&mut self, op: Id<DriveOp>, noted: Span) -> TimeSpent {
        if !self.probe.is_on() {
            return TimeSpent::Memory;
        }
        let DriveOp { since, acknowledged, .. } = self.queues[op];
        // Pages that have been withdrawn leave nothing to measure.
        let withdrawn = acknowledged == SimTime::ZERO;
        if self.open.may_exist() && self.flash.acknowledge == Acknowledge::Program {
            return self.probe.settled_write(op, acknowledged.since(since), noted, withdrawn);
        }
        let placed = self.probe.placed(op).filter(|_| !withdrawn);
        if let Some(page) = placed.filter(|_| noted == Span::ZERO) {
            let channel = self.dies[page.unit].channel as usize;
            if let Some(spent) = self.probe.short_write(&page, channel, (since, acknowledged)) {
                return spent;
            }
        }
        self.breakdown_of_other_write(op, placed, noted)
    }

    /// The same of a write that waited for other work than the host's and GC.
    #[inline(never)]
    fn breakdown_of_other_write(
        &mut self,
        op: Id<DriveOp>,
        placed: Option<PlacedPage>,
        noted: Span,
    ) -> TimeSpent {
        let DriveOp { since, acknowledged, .. } = self.queues[op];
        let mut parts = Breakdown::default();
        if let Some(PlacedPage { granted, unit, freed, own, .. }) = placed {
            parts = own.breakdown().plus(&self.wait_of_page(op, granted, unit, freed));
        }
        parts.fit(acknowledged.since(since), Part::Die);
        parts.add(Part::Cache, noted);
        self.probe.list(|| parts)
    }

    /// The reads that a unit begins wait for it until it can sense.
    fn note_lead(&mut self, granted: SimTime, unit: UnitId, lead: Span) {
        let mut op = self.dies[unit].current;
        while op.is_some() {
            // A read that comes again comes when its data have been decoded.
            let waits = (granted + lead).since(granted.max(self.queues[op].since));
            self.probe.delay_read(op, lead, waits);
            op = self.queues[op].next;
        }
    }

    /// The wait of a page of a write for its unit and its channel, which have been granted; none if it is not measured.
    pub(super) fn wait_of_page(
        &self,
        op: Id<DriveOp>,
        granted: SimTime,
        unit: UnitId,
        freed: [SimTime; 2],
    ) -> Breakdown {
        let DriveOp { since, late, .. } = self.queues[op];
        let at = (unit, self.dies[unit].channel as usize);
        self.probe.wait(at, (since, granted), freed, self.other_wait(true, late))
    }
}
