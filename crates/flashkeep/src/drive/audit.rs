//! Recomputes the drive's running counts from its raw state.

use super::Drive;
use crate::engine::{BackendId, Contents};
use crate::flash::PlaneId;

/// The most map entries of a drive that is checked. Those of a larger one would take longer than the run.
const MOST_ENTRIES: u64 = 1 << 25;

impl<C: Contents> Drive<C> {
    /// Checks that map and reverse map are each other's inverse, also for the copies that writes in flight replace, that
    /// every block counts its valid pages, that every plane counts what it has free and every backend its erases, and that
    /// nothing lies on what has failed; not of a drive of 32 Mi pages and more.
    ///
    /// # Panics
    /// If the state contradicts itself, which is a mistake in the simulator.
    pub fn audit(&self) {
        if u64::from(self.backends.ftl.maps.len()) * self.backends.ftl.backends.len() as u64 > MOST_ENTRIES {
            return;
        }
        let mut valid = vec![0_u16; self.controller.flash.geometry.block_space()];
        for (backend, ftl) in (0..).map(BackendId).zip(&self.backends.ftl.backends) {
            for lpn in 0..self.backends.ftl.maps.len() {
                let Some(ppn) = self.backends.copy_on_flash(usize::from(backend.0), lpn, &self.controller)
                else {
                    continue;
                };
                self.backends.audit_page(backend, lpn, ppn);
                valid[self.controller.flash.geometry.block_index_of(ppn)] += 1;
            }
            let counted = ftl
                .limit
                .map_or_else(|| self.backends.ftl.maps.mapped(usize::from(backend.0)), |limit| limit.mapped);
            assert_eq!(
                self.backends.ftl.maps.mapped(usize::from(backend.0)),
                counted,
                "mapped pages of {backend:?}"
            );
            let planes = self.backends.ftl.planes_of(usize::from(backend.0)).into_iter();
            let erases =
                planes.flat_map(|plane| self.backends.ftl.blocks.erases(plane)).copied().map(u64::from);
            assert_eq!(erases.sum::<u64>(), ftl.erases, "erases of {backend:?}");
        }
        for plane in (0..self.controller.flash.geometry.plane_count()).map(PlaneId) {
            let first = self.controller.flash.geometry.block_index(plane, 0);
            for (block, counted) in (first..).zip(self.backends.ftl.blocks.valid_counts(plane)) {
                assert_eq!(valid[block], counted, "valid pages of block {block}");
            }
            let cached =
                if self.backends.slc.active { self.backends.ftl.blocks.cache(plane).free_pages } else { 0 };
            let free = [self.backends.ftl.blocks.plane(plane).free_pages, cached];
            assert!(
                self.backends.ftl.physical || self.backends.ftl.blocks.count_free(plane) == free,
                "free pages of {plane:?}"
            );
        }
    }
}
