//! Members that fail, pages that cannot be read, and the losses: none, or as declared.

use super::*;
use crate::engine::Why;
use crate::kernel::SimTime;

/// A small drive, a third of it empty, after a random history.
fn used(name: &str, seed: u64, steps: u64, random: &mut Random) -> Rig<Token, Any> {
    let members = 3 + (seed % 3) as u8;
    let mut setup = Setup::new(name, members, 10, 4, 18);
    setup.redundancy.set("narrowest", 3);
    setup.clean_below = 2;
    let mut rig = setup.timeout_ns(40).reporting(Report::Random(30), seed).rig();
    rig.lenient = true;
    rig.fill(0, pages(&rig) as u16);
    for _ in 0..steps {
        let upto = pages(&rig);
        disturb(&mut rig, random, upto);
    }
    rig
}

const SCHEMES: [&str; 3] = ["ds", "dvs", "lifespan"];

fn nothing_is_lost(rig: &mut Rig<Token, Any>, what: &str) {
    rig.read_all(pages(rig));
    assert!(rig.lost.is_empty(), "{what}: {:?}", rig.lost);
    audit(rig);
    covers_are_right(rig);
}

#[test]
fn any_member_may_fail_at_any_step() {
    for seed in 0..240 {
        let mut random = Random::stream(seed, "any");
        let steps = 20 + random.below(120);
        let mut rig = used(SCHEMES[seed as usize % 3], seed, steps, &mut random);
        let members = u64::from(log(&rig).members);
        rig.fail(1 + random.below(members) as u16);
        audit(&rig);
        for _ in 0..random.below(60) {
            let upto = pages(&rig);
            disturb(&mut rig, &mut random, upto);
            audit(&rig);
        }
        rig.run();
        nothing_is_lost(&mut rig, &format!("seed {seed}"));
    }
}

/// One member after the other fails and is replaced; between them, everything is made whole again.
#[test]
fn replaced_it_survives_the_next_failure() {
    for seed in 0..90 {
        let mut random = Random::stream(seed, "replaced");
        let mut rig = used(SCHEMES[seed as usize % 3], seed, 80, &mut random);
        let upto = pages(&rig);
        let members = u16::from(log(&rig).members);
        for round in 0..5 {
            let node = 1 + random.below(members.into()) as u16;
            rig.fail(node);
            for _ in 0..random.below(30) {
                disturb(&mut rig, &mut random, upto);
            }
            rig.replace(node);
            audit(&rig);
            // The host continues while it is rebuilt.
            while rig.background(0, Why::Rebuild) {
                if random.below(2) == 0 {
                    disturb(&mut rig, &mut random, upto);
                }
                rig.step();
                audit(&rig);
            }
            rig.rebuild(0);
            assert_eq!(log(&rig).health.lacking, 0, "seed {seed}, round {round}");
            nothing_is_lost(&mut rig, &format!("seed {seed}, round {round}"));
        }
        assert!(rig.pages(Verb::Write, Cause::Rebuild) > 0);
    }
}

/// Without a replacement, stripes are written again over the members that are left.
#[test]
fn narrower_it_survives_the_next_failure() {
    for seed in 0..60 {
        let mut random = Random::stream(seed, "narrower");
        let mut setup = Setup::new(SCHEMES[seed as usize % 3], 5, 16, 4, 20);
        setup.redundancy.set("narrowest", 3);
        let mut rig: Rig<Token, _> = setup.timeout_ns(40).reporting(Report::Random(30), seed).rig();
        rig.lenient = true;
        let upto = pages(&rig);
        rig.fill(0, upto as u16);
        for _ in 0..80 {
            disturb(&mut rig, &mut random, upto);
        }
        let nodes = [1 + random.below(2) as u16, 3 + random.below(3) as u16];
        for node in nodes {
            rig.fail(node);
            for _ in 0..random.below(20) {
                disturb(&mut rig, &mut random, upto);
            }
            assert!(log(&rig).is_roomy());
            rig.rebuild(0);
            assert_eq!(log(&rig).health.lacking, 0, "seed {seed}");
            nothing_is_lost(&mut rig, &format!("seed {seed}"));
        }
        // And back to full width, with the units that are needed of them restored.
        for node in nodes {
            rig.replace(node);
            rig.rebuild(0);
        }
        for _ in 0..80 {
            disturb(&mut rig, &mut random, upto);
        }
        rig.run();
        rig.fail(1 + random.below(5) as u16);
        nothing_is_lost(&mut rig, &format!("seed {seed}"));
    }
}

/// With no room for narrower stripes, superpages are laid over the member that is gone: the rebuild ends, the host
/// continues.
#[test]
fn without_room_it_goes_on_unprotected() {
    for seed in 0..40 {
        let mut random = Random::stream(seed, "full");
        let setup = Setup::new(SCHEMES[seed as usize % 2], 5, 8, 4, 25).timeout_ns(40);
        let mut rig: Rig<Token, _> = setup.reporting(Report::Random(30), seed).rig();
        rig.lenient = true;
        let upto = pages(&rig);
        rig.fill(0, upto as u16);
        let node = 1 + (seed % 5) as u16;
        rig.fail(node);
        assert!(!log(&rig).is_roomy());
        rig.rebuild(0);
        for _ in 0..300 {
            let page = random.below(u64::from(upto) - 3) as u32;
            rig.write(page, 2);
            while random.below(3) == 0 && rig.step() {}
            audit(&rig);
        }
        rig.run();
        nothing_is_lost(&mut rig, &format!("seed {seed}"));
        assert!(rig.engine.tree().exposed_at(NodeId::ROOT) > 0);
        rig.replace(node);
        rig.rebuild(0);
        assert_eq!(log(&rig).health.lacking, 0, "seed {seed}");
        rig.fail(1 + (seed % 5 + 1) as u16 % 5);
        nothing_is_lost(&mut rig, &format!("seed {seed}"));
    }
}

/// A second member fails too early: all lost pages are among the declared ones.
#[test]
fn what_is_lost_was_exposed() {
    let mut losses = 0;
    for seed in 0..150 {
        let mut random = Random::stream(seed, "exposed");
        let mut rig = used(SCHEMES[seed as usize % 3], seed, 80, &mut random);
        let upto = pages(&rig);
        rig.run();
        let members = u16::from(log(&rig).members);
        let (first, second) = (1 + random.below(members.into()) as u16, random.below(members.into()) as u16);
        let second = 1 + (first + second) % members;
        rig.fail(first);
        if first == second {
            continue;
        }
        let replaced = random.below(2) == 0;
        if replaced {
            rig.replace(first);
        }
        for _ in 0..random.below(12) {
            rig.background(0, Why::Rebuild);
            rig.step();
        }
        rig.run();
        let exposed: Vec<u32> = (0..upto)
            .filter(|&page| rig.engine.tree().is_exposed(NodeId::ROOT, Page::of(page), Hazard::Unit))
            .collect();
        assert!(rig.engine.tree().exposed_at(NodeId::ROOT) >= exposed.len() as u64);
        rig.fail(second);
        rig.read_all(upto);
        assert!(rig.lost.iter().all(|page| exposed.contains(page)), "seed {seed}");
        losses += rig.lost.len();
        let lost = rig.lost.clone();
        // Lost pages stay lost until they are written, also if pages are moved meanwhile, and the rest is made whole.
        for node in [first, second] {
            if node != first || !replaced {
                rig.replace(node);
            }
        }
        rig.rebuild(0);
        for _ in 0..60 {
            let page = random.below(u64::from(upto) - 3) as u32;
            rig.write(page, 1);
            while random.below(3) == 0 && rig.step() {}
        }
        rig.run();
        rig.rebuild(0);
        rig.read_all(upto);
        assert!(rig.lost.iter().all(|page| lost.contains(page)), "seed {seed}");
        audit(&rig);
        covers_are_right(&rig);
        for page in 0..upto {
            rig.write(page, 1);
            rig.run();
        }
        nothing_is_lost(&mut rig, "all written anew");
        rig.rebuild(0);
        rig.fail(1 + random.below(members.into()) as u16);
        nothing_is_lost(&mut rig, &format!("seed {seed}, written anew"));
    }
    assert!(losses > 0);
}

#[test]
fn two_members_in_two_stripes_of_a_superpage() {
    // N = 8, three stripes in superpage 0: D D P, D D P, D and what ends the superpage.
    let mut rig: Rig<Token, _> = Setup::new("dvs", 8, 6, 4, 8).timeout_ns(0).rig();
    for page in [0, 2, 4] {
        rig.write(page, 2);
        rig.run();
    }
    assert_eq!(written(&rig, &[Cause::PartialParity])[..2], [(2, 0), (5, 0)]);
    for (one, other) in [(0, 3), (1, 5), (2, 4), (0, 6), (3, 7)] {
        rig.fail(1 + one);
        rig.fail(1 + other);
        rig.read_all(5);
        assert!(rig.lost.is_empty(), "members {one} and {other}");
        rig.bring_back(1 + one);
        rig.bring_back(1 + other);
    }
    // Two in one stripe are too many.
    rig.fail(1);
    rig.fail(2);
    rig.read_all(5);
    assert_eq!(rig.lost, [0, 1]);
}

#[test]
fn pending_pages_come_back_from_memory() {
    for name in ["ds", "dvs"] {
        let mut rig: Rig<Token, _> = Setup::new(name, 5, 6, 4, 8).rig();
        rig.write(0, 3);
        rig.until(SimTime(100));
        assert_eq!(rig.engine.tree().exposed_at(NodeId::ROOT), 3);
        for node in 1..=5 {
            rig.fail(node);
            for page in 0..3 {
                let read = rig.read(page, 1);
                rig.until(SimTime(rig.now.0 + 100));
                assert_eq!(rig.told[read].expect("told").1, 0);
            }
            rig.bring_back(node);
        }
        // The stripe is closed without the member that fails now; all its data are there.
        rig.fail(2);
        rig.write(3, 2);
        rig.run();
        nothing_is_lost(&mut rig, name);
    }
}

/// Pages that can be neither read nor written any more: each time, their stripe brings them back, and what it holds
/// is moved.
#[test]
fn places_that_turn_out_bad() {
    for seed in 0..120 {
        let mut random = Random::stream(seed, "bad");
        let mut rig = used(SCHEMES[seed as usize % 3], seed, 60, &mut random);
        let upto = pages(&rig);
        let members = u64::from(log(&rig).members);
        for _ in 0..12 {
            // A page, or all of a block; two in one stripe would be too many.
            let superblock = random.below(10) as u32;
            let member = (u64::from(superblock) % members) as u16;
            let superpages = if random.below(4) == 0 { 0..4 } else { 1..2 };
            for superpage in superpages {
                rig.store.break_page(member, superblock * 4 + superpage);
            }
            rig.run();
            audit(&rig);
            for _ in 0..random.below(10) {
                disturb(&mut rig, &mut random, upto);
                audit(&rig);
            }
            rig.run();
            // The copied pages may turn up other bad places.
            for _ in 0..3 {
                rig.rebuild(0);
            }
            if log(&rig).is_roomy() {
                assert_eq!(log(&rig).health.lacking, 0, "seed {seed}");
            }
            nothing_is_lost(&mut rig, &format!("seed {seed}"));
        }
    }
}

/// The engine itself paces a rebuild, and is through with it.
#[test]
fn a_rebuild_ends_by_itself() {
    for seed in 0..30 {
        let mut random = Random::stream(seed, "paced");
        let mut rig = used(SCHEMES[seed as usize % 3], seed, 60, &mut random);
        rig.engine.tree_mut().controller.rebuild_permille = 500;
        let upto = pages(&rig);
        rig.run();
        rig.fail(2);
        for _ in 0..20 {
            disturb(&mut rig, &mut random, upto);
        }
        if seed % 2 == 0 {
            rig.replace(2);
        }
        for _ in 0..40 {
            disturb(&mut rig, &mut random, upto);
        }
        rig.run();
        assert!(!rig.engine.schedule().is_rebuilding());
        if seed % 2 == 0 {
            assert_eq!(log(&rig).health.lacking, 0, "seed {seed}");
        }
        nothing_is_lost(&mut rig, &format!("seed {seed}"));
    }
}

/// A chip says late that it cannot read: the page may have been moved, its old place erased and written again.
#[test]
fn a_failure_that_is_told_late() {
    for seed in 0..100 {
        let mut random = Random::stream(seed, "late");
        let mut rig = used(SCHEMES[seed as usize % 3], seed, 0, &mut random);
        let upto = pages(&rig);
        let backend = (seed % 3) as u16;
        rig.store.set_report(backend, Report::After(500));
        for page in (0..upto).step_by(3) {
            rig.store.lose_page(backend, page % 40);
            rig.read(page, 1);
        }
        for _ in 0..150 {
            let page = random.below(u64::from(upto) - 3) as u32;
            if random.below(4) == 0 {
                rig.read(page, 1)
            } else {
                rig.write(page, 1)
            };
            while random.below(3) == 0 && rig.step() {}
        }
        rig.run();
        nothing_is_lost(&mut rig, &format!("seed {seed}"));
    }
}

/// Under any combination of events reads return the data that were written, or report them lost, and all commands end.
#[test]
fn everything_at_once() {
    for seed in 0..150 {
        let mut random = Random::stream(seed, "everything");
        let mut rig = used(SCHEMES[seed as usize % 3], seed, 30, &mut random);
        rig.engine.tree_mut().controller.rebuild_permille = [0, 700][seed as usize / 3 % 2];
        let upto = pages(&rig);
        let members = u16::from(log(&rig).members);
        let mut gone = None;
        for _ in 0..250 {
            match random.below(24) {
                0 => rig.store.break_page(random.below(members.into()) as u16, random.below(40) as u32),
                1 => rig.store.lose_page(random.below(members.into()) as u16, random.below(40) as u32),
                2 => match gone {
                    None => rig.fail(*gone.insert(1 + random.below(members.into()) as u16)),
                    Some(node) => {
                        rig.replace(node);
                        gone = None;
                    }
                },
                3..6 if rig.engine.tree_mut().controller.rebuild_permille == 0 => {
                    rig.background(0, Why::Rebuild);
                }
                _ => disturb(&mut rig, &mut random, upto),
            }
            audit(&rig);
        }
        rig.run();
        covers_are_right(&rig);
        rig.rebuild(0);
        for page in 0..upto {
            rig.write(page, 1);
            rig.run();
        }
        audit(&rig);
    }
}
