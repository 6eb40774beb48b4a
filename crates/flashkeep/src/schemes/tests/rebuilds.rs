//! Rebuilds: afterwards everything is protected again.

use super::*;
use crate::engine::{Cause, Change, Member, Verb, Why};
use crate::kernel::SimTime;

fn rebuilding(rig: &Rig) -> bool {
    rig.engine.tree().has_to_rebuild(NodeId::ROOT)
}

#[test]
fn rebuilt_it_survives_the_next_failure() {
    for setup in all() {
        for seed in 0..setup.seeds(90) {
            let mut random = Random::stream(seed, "rebuilds");
            let mut rig: Rig = setup.rig(Report::Random(30), seed);
            rig.lenient = true;
            rig.fill(0, setup.pages() as u16);
            for node in setup.nodes() {
                shake(&mut rig, &setup, &mut random, 6);
                rig.run();
                assert!(setup.waits || rig.engine.tree().exposure().pages() == 0, "{setup:?}, seed {seed}");
                rig.fail(node);
                shake(&mut rig, &setup, &mut random, 8);
                rig.run();
                if random.below(2) == 0 {
                    rig.replace(node)
                } else {
                    rig.bring_back(node)
                }
                // The foreground continues while it is rebuilt, several pieces at a time.
                while rebuilding(&rig) {
                    for _ in 0..3 {
                        rig.background(0, Why::Rebuild);
                    }
                    shake(&mut rig, &setup, &mut random, 1);
                    // No faster than it is served: with all of these few stripes held, nothing is rebuilt.
                    while rig.step() && random.below(4) > 0 {}
                }
                rig.rebuild(0);
                check_covers(&rig);
                assert_eq!(rig.engine.tree().exposure().pages(), 0, "{setup:?}, seed {seed}, node {node}");
                assert!(declared(&rig, &setup).is_empty() && !rebuilding(&rig));
                assert!(read_all(&mut rig, &setup).is_empty());
            }
            let data_lost = rig.pages(Verb::Write, Cause::Rebuild) > 0;
            assert!(data_lost, "something was rebuilt");
        }
    }
}

#[test]
fn a_second_member_fails_during_the_rebuild() {
    for setup in all() {
        for seed in 0..12 {
            let mut random = Random::stream(seed, "second");
            let mut rig: Rig = setup.rig(Report::Random(30), seed);
            rig.lenient = true;
            rig.fill(0, setup.pages() as u16);
            rig.run();
            rig.fail(1);
            rig.replace(1);
            for _ in 0..random.below(5) {
                rig.background(0, Why::Rebuild);
                rig.step();
            }
            let exposed = declared(&rig, &setup);
            rig.fail(2);
            // The remaining pages can be restored or not; in either case the rebuild ends.
            rig.rebuild(0);
            let lost = read_all(&mut rig, &setup);
            assert!(lost.iter().all(|page| exposed.contains(page)), "{setup:?}, seed {seed}");
            assert!(setup.survives() < 2 || lost.is_empty());
            // The member that failed last comes back with what it held: now everything can be.
            rig.bring_back(2);
            rig.rebuild(0);
            assert!(read_all(&mut rig, &setup).is_empty(), "{setup:?}, seed {seed}");
            assert_eq!(rig.engine.tree().exposure().pages(), 0, "{setup:?}, seed {seed}");
            check_covers(&rig);
        }
    }
}

/// As many members as may fail do, and are replaced together, or each during the rebuild of those before it.
#[test]
fn members_that_are_replaced_together_are_all_rebuilt() {
    for setup in all() {
        let (members, failures) = (u16::from(setup.members), setup.survives() as u16);
        for seed in 0..sampled(40) {
            let mut random = Random::stream(seed, "together");
            let mut rig: Rig = setup.rig(Report::Random(30), seed);
            rig.lenient = true;
            rig.fill(0, setup.pages() as u16);
            rig.run();
            (1..=failures).for_each(|node| rig.fail(node));
            shake(&mut rig, &setup, &mut random, 4);
            rig.run();
            for node in 1..=failures {
                rig.replace(node);
                for _ in 0..random.below(9) {
                    rig.background(0, Why::Rebuild);
                    if random.below(3) == 0 {
                        rig.step();
                    }
                }
            }
            rig.rebuild(0);
            assert!(!rebuilding(&rig) && declared(&rig, &setup).is_empty(), "{setup:?}, seed {seed}");
            assert_eq!(rig.engine.tree().exposure().pages(), 0, "{setup:?}, seed {seed}");
            check_covers(&rig);
            (members + 1 - failures..=members).for_each(|node| rig.fail(node));
            assert!(read_all(&mut rig, &setup).is_empty(), "{setup:?}, seed {seed}");
        }
    }
}

/// A page that a read finds unreadable is written again: when its other copy or its stripe fails later, it is there.
#[test]
fn what_is_found_unreadable_is_brought_back() {
    for setup in all() {
        for seed in 0..sampled(40) {
            let mut random = Random::stream(seed, "unreadable");
            let mut rig: Rig = setup.rig(Report::Random(30), seed);
            rig.lenient = true;
            rig.fill(0, setup.pages() as u16);
            rig.run();
            let data = |page: &u32| scheme(&rig).owner(Member(0), Page::of(*page)).is_some();
            let data: Vec<u32> = (0..setup.node_pages(1)).filter(data).collect();
            data.iter().for_each(|&page| rig.store.lose_page(0, page));
            // Of several copies each is read once.
            for page in (0..setup.pages()).flat_map(|page| vec![page; usize::from(setup.members)]) {
                rig.read(page, 1);
                while random.below(3) > 0 && rig.step() {}
            }
            shake(&mut rig, &setup, &mut random, 4);
            rig.run();
            rig.rebuild(0);
            assert_eq!(rig.engine.tree().exposure().pages(), 0, "{setup:?}, seed {seed}");
            check_covers(&rig);
            (2..setup.survives() as u16 + 2).for_each(|node| rig.fail(node));
            assert!(read_all(&mut rig, &setup).is_empty(), "{setup:?}, seed {seed}");
        }
    }
}

#[test]
fn lost_for_good_until_written() {
    for setup in [RAID5, RAID6, FRA, PPC] {
        let mut rig: Rig = setup.rig(Report::After(3), 0);
        rig.lenient = true;
        rig.fill(0, setup.pages() as u16);
        rig.run();
        for node in 1..=setup.survives() as u16 + 1 {
            rig.fail(node);
        }
        let lost = read_all(&mut rig, &setup);
        assert!(!lost.is_empty());
        for node in 1..=setup.survives() as u16 + 1 {
            rig.replace(node);
        }
        rig.rebuild(0);
        assert!(!rebuilding(&rig), "what is lost is not waited for");
        assert_eq!(read_all(&mut rig, &setup), lost);
        for &page in &lost {
            rig.write(page, 1);
            rig.run();
        }
        rig.rebuild(0);
        assert!(read_all(&mut rig, &setup).is_empty(), "{setup:?}");
        check_covers(&rig);
        assert_eq!(rig.engine.tree().exposure().pages(), 0, "{setup:?}");
    }
}

#[test]
fn many_damaged_pages_one_after_the_other() {
    for setup in all() {
        let setup = Setup { stripes: 300, hidden: setup.hidden * 40, ..setup };
        let mut rig: Rig = setup.rig(Report::After(3), 0);
        rig.fill(0, 900.min(setup.pages()) as u16);
        rig.run();
        (0..300).for_each(|page| rig.damage(1, page));
        assert!(
            rebuilding(&rig) && (setup.survives() > 1 || rig.engine.tree().exposure().pages() > 0),
            "{setup:?}"
        );
        rig.rebuild(0);
        assert_eq!(rig.engine.tree().exposure().pages(), 0);
        assert!(read_all(&mut rig, &setup).is_empty());
    }
}

#[test]
fn the_executor_paces_it_to_the_end() {
    for setup in all() {
        let mut rig: Rig = setup.rig(Report::After(20), 0);
        rig.lenient = true;
        rig.engine.tree_mut().controller.rebuild_permille = 500;
        rig.fill(0, setup.pages() as u16);
        rig.run();
        rig.fail(1);
        rig.until(SimTime(rig.now.0 + 5));
        rig.replace(1);
        assert!(rig.engine.schedule().is_rebuilding(), "{setup:?}");
        let mut random = Random::stream(7, "paced");
        shake(&mut rig, &setup, &mut random, 20);
        rig.run();
        assert!(!rig.engine.schedule().is_rebuilding() && !rebuilding(&rig));
        assert_eq!(rig.engine.tree().exposure().pages(), 0, "{setup:?}");
        assert_eq!(
            rig.engine.tree_mut().exposure_mut().unprotected_page_ns(rig.now) > 0,
            setup.survives() == 1,
            "{setup:?}"
        );
        check_covers(&rig);
    }
}

#[test]
fn reads_that_a_failed_unit_would_have_served() {
    for setup in all() {
        let mut rig: Rig = setup.rig(Report::After(20), 0);
        rig.fill(0, setup.pages() as u16);
        rig.run();
        rig.change(1, Change::Failed);
        let on_it = (0..setup.stripes).filter_map(|page| scheme(&rig).owner(Member(0), Page::of(page)));
        let on_it = on_it.count() as u64;
        let before = rig.engine.tree().exposure().rescued();
        read_all(&mut rig, &setup);
        let rescued = rig.engine.tree().exposure().rescued() - before;
        // A failed copy would have served its share.
        let mut copies = 0;
        scheme(&rig).places(Page(0), |_, _| copies += 1);
        assert!(rescued.abs_diff(on_it / copies) <= 1, "{setup:?}: {rescued} of {on_it}");
    }
}

/// A mirror is a member. A read has found one copy of its page unreadable, the rebuild reads the other one, and a write
/// of the page waits for that. When the other copy turns out to be unreadable as well, the page is not lost: it is
/// about to be written.
#[test]
fn a_page_that_is_about_to_be_written_is_not_lost() {
    let (single, setup) = (Setup { scheme: "none", members: 1, ..MIRROR }, MIRROR);
    for others in 0..3 {
        let mut store = Store::new(1);
        let copies = (0..2).map(|_| Tree::Backend(store.add(setup.pages(), 0, Report::After(10)))).collect();
        let mirror = Tree::Node(setup.build(), copies);
        let mut rig: Rig = Rig::new(Tree::Node(single.build(), vec![mirror]), store);
        rig.lenient = true;
        rig.fill(0, setup.pages() as u16);
        rig.run();
        (0..2).for_each(|copy| rig.store.lose_page(copy, 4));
        rig.read(4, 1);
        rig.until(SimTime(rig.now.0 + 10));
        assert!(rig.background(1, Why::Rebuild), "one copy is known to be missing");
        (0..others).for_each(|_| _ = rig.read(4, 1));
        rig.write(4, 1);
        rig.run();
        assert!(read_all(&mut rig, &setup).is_empty(), "{others} reads wait with the write");
    }
}

/// Of copies and stripes the engine knows from the declared codewords what a member held, and what one more failure
/// costs.
#[test]
fn what_a_member_held_is_exposed_and_rebuilt() {
    let chain = Setup { scheme: "chained", members: 3, stripes: 4, ..RAID5 };
    // Six pages: each member has two first copies and two second copies.
    for (setup, exposed, rebuilt) in
        [(MIRROR, 16, 16), (chain, 4, 4), (RAID4, 24, 6), (RAID5, 24, 6), (RAID6, 0, 6)]
    {
        let mut rig: Rig = setup.rig(Report::After(10), 1);
        rig.fill(0, setup.pages() as u16);
        rig.run();
        assert!(rig.engine.tree().is_healthy() && rig.engine.tree().is_whole());
        rig.fail(2);
        assert_eq!(
            (rig.engine.tree().exposure().pages(), rig.engine.tree().is_whole()),
            (exposed, false),
            "{setup:?}"
        );
        let mut weak = 0;
        (0..setup.pages()).for_each(|page| {
            weak += u64::from(rig.engine.tree().is_exposed(NodeId::ROOT, Page::of(page), Hazard::Unit));
        });
        assert_eq!(weak, if setup.survives() > 1 { u64::from(setup.pages()) } else { exposed }, "{setup:?}");
        assert!(!rebuilding(&rig), "there is no member to rebuild");
        rig.replace(2);
        rig.rebuild(0);
        assert_eq!(rig.pages(Verb::Write, Cause::Rebuild), rebuilt, "{setup:?}");
        assert_eq!(
            (rig.engine.tree().exposure().pages(), rig.engine.tree().is_whole()),
            (0, true),
            "{setup:?}"
        );
    }
}
