//! Commands that must wait until there is room.

use super::partial::Partial;
use super::*;
use crate::engine::{Cause, Verb};
use crate::kernel::Random;

fn partial(entries: usize, report: Report, seed: u64) -> Rig<Token> {
    let mut rig: Rig<Token> = Rig::flat(Partial::new(5, 6, entries).into(), 6, 6, report, seed);
    rig.store.set_report(5, Report::AtOnce);
    rig
}

#[test]
fn a_full_memory_lets_writers_wait_in_order() {
    let mut rig = partial(1, Report::After(10), 0);
    let first = rig.write(0, 1);
    let second = rig.write(4, 1);
    let behind = rig.read(0, 1);
    let third = rig.write(0, 1);
    rig.run();
    let at = |tag: usize| rig.told[tag].expect("told").0.0;
    // Stripe 0 is written by 10. Its entry goes: parity is on the member at 20. The second write needs nothing
    // read, and is there at 30, with it the commands that waited; the third presses the second's entry out by 40.
    assert_eq!([first, second, behind, third].map(at), [10, 30, 30, 50]);
    // One commit read nothing (the page was covered); the other neither.
    let reads =
        rig.store.count(|backend, c| backend.0 < 5 && c.verb == Verb::Read && c.cause == Cause::Parity);
    assert_eq!(reads, 0);
    assert_eq!(rig.pages(Verb::Write, Cause::Parity), 2);
}

#[test]
fn waiting_changes_nothing_but_the_time() {
    for seed in 0..200 {
        let mut random = Random::stream(seed, "waiting");
        let mut rig = partial(1 + seed as usize % 3, Report::Random(40), seed);
        for _ in 0..60 {
            let start = random.below(20) as u32;
            match random.below(3) {
                0 => rig.read(start, 4),
                1 => rig.merge(start),
                _ => rig.write(start, 1 + random.below(4) as u16),
            };
            while random.below(3) == 0 && rig.step() {}
        }
        rig.run();
        // Every entry out: a write to each stripe in turn, and the entries left in the memory say the rest.
        for stripe in 0..6 {
            rig.write(stripe * 4, 1);
            rig.run();
        }
        rig.read_all(24);
        assert!(rig.lost.is_empty());
    }
}

#[test]
fn what_the_memory_holds_and_the_members_hold_is_parity() {
    for seed in 0..50 {
        let mut random = Random::stream(seed, "memory");
        let mut rig = partial(1, Report::Random(40), seed);
        for _ in 0..40 {
            rig.write(random.below(24) as u32 / 2 * 2, 1 + random.below(2) as u16);
        }
        // The last entry is of stripe 5: all others have been committed.
        rig.write(20, 1);
        rig.run();
        assert!(parity_is_right(&rig, 5, 1, 5), "seed {seed}");
    }
}
