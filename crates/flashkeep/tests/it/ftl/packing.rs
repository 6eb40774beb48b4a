//! Logical pages that share flash pages, in whole runs: amplification in closed form, and combinations with other
//! features.

use crate::common::{accepted, done, figure, file, job, output, picked, summary};
use flashkeep::schemes::for_drives;
use proptest::prelude::*;
use serde_json::Value;

/// One die; a page of the flash has places for four pages of 4 KiB.
const DIE: &str = "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\npage_kib = 16\n\
                   blocks_per_plane = 64\npages_per_block = 16\n[ftl]\nlogical_page_kib = 4\nover_provisioning = 0.5\n\
                   [start]\nexisting = \"none\"\n";

fn run(trace: &str, set: &[&str]) -> Value {
    let mut job = job(DIE, trace, set);
    job.verify = true;
    let run = summary(&job);
    assert_eq!(figure(&run, "integrity.wrong_reads"), 0.0);
    run
}

#[test]
fn pages_that_come_alone_are_written_fourfold() {
    let run = run("synth:random,requests=400,write=1,size=4KiB,depth=1", &[]);
    assert_eq!(figure(&run, "packing.places"), 4.0);
    let programs = figure(&run, "packing.flash_pages.program");
    assert_eq!(programs, 400.0, "programs times places are the host's pages times four");
    assert_eq!(figure(&run, "write_amplification.total"), 4.0);
    assert_eq!(figure(&run, "write_amplification.empty"), 3.0);
}

#[test]
fn whole_flash_pages_are_written_once() {
    let run = run("synth:sequential,requests=400,write=1,size=16KiB,depth=1", &[]);
    assert_eq!(figure(&run, "packing.flash_pages.program"), 400.0);
    assert_eq!(figure(&run, "write_amplification.total"), 1.0);
    assert_eq!(figure(&run, "packing.empty_places"), 0.0);
}

/// Of 32 in the queue one goes alone; whenever a program ends, four finish and four come.
#[test]
fn a_deep_queue_fills_pages() {
    let run = run("synth:random,requests=3201,write=1,size=4KiB,depth=32", &["ftl.over_provisioning=3"]);
    assert_eq!(figure(&run, "operations.program.host"), 3201.0);
    assert_eq!(figure(&run, "packing.empty_places"), 3.0, "of the first program");
}

#[test]
fn what_the_dram_gives_up_fills_pages() {
    let one = |set: &[&str]| run("synth:random,requests=4k,write=1,size=4KiB,depth=1", set);
    let (with, without) = (one(&["buffer.dram_mib=0.5", "host.queue_depth=8"]), one(&[]));
    let amplification = |run| figure(run, "write_amplification.total");
    assert!(amplification(&with) < amplification(&without), "{with} {without}");
}

/// Random writes one at a time: the DRAM gives up as many pages at a time as a word line holds.
#[test]
fn what_the_dram_gives_up_fills_word_lines() {
    let set = ["flash.pages_per_program=4", "buffer.dram_mib=0.5"];
    for flush in ["buffer.flush=\"none\"", "buffer.flush=\"watermark\""] {
        let run = run("synth:random,requests=4k,write=1,size=4KiB,depth=1", &[set[0], set[1], flush]);
        assert_eq!(
            (figure(&run, "packing.empty_places"), figure(&run, "packing.filled")),
            (0.0, 1.0),
            "{flush}"
        );
        let pages = figure(&run, "operations.program.host");
        assert!(pages > 1000.0 && figure(&run, "packing.word_lines") == pages / 16.0, "{flush}: {pages}");
    }
}

/// 400 random writes, one at a time: no request waits without time, so pages of the flash are full.
#[test]
fn without_time_every_place_is_filled() {
    let mut job = job(DIE, "synth:random,requests=4k,write=1,size=4KiB,depth=1", &[]);
    (job.verify, job.untimed) = (true, true);
    let run = summary(&job);
    assert_eq!(figure(&run, "write_amplification.empty"), 0.0);
    assert!(run["packing"].is_null() && figure(&run, "write_amplification.total") >= 1.0);
}

#[test]
fn the_same_run_takes_the_same_course() {
    let digest =
        || run("synth:random,requests=5k,write=0.7,size=4KiB:0.7/12KiB:0.3,depth=9", &[])["digest"].clone();
    assert_eq!(digest(), digest());
}

/// Four writers of one page each, more or less at once: who waits for the others writes four times less, and later.
#[test]
fn waiting_for_others_fills_pages() {
    let of = |gather: &str| run("synth:random,requests=2k,write=1,size=4KiB,rate=1k", &[gather]);
    let (now, later) = (of("ftl.gather_us=0"), of("ftl.gather_us=3000"));
    assert!(figure(&now, "write_amplification.empty") > 2.0, "{now}");
    assert!(figure(&later, "write_amplification.empty") < 0.5, "{later}");
}

/// Requests of whole flash pages cost what they cost where those are the pages of the map: time, energy, erases.
#[test]
fn whole_flash_pages_cost_what_pages_do() {
    let energy = ["voltage_v", "read_ma", "program_ma", "erase_ma", "transfer_ma", "standby_ma"];
    let energy = energy.map(|name| format!("flash.energy.{name}=10"));
    for trace in [
        "synth:sequential,requests=3k,write=1,size=16KiB,depth=1",
        "synth:random,requests=3k,write=0.5,size=16KiB,align=16KiB,rate=500",
    ] {
        let of = |kib: &str| {
            let set: Vec<&str> = energy
                .iter()
                .map(String::as_str)
                .chain([kib, "start.existing=\"all\"", "ftl.over_provisioning=1"])
                .collect();
            let run = run(trace, &set);
            let keys =
                ["response_us.read.mean", "response_us.write.mean", "energy.total_j", "wear.erases_total"];
            keys.map(|key| run.pointer(&format!("/{}", key.replace('.', "/"))).cloned())
        };
        assert_eq!(of("ftl.logical_page_kib=4"), of("ftl.logical_page_kib=16"), "{trace}");
    }
}

/// Pages written one at a time take the types of the flash pages that they have for themselves, and all of those crosses.
#[test]
fn the_types_are_those_of_flash_pages() {
    let write = |n: u64, op: u8| format!("{} 0 {} 8 {op}\n", (n + 100 * u64::from(op)) * 10_000_000, n * 8);
    let trace: String = (0..6).map(|n| write(n, 0)).chain((0..6).map(|n| write(n, 1))).collect();
    let times = "flash.timing={ read_us = [20, 40, 80], program_us = [200, 400, 800], bus_ns_per_byte = 1, command_ns = 0 }";
    let mut job = job(DIE, &trace, &[times]);
    job.keep_requests = true;
    let ns: Vec<u64> = done(&job).requests.iter().map(|request| request.response_ns).collect();
    let writes = [200, 400, 800, 200, 400, 800].map(|us| 16_384 + us * 1_000);
    let reads = [20, 40, 80, 20, 40, 80].map(|us| 4_096 + us * 1_000);
    assert_eq!((&ns[..6], &ns[6..]), (&writes[..], &reads[..]));
}

#[test]
fn a_drive_that_was_conditioned_and_saved_goes_on_as_it_was() {
    let trace = "synth:random,requests=2k,write=0.7,size=4KiB,depth=6";
    let mut first = job(DIE, trace, &[]);
    let file = output("packed.aged");
    (first.condition, first.verify) = (true, true);
    let conditioned = summary(&first);
    assert!(figure(&conditioned, "conditioning.write_amplification") >= 1.0);
    assert!(figure(&conditioned, "wear.erases_total") > 0.0);
    (first.save_aged, first.untimed) = (Some(file.clone()), true);
    summary(&first);
    let mut again = job(DIE, trace, &[]);
    (again.aged, again.verify) = (Some(file), true);
    let loaded = summary(&again);
    assert_eq!(figure(&loaded, "integrity.wrong_reads"), 0.0);
    assert!(figure(&loaded, "write_amplification.empty") > 0.0, "it still knows how its pages share");
}

/// Drives whose pages share, in an array: it is rebuilt, and says how full they were.
#[test]
fn arrays_of_such_drives() {
    let member = DIE.replace("blocks_per_plane = 64", "blocks_per_plane = 32");
    let members = format!("members = [\"4 * {}\"]\n", file("member.toml", &member));
    let array = format!("{members}[redundancy]\nscheme = \"raid5\"\nstripe_kib = 8\nspares = 1\n");
    let mut job = job(&array, "synth:random,requests=3k,write=0.7,size=4KiB:0.7/16KiB:0.3,depth=8", &[]);
    (job.verify, job.fail) = (true, vec!["member:1@40%,replace_after=20ms".to_owned()]);
    let run = summary(&job);
    assert_eq!(figure(&run, "integrity.wrong_reads") + figure(&run, "integrity.lost_pages"), 0.0);
    assert!(figure(&run, "write_amplification.empty") > 0.0, "{}", run["write_amplification"]);
    assert!(figure(&run, "operations.program.rebuild") > 0.0, "{}", run["operations"]);
}

/// Victims, separation, wear levelling: each collects, and nothing is read wrong.
#[test]
fn every_policy_collects() {
    let trace = "synth:zipf,requests=12k,write=0.9,size=4KiB,theta=0.9,depth=6";
    for set in [
        &["ftl.gc.victim=\"fifo\""][..],
        &["ftl.gc.victim=\"cost-benefit\"", "ftl.gc.run=\"hold-channel\""],
        &["ftl.gc.victim=\"random\"", "flash.bus=\"operations\""],
        &["ftl.gc.victim=\"d-choices\"", "ftl.gc.soft_threshold=0.3"],
        &["ftl.gc.separate=true", "ftl.streams=2"],
        &["ftl.wear.levelling=\"both\"", "ftl.wear.erase_budget=300", "ftl.wear.migrate_below=1"],
        &["ftl.map=\"dftl\"", "ftl.cache_kib=0.25"],
        &["ftl.map=\"hybrid\""],
        &["ftl.map=\"block\""],
        &["flash.summary_page=true"],
        &["start.existing=\"all\"", "ftl.gc.background=false"],
        &["ageing.model=\"approach2\"", "ageing.aged_ratio=0.8", "ageing.valid_ratio=0.3"],
    ] {
        let run = run(trace, set);
        assert!(figure(&run, "wear.erases_total") > 50.0, "{set:?}: it collects");
        assert_eq!(figure(&run, "integrity.lost_pages"), 0.0, "{set:?}");
    }
}

// ---------------------------------------------------------------- everything at once

/// A small drive; each list has the possible values of a key.
fn ways() -> impl Strategy<Value = Vec<String>> {
    let lists: &[(&str, &[&str])] = &[
        ("ftl.logical_page_kib", &["0", "2", "1", "0.5"]),
        ("flash.pages_per_program", &["1", "2", "4"]),
        ("ftl.map", &["page", "page", "page", "dftl", "block", "hybrid"]),
        ("ftl.pool", &["plane", "plane", "element", "gang"]),
        ("ftl.allocation", &["dynamic", "dynamic-in-channel", "CWDP", "WP"]),
        ("ftl.partial_writes", &["merge", "whole"]),
        ("ftl.wear.levelling", &["none", "rate-limit", "migration", "both"]),
        ("ftl.gc.run", &["steps", "hold-channel"]),
        ("ftl.gc.background", &["true", "false"]),
        ("ftl.gc.soft_threshold", &["", "", "0.6"]),
        ("ftl.gc.separate", &["false", "true"]),
        ("flash.busy_unit", &["chip", "die"]),
        ("flash.bus", &["transfers", "operations", "rounds"]),
        ("ftl.gc.copyback", &["off", "on", "parity", "parity-skip"]),
        ("flash.scheduler", &["fifo", "reads-first", "ssdsim"]),
        ("flash.summary_page", &["false", "true"]),
        ("flash.control_gang", &["1", "1", "2"]),
        ("flash.commands.multi_plane", &["off", "match", "skip"]),
        ("flash.commands.cache_program", &["false", "false", "true"]),
        ("flash.commands.cache_read", &["false", "false", "true"]),
        ("ftl.gather_us", &["0", "0", "100", "2000"]),
        ("flash.dies_per_chip", &["1", "2"]),
        ("flash.planes_per_die", &["1", "2"]),
        ("flash.acknowledge", &["program", "transfer"]),
        ("buffer.dram_mib", &["0", "0.03125"]),
        ("host.order", &["arrival", "c-look"]),
        ("host.queue_depth", &["4", "20"]),
        ("start.existing", &["all", "all", "reads", "none"]),
        ("ftl.wear.erase_budget", &["4", "9", "10000"]),
    ];
    picked(lists)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// For every drive and failure the run ends, reads return the data written last or are reported as lost, and no
    /// request is forgotten.
    #[test]
    fn no_page_is_read_wrong(
        seed in 0u64..10_000,
        set in ways(),
        scheme in prop::sample::select(for_drives().map(|entry| entry.name).chain(["none"; 8]).collect::<Vec<_>>()),
        pages in prop::sample::select(vec![4u32, 8]),
        pace in prop::sample::select(vec!["depth=1", "depth=9", "rate=3k", "rate=30k"]),
        fails in prop::sample::select(vec!["", "", "channel:1@40%", "block:0.0.0.0.3@30%", "page:2.0.0.0.5.3@20%", "power@50%"]),
        untimed in prop::bool::weighted(0.2),
    ) {
        let drive = format!(
            "[flash]\nchannels = 6\nchips_per_channel = 1\nblocks_per_plane = 64\npages_per_block = {pages}\n\
             page_kib = 4\n[ftl]\nover_provisioning = 9\nwear.migrate_below = 1\n\
             [redundancy]\nscheme = \"{scheme}\"\nshadow = 0.2\nnvram_mib = 0.0625\nnarrowest = 4\n",
        );
        // What the packing is about stays as long as anything else is named.
        let set = accepted(&drive, set, 1);
        let asked = 6_000;
        let trace = format!(
            "synth:random,requests={asked},write=0.8,size=4KiB:0.5/1KiB:0.2/12KiB:0.2/512:0.1,align=512,{pace}"
        );
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let other_map = set.iter().any(|key| key.starts_with("ftl.map=") && !key.contains("page"));
        let mut job = job(&drive, &trace, &set);
        (job.seed, job.verify, job.untimed) = (Some(seed), true, untimed);
        let lasts = set.contains(&"ftl.wear.erase_budget=10000");
        if !(fails.is_empty() || other_map || untimed || fails.starts_with("power") && !lasts) {
            job.fail = vec![fails.to_owned()];
        }
        let outcome = done(&job);
        let run = &outcome.summary;
        let of = |key: &str| figure(run, key);
        prop_assert_eq!(of("integrity.wrong_reads"), 0.0);
        let interrupted = run["integrity"]["interrupted_requests"].as_f64().unwrap_or(0.0);
        prop_assert!(of("workload.requests") + of("wear.refused_requests") >= f64::from(asked) - interrupted);
        let unhurt = job.fail.is_empty() && of("wear.expired_blocks") == 0.0;
        prop_assert!(!unhurt || of("integrity.lost_pages") == 0.0);
        if !run["packing"].is_null() {
            let programs = run["operations"]["program"].as_object().expect("by cause").values();
            let pages: f64 = programs.filter_map(Value::as_f64).sum();
            let places = match run["packing"]["word_lines"].as_f64() {
                Some(word_lines) => word_lines * run["drive"]["flash"]["pages_per_program"].as_f64().unwrap_or(1.0),
                None => of("packing.flash_pages.program"),
            };
            let places = places * of("packing.places");
            prop_assert!(places >= pages + of("packing.empty_places"), "{places} for {pages}");
        }
    }
}
