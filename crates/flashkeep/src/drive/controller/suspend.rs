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

use super::dies::{Channel, UnitPhase, bits};
use super::open_operations::Resumed;
use super::{Controller, PageOwner};
use crate::drive::Resource;
use crate::engine::{Cause, Contents};
use crate::flash::UnitId;
use crate::kernel::{SimTime, Span};

impl<C: Contents> Controller<C> {
    // ---------------------------------------------------------------- which reads

    /// The units of a channel that can begin a read, a bit each: those of `able` unless they are to resume, and those
    /// whose operation a read may interrupt once the channel is free.
    pub(super) fn readable(&self, now: SimTime, channel: usize, able: u64) -> u64 {
        let Channel { waiting, first_unit, free_at, .. } = self.dies.channels[channel];
        let at = now.max(free_at);
        bits(waiting).fold(able, |able, bit| {
            let unit = UnitId(first_unit + bit);
            let is_idle = self.open.of(unit).len() == 0;
            let reads = if is_idle { able >> bit & 1 == 1 } else { self.may_interrupt(at, unit) };
            able & !(1 << bit) | u64::from(reads) << bit
        })
    }

    /// Whether the first read that waits for a unit may interrupt its operation, or prolong its suspension.
    fn may_interrupt(&self, at: SimTime, unit: UnitId) -> bool {
        let state = &self.dies[unit];
        if !state.reads.head.is_some() {
            return false;
        }
        let read = &self.queues[state.reads.head];
        // Scrubbing reads one page at a time: the next read in the list is another's.
        let only_scrubs = read.command.cause == Cause::Scrub && !read.next.is_some();
        if only_scrubs || self.open.keeps_waiting(&self.flash.geometry, unit, read.ppn) || state.stall.is_on()
        {
            return false;
        }
        // With a cache register, the next read may begin while the page before waits for the channel.
        let is_able = |until: SimTime| match state.phase {
            UnitPhase::Suspended => until <= at,
            UnitPhase::Ready => self.flash.commands.cache_read && !state.cached.is_some(),
            UnitPhase::Free | UnitPhase::Array => false,
        };
        let reading = self.flash.timing.command_time() + read.service;
        self.open.gives_way(at, unit, (read.sequence, reading), is_able)
    }

    // ---------------------------------------------------------------- suspending and resuming

    /// The first read that waits for a unit begins: what the unit does is suspended. How long it takes until the unit can
    /// sense.
    #[inline]
    pub(super) fn interrupt(&mut self, now: SimTime, unit: UnitId) -> Span {
        if self.open.may_exist() { self.interrupt_operation(now, unit) } else { Span::ZERO }
    }

    #[inline(never)]
    fn interrupt_operation(&mut self, now: SimTime, unit: UnitId) -> Span {
        let at = unit.0 as usize;
        let (read, newest) = (self.queues[self.dies.units[at].reads.head].sequence, self.queues.sequence);
        let Some(works) = self.open.interrupt(now, unit, read, newest) else { return Span::ZERO };
        let state = &mut self.dies.units[at];
        state.busy = state.busy - self.dies.free_at[at].since(now);
        self.accounts.counters.suspensions[works.kind as usize] += 1;
        self.probe.end_work(unit, now);
        self.dies.arm_end(unit, &self.open);
        if self.accounts.watch.is_some() {
            self.accounts.tell_hold(Resource::Unit(unit), works.since, now, works.kind, works.cause);
        }
        works.lead
    }

    /// The data of a unit's last read leave until `end`. Whether the unit is suspended: then it can serve more reads, or
    /// resume.
    #[inline]
    pub(super) fn stays_suspended(&mut self, now: SimTime, unit: UnitId, end: SimTime, cause: Cause) -> bool {
        if !self.open.end_read(unit, end) {
            return false;
        }
        self.record_unit(now, unit, end, cause);
        let state = &mut self.dies[unit];
        state.phase = UnitPhase::Suspended;
        state.busy += end.since(now);
        self.dies.agenda.set(unit.0 as usize, end);
        true
    }

    /// A channel has been visited: its suspended units whose data have left resume, unless another read of theirs waits
    /// for the channel only.
    pub(super) fn resume_units(&mut self, now: SimTime, channel: usize, backends: &mut impl PageOwner<C>) {
        let Channel { first_unit, free_at, under_way, .. } = self.dies.channels[channel];
        for unit in bits(under_way).map(|bit| UnitId(first_unit + bit)) {
            let has_read = self.dies[unit].phase == UnitPhase::Suspended;
            let suspended = self.open.suspended(unit);
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
    fn resume(&mut self, now: SimTime, unit: UnitId, since: SimTime, backends: &mut impl PageOwner<C>) {
        let at = unit.0 as usize;
        let Some(Resumed { delay, free_at, first_death }) = self.open.resume(now, unit, since) else {
            return;
        };
        if let Some(end) = first_death {
            backends.note_death(end);
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
        self.dies.arm_end(unit, &self.open);
        self.record_resumed(now, unit);
    }

    /// What a unit does from now on besides the host's work.
    fn record_resumed(&mut self, mut now: SimTime, unit: UnitId) {
        if !self.probe.is_on() {
            return;
        }
        for at in 0.. {
            let Some((end, cause)) = self.open.of(unit).nth(at).map(|one| (one.end, one.cause)) else {
                return;
            };
            self.record_unit(now, unit, end, cause);
            now = end;
        }
    }
}
