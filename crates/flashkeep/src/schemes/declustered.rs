//! # What it does
//! Stripes of k data units and m parities (`redundancy.stripe_data`, `redundancy.stripe_parities`) over more members than
//! a stripe has units, as in ZFS's dRAID. A permutation that changes from slice to slice of rows deals the units and the
//! spare places (`redundancy.distributed_spares` in each row) to the members, so that each has equally many of both, and
//! what survives a failure is read evenly. Stripes continue from row to row, so that any number of members is used in full.
//! Parities and updates are those of RAID-5, RAID-6 and triple parity.
//!
//! When a member fails, it is assigned a spare column: its units are reconstructed, each at the spare place of its row, so
//! that all survivors read and write together. Reads and writes go to the new places, stripe by stripe. When the
//! member is replaced, or responds again, its units are copied back in the background, and the column is free again.
//! Without a free column a failed member is rebuilt when it is replaced, as with RAID-5. The layout is in memory that
//! survives a power loss.
//!
//! # What it costs
//! With n members and s spare columns, the data have (n − s)·k/(k + m) members. Small updates cost as much as with
//! RAID with the same number of parities. The rebuild of a member's units reads k units and writes one, over
//! n − 1 members: where these are the limit it is (n − 1)/(k + 1) times as fast as one onto a hot spare, which writes
//! all units.
//!
//! # What it survives
//! Any m of its members at any time; after each rebuild into a spare column m others.
//!
//! # Example
//! Members of an array file: 24 disks; `redundancy.scheme = "declustered"`, `redundancy.stripe_data = 6`,
//! `redundancy.stripe_parities = 2`, `redundancy.stripe_kib = 1024`.
//!
//! # Source
//! Holland and Gibson, "Parity declustering for continuous operation in redundant disk arrays", ASPLOS 1992; slices,
//! rows and distributed spares as OpenZFS's dRAID has them. Ours: the choice of the permutations, and the order of moves.

use super::PageNumbers;
use super::parity::{Moves, Parity, Permuted, Shape};
use super::{
    DeclusteredLayout, Inside, MemberFacts, OptionsPart, Reads, Rebuilds, RedundancySpec, SchemeEntry,
    SchemeOptions, Striping, Sums, TriedWith, WrongOption, members, members::MemberNeeds,
};
use crate::engine::{
    BackgroundWork, Capabilities, Change, Command, Key, Lock, Member, Page, Plan, PlanVerdict, Protection,
    Recoverable, RepairOutcome, Scheme, Step, Verb, View, Why,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const ENTRY: SchemeEntry = SchemeEntry {
    name: "declustered",
    summary: "Declustered RAID (dRAID): stripes of k+m over all members, with distributed spares",
    source: include_str!("declustered.rs"),
    options: &[
        OptionsPart::of::<Inside>(),
        OptionsPart::of::<Striping>(),
        OptionsPart::of::<DeclusteredOptions>(),
        OptionsPart::of::<Sums>(),
        OptionsPart::of::<Rebuilds>(),
        OptionsPart::of::<Reads>(),
    ],
    members: |parts, width, level| {
        let why = "for a data unit, its parity and a spare place";
        members::row(parts, width, level, MemberNeeds { name: "declustered array", least: 3, why })
    },
    data_members: Some(|members, redundancy| {
        shape_of(members, redundancy).map_or(1, |shape| u32::from(shape.data))
    }),
    capacity: Some(|each, members, redundancy| {
        shape_of(members, redundancy).map_or(0, |shape| shape.stripes(each) * u64::from(shape.data))
    }),
    occupied: |members, redundancy| shape_of(members, redundancy).map_or(1.0, |shape| shape.occupied()),
    declustered: |members, redundancy| {
        shape_of(members, redundancy).ok().map(|shape| DeclusteredLayout {
            units: u32::from(shape.data + shape.parities),
            spares: u32::from(shape.spares),
        })
    },
    rebuild_targets: |members, redundancy| {
        if redundancy.read::<DeclusteredOptions>().distributed_spares > 0 { members - 1 } else { 1 }
    },
    check: |members, redundancy| shape_of(members, redundancy).map(|_| ()),
    survives: |_| 1,
    survives_with: Some(|_, redundancy| redundancy.read::<DeclusteredOptions>().stripe_parities),
    over_drives: offered,
    numbers: PageNumbers::Stripes,
    tried_with: &[
        TriedWith { set: &["redundancy.stripe_data=2"], ..TriedWith::BASE },
        TriedWith {
            parts: 7,
            drives: 7,
            set: &[
                "redundancy.stripe_data=2",
                "redundancy.stripe_parities=2",
                "redundancy.distributed_spares=2",
            ],
            ..TriedWith::BASE
        },
        TriedWith {
            parts: 6,
            drives: 6,
            set: &["redundancy.stripe_data=2", "redundancy.stripe_parities=3"],
            ..TriedWith::BASE
        },
    ],
    ..SchemeEntry::BASE
};

/// Options of `declustered`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct DeclusteredOptions {
    /// Data units of a stripe of `declustered`. Default: 8, or as many as the members have room for.
    #[schemars(range(min = 1, max = 252))]
    pub(super) stripe_data: Option<u32>,
    /// Parities of a stripe of `declustered`.
    #[schemars(range(min = 1, max = 3))]
    pub(super) stripe_parities: u32,
    /// Spare places in each row of `declustered`: the number of members that can be rebuilt before one is replaced.
    #[schemars(range(max = 252))]
    pub(super) distributed_spares: u32,
}

impl Default for DeclusteredOptions {
    fn default() -> Self {
        DeclusteredOptions { stripe_data: None, stripe_parities: 1, distributed_spares: 1 }
    }
}

/// Data units of a stripe where the drive file does not say.
const DATA_UNITS: u32 = 8;

/// The stripes over this many members, or which option leaves too few members.
pub(super) fn shape_of(members: u32, redundancy: &RedundancySpec) -> Result<Shape, WrongOption> {
    let DeclusteredOptions { stripe_data, stripe_parities: parities, distributed_spares: spares } =
        redundancy.read();
    let room = members.saturating_sub(parities + spares);
    let data = stripe_data.unwrap_or(DATA_UNITS.min(room.max(1)));
    if data > room {
        let message = format!(
            "stripes of {data} data units and {parities} parities, and {spares} spare places in each row, over \
             {members} members: at least {} members are needed",
            data + parities + spares
        );
        return Err(WrongOption { key: "redundancy.stripe_data", message });
    }
    let narrow = |number: u32| number as u8;
    Ok(Shape {
        members: narrow(members),
        data: narrow(data),
        parities: narrow(parities),
        spares: narrow(spares),
    })
}

/// Pages over these members, or the error.
fn offered(members: &[MemberFacts], redundancy: &RedundancySpec) -> Result<u64, String> {
    let shape = shape_of(members.len() as u32, redundancy).map_err(|wrong| wrong.message)?;
    let page_bytes = members.first().map_or(1, |member| member.page_bytes) as f64;
    let unit = ((redundancy.read::<Striping>().stripe_kib * 1024.0 / page_bytes) as u64).max(1);
    Ok(shape.stripes(members::common_pages(members) / unit) * unit * u64::from(shape.data))
}

/// Declustered stripes with distributed spares.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Declustered {
    parity: Parity<Permuted>,
    moves: Moves,
}

pub(super) fn build(options: &SchemeOptions<'_>) -> Declustered {
    // Every stripe has its parity, so that units can be moved: stripes that wait for theirs are no option of this scheme.
    Declustered { parity: Parity::new(options), moves: Moves::default() }
}

#[cfg(test)]
impl Declustered {
    /// Whether a member has a spare column.
    pub(super) fn is_diverted(&self) -> bool {
        self.parity.layout().is_diverted()
    }
}

impl Scheme for Declustered {
    fn capacity(&self) -> u64 {
        self.parity.capacity()
    }

    fn places(&self, page: Page, tell: impl FnMut(Member, Page)) {
        self.parity.places(page, tell);
    }

    #[inline]
    fn prefetch(&self, page: Page, ask: impl FnMut(Member, Page)) {
        self.parity.prefetch(page, ask);
    }

    fn grain(&self, verb: Verb) -> u32 {
        self.parity.grain(verb)
    }

    fn capabilities(&self) -> Capabilities {
        self.parity.capabilities()
    }

    fn protection(&self) -> Protection<'_> {
        self.parity.protection()
    }

    /// While units may move, reads keep their stripe as it is.
    fn lock(&self, command: &Command) -> Lock {
        match self.parity.lock(command) {
            Lock::Pass(key) if self.parity.layout().is_diverted() => Lock::Share(key),
            lock => lock,
        }
    }

    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        self.parity.plan(command, view, plan)
    }

    fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
        let moved = self.parity.repair_moved(&failed[failed.len() - 1], view, plan);
        moved.unwrap_or_else(|| self.parity.repair(failed, view, plan))
    }

    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        self.parity.owner(member, page)
    }

    fn settled(&mut self, key: Key, view: &View<'_>) {
        self.parity.note_moved(key.0 as u32, &mut self.moves, view);
        self.parity.settled(key, view);
    }

    fn member(&mut self, _: Member, change: Change, view: &View<'_>) {
        if change.page().is_none() {
            self.parity.reconsider_moves(&mut self.moves, view);
        }
    }
}

impl BackgroundWork for Declustered {
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        why == Why::Rebuild && self.parity.move_units(&mut self.moves, view, plan)
    }

    fn examined(&mut self, stripe: u32, view: &View<'_>) {
        self.parity.reconsider_move(stripe, &mut self.moves, view);
    }

    fn rebuilding(&self, _: bool) -> bool {
        !self.moves.is_empty()
    }

    fn moves_back(&self) -> bool {
        self.moves.go_back()
    }
}

impl Recoverable for Declustered {
    fn recover(&mut self, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
        self.parity.recover(view, lacks);
        self.parity.recover_moves(&mut self.moves, view);
    }
}
