//! Wear of maps of blocks: blocks are retired and wear is leveled by the policies of page maps.

use crate::common::{figure, job, summary};
use serde_json::Value;

fn run(map: &str, trace: &str, set: &[&str]) -> Value {
    let drive = format!(
        "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 2\n\
         blocks_per_plane = 24\npages_per_block = 8\npage_kib = 4\n[ftl]\nover_provisioning = 0.5\n\
         map = \"{map}\"\n[start]\nexisting = \"all\"\n"
    );
    let mut job = job(&drive, trace, set);
    job.verify = true;
    let run = summary(&job);
    assert_eq!(figure(&run, "integrity.wrong_reads"), 0.0);
    run
}

/// No block is erased more often than its budget allows, and all pages written before the end are there.
#[test]
fn worn_blocks_are_retired_until_a_write_is_refused() {
    for map in ["block", "hybrid"] {
        let trace = "synth:random,requests=8k,write=0.5,size=4KiB,rate=100";
        let run = run(map, trace, &["ftl.wear.erase_budget=20"]);
        assert!(figure(&run, "wear.expired_blocks") > 2.0, "{map}");
        assert_eq!(figure(&run, "wear.erases_max"), 20.0, "{map}");
        assert!(figure(&run, "wear.first_loss_s") > figure(&run, "wear.first_block_dead_s"), "{map}");
        assert_eq!(figure(&run, "workload.requests") + figure(&run, "wear.refused_requests"), 8_000.0);
        assert!(figure(&run, "integrity.lost_pages") <= 1.0, "{map}: the page that was refused");
    }
}

/// Only an eighth of the pages is written again: without leveling the blocks of the others are never erased.
#[test]
fn cold_data_move_into_worn_blocks() {
    for map in ["block", "hybrid"] {
        let spread = |levelling: &str| {
            let levelling = format!("ftl.wear.levelling=\"{levelling}\"");
            let trace = "synth:random,requests=4k,write=1,size=4KiB,rate=100,footprint=128KiB";
            let run = run(map, trace, &[&levelling]);
            assert_eq!(figure(&run, "integrity.lost_pages"), 0.0);
            let moved = figure(&run, "operations.program.migrate");
            (figure(&run, "wear.erases_stddev") / figure(&run, "wear.erases_mean"), moved)
        };
        let (none, moved) = spread("none");
        assert_eq!(moved, 0.0);
        let (migration, moved) = spread("migration");
        assert!(moved > 0.0 && migration < none / 2.0, "{map}: {migration} of {none}");
        let (both, _) = spread("both");
        assert!(both < none / 2.0, "{map}: {both} of {none}");
    }
}
