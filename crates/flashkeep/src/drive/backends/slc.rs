//! The SLC cache (`flash.slc`, `ftl.slc`): what the FTL writes goes to blocks with one bit per cell as long as its plane
//! has room there, and otherwise directly to the other blocks. *Folding* moves the valid pages of the cache's oldest
//! block to the other blocks of the plane, then erases it: a collection with another kind of victim ([`super::gc`]).
//!
//! # When
//! - In idle time (`fold = "idle"`, and `"full"` as well): a unit that has done nothing else for `idle_us` takes one step
//!   after the other. Other operations go first.
//! - With `fold = "full"` also under load, while the cache has no room: a plane then waits in the queue of planes to be
//!   collected.
//! - Without simulated time there are no idle moments: the oldest block is folded when the cache has no room.
//!
//! # Room
//! To its plane a folded page is like a page of the host: it takes no page of the reserve that collection needs.
//! Before each step the plane must have room for it; otherwise, or if the plane is short of pages and has something
//! to collect, the block is left as it is, garbage collection goes first, and folding begins again at the pages that
//! are left. So folding cannot take what a collection needs, and nothing waits for it: a page that finds no room in
//! the cache goes to the other blocks, or waits for garbage collection as in a drive without a cache. Pages in the
//! cache take no room of the other blocks, which have enough for all.

use super::backend::DieQueue;
use super::gc::Pace;
use super::{DriveBackends, Gc, Halves, SlcPolicy, Translation};
use crate::blocks::{Collection, Levelled};
use crate::drive::Parameters;
use crate::drive::controller::{Controller, DriveOp};
use crate::engine::Contents;
use crate::flash::{BusUse, Geometry, PlaneId, Ppn, UnitId};
use crate::ftl::{Allocation, Fold, GcRun, PlaneChoice, SLC_STREAM};
use crate::kernel::{Id, SimTime, Span};

impl SlcPolicy {
    pub(in crate::drive) fn new(drive: &Parameters, geometry: &Geometry) -> SlcPolicy {
        let options = drive.slc;
        SlcPolicy {
            active: geometry.slc.blocks > 0,
            when_full: options.fold == Fold::Full,
            in_idle_time: geometry.slc.blocks > 0,
            idle: Span((options.idle_us * 1e3).round() as u64),
            kept: (options.fold_above * f64::from(geometry.slc.blocks)) as u32,
            budget: options.erase_budget.unwrap_or(u32::MAX),
            begun: false,
        }
    }

    /// Whether it is folded in idle time, and that has not ended.
    pub(in crate::drive) fn uses_idle_time(&self) -> bool {
        self.in_idle_time
    }

    /// From now on it is folded only under load, if at all.
    pub(in crate::drive) fn end_idling(&mut self) {
        self.in_idle_time = false;
    }

    /// Pages that are written without time use the cache from now on.
    pub(in crate::drive) fn begin(&mut self) {
        self.begun = self.active;
    }

    /// Whether they do.
    pub(in crate::drive) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Whether a plane's cache must be folded although there is other work.
    pub(super) fn is_due<C: Contents>(&self, plane: PlaneId, ftl: &Translation<C>) -> bool {
        self.when_full && !ftl.blocks.is_dead(plane) && !ftl.blocks.has_cache_room(plane)
    }

    /// Whether a plane's cache is folded in idle time: a block is being folded, or more are closed than are kept.
    fn folds_in_idle_time<C: Contents>(&self, plane: PlaneId, gc: &Gc, ftl: &Translation<C>) -> bool {
        gc.folds(plane, ftl) || ftl.blocks.closed_cached(plane) > self.kept
    }
}

impl<C: Contents> Translation<C> {
    /// Whether a page of a write may be programmed together with pages of this stream.
    pub(in crate::drive) fn joins_stream(
        &self,
        stream: u8,
        ftl: usize,
        op: Id<DriveOp>,
        n: u16,
        controller: &Controller<C>,
    ) -> bool {
        let lpn = controller.queues[op].command.start.low() + u32::from(n);
        if stream == SLC_STREAM {
            return self.streams.of_table(lpn).is_none();
        }
        !self.streams.are_several() || self.stream_of_waiting(ftl, op, n, controller) == stream
    }

    /// Programs a page in the cache.
    pub(super) fn program_cached(
        &mut self,
        ftl: usize,
        plane: PlaneId,
        lpn: u32,
        contents: C,
        controller: &mut Controller<C>,
    ) -> Ppn {
        self.streams.warm(ftl, lpn);
        controller.accounts.counters_mut().slc.written += 1;
        self.blocks.program_in_cache(plane, lpn, contents)
    }

    /// Pages of a plane that are valid in its cache.
    #[cfg(test)]
    pub(in crate::drive) fn valid_cached(&self, plane: PlaneId) -> u32 {
        let geometry = self.blocks.geometry();
        let counts = self.blocks.valid_counts(plane).skip(geometry.blocks as usize);
        counts.map(u32::from).sum()
    }

    /// Whether a logical page is in the cache.
    #[cfg(test)]
    pub(in crate::drive) fn is_in_cache(&self, lpn: u32) -> bool {
        matches!(self.maps.get(0, lpn), crate::ftl::MapEntry::At(ppn) if self.blocks.geometry().is_slc(ppn))
    }

    /// Whether a page goes to the cache if it is written to a plane now.
    #[inline]
    pub(super) fn is_cached_in(&self, plane: PlaneId, lpn: u32) -> bool {
        self.blocks.has_cache_room(plane) && self.streams.of_table(lpn).is_none()
    }

    /// Whether a plane can take a page of the host, in its cache or elsewhere.
    #[inline]
    pub(super) fn takes(&self, plane: PlaneId, lpn: u32) -> bool {
        self.blocks.has_room(plane) || self.is_cached_in(plane, lpn)
    }

    /// The stream of a page of a write, if it goes to a plane now.
    pub(in crate::drive) fn stream_into(
        &self,
        plane: PlaneId,
        ftl: usize,
        op: Id<DriveOp>,
        n: u16,
        controller: &Controller<C>,
    ) -> u8 {
        let lpn = controller.queues[op].command.start.low() + u32::from(n);
        if self.is_cached_in(plane, lpn) {
            return SLC_STREAM;
        }
        if self.streams.are_several() { self.stream_of_waiting(ftl, op, n, controller) } else { 0 }
    }

    /// How many pages of a backend are programmed at once, where writes wait for others: the cache takes flash pages.
    pub(super) fn gathered_pages(&self, ftl: usize) -> u32 {
        let geometry = self.blocks.geometry();
        let has_room = |plane| self.blocks.has_cache_room(plane);
        let cached = geometry.slc.blocks > 0 && self.planes_in(ftl).any(has_room);
        if cached { geometry.places } else { geometry.word_line }
    }

    /// The plane of a die queue whose cache takes the first page of a write queue; planes without room in their caches
    /// are passed over. A pool of several units looks for itself, as its cache has one open block.
    #[inline(never)]
    pub(super) fn plane_in_cache(
        &self,
        die_queue: &DieQueue,
        head: Id<DriveOp>,
        controller: &Controller<C>,
    ) -> Option<(PlaneId, u32)> {
        if controller.dies.is_spread() {
            return None;
        }
        let op = &controller.queues[head];
        let lpn = op.command.start.low() + u32::from(op.placed);
        let ftl = &self.backends[usize::from(die_queue.ftl)];
        let (geometry, choice) = (self.blocks.geometry(), self.placement.plane_choice);
        let same = match choice {
            PlaneChoice::InTurn => None,
            PlaneChoice::MostFree | PlaneChoice::Same if ftl.limit.is_some() => None,
            PlaneChoice::MostFree | PlaneChoice::Same => {
                op.dealt.or_else(|| self.only_plane_for(self.replaced_by(head, controller)))
            }
        };
        let fits = |plane: PlaneId| {
            self.is_cached_in(plane, lpn)
                && same.is_none_or(|same| same == plane)
                && ftl.allocation.allows(geometry, &ftl.domain, lpn, plane)
        };
        if choice == PlaneChoice::InTurn {
            return Allocation::next_plane(&die_queue.planes, die_queue.turn, fits);
        }
        let room = |plane| fits(plane).then(|| self.blocks.cache(plane).free_pages);
        Allocation::roomiest(&die_queue.planes, die_queue.turn, room)
    }
}

impl Gc {
    /// Whether the victim of a plane is a block of the cache.
    #[inline]
    pub(super) fn folds<C: Contents>(&self, plane: PlaneId, ftl: &Translation<C>) -> bool {
        let victim = self.collections[plane.0 as usize].victim();
        victim.is_some_and(|block| ftl.blocks.geometry().is_slc_block(block))
    }

    /// Whether a plane has no room for a step of folding, or for the `whole` block, or is to collect garbage first.
    fn must_wait<C: Contents>(&self, plane: PlaneId, block: u32, whole: bool, ftl: &Translation<C>) -> bool {
        let valid = ftl.blocks.valid_in(plane, block);
        if valid == 0 {
            return false;
        }
        let pages = if whole { ftl.room_to_move(valid) } else { ftl.blocks.geometry().word_line } - 1;
        let has_garbage = || self.chooser.proposed(&ftl.blocks.of_plane(plane)).is_some();
        !ftl.blocks.has_room_for(plane, pages) || (self.is_low(plane, ftl) && has_garbage())
    }

    /// Folds the oldest block of a plane's cache, if the plane has no other victim and folding can begin.
    fn begin_folding<C: Contents>(
        &mut self,
        plane: PlaneId,
        pace: Pace,
        ftl: &Translation<C>,
        controller: &mut Controller<C>,
    ) -> bool {
        if self.collections[plane.0 as usize].under_way.is_some() {
            return false;
        }
        let Some(block) = ftl.blocks.oldest_cached(plane) else { return false };
        let whole = pace == Pace::Immediate || self.run == GcRun::HoldChannel;
        if self.must_wait(plane, block, whole, ftl) {
            return false;
        }
        self.collections[plane.0 as usize].under_way = Some(Collection::of((block, Levelled::No)));
        if self.notices.leaving {
            ftl.tell_leaving(plane, block, controller);
        }
        true
    }

    /// A plane's folding, if it is under way, waits for garbage collection: its victim is left as it is.
    pub(super) fn give_way<C: Contents>(
        &mut self,
        plane: PlaneId,
        whole: bool,
        ftl: &Translation<C>,
    ) -> bool {
        let folded = self.collections[plane.0 as usize].victim().filter(|_| self.folds(plane, ftl));
        let waits = folded.is_some_and(|block| self.must_wait(plane, block, whole, ftl));
        if waits {
            self.start_anew(plane);
        }
        waits
    }
}

impl<C: Contents> DriveBackends<C> {
    /// A page of a write has its place in a plane, in the cache or not.
    pub(super) fn note_placement(
        &mut self,
        plane: PlaneId,
        lpn: u32,
        cached: bool,
        controller: &mut Controller<C>,
    ) {
        if !cached && self.ftl.streams.of_table(lpn).is_none() {
            controller.accounts.counters_mut().slc.bypassed += 1;
        }
        // There is more to fold only if a block of the cache is full.
        let is_due = || self.slc.is_due(plane, &self.ftl);
        if if cached { self.ftl.blocks.cache(plane).is_between_blocks() } else { is_due() } {
            self.look_at_cache(plane, controller);
        }
    }

    // ---------------------------------------------------------------- folding

    /// A plane's cache may have something to fold, in idle time or now.
    pub(super) fn look_at_cache(&mut self, plane: PlaneId, controller: &mut Controller<C>) {
        // Without time a plane is folded when a page finds no room.
        if self.immediate.active {
            return;
        }
        if self.slc.uses_idle_time() && self.slc.folds_in_idle_time(plane, &self.gc, &self.ftl) {
            let unit = controller.dies.unit_of(plane);
            controller.dies[unit].soft = true;
        }
        if self.slc.is_due(plane, &self.ftl)
            && (self.gc.folds(plane, &self.ftl)
                || self.gc.begin_folding(plane, Pace::Timed, &self.ftl, controller))
        {
            self.ask_for_collection(plane, controller);
        }
    }

    /// A block of the cache is erased, which is over at `end`.
    pub(super) fn erase_cached(
        &mut self,
        end: SimTime,
        plane: PlaneId,
        block: u32,
        controller: &mut Controller<C>,
    ) {
        let dead = self.ftl.blocks.count_dead(plane, block);
        controller.accounts.counters_mut().slc.died += dead;
        controller.accounts.counters_mut().slc.erases += 1;
        self.ftl.blocks.erase(plane, block);
        controller.errors.note_erased(plane, block);
        self.gc.start_anew(plane);
        if self.is_used_up(plane, block, controller) {
            self.expire(end, plane, block, controller);
        }
    }

    /// Whether a block has no erase left.
    pub(in crate::drive) fn is_used_up(
        &self,
        plane: PlaneId,
        block: u32,
        controller: &Controller<C>,
    ) -> bool {
        if controller.errors.is_given_up_block(plane, block) {
            return true;
        }
        let erases = self.ftl.blocks.erases_of(plane, block);
        match self.flash.geometry.is_slc_block(block) {
            true => erases >= self.slc.budget,
            false => self.health.life.is_over(erases),
        }
    }

    // ---------------------------------------------------------------- in idle time

    /// The next step of folding a plane of a `home`, as [`DriveBackends::collect_softly`]; `unit` is idle.
    pub(super) fn fold_softly(
        &mut self,
        now: SimTime,
        channel: usize,
        [unit, home]: [UnitId; 2],
        idle: u64,
        controller: &mut Controller<C>,
    ) -> Option<Option<UnitId>> {
        let mut planes = controller.dies.planes_at_home(home, &self.flash.geometry);
        let folds = |plane| self.slc.folds_in_idle_time(plane, &self.gc, &self.ftl);
        planes.retain(|&plane| !self.ftl.blocks.is_dead(plane) && folds(plane));
        if planes.is_empty() {
            return None;
        }
        let units = controller.dies.units_of(planes[0]);
        let worked = units.iter().filter_map(|&unit| controller.dies.worked_until(unit)).max();
        if let Some(from) = worked.map(|until| until + self.slc.idle).filter(|&from| from > now) {
            let rounds = self.flash.bus == BusUse::Rounds;
            let slot = if rounds { controller.dies.unit_count() + channel } else { unit.0 as usize };
            controller.dies.wake_slot(slot, from);
            return Some(None);
        }
        planes.sort_by_key(|&plane| {
            (!self.gc.folds(plane, &self.ftl), self.ftl.blocks.cache(plane).free_pages)
        });
        for plane in planes {
            let begun = self.gc.folds(plane, &self.ftl) && !self.gc.give_way(plane, false, &self.ftl);
            if (begun || self.gc.begin_folding(plane, Pace::Timed, &self.ftl, controller))
                && let Some(Some(unit)) = self.collect_plane(now, channel, plane, idle, false, controller)
            {
                return Some(Some(unit));
            }
        }
        Some(None)
    }

    // ---------------------------------------------------------------- without time

    /// Whether a page that is written without time goes to the cache of a plane: its oldest block is folded to make room.
    pub(super) fn makes_cache_room(
        &mut self,
        plane: PlaneId,
        lpn: u32,
        controller: &mut Controller<C>,
    ) -> bool {
        if !self.slc.has_begun() || self.ftl.streams.of_table(lpn).is_some() || self.ftl.blocks.is_dead(plane)
        {
            return false;
        }
        while !self.ftl.blocks.has_cache_room(plane) {
            if self.gc.begin_folding(plane, Pace::Immediate, &self.ftl, controller)
                && let Some(fold) = self.gc.collections[plane.0 as usize].under_way
            {
                self.collect_now(plane, fold, controller);
            } else if self.gc.garbage_of(plane, &self.ftl, &self.health).is_some()
                && self.ftl.blocks.oldest_cached(plane).is_some()
            {
                self.collect_immediately(plane, controller);
            } else {
                return false;
            }
        }
        true
    }
}

impl<C: Contents> Halves<'_, C> {
    /// Planes use their caches again from `ready` on: at time 0, or when a recovery is over.
    pub(in crate::drive) fn look_at_caches(&mut self, ready: SimTime) {
        let Halves { controller, backends } = self;
        if !backends.slc.active || backends.immediate.active {
            return;
        }
        controller.dies.work_until(ready);
        for plane in (0..backends.flash.geometry.plane_count()).map(PlaneId) {
            let unit = controller.dies.unit_of(plane);
            backends.look_at_cache(plane, controller);
            backends.gc.wake_collector(ready, plane, controller);
            if controller.dies[unit].soft {
                controller.dies.wake_slot(unit.0 as usize, ready);
            }
        }
    }
}
