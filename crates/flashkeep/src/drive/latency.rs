//! Where the time of commands goes in a drive: what dies and channels do besides the host's work, and the waits and
//! phases of operations.
//!
//! A wait is divided when it ends: the operation waited for its die until that became free, then for its channel. A write
//! that several dies could take counts at the die that took it. A write of several pages counts the page that is
//! acknowledged last.

use super::program::PageWrite;
use super::{Drive, DriveOp, OpKind};
use crate::engine::{Breakdown, BusyHistory, Cause, Contents, FlashTimes, Part, TimeSpent};
use crate::flash::{Acknowledge, BusUse, OpPhases, UnitId};
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

impl PlacedPage {
    /// Its own phases until its array has worked, at `end`; time in which the unit was suspended is left out.
    #[inline]
    pub(super) fn phases(&self, end: SimTime, cached: bool) -> FlashTimes {
        let PlacedPage { granted, begun, sent, array, .. } = *self;
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
        own
    }
}

/// A read that is measured: when its page is in the register, and its parts so far.
#[derive(Clone, Copy, Debug, Default)]
struct ReadTimes {
    in_register: SimTime,
    so_far: FlashTimes,
    /// What it waited for besides.
    others: Option<Breakdown>,
}

/// Where the time of a drive's commands goes.
#[derive(Clone, Debug)]
pub(super) struct DriveLatencies {
    units: Vec<BusyHistory>,
    channels: Vec<BusyHistory>,
    /// Of each write that is under way, its page that is acknowledged last, so far.
    pub(super) placed: Vec<PlacedPage>,
    reads: Vec<ReadTimes>,
    /// Where operations are suspended, of each write: what its page waited for that was over last, and how long that was
    /// suspended; or where the time until it was acknowledged went.
    pub(super) open: Vec<(Breakdown, Span)>,
    /// The breakdowns of the completions that the engine has not taken yet.
    pub(super) done: Vec<Breakdown>,
}

impl DriveLatencies {
    #[inline]
    fn read(&mut self, op: Id<DriveOp>) -> &mut ReadTimes {
        if op.index() >= self.reads.len() {
            self.reads.resize(op.index() + 1, ReadTimes::default());
        }
        &mut self.reads[op.index()]
    }

    /// A unit stops what it was doing besides the host's work.
    pub(super) fn end_work(&mut self, unit: UnitId, now: SimTime) {
        self.units[unit.0 as usize].end(now);
    }

    /// The page of a read is in the register later, because its unit cannot sense yet.
    pub(super) fn delay_read(&mut self, op: Id<DriveOp>, by: Span) {
        let read = self.read(op);
        read.in_register = read.in_register + by;
        read.so_far.die += by;
    }

    /// The page of a write that is acknowledged last so far.
    #[inline]
    pub(super) fn note_placed(&mut self, op: Id<DriveOp>, placed: PlacedPage) {
        if op.index() >= self.placed.len() {
            self.placed.resize(op.index() + 1, PlacedPage::default());
        }
        self.placed[op.index()] = placed;
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

    /// A wait for a unit and its channel that neither made for other work: for the unit, and for the channel.
    #[inline]
    fn quiet_wait(
        &self,
        unit: UnitId,
        channel: usize,
        (since, granted): (SimTime, SimTime),
        freed: [SimTime; 2],
    ) -> Option<FlashTimes> {
        if since >= granted {
            return Some(FlashTimes::default());
        }
        let unit_freed = freed[0].clamp(since, granted);
        let channel_freed = freed[1].clamp(unit_freed, granted);
        let quiet = channel_freed == granted
            && self.units[unit.0 as usize].is_quiet_after(since)
            && self.channels[channel].is_quiet_after(unit_freed);
        let (die, channel) = (unit_freed.since(since), channel_freed.since(unit_freed));
        quiet.then(|| FlashTimes { die, channel, ..FlashTimes::default() })
    }

    pub(super) fn list(&mut self, parts: Breakdown) -> TimeSpent {
        TimeSpent::list(&mut self.done, parts)
    }
}

impl<C: Contents> Drive<C> {
    /// Measures where the time of commands goes, from now on.
    pub fn break_down(&mut self) {
        self.latencies = Some(Box::new(DriveLatencies {
            units: vec![BusyHistory::default(); self.dies.units.len()],
            channels: vec![BusyHistory::default(); self.dies.channels.len()],
            placed: Vec::new(),
            reads: Vec::new(),
            open: Vec::new(),
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
        let waiting = waiting.filter(|op| op.is_some());
        let Some(oldest) = waiting.map(|op| self.queues.ops[op].since).min() else { return };
        for history in latencies.units.iter_mut().chain(&mut latencies.channels) {
            history.forget_before(oldest);
        }
    }

    // ---------------------------------------------------------------- operations

    /// The part for time in which an operation waited although its unit and its channel were free.
    pub(super) fn other_wait(&self, writes: bool, late: bool) -> Part {
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

    /// Reads that are linked to this one are granted; their pages will be in the register after these phases.
    #[inline]
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
            let DriveOp { since, next, .. } = self.queues.ops[op];
            let Some(latencies) = &mut self.latencies else { return };
            let read = latencies.read(op);
            let (transfer, array) = (phases.sent(), phases.array());
            read.in_register = granted + phases.busy();
            read.so_far = FlashTimes { transfer, array, ..FlashTimes::default() };
            read.others = None;
            if since < granted {
                self.note_wait(granted, channel, unit, op);
            }
            op = next;
        }
    }

    /// A read that is granted has waited.
    #[inline(never)]
    fn note_wait(&mut self, granted: SimTime, channel: usize, unit: UnitId, op: Id<DriveOp>) {
        let DriveOp { since, late, .. } = self.queues.ops[op];
        let [unit_freed, channel_freed] = self.freed(channel, unit);
        let freed = [self.free_for_reads(unit).unwrap_or(unit_freed), channel_freed];
        let Some(latencies) = &mut self.latencies else { return };
        if let Some(wait) = latencies.quiet_wait(unit, channel, (since, granted), freed) {
            let so_far = &mut latencies.reads[op.index()].so_far;
            (so_far.die, so_far.channel) = (wait.die, wait.channel);
            return;
        }
        let (mut parts, rest) = (Breakdown::default(), self.other_wait(false, late));
        let Some(latencies) = &mut self.latencies else { return };
        latencies.add_wait(unit, channel, (since, granted), freed, rest, &mut parts);
        latencies.reads[op.index()].others = Some(parts);
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
        channel: usize,
        unit: UnitId,
        phases: &OpPhases,
        cause: Cause,
    ) {
        self.begin_reads(now, channel, unit, self.dies.units[unit.0 as usize].current, phases);
        if cause != Cause::Host {
            self.record_unit(now, unit, SimTime::NEVER, cause);
        } else if let Some(latencies) = &mut self.latencies {
            // A read of GC may have ended with its plane.
            latencies.units[unit.0 as usize].end(now);
        }
    }

    /// Why a unit's page crosses the channel; asked only if that is measured.
    #[inline]
    pub(super) fn cause_of_transfer(&self, unit: UnitId, op: Id<DriveOp>) -> Cause {
        if op.is_some() || (self.latencies.is_none() && !self.slc.active) {
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
    ) -> TimeSpent {
        let Some(latencies) = self.latencies.as_mut().filter(|_| op.is_some()) else {
            return TimeSpent::Memory;
        };
        let DriveLatencies { channels, reads, .. } = &mut **latencies;
        let (read, history) = (&reads[op.index()], &channels[channel]);
        let (in_register, mut so_far) = (read.in_register, read.so_far);
        so_far.transfer += transfer;
        if read.others.is_none() && (in_register >= now || history.is_quiet_after(in_register)) {
            so_far.channel += now.since(in_register);
            return TimeSpent::Flash(so_far);
        }
        let mut parts = so_far.breakdown().plus(&read.others.unwrap_or_default());
        history.divide(in_register, now, Part::Channel, &mut parts);
        latencies.list(parts)
    }

    /// Where the time of a read in a round goes, which ends at `end`. It waits for the transfers of others.
    pub(super) fn breakdown_of_read_in_round(
        &mut self,
        op: Id<DriveOp>,
        end: SimTime,
        phases: &OpPhases,
        transfer: Span,
    ) -> TimeSpent {
        let Some(latencies) = &mut self.latencies else { return TimeSpent::Memory };
        let ReadTimes { so_far, others, .. } = *latencies.read(op);
        let mut parts = so_far.breakdown().plus(&others.unwrap_or_default());
        parts.add(Part::Transfer, phases.command + transfer);
        parts.add(Part::Array, phases.array());
        parts.fit(end.since(self.queues.ops[op].since), Part::Channel);
        latencies.list(parts)
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
    #[inline]
    pub(super) fn breakdown_of_write(&mut self, op: Id<DriveOp>, noted: Span) -> TimeSpent {
        let Some(latencies) = &self.latencies else { return TimeSpent::Memory };
        if self.suspension.is_some() && self.flash.acknowledge == Acknowledge::Program {
            return self.breakdown_of_settled(op, noted);
        }
        let DriveOp { since, acknowledged, .. } = self.queues.ops[op];
        // Pages that have been withdrawn leave nothing to measure.
        let placed = match latencies.placed.get(op.index()) {
            Some(placed) if acknowledged != SimTime::ZERO => *placed,
            _ => PlacedPage::default(),
        };
        let PlacedPage { granted, unit, freed, .. } = placed;
        let channel = self.dies.units[unit.0 as usize].channel as usize;
        let mut own = placed.phases(acknowledged, self.flash.commands.cache_program);
        let quiet = latencies.quiet_wait(unit, channel, (since, granted), freed);
        if let Some(wait) = quiet {
            (own.die, own.channel) = (own.die + wait.die, own.channel + wait.channel);
            if noted == Span::ZERO && own.total() == acknowledged.since(since) {
                return TimeSpent::Flash(own);
            }
        }
        self.breakdown_of_other_write(op, &own, quiet.is_none().then_some(placed), noted)
    }

    /// The same of a write that waited for other work too.
    #[inline(never)]
    fn breakdown_of_other_write(
        &mut self,
        op: Id<DriveOp>,
        own: &FlashTimes,
        waited: Option<PlacedPage>,
        noted: Span,
    ) -> TimeSpent {
        let DriveOp { since, acknowledged, .. } = self.queues.ops[op];
        let mut parts = own.breakdown();
        if let Some(PlacedPage { granted, unit, freed, .. }) = waited {
            parts = parts.plus(&self.wait_of_page(op, granted, unit, freed));
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
        parts.fit(end.since(self.queues.ops[op].since), Part::Die);
        latencies.list(parts)
    }

    /// Where the time of a write goes that found no place.
    pub(super) fn breakdown_of_unplaced(&mut self, now: SimTime, op: Id<DriveOp>) -> TimeSpent {
        let Some(latencies) = &mut self.latencies else { return TimeSpent::Memory };
        latencies.list(Breakdown::of(Part::Die, now.since(self.queues.ops[op].since)))
    }
}
