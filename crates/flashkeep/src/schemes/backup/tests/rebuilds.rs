//! Rebuilds: afterwards everything has two copies again, and the next failure costs nothing.

use super::*;
use crate::engine::{BackendId, BackgroundWork, Cause, Change, Command, Verb};
use crate::kernel::{SimTime, Span};

/// One after the other fails, is replaced or comes back, while the host continues.
#[test]
fn rebuilt_it_survives_the_next_failure() {
    for setup in ALL {
        for seed in 0..30 {
            let mut random = Random::stream(seed, "rebuilds");
            let mut rig: Rig = setup.rig(Report::Random(30), seed);
            rig.engine.tree_mut().controller.rebuild_permille = if seed % 2 == 0 { 1000 } else { 300 };
            rig.fill(0, setup.pages() as u16);
            for node in setup.nodes().chain(setup.nodes()) {
                shake(&mut rig, &setup, &mut random, 15);
                rig.fail(node);
                shake(&mut rig, &setup, &mut random, 12);
                if random.below(2) == 0 {
                    rig.replace(node)
                } else {
                    rig.bring_back(node)
                }
                shake(&mut rig, &setup, &mut random, 12);
                rig.run();
                check_copies(&mut rig, &setup);
                let known = (
                    rig.engine.tree().exposure().pages(),
                    declared(&rig, &setup).len(),
                    rig.engine.tree().is_whole(),
                );
                assert_eq!(known, (0, 0, true), "{setup:?}, seed {seed}, node {node}");
                assert!(!rig.engine.schedule().is_rebuilding() && !backup(&rig).rebuilding(false));
                let facts = backup(&rig).facts();
                assert_eq!((facts.nvram_used, facts.map_entries), (0, 0), "all is in its data segment");
                assert!(read_all(&mut rig, &setup).is_empty(), "{setup:?}, seed {seed}, node {node}");
            }
            assert!(rig.pages(Verb::Write, Cause::Rebuild) > 0, "something was rebuilt");
        }
    }
}

/// A second failure in the middle of a rebuild costs the declared pages, and a member that returns brings back the rest.
#[test]
fn a_second_failure_during_the_rebuild() {
    for setup in ALL {
        for seed in 0..60 {
            let mut random = Random::stream(seed, "second");
            let mut rig: Rig = setup.rig(Report::Random(30), seed);
            rig.fill(0, setup.pages() as u16);
            shake(&mut rig, &setup, &mut random, 20);
            rig.drain();
            let count = setup.nodes().count() as u64;
            let first = 1 + random.below(count) as u16;
            let second = 1 + (u64::from(first) + random.below(count - 1)) as u16 % count as u16;
            rig.fail(first);
            shake(&mut rig, &setup, &mut random, 5);
            rig.drain();
            rig.replace(first);
            steps(&mut rig, random.below(30));
            let exposed = declared(&rig, &setup);
            rig.fail(second);
            let lost = read_all(&mut rig, &setup);
            let known = lost.iter().all(|page| exposed.contains(page));
            assert!(known, "{setup:?}, seed {seed}: {lost:?} of {exposed:?}");
            // (A page of which a part was lost when it was completed would stay lost.)
            for _ in 0..10 {
                let page = random.below(u64::from(setup.pages())) as u32;
                if random.below(3) > 0 {
                    rig.write(page, 1)
                } else {
                    rig.read(page, 1)
                };
                steps(&mut rig, random.below(6));
            }
            rig.run();
            // Back with what it held. Only the memory forgets.
            rig.bring_back(second);
            rig.run();
            if second != setup.nvram() {
                let lost = read_all(&mut rig, &setup);
                assert!(lost.is_empty(), "{setup:?}, seed {seed}, {first} and {second}: {lost:?}");
                assert_eq!(
                    rig.engine.tree().exposure().pages(),
                    0,
                    "{setup:?}, seed {seed}, {first} and {second}"
                );
                check_copies(&mut rig, &setup);
            }
        }
    }
}

/// A new SSD is filled from data segments, free segments and the memory, with the pages that were in each of them.
#[test]
fn a_new_ssd_is_given_what_the_backup_has() {
    let setup = Setup { recall_idle_ns: 1_000_000_000, ..SMALL };
    let mut rig: Rig = setup.rig(Report::After(10), 1);
    rig.fill(0, setup.pages() as u16);
    // Disks that are slow: the first pages are on them, some in free segments, the last are in the memory.
    (0..setup.disks).for_each(|disk| rig.store.set_report(setup.disk(disk) - 1, Report::After(500)));
    for page in [0, 9, 18, 27] {
        rig.write(page, 2);
        rig.until(SimTime(rig.now.0 + 600));
    }
    rig.write(3, 2);
    let this = backup(&rig);
    assert!(this.segments.entries() > 0 && this.memory.used() > 0);
    rig.fail(setup.ssd(0));
    assert_eq!(rig.engine.tree().exposure().pages(), u64::from(setup.each * setup.segment));
    rig.replace(setup.ssd(0));
    let backend = BackendId(setup.ssd(0) - 1);
    rig.store.log.clear();
    rig.until(SimTime(rig.now.0 + 100_000_000));
    let rebuilt = |of: BackendId, command: &Command| of == backend && command.cause == Cause::Rebuild;
    assert_eq!(rig.store.count(rebuilt), setup.each * setup.segment, "every page once");
    assert_eq!(rig.engine.tree().exposure().pages(), 0);
    let nvram = BackendId(setup.nvram() - 1);
    let from_memory = |of: BackendId, command: &Command| of == nvram && command.cause == Cause::Rebuild;
    let restored = backup(&rig).facts().disks.iter().fold(0, |sum, disk| sum + disk.restored.pages);
    assert_eq!(restored + u64::from(rig.store.count(from_memory)), u64::from(setup.each * setup.segment));
    check_copies(&mut rig, &setup);
    assert!(read_all(&mut rig, &setup).is_empty());
}

/// A host that never stops does not keep a rebuild from coming to its end, nor the other way round.
#[test]
fn host_and_rebuild_take_turns() {
    for setup in ALL {
        for node in setup.nodes() {
            let mut random = Random::stream(5, "turns");
            let mut rig: Rig = setup.rig(Report::After(50), 5);
            rig.engine.tree_mut().controller.rebuild_permille = 1000;
            rig.fill(0, setup.pages() as u16);
            rig.fail(node);
            shake(&mut rig, &setup, &mut random, 10);
            rig.replace(node);
            let mut rounds = 0;
            while backup(&rig).rebuilding(false) {
                // As much as the memory takes, and a write that waits.
                let write = rig.write(random.below(u64::from(setup.pages())) as u32, 1);
                let since = rig.now;
                while rig.told[write].is_none() {
                    assert!(rig.step());
                }
                let waited = rig.now.since(since);
                assert!(waited < Span(20_000_000), "{setup:?}, node {node}: the host waits {waited:?}");
                rounds += 1;
                assert!(rounds < 20_000, "{setup:?}, node {node}: the rebuild never ends");
            }
            rig.run();
            check_copies(&mut rig, &setup);
        }
    }
}

#[test]
fn contents_decide_nothing() {
    fn course<C: Contents>(
        setup: &Setup,
        seed: u64,
    ) -> (u64, Vec<(SimTime, BackendId, Command)>, BackupFacts) {
        let mut random = Random::stream(seed, "course");
        let mut rig: Rig<C> = setup.rig(Report::Random(50), seed);
        for node in setup.nodes() {
            shake(&mut rig, setup, &mut random, 20);
            rig.fail(node);
            shake(&mut rig, setup, &mut random, 20);
            rig.replace(node);
        }
        rig.change(setup.ssd(0), Change::Failed);
        shake(&mut rig, setup, &mut random, 20);
        rig.change(setup.ssd(0), Change::Returned);
        rig.run();
        (rig.trace, rig.store.log.clone(), backup(&rig).facts())
    }
    for setup in ALL {
        for seed in 0..10 {
            let tokens = course::<Token>(&setup, seed);
            assert_eq!(tokens, course::<Token>(&setup, seed));
            assert_eq!(tokens, course::<()>(&setup, seed), "{setup:?}");
        }
    }
}
