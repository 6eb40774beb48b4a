//! Random histories in any order of completion: every read right, every parity right.

use super::*;
use crate::engine::{BackendId, Change, Command, Verb};
use crate::kernel::{SimTime, Span};
use std::collections::BTreeSet;

/// Every page that holds something is protected by something, unless it is declared exposed.
fn check_protection(rig: &mut Rig, setup: &Setup) {
    let units = check_covers(rig);
    let current = |unit: &StripeUnit| match unit.role {
        Role::P | Role::Q => false,
        Role::Plain => true,
        _ => unit.page.low() < setup.stripes,
    };
    let covered = units.iter().filter(|unit| current(unit)).filter_map(|unit| {
        let owner = scheme(rig).owner(unit.member, unit.page);
        owner.map(|page| page.low())
    });
    let covered: BTreeSet<u32> = covered.collect();
    for page in 0..setup.pages() {
        let exposed = rig.engine.tree().is_exposed(NodeId::ROOT, Page::of(page), Hazard::Unit);
        assert!(rig.latest(page) == 0 || exposed || covered.contains(&page), "page {page} has no protection");
    }
}

#[test]
fn parity_is_right_in_any_order_of_completion() {
    for setup in all() {
        for seed in 0..sampled(42) {
            let mut random = Random::stream(seed, "histories");
            let mut rig: Rig = setup.rig(Report::Random(50), seed);
            // A full drive, one that is partly written, and an empty one.
            match seed % 3 {
                0 => rig.fill(0, setup.pages() as u16),
                1 => rig.fill(0, setup.pages() as u16 / 2 + 1),
                _ => {}
            }
            for _ in 0..4 {
                shake(&mut rig, &setup, &mut random, 15);
                rig.drain();
                check_protection(&mut rig, &setup);
                // Pages that turn out to have been there before time 0, in the middle of everything.
                let page = random.below(u64::from(setup.pages())) as u32;
                if rig.latest(page) == 0 {
                    rig.fill(page, 1);
                    rig.drain();
                    check_protection(&mut rig, &setup);
                }
            }
            rig.run();
            check_protection(&mut rig, &setup);
            assert!(read_all(&mut rig, &setup).is_empty());
            if setup.scheme != "ppc" {
                assert_eq!(rig.engine.tree().exposure().pages(), 0, "idle time leaves nothing exposed");
            }
        }
    }
}

/// When each request was answered and what it lost, every command of a backend, and the pages exposed at the end.
type Course = (Vec<Option<(SimTime, u32)>>, Vec<(SimTime, BackendId, Command)>, u64);

#[test]
fn contents_decide_nothing() {
    fn course<C: Contents>(setup: &Setup, seed: u64) -> Course {
        let mut random = Random::stream(seed, "course");
        let mut rig: Rig<C> = setup.rig(Report::Random(50), seed);
        rig.lenient = true;
        for round in 0..75 {
            match round {
                25 => rig.fail(2),
                50 => rig.replace(2),
                _ => {}
            }
            let start = random.below(u64::from(setup.pages())) as u32;
            let count = (1 + random.below(6)).min(u64::from(setup.pages() - start)) as u16;
            match random.below(6) {
                0 => rig.read(start, count),
                1 => rig.trim(start, count),
                2 => rig.merge(start),
                _ => rig.write(start, count),
            };
            rig.until(rig.now + Span(random.below(40)));
        }
        rig.rebuild(0);
        (rig.told.clone(), rig.store.log.clone(), rig.engine.tree().exposure().pages())
    }
    for setup in all() {
        for seed in 0..sampled(12) {
            let tokens = course::<Token>(&setup, seed);
            assert_eq!(tokens, course::<Token>(&setup, seed));
            assert_eq!(tokens, course::<()>(&setup, seed), "{setup:?}");
        }
    }
}

#[test]
fn pages_that_cannot_be_read_are_repaired_and_healed() {
    for setup in [RAID4, RAID5, RAID6, WAITING, WAITING6, FRA, PPC] {
        for seed in 0..60 {
            let mut random = Random::stream(seed, "unreadable");
            let mut rig: Rig = setup.rig(Report::Random(50), seed);
            rig.lenient = true;
            rig.fill(0, setup.pages() as u16);
            for _ in 0..6 {
                // One member's pages only, so that one parity is enough; nothing is exposed at that moment.
                rig.run();
                for page in 0..setup.stripes {
                    if random.below(2) == 0 {
                        rig.store.lose_page((seed % 5) as u16, page);
                    }
                }
                shake(&mut rig, &setup, &mut random, 12);
                rig.drain();
                let lost: BTreeSet<u32> = read_all(&mut rig, &setup).into_iter().collect();
                assert!(lost.is_empty(), "{setup:?}, seed {seed}: {lost:?}");
            }
            rig.run();
            check_protection(&mut rig, &setup);
            // The pages that were read have been written back.
            rig.store.log.clear();
            read_all(&mut rig, &setup);
            let reads = rig.store.count(|_, command| command.verb == Verb::Read);
            assert!(reads <= setup.pages(), "{setup:?}: {reads} reads");
        }
    }
}

/// The same schemes over each other: four members that are a RAID-5 or a mirror each.
#[test]
fn schemes_over_schemes() {
    let small = Setup { members: 3, stripes: 4, ..RAID5 };
    for inner in [small, Setup { members: 2, stripes: 8, ..MIRROR }] {
        for outer in [RAID4, RAID5, RAID6, WAITING] {
            let outer = Setup { members: 4, stripes: inner.pages(), ..outer };
            for seed in 0..60 {
                let mut random = Random::stream(seed, "nested");
                let mut store = Store::new(seed);
                let mut member = || {
                    let backends = 0..inner.members;
                    let backends =
                        backends.map(|_| Tree::Backend(store.add(inner.stripes, 0, Report::Random(30))));
                    Tree::Node(inner.build(), backends.collect())
                };
                let members = (0..outer.members).map(|_| member()).collect();
                let mut rig: Rig = Rig::new(Tree::Node(outer.build(), members), store);
                rig.lenient = true;
                rig.fill(0, outer.pages() as u16 / 2);
                for _ in 0..3 {
                    // A unit in each member, and pages that cannot be read: every member survives that on its own.
                    let each = (0..u16::from(outer.members)).map(|n| 2 + n * (u16::from(inner.members) + 1));
                    let failed: Vec<u16> = each.map(|first| first + random.below(2) as u16).collect();
                    failed.iter().for_each(|&node| rig.fail(node));
                    shake(&mut rig, &outer, &mut random, 15);
                    failed.iter().for_each(|&node| rig.replace(node));
                    shake(&mut rig, &outer, &mut random, 5);
                    failed
                        .iter()
                        .for_each(|&node| rig.rebuild(node - (node - 1) % (u16::from(inner.members) + 1)));
                    // And a member as a whole.
                    let whole = 1 + (seed as u16 % u16::from(outer.members)) * (u16::from(inner.members) + 1);
                    rig.change(whole, Change::Failed);
                    shake(&mut rig, &outer, &mut random, 10);
                    rig.change(whole, Change::Returned);
                    shake(&mut rig, &outer, &mut random, 5);
                    rig.rebuild(0);
                    rig.run();
                    assert!(
                        outer.waits || read_all(&mut rig, &outer).is_empty(),
                        "{outer:?} over {inner:?}, seed {seed}"
                    );
                }
            }
        }
    }
}

#[test]
fn wide_stripes() {
    for (setup, members) in [(RAID4, 66), (RAID5, 130), (RAID6, 255), (WAITING, 65), (FRA, 100), (PPC, 200)] {
        let setup = Setup { members, stripes: 3, ..setup };
        for seed in 0..4 {
            let mut random = Random::stream(seed, "wide");
            let mut rig: Rig = setup.rig(Report::Random(30), seed);
            rig.lenient = true;
            rig.fill(0, setup.data() as u16 + 70);
            shake(&mut rig, &setup, &mut random, 30);
            rig.run();
            let exposed = declared(&rig, &setup);
            rig.fail(1 + random.below(u64::from(members)) as u16);
            assert!(read_all(&mut rig, &setup).iter().all(|page| exposed.contains(page)), "{setup:?}");
            shake(&mut rig, &setup, &mut random, 10);
            rig.run();
            check_covers(&rig);
        }
    }
}
