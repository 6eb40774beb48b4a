//! Collections that are granted, or done, in one go: a block that holds its channel for the sum of its moves, as SSDSim
//! does it, and one without time.

use super::{Collection, Drive, Fault, Kind};
use crate::engine::Contents;
use crate::flash::{PlaneId, Ppn, UnitId};
use crate::ftl::Copyback;
use crate::kernel::{SimTime, Span};

impl<C: Contents> Drive<C> {
    /// The whole block in one go: the channel is held for the sum of the moves, the chip until the erase is over.
    pub(super) fn collect_whole(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        plane: PlaneId,
        victim: u32,
    ) -> bool {
        // A page that turns out not to be readable, or cannot be moved, leaves the reads that wait for it behind.
        let waits = self.damaged && self.is_awaited(unit, plane, victim);
        if waits || self.is_owed(unit, plane, victim) || self.is_guarded(now, unit, plane, victim) {
            return false;
        }
        let (ftl, cause) = (self.ftl_of(plane) as u16, self.moves_because(plane));
        let mut held = Span::ZERO;
        // A page that was read in an idle moment is read again.
        if let Some(from) = self.collections[plane.0 as usize].moving.take() {
            self.collections[plane.0 as usize].cursor = self.geometry.page_of(from);
        }
        if self.packs {
            held += self.move_packed(now, unit, plane, victim);
        }
        while let Some((lpn, from)) = self.next_valid(plane, victim) {
            let read = self.timing.command + self.array_read(from) + self.timing.transfer(0);
            let start = now + held;
            if self.damaged && self.cannot_move(now, plane, lpn, from) {
                self.counters.count(ftl, Kind::Read, cause);
                self.tell(start, start + read, from, Kind::Read, cause, 0);
                held += read;
                self.tell_part(now, now + held, unit, Kind::Read, cause);
                continue;
            }
            let copies_back = self.copies_back(plane, lpn, from);
            let to = self.move_page(unit, plane, lpn, from);
            self.tell_moved(plane, lpn);
            held += self.seals(usize::from(ftl), plane);
            if copies_back {
                let end = start + self.copy_back_time(from, to);
                self.counters.count(ftl, Kind::Copyback, cause);
                self.tell(start, end, to, Kind::Copyback, cause, 0);
                held += end.since(start);
                self.tell_part(now, now + held, unit, Kind::Copyback, cause);
                continue;
            }
            let program = self.timing.command + self.timing.transfer(0) + self.array_program(to);
            self.counters.count(ftl, Kind::Read, cause);
            self.tell(start, start + read, from, Kind::Read, cause, 0);
            self.counters.count(ftl, Kind::Program, cause);
            self.tell(start + read, start + read + program, to, Kind::Program, cause, 0);
            self.tell_part(now, now + held + read, unit, Kind::Read, cause);
            held += read + program;
            self.tell_part(now, now + held, unit, Kind::Program, cause);
        }
        held += self.timing.erase_command;
        self.occupy_channel(now, channel, held);
        self.finish_erase(now, now + held, unit, plane, victim);
        true
    }

    /// Collection of a plane without time, for what happened before time 0.
    pub(super) fn collect_at_once(&mut self, plane: PlaneId) {
        let (unit, ftl) = (self.unit_of[plane.0 as usize], self.ftl_of(plane));
        // A collection that is under way is finished: pages that it has moved leave no room for those of another victim.
        let Collection { victim, levelled, .. } = self.collections[plane.0 as usize];
        let victim = victim.map(|victim| (victim, levelled)).or_else(|| self.choose(plane));
        let (victim, levelled) = victim.expect("the caller has seen that there is something to collect");
        self.start_anew(plane);
        self.land(plane);
        self.collections[plane.0 as usize].levelled = levelled;
        self.collections[plane.0 as usize].victim = Some(victim);
        let cause = self.moves_because(plane);
        while let Some((lpn, from)) = self.next_valid(plane, victim) {
            self.count_untimed(ftl, Kind::Read, cause, from);
            if self.damaged && self.blocks.is_unreadable(from) {
                self.fail_waiting_reads(self.now, plane, Fault::Page(from));
            }
            if !(self.damaged && self.cannot_move(self.now, plane, lpn, from)) {
                if self.copyback == Copyback::ParitySkip {
                    self.copies_back(plane, lpn, from);
                }
                let to = self.move_page(unit, plane, lpn, from);
                self.count_untimed(ftl, Kind::Program, cause, to);
                if self.counting {
                    self.seals(ftl, plane);
                    self.tell_moved(plane, lpn);
                }
            }
        }
        self.count_untimed(ftl, Kind::Erase, cause, self.geometry.ppn(plane, victim, 0));
        self.send_owed_reads_elsewhere(unit, plane, victim);
        self.erase(self.now, plane, victim);
    }

    /// Reads that are owed the old contents of the victim's pages carry them already; they go to another page of the
    /// plane, which takes as long. Where it has none, they bring what they carry.
    fn send_owed_reads_elsewhere(&mut self, unit: UnitId, plane: PlaneId, victim: u32) {
        let block = self.geometry.block_index(plane, victim);
        let geometry = &self.geometry;
        let is_owed = |ppn: Ppn| geometry.block_index_of(ppn) == block;
        let reads = &mut self.units[unit.0 as usize].reads;
        if let Some(elsewhere) = self.blocks.programmed_page(plane, victim) {
            return reads.redirect(&mut self.ops, |ppn| is_owed(ppn).then_some(elsewhere));
        }
        let owed = reads.take(&mut self.ops, |op| is_owed(op.ppn));
        for op in self.no_longer_waiting(unit, owed) {
            let (ticket, contents) = (self.ops[op].ticket, self.take_carried(op));
            self.counters.reads_from_memory += 1;
            self.answer(ticket, 1, self.now, Span::ZERO, contents);
            self.ops.release(op);
        }
    }
}
