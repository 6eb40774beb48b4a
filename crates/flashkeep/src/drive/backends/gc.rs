//! A step of garbage collection. Three drivers take steps: the channel scheduler, one at a time
//! ([`DriveBackends::collect_plane`]); a collection that holds its channel until its block is erased, as SSDSim does
//! it; and the immediate driver, without simulated time.
//!
//! Valid pages of the victim are read, a flash page at a time. They are then in *hand* until as many of them
//! as a word line holds go to the same open block, or until nothing is left to read. A page that may be
//! copied back is never in hand. Finally the block is erased.

use super::backend::FlashBackendKind;
use super::collection::PlaneCollection;
use super::{DriveBackends, Gc, Maintenance, Translation};
use crate::blocks::{Chooser, Collection, GcThresholds, GcTurns};
use crate::drive::controller::{CollectionRead, Controller, Full, Manner, PageWrite, ReadAttempts, Verdict};
use crate::drive::{Fault, Parameters};
use crate::engine::{BackendId, Cause, Contents, Done, Page};
use crate::flash::{BusUse, FlashArray, OpKind, PlaneId, Pools, Ppn, Target, UnitId};
use crate::ftl::Copyback;
use crate::kernel::{SimTime, Span};

/// Events of GC for the scheme above the FTLs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Notices {
    /// Pages of the hidden range that are about to be collected.
    pub leaving: bool,
    /// Pages that collection has moved.
    pub moves: bool,
}

impl Gc {
    /// The plane that is collected next by the unit of this one.
    pub(in crate::drive) fn next_plane(&self, plane: PlaneId) -> Option<PlaneId> {
        self.collections[plane.0 as usize].next
    }

    /// Whether no page of a plane has been read that waits to be programmed elsewhere.
    pub(in crate::drive) fn is_hand_empty(&self, plane: PlaneId) -> bool {
        self.hands[plane.0 as usize].is_empty()
    }

    /// A collection leaves a page empty.
    pub(in crate::drive) fn note_spent(&mut self, plane: PlaneId) {
        self.collections[plane.0 as usize].spent += 1;
    }

    /// A collection programs a summary page.
    pub(in crate::drive) fn note_summary(&mut self, plane: PlaneId) {
        self.collections[plane.0 as usize].summaries += 1;
    }

    /// The pages of the flash page whose first one is this and of which GC reads this many: they came into hand last.
    fn pages_read(&self, plane: PlaneId, first: Ppn, pages: u16) -> Vec<Ppn> {
        let hand = &self.hands[plane.0 as usize];
        let along = hand[hand.len() + 1 - usize::from(pages)..].iter().copied();
        std::iter::once(first).chain(along).collect()
    }

    /// The drive collects in the turns of member `member` of `members`, whichever its own members are.
    pub(in crate::drive) fn take_place(&mut self, member: u64, members: u64) {
        if let Some(turns) = &mut self.turns {
            turns.take_place(member, members);
        }
    }

    /// Collections that have ended in their turn, and out of it; none without turns.
    pub(in crate::drive) fn ended_in_turns(&self) -> Option<[u64; 2]> {
        self.turns.map(|turns| turns.ended())
    }

    /// A plane is collected below this number of free pages.
    pub(in crate::drive) fn below(&self) -> u32 {
        self.thresholds.below
    }

    pub(in crate::drive) fn new(drive: &Parameters, flash: &FlashArray) -> Gc {
        let geometry = &flash.geometry;
        let planes = geometry.plane_count() as usize;
        let pages = geometry.pages_per_plane() as f64;
        let mapped = matches!(drive.kind, FlashBackendKind::Mapped { .. });
        // A block's worth of free pages for each stream is kept from the host, so collection starts before it is
        // reached.
        let threshold = (drive.gc.threshold * pages) as u32;
        let below = threshold.max(u32::from(drive.streams) * geometry.pages + 1);
        let soft = drive.gc.soft_threshold.filter(|_| mapped).unwrap_or(0.0);
        let notices = match drive.kind {
            FlashBackendKind::Mapped { notify_leaving, notify_moves, .. } => {
                Notices { leaving: notify_leaving, moves: notify_moves }
            }
            FlashBackendKind::Physical | FlashBackendKind::Blocks => Notices::default(),
        };
        let turns = drive.gc.turn_ms.filter(|_| mapped).map(|ms| {
            let hard = (u32::from(drive.streams) + 1) * geometry.pages + 1;
            GcTurns::new((ms * 1e6).round() as u64, if hard + geometry.pages > below { below } else { hard })
        });
        Gc {
            chooser: Chooser::new(drive.policies.clone()),
            run: drive.gc.run,
            copyback: drive.gc.copyback,
            background: drive.gc.background,
            thresholds: GcThresholds::new(below, (soft * pages) as u32),
            enough: if flash.pools == Pools::PLANES { 0 } else { below + geometry.pages },
            turns,
            notices,
            collections: vec![PlaneCollection::default(); planes],
            hands: vec![Vec::new(); planes],
        }
    }

    /// Whether planes are also collected in idle moments, before they have to be.
    pub(in crate::drive) fn is_soft(&self) -> bool {
        self.thresholds.uses_idle_time()
    }
}

/// The next step of a collection.
pub(super) enum GcStep {
    /// Reads a flash page for this many valid pages, which are then in hand; with the first of them.
    Read(Ppn, u16),
    /// Moves pages that have their places, over the pins or by copyback. The caller returns the list with
    /// [`Controller::put_back`].
    Move(Manner, Vec<PageWrite>),
    /// A page could not be moved: the caller checks again whether the collection can continue.
    Again,
    /// Erases the block.
    Erase,
}

/// The driver of a collection's steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// Steps take time.
    Timed,
    /// Steps take no time. Pages are moved one by one, and further pages fill the other slots of a word line later.
    Immediate,
}

impl Gc {
    /// The run's seed, from which the random numbers of policies come.
    pub(in crate::drive) fn seed(&mut self, seed: u64) {
        self.chooser.seed(seed);
    }

    /// Removes the plane's victim, if it has one; the plane keeps its place in the queue.
    pub(super) fn start_anew(&mut self, plane: PlaneId) {
        let PlaneCollection { queued, next, .. } = self.collections[plane.0 as usize];
        self.collections[plane.0 as usize] = PlaneCollection { queued, next, ..PlaneCollection::default() };
        self.hands[plane.0 as usize].clear();
    }

    /// The pages that a collection has in hand.
    fn hand_of<C: Contents>(
        &mut self,
        plane: PlaneId,
        victim: u32,
        ftl: &Translation<C>,
        controller: &Controller<C>,
    ) -> Vec<Ppn> {
        let mut hand = std::mem::take(&mut self.hands[plane.0 as usize]);
        let Some(collection) = self.collections[plane.0 as usize].under_way else { return Vec::new() };
        let geometry = ftl.blocks.geometry();
        hand.retain(|&ppn| {
            let read = geometry.block_of(ppn) == victim && collection.has_passed(geometry.page_of(ppn));
            read && ftl.is_current(plane, ftl.blocks.owner(ppn), ppn, controller)
        });
        hand
    }

    /// Pages that fill a word line are programmed; then the next flash page is read; at the end the remaining pages in
    /// hand are programmed.
    fn next_of_hand<C: Contents>(
        &self,
        plane: PlaneId,
        victim: u32,
        hand: &[Ppn],
        pace: Pace,
        ftl: &Translation<C>,
    ) -> NextMove {
        let places = if pace == Pace::Immediate { 1 } else { ftl.blocks.geometry().word_line as usize };
        let stream = |ppn: &Ppn| ftl.stream_of_move(plane, ftl.blocks.owner(*ppn), self);
        let waiting = |of: Option<u8>| hand.iter().filter(|ppn| stream(ppn) == of).count();
        let full = if places > 1 && ftl.streams.are_several() {
            hand.iter().map(stream).find(|&of| waiting(of) >= places)
        } else {
            hand.first().filter(|_| hand.len() >= places).map(stream)
        };
        match (full, hand.first()) {
            (Some(stream), _) => NextMove::Program(stream),
            _ if ftl.blocks.valid_in(plane, victim) > hand.len() as u32 => NextMove::Read,
            (None, Some(first)) => NextMove::Program(stream(first)),
            (None, None) => NextMove::Erase,
        }
    }

    /// The stream that the next step of a collection programs, if it does.
    pub(super) fn stream_of_step<C: Contents>(
        &mut self,
        plane: PlaneId,
        victim: u32,
        ftl: &Translation<C>,
        controller: &Controller<C>,
    ) -> Option<Option<u8>> {
        let hand = self.hand_of(plane, victim, ftl, controller);
        let next = self.next_of_hand(plane, victim, &hand, Pace::Timed, ftl);
        self.hands[plane.0 as usize] = hand;
        match next {
            NextMove::Program(stream) => Some(stream),
            NextMove::Read | NextMove::Erase => None,
        }
    }

    /// Counts the read of a flash page for this many pages, those that came into hand last. Returns it if operations
    /// are observed, to be reported when its end is known.
    fn count_read<C: Contents>(
        &self,
        start: SimTime,
        plane: PlaneId,
        first: Ppn,
        (pages, sectors): (u16, u16),
        ftl: &Translation<C>,
        controller: &mut Controller<C>,
    ) -> Option<CollectionRead> {
        let (backend, cause) = (ftl.ftl_of(plane) as u16, self.moves_because(plane, ftl));
        controller.accounts.counters_mut().add(backend, OpKind::Read, cause, u64::from(pages));
        controller.accounts.counters_mut().along[OpKind::Read as usize] += u64::from(pages) - 1;
        if controller.accounts.only_counts() {
            return None;
        }
        Some(CollectionRead { start, cause, ppns: self.pages_read(plane, first, pages), sectors })
    }
}

impl<C: Contents> Translation<C> {
    /// Reads that are owed the old contents of the victim's pages carry them already; they go to another page of the
    /// plane, which takes as long. Where its unit has none, they bring what they carry.
    fn send_owed_reads_elsewhere(&self, plane: PlaneId, victim: u32, controller: &mut Controller<C>) {
        let unit = controller.dies.unit_of_block(plane, victim);
        let geometry = self.blocks.geometry();
        let block = geometry.block_index(plane, victim);
        let is_owed = |ppn: Ppn| geometry.block_index_of(ppn) == block;
        let elsewhere = self.blocks.programmed_page(plane, victim);
        let elsewhere =
            elsewhere.filter(|&ppn| controller.dies.unit_of_page(&controller.flash.geometry, ppn) == unit);
        if let Some(elsewhere) = elsewhere {
            controller
                .dies
                .redirect_reads(unit, &mut controller.queues, |ppn| is_owed(ppn).then_some(elsewhere));
            // A read that is being sensed may have to be repeated.
            let mut at = controller.dies[unit].current;
            while at.is_some() {
                let op = &mut controller.queues[at];
                if is_owed(op.ppn) && op.course.verdict != Verdict::Unreadable {
                    op.ppn = elsewhere;
                }
                at = op.next;
            }
            return;
        }
        for op in controller.dies.take_reads(unit, &mut controller.queues, |op| is_owed(op.ppn)) {
            let (token, contents) = (controller.queues[op].token, controller.queues.take_carried(op));
            controller.accounts.counters_mut().reads_from_memory += 1;
            controller.answer(token, 1, controller.now, Span::ZERO, contents);
            controller.queues.release(op);
        }
    }
}

impl<C: Contents> Translation<C> {
    /// Whether a plane's member has its turn for as long as an erase takes.
    fn is_turn_of(&self, now: SimTime, plane: PlaneId, turns: &GcTurns, flash: &FlashArray) -> bool {
        let erased = Target::page(flash.geometry.ppn(plane, 0, 0));
        let erase = flash.timing.cost_of(&flash.geometry, OpKind::Erase, erased).whole();
        turns.is_on(now.0, erase.0, self.ftl_of(plane) as u64, self.count() as u64)
    }
}

impl Gc {
    /// The block of a plane that is being collected, or will be as soon as the unit is idle.
    pub(in crate::drive) fn victim_in<C: Contents>(
        &self,
        now: SimTime,
        plane: PlaneId,
        ftl: &Translation<C>,
        maintenance: &Maintenance,
        flash: &FlashArray,
    ) -> Option<u32> {
        if !self.may_collect(now, plane, ftl, maintenance, flash) {
            return None;
        }
        let under_way = self.collections[plane.0 as usize].victim();
        let next = || self.chooser.proposed(&ftl.blocks.of_plane(plane));
        under_way.or_else(next)
    }

    /// Whether a plane may begin a step of its collection, or must wait for the turn of its member. A page that was read is
    /// programmed first, and nothing but the collection for room waits.
    pub(super) fn may_collect<C: Contents>(
        &self,
        now: SimTime,
        plane: PlaneId,
        ftl: &Translation<C>,
        maintenance: &Maintenance,
        flash: &FlashArray,
    ) -> bool {
        let Some(turns) = &self.turns else { return true };
        let under_way = self.collections[plane.0 as usize].under_way;
        turns.is_urgent(ftl.blocks.plane(plane).free_pages)
            || !self.is_hand_empty(plane)
            || under_way.is_some_and(|collection| collection.cause() != Cause::Gc)
            || self.folds(plane, ftl)
            || maintenance.has_refresh(plane, ftl)
            || ftl.is_turn_of(now, plane, turns, flash)
    }

    /// A collection because of this ends, if a unit can do that now.
    fn note_end<C: Contents>(
        &mut self,
        now: SimTime,
        plane: PlaneId,
        cause: Cause,
        unit: Option<UnitId>,
        ftl: &Translation<C>,
        flash: &FlashArray,
    ) -> Option<UnitId> {
        if let Some(mut turns) = self.turns.filter(|_| unit.is_some() && cause == Cause::Gc) {
            turns.note_end(ftl.is_turn_of(now, plane, &turns, flash));
            self.turns = Some(turns);
        }
        unit
    }
}

impl<C: Contents> DriveBackends<C> {
    /// The next step of the collection of a victim; its pages have their places when it is known.
    pub(super) fn gc_step(
        &mut self,
        now: SimTime,
        plane: PlaneId,
        victim: u32,
        pace: Pace,
        controller: &mut Controller<C>,
    ) -> GcStep {
        let mut hand = self.gc.hand_of(plane, victim, &self.ftl, controller);
        let step = match self.gc.next_of_hand(plane, victim, &hand, pace, &self.ftl) {
            NextMove::Program(stream) => {
                let pages = self.move_hand(now, plane, &mut hand, stream, pace, controller);
                self.moved(plane, OpKind::Program, stream, pages, pace, controller)
            }
            NextMove::Read => self.read_or_copy(now, plane, victim, &mut hand, pace, controller),
            NextMove::Erase => GcStep::Erase,
        };
        self.gc.hands[plane.0 as usize] = hand;
        step
    }

    /// The next valid page of the victim is copied back, or it comes in hand with the others of its flash page.
    fn read_or_copy(
        &mut self,
        now: SimTime,
        plane: PlaneId,
        victim: u32,
        hand: &mut Vec<Ppn>,
        pace: Pace,
        controller: &mut Controller<C>,
    ) -> GcStep {
        let next = self.gc.next_valid(plane, victim, &self.ftl, controller);
        let (lpn, first) = next.expect("a valid page that has not been read");
        if pace == Pace::Timed
            && self.fills_its_word_line(plane, lpn, first, controller)
            && self.copies_back(plane, lpn, first, controller)
        {
            if self.health.checks_pages() && self.cannot_move(now, plane, lpn, first, controller) {
                return GcStep::Again;
            }
            return self.copy_back(now, plane, lpn, first, controller);
        }
        let places = if pace == Pace::Immediate { 1 } else { self.flash.geometry.places };
        let number = self.flash.geometry.page_of(first);
        let end = (number / places + 1) * places;
        let before = hand.len();
        hand.push(first);
        for page in number + 1..end {
            let ppn = self.flash.geometry.ppn(plane, victim, page);
            if self.ftl.is_current(plane, self.ftl.blocks.owner(ppn), ppn, controller) {
                hand.push(ppn);
            }
        }
        self.gc.collections[plane.0 as usize].pass(end);
        GcStep::Read(first, (hand.len() - before) as u16)
    }

    /// Copies a word line back: all of its places hold pages that stay together.
    fn copy_back(
        &mut self,
        now: SimTime,
        plane: PlaneId,
        lpn: u32,
        first: Ppn,
        controller: &mut Controller<C>,
    ) -> GcStep {
        let stream = self.ftl.stream_of_move(plane, lpn, &self.gc);
        let mut pages = controller.scratch.take();
        let together = self.flash.geometry.word_line;
        for from in (first.0..first.0 + together).map(Ppn) {
            let mut page = self.move_one(plane, self.ftl.blocks.owner(from), from, Pace::Timed, controller);
            controller.errors.note_copied(now, from, page.target.to, self);
            page.target.along = from != first && self.flash.geometry.share_a_page(from, Ppn(from.0 - 1));
            pages.push(page);
        }
        let next = self.flash.geometry.page_of(first) + together;
        self.gc.collections[plane.0 as usize].pass(next);
        self.moved(plane, OpKind::Copyback, stream, pages, Pace::Timed, controller)
    }

    /// Moves the pages in hand for a stream to its next word line, in the order in which they were read. Returns the
    /// pages that have moved. The others have been lost, or went to the controller's memory.
    fn move_hand(
        &mut self,
        now: SimTime,
        plane: PlaneId,
        hand: &mut Vec<Ppn>,
        stream: Option<u8>,
        pace: Pace,
        controller: &mut Controller<C>,
    ) -> Vec<PageWrite> {
        let mut pages = controller.scratch.take();
        hand.retain(|&from| {
            let lpn = self.ftl.blocks.owner(from);
            let first = pages.first().map(|page: &PageWrite| page.target.to);
            let full = first.is_some_and(|first| !self.ftl.blocks.goes_on(stream, plane, first));
            if full || self.ftl.stream_of_move(plane, lpn, &self.gc) != stream {
                return true;
            }
            if !(self.health.checks_pages() && self.cannot_move(now, plane, lpn, from, controller)) {
                // With `parity-skip`, its plane skips what it has to.
                let matters = pace == Pace::Immediate
                    && (self.gc.copyback == Copyback::ParitySkip || controller.errors.may_occur());
                let is_copied =
                    matters && !self.packing.active && self.copies_back(plane, lpn, from, controller);
                let page = self.move_one(plane, lpn, from, pace, controller);
                if is_copied {
                    controller.errors.note_copied(now, from, page.target.to, self);
                }
                pages.push(page);
            }
            false
        });
        if pace == Pace::Timed && self.packing.active {
            self.packing.share_flash_pages(&mut pages, &self.flash.geometry);
            if let Some(first) = pages.first() {
                self.ftl.leave_rest(stream, plane, first.target.to, &mut self.power, controller);
                self.gc.collections[plane.0 as usize].spent += self.flash.geometry.word_line;
                // Folding in idle time must not be followed by a collection of the plane that it fills.
                if self.gc.folds(plane, &self.ftl) && self.gc.is_low_for_idle(plane, &self.ftl) {
                    self.look_at(plane, controller);
                }
            }
        }
        pages
    }

    /// A page gets its new place.
    fn move_one(
        &mut self,
        plane: PlaneId,
        lpn: u32,
        from: Ppn,
        pace: Pace,
        controller: &mut Controller<C>,
    ) -> PageWrite {
        let to = self.move_page(plane, lpn, from, controller);
        let (ftl, cause) = (self.ftl.ftl_of(plane) as u16, self.gc.moves_because(plane, &self.ftl));
        // A map that keeps places elsewhere follows.
        if self.gc.notices.moves && self.immediate.is_told(pace) {
            controller.done.push(Done::moved(BackendId(ftl), Page::of(lpn)));
        }
        PageWrite::moved(ftl, cause, plane, Target { from, ..Target::page(to) })
    }

    /// The step that moves these pages.
    fn moved(
        &mut self,
        plane: PlaneId,
        kind: OpKind,
        stream: Option<u8>,
        pages: Vec<PageWrite>,
        pace: Pace,
        controller: &mut Controller<C>,
    ) -> GcStep {
        if pages.is_empty() {
            controller.scratch.put_back(pages);
            return GcStep::Again;
        }
        let left_out = std::mem::take(&mut self.gc.collections[plane.0 as usize].summaries);
        let filled = self.immediate.is_told(pace)
            && self.ftl.closes(self.ftl.ftl_of(plane), stream, plane, controller);
        let summaries = u32::from(left_out) + u32::from(filled);
        GcStep::Move(Manner { kind, summaries, cached: false }, pages)
    }

    // ---------------------------------------------------------------- one step at a time

    /// Takes the next step for a plane, or all steps, in one of the `idle` units of the channel. Returns the unit if a
    /// step could be taken now; none if there is nothing to collect.
    pub(super) fn collect_plane(
        &mut self,
        now: SimTime,
        channel: usize,
        plane: PlaneId,
        idle: u64,
        whole: bool,
        controller: &mut Controller<C>,
    ) -> Option<Option<UnitId>> {
        if self.slc.active {
            self.gc.give_way(plane, whole, &self.ftl);
        }
        if !self.gc.may_collect(now, plane, &self.ftl, &self.maintenance, &self.flash) {
            self.gc.start_anew(plane);
            return None;
        }
        loop {
            let victim = self.gc.victim_of(plane, &mut self.maintenance, &mut self.ftl, controller);
            let Some(victim) = victim else {
                self.turn_to_others(now, plane, controller);
                return None;
            };
            // Folding has looked for the room that it needs.
            let folds = self.gc.folds(plane, &self.ftl);
            let lacks_room = !folds && self.power.lacks_room(plane, victim, &self.ftl);
            if self.health.damaged && !folds && self.ftl.is_stuck(plane, victim)
                || lacks_room && !self.must_evict(now, self.ftl.ftl_of(plane), controller)
            {
                // When the plane is asked again, another victim may have become the better one.
                self.gc.start_anew(plane);
                return None;
            }
            let unit = match controller.dies.is_spread() {
                true => self.gc.unit_in_pool(plane, victim, idle, whole, &self.ftl, controller),
                false => Some(controller.dies.unit_of(plane)),
            };
            let Some(unit) = unit else {
                return Some(None);
            };
            if whole {
                let cause = self.gc.moves_because(plane, &self.ftl);
                let unit = self.collect_whole(now, unit, plane, victim, controller);
                return Some(self.gc.note_end(now, plane, cause, unit, &self.ftl, &self.flash));
            }
            match self.gc_step(now, plane, victim, Pace::Timed, controller) {
                GcStep::Read(first, pages) if self.flash.bus == BusUse::Rounds => {
                    let cause = self.gc.moves_because(plane, &self.ftl);
                    let since = now + self.packing.time_of_reads(first, pages, &self.flash);
                    let longer = self.time_of_errors(now, since, plane, first, pages, controller);
                    let sectors = pages * self.packing.page;
                    let (start, end) = controller.read_in_round(unit, first, sectors, longer, cause);
                    let read =
                        self.gc.count_read(start, plane, first, (pages, sectors), &self.ftl, controller);
                    // Further attempts, which the time of errors includes, are reported by themselves.
                    let end = if longer == Span::ZERO { end } else { since };
                    if let Some(read) = read {
                        controller.tell_collection_read(&read, end, self);
                    }
                }
                GcStep::Read(first, pages) => {
                    let course = self.draw_for_gc(now, plane, first, pages, controller);
                    let state = &mut controller.dies[unit];
                    let sectors = pages * self.packing.page;
                    (state.carries, state.collects) = (sectors, Some(plane));
                    (state.gc_page, state.gc_course) = (first, course);
                    state.gc_backend = self.ftl.ftl_of(plane) as u16;
                    let read = self.gc.count_read(now, plane, first, (pages, sectors), &self.ftl, controller);
                    if let Some(read) = read {
                        controller.note_collection_read(unit, read);
                    }
                    let cause = self.gc.moves_because(plane, &self.ftl);
                    controller.start_array_read(now, channel, unit, first, 1, cause, Span::ZERO);
                }
                GcStep::Move(manner, pages) => {
                    let end = controller.commit::<Full>(now, channel, unit, manner, &pages, self);
                    if controller.dies.is_spread() {
                        // The erase does not wait for the program by itself.
                        let block = self.flash.geometry.block_index(plane, victim);
                        self.power.guard_moved(unit, block, end, controller);
                    }
                    controller.scratch.put_back(pages);
                }
                GcStep::Again => continue,
                GcStep::Erase => {
                    let cause = self.gc.moves_because(plane, &self.ftl);
                    let unit = self.erase_victim(now, channel, unit, plane, victim, controller);
                    return Some(self.gc.note_end(now, plane, cause, unit, &self.ftl, &self.flash));
                }
            }
            return Some(Some(unit));
        }
    }

    /// How much longer such a read takes because of errors, if it holds its channel, until `since` without them.
    fn time_of_errors(
        &mut self,
        now: SimTime,
        since: SimTime,
        plane: PlaneId,
        first: Ppn,
        pages: u16,
        controller: &mut Controller<C>,
    ) -> Span {
        if !controller.errors.may_occur() {
            return Span::ZERO;
        }
        let course = self.draw_for_gc(now, plane, first, pages, controller);
        let whole = self.packing.time_of_reads(first, pages, &self.flash);
        let (ftl, sectors) = (self.ftl.ftl_of(plane) as u16, pages * self.packing.page);
        controller.time_of_attempts(since, (ftl, first), sectors, course, whole, self)
    }

    // ---------------------------------------------------------------- a whole block

    /// The channel is held for the sum of the moves, the die until the erase is over.
    fn collect_whole(
        &mut self,
        now: SimTime,
        unit: UnitId,
        plane: PlaneId,
        victim: u32,
        controller: &mut Controller<C>,
    ) -> Option<UnitId> {
        // An unreadable page, or one that cannot be moved, keeps the reads that wait for it; so does a page that moves
        // to another unit.
        let leaves_behind =
            self.health.checks_pages() || controller.errors.may_occur() || controller.dies.is_spread();
        let geometry = &self.flash.geometry;
        let block = geometry.block_index(plane, victim);
        let waits = leaves_behind
            && controller
                .dies
                .is_any_read(unit, &controller.queues, |op| geometry.block_index_of(op.ppn) == block);
        if waits || self.power.must_stay(now, unit, (plane, victim), &self.ftl, controller) {
            return None;
        }
        let cause = self.gc.moves_because(plane, &self.ftl);
        // Pages that were read in idle time are read again.
        if let Some(collection) = &mut self.gc.collections[plane.0 as usize].under_way {
            collection.begin_anew();
        }
        let (mut held, mut others) = (Span::ZERO, Vec::new());
        loop {
            let start = now + held;
            let kind = match self.gc_step(now, plane, victim, Pace::Timed, controller) {
                GcStep::Read(first, pages) => {
                    held += self.packing.time_of_reads(first, pages, &self.flash);
                    let sectors = pages * self.packing.page;
                    let read =
                        self.gc.count_read(start, plane, first, (pages, sectors), &self.ftl, controller);
                    if let Some(read) = read {
                        controller.tell_collection_read(&read, now + held, self);
                    }
                    held += self.time_of_errors(now, now + held, plane, first, pages, controller);
                    OpKind::Read
                }
                GcStep::Move(manner, pages) => {
                    let taker = controller.dies.unit_of_page(&controller.flash.geometry, pages[0].target.to);
                    if taker != unit && !others.contains(&taker) {
                        others.push(taker);
                    }
                    held += controller.commit_within(start, taker, manner, &pages, self).busy();
                    controller.scratch.put_back(pages);
                    manner.kind
                }
                GcStep::Again => continue,
                GcStep::Erase => break,
            };
            let channel = controller.dies.channel_of(unit);
            controller.accounts.tell_part(now, now + held, unit, channel, kind, cause);
        }
        self.erase_held(now, unit, plane, victim, held, controller);
        // Units besides the victim's in which pages were programmed.
        for other in others {
            controller.occupy_unit(now, other, now + held, cause);
        }
        Some(unit)
    }

    // ---------------------------------------------------------------- without time

    /// Collects a plane without time: in untimed runs, and before time 0.
    pub(super) fn collect_immediately(&mut self, plane: PlaneId, controller: &mut Controller<C>) {
        // A collection that is under way is finished: pages that it has moved leave no room for those of another
        // victim.
        let under_way =
            self.gc.collections[plane.0 as usize].under_way.filter(|_| !self.gc.folds(plane, &self.ftl));
        let collection = under_way.or_else(|| self.gc.choose(plane, &mut self.ftl));
        self.collect_now(
            plane,
            collection.expect("the caller has seen that there is something to collect"),
            controller,
        );
    }

    /// Collects a victim without time.
    pub(super) fn collect_now(
        &mut self,
        plane: PlaneId,
        mut collection: Collection,
        controller: &mut Controller<C>,
    ) {
        let ftl = self.ftl.ftl_of(plane);
        collection.begin_anew();
        let victim = collection.victim;
        self.gc.start_anew(plane);
        self.power.land(|ppn| self.flash.geometry.plane_of(ppn) == plane, controller);
        self.gc.collections[plane.0 as usize].under_way = Some(collection);
        let cause = self.gc.moves_because(plane, &self.ftl);
        loop {
            match self.gc_step(controller.now, plane, victim, Pace::Immediate, controller) {
                GcStep::Read(from, pages) => {
                    self.count_untimed(ftl, OpKind::Read, cause, from, controller);
                    if self.immediate.counting {
                        let course = self.draw_for_gc(controller.now, plane, from, pages, controller);
                        controller.accounts.count_attempts(ftl, course);
                    }
                    if self.health.checks_pages() && self.ftl.blocks.is_unreadable(from) {
                        controller.fail_waiting_reads(controller.now, plane, Fault::Page(from), self);
                    }
                }
                GcStep::Move(manner, pages) => {
                    if manner.summaries > 0 {
                        controller.accounts.tell_summaries(
                            controller.now,
                            Span::ZERO,
                            &pages,
                            manner.summaries,
                        );
                    }
                    pages.iter().for_each(|page| {
                        self.count_untimed(ftl, OpKind::Program, cause, page.target.to, controller)
                    });
                    controller.scratch.put_back(pages);
                }
                GcStep::Again => {}
                GcStep::Erase => break,
            }
        }
        self.count_erase(ftl, cause, plane, victim, controller);
        self.ftl.send_owed_reads_elsewhere(plane, victim, controller);
        self.erase(controller.now, plane, victim, controller);
    }

    /// Draws what becomes of the read of a flash page for this many pages, those that came into hand last.
    fn draw_for_gc(
        &mut self,
        now: SimTime,
        plane: PlaneId,
        first: Ppn,
        pages: u16,
        controller: &mut Controller<C>,
    ) -> ReadAttempts {
        let mut all = ReadAttempts::default();
        if !controller.errors.may_occur() {
            return all;
        }
        for ppn in self.gc.pages_read(plane, first, pages) {
            let course = controller.draw_errors(now, ppn, 0, self);
            all.retries = all.retries.max(course.retries);
            all.sensings = all.sensings.max(course.sensings);
            all.soft |= course.soft;
            match course.verdict {
                Verdict::Right => {}
                Verdict::Wrong => self.ftl.blocks.corrupt(ppn),
                Verdict::Unreadable => controller.note_uncorrectable(ppn, self),
            }
        }
        all
    }
}

/// What to do with the pages in hand.
enum NextMove {
    /// Program those of a stream.
    Program(Option<u8>),
    /// Read the next one.
    Read,
    /// No pages are in hand, and none are left to read.
    Erase,
}
