//! Superblocks that are cleaned.

use super::*;
use crate::blocks::victim::VICTIMS;
use crate::blocks::wear::LEVELLINGS;
use crate::schemes::least_superblocks;

#[test]
fn the_worked_example_of_cleaning() {
    // N = 5. The first superblock holds five pages still, the second is full of them; the third is empty.
    let mut rig: Rig<Token, _> = Setup::new("ds", 5, 3, 5, 7).rig();
    rig.write(0, 20);
    rig.write(5, 20);
    rig.run();
    assert_eq!(rig.store.count(|_, c| c.verb == Verb::Trim), 0, "it is too little unless a write waits");
    rig.store.log.clear();
    rig.write(0, 1);
    rig.run();
    // One full stripe, its parity at member 4, and in the next superpage one page at member 0, its parity beside it.
    assert_eq!((rig.pages(Verb::Read, Cause::Gc), rig.pages(Verb::Write, Cause::Gc)), (5, 5));
    assert_eq!(written(&rig, &[Cause::Gc]), [(0, 10), (1, 10), (2, 10), (3, 10), (0, 11)]);
    assert_eq!(written(&rig, &[Cause::ParityGc]), [(4, 10), (1, 11)]);
    // The host continues after it.
    assert_eq!(written(&rig, &[Cause::Host]), [(2, 11)]);
    let erased = rig.store.log.iter().filter(|(_, _, c)| c.verb == Verb::Trim);
    assert_eq!(
        erased.map(|(_, backend, c)| (backend.0, c.start.low(), c.count)).collect::<Vec<_>>(),
        [(0, 0, 5), (1, 0, 5), (2, 0, 5), (3, 0, 5), (4, 0, 5)]
    );
    audit(&rig);
    covers_are_right(&rig);
}

#[test]
fn histories_in_any_order() {
    for seed in 0..300 {
        let mut random = Random::stream(seed, "cleaning");
        let members = 3 + (seed % 4) as u8;
        let name = ["ds", "dvs", "lifespan"][seed as usize % 3];
        let superblocks = 5 + random.below(5) as u32;
        let superblock_pages = 1 + random.below(6) as u32;
        let spare = 2 + random.below(2) as u32;
        let mut setup = Setup::new(
            name,
            members,
            superblocks,
            superblock_pages,
            u64::from((superblocks - spare) * superblock_pages),
        );
        setup.clean_below = 1 + random.below(3) as u32;
        let own: Vec<_> = VICTIMS.iter().filter(|policy| policy.file.is_none()).collect();
        setup.policies.victim = *own[seed as usize / 7 % own.len()];
        setup.policies.levelling = LEVELLINGS[seed as usize / 5 % LEVELLINGS.len()];
        setup.policies.erase_budget = [None, Some(200), Some(1000)][seed as usize / 11 % 3];
        setup.soft_below = setup.clean_below + random.below(3) as u32;
        setup.redundancy.set("narrowest", 2 + random.below(u64::from(members) - 1));
        setup.redundancy.set("stripe_loss", 1e-12);
        setup.redundancy.set("rber_cycles", 10);
        let setup = setup.timeout_ns(random.below(90)).reporting(Report::Random(30), seed);
        let mut rig: Rig<Token, _> = setup.rig();
        let upto = pages(&rig);
        if upto < 8 {
            continue;
        }
        if seed % 2 == 0 {
            rig.fill(0, upto as u16);
        }
        for _ in 0..400 {
            disturb(&mut rig, &mut random, upto);
            audit(&rig);
        }
        rig.run();
        assert!(rig.store.count(|_, c| c.verb == Verb::Trim) > 0);
        covers_are_right(&rig);
        audit(&rig);
        rig.read_all(upto);
        rig.fail(1 + (seed % u64::from(members)) as u16);
        rig.read_all(upto);
        assert!(rig.lost.is_empty(), "seed {seed}");
    }
}

/// Superblocks are erased as often as the budget says, and no more; then a write is refused.
#[test]
fn superblocks_are_retired_until_a_write_finds_no_room() {
    for (seed, name) in (0..30).zip(["ds", "dvs", "lifespan"].into_iter().cycle()) {
        let mut random = Random::stream(seed, "retired");
        let budget = 3 + random.below(4) as u32;
        let mut setup = Setup::new(name, 5, 9, 4, 20);
        setup.policies.erase_budget = Some(budget);
        setup.clean_below = 1 + random.below(2) as u32;
        setup.streams = 1 + random.below(2) as u8;
        let mut rig: Rig<Token, _> =
            setup.timeout_ns(random.below(90)).reporting(Report::Random(30), seed).rig();
        let upto = pages(&rig);
        let mut writes = 0;
        while !log(&rig).gives_all || log(&rig).can_make_room() {
            rig.write(random.below(u64::from(upto)) as u32, 1);
            writes += 1;
            assert!(writes < 100_000, "seed {seed}");
            rig.run();
        }
        let log = log(&rig);
        let erases = || {
            (0..log.stripes.superblocks.count()).map(|superblock| log.stripes.superblocks.erases(superblock))
        };
        assert!(
            log.stripes.superblocks.retired() > 0 && erases().all(|erases| erases <= budget),
            "seed {seed}"
        );
        assert_eq!(
            erases().filter(|&erases| erases == budget).count() as u32,
            log.stripes.superblocks.retired()
        );
        // Most of the life is used: all superblocks but a few.
        assert!(erases().sum::<u32>() * 2 > budget * log.stripes.superblocks.count(), "seed {seed}");
    }
}

/// With the fewest superblocks that `least_superblocks` allows, a full drive can be written again and again.
#[test]
fn the_last_page_of_a_full_drive() {
    for (name, seed) in ["ds", "dvs", "lifespan"].into_iter().zip(0..).cycle().take(60).collect::<Vec<_>>() {
        for round in 0..4 {
            let mut random = Random::stream(seed * 10 + round, "full");
            let members = 3 + random.below(4) as u8;
            let superblock_pages = 1 + random.below(7) as u32;
            let member_pages = 3 + random.below(40);
            let superblocks = least_superblocks(member_pages, superblock_pages) as u32;
            let mut setup = Setup::new(name, members, superblocks, superblock_pages, member_pages);
            setup.redundancy.set("narrowest", 2 + random.below(u64::from(members) - 1));
            setup.redundancy.set("stripe_loss", 1e-12);
            setup.redundancy.set("rber_cycles", 10);
            let setup = setup.timeout_ns([0, 70][round as usize % 2]).reporting(Report::Random(30), seed);
            let mut rig: Rig<Token, _> = setup.rig();
            let upto = pages(&rig);
            rig.write(0, upto as u16);
            rig.run();
            for _ in 0..300 {
                rig.write(random.below(upto.into()) as u32, 1);
                while random.below(2) == 0 && rig.step() {}
            }
            rig.run();
            audit(&rig);
            covers_are_right(&rig);
            rig.read_all(upto);
            assert!(rig.lost.is_empty());
        }
    }
}

#[test]
fn cleaning_begins_before_anybody_waits() {
    let mut setup = Setup::new("ds", 5, 20, 8, 128);
    setup.clean_below = 4;
    let mut rig: Rig<(), _> = setup.rig();
    let upto = pages(&rig);
    rig.fill(0, upto as u16);
    let mut random = Random::stream(3, "ahead");
    for _ in 0..4000 {
        rig.write(random.below(upto.into()) as u32, 1);
        rig.until(crate::kernel::SimTime(rig.now.0 + 100));
        assert!(rig.told.last().expect("asked").is_some(), "at this pace, no write waits for a cleaning");
    }
    assert!(rig.store.count(|_, c| c.verb == Verb::Trim) > 100);
    rig.run();
    audit(&rig);
}

#[test]
fn superblocks_wear_evenly() {
    let mut rig: Rig<(), _> = Setup::new("ds", 4, 12, 4, 32).rig();
    let upto = pages(&rig);
    let mut random = Random::stream(3, "wear");
    for _ in 0..6000 {
        rig.write(random.below(upto.into()) as u32, 1);
        rig.run();
    }
    let erases: Vec<u32> =
        (0..12).map(|superblock| log(&rig).stripes.superblocks.erases(superblock)).collect();
    let mean = erases.iter().sum::<u32>() / 12;
    assert!(mean > 50 && erases.iter().all(|&n| n > mean / 2 && n < mean * 2), "{erases:?}");
}

#[test]
fn stripes_narrow_as_superblocks_wear() {
    let mut setup = Setup::new("lifespan", 6, 8, 4, 20);
    setup.redundancy.set("narrowest", 3);
    setup.redundancy.set("ecc_bits", 8);
    setup.redundancy.set("rber_new", 1e-4);
    setup.redundancy.set("rber_worn", 1e-3);
    setup.redundancy.set("rber_cycles", 200);
    setup.redundancy.set("stripe_loss", 1e-7);
    let mut rig: Rig<Token, _> = setup.rig();
    let upto = pages(&rig);
    let mut widths = std::collections::BTreeSet::new();
    let mut random = Random::stream(3, "narrow");
    for _ in 0..20_000 {
        rig.write(random.below(upto.into()) as u32, 1);
        rig.run();
        let log = log(&rig);
        let erases = log.stripes.superblocks.erases(log.stripes.frontier.superblock);
        let width = log.policy.widths.after(erases);
        rig.engine.covers(NodeId::ROOT, &mut |_, units| assert!(units.len() <= 6));
        widths.insert(width);
    }
    assert_eq!(widths.into_iter().collect::<Vec<_>>(), [3, 4, 5, 6], "one after the other");
    covers_are_right(&rig);
}

/// Half of the pages are written again and again, the others never.
fn two_halves(change: impl Fn(&mut Setup)) -> Rig<Token, Any> {
    let mut setup = Setup::new("ds", 5, 20, 8, 17 * 8);
    change(&mut setup);
    let mut rig: Rig<Token, _> = setup.rig();
    let upto = pages(&rig);
    rig.fill(0, upto as u16);
    let mut random = Random::stream(1, "two halves");
    for _ in 0..20_000 {
        rig.write(random.below(u64::from(upto) / 2) as u32, 1);
        rig.run();
    }
    audit(&rig);
    rig.read_all(upto);
    rig
}

fn erases<C: Contents>(rig: &Rig<C, Any>) -> Vec<u32> {
    let log = log(rig);
    (0..log.stripes.superblocks.count())
        .map(|superblock| log.stripes.superblocks.erases(superblock))
        .collect()
}

#[test]
fn victims_differ_in_what_they_copy() {
    let moved = |name: &str| {
        let rig = two_halves(|setup| {
            setup.policies.victim = crate::blocks::victim::named(name).expect("a policy");
        });
        rig.pages(Verb::Write, Cause::Gc)
    };
    let (greedy, fifo, benefit) = (moved("greedy"), moved("fifo"), moved("cost-benefit"));
    assert!(greedy < fifo && benefit < fifo, "{greedy}, {fifo}, {benefit}");
}

#[test]
fn migration_evens_out_wear_with_a_budget_and_without() {
    let spread = |levelling: &str, budget| {
        let rig = two_halves(|setup| {
            setup.policies.levelling = crate::blocks::wear::named(levelling).expect("a policy");
            setup.policies.erase_budget = budget;
        });
        let moved = rig.pages(Verb::Write, Cause::Migrate);
        let erases = erases(&rig);
        (erases.iter().max().unwrap() - erases.iter().min().unwrap(), moved)
    };
    for budget in [None, Some(300)] {
        let (without, none) = spread("none", budget);
        let (with, moved) = spread("migration", budget);
        assert!(none == 0 && moved > 0 && with * 2 < without, "{budget:?}: {with}, {without}; {moved} moved");
    }
}

#[test]
fn idle_moments_make_room_up_to_the_soft_threshold() {
    let mut setup = Setup::new("ds", 5, 20, 8, 14 * 8);
    setup.soft_below = 4;
    let mut rig: Rig<Token, _> = setup.rig();
    let upto = pages(&rig);
    rig.fill(0, upto as u16);
    let mut random = Random::stream(1, "soft");
    for _ in 0..600 {
        rig.write(random.below(u64::from(upto)) as u32, 1);
    }
    rig.run();
    let log = log(&rig);
    assert!(
        log.stripes.superblocks.free() + log.stripes.rests.len() > 4,
        "{} are free",
        log.stripes.superblocks.free()
    );
    audit(&rig);
}
