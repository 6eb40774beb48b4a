//! Backends of physical pages: pages by their physical numbers, for schemes that are their own FTL.
//!
//! The scheme decides where each page goes, and erases whole superblocks (the same block of every plane of
//! the backend) by trimming them. Programs and erases of a unit are executed in the order of their submission,
//! so the rules of flash are checked at submission: pages of a block in ascending order, each once after an
//! erase. As for other backends, the map says of every page whether it is programmed, in flight or neither,
//! which ensures the laws of order.

use super::backend::DieQueue;
use super::{DriveBackends, Power, Translation};
use crate::drive::controller::{Controller, DriveOp, Full, Manner, PageWrite};
use crate::engine::{BackendId, Cause, Command, CompletionToken, Contents, Flags, Page, Verb};
use crate::flash::{OpKind, PlaneId, Ppn, Target, UnitId};
use crate::ftl::MapEntry;
use crate::kernel::{Id, SimTime, Span};
use std::ops::Range;

impl<C: Contents> Translation<C> {
    /// The physical page of an address of a physical-page backend.
    ///
    /// # Panics
    /// With a backend that has no physical pages.
    #[must_use]
    pub(in crate::drive) fn physical_place(&self, backend: BackendId, page: Page) -> Ppn {
        self.physical_ppn(usize::from(backend.0), page.low())
    }

    /// A page of each block of the erase unit that a physical-page backend's page is in.
    pub(in crate::drive) fn blocks_of_unit(
        &self,
        backend: BackendId,
        page: Page,
    ) -> impl Iterator<Item = Ppn> + '_ {
        let rows = self.rows(usize::from(backend.0));
        let first = page.low() / rows.superblock_pages() * rows.superblock_pages();
        (first..first + rows.group_blocks()).map(|page| rows.ppn(self.blocks.geometry(), page))
    }

    #[inline]
    pub(super) fn physical_ppn(&self, backend: usize, page: u32) -> Ppn {
        self.rows(backend).ppn(self.blocks.geometry(), page)
    }

    /// The write queue of the unit that a page is in.
    pub(in crate::drive) fn write_queue_of(&self, ppn: Ppn, controller: &Controller<C>) -> u32 {
        let plane = self.blocks.geometry().plane_of(ppn);
        let mut die_queue = self.die_queue_of(plane);
        if controller.dies.is_spread() {
            let unit = controller.dies.unit_of_page(&controller.flash.geometry, ppn);
            let mut die_queues = self.backends[self.ftl_of(plane)].die_queues_range();
            die_queue =
                die_queues.find(|&die_queue| self.die_queues[die_queue].unit == unit).unwrap_or(die_queue);
        }
        self.die_queues[die_queue].write_queue
    }

    pub(super) fn is_in_failed_block(&self, ppn: Ppn) -> bool {
        self.blocks
            .is_failed_block(self.blocks.geometry().plane_of(ppn), self.blocks.geometry().block_of(ppn))
    }

    /// Whether an erase comes first in a physical-page die queue's write queue.
    pub(in crate::drive) fn erases_next(&self, die_queue: usize, controller: &Controller<C>) -> bool {
        let head = controller.queues.first_write(self.die_queues[die_queue].write_queue);
        self.physical && controller.queues[head].command.verb == Verb::Trim
    }

    /// The plane that the first operation in a physical-page die queue's write queue is for, unless that must wait, and whose
    /// turn it is.
    #[inline(never)]
    pub(super) fn physical_plane_for(
        &self,
        die_queue: &DieQueue,
        op: Id<DriveOp>,
        power: &Power,
        controller: &Controller<C>,
    ) -> Option<(PlaneId, u32)> {
        let DriveOp { ppn, command, sequence, .. } = controller.queues[op];
        let geometry = self.blocks.geometry();
        let plane = geometry.plane_of(ppn);
        let waits = command.verb == Verb::Trim
            && (self.is_owed(die_queue.unit, plane, geometry.block_of(ppn), controller)
                || power.is_ahead(sequence, controller));
        (!waits).then_some((plane, die_queue.turn))
    }

    /// Whether reads wait for the program of a page that has no place yet. A degraded backend serves them from memory,
    /// because pages may have no place for a long time.
    pub(in crate::drive) fn waits_behind(&self, ftl: usize, controller: &Controller<C>) -> bool {
        controller.reads.wait_for_writes() && self.backends[ftl].limit.is_none()
    }

    /// A page is programmed where its number says, with what its spare area says of it.
    fn put_physical(&mut self, ppn: Ppn, command: &Command, contents: C, sequence: u64, power: &mut Power) {
        self.blocks.program_at(ppn, command.start.low(), contents);
        power.note_oob(ppn, command.start.low(), sequence);
        power.note_mark(ppn, command.to.low());
    }

    /// Erased pages of a physical-page backend were programmed in order, before time 0.
    pub(super) fn put_in_order(&mut self, backend: usize, pages: Range<u32>) {
        for page in pages {
            let ppn = self.physical_ppn(backend, page);
            let geometry = self.blocks.geometry();
            self.next_pages[geometry.block_index_of(ppn)] = geometry.page_of(ppn) + 1;
            self.maps.set(backend, page, MapEntry::At(ppn));
            self.blocks.program_at(ppn, page, C::default());
            self.blocks.validate(ppn);
        }
    }

    /// A page of a physical-page backend is where it was meant to be.
    pub(super) fn place_physical(&mut self, op: Id<DriveOp>, power: &mut Power, controller: &Controller<C>) {
        let DriveOp { ppn, command, ftl, sequence, .. } = controller.queues[op];
        let contents = controller.queues.take_carried(op);
        self.put_physical(ppn, &command, contents, sequence, power);
        // A page whose group has been trimmed meanwhile is born invalid.
        if self.maps.arrive(usize::from(ftl), command.start.low(), op.raw(), ppn) {
            self.blocks.validate(ppn);
        }
    }
}

impl<C: Contents> DriveBackends<C> {
    // ---------------------------------------------------------------- programs

    pub(super) fn write_physical(
        &mut self,
        now: SimTime,
        backend: usize,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
        controller: &mut Controller<C>,
    ) {
        for n in 0..command.count {
            let one = command.part(u32::from(n), 1);
            let contents = if C::KEEP { &contents[usize::from(n)..=usize::from(n)] } else { contents };
            self.write_physical_page(now, backend, &one, token.plus(u32::from(n)), contents, controller);
        }
    }

    fn write_physical_page(
        &mut self,
        now: SimTime,
        backend: usize,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
        controller: &mut Controller<C>,
    ) {
        let page = command.start.low();
        if C::KEEP && self.immediate.fills && self.ftl.fill(backend, page, contents[0]).is_some() {
            return controller.answer(token, 1, now, Span::ZERO, C::default());
        }
        let ppn = self.ftl.physical_ppn(backend, page);
        if self.health.damaged && self.ftl.blocks.is_failed(ppn) {
            return self.void(now, backend, page, token, controller);
        }
        let next = &mut self.ftl.next_pages[self.flash.geometry.block_index_of(ppn)];
        let number = self.flash.geometry.page_of(ppn);
        assert!(
            number >= *next,
            "page {page}: pages of a block are programmed in order, once after an erase"
        );
        *next = number + 1;
        if self.immediate.is_immediate(command) {
            self.hurry(now, backend, ppn, false, controller);
            if self.health.damaged && self.ftl.blocks.is_failed(ppn) {
                // That was its last erase.
                return self.void(now, backend, page, token, controller);
            }
            self.ftl.maps.set(backend, page, MapEntry::At(ppn));
            let number = controller.queues.next_numbers(1);
            let contents = if C::KEEP { contents[0] } else { C::default() };
            self.ftl.put_physical(ppn, command, contents, number, &mut self.power);
            self.ftl.blocks.validate(ppn);
            self.immediate.counting = !command.flags.has(Flags::BEFORE);
            self.count_untimed(backend, OpKind::Program, command.cause, ppn, controller);
            if self.immediate.counting && self.ftl.ends_block(backend, ppn, controller) {
                controller.accounts.tell_summary(now, now, ppn);
            }
            self.immediate.counting = false;
            return controller.answer(token, 1, now, Span::ZERO, C::default());
        }
        let op = controller.queues.claim(DriveOp {
            token,
            command: *command,
            ftl: backend as u16,
            ppn,
            since: now,
            late: controller.admitted > now,
            ..DriveOp::default()
        });
        if C::KEEP {
            controller.queues.carry(op, contents);
        }
        self.ftl.maps.set(backend, page, MapEntry::Pending(op.raw()));
        self.queue_physical(now, backend, op, controller);
    }

    fn queue_physical(
        &mut self,
        now: SimTime,
        backend: usize,
        op: Id<DriveOp>,
        controller: &mut Controller<C>,
    ) {
        let write_queue = self.ftl.write_queue_of(controller.queues[op].ppn, controller);
        let is_first = !controller.queues.has_writes(write_queue);
        controller.queues.add_last_write(write_queue, op);
        if is_first {
            self.offer(now, backend, write_queue, 1, controller);
        }
    }

    // ---------------------------------------------------------------- erases

    /// Groups are erased: every block of them, each after the operations that its unit was given before. A group of
    /// more pages than a command can name is trimmed in parts, and erased with the last one.
    pub(super) fn trim_physical(
        &mut self,
        now: SimTime,
        backend: usize,
        command: &Command,
        token: CompletionToken,
        controller: &mut Controller<C>,
    ) {
        let group = self.ftl.rows(backend).superblock_pages();
        let whole =
            command.start.low().is_multiple_of(group) && u32::from(command.count).is_multiple_of(group);
        let in_parts = group > u32::from(u16::MAX);
        assert!(whole || in_parts, "whole groups are erased");
        for page in command.low_pages() {
            if let MapEntry::At(ppn) = self.ftl.maps.get(backend, page) {
                self.ftl.blocks.invalidate(ppn);
            }
            self.ftl.maps.set(backend, page, MapEntry::Unmapped);
        }
        let width = self.ftl.rows(backend).group_blocks();
        let ends = command.end() as u32 / group * group;
        let first = if in_parts { command.start.low() / group * group } else { command.start.low() };
        let groups = (first..ends).step_by(group as usize);
        let firsts = groups.flat_map(|first| first..first + width);
        let blocks: Vec<(u32, Ppn)> =
            firsts.map(|page| (page, self.ftl.physical_ppn(backend, page))).collect();
        let good = |(_, ppn): &(u32, Ppn)| !self.health.damaged || !self.ftl.is_in_failed_block(*ppn);
        let blocks: Vec<(u32, Ppn)> = blocks.into_iter().filter(good).collect();
        for (_, ppn) in &blocks {
            self.ftl.next_pages[self.flash.geometry.block_index_of(*ppn)] = 0;
        }
        if self.immediate.is_immediate(command) {
            self.immediate.counting = !command.flags.has(Flags::BEFORE);
            for &(_, ppn) in &blocks {
                if self.power.is_kept() {
                    self.finish_plane(now, backend, ppn, controller);
                } else {
                    self.hurry(now, backend, ppn, true, controller);
                }
                self.erase_immediately(now, backend, command.cause, ppn, controller);
            }
            self.immediate.counting = false;
        }
        if self.immediate.is_immediate(command) || blocks.is_empty() {
            return controller.answer(token, u32::from(command.count), now, Span::ZERO, C::default());
        }
        self.queue_erases(now, backend, command, token, &blocks, controller);
    }

    pub(in crate::drive) fn erase_physical_block(
        &mut self,
        end: SimTime,
        backend: usize,
        ppn: Ppn,
        controller: &mut Controller<C>,
    ) {
        let (plane, block) = (self.flash.geometry.plane_of(ppn), self.flash.geometry.block_of(ppn));
        self.ftl.blocks.erase_any(plane, block);
        controller.errors.note_erased(plane, block);
        self.power.forget_oobs(plane, block, &self.flash.geometry);
        self.ftl.backends[backend].erases += 1;
        if self.health.life.is_over(self.ftl.blocks.erases_of(plane, block)) {
            self.expire(end, plane, block, controller);
        }
    }

    /// Erases a block of a physical-page backend without time.
    pub(in crate::drive) fn erase_immediately(
        &mut self,
        now: SimTime,
        backend: usize,
        cause: Cause,
        ppn: Ppn,
        controller: &mut Controller<C>,
    ) {
        self.erase_physical_block(now, backend, ppn, controller);
        self.count_erase(
            backend,
            cause,
            self.flash.geometry.plane_of(ppn),
            self.flash.geometry.block_of(ppn),
            controller,
        );
    }

    /// A block is erased before time 0, while its plane has operations queued or in progress. After a power loss,
    /// copies of pages of that block must not be missing: all these operations have been done by then.
    fn finish_plane(&mut self, now: SimTime, backend: usize, ppn: Ppn, controller: &mut Controller<C>) {
        let plane = self.flash.geometry.plane_of(ppn);
        self.power.land(|ppn| self.flash.geometry.plane_of(ppn) == plane, controller);
        let geometry = self.flash.geometry.clone();
        let write_queue = self.ftl.write_queue_of(ppn, controller);
        for op in controller.queues.take(write_queue, |op| geometry.plane_of(op.ppn) == plane) {
            let DriveOp { ppn, command, .. } = controller.queues[op];
            if command.verb == Verb::Trim {
                self.erase_immediately(now, backend, command.cause, ppn, controller);
                controller.erased(op, now, Span::ZERO);
            } else if self.ftl.blocks.is_failed(ppn) {
                self.void_write(now, backend, op, controller);
            } else {
                self.ftl.place_physical(op, &mut self.power, controller);
                controller.answer_unplaced(now, op);
            }
        }
    }

    /// The trim itself waits, as an operation that counts its erases down; each of those names it in `to`.
    fn queue_erases(
        &mut self,
        now: SimTime,
        backend: usize,
        command: &Command,
        token: CompletionToken,
        blocks: &[(u32, Ppn)],
        controller: &mut Controller<C>,
    ) {
        let ftl = backend as u16;
        let placed = blocks.len() as u16;
        let since = now;
        let trim = controller.queues.claim(DriveOp {
            token,
            command: *command,
            ftl,
            placed,
            since,
            ..DriveOp::default()
        });
        for &(page, ppn) in blocks {
            let command = Command { to: Page::of(trim.raw()), ..command.over(Page::of(page), 1) };
            let erase =
                controller.queues.claim(DriveOp { token, command, ftl, ppn, since, ..DriveOp::default() });
            self.queue_physical(now, backend, erase, controller);
        }
    }

    /// Does the erase that comes first in a physical-page die queue's write queue.
    pub(super) fn erase_physical(
        &mut self,
        now: SimTime,
        channel: usize,
        die_queue: usize,
        controller: &mut Controller<C>,
    ) -> UnitId {
        let DieQueue { unit, write_queue, .. } = self.ftl.die_queues[die_queue];
        let op = controller.queues.pop(write_queue);
        let DriveOp { ppn, command, ftl, .. } = controller.queues[op];
        let page =
            PageWrite::moved(ftl, command.cause, controller.flash.geometry.plane_of(ppn), Target::page(ppn));
        let end = controller.commit::<Full>(now, channel, unit, Manner::erase(), &[page], self);
        self.erase_physical_block(end, usize::from(ftl), ppn, controller);
        controller.end_erase(unit, op, now, end);
        unit
    }

    /// An access to a block before time 0 comes while operations wait for the block: an erase among them has been done
    /// by then, and programs before that erase are void; with `all`, so are the programs after it.
    fn hurry(&mut self, now: SimTime, backend: usize, ppn: Ppn, all: bool, controller: &mut Controller<C>) {
        let write_queue = self.ftl.write_queue_of(ppn, controller);
        if !controller.queues.has_writes(write_queue) {
            return;
        }
        let geometry = &self.flash.geometry;
        let block = geometry.block_index_of(ppn);
        let in_block = |op: &DriveOp| geometry.block_index_of(op.ppn) == block;
        let mut until = if all { u64::MAX } else { 0 };
        controller.queues.is_any_in(write_queue, |op| {
            if in_block(op) && op.command.verb == Verb::Trim {
                until = until.max(op.sequence);
            }
            false
        });
        for op in controller.queues.take(write_queue, |op| in_block(op) && op.sequence <= until) {
            let Command { verb, cause, .. } = controller.queues[op].command;
            if verb == Verb::Trim {
                self.erase_immediately(now, backend, cause, ppn, controller);
                controller.erased(op, now, Span::ZERO);
            } else {
                controller.answer_unplaced(now, op);
            }
        }
    }
}
