//! Trees of two levels and more: a loss at the inner level is repaired by the outer, and order holds in between.

use super::deferred::Deferred;
use super::*;
use crate::engine::{Cause, Tell, Verb};
use crate::kernel::{Random, Span};
use proptest::prelude::*;

const REPORT: Report = Report::Random(40);

/// Any two levels of redundancy; how many pages there are, and which nodes are the members of the first inner
/// node.
fn two_levels<C: Contents>(kind: u8, seed: u64) -> (Rig<C>, u32, Vec<u16>) {
    let mut store = Store::new(seed);
    let mut inner = |pages: u32| match kind {
        0 => node(Mirror::new(pages, Tell::All), 2, &mut store, pages, REPORT),
        1 => node(Mirror::new(pages, Tell::First), 2, &mut store, pages, REPORT),
        2 | 3 => node(Raid::new(3, 1, pages / 2), 3, &mut store, pages / 2, REPORT),
        4 => node(Raid::new(4, 2, pages / 2), 4, &mut store, pages / 2, REPORT),
        5 => node(Plain { pages: u64::from(pages) }, 1, &mut store, pages, REPORT),
        _ => {
            let mirror = node(Mirror::new(pages, Tell::All), 2, &mut store, pages, REPORT);
            Tree::Node(Plain { pages: u64::from(pages) }.into(), vec![mirror])
        }
    };
    let (scheme, members, each, pages): (Stub, _, _, _) = match kind {
        2 => (Mirror::new(12, Tell::All).into(), 2, 12, 12),
        4 => (Raid::new(4, 1, 4).into(), 4, 4, 12),
        _ => (Raid::new(5, 1, 4).into(), 5, 4, 16),
    };
    let inner = (0..members).map(|_| inner(each)).collect();
    let first = match kind {
        5 => vec![2],
        6 => vec![3, 4],
        2 | 3 => vec![2, 3, 4],
        4 => vec![2, 3, 4, 5],
        _ => vec![2, 3],
    };
    (Rig::new(Tree::Node(scheme, inner), store), pages, first)
}

fn shake<C: Contents>(rig: &mut Rig<C>, seed: u64, pages: u32) {
    let mut random = Random::stream(seed, "nested");
    for _ in 0..25 {
        let start = random.below(u64::from(pages)) as u32;
        let count = (1 + random.below(4)).min(u64::from(pages - start)) as u16;
        match random.below(8) {
            0..3 => rig.write(start, count),
            3..6 => rig.read(start, count),
            6 => rig.trim(start, count),
            _ => rig.merge(start),
        };
        while random.below(3) == 0 && rig.step() {}
    }
    rig.run();
}

fn course<C: Contents>(kind: u8, seed: u64) -> (u64, usize) {
    let (mut rig, pages, first) = two_levels::<C>(kind, seed);
    shake(&mut rig, seed, pages);
    rig.read_all(pages);
    // All of the first inner node goes, member by member: more than it survives, the outer level carries.
    rig.lenient = true;
    for (n, &node) in first.iter().enumerate() {
        rig.fail(node);
        shake(&mut rig, seed ^ n as u64, pages);
        rig.read_all(pages);
        assert!(rig.lost.is_empty(), "kind {kind} without {n} more");
    }
    for &node in &first {
        rig.replace(node);
    }
    shake(&mut rig, seed ^ 5, pages);
    rig.read_all(pages);
    assert!(rig.lost.is_empty(), "kind {kind} with empty members");
    (rig.trace, rig.store.log.len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn the_outer_level_repairs_what_the_inner_cannot(kind in 0u8..7, seed: u64) {
        let tokens = course::<Token>(kind, seed);
        prop_assert_eq!(tokens, course::<Token>(kind, seed));
        prop_assert_eq!(tokens, course::<()>(kind, seed));
    }
}

#[test]
fn the_inner_level_repairs_alone_what_it_can() {
    let (mut rig, pages, first) = two_levels::<Token>(0, 1);
    rig.fill(0, pages as u16);
    rig.fail(first[0]);
    rig.store.log.clear();
    rig.read_all(pages);
    assert_eq!(rig.store.count(|_, _| true), pages, "each page is read once, from the copy that is there");
    rig.store.log.clear();
    rig.store.lose_page(1, 0);
    rig.read_all(pages);
    assert!(rig.lost.is_empty());
    assert_eq!(rig.store.count(|_, _| true), pages + 4, "the outer level reads the rest of one stripe");
}

#[test]
fn old_data_in_hand_reach_the_inner_level() {
    let (mut rig, pages, _) = two_levels::<Token>(3, 1);
    rig.fill(0, pages as u16);
    rig.store.log.clear();
    rig.merge(0);
    rig.run();
    // Outside: the page for the merge, and P. Inside, for each of the two: the other page or the parity.
    assert_eq!(rig.pages(Verb::Read, Cause::Update), 1);
    assert_eq!(rig.pages(Verb::Read, Cause::Parity), 1 + 2);
    rig.read_all(pages);
}

#[test]
fn a_whole_inner_node_may_stop_answering() {
    for kind in 0..7 {
        let (mut rig, pages, _) = two_levels::<Token>(kind, 9);
        rig.lenient = true;
        rig.fill(0, pages as u16);
        rig.change(1, crate::engine::Change::Failed);
        shake(&mut rig, 3, pages);
        rig.read_all(pages);
        assert!(rig.lost.is_empty());
        // It has missed writes: their pages are not read from it.
        rig.change(1, crate::engine::Change::Returned);
        rig.read_all(pages);
        rig.rebuild(0);
        rig.read_all(pages);
        assert!(rig.lost.is_empty(), "kind {kind}");
    }
}

#[test]
fn old_versions_are_kept_through_a_mirror() {
    for seed in 0..40 {
        let mut random = Random::stream(seed, "kept");
        let mut store: Store<Token> = Store::new(seed);
        let pages = 6 + 8;
        let mut mirror = || node(Mirror::new(pages, Tell::All), 2, &mut store, pages, REPORT);
        let members = (0..4).map(|_| mirror()).collect();
        let mut rig = Rig::new(Tree::Node(Deferred::new(4, 6, 8, Span(500)).into(), members), store);
        rig.fill(0, 18);
        rig.run();
        for _ in 0..6 {
            rig.write(random.below(18) as u32, 1);
        }
        while rig.engine.schedule.foreground > 0 {
            rig.step();
        }
        // Both copies of one member: what has not changed comes back through the old versions of the others.
        let exposed = match rig.engine.tree().scheme(crate::engine::NodeId::ROOT) {
            Some(Stub::Deferred(scheme)) => {
                let on_first = |page: &u32| scheme.member_of(*page) == Member(0);
                scheme.exposed().into_iter().filter(on_first).collect::<Vec<_>>()
            }
            _ => panic!("another scheme"),
        };
        rig.fail(2);
        rig.fail(3);
        rig.lenient = true;
        for page in 0..18 {
            let read = rig.read(page, 1);
            while rig.told[read].is_none() {
                rig.step();
            }
        }
        assert_eq!(rig.lost, exposed, "seed {seed}");
        rig.run();
    }
}
