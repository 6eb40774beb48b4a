//! Addresses, and all conversions between them.

use super::pools::Pools;
use crate::flash::{Across, BusUse, BusyUnit, FlashSpec, SlcSpec, StripingLevel};
use std::ops::Range;

/// A plane of the drive, counted channel by channel, chip by chip, die by die.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct PlaneId(pub u32);

/// The number of a busy unit: a chip, a die or a plane, counted like planes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnitId(pub u32);

/// A physical page of the drive: plane, block and page packed, each field a whole number of bits, so that taking
/// it apart costs no division even with 63 pages a block.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct Ppn(pub u32);

/// Where a plane is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanePlace {
    /// Channel of the drive.
    pub channel: u32,
    /// Chip of the channel.
    pub chip: u32,
    /// Die of the chip.
    pub die: u32,
    /// Plane of the die.
    pub plane: u32,
}

/// The geometry: the number of parts at each level.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Geometry {
    /// Channels.
    pub channels: u32,
    /// Chips on each channel.
    pub chips: u32,
    /// Dies in each chip.
    pub dies: u32,
    /// Planes in each die.
    pub planes: u32,
    /// Blocks in each plane that hold the data of the drive; those with one bit per cell ([`SlcBlocks`]) follow them.
    pub blocks: u32,
    /// Data pages in each block.
    pub pages: u32,
    /// Planes in each busy unit.
    pub planes_per_unit: u32,
    /// Slots (pages of this geometry) per flash page, which is read as a whole.
    #[serde(skip, default = "one")]
    pub places: u32,
    /// Slots per word line, which one operation programs: those of one flash page or of several.
    #[serde(skip, default = "one")]
    pub word_line: u32,
    /// Further blocks in each plane, with one bit per cell.
    #[serde(skip)]
    pub slc: SlcBlocks,
    page_bits: u32,
    block_bits: u32,
    /// Where planes are pools of several busy units: the flash below them.
    #[serde(skip)]
    spread: Option<Box<PooledFlash>>,
}

/// A flash whose planes have been pooled, and how.
#[derive(Clone, Debug)]
struct PooledFlash {
    flash: Geometry,
    pools: Pools,
}

/// The blocks of each plane that have one bit per cell; their numbers follow those of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlcBlocks {
    /// Their number.
    pub blocks: u32,
    /// Data pages in each of them.
    pub pages: u32,
}

/// Slots of a flash page, and of a word line, by default.
fn one() -> u32 {
    1
}

impl Geometry {
    /// The page after this one, in order of planes, blocks and pages; after the last one, the first.
    #[must_use]
    pub fn page_after(&self, ppn: Ppn) -> Ppn {
        let (plane, block, page) = (self.plane_of(ppn), self.block_of(ppn), self.page_of(ppn));
        if page + 1 < self.pages {
            return self.ppn(plane, block, page + 1);
        }
        if block + 1 < self.blocks {
            return self.ppn(plane, block + 1, 0);
        }
        self.ppn(PlaneId((plane.0 + 1) % self.plane_count()), 0, 0)
    }

    /// The geometry that a specification asks for.
    #[must_use]
    pub fn new(spec: &FlashSpec) -> Self {
        let planes_per_unit = match spec.busy_unit {
            BusyUnit::Chip => spec.dies_per_chip * spec.planes_per_die,
            BusyUnit::Die => spec.planes_per_die,
            BusyUnit::PlanePair => 2,
            BusyUnit::Plane => 1,
        };
        Geometry {
            channels: spec.channels,
            chips: spec.chips_per_channel,
            dies: spec.dies_per_chip,
            planes: spec.planes_per_die,
            blocks: spec.blocks_per_plane,
            pages: spec.pages_per_block,
            planes_per_unit,
            places: 1,
            word_line: spec.pages_per_program,
            slc: SlcBlocks { blocks: spec.slc.blocks, pages: spec.slc.pages(spec) },
            page_bits: spec.pages_per_block.next_power_of_two().trailing_zeros(),
            block_bits: (spec.blocks_per_plane + spec.slc.blocks).next_power_of_two().trailing_zeros(),
            spread: None,
        }
    }

    /// The same geometry, whose planes are pools of this flash (`spec` as this geometry was made from it). A channel that is
    /// held for whole operations does one thing at a time, so a chip, or all chips of a pool, are one busy unit.
    #[must_use]
    pub fn with_pools(self, spec: &FlashSpec, pools: Pools) -> Geometry {
        if pools == Pools::PLANES {
            return self;
        }
        let flash = Geometry::new(&FlashSpec {
            chips_per_channel: self.chips * pools.chips,
            dies_per_chip: self.dies * pools.dies,
            planes_per_die: self.planes * pools.planes,
            blocks_per_plane: self.blocks / pools.planes_each(),
            slc: SlcSpec { blocks: self.slc.blocks / pools.planes_each(), ..spec.slc.clone() },
            ..spec.clone()
        });
        if spec.bus == BusUse::Operations {
            return Geometry { planes_per_unit: self.dies * self.planes, ..self };
        }
        let several =
            flash.planes_per_unit < pools.planes_each() * if pools.planes == 1 { flash.planes } else { 1 };
        if several {
            let planes_per_unit = self.planes;
            return Geometry {
                planes_per_unit,
                spread: Some(Box::new(PooledFlash { flash, pools })),
                ..self
            };
        }
        Geometry { planes_per_unit: flash.planes_per_unit / pools.planes_each(), ..self }
    }

    /// The same geometry, with this many of its pages in each flash page.
    #[must_use]
    pub fn with_places(self, places: u32) -> Geometry {
        Geometry { places, word_line: self.word_line * places, ..self }
    }

    /// Planes in the drive.
    #[must_use]
    pub fn plane_count(&self) -> u32 {
        self.channels * self.chips * self.dies * self.planes
    }

    /// Busy units in the drive.
    #[must_use]
    pub fn unit_count(&self) -> u32 {
        match &self.spread {
            Some(spread) => spread.flash.unit_count(),
            None => self.plane_count() / self.planes_per_unit,
        }
    }

    /// The geometry whose planes busy units consist of.
    #[must_use]
    pub fn of_units(&self) -> &Geometry {
        self.spread.as_ref().map_or(self, |spread| &spread.flash)
    }

    /// Busy units on each channel.
    #[must_use]
    pub fn units_per_channel(&self) -> u32 {
        self.unit_count() / self.channels
    }

    /// Blocks in each plane, those with one bit per cell included.
    #[must_use]
    pub fn all_blocks(&self) -> u32 {
        self.blocks + self.slc.blocks
    }

    /// Whether a block has one bit per cell.
    #[must_use]
    #[inline]
    pub fn is_slc_block(&self, block: u32) -> bool {
        block >= self.blocks
    }

    /// Whether the block of a page has.
    #[must_use]
    #[inline]
    pub fn is_slc(&self, ppn: Ppn) -> bool {
        self.is_slc_block(self.block_of(ppn))
    }

    /// Data pages of a block.
    #[must_use]
    #[inline]
    pub fn pages_in(&self, block: u32) -> u32 {
        if self.is_slc_block(block) { self.slc.pages } else { self.pages }
    }

    /// Slots of a block that one operation programs: with one bit per cell, those of a flash page.
    #[must_use]
    #[inline]
    pub fn word_line_of(&self, block: u32) -> u32 {
        if self.is_slc_block(block) { self.places } else { self.word_line }
    }

    /// Data pages in a plane, without blocks that have one bit per cell.
    #[must_use]
    pub fn pages_per_plane(&self) -> u64 {
        u64::from(self.blocks) * u64::from(self.pages)
    }

    /// Bits of a [`Ppn`] that number the page within its block, and the block within its plane.
    #[must_use]
    pub fn bits(&self) -> (u32, u32) {
        (self.page_bits, self.block_bits)
    }

    /// Length of an array with a place for every [`Ppn`].
    #[must_use]
    pub fn ppn_space(&self) -> usize {
        (self.plane_count() as usize) << (self.page_bits + self.block_bits)
    }

    /// The number of blocks.
    #[must_use]
    pub fn block_count(&self) -> usize {
        (self.plane_count() * self.blocks) as usize
    }

    /// Length of an array with a place for every block (see [`Geometry::block_index`]).
    #[must_use]
    pub fn block_space(&self) -> usize {
        (self.plane_count() as usize) << self.block_bits
    }

    /// The page of a block of a plane.
    #[must_use]
    #[inline]
    pub fn ppn(&self, plane: PlaneId, block: u32, page: u32) -> Ppn {
        Ppn((plane.0 << self.block_bits | block) << self.page_bits | page)
    }

    /// The first page of a unit.
    #[must_use]
    pub fn first_page(&self, unit: UnitId) -> Ppn {
        self.ppn(PlaneId(unit.0 * self.planes_per_unit), 0, 0)
    }

    /// The plane that a page is in.
    #[must_use]
    #[inline]
    pub fn plane_of(&self, ppn: Ppn) -> PlaneId {
        PlaneId(ppn.0 >> (self.page_bits + self.block_bits))
    }

    /// The place of the page's block in arrays of blocks.
    #[must_use]
    #[inline]
    pub fn block_index_of(&self, ppn: Ppn) -> usize {
        (ppn.0 >> self.page_bits) as usize
    }

    /// The place of a block in arrays of blocks.
    #[must_use]
    #[inline]
    pub fn block_index(&self, plane: PlaneId, block: u32) -> usize {
        (plane.0 << self.block_bits | block) as usize
    }

    /// The page's block within its plane.
    #[must_use]
    pub fn block_of(&self, ppn: Ppn) -> u32 {
        (ppn.0 >> self.page_bits) & ((1 << self.block_bits) - 1)
    }

    /// The page's number within its block.
    #[must_use]
    pub fn page_of(&self, ppn: Ppn) -> u32 {
        ppn.0 & ((1 << self.page_bits) - 1)
    }

    /// The number, within its block, of the page of the flash that a page has its place in.
    #[must_use]
    pub fn flash_page_of(&self, ppn: Ppn) -> u32 {
        self.page_of(ppn) / self.places
    }

    /// Whether two pages have their places in the same page of the flash.
    #[must_use]
    pub fn share_a_page(&self, a: Ppn, b: Ppn) -> bool {
        a.0 >> self.page_bits == b.0 >> self.page_bits && self.flash_page_of(a) == self.flash_page_of(b)
    }

    /// Whether two pages have their places in the same word line.
    #[must_use]
    pub fn share_a_word_line(&self, a: Ppn, b: Ppn) -> bool {
        let together = self.word_line_of(self.block_of(a));
        let word_line = |ppn| self.page_of(ppn) / together;
        a.0 >> self.page_bits == b.0 >> self.page_bits && word_line(a) == word_line(b)
    }

    /// Where a plane is.
    #[must_use]
    pub fn place(&self, plane: PlaneId) -> PlanePlace {
        let (rest, p) = (plane.0 / self.planes, plane.0 % self.planes);
        let (rest, d) = (rest / self.dies, rest % self.dies);
        PlanePlace { channel: rest / self.chips, chip: rest % self.chips, die: d, plane: p }
    }

    /// The plane at a place.
    #[must_use]
    pub fn plane_at(&self, place: PlanePlace) -> PlaneId {
        let chip = place.channel * self.chips + place.chip;
        PlaneId((chip * self.dies + place.die) * self.planes + place.plane)
    }

    /// The planes of the channel, chip, die or plane that a place is in: numbers that follow each other.
    #[must_use]
    pub fn planes_of(&self, level: StripingLevel, place: PlanePlace) -> Range<u32> {
        let (first, count) = match level {
            StripingLevel::Channel => (
                PlanePlace { channel: place.channel, ..PlanePlace::default() },
                self.chips * self.dies * self.planes,
            ),
            StripingLevel::Chip => (PlanePlace { die: 0, plane: 0, ..place }, self.dies * self.planes),
            StripingLevel::Die => (PlanePlace { plane: 0, ..place }, self.planes),
            StripingLevel::Plane => (place, 1),
        };
        let first = self.plane_at(first).0;
        first..first + count
    }

    /// The unit that a plane belongs to, or the first of a pool's.
    #[must_use]
    pub fn unit_of(&self, plane: PlaneId) -> UnitId {
        self.unit_of_block(plane, 0)
    }

    /// The unit that a block is in.
    #[must_use]
    pub fn unit_of_block(&self, plane: PlaneId, block: u32) -> UnitId {
        let Some(spread) = &self.spread else { return UnitId(plane.0 / self.planes_per_unit) };
        let (place, _) = spread.pools.place(self, self.ppn(plane, block, 0));
        spread.flash.unit_of(spread.flash.plane_at(place))
    }

    /// The channel that a unit is on.
    #[must_use]
    pub fn channel_of(&self, unit: UnitId) -> u32 {
        unit.0 / self.units_per_channel()
    }

    /// The levels that identify a unit, outermost first.
    #[must_use]
    pub fn unit_levels(&self) -> &'static [StripingLevel] {
        match self.planes_per_unit {
            1 => &StripingLevel::ALL,
            // Pairs of a die share a pool.
            planes if planes <= self.planes => &StripingLevel::ALL[..3],
            _ => &StripingLevel::ALL[..2],
        }
    }

    /// Part `index` of the drive divided into `width` equal parts along a level. None if the part would not be a box of
    /// whole channels, of whole chips of one channel, or of whole dies of one chip.
    #[must_use]
    pub fn part(&self, across: Across, width: u32, index: u32) -> Option<Domain> {
        let per_level = match across {
            Across::Channel => self.chips * self.dies,
            Across::Chip => self.dies,
            Across::Die => 1,
        };
        let units = self.channels * self.chips * self.dies / per_level;
        if width == 0 || !units.is_multiple_of(width) {
            return None;
        }
        let dies = units / width * per_level;
        Domain::of_dies(self, index * dies, dies)
    }
}

/// A box of dies: the domain of one FTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Its first plane's place.
    pub first: PlanePlace,
    /// Channels, chips a channel, dies a chip, planes a die.
    pub extent: [u32; 4],
}

impl Domain {
    fn of_dies(geometry: &Geometry, first_die: u32, dies: u32) -> Option<Domain> {
        let first = geometry.place(PlaneId(first_die * geometry.planes));
        let (per_chip, per_channel) = (geometry.dies, geometry.dies * geometry.chips);
        let extent = if dies.is_multiple_of(per_channel) {
            [dies / per_channel, geometry.chips, geometry.dies]
        } else if dies.is_multiple_of(per_chip) && geometry.chips.is_multiple_of(dies / per_chip) {
            [1, dies / per_chip, geometry.dies]
        } else if geometry.dies.is_multiple_of(dies) {
            [1, 1, dies]
        } else {
            return None;
        };
        Some(Domain { first, extent: [extent[0], extent[1], extent[2], geometry.planes] })
    }

    /// Planes in the box.
    #[must_use]
    pub fn plane_count(&self) -> u32 {
        self.extent.iter().product()
    }

    /// The plane at coordinates relative to the box.
    #[must_use]
    pub fn plane(&self, geometry: &Geometry, at: [u32; 4]) -> PlaneId {
        geometry.plane_at(PlanePlace {
            channel: self.first.channel + at[0],
            chip: self.first.chip + at[1],
            die: self.first.die + at[2],
            plane: at[3],
        })
    }

    /// Coordinates relative to the box.
    #[must_use]
    pub fn within(&self, place: PlanePlace) -> [u32; 4] {
        let PlanePlace { channel, chip, die, plane } = place;
        [channel - self.first.channel, chip - self.first.chip, die - self.first.die, plane - self.first.plane]
    }

    /// All its planes, unit by unit, dies varying fastest within a chip (the order in which they take turns).
    #[must_use]
    pub fn planes(&self, geometry: &Geometry) -> Vec<PlaneId> {
        let [channels, chips, dies, planes] = self.extent;
        let mut all = Vec::with_capacity(self.plane_count() as usize);
        for channel in 0..channels {
            for chip in 0..chips {
                for plane in 0..planes {
                    for die in 0..dies {
                        all.push(self.plane(geometry, [channel, chip, die, plane]));
                    }
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn geometry(c: u32, k: u32, d: u32, p: u32, blocks: u32, pages: u32) -> Geometry {
        let spec = FlashSpec {
            channels: c,
            chips_per_channel: k,
            dies_per_chip: d,
            planes_per_die: p,
            blocks_per_plane: blocks,
            pages_per_block: pages,
            ..FlashSpec::default()
        };
        Geometry::new(&spec)
    }

    proptest! {
        #[test]
        fn addresses_come_apart_as_they_were_put_together(
            (c, k, d, p) in (1u32..5, 1u32..5, 1u32..4, 1u32..4),
            (blocks, pages) in (3u32..40, 1u32..70),
            pick in any::<(u32, u32, u32)>(),
        ) {
            let g = geometry(c, k, d, p, blocks, pages);
            let (plane, block, page) = (PlaneId(pick.0 % g.plane_count()), pick.1 % blocks, pick.2 % pages);
            let ppn = g.ppn(plane, block, page);
            prop_assert_eq!((g.plane_of(ppn), g.block_of(ppn), g.page_of(ppn)), (plane, block, page));
            prop_assert_eq!(g.plane_at(g.place(plane)), plane);
            prop_assert!((ppn.0 as usize) < g.ppn_space());
        }

        #[test]
        fn parts_cover_the_drive_once(
            (c, k, d, p) in (1u32..7, 1u32..7, 1u32..5, 1u32..3),
            width in 1u32..9,
            across in prop::sample::select(vec![Across::Channel, Across::Chip, Across::Die]),
        ) {
            let g = geometry(c, k, d, p, 4, 4);
            let parts: Option<Vec<_>> = (0..width).map(|i| g.part(across, width, i)).collect();
            if let Some(parts) = parts {
                let mut all: Vec<_> = parts.iter().flat_map(|part| part.planes(&g)).collect();
                all.sort_unstable();
                prop_assert_eq!(all, (0..g.plane_count()).map(PlaneId).collect::<Vec<_>>());
            }
        }
    }
}
