//! A visit of a channel: the scheduler grants one action after another until the channel is busy or no work
//! is left.

use super::dies::UnitPhase;
use super::gangs::GangTurn;
use super::program::{Full, PlainMode, PlainPhysical, ProgramMode, Programs};
use super::sources::{ByAge, Collections, DataOut, Next, ReadSource, Taker, Writes};
use super::{Controller, PageOwner};
use crate::engine::Contents;
use crate::flash::scheduler::Class;
use crate::flash::{BusUse, UnitId};
use crate::kernel::SimTime;

impl<C: Contents> Controller<C> {
    /// A unit's event: its page is in the register, or it falls free and something waits for it.
    #[inline(always)]
    pub(in crate::drive) fn unit_wakes(
        &mut self,
        now: SimTime,
        unit: UnitId,
        backends: &mut impl PageOwner<C>,
    ) {
        let state = &self.dies[unit];
        let (channel, bit) = (state.channel as usize, state.bit);
        if state.phase == UnitPhase::Array {
            if !self.errors.may_occur() || !self.goes_on_sensing(now, channel, unit, backends) {
                self.dies[unit].phase = UnitPhase::Ready;
            }
            self.dies.channels[channel].ready |= bit;
        }
        self.visit(now, channel, backends);
        if self.dies.wake_on_release {
            self.after_visit(now, channel, unit, backends);
        }
    }

    /// A channel's event: it falls free, or something that it waits for has come.
    #[inline(always)]
    pub(in crate::drive) fn channel_wakes(
        &mut self,
        now: SimTime,
        channel: usize,
        backends: &mut impl PageOwner<C>,
    ) {
        match self.paths.programs {
            Programs::Plain => self.visit_as::<PlainMode>(now, channel, backends),
            Programs::PlainPhysical => self.visit_as::<PlainPhysical>(now, channel, backends),
            Programs::Full => {
                if self.rules.gathers_writes {
                    backends.offer_gathered(now, channel, self);
                }
                self.visit_fully(now, channel, backends);
            }
        }
    }

    /// Grants what can be granted.
    #[inline(always)]
    pub(in crate::drive) fn visit(&mut self, now: SimTime, channel: usize, backends: &mut impl PageOwner<C>) {
        match self.paths.programs {
            Programs::Plain => self.visit_as::<PlainMode>(now, channel, backends),
            Programs::PlainPhysical => self.visit_as::<PlainPhysical>(now, channel, backends),
            Programs::Full => self.visit_fully(now, channel, backends),
        }
    }

    /// [`Controller::visit`] with all features.
    #[inline]
    fn visit_fully(&mut self, now: SimTime, channel: usize, backends: &mut impl PageOwner<C>) {
        if self.dies.channels[channel].has_stalls {
            self.dies.hold_stalled(now, channel);
        }
        if !self.open.may_exist() {
            return self.visit_as::<Full>(now, channel, backends);
        }
        self.settle_channel(now, channel, backends);
        self.visit_as::<Full>(now, channel, backends);
        self.resume_units(now, channel, backends);
    }

    #[inline(never)]
    fn visit_as<M: ProgramMode>(&mut self, now: SimTime, channel: usize, backends: &mut impl PageOwner<C>) {
        if !M::PLAIN && self.flash.bus == BusUse::Rounds {
            return self.visit_in_rounds(now, channel, backends);
        }
        let first_unit = self.dies.channels[channel].first_unit;
        let mut idle = self.dies.idle_units(now, channel);
        let others = if !M::PLAIN && self.dies.gangs.size > 1 {
            match self.dies.turn_of(now, channel, self.flash.bus) {
                GangTurn::Waits => return,
                GangTurn::Begins => 0,
                // Its data are on their way out; the other units wait for the next round.
                GangTurn::GoesOn => std::mem::take(&mut idle),
            }
        } else {
            0
        };
        while self.dies.channels[channel].free_at <= now {
            match self.grant_one::<M>(now, channel, idle, backends) {
                Next::Granted(unit) => {
                    idle &= !(1 << (unit.0 - first_unit));
                    if !M::PLAIN && self.dies.gangs.size > 1 {
                        self.begin(now, channel, unit, backends);
                    }
                }
                Next::Nothing | Next::BlockChannel => return,
                Next::NotBefore(at) => return self.dies.wake_channel_by(channel, at),
            }
        }
        // The channel is in use: will it have work when it becomes free?
        idle |= others;
        let state = &self.dies.channels[channel];
        let write_queue_waits = !M::PLAIN && self.dies.spread.is_some() && state.collecting != 0;
        let collecting = if write_queue_waits { u64::MAX } else { state.collecting };
        let wanted = (state.waiting | collecting) & idle != 0 || (idle != 0 && self.queues.waiting > 0);
        let accepted = !M::PLAIN && self.flash.commands.cache_program && self.queues.waiting > 0;
        let interrupts = || !M::PLAIN && self.open.may_exist() && self.readable(now, channel, 0) != 0;
        if wanted || accepted || interrupts() || state.ready != 0 {
            self.dies.arm_channel(channel);
        }
    }

    #[inline(always)]
    fn grant_one<M: ProgramMode>(
        &mut self,
        now: SimTime,
        channel: usize,
        idle: u64,
        backends: &mut impl PageOwner<C>,
    ) -> Next {
        let state = &self.dies.channels[channel];
        if idle == 0 && state.ready == 0 && M::PLAIN && !self.flash.commands.cache_read {
            return Next::Nothing;
        }
        if state.waiting | state.ready | state.collecting == 0 {
            return Writes::<M>::next(self, now, channel, idle, backends);
        }
        if self.dies.scheduler.by_age && state.collecting == 0 {
            return self.grant_oldest::<M>(now, channel, idle, backends);
        }
        let (waits, ready, collects) = (state.waiting != 0, state.ready != 0, state.collecting != 0);
        let writes = !M::PLAIN || self.queues.waiting > 0;
        for class in self.dies.scheduler.order {
            let offers = match class {
                Class::Read => waits,
                Class::DataOut => ready,
                Class::Collect => collects,
                Class::Write => writes,
            };
            if !offers {
                continue;
            }
            match self.try_class::<M>(now, channel, idle, class, backends) {
                Next::Nothing => {}
                Next::NotBefore(at) => self.dies.wake_channel_by(channel, at),
                done => return done,
            }
        }
        Next::Nothing
    }

    #[inline(never)]
    fn try_class<M: ProgramMode>(
        &mut self,
        now: SimTime,
        channel: usize,
        idle: u64,
        class: Class,
        backends: &mut impl PageOwner<C>,
    ) -> Next {
        match class {
            Class::Collect => Collections::next(self, now, channel, idle, backends),
            Class::Read => ReadSource::next(self, now, channel, idle, backends),
            Class::DataOut => DataOut::next(self, now, channel, idle, backends),
            Class::Write => Writes::<M>::next(self, now, channel, idle, backends),
        }
    }

    /// By age: the oldest operation goes first, if no plane waits for GC.
    #[inline(never)]
    fn grant_oldest<M: ProgramMode>(
        &mut self,
        now: SimTime,
        channel: usize,
        idle: u64,
        backends: &mut impl PageOwner<C>,
    ) -> Next {
        let read = ReadSource::find(self, channel, idle, backends);
        let of_read = read.map_or(u64::MAX, |found| ReadSource::age(self, found, backends));
        let data = DataOut::find(self, channel, idle, backends);
        let of_data = data.map_or(u64::MAX, |found| DataOut::age(self, found, backends));
        let write = Writes::<M>::find(self, channel, idle, backends);
        let of_write = write.map_or(u64::MAX, |found| Writes::<M>::age(self, found, backends));
        match (data, read, write) {
            (Some(found), ..) if of_data < of_read.min(of_write) => {
                Next::Granted(DataOut::grant(self, now, channel, found, backends))
            }
            (_, Some(found), _) if of_read < of_write => {
                Next::Granted(ReadSource::grant(self, now, channel, found, backends))
            }
            (.., Some(found)) if M::PLAIN => self.grant_plainly::<M>(now, channel, found, backends),
            _ => Writes::<M>::next(self, now, channel, idle, backends),
        }
    }

    #[inline(never)]
    fn grant_plainly<M: ProgramMode>(
        &mut self,
        now: SimTime,
        channel: usize,
        found: Taker,
        backends: &mut impl PageOwner<C>,
    ) -> Next {
        Next::Granted(Writes::<M>::grant(self, now, channel, found, backends))
    }

    /// A unit is free, and all waiting operations have been granted.
    #[inline(never)]
    pub(super) fn after_visit(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        backends: &mut impl PageOwner<C>,
    ) {
        if self.flash.commands.cache_program {
            self.dies.come_back(now, unit);
        }
        // Units that work in rounds have found out in the visit.
        if self.flash.bus == BusUse::Rounds {
            return;
        }
        let home = self.dies.home_of(unit);
        if !self.dies[home].soft || !self.dies.is_idle(now, unit) || self.dies[unit].reads.head.is_some() {
            return;
        }
        let free_at = self.dies.channels[channel].free_at;
        if free_at > now {
            return self.dies.agenda.set(unit.0 as usize, free_at);
        }
        if self.dies.gangs.size > 1
            && !matches!(self.dies.turn_of(now, channel, self.flash.bus), GangTurn::Begins)
        {
            let again = self.dies.agenda.at(self.dies.unit_count() + channel);
            return self.dies.agenda.set(unit.0 as usize, again);
        }
        let idle = self.dies.idle_units(now, channel);
        match backends.work_softly(now, channel, [unit, home], idle, self) {
            None => self.dies[home].soft = false,
            Some(Some(unit)) if self.dies.gangs.size > 1 => self.begin(now, channel, unit, backends),
            Some(_) => {}
        }
    }
}
