//! Reads that fail and are repeated, to the nanosecond, and what becomes of the pages.

use super::*;
use crate::engine::{Breakdown, Part, TimeSpent};

const SENSE: u64 = 90_000;
const SENT: u64 = 16_000;
const DECODED: u64 = 20_000;

/// A die with pages of 16,000 bytes in 16 codewords, whose reads take 90 µs, 16 µs on the channel and 20 µs to decode. Page 0 is there.
fn rig(errors: &str, more: &str) -> Rig {
    let text = format!(
        "[flash]\npage_kib = 15.625\nsector_bytes = 1000\nchannels = 1\nchips_per_channel = 1\nplanes_per_die = 1\n\
         blocks_per_plane = 16\npages_per_block = 4\n\
         [flash.timing]\nread_us = 90\nprogram_us = 200\nerase_us = 1500\nbus_ns_per_byte = 1\ncommand_ns = 0\n\
         erase_command_ns = 0\nerase_setup_ns = 0\n[ftl]\nover_provisioning = 1\n{more}\n\
         [errors]\nmodel = \"kim\"\n{errors}\n"
    );
    let mut rig = Rig::with(&text, 1, mapped(24));
    rig.drive.break_down();
    rig.drive.seed_errors(1);
    rig.ask(0, before(write(0, 1)), 99, &tokens(7, 1));
    rig.done();
    rig.drive.begin_wear();
    rig
}

/// An RBER of 0.16, of which each retry has a quarter: the first three attempts fail, the next succeeds.
fn thrice(more: &str) -> String {
    format!(
        "scale = 108.10810810810811\necc = {{ decode_us = 20 }}\nretry = {{ steps = 5, factor = 0.25{more} }}"
    )
}

/// The answer to a read of page 0, and where its time went.
fn read_once(rig: &mut Rig) -> (Done<Token>, Breakdown) {
    rig.ask(0, read(0), 0, &[]);
    let mut done = rig.done();
    let mut parts = Breakdown::default();
    while rig.drive.step(SimTime(u64::MAX - 1)) {
        for one in rig.done() {
            parts = match one.spent {
                TimeSpent::Listed(at) => rig.drive.breakdowns().expect("they are measured")[at as usize],
                TimeSpent::Flash(times) => times.breakdown(),
                TimeSpent::Memory => Breakdown::default(),
            };
            done.push(one);
        }
    }
    rig.now = rig.drive.now();
    assert_eq!(done.len(), 1, "one answer");
    (done[0], parts)
}

#[test]
fn three_retries_take_four_reads() {
    let mut rig = rig(&thrice(""), "");
    let (done, parts) = read_once(&mut rig);
    assert_eq!(done.acknowledged, SimTime(4 * (SENSE + SENT + DECODED)));
    assert_eq!(done.service, Span(4 * (SENSE + SENT + DECODED)));
    assert_eq!((done.contents, done.failed), (Token(7), None));
    let part = |part| parts.get(part).0;
    assert_eq!([part(Part::Array), part(Part::Retry)], [SENSE, 3 * SENSE]);
    assert_eq!([part(Part::Transfer), part(Part::Compute)], [4 * SENT, 4 * DECODED]);
    assert_eq!(parts.total(), Span(4 * (SENSE + SENT + DECODED)));
    let counters = rig.drive.counters();
    assert_eq!((counters.of(OpKind::Read, Cause::Host), counters.of(OpKind::Read, Cause::Retry)), (1, 3));
    assert_eq!(rig.drive.busy()[0], [Span(4 * SENT)]);
    let counts = rig.drive.error_counts().expect("an error model");
    assert_eq!((counts.reads, counts.retries, counts.corrected, counts.uncorrectable), (1, 3, 1, 0));
    let told: Vec<_> = rig.operations.iter().map(|one| (one.cause, one.start.0)).collect();
    let begins = |n: u64| n * (SENSE + SENT + DECODED);
    assert_eq!(told[0], (Cause::Host, 0));
    assert!((1..4).all(|n| told[n as usize] == (Cause::Retry, begins(n) - DECODED)), "{told:?}");
}

#[test]
fn pipelined_retries_hide_transfers_and_decoding() {
    let mut rig = rig(&thrice(", pipelined = true"), "");
    let (done, parts) = read_once(&mut rig);
    assert_eq!(done.acknowledged, SimTime(4 * SENSE + SENT + DECODED));
    assert_eq!(done.service, Span(4 * SENSE + SENT + DECODED));
    assert_eq!(parts.total(), done.service);
    assert_eq!([parts.get(Part::Array).0, parts.get(Part::Retry).0], [SENSE, 3 * SENSE]);
    // The data of each attempt cross the channel.
    assert_eq!(rig.drive.busy()[0], [Span(4 * SENT)]);
    assert_eq!(rig.drive.busy()[1], [Span(4 * SENSE + SENT)]);
}

#[test]
fn retries_may_sense_in_another_time() {
    let mut rig = rig(&thrice(", sense_us = 60"), "");
    assert_eq!(read_once(&mut rig).0.acknowledged, SimTime(SENSE + 3 * 60_000 + 4 * (SENT + DECODED)));
}

#[test]
fn soft_decoding_senses_again_and_decodes_last() {
    let soft = "scale = 10.135135135135135\necc = { corrects_soft = 200, soft_sensings = 2, decode_us = 20, \
                decode_soft_us = 50 }\nretry = { steps = 0 }";
    let mut rig = rig(soft, "");
    let (done, parts) = read_once(&mut rig);
    let expected = 3 * (SENSE + SENT) + DECODED + 50_000;
    assert_eq!((done.acknowledged, done.failed), (SimTime(expected), None));
    assert_eq!((parts.total(), parts.get(Part::Compute)), (Span(expected), Span(DECODED + 50_000)));
    assert_eq!(rig.drive.error_counts().map(|counts| counts.soft), Some(1));
}

#[test]
fn an_uncorrectable_page_is_unreadable_until_its_block_is_erased() {
    let mut rig = rig("scale = 300\nretry = { steps = 2, factor = 1 }", "");
    let (done, _) = read_once(&mut rig);
    assert_eq!(done.failed, Some((BackendId(0), Page(0))));
    assert_eq!(done.acknowledged, SimTime(3 * (SENSE + SENT)));
    let counts = rig.drive.error_counts().expect("an error model");
    assert_eq!((counts.uncorrectable, counts.expected), (1, 1.0));
    // It fails again, and counts no more.
    let (done, _) = read_once(&mut rig);
    assert!(done.failed.is_some());
    let counts = rig.drive.error_counts().expect("an error model");
    assert_eq!((counts.reads, counts.uncorrectable, counts.expected), (1, 1, 1.0));
    assert!(!rig.drive.is_healthy());
    // A new version is another page.
    rig.ask(0, write(0, 1), 1, &tokens(8, 1));
    rig.settle();
    rig.drive.audit();
}

#[test]
fn wrong_data_pass_unless_they_are_checked_end_to_end() {
    let wrong = "scale = 300\nretry = { steps = 0 }\necc = { miscorrects = 1 }";
    let mut one = rig(wrong, "");
    let (done, _) = read_once(&mut one);
    assert!(done.failed.is_none() && done.contents != Token(7));
    assert_eq!(one.drive.error_counts().map(|counts| (counts.miscorrected, counts.caught)), Some((1, 0)));
    let mut checked = rig(&wrong.replace("= 1 }", "= 1, end_to_end = true }"), "");
    assert!(read_once(&mut checked).0.failed.is_some());
    assert_eq!(checked.drive.error_counts().map(|counts| (counts.miscorrected, counts.caught)), Some((0, 1)));
}

#[test]
fn a_read_waits_for_the_retries_of_another_one() {
    let mut rig = rig(&thrice(""), "");
    rig.without_time(|rig| rig.ask(0, before(write(1, 1)), 99, &tokens(8, 1)));
    rig.drive.begin_wear();
    rig.ask(0, read(0), 0, &[]);
    rig.ask(0, read(1), 1, &[]);
    let ends: Vec<_> = rig.settle().into_iter().map(|done| (done.token.slot, done.acknowledged.0)).collect();
    let whole = 4 * (SENSE + SENT + DECODED);
    assert_eq!(ends, [(0, whole), (1, 2 * whole - DECODED)]);
}

#[test]
fn an_erase_ends_the_errors_of_a_block_unless_it_is_taken_back() {
    let rber_after = |erased: bool, taken_back: bool| {
        let mut rig = rig("cycles = 1000", "");
        (0..8).for_each(|_| assert!(read_once(&mut rig).0.failed.is_none()));
        rig.drive.reset_error_counts();
        for block in 0..16 {
            if erased {
                rig.drive.controller.errors.note_erased(PlaneId(0), block);
            }
            if taken_back {
                rig.drive.controller.errors.note_erase_taken_back(PlaneId(0), block);
            }
        }
        read_once(&mut rig);
        rig.drive.error_counts().and_then(|counts| counts.mean_rber()).expect("a page was read")
    };
    let disturbed = rber_after(false, false);
    assert!(rber_after(true, false) < disturbed);
    assert_eq!(rber_after(true, true), disturbed);
}
