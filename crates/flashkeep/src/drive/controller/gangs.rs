//! Gangs: channels that share their control lines (`flash.control_gang`). All channels of a gang begin their operations
//! together, and none begins the next before all have ended. With `flash.bus = "operations"` that is an operation with
//! its array time; with `transfers`, a command or a transfer of data. Rounds of a gang are in [`super::rounds`].
//!
//! Source: Agrawal et al., USENIX ATC 2008, section 3.3 (shared control).

use super::{Controller, Dies, Gangs, PageOwner};
use crate::engine::Contents;
use crate::flash::{BusUse, FlashArray, UnitId};
use crate::kernel::SimTime;
use std::ops::Range;

/// The operations that began together on the channels of a gang.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct GangRound {
    pub begun: SimTime,
    pub end: SimTime,
}

impl GangRound {
    const NONE: GangRound = GangRound { begun: SimTime::NEVER, end: SimTime::ZERO };
}

/// The permission of a channel of a gang.
pub(super) enum GangTurn {
    /// It may begin an operation.
    Begins,
    /// It continues the operation that it has begun.
    GoesOn,
    /// It waits until the others have ended.
    Waits,
}

impl Gangs {
    /// Gangs of `size` channels each.
    pub(super) fn new(size: u32, channels: u32) -> Gangs {
        Gangs { size: size as usize, rounds: vec![GangRound::NONE; (channels / size) as usize] }
    }

    /// All gangs are idle.
    pub(super) fn reset(&mut self) {
        self.rounds.fill(GangRound::NONE);
    }

    /// The channels of the gang that a channel belongs to.
    pub(super) fn of(&self, channel: usize) -> Range<usize> {
        let first = channel / self.size * self.size;
        first..first + self.size
    }
}

impl<C: Contents> Controller<C> {
    /// An operation was granted; the other channels of the gang begin now or wait until it has ended.
    pub(super) fn begin(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        backends: &mut impl PageOwner<C>,
    ) {
        let gang = channel / self.dies.gangs.size;
        let end = self.dies.ends_at(now, channel, unit, &self.flash);
        let round = &mut self.dies.gangs.rounds[gang];
        if round.end <= now && round.begun != now {
            *round = GangRound { begun: now, end };
            self.dies
                .gangs
                .of(channel)
                .filter(|&other| other != channel)
                .for_each(|other| self.visit(now, other, backends));
        } else {
            round.end = round.end.max(end);
        }
    }
}

impl Dies {
    /// The present permission of a channel of a gang; a channel that waits is visited again when the others have ended.
    pub(super) fn turn_of(&mut self, now: SimTime, channel: usize, bus: BusUse) -> GangTurn {
        let GangRound { begun, end } = self.gangs.rounds[channel / self.gangs.size];
        if end <= now || begun == now {
            return GangTurn::Begins;
        }
        if bus == BusUse::Operations && self.channels[channel].ready != 0 {
            return GangTurn::GoesOn;
        }
        self.agenda.set(self.unit_count() + channel, end);
        GangTurn::Waits
    }

    /// When the granted operations let the gang continue.
    fn ends_at(&self, now: SimTime, channel: usize, unit: UnitId, flash: &FlashArray) -> SimTime {
        let free_at = self.free_at[unit.0 as usize];
        if flash.bus == BusUse::Transfers {
            self.channels[channel].free_at
        } else if free_at == SimTime::NEVER {
            now + flash.timing.slowest_read().busy() + flash.timing.transfer(0)
        } else {
            free_at
        }
    }
}
