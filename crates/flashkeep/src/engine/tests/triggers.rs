//! Idle time and timers: parity that is renewed while there are no requests.

use super::deferred::Deferred;
use super::*;
use crate::engine::{Cause, NodeId, Verb, Why};
use crate::kernel::{Random, SimTime, Span};

const IDLE: u64 = 1_000;

fn deferred(seed: u64, report: Report) -> Rig<Token> {
    Rig::flat(Deferred::new(5, 6, 8, Span(IDLE)).into(), 5, 6 + 8, report, seed)
}

fn scheme(rig: &Rig<Token>) -> &Deferred {
    match rig.engine.tree().scheme(NodeId::ROOT) {
        Some(Stub::Deferred(scheme)) => scheme,
        _ => panic!("another scheme"),
    }
}

fn parity_writes(rig: &Rig<Token>) -> u32 {
    rig.pages(Verb::Write, Cause::Parity)
}

#[test]
fn a_write_is_one_write_and_parity_waits_for_idle_time() {
    let mut rig = deferred(0, Report::After(10));
    rig.fill(0, 24);
    rig.run();
    assert_eq!(parity_writes(&rig), 6, "one small plan for each stripe");
    assert!(parity_is_right(&rig, 5, 1, 6));
    rig.store.log.clear();
    let start = rig.now.0;
    let write = rig.write(1, 2);
    rig.until(SimTime(start + 10));
    assert_eq!(rig.told[write].expect("told").0.0, start + 10);
    assert_eq!(rig.store.count(|_, c| c.verb == Verb::Write), 2);
    assert_eq!(rig.store.count(|_, c| c.verb == Verb::Remap), 2);
    // Idle since start + 10: nothing just before, the first reads of the plan on time.
    rig.until(SimTime(start + 10 + IDLE - 1));
    assert_eq!(rig.pages(Verb::Read, Cause::Parity), 0);
    rig.until(SimTime(start + 10 + IDLE));
    assert_eq!(rig.pages(Verb::Read, Cause::Parity), 4);
    // Reads, then the parity, and only once it is durable do the old versions go.
    rig.until(SimTime(start + 10 + IDLE + 19));
    assert_eq!((parity_writes(&rig), rig.pages(Verb::Trim, Cause::Parity)), (1, 0));
    rig.until(SimTime(start + 10 + IDLE + 20));
    assert_eq!(rig.pages(Verb::Trim, Cause::Parity), 2);
    rig.run();
    assert!(parity_is_right(&rig, 5, 1, 6));
    assert!(scheme(&rig).exposed().is_empty());
}

#[test]
fn idle_work_stops_when_somebody_comes() {
    let mut rig = deferred(0, Report::After(10));
    rig.fill(0, 24);
    rig.until(SimTime(IDLE));
    assert_eq!(rig.engine.schedule().working(NodeId::ROOT), 1, "one plan at a time");
    // A request comes while the first is under way: it ends, and no other begins until there were none for a while.
    let read = rig.read(0, 1);
    rig.until(SimTime(IDLE + 30));
    assert!(rig.told[read].is_some());
    assert_eq!((rig.engine.schedule().working(NodeId::ROOT), parity_writes(&rig)), (0, 1));
    let gone = rig.told[read].expect("told").0.0;
    rig.until(SimTime(gone + IDLE - 1));
    assert_eq!(rig.engine.schedule().working(NodeId::ROOT), 0);
    rig.until(SimTime(gone + IDLE));
    assert_eq!(rig.engine.schedule().working(NodeId::ROOT), 1);
    // The next pieces follow without another wait.
    rig.until(SimTime(gone + IDLE + 5 * 30));
    assert_eq!((rig.engine.schedule().working(NodeId::ROOT), parity_writes(&rig)), (0, 6));
    rig.run();
}

#[test]
fn what_is_lost_is_what_was_exposed() {
    for seed in 0..60 {
        let mut random = Random::stream(seed, "exposed");
        let mut rig = deferred(seed, Report::Random(30));
        rig.fill(0, 24);
        rig.run();
        for _ in 0..random.below(8) {
            rig.write(random.below(22) as u32, 1 + random.below(2) as u16);
            if random.below(4) == 0 {
                rig.run();
            }
        }
        while rig.engine.schedule.foreground > 0 {
            rig.step();
        }
        let node = 1 + random.below(5) as u16;
        // A plan that renews parity may be under way: it has seen the member alive.
        while rig.engine.schedule().working(NodeId::ROOT) > 0 {
            rig.step();
        }
        let member = Member(node as u8 - 1);
        let mut exposed = scheme(&rig).exposed();
        exposed.retain(|&page| scheme(&rig).member_of(page) == member);
        rig.fail(node);
        for page in 0..24 {
            let read = rig.read(page, 1);
            while rig.told[read].is_none() {
                rig.step();
            }
        }
        assert_eq!(rig.lost, exposed, "seed {seed}");
        // Writing continues with parity at once, and nothing more is lost.
        for _ in 0..6 {
            rig.write(random.below(22) as u32, 1 + random.below(2) as u16);
        }
        rig.run();
        rig.read_all(24);
        assert!(rig.lost.iter().all(|page| exposed.contains(page)), "seed {seed}");
        rig.replace(node);
        rig.rebuild(0);
        rig.read_all(24);
        assert!(rig.lost.iter().all(|page| exposed.contains(page)), "seed {seed}");
    }
}

#[test]
fn pages_that_fail_go_through_the_old_map() {
    let mut rig = deferred(0, Report::After(3));
    rig.fill(0, 24);
    rig.run();
    // Stripe 0 is dirty by page 0; page 1 is unchanged.
    rig.write(0, 1);
    rig.until(SimTime(rig.now.0 + 5));
    rig.store.lose_page(1, 0);
    rig.store.lose_page(2, 4);
    let reads = [rig.read(1, 1), rig.read(18, 1)];
    rig.until(SimTime(rig.now.0 + 20));
    assert!(reads.iter().all(|&tag| rig.told[tag].expect("told").1 == 0));
    // The changed page is what no parity knows.
    rig.store.lose_page(0, 0);
    rig.read(0, 1);
    rig.until(SimTime(rig.now.0 + 20));
    assert_eq!(rig.lost, [0]);
    rig.run();
    assert!(!rig.background(0, Why::Idle), "nothing is left to do");
}

#[test]
fn without_hidden_pages_writers_wait_for_parity() {
    for seed in 0..300 {
        let mut random = Random::stream(seed, "shadow");
        let (stripes, hidden) = (2 + seed as u32 % 3, 1 + seed as u32 % 2);
        let scheme = Deferred::new(5, stripes, hidden, Span(IDLE));
        let mut rig: Rig<Token> = Rig::flat(scheme.into(), 5, stripes + hidden, Report::Random(30), seed);
        for _ in 0..80 {
            let page = random.below(u64::from(stripes) * 4) as u32;
            let count = (1 + random.below(4)).min(u64::from(stripes * 4 - page)) as u16;
            if random.below(4) == 0 {
                rig.read(page, count)
            } else {
                rig.write(page, count)
            };
            while random.below(3) == 0 && rig.step() {}
        }
        rig.run();
        assert!(parity_is_right(&rig, 5, 1, stripes), "seed {seed}");
        rig.read_all(stripes * 4);
    }
}
