//! A backend of flash: its die queues, its map, and the placement of its pages.

use super::streams::PageStreams;
use super::{DegradedCapacity, Translation};
use crate::drive::Parameters;
use crate::drive::controller::Controller;
use crate::engine::{BackendId, Contents, Page};
use crate::flash::{Domain, Geometry, MultiPlane, PlaneId, Ppn, Rows, StripingLevel, UnitId};
use crate::ftl::allocation::{Order, PagePlacement};
use crate::ftl::{Allocation, Blocks, MapEntry, Maps, SLC_STREAM, TurnCursor};
use crate::kernel::{Bits, Span};
use smallvec::SmallVec;
use std::ops::Range;

/// The kind of a drive's flash backends; all are of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashBackendKind {
    /// An FTL. Both kinds of pages together must leave two blocks of every plane unused.
    Mapped {
        /// Pages that it exports.
        pages: u32,
        /// Pages of the hidden LBA range, to which a scheme remaps pages that it still needs
        /// ([`Verb::Remap`](crate::engine::Verb::Remap)).
        hidden: u32,
        /// Whether it reports pages of the hidden range whose block is about to be collected
        /// ([`CompletionPart::Leaving`](crate::engine::CompletionPart::Leaving)).
        notify_leaving: bool,
        /// Whether it reports each page that GC has moved
        /// ([`CompletionPart::Moved`](crate::engine::CompletionPart::Moved)).
        notify_moves: bool,
    },
    /// Pages by physical number ([`Rows`]), superblock after superblock; a superblock is the same block of every plane.
    /// Its pages are written in ascending order (some may be skipped) and erased together, by a trim of the whole
    /// superblock.
    Physical,
    /// The same, but each superblock is a single block; consecutive ones are on the planes in turn.
    Blocks,
}

/// A die queue: the planes of one unit that belong to one FTL, and the write queue that they serve.
#[derive(Clone, Debug)]
pub(in crate::drive) struct DieQueue {
    pub ftl: u16,
    pub unit: UnitId,
    /// Nearly always few: they are read for each program, in the line of the processor's cache that the rest is in.
    pub planes: SmallVec<[PlaneId; 4]>,
    pub turn: u32,
    pub write_queue: u32,
}

/// One FTL, or one backend of physical pages: a backend of the tree.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Ftl {
    /// The number of pages that it exports; those beyond are its hidden range.
    pub pages: u32,
    /// Of physical pages: their places.
    pub rows: Option<Rows>,
    /// Unrecoverable pages: a read of one fails until it is written or trimmed.
    pub lost: Bits,
    /// All of its planes have failed.
    pub dead: bool,
    /// Its degraded capacity, after a part of it has failed.
    pub limit: Option<DegradedCapacity>,
    pub domain: Domain,
    pub allocation: Allocation,
    /// Its write queues; with one for the whole domain, `first_write_queue` alone.
    pub first_write_queue: u32,
    /// Its die queues, in order of channel and unit.
    pub die_queues: std::ops::Range<u32>,
    /// The channel, within the domain, where the next write is offered first.
    pub turn: u32,
    /// Its die queues in the order in which pages without time are put into them, channel by channel, and the next one.
    pub in_turn: Vec<u32>,
    pub untimed_turn: usize,
    pub erases: u64,
    /// Writes in flight of which a page was remapped; nearly always empty.
    pub remapped: Vec<Remapped>,
}

/// The memory of the map.
#[derive(Clone, Copy, Debug)]
pub(super) struct MapStorage {
    /// The time to record the place of a program.
    pub write: Span,
    /// Whether the map survives a power loss.
    pub survives: bool,
}

impl<C: Contents> Translation<C> {
    pub(in crate::drive) fn ftl_of(&self, plane: PlaneId) -> usize {
        usize::from(self.die_queues[self.die_queue_of(plane)].ftl)
    }

    /// The backends that some planes belong to.
    pub(super) fn backends_of(&self, planes: &[PlaneId]) -> Vec<usize> {
        let mut backends: Vec<usize> = planes.iter().map(|&plane| self.ftl_of(plane)).collect();
        backends.dedup();
        backends
    }

    /// Without backends, which are added one by one.
    pub(in crate::drive) fn new(drive: &Parameters, geometry: &Geometry) -> Self {
        let physical = matches!(drive.kind, FlashBackendKind::Physical | FlashBackendKind::Blocks);
        // The rows of a backend of physical pages go over its planes, each of which takes its own.
        let configured = match physical {
            true => Allocation::Static(Order::new(&StripingLevel::ALL, 1)),
            false => Allocation::new(drive.binding, drive.stride),
        };
        let others = geometry.blocks.saturating_sub(drive.spare_blocks);
        let planes = geometry.plane_count();
        let placement = PagePlacement::new(configured, drive.plane_choice, drive.stride, planes);
        Translation {
            backends: Vec::new(),
            die_queues: Vec::new(),
            die_queue_of: vec![0; planes as usize],
            physical,
            remaps: false,
            maps: Maps::default(),
            placement,
            memory: MapStorage { write: Span(drive.map_write_ns), survives: drive.map_survives },
            blocks: if physical { Blocks::programmed_anywhere(geometry) } else { Blocks::new(geometry) },
            streams: PageStreams::default(),
            summaries: drive.flash.summary_page,
            spare_pages: drive.spare_blocks * geometry.pages + others * drive.padding,
            next_pages: vec![0; if physical { geometry.block_space() } else { 0 }],
        }
    }
}

/// Where the pages of a write in flight belong that are no longer all at the addresses they were written to.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Remapped {
    pub op: u32,
    /// The address of each page; none for a page that has been written again, trimmed or renamed away.
    pub reverse_map: Vec<Option<u32>>,
}

impl<C> std::ops::Index<usize> for Translation<C> {
    type Output = Ftl;

    #[inline(always)]
    fn index(&self, backend: usize) -> &Ftl {
        &self.backends[backend]
    }
}

impl Ftl {
    /// The addresses of a write's pages, where they are not what they were.
    pub(super) fn reverse_map(&mut self, op: u32) -> Option<&mut Vec<Option<u32>>> {
        self.remapped.iter_mut().find(|remapped| remapped.op == op).map(|remapped| &mut remapped.reverse_map)
    }

    /// A page of a write in flight is dropped.
    pub(super) fn displace(&mut self, op: u32, lpn: u32) {
        if let Some(reverse_map) = self.reverse_map(op)
            && let Some(owner) = reverse_map.iter_mut().find(|owner| **owner == Some(lpn))
        {
            *owner = None;
        }
    }

    /// The next write is offered to the next channel first.
    #[inline(always)]
    pub(super) fn next_turn(&mut self) {
        self.turn = if self.turn + 1 >= self.domain.extent[0] { 0 } else { self.turn + 1 };
    }

    /// Its channels.
    pub(super) fn channels(&self) -> std::ops::Range<usize> {
        let first = self.domain.first.channel as usize;
        first..first + self.domain.extent[0] as usize
    }

    pub(in crate::drive) fn die_queues_range(&self) -> std::ops::Range<usize> {
        self.die_queues.start as usize..self.die_queues.end as usize
    }
}

impl<C: Contents> Translation<C> {
    /// Pages without contents get the next places of a plane. Where a rule says which, only the counts change.
    #[inline]
    pub(super) fn place_together(
        &mut self,
        ftl: usize,
        plane: PlaneId,
        pages: Range<u32>,
        mut cursor: Option<&mut TurnCursor>,
    ) {
        let mut next = pages.start;
        while next < pages.end {
            let (first, count) = self.blocks.program_unnamed(plane, pages.end - next);
            if !cursor.as_mut().is_some_and(|cursor| cursor.agrees(next, first, count)) {
                for (ppn, lpn) in (first.0..).map(Ppn).zip(next..next + count) {
                    self.blocks.remap(ppn, lpn);
                    self.maps.set(ftl, lpn, MapEntry::At(ppn));
                }
            }
            next += count;
        }
    }

    pub(in crate::drive) fn is_mapped(&self, ftl: usize, page: Page) -> bool {
        self.maps.get(ftl, page.low()) != MapEntry::Unmapped
    }

    /// The maps of FTLs.
    #[inline]
    pub(in crate::drive) fn maps(&self) -> &Maps {
        &self.maps
    }

    /// Whether a physical page has not been programmed since its block was erased.
    pub(in crate::drive) fn is_erased(&self, geometry: &Geometry, ppn: Ppn) -> bool {
        self.next_pages[geometry.block_index_of(ppn)] <= geometry.page_of(ppn)
    }

    /// Whether FTLs have hidden addresses, which can be remapped.
    pub(in crate::drive) fn remaps(&self) -> bool {
        self.remaps
    }

    /// The die queue of a plane.
    #[inline(always)]
    pub(in crate::drive) fn die_queue_of(&self, plane: PlaneId) -> usize {
        self.die_queue_of[plane.0 as usize] as usize
    }

    /// Whether backends hold physical pages, and not FTLs.
    #[inline(always)]
    pub(in crate::drive) fn is_physical(&self) -> bool {
        self.physical
    }

    /// Backends of flash.
    pub(in crate::drive) fn count(&self) -> usize {
        self.backends.len()
    }

    /// A backend of flash; none if it is an NVRAM.
    pub(in crate::drive) fn get(&self, backend: usize) -> Option<&Ftl> {
        self.backends.get(backend)
    }

    /// Blocks and planes.
    #[must_use]
    pub(in crate::drive) fn blocks(&self) -> &Blocks<C> {
        &self.blocks
    }

    /// The map entry of a backend's page; none if the backend is not flash.
    pub(in crate::drive) fn entry(&self, backend: usize, page: u32) -> Option<MapEntry> {
        (backend < self.backends.len()).then(|| self.maps.get(backend, page))
    }

    /// Where an FTL has a page.
    #[must_use]
    pub(in crate::drive) fn lookup(&self, backend: BackendId, page: Page) -> MapEntry {
        self.maps.get(usize::from(backend.0), page.low())
    }

    /// Prefetches the map entry of a page.
    #[inline]
    pub(in crate::drive) fn prefetch(&self, backend: BackendId, page: Page) {
        self.maps.prefetch(usize::from(backend.0), page.low());
    }

    /// Pages of a physical-page backend's groups.
    ///
    /// # Panics
    /// With a backend that has no physical pages.
    #[must_use]
    pub(in crate::drive) fn physical_superblock_pages(&self, backend: BackendId) -> u32 {
        self.rows(usize::from(backend.0)).superblock_pages()
    }

    /// Groups of a physical-page backend.
    ///
    /// # Panics
    /// With a backend that has no physical pages.
    #[must_use]
    pub(in crate::drive) fn physical_superblocks(&self, backend: BackendId) -> u32 {
        self.rows(usize::from(backend.0)).groups()
    }

    pub(super) fn rows(&self, backend: usize) -> &Rows {
        self.backends[backend].rows.as_ref().expect("a backend of physical pages")
    }

    /// Free pages of a plane that a stream may take.
    pub(super) fn free_for(&self, stream: u8, plane: PlaneId) -> u32 {
        let blocks = &self.blocks;
        match stream {
            SLC_STREAM => blocks.cache(plane).free_pages,
            _ => blocks.plane(plane).free_pages.saturating_sub(blocks.reserve()),
        }
    }

    /// The number of channels that may take a write of a backend, wherever its address leads.
    #[inline(always)]
    pub(in crate::drive) fn channels_offered(&self, ftl: usize) -> u32 {
        let this = &self.backends[ftl];
        match &this.allocation {
            Allocation::Dynamic => this.domain.extent[0],
            Allocation::Partial(order) if !order.binds(StripingLevel::Channel) => this.domain.extent[0],
            Allocation::Partial(_) | Allocation::Static(_) => 1,
        }
    }

    #[inline]
    pub(super) fn next_turn(&mut self, ftl: usize) {
        self.backends[ftl].next_turn();
    }

    pub(super) fn next_to_fill(&mut self, ftl: usize) -> PlaneId {
        let this = &mut self.backends[ftl];
        let die_queue = &mut self.die_queues[this.in_turn[this.untimed_turn] as usize];
        let plane = die_queue.planes[die_queue.turn as usize];
        let next = |at: usize, count: usize| if at + 1 == count { 0 } else { at + 1 };
        die_queue.turn = next(die_queue.turn as usize, die_queue.planes.len()) as u32;
        this.untimed_turn = next(this.untimed_turn, this.in_turn.len());
        plane
    }

    /// The plane that the pages of this number go to if planes take turns, channel by channel.
    pub(super) fn plane_of_turn(&self, ftl: usize, number: u32) -> PlaneId {
        let in_turn = &self.backends[ftl].in_turn;
        let die_queue = in_turn[number as usize % in_turn.len()];
        let planes = &self.die_queues[die_queue as usize].planes;
        planes[number as usize / in_turn.len() % planes.len()]
    }

    /// Whether a die queue takes only what the address binds to its channel, and may put that into any of its planes.
    pub(super) fn may_deal(&self, die_queue: usize) -> bool {
        let ftl = &self.backends[usize::from(self.die_queues[die_queue].ftl)];
        let Allocation::Partial(order) = &ftl.allocation else { return false };
        ftl.limit.is_none() && order.binds(StripingLevel::Channel) && !order.binds_planes()
    }

    pub(in crate::drive) fn planes_of(&self, ftl: usize) -> Vec<PlaneId> {
        self.planes_in(ftl).collect()
    }

    /// The planes of a backend. A pool is in the die queues of all of its units; it is named with its home.
    pub(in crate::drive) fn planes_in(&self, ftl: usize) -> impl Iterator<Item = PlaneId> + '_ {
        let home = move |die_queue: usize, plane: &PlaneId| {
            self.die_queue_of[plane.0 as usize] as usize == die_queue
        };
        let planes = move |die_queue: usize| {
            self.die_queues[die_queue].planes.iter().copied().filter(move |plane| home(die_queue, plane))
        };
        self.backends[ftl].die_queues_range().flat_map(planes)
    }

    /// Whether a victim cannot be collected: the plane has no pages for its valid pages, and evicted pages might never
    /// be written.
    pub(super) fn is_stuck(&self, plane: PlaneId, victim: u32) -> bool {
        let limit = self.backends[self.ftl_of(plane)].limit.filter(|_| !self.blocks.has_held(plane));
        limit.is_some_and(|limit| limit.mapped > limit.most)
            && self.blocks.valid_in(plane, victim) > self.blocks.plane(plane).free_pages
    }

    /// Many tables of other planes are used before this die queue's next turn: prefetches the entries for its next
    /// write, and for the one after that.
    #[inline]
    pub(super) fn prefetch_for(&self, die_queue: usize) {
        let DieQueue { planes, turn, .. } = &self.die_queues[die_queue];
        let next = *turn as usize;
        if let (Some(&next), Some(&later)) = (planes.get(next), planes.get(next + 1).or(planes.first())) {
            self.blocks.prefetch_next(next);
            self.blocks.prefetch_plane(later);
        }
    }

    /// Whether a plane can program the page of that number of a block together with `first`.
    pub(in crate::drive) fn can_join(
        &self,
        stream: u8,
        first: PlaneId,
        number: u32,
        other: PlaneId,
        controller: &Controller<C>,
    ) -> bool {
        let die =
            |plane| self.next_block(plane, Some(stream)).map(|block| controller.flash.die_of(plane, block));
        if other == first || die(other) != die(first) {
            return false;
        }
        let stands = self.blocks.next_number(stream, other);
        let lag = number.saturating_sub(stands);
        let reachable =
            stands == number || (controller.flash.commands.multi_plane == MultiPlane::Skip && lag > 0);
        reachable && self.free_for(stream, other) > lag
    }
}
