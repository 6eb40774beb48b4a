//! Programs and erases that are suspended for reads, to the nanosecond.

use super::*;
use crate::engine::{Breakdown, Part, TimeSpent};

const LEAD: u64 = 5_000;
const ERASE_LEAD: u64 = 8_000;
const RESUME: u64 = 3_000;
const SENT: u64 = COMMAND + TRANSFER;
const WRITE: u64 = SENT + PROGRAM;
/// A read of a unit that can sense.
const ALONE: u64 = COMMAND + READ + TRANSFER;
/// What a program is late after a suspension for one read.
const LATE: u64 = LEAD + ALONE + RESUME;

/// A drive of one plane, its blocks of four pages. Page 0 is there before time 0.
fn rig(commands: &str, more: &str) -> Rig {
    rig_of(commands, more, mapped(24))
}

fn rig_of(commands: &str, more: &str, kind: FlashBackendKind) -> Rig {
    let text = format!(
        "[flash]\npage_kib = 1\nsector_bytes = 1024\nchannels = 1\nchips_per_channel = 1\nplanes_per_die = 1\n\
         blocks_per_plane = 16\npages_per_block = 4\n{more}\n\
         [flash.timing]\nread_us = 20\nprogram_us = 200\nerase_us = 1500\nbus_ns_per_byte = 10\ncommand_ns = 1000\n\
         erase_command_ns = 1000\nerase_setup_ns = 0\nsuspend_program_us = 5\nsuspend_erase_us = 8\nresume_us = 3\n\
         [flash.commands]\n{commands}\n[ftl]\nover_provisioning = 1\n"
    );
    let mut rig = Rig::with(&text, 1, kind);
    rig.drive.break_down();
    rig.ask(0, before(write(0, 1)), 99, &tokens(7, 1));
    rig.done();
    rig
}

const ON: &str = "suspend = \"program-erase\"";

/// When each command has ended, by its slot.
fn ends(done: &[Done<Token>]) -> Vec<(u32, u64)> {
    let mut ends: Vec<_> = done.iter().map(|done| (done.token.slot, done.acknowledged.0)).collect();
    ends.sort_unstable();
    ends
}

/// A write at 0 in slot 0, and reads of page 0 at these instants in slots of their own.
fn with_reads(commands: &str, reads: &[u64]) -> (Rig, Vec<(u32, u64)>) {
    let mut rig = rig(commands, "");
    rig.ask(0, write(1, 1), 0, &tokens(1, 1));
    let mut done = rig.done();
    for (slot, &at) in (1..).zip(reads) {
        done.extend(rig.go_on(SimTime(at)));
        rig.ask(0, read(0), slot, &[]);
    }
    done.extend(rig.settle());
    rig.drive.audit();
    for done in done.iter().filter(|done| done.token.slot > 0) {
        assert_eq!(done.contents, Token(7));
    }
    (rig, ends(&done))
}

fn suspended(rig: &Rig, kind: OpKind) -> u64 {
    rig.drive.counters().suspensions[kind as usize]
}

#[test]
fn a_read_suspends_a_program_which_ends_later_by_as_much() {
    let (mut rig, found) = with_reads(ON, &[50_000]);
    assert_eq!(found, [(0, WRITE + LATE), (1, 50_000 + LEAD + ALONE)]);
    assert_eq!(suspended(&rig, OpKind::Program), 1);
    // The unit was never free: it programmed, suspended, read, sent, resumed and programmed on.
    assert_eq!(rig.drive.busy()[1].clone(), [Span(WRITE + LATE)]);
    assert_eq!(rig.drive.busy()[0], [Span(SENT + COMMAND + TRANSFER)]);
    let operations: Vec<_> = rig.operations.drain(..).map(|o| (o.kind, o.start.0, o.end.0)).collect();
    let sent = 50_000 + LEAD + ALONE;
    assert_eq!(operations, [(OpKind::Read, 50_000, sent), (OpKind::Program, 0, WRITE + LATE)]);
    let off = with_reads("suspend = \"off\"", &[50_000]).1;
    assert_eq!(off, [(0, WRITE), (1, WRITE + ALONE)]);
    assert_eq!(with_reads("suspend = \"erase\"", &[50_000]).1, off);
}

#[test]
fn the_time_goes_to_the_die() {
    let mut rig = rig(ON, "");
    rig.ask(0, write(1, 1), 0, &tokens(1, 1));
    rig.go_on(SimTime(50_000));
    rig.ask(0, read(0), 1, &[]);
    let mut expected = [Breakdown::default(); 2];
    for (at, die, array, transfer) in [(0, LATE, PROGRAM, SENT), (1, LEAD, READ, COMMAND + TRANSFER)] {
        expected[at].add(Part::Die, Span(die));
        expected[at].add(Part::Array, Span(array));
        expected[at].add(Part::Transfer, Span(transfer));
    }
    while rig.drive.step(SimTime(u64::MAX - 1)) {
        for done in rig.done() {
            let parts = match done.spent {
                TimeSpent::Memory => Breakdown::default(),
                TimeSpent::Flash(own) => own.breakdown(),
                TimeSpent::Listed(at) => rig.drive.breakdowns().expect("they are measured")[at as usize],
            };
            assert_eq!(parts, expected[done.token.slot as usize]);
        }
    }
}

#[test]
fn reads_that_wait_are_served_in_one_suspension() {
    let sent = |n: u64| 50_000 + LEAD + n * ALONE;
    for reads in [[50_000, 50_000, 50_000], [50_000, 60_000, 70_000]] {
        let (rig, found) = with_reads(ON, &reads);
        let end = WRITE + LEAD + 3 * ALONE + RESUME;
        assert_eq!(found, [(0, end), (1, sent(1)), (2, sent(2)), (3, sent(3))]);
        assert_eq!(suspended(&rig, OpKind::Program), 1);
    }
}

#[test]
fn reads_that_come_after_the_limit_wait_for_the_end() {
    let sent = 50_000 + LEAD + ALONE;
    // The second one comes while the first is served, and prolongs the suspension; the third one comes when the program
    // continues, and suspends it again.
    let late = [sent + ALONE, sent + ALONE + RESUME + LEAD + ALONE];
    let reads = [50_000, 60_000, sent + ALONE + RESUME];
    for (limit, second, third, end) in [
        (0, late[0], late[1], WRITE + 2 * LATE + ALONE),
        (3, late[0], late[1], WRITE + 2 * LATE + ALONE),
        (2, late[0], WRITE + LATE + 2 * ALONE, WRITE + LATE + ALONE),
        (1, WRITE + LATE + ALONE, WRITE + LATE + 2 * ALONE, WRITE + LATE),
    ] {
        let (_, found) = with_reads(&format!("{ON}\nsuspensions = {limit}"), &reads);
        assert_eq!(found, [(0, end), (1, sent), (2, second), (3, third)], "at most {limit}");
    }
    // Reads that wait together are one interruption.
    let (_, found) = with_reads(&format!("{ON}\nsuspensions = 1"), &[50_000, 50_000]);
    assert_eq!(found, [(0, WRITE + LATE + ALONE), (1, sent), (2, sent + ALONE)]);
}

#[test]
fn every_read_of_a_spaced_load_costs_the_program_as_much() {
    for count in 0..20 {
        let reads: Vec<u64> = (0..count).map(|n| 12_000 + n * (LATE + 1_000)).collect();
        let (rig, found) = with_reads(&format!("{ON}\nsuspensions = 0"), &reads);
        assert_eq!(found[0], (0, WRITE + count * LATE));
        let response = |(&at, &(_, end)): (&u64, &(u32, u64))| end - at == LEAD + ALONE;
        assert!(reads.iter().zip(&found[1..]).all(response));
        assert_eq!(
            (suspended(&rig, OpKind::Program), rig.drive.busy()[1].clone()),
            (count, vec![Span(found[0].1)])
        );
    }
}

#[test]
fn a_program_that_is_nearly_over_is_not_suspended() {
    for (left, suspends) in [(LATE, false), (LATE + 1, true)] {
        let (rig, found) = with_reads(ON, &[WRITE - left]);
        let read = if suspends { WRITE - left + LEAD + ALONE } else { WRITE + ALONE };
        assert_eq!(found[1], (1, read), "{left} ns before the end");
        assert_eq!(suspended(&rig, OpKind::Program), u64::from(suspends));
    }
}

#[test]
fn a_read_that_comes_while_the_data_are_sent_waits_for_the_channel() {
    let (_, found) = with_reads(ON, &[1_000]);
    assert_eq!(found, [(0, WRITE + LATE), (1, SENT + LEAD + ALONE)]);
}

#[test]
fn a_page_that_is_being_programmed_is_read_from_memory_and_suspends_nothing() {
    let mut rig = rig(ON, "");
    rig.ask(0, write(1, 1), 0, &tokens(1, 1));
    rig.go_on(SimTime(50_000));
    rig.ask(0, read(0), 1, &[]);
    rig.ask(0, read(1), 2, &[]);
    let mut done = rig.done();
    done.extend(rig.go_on(SimTime(50_000 + LEAD)));
    rig.ask(0, read(1), 3, &[]);
    done.extend(rig.settle());
    assert_eq!(rig.drive.counters().reads_from_memory, 2);
    assert_eq!(ends(&done)[0], (0, WRITE + LATE));
    assert!(done.iter().filter(|done| done.token.slot > 1).all(|done| done.contents == Token(1)));
}

#[test]
fn a_write_that_is_acknowledged_before_its_program_becomes_durable_later() {
    let mut rig = rig(ON, "acknowledge = \"transfer\"");
    rig.ask(0, write(1, 1), 0, &tokens(1, 1));
    rig.go_on(SimTime(50_000));
    rig.ask(0, read(0), 1, &[]);
    let mut done = rig.settle();
    done.sort_by_key(|done| done.durable);
    let writes: Vec<_> = done.iter().map(|done| (done.token.slot, done.part, done.durable.0)).collect();
    let sent = 50_000 + LEAD + ALONE;
    let expected = [(1, CompletionPart::Both, sent), (0, CompletionPart::Durable, WRITE + LATE)];
    assert_eq!(writes, expected, "the acknowledgement came before");
}

/// Physical pages: a superblock is erased while a page of another one is read.
#[test]
fn a_read_suspends_an_erase() {
    for commands in [ON, "suspend = \"erase\""] {
        let mut rig = rig_of(commands, "", FlashBackendKind::Physical);
        rig.ask(0, before(write(4, 4)), 99, &tokens(1, 4));
        rig.done();
        rig.ask(0, trim(4, 4), 0, &[]);
        rig.go_on(SimTime(100_000));
        rig.ask(0, read(0), 1, &[]);
        let mut done = rig.go_on(SimTime(1_000_000));
        rig.ask(0, read(0), 2, &[]);
        done.extend(rig.settle());
        let late = ERASE_LEAD + ALONE + RESUME;
        let end = |at: u64| at + ERASE_LEAD + ALONE;
        let erased = COMMAND + ERASE + 2 * late;
        assert_eq!(ends(&done), [(0, erased), (1, end(100_000)), (2, end(1_000_000))]);
        assert_eq!(suspended(&rig, OpKind::Erase), 2);
        assert_eq!(rig.drive.busy()[1].clone(), [Span(erased)]);
        rig.drive.audit();
    }
}

#[test]
fn data_in_a_cache_register_wait_as_well() {
    let mut rig = rig(&format!("{ON}\ncache_program = true\nregister_ns = 500"), "");
    for page in 1..3 {
        rig.ask(0, write(page, 1), page - 1, &tokens(1, 1));
    }
    rig.go_on(SimTime(50_000));
    rig.ask(0, read(0), 9, &[]);
    let gap = 500;
    let first = SENT + gap + PROGRAM + LATE;
    let done = rig.settle();
    assert_eq!(ends(&done), [(0, first), (1, first + gap + PROGRAM), (9, 50_000 + LEAD + ALONE)]);
}

#[test]
fn a_program_that_is_suspended_when_the_power_fails_is_torn() {
    // While the read waits for the die, is sensed, is sent; while the program continues.
    for at in [LEAD - 1, LEAD + COMMAND + 1, LEAD + ALONE - 1, LEAD + ALONE + 1, LATE + PROGRAM - 50_000] {
        let mut rig = rig(ON, "");
        rig.drive.expect_power_cuts();
        rig.ask(0, before(write(1, 1)), 99, &tokens(3, 1));
        rig.ask(0, before(write(2, 1)), 98, &tokens(4, 1));
        rig.done();
        rig.ask(0, write(1, 1), 0, &tokens(5, 1));
        rig.go_on(SimTime(50_000));
        rig.ask(0, read(2), 1, &[]);
        let done = rig.go_on(SimTime(50_000 + at));
        assert!(done.iter().all(|done| done.token.slot != 0), "the write is not answered");
        let recovery = rig.drive.cut_power(rig.now);
        rig.now = recovery.ready;
        assert_eq!(rig.drive.contents_of(BackendId(0), Page(1)), Some(Token(3)), "{at}");
        assert_eq!(rig.drive.contents_of(BackendId(0), Page(2)), Some(Token(4)));
        // The drive continues as it should.
        rig.ask(0, write(1, 1), 2, &tokens(6, 1));
        rig.settle();
        assert_eq!(rig.drive.contents_of(BackendId(0), Page(1)), Some(Token(6)));
        rig.drive.audit();
    }
    // A program that has ended is not torn.
    let mut rig = rig(ON, "");
    rig.drive.expect_power_cuts();
    rig.ask(0, write(1, 1), 0, &tokens(5, 1));
    rig.go_on(SimTime(50_000));
    rig.ask(0, read(0), 1, &[]);
    rig.go_on(SimTime(WRITE + LATE));
    rig.drive.cut_power(rig.now);
    assert_eq!(rig.drive.contents_of(BackendId(0), Page(1)), Some(Token(5)));
}

#[test]
fn an_erase_that_is_suspended_when_the_power_fails_is_repeated() {
    let mut rig = rig_of(ON, "", FlashBackendKind::Physical);
    rig.drive.expect_power_cuts();
    rig.ask(0, before(write(4, 4)), 99, &tokens(1, 4));
    rig.done();
    rig.ask(0, trim(4, 4), 0, &[]);
    rig.go_on(SimTime(100_000));
    rig.ask(0, read(0), 1, &[]);
    rig.go_on(SimTime(100_000 + ERASE_LEAD));
    assert_eq!(rig.drive.cut_power(rig.now).erases, 1);
}

#[test]
fn a_plane_that_fails_takes_its_reads_and_the_program_goes_on() {
    let mut rig = rig(ON, "");
    rig.ask(0, write(1, 1), 0, &tokens(1, 1));
    rig.go_on(SimTime(50_000));
    rig.ask(0, read(0), 1, &[]);
    rig.go_on(SimTime(60_000));
    rig.drive.fail(rig.now, 0, Fault::Planes { first: PlaneId(0), count: 1 }, true);
    let done = rig.settle();
    let failed = done.iter().find(|done| done.token.slot == 1 && done.part == CompletionPart::Both);
    assert!(failed.is_some_and(|done| done.failed.is_some()));
    // It resumed at once, and the write ends although its page is lost.
    assert!(ends(&done).contains(&(0, WRITE + 10_000 + RESUME)));
}

#[test]
fn without_reads_nothing_changes() {
    let mut found = Vec::new();
    for commands in ["suspend = \"off\"", ON] {
        let mut rig = rig(commands, "");
        let mut done = Vec::new();
        for n in 0..200 {
            rig.ask(0, write(n * 7 % 24, 1), n, &tokens(u64::from(n), 1));
            done.extend(rig.go_on(SimTime(u64::from(n) * 150_000)));
        }
        done.extend(rig.settle());
        rig.drive.audit();
        let mut operations: Vec<_> =
            rig.operations.iter().map(|o| (o.start, o.end, o.ppn, o.kind as u8)).collect();
        operations.sort_unstable();
        found.push((ends(&done), operations, rig.drive.busy()[1].clone()));
    }
    assert!(found[0].1.iter().any(|operation| operation.3 == OpKind::Erase as u8));
    assert_eq!(found[0], found[1]);
}
