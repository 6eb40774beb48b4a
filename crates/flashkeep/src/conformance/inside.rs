//! Schemes inside a drive: failures at every step, rebuilds, pages that cannot be read, capacity.

use super::bench::Bench;
use super::{Tried, check_losses, fill, history, history_seen, sets, small};
use crate::drive::{Drive, Fault};
use crate::engine::{Hazard, Verb};
use std::collections::BTreeSet;

/// A scheme inside a drive.
fn bench(tried: &Tried) -> Bench {
    Bench::new(&small(tried.with.parts, 1), &tried.set(false, &[]))
}

pub(super) fn every_failure_at_every_step_costs_only_what_was_exposed(scheme: &Tried) {
    let survives = scheme.survives();
    let mut whole = bench(scheme);
    let sets = sets(whole.members(), survives);
    history_seen(&mut whole, 1, 70, u32::MAX, |bench| {
        let step = bench.steps;
        for failing in scheme.in_turn(&sets, step) {
            let mut bench = bench.copy();
            let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
            bench.fail(failing);
            for page in [1, 7, 30] {
                bench.submit(Verb::Write, page, 3);
            }
            check_losses(&mut bench, &exposed, &before, &format!("{scheme}, {failing:?} at step {step}"));
            bench.audit();
        }
    });
    whole.run();
    whole.audit();
}

pub(super) fn rebuilt_it_survives_the_next_failure(scheme: &Tried) {
    let survives = scheme.survives();
    for seed in 0..12 {
        let mut bench = bench(scheme);
        history(&mut bench, seed, 60, 50 + 17 * seed as u32);
        let members = bench.members();
        let first: Vec<u32> = (0..survives).map(|n| (seed as u32 + n) % members).collect();
        let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
        bench.fail(&first);
        history(&mut bench, seed + 100, 25, u32::MAX);
        bench.replace(&first);
        history(&mut bench, seed + 200, 25, u32::MAX);
        let what = format!("{scheme}, seed {seed}, first");
        let lost = check_losses(&mut bench, &exposed, &before, &what);
        assert!(bench.is_whole() || !lost.is_empty(), "{scheme}, seed {seed}: rebuilt");
        // What waits for its parity is exposed to a power cut, and counted; what shares a stripe with a lost page
        // is exposed until that is written again; nothing else is.
        let waiting = bench.exposed(Hazard::Power).len() as u64;
        assert!(
            bench.exposed_now() <= waiting || !lost.is_empty(),
            "{scheme}, seed {seed}: exposed after a rebuild"
        );
        bench.audit();
        let before = bench.versions();
        let exposed = bench.exposed(Hazard::Unit).union(&lost).copied().collect();
        let next: Vec<u32> = (0..survives).map(|n| (seed as u32 + 1 + n) % members).collect();
        bench.fail(&next);
        check_losses(&mut bench, &exposed, &before, &format!("{scheme}, seed {seed}, next"));
    }
}

pub(super) fn a_failure_during_the_rebuild_is_handled(scheme: &Tried) {
    let survives = scheme.survives();
    for seed in 0..12 {
        let mut bench = bench(scheme);
        history(&mut bench, seed, 60, u32::MAX);
        bench.run();
        let members = bench.members();
        let first: Vec<u32> = (0..survives).collect();
        bench.fail(&first);
        bench.replace(&first);
        for _ in 0..3 * seed {
            bench.step();
        }
        // Beyond the survivable failures: lost pages are reported as lost, and no read returns wrong data.
        bench.fail(&[survives % members]);
        bench.submit(Verb::Write, 3, 5);
        bench.run();
        bench.read_all();
        bench.replace(&[survives % members]);
        bench.run();
        // Written again, everything is there and protected.
        for page in (0..bench.pages()).step_by(4) {
            bench.submit(Verb::Write, page, 4);
            bench.run();
        }
        let lost = bench.read_all();
        assert!(lost.is_empty(), "{scheme}, seed {seed}: {lost:?} lost though written anew");
        bench.audit();
        let exposed = bench.exposed(Hazard::Unit);
        let before = bench.versions();
        bench.fail(&[members - 1]);
        check_losses(&mut bench, &exposed, &before, &format!("{scheme}, seed {seed}, third"));
    }
}

/// As many members as may fail do, and are replaced at once or each during the rebuild of those before it; then as many
/// others fail.
pub(super) fn members_that_are_replaced_together_are_all_rebuilt(scheme: &Tried) {
    let survives = scheme.survives();
    for seed in 0..24 {
        let what = format!("{scheme}, seed {seed}");
        let mut bench = bench(scheme);
        history(&mut bench, seed, 60, u32::MAX);
        bench.run();
        let members = bench.members();
        let turn = |n: u32| (seed as u32 + n) % members;
        let first: Vec<u32> = (0..survives).map(turn).collect();
        let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
        bench.fail(&first);
        if seed % 2 == 0 {
            bench.replace(&first);
        }
        for member in first.iter().filter(|_| seed % 2 == 1) {
            bench.replace(&[*member]);
            for _ in 0..seed {
                bench.step();
            }
        }
        history(&mut bench, seed + 100, 25, u32::MAX);
        let lost = check_losses(&mut bench, &exposed, &before, &what);
        assert!(bench.is_whole() || !lost.is_empty(), "{what}: rebuilt");
        let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
        let next: Vec<u32> = (survives..2 * survives).map(turn).collect();
        bench.fail(&next);
        check_losses(&mut bench, &exposed.union(&lost).copied().collect(), &before, &what);
        bench.audit();
    }
}

/// A page that a read finds unreadable is brought back: when what it was read from instead fails later, it is there.
pub(super) fn what_is_found_unreadable_is_brought_back(scheme: &Tried) {
    for seed in 0..12 {
        let what = format!("{scheme}, seed {seed}");
        let mut bench = bench(scheme);
        history(&mut bench, seed, 60, u32::MAX);
        bench.run();
        let member = seed as u32 % bench.members();
        let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
        bench.poison(&[member]);
        // Of two copies each is read.
        for page in 0..bench.pages() {
            bench.submit(Verb::Read, page, 1);
            bench.submit(Verb::Read, page, 1);
        }
        let lost = check_losses(&mut bench, &exposed, &before, &what);
        bench.audit();
        let (now, before) = (bench.exposed(Hazard::Unit), bench.versions());
        assert!(now.is_subset(&exposed), "{what}: all that was found has been brought back");
        bench.fail(&[(member + 1) % bench.members()]);
        bench.run();
        let next = bench.read_all();
        // Parities that nothing has read are still what they were.
        let known = |page: &u32| now.contains(page) || lost.contains(page) || !scheme.copies;
        assert!(next.iter().all(known), "{what}: {next:?}");
        let written = (0..bench.pages()).filter(|&page| before[page as usize] > 0).count();
        assert!(next.len() <= written / 2, "{what}: {} of {written} lost", next.len());
    }
}

pub(super) fn a_page_that_cannot_be_read_is_had_otherwise_and_healed(scheme: &Tried) {
    for seed in 0..10 {
        let mut bench = bench(scheme);
        history(&mut bench, seed, 60, u32::MAX);
        bench.run();
        let exposed = bench.exposed(Hazard::Unit);
        let Some(ppn) = (seed as u32 * 5..bench.pages()).find_map(|page| bench.ppn(bench.place(page)?))
        else {
            continue;
        };
        let before = bench.versions();
        bench.damage(Fault::Page(ppn), false);
        check_losses(&mut bench, &exposed, &before, &format!("{scheme}, seed {seed}"));
        bench.run();
        bench.audit();
    }
}

pub(super) fn what_no_member_can_read_is_reported(scheme: &Tried) {
    for seed in 0..30 {
        let mut bench = bench(scheme);
        history(&mut bench, seed, 60, 40 + 7 * seed as u32);
        let all: Vec<u32> = (0..bench.members()).collect();
        bench.poison(&all);
        history(&mut bench, seed + 50, 60, u32::MAX);
        bench.run();
        // `read_all` panics on a wrong page.
        bench.read_all();
        for page in (0..bench.pages()).step_by(4) {
            bench.submit(Verb::Write, page, 4);
            bench.run();
        }
        assert!(bench.read_all().is_empty(), "{scheme}, seed {seed}: lost though written");
        bench.audit();
    }
}

pub(super) fn parts_of_members_fail(scheme: &Tried) {
    for seed in 0..12_u32 {
        let channels = scheme.with.parts;
        let mut bench = Bench::new(&small(channels, 2), &scheme.set(false, &[]));
        history(&mut bench, u64::from(seed), 80, 60 + 23 * seed);
        let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
        let plane = bench.planes(seed % channels)[seed as usize / 5 % 2];
        let fault = if seed % 3 == 0 {
            Fault::Planes { first: plane, count: 1 }
        } else {
            Fault::Block(plane, seed % 12)
        };
        bench.damage(fault, seed % 4 != 3);
        history(&mut bench, u64::from(seed) + 50, 60, u32::MAX);
        check_losses(&mut bench, &exposed, &before, &format!("{scheme}, seed {seed}, {fault:?}"));
    }
}

pub(super) fn parts_of_pools_fail(scheme: &Tried) {
    for seed in 0..12_u32 {
        let channels = scheme.with.parts;
        let pool = ["flash.busy_unit=\"chip\"", "ftl.pool=\"element\""];
        let mut bench = Bench::new(&small(channels, 2), &scheme.set(false, &pool));
        history(&mut bench, u64::from(seed), 80, 60 + 23 * seed);
        let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
        let part = bench.part_of_pool(bench.planes(seed % channels)[0], seed / 5 % 2);
        bench.damage(part, seed % 4 != 3);
        history(&mut bench, u64::from(seed) + 50, 60, u32::MAX);
        check_losses(&mut bench, &exposed, &before, &format!("{scheme}, seed {seed}, {part:?}"));
    }
}

pub(super) fn without_redundancy_what_is_lost_is_reported(scheme: &Tried) {
    let mut bench = Bench::new(&small(4, 1), &scheme.set(false, &["ftl.allocation=\"CWDP\""]));
    history(&mut bench, 3, 80, u32::MAX);
    bench.run();
    let on_plane = |bench: &Bench, page: u32| bench.place(page).and_then(|place| bench.ppn(place));
    let plane = bench.planes(0)[0];
    let there: BTreeSet<u32> = (0..bench.pages()).filter(|&page| on_plane(&bench, page).is_some()).collect();
    bench.damage(Fault::Planes { first: plane, count: 1 }, true);
    let lost = bench.read_all();
    assert!(!lost.is_empty() && lost.len() < there.len() && lost.is_subset(&there));
    bench.audit();
}

pub(super) fn the_capacity_is_what_was_declared(scheme: &Tried) {
    fill(&mut bench(scheme), &scheme.to_string());
}

pub(super) fn the_same_history_takes_the_same_course(scheme: &Tried) {
    let course = || {
        let mut bench = bench(scheme);
        history(&mut bench, 9, 80, 200);
        bench.damage(Fault::Planes { first: bench.planes(0)[0], count: 1 }, false);
        bench.run();
        (bench.steps, bench.read_all())
    };
    assert_eq!(course(), course(), "{scheme}");
}

/// Four pages of the map share a page of the flash: under every scheme, no page is read wrong, the capacity is the
/// declared one, a failure costs the pages that were exposed, and rebuilt pages survive.
pub(super) fn pages_that_share_a_flash_page_serve_every_scheme(scheme: &Tried) {
    let quarter = || {
        let more = ["ftl.logical_page_kib=1", "ftl.gc.run=\"hold-channel\""];
        let steps = scheme.name.len() % 2;
        let text = small(scheme.with.parts, 1);
        Bench::<Drive<_>>::new(&text, &scheme.set(false, &more[..1 + steps]))
    };
    fill(&mut quarter(), &scheme.to_string());
    let survives = scheme.survives();
    if survives == 0 {
        return;
    }
    for seed in 0..12 {
        let mut bench = quarter();
        history(&mut bench, seed, 120, 100 + 37 * seed as u32);
        let members = bench.members();
        let failing: Vec<u32> = (0..survives).map(|n| (seed as u32 + n) % members).collect();
        let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
        bench.fail(&failing);
        history(&mut bench, seed + 100, 40, u32::MAX);
        bench.replace(&failing);
        history(&mut bench, seed + 200, 40, u32::MAX);
        let lost = check_losses(&mut bench, &exposed, &before, &format!("{scheme}, seed {seed}"));
        assert!(bench.is_whole() || !lost.is_empty(), "{scheme}, seed {seed}: rebuilt");
        bench.audit();
    }
}
