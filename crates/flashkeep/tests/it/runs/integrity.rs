//! Contents, determinism and space: properties of every drive under every workload.

use crate::common::{done, figure, job, summary};
use flashkeep::job::Halt;
use flashkeep::run;
use proptest::prelude::*;
use std::ops::ControlFlow;

fn small(channels: u32, chips: u32, dies: u32, planes: u32) -> String {
    format!(
        "[flash]\nchannels = {channels}\nchips_per_channel = {chips}\ndies_per_chip = {dies}\n\
         planes_per_die = {planes}\nblocks_per_plane = 12\npages_per_block = 7\npage_kib = 4\n\
         [ftl]\nover_provisioning = 0.35\n"
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Every read returns the data written last, with collection running, with every policy.
    #[test]
    fn every_read_brings_what_was_written_last(
        seed in 0u64..10_000,
        (channels, chips, dies, planes) in (1u32..4, 1u32..3, 1u32..3, 1u32..3),
        unit in prop::sample::select(vec!["chip", "die", "plane"]),
        allocation in prop::sample::select(vec!["dynamic", "dynamic-in-channel", "CWDP", "PDWC", "WCPD", "CW", "P"]),
        scheduler in prop::sample::select(vec!["reads-first", "ssdsim", "fifo"]),
        (victim, run) in prop::sample::select(vec![("greedy", "steps"), ("fifo", "hold-channel"), ("fifo", "steps")]),
        (existing, dram) in prop::sample::select(vec![("all", "0"), ("reads", "0"), ("none", "0.03125"), ("all", "0.0625"), ("reads", "0.03125")]),
        flush in prop::sample::select(vec!["none", "idle", "watermark"]),
        bus in prop::sample::select(vec!["transfers", "operations"]),
        (queue, late) in prop::sample::select(vec![(0, "from-admission"), (4, "from-admission"), (4, "from-arrival")]),
        depth in prop::sample::select(vec!["depth=1", "depth=9", "rate=3k", "rate=40k"]),
        write in 0.3f64..1.0,
    ) {
        let trace = format!("synth:random,requests=900,write={write},size=512:0.2/4KiB:0.5/20KiB:0.3,align=512,{depth}");
        let set = [
            format!("flash.busy_unit=\"{unit}\""),
            format!("ftl.allocation=\"{allocation}\""),
            format!("flash.scheduler=\"{scheduler}\""),
            format!("ftl.gc.victim=\"{victim}\""),
            format!("ftl.gc.run=\"{run}\""),
            format!("start.existing=\"{existing}\""),
            format!("buffer.dram_mib={dram}"),
            format!("buffer.flush={flush}"),
            format!("flash.bus=\"{bus}\""),
            format!("host.queue_depth={queue}"),
            format!("host.late_requests=\"{late}\""),
            "ftl.gc.threshold=0.2".to_owned(),
        ];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let mut job = job(&small(channels, chips, dies, planes), &trace, &set);
        (job.seed, job.verify) = (Some(seed), true);
        let first = done(&job).summary;
        prop_assert_eq!(figure(&first, "integrity.wrong_reads"), 0.0);
        prop_assert_eq!(figure(&first, "integrity.lost_pages"), 0.0);
        prop_assert_eq!(&first, &done(&job).summary, "the same run twice");
        // Checking contents does not change other results.
        job.verify = false;
        let plain = done(&job).summary;
        prop_assert_eq!(&plain["response_us"], &first["response_us"]);
        prop_assert_eq!(&plain["operations"], &first["operations"]);
        // The parts of the amplification and 1 add up to it.
        let parts: f64 = ["buffer", "mirror", "gc", "parity", "wear", "metadata", "rebuild"]
            .iter()
            .map(|part| plain["write_amplification"][part].as_f64().unwrap())
            .sum();
        prop_assert!((figure(&plain, "write_amplification.total") - 1.0 - parts).abs() < 1e-9);
    }
}

/// A plane's writes are in one pool for all channels: when another one comes first, channels that could not take the
/// one before must be notified.
#[test]
fn writes_that_are_bound_to_planes_go_to_whichever_channel_has_room() {
    for seed in 0..40 {
        let set = [
            "flash.busy_unit=chip",
            "ftl.allocation=P",
            "flash.scheduler=fifo",
            "ftl.gc.victim=fifo",
            "ftl.gc.run=hold-channel",
            "ftl.gc.threshold=0.2",
            "start.existing=all",
            "buffer.dram_mib=0.0625",
        ];
        let trace = "synth:random,requests=900,write=0.3,size=512:0.2/4KiB:0.5/20KiB:0.3,align=512,depth=1";
        let mut job = job(&small(2, 1, 1, 2), trace, &set);
        (job.seed, job.verify) = (Some(seed), true);
        assert_eq!(figure(&done(&job).summary, "integrity.wrong_reads"), 0.0);
    }
}

#[test]
fn a_full_drive_has_exactly_the_over_provisioned_space_free() {
    let job = job(
        &small(2, 2, 1, 2),
        "synth:random,requests=1,write=0,size=4KiB,depth=1",
        &["start.existing=\"all\""],
    );
    let run = summary(&job);
    let physical = 2.0 * 2.0 * 2.0 * 12.0 * 7.0;
    let logical = (physical * 8.0 / 1.35_f64).floor() / 8.0;
    assert_eq!(figure(&run, "fill") * physical, logical.ceil());
}

/// Digests of runs, by drive and workload: the command line's tests hold the release build against them too.
const GOLDEN: &str = include_str!("../../../../../tests/golden/digests.json");

#[test]
fn the_same_bytes_on_every_machine_and_in_every_build() {
    let golden: serde_json::Value = serde_json::from_str(GOLDEN).expect("a table of digests");
    for (run, digest) in golden.as_object().expect("a table of digests") {
        let (drive, trace) = run.split_once(' ').expect("a drive and a workload");
        let found = summary(&job(drive, trace, &[]));
        assert_eq!(&found["digest"], digest, "{run}: a change here is a change of results");
    }
}

#[test]
fn a_run_can_be_stopped() {
    let job = job("1CNM-64", "synth:random,requests=1M", &[]);
    let stopped = run(&job, &mut |_| ControlFlow::Break(Halt::AtOnce));
    assert_eq!(stopped.unwrap_err(), flashkeep::error::Error::Interrupted);
}

/// The open and the closed loop, the order of the host queue, the fast path. (SSDSim's presets scan the whole trace before
/// time 0, which depends on where it ends.)
#[test]
fn a_run_that_ends_early_equals_one_that_is_limited_to_the_requests_until_then() {
    for (trace, set, untimed) in [
        ("synth:random,requests=1M,rate=20k", &[][..], false),
        ("synth:random,requests=1M,depth=4", &[][..], false),
        (
            "synth:random,requests=1M,rate=20k",
            &["host.order=c-look", "host.late_requests=from-admission"][..],
            false,
        ),
        ("synth:random,requests=1M,write=1", &[][..], true),
    ] {
        let mut job = job("1CNM-64", trace, &[set, &["start.scan=false"]].concat());
        job.untimed = untimed;
        let mut seen = 0;
        let mut halted = run(&job, &mut |now| {
            seen = now.requests;
            if seen > 20_000 { ControlFlow::Break(Halt::AfterAdmitted) } else { ControlFlow::Continue(()) }
        });
        let halted = halted.as_mut().map(|outcome| outcome.summary.take()).expect("a result");
        assert_eq!(halted["interrupted"], true, "{trace} {set:?}");
        let done = halted["workload"]["requests"].as_u64().expect("a number");
        assert!((seen..seen + 10_000).contains(&done), "{done} of {seen}");
        job.limit = Some(done);
        let limited = summary(&job);
        assert!(limited.get("interrupted").is_none());
        assert_eq!(halted["digest"], limited["digest"], "{trace} {set:?}");
        assert!(halted["warnings"][0].as_str().is_some_and(|note| note.starts_with("interrupted: ")));
    }
}
