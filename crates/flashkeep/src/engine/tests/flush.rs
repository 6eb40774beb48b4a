//! FLUSH: what write caches of members hold reaches the media.

use super::*;
use crate::device::command::Origin;
use crate::device::port::{EvictedPages, FlushRule, Fragment, LinkTimes, PartialPages, PortOptions};
use crate::engine::{Command, Engine, Page, Tell, TreeLevel, Verb};
use crate::kernel::{SimTime, Span};

/// The time of a program.
const PROGRAM: u64 = 100;

/// A port with a write cache for this many pages, and a link with 5 ns per page if there is one.
fn port(pages: u64, links: bool) -> PortOptions {
    PortOptions {
        flush: FlushRule::Never,
        link: LinkTimes { ps_per_sector: if links { 5000 } else { 0 }, ..LinkTimes::default() },
        cache_sectors: pages,
        copied_sectors: 0,
        protected: false,
        evicts: EvictedPages::default(),
        pages: 8,
        page_sectors: 1,
        memory: Span(1),
        parts: PartialPages::AsTheyAre,
        logical_page: 1,
    }
}

/// A member with such a port.
fn cached(pages: u64, links: bool, member: Tree<Stub>) -> Tree<Stub> {
    let port = Some(port(pages, links));
    Tree::Level(TreeLevel { port, ..TreeLevel::default() }, Box::new(member))
}

fn leaf(store: &mut Store<Token>) -> Tree<Stub> {
    Tree::Backend(store.add(8, 0, Report::After(PROGRAM)))
}

/// A mirror of two members, one of which has a cache for this many pages.
fn mirror(tell: Tell, pages: u64, links: bool) -> Rig<Token> {
    let mut store = Store::new(0);
    let members = vec![cached(pages, links, leaf(&mut store)), leaf(&mut store)];
    Rig::new(Tree::Node(Mirror::new(8, tell).into(), members), store)
}

/// The time that a FLUSH takes from now on.
fn flush(rig: &mut Rig<Token>) -> u64 {
    let start = rig.now;
    let tag = rig.flush();
    rig.run();
    rig.told[tag].expect("told").0.since(start).0
}

/// The pages that a backend has been given to write.
fn programs(rig: &Rig<Token>, backend: u16) -> usize {
    rig.store.count(|of, command| of.0 == backend && command.verb == Verb::Write) as usize
}

#[test]
fn it_takes_the_time_to_program_what_caches_hold() {
    for links in [false, true] {
        let mut rig = mirror(Tell::First, 8, links);
        assert_eq!(flush(&mut rig), 0, "all caches are empty");
        rig.write(0, 3);
        rig.run();
        assert_eq!((programs(&rig, 0), programs(&rig, 1)), (0, 3));
        assert_eq!(flush(&mut rig), PROGRAM);
        assert_eq!(programs(&rig, 0), 3);
        for page in 0..3 {
            assert_eq!(rig.store.page(0, page), rig.store.page(1, page));
        }
        assert_eq!(flush(&mut rig), 0, "the cache is empty");
    }
}

#[test]
fn it_waits_for_what_has_left_a_cache() {
    let mut rig = mirror(Tell::First, 2, false);
    rig.write(0, 1);
    rig.write(1, 1);
    rig.write(2, 1);
    assert_eq!(programs(&rig, 0), 1, "a page was evicted at 0");
    rig.until(SimTime(30));
    assert_eq!(flush(&mut rig), PROGRAM, "the others are programmed from 30 on");
    let mut rig = mirror(Tell::First, 1, false);
    rig.write(0, 1);
    rig.write(1, 1);
    rig.trim(1, 1);
    rig.until(SimTime(30));
    assert_eq!(flush(&mut rig), PROGRAM - 30, "the evicted page is all that is left");
}

/// A cache before a member that has caches itself: pages that one evicts come to the other.
#[test]
fn it_goes_through_all_levels() {
    let mut store = Store::new(0);
    let inner = (0..2).map(|_| cached(8, false, leaf(&mut store))).collect();
    let inner = cached(8, false, Tree::Node(Mirror::new(8, Tell::All).into(), inner));
    let mut rig = Rig::new(Tree::Node(Plain { pages: 8 }.into(), vec![inner]), store);
    rig.write(0, 4);
    rig.run();
    assert!(rig.store.log.is_empty());
    rig.submit(Command::new(Verb::Trim, Page(3), 1));
    rig.run();
    rig.store.log.clear();
    assert_eq!(flush(&mut rig), PROGRAM);
    assert_eq!((programs(&rig, 0), programs(&rig, 1)), (3, 3));
    rig.write(0, 1);
    rig.fail(3);
    rig.run();
    assert_eq!(flush(&mut rig), PROGRAM, "a member that has failed is left out");
    assert_eq!((programs(&rig, 0), programs(&rig, 1)), (4, 3));
}

/// Advances until nothing happens any more; the end of the last request.
fn run(engine: &mut Engine<Stub, Token>, store: &mut Store<Token>) -> SimTime {
    let mut end = SimTime::ZERO;
    loop {
        for mut finished in std::mem::take(engine.work_mut().finished()) {
            if engine.is_over(&mut finished) {
                end = finished.acknowledged;
                engine.work_mut().forget(finished.counter);
            }
        }
        let next = engine.next_due().min(store.next());
        if next == SimTime::NEVER {
            assert!(engine.work().is_quiet());
            return end;
        }
        store.deliver(next);
        engine.advance(store, next);
    }
}

#[test]
fn host_flush_empties_the_cache_of_the_hosts_port_and_then_those_of_members() {
    let (mut store, now) = (Store::new(0), SimTime(10));
    let member = cached(8, false, leaf(&mut store));
    let mut engine = Engine::new(Tree::Node(Plain { pages: 8 }.into(), vec![member]));
    engine.ports_mut().set_host(port(8, false));
    let request = engine.open(0, 1);
    let write = (Command::new(Verb::Write, Page(3), 1), request.pages());
    let fragment = Fragment { page: 3, count: 1, mask: 1, continues: false };
    let evicts = engine.call_host_port(&mut store, now, write, (), |port, below| {
        port.write(fragment, Origin::host(0), 0, |_| Token(7), below)
    });
    engine.close(&mut store, now, request);
    assert_eq!((evicts, run(&mut engine, &mut store)), (false, now));
    assert!(engine.ports().host().holds_pages() && store.log.is_empty());
    let request = engine.open(1, 0);
    assert!(engine.begin_flush(&mut store, now, request, |_| true));
    engine.close(&mut store, now, request);
    // The cache of the member takes the page in 1 ns.
    assert_eq!(run(&mut engine, &mut store), now + Span(1 + PROGRAM));
    assert!(!engine.ports().host().holds_pages());
    assert_eq!(store.page(0, 3), Token(7));
}
