//! `--series`: records the figures of a run at the ends of intervals.

use super::{Failures, Host, OutstandingRequest, RunAccounts, Simulation, Stop};
use crate::devices::Body;
use crate::engine::Contents;
use crate::error::Error;
use crate::faults::span;
use crate::job::{Job, SeriesColumns};
use crate::kernel::{Id, SimTime, Span};
use crate::metrics::{Series, SeriesIntervals, SeriesRequest, SeriesSample};

/// The series of a run, if the job asks for one.
pub(super) fn of(job: &Job, untimed: bool) -> Result<Option<Box<Series>>, Error> {
    let Some(option) = &job.series else { return Ok(None) };
    if untimed {
        return Err(Error::Option("--series: an untimed run has no times to show".into()));
    }
    let intervals = intervals(option).map_err(Error::Option)?;
    Ok(Some(Box::new(Series::new(intervals))))
}

/// The length of an interval, or the largest number of them.
fn intervals(option: &str) -> Result<SeriesIntervals, String> {
    match (option.parse::<usize>(), span(option)) {
        (Ok(most @ 1..=Series::MOST_ROWS), _) => Ok(SeriesIntervals::AtMost(most)),
        (_, Ok(length @ Span(1..))) => Ok(SeriesIntervals::Length(length)),
        _ => Err(format!(
            "--series: found `{option}`; accepted: the length of an interval, such as 10ms or 1s, or their number, 1 \
             to {}",
            Series::MOST_ROWS
        )),
    }
}

impl RunAccounts {
    /// The next sample is one of the series or of the timeline.
    pub(super) fn arm_sample(&mut self, failures: &mut Failures) {
        let series_at = self.series.as_ref().map_or(SimTime::NEVER, |series| series.next_at());
        failures.fault_events.sample_at(series_at.min(self.shown_at));
    }

    /// A request of the host ends at `end`.
    pub(super) fn add_to_series<C: Contents>(
        &mut self,
        id: Id<OutstandingRequest<C>>,
        end: SimTime,
        host: &Host<C>,
    ) {
        let Some(series) = &mut self.series else { return };
        let OutstandingRequest { arrival, counted, record, .. } = host.in_flight[id];
        series.add(&SeriesRequest { arrival, end, op: record.op, length: record.length, counted });
    }

    /// A power cut ends the requests that are under way.
    pub(super) fn end_series_of_interrupted<C: Contents>(&mut self, at: SimTime, host: &Host<C>) {
        let Some(series) = &mut self.series else { return };
        for request in host.in_flight.objects() {
            series.interrupt(request.arrival, at);
        }
    }

    /// Ends the run if the series has too many intervals.
    pub(super) fn check_series(&self, job: &Job) -> Result<(), Stop> {
        let overflows = self.series.as_ref().is_some_and(|series| series.overflows());
        if overflows { Err(self.too_many_intervals(job)) } else { Ok(()) }
    }

    fn too_many_intervals(&self, job: &Job) -> Stop {
        let (option, most) = (job.series.as_deref().unwrap_or_default(), Series::MOST_ROWS);
        Stop::Error(Error::Option(format!(
            "--series {option}: the run has more than {most} intervals; choose longer ones, or their number: \
             --series 200"
        )))
    }
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// Counting begins.
    pub(super) fn begin_series(&mut self) {
        let Some(mut series) = self.accounts.series.take() else { return };
        series.begin(self.accounts.baseline.at, self.series_sample());
        self.accounts.series = Some(series);
        self.accounts.arm_sample(&mut self.failures);
    }

    fn series_sample(&self) -> SeriesSample {
        let pages_written = self.accounts.statistics.pages_written;
        SeriesSample::new(self.device.state(&self.clock), &self.device.body.counters(), pages_written)
    }

    /// An interval of the series ends, and those that end before `until`, when something happens next; or the timeline
    /// shows the state of the run.
    #[cold]
    pub(super) fn sample(&mut self, until: SimTime) {
        let at = self.failures.fault_events.sample_at;
        if let Some(mut series) = self.accounts.series.take() {
            if series.next_at() <= at {
                series.pass(at, until, &self.series_sample());
            }
            self.accounts.series = Some(series);
        }
        if self.accounts.shown_at <= at {
            self.show_state(at, until);
        }
        self.accounts.arm_sample(&mut self.failures);
    }

    /// The table of a run that ended at `end`.
    pub(super) fn end_series(&mut self, end: SimTime) -> Result<SeriesColumns, Stop> {
        let Some(series) = self.accounts.series.take() else { return Ok(Vec::new()) };
        let table = series.finish(end, &self.series_sample());
        if table.is_empty() { Err(self.accounts.too_many_intervals(self.job)) } else { Ok(table) }
    }
}
