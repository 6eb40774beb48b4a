//! `--timeline`: checks the options, and adds the host's requests to the timeline.

use super::{Device, Failures, OutstandingRequest, RunAccounts, RunClock, Simulation};
use crate::devices::Body;
use crate::drive::{DeviceObserver, HostRequest, RunEvent, RunState};
use crate::engine::{Contents, Finished};
use crate::error::Error;
use crate::faults::span;
use crate::job::{Job, RequestRecord};
use crate::kernel::{Id, SimTime, Span};
use crate::output::Sites;
use crate::timeline::{TimelineWindow, timeline};
use flashkeep_trace::Op;

/// The longest time between two states that a timeline shows, if anything happens in between.
const SHOWN_EVERY: Span = Span(1_000_000);

/// The timeline of a run, if the job asks for one.
pub(super) fn of(job: &Job, untimed: bool, sites: Sites) -> Result<Option<Box<dyn DeviceObserver>>, Error> {
    let window = job.timeline_window.as_deref().map(window).transpose()?;
    let Some(path) = &job.timeline else {
        let refused = Error::Option("--timeline-window: needs --timeline".into());
        return window.map_or(Ok(None), |_| Err(refused));
    };
    if untimed {
        return Err(Error::Option("--timeline: an untimed run has no times to show".into()));
    }
    timeline(path, &sites, window).map(Some)
}

/// `A..B`, either of which may be left out.
fn window(text: &str) -> Result<TimelineWindow, Error> {
    let refuse = |why: String| Error::Option(format!("--timeline-window: {why}"));
    let Some((from, until)) = text.split_once("..") else {
        return Err(refuse(format!(
            "found `{text}`; accepted: two times, such as 10s..12s, 500ms.. or ..2s"
        )));
    };
    let time = |text: &str, left_out: SimTime| match text {
        "" => Ok(left_out),
        text => span(text).map(|Span(ns)| SimTime(ns)).map_err(refuse),
    };
    let (from, until) = (time(from, SimTime::ZERO)?, time(until, SimTime::NEVER)?);
    if from >= until {
        return Err(refuse(format!("found `{text}`, which ends before it begins")));
    }
    Ok(TimelineWindow { from, until })
}

impl<C: Contents, H: Body<C>> Device<C, H> {
    /// Tells the logs the state of the run.
    #[cold]
    pub(super) fn tell_state(&mut self, clock: &RunClock) {
        let state = self.state(clock);
        self.body.tell(&RunEvent::State(state));
    }

    /// The state of the run.
    pub(super) fn state(&self, clock: &RunClock) -> RunState {
        let free_blocks = self.body.free_blocks();
        let port = self.port();
        let buffered_pages = port.held().div_ceil(u64::from(port.pages().page_sectors()));
        RunState { at: clock.now, free_blocks, buffered_pages }
    }
}

impl RunAccounts {
    /// The timeline shows the state also while no request ends, during GC in idle time and rebuilds.
    pub(super) fn begin_showing(&mut self, job: &Job, failures: &mut Failures) {
        if job.timeline.is_some() {
            self.shown_at = SimTime(SHOWN_EVERY.0);
            self.arm_sample(failures);
        }
    }
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// Tells the logs the state at `at`, which does not change before `until`.
    pub(super) fn show_state(&mut self, at: SimTime, until: SimTime) {
        let state = RunState { at, ..self.device.state(&self.clock) };
        self.device.body.tell(&RunEvent::State(state));
        let next = if until == SimTime::NEVER { at.0 + 1 } else { until.0.max(at.0 + 1) };
        self.accounts.shown_at = SimTime(next.next_multiple_of(SHOWN_EVERY.0));
    }

    /// The state in which the run ends.
    pub(super) fn end_showing(&mut self) {
        if self.job.timeline.is_some() {
            self.device.tell_state(&self.clock);
        }
    }

    /// A request of the host ends at `end`: it is shown in the timeline and the series, and reported by a live device.
    #[inline(never)]
    pub(super) fn tell_request(&mut self, finished: &Finished, end: SimTime) {
        let id = Id::new(finished.tag);
        self.accounts.add_to_series(id, end, &self.host);
        self.tell_answered(finished, end);
        if self.job.timeline.is_none() {
            return;
        }
        let OutstandingRequest { number, record, .. } = self.host.in_flight[id];
        let op = match record.op {
            op if op == Op::Read as u8 => "read",
            op if op == Op::Write as u8 => "write",
            op if op == Op::Flush as u8 => "flush",
            _ => "trim",
        };
        let RequestRecord { arrival_ns, offset, length, .. } = record;
        let request = HostRequest { number, op, offset, length, start: SimTime(arrival_ns), end };
        self.device.body.tell(&RunEvent::Answered(request));
        self.device.tell_state(&self.clock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_two_times() {
        let read =
            |text| window(text).map(|window| (window.from.0, window.until.0)).map_err(|e| e.to_string());
        assert_eq!(read("10s..12.5s"), Ok((10_000_000_000, 12_500_000_000)));
        assert_eq!(read("500ms.."), Ok((500_000_000, u64::MAX)));
        assert_eq!(read("..30us"), Ok((0, 30_000)));
        assert_eq!(read(".."), Ok((0, u64::MAX)));
        for wrong in ["", "10s", "2s..1s", "1s..1s", "..0s", "1..2", "a..b", "1s..2s..3s", "-1s..2s", "1s-2s"]
        {
            let message = read(wrong).expect_err(wrong);
            assert!(message.contains("--timeline-window: "), "{wrong}: {message}");
        }
    }
}
