//! Maps are nodes between a scheme and its members: they keep every promise of the schemes.

use super::bench::Bench;
use super::{Tried, check_losses, history, history_seen, sets, small};
use crate::drive::Fault;
use crate::engine::{Hazard, Verb};
use crate::mapping::{self, BackendKind, MAPS};
use crate::schemes::Members;

/// Each map that is a node.
fn nodes() -> impl Iterator<Item = &'static mapping::MappingEntry> {
    MAPS.iter().filter(|map| map.below != BackendKind::Itself)
}

fn bench(map: &mapping::MappingEntry, scheme: &Tried, planes: u32) -> Bench {
    let map = format!("ftl.map=\"{}\"", map.name);
    let mut more = vec![map.as_str(), "ftl.cache_kib=0.03125"];
    // Old versions need room, too.
    more.extend((scheme.kind == Members::WithHiddenRange).then_some("ftl.over_provisioning=1.2"));
    Bench::new(&small(scheme.with.parts, planes), &scheme.set(false, &more))
}

pub(super) fn every_map_serves_every_scheme_over_mapped_members(scheme: &Tried) {
    for map in nodes() {
        for seed in 0..12 {
            let mut bench = bench(map, scheme, 1 + seed as u32 % 2);
            history(&mut bench, seed, 150, u32::MAX);
            bench.run();
            bench.audit();
            assert!(bench.read_all().is_empty(), "{} under {scheme}: a page is lost", map.name);
        }
    }
}

pub(super) fn members_with_maps_fail_at_every_step(scheme: &Tried) {
    let survives = scheme.survives();
    for map in nodes() {
        let mut whole = bench(map, scheme, 1);
        let sets = sets(whole.members(), survives);
        history_seen(&mut whole, 1, 60, u32::MAX, |bench| {
            let step = bench.steps;
            let failing = &sets[step as usize % sets.len()];
            let mut bench = bench.copy();
            let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
            bench.fail(failing);
            for page in [1, 7, 30] {
                bench.submit(Verb::Write, page, 3);
            }
            let what = format!("{} under {scheme}, {failing:?} at step {step}", map.name);
            check_losses(&mut bench, &exposed, &before, &what);
            bench.audit();
        });
    }
}

pub(super) fn members_with_maps_are_rebuilt_and_the_next_may_fail(scheme: &Tried) {
    let survives = scheme.survives();
    for map in nodes() {
        for seed in 0..12 {
            let what = format!("{} under {scheme}, seed {seed}", map.name);
            let mut bench = bench(map, scheme, 1 + seed as u32 % 2);
            history(&mut bench, seed, 60, 50 + 17 * seed as u32);
            let members = bench.members();
            let failing = |from: u32| (0..survives).map(|n| (seed as u32 + from + n) % members).collect();
            let first: Vec<u32> = failing(0);
            let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
            bench.fail(&first);
            history(&mut bench, seed + 100, 25, u32::MAX);
            bench.replace(&first);
            history(&mut bench, seed + 200, 25, u32::MAX);
            let lost = check_losses(&mut bench, &exposed, &before, &what);
            assert!(bench.is_whole() || !lost.is_empty(), "{what}: rebuilt");
            bench.audit();
            let before = bench.versions();
            let exposed = bench.exposed(Hazard::Unit).union(&lost).copied().collect();
            let next: Vec<u32> = failing(1);
            bench.fail(&next);
            check_losses(&mut bench, &exposed, &before, &what);
        }
    }
}

/// A plane, a block or a page of a member fails, or cannot be read; then, if that was brought back, another member.
pub(super) fn parts_of_members_with_maps_fail(scheme: &Tried) {
    for map in nodes() {
        for seed in 0..24_u32 {
            let mut bench = bench(map, scheme, 2);
            history(&mut bench, u64::from(seed), 80, 60 + 23 * seed);
            let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
            let member = seed % scheme.with.parts;
            let plane = bench.planes(member)[seed as usize / 5 % 2];
            let fault = match seed % 4 {
                // Parity that is put off does not protect a page for which no block is left.
                0 if !scheme.defers => Fault::Planes { first: plane, count: 1 },
                1 => Fault::Page(bench.physical(plane, seed % 12, seed % 3)),
                _ => Fault::Block(plane, seed % 12),
            };
            bench.damage(fault, seed % 8 < 5);
            history(&mut bench, u64::from(seed) + 50, 60, u32::MAX);
            let what = format!("{} under {scheme}, seed {seed}, {fault:?}", map.name);
            let lost = check_losses(&mut bench, &exposed, &before, &what);
            bench.audit();
            if !bench.is_whole() {
                continue;
            }
            let before = bench.versions();
            let exposed = bench.exposed(Hazard::Unit).union(&lost).copied().collect();
            bench.fail(&[(member + 1) % bench.members()]);
            check_losses(&mut bench, &exposed, &before, &what);
        }
    }
}

/// Blocks fail one after the other until nothing is left: lost pages are reported as lost, and nothing is read wrong.
pub(super) fn maps_go_on_with_fewer_and_fewer_blocks(scheme: &Tried) {
    for map in nodes() {
        for seed in 0..12 {
            let mut bench = bench(map, scheme, 2);
            history(&mut bench, seed, 60, u32::MAX);
            for block in 0..12 {
                for member in 0..bench.members() {
                    let plane = bench.planes(member)[seed as usize % 2];
                    bench.damage(Fault::Block(plane, (block + seed as u32) % 12), true);
                    history(&mut bench, seed + u64::from(block), 12, u32::MAX);
                }
            }
            bench.run();
            bench.read_all();
            bench.audit();
        }
    }
}
