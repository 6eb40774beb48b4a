//! Where the time of commands goes in a drive: the histories of dies and channels, and the waits and phases of operations.
//! Nothing is kept, and nothing asked, in a drive where that is not measured.
//!
//! A wait is divided when it ends: the operation waited for its die until that became free, then for its channel. A write
//! that several dies could take counts at the die that took it. A write of several pages counts the page that is
//! acknowledged last. Where operations are suspended for reads, the rest is known when a program is over.

use super::program::PageTimes;
use super::queue::DriveOp;
use crate::engine::{Breakdown, BusyHistory, FlashTimes, Part, TimeSpent};
use crate::flash::{OpPhases, UnitId};
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
    array: Span,
}

impl PlacedPage {
    /// A page of these times in a unit, which is acknowledged at `end`; time in which the unit was suspended is left out.
    #[inline(always)]
    fn new(times: &PageTimes, unit: UnitId, end: SimTime, cached: bool) -> Self {
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
struct ReadTimes {
    in_register: SimTime,
    so_far: FlashTimes,
    /// Whether its wait is in the list of waits.
    waits_listed: bool,
}

/// The measured times.
#[derive(Clone, Debug)]
struct Measured {
    units: Vec<BusyHistory>,
    channels: Vec<BusyHistory>,
    /// Of each write that is under way, its page that is acknowledged last, so far.
    placed: Vec<PlacedPage>,
    reads: Vec<ReadTimes>,
    /// Of reads that waited for other work than the host's and GC, that wait.
    waits: Vec<Breakdown>,
    /// Of reads whose data could not be corrected, the attempts before; untouched without an error model.
    earlier: Vec<Breakdown>,
    /// Where operations are suspended, of each write: what its page waited for that was over last, and how long that was
    /// suspended; or where the time until it was acknowledged went.
    open: Vec<(Breakdown, Span)>,
    /// The breakdowns of the completions that the engine has not taken yet.
    done: Vec<Breakdown>,
}

impl Measured {
    #[inline]
    fn read(&mut self, op: Id<DriveOp>) -> &mut ReadTimes {
        reach(&mut self.reads, op.index())
    }

    /// Attempts of a read before the one under way.
    fn earlier(&mut self, op: Id<DriveOp>) -> &mut Breakdown {
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

    /// Divides a wait for a unit and its channel: until the unit was `freed`, then until the channel was. While both
    /// were free, it waited for what the unit began next if that was not work for the host; otherwise `rest` counts.
    #[inline]
    fn add_wait(
        &self,
        (unit, channel): (UnitId, usize),
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
        (unit, channel): (UnitId, usize),
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
        (op, since, again): (Id<DriveOp>, SimTime, bool),
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
        parts.add(if again { Part::Retry } else { Part::Array }, phases.array());
        parts.fit(end.since(since), Part::Channel);
        parts
    }

    fn list(&mut self, parts: Breakdown) -> TimeSpent {
        TimeSpent::list(&mut self.done, parts)
    }

    #[inline]
    fn open(&mut self, op: Id<DriveOp>) -> &mut (Breakdown, Span) {
        reach(&mut self.open, op.index())
    }
}

/// Measures where the time of a drive's commands goes, if that is asked for.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct LatencyProbe(Option<Box<Measured>>);

/// Something whose history is kept.
#[derive(Clone, Copy, Debug)]
pub(super) enum Worker {
    Unit(UnitId),
    Channel(usize),
}

impl LatencyProbe {
    #[inline(always)]
    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Measures from now on.
    pub(in crate::drive) fn start(&mut self, units: usize, channels: usize) {
        self.0 = Some(Box::new(Measured {
            units: vec![BusyHistory::default(); units],
            channels: vec![BusyHistory::default(); channels],
            placed: Vec::new(),
            reads: Vec::new(),
            waits: Vec::new(),
            earlier: Vec::new(),
            open: Vec::new(),
            done: Vec::new(),
        }));
    }

    /// Where the time of completed commands went, if that is measured.
    #[inline]
    pub(in crate::drive) fn breakdowns(&mut self) -> Option<&mut Vec<Breakdown>> {
        self.0.as_mut().map(|measured| &mut measured.done)
    }

    /// Where the time of a command went that is complete.
    #[inline]
    pub(super) fn list(&mut self, parts: impl FnOnce() -> Breakdown) -> TimeSpent {
        self.0.as_mut().map_or(TimeSpent::Memory, |measured| measured.list(parts()))
    }

    // ---------------------------------------------------------------- histories

    fn histories(&mut self) -> impl Iterator<Item = &mut BusyHistory> {
        self.0.iter_mut().flat_map(|measured| measured.units.iter_mut().chain(&mut measured.channels))
    }

    /// After a power cut all units and channels are busy with the recovery.
    pub(in crate::drive) fn record_recovery(&mut self, now: SimTime, ready: SimTime) {
        self.histories().for_each(|history| history.record(now, ready, Part::Maintenance, true));
    }

    /// A unit or channel does this besides the host's work; `awaited` if operations wait for it. Whether the history has
    /// grown to a length at which periods can be forgotten.
    pub(super) fn record(
        &mut self,
        worker: Worker,
        (now, until): (SimTime, SimTime),
        with: Part,
        awaited: bool,
    ) -> bool {
        let Some(measured) = &mut self.0 else { return false };
        let history = match worker {
            Worker::Unit(unit) => &mut measured.units[unit.0 as usize],
            Worker::Channel(channel) => &mut measured.channels[channel],
        };
        history.record(now, until, with, awaited);
        history.kept() >= KEPT && history.kept().is_multiple_of(KEPT)
    }

    /// A unit stops what it was doing besides the host's work.
    #[inline(always)]
    pub(super) fn end_work(&mut self, unit: UnitId, now: SimTime) {
        if let Some(measured) = &mut self.0 {
            measured.units[unit.0 as usize].end(now);
        }
    }

    /// No operation waits that came before `oldest`.
    pub(super) fn forget_before(&mut self, oldest: SimTime) {
        self.histories().for_each(|history| history.forget_before(oldest));
    }

    /// The wait of an operation for a unit and its channel ([`Measured::add_wait`]).
    pub(super) fn wait(
        &self,
        at: (UnitId, usize),
        waited: (SimTime, SimTime),
        freed: [SimTime; 2],
        rest: Part,
    ) -> Breakdown {
        let mut parts = Breakdown::default();
        if let Some(measured) = &self.0 {
            measured.add_wait(at, waited, freed, rest, &mut parts);
        }
        parts
    }

    // ---------------------------------------------------------------- reads

    /// A read is granted; its page will be in the register after these phases. The attempts before are not this read's if
    /// it is `new`. False if it waited for other work than the host's and GC: then the wait follows.
    #[inline(always)]
    pub(super) fn begin_read(
        &mut self,
        op: Id<DriveOp>,
        at: (UnitId, usize),
        (since, granted): (SimTime, SimTime),
        freed: [SimTime; 2],
        phases: &OpPhases,
        new: bool,
    ) -> bool {
        let Some(measured) = &mut self.0 else { return true };
        let wait = if since >= granted {
            Some(FlashTimes::default())
        } else {
            measured.short_wait(at, (since, granted), freed)
        };
        let waited = wait.unwrap_or_default();
        *measured.read(op) = ReadTimes {
            in_register: granted + phases.busy(),
            so_far: FlashTimes { array: phases.array(), transfer: phases.sent(), ..waited },
            waits_listed: wait.is_none(),
        };
        if new {
            *measured.earlier(op) = Breakdown::default();
        }
        wait.is_some()
    }

    /// The wait of a read for other work than the host's and GC.
    pub(super) fn list_wait(&mut self, op: Id<DriveOp>, wait: Breakdown) {
        if let Some(measured) = &mut self.0 {
            *reach(&mut measured.waits, op.index()) = wait;
        }
    }

    /// The page of a read is in the register later, and waits for its unit for a part of that.
    pub(super) fn delay_read(&mut self, op: Id<DriveOp>, by: Span, waits: Span) {
        let Some(measured) = &mut self.0 else { return };
        let read = measured.read(op);
        read.in_register = read.in_register + by;
        read.so_far.die += waits;
    }

    /// A page has been sensed, for the first time or `again`, and is sensed once more, for `span`.
    pub(super) fn go_on_sensing(&mut self, op: Id<DriveOp>, span: Span, again: bool) {
        let Some(measured) = &mut self.0 else { return };
        let read = measured.read(op);
        read.in_register = read.in_register + span;
        let sensed = std::mem::replace(&mut read.so_far.array, span);
        measured.earlier(op).add(if again { Part::Retry } else { Part::Array }, sensed);
    }

    /// Where the time of a read goes whose data cross the channel from now on.
    #[inline(always)]
    pub(super) fn read(
        &mut self,
        now: SimTime,
        channel: usize,
        op: Id<DriveOp>,
        transfer: Span,
    ) -> TimeSpent {
        let Some(measured) = &mut self.0 else { return TimeSpent::Memory };
        let Measured { channels, reads, waits, done, .. } = &mut **measured;
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

    /// The same of a read whose data are then decoded. It was sensed `again` if earlier attempts have failed.
    #[inline(never)]
    pub(super) fn decoded_read(
        &mut self,
        now: SimTime,
        channel: usize,
        (op, again): (Id<DriveOp>, bool),
        transfer: Span,
        decoding: Span,
    ) -> TimeSpent {
        let Some(measured) = &mut self.0 else { return TimeSpent::Memory };
        let mut parts = measured.parts_of_attempt(now, channel, op, transfer, again);
        parts = parts.plus(measured.earlier(op));
        parts.add(Part::Compute, decoding);
        measured.list(parts)
    }

    /// Keeps where the time of a read went whose data cross the channel from now on and are decoded in vain.
    pub(super) fn keep_attempt(
        &mut self,
        now: SimTime,
        channel: usize,
        (op, again): (Id<DriveOp>, bool),
        transfer: Span,
        decoding: Span,
    ) {
        let Some(measured) = &mut self.0 else { return };
        let mut parts = measured.parts_of_attempt(now, channel, op, transfer, again);
        parts.add(Part::Compute, decoding);
        *measured.earlier(op) = measured.earlier(op).plus(&parts);
    }

    /// Where the time of a read in a round goes that came at `since` and ends at `end`, with what decoding takes if there
    /// can be errors. It waits for the transfers of others.
    pub(super) fn read_in_round(
        &mut self,
        read: (Id<DriveOp>, SimTime, bool),
        end: SimTime,
        phases: &OpPhases,
        transfer: Span,
        decoding: Option<Span>,
    ) -> TimeSpent {
        let Some(measured) = &mut self.0 else { return TimeSpent::Memory };
        let mut parts = measured.parts_in_round(read, end, phases, transfer);
        if let Some(decoding) = decoding {
            parts = parts.plus(measured.earlier(read.0));
            parts.add(Part::Compute, decoding);
        }
        measured.list(parts)
    }

    /// Keeps where the time of a read in a round went whose data are decoded in vain.
    pub(super) fn keep_attempt_in_round(
        &mut self,
        read: (Id<DriveOp>, SimTime, bool),
        end: SimTime,
        phases: &OpPhases,
        transfer: Span,
    ) {
        let Some(measured) = &mut self.0 else { return };
        let parts = measured.parts_in_round(read, end, phases, transfer);
        *measured.earlier(read.0) = measured.earlier(read.0).plus(&parts);
    }

    // ---------------------------------------------------------------- writes

    /// A page of these times is the one of a write that is acknowledged last so far, at `end`; time in which its unit was
    /// suspended is left out.
    #[inline(always)]
    pub(super) fn note_placed(
        &mut self,
        op: Id<DriveOp>,
        times: &PageTimes,
        unit: UnitId,
        end: SimTime,
        cached: bool,
    ) {
        if let Some(measured) = &mut self.0 {
            *reach(&mut measured.placed, op.index()) = PlacedPage::new(times, unit, end, cached);
        }
    }

    /// The grant of the page of a write that was acknowledged last; none of pages that have been withdrawn.
    pub(super) fn placed(&self, op: Id<DriveOp>) -> Option<PlacedPage> {
        self.0.as_ref()?.placed.get(op.index()).copied()
    }

    /// Where the time of a write of this page went that came at `since` and was acknowledged at `end`, if it waited for no
    /// other work than the host's and GC, and nothing else took time.
    #[inline(always)]
    pub(super) fn short_write(
        &self,
        page: &PlacedPage,
        channel: usize,
        (since, end): (SimTime, SimTime),
    ) -> Option<TimeSpent> {
        let PlacedPage { granted, unit, freed, mut own, .. } = *page;
        if since < granted {
            let measured = self.0.as_ref()?;
            own.add(&measured.short_wait((unit, channel), (since, granted), freed)?);
        }
        (own.total() == end.since(since)).then_some(TimeSpent::Flash(own))
    }

    /// Keeps this of a write: what its page waited for that was over last, and how long that was suspended.
    pub(super) fn keep_open(&mut self, op: Id<DriveOp>, parts: Breakdown, suspended: Span) {
        if let Some(measured) = &mut self.0 {
            *measured.open(op) = (parts, suspended);
        }
    }

    /// Keeps where the time of a write went that was acknowledged last, until it is durable.
    pub(super) fn keep_acknowledged(&mut self, op: Id<DriveOp>, spent: Option<TimeSpent>) {
        let Some(measured) = &mut self.0 else { return };
        let parts = match spent {
            Some(TimeSpent::Flash(own)) => own.breakdown(),
            Some(TimeSpent::Listed(at)) => measured.done[at as usize],
            _ => Breakdown::default(),
        };
        *measured.open(op) = (parts, Span::ZERO);
    }

    /// Where the time of a write goes whose programs are over, and took `span`. The map then notes them, which takes
    /// `noted`. Pages that have been `withdrawn` leave nothing to measure.
    pub(super) fn settled_write(
        &mut self,
        op: Id<DriveOp>,
        span: Span,
        noted: Span,
        withdrawn: bool,
    ) -> TimeSpent {
        let Some(measured) = &mut self.0 else { return TimeSpent::Memory };
        let mut parts = Breakdown::default();
        if !withdrawn {
            let (waited, suspended) = *measured.open(op);
            parts = waited.plus(&measured.placed[op.index()].own.breakdown());
            parts.add(Part::Die, suspended);
        }
        parts.fit(span, Part::Die);
        parts.add(Part::Cache, noted);
        measured.list(parts)
    }

    /// Where the time of a write goes that was acknowledged when its data had crossed the channel, until it is durable.
    pub(in crate::drive) fn durable_write(&mut self, op: Id<DriveOp>, span: Span) -> TimeSpent {
        let Some(measured) = &mut self.0 else { return TimeSpent::Memory };
        let array = measured.placed.get(op.index()).map_or(Span::ZERO, |placed| placed.array);
        let mut parts = measured.open(op).0;
        parts.add(Part::Array, array);
        parts.fit(span, Part::Die);
        measured.list(parts)
    }

    /// Where the time of a read goes that memory serves, if its request was admitted late.
    #[inline]
    pub(super) fn late_read(&mut self, late: Span, memory: Span) -> TimeSpent {
        if late == Span::ZERO {
            return TimeSpent::Memory;
        }
        self.list(|| {
            let mut parts = Breakdown::of(Part::Queue, late);
            parts.add(Part::Cache, memory);
            parts
        })
    }

    /// Where the time `span` of the erases of a trim goes, of which the longest takes `erase`.
    pub(super) fn erases(&mut self, span: Span, erase: Span) -> TimeSpent {
        self.list(|| {
            let mut parts = Breakdown::of(Part::Array, erase);
            parts.fit(span, Part::Die);
            parts
        })
    }

    /// Whether a page of a write is acknowledged last so far, at `end`, of those acknowledged by `last`; of pages that end
    /// together it is the one that was granted last, in any order in which units are settled.
    pub(super) fn is_last_page(
        &self,
        op: Id<DriveOp>,
        last: SimTime,
        granted: (SimTime, UnitId),
        end: SimTime,
    ) -> bool {
        let after = |other: PlacedPage| granted >= (other.granted, other.unit);
        end > last || end == last && self.placed(op).is_some_and(after)
    }
}
