//! Stripes in arrival order, over chips that assert that they are programmed as flash must be.

use super::log::Log;
use super::*;
use crate::engine::{Cause, Command, Verb, Why};
use crate::kernel::{Random, SimTime, Span};

const WAKE: u64 = 50_000_000;

fn log(
    chips: u8,
    groups: u32,
    block: u32,
    pages: u32,
    wake: Option<u64>,
    report: Report,
    seed: u64,
) -> Rig<Token> {
    let mut store = Store::new(seed);
    let backends = (0..chips).map(|_| Tree::Backend(store.add(groups * block, block, report))).collect();
    let scheme = Log::new(chips, groups, block, pages, wake.map(Span));
    Rig::new(Tree::Node(scheme.into(), backends), store)
}

fn skip_rows(rig: &mut Rig<Token>, upto: u32) {
    match Some(rig.engine.tree_mut().scheme_mut(crate::engine::NodeId::ROOT)) {
        Some(Stub::Log(log)) => log.skip_rows(upto),
        _ => panic!("another scheme"),
    }
}

/// The chips and rows that were written for a cause.
fn written(rig: &Rig<Token>, causes: &[Cause]) -> Vec<(u16, u32)> {
    let writes = rig.store.log.iter().filter(|(_, _, c)| c.verb == Verb::Write && causes.contains(&c.cause));
    writes.map(|(_, backend, command)| (backend.0, command.start.low())).collect()
}

#[test]
fn a_stripe_that_waits_is_closed_by_the_timer() {
    // N = 5, p = 2: D1 to D4 and their parity; p = 3: D8 and D9, 50 ms, their parity; D10 and the rest's.
    let mut rig = log(5, 4, 8, 16, Some(WAKE), Report::After(10), 0);
    skip_rows(&mut rig, 2);
    for page in [1, 2, 3, 4, 8, 9] {
        rig.write(page, 1);
    }
    rig.until(SimTime(WAKE - 1));
    assert_eq!(written(&rig, &[Cause::Host]), [(0, 2), (1, 2), (3, 2), (4, 2), (0, 3), (2, 3)]);
    assert_eq!(written(&rig, &[Cause::Parity, Cause::PartialParity]), [(2, 2)]);
    rig.until(SimTime(WAKE));
    assert_eq!(written(&rig, &[Cause::PartialParity]), [(3, 3)]);
    rig.run();
    rig.store.log.clear();
    rig.write(10, 1);
    rig.run();
    assert_eq!(
        (written(&rig, &[Cause::Host]), written(&rig, &[Cause::Parity])),
        (vec![(4, 3)], vec![(1, 3)])
    );
    // Every parity is what its data say: each chip may go.
    for node in 1..=5 {
        rig.fail(node);
        rig.read_all(16);
        assert!(rig.lost.is_empty());
        rig.bring_back(node);
    }
}

#[test]
fn the_last_slot_goes_to_waste() {
    let mut rig = log(5, 4, 8, 16, Some(WAKE), Report::After(10), 0);
    for page in 0..3 {
        rig.write(page, 1);
    }
    rig.read(0, 3);
    rig.until(SimTime(WAKE / 2));
    // A read does not put the timer back.
    rig.read(0, 3);
    rig.until(SimTime(WAKE));
    assert_eq!(written(&rig, &[Cause::PartialParity]), [(4, 0)], "at the parity's own place");
    rig.write(3, 1);
    rig.run();
    assert_eq!(written(&rig, &[Cause::Host])[3], (0, 1), "in the next row");
}

#[test]
fn every_write_puts_the_timer_back() {
    let mut rig = log(5, 4, 8, 16, Some(WAKE), Report::After(10), 0);
    rig.write(0, 1);
    rig.until(SimTime(WAKE - 10));
    rig.write(1, 1);
    rig.until(SimTime(2 * WAKE - 11));
    assert!(written(&rig, &[Cause::PartialParity]).is_empty());
    rig.until(SimTime(2 * WAKE - 10));
    assert_eq!(written(&rig, &[Cause::PartialParity]), [(2, 0)]);
    rig.run();
}

#[test]
fn parity_is_worked_out_without_reading() {
    let mut rig = log(5, 4, 8, 32, None, Report::Random(20), 1);
    rig.write(0, 32);
    rig.run();
    assert_eq!(rig.store.count(|_, c| c.verb == Verb::Read), 0);
    assert_eq!(written(&rig, &[Cause::Parity]).len(), 8, "one in four data pages");
    for node in 1..=5 {
        rig.fail(node);
        rig.read_all(32);
        assert!(rig.lost.is_empty());
        rig.bring_back(node);
    }
}

/// Two groups written, of which the first holds five pages still, the second fifteen; a third is free.
fn two_groups() -> Rig<Token> {
    let mut rig = log(5, 3, 5, 20, None, Report::After(10), 0);
    rig.write(0, 20);
    rig.write(5, 15);
    rig.write(5, 5);
    rig.run();
    rig.store.log.clear();
    rig
}

#[test]
fn a_cleaning_writes_new_stripes() {
    let mut rig = two_groups();
    rig.write(0, 1);
    rig.run();
    // One full stripe, its parity at chip 4, and in the next row one page at chip 0, its parity beside it.
    assert_eq!((rig.pages(Verb::Read, Cause::Gc), rig.pages(Verb::Write, Cause::Gc)), (5, 5));
    assert_eq!(written(&rig, &[Cause::Gc]), [(0, 10), (1, 10), (2, 10), (3, 10), (0, 11)]);
    assert_eq!(written(&rig, &[Cause::ParityGc]), [(4, 10), (1, 11)]);
    for node in 1..=5 {
        rig.fail(node);
        rig.read_all(20);
        // The page just written waits for its stripe: nothing else is exposed.
        assert!(rig.lost.iter().all(|&page| page == 0));
        rig.bring_back(node);
    }
}

#[test]
fn a_group_that_is_read_is_left_alone() {
    let mut rig = two_groups();
    let read = rig.read(0, 5);
    rig.write(0, 1);
    rig.run();
    assert_eq!(rig.told[read].expect("told").0.0, rig.told[read - 1].expect("told").0.0 + 10);
    assert_eq!(rig.pages(Verb::Read, Cause::Gc), 15, "the other group is cleaned instead");
}

#[test]
fn cleaning_goes_on_under_load() {
    for seed in 0..150 {
        let mut random = Random::stream(seed, "cleaning");
        let wake = (seed % 2 == 0).then_some(60);
        let mut rig = log(4, 6, 4, 24, wake, Report::Random(30), seed);
        rig.lenient = seed % 3 == 0;
        for _ in 0..300 {
            let page = random.below(23) as u32;
            match random.below(8) {
                0 => rig.trim(page, 1),
                1..3 => rig.read(page, 2),
                _ => rig.write(page, 1 + random.below(2) as u16),
            };
            while random.below(3) == 0 && rig.step() {}
        }
        rig.run();
        assert!(rig.store.count(|_, c: &Command| c.cause == Cause::Gc && c.verb == Verb::Trim) > 0);
        rig.read_all(24);
        if wake.is_some() {
            // All stripes are closed: any chip may go.
            rig.fail(1 + seed as u16 % 4);
            rig.read_all(24);
            assert!(rig.lost.is_empty(), "seed {seed}");
        }
    }
}

#[test]
fn a_repair_finds_its_stripe_however_late_it_is_told() {
    for seed in 0..100 {
        let mut random = Random::stream(seed, "late");
        let mut rig = log(4, 6, 4, 24, Some(60), Report::Random(30), seed);
        rig.lenient = true;
        // One chip is slow to say that it cannot read.
        let chip = (seed % 4) as u16;
        rig.write(0, 24);
        rig.run();
        rig.store.set_report(chip, Report::After(500));
        rig.fail(1 + chip);
        rig.store.replace(chip);
        rig.store.kill(chip);
        for _ in 0..150 {
            let page = random.below(24) as u32;
            if random.below(4) == 0 {
                rig.read(page, 1)
            } else {
                rig.write(page, 1)
            };
            while random.below(3) == 0 && rig.step() {}
        }
        rig.run();
        rig.background(0, Why::Wake);
        rig.run();
        rig.read_all(24);
        assert!(rig.lost.is_empty(), "seed {seed}");
    }
}
