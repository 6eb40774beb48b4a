//! Failures through jobs: lost pages, reported figures, and the time until full redundancy.

use crate::common::{check_sums_of_phases, done, figure, file, job, summary};
use flashkeep::job::Job;
use flashkeep::run;
use flashkeep::schemes::{Members, for_drives, named};
use serde_json::Value;
use std::ops::ControlFlow;

/// Six channels of one chip with two dies.
fn drive(scheme: &str) -> String {
    format!(
        "[flash]\nchannels = 6\nchips_per_channel = 1\ndies_per_chip = 2\nplanes_per_die = 1\n\
         blocks_per_plane = 16\npages_per_block = 8\npage_kib = 4\n[ftl]\nover_provisioning = 0.6\n\
         [redundancy]\nscheme = \"{scheme}\"\n"
    )
}

/// Keys that show the differences between schemes in a short run.
fn keys(scheme: &str) -> Vec<&'static str> {
    match scheme {
        "dvs" => vec!["redundancy.timeout_ms=2"],
        "fra" => vec!["redundancy.idle_ms=5", "redundancy.shadow=0.2"],
        "ppc" => vec!["redundancy.shadow=0.2", "redundancy.nvram_mib=0.0625"],
        "lifespan" => vec!["redundancy.narrowest=4"],
        _ => vec![],
    }
}

const RANDOM: &str = "synth:random,requests=1200,write=0.5,size=4KiB:0.7/12KiB:0.2/512:0.1,align=512,rate=1k";

/// The random workload on a drive that is full, with these failures, verified.
fn failing(scheme: &str, fail: &[&str], more: &[&str]) -> Job {
    let mut set = vec!["start.existing=\"all\""];
    set.extend(keys(scheme));
    set.extend(more);
    let mut job = job(&drive(scheme), RANDOM, &set);
    (job.fail, job.verify) = (fail.iter().map(|&event| event.to_owned()).collect(), true);
    job
}

fn integrity(run: &Value, figure: &str) -> f64 {
    self::figure(run, &format!("integrity.{figure}"))
}

fn phases(run: &Value) -> Vec<&str> {
    run["phases"].as_array().expect("a list").iter().map(|phase| phase["phase"].as_str().unwrap()).collect()
}

fn warnings(run: &Value) -> Vec<&str> {
    run["warnings"].as_array().expect("a list").iter().map(|warning| warning.as_str().unwrap()).collect()
}

/// The schemes that survive a failure, and may promise that nothing is lost: all but those that expose pages for a
/// while.
fn survivors() -> impl Iterator<Item = &'static str> {
    for_drives().filter(|scheme| (scheme.survives)(2) > 0).map(|scheme| scheme.name)
}

/// A whole member of the scheme, and another one: channels, but groups of three of them in a mirror.
fn units(scheme: &str) -> [&'static str; 2] {
    if scheme == "mirror" { ["member:1", "member:0"] } else { ["channel:1", "channel:4"] }
}

/// Whether it writes stripes over the members that are left.
fn has_logs(scheme: &str) -> bool {
    named(scheme).is_some_and(|entry| entry.kind == Members::Physical)
}

#[test]
fn a_channel_that_fails_costs_nothing_but_what_was_exposed() {
    for scheme in for_drives() {
        let run = summary(&failing(scheme.name, &["channel:1@50%"], &[]));
        let (name, lost) = (scheme.name, integrity(&run, "lost_pages"));
        assert_eq!(integrity(&run, "wrong_reads"), 0.0, "{name}");
        match name {
            "none" => assert!(lost > 0.0, "something was on it"),
            "fra" => {
                assert!(lost < 100.0, "{lost} pages lost, which were not in use since the last idle time")
            }
            _ => assert_eq!(lost, 0.0, "{name}"),
        }
        if name != "none" {
            // The few pages are on distributed spares before the next read.
            assert!(integrity(&run, "reconstructed_reads") > 0.0 || name == "declustered", "{name}");
            // With two parities or more, one more failure would cost nothing either.
            let survives_two = ["raid6", "raid-tp", "lrc"].contains(&name);
            assert_eq!(integrity(&run, "unprotected_page_s") > 0.0, !survives_two, "{name}");
        }
        assert_eq!(phases(&run)[0], "before", "{name}");
        assert_eq!(run["phases"][1]["event"], "channel:1@50%", "{name}");
    }
}

/// A die that is a part of a pool fails like all of its blocks.
#[test]
fn a_part_of_a_pool_is_its_blocks() {
    let pool = ["ftl.pool=\"element\"", "flash.busy_unit=\"die\""];
    let run = |scheme: &str, fail: &[String], trace: &str| {
        let fail: Vec<&str> = fail.iter().map(String::as_str).collect();
        let mut job = failing(scheme, &fail, &pool);
        job.traces = vec![trace.to_owned()];
        let run = summary(&job);
        assert_eq!(integrity(&run, "wrong_reads"), 0.0, "{scheme} {fail:?}");
        run
    };
    // The drive is idle when the die fails.
    let trace = "synth:random,requests=200,write=0.5,size=4KiB,rate=100";
    for tail in ["", ",transient", ",replace_after=500ms"] {
        let blocks: Vec<String> = (0..16).map(|block| format!("block:1.0.1.0.{block}@1s{tail}")).collect();
        let of_blocks = run("none", &blocks, trace);
        let of_die = run("none", &[format!("die:1.0.1@1s{tail}")], trace);
        assert!(integrity(&of_die, "lost_pages") > 0.0, "{tail}");
        for part in ["operations", "response", "wear"] {
            assert_eq!(of_die[part], of_blocks[part], "{tail}: {part}");
        }
        assert_eq!(of_die["integrity"]["lost_pages"], of_blocks["integrity"]["lost_pages"], "{tail}");
    }
    for scheme in survivors() {
        let run = run(scheme, &["die:1.0.1@40%,replace_after=50ms".to_owned()], RANDOM);
        assert!(scheme == "fra" || integrity(&run, "lost_pages") == 0.0, "{scheme}");
        assert!(integrity(&run, "reconstructed_reads") > 0.0, "{scheme}");
    }
}

#[test]
fn what_fra_loses_was_written_since_its_parity_was() {
    // With idle time between the writes everything is settled.
    let mut job = failing("fra", &["channel:1@50%"], &[]);
    job.traces = vec!["synth:random,requests=300,write=0.5,size=4KiB,rate=20".to_owned()];
    assert_eq!(integrity(&summary(&job), "lost_pages"), 0.0);
    let mut job = failing("fra", &["channel:1@50%"], &["redundancy.idle_ms=1000"]);
    job.traces = vec!["synth:random,requests=300,write=1,size=4KiB,rate=1k".to_owned()];
    let lost = integrity(&summary(&job), "lost_pages");
    assert!((1.0..=150.0).contains(&lost), "{lost}");
}

#[test]
fn a_replaced_channel_is_rebuilt() {
    for scheme in survivors() {
        let run = summary(&failing(scheme, &[&format!("{}@40%,replace_after=50ms", units(scheme)[0])], &[]));
        let phases = phases(&run);
        if has_logs(scheme) || scheme == "declustered" {
            // Rebuilt immediately over the remaining members, as far as there is room, or into distributed spares.
            assert!(["degraded", "rebuilding"].contains(&phases[1]), "{scheme}: {phases:?}");
        } else {
            assert_eq!(phases[..3], ["before", "degraded", "rebuilding"], "{scheme}: {phases:?}");
        }
        assert!(phases.contains(&"rebuilding"), "{scheme}: {phases:?}");
        let redundant_after = &run["integrity"]["time_to_full_redundancy_s"];
        if scheme != "fra" || integrity(&run, "lost_pages") == 0.0 {
            assert_eq!(phases.last(), Some(&"after"), "{scheme}: {phases:?}");
            assert!(redundant_after.as_f64().is_some_and(|time| time > 0.05), "{scheme}: {redundant_after}");
            assert_eq!(integrity(&run, "lost_pages"), 0.0, "{scheme}");
        }
        assert!(integrity(&run, "reconstructed_reads") > 0.0 || scheme == "declustered", "{scheme}");
        assert_eq!(integrity(&run, "wrong_reads"), 0.0, "{scheme}");
        assert!(figure(&run, "operations.program.rebuild") > 0.0, "{scheme}");
    }
}

#[test]
fn phases_follow_one_another_and_add_up() {
    for scheme in survivors() {
        let run = summary(&failing(scheme, &[&format!("{}@40%,replace_after=50ms", units(scheme)[0])], &[]));
        let phases = run["phases"].as_array().unwrap();
        for pair in phases.windows(2) {
            assert_eq!(pair[0]["until_s"], pair[1]["from_s"], "{scheme}");
            assert_ne!(pair[0]["phase"], pair[1]["phase"], "{scheme}");
        }
        check_sums_of_phases(&run, scheme);
        for kind in ["read", "write"] {
            let count = |times: &Value| times[kind]["count"].as_f64().unwrap_or(0.0);
            let sum: f64 = phases.iter().map(|phase| count(&phase["response_us"])).sum();
            assert_eq!(sum, count(&run["response_us"]), "{scheme}: {kind}");
        }
        let sum: f64 = phases.iter().map(|phase| phase["reconstructed_reads"].as_f64().unwrap()).sum();
        assert!(sum <= integrity(&run, "reconstructed_reads"), "{scheme}");
        assert_eq!(figure(&phases[0], "operations.program.rebuild"), 0.0, "{scheme}: nothing had failed");
        assert_eq!(figure(&phases[0], "reconstructed_reads"), 0.0, "{scheme}: nothing had failed");
    }
}

/// If a failure struck before counting began, the first phase is the one under way then, and the sums are the run's.
#[test]
fn phases_begin_where_counting_does() {
    for (when, first) in [("10%", "degraded"), ("0s", "degraded"), ("60%", "before")] {
        let mut job = failing("raid5", &[&format!("{}@{when}", units("raid5")[0])], &[]);
        job.warmup = Some("30%".into());
        let run = summary(&job);
        assert_eq!(phases(&run)[0], first, "{when}");
        let phases = run["phases"].as_array().unwrap();
        for kind in ["read", "program", "erase"] {
            for (cause, pages) in run["operations"][kind].as_object().unwrap() {
                let sum: f64 = phases.iter().map(|p| p["operations"][kind][cause].as_f64().unwrap()).sum();
                assert_eq!(Some(sum), pages.as_f64(), "{when}: {kind} {cause}");
            }
        }
    }
}

#[test]
fn a_spare_stands_in_at_once() {
    for scheme in survivors().filter(|&scheme| scheme != "fra") {
        let mut more = vec!["redundancy.spares=1"];
        if scheme == "mirror" {
            more.push("redundancy.width=5");
        }
        if scheme == "lrc" {
            more.push("redundancy.global_parities=1");
        }
        let run = summary(&failing(scheme, &["member:1@40%"], &more));
        let phases = phases(&run);
        assert_eq!(phases[..2], ["before", "rebuilding"], "{scheme}: {phases:?}");
        assert_eq!(phases.last(), Some(&"after"), "{scheme}");
        assert_eq!(integrity(&run, "lost_pages") + integrity(&run, "wrong_reads"), 0.0, "{scheme}");
        assert!(figure(&run, "operations.program.rebuild") > 0.0, "{scheme}");
    }
}

#[test]
fn a_second_channel_after_the_rebuild_costs_nothing() {
    for scheme in survivors() {
        let [first, second] = units(scheme);
        let fail = [format!("{first}@30%,replace_after=20ms"), format!("{second}@90%")];
        let run = summary(&failing(scheme, &[&fail[0], &fail[1]], &[]));
        assert_eq!(integrity(&run, "wrong_reads"), 0.0, "{scheme}");
        let phases = run["phases"].as_array().unwrap();
        let second = phases.iter().position(|phase| phase["event"] == fail[1].as_str()).expect("it failed");
        assert_ne!(phases[second]["phase"], "after", "{scheme}");
        if scheme != "fra" {
            assert_eq!(phases[second - 1]["phase"], "after", "{scheme}: rebuilt by then");
            assert_eq!(integrity(&run, "lost_pages"), 0.0, "{scheme}");
        }
    }
}

#[test]
fn two_channels_at_once_are_too_many_for_one_parity_and_not_for_two() {
    let lost = |scheme: &str| {
        let run = summary(&failing(scheme, &["channel:1@50%", "channel:4@50%"], &[]));
        assert_eq!(integrity(&run, "wrong_reads"), 0.0, "{scheme}");
        integrity(&run, "lost_pages")
    };
    assert_eq!(lost("raid6"), 0.0);
    for scheme in ["raid4", "raid5", "ds", "mirror"] {
        assert!(lost(scheme) > 0.0, "{scheme}");
    }
}

#[test]
fn the_same_failures_take_the_same_course() {
    for scheme in for_drives() {
        let fail =
            ["channel:1@40%,replace_after=30ms", "block:3.0.1.0.4@60%", "page:0.0.0.0.2.3@70%,transient"];
        let mut job = failing(scheme.name, &fail, &[]);
        let first = done(&job).summary;
        assert_eq!(first, done(&job).summary, "{}", scheme.name);
        // Checking contents changes only the figures about contents.
        job.verify = false;
        let plain = done(&job).summary;
        for part in
            ["response_us", "service_us", "operations", "wear", "utilization", "phases", "simulated_s"]
        {
            assert_eq!(plain[part], first[part], "{}: {part}", scheme.name);
        }
        for part in ["lost_pages", "reconstructed_reads", "unprotected_page_s", "time_to_full_redundancy_s"] {
            assert_eq!(plain["integrity"][part], first["integrity"][part], "{}: {part}", scheme.name);
        }
    }
}

#[test]
fn a_failure_that_nobody_notices_changes_nothing() {
    // It comes after the last request.
    for scheme in ["none", "raid5", "dvs"] {
        let plain = summary(&failing(scheme, &[], &[]));
        let late = summary(&failing(scheme, &["channel:1@1000s"], &[]));
        assert_eq!(plain["response_us"], late["response_us"]);
        assert_eq!(plain["operations"], late["operations"]);
        assert_eq!(integrity(&late, "lost_pages"), 0.0);
        let told = "--fail channel:1@1000s: the run ended before it happened";
        assert!(warnings(&late).contains(&told), "{:?}", warnings(&late));
        assert!(!warnings(&plain).contains(&told));
        let late = summary(&failing(scheme, &["chip:1.0@5000req"], &[]));
        assert!(warnings(&late).contains(&"--fail chip:1.0@5000req: the run ended before it happened"));
    }
}

#[test]
fn a_rebuild_with_a_tenth_of_the_time_takes_longer() {
    for scheme in survivors().filter(|&scheme| scheme != "fra") {
        let time = |share: &str| {
            let share = format!("redundancy.rebuild_share={share}");
            let run = summary(&failing(
                scheme,
                &[&format!("{}@20%,replace_after=1ms", units(scheme)[0])],
                &[&share],
            ));
            integrity(&run, "time_to_full_redundancy_s")
        };
        let (slow, fast) = (time("0.1"), time("1.0"));
        assert!(slow > 1.5 * fast, "{scheme}: {slow} s, and {fast} s undisturbed");
    }
}

#[test]
fn a_page_that_cannot_be_read_once_is_had_otherwise() {
    for scheme in for_drives() {
        let name = scheme.name;
        let pages: Vec<String> = (0..8).map(|page| format!("page:2.0.0.0.1.{page}@30%,transient")).collect();
        let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
        let run = summary(&failing(name, &pages, &[]));
        assert_eq!(integrity(&run, "wrong_reads"), 0.0, "{name}");
        let lost = integrity(&run, "lost_pages");
        match name {
            "none" => assert!((1.0..=8.0).contains(&lost), "{lost}"),
            "fra" => assert!(lost <= 8.0, "{lost}"),
            _ => assert_eq!(lost, 0.0, "{name}"),
        }
    }
}

#[test]
fn parts_that_fail_cost_nothing() {
    let parts = ["page:2.0.1.0.3.4", "block:2.0.1.0.3", "plane:2.0.1.0", "die:2.0.1", "chip:2.0"];
    for scheme in survivors() {
        for part in parts {
            let run = summary(&failing(scheme, &[&format!("{part}@400ms")], &[]));
            assert_eq!(integrity(&run, "wrong_reads"), 0.0, "{scheme}, {part}");
            if scheme != "fra" {
                assert_eq!(integrity(&run, "lost_pages"), 0.0, "{scheme}, {part}");
            }
        }
    }
}

#[test]
fn a_plane_that_fails_costs_nothing_whatever_is_asked_meanwhile() {
    // The rest of its member still takes writes, as far as there is room.
    let sizes = ["size=4KiB", "size=12KiB", "size=512", "size=4KiB:0.7/12KiB:0.2/512:0.1,align=512"];
    for scheme in survivors().filter(|&scheme| scheme != "fra") {
        for (seed, size) in (1..).zip(sizes.iter().cycle().take(12)) {
            let mut job = failing(scheme, &["plane:2.0.1.0@400ms"], &[]);
            job.traces = vec![format!("synth:random,requests=1200,write=0.5,{size},rate=1k")];
            job.seed = Some(seed);
            let run = summary(&job);
            let bad = integrity(&run, "lost_pages") + integrity(&run, "wrong_reads");
            assert_eq!(bad, 0.0, "{scheme}, seed {seed}, {size}");
        }
    }
}

#[test]
fn a_drive_that_cannot_be_made_whole_stays_in_one_phase() {
    // Half of a member is gone for good: what it cannot take any more is not tried again with every write.
    for scheme in survivors() {
        let run = summary(&failing(scheme, &["plane:2.0.1.0@400ms"], &[]));
        let phases = phases(&run);
        assert!(phases.len() <= 10, "{scheme}: {} phases", phases.len());
        let until = run["phases"].as_array().unwrap().last().unwrap()["until_s"].as_f64().unwrap();
        assert!(until < 10.0, "{scheme}: the last ends at {until} s");
    }
}

#[test]
fn a_larger_part_costs_a_drive_without_redundancy_more() {
    let lost = |part: &str| {
        let run = summary(&failing("none", &[&format!("{part}@99%")], &["ftl.allocation=\"CWDP\""]));
        integrity(&run, "lost_pages")
    };
    let lost = ["block:2.0.1.0.3", "plane:2.0.1.0", "chip:2.0"].map(lost);
    assert!(lost[0] <= 8.0 && lost[0] < lost[1] && lost[1] < lost[2], "{lost:?}");
    // Twelve planes, evenly filled.
    let pages = 6.0 * 2.0 * 16.0 * 8.0 / 1.6;
    assert!((lost[2] - pages / 6.0).abs() < 0.2 * pages / 6.0, "{} of {pages}", lost[2]);
}

#[test]
fn a_member_is_its_part_of_the_flash() {
    // With an equal share of the channels for each copy, member 1 is channels 3 to 5.
    let member = summary(&failing("mirror", &["member:1@50%"], &[]));
    let channels = summary(&failing("mirror", &["channel:3@50%", "channel:4@50%", "channel:5@50%"], &[]));
    for part in ["response_us", "operations", "integrity"] {
        assert_eq!(member[part], channels[part], "{part}");
    }
    assert_eq!(integrity(&member, "lost_pages"), 0.0);
}

#[test]
fn the_memory_of_ppc_may_fail_instead() {
    let run = summary(&failing("ppc", &["nvram@50%"], &[]));
    assert_eq!(integrity(&run, "lost_pages") + integrity(&run, "wrong_reads"), 0.0);
    assert_eq!(run["phases"][1]["event"], "nvram@50%");
}

#[test]
fn chips_and_dies_fail_where_redundancy_runs_over_them() {
    for (across, part) in [("chip", "chip:0.1"), ("die", "die:0.1.1")] {
        let set = [format!("redundancy.across=\"{across}\""), "flash.chips_per_channel=2".to_owned()];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        for scheme in ["raid5", "raid6", "mirror", "ds", "dvs"] {
            let run = summary(&failing(scheme, &[&format!("{part}@50%,replace_after=10ms")], &set));
            let bad = integrity(&run, "lost_pages") + integrity(&run, "wrong_reads");
            assert_eq!(bad, 0.0, "{scheme} across {across}");
            assert_eq!(phases(&run).last(), Some(&"after"), "{scheme} across {across}");
        }
    }
}

#[test]
fn a_scenario_file_is_the_same_as_options() {
    let scenario = file(
        "scenario.toml",
        "# What happens.\n[[event]]\nwhat = \"channel:1\"\nwhen = \"40%\"\nreplace_after = \"30ms\"\n\
         [[event]]\nwhat = \"page:0.0.0.0.2.3\"\nwhen = \"700req\"\ntransient = true\n",
    );
    let options = summary(&failing(
        "raid5",
        &["channel:1@40%,replace_after=30ms", "page:0.0.0.0.2.3@700req,transient"],
        &[],
    ));
    let mut job = failing("raid5", &[], &[]);
    job.scenario = Some(scenario.into());
    let from_file = summary(&job);
    assert_eq!(from_file["digest"], options["digest"]);
    assert_eq!(from_file["phases"], options["phases"]);
    assert_eq!(phases(&options)[..4], ["before", "degraded", "rebuilding", "after"]);
}

#[test]
fn failures_that_make_no_sense_are_refused() {
    let refused = |job: &Job| run(job, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
    for (fail, told) in [
        ("channel:6@1s", "this drive has channels 0 to 5"),
        ("chip:3.0", "WHAT@WHEN"),
        ("nvram@1s", "has no such memory"),
        ("member:6@1s", "0 to 5"),
        ("channel:1@120%", "a share of them"),
        ("channel:1@1s,transient,replace_after=1s", "exclude each other"),
        ("page:0.0.0.0.2.3@worn", "ftl.wear.erase_budget"),
    ] {
        let error = refused(&failing("raid5", &[fail], &[]));
        assert!(error.contains(&format!("--fail {fail}")) && error.contains(told), "{error}");
    }
    let scenario = file(
        "bad.toml",
        "[[event]]\nwhat = \"channel:1\"\n\n[[event]]\nwhat = \"chanel:1\"\nwhen = \"1s\"\n",
    );
    let mut job = failing("raid5", &[], &[]);
    job.scenario = Some(scenario.clone().into());
    let error = refused(&job);
    assert!(error.contains(&format!("{scenario}:1: ")) && error.contains("when"), "{error}");
}

#[test]
fn a_stopped_rebuild_ends_with_the_last_request() {
    let job = failing("raid5", &["channel:1@99%,replace_after=1ms"], &[]);
    let whole = summary(&job);
    let stopped = summary(&Job { stop_rebuild: Some("end".into()), ..job });
    assert_eq!(phases(&whole).last(), Some(&"after"));
    assert_eq!(phases(&stopped).last(), Some(&"rebuilding"));
    assert!(stopped["rebuilds"][0]["end_s"].is_null(), "it has not ended");
    let written = |run: &Value| run["rebuilds"][0]["gib"].as_f64().unwrap();
    assert!(written(&stopped) > 0.0 && written(&stopped) < written(&whole));
    assert!(stopped["rebuilds"][0]["full_member_hours"].as_f64().is_some());
    assert_eq!(integrity(&stopped, "lost_pages"), 0.0, "what is missing is in the other members");
    assert_eq!(stopped["response_us"], whole["response_us"], "no request sees what comes after the last one");
}

#[test]
fn a_run_ends_when_enough_is_rebuilt() {
    let job = failing("raid5", &["channel:1@50%,replace_after=1ms"], &[]);
    let whole = summary(&job);
    let job = Job { stop_rebuild: Some("256KiB".into()), ..job };
    let sampled = summary(&job);
    let of = |key: &str| [figure(&sampled, key), figure(&whole, key)];
    let [requests, all] = of("workload.requests");
    assert!(requests > all / 2.0 && requests < all, "{requests} of {all}");
    let gib = sampled["rebuilds"][0]["gib"].as_f64().expect("it was rebuilt") * 1024.0;
    assert!((0.25..0.27).contains(&gib), "{gib} MiB: pieces under way are finished");
    let note =
        format!("--stop-rebuild 256KiB: the run ended when that was rebuilt, after {requests} requests");
    assert!(sampled["warnings"].as_array().expect("a list").iter().any(|said| said == note.as_str()));
    assert_eq!(integrity(&sampled, "lost_pages"), 0.0);
    let job = Job { stop_rebuild: Some("soon".into()), ..job };
    let error = run(&job, &mut |_| ControlFlow::Continue(())).expect_err("no size").to_string();
    assert!(error.contains("`soon`; `end` or a size such as `1GiB` is accepted"), "{error}");
}

#[test]
fn a_drive_that_falls_behind_says_what_it_reaches() {
    let run = summary(&job(&drive("none"), &RANDOM.replace("rate=1k", "rate=200k"), &[]));
    let [offered, reached] =
        ["offered_iops", "reached_iops"].map(|key| figure(&run, &format!("saturation.{key}")));
    assert!(
        (offered / figure(&run, "workload.requests") * figure(&run, "workload.span_s") - 1.0).abs() < 1e-9
    );
    assert!((reached / figure(&run, "throughput.iops") - 1.0).abs() < 1e-6);
    assert!(reached < offered / 1.05);
    let note = format!("it cannot carry {offered:.0} requests/s and reaches {reached:.0}");
    assert!(warnings(&run).iter().any(|warning| warning.contains(&note)), "{:?}", warnings(&run));
    assert!(summary(&job(&drive("none"), RANDOM, &[])).get("saturation").is_none());
}
