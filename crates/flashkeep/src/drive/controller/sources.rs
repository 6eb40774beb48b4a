//! Sources of work for the dies of a channel, one for each class of the scheduler's rule. A visit of the
//! channel ([`super::visit`]) asks them in the rule's order. It does not know where operations wait or which
//! pages they get.

use super::dies::{Channel, bits, only_bit};
use super::program::ProgramMode;
use super::{Controller, Dies, PageOwner, Queues};
use crate::engine::Contents;
use crate::flash::{PlaneId, UnitId};
use crate::kernel::SimTime;
use std::marker::PhantomData;

/// The answer of a source.
pub(in crate::drive) enum Next {
    /// An operation of this die was granted.
    Granted(UnitId),
    /// It has no operation that can start now.
    Nothing,
    /// It has no operation that can start now, and no other source may start one.
    BlockChannel,
    /// It has no operation that can start before this instant.
    NotBefore(SimTime),
}

/// A class whose operations have an age.
pub(super) trait ByAge<C: Contents> {
    /// An operation that could be granted.
    type Found: Copy;

    /// The one that is granted next, without side effects.
    fn find(
        controller: &Controller<C>,
        channel: usize,
        idle: u64,
        backends: &impl PageOwner<C>,
    ) -> Option<Self::Found>;

    /// Its place in the order in which operations came; those of collections come first.
    fn age(controller: &Controller<C>, found: Self::Found, backends: &impl PageOwner<C>) -> u64;

    /// Grants the operation that was found.
    fn grant(
        controller: &mut Controller<C>,
        now: SimTime,
        channel: usize,
        found: Self::Found,
        backends: &mut impl PageOwner<C>,
    ) -> UnitId;

    /// Grants an operation of one of the idle dies of a channel, a bit each.
    fn next(
        controller: &mut Controller<C>,
        now: SimTime,
        channel: usize,
        idle: u64,
        backends: &mut impl PageOwner<C>,
    ) -> Next {
        match Self::find(controller, channel, idle, backends) {
            Some(found) => Next::Granted(Self::grant(controller, now, channel, found, backends)),
            None => Next::Nothing,
        }
    }
}

/// Reads that wait for their die.
pub(super) struct ReadSource;

/// Pages in registers that wait for the channel.
pub(super) struct DataOut;

/// Planes that wait to be collected.
pub(super) struct Collections;

/// Writes that wait in queues, and erases of physical-page backends.
pub(super) struct Writes<M>(PhantomData<M>);

impl<C: Contents> ByAge<C> for ReadSource {
    type Found = UnitId;

    /// The oldest read that waits for an idle unit.
    #[inline]
    fn find(
        controller: &Controller<C>,
        channel: usize,
        idle: u64,
        backends: &impl PageOwner<C>,
    ) -> Option<UnitId> {
        let Channel { waiting, first_unit, .. } = controller.dies.channels[channel];
        let mut able = if controller.flash.commands.cache_read {
            idle | controller.dies.overlapping(channel)
        } else {
            idle
        };
        if controller.open.may_exist() {
            able = controller.readable(controller.now, channel, able);
        }
        if let Some(only) = only_bit(waiting & able) {
            return Some(UnitId(first_unit + only));
        }
        bits(waiting & able)
            .map(|bit| UnitId(first_unit + bit))
            .min_by_key(|&unit| Self::age(controller, unit, backends))
    }

    #[inline]
    fn age(controller: &Controller<C>, unit: UnitId, _: &impl PageOwner<C>) -> u64 {
        controller.queues[controller.dies[unit].reads.head].sequence
    }

    #[inline]
    fn grant(
        controller: &mut Controller<C>,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        backends: &mut impl PageOwner<C>,
    ) -> UnitId {
        controller.grant_read(now, channel, unit, backends);
        unit
    }
}

impl<C: Contents> ByAge<C> for DataOut {
    type Found = UnitId;

    /// The unit whose page has waited longest in the register; a collection's comes last.
    #[inline]
    fn find(controller: &Controller<C>, channel: usize, _: u64, _: &impl PageOwner<C>) -> Option<UnitId> {
        let (ready, first) =
            (controller.dies.channels[channel].ready, controller.dies.channels[channel].first_unit);
        if ready == 0 {
            return None;
        }
        if let Some(only) = only_bit(ready) {
            return Some(UnitId(first + only));
        }
        let age = |unit: &UnitId| {
            let leaving = controller.dies.leaving(*unit);
            if leaving.is_some() { controller.queues[leaving].sequence } else { u64::MAX }
        };
        bits(ready).map(|bit| UnitId(first + bit)).min_by_key(age)
    }

    #[inline]
    fn age(controller: &Controller<C>, unit: UnitId, _: &impl PageOwner<C>) -> u64 {
        let leaving = controller.dies.leaving(unit);
        if leaving.is_some() { controller.queues[leaving].sequence } else { 0 }
    }

    #[inline]
    fn grant(
        controller: &mut Controller<C>,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        backends: &mut impl PageOwner<C>,
    ) -> UnitId {
        controller.grant_data_out(now, channel, unit, backends);
        unit
    }
}

impl Collections {
    /// Grants a step of a collection to one of the dies of a channel.
    #[inline(never)]
    pub(super) fn next<C: Contents>(
        controller: &mut Controller<C>,
        now: SimTime,
        channel: usize,
        idle: u64,
        backends: &mut impl PageOwner<C>,
    ) -> Next {
        let Channel { mut collecting, first_unit, .. } = controller.dies.channels[channel];
        // The home of a write queue may be busy while other units of it are not.
        let spread = controller.dies.spread.is_some();
        if !controller.rules.collects_in_background {
            let wanted = controller.dies.wanted_units(channel, &controller.queues, backends);
            collecting &= if spread && wanted != 0 { u64::MAX } else { wanted };
        }
        for bit in bits(if spread { collecting } else { collecting & idle }) {
            if let Some(unit) = backends.collect(now, channel, UnitId(first_unit + bit), idle, controller) {
                return Next::Granted(unit);
            }
        }
        // A page that waits in a register keeps its unit busy until the channel has served it.
        let Channel { collecting, ready, .. } = controller.dies.channels[channel];
        let waits = !spread && collecting & !idle != 0 && ready == 0;
        if waits && controller.dies.scheduler.collection_holds_channel {
            Next::BlockChannel
        } else {
            Next::Nothing
        }
    }
}

/// A die queue that takes a write, and the plane that the page goes to; whose turn it is then, of die queues and
/// planes.
#[derive(Clone, Copy)]
pub(in crate::drive) struct Taker {
    pub die_queue: usize,
    pub plane: PlaneId,
    pub turn_of_planes: u32,
    pub turn_of_die_queues: u32,
}

impl<C: Contents, M: ProgramMode> ByAge<C> for Writes<M> {
    type Found = Taker;

    /// The first die queue from the one whose turn it is whose unit is idle and that has both something to take and
    /// room for it.
    #[inline(always)]
    fn find(
        controller: &Controller<C>,
        channel: usize,
        idle: u64,
        backends: &impl PageOwner<C>,
    ) -> Option<Taker> {
        if idle == 0 || controller.queues.waiting == 0 {
            return None;
        }
        let Channel { die_queues, turn, .. } = &controller.dies.channels[channel];
        let first = *turn as usize;
        let mut at = first;
        loop {
            let (die_queue, bit) = die_queues[at];
            at = if at + 1 == die_queues.len() { 0 } else { at + 1 };
            if idle >> bit & 1 == 1
                && let Some((plane, turn_of_planes)) = backends.plane_for::<M>(die_queue as usize, controller)
            {
                let die_queue = die_queue as usize;
                return Some(Taker { die_queue, plane, turn_of_planes, turn_of_die_queues: at as u32 });
            }
            if at == first {
                return None;
            }
        }
    }

    #[inline]
    fn age(controller: &Controller<C>, found: Taker, backends: &impl PageOwner<C>) -> u64 {
        let head = controller.queues.first_write(backends.write_queue_of(found.die_queue));
        controller.queues[head].sequence
    }

    #[inline(always)]
    fn grant(
        controller: &mut Controller<C>,
        now: SimTime,
        channel: usize,
        found: Taker,
        backends: &mut impl PageOwner<C>,
    ) -> UnitId {
        backends.grant_next::<M>(now, channel, found, controller)
    }

    /// A program, the most frequent operation of all: compiled into the visit of a channel.
    #[inline(always)]
    fn next(
        controller: &mut Controller<C>,
        now: SimTime,
        channel: usize,
        idle: u64,
        backends: &mut impl PageOwner<C>,
    ) -> Next {
        let cached = !M::PLAIN && controller.flash.commands.cache_program && !controller.rules.physical;
        let idle = if cached { idle | controller.dies.accepting(now, channel) } else { idle };
        match Self::find(controller, channel, idle, backends) {
            Some(found) => Next::Granted(Self::grant(controller, now, channel, found, backends)),
            None if M::PLAIN => Next::Nothing,
            None => backends.writes_later(now, channel, controller),
        }
    }
}

impl Dies {
    /// The units of a channel that a read or a write waits for.
    pub(super) fn wanted_units<C>(
        &self,
        channel: usize,
        queues: &Queues<C>,
        backends: &impl PageOwner<C>,
    ) -> u64 {
        let Channel { waiting, die_queues, .. } = &self.channels[channel];
        let written =
            |&&(die_queue, _): &&(u32, u32)| queues.has_writes(backends.write_queue_of(die_queue as usize));
        die_queues.iter().filter(written).fold(*waiting, |mask, &(_, bit)| mask | 1 << bit)
    }
}
