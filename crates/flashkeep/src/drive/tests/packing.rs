//! Four pages of the map in each page of the flash: which are programmed and read at once, to the nanosecond.

use super::*;
use crate::flash::Ppn;

/// One plane, of 16 blocks of 4 pages of the flash, which have places for 4 pages of 1 KiB each.
const ONE: &str = "channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 16, \
                   pages_per_block = 4";
const PLACES: u64 = 4;
/// All of a page of the flash crosses the channel.
const SENT: u64 = COMMAND + 4 * TRANSFER;

fn rig_of(flash: &str, ftl: &str, pages: u32) -> Rig {
    let times = TIMES.replace("page_kib = 1", "page_kib = 4");
    let ftl = format!("over_provisioning = 5, logical_page_kib = 1, {ftl}");
    Rig::with(&format!("flash = {{ {times}, {flash} }}\nftl = {{ {ftl} }}\n"), 1, mapped(pages))
}

fn rig() -> Rig {
    rig_of(ONE, "allocation = \"dynamic\"", 40)
}

fn ends(done: &[Done<Token>]) -> Vec<u64> {
    done.iter().map(|done| done.durable.0).collect()
}

/// Pages of the flash that were programmed or read.
fn flash_pages(rig: &Rig, kind: OpKind) -> u64 {
    let counters = rig.drive.counters();
    counters.total(kind) - counters.along[kind as usize]
}

#[test]
fn a_page_that_comes_alone_leaves_the_other_places_empty() {
    let mut rig = rig();
    for n in 0..8 {
        rig.ask(0, write(n, 1), n, &tokens(1, 1));
        let done = rig.settle();
        assert_eq!(
            ends(&done),
            [u64::from(n + 1) * (SENT + PROGRAM)],
            "no page waits, and all of it is sent"
        );
    }
    let programs = flash_pages(&rig, OpKind::Program);
    assert_eq!((programs * PLACES, programs), (8 * 4, 8), "amplification is 4 in pages of the flash");
    assert_eq!(rig.drive.counters().empty_places, 8 * 3);
    rig.drive.audit();
}

#[test]
fn pages_that_come_together_share_a_program() {
    let mut rig = rig();
    for n in 0..4 {
        rig.ask(0, write(4 * n, 4), n, &tokens(1, 4));
        assert_eq!(ends(&rig.settle()), [u64::from(n + 1) * (SENT + PROGRAM)]);
    }
    assert_eq!(flash_pages(&rig, OpKind::Program), 4);
    assert_eq!(rig.drive.counters().empty_places, 0, "amplification is 1");
}

/// The first page goes alone; while it is programmed 31 others come, and fill seven pages and three quarters.
#[test]
fn a_queue_of_32_fills_pages() {
    let mut rig = rig();
    for n in 0..32 {
        rig.ask(0, write(n, 1), n, &tokens(u64::from(n), 1));
    }
    let mut done = rig.settle();
    done.sort_by_key(|done| done.token.slot);
    let batch = |n: u64| if n == 0 { 1 } else { 2 + (n - 1) / PLACES };
    let expected: Vec<u64> = (0..32).map(|n| batch(n) * (SENT + PROGRAM)).collect();
    assert_eq!(ends(&done), expected);
    assert_eq!(flash_pages(&rig, OpKind::Program), 9);
    assert_eq!(rig.drive.counters().empty_places, 9 * PLACES - 32);
    rig.drive.audit();
}

#[test]
fn places_of_a_page_come_up_together_and_leave_one_by_one() {
    let mut rig = rig();
    rig.ask(0, before(write(0, 8)), 0, &tokens(1, 8));
    rig.settle();
    rig.ask(0, read(5), 0, &[]);
    let alone = COMMAND + READ + TRANSFER;
    assert_eq!(ends(&rig.settle()), [alone], "one place crosses the channel");
    // The first read keeps the unit busy; those of pages 4 to 7 wait, and share a page of the flash.
    for page in [0, 4, 6, 5, 7] {
        rig.ask(0, read(page), page, &[]);
    }
    let done = rig.settle();
    let together = alone + COMMAND + READ;
    let leaving = (1..=4).map(|n| together + n * TRANSFER);
    let all: Vec<u64> = [alone].into_iter().chain(leaving).map(|end| alone + end).collect();
    assert_eq!(ends(&done), all);
    let contents: Vec<_> = done.iter().map(|done| done.contents).collect();
    assert_eq!(contents, [1, 5, 7, 6, 8].map(Token));
    assert_eq!((flash_pages(&rig, OpKind::Read), rig.drive.counters().total(OpKind::Read)), (3, 6));
}

#[test]
fn a_read_of_a_whole_page_takes_one() {
    let mut rig = rig();
    rig.ask(0, before(write(0, 8)), 0, &tokens(1, 8));
    rig.settle();
    rig.ask(0, Command::new(Verb::Read, Page(2), 4), 0, &[]);
    let once = COMMAND + READ;
    let all = [once + TRANSFER, once + 2 * TRANSFER, 2 * once + 3 * TRANSFER, 2 * once + 4 * TRANSFER];
    assert_eq!(ends(&rig.settle()), all, "two places of either page");
}

/// Five valid pages in three pages of the flash: three reads, a program that is full and one that is not.
#[test]
fn a_collection_reads_each_page_once_and_fills_what_it_programs() {
    for run in ["steps", "hold-channel"] {
        let ftl = format!("gc = {{ victim = \"fifo\", threshold = 0.1, run = \"{run}\" }}");
        let mut rig = rig_of(ONE, &ftl, 40);
        rig.ask(0, before(write(0, 16)), 0, &tokens(1, 16));
        rig.without_time(|rig| {
            for gone in [0, 1, 2, 5, 8, 9, 10, 11, 13, 14, 15] {
                rig.ask(0, write(gone, 1), 0, &tokens(50, 1));
            }
            for n in 0..201 {
                rig.ask(0, write(16 + n % 24, 1), 0, &tokens(u64::from(n), 1));
            }
        });
        assert_eq!(rig.drive.blocks().plane(PlaneId(0)).free_pages, 28, "25 are the threshold");
        rig.ask(0, write(20, 1), 0, &tokens(9, 1));
        rig.settle();
        let counters = rig.drive.counters();
        let of = |kind| counters.of(kind, Cause::Gc);
        assert_eq!((of(OpKind::Read), of(OpKind::Program), of(OpKind::Erase)), (5, 5, 1), "{run}");
        assert_eq!((flash_pages(&rig, OpKind::Read), flash_pages(&rig, OpKind::Program)), (3, 1 + 2));
        assert_eq!(counters.empty_places, 3 + 3);
        assert_eq!(rig.drive.blocks().plane(PlaneId(0)).free_pages, 28 - 4 - 8 + 16);
        let read = |pages: u64| COMMAND + READ + pages * TRANSFER;
        let moves = read(1) + read(3) + SENT + PROGRAM + read(1) + SENT + PROGRAM;
        let end = SENT + PROGRAM + moves + COMMAND + ERASE;
        let erase = rig.operations.iter().find(|operation| operation.kind == OpKind::Erase);
        assert_eq!(erase.map(|operation| operation.end.0), Some(end), "{run}");
        rig.drive.audit();
    }
}

/// Six valid pages in three pages of the flash, of which one is full: that one is copied back, where its parity allows
/// it.
#[test]
fn a_full_page_is_copied_back() {
    for (copyback, read, programmed, copied, wasted) in
        [("off", 6, 6, 0, 0), ("on", 2, 2, 4, 0), ("parity", 6, 6, 0, 0), ("parity-skip", 2, 2, 4, 4)]
    {
        let ftl = format!("gc = {{ victim = \"fifo\", threshold = 0.1, copyback = \"{copyback}\" }}");
        let mut rig = rig_of(ONE, &ftl, 40);
        rig.ask(0, before(write(0, 16)), 0, &tokens(1, 16));
        rig.without_time(|rig| {
            for gone in [0, 1, 2, 8, 9, 10, 11, 13, 14, 15] {
                rig.ask(0, write(gone, 1), 0, &tokens(50, 1));
            }
            for n in 0..202 {
                rig.ask(0, write(16 + n % 24, 1), 0, &tokens(u64::from(n), 1));
            }
        });
        rig.ask(0, write(20, 1), 0, &tokens(9, 1));
        rig.settle();
        rig.drive.audit();
        let counters = rig.drive.counters();
        let of = [OpKind::Read, OpKind::Program, OpKind::Copyback].map(|kind| counters.of(kind, Cause::Gc));
        assert_eq!(of, [read, programmed, copied], "{copyback}");
        assert_eq!((counters.wasted_pages, flash_pages(&rig, OpKind::Copyback)), (wasted, copied / PLACES));
        let moves = match copied {
            0 => COMMAND + READ + TRANSFER + COMMAND + READ + 4 * TRANSFER + SENT + PROGRAM,
            _ => COMMAND + READ + TRANSFER + COMMAND + READ + PROGRAM,
        };
        let end = SENT + PROGRAM + moves + COMMAND + READ + TRANSFER + SENT + PROGRAM + COMMAND + ERASE;
        let erase = rig.operations.iter().find(|operation| operation.kind == OpKind::Erase);
        assert_eq!(erase.map(|operation| operation.end.0), Some(end), "{copyback}");
        for (page, token) in [(3, 4), (4, 5), (7, 8), (12, 13)] {
            assert_eq!(rig.drive.contents_of(BackendId(0), Page::of(page)), Some(Token(token)), "{copyback}");
        }
    }
}

/// Both planes of a die, each a page of the flash; the address says where, four pages at a time.
#[test]
fn planes_side_by_side_fill_a_page_each() {
    let flash = ONE.replace("planes_per_die = 1", "planes_per_die = 2");
    let flash = format!("{flash}, commands = {{ register_ns = 500, multi_plane = \"match\" }}");
    for ftl in ["allocation = \"dynamic\"", "allocation = \"PDWC\""] {
        let mut rig = rig_of(&flash, ftl, 80);
        rig.ask(0, write(0, 4), 0, &tokens(1, 4));
        rig.ask(0, write(4, 4), 1, &tokens(5, 4));
        rig.ask(0, write(8, 16), 2, &tokens(9, 16));
        rig.settle();
        let planes = rig.drive.counters().multi_plane[OpKind::Program as usize];
        assert_eq!((flash_pages(&rig, OpKind::Program), rig.drive.counters().empty_places), (6, 0), "{ftl}");
        assert_eq!(planes, 2, "{ftl}: after the first two, which find their planes a page apart");
        rig.drive.audit();
    }
}

/// A physical-page backend has a place for each page: what comes later is another program of the same page of the
/// flash.
#[test]
fn a_physical_backend_programs_what_waits_of_a_page() {
    let text = format!(
        "flash = {{ {}, {ONE} }}\nftl = {{ over_provisioning = 5, logical_page_kib = 1 }}\n",
        TIMES.replace("page_kib = 1", "page_kib = 4")
    );
    let mut rig = Rig::with(&text, 1, FlashBackendKind::Physical);
    rig.ask(0, write(0, 9), 0, &tokens(1, 9));
    let parts = [1, 3, 4, 1].map(|pages: u64| COMMAND + pages * TRANSFER + PROGRAM);
    let ends_of = parts.iter().scan(0, |end, part| {
        *end += part;
        Some(*end)
    });
    let ends_of: Vec<u64> = ends_of.collect();
    let each = [0, 1, 1, 1, 2, 2, 2, 2, 3].map(|at: usize| ends_of[at]);
    assert_eq!(ends(&rig.settle()), each);
    assert_eq!(flash_pages(&rig, OpKind::Program), 4);
    rig.drive.audit();
}

/// The first page waits for 50 µs, or until four have come.
#[test]
fn pages_wait_for_others_if_they_are_told_to() {
    let mut rig = rig_of(ONE, "allocation = \"dynamic\", gather_us = 50", 40);
    let at = |us: u64| SimTime(us * 1_000);
    let program = SENT + PROGRAM;
    rig.ask(0, write(0, 1), 0, &tokens(1, 1));
    assert_eq!(ends(&rig.settle()), [50_000 + program], "alone, and it has waited");
    rig.go_on(at(1_000));
    rig.ask(0, write(1, 1), 1, &tokens(2, 1));
    rig.go_on(at(1_020));
    rig.ask(0, write(2, 2), 2, &tokens(3, 2));
    let end = 1_050_000 + program;
    assert_eq!(ends(&rig.settle()), [end; 2], "three of them, when the first has waited long enough");
    rig.go_on(at(2_000));
    rig.ask(0, write(4, 3), 3, &tokens(5, 3));
    rig.go_on(at(2_030));
    rig.ask(0, write(7, 1), 4, &tokens(8, 1));
    let end = 2_030_000 + program;
    assert_eq!(ends(&rig.settle()), [end; 2], "four fill a page");
    rig.go_on(at(3_000));
    rig.ask(0, write(8, 6), 5, &tokens(9, 6));
    assert_eq!(
        ends(&rig.settle()),
        [3_000_000 + program.max(50_000) + program],
        "two wait for the first four"
    );
    assert_eq!((flash_pages(&rig, OpKind::Program), rig.drive.counters().empty_places), (5, 3 + 1 + 2));
    rig.drive.audit();
}

/// The second write of a page makes it warmer, but both are in the same program.
#[test]
fn a_page_that_is_written_twice_in_a_program_stays_in_its_stream() {
    let mut rig = rig_of(ONE, "allocation = \"dynamic\", streams = 3", 20);
    rig.ask(0, before(write(0, 4)), 0, &tokens(1, 4));
    rig.ask(0, write(2, 1), 0, &tokens(8, 1));
    for n in 0..4 {
        rig.ask(0, write(1, 1), n, &tokens(10 + u64::from(n), 1));
    }
    rig.settle();
    let programs: Vec<crate::flash::Ppn> =
        rig.operations.iter().filter(|done| done.cause == Cause::Host).map(|done| done.ppn).collect();
    assert_eq!(programs.len(), 5);
    let geometry = rig.drive.geometry();
    assert!(programs[2..].iter().all(|&ppn| geometry.share_a_page(ppn, programs[1])), "{programs:?}");
    rig.drive.audit();
}

/// Two channels with a die of two planes each.
const FOUR: &str = "channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 16, \
                    pages_per_block = 4";

fn place(rig: &Rig, page: u32) -> Ppn {
    match rig.drive.lookup(BackendId(0), Page::of(page)) {
        MapEntry::At(ppn) => ppn,
        other => panic!("page {page} is {other:?}"),
    }
}

/// In whichever order pages are created, they lie on the planes, and beside the pages, that they would have if all of the
/// drive had been written in order.
#[test]
fn pages_from_before_lie_where_their_addresses_say() {
    for per_program in [1, 2] {
        let flash = format!("{FOUR}, pages_per_program = {per_program}");
        let mut full = rig_of(&flash, "", 160);
        full.drive.place_in_order(BackendId(0), 0..160);
        let mut in_order = rig_of(&flash, "", 160);
        (0..160).step_by(20).for_each(|n| in_order.ask(0, before(write(n, 20)), 0, &tokens(1, 20)));
        assert!((0..160).all(|page| place(&in_order, page) == place(&full, page)), "created in order");
        let mut rig = rig_of(&flash, "", 160);
        let scattered: Vec<u32> = (0..160).map(|n| n * 67 % 160).filter(|page| page % 7 != 3).collect();
        scattered.iter().for_each(|&n| rig.ask(0, before(write(n, 1)), 0, &tokens(u64::from(n), 1)));
        let geometry = &rig.drive.controller.flash.geometry;
        let within = |ppn| (geometry.plane_of(ppn), geometry.page_of(ppn) % geometry.word_line);
        for &page in &scattered {
            let ppn = place(&rig, page);
            assert_eq!(within(ppn), within(place(&full, page)), "page {page}");
            let first = page - page % geometry.word_line;
            let beside =
                scattered.iter().filter(|&&other| other / geometry.word_line == page / geometry.word_line);
            beside.for_each(|&other| {
                assert_eq!(ppn.0 - (page - first), place(&rig, other).0 - (other - first))
            });
            assert_eq!(rig.drive.contents_of(BackendId(0), Page::of(page)), Some(Token(u64::from(page))));
        }
        assert_eq!(rig.drive.lookup(BackendId(0), Page(3)), MapEntry::Unmapped, "nothing else is there");
        rig.drive.audit();
    }
}

/// A page that is created once more gets other contents, in the same place; what the host wrote later is elsewhere, and so
/// is a page whose word line has been collected.
#[test]
fn a_word_line_is_set_aside_until_it_is_erased() {
    let mut rig = rig_of(ONE, "gc = { victim = \"fifo\" }", 40);
    rig.ask(0, before(write(5, 1)), 0, &tokens(1, 1));
    let first = place(&rig, 5);
    rig.ask(0, before(write(5, 1)), 0, &tokens(2, 1));
    assert_eq!((place(&rig, 5), rig.drive.contents_of(BackendId(0), Page(5))), (first, Some(Token(2))));
    rig.ask(0, before(write(7, 1)), 0, &tokens(3, 1));
    assert_eq!(place(&rig, 7).0, first.0 + 2);
    rig.without_time(|rig| {
        rig.ask(0, write(7, 1), 0, &tokens(4, 1));
        for n in 0..1000 {
            rig.ask(0, write(16 + n % 24, 1), 0, &tokens(u64::from(n), 1));
        }
    });
    rig.drive.audit();
    rig.ask(0, before(write(6, 1)), 0, &tokens(6, 1));
    assert_ne!(place(&rig, 6).0, first.0 + 1, "the block has been erased since");
    assert_eq!(rig.drive.contents_of(BackendId(0), Page(5)), Some(Token(2)));
    rig.drive.audit();
}

/// Word lines are set aside only while a plane has more room than it collects for; after that each page takes one place.
#[test]
fn a_plane_with_little_room_sets_nothing_aside() {
    let mut rig = rig_of(ONE, "gc = { victim = \"greedy\", threshold = 0.25 }", 240);
    let mut free = 16 * 4 * 4;
    for page in (0..240).step_by(4) {
        rig.ask(0, before(write(page, 1)), 0, &tokens(1, 1));
        free -= if free - 4 >= 64 { 4 } else { 1 };
        assert_eq!(rig.drive.blocks().plane(PlaneId(0)).free_pages, free);
    }
    assert_eq!(free, 64 - 12);
    rig.drive.audit();
}
