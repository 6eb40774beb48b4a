//! Costs of a page map in flash, a block map and a log-block map, by closed forms and worked examples.

use crate::common::{figure, job, summary};
use flashkeep::config::load_text;
use proptest::prelude::*;
use serde_json::Value;

/// `planes` planes on one channel, of `blocks` blocks of 8 pages of 4 KiB.
fn small(planes: u32, blocks: u32, spare: f64) -> String {
    format!(
        "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = {planes}\n\
         blocks_per_plane = {blocks}\npages_per_block = 8\npage_kib = 4\n[ftl]\nover_provisioning = {spare}\n"
    )
}

fn run(drive: &str, trace: &str, set: &[&str]) -> Value {
    let mut job = job(drive, trace, set);
    job.verify = true;
    let run = summary(&job);
    assert_eq!(figure(&run, "integrity.wrong_reads"), 0.0);
    assert_eq!(figure(&run, "integrity.lost_pages"), 0.0);
    run
}

/// A write of this many pages at each page, a second apart: SSDSim lines.
fn writes(at: &[(u32, u32)]) -> String {
    let lines = at.iter().enumerate();
    lines
        .map(|(n, &(page, pages))| format!("{} 0 {} {} 0\n", n as u64 * 1_000_000_000, page * 8, pages * 8))
        .collect()
}

/// Operations of a kind and cause.
fn count(run: &Value, of: &str) -> f64 {
    figure(run, &format!("operations.{of}"))
}

#[test]
fn with_room_for_every_entry_a_map_in_flash_costs_nothing() {
    // Nothing exists before: a translation page that was never written need not be read.
    let trace = "synth:random,requests=6k,write=0.7,size=4KiB:0.6/12KiB:0.4,rate=400";
    let run_with = |map: &str| run(&small(2, 64, 0.3), trace, &["start.existing=\"none\"", map, COLD]);
    let (page, dftl) = (run_with("ftl.map=\"page\""), run_with("ftl.map=\"dftl\""));
    assert!(count(&page, "erase.gc") > 100.0, "collection runs");
    for same in ["operations", "response_us", "service_us", "wear", "utilization"] {
        assert_eq!(page[same], dftl[same], "{same}");
    }
    assert!(figure(&dftl, "mapping.misses") > 0.0 && page.get("mapping").is_none());
}

/// Nothing in the cache at time 0.
const COLD: &str = "ftl.cache_start=cold";

/// A drive of 16,384 pages or so, and what of its entries fit a cache of some KiB.
const LARGE: &str = "[flash]\nchannels = 2\nchips_per_channel = 2\ndies_per_chip = 1\nplanes_per_die = 1\n\
                     blocks_per_plane = 80\npages_per_block = 64\npage_kib = 4\n[ftl]\nover_provisioning = 0.25\n\
                     map = \"dftl\"\n[start]\nexisting = \"all\"\n";
const LARGE_PAGES: f64 = 16_384.0;

fn warm(trace: &str, cache_kib: f64) -> Value {
    let mut job = job(LARGE, trace, &[&format!("ftl.cache_kib={cache_kib}")]);
    job.warmup = Some("50%".into());
    summary(&job)
}

#[test]
fn uniform_reads_miss_what_does_not_fit_the_cache() {
    let mut rates = Vec::new();
    for share in [0.1, 0.25, 0.6] {
        let kib = share * LARGE_PAGES * 8.0 / 1024.0;
        let run = warm("synth:random,requests=120k,write=0,size=4KiB,depth=4", kib);
        let missed = figure(&run, "mapping.miss_rate");
        assert!((missed - (1.0 - share)).abs() < 0.01, "{missed} with {share} of the entries");
        // Each miss is one read of a translation page; the entry given up has not changed.
        // (Four are under way when counting begins.)
        let reads = count(&run, "read.metadata");
        assert!((reads - figure(&run, "mapping.misses")).abs() <= 4.0, "{reads} of {}", run["mapping"]);
        assert_eq!(count(&run, "program.metadata"), 0.0);
        rates.push(missed);
    }
    // Where some pages are asked for more often than others, fewer misses do.
    let kib = 0.1 * LARGE_PAGES * 8.0 / 1024.0;
    let zipf = warm("synth:zipf,requests=120k,write=0,size=4KiB,depth=4,theta=0.99", kib);
    assert!(figure(&zipf, "mapping.miss_rate") < 0.6 * rates[0], "{}", zipf["mapping"]);
}

#[test]
fn an_entry_that_has_changed_is_written_with_its_neighbours() {
    // A cache of four entries; a translation page has those of 1,024 pages. All have been written before.
    let set = ["ftl.map=\"dftl\"", "ftl.cache_kib=0.03125", "start.existing=\"all\"", COLD];
    let drive = small(4, 128, 0.3);
    let at =
        |pages: &[u32]| run(&drive, &writes(&pages.iter().map(|&page| (page, 1)).collect::<Vec<_>>()), &set);
    let four = at(&[0, 1, 1024, 1025]);
    assert_eq!((count(&four, "read.metadata"), count(&four, "program.metadata")), (4.0, 0.0));
    // The oldest is given up: its translation page is read and programmed, with the one beside it.
    let five = at(&[0, 1, 1024, 1025, 2048]);
    assert_eq!((count(&five, "read.metadata"), count(&five, "program.metadata")), (6.0, 1.0));
    let (read, program) = (25.0 + 12.288, 200.0 + 12.288);
    let slowest = figure(&five, "response_us.write.max");
    assert!((slowest - (read + program + read + program)).abs() < 1e-9, "{slowest}");
    // So that one costs no write any more.
    let six = at(&[0, 1, 1024, 1025, 2048, 2049]);
    assert_eq!((count(&six, "read.metadata"), count(&six, "program.metadata")), (7.0, 1.0));
    assert_eq!((figure(&six, "mapping.evictions"), figure(&six, "mapping.write_backs")), (2.0, 1.0));
    // Entries that are asked for again stay: a hit costs nothing, and the page beside it goes instead.
    let hit = at(&[0, 1, 1024, 1025, 0, 2048, 0]);
    assert_eq!((figure(&hit, "mapping.hits"), count(&hit, "read.metadata")), (2.0, 6.0));
}

#[test]
fn collection_writes_the_entries_of_what_it_moves() {
    let run = warm("synth:random,requests=40k,write=1,size=4KiB,depth=2", 4.0);
    let (backs, moved) = (figure(&run, "mapping.write_backs"), figure(&run, "mapping.moved_updates"));
    assert!(moved > 10_000.0 && count(&run, "erase.gc") > 100.0, "{}", run["mapping"]);
    // Translation pages have blocks of their own: other programs are moves out of those, and they, like the
    // others, are erased as often as they are filled, but for those that are in use when counting begins and ends.
    let programs = count(&run, "program.metadata");
    let moves = programs - backs - moved;
    assert!(moves > -20.0 && moves < 0.25 * programs, "{moves} of {programs}: a few pages, always rewritten");
    for (kinds, cause) in [(&["metadata"][..], "metadata"), (&["host", "gc"], "gc")] {
        let filled: f64 = kinds.iter().map(|kind| count(&run, &format!("program.{kind}"))).sum();
        let erased = 64.0 * count(&run, &format!("erase.{cause}"));
        assert!((filled - erased).abs() < 64.0 * 4.0 * 4.0, "{cause}: {filled} programmed, {erased} erased");
    }
    assert_eq!(figure(&run, "write_amplification.metadata"), programs / 20_000.0);
    // Each write has one of them brought up to date, so however little a block yields the drive continues.
    assert!(moved <= 20_000.0, "{moved}");
}

// -------------------------------------------------------------------- blocks

#[test]
fn a_page_written_again_copies_the_rest_of_its_block() {
    let set = ["ftl.map=\"block\"", "start.existing=\"all\""];
    // The fourth page of a block of eight, N times: three pages are copied before each, four after each but the last.
    for n in [1_u32, 2, 9] {
        let run = run(&small(1, 16, 0.5), &writes(&vec![(8 + 3, 1); n as usize]), &set);
        let (moves, erases) = (f64::from(7 * n - 4), f64::from(n - 1));
        assert_eq!(count(&run, "read.gc"), moves);
        assert_eq!(count(&run, "program.gc"), moves);
        assert_eq!(count(&run, "erase.gc"), erases);
        assert_eq!(figure(&run, "mapping.full_merges"), erases);
    }
    // At random, with one replacement at a time: G − 1 moves and one erase for each.
    let set = ["ftl.map=\"block\"", "start.existing=\"all\"", "ftl.log_blocks=1"];
    let run = run(&small(2, 512, 0.3), "synth:random,requests=4k,write=1,size=4KiB,rate=40", &set);
    let (moves, erases) = (count(&run, "program.gc") / 4000.0, count(&run, "erase.gc") / 4000.0);
    assert!(
        (moves / 7.0 - 1.0).abs() < 0.01 && (erases - 1.0).abs() < 0.01,
        "{moves} moves, {erases} erases"
    );
}

#[test]
fn blocks_written_in_order_are_switched() {
    for map in ["block", "hybrid"] {
        let map = format!("ftl.map=\"{map}\"");
        let set = [map.as_str(), "start.existing=\"all\""];
        // 2 planes × 64 blocks × 8 pages with a half more than the data: 682 pages, of which 85 blocks are full.
        let size = if map.contains("block") { 32 } else { 4 };
        let trace = format!("synth:sequential,requests={},write=1,size={size}KiB,depth=1", 80 * 32 / size);
        let run = run(&small(2, 64, 0.5), &trace, &set);
        assert_eq!((count(&run, "read.gc"), count(&run, "program.host")), (0.0, 640.0), "{map}");
        assert_eq!((figure(&run, "mapping.switch_merges"), count(&run, "erase.gc")), (80.0, 80.0), "{map}");
    }
}

#[test]
fn more_replacements_wait_for_what_follows() {
    // Four blocks written in turn, page after page: with four replacements nothing is copied.
    let pages: Vec<_> = (0..8).flat_map(|offset| (0..4).map(move |block| (block * 8 + offset, 1))).collect();
    let with = |logs: u32| {
        let logs = format!("ftl.log_blocks={logs}");
        run(&small(1, 32, 0.5), &writes(&pages), &["ftl.map=\"block\"", "start.existing=\"all\"", &logs])
    };
    let (few, enough) = (with(3), with(4));
    assert_eq!((count(&enough, "program.gc"), count(&enough, "erase.gc")), (0.0, 4.0));
    assert!(count(&few, "program.gc") > 100.0 && count(&few, "erase.gc") > 25.0);
}

// -------------------------------------------------------------------- hybrid

#[test]
fn a_hybrid_switches_copies_the_rest_or_merges_in_full() {
    let drive = small(1, 64, 0.5);
    let with = |list: &[(u32, u32)], logs: u32| {
        let logs = format!("ftl.log_blocks={logs}");
        let run = run(&drive, &writes(list), &["ftl.map=\"hybrid\"", "start.existing=\"all\"", &logs]);
        let merges =
            ["switch", "partial", "full"].map(|kind| figure(&run, &format!("mapping.{kind}_merges")));
        (merges, count(&run, "program.gc"), count(&run, "erase.gc"))
    };
    // A block written in order takes the place of the old one.
    let mut list = vec![(0, 8)];
    assert_eq!(with(&list, 2), ([1.0, 0.0, 0.0], 0.0, 1.0));
    // Half of another, and then the beginning of a third: the other half of the second is copied.
    list.extend([(8, 4), (16, 1)]);
    assert_eq!(with(&list, 2), ([1.0, 1.0, 0.0], 4.0, 2.0));
    // Eight pages of eight blocks fill a log.
    list.extend((4..12).map(|block| (block * 8 + 1, 1)));
    assert_eq!(with(&list, 2), ([1.0, 1.0, 0.0], 4.0, 2.0));
    // While eight more fill the second, those are merged: eight copies and an erase each; then the log is erased.
    list.extend((12..20).map(|block| (block * 8 + 2, 1)));
    assert_eq!(with(&list, 2), ([1.0, 1.0, 8.0], 4.0 + 64.0, 2.0 + 8.0 + 1.0));
    // With another log there is no need.
    assert_eq!(with(&list, 3), ([1.0, 1.0, 0.0], 4.0, 2.0));
    // Pages of one block that are in both are merged at once; a log that holds nothing any more is only erased.
    let twice: Vec<_> = (1..5).chain(1..5).flat_map(|page| [(8 + page, 1), (16 + page, 1)]).collect();
    assert_eq!(with(&twice, 2), ([0.0, 0.0, 0.0], 0.0, 1.0));
}

#[test]
fn a_finer_map_answers_sooner() {
    let trace = "synth:random,requests=6k,write=0.7,size=4KiB,rate=60";
    let mean = |map: &str| {
        let map = format!("ftl.map=\"{map}\"");
        let run = run(&small(4, 128, 0.6), trace, &[&map, "start.existing=\"all\"", "ftl.cache_kib=4"]);
        figure(&run, "response_us.all.mean")
    };
    let means = ["page", "dftl", "hybrid", "block"].map(mean);
    assert!(means.windows(2).all(|two| two[0] * 1.05 < two[1]), "{means:?}");
}

// -------------------------------------------------------------------- everything at once

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Every read returns the data written last, with every map, under every scheme; twice the same.
    #[test]
    fn every_map_brings_what_was_written_last(
        seed in 0u64..10_000,
        map in prop::sample::select(vec!["dftl", "block", "hybrid"]),
        (cache, logs) in prop::sample::select(vec![("0.03125", 2), ("0.25", 3), ("64", 4)]),
        (channels, planes, pages) in (2u32..4, 1u32..3, prop::sample::select(vec![4u32, 7, 12])),
        scheme in prop::sample::select(vec!["none", "none", "mirror"]),
        acknowledge in prop::sample::select(vec!["transfer", "program"]),
        scheduler in prop::sample::select(vec!["reads-first", "fifo"]),
        run_gc in prop::sample::select(vec!["steps", "hold-channel"]),
        (existing, dram) in prop::sample::select(vec![("all", "0"), ("reads", "0"), ("none", "0.03125"), ("reads", "0.0625")]),
        depth in prop::sample::select(vec!["depth=1", "depth=9", "rate=200", "rate=3k"]),
        kind in prop::sample::select(vec!["random", "sequential"]),
    ) {
        let channels = if scheme == "mirror" { 2 } else { channels };
        let drive = format!(
            "[flash]\nchannels = {channels}\nchips_per_channel = 1\ndies_per_chip = 2\nplanes_per_die = {planes}\n\
             blocks_per_plane = 16\npages_per_block = {pages}\npage_kib = 4\n[ftl]\nover_provisioning = 0.8\n"
        );
        let trace = format!("synth:{kind},requests=700,write=0.7,size=512:0.2/4KiB:0.5/20KiB:0.3,align=512,{depth}");
        let mut set = vec![
            format!("ftl.map=\"{map}\""),
            format!("redundancy.scheme=\"{scheme}\""),
            format!("flash.acknowledge=\"{acknowledge}\""),
            format!("flash.scheduler=\"{scheduler}\""),
            format!("start.existing=\"{existing}\""),
            format!("buffer.dram_mib={dram}"),
        ];
        match map {
            "dftl" => set.extend([format!("ftl.cache_kib={cache}"), format!("ftl.gc.run=\"{run_gc}\"")]),
            _ => set.push(format!("ftl.log_blocks={logs}")),
        }
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let mut job = job(&drive, &trace, &set);
        (job.seed, job.verify) = (Some(seed), true);
        let first = summary(&job);
        prop_assert_eq!(figure(&first, "integrity.wrong_reads"), 0.0);
        prop_assert_eq!(figure(&first, "integrity.lost_pages"), 0.0);
        job.verify = false;
        let plain = summary(&job);
        prop_assert_eq!(&plain["response_us"], &first["response_us"]);
        prop_assert_eq!(&plain["operations"], &first["operations"]);
        prop_assert_eq!(&plain["mapping"], &first["mapping"]);
    }
}

// -------------------------------------------------------------------- what cannot be

#[test]
fn what_does_not_go_together_is_refused() {
    let refused = |set: &[&str]| {
        let set: Vec<String> = set.iter().map(|&pair| pair.to_owned()).collect();
        let error = load_text("a.toml", LARGE, &set).expect_err("a mistake");
        (error.field.expect("a field"), error.message)
    };
    for (set, field, said) in [
        (&["ftl.map=pages"][..], "ftl.map", "dftl"),
        (
            &["redundancy.scheme=dvs", "redundancy.across=chip"],
            "redundancy.scheme",
            "is its own translation layer",
        ),
        (&["ftl.map=hybrid", "ftl.log_blocks=1"], "ftl.log_blocks", "2 to 14 are accepted"),
        (&["ftl.map=block", "ftl.log_blocks=16"], "ftl.log_blocks", "1 to 15 are accepted"),
        (&["ftl.map=hybrid", "ftl.over_provisioning=0.026"], "ftl.map", "at least 4 are accepted"),
        (&["ftl.over_provisioning=0.0526316"], "ftl.over_provisioning", "tables take 19"),
    ] {
        let found = refused(set);
        assert!(found.0 == field && found.1.contains(said), "{set:?}: {found:?}");
    }
}

#[test]
fn keys_of_another_map_are_pointed_out() {
    let warnings = |set: &[&str]| {
        let set: Vec<String> = set.iter().map(|&pair| pair.to_owned()).collect();
        load_text("a.toml", LARGE, &set).expect("a drive").warnings.join("; ")
    };
    assert_eq!(warnings(&[]), "");
    assert!(warnings(&["ftl.log_blocks=3"]).contains("ftl.log_blocks: no effect with ftl.map = \"dftl\""));
    let block = warnings(&["ftl.map=block", "ftl.gc.victim=fifo", "ftl.cache_kib=3"]);
    let because = "no effect with ftl.map = \"block\"";
    assert_eq!(block, format!("ftl.cache_kib: {because}; ftl.gc.victim: {because}"));
}
