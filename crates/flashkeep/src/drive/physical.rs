//! Physical-page leaves: pages by their physical numbers, for schemes that are their own FTL.
//!
//! The scheme decides where each page goes, and erases whole superblocks (the same block of every plane of
//! the backend) by trimming them. Programs and erases of a unit are executed in the order of their submission,
//! so the rules of flash are checked at submission: pages of a block in ascending order, each once after an
//! erase. As for other backends, the map says of every page whether it is programmed, in flight or neither,
//! which ensures the laws of order.

use super::backends::DriveBackends;
use super::controller::Controller;
use super::program::{Full, Manner, PageWrite};
use super::{DriveOp, OpKind};
use crate::engine::{BackendId, Cause, Command, CompletionToken, Contents, Done, Flags, Page, Verb};
use crate::flash::{PlaneId, Ppn, Target, UnitId};
use crate::ftl::MapEntry;
use crate::kernel::{Id, SimTime, Span};

impl<C: Contents> Controller<C> {
    fn queue_physical(
        &mut self,
        now: SimTime,
        backend: usize,
        op: Id<DriveOp>,
        backends: &mut DriveBackends<C>,
    ) {
        let write_queue = backends.write_queue_of(self.queues.ops[op].ppn, self);
        let somebody_waits = self.queues.write_queues[write_queue as usize].head.is_some();
        self.queues.waiting += u32::from(!somebody_waits);
        self.queues.write_queues[write_queue as usize].push_last(&mut self.queues.ops, op);
        if !somebody_waits {
            backends.offer(now, backend, write_queue, 1, self);
        }
    }

    /// The plane that the first operation in a physical-page die queue's write queue is for, unless that must wait.
    #[inline(never)]
    pub(super) fn physical_plane_for(
        &self,
        unit: UnitId,
        op: Id<DriveOp>,
        backends: &DriveBackends<C>,
    ) -> Option<PlaneId> {
        let DriveOp { ppn, command, .. } = self.queues.ops[op];
        let plane = self.flash.geometry.plane_of(ppn);
        let waits = command.verb == Verb::Trim
            && (backends.is_owed(unit, plane, self.flash.geometry.block_of(ppn), self)
                || backends.is_ahead(self.queues.ops[op].sequence, self));
        (!waits).then_some(plane)
    }

    /// The trim itself waits, as an operation that counts its erases down; each of those names it in `to`.
    fn queue_erases(
        &mut self,
        now: SimTime,
        backend: usize,
        command: &Command,
        token: CompletionToken,
        blocks: &[(u32, Ppn)],
        backends: &mut DriveBackends<C>,
    ) {
        let ftl = backend as u16;
        let placed = blocks.len() as u16;
        let since = now;
        let trim =
            self.queues.claim(DriveOp { token, command: *command, ftl, placed, since, ..DriveOp::default() });
        for &(page, ppn) in blocks {
            let command = Command { to: Page::of(trim.raw()), ..command.over(Page::of(page), 1) };
            let erase = self.queues.claim(DriveOp { token, command, ftl, ppn, since, ..DriveOp::default() });
            self.queue_physical(now, backend, erase, backends);
        }
    }

    /// Does the erase that comes first in a physical-page die queue's write queue.
    pub(super) fn erase_physical(
        &mut self,
        now: SimTime,
        channel: usize,
        die_queue: usize,
        backends: &mut DriveBackends<C>,
    ) -> UnitId {
        let (unit, write_queue) = (
            backends.ftl.die_queues[die_queue].unit,
            backends.ftl.die_queues[die_queue].write_queue as usize,
        );
        let op = self.queues.pop(write_queue);
        let DriveOp { ppn, command, ftl, .. } = self.queues.ops[op];
        let page = PageWrite::moved(ftl, command.cause, self.flash.geometry.plane_of(ppn), Target::page(ppn));
        let end = self.commit::<Full>(now, channel, unit, Manner::erase(), &[page], backends);
        backends.erase_physical_block(end, usize::from(ftl), ppn, self);
        if !self.answer_when_over(unit, op) {
            self.erased(op, end, end.since(now));
        }
        unit
    }

    /// One erase of a trim is over at `end`, or will not be; the last one answers for all.
    pub(super) fn erased(&mut self, erase: Id<DriveOp>, end: SimTime, service: Span) {
        let trim = Id::new(self.queues.ops[erase].command.to.low());
        self.queues.ops.release(erase);
        let state = &mut self.queues.ops[trim];
        state.placed -= 1;
        state.durable = state.durable.max(end);
        state.service = state.service.max(service);
        if state.placed > 0 {
            return;
        }
        let DriveOp { token, command, durable, service, .. } = *state;
        let spent = self.breakdown_of_erases(trim, durable, service);
        self.done.push(Done { service, spent, ..Done::at(token, u32::from(command.count), durable) });
        self.queues.ops.release(trim);
    }

    /// Something happens to a block before time 0, while operations wait for it: an erase among them has been done
    /// by then, and what was to be programmed before that is void; with `all`, so is what was to be programmed since.
    fn hurry(&mut self, now: SimTime, backend: usize, ppn: Ppn, all: bool, backends: &mut DriveBackends<C>) {
        let write_queue = backends.write_queue_of(ppn, self);
        if !self.queues.write_queues[write_queue as usize].head.is_some() {
            return;
        }
        let block = self.flash.geometry.block_index_of(ppn);
        let geometry = self.flash.geometry.clone();
        let in_block = |op: &DriveOp| geometry.block_index_of(op.ppn) == block;
        let mut until = if all { u64::MAX } else { 0 };
        self.queues.write_queues[write_queue as usize].any(&self.queues.ops, |op| {
            if in_block(op) && op.command.verb == Verb::Trim {
                until = until.max(op.sequence);
            }
            false
        });
        for op in self.queues.take(write_queue, |op| in_block(op) && op.sequence <= until) {
            let Command { verb, cause, .. } = self.queues.ops[op].command;
            if verb == Verb::Trim {
                backends.erase_immediately(now, backend, cause, ppn, self);
                self.erased(op, now, Span::ZERO);
            } else {
                self.answer_unplaced(now, op);
            }
        }
    }
}

impl<C: Contents> DriveBackends<C> {
    /// The physical page behind a physical-page backend's address.
    ///
    /// # Panics
    /// With a backend that has no physical pages.
    #[must_use]
    pub(super) fn physical_place(&self, backend: BackendId, page: Page) -> Ppn {
        self.physical_ppn(usize::from(backend.0), page.low())
    }

    /// A page of each block of the erase unit that a physical-page backend's page is in.
    pub(super) fn blocks_of_unit(&self, backend: BackendId, page: Page) -> impl Iterator<Item = Ppn> + '_ {
        let rows = self.ftl.rows(usize::from(backend.0));
        let first = page.low() / rows.superblock_pages() * rows.superblock_pages();
        (first..first + rows.group_blocks()).map(|page| rows.ppn(&self.flash.geometry, page))
    }

    #[inline]
    fn physical_ppn(&self, backend: usize, page: u32) -> Ppn {
        self.ftl.rows(backend).ppn(&self.flash.geometry, page)
    }

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
        let ppn = self.physical_ppn(backend, page);
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
            controller.hurry(now, backend, ppn, false, self);
            if self.health.damaged && self.ftl.blocks.is_failed(ppn) {
                // That was its last erase.
                return self.void(now, backend, page, token, controller);
            }
            self.ftl.maps.set(backend, page, MapEntry::At(ppn));
            controller.queues.sequence += 1;
            let contents = if C::KEEP { contents[0] } else { C::default() };
            self.put_physical(ppn, command, contents, controller.queues.sequence);
            self.ftl.blocks.validate(ppn);
            self.immediate.counting = !command.flags.has(Flags::BEFORE);
            self.count_untimed(backend, OpKind::Program, command.cause, ppn, controller);
            if self.immediate.counting && self.ends_block(backend, ppn, controller) {
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
        controller.queue_physical(now, backend, op, self);
    }

    /// The write queue of the unit that a page is in.
    fn write_queue_of(&self, ppn: Ppn, controller: &Controller<C>) -> u32 {
        let plane = self.flash.geometry.plane_of(ppn);
        let mut die_queue = self.ftl.die_queue_of[plane.0 as usize] as usize;
        if controller.dies.spread.is_some() {
            let unit = controller.unit_of_page(ppn);
            let mut die_queues = self.ftl.backends[self.ftl.ftl_of(plane)].die_queues_range();
            die_queue = die_queues
                .find(|&die_queue| self.ftl.die_queues[die_queue].unit == unit)
                .unwrap_or(die_queue);
        }
        self.ftl.die_queues[die_queue].write_queue
    }

    /// A page of a physical-page backend is where it was meant to be.
    pub(super) fn place_physical(&mut self, op: Id<DriveOp>, controller: &Controller<C>) {
        let DriveOp { ppn, command, ftl, sequence, .. } = controller.queues.ops[op];
        let contents = controller.queues.take_carried(op);
        self.put_physical(ppn, &command, contents, sequence);
        // A page whose group has been trimmed meanwhile is born invalid.
        if self.ftl.maps.arrive(usize::from(ftl), command.start.low(), op.raw(), ppn) {
            self.ftl.blocks.validate(ppn);
        }
    }

    /// A page is programmed where its number says, with what its spare area says of it.
    fn put_physical(&mut self, ppn: Ppn, command: &Command, contents: C, sequence: u64) {
        self.ftl.blocks.program_at(ppn, command.start.low(), contents);
        self.note_oob(ppn, command.start.low(), sequence);
        self.note_mark(ppn, command.to.low());
    }

    // ---------------------------------------------------------------- erases

    /// Groups are erased: every block of them, each behind what its unit was given before. A group of more pages than a
    /// command can name is trimmed in parts, and erased with the last one.
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
        let blocks: Vec<(u32, Ppn)> = firsts.map(|page| (page, self.physical_ppn(backend, page))).collect();
        let good = |(_, ppn): &(u32, Ppn)| !self.health.damaged || !self.is_in_failed_block(*ppn);
        let blocks: Vec<(u32, Ppn)> = blocks.into_iter().filter(good).collect();
        for (_, ppn) in &blocks {
            self.ftl.next_pages[self.flash.geometry.block_index_of(*ppn)] = 0;
        }
        if self.immediate.is_immediate(command) {
            self.immediate.counting = !command.flags.has(Flags::BEFORE);
            for &(_, ppn) in &blocks {
                if self.power.is_some() {
                    self.finish_plane(now, backend, ppn, controller);
                } else {
                    controller.hurry(now, backend, ppn, true, self);
                }
                self.erase_immediately(now, backend, command.cause, ppn, controller);
            }
            self.immediate.counting = false;
        }
        if self.immediate.is_immediate(command) || blocks.is_empty() {
            return controller.answer(token, u32::from(command.count), now, Span::ZERO, C::default());
        }
        controller.queue_erases(now, backend, command, token, &blocks, self);
    }

    fn is_in_failed_block(&self, ppn: Ppn) -> bool {
        self.ftl.blocks.is_failed_block(self.flash.geometry.plane_of(ppn), self.flash.geometry.block_of(ppn))
    }

    /// Whether an erase comes first in a physical-page die queue's write queue.
    pub(super) fn erases_next(&self, die_queue: usize, controller: &Controller<C>) -> bool {
        let head = controller.queues.write_queues[self.ftl.die_queues[die_queue].write_queue as usize].head;
        self.ftl.physical && controller.queues.ops[head].command.verb == Verb::Trim
    }

    fn erase_physical_block(
        &mut self,
        end: SimTime,
        backend: usize,
        ppn: Ppn,
        controller: &mut Controller<C>,
    ) {
        let (plane, block) = (self.flash.geometry.plane_of(ppn), self.flash.geometry.block_of(ppn));
        self.ftl.blocks.erase_any(plane, block);
        controller.note_erased(plane, block);
        self.forget_oobs(plane, block);
        self.ftl.backends[backend].erases += 1;
        if self.health.life.is_over(self.ftl.blocks.erases_of(plane, block)) {
            self.expire(end, plane, block, controller);
        }
    }

    /// Erases a block of a physical-page backend without time.
    fn erase_immediately(
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
        self.land(plane, controller);
        let geometry = self.flash.geometry.clone();
        let write_queue = self.write_queue_of(ppn, controller);
        for op in controller.queues.take(write_queue, |op| geometry.plane_of(op.ppn) == plane) {
            let DriveOp { ppn, command, .. } = controller.queues.ops[op];
            if command.verb == Verb::Trim {
                self.erase_immediately(now, backend, command.cause, ppn, controller);
                controller.erased(op, now, Span::ZERO);
            } else if self.ftl.blocks.is_failed(ppn) {
                self.void_write(now, backend, op, controller);
            } else {
                self.place_physical(op, controller);
                controller.answer_unplaced(now, op);
            }
        }
    }
}
