//! Where response times go (`latency_us`), in cases computed by hand.

use crate::common::{done, figure, job, summary};
use serde_json::Value;

/// SSDSim's drive with one chip: a page crosses the channel in 51.375 µs, command included, is read in 20 µs and
/// programmed in 200 µs; a write is acknowledged when its data have crossed.
const ONE_CHIP: [&str; 3] = ["buffer.dram_mib=0", "flash.channels=1", "flash.chips_per_channel=1"];

/// SSDSim serves late requests from their arrival on.
const IN_TURN: &str = "host.late_requests=\"from-admission\"";

/// The parts of a response time that are not zero.
fn parts(run: &Value, which: &str) -> Vec<(String, f64)> {
    let pointer = format!("/latency_us/{}", which.replace('.', "/"));
    let parts = run.pointer(&pointer).and_then(Value::as_object).unwrap_or_else(|| panic!("no {which}"));
    let us = |(name, us): (&String, &Value)| (name.clone(), us.as_f64().expect("a number"));
    let parts: Vec<_> = parts.iter().map(us).filter(|(_, us)| *us != 0.0).collect();
    let kind = which.split('.').next().expect("a kind");
    if which.ends_with("mean") {
        let mean = figure(run, &format!("response_us.{kind}.mean"));
        let sum: f64 = parts.iter().map(|(_, us)| us).sum();
        assert!((sum - mean).abs() <= mean * 1e-9, "{sum} for {mean}: {parts:?}");
    }
    parts
}

fn assert_parts(run: &Value, which: &str, expected: &[(&str, f64)]) {
    let mut found = parts(run, which);
    let place = |name: &str| expected.iter().position(|(expected, _)| *expected == name);
    found.sort_by_key(|(name, _)| place(name));
    let same = |((name, us), (expected, than)): (&(String, f64), &(&str, f64))| {
        name == expected && (us - than).abs() <= than * 1e-9
    };
    let equal = found.len() == expected.len() && found.iter().zip(expected).all(same);
    assert!(equal, "{which}: {found:?}, not {expected:?}");
}

fn part(run: &Value, which: &str, name: &str) -> f64 {
    parts(run, which).iter().find(|(part, _)| part == name).map_or(0.0, |(_, us)| *us)
}

#[test]
fn a_read_waits_for_the_program_on_its_die() {
    // The chip programs until 251.375 µs; the channel is in use until 51.375 µs, but the die comes first.
    for arrival in [20_000, 100_000] {
        let run = summary(&job("ssdsim-basic", &format!("0 0 0 4 0\n{arrival} 0 400 4 1\n"), &ONE_CHIP));
        let wait = (251_375 - arrival) as f64 / 1000.0;
        assert_parts(&run, "read.mean", &[("die", wait), ("array", 20.0), ("transfer", 51.375)]);
        assert_parts(&run, "write.mean", &[("transfer", 51.375)]);
        assert_eq!(run["latency_us"]["read"]["mean"], run["latency_us"]["read"]["slowest"]);
    }
}

#[test]
fn a_write_waits_for_the_channel_while_its_chip_is_idle() {
    let set = ["buffer.dram_mib=0", "flash.channels=1"];
    let run = summary(&job("ssdsim-basic", "0 0 0 4 0\n1000 0 4 4 0\n", &set));
    assert_parts(&run, "write.slowest", &[("channel", 50.375), ("transfer", 51.375)]);
}

#[test]
fn programs_count_as_array_time_if_the_host_waits_for_them() {
    let set = [&ONE_CHIP[..], &["flash.acknowledge=\"program\""]].concat();
    let run = summary(&job("ssdsim-basic", "0 0 0 4 0\n", &set));
    assert_parts(&run, "write.mean", &[("array", 200.0), ("transfer", 51.375)]);
    assert_eq!(run["latency_us"]["read"], Value::Null);
}

#[test]
fn with_a_queue_of_one_the_second_request_waits_outside() {
    let set = [&ONE_CHIP[..], &["host.queue_depth=1", IN_TURN]].concat();
    let run = summary(&job("ssdsim-basic", "0 0 0 4 1\n0 0 400 4 1\n", &set));
    assert_parts(&run, "read.slowest", &[("queue", 71.375), ("array", 20.0), ("transfer", 51.375)]);
    // It was full for the first half of the run.
    assert_eq!(figure(&run, "queue.full"), 0.5);
    let noted = |note: &Value| note.as_str().is_some_and(|note| note.contains("full for 50 % of the time"));
    assert!(run["warnings"].as_array().expect("a list").iter().any(noted), "{}", run["warnings"]);
}

#[test]
fn a_write_cache_takes_writes_until_it_must_evict() {
    // One page fits.
    let set = [&ONE_CHIP[1..], &["buffer.dram_mib=0.001953125"]].concat();
    let run = summary(&job("ssdsim-basic", "0 0 0 4 0\n1000000 0 400 4 0\n2000000 0 400 4 1\n", &set));
    assert_parts(&run, "read.mean", &[("cache", 1.0)]);
    assert_parts(&run, "write.slowest", &[("buffer", 51.375)]);
    assert_parts(&run, "write.mean", &[("cache", 0.5), ("buffer", 51.375 / 2.0)]);
    let noted = |note: &Value| note.as_str().is_some_and(|note| note.contains("waiting for evictions"));
    assert!(run["warnings"].as_array().expect("a list").iter().any(noted), "{}", run["warnings"]);
}

#[test]
fn data_cross_the_link() {
    let set = [&ONE_CHIP[..], &["host.link_us_per_sector=2", IN_TURN]].concat();
    let run = summary(&job("ssdsim-basic", "0 0 0 4 0\n1000000 0 400 4 1\n", &set));
    assert_parts(&run, "write.mean", &[("transfer", 51.375), ("link", 8.0)]);
    assert_parts(&run, "read.mean", &[("array", 20.0), ("transfer", 51.375), ("link", 8.0)]);
}

/// Five channels of one chip, one die, one plane each.
fn five(scheme: &str) -> String {
    format!(
        "[flash]\nchannels = 5\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
         blocks_per_plane = 48\npages_per_block = 16\npage_kib = 4\n[ftl]\nover_provisioning = 0.5\n\
         [redundancy]\nscheme = \"{scheme}\"\n"
    )
}

#[test]
fn a_small_write_under_raid5_reads_computes_and_writes() {
    let alone = summary(&job(&five("none"), "0 0 8 8 1\n9000000 0 8 8 0\n", &["start.existing=\"all\""]));
    let [read, write] = ["read.mean", "write.mean"].map(|which| parts(&alone, which));
    let set = ["start.existing=\"all\"", "redundancy.xor_us=7"];
    let run = summary(&job(&five("raid5"), "0 0 8 8 0\n", &set));
    // The old page and the old parity, side by side; three pages are added up; the page and the parity.
    let sum = |part: &str| -> f64 {
        read.iter().chain(&write).filter(|(name, _)| name == part).map(|(_, us)| us).sum()
    };
    let expected = [("compute", 21.0), ("array", sum("array")), ("transfer", sum("transfer"))];
    assert_parts(&run, "write.mean", &expected);
}

#[test]
fn two_writes_in_a_stripe_follow_each_other() {
    let set = ["start.existing=\"all\"", "redundancy.xor_us=0"];
    let one = summary(&job(&five("raid5"), "0 0 8 8 0\n", &set));
    let alone = figure(&one, "response_us.write.mean");
    let two = summary(&job(&five("raid5"), "0 0 8 8 0\n0 0 16 8 0\n", &set));
    let (locked, slowest) = (part(&two, "write.mean", "lock") * 2.0, figure(&two, "response_us.write.max"));
    assert!((locked - alone).abs() < 1e-9, "{locked}, not {alone}");
    assert!((slowest - 2.0 * alone).abs() < 1e-9, "{slowest}, not twice {alone}");
}

#[test]
fn a_read_whose_map_entry_is_in_flash_waits_for_it() {
    let drive = "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
                 blocks_per_plane = 48\npages_per_block = 8\npage_kib = 4\n[ftl]\nover_provisioning = 0.5\n\
                 map = \"dftl\"\ncache_kib = 0.03125\n[start]\nexisting = \"all\"\n";
    let run = summary(&job(drive, "0 0 8 8 1\n", &[]));
    let (array, transfer) = (part(&run, "read.mean", "array"), part(&run, "read.mean", "transfer"));
    assert_parts(
        &run,
        "read.mean",
        &[("array", array), ("transfer", transfer), ("maintenance", array + transfer)],
    );
}

#[test]
fn a_write_that_waits_for_others_counts_a_timer() {
    let set = [&ONE_CHIP[..], &["ftl.logical_page_kib=1", "ftl.gather_us=30"]].concat();
    let run = summary(&job("ssdsim-basic", "0 0 0 2 0\n", &set));
    assert_parts(&run, "write.mean", &[("timer", 30.0), ("transfer", 51.375)]);
}

#[test]
fn disks_and_arrays_of_them_count_the_disk() {
    let disk = "[disk]\ncapacity_gb = 0.008192\nheads = 1\nzones = 1\n";
    let run = summary(&job(disk, "0 0 800 8 1\n0 0 8000 8 1\n", &["start.existing=\"all\""]));
    assert_parts(&run, "read.mean", &[("disk", figure(&run, "response_us.read.mean"))]);
}

#[test]
fn gc_is_told_apart_from_other_work() {
    let trace = "synth:random,requests=4k,write=0.5,size=2KiB,footprint=160KiB,rate=1k";
    let more = [
        "flash.blocks_per_plane=16",
        "flash.pages_per_block=8",
        "flash.dies_per_chip=1",
        "ftl.over_provisioning=0.5",
    ];
    let set = [&ONE_CHIP[..], &more[..], &["flash.planes_per_die=1", "start.existing=\"all\""]].concat();
    let run = summary(&job("ssdsim-basic", trace, &set));
    assert!(figure(&run, "operations.erase.gc") > 50.0, "collection runs");
    assert!(part(&run, "read.mean", "gc") > 10.0, "{}", run["latency_us"]);
    assert!(part(&run, "read.slowest", "gc") > part(&run, "read.mean", "gc"));
}

#[test]
fn the_breakdown_can_be_left_out_and_changes_nothing() {
    let trace = "synth:random,requests=2k,write=0.5,rate=20k";
    let mut job = job("2CM-128", trace, &["buffer.dram_mib=1"]);
    job.keep_requests = true;
    let with = done(&job);
    job.no_breakdown = true;
    let without = done(&job);
    assert_eq!(with.summary["digest"], without.summary["digest"]);
    assert_eq!((with.parts.len(), without.parts.len()), (2000, 0));
    for (request, parts) in with.requests.iter().zip(&with.parts) {
        assert_eq!(parts.iter().sum::<u64>(), request.response_ns);
    }
    assert_eq!(without.summary["latency_us"], Value::Null);
    (job.no_breakdown, job.untimed, job.keep_requests) = (false, true, false);
    assert_eq!(summary(&job)["latency_us"], Value::Null);
}
