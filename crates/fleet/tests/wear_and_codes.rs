//! Wear as a second cause of failures, and codes that survive some patterns of failures: closed forms, and methods
//! against each other.

use flashkeep_fleet::estimate::{Found, Method, Wanted, estimate};
use flashkeep_fleet::fatal::{Fatal, of_chain, of_local_parities};
use flashkeep_fleet::model::{Group, Latent, Spares, Wear};
use flashkeep_fleet::times::{Life, Time};

const MISSION: f64 = 5.0 * 8760.0;

fn exponential(mean: f64) -> Time {
    Time::exponential("repair", mean).unwrap()
}

fn group(drives: u32, tolerance: u32, afr: f64, repair: f64) -> Group {
    Group::new(drives, tolerance, Life::of_afr(afr).unwrap(), exponential(repair)).unwrap()
}

fn worn(group: Group, life: &str, spread: f64) -> Group {
    Group { wear: Some(Wear { life: Life::parse(life).unwrap(), spread }), ..group }
}

fn coded(group: Group, shares: &[f64]) -> Group {
    group.with_fatal(Fatal::new(shares).unwrap()).unwrap()
}

fn by(group: &Group, method: Method, relative_error: f64, samples: u64) -> Found {
    let wanted = Wanted { method, relative_error, samples, threads: 2, ..Wanted::default() };
    estimate(group, &wanted).unwrap()
}

/// An estimate is within 3.5 of its standard errors.
fn close(found: &Found, expected: f64) {
    let error = found.sampled.map_or(1e-9 * expected, |sampled| sampled.standard_error);
    let off = (found.p_loss.value - expected) / error;
    assert!(off.abs() < 3.5, "{:e} instead of {expected:e}: {off} standard errors", found.p_loss.value);
}

/// Methods agree. `make test-all` takes four times the samples of `make test`.
fn agree(group: &Group, methods: &[Method], relative_error: f64, samples: u64) {
    let full = std::env::var_os("FLASHKEEP_FULL").is_some();
    let (relative_error, samples) =
        if full { (relative_error, samples) } else { (2.0 * relative_error, samples / 4) };
    let found: Vec<Found> =
        methods.iter().map(|method| by(group, *method, relative_error, samples)).collect();
    for (at, one) in found.iter().enumerate() {
        for other in &found[..at] {
            let error = |found: &Found| found.sampled.map_or(0.0, |sampled| sampled.standard_error);
            let off = (one.p_loss.value - other.p_loss.value) / libm::hypot(error(one), error(other));
            assert!(
                off.abs() < 4.0,
                "{:?} {:e} and {:?} {:e}: {off} standard errors\n{group:?}",
                one.method,
                one.p_loss.value,
                other.method,
                other.p_loss.value
            );
        }
    }
}

/// (T/η)^β.
fn hazard(scale: f64, shape: f64) -> f64 {
    libm::pow(MISSION / scale, shape)
}

#[test]
fn a_drive_alone_ends_by_the_first_of_both() {
    let alone = worn(group(1, 0, 0.02, 24.0), "weibull:8:50000", 0.0);
    let expected = 1.0 - 0.98_f64.powi(5) * libm::exp(-hazard(50_000.0, 8.0));
    for method in [Method::Plain, Method::Splitting] {
        let found = by(&alone, method, 0.003, 2_000_000);
        close(&found, expected);
        // By life: the integral of λ·e^(−λt)·e^(−(t/η)^β).
        let rate = -libm::log1p(-0.02) / 8760.0;
        let by_life = integral(|t| rate * libm::exp(-rate * t - libm::pow(t / 50_000.0, 8.0)));
        assert!((found.causes[0] / by_life - 1.0).abs() < 0.02, "{:?}", found.causes);
        assert!((found.causes[3] / (expected - by_life) - 1.0).abs() < 0.02, "{:?}", found.causes);
    }
}

/// From 0 to the end of the mission, by Simpson's rule.
fn integral(of: impl Fn(f64) -> f64) -> f64 {
    let step = MISSION / 2000.0;
    let weight = |at: u32| if at == 0 || at == 2000 { 1.0 } else { f64::from(2 + 2 * (at % 2)) };
    (0..=2000).map(|at| weight(at) * of(f64::from(at) * step)).sum::<f64>() * step / 3.0
}

#[test]
fn a_mirror_without_repair_loses_what_both_drives_lose() {
    let pair = worn(group(2, 1, 0.02, 1e9), "weibull:6:60000", 0.0);
    let rate = -libm::log1p(-0.02) / 8760.0;
    let either = 1.0 - libm::exp(-rate * MISSION - hazard(60_000.0, 6.0));
    let by_life = integral(|t| rate * libm::exp(-rate * t - libm::pow(t / 60_000.0, 6.0)));
    for method in [Method::Plain, Method::Splitting] {
        let found = by(&pair, method, 0.005, 2_000_000);
        close(&found, either * either);
        // Wear is the cause if at least one of both was worn out.
        assert!((found.causes[0] / (by_life * by_life) - 1.0).abs() < 0.04, "{:?}", found.causes);
    }
}

#[test]
fn a_spread_of_workloads_is_that_of_gamma_factors() {
    // P(no failure of n) = e^(−nλT)·(1 + θnH)^(−a), with trigamma(a) = (shape·spread)² and ln θ = −digamma(a). With
    // spread·shape = π/√6 that is a = 1 and θ = e^γ.
    let spread = std::f64::consts::PI / libm::sqrt(6.0) / 6.0;
    let theta = libm::exp(0.577_215_664_901_532_9);
    let none = |drives: f64| 0.98_f64.powf(5.0 * drives) / (1.0 + theta * drives * hazard(60_000.0, 6.0));
    let alone = worn(group(1, 0, 0.02, 24.0), "weibull:6:60000", spread);
    let pair = worn(group(2, 1, 0.02, 1e9), "weibull:6:60000", spread);
    for method in [Method::Plain, Method::Splitting] {
        close(&by(&alone, method, 0.004, 2_000_000), 1.0 - none(1.0));
        // Both fail: neither none of the one, nor none of the other.
        close(&by(&pair, method, 0.006, 2_000_000), 1.0 - 2.0 * none(1.0) + none(2.0));
    }
}

#[test]
fn wear_beyond_the_mission_changes_nothing() {
    let raid6 = group(8, 2, 0.01, 24.0);
    let exact = by(&raid6, Method::Exact, 0.01, 1).p_loss.value;
    let found = by(&worn(raid6, "weibull:10:1e7", 0.2), Method::Splitting, 0.02, 1_000_000);
    close(&found, exact);
    assert!(found.causes[3] < 1e-3 * exact, "{:?}", found.causes);
}

#[test]
fn equal_wear_defeats_redundancy() {
    // As many failures as with a constant rate, but all at about the same time.
    let at_once = worn(group(8, 2, 1e-9, 24.0), "weibull:40:43000", 0.0);
    let afr = -libm::expm1(-hazard(43_000.0, 40.0) / 5.0);
    let apart = by(&group(8, 2, afr, 24.0), Method::Exact, 0.01, 1).p_loss.value;
    let together = by(&at_once, Method::Plain, 0.05, 200_000);
    assert!(together.p_loss.value > 5.0 * apart, "{:e} and {apart:e}", together.p_loss.value);
    assert!(together.causes[3] > 0.999 * together.p_loss.value);
}

#[test]
fn methods_agree_with_wear() {
    let spares = Some(Spares { count: 1, restock: exponential(200.0) });
    let fixed = Time::parse("repair", "fixed:200").unwrap();
    for group in [
        worn(group(6, 2, 0.05, 300.0), "weibull:5:60000", 0.0),
        // Replacements wear out, too.
        worn(group(4, 1, 0.02, 24.0), "weibull:8:12000", 0.1),
        worn(Group { frailty: 0.5, shock: 0.02, ..group(6, 2, 0.05, 300.0) }, "weibull:5:60000", 0.2),
        worn(Group { repair: fixed, spares, ..group(6, 1, 0.05, 300.0) }, "weibull:5:90000:1000", 0.1),
    ] {
        agree(&group, &[Method::Plain, Method::Splitting], 0.03, 40_000);
    }
}

#[test]
fn a_chain_of_copies_without_repair_has_a_closed_form() {
    let shares = of_chain(8);
    let chain = coded(group(8, 1, 0.02, 1e9), &shares);
    let p = 1.0 - 0.98_f64.powi(5);
    let mut ways = 1.0;
    let mut expected = 0.0;
    for (missing, share) in shares.iter().enumerate() {
        expected += ways * p.powi(missing as i32) * (1.0 - p).powi(8 - missing as i32) * share;
        ways *= (8 - missing) as f64 / (missing + 1) as f64;
    }
    let exact = by(&chain, Method::Exact, 0.01, 1).p_loss.value;
    assert!((exact / expected - 1.0).abs() < 1e-3, "{exact:e} instead of {expected:e}");
    for method in [Method::Plain, Method::Biasing, Method::Splitting] {
        close(&by(&chain, method, 0.006, 1_000_000), exact);
    }
}

#[test]
fn shares_of_an_optimal_code_are_its_tolerance() {
    for plain in [group(8, 2, 0.05, 100.0), Group { shock: 0.1, frailty: 0.3, ..group(8, 2, 0.05, 100.0) }] {
        let plain = Group { latent: Latent::OnRead { probability: 0.1 }, ..plain };
        let shares = coded(plain, &[0.0, 0.0, 0.0, 1.0]);
        for method in [Method::Exact, Method::Plain, Method::Biasing, Method::Splitting] {
            let (one, other) = (by(&plain, method, 0.05, 50_000), by(&shares, method, 0.05, 50_000));
            assert_eq!(format!("{one:?}"), format!("{other:?}"));
        }
    }
}

#[test]
fn splitting_says_at_once_that_a_group_has_too_many_levels() {
    let mirror = Group { frailty: 0.5, ..group(200, 199, 0.01, 24.0) };
    for method in [Method::Auto, Method::Splitting] {
        let refused = estimate(&mirror, &Wanted { method, ..Wanted::default() }).unwrap_err();
        assert!(refused.message.contains("survives 199"), "{refused:?}");
    }
    assert!(by(&group(200, 199, 0.01, 24.0), Method::Auto, 0.01, 1).p_loss.value < 1e-300);
}

#[test]
fn methods_agree_on_local_codes() {
    let shares = of_local_parities(&[4, 4], 1);
    assert!(shares[2] == 0.0 && shares[3] > 0.0 && shares[3] < 1.0, "{shares:?}");
    let code = coded(group(9, 2, 0.1, 500.0), &shares);
    let spares = Some(Spares { count: 1, restock: exponential(700.0) });
    for group in [
        code,
        Group { shock: 0.1, ..code },
        Group { frailty: 0.5, serial: true, ..code },
        Group { latent: Latent::OnRead { probability: 0.2 }, shock: 0.02, ..code },
    ] {
        agree(&group, &[Method::Exact, Method::Plain, Method::Biasing, Method::Splitting], 0.015, 400_000);
    }
    let latent = Latent::Arising { mean: 9259.0, scrub: Some(exponential(300.0)) };
    for group in
        [Group { latent, ..code }, Group { latent: Latent::OnRead { probability: 0.2 }, spares, ..code }]
    {
        agree(&group, &[Method::Exact, Method::Plain, Method::Splitting], 0.015, 400_000);
    }
}

#[test]
fn a_local_code_lies_between_what_it_survives_for_certain_and_at_most() {
    let azure = coded(group(16, 3, 0.02, 48.0), &of_local_parities(&[7, 7], 2));
    let exact = |group: &Group| by(group, Method::Exact, 0.01, 1).p_loss.value;
    let (least, most) = (exact(&group(16, 4, 0.02, 48.0)), exact(&group(16, 3, 0.02, 48.0)));
    let found = exact(&azure);
    assert!(least < found && found < most, "{least:e} {found:e} {most:e}");
    // Where failures are rare, the fourth loses data in 14 % of the cases.
    let share = of_local_parities(&[7, 7], 2)[4];
    assert!((found / (share * most) - 1.0).abs() < 0.03, "{}", found / most);
    close(&by(&azure, Method::Splitting, 0.02, 1_000_000), found);
    close(&by(&azure, Method::Biasing, 0.01, 5_000_000), found);
}
