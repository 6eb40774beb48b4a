//! Degraded capacity: how an FTL continues that has lost part of its flash.
//!
//! It places pages wherever there is room, not where its allocation says, because the place that an address was
//! bound to may be lost. It maps only as many pages as it can sustain: in every plane the good pages less two
//! blocks' worth, or less what several streams need
//! ([`Blocks::set_streams`](crate::ftl::Blocks::set_streams)).
//!
//! Why that is enough: a plane has no room when only one block's worth of free pages is left (the reserve of
//! GC). GC gains nothing when the only garbage is in the open block, at most one page less than a block. So a
//! plane in that state holds more valid pages than all but two blocks' worth. If fewer are mapped, some plane
//! has room or something to collect. A plane that lost its spare pages has no room to collect into: GC
//! *evicts* its pages to the controller's memory, from where they are written like host pages.

use super::{DegradedCapacity, DriveBackends, Translation};
use crate::drive::controller::{Controller, DriveOp, UNASKED};
use crate::engine::{BackendId, Cause, Command, CompletionToken, Contents, Done, Page, Verb};
use crate::flash::{PlaneId, Ppn};
use crate::ftl::{Allocation, MapEntry};
use crate::kernel::{SimTime, Span};

impl DegradedCapacity {
    /// Whether an FTL can still map this number of pages.
    pub(in crate::drive) fn takes(&self, pages: u32) -> bool {
        self.most >= pages
    }
}

impl<C: Contents> Translation<C> {
    /// Evicts the page to the controller's memory, from where it is written like a host page.
    pub(super) fn evict_pages(
        &mut self,
        now: SimTime,
        plane: PlaneId,
        lpn: u32,
        from: Ppn,
        controller: &mut Controller<C>,
    ) {
        let ftl = self.ftl_of(plane);
        let write_queue = self.backends[ftl].first_write_queue;
        let last = controller.queues.last_write(write_queue);
        let token = CompletionToken {
            slot: UNASKED,
            age: controller.queues[last].token.age,
            ..CompletionToken::default()
        };
        let command = Command::new(Verb::Write, Page::of(lpn), 1).because(Cause::Gc);
        let op = controller.queues.claim(DriveOp { token, command, ftl: ftl as u16, ..DriveOp::default() });
        if C::KEEP {
            let contents = self.blocks.contents(from);
            controller.queues.carry(op, &[contents]);
        }
        self.blocks.invalidate(from);
        controller.queues.begin_older(op);
        controller.queues.note_older(op, None);
        self.maps.set(ftl, lpn, MapEntry::Pending(op.raw()));
        controller.queues.add_last_write(write_queue, op);
        self.wake_all(now, ftl, controller);
    }

    /// Moves all waiting writes into one write queue, by age.
    fn place_anywhere(&mut self, ftl: usize, controller: &mut Controller<C>) {
        if matches!(self.backends[ftl].allocation, Allocation::Dynamic) {
            return;
        }
        self.backends[ftl].allocation = Allocation::Dynamic;
        let mut waiting = Vec::new();
        for die_queue in self.backends[ftl].die_queues_range() {
            waiting.extend(controller.queues.take(self.die_queues[die_queue].write_queue, |_| true));
        }
        self.assign_write_queues(ftl, controller);
        waiting.sort_by_key(|&op| controller.queues[op].sequence);
        let write_queue = self.backends[ftl].first_write_queue;
        for op in waiting {
            controller.queues.add_write(write_queue, op);
        }
    }
}

impl<C: Contents> DriveBackends<C> {
    /// An FTL has lost or regained flash: recomputes its degraded capacity; writes beyond it are void.
    #[cold]
    pub(in crate::drive) fn set_limit(&mut self, now: SimTime, ftl: usize, controller: &mut Controller<C>) {
        self.ftl.place_anywhere(ftl, controller);
        let mappable = |plane| self.ftl.mappable(plane);
        let most = self.ftl.planes_in(ftl).map(mappable).sum();
        let mapped = self.ftl.maps.mapped(ftl);
        self.ftl.backends[ftl].limit = Some(DegradedCapacity { most, mapped });
        controller.answer_all_behind(now, ftl);
        self.cut_waiting_writes(now, ftl, controller);
        self.ask_planes_without_room(now, ftl, controller);
        self.ftl.wake_all(now, ftl, controller);
    }

    fn set_mapped(&mut self, now: SimTime, ftl: usize, mapped: u32, controller: &mut Controller<C>) {
        let limit = self.ftl.backends[ftl].limit.as_mut().expect("only a damaged FTL counts");
        let was_beyond = limit.mapped > limit.most;
        limit.mapped = mapped;
        if was_beyond && mapped <= limit.most {
            self.ask_planes_without_room(now, ftl, controller);
        }
    }

    /// A page of a degraded FTL is unmapped.
    pub(in crate::drive) fn count_unmapped(&mut self, ftl: usize, controller: &mut Controller<C>) {
        if let Some(DegradedCapacity { mapped, .. }) = self.ftl.backends[ftl].limit {
            self.set_mapped(controller.now, ftl, mapped.saturating_sub(1), controller);
        }
    }

    fn ask_planes_without_room(&mut self, now: SimTime, ftl: usize, controller: &mut Controller<C>) {
        for plane in self.ftl.planes_of(ftl) {
            if !self.ftl.blocks.is_dead(plane) && self.gc.is_low(plane, &self.ftl) {
                self.ask_for_collection(plane, controller);
                self.gc.wake_collector(now, plane, controller);
            }
        }
    }

    // ---------------------------------------------------------------- commands

    /// Handles a command for a degraded FTL, page by page.
    pub(super) fn submit_damaged(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
        controller: &mut Controller<C>,
    ) {
        for n in 0..command.count {
            let one = command.part(u32::from(n), 1);
            match command.verb {
                Verb::Read => {
                    self.submit_apart(now, ftl, &one, token.plus(u32::from(n)), contents, controller)
                }
                Verb::Write => {
                    let contents =
                        if C::KEEP { &contents[usize::from(n)..=usize::from(n)] } else { contents };
                    self.write_damaged(now, ftl, &one, token.plus(u32::from(n)), contents, controller);
                }
                Verb::Trim | Verb::Remap => self.change_damaged(now, ftl, &one, controller),
            }
        }
        if matches!(command.verb, Verb::Trim | Verb::Remap) {
            controller.answer(token, u32::from(command.count), now, Span::ZERO, C::default());
        }
    }

    fn write_damaged(
        &mut self,
        now: SimTime,
        ftl: usize,
        one: &Command,
        token: CompletionToken,
        contents: &[C],
        controller: &mut Controller<C>,
    ) {
        let Some(DegradedCapacity { most, mapped }) = self.ftl.backends[ftl].limit else {
            return self.submit_apart(now, ftl, one, token, contents, controller);
        };
        let others = mapped - u32::from(self.ftl.is_mapped(ftl, one.start));
        if others < most {
            self.set_mapped(now, ftl, others + 1, controller);
            return self.submit_apart(now, ftl, one, token, contents, controller);
        }
        self.void(now, ftl, one.start.low(), token, controller);
        self.set_mapped(now, ftl, others, controller);
    }

    fn change_damaged(&mut self, now: SimTime, ftl: usize, one: &Command, controller: &mut Controller<C>) {
        let there = |this: &Self| {
            let to = one.verb == Verb::Remap && one.to != one.start && this.ftl.is_mapped(ftl, one.to);
            u32::from(to) + u32::from(this.ftl.is_mapped(ftl, one.start))
        };
        let before = there(self);
        if one.verb == Verb::Trim {
            self.trim(ftl, one, controller)
        } else {
            self.remap(ftl, one, controller)
        }
        if let Some(DegradedCapacity { mapped, .. }) = self.ftl.backends[ftl].limit {
            self.set_mapped(now, ftl, mapped + there(self) - before, controller);
        }
    }

    /// A page has no place: its write ends, and the page is unmapped.
    pub(super) fn void(
        &mut self,
        now: SimTime,
        backend: usize,
        page: u32,
        token: CompletionToken,
        controller: &mut Controller<C>,
    ) {
        self.refuse(now, backend, page, controller);
        if token.slot != UNASKED {
            controller.answer(token, 1, now, Span::ZERO, C::default());
        }
    }

    /// Drops the page and reports it to the scheme.
    pub(super) fn refuse(&mut self, now: SimTime, backend: usize, page: u32, controller: &mut Controller<C>) {
        if !self.ftl.physical {
            self.give_up(backend, page, controller);
        }
        self.power.forget_hidden(backend, page);
        self.ftl.maps.set(backend, page, MapEntry::Unmapped);
        self.ftl.backends[backend].lost.set(page, true);
        if !self.ftl.physical {
            self.health.life.refuse(now);
        }
        // Reported before the write is answered, because its owner may read the page right after that.
        controller.done.push(Done::refused(BackendId(backend as u16), Page::of(page)));
    }

    /// Of the waiting writes, the youngest pages beyond the capacity are void; all of them if no flash is left,
    /// including overwritten ones.
    pub(super) fn cut_waiting_writes(&mut self, now: SimTime, ftl: usize, controller: &mut Controller<C>) {
        let write_queue = self.ftl.backends[ftl].first_write_queue;
        while let Some(DegradedCapacity { most, mapped }) = self.ftl.backends[ftl].limit
            && (mapped > most || most == 0)
            && controller.queues.last_write(write_queue).is_some()
        {
            let op = controller.queues.last_write(write_queue);
            let state = &mut controller.queues[op];
            state.command.count -= 1;
            let n = state.command.count;
            let (token, page) = (state.token.plus(u32::from(n)), state.command.start.low() + u32::from(n));
            let owner = self.ftl.backends[ftl]
                .reverse_map(op.raw())
                .map_or(Some(page), |reverse_map| reverse_map[usize::from(n)]);
            match owner.filter(|&owner| self.ftl.maps.pending(ftl, owner) == Some(op.raw())) {
                Some(owner) => {
                    self.void(now, ftl, owner, token, controller);
                    self.count_unmapped(ftl, controller);
                }
                None if token.slot != UNASKED => controller.answer(token, 1, now, Span::ZERO, C::default()),
                None => {}
            }
            let DriveOp { placed, command, sequence, .. } = controller.queues[op];
            if placed == command.count {
                controller.queues.take(write_queue, |other| other.sequence == sequence);
                self.all_placed(op, controller);
            }
        }
    }

    /// Handles a page of a victim that cannot be moved within its plane, because it is unreadable or there is no free
    /// page. False if it can be moved.
    #[cold]
    pub(super) fn cannot_move(
        &mut self,
        now: SimTime,
        plane: PlaneId,
        lpn: u32,
        from: Ppn,
        controller: &mut Controller<C>,
    ) -> bool {
        if self.ftl.blocks.is_unreadable(from) {
            self.lose(plane, lpn, from, controller);
            return true;
        }
        if self.ftl.blocks.plane(plane).free_pages == 0 && !self.ftl.blocks.has_held(plane) {
            if self.ftl.is_older_copy(self.ftl.ftl_of(plane), lpn, from, controller) {
                self.give_up_older(self.ftl.ftl_of(plane), lpn, controller);
                return true;
            }
            self.ftl.evict_pages(now, plane, lpn, from, controller);
            return true;
        }
        false
    }
}
