//! Damage, step by step: the notices, the instants of answers, and how much still fits.

use super::*;
use crate::flash::{PlanePlace, Pools, StripingLevel};

/// Two channels of one chip with one plane of six blocks of four pages each.
const TWO: &str =
    "channels = 2, chips_per_channel = 1, planes_per_die = 1, blocks_per_plane = 6, pages_per_block = 4";

fn channel(rig: &Rig, channel: u32) -> Fault {
    let place = PlanePlace { channel, ..PlanePlace::default() };
    Fault::of(rig.drive.geometry(), Pools::PLANES, StripingLevel::Channel, place)
}

#[test]
fn a_plane_is_lost_with_what_is_in_it_and_what_waits_for_it() {
    let mut rig = Rig::new(TWO, "allocation = \"CWDP\"", 1, mapped(32));
    rig.ask(0, before(write(0, 8)), 0, &tokens(100, 8));
    rig.done();
    // Even pages are on channel 0: one is being read, one waits; two writes wait for its chip, one for the other.
    rig.ask(0, read(0), 0, &[]);
    rig.ask(0, read(2), 1, &[]);
    rig.ask(0, write(4, 1), 2, &tokens(7, 1));
    rig.ask(0, write(1, 1), 3, &tokens(8, 1));
    rig.ask(0, write(3, 1), 4, &tokens(9, 1));
    rig.now = SimTime(10_000);
    rig.go_on(rig.now);
    rig.drive.fail(rig.now, 0, channel(&rig, 0), true);
    let at_once = rig.done();
    let mut reads: Vec<_> =
        at_once.iter().filter(|d| d.part == CompletionPart::Both && d.failed.is_some()).collect();
    reads.sort_by_key(|done| done.token.slot);
    let answered: Vec<_> = reads.iter().map(|d| (d.token.slot, d.failed, d.durable.0)).collect();
    let expected = [(0, Some((BackendId(0), Page(0))), 10_000), (1, Some((BackendId(0), Page(2))), 10_000)];
    assert_eq!(answered, expected);
    assert_eq!(told(&at_once, CompletionPart::Lost), [0, 2, 6]);
    let later = rig.settle();
    assert!(later.iter().all(|done| done.failed.is_none()));
    let held: Vec<_> =
        (0..8).map(|p| rig.drive.contents_of(BackendId(0), Page::of(p)).map(|t| t.0)).collect();
    let expected = [None, Some(8), None, Some(9), Some(7), Some(105), None, Some(107)];
    assert_eq!(held, expected, "page 4 went to the other channel");
    assert!(!rig.drive.is_dead(BackendId(0)));
    rig.drive.audit();
}

#[test]
fn what_is_left_holds_its_good_pages_but_for_two_blocks() {
    for run in ["steps", "hold-channel"] {
        for allocation in ["dynamic", "CWDP"] {
            let ftl = format!("allocation = \"{allocation}\", gc = {{ threshold = 0.3, run = \"{run}\" }}");
            let mut rig = Rig::new(TWO, &ftl, 1, mapped(32));
            rig.ask(0, before(write(0, 32)), 0, &tokens(100, 32));
            rig.done();
            rig.drive.fail(rig.now, 0, channel(&rig, 1), true);
            let mut gone = told(&rig.done(), CompletionPart::Lost);
            assert_eq!(gone.len(), 16);
            for n in 0..320 {
                let page = n * 7 % 32;
                gone.retain(|&other| other != page);
                rig.ask(0, write(page, 1), 0, &tokens(1_000, 1));
                gone.extend(told(&rig.done(), CompletionPart::Refused));
            }
            gone.extend(told(&rig.settle(), CompletionPart::Refused));
            let holds = (0..32).filter(|&page| rig.drive.holds(BackendId(0), Page::of(page))).count();
            assert_eq!((holds, gone.len()), ((6 - 2) * 4, 16), "{allocation} {run}");
            rig.drive.audit();
        }
    }
}

#[test]
fn a_dead_backend_answers_and_begins_anew_when_it_is_renewed() {
    for kind in [mapped(16), FlashBackendKind::Physical] {
        let mut rig = Rig::new(TWO, "", 2, kind);
        for backend in 0..2 {
            rig.ask(backend, write(0, 4), 0, &tokens(1, 4));
        }
        rig.now = SimTime(5_000);
        rig.go_on(rig.now);
        rig.drive.fail(rig.now, 0, channel(&rig, 1), true);
        let done = rig.done();
        assert!(rig.drive.is_dead(BackendId(1)) && !rig.drive.is_dead(BackendId(0)));
        assert!(told(&done, CompletionPart::Lost).is_empty(), "the backend is dead: that says it all");
        assert!(done.iter().all(|d| d.durable == rig.now), "what waited is void");
        rig.ask(1, read(0), 0, &[]);
        rig.ask(1, write(8, 1), 1, &tokens(1, 1));
        rig.ask(1, trim(0, 4), 2, &[]);
        let failed: Vec<_> = rig.done().iter().map(|d| d.failed.is_some()).collect();
        assert_eq!(failed, [true, false, false]);
        rig.settle();
        rig.now = SimTime(50_000_000);
        rig.drive.renew(rig.now, 0, channel(&rig, 1));
        assert!(!rig.drive.is_dead(BackendId(1)) && !rig.drive.holds(BackendId(1), Page(0)));
        rig.ask(1, write(0, 2), 0, &tokens(7, 2));
        rig.settle();
        assert_eq!(rig.drive.contents_of(BackendId(1), Page(1)), Some(Token(8)));
        assert_eq!(rig.drive.contents_of(BackendId(0), Page(3)), Some(Token(4)));
        rig.drive.audit();
    }
}

#[test]
fn new_planes_have_never_been_erased() {
    let mut rig = Rig::new(TWO, "gc = { threshold = 0.5 }", 1, mapped(8));
    for n in 0..200 {
        rig.ask(0, write(n % 8, 1), 0, &tokens(1, 1));
    }
    rig.settle();
    let erases = |rig: &Rig| -> Vec<u32> {
        rig.drive.erases().iter().collect::<Vec<_>>().chunks(6).map(|plane| plane.iter().sum()).collect()
    };
    let worn = erases(&rig);
    assert!(worn[0] > 0 && worn[1] > 0);
    rig.now = SimTime(1 << 40);
    rig.drive.fail(rig.now, 0, channel(&rig, 0), true);
    assert_eq!(erases(&rig), worn);
    rig.drive.renew(rig.now, 0, channel(&rig, 0));
    assert_eq!(erases(&rig), [0, worn[1]]);
    assert_eq!(rig.drive.wear(BackendId(0)), u64::from(worn[1]));
    rig.settle();
    rig.drive.audit();
}

#[test]
fn a_page_that_cannot_be_read_is_found_by_its_reader() {
    let mut rig = Rig::new(TWO, "", 1, mapped(16));
    rig.ask(0, before(write(0, 4)), 0, &tokens(1, 4));
    rig.done();
    let MapEntry::At(ppn) = rig.drive.lookup(BackendId(0), Page(2)) else { panic!("it has been written") };
    rig.drive.fail(rig.now, 0, Fault::Page(ppn), false);
    assert!(rig.done().is_empty(), "the loss is not known yet");
    assert!(rig.drive.holds(BackendId(0), Page(2)) && rig.drive.contents_of(BackendId(0), Page(2)).is_none());
    rig.ask(0, read(2), 0, &[]);
    let done = rig.settle();
    assert_eq!(
        (done[0].failed, done[0].durable.0),
        (Some((BackendId(0), Page(2))), COMMAND + READ + TRANSFER)
    );
    assert_eq!(rig.drive.counters().total(OpKind::Read), 1);
    rig.ask(0, before(read(2)), 0, &[]);
    assert!(rig.done()[0].failed.is_some());
    rig.ask(0, write(2, 1), 0, &tokens(9, 1));
    rig.settle();
    assert_eq!(rig.drive.contents_of(BackendId(0), Page(2)), Some(Token(9)), "written again");
}

#[test]
fn a_page_that_cannot_be_read_is_found_by_a_collection() {
    for run in ["steps", "hold-channel"] {
        let mut rig = Rig::new(TWO, &format!("gc = {{ threshold = 0.4, run = \"{run}\" }}"), 1, mapped(16));
        rig.ask(0, before(write(0, 16)), 0, &tokens(1, 16));
        rig.done();
        let MapEntry::At(ppn) = rig.drive.lookup(BackendId(0), Page(2)) else {
            panic!("it has been written")
        };
        rig.drive.fail(rig.now, 0, Fault::Page(ppn), false);
        let mut gone = Vec::new();
        for n in 0..200 {
            let page = [0, 1, 3, 4, 5, 6, 7, 8, 9][n % 9];
            rig.ask(0, write(page, 1), 0, &tokens(50, 1));
            gone.extend(told(&rig.go_on(rig.now + Span(400_000)), CompletionPart::Lost));
        }
        gone.extend(told(&rig.settle(), CompletionPart::Lost));
        assert_eq!(gone, [2], "{run}");
        assert!(!rig.drive.holds(BackendId(0), Page(2)));
        let (reads, programs) =
            (rig.drive.counters().total(OpKind::Read), rig.drive.counters().of(OpKind::Program, Cause::Gc));
        assert_eq!(reads, programs + 1, "it was read, and not programmed");
        rig.drive.audit();
    }
}

#[test]
fn physical_pages_that_have_failed_are_void() {
    let flash =
        "channels = 2, chips_per_channel = 1, planes_per_die = 1, blocks_per_plane = 3, pages_per_block = 4";
    let mut rig = Rig::new(flash, "", 1, FlashBackendKind::Physical);
    let place = |rig: &Rig, page| rig.drive.physical_place(BackendId(0), Page::of(page));
    rig.ask(0, write(0, 3), 0, &tokens(1, 3));
    // Page 2 waits after page 0; page 1 is being programmed on the other channel.
    rig.drive.fail(rig.now, 0, Fault::Page(place(&rig, 2)), true);
    assert_eq!(told(&rig.done(), CompletionPart::Refused), [2]);
    rig.drive.fail(rig.now, 0, Fault::Block(PlaneId(1), 1), true);
    rig.ask(0, write(8, 2), 3, &tokens(5, 2));
    assert_eq!(told(&rig.done(), CompletionPart::Refused), [9]);
    rig.ask(0, read(9), 5, &[]);
    assert!(rig.done()[0].failed.is_some(), "lost, not zeros");
    rig.ask(0, trim(8, 8), 6, &[]);
    rig.ask(0, write(4, 1), 14, &tokens(7, 1));
    rig.settle();
    let erases = rig.operations.iter().filter(|o| o.kind == OpKind::Erase);
    assert_eq!(erases.map(|o| o.ppn).collect::<Vec<_>>(), [place(&rig, 8)], "the failed block is left out");
    let held: Vec<_> =
        (0..5).map(|p| rig.drive.contents_of(BackendId(0), Page::of(p)).map(|t| t.0)).collect();
    assert_eq!(held, [Some(1), Some(2), None, None, Some(7)]);
    rig.drive.audit();
}

/// A read that is owed what an erased page held goes to another page of the plane: not to one of a held block that
/// nothing has been moved into yet.
#[test]
fn what_stands_in_for_an_erased_page_has_been_programmed() {
    let flash =
        "channels = 1, chips_per_channel = 1, planes_per_die = 1, blocks_per_plane = 9, pages_per_block = 2";
    let ftl = "wear = { erase_budget = 30, levelling = \"migration\" }";
    let rig = Rig::new(flash, ftl, 1, mapped(4));
    let (plane, geometry) = (PlaneId(0), rig.drive.controller.flash.geometry.clone());
    let mut blocks = rig.drive.backends.ftl.blocks().clone();
    blocks.hold(plane, 0);
    assert_eq!(blocks.programmed_page(plane, 8), None, "an empty block is open");
    let first = blocks.program(plane, 0, Token(1));
    assert_eq!(blocks.programmed_page(plane, 8), Some(first));
    assert_eq!(blocks.programmed_page(plane, geometry.block_of(first)), None, "the other one is still empty");
    let moved = blocks.program_held(plane, 1, Token(2));
    assert_eq!(blocks.programmed_page(plane, geometry.block_of(first)), Some(moved));
}

#[test]
fn a_replaced_block_and_a_replaced_page_give_back_their_room() {
    let capacity = |rig: &mut Rig| {
        for page in 0..32 {
            rig.ask(0, write(page, 1), 0, &tokens(1_000, 1));
            rig.settle();
        }
        rig.drive.audit();
        (0..32).filter(|&page| rig.drive.holds(BackendId(0), Page::of(page))).count()
    };
    let place = PlanePlace { channel: 1, ..PlanePlace::default() };
    // A block and a page that hold data, pages that are still free, and one after which the open block continues.
    for (block, pages) in [(0, [5, 6]), (5, [17, 18]), (2, [7, 19]), (1, [4, 8])] {
        let mut rig = Rig::new(TWO, "gc = { threshold = 0.3 }", 1, mapped(32));
        rig.ask(0, before(write(0, 19)), 0, &tokens(100, 19));
        rig.done();
        let plane = rig.drive.geometry().plane_at(place);
        let page = |number: u32| Fault::Page(rig.drive.geometry().ppn(plane, number / 4, number % 4));
        let faults = [Fault::Block(plane, block), page(pages[0]), page(pages[1])];
        faults.iter().for_each(|&fault| rig.drive.fail(rig.now, 0, fault, true));
        rig.drive.audit();
        assert!(capacity(&mut rig) < 32, "{block} {pages:?}");
        faults.iter().for_each(|&fault| rig.drive.renew(rig.now, 0, fault));
        rig.drive.audit();
        assert_eq!(capacity(&mut rig), 32, "{block} {pages:?}");
    }
}
