//! What arrays cost, and how long their flash lasts: the hybrid-backup paper's table 1 beside runs.

use crate::common::{figure, file, job, summary};
use flashkeep::job::Job;
use flashkeep::run;
use serde_json::Value;
use std::ops::ControlFlow;

const DRIVE: &str = "price_per_gb = 2\n[flash]\nchannels = 1\nchips_per_channel = 1\nblocks_per_plane = 64\n\
                     pages_per_block = 16\npage_kib = 4\n[ftl]\nover_provisioning = 0.6\n";
const DISK: &str = "price_per_gb = 0.1\n[disk]\ncapacity_gb = 0.02\n";
const WRITES: &str = "synth:random,requests=3k,write=1,size=4KiB,depth=1";

fn array(scheme: &str, drives: usize, disks: usize, more: &[&str]) -> Job {
    let mut members = format!("\"{drives} * {}\"", file("drive.toml", DRIVE));
    if disks > 0 {
        members += &format!(",\"{disks} * {}\"", file("disk.toml", DISK));
    }
    let (members, scheme) = (format!("members=[{members}]"), format!("redundancy.scheme={scheme}"));
    let set = [&[&*members, &*scheme, "start.existing=\"all\""], more].concat();
    Job { untimed: true, ..job("\n", WRITES, &set) }
}

fn close(run: &Value, key: &str, expected: f64) {
    let found = figure(run, &format!("economy.{key}"));
    assert!((found / expected - 1.0).abs() < 1e-9, "{key}: {found}, not {expected}");
}

/// Random writes of single pages: table 1's lifespans follow from the pages that the drives were given to write.
#[test]
fn table_1_in_formula_and_run() {
    let unit = &["redundancy.stripe_kib=4"][..];
    for (scheme, drives, disks, more, [ssd, disk, life]) in [
        ("none", 3, 0, unit, [1.0, 0.0, 1.0]),
        ("mirror", 2, 0, &[], [2.0, 0.0, 1.0]),
        ("mirror", 3, 0, &[], [3.0, 0.0, 1.0]),
        ("mirror", 1, 1, &[], [1.0, 1.0, 1.0]),
        ("raid5", 5, 0, unit, [1.25, 0.0, 0.625]),
        ("raid6", 6, 0, unit, [1.5, 0.0, 0.5]),
        ("backup", 1, 1, &["redundancy.segment_kib=64"], [1.0, 1.0, 1.0]),
    ] {
        let run = summary(&array(scheme, drives, disks, more));
        close(&run, "formula.ssd_gb", ssd);
        close(&run, "formula.lifespan", life);
        close(&run, "formula.cost_per_gb", 2.0 * ssd + 0.1 * disk);
        close(&run, "lifespan", life);
        let least = figure(&run, "economy.lifespan_least");
        assert!((0.9 * life..=life * (1.0 + 1e-9)).contains(&least), "{scheme}: {least} of {life}");
    }
}

/// The parity drive of RAID-4 is written with every page, four times as often as the others.
#[test]
fn the_drive_that_is_written_most_lasts_least() {
    let run = summary(&array("raid4", 5, 0, &["redundancy.stripe_kib=4"]));
    assert!(run["economy"]["formula"].is_null(), "table 1 has none");
    close(&run, "lifespan", 0.625);
    close(&run, "lifespan_least", 0.25);
}

#[test]
fn an_array_costs_what_its_members_cost() {
    let run = summary(&array("mirror", 2, 0, &[]));
    let alone = summary(&job(DRIVE, WRITES, &[]));
    close(&run, "cost_usd", 2.0 * figure(&alone, "economy.cost_usd"));
    close(&run, "cost_per_gb", 4.0);
    close(&alone, "cost_per_gb", 2.0);
    let backup = |more: &[&str]| summary(&array("backup", 1, 1, more));
    let small = "redundancy.segment_kib=64";
    assert!(backup(&[small])["economy"]["cost_usd"].is_null(), "its memory has no price");
    let cost = |price: &str| figure(&backup(&[small, price]), "economy.cost_usd");
    let (free, dear) = (cost("redundancy.nvram_price_per_gb=0"), cost("redundancy.nvram_price_per_gb=1000"));
    assert!((dear - free - 1.048_576).abs() < 1e-9, "a MiB: {}", dear - free);
    let wrong = array("mirror", 2, 0, &["price_per_gb=3"]);
    let error = run_of(&wrong);
    assert!(error.contains("price_per_gb") && error.contains("members"), "{error}");
}

fn run_of(job: &Job) -> String {
    run(job, &mut |_| ControlFlow::Continue(())).expect_err("not accepted").to_string()
}
