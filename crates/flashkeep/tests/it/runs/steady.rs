//! `ageing.model = "steady"`: the state of a full drive after random writes, by construction.

use crate::common::{figure, job, output, summary};
use flashkeep::config::load_text;
use flashkeep::job::Job;
use serde_json::Value;

const DRIVE: &str = "[flash]\nchannels = 4\nchips_per_channel = 1\nplanes_per_die = 2\nblocks_per_plane = 256\n\
                     pages_per_block = 32\npage_kib = 4\n[ftl]\nover_provisioning = 0.15\ngc.threshold = 0.02\n";
const STEADY: &str = "ageing.model=steady";
/// A tenth of the capacity.
const WRITES: &str = "synth:random,requests=5700,write=1,size=4KiB,depth=4";

/// Programs per page that the host writes, over a tenth of the capacity.
fn amplification(job: &Job) -> f64 {
    figure(&summary(job), "write_amplification.total")
}

/// A drive in steady state, and the same conditioned by writing.
fn compare(drive: &str, set: &[&str], untimed: bool) -> [f64; 2] {
    let long = ["condition.round=1", "condition.most_rounds=5"];
    let steady = Job { untimed, ..job(drive, WRITES, &[set, &[STEADY]].concat()) };
    let written = Job { untimed, condition: true, ..job(drive, WRITES, &[set, &long].concat()) };
    // The mean of several seeds: one run is 1 to 2 % off it.
    let mean = |job: &Job| {
        let runs = (1..=4).map(|seed| amplification(&Job { seed: Some(seed), ..job.clone() }));
        runs.sum::<f64>() / 4.0
    };
    [mean(&steady), mean(&written)]
}

#[test]
fn amplification_is_that_of_a_conditioned_drive() {
    for set in [
        &["ftl.gc.victim=greedy"][..],
        &["ftl.gc.victim=greedy-last", "ftl.allocation=CWDP"],
        &["ftl.gc.victim=fifo"],
        &["ftl.gc.victim=random"],
        &["ftl.gc.victim=d-choices", "ftl.gc.choices=4"],
        &["ftl.gc.victim=rga", "ftl.gc.threshold=0"],
        &["ftl.gc.victim=windowed-greedy", "ftl.gc.window=100"],
        &["ftl.pool=element"],
        &["ftl.logical_page_kib=4", "flash.page_kib=8", "flash.pages_per_block=16"],
        &["redundancy.scheme=mirror", "redundancy.across=channel"],
    ] {
        let [steady, written] = compare(DRIVE, set, true);
        assert!((steady / written - 1.0).abs() < 0.03, "{set:?}: {steady}, conditioned {written}");
    }
}

/// Members of an array are written by their scheme, each at random.
#[test]
fn members_amplify_as_in_a_conditioned_array() {
    let keys =
        |prefix: &str, set: &[&str]| set.iter().map(|key| format!("{prefix}{key}")).collect::<Vec<_>>();
    for (scheme, members) in [("none", 3), ("mirror", 2), ("raid5", 4), ("raid6", 5)] {
        let member = crate::common::file("steady-small.toml", DRIVE);
        let array = format!("members = ['{members} * {member}']\nredundancy.scheme = '{scheme}'\n");
        let capacity = load_text("array.toml", &array, &[]).expect("an array").logical_pages();
        let writes = format!("synth:random,requests={},write=1,size=4KiB,depth=4", capacity / 10);
        let waf = |set: &[String], condition: bool| {
            let set: Vec<&str> = set.iter().map(String::as_str).collect();
            let job = Job { untimed: true, condition, ..job(&array, &writes, &set) };
            let runs = (1..=2).map(|seed| amplification(&Job { seed: Some(seed), ..job.clone() }));
            runs.sum::<f64>() / 2.0
        };
        let steady = waf(&keys("member.", &["ageing.model=steady"]), false);
        let written = waf(&keys("", &["condition.round=1", "condition.most_rounds=5"]), true);
        eprintln!("{scheme}: {steady}, conditioned {written}, {:.2} %", 100.0 * (steady / written - 1.0));
        assert!((steady / written - 1.0).abs() < 0.03, "{scheme}: {steady}, conditioned {written}");
    }
}

#[test]
fn it_is_so_with_time_too() {
    let [steady, written] = compare(DRIVE, &["ftl.gc.threshold=0.05"], false);
    assert!((steady / written - 1.0).abs() < 0.03, "{steady}, conditioned {written}");
}

/// All contents are there; equal runs are equal, and a saved drive continues as it would.
#[test]
fn the_drive_is_full_and_every_run_is_the_same() {
    for set in [&[][..], &["ftl.allocation=CWDP"], &["redundancy.scheme=raid5", "ftl.gc.victim=fifo"]] {
        let set = [set, &[STEADY]].concat();
        let trace = "synth:random,requests=8k,write=0.6,size=4KiB,depth=4";
        let verified = summary(&Job { verify: true, ..job(DRIVE, trace, &set) });
        assert_eq!(figure(&verified, "integrity.wrong_reads"), 0.0, "{set:?}");
        assert_eq!(figure(&verified, "unmapped_reads"), 0.0, "{set:?}");
        assert_eq!(verified["drive"]["start"]["existing"], Value::from("all"));
        let plain = job(DRIVE, trace, &set);
        let first = summary(&plain);
        assert_eq!(first["digest"], summary(&plain)["digest"], "{set:?}");
        assert_eq!(first["operations"], verified["operations"], "the fast and the general path");
        let other = summary(&Job { seed: Some(2), ..plain.clone() });
        assert_ne!(first["digest"], other["digest"], "{set:?}");
    }
    let saved = output("steady.fk");
    summary(&Job { traces: Vec::new(), save_aged: Some(saved.clone()), ..job(DRIVE, WRITES, &[STEADY]) });
    let later = summary(&Job { aged: Some(saved), ..job(DRIVE, WRITES, &[STEADY]) });
    assert_eq!(later["digest"], summary(&job(DRIVE, WRITES, &[STEADY]))["digest"]);
}

/// Members of arrays start full, and so does the array.
#[test]
fn members_are_in_steady_state() {
    let member = crate::common::file("steady-member.toml", &format!("{DRIVE}[ageing]\nmodel = 'steady'\n"));
    for scheme in ["none", "mirror", "raid5"] {
        let array = format!("members = ['4 * {member}']\nredundancy.scheme = '{scheme}'\n");
        let found = summary(&Job {
            verify: true,
            ..job(&array, "synth:random,requests=4k,write=0.5,size=4KiB", &[])
        });
        assert_eq!(figure(&found, "integrity.wrong_reads"), 0.0, "{scheme}");
        assert_eq!(figure(&found, "unmapped_reads"), 0.0, "{scheme}");
        assert!(figure(&found, "wear.erases_total") > 100.0, "{scheme}: GC runs from the first writes on");
        let plain = summary(&job(&array, "synth:random,requests=4k,write=0.5,size=4KiB", &[]));
        for figure in ["operations", "response"] {
            assert_eq!(plain[figure], found[figure], "{scheme}: pages without contents are where others are");
        }
        assert_eq!(plain["fill"], found["fill"], "{scheme}");
    }
}

#[test]
fn drives_whose_steady_state_is_not_known_are_conditioned_by_writing() {
    for (key, value) in [
        ("ftl.gc.victim", "\"cost-benefit\""),
        ("ftl.wear.levelling", "\"migration\""),
        ("ftl.streams", "2"),
        ("ftl.gc.separate", "true"),
        ("ftl.map", "\"dftl\""),
        ("ftl.map", "\"hybrid\""),
        ("redundancy.scheme", "\"dvs\""),
        ("ftl.gc.copyback", "\"parity-skip\""),
        ("ftl.plane_choice", "\"same\""),
        ("ftl.gc.threshold", "0.2"),
    ] {
        let set = ["ageing.model=\"steady\"".to_owned(), format!("{key}={value}")];
        let error = load_text("drive.toml", DRIVE, &set).expect_err(key).to_string();
        assert!(error.contains("Condition the drive by writing") && error.contains(key), "{error}");
    }
}
