//! Channels and units: who is busy until when, and what waits for them.

use super::{Drive, Op, Queue};
use crate::engine::{Cause, Contents};
use crate::flash::{Geometry, PlaneId, Ppn, UnitId};
use crate::kernel::{Id, SimTime, Span};

use super::Kind;

/// Where a unit stands in what it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Free, or busy until a known instant.
    #[default]
    Free,
    /// The array is being read; an event says when the page is in the register.
    Array,
    /// The page waits in the register for the channel.
    Ready,
}

/// A chip, die or plane: what does one thing at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Unit {
    pub channel: u32,
    /// Its place in the channel's masks.
    pub bit: u64,
    pub phase: Phase,
    /// Reads that wait for it, and how long they will take.
    pub reads: Queue,
    pub queued: Span,
    /// The read it does, and by their links those that joined it; none while it reads for a collection.
    pub current: Id<Op>,
    /// A page that has been read and makes way for the next one, with cache reads.
    pub cached: Id<Op>,
    /// The page it programs, or programmed last.
    pub programs: Option<Ppn>,
    /// All pages of a program of several, that one first.
    pub together: Vec<Ppn>,
    /// Sectors that a collection has read; 0 for those of a page.
    pub carries: u16,
    /// Planes that wait to be collected.
    pub collect_head: Option<PlaneId>,
    pub collect_tail: Option<PlaneId>,
    /// One of its planes may be collected in an idle moment.
    pub soft: bool,
    pub busy: Span,
}

/// A bus and what waits for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Channel {
    pub free_at: SimTime,
    pub first_unit: u32,
    /// Units with reads waiting.
    pub waiting: u64,
    /// Units with a page in the register.
    pub ready: u64,
    /// Units with planes to be collected.
    pub collecting: u64,
    /// Its lanes, each with the place of its unit in the masks.
    pub lanes: Vec<(u32, u32)>,
    /// The lane that is offered the next write first.
    pub turn: u32,
    pub busy: Span,
}

/// A flash operation, as the log tells it.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// When its first resource was granted.
    pub start: SimTime,
    /// When its unit is free again.
    pub end: SimTime,
    /// The page, or the first page of the block.
    pub ppn: Ppn,
    /// What was done.
    pub kind: Kind,
    /// Why.
    pub cause: Cause,
}

pub(super) fn units(geometry: &Geometry) -> Vec<Unit> {
    let unit = |id: u32| {
        let channel = geometry.channel_of(UnitId(id));
        let bit = 1 << (id - channel * geometry.units_per_channel());
        Unit { channel, bit, ..Unit::default() }
    };
    (0..geometry.unit_count()).map(unit).collect()
}

pub(super) fn channels(geometry: &Geometry) -> Vec<Channel> {
    let first_unit = |channel: u32| channel * geometry.units_per_channel();
    (0..geometry.channels).map(|c| Channel { first_unit: first_unit(c), ..Channel::default() }).collect()
}

/// The unit whose bit is set, where it is the only one.
#[inline]
pub(super) fn only_bit(mask: u64) -> Option<u32> {
    mask.is_power_of_two().then(|| mask.trailing_zeros())
}

/// The units whose bits are set, lowest first.
pub(super) fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let bit = mask.trailing_zeros();
        mask &= mask - 1;
        Some(bit)
    })
}

impl<C: Contents> Drive<C> {
    /// Something waits for a busy unit: its release becomes an event.
    #[inline]
    pub(super) fn arm_unit(&mut self, now: SimTime, unit: UnitId) {
        let free_at = self.free_at[unit.0 as usize];
        if free_at > now && free_at != SimTime::NEVER {
            self.agenda.set(unit.0 as usize, free_at);
        }
    }

    /// Something waits for a busy channel: its release becomes an event.
    #[inline]
    pub(super) fn arm_channel(&mut self, channel: usize) {
        self.agenda.set(self.units.len() + channel, self.channels[channel].free_at);
    }

    /// The unit is busy from `now` until `until`.
    #[inline]
    pub(super) fn occupy_unit(&mut self, now: SimTime, unit: UnitId, until: SimTime) {
        let state = &mut self.units[unit.0 as usize];
        state.phase = Phase::Free;
        state.busy += until.since(now);
        self.free_at[unit.0 as usize] = until;
        // Whichever pool writes wait in, it may be one of the unit's: to look is dearer than to wake in vain.
        if self.pools_waiting > 0 || state.reads.head.is_some() || state.collect_head.is_some() {
            self.agenda.set(unit.0 as usize, until);
        }
        if self.minds_units {
            self.mind(unit, until);
        }
    }

    /// The channel is in use from `now` for `span`.
    #[inline]
    pub(super) fn occupy_channel(&mut self, now: SimTime, channel: usize, span: Span) {
        let state = &mut self.channels[channel];
        debug_assert!(state.free_at <= now, "a channel does one thing at a time");
        state.free_at = now + span;
        state.busy += span;
    }

    /// How long a read of a page in the unit would wait at least.
    pub(super) fn wait_for(&self, unit: UnitId) -> Span {
        let state = &self.units[unit.0 as usize];
        let channel = &self.channels[state.channel as usize];
        let mut wait = channel.free_at.since(self.now);
        wait += match state.phase {
            Phase::Free => self.free_at[unit.0 as usize].since(self.now),
            Phase::Array => self.agenda.at(unit.0 as usize).since(self.now) + self.timing.transfer(0),
            Phase::Ready => self.timing.transfer(0),
        };
        wait + state.queued
    }
}
