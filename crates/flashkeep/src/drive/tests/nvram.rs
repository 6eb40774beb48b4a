//! NVRAM: how long accesses take, and which pages survive.

use super::*;

fn rig() -> (Rig, u16) {
    let flash =
        "channels = 1, chips_per_channel = 1, planes_per_die = 1, blocks_per_plane = 9, pages_per_block = 4";
    let mut rig = Rig::new(flash, "", 1, mapped(20));
    let backend = rig.drive.add_nvram(8, Span(300));
    assert_eq!((backend, rig.drive.ftl_count(), rig.drive.pages(backend)), (BackendId(1), 1, 8));
    (rig, backend.0)
}

#[test]
fn a_command_takes_the_latency_for_each_page() {
    let (mut rig, backend) = rig();
    rig.ask(backend, write(2, 3), 0, &tokens(7, 3));
    rig.ask(backend, Command::new(Verb::Read, Page(2), 2), 3, &[]);
    rig.ask(backend, before(read(4)), 5, &[]);
    rig.ask(backend, Command { to: Page(0), ..Command::new(Verb::Remap, Page(3), 1) }, 6, &[]);
    rig.ask(backend, trim(2, 1), 7, &[]);
    let done: Vec<_> =
        rig.done().into_iter().map(|d| (d.token.slot, d.pages, d.durable.0, d.contents.0)).collect();
    let expected =
        [(0, 3, 900, 0), (3, 1, 300, 7), (4, 1, 600, 8), (5, 1, 0, 9), (6, 1, 300, 0), (7, 1, 300, 0)];
    assert_eq!(done, expected);
    let held: Vec<_> =
        (0..5).map(|page| rig.drive.contents_of(BackendId(backend), Page::of(page)).map(|t| t.0)).collect();
    assert_eq!(held, [Some(8), None, None, None, Some(9)]);
    let holds: Vec<_> = (0..5).map(|page| rig.drive.holds(BackendId(backend), Page::of(page))).collect();
    assert_eq!(holds, [true, false, false, false, true]);
    let below = (
        rig.drive.backlog(BackendId(backend), Page(0)),
        rig.drive.wear(BackendId(backend)),
        rig.drive.room(BackendId(backend)),
    );
    assert_eq!(below, (Span::ZERO, 0, u64::MAX));
    assert_eq!(rig.drive.counters().total(OpKind::Program), 0);
    assert!(rig.drive.is_quiet());
}

#[test]
fn it_fails_as_a_whole() {
    let (mut rig, backend) = rig();
    let nvram = Fault::Nvram(BackendId(backend));
    rig.ask(backend, write(0, 2), 0, &tokens(7, 2));
    rig.drive.fail(rig.now, 0, nvram, false);
    rig.ask(backend, write(1, 1), 0, &tokens(5, 1));
    rig.done();
    rig.ask(backend, Command::new(Verb::Read, Page(0), 3), 0, &[]);
    let read: Vec<_> = rig.done().into_iter().map(|d| (d.failed, d.contents.0)).collect();
    assert_eq!(read, [(Some((BackendId(backend), Page(0))), 0), (None, 5), (None, 0)]);
    rig.drive.fail(rig.now, 0, nvram, true);
    assert!(rig.drive.is_dead(BackendId(backend)) && !rig.drive.is_dead(BackendId(0)));
    rig.ask(backend, write(1, 1), 0, &tokens(5, 1));
    rig.ask(backend, read_of(1), 1, &[]);
    let done = rig.done();
    assert_eq!((done[0].failed, done[1].failed), (None, Some((BackendId(backend), Page(1)))));
    rig.drive.renew(rig.now, 0, nvram);
    rig.ask(backend, read_of(1), 0, &[]);
    assert_eq!((rig.done()[0].failed, rig.drive.is_dead(BackendId(backend))), (None, false));
}

fn read_of(page: u32) -> Command {
    super::read(page)
}
