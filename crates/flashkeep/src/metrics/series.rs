//! Figures over time: a row for each interval of a run (`--series`).
//!
//! A request counts in the interval in which it is acknowledged, an operation in the one in which it is granted. The sums
//! of a column of counts are those of the summary.

mod table;
#[cfg(test)]
mod tests;

use super::Histogram;
use crate::drive::{ByKindAndCause, Counters, RunState};
use crate::job::SeriesColumns;
use crate::kernel::{SimTime, Span, make_room};
use flashkeep_trace::Op;
use table::SeriesTable;

/// The first length of intervals whose number is given: they are doubled as time passes.
const SHORTEST: Span = Span(1_000);

/// Response times of an interval that are kept exactly.
const EXACT: usize = 16_384;

/// What a run has done until an instant, and its state.
#[derive(Clone, Debug, Default)]
pub struct SeriesSample {
    /// The state at that instant.
    pub state: RunState,
    /// Pages that the host has written.
    pub host_pages: u64,
    operations: Box<ByKindAndCause>,
}

impl SeriesSample {
    /// A sample with these counters.
    #[must_use]
    pub fn new(state: RunState, counters: &Counters, host_pages: u64) -> Self {
        SeriesSample { state, host_pages, operations: Box::new(counters.by_kind_and_cause()) }
    }
}

/// A request that was acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct SeriesRequest {
    /// When it arrived.
    pub arrival: SimTime,
    /// When it was acknowledged.
    pub end: SimTime,
    /// An [`Op`] as a number.
    pub op: u8,
    /// Bytes.
    pub length: u32,
    /// Whether statistics count it.
    pub counted: bool,
}

/// The requests of an interval.
#[derive(Clone, Debug, Default)]
struct IntervalRequests {
    /// Response times of reads, of writes and trims, of flushes.
    response: [Histogram; 3],
    /// Read, written.
    bytes: [u64; 2],
    /// Requests that arrived and that ended, whether they are counted or not.
    arrived: u64,
    left: u64,
    /// The ends less the arrivals of these, ns since the first interval began.
    moment: i128,
}

/// An interval.
#[derive(Clone, Debug, Default)]
struct SeriesRow {
    requests: Option<Box<IntervalRequests>>,
    operations: Option<Box<ByKindAndCause>>,
    host_pages: u64,
    /// The state at its end.
    state: RunState,
}

/// How long intervals are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesIntervals {
    /// That long, which is not 0.
    Length(Span),
    /// At most that many, at least 1: when there are more, pairs become one.
    AtMost(usize),
}

/// The figures of a run over time, during the run.
#[derive(Clone, Debug)]
pub struct Series {
    intervals: SeriesIntervals,
    step: Span,
    /// When the first interval began, if counting has begun.
    origin: Option<SimTime>,
    /// Requests that ended before counting began, or are known to end after that.
    early: Vec<SeriesRequest>,
    rows: Vec<SeriesRow>,
    /// The number of intervals that are over.
    over: usize,
    /// What had been counted when the last one was over.
    last: SeriesSample,
    /// There would be too many rows.
    overflows: bool,
}

impl Series {
    /// The largest number of rows.
    pub const MOST_ROWS: usize = 1_000_000;

    /// A series that has not begun.
    #[must_use]
    pub fn new(intervals: SeriesIntervals) -> Self {
        let step = match intervals {
            SeriesIntervals::Length(step) => step,
            SeriesIntervals::AtMost(_) => SHORTEST,
        };
        Series {
            intervals,
            step,
            origin: None,
            early: Vec::new(),
            rows: Vec::new(),
            over: 0,
            last: SeriesSample::default(),
            overflows: false,
        }
    }

    /// Counting begins.
    pub fn begin(&mut self, at: SimTime, sample: SeriesSample) {
        (self.origin, self.last) = (Some(at), sample);
        for request in std::mem::take(&mut self.early) {
            if request.end > at {
                self.add(&request);
            }
        }
    }

    /// When the next interval is over; [`SimTime::NEVER`] if there is none.
    #[must_use]
    pub fn next_at(&self) -> SimTime {
        match self.origin {
            Some(origin) if !self.overflows => self.starts_at(origin, self.over + 1),
            _ => SimTime::NEVER,
        }
    }

    fn starts_at(&self, origin: SimTime, row: usize) -> SimTime {
        SimTime(origin.0.saturating_add(self.step.0.saturating_mul(row as u64)))
    }

    /// The intervals that are over at `at` are, and those that are over before `until`: nothing happens until then.
    pub fn pass(&mut self, at: SimTime, until: SimTime, sample: &SeriesSample) {
        loop {
            let due = self.next_at();
            if due > at && due >= until {
                return;
            }
            self.make_row(self.over);
            // If pairs have been joined, the interval may not be over yet.
            if self.next_at() == due {
                self.close(self.over, sample);
                self.over += 1;
            }
        }
    }

    /// The counts since the last sample belong to a row.
    fn close(&mut self, row: usize, sample: &SeriesSample) {
        let (row, last) = (&mut self.rows[row], &mut self.last);
        row.state = sample.state;
        row.host_pages += sample.host_pages - last.host_pages;
        last.host_pages = sample.host_pages;
        if sample.operations != last.operations {
            let counts = row.operations.get_or_insert_default().as_flattened_mut();
            let changes = sample.operations.as_flattened().iter().zip(last.operations.as_flattened());
            counts.iter_mut().zip(changes).for_each(|(count, (now, before))| *count += now - before);
            last.operations.clone_from(&sample.operations);
        }
    }

    /// Makes sure that a row exists, or, if intervals are doubled for that, the one that takes its place; false if there
    /// are too many.
    fn make_row(&mut self, row: usize) -> bool {
        match self.intervals {
            SeriesIntervals::Length(_) if row >= Series::MOST_ROWS => {
                self.overflows = true;
                return false;
            }
            SeriesIntervals::AtMost(most) if row >= most => {
                self.join_pairs();
                return self.make_row(row / 2);
            }
            _ => {}
        }
        let rows = self.rows.len();
        if row >= rows {
            make_room(&mut self.rows, row + 1 - rows);
            self.rows.resize_with(row + 1, SeriesRow::default);
        }
        true
    }

    /// SeriesIntervals become twice as long.
    fn join_pairs(&mut self) {
        let mut rows = std::mem::take(&mut self.rows).into_iter();
        while let Some(mut row) = rows.next() {
            if let Some(next) = rows.next() {
                row.join(next);
            }
            self.rows.push(row);
        }
        self.over /= 2;
        self.step = self.step * 2;
    }

    /// A request was acknowledged.
    pub fn add(&mut self, request: &SeriesRequest) {
        if self.origin.is_none() {
            return self.keep_early(*request);
        }
        self.change(request.arrival, |row, since| {
            row.arrived += 1;
            row.moment -= since;
        });
        self.leave(request.end, request.counted.then_some(request));
    }

    /// A request that had arrived will never be acknowledged.
    pub fn interrupt(&mut self, arrival: SimTime, at: SimTime) {
        let (op, length, counted) = (Op::Read as u8, 0, false);
        self.add(&SeriesRequest { arrival, end: at, op, length, counted });
    }

    fn leave(&mut self, end: SimTime, counted: Option<&SeriesRequest>) {
        self.change(end, |row, since| {
            row.left += 1;
            row.moment += since;
            let Some(request) = counted else { return };
            let [reads, writes, flushes] = &mut row.response;
            let response = match request.op {
                op if op == Op::Read as u8 => reads,
                op if op == Op::Flush as u8 => flushes,
                _ => writes,
            };
            response.add_keeping(request.end.since(request.arrival).0, EXACT);
            if let Some(bytes) = row.bytes.get_mut(usize::from(request.op)) {
                *bytes += u64::from(request.length);
            }
        });
    }

    /// Changes the requests of the interval that an instant is in; instants before the first one belong to that.
    fn change(&mut self, at: SimTime, change: impl FnOnce(&mut IntervalRequests, i128)) {
        let since = at.since(self.origin.unwrap_or_default());
        if !self.make_row((since.0 / self.step.0) as usize) {
            return;
        }
        // Making room for it may have joined pairs.
        let row = (since.0 / self.step.0) as usize;
        change(self.rows[row].requests.get_or_insert_default(), i128::from(since.0));
    }

    /// Of requests before counting begins, those are kept that may be under way then.
    fn keep_early(&mut self, request: SeriesRequest) {
        if self.early.len() == self.early.capacity() {
            self.early.retain(|other| other.end > request.arrival);
            let more = self.early.len().max(64);
            make_room(&mut self.early, more);
        }
        self.early.push(request);
    }

    /// Whether there are too many intervals.
    #[must_use]
    pub fn overflows(&self) -> bool {
        self.overflows
    }

    /// The table of a run that ended at `end`; empty if there are too many intervals.
    #[must_use]
    pub fn finish(mut self, end: SimTime, sample: &SeriesSample) -> SeriesColumns {
        let origin = self.origin.unwrap_or_default();
        if self.overflows || !self.make_row(self.over) {
            return Vec::new();
        }
        self.close(self.over, sample);
        // What ends with the run belongs to the interval before, and so does work after the last request.
        let last = (end.since(origin).0.saturating_sub(1) / self.step.0) as usize;
        if !self.make_row(last) {
            return Vec::new();
        }
        let last = (end.since(origin).0.saturating_sub(1) / self.step.0) as usize;
        for row in self.rows.split_off(last + 1) {
            self.rows[last].join(row);
        }
        self.rows[last].state = sample.state;
        self.columns(origin, end)
    }

    fn columns(self, origin: SimTime, end: SimTime) -> SeriesColumns {
        let mut table = SeriesTable::default();
        let (mut from, mut depth) = (origin, 0_u64);
        for (at, row) in (1..).zip(&self.rows) {
            let until = if at == self.rows.len() { end } else { self.starts_at(origin, at) };
            table.begin();
            table.count(|| "start_ns".into(), from.0);
            table.count(|| "end_ns".into(), until.0);
            depth = table.requests(row.requests.as_deref(), depth, [from, until].map(|at| at.since(origin)));
            table.count(|| "free_blocks".into(), row.state.free_blocks);
            table.count(|| "buffered_pages".into(), row.state.buffered_pages);
            table.count(|| "host_pages".into(), row.host_pages);
            table.operations(row.operations.as_deref());
            from = until;
        }
        table.columns
    }
}

impl SeriesRow {
    /// Adds the interval that follows.
    fn join(&mut self, next: SeriesRow) {
        match (&mut self.requests, next.requests) {
            (Some(requests), Some(more)) => requests.join(&more),
            (requests @ None, more) => *requests = more,
            _ => {}
        }
        match (&mut self.operations, next.operations) {
            (Some(counts), Some(more)) => {
                let more = more.as_flattened().iter();
                counts.as_flattened_mut().iter_mut().zip(more).for_each(|(count, more)| *count += more);
            }
            (counts @ None, more) => *counts = more,
            _ => {}
        }
        self.host_pages += next.host_pages;
        self.state = next.state;
    }
}

impl IntervalRequests {
    fn join(&mut self, next: &IntervalRequests) {
        for (one, more) in self.response.iter_mut().zip(&next.response) {
            *one = one.with_keeping(more, EXACT);
        }
        self.bytes.iter_mut().zip(next.bytes).for_each(|(one, more)| *one += more);
        self.arrived += next.arrived;
        self.left += next.left;
        self.moment += next.moment;
    }
}
