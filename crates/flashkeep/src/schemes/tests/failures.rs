//! Failures: one (or as many as a scheme survives) at any point of a history costs nothing but the declared pages, and
//! the pages that one would cost are counted right.

use super::*;
use crate::engine::Why;
use std::collections::BTreeSet;

/// A history up to its `steps`th instant, with pages lost and members failed, replaced and partly rebuilt on the way
/// where that is asked for.
fn history(setup: &Setup, seed: u64, steps: u32, troubled: bool) -> Rig {
    let mut random = Random::stream(seed, "failures");
    let mut rig: Rig = setup.rig(Report::Random(40), seed);
    rig.lenient = true;
    rig.fill(0, random.below(u64::from(setup.pages()) + 1).max(1) as u16);
    rig.run();
    if troubled {
        let node = 1 + random.below(setup.nodes().count() as u64) as u16;
        let pages = setup.node_pages(node);
        shake(&mut rig, setup, &mut random, 6);
        match random.below(4) {
            0 => rig.fail(node),
            1 => {
                (0..4).for_each(|_| rig.damage(node, random.below(u64::from(pages)) as u32));
            }
            _ => {
                rig.fail(node);
                shake(&mut rig, setup, &mut random, 4);
                rig.drain();
                if random.below(2) == 0 {
                    rig.replace(node)
                } else {
                    rig.bring_back(node)
                }
                for _ in 0..random.below(4) {
                    rig.background(0, Why::Rebuild);
                    rig.step();
                }
            }
        }
    }
    let mut left = steps;
    while left > 0 {
        let start = random.below(u64::from(setup.pages())) as u32;
        let count = (1 + random.below(5)).min(u64::from(setup.pages() - start)) as u16;
        match random.below(8) {
            0..4 => rig.write(start, count),
            4 => rig.trim(start, count),
            5 if setup.merges => rig.merge(start),
            _ => rig.read(start, count),
        };
        while left > 0 && random.below(3) > 0 {
            left -= 1;
            rig.step();
        }
    }
    rig
}

/// Every choice of this many members.
fn choices(nodes: &[u16], count: u32) -> Vec<Vec<u16>> {
    match count {
        0 => vec![Vec::new()],
        _ => (0..nodes.len())
            .flat_map(|first| {
                let rest = choices(&nodes[first + 1..], count - 1);
                rest.into_iter().map(move |mut others| {
                    others.insert(0, nodes[first]);
                    others
                })
            })
            .collect(),
    }
}

/// The sets of failed members that are tried with a history.
const SETS: usize = 6;

#[test]
fn no_failure_costs_more_than_was_declared() {
    for setup in all() {
        let nodes: Vec<u16> = setup.nodes().collect();
        for seed in 0..sampled(2) {
            for steps in (0..60).step_by(3) {
                // Of many sets each history has a part, and each set has many histories.
                let sets = choices(&nodes, setup.survives());
                let every = sets.len().div_ceil(SETS);
                for failing in
                    sets.into_iter().skip((seed as usize + steps as usize / 3) % every).step_by(every)
                {
                    let mut rig = history(&setup, seed, steps, false);
                    let exposed = declared(&rig, &setup);
                    for &node in &failing {
                        rig.fail(node);
                    }
                    let lost = read_all(&mut rig, &setup);
                    // What waits for its stripe to be full may be written, and lost, after the failure.
                    let now = if setup.waits { declared(&rig, &setup) } else { Vec::new() };
                    let known = |page: &u32| exposed.contains(page) || now.contains(page);
                    assert!(
                        lost.iter().all(known),
                        "{setup:?}, seed {seed}, step {steps}, {failing:?}: {lost:?} lost, {exposed:?} exposed"
                    );
                    // Nothing that is written from now on is lost.
                    rig.write(0, setup.pages() as u16);
                    rig.run();
                    rig.write(1, 3);
                    rig.drain();
                    let lost = read_all(&mut rig, &setup);
                    assert!(setup.waits || lost.is_empty(), "{setup:?}: {lost:?} lost after the failure");
                }
            }
        }
    }
}

/// What every further failure would cost, tried one by one on the same history.
fn by_trial(setup: &Setup, seed: u64, steps: u32, failures: u32) -> (Rig, BTreeSet<u32>) {
    let quiet = || {
        let mut rig = history(setup, seed, steps, true);
        rig.drain();
        rig
    };
    let mut rig = quiet();
    let already: BTreeSet<u32> = read_all(&mut rig, setup).into_iter().collect();
    // Reading heals; the question is the state without that.
    let rig = quiet();
    let alive = |node: &u16| rig.is_alive(*node);
    let nodes: Vec<u16> = setup.nodes().filter(alive).collect();
    let mut lost = BTreeSet::new();
    for failing in choices(&nodes, failures) {
        let mut rig = quiet();
        failing.iter().for_each(|&node| rig.fail(node));
        lost.extend(read_all(&mut rig, setup));
    }
    (rig, lost.difference(&already).copied().collect())
}

#[test]
fn what_the_next_failure_would_cost() {
    let mut counted = 0;
    for setup in all() {
        // A page of which a part was lost when it was completed stays lost, even if other parts come back.
        let setup = Setup { merges: false, ..setup };
        for seed in 0..20 {
            let (rig, lost) = by_trial(&setup, seed, seed as u32 % 4 * 6, 1);
            counted += lost.len() as u64;
            assert_eq!(
                rig.engine.tree().exposure().pages(),
                lost.len() as u64,
                "{setup:?}, seed {seed}: {lost:?}"
            );
        }
    }
    assert!(counted > 500, "the histories leave something exposed");
}

#[test]
fn what_is_declared_is_what_may_be_lost() {
    for setup in all() {
        for seed in 0..sampled(15) {
            let (rig, lost) = by_trial(&setup, seed, seed as u32 % 4 * 6, setup.survives());
            let declared: BTreeSet<u32> = declared(&rig, &setup).into_iter().collect();
            assert!(declared.is_superset(&lost), "{setup:?}, seed {seed}: {lost:?} of {declared:?}");
        }
    }
}
