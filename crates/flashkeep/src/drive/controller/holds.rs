//! Records which operation holds each channel and die, and from when to when, for timelines. A hold is
//! recorded when it is granted. So the holds of one resource are in order, never overlap, and add up to its
//! busy time.
//!
//! Recording operations would not suffice: a read releases its channel, and later its die, while other
//! operations go first; planes that work together hold their die once.

use super::dies::UnitPhase;
use super::{Controller, DriveAccounts, PageOwner};
use crate::drive::{BusyPeriod, Resource, Told};
use crate::engine::{Cause, Contents};
use crate::flash::{OpKind, UnitId};
use crate::kernel::SimTime;

impl<C: Contents> Controller<C> {
    /// A unit and its channel have been granted at `now`, for as long as their states say.
    #[inline(never)]
    pub(in crate::drive) fn tell_granted(&mut self, now: SimTime, unit: UnitId, kind: OpKind, cause: Cause) {
        let state = &self.dies[unit];
        let channel = state.channel;
        let until = match state.phase {
            UnitPhase::Free => self.dies.free_at[unit.0 as usize],
            UnitPhase::Array | UnitPhase::Suspended => self.dies.agenda.at(unit.0 as usize),
            // It waits for its channel, and does nothing meanwhile.
            UnitPhase::Ready => now,
        };
        self.accounts.tell_hold(Resource::Unit(unit), now, until, kind, cause);
        let until = self.dies.channels[channel as usize].free_at;
        self.accounts.tell_hold(Resource::Channel(channel), now, until, kind, cause);
    }

    /// Data leave a unit over its channel because of `cause`; none for its collection.
    #[inline(never)]
    pub(super) fn tell_data_out(
        &mut self,
        now: SimTime,
        unit: UnitId,
        cause: Option<Cause>,
        backends: &impl PageOwner<C>,
    ) {
        let collects = || self.dies[unit].collect_head.map(|plane| backends.moves_because(plane));
        let cause = cause.or_else(collects).unwrap_or(Cause::Gc);
        self.tell_granted(now, unit, OpKind::Read, cause);
    }
}

impl DriveAccounts {
    /// A part of what holds a unit and its channel together since `start` is over at `end`.
    pub(in crate::drive) fn tell_part(
        &mut self,
        start: SimTime,
        end: SimTime,
        unit: UnitId,
        channel: usize,
        kind: OpKind,
        cause: Cause,
    ) {
        self.tell_hold(Resource::Unit(unit), start, end, kind, cause);
        self.tell_hold(Resource::Channel(channel as u32), start, end, kind, cause);
    }

    /// Reports that a resource is in use from `start` to `end`, without the part that has been reported already.
    pub(in crate::drive) fn tell_hold(
        &mut self,
        what: Resource,
        start: SimTime,
        end: SimTime,
        kind: OpKind,
        cause: Cause,
    ) {
        let place = self.place_of(what);
        let Some(watch) = &mut self.watch else { return };
        let Some(told) = watch.told.get_mut(place) else { return };
        let start = start.max(*told);
        if start < end {
            *told = end;
            let hold = BusyPeriod { what, start, end, kind, cause };
            watch.logs.iter_mut().for_each(|log| log.hold(0, &hold));
            watch.keep(Told::Hold(hold));
        }
    }

    /// The current operation is cut off at `now`, so that the next one may begin.
    pub(in crate::drive) fn tell_cut_off(&mut self, now: SimTime, what: Resource) {
        let place = self.place_of(what);
        if let Some(told) = self.watch.as_mut().and_then(|watch| watch.told.get_mut(place)) {
            *told = now.min(*told);
        }
    }

    /// The power has failed: all operations are cut off.
    pub(in crate::drive) fn tell_all_cut_off(&mut self, now: SimTime) {
        for told in self.watch.iter_mut().flat_map(|watch| &mut watch.told) {
            *told = now.min(*told);
        }
    }

    /// The place of a resource in the list of reported holds, [`Watch`].
    fn place_of(&self, what: Resource) -> usize {
        match what {
            Resource::Unit(unit) => unit.0 as usize,
            Resource::Channel(channel) => self.units + channel as usize,
        }
    }
}
