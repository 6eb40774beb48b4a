//! What cannot be read: once, for good, one after the other, and too often.

use super::*;
use crate::engine::{Cause, Verb, Why};
use std::collections::BTreeSet;

#[test]
fn a_page_that_fails_is_repaired_and_may_be_written_back() {
    for heals in [false, true] {
        let mut scheme = Raid::new(5, 1, 4);
        scheme.heals = heals;
        let mut rig: Rig<Token> = Rig::flat(scheme.into(), 5, 4, Report::After(10), 0);
        rig.fill(0, 16);
        rig.store.lose_page(0, 0);
        let read = rig.read(0, 4);
        rig.run();
        assert_eq!(rig.told[read].expect("told").1, 0);
        // The page, three other data pages and P; where it is written back, the reader does not wait for that.
        assert_eq!(rig.told[read].expect("told").0.0, 20);
        assert_eq!(rig.now.0, if heals { 30 } else { 20 });
        rig.store.log.clear();
        rig.read(0, 4);
        rig.run();
        assert_eq!(rig.store.count(|_, _| true), if heals { 4 } else { 7 }, "it is not tried again");
        assert!(parity_is_right(&rig, 5, 1, 4));
    }
}

#[test]
fn every_page_of_an_update_may_fail() {
    for (members, parities) in [(5, 1), (6, 2)] {
        for member in 0..u16::from(members) {
            let mut rig = raid(members, parities, 4, Report::Random(20), u64::from(member));
            rig.fill(0, 16);
            for stripe in 0..4 {
                rig.store.lose_page(member, stripe);
            }
            for page in [0, 5, 10, 15] {
                rig.write(page, 1);
            }
            rig.merge(2);
            rig.trim(13, 1);
            rig.run();
            rig.read_all(16);
            assert!(rig.lost.is_empty());
        }
    }
}

/// Too many members gone: exactly the pages on them are lost, and no read ever returns anything else.
#[test]
fn too_many_failures_are_reported() {
    for (members, parities) in [(5u8, 1u8), (6, 2)] {
        let mut rig = raid(members, parities, 6, Report::Random(20), 3);
        rig.fill(0, 24);
        for node in 0..=u16::from(parities) {
            rig.fail(1 + node);
        }
        rig.read_all(24);
        let layout = raid::Layout { members, parities };
        let gone = |page: &u32| layout.member(page / 4, Role::Data((page % 4) as u8)).0 <= parities;
        // With P or Q among those gone, fewer data pages are, and one of them may still be worked out.
        let lost: Vec<u32> = rig.lost.clone();
        let expected: Vec<u32> = (0..24).filter(gone).collect();
        assert_eq!(lost, expected);
        // Writing changes nothing about that, except for pages that are written where they can be kept.
        for page in 0..24 {
            rig.write(page, 1);
            rig.run();
        }
        rig.read_all(24);
        assert!(rig.lost.iter().all(|page| expected.contains(page)));
    }
}

#[test]
fn what_is_lost_stays_lost_until_it_is_written() {
    let mut rig = raid(5, 1, 4, Report::After(3), 0);
    rig.fill(0, 16);
    rig.fail(1);
    // A second page of stripe 1 cannot be read: it and the one on the failed member are lost.
    rig.store.lose_page(1, 1);
    rig.read_all(16);
    let lost: BTreeSet<u32> = rig.lost.iter().copied().collect();
    assert_eq!(lost, BTreeSet::from([4, 5]));
    // An update of the stripe cannot work the parity out any more, and must not pretend to.
    rig.write(6, 1);
    rig.run();
    rig.replace(1);
    rig.rebuild(0);
    rig.read_all(16);
    assert_eq!(rig.lost, [4, 5]);
    // A part of a page that is lost is lost as well, and said to be.
    let merge = rig.merge(5);
    rig.run();
    assert_eq!(rig.told[merge].expect("told").1, 1);
    rig.read_all(16);
    assert_eq!(rig.lost, [4, 5]);
    // Written again, everything is there, and protected.
    rig.write(4, 4);
    rig.run();
    assert!(parity_is_right(&rig, 5, 1, 4));
    for node in 1..=5 {
        rig.fail(node);
        rig.read_all(16);
        assert!(rig.lost.is_empty());
        rig.replace(node);
        rig.rebuild(0);
    }
}

#[test]
fn a_second_member_fails_during_the_repair() {
    for (members, parities) in [(5u8, 1u8), (6, 2)] {
        let mut rig = raid(members, parities, 1, Report::After(10), 0);
        rig.fill(0, 4);
        rig.fail(1);
        let read = rig.read(0, 1);
        rig.until(crate::kernel::SimTime(5));
        // What the repair asked for is on its way; the next member is gone before it comes.
        rig.store.lose_page(1, 0);
        rig.read(1, 1);
        rig.run();
        assert_eq!(rig.told[read].expect("told").1, 0);
        assert_eq!(rig.lost.len(), if parities == 1 { 1 } else { 0 });
        // And now before it asks.
        rig.lost.clear();
        let read = rig.read(0, 1);
        rig.run();
        assert_eq!(rig.told[read].expect("told").1, u32::from(parities == 1));
    }
}

#[test]
fn rebuilt_it_survives_the_next_failure() {
    for (members, parities) in [(5, 1), (6, 2)] {
        let mut rig = raid(members, parities, 8, Report::Random(20), 7);
        rig.lenient = true;
        rig.fill(0, 32);
        for round in 0..2 {
            for node in 1..=u16::from(members) {
                rig.fail(node);
                rig.write(u32::from(node), 5);
                rig.replace(node);
                rig.read(0, 32);
                // The foreground continues while it is rebuilt.
                let mut page = round;
                while rig.background(0, Why::Rebuild) {
                    rig.write(page % 32, 1);
                    rig.read((page + 1) % 32, 1);
                    page += 5;
                    rig.step();
                }
                rig.rebuild(0);
                assert!(parity_is_right(&rig, members, parities, 8));
            }
        }
        rig.read_all(32);
        assert!(rig.lost.is_empty());
        assert!(rig.pages(Verb::Write, Cause::Rebuild) > 0);
    }
}

#[test]
fn a_page_that_fails_during_the_rebuild() {
    for (members, parities) in [(5u8, 1u8), (6, 2)] {
        let mut rig = raid(members, parities, 6, Report::After(3), 0);
        rig.fill(0, 24);
        rig.fail(1);
        rig.store.lose_page(1, 2);
        rig.replace(1);
        rig.rebuild(0);
        rig.read_all(24);
        let layout = raid::Layout { members, parities };
        let on = |member: u8| match layout.role(2, Member(member)) {
            Role::Data(index) => Some(8 + u32::from(index)),
            _ => None,
        };
        let expected: Vec<u32> = [on(0), on(1)].into_iter().flatten().collect();
        assert_eq!(rig.lost, if parities == 1 { expected } else { vec![] });
    }
}

#[test]
fn a_mirror_reads_the_other_copy_and_rebuilds() {
    for tell in [crate::engine::Tell::All, crate::engine::Tell::First] {
        let mut rig: Rig<Token> = Rig::flat(Mirror::new(16, tell).into(), 2, 16, Report::Random(20), 5);
        rig.lenient = true;
        rig.fill(0, 16);
        rig.store.lose_page(0, 3);
        rig.store.lose_page(1, 4);
        rig.read_all(16);
        rig.fail(1);
        rig.write(0, 9);
        rig.read_all(16);
        rig.bring_back(1);
        rig.read_all(16);
        rig.rebuild(0);
        // The other copy is complete again, but for the page that nothing has written since it failed.
        rig.write(4, 1);
        rig.run();
        rig.fail(2);
        rig.read_all(16);
        assert!(rig.lost.is_empty());
        rig.replace(2);
        while rig.background(0, Why::Rebuild) {
            rig.write(rig.now.0 as u32 % 16, 1);
            rig.step();
        }
        rig.rebuild(0);
        rig.fail(1);
        rig.read_all(16);
        assert!(rig.lost.is_empty());
        rig.fail(2);
        rig.read_all(16);
        assert_eq!(rig.lost.len(), 16);
    }
}
