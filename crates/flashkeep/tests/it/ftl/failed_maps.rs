//! Maps after a failure: which pages are copied, read again or lost, in examples of a few writes.

use crate::common::{figure, job, summary};
use serde_json::Value;

/// Writes of this many pages at each page, a second apart, to one plane of 16 blocks of 8 pages, of which something
/// fails.
fn run(map: &str, at: &[(u32, u32)], fail: &str) -> Value {
    let drive = format!(
        "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
         blocks_per_plane = 16\npages_per_block = 8\npage_kib = 4\n[ftl]\nover_provisioning = 0.6\n\
         map = \"{map}\"\ncache_kib = 0.03125\n[start]\nexisting = \"none\"\n"
    );
    let line = |(n, &(page, pages)): (usize, &(u32, u32))| {
        format!("{} 0 {} {} 0\n", n as u64 * 1_000_000_000, page * 8, pages * 8)
    };
    let trace: String = at.iter().enumerate().map(line).collect();
    let mut job = job(&drive, &trace, &[]);
    job.verify = true;
    job.fail = vec![fail.into()];
    let run = summary(&job);
    assert_eq!(figure(&run, "integrity.wrong_reads"), 0.0);
    run
}

/// Reads and programs of a cause, erases, and pages lost.
fn costs(run: &Value, cause: &str) -> [f64; 4] {
    let count = |kind: &str| figure(run, &format!("operations.{kind}.{cause}"));
    [count("read"), count("program"), count("erase"), figure(run, "integrity.lost_pages")]
}

#[test]
fn a_block_of_which_a_page_has_failed_is_copied_to_a_spare_one_and_never_erased() {
    let run = run("block", &[(0, 8), (20, 1)], "page:0.0.0.0.0.3@500ms");
    assert_eq!(costs(&run, "gc"), [7.0, 7.0, 0.0, 1.0]);
    assert_eq!(figure(&run, "mapping.full_merges"), 1.0);
}

#[test]
fn a_block_that_has_failed_leaves_nothing_to_copy() {
    let run = run("block", &[(0, 8), (0, 8)], "block:0.0.0.0.0@500ms");
    assert_eq!(costs(&run, "gc"), [0.0; 4], "the second write goes to another block");
    let run = self::run("block", &[(0, 8), (20, 1)], "block:0.0.0.0.0@500ms");
    assert_eq!(costs(&run, "gc"), [0.0, 0.0, 0.0, 8.0]);
}

/// Pages 3 and 5 are in the log when the slot of page 3 fails: page 5 is read there, six others in the data block.
#[test]
fn a_log_block_that_is_retired_gives_way_to_a_merge() {
    let run = run("hybrid", &[(0, 8), (3, 1), (5, 1), (20, 1)], "page:0.0.0.0.1.0@2500ms");
    assert_eq!(costs(&run, "gc"), [7.0, 7.0, 1.0, 1.0]);
    assert_eq!(figure(&run, "mapping.full_merges"), 1.0);
}

/// The fifth write evicts a changed entry, so that the translation page is written, in block 1. It maps six pages when
/// that fails: six reads, and a program. Before that each write that missed read it once.
#[test]
fn a_lost_translation_page_is_rebuilt_from_the_pages_that_it_maps() {
    let at: Vec<(u32, u32)> = [0, 1, 2, 3, 4, 5, 0, 1].iter().map(|&page| (page, 1)).collect();
    let whole = run("dftl", &at, "block:0.0.0.0.9@6500ms");
    assert_eq!(costs(&whole, "metadata"), [3.0, 1.0, 0.0, 0.0]);
    let failed = run("dftl", &at, "block:0.0.0.0.1@6500ms");
    assert_eq!(costs(&failed, "metadata"), [3.0 + 6.0, 2.0, 0.0, 0.0]);
}
