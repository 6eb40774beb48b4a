//! Schemes over drives and disks: worked examples of which member is asked for which page, and why.

use super::*;
use crate::engine::{BackendId, Cause, Command, Verb, Why};
use crate::kernel::SimTime;
use crate::schemes::{ReadPolicy, SCHEMES};

/// The commands since the log was cleared: backend, first page, how many, verb, cause.
type Asked = (u16, u32, u16, Verb, Cause);

fn asked<C: Contents>(rig: &mut Rig<C>) -> Vec<Asked> {
    let asked = |(_, BackendId(backend), c): (SimTime, BackendId, Command)| {
        (backend, c.start.low(), c.count, c.verb, c.cause)
    };
    std::mem::take(&mut rig.store.log).into_iter().map(asked).collect()
}

/// A full array at rest.
fn full(setup: &Setup) -> Rig {
    let mut rig: Rig = setup.rig(Report::After(10), 0);
    rig.fill(0, setup.pages() as u16);
    rig.run();
    rig.store.log.clear();
    rig
}

use Cause::{Host, Migrate, Mirror, Parity};
use Verb::{Read, Write};

/// Backends 0 to 2 are drives of six pages; the first disk, backend 3, has the parities on its pages 0 to 5 and the log
/// from page 6 on; the second, backend 4, has the log's copy from its page 0 on.
#[test]
fn small_writes_are_logged_and_large_ones_are_not() {
    let mut rig = full(&HPDA);
    let small = rig.write(4, 1);
    let two = rig.write(13, 2);
    rig.until(SimTime(rig.now.0 + 10));
    assert_eq!((rig.told[small].map(|t| t.0), rig.told[two].map(|t| t.0)), (Some(rig.now), Some(rig.now)));
    let logged =
        [(3, 6, 1, Write, Host), (4, 0, 1, Write, Mirror), (3, 7, 2, Write, Host), (4, 1, 2, Write, Mirror)];
    assert_eq!(asked(&mut rig), logged);
    // Logged pages are read in the log, in one piece where they lie in one piece; the rest comes from the drives.
    rig.read(12, 3);
    rig.drain();
    assert_eq!(asked(&mut rig), [(0, 4, 1, Read, Host), (4, 1, 2, Read, Host)]);
    // A whole stripe reads nothing. The version of page 4 in the log is older than it.
    rig.write(3, 3);
    rig.drain();
    let whole =
        [(0, 1, 1, Write, Host), (1, 1, 1, Write, Host), (2, 1, 1, Write, Host), (3, 1, 1, Write, Parity)];
    assert_eq!(asked(&mut rig), whole);
    rig.read(4, 1);
    rig.drain();
    assert_eq!(asked(&mut rig), [(1, 1, 1, Read, Host)]);
    // In idle time the log is reclaimed: two of three pages of a stripe are new, so that the third is read for the
    // parity.
    rig.run();
    let reclaimed = [
        (4, 1, 2, Read, Migrate),
        (0, 4, 1, Read, Parity),
        (1, 4, 1, Write, Migrate),
        (2, 4, 1, Write, Migrate),
        (3, 4, 1, Write, Parity),
    ];
    assert_eq!(asked(&mut rig), reclaimed);
    assert_eq!(check_covers(&rig).len(), 6 * 4);
    rig.read(13, 2);
    rig.drain();
    assert_eq!(asked(&mut rig), [(1, 4, 1, Read, Host), (2, 4, 1, Read, Host)]);
}

#[test]
fn a_full_log_is_reclaimed_while_writes_wait() {
    let mut rig = full(&HPDA);
    let writes: Vec<_> = [0, 3, 6, 9, 12, 15, 1, 4].map(|page| rig.write(page, 1)).into();
    rig.until(SimTime(rig.now.0 + 10));
    // Seven slots: the eighth write waits for the first stripe, all of which goes to the drives.
    assert!(writes[..7].iter().all(|&write| rig.told[write].is_some()) && rig.told[writes[7]].is_none());
    rig.drain();
    let asked = asked(&mut rig);
    let migrated = |page: u32| asked.contains(&(page as u16 % 3, page / 3, 1, Write, Migrate));
    assert!(migrated(0) && migrated(1) && rig.told[writes[7]].is_some());
    assert!(read_all(&mut rig, &HPDA).is_empty());
    rig.run();
    check_covers(&rig);
}

#[test]
fn without_a_disk_small_writes_go_to_the_drives() {
    for (disk, parity) in [(5, vec![(3, 1, 1, Write, Parity)]), (4, vec![])] {
        let mut rig = full(&HPDA);
        rig.write(0, 1);
        rig.drain();
        rig.fail(disk);
        assert_eq!(
            (declared(&rig, &HPDA).len(), rig.engine.tree().exposure().pages()),
            if disk == 5 { (1, 1) } else { (18, 18) }
        );
        asked(&mut rig);
        rig.write(3, 1);
        rig.drain();
        let asked: Vec<_> = asked(&mut rig).into_iter().filter(|asked| asked.3 == Write).collect();
        assert_eq!(asked, [vec![(0, 1, 1, Write, Host)], parity].concat());
        // The log's only copy goes to the drives as soon as there is time, if that protects it.
        rig.run();
        assert_eq!(rig.engine.tree().exposure().pages(), if disk == 5 { 0 } else { 18 });
        rig.bring_back(disk);
        rig.rebuild(0);
        rig.run();
        assert_eq!(rig.engine.tree().exposure().pages(), 0);
        assert!(rig.engine.tree().is_whole() && read_all(&mut rig, &HPDA).is_empty());
        check_covers(&rig);
    }
}

/// The parity is on the first disk, and so is the other copy of page 4: all that a drive and the second disk had can be
/// worked out. A stripe gets its drive's unit and its log entry in one piece.
#[test]
fn what_a_stripe_lacks_on_disks_and_drives_is_rebuilt_together() {
    let mut rig = full(&HPDA);
    rig.write(4, 1);
    rig.drain();
    assert_eq!(rig.engine.tree().exposure().pages(), 0);
    rig.replace(5);
    assert_eq!(rig.engine.tree().exposure().pages(), 1, "page 4 has one copy in the log");
    rig.replace(1);
    assert_eq!(rig.engine.tree().exposure().pages(), 18);
    assert_eq!(declared(&rig, &HPDA).len(), 18);
    asked(&mut rig);
    assert!(rig.background(0, Why::Rebuild) && rig.background(0, Why::Rebuild));
    rig.drain();
    use Cause::Rebuild;
    let piece = |stripe: u32| [1, 2, 3].map(|backend| (backend, stripe, 1, Read, Rebuild)).to_vec();
    let second = [piece(1), vec![(3, 6, 1, Read, Rebuild)]].concat();
    let written = [(0, 0, 1, Write, Rebuild), (0, 1, 1, Write, Rebuild), (4, 0, 1, Write, Rebuild)];
    assert_eq!(asked(&mut rig), [piece(0), second, written.to_vec()].concat());
    assert_eq!(rig.engine.tree().exposure().pages(), 12);
    rig.rebuild(0);
    assert_eq!((rig.engine.tree().exposure().pages(), rig.engine.tree().is_whole()), (0, true));
    assert!(read_all(&mut rig, &HPDA).is_empty());
    check_covers(&rig);
}

#[test]
fn small_logs_never_stop_anything() {
    for seed in 0..120 {
        let setup = Setup { log: 1 + seed as i32 % 4, ..HPDA };
        let mut random = Random::stream(seed, "small logs");
        let mut rig: Rig = setup.rig(Report::Random(30), seed);
        rig.lenient = true;
        rig.fill(0, setup.pages() as u16);
        shake(&mut rig, &setup, &mut random, 40);
        rig.run();
        check_covers(&rig);
        let node = 1 + random.below(u64::from(setup.members)) as u16;
        shake(&mut rig, &setup, &mut random, 6);
        rig.fail(node);
        shake(&mut rig, &setup, &mut random, 30);
        rig.replace(node);
        shake(&mut rig, &setup, &mut random, 20);
        rig.rebuild(0);
        rig.run();
        assert!(read_all(&mut rig, &setup).is_empty(), "{setup:?}, seed {seed}");
        assert_eq!(rig.engine.tree().exposure().pages(), 0, "{setup:?}, seed {seed}");
        check_covers(&rig);
    }
}

#[test]
fn split_parity_is_written_in_turn() {
    let mut rig = full(&SPD);
    // Stripes 0 to 3, a page each: the two parity drives have two each, on their first two pages.
    for (page, parity) in [(0, (3, 0)), (3, (4, 0)), (6, (3, 1)), (9, (4, 1))] {
        rig.write(page, 1);
        rig.drain();
        let small = [
            (0, page / 3, 1, Read, Parity),
            (parity.0, parity.1, 1, Read, Parity),
            (0, page / 3, 1, Write, Host),
            (parity.0, parity.1, 1, Write, Parity),
        ];
        assert_eq!(asked(&mut rig), small);
    }
    rig.run();
    assert_eq!(check_covers(&rig).len(), 6 * 4);
}

/// Hybrid RAID-1: the drive, which is first, serves all reads as long as it has the page.
#[test]
fn a_mirror_may_read_its_first_member() {
    let mut store = Store::new(0);
    let backends = (0..2).map(|_| Tree::Backend(store.add(16, 0, Report::After(10)))).collect();
    let scheme = MIRROR.build_with(|redundancy| redundancy.set("read_policy", ReadPolicy::First));
    let mut rig: Rig = Rig::new(Tree::Node(scheme, backends), store);
    rig.fill(0, 16);
    rig.store.set_backlog(0, 1_000);
    let readers = |rig: &mut Rig| {
        (0..4).for_each(|page| _ = rig.read(page, 2));
        rig.merge(9);
        rig.drain();
        let reads = asked(rig).into_iter().filter(|asked| asked.3 == Read);
        reads.map(|asked| asked.0).collect::<Vec<_>>()
    };
    assert_eq!(readers(&mut rig), [0; 9]);
    rig.fail(1);
    assert_eq!(readers(&mut rig), [1; 9]);
    rig.bring_back(1);
    // Page 9 was written meanwhile: the first member has the others.
    assert_eq!(readers(&mut rig), [[0; 8].as_slice(), &[1]].concat());
}

// ---------------------------------------------------------------- Griffin

const GRIFFIN: Setup = Setup { scheme: "griffin", members: 2, disks: 1, stripes: 20, log: -10, ..RAID5 };

/// A drive of 20 pages, a log of 10 slots.
fn griffin(report: Report, seed: u64, change: impl Fn(&mut RedundancySpec)) -> Rig {
    let mut store = Store::new(seed);
    let backends = [20, 10].map(|pages| Tree::Backend(store.add(pages, 0, report))).into();
    Rig::new(Tree::Node(GRIFFIN.build_with(change), backends), store)
}

#[test]
fn writes_are_cached_on_the_disk_until_they_migrate() {
    // When the log is filled to a half: after five slots.
    let mut rig = griffin(Report::After(10), 0, |redundancy| redundancy.set("migrate_at", 0.5));
    rig.fill(0, 20);
    rig.store.log.clear();
    rig.write(7, 2);
    rig.write(3, 1);
    rig.write(8, 1);
    rig.until(SimTime(10));
    assert_eq!(asked(&mut rig), [(1, 0, 2, Write, Host), (1, 2, 1, Write, Host), (1, 3, 1, Write, Host)]);
    rig.read(6, 3);
    rig.until(SimTime(20));
    assert_eq!(asked(&mut rig), [(0, 6, 1, Read, Host), (1, 0, 1, Read, Host), (1, 3, 1, Read, Host)]);
    // The fifth slot starts the migration. Page 8 was written twice and migrates once; pages written meanwhile stay.
    rig.write(4, 1);
    rig.write(3, 1);
    rig.drain();
    let migrated = [
        (1, 4, 1, Write, Host),
        (1, 0, 1, Read, Migrate),
        (1, 2, 3, Read, Migrate),
        (1, 5, 1, Write, Host),
        (0, 7, 1, Write, Migrate),
        (0, 3, 1, Write, Migrate),
        (0, 8, 1, Write, Migrate),
        (0, 4, 1, Write, Migrate),
    ];
    assert_eq!(asked(&mut rig), migrated);
    for page in [3, 4, 7, 8] {
        rig.read(page, 1);
    }
    rig.drain();
    let read: Vec<_> = asked(&mut rig).iter().map(|asked| (asked.0, asked.1)).collect();
    assert_eq!(read, [(1, 5), (0, 4), (0, 7), (0, 8)]);
}

#[test]
fn a_log_migrates_when_it_is_old_or_read_too_often() {
    let migrations = |rig: &Rig| rig.pages(Write, Migrate);
    // 1 µs after the first write, however often something is written after it.
    let mut rig = griffin(Report::After(10), 0, |redundancy| redundancy.set("migrate_after_s", 1e-6));
    for n in 0..4 {
        rig.write(n, 1);
        rig.until(SimTime(u64::from(n) * 300 + 10));
    }
    rig.until(SimTime(999));
    assert_eq!(migrations(&rig), 0);
    rig.until(SimTime(1_030));
    assert_eq!(migrations(&rig), 4);
    // Of 1,000 reads more than 50 go to the disk, and that at the end of a window.
    for (share, expected) in [(50, 0), (51, 1)] {
        let mut rig = griffin(Report::After(10), 0, |_| {});
        rig.write(0, 1);
        for read in 0..1000 {
            assert_eq!(migrations(&rig), 0);
            rig.read(u32::from(read >= share), 1);
            rig.drain();
        }
        rig.drain();
        assert_eq!(migrations(&rig), expected);
    }
}

#[test]
fn cached_writes_in_any_order_of_completion() {
    let mut migrated = 0;
    for seed in 0..200 {
        let mut random = Random::stream(seed, "griffin");
        let mut rig = griffin(Report::Random(50), seed, |redundancy| {
            redundancy.set("migrate_after_s", [1e-7, 1e-6, 1e9][seed as usize % 3]);
            redundancy.set("migrate_at", [0.3, 1.0][seed as usize % 2]);
        });
        rig.fill(0, 10);
        for _ in 0..4 {
            shake(&mut rig, &GRIFFIN, &mut random, 20);
            rig.drain();
            assert!(read_all(&mut rig, &GRIFFIN).is_empty());
        }
        migrated += rig.pages(Write, Migrate);
        // Without the disk, the pages that were on it are lost, and all continues with the drive; without the drive,
        // commands still end.
        rig.lenient = true;
        rig.fail(1 + random.below(2) as u16);
        shake(&mut rig, &GRIFFIN, &mut random, 30);
        rig.run();
        rig.bring_back(1);
        rig.bring_back(2);
        shake(&mut rig, &GRIFFIN, &mut random, 30);
        rig.write(0, 20);
        rig.run();
        assert!(read_all(&mut rig, &GRIFFIN).is_empty(), "seed {seed}");
        assert!(!rig.background(0, Why::Rebuild) && !rig.engine.tree().is_whole());
    }
    assert!(migrated > 1000);
}

// ---------------------------------------------------------------- what they run over

/// What a scheme offers over drives and disks of these numbers and sizes.
fn offers(name: &str, drives: &[u64], disks: &[u64]) -> Result<u64, String> {
    let member = |disk| move |&pages: &u64| MemberFacts { pages, page_bytes: 4096, disk };
    let members: Vec<_> = drives.iter().map(member(false)).chain(disks.iter().map(member(true))).collect();
    (named(name).expect("in the table").over_drives)(&members, &RedundancySpec::default())
}

#[test]
fn what_they_run_over() {
    assert_eq!(offers("hpda", &[100, 90, 95, 90], &[1000, 900]), Ok(360));
    assert_eq!(
        offers("hpda", &[100; 4], &[1000]),
        Err("found 4 drives and 1 disks; it needs at least 2 drives, for the data, and 2 disks, the first for the parity and the log, the second for the log's copy"
            .into())
    );
    assert_eq!(
        offers("hpda", &[100; 4], &[100, 100]),
        Err("the first disk has 100 pages; it needs 100 for the parity (as many as a drive has) and room for the log".into())
    );
    assert_eq!((offers("griffin", &[100], &[1000]), offers("diff-raid", &[100; 5], &[])), (Ok(100), Ok(400)));
    assert!(
        offers("griffin", &[100, 100], &[1000])
            .expect_err("two drives")
            .contains("it needs one drive and one disk")
    );
    // Three drives of 100 pages: parity drives of 50 are large enough for all of them, those of 40 for 80.
    assert_eq!(offers("spd-raid4", &[100, 100, 100, 50, 50], &[]), Ok(300));
    assert_eq!(offers("spd-raid4", &[100, 100, 100, 40, 40], &[]), Ok(240));
    assert!(
        offers("spd-raid4", &[100; 3], &[]).expect_err("too few").contains("at least 2 more, for the data")
    );
}

#[test]
fn what_a_drive_cannot_have() {
    for entry in SCHEMES.iter().filter(|entry| !entry.is_for_drives()) {
        let refusal = (entry.members)(8, None, "channel").expect_err("a refusal");
        assert!(refusal.contains("only an array can have it"), "{entry:?}: {refusal}");
    }
}
