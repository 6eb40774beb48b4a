//! Gangs: channels that share their control lines (`flash.control_gang`). What holds a channel begins together with what
//! holds the others of its gang, and none begins the next before all have ended. With `flash.bus = "operations"` that is
//! an operation, its array time included; with `transfers`, a command, or data on their way in or out. Rounds of a gang
//! are in [`super::rounds`].
//!
//! Source: Agrawal et al., USENIX ATC 2008, section 3.3 (shared control).

use super::Drive;
use crate::engine::Contents;
use crate::flash::{BusUse, UnitId};
use crate::kernel::SimTime;
use std::ops::Range;

/// Channels that share their control lines.
#[derive(Clone, Debug)]
pub(super) struct Gangs {
    /// Channels of a gang; 1 where each has control lines of its own.
    pub(super) size: usize,
    /// What each gang does.
    rounds: Vec<GangRound>,
}

/// What has begun together on the channels of a gang.
#[derive(Clone, Copy, Debug)]
struct GangRound {
    begun: SimTime,
    end: SimTime,
}

impl GangRound {
    const NONE: GangRound = GangRound { begun: SimTime::NEVER, end: SimTime::ZERO };
}

/// What a channel of a gang may do.
pub(super) enum Turn {
    /// It begins something.
    Begins,
    /// It goes on with what it has begun.
    GoesOn,
    /// It waits until the others have ended.
    Waits,
}

impl Gangs {
    /// Gangs of `size` channels each.
    pub(super) fn new(size: u32, channels: u32) -> Gangs {
        Gangs { size: size as usize, rounds: vec![GangRound::NONE; (channels / size) as usize] }
    }

    /// All of them are at rest.
    pub(super) fn reset(&mut self) {
        self.rounds.fill(GangRound::NONE);
    }

    /// The channels of the gang that a channel belongs to.
    pub(super) fn of(&self, channel: usize) -> Range<usize> {
        let first = channel / self.size * self.size;
        first..first + self.size
    }
}

impl<C: Contents> Drive<C> {
    /// What a channel of a gang may do now; one that waits is visited again when the others have ended.
    pub(super) fn turn_of(&mut self, now: SimTime, channel: usize) -> Turn {
        let GangRound { begun, end } = self.dies.gangs.rounds[channel / self.dies.gangs.size];
        if end <= now || begun == now {
            return Turn::Begins;
        }
        if self.flash.bus == BusUse::Operations && self.dies.channels[channel].ready != 0 {
            return Turn::GoesOn;
        }
        self.dies.agenda.set(self.dies.units.len() + channel, end);
        Turn::Waits
    }

    /// Something was granted; the others of the gang begin now or wait until it has ended.
    pub(super) fn begin(&mut self, now: SimTime, channel: usize, unit: UnitId) {
        let gang = channel / self.dies.gangs.size;
        let end = self.ends_at(now, channel, unit);
        let round = &mut self.dies.gangs.rounds[gang];
        if round.end <= now && round.begun != now {
            *round = GangRound { begun: now, end };
            self.dies
                .gangs
                .of(channel)
                .filter(|&other| other != channel)
                .for_each(|other| self.visit(now, other));
        } else {
            round.end = round.end.max(end);
        }
    }

    /// When what was granted lets the gang go on.
    fn ends_at(&self, now: SimTime, channel: usize, unit: UnitId) -> SimTime {
        let free_at = self.dies.free_at[unit.0 as usize];
        if self.flash.bus == BusUse::Transfers {
            self.dies.channels[channel].free_at
        } else if free_at == SimTime::NEVER {
            now + self.flash.timing.slowest_read().busy() + self.flash.timing.transfer(0)
        } else {
            free_at
        }
    }
}
