//! The immediate driver: commands complete at submission, with the same placement, victims and limits,
//! against a counter instead of a clock.
//!
//! A page is placed where its allocation says; die queues take turns channel by channel, as idle dies would.
//! A plane that falls below its threshold collects one block at once, and continues while it has no room.
//! Pages from before time 0 take the same path and are not counted.

use super::age::Slots;
use super::submit::Commands;
use super::{Drive, OpKind};
use crate::engine::{BackendId, Cause, Command, CompletionToken, Contents, Done, Flags, Verb};
use crate::flash::{PlaneId, Ppn};
use crate::ftl::{Allocation, Copyback, MapEntry, PlaneChoice, TurnCursor};
use crate::kernel::{SimTime, Span};

/// The immediate driver: pages are placed, read and collected without time.
#[derive(Clone, Debug, Default)]
pub(super) struct Immediate {
    /// Whether it does all commands, as in an untimed run; otherwise only those of before time 0.
    pub(super) active: bool,
    /// Whether what it does is counted.
    pub(super) counting: bool,
    /// The owners of a victim's pages, kept for their memory.
    pub(super) reverse_map: Vec<u32>,
    /// Pages that ageing left valid and that belong to no host page yet.
    pub(super) slots: Slots,
    /// Follows pages that are created in order, if there is a rule for their places.
    pub(super) cursor: Option<TurnCursor>,
}

/// The number of writes by which map entries are prefetched ahead.
const AHEAD: usize = 24;

impl<C: Contents> Drive<C> {
    /// Sets the time to 0; from now on commands complete at submission, or take time again.
    ///
    /// # Panics
    /// Where something is under way.
    pub fn set_untimed(&mut self, untimed: bool) {
        assert!(self.is_quiet(), "nothing is under way");
        self.settle_all();
        (self.immediate.active, self.now) = (untimed, SimTime::ZERO);
        self.dies.reset();
        if let Some(power) = &mut self.power {
            power.begin_anew();
        }
        self.nvrams.iter_mut().for_each(|memory| memory.set_untimed(untimed));
        let timed = !untimed && !self.ftl.physical;
        self.paths.commands = Commands::of_mapped(timed && !self.checks_pages() && self.nvrams.is_empty());
        if untimed || self.ftl.physical {
            return;
        }
        // The next write may have no older version to invalidate, whose plane would then be checked.
        for plane in (0..self.flash.geometry.plane_count()).map(PlaneId) {
            if !self.ftl.blocks.is_dead(plane) {
                self.ask_if_full(plane);
            }
        }
    }

    /// Forgets what has been counted.
    pub fn reset_counters(&mut self) {
        self.accounts.counters = super::Counters::new(self.ftl.backends.len());
    }

    /// A command for a backend of flash that answers.
    pub(super) fn submit_untimed(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
    ) {
        self.immediate.counting = !command.flags.has(Flags::BEFORE);
        match command.verb {
            Verb::Read => {
                for n in 0..u32::from(command.count) {
                    self.read_untimed(now, ftl, command.part(n, 1), token.plus(n));
                }
            }
            Verb::Write => self.write_immediately(now, ftl, command, token, contents),
            Verb::Trim | Verb::Remap => self.submit_plainly(now, ftl, command, token, contents),
        }
        self.immediate.counting = false;
    }

    fn read_untimed(&mut self, now: SimTime, ftl: usize, command: Command, token: CompletionToken) {
        match self.ftl.maps.get(ftl, command.start.low()) {
            MapEntry::Unmapped
                if self.ftl.physical || self.ftl.backends[ftl].lost.has(command.start.low()) =>
            {
                self.read_of_lost(now, ftl, command, token)
            }
            MapEntry::Unmapped => {
                self.accounts.counters.reads_of_nothing += 1;
                self.answer(token, 1, now, Span::ZERO, C::default());
            }
            // A damaged FTL has lifted the page, and its program takes time.
            MapEntry::Pending(op) => {
                let contents = self.carried_page(ftl, op, command.start.low());
                self.accounts.counters.reads_from_memory += 1;
                self.answer(token, 1, now, Span::ZERO, contents);
            }
            MapEntry::At(ppn) => {
                self.count_untimed(ftl, OpKind::Read, command.cause, ppn);
                if self.ftl.blocks.is_unreadable(ppn) {
                    let failed = Some((BackendId(ftl as u16), command.start));
                    return self.done.push(Done { failed, ..Done::at(token, 1, now) });
                }
                let mut contents = self.ftl.blocks.contents(ppn);
                if self.errors.is_some() && self.immediate.counting {
                    let course = self.draw_errors(now, ppn, command.sectors);
                    let Some(read) = self.end_untimed(ftl, course, ppn, contents) else {
                        let failed = Some((BackendId(ftl as u16), command.start));
                        return self.done.push(Done { failed, ..Done::at(token, 1, now) });
                    };
                    contents = read;
                }
                self.answer(token, 1, now, Span::ZERO, contents);
            }
        }
    }

    #[inline]
    pub(super) fn count_untimed(&mut self, ftl: usize, kind: OpKind, cause: Cause, ppn: Ppn) {
        if self.immediate.counting {
            if kind == OpKind::Program {
                self.note_data(self.now, ppn);
            }
            self.accounts.counters.count(ftl as u16, kind, cause);
            self.tell(self.now, self.now, ppn, kind, cause, 0, None);
        }
    }

    /// Writes whole pages of a backend, one after the other, for the host: what
    /// [`submit`](crate::engine::Backends::submit) would do, without anybody who is answered.
    pub fn write_untimed(&mut self, backend: BackendId, pages: &[u32]) {
        assert!(self.immediate.active && !self.ftl.physical && !C::KEEP, "contents are not kept");
        // Observers of operations are told page by page.
        let counted = self.is_unheard()
            && !self.ftl.streams.are_several()
            && !self.ftl.summaries
            && !self.slc.has_begun();
        let ftl = usize::from(backend.0);
        self.immediate.counting = true;
        let mut rewritten = 0;
        for (at, &lpn) in pages.iter().enumerate() {
            if let Some(&ahead) = pages.get(at + AHEAD) {
                self.ftl.maps.prefetch(ftl, ahead);
            }
            if let Some(&soon) = pages.get(at + AHEAD / 2)
                && let MapEntry::At(old) = self.ftl.maps.get(ftl, soon)
            {
                self.ftl.blocks.prefetch(old);
            }
            if counted && let Some(plane) = self.plane_in_turn(ftl) {
                rewritten += 1;
                self.rewrite(ftl, lpn, plane);
            } else {
                self.place_immediately(ftl, lpn, Cause::Host, C::default());
            }
        }
        self.accounts.counters.add(backend.0, OpKind::Program, Cause::Host, rewritten);
        self.immediate.counting = false;
        if self.health.damaged {
            self.count_anew(self.now, ftl);
        }
    }

    /// A page goes to a plane that has room for it: nothing is collected before it is there.
    #[inline(always)]
    fn rewrite(&mut self, ftl: usize, lpn: u32, plane: PlaneId) {
        let ppn = self.ftl.blocks.program(plane, lpn, C::default());
        self.ftl.blocks.validate(ppn);
        if let MapEntry::At(old) = self.ftl.maps.replace(ftl, lpn, MapEntry::At(ppn)) {
            self.ftl.blocks.invalidate(old);
        }
        if self.is_low(plane) {
            self.collect_untimed(plane);
        }
    }

    /// Where [`Drive::plane_before`] puts a page that may go anywhere and whose turn finds room.
    #[inline(always)]
    pub(super) fn plane_in_turn(&mut self, ftl: usize) -> Option<PlaneId> {
        let this = &mut self.ftl.backends[ftl];
        let in_turn = matches!(this.allocation, Allocation::Dynamic)
            && self.placement.plane_choice == PlaneChoice::InTurn;
        if !in_turn || self.health.damaged {
            return None;
        }
        let die_queue = &mut self.queues.die_queues[this.in_turn[this.untimed_turn] as usize];
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
    pub(super) fn collect_untimed(&mut self, plane: PlaneId) {
        loop {
            let news = self.gc.collections[plane.0 as usize].under_way.is_none();
            let Some(victim) = self.victim_of(plane) else { return };
            if self.health.damaged && self.is_stuck(plane, victim) {
                return self.start_anew(plane);
            }
            // The scheme that keeps pages of the victim is told, and may act before the plane is written again.
            if news && self.gc.notices.leaving && self.ftl.blocks.has_room(plane) {
                return;
            }
            if self.checks_pages() || C::KEEP || !self.is_plainly_collected() {
                self.collect_immediately(plane);
            } else {
                self.sweep(plane, victim);
            }
            if self.has_enough(plane) {
                return;
            }
        }
    }

    /// Whether collections only move pages into the first stream, without observers and without writes that wait.
    fn is_plainly_collected(&self) -> bool {
        self.queues.waiting == 0
            && self.is_unheard()
            && !self.gc.notices.moves
            && !self.ftl.summaries
            && !self.ftl.streams.are_several()
            && !self.gc.chooser.levels()
            && self.gc.copyback != Copyback::ParitySkip
            && (self.errors.is_none() || self.gc.copyback == Copyback::Off)
    }

    /// There are no observers of operations, and no errors that depend on them.
    fn is_unheard(&self) -> bool {
        self.accounts.watch.is_none() && self.accounts.work.is_none() && self.errors.is_none()
    }

    /// [`Drive::collect_immediately`] where nothing has failed, no read waits and pages hold nothing: the block's
    /// owners are looked up together, so that their map entries come side by side, and moved together.
    fn sweep(&mut self, plane: PlaneId, victim: u32) {
        let (ftl, first) = (self.ftl_of(plane), self.flash.geometry.ppn(plane, victim, 0).0);
        self.start_anew(plane);
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
            self.accounts.counters.add(ftl as u16, kind, Cause::Gc, count as u64);
        }
        self.erase(self.now, plane, victim);
    }
}
