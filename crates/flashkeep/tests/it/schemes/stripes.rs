//! Stripes in the order of arrival: where each page and parity lands, what that costs, and when.

use crate::common::{done, figure, job, output, records, summary};
use flashkeep::job::Job;
use serde_json::Value;

const MS: u64 = 1_000_000;

/// This many channels of one chip, one die, one plane each.
fn drive(channels: u32, scheme: &str) -> String {
    format!(
        "[flash]\nchannels = {channels}\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
         blocks_per_plane = 16\npages_per_block = 16\npage_kib = 4\n[ftl]\nover_provisioning = 0.5\n\
         [redundancy]\nscheme = \"{scheme}\"\ntimeout_ms = 50\n[start]\nexisting = \"none\"\n"
    )
}

/// SSDSim's line for a write.
fn write(at_ns: u64, page: u32, pages: u32) -> String {
    format!("{at_ns} 0 {} {} 0\n", page * 8, pages * 8)
}

fn read(at_ns: u64, page: u32, pages: u32) -> String {
    format!("{at_ns} 0 {} {} 1\n", page * 8, pages * 8)
}

fn count(run: &Value, operation: &str) -> u32 {
    figure(run, &format!("operations.{operation}")) as u32
}

/// A program: when it began, on which channel, in which page of the block, and why.
#[derive(Debug)]
struct Program {
    start: u64,
    channel: u32,
    page: u32,
    cause: String,
}

/// A run, and all its programs in the order in which they began.
fn programs(mut job: Job) -> (Value, Vec<Program>) {
    job.operations = Some(output("operations.csv"));
    let run = done(&job).summary;
    let log = records(job.operations.as_deref().unwrap());
    let mut programs: Vec<_> = log
        .iter()
        .filter(|record| record[8] == "program")
        .map(|record| Program {
            start: record[0].parse().unwrap(),
            channel: record[2].parse().unwrap(),
            page: record[7].parse().unwrap(),
            cause: record[9].clone(),
        })
        .collect();
    programs.sort_by_key(|program| (program.page, program.start));
    (run, programs)
}

/// The channels of a row's programs for these causes, in the order of their beginning.
fn on(programs: &[Program], page: u32, causes: &[&str]) -> Vec<u32> {
    let of = programs.iter().filter(|p| p.page == page && causes.contains(&p.cause.as_str()));
    of.map(|program| program.channel).collect()
}

#[test]
fn the_papers_stripes() {
    // DVS-RAID, figure 2: five chips; rows 0 and 1 are full. Row 2 has its parity on chip 2, row 3 on chip 1.
    let mut trace: String = (0..8).map(|n| write(u64::from(n) * MS, n, 1)).collect();
    for (n, page) in (10..).zip(1..=4) {
        trace += &write(n * MS, page, 1);
    }
    trace += &write(20 * MS, 20, 1);
    trace += &write(21 * MS, 21, 1);
    trace += &write(90 * MS, 22, 1);
    let mut job = job(&drive(5, "dvs"), &trace, &[]);
    job.verify = true;
    let (run, programs) = programs(job);
    assert_eq!((on(&programs, 2, &["host"]), on(&programs, 2, &["parity"])), (vec![0, 1, 3, 4], vec![2]));
    // D8 and D9, their partial parity after 50 ms, D10, and its parity, as there is no slot left.
    assert_eq!(on(&programs, 3, &["host", "partial_parity"]), [0, 2, 3, 4]);
    assert_eq!((on(&programs, 3, &["partial_parity"]), on(&programs, 3, &["parity"])), (vec![3], vec![1]));
    assert_eq!(count(&run, "program.host"), 15);
    assert_eq!((count(&run, "program.parity"), count(&run, "program.partial_parity")), (4, 1));
    assert_eq!(figure(&run, "operations.read.parity"), 0.0);
}

#[test]
fn parity_goes_to_the_left_from_row_to_row() {
    for scheme in ["ds", "dvs"] {
        let trace: String = (0..40).map(|n| write(u64::from(n) * MS, n * 7 % 40, 1)).collect();
        let (run, programs) = programs(job(&drive(5, scheme), &trace, &[]));
        for row in 0..10 {
            let parity = 4 - row % 5;
            let data: Vec<_> = (0..5).filter(|&channel| channel != parity).collect();
            assert_eq!(on(&programs, row, &["host"]), data, "row {row}");
            assert_eq!(on(&programs, row, &["parity"]), [parity], "row {row}");
        }
        assert_eq!(count(&run, "program.partial_parity"), 0);
    }
}

#[test]
fn ds_programs_eight_pages_for_seven_and_reads_none() {
    // The paper's drive, with fewer blocks: random updates of single pages.
    let set = ["redundancy.scheme=\"ds\"", "flash.blocks_per_plane=128", "start.existing=\"none\""];
    let trace = "synth:random,requests=2100,write=1,size=4KiB,depth=4";
    let run = summary(&job("dvs-8chip", trace, &set));
    assert_eq!((count(&run, "program.host"), count(&run, "program.parity")), (2100, 300));
    assert!((figure(&run, "write_amplification.total") - 8.0 / 7.0).abs() < 1e-12);
    let reads = run.pointer("/operations/read").and_then(Value::as_object).unwrap();
    assert!(reads.values().all(|pages| pages == 0), "{reads:?}");
}

#[test]
fn small_writes_with_a_timeout_of_zero() {
    // As a stripe's seven data slots cut requests of k pages: 2, 8/5, 4/3, 4/3, 4/3, 7/6, 8/7, 5/4 programs a page.
    let exact = [(2, 1), (8, 5), (4, 3), (4, 3), (4, 3), (7, 6), (8, 7), (5, 4)];
    for (pages, (above, below)) in (1_u32..).zip(exact) {
        let requests = 120;
        let trace: String =
            (0..requests).map(|n| write(u64::from(n) * 2 * MS, n * pages % 1000, pages)).collect();
        let set = ["flash.blocks_per_plane=128", "start.existing=\"none\"", "redundancy.timeout_ms=0"];
        let run = summary(&job("dvs-8chip", &trace, &set));
        let programs: u32 =
            ["host", "parity", "partial_parity"].iter().map(|c| count(&run, &format!("program.{c}"))).sum();
        assert_eq!(count(&run, "program.host"), requests * pages);
        assert_eq!(programs * below, requests * pages * above, "requests of {pages} pages: {programs}");
        assert_eq!(figure(&run, "write_amplification.total"), f64::from(above) / f64::from(below));
    }
}

#[test]
fn a_partial_parity_is_written_after_the_timeout_and_not_before() {
    let parities = |trace: &str, timeout: &str| {
        let (_, programs) =
            programs(job(&drive(5, "dvs"), trace, &[&format!("redundancy.timeout_ms={timeout}")]));
        let parities = programs.iter().filter(|program| program.cause != "host");
        parities.map(|program| (program.start, program.channel)).collect::<Vec<_>>()
    };
    for (timeout, ns) in [("50", 50 * MS), ("0.25", 250_000), ("7.000001", 7_000_001)] {
        // From the arrival of the last page.
        let alone = parities(&(read(0, 9, 1) + &write(1000, 0, 1)), timeout);
        assert_eq!(alone, [(1000 + ns, 1)]);
    }
    // One that comes a nanosecond before joins the stripe, and the time begins again.
    let joined = write(0, 0, 1) + &write(50 * MS - 1, 1, 1);
    assert_eq!(parities(&joined, "50"), [(100 * MS - 1, 2)]);
    // One that comes after begins a stripe of its own, which has the row's last slot and then the row's parity.
    let late = write(0, 0, 1) + &write(50 * MS + 1, 1, 1);
    assert_eq!(parities(&late, "50"), [(50 * MS, 1), (100 * MS + 1, 4)]);
    // A full stripe does not wait.
    let full = parities(&write(0, 0, 4), "50");
    assert!(full.len() == 1 && full[0].0 < MS && full[0].1 == 4, "{full:?}");
}

#[test]
fn the_host_does_not_wait_for_a_partial_parity() {
    let response = |timeout: &str| {
        let set = format!("redundancy.timeout_ms={timeout}");
        figure(&summary(&job(&drive(5, "dvs"), &write(0, 0, 1), &[&set])), "response_us.write.mean")
    };
    let alone = 200.0 + 4096.0 * 0.003;
    assert_eq!((response("50"), response("0")), (alone, alone));
}

/// Eight channels; row 0 gets three stripes: pages on channels 0 and 1 with their parity on 2, on 3 and 4 with theirs on
/// 5, and on 6 with its on 7.
fn three_stripes() -> String {
    let mut trace = write(0, 0, 2) + &write(100 * MS, 2, 2) + &write(200 * MS, 4, 1);
    for page in 0..5 {
        trace += &read((2000 + u64::from(page)) * MS, page, 1);
    }
    trace
}

fn struck(fail: &[&str]) -> Value {
    let mut job = job(&drive(8, "dvs"), &three_stripes(), &[]);
    job.fail = fail.iter().map(|&event| event.to_owned()).collect();
    job.verify = true;
    summary(&job)
}

#[test]
fn a_row_has_several_stripes() {
    let (run, programs) = programs(job(&drive(8, "dvs"), &three_stripes(), &[]));
    assert_eq!(on(&programs, 0, &["host"]), [0, 1, 3, 4, 6]);
    assert_eq!(on(&programs, 0, &["partial_parity"]), [2, 5]);
    assert_eq!(on(&programs, 0, &["parity"]), [7]);
    assert_eq!((count(&run, "program.host"), programs.len()), (5, 8));
}

#[test]
fn two_channels_lost_in_different_stripes_of_a_row_cost_nothing() {
    for fail in [
        vec!["channel:0@1s", "channel:3@1s"],
        vec!["channel:1@1s", "channel:5@1s"],
        vec!["channel:0@1s", "channel:4@1s", "channel:6@1s"],
        vec!["channel:2@1s", "channel:5@1s", "channel:7@1s"],
    ] {
        let run = struck(&fail);
        assert_eq!(figure(&run, "integrity.lost_pages"), 0.0, "{fail:?}");
        assert_eq!(figure(&run, "integrity.wrong_reads"), 0.0, "{fail:?}");
        assert_eq!(figure(&run, "integrity.pages_read_back"), 5.0, "all are read back");
    }
}

#[test]
fn two_channels_lost_in_the_same_stripe_cost_its_pages() {
    for (fail, lost) in [
        (["channel:0@1s", "channel:1@1s"], 2.0),
        (["channel:1@1s", "channel:2@1s"], 1.0),
        (["channel:4@1s", "channel:5@1s"], 1.0),
        (["channel:6@1s", "channel:7@1s"], 1.0),
    ] {
        let run = struck(&fail);
        assert_eq!(figure(&run, "integrity.lost_pages"), lost, "{fail:?}");
        assert_eq!(figure(&run, "integrity.wrong_reads"), 0.0, "{fail:?}");
    }
}

#[test]
fn data_that_wait_for_their_parity_are_brought_back_from_its_sum() {
    // The channel fails 10 ms after the write, which is 40 ms before the parity.
    for scheme in ["ds", "dvs", "lifespan"] {
        let trace = write(0, 0, 3) + &read(20 * MS, 0, 3);
        let mut job = job(&drive(8, scheme), &trace, &[]);
        (job.fail, job.verify) = (vec!["channel:1@10ms".into()], true);
        let run = summary(&job);
        assert_eq!(
            figure(&run, "integrity.lost_pages") + figure(&run, "integrity.wrong_reads"),
            0.0,
            "{scheme}"
        );
    }
}

#[test]
fn erases_are_spread_evenly_where_stripes_follow_arrival() {
    // Few pages are written over and over: RAID-5 writes them where they are, dynamic stripes go round.
    let spread = |scheme: &str| {
        let set = ["start.existing=\"all\"", "ftl.over_provisioning=0.4", "redundancy.timeout_ms=5"];
        let trace = "synth:zipf,requests=8000,write=1,size=4KiB,theta=1.1,rate=1k";
        let run = summary(&job(&drive(5, scheme), trace, &set));
        let erases = |member: u32| -> f64 {
            let causes = run.pointer(&format!("/members/{member}/operations/erase")).unwrap();
            causes.as_object().unwrap().values().map(|erases| erases.as_f64().unwrap()).sum()
        };
        let erases: Vec<f64> = (0..5).map(erases).collect();
        let mean = erases.iter().sum::<f64>() / 5.0;
        assert!(mean > 10.0, "{scheme}: {erases:?}");
        (erases.iter().map(|erases| (erases - mean).powi(2)).sum::<f64>() / 5.0).sqrt() / mean
    };
    let (dvs, raid5) = (spread("dvs"), spread("raid5"));
    assert!(dvs < 0.01 && raid5 > 5.0 * dvs.max(0.005), "dvs {dvs:.4}, raid5 {raid5:.4}");
}
