//! The backup over backends in memory: its addresses, its phases, and what failures cost.

mod addresses;
mod failures;
mod phases;
mod rebuilds;

use super::{Backup, BackupFacts};
use crate::engine::tests::rig;
use crate::engine::tests::store::{Report, Store};
use crate::engine::{Contents, Hazard, NodeId, Page, Scheme, Token, Tree};
use crate::kernel::Random;
use crate::schemes::{Any, MemberFacts, RedundancySpec, SchemeOptions, Spread, build, named};

type Rig<C = Token> = rig::Rig<C, Any>;

/// SSDs and disks of pages of 1 KiB.
#[derive(Clone, Copy, Debug)]
struct Setup {
    ssds: u8,
    disks: u8,
    /// Pages of a segment.
    segment: u32,
    every: u32,
    /// Segments of each SSD.
    each: u32,
    memory: u32,
    recall_segments: u32,
    recall_share: f64,
    recall_idle_ns: u64,
    spread: Spread,
}

const SMALL: Setup = Setup {
    ssds: 2,
    disks: 2,
    segment: 4,
    every: 2,
    each: 5,
    memory: 24,
    recall_segments: 3,
    recall_share: 0.75,
    recall_idle_ns: 300,
    spread: Spread::Interleaved,
};
const CONTIGUOUS: Setup = Setup { spread: Spread::Contiguous, recall_segments: 1, ..SMALL };
const ONE_DISK: Setup = Setup { ssds: 3, disks: 1, every: 1, memory: 9, each: 3, ..SMALL };
/// Recalled under load, too.
const EAGER: Setup = Setup { recall_share: 0.2, recall_idle_ns: 40, memory: 16, ..SMALL };
const TIGHT: Setup = Setup { ssds: 1, disks: 1, memory: 4, each: 8, ..EAGER };
const ALL: [Setup; 5] = [SMALL, CONTIGUOUS, ONE_DISK, EAGER, TIGHT];

impl Setup {
    fn redundancy(&self) -> RedundancySpec {
        RedundancySpec::of("backup")
            .with("segment_kib", self.segment)
            .with("free_every", self.every)
            .with("recall_segments", self.recall_segments)
            .with("recall_share", self.recall_share)
            .with("recall_idle_ms", self.recall_idle_ns as f64 / 1e6)
            .with("spread", self.spread)
    }

    fn members(&self) -> Vec<MemberFacts> {
        let share = self.each.div_ceil(u32::from(self.disks));
        let part = share + share.div_ceil(self.every);
        let (ssd, disk) = (self.each * self.segment, u32::from(self.ssds) * part * self.segment);
        let member = |pages: u32, disk: bool| MemberFacts { pages: u64::from(pages), disk, page_bytes: 1024 };
        let ssds = std::iter::repeat_n(member(ssd, false), usize::from(self.ssds));
        ssds.chain(std::iter::repeat_n(member(disk, true), usize::from(self.disks))).collect()
    }

    fn build(&self) -> Any {
        let (redundancy, array) = (self.redundancy(), self.members());
        let options = SchemeOptions {
            redundancy: &redundancy,
            member_pages: array.iter().map(|member| member.pages).min().unwrap_or(0),
            members: array.len() as u8,
            hidden_pages: 0,
            memory_pages: self.memory,
            superblock_pages: 0,
            superblocks: 0,
            clean_below: 0,
            soft_below: 0,
            streams: 1,
            separate: false,
            policies: Default::default(),
            seed: 1,
            page_bytes: 1024,
            array: &array,
            unit_pages: 1,
            errors: None,
        };
        build(&options).expect("a scheme of the table")
    }

    fn rig<C: Contents>(&self, report: Report, seed: u64) -> Rig<C> {
        let mut store = Store::new(seed);
        let pages = self.members().into_iter().map(|member| member.pages as u32).chain([self.memory]);
        let backends = pages.map(|pages| Tree::Backend(store.add(pages, 0, report))).collect();
        let mut rig = Rig::new(Tree::Node(self.build(), backends), store);
        rig.lenient = true;
        rig.engine.tree_mut().controller.rebuild_permille = 1000;
        rig
    }

    fn pages(&self) -> u32 {
        u32::from(self.ssds) * self.each * self.segment
    }

    /// The nodes of an SSD, of a disk and of the memory.
    fn ssd(&self, ssd: u8) -> u16 {
        1 + u16::from(ssd)
    }
    fn disk(&self, disk: u8) -> u16 {
        1 + u16::from(self.ssds) + u16::from(disk)
    }
    fn nvram(&self) -> u16 {
        self.disk(self.disks)
    }
    fn nodes(&self) -> std::ops::RangeInclusive<u16> {
        1..=self.nvram()
    }
}

fn backup<C: Contents>(rig: &Rig<C>) -> &Backup {
    match rig.engine.tree().scheme(NodeId::ROOT) {
        Some(Any::Backup(backup)) => backup,
        other => panic!("a backup at the root, not {other:?}"),
    }
}

/// What the scheme knows is consistent.
fn check<C: Contents>(rig: &Rig<C>) {
    let this = backup(rig);
    this.segments.check();
    this.memory.check();
    let facts: BackupFacts = this.facts();
    assert!(facts.nvram_used <= facts.nvram_most && facts.nvram_most <= facts.nvram_pages);
}

/// Every page that holds data is on its SSD and in its backup, except for those that are exposed.
fn check_copies(rig: &mut Rig, setup: &Setup) {
    check(rig);
    let mut covered = vec![false; setup.pages() as usize];
    rig.engine.covers(NodeId::ROOT, &mut |_, units| {
        let [ssd, copy] = units else { panic!("two copies") };
        let contents =
            |unit: &crate::engine::StripeUnit| rig.store.page(u16::from(unit.member.0), unit.page.low());
        assert_eq!(contents(ssd), contents(copy), "{units:?}");
        let page = backup(rig).owner(ssd.member, ssd.page).expect("an SSD's page");
        covered[page.low() as usize] = true;
    });
    for page in 0..setup.pages() {
        let exposed = rig.engine.tree().is_exposed(NodeId::ROOT, Page::of(page), Hazard::Unit);
        let known = rig.latest(page) == 0 || exposed || covered[page as usize];
        assert!(known, "page {page} has no copy, and is not declared exposed");
    }
}

/// Pages that may be lost to the next failure.
fn declared(rig: &Rig, setup: &Setup) -> Vec<u32> {
    (0..setup.pages())
        .filter(|&page| rig.engine.tree().is_exposed(NodeId::ROOT, Page::of(page), Hazard::Unit))
        .collect()
}

/// Reads, writes, trims and merges at random, several at a time, with runs that continue where the last one ended.
fn shake<C: Contents>(rig: &mut Rig<C>, setup: &Setup, random: &mut Random, commands: u32) {
    let mut next = 0;
    for _ in 0..commands {
        let anywhere = random.below(u64::from(setup.pages())) as u32;
        let start = if random.below(2) == 0 { anywhere } else { next % setup.pages() };
        let count =
            (1 + random.below(u64::from(setup.segment) + 2)).min(u64::from(setup.pages() - start)) as u16;
        next = start + u32::from(count);
        match random.below(12) {
            0..3 => rig.write(start, 1),
            3..7 => rig.write(start, count),
            7..10 => rig.read(start, count),
            10 => rig.trim(start, count),
            _ => rig.merge(start),
        };
        while random.below(3) == 0 && rig.step() {}
    }
}

/// Reads every page, one after the other; those that were lost.
fn read_all(rig: &mut Rig, setup: &Setup) -> Vec<u32> {
    let mut lost = Vec::new();
    for page in 0..setup.pages() {
        let read = rig.read(page, 1);
        while rig.told[read].is_none() {
            assert!(rig.step(), "page {page} is never read");
        }
        let found = rig.told[read].is_none_or(|(_, lost)| lost == 0);
        if !found && rig.latest(page) != 0 {
            lost.push(page);
        }
    }
    lost
}

/// Advances by this many events.
fn steps<C: Contents>(rig: &mut Rig<C>, count: u64) {
    for _ in 0..count {
        rig.step();
    }
}

/// Writes these pages, each by itself, at once.
fn write_each<C: Contents>(rig: &mut Rig<C>, pages: impl IntoIterator<Item = u32>) {
    for page in pages {
        rig.write(page, 1);
    }
}
