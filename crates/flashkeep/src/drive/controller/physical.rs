//! Writes and erases of physical pages.

use super::Controller;
use super::program::{Full, Manner, PageWrite};
use super::queue::DriveOp;
use crate::drive::backends::DriveBackends;
use crate::engine::{Command, CompletionToken, Contents, Done, Page, Verb};
use crate::flash::{PlaneId, Ppn, Target, UnitId};
use crate::kernel::{Id, SimTime, Span};

impl<C: Contents> Controller<C> {
    pub(in crate::drive) fn queue_physical(
        &mut self,
        now: SimTime,
        backend: usize,
        op: Id<DriveOp>,
        backends: &mut DriveBackends<C>,
    ) {
        let write_queue = backends.ftl.write_queue_of(self.queues[op].ppn, self);
        let is_first = !self.queues.has_writes(write_queue);
        self.queues.add_last_write(write_queue, op);
        if is_first {
            backends.offer(now, backend, write_queue, 1, self);
        }
    }

    /// The plane that the first operation in a physical-page die queue's write queue is for, unless that must wait.
    #[inline(never)]
    pub(in crate::drive) fn physical_plane_for(
        &self,
        unit: UnitId,
        op: Id<DriveOp>,
        backends: &DriveBackends<C>,
    ) -> Option<PlaneId> {
        let DriveOp { ppn, command, .. } = self.queues[op];
        let plane = self.flash.geometry.plane_of(ppn);
        let waits = command.verb == Verb::Trim
            && (backends.ftl.is_owed(unit, plane, self.flash.geometry.block_of(ppn), self)
                || backends.power.is_ahead(self.queues[op].sequence, self));
        (!waits).then_some(plane)
    }

    /// The trim itself waits, as an operation that counts its erases down; each of those names it in `to`.
    pub(in crate::drive) fn queue_erases(
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
        let (unit, write_queue) =
            (backends.ftl.die_queue(die_queue).unit, backends.ftl.die_queue(die_queue).write_queue as usize);
        let op = self.queues.pop(write_queue as u32);
        let DriveOp { ppn, command, ftl, .. } = self.queues[op];
        let page = PageWrite::moved(ftl, command.cause, self.flash.geometry.plane_of(ppn), Target::page(ppn));
        let end = self.commit::<Full>(now, channel, unit, Manner::erase(), &[page], backends);
        backends.erase_physical_block(end, usize::from(ftl), ppn, self);
        if !self.open.answer_when_over(unit, op) {
            self.erased(op, end, end.since(now));
        }
        unit
    }

    /// One erase of a trim is over at `end`, or will not be; the last one answers for all.
    pub(in crate::drive) fn erased(&mut self, erase: Id<DriveOp>, end: SimTime, service: Span) {
        let trim = Id::new(self.queues[erase].command.to.low());
        self.queues.release(erase);
        let state = &mut self.queues[trim];
        state.placed -= 1;
        state.durable = state.durable.max(end);
        state.service = state.service.max(service);
        if state.placed > 0 {
            return;
        }
        let DriveOp { token, command, since, durable, service, .. } = *state;
        let spent = self.probe.erases(durable.since(since), service);
        self.done.push(Done { service, spent, ..Done::at(token, u32::from(command.count), durable) });
        self.queues.release(trim);
    }

    /// An access to a block before time 0 comes while operations wait for the block: an erase among them has been done
    /// by then, and programs before that erase are void; with `all`, so are the programs after it.
    pub(in crate::drive) fn hurry(
        &mut self,
        now: SimTime,
        backend: usize,
        ppn: Ppn,
        all: bool,
        backends: &mut DriveBackends<C>,
    ) {
        let write_queue = backends.ftl.write_queue_of(ppn, self);
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
            let Command { verb, cause, .. } = self.queues[op].command;
            if verb == Verb::Trim {
                backends.erase_immediately(now, backend, cause, ppn, self);
                self.erased(op, now, Span::ZERO);
            } else {
                self.answer_unplaced(now, op);
            }
        }
    }
}
