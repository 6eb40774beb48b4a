//! Three pages of the flash in each program: which are programmed and read at once, to the nanosecond.

use super::*;

/// One plane, of 16 blocks of 6 pages: two word lines each.
const ONE: &str = "channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 16, \
                   pages_per_block = 6, pages_per_program = 3";
const REGISTER: u64 = 500;
const REGISTERS: &str = "commands = { register_ns = 500 }";

fn rig(ftl: &str) -> Rig {
    Rig::new(&format!("{ONE}, {REGISTERS}"), ftl, 1, mapped(16))
}

/// How long a write waits for others of the same instant, if they do not fill a word line.
const INSTANT: u64 = 1;

/// The time to send this many pages of a word line, and to program it.
fn program(pages: u64) -> u64 {
    pages * (COMMAND + TRANSFER) + (pages - 1) * REGISTER + PROGRAM
}

fn ends(done: &[Done<Token>]) -> Vec<u64> {
    done.iter().map(|done| done.durable.0).collect()
}

fn word_lines(rig: &Rig) -> u64 {
    let counters = rig.drive.counters();
    let at = OpKind::Program as usize;
    counters.total(OpKind::Program) - counters.along[at] - counters.joined[at]
}

#[test]
fn a_word_line_is_sent_page_by_page_and_programmed_once() {
    let mut rig = rig("");
    for n in 0..4 {
        rig.ask(0, write(3 * n, 3), n, &tokens(u64::from(3 * n), 3));
    }
    let done = rig.settle();
    assert_eq!(ends(&done), [1, 2, 3, 4].map(|n| n * program(3)), "saturated: three pages in each program");
    assert_eq!((word_lines(&rig), rig.drive.counters().empty_places), (4, 0));
    assert_eq!(rig.drive.counters().multi_plane, [0; 4], "of one plane");
    rig.ask(0, read(4), 0, &[]);
    assert_eq!(ends(&rig.settle()), [4 * program(3) + COMMAND + READ + TRANSFER], "a page is read by itself");
    rig.drive.audit();
}

#[test]
fn what_does_not_wait_for_the_program_stays_empty() {
    let mut rig = rig("");
    for n in 0..4 {
        rig.ask(0, write(n, 1), n, &tokens(u64::from(n), 1));
    }
    let (first, second) = (program(3), program(3) + program(1));
    assert_eq!(ends(&rig.settle()), [first, first, first, second], "those of an instant come together");
    assert_eq!((word_lines(&rig), rig.drive.counters().empty_places), (2, 2));
    rig.ask(0, write(4, 2), 0, &tokens(4, 2));
    assert_eq!(ends(&rig.settle()), [second + INSTANT + program(2)], "an empty page is not sent");
    assert_eq!(rig.drive.counters().empty_places, 3);
    assert_eq!(rig.drive.blocks().plane(PlaneId(0)).free_pages, 16 * 6 - 9);
    rig.drive.audit();
}

#[test]
fn a_write_waits_until_a_word_line_is_full() {
    let mut rig = rig("gather_us = 50");
    rig.ask(0, write(0, 1), 0, &tokens(0, 1));
    rig.go_on(SimTime(20_000));
    rig.ask(0, write(1, 2), 1, &tokens(1, 2));
    assert_eq!(ends(&rig.settle()), [20_000 + program(3); 2]);
    let at = rig.now.0;
    rig.ask(0, write(3, 2), 0, &tokens(3, 2));
    assert_eq!(ends(&rig.settle()), [at + 50_000 + program(2)]);
}

/// Four writes, none of which fills a word line: each channel gets one.
#[test]
fn writes_that_have_waited_go_to_the_channels_in_turn() {
    let flash = ONE.replace("channels = 1", "channels = 4");
    let mut rig = Rig::new(&flash, "gather_us = 50", 1, mapped(16));
    for n in 0..4 {
        rig.ask(0, write(n, 1), n, &tokens(u64::from(n), 1));
        rig.settle();
    }
    let planes = rig.operations.iter().map(|operation| rig.drive.geometry().plane_of(operation.ppn).0);
    assert_eq!(planes.collect::<Vec<_>>(), [0, 1, 2, 3]);
}

/// A word line takes the longest of its types, however many of its pages are there; each page is read in its own time.
#[test]
fn the_slowest_type_programs_and_each_type_reads() {
    let typed = "timing = { read_us = [20, 30, 40], program_us = [200, 400, 800], bus_ns_per_byte = 10, \
                 command_ns = 1000 }, page_kib = 1, sector_bytes = 1024";
    let text = format!("flash = {{ {typed}, {ONE} }}\nftl = {{ over_provisioning = 5 }}\n");
    let mut rig = Rig::with(&text, 1, mapped(16));
    rig.ask(0, write(0, 1), 0, &tokens(0, 1));
    let first = INSTANT + COMMAND + TRANSFER + 800_000;
    assert_eq!(ends(&rig.settle()), [first]);
    rig.ask(0, write(1, 3), 0, &tokens(1, 3));
    let second = first + 3 * (COMMAND + TRANSFER) + 800_000;
    assert_eq!(ends(&rig.settle()), [second]);
    let mut end = second;
    for (page, read_us) in [(1, 20), (2, 30), (3, 40)] {
        end += COMMAND + read_us * 1_000 + TRANSFER;
        rig.ask(0, read(page), 0, &[]);
        assert_eq!(ends(&rig.settle()), [end]);
    }
}

/// Both planes of a die, a word line each.
#[test]
fn planes_side_by_side_program_a_word_line_each() {
    let flash = ONE.replace("planes_per_die = 1", "planes_per_die = 2");
    let flash = format!("{flash}, commands = {{ register_ns = 500, multi_plane = \"match\" }}");
    let mut rig = Rig::new(&flash, "", 1, mapped(16));
    rig.ask(0, write(0, 12), 0, &tokens(0, 12));
    assert_eq!(ends(&rig.settle()), [2 * program(6)]);
    let counters = rig.drive.counters();
    assert_eq!((word_lines(&rig), counters.multi_plane[OpKind::Program as usize]), (4, 2));
    rig.ask(0, write(0, 5), 0, &tokens(20, 5));
    rig.settle();
    assert_eq!((word_lines(&rig), rig.drive.counters().empty_places), (6, 1));
    rig.drive.audit();
}

/// Four pages of 1 KiB in each flash page of 4 KiB, three of which are a word line.
#[test]
fn small_pages_fill_flash_pages_and_word_lines() {
    let times = TIMES.replace("page_kib = 1", "page_kib = 4");
    let text = format!(
        "flash = {{ {times}, {ONE}, {REGISTERS} }}\nftl = {{ over_provisioning = 5, logical_page_kib = 1 }}\n"
    );
    let mut rig = Rig::with(&text, 1, mapped(60));
    let sent = COMMAND + 4 * TRANSFER;
    rig.ask(0, write(0, 12), 0, &tokens(0, 12));
    let first = 3 * sent + 2 * REGISTER + PROGRAM;
    assert_eq!(ends(&rig.settle()), [first]);
    rig.ask(0, write(12, 5), 0, &tokens(12, 5));
    assert_eq!(
        ends(&rig.settle()),
        [first + INSTANT + 2 * sent + REGISTER + PROGRAM],
        "two flash pages, one of them full"
    );
    assert_eq!((word_lines(&rig), rig.drive.counters().empty_places), (2, 7));
    let start = rig.now.0;
    rig.ask(0, Command::new(Verb::Read, Page(2), 4), 0, &[]);
    let once = COMMAND + READ;
    let all = [once + TRANSFER, once + 2 * TRANSFER, 2 * once + 3 * TRANSFER, 2 * once + 4 * TRANSFER];
    assert_eq!(ends(&rig.settle()), all.map(|end| start + end), "two places of either flash page");
    rig.drive.audit();
}

/// A victim has five valid pages, and the first of its word lines is full: that one may be copied back.
#[test]
fn a_collection_fills_word_lines() {
    let flash = ONE.replace("pages_per_block = 6", "pages_per_block = 12");
    for (copyback, run) in
        [("off", "steps"), ("off", "hold-channel"), ("on", "steps"), ("on", "hold-channel")]
    {
        let gc = format!("victim = \"fifo\", threshold = 0.1, copyback = \"{copyback}\", run = \"{run}\"");
        let mut rig = Rig::new(&format!("{flash}, {REGISTERS}"), &format!("gc = {{ {gc} }}"), 1, mapped(24));
        rig.ask(0, before(write(0, 12)), 0, &tokens(0, 12));
        rig.without_time(|rig| {
            rig.ask(0, write(4, 2), 0, &tokens(40, 2));
            rig.ask(0, write(7, 5), 0, &tokens(40, 5));
            for n in (0..).take(171 - 19) {
                rig.ask(0, write(7 + n % 16, 1), 0, &tokens(u64::from(n), 1));
            }
        });
        assert_eq!(rig.drive.blocks().plane(PlaneId(0)).free_pages, 21, "19 are the threshold");
        rig.ask(0, write(15, 1), 0, &tokens(9, 1));
        rig.settle();
        rig.drive.audit();
        let counters = rig.drive.counters();
        let of = |kind| counters.of(kind, Cause::Gc);
        let read = COMMAND + READ + TRANSFER;
        let (copied, moves) = match copyback {
            "off" => (0, 3 * read + program(3) + 2 * read + program(2)),
            _ => (3, 3 * (COMMAND + READ) + PROGRAM + 2 * read + program(2)),
        };
        let counted = [OpKind::Copyback, OpKind::Read, OpKind::Program].map(of);
        assert_eq!(counted, [copied, 5 - copied, 5 - copied], "{copyback}, {run}");
        assert_eq!(counters.empty_places, 2 + 1, "of the host's word line and of the last one");
        let erase = rig.operations.iter().find(|operation| operation.kind == OpKind::Erase);
        let end = INSTANT + program(1) + moves + COMMAND + ERASE;
        assert_eq!(erase.map(|operation| operation.end.0), Some(end), "{copyback}, {run}");
        for page in [0, 1, 2, 3, 6] {
            assert_eq!(rig.drive.contents_of(BackendId(0), Page::of(page)), Some(Token(u64::from(page))));
        }
    }
}

/// The power fails while a word line is programmed: all of its pages are torn, and all durable pages are found.
#[test]
fn a_power_cut_tears_the_word_line() {
    let mut rig = rig("");
    rig.drive.expect_power_cuts();
    rig.ask(0, write(0, 4), 0, &tokens(1, 4));
    rig.settle();
    rig.ask(0, write(1, 4), 0, &tokens(21, 4));
    let cut = SimTime(rig.now.0 + program(3) + 1_000);
    rig.go_on(cut);
    let recovery = rig.drive.cut_power(cut);
    assert_eq!(recovery.reads, 6 + 6, "every page that is programmed, empty and torn ones included");
    let found = (0..5).map(|page| rig.drive.contents_of(BackendId(0), Page::of(page)));
    let expected = [1, 21, 22, 23, 4].map(|token| Some(Token(token)));
    let mut expected = expected.to_vec();
    expected[4] = None;
    assert_eq!(found.collect::<Vec<_>>(), expected);
    rig.drive.audit();
}
