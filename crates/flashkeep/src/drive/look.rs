//! Read access to a drive's state.

use super::Drive;
use crate::engine::{BackendId, BackendView, Contents, OobData, Page};
use crate::ftl::MapEntry;
use crate::kernel::{SimTime, Span};

impl<C: Contents> Drive<C> {
    /// The contents of a backend's page, including writes in flight; none if the page does not exist or cannot be read.
    /// Without time and side effects.
    #[must_use]
    pub fn contents_of(&self, backend: BackendId, page: Page) -> Option<C> {
        let at = usize::from(backend.0);
        let Some(entry) = self.backends.ftl.entry(at, page.low()) else {
            return self.backends.nvram(backend).contents(page.low());
        };
        match entry {
            MapEntry::Unmapped => None,
            MapEntry::Pending(op) => Some(self.controller.carried_page(at, op, page.low(), &self.backends)),
            MapEntry::At(ppn) => {
                (!self.backends.ftl.blocks.is_unreadable(ppn)).then(|| self.backends.ftl.blocks.contents(ppn))
            }
        }
    }
}

impl<C: Contents> Drive<C> {
    /// A lower bound of the waiting time of a read of the backend's page submitted at `now`.
    #[must_use]
    pub fn backlog_at(&self, now: SimTime, backend: BackendId, page: Page) -> Span {
        match self.backends.ftl.entry(usize::from(backend.0), page.low()) {
            Some(MapEntry::At(ppn)) => self.controller.wait_for(now, self.controller.unit_of_page(ppn)),
            _ => Span::ZERO,
        }
    }
}

impl<C: Contents> BackendView for Drive<C> {
    fn backlog(&self, backend: BackendId, page: Page) -> Span {
        self.backlog_at(self.controller.now, backend, page)
    }

    fn wear(&self, backend: BackendId) -> u64 {
        self.backends.ftl.backends.get(usize::from(backend.0)).map_or(0, |ftl| ftl.erases)
    }

    fn erase_blocks(&self, backend: BackendId) -> u64 {
        let Some(ftl) = self.backends.ftl.backends.get(usize::from(backend.0)) else { return 0 };
        u64::from(ftl.domain.plane_count()) * u64::from(self.controller.flash.geometry.blocks)
    }

    fn takes_all(&self, backend: BackendId) -> bool {
        let limit = self.backends.ftl.backends.get(usize::from(backend.0)).and_then(|ftl| ftl.limit);
        limit.is_none_or(|limit| limit.most >= self.backends.ftl.maps.len())
    }

    fn room(&self, backend: BackendId) -> u64 {
        let at = usize::from(backend.0);
        if self.backends.ftl.backends.get(at).is_none_or(|ftl| ftl.rows.is_some()) {
            return u64::MAX;
        }
        let planes = self.backends.ftl.planes_in(at);
        let free = planes.map(|plane| {
            self.backends.ftl.blocks.plane(plane).free_pages.saturating_sub(self.backends.gc.thresholds.below)
        });
        free.map(u64::from).sum()
    }

    fn oob(&self, backend: BackendId, page: Page) -> Option<OobData> {
        self.backends.oob_of(usize::from(backend.0), page.low())
    }

    fn last_write(&self, _: BackendId) -> Option<u64> {
        self.backends.power.as_ref().map(|_| self.controller.queues.sequence)
    }

    fn is_erased(&self, backend: BackendId, page: Page) -> bool {
        let ppn = self.backends.physical_place(backend, page);
        self.backends.ftl.next_pages[self.controller.flash.geometry.block_index_of(ppn)]
            <= self.controller.flash.geometry.page_of(ppn)
    }

    fn erases_at(&self, backend: BackendId, page: Page) -> u32 {
        let geometry = &self.controller.flash.geometry;
        let erases = |ppn| self.backends.ftl.blocks.erases_of(geometry.plane_of(ppn), geometry.block_of(ppn));
        self.backends.blocks_of_unit(backend, page).map(erases).max().unwrap_or(0)
    }

    fn remaps(&self, backend: BackendId) -> bool {
        self.backends.ftl.remaps || usize::from(backend.0) >= self.backends.ftl.backends.len()
    }

    fn has_failed(&self, backend: BackendId, page: Page) -> bool {
        self.backends.health.damaged
            && self.backends.ftl.blocks.is_failed(self.backends.physical_place(backend, page))
    }

    fn is_unreadable(&self, backend: BackendId, page: Page) -> bool {
        match self.backends.ftl.entry(usize::from(backend.0), page.low()) {
            Some(MapEntry::At(ppn)) => {
                self.backends.health.checks_pages() && self.backends.ftl.blocks.is_unreadable(ppn)
            }
            Some(_) => false,
            None => self.backends.nvram(backend).is_unreadable(page.low()),
        }
    }

    fn holds(&self, backend: BackendId, page: Page) -> bool {
        match self.backends.ftl.entry(usize::from(backend.0), page.low()) {
            Some(entry) => entry != MapEntry::Unmapped,
            None => self.backends.nvram(backend).holds(page.low()),
        }
    }
}
