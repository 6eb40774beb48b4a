//! Where each policy draws its lines, and how often it passes.

use super::*;

/// A block with `life` left in a plane of ten with 1,000 each, cold data in block 7.
fn judged(name: &str, life: u64, draw: u64, window: f64) -> WearVerdict {
    let limits = Limits {
        rate_limit_below: Share::of(0.8),
        rate_limit_window: Share::of(window),
        migrate_below: Share::of(0.85),
    };
    let remaining = Remaining { left: u128::from(life) * 10, of: 10_000 };
    let wear = Wear { remaining, draw, coldest: &|_| Some(7), limits };
    (named(name).expect("a policy").judge)(&wear)
}

#[test]
fn each_policy_begins_at_its_line() {
    for (name, below, otherwise) in [
        ("rate-limit", 799, WearVerdict::Pass),
        ("migration", 849, WearVerdict::Migrate(7)),
        ("both", 849, WearVerdict::Migrate(7)),
    ] {
        assert_eq!(judged(name, below, u64::MAX, 0.8), otherwise, "{name}");
        assert_eq!(judged(name, below + 1, u64::MAX, 0.8), WearVerdict::Take, "{name}");
    }
    assert_eq!(judged("none", 0, u64::MAX, 0.8), WearVerdict::Take);
}

#[test]
fn a_worn_block_is_taken_with_the_chance_that_the_formula_says() {
    let taken = |life, window| {
        let random = (0..1000).map(|n| n * (u64::MAX / 1000) + u64::MAX / 2000);
        random.filter(|&draw| judged("rate-limit", life, draw, window) == WearVerdict::Take).count()
    };
    assert_eq!((taken(400, 0.8), taken(0, 0.8), taken(600, 0.8)), (500, 0, 750));
    // A window of 0.4: none below 0.4 of the average, half of those at 0.6.
    assert_eq!((taken(400, 0.4), taken(600, 0.4), taken(799, 0.4)), (0, 500, 998));
}

#[test]
fn without_cold_data_both_limits_the_rate_and_migration_takes() {
    let limits = Limits {
        rate_limit_below: Share::of(0.8),
        rate_limit_window: Share::of(0.8),
        migrate_below: Share::of(0.85),
    };
    let remaining = Remaining { left: 10, of: 10_000 };
    let wear = Wear { remaining, draw: u64::MAX, coldest: &|_| None, limits };
    assert_eq!((named("both").unwrap().judge)(&wear), WearVerdict::Pass);
    assert_eq!((named("migration").unwrap().judge)(&wear), WearVerdict::Take);
}
