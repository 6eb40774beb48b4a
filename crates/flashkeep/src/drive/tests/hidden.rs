//! The hidden range: pages beyond those that a backend exports.

use super::*;

/// One plane of nine blocks of four pages; its FTL exports eight pages and has eight more.
fn rig(run: &str) -> Rig {
    let flash =
        "channels = 1, chips_per_channel = 1, planes_per_die = 1, blocks_per_plane = 9, pages_per_block = 4";
    let kind = FlashBackendKind::Mapped { pages: 8, hidden: 8, notify_leaving: true, notify_moves: false };
    let mut rig =
        Rig::new(flash, &format!("gc = {{ threshold = 0.2, victim = \"fifo\", run = \"{run}\" }}"), 1, kind);
    for page in 0..8 {
        rig.ask(0, write(page, 1), page, &tokens(100 + u64::from(page), 1));
    }
    rig.settle();
    rig.now = SimTime(10_000_000);
    rig
}

#[test]
fn hidden_pages_are_reported_before_they_are_collected() {
    for run in ["steps", "hold-channel"] {
        let mut rig = rig(run);
        assert_eq!((rig.drive.pages(BackendId(0)), rig.drive.blocks().plane(PlaneId(0)).free_pages), (8, 28));
        // The old versions of 0 and 1 are kept; the others of their block are garbage soon.
        let keep = Command { to: Page(8), ..Command::new(Verb::Remap, Page(0), 2) };
        rig.ask(0, keep, 0, &[]);
        let mut told_of = Vec::new();
        for n in 0..40 {
            rig.ask(0, write(n % 8, 1), 0, &tokens(1_000 + u64::from(n), 1));
            told_of.extend(told(&rig.go_on(rig.now + Span(2_000_000)), CompletionPart::Leaving));
        }
        assert_eq!(told_of[..2], [8, 9], "{run}: both, when their block is chosen");
        assert!(told_of.len() < 20 && told_of.iter().all(|&page| page == 8 || page == 9), "{told_of:?}");
        let held = [8, 9, 0].map(|page| rig.drive.contents_of(BackendId(0), Page::of(page)));
        assert_eq!(
            held,
            [Some(Token(100)), Some(Token(101)), Some(Token(1032))],
            "{run}: moved like any page"
        );
        rig.drive.audit();
    }
}

#[test]
fn what_is_trimmed_when_it_is_told_of_need_not_be_moved() {
    let mut rig = rig("steps");
    let keep = Command { to: Page(8), ..Command::new(Verb::Remap, Page(0), 3) };
    rig.ask(0, keep, 0, &[]);
    for n in 0..40 {
        rig.ask(0, write(n % 4, 1), 0, &tokens(1_000, 1));
        loop {
            for page in told(&rig.done(), CompletionPart::Leaving) {
                rig.ask(0, trim(page, 1), 0, &[]);
            }
            let next = rig.drive.next_event();
            if next == SimTime::NEVER {
                break;
            }
            rig.now = next;
            rig.drive.step(next);
        }
        rig.now = rig.now + Span(2_000_000);
    }
    assert!((8..11).all(|page| !rig.drive.holds(BackendId(0), Page::of(page))));
    // The first page is on its way up by the time that its notice comes; the other two stay where they are.
    let moves = rig.operations.iter().filter(|operation| operation.cause == Cause::Gc);
    let block =
        |operation: &&LoggedOperation| rig.drive.controller.flash.geometry.block_of(operation.ppn) == 0;
    let read = moves.filter(|operation| operation.kind == OpKind::Read).filter(block).count();
    assert_eq!(read, 1);
    rig.drive.audit();
}
