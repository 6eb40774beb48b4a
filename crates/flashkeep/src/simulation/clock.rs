//! The clock: selects what happens next, a request, an event or a fault event.

use super::{ArrivedRequests, Failures, Flows, Host, LOOK, RunClock, Simulation, Stop};
use crate::device::port::Link;
use crate::devices::Body;
use crate::engine::{BackendId, Contents};
use crate::error::Error;
use crate::job::{Halt, Progress};
use crate::kernel::SimTime;
use crate::workload::{Replay, Requests};
use flashkeep_trace::Request;
use std::ops::ControlFlow;

impl<C: Contents> Host<C> {
    /// Whether a request will be admitted: the next of a workload without flows, if it has one, one of a flow, or one that
    /// waits in the host.
    pub(super) fn comes(&self, has_next: bool) -> bool {
        has_next || self.flows.as_ref().is_some_and(Flows::has_next) || self.has_arrived()
    }

    /// Whether a request has arrived and waits in the host.
    fn has_arrived(&self) -> bool {
        self.arrived.as_ref().is_some_and(|arrived| !arrived.is_empty())
    }

    /// When the next request is admitted, `next` being the next of a workload without flows.
    #[inline(always)]
    pub(super) fn next_admission(
        &mut self,
        next: Option<Request>,
        closed: bool,
        clock: &RunClock,
    ) -> SimTime {
        match next {
            None if self.flows.is_some() => self.next_from_flows(clock),
            Some(_) if closed => self.window.room_at(clock.now),
            Some(request) if self.arrived.is_none() => {
                self.window.room_at(SimTime(request.arrival_ns).max(clock.now))
            }
            None if self.arrived.is_none() => SimTime::NEVER,
            _ => self.next_arrived(next, clock),
        }
    }

    /// Whether the caller of the run is asked now whether it should continue.
    #[inline(always)]
    fn looks_now(&self, failures: &Failures) -> bool {
        (self.admitted + failures.write_gate.refused).is_multiple_of(LOOK)
    }

    /// Whether requests of the host have not ended.
    pub(super) fn has_requests(&self, failures: &Failures) -> bool {
        let ended = failures.durability.as_ref().map_or(0, |durability| durability.ended());
        self.in_flight.live() > ended
    }

    /// When the next request of a flow is admitted.
    #[inline(never)]
    pub(super) fn next_from_flows(&mut self, clock: &RunClock) -> SimTime {
        let room = self.window.room_at(clock.now);
        let flows = self.flows.as_mut().expect("there are flows");
        flows.next_at(clock.now, room)
    }

    /// The next instant at which a request arrives or is admitted.
    #[inline(never)]
    pub(super) fn next_arrived(&self, next: Option<Request>, clock: &RunClock) -> SimTime {
        let admission = if self.has_arrived() { self.window.room_at(clock.now) } else { SimTime::NEVER };
        let arrival = next.map_or(SimTime::NEVER, |request| SimTime(request.arrival_ns).max(clock.now));
        admission.min(arrival)
    }
}

impl RunClock {
    /// Reports how far the replay has come; false if it ends here, after the requests that have been admitted.
    pub(super) fn goes_on<C: Contents>(
        &mut self,
        share: Option<f64>,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<Halt>,
        host: &Host<C>,
    ) -> Result<bool, Stop> {
        match self.report(share, progress, host) {
            ControlFlow::Continue(()) => Ok(true),
            ControlFlow::Break(Halt::AtOnce) => Err(Stop::Error(Error::Interrupted)),
            ControlFlow::Break(Halt::AfterAdmitted) => {
                self.interrupted = true;
                Ok(false)
            }
        }
    }

    /// Reports how far a preparation has come, which has no result before its end.
    pub(super) fn look<C: Contents>(
        &self,
        share: Option<f64>,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<Halt>,
        host: &Host<C>,
    ) -> Result<(), Stop> {
        match self.report(share, progress, host) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(_) => Err(Stop::Error(Error::Interrupted)),
        }
    }

    fn report<C: Contents>(
        &self,
        share: Option<f64>,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<Halt>,
        host: &Host<C>,
    ) -> ControlFlow<Halt> {
        progress(Progress { requests: host.admitted, share, simulated_ns: self.now.0 })
    }
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    pub(super) fn replay(
        &mut self,
        requests: &mut Requests,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<Halt>,
    ) -> Result<(), Stop> {
        let closed = self.workload.replay != Replay::Open;
        let fast_path = self.fast_path_backend();
        // The next request is the current one of `requests`.
        let mut has_next = self.host.flows.is_none() && self.advance_to_placed(requests)?;
        loop {
            let event = self.device.next_event();
            if !has_next && event > self.clock.last {
                self.end_counting();
            }
            let fault_event = self.failures.fault_events.next_at;
            let admission =
                self.host.next_admission(has_next.then(|| requests.current()), closed, &self.clock);
            let crossing = self.device.next_crossing();
            let limit = admission.min(fault_event).min(crossing);
            if self.failures.durability.is_some() && self.end_known(limit.min(event)) {
                continue;
            }
            if event <= limit {
                if event == SimTime::NEVER {
                    break;
                }
                // After the last request, the caller looks at each event whether it is the first one after its end.
                let ends = !self.clock.drains && !self.host.comes(has_next);
                has_next &= self.step_event(if ends { event } else { limit }, admission.min(crossing));
            } else if crossing <= limit {
                self.cross_at(crossing);
            } else if fault_event <= admission {
                // After the last request no more failures are injected, but replacements still take place.
                let idle = event == SimTime::NEVER && crossing == SimTime::NEVER;
                if !self.host.comes(has_next) && idle && !self.failures.fault_events.replaces_next() {
                    break;
                }
                self.inject_by_time(event.min(crossing).min(admission));
                self.accounts.check_series(self.job)?;
            } else {
                self.clock.now = admission;
                if self.failures.durability.is_some() {
                    self.end_recovery();
                }
                match self.step_admission(has_next, closed, event, fast_path, requests, progress)? {
                    Some(next) => has_next = next,
                    None => break,
                }
            }
        }
        // Some requests may end later than the last event, if a failure or a sample was still to come.
        self.end_requests(SimTime::NEVER);
        if self.job.flush_at_end {
            self.flush_at_end();
            self.end_requests(SimTime::NEVER);
        }
        self.end_recovery();
        let quiet = self.device.engine.work().is_quiet()
            && self.device.engine.ports().host_link().is_none_or(Link::is_quiet);
        assert!(!self.host.comes(has_next) && quiet, "everything that was asked is done at the end");
        Ok(())
    }

    /// An event at `limit` or earlier. False if the run ends because enough has been rebuilt.
    #[inline(always)]
    fn step_event(&mut self, mut limit: SimTime, coming: SimTime) -> bool {
        let mut known_end = SimTime::NEVER;
        if self.failures.durability.is_some() {
            self.end_recovery();
            // With the end of a request idle time may begin.
            known_end = self.failures.next_known_end(&self.device, &self.host);
            limit = limit.min(known_end);
        }
        let goes_on = self.clock.most_rebuilt.is_none_or(|most| self.goes_on_rebuilding(most, coming));
        // A drive is saved at rest.
        if coming.min(known_end) == SimTime::NEVER
            && self.failures.fault_events.are_over()
            && self.job.save_aged.is_none()
        {
            self.wind_down();
        }
        self.happen(limit);
        goes_on
    }

    /// Admits the next request of the flows.
    #[inline(never)]
    fn admit_from_flows(
        &mut self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<Halt>,
    ) -> Result<(), Stop> {
        if let Some(request) = self.take_from_flows()? {
            self.admit(&request, false);
        }
        let share = self.host.flows.as_ref().and_then(Flows::share_done);
        if self.host.looks_now(&self.failures)
            && !self.clock.goes_on(share, progress, &self.host)?
            && let Some(flows) = &mut self.host.flows
        {
            flows.end();
        }
        Ok(())
    }

    /// Injects what is due before the next request is admitted.
    #[inline(always)]
    pub(super) fn fail_before_admission(&mut self) {
        if self.host.admitted >= self.failures.fault_events.next_count {
            self.inject_by_count();
        }
        self.watch_life();
    }

    /// Requests cross the link at an instant.
    pub(super) fn cross_at(&mut self, crossing: SimTime) {
        self.clock.now = self.clock.now.max(crossing);
        self.cross();
        self.collect_finished();
    }

    /// Admits what comes now. Whether `requests` has another request then; none if nothing is left.
    #[inline(always)]
    fn step_admission(
        &mut self,
        has_next: bool,
        closed: bool,
        event: SimTime,
        fast_path: Option<BackendId>,
        requests: &mut Requests,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<Halt>,
    ) -> Result<Option<bool>, Stop> {
        self.fail_before_admission();
        if self.host.arrived.is_some() {
            if !self.take_arrived(has_next.then(|| requests.current())) {
                return Ok(Some(has_next));
            }
            self.host.seen += 1;
            let looks = self.host.seen.is_multiple_of(LOOK);
            let goes_on = !looks || self.clock.goes_on(requests.share_done(), progress, &self.host)?;
            return Ok(Some(goes_on && self.advance_to_placed(requests)?));
        }
        if self.host.flows.as_ref().is_some_and(Flows::has_next) {
            self.admit_from_flows(progress)?;
            return Ok(Some(has_next));
        }
        if !has_next {
            return Ok(None);
        }
        let request = requests.current();
        if let Some(backend) = fast_path
            && event == SimTime::NEVER
            && self.takes_fast_path(&request)
        {
            return self.write_fast_path(backend, &request, requests, closed, progress).map(Some);
        }
        self.admit(&request, closed);
        let goes_on = !self.host.looks_now(&self.failures)
            || self.clock.goes_on(requests.share_done(), progress, &self.host)?;
        Ok(Some(goes_on && self.advance_to_placed(requests)?))
    }

    /// Whether requests continue beside a rebuild, or they end because it has restored what was wanted of it; with the last
    /// of them it ends.
    fn goes_on_rebuilding(&mut self, most: u64, next: SimTime) -> bool {
        if next == SimTime::NEVER {
            if !self.host.has_requests(&self.failures) {
                self.device.engine.schedule_mut().stop_rebuilds();
            }
        } else if self.device.engine.schedule().pieces_rebuilt() >= most {
            self.clock.sampled = true;
            self.host.flows.iter_mut().for_each(Flows::end);
        }
        !self.clock.sampled
    }

    /// No more requests come, and no failures.
    fn wind_down(&mut self) {
        if self.device.engine.work().is_quiet() {
            self.device.body.end_idling();
        } else if self.clock.scrubs && !self.host.has_requests(&self.failures) {
            // What scrubbing finds can keep the engine busy for ever.
            self.clock.scrubs = false;
            self.device.body.end_scrubbing();
        }
    }

    /// Admits the next request; returns whether the one that arrives next was admitted or waits in the host.
    #[inline(never)]
    pub(super) fn take_arrived(&mut self, next: Option<Request>) -> bool {
        let room = |this: &Self| this.host.window.room_at(this.clock.now) <= this.clock.now;
        let arrived = self.host.arrived.as_mut().expect("requests wait outside");
        let arrives = arrived.is_empty() || self.host.window.room_at(self.clock.now) > self.clock.now;
        if arrives && let Some(request) = next {
            arrived.arrive(request, std::mem::take(&mut self.host.ranges));
        }
        if room(self)
            && let Some((request, mut ranges)) = self.host.arrived.as_mut().and_then(ArrivedRequests::next)
        {
            std::mem::swap(&mut self.host.ranges, &mut ranges);
            self.admit(&request, false);
            std::mem::swap(&mut self.host.ranges, &mut ranges);
        }
        arrives
    }

    /// Advances the drive until an operation completes or another event is next.
    #[inline(always)]
    pub(super) fn happen(&mut self, admission: SimTime) {
        let due = self.device.engine.next_due();
        let mut until = admission.min(due);
        let scrubs = self.clock.scrubs;
        if scrubs {
            // Scrubbing never ends: the caller looks after each event whether the last request is over, whether or not
            // a sample is due.
            until = until.min(self.device.body.next_event());
        }
        while self.device.body.done().is_empty() && self.device.body.step(until) {}
        if scrubs {
            self.clock.now = self.clock.now.max(self.device.body.now());
        }
        let is_done = !self.device.body.done().is_empty();
        let is_due = !is_done && due <= until && due < SimTime::NEVER;
        if is_done {
            self.clock.now = self.device.body.now();
            self.device.engine.settle(&mut self.device.body, self.clock.now);
        } else if is_due {
            self.clock.now = due;
            self.device.engine.advance(&mut self.device.body, due);
        }
        self.collect_finished();
        // Not where a sample or a request was all that came.
        if (is_done || is_due) && !self.accounts.phases.is_empty() {
            self.watch_phase();
        }
    }
}
