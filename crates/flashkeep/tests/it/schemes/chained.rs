//! Chained declustering, the example that CONTRIBUTING.md names for a new scheme.

use crate::common::{figure, job, summary};
use flashkeep::config::load_text;
use flashkeep::schemes::{MemberFacts, RedundancySpec, named};

fn drive(channels: u32, over_provisioning: f64, more: &str) -> String {
    format!(
        "[flash]\nchannels = {channels}\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
         blocks_per_plane = 12\npages_per_block = 4\npage_kib = 4\n[ftl]\nover_provisioning = {over_provisioning}\n\
         [redundancy]\nscheme = \"chained\"\n{more}"
    )
}

#[test]
fn half_of_all_pages_are_offered_whatever_the_number_of_members() {
    let pages = |channels, op, more| {
        load_text("drive.toml", &drive(channels, op, more), &[]).expect("a drive").logical_pages()
    };
    // 48 pages of a channel are 24 without the over-provisioned ones, or 25: then one page is left over with three.
    assert_eq!([3, 4, 5].map(|channels| pages(channels, 1.0, "")), [36, 48, 60]);
    assert_eq!([3, 4, 5].map(|channels| pages(channels, 0.92, "")), [37, 50, 62]);
    // Members two apart are in circles of three: of each circle one member has a page left over.
    assert_eq!(pages(6, 0.92, "chain_offset = 2\n"), 74);
    let facts = MemberFacts { pages: 25, page_bytes: 4096, disk: false };
    let over_drives = named("chained").expect("in the table").over_drives;
    assert_eq!(over_drives(&[facts; 3], &RedundancySpec::of("chained")), Ok(37));
    assert!(over_drives(&[facts; 2], &RedundancySpec::of("chained")).is_err());
}

#[test]
fn an_offset_that_leads_back_is_refused() {
    let refused = |channels, more| {
        load_text("drive.toml", &drive(channels, 1.0, more), &[]).expect_err("no such drive").to_string()
    };
    assert!(refused(4, "chain_offset = 4\n").contains("4 with 4 members: 1 to 3 are accepted"));
    assert!(refused(4, "chain_offset = 9\n").contains("1 to 3 are accepted"));
    assert!(refused(2, "").contains("a chain over 2 channels: it needs 3"));
    let text = "members = [\"3 * 2CM-128,redundancy.scheme=none\"]\n[redundancy]\nscheme = \"chained\"\nchain_offset = 3\n";
    let refused = load_text("array.toml", text, &[]).expect_err("no such array").to_string();
    assert!(refused.contains("3 with 3 members: 1 to 2 are accepted"), "{refused}");
}

#[test]
fn reads_are_shared_by_both_copies() {
    let workload = "synth:random,requests=400,write=0,size=4KiB,rate=100";
    let second = |read: &str| {
        let text = drive(4, 1.0, &format!("chain_read = \"{read}\"\n"));
        figure(&summary(&job(&text, workload, &["start.existing=\"all\""])), "chained.second_copy_reads")
    };
    assert_eq!(second("first"), 0.0);
    assert_eq!(second("in-turn"), 200.0);
    assert_eq!(second("least-busy"), 200.0, "the drive is idle");
    let run = summary(&job(&drive(3, 1.0, ""), "synth:random,requests=400,write=1,size=4KiB,rate=100", &[]));
    assert_eq!(figure(&run, "write_amplification.mirror"), 1.0, "every page twice");
}
