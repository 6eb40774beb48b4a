//! Arrays in arrays: every level has units and a controller of its own.

use super::{MEMBER, RANDOM, integrity};
use crate::common::{figure, file, full, job, summary};
use flashkeep::job::Job;
use serde_json::Value;

/// An array of arrays: for each level its scheme, its members and further keys, the outermost level last.
pub(super) fn nested(levels: &[(&str, usize, &str)]) -> String {
    levels.iter().fold(file("member.toml", MEMBER), |member, (scheme, members, keys)| {
        let member = format!("members = [\"{members} * {member}\"]\n");
        file(&format!("{scheme}.toml"), &format!("{member}[redundancy]\nscheme = \"{scheme}\"\n{keys}\n"))
    })
}

pub(super) fn nested_job(levels: &[(&str, usize, &str)], trace: &str) -> Job {
    let mut job = job("\n", trace, &["start.existing=\"all\""]);
    job.drive = nested(levels);
    job.verify = true;
    job
}

/// Every level has units of its own, independent of those above and below it.
#[test]
fn units_within_units() {
    let units = |kib: [u32; 2]| kib.map(|kib| format!("stripe_kib = {kib}"));
    for (inner, members) in
        [("none", 3), ("raid4", 4), ("raid5", 4), ("raid6", 4), ("raid-tp", 5), ("lrc", 6)]
    {
        for (outer, count) in [("none", 2), ("mirror", 2), ("raid5", 3)] {
            let sizes = [[16, 16], [4, 32], [64, 8], [8, 24]];
            // Unless all cases run, each pair of schemes has two of the sizes.
            let (first, step) = if full() { (0, 1) } else { (members % 2, 2) };
            for kib in sizes.into_iter().skip(first).step_by(step) {
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

/// Three levels, and a mirror in the middle: under all failures that each of them survives.
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
    // A chunk of the inner level by itself: parity of three stripes, because its pages are in three stripes.
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

/// Each level's controller computes its own parities, and rebuilds at its own pace.
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

/// A member reports pages that even its own redundancy cannot restore; the node above it reconstructs them.
#[test]
fn a_member_of_its_own_redundancy_forgets() {
    let with = |scheme: &str| file("own.toml", &format!("{MEMBER}[redundancy]\nscheme = \"{scheme}\"\n"));
    let protected = ["mirror", "raid5", "raid6", "fra", "ppc"].map(|scheme| (scheme, with(scheme)));
    for (outer, count) in [("mirror", 2), ("raid4", 3), ("raid5", 3), ("raid6", 4), ("none", 2)] {
        for fail in ["member:1@40%,transient", "member:0@40%,transient"] {
            let arrays = [("none", 2), ("mirror", 2), ("raid5", 3), ("raid6", 4)].map(|(inner, members)| {
                (inner, nested_job(&[(inner, members, ""), (outer, count, "")], RANDOM))
            });
            let drives = protected.each_ref().map(|(inner, drive)| {
                let set = [format!("members=[\"{count} * {drive}\"]"), format!("redundancy.scheme={outer}")];
                (
                    *inner,
                    Job { verify: true, ..job("\n", RANDOM, &[&set[0], &set[1], "start.existing=\"all\""]) },
                )
            });
            for (inner, mut job) in arrays.into_iter().chain(drives) {
                job.fail = vec![fail.to_owned()];
                let run = summary(&job);
                let what = format!("{inner} in {outer}, {fail}");
                assert_eq!(integrity(&run, "wrong_reads"), 0.0, "{what}");
                assert_eq!(integrity(&run, "lost_pages") > 0.0, outer == "none", "{what}");
                assert!(integrity(&run, "checked_reads") > 500.0, "{what}");
            }
        }
    }
}

/// Two members of RAID-5 lose pages, further writes make parities that nothing can be computed from, and the power
/// fails. The lost pages are the same whether the members are drives side by side, or arrays whose own parity matches
/// such a page.
#[test]
fn members_that_forget_before_a_power_loss() {
    let trace =
        "synth:random,requests=300,write=0.7,size=8KiB:0.6/4KiB:0.4,align=4KiB,rate=200,footprint=1MiB";
    let (unit, pairs) = ("stripe_kib = 4", "width = 2");
    for seed in 1..4 {
        let inner = [("none", 2, unit), ("mirror", 4, pairs), ("raid4", 3, unit), ("raid5", 3, unit)];
        let lost = inner.map(|inner| {
            let mut job = nested_job(&[inner, ("raid5", 3, unit)], trace);
            job.seed = Some(seed);
            job.fail = ["member:0@20req,transient", "member:1@40req,transient", "power@250req"]
                .map(str::to_owned)
                .to_vec();
            let run = summary(&job);
            assert_eq!(integrity(&run, "wrong_reads"), 0.0, "{inner:?}");
            integrity(&run, "lost_pages")
        });
        assert!(lost[0] > 0.0 && lost.iter().all(|&pages| pages == lost[0]), "{lost:?}");
    }
}

/// The mirror of a lone drive: a page with two unreadable copies is lost, and is not read as zeros.
#[test]
fn both_copies_forget() {
    let mirror = format!("{MEMBER}[redundancy]\nscheme = \"mirror\"\n");
    let mut job = job(&mirror, RANDOM, &["start.existing=\"all\""]);
    (job.verify, job.fail) =
        (true, ["member:0@40%,transient", "member:1@40%,transient"].map(str::to_owned).into());
    let run = summary(&job);
    assert_eq!(integrity(&run, "wrong_reads"), 0.0);
    assert!(integrity(&run, "lost_pages") > 100.0);
}

/// RAID-10, RAID-50 and RAID-60 from one drive file: groups of members equal arrays in an array.
#[test]
fn a_width_makes_groups_of_members() {
    let member = file("member.toml", MEMBER);
    for (scheme, width, data) in [("mirror", 2, 1), ("raid5", 3, 2), ("raid6", 4, 2), ("chained", 3, 1)] {
        let keys = format!("scheme = \"{scheme}\"\nstripe_kib = 8\nwidth = {width}");
        let members = 2 * width;
        let one = file("one.toml", &format!("members = [\"{members} * {member}\"]\n[redundancy]\n{keys}\n"));
        let (below, above) = ("stripe_kib = 8", format!("stripe_kib = {}", 8 * data));
        let below = if scheme == "mirror" { "" } else { below };
        let levels = [(scheme, width, below), ("none", 2, above.as_str())];
        for fail in ["", "member:1/member:0@40%,replace_after=1ms"] {
            let mut by_hand = nested_job(&levels, RANDOM);
            by_hand.fail.extend((!fail.is_empty()).then(|| fail.to_owned()));
            // Members are counted over all groups.
            let flat = by_hand.fail.iter().map(|fail| fail.replace("1/member:0", &width.to_string()));
            let by_width = Job { drive: one.clone(), fail: flat.collect(), ..by_hand.clone() };
            let [by_hand, by_width] = [by_hand, by_width].map(|job| summary(&job));
            for key in ["response_us", "operations", "capacity_bytes"] {
                assert_eq!(by_hand[key], by_width[key], "{scheme} {fail}: {key}");
            }
            // The event has another name, and only groups of one file report exposed pages.
            let phases = |run: &Value| -> Vec<Value> {
                let phases = run["phases"].as_array().expect("phases").iter();
                phases.map(|phase| phase["response_us"].clone()).collect()
            };
            assert_eq!(phases(&by_hand), phases(&by_width), "{scheme} {fail}");
            assert_eq!((integrity(&by_width, "wrong_reads"), integrity(&by_width, "lost_pages")), (0.0, 0.0));
            let told = &by_width["redundancy"];
            let survives = u64::from(scheme == "raid6") + 1;
            assert_eq!((&told["scheme"], &told["survives"]), (&scheme.into(), &survives.into()));
            // The drive in a summary can be read back.
            let again = flashkeep::config::from_json("again", &by_width["drive"], &[]).expect("a drive");
            assert_eq!(again.to_json(), by_width["drive"]);
            assert_eq!(again.array.len(), 2);
        }
    }
}

/// A replacement of a member that has been replaced before, or of a part of one that has failed, changes nothing.
#[test]
fn one_replacement_for_each_failure() {
    let first = "member:0@20%,replace_after=1ms";
    for keys in ["map = \"hybrid\"\n", "map = \"page\"\n", "[redundancy]\nscheme = \"raid5\"\n"] {
        let member = format!("{MEMBER}{keys}");
        let run = |fails: &[&str]| {
            let mut job = job("\n", RANDOM, &["start.existing=\"all\""]);
            job.drive = file(
                "array.toml",
                &format!(
                    "members = [\"4 * {}\"]\nredundancy.scheme = \"raid5\"\n",
                    file("member.toml", &member)
                ),
            );
            job.fail = fails.iter().map(|&event| event.to_owned()).collect();
            job.verify = true;
            let run = summary(&job);
            assert_eq!((integrity(&run, "wrong_reads"), integrity(&run, "lost_pages")), (0.0, 0.0), "{keys}");
            run["operations"].clone()
        };
        let once = run(&[first]);
        // Within the first failure's time: both name the same dead member.
        assert_eq!(run(&[first, "member:0@20%,replace_after=2ms"]), once, "{keys}");
        assert_eq!(run(&[first, "member:0/chip:0.0@20%,replace_after=100us"]), once, "{keys}");
    }
}
