//! The first two laws of order: overlapping commands take effect in the order submitted, and are carried out in it;
//! what waits to be written is read from memory.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[test]
fn what_waits_to_be_written_is_read_from_memory() {
    let mut rig = Rig::small("");
    rig.ask(read(400, 1), 0, &[]);
    rig.ask(write(0, 2), 1, &tokens(7, 2));
    rig.ask(read(0, 2), 2, &[]);
    rig.done().iter().filter(|done| done.token.slot >= 2).for_each(|done| {
        // 0.5 ms of overhead, 8 KiB at 20.48 MB/s.
        assert_eq!((done.durable, done.contents), (SimTime(900_000), Token(u64::from(done.token.slot) + 5)));
    });
    assert_eq!(rig.disk.counters().reads_from_memory, 2);
    // While it is being written, too; not afterwards.
    let end = rig.settle().last().expect("the write").durable;
    rig.now = SimTime(end.0 - 1);
    rig.ask(read(1, 1), 0, &[]);
    assert_eq!(rig.done()[0].durable.since(rig.now), Span(700_000));
    rig.now = end + Span(1_000_000);
    assert!(rig.takes(read(1, 1)) > 1.0);
    assert_eq!((rig.disk.counters().reads_from_memory, rig.disk.counters().total(OpKind::Read)), (3, 2));
}

#[test]
fn a_read_brings_what_was_there_when_it_was_asked() {
    let mut rig = Rig::small("scheduler = \"sstf\"");
    rig.ask(before(write(100, 1)), 0, &tokens(1, 1));
    assert_eq!((rig.done()[0].durable, rig.disk.counters().total(OpKind::Program)), (SimTime::ZERO, 0));
    rig.ask(read(400, 1), 0, &[]);
    rig.ask(read(100, 1), 1, &[]);
    rig.ask(write(100, 1), 2, &tokens(2, 1));
    rig.ask(Command::new(Verb::Trim, Page(100), 1), 3, &[]);
    assert!(!rig.disk.holds(BACKEND, Page(100)) && rig.disk.contents_of(Page(100)).is_none());
    rig.ask(read(100, 1), 4, &[]);
    rig.ask(write(100, 1), 5, &tokens(3, 1));
    assert_eq!(rig.disk.contents_of(Page(100)), Some(Token(3)));
    let done = rig.settle();
    let contents = |slot| done.iter().find(|done| done.token.slot == slot).expect("an answer").contents;
    assert_eq!((contents(1), contents(4)), (Token(1), Token(0)));
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    command: Command,
    gap: u64,
}

fn asked() -> impl Strategy<Value = Asked> {
    let page = prop_oneof![0u32..24, 0u32..490];
    (page, 1u16..6, 0..5, prop::bool::ANY, prop_oneof![Just(0u64), 0u64..40_000_000]).prop_map(
        |(page, count, verb, behind, gap)| {
            let verb = [Verb::Read, Verb::Read, Verb::Write, Verb::Write, Verb::Trim][verb as usize];
            let command = Command::new(verb, Page::of(page), count);
            Asked { command: if behind { background(command) } else { command }, gap }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// With every scheduler, a read returns the data written last before it was submitted; every page is answered
    /// once; overlapping commands are carried out in the order submitted; the arm does one thing at a time; each ns of
    /// the time is accounted for.
    #[test]
    fn overlapping_commands_keep_their_order(
        all in prop::collection::vec(asked(), 1..80),
        rule in prop::sample::select(vec!["fcfs", "sstf", "look"]),
        depth in prop::sample::select(vec![1, 3, 32]),
        cache in prop::sample::select(vec![0.0, 0.0625]),
        rotation in prop::sample::select(vec!["position", "random", "mean"]),
    ) {
        let keys = format!(
            "scheduler = \"{rule}\"\nqueue_depth = {depth}\nwrite_cache_mib = {cache}\nrotation = \"{rotation}\""
        );
        let mut rig = Rig::small(&keys);
        let (mut model, mut expected) = (BTreeMap::new(), BTreeMap::new());
        let mut done = Vec::new();
        for (n, Asked { command, gap }) in (0u32..).zip(&all) {
            let at = rig.now + Span(*gap);
            while rig.disk.step(at) {}
            rig.now = at;
            for page in command.low_pages() {
                let slot = n * 8 + page - command.start.low();
                let token = Token(u64::from(slot) + 1);
                match command.verb {
                    Verb::Write => drop(model.insert(page, token)),
                    Verb::Trim => drop(model.remove(&page)),
                    _ => drop(expected.insert(slot, model.get(&page).copied().unwrap_or_default())),
                }
            }
            rig.ask(*command, n * 8, &tokens(u64::from(n) * 8 + 1, command.count));
            for page in command.low_pages() {
                prop_assert!(rig.disk.holds(BACKEND, Page::of(page)) == model.contains_key(&page));
            }
        }
        done.extend(rig.settle());
        // Which pages were answered when, from the platter.
        let mut ends = vec![SimTime::ZERO; all.len()];
        let (mut reads, mut others) = (0, 0);
        for one in &done {
            let n = one.token.slot / 8;
            let Command { verb, count, .. } = all[n as usize].command;
            if verb == Verb::Read {
                reads += 1;
                prop_assert_eq!(Some(&one.contents), expected.get(&one.token.slot));
            } else if one.part != CompletionPart::Acknowledged {
                others += one.pages;
                prop_assert_eq!(one.pages, u32::from(count));
            }
            prop_assert!(one.failed.is_none());
            ends[n as usize] = ends[n as usize].max(one.durable);
        }
        prop_assert_eq!(reads, expected.len());
        let written = all.iter().filter(|one| one.command.verb != Verb::Read);
        prop_assert_eq!(others, written.map(|one| u32::from(one.command.count)).sum::<u32>());
        let from_memory = |n: usize| {
            let own = done.iter().filter(|one| one.token.slot / 8 == n as u32);
            let service = Span(500_000 + u64::from(all[n].command.count) * 200_000);
            own.clone().all(|one| one.service == service)
        };
        for (younger, b) in all.iter().enumerate().filter(|(_, one)| one.command.verb != Verb::Trim) {
            for (older, a) in all[..younger].iter().enumerate().filter(|(_, one)| one.command.verb != Verb::Trim) {
                let (a, b) = (a.command, b.command);
                let overlap = a.start.low() < b.end() as u32 && b.start.low() < a.end() as u32;
                if overlap && (a.verb == Verb::Write || b.verb == Verb::Write) && !from_memory(younger) && !from_memory(older) {
                    prop_assert!(ends[older] < ends[younger], "{} before {}", older, younger);
                }
            }
        }
        let until = SimTime(rig.disk.free_at.0.max(rig.now.0));
        let did = rig.disk.statistics(until);
        prop_assert_eq!(did.busy() + did.idle, until.0);
        prop_assert_eq!(rig.disk.queued, Span::ZERO);
        prop_assert!(rig.disk.in_memory.is_empty());
    }
}
