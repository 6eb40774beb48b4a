//! The planes of a [`Geometry`]: planes of the flash, or block pools of several planes with one open block.
//!
//! A pool is a plane of the geometry with all blocks of its planes, which take turns: block b belongs to
//! plane b mod n.
//!
//! Source: the DiskSim extension of Agrawal et al., USENIX ATC 2008 (full striping, its plane block mapping
//! 3).

use super::geometry::{Geometry, PlaneId, PlanePlace, Ppn};
use crate::flash::StripingLevel;

/// Planes of the flash in each plane of the geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pools {
    /// Chips in each pool.
    pub chips: u32,
    /// Dies of each of these chips.
    pub dies: u32,
    /// Planes of each of these dies.
    pub planes: u32,
}

/// The blocks of a pool that are in some of its planes of the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolPart {
    first: u32,
    planes: u32,
    of: u32,
}

impl PoolPart {
    /// Whether a block of the pool is among them.
    #[inline]
    #[must_use]
    pub fn has(self, block: u32) -> bool {
        (block % self.of).wrapping_sub(self.first) < self.planes
    }
}

impl Pools {
    /// Every plane by itself.
    pub const PLANES: Pools = Pools { chips: 1, dies: 1, planes: 1 };

    /// Planes of the flash in a pool.
    #[must_use]
    pub fn planes_each(&self) -> u32 {
        self.chips * self.dies * self.planes
    }

    /// Whether both pages are in one plane of the flash; they are in the same pool.
    #[must_use]
    pub fn share_a_plane(&self, geometry: &Geometry, one: Ppn, other: Ppn) -> bool {
        let of = |ppn| geometry.block_of(ppn) % self.planes_each();
        of(one) == of(other)
    }

    /// Whether a channel, chip, die or plane of the flash is made of whole pools.
    #[must_use]
    pub fn are_within(&self, level: StripingLevel) -> bool {
        match level {
            StripingLevel::Channel => true,
            StripingLevel::Chip => self.chips == 1,
            StripingLevel::Die => self.chips * self.dies == 1,
            StripingLevel::Plane => self.planes_each() == 1,
        }
    }

    /// The blocks of a pool that are in one channel, chip, die or plane of the flash, of which it is no whole part.
    #[must_use]
    pub fn part(&self, geometry: &Geometry, level: StripingLevel, place: PlanePlace) -> PoolPart {
        let planes = match level {
            StripingLevel::Channel => self.planes_each(),
            StripingLevel::Chip => self.dies * self.planes,
            StripingLevel::Die => self.planes,
            StripingLevel::Plane => 1,
        };
        PoolPart { first: self.block_at(geometry, place, 0).1, planes, of: self.planes_each() }
    }

    /// The plane of the flash in which a page's block is, and the block's number there.
    #[must_use]
    pub fn place(&self, geometry: &Geometry, ppn: Ppn) -> (PlanePlace, u32) {
        let (at, block) = (geometry.place(geometry.plane_of(ppn)), geometry.block_of(ppn));
        let part = block % self.planes_each();
        let place = PlanePlace {
            channel: at.channel,
            chip: at.chip * self.chips + part / (self.planes * self.dies),
            die: at.die * self.dies + part / self.planes % self.dies,
            plane: at.plane * self.planes + part % self.planes,
        };
        (place, block / self.planes_each())
    }

    /// The pool of a plane of the flash, by its place in the geometry.
    #[must_use]
    pub fn pool_of(&self, place: PlanePlace) -> PlanePlace {
        PlanePlace {
            channel: place.channel,
            chip: place.chip / self.chips,
            die: place.die / self.dies,
            plane: place.plane / self.planes,
        }
    }

    /// Block `block` of a plane of the flash: its pool, and its number there.
    #[must_use]
    pub fn block_at(&self, geometry: &Geometry, place: PlanePlace, block: u32) -> (PlaneId, u32) {
        let part = (place.chip % self.chips * self.dies + place.die % self.dies) * self.planes
            + place.plane % self.planes;
        (geometry.plane_at(self.pool_of(place)), block * self.planes_each() + part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::FlashSpec;
    use proptest::prelude::*;

    #[test]
    fn a_part_of_a_pool_has_the_blocks_of_its_planes() {
        // A pool of two chips of two dies of two planes: eight planes take turns.
        let pools = Pools { chips: 2, dies: 2, planes: 2 };
        let (chips_per_channel, dies_per_chip, planes_per_die) = (1, 1, 1);
        let geometry = Geometry::new(&FlashSpec {
            channels: 2,
            chips_per_channel,
            dies_per_chip,
            planes_per_die,
            blocks_per_plane: 16,
            ..FlashSpec::default()
        });
        let blocks = |level, chip, die, plane| {
            let part = pools.part(&geometry, level, PlanePlace { channel: 1, chip, die, plane });
            (0..16).filter(|&block| part.has(block)).collect::<Vec<u32>>()
        };
        assert_eq!(blocks(StripingLevel::Plane, 1, 0, 1), [5, 13]);
        assert_eq!(blocks(StripingLevel::Die, 0, 1, 0), [2, 3, 10, 11]);
        assert_eq!(blocks(StripingLevel::Chip, 1, 0, 0), [4, 5, 6, 7, 12, 13, 14, 15]);
    }

    proptest! {
        #[test]
        fn every_block_of_the_flash_is_in_one_pool(
            (channels, chips) in (1u32..4, 1u32..4),
            (chips_each, dies, planes) in (1u32..3, 1u32..3, 1u32..4),
            blocks in 3u32..9,
        ) {
            let pools = Pools { chips: chips_each, dies, planes };
            let geometry = Geometry::new(&FlashSpec {
                channels,
                chips_per_channel: chips,
                dies_per_chip: 1,
                planes_per_die: 1,
                blocks_per_plane: blocks * pools.planes_each(),
                ..FlashSpec::default()
            });
            let mut seen = Vec::new();
            for pool in 0..geometry.plane_count() {
                for block in 0..geometry.blocks {
                    let ppn = geometry.ppn(PlaneId(pool), block, 1);
                    let (place, within) = pools.place(&geometry, ppn);
                    prop_assert_eq!(pools.block_at(&geometry, place, within), (PlaneId(pool), block));
                    prop_assert!(within < blocks && place.die < dies && place.plane < planes);
                    seen.push((place.channel, place.chip, place.die, place.plane, within));
                }
            }
            let count = seen.len();
            seen.sort_unstable();
            seen.dedup();
            prop_assert_eq!(seen.len(), count, "no two pages at one place");
        }
    }
}
