//! Stripes with fixed members: what updates cost in pages and in time, and on which channels.

use crate::common::{self, done, figure, job, output, records, summary};
use flashkeep::job::Job;
use serde_json::Value;

/// This many channels of one chip, one die, one plane each.
fn drive(channels: u32, scheme: &str) -> String {
    format!(
        "[flash]\nchannels = {channels}\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
         blocks_per_plane = 48\npages_per_block = 16\npage_kib = 4\n[ftl]\nover_provisioning = 0.5\n\
         [redundancy]\nscheme = \"{scheme}\"\n"
    )
}

/// SSDSim's lines for writes of this many pages each, so slow that none meets another.
fn writes(requests: impl IntoIterator<Item = (u32, u32)>) -> String {
    let requests = (1_u64..).zip(requests);
    requests.map(|(n, (page, pages))| format!("{} 0 {} {} 0\n", n * 2_000_000, page * 8, pages * 8)).collect()
}

/// Random pages of the drive, each once in a while.
fn scattered(count: u32, among: u32) -> impl Iterator<Item = u32> {
    (0..count).map(move |n| n.wrapping_mul(2_654_435_761) % among)
}

fn count(run: &Value, operation: &str) -> u32 {
    figure(run, &format!("operations.{operation}")) as u32
}

/// Of the parity: pages read and programmed; and pages that the host programmed.
fn costs(run: &Value) -> (u32, u32, u32) {
    (count(run, "read.parity"), count(run, "program.parity"), count(run, "program.host"))
}

/// A run that logs its operations: its summary, and of each operation the channel, kind and cause.
fn logged(mut job: Job) -> (Value, Vec<(u32, String, String)>) {
    job.operations = Some(output("operations.csv"));
    let run = done(&job).summary;
    let log = records(job.operations.as_deref().unwrap());
    let log = log[1..].iter().map(|r| (r[2].parse().unwrap(), r[8].clone(), r[9].clone())).collect();
    (run, log)
}

/// The channels of the operations of that kind and cause, ascending.
fn channels(log: &[(u32, String, String)], kind: &str, cause: &str) -> Vec<u32> {
    let mut channels: Vec<_> = log.iter().filter(|r| r.1 == kind && r.2 == cause).map(|r| r.0).collect();
    channels.sort_unstable();
    channels
}

const FULL: &str = "start.existing=\"all\"";

#[test]
fn the_papers_update_of_four_pages() {
    // DVS-RAID, figure 1: five chips. Stripe 0 has its parity on chip 4, stripe 1 on chip 3. D1 to D3 read D0 on
    // chip 0; D4 reads itself, on chip 0, and P1.
    let mut job = job(&drive(5, "raid5"), &writes([(1, 4)]), &[FULL]);
    job.verify = true;
    let (run, log) = logged(job);
    assert_eq!(costs(&run), (3, 2, 4));
    assert_eq!(channels(&log, "read", "parity"), [0, 0, 3]);
    assert_eq!(channels(&log, "program", "host"), [0, 1, 2, 3]);
    assert_eq!(channels(&log, "program", "parity"), [3, 4]);
    assert_eq!(log.len(), 9);
}

#[test]
fn a_single_page_written_at_random_costs_two_reads_and_two_programs() {
    // On a full drive, without collection.
    for (scheme, parities) in [("raid4", 1), ("raid5", 1), ("raid6", 2), ("raid-tp", 3)] {
        let trace = writes(scattered(200, 800).map(|page| (page, 1)));
        let run = summary(&job(&drive(8, scheme), &trace, &[FULL, "ftl.gc.threshold=0.02"]));
        assert_eq!(figure(&run, "wear.erases_total"), 0.0);
        assert_eq!(costs(&run), (200 * (1 + parities), 200 * parities, 200), "{scheme}");
        assert_eq!(figure(&run, "write_amplification.parity"), f64::from(parities));
        assert_eq!(figure(&run, "write_amplification.total"), f64::from(1 + parities));
    }
}

#[test]
fn single_pages_cost_the_same_when_they_come_all_at_once() {
    // Writes that meet in a stripe wait for one another, and each pays for itself.
    let trace = "synth:random,requests=300,write=1,size=4KiB,depth=16";
    let mut job = job(&drive(8, "raid5"), trace, &[FULL, "ftl.gc.threshold=0.02"]);
    job.verify = true;
    let run = summary(&job);
    assert_eq!(costs(&run), (600, 300, 300));
    assert_eq!(figure(&run, "integrity.wrong_reads"), 0.0);
}

#[test]
fn a_stripe_written_in_full_reads_nothing() {
    for (scheme, data, parities) in
        [("raid4", 7, 1), ("raid5", 7, 1), ("raid6", 6, 2), ("raid-tp", 5, 3), ("lrc", 4, 4)]
    {
        let trace = writes(scattered(60, 100).map(|stripe| (stripe * data, data)));
        let run = summary(&job(&drive(8, scheme), &trace, &[FULL]));
        assert_eq!(costs(&run), (0, 60 * parities, 60 * data), "{scheme}");
        assert_eq!(count(&run, "read.update"), 0);
    }
}

#[test]
fn whichever_way_to_update_reads_less_is_taken() {
    for (scheme, parities) in [("raid5", 1), ("raid6", 2), ("raid-tp", 3)] {
        let data = 8 - parities;
        for pages in 1..=data {
            let trace = writes((0..6).map(|stripe| (stripe * data, pages)));
            let run = summary(&job(&drive(8, scheme), &trace, &[FULL]));
            let reads = (pages + parities).min(data - pages);
            assert_eq!(costs(&run), (6 * reads, 6 * parities, 6 * pages), "{scheme}, {pages} pages");
        }
    }
}

#[test]
fn parity_of_raid4_is_always_on_the_last_channel() {
    let trace = writes(scattered(80, 400).map(|page| (page, 1)));
    let (_, log) = logged(job(&drive(5, "raid4"), &trace, &[FULL]));
    assert_eq!(channels(&log, "program", "parity"), [4; 80]);
    assert!(channels(&log, "program", "host").iter().all(|&channel| channel < 4));
}

#[test]
fn parity_of_raid5_moves_to_the_left_from_stripe_to_stripe() {
    let mut job = job(&drive(5, "raid5"), &writes((0..10).map(|stripe| (stripe * 4, 4))), &[]);
    job.operations = Some(output("operations.csv"));
    done(&job);
    let log = records(job.operations.as_deref().unwrap());
    let mut parities: Vec<_> = log.iter().filter(|r| r[8] == "program" && r[9] == "parity").collect();
    parities.sort_by_key(|r| r[0].parse::<u64>().unwrap());
    let on: Vec<_> = parities.iter().map(|r| r[2].as_str()).collect();
    assert_eq!(on, ["4", "3", "2", "1", "0", "4", "3", "2", "1", "0"]);
}

#[test]
fn both_parities_of_raid6_go_round() {
    // A whole number of turns of small writes wears all channels alike.
    let trace = writes((0..4 * 6).map(|page| (page, 1)));
    let (_, log) = logged(job(&drive(6, "raid6"), &trace, &[FULL]));
    let parities = channels(&log, "program", "parity");
    for channel in 0..6 {
        assert_eq!(parities.iter().filter(|&&on| on == channel).count(), 8, "channel {channel}");
    }
}

#[test]
fn the_old_page_in_hand_is_not_read_again() {
    // 512 bytes: the old page is read for the rest of it, and serves the parity too.
    let trace = "1000 0 40 1 0\n";
    let mut sector = job(&drive(5, "raid5"), trace, &[FULL]);
    sector.verify = true;
    let (run, log) = logged(sector);
    assert_eq!(costs(&run), (1, 1, 1));
    assert_eq!((count(&run, "read.update"), log.len()), (1, 4));
    // Page 5 is slot 1 of stripe 1, whose parity is on channel 3.
    assert_eq!((channels(&log, "read", "update"), channels(&log, "read", "parity")), (vec![1], vec![3]));
}

#[test]
fn pages_that_were_never_written_are_read_by_nobody() {
    let run =
        summary(&job(&drive(5, "raid5"), &writes([(0, 1), (5, 2), (8, 4)]), &["start.existing=\"none\""]));
    assert_eq!(costs(&run), (0, 3, 7));
}

#[test]
fn parity_that_waits_for_its_stripe_costs_no_read_and_one_program() {
    let set = ["start.existing=\"none\"", "redundancy.incomplete=\"wait\""];
    let trace = writes((0..80).map(|page| (page, 1)));
    let mut job = job(&drive(5, "raid5"), &trace, &set);
    job.verify = true;
    let run = summary(&job);
    assert_eq!(costs(&run), (0, 20, 80));
    // Two pages are left of a stripe: the parity is written at the end all the same.
    let trace = writes((0..82).map(|page| (page, 1)));
    let run = summary(&common::job(&drive(5, "raid5"), &trace, &set));
    assert_eq!(costs(&run), (0, 21, 82));
    // Where it does not wait, every page brings a parity, and reads what it must.
    let run = summary(&common::job(&drive(5, "raid5"), &trace, &set[..1]));
    assert_eq!(costs(&run).1, 82);
    assert!(costs(&run).0 > 0);
}

#[test]
fn what_waits_is_given_its_parity_in_idle_time() {
    // Two pages, then 100 ms of nothing, then the other two of the stripe.
    let trace = "0 0 0 16 0\n100000000 0 16 16 0\n";
    let costs_of = |idle: &str| {
        let set = ["start.existing=\"none\"", "redundancy.incomplete=\"wait\"", idle];
        costs(&summary(&job(&drive(5, "raid5"), trace, &set)))
    };
    // Once in idle time, and once with the other pages: the old parity knows the two before, and zeros for the rest.
    assert_eq!(costs_of("redundancy.idle_ms=10"), (1, 2, 4));
    assert_eq!(costs_of("redundancy.idle_ms=1000"), (0, 1, 4));
}

#[test]
fn the_xor_adds_its_time_to_a_write() {
    let response = |trace: &str, scheme: &str, existing: &str, xor: f64| {
        let set = [format!("start.existing=\"{existing}\""), format!("redundancy.xor_us={xor}")];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        figure(&summary(&job(&drive(5, scheme), trace, &set)), "response_us.write.mean")
    };
    for scheme in ["raid4", "raid5", "raid6"] {
        let (one, stripe) = (writes([(9, 1)]), writes([(0, if scheme == "raid6" { 3 } else { 4 })]));
        // A small write adds the old page, the old parity and the new page (with two parities and three data pages: the
        // new page and the two others); a stripe adds its data.
        let adds = if scheme == "raid6" { 3.0 } else { 4.0 };
        for xor in [1.0, 19.0] {
            let more = response(&one, scheme, "all", xor) - response(&one, scheme, "all", 0.0);
            assert!((more - 3.0 * xor).abs() < 1e-6, "{scheme}: {more} µs for a page at {xor}");
            let more = response(&stripe, scheme, "none", xor) - response(&stripe, scheme, "none", 0.0);
            assert!((more - adds * xor).abs() < 1e-6, "{scheme}: {more} µs for a stripe at {xor}");
        }
    }
}

#[test]
fn a_small_write_reads_before_it_programs() {
    // Reads of the old page and the old parity side by side, then both programs side by side.
    let run = summary(&job(&drive(5, "raid5"), &writes([(9, 1)]), &[FULL]));
    let transfer = 4096.0 * 0.003;
    let expected = 25.0 + transfer + transfer + 200.0;
    assert!((figure(&run, "response_us.write.mean") - expected).abs() < 1e-6);
}

#[test]
fn a_buffer_that_gives_up_whole_stripes_reads_less_for_parity() {
    let reads = |evict: &str| {
        let set = [
            FULL.to_owned(),
            "buffer.dram_mib=0.25".to_owned(),
            format!("buffer.evict=\"{evict}\""),
            "flash.blocks_per_plane=64".to_owned(),
        ];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let trace = "synth:random,requests=1500,write=1,size=4KiB,footprint=1MiB,rate=1k";
        let mut job = job(&drive(5, "raid5"), trace, &set);
        job.verify = true;
        let run = summary(&job);
        let wrong = figure(&run, "integrity.wrong_reads") + figure(&run, "integrity.lost_pages");
        assert_eq!(wrong, 0.0, "{evict}");
        count(&run, "read.parity")
    };
    let (page, stripe) = (reads("page"), reads("stripe"));
    assert!(f64::from(stripe) < 0.8 * f64::from(page), "{stripe} reads, and {page} page by page");
}
