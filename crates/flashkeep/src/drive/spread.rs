//! Pools of several busy units (`ftl.pool` with `flash.busy_unit` below the pool): a pool's open block is in one of its
//! units, reads and erases take place where their block is, and a collection reads in one unit and may program in
//! another.
//!
//! A pool waits for collection in the queue of its *home*, its first unit. A step is taken when the unit that it needs
//! is idle, and, of a program, when its pages have left the unit that they were read in. Reads that wait for a page
//! that is moved to another unit stay where they are: the victim is erased when they have been served.

use super::backends::DriveBackends;
use super::controller::Controller;
use super::{DieQueue, DriveOp};
use crate::drive::Dies;
use crate::engine::{Cause, Contents};
use crate::flash::{Geometry, PlaneId, Pools, Ppn, UnitId};
use crate::kernel::{Id, SimTime};

/// Which unit each part of each pool is in, where pools have several.
#[derive(Clone, Debug)]
pub(super) struct PoolUnits {
    of_part: Vec<UnitId>,
    /// Planes of the flash in a pool.
    parts: u32,
}

impl PoolUnits {
    /// None where each pool has one unit.
    pub(super) fn of(geometry: &Geometry, pools: Pools) -> Option<Box<PoolUnits>> {
        let parts = pools.planes_each();
        let units = |plane| (0..parts).map(move |part| geometry.unit_of_block(PlaneId(plane), part));
        let of_part: Vec<UnitId> = (0..geometry.plane_count()).flat_map(units).collect();
        let several = of_part.chunks(parts as usize).any(|units| units.iter().any(|unit| *unit != units[0]));
        several.then(|| Box::new(PoolUnits { of_part, parts }))
    }

    fn at(&self, plane: PlaneId, block: u32) -> UnitId {
        self.of_part[(plane.0 * self.parts + block % self.parts) as usize]
    }
}

impl<C: Contents> Controller<C> {
    /// The unit that a page is in.
    #[inline]
    pub(super) fn unit_of_page(&self, ppn: Ppn) -> UnitId {
        let plane = self.flash.geometry.plane_of(ppn);
        match &self.dies.spread {
            None => self.dies.of_plane[plane.0 as usize],
            Some(spread) => spread.at(plane, self.flash.geometry.block_of(ppn)),
        }
    }

    /// The home of the planes that a unit has a part of.
    pub(super) fn home_of(&self, unit: UnitId, backends: &DriveBackends<C>) -> UnitId {
        let has = |die_queue: &&DieQueue| die_queue.unit == unit;
        match self.dies.spread {
            None => unit,
            Some(_) => backends
                .ftl
                .die_queues
                .iter()
                .find(has)
                .map_or(unit, |die_queue| self.dies.of_plane[die_queue.planes[0].0 as usize]),
        }
    }

    /// The planes whose home a unit is.
    pub(super) fn planes_at_home(&self, unit: UnitId) -> Vec<PlaneId> {
        let here = |plane: &PlaneId| self.dies.of_plane[plane.0 as usize] == unit;
        match self.dies.spread {
            None => {
                let first = unit.0 * self.flash.geometry.planes_per_unit;
                (first..first + self.flash.geometry.planes_per_unit).map(PlaneId).collect()
            }
            Some(_) => (0..self.flash.geometry.plane_count()).map(PlaneId).filter(here).collect(),
        }
    }

    /// The die of the flash that a block is in.
    pub(super) fn die_of(&self, plane: PlaneId, block: u32) -> (u32, u32, u32) {
        let (geometry, pools) = (&self.flash.geometry, self.flash.pools);
        let place = match pools == Pools::PLANES {
            true => geometry.place(plane),
            false => pools.place(geometry, geometry.ppn(plane, block, 0)).0,
        };
        (place.channel, place.chip, place.die)
    }

    // ---------------------------------------------------------------- collection

    /// The unit of the next step of a collection; none if it is not among the `idle` ones of its channel.
    #[inline]
    pub(super) fn unit_of_step(
        &self,
        plane: PlaneId,
        victim: u32,
        idle: u64,
        whole: bool,
        backends: &mut DriveBackends<C>,
    ) -> Option<UnitId> {
        if self.dies.spread.is_none() {
            return Some(self.dies.of_plane[plane.0 as usize]);
        }
        backends.unit_in_pool(plane, victim, idle, whole, self)
    }

    /// A step has programmed what it moved by `end`: in a pool of several units the erase does not wait for that by
    /// itself.
    #[inline]
    pub(super) fn guard_moved(
        &mut self,
        unit: UnitId,
        plane: PlaneId,
        victim: u32,
        end: SimTime,
        backends: &mut DriveBackends<C>,
    ) {
        if self.dies.spread.is_some() {
            let block = self.flash.geometry.block_index(plane, victim);
            backends.guard(Some(block), end);
            self.guard_under_way(unit, block, backends);
        }
    }
}

impl Dies {
    /// The unit that a block is in.
    #[inline]
    pub(super) fn unit_of_block(&self, plane: PlaneId, block: u32) -> UnitId {
        match &self.spread {
            None => self.of_plane[plane.0 as usize],
            Some(spread) => spread.at(plane, block),
        }
    }

    /// All units of a plane, its home first.
    pub(super) fn units_of(&self, plane: PlaneId) -> Vec<UnitId> {
        let Some(spread) = &self.spread else { return vec![self.of_plane[plane.0 as usize]] };
        let mut units: Vec<UnitId> = (0..spread.parts).map(|part| spread.at(plane, part)).collect();
        units.dedup();
        units
    }
}

impl<C: Contents> DriveBackends<C> {
    /// The block that a stream of a plane programs next.
    pub(super) fn next_block(&self, plane: PlaneId, stream: Option<u8>) -> Option<u32> {
        let front = self.ftl.blocks.front(stream, plane);
        front
            .map(|ppn| self.flash.geometry.block_of(ppn))
            .or_else(|| self.ftl.blocks.next_block(stream, plane))
    }

    // ---------------------------------------------------------------- writes

    /// The plane of a die queue that would take the first write of its write queue, in the die queue's unit.
    #[inline(never)]
    pub(super) fn plane_in_unit(
        &self,
        die_queue: &DieQueue,
        head: Id<DriveOp>,
        controller: &Controller<C>,
    ) -> Option<(PlaneId, u32)> {
        if self.ftl.physical {
            return controller
                .physical_plane_for(die_queue.unit, head, self)
                .map(|plane| (plane, die_queue.turn));
        }
        let op = &controller.queues.ops[head];
        let lpn = op.command.start.low() + u32::from(op.placed);
        self.bound_plane(die_queue, lpn, |plane| {
            let stream = self.stream_into(plane, usize::from(die_queue.ftl), head, op.placed, controller);
            let block = self.next_block(plane, Some(stream));
            block.is_some_and(|block| controller.dies.unit_of_block(plane, block) == die_queue.unit)
        })
    }

    #[inline(never)]
    fn unit_in_pool(
        &mut self,
        plane: PlaneId,
        victim: u32,
        idle: u64,
        whole: bool,
        controller: &Controller<C>,
    ) -> Option<UnitId> {
        let source = controller.dies.unit_of_block(plane, victim);
        if whole {
            let mut units = controller.dies.units_of(plane).into_iter();
            return units.all(|unit| controller.dies.is_among(idle, unit)).then_some(source);
        }
        if controller.dies.reads_for_collection(source) {
            return None;
        }
        // Where nothing is free, what is read goes to the controller's memory.
        let unit = match self.stream_of_step(plane, victim, controller) {
            Some(stream) => self
                .next_block(plane, stream)
                .map_or(source, |block| controller.dies.unit_of_block(plane, block)),
            None => source,
        };
        controller.dies.is_among(idle, unit).then_some(unit)
    }

    /// A collection that holds its channel has programmed pages in these units, besides that of its victim.
    pub(super) fn hold_others(
        &mut self,
        now: SimTime,
        others: &[UnitId],
        until: SimTime,
        cause: Cause,
        controller: &mut Controller<C>,
    ) {
        for &unit in others {
            controller.occupy_unit(now, unit, until, cause, self);
        }
    }
}
