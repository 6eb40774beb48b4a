//! The backends of a drive: which pages they hold, and where. They enqueue reads and erases at the controller, and place
//! a page when the controller has a die and a channel for its program.

mod addresses;
mod age;
mod audit;
mod backend;
mod batches;
mod build;
mod by_address;
mod choose;
mod collect;
mod collection;
mod copyback;
mod created;
mod faults;
mod gc;
mod limit;
mod look;
mod maintenance;
mod multiplane;
mod nvram;
mod older;
mod overflow;
mod owner;
mod packing;
mod parts;
mod physical;
mod power;
mod precondition;
mod read;
mod recovery;
mod renew;
mod retire;
mod slc;
mod snapshot;
mod soft;
mod spread;
mod streams;
mod submit;
mod untimed;
mod versions;
mod write;

pub use backend::FlashBackendKind;
pub(super) use maintenance::Maintenance;
pub use nvram::Nvram;
pub(super) use parts::Parts;

use crate::blocks::{Chooser, GcThresholds, GcTurns};
use crate::drive::controller::{Controller, Flight};
use crate::drive::{BlockErases, DriveLife};
use crate::engine::FixedMap;
use crate::flash::{FlashArray, Ppn};
use crate::ftl::allocation::PagePlacement;
use crate::ftl::{Blocks, Copyback, GcRun, Maps, TurnCursor};
use crate::kernel::{SimTime, Span, Sparse};
use age::PlaneSlots;
use backend::MapStorage;
use backend::{DieQueue, Ftl};
use by_address::WordLines;
use collection::PlaneCollection;
use created::Created;
use gc::Notices;
use nvram::Nvrams;
use streams::PageStreams;

/// FTLs or backends of physical pages, and NVRAMs.
#[derive(Clone)]
pub(super) struct DriveBackends<C> {
    /// The fixed properties of the flash array.
    pub(super) flash: FlashArray,
    /// Address mapping and blocks.
    pub(super) ftl: Translation<C>,
    /// Logical pages that share pages of the flash.
    pub(super) packing: Packing,
    /// What has come of a request whose parts come now.
    pub(super) parts: Parts,
    pub(super) gc: Gc,
    /// The SLC cache.
    pub(super) slc: SlcPolicy,
    /// The immediate driver: pages that are placed without time.
    pub(super) immediate: Immediate,
    pub(super) health: DriveHealth,
    /// Recovery data, kept in a drive that will lose its power.
    pub(super) power: Power,
    /// Non-volatile memories beside the flash.
    pub(super) nvrams: Nvrams<C>,
    /// What keeps data readable.
    pub(super) maintenance: Maintenance,
}

/// A controller and its backends, for what happens to a drive as a whole: failures, power losses, ageing, snapshots.
pub(super) struct Halves<'a, C> {
    pub(super) controller: &'a mut Controller<C>,
    pub(super) backends: &'a mut DriveBackends<C>,
}

/// The FTLs of a drive, or its backends of physical pages: maps and blocks.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Translation<C> {
    /// The flash backends.
    backends: Vec<Ftl>,
    /// The die queues of all backends.
    die_queues: Vec<DieQueue>,
    /// The die queue of each plane.
    die_queue_of: Vec<u32>,
    /// Whether they are of physical pages: nothing is mapped in them.
    physical: bool,
    /// Whether they have hidden addresses, to which pages are renamed.
    remaps: bool,
    maps: Maps,
    memory: MapStorage,
    /// Which plane a page may go to.
    placement: PagePlacement,
    blocks: Blocks<C>,
    /// The streams: which open block a page goes to.
    streams: PageStreams,
    /// Whether each block has a summary page after its data.
    summaries: bool,
    /// Pages of each plane that cannot be mapped, so that it can always continue.
    spare_pages: u32,
    /// In backends of physical pages: the first page of each block that may be written next.
    next_pages: Vec<u32>,
}

/// Garbage collection: its options, and the state of each plane's collection.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Gc {
    /// The victim and wear-leveling policies.
    chooser: Chooser,
    /// How GC uses the channel.
    run: GcRun,
    copyback: Copyback,
    /// Whether planes are collected also while nothing waits for them.
    background: bool,
    /// How few free pages of a plane make it collect.
    thresholds: GcThresholds,
    /// Of a pool of several planes: the erased pages that end its collection; 0 without pools.
    enough: u32,
    /// The turns in which the members collect, if they take turns.
    turns: Option<GcTurns>,
    notices: Notices,
    collections: Vec<PlaneCollection>,
    /// Pages of each plane's victim that have been read and not yet programmed; may have entries that are obsolete.
    hands: Vec<Vec<Ppn>>,
}

/// The data that a drive keeps for recovery, if it will lose its power.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct Power {
    data: Option<Box<RecoveryData>>,
}

/// What OOB areas, logs and a non-volatile memory hold, and what a power loss would interrupt.
#[derive(Clone, Debug, Default)]
struct RecoveryData {
    /// The OOB metadata of every page: logical page and sequence number of the write; 0 for erased pages.
    reverse_map: Sparse<u32>,
    sequences: Sparse<u64>,
    /// The OOB metadata that the scheme gave for each physical page; empty for FTLs.
    marks: Sparse<u32>,
    /// For each backend's pages, the number of the last write before the last trim; this is logged.
    trims: FixedMap<(u16, u32), u64>,
    /// What a non-volatile memory says of old versions that got another address: by backend and that address, the
    /// logical page of each and the number of its write.
    hidden_pages: FixedMap<(u16, u32), (u32, u64)>,
    /// Programs and erases that may be under way, and how many there may be before those that have ended are taken out.
    flights: Vec<Flight>,
    prune_at: usize,
    /// Programs of physical-page backends that may be under way: the numbers of their writes, and when they end.
    numbered: Vec<(u64, SimTime)>,
    /// For each block, when the last successor of one of its pages is programmed.
    guard: Vec<SimTime>,
    /// When the last recovery is over.
    ready: SimTime,
}

/// What a drive whose programs take several pages knows besides.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct Packing {
    /// Whether a program may take several pages of a plane.
    active: bool,
    /// Whether pages of the flash have several places each.
    shares: bool,
    /// Sectors of a page of the flash, and of one of the map.
    flash_page: u16,
    page: u16,
    /// Word lines that have been set aside for pages from before time 0.
    word_lines: WordLines,
    /// Pages that each backend has placed without time in the word line that it is filling.
    placed: Vec<u32>,
    /// How long a write waits for others, and until when each one does.
    gather: Span,
    until: Vec<SimTime>,
}

/// The immediate driver: pages are placed, read and collected without time.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct Immediate {
    /// Whether it does all commands, as in an untimed run; otherwise only those of before time 0.
    active: bool,
    /// Whether what it does is counted.
    counting: bool,
    /// The owners of a victim's pages, kept for their memory.
    reverse_map: Vec<u32>,
    /// Pages that ageing left valid and that belong to no host page yet.
    slots: Slots,
    /// Whether pages that are written before time 0 have their places, and only take contents.
    fills: bool,
    /// Follows pages that are created in order, if there is a rule for their places.
    cursor: Option<TurnCursor>,
}

/// Slots that are still empty.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct Slots {
    of_plane: Vec<PlaneSlots>,
    left: u64,
    /// Of a drive in steady state: page numbers of a block in random order, twice.
    shuffled: Vec<u32>,
    /// The pages created of each backend all of whose pages have places; none of another one.
    created: Vec<Option<Created>>,
}

/// The SLC cache of a drive: its policy.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct SlcPolicy {
    /// Whether there is a cache.
    active: bool,
    /// Whether it is folded under load as soon as it is full.
    when_full: bool,
    /// Whether it is folded in idle time.
    in_idle_time: bool,
    /// How long a unit must have been idle.
    idle: Span,
    /// Closed blocks of each plane's cache that are kept in idle time.
    kept: u32,
    /// Erases after which a block is retired.
    budget: u32,
    /// Whether pages that are written without time use it: from time 0 on.
    begun: bool,
}

/// Failed and worn-out parts.
#[derive(Clone, Debug)]
pub(in crate::drive) struct DriveHealth {
    /// Whether any part has failed.
    damaged: bool,
    /// Whether error correction has given up a page.
    unreadable: bool,
    life: DriveLife,
    /// Erases of each block that are not the run's: those before time 0, and those that have made room for pages that
    /// existed then. By plane and block, and only up to the last block that has one.
    erases_before: BlockErases,
}

/// The degraded capacity of an FTL: how many pages it can map, and how many it maps.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct DegradedCapacity {
    most: u32,
    mapped: u32,
}
