//! Backends of physical pages: order, exact times, and the operations that erases wait for.

use super::*;

/// One channel, one chip, one plane of three blocks of four pages.
const ONE: &str = "channels = 1, chips_per_channel = 1, planes_per_die = 1, blocks_per_plane = 3, pages_per_block = 4, acknowledge = \"transfer\"";
/// Two channels of one chip each with two planes, busy as one.
const FOUR: &str = "channels = 2, chips_per_channel = 1, planes_per_die = 2, blocks_per_plane = 3, pages_per_block = 4, acknowledge = \"transfer\"";

const WRITE: u64 = COMMAND + TRANSFER + PROGRAM;

fn instants(done: &[Done<Token>]) -> Vec<(u32, u32, u64, u64)> {
    done.iter().map(|d| (d.token.slot, d.pages, d.acknowledged.0, d.durable.0)).collect()
}

#[test]
fn pages_of_a_unit_are_programmed_in_the_order_submitted() {
    let mut rig = Rig::new(ONE, "", 1, FlashBackendKind::Physical);
    assert_eq!(
        (rig.drive.physical_superblock_pages(BackendId(0)), rig.drive.physical_superblocks(BackendId(0))),
        (4, 3)
    );
    assert_eq!((rig.drive.pages(BackendId(0)), rig.drive.room(BackendId(0))), (12, u64::MAX));
    // Two blocks are open at once, a page is left out, and an older request comes last: still in order.
    let submit = |rig: &mut Rig, page: u32, slot: u32, age: u32| {
        let token = CompletionToken { slot, age, ..CompletionToken::default() };
        let command = write(page, 1).because(Cause::Parity);
        rig.drive.submit(rig.now, BackendId(0), &command, token, &tokens(u64::from(page) + 1, 1));
    };
    submit(&mut rig, 4, 0, 7);
    submit(&mut rig, 0, 1, 5);
    submit(&mut rig, 6, 2, 3);
    let acknowledged = |n: u64| n * WRITE + COMMAND + TRANSFER;
    let done = rig.settle();
    let expected = [0, 1, 2].map(|n: u64| (n as u32, 1, acknowledged(n), (n + 1) * WRITE));
    assert_eq!(instants(&done), expected);
    let programmed: Vec<_> = rig.operations.iter().map(|o| (o.start.0, o.end.0, o.ppn, o.cause)).collect();
    let place = |page: u32| rig.drive.physical_place(BackendId(0), Page::of(page));
    let expected =
        [(0, 4), (1, 0), (2, 6)].map(|(n, page)| (n * WRITE, (n + 1) * WRITE, place(page), Cause::Parity));
    assert_eq!(programmed, expected);
    let held = [0, 4, 5, 6].map(|page| rig.drive.contents_of(BackendId(0), Page::of(page)).map(|t| t.0));
    assert_eq!(held, [Some(1), Some(5), None, Some(7)]);
    assert!(rig.drive.holds(BackendId(0), Page(6)) && !rig.drive.holds(BackendId(0), Page(5)));
    rig.drive.audit();
}

#[test]
fn a_row_goes_over_all_planes_and_units_work_side_by_side() {
    let mut rig = Rig::new(FOUR, "", 1, FlashBackendKind::Physical);
    assert_eq!(rig.drive.physical_superblock_pages(BackendId(0)), 16);
    rig.ask(0, write(0, 4), 0, &tokens(1, 4));
    let done = rig.settle();
    // Pages 0 and 1 are on different channels; 2 and 3 on the other plane of the same chips.
    let mut ends: Vec<_> = done.iter().map(|d| (d.token.slot, d.durable.0)).collect();
    ends.sort_unstable();
    assert_eq!(ends, [(0, WRITE), (1, WRITE), (2, 2 * WRITE), (3, 2 * WRITE)]);
}

#[test]
fn a_page_on_its_way_is_read_from_memory() {
    let mut rig = Rig::new(ONE, "", 1, FlashBackendKind::Physical);
    rig.ask(0, write(0, 2), 0, &tokens(1, 2));
    let memory = rig.drive.memory_time();
    rig.done();
    // One is being programmed, the other waits.
    for page in 0..2 {
        rig.ask(0, read(page), 9, &[]);
        let done = rig.done();
        assert_eq!((done[0].durable.since(SimTime::ZERO), done[0].contents.0), (memory, u64::from(page) + 1));
    }
    rig.go_on(SimTime(2 * WRITE));
    rig.ask(0, read(0), 9, &[]);
    let done = rig.settle();
    assert_eq!(done[0].durable.0, 2 * WRITE + COMMAND + READ + TRANSFER);
}

#[test]
fn an_erase_comes_behind_programs_and_behind_reads_that_are_owed_its_block() {
    let mut rig = Rig::new(ONE, "", 1, FlashBackendKind::Physical);
    rig.ask(0, write(0, 2), 0, &tokens(1, 2));
    rig.settle();
    rig.now = SimTime(10_000_000);
    // A program, a read of the old group, the erase of that group, a page of the group again.
    rig.ask(0, write(4, 1), 10, &tokens(5, 1));
    rig.ask(0, read(1), 11, &[]);
    rig.ask(0, trim(0, 4).because(Cause::ParityGc), 12, &[]);
    rig.ask(0, write(0, 1), 16, &tokens(9, 1));
    assert_eq!(
        rig.drive.contents_of(BackendId(0), Page(0)),
        Some(Token(9)),
        "it took effect when it was submitted"
    );
    assert!(!rig.drive.holds(BackendId(0), Page(1)));
    let done = rig.settle();
    let programmed = 10_000_000 + WRITE;
    let read = programmed + COMMAND + READ + TRANSFER;
    let erased = read + COMMAND + ERASE;
    let expected = [
        (10, 1, programmed - PROGRAM, programmed),
        (11, 1, read, read),
        (12, 4, erased, erased),
        (16, 1, erased + COMMAND + TRANSFER, erased + WRITE),
    ];
    assert_eq!(instants(&done), expected);
    assert_eq!(done[1].contents, Token(2), "what the page held when it was asked for");
    assert_eq!(rig.drive.counters().of(OpKind::Erase, Cause::ParityGc), 1);
    assert_eq!((rig.drive.wear(BackendId(0)), rig.drive.erases()), (1, vec![1, 0, 0].into()));
    rig.drive.audit();
}

#[test]
fn the_trim_of_a_group_is_done_when_the_last_of_its_erases_is_over() {
    let mut rig = Rig::new(FOUR, "", 1, FlashBackendKind::Physical);
    rig.ask(0, write(1, 1), 0, &tokens(1, 1));
    rig.ask(0, trim(16, 32), 1, &[]);
    let done = rig.settle();
    // The chip of channel 1 programs first; then each erases two groups' blocks of two planes, one after the other.
    let end = WRITE + 4 * (COMMAND + ERASE);
    assert_eq!(instants(&done)[1], (1, 32, end, end));
    assert_eq!((rig.drive.wear(BackendId(0)), rig.drive.counters().total(OpKind::Erase)), (8, 8));
}

#[test]
fn what_happens_before_time_0_takes_no_time_and_is_not_counted() {
    let mut rig = Rig::new(ONE, "", 1, FlashBackendKind::Physical);
    rig.ask(0, before(write(0, 4)), 0, &tokens(1, 4));
    rig.ask(0, before(trim(0, 4)), 4, &[]);
    rig.ask(0, before(write(1, 1)), 8, &tokens(9, 1));
    let done = rig.done();
    assert!(done.iter().all(|d| d.durable == SimTime::ZERO) && rig.operations.is_empty());
    assert_eq!(done.iter().map(|d| d.pages).sum::<u32>(), 9);
    assert_eq!(rig.drive.contents_of(BackendId(0), Page(1)), Some(Token(9)));
    assert_eq!((rig.drive.counters().total(OpKind::Erase), rig.drive.wear(BackendId(0))), (0, 1));
    rig.drive.audit();
}

#[test]
fn what_happened_before_time_0_comes_before_what_waits() {
    let mut rig = Rig::new(ONE, "", 1, FlashBackendKind::Physical);
    rig.ask(0, write(8, 1), 0, &tokens(1, 1));
    rig.ask(0, write(0, 1), 1, &tokens(2, 1));
    rig.ask(0, trim(0, 4), 2, &[]);
    rig.ask(0, before(write(0, 1)), 6, &tokens(3, 1));
    rig.ask(0, write(1, 1), 7, &tokens(4, 1));
    let done = rig.settle();
    let mut answered: Vec<_> = done.iter().map(|d| (d.token.slot, d.durable.0)).collect();
    answered.sort_unstable();
    // The erase had been done by then, and the page of the program before it was void.
    assert_eq!(answered, [(0, WRITE), (1, 0), (2, 0), (6, 0), (7, 2 * WRITE)]);
    let held = [0, 1].map(|page| rig.drive.contents_of(BackendId(0), Page::of(page)));
    assert_eq!(held, [Some(Token(3)), Some(Token(4))]);
    rig.drive.audit();
}

fn refused(commands: &[Command]) -> String {
    let run = || {
        let mut rig = Rig::new(ONE, "", 1, FlashBackendKind::Physical);
        commands.iter().for_each(|&command| rig.ask(0, command, 0, &tokens(1, command.count)));
    };
    let panic = std::panic::catch_unwind(run).expect_err("the physics are asserted");
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref().map(|&s: &&str| s.into()))
        .unwrap_or_default()
}

#[test]
fn the_physics_are_asserted() {
    for commands in [&[write(1, 1), write(0, 1)], &[write(1, 1), write(1, 1)]] {
        assert!(refused(commands).contains("in order, once after an erase"));
    }
    assert!(refused(&[read(0)]).contains("only programmed pages"));
    assert!(
        refused(&[trim(0, 3)]).contains("whole groups") && refused(&[trim(1, 4)]).contains("whole groups")
    );
    assert!(refused(&[write(0, 1), trim(0, 4), write(0, 1), read(1)]).contains("only programmed pages"));
}
