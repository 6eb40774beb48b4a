//! Address maps of members: one file per map, one line in the table.
//!
//! A page map is part of the backend and needs no node. Every other map is a node between a scheme and one backend: it
//! plans the additional operations of a host page (reads and writes of translation pages, copies and erases of blocks),
//! and the executor carries them out like every plan.
//!
//! | file | part |
//! |---|---|
//! | `cache` | entries of a map that are in memory: segmented LRU, dirty ones by translation page |
//! | `base` | what maps of blocks share: which pages hold data, free blocks plane by plane |
//! | `damage` | how these continue when blocks fail |
//! | `wear` | their erase counts, wear leveling and erase budgets |
//! | `refresh` | moving data that are old or were read often (`errors.maintenance`) |
//! | `remains` | what a power cut has left of a map of blocks |
//! | `work` | a plan over blocks in the making: copies, erases, the host's own pages |

use crate::blocks::Policies;
use crate::engine::{
    BackgroundWork, Capabilities, Change, Command, Hazard, Lock, Member, OwnHealth, Page, Plan, PlanVerdict,
    Protection, Recoverable, RepairOutcome, Scheme, Step, Verb, View, Why,
};
use crate::options::{OptionsPart, Selector, SelectorValue};

mod base;
mod block;
mod cache;
mod damage;
mod dftl;
mod hybrid;
mod page;
mod refresh;
mod remains;
mod wear;
mod work;

pub use block::BlockMap;
pub use dftl::{CacheStart, Dftl, DftlOptions, translation_pages};
pub use hybrid::Hybrid;
use refresh::RefreshesBlocks;

/// The parameters from which a map is built.
#[derive(Clone, Debug)]
pub struct MappingOptions {
    /// Pages that the member offers, hidden ones included.
    pub pages: u32,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// The number of entries in the cache (`dftl`).
    pub cache_entries: u32,
    /// Whether it has entries at time 0.
    pub warm: bool,
    /// Whether that memory keeps what it has without power.
    pub survives: bool,
    /// Planes of the member.
    pub planes: u32,
    /// Blocks of each plane.
    pub blocks: u32,
    /// Pages of each block.
    pub block_pages: u32,
    /// The largest number of log or replacement blocks of each plane; none for all spare blocks.
    pub log_blocks: Option<u32>,
    /// The policies for log blocks to empty and for wear.
    pub policies: Policies,
    /// The run's seed.
    pub seed: u64,
}

/// The kind of backend that a map needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendKind {
    /// The backend's own page map; there is no node.
    Itself,
    /// A backend with a page map, which reports pages that GC has moved.
    Mapped,
    /// Physical pages, erased block by block.
    Blocks,
}

/// A map's line in the table.
#[derive(Clone, Copy, Debug)]
pub struct MappingEntry {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Its file, whose doc comment is its manual page.
    pub source: &'static str,
    /// The kind of backend that it needs.
    pub below: BackendKind,
    /// The number of blocks of each plane that it needs in addition to those for its pages, and their use.
    pub least_spare: (u32, &'static str),
    /// The default victim policy, if the map lets policies choose log blocks.
    pub own_victim: Option<&'static str>,
    /// Its options in `[ftl]`.
    pub options: &'static [OptionsPart],
    /// Builds it; none if it needs no node.
    pub build: fn(&MappingOptions) -> Option<Mapping>,
}

/// The log blocks of a map of blocks.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct LogBlocks {
    /// The number of blocks of each plane that `hybrid` uses as log blocks, or `block` as replacement blocks. Default:
    /// all that are not needed otherwise.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub log_blocks: Option<u32>,
}

/// `ftl.map` and the options of the maps.
pub const SELECTOR: Selector = Selector {
    key: "map",
    values: || MAPS.iter().map(|map| SelectorValue { name: map.name, options: map.options }).collect(),
    shapes_state: true,
};

/// The table of mappings.
pub const MAPS: &[MappingEntry] = &[page::ENTRY, dftl::ENTRY, block::ENTRY, hybrid::ENTRY];

/// The values of `ftl.map`.
#[must_use]
pub fn names() -> Vec<&'static str> {
    MAPS.iter().map(|map| map.name).collect()
}

/// The mapping of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static MappingEntry> {
    MAPS.iter().find(|entry| entry.name == name)
}

/// Counts of a map, in addition to its operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Lookups whose entry was in memory.
    pub hits: u64,
    /// Lookups whose entry was not in memory.
    pub misses: u64,
    /// Entries evicted.
    pub evictions: u64,
    /// Translation pages written because an evicted entry had changed.
    pub write_backs: u64,
    /// Translation pages written because GC had moved pages whose entries were not in memory.
    pub moved_updates: u64,
    /// Switch merges: the host had written the block in order, so nothing was copied.
    pub switch_merges: u64,
    /// Partial merges: the rest of the block was copied.
    pub partial_merges: u64,
    /// Full merges: the block was merged from several blocks.
    pub full_merges: u64,
}

impl Counts {
    /// Each count of this one and that one, joined by `join_work`.
    #[must_use]
    pub fn with(self, other: Counts, join_work: fn(u64, u64) -> u64) -> Counts {
        Counts {
            hits: join_work(self.hits, other.hits),
            misses: join_work(self.misses, other.misses),
            evictions: join_work(self.evictions, other.evictions),
            write_backs: join_work(self.write_backs, other.write_backs),
            moved_updates: join_work(self.moved_updates, other.moved_updates),
            switch_merges: join_work(self.switch_merges, other.switch_merges),
            partial_merges: join_work(self.partial_merges, other.partial_merges),
            full_merges: join_work(self.full_merges, other.full_merges),
        }
    }
}

/// Any mapping that is a node. It has one member, the backend.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub enum Mapping {
    /// See the file `dftl.rs`.
    Dftl(Box<Dftl>),
    /// See the file `block.rs`.
    Block(Box<BlockMap>),
    /// See the file `hybrid.rs`.
    Hybrid(Box<Hybrid>),
}

impl Mapping {
    /// A loaded state takes over the policies of the drive that loads it.
    pub fn adopt_policies(&mut self, built: &Mapping) {
        match (self, built) {
            (Mapping::Hybrid(map), Mapping::Hybrid(built)) => map.adopt_policies(built),
            (Mapping::Block(map), Mapping::Block(built)) => map.base.wear.adopt_policies(&built.base.wear),
            (Mapping::Dftl(map), Mapping::Dftl(built)) => map.adopt_policies(built),
            _ => {}
        }
    }

    /// It takes the place of a map whose flash was replaced: what that has counted is part of the run.
    pub fn inherit_counts(&mut self, replaced: &Mapping) {
        let counts = match self {
            Mapping::Dftl(map) => &mut map.counts,
            Mapping::Block(map) => &mut map.base.counts,
            Mapping::Hybrid(map) => &mut map.base.counts,
        };
        *counts = replaced.counts();
    }

    /// A cache of the map that has nothing gets entries of random pages. `part` says which share of the drive the
    /// workload uses: where that begins, where it ends, and the whole, in any unit.
    pub fn warm_cache(&mut self, part: [u64; 3], seed: u64) {
        let Mapping::Dftl(map) = self else { return };
        let [begin, end, whole] = part.map(u128::from);
        let pages = u128::from(map.capacity());
        let first = (pages * begin / whole.max(1)).min(pages);
        let last = (pages * end).div_ceil(whole.max(1)).min(pages);
        map.warm(first as u32..last as u32, seed);
    }

    /// Its counts so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        match self {
            Mapping::Dftl(map) => map.counts,
            Mapping::Block(map) => map.base.counts,
            Mapping::Hybrid(map) => map.base.counts,
        }
    }
}

/// The backend.
const BACKEND: Member = Member(0);

impl Scheme for Mapping {
    fn capacity(&self) -> u64 {
        match self {
            Mapping::Dftl(map) => map.capacity(),
            Mapping::Block(map) => map.base.capacity(),
            Mapping::Hybrid(map) => map.base.capacity(),
        }
    }

    fn grain(&self, _: Verb) -> u32 {
        match self {
            Mapping::Dftl(map) => map.grain,
            Mapping::Block(map) => map.base.block_pages,
            Mapping::Hybrid(map) => map.grain,
        }
    }

    fn capabilities(&self) -> Capabilities {
        let cached = matches!(self, Mapping::Dftl(_));
        Capabilities {
            transparent: cached,
            map: true,
            remaps: cached,
            waits_for_gc: true,
            ..Capabilities::default()
        }
    }

    fn protection(&self) -> Protection<'_> {
        Protection::Own(self)
    }

    fn places(&self, page: Page, mut tell: impl FnMut(Member, Page)) {
        let place = match self {
            Mapping::Dftl(_) => Some(page.low()),
            Mapping::Block(map) => map.find(page.low()),
            Mapping::Hybrid(map) => map.find(page.low()),
        };
        if let Some(place) = place {
            tell(BACKEND, Page::of(place));
        }
    }

    #[inline(never)]
    fn lock(&self, command: &Command) -> Lock {
        match self {
            Mapping::Dftl(map) => map.lock(command),
            Mapping::Block(map) => map.base.lock(command),
            Mapping::Hybrid(map) => map.base.lock(command),
        }
    }

    #[inline(never)]
    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        match self {
            Mapping::Dftl(map) => {
                if map.waits(command, view) {
                    return PlanVerdict::Wait;
                }
                map.plan(command, view, plan);
                PlanVerdict::Go
            }
            Mapping::Block(map) => map.plan(command, view, plan),
            Mapping::Hybrid(map) => map.plan(command, view, plan),
        }
    }

    /// Other maps' reads keep their running plans.
    fn owner(&self, _: Member, page: Page) -> Option<Page> {
        match self {
            Mapping::Dftl(map) => Some(page).filter(|page| u64::from(page.low()) < map.capacity()),
            Mapping::Block(_) | Mapping::Hybrid(_) => None,
        }
    }

    fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
        match self {
            Mapping::Dftl(map) => map.repair(failed, view, plan),
            Mapping::Block(_) | Mapping::Hybrid(_) => RepairOutcome::Lost,
        }
    }

    fn member(&mut self, _: Member, change: Change, view: &View<'_>) {
        match self {
            Mapping::Dftl(map) => map.member(change),
            Mapping::Block(map) => map.member(change, view),
            Mapping::Hybrid(map) => map.member(change, view),
        }
    }
}

impl BackgroundWork for Mapping {
    #[inline(never)]
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        match self {
            Mapping::Dftl(map) => map.hear(why, view, plan),
            Mapping::Block(map) => change_blocks(map.as_mut(), why, view, plan),
            Mapping::Hybrid(map) => change_blocks(map.as_mut(), why, view, plan),
        }
    }

    fn urgent(&self) -> bool {
        match self {
            Mapping::Dftl(map) => map.urgent(),
            Mapping::Block(map) => map.base.is_urgent(),
            Mapping::Hybrid(map) => map.base.is_urgent(),
        }
    }
}

/// The background work of a map of blocks.
fn change_blocks(map: &mut impl RefreshesBlocks, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
    match why {
        Why::Urgent => map.background(view, plan) || map.refresh(view, plan),
        Why::Due(_, page) => map.note_due(page) && map.refresh(view, plan),
        _ => false,
    }
}

impl Recoverable for Mapping {
    fn recover(&mut self, view: &View<'_>, _: &mut dyn FnMut(Member, Page)) {
        match self {
            Mapping::Dftl(map) => map.recover(view),
            Mapping::Block(map) => map.recover(view),
            Mapping::Hybrid(map) => map.recover(view),
        }
    }

    fn losses(&mut self) -> Vec<Change> {
        match self {
            Mapping::Dftl(map) => map.losses(),
            Mapping::Block(map) => map.base.damage.losses(),
            Mapping::Hybrid(map) => map.base.damage.losses(),
        }
    }
}

impl OwnHealth for Mapping {
    fn is_exposed(&self, _: Page, _: Hazard) -> bool {
        true
    }

    fn takes_all(&self) -> bool {
        match self {
            Mapping::Dftl(_) => true,
            Mapping::Block(map) => !map.base.is_scarce(),
            Mapping::Hybrid(map) => !map.base.is_scarce(),
        }
    }
}
