//! Log-striped schemes on memory that completes in any order: worked examples, closed forms, random histories, and
//! everything that may break.

mod cleaning;
mod failures;
mod streams;
mod striping;

use super::data_in_superpage;
use crate::blocks::Policies;
use crate::engine::tests::rig::Rig;
use crate::engine::tests::store::{Report, Store};
use crate::engine::{Cause, Contents, Hazard, NodeId, Page, Role, Scheme, StripeUnit, Token, Tree, Verb};
use crate::kernel::Random;
use crate::schemes::{Any, RedundancySpec, SchemeOptions, build};

/// A drive to be made.
#[derive(Clone, Debug)]
struct Setup {
    redundancy: RedundancySpec,
    members: u8,
    superblocks: u32,
    superblock_pages: u32,
    member_pages: u64,
    clean_below: u32,
    soft_below: u32,
    streams: u8,
    separate: bool,
    policies: Policies,
    report: Report,
    seed: u64,
}

impl Setup {
    fn new(scheme: &str, members: u8, superblocks: u32, superblock_pages: u32, member_pages: u64) -> Self {
        let redundancy = RedundancySpec::of(scheme);
        let (clean_below, report, seed) = (1, Report::After(10), 0);
        let (soft_below, policies) = (0, Policies::default());
        Setup {
            redundancy,
            members,
            superblocks,
            superblock_pages,
            member_pages,
            clean_below,
            soft_below,
            streams: 1,
            separate: false,
            policies,
            report,
            seed,
        }
    }

    fn timeout_ns(mut self, ns: u64) -> Self {
        self.redundancy.set("timeout_ms", ns as f64 / 1e6);
        self
    }

    fn reporting(self, report: Report, seed: u64) -> Self {
        Setup { report, seed, ..self }
    }

    fn rig<C: Contents>(&self) -> Rig<C, Any> {
        let options = SchemeOptions {
            redundancy: &self.redundancy,
            member_pages: self.member_pages,
            members: self.members,
            hidden_pages: 0,
            memory_pages: 0,
            superblock_pages: self.superblock_pages,
            superblocks: self.superblocks,
            clean_below: self.clean_below,
            soft_below: self.soft_below,
            streams: self.streams,
            separate: self.separate,
            policies: self.policies.clone(),
            seed: self.seed,
            page_bytes: 4096,
            array: &[],
            unit_pages: 1,
            errors: None,
        };
        let scheme = build(&options).expect("a scheme");
        let mut store = Store::new(self.seed);
        let pages = self.superblocks * self.superblock_pages;
        let backend = |_| Tree::Backend(store.add(pages, self.superblock_pages, self.report));
        let backends = (0..self.members).map(backend).collect();
        Rig::new(Tree::Node(scheme, backends), store)
    }
}

/// The scheme under test.
fn scheme<C: Contents>(rig: &Rig<C, Any>) -> &Any {
    rig.engine.tree().scheme(NodeId::ROOT).expect("the root has one")
}

/// Its engine.
fn log<C: Contents>(rig: &Rig<C, Any>) -> &super::StripeLog {
    match scheme(rig) {
        Any::Ds(log) | Any::Dvs(log) | Any::Lifespan(log) => log,
        other => panic!("{other:?} has no log"),
    }
}

fn pages<C: Contents>(rig: &Rig<C, Any>) -> u32 {
    scheme(rig).capacity() as u32
}

/// The members and superpages that were written for these causes.
fn written<C: Contents>(rig: &Rig<C, Any>, causes: &[Cause]) -> Vec<(u16, u32)> {
    let writes = rig.store.log.iter().filter(|(_, _, c)| c.verb == Verb::Write && causes.contains(&c.cause));
    writes.map(|(_, backend, command)| (backend.0, command.start.low())).collect()
}

fn programs<C: Contents>(rig: &Rig<C, Any>) -> u32 {
    rig.store.count(|_, command| command.verb == Verb::Write)
}

/// Every stripe that is said to be whole is: its parity is the sum of its data.
fn covers_are_right(rig: &Rig<Token, Any>) {
    rig.engine.covers(NodeId::ROOT, &mut |_, units: &[StripeUnit]| {
        let sum = units.iter().fold(Token(0), |sum, unit| {
            sum.plus(1, rig.store.page(u16::from(unit.member.0), unit.page.low()))
        });
        assert_eq!(sum, Token(0), "{units:?}");
        assert_eq!(units.iter().filter(|unit| unit.role == Role::P).count(), 1);
    });
}

/// The state, derived again.
fn audit<C: Contents>(rig: &Rig<C, Any>) {
    let log = log(rig);
    let mut current = vec![0; log.stripes.superblocks.count() as usize];
    let mut lacking = vec![0; log.stripes.superblocks.count() as usize];
    let (mut mapped, mut pending) = (0, 0);
    for page in 0..pages(rig) {
        let Some(place) = log.stripes.places.find(page) else { continue };
        assert!(
            log.stripes.places.is_current(place)
                && log.stripes.places.is_data(place)
                && log.stripes.places.owner(place) == page
        );
        let superblock = log.stripes.superblock_of(place) as usize;
        (mapped, current[superblock]) = (mapped + 1, current[superblock] + 1);
        pending += u32::from(log.stripes.is_pending(place));
        lacking[superblock] += u32::from(log.health.troubled && log.is_lacking(place));
    }
    assert_eq!(log.stripes.places.mapped(), mapped);
    for superblock in 0..log.stripes.superblocks.count() {
        assert_eq!(
            log.stripes.superblocks.current(superblock),
            current[superblock as usize],
            "group {superblock}"
        );
        assert_eq!(log.health.lacking_in(superblock), lacking[superblock as usize], "group {superblock}");
    }
    // One superblock is always kept, or on its way.
    assert!(
        log.stripes.superblocks.free() > 0 || log.erasing > 0 || log.cleaning.is_some(),
        "no group is free"
    );
    let exposed = pending + lacking.iter().sum::<u32>();
    assert_eq!(rig.engine.tree().exposed_at(NodeId::ROOT), u64::from(exposed));
    // The declared sets: what stripes lack a unit for, and what waits.
    let declared = |hazard| {
        (0..pages(rig))
            .filter(|&page| rig.engine.tree().is_exposed(NodeId::ROOT, Page::of(page), hazard))
            .count()
    };
    assert!(declared(Hazard::Unit) <= declared(Hazard::Power));
    if !log.health.troubled {
        assert_eq!((declared(Hazard::Unit), declared(Hazard::Power)), (0, pending as usize));
    }
}

/// A step of a random history.
fn disturb<C: Contents>(rig: &mut Rig<C, Any>, random: &mut Random, upto: u32) {
    let page = random.below(u64::from(upto) - 3) as u32;
    let count = 1 + random.below(3) as u16;
    match random.below(12) {
        0 => rig.trim(page, count),
        1..4 => rig.read(page, count),
        4 => rig.merge(page),
        _ => rig.write(page, count),
    };
    while random.below(3) == 0 && rig.step() {}
}
