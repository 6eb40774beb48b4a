//! Drives beside disks.

use super::{DISK, MEMBER, RANDOM, integrity};
use crate::common::{figure, file, job, summary};
use flashkeep::job::Job;
use serde_json::Value;

/// A lone disk: about 77 random reads or 69 random writes per second, and sequentially the outer zone's rate.
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

/// The schemes over drives and disks, with their members: drives, disks, and whether there is a memory.
pub(super) const HYBRIDS: [(&str, usize, usize, bool, &[&str]); 2] = [
    (
        "backup",
        2,
        1,
        true,
        &["redundancy.nvram_mib=0.125", "redundancy.segment_kib=64", "redundancy.free_every=4"],
    ),
    ("hpda", 3, 2, false, &["redundancy.log_mib=1", "redundancy.stripe_kib=16"]),
];

pub(super) fn hybrid(scheme: &str, drives: usize, disks: usize, more: &[&str]) -> Job {
    let (drive, disk) = (file("member.toml", MEMBER), file("disk.toml", DISK));
    let members = format!("members=[\"{drives} * {drive}\", \"{disks} * {disk}\"]");
    let scheme = format!("redundancy.scheme={scheme}");
    let mut set = vec![members.as_str(), &scheme, "start.existing=\"all\""];
    set.extend(more);
    let mut job = job("\n", RANDOM, &set);
    job.verify = true;
    job
}

/// Any one drive, disk or memory fails, at any time: every acknowledged page can be read, and a replacement is rebuilt.
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

/// A write to a backup is done when its drive and the memory have it, before the disk has it; if the memory is full,
/// the write waits for the disk.
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
    // The volume moved is 1 + 2 f times the volume written, f being the share that was staged (and is not superseded).
    assert!(phases <= 3.0 * host && moved(&full, "staged") > 0.0, "{phases} of {host}");
}

/// A disk with unreadable sectors: another copy restores them, and some reads use it.
#[test]
fn a_disk_forgets() {
    let disk = file("disk.toml", DISK);
    let members = format!("members=[\"2 * {disk}\"]");
    let set = [
        &members,
        "redundancy.scheme=mirror",
        "start.existing=\"all\"",
        "redundancy.read_policy=round-robin",
    ];
    let mut mirror = job("\n", RANDOM, &set);
    (mirror.verify, mirror.fail) = (true, vec!["member:1@40%,transient".to_owned()]);
    let run = summary(&mirror);
    assert_eq!((integrity(&run, "wrong_reads"), integrity(&run, "lost_pages")), (0.0, 0.0));
    assert!(integrity(&run, "reconstructed_reads") > 100.0, "{}", run["integrity"]);
    for (scheme, drives, disks, _, more) in HYBRIDS {
        for member in 0..drives + disks {
            let mut job = hybrid(scheme, drives, disks, more);
            job.fail = vec![format!("member:{member}@40%,transient")];
            let run = summary(&job);
            let found = (integrity(&run, "wrong_reads"), integrity(&run, "lost_pages"));
            assert_eq!(found, (0.0, 0.0), "{scheme}, member {member}");
        }
    }
}
