//! Pages that exist because the workload reads them lie where they would if all pages existed.

use crate::common::{figure, job, summary};

/// The mean response of reads whose pages exist because they are read, and because all pages do.
fn means(drive: &str, set: &[&str], trace: &str) -> [f64; 2] {
    ["reads", "all"].map(|existing| {
        let existing = format!("start.existing=\"{existing}\"");
        let set: Vec<&str> = set.iter().copied().chain([existing.as_str()]).collect();
        figure(&summary(&job(drive, trace, &set)), "response_us.read.mean")
    })
}

/// Blocks of fewer pages, so that all pages of an array are created quickly.
const SMALL: &str = "flash.pages_per_block=96";

#[test]
fn pages_that_are_read_lie_where_they_would_in_a_full_drive() {
    for trace in [
        "synth:random,requests=20k,write=0,size=4KiB,depth=16",
        "synth:random,requests=4k,write=0,size=128KiB,depth=4",
        "synth:sequential,requests=4k,write=0,size=64KiB,depth=8",
    ] {
        for set in [
            &[][..],
            &["ftl.allocation=\"CWDP\"", "ftl.stride_pages=48"],
            &["flash.planes_per_die=2", "flash.blocks_per_plane=228", "flash.commands.multi_plane=\"match\""],
            &["redundancy.scheme=\"raid5\"", "redundancy.across=\"channel\""],
        ] {
            let [reads, all] = means("tlc-client", &[set, &[SMALL]].concat(), trace);
            assert!((reads / all - 1.0).abs() < 0.01, "{set:?}, {trace}: {reads} µs, {all} µs");
        }
    }
}

/// A program fills one page of the flash: which type that is follows from the order in which pages are created. With so few
/// of them in a block the types are equally frequent, and the difference is one of sampling.
#[test]
fn types_of_pages_make_little_difference() {
    let trace = "synth:random,requests=20k,write=0,size=4KiB,depth=16";
    let [reads, all] = means("tlc-datacenter", &[SMALL], trace);
    assert!((reads / all - 1.0).abs() < 0.02, "{reads} µs, {all} µs");
}

#[test]
fn arrays_have_their_pages_there_too() {
    for scheme in ["none", "mirror", "raid5", "raid6"] {
        let set = [
            "members=[\"4 * tlc-client\"]",
            &format!("redundancy.scheme=\"{scheme}\""),
            &format!("member.{SMALL}"),
        ];
        let trace = "synth:random,requests=10k,write=0,size=16KiB,depth=16";
        let [reads, all] = means("\n", &set, trace);
        assert!((reads / all - 1.0).abs() < 0.01, "{scheme}: {reads} µs, {all} µs");
    }
}
