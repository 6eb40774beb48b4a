//! Parts that are slow or stall for a while: exact times, phases, and that nothing else happens.

use crate::common::{check_sums_of_phases, done, figure, job, output, records, summary};
use flashkeep::job::Job;
use serde_json::Value;

/// Two channels of two chips: 20 µs reads, 200 µs programs, 1.5 ms erases, 1 ns a byte, a command of 100 ns, no DRAM.
const DRIVE: &str = "[flash]\nchannels = 2\nchips_per_channel = 2\ndies_per_chip = 1\nplanes_per_die = 2\n\
                     blocks_per_plane = 16\npages_per_block = 8\npage_kib = 4\n\
                     [flash.timing]\nread_us = 20\nprogram_us = 200\nerase_us = 1500\nbus_ns_per_byte = 1\n\
                     command_ns = 100\nerase_command_ns = 100\n\
                     [ftl]\nover_provisioning = 0.6\n[start]\nexisting = \"all\"\n";

/// The bytes of a page on the pins, ns.
const TRANSFER: f64 = 4.096;
const COMMAND: f64 = 0.1;
const READ: f64 = COMMAND + 20.0 + TRANSFER;
const PROGRAM: f64 = COMMAND + TRANSFER + 200.0;

fn failing(trace: &str, fail: &[&str], set: &[&str]) -> Job {
    let fail = fail.iter().map(|&event| event.to_owned()).collect();
    Job { fail, keep_requests: true, verify: true, ..job(DRIVE, trace, set) }
}

/// Response times of the requests, µs.
fn responses(trace: &str, fail: &[&str], set: &[&str]) -> Vec<f64> {
    let outcome = done(&failing(trace, fail, set));
    assert_eq!(figure(&outcome.summary, "integrity.wrong_reads"), 0.0);
    outcome.requests.iter().map(|request| request.response_ns as f64 / 1e3).collect()
}

/// A request for a page of 4 KiB in each millisecond: SSDSim's lines, 1 for a read.
fn one_each_ms(pages: impl IntoIterator<Item = u64>, op: u8) -> String {
    (0..).zip(pages).map(|(ms, page)| format!("{} 0 {} 8 {op}\n", ms * 1_000_000, page * 8)).collect()
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 0.0015
}

fn phases(run: &Value) -> Vec<(&str, Option<&str>)> {
    let phases = run["phases"].as_array().expect("a list");
    phases.iter().map(|phase| (phase["phase"].as_str().unwrap(), phase["event"].as_str())).collect()
}

#[test]
fn a_read_of_a_slow_part_takes_as_many_times_as_long_as_its_array_or_its_channel() {
    let trace = one_each_ms(0..64, 1);
    assert!(responses(&trace, &[], &[]).iter().all(|&response| near(response, READ)));
    let (array, channel) = (READ + 9.0 * 20.0, 20.0 + 10.0 * (COMMAND + TRANSFER));
    for (part, slow, share) in [
        ("channel:1", channel, 32),
        ("chip:0.1", array, 16),
        ("die:1.0.0", array, 16),
        ("plane:1.1.0.1", array, 8),
        ("drive", 10.0 * READ, 64),
    ] {
        let found = responses(&trace, &[&format!("slow:{part}@0s,factor=10,for=1s")], &[]);
        let those = found.iter().filter(|&&response| near(response, slow)).count();
        assert_eq!(those, share, "{part}: {found:?}");
        let others = found.iter().filter(|&&response| near(response, READ)).count();
        assert_eq!(others, 64 - share, "{part}: {found:?}");
    }
}

#[test]
fn programs_and_erases_of_a_slow_drive_take_longer() {
    let slow = responses(&one_each_ms([0, 1], 0), &["slow:drive@0s,factor=1.5,for=1s"], &[]);
    assert!(slow.iter().all(|&response| near(response, 1.5 * PROGRAM)), "{slow:?}");
    let slow = responses(&one_each_ms([0, 1], 0), &["slow:chip:0.0@0s,factor=1.5,for=1s"], &[]);
    assert!(near(slow[0], PROGRAM + 100.0) || near(slow[1], PROGRAM + 100.0), "{slow:?}");
    // What the drive does until 500 ms is slow; what it erases and moves, too.
    let random = "synth:random,requests=3000,write=1,size=4KiB,rate=3k";
    for (copyback, moved) in [("off", "program"), ("on", "copyback")] {
        let copyback = format!("ftl.gc.copyback=\"{copyback}\"");
        let mut job = failing(random, &["slow:drive@0s,factor=3,for=500ms"], &[&copyback]);
        job.operations = Some(output("operations.csv"));
        summary(&job);
        let log = records(job.operations.as_deref().unwrap());
        let column = |name| log[0].iter().position(|field| field == name).expect("a column");
        let (start, end, kind, cause) =
            (column("start_ns"), column("end_ns"), column("kind"), column("cause"));
        let times = |which: &str, from: u64, until: u64| -> Vec<u64> {
            let of = |record: &Vec<String>| {
                let [start, end] = [start, end].map(|at| record[at].parse::<u64>().expect("ns"));
                let known = record[kind] == which && (which == "erase" || record[cause] == "gc");
                (known && (from..until).contains(&start)).then_some(end - start)
            };
            log[1..].iter().filter_map(of).collect()
        };
        for (kind, took) in
            [("erase", 1_500_100), (moved, if moved == "program" { 204_196 } else { 220_100 })]
        {
            let (slow, sound) = (times(kind, 0, 499_000_000), times(kind, 501_000_000, u64::MAX));
            assert!(!slow.is_empty() && slow.iter().all(|&time| time == 3 * took), "{kind}: {slow:?}");
            assert!(!sound.is_empty() && sound.iter().all(|&time| time == took), "{kind}: {sound:?}");
        }
    }
}

#[test]
fn the_slowest_of_several_slow_parts_counts_and_parts_recover_one_by_one() {
    let fail = [
        "slow:die:0.0.0@1500us,factor=2,for=4ms",
        "slow:chip:0.0@2500us,factor=5,for=1ms",
        "slow:channel:0@4500us,factor=3,for=2ms",
    ];
    // A page of the first chip, again and again.
    let page = (0..8).find(|&page| {
        let slow = responses(&one_each_ms([page], 1), &["slow:plane:0.0.0.0@0s,factor=2,for=1s"], &[]);
        near(slow[0], READ + 20.0)
    });
    let found = responses(&one_each_ms([page.expect("one of the plane"); 8], 1), &fail, &[]);
    let slow_channel = 3.0 * (COMMAND + TRANSFER);
    let expected =
        [READ, READ, READ + 20.0, READ + 80.0, READ + 20.0, 40.0 + slow_channel, 20.0 + slow_channel, READ];
    assert!(found.iter().zip(expected).all(|(&found, expected)| near(found, expected)), "{found:?}");
}

#[test]
fn a_stalled_part_ends_what_is_under_way_and_begins_nothing() {
    // A read is under way at 10 µs; the others come at 1, 2 and 3 ms.
    for part in ["channel:0", "channel:1", "drive"] {
        let trace = one_each_ms([0, 0, 0, 0], 1);
        let found = responses(&trace, &[&format!("stall:{part}@10us,for=2500us")], &[]);
        if near(found[1], READ) {
            assert_eq!(part, "channel:1", "the page is on the other one: {found:?}");
            continue;
        }
        // Of a stalled channel, the data wait. A unit begins the second read first, then the third.
        let expected = if part == "drive" {
            [READ, 1510.0 + READ, 510.0 + 2.0 * READ, READ]
        } else {
            [2500.0 + 10.0 + TRANSFER, 1510.0 + 20.0 + TRANSFER + COMMAND, 510.0, READ]
        };
        let first = if part == "drive" { 0..4 } else { 0..1 };
        for at in first {
            assert!(near(found[at], expected[at]), "{part}: {found:?} instead of {expected:?}");
        }
    }
    // A program that is under way ends; the next one of its plane waits.
    let one_plane = ["flash.channels=1", "flash.chips_per_channel=1", "flash.planes_per_die=1"];
    let found = responses(&one_each_ms([0, 1], 0), &["stall:die:0.0.0@100us,for=1500us"], &one_plane);
    assert!(near(found[0], PROGRAM) && near(found[1], 600.0 + PROGRAM), "{found:?}");
    // The later end of two stalls counts.
    let twice = ["stall:die:0.0.0@100us,for=1500us", "stall:die:0.0.0@200us,for=100us"];
    assert_eq!(responses(&one_each_ms([0, 1], 0), &twice, &one_plane), found);
}

#[test]
fn slow_and_stalled_phases_end_with_what_began_them() {
    let random = "synth:random,requests=1000,write=0.5,size=4KiB,rate=1k";
    let run =
        summary(&failing(random, &["slow:chip:0.0@200ms,factor=20,for=200ms", "stall@60%,for=50ms"], &[]));
    let expected = [
        ("before", None),
        ("slow", Some("slow:chip:0.0@200ms")),
        ("after", None),
        ("stalled", Some("stall@60%")),
        ("after", None),
    ];
    assert_eq!(phases(&run), expected);
    check_sums_of_phases(&run, "slow and stalled");
    assert_eq!(run["integrity"]["lost_pages"], 0);
    assert!(run["integrity"]["time_to_full_redundancy_s"].is_null(), "nothing was missing");
    let of = |phase: usize, figure: &str| run["phases"][phase]["response_us"]["all"][figure].as_f64();
    assert!(of(1, "mean") > of(0, "mean"), "{:?} {:?}", of(1, "mean"), of(0, "mean"));
    // What has waited is acknowledged after the stall.
    assert!(of(4, "max") > Some(40_000.0) && of(2, "max") < Some(40_000.0), "{:?}", of(4, "max"));
    let span = run["phases"][1]["until_s"].as_f64().unwrap() - run["phases"][1]["from_s"].as_f64().unwrap();
    assert!((span - 0.2).abs() < 1e-9);
}

#[test]
fn slowness_while_something_is_missing_keeps_the_phase_and_the_time_to_full_redundancy() {
    let random = "synth:random,requests=2000,write=0.3,size=4KiB,rate=2k";
    let mirror = ["redundancy.scheme=\"mirror\""];
    let channel = "channel:1@20%,replace_after=100ms";
    let alone = summary(&failing(random, &[channel], &mirror));
    let recovery = |run: &Value| figure(run, "integrity.time_to_full_redundancy_s");
    let run = summary(&failing(random, &[channel, "slow:channel:0@250ms,factor=2,for=10ms"], &mirror));
    let expected = [
        ("before", None),
        ("degraded", Some(channel.split(',').next().unwrap())),
        ("degraded", Some("slow:channel:0@250ms")),
        ("degraded", None),
        ("rebuilding", None),
        ("after", None),
    ];
    assert_eq!(phases(&run), expected);
    assert!((recovery(&run) - recovery(&alone)).abs() < 0.01, "{} {}", recovery(&run), recovery(&alone));
    check_sums_of_phases(&run, "degraded and slow");
}

#[test]
fn a_slow_member_lengthens_the_tail_of_an_array() {
    let random = "synth:random,requests=3000,write=0.3,size=4KiB,rate=2k";
    let member = crate::common::file("member.toml", DRIVE);
    let run = |fail: &[&str]| {
        let members = format!("members=[\"4 * {member}\"]");
        let fail = fail.iter().map(|&event| event.to_owned()).collect();
        let set = [members.as_str(), "redundancy.scheme=raid5", "start.existing=\"all\""];
        summary(&Job { fail, verify: true, ..job("\n", random, &set) })
    };
    let (sound, slow) = (run(&[]), run(&["slow:member:1@0s,factor=10,for=10s"]));
    let of = |run: &Value, which: &str| figure(run, &format!("response_us.read.{which}"));
    assert!(of(&slow, "p99") > 3.0 * of(&sound, "p99"), "{} {}", of(&slow, "p99"), of(&sound, "p99"));
    assert!(of(&slow, "p50") < 1.5 * of(&sound, "p50"), "{} {}", of(&slow, "p50"), of(&sound, "p50"));
    assert_eq!((&slow["integrity"]["lost_pages"], &slow["integrity"]["wrong_reads"]), (&0.into(), &0.into()));
    assert_eq!(sound["integrity"]["reconstructed_reads"], slow["integrity"]["reconstructed_reads"]);
}

#[test]
fn slowness_and_stalls_outlast_a_power_cut() {
    let trace = "0 0 0 8 1\n100000000 0 0 8 1\n900000000 0 0 8 1\n";
    let found = responses(trace, &["slow:drive@1ms,factor=7,for=500ms", "power@2ms"], &[]);
    assert!(near(found[0], READ) && near(found[1], 7.0 * READ) && near(found[2], READ), "{found:?}");
    // Recovery reads nothing before the stall is over.
    let run = |fail: &[&str]| summary(&failing("0 0 0 8 0\n100000000 0 0 8 1\n", fail, &[]));
    let recovery = |run: &Value| figure(run, "integrity.recovery_us.0");
    let (sound, stalled) = (run(&["power@2ms"]), run(&["power@2ms", "stall:drive@1ms,for=40ms"]));
    assert!(
        near(recovery(&stalled) - recovery(&sound), 39_000.0),
        "{} {}",
        recovery(&stalled),
        recovery(&sound)
    );
}

#[test]
fn a_part_that_is_replaced_is_not_slow() {
    let mirror = ["redundancy.scheme=\"mirror\""];
    let fail = ["slow:channel:1@0s,factor=10,for=1s", "channel:1@5500us,replace_after=0s"];
    // Both copies of a page are read in turn; at the end the rebuild is over.
    let found = responses(&one_each_ms([0; 80], 1), &fail, &mirror);
    let (first, last) = (&found[..4], &found[70..]);
    assert!(first.iter().any(|&response| near(response, 20.0 + 10.0 * (COMMAND + TRANSFER))), "{first:?}");
    assert!(last.iter().all(|&response| near(response, READ)), "{last:?}");
}

#[test]
fn an_untimed_run_has_no_slow_parts() {
    let random = "synth:random,requests=500,write=0.5,size=4KiB,rate=1k";
    let run = |fail: &[&str]| summary(&Job { untimed: true, ..failing(random, fail, &[]) });
    let (sound, slow) = (run(&[]), run(&["slow:drive@10%,factor=10,for=1s", "stall:chip:0.0@20%,for=1s"]));
    assert_eq!(sound["operations"], slow["operations"]);
}

#[test]
fn a_slow_disk_and_a_stalled_disk_take_longer() {
    let random = "synth:random,requests=200,write=0,size=4KiB,depth=1";
    let disk = "[disk]\ncapacity_gb = 0.1\nrotation = \"mean\"\n[start]\nexisting = \"all\"\n";
    let run = |fail: &[&str]| {
        let fail = fail.iter().map(|&event| event.to_owned()).collect();
        summary(&Job { fail, verify: true, ..job(disk, random, &[]) })
    };
    let mean = |run: &Value| figure(run, "response_us.read.mean");
    let (sound, slow) = (run(&[]), run(&["slow:disk@0s,factor=2,for=1000s"]));
    assert!((mean(&slow) / mean(&sound) - 2.0).abs() < 0.001, "{} {}", mean(&slow), mean(&sound));
    let stalled = run(&["stall:disk@50%,for=1s"]);
    assert!(figure(&stalled, "response_us.read.max") > 900_000.0);
}
