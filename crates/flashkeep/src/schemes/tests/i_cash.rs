//! I-CASH over backends in memory: a worked example, and random histories with memory and log that run out, and members
//! that fail.

use super::*;
use crate::engine::Verb::{Read, Trim, Write};
use crate::engine::{Cause, Command, Verb, Why};

const PAGES: u32 = 20;
/// Copies of the references follow the pages: five pages a family, one reference each.
const COPIES: u32 = PAGES;
const DISK_PAGES: u32 = 12;

const SETUP: Setup =
    Setup { scheme: "i-cash", members: 2, disks: 1, stripes: 24, log: -12, memory: 4, ..RAID5 };

/// What the host sees, for those who shake and read it.
const SEEN: Setup = Setup { scheme: "mirror", members: 2, stripes: PAGES, ..RAID5 };

/// A drive of 20 pages and 4 copies, a log of 12 deltas, memory for as many; it is looked through after each page.
fn array(report: Report, memory: u32, seed: u64) -> Rig {
    let mut store = Store::new(seed);
    let backends = [24, DISK_PAGES, memory].map(|pages| Tree::Backend(store.add(pages, 0, report))).into();
    let setup = Setup { memory, ..SETUP };
    let scheme = setup.build_with(|redundancy| {
        redundancy.set("reference_share", 0.2);
        redundancy.set("similar_share", 0.6);
        redundancy.set("scan_every", 1);
        redundancy.set("scan_pages", 20);
    });
    Rig::new(Tree::Node(scheme, backends), store)
}

type Asked = (u16, u32, u16, u16, Verb, Cause);

fn asked(rig: &mut Rig) -> Vec<Asked> {
    let asked = std::mem::take(&mut rig.store.log).into_iter();
    asked.map(|(_, backend, c)| (backend.0, c.start.low(), c.count, c.sectors, c.verb, c.cause)).collect()
}

/// A reference, a page that is like it, and one that is like nothing.
fn kinds() -> (u32, u32, u32) {
    let likeness = super::super::i_cash::likeness(u64::from(PAGES), 0.2, 0.6);
    let of = |page: &u32| (likeness.like(*page), likeness.referred(*page));
    let similar = (0..PAGES).find(|page| matches!(of(page), (Some(_), None))).expect("a page like another");
    let reference = likeness.reference(of(&similar).0.expect("its family"));
    let alone = (0..PAGES).find(|page| of(page) == (None, None)).expect("a page like nothing");
    (reference, similar, alone)
}

#[test]
fn deltas_operation_by_operation() {
    let (reference, similar, alone) = kinds();
    let mut rig = array(Report::After(10), 4, 0);
    rig.fill(0, PAGES as u16);
    rig.store.log.clear();
    let mut likeness = 0;
    // Nothing is known yet; once the reference has been read, it is copied.
    for page in [similar, alone, reference] {
        rig.write(page, 1);
        rig.drain();
        let (wrote, rest) = {
            let all = asked(&mut rig);
            (all[0], all[1..].to_vec())
        };
        assert_eq!(wrote, (0, page, 1, 0, Write, Cause::Host));
        if page == reference {
            likeness = rest[1].1;
            let copy = [(0, page, 1, 0, Read, Cause::Migrate), (0, likeness, 1, 0, Write, Cause::Migrate)];
            assert_eq!(rest, copy);
            assert!((COPIES..24).contains(&likeness));
        } else {
            assert_eq!(rest, []);
        }
    }
    // From now on both are deltas: the page to memory, the reference, the difference in the page's place.
    let delta = |slot, page| {
        [
            (2, slot, 1, 0, Write, Cause::Host),
            (0, likeness, 1, 0, Read, Cause::Parity),
            (2, slot, 1, 0, Write, Cause::Parity),
            (0, page, 1, 0, Trim, Cause::Parity),
        ]
    };
    rig.write(similar, 1);
    rig.drain();
    assert_eq!(asked(&mut rig), delta(0, similar));
    rig.read(similar, 1);
    rig.drain();
    assert_eq!(asked(&mut rig), [(0, likeness, 1, 0, Read, Cause::Host), (2, 0, 1, 0, Read, Cause::Parity)]);
    rig.write(reference, 1);
    rig.drain();
    assert_eq!(asked(&mut rig), delta(1, reference));
    // Half of the memory is a batch: with the next write both go to the log at once, a sector each.
    rig.write(alone, 1);
    rig.drain();
    let flushed = [(2, 0, 2, 0, Read, Cause::Migrate), (1, 0, 2, 2, Write, Cause::Migrate)];
    assert_eq!(asked(&mut rig), [&[(0, alone, 1, 0, Write, Cause::Host)][..], &flushed].concat());
    // Memory's oldest deltas give way to newer ones; what they were is then read from the log.
    for _ in 0..3 {
        rig.write(reference, 1);
        rig.drain();
    }
    asked(&mut rig);
    rig.read(similar, 1);
    rig.drain();
    assert_eq!(asked(&mut rig), [(0, likeness, 1, 0, Read, Cause::Host), (1, 0, 1, 1, Read, Cause::Parity)]);
    // A trim forgets both.
    rig.trim(similar, 1);
    rig.read(similar, 1);
    rig.drain();
    let reads: Vec<_> =
        asked(&mut rig).into_iter().filter(|asked| (asked.4, asked.5) == (Read, Cause::Host)).collect();
    assert_eq!(reads, [(0, similar, 1, 0, Read, Cause::Host)]);
}

#[test]
fn deltas_in_any_order_of_completion() {
    let (mut flushed, mut folded) = (0, 0);
    for seed in 0..200 {
        let mut random = Random::stream(seed, "i-cash");
        let memory = [1, 4, 9][seed as usize % 3];
        let mut rig = array(Report::Random(50), memory, seed);
        rig.fill(0, 15);
        for _ in 0..5 {
            shake(&mut rig, &SEEN, &mut random, 30);
            rig.drain();
            assert!(read_all(&mut rig, &SEEN).is_empty(), "seed {seed}");
        }
        flushed += rig.store.log.iter().filter(|(_, backend, c)| backend.0 == 1 && c.verb == Write).count();
        let folds = |c: &Command| c.verb == Write && c.cause == Cause::Migrate && c.start.low() < COPIES;
        folded += rig.store.log.iter().filter(|(_, backend, c)| backend.0 == 0 && folds(c)).count();
    }
    assert!(flushed > 1000 && folded > 1000, "{flushed} and {folded}");
}

/// A page that comes back is the right one; missing pages are reported as lost, and all commands end.
#[test]
fn what_fails_is_lost_and_never_wrong() {
    let mut lost = [0; 3];
    for seed in 0..300 {
        let mut random = Random::stream(seed, "i-cash fails");
        let mut rig = array(Report::Random(50), 4, seed);
        rig.fill(0, PAGES as u16);
        // Some of it at rest by then, so that the log has something.
        shake(&mut rig, &SEEN, &mut random, 60);
        rig.drain();
        shake(&mut rig, &SEEN, &mut random, 6);
        rig.lenient = true;
        let node = 1 + (seed % 3) as u16;
        rig.fail(node);
        rig.run();
        lost[usize::from(node) - 1] += read_all(&mut rig, &SEEN).len();
        shake(&mut rig, &SEEN, &mut random, 30);
        rig.run();
        rig.replace(node);
        shake(&mut rig, &SEEN, &mut random, 30);
        rig.run();
        rig.write(0, PAGES as u16);
        rig.run();
        let still = read_all(&mut rig, &SEEN);
        assert!(still.is_empty(), "seed {seed}: {still:?} were written since");
        assert!(!rig.background(0, Why::Rebuild) && !rig.engine.tree().is_whole());
    }
    assert!(lost[0] > lost[1] && lost.iter().all(|&pages| pages > 20), "{lost:?}");
}
