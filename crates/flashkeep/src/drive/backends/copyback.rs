//! Copyback: which moves stay inside their plane.
//!
//! On chips with the parity restriction, copyback joins odd pages to odd ones and even pages to even ones. A
//! page whose destination has the other parity crosses the pins, or its plane skips that destination.
//!
//! If a program takes several logical pages, a word line is copied back if all of its places are valid and go to the same
//! open block, whose next word line is empty: its flash pages are read into the die one after the other, and programmed
//! at once. Other pages are read over the pins and programmed: copyback would also move invalid pages.
//!
//! Source: SSDSim has the restriction and both alternatives (Hu et al., ICS 2011, and its public code).

use super::collection::PlaneCollection;
use super::{DriveBackends, DriveHealth, Gc, Translation};
use crate::drive::controller::Controller;
use crate::engine::Contents;
use crate::flash::{PlaneId, Pools, Ppn};
use crate::ftl::Copyback;

impl<C: Contents> Translation<C> {
    /// The stream in whose open block a page will be; none for the held block.
    pub(super) fn stream_of_move(&self, plane: PlaneId, lpn: u32, gc: &Gc) -> Option<u8> {
        let migrates = gc.collections[plane.0 as usize].migrates();
        if migrates && self.blocks.has_held(plane) {
            return None;
        }
        let ftl = self.ftl_of(plane);
        Some(if gc.folds(plane, self) {
            self.streams.of_present(ftl, lpn)
        } else {
            self.streams.of_moved(ftl, lpn)
        })
    }

    /// Where a word line that is moved now will be; none if the next one has been programmed in part.
    pub(in crate::drive) fn next_of_move(&mut self, plane: PlaneId, lpn: u32, gc: &Gc) -> Option<Ppn> {
        let stream = self.stream_of_move(plane, lpn, gc);
        let next = match stream {
            // Without a free page it will be evicted.
            Some(_) if self.blocks.plane(plane).free_pages == 0 => None,
            Some(stream) => Some(self.blocks.next_in(stream, plane)),
            None => self.blocks.next_held(plane),
        };
        let places = self.blocks.geometry().word_line;
        next.filter(|_| places == 1 || self.blocks.places_left(stream, plane) == places)
    }

    /// Whether a word line moves to a page of the same parity.
    fn parity_fits(&mut self, plane: PlaneId, lpn: u32, from: Ppn, gc: &Gc) -> bool {
        let to = self.next_of_move(plane, lpn, gc);
        let number = |ppn| self.blocks.geometry().flash_page_of(ppn);
        to.is_some_and(|to| (number(from) ^ number(to)) & 1 == 0)
    }

    /// Whether a page moves within its plane of the flash.
    fn stays(&mut self, plane: PlaneId, lpn: u32, from: Ppn, gc: &Gc, pools: Pools) -> bool {
        let to = self.next_of_move(plane, lpn, gc);
        to.is_some_and(|to| pools.share_a_plane(self.blocks.geometry(), from, to))
    }

    /// The same, where only pools of several planes need a look.
    fn stays_in_plane(&mut self, plane: PlaneId, lpn: u32, from: Ppn, gc: &Gc, pools: Pools) -> bool {
        pools == Pools::PLANES || self.stays(plane, lpn, from, gc, pools)
    }

    /// Whether all places of a page's word line, of which it is the first, are valid and go to the same open block.
    #[inline(never)]
    fn is_full_word_line(
        &self,
        plane: PlaneId,
        lpn: u32,
        first: Ppn,
        gc: &Gc,
        health: &DriveHealth,
        controller: &Controller<C>,
    ) -> bool {
        let (geometry, stream) = (self.blocks.geometry(), self.stream_of_move(plane, lpn, gc));
        geometry.page_of(first).is_multiple_of(geometry.word_line)
            && (first.0..first.0 + geometry.word_line).map(Ppn).all(|ppn| {
                let lpn = self.blocks.owner(ppn);
                self.is_current(plane, lpn, ppn, controller)
                    && self.stream_of_move(plane, lpn, gc) == stream
                    && !(health.checks_pages() && self.blocks.is_unreadable(ppn))
            })
    }
}

impl Gc {
    fn may_leave_out<C: Contents>(&self, plane: PlaneId, ftl: &Translation<C>) -> bool {
        let PlaneCollection { under_way: Some(collection), spent, .. } = self.collections[plane.0 as usize]
        else {
            return false;
        };
        let still = ftl.room_to_move(ftl.blocks.valid_in(plane, collection.victim));
        let together = ftl.blocks.geometry().word_line;
        ftl.blocks.has_room(plane) && spent + together + still < ftl.blocks.geometry().pages
    }
}

impl<C: Contents> DriveBackends<C> {
    /// Whether a page of a victim is moved without crossing the pins. With `parity-skip`, its plane has skipped
    /// destinations of the other parity.
    pub(super) fn copies_back(
        &mut self,
        plane: PlaneId,
        lpn: u32,
        from: Ppn,
        controller: &mut Controller<C>,
    ) -> bool {
        match self.gc.copyback {
            Copyback::Off => false,
            Copyback::On if self.flash.pools == Pools::PLANES && !self.packing.active => true,
            Copyback::On => self.ftl.stays(plane, lpn, from, &self.gc, self.flash.pools),
            Copyback::Parity => {
                self.ftl.parity_fits(plane, lpn, from, &self.gc)
                    && self.ftl.stays(plane, lpn, from, &self.gc, self.flash.pools)
            }
            // A page that goes to another plane crosses the pins, whichever parity it has.
            Copyback::ParitySkip => {
                self.ftl.stays_in_plane(plane, lpn, from, &self.gc, self.flash.pools)
                    && self.make_parity_fit(plane, lpn, from, controller)
            }
        }
    }

    /// Whether all places of a page's word line, of which it is the first, are valid and go to the same open block.
    #[inline]
    pub(super) fn fills_its_word_line(
        &self,
        plane: PlaneId,
        lpn: u32,
        first: Ppn,
        controller: &Controller<C>,
    ) -> bool {
        !self.packing.active
            || (self.gc.copyback != Copyback::Off
                && self.ftl.is_full_word_line(plane, lpn, first, &self.gc, &self.health, controller))
    }

    /// Skips a destination of the other parity, as long as the plane has room for the host and the victim's erase frees
    /// more pages than its moves take; otherwise GC might never end.
    #[inline(never)]
    fn make_parity_fit(
        &mut self,
        plane: PlaneId,
        lpn: u32,
        from: Ppn,
        controller: &mut Controller<C>,
    ) -> bool {
        let mut fits = self.ftl.parity_fits(plane, lpn, from, &self.gc);
        while !fits && !self.health.checks_pages() && self.gc.may_leave_out(plane, &self.ftl) {
            let Some(stream) = self.ftl.stream_of_move(plane, lpn, &self.gc) else { break };
            self.leave_out_word_line(plane, stream, controller);
            fits = self.ftl.parity_fits(plane, lpn, from, &self.gc)
                && self.ftl.stays_in_plane(plane, lpn, from, &self.gc, self.flash.pools);
        }
        // What crosses the pins into a word line of its own is counted there.
        if fits || !self.packing.active {
            self.gc.collections[plane.0 as usize].spent += self.flash.geometry.word_line;
        }
        fits
    }

    /// The rest of the word line that a stream programs next stays empty.
    fn leave_out_word_line(&mut self, plane: PlaneId, stream: u8, controller: &mut Controller<C>) {
        let counts = self.immediate.counts();
        for _ in 0..self.ftl.blocks.places_left(Some(stream), plane) {
            let left_out = self.ftl.blocks.leave_empty(Some(stream), plane);
            self.power.note_oob(left_out, 0, 0);
            self.gc.note_spent(plane);
            controller.accounts.counters_mut().wasted_pages += u64::from(counts);
        }
        if counts && self.ftl.closes(self.ftl.ftl_of(plane), Some(stream), plane, controller) {
            self.gc.note_summary(plane);
        }
    }
}
