//! Where pages and parities go, and when.

use super::*;
use crate::kernel::SimTime;

const WAKE: u64 = 50_000_000;

#[test]
fn the_worked_example_of_partial_stripes() {
    // N = 5; superpages 0 and 1 hold D0 to D7. Row 2: D1 to D4 and their parity; superpage 3: D8 and D9, more than 50
    // ms, their parity, D10 and its own.
    let mut rig: Rig<Token, _> = Setup::new("dvs", 5, 4, 8, 16).rig();
    rig.write(0, 8);
    rig.run();
    assert_eq!(written(&rig, &[Cause::Parity]), [(4, 0), (3, 1)]);
    rig.store.log.clear();
    let start = rig.now.0;
    rig.write(1, 4);
    rig.write(8, 2);
    rig.until(SimTime(start + WAKE - 1));
    assert_eq!(written(&rig, &[Cause::Host]), [(0, 2), (1, 2), (3, 2), (4, 2), (0, 3), (2, 3)]);
    assert_eq!(written(&rig, &[Cause::Parity, Cause::PartialParity]), [(2, 2)]);
    assert_eq!(rig.engine.tree().exposed_at(NodeId::ROOT), 2);
    rig.until(SimTime(start + WAKE));
    assert_eq!(written(&rig, &[Cause::PartialParity]), [(3, 3)]);
    assert_eq!(rig.engine.tree().exposed_at(NodeId::ROOT), 0);
    rig.run();
    rig.store.log.clear();
    rig.write(10, 1);
    rig.run();
    assert_eq!(written(&rig, &[Cause::Host]), [(4, 3)]);
    assert_eq!(written(&rig, &[Cause::Parity]), [(1, 3)], "what ends the row stands where its parity does");
    assert_eq!(rig.store.count(|_, c| c.verb == Verb::Read), 0);
    covers_are_right(&rig);
    audit(&rig);
    for node in 1..=5 {
        rig.fail(node);
        rig.read_all(16);
        assert!(rig.lost.is_empty());
        rig.bring_back(node);
    }
}

#[test]
fn the_timer_knows_the_nanosecond() {
    for (early, expected) in [(1, 0), (0, 1)] {
        let mut rig: Rig<(), _> = Setup::new("dvs", 8, 4, 8, 16).rig();
        rig.write(0, 1);
        rig.until(SimTime(WAKE / 2));
        // A read does not put it back, a write does.
        rig.read(0, 1);
        rig.write(1, 1);
        rig.until(SimTime(WAKE / 2 + WAKE - early));
        assert_eq!(written(&rig, &[Cause::PartialParity]).len(), expected);
        rig.run();
    }
}

#[test]
fn the_last_slot_goes_to_waste() {
    let mut rig: Rig<Token, _> = Setup::new("dvs", 5, 4, 8, 16).rig();
    for page in 0..3 {
        rig.write(page, 1);
    }
    rig.run();
    assert_eq!(written(&rig, &[Cause::Parity]), [(4, 0)], "at the parity's own place");
    rig.write(3, 1);
    rig.run();
    assert_eq!(written(&rig, &[Cause::Host])[3], (0, 1), "in the next row");
    covers_are_right(&rig);
}

#[test]
fn without_a_timer_stripes_are_full() {
    for (members, writes) in [(8, 7 * 40), (5, 4 * 40), (3, 2 * 40)] {
        let mut setup = Setup::new("ds", members, 8, 16, 80);
        setup.report = Report::Random(20);
        let mut rig: Rig<Token, _> = setup.rig();
        let mut random = Random::stream(1, "full");
        for _ in 0..writes {
            rig.write(random.below(100) as u32, 1);
        }
        rig.run();
        // N / (N − 1) programs a page, and nothing is read.
        assert_eq!(programs(&rig), writes * u32::from(members) / (u32::from(members) - 1));
        assert_eq!(rig.store.count(|_, c| c.verb == Verb::Read), 0);
        assert_eq!(written(&rig, &[Cause::PartialParity]).len(), 0);
        // The parity goes round: N − 1 − (superpage mod N).
        for (superpage, (member, of)) in (0..).zip(written(&rig, &[Cause::Parity])) {
            assert_eq!(
                (u32::from(member), of),
                (u32::from(members) - 1 - superpage % u32::from(members), superpage)
            );
        }
        covers_are_right(&rig);
    }
}

#[test]
fn small_writes_with_a_timeout_of_zero() {
    // Programs for each page of the host's, as a stripe's seven data slots cut requests of k pages.
    let exact = [(2, 1), (8, 5), (4, 3), (4, 3), (4, 3), (7, 6), (8, 7), (5, 4)];
    for (k, (above, below)) in (1_u32..).zip(exact) {
        let mut rig: Rig<(), _> = Setup::new("dvs", 8, 70, 64, 64 * 60).timeout_ns(0).rig();
        let period = 840;
        for n in 0..period {
            rig.write(n * k % 3000, k as u16);
            rig.until(SimTime(rig.now.0 + 100));
        }
        rig.run();
        assert_eq!(programs(&rig) * below, period * k * above, "requests of {k} pages");
        assert_eq!(log(&rig).stripes.frontier.pending, 0);
    }
}

#[test]
fn a_slow_controller_keeps_the_order() {
    for seed in 0..40 {
        let mut setup = Setup::new(["ds", "dvs"][seed as usize % 2], 4, 8, 4, 20).timeout_ns(60);
        setup.redundancy.set("xor_us", 0.007);
        setup.redundancy.set("timeout_ms", 60e-6);
        let mut rig: Rig<Token, _> = setup.reporting(Report::Random(30), seed).rig();
        rig.engine.tree_mut().controller.xor = crate::kernel::Span(7);
        rig.lenient = true;
        let mut random = Random::stream(seed, "slow");
        for n in 0..200 {
            if n == 100 {
                rig.fail(1 + seed as u16 % 4);
            }
            disturb(&mut rig, &mut random, 60);
            audit(&rig);
        }
        rig.run();
        rig.read_all(60);
        assert!(rig.lost.is_empty(), "seed {seed}");
        covers_are_right(&rig);
    }
}

#[test]
fn before_time_zero_no_time_passes() {
    for scheme in ["ds", "dvs", "lifespan"] {
        let mut setup = Setup::new(scheme, 5, 9, 8, 48).timeout_ns(0);
        setup.redundancy.set("xor_us", 1.0);
        let mut rig: Rig<Token, _> = setup.rig();
        rig.engine.tree_mut().controller.xor = crate::kernel::Span(1000);
        let pages = pages(&rig);
        // Overwritten many times: it is cleaned on the way.
        for round in 0..6 {
            for first in (0..pages).step_by(5) {
                let first = (first * 7 + round) % (pages - 5);
                rig.fill(first, 5);
            }
        }
        rig.until(SimTime(0));
        assert_eq!((rig.next(), rig.now), (SimTime::NEVER, SimTime(0)));
        assert!(rig.store.count(|_, c| c.verb == Verb::Trim) > 0);
        rig.run();
        covers_are_right(&rig);
        rig.read_all(pages);
        assert!(rig.lost.is_empty());
    }
}

#[test]
fn narrow_stripes_cut_a_superpage() {
    for members in 3..12 {
        for narrowest in 2..=members {
            let mut setup = Setup::new("lifespan", members, 6, 12, 36);
            setup.redundancy.set("narrowest", narrowest);
            setup.redundancy.set("stripe_loss", 1e-300);
            let mut rig: Rig<Token, _> = setup.rig();
            let superpage = data_in_superpage(members.into(), narrowest.into());
            assert_eq!(u64::from(pages(&rig)), 36 * u64::from(superpage));
            rig.write(0, pages(&rig) as u16);
            rig.run();
            assert!(written(&rig, &[Cause::Host]).iter().all(|&(_, at)| at < 36), "as many rows as declared");
            assert_eq!(rig.engine.tree().exposed_at(NodeId::ROOT), 0);
            covers_are_right(&rig);
            audit(&rig);
        }
    }
    assert_eq!(
        [(8, 8), (8, 4), (8, 3), (7, 3), (8, 2), (3, 9)].map(|(n, k)| data_in_superpage(n, k)),
        [7, 6, 5, 4, 4, 2]
    );
}
