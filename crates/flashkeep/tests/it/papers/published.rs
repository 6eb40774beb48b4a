//! Published results, as far as stand-ins for the traces can show them.

use crate::common::{figure, job, summary};

/// SIRF-1's test pairs TP1 to TP3: the plain drive and the mirrored one.
const PAIRS: [[&str; 2]; 3] = [["1CNM-64", "2CM-128"], ["2CNM-64", "4CM-128"], ["4CNM-64", "8CM-128"]];

/// By how much the mirrored drive is faster, % of the plain one: all requests, reads, writes.
fn gains(workload: &str, pair: [&str; 2]) -> [f64; 3] {
    let runs = pair.map(|drive| summary(&job(drive, &format!("synth:{workload},requests=30k"), &[])));
    ["all", "read", "write"].map(|kind| {
        let [plain, mirrored] = [0, 1].map(|at| figure(&runs[at], &format!("response_us.{kind}.mean")));
        (plain - mirrored) / plain * 100.0
    })
}

#[test]
fn a_mirror_reads_faster_and_gains_less_where_there_are_channels_already() {
    for workload in ["sirf-exchange", "sirf-build", "sirf-tpcc", "sirf-fin1", "sirf-fin2"] {
        let [tp1, tp2, tp3] = PAIRS.map(|pair| gains(workload, pair));
        for [_, reads, _] in [tp1, tp2, tp3] {
            assert!(reads > 0.0, "{workload}: reads gain {reads:.1} %");
        }
        if ["sirf-build", "sirf-tpcc", "sirf-fin2"].contains(&workload) {
            assert!(tp1[0] > tp2[0] && tp2[0] > tp3[0], "{workload}: {tp1:.1?} {tp2:.1?} {tp3:.1?}");
        }
    }
}

#[test]
fn build_gains_what_the_paper_measured() {
    let [_, reads, _] = gains("sirf-build", PAIRS[0]);
    assert!((reads - 44.5).abs() < 3.0, "TP1 reads gain {reads:.1} %, 44.5 % published");
}
