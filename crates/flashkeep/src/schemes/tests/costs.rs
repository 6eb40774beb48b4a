//! What updates cost in pages: worked examples and closed forms.

use super::*;
use crate::engine::{Cause, Verb, Why};
use crate::kernel::SimTime;

fn reads<C: Contents>(rig: &Rig<C>, cause: Cause) -> u32 {
    rig.pages(Verb::Read, cause)
}

fn writes<C: Contents>(rig: &Rig<C>, cause: Cause) -> u32 {
    rig.pages(Verb::Write, cause)
}

/// A rig whose pages were all written before time 0, with nothing counted yet.
fn full<C: Contents>(setup: &Setup, report: Report) -> Rig<C> {
    let mut rig = setup.rig(report, 0);
    rig.fill(0, setup.pages() as u16);
    rig.run();
    rig.store.log.clear();
    rig
}

#[test]
fn the_papers_update_of_four_pages() {
    // Figure 1: five chips, D1 to D4 are updated. Stripe 0 reads D0, stripe 1 reads D4 and P1.
    let mut rig: Rig = full(&RAID5, Report::After(10));
    rig.write(1, 4);
    rig.run();
    assert_eq!(
        (reads(&rig, Cause::Parity), writes(&rig, Cause::Parity), writes(&rig, Cause::Host)),
        (3, 2, 4)
    );
    let read: Vec<_> = rig.store.log.iter().filter(|(_, _, c)| c.verb == Verb::Read).collect();
    let read: Vec<_> = read.iter().map(|(_, backend, c)| (backend.0, c.start.low())).collect();
    assert_eq!(read, [(0, 0), (0, 1), (3, 1)]);
    assert_eq!(check_covers(&rig).len(), 5 * 6);
}

#[test]
fn a_single_page_costs_two_reads_and_two_writes() {
    for (setup, parities) in [(RAID4, 1), (RAID5, 1), (RAID6, 2)] {
        let mut rig: Rig<()> = full(&Setup { members: setup.members + 3, ..setup }, Report::After(10));
        let pages = setup.pages();
        for page in 0..pages {
            rig.write(page * 5 % pages, 1);
            rig.run();
        }
        assert_eq!(reads(&rig, Cause::Parity), (1 + parities) * pages);
        assert_eq!((writes(&rig, Cause::Host), writes(&rig, Cause::Parity)), (pages, parities * pages));
    }
}

/// The paper's rule: read-modify-write if u + 1 ≤ N − 1 − u.
#[test]
fn whichever_reads_less() {
    for (members, parities, scheme) in [(5, 1, "raid5"), (8, 1, "raid4"), (9, 1, "raid5"), (8, 2, "raid6")] {
        let setup = Setup { scheme, members, ..RAID5 };
        let data = setup.data();
        for u in 1..=data {
            let mut rig: Rig<()> = full(&setup, Report::After(10));
            rig.write(0, u as u16);
            rig.run();
            let expected = (u + parities).min(data - u);
            assert_eq!(reads(&rig, Cause::Parity), expected, "{u} of {data} pages");
            assert_eq!(writes(&rig, Cause::Parity), parities);
        }
    }
}

#[test]
fn known_zeros_are_not_read() {
    let mut rig: Rig = RAID5.rig(Report::After(10), 0);
    let cost = |rig: &mut Rig, act: fn(&mut Rig)| {
        rig.store.log.clear();
        act(rig);
        rig.run();
        check_covers(rig);
        (reads(rig, Cause::Parity), writes(rig, Cause::Parity), rig.pages(Verb::Trim, Cause::Parity))
    };
    // The first page of a stripe; the second, which is next to one only; the first again.
    assert_eq!(cost(&mut rig, |rig| _ = rig.write(0, 1)), (0, 1, 0));
    assert_eq!(cost(&mut rig, |rig| _ = rig.write(1, 1)), (1, 1, 0));
    assert_eq!(cost(&mut rig, |rig| _ = rig.write(0, 1)), (1, 1, 0));
    assert_eq!(cost(&mut rig, |rig| _ = rig.write(2, 2)), (1, 1, 0));
    // Trimmed: the one page is known, the parity follows. Trimmed again: nothing.
    assert_eq!(cost(&mut rig, |rig| _ = rig.trim(3, 1)), (2, 1, 0));
    assert_eq!(cost(&mut rig, |rig| _ = rig.trim(3, 1)), (0, 0, 0));
    // The last pages go, and with them the parity.
    assert_eq!(cost(&mut rig, |rig| _ = rig.trim(0, 4)), (0, 0, 1));
    assert!(check_covers(&rig).is_empty());
    assert_eq!(cost(&mut rig, |rig| _ = rig.write(3, 1)), (0, 1, 0));
}

#[test]
fn what_has_been_read_is_not_read_again() {
    let mut rig: Rig = full(&RAID5, Report::After(10));
    rig.merge(5);
    rig.run();
    // The old part for the merge, and the parity; not the old data for the parity.
    assert_eq!(
        (reads(&rig, Cause::Update), reads(&rig, Cause::Parity), writes(&rig, Cause::Parity)),
        (1, 1, 1)
    );
    check_covers(&rig);
}

#[test]
fn a_full_stripe_is_written_at_once() {
    for setup in [RAID4, RAID5, RAID6, WAITING, WAITING6] {
        let mut rig: Rig = setup.rig(Report::After(10), 0);
        let write = rig.write(setup.data(), setup.data() as u16);
        rig.run();
        assert_eq!(rig.told[write].expect("told").0, SimTime(10));
        assert_eq!((reads(&rig, Cause::Parity), writes(&rig, Cause::Parity)), (0, setup.survives()));
        assert_eq!(
            (rig.engine.tree().exposure().pages(), check_covers(&rig).len()),
            (0, usize::from(setup.members))
        );
    }
}

#[test]
fn parity_may_wait_until_its_stripe_is_full() {
    for setup in [WAITING, WAITING6] {
        let (mut rig, parities): (Rig, u32) = (setup.rig(Report::After(10), 0), setup.survives());
        let pages: Vec<_> = (0..4).map(|page| (rig.write(page, 1), page)).collect();
        // The fourth takes the others with it.
        assert_eq!((rig.engine.tree().exposure().pages(), declared(&rig, &setup)), (3, vec![0, 1, 2]));
        rig.until(SimTime(10));
        // No plan waited for another, and nothing was read; the last page brought the parity.
        assert!(pages.iter().all(|&(write, _)| rig.told[write].expect("told").0 == SimTime(10)));
        assert_eq!((reads(&rig, Cause::Parity), writes(&rig, Cause::Parity)), (0, parities));
        assert_eq!((rig.engine.tree().exposure().pages(), declared(&rig, &setup).len()), (0, 0));
        check_covers(&rig);
        // A page that is written again while its stripe waits is read once.
        for page in [4, 5, 4, 4] {
            rig.write(page, 1);
        }
        rig.drain();
        assert_eq!((reads(&rig, Cause::Parity), writes(&rig, Cause::Parity)), (2, parities));
        assert_eq!(rig.engine.tree().exposure().pages(), 2);
        // Idle time is the end of waiting.
        rig.until(SimTime(rig.now.0 + 999));
        assert_eq!(writes(&rig, Cause::Parity), parities);
        rig.until(SimTime(rig.now.0 + 11));
        assert_eq!((reads(&rig, Cause::Parity), writes(&rig, Cause::Parity)), (2, 2 * parities));
        assert_eq!(
            (rig.engine.tree().exposure().pages(), check_covers(&rig).len()),
            (0, 6 + 2 * parities as usize)
        );
        // From now on the stripe is like any other.
        rig.store.log.clear();
        rig.write(6, 1);
        rig.run();
        assert_eq!(writes(&rig, Cause::Parity), parities);
        assert!(reads(&rig, Cause::Parity) > 0);
        check_covers(&rig);
    }
}

#[test]
fn deferred_parity_costs_a_write_a_page_and_a_stripe_later() {
    let mut rig: Rig = full(&FRA, Report::After(10));
    let write = rig.write(1, 2);
    let other = rig.write(2, 1);
    rig.until(SimTime(rig.now.0 + 10));
    assert_eq!(rig.told[write].expect("told").0, rig.told[other].expect("told").0);
    assert_eq!((rig.store.count(|_, c| c.verb == Verb::Write), rig.pages(Verb::Read, Cause::Parity)), (3, 0));
    assert_eq!(rig.store.count(|_, c| c.verb == Verb::Remap), 2, "only what the parity knows is kept");
    assert_eq!((rig.engine.tree().exposure().pages(), declared(&rig, &FRA)), (2, vec![1, 2]));
    // Two codewords hold at the same time: the old parity with the old versions.
    assert_eq!(check_covers(&rig).len(), 5 * 6);
    rig.run();
    assert_eq!((reads(&rig, Cause::Parity), writes(&rig, Cause::Parity)), (4, 1));
    assert_eq!((rig.pages(Verb::Trim, Cause::Parity), rig.engine.tree().exposure().pages()), (2, 0));
    check_covers(&rig);
}

#[test]
fn partial_parity_reads_nothing_that_is_not_written() {
    let setup = Setup { members: 8, ..PPC };
    let mut rig: Rig = full(&setup, Report::After(10));
    assert_eq!(setup.data(), 7);
    // The first page: its version is kept, the partial parity is new.
    rig.write(0, 1);
    rig.run();
    assert_eq!((reads(&rig, Cause::Parity), writes(&rig, Cause::Parity)), (0, 0));
    assert_eq!((rig.store.count(|_, c| c.verb == Verb::Remap), writes(&rig, Cause::PartialParity)), (1, 1));
    rig.store.log.clear();
    // Another page of that stripe: nothing is read from flash. The first one again: its previous version is.
    rig.write(1, 1);
    rig.run();
    assert_eq!(reads(&rig, Cause::Parity), 0);
    assert_eq!((reads(&rig, Cause::PartialParity), writes(&rig, Cause::PartialParity)), (1, 1));
    rig.write(0, 1);
    rig.run();
    assert_eq!((reads(&rig, Cause::Parity), writes(&rig, Cause::Host)), (1, 2));
    assert_eq!((writes(&rig, Cause::Parity), rig.engine.tree().exposure().pages()), (0, 0));
    check_covers(&rig);
    // Its commit: two of seven are new, so the old parity and two old versions are read, and not five others.
    rig.store.log.clear();
    assert!(rig.background(0, Why::Urgent));
    rig.run();
    assert_eq!((reads(&rig, Cause::Parity), writes(&rig, Cause::Parity)), (3, 1));
    assert_eq!(rig.pages(Verb::Trim, Cause::Parity), 3);
    check_covers(&rig);
    // And with five of seven new, the two others are.
    rig.write(0, 5);
    rig.run();
    rig.store.log.clear();
    assert!(rig.background(0, Why::Urgent));
    rig.run();
    assert_eq!((reads(&rig, Cause::Parity), writes(&rig, Cause::Parity)), (2, 1));
    assert_eq!(check_covers(&rig).len(), 8 * 6);
}

#[test]
fn a_collection_may_force_the_commit() {
    let mut rig: Rig = full(&PPC, Report::After(10));
    rig.write(4, 1);
    rig.run();
    let old = crate::engine::Member(0);
    assert!(!rig.background(0, Why::Leaving(old, Page::of(RAID5.stripes + 2))), "that is not an old version");
    rig.store.log.clear();
    let kept =
        (RAID5.stripes..RAID5.stripes + 3).find(|&page| rig.background(0, Why::Leaving(old, Page::of(page))));
    assert!(kept.is_some());
    rig.run();
    assert_eq!(writes(&rig, Cause::Parity), 1);
    check_covers(&rig);
}

#[test]
fn a_member_short() {
    let mut rig: Rig = full(&RAID5, Report::After(10));
    rig.fail(5);
    let cost = |rig: &mut Rig, page| {
        rig.store.log.clear();
        rig.write(page, 1);
        rig.run();
        (reads(rig, Cause::Parity), rig.store.count(|_, command| command.verb == Verb::Write))
    };
    // The member gone had the parity: nothing is read for it.
    assert_eq!(cost(&mut rig, 0), (0, 1));
    // It had another page, which is not needed; or the one that is written, which the others' parity takes in.
    assert_eq!(cost(&mut rig, 4), (2, 2));
    assert_eq!(cost(&mut rig, 7), (3, 1));
    assert_eq!(rig.store.count(|backend, _| backend.0 == 4), 0);
    assert!(read_all(&mut rig, &RAID5).is_empty());
    rig.bring_back(5);
    rig.rebuild(0);
    assert_eq!(check_covers(&rig).len(), 5 * 6);
}

#[test]
fn what_a_write_will_touch_is_asked_for_ahead_through_all_levels() {
    let mirror = Setup { stripes: RAID5.stripes, ..MIRROR };
    let mut store: Store<()> = Store::new(1);
    let mut pair = || {
        let backend = |_| Tree::Backend(store.add(mirror.stripes, 0, Report::Random(40)));
        Tree::Node(mirror.build(), (0..mirror.members).map(backend).collect())
    };
    let pairs = (0..RAID5.members).map(|_| pair()).collect();
    let rig: Rig<()> = Rig::new(Tree::Node(RAID5.build(), pairs), store);
    for page in (0..RAID5.pages()).map(Page::of) {
        let mut asked = Vec::new();
        rig.engine.tree().prefetch(NodeId::ROOT, page, &mut |backend, page| asked.push((backend, page)));
        // Both copies of the page, and both of its stripe's parity.
        let (data, parity) = asked.split_at(2);
        assert_eq!(data, rig.engine.tree().places(page));
        let backends: Vec<_> = asked.iter().map(|(backend, _)| backend.0).collect();
        assert!(parity.len() == 2 && (1..4).all(|n| !backends[..n].contains(&backends[n])), "{backends:?}");
        assert!(
            asked.iter().all(|&(_, at)| at == Page::of(page.low() / 4)),
            "a stripe has the same page everywhere"
        );
    }
}
