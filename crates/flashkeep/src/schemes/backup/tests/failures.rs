//! Failures at every step of random histories: any one SSD, disk or memory costs nothing.

use super::*;
use crate::engine::{Flags, Verb};
use crate::kernel::SimTime;
use std::collections::BTreeSet;

/// A history up to its `steps`th instant.
fn history(setup: &Setup, seed: u64, steps: u32, report: Report) -> Rig {
    let mut random = Random::stream(seed, "backup");
    let mut rig: Rig = setup.rig(report, seed);
    rig.fill(0, random.below(u64::from(setup.pages()) + 1).max(1) as u16);
    let mut left = steps;
    while left > 0 {
        let start = random.below(u64::from(setup.pages())) as u32;
        let count = (1 + random.below(6)).min(u64::from(setup.pages() - start)) as u16;
        match random.below(9) {
            0..5 => rig.write(start, count),
            5 => rig.trim(start, count),
            6 => rig.merge(start),
            _ => rig.read(start, count),
        };
        while left > 0 && random.below(4) > 0 {
            left -= 1;
            rig.step();
        }
    }
    rig
}

#[test]
fn any_one_failure_at_any_step_costs_nothing() {
    for setup in ALL {
        for seed in 0..4 {
            for steps in (0..90).step_by(2) {
                for node in setup.nodes() {
                    let mut rig = history(&setup, seed, steps, Report::Random(60));
                    assert!(
                        declared(&rig, &setup).is_empty(),
                        "nothing is exposed as long as nothing has failed"
                    );
                    rig.fail(node);
                    let lost = read_all(&mut rig, &setup);
                    assert!(
                        lost.is_empty(),
                        "{setup:?}, seed {seed}, step {steps}, node {node}: {lost:?} lost"
                    );
                    // The host continues, and its writes from now on are not lost either.
                    rig.write(1, 7);
                    rig.write(0, setup.pages() as u16 / 2);
                    rig.run();
                    let lost = read_all(&mut rig, &setup);
                    assert!(
                        lost.is_empty(),
                        "{setup:?}, seed {seed}, step {steps}, node {node}: {lost:?} lost"
                    );
                    check_copies(&mut rig, &setup);
                }
            }
        }
    }
}

/// What every further failure would cost, tried one by one on the same history.
#[test]
fn what_the_next_failure_would_cost_is_what_is_declared() {
    let mut counted = 0;
    for setup in ALL {
        for seed in 0..24 {
            let quiet = || {
                let mut random = Random::stream(seed, "next failure");
                let mut rig = history(&setup, seed, seed as u32 % 5 * 12, Report::Random(40));
                // Missing pages stay missing.
                rig.engine.tree_mut().controller.rebuild_permille = 0;
                let node = 1 + random.below(u64::from(setup.nvram())) as u16;
                match random.below(3) {
                    0 => rig.fail(node),
                    1 => {
                        let pages = u64::from(setup.memory.min(setup.each * setup.segment));
                        (0..5).for_each(|_| rig.damage(node, random.below(pages) as u32));
                    }
                    _ => {
                        rig.fail(node);
                        shake(&mut rig, &setup, &mut random, 6);
                        rig.replace(node);
                    }
                }
                steps(&mut rig, random.below(20));
                rig.drain();
                rig
            };
            let mut rig = quiet();
            let already: BTreeSet<u32> = read_all(&mut rig, &setup).into_iter().collect();
            assert!(already.is_empty(), "{setup:?}, seed {seed}: {already:?}");
            let rig = quiet();
            let nodes: Vec<u16> = setup.nodes().filter(|&node| rig.is_alive(node)).collect();
            let mut lost = BTreeSet::new();
            for node in nodes {
                let mut rig = quiet();
                rig.fail(node);
                lost.extend(read_all(&mut rig, &setup));
            }
            counted += lost.len();
            let declared: BTreeSet<u32> = declared(&rig, &setup).into_iter().collect();
            assert_eq!(rig.engine.tree().exposure().pages(), declared.len() as u64);
            assert_eq!(declared, lost, "{setup:?}, seed {seed}");
        }
    }
    assert!(counted > 300, "the histories leave something exposed: {counted}");
}

/// SSD and memory fail together: pages that were only there are lost, and reported as lost; no others are.
#[test]
fn an_ssd_and_the_memory() {
    let mut lost_any = 0;
    for setup in ALL {
        for seed in 0..20 {
            // The map keeps what it has.
            let setup = Setup { recall_idle_ns: 1_000_000_000, recall_share: 1.0, ..setup };
            let mut rig = history(&setup, seed, 40, Report::Random(40));
            rig.drain();
            rig.fail(setup.ssd(0));
            let exposed = declared(&rig, &setup);
            let in_memory: Vec<u32> = exposed
                .iter()
                .copied()
                .filter(|&page| {
                    let this = backup(&rig);
                    this.memory.slot_of(Page::of(page)).is_some()
                        || this.segments.place_of(Page::of(page)).is_some()
                })
                .collect();
            rig.fail(setup.nvram());
            let lost = read_all(&mut rig, &setup);
            assert_eq!(lost, in_memory, "{setup:?}, seed {seed}");
            lost_any += lost.len();
            // They are lost until they are written.
            rig.replace(setup.ssd(0));
            rig.replace(setup.nvram());
            rig.run();
            assert_eq!(read_all(&mut rig, &setup), lost);
            for &page in &lost {
                rig.write(page, 1);
            }
            rig.run();
            assert!(read_all(&mut rig, &setup).is_empty() && declared(&rig, &setup).is_empty());
            check_copies(&mut rig, &setup);
        }
    }
    assert!(lost_any > 100, "{lost_any}");
}

/// Pages that cannot be read are read from elsewhere, for every kind of reader.
#[test]
fn pages_that_cannot_be_read() {
    for setup in ALL {
        for seed in 0..40 {
            let mut random = Random::stream(seed, "unreadable");
            let mut rig: Rig = setup.rig(Report::Random(50), seed);
            rig.fill(0, setup.pages() as u16);
            for _ in 0..6 {
                // Of one member only; SSDs and disks are whole then.
                rig.run();
                let node = 1 + random.below(u64::from(setup.disk(setup.disks)) - 1) as u16;
                for page in 0..20.min(setup.each * setup.segment) {
                    match random.below(4) {
                        0 => rig.store.lose_page(node - 1, page),
                        1 => rig.damage(node, page),
                        _ => {}
                    }
                }
                shake(&mut rig, &setup, &mut random, 12);
                rig.drain();
                let lost = read_all(&mut rig, &setup);
                assert!(lost.is_empty(), "{setup:?}, seed {seed}, node {node}: {lost:?}");
                rig.run();
                check_copies(&mut rig, &setup);
                assert_eq!(rig.engine.tree().exposure().pages(), 0, "{setup:?}, seed {seed}");
                // What could not be read silently is not known to be missing: it is written again.
                rig.write(0, setup.pages() as u16);
            }
        }
    }
}

/// A disk does one thing at a time: nothing begins before what began before it is over.
#[test]
fn no_disk_operation_while_one_is_under_way() {
    const TIME: u64 = 10;
    for setup in ALL {
        for seed in 0..30 {
            let mut random = Random::stream(seed, "one at a time");
            let mut rig = history(&setup, seed, 60, Report::After(TIME));
            for node in setup.nodes() {
                shake(&mut rig, &setup, &mut random, 10);
                rig.fail(node);
                shake(&mut rig, &setup, &mut random, 20);
                rig.replace(node);
                shake(&mut rig, &setup, &mut random, 20);
                rig.run();
            }
            for disk in 0..setup.disks {
                let backend = setup.disk(disk) - 1;
                let mut free = SimTime::ZERO;
                for (at, _, command) in rig.store.log.iter().filter(|(_, of, command)| {
                    of.0 == backend && !command.flags.has(Flags::BEFORE) && command.verb != Verb::Trim
                }) {
                    assert!(*at >= free, "{setup:?}, seed {seed}: {command:?} at {at:?}, free at {free:?}");
                    free = SimTime(at.0 + TIME);
                }
            }
        }
    }
}
