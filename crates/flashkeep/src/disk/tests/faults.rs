//! Failures, and commands without time.

use super::*;

#[test]
fn a_disk_that_fails_answers_what_waits_and_holds_nothing() {
    let mut rig = Rig::small("write_cache_mib = 0.015625");
    rig.ask(before(write(0, 9)), 0, &tokens(1, 9));
    rig.ask(read(0, 1), 0, &[]);
    rig.ask(read(100, 2), 1, &[]);
    rig.ask(write(200, 1), 3, &tokens(50, 1));
    rig.ask(write(300, 4), 4, &tokens(51, 4));
    let told = rig.done();
    assert_eq!(told.len(), 3, "before time 0, under way, acknowledged");
    rig.disk.fail(SimTime(5));
    let told: Vec<_> =
        rig.done().iter().map(|d| (d.token.slot, d.pages, d.part, d.failed, d.durable.0)).collect();
    let failed = |page| Some((BACKEND, Page::of(page)));
    let expected = [
        (1, 1, CompletionPart::Both, failed(100), 5),
        (2, 1, CompletionPart::Both, failed(101), 5),
        (3, 1, CompletionPart::Durable, None, 5),
        (4, 4, CompletionPart::Both, None, 5),
    ];
    assert_eq!(told, expected);
    assert!(rig.disk.is_dead() && rig.disk.is_quiet() && !rig.disk.holds(BACKEND, Page(0)));
    assert_eq!(rig.disk.next_event(), SimTime::NEVER);
    rig.now = SimTime(9);
    rig.ask(read(3, 1), 0, &[]);
    rig.ask(write(3, 1), 1, &tokens(5, 1));
    let told: Vec<_> = rig.done().iter().map(|d| (d.failed, d.durable)).collect();
    assert_eq!(told, [(failed(3), rig.now), (None, rig.now)]);
    rig.disk.renew(SimTime(10));
    rig.now = SimTime(10);
    assert!(!rig.disk.is_dead() && rig.disk.is_healthy());
    rig.ask(write(3, 1), 0, &tokens(5, 1));
    rig.ask(read(4, 1), 1, &[]);
    let done = rig.settle();
    assert!(done.iter().all(|done| done.failed.is_none()) && rig.disk.contents_of(Page(3)) == Some(Token(5)));
    assert_eq!(rig.disk.contents_of(Page(0)), None);
}

#[test]
fn a_page_that_cannot_be_read_is_found_by_its_reader_and_mended_by_a_write() {
    let mut rig = Rig::small("scheduler = \"fcfs\"");
    rig.ask(before(write(10, 3)), 0, &tokens(1, 3));
    rig.done();
    // It strikes while a read waits; a page that holds nothing has nothing to lose, nor one in memory.
    rig.ask(read(400, 1), 9, &[]);
    rig.ask(read(10, 3), 0, &[]);
    rig.ask(write(20, 1), 3, &tokens(8, 1));
    for page in [11, 20, 30] {
        rig.disk.fail_page(rig.now, Page::of(page));
    }
    assert!(!rig.disk.is_healthy() && rig.disk.contents_of(Page(11)).is_none());
    assert!(rig.disk.holds(BACKEND, Page(11)));
    let done = rig.settle();
    let read_: Vec<_> = done[1..4].iter().map(|done| (done.failed, done.contents.0)).collect();
    assert_eq!(read_, [(None, 1), (Some((BACKEND, Page(11))), 0), (None, 3)]);
    rig.now = SimTime(1_000_000_000);
    for page in [20, 30] {
        rig.ask(read(page, 1), 0, &[]);
        assert_eq!(rig.settle()[0].failed, None);
        rig.now = rig.now + Span(1_000_000_000);
    }
    rig.ask(write(11, 1), 0, &tokens(5, 1));
    rig.settle();
    rig.now = rig.now + Span(1_000_000_000);
    rig.ask(read(11, 1), 0, &[]);
    let done = rig.settle();
    assert_eq!((done[0].failed, done[0].contents), (None, Token(5)));
}

#[test]
fn untimed_commands_are_done_at_once_and_counted() {
    let mut rig = Rig::small("");
    rig.disk.set_untimed(true);
    rig.ask(write(0, 4).because(Cause::Mirror), 0, &tokens(1, 4));
    rig.ask(read(1, 2), 4, &[]);
    rig.ask(before(write(9, 1)), 6, &tokens(1, 1));
    let done: Vec<_> =
        rig.done().iter().map(|d| (d.token.slot, d.pages, d.durable.0, d.contents.0)).collect();
    assert_eq!(done, [(0, 4, 0, 0), (4, 1, 0, 2), (5, 1, 0, 3), (6, 1, 0, 0)]);
    let counters = rig.disk.counters();
    assert_eq!((counters.of(OpKind::Program, Cause::Mirror), counters.of(OpKind::Read, Cause::Host)), (4, 2));
    assert_eq!((counters.total(OpKind::Program), counters.total(OpKind::Erase)), (4, 0));
    rig.disk.set_untimed(false);
    assert_eq!(rig.takes(read(0, 1)), 12.0);
    assert_eq!(rig.disk.counters().total(OpKind::Read), 3);
    rig.disk.reset_counters();
    assert_eq!((rig.disk.counters().total(OpKind::Read), rig.disk.statistics(rig.now).operations), (0, 0));
}

#[test]
#[should_panic(expected = "no other address")]
fn pages_are_not_remapped() {
    Rig::small("").ask(Command::new(Verb::Remap, Page(0), 1), 0, &[]);
}

#[test]
fn a_page_that_was_never_written_takes_its_time_and_is_zeros() {
    let mut rig = Rig::small("");
    assert!(!rig.disk.holds(BACKEND, Page(0)));
    assert_eq!(rig.takes(read(0, 1)), 12.0);
    assert_eq!((rig.disk.wear(BACKEND), rig.disk.room(BACKEND), rig.disk.pages()), (0, u64::MAX, 500));
}

#[test]
fn a_page_that_fails_for_good_is_told_and_goes_to_spare_sectors() {
    let mut rig = Rig::small("scheduler = \"fcfs\"");
    rig.ask(before(write(10, 3)), 0, &tokens(1, 3));
    rig.done();
    rig.ask(read(10, 3), 0, &[]);
    rig.ask(read(10, 3), 3, &[]);
    rig.disk.lose_page(rig.now, Page(11));
    rig.disk.lose_page(rig.now, Page(40));
    let done = rig.settle();
    let gone: Vec<_> =
        done.iter().filter(|done| done.part == CompletionPart::Lost).map(|done| done.failed).collect();
    assert_eq!(gone, [Some((BACKEND, Page(11)))], "what holds nothing has nothing to lose");
    assert!(!rig.disk.holds(BACKEND, Page(11)) && rig.disk.contents_of(Page(11)).is_none());
    let waited = |done: &&Done<Token>| done.part == CompletionPart::Both && done.token.slot >= 3;
    let failed: Vec<_> = done.iter().filter(waited).map(|done| done.failed).collect();
    assert_eq!(failed, [None, Some((BACKEND, Page(11))), None], "a read that waited finds out");
    rig.now = SimTime(1_000_000_000);
    rig.ask(write(11, 1), 0, &tokens(9, 1));
    rig.settle();
    assert_eq!(rig.disk.contents_of(Page(11)), Some(Token(9)));
}

#[test]
fn a_slow_disk_takes_longer_for_every_part_of_a_command() {
    let mut rig = Rig::small("");
    rig.disk.set_slow(Factor(2_500));
    // 0.5 ms of overhead, 9.5 until the platter has come round, 2 for each page; all 2.5 times as long.
    rig.ask(read(0, 3), 5, &[]);
    assert_eq!(ends(&rig.settle()), [(5, 30.0), (6, 35.0), (7, 40.0)]);
    let did = rig.disk.statistics(SimTime(40_000_000));
    assert_eq!((did.overhead, did.rotation[0], did.transfer[0]), (1_250_000, 23_750_000, 15_000_000));
    rig.now = SimTime(40_000_000);
    assert_eq!(rig.takes(read(3, 1)), 5.0, "it continues");
    rig.disk.set_slow(Factor::ONE);
    assert_eq!(rig.takes(read(4, 1)), 2.0);
}

#[test]
fn a_stalled_disk_ends_its_command_and_begins_none() {
    let mut rig = Rig::small("");
    rig.ask(read(0, 1), 1, &[]);
    rig.ask(read(1, 1), 2, &[]);
    rig.disk.stall(SimTime(3_000_000), SimTime(60_000_000));
    // The second command would have continued at 12 ms. At 60 the platter is at 0: it takes 0.5 ms of overhead, 1.5
    // until page 1, and 2.
    assert_eq!(ends(&rig.settle()), [(1, 12.0), (2, 64.0)]);
    rig.now = SimTime(64_000_000);
    rig.disk.stall(rig.now, rig.now + Span(1_000_000));
    rig.disk.stall(rig.now, rig.now + Span(500_000));
    rig.now = rig.now + Span(200_000);
    rig.ask(read(2, 1), 3, &[]);
    assert_eq!(rig.disk.next_event(), SimTime(65_000_000), "the later end counts");
    rig.settle();
}
