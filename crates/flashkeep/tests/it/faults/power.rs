//! Power cuts through jobs: reported figures, costs of the recovery, and that no durable page is lost.

use crate::common::{check_sums_of_phases, figure, file, job, summary};
use flashkeep::job::Job;
use flashkeep::run;
use flashkeep::schemes::{Members, for_drives, named};
use serde_json::Value;
use std::ops::ControlFlow;

/// Six channels of one chip with two dies; the scheme's options are the examples that it gives.
fn drive(scheme: &str) -> String {
    let examples = named(scheme).expect("a scheme of the table").examples(false);
    let options: String = examples.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    format!(
        "[flash]\nchannels = 6\nchips_per_channel = 1\ndies_per_chip = 2\nplanes_per_die = 1\n\
         blocks_per_plane = 16\npages_per_block = 8\npage_kib = 4\n[ftl]\nover_provisioning = 0.6\n\
         [redundancy]\nscheme = \"{scheme}\"\n{options}"
    )
}

const RANDOM: &str = "synth:random,requests=1500,write=0.7,size=4KiB:0.7/12KiB:0.2/512:0.1,align=512,rate=4k";

fn cut(scheme: &str, fail: &[&str], more: &[&str]) -> Job {
    let mut set = vec!["start.existing=\"all\""];
    set.extend(more);
    let mut job = job(&drive(scheme), RANDOM, &set);
    (job.fail, job.verify) = (fail.iter().map(|&event| event.to_owned()).collect(), true);
    job
}

fn integrity(run: &Value, key: &str) -> f64 {
    figure(run, &format!("integrity.{key}"))
}

#[test]
fn nothing_durable_is_lost_by_any_scheme() {
    for entry in for_drives() {
        let (early, dram) = (["flash.acknowledge=\"transfer\""], ["buffer.dram_mib=0.0625"]);
        let flushed = [dram[0], "buffer.flush=\"watermark\""];
        for more in [&[][..], &early, &dram, &flushed] {
            let run = summary(&cut(entry.name, &["power@300req", "power@50%", "power@0.2501s"], more));
            assert_eq!(integrity(&run, "power_cuts"), 3.0, "{} {more:?}", entry.name);
            assert_eq!(integrity(&run, "lost_pages"), 0.0, "{} {more:?}", entry.name);
            assert_eq!(integrity(&run, "wrong_reads"), 0.0, "{} {more:?}", entry.name);
            let volatile = integrity(&run, "volatile_pages_lost");
            if more.is_empty() {
                assert_eq!(volatile, 0.0, "{}: what is acknowledged is durable", entry.name);
            } else if more[0].starts_with("buffer") {
                assert!(volatile > 0.0, "{}: the DRAM had something", entry.name);
            }
            let answered = run["response_us"]["all"]["count"].as_f64().expect("a number");
            assert_eq!(answered + integrity(&run, "interrupted_requests"), 1500.0, "{}", entry.name);
        }
    }
}

/// With a member gone and pages that were never written, what an interrupted write was to bring is neither there nor
/// owed: no read takes it for either.
#[test]
fn first_writes_that_a_cut_interrupts_without_a_member_are_not_there() {
    let redundant = for_drives().filter(|entry| !entry.plain && entry.kind != Members::Physical);
    for scheme in redundant.map(|entry| entry.name) {
        for existing in ["none", "reads"] {
            for seed in 1..=3 {
                let more = format!("start.existing=\"{existing}\"");
                let mut job = cut(scheme, &["channel:0@30%", "power@70%"], &[&more]);
                job.traces =
                    vec!["synth:random,requests=400,write=0.7,size=4KiB,footprint=1MiB,rate=20k".into()];
                job.seed = Some(seed);
                let run = summary(&job);
                assert!(integrity(&run, "interrupted_requests") > 0.0);
                assert_eq!(integrity(&run, "wrong_reads"), 0.0, "{scheme} {existing} {seed}");
            }
        }
    }
}

#[test]
fn a_cut_run_is_the_same_every_time() {
    for entry in for_drives() {
        let digest = || {
            let job = cut(entry.name, &["power@40%", "chip:1.0@60%,replace_after=20ms", "power@61%"], &[]);
            summary(&job)["digest"].clone()
        };
        assert_eq!(digest(), digest(), "{}", entry.name);
    }
}

/// One die: every page is a read, one after the other; with summaries, a full block is one.
#[test]
fn recovery_takes_a_read_a_page_or_a_summary() {
    recovery_takes("false", 162.0);
    recovery_takes("true", 12.0);
}

fn recovery_takes(summaries: &str, reads: f64) {
    let text = "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
                blocks_per_plane = 64\npages_per_block = 16\npage_kib = 4\n\
                [flash.timing]\nread_us = 50.0\nprogram_us = 500.0\nbus_ns_per_byte = 10.0\n";
    let workload = "synth:sequential,requests=163,write=1,size=4KiB,footprint=2MiB,rate=100";
    let mut job =
        job(text, workload, &["start.existing=\"none\"", &format!("flash.summary_page={summaries}")]);
    // When the 163rd comes, 162 have been written: 10 blocks, and 2 pages.
    job.fail = vec!["power@162req".to_owned()];
    let run = summary(&job);
    assert_eq!(integrity(&run, "recovery_reads"), reads);
    assert_eq!(figure(&run, "operations.read.metadata"), reads);
    let timing = &run["drive"]["flash"]["timing"];
    let command = timing["command_us"].as_f64().unwrap_or(0.0);
    let one = command + 50.0 + 40.96;
    let recovery = run["integrity"]["recovery_us"][0].as_f64().expect("a number");
    assert!((recovery - reads * one).abs() < reads, "{recovery} µs for {reads} reads of {one} µs");
    let phases: Vec<_> =
        run["phases"].as_array().expect("a list").iter().map(|phase| &phase["phase"]).collect();
    assert_eq!(phases, ["before", "recovering", "after"]);
    let phase = &run["phases"][1];
    let took = phase["until_s"].as_f64().unwrap_or(0.0) - phase["from_s"].as_f64().unwrap_or(0.0);
    assert!((took * 1e6 - recovery).abs() < 0.01, "the phase is the recovery");
}

/// Scrubbing continues after the last request: the phases have it, and so have the totals.
#[test]
fn phases_around_a_power_loss_add_up() {
    let small = ["flash.channels=2", "flash.chips_per_channel=1", "flash.blocks_per_plane=10"];
    let small = [&small[..], &["flash.pages_per_block=12", "ftl.over_provisioning=0.8"]].concat();
    let scrubbed = ["errors.model=\"kim\"", "errors.maintenance.scrub_days=1e-6", "flash.slc.blocks=1"];
    let mut job = job("tlc-client", "", &[&small[..], &scrubbed, &["buffer.dram_mib=0.9375"]].concat());
    job.traces = vec![file("trim.csv", "time_ns,device,op,offset_B,size_B\n13879021,0,T,53248,8192\n")];
    job.fail = vec!["power@5215us".to_owned()];
    job.verify = true;
    let run = summary(&job);
    assert!(figure(&run, "operations.read.scrub") > 0.0, "the run scrubs");
    check_sums_of_phases(&run, "a power loss");
}

/// The 3rd page has its parity when the power fails, and is torn itself: its die wrote the 1st page before. The recovery
/// reads both of that die's pages, and then rewrites the page from the parity. The host waits for that.
#[test]
fn what_only_a_stripe_has_is_restored_before_the_host_is_served() {
    let text = "[flash]\nchannels = 3\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
                blocks_per_plane = 64\npages_per_block = 16\npage_kib = 4\n\
                [flash.timing]\nread_us = 50.0\nprogram_us = 500.0\nbus_ns_per_byte = 10.0\n\
                [redundancy]\nscheme = \"raid5\"\nacross = \"channel\"\n";
    let trace = "0 0 0 8 0\n0 0 16 8 0\n1000000 0 0 8 1\n";
    let run = |fail: &[&str], set: &[&str]| {
        let mut job = job(text, trace, &[set, &["start.existing=\"none\""]].concat());
        job.verify = true;
        job.fail = fail.iter().map(|&event| event.to_owned()).collect();
        summary(&job)
    };
    let (read, program) = (50.0 + 40.96, 40.96 + 500.0);
    let took = |run: &Value, cut: usize| run["integrity"]["recovery_us"][cut].as_f64().expect("a number");
    let is = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
    for set in [&[][..], &["redundancy.rebuild_share=0.1"]] {
        let once = run(&["power@800us"], set);
        is(took(&once, 0), 2.0 * read + read + program);
        is(figure(&once, "response_us.read.max"), 800.0 + took(&once, 0) - 1000.0 + read);
        is(figure(&once, "operations.read.rebuild"), 1.0);
        is(figure(&once, "operations.program.rebuild"), 1.0);
        assert_eq!((integrity(&once, "wrong_reads"), integrity(&once, "lost_pages")), (0.0, 0.0));
        let phases = once["phases"].as_array().expect("a list");
        let names: Vec<_> = phases.iter().map(|phase| &phase["phase"]).collect();
        assert_eq!(names, ["before", "recovering", "after"]);
        is(figure(&phases[1], "operations.program.rebuild"), 1.0);
    }
    // The power fails again while the page is rewritten: that page is torn as well, and is read in vain.
    let twice = run(&["power@800us", "power@1200us"], &[]);
    is(took(&twice, 1), 3.0 * read + read + program);
    is(figure(&twice, "operations.program.rebuild"), 2.0);
    assert_eq!((integrity(&twice, "wrong_reads"), integrity(&twice, "lost_pages")), (0.0, 0.0));
}

#[test]
fn a_cut_during_the_recovery_begins_it_anew() {
    let once = summary(&cut("raid5", &["power@0.2s"], &[]));
    let took = once["integrity"]["recovery_us"][0].as_f64().expect("a number");
    let again = format!("power@{}ns", (0.2e9 + took * 1e3 / 2.0) as u64);
    let twice = summary(&cut("raid5", &["power@0.2s", &again], &[]));
    let recoveries = twice["integrity"]["recovery_us"].as_array().expect("a list");
    assert_eq!(recoveries.len(), 2);
    assert!((recoveries[1].as_f64().expect("a number") - took).abs() < 1.0, "{recoveries:?}");
    assert_eq!(integrity(&twice, "lost_pages"), 0.0);
    assert_eq!(integrity(&once, "interrupted_requests"), integrity(&twice, "interrupted_requests"));
}

/// More units at once find their part of the map side by side.
#[test]
fn units_recover_side_by_side() {
    let recovery = |channels: u32| {
        let text = drive("none").replace("channels = 6", &format!("channels = {channels}"));
        let mut job =
            job(&text, "synth:random,requests=400,write=1,size=4KiB,rate=1k", &["start.existing=\"all\""]);
        job.fail = vec!["power@0.3s".to_owned()];
        summary(&job)["integrity"]["recovery_us"][0].as_f64().expect("a number")
    };
    let (few, many) = (recovery(2), recovery(6));
    assert!(many < 1.2 * few, "three times the flash, and no longer for that: {few} and {many}");
}

/// A map that has kept what it knew needs no scan, and is written with every program.
#[test]
fn a_map_in_memory_that_keeps_it_is_there_at_once_and_costs_a_write_each_time() {
    let text = "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
                blocks_per_plane = 64\npages_per_block = 16\npage_kib = 4\n";
    let workload = "synth:sequential,requests=163,write=1,size=4KiB,footprint=2MiB,rate=100";
    let of = |more: &[&str]| {
        let mut set = vec!["start.existing=\"none\""];
        set.extend(more);
        let mut job = job(text, workload, &set);
        job.fail = vec!["power@162req".to_owned()];
        let run = summary(&job);
        let recovery = run["integrity"]["recovery_us"][0].as_f64().expect("a number");
        assert_eq!(integrity(&run, "lost_pages"), 0.0, "{more:?}");
        (integrity(&run, "recovery_reads"), recovery, figure(&run, "response_us.write.min"))
    };
    let (reads, recovery, write) = of(&[]);
    assert!(reads == 162.0 && recovery > 0.0);
    for (more, added) in [
        (&["ftl.map_memory=\"mram\""][..], 0.035),
        (&["ftl.map_memory=\"pcm\""], 0.15),
        (&["ftl.map_memory=\"pcm\"", "ftl.map_write_us=2"], 2.0),
    ] {
        let (reads, recovery, slower) = of(more);
        assert_eq!((reads, recovery), (0.0, 0.0), "{more:?}");
        assert!((slower - write - added).abs() < 1e-6, "{more:?}: {write} and {slower} µs");
    }
}

/// Keys that change where pages go, when they end and what comes first.
const WAYS: [&[&str]; 28] = [
    &["ftl.wear.levelling=\"both\"", "ftl.gc.separate=true"],
    &["ftl.allocation=\"dynamic-in-chip\"", "flash.busy_unit=\"die\""],
    &["flash.summary_page=true", "flash.commands.cache_program=true"],
    &["flash.summary_page=true", "ftl.gc.copyback=\"parity-skip\""],
    &["ftl.logical_page_kib=1", "flash.busy_unit=\"chip\"", "ftl.plane_choice=\"same\""],
    &["ftl.logical_page_kib=8", "buffer.dram_mib=0.0625", "host.order=\"c-look\""],
    &["host.link_us_per_sector=1.5"],
    &["host.link_us_per_sector=20", "flash.acknowledge=\"transfer\""],
    &["ftl.wear.erase_budget=200", "ftl.wear.levelling=\"both\"", "ftl.wear.migrate_below=1"],
    &["flash.busy_unit=\"chip\"", "ftl.plane_choice=\"same\""],
    &["flash.busy_unit=\"chip\"", "ftl.pool=\"element\""],
    &["flash.bus=\"rounds\"", "ftl.gc.run=\"hold-channel\""],
    &["flash.bus=\"rounds\"", "flash.control_gang=2", "flash.commands.multi_plane=\"match\""],
    &["flash.control_gang=2", "ftl.map=\"dftl\"", "ftl.cache_kib=0.25", "ftl.map_memory=\"mram\""],
    &["flash.bus=\"rounds\"", "ftl.logical_page_kib=1", "ftl.gc.copyback=\"parity\""],
    &["ftl.map=\"hybrid\"", "ftl.map_memory=\"pcm\"", "flash.bus=\"rounds\""],
    &["ftl.map=\"dftl\"", "ftl.cache_kib=0.25"],
    &["ftl.map=\"dftl\"", "ftl.cache_kib=0.25", "ftl.gc.run=\"hold-channel\""],
    &["ftl.map=\"block\""],
    &["ftl.map=\"hybrid\""],
    &["ftl.map=\"hybrid\"", "ftl.log_blocks=2", "flash.acknowledge=\"transfer\"", "host.order=\"c-look\""],
    &["ftl.map_memory=\"mram\""],
    &["ftl.map_memory=\"pcm\"", "ftl.map_write_us=20", "flash.acknowledge=\"transfer\""],
    &["ftl.plane_choice=\"most-free\""],
    &["ftl.logical_page_kib=8"],
    &["ftl.logical_page_kib=1"],
    &["host.order=\"c-look\""],
    &[
        "start.existing=\"reads\"",
        "ageing.model=\"basic\"",
        "ageing.aged_ratio=0.3",
        "ageing.valid_ratio=0.1",
    ],
];

#[test]
fn nothing_durable_is_lost_whatever_else_is_asked_of_the_drive() {
    for scheme in ["none", "mirror", "raid5"] {
        for more in WAYS {
            let run = summary(&cut(scheme, &["power@300req", "power@50%", "power@0.2501s"], more));
            assert_eq!(integrity(&run, "power_cuts"), 3.0, "{scheme} {more:?}");
            assert_eq!(integrity(&run, "lost_pages"), 0.0, "{scheme} {more:?}");
            assert_eq!(integrity(&run, "wrong_reads"), 0.0, "{scheme} {more:?}");
            let answered = run["response_us"]["all"]["count"].as_f64().expect("a number");
            assert_eq!(answered + integrity(&run, "interrupted_requests"), 1500.0, "{scheme} {more:?}");
            if more.iter().any(|key| key.starts_with("ftl.wear.migrate_below")) {
                assert!(figure(&run, "operations.program.migrate") > 0.0, "{scheme}: cold data are moved");
            }
        }
    }
}

/// Cuts are clean in untimed runs, too, and in runs of drives that were conditioned, or aged before and saved.
#[test]
fn nothing_durable_is_lost_of_drives_that_are_not_new_or_take_no_time() {
    let maps = [&["ftl.map=\"dftl\""][..], &["ftl.map=\"block\""], &["ftl.map=\"hybrid\""]];
    let pages = &["ftl.logical_page_kib=1"][..];
    let schemes = for_drives().map(|entry| (entry.name, &[][..]));
    let ways = [maps[0], maps[1], maps[2], pages].map(|more| ("none", more));
    for (scheme, more) in schemes.chain(ways) {
        let fail = ["power@300req", "power@50%", "power@1400req"];
        let new = cut(scheme, &fail, more);
        let path = crate::common::output("cut.aged");
        let age = Job { fail: vec![], traces: vec![], save_aged: Some(path.clone()), ..new.clone() };
        summary(&age);
        let jobs = [
            Job { untimed: true, ..new.clone() },
            Job { condition: true, ..new.clone() },
            Job { untimed: true, condition: true, ..new.clone() },
            Job { aged: Some(path.clone()), ..new.clone() },
            Job { aged: Some(path), untimed: true, ..new },
        ];
        for (way, job) in jobs.iter().enumerate() {
            let run = summary(job);
            assert_eq!(integrity(&run, "power_cuts"), 3.0, "{scheme} {more:?} {way}");
            assert_eq!(integrity(&run, "lost_pages"), 0.0, "{scheme} {more:?} {way}");
            assert_eq!(integrity(&run, "wrong_reads"), 0.0, "{scheme} {more:?} {way}");
            assert!(integrity(&run, "recovery_reads") > 0.0, "{scheme} {more:?} {way}");
        }
    }
}

/// 8 sectors take 8 ms over the link: a write's before they go to flash, a read's after they have come from there.
#[test]
fn what_crosses_the_link_is_cut_off() {
    let text = "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
                blocks_per_plane = 16\npages_per_block = 16\npage_kib = 4\n";
    for (request, at, [answered, programs]) in [
        ("0 0 0 8 0\n", "power@4ms", [0.0, 0.0]),
        ("0 0 0 8 0\n", "power@8.1ms", [0.0, 1.0]),
        ("0 0 0 8 0\n12000000 0 8 8 0\n", "power@9ms", [2.0, 2.0]),
        ("0 0 0 8 1\n", "power@4ms", [0.0, 0.0]),
        ("0 0 0 8 1\n12000000 0 8 8 1\n", "power@9ms", [2.0, 0.0]),
    ] {
        let mut job = job(text, request, &["start.existing=\"all\"", "host.link_us_per_sector=1000"]);
        (job.fail, job.verify) = (vec![at.to_owned()], true);
        let run = summary(&job);
        let requests = request.lines().count() as f64;
        let counted = run.pointer("/response_us/all/count").and_then(Value::as_f64);
        assert_eq!(counted.unwrap_or(0.0), answered, "{request}{at}");
        assert_eq!(integrity(&run, "interrupted_requests"), requests - answered, "{request}{at}");
        assert_eq!(
            integrity(&run, "lost_pages") + integrity(&run, "volatile_pages_lost"),
            0.0,
            "{request}{at}"
        );
        assert_eq!(figure(&run, "operations.program.host"), programs, "{request}{at}");
    }
}

/// Entries that the cache had not given back are found, and written after the writes that follow.
#[test]
fn a_map_in_flash_is_brought_up_to_date_after_a_cut() {
    let text = "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 2\n\
                blocks_per_plane = 256\npages_per_block = 32\npage_kib = 4\n";
    // Every fourth page of 8,192 or so, once: no collection, and room for every entry.
    let writes =
        |n: u64| (0..n).map(|n| format!("{} 0 {} 8 0\n", n * 1_000_000, n % 1500 * 32)).collect::<String>();
    let of = |fail: &[&str]| {
        let mut job = job(
            text,
            &writes(1510),
            &["start.existing=\"none\"", "ftl.map=\"dftl\"", "ftl.cache_start=\"cold\""],
        );
        (job.fail, job.verify) = (fail.iter().map(|&event| event.to_owned()).collect(), true);
        let run = summary(&job);
        assert_eq!(integrity(&run, "lost_pages"), 0.0);
        ["operations.program.metadata", "mapping.moved_updates", "mapping.misses"]
            .map(|key| figure(&run, key))
    };
    assert_eq!(of(&[]), [0.0, 0.0, 1500.0]);
    // Six translation pages of 1,024 entries; the ten writes after the cut miss once more.
    assert_eq!(of(&["power@1500req"]), [6.0, 6.0, 1510.0]);
}

/// One die: every page that has been programmed is a read, in every map, and one that was being programmed is
/// none of them. What the cut has left is done with the next write in the plane.
#[test]
fn a_map_of_blocks_is_found_again_by_a_scan() {
    let text = "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
                blocks_per_plane = 16\npages_per_block = 8\npage_kib = 4\n[flash.timing]\nprogram_us = 500.0\n\
                [ftl]\nover_provisioning = 0.5\n";
    // Eight pages fill a block; page 3 again, which is copied after pages 0 to 2 of it, or goes to a log; once more.
    let writes = |pages: &[u64]| -> String {
        (0..).zip(pages).map(|(n, page)| format!("{} 0 {} 8 0\n", n * 20_000_000_u64, page * 8)).collect()
    };
    let all = [0, 1, 2, 3, 4, 5, 6, 7, 3, 9];
    let of = |map: &str, fail: &str| {
        let more = format!("ftl.map=\"{map}\"");
        let mut job = job(text, &writes(&all), &["start.existing=\"none\"", &more]);
        (job.fail, job.verify) = (vec![fail.to_owned()], true);
        let run = summary(&job);
        assert_eq!(
            (integrity(&run, "lost_pages"), integrity(&run, "wrong_reads")),
            (0.0, 0.0),
            "{map} {fail}"
        );
        let merges = ["mapping.full_merges", "operations.erase.gc"].map(|key| figure(&run, key));
        (integrity(&run, "recovery_reads"), integrity(&run, "interrupted_requests"), merges)
    };
    // 8 pages, and 4 in the replacement. It stays one.
    assert_eq!(of("block", "power@9req"), (12.0, 0.0, [0.0, 0.0]));
    // 8 pages, and 1 in the log.
    assert_eq!(of("hybrid", "power@9req"), (9.0, 0.0, [0.0, 0.0]));
    // The fourth page of the replacement is torn: it is thrown away, since it has copies only. The log is, too.
    assert_eq!(of("block", "power@162ms"), (12.0, 1.0, [0.0, 1.0]));
    assert_eq!(of("hybrid", "power@160.3ms"), (9.0, 1.0, [0.0, 1.0]));
}

#[test]
fn every_map_may_be_in_a_memory_that_keeps_it() {
    for map in ["dftl", "block", "hybrid"] {
        let of = |memory: &str| {
            let set = [
                format!("ftl.map=\"{map}\""),
                "ftl.cache_kib=16".into(),
                format!("ftl.map_memory=\"{memory}\""),
            ];
            let found = summary(&cut("none", &["power@50%"], &set.each_ref().map(String::as_str)));
            assert_eq!(integrity(&found, "lost_pages"), 0.0, "{map}");
            (integrity(&found, "recovery_reads"), figure(&found, "mapping.misses"))
        };
        let ((reads, misses), (none, fewer)) = (of("dram"), of("mram"));
        assert!(reads > 0.0 && none == 0.0, "{map}: {reads} and {none} pages read");
        assert!(map != "dftl" || fewer < misses, "the cache stays: {misses} and {fewer} misses");
    }
}

#[test]
fn a_map_in_flash_goes_on_after_failures() {
    let failed = cut("none", &["power@50%", "block:0.0.0.0.1@60%"], &["ftl.map=\"dftl\""]);
    assert!(run(&failed, &mut |_| ControlFlow::Continue(())).is_ok());
}
