//! Closed forms, numbers computed by matrix exponentials in 40 digits, and methods against each other.

use flashkeep_fleet::chain::Chain;
use flashkeep_fleet::estimate::{Found, Method, Wanted, estimate};
use flashkeep_fleet::levels::{Level, above};
use flashkeep_fleet::model::{Group, Latent, Spares, on_read};
use flashkeep_fleet::times::{Life, Time};

fn near(found: f64, expected: f64, relative: f64) {
    assert!((found / expected - 1.0).abs() <= relative, "{found:e} instead of {expected:e}");
}

fn exponential(mean: f64) -> Time {
    Time::exponential("repair", mean).unwrap()
}

fn group(drives: u32, tolerance: u32, afr: f64, repair: f64) -> Group {
    Group::new(drives, tolerance, Life::of_afr(afr).unwrap(), exponential(repair)).unwrap()
}

fn with_uber(group: Group, uber: f64, terabytes: f64) -> Group {
    let bits = f64::from(group.drives - group.tolerance) * terabytes * 8e12;
    Group { latent: Latent::OnRead { probability: on_read(uber, bits) }, ..group }
}

fn by(group: &Group, method: Method, relative_error: f64, samples: u64) -> Found {
    let wanted = Wanted { method, relative_error, samples, threads: 2, ..Wanted::default() };
    estimate(group, &wanted).unwrap()
}

/// P(loss) within five years, and MTTDL in years.
fn cells() -> Vec<(Group, f64, f64)> {
    let raid5 = group(8, 1, 0.01, 24.0);
    let raid6 = group(8, 2, 0.01, 24.0);
    vec![
        (raid5, 7.740914e-5, 6.455398e4),
        (group(14, 1, 0.02, 12.0), 5.081408e-4, 9.834600e3),
        (raid6, 6.393618e-9, 7.813872e8),
        (Group { serial: true, ..raid6 }, 1.278267e-8, 3.907259e8),
        (group(12, 2, 0.02, 48.0), 8.141140e-7, 6.131554e6),
        (with_uber(raid5, 1e-15, 1.92), 4.021238e-2, 121.823),
        (with_uber(raid5, 1e-16, 1.92), 4.365386e-3, 1142.86),
        (with_uber(raid5, 1e-17, 1.92), 5.091169e-4, 9817.61),
        (with_uber(raid6, 1e-15, 1.92), 6.822428e-6, 7.324727e5),
        (with_uber(raid6, 1e-16, 1.92), 7.166230e-7, 6.973328e6),
        (with_uber(raid6, 1e-17, 1.92), 7.771160e-8, 6.430376e7),
    ]
}

#[test]
fn the_exact_method_repeats_the_table() {
    for (group, p_loss, mttdl) in cells() {
        let found = by(&group, Method::Exact, 0.01, 1);
        near(found.p_loss.value, p_loss, 1e-6);
        near(found.mttdl_years.unwrap(), mttdl, 1e-5);
    }
}

#[test]
fn mttdl_is_that_of_the_closed_forms() {
    let (n, lambda, mu) = (8.0, -libm::log1p(-0.01) / 8760.0, 1.0 / 24.0);
    let one = ((2.0 * n - 1.0) * lambda + mu) / (n * (n - 1.0) * lambda * lambda);
    near(by(&group(8, 1, 0.01, 24.0), Method::Exact, 0.01, 1).mttdl_years.unwrap() * 8760.0, one, 1e-12);
    let l = [n * lambda, (n - 1.0) * lambda, (n - 2.0) * lambda];
    let m = [mu, 2.0 * mu];
    let two = 1.0 / l[0]
        + 1.0 / l[1]
        + 1.0 / l[2]
        + m[0] / (l[0] * l[1])
        + m[1] / (l[1] * l[2])
        + m[0] * m[1] / (l[0] * l[1] * l[2]);
    near(by(&group(8, 2, 0.01, 24.0), Method::Exact, 0.01, 1).mttdl_years.unwrap() * 8760.0, two, 1e-12);
}

#[test]
fn tiny_probabilities_keep_their_digits() {
    // By a matrix exponential in 40 digits: 10 drives, tolerance 5, 0.2 % a year, 6 h.
    let found = by(&group(10, 5, 0.002, 6.0), Method::Exact, 0.01, 1);
    near(found.p_loss.value, 6.112540826342106e-29, 1e-9);
}

#[test]
fn biasing_agrees_with_the_table() {
    for (group, p_loss, _) in cells() {
        let found = by(&group, Method::Biasing, 0.006, 10_000_000);
        let sampled = found.sampled.unwrap();
        assert!(sampled.standard_error <= 0.0031 * p_loss, "{p_loss:e}: {sampled:?}");
        let off = (found.p_loss.value - p_loss) / sampled.standard_error;
        assert!(off.abs() <= 3.5, "{p_loss:e}: {off} standard errors");
    }
}

/// The difference of two estimates in standard errors of both.
fn apart(one: &Found, other: &Found) -> f64 {
    let error = |found: &Found| found.sampled.map_or(0.0, |sampled| sampled.standard_error);
    let both = libm::hypot(error(one), error(other));
    if both == 0.0 { 0.0 } else { (one.p_loss.value - other.p_loss.value) / both }
}

/// Methods agree. `make test-all` takes four times the samples of `make test`.
fn agree(group: &Group, methods: &[Method], relative_error: f64, samples: u64) {
    let full = std::env::var_os("FLASHKEEP_FULL").is_some();
    let (relative_error, samples) =
        if full { (relative_error, samples) } else { (2.0 * relative_error, samples / 4) };
    let found: Vec<Found> =
        methods.iter().map(|method| by(group, *method, relative_error, samples)).collect();
    for (at, one) in found.iter().enumerate() {
        for (other, with) in found[..at].iter().zip(methods) {
            let off = apart(one, other);
            assert!(
                off.abs() < 4.0,
                "{:?} {:e} and {with:?} {:e}: {off} standard errors\n{group:?}",
                one.method,
                one.p_loss.value,
                other.p_loss.value
            );
        }
    }
}

/// Groups with all features, whose losses are frequent enough for every method.
fn frequent() -> Vec<Group> {
    let raid5 = group(8, 1, 0.05, 500.0);
    let raid6 = group(8, 2, 0.1, 1000.0);
    let spares = |count| Some(Spares { count, restock: exponential(700.0) });
    vec![
        raid5,
        raid6,
        Group { serial: true, ..raid6 },
        Group { detect: Some(exponential(300.0)), ..raid6 },
        Group { detect: Some(exponential(300.0)), serial: true, spares: spares(1), ..raid6 },
        Group { spares: spares(0), ..raid6 },
        Group { spares: spares(2), ..raid6 },
        Group { shock: 0.1, ..raid6 },
        Group { shock: 0.02, frailty: 0.5, ..raid6 },
        Group { frailty: 2.0, ..raid5 },
        with_uber(Group { shock: 0.1, ..raid6 }, 1e-15, 8.0),
        Group { latent: Latent::OnRead { probability: 0.3 }, ..raid5 },
        group(4, 0, 0.01, 24.0),
    ]
}

#[test]
fn methods_agree_where_all_apply() {
    for group in frequent() {
        agree(&group, &[Method::Exact, Method::Plain, Method::Biasing, Method::Splitting], 0.015, 400_000);
    }
}

#[test]
fn methods_agree_with_latent_errors_that_arise() {
    for scrub in [None, Some(exponential(300.0))] {
        let latent = Latent::Arising { mean: 9259.0, scrub };
        for group in [group(8, 1, 0.02, 100.0), group(6, 2, 0.05, 1000.0)] {
            agree(
                &Group { latent, ..group },
                &[Method::Exact, Method::Plain, Method::Splitting],
                0.01,
                400_000,
            );
        }
    }
}

#[test]
fn methods_agree_on_other_distributions() {
    let life = Life::parse("weibull:1.4:60000:1000").unwrap();
    let time = |text| Time::parse("time", text).unwrap();
    let plain = |repair| Group::new(8, 2, life, time(repair)).unwrap();
    let scrub = Some(time("weibull:3:168:6"));
    for group in [
        plain("fixed:300"),
        Group { serial: true, frailty: 0.3, ..plain("weibull:2:400:50") },
        Group { detect: Some(time("fixed:100")), shock: 0.02, ..plain("uniform:600") },
        Group { latent: Latent::Arising { mean: 9259.0, scrub }, ..plain("fixed:300") },
    ] {
        agree(&group, &[Method::Plain, Method::Splitting], 0.05, 16_000);
    }
}

#[test]
fn splitting_finds_rare_losses() {
    for (group, p_loss, _) in [&cells()[2..4], &cells()[8..]].concat() {
        let found = by(&group, Method::Splitting, 0.02, 10_000_000);
        let off = (found.p_loss.value - p_loss) / found.sampled.unwrap().standard_error;
        assert!(off.abs() < 4.0, "{p_loss:e}: {off} standard errors, {found:?}");
    }
}

#[test]
fn all_figures_agree_between_methods() {
    let group = with_uber(group(8, 2, 0.05, 100.0), 1e-16, 8.0);
    let exact = by(&group, Method::Exact, 0.01, 1);
    for method in [Method::Plain, Method::Biasing, Method::Splitting] {
        let found = by(&group, method, 0.008, 4_000_000);
        for (cause, expected) in found.causes.iter().zip(exact.causes).filter(|(_, expected)| *expected > 0.0)
        {
            near(*cause, expected, 0.06);
        }
        for (year, expected) in found.by_year.iter().zip(&exact.by_year) {
            near(*year, *expected, 0.08);
        }
        near(found.losses, exact.losses, 0.03);
        near(found.unrebuilt, exact.unrebuilt, 0.06);
    }
}

#[test]
fn certain_shocks_make_raid5_as_good_as_raid0() {
    let shock = |shock| Group { shock, ..group(8, 1, 0.01, 24.0) };
    let none = by(&group(8, 0, 0.01, 24.0), Method::Exact, 0.01, 1).p_loss.value;
    near(by(&shock(1.0), Method::Exact, 0.01, 1).p_loss.value, none, 1e-12);
    near(none, 1.0 - 0.99_f64.powi(40), 1e-12);
    for method in [Method::Plain, Method::Biasing, Method::Splitting] {
        near(by(&shock(1.0), method, 0.005, 1_000_000).p_loss.value, none, 0.01);
    }
    near(by(&shock(0.0), Method::Exact, 0.01, 1).p_loss.value, 7.740914e-5, 1e-6);
}

#[test]
fn two_failures_never_lose_what_survives_two() {
    // Without a third drive that could fail, shocks and repairs that never end lose nothing.
    let pair = |tolerance| Group { shock: 1.0, ..group(3, tolerance, 0.5, 1e9) };
    let one = 0.5_f64.powi(5);
    // The first failure takes two drives at the rate 3λ, then the third one fails at the rate λ.
    let expected = 1.0 - one.powi(3) - 1.5 * (one - one.powi(3));
    near(by(&pair(2), Method::Exact, 0.01, 1).p_loss.value, expected, 1e-3);
    for method in [Method::Plain, Method::Biasing, Method::Splitting] {
        let found = by(&pair(2), method, 0.01, 1_000_000);
        near(found.p_loss.value, expected, 0.02);
        assert!(found.causes[2] < 1e-3, "no shock takes more than two drives: {found:?}");
    }
}

#[test]
fn intervals_of_few_paths_hold_the_value_95_times_of_100() {
    let cases = [(group(8, 2, 0.01, 24.0), 6.393618e-9), (group(12, 2, 0.02, 48.0), 8.141140e-7)];
    for (group, exact) in cases {
        for (method, samples) in [(Method::Splitting, 20), (Method::Splitting, 100), (Method::Biasing, 100)] {
            let held = (0..400).filter(|seed| {
                let wanted = Wanted { method, samples, seed: *seed, ..Wanted::default() };
                let p_loss = estimate(&group, &wanted).unwrap().p_loss;
                (p_loss.low..=p_loss.high).contains(&exact)
            });
            // 380 are expected, with a standard deviation of 4.4.
            let held = held.count();
            assert!((366..=396).contains(&held), "{method:?}, {samples} paths: {held} of 400");
        }
    }
}

#[test]
fn a_path_alone_has_no_interval() {
    for method in [Method::Splitting, Method::Biasing] {
        let found = by(&group(8, 1, 0.5, 1000.0), method, 0.01, 1);
        assert!(found.p_loss.value > 0.0);
        assert_eq!((found.p_loss.low, found.p_loss.high), (0.0, 1.0));
    }
}

#[test]
fn a_planted_bias_is_found() {
    // Drives that fail 1 % more often lose 3 % more often.
    let (right, wrong) = (group(8, 2, 0.01, 24.0), group(8, 2, 0.0101, 24.0));
    let exact = by(&right, Method::Exact, 0.01, 1);
    for method in [Method::Biasing, Method::Splitting] {
        let biased = by(&wrong, method, 0.006, 10_000_000);
        assert!(apart(&biased, &exact).abs() > 5.0, "{method:?}: {biased:?}");
    }
}

#[test]
fn scrubbing_more_often_never_loses_more() {
    let scrubbed = |scrub: f64| {
        let latent = Latent::Arising { mean: 9259.0, scrub: Some(exponential(scrub)) };
        by(&Group { latent, ..group(8, 1, 0.01, 24.0) }, Method::Exact, 0.01, 1).p_loss.value
    };
    let found = [1.0, 12.0, 48.0, 168.0, 336.0, 1e6].map(scrubbed);
    assert!(found.is_sorted(), "{found:?}");
}

#[test]
fn mlec_sim_is_repeated() {
    let pool = Group { serial: true, ..group(10, 3, 0.05, 20e12 / 100e6 / 3600.0) };
    let wanted = Wanted { years: 1.0, ..Wanted::default() };
    let system = above(
        &estimate(&pool, &wanted).unwrap(),
        &pool,
        Level { members: 10, tolerance: 0, fatal: None },
        1.0,
    )
    .unwrap();
    let nines = -libm::log10(system.p_loss.value);
    assert!((nines - 7.0614043).abs() < 1e-6, "{nines}");
}

#[test]
fn elerath_and_pecht_are_repeated() {
    let weibull = |text| Time::parse("time", text).unwrap();
    let life = Life::parse("weibull:1.12:461386").unwrap();
    let plain = Group::new(8, 1, life, weibull("weibull:2:12:6")).unwrap();
    for (scrub, losses) in [
        (None, 1215.0),
        (Some("weibull:3:12:6"), 16.0),
        (Some("weibull:3:48:6"), 46.0),
        (Some("weibull:3:168:6"), 137.0),
        (Some("weibull:3:336:6"), 253.0),
    ] {
        let latent = Latent::Arising { mean: 9259.0, scrub: scrub.map(weibull) };
        let group = Group { latent, ..plain };
        let wanted = Wanted {
            years: 10.0,
            method: Method::Plain,
            relative_error: 1e-6,
            samples: 100_000,
            threads: 2,
            ..Wanted::default()
        };
        let found = estimate(&group, &wanted).unwrap();
        near(found.losses * 1000.0, losses, 0.05);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for method in [Method::Plain, Method::Biasing, Method::Splitting] {
        let run = |threads| {
            let wanted =
                Wanted { method, samples: 200_000, threads, relative_error: 0.02, ..Wanted::default() };
            format!("{:?}", estimate(&group(8, 2, 0.1, 300.0), &wanted).unwrap())
        };
        assert_eq!(run(1), run(8));
    }
}

#[test]
fn the_chain_has_the_states_that_matter() {
    assert_eq!(Chain::of(&group(8, 2, 0.01, 24.0)).unwrap().steps.len(), 3);
    let fixed = Group { repair: Time::parse("repair", "fixed:24").unwrap(), ..group(8, 2, 0.01, 24.0) };
    assert!(Chain::of(&fixed).is_err());
}
