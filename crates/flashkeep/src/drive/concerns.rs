//! The interfaces of a device, by which a simulation reaches a drive ([`super::device`]).

use super::{
    Age, BlockDevice, BlockErases, Counters, DeviceObserver, Drive, DriveLife, ErrorCounts, Inspect, Observe,
    Recover, Recovery, RunEvent, Snapshot,
};
use crate::drive::controller::Controller;
use crate::engine::{BackendId, Contents, Page};
use crate::flash::UnitId;
use crate::ftl::ageing::{Model, Wish};
use crate::kernel::{Bits, SimTime, Span};
use crate::snapshot::{Reader, Writer};

impl<C: Contents> BlockDevice<C> for Drive<C> {
    #[inline(always)]
    fn next_event(&self) -> SimTime {
        self.controller.dies.next_event()
    }

    #[inline(always)]
    fn step(&mut self, until: SimTime) -> bool {
        let Some((now, slot)) = self.controller.dies.pop_due(until) else { return false };
        self.controller.now = now;
        let units = self.controller.dies.unit_count();
        if slot < units {
            self.controller.unit_wakes(now, UnitId(slot as u32), &mut self.backends);
        } else if slot - units < self.controller.dies.channel_count() {
            self.controller.channel_wakes(now, slot - units, &mut self.backends);
        } else if self.controller.open.may_exist()
            && slot - units - self.controller.dies.channel_count() < units
        {
            self.controller.settle_unit(
                now,
                UnitId((slot - units - self.controller.dies.channel_count()) as u32),
                &mut self.backends,
            );
        } else {
            self.halves().scrub(now);
        }
        true
    }

    #[inline(always)]
    fn now(&self) -> SimTime {
        self.controller.now
    }

    #[inline(always)]
    fn admit(&mut self, admitted: SimTime, now: SimTime) {
        self.controller.admitted = admitted;
        self.controller.now = now;
    }

    fn set_untimed(&mut self, untimed: bool) {
        self.halves().set_untimed(untimed)
    }

    fn break_down(&mut self) {
        let Controller { probe, dies, .. } = &mut self.controller;
        probe.start(dies.unit_count(), dies.channel_count());
    }

    #[inline(always)]
    fn memory_time(&self) -> Span {
        self.controller.flash.timing.memory
    }

    fn end_idling(&mut self) {
        self.halves().end_idling()
    }

    fn end_scrubbing(&mut self) {
        self.backends.maintenance.end_scrubbing(&mut self.controller)
    }
}

impl<C: Contents> Inspect<C> for Drive<C> {
    fn counters(&self) -> Counters {
        self.controller.accounts.counters().clone()
    }

    fn reset_counters(&mut self) {
        self.backends.ftl.reset_counters(&mut self.controller)
    }

    fn busy(&self) -> [Vec<Span>; 2] {
        [self.controller.dies.channel_busy(), self.controller.dies.unit_busy()]
    }

    fn at_rest(&self) -> SimTime {
        self.controller.dies.at_rest()
    }

    fn free_blocks(&self) -> u64 {
        self.backends.ftl.free_blocks()
    }

    fn erases(&self) -> BlockErases {
        self.backends.ftl.all_erases().since(self.backends.health.all_erases_before())
    }

    fn erases_before(&self) -> BlockErases {
        self.backends.health.all_erases_before().clone()
    }

    fn begin_wear(&mut self) {
        self.halves().begin_wear()
    }

    fn filled(&self) -> (u64, u64) {
        self.backends.ftl.filled()
    }

    #[inline(always)]
    fn life(&self) -> &DriveLife {
        self.backends.health.life()
    }

    fn error_counts(&self) -> Option<ErrorCounts> {
        self.controller.errors.counts()
    }

    fn reset_error_counts(&mut self) {
        self.controller.errors.reset_counts();
    }

    fn changed_pages(&self, backend: BackendId) -> Option<Bits> {
        self.backends.ftl.changed_pages(usize::from(backend.0))
    }

    fn contents_of(&self, backend: BackendId, page: Page) -> Option<C> {
        self.backends.contents_of(backend, page, &self.controller)
    }

    fn ended_in_turns(&self) -> Option<[u64; 2]> {
        self.backends.gc.ended_in_turns()
    }

    fn audit(&self) {
        self.backends.audit(&self.controller)
    }
}

impl<C: Contents> Snapshot for Drive<C> {
    fn save(&self, snapshot: &mut Writer) {
        self.backends.save(snapshot, &self.controller)
    }

    fn load(&mut self, snapshot: &mut Reader) -> Result<(), String> {
        self.halves().load(snapshot)
    }
}

impl<C: Contents> Recover for Drive<C> {
    fn expect_power_cuts(&mut self) {
        self.halves().expect_power_cuts()
    }

    #[cold]
    fn cut_power(&mut self, now: SimTime) -> Recovery {
        self.halves().cut_power(now)
    }

    fn resume(&mut self, ready: SimTime) {
        self.backends.maintenance.scrub_from(ready, &mut self.controller);
    }
}

impl<C: Contents> Age for Drive<C> {
    fn seed(&mut self, seed: u64) {
        self.backends.gc.seed(seed)
    }

    fn begin_ageing(&mut self, _: u16, model: Model, wish: &Wish, seed: u64, backends: u16) {
        self.halves().begin_ageing(model, wish, seed, backends)
    }

    fn slots(&self) -> u64 {
        self.backends.immediate.slots()
    }

    fn has_slot(&self, backend: BackendId, page: Page) -> bool {
        self.backends.immediate.has_slot(usize::from(backend.0), page.low(), &self.backends.ftl)
    }

    fn end_ageing(&mut self) {
        self.halves().end_ageing()
    }
}

impl<C: Contents> Observe for Drive<C> {
    fn log(&mut self, log: Box<dyn DeviceObserver>) {
        self.controller.start_watch().logs.push(log);
    }

    fn tell(&mut self, event: &RunEvent<'_>) {
        self.controller.accounts.tell_run(event)
    }

    fn log_notes(&self, end: SimTime) -> Vec<String> {
        self.controller.accounts.log_notes(end)
    }

    fn close_log(&mut self, end: SimTime) -> Result<(), String> {
        self.log_under_way(end);
        self.controller.accounts.close_log()
    }
}
