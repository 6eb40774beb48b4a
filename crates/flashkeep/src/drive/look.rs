//! Read access to a drive's state.

use super::Drive;
use crate::engine::{BackendId, BackendView, Contents, OobData, Page, ReadEstimate};
use crate::ftl::MapEntry;
use crate::kernel::Span;

impl<C: Contents> BackendView for Drive<C> {
    fn backlog(&self, backend: BackendId, page: Page) -> Span {
        self.backlog_at(self.controller.now, backend, page)
    }

    fn expected(&self, backend: BackendId, page: Page) -> ReadEstimate {
        self.expected_at(self.controller.now, backend, page)
    }

    fn wear(&self, backend: BackendId) -> u64 {
        self.backends.ftl.get(usize::from(backend.0)).map_or(0, |ftl| ftl.erases)
    }

    fn erase_blocks(&self, backend: BackendId) -> u64 {
        let Some(ftl) = self.backends.ftl.get(usize::from(backend.0)) else { return 0 };
        u64::from(ftl.domain.plane_count()) * u64::from(self.controller.flash.geometry.blocks)
    }

    fn takes_all(&self, backend: BackendId) -> bool {
        let limit = self.backends.ftl.get(usize::from(backend.0)).and_then(|ftl| ftl.limit);
        limit.is_none_or(|limit| limit.takes(self.backends.ftl.maps().len()))
    }

    fn room(&self, backend: BackendId) -> u64 {
        let at = usize::from(backend.0);
        if self.backends.ftl.get(at).is_none_or(|ftl| ftl.rows.is_some()) {
            return u64::MAX;
        }
        let planes = self.backends.ftl.planes_in(at);
        let free = planes.map(|plane| {
            self.backends.ftl.blocks().plane(plane).free_pages.saturating_sub(self.backends.gc.below())
        });
        free.map(u64::from).sum()
    }

    fn oob(&self, backend: BackendId, page: Page) -> Option<OobData> {
        self.backends.oob_of(usize::from(backend.0), page.low())
    }

    fn last_write(&self, _: BackendId) -> Option<u64> {
        self.backends.power.is_kept().then(|| self.controller.queues.last_number())
    }

    fn is_erased(&self, backend: BackendId, page: Page) -> bool {
        let ppn = self.backends.ftl.physical_place(backend, page);
        self.backends.ftl.is_erased(&self.controller.flash.geometry, ppn)
    }

    fn erases_at(&self, backend: BackendId, page: Page) -> u32 {
        let geometry = &self.controller.flash.geometry;
        let erases =
            |ppn| self.backends.ftl.blocks().erases_of(geometry.plane_of(ppn), geometry.block_of(ppn));
        self.backends.ftl.blocks_of_unit(backend, page).map(erases).max().unwrap_or(0)
    }

    fn remaps(&self, backend: BackendId) -> bool {
        self.backends.ftl.remaps() || usize::from(backend.0) >= self.backends.ftl.count()
    }

    fn has_failed(&self, backend: BackendId, page: Page) -> bool {
        self.backends.health.is_damaged()
            && self.backends.ftl.blocks().is_failed(self.backends.ftl.physical_place(backend, page))
    }

    fn is_unreadable(&self, backend: BackendId, page: Page) -> bool {
        match self.backends.ftl.entry(usize::from(backend.0), page.low()) {
            Some(MapEntry::At(ppn)) => {
                self.backends.health.checks_pages() && self.backends.ftl.blocks().is_unreadable(ppn)
            }
            Some(_) => false,
            None => self.backends.nvrams.of(backend).is_unreadable(page.low()),
        }
    }

    fn holds(&self, backend: BackendId, page: Page) -> bool {
        match self.backends.ftl.entry(usize::from(backend.0), page.low()) {
            Some(entry) => entry != MapEntry::Unmapped,
            None => self.backends.nvrams.of(backend).holds(page.low()),
        }
    }
}
