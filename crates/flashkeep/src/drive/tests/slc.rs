//! The SLC cache: what it takes, when it is folded, and what that costs, to the nanosecond.

use super::*;

/// One plane of 16 blocks of 6 pages, and a cache of 3 blocks of 2 pages.
const ONE: &str = "channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 16, \
                   pages_per_block = 6, slc = { blocks = 3, pages_per_block = 2, read_us = 5, program_us = 50 }";
const FAST_READ: u64 = 5_000;
const FAST: u64 = COMMAND + TRANSFER + 50_000;
const SLOW: u64 = COMMAND + TRANSFER + PROGRAM;
/// The unit folds when it has been idle for this time.
const IDLE: u64 = 300_000;
/// A page is read from the cache and programmed elsewhere.
const MOVE: u64 = COMMAND + FAST_READ + TRANSFER + SLOW;
const ERASED: u64 = COMMAND + ERASE;

fn rig(slc: &str) -> Rig {
    let ftl = format!("allocation = \"dynamic\", slc = {{ idle_us = 300, {slc} }}");
    Rig::new(ONE, &ftl, 1, mapped(60))
}

fn ends(done: &[Done<Token>]) -> Vec<u64> {
    done.iter().map(|done| done.durable.0).collect()
}

/// Writes pages one after the other, each when the one before is durable; how long each takes.
fn write_in_turn(rig: &mut Rig, pages: impl IntoIterator<Item = u32>) -> Vec<u64> {
    let times = pages.into_iter().map(|page| {
        let start = rig.now;
        rig.ask(0, write(page, 1), page, &tokens(u64::from(page) + 100, 1));
        let done = rig.go_on(SimTime(start.0 + SLOW));
        let end = ends(&done)[0];
        rig.now = SimTime(end);
        end - start.0
    });
    times.collect()
}

fn counts(rig: &Rig) -> [u64; 5] {
    let SlcCounts { written, bypassed, folded, died, erases } = rig.drive.counters().slc;
    [written, bypassed, folded, died, erases]
}

#[test]
fn a_burst_is_written_fast_until_the_cache_is_full() {
    let mut rig = rig("");
    let times = write_in_turn(&mut rig, 0..10);
    assert_eq!(times[..6], [FAST; 6], "six pages fit the cache");
    assert_eq!(times[6..], [SLOW; 4], "others go past it");
    assert_eq!(counts(&rig), [6, 4, 0, 0, 0]);
    rig.drive.audit();
}

#[test]
fn in_idle_time_the_cache_is_folded_and_takes_the_next_burst() {
    let mut rig = rig("");
    write_in_turn(&mut rig, 0..8);
    let last = rig.now.0;
    rig.settle();
    // Six pages, two in each of three blocks.
    assert_eq!(rig.now.0, last + IDLE + 6 * MOVE + 3 * ERASED);
    assert_eq!(counts(&rig), [6, 2, 6, 0, 3]);
    assert_eq!(rig.drive.backends.ftl.valid_cached(PlaneId(0)), 0);
    let programs = rig.drive.counters().of(OpKind::Program, Cause::Fold);
    let reads = rig.drive.counters().of(OpKind::Read, Cause::Fold);
    let erases = rig.drive.counters().of(OpKind::Erase, Cause::Fold);
    assert_eq!((programs, reads, erases), (6, 6, 3));
    rig.drive.audit();
    assert_eq!(write_in_turn(&mut rig, 10..18), [[FAST; 6].as_slice(), &[SLOW; 2]].concat());
}

#[test]
fn a_block_that_is_not_full_stays_and_goes_on() {
    let mut rig = rig("");
    write_in_turn(&mut rig, 0..3);
    rig.settle();
    assert_eq!(counts(&rig), [3, 0, 2, 0, 1]);
    assert!(rig.drive.backends.ftl.is_in_cache(2) && !rig.drive.backends.ftl.is_in_cache(0));
    assert_eq!(write_in_turn(&mut rig, 3..9), [[FAST; 5].as_slice(), &[SLOW]].concat());
}

#[test]
fn a_page_that_dies_in_the_cache_is_not_folded() {
    let mut rig = rig("");
    write_in_turn(&mut rig, [0, 1, 1, 2, 3, 0]);
    rig.ask(0, trim(2, 1), 0, &[]);
    let last = rig.now.0;
    rig.settle();
    assert_eq!(counts(&rig), [6, 0, 3, 3, 3], "pages 0 and 1 were written again, page 2 was trimmed");
    assert_eq!(rig.now.0, last + IDLE + 3 * MOVE + 3 * ERASED);
    rig.drive.audit();
}

#[test]
fn a_share_of_the_cache_is_kept() {
    let mut rig = rig("fold_above = 0.4");
    write_in_turn(&mut rig, 0..6);
    rig.settle();
    assert_eq!(counts(&rig), [6, 0, 4, 0, 2], "one of three blocks is kept");
    assert!(
        rig.drive.backends.ftl.is_in_cache(4) && rig.drive.backends.ftl.is_in_cache(5),
        "the oldest are folded"
    );
}

#[test]
fn cached_pages_are_read_fast() {
    let mut rig = rig("fold_above = 1");
    write_in_turn(&mut rig, 0..7);
    rig.settle();
    for (page, sense) in [(0, FAST_READ), (6, READ)] {
        let start = rig.now.0;
        rig.ask(0, read(page), page, &[]);
        let done = rig.settle();
        rig.now = SimTime(ends(&done)[0]);
        assert_eq!(rig.now.0, start + COMMAND + sense + TRANSFER);
        assert_eq!(done[0].contents, Token(u64::from(page) + 100));
    }
}

#[test]
fn folding_lets_other_work_go_first() {
    let mut rig = rig("");
    write_in_turn(&mut rig, 0..6);
    let idle = rig.now.0 + IDLE;
    // In the middle of the first program; the read waits for that, and then folding for idle time.
    let program = idle + MOVE - PROGRAM;
    rig.go_on(SimTime(program + 1_000));
    rig.ask(0, read(5), 5, &[]);
    let done = rig.settle();
    let end = idle + MOVE + COMMAND + FAST_READ + TRANSFER;
    assert_eq!(ends(&done), [end]);
    assert_eq!(rig.now.0, end + IDLE + 5 * MOVE + 3 * ERASED);
    assert_eq!(counts(&rig), [6, 0, 6, 0, 3]);
}

#[test]
fn a_full_cache_is_folded_under_load_if_asked() {
    let mut rig = rig("fold = \"full\"");
    let times = write_in_turn(&mut rig, 0..6);
    assert_eq!(times, [FAST; 6]);
    let start = rig.now.0;
    for page in 6..10 {
        rig.ask(0, write(page, 1), page, &tokens(1, 1));
    }
    let done = rig.settle();
    // The oldest block goes first; then two pages are fast, and the cache is full again.
    let first = start + 2 * MOVE + ERASED;
    let second = first + 2 * FAST + 2 * MOVE + ERASED;
    assert_eq!(ends(&done), [first + FAST, first + 2 * FAST, second + FAST, second + 2 * FAST]);
    assert_eq!(counts(&rig), [10, 0, 10, 0, 5]);
    rig.drive.audit();
}

#[test]
fn without_time_the_oldest_block_makes_room() {
    let mut rig = rig("");
    rig.drive.set_untimed(true);
    rig.drive.begin_wear();
    for page in (0..20).chain(0..20) {
        rig.ask(0, write(page, 1), page, &tokens(u64::from(page) + 7, 1));
    }
    rig.done();
    assert_eq!(counts(&rig), [40, 0, 34, 0, 17]);
    rig.drive.audit();
    for page in 0..20 {
        rig.ask(0, read(page), page, &[]);
        assert_eq!(rig.done()[0].contents, Token(u64::from(page) + 7));
    }
}

#[test]
fn pages_from_before_time_0_are_not_cached() {
    let mut rig = rig("");
    rig.ask(0, before(write(0, 20)), 0, &tokens(1, 20));
    rig.done();
    assert_eq!(counts(&rig), [0; 5]);
    assert!((0..20).all(|page| !rig.drive.backends.ftl.is_in_cache(page)));
    assert_eq!(write_in_turn(&mut rig, 0..1), [FAST]);
}

/// Random writes of a nearly full drive, many times its size: collection and folding share the plane.
#[test]
fn a_full_drive_goes_on() {
    for slc in ["", "fold = \"full\"", "fold = \"full\", erase_budget = 9", "fold_above = 0.5"] {
        let mut rig = rig(slc);
        rig.ask(0, before(write(0, 60)), 0, &tokens(0, 60));
        rig.settle();
        let mut newest: Vec<u64> = (0..60).collect();
        let mut at = 7_u32;
        for n in 0..3_000 {
            at = (at * 37 + 11) % 61;
            let page = at % 60;
            newest[page as usize] = 1_000 + u64::from(n);
            rig.ask(0, write(page, 1), n, &tokens(1_000 + u64::from(n), 1));
            if n % 3 == 0 {
                rig.settle();
            }
        }
        rig.settle();
        rig.drive.audit();
        let [written, bypassed, folded, died, _] = counts(&rig);
        assert_eq!(written + bypassed, 3_000, "{slc}");
        assert!(folded + died + 6 >= written && folded + died <= written, "{slc}: {folded} {died} {written}");
        for page in 0..60 {
            rig.ask(0, read(page), page, &[]);
            assert_eq!(rig.settle()[0].contents, Token(newest[page as usize]), "{slc}");
        }
    }
}

#[test]
fn a_power_cut_during_folding_loses_nothing() {
    let end = {
        let mut rig = rig("");
        write_in_turn(&mut rig, 0..6);
        rig.settle();
        rig.now.0
    };
    for cut in (0..end + 100_000).step_by(23_456) {
        let mut rig = rig("");
        rig.drive.expect_power_cuts();
        let mut durable = Vec::new();
        for page in 0..6 {
            rig.ask(0, write(page, 1), page, &tokens(u64::from(page) + 100, 1));
        }
        for done in rig.go_on(SimTime(cut)) {
            if done.durable.0 <= cut {
                durable.push(done.token.slot);
            }
        }
        let recovery = rig.drive.cut_power(SimTime(cut));
        rig.now = recovery.ready;
        rig.drive.audit();
        for &page in &durable {
            rig.ask(0, read(page), page, &[]);
            assert_eq!(rig.settle()[0].contents, Token(u64::from(page) + 100), "cut at {cut}");
        }
        assert_eq!(
            rig.drive.backends.ftl.valid_cached(PlaneId(0)),
            0,
            "folding goes on after a cut at {cut}"
        );
        rig.drive.audit();
    }
}

#[test]
fn a_failed_block_of_the_cache_loses_its_pages_only() {
    let mut rig = rig("fold_above = 1");
    write_in_turn(&mut rig, 0..8);
    let first = rig.drive.geometry().blocks;
    rig.drive.fail(rig.now, 0, Fault::Block(PlaneId(0), first), true);
    let gone = told(&rig.done(), CompletionPart::Lost);
    assert_eq!(gone, [0, 1]);
    rig.drive.audit();
    write_in_turn(&mut rig, [0, 1]);
    rig.drive.renew(rig.now, 0, Fault::Block(PlaneId(0), first));
    rig.drive.audit();
    assert_eq!(write_in_turn(&mut rig, 10..13), [FAST, FAST, SLOW]);
}

#[test]
fn planes_of_a_die_fill_their_caches_together() {
    let flash =
        ONE.replace("planes_per_die = 1", "planes_per_die = 2, commands = { multi_plane = \"match\" }");
    let mut rig = Rig::new(&flash, "allocation = \"dynamic\", slc = { idle_us = 300 }", 1, mapped(100));
    rig.ask(0, write(0, 12), 0, &tokens(0, 12));
    let done = rig.settle();
    assert_eq!(done[0].durable.0, 6 * (2 * (COMMAND + TRANSFER) + 50_000));
    assert_eq!(counts(&rig), [12, 0, 12, 0, 6]);
    rig.drive.audit();
}

/// A word line of three pages is programmed at once where pages are folded; the cache takes them one by one.
#[test]
fn the_cache_is_programmed_page_by_page_and_folded_by_word_lines() {
    let flash = ONE.replace("pages_per_block = 6", "pages_per_block = 6, pages_per_program = 3");
    let mut rig = Rig::new(&flash, "allocation = \"dynamic\", slc = { idle_us = 300 }", 1, mapped(40));
    assert_eq!(write_in_turn(&mut rig, 0..6), [FAST; 6]);
    let last = rig.now.0;
    rig.settle();
    let read = COMMAND + FAST_READ + TRANSFER;
    // Two pages of a block are in hand when the last one has been read, and share a program with none of the next block.
    let program = 2 * (COMMAND + TRANSFER) + PROGRAM;
    assert_eq!(rig.now.0, last + IDLE + 3 * (2 * read + program + ERASED));
    assert_eq!(counts(&rig), [6, 0, 6, 0, 3]);
    assert_eq!(rig.drive.counters().empty_places, 3);
    rig.drive.audit();
}
