//! One suite for all schemes, generated from their table: it checks what each scheme declares by injecting failures.

mod arrays;
mod bed;
mod bench;
mod maps;
mod power;

use bed::Bed;
use bench::Bench;
use flashkeep::drive::Fault;
use flashkeep::engine::{Hazard, Verb};
use flashkeep::kernel::Random;
use flashkeep::schemes::{SchemeEntry, TriedWith, for_drives, named};
use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::ops::Deref;

/// A small drive: `channels` of one chip.
fn text(channels: u32, planes: u32) -> String {
    format!(
        "[flash]\nchannels = {channels}\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = {planes}\n\
         blocks_per_plane = 12\npages_per_block = 4\npage_kib = 4\n[ftl]\nover_provisioning = 0.8\n\
         [ftl.gc]\nthreshold = 0.1\n"
    )
}

/// A scheme and its test parameters.
#[derive(Clone, Copy)]
struct Tried {
    entry: &'static SchemeEntry,
    with: TriedWith,
}

impl Tried {
    /// All that the scheme declares, the first one first.
    fn all(entry: &'static SchemeEntry) -> impl Iterator<Item = Tried> {
        entry.tried_with.iter().map(move |&with| Tried { entry, with })
    }

    fn first(entry: &'static SchemeEntry) -> Tried {
        Tried { entry, with: entry.tried_with[0] }
    }

    fn named(scheme: &str) -> Tried {
        Tried::first(named(scheme).expect("a scheme of the table"))
    }

    /// Its options inside a drive, or over drives.
    fn set(&self, over_drives: bool, more: &[&str]) -> Vec<String> {
        let mut set = vec![format!("redundancy.scheme=\"{}\"", self.name)];
        let examples = self.examples(over_drives);
        set.extend(examples.into_iter().map(|(key, value)| format!("redundancy.{key}={value}")));
        let own = self.with.set.iter().filter(|pair| !over_drives || pair.starts_with("redundancy."));
        set.extend(own.chain(more).map(|&pair| pair.to_owned()));
        set
    }
}

impl Deref for Tried {
    type Target = SchemeEntry;

    fn deref(&self) -> &SchemeEntry {
        self.entry
    }
}

impl Display for Tried {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({} parts, {} drives, {:?})",
            self.name, self.with.parts, self.with.drives, self.with.set
        )
    }
}

/// The schemes that drives can have.
fn picked() -> impl Iterator<Item = &'static SchemeEntry> {
    wanted(for_drives())
}

/// Of these schemes the one that the variable `FLASHKEEP_SCHEME` names, if it is set.
fn wanted(entries: impl Iterator<Item = &'static SchemeEntry>) -> impl Iterator<Item = &'static SchemeEntry> {
    let only = std::env::var("FLASHKEEP_SCHEME").ok();
    entries.filter(move |entry| only.as_ref().is_none_or(|name| name == entry.name))
}

/// Each of them with all that it declares.
fn tried() -> impl Iterator<Item = Tried> {
    picked().flat_map(Tried::all)
}

/// A scheme inside a drive.
fn bench(tried: &Tried) -> Bench {
    Bench::new(&text(tried.with.parts, 1), &tried.set(false, &[]))
}

/// A random history: the same for the same seed, however often it is told. Stops after `until` instants.
fn history<H: Bed>(bench: &mut Bench<H>, seed: u64, commands: u32, until: u32) {
    history_seen(bench, seed, commands, until, |_| ());
}

/// The same, and `seen` gets the bench after the first command and after each instant. What is tried at every step of a
/// history goes on from a copy of it ([`Bench::copy`]); to tell the history anew would take the square of its length.
fn history_seen<H: Bed>(
    bench: &mut Bench<H>,
    seed: u64,
    commands: u32,
    until: u32,
    mut seen: impl FnMut(&Bench<H>),
) {
    let mut random = Random::stream(seed, "history");
    let pages = u64::from(bench.pages());
    // A part of the pages is written again and again, so that there is something to collect.
    for n in 0..commands {
        let hot = random.below(3) > 0;
        let page = random.below(if hot { pages.min(24) } else { pages }) as u32;
        let count = 1 + random.below(6) as u16;
        match random.below(10) {
            0 => bench.submit(Verb::Trim, page, count),
            1..4 => bench.submit(Verb::Read, page, count),
            _ => bench.submit(Verb::Write, page, count),
        }
        if n == 0 {
            seen(bench);
        }
        let pause = random.below(4);
        for _ in 0..if n % 16 == 15 { 40 } else { pause } {
            if bench.steps >= until || !bench.step() {
                break;
            }
            seen(bench);
        }
        if bench.steps >= until {
            return;
        }
    }
    while bench.steps < until && bench.step() {
        seen(bench);
    }
}

/// All sets of `size` members.
fn sets(members: u32, size: u32) -> Vec<Vec<u32>> {
    if size == 0 {
        return vec![vec![]];
    }
    let smaller = sets(members, size - 1);
    let grown = smaller.iter().flat_map(|set| {
        let next = set.last().map_or(0, |&last| last + 1);
        (next..members).map(|member| set.iter().copied().chain([member]).collect())
    });
    grown.collect()
}

/// After a failure, what is lost was declared exposed, and has not been written since.
fn check_losses<H: Bed>(
    bench: &mut Bench<H>,
    exposed: &BTreeSet<u32>,
    before: &[usize],
    what: &str,
) -> BTreeSet<u32> {
    bench.run();
    let lost = bench.read_all();
    for &page in &lost {
        let written_since = bench.versions()[page as usize] > before[page as usize];
        assert!(exposed.contains(&page) && !written_since, "{what}: page {page} was lost and not exposed");
    }
    lost
}

fn survivors() -> impl Iterator<Item = (Tried, u32)> {
    tried().filter_map(|tried| {
        let survives = (tried.survives)(tried.with.parts);
        (survives > 0).then_some((tried, survives))
    })
}

#[test]
fn every_failure_at_every_step_costs_only_what_was_exposed() {
    for (scheme, survives) in survivors() {
        let mut whole = bench(&scheme);
        let sets = sets(whole.members(), survives);
        // All of them for a single failure; a pair each time, in turn, where there are two.
        history_seen(&mut whole, 1, 70, u32::MAX, |bench| {
            let step = bench.steps;
            for (at, failing) in sets.iter().enumerate() {
                if survives > 1 && at as u32 % 5 != step % 5 {
                    continue;
                }
                let mut bench = bench.copy();
                let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
                bench.fail(failing);
                for page in [1, 7, 30] {
                    bench.submit(Verb::Write, page, 3);
                }
                check_losses(&mut bench, &exposed, &before, &format!("{scheme}, {failing:?} at step {step}"));
                bench.audit();
            }
        });
        whole.run();
        whole.audit();
    }
}

#[test]
fn rebuilt_it_survives_the_next_failure() {
    for (scheme, survives) in survivors() {
        for seed in 0..12 {
            let mut bench = bench(&scheme);
            history(&mut bench, seed, 60, 50 + 17 * seed as u32);
            let members = bench.members();
            let first: Vec<u32> = (0..survives).map(|n| (seed as u32 + n) % members).collect();
            let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
            bench.fail(&first);
            history(&mut bench, seed + 100, 25, u32::MAX);
            bench.replace(&first);
            history(&mut bench, seed + 200, 25, u32::MAX);
            let what = format!("{scheme}, seed {seed}, first");
            let lost = check_losses(&mut bench, &exposed, &before, &what);
            assert!(bench.is_whole() || !lost.is_empty(), "{scheme}, seed {seed}: rebuilt");
            // What waits for its parity is exposed to a power cut, and counted; what shares a stripe with a lost page
            // is exposed until that is written anew; nothing else is.
            let waiting = bench.exposed(Hazard::Power).len() as u64;
            assert!(
                bench.exposed_now() <= waiting || !lost.is_empty(),
                "{scheme}, seed {seed}: exposed after a rebuild"
            );
            bench.audit();
            let before = bench.versions();
            let exposed = bench.exposed(Hazard::Unit).union(&lost).copied().collect();
            let next: Vec<u32> = (0..survives).map(|n| (seed as u32 + 1 + n) % members).collect();
            bench.fail(&next);
            check_losses(&mut bench, &exposed, &before, &format!("{scheme}, seed {seed}, next"));
        }
    }
}

#[test]
fn a_failure_during_the_rebuild_is_handled() {
    for (scheme, survives) in survivors() {
        for seed in 0..12 {
            let mut bench = bench(&scheme);
            history(&mut bench, seed, 60, u32::MAX);
            bench.run();
            let members = bench.members();
            let first: Vec<u32> = (0..survives).collect();
            bench.fail(&first);
            bench.replace(&first);
            for _ in 0..3 * seed {
                bench.step();
            }
            // Beyond the survivable failures: lost pages are reported as lost, and no read returns wrong data.
            bench.fail(&[survives % members]);
            bench.submit(Verb::Write, 3, 5);
            bench.run();
            bench.read_all();
            bench.replace(&[survives % members]);
            bench.run();
            // Written anew, everything is there and protected.
            for page in (0..bench.pages()).step_by(4) {
                bench.submit(Verb::Write, page, 4);
                bench.run();
            }
            let lost = bench.read_all();
            assert!(lost.is_empty(), "{scheme}, seed {seed}: {lost:?} lost though written anew");
            bench.audit();
            let exposed = bench.exposed(Hazard::Unit);
            let before = bench.versions();
            bench.fail(&[members - 1]);
            check_losses(&mut bench, &exposed, &before, &format!("{scheme}, seed {seed}, third"));
        }
    }
}

/// As many members as may fail do, and are replaced at once or each during the rebuild of those before it; then as many
/// others fail.
#[test]
fn members_that_are_replaced_together_are_all_rebuilt() {
    for (scheme, survives) in survivors() {
        for seed in 0..24 {
            let what = format!("{scheme}, seed {seed}");
            let mut bench = bench(&scheme);
            history(&mut bench, seed, 60, u32::MAX);
            bench.run();
            let members = bench.members();
            let turn = |n: u32| (seed as u32 + n) % members;
            let first: Vec<u32> = (0..survives).map(turn).collect();
            let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
            bench.fail(&first);
            if seed % 2 == 0 {
                bench.replace(&first);
            }
            for member in first.iter().filter(|_| seed % 2 == 1) {
                bench.replace(&[*member]);
                for _ in 0..seed {
                    bench.step();
                }
            }
            history(&mut bench, seed + 100, 25, u32::MAX);
            let lost = check_losses(&mut bench, &exposed, &before, &what);
            assert!(bench.is_whole() || !lost.is_empty(), "{what}: rebuilt");
            let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
            let next: Vec<u32> = (survives..2 * survives).map(turn).collect();
            bench.fail(&next);
            check_losses(&mut bench, &exposed.union(&lost).copied().collect(), &before, &what);
            bench.audit();
        }
    }
}

/// A page that a read finds unreadable is brought back: when what it was read from instead fails later, it is there.
#[test]
fn what_is_found_unreadable_is_brought_back() {
    for (scheme, _) in survivors() {
        for seed in 0..12 {
            let what = format!("{scheme}, seed {seed}");
            let mut bench = bench(&scheme);
            history(&mut bench, seed, 60, u32::MAX);
            bench.run();
            let member = seed as u32 % bench.members();
            let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
            bench.poison(&[member]);
            // Of two copies each is read.
            for page in 0..bench.pages() {
                bench.submit(Verb::Read, page, 1);
                bench.submit(Verb::Read, page, 1);
            }
            let lost = check_losses(&mut bench, &exposed, &before, &what);
            bench.audit();
            let (now, before) = (bench.exposed(Hazard::Unit), bench.versions());
            assert!(now.is_subset(&exposed), "{what}: all that was found has been brought back");
            bench.fail(&[(member + 1) % bench.members()]);
            bench.run();
            let next = bench.read_all();
            // Parities that nothing has read are still what they were.
            let known = |page: &u32| now.contains(page) || lost.contains(page) || !scheme.copies;
            assert!(next.iter().all(known), "{what}: {next:?}");
            let written = (0..bench.pages()).filter(|&page| before[page as usize] > 0).count();
            assert!(next.len() <= written / 2, "{what}: {} of {written} lost", next.len());
        }
    }
}

#[test]
fn a_page_that_cannot_be_read_is_had_otherwise_and_healed() {
    for (scheme, _) in survivors() {
        for seed in 0..10 {
            let mut bench = bench(&scheme);
            history(&mut bench, seed, 60, u32::MAX);
            bench.run();
            let exposed = bench.exposed(Hazard::Unit);
            let Some(ppn) = (seed as u32 * 5..bench.pages()).find_map(|page| bench.ppn(bench.place(page)?))
            else {
                continue;
            };
            let before = bench.versions();
            bench.damage(Fault::Page(ppn), false);
            check_losses(&mut bench, &exposed, &before, &format!("{scheme}, seed {seed}"));
            bench.run();
            bench.audit();
        }
    }
}

#[test]
fn what_no_member_can_read_is_reported() {
    for (scheme, _) in survivors() {
        for seed in 0..30 {
            let mut bench = bench(&scheme);
            history(&mut bench, seed, 60, 40 + 7 * seed as u32);
            let all: Vec<u32> = (0..bench.members()).collect();
            bench.poison(&all);
            history(&mut bench, seed + 50, 60, u32::MAX);
            bench.run();
            // `read_all` panics on a wrong page.
            bench.read_all();
            for page in (0..bench.pages()).step_by(4) {
                bench.submit(Verb::Write, page, 4);
                bench.run();
            }
            assert!(bench.read_all().is_empty(), "{scheme}, seed {seed}: lost though written");
            bench.audit();
        }
    }
}

#[test]
fn parts_of_members_fail() {
    for (scheme, _) in survivors() {
        for seed in 0..12_u32 {
            let channels = scheme.with.parts;
            let mut bench = Bench::new(&text(channels, 2), &scheme.set(false, &[]));
            history(&mut bench, u64::from(seed), 80, 60 + 23 * seed);
            let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
            let plane = bench.planes(seed % channels)[seed as usize / 5 % 2];
            let fault = if seed % 3 == 0 {
                Fault::Planes { first: plane, count: 1 }
            } else {
                Fault::Block(plane, seed % 12)
            };
            bench.damage(fault, seed % 4 != 3);
            history(&mut bench, u64::from(seed) + 50, 60, u32::MAX);
            check_losses(&mut bench, &exposed, &before, &format!("{scheme}, seed {seed}, {fault:?}"));
        }
    }
}

#[test]
fn parts_of_pools_fail() {
    for (scheme, _) in survivors() {
        for seed in 0..12_u32 {
            let channels = scheme.with.parts;
            let pool = ["flash.busy_unit=\"chip\"", "ftl.pool=\"element\""];
            let mut bench = Bench::new(&text(channels, 2), &scheme.set(false, &pool));
            history(&mut bench, u64::from(seed), 80, 60 + 23 * seed);
            let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
            let part = bench.part_of_pool(bench.planes(seed % channels)[0], seed / 5 % 2);
            bench.damage(part, seed % 4 != 3);
            history(&mut bench, u64::from(seed) + 50, 60, u32::MAX);
            check_losses(&mut bench, &exposed, &before, &format!("{scheme}, seed {seed}, {part:?}"));
        }
    }
}

#[test]
fn without_redundancy_what_is_lost_is_reported() {
    let mut bench = Bench::new(&text(4, 1), &Tried::named("none").set(false, &["ftl.allocation=\"CWDP\""]));
    history(&mut bench, 3, 80, u32::MAX);
    bench.run();
    let on_plane = |bench: &Bench, page: u32| bench.place(page).and_then(|place| bench.ppn(place));
    let plane = bench.planes(0)[0];
    let there: BTreeSet<u32> = (0..bench.pages()).filter(|&page| on_plane(&bench, page).is_some()).collect();
    bench.damage(Fault::Planes { first: plane, count: 1 }, true);
    let lost = bench.read_all();
    assert!(!lost.is_empty() && lost.len() < there.len() && lost.is_subset(&there));
    bench.audit();
}

/// Every page is written three times over, while some of it is carried out, and is there.
fn fill<H: Bed>(bench: &mut Bench<H>, what: &str) {
    for round in 0..3 {
        for page in 0..bench.pages() {
            bench.submit(Verb::Write, page, 1);
            if (page + round) % 3 == 0 {
                bench.step();
            }
        }
    }
    bench.run();
    assert!(bench.read_all().is_empty(), "{what}");
    assert!((0..bench.pages()).all(|page| bench.place(page).is_some()), "{what}: places");
    bench.audit();
}

#[test]
fn the_capacity_is_what_was_declared() {
    for scheme in tried() {
        fill(&mut bench(&scheme), &scheme.to_string());
    }
}

#[test]
fn the_same_history_takes_the_same_course() {
    for scheme in tried() {
        let course = || {
            let mut bench = bench(&scheme);
            history(&mut bench, 9, 80, 200);
            bench.damage(Fault::Planes { first: bench.planes(0)[0], count: 1 }, false);
            bench.run();
            (bench.steps, bench.read_all())
        };
        assert_eq!(course(), course(), "{scheme}");
    }
}

/// Four pages of the map share a page of the flash: under every scheme, no page is read wrong, the capacity is what was
/// declared, a failure costs what was exposed, and what is rebuilt survives.
#[test]
fn pages_that_share_a_flash_page_serve_every_scheme() {
    let quarter = |scheme: &Tried| {
        let more = ["ftl.logical_page_kib=1", "ftl.gc.run=\"hold-channel\""];
        let steps = scheme.name.len() % 2;
        let text = text(scheme.with.parts, 1);
        Bench::<flashkeep::drive::Drive<_>>::new(&text, &scheme.set(false, &more[..1 + steps]))
    };
    for scheme in tried() {
        fill(&mut quarter(&scheme), &scheme.to_string());
    }
    for (scheme, survives) in survivors() {
        for seed in 0..12 {
            let mut bench = quarter(&scheme);
            history(&mut bench, seed, 120, 100 + 37 * seed as u32);
            let members = bench.members();
            let failing: Vec<u32> = (0..survives).map(|n| (seed as u32 + n) % members).collect();
            let (exposed, before) = (bench.exposed(Hazard::Unit), bench.versions());
            bench.fail(&failing);
            history(&mut bench, seed + 100, 40, u32::MAX);
            bench.replace(&failing);
            history(&mut bench, seed + 200, 40, u32::MAX);
            let lost = check_losses(&mut bench, &exposed, &before, &format!("{scheme}, seed {seed}"));
            assert!(bench.is_whole() || !lost.is_empty(), "{scheme}, seed {seed}: rebuilt");
            bench.audit();
        }
    }
}
