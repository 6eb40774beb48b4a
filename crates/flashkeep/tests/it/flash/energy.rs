//! Times of several page types, to the nanosecond; energy, exactly as computed by hand.

use crate::common::{figure, job, summary};
use serde_json::{Value, json};

/// One die of one plane: a command 1 µs, a transfer 10.24 µs (1 KiB), erases 1 ms; dynamic placement, so the first
/// pages written are pages 0, 1, 2, … of a block.
const DIE: &str = r#"
[flash]
channels = 1
chips_per_channel = 1
planes_per_die = 1
blocks_per_plane = 32
pages_per_block = 8
page_kib = 1
sector_bytes = 1024
timing = { erase_us = 1000, bus_ns_per_byte = 10, command_ns = 1000, read_us = 30, program_us = 300 }
[ftl]
over_provisioning = 1
[start]
existing = "none"
"#;

const READS: &str = "flash.timing.read_us=[20, 40, 80]";
const PROGRAMS: &str = "flash.timing.program_us=[200, 400, 800.0001]";

/// Pages 0 to 7 written one after the other on an idle drive, then read: response times in ns.
fn of_eight_pages(set: &[&str]) -> (Vec<u64>, Vec<u64>) {
    let line = |at: u64, page: u64, op: u8| format!("{} 0 {} 2 {op}\n", at * 10_000_000, page * 2);
    let trace: String = (0..8).map(|n| line(n, n, 0)).chain((0..8).map(|n| line(8 + n, n, 1))).collect();
    let mut job = job(DIE, &trace, set);
    job.keep_requests = true;
    let run = crate::common::done(&job);
    let ns: Vec<u64> = run.requests.iter().map(|request| request.response_ns).collect();
    (ns[8..].to_vec(), ns[..8].to_vec())
}

#[test]
fn each_page_takes_the_time_of_its_type() {
    let ns = |array: [u64; 3], types: [usize; 8]| types.map(|kind| 11_240 + array[kind]).to_vec();
    let by_type = |types| (ns([20_000, 40_000, 80_000], types), ns([200_000, 400_000, 800_001], types));
    assert_eq!(of_eight_pages(&[READS, PROGRAMS]), by_type([0, 1, 2, 0, 1, 2, 0, 1]));
    for (pattern, types) in [
        ("001122", [0, 0, 1, 1, 2, 2, 0, 0]),
        ("0001:12", [0, 0, 0, 1, 1, 2, 1, 2]),
        (":2", [2; 8]),
        ("00000000000:1", [0; 8]),
    ] {
        let pattern = format!("flash.page_types={pattern}");
        assert_eq!(of_eight_pages(&[READS, PROGRAMS, &pattern]), by_type(types), "{pattern}");
    }
    let (reads, writes) = of_eight_pages(&[READS]);
    assert_eq!((reads[2], writes), (91_240, vec![311_240; 8]), "one time for all programs");
}

#[test]
fn the_channel_is_held_for_as_long_as_the_page_takes() {
    // Two dies: the second program waits for the whole of the first, a page of the first type.
    let two = ["flash.chips_per_channel=2", "flash.bus=operations", PROGRAMS];
    let run = summary(&job(DIE, "0 0 0 4 0\n", &two));
    assert_eq!(figure(&run, "response_us.write.mean"), 2.0 * 211.24);
}

#[test]
fn collection_in_one_go_takes_its_pages_times() {
    let set = [READS, PROGRAMS, "ftl.gc.run=hold-channel", "ftl.over_provisioning=0.4"];
    let mut job =
        job(DIE, "synth:random,requests=2000,write=1,size=1KiB,depth=1", &[&set[..], &CURRENTS].concat());
    job.existing = Some("all".to_owned());
    let run = summary(&job);
    assert!(figure(&run, "operations.program.gc") > 100.0);
    // The channel is held for C, R, X, C, X and P of each move; all but C are also in the energy, 1 mA at 1 V making a
    // pJ of every ns.
    let pj = |path: &str| figure(&run, path) * 1e12;
    let pages = figure(&run, "operations.program.host") + 2.0 * figure(&run, "operations.program.gc");
    let moved = pj("energy.operations_j.read.gc") + pj("energy.operations_j.program.gc");
    let channel = run["utilization"]["channel"][0].as_f64().unwrap() * figure(&run, "simulated_s") * 1e9;
    let host = figure(&run, "operations.program.host") * 10_240.0;
    assert!((channel - (moved + host + 1e3 * pages)).abs() < 1e3, "{channel} {moved} {host} {pages}");
}

const CURRENTS: [&str; 6] = [
    "flash.energy.voltage_v=1",
    "flash.energy.read_ma=1",
    "flash.energy.program_ma=1",
    "flash.energy.erase_ma=1",
    "flash.energy.transfer_ma=1",
    "flash.energy.standby_ma=0",
];

/// Two writes of whole pages and one read of a page of the second type, 10 ms apart.
const THREE: &str = "0 0 0 2 0\n10000000 0 2 2 0\n20000000 0 2 2 1\n";

fn close(found: &Value, joules: f64) {
    let found = found.as_f64().expect("a number");
    assert!((found - joules).abs() <= joules * 1e-12, "{found} for {joules}");
}

#[test]
fn energy_is_current_times_voltage_times_time() {
    let set = [
        READS,
        PROGRAMS,
        "flash.energy.voltage_v=3.3",
        "flash.energy.read_ma=10",
        "flash.energy.program_ma=20",
        "flash.energy.erase_ma=30",
        "flash.energy.transfer_ma=5",
        "flash.energy.standby_ma=0.05",
        "buffer.energy.voltage_v=1.5",
        "buffer.energy.active_ma=100",
        "buffer.energy.standby_ma=40",
        "buffer.energy.refresh_ma=2",
    ];
    let run = summary(&job(DIE, THREE, &set));
    let energy = &run["energy"];
    let seconds = 20e-3 + 51.24e-6;
    assert_eq!(figure(&run, "simulated_s"), seconds);
    let (read, program, transfer) =
        (10e-3 * 3.3 * 40e-6, 20e-3 * 3.3 * (200e-6 + 400e-6), 5e-3 * 3.3 * 3.0 * 10.24e-6);
    let standby = 0.05e-3 * 3.3 * (seconds - 640e-6 - 3.0 * 10.24e-6);
    close(&energy["flash_j"]["read"], read);
    close(&energy["flash_j"]["program"], program);
    assert_eq!(energy["flash_j"]["erase"], 0.0);
    close(&energy["flash_j"]["transfer"], transfer);
    close(&energy["flash_j"]["standby"], standby);
    let flash = read + program + transfer + standby;
    close(&energy["flash_j"]["total"], flash);
    close(&energy["operations_j"]["read"]["host"], read + transfer / 3.0);
    close(&energy["operations_j"]["program"]["host"], program + transfer * 2.0 / 3.0);
    assert_eq!(energy["operations_j"]["program"]["gc"], 0.0);
    // A DRAM of 0 MiB draws nothing.
    assert!(energy["dram_j"].is_null());
    close(&energy["total_j"], flash);
    close(&energy["mean_w"], flash / seconds);
    close(&energy["per_gib_written_j"], flash * f64::from(1 << 19));
}

#[test]
fn sectors_in_and_out_keep_the_memory_active() {
    let set = ["buffer.dram_mib=0.0625", "buffer.energy.voltage_v=2", "buffer.energy.active_ma=100"];
    // Two pages enter, and will leave; one of them is read.
    let run = summary(&job(DIE, THREE, &set));
    close(&run["energy"]["dram_j"], 0.2 * 5.0 * 1024.0 * 0.3125e-9);
    assert_eq!(run["energy"]["flash_j"], Value::Null, "nothing is known of the flash");
    let slower = summary(&job(DIE, THREE, &[&set[..], &["buffer.energy.active_ns_per_byte=2.5"]].concat()));
    close(&slower["energy"]["dram_j"], 0.2 * 5.0 * 1024.0 * 2.5e-9);
}

#[test]
fn erases_have_the_energy_of_their_time() {
    let mut job = job(DIE, "synth:random,requests=2000,write=1,size=1KiB,depth=1", &CURRENTS);
    job.existing = Some("all".to_owned());
    let run = summary(&job);
    let erases = figure(&run, "operations.erase.gc");
    assert!(erases > 10.0);
    close(&run["energy"]["flash_j"]["erase"], erases * 1e-6);
    close(&run["energy"]["operations_j"]["program"]["gc"], figure(&run, "operations.program.gc") * 310.24e-9);
}

#[test]
fn what_is_not_given_is_null_and_changes_nothing() {
    let plain = summary(&job(DIE, THREE, &[]));
    assert_eq!(plain["energy"], Value::Null);
    let part = summary(&job(DIE, THREE, &["flash.energy.voltage_v=3.3", "flash.energy.read_ma=10"]));
    assert_eq!(part["digest"], plain["digest"], "the digest is over what was simulated");
    let flash = &part["energy"]["flash_j"];
    assert_eq!(
        (&flash["program"], &flash["transfer"], &flash["standby"]),
        (&json!(null), &json!(null), &json!(null))
    );
    close(&flash["total"], 10e-3 * 3.3 * 30e-6);
    assert_eq!(part["energy"]["operations_j"]["program"]["host"], Value::Null);
}

#[test]
fn the_warm_up_costs_no_energy() {
    let with = |warmup: &str| {
        let mut job = job(DIE, THREE, &CURRENTS);
        job.warmup = Some(warmup.to_owned());
        summary(&job)["energy"]["operations_j"].clone()
    };
    assert_eq!(with("2")["program"]["host"], 0.0);
    close(&with("2")["read"]["host"], 40.24e-9);
    close(&with("1")["program"]["host"], 310.24e-9);
}
