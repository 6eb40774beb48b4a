//! Read access to the state of the backends.

use super::{DriveBackends, DriveHealth, Translation};
use crate::drive::LoggedOperation;
use crate::drive::controller::Controller;
use crate::engine::{BackendId, Contents, Page};
use crate::flash::{OpKind, PlaneId, Ppn};
use crate::ftl::MapEntry;
use crate::kernel::{SimTime, Span};

impl<C: Contents> Translation<C> {
    /// Erased blocks that are free.
    #[must_use]
    pub(in crate::drive) fn free_blocks(&self) -> u64 {
        let planes = (0..self.blocks.geometry().plane_count()).map(PlaneId);
        let alive = planes.filter(|&plane| !self.blocks.is_dead(plane));
        alive.map(|plane| u64::from(self.blocks.erased(plane))).sum()
    }

    /// The logical page that an operation reads, programs or moves; none if that is an old version, or a physical page
    /// that a scheme has placed.
    pub(in crate::drive) fn page_at(&self, operation: &LoggedOperation) -> Option<u32> {
        let ppn = operation.ppn;
        if operation.kind == OpKind::Erase || self.physical || !self.blocks.is_programmed(ppn) {
            return None;
        }
        let backend = self.ftl_of(self.blocks.geometry().plane_of(ppn));
        Some(self.blocks.owner(ppn)).filter(|&page| page < self.backends[backend].pages)
    }

    /// Valid pages, and pages there are.
    #[must_use]
    pub(in crate::drive) fn filled(&self) -> (u64, u64) {
        let planes = (0..self.blocks.geometry().plane_count()).map(PlaneId);
        let valid = planes.flat_map(|plane| self.blocks.valid_counts(plane)).map(u64::from).sum();
        (valid, u64::from(self.blocks.geometry().plane_count()) * self.blocks.geometry().pages_per_plane())
    }

    pub(in crate::drive) fn backlog_at(
        &self,
        now: SimTime,
        backend: BackendId,
        page: Page,
        controller: &Controller<C>,
    ) -> Span {
        match self.entry(usize::from(backend.0), page.low()) {
            Some(MapEntry::At(ppn)) => {
                controller.wait_for(now, controller.dies.unit_of_page(&controller.flash.geometry, ppn))
            }
            _ => Span::ZERO,
        }
    }

    pub(in crate::drive) fn audit_page(&self, backend: BackendId, lpn: u32, ppn: Ppn, health: &DriveHealth) {
        assert_eq!(self.blocks.owner(ppn), lpn, "the reverse map of page {lpn}");
        let plane = self.blocks.geometry().plane_of(ppn);
        let die_queue = &self.die_queues[self.die_queue_of(plane)];
        assert_eq!(die_queue.ftl, backend.0, "page {lpn} lies within its backend's domain");
        assert!(
            !health.is_damaged() || !self.blocks.is_failed(ppn),
            "page {lpn} lies on flash that has not failed"
        );
        if self.physical {
            assert_eq!(self.physical_place(backend, Page::of(lpn)), ppn, "raw page {lpn} is where it says");
        } else {
            assert!(self.blocks.is_programmed(ppn), "page {lpn} lies on a programmed page");
        }
    }
}

impl<C: Contents> DriveBackends<C> {
    /// Pages of a backend, those of its hidden range left out.
    #[must_use]
    pub(in crate::drive) fn pages(&self, backend: BackendId) -> u32 {
        self.ftl
            .backends
            .get(usize::from(backend.0))
            .map_or_else(|| self.nvrams.of(backend).len(), |ftl| ftl.pages)
    }

    /// Whether every page that it holds can be read: what failed has been replaced, and held nothing else.
    #[must_use]
    pub(in crate::drive) fn is_sound(&self) -> bool {
        let holds_all = || self.ftl.backends.iter().all(|backend| backend.lost.count() == 0);
        let readable = !self.health.unreadable && !self.ftl.blocks.has_unreadable();
        self.health.is_healthy() || !self.ftl.physical && self.nvrams.is_empty() && readable && holds_all()
    }

    pub(in crate::drive) fn contents_of(
        &self,
        backend: BackendId,
        page: Page,
        controller: &Controller<C>,
    ) -> Option<C> {
        let at = usize::from(backend.0);
        let Some(entry) = self.ftl.entry(at, page.low()) else {
            return self.nvrams.of(backend).contents(page.low());
        };
        match entry {
            MapEntry::Unmapped => None,
            MapEntry::Pending(op) => Some(self.ftl.carried_page(at, op, page.low(), controller)),
            MapEntry::At(ppn) => (!self.ftl.blocks.is_unreadable(ppn)).then(|| self.ftl.blocks.contents(ppn)),
        }
    }
}
