//! Drives that are written until their end of life: every run ends with a summary.

use crate::common::{accepted, done, figure, job, picked, summary};
use flashkeep::schemes::for_drives;
use proptest::prelude::*;
use serde_json::Value;

/// The drive of Design Tradeoffs with fewer blocks and little life, under the workload of its own validation.
fn atc08(requests: u32, blocks: u32, budget: u32, levelling: &str) -> Value {
    let blocks = format!("flash.blocks_per_plane={blocks}");
    let budget = format!("ftl.wear.erase_budget={budget}");
    let levelling = format!("ftl.wear.levelling=\"{levelling}\"");
    let trace = format!("synth:atc08-iozone,requests={requests},footprint=64MiB");
    let mut job = job("atc08-32gb", &trace, &[&blocks, &budget, &levelling]);
    job.verify = true;
    let run = summary(&job);
    assert!(figure(&run, "wear.expired_blocks") > 0.0);
    assert_eq!(figure(&run, "integrity.wrong_reads"), 0.0);
    run
}

/// Once blocks have died, no page waits for a plane whose open block is younger than the page's older copy.
#[test]
fn a_drive_that_compares_versions_goes_on_without_some_blocks() {
    for levelling in ["none", "rate-limit"] {
        let run = atc08(70_000, 256, 50, levelling);
        assert!(run["wear"]["first_loss_s"].is_null());
        assert_eq!(figure(&run, "workload.requests"), 70_000.0);
        assert_eq!(figure(&run, "integrity.lost_pages"), 0.0);
        let run = atc08(8_000, 64, 10, levelling);
        assert!(figure(&run, "wear.first_loss_s") > figure(&run, "wear.first_block_dead_s"));
        assert_eq!(figure(&run, "workload.requests") + figure(&run, "wear.refused_requests"), 8_000.0);
    }
}

/// Four planes on two channels, of few erases.
const SMALL: &str = "[flash]\nchannels = 2\nchips_per_channel = 1\ndies_per_chip = 2\nplanes_per_die = 1\npage_kib = 4\n\
                     blocks_per_plane = 24\npages_per_block = 8\n[ftl]\nover_provisioning = 0.5\n\
                     wear.erase_budget = 6\n[start]\nexisting = \"all\"\n";

/// Every other request reads: after the end those alone are served, and most data are still there.
#[test]
fn a_drive_at_its_end_is_read_only() {
    let log = |scheme| vec!["redundancy.across=\"die\"", "ftl.over_provisioning=0.7", scheme];
    let logs = ["ds", "dvs", "lifespan"].map(|scheme| format!("redundancy.scheme=\"{scheme}\""));
    let schemes: Vec<_> = std::iter::once(Vec::new()).chain(logs.iter().map(|scheme| log(scheme))).collect();
    for (set, untimed) in schemes.iter().flat_map(|set| [(set, false), (set, true)]) {
        let set = [&set[..], &["host.queue_depth=4"]].concat();
        let mut job = job(SMALL, "synth:random,requests=20k,write=0.5,size=4KiB,rate=2k", &set);
        (job.verify, job.untimed, job.keep_requests) = (true, untimed, true);
        let outcome = done(&job);
        let run = &outcome.summary;
        let turned_away = figure(run, "wear.refused_requests");
        assert_eq!(figure(run, "workload.requests") + turned_away, 20_000.0);
        assert_eq!(figure(run, "integrity.wrong_reads"), 0.0);
        let kept = 1.0 - figure(run, "integrity.lost_pages") * 4096.0 / figure(run, "capacity_bytes");
        assert!(kept > 0.85, "{kept} of the data stay: {}", run["integrity"]);
        let last_write =
            outcome.requests.iter().rposition(|request| request.op == 1).expect("it was written to");
        let reads = outcome.requests.len() - 1 - last_write;
        assert!(
            turned_away > 1_000.0 && (turned_away / reads as f64 - 1.0).abs() < 0.1,
            "{reads} reads follow"
        );
        // Its life is the time and the bytes until then.
        let ends = [
            ("tbw_first_block", "first_loss_bytes", 1e12),
            ("lifetime_days_first_block", "first_loss_s", 86_400.0),
        ];
        for (life, end, unit) in
            ends.map(|(life, end, unit)| (format!("wear.{life}"), format!("wear.{end}"), unit))
        {
            assert!((figure(run, &life) * unit / figure(run, &end) - 1.0).abs() < 1e-9, "{life}");
        }
        let said = run["warnings"].as_array().expect("a list").iter().filter_map(Value::as_str);
        let read_only = format!("{turned_away} writes and trims were refused");
        assert_eq!(said.filter(|said| said.contains(&read_only)).count(), 1, "{}", run["warnings"]);
    }
}

/// The end is the same if requests wait outside the queue, or belong to volumes.
#[test]
fn whoever_waits_outside_is_turned_away_too() {
    for order in ["arrival", "c-look"] {
        let order = format!("host.order=\"{order}\"");
        let set = [order.as_str(), "host.queue_depth=4"];
        let run = summary(&job(SMALL, "synth:random,requests=20k,write=0.8,size=4KiB,rate=50k", &set));
        assert!(figure(&run, "wear.refused_requests") > 1_000.0, "{order}");
        assert_eq!(figure(&run, "workload.requests") + figure(&run, "wear.refused_requests"), 20_000.0);
    }
}

/// The plane of the older copy may be full of valid pages, or its open block older than that copy: another one is taken.
#[test]
fn a_plane_that_cannot_be_had_is_not_waited_for() {
    let two = ["flash.dies_per_chip=2", "flash.planes_per_die=2", "ftl.wear.erase_budget=10000"];
    for choice in ["same", "most-free"] {
        for more in
            ["ftl.gc.separate=true", "ftl.streams=2", "ftl.gc.run=\"steps\"", "flash.busy_unit=\"die\""]
        {
            for rate in ["rate=3k", "depth=9"] {
                let choice = format!("ftl.plane_choice=\"{choice}\"");
                let trace = format!("synth:random,requests=6k,write=0.8,size=4KiB:0.7/12KiB:0.3,{rate}");
                let set: Vec<&str> = two.iter().copied().chain([more, &choice]).collect();
                let mut job = job(SMALL, &trace, &set);
                job.verify = true;
                let run = summary(&job);
                assert_eq!(figure(&run, "workload.requests"), 6_000.0, "{choice} {more} {rate}");
                assert_eq!(figure(&run, "integrity.wrong_reads") + figure(&run, "integrity.lost_pages"), 0.0);
            }
        }
    }
}

// ---------------------------------------------------------------- everything at once

/// A drive of small planes; each list has the possible values.
fn ways() -> impl Strategy<Value = Vec<String>> {
    let lists: &[(&str, &[&str])] = &[
        ("ftl.map", &["page", "page", "page", "dftl", "block", "hybrid"]),
        ("ftl.pool", &["plane", "plane", "element", "gang"]),
        ("ftl.allocation", &["dynamic", "dynamic-in-channel", "CWDP", "WP"]),
        ("ftl.plane_choice", &["in-turn", "most-free", "same"]),
        ("ftl.partial_writes", &["merge", "whole"]),
        ("ftl.read_in_flight", &["memory", "memory", "flash"]),
        ("ftl.wear.levelling", &["none", "rate-limit", "migration", "both"]),
        ("ftl.gc.run", &["steps", "hold-channel"]),
        ("ftl.gc.background", &["true", "false"]),
        ("ftl.gc.copyback", &["off", "on", "parity", "parity-skip"]),
        ("ftl.gc.soft_threshold", &["", "", "0.6"]),
        ("ftl.gc.separate", &["false", "true"]),
        ("flash.busy_unit", &["chip", "die"]),
        ("flash.bus", &["transfers", "operations", "rounds"]),
        ("flash.scheduler", &["fifo", "reads-first", "ssdsim"]),
        ("flash.summary_page", &["false", "true"]),
        ("flash.control_gang", &["1", "1", "2"]),
        ("flash.commands.multi_plane", &["off", "off", "skip"]),
        ("flash.commands.cache_program", &["false", "false", "true"]),
        ("flash.dies_per_chip", &["1", "2"]),
        ("flash.planes_per_die", &["1", "2"]),
        ("buffer.dram_mib", &["0", "0.125"]),
        ("host.order", &["arrival", "c-look"]),
        ("host.queue_depth", &["4", "20"]),
        ("start.existing", &["all", "all", "reads", "none"]),
    ];
    picked(lists)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Every drive ends its run, reads return the data written last or are reported as lost, and every request is
    /// answered.
    #[test]
    fn a_drive_that_wears_out_goes_on_reading(
        seed in 0u64..10_000,
        set in ways(),
        scheme in prop::sample::select(for_drives().map(|entry| entry.name).chain(["none"; 8]).collect::<Vec<_>>()),
        budget in prop::sample::select(vec![2u32, 4, 9]),
        pages in prop::sample::select(vec![4u32, 8]),
        pace in prop::sample::select(vec!["depth=1", "depth=9", "rate=3k", "rate=30k"]),
        untimed in prop::bool::weighted(0.25),
    ) {
        let drive = format!(
            "[flash]\nchannels = 6\nchips_per_channel = 1\nblocks_per_plane = 20\npages_per_block = {pages}\n\
             page_kib = 4\n[ftl]\nover_provisioning = 1.2\nwear.erase_budget = {budget}\nwear.migrate_below = 1\n\
             [redundancy]\nscheme = \"{scheme}\"\nshadow = 0.2\nnvram_mib = 0.0625\nnarrowest = 4\n",
        );
        let set = accepted(&drive, set, 0);
        let asked = 12_000;
        let trace = format!(
            "synth:random,requests={asked},write=0.8,size=4KiB:0.7/12KiB:0.2/512:0.1,align=512,{pace}"
        );
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let mut job = job(&drive, &trace, &set);
        (job.seed, job.verify, job.untimed) = (Some(seed), true, untimed);
        let run = summary(&job);
        let of = |key: &str| figure(&run, key);
        prop_assert_eq!(of("integrity.wrong_reads"), 0.0);
        prop_assert_eq!(of("workload.requests") + of("wear.refused_requests"), f64::from(asked));
        if run["wear"]["first_loss_s"].is_null() {
            prop_assert_eq!((of("integrity.lost_pages"), of("wear.refused_requests")), (0.0, 0.0));
        } else {
            prop_assert!(of("wear.expired_blocks") > 0.0);
            prop_assert!(of("wear.refused_requests") > 0.0 || of("workload.requests") == f64::from(asked));
        }
        prop_assert!(of("wear.erases_max") <= f64::from(budget), "{}", of("wear.erases_max"));
    }
}
