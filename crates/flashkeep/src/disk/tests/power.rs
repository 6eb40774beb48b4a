//! The power of a disk fails.

use super::*;

/// Three pages in one command on the platter of round numbers: 5 pages a revolution of 10 ms, 2 ms each.
#[test]
fn pages_under_the_head_are_finished_and_those_behind_are_as_they_were() {
    let tokens = |first: u64| [Token(first), Token(first + 1), Token(first + 2)];
    for begun in 0..=3_usize {
        let mut rig = Rig::small("");
        rig.disk.expect_power_cuts();
        let write = |flags| Command { flags, ..Command::new(Verb::Write, Page(10), 3) };
        rig.ask(write(Flags::BEFORE), 0, &tokens(100));
        rig.done();
        rig.ask(write(Flags::NONE), 0, &tokens(200));
        let end = rig.done().pop().expect("it has been begun").durable;
        // The last page takes the last 2 ms, and so on; a page is finished once the head has come to it.
        let at = SimTime(end.0 - 2_000_000 * (4 - begun as u64) + 1_000_000);
        let recovery = rig.disk.cut_power(at);
        let found = [10, 11, 12].map(|page| rig.disk.contents_of(Page::of(page)).map(|token| token.0));
        let expected = [0, 1, 2].map(|n| Some(if n < begun { 200 } else { 100 } + n as u64));
        assert_eq!(found, expected, "{begun}");
        assert_eq!(recovery.reads, 3 - begun as u64, "each page that was not written is looked at");
        assert_eq!(recovery.ready == at, begun == 3);
        assert!(rig.disk.is_quiet());
    }
}

/// A sector of each page passes under the head, one after the other: all pages are there when the command ends.
#[test]
fn pages_written_in_part_are_on_the_platter_when_their_command_ends() {
    for begun in 0..=3_u64 {
        let mut rig = Rig::small("");
        rig.disk.expect_power_cuts();
        let write = Command { sectors: 3, ..Command::new(Verb::Write, Page(10), 3) };
        rig.ask(write, 0, &tokens(200, 3));
        let end = rig.done().pop().expect("it has been begun").durable;
        let sector = 2_000_000 / rig.disk.page_sectors;
        let before = if begun == 3 { 0 } else { sector * (4 - begun) - sector / 2 };
        let recovery = rig.disk.cut_power(SimTime(end.0 - before));
        let found = [10, 11, 12].map(|page| rig.disk.contents_of(Page::of(page)).is_some());
        assert_eq!(found, [0, 1, 2].map(|n| n < begun), "{begun}");
        assert_eq!(recovery.reads, 3 - begun, "{begun}");
    }
}

/// Writes that only the write cache had are gone, those that had left it are there, and a page has the data written
/// to it last.
#[test]
fn a_write_cache_is_empty_after_a_cut() {
    let mut rig = Rig::small("write_cache_mib = 1.0");
    rig.disk.expect_power_cuts();
    let write = |page| Command::new(Verb::Write, Page::of(page), 1);
    rig.ask(write(3), 0, &[Token(1)]);
    rig.ask(write(3), 1, &[Token(2)]);
    rig.ask(write(300), 2, &[Token(3)]);
    let acknowledged = rig.done().iter().filter(|done| done.part == CompletionPart::Acknowledged).count();
    assert_eq!(acknowledged, 3);
    // The first one's seek, turn and transfer have been begun with; they end within 40 ms.
    let recovery = rig.disk.cut_power(SimTime(40_000_000));
    assert_eq!(rig.disk.contents_of(Page(3)).map(|token| token.0), Some(1));
    assert_eq!(rig.disk.contents_of(Page(300)), None);
    assert_eq!(recovery.reads, 2);
    // It continues, and is cut again: nothing comes back.
    rig.now = recovery.ready;
    rig.ask(Command::new(Verb::Trim, Page(3), 1), 0, &[]);
    rig.disk.cut_power(rig.now);
    assert_eq!(rig.disk.contents_of(Page(3)), None);
}
