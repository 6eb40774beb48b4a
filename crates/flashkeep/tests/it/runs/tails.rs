//! Reads that garbage collection does not delay: around busy parts, hedged, and members that collect in turns.

use crate::common::{figure, file, job, summary};
use flashkeep::job::Job;
use serde_json::Value;

/// Eight channels of one die: 50 µs reads, 0.5 ms programs, 3 ms erases; RAID-5, in the steady state of random writes.
const DRIVE: &str = "[flash]\nchannels = 8\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
                     blocks_per_plane = 256\npages_per_block = 64\npage_kib = 4\n\
                     [flash.timing]\nread_us = 50\nprogram_us = 500\nerase_us = 3000\nbus_ns_per_byte = 2.5\n\
                     [ftl]\nover_provisioning = 0.4\n[ftl.gc]\nthreshold = 0.06\n\
                     [redundancy]\nscheme = \"raid5\"\n[ageing]\nmodel = \"steady\"\n";

/// The same with enough flash to collect nothing.
const LARGE: [&str; 3] = ["ageing.model=none", "ftl.over_provisioning=4", "flash.blocks_per_plane=1024"];

/// Two channels of it, without redundancy: a member of an array.
const MEMBER: &str = "[flash]\nchannels = 2\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
                      blocks_per_plane = 256\npages_per_block = 64\npage_kib = 4\n\
                      [flash.timing]\nread_us = 50\nprogram_us = 500\nerase_us = 3000\nbus_ns_per_byte = 2.5\n\
                      [ftl]\nover_provisioning = 0.4\n[ftl.gc]\nthreshold = 0.06\n";

/// Less than the drive can do in turns.
const LOAD: &str = "synth:random,requests=100k,write=0.3,size=4KiB,rate=1500";

const SCHEMES_OF_EIGHT: [&str; 7] = ["raid5", "raid6", "mirror", "chained", "raid-tp", "lrc", "declustered"];

const AROUND: &str = "redundancy.read=around-busy";
const HEDGE: &str = "redundancy.read=hedge=p95";
const TURNS: &str = "ftl.gc.turn_ms=50";

fn verified(drive: &str, set: &[&str]) -> Value {
    let run = summary(&Job { verify: true, ..job(drive, LOAD, set) });
    assert_eq!(figure(&run, "integrity.wrong_reads"), 0.0, "{set:?}");
    assert_eq!(figure(&run, "integrity.lost_pages"), 0.0, "{set:?}");
    assert_eq!(figure(&run, "integrity.reconstructed_reads"), 0.0, "{set:?}: nothing has failed");
    run
}

fn tail(run: &Value, percentile: &str) -> f64 {
    figure(run, &format!("response_us.read.{percentile}"))
}

fn array(member: &str, set: &[&str]) -> Value {
    let member = file("member.toml", member);
    let text = format!(
        "members = [\"5 * {member}\"]\n[redundancy]\nscheme = \"raid5\"\nstripe_kib = 4\n\
         [start]\nexisting = \"all\"\n"
    );
    verified(&text, set)
}

/// Reads of an array of eight of which one is slow.
fn slow_member(scheme: &str, set: &[&str]) -> Value {
    let member = file("member.toml", MEMBER);
    let text = format!(
        "members = [\"8 * {member}\"]\n[redundancy]\nscheme = \"{scheme}\"\n[start]\nexisting = \"all\"\n"
    );
    let load = "synth:random,requests=20k,write=0,size=4KiB:0.7/16KiB:0.3,rate=3k";
    let fail = vec!["slow:member:1@0s,factor=20,for=1000s".to_owned()];
    summary(&Job { verify: true, fail, ..job(&text, load, set) })
}

#[test]
fn in_turns_reads_are_as_fast_as_if_nothing_were_collected() {
    let never = verified(DRIVE, &LARGE);
    let plain = verified(DRIVE, &[]);
    let around = verified(DRIVE, &[AROUND]);
    let turns = verified(DRIVE, &[AROUND, TURNS]);
    assert_eq!(figure(&never, "wear.erases_total"), 0.0);
    assert!(tail(&plain, "p99_9") > 4.0 * tail(&never, "p99_9"));
    assert!(tail(&around, "p99_9") < 0.5 * tail(&plain, "p99_9"));
    assert!(tail(&turns, "p99") <= 1.1 * tail(&never, "p99"));
    assert!(tail(&turns, "p99_9") <= 1.1 * tail(&never, "p99_9"));
    assert!(figure(&around, "reads_around.redirected") > 1000.0);
    assert!(figure(&around, "reads_around.extra_reads") > figure(&around, "reads_around.redirected"));
    assert!(figure(&turns, "gc_turns.out_of_turn") < 0.01 * figure(&turns, "gc_turns.in_turn"));
    // The host's reads include those that go around.
    let reads = |run: &Value| figure(run, "operations.read.host");
    let extra = figure(&around, "reads_around.extra_reads");
    assert!((reads(&around) - reads(&plain) - extra).abs() < 0.01 * reads(&plain));
    let erases = |run: &Value| figure(run, "wear.erases_total");
    assert!(erases(&turns) < erases(&plain));
    // A plain drive with as little free space as there is on average between turns.
    let equal = verified(DRIVE, &["ftl.gc.threshold=0.02"]);
    assert!((erases(&turns) / erases(&equal) - 1.0).abs() < 0.02, "{} {}", erases(&turns), erases(&equal));
}

#[test]
fn the_members_of_an_array_collect_in_turns() {
    let large = MEMBER.replace("= 256", "= 2048").replace("= 0.4", "= 10");
    let in_turns = MEMBER.replace("= 0.06", "= 0.06\nturn_ms = 50");
    let (never, plain) = (array(&large, &[]), array(MEMBER, &[]));
    let turns = array(&in_turns, &[AROUND]);
    assert!(tail(&plain, "p99_9") > 4.0 * tail(&never, "p99_9"));
    assert!(tail(&turns, "p99_9") < 3.0 * tail(&never, "p99_9"));
    assert_eq!(figure(&turns, "gc_turns.out_of_turn"), 0.0);
    let erases = |run: &Value| {
        let members = run["members"].as_array().expect("a list");
        members.iter().map(|member| figure(member, "wear.erases_total")).sum::<f64>()
    };
    assert!((erases(&turns) / erases(&plain) - 1.0).abs() < 0.02, "{} {}", erases(&turns), erases(&plain));
    // Without another way to read, turns change little.
    let alone = array(&in_turns, &[]);
    assert!(tail(&alone, "p99_9") > 4.0 * tail(&never, "p99_9"));
    assert!(alone["reads_around"].is_null());
}

#[test]
fn reads_go_around_members_that_are_slow() {
    for scheme in SCHEMES_OF_EIGHT {
        let (plain, around) = (slow_member(scheme, &[]), slow_member(scheme, &[AROUND]));
        assert_eq!(figure(&around, "integrity.wrong_reads"), 0.0, "{scheme}");
        assert!(tail(&around, "p99") < 0.5 * tail(&plain, "p99"), "{scheme}");
    }
}

#[test]
fn pages_read_together_share_the_reads_of_their_stripe() {
    // Reads of whole stripes: the parity is read instead of the busy page, and nothing else.
    let load = "synth:random,requests=20k,write=0.2,size=28KiB,align=28KiB,rate=500";
    let run = summary(&Job { verify: true, ..job(DRIVE, load, &[AROUND]) });
    assert_eq!(figure(&run, "integrity.wrong_reads"), 0.0);
    assert!(figure(&run, "reads_around.redirected") > 100.0);
    assert_eq!(figure(&run, "reads_around.extra_reads"), 0.0);
}

#[test]
fn what_cannot_be_reconstructed_is_read_from_its_place() {
    // Pages of every member become unreadable now and then, while reads go around busy parts.
    let errors = ["errors.model=kim", "errors.scale=4", "errors.retry.steps=0", AROUND, TURNS];
    let load = "synth:random,requests=30k,write=0.3,size=4KiB,rate=1500";
    let run = summary(&Job { verify: true, ..job(DRIVE, load, &errors) });
    assert_eq!(figure(&run, "integrity.wrong_reads"), 0.0);
    assert!(figure(&run, "reads_around.redirected") > 100.0);
}

#[test]
fn hedged_reads_are_faster_than_plain_ones_and_slower_than_those_that_know_what_is_busy() {
    let (plain, around, hedged) =
        (verified(DRIVE, &[]), verified(DRIVE, &[AROUND]), verified(DRIVE, &[HEDGE]));
    assert!(tail(&hedged, "p99_9") < 0.7 * tail(&plain, "p99_9"));
    assert!(tail(&hedged, "p99_9") > tail(&around, "p99_9"));
    let pages = figure(&hedged, "reads_around.hedged");
    // The rest of the stripe: six data units, as a rule, and the parity.
    assert!((figure(&hedged, "reads_around.extra_reads") / (7.0 * pages) - 1.0).abs() < 0.01);
    let reads = figure(&hedged, "workload.reads");
    assert!(pages > 0.02 * reads && pages < 0.055 * reads, "{pages} of {reads}");
    let won = figure(&hedged, "reads_around.hedge_won");
    assert!(won > 0.2 * pages && won < pages, "{won} of {pages}");
    assert_eq!(figure(&hedged, "reads_around.redirected"), 0.0);
    let more = figure(&hedged, "operations.read.host") - figure(&plain, "operations.read.host");
    assert!((more / (7.0 * pages) - 1.0).abs() < 0.05, "both reads are carried out: {more}");
    assert!(around["reads_around"]["hedged"].is_null());
}

#[test]
fn reads_of_members_that_are_slow_are_hedged() {
    for scheme in SCHEMES_OF_EIGHT {
        // More than one read in twenty is slow: that is the 95th percentile.
        let plain = slow_member(scheme, &[]);
        let hedged = slow_member(scheme, &["redundancy.read=hedge=p70"]);
        assert_eq!(figure(&hedged, "integrity.wrong_reads"), 0.0, "{scheme}");
        assert!(tail(&hedged, "p99") < 0.5 * tail(&plain, "p99"), "{scheme}");
        assert!(figure(&hedged, "reads_around.hedge_won") > 100.0, "{scheme}");
    }
}

#[test]
fn of_two_reads_the_one_that_succeeds_counts() {
    let errors = ["errors.model=kim", "errors.scale=4", "errors.retry.steps=0", "redundancy.read=hedge=p50"];
    let load = "synth:random,requests=30k,write=0.3,size=4KiB:0.8/32KiB:0.2,rate=1500";
    let run = summary(&Job { verify: true, ..job(DRIVE, load, &errors) });
    assert_eq!(figure(&run, "integrity.wrong_reads"), 0.0);
    assert!(figure(&run, "reads_around.hedged") > 1000.0);
    assert!(figure(&run, "integrity.reconstructed_reads") > 0.0);
    for drive in [DRIVE, &DRIVE.replace("raid5", "mirror")] {
        let fail = vec!["power@20s".to_owned(), "channel:1@30s".to_owned(), "power@40s".to_owned()];
        let run = summary(&Job { verify: true, fail, ..job(drive, load, &["redundancy.read=hedge=p50"]) });
        assert_eq!(figure(&run, "integrity.wrong_reads"), 0.0);
        assert!(figure(&run, "reads_around.hedged") > 1000.0);
    }
}
