//! Seek curves against the figures that their parameters are known to give.

use super::*;
use crate::disk::SeekSpec;
use serde_json::{Value, json};

fn seek(keys: Value) -> SeekSpec {
    serde_json::from_value(keys).expect("a curve")
}

fn ms(table: &SeekTable, writes: bool, cylinders: u32) -> f64 {
    table.time(writes, cylinders).0 as f64 / 1e6
}

/// Lee and Katz with 1.0, 8.5 and 18 ms over 100,000 cylinders.
fn known() -> SeekTable {
    let seek = seek(json!({ "read_track_ms": 1.0, "write_settle_ms": 9.0 }));
    SeekTable::new(&seek, 100_000).expect("a curve")
}

#[test]
fn three_points_give_the_known_values() {
    let table = known();
    let known = [(0, 0.0), (1, 1.0), (1_000, 1.99), (33_333, 8.90), (100_000, 18.0)];
    for (cylinders, expected) in known {
        assert!((ms(&table, false, cylinders) - expected).abs() < 0.005, "{cylinders}");
    }
    // a = 0.028988, b = 7.8333e-5.
    let exact = 0.028_988 * 999_f64.sqrt() + 7.833_3e-5 * 999.0 + 1.0;
    assert!((ms(&table, false, 1_000) - exact).abs() < 1e-4);
    // Writes have points of their own.
    assert!(ms(&table, true, 1) == 1.0 && (ms(&table, true, 100_000) - 18.0).abs() < 0.005);
    assert!(ms(&table, true, 33_333) > 10.0);
}

#[test]
fn the_mean_over_random_pairs_of_cylinders_is_the_average() {
    let (table, mut random) = (known(), Random::stream(1, "pairs"));
    let mut cylinder = || random.below(100_000) as u32;
    for (writes, average) in [(false, 8.5), (true, 10.0)] {
        let sum: f64 = (0..200_000).map(|_| ms(&table, writes, cylinder().abs_diff(cylinder()))).sum();
        assert!((sum / 200_000.0 / average - 1.0).abs() < 0.01, "{}", sum / 200_000.0);
    }
}

#[test]
fn distances_in_bytes_take_what_the_curve_says() {
    // 64 MB, 1 GB, 10 GB, 100 GB as shares of 500 GB, on cylinders of equal size.
    let table = known();
    for (gigabytes, expected) in [(0.064, 1.10), (1.0, 1.43), (10.0, 2.45), (100.0, 6.67)] {
        let cylinders = (gigabytes / 500.0 * 1e5_f64).round() as u32;
        assert!((ms(&table, false, cylinders) - expected).abs() < 0.01, "{gigabytes}");
    }
}

#[test]
fn two_pieces_and_measured_points() {
    let pieces = [3.24, 0.4, 383.0, 8.0, 0.008];
    let two = seek(json!({ "curve": "two-pieces", "pieces": pieces, "write_settle_ms": 0.5 }));
    let table = SeekTable::new(&two, 1_000).expect("a curve");
    let found = [1, 100, 382, 383, 1_000].map(|d| ms(&table, false, d));
    let expected = [3.64, 7.24, 3.24 + 0.4 * 382_f64.sqrt(), 8.0 + 3.064, 16.0];
    assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-5), "{found:?}");
    assert!((ms(&table, true, 100) - 7.74).abs() < 1e-5 && ms(&table, true, 0) == 0.0);
    // Points of an older Barracuda.
    let points = [1.0, 1.943, 10.0, 2.351, 100.0, 4.158, 1_000.0, 8.114];
    let measured = seek(json!({ "curve": "table", "points": points }));
    let table = SeekTable::new(&measured, 1_900).expect("a curve");
    let found = [1, 10, 55, 1_000, 1_900].map(|d| ms(&table, false, d));
    let expected = [1.943, 2.351, 2.351 + 1.807 / 2.0, 8.114, 8.114 + 3.956];
    assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-5), "{found:?}");
}

#[test]
fn curves_that_fall_are_refused() {
    let average = |average: f64| SeekTable::new(&seek(json!({ "read_average_ms": average })), 1_000);
    // (2 · 0.8 + 18) / 3 and (4 · 0.8 + 11 · 18) / 15.
    assert!(average(6.54).is_ok() && average(13.41).is_ok());
    for outside in [6.5, 13.5] {
        assert_eq!(average(outside).expect_err("falls").0, "disk.seek.read_average_ms");
    }
}
