//! State of channels and busy units: until when each is busy, and what waits for it.

use super::errors::ReadAttempts;
use super::queue::DriveOp;
use super::rounds::OpenRound;
use super::spread::PoolUnits;
use super::{Controller, Dies, Gangs, OpQueue, PageOwner};
use crate::drive::Parameters;
use crate::engine::{Cause, Contents, ReadEstimate};
use crate::flash::scheduler::Class;
use crate::flash::{Geometry, OpKind, PlaneId, Ppn, Target, UnitId};
use crate::kernel::{Agenda, Id, SimTime, Span};

/// The phase of a busy unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::drive) enum UnitPhase {
    /// Free, or busy until a known instant.
    #[default]
    Free,
    /// The array is being read; an event says when the page is in the register.
    Array,
    /// The page waits in the register for the channel.
    Ready,
    /// Its program or erase is suspended, and the data of the last read leave or have left: the next read, or the rest
    /// of the operation, follows.
    Suspended,
}

/// A busy unit (chip, die or plane), which performs one operation at a time.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct BusyUnitState {
    pub channel: u32,
    /// Its bit in the channel's masks.
    pub bit: u64,
    pub phase: UnitPhase,
    /// Reads that wait for it, and their total time.
    pub reads: OpQueue,
    pub queued: Span,
    /// The current read, linked to those that joined it; none while it reads for GC.
    pub current: Id<DriveOp>,
    /// With cache reads: a page that has been read and makes room for the next one.
    pub cached: Id<DriveOp>,
    /// The page that it programs, or programmed last.
    pub programs: Option<Ppn>,
    /// All pages of a program of several pages, beginning with that one.
    pub together: Vec<Ppn>,
    /// The number of sectors that GC has read; 0 for a whole page.
    pub carries: u16,
    /// The flash page that GC reads, and what its errors ask for.
    pub gc_page: Ppn,
    pub gc_backend: u16,
    pub gc_course: ReadAttempts,
    /// The plane for whose collection it reads a page, or read the last one.
    pub collects: Option<PlaneId>,
    /// Planes that wait to be collected.
    pub collect_head: Option<PlaneId>,
    pub collect_tail: Option<PlaneId>,
    /// Whether one of its planes may be collected in idle time.
    pub soft: bool,
    pub busy: Span,
    pub planned: PlannedPeriods,
    pub stall: Stall,
}

/// A channel and the work that waits for it.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct Channel {
    pub free_at: SimTime,
    pub first_unit: u32,
    /// Units with reads waiting.
    pub waiting: u64,
    /// Units with a page in the register.
    pub ready: u64,
    /// Units with planes to be collected.
    pub collecting: u64,
    /// Units with operations under way whose end may still move, or that had some when they were settled last.
    pub under_way: u64,
    /// Its die queues, each with its unit's bit in the masks.
    pub die_queues: Vec<(u32, u32)>,
    /// The die queue to which the next write is offered first.
    pub turn: u32,
    pub busy: Span,
    pub planned: PlannedPeriods,
    pub stall: Stall,
    /// Whether it, one of its units or another channel of its gang stalls.
    pub has_stalls: bool,
}

/// The periods in which a unit or a channel is busy in the last batch of rounds, or in the last recovery. These are
/// planned as a whole, so that several periods lie ahead, with gaps between them; elsewhere an instant says until when
/// a resource is busy.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct PlannedPeriods(Vec<[SimTime; 2]>);

impl PlannedPeriods {
    pub(in crate::drive) fn add(&mut self, start: SimTime, end: SimTime) {
        self.0.push([start, end]);
    }

    pub(in crate::drive) fn clear(&mut self) {
        self.0.clear();
    }

    /// How long the resource would be busy after `now`.
    fn after(&self, now: SimTime) -> Span {
        self.0.iter().fold(Span::ZERO, |sum, &[start, end]| sum + end.since(start.max(now)))
    }
}

/// Whether a unit or a channel stalls: it begins nothing new, and ends its operations under way.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::drive) struct Stall {
    /// Until when; 0 if it does not.
    until: SimTime,
    /// Whether it has ended what was under way, so that it counts as not free until then.
    holds: bool,
}

impl Stall {
    /// The instant from which it can work again, or `now`.
    pub(in crate::drive) fn over_at(self, now: SimTime) -> SimTime {
        self.until.max(now)
    }

    /// Whether it stalls.
    pub(super) fn is_on(self) -> bool {
        self.until > SimTime::ZERO
    }

    /// It is over at `now` if its time has passed; otherwise, what is free at `free_at` and falls free is held.
    fn go_on(&mut self, now: SimTime, free_at: &mut SimTime) -> bool {
        if self.until <= now {
            *self = Stall::default();
        } else if *free_at <= now {
            (*free_at, self.holds) = (self.until, true);
        }
        self.is_on()
    }

    /// Whether `free_at` is the end of the stall, and not of an operation.
    fn decides(self, free_at: SimTime) -> bool {
        self.holds && free_at == self.until
    }
}

impl Dies {
    /// All gangs free.
    pub(in crate::drive) fn new(drive: &Parameters, geometry: &Geometry, wake_on_release: bool) -> Dies {
        let units = geometry.unit_count() as usize;
        let spread = PoolUnits::of(geometry, drive.pools);
        let slots = if drive.suspend.is_some() { 2 * units } else { units };
        let scrubs = drive.errors.as_ref().is_some_and(|errors| errors.scrub.is_some());
        Dies {
            scheduler: drive.scheduler,
            units: self::units(geometry),
            free_at: vec![SimTime::ZERO; units],
            accepts_at: vec![SimTime::ZERO; units],
            worked: vec![None; units],
            channels: channels(geometry),
            per_channel: geometry.units_per_channel() as usize,
            of_plane: (0..geometry.plane_count()).map(|plane| geometry.unit_of(PlaneId(plane))).collect(),
            wake_on_release: wake_on_release || spread.is_some(),
            spread,
            gangs: Gangs::new(drive.flash.control_gang, geometry.channels),
            open_round: OpenRound::default(),
            agenda: Agenda::new(slots + geometry.channels as usize + usize::from(scrubs)),
        }
    }

    /// All of them free at time 0, and nothing counted.
    pub(in crate::drive) fn reset(&mut self) {
        self.free_at.fill(SimTime::ZERO);
        self.accepts_at.fill(SimTime::ZERO);
        self.gangs.reset();
        for unit in &mut self.units {
            (unit.programs, unit.busy) = (None, Span::ZERO);
        }
        for channel in &mut self.channels {
            (channel.free_at, channel.busy) = (SimTime::ZERO, Span::ZERO);
        }
        self.forget_planned();
    }

    /// Nothing is planned any more: a recovery begins, or the time.
    pub(in crate::drive) fn forget_planned(&mut self) {
        self.units.iter_mut().for_each(|unit| unit.planned.clear());
        self.channels.iter_mut().for_each(|channel| channel.planned.clear());
    }

    /// Operations under way end at `now`, and time that was accounted for beyond that does not count. In rounds units
    /// are free later than they are busy, and after a recovery all resources are free together: there it was planned
    /// when they are busy.
    pub(in crate::drive) fn cut_off(&mut self, now: SimTime, rounds: bool, recovering: bool) {
        for at in 0..self.units.len() {
            self.cut_off_unit(now, at, rounds || recovering);
        }
        for channel in &mut self.channels {
            let after =
                if channel.stall.decides(channel.free_at) { Span::ZERO } else { channel.free_at.since(now) };
            let beyond = if recovering { channel.planned.after(now) } else { after };
            channel.busy = channel.busy.beyond(beyond);
        }
    }

    /// The same for a unit.
    pub(in crate::drive) fn cut_off_unit(&mut self, now: SimTime, at: usize, is_planned: bool) {
        let until = self.counted_until(at).unwrap_or(now);
        let unit = &mut self.units[at];
        let beyond = if is_planned { unit.planned.after(now) } else { until.since(now) };
        unit.busy = unit.busy.beyond(beyond);
    }

    /// A unit is busy from `start` to `end`, in a round or a recovery.
    pub(in crate::drive) fn plan_unit(&mut self, unit: UnitId, start: SimTime, end: SimTime) {
        let unit = &mut self[unit];
        unit.busy += end.since(start);
        unit.planned.add(start, end);
    }

    /// A channel is in use from `start` to `end`, in a recovery.
    pub(in crate::drive) fn plan_channel(&mut self, channel: usize, start: SimTime, end: SimTime) {
        let channel = &mut self.channels[channel];
        channel.busy += end.since(start);
        channel.planned.add(start, end);
    }

    /// The end of what a unit has been counted as busy for; none if it waits for its channel or for nothing.
    pub(super) fn counted_until(&self, at: usize) -> Option<SimTime> {
        let until = match self.units[at].phase {
            UnitPhase::Free if self.units[at].stall.decides(self.free_at[at]) => SimTime::NEVER,
            UnitPhase::Free => self.free_at[at],
            UnitPhase::Array | UnitPhase::Suspended => self.agenda.at(at),
            UnitPhase::Ready => SimTime::NEVER,
        };
        Some(until).filter(|&until| until != SimTime::NEVER)
    }

    /// A unit is busy until then: waiting operations, and work in idle time, want to know when it falls idle.
    #[inline(never)]
    pub(super) fn mind(&mut self, unit: UnitId, until: SimTime, cause: Cause, caches_programs: bool) {
        self.note_work(unit, until, cause);
        if caches_programs {
            self.accepts_at[unit.0 as usize] = until;
        }
        let channel = self[unit].channel as usize;
        let write_queue_waits = self.is_spread() && self.channels[channel].collecting != 0;
        if write_queue_waits || self[self.home_of(unit)].soft {
            self.wake_unit_at(unit, until);
        }
    }

    /// A unit works until then.
    #[inline]
    pub(super) fn note_work(&mut self, unit: UnitId, until: SimTime, cause: Cause) {
        if cause != Cause::Fold {
            self.worked[unit.0 as usize] = Some(until);
        }
    }

    /// Until when a unit has worked for something else than folding, if it has; known where folding in idle time asks.
    pub(in crate::drive) fn worked_until(&self, unit: UnitId) -> Option<SimTime> {
        self.worked[unit.0 as usize]
    }

    /// All units have worked until then.
    pub(in crate::drive) fn work_until(&mut self, until: SimTime) {
        self.worked.fill(Some(until));
    }

    #[inline]
    pub(in crate::drive) fn is_idle(&self, now: SimTime, unit: UnitId) -> bool {
        self.free_at[unit.0 as usize] <= now
    }
}

fn units(geometry: &Geometry) -> Vec<BusyUnitState> {
    let unit = |id: u32| {
        let channel = geometry.channel_of(UnitId(id));
        let bit = 1 << (id - channel * geometry.units_per_channel());
        BusyUnitState { channel, bit, ..BusyUnitState::default() }
    };
    (0..geometry.unit_count()).map(unit).collect()
}

pub(in crate::drive) fn channels(geometry: &Geometry) -> Vec<Channel> {
    let first_unit = |channel: u32| channel * geometry.units_per_channel();
    (0..geometry.channels).map(|c| Channel { first_unit: first_unit(c), ..Channel::default() }).collect()
}

/// The unit whose bit is set, where it is the only one.
#[inline]
pub(super) fn only_bit(mask: u64) -> Option<u32> {
    mask.is_power_of_two().then(|| mask.trailing_zeros())
}

/// The units whose bits are set, lowest first.
pub(super) fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let bit = mask.trailing_zeros();
        mask &= mask - 1;
        Some(bit)
    })
}

impl std::ops::Index<UnitId> for Dies {
    type Output = BusyUnitState;

    #[inline(always)]
    fn index(&self, unit: UnitId) -> &BusyUnitState {
        &self.units[unit.0 as usize]
    }
}

impl std::ops::IndexMut<UnitId> for Dies {
    #[inline(always)]
    fn index_mut(&mut self, unit: UnitId) -> &mut BusyUnitState {
        &mut self.units[unit.0 as usize]
    }
}

impl Dies {
    #[inline]
    pub(in crate::drive) fn unit_count(&self) -> usize {
        self.units.len()
    }

    pub(in crate::drive) fn channel_count(&self) -> usize {
        self.channels.len()
    }

    #[inline(always)]
    pub(in crate::drive) fn channel(&self, channel: usize) -> &Channel {
        &self.channels[channel]
    }

    #[inline(always)]
    pub(in crate::drive) fn channel_mut(&mut self, channel: usize) -> &mut Channel {
        &mut self.channels[channel]
    }

    /// The die queue of each channel to which the next write is offered first.
    pub(in crate::drive) fn turns(&self) -> Vec<u32> {
        self.channels.iter().map(|channel| channel.turn).collect()
    }

    pub(in crate::drive) fn set_turns(&mut self, turns: Vec<u32>) {
        self.channels.iter_mut().zip(turns).for_each(|(channel, turn)| channel.turn = turn);
    }

    /// No plane is collected in idle time any more.
    pub(in crate::drive) fn end_idling(&mut self) {
        self.units.iter_mut().for_each(|unit| unit.soft = false);
    }

    /// Whether channels share control lines.
    pub(in crate::drive) fn has_gangs(&self) -> bool {
        self.gangs.size > 1
    }

    /// The units of a channel.
    pub(in crate::drive) fn units_in(&self, channel: usize) -> std::ops::Range<usize> {
        channel * self.per_channel..(channel + 1) * self.per_channel
    }

    /// The unit of a plane, or the first of its pool's.
    #[inline(always)]
    pub(in crate::drive) fn unit_of(&self, plane: PlaneId) -> UnitId {
        self.of_plane[plane.0 as usize]
    }

    /// Whether pools have several units.
    #[inline(always)]
    pub(in crate::drive) fn is_spread(&self) -> bool {
        self.spread.is_some()
    }

    /// A unit is free from `at` on.
    pub(in crate::drive) fn set_free(&mut self, at: SimTime, unit: UnitId) {
        self.free_at[unit.0 as usize] = at;
    }

    /// All units and channels are free from `at` on.
    pub(in crate::drive) fn free_all(&mut self, at: SimTime) {
        self.free_at.fill(at);
        self.channels.iter_mut().for_each(|channel| channel.free_at = at);
    }

    /// Whether a plane waits for its collection, or is being collected.
    pub(in crate::drive) fn are_collecting(&self) -> bool {
        self.channels.iter().any(|channel| channel.collecting != 0)
    }

    /// The event of a unit is at `at`.
    pub(in crate::drive) fn wake_unit_at(&mut self, unit: UnitId, at: SimTime) {
        self.agenda.set(unit.0 as usize, at);
    }

    /// Wakes a channel as soon as it is free.
    pub(in crate::drive) fn wake_channel(&mut self, now: SimTime, channel: usize) {
        self.wake_channel_by(channel, self.channels[channel].free_at.max(now));
    }

    /// Ensures that a channel has an event at `until` or earlier.
    pub(in crate::drive) fn wake_channel_by(&mut self, channel: usize, until: SimTime) {
        self.wake_slot(self.units.len() + channel, until);
    }

    /// The next page is scrubbed at `at`.
    pub(in crate::drive) fn scrub_at(&mut self, at: SimTime) {
        self.agenda.set(self.agenda.len() - 1, at);
    }

    /// The next event that is due by `until`.
    #[inline(always)]
    pub(in crate::drive) fn pop_due(&mut self, until: SimTime) -> Option<(SimTime, usize)> {
        self.agenda.pop_due(until)
    }

    /// No operation is waited for or in progress.
    pub(super) fn clear(&mut self) {
        self.agenda.clear();
        for unit in &mut self.units {
            (unit.phase, unit.current, unit.programs) = (UnitPhase::Free, Id::NONE, None);
            unit.cached = Id::NONE;
            (unit.reads, unit.queued) = (OpQueue::default(), Span::ZERO);
            (unit.collect_head, unit.collect_tail) = (None, None);
        }
        for channel in &mut self.channels {
            (channel.waiting, channel.ready, channel.collecting) = (0, 0, 0);
        }
    }

    /// A unit that was woken to take data for its cache register will be woken again when it is free.
    #[inline(never)]
    pub(super) fn come_back(&mut self, now: SimTime, unit: UnitId) {
        let at = unit.0 as usize;
        if self.agenda.at(at) == SimTime::NEVER && self.units[at].phase == UnitPhase::Free {
            self.arm_unit(now, unit);
        }
    }

    /// From now on a unit begins nothing new before `until`.
    pub(in crate::drive) fn stall_unit(&mut self, now: SimTime, unit: UnitId, until: SimTime) {
        let state = &mut self.units[unit.0 as usize];
        state.stall.until = state.stall.until.max(until);
        let channel = state.channel as usize;
        self.channels[channel].has_stalls = true;
        self.hold_stalled(now, channel);
    }

    /// From now on a channel transfers nothing new before `until`; what its gang does together waits for it.
    pub(in crate::drive) fn stall_channel(&mut self, now: SimTime, channel: usize, until: SimTime) {
        let stall = &mut self.channels[channel].stall;
        stall.until = stall.until.max(until);
        for channel in self.gangs.of(channel) {
            self.channels[channel].has_stalls = true;
            self.hold_stalled(now, channel);
        }
    }

    /// The stalled units of a channel, and the stalled channels of its gang, that have ended what was under way are not free
    /// before their time; then the channel is visited again.
    #[inline(never)]
    pub(super) fn hold_stalled(&mut self, now: SimTime, channel: usize) {
        let mut any = false;
        for channel in self.gangs.of(channel) {
            let Channel { stall, free_at, .. } = &mut self.channels[channel];
            if stall.go_on(now, free_at) {
                let until = stall.until;
                self.wake_channel_by(channel, until);
                any = true;
            }
        }
        for at in self.units_in(channel) {
            let state = &mut self.units[at];
            if !state.stall.go_on(now, &mut self.free_at[at]) {
                continue;
            }
            let until = state.stall.until;
            if state.stall.decides(self.free_at[at]) {
                // Its last page is in flash by now.
                state.programs = None;
                self.accepts_at[at] = until;
                self.wake_slot(at, until);
            }
            self.wake_channel_by(channel, until);
            any = true;
        }
        self.channels[channel].has_stalls = any;
    }

    /// Units of a channel whose page is in the register and can make room for another one, a bit each.
    pub(super) fn overlapping(&self, channel: usize) -> u64 {
        let first = self.channels[channel].first_unit as usize;
        let overlaps = |&n: &usize| {
            let BusyUnitState { phase, current, cached, stall, .. } = &self.units[first + n];
            *phase == UnitPhase::Ready && current.is_some() && !cached.is_some() && !stall.is_on()
        };
        (0..self.per_channel).filter(overlaps).fold(0, |mask, n| mask | 1 << n)
    }

    /// The read whose page leaves the unit next; none if that page is read for GC.
    #[inline]
    pub(super) fn leaving(&self, unit: UnitId) -> Id<DriveOp> {
        let BusyUnitState { cached, current, .. } = &self[unit];
        if cached.is_some() { *cached } else { *current }
    }

    /// The channel that a unit is on.
    #[inline(always)]
    pub(in crate::drive) fn channel_of(&self, unit: UnitId) -> usize {
        self[unit].channel as usize
    }

    /// An operation waits for a busy unit: its release becomes an event.
    #[inline]
    pub(in crate::drive) fn arm_unit(&mut self, now: SimTime, unit: UnitId) {
        let free_at = self.free_at[unit.0 as usize];
        if free_at > now && free_at != SimTime::NEVER {
            self.agenda.set(unit.0 as usize, free_at);
        }
    }

    /// Writes wait that some die queues take: the releases of their units become events, and that of the channel if one of
    /// them can take data, be it for its register only.
    pub(in crate::drive) fn arm_for_writes(
        &mut self,
        now: SimTime,
        channel: usize,
        cached: bool,
        takes: impl Fn(u32) -> bool,
    ) {
        let Dies { units, free_at, accepts_at, agenda, channels, .. } = self;
        let Channel { first_unit, die_queues, free_at: channel_free_at, .. } = &channels[channel];
        let mut able = false;
        for &(die_queue, n) in die_queues {
            if !takes(die_queue) {
                continue;
            }
            let unit = (first_unit + n) as usize;
            let mut at = free_at[unit];
            able |= at <= now;
            // If the clock has gone back, the unit may have begun to read since: the event is then that its page is there.
            if cached && units[unit].phase == UnitPhase::Free {
                able |= accepts_at[unit] <= now;
                at = if accepts_at[unit] > now { accepts_at[unit] } else { at };
            }
            if at > now && at != SimTime::NEVER {
                agenda.set(unit, at);
            }
        }
        if able && *channel_free_at > now {
            agenda.set(units.len() + channel, *channel_free_at);
        }
    }

    /// An operation waits for a busy channel: its release becomes an event.
    #[inline]
    pub(in crate::drive) fn arm_channel(&mut self, channel: usize) {
        self.agenda.set(self.units.len() + channel, self.channels[channel].free_at);
    }

    /// When a unit and its channel have become free, if they have.
    #[inline(always)]
    pub(super) fn freed(&self, channel: usize, unit: UnitId) -> [SimTime; 2] {
        [self.free_at[unit.0 as usize], self.channels[channel].free_at]
    }

    /// How long each channel has been in use.
    #[must_use]
    pub(in crate::drive) fn channel_busy(&self) -> Vec<Span> {
        self.channels.iter().map(|channel| channel.busy).collect()
    }

    /// How long each unit has been busy.
    #[must_use]
    pub(in crate::drive) fn unit_busy(&self) -> Vec<Span> {
        self.units.iter().map(|unit| unit.busy).collect()
    }

    /// When all channels and units are free, as far as is known.
    #[must_use]
    pub(in crate::drive) fn at_rest(&self) -> SimTime {
        let channels = self.channels.iter().map(|channel| channel.free_at);
        let units = (0..self.units.len()).filter_map(|unit| self.counted_until(unit));
        channels.chain(units).max().unwrap_or(SimTime::ZERO)
    }

    /// The instant of the next event, [`SimTime::NEVER`] where nothing is pending.
    #[must_use]
    #[inline]
    pub(in crate::drive) fn next_event(&self) -> SimTime {
        self.agenda.next()
    }

    /// Ensures that an event occurs at `until` or earlier.
    pub(in crate::drive) fn wake_slot(&mut self, slot: usize, until: SimTime) {
        self.agenda.set(slot, self.agenda.at(slot).min(until));
    }

    /// Whether the page is one of those that the unit programs together.
    pub(super) fn is_programmed_along(&self, unit: UnitId, ppn: Ppn) -> bool {
        let state = &self[unit];
        state.programs.is_some()
            && state.programs == state.together.first().copied()
            && state.together.contains(&ppn)
    }

    pub(in crate::drive) fn is_among(&self, idle: u64, unit: UnitId) -> bool {
        idle & self[unit].bit != 0
    }

    /// Whether a unit has a page in its register, or reads one, that a collection is to move.
    pub(in crate::drive) fn reads_for_collection(&self, unit: UnitId) -> bool {
        let state = &self[unit];
        matches!(state.phase, UnitPhase::Array | UnitPhase::Ready) && !state.current.is_some()
    }

    /// Whether the scheduler takes the steps of collections before reads.
    fn collection_goes_first(&self) -> bool {
        let place = |class| self.scheduler.order.iter().position(|&other| other == class);
        place(Class::Collect) < place(Class::Read)
    }

    /// The units of a channel that can start something, a bit each.
    #[inline]
    pub(in crate::drive) fn idle_units(&self, now: SimTime, channel: usize) -> u64 {
        let first = self.channels[channel].first_unit as usize;
        let units = &self.free_at[first..first + self.per_channel];
        units.iter().rev().fold(0, |idle, &free_at| idle << 1 | u64::from(free_at <= now))
    }
}

impl<C: Contents> Controller<C> {
    /// The unit is busy from `now` until `until` because of this cause.
    #[inline(always)]
    pub(in crate::drive) fn occupy_unit(&mut self, now: SimTime, unit: UnitId, until: SimTime, cause: Cause) {
        self.record_unit(now, unit, until, cause);
        let state = &mut self.dies.units[unit.0 as usize];
        state.phase = UnitPhase::Free;
        state.busy += until.since(now);
        self.dies.free_at[unit.0 as usize] = until;
        // Writes may wait in a queue of the unit; checking costs more than an unnecessary event.
        if self.queues.waiting > 0 || state.reads.head.is_some() || state.collect_head.is_some() {
            self.dies.agenda.set(unit.0 as usize, until);
        }
        if self.dies.wake_on_release {
            self.dies.mind(unit, until, cause, self.flash.commands.cache_program);
        }
    }

    /// The channel is in use from `now` for `span` because of this cause.
    #[inline]
    pub(super) fn occupy_channel(&mut self, now: SimTime, channel: usize, span: Span, cause: Cause) {
        self.record_channel(now, channel, now + span, cause);
        let state = &mut self.dies.channels[channel];
        debug_assert!(state.free_at <= now, "a channel does one thing at a time");
        state.free_at = now + span;
        state.busy += span;
    }

    /// How long a read of a page is expected to take: the rest of what its unit or its channel does, reads that wait,
    /// and a collection that the scheduler prefers.
    pub(in crate::drive) fn expected_read(
        &self,
        now: SimTime,
        ppn: Ppn,
        backends: &impl PageOwner<C>,
    ) -> ReadEstimate {
        let unit = self.dies.unit_of_page(&self.flash.geometry, ppn);
        if !self.reads.behind && self.is_being_programmed(now, unit, ppn) {
            return ReadEstimate::default();
        }
        let state = &self.dies[unit];
        let channel = &self.dies.channels[state.channel as usize];
        let free = channel.free_at.max(channel.stall.until).since(now);
        let rest = match state.phase {
            UnitPhase::Free => self.open.wait_for(unit, self.dies.free_at[unit.0 as usize].since(now)),
            UnitPhase::Suspended => Span::ZERO,
            UnitPhase::Array => {
                self.dies.agenda.at(unit.0 as usize).since(now) + self.flash.timing.transfer_of(ppn, 0)
            }
            UnitPhase::Ready => free + self.flash.timing.transfer_of(ppn, 0),
        };
        let first = if self.dies.collection_goes_first() {
            self.rest_of_collection(now, unit, backends)
        } else {
            Span::ZERO
        };
        let wait = rest.max(free).max(state.stall.until.since(now)) + state.queued + first;
        let read = self.flash.timing.cost_of(&self.flash.geometry, OpKind::Read, Target::page(ppn)).whole();
        ReadEstimate { wait, read }
    }

    /// The rest of the collection that a unit is doing or does next: copies of the pages that are still valid, and the erase.
    fn rest_of_collection(&self, now: SimTime, unit: UnitId, backends: &impl PageOwner<C>) -> Span {
        let head = self.dies[unit].collect_head;
        let Some((first, copies)) = head.and_then(|plane| backends.left_to_collect(now, plane)) else {
            return Span::ZERO;
        };
        let cost = |kind| {
            let target = Target { from: first, ..Target::page(first) };
            self.flash.timing.cost_of(&self.flash.geometry, kind, target).whole()
        };
        let copy = cost(OpKind::Read) + cost(OpKind::Program);
        Span(copy.0 * u64::from(copies)) + cost(OpKind::Erase)
    }

    /// A lower bound of the waiting time of a read in the unit.
    pub(in crate::drive) fn wait_for(&self, now: SimTime, unit: UnitId) -> Span {
        let state = &self.dies[unit];
        let channel = &self.dies.channels[state.channel as usize];
        let mut wait = channel.free_at.since(now);
        wait += match state.phase {
            UnitPhase::Free => self.open.wait_for(unit, self.dies.free_at[unit.0 as usize].since(now)),
            UnitPhase::Suspended => Span::ZERO,
            UnitPhase::Array => {
                self.dies.agenda.at(unit.0 as usize).since(now) + self.flash.timing.transfer(0)
            }
            UnitPhase::Ready => self.flash.timing.transfer(0),
        };
        wait + state.queued
    }
}
