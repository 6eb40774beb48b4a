//! Failures of flash, and the drive's reaction.
//!
//! The drive knows a *permanent* fault immediately. It starts no operation on the failed part, answers commands that
//! wait for it as failed, and reports every page that was there as gone
//! ([`CompletionPart::Lost`](crate::engine::CompletionPart::Lost)). If the whole backend is dead
//! ([`DriveBackends::is_dead`]), one report covers all of its pages. An operation granted before the fault completes,
//! because its end was reported when it was granted.
//!
//! A transient fault only corrupts the contents of pages. Its check code reveals it when a page is read: by a
//! reader, which gets an error, or by GC, which then reports the page as gone.

use super::{DriveBackends, DriveHealth, Halves, Translation};
use crate::blocks::Levelled;
use crate::drive::controller::{BusyUnitState, Controller, DriveOp};
use crate::drive::{BlockErases, DriveLife, Fault};
use crate::engine::{BackendId, Command, Contents, Done, Page, Verb};
use crate::flash::{Geometry, PlaneId, Ppn, UnitId};
use crate::ftl::MapEntry;
use crate::kernel::{Bits, Id, SimTime, Span};

impl DriveHealth {
    /// A write was refused.
    pub(in crate::drive) fn refuse(&mut self, now: SimTime) {
        self.life.refuse(now);
    }

    /// A block failed.
    pub(in crate::drive) fn note_death(&mut self, at: SimTime) {
        self.life.first_worn_block = Some(at);
    }

    #[inline(always)]
    pub(in crate::drive) fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// Whether pages may be unreadable.
    #[inline]
    pub(in crate::drive) fn checks_pages(&self) -> bool {
        self.damaged || self.unreadable
    }

    /// Whether no part has failed and no page is unreadable.
    #[must_use]
    pub(in crate::drive) fn is_healthy(&self) -> bool {
        !self.checks_pages()
    }

    /// The other erases of every block: those before time 0, and those that have made room for pages that existed then.
    pub(in crate::drive) fn all_erases_before(&self) -> &BlockErases {
        &self.erases_before
    }

    /// Those of a block outside of an SLC cache.
    pub(in crate::drive) fn erases_before(&self, geometry: &Geometry, plane: PlaneId, block: u32) -> u32 {
        self.erases_before.at((plane.0 * geometry.blocks + block) as usize)
    }

    pub(super) fn erases_before_of(&mut self, geometry: &Geometry, plane: PlaneId, block: u32) -> &mut u32 {
        self.erases_before.of((plane.0 * geometry.blocks + block) as usize)
    }

    /// The wear of the drive.
    #[must_use]
    pub(in crate::drive) fn life(&self) -> &DriveLife {
        &self.life
    }

    /// A part has failed: from now on every command checks for failed parts.
    pub(in crate::drive) fn set_damaged<C: Contents>(&mut self, controller: &mut Controller<C>) {
        self.damaged = true;
        controller.paths.check_commands(true);
    }
}

impl<C: Contents> Translation<C> {
    pub(super) fn retire(&mut self, plane: PlaneId, what: Fault) {
        match what {
            Fault::Planes { .. } => self.blocks.retire_plane(plane),
            Fault::Page(ppn) if !self.blocks.is_failed(ppn) => self.blocks.retire_page(ppn),
            Fault::PoolPart { .. } | Fault::Block(..) => {
                let blocks: Vec<u32> = what.blocks(self.blocks.geometry()).collect();
                for block in blocks {
                    if !self.blocks.is_failed_block(plane, block) {
                        self.blocks.retire_block(plane, block);
                    }
                }
            }
            Fault::Page(_) | Fault::Nvram(_) | Fault::DiskPage(_) => {}
        }
    }

    /// A read under way of a page that has failed ends in time, finds nothing, and is not repeated.
    pub(super) fn poison_reading(&mut self, unit: UnitId, what: Fault, controller: &mut Controller<C>) {
        let BusyUnitState { cached, current, .. } = &controller.dies[unit];
        let (cached, current) = (*cached, *current);
        for first in [cached, current] {
            let mut at = first;
            while at.is_some() {
                let DriveOp { ppn, next, .. } = controller.queues[at];
                if what.strikes(self.blocks.geometry(), ppn) {
                    self.blocks.poison(ppn);
                    controller.queues[at].course.give_up();
                }
                at = next;
            }
        }
    }

    /// Notifies the map above a backend of blocks of each block that it cannot continue to use.
    pub(super) fn tell_retired(&self, backend: usize, what: Fault, controller: &mut Controller<C>) {
        let Some(rows) = self.backends[backend].rows.as_ref().filter(|rows| rows.is_by_block()) else {
            return;
        };
        let geometry = self.blocks.geometry();
        let hit = |ppn: Ppn| match what {
            Fault::Page(page) => geometry.block_index_of(page) == geometry.block_index_of(ppn),
            _ => what.strikes(geometry, ppn),
        };
        let firsts = (0..rows.groups()).map(|block| block * rows.superblock_pages());
        let firsts: Vec<u32> = firsts.filter(|&first| hit(rows.ppn(geometry, first))).collect();
        controller.done.extend(
            firsts.into_iter().map(|first| Done::retired(BackendId(backend as u16), Page::of(first))),
        );
    }

    /// The contents of the pages become unreadable; pages in flight are not affected.
    pub(in crate::drive) fn poison(&mut self, now: SimTime, what: Fault, controller: &Controller<C>) {
        for plane in what.planes(self.blocks.geometry()).map(PlaneId) {
            let backend = self.ftl_of(plane);
            for ppn in what.pages(self.blocks.geometry(), plane) {
                let unit = controller.dies.unit_of_page(&controller.flash.geometry, ppn);
                let programmed = match self.backends[backend].rows {
                    Some(_) => self.is_current(plane, self.blocks.owner(ppn), ppn, controller),
                    None => self.blocks.is_programmed(ppn) && !self.blocks.is_failed(ppn),
                };
                if programmed && !controller.is_being_programmed(now, unit, ppn) {
                    self.blocks.poison(ppn);
                }
            }
        }
    }

    /// A whole backend has failed: its pending writes are void, and it has no pages.
    fn bury(&mut self, now: SimTime, backend: usize, controller: &mut Controller<C>) {
        for die_queue in self.backends[backend].die_queues_range() {
            for op in controller.queues.take(self.die_queues[die_queue].write_queue, |_| true) {
                if controller.queues[op].command.verb == Verb::Trim {
                    controller.erased(op, now, Span::ZERO);
                } else {
                    controller.answer_unplaced(now, op);
                }
            }
        }
        self.maps.clear(backend);
        let this = &mut self.backends[backend];
        this.remapped.clear();
        this.lost = Bits::default();
        (this.dead, this.limit) = (true, None);
    }
}

impl<C: Contents> DriveBackends<C> {
    /// Whether all parts of a backend have failed: it gets no commands until it is replaced.
    #[must_use]
    pub(in crate::drive) fn is_dead(&self, backend: BackendId) -> bool {
        match self.ftl.backends.get(usize::from(backend.0)) {
            Some(ftl) => ftl.dead,
            None => self.nvrams.of(backend).dead,
        }
    }

    // ---------------------------------------------------------------- for good

    /// The page is no longer mapped.
    pub(super) fn lose(&mut self, plane: PlaneId, lpn: u32, ppn: Ppn, controller: &mut Controller<C>) {
        let backend = self.ftl.ftl_of(plane);
        if self.ftl.is_older_copy(backend, lpn, ppn, controller) {
            return self.give_up_older(backend, lpn, controller);
        }
        self.discard(ppn, controller);
        self.ftl.maps.set(backend, lpn, MapEntry::Unmapped);
        self.ftl.backends[backend].lost.set(lpn, true);
        self.count_unmapped(backend, controller);
        controller.done.push(Done::gone(BackendId(backend as u16), Page::of(lpn)));
    }

    /// Operations of a physical-page backend that wait for failed parts: writes are void, erases end.
    pub(super) fn void_physical(
        &mut self,
        now: SimTime,
        backend: usize,
        what: Fault,
        controller: &mut Controller<C>,
    ) {
        let geometry = self.flash.geometry.clone();
        let block_goes_on = matches!(what, Fault::Page(_));
        let hit = |op: &DriveOp| {
            what.strikes(&geometry, op.ppn) && (op.command.verb != Verb::Trim || !block_goes_on)
        };
        for die_queue in self.ftl.backends[backend].die_queues_range() {
            for op in controller.queues.take(self.ftl.die_queues[die_queue].write_queue, hit) {
                if controller.queues[op].command.verb == Verb::Trim {
                    controller.erased(op, now, Span::ZERO);
                } else {
                    self.void_write(now, backend, op, controller);
                }
            }
        }
    }

    /// A write to a physical page that cannot be programmed any more, taken out of its queue.
    pub(super) fn void_write(
        &mut self,
        now: SimTime,
        backend: usize,
        op: Id<DriveOp>,
        controller: &mut Controller<C>,
    ) {
        let DriveOp { token, command, .. } = controller.queues[op];
        if self.ftl.maps.pending(backend, command.start.low()) != Some(op.raw()) {
            return controller.answer_unplaced(now, op);
        }
        self.void(now, backend, command.start.low(), token, controller);
        controller.answer_behind(now, op);
        controller.queues.release(op);
    }

    // ---------------------------------------------------------------- contents alone

    /// Clears the mark of unreadable pages that are written now. Otherwise, while one of them is placed, GC might find
    /// the next one and report it as gone after its write was submitted.
    pub(super) fn forget_unreadable(
        &mut self,
        ftl: usize,
        command: &Command,
        controller: &mut Controller<C>,
    ) {
        for page in command.low_pages() {
            if let MapEntry::At(ppn) = self.ftl.maps.get(ftl, page)
                && self.ftl.blocks.is_unreadable(ppn)
            {
                self.forget(ftl, page, controller);
                self.count_unmapped(ftl, controller);
            }
        }
    }
}

impl<C: Contents> Halves<'_, C> {
    pub(in crate::drive) fn inject(&mut self, now: SimTime, what: Fault) {
        if let Fault::PoolPart { .. } = what {
            self.fail_last_parts(now, what);
        }
        let planes = what.planes(&self.backends.flash.geometry).map(PlaneId);
        let planes: Vec<PlaneId> = planes.filter(|&plane| !self.backends.ftl.blocks.is_dead(plane)).collect();
        for &plane in &planes {
            self.abandon(now, plane, what);
        }
        let all = matches!(what, Fault::Planes { .. });
        for backend in self.backends.ftl.backends_of(&planes) {
            let of_backend = self.backends.ftl.planes_of(backend);
            let hit = |plane: &PlaneId| planes.contains(plane);
            let whole =
                all && of_backend.iter().all(|plane| hit(plane) || self.backends.ftl.blocks.is_dead(*plane));
            for plane in of_backend.into_iter().filter(hit) {
                if !whole {
                    self.lose_pages(plane, what);
                }
                self.backends.ftl.retire(plane, what);
            }
            if whole {
                self.backends.ftl.bury(now, backend, self.controller);
                self.backends.power.forget_all_hidden(backend);
            } else if self.backends.ftl.backends[backend].rows.is_some() {
                self.backends.void_physical(now, backend, what, self.controller);
                self.backends.ftl.tell_retired(backend, what, self.controller);
            } else {
                self.backends.set_limit(now, backend, self.controller);
            }
        }
    }

    /// A pool whose last part fails has failed as a whole.
    fn fail_last_parts(&mut self, now: SimTime, what: Fault) {
        for plane in what.planes(&self.backends.flash.geometry).map(PlaneId) {
            let stays = |block: u32| {
                !what.takes_block(&self.backends.flash.geometry, block)
                    && !self.backends.ftl.blocks.is_failed_block(plane, block)
            };
            if !self.backends.ftl.blocks.is_dead(plane)
                && !(0..self.backends.flash.geometry.blocks).any(stays)
            {
                self.inject(now, Fault::Planes { first: plane, count: 1 });
            }
        }
    }

    fn lose_pages(&mut self, plane: PlaneId, what: Fault) {
        let Halves { controller, backends } = self;
        for ppn in what.pages(&backends.flash.geometry, plane) {
            let lpn = backends.ftl.blocks.owner(ppn);
            if backends.ftl.is_current(plane, lpn, ppn, controller) {
                backends.lose(plane, lpn, ppn, controller);
            }
        }
    }

    /// Cancels reads and collections of failed parts.
    fn abandon(&mut self, now: SimTime, plane: PlaneId, what: Fault) {
        let Halves { controller, backends } = self;
        // A migration under way becomes a collection like others.
        backends.ftl.blocks.let_go(plane);
        if let Some(collection) = &mut backends.gc.collections[plane.0 as usize].under_way {
            collection.levelled = Levelled::No;
        }
        controller.fail_waiting_reads(now, plane, what, *backends);
        for unit in controller.dies.units_of(plane) {
            match what {
                Fault::Planes { .. } => controller.stop_reading(now, unit, plane, *backends),
                _ => backends.ftl.poison_reading(unit, what, controller),
            }
        }
        if let Fault::Planes { .. } = what {
            backends.gc.forget_collection(plane, controller);
        }
        if let Fault::PoolPart { .. } | Fault::Block(..) = what
            && let Some(victim) = backends.gc.collections[plane.0 as usize].victim()
            && what.takes_block(&backends.flash.geometry, victim)
        {
            backends.gc.start_anew(plane);
        }
    }

    /// Freed resources serve waiting operations.
    pub(in crate::drive) fn look_again(&mut self, now: SimTime) {
        let Halves { controller, backends } = self;
        for channel in 0..controller.dies.channel_count() {
            controller.visit(now, channel, *backends);
        }
        backends.ftl.wake_backends(now, controller);
    }
}
