//! Arrays through jobs: the schemes of drives over drives, units and volumes, and what fails around a drive.

mod common;

use common::{figure, file, job, output, records, summary};
use flashkeep::job::Job;
use flashkeep::run;
use flashkeep::spec::load;
use serde_json::Value;
use std::ops::ControlFlow;

/// A drive of four channels of one chip.
const MEMBER: &str = "[flash]\nchannels = 4\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
                      blocks_per_plane = 16\npages_per_block = 16\npage_kib = 4\n[ftl]\nover_provisioning = 0.6\n";

/// An array of so many of them.
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
    for (scheme, members) in
        [("none", 3), ("mirror", 2), ("mirror", 3), ("raid4", 4), ("raid5", 5), ("raid6", 5)]
    {
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
    for (scheme, members) in [("mirror", 2), ("raid4", 4), ("raid5", 5), ("raid6", 5)] {
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

/// What is beyond the promise is reported, page by page, and never returned wrong.
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
    // A path in a drive file is relative to that.
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

/// What a member's own schemes had begun when it failed is nothing to those of the one that takes its place at once.
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

/// An array of arrays: of each level its scheme, its members and what else is said of it, the outermost last.
fn nested(levels: &[(&str, usize, &str)]) -> String {
    levels.iter().fold(file("member.toml", MEMBER), |member, (scheme, members, keys)| {
        let member = format!("members = [\"{members} * {member}\"]\n");
        file(&format!("{scheme}.toml"), &format!("{member}[redundancy]\nscheme = \"{scheme}\"\n{keys}\n"))
    })
}

fn nested_job(levels: &[(&str, usize, &str)], trace: &str) -> Job {
    let mut job = job("\n", trace, &["start.existing=\"all\""]);
    job.drive = nested(levels);
    job.verify = true;
    job
}

/// Every level has units of its own, whatever is above and below it, and however they compare.
#[test]
fn units_within_units() {
    let units = |kib: [u32; 2]| kib.map(|kib| format!("stripe_kib = {kib}"));
    for (inner, members) in [("none", 3), ("raid4", 4), ("raid5", 4), ("raid6", 4)] {
        for (outer, count) in [("none", 2), ("mirror", 2), ("raid5", 3)] {
            for kib in [[16, 16], [4, 32], [64, 8], [8, 24]] {
                let [below, above] = units(kib);
                let above = if outer == "mirror" { "" } else { &above };
                let levels = [(inner, members, below.as_str()), (outer, count, above)];
                for fail in ["", "member:1/member:0@40%", "member:0@40%,replace_after=1ms"] {
                    let mut job = nested_job(&levels, &RANDOM.replace("2k", "500"));
                    job.fail.extend((!fail.is_empty()).then(|| fail.to_owned()));
                    let run = summary(&job);
                    let what = format!("{inner} in {outer}, {kib:?} KiB, {fail}");
                    assert_eq!(integrity(&run, "wrong_reads"), 0.0, "{what}");
                    let whole_member = fail.starts_with("member:0@") && outer == "none";
                    let part = fail.starts_with("member:1") && inner == "none" && outer == "none";
                    assert_eq!(integrity(&run, "lost_pages") > 0.0, whole_member || part, "{what}");
                }
            }
        }
    }
}

/// Three levels, and a mirror in the middle: whatever happens within what each of them survives.
#[test]
fn three_levels() {
    let levels = [("none", 2, "stripe_kib = 8"), ("mirror", 2, ""), ("raid5", 3, "stripe_kib = 16")];
    let fails = ["member:0/member:1/member:0@20%", "member:2/member:1@50%,replace_after=1ms", "member:1@70%"];
    for events in [&fails[..2], &fails[2..], &[]] {
        let mut job = nested_job(&levels, RANDOM);
        job.fail = events.iter().map(|&event| event.to_owned()).collect();
        let run = summary(&job);
        assert_eq!((integrity(&run, "wrong_reads"), integrity(&run, "lost_pages")), (0.0, 0.0), "{events:?}");
    }
}

/// RAID-50: what covers a row of the inner units is written without reading, where it reaches an inner array as one; the
/// units of the inner level are its own.
#[test]
fn rows_of_inner_units_are_full_stripes() {
    let parity = |inner: u32, outer: u32, size: u32| {
        let (inner, outer) = (format!("stripe_kib = {inner}"), format!("stripe_kib = {outer}"));
        let trace = format!("synth:sequential,requests=30,write=1,size={size}KiB,depth=1");
        let run = summary(&nested_job(&[("raid5", 4, &inner), ("none", 2, &outer)], &trace));
        let host = figure(&run, "operations.program.host");
        ["read", "program"].map(|kind| figure(&run, &format!("operations.{kind}.parity")) / host)
    };
    for (inner, outer, size) in [(4, 12, 12), (8, 24, 24), (8, 24, 48), (16, 48, 96), (16, 96, 96)] {
        assert_eq!(parity(inner, outer, size), [0.0, 1.0 / 3.0], "{inner} in {outer}, {size} KiB");
    }
    // A unit of the inner level by itself: three stripes' worth of parity where its pages lie in three stripes.
    let [reads, programs] = parity(12, 36, 12);
    assert!(reads > 1.0 && programs == 1.0, "{reads} {programs}");
    let [reads, programs] = parity(4, 36, 12);
    assert_eq!((reads, programs), (0.0, 1.0 / 3.0));
}

/// What follows each other lies on one drive until the inner unit is full, on one member until the outer one is.
#[test]
fn inner_units_lie_on_drives() {
    let written = |inner: &str, outer: &str| -> Vec<u64> {
        let trace = "synth:sequential,requests=16,write=1,size=4KiB,depth=1";
        let run = summary(&nested_job(&[("none", 2, inner), ("none", 2, outer)], trace));
        let members = run["members"].as_array().expect("a list").iter();
        members.map(|member| member["operations"]["program"]["host"].as_u64().expect("a count")).collect()
    };
    assert_eq!(written("stripe_kib = 16", "stripe_kib = 64"), [8, 8, 0, 0]);
    assert_eq!(written("stripe_kib = 64", "stripe_kib = 64"), [16, 0, 0, 0]);
    assert_eq!(written("stripe_kib = 64", "stripe_kib = 16"), [8, 0, 8, 0]);
    assert_eq!(written("stripe_kib = 0", "stripe_kib = 16"), [8, 0, 8, 0]);
    assert_eq!(written("stripe_kib = 4", "stripe_kib = 4"), [4, 4, 4, 4]);
}

/// Each level's controller adds up its own parities, and rebuilds at its own pace.
#[test]
fn levels_have_controllers_of_their_own() {
    let write = "synth:random,requests=200,write=1,size=4KiB,rate=100";
    let response = |inner: &str, outer: &str| {
        let levels = [("raid5", 3, inner), ("raid5", 3, outer)];
        figure(&summary(&nested_job(&levels, write)), "response_us.write.mean")
    };
    let (none, inner, outer) = (response("", ""), response("xor_us = 50", ""), response("", "xor_us = 50"));
    // The parity of two data pages is their sum, one page after the other: once outside, and then, side by side, in the
    // two members that data and parity go to.
    assert!((outer - none - 100.0).abs() < 1.0, "{none} {outer}");
    assert!((inner - none - 100.0).abs() < 1.0, "{none} {inner}");
    let rebuilding = |inner: &str, outer: &str| {
        let mut job = nested_job(&[("raid5", 3, inner), ("mirror", 2, outer)], RANDOM);
        job.fail = vec!["member:0/member:1@20%,replace_after=1ms".to_owned()];
        let run = summary(&job);
        let phases = run["phases"].as_array().expect("a list").iter();
        let phase = phases.filter(|phase| phase["phase"] == "rebuilding");
        phase.map(|phase| figure(phase, "until_s") - figure(phase, "from_s")).sum::<f64>()
    };
    let (fast, slow) = (rebuilding("", ""), rebuilding("rebuild_share = 0.1", ""));
    assert!(slow > 2.0 * fast, "the inner level rebuilds: {fast} {slow}");
    assert_eq!(rebuilding("", "rebuild_share = 0.1"), fast);
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

/// A run that covers a row of units is written without reading, whatever the unit.
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

#[test]
fn what_makes_no_array_is_refused() {
    let drive = file("member.toml", MEMBER);
    let other = file("other.toml", &MEMBER.replace("page_kib = 4", "page_kib = 8"));
    let of = |text: &str| format!("members=[\"{}\"]", text.replace("MEMBER", &drive));
    for (set, part) in [
        (vec![of("x * MEMBER")], "COUNT * DRIVE"),
        (vec![of("0 * MEMBER")], "COUNT * DRIVE"),
        (vec![of("2 * nosuch")], "\"nosuch\""),
        (vec![of("2 * MEMBER"), "flash.channels=2".into()], "belongs to the members"),
        (vec![of("2 * MEMBER"), "redundancy.scheme=raid5".into()], "raid5: a stripe over 2 members"),
        (vec![of("8 * MEMBER"), "redundancy.scheme=dvs".into()], "order of their arrival"),
        (vec![of("8 * MEMBER"), "redundancy.scheme=fra".into()], "old versions"),
        (vec![of("2 * MEMBER"), "redundancy.stripe_kib=6".into()], "not a whole number of pages"),
        (vec![of("2 * MEMBER"), "member.flash.channels=0".into()], "flash.channels"),
        (vec!["member.flash.channels=2".into()], "has none"),
        (vec![format!("members=[\"{}\", \"{}\"]", drive, other)], "pages of one size"),
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

/// A disk is run like a drive: about 77 random reads a second, 69 writes, and the outer zone's rate in sequence.
#[test]
fn a_disk_alone() {
    let run = |trace: &str| summary(&job("st3500630a", trace, &[]));
    let reads = run("synth:random,requests=4k,write=0,size=4KiB,depth=1");
    let writes = run("synth:random,requests=4k,write=1,size=4KiB,depth=1");
    assert!((figure(&reads, "throughput.iops") / 77.0 - 1.0).abs() < 0.02, "{}", reads["throughput"]);
    assert!((figure(&writes, "throughput.iops") / 69.0 - 1.0).abs() < 0.02, "{}", writes["throughput"]);
    let row = run("synth:sequential,requests=4k,write=0,size=256KiB,depth=4");
    let mb_s = figure(&row, "throughput.read_mib_s") * 1.048_576;
    assert!((mb_s / 78.0 - 1.0).abs() < 0.02, "{mb_s} MB/s");
    assert!(figure(&row, "disk.sequential") > 3900.0 && figure(&reads, "disk.busy") > 0.99);
}

/// A mirror over a drive and a disk: a write is done when both are, and either may fail.
#[test]
fn a_drive_and_a_disk() {
    let drive = file("member.toml", MEMBER);
    let members = format!("members=[\"{drive}\", \"st3500630a\"]");
    let set = [&members, "redundancy.scheme=mirror", "start.existing=\"all\""];
    let mut job = job("\n", RANDOM, &set);
    job.verify = true;
    let whole = summary(&job);
    assert!(figure(&whole, "response_us.write.mean") > 3000.0, "a write waits for the disk");
    for fail in ["member:0@50%", "member:1@50%", "member:1@50%,replace_after=1s"] {
        job.fail = vec![fail.to_owned()];
        let run = summary(&job);
        assert_eq!((integrity(&run, "wrong_reads"), integrity(&run, "lost_pages")), (0.0, 0.0), "{fail}");
    }
}

/// A disk of 2,000 pages.
const DISK: &str = "[disk]\ncapacity_gb = 0.008192\nheads = 1\nzones = 1\n";

/// The systems that have both, and their members: drives, disks, and whether there is a memory.
const HYBRIDS: [(&str, usize, usize, bool, &[&str]); 2] = [
    (
        "backup",
        2,
        1,
        true,
        &["redundancy.nvram_mib=0.125", "redundancy.segment_kib=64", "redundancy.free_every=4"],
    ),
    ("hpda", 3, 2, false, &["redundancy.log_mib=1", "redundancy.stripe_kib=16"]),
];

fn hybrid(scheme: &str, drives: usize, disks: usize, more: &[&str]) -> Job {
    let (drive, disk) = (file("member.toml", MEMBER), file("disk.toml", DISK));
    let members = format!("members=[\"{drives} * {drive}\", \"{disks} * {disk}\"]");
    let scheme = format!("redundancy.scheme={scheme}");
    let mut set = vec![members.as_str(), &scheme, "start.existing=\"all\""];
    set.extend(more);
    let mut job = job("\n", RANDOM, &set);
    job.verify = true;
    job
}

/// Any one drive, disk or memory fails, at any time: every acknowledged page comes back, and a new one in its place is
/// filled.
#[test]
fn any_one_member_of_a_hybrid_fails() {
    for (scheme, drives, disks, memory, keys) in HYBRIDS {
        let run = summary(&hybrid(scheme, drives, disks, keys));
        assert_eq!((integrity(&run, "wrong_reads"), integrity(&run, "lost_pages")), (0.0, 0.0), "{scheme}");
        let mut parts: Vec<String> = (0..drives + disks).map(|member| format!("member:{member}")).collect();
        parts.extend(memory.then(|| "nvram".to_owned()));
        for part in parts {
            for when in ["@1req", "@333req", "@50%", "@1999req", "@40%,replace_after=20ms"] {
                let mut job = hybrid(scheme, drives, disks, keys);
                job.fail = vec![format!("{part}{when}")];
                let run = summary(&job);
                let found = (integrity(&run, "wrong_reads"), integrity(&run, "lost_pages"));
                assert_eq!(found, (0.0, 0.0), "{scheme} {part}{when}");
            }
        }
    }
}

/// A write to a backup is done when its drive and the memory have it, and not when the disk has; where the memory is
/// full, it waits for the disk.
#[test]
fn a_backup_hides_its_disk_until_the_memory_is_full() {
    let trace = |requests| format!("synth:random,requests={requests},write=1,size=4KiB,depth=1");
    let run = |requests, mib: &str| {
        let mut job = hybrid("backup", 2, 1, &[mib, "redundancy.segment_kib=64", "redundancy.free_every=4"]);
        job.traces = vec![trace(requests)];
        summary(&job)
    };
    let roomy = run(200, "redundancy.nvram_mib=1");
    let full = run(2000, "redundancy.nvram_mib=0.0625");
    assert!(figure(&roomy, "response_us.write.max") < 1500.0, "no write waits for the disk");
    assert!(figure(&full, "response_us.write.mean") > 2.0 * figure(&roomy, "response_us.write.mean"));
    assert_eq!(figure(&full, "backup.nvram_most_mib"), 0.0625);
    let moved = |run: &Value, what: &str| figure(run, &format!("backup.disks.0.{what}.pages"));
    let host = figure(&full, "backup.writes.pages");
    let phases: f64 =
        ["in_place", "staged", "recalled", "destaged"].map(|what| moved(&full, what)).iter().sum();
    // Volume moved is 1 + 2 f times what was written, f being the share that was staged (and is not superseded).
    assert!(phases <= 3.0 * host && moved(&full, "staged") > 0.0, "{phases} of {host}");
}

/// A mirror asks its members how busy they are; those that are trees answer for themselves, whatever their pages are
/// called within.
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

/// An array that is conditioned is used like a drive: written in full, then at random, until it is in a steady state; its
/// drives then collect for what they are asked.
#[test]
fn arrays_are_conditioned() {
    let write = "synth:random,requests=2k,write=1,size=4KiB,depth=4";
    for (scheme, members) in [("none", 1), ("none", 3), ("mirror", 2), ("raid5", 4)] {
        let mut job = array_job(scheme, members, write, &["member.ftl.over_provisioning=0.3"]);
        let new = summary(&job);
        (job.condition, job.verify) = (true, true);
        let used = summary(&job);
        assert_eq!((integrity(&used, "wrong_reads"), integrity(&used, "lost_pages")), (0.0, 0.0), "{scheme}");
        assert_eq!(used["conditioning"]["steady"], true, "{scheme}");
        let amplified = |run: &Value| figure(run, "write_amplification.total");
        assert!(
            amplified(&used) > 1.3 * amplified(&new),
            "{scheme}: {} {}",
            amplified(&new),
            amplified(&used)
        );
        assert_eq!(figure(&used, "operations.program.host"), figure(&new, "operations.program.host"));
        for member in used["members"].as_array().expect("a list") {
            assert!(
                figure(member, "write_amplification.total") > 1.2,
                "{scheme}: {}",
                member["write_amplification"]
            );
        }
        job.verify = false;
        assert_eq!(summary(&job)["digest"], used["digest"], "{scheme}");
    }
    // Disks and memories are written with the rest, and count nothing of it.
    let mut job = hybrid("backup", 2, 1, HYBRIDS[0].4);
    (job.condition, job.set) =
        (true, job.set.into_iter().filter(|pair| !pair.starts_with("start")).collect());
    let run = summary(&job);
    assert_eq!((integrity(&run, "wrong_reads"), integrity(&run, "lost_pages")), (0.0, 0.0));
    assert!(integrity(&run, "checked_reads") > 1000.0);
}

/// Members whose drive files say how they have aged are aged so, each by its own file: valid pages of the drives are
/// pages of the array.
#[test]
fn members_are_aged() {
    let ageing =
        ["member.ageing.model=approach2", "member.ageing.aged_ratio=0.7", "member.ageing.valid_ratio=0.5"];
    let write = "synth:random,requests=3k,write=0.8,size=4KiB,depth=4";
    for (scheme, members) in [("none", 3), ("mirror", 2), ("raid4", 4), ("raid5", 4), ("raid6", 5)] {
        for allocation in ["dynamic", "CWDP"] {
            let allocation = format!("member.ftl.allocation={allocation}");
            let set = [&ageing[..], &["redundancy.stripe_kib=16", &allocation]].concat();
            let mut job = array_job(scheme, members, write, &set);
            job.verify = true;
            let aged = summary(&job);
            let what = format!("{scheme} {allocation}");
            assert_eq!(
                (integrity(&aged, "wrong_reads"), integrity(&aged, "lost_pages")),
                (0.0, 0.0),
                "{what}"
            );
            let new = summary(&array_job(scheme, members, write, &[&set[3..]].concat()));
            let collected = |run: &Value| {
                let members = run["members"].as_array().expect("a list").iter();
                members.map(|member| figure(member, "wear.erases_total")).sum::<f64>()
            };
            assert!(collected(&aged) > collected(&new), "{what}: {} {}", collected(&aged), collected(&new));
        }
    }
    // Half of the blocks that seven tenths of a plane's pages fill, in each drive.
    let mut job = array_job("raid5", 4, "synth:random,requests=1,write=1,size=4KiB", &ageing);
    job.set.push("start.existing=none".to_owned());
    let filled = figure(&summary(&job), "fill");
    // 11 full blocks in each of 16 planes of 16, 8 of whose 16 pages are valid, and what the one write has put there.
    assert_eq!(filled * 4096.0, 16.0 * 11.0 * 8.0 + 2.0);
    // Each by its own file, mirrors in between.
    let [old, new] =
        [&format!("{MEMBER}[ageing]\nmodel = \"approach2\"\naged_ratio = 0.7\nvalid_ratio = 0.4\n"), MEMBER];
    let [old, new] = [file("old.toml", old), file("new.toml", new)];
    let pair =
        file("pair.toml", &format!("members = [\"{old}\", \"{new}\"]\n[redundancy]\nscheme = \"mirror\"\n"));
    let mut job = self::job("\n", write, &[&format!("members=[\"3 * {pair}\"]"), "redundancy.scheme=raid5"]);
    job.verify = true;
    let run = summary(&job);
    assert_eq!((integrity(&run, "wrong_reads"), integrity(&run, "lost_pages")), (0.0, 0.0));
    for (set, part) in
        [(vec!["start.existing=all"], "--condition"), (vec!["redundancy.scheme=griffin"], "griffin")]
    {
        let set = [&ageing[..], &set].concat();
        let job = array_job("raid5", 4, write, &set);
        let message = run_error(&job);
        assert!(message.contains(part), "{message}");
    }
}

fn run_error(job: &Job) -> String {
    run(job, &mut |_| ControlFlow::Continue(())).expect_err("it is refused").to_string()
}

/// Every operation of every member is in the log, with the member's name; disks have none.
#[test]
fn operations_of_members() {
    let path = output("operations.csv");
    let mut job = nested_job(&[("raid5", 3, ""), ("mirror", 2, "")], RANDOM);
    job.operations = Some(path.clone());
    let run = summary(&job);
    let log = records(&path);
    assert_eq!(log[0][..4], ["start_ns", "end_ns", "member", "channel"]);
    let members = run["members"].as_array().expect("a list");
    assert_eq!(members.len(), 6);
    for member in members {
        let name = member["member"].as_str().expect("a name");
        for kind in ["read", "program", "erase"] {
            let counts = member["operations"][kind].as_object().expect("a table").values();
            let counted: u64 = counts.map(|count| count.as_u64().expect("a count")).sum();
            let logged = log[1..].iter().filter(|row| row[2] == name && row[9] == kind).count() as u64;
            assert_eq!(logged, counted, "{name} {kind}");
        }
    }
    let mut job = hybrid("hpda", 3, 2, HYBRIDS[1].4);
    (job.operations, job.timeline) = (Some(path.clone()), Some(output("timeline.json")));
    summary(&job);
    assert!(records(&path)[1..].iter().all(|row| ["0", "1", "2"].contains(&row[2].as_str())));
}

/// Channels and units of each member are in use in a timeline for as long as they are; a window bounds all of them.
#[test]
fn a_timeline_of_members() {
    let path = output("timeline.json");
    let mut job = array_job("raid5", 3, "synth:random,requests=300,write=0.5,size=4KiB,rate=2k", &[]);
    job.timeline = Some(path.clone());
    let run = summary(&job);
    let shown = |path: &std::path::Path| -> Vec<Value> {
        let text = std::fs::read_to_string(path).expect("the run wrote it");
        let events: Value = serde_json::from_str(&text).expect("JSON");
        events["traceEvents"].as_array().expect("a list").clone()
    };
    let events = shown(&path);
    let named = |what: &str| events.iter().filter(|event| event["name"] == what).count();
    assert_eq!([named("process_name"), named("thread_name")], [1 + 3 * 4, 3 * 8]);
    for (at, member) in run["members"].as_array().expect("a list").iter().enumerate() {
        for channel in 0..4 {
            let name = format!("member {at} channel {channel}");
            let process =
                events.iter().find(|event| event["args"]["name"] == name.as_str()).expect("it is named");
            let bus = events.iter().find(|event| {
                event["name"] == "thread_name"
                    && event["pid"] == process["pid"]
                    && event["args"]["name"] == "bus"
            });
            let bus = &bus.expect("a bus")["tid"];
            let of_bus = events.iter().filter(|event| event["ph"] == "X" && event["tid"] == *bus);
            let busy: f64 = of_bus.map(|event| event["dur"].as_f64().expect("µs")).sum();
            let used = figure(member, &format!("utilization.channel.{channel}"));
            let seconds = figure(&run, "simulated_s");
            assert!((busy / 1e6 - used * seconds).abs() < 1e-8, "{name}: {busy} µs, {used} of {seconds} s");
        }
    }
    job.timeline_window = Some("10ms..20ms".to_owned());
    summary(&job);
    let slices: Vec<Value> = shown(&path).into_iter().filter(|event| event["ph"] == "X").collect();
    assert!(slices.len() > 20);
    for slice in slices {
        let (at, long) = (slice["ts"].as_f64().expect("µs"), slice["dur"].as_f64().expect("µs"));
        assert!(at >= 10_000.0 && at + long <= 20_000.0, "{slice}");
    }
}

/// A column for each copy, each with the member that has it.
#[test]
fn a_map_of_members() {
    let path = output("map.csv");
    let mut job = array_job("mirror", 2, "synth:sequential,requests=40,write=1,size=4KiB", &[]);
    job.map = Some(path.clone());
    summary(&job);
    let map = records(&path);
    assert_eq!((map.len(), &map[0][..]), (41, &["page", "copy0", "copy1"].map(str::to_owned)[..]));
    assert!(map[1..].iter().all(|row| row[1].starts_with("0:") && row[2].starts_with("1:")));
    let levels = [("none", 2, "stripe_kib = 8"), ("none", 2, "stripe_kib = 16")];
    let mut job = nested_job(&levels, "synth:sequential,requests=8,write=1,size=4KiB");
    (job.map, job.set) = (Some(path.clone()), Vec::new());
    summary(&job);
    let members: Vec<String> = records(&path)[1..]
        .iter()
        .map(|row| row[1].split(':').next().expect("a member").to_owned())
        .collect();
    assert_eq!(members, ["0/0", "0/0", "0/1", "0/1", "1/0", "1/0", "1/1", "1/1"]);
}

/// An array that was saved after it had been conditioned goes on as if it had just been, whatever its members are.
#[test]
fn arrays_are_saved() {
    let plain = |mut job: Job| {
        job.set.retain(|pair| !pair.starts_with("start"));
        job
    };
    for (what, job) in [
        ("raid5", plain(array_job("raid5", 4, RANDOM, &[]))),
        (
            "nested",
            plain(nested_job(&[("raid5", 3, "stripe_kib = 8"), ("none", 2, "stripe_kib = 16")], RANDOM)),
        ),
        ("backup", plain(hybrid("backup", 2, 1, HYBRIDS[0].4))),
    ] {
        let used = summary(&Job { verify: true, condition: true, ..job.clone() });
        let path = output("array.aged");
        summary(&Job { verify: true, save_aged: Some(path.clone()), traces: Vec::new(), ..job.clone() });
        let aged = Job { verify: true, aged: Some(path.clone()), ..job };
        let run = summary(&aged);
        assert_eq!(run["digest"], used["digest"], "{what}");
        assert_eq!(run["members"], used["members"], "{what}");
        assert_eq!((integrity(&run, "wrong_reads"), integrity(&run, "lost_pages")), (0.0, 0.0), "{what}");
        if what != "raid5" {
            continue;
        }
        let mut other = aged.clone();
        other.set.push("member.ftl.over_provisioning=0.5".to_owned());
        let message = run_error(&other);
        assert!(
            message.contains("of another drive: members.0") && message.contains("over_prov"),
            "{message}"
        );
        let mut later = aged.clone();
        later.set.push("member.flash.acknowledge=program".to_owned());
        summary(&later);
    }
}

/// The power fails at every step of a random history: no durable page is lost, and what is there is what was written.
#[test]
fn the_power_of_an_array_fails() {
    let history = "synth:random,requests=60,write=0.8,size=4KiB:0.7/12KiB:0.2/512:0.1,align=512,depth=6,footprint=256KiB";
    let unit = "redundancy.stripe_kib=8";
    let mut struck = 0;
    for (scheme, members, key) in [
        ("none", 3, unit),
        ("mirror", 2, "redundancy.acknowledge=all"),
        ("mirror", 3, "redundancy.acknowledge=first"),
        ("raid4", 4, unit),
        ("raid5", 4, unit),
        ("raid6", 5, unit),
    ] {
        for cut in 0..60 {
            let mut job = array_job(scheme, members, history, &[key, "start.existing=\"all\""]);
            job.verify = true;
            job.fail = match cut % 4 {
                0 => vec![format!("power@{}us", 37 + 97 * cut)],
                1 => vec![format!("power@{cut}req"), format!("power@{}req", cut + 7)],
                2 if scheme != "none" => vec![format!("power@{cut}req"), format!("member:1@{}req", cut + 3)],
                _ => vec![format!("power@{cut}req")],
            };
            let run = summary(&job);
            let what = format!("{scheme} {:?}", job.fail);
            // A member that fails before the others have been given what the cut took may have had the only copy.
            let lost = if job.fail.len() > 1 && cut % 4 == 2 { 0.0 } else { integrity(&run, "lost_pages") };
            assert_eq!((integrity(&run, "wrong_reads"), lost), (0.0, 0.0), "{what}");
            let cuts = run.pointer("/integrity/power_cuts").and_then(Value::as_u64).unwrap_or(0);
            struck += cuts;
            assert!(cuts == 0 || integrity(&run, "recovery_reads") > 0.0, "{what}");
        }
    }
    assert!(struck > 300, "{struck} cuts");
    let disk = file("disk.toml", DISK);
    let drive = file("member.toml", MEMBER);
    let mirrored = format!("{MEMBER}[redundancy]\nscheme = \"mirror\"\nacross = \"channel\"\n");
    for (members, scheme, part) in [
        (format!("\"2 * {drive}\", \"{disk}\""), "backup", "backup"),
        (format!("\"{drive}\", \"{disk}\""), "mirror", "a disk was writing"),
        (format!("\"2 * {}\"", file("mirrored.toml", &mirrored)), "mirror", "redundancy of its own"),
        (format!("\"2 * {drive},ftl.map=dftl\""), "mirror", "ftl.map"),
    ] {
        let set = [format!("members=[{members}]"), format!("redundancy.scheme={scheme}")];
        let mut job = job("\n", RANDOM, &set.each_ref().map(String::as_str));
        job.fail = vec!["power@1s".to_owned()];
        let message = run_error(&job);
        assert!(message.contains(part), "{message}");
    }
}
