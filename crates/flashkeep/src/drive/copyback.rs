//! Copyback: which moves stay inside their plane.
//!
//! On chips with the parity restriction, copyback joins odd pages to odd ones and even pages to even ones. A
//! page whose destination has the other parity crosses the pins, or its plane skips that destination.
//!
//! Source: SSDSim has the restriction and both alternatives (Hu et al., ICS 2011, and its public code).

use super::{Collection, Drive};
use crate::blocks::Levelled;
use crate::engine::Contents;
use crate::flash::{PlaneId, Pools, Ppn};
use crate::ftl::Copyback;

impl<C: Contents> Drive<C> {
    /// Whether a page of a victim is moved without crossing the pins. With `parity-skip` its plane has left out what
    /// stood in the way.
    pub(super) fn copies_back(&mut self, plane: PlaneId, lpn: u32, from: Ppn) -> bool {
        match self.gc.copyback {
            Copyback::Off => false,
            Copyback::On => self.flash.pools == Pools::PLANES || self.stays(plane, lpn, from),
            Copyback::Parity => self.parity_fits(plane, lpn, from) && self.stays(plane, lpn, from),
            Copyback::ParitySkip => self.make_parity_fit(plane, lpn, from),
        }
    }

    #[inline(never)]
    fn parity_fits(&mut self, plane: PlaneId, lpn: u32, from: Ppn) -> bool {
        let to = self.next_of_move(plane, lpn);
        to.is_some_and(|to| (self.flash.geometry.page_of(from) ^ self.flash.geometry.page_of(to)) & 1 == 0)
    }

    /// Whether a page of a pool goes to the plane of the flash where it is.
    #[inline(never)]
    fn stays(&mut self, plane: PlaneId, lpn: u32, from: Ppn) -> bool {
        let to = self.next_of_move(plane, lpn);
        to.is_some_and(|to| self.flash.pools.share_a_plane(&self.flash.geometry, from, to))
    }

    /// Where a page that is moved now will be.
    fn next_of_move(&mut self, plane: PlaneId, lpn: u32) -> Option<Ppn> {
        match self.stream_of_move(plane, lpn) {
            // Where nothing is free the page will be lifted.
            Some(_) if self.ftl.blocks.plane(plane).free_pages == 0 => None,
            Some(stream) => Some(self.ftl.blocks.next_in(stream, plane)),
            None => self.ftl.blocks.next_held(plane),
        }
    }

    /// Leaves out what stands in the way, as long as the plane has room for the host and the victim's erase brings more
    /// than its moves take: else collection might never end.
    #[inline(never)]
    fn make_parity_fit(&mut self, plane: PlaneId, lpn: u32, from: Ppn) -> bool {
        let mut fits = self.parity_fits(plane, lpn, from);
        while !fits && self.may_leave_out(plane) {
            let Some(stream) = self.stream_of_move(plane, lpn) else { break };
            self.ftl.blocks.leave_out_in(stream, plane);
            self.gc.collections[plane.0 as usize].spent += 1;
            let counts = !self.immediate.active || self.immediate.counting;
            self.accounts.counters.wasted_pages += u64::from(counts);
            if counts && self.seals(self.ftl_of(plane), Some(stream), plane) {
                self.gc.collections[plane.0 as usize].summaries += 1;
            }
            fits = self.parity_fits(plane, lpn, from);
        }
        self.gc.collections[plane.0 as usize].spent += 1;
        fits
    }

    fn may_leave_out(&self, plane: PlaneId) -> bool {
        let Collection { victim: Some(victim), spent, .. } = self.gc.collections[plane.0 as usize] else {
            return false;
        };
        let still = self.ftl.blocks.valid_in(plane, victim);
        !self.health.damaged
            && self.ftl.blocks.has_room(plane)
            && spent + 1 + still < self.flash.geometry.pages
    }

    /// The stream in whose open block a page will be; none for the held block.
    pub(super) fn stream_of_move(&self, plane: PlaneId, lpn: u32) -> Option<u8> {
        let migrates = self.gc.collections[plane.0 as usize].levelled == Levelled::Out;
        if migrates && self.ftl.blocks.has_held(plane) {
            return None;
        }
        Some(self.ftl.streams.of_moved(self.ftl_of(plane), lpn))
    }
}
