//! Power loss and recovery of a drive.

use super::Drive;
use crate::engine::Contents;
use crate::flash::{BusUse, PlaneId};
use crate::kernel::SimTime;

/// The cost of a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// When the maps are restored.
    pub ready: SimTime,
    /// Pages read for that.
    pub reads: u64,
    /// Blocks whose erase was repeated.
    pub erases: u64,
}

impl<C: Contents> Drive<C> {
    /// The power fails at `now` and returns immediately: everything in volatile memory is lost, and the maps are
    /// restored from flash. The caller must not submit commands before [`Recovery::ready`].
    ///
    /// # Panics
    /// If no power cut was expected ([`Drive::expect_power_cuts`]).
    #[cold]
    pub fn cut_power(&mut self, now: SimTime) -> Recovery {
        self.controller.now = now;
        self.backends.health.damaged |= self.backends.ftl.physical;
        let under_way = self.controller.cut_under_way(now, &mut self.backends);
        let power = self.backends.power.as_mut().expect("a drive that was told");
        let flights = std::mem::take(&mut power.flights).into_iter().chain(under_way);
        let recovering = now < power.ready;
        self.controller.dies.cut_off(now, self.controller.flash.bus == BusUse::Rounds, recovering);
        power.numbered.clear();
        if self.backends.nvrams.iter().all(|memory| memory.dead) {
            power.hidden_pages.clear();
        }
        power.guard.fill(SimTime::ZERO);
        for plane in (0..self.controller.flash.geometry.plane_count()).map(PlaneId) {
            // Migrations are not continued.
            self.backends.forget_held(plane);
            self.backends.ftl.blocks.let_go(plane);
        }
        // In an untimed run what has been granted is done, and more may have been done after it.
        let timed = !self.backends.immediate.active;
        let flights = flights.filter(|flight| timed && flight.end > now).collect();
        let erased_anew = self.backends.cut_flights(now, flights, recovering, &mut self.controller);
        self.backends.forget_everything(&mut self.controller);
        for backend in 0..self.backends.ftl.backends.len() {
            self.backends.read_oobs(backend);
        }
        self.backends.recount();
        let recovery = self.backends.take_time(now, &erased_anew, &mut self.controller);
        for &ppn in &erased_anew {
            let (plane, block) =
                (self.controller.flash.geometry.plane_of(ppn), self.controller.flash.geometry.block_of(ppn));
            if self.backends.is_used_up(plane, block, &self.controller) {
                self.backends.expire(recovery.ready, plane, block, &mut self.controller);
            }
        }
        for backend in 0..self.backends.ftl.backends.len() {
            if self.backends.ftl.backends[backend].limit.is_some() {
                self.backends.set_limit(recovery.ready, backend, &mut self.controller);
            }
        }
        for plane in (0..self.controller.flash.geometry.plane_count()).map(PlaneId) {
            let short = self.backends.is_low(plane);
            if !self.backends.ftl.physical && !self.backends.ftl.blocks.is_dead(plane) && short {
                self.backends.ask_for_collection(plane, &mut self.controller);
                self.backends.wake_collector(recovery.ready, plane, &mut self.controller);
            }
        }
        self.backends.look_at_caches(recovery.ready, &mut self.controller);
        self.backends.maintenance.forget_maintenance();
        self.controller.now = recovery.ready;
        if let Some(power) = &mut self.backends.power {
            power.ready = recovery.ready;
        }
        recovery
    }
}

impl<C: Contents> Drive<C> {
    /// The power will fail during the run: from now on the drive keeps recovery data.
    pub fn expect_power_cuts(&mut self) {
        // It hears of every operation.
        self.controller.accounts.watch.get_or_insert_default();
        self.backends.begin_recording();
        self.backends.simplify(&mut self.controller);
    }
}
