//! Room that runs out: commands wait, and always continue.

use super::*;
use crate::engine::{Member, Why};

#[test]
fn few_hidden_pages_and_small_memories_never_stop_anything() {
    for seed in 0..200 {
        let (hidden, memory) = (1 + seed as u32 % 2, 1 + seed as u32 % 3);
        for setup in [Setup { hidden, ..FRA }, Setup { hidden, memory, ..PPC }] {
            let mut random = Random::stream(seed, "pressure");
            let mut rig: Rig = setup.rig(Report::Random(30), seed);
            rig.lenient = true;
            rig.fill(0, setup.pages() as u16);
            shake(&mut rig, &setup, &mut random, 40);
            rig.drain();
            check_covers(&rig);
            // Nor does it with a member, or the memory, gone and back.
            let node = 1 + random.below(u64::from(setup.nodes().count() as u32)) as u16;
            rig.run();
            rig.fail(node);
            shake(&mut rig, &setup, &mut random, 20);
            rig.replace(node);
            shake(&mut rig, &setup, &mut random, 20);
            rig.rebuild(0);
            assert!(read_all(&mut rig, &setup).is_empty(), "{setup:?}, seed {seed}");
            assert_eq!(rig.engine.tree().exposure().pages(), 0, "{setup:?}, seed {seed}");
            check_covers(&rig);
        }
    }
}

#[test]
fn without_room_at_all_parity_is_written_at_once() {
    for setup in [Setup { hidden: 0, ..FRA }, Setup { hidden: 0, ..PPC }, Setup { memory: 0, ..PPC }] {
        let mut random = Random::stream(3, "no room");
        let mut rig: Rig = setup.rig(Report::Random(30), 3);
        shake(&mut rig, &setup, &mut random, 60);
        rig.run();
        assert_eq!(rig.engine.tree().exposure().pages(), 0);
        check_covers(&rig);
    }
}

#[test]
fn commits_forced_by_collection_disturb_nothing() {
    for seed in 0..60 {
        let mut random = Random::stream(seed, "leaving");
        let mut rig: Rig = PPC.rig(Report::Random(30), seed);
        for _ in 0..60 {
            shake(&mut rig, &PPC, &mut random, 1);
            let member = Member(random.below(u64::from(PPC.members)) as u8);
            let page = Page::of(PPC.stripes + random.below(u64::from(PPC.hidden)) as u32);
            rig.background(0, Why::Leaving(member, page));
        }
        rig.run();
        check_covers(&rig);
        assert!(read_all(&mut rig, &PPC).is_empty());
    }
}

/// The memory fails: what it knew is exposed until every stripe has its parity, and parity is written at once from then
/// on.
#[test]
fn the_memory_fails() {
    for seed in 0..40 {
        let mut random = Random::stream(seed, "memory");
        let mut rig: Rig = PPC.rig(Report::Random(30), seed);
        rig.lenient = true;
        rig.fill(0, PPC.pages() as u16);
        shake(&mut rig, &PPC, &mut random, 20);
        rig.drain();
        assert_eq!(rig.engine.tree().exposure().pages(), 0);
        rig.fail(u16::from(PPC.members) + 1);
        let exposed = declared(&rig, &PPC);
        assert_eq!(rig.engine.tree().exposure().pages(), exposed.len() as u64);
        rig.rebuild(0);
        assert_eq!(rig.engine.tree().exposure().pages(), 0, "seed {seed}");
        shake(&mut rig, &PPC, &mut random, 20);
        rig.run();
        assert_eq!(rig.engine.tree().exposure().pages(), 0, "seed {seed}");
        check_covers(&rig);
        rig.fail(1);
        assert!(read_all(&mut rig, &PPC).is_empty(), "seed {seed}");
    }
}
