//! Suspension of programs and erases for reads (`flash.commands.suspend`).
//!
//! A read that waits for a unit whose array programs or erases is granted at once, when its channel is free and the
//! scheduler picks it, if the unit would work for longer than suspending, reading and resuming take. The unit is
//! *suspended* until the data of its reads have left: it senses after `suspend_program_us` or `suspend_erase_us`, then
//! serves the reads that wait for it, one after the other, and resumes when none waits. The operation ends later by the
//! time from the suspension until it continues. Reads of GC and of scrubbing suspend nothing, and neither does a read of a
//! word line that is being programmed.
//!
//! `suspensions` limits how often reads interrupt an operation. Reads that came before the last interruption are served
//! together; those that come later count as another one, without another suspension.
//!
//! Source: G. Wu and X. He, "Reducing SSD Read Latency via NAND Flash Program and Erase Suspension", FAST 2012; MQSim
//! (Tavakkol et al., FAST 2018) for the condition on the time left.

use super::Controller;
use super::dies::{Channel, UnitPhase, bits};
use super::under_way::{OpenOperation, SuspendedUnit, UnitUnderWay};
use crate::drive::Resource;
use crate::drive::backends::DriveBackends;
use crate::engine::{Cause, Contents};
use crate::flash::{OpKind, SuspendRules, UnitId};
use crate::kernel::{SimTime, Span};

/// Whether reads may interrupt an operation of this kind, and how long it takes until the unit can sense.
fn lead(rules: &SuspendRules, kind: OpKind) -> Option<Span> {
    match kind {
        OpKind::Erase => Some(rules.erase),
        _ => rules.programs.then_some(rules.program),
    }
}

impl<C: Contents> Controller<C> {
    // ---------------------------------------------------------------- which reads

    /// The units of a channel that can begin a read, a bit each: those of `able` unless they are to resume, and those
    /// whose operation a read may interrupt once the channel is free.
    pub(super) fn readable(&self, now: SimTime, channel: usize, able: u64) -> u64 {
        let Some(suspension) = &self.suspension else { return able };
        let Channel { waiting, first_unit, free_at, .. } = self.dies.channels[channel];
        let at = now.max(free_at);
        bits(waiting).fold(able, |able, bit| {
            let unit = first_unit + bit;
            let is_idle = suspension.units[unit as usize].operations.is_empty();
            let reads = if is_idle { able >> bit & 1 == 1 } else { self.may_interrupt(at, UnitId(unit)) };
            able & !(1 << bit) | u64::from(reads) << bit
        })
    }

    /// Whether the first read that waits for a unit may interrupt its operation, or prolong its suspension.
    fn may_interrupt(&self, at: SimTime, unit: UnitId) -> bool {
        let (Some(suspension), state) = (&self.suspension, &self.dies[unit]) else {
            return false;
        };
        let (head, rules) = (state.reads.head, &suspension.rules);
        let UnitUnderWay { operations, suspended } = &suspension.units[unit.0 as usize];
        let (Some(last), true) = (operations.back(), head.is_some()) else { return false };
        let read = &self.queues[head];
        // Scrubbing reads one page at a time: a read behind it is another's.
        let only_scrubs = read.command.cause == Cause::Scrub && !read.next.is_some();
        if only_scrubs
            || suspension.keeps_waiting(&self.flash.geometry, unit, read.ppn)
            || state.stall.is_on()
        {
            return false;
        }
        let is_below_limit = |operation: &OpenOperation| operation.interruptions < rules.limit;
        if let Some(SuspendedUnit { last, until, .. }) = suspended {
            // With a cache register, the next read may begin while the page before waits for the channel.
            let can_begin = match state.phase {
                UnitPhase::Suspended => *until <= at,
                UnitPhase::Ready => self.flash.commands.cache_read && !state.cached.is_some(),
                UnitPhase::Free | UnitPhase::Array => false,
            };
            return can_begin && (read.sequence <= *last || operations.front().is_some_and(is_below_limit));
        }
        let Some(works) = operations.iter().find(|operation| operation.end > at) else { return false };
        let Some(lead) = lead(rules, works.kind).filter(|_| is_below_limit(works)) else { return false };
        last.end.since(at) > lead + self.flash.timing.command_time() + read.service + rules.resume
    }

    /// A lower bound of the time until a read of a unit that programs or erases could start.
    pub(super) fn wait_for_suspension(&self, unit: UnitId, wait: Span) -> Span {
        let Some(suspension) = &self.suspension else { return wait };
        let works = suspension.units[unit.0 as usize].operations.front();
        works.and_then(|works| lead(&suspension.rules, works.kind)).map_or(wait, |lead| wait.min(lead))
    }

    // ---------------------------------------------------------------- suspending and resuming

    /// The first read that waits for a unit begins: what the unit does is suspended. How long it takes until the unit can
    /// sense.
    #[inline]
    pub(super) fn interrupt(&mut self, now: SimTime, unit: UnitId) -> Span {
        if self.suspension.is_none() { Span::ZERO } else { self.interrupt_operation(now, unit) }
    }

    #[inline(never)]
    fn interrupt_operation(&mut self, now: SimTime, unit: UnitId) -> Span {
        let at = unit.0 as usize;
        let (read, newest) = (self.queues[self.dies.units[at].reads.head].sequence, self.queues.sequence);
        let Some(suspension) = &mut self.suspension else { return Span::ZERO };
        let UnitUnderWay { operations, suspended } = &mut suspension.units[at];
        let Some(works) = operations.front_mut() else { return Span::ZERO };
        if let Some(suspended) = suspended {
            if read > suspended.last {
                works.interruptions += 1;
                (suspended.interrupted, suspended.last) = (now, newest);
            }
            return Span::ZERO;
        }
        *suspended =
            Some(SuspendedUnit { since: now, interrupted: now, last: newest, until: SimTime::NEVER });
        works.interruptions += 1;
        let (kind, cause, since) = (works.kind, works.cause, works.since);
        let lead = lead(&suspension.rules, kind).unwrap_or_default();
        let state = &mut self.dies.units[at];
        state.busy = state.busy - self.dies.free_at[at].since(now);
        self.accounts.counters.suspensions[kind as usize] += 1;
        if let Some(latencies) = &mut self.latencies {
            latencies.end_work(unit, now);
        }
        self.arm_end(unit);
        if self.accounts.watch.is_some() {
            self.tell_hold(Resource::Unit(unit), since, now, kind, cause);
        }
        lead
    }

    /// A read comes for a unit: it is served with those that have just interrupted its operation.
    pub(super) fn note_read(&mut self, now: SimTime, unit: UnitId) {
        let newest = self.queues.sequence;
        let Some(suspension) = &mut self.suspension else { return };
        if let Some(suspended) = &mut suspension.units[unit.0 as usize].suspended
            && suspended.interrupted == now
        {
            suspended.last = newest;
        }
    }

    /// The data of a unit's last read leave until `end`. Whether the unit is suspended: then it can serve more reads, or
    /// resume.
    #[inline]
    pub(super) fn stays_suspended(&mut self, now: SimTime, unit: UnitId, end: SimTime, cause: Cause) -> bool {
        let Some(suspension) = &mut self.suspension else { return false };
        let Some(suspended) = &mut suspension.units[unit.0 as usize].suspended else { return false };
        suspended.until = end;
        if cause != Cause::Host && self.latencies.is_some() {
            self.record_unit(now, unit, end, cause);
        }
        let state = &mut self.dies[unit];
        state.phase = UnitPhase::Suspended;
        state.busy += end.since(now);
        self.dies.agenda.set(unit.0 as usize, end);
        true
    }

    /// Whether a unit is suspended; what it was reading has been cut off now.
    pub(in crate::drive) fn stop_suspended_read(&mut self, now: SimTime, unit: UnitId) -> bool {
        let Some(suspension) = &mut self.suspension else { return false };
        let Some(suspended) = &mut suspension.units[unit.0 as usize].suspended else { return false };
        suspended.until = now;
        self.dies[unit].phase = UnitPhase::Suspended;
        true
    }

    /// A channel has been visited: its suspended units whose data have left resume, unless another read of theirs waits
    /// for the channel only.
    pub(super) fn resume_units(&mut self, now: SimTime, channel: usize, backends: &mut DriveBackends<C>) {
        let Channel { first_unit, free_at, .. } = self.dies.channels[channel];
        for unit in (first_unit..first_unit + self.dies.per_channel as u32).map(UnitId) {
            let Some(suspension) = &self.suspension else { return };
            let suspended = suspension.units[unit.0 as usize].suspended;
            let has_read = self.dies[unit].phase == UnitPhase::Suspended;
            let Some(suspended) = suspended.filter(|suspended| has_read && suspended.until <= now) else {
                continue;
            };
            if free_at > now && self.may_interrupt(free_at, unit) {
                self.dies.arm_channel(channel);
            } else {
                self.resume(now, unit, suspended.since, backends);
            }
        }
    }

    /// A unit continues the operation that it did until `since`.
    fn resume(&mut self, now: SimTime, unit: UnitId, since: SimTime, backends: &mut DriveBackends<C>) {
        let at = unit.0 as usize;
        let Some(suspension) = &mut self.suspension else { return };
        let delay = now.since(since) + suspension.rules.resume;
        let UnitUnderWay { operations, suspended } = &mut suspension.units[at];
        *suspended = None;
        for operation in operations.iter_mut() {
            operation.end = operation.end + delay;
            operation.suspended += delay;
        }
        let Some(free_at) = operations.back().map(|last| last.end) else { return };
        if let Some(first) = operations.front_mut() {
            // Observers are notified of its parts, one by one.
            first.since = now;
            if first.is_first_death {
                backends.health.note_death(first.end);
            }
        }
        let state = &mut self.dies.units[at];
        state.phase = UnitPhase::Free;
        state.busy += free_at.since(now);
        self.dies.free_at[at] = free_at;
        if self.dies.accepts_at[at] > since {
            self.dies.accepts_at[at] = self.dies.accepts_at[at] + delay;
        }
        self.dies.agenda.set(at, free_at);
        if self.flash.commands.cache_program {
            let channel = self.dies.units[at].channel as usize;
            let accepts = self.dies.accepts_at[at].max(self.dies.channels[channel].free_at).max(now);
            self.dies.wake_channel_by(channel, accepts);
        }
        self.arm_end(unit);
        self.record_resumed(now, unit);
    }

    /// What a unit does from now on besides the host's work.
    fn record_resumed(&mut self, mut now: SimTime, unit: UnitId) {
        if self.latencies.is_none() {
            return;
        }
        let operations = |this: &Self, at: usize| {
            let suspension = this.suspension.as_ref()?;
            suspension.units[unit.0 as usize].operations.get(at).map(|one| (one.end, one.cause))
        };
        for at in 0.. {
            let Some((end, cause)) = operations(self, at) else { return };
            if cause != Cause::Host {
                self.record_unit(now, unit, end, cause);
            }
            now = end;
        }
    }
}
