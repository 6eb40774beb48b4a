//! Rows: how the pages of a domain are numbered where the numbers are physical. A row is one page of every plane, at
//! the same place; a group (a superblock) is the same block of every plane.

use super::{Domain, Geometry, PlaneId, Ppn};
use crate::kernel::Divisor;

/// The pages of a domain, row by row: consecutive ones spread over channels first, then chips, dies and planes.
#[derive(Clone, Debug)]
pub struct Rows {
    planes: Vec<PlaneId>,
    width: Divisor,
    /// Pages of a block.
    height: Divisor,
    groups: u32,
    /// A group is a single block.
    by_block: bool,
}

impl Rows {
    /// The rows of a domain.
    #[must_use]
    pub fn new(geometry: &Geometry, domain: &Domain) -> Self {
        let [channels, chips, dies, planes] = domain.extent;
        let mut all = Vec::with_capacity(domain.plane_count() as usize);
        for plane in 0..planes {
            for die in 0..dies {
                for chip in 0..chips {
                    all.extend((0..channels).map(|c| domain.plane(geometry, [c, chip, die, plane])));
                }
            }
        }
        let (width, height) = (Divisor::new(domain.plane_count()), Divisor::new(geometry.pages));
        Rows { planes: all, width, height, groups: geometry.blocks, by_block: false }
    }

    /// The same, numbered block by block, planes in turn: a group is a single block.
    #[must_use]
    pub fn by_block(self) -> Self {
        Rows { groups: self.groups * self.width.by(), by_block: true, ..self }
    }

    /// Whether a group is a single block.
    #[must_use]
    pub fn is_by_block(&self) -> bool {
        self.by_block
    }

    /// Blocks of a group.
    #[must_use]
    pub fn group_blocks(&self) -> u32 {
        if self.by_block { 1 } else { self.width.by() }
    }

    /// Its planes, in the order in which a row goes over them.
    #[must_use]
    pub fn planes(&self) -> &[PlaneId] {
        &self.planes
    }

    /// Groups.
    #[must_use]
    pub fn groups(&self) -> u32 {
        self.groups
    }

    /// Pages of a group.
    #[must_use]
    pub fn superblock_pages(&self) -> u32 {
        self.group_blocks() * self.height.by()
    }

    /// Pages in all.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.superblock_pages() * self.groups
    }

    /// The physical page of that number.
    #[must_use]
    #[inline]
    pub fn ppn(&self, geometry: &Geometry, number: u32) -> Ppn {
        let (block, page, plane) = if self.by_block {
            let (group, page) = self.height.split_any(number);
            let (block, plane) = self.width.split_any(group);
            (block, page, plane)
        } else {
            let (row, plane) = self.width.split_any(number);
            let (block, page) = self.height.split_any(row);
            (block, page, plane)
        };
        geometry.ppn(self.planes[plane as usize], block, page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::{Across, FlashSpec};

    #[test]
    fn consecutive_pages_go_over_channels_chips_dies_and_planes() {
        let spec = FlashSpec {
            channels: 2,
            chips_per_channel: 2,
            dies_per_chip: 2,
            planes_per_die: 2,
            blocks_per_plane: 3,
            pages_per_block: 5,
            ..FlashSpec::default()
        };
        let geometry = Geometry::new(&spec);
        let rows = Rows::new(&geometry, &geometry.part(Across::Channel, 1, 0).expect("all of it"));
        assert_eq!((rows.superblock_pages(), rows.groups(), rows.pages()), (80, 3, 240));
        for number in 0..rows.pages() {
            let ppn = rows.ppn(&geometry, number);
            let at = geometry.place(geometry.plane_of(ppn));
            let plane = at.channel + 2 * (at.chip + 2 * (at.die + 2 * at.plane));
            let (block, page) = (geometry.block_of(ppn), geometry.page_of(ppn));
            assert_eq!(number, (block * 5 + page) * 16 + plane);
        }
    }
}
