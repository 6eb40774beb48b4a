//! Where the time of commands goes in a drive: what dies and channels do besides the host's work, and the waits and
//! phases of operations.
//!
//! A wait is divided when it ends: the operation waited for its die until that became free, then for its channel. A write
//! that several dies could take counts at the die that took it. A write of several pages counts the page that is
//! acknowledged last.

use super::program::PageWrite;
use super::{Drive, DriveOp, OpKind};
use crate::engine::{Breakdown, BusyHistory, Cause, Contents, Part};
use crate::flash::{BusUse, OpPhases, UnitId};
use crate::kernel::{Id, SimTime, Span};

/// The number of periods that a history keeps before it looks which ones are still needed.
const KEPT: usize = 4096;

/// The instants of the program of a write's page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PlacedPage {
    pub(super) granted: SimTime,
    /// Its command begins.
    pub(super) begun: SimTime,
    /// Its data are in the register.
    pub(super) sent: SimTime,
    pub(super) unit: UnitId,
    /// How long the array works.
    pub(super) array: Span,
    /// When its unit and its channel had become free.
    pub(super) freed: [SimTime; 2],
}

/// An operation that is measured.
#[derive(Clone, Copy, Debug, Default)]
struct OpTimes {
    /// When it came.
    since: SimTime,
    /// Its request was admitted after that: late, but served from its arrival on.
    late: bool,
    /// Of a write: its page that is acknowledged last, so far.
    placed: PlacedPage,
}

/// A read that is measured: when its page is in the register, and its parts so far.
#[derive(Clone, Copy, Debug, Default)]
struct ReadTimes {
    in_register: SimTime,
    parts: Breakdown,
}

/// Where the time of a drive's commands goes.
#[derive(Clone, Debug)]
pub(super) struct DriveLatencies {
    units: Vec<BusyHistory>,
    channels: Vec<BusyHistory>,
    ops: Vec<OpTimes>,
    reads: Vec<ReadTimes>,
    /// The breakdowns of the completions that the engine has not taken yet.
    pub(super) done: Vec<Breakdown>,
}

impl DriveLatencies {
    #[inline]
    fn op(&mut self, op: Id<DriveOp>) -> &mut OpTimes {
        if op.index() >= self.ops.len() {
            self.ops.resize(op.index() + 1, OpTimes::default());
        }
        &mut self.ops[op.index()]
    }

    #[inline]
    fn read(&mut self, op: Id<DriveOp>) -> &mut ReadTimes {
        if op.index() >= self.reads.len() {
            self.reads.resize(op.index() + 1, ReadTimes::default());
        }
        &mut self.reads[op.index()]
    }

    /// The page of a write that is acknowledged last so far.
    #[inline]
    pub(super) fn note_placed(&mut self, op: Id<DriveOp>, placed: PlacedPage) {
        self.op(op).placed = placed;
    }

    /// Divides a wait for a unit and its channel: until the unit was `freed`, then until the channel was. While both
    /// were free, it waited for what the unit began next if that was not work for the host; otherwise `rest` counts.
    #[inline]
    fn add_wait(
        [unit, channel]: [&BusyHistory; 2],
        (since, granted): (SimTime, SimTime),
        freed: [SimTime; 2],
        rest: Part,
        parts: &mut Breakdown,
    ) {
        if since >= granted {
            return;
        }
        let unit_freed = freed[0].clamp(since, granted);
        let channel_freed = freed[1].clamp(unit_freed, granted);
        unit.divide(since, unit_freed, Part::Die, parts);
        channel.divide(unit_freed, channel_freed, Part::Channel, parts);
        if channel_freed < granted {
            parts.add(unit.next(channel_freed).unwrap_or(rest), granted.since(channel_freed));
        }
    }

    #[inline]
    fn list(&mut self, parts: Breakdown) -> u32 {
        self.done.push(parts);
        self.done.len() as u32
    }
}

impl<C: Contents> Drive<C> {
    /// Measures where the time of commands goes, from now on.
    pub fn break_down(&mut self) {
        self.latencies = Some(Box::new(DriveLatencies {
            units: vec![BusyHistory::default(); self.dies.units.len()],
            channels: vec![BusyHistory::default(); self.dies.channels.len()],
            ops: Vec::new(),
            reads: Vec::new(),
            done: Vec::new(),
        }));
    }

    /// After a power cut all units and channels are busy with the recovery.
    pub(super) fn record_recovery(&mut self, now: SimTime, ready: SimTime) {
        let Some(latencies) = &mut self.latencies else { return };
        for history in latencies.units.iter_mut().chain(&mut latencies.channels) {
            history.record(now, ready, Part::Maintenance, true);
        }
    }

    // ---------------------------------------------------------------- histories

    #[inline(never)]
    pub(super) fn record_unit(&mut self, now: SimTime, unit: UnitId, until: SimTime, cause: Cause) {
        let (Some(latencies), Some(with)) = (&mut self.latencies, Part::of_other(cause)) else { return };
        let reads = self.dies.units[unit.0 as usize].reads.head.is_some();
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
        let since = |op: Id<DriveOp>| latencies.ops.get(op.index()).map(|times| times.since);
        let Some(oldest) = waiting.filter(|op| op.is_some()).filter_map(since).min() else { return };
        for history in latencies.units.iter_mut().chain(&mut latencies.channels) {
            history.forget_before(oldest);
        }
    }

    // ---------------------------------------------------------------- operations

    /// An operation has come.
    #[inline]
    pub(super) fn begin_latency(&mut self, op: Id<DriveOp>, now: SimTime) {
        if let Some(latencies) = &mut self.latencies {
            let late = self.admitted > now;
            let times = latencies.op(op);
            (times.since, times.late) = (now, late);
        }
    }

    /// The part for time in which an operation waited although its unit and its channel were free.
    fn other_wait(&self, writes: bool, late: bool) -> Part {
        if late {
            // The unit was granted to others before the request was admitted.
            Part::Queue
        } else if writes && self.packing.gathers_writes() {
            Part::Timer
        } else if self.dies.gangs.size > 1 || self.flash.bus == BusUse::Rounds {
            // The channel waits for the others of its gang, or the round before is not over.
            Part::Channel
        } else if writes && self.ftl.physical {
            // An erase comes first, which must wait.
            Part::Gc
        } else {
            Part::Die
        }
    }

    /// Reads that are linked to this one are granted.
    #[inline(never)]
    pub(super) fn end_waits_of_reads(
        &mut self,
        granted: SimTime,
        channel: usize,
        unit: UnitId,
        first: Id<DriveOp>,
    ) {
        let rests = [false, true].map(|late| self.other_wait(false, late));
        let freed = self.freed(channel, unit);
        let Some(latencies) = &mut self.latencies else { return };
        let mut op = first;
        while op.is_some() {
            let OpTimes { since, late, .. } = *latencies.op(op);
            let rest = rests[usize::from(late)];
            *latencies.read(op) = ReadTimes { in_register: granted, ..ReadTimes::default() };
            let DriveLatencies { units, channels, reads, .. } = &mut **latencies;
            let parts = &mut reads[op.index()].parts;
            let histories = [&units[unit.0 as usize], &channels[channel]];
            DriveLatencies::add_wait(histories, (since, granted), freed, rest, parts);
            op = self.queues.ops[op].next;
        }
    }

    /// When a unit and its channel have become free, if they have.
    #[inline]
    pub(super) fn freed(&self, channel: usize, unit: UnitId) -> [SimTime; 2] {
        [self.dies.free_at[unit.0 as usize], self.dies.channels[channel].free_at]
    }

    /// The last page of a write is about to be programmed by itself; all of its pages take as long.
    #[inline]
    pub(super) fn note_last_page(&mut self, now: SimTime, channel: usize, unit: UnitId, page: &PageWrite) {
        if self.latencies.is_none() {
            return;
        }
        let freed = self.freed(channel, unit);
        let phases = self.flash.timing.cost_of(&self.flash.geometry, OpKind::Program, page.target);
        let (sent, array) = (now + phases.sent(), phases.array());
        if let Some(latencies) = &mut self.latencies {
            let placed = PlacedPage { granted: now, begun: now, sent, unit, array, freed };
            latencies.note_placed(page.op, placed);
        }
    }

    /// A unit senses a page, for reads that have just been granted, or for GC, and then keeps it for the channel.
    #[inline]
    pub(super) fn record_sensing(
        &mut self,
        now: SimTime,
        unit: UnitId,
        in_register: SimTime,
        phases: &OpPhases,
        cause: Cause,
    ) {
        if cause != Cause::Host {
            self.record_unit(now, unit, SimTime::NEVER, cause);
        }
        let Some(latencies) = &mut self.latencies else { return };
        if cause == Cause::Host {
            // A read of GC may have ended with its plane.
            latencies.units[unit.0 as usize].end(now);
        }
        let mut op = self.dies.units[unit.0 as usize].current;
        while op.is_some() {
            let read = latencies.read(op);
            read.in_register = in_register;
            read.parts.add(Part::Transfer, phases.sent());
            read.parts.add(Part::Array, phases.array());
            op = self.queues.ops[op].next;
        }
    }

    /// Why a unit's page crosses the channel; asked only if that is measured.
    #[inline]
    pub(super) fn cause_of_transfer(&self, unit: UnitId, op: Id<DriveOp>) -> Cause {
        if op.is_some() || self.latencies.is_none() {
            return self.queues.ops[op].command.cause;
        }
        self.dies.units[unit.0 as usize].collects.map_or(Cause::Gc, |plane| self.moves_because(plane))
    }

    /// Where the time of a read goes whose data cross the channel from now on.
    #[inline]
    pub(super) fn breakdown_of_read(
        &mut self,
        now: SimTime,
        channel: usize,
        op: Id<DriveOp>,
        transfer: Span,
    ) -> u32 {
        let Some(latencies) = self.latencies.as_mut().filter(|_| op.is_some()) else { return 0 };
        let ReadTimes { in_register, mut parts } = *latencies.read(op);
        latencies.channels[channel].divide(in_register, now, Part::Channel, &mut parts);
        parts.add(Part::Transfer, transfer);
        latencies.list(parts)
    }

    /// Where the time of a read in a round goes, which ends at `end`. It waits for the transfers of others.
    pub(super) fn breakdown_of_read_in_round(
        &mut self,
        op: Id<DriveOp>,
        end: SimTime,
        phases: &OpPhases,
        transfer: Span,
    ) -> u32 {
        let Some(latencies) = &mut self.latencies else { return 0 };
        let mut parts = latencies.read(op).parts;
        parts.add(Part::Transfer, phases.command + transfer);
        parts.add(Part::Array, phases.array());
        parts.fit(end.since(latencies.op(op).since), Part::Channel);
        latencies.list(parts)
    }

    /// Where the time of a read goes that memory serves, if its request was admitted late.
    #[inline]
    pub(super) fn breakdown_of_late_read(&mut self, now: SimTime) -> u32 {
        let (late, memory) = (self.admitted.since(now), self.flash.timing.memory);
        match &mut self.latencies {
            Some(latencies) if late > Span::ZERO => {
                let mut parts = Breakdown::of(Part::Queue, late);
                parts.add(Part::Cache, memory);
                latencies.list(parts)
            }
            _ => 0,
        }
    }

    /// Where the time of a write goes whose pages all have their places. The map then notes them, which takes `noted`.
    #[inline]
    pub(super) fn breakdown_of_write(&mut self, op: Id<DriveOp>, noted: Span) -> u32 {
        if self.latencies.is_none() {
            return 0;
        }
        let rests = [false, true].map(|late| self.other_wait(true, late));
        let acknowledged = self.queues.ops[op].acknowledged;
        let cached = self.flash.commands.cache_program;
        let Some(latencies) = &mut self.latencies else { return 0 };
        let OpTimes { since, late, placed } = *latencies.op(op);
        let rest = rests[usize::from(late)];
        // Pages that have been withdrawn leave nothing to measure.
        let placed = if acknowledged == SimTime::ZERO { PlacedPage::default() } else { placed };
        let PlacedPage { granted, begun, sent, unit, array, freed } = placed;
        let channel = self.dies.units[unit.0 as usize].channel as usize;
        let mut parts = Breakdown::default();
        let histories = [&latencies.units[unit.0 as usize], &latencies.channels[channel]];
        DriveLatencies::add_wait(histories, (since, granted), freed, rest, &mut parts);
        // In a round it waits for the transfers of others.
        parts.add(Part::Channel, begun.since(granted));
        parts.add(Part::Transfer, sent.since(begun));
        if acknowledged > sent {
            parts.add(Part::Array, array);
            // Until the data of the other planes are there, or the program before is over.
            let rest = acknowledged.since(sent).beyond(array);
            parts.add(if cached { Part::Die } else { Part::Transfer }, rest);
        }
        parts.fit(acknowledged.since(since), Part::Die);
        parts.add(Part::Cache, noted);
        latencies.list(parts)
    }

    /// Where the time of the erases of a trim goes, of which the longest takes `erase`.
    pub(super) fn breakdown_of_erases(&mut self, op: Id<DriveOp>, end: SimTime, erase: Span) -> u32 {
        let Some(latencies) = &mut self.latencies else { return 0 };
        let mut parts = Breakdown::of(Part::Array, erase);
        parts.fit(end.since(latencies.op(op).since), Part::Die);
        latencies.list(parts)
    }

    /// Where the time of a write goes that found no place.
    pub(super) fn breakdown_of_unplaced(&mut self, now: SimTime, op: Id<DriveOp>) -> u32 {
        let Some(latencies) = &mut self.latencies else { return 0 };
        let wait = now.since(latencies.op(op).since);
        latencies.list(Breakdown::of(Part::Die, wait))
    }
}
