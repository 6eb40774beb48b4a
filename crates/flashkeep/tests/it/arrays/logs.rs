//! Log-structured schemes over drives: superblocks that are extents of all members, and a journal in place of OOB areas.

use super::{array_job, integrity, run_error};
use crate::common::{figure, sampled, summary};

const LOGS: [&str; 3] = ["ds", "dvs", "lifespan"];

/// Superblocks of 15 rows and a page of the journal on each member.
const SMALL: [&str; 2] = ["redundancy.extent_kib=64", "redundancy.log_over_provisioning=0.4"];

const BUSY: &str = "synth:random,requests=4k,write=0.8,size=4KiB:0.6/16KiB:0.4,depth=8";

fn log_job(scheme: &str, trace: &str, more: &[&str]) -> flashkeep::job::Job {
    array_job(scheme, 5, trace, &[&SMALL[..], more].concat())
}

/// Each page of the host is written once, and its record once; a parity for every four, and the second copy of the
/// journal's page.
#[test]
fn every_write_is_recorded_and_every_row_has_a_parity() {
    let lines: String = (0..300).map(|n| format!("{n}000000 0 {} 8 0\n", n * 8)).collect();
    for scheme in ["ds", "lifespan"] {
        let run = summary(&log_job(scheme, &lines, &[]));
        let programs = |cause: &str| figure(&run, &format!("operations.program.{cause}"));
        assert_eq!(
            (programs("host"), programs("parity"), programs("metadata")),
            (300.0, 75.0, 375.0),
            "{scheme}"
        );
    }
    // With a timeout that passes between two requests, each page has a parity, which is recorded on both members.
    let run = summary(&log_job("dvs", &lines, &["redundancy.timeout_ms=0.5"]));
    let programs = |cause: &str| figure(&run, &format!("operations.program.{cause}"));
    assert_eq!(programs("host"), 300.0);
    assert_eq!(programs("parity") + programs("partial_parity"), 300.0);
    assert_eq!(programs("metadata"), 300.0 + 2.0 * 300.0);
}

/// Pages overwritten in order leave superblocks that hold nothing: GC trims them and copies nothing.
#[test]
fn superblocks_without_valid_pages_are_trimmed() {
    let pages = 500;
    let order = (0..6 * pages).map(|n| (n, n % pages * 8));
    let lines: String = order.map(|(n, lba)| format!("{n}000000 0 {lba} 8 0\n")).collect();
    for scheme in LOGS {
        let mut job = log_job(scheme, &lines, &["redundancy.log_over_provisioning=2"]);
        job.verify = true;
        let run = summary(&job);
        assert_eq!(integrity(&run, "wrong_reads"), 0.0, "{scheme}");
        assert_eq!(figure(&run, "operations.program.parity_gc"), 0.0, "{scheme}");
        assert!(figure(&run, "operations.erase.gc") > 0.0, "{scheme}: members erase what was trimmed");
    }
}

/// After a power loss the journal of all superblocks in use is read; nothing that was durable is missing.
#[test]
fn power_losses_cost_nothing_that_was_durable() {
    for scheme in LOGS {
        for at in sampled(12) {
            let mut job = log_job(scheme, BUSY, &["redundancy.timeout_ms=1"]);
            let first = format!("power@{}%", 7 * at + 6);
            (job.verify, job.fail) = (true, vec![first.clone(), "power@97%".into()]);
            let run = summary(&job);
            let found = (integrity(&run, "wrong_reads"), integrity(&run, "lost_pages"));
            assert_eq!(found, (0.0, 0.0), "{scheme}, {first}");
            assert!(figure(&run, "operations.read.metadata") > 0.0, "{scheme}, {first}");
        }
    }
}

/// A member is missing when the power fails, and another one comes in its place after that.
#[test]
fn power_losses_after_failures_lose_only_what_says_so() {
    for scheme in LOGS {
        for member in 0..5 {
            let mut job = log_job(scheme, BUSY, &["start.existing=\"all\""]);
            let failure = format!("member:{member}@20%,replace_after=20ms");
            (job.verify, job.fail) = (true, vec![failure, "power@70%".into()]);
            let run = summary(&job);
            assert_eq!(integrity(&run, "wrong_reads"), 0.0, "{scheme}, {member}");
            assert_eq!(integrity(&run, "lost_pages"), 0.0, "{scheme}, {member}");
        }
    }
}

/// Stripes of `lifespan` are as wide as the most worn of the members allows.
#[test]
fn stripes_are_narrower_as_members_wear() {
    let worn = [
        "redundancy.narrowest=3",
        "redundancy.rber_cycles=6",
        "redundancy.rber_worn=0.01",
        "redundancy.stripe_loss=1e-9",
    ];
    let parities = |requests: u32| {
        let trace = format!("synth:random,requests={requests},write=1,size=4KiB,depth=4");
        let run = summary(&log_job("lifespan", &trace, &worn));
        figure(&run, "operations.program.parity") / figure(&run, "operations.program.host")
    };
    assert!((parities(400) - 0.25).abs() < 0.01);
    assert!(parities(12_000) > 0.3);
}

#[test]
fn what_a_log_cannot_lie_on_is_refused() {
    let refused = |set: &[&str], message: &str| {
        let error = run_error(&array_job("ds", 5, BUSY, set));
        assert!(error.contains(message), "{error}");
    };
    refused(&["redundancy.extent_kib=4"], "redundancy.extent_kib = 4: 1 pages");
    refused(&["redundancy.extent_kib=1024"], "hold 2 superblocks of redundancy.extent_kib = 1024");
    let two = run_error(&array_job("ds", 2, BUSY, &SMALL));
    assert!(two.contains("at least 3 members"), "{two}");
}
