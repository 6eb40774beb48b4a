//! Multi-plane commands: planes of one die work in parallel. They program or read pages of the same number,
//! each in its own block, and erase a block each. Commands and data cross the channel one after the other;
//! the array operation runs once.
//!
//! Source: ONFI's multi-plane operations; Hu et al., ICS 2011, for planes that skip pages to catch up.

use super::Controller;
use super::queue::DriveOp;
use crate::engine::{Command, Contents};
use crate::flash::{MultiPlane, OpKind, PlaneId, UnitId};
use crate::kernel::{Id, SimTime};

impl<C: Contents> Controller<C> {
    /// Whether several pages of a command may be read or programmed together, so that all of them come before one begins.
    #[inline]
    pub(in crate::drive) fn pages_may_join(&self, command: &Command) -> bool {
        command.count > 1 && self.flash.commands.multi_plane != MultiPlane::Off
    }

    /// Reads that wait for pages of the same number in other planes of the die join one that starts, and those that
    /// wait for other places of the same page of the flash. How many planes read.
    #[inline(never)]
    pub(super) fn join_reads(&mut self, now: SimTime, unit: UnitId, first: Id<DriveOp>) -> usize {
        let geometry = &self.flash.geometry;
        let number = geometry.flash_page_of(self.queues[first].ppn);
        let plane = geometry.plane_of(self.queues[first].ppn).0;
        let die = |ppn| self.flash.die_of(geometry.plane_of(ppn), geometry.block_of(ppn));
        let die_of_first = die(self.queues[first].ppn);
        let mut planes = 1_u128 << (plane % geometry.planes);
        let (mut last, mut count, several) = (first, 1, self.flash.commands.multi_plane != MultiPlane::Off);
        let mut at = self.dies[unit].reads.head;
        while at.is_some() {
            let DriveOp { ppn, next, command, ftl, .. } = self.queues[at];
            let plane = self.flash.geometry.plane_of(ppn).0;
            let bit = 1 << (plane % self.flash.geometry.planes);
            let apart = several
                && self.flash.geometry.is_slc(ppn) == self.flash.geometry.is_slc(self.queues[first].ppn)
                && self.flash.geometry.flash_page_of(ppn) == number
                && self.flash.die_of(PlaneId(plane), self.flash.geometry.block_of(ppn)) == die_of_first
                && planes & bit == 0;
            let along = self.flash.geometry.places > 1
                && !apart
                && self.queues.is_brought_up(first, ppn, &self.flash.geometry);
            if (apart || along) && !self.open.keeps_waiting(&self.flash.geometry, unit, ppn) {
                planes |= bit;
                self.queues[at].placed = u16::from(along);
                self.accounts.counters.along[OpKind::Read as usize] += u64::from(along);
                let state = &mut self.dies[unit];
                state.queued = state.queued - self.queues[at].service;
                state.reads.remove(&mut self.queues.ops, at);
                self.queues[at].next = Id::NONE;
                self.queues[at].acknowledged = now;
                self.queues[last].next = at;
                self.accounts.counters.count(ftl, OpKind::Read, command.cause);
                (last, count) = (at, count + usize::from(apart));
            }
            at = next;
        }
        self.accounts.counters.multi_plane[OpKind::Read as usize] += u64::from(count > 1);
        count
    }
}
