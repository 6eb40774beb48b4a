//! Pools of several busy units, to the nanosecond.

use super::*;
use crate::flash::{PlanePlace, StripingLevel};

const SENT: u64 = COMMAND + TRANSFER;

/// A pool of two dies on one channel, whose blocks of four pages take turns.
fn rig(unit: &str, gc: &str) -> Rig {
    let flash = format!(
        "channels = 1, chips_per_channel = 1, dies_per_chip = 2, planes_per_die = 1, blocks_per_plane = 4, \
         pages_per_block = 4, busy_unit = \"{unit}\""
    );
    Rig::new(&flash, &format!("pool = \"element\", gc = {{ {gc} }}"), 1, mapped(6))
}

fn ends(done: &[Done<Token>]) -> Vec<u64> {
    let mut ends: Vec<u64> = done.iter().map(|done| done.durable.0).collect();
    ends.sort_unstable();
    ends
}

/// The first block is full and in the first die; the next page goes to the second die, which is idle.
#[test]
fn one_die_reads_while_the_other_programs() {
    let of = |unit: &str| {
        let mut rig = rig(unit, "");
        rig.ask(0, before(write(0, 4)), 0, &tokens(1, 4));
        rig.settle();
        rig.ask(0, read(0), 0, &[]);
        rig.ask(0, write(4, 1), 1, &tokens(5, 1));
        ends(&rig.settle())
    };
    let read = COMMAND + READ + TRANSFER;
    assert_eq!(of("die"), [read, COMMAND + SENT + PROGRAM], "the write follows the command of the read");
    assert_eq!(of("chip"), [read, read + SENT + PROGRAM], "the chip does one thing at a time");
}

/// Of an open block all pages are in one die: two writes at once follow each other.
#[test]
fn a_pool_programs_one_block_at_a_time() {
    let mut rig = rig("die", "");
    rig.ask(0, write(0, 4), 0, &tokens(1, 4));
    rig.ask(0, write(4, 1), 1, &tokens(5, 1));
    let all = 4 * (SENT + PROGRAM);
    assert_eq!(
        ends(&rig.settle()),
        [all, 3 * (SENT + PROGRAM) + 2 * SENT + PROGRAM],
        "the fifth is in the other die"
    );
}

/// A die of a pool fails: its blocks do, and come back together. With its last die the pool has failed.
#[test]
fn a_die_of_a_pool_fails_with_its_blocks() {
    for unit in ["die", "chip"] {
        let mut rig = rig(unit, "");
        let die = |die| {
            let place = PlanePlace { die, ..PlanePlace::default() };
            Fault::of(rig.drive.geometry(), rig.drive.pools(), StripingLevel::Die, place)
        };
        let dies = [die(0), die(1)];
        rig.ask(0, before(write(0, 6)), 0, &tokens(1, 6));
        rig.done();
        rig.drive.fail(rig.now, 0, dies[1], true);
        // The second block has pages 4 and 5.
        assert_eq!(told(&rig.done(), CompletionPart::Lost), [4, 5], "{unit}");
        assert_eq!(rig.drive.blocks().good_pages(PlaneId(0)), 16);
        rig.ask(0, write(4, 2), 0, &tokens(20, 2));
        rig.settle();
        rig.drive.audit();
        let geometry = rig.drive.geometry();
        assert!(rig.operations.iter().all(|operation| geometry.block_of(operation.ppn).is_multiple_of(2)));
        rig.drive.fail(rig.now, 0, dies[0], true);
        assert!(rig.drive.is_dead(BackendId(0)), "{unit}");
        rig.done();
        // Its blocks are new; those of the other die are replaced later.
        rig.drive.renew(rig.now, 0, dies[0]);
        assert!(!rig.drive.is_dead(BackendId(0)));
        assert_eq!(rig.drive.blocks().good_pages(PlaneId(0)), 16);
        rig.ask(0, write(0, 6), 0, &tokens(30, 6));
        rig.settle();
        rig.drive.renew(rig.now, 0, dies[1]);
        assert_eq!(rig.drive.blocks().good_pages(PlaneId(0)), 32);
        for page in 0..6 {
            assert_eq!(
                rig.drive.contents_of(BackendId(0), Page::of(page)),
                Some(Token(30 + u64::from(page)))
            );
        }
        rig.drive.audit();
    }
}

/// Two valid pages are read in the die of their block; the open block, to which the first one moves, is in the other.
#[test]
fn a_collection_reads_in_one_die_and_programs_in_another() {
    for run in ["steps", "hold-channel"] {
        let mut rig = rig("die", &format!("victim = \"fifo\", threshold = 0.58, run = \"{run}\""));
        // Blocks 0 to 2; of the first one pages 1 and 3 stay valid.
        for page in [0, 1, 2, 3, 0, 2, 4, 5, 0, 2, 4, 5] {
            rig.ask(0, before(write(page, 1)), 0, &tokens(u64::from(page) + 1, 1));
        }
        rig.settle();
        assert_eq!(rig.drive.blocks().plane(PlaneId(0)).free_pages, 20, "18 are the threshold");
        for page in [0, 2, 4] {
            rig.ask(0, write(page, 1), page, &tokens(u64::from(page) + 1, 1));
        }
        rig.settle();
        rig.drive.audit();
        let geometry = rig.drive.geometry();
        let step = |operation: &LoggedOperation| (operation.kind, geometry.block_of(operation.ppn) % 2);
        let gc = rig.operations.iter().filter(|operation| operation.cause == Cause::Gc);
        let gc: Vec<(OpKind, u32)> = gc.map(step).collect();
        assert_eq!(gc[..2], [(OpKind::Read, 0), (OpKind::Program, 1)], "{run}: {gc:?}");
        assert!(gc.contains(&(OpKind::Erase, 0)), "{run}: {gc:?}");
        for page in 0..6 {
            assert_eq!(
                rig.drive.contents_of(BackendId(0), Page::of(page)),
                Some(Token(u64::from(page) + 1)),
                "{run}"
            );
        }
    }
}
