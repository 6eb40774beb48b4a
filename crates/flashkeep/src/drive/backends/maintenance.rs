//! What a controller does so that data stay readable (`errors.maintenance`): it moves the data of blocks that were read
//! often (*read reclaim*) or are old (*refresh*), reads all pages in turn (*scrubbing*), and gives up blocks whose pages
//! were unreadable too often.
//!
//! A block is found to be due when one of its pages is read, by the host, by GC or by scrubbing. It is then collected
//! like a victim of GC, with the cause `refresh`, when its plane has room for its valid pages. The open blocks of a plane
//! wait until they are closed. If a log or a map of blocks above the drive determines the place of each page, the drive
//! notifies it, and it moves the data.

use super::{DriveBackends, DriveHealth, Gc, Halves, Translation};
use crate::blocks::{Collection, Levelled};
use crate::drive::controller::{Controller, UNASKED};
use crate::engine::{Cause, Command, CompletionToken, Contents, Flags, Page, Verb};
use crate::flash::{Geometry, PlaneId, Ppn};
use crate::kernel::{SimTime, Span};

/// Blocks that are due, and the page that scrubbing reads next.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct Maintenance {
    /// Blocks of each plane whose data must be moved.
    due: Vec<Vec<u32>>,
    /// The time between two reads of scrubbing; none without it, and after the last request.
    every: Option<Span>,
    /// The last page that scrubbing has read.
    read: Ppn,
    /// While that read is under way: when the next one is due.
    reading: Option<SimTime>,
}

impl Maintenance {
    /// No block is due, and nothing is scrubbed.
    pub(in crate::drive) fn of(geometry: &Geometry) -> Self {
        Maintenance { due: vec![Vec::new(); geometry.plane_count() as usize], ..Maintenance::default() }
    }

    /// The power has failed: the due blocks are forgotten, and nothing is scrubbed.
    pub(in crate::drive) fn forget_maintenance(&mut self) {
        self.due.iter_mut().for_each(Vec::clear);
        self.reading = None;
    }

    /// A block has been erased: it is not due any more.
    #[inline]
    pub(super) fn forget_refresh(&mut self, plane: PlaneId, block: u32) {
        if let Some(due) = self.due.get_mut(plane.0 as usize)
            && !due.is_empty()
        {
            due.retain(|&other| other != block);
        }
    }

    /// After the last request nothing is scrubbed.
    pub(in crate::drive) fn end_scrubbing<C: Contents>(&mut self, controller: &mut Controller<C>) {
        if self.every.take().is_some() {
            controller.dies.scrub_at(SimTime::NEVER);
        }
    }

    /// Scrubbing continues after a power loss.
    pub(in crate::drive) fn scrub_from<C: Contents>(&self, ready: SimTime, controller: &mut Controller<C>) {
        if let Some(every) = self.every {
            controller.dies.scrub_at(ready + every);
        }
    }

    /// The read of scrubbing is over at `end`, or has failed: the next one follows.
    pub(in crate::drive) fn scrub_on<C: Contents>(&mut self, end: SimTime, controller: &mut Controller<C>) {
        if let Some(next) = self.reading.take()
            && self.every.is_some()
        {
            controller.dies.scrub_at(next.max(end));
        }
    }

    /// A block is due.
    pub(super) fn note_due(&mut self, plane: PlaneId, block: u32) {
        let due = &mut self.due[plane.0 as usize];
        if !due.contains(&block) {
            due.push(block);
        }
    }

    /// Whether a block of the plane is due that can be moved.
    pub(super) fn has_refresh<C: Contents>(&self, plane: PlaneId, ftl: &Translation<C>) -> bool {
        let due = self.due.get(plane.0 as usize);
        due.is_some_and(|due| due.iter().any(|&block| ftl.blocks.can_move(plane, block)))
    }

    /// The collection of a block of a plane that is due, if there is room for its pages.
    pub(super) fn next_refresh<C: Contents>(
        &mut self,
        plane: PlaneId,
        ftl: &mut Translation<C>,
    ) -> Option<Collection> {
        let due = self.due.get_mut(plane.0 as usize).filter(|due| !due.is_empty())?;
        due.retain(|&block| ftl.blocks.holds_data(plane, block));
        let at = due.iter().position(|&block| ftl.blocks.can_move(plane, block))?;
        let block = due.remove(at);
        ftl.blocks.choose_victim(plane, block);
        Some(Collection::of((block, Levelled::Refreshed)))
    }

    /// Begins scrubbing at time 0. Blocks that were due before are found again.
    pub(in crate::drive) fn begin_scrubbing<C: Contents>(&mut self, controller: &mut Controller<C>) {
        let geometry = &controller.flash.geometry;
        *self = Maintenance::of(geometry);
        let Some(model) = controller.errors.model() else { return };
        let pages =
            u64::from(geometry.plane_count()) * u64::from(geometry.blocks) * u64::from(geometry.pages);
        self.every = model.scrub.map(|round| Span((round.0 / pages.max(1)).max(1)));
        self.scrub_from(SimTime::ZERO, controller);
    }

    /// How many pages are passed until the next one that holds the newest version of a page and is not being programmed, and
    /// that page with its plane. It looks at a few blocks' worth of pages at a time.
    fn next_to_scrub<C: Contents>(
        &mut self,
        ftl: &Translation<C>,
        health: &DriveHealth,
        controller: &Controller<C>,
    ) -> (u64, Option<(PlaneId, Ppn)>) {
        let geometry = &controller.flash.geometry;
        let most = u64::from(4 * geometry.pages);
        for passed in 1..=most {
            let ppn = geometry.page_after(self.read);
            self.read = ppn;
            let plane = geometry.plane_of(ppn);
            if !ftl.blocks.is_dead(plane)
                && ftl.blocks.is_programmed(ppn)
                && ftl.is_current(plane, ftl.blocks.owner(ppn), ppn, controller)
                && !controller.is_being_programmed(
                    controller.now,
                    controller.dies.unit_of_page(geometry, ppn),
                    ppn,
                )
                && !(health.checks_pages() && ftl.blocks.is_unreadable(ppn))
            {
                return (passed, Some((plane, ppn)));
            }
        }
        (most, None)
    }

    /// Whether data of a block that is due are being moved, or can be.
    fn is_refreshing<C: Contents>(&self, ftl: &Translation<C>, gc: &Gc) -> bool {
        (0..self.due.len() as u32)
            .map(PlaneId)
            .any(|plane| gc.moves_because(plane, ftl) == Cause::Refresh || self.has_refresh(plane, ftl))
    }
}

impl<C: Contents> DriveBackends<C> {
    /// In untimed runs: moves the data of the blocks that are due now.
    pub(super) fn refresh_immediately(&mut self, plane: PlaneId, controller: &mut Controller<C>) {
        while self.gc.collections[plane.0 as usize].under_way.is_none()
            && let Some(collection) = self.maintenance.next_refresh(plane, &mut self.ftl)
        {
            self.collect_now(plane, collection, controller);
        }
    }
}

impl<C: Contents> Halves<'_, C> {
    /// Reads the next page that holds data. The read after that follows when its time has come and this one is over: a
    /// drive that is too slow for its rate scrubs as fast as it can. Data that have to be moved are moved before more are
    /// read: otherwise a drive that finds blocks due faster than it moves them would never come to its writes.
    #[cold]
    pub(in crate::drive) fn scrub(&mut self, now: SimTime) {
        let Halves { controller, backends } = self;
        let Some(every) = backends.maintenance.every.filter(|_| !backends.immediate.active) else { return };
        if controller.dies.are_collecting() && backends.maintenance.is_refreshing(&backends.ftl, &backends.gc)
        {
            return controller.dies.scrub_at(now + backends.flash.timing.slowest_read().busy());
        }
        let (passed, found) = backends.maintenance.next_to_scrub(&backends.ftl, &backends.health, controller);
        let next = now + Span(every.0.saturating_mul(passed));
        let Some((plane, ppn)) = found else {
            return controller.dies.scrub_at(next);
        };
        backends.maintenance.reading = Some(next);
        let ftl = backends.ftl.ftl_of(plane);
        let page = Page::of(backends.ftl.blocks.owner(ppn));
        let command = Command::new(Verb::Read, page, 1).because(Cause::Scrub);
        let command = Command { flags: Flags::BACKGROUND, ..command };
        let token = CompletionToken { slot: UNASKED, ..CompletionToken::default() };
        let contents = backends.ftl.blocks.contents(ppn);
        let unit = controller.dies.unit_of_page(&controller.flash.geometry, ppn);
        controller.queue_read(now, ftl, command, token, unit, ppn, contents, *backends);
    }
}
