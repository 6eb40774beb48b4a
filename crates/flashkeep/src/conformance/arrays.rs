//! Arrays, for every scheme of the table that runs over drives: what the parent breaks within drives, broken around
//! them.

use super::bench::Bench;
use super::{Tried, check_losses, fill, history, history_seen, sets, small};
use crate::config::{Resolved, load_text};
use crate::devices::DeviceSet;
use crate::drive::{Fault, OpKind};
use crate::engine::{Hazard, Token, Verb};
use crate::flash::PlaneId;
use crate::schemes::{MemberFacts, RedundancySpec, TriedWith};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

type Array = Bench<DeviceSet<Token>>;

/// The settings for a scheme over drives.
pub(super) fn spec(tried: &Tried) -> RedundancySpec {
    let mut spec = RedundancySpec::of(tried.name);
    for pair in tried.set(true, &[]) {
        let option = pair.strip_prefix("redundancy.").and_then(|pair| pair.split_once('='));
        if let Some((key, value)) = option.filter(|(key, _)| *key != "scheme") {
            spec.set(key, serde_json::from_str::<Value>(value).expect("a value in JSON"));
        }
    }
    spec
}

fn accepts(tried: &Tried, ssds: u32, disks: u32) -> bool {
    let facts = |count: u32, disk| (0..count).map(move |_| MemberFacts { pages: 24, page_bytes: 4096, disk });
    let facts: Vec<_> = facts(ssds, false).chain(facts(disks, true)).collect();
    (tried.over_drives)(&facts, &spec(tried)).is_ok()
}

/// Whether the scheme runs over drives.
pub(super) fn concerns(tried: &Tried) -> bool {
    accepts(tried, tried.with.drives, tried.with.disks)
}

/// The same, and survives a failure there.
pub(super) fn survives(tried: &Tried) -> bool {
    concerns(tried) && tried.survives_of(tried.with.drives + tried.with.disks) > 0
}

/// The arrays of a scheme over all members of these kinds that it accepts.
fn arrays(tried: &Tried, kinds: &[Over]) -> impl Iterator<Item = (Over, Resolved)> {
    let accepted = |over: &Over| {
        let TriedWith { drives, disks, .. } = tried.with;
        *over != Over::Mix || disks > 0 || accepts(tried, drives - 1, 1)
    };
    kinds.iter().copied().filter(accepted).map(|over| (over, array(tried, over)))
}

/// The kind of member where a scheme takes a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    /// A drive without redundancy.
    Ssds,
    /// The same, of two planes.
    Wide,
    /// Drives with mirrors of their own, and one with stripes of its own.
    Trees,
    /// Drives, and in the last one's place a disk.
    Mix,
    /// Mirrors of two drives, and in the last one's place a row of two.
    Arrays,
    /// Drives with DRAM for four pages and a slow link, and one that mirrors itself below that.
    Ports,
}

const ALL: [Over; 6] = [Over::Ssds, Over::Wide, Over::Trees, Over::Mix, Over::Arrays, Over::Ports];

impl Over {
    /// The file of the first SSDs, and of the last.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Over::Ssds => ("ssd", "ssd"),
            Over::Wide => ("wide", "wide"),
            Over::Trees => ("mirrored", "striped"),
            Over::Mix => ("ssd", "disk"),
            Over::Arrays => ("pair", "row"),
            Over::Ports => ("buffered", "guarded"),
        }
    }
}

/// The drive files that arrays are made of: their own names lead to each other.
pub(super) fn drive_files() -> [(&'static str, String); 9] {
    let with = |drive: String, scheme: &str| format!("{drive}[redundancy]\nscheme = \"{scheme}\"\n");
    let of_two = |scheme| with("members = [\"2 * ./ssd.toml\"]\n".into(), scheme);
    let disk = "[disk]\nrpm = 6000\ncapacity_gb = 0.00065536\nheads = 1\nzones = 1\nrate_outer_mb_s = 2.048\n\
                rate_inner_mb_s = 2.048\ncommand_ms = 0.5\ninterface_mb_s = 20.48\n[disk.seek]\ncurve = \"table\"\n\
                points = [1, 1.1, 100, 11]\n";
    let port = "[buffer]\ndram_mib = 0.015625\n[host]\nlink_us_per_sector = 9\n";
    [
        ("buffered", small(1, 1) + port),
        ("guarded", with(small(2, 1) + port, "mirror")),
        ("ssd", small(1, 1)),
        ("wide", small(1, 2)),
        ("mirrored", with(small(2, 1), "mirror")),
        ("striped", with(small(3, 1), "raid5")),
        ("pair", of_two("mirror")),
        ("row", of_two("none")),
        ("disk", disk.to_owned()),
    ]
}

/// An array of a scheme over such members.
fn array(entry: &Tried, over: Over) -> Resolved {
    let file = |name: &str| entry.folder.join(format!("{name}.toml")).to_string_lossy().into_owned();
    let (TriedWith { drives: ssds, disks, .. }, (first, last)) = (entry.with, over.names());
    // A scheme that takes disks gets those.
    let last = if over == Over::Mix && disks > 0 { first } else { last };
    let mut members = vec![format!("\"{}\"", file(last))];
    if ssds > 1 {
        members.insert(0, format!("\"{} * {}\"", ssds - 1, file(first)));
    }
    members.extend((disks > 0).then(|| format!("\"{disks} * {}\"", file("disk"))));
    let text = format!("members = [{}]\n", members.join(", "));
    load_text("array.toml", &text, &entry.set(true, &[])).unwrap_or_else(|error| panic!("{error}"))
}

/// Which members may be lost of an array, all those that its scheme survives at once.
fn losses(entry: &Tried, array: &Resolved) -> Vec<Vec<Vec<u32>>> {
    let members = array.members();
    let paths = |set: Vec<u32>| set.into_iter().map(|member| vec![member]).collect();
    let mut losses: Vec<_> = sets(members, entry.survives_of(members))
        .into_iter()
        .filter(|set| !set.is_empty())
        .map(paths)
        .collect();
    losses.extend((entry.memory && entry.survives_memory).then(|| vec![vec![members]]));
    losses
}

pub(super) fn every_failure_of_a_member_at_every_step_costs_only_what_was_exposed(entry: &Tried) {
    for (over, array) in arrays(entry, &[Over::Ssds, Over::Trees, Over::Mix, Over::Arrays, Over::Ports]) {
        let commands = if over == Over::Ssds { 50 } else { 30 };
        let mut whole = Array::of(array.clone());
        let losses = losses(entry, &array);
        history_seen(&mut whole, 1, commands, u32::MAX, |bench| {
            let step = bench.steps;
            for failing in entry.in_turn(&losses, step) {
                let mut bench = bench.copy();
                let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
                bench.fail_parts(failing);
                for page in [1, 7, 30] {
                    bench.submit(Verb::Write, page, 3);
                }
                let what = format!("{entry} over {over:?}, {failing:?} at step {step}");
                check_losses(&mut bench, &exposed, &before, &what);
                bench.audit();
            }
        });
        whole.run();
        whole.audit();
    }
}

/// In every array the member protects itself; where it does not, the array does.
pub(super) fn every_failure_within_a_member_at_every_step(entry: &Tried) {
    for (over, array) in arrays(entry, &[Over::Trees, Over::Arrays]) {
        let mut whole = Array::of(array.clone());
        let parts: Vec<_> = whole.parts_below(&[]).iter().flat_map(|path| whole.parts_below(path)).collect();
        history_seen(&mut whole, 2, 30, u32::MAX, |bench| {
            let step = bench.steps;
            for part in entry.in_turn(&parts, step) {
                let mut bench = bench.copy();
                let row = over == Over::Arrays && part[0] + 1 == entry.with.drives;
                if row && entry.survives_of(array.members()) == 0 {
                    continue;
                }
                let exposed = if row { bench.exposed(Hazard::Unit) } else { BTreeSet::new() };
                let before = bench.versions();
                bench.fail_parts(std::slice::from_ref(part));
                bench.submit(Verb::Write, 5, 4);
                let what = format!("{entry} over {over:?}, {part:?} at step {step}");
                check_losses(&mut bench, &exposed, &before, &what);
                bench.audit();
            }
        });
    }
}

pub(super) fn rebuilt_they_survive_the_next_failure(entry: &Tried) {
    for (over, array) in arrays(entry, &ALL) {
        let losses = losses(entry, &array);
        for seed in 0..10 {
            let what = format!("{entry} over {over:?}, seed {seed}");
            let (first, next) = (&losses[seed % losses.len()], &losses[(3 * seed + 1) % losses.len()]);
            let seed = seed as u64;
            let mut bench = Array::of(array.clone());
            history(&mut bench, seed, 50, 30 + 17 * seed as u32);
            let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
            bench.fail_parts(first);
            history(&mut bench, seed + 100, 20, u32::MAX);
            bench.replace_parts(first);
            history(&mut bench, seed + 200, 20, u32::MAX);
            let lost = check_losses(&mut bench, &exposed, &before, &format!("{what}, first"));
            assert!(bench.is_whole() || !lost.is_empty(), "{what}: rebuilt");
            bench.audit();
            let before = bench.versions();
            let exposed = bench.exposed(Hazard::Unit).union(&lost).copied().collect();
            bench.fail_parts(next);
            check_losses(&mut bench, &exposed, &before, &format!("{what}, next"));
            bench.audit();
        }
    }
}

pub(super) fn a_failure_during_the_rebuild_is_handled(entry: &Tried) {
    for (over, array) in arrays(entry, &ALL) {
        for seed in 0..8 {
            let what = format!("{entry} over {over:?}, seed {seed}");
            let mut bench = Array::of(array.clone());
            history(&mut bench, seed, 50, u32::MAX);
            bench.run();
            let (members, survives) = (bench.members(), entry.survives_of(bench.members()));
            let first: Vec<u32> = (0..survives).collect();
            bench.fail(&first);
            bench.replace(&first);
            for _ in 0..3 * seed {
                bench.step();
            }
            // Beyond the promise: lost pages are reported as lost, and nothing is read wrong.
            let third = survives % members;
            bench.fail(&[third]);
            bench.submit(Verb::Write, 3, 5);
            bench.run();
            bench.read_all();
            bench.replace(&[third]);
            bench.run();
            // Written again, everything is there and protected.
            write_all(&mut bench);
            let lost = bench.read_all();
            assert!(lost.is_empty(), "{what}: {lost:?} lost though written anew");
            bench.audit();
            let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
            bench.fail(&[members - 1]);
            check_losses(&mut bench, &exposed, &before, &format!("{what}, third"));
        }
    }
}

fn write_all(bench: &mut Array) {
    for page in (0..bench.pages()).step_by(4) {
        bench.submit(Verb::Write, page, 4);
        bench.run();
    }
}

pub(super) fn what_is_beyond_the_promise_is_reported(entry: &Tried) {
    for (over, array) in arrays(entry, &ALL) {
        let survives = entry.survives_of(array.members());
        let mut most = 0;
        for seed in 0..12_u32 {
            let mut bench = Array::of(array.clone());
            history(&mut bench, u64::from(seed), 50, 20 + 30 * seed);
            let sets = sets(bench.members(), survives + 1);
            let gone = &sets[seed as usize % sets.len()];
            bench.fail(gone);
            bench.run();
            // A wrong page is the end of `read_all`.
            most = most.max(bench.read_all().len());
            for &member in gone {
                bench.replace(&[member]);
            }
            bench.run();
            write_all(&mut bench);
            assert!(bench.read_all().is_empty(), "{entry} over {over:?}: lost though written");
            bench.audit();
        }
        assert!(most > 0, "{entry} over {over:?}: {} failures, nothing lost", survives + 1);
    }
}

pub(super) fn parts_of_drives_fail(entry: &Tried) {
    for (over, array) in arrays(entry, &[Over::Ssds, Over::Wide, Over::Trees, Over::Arrays, Over::Ports]) {
        for seed in 0..12_u32 {
            let mut bench = Array::of(array.clone());
            history(&mut bench, u64::from(seed), 60, 40 + 23 * seed);
            let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
            let device = (seed % bench.members()) as u16;
            let fault = if over == Over::Wide && seed % 3 == 0 {
                Fault::Planes { first: PlaneId(seed / 3 % 2), count: 1 }
            } else {
                Fault::Block(PlaneId(0), seed % 12)
            };
            bench.damage_device(device, fault, seed % 4 != 3);
            history(&mut bench, u64::from(seed) + 50, 40, u32::MAX);
            let what = format!("{entry} over {over:?}, seed {seed}, {fault:?} of {device}");
            check_losses(&mut bench, &exposed, &before, &what);
            bench.audit();
        }
    }
}

/// What members held cannot be read, but they answer, and have redundancy of their own that takes it for theirs to
/// bring back.
pub(super) fn members_that_forget_are_no_worse_than_members_that_fail(entry: &Tried) {
    for (over, array) in arrays(entry, &ALL) {
        let losses = losses(entry, &array);
        let of_members = |loss: &&Vec<Vec<u32>>| loss.iter().all(|path| path[0] < array.members());
        let losses: Vec<_> = losses.iter().filter(of_members).map(|loss| loss.concat()).collect();
        for seed in 0..20 {
            let what = format!("{entry} over {over:?}, seed {seed}");
            let mut bench = Array::of(array.clone());
            history(&mut bench, seed as u64, 60, 40 + 7 * seed as u32);
            let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
            bench.poison(&losses[seed % losses.len()]);
            history(&mut bench, seed as u64 + 50, 60, u32::MAX);
            check_losses(&mut bench, &exposed, &before, &what);
            bench.audit();
            // Beyond the promise: a wrong page is the end of `read_all`.
            let all: Vec<u32> = (0..bench.members()).collect();
            bench.poison(&all);
            history(&mut bench, seed as u64 + 90, 60, u32::MAX);
            bench.run();
            bench.read_all();
            write_all(&mut bench);
            assert!(bench.read_all().is_empty(), "{what}: lost though written");
            bench.audit();
        }
    }
}

/// The member of an array is replaced while a member of its own is being rebuilt: what its schemes had begun is nothing
/// to those of the new one.
pub(super) fn a_member_is_replaced_as_soon_as_it_has_failed(entry: &Tried) {
    for (over, array) in arrays(entry, &[Over::Trees, Over::Arrays]) {
        for seed in 0..40 {
            let what = format!("{entry} over {over:?}, seed {seed}");
            let mut bench = Array::of(array.clone());
            history(&mut bench, seed, 40, u32::MAX);
            bench.run();
            let part = [vec![seed as u32 % (bench.members() - 1), 0]];
            let exposed = bench.exposed(Hazard::Unit);
            bench.fail_parts(&part);
            bench.replace_parts(&part);
            let until = bench.steps + seed as u32 % 13;
            history(&mut bench, seed + 50, 6, until);
            // Where parity is deferred, what has been written since then is exposed.
            let exposed = if entry.defers { bench.exposed(Hazard::Unit) } else { exposed };
            let before = bench.versions();
            bench.fail(&part[0][..1]);
            bench.replace(&part[0][..1]);
            history(&mut bench, seed + 60, 20, u32::MAX);
            let lost = check_losses(&mut bench, &exposed, &before, &what);
            assert!(lost.is_empty() || entry.defers, "{what}: lost {lost:?}");
            assert!(bench.is_whole() || !lost.is_empty(), "{what}: rebuilt");
            bench.audit();
        }
    }
}

pub(super) fn pages_that_nobody_has_written_are_not_copied(mirror: &Tried) {
    for (over, copies) in [(Over::Ssds, 1), (Over::Trees, 2), (Over::Arrays, 1)] {
        let mut bench = Array::of(array(mirror, over));
        for page in [2, 9, 17] {
            bench.submit(Verb::Write, page, 1);
        }
        bench.submit(Verb::Trim, 9, 1);
        bench.run();
        let before = bench.counted(0, OpKind::Program);
        bench.fail(&[0]);
        bench.replace(&[0]);
        bench.run();
        assert!(bench.is_whole());
        // The first drive of a pair has one of its copies.
        assert_eq!(bench.counted(0, OpKind::Program) - before, 2 * copies, "{over:?}");
        bench.fail(&[1, 2]);
        bench.run();
        assert!(bench.read_all().is_empty());
    }
}

pub(super) fn the_capacity_is_what_was_declared(entry: &Tried) {
    let mut pages = BTreeMap::new();
    for (over, array) in arrays(entry, &ALL) {
        let mut bench = Array::of(array);
        fill(&mut bench, &format!("{entry} over {over:?}"));
        pages.insert(over.names().0, bench.pages());
    }
    // An array of drives that mirror themselves offers what one of plain drives does, of which they have two each.
    assert!(entry.with.drives < 2 || pages["ssd"] == pages["mirrored"], "{entry}: {pages:?}");
}

pub(super) fn the_same_history_takes_the_same_course(entry: &Tried) {
    for (over, array) in arrays(entry, &ALL) {
        let course = || {
            let mut bench = Array::of(array.clone());
            history(&mut bench, 9, 60, 150);
            bench.fail(&[0]);
            bench.run();
            bench.replace(&[0]);
            bench.run();
            (bench.steps, bench.read_all())
        };
        assert_eq!(course(), course(), "{entry} over {over:?}");
    }
}
