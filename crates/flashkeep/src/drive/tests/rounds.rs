//! Gangs of channels, and rounds, to the nanosecond.

use super::*;

const SENT: u64 = COMMAND + TRANSFER;

/// Two channels of two dies each.
fn rig(flash: &str) -> Rig {
    let flash = format!(
        "channels = 2, chips_per_channel = 1, dies_per_chip = 2, planes_per_die = 1, blocks_per_plane = 8, \
         pages_per_block = 4, {flash}"
    );
    Rig::new(&flash, "allocation = \"dynamic\"", 1, mapped(20))
}

fn last(done: &[Done<Token>]) -> u64 {
    done.iter().map(|done| done.durable.0).max().expect("it is answered")
}

/// A write comes 5 µs after another: it goes to the other channel, whose transfers wait for those of the first.
#[test]
fn transfers_of_a_gang_begin_together() {
    let second = |flash: &str, after: u64| {
        let mut rig = rig(flash);
        rig.ask(0, write(0, 1), 0, &tokens(1, 1));
        rig.go_on(SimTime(after));
        rig.ask(0, write(1, 1), 1, &tokens(2, 1));
        last(&rig.settle())
    };
    let gang = "control_gang = 2";
    assert_eq!(second("control_gang = 1", 5_000), 5_000 + SENT + PROGRAM);
    assert_eq!(second(gang, 0), SENT + PROGRAM, "they come together");
    assert_eq!(second(gang, 5_000), SENT + SENT + PROGRAM, "the array of the first is not waited for");
    assert_eq!(second(gang, SENT), SENT + SENT + PROGRAM);
    assert_eq!(second(&format!("{gang}, bus = \"operations\""), 5_000), 2 * (SENT + PROGRAM));
}

/// Two pages come up at different times, and the data of the second wait for those of the first.
#[test]
fn data_of_a_gang_leave_together() {
    let mut rig = rig("control_gang = 2");
    rig.ask(0, before(write(0, 2)), 0, &tokens(1, 2));
    rig.settle();
    rig.ask(0, read(0), 0, &[]);
    rig.go_on(SimTime(COMMAND + 2_000));
    rig.ask(0, read(1), 1, &[]);
    let ends: Vec<u64> = rig.settle().iter().map(|done| done.durable.0).collect();
    let first = COMMAND + READ + TRANSFER;
    assert_eq!(ends, [first, first + TRANSFER], "its page was there 3 µs after the first one's");
}

/// Five pages at once on four dies: a round of four, and one of the last.
#[test]
fn a_gang_takes_its_rounds_together() {
    let of = |flash: &str| {
        let mut rig = rig(flash);
        rig.ask(0, write(0, 5), 0, &tokens(1, 5));
        last(&rig.settle())
    };
    assert_eq!(of("bus = \"rounds\", control_gang = 2"), (2 * SENT + PROGRAM) + (SENT + PROGRAM));
    assert_eq!(of("bus = \"rounds\""), 2 * (2 * SENT + PROGRAM) + (SENT + PROGRAM), "one channel takes all");
}

/// Pages of both planes of a die come up together, and are there when the data of both have left.
#[test]
fn planes_join_in_a_round() {
    for (mode, end) in
        [("match", COMMAND + READ + 2 * TRANSFER + COMMAND), ("off", 2 * (COMMAND + READ + TRANSFER))]
    {
        let flash = format!(
            "channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 8, \
             pages_per_block = 4, bus = \"rounds\", commands = {{ multi_plane = \"{mode}\" }}"
        );
        let mut rig = Rig::new(&flash, "allocation = \"dynamic\"", 1, mapped(20));
        rig.ask(0, before(write(0, 3)), 0, &tokens(1, 3));
        rig.settle();
        // The first read finds the die idle and goes alone.
        rig.ask(0, read(2), 0, &[]);
        rig.ask(0, read(0), 1, &[]);
        rig.ask(0, read(1), 2, &[]);
        assert_eq!(last(&rig.settle()), COMMAND + READ + TRANSFER + end, "{mode}");
    }
}

/// Two writes that go to the first die and one, after them, that goes to the second: it is in the first round.
#[test]
fn units_take_their_own_writes_in_rounds() {
    let flash = "channels = 1, chips_per_channel = 1, dies_per_chip = 2, planes_per_die = 1, blocks_per_plane = 8, \
                 pages_per_block = 4, bus = \"rounds\"";
    let ftl = "allocation = \"dynamic-in-channel\", plane_choice = \"same\"";
    let mut rig = Rig::new(flash, ftl, 1, mapped(20));
    rig.ask(0, before(write(0, 3)), 0, &tokens(1, 3));
    rig.settle();
    let plane = |rig: &Rig, page| match rig.drive.lookup(BackendId(0), Page::of(page)) {
        MapEntry::At(ppn) => rig.drive.geometry().plane_of(ppn),
        other => unreachable!("{other:?}"),
    };
    assert_eq!([0, 1, 2].map(|page| plane(&rig, page)), [0, 1, 0].map(PlaneId));
    // The first write finds the channel free and goes alone.
    for (slot, page) in (0..).zip([9, 0, 2, 1]) {
        rig.ask(0, write(page, 1), slot, &tokens(10 + u64::from(slot), 1));
    }
    let mut ends: Vec<(u32, u64)> =
        rig.settle().iter().map(|done| (done.token.slot, done.durable.0)).collect();
    ends.sort_unstable();
    let (alone, both) = (SENT + PROGRAM, 2 * SENT + PROGRAM);
    assert_eq!(ends, [(0, alone), (1, 2 * alone), (2, alone + both + alone), (3, alone + both)]);
    assert_eq!([0, 1, 2].map(|page| plane(&rig, page)), [0, 1, 0].map(PlaneId));
}
