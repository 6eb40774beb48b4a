//! Cache registers: a unit receives the data of its next program during the current one, and reads its next
//! page while the previous one crosses the channel. Its array therefore never idles.
//!
//! Source: ONFI's page cache program and read cache random, with tCBSY and tRCBSY as
//! `flash.commands.register_ns`.

use super::dies::{BusyUnitState, UnitPhase};
use super::queue::DriveOp;
use super::{Controller, Dies, Queues};
use crate::engine::{Cause, Contents};
use crate::flash::{BusUse, Geometry, OpKind, OpPhases, PlaneId, UnitId};
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
    ) -> SimTime {
        let at = unit.0 as usize;
        let before = self.dies.free_at[at];
        let starts = self.flash.timing.array_begins(now + phases.sent(), true, before);
        let durable = starts + phases.array();
        let held = if self.flash.bus == BusUse::Operations { durable.since(now) } else { phases.sent() };
        self.occupy_channel(now, channel, held, cause);
        self.occupy_unit(now.max(before), unit, durable, cause);
        self.accounts.counters.cache[OpKind::Program as usize] += u64::from(before > now);
        self.dies.accepts_at[at] = starts;
        if self.queues.waiting > 0 {
            self.dies.agenda.set(at, starts);
        }
        durable
    }
}

impl Dies {
    /// Units of a channel that still program but can take the data of another page, one bit each. Units for which other
    /// operations wait are left out, because these would never get their turn.
    #[inline(never)]
    pub(super) fn accepting(&self, now: SimTime, channel: usize) -> u64 {
        let state = &self.channels[channel];
        let accepts = |&n: &usize| self.accepts(now, UnitId(state.first_unit + n as u32));
        let units = (0..self.per_channel).filter(accepts);
        units.fold(0, |mask, n| mask | 1 << n) & !(state.waiting | state.collecting)
    }

    /// Whether a unit that programs can take the data of its next program.
    pub(in crate::drive) fn accepts(&self, now: SimTime, unit: UnitId) -> bool {
        let at = unit.0 as usize;
        self.units[at].phase == UnitPhase::Free && self.accepts_at[at] <= now && self.free_at[at] > now
    }

    /// The page that a unit has read goes into its cache register, if another read is about to start: whether there is
    /// one.
    pub(super) fn make_way(&mut self, unit: UnitId) -> bool {
        let state = &mut self[unit];
        let is_ready = state.phase == UnitPhase::Ready;
        if is_ready {
            state.cached = std::mem::replace(&mut state.current, Id::NONE);
        }
        is_ready
    }

    /// That page crosses the channel; returns whether the unit is then free.
    #[inline]
    pub(super) fn let_go<C>(
        &mut self,
        channel: usize,
        unit: UnitId,
        op: Id<DriveOp>,
        queues: &mut Queues<C>,
    ) -> bool {
        let rest = if op.is_some() { queues[op].next } else { Id::NONE };
        let state = &mut self[unit];
        if state.cached.is_some() {
            state.cached = rest;
            if !rest.is_some() && state.phase != UnitPhase::Ready {
                self.channels[channel].ready &= !state.bit;
            }
            return false;
        }
        state.current = rest;
        if !rest.is_some() {
            self.channels[channel].ready &= !state.bit;
        }
        !rest.is_some()
    }

    /// Whether any page that a unit has read, or is reading, passes a test.
    pub(super) fn any_read<C>(
        &self,
        unit: UnitId,
        queues: &Queues<C>,
        test: impl Fn(&DriveOp) -> bool,
    ) -> bool {
        let BusyUnitState { phase, cached, current, .. } = &self[unit];
        [*cached, *current].into_iter().any(|first| {
            let mut at = if *phase == UnitPhase::Free { Id::NONE } else { first };
            while at.is_some() {
                if test(&queues[at]) {
                    return true;
                }
                at = queues[at].next;
            }
            false
        })
    }

    /// Takes the pages of a plane out of a unit's registers.
    pub(in crate::drive) fn empty_registers<C>(
        &mut self,
        unit: UnitId,
        plane: PlaneId,
        geometry: &Geometry,
        queues: &mut Queues<C>,
    ) -> Vec<Id<DriveOp>> {
        let BusyUnitState { cached, current, .. } = &self[unit];
        let mut gone = Vec::new();
        let [cached, current] = [*cached, *current].map(|first| {
            let (mut kept, mut last, mut at) = (Id::NONE, Id::NONE, first);
            while at.is_some() {
                let DriveOp { next, ppn, .. } = queues[at];
                queues[at].next = Id::NONE;
                if geometry.plane_of(ppn) == plane {
                    gone.push(at);
                } else {
                    if last.is_some() {
                        queues[last].next = at
                    } else {
                        kept = at
                    }
                    last = at;
                }
                at = next;
            }
            kept
        });
        let state = &mut self[unit];
        (state.cached, state.current) = (cached, current);
        gone
    }
}
