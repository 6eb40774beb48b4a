//! Planes side by side, and cache registers, to the nanosecond.

use super::*;
use proptest::prelude::*;

/// A channel with one chip of two dies of two planes, a die being busy as one.
const FLASH: &str = "channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 16, \
                     pages_per_block = 4";
/// Consecutive pages go to the planes in turn.
const FTL: &str = "allocation = \"PDWC\"";
const GAP: u64 = 500;

fn rig(commands: &str) -> Rig {
    let flash = format!("{FLASH}, commands = {{ register_ns = 500, {commands} }}");
    Rig::new(&flash, FTL, 1, mapped(40))
}

fn ends(done: &[Done<Token>]) -> Vec<u64> {
    done.iter().map(|done| done.durable.0).collect()
}

#[test]
fn two_planes_program_in_the_time_of_one() {
    let sent = COMMAND + TRANSFER;
    let mut apart = rig("multi_plane = \"off\"");
    apart.ask(0, write(0, 2), 0, &tokens(1, 2));
    let last = ends(&apart.settle()).into_iter().max();
    assert_eq!(last, Some(2 * (sent + PROGRAM)), "one after the other");

    let mut joined = rig("multi_plane = \"match\"");
    joined.ask(0, write(0, 2), 0, &tokens(1, 2));
    let two = 2 * sent + GAP + PROGRAM;
    assert_eq!(ends(&joined.settle()), [two, two], "all pages of a write come before the first begins");
    joined.ask(0, write(2, 2), 0, &tokens(3, 2));
    joined.ask(0, write(4, 4), 1, &tokens(5, 4));
    let ends = ends(&joined.settle());
    assert_eq!(ends, [2 * two, 2 * two, 3 * two, 3 * two, 4 * two, 4 * two]);
    assert_eq!(joined.drive.counters().multi_plane[OpKind::Program as usize], 4);
}

/// Two channels with a die of two planes each: pages that another channel can take at once do not join.
#[test]
fn idle_channels_share_the_pages_of_a_write() {
    let (sent, channels) = (COMMAND + TRANSFER, FLASH.replace("channels = 1", "channels = 2"));
    let flash = format!("{channels}, commands = {{ register_ns = 500, multi_plane = \"match\" }}");
    let (one, two) = (sent + PROGRAM, 2 * sent + GAP + PROGRAM);
    for (pages, end, pairs) in [(1, one, 0), (2, one, 0), (3, two, 1), (4, two, 2)] {
        let mut rig = Rig::new(&flash, "allocation = \"dynamic\"", 1, mapped(40));
        rig.ask(0, write(0, pages), 0, &tokens(1, pages));
        assert_eq!(ends(&rig.settle()), [end], "{pages} pages");
        assert_eq!(rig.drive.counters().multi_plane[OpKind::Program as usize], pairs, "{pages} pages");
        rig.drive.audit();
    }
    // The other channel is busy with a read: both pages go to this one.
    let mut rig = Rig::new(&flash, "allocation = \"dynamic\"", 1, mapped(40));
    rig.ask(0, before(write(8, 1)), 0, &tokens(1, 1));
    rig.settle();
    rig.ask(0, read(8), 1, &[]);
    rig.ask(0, write(0, 2), 2, &tokens(2, 2));
    let done = rig.settle();
    assert_eq!(done.iter().find(|done| done.token.slot == 2).map(|done| done.durable.0), Some(two));
    rig.drive.audit();
}

/// The pages of one read, in two planes: their array is read once.
#[test]
fn pages_of_a_read_are_read_together() {
    let mut rig = rig("multi_plane = \"match\"");
    rig.ask(0, before(write(0, 2)), 0, &tokens(1, 2));
    rig.settle();
    rig.ask(0, Command::new(Verb::Read, Page::of(0), 2), 0, &[]);
    let array = 2 * COMMAND + READ;
    assert_eq!(ends(&rig.settle()), [array + TRANSFER, array + 2 * TRANSFER]);
}

/// Four planes in two pairs: neighbours take turns, pairs share the channel alone.
#[test]
fn pairs_of_planes_work_side_by_side() {
    let flash = "channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 4, blocks_per_plane = 16, \
                 pages_per_block = 4, busy_unit = \"plane-pair\"";
    let sent = COMMAND + TRANSFER;
    for allocation in ["dynamic", "PDWC", "CWD"] {
        let mut rig = Rig::new(flash, &format!("allocation = \"{allocation}\""), 1, mapped(40));
        rig.ask(0, write(0, 4), 0, &tokens(1, 4));
        let last = ends(&rig.settle()).into_iter().max();
        let end = 2 * (sent + PROGRAM) + sent;
        assert_eq!(last, Some(end), "{allocation}");
        rig.drive.audit();
    }
}

#[test]
fn planes_that_stand_apart_do_not_join_unless_they_may_leave_pages_out() {
    for (mode, joined, wasted) in [("match", 0, 0), ("skip", 1, 2)] {
        let mut rig = rig(&format!("multi_plane = \"{mode}\""));
        for page in [0, 2] {
            rig.ask(0, write(page, 1), 0, &tokens(1, 1));
            rig.settle();
        }
        // The next page of plane 0 is page 2, that of plane 1 page 0. A write in the unit lets both wait.
        rig.ask(0, write(4, 1), 0, &tokens(7, 1));
        rig.ask(0, write(6, 1), 0, &tokens(8, 1));
        rig.ask(0, write(1, 1), 0, &tokens(9, 1));
        rig.settle();
        let counters = rig.drive.counters();
        assert_eq!(counters.multi_plane[OpKind::Program as usize], joined, "{mode}");
        assert_eq!(counters.wasted_pages, wasted + joined, "{mode}: up to the page of number 3");
        rig.drive.audit();
    }
}

#[test]
fn two_planes_read_together_and_send_their_pages_one_after_the_other() {
    let mut rig = rig("multi_plane = \"match\"");
    rig.ask(0, before(write(0, 6)), 0, &tokens(1, 6));
    rig.settle();
    // The first read keeps the die busy; those of pages 2 and 3 wait, and have the same number in their blocks.
    for page in [4, 2, 3] {
        rig.ask(0, read(page), page, &[]);
    }
    let done = rig.settle();
    let first = COMMAND + READ + TRANSFER;
    let array = first + 2 * COMMAND + READ;
    assert_eq!(ends(&done), [first, array + TRANSFER, array + 2 * TRANSFER]);
    let contents: Vec<_> = done.iter().map(|done| done.contents).collect();
    assert_eq!(contents, [Token(5), Token(3), Token(4)]);
    assert_eq!(rig.drive.counters().multi_plane[OpKind::Read as usize], 1);
}

#[test]
fn a_cache_register_takes_data_while_the_array_programs() {
    let mut rig = rig("cache_program = true");
    for n in 0..3 {
        rig.ask(0, write(n, 1), n, &tokens(1, 1));
    }
    let sent = COMMAND + TRANSFER;
    let first = sent + GAP + PROGRAM;
    let step = GAP + PROGRAM;
    assert_eq!(ends(&rig.settle()), [first, first + step, first + 2 * step]);
    assert_eq!(rig.drive.counters().cache[OpKind::Program as usize], 2);
}

#[test]
fn a_read_waits_for_the_program_but_not_for_the_next_one() {
    let mut rig = rig("cache_program = true");
    rig.ask(0, before(write(8, 1)), 0, &tokens(1, 1));
    for n in 0..3 {
        rig.ask(0, write(n, 1), n, &tokens(1, 1));
    }
    let second = rig.now + Span(COMMAND + TRANSFER + GAP);
    // Before the second write's data are taken, a read comes: the unit stops taking data.
    rig.go_on(SimTime(second.0 - 1));
    rig.ask(0, read(8), 9, &[]);
    let done = rig.settle();
    let program = COMMAND + TRANSFER + GAP + PROGRAM;
    let read = done.iter().find(|done| done.token.slot == 9).expect("it is answered");
    assert_eq!(read.durable.0, program + COMMAND + READ + TRANSFER);
}

#[test]
fn a_unit_reads_its_next_page_while_the_one_before_leaves() {
    let mut rig = rig("cache_read = true");
    rig.ask(0, before(write(0, 6)), 0, &tokens(1, 6));
    rig.settle();
    for page in [0, 2, 4] {
        rig.ask(0, read(page), page, &[]);
    }
    // Reads first: the next command goes out before the data do, and the array is read meanwhile.
    let first = COMMAND + READ;
    let done = rig.settle();
    let array = first + COMMAND + READ;
    assert_eq!(
        ends(&done),
        [first + COMMAND + TRANSFER, array + COMMAND + TRANSFER, array + COMMAND + READ + TRANSFER]
    );
    assert_eq!(rig.drive.counters().cache[OpKind::Read as usize], 2);
}

proptest! {
    #[test]
    fn nothing_is_lost_with_any_commands(
        multi_plane in prop::sample::select(vec!["off", "match", "skip"]),
        (cache_program, cache_read) in any::<(bool, bool)>(),
        allocation in prop::sample::select(vec!["dynamic", "dynamic-in-channel", "CWPD", "PDWC", "CW", "P", "DC"]),
        steps in prop::collection::vec((0_u32..40, 1_u16..6, 0_u8..4), 1..400),
    ) {
        let flash = format!(
            "channels = 2, chips_per_channel = 1, dies_per_chip = 2, planes_per_die = 2, blocks_per_plane = 6, \
             pages_per_block = 4, commands = {{ multi_plane = \"{multi_plane}\", cache_program = {cache_program}, \
             cache_read = {cache_read}, register_ns = 500 }}"
        );
        let mut rig = Rig::new(&flash, &format!("allocation = \"{allocation}\""), 1, mapped(45));
        let mut held = [Token(0); 45];
        for (n, (page, count, what)) in steps.into_iter().enumerate() {
            if what == 0 {
                rig.ask(0, read(page), n as u32, &[]);
                let now = rig.now;
                rig.go_on(now + Span(5_000));
            } else {
                let contents = tokens(n as u64 * 100 + 1, count);
                held[page as usize..][..usize::from(count)].copy_from_slice(&contents);
                rig.ask(0, write(page, count), n as u32, &contents);
            }
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
