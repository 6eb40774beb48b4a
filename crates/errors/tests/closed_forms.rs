//! Published numbers, and numbers computed by exact sums in 60 digits.

use flashkeep_errors::chain::{ReadChain, ReadLatency, Retry, Stage};
use flashkeep_errors::draw::uniform;
use flashkeep_errors::ecc::{Code, FailureTable, codeword_failure};
use flashkeep_errors::factors;
use flashkeep_errors::field::Frailty;
use flashkeep_errors::lifetime::first_cycle;
use flashkeep_errors::rber::{Conditions, PRESETS, Rber, acceleration, preset};
use flashkeep_errors::stripe::Stripe;
use flashkeep_errors::table::Table;
use proptest::prelude::*;

fn near(found: f64, expected: f64, relative: f64) {
    assert!((found / expected - 1.0).abs() <= relative, "{found:e} instead of {expected:e}");
}

fn of(name: &str) -> Rber {
    Rber::preset(preset(name).unwrap())
}

fn at(name: &str, cycles: f64, days: f64, reads: f64) -> f64 {
    of(name).at(Conditions { cycles, days, reads }, 1.0)
}

fn chain(corrects: u32, steps: u32) -> ReadChain {
    ReadChain::new(Code::new(9200, 8192, corrects, None).unwrap(), Retry::new(steps, 0.72, 0.0).unwrap())
}

#[test]
fn raw_bit_error_rates_are_those_of_the_formula() {
    let tlc = [
        (0.0, 0.0, 0.0, 1.48e-3),
        (0.0, 365.0, 1e6, 1.48e-3),
        (1000.0, 0.0, 0.0, 2.0308896424e-3),
        (3000.0, 0.0, 0.0, 6.7179720804e-3),
        (1000.0, 90.0, 0.0, 3.9069663816e-3),
        (3000.0, 30.0, 0.0, 7.9269047028e-3),
        (3000.0, 365.0, 0.0, 1.1378067037e-2),
        (3000.0, 0.0, 1000.0, 1.3783731495e-2),
    ];
    for (cycles, days, reads, expected) in tlc {
        near(at("tlc-72l", cycles, days, reads), expected, 1e-9);
    }
    near(at("mlc-3xnm", 3000.0, 365.0, 0.0), 1.9340524201e-5, 1e-9);
    near(at("mlc-2ynm", 3000.0, 365.0, 0.0), 8.6319418784e-2, 1e-9);
    near(at("mlc-2ynm", 3000.0, 0.0, 1000.0), 1.3373203503e-4, 1e-9);
    assert_eq!(at("tlc-72l", 1e9, 1e6, 1e9), 0.5);
    assert!(preset("slc").unwrap_err().message.contains("tlc-72l, mlc-3xnm, mlc-2ynm"));
    near(acceleration(55.0, 40.0).unwrap(), 6.4450654257, 1e-9);
}

#[test]
fn outside_the_fitted_range_is_said() {
    let inside = |cycles, days| of("tlc-72l").in_fitted_range(Conditions { cycles, days, reads: 0.0 });
    assert!(inside(3000.0, 365.0) && !inside(3001.0, 0.0) && !inside(0.0, 366.0));
    let warm = of("tlc-72l").with_acceleration(6.45).unwrap();
    assert!(!warm.in_fitted_range(Conditions { cycles: 1.0, days: 60.0, reads: 0.0 }));
    assert!(of("tlc-72l").with_scale(f64::NAN).is_err());
}

#[test]
fn codewords_fail_as_often_as_exact_sums_say() {
    let exact = [
        (4200, 8, [2.786376642252e-2, 4.631615362026e-1, 8.808613327204e-1, 9.989170719897e-1]),
        (8752, 40, [2.379959717505e-15, 1.143391497874e-6, 4.565353216666e-3, 6.825861507548e-1]),
        (9200, 72, [4.711219998328e-40, 5.547980037925e-22, 5.033322447964e-13, 1.394569748883e-4]),
    ];
    for (n, t, expected) in exact {
        for (rber, expected) in [1e-3, 2e-3, 3e-3, 5e-3].into_iter().zip(expected) {
            near(codeword_failure(n, t, rber), expected, 1e-9);
        }
    }
    let deep = [(1e-6, 3.783537894360e-255), (1e-5, 3.489040803750e-182), (5e-4, 4.485936906047e-60)];
    for (rber, expected) in deep {
        near(codeword_failure(9200, 72, rber), expected, 1e-9);
    }
    near(codeword_failure(4291, 15, 3.4e-4), 5.001353055431e-12, 1e-9);
    // Codes small enough to be summed by hand: one of two bits, none of three, two of three.
    near(codeword_failure(2, 0, 0.25), 0.4375, 1e-12);
    near(codeword_failure(3, 0, 0.1), 0.271, 1e-12);
    near(codeword_failure(3, 2, 0.1), 1e-3, 1e-12);
    assert_eq!(codeword_failure(9200, 72, 0.0), 0.0);
}

#[test]
fn the_rber_of_an_uber_is_found() {
    let exact = [
        (4200, 4096, 8, [5.490421298e-5, 4.228654393e-5, 3.260859220e-5]),
        (8752, 8192, 40, [1.296660451e-3, 1.202227444e-3, 1.116708100e-3]),
        (9200, 8192, 72, [3.190653119e-3, 3.031953657e-3, 2.885434235e-3]),
    ];
    for (n, k, t, expected) in exact {
        let code = Code::new(n, k, t, None).unwrap();
        for (uber, expected) in [1e-15, 1e-16, 1e-17].into_iter().zip(expected) {
            near(code.rber_at_uber(uber).unwrap(), expected, 1e-9);
        }
        assert_eq!(code.rber_at_uber(1.0), None);
    }
    let when_new = codeword_failure(8752, 40, 1.48e-3);
    near(Code::new(8752, 8192, 40, None).unwrap().uber(when_new), 4.819328257e-14, 1e-9);
}

#[test]
fn codes_that_make_no_sense_are_refused() {
    let refused = |n, k, t, soft| Code::new(n, k, t, soft).unwrap_err().field;
    assert_eq!(refused(0, 0, 0, None), "codeword_bits");
    assert_eq!(refused(100, 101, 1, None), "user_bits");
    assert_eq!(refused(100, 90, 100, None), "corrects");
    assert_eq!(refused(100, 90, 5, Some(4)), "corrects_soft");
    assert_eq!(Retry::new(3, 1.5, 0.0).unwrap_err().field, "factor");
    assert_eq!(Retry::new(3, f64::NAN, 0.0).unwrap_err().field, "factor");
}

#[test]
fn tables_agree_with_sums() {
    for (n, t) in [(4200, 8), (8752, 40), (9200, 72), (9200, 110), (36864, 250), (72, 1), (64, 0)] {
        let table = FailureTable::new(n, t);
        for step in 0..6000 {
            let rber = (0.5_f64.ln() - f64::from(step) * 0.004).exp();
            let exact = codeword_failure(n, t, rber);
            if exact > 1e-30 {
                near(table.codeword(rber), exact, 1e-6);
            }
        }
    }
    let table = FailureTable::new(9200, 72);
    near(table.probability(5e-3, 16), 2.228979326611e-3, 1e-6);
    near(table.failure_threshold(5e-3, 16) as f64, 2.228979326611e-3 * 2_f64.powi(64), 1e-6);
    assert_eq!(table.failure_threshold(0.5, 16), u64::MAX);
    assert_eq!(table.failure_threshold(0.0, 16), 0);
}

/// How many of a million reads fail.
fn drawn(table: &FailureTable, rber: f64, codewords: u32) -> u64 {
    let threshold = table.failure_threshold(rber, codewords);
    (0..1_000_000).filter(|&read| uniform(7, read % 64, read / 64 % 256, 3, read) < threshold).count() as u64
}

#[test]
fn drawn_failures_are_as_frequent_as_computed() {
    let table = FailureTable::new(8752, 40);
    let (one, page) = (drawn(&table, 3e-3, 1), drawn(&table, 3e-3, 16));
    assert!(one.abs_diff(4_565) <= 203, "{one}");
    assert!(page.abs_diff(70_598) <= 768, "{page}");
    let fails = |page, stripe| uniform(1, page, 0, 0, stripe) < (0.01 * 2_f64.powi(64)) as u64;
    let losses =
        (0..1_000_000).filter(|&read| fails(0, read) && (1..=7).any(|page| fails(page, read))).count();
    assert!(losses.abs_diff(679) <= 78, "{losses}");
}

#[test]
fn a_stripe_is_lost_with_its_page_and_another() {
    for (k, expected) in [(7, 6.979034965e-6), (15, 1.4895453638e-5), (31, 3.0539463704e-5)] {
        near(Stripe { others: k, spare: 0 }.loss(1e-3), expected, 1e-9);
    }
    let raid5 = Stripe { others: 7, spare: 0 };
    near(raid5.loss(1e-2), 6.793465209e-4, 1e-9);
    near(raid5.loss(1e-20), 7e-40, 1e-9);
    assert_eq!((raid5.loss(0.0), raid5.unrestored(1.0)), (0.0, 1.0));
}

#[test]
fn two_parities_and_copies_restore_more() {
    // Of seven others two or more fail: 21 p² (1 − p)⁵ + 35 p³ (1 − p)⁴ + …; all three other copies do: p³.
    let q: f64 = 0.99;
    let none_or_one = q.powi(7) + 7.0 * 0.01 * q.powi(6);
    near(Stripe { others: 7, spare: 1 }.unrestored(1e-2), 1.0 - none_or_one, 1e-9);
    near(Stripe { others: 7, spare: 1 }.loss(1e-9), 21e-27, 1e-7);
    near(Stripe { others: 3, spare: 2 }.loss(1e-2), 1e-8, 1e-9);
    near(Stripe { others: 1, spare: 0 }.loss(1e-2), 1e-4, 1e-9);
}

#[test]
fn the_third_retry_succeeds() {
    let chain = ReadChain::new(Code::new(9200, 8192, 72, None).unwrap(), Retry::new(5, 0.25, 0.0).unwrap());
    for read in 0..1000 {
        let outcome = chain.read(0.16, 16, uniform(1, 2, 3, 4, read));
        assert_eq!((outcome.stage, outcome.retries), (Stage::Corrected(3), 3));
    }
    near(chain.expected_retries(0.16, 16), 3.0, 1e-6);
    let mut latency = ReadLatency {
        sense: 90_000,
        transfer: 16_000,
        decode: 20_000,
        decode_soft: 50_000,
        soft_sensings: 2,
        pipelined: false,
    };
    let outcome = chain.read(0.16, 16, 0x8000_0000_0000_0000);
    assert_eq!(latency.of(outcome, &chain), 504_000);
    latency.pipelined = true;
    assert_eq!(latency.of(outcome, &chain), 396_000);
    let soft = ReadChain::new(Code::new(9200, 8192, 72, Some(200)).unwrap(), Retry::none());
    let outcome = soft.read(0.015, 16, 0x8000_0000_0000_0000);
    assert_eq!(outcome.stage, Stage::Soft);
    // 90 + 16 + 20, then two sensings of which one hides a transfer, and 50.
    assert_eq!(latency.of(outcome, &soft), 126_000 + 196_000 + 50_000);
    latency.pipelined = false;
    assert_eq!(latency.of(outcome, &soft), 126_000 + 212_000 + 50_000);
}

#[test]
fn lifetimes_are_those_of_the_presets() {
    let client = first_cycle(&of("tlc-72l"), &chain(72, 4), 1e-15, 365.0, 0.0);
    let datacenter = first_cycle(&of("tlc-72l"), &chain(72, 6), 1e-16, 90.0, 0.0);
    let qlc = first_cycle(&of("tlc-72l").with_scale(3.0).unwrap(), &chain(72, 4), 1e-16, 90.0, 0.0);
    let without = first_cycle(&of("tlc-72l"), &chain(72, 0), 1e-15, 365.0, 0.0);
    assert_eq!((client, datacenter, qlc, without), (Some(3128), Some(5464), Some(891), Some(3)));
    assert_eq!(first_cycle(&of("tlc-72l"), &chain(20, 0), 1e-15, 365.0, 0.0), Some(0));
    let never = of("tlc-72l").with_scale(1e-9).unwrap();
    assert_eq!(first_cycle(&never, &chain(72, 0), 1e-15, 0.0, 0.0), None);
}

#[test]
fn frail_drives_have_most_events() {
    let field = Frailty::default();
    near(field.events_per_1000_drive_days(), 3.0, 1e-12);
    near(field.share_with_event(1461.0), 0.5180306431, 1e-9);
    near(field.again_after_event(30.0), 0.319, 1e-3);
    // Four years, then a month: S(0) − S(1461) − S(30) + S(1491), with S the share without an event.
    let without = |days: f64| (1.0 + days * 0.012).powf(-0.25);
    let both = 1.0 - without(1461.0) - without(30.0) + without(1491.0);
    near(field.again_after_first(30.0, 1461.0), both / (1.0 - without(1461.0)), 1e-9);
    // A million drives: the mean rate, and the share with an event in four years, within three standard errors.
    let rates: Vec<f64> = (0..1_000_000).map(|drive| field.rate_of_drive(3, drive)).collect();
    let mean = rates.iter().sum::<f64>() / 1e6;
    assert!((mean - 0.003).abs() < 3.0 * 0.006 / 1e3, "{mean}");
    let share = rates.iter().map(|rate| 1.0 - (-rate * 1461.0).exp()).sum::<f64>() / 1e6;
    assert!((share - 0.51803).abs() < 3.0 * 0.5 / 1e3, "{share}");
}

#[test]
fn factors_have_mean_one() {
    assert_eq!(factors::block(1, 5, 0.0), 1.0);
    let logs: Vec<f64> = (0..100_000).map(|block| factors::block(9, block, 0.5).ln()).collect();
    let mean = logs.iter().sum::<f64>() / 1e5;
    let variance = logs.iter().map(|ln| (ln - mean).powi(2)).sum::<f64>() / 1e5;
    assert!((mean + 0.125).abs() < 3.0 * 0.5 / 1e5_f64.sqrt(), "{mean}");
    assert!((variance - 0.25).abs() < 3.0 * 0.25 * (2.0 / 1e5_f64).sqrt(), "{variance}");
    assert_ne!(factors::block(9, 1, 0.5), factors::layer(9, 1, 0.5));
}

const GRID: &str = "# measured\ncycles,days,rber\n0,0,1e-6\n0,100,4e-6\n1000,0,1e-4\n1000,100,4e-4\n";

#[test]
fn tables_interpolate_the_logarithm() {
    let table = Table::parse(GRID).unwrap();
    near(table.at(0.0, 0.0, 0.0), 1e-6, 1e-12);
    near(table.at(500.0, 0.0, 0.0), 1e-5, 1e-12);
    near(table.at(500.0, 50.0, 9.0), 2e-5, 1e-12);
    near(table.at(2000.0, 200.0, 0.0), 4e-4, 1e-12);
    assert!(table.in_range(1000.0, 100.0, 1e9) && !table.in_range(1001.0, 0.0, 0.0));
}

#[test]
fn wrong_tables_are_refused() {
    let refused = |text: &str| Table::parse(text).unwrap_err().to_string();
    assert!(refused("").contains("cycles,days,reads,rber"));
    assert_eq!(refused("cycles,rber\n"), "line 1: no rows follow the names of the columns");
    assert!(refused("cycles,ber\n0,1e-3\n").starts_with("line 1: there is no column `ber`"));
    assert_eq!(refused("cycles\n0\n"), "line 1: rber: the table needs this column");
    assert_eq!(refused("cycles,rber\n0,x\n"), "line 2: rber: `x` is not a number above 0 and up to 0.5");
    assert_eq!(refused("cycles,rber\nNaN,0.1\n"), "line 2: cycles: `NaN` is not a number from 0");
    assert_eq!(refused("cycles,rber\n0,0.1,2\n"), "line 2: 3 values, where the table has 2 columns");
    assert!(refused("cycles,rber\n5,0.1\n5,0.1\n").starts_with("line 3: the same"));
    assert!(
        refused("cycles,rber\n0,2e-3\n9,1e-3\n")
            .starts_with("line 3: rber: 0.001 is less than 0.002 in line 2")
    );
    assert!(refused(&GRID.replace("1000,0,1e-4\n", "")).starts_with("no row for cycles 1000, days 0"));
}

proptest! {
    #[test]
    fn wear_retention_and_reads_only_add_errors(
        which in 0..PRESETS.len(), cycles in 0.0..5000.0, days in 0.0..500.0, reads in 0.0..1e5, more in 0.0..1e3,
    ) {
        let at = |cycles, days, reads| Rber::preset(&PRESETS[which]).at(Conditions { cycles, days, reads }, 1.0);
        let rber = at(cycles, days, reads);
        prop_assert!(at(cycles + more, days, reads) >= rber);
        prop_assert!(at(cycles, days + more, reads) >= rber);
        prop_assert!(at(cycles, days, reads + more) >= rber);
        prop_assert!(rber <= 0.5);
    }

    #[test]
    fn tables_never_fall(cycles in 0.0..1200.0, days in 0.0..120.0, more in 0.0..500.0) {
        let table = Table::parse(GRID).unwrap();
        let rber = table.at(cycles, days, 0.0);
        prop_assert!(table.at(cycles + more, days, 0.0) >= rber * (1.0 - 1e-12));
        prop_assert!(table.at(cycles, days + more, 0.0) >= rber * (1.0 - 1e-12));
    }

    #[test]
    fn stages_are_nested(
        ln_rber in -16.0..-0.7, factor in 0.0..=1.0, floor in 0.0..0.01, steps in 0_u32..8, draw: u64,
        soft in prop::option::of(72_u32..300), codewords in 1_u32..33,
    ) {
        let code = Code::new(9200, 8192, 72, soft).unwrap();
        let chain = ReadChain::new(code, Retry::new(steps, factor, floor).unwrap());
        let rber = f64::exp(ln_rber);
        let outcomes = chain.outcomes(rber, codewords);
        let sum: f64 = outcomes.iter().map(|(_, probability)| probability).sum();
        prop_assert!((sum - 1.0).abs() < 1e-9, "{}", sum);
        let attempts: Vec<_> = chain.attempts(rber, codewords).collect();
        prop_assert!(attempts.windows(2).all(|pair| pair[1].page_failure <= pair[0].page_failure * (1.0 + 1e-9)));
        prop_assert_eq!(attempts.last().unwrap().page_failure, chain.uncorrectable(rber, codewords));
        prop_assert!(chain.expected_retries(rber, codewords) <= f64::from(steps));
        // The outcome is that of the first stage whose probability of failure is not above the draw.
        let below = |probability: f64| (draw as f64) < probability * 2_f64.powi(64);
        let expected = attempts.iter().find(|attempt| !below(attempt.page_failure)).map(|attempt| attempt.stage);
        prop_assert_eq!(chain.read(rber, codewords, draw).stage, expected.unwrap_or(Stage::Uncorrectable));
    }
}
