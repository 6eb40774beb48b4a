//! Recomputes the drive's running counts from its raw state.

use super::DriveBackends;
use crate::drive::controller::Controller;
use crate::engine::{BackendId, Contents};
use crate::flash::PlaneId;

/// The most map entries of a drive that is checked. Those of a larger one would take longer than the run.
const MOST_ENTRIES: u64 = 1 << 25;

impl<C: Contents> DriveBackends<C> {
    pub(in crate::drive) fn audit(&self, controller: &Controller<C>) {
        if u64::from(self.ftl.maps.len()) * self.ftl.backends.len() as u64 > MOST_ENTRIES {
            return;
        }
        let mut valid = vec![0_u16; self.flash.geometry.block_space()];
        for (backend, ftl) in (0..).map(BackendId).zip(&self.ftl.backends) {
            for lpn in 0..self.ftl.maps.len() {
                let Some(ppn) = self.ftl.copy_on_flash(usize::from(backend.0), lpn, controller) else {
                    continue;
                };
                self.ftl.audit_page(backend, lpn, ppn, &self.health);
                valid[self.flash.geometry.block_index_of(ppn)] += 1;
            }
            let counted =
                ftl.limit.map_or_else(|| self.ftl.maps.mapped(usize::from(backend.0)), |limit| limit.mapped);
            assert_eq!(self.ftl.maps.mapped(usize::from(backend.0)), counted, "mapped pages of {backend:?}");
            let planes = self.ftl.planes_of(usize::from(backend.0)).into_iter();
            let erases = planes.flat_map(|plane| self.ftl.blocks.erases(plane)).copied().map(u64::from);
            assert_eq!(erases.sum::<u64>(), ftl.erases, "erases of {backend:?}");
        }
        for plane in (0..self.flash.geometry.plane_count()).map(PlaneId) {
            let first = self.flash.geometry.block_index(plane, 0);
            for (block, counted) in (first..).zip(self.ftl.blocks.valid_counts(plane)) {
                assert_eq!(valid[block], counted, "valid pages of block {block}");
            }
            let cached = if self.slc.active { self.ftl.blocks.cache(plane).free_pages } else { 0 };
            let free = [self.ftl.blocks.plane(plane).free_pages, cached];
            assert!(
                self.ftl.physical || self.ftl.blocks.count_free(plane) == free,
                "free pages of {plane:?}"
            );
        }
    }
}
