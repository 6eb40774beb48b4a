//! A channel is visited: the scheduler picks one thing after another until the channel is in use or nothing is left.

use super::dies::{Channel, Phase, bits, only_bit};
use super::{Drive, Lane, Op, Round};
use crate::engine::Contents;
use crate::flash::scheduler::Class;
use crate::flash::{BusUse, PlaneId, UnitId};
use crate::kernel::{Id, SimTime};

/// What a class of actions had to offer.
enum Turn {
    /// Something was granted to the unit.
    Granted(UnitId),
    /// Nothing can be done now.
    Nothing,
    /// Nothing can be done, and nothing else may be.
    Blocked,
}

impl<C: Contents> Drive<C> {
    /// A unit's event: its page is in the register, or it falls free and something waits for it.
    pub(super) fn unit_wakes(&mut self, now: SimTime, unit: UnitId) {
        let state = &mut self.units[unit.0 as usize];
        let (channel, bit) = (state.channel as usize, state.bit);
        if state.phase == Phase::Array {
            state.phase = Phase::Ready;
            self.channels[channel].ready |= bit;
        }
        self.visit(now, channel);
        if self.minds_units {
            self.after_visit(now, channel, unit);
        }
    }

    /// Grants what can be granted.
    pub(super) fn visit(&mut self, now: SimTime, channel: usize) {
        if self.bus == BusUse::Rounds {
            return self.visit_in_rounds(now, channel);
        }
        if self.gang > 1 && !self.may_begin(now, channel) {
            return;
        }
        let mut idle = self.idle_units(now, channel);
        while self.channels[channel].free_at <= now {
            match self.grant_one(now, channel, idle) {
                Turn::Granted(unit) => {
                    idle &= !self.units[unit.0 as usize].bit;
                    if self.gang > 1 {
                        self.begin(now, channel, unit);
                    }
                }
                Turn::Nothing | Turn::Blocked => return,
            }
        }
        // Now in use: will it have something to do when it falls free?
        let state = &self.channels[channel];
        let wanted = (state.waiting | state.collecting) & idle != 0 || (idle != 0 && self.pools_waiting > 0);
        let accepted = self.commands.cache_program && self.pools_waiting > 0;
        if wanted || accepted || state.ready != 0 {
            self.arm_channel(channel);
        }
    }

    /// Whether a channel that shares its control lines may begin something: with the others of its gang, or when they
    /// have ended, or because it goes on with what it began.
    pub(super) fn may_begin(&mut self, now: SimTime, channel: usize) -> bool {
        let Round { begun, end } = self.rounds[channel / self.gang];
        if end <= now || begun == now || self.channels[channel].ready != 0 {
            return true;
        }
        self.agenda.set(self.units.len() + channel, end);
        false
    }

    /// Something was granted; the others of the gang begin now or wait until it has ended.
    pub(super) fn begin(&mut self, now: SimTime, channel: usize, unit: UnitId) {
        let gang = channel / self.gang;
        let first = self.rounds[gang].end <= now;
        let free_at = self.free_at[unit.0 as usize];
        let out = self.timing.longest_read() + self.timing.transfer(0);
        let end = if free_at == SimTime::NEVER { now + self.timing.command + out } else { free_at };
        let round = &mut self.rounds[gang];
        if first {
            *round = Round { begun: now, end };
            (gang * self.gang..(gang + 1) * self.gang)
                .filter(|&other| other != channel)
                .for_each(|other| self.visit(now, other));
        } else {
            round.end = round.end.max(end);
        }
    }

    /// The units of a channel that can start something, a bit each.
    #[inline]
    fn idle_units(&self, now: SimTime, channel: usize) -> u64 {
        let first = self.channels[channel].first_unit as usize;
        if self.units_per_channel == 1 {
            return u64::from(self.free_at[first] <= now);
        }
        let units = &self.free_at[first..first + self.units_per_channel];
        units.iter().rev().fold(0, |mask, &free_at| mask << 1 | u64::from(free_at <= now))
    }

    #[inline]
    fn grant_one(&mut self, now: SimTime, channel: usize, idle: u64) -> Turn {
        let state = &self.channels[channel];
        if idle == 0 && state.ready == 0 && self.simple && !self.commands.cache_read {
            return Turn::Nothing;
        }
        if state.waiting | state.ready | state.collecting == 0 {
            return self.try_write(now, channel, idle);
        }
        if self.scheduler.by_age && state.collecting == 0 {
            return self.grant_oldest(now, channel, idle);
        }
        let (waits, ready, collects) = (state.waiting != 0, state.ready != 0, state.collecting != 0);
        let writes = !self.simple || self.pools_waiting > 0;
        for class in self.scheduler.order {
            let offers = match class {
                Class::Read => waits,
                Class::DataOut => ready,
                Class::Collect => collects,
                Class::Write => writes,
            };
            if !offers {
                continue;
            }
            let turn = self.try_class(now, channel, idle, class);
            if !matches!(turn, Turn::Nothing) {
                return turn;
            }
        }
        Turn::Nothing
    }

    #[inline(never)]
    fn try_class(&mut self, now: SimTime, channel: usize, idle: u64, class: Class) -> Turn {
        let unit = match class {
            Class::Collect => return self.try_collect(now, channel, idle),
            Class::Read => self.next_read(channel, idle).inspect(|&unit| self.grant_read(now, channel, unit)),
            Class::DataOut => {
                self.next_data(channel).inspect(|&unit| self.grant_data_out(now, channel, unit))
            }
            Class::Write => return self.try_write(now, channel, idle),
        };
        unit.map_or(Turn::Nothing, Turn::Granted)
    }

    /// A program, the most frequent of all: kept apart from the rest so that it stays small.
    #[inline(never)]
    fn try_write(&mut self, now: SimTime, channel: usize, idle: u64) -> Turn {
        if !self.simple {
            return self.try_write_otherwise(now, channel, idle);
        }
        match self.next_write::<true>(channel, idle) {
            Some((lane, plane, turn)) => {
                Turn::Granted(self.grant_write::<true>(now, channel, lane, plane, turn))
            }
            None => Turn::Nothing,
        }
    }

    #[inline(never)]
    fn grant_simply(&mut self, now: SimTime, channel: usize, lane: usize, plane: PlaneId, turn: u32) -> Turn {
        Turn::Granted(self.grant_write::<true>(now, channel, lane, plane, turn))
    }

    #[inline(never)]
    fn try_write_otherwise(&mut self, now: SimTime, channel: usize, idle: u64) -> Turn {
        if self.raw {
            return self.try_raw(now, channel, idle);
        }
        if self.joins {
            return self.try_writes(now, channel, idle);
        }
        match self.next_write::<false>(channel, idle) {
            Some((lane, plane, turn)) => {
                let unit = self.grant_write::<false>(now, channel, lane, plane, turn);
                self.pass_on(now, channel, lane);
                Turn::Granted(unit)
            }
            None => Turn::Nothing,
        }
    }

    #[inline(never)]
    fn try_writes(&mut self, now: SimTime, channel: usize, idle: u64) -> Turn {
        let idle = if self.commands.cache_program { idle | self.accepting(now, channel) } else { idle };
        match self.next_write::<false>(channel, idle) {
            Some((lane, plane, turn)) => {
                let unit = self.grant_writes(now, channel, lane, plane, turn);
                self.pass_on(now, channel, lane);
                Turn::Granted(unit)
            }
            None => {
                if self.packs {
                    self.come_for_gathered(channel);
                }
                Turn::Nothing
            }
        }
    }

    /// Another write comes first in the pool that a lane has taken from: where planes are bound, other channels may be
    /// able to take it that could not take the one before.
    pub(super) fn pass_on(&mut self, now: SimTime, channel: usize, lane: usize) {
        let Lane { ftl, pool, .. } = self.lanes[lane];
        if !self.selective || !self.pools[pool as usize].head.is_some() {
            return;
        }
        for lane in self.ftls[usize::from(ftl)].lanes_range() {
            let other = self.units[self.lanes[lane].unit.0 as usize].channel as usize;
            if other != channel && self.lanes[lane].pool == pool {
                let slot = self.units.len() + other;
                let at = self.channels[other].free_at.max(now);
                self.agenda.set(slot, self.agenda.at(slot).min(at));
            }
        }
    }

    #[inline(never)]
    fn try_raw(&mut self, now: SimTime, channel: usize, idle: u64) -> Turn {
        match self.next_write::<false>(channel, idle) {
            Some((lane, ..)) => Turn::Granted(self.grant_raw(now, channel, lane)),
            None => {
                self.look_again_soon(now, channel);
                Turn::Nothing
            }
        }
    }

    #[inline(never)]
    fn try_collect(&mut self, now: SimTime, channel: usize, idle: u64) -> Turn {
        let Channel { mut collecting, first_unit, .. } = self.channels[channel];
        if !self.background {
            collecting &= self.wanted_units(channel);
        }
        for bit in bits(collecting & idle) {
            let unit = UnitId(first_unit + bit);
            if self.collect(now, channel, unit) {
                return Turn::Granted(unit);
            }
        }
        // A page that waits in a register keeps its unit busy until the channel has served it.
        let waits = self.channels[channel].collecting & !idle != 0 && self.channels[channel].ready == 0;
        if waits && self.scheduler.collection_holds_channel { Turn::Blocked } else { Turn::Nothing }
    }

    /// The units of a channel that a read or a write waits for.
    pub(super) fn wanted_units(&self, channel: usize) -> u64 {
        let Channel { waiting, lanes, .. } = &self.channels[channel];
        let written = |&&(lane, _): &&(u32, u32)| {
            let pool = self.lanes[lane as usize].pool;
            self.pools[pool as usize].head.is_some()
        };
        lanes.iter().filter(written).fold(*waiting, |mask, &(_, bit)| mask | 1 << bit)
    }

    /// The oldest read that waits for an idle unit.
    #[inline]
    fn next_read(&self, channel: usize, idle: u64) -> Option<UnitId> {
        let Channel { waiting, first_unit, .. } = self.channels[channel];
        let able = if self.commands.cache_read { idle | self.overlapping(channel) } else { idle };
        let age = |unit: &UnitId| self.ops[self.units[unit.0 as usize].reads.head].sequence;
        if let Some(only) = only_bit(waiting & able) {
            return Some(UnitId(first_unit + only));
        }
        bits(waiting & able).map(|bit| UnitId(first_unit + bit)).min_by_key(age)
    }

    /// The unit whose page has waited longest in the register; a collection's comes last.
    #[inline]
    fn next_data(&self, channel: usize) -> Option<UnitId> {
        let (ready, first) = (self.channels[channel].ready, self.channels[channel].first_unit);
        if ready == 0 {
            return None;
        }
        if let Some(only) = only_bit(ready) {
            return Some(UnitId(first + only));
        }
        let age = |unit: &UnitId| {
            let leaving = self.leaving(*unit);
            if leaving.is_some() { self.ops[leaving].sequence } else { u64::MAX }
        };
        bits(ready).map(|bit| UnitId(first + bit)).min_by_key(age)
    }

    /// The lane that takes the next write: the first from the one whose turn it is whose unit is idle and that has
    /// both something to take and room for it.
    #[inline(always)]
    pub(super) fn next_write<const SIMPLE: bool>(
        &mut self,
        channel: usize,
        idle: u64,
    ) -> Option<(usize, PlaneId, u32)> {
        if idle == 0 || self.pools_waiting == 0 {
            return None;
        }
        let Channel { lanes, turn, .. } = &self.channels[channel];
        let first = *turn as usize;
        let mut at = first;
        loop {
            let (lane, bit) = lanes[at];
            at = if at + 1 == lanes.len() { 0 } else { at + 1 };
            if idle >> bit & 1 == 1
                && let Some((plane, turn)) = self.plane_for::<SIMPLE>(lane as usize)
            {
                self.channels[channel].turn = at as u32;
                return Some((lane as usize, plane, turn));
            }
            if at == first {
                return None;
            }
        }
    }

    /// By age: whatever is oldest goes first, where nothing is to be collected.
    #[inline(never)]
    fn grant_oldest(&mut self, now: SimTime, channel: usize, idle: u64) -> Turn {
        let sequence = |op: Id<Op>| if op.is_some() { self.ops[op].sequence } else { 0 };
        let read = self.next_read(channel, idle);
        let of_read = read.map_or(u64::MAX, |unit| sequence(self.units[unit.0 as usize].reads.head));
        let data = self.next_data(channel);
        let of_data = data.map_or(u64::MAX, |unit| sequence(self.leaving(unit)));
        let turn = self.channels[channel].turn;
        let write = self.next_write::<false>(channel, idle);
        let head = |lane: usize| self.pools[self.lanes[lane].pool as usize].head;
        let of_write = write.map_or(u64::MAX, |(lane, ..)| self.ops[head(lane)].sequence);
        if let Some((lane, plane, turn)) = write
            && self.simple
            && of_write < of_read.min(of_data)
        {
            return self.grant_simply(now, channel, lane, plane, turn);
        }
        self.channels[channel].turn = turn;
        match (data, read) {
            (Some(unit), _) if of_data < of_read.min(of_write) => {
                self.grant_data_out(now, channel, unit);
                Turn::Granted(unit)
            }
            (_, Some(unit)) if of_read < of_write => {
                self.grant_read(now, channel, unit);
                Turn::Granted(unit)
            }
            _ => self.try_write(now, channel, idle),
        }
    }
}
