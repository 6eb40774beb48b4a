//! The power of an array fails.

use super::{DISK, MEMBER, array_job, integrity};
use crate::common::{file, job, sampled, summary};
use flashkeep::job::Job;
use serde_json::Value;

/// A short random history.
const HISTORY: &str =
    "synth:random,requests=60,write=0.8,size=4KiB:0.7/12KiB:0.2/512:0.1,align=512,depth=6,footprint=256KiB";

const UNIT: &str = "redundancy.stripe_kib=8";

/// Arrays of drives: scheme, number of members, a key.
const ARRAYS: [(&str, usize, &str); 8] = [
    ("none", 3, UNIT),
    ("mirror", 2, "redundancy.acknowledge=all"),
    ("mirror", 3, "redundancy.acknowledge=first"),
    ("raid4", 4, UNIT),
    ("raid5", 4, UNIT),
    ("raid6", 5, UNIT),
    ("raid-tp", 5, UNIT),
    ("lrc", 7, UNIT),
];

/// The faults of run `cut`: a power cut at `first` µs plus `pace` µs for each run before, two cuts by number of
/// requests, `others` (if any), or one cut by number of requests.
fn faults(cut: u64, [first, pace]: [u64; 2], others: Vec<String>) -> Vec<String> {
    match cut % 4 {
        0 => vec![format!("power@{}us", first + pace * cut)],
        1 => vec![format!("power@{cut}req"), format!("power@{}req", cut + 7)],
        2 if !others.is_empty() => others,
        _ => vec![format!("power@{cut}req")],
    }
}

/// The power fails at every step of a random history: no durable page is lost, and every read returns the data written
#[test]
fn the_power_of_an_array_fails() {
    let (mut struck, mut runs) = (0, 0);
    let link = "member.host.link_us_per_sector=2";
    for (scheme, members, key) in ARRAYS.into_iter().chain([("mirror", 2, link), ("raid5", 4, link)]) {
        for cut in sampled(60) {
            runs += 1;
            let mut job = array_job(scheme, members, HISTORY, &[key, "start.existing=\"all\""]);
            job.verify = true;
            let and_a_member = vec![format!("power@{cut}req"), format!("member:1@{}req", cut + 3)];
            job.fail = faults(cut, [37, 97], if scheme == "none" { vec![] } else { and_a_member });
            let run = summary(&job);
            let what = format!("{scheme} {:?}", job.fail);
            // The failed member may have had the only copy of a page whose other copies the cut prevented.
            let lost = if job.fail.len() > 1 && cut % 4 == 2 { 0.0 } else { integrity(&run, "lost_pages") };
            assert_eq!((integrity(&run, "wrong_reads"), lost), (0.0, 0.0), "{what}");
            let cuts = run.pointer("/integrity/power_cuts").and_then(Value::as_u64).unwrap_or(0);
            struck += cuts;
            assert!(cuts == 0 || integrity(&run, "recovery_reads") > 0.0, "{what}");
        }
    }
    assert!(struck > runs / 2, "{struck} cuts");
}

/// The power of an array with these keys fails once or twice, the second time also during the recovery or after it.
fn is_cut(set: &[String], times: u64) {
    let mut struck = 0;
    let cuts = sampled(times);
    for cut in cuts.clone() {
        let mut job = job("\n", HISTORY, &set.iter().map(String::as_str).collect::<Vec<_>>());
        job.verify = true;
        let during_recovery = [67, 267].map(|first| format!("power@{}us", first + 173 * cut));
        job.fail = faults(cut, [41, 211], during_recovery.to_vec());
        let run = summary(&job);
        let losses = (integrity(&run, "wrong_reads"), integrity(&run, "lost_pages"));
        assert_eq!(losses, (0.0, 0.0), "{set:?} {:?}", job.fail);
        struck += run.pointer("/integrity/power_cuts").and_then(Value::as_u64).unwrap_or(0);
    }
    // A run with DRAM may be over before the later cuts.
    assert!(struck > cuts.count() as u64 / 3, "{struck} cuts of {set:?}");
}

fn made_of(members: &[(usize, String)], scheme: &str, more: &[&str]) -> Vec<String> {
    let members: Vec<_> = members.iter().map(|(count, member)| format!("\"{count} * {member}\"")).collect();
    let set = [format!("members=[{}]", members.join(", ")), format!("redundancy.scheme={scheme}")];
    let more = more.iter().copied().chain(["start.existing=\"all\""]).map(str::to_owned);
    set.into_iter().chain(more).collect()
}

/// Members that delay writes number them in different orders, and each member lacks other writes.
#[test]
fn members_find_their_maps_again_before_the_array_looks_at_its_copies() {
    let drive = file("member.toml", MEMBER);
    for map in ["ftl.map=dftl,ftl.cache_kib=0.25", "ftl.map=block", "ftl.map=hybrid"] {
        let member = format!("{drive},{map}");
        let others = (1, drive.clone());
        is_cut(&made_of(&[(2, member.clone())], "mirror", &[]), 40);
        is_cut(
            &made_of(&[(1, member.clone()), others.clone()], "mirror", &["redundancy.acknowledge=first"]),
            40,
        );
        is_cut(&made_of(&[(3, member.clone()), others], "raid5", &[UNIT]), 40);
        is_cut(&made_of(&[(5, member)], "raid6", &["redundancy.stripe_kib=4"]), 20);
    }
}

#[test]
fn members_with_redundancy_of_their_own_come_back_one_level_after_the_other() {
    let inner = |scheme: &str| {
        let more = "shadow = 0.2\nnvram_mib = 0.0625\nnarrowest = 3\n";
        let text = format!("{MEMBER}[redundancy]\nscheme = \"{scheme}\"\nacross = \"channel\"\n{more}");
        file("inner.toml", &text)
    };
    for scheme in ["mirror", "raid4", "raid5", "raid6", "fra", "ppc", "ds", "dvs", "lifespan"] {
        is_cut(&made_of(&[(2, inner(scheme))], "mirror", &[]), 40);
    }
    let mirrored = inner("mirror");
    for (scheme, members) in [("none", 2), ("raid4", 3), ("raid5", 4), ("raid6", 4), ("lrc", 6)] {
        is_cut(&made_of(&[(members, mirrored.clone())], scheme, &[UNIT]), 40);
    }
    let slow = format!("{mirrored},ftl.map=dftl,ftl.cache_kib=0.25");
    is_cut(&made_of(&[(4, slow)], "raid5", &[UNIT]), 40);
    // An array in an array.
    let drive = file("member.toml", MEMBER);
    let pair = |scheme: &str| {
        let unit = "stripe_kib = 8\n";
        file(
            "pair.toml",
            &format!("members = [\"2 * {drive}\"]\n[redundancy]\nscheme = \"{scheme}\"\n{unit}"),
        )
    };
    is_cut(&made_of(&[(2, pair("none"))], "mirror", &[]), 40);
    is_cut(&made_of(&[(4, pair("mirror"))], "raid5", &[UNIT]), 40);
    is_cut(&made_of(&[(2, pair("mirror"))], "none", &[UNIT]), 40);
}

/// DRAM for 16 pages.
const DRAM: &str = "buffer.dram_mib=0.0625";

/// Acknowledged pages that only the DRAM of a member had are lost and reported; reads return older versions.
#[test]
fn members_lose_what_only_their_dram_had() {
    let drive = file("member.toml", MEMBER);
    let mirrored = file("inner.toml", &format!("{MEMBER}[redundancy]\nscheme = \"mirror\"\n"));
    for more in [DRAM, "buffer.dram_mib=0.0625,buffer.evict=stripe,host.link_us_per_sector=2"] {
        for (scheme, members, key) in ARRAYS {
            is_cut(&made_of(&[(members, format!("{drive},{more}"))], scheme, &[key]), 40);
        }
        is_cut(&made_of(&[(4, format!("{mirrored},{more}"))], "raid5", &[UNIT]), 20);
        // Of a mirror, one copy may be older than the other.
        is_cut(&made_of(&[(1, format!("{drive},{more}")), (1, drive.clone())], "mirror", &[]), 40);
    }
}

/// Before a log trims a superblock, or gives the host the rest of one that took copies, its members' DRAM is flushed, on
/// all levels. There is room for the next writes, for any contents of the DRAM.
#[test]
fn logs_flush_the_dram_of_their_members() {
    let drive = file("member.toml", MEMBER);
    let array = |scheme: &str, members: usize, more: &str| {
        let unit = "stripe_kib = 8\n";
        let member = format!("\"{members} * {drive},{DRAM}\"");
        let text = format!("members = [{member}]\n{more}[redundancy]\nscheme = \"{scheme}\"\n{unit}");
        file("array.toml", &text)
    };
    let full = ["redundancy.extent_kib=16", "redundancy.log_over_provisioning=0.02"];
    for scheme in ["ds", "dvs", "lifespan"] {
        // DRAM for 16 pages, for more pages than the drive has, and below a link.
        for more in [DRAM, "buffer.dram_mib=4", "buffer.dram_mib=0.0625,host.link_us_per_sector=2"] {
            is_cut(&made_of(&[(4, format!("{drive},{more}"))], scheme, &full), 40);
        }
        is_cut(&made_of(&[(1, format!("{drive},{DRAM}")), (3, drive.clone())], scheme, &full), 20);
        for member in
            [array("mirror", 2, ""), array("raid5", 3, ""), array("none", 2, "buffer.dram_mib = 0.25\n")]
        {
            is_cut(&made_of(&[(4, member)], scheme, &full), 20);
        }
    }
}

/// Pages that were written once, and only to the DRAM of a member, are volatile, although a partial parity in
/// non-volatile memory covers them.
#[test]
fn first_writes_that_only_dram_had_are_volatile() {
    for scheme in ["raid5", "fra", "ppc"] {
        let trace = "synth:sequential,requests=300,size=16KiB,write=0.7,rate=100";
        let mut job =
            array_job(scheme, 5, trace, &["member.buffer.dram_mib=0.25", "start.existing=\"reads\""]);
        (job.verify, job.untimed, job.fail) = (true, true, vec!["power@91%".to_owned()]);
        let run = summary(&job);
        assert_eq!((integrity(&run, "wrong_reads"), integrity(&run, "lost_pages")), (0.0, 0.0), "{scheme}");
        assert!(integrity(&run, "volatile_pages_lost") > 0.0, "{scheme}: the DRAM had something");
    }
}

/// What a rebuild, or the parity of a write, could not compute because a source was unreadable counts as no page after a
/// power cut, although the link or the DRAM of a member passed it on later.
#[test]
fn what_could_not_be_computed_is_no_page_behind_a_port() {
    let mut lost = 0.0;
    for port in ["host.link_us_per_sector=0.1", "host.link_us_per_sector=5", DRAM] {
        for scheme in ["raid4", "raid5"] {
            for faults in [
                ["member:1@4req,transient", "member:0/channel:0@17%"],
                ["member:1@10req,transient", "member:0@20%,replace_after=1ms"],
            ] {
                for cut in [35, 60, 85] {
                    let trace = "synth:random,requests=200,size=4KiB,write=0.7,footprint=256KiB,rate=2k";
                    let keys = [format!("member.{port}"), "start.existing=\"all\"".to_owned()];
                    let mut job = array_job(scheme, 4, trace, &[&keys[0], &keys[1]]);
                    let power = format!("power@{cut}%");
                    job.fail = [&faults[..], &[&power]].concat().into_iter().map(str::to_owned).collect();
                    job.verify = true;
                    let run = summary(&job);
                    assert_eq!(integrity(&run, "wrong_reads"), 0.0, "{scheme} {port} {:?}", job.fail);
                    lost += integrity(&run, "lost_pages");
                }
            }
        }
    }
    assert!(lost > 0.0, "two faults are more than one parity survives");
}

/// A power cut costs the only member of an array as much as the drive alone.
#[test]
fn a_single_member_loses_what_it_loses_alone() {
    let figures =
        ["power_cuts", "volatile_pages_lost", "interrupted_requests", "recovery_reads", "lost_pages"];
    let losses = |mut job: Job, at: u64| {
        (job.verify, job.fail) = (true, vec![format!("power@{}us", 300 + 700 * at)]);
        let run = summary(&job);
        assert_eq!(integrity(&run, "wrong_reads"), 0.0);
        figures.map(|key| integrity(&run, key))
    };
    let mut volatile = 0.0;
    for at in 0..12 {
        let existing = "start.existing=\"all\"";
        let alone = losses(job(MEMBER, HISTORY, &[DRAM, existing]), at);
        let within = losses(array_job("none", 1, HISTORY, &[&format!("member.{DRAM}"), existing]), at);
        assert_eq!(alone, within, "cut {at}");
        volatile += alone[1];
    }
    assert!(volatile > 0.0, "the DRAM had something");
}

#[test]
fn an_array_that_was_cut_is_the_same_every_time() {
    let (drive, disk) = (file("member.toml", MEMBER), file("disk.toml", DISK));
    let slow = format!("{disk},disk.write_cache_mib=1");
    for members in [
        vec![(2, format!("{drive},ftl.map=hybrid"))],
        vec![(1, format!("{drive},ftl.map=block")), (1, slow)],
        vec![(2, format!("{drive},redundancy.scheme=raid5,redundancy.across=channel"))],
    ] {
        let digest = || {
            let set = made_of(&members, "mirror", &[]);
            let mut job = job("\n", HISTORY, &set.iter().map(String::as_str).collect::<Vec<_>>());
            job.fail = ["power@3ms", "power@4.1ms", "power@31req"].map(str::to_owned).to_vec();
            let run = summary(&job);
            assert_eq!(integrity(&run, "power_cuts"), 3.0, "{members:?}");
            run["digest"].clone()
        };
        assert_eq!(digest(), digest(), "{members:?}");
    }
}

/// Disks keep the contents of the platter, and lose those of their cache.
#[test]
fn disks_keep_what_their_heads_had_come_to() {
    let (drive, disk) = (file("member.toml", MEMBER), file("disk.toml", DISK));
    let cached = format!("{disk},disk.write_cache_mib=1");
    let pair = |disk: &String| [(1, drive.clone()), (1, disk.clone())];
    for disk in [&disk, &cached] {
        is_cut(&made_of(&pair(disk), "mirror", &["redundancy.read_policy=first"]), 40);
        is_cut(&made_of(&pair(disk), "mirror", &["redundancy.acknowledge=first"]), 40);
        is_cut(&made_of(&[(2, disk.clone())], "mirror", &[]), 40);
        is_cut(&made_of(&[(3, disk.clone())], "none", &[UNIT]), 40);
        is_cut(&made_of(&[(3, drive.clone()), (1, disk.clone())], "raid4", &[UNIT]), 40);
        is_cut(&made_of(&[(4, disk.clone())], "raid5", &[UNIT]), 40);
        is_cut(&made_of(&[(5, disk.clone())], "raid6", &[UNIT]), 20);
        is_cut(&made_of(&[(3, drive.clone()), (2, disk.clone())], "spd-raid4", &[UNIT]), 20);
    }
    is_cut(&made_of(&[(4, drive.clone())], "diff-raid", &[UNIT]), 40);
}

/// A member numbers its own pages, and finds them again for any writes of the schemes above it.
#[test]
fn redundancy_within_members_is_found_again_below_every_scheme() {
    let drive = file("member.toml", MEMBER);
    let unit = "redundancy.stripe_kib=8";
    let own = |scheme: &str| {
        let keys =
            "redundancy.across=channel,start.scan=false,redundancy.shadow=0.2,redundancy.nvram_mib=0.0625";
        format!("{drive},redundancy.scheme={scheme},redundancy.narrowest=3,{keys}")
    };
    for inner in WITHIN_MEMBERS {
        for (count, scheme) in [(2, "none"), (3, "chained"), (3, "raid4"), (4, "raid5"), (4, "raid6")] {
            is_cut(&made_of(&[(count, own(inner))], scheme, &[unit]), 20);
        }
        is_cut(&made_of(&[(2, own(inner)), (1, drive.clone())], "raid5", &[unit]), 20);
        is_cut(&made_of(&[(3, format!("{},{DRAM}", own(inner)))], "raid5", &[unit]), 20);
    }
}

/// Schemes that work inside drives.
const WITHIN_MEMBERS: [&str; 9] =
    ["raid4", "raid5", "raid6", "chained", "fra", "ppc", "ds", "dvs", "lifespan"];

/// The same for arrays in arrays.
#[test]
fn arrays_within_arrays_are_found_again_below_every_scheme() {
    let (drive, disk) = (file("member.toml", MEMBER), file("disk.toml", DISK));
    let unit = "redundancy.stripe_kib=8";
    let log = ["redundancy.extent_kib=64", "redundancy.narrowest=3"];
    let drives = |count: usize| format!("\"{count} * {drive}\"");
    let with_disk = format!("\"1 * {drive}\", \"1 * {disk}\"");
    let arrays: [(&str, String, &[&str]); 10] = [
        ("diff-raid", drives(4), &["stripe_kib=8"]),
        ("raid4", drives(3), &["stripe_kib=8"]),
        ("raid5", drives(3), &["stripe_kib=8"]),
        ("chained", drives(4), &["stripe_kib=8"]),
        ("fra", drives(4), &["shadow=0.2", "stripe_kib=8"]),
        ("ppc", drives(4), &["shadow=0.2", "nvram_mib=0.0625", "stripe_kib=8"]),
        ("ds", drives(4), &["extent_kib=64"]),
        ("lifespan", drives(4), &["extent_kib=64"]),
        ("hpda", format!("\"3 * {drive}\", \"2 * {disk}\""), &["stripe_kib=8", "log_mib=0.125"]),
        ("i-cash", with_disk, &["nvram_mib=0.0078125", "log_mib=0.0078125", "scan_every=4"]),
    ];
    for (inner, members, keys) in arrays {
        let keys = keys.join("\n").replace('=', " = ");
        let text = format!("members = [{members}]\n[redundancy]\nscheme = \"{inner}\"\n{keys}\n");
        let array = file("array.toml", &text);
        is_cut(&made_of(&[(2, array.clone())], "mirror", &[]), 20);
        is_cut(&made_of(&[(2, array.clone())], "none", &[unit]), 20);
        is_cut(&made_of(&[(3, array.clone())], "raid5", &[unit]), 20);
        is_cut(&made_of(&[(3, array.clone())], "chained", &[unit]), 20);
        if inner == "raid5" {
            is_cut(&made_of(&[(3, array)], "ds", &log), 20);
        }
    }
}

/// Whether the log is used once or over and over, provided that it is longer than the pages being written.
#[test]
fn logs_on_disks_are_found_again() {
    let (drive, disk) = (file("member.toml", MEMBER), file("disk.toml", DISK));
    let unit = "redundancy.stripe_kib=8";
    for log in ["redundancy.log_mib=1", "redundancy.log_mib=0.125"] {
        for disk in [disk.clone(), format!("{disk},disk.write_cache_mib=1")] {
            is_cut(&made_of(&[(3, drive.clone()), (2, disk.clone())], "hpda", &[unit, log]), 40);
            let soon = "redundancy.migrate_after_s=0.01";
            is_cut(&made_of(&[(1, drive.clone()), (1, disk)], "griffin", &[log, soon]), 40);
        }
    }
}

/// Members copy old versions; the parities of `fra` that were deferred are written again.
#[test]
fn old_versions_over_drives_are_found_again() {
    let (drive, disk) = (file("member.toml", MEMBER), file("disk.toml", DISK));
    let (room, unit) = ("redundancy.shadow=0.2", "redundancy.stripe_kib=8");
    for (scheme, key) in [("fra", "redundancy.idle_ms=0.5"), ("ppc", "redundancy.nvram_mib=0.0625")] {
        is_cut(&made_of(&[(4, drive.clone())], scheme, &[room, key, unit]), 40);
        is_cut(&made_of(&[(3, drive.clone()), (1, disk.clone())], scheme, &[room, key, unit]), 40);
        is_cut(&made_of(&[(4, format!("{drive},{DRAM}"))], scheme, &[room, key, unit]), 40);
    }
}

/// Deltas in memory and in the log belong to their references again, whether the log is long or is emptied all the time.
#[test]
fn deltas_are_found_again() {
    let (drive, disk) = (file("member.toml", MEMBER), file("disk.toml", DISK));
    let soon = "redundancy.scan_every=4";
    let shares = ["redundancy.reference_share=0.1", "redundancy.similar_share=0.8", soon];
    let small = ["redundancy.nvram_mib=0.0078125", "redundancy.log_mib=0.0078125"];
    for sizes in [["redundancy.nvram_mib=1", "redundancy.log_mib=1"], small] {
        for disk in [disk.clone(), format!("{disk},disk.write_cache_mib=1")] {
            let members = [(1, drive.clone()), (1, disk.clone())];
            is_cut(&made_of(&members, "i-cash", &[&shares[..], &sizes[..]].concat()), 60);
        }
    }
}

/// The memory has what disks were writing, and SSDs get from it what they did not write.
#[test]
fn backups_are_found_again() {
    let (drive, disk) = (file("member.toml", MEMBER), file("disk.toml", DISK));
    let segments = ["redundancy.segment_kib=8", "redundancy.free_every=4", "redundancy.recall_idle_ms=0.4"];
    for memory in ["redundancy.nvram_mib=1", "redundancy.nvram_mib=0.0625"] {
        for disk in [disk.clone(), format!("{disk},disk.write_cache_mib=1")] {
            for drive in [drive.clone(), format!("{drive},{DRAM}")] {
                for disks in [1, 2] {
                    let members = [(2, drive.clone()), (disks, disk.clone())];
                    is_cut(&made_of(&members, "backup", &[&segments[..], &[memory]].concat()), 40);
                }
            }
        }
    }
}
