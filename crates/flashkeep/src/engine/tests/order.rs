//! The laws of order under completions in any order.

use super::*;
use crate::engine::{Release, Verb};
use crate::kernel::Random;
use proptest::prelude::*;

const STRIPES: u32 = 4;

/// Reads, writes, trims and merges at random, several at a time.
fn shake<C: Contents>(rig: &mut Rig<C>, seed: u64, pages: u32, commands: u32, most: u64) {
    let mut random = Random::stream(seed, "shake");
    for _ in 0..commands {
        let start = random.below(u64::from(pages)) as u32;
        let count = (1 + random.below(most)).min(u64::from(pages - start)) as u16;
        match random.below(10) {
            0..4 => rig.write(start, count),
            4..7 => rig.read(start, count),
            7 => rig.trim(start, count),
            _ => rig.merge(start),
        };
        while random.below(3) == 0 && rig.step() {}
    }
    rig.run();
}

fn shaken(seed: u64, parities: u8, release: Release, lockless: bool) -> Rig<Token> {
    let members = 4 + parities;
    let mut scheme = Raid::new(members, parities, STRIPES);
    (scheme.release, scheme.lockless) = (release, lockless);
    let mut rig = Rig::flat(scheme.into(), u16::from(members), STRIPES, Report::Random(50), seed);
    rig.counts_wrong = lockless;
    shake(&mut rig, seed, STRIPES * 4, 60, 6);
    rig
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn concurrent_updates_leave_parity_right(seed: u64, parities in 1u8..3, durable: bool) {
        let release = if durable { Release::Durable } else { Release::Submitted };
        let rig = shaken(seed, parities, release, false);
        prop_assert!(parity_is_right(&rig, 4 + parities, parities, STRIPES));
    }

    #[test]
    fn failing_pages_do_not_disturb_the_order(seed: u64, heals: bool) {
        let mut random = Random::stream(seed, "failing pages");
        let mut scheme = Raid::new(5, 1, STRIPES);
        scheme.heals = heals;
        let mut rig: Rig<Token> = Rig::flat(scheme.into(), 5, STRIPES, Report::Random(50), seed);
        rig.lenient = true;
        rig.fill(0, 16);
        for round in 0..8 {
            // One member's pages, so that one parity is enough.
            for stripe in 0..STRIPES {
                if random.below(2) == 0 {
                    rig.store.lose_page((seed % 5) as u16, stripe);
                }
            }
            shake(&mut rig, seed ^ round, 16, 12, 6);
            prop_assert!(rig.lost.is_empty());
        }
        prop_assert!(rig.told.iter().flatten().all(|&(_, lost)| lost == 0));
    }

    #[test]
    fn a_member_comes_and_goes(seed: u64, parities in 1u8..3) {
        let mut random = Random::stream(seed, "comes and goes");
        let members = 4 + parities;
        let mut rig = raid(members, parities, STRIPES, Report::Random(50), seed);
        rig.lenient = true;
        for round in 0..6 {
            let node = 1 + random.below(u64::from(members)) as u16;
            shake(&mut rig, seed ^ round, STRIPES * 4, 10, 6);
            rig.write(0, 7);
            rig.fail(node);
            shake(&mut rig, seed ^ round ^ 77, STRIPES * 4, 15, 6);
            rig.write(3, 7);
            if random.below(2) == 0 {
                rig.replace(node);
            } else {
                rig.bring_back(node);
            }
            shake(&mut rig, seed ^ round ^ 99, STRIPES * 4, 5, 6);
            rig.rebuild(0);
            prop_assert!(rig.lost.is_empty());
            // A healthy stripe has right parity; pages that were trimmed while a member was gone may be left there.
            rig.write(0, (STRIPES * 4) as u16);
            rig.run();
            prop_assert!(parity_is_right(&rig, members, parities, STRIPES));
        }
    }

    #[test]
    fn the_same_seed_takes_the_same_course(seed: u64) {
        fn course<C: Contents>(seed: u64) -> (u64, usize) {
            let mut rig: Rig<C> = Rig::flat(Raid::new(6, 2, STRIPES).into(), 6, STRIPES, Report::Random(50), seed);
            rig.lenient = true;
            shake(&mut rig, seed, 16, 30, 6);
            rig.fail(2);
            shake(&mut rig, seed ^ 1, 16, 30, 6);
            rig.replace(2);
            rig.rebuild(0);
            (rig.trace, rig.store.log.len())
        }
        let course_of_tokens = course::<Token>(seed);
        prop_assert_eq!(course_of_tokens, course::<Token>(seed));
        prop_assert_eq!(course_of_tokens, course::<()>(seed), "contents decide nothing");
    }
}

#[test]
fn without_locks_parity_and_reads_go_wrong() {
    let rigs: Vec<_> = (0..20).map(|seed| shaken(seed, 1, Release::Durable, true)).collect();
    let parity = rigs.iter().filter(|rig| !parity_is_right(rig, 5, 1, STRIPES)).count();
    let reads = rigs.iter().filter(|rig| rig.wrong > 0).count();
    assert!(
        parity > 15 && reads > 15,
        "the suite would not notice that locks are missing: {parity}, {reads}"
    );
}

#[test]
fn a_read_behind_a_write_of_its_stripe_sees_it() {
    let mut rig = raid(5, 1, 4, Report::After(10), 0);
    rig.fill(0, 16);
    let write = rig.write(1, 1);
    let read = rig.read(1, 1);
    let elsewhere = rig.read(4, 1);
    rig.run();
    let at = |tag: usize| rig.told[tag].expect("told").0.0;
    // Old data and parity, then new data and parity, then the read; the other stripe does not wait.
    assert_eq!((at(elsewhere), at(write), at(read)), (10, 20, 30));
}

#[test]
fn a_merge_keeps_its_page_and_lets_runs_pass() {
    let mut rig = raid(5, 1, 4, Report::After(10), 0);
    rig.fill(0, 16);
    rig.store.log.clear();
    rig.merge(5);
    rig.merge(5);
    rig.read(4, 4);
    rig.write(8, 4);
    rig.write(5, 1);
    rig.read(5, 1);
    rig.run();
    let whole = |command: &super::super::Command| command.verb == Verb::Write && command.start.low() == 2;
    assert_eq!(rig.store.count(|_, command| whole(command)), 5, "the full stripe went down as one run");
    assert!(parity_is_right(&rig, 5, 1, 4));
}
