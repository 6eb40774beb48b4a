//! Faults of a drive's parts: which parts fail, and their replacement.

use super::{Drive, InjectFaults};
use crate::engine::{BackendId, Contents, Page};
use crate::flash::{
    BusUse, Geometry, PlaneId, PlanePlace, PoolPart, Pools, Ppn, SlowPart, StripingLevel, UnitId,
};
use crate::kernel::{Factor, SimTime};
use std::collections::BTreeSet;
use std::ops::Range;

/// The parts that a fault affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Planes that follow each other: those of a channel, a chip, a die, or one ([`Fault::of`]).
    Planes {
        /// The first.
        first: PlaneId,
        /// How many.
        count: u32,
    },
    /// A part of some block pools that follow each other: their blocks in a chip, a die or a plane of the flash.
    PoolPart {
        /// The first pool.
        first: PlaneId,
        /// How many.
        count: u32,
        /// The blocks of each.
        part: PoolPart,
    },
    /// A block of a plane.
    Block(PlaneId, u32),
    /// A page.
    Page(Ppn),
    /// A whole NVRAM; in a device set, any backend that is not flash.
    Nvram(BackendId),
    /// A page of a disk.
    DiskPage(Page),
}

impl Fault {
    /// The channel, chip, die or plane of the flash that a place is in.
    #[must_use]
    pub fn of(geometry: &Geometry, pools: Pools, level: StripingLevel, place: PlanePlace) -> Fault {
        let planes = geometry.planes_of(level, pools.pool_of(place));
        let (first, count) = (PlaneId(planes.start), planes.len() as u32);
        match pools.are_within(level) {
            true => Fault::Planes { first, count },
            false => Fault::PoolPart { first, count, part: pools.part(geometry, level, place) },
        }
    }

    /// The planes of which it affects at least a part.
    #[must_use]
    pub fn planes(self, geometry: &Geometry) -> Range<u32> {
        let (first, count) = match self {
            Fault::Planes { first, count } | Fault::PoolPart { first, count, .. } => (first, count),
            Fault::Block(plane, _) => (plane, 1),
            Fault::Page(ppn) => (geometry.plane_of(ppn), 1),
            Fault::Nvram(_) | Fault::DiskPage(_) => (PlaneId(0), 0),
        };
        first.0..first.0 + count
    }

    /// Whether it affects a page.
    #[must_use]
    pub fn strikes(self, geometry: &Geometry, ppn: Ppn) -> bool {
        self.planes(geometry).contains(&geometry.plane_of(ppn).0)
            && match self {
                Fault::Page(page) => page == ppn,
                _ => self.takes_block(geometry, geometry.block_of(ppn)),
            }
    }

    /// Whether it affects at least a page of a block, of a plane that it affects.
    #[must_use]
    pub fn takes_block(self, geometry: &Geometry, block: u32) -> bool {
        match self {
            Fault::PoolPart { part, .. } => part.has(block),
            Fault::Block(_, only) => only == block,
            Fault::Page(ppn) => geometry.block_of(ppn) == block,
            Fault::Planes { .. } | Fault::Nvram(_) | Fault::DiskPage(_) => true,
        }
    }

    /// The blocks of a plane of which it affects at least a page.
    pub fn blocks(self, geometry: &Geometry) -> impl Iterator<Item = u32> {
        let only = match self {
            Fault::Block(_, block) => Some(block),
            Fault::Page(ppn) => Some(geometry.block_of(ppn)),
            _ => None,
        };
        let blocks = only.map_or(0..geometry.all_blocks(), |block| block..block + 1);
        blocks.filter(move |&block| self.takes_block(geometry, block))
    }

    /// The pages of a plane that it affects.
    pub(in crate::drive) fn pages(self, geometry: &Geometry, plane: PlaneId) -> Vec<Ppn> {
        if let Fault::Page(ppn) = self {
            return vec![ppn];
        }
        self.blocks(geometry)
            .flat_map(|block| (0..geometry.pages_in(block)).map(move |page| geometry.ppn(plane, block, page)))
            .collect()
    }
}

/// What a part does that is slow, or that stalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concerned {
    /// Its planes sense, program and erase.
    Arrays,
    /// Commands and data cross its channel.
    Transfers,
    /// Both.
    Both,
}

/// A part that is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slowness {
    /// The part: planes, or a whole device.
    pub what: Fault,
    /// What takes longer.
    pub concerned: Concerned,
    /// How much longer.
    pub factor: Factor,
}

impl Slowness {
    /// The slow part of the flash; none if the part is not flash.
    fn in_flash(&self, geometry: &Geometry) -> Option<SlowPart> {
        let part = match self.what {
            Fault::Planes { .. } => None,
            Fault::PoolPart { part, .. } => Some(part),
            _ => return None,
        };
        let factor = |other| if self.concerned == other { Factor::ONE } else { self.factor };
        let (arrays, transfers) = (factor(Concerned::Transfers), factor(Concerned::Arrays));
        Some(SlowPart { planes: self.what.planes(geometry), part, arrays, transfers })
    }
}

impl<C: Contents> InjectFaults for Drive<C> {
    #[cold]
    fn fail(&mut self, now: SimTime, _: u16, what: Fault, lasting: bool) {
        self.controller.now = now;
        self.backends.health.set_damaged(&mut self.controller);
        match what {
            Fault::Nvram(backend) => self.backends.nvrams.of_mut(backend).fail(lasting),
            _ if !lasting => self.backends.ftl.poison(now, what, &self.controller),
            Fault::Page(ppn) if self.backends.ftl.blocks().is_last_good(ppn) => {
                let geometry = &self.controller.flash.geometry;
                let block = Fault::Block(geometry.plane_of(ppn), geometry.block_of(ppn));
                self.halves().inject(now, block);
            }
            _ => self.halves().inject(now, what),
        }
        self.halves().look_again(now);
    }

    fn renew(&mut self, now: SimTime, _: u16, what: Fault) {
        self.controller.now = now;
        match what {
            Fault::Nvram(backend) => self.backends.nvrams.of_mut(backend).renew(),
            Fault::Planes { .. } => self.halves().renew_planes(now, what),
            Fault::PoolPart { .. } => self.halves().renew_parts(now, what),
            Fault::Block(plane, block) => self.halves().renew_blocks(now, plane, [block]),
            Fault::Page(ppn) => self.halves().renew_page(now, ppn),
            Fault::DiskPage(_) => {}
        }
        self.halves().look_again(now);
    }

    fn expect_slow_parts(&mut self) {
        self.controller.flash.expect_slow_parts();
        self.backends.flash.expect_slow_parts();
        self.halves().simplify();
    }

    #[cold]
    fn set_slow_parts(&mut self, _: u16, parts: &[Slowness]) {
        self.expect_slow_parts();
        let geometry = &self.controller.flash.geometry;
        let parts: Vec<SlowPart> = parts.iter().filter_map(|part| part.in_flash(geometry)).collect();
        self.controller.flash.set_slow_parts(parts.clone());
        self.backends.flash.set_slow_parts(parts);
    }

    #[cold]
    fn stall(&mut self, now: SimTime, _: u16, what: Fault, concerned: Concerned, until: SimTime) {
        if !matches!(what, Fault::Planes { .. } | Fault::PoolPart { .. }) {
            return;
        }
        self.controller.now = now;
        self.expect_slow_parts();
        let Drive { controller, .. } = self;
        let geometry = &controller.flash.geometry;
        let blocks: Vec<u32> =
            if controller.dies.is_spread() { what.blocks(geometry).collect() } else { vec![0] };
        let planes = what.planes(geometry).map(PlaneId);
        let units: BTreeSet<UnitId> = planes
            .flat_map(|plane| blocks.iter().map(move |&block| (plane, block)))
            .map(|(plane, block)| controller.dies.unit_of_block(plane, block))
            .collect();
        let channel = |unit: &UnitId| controller.dies.channel_of(*unit);
        if concerned == Concerned::Transfers || controller.flash.bus == BusUse::Rounds {
            let channels: BTreeSet<usize> = units.iter().map(channel).collect();
            channels.into_iter().for_each(|channel| controller.dies.stall_channel(now, channel, until));
        } else {
            units.into_iter().for_each(|unit| controller.dies.stall_unit(now, unit, until));
        }
    }

    fn is_dead(&self, backend: BackendId) -> bool {
        self.backends.is_dead(backend)
    }

    fn is_sound(&self, _: BackendId) -> bool {
        self.backends.is_sound()
    }

    #[inline(always)]
    fn is_healthy(&self) -> bool {
        self.backends.health.is_healthy()
    }
}
