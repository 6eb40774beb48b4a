//! Diff-RAID: how its members age beside each other, counted in pages that the host's writes write to them.

use super::*;
use crate::engine::{Cause, Command, Page as BackendPage, Verb};
use crate::schemes::Shares;

/// Members, stripes and pages a member may be written before it is replaced.
const MEMBERS: u8 = 5;
const STRIPES: u32 = 100;
const PAGES: u32 = STRIPES * (MEMBERS as u32 - 1);

fn array(shares: &Shares) -> Rig<()> {
    let setup = Setup { scheme: "diff-raid", members: MEMBERS, stripes: STRIPES, ..RAID5 };
    let mut store = Store::new(0);
    store.counts_wear = true;
    let backends = (0..MEMBERS).map(|_| Tree::Backend(store.add(STRIPES, 0, Report::AtOnce))).collect();
    let scheme = setup.build_with(|redundancy| redundancy.set("shares", shares.clone()));
    let mut rig = Rig::new(Tree::Node(scheme, backends), store);
    rig.fill(0, PAGES as u16);
    rig
}

/// Writes the next page of a round that comes to every page once, far from the last.
fn write(rig: &mut Rig<()>) {
    let page = (rig.told.len() as u32).wrapping_mul(37) % PAGES;
    rig.write(page, 1);
    rig.store.log.clear();
}

/// What each member has been written, beside the first.
fn ages(rig: &Rig<()>) -> Vec<f64> {
    let worn = |member: u8| rig.store.worn(u16::from(member)) as f64;
    (0..MEMBERS).map(|member| worn(member) / worn(0)).collect()
}

/// r = p + (1 − p)/(n − 1): of the members' rates of ageing, the first one's beside the others'.
#[test]
fn unequal_shares_age_unequally() {
    for (first, expected) in [(1.0, 4.0), (0.8, 2.96), (0.4, 1.52), (0.2, 1.0)] {
        let mut rig = array(&Shares::First(first));
        (0..40 * PAGES).for_each(|_| write(&mut rig));
        for (member, age) in ages(&rig).into_iter().enumerate().skip(1) {
            let ratio = 1.0 / age;
            assert!(
                (ratio / expected - 1.0).abs() < 0.02,
                "{first}: member {member} ages {ratio} times slower"
            );
        }
    }
}

/// Members are replaced one after the other as they reach their limit, and the oldest of those that are left gets the
/// largest share: then their ages, when one reaches the limit, are always the same. (What a replacement itself makes
/// the members write is left out. They swing towards that slowly: by a tenth a replacement, or less, with shares of
/// 0.4.)
#[test]
fn ages_at_a_replacement_converge() {
    for (first, expected) in [
        (1.0, [1.0, 0.5, 0.375, 0.25, 0.125]),
        (0.8, [1.0, 0.575, 0.431, 0.287, 0.144]),
        (0.4, [1.0, 0.725, 0.544, 0.363, 0.181]),
    ] {
        let (mut rig, limit) = (array(&Shares::First(first)), 6_000);
        let worn = |rig: &Rig<()>, member: u8| rig.store.worn(u16::from(member));
        for replaced in 0..120 {
            let oldest = loop {
                write(&mut rig);
                if let Some(oldest) = (0..MEMBERS).find(|&member| worn(&rig, member) >= limit) {
                    break oldest;
                }
            };
            let mut ages: Vec<u64> = (0..MEMBERS).map(|member| worn(&rig, member)).collect();
            ages.sort_unstable();
            for (age, expected) in ages.iter().rev().zip(expected).filter(|_| replaced == 119) {
                let age = *age as f64 / limit as f64;
                assert!((age / expected - 1.0).abs() < 0.02, "{first}: {ages:?} of {limit}, not {expected}");
            }
            rig.replace(u16::from(oldest) + 1);
            rig.rebuild(0);
        }
    }
}

/// What a replacement makes of the shares, and what moves.
#[test]
fn parity_and_data_change_places() {
    let setup = Setup { scheme: "diff-raid", stripes: STRIPES, ..RAID5 };
    let mut rig: Rig = setup.rig(Report::After(3), 0);
    let shares = |rig: &Rig| match scheme(rig) {
        Any::DiffRaid(scheme) => scheme.shares(),
        other => panic!("{other:?}"),
    };
    rig.fill(0, setup.pages() as u16);
    rig.run();
    assert_eq!(shares(&rig), [40, 15, 15, 15, 15]);
    let parities = |rig: &Rig| {
        let mut parities = vec![0; 5];
        check_covers(rig).iter().filter(|unit| unit.role == Role::P).for_each(|unit| {
            parities[usize::from(unit.member.0)] += 1;
        });
        parities
    };
    assert_eq!(parities(&rig), shares(&rig));
    rig.fail(1);
    rig.replace(1);
    rig.store.log.clear();
    rig.rebuild(0);
    assert_eq!(shares(&rig), [15, 40, 15, 15, 15]);
    assert_eq!(parities(&rig), shares(&rig));
    // The new member has been given its 100 pages. The 40 stripes of the first share went from member 0 to member 1,
    // the 15 of the second from 1 to 2, and so on, the last from 4 to 0: three pages each, or two where one of the two
    // is the last member.
    let of = |verb, cause| rig.pages(verb, cause);
    assert_eq!(of(Verb::Write, Cause::Rebuild), 100);
    assert_eq!(of(Verb::Write, Cause::Migrate), (40 + 15 + 15) * 3 + (15 + 15) * 2);
    assert_eq!(of(Verb::Read, Cause::Migrate), of(Verb::Write, Cause::Migrate));
    let first = |verb: Verb| {
        let migrates =
            |c: &&Command| c.cause == Cause::Migrate && c.verb == verb && c.start == BackendPage(0);
        let steps = rig.store.log.iter().filter(move |(_, _, c)| migrates(&c));
        steps.map(|(_, backend, _)| backend.0).collect::<Vec<_>>()
    };
    // Stripe 0 is of the first share: D0 from the last member to the first, D1 from the second to the last, P to the
    // second.
    assert_eq!((first(Verb::Read), first(Verb::Write)), (vec![4, 1, 0], vec![0, 4, 1]));
}

/// `advise` omits schemes whose arrays take long to fill: the table of schemes says which.
#[test]
fn the_table_says_whose_arrays_start_in_rows() {
    for setup in all() {
        let entry = named(setup.scheme).expect("a scheme of the table");
        assert_eq!(setup.build().row().is_some(), entry.in_rows && !setup.waits, "{setup:?}");
    }
}
