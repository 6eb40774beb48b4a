//! Moves that stay in their plane or do not, and collection in idle moments, to the nanosecond.

use super::*;
use proptest::prelude::*;

/// One plane: the contents of a block decide how it is collected.
const FLASH: &str = "channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 4, \
                     pages_per_block = 4";
const WRITE: u64 = COMMAND + TRANSFER + PROGRAM;
const COPY: u64 = COMMAND + READ + PROGRAM;
const ACROSS: u64 = COMMAND + READ + TRANSFER + COMMAND + TRANSFER + PROGRAM;
const ERASED: u64 = COMMAND + ERASE;

/// The oldest block holds its pages 1 and 3 alone, and the plane has 8 free pages, 4 of which are the host's.
fn rig(gc: &str) -> Rig {
    rig_on("transfers", gc)
}

/// The same on a channel that is used so.
fn rig_on(bus: &str, gc: &str) -> Rig {
    let mut rig = Rig::new(&format!("{FLASH}, bus = \"{bus}\""), &format!("gc = {{ {gc} }}"), 1, mapped(6));
    for page in [0, 1, 2, 3, 0, 2, 4, 5] {
        rig.ask(0, before(write(page, 1)), 0, &tokens(u64::from(page) + 1, 1));
    }
    rig.done();
    rig
}

/// What collecting took from the end of the write that asked for it, and the operations that it took.
fn collected(rig: &mut Rig) -> (u64, Vec<OpKind>) {
    rig.ask(0, write(0, 1), 0, &tokens(1, 1));
    rig.settle();
    rig.drive.audit();
    for page in 0..6 {
        assert_eq!(rig.drive.contents_of(BackendId(0), Page::of(page)), Some(Token(u64::from(page) + 1)));
    }
    let mut gc: Vec<LoggedOperation> = std::mem::take(&mut rig.operations);
    gc.retain(|operation| operation.cause == Cause::Gc);
    let end = gc.iter().map(|operation| operation.end).max().unwrap_or_default();
    (end.since(SimTime(WRITE)).0, gc.iter().map(|operation| operation.kind).collect())
}

/// Pages 1 and 3 move to places 1 and 2 of the next block: the second changes its parity.
#[test]
fn a_copy_keeps_the_parity_of_its_page_where_it_must() {
    use OpKind::{Copyback, Erase, Program, Read};
    let across = vec![Read, Program, Read, Program, Erase];
    let half = vec![Copyback, Read, Program, Erase];
    let inside = vec![Copyback, Copyback, Erase];
    for (run, bus) in [
        ("steps", "transfers"),
        ("hold-channel", "transfers"),
        ("steps", "rounds"),
        ("hold-channel", "rounds"),
    ] {
        for (copyback, time, kinds, wasted) in [
            ("off", 2 * ACROSS, &across, 0),
            ("on", 2 * COPY, &inside, 0),
            ("parity", COPY + ACROSS, &half, 0),
            ("parity-skip", 2 * COPY, &inside, 1),
        ] {
            let gc = format!("threshold = 0.5, run = \"{run}\", copyback = \"{copyback}\"");
            let mut rig = rig_on(bus, &gc);
            assert_eq!(collected(&mut rig), (time + ERASED, kinds.clone()), "{bus}, {gc}");
            assert_eq!(rig.drive.counters().wasted_pages, wasted, "{gc}");
            let free = rig.drive.backends.ftl.blocks().plane(PlaneId(0)).free_pages;
            assert_eq!(u64::from(free), 8 - 1 - 2 + 4 - wasted, "{gc}");
        }
    }
}

/// Pages are left out of the host's room: where it has none to spare, pages cross the pins.
#[test]
fn nothing_is_left_out_of_a_plane_without_room() {
    let mut rig = rig("copyback = \"parity-skip\"");
    for page in [0, 2, 0] {
        rig.ask(0, before(write(page, 1)), 0, &tokens(u64::from(page) + 1, 1));
    }
    rig.done();
    // The write takes the last page of its block; pages 1 and 3 go to places 0 and 1.
    let (time, kinds) = collected(&mut rig);
    assert_eq!((time, rig.drive.counters().wasted_pages), (ACROSS + COPY + ERASED, 0));
    assert_eq!(kinds, [OpKind::Read, OpKind::Program, OpKind::Copyback, OpKind::Erase]);
}

/// Above the threshold proper, an idle unit collects step by step, for every value of `run`.
#[test]
fn idle_moments_are_used() {
    for run in ["steps", "hold-channel"] {
        for (background, bus) in
            [(true, "transfers"), (false, "transfers"), (true, "rounds"), (false, "rounds")]
        {
            let common = format!("run = \"{run}\", background = {background}, copyback = \"on\"");
            assert_eq!(collected(&mut rig_on(bus, &common)).1, [], "nothing is short of pages");
            let soft = format!("{common}, soft_threshold = 0.5");
            let all = vec![OpKind::Copyback, OpKind::Copyback, OpKind::Erase];
            assert_eq!(collected(&mut rig_on(bus, &soft)), (2 * COPY + ERASED, all), "{bus}, {soft}");
            let above = format!("{common}, soft_threshold = 0.45");
            assert_eq!(collected(&mut rig_on(bus, &above)).1, [], "7 of 16 pages are free");
        }
    }
}

/// A read waits for the step that is under way and for nothing more; a nanosecond later the next one is.
#[test]
fn a_read_waits_for_one_step_at_most() {
    let read_end = |copyback: &str, at: u64| {
        let mut rig = rig(&format!("soft_threshold = 0.5, copyback = \"{copyback}\""));
        rig.ask(0, write(0, 1), 0, &tokens(1, 1));
        rig.go_on(SimTime(at));
        rig.ask(0, read(4), 9, &[]);
        let done = rig.settle();
        rig.drive.audit();
        let found = done.iter().find(|done| done.token.slot == 9).expect("it is answered");
        assert_eq!(found.contents, Token(5));
        let collected = std::mem::take(&mut rig.operations);
        let kinds: Vec<_> = collected.iter().map(|operation| operation.kind).collect();
        assert!(kinds.contains(&OpKind::Erase), "the collection goes on afterwards");
        found.durable.0
    };
    let alone = COMMAND + READ + TRANSFER;
    let ends = [WRITE, WRITE + COPY, WRITE + 2 * COPY, WRITE + 2 * COPY + ERASED];
    for step in ends.windows(2) {
        assert_eq!(read_end("on", step[1] - 1), step[1] + alone, "the last nanosecond of a step");
        assert_eq!(read_end("on", step[0]), step[1] + alone, "the first of one");
    }
    assert_eq!(read_end("on", WRITE - 1), WRITE + alone, "before the first step");
    // Across the pins a page's read and its program are steps of their own.
    let read = COMMAND + READ + TRANSFER;
    assert_eq!(read_end("off", WRITE + read - 1), WRITE + read + alone);
    assert_eq!(read_end("off", WRITE + read), WRITE + ACROSS + alone);
}

proptest! {
    #[test]
    fn nothing_is_lost_however_pages_move(
        copyback in prop::sample::select(vec!["off", "on", "parity", "parity-skip"]),
        soft in prop::sample::select(vec!["", "soft_threshold = 0.6,", "soft_threshold = 0.9,"]),
        run in prop::sample::select(vec!["steps", "hold-channel"]),
        victim in prop::sample::select(vec!["greedy", "fifo", "random"]),
        scheduler in prop::sample::select(vec!["reads-first", "fifo", "ssdsim"]),
        (background, separate, cache, gang) in any::<(bool, bool, bool, bool)>(),
        (bus, planes) in (prop::sample::select(vec!["transfers", "operations", "rounds"]), prop::sample::select(vec!["off", "skip"])),
        (unit, streams) in (prop::sample::select(vec!["chip", "die", "plane-pair", "plane"]), 1_u8..3),
        (wear, pool) in (
            prop::sample::select(vec!["none", "migration"]),
            prop::sample::select(vec!["plane", "plane", "element", "gang"]),
        ),
        steps in prop::collection::vec((0_u32..40, 1_u16..6, 0_u8..6, 1_u64..900), 1..300),
    ) {
        let gang = if gang { 2 } else { 1 };
        let flash = format!(
            "channels = 2, chips_per_channel = 2, dies_per_chip = 2, planes_per_die = 2, blocks_per_plane = 10, \
             pages_per_block = 4, busy_unit = \"{unit}\", bus = \"{bus}\", scheduler = \"{scheduler}\", \
             control_gang = {gang}, commands = {{ cache_program = {cache}, multi_plane = \"{planes}\" }}"
        );
        let wear = if wear == "none" { "" } else { "wear = { levelling = \"migration\", erase_budget = 400 }," };
        let ftl = format!(
            "streams = {streams}, pool = \"{pool}\", {wear} gc = {{ {soft} run = \"{run}\", background = {background}, \
             copyback = \"{copyback}\", separate = {separate}, victim = \"{victim}\", threshold = 0.2 }}"
        );
        let mut rig = Rig::new(&flash, &ftl, 1, mapped(45));
        let mut held = [Token(0); 45];
        for (n, (page, count, what, wait)) in steps.into_iter().enumerate() {
            if what == 0 {
                rig.ask(0, read(page), page, &[]);
            } else {
                let contents = tokens(n as u64 * 100 + 1, count);
                held[page as usize..][..usize::from(count)].copy_from_slice(&contents);
                rig.ask(0, write(page, count), n as u32, &contents);
            }
            let now = rig.now;
            rig.go_on(now + Span(wait * 1_000));
            if what == 3 {
                rig.settle();
                rig.drive.audit();
            }
        }
        rig.settle();
        rig.drive.audit();
        for (page, held) in (0..).zip(held) {
            let found = rig.drive.contents_of(BackendId(0), Page::of(page)).unwrap_or_default();
            prop_assert_eq!(found, held, "page {}", page);
        }
    }
}

#[test]
fn every_open_block_that_is_filled_gets_its_summary_page() {
    let flash = "channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 16, \
                 pages_per_block = 4, summary_page = true";
    let mut rig = Rig::new(flash, "streams = 2", 1, mapped(8));
    let pages = rig.drive.geometry().pages as u16;
    let summaries = |rig: &Rig| rig.drive.counters().of(OpKind::Program, Cause::Metadata);
    rig.ask(0, write(0, pages), 0, &tokens(1, pages));
    rig.settle();
    assert_eq!(summaries(&rig), 1, "of the block of pages that were written once");
    for page in 0..u32::from(pages) {
        assert_eq!(summaries(&rig), 1, "before page {page}");
        rig.ask(0, write(page, 1), 0, &tokens(9, 1));
        rig.settle();
    }
    assert_eq!(summaries(&rig), 2, "and of the block of those that were written again");
}
