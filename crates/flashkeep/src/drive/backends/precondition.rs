//! Placement without simulated time: of pages that exist before time 0, and in untimed runs. A plane without
//! room is collected immediately.

use super::backend::{DieQueue, Ftl};
use super::{DriveBackends, Halves, Translation};
use crate::drive::controller::Controller;
use crate::engine::{BackendId, Cause, Command, CompletionToken, Contents, OobData};
use crate::flash::{OpKind, PlaneId, Ppn};
use crate::ftl::{Allocation, InitialPlaces, MapEntry, PlacesInTurn, PlaneChoice, SLC_STREAM, TurnCursor};
use crate::kernel::{Bits, SimTime, Span};
use std::ops::Range;
use std::sync::Arc;

impl<C: Contents> Translation<C> {
    /// Whether an FTL's pages go to one plane after the other.
    pub(super) fn has_planes_in_turn(&self, ftl: usize) -> bool {
        matches!(self.backends[ftl].allocation, Allocation::Dynamic)
            && self.placement.plane_choice == PlaneChoice::InTurn
    }

    /// The plane to which a page's address binds it, if that has room.
    fn bound_plane(&self, ftl: usize, lpn: u32) -> Option<PlaneId> {
        let Ftl { allocation, domain, .. } = &self.backends[ftl];
        let plane = allocation.plane(self.blocks.geometry(), domain, lpn);
        plane.filter(|&plane| self.blocks.has_room(plane))
    }

    /// The pages of a backend that are not known to be as they were created by a rule with contents: those that have other
    /// places, and those whose places have been erased or changed. None if there is no such rule.
    pub(in crate::drive) fn changed_pages(&self, ftl: usize) -> Option<Bits> {
        if !self.blocks.have_initial() {
            return None;
        }
        let mut changed = self.maps.moved(ftl);
        for plane in self.planes_of(ftl) {
            for block in 0..self.blocks.geometry().blocks {
                if !self.blocks.is_as_created(plane, block) {
                    let owners = self.blocks.initial_owners(plane, block);
                    owners.for_each(|(_, lpn)| _ = changed.set(lpn, true));
                }
            }
        }
        Some(changed)
    }

    /// The rule that places pages from the first one on; none if planes do not simply take turns.
    fn places_in_turn(&self, ftl: usize) -> Option<Arc<PlacesInTurn>> {
        let Ftl { in_turn, untimed_turn, .. } = &self.backends[ftl];
        let of_die_queue = |at: usize| {
            let die_queue = in_turn[(untimed_turn + at) % in_turn.len()];
            &self.die_queues[die_queue as usize]
        };
        let rounds = of_die_queue(0).planes.len();
        let turns = (0..rounds).flat_map(|round| (0..in_turn.len()).map(move |at| (round, at)));
        let planes = turns.map(|(round, at)| {
            let DieQueue { planes, turn, .. } = of_die_queue(at);
            let plane = planes[(*turn as usize + round) % planes.len()];
            (plane, self.blocks.next_block(Some(0), plane).unwrap_or(0))
        });
        let together = self.blocks.geometry().word_line;
        PlacesInTurn::new(self.blocks.geometry(), planes.collect(), together).map(Arc::new)
    }

    /// Of these pages, whole rounds of all planes get their places at once, as long as all planes have room. Returns how many
    /// pages these are.
    fn place_rounds(&mut self, pages: Range<u32>, cursor: &mut TurnCursor) -> u32 {
        let rounds = cursor.rounds(pages.end - pages.start);
        let (together, count) = (cursor.together(), rounds * cursor.together());
        let fits = |(plane, place): (PlaneId, Ppn)| {
            self.blocks.next_place(plane) == Some(place) && self.blocks.has_room_for(plane, count + together)
        };
        if rounds < 2 || !cursor.next_places().all(fits) {
            return 0;
        }
        for (plane, place) in cursor.next_places() {
            let placed = self.blocks.program_unnamed(plane, count);
            assert_eq!(placed, (place, count), "the open block has room");
        }
        cursor.pass(rounds)
    }
}

impl<C: Contents> DriveBackends<C> {
    /// Writes pages without time: in an untimed run, or before time 0.
    #[inline(never)]
    pub(super) fn write_immediately(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
        controller: &mut Controller<C>,
    ) {
        let counted = self.ftl.backends[ftl].limit.is_some();
        for n in 0..u32::from(command.count) {
            let contents = if C::KEEP { contents[n as usize] } else { C::default() };
            self.ftl.streams.take_handle(ftl, command.start.low() + n, command);
            self.place_immediately(ftl, command.start.low() + n, command.cause, contents, controller);
        }
        if self.health.damaged && !counted {
            self.count_anew(now, ftl, controller);
        }
        controller.answer(token, u32::from(command.count), now, Span::ZERO, C::default());
    }

    /// Places a page without time. In an untimed run a plane below its threshold is collected immediately; before time
    /// 0, only a plane without room for the page is.
    #[inline]
    pub(in crate::drive) fn place_immediately(
        &mut self,
        ftl: usize,
        lpn: u32,
        cause: Cause,
        contents: C,
        controller: &mut Controller<C>,
    ) {
        if C::KEEP
            && self.immediate.fills
            && let Some(ppn) = self.ftl.fill(ftl, lpn, contents)
        {
            if self.power.is_kept() {
                self.power.note_oob(ppn, lpn, controller.queues.next_numbers(1));
            }
            return;
        }
        // A parity page whose member has no slot left is placed as usual.
        if self.immediate.active
            && self.immediate.is_ageing()
            && self.age_page(ftl, lpn, contents, controller)
        {
            return;
        }
        // The page is unmapped until it is placed, so that a collection that makes room for it does not move its old
        // version.
        self.forget(ftl, lpn, controller);
        if self.packing.active
            && !self.immediate.counting
            && let Some((plane, ppn)) = self.place_by_address(ftl, lpn, contents, controller)
        {
            return self.has_placed_before(ftl, lpn, plane, ppn, controller);
        }
        let Some(mut plane) = self.plane_before(ftl, lpn, controller) else {
            return self.void_before(controller.now, ftl, lpn, controller);
        };
        let stream = if self.ftl.summaries { self.ftl.streams.of_written(ftl, lpn) } else { 0 };
        let uses_cache = self.slc.has_begun() && self.immediate.active && self.immediate.counting;
        let cached = uses_cache && self.makes_cache_room(plane, lpn, controller);
        // Folding may have taken the plane's last room.
        if uses_cache && !cached && !self.ftl.blocks.has_room(plane) {
            let Some(other) = self.plane_before(ftl, lpn, controller) else {
                return self.void_before(controller.now, ftl, lpn, controller);
            };
            plane = other;
        }
        let ppn = match cached {
            true => self.ftl.program_cached(ftl, plane, lpn, contents, controller),
            false => self.ftl.streams.program(&mut self.ftl.blocks, ftl, plane, lpn, contents),
        };
        if uses_cache {
            self.note_placement(plane, lpn, cached, controller);
        }
        if !self.immediate.counting {
            controller.errors.note_old_data(ppn);
        }
        let stream = if cached { SLC_STREAM } else { stream };
        self.count_untimed(ftl, OpKind::Program, cause, ppn, controller);
        if self.immediate.counting && self.ftl.closes(ftl, Some(stream), plane, controller) {
            controller.accounts.tell_summary(controller.now, controller.now, ppn);
        }
        self.has_placed_before(ftl, lpn, plane, ppn, controller);
    }

    /// A page has been placed without time.
    #[inline(always)]
    fn has_placed_before(
        &mut self,
        ftl: usize,
        lpn: u32,
        plane: PlaneId,
        ppn: Ppn,
        controller: &mut Controller<C>,
    ) {
        self.ftl.blocks.validate(ppn);
        self.ftl.streams.note_handle(&mut self.ftl.blocks, ftl, lpn, ppn, false);
        self.ftl.maps.set(ftl, lpn, MapEntry::At(ppn));
        if !self.immediate.active || self.power.is_kept() {
            self.power.note_oob(ppn, lpn, controller.queues.next_numbers(1));
        }
        if self.immediate.active {
            if self.immediate.counting && self.gc.is_low(plane, &self.ftl) {
                self.collect_untimed(plane, controller);
            }
            return;
        }
        // The next write may have no older version to invalidate, whose plane would then be checked.
        self.ask_if_full(plane, controller);
    }

    /// Whether pages that are created in order need nothing but a place each. Those of memories have none.
    pub(in crate::drive) fn is_placed_plainly(&self, backend: BackendId) -> bool {
        let Some(Ftl { allocation, .. }) = self.ftl.backends.get(usize::from(backend.0)) else {
            return false;
        };
        let in_turn = self.ftl.has_planes_in_turn(usize::from(backend.0));
        let has_places = match self.immediate.is_ageing() {
            true => in_turn && self.immediate.slots.knows_places(usize::from(backend.0)),
            false => in_turn || self.ftl.physical || matches!(allocation, Allocation::Static(_)),
        };
        let has_marks = self.ftl.physical && self.power.is_kept();
        has_places
            && !(self.health.damaged || self.ftl.summaries || self.ftl.streams.are_several() || has_marks)
    }

    /// The plane for a page that was there before time 0: die queues take turns channel by channel, as idle ones would.
    /// None where blocks that died meanwhile have left no room.
    #[inline(always)]
    pub(super) fn plane_before(
        &mut self,
        ftl: usize,
        lpn: u32,
        controller: &mut Controller<C>,
    ) -> Option<PlaneId> {
        if let Some(plane) = self.plane_in_turn(ftl) {
            Some(plane)
        } else {
            self.plane_sought(ftl, lpn, controller)
        }
    }

    /// The same if the page may not go to every plane, or if the die queue whose turn it is has no room.
    #[inline(never)]
    fn plane_sought(&mut self, ftl: usize, lpn: u32, controller: &mut Controller<C>) -> Option<PlaneId> {
        let this = &self.ftl.backends[ftl];
        if let Some(plane) = this.allocation.plane(&self.flash.geometry, &this.domain, lpn)
            && self.make_room(plane, controller)
        {
            return Some(plane);
        }
        let this = &self.ftl.backends[ftl];
        let count = this.in_turn.len();
        let mut at = this.untimed_turn;
        for _ in 0..count {
            let die_queue = this.in_turn[at] as usize;
            at = if at + 1 == count { 0 } else { at + 1 };
            let found = match this.allocation {
                Allocation::Partial(_) => {
                    let has_room = |plane| self.ftl.blocks.has_room(plane);
                    self.ftl.allowed_plane(&self.ftl.die_queues[die_queue], lpn, has_room)
                }
                _ => {
                    let DieQueue { planes, turn, .. } = &self.ftl.die_queues[die_queue];
                    Allocation::next_plane(planes, *turn, |plane| self.ftl.blocks.has_room(plane))
                }
            };
            if let Some((plane, mut next)) = found {
                if self.ftl.placement.plane_choice != PlaneChoice::InTurn
                    && !self.ftl.blocks.is_last_page(plane)
                {
                    let planes = &self.ftl.die_queues[die_queue].planes;
                    next = planes.iter().position(|&other| other == plane).unwrap_or(0) as u32;
                }
                self.ftl.die_queues[die_queue].turn = next;
                self.ftl.backends[ftl].untimed_turn = at;
                return Some(plane);
            }
        }
        self.plane_with_garbage(ftl, lpn, controller)
    }

    /// All planes have only the reserve of GC: returns one that has something to collect, of those to which the page is
    /// bound if that is possible. Pages are evicted only where no plane can be collected without that.
    fn plane_with_garbage(
        &mut self,
        ftl: usize,
        lpn: u32,
        controller: &mut Controller<C>,
    ) -> Option<PlaneId> {
        let mut evicts = false;
        loop {
            let Ftl { die_queues, allocation, domain, .. } = &self.ftl.backends[ftl];
            let planes = die_queues
                .clone()
                .flat_map(|die_queue| self.ftl.die_queues[die_queue as usize].planes.iter().copied());
            let allows = |plane| allocation.allows(&self.flash.geometry, domain, lpn, plane);
            let collects = |plane| {
                if evicts {
                    self.gc.garbage_of(plane, &self.ftl, &self.health).is_some()
                } else {
                    self.can_collect(plane)
                }
            };
            let bound = planes.clone().find(|&plane| allows(plane) && collects(plane));
            let mut others = planes.filter(|_| self.ftl.remaps);
            let has_room = |plane| self.ftl.blocks.has_room(plane);
            let other = || others.find(|&plane| has_room(plane) || collects(plane));
            let Some(plane) = bound.or_else(other) else {
                if !evicts && self.power.is_kept() && self.must_evict(controller.now, ftl, controller) {
                    evicts = true;
                    continue;
                }
                return None;
            };
            if !has_room(plane) {
                self.collect_immediately(plane, controller);
            }
            // A plane that has lost its spare pages may need more than one block of invalid pages, and not have it.
            if self.ftl.blocks.has_room(plane) {
                return Some(plane);
            }
        }
    }

    /// Collects until the plane has room; false if that is impossible.
    fn make_room(&mut self, plane: PlaneId, controller: &mut Controller<C>) -> bool {
        while !self.ftl.blocks.has_room(plane) {
            if !self.can_collect(plane) {
                return false;
            }
            self.collect_immediately(plane, controller);
        }
        true
    }
}

impl<C: Contents> Halves<'_, C> {
    /// Pages that have no place get one each, in order.
    pub(in crate::drive) fn place_run(&mut self, backend: BackendId, pages: Range<u32>) {
        let Halves { controller, backends } = self;
        let ftl = usize::from(backend.0);
        if backends.immediate.is_ageing() {
            return backends.immediate.slots.note_created(ftl, pages);
        }
        if backends.ftl.physical {
            controller.queues.next_numbers(u64::from(pages.end - pages.start));
            return backends.ftl.put_in_order(ftl, pages);
        }
        let mut cursor = backends.immediate.cursor.take();
        let has_rule = backends.ftl.backends.len() == 1 && backends.ftl.has_planes_in_turn(ftl);
        if pages.start == 0 && has_rule && !backends.ftl.maps.has_initial() {
            cursor = backends.ftl.places_in_turn(ftl).map(TurnCursor::new);
        }
        let mut next = pages.start;
        while next < pages.end {
            let free = cursor.as_mut().filter(|_| backends.packing.word_lines.is_empty());
            let rounds = free.map_or(0, |cursor| backends.ftl.place_rounds(next..pages.end, cursor));
            if rounds > 0 {
                next += rounds;
                if !backends.immediate.active {
                    controller.queues.next_numbers(u64::from(rounds));
                }
                continue;
            }
            let found = match backends.packing.active {
                true => backends.word_line_by_address(ftl, next..pages.end),
                false => backends
                    .plane_in_turn(ftl)
                    .or_else(|| backends.ftl.bound_plane(ftl, next))
                    .map(|plane| (plane, 1)),
            };
            let Some((plane, count)) = found else {
                backends.place_immediately(ftl, next, Cause::Host, C::default(), controller);
                if let (Some(cursor), MapEntry::At(ppn)) = (&mut cursor, backends.ftl.maps.get(ftl, next)) {
                    cursor.agrees(next, ppn, 1);
                }
                next += 1;
                continue;
            };
            backends.ftl.place_together(ftl, plane, next..next + count, cursor.as_mut());
            next += count;
            if !backends.immediate.active {
                controller.queues.next_numbers(u64::from(count));
                // As in [`DriveBackends::has_placed_before`].
                backends.ask_if_full(plane, controller);
            }
        }
        if let Some(cursor) = &cursor {
            backends.ftl.set_initial(InitialPlaces::InTurn(cursor.rule().clone(), cursor.end()));
        }
        backends.immediate.cursor = cursor;
    }

    /// Pages of a backend that have places by a rule are created, with contents that follow from it, too. Returns the first
    /// page beyond them.
    pub(in crate::drive) fn create_by_rule(&mut self, backend: BackendId) -> u32 {
        let Halves { controller, backends } = self;
        let end = backends.ftl.maps.initial_end(usize::from(backend.0));
        if end > 0 {
            backends.ftl.blocks.set_initial_contents();
            controller.queues.number_from(OobData::INITIAL);
        }
        end
    }
}
