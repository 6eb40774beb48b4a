//! Untimed runs, and drives that are not new: counts without a clock, ageing by construction, conditioning.

use crate::common::{done, figure, job, output, summary};
use flashkeep::config::load_text;
use flashkeep::job::Job;
use flashkeep::run;
use flashkeep::schemes::{RedundancySpec, SchemeEntry, for_drives};
use proptest::prelude::*;
use serde_json::Value;
use std::ops::ControlFlow;

const SMALL: &str = "[flash]\nchannels = 4\nchips_per_channel = 1\nplanes_per_die = 2\nblocks_per_plane = 24\n\
                     pages_per_block = 8\n[ftl]\nover_provisioning = 0.5\n";

fn untimed(drive: &str, trace: &str, set: &[&str]) -> Job {
    Job { untimed: true, ..job(drive, trace, set) }
}

fn scheme_key(name: &str) -> String {
    format!("redundancy.scheme={name}")
}

#[test]
fn an_untimed_run_counts_and_has_no_times() {
    let found = summary(&untimed(
        SMALL,
        "synth:random,requests=3k,write=0.7,size=4KiB,rate=1k",
        &["start.existing=all"],
    ));
    for times in ["response_us", "service_us"] {
        assert_eq!(found[times]["all"], Value::Null);
    }
    for null in ["/queue/mean", "/queue/max", "/throughput/iops", "/utilization/die_mean"] {
        assert_eq!(found.pointer(null), Some(&Value::Null), "{null}");
    }
    // The trace's own clock: 3,000 arrivals at 1,000 a second.
    assert!((figure(&found, "simulated_s") - 3.0).abs() < 0.3);
    let (writes, reads) = (figure(&found, "workload.writes"), figure(&found, "workload.reads"));
    assert_eq!(figure(&found, "operations.program.host"), writes);
    assert_eq!(figure(&found, "operations.read.host"), reads);
    let (erases, moved) = (figure(&found, "operations.erase.gc"), figure(&found, "operations.program.gc"));
    assert!(erases > 0.0 && erases == figure(&found, "wear.erases_total"));
    assert_eq!(moved, figure(&found, "operations.read.gc"));
    // Programs, erases, free pages and valid pages are consistent.
    assert!((erases * 8.0 - moved - writes).abs() <= 8.0 * 24.0 * 8.0);
    let closed = summary(&untimed(SMALL, "synth:random,requests=100,size=4KiB,depth=4", &[]));
    assert_eq!(closed["simulated_s"], Value::Null);
}

/// With currents or erase budgets operations are reported one by one; the results are the same.
#[test]
fn what_operations_draw_changes_no_count() {
    let currents = ["flash.energy.voltage_v=1", "flash.energy.program_ma=1"];
    let trace = "synth:random,requests=3k,write=1,size=4KiB,depth=4";
    for set in
        [&["ftl.wear.erase_budget=1000000"][..], &["ftl.plane_choice=same"], &["flash.dies_per_chip=2"]]
    {
        for condition in [false, true] {
            let run = |set: &[&str]| summary(&Job { condition, ..untimed(SMALL, trace, set) });
            let (plain, told) = (run(set), run(&[set, &currents].concat()));
            assert_eq!(plain["digest"], told["digest"], "{set:?}");
            let programs: f64 = ["host", "gc"]
                .map(|cause| figure(&told, &format!("operations.program.{cause}")))
                .iter()
                .sum();
            // 200 µs of 1 mA at 1 V each, those before time 0 left out.
            let expected = programs * 200e-9;
            assert!((figure(&told, "energy.flash_j.program") / expected - 1.0).abs() < 1e-9, "{set:?}");
        }
    }
}

/// The amplification of random writes is that of the timed run: the same policies.
#[test]
fn amplification_is_that_of_a_timed_run() {
    let drive = SMALL.replace("= 24", "= 128").replace("= 0.5", "= 0.2");
    for victim in ["greedy", "fifo"] {
        let set = ["start.existing=all", "ftl.gc.threshold=0", &format!("ftl.gc.victim={victim}")];
        let trace = "synth:random,requests=60k,write=1,size=4KiB,depth=1";
        let [timed, fast] = [false, true].map(|untimed| {
            let job = Job { untimed, warmup: Some("50%".into()), ..job(&drive, trace, &set) };
            figure(&summary(&job), "write_amplification.total")
        });
        assert!((fast / timed - 1.0).abs() < 0.01, "{victim}: {fast} untimed, {timed} timed");
    }
}

/// The fast and the general path give the same results; contents, partial pages, warm-up and a log make a run take the
/// general path.
#[test]
fn the_short_way_and_the_long_one_come_to_the_same() {
    let trace = "synth:random,requests=4k,write=0.9,size=4KiB:0.7/12KiB:0.3,rate=2k";
    let short = untimed(SMALL, trace, &["start.existing=all"]);
    let expected = summary(&short);
    let logged = Job { operations: Some(output("operations.csv")), ..short.clone() };
    assert_eq!(summary(&logged)["digest"], expected["digest"]);
    let verified = summary(&Job { verify: true, ..short });
    assert_eq!(verified["operations"], expected["operations"]);
    assert_eq!(verified["wear"], expected["wear"]);
    assert_eq!(figure(&verified, "integrity.wrong_reads"), 0.0);
    assert!(figure(&verified, "integrity.checked_reads") > 300.0);
}

/// The small drive, with as many channels as a scheme needs.
fn small(scheme: &SchemeEntry) -> String {
    let (members, options) = (scheme.members, RedundancySpec::of(scheme.name));
    let enough = scheme.plain || members(4, None, "channel").is_ok() && (scheme.check)(4, &options).is_ok();
    if enough { SMALL.to_owned() } else { SMALL.replace("channels = 4", "channels = 8") }
}

#[test]
fn every_scheme_runs_untimed() {
    for scheme in for_drives() {
        for trace in [
            "synth:random,requests=3k,write=0.8,size=4KiB:0.6/12KiB:0.2/2KiB:0.2,align=2KiB,rate=500",
            "synth:random,requests=3k,write=0.8,size=4KiB,depth=4",
        ] {
            let set = [&*scheme_key(scheme.name), "redundancy.nvram_mib=0.0625", "redundancy.xor_us=3"];
            let job = Job { verify: true, ..untimed(&small(scheme), trace, &set) };
            let found = summary(&job);
            assert_eq!(figure(&found, "integrity.wrong_reads"), 0.0, "{}", scheme.name);
            assert_eq!(figure(&found, "integrity.lost_pages"), 0.0, "{}", scheme.name);
            assert!(figure(&found, "wear.erases_total") > 0.0, "{}", scheme.name);
            assert_eq!(found, summary(&job), "{}: the same run twice", scheme.name);
            let plain = summary(&Job { verify: false, ..job });
            assert_eq!(plain["operations"], found["operations"], "{}", scheme.name);
        }
    }
}

/// Timers and idle time follow the trace's clock.
#[test]
fn gaps_of_the_trace_are_idle_time() {
    // Two writes a hundred milliseconds apart, and two close together.
    let apart = "0 0 0 8 0\n100000000 0 800 8 0\n";
    let close = "0 0 0 8 0\n100000 0 800 8 0\n";
    let partial = |trace: &str, untimed: bool| {
        let set = ["redundancy.scheme=dvs", "redundancy.timeout_ms=50"];
        let found = summary(&Job { untimed, ..job(SMALL, trace, &set) });
        figure(&found, "operations.program.partial_parity")
    };
    assert_eq!((partial(apart, true), partial(close, true)), (1.0, 0.0));
    assert_eq!((partial(apart, false), partial(close, false)), (1.0, 0.0));
    // Deferred parity is written when the gap is longer than `idle_ms`.
    let parity = |idle: &str| {
        let set = ["redundancy.scheme=fra", idle];
        figure(&summary(&untimed(SMALL, "0 0 0 8 0\n30000000 0 0 8 0\n", &set)), "operations.program.parity")
    };
    assert_eq!((parity("redundancy.idle_ms=20"), parity("redundancy.idle_ms=40")), (2.0, 1.0));
}

#[test]
fn a_failure_by_request_is_survived_untimed() {
    for scheme in ["mirror", "raid5", "raid6", "dvs", "fra"] {
        let trace = "synth:random,requests=2k,write=0.6,size=4KiB,rate=500";
        let fail = vec!["channel:1@1000req".to_owned()];
        let job = Job { verify: true, fail, ..untimed(SMALL, trace, &[&scheme_key(scheme)]) };
        let found = summary(&job);
        assert_eq!(figure(&found, "integrity.wrong_reads"), 0.0, "{scheme}");
        // Deferred parity declares that what it has not renewed may go.
        assert!(scheme == "fra" || figure(&found, "integrity.lost_pages") == 0.0, "{scheme}");
        assert!(figure(&found, "integrity.reconstructed_reads") > 0.0, "{scheme}");
        assert_eq!(found["phases"][1]["response_us"]["all"], Value::Null, "{scheme}");
    }
    // Without redundancy the contents of the failed part are lost, and the rest stays in use.
    let trace = "synth:random,requests=2k,write=0.6,size=4KiB,depth=1";
    let job = Job {
        verify: true,
        fail: vec!["plane:1.0.0.1@1000req".into()],
        ..untimed(SMALL, trace, &["start.existing=all"])
    };
    let found = summary(&job);
    assert!(figure(&found, "integrity.lost_pages") > 0.0);
    assert_eq!(figure(&found, "integrity.wrong_reads"), 0.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn untimed_reads_bring_what_was_written_last(
        seed in 0u64..10_000,
        allocation in prop::sample::select(vec!["dynamic", "dynamic-in-channel", "CWDP", "PDWC"]),
        unit in prop::sample::select(vec!["chip", "die", "plane"]),
        (existing, dram) in prop::sample::select(vec![("all", "0"), ("reads", "0.03125"), ("none", "0")]),
        threshold in prop::sample::select(vec!["0", "0.1", "0.3"]),
        condition in any::<bool>(),
    ) {
        let trace = "synth:random,requests=1200,write=0.6,size=512:0.2/4KiB:0.5/20KiB:0.3,align=512,rate=900";
        let set = [
            format!("ftl.allocation={allocation}"), format!("flash.busy_unit={unit}"),
            format!("start.existing={existing}"), format!("buffer.dram_mib={dram}"), format!("ftl.gc.threshold={threshold}"),
        ];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let job = Job { seed: Some(seed), verify: true, condition, ..untimed(SMALL, trace, &set) };
        let found = summary(&job);
        prop_assert_eq!(figure(&found, "integrity.wrong_reads"), 0.0);
        prop_assert_eq!(figure(&found, "integrity.lost_pages"), 0.0);
    }
}

// -------------------------------------------------------------------- ageing by construction

fn aged(model: &str, ratio: &str, valid: &str, rest: &[&str]) -> Vec<String> {
    let own = [
        format!("ageing.model={model}"),
        format!("ageing.aged_ratio={ratio}"),
        format!("ageing.valid_ratio={valid}"),
    ];
    own.into_iter().chain(rest.iter().map(|&key| key.to_owned())).collect()
}

/// Valid pages at time 0, as the fill of a run of a single read of nothing has them.
fn filled(set: &[String]) -> f64 {
    let job = Job {
        set: set.to_vec(),
        existing: Some("none".into()),
        verify: true,
        ..job(SMALL, "0 0 0 8 1\n", &[])
    };
    figure(&summary(&job), "fill") * 8.0 * 24.0 * 8.0
}

#[test]
fn ageing_leaves_exactly_as_many_pages_valid_as_asked() {
    // 192 pages a plane, 0.8 of them: 153 written, 19 blocks in full; 0.3 of their 152 pages: 46 (45.6).
    for allocation in ["dynamic", "dynamic-in-channel", "CWDP", "PDWC"] {
        let key = format!("ftl.allocation={allocation}");
        assert_eq!(filled(&aged("approach2", "0.8", "0.3", &[&key])), 8.0 * 46.0, "{allocation}");
    }
    assert_eq!(filled(&aged("approach1", "0.8", "0.3", &[])), 0.0);
    assert_eq!(filled(&aged("basic", "0.8", "0", &[])), 0.0);
}

/// Pages of a log that exist: a read of another one costs nothing.
fn existing(scheme: &str, set: &[String]) -> f64 {
    let set: Vec<String> = set.iter().cloned().chain([scheme_key(scheme)]).collect();
    let drive = load_text("drive", SMALL, &set).expect("a drive");
    let lines: String = (0..drive.logical_pages()).map(|n| format!("{n}000000 0 {} 8 1\n", n * 8)).collect();
    let job = Job { existing: Some("none".into()), verify: true, set, ..job(SMALL, &lines, &[]) };
    figure(&summary(&job), "operations.read.host")
}

/// The blocks of the model are the superblocks of a log, but for the one that GC keeps: 23 of 16 rows with 3 data
/// pages. Of 23·48·0.8 pages, those of 18 superblocks are in full ones.
#[test]
fn superblocks_of_a_log_are_aged() {
    for scheme in ["ds", "dvs", "lifespan"] {
        assert_eq!(existing(scheme, &aged("approach2", "0.8", "0.3", &[])), (18.0 * 48.0 * 0.3_f64).round());
        assert_eq!(existing(scheme, &aged("approach1", "0.8", "0", &[])), 0.0);
        assert_eq!(existing(scheme, &aged("basic", "0.8", "0", &[])), 0.0);
    }
}

/// Of superblocks that are written in part, none is collected before those parts are filled.
#[test]
fn a_log_fills_what_ageing_has_left_of_its_superblocks() {
    let key = scheme_key("ds");
    let set = aged("basic", "0.5", "0", &[&key, "ftl.gc.threshold=0"]);
    // 23 superblocks with 8 of 16 rows of 3 data pages, and one more, which is kept: GC begins when the last is opened.
    let run = |writes: u32| {
        let trace = format!("synth:random,requests={writes},write=1,size=4KiB,depth=1");
        let found = summary(&Job { set: set.clone(), verify: true, ..job(SMALL, &trace, &[]) });
        assert_eq!(figure(&found, "integrity.wrong_reads"), 0.0);
        figure(&found, "operations.erase.gc")
    };
    assert_eq!(run(22 * 24), 0.0);
    assert!(run(22 * 24 + 1) > 0.0);
}

#[test]
fn members_of_every_mapped_scheme_are_aged_alike() {
    for scheme in for_drives().filter(|scheme| scheme.kind != flashkeep::schemes::Members::Physical) {
        let key = scheme_key(scheme.name);
        let set = aged("approach2", "0.7", "0.2", &[&key, "redundancy.nvram_mib=0.0625"]);
        // 134 written, 16 blocks in full; 0.2 of their 128 pages: 26 (25.6) in each plane.
        let drive = small(scheme);
        if drive == SMALL {
            // Rows of declustered stripes do not have a page of each member: there the share is met approximately.
            let most = if scheme.name == "declustered" { 0.1 } else { 0.0 };
            let share = filled(&set) / (8.0 * 26.0);
            assert!((share - 1.0).abs() <= most, "{}: {share}", scheme.name);
        }
        let trace = "synth:random,requests=3k,write=0.7,size=4KiB:0.7/6KiB:0.3,align=2KiB,rate=900";
        for untimed in [false, true] {
            let job = Job { set: set.clone(), verify: true, untimed, ..job(&drive, trace, &[]) };
            let found = summary(&job);
            assert_eq!(figure(&found, "integrity.wrong_reads"), 0.0, "{}", scheme.name);
            assert_eq!(figure(&found, "integrity.lost_pages"), 0.0, "{}", scheme.name);
        }
    }
}

#[test]
fn every_model_is_used_up_and_survives_failures() {
    for model in ["basic", "approach1", "approach2"] {
        for fail in [
            vec![],
            vec!["block:0.0.0.0.3@10ms".to_owned()],
            vec!["page:1.0.0.1.2.7@10ms".into()],
            vec!["plane:2.0.0.0@10ms".into()],
        ] {
            let set = aged(model, "0.8", "0.1", &["redundancy.scheme=mirror"]);
            let trace = "synth:random,requests=3k,write=0.9,size=4KiB,rate=3k";
            let job = Job { set, verify: true, fail: fail.clone(), ..job(SMALL, trace, &[]) };
            let found = summary(&job);
            assert_eq!(figure(&found, "integrity.wrong_reads"), 0.0, "{model} {fail:?}");
            assert_eq!(figure(&found, "integrity.lost_pages"), 0.0, "{model} {fail:?}");
            assert!(figure(&found, "operations.erase.gc") > 0.0, "{model}");
        }
    }
}

/// If all pages exist they are valid, however few the model leaves, and failures lose nothing.
#[test]
fn an_aged_drive_in_which_all_pages_exist_is_full() {
    let trace = "synth:random,requests=3k,write=0.5,size=4KiB,depth=4";
    for (model, ratio) in [("basic", "0.9"), ("approach1", "0.9"), ("approach2", "0.9"), ("approach2", "0.3")]
    {
        for more in [&[][..], &["redundancy.scheme=mirror"], &["ftl.allocation=CWDP"], &["ftl.map=dftl"]] {
            let set = aged(model, ratio, "0", &[&["start.existing=all"], more].concat());
            for fail in [vec![], vec!["power@50%".to_owned()]] {
                let found = summary(&Job { set: set.clone(), verify: true, fail, ..job(SMALL, trace, &[]) });
                assert_eq!(figure(&found, "integrity.wrong_reads"), 0.0, "{model} {more:?}");
                assert_eq!(figure(&found, "integrity.lost_pages"), 0.0, "{model} {more:?}");
                assert_eq!(figure(&found, "unmapped_reads"), 0.0, "{model} {more:?}");
            }
        }
    }
}

#[test]
fn what_cannot_be_aged_is_refused() {
    let refused = |set: &[String], field: &str| {
        let job = Job { set: set.to_vec(), ..job(SMALL, "0 0 0 8 1\n", &[]) };
        let error = run(&job, &mut |_| ControlFlow::Continue(())).expect_err(field);
        let flashkeep::error::Error::Drive(error) = error else { panic!("{error}") };
        assert_eq!(error.field.as_deref(), Some(field), "{error}");
    };
    refused(&aged("approach1", "0.95", "0", &[]), "ageing.aged_ratio");
    refused(&aged("approach2", "0.9", "0.8", &[]), "ageing.valid_ratio");
    refused(&aged("approach3", "0.9", "0.8", &[]), "ageing.model");
}

/// Pages that the trace reads are created as SSDSim creates them, not among the valid pages that are left.
#[test]
fn what_the_trace_reads_is_left_to_the_scan() {
    let lines: String = (0..20).map(|n| format!("{n}000000 0 {} 8 1\n", n * 8)).collect();
    let set = aged("approach2", "0.8", "0.3", &["start.scan=true"]);
    let job = Job { set, verify: true, ..job(SMALL, &lines, &[]) };
    assert_eq!(figure(&summary(&job), "fill") * 8.0 * 192.0, 8.0 * 46.0 + 20.0);
}

// -------------------------------------------------------------------- conditioning

#[test]
fn conditioning_ends_in_the_steady_state_of_random_writes() {
    let drive = SMALL.replace("= 24", "= 256").replace("= 0.5", "= 0.2");
    let trace = "synth:random,requests=40k,write=1,size=4KiB,depth=1";
    let conditioned = Job { condition: true, ..untimed(&drive, trace, &["condition.round=1"]) };
    let found = summary(&conditioned);
    assert_eq!(found["conditioning"]["steady"], true);
    assert!(figure(&found, "conditioning.rounds") >= 5.0);
    // Later writes have the write amplification of the last five rounds, timed or untimed.
    let before = figure(&found, "conditioning.write_amplification");
    let after = figure(&found, "write_amplification.total");
    assert!((after / before - 1.0).abs() < 0.05, "{after} after {before}");
    // Erases count from time 0.
    assert_eq!(figure(&found, "wear.erases_total"), figure(&found, "operations.erase.gc"));
    let few =
        Job { set: vec!["condition.most_rounds=5".into(), "condition.round=0.05".into()], ..conditioned };
    assert_eq!(summary(&few)["conditioning"]["steady"], false);
    assert!(done(&few).summary["warnings"].to_string().contains("steady"));
}

#[test]
fn every_scheme_is_conditioned_and_goes_on_timed() {
    for scheme in for_drives() {
        let set = [
            &*scheme_key(scheme.name),
            "redundancy.nvram_mib=0.0625",
            "redundancy.xor_us=3",
            "condition.most_rounds=6",
        ];
        let trace = "synth:random,requests=800,write=0.6,size=4KiB:0.7/2KiB:0.3,align=2KiB,rate=300";
        let job = Job { condition: true, verify: true, ..job(&small(scheme), trace, &set) };
        let found = summary(&job);
        assert_eq!(figure(&found, "integrity.wrong_reads"), 0.0, "{}", scheme.name);
        assert_eq!(figure(&found, "integrity.lost_pages"), 0.0, "{}", scheme.name);
        let plain = summary(&Job { verify: false, ..job });
        assert_eq!(plain["response_us"], found["response_us"], "{}", scheme.name);
    }
}

// -------------------------------------------------------------------- saved and begun with

fn failed(job: &Job) -> String {
    run(job, &mut |_| ControlFlow::Continue(())).expect_err("it cannot be meant").to_string()
}

/// After loading, a run is to the byte what it is after conditioning in the same process.
#[test]
fn a_drive_of_every_scheme_is_saved_and_goes_on_as_if_it_had_not_been() {
    for scheme in for_drives() {
        for verify in [false, true] {
            let set = [&*scheme_key(scheme.name), "redundancy.nvram_mib=0.0625", "condition.most_rounds=5"];
            let trace = "synth:random,requests=900,write=0.6,size=4KiB:0.7/2KiB:0.3,align=2KiB,rate=300";
            let at_once = Job { condition: true, verify, ..job(&small(scheme), trace, &set) };
            let path = output("aged.fk");
            done(&Job { traces: vec![], save_aged: Some(path.clone()), ..at_once.clone() });
            let later = Job { condition: false, aged: Some(path), ..at_once.clone() };
            let (expected, found) = (summary(&at_once), summary(&later));
            // What the start was, and the notes about it, tell the two apart.
            let differs = |key: &str| ["start", "warnings"].contains(&key);
            let compared = expected.as_object().expect("a summary").iter().rev();
            for (key, value) in compared.filter(|(key, _)| !differs(key)) {
                assert_eq!(&found[key], value, "{}, contents {verify}: {key}", scheme.name);
            }
            assert_eq!(figure(&found, "integrity.wrong_reads"), 0.0, "{}", scheme.name);
        }
    }
}

/// An untimed run of any workload ages a drive too; a drive saved with contents serves a run without.
#[test]
fn a_drive_is_saved_after_an_untimed_run() {
    let path = output("aged.fk");
    for scheme in for_drives() {
        let key = scheme_key(scheme.name);
        let trace = "synth:zipf,requests=2k,write=0.9,size=4KiB,rate=1k";
        done(&Job { verify: true, save_aged: Some(path.clone()), ..untimed(&small(scheme), trace, &[&key]) });
        for verify in [false, true] {
            let job = Job { aged: Some(path.clone()), verify, ..job(&small(scheme), trace, &[&key]) };
            assert_eq!(figure(&summary(&job), "integrity.wrong_reads"), 0.0, "{}", scheme.name);
        }
    }
    // By construction, too.
    let set = aged("approach2", "0.8", "0.3", &[]);
    done(&Job { set: set.clone(), traces: vec![], save_aged: Some(path.clone()), ..job(SMALL, "", &[]) });
    let job = Job { set, aged: Some(path), existing: Some("none".into()), ..job(SMALL, "0 0 0 8 1\n", &[]) };
    assert_eq!(figure(&summary(&job), "fill") * 8.0 * 192.0, 8.0 * 46.0);
}

/// DRAM is written back before the drive is saved, in the order in which it evicts pages: here, that of the writes.
#[test]
fn a_drive_is_saved_with_what_its_dram_held() {
    let path = output("aged.fk");
    let writes = "synth:sequential,requests=100,write=1,size=4KiB,rate=1k";
    let then = "synth:random,requests=300,write=0.5,size=4KiB,rate=1k";
    for scheme in ["none", "raid5"] {
        let [kept, written] = ["buffer.dram_mib=1", "buffer.dram_mib=0"].map(|dram| {
            let set = [&*scheme_key(scheme), dram];
            done(&Job { verify: true, save_aged: Some(path.clone()), ..untimed(SMALL, writes, &set) });
            let later =
                Job { aged: Some(path.clone()), verify: true, ..job(SMALL, then, &[&scheme_key(scheme)]) };
            let run = summary(&later);
            assert_eq!(figure(&run, "integrity.wrong_reads"), 0.0, "{scheme} {dram}");
            run["digest"].clone()
        });
        assert_eq!(kept, written, "{scheme}");
    }
}

#[test]
fn what_is_not_that_drive_as_it_was_saved_is_refused() {
    let path = output("aged.fk");
    let age = Job {
        condition: true,
        traces: vec![],
        save_aged: Some(path.clone()),
        ..job(SMALL, "", &["condition.most_rounds=5"])
    };
    done(&age);
    let with = |set: &[&str]| Job { aged: Some(path.clone()), ..job(SMALL, "0 0 0 8 0\n", set) };
    assert!(failed(&with(&["flash.channels=2"])).contains("flash.channels is 4 in the file and 2 here"));
    assert!(failed(&with(&["redundancy.scheme=raid5"])).contains("redundancy"));
    assert!(failed(&with(&["ftl.over_provisioning=0.6"])).contains("ftl.over_provisioning"));
    // Keys that are not part of its state may differ.
    done(&with(&[
        "flash.timing.read_us=50",
        "ftl.gc.victim=fifo",
        "buffer.dram_mib=1",
        "host.queue_depth=4",
    ]));
    assert!(failed(&Job { verify: true, ..with(&[]) }).contains("--verify"));
    assert!(failed(&Job { condition: true, ..with(&[]) }).contains("--condition"));
    assert!(failed(&Job { aged: None, save_aged: Some(path.clone()), ..with(&[]) }).contains("--untimed"));
    let whole = std::fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let mut newer = whole.clone();
    newer[6] = 99;
    for (bytes, said) in [
        (&whole[..whole.len() - 1], "truncated"),
        (&whole[..9], "truncated"),
        (&flipped[..], "damaged"),
        (&newer[..], "version 99"),
        (&b"0 0 0 8 1"[..], "not a drive"),
        (&b""[..], "not a drive"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let message = failed(&with(&[]));
        assert!(message.contains(said) && message.contains("--aged"), "{message}");
    }
}

/// The order of the ageing study's figures 4 and 5, for a stand-in of one of its workloads, and for the head of the
/// real one where that is at hand.
#[test]
fn the_ageing_study_in_shape() {
    let head = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces/financial1-head-10k.ssdsim.zst");
    let real = std::path::Path::new(head).exists().then_some(head);
    if real.is_none() {
        eprintln!("skipped: {head} is not here");
    }
    for trace in ["synth:ageing-financial1,requests=20k"].into_iter().chain(real) {
        let found = |model: &str, valid: &str| {
            let (wrap, merge_devices) = (true, true);
            let set = aged(model, "0.8", valid, &[]);
            let traces = vec![trace.to_owned()];
            let found = summary(&Job { set, wrap, merge_devices, traces, ..job("aging-8gb", "", &[]) });
            (figure(&found, "response_us.all.mean"), figure(&found, "wear.erases_total"))
        };
        let (basic, one) = (found("basic", "0"), found("approach1", "0"));
        let (low, high) = (found("approach2", "0.1"), found("approach2", "0.3"));
        assert!(one.0 < basic.0 && one.1 < basic.1 && one.1 > 0.75 * basic.1, "{one:?} {basic:?}");
        assert!(low.0 > one.0 && (1.5..2.5).contains(&(high.0 / low.0)), "{low:?} {high:?}");
        assert!((1.02..1.29).contains(&(high.1 / low.1)), "{low:?} {high:?}");
    }
}

/// Pages that exist before time 0 are placed in rows, without a command for each; with contents they are not.
#[test]
fn rows_of_pages_are_created_as_page_by_page() {
    let trace = "synth:random,requests=3k,write=0.6,size=4KiB:0.7/12KiB:0.3,rate=2k";
    let drive = SMALL.replace("= 24", "= 160");
    let member = crate::common::file("row-member.toml", &drive);
    let array = |count: u32, scheme: &str, keys: &str| {
        format!(
            "members = ['{count} * {member}{keys}']\nredundancy.scheme = '{scheme}'\nstart.existing = 'all'\n"
        )
    };
    for text in [
        format!("start.existing = 'all'\n{drive}"),
        format!("start.existing = 'all'\n{drive}logical_page_kib = 2\n"),
        format!(
            "start.existing = 'all'\n{}logical_page_kib = 1\n",
            drive.replace("[ftl]", "pages_per_program = 4\n[ftl]").replace("= 0.5", "= 1.5")
        ),
        array(3, "none", ""),
        array(2, "mirror", ",buffer.dram_mib=0.25"),
        array(4, "raid5", ""),
        array(8, "raid5", ",ftl.gc.threshold=0.4"),
        array(5, "raid6", ",buffer.dram_mib=0.25"),
        array(5, "diff-raid", ""),
    ] {
        for untimed in [false, true] {
            let rows = Job { untimed, ..job(&text, trace, &[]) };
            let [rows, pages] = [summary(&rows), summary(&Job { verify: true, ..rows.clone() })];
            assert_eq!(rows["operations"], pages["operations"], "{text}");
            assert_eq!(rows["response_us"], pages["response_us"], "{text}");
            assert_eq!(rows["wear"], pages["wear"], "{text}");
        }
    }
}
