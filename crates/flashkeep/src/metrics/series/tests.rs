//! Series of requests and samples by hand.

use super::*;
use crate::drive::OpKind;
use crate::engine::Cause;
use crate::job::SeriesColumn;
use proptest::prelude::*;

/// A sample after `pages` programs for the host.
fn sample(pages: u64, free_blocks: u64) -> SeriesSample {
    let mut counters = Counters::new(1);
    counters.add(0, OpKind::Program, Cause::Host, pages);
    SeriesSample::new(RunState { free_blocks, ..RunState::default() }, &counters, pages)
}

fn request(arrival: u64, end: u64) -> SeriesRequest {
    SeriesRequest { arrival: SimTime(arrival), end: SimTime(end), op: 0, length: 512, counted: true }
}

fn counts(table: &SeriesColumns, name: &str) -> Vec<u64> {
    match &table.iter().find(|(column, _)| column == name).expect("a column").1 {
        SeriesColumn::Count(values) => values.clone(),
        SeriesColumn::Number(_) => panic!("{name} has numbers"),
    }
}

fn numbers(table: &SeriesColumns, name: &str) -> Vec<f64> {
    match &table.iter().find(|(column, _)| column == name).expect("a column").1 {
        SeriesColumn::Number(values) => values.clone(),
        SeriesColumn::Count(_) => panic!("{name} has counts"),
    }
}

#[test]
fn requests_and_operations_count_in_their_intervals() {
    let mut series = Series::new(SeriesIntervals::Length(Span(100)));
    assert_eq!(series.next_at(), SimTime::NEVER, "counting has not begun");
    series.begin(SimTime::ZERO, sample(0, 9));
    series.add(&request(10, 60));
    series.add(&request(20, 150));
    series.pass(SimTime(100), SimTime(120), &sample(3, 8));
    // Nothing happens until 420.
    series.pass(SimTime(200), SimTime(420), &sample(4, 7));
    series.add(&request(420, 450));
    let table = series.finish(SimTime(450), &sample(9, 5));
    assert_eq!(counts(&table, "start_ns"), [0, 100, 200, 300, 400]);
    assert_eq!(counts(&table, "end_ns"), [100, 200, 300, 400, 450]);
    assert_eq!(counts(&table, "operations.program.host"), [3, 1, 0, 0, 5]);
    assert_eq!(counts(&table, "free_blocks"), [8, 7, 7, 7, 5]);
    assert_eq!(counts(&table, "response_us.read.count"), [1, 1, 0, 0, 1]);
    assert_eq!(counts(&table, "queue.depth"), [1, 0, 0, 0, 0]);
    // From 10 to 60 and from 20 to 150; from 420 to 450.
    assert_eq!(numbers(&table, "queue.mean"), [1.3, 0.5, 0.0, 0.0, 0.6]);
    assert!(numbers(&table, "response_us.read.p99")[2].is_nan());
    assert_eq!(numbers(&table, "response_us.read.max")[1], 0.13);
}

#[test]
fn what_ends_with_the_run_belongs_to_its_last_interval() {
    let mut series = Series::new(SeriesIntervals::Length(Span(100)));
    series.begin(SimTime::ZERO, sample(0, 0));
    series.add(&request(0, 200));
    series.pass(SimTime(100), SimTime(500), &sample(1, 0));
    let table = series.finish(SimTime(200), &sample(2, 0));
    assert_eq!(counts(&table, "end_ns"), [100, 200]);
    assert_eq!(counts(&table, "operations.program.host"), [1, 1]);
    assert_eq!(counts(&table, "response_us.all.count"), [0, 1]);
    assert_eq!(numbers(&table, "queue.mean"), [1.0, 1.0]);
}

#[test]
fn too_many_intervals_end_it() {
    let mut series = Series::new(SeriesIntervals::Length(Span(1)));
    series.begin(SimTime::ZERO, sample(0, 0));
    series.pass(SimTime(1), SimTime(2_000_000), &sample(0, 0));
    assert!(series.overflows());
    assert_eq!(series.next_at(), SimTime::NEVER);
    assert!(series.finish(SimTime(2_000_000), &sample(0, 0)).is_empty());
}

proptest! {
    /// Requests and programs at random instants: the rows of a series with a number of intervals are those of one with
    /// intervals of that length, and all add up.
    #[test]
    fn a_number_of_intervals_gives_the_rows_of_their_length(
        mut spans in prop::collection::vec((0..60_000_u64, 0..20_000_u64), 1..60),
        most in 1..12_usize,
        begins in 0..4_usize,
    ) {
        spans.sort_unstable();
        let begin = SimTime(spans[begins.min(spans.len() - 1)].0);
        let run = |intervals| {
            let (mut series, mut begun) = (Series::new(intervals), false);
            let mut pages = 0;
            for &(arrival, long) in &spans {
                if !begun && arrival >= begin.0 {
                    series.begin(begin, sample(0, 0));
                    begun = true;
                }
                let at = SimTime(arrival);
                if series.next_at() < at {
                    series.pass(series.next_at(), at, &sample(pages, pages));
                }
                pages += u64::from(begun);
                series.add(&SeriesRequest { counted: begun, ..request(arrival, arrival + long) });
            }
            let end = SimTime(spans.iter().map(|(arrival, long)| arrival + long).max().unwrap_or(0) + 1);
            series.finish(end, &sample(pages, pages))
        };
        let table = run(SeriesIntervals::AtMost(most));
        let starts = counts(&table, "start_ns");
        prop_assert!(starts.len() <= most);
        let length = starts.get(1).map_or(1 << 40, |next| next - starts[0]);
        let fixed = run(SeriesIntervals::Length(Span(length)));
        for ((name, column), (_, other)) in table.iter().zip(&fixed) {
            prop_assert_eq!(format!("{column:?}"), format!("{other:?}"), "{}", name);
        }
        let counted = spans.iter().filter(|(arrival, _)| *arrival >= begin.0).count() as u64;
        prop_assert_eq!(counts(&table, "response_us.read.count").iter().sum::<u64>(), counted);
        prop_assert_eq!(counts(&table, "operations.program.host").iter().sum::<u64>(), counted);
        prop_assert_eq!(counts(&table, "queue.depth").last().copied(), Some(0));
    }
}
