//! Codes with local groups: which sets of failures they survive, and what a repair, a rebuild and an update read.

use super::*;
use crate::engine::{Cause, Code, Verb};
use std::collections::BTreeSet;

/// Azure's shape, smaller: four data units in two groups, two global parities.
const LRC: Setup = Setup { scheme: "lrc", members: 8, stripes: 8, ..RAID5 };

/// Every set of up to `most` nodes.
fn sets(nodes: &[u16], most: usize) -> Vec<Vec<u16>> {
    let mut sets = vec![Vec::new()];
    for &node in nodes {
        let more: Vec<Vec<u16>> =
            sets.iter().map(|set: &Vec<u16>| [set.as_slice(), &[node]].concat()).collect();
        sets.extend(more);
        sets.retain(|set| set.len() <= most);
    }
    sets
}

/// The pages that no code of this shape can restore without these members: more units of a stripe are missing than its
/// global parities and one of each group, and the page is of such a group.
fn beyond_any_code(setup: &Setup, code: Code, failed: &[u16]) -> BTreeSet<u32> {
    let rig: Rig = setup.rig(Report::AtOnce, 0);
    let mut lost = BTreeSet::new();
    let data = setup.data() as u8;
    for stripe in 0..setup.stripes {
        let place = |index: u8| {
            let mut at = 0;
            scheme(&rig)
                .places(Page::of(stripe * u32::from(data) + u32::from(index)), |member, _| at = member.0);
            at
        };
        let parity = setup.members - 1 - (stripe % u32::from(setup.members)) as u8;
        let parity_at = |number: u8| (parity + number) % setup.members;
        let is_gone = |member: &u8| failed.contains(&(u16::from(*member) + 1));
        let missing = |group: u8| {
            let units = code.group(group).map(place).chain([parity_at(group)]);
            units.filter(is_gone).count()
        };
        let groups = code.parities() - 2;
        let globals = (groups..code.parities()).map(parity_at).filter(is_gone).count();
        let excess: usize = (0..groups).map(|group| missing(group).saturating_sub(1)).sum();
        if excess + globals > 2 {
            let hopeless = (0..data).filter(|&index| {
                let group = (0..groups).find(|&group| code.group(group).contains(&index)).expect("a group");
                missing(group) > 1 && is_gone(&place(index))
            });
            lost.extend(hopeless.map(|index| stripe * u32::from(data) + u32::from(index)));
        }
    }
    lost
}

#[test]
fn a_set_of_failures_is_survived_exactly_if_a_code_of_the_shape_can() {
    let code = Code::local(4, 2, 2);
    let nodes: Vec<u16> = LRC.nodes().collect();
    let (mut survived, mut fatal) = (0, 0);
    for (seed, failing) in (0..).zip(sets(&nodes, 5)) {
        let mut random = Random::stream(seed, "codes");
        let mut rig: Rig = LRC.rig(Report::Random(30), seed);
        rig.fill(0, LRC.pages() as u16);
        shake(&mut rig, &LRC, &mut random, 12);
        rig.run();
        // Every page is something.
        rig.write(0, LRC.pages() as u16);
        rig.run();
        failing.iter().for_each(|&node| rig.fail(node));
        let expected = beyond_any_code(&LRC, code, &failing);
        let lost: BTreeSet<u32> = read_all(&mut rig, &LRC).into_iter().collect();
        assert_eq!(lost, expected, "{failing:?}");
        if failing.len() == 4 {
            *(if lost.is_empty() { &mut survived } else { &mut fatal }) += 1;
        }
        // Written again, and on new members, all of it is there again.
        failing.iter().for_each(|&node| rig.replace(node));
        rig.write(0, LRC.pages() as u16);
        rig.run();
        rig.rebuild(0);
        check_covers(&rig);
        assert!(read_all(&mut rig, &LRC).is_empty(), "{failing:?}");
        assert_eq!(rig.engine.tree().exposure().pages(), 0);
    }
    // Over eight stripes that rotate, the fourth failure is fatal in one of them or another.
    assert_eq!((survived + fatal, code.fatal_share(4, 3)), (70, 0.0));
    assert!(fatal > 0);
}

/// A read without its member, and a rebuilt page, read the rest of the group: k/l units.
#[test]
fn a_single_failure_reads_its_group() {
    for (members, locals) in [(10, 2), (14, 3), (16, 2)] {
        let data = u32::from(members) - locals - 2;
        let setup = Setup { scheme: "lrc", members, stripes: u32::from(members), ..RAID5 };
        let built = |redundancy: &mut RedundancySpec| redundancy.set("local_groups", locals);
        let mut store: Store<()> = Store::new(0);
        let backends = setup.nodes().map(|_| Tree::Backend(store.add(setup.stripes, 0, Report::After(10))));
        let backends = backends.collect();
        let mut rig: Rig<()> = Rig::new(Tree::Node(setup.build_with(built), backends), store);
        let pages = data * setup.stripes;
        rig.fill(0, pages as u16);
        rig.run();
        rig.fail(3);
        rig.store.log.clear();
        for page in 0..pages {
            rig.read(page, 1);
            rig.run();
        }
        // All pages but those of the failed member, and for each of those k/l others.
        let group = data / locals;
        assert_eq!(rig.pages(Verb::Read, Cause::Host), pages - data + data * group, "{members} members");
        rig.replace(3);
        rig.store.log.clear();
        rig.rebuild(0);
        // Data and local parities from their groups, global parities from all data.
        let expected = (data + locals) * group + 2 * data;
        assert_eq!(rig.pages(Verb::Read, Cause::Rebuild), expected, "{members} members");
        assert_eq!(rig.pages(Verb::Write, Cause::Rebuild), setup.stripes);
    }
}

/// Read-modify-write reads and writes the parity of the group and the global ones, not those of other groups.
#[test]
fn an_update_leaves_other_groups_alone() {
    let setup = Setup { members: 16, stripes: 16, ..LRC };
    let mut rig: Rig = setup.rig(Report::After(10), 0);
    rig.fill(0, setup.pages() as u16);
    rig.run();
    rig.store.log.clear();
    for page in 0..setup.pages() {
        rig.write(page, 1);
        rig.run();
    }
    assert_eq!(rig.pages(Verb::Read, Cause::Parity), 4 * setup.pages());
    assert_eq!(rig.pages(Verb::Write, Cause::Parity), 3 * setup.pages());
    check_covers(&rig);
}
