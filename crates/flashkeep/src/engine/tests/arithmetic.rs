//! The effects of roles: the reads, the writes, and every unit that may be lost worked out exactly.

use super::*;
use crate::engine::{Cause, Verb};

#[test]
fn parity_rotates_to_the_left() {
    let layout = raid::Layout { members: 5, parities: 1 };
    let parity = |stripe| layout.member(stripe, Role::P).0;
    assert_eq!([0, 1, 3, 60, 61].map(parity), [4, 3, 1, 4, 3]);
    assert_eq!(layout.role(3, Member(2)), Role::Data(1), "data units skip the parity");
}

#[test]
fn a_run_is_cut_at_the_stripe() {
    // N = 5; D1 to D4 are three pages of stripe 0 (reconstruct: read D0) and one of stripe 1 (read D4 and P1).
    let mut run = raid(5, 1, 4, Report::After(1), 0);
    run.fill(0, 16);
    run.store.log.clear();
    run.write(1, 4);
    run.run();
    assert_eq!((run.pages(Verb::Read, Cause::Parity), run.pages(Verb::Write, Cause::Parity)), (3, 2));
    assert!(parity_is_right(&run, 5, 1, 4));

    let mut pages = raid(5, 1, 4, Report::After(1), 0);
    pages.fill(0, 16);
    pages.store.log.clear();
    for page in 1..5 {
        pages.write(page, 1);
    }
    pages.run();
    assert_eq!((pages.pages(Verb::Read, Cause::Parity), pages.pages(Verb::Write, Cause::Parity)), (8, 4));
    assert!(parity_is_right(&pages, 5, 1, 4));
}

#[test]
fn what_is_known_is_not_read() {
    let mut rig = raid(6, 2, 4, Report::After(1), 0);
    let reads = |rig: &Rig<Token>| rig.pages(Verb::Read, Cause::Parity);
    rig.write(0, 1);
    rig.run();
    assert_eq!(reads(&rig), 0, "never-written pages are zeros");
    rig.write(0, 4);
    rig.run();
    assert_eq!(reads(&rig), 0, "a full stripe needs no old data");
    rig.write(5, 1);
    rig.write(6, 1);
    rig.run();
    assert_eq!(reads(&rig), 1, "one old page is fewer than two old parities");
    assert!(parity_is_right(&rig, 6, 2, 4));
    rig.store.log.clear();
    rig.read(7, 1);
    rig.run();
    assert!(rig.store.log.is_empty());
}

#[test]
fn old_data_in_hand_are_not_read_again() {
    for (members, parities) in [(5, 1), (6, 2)] {
        let mut rig = raid(members, parities, 4, Report::After(1), 0);
        rig.fill(0, 16);
        rig.store.log.clear();
        rig.merge(2);
        rig.run();
        assert_eq!(rig.pages(Verb::Read, Cause::Update), 1);
        // With one parity in four data pages, P alone; with two, P and Q.
        assert_eq!(rig.pages(Verb::Read, Cause::Parity), u32::from(parities));
        assert!(parity_is_right(&rig, members, parities, 4));
        rig.read_all(16);
    }
}

#[test]
fn a_trim_is_a_write_of_zeros() {
    let mut rig = raid(5, 1, 4, Report::Random(20), 1);
    rig.fill(0, 16);
    rig.trim(1, 6);
    rig.run();
    assert!(parity_is_right(&rig, 5, 1, 4));
    rig.store.log.clear();
    rig.trim(0, 1);
    rig.run();
    assert_eq!(rig.pages(Verb::Read, Cause::Parity), 0, "nothing is left of stripe 0 to be read");
    for node in 1..=5 {
        rig.fail(node);
        rig.read_all(16);
        rig.bring_back(node);
    }
    assert!(rig.lost.is_empty());
}

/// Every choice of `parities` failed members; every page must come back, then again after a rebuild.
fn every_loss(members: u8, parities: u8, lost: &[u16]) {
    let stripes = u32::from(members) + 1;
    let pages = stripes * u32::from(members - parities);
    let mut rig = raid(members, parities, stripes, Report::Random(30), u64::from(lost[0]));
    rig.fill(0, pages as u16);
    for &member in lost {
        rig.fail(member);
    }
    rig.read_all(pages);
    assert!(rig.lost.is_empty(), "without {lost:?}");
    // Writing continues, and the written data are there.
    for page in (0..pages).step_by(3) {
        rig.write(page, (1 + page % 2).min(pages - page) as u16);
    }
    rig.run();
    rig.read_all(pages);
    assert!(rig.lost.is_empty(), "written without {lost:?}");
    for &member in lost {
        rig.replace(member);
    }
    rig.rebuild(0);
    assert!(parity_is_right(&rig, members, parities, stripes), "rebuilt without {lost:?}");
}

#[test]
fn every_one_of_raid5_may_be_lost() {
    for member in 1..=5 {
        every_loss(5, 1, &[member]);
    }
}

#[test]
fn every_two_of_raid6_may_be_lost() {
    for first in 1..=6 {
        every_loss(6, 2, &[first]);
        for second in first + 1..=6 {
            every_loss(6, 2, &[first, second]);
            every_loss(6, 2, &[second, first]);
        }
    }
}
