//! Cache registers: a unit receives the data of its next program during the current one, and reads its next
//! page while the previous one crosses the channel. Its array therefore never idles.
//!
//! Source: ONFI's page cache program and read cache random, with tCBSY and tRCBSY as
//! `flash.commands.register_ns`.

use super::Controller;
use super::dies::{BusyUnitState, UnitPhase};
use super::queue::DriveOp;
use crate::drive::backends::DriveBackends;
use crate::engine::{Cause, Contents};
use crate::flash::{BusUse, OpKind, OpPhases, PlaneId, UnitId};
use crate::kernel::{Id, SimTime};

impl<C: Contents> Controller<C> {
    /// A program through the cache register: its data cross the channel, and the array starts when they are there and
    /// its current work has ended. Returns when it ends.
    #[inline(never)]
    pub(super) fn start_cached(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        phases: &OpPhases,
        cause: Cause,
        backends: &mut DriveBackends<C>,
    ) -> SimTime {
        let at = unit.0 as usize;
        let before = self.dies.free_at[at];
        let starts = self.flash.timing.array_begins(now + phases.sent(), true, before);
        let durable = starts + phases.array();
        let held = if self.flash.bus == BusUse::Operations { durable.since(now) } else { phases.sent() };
        self.occupy_channel(now, channel, held, cause);
        self.occupy_unit(now.max(before), unit, durable, cause, backends);
        self.accounts.counters.cache[OpKind::Program as usize] += u64::from(before > now);
        self.dies.accepts_at[at] = starts;
        if self.queues.waiting > 0 {
            self.dies.agenda.set(at, starts);
        }
        durable
    }

    /// Units of a channel that still program but can take the data of another page, one bit each. Units for which other
    /// operations wait are left out, because these would never get their turn.
    #[inline(never)]
    pub(super) fn accepting(&self, now: SimTime, channel: usize) -> u64 {
        let state = &self.dies.channels[channel];
        let accepts = |&n: &usize| self.accepts(now, UnitId(state.first_unit + n as u32));
        let units = (0..self.dies.per_channel).filter(accepts);
        units.fold(0, |mask, n| mask | 1 << n) & !(state.waiting | state.collecting)
    }

    pub(in crate::drive) fn accepts(&self, now: SimTime, unit: UnitId) -> bool {
        let at = unit.0 as usize;
        self.flash.commands.cache_program
            && self.dies.units[at].phase == UnitPhase::Free
            && self.dies.accepts_at[at] <= now
            && self.dies.free_at[at] > now
    }

    /// The page that a unit has read goes into its cache register, if another read is about to start.
    pub(super) fn make_way(&mut self, unit: UnitId) {
        let state = &mut self.dies[unit];
        if state.phase == UnitPhase::Ready {
            state.cached = std::mem::replace(&mut state.current, Id::NONE);
            self.accounts.counters.cache[OpKind::Read as usize] += 1;
        }
    }

    /// That page crosses the channel; returns whether the unit is then free.
    #[inline]
    pub(super) fn let_go(&mut self, channel: usize, unit: UnitId, op: Id<DriveOp>) -> bool {
        let rest = if op.is_some() { self.queues[op].next } else { Id::NONE };
        let state = &mut self.dies[unit];
        if state.cached.is_some() {
            state.cached = rest;
            if !rest.is_some() && state.phase != UnitPhase::Ready {
                self.dies.channels[channel].ready &= !state.bit;
            }
            return false;
        }
        state.current = rest;
        if !rest.is_some() {
            self.dies.channels[channel].ready &= !state.bit;
        }
        !rest.is_some()
    }

    /// Whether any page that a unit has read, or is reading, passes a test.
    pub(super) fn any_read(&self, unit: UnitId, test: impl Fn(&DriveOp) -> bool) -> bool {
        let BusyUnitState { phase, cached, current, .. } = &self.dies[unit];
        [*cached, *current].into_iter().any(|first| {
            let mut at = if *phase == UnitPhase::Free { Id::NONE } else { first };
            while at.is_some() {
                if test(&self.queues[at]) {
                    return true;
                }
                at = self.queues[at].next;
            }
            false
        })
    }

    /// Takes the pages of a plane out of a unit's registers.
    pub(in crate::drive) fn empty_registers(&mut self, unit: UnitId, plane: PlaneId) -> Vec<Id<DriveOp>> {
        let BusyUnitState { cached, current, .. } = &self.dies[unit];
        let mut gone = Vec::new();
        let [cached, current] = [*cached, *current].map(|first| {
            let (mut kept, mut last, mut at) = (Id::NONE, Id::NONE, first);
            while at.is_some() {
                let DriveOp { next, ppn, .. } = self.queues[at];
                self.queues[at].next = Id::NONE;
                if self.flash.geometry.plane_of(ppn) == plane {
                    gone.push(at);
                } else {
                    if last.is_some() {
                        self.queues[last].next = at
                    } else {
                        kept = at
                    }
                    last = at;
                }
                at = next;
            }
            kept
        });
        let state = &mut self.dies[unit];
        (state.cached, state.current) = (cached, current);
        gone
    }
}
