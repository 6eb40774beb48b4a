//! Runs without simulated time.

use super::Drive;
use crate::drive::backends::AHEAD;
use crate::drive::controller::Commands;
use crate::engine::{BackendId, Cause, Contents};
use crate::flash::{OpKind, PlaneId};
use crate::ftl::MapEntry;
use crate::kernel::SimTime;

impl<C: Contents> Drive<C> {
    /// Sets the time to 0; from now on commands complete at submission, or take time again.
    ///
    /// # Panics
    /// Where something is under way.
    pub fn set_untimed(&mut self, untimed: bool) {
        assert!(self.controller.is_quiet(), "nothing is under way");
        self.controller.settle_all(&mut self.backends);
        (self.backends.immediate.active, self.controller.now) = (untimed, SimTime::ZERO);
        self.controller.dies.reset();
        if let Some(power) = &mut self.backends.power {
            power.begin_anew();
        }
        self.backends.nvrams.iter_mut().for_each(|memory| memory.set_untimed(untimed));
        let timed = !untimed && !self.backends.ftl.physical;
        self.controller.paths.commands = Commands::of_mapped(
            timed && !self.backends.health.checks_pages() && self.backends.nvrams.is_empty(),
        );
        if untimed || self.backends.ftl.physical {
            return;
        }
        // The next write may have no older version to invalidate, whose plane would then be checked.
        for plane in (0..self.controller.flash.geometry.plane_count()).map(PlaneId) {
            if !self.backends.ftl.blocks.is_dead(plane) {
                self.backends.ask_if_full(plane, &mut self.controller);
            }
        }
    }

    /// Forgets what has been counted.
    pub fn reset_counters(&mut self) {
        self.controller.accounts.counters = super::Counters::new(self.backends.ftl.backends.len());
    }

    /// Writes whole pages of a backend, one after the other, for the host: what
    /// [`submit`](crate::engine::Backends::submit) would do, without anybody who is answered.
    pub fn write_untimed(&mut self, backend: BackendId, pages: &[u32]) {
        assert!(
            self.backends.immediate.active && !self.backends.ftl.physical && !C::KEEP,
            "contents are not kept"
        );
        // Observers of operations are told page by page.
        let counted = self.controller.is_unheard()
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
                self.backends.rewrite(ftl, lpn, plane, &mut self.controller);
            } else {
                self.backends.place_immediately(ftl, lpn, Cause::Host, C::default(), &mut self.controller);
            }
        }
        self.controller.accounts.counters.add(backend.0, OpKind::Program, Cause::Host, rewritten);
        self.backends.immediate.counting = false;
        if self.backends.health.damaged {
            self.backends.count_anew(self.controller.now, ftl, &mut self.controller);
        }
    }
}
