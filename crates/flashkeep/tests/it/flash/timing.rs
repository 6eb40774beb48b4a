//! Exact times of an idle drive, and both sides of each instant.

use crate::common::{done, figure, job, output, records, summary};

const SECTOR: u64 = 512;

/// One request at time 0 on SSDSim's drive.
fn one(sectors: u64, op: u8, set: &[&str]) -> f64 {
    let run = summary(&job("ssdsim-basic", &format!("0 0 0 {sectors} {op}\n"), set));
    figure(&run, "response_us.all.mean")
}

#[test]
fn ssdsim_idle_latencies() {
    let none = "buffer.dram_mib=0";
    for (page_kib, expected) in [(2, 71.375), (4, 122.575), (8, 224.975)] {
        let page = format!("flash.page_kib={page_kib}");
        let sectors = page_kib * 1024 / SECTOR;
        assert_eq!(one(sectors, 1, &[none, &page]), expected, "a read of {page_kib} KiB");
    }
    assert_eq!(one(4, 0, &[none]), 51.375);
    assert_eq!(one(1, 1, &[none]), 32.975, "a page of which one sector exists");
    assert_eq!(one(4, 0, &[]), 1.0, "a write that the DRAM takes");
    let again = summary(&job("ssdsim-basic", "0 0 0 4 0\n1000000 0 0 4 1\n", &[]));
    assert_eq!(figure(&again, "response_us.read.mean"), 1.0, "a read that the DRAM serves");
}

#[test]
fn the_chip_is_free_when_the_program_ends_and_no_sooner() {
    let one_chip = ["buffer.dram_mib=0", "flash.channels=1", "flash.chips_per_channel=1"];
    // A page is written at 0; another, there before, is read at 251.375 µs, and a nanosecond sooner.
    for (arrival, response) in [(251_375, 71.375), (251_374, 71.376)] {
        let trace = format!("0 0 0 4 0\n{arrival} 0 400 4 1\n");
        let mut job = job("ssdsim-basic", &trace, &one_chip);
        job.operations = Some(output("operations.csv"));
        let run = done(&job).summary;
        assert_eq!(figure(&run, "response_us.write.mean"), 51.375);
        assert_eq!(figure(&run, "response_us.read.mean"), response);
        let log = records(job.operations.as_deref().unwrap());
        let program = log.iter().find(|record| record[8] == "program").expect("one program");
        assert_eq!((program[0].as_str(), program[1].as_str()), ("0", "251375"));
    }
}

#[test]
fn the_channel_is_free_when_the_transfer_ends_and_no_sooner() {
    // Two chips on one channel: the second write's transfer starts when the first one's ends, 51.375 µs on.
    let one_channel = ["buffer.dram_mib=0", "flash.channels=1"];
    for (arrival, response) in [(51_375, 51.375), (51_374, 51.376)] {
        let run = summary(&job("ssdsim-basic", &format!("0 0 0 4 0\n{arrival} 0 4 4 0\n"), &one_channel));
        let total = figure(&run, "response_us.write.mean") * 2.0;
        assert!((total - 51.375 - response).abs() < 1e-9, "{total}");
    }
}

/// Three pages are written again but for their last sector. SSDSim queues all parts of a request and serves reads first:
/// the command of the update read crosses before a page, its sector after that page, and then the merged page crosses.
#[test]
fn the_update_reads_of_a_request_go_before_its_first_pages() {
    let run = summary(&job("ssdsim-basic", "0 0 0 12 0\n1000000000 0 0 11 0\n", &["buffer.dram_mib=0"]));
    let (command, page, sector) = (0.175, 51.375, 12.8);
    let second = figure(&run, "response_us.write.mean") * 2.0 - 2.0 * page;
    assert!((second - (command + page + sector + page)).abs() < 1e-9, "{second}");
    assert!((second - 115.725).abs() < 1e-9, "as SSDSim: {second}");
}

#[test]
fn a_write_is_acknowledged_when_the_drive_says() {
    let unbuffered = "buffer.dram_mib=0";
    assert_eq!(one(4, 0, &[unbuffered, "flash.acknowledge=\"program\""]), 251.375);
    assert_eq!(one(4, 0, &[unbuffered, "flash.acknowledge=\"transfer\""]), 51.375);
}

#[test]
fn what_the_channel_is_held_for_is_an_option() {
    // Two chips on one channel read at once: side by side but for the transfers, or one after the other.
    let trace = "0 0 0 8 1\n";
    let two_chips = ["buffer.dram_mib=0", "flash.channels=1", "ftl.allocation=\"WDPC\""];
    let transfers = summary(&job("ssdsim-basic", trace, &two_chips));
    assert_eq!(figure(&transfers, "response_us.read.mean"), 71.375 + 51.2);
    let whole = [&two_chips[..], &["flash.bus=\"operations\""]].concat();
    let operations = summary(&job("ssdsim-basic", trace, &whole));
    assert_eq!(figure(&operations, "response_us.read.mean"), 2.0 * 71.375);
}

#[test]
fn the_mean_of_the_real_trace() {
    // The head of Financial1 on SSDSim itself, its faults repaired: 153.6 and 303.8 µs without DRAM, 133.1 and 133.9
    // with 128 KiB.
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces/financial1-head-10k.ssdsim.zst");
    if !std::path::Path::new(trace).exists() {
        eprintln!("skipped: the real traces are not beside the project");
        return;
    }
    for (dram, read, write) in [("0", 153.599, 303.799), ("0.125", 133.119, 133.942)] {
        let mut job = job("ssdsim-basic", "synth:random", &[&format!("buffer.dram_mib={dram}")]);
        job.traces = vec![trace.to_owned()];
        (job.merge_devices, job.wrap) = (true, true);
        let run = summary(&job);
        for (name, expected) in [("read", read), ("write", write)] {
            let found = figure(&run, &format!("response_us.{name}.mean"));
            assert!((found / expected - 1.0).abs() < 0.005, "{name} with {dram} MiB: {found} for {expected}");
        }
    }
}

/// The write that fills a block is done when the block's summary is, even if others hold the channel meanwhile.
#[test]
fn a_summary_takes_its_time_with_every_use_of_the_channel() {
    let drive = "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\npage_kib = 4\n\
                 blocks_per_plane = 16\npages_per_block = 4\nsummary_page = true\n[flash.timing]\nprogram_us = 200\n\
                 bus_ns_per_byte = 10\ncommand_ns = 0\n[ftl]\nover_provisioning = 1.0\n[start]\nexisting = \"none\"\n";
    let trace: String = (0..5).map(|n| format!("{} 0 {} 8 0\n", n * 1_000_000, n * 8)).collect();
    for bus in ["transfers", "operations"] {
        let mut job = job(drive, &trace, &[&format!("flash.bus={bus}")]);
        job.keep_requests = true;
        let ns: Vec<u64> = done(&job).requests.iter().map(|request| request.response_ns).collect();
        let (page, sector) = (40_960 + 200_000, 5_120 + 200_000);
        assert_eq!(ns, [page, page, page, page + sector, page], "{bus}");
    }
}

/// Operations after the last answer are counted, and so is the time that they take.
#[test]
fn nothing_is_busy_for_longer_than_there_is_time() {
    let set = ["buffer.dram_mib=0", "flash.acknowledge=\"transfer\""];
    let run = summary(&job("ssdsim-basic", "0 0 0 4 0\n", &set));
    // Both continue for 200 µs after the write was answered.
    assert_eq!(figure(&run, "simulated_s"), 51.375e-6);
    assert_eq!(figure(&run, "utilization.die_max"), 1.0);
}
