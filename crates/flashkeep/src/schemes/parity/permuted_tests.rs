//! Declustered stripes: every place is one unit's, survivors of a failure are read evenly, spare columns chain.

use super::*;
use std::collections::{BTreeMap, BTreeSet};

fn layout(shape: [u8; 4], unit_pages: u32) -> Permuted {
    let [members, data, parities, spares] = shape;
    let redundancy = crate::schemes::RedundancySpec::of("declustered")
        .with("stripe_data", data)
        .with("stripe_parities", parities)
        .with("distributed_spares", spares);
    Permuted::new(&SchemeOptions { members, unit_pages, ..SchemeOptions::of(&redundancy) })
}

const SHAPES: [[u8; 4]; 9] = [
    [3, 1, 1, 1],
    [5, 2, 1, 1],
    [7, 2, 2, 2],
    [11, 4, 2, 1],
    [12, 3, 1, 0],
    [24, 6, 2, 1],
    [24, 4, 1, 2],
    [60, 8, 2, 3],
    [255, 8, 2, 5],
];

fn units(layout: &Permuted, stripe: u32) -> Vec<(Member, Page)> {
    let seats = layout.seats(stripe);
    (0..layout.shape.width()).map(|unit| seats.at(layout.role(unit))).collect()
}

#[test]
fn every_place_is_the_place_of_one_unit() {
    for (shape, unit_pages) in SHAPES.into_iter().zip([1, 1, 4, 3, 1, 16, 1, 2, 1]) {
        let layout = layout(shape, unit_pages);
        let (rows, stripes) = layout.shape.slice();
        assert_eq!(rows * u32::from(layout.shape.places()), stripes * u32::from(layout.shape.width()));
        let pages = rows * unit_pages * 3 + unit_pages * 2;
        let mut taken = BTreeSet::new();
        for stripe in 0..layout.count(pages) {
            let units = units(&layout, stripe);
            let members: BTreeSet<Member> = units.iter().map(|&(member, _)| member).collect();
            assert_eq!(members.len(), units.len(), "{shape:?}: members of a stripe differ");
            for (unit, (member, page)) in (0..).zip(units) {
                assert!(page.low() < pages && taken.insert((member.0, page.low())), "{shape:?}: {stripe}");
                assert_eq!(layout.unit_at(member, page), Some((stripe, unit)));
                assert_eq!(layout.seats(stripe).role_of(member), Some(layout.role(unit)));
            }
        }
        // The remaining places of whole slices are the spare places.
        let whole = |&&(_, page): &&(u8, u32)| page < rows * unit_pages * 3;
        let places = rows * unit_pages * 3 * u32::from(layout.shape.places());
        assert_eq!(taken.iter().filter(whole).count() as u32, places);
        let seats = layout.seats(0);
        assert_eq!(
            (0..shape[0]).filter(|&m| seats.role_of(Member(m)).is_none()).count() as u8,
            shape[0] - layout.shape.width()
        );
    }
}

/// The most, as a share of the mean.
fn most(counts: &BTreeMap<u8, u64>, others: u8) -> f64 {
    let sum: u64 = counts.values().sum();
    *counts.values().max().expect("some are counted") as f64 * f64::from(others) / sum as f64
}

/// Over one period of the permutations, for each failed member: reads of the survivors, writes to their spare places,
/// and units of each kind of all members.
#[test]
fn survivors_are_read_and_written_evenly() {
    for shape in SHAPES.into_iter().filter(|shape| shape[0] < 100) {
        let mut layout = layout(shape, 1);
        let slices = layout.permutations.period();
        let (_, stripes) = layout.shape.slice();
        let mut kinds = BTreeMap::<(bool, u8), u64>::new();
        for failed in [0, shape[0] / 2, shape[0] - 1] {
            layout.assign(Member(failed));
            let (mut reads, mut writes) = (BTreeMap::new(), BTreeMap::new());
            for stripe in 0..slices * stripes {
                let seats = layout.seats(stripe);
                for unit in 0..layout.shape.width() {
                    let parity = unit >= layout.shape.data;
                    *kinds.entry((parity, seats.at(layout.role(unit)).0.0)).or_default() += 1;
                }
                let Some(lost) = seats.role_of(Member(failed)) else { continue };
                let first = matches!(lost, Role::Data(_)).then_some(Role::P);
                for role in (0..shape[1]).map(Role::Data).chain(first).filter(|&role| role != lost) {
                    *reads.entry(seats.at(role).0.0).or_default() += 1;
                }
                for relocation in layout.relocations(stripe, |member| member.0 != failed) {
                    assert_eq!(relocation.from, Member(failed));
                    *writes.entry(relocation.to.0).or_default() += 1;
                }
            }
            assert!(most(&reads, shape[0] - 1) < 1.02, "{shape:?}: {reads:?}");
            assert!(shape[3] == 0 || most(&writes, shape[0] - 1) < 1.05, "{shape:?}: {writes:?}");
            assert!(!writes.contains_key(&failed));
            layout.release(|_| true);
        }
        for parity in [false, true] {
            let counts: BTreeSet<u64> = (0..shape[0]).map(|member| kinds[&(parity, member)]).collect();
            assert_eq!(counts.len(), 1, "{shape:?}: every member has equally many");
        }
    }
}

/// Three members fail one after the other, the spare places of one among them, and come back in each order.
#[test]
fn columns_chain_and_are_freed() {
    for order in [[1, 4, 6], [6, 4, 1], [4, 1, 6]] {
        let mut layout = layout([8, 2, 2, 3], 1);
        let count = layout.count(80);
        let before: Vec<_> = (0..count).map(|stripe| units(&layout, stripe)).collect();
        let mut failed = BTreeSet::new();
        let settle = |layout: &mut Permuted, failed: &BTreeSet<u8>| {
            let mut moved = 0;
            for stripe in 0..count {
                for relocation in layout.relocations(stripe, |member| !failed.contains(&member.0)) {
                    layout.relocate(stripe, relocation.unit, relocation.to);
                    moved += 1;
                }
                let units = units(layout, stripe);
                assert!(units.iter().all(|(member, _)| !failed.contains(&member.0)));
                let members: BTreeSet<_> = units.iter().map(|&(member, _)| member).collect();
                assert_eq!(members.len(), units.len(), "units of a stripe are on different members");
                for (unit, (member, page)) in (0..).zip(units) {
                    assert_eq!(layout.unit_at(member, page), Some((stripe, unit)));
                }
            }
            // Every place is asked for, those that hold nothing as well.
            let places = (0..8).flat_map(|member| (0..80).map(move |page| (Member(member), Page::of(page))));
            for (stripe, unit) in places.filter_map(|(member, page)| layout.unit_at(member, page)) {
                assert!(unit < 4 && stripe < layout.count(84));
            }
            moved
        };
        for member in order {
            failed.insert(member);
            assert!(layout.assign(Member(member)) && !layout.assign(Member(member)));
            assert!(settle(&mut layout, &failed) > 0);
        }
        assert!(!layout.assign(Member(0)), "no column is left");
        for member in order {
            failed.remove(&member);
            assert!(settle(&mut layout, &failed) > 0);
            assert!(layout.release(|member| !failed.contains(&member.0)));
        }
        assert!(!layout.is_diverted() && layout.moved.iter().all(|moved| moved.count() == 0));
        assert!((0..count).all(|stripe| units(&layout, stripe) == before[stripe as usize]));
    }
}
