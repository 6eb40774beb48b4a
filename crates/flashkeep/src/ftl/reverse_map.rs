//! The logical page that each physical page was programmed for.

use super::InitialPlaces;
use crate::flash::{Geometry, PlaneId, Ppn};
use crate::kernel::{prefetch, zeros_in_large_pages};

/// Entries in a line of the processor's cache.
const LINE: usize = 16;

/// A number for each physical page: a block's pages side by side, and after them those of the block that the next plane
/// comes to in the same round. Planes are filled at the same pace, so that what all of them are programming lies
/// together, and not each in a page of memory of its own.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct ReverseMap {
    /// The number and 1; 0 where nothing has been programmed.
    entries: Vec<u32>,
    /// The pages programmed before time 0 without an entry.
    initial: Option<InitialPlaces>,
    columns: Vec<Column>,
    page_bits: u32,
    page_mask: u32,
    block_mask: u32,
    /// From a plane's block to its next one.
    stride: usize,
}

/// Where the numbers of a plane are.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Column {
    /// The block that it fills first.
    start: u32,
    /// The place of that block's first page.
    at: u32,
}

impl ReverseMap {
    /// Planes begin at the blocks that `start` names.
    pub(super) fn new(geometry: &Geometry, start: impl Fn(PlaneId) -> u32) -> Self {
        let (page_bits, block_bits) = geometry.bits();
        let column = |plane| Column { start: start(PlaneId(plane)), at: plane * geometry.pages };
        let stride = (geometry.plane_count() * geometry.pages) as usize;
        ReverseMap {
            entries: zeros_in_large_pages(stride << block_bits),
            initial: None,
            columns: (0..geometry.plane_count()).map(column).collect(),
            page_bits,
            page_mask: (1 << page_bits) - 1,
            block_mask: (1 << block_bits) - 1,
            stride,
        }
    }

    #[inline(always)]
    fn index(&self, plane: PlaneId, ppn: Ppn) -> usize {
        let Column { start, at } = self.columns[plane.0 as usize];
        let round = (ppn.0 >> self.page_bits).wrapping_sub(start) & self.block_mask;
        round as usize * self.stride + (at + (ppn.0 & self.page_mask)) as usize
    }

    #[inline]
    pub(super) fn get(&self, plane: PlaneId, ppn: Ppn) -> u32 {
        match self.entries[self.index(plane, ppn)] {
            0 => self.unset(ppn),
            entry => entry - 1,
        }
    }

    #[inline]
    fn unset(&self, ppn: Ppn) -> u32 {
        self.initial_owner(ppn).unwrap_or(0)
    }

    /// The page whose place before time 0 this was.
    #[inline]
    pub(super) fn initial_owner(&self, ppn: Ppn) -> Option<u32> {
        self.initial.as_ref()?.owner(ppn)
    }

    /// Pages were programmed before time 0.
    pub(super) fn set_initial(&mut self, initial: InitialPlaces) {
        self.initial = Some(initial);
    }

    #[inline(always)]
    pub(super) fn set(&mut self, plane: PlaneId, ppn: Ppn, lpn: u32) {
        let at = self.index(plane, ppn);
        self.entries[at] = lpn + 1;
        // Many blocks are filled side by side, more than the processor follows by itself.
        prefetch(&self.entries, at + LINE);
    }

    /// Adds those of this many pages of a block to a list.
    pub(super) fn list(&self, plane: PlaneId, first: Ppn, count: usize, to: &mut Vec<u32>) {
        let at = self.index(plane, first);
        let entries = &self.entries[at..at + count];
        if self.initial.is_none() {
            return to.extend(entries.iter().map(|&entry| entry.saturating_sub(1)));
        }
        let owner = |(ppn, &entry): (u32, &u32)| if entry == 0 { self.unset(Ppn(ppn)) } else { entry - 1 };
        to.extend((first.0..).zip(entries).map(owner));
    }

    /// Sets those of pages of a block.
    pub(super) fn set_run(&mut self, plane: PlaneId, first: Ppn, lpns: &[u32]) {
        let at = self.index(plane, first);
        self.entries[at..at + lpns.len()].iter_mut().zip(lpns).for_each(|(entry, &lpn)| *entry = lpn + 1);
    }

    #[inline]
    pub(super) fn prefetch(&self, plane: PlaneId, ppn: Ppn) {
        prefetch(&self.entries, self.index(plane, ppn));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::FlashSpec;

    #[test]
    fn every_page_has_a_place_of_its_own() {
        let spec = FlashSpec {
            channels: 2,
            chips_per_channel: 1,
            dies_per_chip: 3,
            planes_per_die: 1,
            blocks_per_plane: 5,
            pages_per_block: 6,
            ..FlashSpec::default()
        };
        let geometry = Geometry::new(&spec);
        let mut reverse_map = ReverseMap::new(&geometry, |plane| plane.0 * 3 % 5);
        let ppn = |&(plane, block, page): &(u32, u32, u32)| geometry.ppn(PlaneId(plane), block, page);
        let pages = |plane| (0..5).flat_map(move |block| (0..6).map(move |page| (plane, block, page)));
        let all: Vec<_> = (0..6).flat_map(pages).collect();
        all.iter().zip(1..).for_each(|(at, n)| reverse_map.set(PlaneId(at.0), ppn(at), n));
        assert!(all.iter().zip(1..).all(|(at, n)| reverse_map.get(PlaneId(at.0), ppn(at)) == n));
        reverse_map.set_run(PlaneId(4), geometry.ppn(PlaneId(4), 2, 1), &[70, 71]);
        let mut list = vec![9];
        reverse_map.list(PlaneId(4), geometry.ppn(PlaneId(4), 2, 0), 3, &mut list);
        assert_eq!(list[2..], [70, 71]);
        // The first blocks of all planes come first, independent of their numbers.
        let first = (0..6).map(|plane| geometry.ppn(PlaneId(plane), plane * 3 % 5, 0));
        assert!(
            first.zip(0..).all(|(ppn, plane)| reverse_map.index(PlaneId(plane), ppn) == plane as usize * 6)
        );
    }
}
