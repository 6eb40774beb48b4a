//! Drives of equal wear: the distance between the ends of life of an array's members, and its effects.

use crate::common::{figure, file, job, summary};
use flashkeep::job::Job;
use flashkeep::run;
use serde_json::Value;
use std::ops::ControlFlow;

/// 64 blocks of 16 pages, with a budget of 20 erases each.
const MEMBER: &str = "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
                      blocks_per_plane = 64\npages_per_block = 16\npage_kib = 4\n[ftl]\nover_provisioning = 0.3\n\
                      wear.erase_budget = 20\n";
const PAGES: f64 = 787.0;

const RANDOM: &str = "synth:random,requests=60k,write=1,size=4KiB,depth=1";
const UNIT: &str = "redundancy.stripe_kib=4";

/// This number of drives, and a disk besides for `backup`; written until one more drive is worn out than the array
/// survives.
fn worn(scheme: &str, drives: usize, more: &[&str]) -> Job {
    let mut members = format!("\"{drives} * {}\"", file("member.toml", MEMBER));
    if scheme == "backup" {
        members += &format!(",\"{}\"", file("disk.toml", "[disk]\ncapacity_gb = 0.1\n"));
    }
    let (members, scheme) = (format!("members=[{members}]"), format!("redundancy.scheme={scheme}"));
    let set = [&[&*members, &*scheme, "start.existing=\"all\""], more].concat();
    Job { untimed: true, verify: true, ..job("\n", RANDOM, &set) }
}

/// The same, with drives that fail as a whole when they are worn out.
fn failing(scheme: &str, drives: usize, more: &[&str]) -> Value {
    let fail = (0..drives).map(|member| format!("member:{member}@worn")).collect();
    let run = summary(&Job { fail, ..worn(scheme, drives, more) });
    assert_eq!(figure(&run, "integrity.wrong_reads"), 0.0);
    run
}

/// A mirror writes both drives alike, RAID-5 nearly so. With a greater share of the parities the first of five drives is
/// written r₀/r₁ times as much as the others (docs/array-schemes.md), so that the second comes to its end r₀/r₁ − 1 lives
/// later.
#[test]
fn mirrors_die_together_and_uneven_parity_keeps_drives_apart() {
    let apart = |run: &Value| figure(run, "wear_out.apart_share");
    let lost = |run: &Value| figure(run, "wear_out.lost_pages");
    let mirror = failing("mirror", 2, &[]);
    assert_eq!((apart(&mirror), lost(&mirror)), (0.0, PAGES), "together, and with them every page");
    let raid5 = failing("raid5", 5, &[UNIT]);
    assert!(apart(&raid5) < 0.05, "{}", raid5["wear_out"]);
    let share = lost(&raid5) / (4.0 * PAGES);
    assert!((share - 0.4).abs() < 0.03, "data of two of five drives: {share}");
    for (shares, ratio) in [("[0.4,0.15,0.15,0.15,0.15]", 1.52), ("[1,0,0,0,0]", 4.0)] {
        let uneven = failing("diff-raid", 5, &[UNIT, &format!("redundancy.shares={shares}")]);
        let (expected, found) = (ratio - 1.0, apart(&uneven));
        assert!((found / expected - 1.0).abs() < 0.15, "{shares}: {found}, not {expected}");
    }
}

#[test]
fn a_backup_outlives_its_drives() {
    for drives in [1, 4] {
        let small = ["redundancy.segment_kib=64", "redundancy.free_every=4"];
        let run = failing("backup", drives, &small);
        let wear_out = &run["wear_out"];
        assert_eq!(wear_out["worn_out"], drives.min(2), "{wear_out}");
        assert_eq!(wear_out["lost_pages"], 0, "{drives} drives, the last of their kind: {wear_out}");
        assert_eq!(run["workload"]["requests"] == 60_000, drives == 1, "the disk goes on alone");
    }
}

/// A new drive replaces the worn one and is rebuilt while the others, which have remaining life, serve requests.
#[test]
fn uneven_parity_leaves_time_to_replace() {
    let shares = "redundancy.shares=[1,0,0,0,0]";
    let fail = vec!["member:0@worn,replace_after=1ms".to_owned()];
    let mut job = Job { fail, untimed: false, ..worn("diff-raid", 5, &[UNIT, shares]) };
    // The next one, which then has the parity, is at its end three quarters of a life later.
    job.limit = Some(10_000);
    let run = summary(&job);
    assert_eq!((figure(&run, "wear_out.worn_out"), figure(&run, "wear_out.lost_pages")), (1.0, 0.0));
    let phases = run["phases"].as_array().expect("a list");
    let names: Vec<_> = phases.iter().filter_map(|phase| phase["phase"].as_str()).collect();
    // The page that was refused is missing, then the whole drive.
    assert_eq!(names, ["before", "rebuilding", "degraded", "rebuilding", "after"]);
    assert_eq!(run["members"][0]["wear"]["expired_blocks"], 0, "the new one's");
}

/// No failure is injected: the run ends when too many members refuse writes, and reports when each began to.
#[test]
fn the_end_of_an_array_is_told() {
    let run = summary(&worn("mirror", 2, &[]));
    let wear = |member: usize, key: &str| figure(&run, &format!("members.{member}.wear.{key}"));
    for member in [0, 1] {
        assert!(wear(member, "first_block_dead_bytes") < wear(member, "first_loss_bytes"));
    }
    assert_eq!(figure(&run, "wear_out.first.bytes"), wear(0, "first_loss_bytes"));
    assert!(figure(&run, "wear_out.lost_pages") < PAGES / 2.0, "what was refused, and no more");
    let told = run["warnings"].to_string();
    assert!(
        told.contains("members reached the end of their lives") && told.contains("read-only from then on"),
        "{told}"
    );
    // A short run predicts it.
    let mut early = worn("diff-raid", 5, &[UNIT, "redundancy.shares=[1,0,0,0,0]"]);
    early.limit = Some(6_000);
    let early = summary(&early);
    assert!(early["wear_out"]["first"].is_null());
    let expected = figure(&early, "wear_out.expected_apart_share");
    assert!((expected / 3.0 - 1.0).abs() < 0.15, "{expected}");
}

/// Of two pairs one drive each may be worn out; the run ends when both of a pair are.
#[test]
fn pairs_end_as_pairs() {
    let member = file("member.toml", MEMBER);
    let member = member.rsplit('/').next().expect("a name");
    let pair = format!("members = [\"2 * ./{member}\"]\n[redundancy]\nscheme = \"mirror\"\n");
    let members = format!("members=[\"2 * {}\"]", file("pair.toml", &pair));
    let set = [&*members, "redundancy.stripe_kib=0", "start.existing=\"all\""];
    // All writes go to the first pair.
    let writes = "synth:random,requests=60k,write=1,size=4KiB,depth=1,footprint=3MiB";
    let fail = vec!["member:0/member:1@worn".to_owned()];
    let job = Job { untimed: true, verify: true, fail, ..job("\n", writes, &set) };
    let run = summary(&job);
    assert_eq!(
        (&run["wear_out"]["worn_out"], &run["wear_out"]["first"]["member"]),
        (&2.into(), &"0/0".into())
    );
    let ended = run["workload"]["requests"].as_u64().expect("a count");
    assert!((1_000..60_000).contains(&ended), "{ended}");
}

#[test]
fn worn_is_for_lasting_failures_of_members_and_flash() {
    for fail in ["member:0/chip:0.0@worn,transient", "member:0@worn,transient"] {
        let job = Job { fail: vec![fail.to_owned()], ..worn("mirror", 2, &[]) };
        let error = run(&job, &mut |_| ControlFlow::Continue(())).expect_err(fail).to_string();
        assert!(error.contains("member:0@worn"), "{error}");
    }
}
