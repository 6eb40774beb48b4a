//! Arrays through jobs: the schemes of drives over drives, chunks and volumes, and failures of members.

mod aged;
mod deferred;
mod economy;
mod equal_wear;
mod hybrids;
mod logs;
mod nested;
mod ports;
mod power;
mod told;

use crate::common::{figure, file, job, summary};
use flashkeep::config::load;
use flashkeep::job::Job;
use flashkeep::run;
use serde_json::Value;
use std::ops::ControlFlow;

/// A drive of four channels of one chip.
const MEMBER: &str = "[flash]\nchannels = 4\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
                      blocks_per_plane = 16\npages_per_block = 16\npage_kib = 4\n[ftl]\nover_provisioning = 0.6\n";

/// An array of this many of them.
fn array(scheme: &str, members: usize, more: &[&str]) -> Vec<String> {
    let drive = file("member.toml", MEMBER);
    let members = format!("members=[\"{members} * {}\"]", drive);
    let scheme = format!("redundancy.scheme={scheme}");
    [members, scheme].into_iter().chain(more.iter().map(|&pair| pair.to_owned())).collect()
}

fn array_job(scheme: &str, members: usize, trace: &str, more: &[&str]) -> Job {
    let set = array(scheme, members, more);
    job("\n", trace, &set.iter().map(String::as_str).collect::<Vec<_>>())
}

fn integrity(run: &Value, figure: &str) -> f64 {
    self::figure(run, &format!("integrity.{figure}"))
}

const RANDOM: &str = "synth:random,requests=2k,write=0.5,size=4KiB:0.7/12KiB:0.2/512:0.1,align=512,depth=6";

#[test]
fn every_page_comes_back_from_every_kind_of_array() {
    for (scheme, members) in [
        ("none", 3),
        ("mirror", 2),
        ("mirror", 3),
        ("raid4", 4),
        ("raid5", 5),
        ("raid6", 5),
        ("raid-tp", 6),
        ("lrc", 7),
    ] {
        for unit in ["redundancy.stripe_kib=4", "redundancy.stripe_kib=16", "redundancy.stripe_kib=64"] {
            let mut job = array_job(scheme, members, RANDOM, &[unit, "start.existing=\"all\""]);
            job.verify = true;
            let run = summary(&job);
            assert_eq!(
                (integrity(&run, "wrong_reads"), integrity(&run, "lost_pages")),
                (0.0, 0.0),
                "{scheme} {unit}"
            );
            assert!(integrity(&run, "checked_reads") > 1000.0, "{scheme} {unit}");
            assert_eq!(run["members"].as_array().expect("a list").len(), members);
        }
    }
}

#[test]
fn a_drive_fails_and_nothing_is_lost() {
    for (scheme, members) in
        [("mirror", 2), ("raid4", 4), ("raid5", 5), ("raid6", 5), ("raid-tp", 5), ("lrc", 7)]
    {
        for fail in [
            "member:1@50%",
            "member:1@50%,replace_after=5ms",
            "member:0/channel:2@30%",
            "member:1/block:1.0.0.0.2@500req",
        ] {
            let mut job =
                array_job(scheme, members, RANDOM, &["redundancy.stripe_kib=16", "start.existing=\"all\""]);
            (job.verify, job.fail) = (true, vec![fail.to_owned()]);
            let run = summary(&job);
            assert_eq!(
                (integrity(&run, "wrong_reads"), integrity(&run, "lost_pages")),
                (0.0, 0.0),
                "{scheme} {fail}"
            );
            assert!(
                integrity(&run, "reconstructed_reads") > 0.0 || fail.contains("block"),
                "{scheme} {fail}"
            );
            let phases = run["phases"].as_array().expect("a list");
            let last = phases.last().expect("phases")["phase"].as_str();
            if fail.contains("replace_after") {
                assert_eq!(last, Some("after"), "{scheme} {fail}: whole again");
            }
        }
    }
}

/// Beyond the number of survivable failures, lost pages are reported page by page, and no read returns wrong data.
#[test]
fn two_drives_fail() {
    let events = vec!["member:0@30%".to_owned(), "member:3@60%".to_owned()];
    for (scheme, lost) in [("raid5", true), ("raid6", false)] {
        let mut job = array_job(scheme, 5, RANDOM, &["start.existing=\"all\""]);
        (job.verify, job.fail) = (true, events.clone());
        let run = summary(&job);
        assert_eq!(integrity(&run, "wrong_reads"), 0.0);
        assert_eq!(integrity(&run, "lost_pages") > 0.0, lost, "{scheme}");
    }
}

#[test]
fn arrays_in_arrays() {
    // A path in a drive file is relative to that file.
    let member = file("member.toml", MEMBER);
    let member = member.rsplit('/').next().expect("a name");
    let text = format!("members = [\"2 * ./{member}\"]\n[redundancy]\nscheme = \"mirror\"\n");
    let pair = file("pair.toml", &text);
    let members = format!("members=[\"4 * {}\"]", pair);
    for scheme in ["redundancy.scheme=none", "redundancy.scheme=raid5"] {
        for fail in
            ["member:1@50%", "member:1/member:0@50%", "member:2/member:1/chip:0.0@40%,replace_after=1ms"]
        {
            let mut job = job("\n", RANDOM, &[&members, scheme, "start.existing=\"all\""]);
            (job.verify, job.fail) = (true, vec![fail.to_owned()]);
            let run = summary(&job);
            let lost = scheme.ends_with("none") && fail == "member:1@50%";
            assert_eq!(integrity(&run, "wrong_reads"), 0.0, "{scheme} {fail}");
            assert_eq!(integrity(&run, "lost_pages") > 0.0, lost, "{scheme} {fail}");
        }
    }
}

/// Work that a member's own schemes had begun when it failed does not affect the schemes of its immediate replacement.
#[test]
fn a_member_with_work_under_way_is_replaced_at_once() {
    for inner in ["mirror", "raid5", "dvs"] {
        let member = file("member.toml", &format!("{MEMBER}[redundancy]\nscheme = \"{inner}\"\n"));
        let members = format!("members=[\"3 * {member}\"]");
        for scheme in ["redundancy.scheme=mirror", "redundancy.scheme=raid5"] {
            for at in [42, 48, 55] {
                let mut job = job("\n", RANDOM, &[&members, scheme, "start.existing=\"all\""]);
                let chip = "member:1/chip:0.0@40%,replace_after=1us".to_owned();
                (job.verify, job.fail) = (true, vec![chip, format!("member:1@{at}%,replace_after=1ns")]);
                let run = summary(&job);
                let (wrong, lost) = (integrity(&run, "wrong_reads"), integrity(&run, "lost_pages"));
                assert_eq!((wrong, lost), (0.0, 0.0), "{inner}, {scheme}, {at}");
                let last = run["phases"].as_array().and_then(|phases| phases.last()).expect("phases");
                assert_eq!(last["phase"], "after", "{inner}, {scheme}, {at}: whole again");
            }
        }
    }
}

/// The hybrid-backup paper's table 1: on idle arrays a mirror's write takes as long as a member's, a small write of
/// RAID-5 and RAID-6 a read and a write.
#[test]
fn writes_on_idle_arrays() {
    let one = |write: f64| format!("synth:random,requests=500,write={write},size=4KiB,rate=100");
    let alone = |write| {
        let job = job(MEMBER, &one(write), &["start.existing=\"all\""]);
        figure(&summary(&job), "response_us.all.mean")
    };
    let (read, write) = (alone(0.0), alone(1.0));
    for (scheme, members, expected) in [
        ("mirror", 2, write),
        ("raid5", 5, read + write),
        ("raid6", 6, read + write),
        ("raid4", 5, read + write),
    ] {
        let job = array_job(scheme, members, &one(1.0), &["start.existing=\"all\"", "redundancy.xor_us=0"]);
        let mean = figure(&summary(&job), "response_us.all.mean");
        assert!((mean / expected - 1.0).abs() < 0.01, "{scheme}: {mean} µs, expected {expected}");
    }
}

/// A run that covers a row of units is written without reading, for every unit.
#[test]
fn rows_of_units_are_full_stripes() {
    for unit in [4, 16, 64] {
        let keys = [format!("redundancy.stripe_kib={unit}"), "start.existing=\"all\"".to_owned()];
        let size = format!("synth:sequential,requests=40,write=1,size={}KiB,depth=1", unit * 4);
        let run = summary(&array_job("raid5", 5, &size, &keys.each_ref().map(String::as_str)));
        assert_eq!(figure(&run, "operations.read.parity"), 0.0, "{unit} KiB");
        let programs = figure(&run, "operations.program.parity") / figure(&run, "operations.program.host");
        assert_eq!(programs, 0.25, "{unit} KiB");
    }
}

/// Consecutive KiB go to one member until its unit is full.
#[test]
fn units_lie_on_members() {
    let written = |unit: &str| -> Vec<u64> {
        let trace = "synth:sequential,requests=16,write=1,size=4KiB,depth=1";
        let run = summary(&array_job("none", 4, trace, &[unit]));
        let members = run["members"].as_array().expect("a list");
        members
            .iter()
            .map(|member| member["operations"]["program"]["host"].as_u64().expect("a count"))
            .collect()
    };
    assert_eq!(written("redundancy.stripe_kib=4"), [4, 4, 4, 4]);
    assert_eq!(written("redundancy.stripe_kib=32"), [8, 8, 0, 0]);
    assert_eq!(written("redundancy.stripe_kib=0"), [16, 0, 0, 0]);
}

/// Several workloads go to the volumes in order, each in a closed loop of its own: a volume's requests do not wait for
/// another's.
#[test]
fn volumes_have_loops_of_their_own() {
    let slow = "synth:random,requests=300,write=1,size=4KiB,depth=1";
    let set = ["array.volumes=4", "redundancy.stripe_kib=0"];
    let one = summary(&array_job("none", 4, slow, &set));
    let mut job = array_job("none", 4, slow, &set);
    job.traces = vec![slow.to_owned(); 4];
    let four = summary(&job);
    assert_eq!(figure(&four, "workload.requests"), 1200.0);
    let ratio = figure(&four, "throughput.iops") / figure(&one, "throughput.iops");
    assert!((ratio - 4.0).abs() < 0.05, "four volumes do {ratio} times as much as one");
    let members = four["members"].as_array().expect("a list");
    assert!(
        members.iter().all(|member| member["operations"]["program"]["host"] == 300),
        "one volume a member"
    );
    // By time, the same requests arrive; all of them wait in one queue.
    (job.replay, job.traces) = (Some("open".to_owned()), vec![slow.replace("depth=1", "rate=1k"); 4]);
    assert_eq!(figure(&summary(&job), "workload.requests"), 1200.0);
    job.traces.push(slow.to_owned());
    let message = run(&job, &mut |_| ControlFlow::Continue(())).expect_err("five for four").to_string();
    assert!(message.contains("4 volumes"), "{message}");
}

/// In batches every volume gets as many requests, and a batch takes as long as its slowest request.
#[test]
fn a_batch_has_a_request_of_each_volume() {
    let timing = "timing = { read_us = READ, program_us = 200, erase_us = 1000, bus_ns_per_byte = 0, command_ns = 0 }\n[ftl]";
    let text = |read: &str| MEMBER.replace("[ftl]", &timing.replace("READ", read));
    let (fast, slow) = (file("fast.toml", &text("50")), file("slow.toml", &text("175")));
    let set = [
        format!("members=[\"{fast}\", \"{slow}\"]"),
        "redundancy.scheme=none".to_owned(),
        "redundancy.stripe_kib=0".to_owned(),
        "array.volumes=2".to_owned(),
        "start.existing=\"all\"".to_owned(),
    ];
    let reads = "synth:random,requests=100,write=0,size=4KiB,rate=1k";
    let mut job = job("\n", reads, &set.each_ref().map(String::as_str));
    job.traces = vec![reads.to_owned(); 2];
    (job.replay, job.depth) = (Some("batch".to_owned()), Some(1));
    let run = summary(&job);
    assert_eq!(figure(&run, "simulated_s"), 0.0175);
    let read = |member: usize| run["members"][member]["operations"]["read"]["host"].as_u64();
    assert_eq!((read(0), read(1)), (Some(100), Some(100)));
    // In loops of their own the fast one is through long before.
    job.replay = Some("closed".to_owned());
    job.limit = Some(90);
    let run = summary(&job);
    let read = |member: usize| run["members"][member]["operations"]["read"]["host"].as_u64();
    assert_eq!((read(0), read(1)), (Some(70), Some(20)));
}

#[test]
fn an_array_is_its_members_and_no_more() {
    let member = figure(&summary(&job(MEMBER, RANDOM, &[])), "capacity_bytes");
    for (scheme, members, data) in
        [("none", 4, 4.0), ("mirror", 3, 1.0), ("raid5", 5, 4.0), ("raid6", 6, 4.0)]
    {
        let run = summary(&array_job(scheme, members, RANDOM, &["redundancy.stripe_kib=4"]));
        assert_eq!(figure(&run, "capacity_bytes"), member * data, "{scheme}");
    }
}

/// Drives with larger pages store several of the array's pages in each: in a stripe, or in an array that is a member.
#[test]
fn members_with_pages_of_two_sizes() {
    let (drive, large) =
        (file("member.toml", MEMBER), file("large.toml", &MEMBER.replace("kib = 4", "kib = 8")));
    let digest = |members: &str, scheme: &str| {
        let set = [&format!("members=[{members}]"), scheme, "start.existing=\"all\""];
        let mut job = job("\n", RANDOM, &set);
        job.verify = true;
        let run = summary(&job);
        assert_eq!(figure(&run, "integrity.wrong_reads"), 0.0);
        run["digest"].clone()
    };
    let said = format!("{large},ftl.logical_page_kib=4");
    for scheme in ["none", "mirror", "raid5"] {
        let scheme = format!("redundancy.scheme={scheme}");
        let mixed = |other: &str| format!("\"2 * {drive}\", \"2 * {other}\"");
        assert_eq!(digest(&mixed(&large), &scheme), digest(&mixed(&said), &scheme), "{scheme}");
    }
    let pair = |member: &str| file("pair.toml", &format!("members = [\"2 * {member}\"]\n"));
    let mixed = |other: &str| format!("\"{drive}\", \"{other}\"");
    let mirror = "redundancy.scheme=mirror";
    assert_eq!(digest(&mixed(&pair(&large)), mirror), digest(&mixed(&pair(&said)), mirror));
}

#[test]
fn what_makes_no_array_is_refused() {
    let drive = file("member.toml", MEMBER);
    let other = file("other.toml", &MEMBER.replace("page_kib = 4", "page_kib = 6"));
    let of = |text: &str| format!("members=[\"{}\"]", text.replace("MEMBER", &drive));
    for (set, part) in [
        (vec![of("x * MEMBER")], "COUNT * DRIVE"),
        (vec![of("0 * MEMBER")], "COUNT * DRIVE"),
        (vec![of("2 * nosuch")], "\"nosuch\""),
        (vec![of("2 * MEMBER"), "flash.channels=2".into()], "belongs to the members"),
        (vec![of("2 * MEMBER"), "redundancy.scheme=raid5".into()], "raid5: a stripe over 2 members"),
        (
            vec![of("2 * MEMBER"), "redundancy.scheme=dvs".into()],
            "stripes over 2 members: at least 3 members",
        ),
        (vec![of("2 * MEMBER"), "redundancy.stripe_kib=6".into()], "not a whole number of pages"),
        (vec![of("2 * MEMBER"), "member.flash.channels=0".into()], "flash.channels"),
        (vec!["member.flash.channels=2".into()], "has none"),
        (
            vec![format!("members=[\"{}\", \"{}\"]", drive, other)],
            "does not hold a whole number of pages of 4 KiB",
        ),
    ] {
        let empty = file("empty.toml", "");
        let message = load(&empty.to_string(), &set).expect_err(part).to_string();
        assert!(message.contains(part), "{message}");
    }
    for fail in ["chip:0.0@1s", "member:7@1s", "member:0/chip:9.0@1s", "member:0/power@1s", "nvram@1s"] {
        let mut job = array_job("mirror", 2, RANDOM, &[]);
        job.fail = vec![fail.to_owned()];
        let message = run(&job, &mut |_| ControlFlow::Continue(())).expect_err(fail).to_string();
        assert!(message.contains("member"), "{message}");
    }
}

/// A short file may need more nodes than the engine has numbers for.
#[test]
fn more_drives_than_can_be_numbered_are_refused() {
    let array = |members: &str| file("many.toml", &format!("members = [\"{members}\"]\n"));
    let plain = file("member.toml", MEMBER);
    let device_set = array(&format!("255 * {plain}"));
    assert!(load(&array(&format!("255 * {device_set}")), &[]).is_ok(), "1 + 255 · 256 nodes");
    let mirrors = array(&format!("255 * {plain},redundancy.scheme=mirror,flash.channels=2"));
    let hall = array(&format!("100 * {mirrors}"));
    let message = load(&hall, &[]).expect_err("1 + 100 · (1 + 255 · 3) nodes").to_string();
    assert!(message.starts_with(&format!("{hall}:1: members: 76601 nodes")), "{message}");
}

/// A disk of 2,000 pages.
const DISK: &str = "[disk]\ncapacity_gb = 0.008192\nheads = 1\nzones = 1\n";

/// A mirror compares the backlogs of its members; members that are trees answer for their own devices, with chunks of
/// any size.
#[test]
fn a_mirror_over_striped_members() {
    let member = file("member.toml", MEMBER);
    let text = format!("members = [\"2 * {member}\"]\n[redundancy]\nscheme = \"none\"\n");
    let striped = file("striped.toml", &text);
    let members = format!("members=[\"2 * {striped}\"]");
    for policy in ["least-busy", "round-robin"] {
        let policy = format!("redundancy.read_policy={policy}");
        let mut job =
            job("\n", RANDOM, &[&members, "redundancy.scheme=mirror", &policy, "start.existing=\"all\""]);
        job.verify = true;
        let run = summary(&job);
        assert_eq!((integrity(&run, "wrong_reads"), integrity(&run, "lost_pages")), (0.0, 0.0));
    }
}

fn run_error(job: &Job) -> String {
    run(job, &mut |_| ControlFlow::Continue(())).expect_err("it is refused").to_string()
}
