//! Where the time of commands goes in a drive: what dies and channels do besides the host's work, and the waits and
//! phases of operations.
//!
//! A wait is divided when it ends: the operation waited for its die until that became free, then for its channel. A write
//! that several dies could take counts at the die that took it. A write of several pages counts the page that is
//! acknowledged last.

use super::program::PageTimes;
use super::queue::DriveOp;
use super::{Controller, DriveLatencies};
use crate::drive::backends::DriveBackends;
use crate::engine::{Breakdown, BusyHistory, Cause, Contents, FlashTimes, Part, TimeSpent};
use crate::flash::{Acknowledge, BusUse, OpPhases, UnitId};
use crate::kernel::{Id, SimTime, Span, reach};

/// The number of periods that a history keeps before it looks which ones are still needed.
const KEPT: usize = 64;

/// The program of a write's page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PlacedPage {
    pub granted: SimTime,
    pub unit: UnitId,
    /// When its unit and its channel had become free.
    pub freed: [SimTime; 2],
    /// Its own phases until it is acknowledged.
    pub own: FlashTimes,
    /// How long the array works.
    pub array: Span,
}

impl PlacedPage {
    /// A page of these times in a unit, which is acknowledged at `end`; time in which the unit was suspended is left out.
    #[inline(always)]
    pub(super) fn new(times: &PageTimes, unit: UnitId, end: SimTime, cached: bool) -> Self {
        let PageTimes { granted, begun, sent, array, freed, .. } = *times;
        // In a round it waits for the transfers of others.
        let mut own = FlashTimes {
            channel: begun.since(granted),
            transfer: sent.since(begun),
            ..FlashTimes::default()
        };
        if end > sent {
            own.array = array;
            // Until the data of the other planes are there, or the program before is over.
            let rest = end.since(sent).beyond(array);
            *if cached { &mut own.die } else { &mut own.transfer } += rest;
        }
        PlacedPage { granted, unit, freed, own, array }
    }
}

/// A read that is measured: when its page is in the register, and its parts so far.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::drive) struct ReadTimes {
    pub in_register: SimTime,
    pub so_far: FlashTimes,
    /// Whether its wait is in the list of waits.
    pub waits_listed: bool,
}

impl DriveLatencies {
    #[inline]
    fn read(&mut self, op: Id<DriveOp>) -> &mut ReadTimes {
        reach(&mut self.reads, op.index())
    }

    /// A unit stops what it was doing besides the host's work.
    pub(super) fn end_work(&mut self, unit: UnitId, now: SimTime) {
        self.units[unit.0 as usize].end(now);
    }

    /// The page of a read is in the register later, and waits for its unit for a part of that.
    pub(super) fn delay_read(&mut self, op: Id<DriveOp>, by: Span, waits: Span) {
        let read = self.read(op);
        read.in_register = read.in_register + by;
        read.so_far.die += waits;
    }

    /// A page has been sensed, for the first time or `again`, and is sensed once more, for `span`.
    pub(super) fn go_on_sensing(&mut self, op: Id<DriveOp>, span: Span, again: bool) {
        let read = self.read(op);
        read.in_register = read.in_register + span;
        let sensed = std::mem::replace(&mut read.so_far.array, span);
        self.earlier(op).add(if again { Part::Retry } else { Part::Array }, sensed);
    }

    /// Attempts of a read before the one under way.
    pub(super) fn earlier(&mut self, op: Id<DriveOp>) -> &mut Breakdown {
        reach(&mut self.earlier, op.index())
    }

    /// Where the time of a read goes, from when it came, or came again, until its data have left. It was sensed `again` if
    /// earlier attempts have failed.
    fn parts_of_attempt(
        &mut self,
        now: SimTime,
        channel: usize,
        op: Id<DriveOp>,
        transfer: Span,
        again: bool,
    ) -> Breakdown {
        let ReadTimes { in_register, mut so_far, waits_listed } = *self.read(op);
        so_far.transfer += transfer;
        let mut parts = Breakdown::default();
        if again {
            parts.add(Part::Retry, std::mem::take(&mut so_far.array));
        }
        parts = parts.plus(&so_far.breakdown());
        if waits_listed {
            parts = parts.plus(&self.waits[op.index()]);
        }
        self.channels[channel].divide(in_register, now, Part::Channel, &mut parts);
        parts
    }

    /// The page of a write that is acknowledged last so far.
    #[inline]
    pub(super) fn note_placed(&mut self, op: Id<DriveOp>, placed: PlacedPage) {
        *reach(&mut self.placed, op.index()) = placed;
    }

    /// Divides a wait for a unit and its channel: until the unit was `freed`, then until the channel was. While both
    /// were free, it waited for what the unit began next if that was not work for the host; otherwise `rest` counts.
    #[inline]
    pub(super) fn add_wait(
        &self,
        unit: UnitId,
        channel: usize,
        (since, granted): (SimTime, SimTime),
        freed: [SimTime; 2],
        rest: Part,
        parts: &mut Breakdown,
    ) {
        if since >= granted {
            return;
        }
        let (unit, channel) = (&self.units[unit.0 as usize], &self.channels[channel]);
        let unit_freed = freed[0].clamp(since, granted);
        let channel_freed = freed[1].clamp(unit_freed, granted);
        unit.divide(since, unit_freed, Part::Die, parts);
        channel.divide(unit_freed, channel_freed, Part::Channel, parts);
        if channel_freed < granted {
            parts.add(unit.next(channel_freed).unwrap_or(rest), granted.since(channel_freed));
        }
    }

    /// A wait for a unit and its channel, if they did no other work meanwhile than the host's and GC.
    #[inline(always)]
    fn short_wait(
        &self,
        unit: UnitId,
        channel: usize,
        (since, granted): (SimTime, SimTime),
        freed: [SimTime; 2],
    ) -> Option<FlashTimes> {
        let unit_freed = freed[0].clamp(since, granted);
        if freed[1].max(unit_freed) < granted {
            return None;
        }
        let (unit, channel) = (&self.units[unit.0 as usize], &self.channels[channel]);
        let mut wait = FlashTimes {
            die: unit_freed.since(since),
            channel: granted.since(unit_freed),
            ..FlashTimes::default()
        };
        if !unit.is_quiet_after(since) || !channel.is_quiet_after(unit_freed) {
            let [for_unit, for_channel] =
                [unit.gc_between(since, unit_freed)?, channel.gc_between(unit_freed, granted)?];
            wait.die = wait.die - for_unit;
            wait.channel = wait.channel - for_channel;
            wait.gc = for_unit + for_channel;
        }
        Some(wait)
    }

    /// The parts of an attempt of a read in a round that ends at `end`.
    fn parts_in_round(
        &mut self,
        read: &DriveOp,
        op: Id<DriveOp>,
        end: SimTime,
        phases: &OpPhases,
        transfer: Span,
    ) -> Breakdown {
        let ReadTimes { so_far, waits_listed, .. } = *self.read(op);
        let mut parts = so_far.breakdown();
        if waits_listed {
            parts = parts.plus(&self.waits[op.index()]);
        }
        parts.add(Part::Transfer, phases.command + transfer);
        parts.add(if read.course.again { Part::Retry } else { Part::Array }, phases.array());
        parts.fit(end.since(read.since), Part::Channel);
        parts
    }

    pub(super) fn list(&mut self, parts: Breakdown) -> TimeSpent {
        TimeSpent::list(&mut self.done, parts)
    }
}

impl<C: Contents> Controller<C> {
    /// Measures where the time of commands goes, from now on.
    pub(in crate::drive) fn break_down(&mut self) {
        self.latencies = Some(Box::new(DriveLatencies {
            units: vec![BusyHistory::default(); self.dies.unit_count()],
            channels: vec![BusyHistory::default(); self.dies.channels.len()],
            placed: Vec::new(),
            reads: Vec::new(),
            waits: Vec::new(),
            earlier: Vec::new(),
            open: Vec::new(),
            done: Vec::new(),
        }));
    }

    /// After a power cut all units and channels are busy with the recovery.
    pub(in crate::drive) fn record_recovery(&mut self, now: SimTime, ready: SimTime) {
        let Some(latencies) = &mut self.latencies else { return };
        for history in latencies.units.iter_mut().chain(&mut latencies.channels) {
            history.record(now, ready, Part::Maintenance, true);
        }
    }

    // ---------------------------------------------------------------- histories

    #[inline(never)]
    pub(super) fn record_unit(&mut self, now: SimTime, unit: UnitId, until: SimTime, cause: Cause) {
        let (Some(latencies), Some(with)) = (&mut self.latencies, Part::of_other(cause)) else { return };
        let reads = self.dies[unit].reads.head.is_some();
        let awaited = reads || self.queues.waiting > 0 || !self.queues.behind.is_empty();
        let history = &mut latencies.units[unit.0 as usize];
        history.record(now, until, with, awaited);
        if history.kept() >= KEPT && history.kept().is_multiple_of(KEPT) {
            self.forget_history();
        }
    }

    #[inline(never)]
    pub(super) fn record_channel(&mut self, now: SimTime, channel: usize, until: SimTime, cause: Cause) {
        let (Some(latencies), Some(with)) = (&mut self.latencies, Part::of_other(cause)) else { return };
        let state = &self.dies.channels[channel];
        let awaited = state.waiting | state.ready != 0 || self.queues.waiting > 0;
        let history = &mut latencies.channels[channel];
        history.record(now, until, with, awaited);
        if history.kept() >= KEPT && history.kept().is_multiple_of(KEPT) {
            self.forget_history();
        }
    }

    /// Forgets what all waiting operations came after.
    #[cold]
    fn forget_history(&mut self) {
        let Some(latencies) = &mut self.latencies else { return };
        let writes = self.queues.write_queues.iter().map(|queue| queue.head);
        let reads = self.dies.units.iter().map(|unit| unit.reads.head);
        let waiting = writes.chain(reads).chain(self.queues.behind.iter().map(|behind| behind.read));
        let waiting = waiting.filter(|op| op.is_some());
        let Some(oldest) = waiting.map(|op| self.queues[op].since).min() else { return };
        for history in latencies.units.iter_mut().chain(&mut latencies.channels) {
            history.forget_before(oldest);
        }
    }

    // ---------------------------------------------------------------- operations

    /// The part for time in which an operation waited although its unit and its channel were free.
    pub(super) fn other_wait(&self, writes: bool, late: bool, backends: &DriveBackends<C>) -> Part {
        if late {
            // The unit was granted to others before the request was admitted.
            Part::Queue
        } else if writes && backends.packing.gathers_writes() {
            Part::Timer
        } else if self.dies.gangs.size > 1 || self.flash.bus == BusUse::Rounds {
            // The channel waits for the others of its gang, or the round before is not over.
            Part::Channel
        } else if writes && backends.ftl.is_physical() {
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
        backends: &DriveBackends<C>,
    ) {
        let mut op = first;
        while op.is_some() {
            op = self.begin_read(granted, channel, unit, op, phases, backends);
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
        backends: &DriveBackends<C>,
    ) -> Id<DriveOp> {
        let DriveOp { since, next, .. } = self.queues[op];
        let wait = self.short_wait_of_read(channel, unit, (since, granted));
        let waited = wait.unwrap_or_default();
        let Some(latencies) = &mut self.latencies else { return next };
        *latencies.read(op) = ReadTimes {
            in_register: granted + phases.busy(),
            so_far: FlashTimes { array: phases.array(), transfer: phases.sent(), ..waited },
            waits_listed: wait.is_none(),
        };
        if self.errors.is_some() && !self.queues[op].course.again {
            *latencies.earlier(op) = Breakdown::default();
        }
        if wait.is_none() {
            self.note_other_wait(granted, channel, unit, op, backends);
        }
        next
    }

    /// The wait of a read that is granted, if it waited for no other work than the host's and GC.
    #[inline(always)]
    fn short_wait_of_read(
        &self,
        channel: usize,
        unit: UnitId,
        (since, granted): (SimTime, SimTime),
    ) -> Option<FlashTimes> {
        if since >= granted {
            return Some(FlashTimes::default());
        }
        let freed = self.freed_for_read(channel, unit);
        self.latencies.as_ref()?.short_wait(unit, channel, (since, granted), freed)
    }

    /// A read that is granted has waited for other work than the host's and GC.
    #[inline(never)]
    fn note_other_wait(
        &mut self,
        granted: SimTime,
        channel: usize,
        unit: UnitId,
        op: Id<DriveOp>,
        backends: &DriveBackends<C>,
    ) {
        let DriveOp { since, late, .. } = self.queues[op];
        let (mut parts, rest) = (Breakdown::default(), self.other_wait(false, late, backends));
        let freed = self.freed_for_read(channel, unit);
        let Some(latencies) = &mut self.latencies else { return };
        latencies.add_wait(unit, channel, (since, granted), freed, rest, &mut parts);
        *reach(&mut latencies.waits, op.index()) = parts;
    }

    /// The same for a read, which a suspended unit takes.
    #[inline(always)]
    fn freed_for_read(&self, channel: usize, unit: UnitId) -> [SimTime; 2] {
        let [unit_freed, channel_freed] = self.dies.freed(channel, unit);
        [self.free_for_reads(unit).unwrap_or(unit_freed), channel_freed]
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
        backends: &DriveBackends<C>,
    ) {
        let (channel, first) = (self.dies.channel_of(unit), self.dies[unit].current);
        if first.is_some() {
            // Seldom are others linked to it.
            let next = self.begin_read(now, channel, unit, first, phases, backends);
            if next.is_some() {
                self.begin_reads(now, channel, unit, next, phases, backends);
            }
        }
        if lead > Span::ZERO {
            self.note_lead(now, unit, lead);
        }
        if cause != Cause::Host {
            self.record_unit(now, unit, SimTime::NEVER, cause);
        } else if let Some(latencies) = &mut self.latencies {
            // A read of GC may have ended with its plane.
            latencies.units[unit.0 as usize].end(now);
        }
    }

    /// Why a unit's page crosses the channel; asked only if that is measured.
    #[inline]
    pub(super) fn cause_of_transfer(
        &self,
        unit: UnitId,
        op: Id<DriveOp>,
        backends: &DriveBackends<C>,
    ) -> Cause {
        if op.is_some() || (self.latencies.is_none() && !backends.slc.is_active()) {
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
        if !op.is_some() || self.latencies.is_none() {
            return TimeSpent::Memory;
        }
        if self.errors.is_some() {
            return self.breakdown_of_decoded(now, channel, op, transfer);
        }
        let Some(latencies) = &mut self.latencies else { return TimeSpent::Memory };
        let DriveLatencies { channels, reads, waits, done, .. } = &mut **latencies;
        let ReadTimes { in_register, mut so_far, waits_listed } = reads[op.index()];
        so_far.transfer += transfer;
        let for_gc = channels[channel].gc_between(in_register, now);
        if let (false, Some(for_gc)) = (waits_listed, for_gc) {
            so_far.channel += now.since(in_register) - for_gc;
            so_far.gc += for_gc;
            return TimeSpent::Flash(so_far);
        }
        let mut parts = so_far.breakdown();
        if waits_listed {
            parts = parts.plus(&waits[op.index()]);
        }
        channels[channel].divide(in_register, now, Part::Channel, &mut parts);
        TimeSpent::list(done, parts)
    }

    /// The same of a read whose data are then decoded.
    #[inline(never)]
    fn breakdown_of_decoded(
        &mut self,
        now: SimTime,
        channel: usize,
        op: Id<DriveOp>,
        transfer: Span,
    ) -> TimeSpent {
        let course = self.queues[op].course;
        let decoding = self.decoding(course);
        let Some(latencies) = &mut self.latencies else { return TimeSpent::Memory };
        let mut parts = latencies.parts_of_attempt(now, channel, op, transfer, course.again);
        parts = parts.plus(latencies.earlier(op));
        parts.add(Part::Compute, decoding);
        latencies.list(parts)
    }

    /// Keeps where the time of a read went whose data cross the channel from now on and are decoded in vain.
    pub(super) fn keep_attempt(&mut self, now: SimTime, channel: usize, op: Id<DriveOp>, transfer: Span) {
        let course = self.queues[op].course;
        let decoding = self.decoding(course);
        let Some(latencies) = &mut self.latencies else { return };
        let mut parts = latencies.parts_of_attempt(now, channel, op, transfer, course.again);
        parts.add(Part::Compute, decoding);
        *latencies.earlier(op) = latencies.earlier(op).plus(&parts);
    }

    /// Where the time of a read in a round goes, which ends at `end`. It waits for the transfers of others.
    pub(super) fn breakdown_of_read_in_round(
        &mut self,
        op: Id<DriveOp>,
        end: SimTime,
        phases: &OpPhases,
        transfer: Span,
    ) -> TimeSpent {
        let decoding = self.decoding_in_rounds(op);
        let Some(latencies) = &mut self.latencies else { return TimeSpent::Memory };
        let mut parts = latencies.parts_in_round(&self.queues[op], op, end, phases, transfer);
        if self.errors.is_some() {
            parts = parts.plus(latencies.earlier(op));
            parts.add(Part::Compute, decoding);
        }
        latencies.list(parts)
    }

    /// Keeps where the time of a read in a round went whose data are decoded in vain.
    pub(super) fn keep_attempt_in_round(
        &mut self,
        op: Id<DriveOp>,
        end: SimTime,
        phases: &OpPhases,
        transfer: Span,
    ) {
        let Some(latencies) = &mut self.latencies else { return };
        let parts = latencies.parts_in_round(&self.queues[op], op, end, phases, transfer);
        *latencies.earlier(op) = latencies.earlier(op).plus(&parts);
    }

    /// Where the time of a read goes that memory serves, if its request was admitted late.
    #[inline]
    pub(super) fn breakdown_of_late_read(&mut self, now: SimTime) -> TimeSpent {
        let (late, memory) = (self.admitted.since(now), self.flash.timing.memory);
        match &mut self.latencies {
            Some(latencies) if late > Span::ZERO => {
                let mut parts = Breakdown::of(Part::Queue, late);
                parts.add(Part::Cache, memory);
                latencies.list(parts)
            }
            _ => TimeSpent::Memory,
        }
    }

    /// Where the time of a write goes whose pages all have their places. The map then notes them, which takes `noted`.
    #[inline(always)]
    pub(in crate::drive) fn breakdown_of_write(
        &mut self,
        op: Id<DriveOp>,
        noted: Span,
        backends: &DriveBackends<C>,
    ) -> TimeSpent {
        let Some(latencies) = &self.latencies else { return TimeSpent::Memory };
        if self.suspension.is_some() && self.flash.acknowledge == Acknowledge::Program {
            return self.breakdown_of_settled(op, noted);
        }
        let DriveOp { since, acknowledged, .. } = self.queues[op];
        // Pages that have been withdrawn leave nothing to measure.
        let placed = latencies.placed.get(op.index()).filter(|_| acknowledged != SimTime::ZERO);
        let Some(&PlacedPage { granted, unit, freed, mut own, .. }) = placed else {
            return self.breakdown_of_other_write(op, None, noted, backends);
        };
        if since < granted {
            let channel = self.dies[unit].channel as usize;
            let Some(wait) = latencies.short_wait(unit, channel, (since, granted), freed) else {
                return self.breakdown_of_other_write(op, placed.copied(), noted, backends);
            };
            own.add(&wait);
        }
        if noted == Span::ZERO && own.total() == acknowledged.since(since) {
            return TimeSpent::Flash(own);
        }
        self.breakdown_of_other_write(op, placed.copied(), noted, backends)
    }

    /// The same of a write that waited for other work than the host's and GC.
    #[inline(never)]
    fn breakdown_of_other_write(
        &mut self,
        op: Id<DriveOp>,
        placed: Option<PlacedPage>,
        noted: Span,
        backends: &DriveBackends<C>,
    ) -> TimeSpent {
        let DriveOp { since, acknowledged, .. } = self.queues[op];
        let mut parts = Breakdown::default();
        if let Some(PlacedPage { granted, unit, freed, own, .. }) = placed {
            parts = own.breakdown().plus(&self.wait_of_page(op, granted, unit, freed, backends));
        }
        let Some(latencies) = &mut self.latencies else { return TimeSpent::Memory };
        parts.fit(acknowledged.since(since), Part::Die);
        parts.add(Part::Cache, noted);
        latencies.list(parts)
    }

    /// Where the time of the erases of a trim goes, of which the longest takes `erase`.
    pub(super) fn breakdown_of_erases(&mut self, op: Id<DriveOp>, end: SimTime, erase: Span) -> TimeSpent {
        let Some(latencies) = &mut self.latencies else { return TimeSpent::Memory };
        let mut parts = Breakdown::of(Part::Array, erase);
        parts.fit(end.since(self.queues[op].since), Part::Die);
        latencies.list(parts)
    }

    /// Where the time of a write goes that found no place.
    pub(super) fn breakdown_of_unplaced(&mut self, now: SimTime, op: Id<DriveOp>) -> TimeSpent {
        let Some(latencies) = &mut self.latencies else { return TimeSpent::Memory };
        latencies.list(Breakdown::of(Part::Die, now.since(self.queues[op].since)))
    }
}
