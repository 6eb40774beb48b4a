//! The flash of one drive as the only device of a simulation.

use super::{Age, BlockDevice, DeviceStatistics, InjectFaults, Inspect, Observe, Recover, Snapshot};
use crate::drive::{
    Alone, BlockErases, Concerned, Counters, DeviceObserver, Drive, DriveLife, ErrorCounts, Fault,
    HostRequest, Recovery, RunState, Slowness,
};
use crate::engine::{BackendId, Contents, Page};
use crate::ftl::ageing::{Model, Wish};
use crate::kernel::{SimTime, Span};
use crate::snapshot::{Reader, Writer};

impl<C: Contents> BlockDevice<C> for Drive<C> {
    #[inline(always)]
    fn next_event(&self) -> SimTime {
        Drive::next_event(self)
    }

    #[inline(always)]
    fn step(&mut self, until: SimTime) -> bool {
        Drive::step(self, until)
    }

    #[inline(always)]
    fn now(&self) -> SimTime {
        Drive::now(self)
    }

    #[inline(always)]
    fn admit(&mut self, admitted: SimTime, now: SimTime) {
        Drive::admit(self, admitted, now);
    }

    fn set_untimed(&mut self, untimed: bool) {
        Drive::set_untimed(self, untimed);
    }

    fn break_down(&mut self) {
        Drive::break_down(self);
    }

    #[inline(always)]
    fn memory_time(&self) -> Span {
        Drive::memory_time(self)
    }

    fn end_idling(&mut self) {
        Drive::end_idling(self);
    }

    fn end_scrubbing(&mut self) {
        Drive::end_scrubbing(self);
    }
}

impl<C: Contents> Inspect<C> for Drive<C> {
    fn counters(&self) -> Counters {
        Drive::counters(self).clone()
    }

    fn reset_counters(&mut self) {
        Drive::reset_counters(self);
    }

    fn ended_in_turns(&self) -> Option<[u64; 2]> {
        Drive::ended_in_turns(self)
    }

    fn busy(&self) -> [Vec<Span>; 2] {
        [self.channel_busy(), self.unit_busy()]
    }

    fn at_rest(&self) -> SimTime {
        Drive::at_rest(self)
    }

    fn free_blocks(&self) -> u64 {
        Drive::free_blocks(self)
    }

    fn erases(&self) -> BlockErases {
        Drive::erases(self)
    }

    fn erases_before(&self) -> BlockErases {
        Drive::erases_before(self).clone()
    }

    fn begin_wear(&mut self) {
        Drive::begin_wear(self);
    }

    fn filled(&self) -> (u64, u64) {
        Drive::filled(self)
    }

    #[inline(always)]
    fn life(&self) -> &DriveLife {
        Drive::life(self)
    }

    fn error_counts(&self) -> Option<ErrorCounts> {
        Drive::error_counts(self)
    }

    fn reset_error_counts(&mut self) {
        Drive::reset_error_counts(self);
    }

    fn statistics(&self, _: SimTime) -> Vec<DeviceStatistics> {
        Vec::new()
    }

    fn contents_of(&self, backend: BackendId, page: Page) -> Option<C> {
        Drive::contents_of(self, backend, page)
    }

    fn drive(&self, _: u16) -> Option<&Drive<C>> {
        Some(self)
    }

    fn flash(&self) -> Option<&Drive<C>> {
        Some(self)
    }

    fn flash_mut(&mut self) -> Option<&mut Drive<C>> {
        Some(self)
    }

    fn audit(&self) {
        Drive::audit(self);
    }
}

impl<C: Contents> Snapshot for Drive<C> {
    fn save(&self, snapshot: &mut Writer) {
        Drive::save(self, snapshot);
    }

    fn load(&mut self, snapshot: &mut Reader) -> Result<(), String> {
        Drive::load(self, snapshot)
    }
}

impl<C: Contents> InjectFaults for Drive<C> {
    fn fail(&mut self, now: SimTime, _: u16, what: Fault, lasting: bool) {
        Drive::fail(self, now, what, lasting);
    }

    fn renew(&mut self, now: SimTime, _: u16, what: Fault) {
        Drive::renew(self, now, what);
    }

    fn expect_slow_parts(&mut self) {
        Drive::expect_slow_parts(self);
    }

    fn set_slow_parts(&mut self, _: u16, parts: &[Slowness]) {
        Drive::set_slow_parts(self, parts);
    }

    fn stall(&mut self, now: SimTime, _: u16, what: Fault, concerned: Concerned, until: SimTime) {
        Drive::stall(self, now, what, concerned, until);
    }

    fn is_dead(&self, backend: BackendId) -> bool {
        Drive::is_dead(self, backend)
    }

    fn is_sound(&self, _: BackendId) -> bool {
        Drive::is_sound(self)
    }

    #[inline(always)]
    fn is_healthy(&self) -> bool {
        Drive::is_healthy(self)
    }
}

impl<C: Contents> Recover for Drive<C> {
    fn expect_power_cuts(&mut self) {
        Drive::expect_power_cuts(self);
    }

    fn cut_power(&mut self, now: SimTime) -> Recovery {
        Drive::cut_power(self, now)
    }

    fn resume(&mut self, ready: SimTime) {
        self.scrub_from(ready);
    }
}

impl<C: Contents> Age for Drive<C> {
    fn seed(&mut self, seed: u64) {
        Drive::seed(self, seed);
    }

    fn begin_ageing(&mut self, _: u16, model: Model, wish: &Wish, seed: u64, backends: u16) {
        Drive::begin_ageing(self, model, wish, seed, backends);
    }

    fn slots(&self) -> u64 {
        Drive::slots(self)
    }

    fn has_slot(&self, backend: BackendId, page: Page) -> bool {
        Drive::has_slot(self, backend, page)
    }

    fn end_ageing(&mut self) {
        Drive::end_ageing(self);
    }
}

impl<C: Contents> Observe for Drive<C> {
    fn log(&mut self, log: Box<dyn DeviceObserver>) {
        self.log_operations(Box::new(Alone(log)));
    }

    fn tell_request(&mut self, request: &HostRequest) {
        Drive::tell_request(self, request);
    }

    fn tell_opened(&mut self, age: u32, number: u64) {
        Drive::tell_opened(self, age, number);
    }

    fn tell_state(&mut self, state: &RunState) {
        Drive::tell_state(self, state);
    }

    fn tell_mark(&mut self, at: SimTime, text: &str) {
        Drive::tell_mark(self, at, text);
    }

    fn log_notes(&self, end: SimTime) -> Vec<String> {
        Drive::log_notes(self, end)
    }

    fn close_log(&mut self, end: SimTime) -> Result<(), String> {
        Drive::close_log(self, end)
    }
}
