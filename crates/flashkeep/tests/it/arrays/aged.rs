//! Used arrays: conditioned, with aged members, saved and loaded.

use super::hybrids::{HYBRIDS, hybrid};
use super::nested::nested_job;
use super::{DISK, MEMBER, RANDOM, array, array_job, integrity, run_error};
use crate::common::{figure, file, job, output, summary};
use flashkeep::config::load_text;
use flashkeep::job::Job;
use serde_json::Value;

/// Conditioning writes an array like a drive: in full, then at random, until it is in a steady state; its drives then
/// need GC for further writes.
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
    // Conditioning also writes disks and memories, without counting.
    let mut job = hybrid("backup", 2, 1, HYBRIDS[0].4);
    (job.condition, job.set) =
        (true, job.set.into_iter().filter(|pair| !pair.starts_with("start")).collect());
    let run = summary(&job);
    assert_eq!((integrity(&run, "wrong_reads"), integrity(&run, "lost_pages")), (0.0, 0.0));
    assert!(integrity(&run, "checked_reads") > 1000.0);
}

/// Members are aged as their own drive files say: valid pages of the drives are pages of the array.
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
    // In each drive: half of the blocks filled by seven tenths of a plane's pages.
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
}

/// Keys of a drive, or of a member, with a log that is aged.
fn aged_log(prefix: &str, [scheme, model, valid, existing]: [&str; 4]) -> Vec<String> {
    let own = [
        format!("{prefix}redundancy.scheme={scheme}"),
        format!("{prefix}ageing.model={model}"),
        format!("{prefix}ageing.aged_ratio=0.7"),
        format!("start.existing={existing}"),
    ];
    let share = (model == "approach2").then(|| format!("{prefix}ageing.valid_ratio={valid}"));
    own.into_iter().chain(share).collect()
}

/// The log in a member is aged like the log of a drive alone: the same superblocks are free, open and collected, and as many
/// pages are valid.
#[test]
fn logs_in_members_are_aged_as_they_are_alone() {
    let write = "synth:random,requests=6k,write=1,size=4KiB,depth=1";
    for aged in [
        ["ds", "basic", "0", "none"],
        ["dvs", "approach1", "0", "none"],
        ["ds", "approach2", "0.4", "none"],
        ["lifespan", "approach2", "0.3", "none"],
        ["ds", "basic", "0", "all"],
        ["dvs", "approach2", "0.4", "all"],
    ] {
        let [own, of_member] = ["", "member."].map(|prefix| aged_log(prefix, aged));
        let [own, of_member] =
            [&own, &of_member].map(|keys| keys.iter().map(String::as_str).collect::<Vec<_>>());
        // Untimed: a mirror waits for the slower member, so that GC of the other one begins earlier.
        let alone = |trace: &str| summary(&Job { untimed: true, ..self::job(MEMBER, trace, &own) });
        let over = |scheme: &str, members: usize, trace: &str| {
            let job = array_job(scheme, members, trace, &of_member);
            let run = summary(&Job { verify: true, untimed: true, ..job });
            assert_eq!(
                (integrity(&run, "wrong_reads"), integrity(&run, "lost_pages")),
                (0.0, 0.0),
                "{aged:?}"
            );
            run
        };
        let [drive, one, pair] = [alone(write), over("none", 1, write), over("mirror", 2, write)];
        assert!(figure(&drive, "operations.erase.gc") > 0.0, "{aged:?}");
        assert_eq!(one["fill"], drive["fill"], "{aged:?}");
        // The first member of a mirror draws from the same stream as the drive.
        for member in [&one["members"][0], &pair["members"][0]] {
            assert_eq!(member["wear"]["erases_total"], drive["wear"]["erases_total"], "{aged:?}");
            assert_eq!(member["operations"]["program"], drive["operations"]["program"], "{aged:?}");
            assert_eq!(member["operations"]["erase"], drive["operations"]["erase"], "{aged:?}");
        }
        // Before any write: written slots, and the pages that exist, each of which is read once.
        let read: String = (0..480).map(|n| format!("{n}000000 0 {} 8 1\n", n * 8)).collect();
        let [drive, one, pair] = [alone(&read), over("none", 1, &read), over("mirror", 2, &read)];
        for run in [&one, &pair] {
            assert_eq!(run["fill"], drive["fill"], "{aged:?}");
            assert_eq!(run["operations"]["read"], drive["operations"]["read"], "{aged:?}");
        }
    }
}

/// Stripes over members with logs put a page on each of them, and fill their slots exactly: of 15 superblocks of 48 data
/// slots, seven tenths are written, 10 in full, and 0.3 of their slots are valid.
#[test]
fn stripes_fill_the_slots_of_logs() {
    let valid = 10.0 * 48.0 * 0.3;
    for (scheme, members, data) in [
        ("none", 3, 3.0),
        ("raid4", 4, 3.0),
        ("raid5", 4, 3.0),
        ("raid6", 4, 2.0),
        ("fra", 4, 3.0),
        ("mirror", 3, 1.0),
    ] {
        let keys = aged_log("member.", ["dvs", "approach2", "0.3", "none"]);
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let set = array(scheme, members, &keys);
        let pages = load_text("array", "\n", &set).expect("an array").logical_pages();
        let read: String = (0..pages).map(|n| format!("{n}000000 0 {} 8 1\n", n * 8)).collect();
        let run = summary(&array_job(scheme, members, &read, &keys));
        assert_eq!(figure(&run, "operations.read.host"), data * valid, "{scheme}");
    }
}

/// Schemes that decide while they write where pages lie, and parities within members: their pages fill the valid places
/// of the members, each once.
#[test]
fn schemes_fill_members_as_they_place_pages() {
    let ageing =
        ["member.ageing.model=approach2", "member.ageing.aged_ratio=0.7", "member.ageing.valid_ratio=0.4"];
    let one = "synth:random,requests=1,write=1,size=4KiB";
    let filled = |scheme: &str, members: usize, set: &[&str]| {
        let set = [set, &["start.existing=none"]].concat();
        figure(&summary(&array_job(scheme, members, one, &set)), "fill")
    };
    // Stripes whose places are known fill them exactly.
    let valid = filled("raid5", 4, &ageing);
    let many = "synth:random,requests=2k,write=0.8,size=4KiB,depth=4";
    for (scheme, members, inner) in [
        ("ds", 4, "none"),
        ("dvs", 4, "none"),
        ("lifespan", 4, "none"),
        ("diff-raid", 4, "none"),
        ("fra", 4, "none"),
        ("mirror", 4, "raid5"),
        ("raid5", 4, "raid5"),
        ("raid5", 4, "raid6"),
    ] {
        let what = format!("{scheme} over {inner}");
        let inner = format!("member.redundancy.scheme={inner}");
        let set = [&ageing[..], &[&inner, "member.flash.pages_per_block=16"]].concat();
        let fill = filled(scheme, members, &set);
        assert!((fill - valid).abs() < 0.003, "{what}: {fill} {valid}");
        for existing in ["none", "all"] {
            let mut job = array_job(scheme, members, many, &set);
            job.set.push(format!("start.existing={existing}"));
            job.verify = true;
            let run = summary(&job);
            let found = (integrity(&run, "wrong_reads"), integrity(&run, "lost_pages"));
            assert_eq!(found, (0.0, 0.0), "{what}, {existing}");
        }
    }
    let old = format!("{MEMBER}[ageing]\nmodel = \"approach2\"\naged_ratio = 0.7\nvalid_ratio = 0.4\n");
    for (scheme, drives, disks, _, keys) in HYBRIDS {
        let (drive, disk) = (file("old.toml", &old), file("disk.toml", DISK));
        let members = format!("members=[\"{drives} * {drive}\", \"{disks} * {disk}\"]");
        let job = hybrid(scheme, drives, disks, &[keys, &[&members, "start.existing=none"]].concat());
        let run = summary(&job);
        assert_eq!((integrity(&run, "wrong_reads"), integrity(&run, "lost_pages")), (0.0, 0.0), "{scheme}");
        assert!(figure(&run, "fill") > valid - 0.003, "{scheme}: {}", run["fill"]);
    }
}

/// A loaded array that was saved after conditioning gives the same results as right after conditioning, with members of
/// every kind.
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
