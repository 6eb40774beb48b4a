//! The drive of "Design Tradeoffs for SSD Performance" (USENIX ATC 2008): its published figures, the results that come
//! with the SSD extension of DiskSim, and closed forms for every knob that it needed.

use crate::common::{done, figure, job, output, records, summary};
use serde_json::Value;

/// An eighth of the drive's blocks: everything about planes and elements stays as it is.
const SMALL: &str = "flash.blocks_per_plane=256";

/// A lone package of a few blocks.
const ONE: [&str; 2] = ["flash.channels=1", "flash.blocks_per_plane=32"];

fn run(drive: &str, trace: &str, set: &[&str]) -> Value {
    summary(&job(drive, trace, set))
}

fn near(found: f64, expected: f64, share: f64, what: &str) {
    assert!((found / expected - 1.0).abs() <= share, "{what}: {found}, expected {expected}");
}

/// B.9 of the paper's arithmetic: a page read is 25 + 105.6 us, a write 305.6 + 213.2 / 63; eight elements, all busy.
#[test]
fn the_quoted_microbenchmarks() {
    for (write, service, iops) in [(0, 130.6, 61_255.0), (1, 305.6 + 213.2 / 63.0, 25_891.0)] {
        let trace = format!("synth:sequential,requests=100k,write={write},size=4KiB,depth=16");
        let found = run("atc08-32gb", &trace, &[SMALL]);
        near(figure(&found, "service_us.all.mean"), service, 0.0002, "service");
        near(figure(&found, "throughput.iops"), iops, 0.002, "requests a second");
    }
}

/// 5 M single-page writes to an eighth of the space, here half of them on half of the drive, moves over the pins: the paper
/// has 327 and 433 us of its element's time for each.
#[test]
fn the_quoted_microbenchmarks_with_cleaning() {
    let footprint = 877_363 / 2 * 4096;
    for (places, expected) in [("sequential", 327.0), ("random", 433.0)] {
        let trace = format!("synth:{places},requests=2500k,write=1,size=4KiB,footprint={footprint},depth=16");
        for drive in ["atc08-interplane", "atc08-element"] {
            let found = run(drive, &trace, &["flash.blocks_per_plane=1024"]);
            let busy_us = figure(&found, "utilization.die_mean") * 8e6 / figure(&found, "throughput.iops");
            near(busy_us, expected, 0.01, places);
        }
    }
}

/// The results that come with the extension, for its own 250,000 requests.
#[test]
fn the_extensions_validation_runs() {
    for (name, write, response_us, pages) in [
        ("sequential", 0, 132.5, 250_000.0),
        ("sequential", 1, 310.9, 250_000.0),
        ("random", 0, 136.1, 395_131.0),
        ("random", 1, 329.5, 395_131.0),
    ] {
        let found = run("atc08-32gb", &format!("synth:atc08-{name},write={write}"), &[]);
        near(figure(&found, "response_us.all.mean"), response_us, 0.0005, name);
        let kind = if write == 1 { "program" } else { "read" };
        assert_eq!(figure(&found, &format!("operations.{kind}.host")), pages);
    }
}

/// One package: a page every 125 us, every 100 us where two dies share the pins, and 300 us a write.
#[test]
fn one_ideal_package() {
    let rate = |drive: &str, write: u32, depth: u32| {
        let trace = format!("synth:random,requests=8k,write={write},size=4KiB,depth={depth}");
        figure(&run(drive, &trace, &["flash.channels=1", SMALL]), "throughput.iops")
    };
    near(rate("atc08-ideal", 0, 1), 8000.0, 0.005, "reads");
    near(rate("atc08-interleaved", 0, 128), 10_000.0, 0.005, "interleaved reads");
    near(rate("atc08-ideal", 1, 8), 3333.3, 0.005, "writes");
    // At 7,000 reads a second the queue of a package whose dies overlap is shorter.
    let queue = |drive: &str| {
        let trace = "synth:random,requests=20k,write=0,size=4KiB,rate=7k";
        figure(&run(drive, trace, &["flash.channels=1", "flash.blocks_per_plane=128"]), "queue.mean")
    };
    let (one, two) = (queue("atc08-ideal"), queue("atc08-interleaved"));
    assert!(two < 0.6 * one, "{two} interleaved, {one} without");
}

/// What it takes to clean a block with this many valid pages: the rest of every block is written again, in order.
fn cleaning_us(drive: &str, valid: u32) -> f64 {
    let mut trace = String::new();
    let set =
        ["flash.channels=1", "flash.planes_per_die=1", "flash.dies_per_chip=1", "flash.blocks_per_plane=32"];
    let data = summary(&job(drive, "0 0 0 8 1\n", &set));
    let pages = figure(&data, "capacity_bytes") as u64 / 4096;
    let mut at = 0_u64;
    let mut write = |page: u64| {
        trace += &format!("{} 0 {} 8 0\n", at * 5_000_000, page * 8);
        at += 1;
    };
    for n in 0..3 * pages {
        let page = n % pages;
        if page % 63 < u64::from(63 - valid) {
            write(page);
        }
    }
    let mut job = job(drive, &trace, &set);
    job.operations = Some(output("operations.csv"));
    done(&job);
    let log = records(job.operations.as_deref().unwrap());
    let erase = log.iter().find(|record| record[8] == "erase").expect("a block was cleaned");
    (erase[1].parse::<f64>().unwrap() - erase[0].parse::<f64>().unwrap()) / 1e3
}

/// The paper's table of cleaning times: 30 % of the pages valid, copied back or moved over the pins, and none.
#[test]
fn the_time_to_clean_a_block() {
    near(cleaning_us("atc08-32gb", 19), 1500.0 + 19.0 * 225.0, 0.04, "copy-back");
    near(cleaning_us("atc08-interplane", 19), 1500.0 + 19.0 * 436.2, 0.03, "inter-plane");
    for drive in ["atc08-32gb", "atc08-interplane"] {
        near(cleaning_us(drive, 0), 1500.0, 0.0, "an empty block");
    }
}

#[test]
fn gangs_as_the_paper_orders_them() {
    let mean = |drive: &str, rate: u32| {
        let trace = format!("synth:atc08-tpcc,requests=20k,footprint=2GiB,rate={rate}");
        figure(&run(drive, &trace, &[SMALL]), "response_us.all.mean")
    };
    let (none, eight, sixteen) =
        (mean("atc08-32gb", 500), mean("atc08-gang8-bus", 500), mean("atc08-gang16-bus", 1000));
    assert!((2.0..3.0).contains(&(eight / none)), "8 packages on a bus: {eight} us against {none}");
    assert!((2.0..3.3).contains(&(sixteen / none)) && sixteen > eight, "16: {sixteen} us against {none}");
    for rate in [50, 500] {
        let (asynchronous, synchronous) = (mean("atc08-gang8-async", rate), mean("atc08-gang8-sync", rate));
        assert!(asynchronous >= mean("atc08-32gb", rate) * 0.999, "a gang is not faster than none");
        assert!(synchronous > asynchronous, "{synchronous} us against {asynchronous}");
    }
}

/// Two channels that share control lines: the second operation begins when the first round has ended, and no sooner.
#[test]
fn a_gang_begins_together() {
    let set = [
        "flash.channels=2",
        "flash.control_gang=2",
        "flash.blocks_per_plane=32",
        "host.link_us_per_sector=0",
    ];
    // A write on channel 0 from 0 to 305.6 us; a read on channel 1 a little later waits for the round to end.
    let found = run("atc08-32gb", "0 0 0 8 0\n1000 0 8 8 1\n", &set);
    near(figure(&found, "response_us.read.mean"), 305.6 - 1.0 + 130.6, 1e-9, "one round later");
    let found = run("atc08-32gb", "0 0 0 8 0\n1000 0 8 8 1\n", &[set[0], set[2], set[3]]);
    near(figure(&found, "response_us.read.mean"), 130.6, 1e-9, "without a gang");
}

#[test]
fn large_logical_pages_are_dear() {
    let mean = |kib: u32| {
        let page = format!("ftl.logical_page_kib={kib}");
        let found = run("atc08-32gb", "synth:atc08-tpcc,requests=4k,footprint=2GiB", &[SMALL, &page]);
        figure(&found, "response_us.all.mean")
    };
    near(mean(4), 200.0, 0.1, "4 KB pages");
    assert!(mean(256) > 20_000.0);
    // One write of a page out of four on an idle chip: the other three are read, and all four written.
    let set = ["ftl.logical_page_kib=16", ONE[0], ONE[1], "host.link_us_per_sector=0"];
    let found = run("atc08-32gb", "0 0 0 8 0\n", &set);
    assert_eq!(figure(&found, "operations.read.update"), 3.0);
    assert_eq!(figure(&found, "operations.program.host"), 4.0);
    near(figure(&found, "response_us.write.mean"), 3.0 * 130.6 + 4.0 * 305.6, 1e-9, "in turn on one chip");
    // Spread over four chips they overlap.
    let spread = [
        "ftl.logical_page_kib=16",
        "ftl.stride_pages=1",
        "flash.channels=4",
        ONE[1],
        "host.link_us_per_sector=0",
    ];
    let found = run("atc08-32gb", "0 0 0 8 0\n", &spread);
    near(figure(&found, "response_us.write.mean"), 130.6 + 305.6, 1e-9, "side by side");
}

/// 8 sectors of 0.2384 us, rounded up to a ns, before a write and after a read; not in the service time.
#[test]
fn the_link_carries_one_request_at_a_time() {
    let found = run("atc08-32gb", "0 0 0 8 0\n5000000 0 64 8 1\n", &[SMALL]);
    near(figure(&found, "response_us.write.mean"), 305.6 + 1.908, 1e-9, "a write");
    near(figure(&found, "response_us.read.mean"), 130.6 + 1.908, 1e-9, "a read");
    near(figure(&found, "service_us.write.mean"), 305.6, 1e-9, "its service");
    // Two reads on two elements are ready at once; the second leaves after the first.
    let found = run("atc08-32gb", "0 0 0 8 1\n0 0 8 8 1\n", &[SMALL]);
    near(figure(&found, "response_us.read.mean"), 130.6 + 1.5 * 1.908, 1e-9, "two reads");
    // Two writes to two elements: the second's data come in after the first's.
    let found = run("atc08-32gb", "0 0 0 8 0\n0 0 8 8 0\n", &[SMALL]);
    near(figure(&found, "response_us.write.mean"), 305.6 + 1.5 * 1.908, 1e-9, "two writes");
}

#[test]
fn who_waits_outside_comes_in_by_address() {
    let trace = "0 0 400 8 1\n1 0 800 8 1\n2 0 160 8 1\n3 0 640 8 1\n4 0 400 8 1\n";
    let order = |order: &str| -> Vec<u64> {
        let mut job = job("atc08-32gb", trace, &[SMALL, "host.queue_depth=1", order]);
        job.keep_requests = true;
        done(&job).requests.iter().map(|request| request.offset / 512).collect()
    };
    assert_eq!(order("host.order=c-look"), [400, 400, 640, 800, 160]);
    assert_eq!(order("host.order=arrival"), [400, 800, 160, 640, 400]);
}

/// A page that is on its way is read from flash when it has arrived there, or from the controller's memory.
#[test]
fn a_read_waits_behind_its_program() {
    let trace = "0 0 0 8 0\n1000 0 0 8 1\n";
    let read = |set: &str| {
        let mut job = job("atc08-32gb", trace, &[SMALL, "host.link_us_per_sector=0", set]);
        job.verify = true;
        let found = summary(&job);
        assert_eq!(figure(&found, "integrity.wrong_reads"), 0.0);
        figure(&found, "response_us.read.mean")
    };
    near(read("ftl.read_in_flight=flash"), 305.6 - 1.0 + 130.6, 1e-9, "from flash");
    assert_eq!(read("ftl.read_in_flight=memory"), 0.0);
    // Also after a write that waits itself.
    let found =
        run("atc08-32gb", "0 0 64 8 0\n1 0 0 8 0\n2 0 0 8 1\n", &[SMALL, "host.link_us_per_sector=0"]);
    near(figure(&found, "response_us.read.mean"), 2.0 * 305.6 + 130.6 - 0.002, 1e-6, "in its turn");
}

/// A sector costs a whole page, and the rest of the page is not read; where it is merged it is.
#[test]
fn parts_of_pages() {
    let set = [SMALL, "host.link_us_per_sector=0"];
    let found = run("atc08-32gb", "0 0 0 1 0\n5000000 0 64 1 1\n", &set);
    near(figure(&found, "response_us.write.mean"), 305.6, 1e-9, "a sector written");
    near(figure(&found, "response_us.read.mean"), 130.6, 1e-9, "a sector read");
    let merged = run("atc08-32gb", "0 0 0 1 0\n", &[SMALL, set[1], "ftl.partial_writes=merge"]);
    assert_eq!(figure(&merged, "operations.read.update"), 1.0);
}

/// Every 63rd page is followed by a summary: a sector's transfer and a program.
#[test]
fn summaries_are_written_and_counted() {
    let trace = "synth:sequential,requests=630,write=1,size=4KiB,depth=1";
    let set =
        ["flash.channels=1", "flash.planes_per_die=1", "flash.dies_per_chip=1", "flash.blocks_per_plane=128"];
    let found = run("atc08-32gb", trace, &set);
    assert_eq!(figure(&found, "operations.program.metadata"), 10.0);
    near(figure(&found, "service_us.write.mean"), 305.6 + 213.2 / 63.0, 1e-9, "with summaries");
    near(figure(&found, "write_amplification.metadata"), 1.0 / 63.0, 1e-9, "amplification");
    let without = run("atc08-32gb", trace, &[set[0], set[1], set[2], set[3], "flash.summary_page=false"]);
    near(figure(&without, "service_us.write.mean"), 305.6, 1e-9, "without");
}

/// Which plane a page goes to shows in what cleaning finds: pages that stay in their plane keep it balanced.
#[test]
fn planes_are_chosen_as_the_drive_says() {
    let moved = |choice: &str, victim: &str| {
        let trace = "synth:random,requests=60k,write=1,size=4KiB,depth=8";
        let set = [ONE[0], "flash.blocks_per_plane=48", choice, victim];
        let mut job = job("atc08-32gb", trace, &set);
        job.verify = true;
        let found = summary(&job);
        assert_eq!(figure(&found, "integrity.wrong_reads"), 0.0);
        assert!(figure(&found, "operations.copyback.gc") > 0.0);
        found["digest"].clone()
    };
    let all: Vec<_> = ["in-turn", "most-free", "same"]
        .iter()
        .map(|choice| moved(&format!("ftl.plane_choice={choice}"), "ftl.gc.victim=greedy-last"))
        .chain([moved("ftl.plane_choice=most-free", "ftl.gc.victim=greedy")])
        .collect();
    for (n, one) in all.iter().enumerate() {
        assert!(all[..n].iter().all(|other| other != one), "{n} is like one before");
    }
}

/// Cleaning in the background is over before the next write comes; in the foreground that write waits for it.
#[test]
fn cleaning_waits_for_requests_or_not() {
    let mean = |background: &str| {
        let trace = "synth:random,requests=30k,write=1,size=4KiB,rate=100";
        let found = run("atc08-32gb", trace, &[ONE[0], "flash.blocks_per_plane=48", background]);
        assert!(figure(&found, "operations.erase.gc") > 0.0);
        figure(&found, "response_us.write.mean")
    };
    let (foreground, background) = (mean("ftl.gc.background=false"), mean("ftl.gc.background=true"));
    assert!(foreground > background + 50.0, "{foreground} us, {background} in the background");
}

/// With few requests a soft threshold cleans between them: no write waits, where without it some do.
#[test]
fn cleaning_in_idle_moments_keeps_out_of_the_way() {
    let found = |soft: &str| {
        let trace = "synth:random,requests=30k,write=1,size=4KiB,rate=100";
        let run =
            run("atc08-32gb", trace, &[ONE[0], "flash.blocks_per_plane=48", "ftl.gc.background=false", soft]);
        assert!(figure(&run, "operations.erase.gc") > 0.0);
        ["mean", "max"].map(|name| figure(&run, &format!("response_us.write.{name}")))
    };
    let [hard, hard_max] = found("ftl.gc.background=false");
    let [soft, soft_max] = found("ftl.gc.soft_threshold=0.12");
    assert!(soft + 50.0 < hard, "{soft} us, {hard} without");
    // At most one step, an erase at that, comes before a request; a block's moves would be several ms.
    assert!(soft_max < 4_000.0 && hard_max > 4_000.0, "{soft_max} us, {hard_max} without");
}

/// DVS-RAID's drive has 4.8 % of its pages free once it is full: a soft threshold above that cannot be met, one below
/// waits until that share has been written. Both are said, and nothing is collected after the last request.
#[test]
fn a_soft_threshold_out_of_reach_is_pointed_out() {
    let found = |soft: &str| {
        let set = ["redundancy.scheme=\"none\"", "flash.blocks_per_plane=512", soft];
        run("dvs-8chip", "synth:random,requests=2k,write=1,size=4KiB,rate=1k", &set)
    };
    let says = |run: &Value, text: &str| {
        let said = run["warnings"].as_array().expect("a list").iter().filter_map(Value::as_str);
        said.filter(|said| said.contains(text)).count() == 1
    };
    let beyond = found("ftl.gc.soft_threshold=0.1");
    assert!(says(&beyond, "ftl.gc.soft_threshold: 0.1 cannot be reached with a full drive"));
    assert!(figure(&beyond, "operations.erase.gc") > 100.0);
    assert!((0.5..=1.0).contains(&figure(&beyond, "utilization.die_max")), "{}", beyond["utilization"]);
    let unreached = found("ftl.gc.soft_threshold=0.02");
    assert!(says(
        &unreached,
        "ftl.gc.soft_threshold = 0.02 has a plane collected that has less than this share free"
    ));
    assert_eq!(figure(&unreached, "operations.erase.gc"), 0.0);
    assert!(!says(&found("ftl.gc.threshold=0"), "soft_threshold"));
}

/// Two dies, or four pairs of planes, in rounds: the k-th of a round is done 200 us and k transfers after its beginning, the
/// next round begins when the last one is done, and writes begin when all reads are done.
#[test]
fn units_work_in_rounds() {
    let set = ["flash.channels=1", "flash.blocks_per_plane=32", "host.link_us_per_sector=0"];
    let write = |more: &str| {
        // Four pages at once: the first finds the package idle and goes alone.
        let found = run("atc08-rounds", "0 0 0 32 0\n", &[&set[..], &[more]].concat());
        figure(&found, "response_us.write.mean")
    };
    let (alone, transfer) = (305.6, 105.6);
    near(write("flash.busy_unit=die"), alone + (200.0 + 2.0 * transfer) + alone, 1e-9, "two, and one more");
    near(write("flash.busy_unit=plane-pair"), alone + (200.0 + 3.0 * transfer), 1e-9, "three of four");
    // A write, and 1 us later another one and a read: both wait for the first, and the read goes before the write.
    let found = run("atc08-rounds", "0 0 0 8 0\n1000 0 8 8 0\n1000 0 4096 8 1\n", &set);
    near(figure(&found, "response_us.read.mean"), alone - 1.0 + 130.6, 1e-9, "behind the first write");
    near(figure(&found, "response_us.write.max"), alone - 1.0 + 130.6 + alone, 1e-9, "behind the read");
    // Both dies of a package collect at once, and the package waits for the longer one.
    let churn = "synth:random,requests=40k,write=1,size=4KiB,depth=8";
    let time = |more: &str| {
        1.0 / figure(&run("atc08-rounds", churn, &[&set[..], &[more]].concat()), "throughput.iops")
    };
    let (one, two, four) =
        (time("flash.busy_unit=chip"), time("flash.busy_unit=die"), time("flash.busy_unit=plane-pair"));
    assert!(four < 0.95 * two && two < 0.95 * one, "{one}, {two}, {four} s a request");
}

/// What a log of operations says of each: when it began and ended, ns, where, and what.
fn logged(drive: &str, trace: &str, set: &[&str]) -> Vec<(f64, f64, Vec<String>, String)> {
    let mut job = job(drive, trace, set);
    job.operations = Some(output("operations.csv"));
    done(&job);
    let log = records(job.operations.as_deref().unwrap()).split_off(1);
    let row = |record: Vec<String>| {
        let time = |at: usize| record[at].parse::<f64>().unwrap();
        (time(0), time(1), record[2..8].to_vec(), record[8].clone())
    };
    log.into_iter().map(row).collect()
}

/// A pool has one open block: the pages of a chip, or of a channel's chips, follow each other in it, and the next one is
/// the next plane's.
#[test]
fn a_pool_has_one_open_block() {
    let set =
        ["flash.channels=2", "flash.chips_per_channel=2", "flash.planes_per_die=2", "start.existing=none"];
    let all = ["flash.blocks_per_plane=32", "ftl.read_in_flight=memory", "ftl.allocation=dynamic-in-channel"];
    let trace = "synth:sequential,requests=400,write=1,size=4KiB,rate=100";
    for (pool, planes) in [("plane", 8), ("element", 2), ("gang", 1)] {
        let pool = format!("ftl.pool={pool}");
        let set = [&set[..], &all[..], &[&pool, "ftl.plane_choice=in-turn"]].concat();
        let log = logged("atc08-32gb", trace, &set);
        // 200 pages of the first channel, 63 a block: as many blocks as are open, and those that follow them.
        let blocks: Vec<&[String]> =
            log.iter().filter(|row| row.2[0] == "0").map(|row| &row.2[..5]).collect();
        let mut used = blocks.clone();
        used.sort_unstable();
        used.dedup();
        assert_eq!(used.len(), planes.max(200_usize.div_ceil(63)), "{pool}");
        let changes = blocks.windows(2).filter(|two| two[0] != two[1]).count();
        assert_eq!(changes < 4, planes == 1, "{pool}: {changes} changes of the block");
    }
}

/// Cleaning begins when a pool of 8 planes has its threshold's share of blocks or fewer erased, takes whole blocks one after
/// the other until it has one more, and a move crosses the pins where it leaves its plane.
#[test]
fn a_pool_is_cleaned_as_one() {
    let trace = "synth:random,requests=60k,write=1,size=4KiB,depth=1";
    // 20 of 256 blocks or fewer: below 21.
    let set = ["flash.channels=1", "flash.blocks_per_plane=32", "ftl.gc.threshold=0.08203125"];
    let log = logged("atc08-element", trace, &set);
    let place = |row: &(f64, f64, Vec<String>, String)| (row.2[2].clone(), row.2[3].clone());
    // A move that fills a block takes the block's summary page with it.
    let with_summary = |us: f64, alone: f64| if us > alone + 1.0 { alone + 213.2 } else { alone };
    let (mut crossed, mut stayed, mut blocks, mut moves_us) = (0, 0, 0, 0.0);
    let mut episodes = Vec::new();
    for (n, row) in log.iter().enumerate() {
        let us = (row.1 - row.0) / 1e3;
        match row.3.as_str() {
            "read" => {
                crossed += 1;
                assert_eq!(log[n + 1].3, "program");
                assert_ne!(place(row), place(&log[n + 1]), "who stays in a plane does not cross the pins");
                let us = (log[n + 1].1 - row.0) / 1e3;
                near(us, with_summary(us, 436.2), 1e-9, "a move");
                moves_us += us;
            }
            "copyback" => {
                stayed += 1;
                near(us, with_summary(us, 225.0), 1e-9, "a copy");
                moves_us += us;
            }
            "erase" => {
                blocks += 1;
                // Reported from its grant on, with all moves.
                near(us, 1500.0 + std::mem::take(&mut moves_us), 1e-9, "a collection");
                // A page of the host comes next, or another victim's.
                let host = log.get(n + 1).is_some_and(|next| next.3 == "program");
                if host {
                    episodes.push(std::mem::take(&mut blocks));
                }
            }
            _ => {}
        }
    }
    let share = f64::from(stayed) / f64::from(stayed + crossed);
    near(share, 0.125, 0.1, "of the moves that stay in one of eight planes");
    assert!(episodes.len() > 50 && episodes.iter().all(|&blocks| blocks >= 2), "{episodes:?}");
    // The same room in planes by themselves: each of eight has an open block and a threshold.
    let summary = |set: &[&str]| run("atc08-element", trace, &[&["flash.channels=1"], set].concat());
    let moved =
        |found: &Value| figure(found, "operations.program.gc") + figure(found, "operations.copyback.gc");
    let pool = summary(&set[1..]);
    assert_eq!(figure(&pool, "operations.program.gc"), f64::from(crossed));
    let planes = summary(&["flash.blocks_per_plane=32", "ftl.gc.threshold=0.08203125", "ftl.pool=plane"]);
    assert!(
        moved(&pool) < 0.97 * moved(&planes),
        "{} pages moved, {} by planes",
        moved(&pool),
        moved(&planes)
    );
}

/// Contents survive everything that was added, alone and together.
#[test]
fn every_read_brings_what_was_written_last() {
    let sets: &[&[&str]] = &[
        &[],
        &["ftl.gc.copyback=off", "ftl.gc.run=steps"],
        &["ftl.gc.run=steps", "flash.bus=transfers"],
        &["ftl.gc.copyback=parity", "ftl.gc.soft_threshold=0.1"],
        &["ftl.gc.copyback=parity-skip", "flash.summary_page=false", "ftl.gc.soft_threshold=0.2"],
        &["flash.busy_unit=plane-pair", "flash.bus=transfers", "ftl.read_in_flight=memory"],
        &["flash.control_gang=2", "ftl.gc.soft_threshold=0.1", "ftl.gc.run=steps"],
        &["ftl.plane_choice=same", "ftl.logical_page_kib=16"],
        &["ftl.logical_page_kib=32", "ftl.stride_pages=1", "ftl.partial_writes=merge"],
        &["flash.control_gang=2", "host.queue_depth=4"],
        &[
            "flash.control_gang=2",
            "flash.bus=transfers",
            "flash.busy_unit=plane-pair",
            "ftl.gc.soft_threshold=0.2",
        ],
        &["flash.control_gang=2", "flash.chips_per_channel=2", "flash.busy_unit=die"],
        &["flash.bus=rounds", "flash.control_gang=2", "flash.busy_unit=die", "ftl.gc.soft_threshold=0.2"],
        &["flash.bus=rounds", "flash.control_gang=2", "flash.commands.multi_plane=match", "ftl.gc.run=steps"],
        &["flash.chips_per_channel=2", "ftl.allocation=dynamic-in-chip", "ftl.read_in_flight=memory"],
        &["flash.bus=rounds", "flash.busy_unit=die", "ftl.read_in_flight=memory"],
        &[
            "flash.bus=rounds",
            "flash.busy_unit=plane-pair",
            "ftl.read_in_flight=memory",
            "ftl.gc.copyback=off",
        ],
        &["ftl.pool=element", "ftl.gc.copyback=off"],
        &["ftl.pool=element", "ftl.gc.run=steps", "flash.bus=transfers", "ftl.gc.soft_threshold=0.12"],
        &["ftl.pool=gang", "flash.chips_per_channel=3", "ftl.gc.copyback=parity"],
        &["ftl.pool=gang", "flash.chips_per_channel=2", "flash.blocks_per_plane=12", "ftl.map=dftl"],
        &["ftl.pool=element", "ftl.streams=2", "ftl.gc.separate=true", "ftl.logical_page_kib=16"],
    ];
    for (n, set) in sets.iter().enumerate() {
        for write in ["0.5", "0.95"] {
            let trace = format!(
                "synth:random,requests=12k,write={write},size=1KiB:0.3/4KiB:0.4/12KiB:0.3,align=512,rate=4k"
            );
            let mut all = vec!["flash.channels=2", "flash.blocks_per_plane=24"];
            all.extend_from_slice(set);
            let mut job = job("atc08-32gb", &trace, &all);
            (job.verify, job.seed) = (true, Some(n as u64 + 3));
            let found = summary(&job);
            assert_eq!(figure(&found, "integrity.wrong_reads"), 0.0, "{set:?}");
            assert_eq!(found, summary(&job), "the same twice");
        }
    }
}
