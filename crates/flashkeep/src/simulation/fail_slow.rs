//! Parts that are slow or stall for a while, and the phases in which they do.

use super::{Device, Failures, Simulation};
use crate::devices::Body;
use crate::drive::Slowness;
use crate::engine::Contents;
use crate::faults::{Event, FailSlow, What};
use crate::kernel::SimTime;
use crate::metrics::Tally;

/// The parts that are slow or stall now.
#[derive(Debug, Default)]
pub(super) struct SlowEvents {
    /// The events that have begun and not ended, with their numbers.
    active: Vec<(u64, Event, FailSlow)>,
    /// How many have begun.
    begun: u64,
}

impl SlowEvents {
    /// The name of the phase, if nothing is missing.
    pub(super) fn phase(&self) -> Option<&'static str> {
        let stalls = self.active.iter().any(|(.., fail_slow)| fail_slow.factor.is_none());
        if stalls { Some("stalled") } else { (!self.active.is_empty()).then_some("slow") }
    }
}

impl Failures {
    /// A part that has been replaced is not slow.
    pub(super) fn replace_slow<C: Contents, H: Body<C>>(
        &mut self,
        replaced: &Event,
        device: &mut Device<C, H>,
    ) {
        let is_part = |event: &Event| match replaced.what {
            What::Whole => event.path.starts_with(&replaced.path),
            what => event.path == replaced.path && event.what == what,
        };
        let active = &mut self.fault_events.slow.active;
        let before = active.len();
        active.retain(|(_, event, fail_slow)| fail_slow.factor.is_none() || !is_part(event));
        if active.len() < before {
            self.tell_slow_parts(device);
        }
    }

    /// The devices learn which of their parts are slow.
    fn tell_slow_parts<C: Contents, H: Body<C>>(&mut self, device: &mut Device<C, H>) {
        for number in 0..device.placements.len() as u16 {
            let mut parts = Vec::new();
            for (_, event, fail_slow) in &self.fault_events.slow.active {
                let Some(factor) = fail_slow.factor else { continue };
                let here = device.faults(event, false).into_iter().filter(|&(other, _)| other == number);
                let concerned = fail_slow.concerned;
                parts.extend(here.map(|(_, what)| Slowness { what, concerned, factor }));
            }
            device.body.set_slow_parts(number, &parts);
        }
    }
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// A part is slow or stalls from now on. In an untimed run that has no effect.
    pub(super) fn begin_slow(&mut self, event: &Event, fail_slow: FailSlow) {
        if self.clock.untimed {
            return;
        }
        let (now, tally) = (self.clock.now, self.device.tally(self.resolved, &self.clock));
        let until = SimTime(now.0.saturating_add(fail_slow.lasts.0).min(SimTime::NEVER.0 - 1));
        let events = &mut self.failures.fault_events;
        let number = events.slow.begun;
        events.slow.begun += 1;
        events.slow.active.push((number, event.clone(), fail_slow));
        events.recover_at(until, number);
        if fail_slow.factor.is_some() {
            self.failures.tell_slow_parts(&mut self.device);
        } else {
            for (device, what) in self.device.faults(event, false) {
                self.device.body.stall(now, device, what, fail_slow.concerned, until);
            }
        }
        self.begin_slow_phase(Some(&event.text), now, tally);
    }

    /// The event with this number is over.
    pub(super) fn end_slow(&mut self, number: u64) {
        let (now, tally) = (self.clock.now, self.device.tally(self.resolved, &self.clock));
        let active = &mut self.failures.fault_events.slow.active;
        let before = active.len();
        active.retain(|&(other, ..)| other != number);
        if active.len() < before {
            self.failures.tell_slow_parts(&mut self.device);
            self.begin_slow_phase(None, now, tally);
        }
    }

    fn begin_slow_phase(&mut self, event: Option<&str>, now: SimTime, tally: Tally) {
        self.accounts.phases.begin_slow(self.failures.phase(&self.device), event, now, tally);
        self.mark_phase(event, now);
    }
}
