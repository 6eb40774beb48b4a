//! The write buffer: what leaves it, and when.

use crate::common::{done, figure, job, summary};
use flashkeep::job::Job;
use serde_json::Value;

/// One die of 4 KiB pages that programs in 200 µs, below a buffer of 16 pages.
const DRIVE: &str = "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
                     blocks_per_plane = 64\npages_per_block = 64\npage_kib = 4\n\
                     timing = { read_us = 50, program_us = 200, erase_us = 1000, bus_ns_per_byte = 0, command_ns = 0 }\n\
                     [buffer]\ndram_mib = 0.0625\nhit_us = 1\n[host]\nqueue_depth = 0\n";

/// Writes of one page each to consecutive addresses, at these times in µs.
fn writes(times: impl Iterator<Item = u64>) -> String {
    times.enumerate().map(|(at, time)| format!("{} 0 {} 8 0\n", time * 1000, at * 8)).collect()
}

/// Counting continues until this read has ended, long after all else.
const READ_LATER: &str = "1000000000 0 0 8 1\n";

fn run(trace: &str, set: &[&str]) -> Value {
    let mut job = job(DRIVE, trace, set);
    job.verify = true;
    let run = summary(&job);
    assert_eq!((figure(&run, "integrity.wrong_reads"), figure(&run, "integrity.lost_pages")), (0.0, 0.0));
    run
}

fn programs(run: &Value) -> f64 {
    figure(run, "operations.program.host")
}

const WATERMARK: [&str; 4] =
    ["buffer.flush=watermark", "buffer.flush_above=0.5", "buffer.flush_below=0.25", "buffer.flush_pages=1"];

/// With one write a millisecond, no write waits for an eviction: the ninth page begins the write-back, which continues
/// until four pages are left.
#[test]
fn a_watermark_keeps_room_for_later_writes() {
    let apart = |count: u64| writes((0..count).map(|at| at * 1000)) + READ_LATER;
    for (count, written) in [(8, 0.0), (9, 5.0), (13, 5.0), (14, 10.0)] {
        let run = run(&apart(count), &WATERMARK);
        assert_eq!(programs(&run), written, "{count} writes");
        assert_eq!(figure(&run, "response_us.write.max"), 1.0, "{count} writes");
    }
    // Without it the seventeenth write waits for the program of another page.
    let run = run(&apart(17), &[]);
    assert_eq!((programs(&run), figure(&run, "response_us.write.max")), (1.0, 200.0));
}

/// With `run`, the pages beside the least recently used one leave with it, as far as the buffer holds them.
#[test]
fn a_run_leaves_together() {
    let at = |pages: &[u64]| -> String {
        let line = |(n, page): (usize, &u64)| format!("{} 0 {} 8 0\n", n as u64 * 100_000_000, page * 8);
        pages.iter().enumerate().map(line).collect()
    };
    // Sixteen pages fill the buffer, and another one, far away, makes room for itself.
    let beside: Vec<u64> = (8..24).chain([200]).collect();
    let apart: Vec<u64> = (8..24).map(|page| 2 * page).chain([200]).collect();
    // The oldest page, 14, is in the middle of five of them.
    let middle: Vec<u64> = [14, 12, 13, 15, 16].into_iter().chain(100..111).chain([200]).collect();
    for (pages, evict, programs) in [
        (&beside, "page", 1.0),
        (&beside, "run", 16.0),
        (&apart, "run", 1.0),
        (&middle, "run", 5.0),
        (&middle, "page", 1.0),
    ] {
        let run = run(&at(pages), &[&format!("buffer.evict={evict}")]);
        assert_eq!(self::programs(&run), programs, "{evict} {pages:?}");
        // One die programs them one after the other.
        assert_eq!(figure(&run, "response_us.write.max"), 200.0 * programs, "{evict} {pages:?}");
    }
}

/// In a burst, the room of a page that is being written back is free when it is written: the buffer takes no more than
/// its size, and the rest waits for the flash.
#[test]
fn write_back_does_not_make_a_buffer_larger() {
    let burst = writes((0..64).map(|_| 0));
    for set in [&WATERMARK[..], &["buffer.flush=watermark", "buffer.flush_above=0"], &[]] {
        let run = run(&burst, set);
        // Evictions of 48 pages, one after the other; the page that is written back when the buffer is full counts twice.
        let longest = figure(&run, "response_us.write.max");
        assert!((48.0 * 200.0..=50.0 * 200.0).contains(&longest), "{set:?}: {longest}");
    }
}

/// The buffer writes back 300 µs after the last request has ended, and stops when one comes.
#[test]
fn an_idle_drive_writes_back() {
    let idle = ["buffer.flush=idle", "buffer.flush_after_us=300", "buffer.flush_pages=1"];
    let each = run(&(writes((0..10).map(|at| at * 1000)) + READ_LATER), &idle);
    assert_eq!((programs(&each), figure(&each, "response_us.write.max")), (10.0, 1.0));
    // Never idle for long enough before the end.
    let busy = writes((0..10).map(|at| at * 100));
    let [busy, later] = [run(&busy, &idle), run(&(busy.clone() + READ_LATER), &idle)];
    assert_eq!((programs(&busy), figure(&busy, "response_us.write.max")), (0.0, 1.0));
    assert_eq!((programs(&later), figure(&busy, "simulated_s")), (10.0, 901e-6));
    // One of four pages has been programmed and one is being programmed when the fifth write comes.
    let four = writes([0, 0, 0, 0, 700].into_iter());
    let cut = run(&format!("{four}{} 0 0 8 1\n{READ_LATER}", 701_000), &idle);
    assert_eq!(programs(&cut), 5.0);
}

/// Any rule of any buffer: reads are right, nothing is lost, and pages are programmed at most once for each write.
#[test]
fn rules_do_not_change_contents() {
    let trace =
        "synth:zipf,requests=3k,write=0.7,size=512:0.3/4KiB:0.5/20KiB:0.2,align=512,rate=3k,theta=0.9";
    let rules = ["none", "idle", "watermark"];
    for (rule, scheme) in
        rules.iter().flat_map(|rule| ["none", "mirror", "raid5"].map(|scheme| (rule, scheme)))
    {
        let set = [
            format!("buffer.flush={rule}"),
            format!("redundancy.scheme={scheme}"),
            "flash.channels=4".to_owned(),
            "buffer.dram_mib=0.25".to_owned(),
            "ftl.over_provisioning=0.6".to_owned(),
            "start.existing=all".to_owned(),
        ];
        let of_rule = |set: &[String]| {
            let set: Vec<&str> = set.iter().map(String::as_str).collect();
            let mut job: Job = job(DRIVE, trace, &set);
            job.verify = true;
            done(&job).summary
        };
        let run = of_rule(&set);
        assert_eq!(figure(&run, "integrity.wrong_reads"), 0.0, "{rule} {scheme}");
        assert_eq!(figure(&run, "integrity.lost_pages"), 0.0, "{rule} {scheme}");
        assert_eq!(run["digest"], of_rule(&set)["digest"], "{rule} {scheme}: the same run twice");
    }
}

/// What a cache writes back after the last answer belongs to no request, as its time does not: a run's write amplification
/// does not depend on its length, and a cache never adds programs.
#[test]
fn counting_ends_with_the_last_answer() {
    let drive = "[flash]\nchannels = 4\nchips_per_channel = 1\nblocks_per_plane = 512\npages_per_block = 32\n\
                 page_kib = 4\n[ftl]\nover_provisioning = 0.08\ngc.threshold = 0.01\ngc.run = 'steps'\n\
                 [buffer]\ndram_mib = 8\nprotected = true\nflush = 'watermark'\n[ageing]\nmodel = 'steady'\n";
    let run = |requests: u32, set: &[&str]| {
        let trace = format!("synth:random,size=4KiB,depth=64,write=1,requests={requests}");
        summary(&Job { warmup: Some("8000".into()), ..job(drive, &trace, set) })
    };
    let theory = figure(&run(168_000, &["buffer.dram_mib=0", "buffer.flush=none"]), "waf_bytes");
    for requests in [20_000, 28_000, 48_000, 88_000] {
        let found = run(requests, &[]);
        let waf = figure(&found, "waf_bytes");
        assert!((waf / theory - 1.0).abs() < 0.04, "{requests}: {waf}, without a cache {theory}");
        let buffer = figure(&found, "write_amplification.buffer");
        assert!(buffer <= 0.0, "{requests}: a cache of {buffer}");
    }
}
