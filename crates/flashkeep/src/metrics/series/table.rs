//! The table of a series: columns that have the paths of figures in the summary.

use super::super::Histogram;
use super::super::counts::per;
use super::IntervalRequests;
use crate::drive::{ByKindAndCause, OpKind};
use crate::engine::Cause;
use crate::job::{SeriesColumn, SeriesColumns};
use crate::kernel::{Span, make_room};

/// Columns that grow row by row. Every row has the same columns in the same order.
#[derive(Default)]
pub(super) struct SeriesTable {
    pub(super) columns: SeriesColumns,
    next: usize,
}

impl SeriesTable {
    pub(super) fn begin(&mut self) {
        self.next = 0;
    }

    /// The next column of the row; the first row makes them.
    fn column(&mut self, name: impl FnOnce() -> String, new: fn() -> SeriesColumn) -> &mut SeriesColumn {
        if self.next == self.columns.len() {
            self.columns.push((name(), new()));
        }
        self.next += 1;
        &mut self.columns[self.next - 1].1
    }

    pub(super) fn count(&mut self, name: impl FnOnce() -> String, value: u64) {
        if let SeriesColumn::Count(values) = self.column(name, || SeriesColumn::Count(Vec::new())) {
            make_room(values, 1);
            values.push(value);
        }
    }

    fn number(&mut self, name: impl FnOnce() -> String, value: Option<f64>) {
        if let SeriesColumn::Number(values) = self.column(name, || SeriesColumn::Number(Vec::new())) {
            make_room(values, 1);
            values.push(value.unwrap_or(f64::NAN));
        }
    }

    /// The columns of requests; returns how many are under way at the end of the interval.
    pub(super) fn requests(
        &mut self,
        row: Option<&IntervalRequests>,
        depth: u64,
        [from, until]: [Span; 2],
    ) -> u64 {
        let nothing = IntervalRequests::default();
        let row = row.unwrap_or(&nothing);
        let [read, write, flush] = &row.response;
        let all = read.with(write);
        for (name, response) in [("all", &all), ("read", read), ("write", write), ("flush", flush)] {
            self.times(name, response);
        }
        let seconds = (until - from).0 as f64 / 1e9;
        let [bytes_read, bytes_written] = row.bytes;
        let count = all.count() + flush.count();
        self.number(|| "throughput.iops".into(), per(count as f64, seconds));
        self.number(|| "throughput.read_mib_s".into(), per(bytes_read as f64 / f64::from(1 << 20), seconds));
        self.number(
            || "throughput.write_mib_s".into(),
            per(bytes_written as f64 / f64::from(1 << 20), seconds),
        );
        let after = (depth + row.arrived).saturating_sub(row.left);
        // The integral of the depth over the interval.
        let changes = (i128::from(row.arrived) - i128::from(row.left)) * i128::from(until.0) + row.moment;
        let area = i128::from(depth) * i128::from((until - from).0) + changes;
        self.number(|| "queue.mean".into(), per(area as f64, (until - from).0 as f64));
        self.count(|| "queue.depth".into(), after);
        after
    }

    fn times(&mut self, operation: &str, response: &Histogram) {
        let times = response.times();
        self.count(|| format!("response_us.{operation}.count"), response.count());
        let figures = times.map(|times| [times.mean, times.p50, times.p95, times.p99, times.max]);
        for (at, figure) in ["mean", "p50", "p95", "p99", "max"].into_iter().enumerate() {
            self.number(
                || format!("response_us.{operation}.{figure}"),
                figures.as_ref().map(|figures| figures[at]),
            );
        }
    }

    pub(super) fn operations(&mut self, operations: Option<&ByKindAndCause>) {
        for (at, kind) in OpKind::ALL.into_iter().enumerate() {
            for (place, cause) in Cause::ALL.into_iter().enumerate() {
                let count = operations.map_or(0, |operations| operations[at][place]);
                self.count(|| format!("operations.{}.{}", kind.name(), cause.name()), count);
            }
        }
    }
}
