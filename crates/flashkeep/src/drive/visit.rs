//! A channel is visited: the scheduler picks one thing after another until the channel is in use or nothing is left.

use super::Drive;
use super::media::{Phase, bits};
use crate::engine::Contents;
use crate::kernel::SimTime;
use crate::media::scheduler::Class;
use crate::media::{PlaneId, UnitId};

/// What a class of actions had to offer.
enum Turn {
    /// Something was granted.
    Granted,
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
    }

    /// Grants what can be granted.
    pub(super) fn visit(&mut self, now: SimTime, channel: usize) {
        while self.channels[channel].free_at <= now {
            if !self.grant_one(now, channel) {
                return;
            }
        }
        if self.is_wanted_by_someone(now, channel) {
            self.arm_channel(channel);
        }
    }

    #[inline]
    fn grant_one(&mut self, now: SimTime, channel: usize) -> bool {
        let state = &self.channels[channel];
        if state.waiting | state.ready | state.collecting == 0 {
            return matches!(self.try_class(now, channel, Class::Write), Turn::Granted);
        }
        if self.scheduler.by_age
            && let Some(class) = self.oldest_class(now, channel)
            && self.channels[channel].collecting == 0
        {
            return matches!(self.try_class(now, channel, class), Turn::Granted);
        }
        for class in self.scheduler.order {
            match self.try_class(now, channel, class) {
                Turn::Granted => return true,
                Turn::Blocked => return false,
                Turn::Nothing => {}
            }
        }
        false
    }

    #[inline]
    fn try_class(&mut self, now: SimTime, channel: usize, class: Class) -> Turn {
        let granted = match class {
            Class::Collect => return self.try_collect(now, channel),
            Class::Read => self.next_read(now, channel).map(|unit| self.grant_read(now, channel, unit)),
            Class::DataOut => self.next_data(channel).map(|unit| self.grant_data_out(now, channel, unit)),
            Class::Write => self
                .next_write(now, channel)
                .map(|(lane, plane, turn)| self.grant_write(now, channel, lane, plane, turn)),
        };
        if granted.is_some() { Turn::Granted } else { Turn::Nothing }
    }

    fn try_collect(&mut self, now: SimTime, channel: usize) -> Turn {
        let collecting = self.channels[channel].collecting;
        if collecting == 0 {
            return Turn::Nothing;
        }
        let first = self.channels[channel].first_unit;
        let mut waits = false;
        for bit in bits(collecting) {
            let unit = UnitId(first + bit);
            if !self.is_idle(now, unit) {
                self.arm_unit(now, unit);
                waits = true;
            } else if self.collect(now, channel, unit) {
                return Turn::Granted;
            }
        }
        let register_holds_it = self.channels[channel].ready != 0;
        if waits && self.scheduler.collection_holds_channel && !register_holds_it {
            return Turn::Blocked;
        }
        Turn::Nothing
    }

    /// The oldest read that waits for an idle unit.
    #[inline]
    fn next_read(&self, now: SimTime, channel: usize) -> Option<UnitId> {
        let waiting = self.channels[channel].waiting;
        if waiting == 0 {
            return None;
        }
        let age = |unit: &UnitId| self.ops[self.units[unit.0 as usize].reads.head].sequence;
        self.idle_among(now, channel, waiting).min_by_key(age)
    }

    /// The unit whose page has waited longest in the register; a collection's comes last.
    #[inline]
    fn next_data(&self, channel: usize) -> Option<UnitId> {
        let (ready, first) = (self.channels[channel].ready, self.channels[channel].first_unit);
        if ready == 0 {
            return None;
        }
        let age = |unit: &UnitId| {
            let current = self.units[unit.0 as usize].current;
            if current.is_some() { self.ops[current].sequence } else { u64::MAX }
        };
        bits(ready).map(|bit| UnitId(first + bit)).min_by_key(age)
    }

    /// The lane that takes the next write: the first from the one whose turn it is whose unit is idle and that has
    /// both something to take and room for it.
    #[inline]
    fn next_write(&mut self, now: SimTime, channel: usize) -> Option<(usize, PlaneId, u32)> {
        if self.pools_waiting == 0 {
            return None;
        }
        let state = &self.channels[channel];
        let (before, from) = state.lanes.split_at(state.turn as usize);
        let in_turn = (state.turn..).zip(from).chain((0..).zip(before));
        for (at, &(lane, unit)) in in_turn {
            if self.is_idle(now, unit)
                && let Some((plane, turn)) = self.plane_for(lane as usize)
            {
                let next = at + 1;
                self.channels[channel].turn = if next as usize == state.lanes.len() { 0 } else { next };
                return Some((lane as usize, plane, turn));
            }
        }
        None
    }

    /// By age: the class whose first is oldest.
    fn oldest_class(&mut self, now: SimTime, channel: usize) -> Option<Class> {
        let sequence = |op| self.ops[op].sequence;
        let read = self.next_read(now, channel).map(|u| sequence(self.units[u.0 as usize].reads.head));
        let data = self.next_data(channel).map(|u| self.units[u.0 as usize].current);
        let data = data.map(|op| if op.is_some() { sequence(op) } else { 0 });
        let turn = self.channels[channel].turn;
        let write = self.next_write(now, channel).map(|(lane, _, _)| {
            let pool = self.lanes[lane].pool as usize;
            self.ops[self.pools[pool].head].sequence
        });
        self.channels[channel].turn = turn;
        let ages = [(data, Class::DataOut), (read, Class::Read), (write, Class::Write)];
        let present = ages.into_iter().filter_map(|(age, class)| age.map(|age| (age, class)));
        present.min_by_key(|&(age, _)| age).map(|(_, class)| class)
    }

    /// Whether the channel, now in use, will have something to do when it falls free.
    #[inline]
    fn is_wanted_by_someone(&self, now: SimTime, channel: usize) -> bool {
        let state = &self.channels[channel];
        if state.ready != 0 {
            return true;
        }
        let either = state.waiting | state.collecting;
        if either != 0 && self.idle_among(now, channel, either).next().is_some() {
            return true;
        }
        if self.pools_waiting == 0 {
            return false;
        }
        state.lanes.iter().any(|&(lane, unit)| {
            self.is_idle(now, unit) && self.pools[self.lanes[lane as usize].pool as usize].head.is_some()
        })
    }
}
