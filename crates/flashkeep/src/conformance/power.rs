//! Power cuts.

use super::bench::Bench;
use super::{Tried, history, history_seen, small};
use crate::engine::{Hazard, Verb};
use crate::kernel::{Random, SimTime};
use crate::schemes::Members;
use std::collections::BTreeSet;

fn bench(scheme: &Tried, more: &[&str]) -> Bench {
    bench_of(scheme, 1, more)
}

fn bench_of(scheme: &Tried, planes: u32, more: &[&str]) -> Bench {
    Bench::with_cuts(&small(scheme.with.parts, planes), &scheme.set(false, more))
}

/// After a cut: nothing that was durable is missing, everything is made redundant again, and the drive continues.
fn check(bench: &mut Bench, what: &str) {
    let missing = bench.look_at_all_pages();
    assert!(missing.is_empty(), "{what}: {missing:?} were durable");
    bench.run();
    bench.audit();
    assert!(bench.is_whole(), "{what}: whole again");
}

/// The settings that change what a cut meets.
const SETTINGS: [&[&str]; 4] = [
    &[],
    &["flash.acknowledge=\"transfer\""],
    &["redundancy.acknowledge=\"first\"", "redundancy.incomplete=\"wait\""],
    &["ftl.gc.run=\"hold-channel\""],
];

/// Other ways to fill and to erase blocks, with the planes that they need.
const WAYS: [(u32, &[&str]); 26] = [
    (2, &["flash.summary_page=true", "flash.commands.multi_plane=\"skip\""]),
    (2, &["flash.summary_page=true", "ftl.gc.copyback=\"parity-skip\"", "flash.commands.cache_program=true"]),
    (1, &["ftl.wear.levelling=\"both\"", "ftl.wear.migrate_below=1"]),
    (2, &["ftl.logical_page_kib=1", "flash.busy_unit=\"chip\"", "ftl.plane_choice=\"same\""]),
    (1, &["ftl.streams=2"]),
    (1, &["ftl.gc.separate=true"]),
    (1, &["ftl.handles=2", "ftl.over_provisioning=2", "flash.blocks_per_plane=16"]),
    (1, &["ftl.handles=2", "ftl.handle_isolation=\"persistently\"", "ftl.over_provisioning=2"]),
    (2, &["flash.commands.multi_plane=\"match\""]),
    (2, &["flash.commands.multi_plane=\"skip\""]),
    (1, &["flash.commands.cache_program=true", "flash.commands.cache_read=true"]),
    (2, &["flash.busy_unit=\"chip\"", "ftl.plane_choice=\"same\""]),
    (2, &["flash.busy_unit=\"chip\"", "ftl.pool=\"element\""]),
    (1, &["flash.bus=\"rounds\"", "ftl.gc.run=\"hold-channel\""]),
    (2, &["flash.bus=\"rounds\"", "flash.commands.multi_plane=\"skip\""]),
    (1, &["ftl.logical_page_kib=1", "ftl.gc.copyback=\"parity-skip\""]),
    (1, &["ftl.map=\"dftl\"", "ftl.cache_kib=0.03125", "ftl.map_memory=\"mram\""]),
    (1, &["ftl.logical_page_kib=1"]),
    (
        2,
        &[
            "ftl.logical_page_kib=2",
            "flash.commands.multi_plane=\"match\"",
            "ftl.streams=2",
            "ftl.over_provisioning=2",
        ],
    ),
    (1, &["ftl.logical_page_kib=1", "ftl.gc.run=\"hold-channel\"", "flash.commands.cache_program=true"]),
    (1, &WORN),
    (1, &WORN_IN_ONE_GO),
    (1, &["ftl.wear.erase_budget=7", "ftl.gc.run=\"hold-channel\""]),
    (2, &["ftl.allocation=\"CWDP\""]),
    (1, &["ftl.map=\"dftl\"", "ftl.cache_kib=0.03125"]),
    (1, &["ftl.map=\"dftl\"", "ftl.cache_kib=0.03125", "ftl.gc.run=\"hold-channel\""]),
];

/// Blocks pass each other over, and get cold data, as soon as one has been erased more often than another.
const WORN: [&str; 5] = [
    "ftl.wear.erase_budget=40",
    "ftl.wear.levelling=\"both\"",
    "ftl.wear.migrate_below=1",
    "ftl.wear.rate_limit_below=1",
    "ftl.wear.rate_limit_window=1",
];
const WORN_IN_ONE_GO: [&str; 6] =
    [WORN[0], WORN[1], WORN[2], WORN[3], WORN[4], "ftl.gc.run=\"hold-channel\""];

pub(super) fn a_cut_at_every_third_step_however_blocks_are_filled(scheme: &Tried) {
    for (seed, &(planes, more)) in (1..).zip(&WAYS) {
        if scheme.kind == Members::WithHiddenRange && more[0].starts_with("ftl.map=") {
            continue; // It keeps old versions, which only a page map can.
        }
        if scheme.kind == Members::Physical && more[0].starts_with("ftl.handles") {
            continue; // It decides in which block a page is.
        }
        let mut whole = bench_of(scheme, planes, more);
        history_seen(&mut whole, seed, 90, u32::MAX, |bench| {
            let step = bench.steps;
            if step % 3 != seed as u32 % 3 {
                return;
            }
            let mut bench = bench.copy();
            bench.cut();
            check(&mut bench, &format!("{scheme}, {more:?}, cut at step {step}"));
            history(&mut bench, seed + 9, 8, u32::MAX);
            bench.run();
            bench.audit();
        });
    }
}

/// Maps that are nodes of their own, with the planes that they need.
const MAPS: [(u32, &[&str]); 6] = [
    (1, &["ftl.map=\"dftl\"", "ftl.cache_kib=0.03125"]),
    (1, &["ftl.map=\"block\""]),
    (2, &["ftl.map=\"block\"", "ftl.log_blocks=1"]),
    (1, &["ftl.map=\"hybrid\""]),
    (1, &["ftl.map=\"hybrid\"", "ftl.log_blocks=2"]),
    (2, &["ftl.map=\"hybrid\"", "ftl.log_blocks=2", "flash.acknowledge=\"transfer\""]),
];

/// Merges, too, are gone on with where the cut has left them, or done again.
pub(super) fn a_cut_at_every_step_whatever_the_map(scheme: &Tried) {
    for (seed, &(planes, more)) in (1..).zip(&MAPS) {
        let (commands, each) = match (scheme.plain, &scheme.file) {
            (true, _) => (60, 1),
            // Most of some 30,000 steps are those of merges, and alike.
            (false, Some(_)) => (40, 61),
            (false, None) => (40, 5),
        };
        let mut whole = bench_of(scheme, planes, more);
        history_seen(&mut whole, seed, commands, u32::MAX, |bench| {
            let step = bench.steps;
            if step % each != seed as u32 % each {
                return;
            }
            let mut bench = bench.copy();
            bench.cut();
            check(&mut bench, &format!("{scheme}, {more:?}, cut at step {step}"));
            history(&mut bench, seed + 9, 8, u32::MAX);
            bench.run();
            bench.audit();
        });
    }
}

/// Again and again, every third time while the drive recovers.
pub(super) fn cut_again_and_again_every_map_goes_on(scheme: &Tried) {
    for seed in 0..12 {
        let (planes, more) = MAPS[seed as usize % MAPS.len()];
        let mut bench = bench_of(scheme, planes, more);
        for round in 0..12 {
            let until = bench.steps + 3 + 5 * ((seed as u32 + 3 * round) % 9);
            history(&mut bench, seed * 100 + u64::from(round), 30, until);
            bench.cut();
            let (at, ready) = bench.last_cut();
            if round % 3 == 0 {
                bench.cut_at(SimTime(at.0 + (ready.0 - at.0) / 2));
            }
            let missing = bench.look_at_all_pages();
            assert!(missing.is_empty(), "{scheme}, {more:?}, seed {seed}, round {round}: {missing:?}");
        }
        check(&mut bench, &scheme.to_string());
        for page in 0..bench.pages() {
            bench.submit(Verb::Write, page, 1);
            bench.run();
        }
        assert!(bench.read_all().is_empty(), "{scheme}, {more:?}");
        bench.audit();
    }
}

pub(super) fn a_cut_at_every_step_costs_nothing_that_was_durable(scheme: &Tried) {
    for (seed, more) in (1..).zip(SETTINGS) {
        let mut whole = bench(scheme, more);
        history_seen(&mut whole, seed, 60, u32::MAX, |bench| {
            let step = bench.steps;
            let mut bench = bench.copy();
            bench.cut();
            let what = format!("{scheme}, {more:?}, cut at step {step}");
            check(&mut bench, &what);
            history(&mut bench, seed + 9, 8, u32::MAX);
            bench.run();
            bench.audit();
        });
    }
}

/// A failed member takes, beyond the exposed pages, only those that share a stripe with a page that was being written
/// when the power failed: any such page is reported as lost, and nothing is read wrong.
fn may_be_lost(bench: &Bench) -> BTreeSet<u32> {
    let exposed = bench.exposed(Hazard::Unit);
    exposed.into_iter().chain(bench.exposed(Hazard::Power)).chain(bench.unsettled()).collect()
}

pub(super) fn a_cut_with_a_member_gone_costs_what_was_being_written_and_what_shares_its_stripe(
    scheme: &Tried,
) {
    let survives = scheme.survives();
    for seed in 0..40 {
        let mut bench = bench(scheme, SETTINGS[seed as usize % 2]);
        history(&mut bench, seed, 50, 40 + 9 * seed as u32);
        let members = bench.members();
        let gone: Vec<u32> = (0..survives).map(|n| (seed as u32 + n) % members).collect();
        let first = bench.exposed(Hazard::Unit);
        bench.fail(&gone);
        for _ in 0..seed % 7 {
            bench.step();
        }
        let mut may = may_be_lost(&bench);
        may.extend(first);
        bench.cut();
        let what = format!("{scheme}, seed {seed}");
        let missing = bench.look_at_all_pages();
        let more: Vec<_> = missing.difference(&may).collect();
        assert!(more.is_empty(), "{what}: {more:?} were durable, and neither exposed nor being written");
        bench.replace(&gone);
        bench.run();
        for page in (0..bench.pages()).step_by(4) {
            bench.submit(Verb::Write, page, 4);
            bench.run();
        }
        assert!(bench.read_all().is_empty(), "{what}: lost though written anew");
        bench.audit();
        // Whole again, it survives the next cut, and the next failure.
        bench.cut();
        assert!(bench.look_at_all_pages().is_empty(), "{what}: whole again, and lost by the next cut");
        bench.run();
        bench.audit();
        // A page of the scheme that is none of the drive's is never written: if it was lost, it stays lost.
        assert!(bench.is_whole() || bench.has_spare_pages(), "{what}: whole again");
        let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
        bench.fail(&gone);
        super::check_losses(&mut bench, &exposed, &before, &what);
    }
}

pub(super) fn a_cut_during_a_rebuild_loses_nothing(scheme: &Tried) {
    let survives = scheme.survives();
    for seed in 0..60 {
        let mut bench = bench(scheme, &[]);
        history(&mut bench, seed, 50, u32::MAX);
        bench.run();
        let exposed = bench.exposed(Hazard::Unit);
        let gone: Vec<u32> = (0..survives).collect();
        bench.fail(&gone);
        bench.run();
        bench.replace(&gone);
        for _ in 0..2 * (seed % 30) {
            bench.step();
        }
        let exposed: BTreeSet<u32> = exposed.union(&may_be_lost(&bench)).copied().collect();
        bench.cut();
        let what = format!("{scheme}, seed {seed}");
        let missing = bench.look_at_all_pages();
        assert!(missing.is_subset(&exposed), "{what}: {missing:?}");
        bench.run();
        assert!(bench.is_whole() || !missing.is_empty(), "{what}: rebuilt");
        bench.audit();
    }
}

pub(super) fn cut_again_and_again_the_drive_goes_on(scheme: &Tried) {
    for seed in 0..6 {
        let mut bench = bench(scheme, SETTINGS[seed as usize % 4]);
        for round in 0..12 {
            let until = bench.steps + 5 + 7 * ((seed as u32 + round) % 5);
            history(&mut bench, seed * 100 + u64::from(round), 30, until);
            bench.cut();
            let (at, ready) = bench.last_cut();
            // Every third time the power fails again while the drive recovers.
            if round % 3 == 0 {
                bench.cut_at(SimTime(at.0 + (ready.0 - at.0) / 2));
            }
            let missing = bench.look_at_all_pages();
            assert!(missing.is_empty(), "{scheme}, seed {seed}, round {round}: {missing:?}");
        }
        check(&mut bench, &scheme.to_string());
        for page in 0..bench.pages() {
            bench.submit(Verb::Write, page, 1);
            bench.run();
        }
        assert!(bench.read_all().is_empty(), "{scheme}");
        bench.audit();
    }
}

/// Requests, failures, replacements and cuts in any order. While every member is there nothing that was durable is
/// missing after a cut; with one gone, or one that is being rebuilt, only pages exposed or being written.
pub(super) fn whatever_happens_in_whatever_order_what_is_missing_was_exposed(scheme: &Tried) {
    for seed in 0..100 {
        let mut random = Random::stream(seed, "events");
        let mut bench = bench(scheme, SETTINGS[seed as usize % 4]);
        let survives = scheme.survives();
        let (mut gone, mut may) = (Vec::new(), BTreeSet::new());
        let mut struck = false;
        for round in 0..30 {
            let what = format!("{scheme}, seed {seed}, round {round}");
            match random.below(6) {
                0 if survives > 0 && gone.is_empty() && bench.is_whole() => {
                    // What a plan under way has not given to the last one to fail would be a second failure.
                    bench.run();
                    if !bench.is_whole() {
                        continue;
                    }
                    may.clear();
                    struck = true;
                    may.extend(may_be_lost(&bench));
                    let first = random.below(u64::from(bench.members())) as u32;
                    gone = (0..survives).map(|n| (first + n) % bench.members()).collect();
                    bench.fail(&gone);
                }
                1 if !gone.is_empty() => {
                    bench.replace(&gone);
                    gone.clear();
                }
                2 | 3 => {
                    bench.catch_up();
                    if struck {
                        may.extend(may_be_lost(&bench));
                    }
                    bench.cut();
                    let missing = bench.look_at_all_pages();
                    let more: Vec<_> = missing.difference(&may).collect();
                    assert!(more.is_empty(), "{what}: {more:?} were durable");
                }
                _ => {
                    let until = bench.steps + random.below(60) as u32;
                    history(&mut bench, seed * 100 + round, 20, until);
                }
            }
        }
        bench.replace(&gone);
        bench.run();
        bench.audit();
        for page in (0..bench.pages()).step_by(4) {
            bench.submit(Verb::Write, page, 4);
            bench.run();
        }
        assert!(bench.read_all().is_empty(), "{scheme}, seed {seed}: lost though written anew");
        bench.audit();
    }
}
