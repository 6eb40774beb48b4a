//! A leaf of flash: its die queues, its map, and the placement of its pages.

use super::Parameters;
use super::limit::Limit;
use super::streams::Streams;
use crate::engine::Contents;
use crate::flash::{Domain, Geometry, PlaneId, Rows, UnitId};
use crate::ftl::{Allocation, Blocks, Maps};
use crate::kernel::{Bits, Span};

/// What the flash leaves of a drive are: all of them the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafKind {
    /// An FTL. Both kinds of pages together must leave two blocks of every plane unused.
    Mapped {
        /// Pages that it exports.
        pages: u32,
        /// Pages beyond those, to which a scheme renames what it still needs ([`Verb::Rename`](crate::engine::Verb::Rename)).
        shadow: u32,
        /// Whether it says of each page of the shadow that its block is about to be collected
        /// ([`Part::Leaving`](crate::engine::Part::Leaving)).
        notify_leaving: bool,
        /// Whether it says of each page that collection has moved it ([`Part::Moved`](crate::engine::Part::Moved)).
        notify_moves: bool,
    },
    /// Pages by their physical numbers ([`Rows`]): a group after the other, a group being the same block of every
    /// plane. A group's pages are written in ascending order (which may leave some out) and are erased together, by
    /// trimming whole groups.
    Raw,
    /// The same, but a group is a single block; they go over the planes in turn.
    Blocks,
}

/// The planes of one unit that one FTL rules over, and the pool that they take writes from.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub(super) ftl: u16,
    pub(super) unit: UnitId,
    pub(super) planes: Vec<PlaneId>,
    pub(super) turn: u32,
    pub(super) pool: u32,
}

/// One FTL, or raw leaf: a member of the tree.
#[derive(Clone, Debug)]
pub(super) struct Ftl {
    /// The pages that it exports; those beyond are its shadow.
    pub(super) pages: u32,
    /// Of a raw leaf: where its pages are.
    pub(super) rows: Option<Rows>,
    /// Pages of which nothing is left: reading one is a failure, until it is written or trimmed.
    pub(super) lost: Bits,
    /// All of its planes have failed.
    pub(super) dead: bool,
    /// How much it can map, once part of it has failed.
    pub(super) limit: Option<Limit>,
    pub(super) domain: Domain,
    pub(super) allocation: Allocation,
    /// Its pools; with one for the whole domain, `first_pool` alone.
    pub(super) first_pool: u32,
    /// Its lanes, in order of channel and unit.
    pub(super) lanes: std::ops::Range<u32>,
    /// The channel, within the domain, where the next write is offered first.
    pub(super) turn: u32,
    /// Its lanes in the order in which pages without time are put into them, channel by channel, and the next one.
    pub(super) in_turn: Vec<u32>,
    pub(super) untimed_turn: usize,
    pub(super) erases: u64,
    /// Writes in flight of which a page was renamed; nearly always empty.
    pub(super) renamed: Vec<Renamed>,
}

/// What holds the map.
#[derive(Clone, Copy, Debug)]
pub(super) struct MapMemory {
    /// What noting the place of a program takes.
    pub(super) write: Span,
    /// Whether it keeps the map without power.
    pub(super) survives: bool,
}

/// The FTLs of a drive, or its leaves of physical pages: maps and blocks.
#[derive(Clone, Debug)]
pub(super) struct Translation<C> {
    /// The flash leaves.
    pub(super) leaves: Vec<Ftl>,
    /// Whether they are of physical pages: nothing is mapped in them.
    pub(super) physical: bool,
    /// Whether they have hidden addresses, to which pages are renamed.
    pub(super) remaps: bool,
    pub(super) maps: Maps,
    pub(super) memory: MapMemory,
    pub(super) blocks: Blocks<C>,
    /// Which open block a page goes to.
    pub(super) streams: Streams,
    /// Whether each block has a summary page behind its data.
    pub(super) summaries: bool,
    /// In leaves of physical pages: the first page of each block that may be written next.
    pub(super) next_pages: Vec<u32>,
}

impl<C: Contents> Translation<C> {
    /// Without leaves: they are added one by one.
    pub(super) fn new(drive: &Parameters, geometry: &Geometry) -> Self {
        let physical = matches!(drive.kind, LeafKind::Raw | LeafKind::Blocks);
        Translation {
            leaves: Vec::new(),
            physical,
            remaps: false,
            maps: Maps::default(),
            memory: MapMemory { write: Span(drive.map_write_ns), survives: drive.map_survives },
            blocks: Blocks::new(geometry),
            streams: Streams::default(),
            summaries: drive.flash.summary_page,
            next_pages: vec![0; if physical { geometry.block_space() } else { 0 }],
        }
    }
}

/// Where the pages of a write in flight belong that are no longer all at the addresses they were written to.
#[derive(Clone, Debug)]
pub(super) struct Renamed {
    pub(super) op: u32,
    /// The address of each page; none for a page that has been written again, trimmed or renamed away.
    pub(super) owners: Vec<Option<u32>>,
}

impl Ftl {
    /// The addresses of a write's pages, where they are not what they were.
    pub(super) fn owners(&mut self, op: u32) -> Option<&mut Vec<Option<u32>>> {
        self.renamed.iter_mut().find(|renamed| renamed.op == op).map(|renamed| &mut renamed.owners)
    }

    /// A page that a write in flight carries is given up.
    pub(super) fn displace(&mut self, op: u32, lpn: u32) {
        if let Some(owners) = self.owners(op)
            && let Some(owner) = owners.iter_mut().find(|owner| **owner == Some(lpn))
        {
            *owner = None;
        }
    }

    /// The next write is offered to the next channel first.
    #[inline(always)]
    pub(super) fn next_turn(&mut self) {
        self.turn = if self.turn + 1 >= self.domain.extent[0] { 0 } else { self.turn + 1 };
    }

    pub(super) fn lanes_range(&self) -> std::ops::Range<usize> {
        self.lanes.start as usize..self.lanes.end as usize
    }
}
