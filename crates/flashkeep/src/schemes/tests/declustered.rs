//! Declustered stripes: rebuilds into spare columns, and the way back, with failures in between.

use super::*;
use crate::engine::{Cause, Verb, Why};

/// One parity and two spare columns; two parities and one column; copies.
const SETUPS: [Setup; 3] = [
    Setup {
        scheme: "declustered",
        members: 7,
        stripes: 13,
        set: &["redundancy.stripe_data=2", "redundancy.distributed_spares=2"],
        ..RAID5
    },
    Setup {
        scheme: "declustered",
        members: 8,
        stripes: 13,
        set: &["redundancy.stripe_data=3", "redundancy.stripe_parities=2"],
        ..RAID5
    },
    Setup {
        scheme: "declustered",
        members: 6,
        stripes: 9,
        set: &["redundancy.stripe_data=1", "redundancy.distributed_spares=2"],
        ..RAID5
    },
];

fn is_diverted(rig: &Rig) -> bool {
    matches!(scheme(rig), Any::Declustered(scheme) if scheme.is_diverted())
}

/// Members fail one after the other, each rebuilt into spare columns while requests continue, until there are no columns
/// left, and as many more as a stripe has parities; then all respond again or are replaced, in any order.
#[test]
fn columns_take_one_failure_after_the_other() {
    for setup in SETUPS {
        let mut rebuilt = 0;
        for seed in 0..sampled(15) {
            let mut random = Random::stream(seed, "columns");
            let mut rig: Rig = setup.rig(Report::Random(30), seed);
            rig.lenient = true;
            rig.fill(0, setup.pages() as u16 * (seed % 3 > 0) as u16);
            let mut nodes: Vec<u16> = setup.nodes().collect();
            let mut failed = Vec::new();
            for _ in 0..3 {
                shake(&mut rig, &setup, &mut random, 8);
                let node = nodes.swap_remove(random.below(nodes.len() as u64) as usize);
                rig.fail(node);
                failed.push(node);
                for _ in 0..random.below(20) {
                    rig.background(0, Why::Rebuild);
                    shake(&mut rig, &setup, &mut random, 1);
                }
                rig.rebuild(0);
                rig.run();
                check_covers(&rig);
            }
            rebuilt += rig.pages(Verb::Write, Cause::Rebuild);
            assert!(is_diverted(&rig), "{setup:?}, seed {seed}");
            assert!(read_all(&mut rig, &setup).is_empty(), "{setup:?}, seed {seed}");
            while !failed.is_empty() {
                let node = failed.swap_remove(random.below(failed.len() as u64) as usize);
                if random.below(2) == 0 {
                    rig.replace(node)
                } else {
                    rig.bring_back(node)
                }
                for _ in 0..random.below(20) {
                    rig.background(0, Why::Rebuild);
                    shake(&mut rig, &setup, &mut random, 1);
                }
                if random.below(2) == 0 {
                    rig.rebuild(0);
                }
            }
            rig.rebuild(0);
            rig.run();
            assert!(!rig.engine.tree().has_to_rebuild(NodeId::ROOT), "{setup:?}, seed {seed}");
            assert!(!is_diverted(&rig), "{setup:?}, seed {seed}: every column is free");
            assert_eq!(rig.engine.tree().exposure().pages(), 0, "{setup:?}, seed {seed}");
            check_covers(&rig);
            assert!(read_all(&mut rig, &setup).is_empty(), "{setup:?}, seed {seed}");
        }
        assert!(rebuilt > 0, "{setup:?}");
    }
}

/// Failures, replacements and returns at any time, as long as no page is exposed when a member fails: nothing is lost.
#[test]
fn what_is_not_exposed_survives_the_next_failure() {
    for setup in SETUPS {
        let mut failures = 0;
        for seed in 0..sampled(20) {
            let mut random = Random::stream(seed, "declustered changes");
            let mut rig: Rig = setup.rig(Report::Random(30), seed);
            rig.lenient = true;
            rig.fill(0, setup.pages() as u16);
            for _ in 0..40 {
                shake(&mut rig, &setup, &mut random, 2);
                let node = 1 + random.below(u64::from(setup.members)) as u16;
                match random.below(4) {
                    0 if rig.is_alive(node) => {
                        rig.drain();
                        if rig.engine.tree().exposure().pages() == 0 {
                            failures += 1;
                            rig.fail(node);
                        }
                    }
                    1 if !rig.is_alive(node) => rig.replace(node),
                    2 if !rig.is_alive(node) => rig.bring_back(node),
                    _ => {}
                }
                for _ in 0..random.below(8) {
                    rig.background(0, Why::Rebuild);
                    while random.below(3) > 0 && rig.step() {}
                }
            }
            rig.rebuild(0);
            assert!(read_all(&mut rig, &setup).is_empty(), "{setup:?}, seed {seed}");
            check_covers(&rig);
        }
        assert!(failures > sampled(50), "{failures} failures");
    }
}
