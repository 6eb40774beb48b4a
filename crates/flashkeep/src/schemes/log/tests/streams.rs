//! Several open superblocks: pages by how often they are written, and moved pages.

use super::*;

/// The superblock that a page is in.
fn superblock<C: Contents>(rig: &Rig<C, Any>, page: u32) -> u32 {
    let log = log(rig);
    log.stripes.superblock_of(log.stripes.places.find(page).expect("it was written"))
}

#[test]
fn pages_of_a_class_share_superblocks() {
    // N = 5; superblocks of 5 superpages of 4 pages. Pages 0 to 9 are written once, 10 and 11 three times.
    let mut rig: Rig<Token, _> = Setup { streams: 3, ..Setup::new("ds", 5, 12, 5, 25) }.rig();
    rig.write(0, 12);
    rig.write(10, 2);
    rig.write(10, 2);
    rig.run();
    assert_eq!(written(&rig, &[Cause::Host]).len(), 16);
    assert!((0..10).all(|page| superblock(&rig, page) == superblock(&rig, 0)));
    assert_eq!(superblock(&rig, 10), superblock(&rig, 11));
    assert_ne!(superblock(&rig, 10), superblock(&rig, 0));
    // Their second versions are in a third superblock, each stripe of its own until it is full.
    let superblocks: std::collections::BTreeSet<u32> =
        written(&rig, &[Cause::Host]).into_iter().map(|(_, superpage)| superpage / 5).collect();
    assert_eq!(superblocks.len(), 3);
    // Twelve, two and two: three full stripes, and two that are open.
    assert_eq!(written(&rig, &[Cause::Parity]).len(), 3);
    assert_eq!(rig.engine.tree().exposed_at(NodeId::ROOT), 2, "the second versions are out of date");
    audit(&rig);
    rig.fail(1);
    rig.read_all(12);
    assert!(rig.lost.is_empty());
}

/// Pages that GC moves with random writes, and how many of them share a superblock with pages of the host.
fn mixed(separate: bool) -> (u32, u32) {
    let setup = Setup { separate, ..Setup::new("ds", 5, 8, 5, 20) };
    let mut rig: Rig<Token, _> = setup.rig();
    rig.fill(0, 80);
    let mut random = Random::stream(1, "separate");
    for _ in 0..400 {
        rig.write(random.below(80) as u32, 1);
        rig.run();
        audit(&rig);
    }
    // What has been written to each superblock since it was erased: by the host, and by GC.
    let (mut by_host, mut moved, mut mixed) = ([0; 8], [0; 8], 0);
    for (_, _, command) in &rig.store.log {
        let superblock = command.start.low() as usize / 5;
        match (command.verb, command.cause) {
            (Verb::Write, Cause::Host) => by_host[superblock] += 1,
            (Verb::Write, Cause::Gc) => moved[superblock] += 1,
            (Verb::Trim, _) if by_host[superblock] + moved[superblock] > 0 => {
                mixed += by_host[superblock].min(moved[superblock]);
                (by_host[superblock], moved[superblock]) = (0, 0);
            }
            _ => {}
        }
    }
    let all = rig.pages(Verb::Write, Cause::Gc);
    (all, mixed)
}

#[test]
fn moved_pages_have_a_superblock_of_their_own() {
    let (all, mixed) = mixed(true);
    // The host takes what GC has left when nothing else is.
    assert!(all > 100 && mixed * 50 < all, "{mixed} of {all}");
    assert!(self::mixed(false).1 > 100);
}

#[test]
fn histories_with_streams() {
    for seed in 0..120 {
        let mut random = Random::stream(seed, "streams");
        let members = 3 + (seed % 4) as u8;
        let name = ["ds", "dvs", "lifespan"][seed as usize % 3];
        let (streams, separate) = (1 + (seed / 2 % 4) as u8, seed % 2 == 0);
        let superblocks = 6 + u32::from(streams) + random.below(4) as u32;
        let superblock_pages = 1 + random.below(5) as u32;
        let spare = 2 + u32::from(streams) + u32::from(separate);
        let mut setup = Setup::new(
            name,
            members,
            superblocks,
            superblock_pages,
            u64::from((superblocks - spare) * superblock_pages),
        );
        (setup.streams, setup.separate) = (streams, separate);
        setup.clean_below = u32::from(streams) + random.below(2) as u32;
        setup.redundancy.set("narrowest", 2);
        let setup = setup.timeout_ns(random.below(90)).reporting(Report::Random(30), seed);
        let mut rig: Rig<Token, _> = setup.rig();
        let upto = pages(&rig);
        if upto < 8 {
            continue;
        }
        for step in 0..300 {
            disturb(&mut rig, &mut random, upto);
            audit(&rig);
            if step == 200 {
                rig.fail(1 + (seed % u64::from(members)) as u16);
            }
        }
        rig.run();
        audit(&rig);
        rig.read_all(upto);
        assert!(rig.lost.is_empty(), "seed {seed}");
    }
}
