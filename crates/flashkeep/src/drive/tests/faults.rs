//! Anything may fail, at any instant, during any traffic: reads return the data written last or fail, lost pages are
//! reported, no operation starts on a failed part, and nothing hangs.

use super::model::{Model, fault};
use super::*;
use proptest::prelude::*;

/// How a drive goes about its work.
#[derive(Clone, Debug)]
struct Ways {
    flash: String,
    ftl: String,
    is_static: bool,
    members: u32,
    blocks: u32,
    pages: u32,
    /// Blocks of a plane that hold no data.
    spare: u32,
}

/// Several open blocks, and blocks that wear out.
fn streams_and_wear() -> impl Strategy<Value = (u8, bool, &'static str)> {
    let wear = prop::sample::select(vec![
        "",
        "wear = { erase_budget = 9 }",
        "wear = { erase_budget = 9, levelling = \"rate-limit\" }",
        "wear = { erase_budget = 9, levelling = \"migration\" }",
        "wear = { erase_budget = 30, levelling = \"both\", migrate_below = 1 }",
    ]);
    prop_oneof![Just((1, false, "")), (1u8..3, any::<bool>(), wear)]
}

fn ways() -> impl Strategy<Value = Ways> {
    let names = |names: &'static [&'static str]| prop::sample::select(names);
    let flash = (
        names(&["chip", "die", "plane"]),
        names(&["reads-first", "fifo", "ssdsim"]),
        names(&["transfers", "operations"]),
        names(&["transfer", "program"]),
        (names(&["off", "match", "skip"]), any::<bool>(), any::<bool>()),
    );
    let ftl = (
        names(&["dynamic", "dynamic-in-channel", "CWDP", "PDWC", "WP"]),
        names(&["steps", "hold-channel"]),
        names(&["greedy", "fifo", "cost-benefit", "random", "d-choices", "rga", "windowed-greedy"]),
        any::<bool>(),
        streams_and_wear(),
    );
    let height = (4u32..8, 1u32..6);
    (flash, ftl, height, 1u32..3, 1u32..3, 1u32..3).prop_map(|(flash, ftl, height, members, chips, dies)| {
        let (blocks, pages) = height;
        let (unit, rule, bus, acknowledge, (multi_plane, cache_program, cache_read)) = flash;
        let (allocation, run, victim, coalesce, (streams, separate, wear)) = ftl;
        let migrates = wear.contains("migration") || wear.contains("both");
        let spare = 2 * (u32::from(streams) + u32::from(separate)) + u32::from(migrates);
        let blocks = blocks + spare - 2;
        Ways {
            flash: format!(
                "channels = 2, chips_per_channel = {chips}, dies_per_chip = {dies}, planes_per_die = 2, \
                 blocks_per_plane = {blocks}, pages_per_block = {pages}, busy_unit = \"{unit}\", scheduler = \"{rule}\", \
                 bus = \"{bus}\", acknowledge = \"{acknowledge}\", commands = {{ multi_plane = \"{multi_plane}\", \
                 cache_program = {cache_program}, cache_read = {cache_read} }}"
            ),
            ftl: format!(
                "allocation = \"{allocation}\", coalesce_reads = {coalesce}, \
                 gc = {{ threshold = 0.3, run = \"{run}\", victim = \"{victim}\", separate = {separate} }}, \
                 streams = {streams}, {wear}"
            ),
            is_static: allocation != "dynamic",
            members,
            blocks,
            pages,
            spare,
        }
    })
}

/// The next action; numbers are taken modulo the size of their range.
#[derive(Clone, Copy, Debug)]
enum Act {
    Write(u32, u16, bool),
    Remap(u32, u32),
    Trim(u32, u16),
    Read(u32, bool),
    Wait(u64),
    Fail(u8, [u32; 6], bool),
    Renew(u8, [u32; 6]),
}

fn act() -> impl Strategy<Value = Act> {
    let lasting = prop::sample::select(vec![true, true, false]);
    prop_oneof![
        20 => (any::<u32>(), 1u16..5, prop::bool::weighted(0.1)).prop_map(|(p, n, b)| Act::Write(p, n, b)),
        4 => any::<(u32, u32)>().prop_map(|(from, to)| Act::Remap(from, to)),
        3 => (any::<u32>(), 1u16..5).prop_map(|(page, count)| Act::Trim(page, count)),
        14 => (any::<u32>(), prop::bool::weighted(0.1)).prop_map(|(page, before)| Act::Read(page, before)),
        12 => (0u64..1_500_000).prop_map(Act::Wait),
        2 => (0u8..7, any::<[u32; 6]>(), lasting).prop_map(|(k, at, lasting)| Act::Fail(k, at, lasting)),
        1 => (0u8..4, any::<[u32; 6]>()).prop_map(|(kind, at)| Act::Renew(kind, at)),
    ]
}

/// Half of the planes' usable pages, or all of them.
fn pages(ways: &Ways, full: bool) -> u32 {
    let rig = Rig::new(&ways.flash, &ways.ftl, ways.members, FlashBackendKind::Physical);
    let planes = rig.drive.controller.flash.geometry.plane_count() / ways.members;
    (planes * (ways.blocks - ways.spare) * ways.pages).div_ceil(if full { 1 } else { 2 })
}

fn act_on_mapped(model: &mut Model, act: Act, remaps: bool) {
    let backends = model.backends.len() as u32;
    let pages = model.backends[0].holds.len() as u32;
    let place = |pick: u32| ((pick % backends) as u16, pick / backends % pages);
    let within = |page: u32, count: u16| count.min((pages - page) as u16);
    match act {
        Act::Write(pick, count, early) => {
            let (backend, page) = place(pick);
            let command = write(page, within(page, count));
            model.write(backend, if early { before(command) } else { command });
        }
        Act::Remap(from, to) => {
            let ((backend, from), (_, to)) = (place(from), place(to));
            if from != to && remaps {
                model.remap(backend, from, to);
            }
        }
        Act::Trim(pick, count) => {
            let (backend, page) = place(pick);
            model.trim(backend, trim(page, within(page, count)));
        }
        Act::Read(pick, early) => {
            let (backend, page) = place(pick);
            model.read(backend, if early { before(read(page)) } else { read(page) });
        }
        Act::Wait(span) => model.go_on(span),
        Act::Fail(kind, pick, lasting) => {
            let what = fault(&model.rig.drive, kind, pick);
            model.fail(what, lasting);
        }
        Act::Renew(kind, pick) => {
            let what = fault(&model.rig.drive, kind, pick);
            model.renew(what);
        }
    }
}

fn act_on_physical(model: &mut Model, cursors: &mut [Vec<u32>], act: Act) {
    let backends = model.backends.len() as u32;
    let group = model.rig.drive.physical_superblock_pages(BackendId(0));
    let place = |pick: u32| ((pick % backends) as u16, pick / backends % model.rig.drive.pages(BackendId(0)));
    match act {
        Act::Write(pick, count, early) => {
            // Of two groups that are open most of the time, the next page, or one that leaves some out.
            let (backend, at) = place(pick);
            let (number, skip) = (at % 3, u32::from(at % 17 == 0));
            let cursor = &mut cursors[usize::from(backend)][number as usize];
            let first = *cursor + skip;
            let count = u32::from(count).min(group.saturating_sub(first));
            if count > 0 {
                *cursor = first + count;
                let command = write(number * group + first, count as u16);
                model.write(backend, if early { before(command) } else { command });
            }
        }
        Act::Trim(pick, count) => {
            let (backend, at) = place(pick);
            let groups = 1 + u32::from(count == 1);
            let first = at % 3;
            (first..first + groups).for_each(|number| cursors[usize::from(backend)][number as usize] = 0);
            let command = trim(first * group, (groups * group) as u16);
            model.trim(backend, if count == 2 { before(command) } else { command });
        }
        Act::Read(pick, early) => {
            let (backend, page) = place(pick);
            let expected = &model.backends[usize::from(backend)];
            if expected.dead || expected.gone[page as usize] || expected.holds[page as usize] != 0 {
                model.read(backend, if early { before(read(page)) } else { read(page) });
            }
        }
        Act::Wait(span) => model.go_on(span),
        Act::Fail(kind, pick, lasting) => {
            let what = fault(&model.rig.drive, kind, pick);
            model.fail(what, lasting);
        }
        Act::Renew(kind, pick) => {
            let dead: Vec<bool> = model.backends.iter().map(|backend| backend.dead).collect();
            let what = fault(&model.rig.drive, kind, pick);
            model.renew(what);
            for (backend, was_dead) in dead.into_iter().enumerate() {
                if was_dead && !model.backends[backend].dead {
                    cursors[backend].fill(0);
                }
            }
        }
        Act::Remap(..) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn ftls_go_on_with_what_is_left(
        ways in ways(),
        acts in prop::collection::vec(act(), 1..250),
        full in any::<bool>(),
    ) {
        let kind = mapped(pages(&ways, full));
        let mut model = Model::new(Rig::new(&ways.flash, &ways.ftl, ways.members, kind));
        // An address that is bound to a plane and renamed to one of another plane may fill that.
        if full {
            let fill = |backend| model.write(backend, before(write(0, pages(&ways, true) as u16)));
            (0..ways.members as u16).for_each(fill);
        }
        let remaps = !ways.is_static;
        acts.into_iter().for_each(|act| act_on_mapped(&mut model, act, remaps));
        model.finish();
    }

    #[test]
    fn physical_backends_go_on_with_what_is_left(
        ways in ways(),
        acts in prop::collection::vec(act(), 1..250),
    ) {
        let mut model = Model::new(Rig::new(&ways.flash, &ways.ftl, ways.members, FlashBackendKind::Physical));
        let mut cursors = vec![vec![0; 8]; ways.members as usize];
        acts.into_iter().for_each(|act| act_on_physical(&mut model, &mut cursors, act));
        model.finish();
    }

    #[test]
    fn a_full_backend_goes_on_without_a_part(
        ways in ways(),
        strikes in prop::collection::vec((1u8..7, any::<[u32; 6]>()), 1..12),
        order in any::<u32>(),
    ) {
        let pages = pages(&ways, true);
        let mut model = Model::new(Rig::new(&ways.flash, &ways.ftl, ways.members, mapped(pages)));
        let round = |model: &mut Model, step: u32, wait: u64| {
            for n in 0..pages {
                for backend in 0..ways.members as u16 {
                    let page = (n * step + order % pages) % pages;
                    model.write(backend, write(page, (1 + n % 4).min(pages - page) as u16));
                }
                model.go_on(wait);
            }
        };
        round(&mut model, 1, 0);
        for (kind, pick) in strikes {
            model.go_on(u64::from(pick[0] % 3_000_000));
            let what = fault(&model.rig.drive, kind, pick);
            model.fail(what, true);
            // All pages, in an order that leaves no two neighbours together.
            let step = if pages.is_multiple_of(7) { 11 } else { 7 };
            round(&mut model, step, u64::from(pick[1] % 300_000));
        }
        model.finish();
    }
}
