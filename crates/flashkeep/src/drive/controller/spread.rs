//! Pools of several busy units (`ftl.pool` with `flash.busy_unit` below the pool): a pool's open block is in one of its
//! units, reads and erases take place where their block is, and a collection reads in one unit and may program in
//! another.
//!
//! A pool waits for collection in the queue of its *home*, its first unit. A step is taken when the unit that it needs
//! is idle, and, of a program, when its pages have left the unit that they were read in. Reads that wait for a page
//! that is moved to another unit stay where they are: the victim is erased when they have been served.

use super::queue::DriveOp;
use super::rounds::BATCH;
use super::{Controller, Dies};
use crate::drive::backends::{DieQueue, DriveBackends, Translation};
use crate::engine::Contents;
use crate::flash::{Geometry, PlaneId, Pools, Ppn, UnitId};
use crate::kernel::{Id, SimTime};

/// Which unit each part of each pool is in, where pools have several.
#[derive(Clone, Debug)]
pub(in crate::drive) struct PoolUnits {
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
    pub(in crate::drive) fn unit_of_page(&self, ppn: Ppn) -> UnitId {
        let plane = self.flash.geometry.plane_of(ppn);
        match &self.dies.spread {
            None => self.dies.of_plane[plane.0 as usize],
            Some(spread) => spread.at(plane, self.flash.geometry.block_of(ppn)),
        }
    }

    /// The home of the planes that a unit has a part of.
    pub(in crate::drive) fn home_of(&self, unit: UnitId, backends: &DriveBackends<C>) -> UnitId {
        let has = |die_queue: &&DieQueue| die_queue.unit == unit;
        match self.dies.spread {
            None => unit,
            Some(_) => backends
                .ftl
                .die_queues()
                .iter()
                .find(has)
                .map_or(unit, |die_queue| self.dies.of_plane[die_queue.planes[0].0 as usize]),
        }
    }

    /// The planes whose home a unit is.
    pub(in crate::drive) fn planes_at_home(&self, unit: UnitId) -> Vec<PlaneId> {
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
    pub(in crate::drive) fn die_of(&self, plane: PlaneId, block: u32) -> (u32, u32, u32) {
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
    pub(in crate::drive) fn unit_of_step(
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
        backends.gc.unit_in_pool(plane, victim, idle, whole, &backends.ftl, self)
    }

    /// A step has programmed what it moved by `end`: in a pool of several units the erase does not wait for that by
    /// itself.
    #[inline]
    pub(in crate::drive) fn guard_moved(
        &mut self,
        unit: UnitId,
        plane: PlaneId,
        victim: u32,
        end: SimTime,
        backends: &mut DriveBackends<C>,
    ) {
        if self.dies.spread.is_some() {
            let block = self.flash.geometry.block_index(plane, victim);
            backends.power.guard(Some(block), end);
            self.guard_under_way(unit, block, backends);
        }
    }
}

impl Dies {
    /// The unit that a block is in.
    #[inline]
    pub(in crate::drive) fn unit_of_block(&self, plane: PlaneId, block: u32) -> UnitId {
        match &self.spread {
            None => self.of_plane[plane.0 as usize],
            Some(spread) => spread.at(plane, block),
        }
    }

    /// All units of a plane, its home first.
    pub(in crate::drive) fn units_of(&self, plane: PlaneId) -> Vec<UnitId> {
        let Some(spread) = &self.spread else { return vec![self.of_plane[plane.0 as usize]] };
        let mut units: Vec<UnitId> = (0..spread.parts).map(|part| spread.at(plane, part)).collect();
        units.dedup();
        units
    }
}

impl<C: Contents> Controller<C> {
    /// The page after this one, in order of planes, blocks and pages.
    pub(in crate::drive) fn page_after(&self, ppn: Ppn) -> Ppn {
        let geometry = &self.flash.geometry;
        let (plane, block, page) = (geometry.plane_of(ppn), geometry.block_of(ppn), geometry.page_of(ppn));
        if page + 1 < geometry.pages {
            return geometry.ppn(plane, block, page + 1);
        }
        if block + 1 < geometry.blocks {
            return geometry.ppn(plane, block + 1, 0);
        }
        geometry.ppn(PlaneId((plane.0 + 1) % geometry.plane_count()), 0, 0)
    }

    pub(in crate::drive) fn deal_write_queue(
        &mut self,
        write_queue: u32,
        die_queues: &[usize],
        translation: &Translation<C>,
    ) {
        let planes = |die_queue: &usize| translation.die_queue(*die_queue).planes.clone();
        let planes: Vec<PlaneId> = die_queues.iter().flat_map(planes).collect();
        let mut given = vec![0; planes.len()];
        let (mut dealt, mut rest) = (vec![Vec::new(); die_queues.len()], Vec::new());
        let mut turn = self.dies.open_round.turn_of_planes(write_queue);
        for (n, op) in self.queues.take(write_queue, |_| true).into_iter().enumerate() {
            let plane = if n < BATCH { translation.deal_one(op, &planes, &given, turn, self) } else { None };
            let Some((at, next)) = plane else {
                rest.push(op);
                continue;
            };
            (given[at], turn) = (given[at] + 1, next);
            self.queues[op].dealt = Some(planes[at]);
            let die_queue = translation.die_queue_of(planes[at]);
            let place = die_queues
                .iter()
                .position(|&other| other == die_queue)
                .expect("a plane of one of these die queues");
            dealt[place].push(op);
        }
        self.dies.open_round.set_turn_of_planes(write_queue, turn);
        let rounds = dealt.iter().map(Vec::len).max().unwrap_or(0);
        let in_rounds = (0..rounds).flat_map(|round| dealt.iter().filter_map(move |own| own.get(round)));
        let order: Vec<Id<DriveOp>> = in_rounds.copied().chain(rest).collect();
        self.queues.put_in_order(write_queue, &order);
    }
}
