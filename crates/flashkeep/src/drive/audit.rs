//! Re-derives what the drive counts as it goes from its raw state.

use super::Drive;
use crate::engine::{Contents, LeafId, Page};
use crate::flash::{PlaneId, Ppn};
use crate::ftl::Entry;

impl<C: Contents> Drive<C> {
    /// Checks that map and reverse map are each other's inverse, that every block counts its valid pages, that every
    /// plane counts what it has free and every leaf its erases, and that nothing lies on what has failed.
    ///
    /// # Panics
    /// Where the state contradicts itself: a mistake in the simulator.
    pub fn audit(&self) {
        let mut valid = vec![0_u16; self.geometry.block_space()];
        for (leaf, ftl) in (0..).map(LeafId).zip(&self.ftls) {
            for lpn in 0..self.maps.len() {
                let Entry::At(ppn) = self.lookup(leaf, Page(lpn)) else { continue };
                self.audit_page(leaf, lpn, ppn);
                valid[self.geometry.block_index_of(ppn)] += 1;
            }
            let counted =
                ftl.limit.map_or_else(|| self.maps.mapped(usize::from(leaf.0)), |limit| limit.mapped);
            assert_eq!(self.maps.mapped(usize::from(leaf.0)), counted, "mapped pages of {leaf:?}");
            let planes = self.planes_of(usize::from(leaf.0)).into_iter();
            let erases = planes.flat_map(|plane| self.blocks.erases(plane)).copied().map(u64::from);
            assert_eq!(erases.sum::<u64>(), ftl.erases, "erases of {leaf:?}");
        }
        for ppn in self.kept_pages() {
            valid[self.geometry.block_index_of(ppn)] += 1;
        }
        for plane in (0..self.geometry.plane_count()).map(PlaneId) {
            let first = self.geometry.block_index(plane, 0);
            for (block, counted) in (first..).zip(self.blocks.valid_counts(plane)) {
                assert_eq!(valid[block], counted, "valid pages of block {block}");
            }
            let free = self.blocks.plane(plane).free_pages;
            assert!(self.raw || self.blocks.count_free(plane) == free, "free pages of {plane:?}");
        }
    }

    fn audit_page(&self, leaf: LeafId, lpn: u32, ppn: Ppn) {
        assert_eq!(self.blocks.owner(ppn), lpn, "the reverse map of page {lpn}");
        let plane = self.geometry.plane_of(ppn);
        let lane = &self.lanes[self.lane_of[plane.0 as usize] as usize];
        assert_eq!(lane.ftl, leaf.0, "page {lpn} lies within its leaf's domain");
        assert!(!self.damaged || !self.blocks.is_failed(ppn), "page {lpn} lies on flash that has not failed");
        if self.raw {
            assert_eq!(self.raw_place(leaf, Page(lpn)), ppn, "raw page {lpn} is where it says");
        } else {
            assert!(self.blocks.is_programmed(ppn), "page {lpn} lies on a programmed page");
        }
    }

    /// Valid pages, and pages there are.
    #[must_use]
    pub fn filled(&self) -> (u64, u64) {
        let planes = (0..self.geometry.plane_count()).map(PlaneId);
        let valid = planes.flat_map(|plane| self.blocks.valid_counts(plane)).map(u64::from).sum();
        (valid, u64::from(self.geometry.plane_count()) * self.geometry.pages_per_plane())
    }

    /// Erases of every block, since its plane was renewed if ever.
    #[must_use]
    pub fn erases(&self) -> Vec<u32> {
        let planes = (0..self.geometry.plane_count()).map(PlaneId);
        planes.flat_map(|plane| self.blocks.erases(plane).iter().copied()).collect()
    }
}
