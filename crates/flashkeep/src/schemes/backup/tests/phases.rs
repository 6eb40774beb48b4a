//! The three phases, operation by operation.

use super::*;
use crate::engine::{BackendId, Flags, Verb};
use crate::kernel::{SimTime, Span};

/// A disk D D F D D F D D F D D F in segments of 4 pages, whose SSD has pages 0 to 31.
const ONE: Setup = Setup { ssds: 1, disks: 1, each: 8, recall_idle_ns: 1_000, ..SMALL };

/// What a disk has done: `W8x4` wrote four pages from 8 on.
fn operations<C: Contents>(rig: &Rig<C>, setup: &Setup, disk: u8) -> Vec<String> {
    let backend = BackendId(setup.disk(disk) - 1);
    let own =
        rig.store.log.iter().filter(|(_, of, command)| *of == backend && !command.flags.has(Flags::BEFORE));
    own.map(|(_, _, command)| {
        let verb = if command.verb == Verb::Read { "R" } else { "W" };
        format!("{verb}{}x{}", command.start.low(), command.count)
    })
    .collect()
}

fn moved(operations: u64, pages: u64) -> super::super::Moved {
    super::super::Moved { operations, pages }
}

/// Page 5 lies in the segment next to the head and is written there. Pages that come while the disk is busy are
/// written to the next free segment: 21 (at 29), 2 and 3, and 20 (at 28), as one write. In idle time one read brings
/// them back, and from the head on 28 and 29 are a run again, then 2 and 3.
#[test]
fn three_phases() {
    let mut rig: Rig = ONE.rig(Report::After(10), 0);
    rig.write(5, 1);
    rig.write(21, 1);
    rig.write(2, 2);
    rig.write(20, 1);
    assert_eq!(backup(&rig).facts().nvram_used, 5);
    rig.run();
    assert_eq!(operations(&rig, &ONE, 0), ["W5x1", "W8x4", "R8x4", "W28x2", "W2x2"]);
    let facts = backup(&rig).facts();
    let disk = facts.disks[0];
    assert_eq!(facts.writes, moved(4, 5));
    assert_eq!([disk.in_place, disk.staged], [moved(1, 1), moved(1, 4)]);
    assert_eq!([disk.recalled, disk.destaged], [moved(1, 4), moved(2, 4)]);
    // Of five pages four took the detour: 1 + 2f of five pages.
    assert_eq!(disk.all_phases(), moved(5, 13));
    assert_eq!((facts.nvram_used, facts.nvram_most, disk.nvram_most), (0, 5, 5));
    assert_eq!((facts.map_entries, facts.map_most, disk.segments_used), (0, 4, 0));
    check_copies(&mut rig, &ONE);
    assert!(read_all(&mut rig, &ONE).is_empty());
}

/// What joins on in the own segment goes along; a free segment that is nearer takes what the own one would.
#[test]
fn in_place_or_to_the_nearest_free_segment() {
    let setup = Setup { recall_idle_ns: 1_000_000, ..ONE };
    let mut rig: Rig = setup.rig(Report::After(10), 0);
    let mut step = |writes: &[u32]| {
        rig.store.log.clear();
        write_each(&mut rig, writes.iter().copied());
        rig.until(rig.now + Span(500));
        operations(&rig, &setup, 0)
    };
    // The disk begins with the first; 7 and 6 are a run then, 4 is not: the head is before the free segment.
    assert_eq!(step(&[5, 7, 6, 4]), ["W5x1", "W6x2", "W8x1"]);
    // At 9, inside the free segment: nothing is nearer for 8, which belongs at 12. At 10 the same for 31.
    assert_eq!(step(&[8]), ["W9x1"]);
    assert_eq!(step(&[31]), ["W10x1"]);
    // One page is left there, and then the next one is ahead, at 20: nearer than 29, at 37, and 11 goes along.
    assert_eq!(step(&[30, 29, 11]), ["W11x1", "W20x2"]);
}

/// Writes wait where the memory is full, until the disk has taken something; a page that waits there already is written
/// again at once.
#[test]
fn back_pressure() {
    let setup = Setup { memory: 4, ..ONE };
    let mut rig: Rig = setup.rig(Report::After(10), 0);
    rig.store.set_report(setup.disk(0) - 1, Report::After(1000));
    let told = |rig: &Rig, write: usize| rig.told[write].map(|(at, _)| at.0);
    let first = rig.write(0, 4);
    rig.until(SimTime(10));
    assert_eq!((told(&rig, first), backup(&rig).facts().nvram_used), (Some(10), 4));
    let again = rig.write(3, 1);
    rig.until(SimTime(20));
    assert_eq!((told(&rig, again), backup(&rig).facts().nvram_used), (Some(20), 4));
    let (waits, behind) = (rig.write(16, 1), rig.read(3, 1));
    rig.until(SimTime(900));
    assert_eq!((told(&rig, waits), told(&rig, behind)), (None, None));
    // The disk reads the memory for 10 ns and writes for 1,000.
    rig.until(SimTime(1020));
    assert_eq!((told(&rig, waits), told(&rig, behind)), (Some(1020), Some(1020)));
    rig.run();
    check_copies(&mut rig, &setup);
    // However small the memory, everything comes through.
    for memory in 1..12 {
        let setup = Setup { memory, ..EAGER };
        let mut rig: Rig = setup.rig(Report::Random(40), u64::from(memory));
        shake(&mut rig, &setup, &mut Random::stream(u64::from(memory), "pressure"), 150);
        rig.run();
        check_copies(&mut rig, &setup);
        assert!(read_all(&mut rig, &setup).is_empty());
    }
}

/// A write is acknowledged when both the SSD and the memory have it.
#[test]
fn the_slower_of_ssd_and_memory() {
    for (ssd, nvram) in [(200, 1), (200, 300)] {
        let mut rig: Rig = ONE.rig(Report::After(ssd), 0);
        rig.store.set_report(ONE.nvram() - 1, Report::After(nvram));
        let write = rig.write(9, 3);
        rig.run();
        assert_eq!(rig.told[write], Some((SimTime(ssd.max(nvram)), 0)));
        // Reads are the SSD's alone.
        rig.store.log.clear();
        rig.read(9, 3);
        rig.run();
        assert_eq!(rig.store.count(|backend, _| backend == BackendId(0)), 3);
        assert_eq!(rig.store.log.len(), 1);
    }
}

/// New writes go first between two runs of a sweep, and what they supersede is not written any more.
#[test]
fn writes_go_before_the_next_run() {
    let mut rig: Rig = ONE.rig(Report::After(10), 0);
    rig.write(5, 1);
    rig.write(21, 1);
    rig.write(2, 2);
    rig.write(20, 1);
    while operations(&rig, &ONE, 0).last().is_none_or(|last| last != "W28x2") {
        assert!(rig.step());
    }
    rig.write(30, 1);
    rig.write(2, 1);
    rig.run();
    // The head is at 30: 30 and 2 go to the free segment at 32, 3 to its place; then those two, onwards from there.
    let all = operations(&rig, &ONE, 0);
    assert_eq!(all[3..], ["W28x2", "W32x2", "W3x1", "R32x2", "W42x1", "W2x1"]);
    check_copies(&mut rig, &ONE);
    assert!(read_all(&mut rig, &ONE).is_empty());
}

/// Pages that are written once, in any order, and then nothing: the disks move 1 + 2f times that.
#[test]
fn the_volume_is_one_and_two_f() {
    for setup in ALL.map(|setup| Setup { recall_idle_ns: 100, ..setup }) {
        let mut staged_any = 0;
        for seed in 0..20 {
            let mut random = Random::stream(seed, "volume");
            let mut rig: Rig = setup.rig(Report::Random(30), seed);
            let mut pages: Vec<u32> = (0..setup.pages()).collect();
            (1..pages.len()).rev().for_each(|at| pages.swap(at, random.below(at as u64 + 1) as usize));
            for page in pages {
                rig.write(page, 1);
                steps(&mut rig, random.below(4));
            }
            rig.run();
            let facts = backup(&rig).facts();
            let sum = |what: fn(&super::super::DiskFacts) -> u64| facts.disks.iter().map(what).sum::<u64>();
            let (staged, all) = (sum(|disk| disk.staged.pages), sum(|disk| disk.all_phases().pages));
            assert_eq!(facts.writes.pages, u64::from(setup.pages()));
            assert_eq!(all, facts.writes.pages + 2 * staged, "{setup:?}, seed {seed}");
            staged_any += staged;
            check_copies(&mut rig, &setup);
        }
        assert!(staged_any > 0, "{setup:?}");
    }
}

// ---------------------------------------------------------------- what each key changes

/// This many writes, each of one page at random, a new one each `pause`; what the disks have done by then.
fn busy(setup: &Setup, writes: u32, pause: u64) -> (Rig, BackupFacts) {
    let mut random = Random::stream(1, "busy");
    let mut rig: Rig = setup.rig(Report::After(10), 1);
    for _ in 0..writes {
        rig.write(random.below(u64::from(setup.pages())) as u32, 1);
        rig.until(rig.now + Span(pause));
    }
    check(&rig);
    let facts = backup(&rig).facts();
    (rig, facts)
}

#[test]
fn recall_share_is_what_makes_it_recall_under_load() {
    let setup = Setup { each: 24, recall_idle_ns: 1_000_000, ..ONE };
    let recalled =
        |recall_share: f64| busy(&Setup { recall_share, ..setup }, 300, 25).1.disks[0].recalled.pages;
    assert_eq!(recalled(1.0), 0);
    assert!(recalled(0.25) > 0);
}

#[test]
fn recall_idle_ms_is_when_it_recalls() {
    for recall_idle_ns in [700, 5_000] {
        let setup = Setup { recall_idle_ns, ..ONE };
        let (mut rig, _) = busy(&setup, 10, 100);
        let last = rig.now.0 - 100;
        let recalled = |rig: &Rig| backup(rig).facts().disks[0].recalled.pages;
        assert!(backup(&rig).facts().disks[0].staged.pages > 0);
        rig.until(SimTime(last + recall_idle_ns - 1));
        assert_eq!(recalled(&rig), 0);
        rig.until(SimTime(last + recall_idle_ns));
        assert!(recalled(&rig) > 0);
    }
}

#[test]
fn recall_segments_are_read_in_one_pass() {
    for (recall_segments, expected) in [(1, 1), (2, 2), (3, 3), (9, 3)] {
        let setup = Setup { recall_segments, recall_idle_ns: 100_000, each: 24, ..ONE };
        let mut rig: Rig = setup.rig(Report::After(10), 0);
        // Twelve pages that all belong far away, while the head is at the first free segment: they fill three.
        rig.write(7, 1);
        write_each(&mut rig, (0..12).map(|n| 60 + n * 7 % 12));
        rig.until(rig.now + Span(50_000));
        assert_eq!(operations(&rig, &setup, 0), ["W7x1", "W8x4", "W20x4", "W32x4"]);
        rig.store.log.clear();
        rig.run();
        let operations = operations(&rig, &setup, 0);
        let reads = operations.iter().take_while(|name| name.starts_with('R')).count();
        assert_eq!(reads, expected, "{operations:?}");
    }
}

#[test]
fn spread_is_who_takes_part_in_a_burst() {
    for (spread, expected) in [(Spread::Interleaved, [8, 8]), (Spread::Contiguous, [16, 0])] {
        let setup = Setup { spread, each: 8, ..SMALL };
        let mut rig: Rig = setup.rig(Report::After(10), 0);
        rig.write(0, 16);
        rig.run();
        let disks = backup(&rig).facts().disks;
        assert_eq!([0, 1].map(|disk: usize| disks[disk].in_place.pages + disks[disk].staged.pages), expected);
    }
}
