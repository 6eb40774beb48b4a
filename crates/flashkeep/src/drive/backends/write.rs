//! Writes: they wait in a write queue until a die may take them, and are then placed and programmed.

use super::backend::{DieQueue, Ftl};
use super::{DriveBackends, Power, Translation};
use crate::drive::controller::{Controller, DriveOp, Full, Manner, PageWrite, ProgramMode, Taker};
use crate::engine::{Cause, Command, CompletionPart, CompletionToken, Contents, Flags};
use crate::flash::{OpKind, PlaneId, Ppn, Target, UnitId};
use crate::ftl::{Allocation, MapEntry, SLC_STREAM};
use crate::kernel::{Id, SimTime};

impl<C: Contents> Translation<C> {
    pub(super) fn channel_of_write_queue(
        &self,
        ftl: usize,
        write_queue: u32,
        controller: &Controller<C>,
    ) -> u32 {
        let this = &self.backends[ftl];
        let die_queue = match this.allocation {
            Allocation::Static(_) => this.die_queues.start + (write_queue - this.first_write_queue),
            _ => this
                .die_queues
                .clone()
                .find(|&die_queue| self.die_queues[die_queue as usize].write_queue == write_queue)
                .expect("some die queue takes it"),
        };
        controller.dies[self.die_queues[die_queue as usize].unit].channel
    }

    /// Wakes the channels that may take writes of the queue.
    pub(super) fn wake_for(
        &self,
        now: SimTime,
        ftl: usize,
        write_queue: u32,
        controller: &mut Controller<C>,
    ) {
        let cached = controller.flash.commands.cache_program;
        let all = self.backends[ftl].channels();
        let channels = if self.channels_offered(ftl) > 1 {
            all
        } else {
            let one = self.channel_of_write_queue(ftl, write_queue, controller) as usize;
            one..one + 1
        };
        let takes = |die_queue: u32| self.die_queues[die_queue as usize].write_queue == write_queue;
        channels.for_each(|channel| controller.dies.arm_for_writes(now, channel, cached, takes));
    }

    /// Another write comes first in the write queue that a die queue has taken from: where planes are bound, other
    /// channels may be able to take it that could not take the one before.
    pub(super) fn pass_on(&self, channel: usize, die_queue: usize, controller: &mut Controller<C>) {
        let DieQueue { ftl, write_queue, .. } = self.die_queues[die_queue];
        if !self.placement.selective || !controller.queues.has_writes(write_queue) {
            return;
        }
        for die_queue in &self.die_queues[self.backends[usize::from(ftl)].die_queues_range()] {
            let other = controller.dies[die_queue.unit].channel as usize;
            if other != channel && die_queue.write_queue == write_queue {
                controller.dies.wake_channel(controller.now, other);
            }
        }
    }

    /// Wakes the channels that may take an FTL's writes from its single write queue.
    pub(super) fn wake_all(&self, now: SimTime, ftl: usize, controller: &mut Controller<C>) {
        self.wake_for(now, ftl, self.backends[ftl].first_write_queue, controller);
        self.backends[ftl].channels().for_each(|channel| controller.dies.wake_channel(now, channel));
    }

    /// Wakes the channels that may take writes of the FTLs that each have a single write queue.
    pub(in crate::drive) fn wake_backends(&self, now: SimTime, controller: &mut Controller<C>) {
        for ftl in (0..self.backends.len()).filter(|&ftl| self.backends[ftl].rows.is_none()) {
            self.wake_all(now, ftl, controller);
        }
    }

    /// Gives a page that has its place already its contents; the place, if it has one.
    pub(super) fn fill(&mut self, backend: usize, page: u32, contents: C) -> Option<Ppn> {
        let MapEntry::At(ppn) = self.maps.get(backend, page) else { return None };
        self.blocks.set_contents(ppn, contents);
        Some(ppn)
    }

    /// Whether the page programmed last has filled its block, so that the block's summary page follows.
    #[inline]
    pub(in crate::drive) fn closes(
        &self,
        ftl: usize,
        stream: Option<u8>,
        plane: PlaneId,
        controller: &mut Controller<C>,
    ) -> bool {
        if !self.summaries || self.blocks.front(stream, plane).is_some() {
            return false;
        }
        controller.accounts.counters_mut().count(ftl as u16, OpKind::Program, Cause::Metadata);
        true
    }

    /// How many blocks the pages programmed last have filled.
    pub(super) fn summaries_of(
        &self,
        ftl: usize,
        stream: Option<u8>,
        pages: &[PageWrite],
        controller: &mut Controller<C>,
    ) -> u32 {
        if !self.summaries {
            return 0;
        }
        let planes = (0..pages.len()).filter(|&at| at == 0 || pages[at - 1].plane != pages[at].plane);
        planes.map(|at| u32::from(self.closes(ftl, stream, pages[at].plane, controller))).sum()
    }

    /// Whether a physical page is the last one of its block, so that the block's summary page follows.
    pub(super) fn ends_block(&self, ftl: usize, ppn: Ppn, controller: &mut Controller<C>) -> bool {
        let geometry = self.blocks.geometry();
        let ends = self.summaries && geometry.page_of(ppn) + 1 == geometry.pages;
        if ends {
            controller.accounts.counters_mut().count(ftl as u16, OpKind::Program, Cause::Metadata);
        }
        ends
    }

    /// A page of a write has been programmed: the copy that is given up for it, which is the one that it replaces. If it
    /// has been written again meanwhile, it is itself the copy that the later write replaces; if that is not so either,
    /// because the later write was placed before, or because the page has been trimmed, it is born invalid.
    #[inline(always)]
    fn succeed(
        &mut self,
        lpn: u32,
        op: Id<DriveOp>,
        ppn: Ppn,
        arrived: Option<u16>,
        power: &Power,
        controller: &mut Controller<C>,
    ) -> Option<Ppn> {
        if let Some(n) = arrived {
            self.blocks.validate(ppn);
            return controller.queues.take_older(op, n);
        }
        let DriveOp { ftl, sequence, .. } = controller.queues[op];
        let older = self.replace_older(usize::from(ftl), lpn, sequence, ppn, power, controller).ok()?;
        self.blocks.validate(ppn);
        older
    }

    /// The write queue of an address of which some levels are bound.
    pub(super) fn bound_write_queue(&self, ftl: usize, lpn: u32, controller: &Controller<C>) -> u32 {
        let this = &self.backends[ftl];
        let write_queue = match &this.allocation {
            Allocation::Dynamic => this.first_write_queue,
            Allocation::Partial(order) => {
                let at = order.coordinates(&this.domain, lpn);
                this.first_write_queue + order.index(&this.domain, self.blocks.geometry().unit_levels(), at)
            }
            Allocation::Static(order) => {
                let plane = this.domain.plane(self.blocks.geometry(), order.coordinates(&this.domain, lpn));
                self.die_queues[self.die_queue_of(plane)].write_queue
            }
        };
        if self.remaps { self.write_queue_with_room(ftl, write_queue, controller) } else { write_queue }
    }

    /// The plane of a die queue that comes first among those where a page of which some levels are bound may go.
    #[inline(never)]
    pub(super) fn allowed_plane(
        &self,
        die_queue: &DieQueue,
        lpn: u32,
        fits: impl Fn(PlaneId) -> bool,
    ) -> Option<(PlaneId, u32)> {
        let Ftl { allocation, domain, .. } = &self.backends[usize::from(die_queue.ftl)];
        Allocation::next_plane(&die_queue.planes, die_queue.turn, |plane| {
            allocation.allows(self.blocks.geometry(), domain, lpn, plane)
                && self.takes(plane, lpn)
                && fits(plane)
        })
    }
}

impl<C: Contents> DriveBackends<C> {
    #[inline(always)]
    pub(super) fn write(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
        controller: &mut Controller<C>,
    ) {
        if command.flags.has(Flags::BEFORE) {
            return self.write_immediately(now, ftl, command, token, contents, controller);
        }
        let channels = self.ftl.channels_offered(ftl);
        if matches!(self.ftl.backends[ftl].allocation, Allocation::Dynamic) {
            let write_queue = self.ftl.backends[ftl].first_write_queue;
            self.queue_write(now, ftl, command, token, contents, write_queue, channels, controller);
            return;
        }
        if self.packing.active {
            self.write_packed(now, ftl, command, token, contents, controller);
            if self.health.damaged {
                self.count_anew(now, ftl, controller);
            }
            return;
        }
        let begins = controller.pages_may_join(command) && self.parts.hold_parts();
        for n in 0..command.count {
            let page = command.start.plus(u32::from(n));
            let contents = if C::KEEP { &contents[usize::from(n)..=usize::from(n)] } else { contents };
            let write_queue = self.ftl.bound_write_queue(ftl, page.low(), controller);
            let (one, token) = (command.over(page, 1), token.plus(u32::from(n)));
            self.queue_write(now, ftl, &one, token, contents, write_queue, channels, controller);
        }
        if begins {
            self.begin_parts(now, controller);
        }
        if self.health.damaged {
            self.count_anew(now, ftl, controller);
        }
    }

    /// From now on the pages are those of this write, wherever they will be.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn queue_write(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
        write_queue: u32,
        channels: u32,
        controller: &mut Controller<C>,
    ) {
        let (since, late) = (now, controller.admitted > now);
        let op = DriveOp { token, command: *command, ftl: ftl as u16, since, late, ..DriveOp::default() };
        let op = controller.queues.claim(op);
        if C::KEEP {
            controller.queues.carry(op, contents);
        }
        controller.queues.begin_older(op);
        for lpn in command.low_pages() {
            let older = match self.ftl.maps.replace(ftl, lpn, MapEntry::Pending(op.raw())) {
                MapEntry::At(ppn) => Some(ppn),
                MapEntry::Pending(earlier) => self.ftl.leave_write(ftl, earlier, lpn, controller),
                MapEntry::Unmapped => None,
            };
            controller.queues.note_older(op, older);
        }
        let is_first = !controller.queues.has_writes(write_queue);
        controller.queues.add_write(write_queue, op);
        // An older write comes first: dies that could not take the earlier first write may be able to take this one.
        let overtakes =
            self.ftl.placement.selective && controller.queues.first_write(write_queue).raw() == op.raw();
        // It waits for others no more: with these it fills a word line, or it may not wait.
        let completes = self.packing.active
            && self.packing.gathers(now, write_queue, op, controller)
            && self.packing.gathers_until(write_queue, &self.ftl, controller).is_none();
        if (is_first || overtakes || completes) && !self.parts.offers_later(ftl, write_queue, channels) {
            self.offer(now, ftl, write_queue, channels, controller);
        }
    }

    /// Offers the writes of a queue to its channels, in turn; a busy channel is visited again when it becomes free.
    #[inline(always)]
    pub(in crate::drive) fn offer(
        &mut self,
        now: SimTime,
        ftl: usize,
        write_queue: u32,
        channels: u32,
        controller: &mut Controller<C>,
    ) {
        let first = self.ftl.backends[ftl].domain.first.channel;
        let whole = channels > 1;
        let mut at = if whole { self.ftl.backends[ftl].turn } else { 0 };
        for _ in 0..channels {
            if !controller.queues.has_writes(write_queue) {
                return;
            }
            let channel = if whole {
                first + at
            } else {
                self.ftl.channel_of_write_queue(ftl, write_queue, controller)
            };
            at = if at + 1 >= channels { 0 } else { at + 1 };
            if controller.dies.channel(channel as usize).free_at <= now {
                controller.visit(now, channel as usize, self);
            }
        }
        if controller.queues.has_writes(write_queue) {
            self.ftl.wake_for(now, ftl, write_queue, controller);
        }
    }

    /// Programs the first page of a die queue's write queue, and with it what else one command can take.
    #[inline(always)]
    pub(super) fn grant_write<M: ProgramMode>(
        &mut self,
        now: SimTime,
        channel: usize,
        taker: Taker,
        controller: &mut Controller<C>,
    ) -> UnitId {
        let Taker { die_queue, plane, turn_of_planes, .. } = taker;
        let this = &mut self.ftl.die_queues[die_queue];
        this.turn = turn_of_planes;
        let (unit, ftl, write_queue) = (this.unit, usize::from(this.ftl), this.write_queue);
        if M::PHYSICAL {
            let op = controller.queues.pop(write_queue);
            let page = controller.queues.page_of_write(op, 0, plane);
            self.ftl.place_physical(op, &mut self.power, controller);
            controller.commit_page::<M>(now, channel, unit, page, true, self);
            self.all_placed(op, controller);
        } else if M::PLAIN {
            let op = controller.queues.first_write(write_queue);
            let DriveOp { placed: n, command: Command { start, count, cause, sectors, .. }, .. } =
                controller.queues[op];
            let to = self.place_plainly(ftl, plane, op, n, start.low() + u32::from(n), controller);
            if self.ftl.placement.many_planes {
                self.ftl.prefetch_for(die_queue);
            }
            let target = Target::sectors(to, sectors);
            let page = PageWrite { op, n, ftl: ftl as u16, cause, plane, target, guards: None };
            let last = n + 1 == count;
            controller.commit_page::<M>(now, channel, unit, page, last, self);
            if last {
                controller.queues.pop(write_queue);
                self.all_placed(op, controller);
            }
        } else {
            self.grant_gathered(now, channel, die_queue, plane, controller);
            self.ftl.next_turn(ftl);
        }
        unit
    }

    /// [`DriveBackends::grant_write`] where commands may have several pages.
    #[inline(never)]
    fn grant_gathered(
        &mut self,
        now: SimTime,
        channel: usize,
        die_queue: usize,
        plane: PlaneId,
        controller: &mut Controller<C>,
    ) {
        let DieQueue { unit, ftl, write_queue, .. } = self.ftl.die_queues[die_queue];
        let mut pages = controller.scratch.take();
        let stream = if self.ftl.physical {
            self.packing.gather_physical(write_queue, plane, &mut pages, controller);
            0
        } else {
            let head = controller.queues.first_write(write_queue);
            let page = controller.queues[head].placed;
            let stream = self.ftl.stream_into(plane, usize::from(ftl), head, page, controller);
            self.share_out(now, die_queue, plane, stream, &mut pages, controller);
            stream
        };
        for page in &mut pages {
            self.place(page, stream, controller);
        }
        if self.packing.active && !self.ftl.physical {
            self.packing.share_flash_pages(&mut pages, &self.flash.geometry);
        }
        if self.ftl.placement.many_planes && !self.ftl.physical {
            self.ftl.prefetch_for(die_queue);
        }
        self.leave_rest_of(&pages, stream, controller);
        let summaries = match self.ftl.physical {
            true => {
                u32::from(self.ftl.ends_block(usize::from(ftl), pages[pages.len() - 1].target.to, controller))
            }
            false => self.ftl.summaries_of(usize::from(ftl), Some(stream), &pages, controller),
        };
        let manner = Manner {
            cached: self.flash.commands.cache_program && !self.ftl.physical,
            ..Manner::program(summaries)
        };
        let end = controller.commit::<Full>(now, channel, unit, manner, &pages, self);
        let durable = if controller.open.may_exist() { SimTime::NEVER } else { end };
        for page in &pages {
            if self.ftl.physical {
                let sequence = controller.queues[page.op].sequence;
                self.power.note_number(controller.now, sequence, durable);
                self.all_placed(page.op, controller);
            } else {
                self.take_if_placed(die_queue, page, controller);
            }
        }
        pages.clear();
        controller.scratch.put_back(pages);
    }

    /// [`DriveBackends::place`] in a plain drive; the next channel is offered the next write first.
    #[inline(always)]
    fn place_plainly(
        &mut self,
        ftl: usize,
        plane: PlaneId,
        op: Id<DriveOp>,
        n: u16,
        lpn: u32,
        controller: &mut Controller<C>,
    ) -> Ppn {
        let backend = &mut self.ftl.backends[ftl];
        backend.next_turn();
        if !backend.remapped.is_empty() {
            let mut page = controller.queues.page_of_write(op, n, plane);
            self.place(&mut page, 0, controller);
            return page.target.to;
        }
        let contents = controller.queues.carried(op, n);
        let ppn = self.ftl.blocks.program(plane, lpn, contents);
        let arrived = self.ftl.maps.arrive(ftl, lpn, op.raw(), ppn);
        if let Some(older) = self.ftl.succeed(lpn, op, ppn, arrived.then_some(n), &self.power, controller) {
            self.discard(older, controller);
        }
        if self.gc.is_low(plane, &self.ftl) {
            self.ask_for_collection(plane, controller);
        }
        ppn
    }

    /// A page of a write gets its place.
    #[inline(never)]
    fn place(&mut self, page: &mut PageWrite, stream: u8, controller: &mut Controller<C>) {
        if self.ftl.physical {
            self.ftl.place_physical(page.op, &mut self.power, controller);
            return controller.follow(page.op, page.n, page.target.to, self);
        }
        let PageWrite { ftl, plane, op, .. } = *page;
        let ftl = usize::from(ftl);
        let (lpn, contents) = controller.queues.written(page);
        let this = &mut self.ftl.backends[ftl];
        let first = controller.queues[op].command.start.low();
        let owner = if this.remapped.is_empty() {
            Some(lpn)
        } else {
            // Its address must not match among the pages that are still to be placed.
            this.reverse_map(op.raw())
                .map_or(Some(lpn), |reverse_map| reverse_map[(lpn - first) as usize].take())
        };
        let owned = owner.unwrap_or(lpn);
        self.ftl.streams.take_handle(ftl, owned, &controller.queues[op].command);
        let ppn = match stream {
            SLC_STREAM => self.ftl.program_cached(ftl, plane, owned, contents, controller),
            // Pages of a program stay together, also if one of them is written twice and so gets warmer twice.
            _ if self.packing.active => {
                self.ftl.streams.warm(ftl, owned);
                self.ftl.blocks.program_in(stream, plane, owned, contents)
            }
            _ => self.ftl.streams.program(&mut self.ftl.blocks, ftl, plane, owned, contents),
        };
        self.ftl.streams.note_handle(&mut self.ftl.blocks, ftl, owned, ppn, false);
        let arrived = owner.is_some_and(|owner| self.ftl.maps.arrive(ftl, owner, op.raw(), ppn));
        let older = self.ftl.succeed(owned, op, ppn, arrived.then_some(page.n), &self.power, controller);
        if self.power.is_kept() {
            self.power.note_oob(ppn, lpn, controller.queues[op].sequence);
            page.guards = older.map(|older| self.flash.geometry.block_index_of(older));
        }
        if let Some(older) = older {
            self.discard(older, controller);
        }
        if self.gc.is_low_for_idle(plane, &self.ftl) {
            self.look_at(plane, controller);
        }
        if self.slc.active {
            self.note_placement(plane, owned, stream == SLC_STREAM, controller);
        }
        page.target.to = ppn;
        controller.follow(op, page.n, ppn, self);
    }

    #[inline(never)]
    pub(in crate::drive) fn all_placed(&mut self, op: Id<DriveOp>, controller: &mut Controller<C>) {
        let remapped = &mut self.ftl.backends[usize::from(controller.queues[op].ftl)].remapped;
        if !remapped.is_empty() {
            remapped.retain(|remapped| remapped.op != op.raw());
        }
        if controller.open.may_exist() && controller.is_still_programmed(op) {
            return controller.answer_behind(controller.now, op);
        }
        controller.answer_write(op, CompletionPart::Both);
        controller.answer_behind(controller.now, op);
        controller.queues.release(op);
    }
}
