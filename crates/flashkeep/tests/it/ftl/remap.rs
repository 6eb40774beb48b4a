//! Where pages cannot get other addresses, old versions are copied; and logical blocks that are aged.

use crate::common::{figure, job, summary};
use serde_json::Value;

/// One write of page 3, to three channels of one plane each, or one.
fn run(channels: u32, map: &str, set: &[&str]) -> Value {
    let drive = format!(
        "[flash]\nchannels = {channels}\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
         blocks_per_plane = 16\npages_per_block = 8\npage_kib = 4\n[ftl]\nover_provisioning = 0.6\n\
         map = \"{map}\"\n"
    );
    let mut job = job(&drive, "0 0 24 8 0\n", set);
    job.verify = true;
    let run = summary(&job);
    assert_eq!(figure(&run, "integrity.wrong_reads") + figure(&run, "integrity.lost_pages"), 0.0);
    run
}

fn counts(run: &Value, keys: [&str; 3]) -> [f64; 3] {
    keys.map(|key| figure(run, &format!("operations.{key}")))
}

/// The parity takes two reads and a program later. A copy takes another read and program, and the write waits for both.
#[test]
fn an_old_version_is_copied_where_the_map_cannot_remap_it() {
    let fra = [
        "redundancy.scheme=fra",
        "redundancy.idle_ms=1e6",
        "redundancy.shadow=0.1",
        "start.existing=\"all\"",
    ];
    let copies = |map: &str| counts(&run(3, map, &fra), ["read.parity", "program.parity", "program.host"]);
    assert_eq!(copies("page"), [2.0, 1.0, 1.0]);
    assert_eq!(copies("dftl"), [2.0, 1.0, 1.0]);
    assert_eq!(copies("block"), [3.0, 2.0, 1.0]);
    assert_eq!(copies("hybrid"), [3.0, 2.0, 1.0]);
}

/// Of an aged block nothing is valid: the block that replaces it needs no copies, and the old one is erased at once.
#[test]
fn a_logical_block_that_is_aged_is_in_the_way() {
    let merges = |set: &[&str]| counts(&run(1, "block", set), ["read.gc", "program.gc", "erase.gc"]);
    assert_eq!(merges(&[]), [0.0; 3]);
    let aged = ["ageing.model=approach1", "ageing.aged_ratio=0.8"];
    assert_eq!(merges(&aged), [0.0, 0.0, 1.0]);
}

/// Each channel has two chips of 64 pages, of which the host and hidden old versions can use 96. Old versions of pages
/// that are bound to one chip fill it, and later writes go to the other one.
#[test]
fn a_full_plane_overflows_to_the_next() {
    let run = |scheme: &str, allocation: &str| {
        let drive = "[flash]\nchannels = 3\nchips_per_channel = 2\ndies_per_chip = 1\nplanes_per_die = 1\n\
                     blocks_per_plane = 16\npages_per_block = 4\npage_kib = 4\n[ftl]\nover_provisioning = 1\n";
        // Stripes with even numbers are bound to the first chip of each channel: 32 of them, two data pages each.
        let stripes = (0..32).map(|stripe| format!("{} 0 {} 8 0\n", stripe * 10_000_000, stripe * 32));
        let mut job = job(
            drive,
            &stripes.collect::<String>(),
            &[
                &format!("redundancy.scheme={scheme}"),
                &format!("ftl.allocation={allocation}"),
                "redundancy.idle_ms=1e6",
                "redundancy.shadow=0.3",
                "start.existing=\"all\"",
            ],
        );
        job.verify = true;
        let run = summary(&job);
        assert_eq!(figure(&run, "integrity.wrong_reads") + figure(&run, "integrity.lost_pages"), 0.0);
        counts(&run, ["program.host", "program.gc", "erase.gc"])
    };
    for scheme in ["fra", "ppc"] {
        let [programs, ..] = run(scheme, "CWDP");
        assert_eq!(programs, 32.0);
        assert_eq!(run(scheme, "WCDP")[0], 32.0);
        assert_eq!(run(scheme, "dynamic")[0], 32.0);
    }
}
