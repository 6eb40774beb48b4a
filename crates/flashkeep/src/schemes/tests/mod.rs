//! The schemes over backends in memory: what they cost in pages, that what they say protects something does, that no
//! failure costs more than they declare, and that a rebuild makes them whole again.

mod ageing;
mod codes;
mod costs;
mod declustered;
mod failures;
mod histories;
mod hybrids;
mod i_cash;
mod pressure;
mod rebuilds;

use super::{Any, MemberFacts, Members, SchemeOptions, build, for_drives, named};
use crate::engine::tests::rig;
use crate::engine::tests::store::{Report, Store};
use crate::engine::{Contents, Hazard, NodeId, Page, Role, Scheme, StripeUnit, Token, Tree};
use crate::kernel::Random;
use crate::schemes::RedundancySpec;

/// The random histories to try of `all`; `make test` tries a third of them.
fn sampled(all: u64) -> u64 {
    if std::env::var_os("FLASHKEEP_FULL").is_some() { all } else { all.div_ceil(3) }
}

type Rig<C = Token> = rig::Rig<C, Any>;

/// A scheme and its size.
#[derive(Clone, Copy, Debug)]
struct Setup {
    scheme: &'static str,
    members: u8,
    stripes: u32,
    hidden: u32,
    memory: u32,
    waits: bool,
    /// When idle time begins, ns.
    idle: u64,
    /// Whether pages are written in part.
    merges: bool,
    /// How many of the members are disks (or smaller drives), the last ones, and how many pages more than the others
    /// they have; 0 in a drive.
    disks: u8,
    log: i32,
    /// Options, as the conformance suite sets them.
    set: &'static [&'static str],
}

const RAID5: Setup = Setup {
    scheme: "raid5",
    members: 5,
    stripes: 6,
    hidden: 0,
    memory: 0,
    waits: false,
    idle: 1_000,
    merges: true,
    disks: 0,
    log: 0,
    set: &[],
};
const RAID4: Setup = Setup { scheme: "raid4", ..RAID5 };
const RAID6: Setup = Setup { scheme: "raid6", members: 6, ..RAID5 };
const WAITING: Setup = Setup { waits: true, ..RAID5 };
const WAITING6: Setup = Setup { waits: true, ..RAID6 };
const WAITING_LRC: Setup = Setup { scheme: "lrc", members: 8, ..WAITING };
const FRA: Setup = Setup { scheme: "fra", hidden: 3, ..RAID5 };
const PPC: Setup = Setup { scheme: "ppc", hidden: 3, memory: 3, ..RAID5 };
const MIRROR: Setup = Setup { scheme: "mirror", members: 2, stripes: 16, ..RAID5 };

/// Three drives, and a log of seven slots.
const HPDA: Setup = Setup { scheme: "hpda", disks: 2, log: 7, ..RAID5 };
const DIFF: Setup = Setup { scheme: "diff-raid", ..RAID5 };
/// Three drives, and two of half their size.
const SPD: Setup = Setup { scheme: "spd-raid4", disks: 2, log: -3, ..RAID5 };

/// Every scheme over mapped members of a drive with all that it declares for the conformance suite, stripes that wait
/// to be full, and schemes over drives.
fn all() -> impl Iterator<Item = Setup> {
    let inside = for_drives().filter(|entry| entry.kind != Members::Physical && !entry.plain);
    let declared = inside.flat_map(|entry| entry.tried_with.iter().map(move |with| (entry, with)));
    let setups = declared.map(|(entry, with)| Setup {
        scheme: entry.name,
        members: with.parts as u8,
        hidden: if entry.kind == Members::WithHiddenRange { 3 } else { 0 },
        memory: if entry.memory { 3 } else { 0 },
        set: with.set,
        ..RAID5
    });
    setups.chain([RAID6, WAITING, WAITING6, WAITING_LRC, HPDA, DIFF, SPD])
}

impl<'a> SchemeOptions<'a> {
    /// What no test is about.
    pub(super) fn of(redundancy: &'a RedundancySpec) -> Self {
        SchemeOptions {
            redundancy,
            member_pages: 0,
            members: 0,
            hidden_pages: 0,
            memory_pages: 0,
            superblock_pages: 0,
            superblocks: 0,
            clean_below: 0,
            soft_below: 0,
            streams: 1,
            separate: false,
            policies: Default::default(),
            seed: 1,
            page_bytes: 4096,
            array: &[],
            unit_pages: 1,
            errors: None,
        }
    }
}

impl Setup {
    fn facts(&self) -> Vec<MemberFacts> {
        let member = |n| MemberFacts {
            page_bytes: 4096,
            pages: u64::from(self.node_pages(u16::from(n) + 1)),
            disk: n >= self.members - self.disks,
        };
        (0..self.members).map(member).collect()
    }

    /// Pages of the backend at a node.
    fn node_pages(&self, node: u16) -> u32 {
        match u16::from(self.members) {
            members if node > members => self.memory,
            members if node > members - u16::from(self.disks) => self.stripes.saturating_add_signed(self.log),
            _ => self.stripes + self.hidden,
        }
    }

    /// The histories to try, if `of_four` are tried with four members: the time of one grows with the square of the
    /// members.
    fn seeds(&self, of_four: u64) -> u64 {
        (16 * sampled(of_four) / u64::from(self.members).pow(2)).max(1)
    }

    fn build(&self) -> Any {
        self.build_with(|_| {})
    }

    fn redundancy(&self) -> RedundancySpec {
        let mut redundancy = RedundancySpec::of(self.scheme)
            .with("incomplete", if self.waits { "wait" } else { "zeros" })
            .with("idle_ms", self.idle as f64 / 1e6)
            .with("commit_on_collection", true);
        for pair in self.set {
            let Some((key, value)) = pair.strip_prefix("redundancy.").and_then(|pair| pair.split_once('='))
            else {
                continue;
            };
            redundancy.set(key, serde_json::from_str::<serde_json::Value>(value).expect("a value"));
        }
        redundancy
    }

    fn build_with(&self, change: impl FnOnce(&mut RedundancySpec)) -> Any {
        let mut redundancy = self.redundancy();
        change(&mut redundancy);
        let options = SchemeOptions {
            member_pages: u64::from(self.stripes),
            members: self.members,
            hidden_pages: self.hidden,
            memory_pages: self.memory,
            array: &self.facts(),
            ..SchemeOptions::of(&redundancy)
        };
        build(&options).expect("a scheme of the table")
    }

    fn rig<C: Contents>(&self, report: Report, seed: u64) -> Rig<C> {
        let mut store = Store::new(seed);
        let backend = |node| Tree::Backend(store.add(self.node_pages(node), 0, report));
        let backends = self.nodes().map(backend).collect();
        Rig::new(Tree::Node(self.build(), backends), store)
    }

    fn pages(&self) -> u32 {
        self.build().capacity() as u32
    }

    /// Data units of a stripe.
    fn data(&self) -> u32 {
        self.pages() / self.stripes
    }

    /// The nodes that are members.
    fn nodes(&self) -> std::ops::RangeInclusive<u16> {
        1..=u16::from(self.members) + u16::from(self.memory > 0)
    }

    fn survives(&self) -> u32 {
        named(self.scheme).expect("in the table").survivable(u32::from(self.members), &self.redundancy())
    }
}

fn scheme<C: Contents>(rig: &Rig<C>) -> &Any {
    rig.engine.tree().scheme(NodeId::ROOT).expect("a scheme at the root")
}

/// Pages that may be lost to the next failure.
fn declared(rig: &Rig, setup: &Setup) -> Vec<u32> {
    (0..setup.pages())
        .filter(|&page| rig.engine.tree().is_exposed(NodeId::ROOT, Page::of(page), Hazard::Unit))
        .collect()
}

/// Reads, writes, trims and merges at random, several at a time.
fn shake<C: Contents>(rig: &mut Rig<C>, setup: &Setup, random: &mut Random, commands: u32) {
    for _ in 0..commands {
        let start = random.below(u64::from(setup.pages())) as u32;
        let count =
            (1 + random.below(u64::from(setup.data()) + 3)).min(u64::from(setup.pages() - start)) as u16;
        match random.below(12) {
            0..3 => rig.write(start, 1),
            3..6 => rig.write(start, count),
            6..9 => rig.read(start, count),
            9 => rig.trim(start, count),
            _ if setup.merges => rig.merge(start),
            _ => rig.write(start, 1),
        };
        while random.below(3) == 0 && rig.step() {}
    }
}

/// Checks what the scheme says protects what against what the members hold; the units it named.
fn check_covers(rig: &Rig) -> Vec<StripeUnit> {
    let mut all = Vec::new();
    rig.engine.covers(NodeId::ROOT, &mut |code, units| {
        let contents = |unit: &StripeUnit| rig.store.page(u16::from(unit.member.0), unit.page.low());
        let sum = |parity: u8| {
            units.iter().fold(Token(0), |sum, unit| match unit.role {
                Role::Data(index) => sum.plus(code.coefficient(parity, index), contents(unit)),
                _ => sum,
            })
        };
        for unit in units {
            let expected = match unit.role {
                Role::Parity(number) => sum(number),
                Role::Plain => contents(&units[0]),
                _ => contents(unit),
            };
            assert_eq!(contents(unit), expected, "{unit:?} of {units:?}");
        }
        all.extend_from_slice(units);
    });
    all
}

/// Reads every page, one after the other, without waiting for idle time; those that were lost. (A mirror does not know
/// which pages are known zeros.)
fn read_all(rig: &mut Rig, setup: &Setup) -> Vec<u32> {
    rig.lost.clear();
    for page in 0..setup.pages() {
        let read = rig.read(page, 1);
        while rig.told[read].is_none() {
            rig.step();
        }
    }
    let lost = std::mem::take(&mut rig.lost);
    lost.into_iter().filter(|&page| rig.latest(page) != 0).collect()
}
