//! The immediate driver: commands complete at submission, with the same placement, victims and limits,
//! against a counter instead of a clock.
//!
//! A page is placed where its allocation says; die queues take turns channel by channel, as idle dies would.
//! A plane that falls below its threshold collects one block at once, and continues while it has no room.
//! Pages from before time 0 take the same path and are not counted.

use super::gc::Pace;
use super::{DriveBackends, Gc, Halves, Immediate, Translation};
use crate::drive::Counters;
use crate::drive::controller::{Controller, Verdict};
use crate::engine::{BackendId, Cause, Command, CompletionToken, Contents, Done, Flags, Verb};
use crate::flash::{OpKind, PlaneId, Ppn};
use crate::ftl::{Copyback, MapEntry};
use crate::kernel::{SimTime, Span};

/// The number of writes by which map entries are prefetched ahead.
pub(in crate::drive) const AHEAD: usize = 24;

impl Immediate {
    /// Whether operations count: all that take time, and those of an untimed run's requests.
    pub(super) fn counts(&self) -> bool {
        !self.active || self.counting
    }

    /// Whether pages that are written before time 0 only take contents.
    pub(in crate::drive) fn fill(&mut self, fills: bool) {
        self.fills = fills;
    }

    /// Whether steps are counted and reported.
    pub(super) fn is_told(&self, pace: Pace) -> bool {
        pace == Pace::Timed || self.counting
    }

    /// Whether a command takes no time: it is untimed, or before time 0.
    pub(super) fn is_immediate(&self, command: &Command) -> bool {
        self.active || command.flags.has(Flags::BEFORE)
    }
}

impl<C: Contents> Translation<C> {
    pub(in crate::drive) fn reset_counters(&mut self, controller: &mut Controller<C>) {
        *controller.accounts.counters_mut() = Counters::new(self.backends.len());
    }
}

impl Gc {
    /// Whether collections only move pages into the first stream, without observers and without writes that wait.
    fn is_plainly_collected<C: Contents>(&self, ftl: &Translation<C>, controller: &Controller<C>) -> bool {
        !controller.queues.are_waiting()
            && controller.accounts.only_counts()
            && !controller.errors.may_occur()
            && !self.notices.moves
            && !ftl.summaries
            && !ftl.streams.are_several()
            && !self.chooser.levels()
            && self.copyback != Copyback::ParitySkip
            && (!controller.errors.may_occur() || self.copyback == Copyback::Off)
    }
}

impl<C: Contents> DriveBackends<C> {
    /// A command for a backend of flash that answers.
    pub(super) fn submit_untimed(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
        controller: &mut Controller<C>,
    ) {
        self.immediate.counting = !command.flags.has(Flags::BEFORE);
        match command.verb {
            Verb::Read => {
                for n in 0..u32::from(command.count) {
                    self.read_untimed(now, ftl, command.part(n, 1), token.plus(n), controller);
                }
            }
            Verb::Write => self.write_immediately(now, ftl, command, token, contents, controller),
            Verb::Trim | Verb::Remap => self.submit_plainly(now, ftl, command, token, contents, controller),
        }
        self.immediate.counting = false;
    }

    fn read_untimed(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: Command,
        token: CompletionToken,
        controller: &mut Controller<C>,
    ) {
        match self.ftl.maps.get(ftl, command.start.low()) {
            MapEntry::Unmapped
                if self.ftl.physical || self.ftl.backends[ftl].lost.has(command.start.low()) =>
            {
                self.health.read_of_lost(now, ftl, command, token, controller)
            }
            MapEntry::Unmapped => {
                controller.accounts.counters_mut().unmapped_reads += 1;
                controller.answer(token, 1, now, Span::ZERO, C::default());
            }
            // A damaged FTL has lifted the page, and its program takes time.
            MapEntry::Pending(op) => {
                let contents = self.ftl.carried_page(ftl, op, command.start.low(), controller);
                controller.accounts.counters_mut().reads_from_memory += 1;
                controller.answer(token, 1, now, Span::ZERO, contents);
            }
            MapEntry::At(ppn) => {
                self.count_untimed(ftl, OpKind::Read, command.cause, ppn, controller);
                if self.ftl.blocks.is_unreadable(ppn) {
                    let failed = Some((BackendId(ftl as u16), command.start));
                    return controller.done.push(Done { failed, ..Done::at(token, 1, now) });
                }
                let mut contents = self.ftl.blocks.contents(ppn);
                if controller.errors.may_occur() && self.immediate.counting {
                    let course = controller.draw_errors(now, ppn, command.sectors, self);
                    controller.accounts.count_attempts(ftl, course);
                    match course.verdict {
                        Verdict::Right => {}
                        Verdict::Wrong => contents = contents.corrupted(),
                        Verdict::Unreadable => {
                            controller.note_uncorrectable(ppn, self);
                            let failed = Some((BackendId(ftl as u16), command.start));
                            return controller.done.push(Done { failed, ..Done::at(token, 1, now) });
                        }
                    }
                }
                controller.answer(token, 1, now, Span::ZERO, contents);
            }
        }
    }

    /// Where [`DriveBackends::plane_before`] puts a page that may go anywhere and whose turn finds room.
    #[inline(always)]
    pub(in crate::drive) fn plane_in_turn(&mut self, ftl: usize) -> Option<PlaneId> {
        if !self.ftl.has_planes_in_turn(ftl) || self.health.damaged {
            return None;
        }
        let this = &mut self.ftl.backends[ftl];
        let die_queue = &mut self.ftl.die_queues[this.in_turn[this.untimed_turn] as usize];
        let plane = die_queue.planes[die_queue.turn as usize];
        if !self.ftl.blocks.has_room(plane) {
            return None;
        }
        if self.packing.active && self.packing.stays_in_word_line(ftl, self.flash.geometry.word_line) {
            return Some(plane);
        }
        let next = |at: usize, count: usize| if at + 1 == count { 0 } else { at + 1 };
        die_queue.turn = next(die_queue.turn as usize, die_queue.planes.len()) as u32;
        this.untimed_turn = next(this.untimed_turn, this.in_turn.len());
        Some(plane)
    }

    /// A plane has fallen below its threshold.
    #[inline(never)]
    pub(super) fn collect_untimed(&mut self, plane: PlaneId, controller: &mut Controller<C>) {
        loop {
            let news = self.gc.collections[plane.0 as usize].under_way.is_none();
            let victim = self.gc.victim_of(plane, &mut self.maintenance, &mut self.ftl, controller);
            let Some(victim) = victim else { return };
            if self.health.damaged && self.ftl.is_stuck(plane, victim) {
                return self.gc.start_anew(plane);
            }
            // The scheme that keeps pages of the victim is notified, and may act before the plane is written again.
            if news && self.gc.notices.leaving && self.ftl.blocks.has_room(plane) {
                return;
            }
            if self.health.checks_pages() || C::KEEP || !self.gc.is_plainly_collected(&self.ftl, controller) {
                self.collect_immediately(plane, controller);
            } else {
                self.sweep(plane, victim, controller);
            }
            if self.gc.has_enough(plane, &self.ftl) {
                return;
            }
        }
    }

    /// [`DriveBackends::collect_immediately`] where nothing has failed, no read waits and pages hold nothing: the block's
    /// owners are looked up together, so that their map entries come side by side, and moved together.
    fn sweep(&mut self, plane: PlaneId, victim: u32, controller: &mut Controller<C>) {
        let (ftl, first) = (self.ftl.ftl_of(plane), self.flash.geometry.ppn(plane, victim, 0).0);
        self.gc.start_anew(plane);
        let mut reverse_map = std::mem::take(&mut self.immediate.reverse_map);
        reverse_map.clear();
        self.ftl.blocks.list_owners(Ppn(first), self.flash.geometry.pages, &mut reverse_map);
        let maps = &mut self.ftl.maps;
        reverse_map.iter().for_each(|&lpn| maps.prefetch(ftl, lpn));
        let mut valid = 0;
        for at in 0..reverse_map.len() {
            let lpn = reverse_map[at];
            reverse_map[valid] = lpn;
            valid += usize::from(maps.is_at(ftl, lpn, Ppn(first + at as u32)));
        }
        let mut left = &reverse_map[..valid];
        while !left.is_empty() {
            let (to, count) = self.ftl.blocks.program_valid(plane, left);
            for (to, &lpn) in (to.0..).map(Ppn).zip(&left[..count]) {
                maps.set(ftl, lpn, MapEntry::At(to));
            }
            left = &left[count..];
        }
        self.immediate.reverse_map = reverse_map;
        self.ftl.blocks.invalidate_all(plane, victim);
        for (kind, count) in [(OpKind::Read, valid), (OpKind::Program, valid), (OpKind::Erase, 1)] {
            controller.accounts.counters_mut().add(ftl as u16, kind, Cause::Gc, count as u64);
        }
        self.erase(controller.now, plane, victim, controller);
    }

    /// Counts and reports an operation that takes no time, if such ones are counted.
    #[inline]
    pub(super) fn count_untimed(
        &mut self,
        ftl: usize,
        kind: OpKind,
        cause: Cause,
        ppn: Ppn,
        controller: &mut Controller<C>,
    ) {
        if self.immediate.counting {
            if kind == OpKind::Program {
                controller.errors.note_data(controller.now, ppn);
            }
            controller.accounts.counters_mut().count(ftl as u16, kind, cause);
            controller.tell(controller.now, controller.now, ppn, kind, cause, 0, None, self);
        }
    }
}

impl<C: Contents> Halves<'_, C> {
    pub(in crate::drive) fn set_untimed(&mut self, untimed: bool) {
        let Halves { controller, backends } = self;
        assert!(controller.is_quiet(), "nothing is under way");
        controller.settle_all(*backends);
        (backends.immediate.active, controller.now) = (untimed, SimTime::ZERO);
        controller.dies.reset();
        backends.power.begin_anew();
        backends.nvrams.iter_mut().for_each(|memory| memory.set_untimed(untimed));
        let timed = !untimed && !backends.ftl.physical;
        controller
            .paths
            .check_commands(!timed || backends.health.checks_pages() || !backends.nvrams.is_empty());
        if untimed || backends.ftl.physical {
            return;
        }
        // The next write may have no older version to invalidate, whose plane would then be checked.
        for plane in (0..backends.flash.geometry.plane_count()).map(PlaneId) {
            if !backends.ftl.blocks.is_dead(plane) {
                backends.ask_if_full(plane, controller);
            }
        }
    }

    pub(in crate::drive) fn write_untimed(&mut self, backend: BackendId, pages: &[u32]) {
        assert!(
            self.backends.immediate.active && !self.backends.ftl.physical && !C::KEEP,
            "contents are not kept"
        );
        // Observers of operations are notified page by page.
        let counted = self.controller.accounts.only_counts()
            && !self.controller.errors.may_occur()
            && !self.backends.ftl.streams.are_several()
            && !self.backends.ftl.summaries
            && !self.backends.slc.has_begun();
        let ftl = usize::from(backend.0);
        self.backends.immediate.counting = true;
        let mut rewritten = 0;
        for (at, &lpn) in pages.iter().enumerate() {
            if let Some(&ahead) = pages.get(at + AHEAD) {
                self.backends.ftl.maps.prefetch(ftl, ahead);
            }
            if let Some(&soon) = pages.get(at + AHEAD / 2)
                && let MapEntry::At(old) = self.backends.ftl.maps.get(ftl, soon)
            {
                self.backends.ftl.blocks.prefetch(old);
            }
            if counted && let Some(plane) = self.backends.plane_in_turn(ftl) {
                rewritten += 1;
                self.rewrite(ftl, lpn, plane);
            } else {
                self.backends.place_immediately(ftl, lpn, Cause::Host, C::default(), self.controller);
            }
        }
        self.controller.accounts.counters_mut().add(backend.0, OpKind::Program, Cause::Host, rewritten);
        self.backends.immediate.counting = false;
        if self.backends.health.damaged {
            self.backends.count_anew(self.controller.now, ftl, self.controller);
        }
    }

    /// A page goes to a plane that has room for it: nothing is collected before it is there.
    #[inline(always)]
    pub(in crate::drive) fn rewrite(&mut self, ftl: usize, lpn: u32, plane: PlaneId) {
        let Halves { controller, backends } = self;
        let ppn = backends.ftl.blocks.program(plane, lpn, C::default());
        backends.ftl.blocks.validate(ppn);
        if let MapEntry::At(old) = backends.ftl.maps.replace(ftl, lpn, MapEntry::At(ppn)) {
            backends.ftl.blocks.invalidate(old);
        }
        if backends.gc.is_low(plane, &backends.ftl) {
            backends.collect_untimed(plane, controller);
        }
    }
}
