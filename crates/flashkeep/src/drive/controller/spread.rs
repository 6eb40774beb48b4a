//! Pools of several busy units (`ftl.pool` with `flash.busy_unit` below the pool): a pool's open block is in one of its
//! units, reads and erases take place where their block is, and a collection reads in one unit and may program in
//! another.
//!
//! A pool waits for collection in the queue of its *home*, its first unit. A step is taken when the unit that it needs
//! is idle, and, of a program, when its pages have left the unit that they were read in. Reads that wait for a page
//! that is moved to another unit stay where they are: the victim is erased when they have been served.

use super::Dies;
use crate::flash::{Geometry, PlaneId, Pools, Ppn, UnitId};

/// Which unit each part of each pool is in, where pools have several.
#[derive(Clone, Debug)]
pub(in crate::drive) struct PoolUnits {
    of_part: Vec<UnitId>,
    /// The home of each unit's pool.
    homes: Vec<UnitId>,
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
        let mut homes: Vec<UnitId> = (0..geometry.unit_count()).map(UnitId).collect();
        for (plane, units) in (0..).map(PlaneId).zip(of_part.chunks(parts as usize)) {
            units.iter().for_each(|unit| homes[unit.0 as usize] = geometry.unit_of(plane));
        }
        several.then(|| Box::new(PoolUnits { of_part, homes, parts }))
    }

    fn at(&self, plane: PlaneId, block: u32) -> UnitId {
        self.of_part[(plane.0 * self.parts + block % self.parts) as usize]
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

    /// The unit that a page is in.
    #[inline]
    pub(in crate::drive) fn unit_of_page(&self, geometry: &Geometry, ppn: Ppn) -> UnitId {
        let plane = geometry.plane_of(ppn);
        match &self.spread {
            None => self.of_plane[plane.0 as usize],
            Some(spread) => spread.at(plane, geometry.block_of(ppn)),
        }
    }

    /// The home of the pool that a unit has a part of.
    pub(super) fn home_of(&self, unit: UnitId) -> UnitId {
        self.spread.as_ref().map_or(unit, |spread| spread.homes[unit.0 as usize])
    }

    /// The planes whose home a unit is.
    pub(in crate::drive) fn planes_at_home(&self, unit: UnitId, geometry: &Geometry) -> Vec<PlaneId> {
        let first = unit.0 * geometry.planes_per_unit;
        match self.spread {
            None => (first..first + geometry.planes_per_unit).map(PlaneId).collect(),
            Some(_) => {
                let planes = (0..geometry.plane_count()).map(PlaneId);
                planes.filter(|&plane| self.unit_of(plane) == unit).collect()
            }
        }
    }
}
