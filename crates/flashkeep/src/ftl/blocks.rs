//! Blocks and planes: programmed, valid and free pages. Enforces the rules of flash: pages of a block are
//! programmed in order, only after an erase, and only programmed pages are read.
//!
//! Most planes are filled in order, block after block ([`Blocks::program`]). Planes with physical-page
//! addressing are programmed where their scheme says ([`Blocks::program_at`]); their blocks are open until
//! the last page is programmed.

use super::defects::Defects;
use super::handles::HandlePages;
use super::reverse_map::ReverseMap;
use super::slc::{FilledBlocks, SLC_STREAM, SlcCache};
use super::streams::Aside;
use crate::engine::Contents;
use crate::flash::{Geometry, PlaneId, Ppn};
use crate::kernel::Sparse;

/// A block's score: valid pages while it is closed; with [`OPEN`] set while it is being filled; [`FREE`] when
/// erased. So the least score of a plane is its best victim, found by a vectorised scan.
pub(super) const OPEN: u16 = 0x8000;
pub(super) const FREE: u16 = 0xFFFF;

/// The block that a plane fills first. Planes start at different ones: at the same, the counters of the blocks that
/// they fill side by side would lie a power of two apart in memory and push each other out of the processor's cache.
fn first_block(geometry: &Geometry, plane: PlaneId) -> u32 {
    const STAGGER: u32 = 61;
    plane.0.wrapping_mul(STAGGER) % geometry.blocks
}

/// The state of a plane.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Plane {
    /// The next page of the block being filled, if any.
    pub(super) next: Option<Ppn>,
    /// How many pages follow in it until one that has failed, or its end.
    pub(super) left: u32,
    /// Where the search for the next free block starts.
    pub(super) cursor: u32,
    /// Erased blocks.
    pub(super) free_blocks: u32,
    /// Pages that can be programmed before the next erase.
    pub free_pages: u32,
    /// Blocks closed so far.
    pub(super) closes: u32,
    /// Blocks erased so far.
    pub(super) erases: u32,
}

impl Plane {
    /// Whether no block is being filled.
    #[must_use]
    pub fn is_between_blocks(&self) -> bool {
        self.next.is_none()
    }

    /// An erased plane.
    pub(super) fn erased(geometry: &Geometry, plane: PlaneId) -> Plane {
        Plane {
            cursor: first_block(geometry, plane),
            free_blocks: geometry.blocks,
            free_pages: geometry.blocks * geometry.pages,
            ..Plane::default()
        }
    }
}

/// All blocks of a drive.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub struct Blocks<C> {
    pub(super) geometry: Geometry,
    pub(super) planes: Vec<Plane>,
    pub(super) score: Vec<u16>,
    /// When each block was closed, counted in its plane.
    pub(super) closed: Vec<u32>,
    pub(super) erases: Vec<u32>,
    /// When each block was opened last, counted over all planes: with the place within the block the version of a page.
    pub(super) opened: Vec<u32>,
    openings: u32,
    pub(super) reverse_map: ReverseMap,
    /// The contents of each physical page, if contents are kept; if it was created by a rule, the difference to
    /// those that it had then.
    #[serde(skip)]
    pub(super) contents: Sparse<C>,
    /// The erases of each block when pages were created by a rule with contents; empty if none were.
    pub(super) initial_erases: Vec<u32>,
    #[serde(skip)]
    pub(super) defects: Defects,
    /// Clean pages of blocks that were written in part before time 0; empty where there are none.
    pub(super) clean: Vec<u16>,
    /// The victim of each plane, whose clean pages must not be programmed; empty where there are no clean pages.
    #[serde(skip)]
    pub(super) victims: Vec<u32>,
    /// Open blocks beyond the first one of each plane.
    pub(super) aside: Aside,
    /// The placement handles of pages.
    pub(super) handles: HandlePages,
    /// Free pages of each plane that are reserved for GC.
    pub(super) reserve: u32,
    /// Planes are not filled in order: what they have free is not counted.
    #[serde(skip)]
    pub(super) anywhere: bool,
    /// Slots that may stay empty while GC moves the pages of a block.
    #[serde(skip)]
    pub(super) padding: u16,
    /// The blocks that programs fill now.
    #[serde(skip)]
    pub(super) filled: FilledBlocks,
    /// Blocks with one bit per cell; saved by themselves.
    #[serde(skip)]
    pub(super) slc: SlcCache,
}

impl<C: Contents> Blocks<C> {
    /// The geometry of the flash.
    #[must_use]
    #[inline(always)]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Erased blocks. Touches memory for blocks, not for pages.
    #[must_use]
    pub fn new(geometry: &Geometry) -> Self {
        Blocks {
            planes: (0..geometry.plane_count())
                .map(|plane| Plane::erased(geometry, PlaneId(plane)))
                .collect(),
            score: vec![FREE; geometry.block_space()],
            closed: vec![0; geometry.block_space()],
            erases: vec![0; geometry.block_space()],
            opened: vec![0; geometry.block_space()],
            openings: 0,
            reverse_map: ReverseMap::new(geometry, |plane| first_block(geometry, plane)),
            contents: Sparse::default(),
            initial_erases: Vec::new(),
            defects: Defects::default(),
            clean: Vec::new(),
            victims: Vec::new(),
            aside: Aside::default(),
            handles: HandlePages::default(),
            reserve: geometry.pages,
            anywhere: false,
            padding: 0,
            filled: FilledBlocks::of_data(geometry),
            slc: SlcCache::new(geometry),
            geometry: geometry.clone(),
        }
    }

    /// The same for planes that are not filled in order ([`Blocks::program_at`]).
    #[must_use]
    pub fn programmed_anywhere(geometry: &Geometry) -> Self {
        Blocks { anywhere: true, ..Blocks::new(geometry) }
    }

    /// A plane's state.
    #[must_use]
    #[inline]
    pub fn plane(&self, plane: PlaneId) -> &Plane {
        &self.planes[plane.0 as usize]
    }

    /// Pages of a block.
    #[must_use]
    pub fn pages(&self) -> u16 {
        u16::try_from(self.geometry.pages).expect("a block's pages fit 15 bits")
    }

    /// Whether the host may program a page: a block's worth for each stream stays back for collection.
    #[must_use]
    #[inline]
    pub fn has_room(&self, plane: PlaneId) -> bool {
        self.plane(plane).free_pages > self.reserve
    }

    /// The same after programs of this many pages.
    #[must_use]
    pub fn has_room_for(&self, plane: PlaneId, pages: u32) -> bool {
        self.plane(plane).free_pages > self.reserve + pages
    }

    /// Erased blocks of a plane.
    #[must_use]
    pub fn erased(&self, plane: PlaneId) -> u32 {
        self.plane(plane).free_blocks
    }

    /// Room of a plane as the DiskSim extension compares it: a block counts with its summary page.
    #[must_use]
    pub fn room(&self, plane: PlaneId) -> u32 {
        let state = self.plane(plane);
        state.free_blocks * (self.geometry.pages + 1) + state.left
    }

    /// The version of a page: of two copies of the same logical page the one that was programmed later has the greater
    /// one, in any plane.
    #[must_use]
    pub fn version(&self, ppn: Ppn) -> u64 {
        u64::from(self.opened[self.geometry.block_index_of(ppn)]) << 32
            | u64::from(self.geometry.page_of(ppn))
    }

    /// The version of the next page that a plane programs.
    #[must_use]
    pub fn next_version(&self, plane: PlaneId) -> u64 {
        self.plane(plane).next.map_or(u64::MAX, |next| self.version(next))
    }

    /// Whether the next program of a plane fills its block.
    #[must_use]
    pub fn is_last_page(&self, plane: PlaneId) -> bool {
        let state = self.plane(plane);
        state.left == 1 || (state.left == 0 && self.geometry.pages == 1)
    }

    /// Programs the next page of a plane for `lpn`; it is not valid yet.
    ///
    /// # Panics
    /// Where no page is free: the caller has checked that there is one.
    #[inline(always)]
    pub fn program(&mut self, plane: PlaneId, lpn: u32, contents: C) -> Ppn {
        let mut state = &mut self.planes[plane.0 as usize];
        let ppn = match state.next {
            Some(ppn) => ppn,
            None => {
                let first = self.open_next(plane);
                state = &mut self.planes[plane.0 as usize];
                first
            }
        };
        state.left -= 1;
        state.free_pages -= 1;
        state.next = Some(Ppn(ppn.0 + 1));
        let full = state.left == 0;
        self.reverse_map.set(plane, ppn, lpn);
        if C::KEEP {
            self.contents.set(u64::from(ppn.0), contents);
        }
        if full {
            self.go_on_after(plane, ppn);
        }
        ppn
    }

    /// Programs pages that stay valid, as many as follow each other in the open block: the first one's place, and how
    /// many. Contents are nothing.
    pub fn program_valid(&mut self, plane: PlaneId, lpns: &[u32]) -> (Ppn, usize) {
        let (first, count) = self.program_unnamed(plane, lpns.len() as u32);
        self.reverse_map.set_run(plane, first, &lpns[..count as usize]);
        (first, count as usize)
    }

    /// The same of at most `most` pages; whose they are is not noted.
    #[inline]
    pub fn program_unnamed(&mut self, plane: PlaneId, most: u32) -> (Ppn, u32) {
        let first = match self.planes[plane.0 as usize].next {
            Some(ppn) => ppn,
            None => self.open_next(plane),
        };
        let state = &mut self.planes[plane.0 as usize];
        let count = state.left.min(most);
        state.left -= count;
        state.free_pages -= count;
        state.next = Some(Ppn(first.0 + count));
        let full = state.left == 0;
        self.score[self.geometry.block_index_of(first)] += count as u16;
        if full {
            self.go_on_after(plane, Ppn(first.0 + count - 1));
        }
        (first, count)
    }

    /// No page of a closed block is valid any more.
    pub fn invalidate_all(&mut self, plane: PlaneId, block: u32) {
        let index = self.geometry.block_index(plane, block);
        self.score[index] = self.failed_in(index);
    }

    /// The number, within its block, of the page that a plane programs next, as long as nothing of it has failed.
    #[must_use]
    pub fn next_number(&self, stream: u8, plane: PlaneId) -> u32 {
        self.front(Some(stream), plane).map_or(0, |next| self.geometry.page_of(next))
    }

    /// The open block of a plane has been filled up to `last`: it continues beyond pages that have failed, or is full.
    #[inline(never)]
    pub(super) fn go_on_after(&mut self, plane: PlaneId, last: Ppn) {
        let state = &mut self.planes[plane.0 as usize];
        (state.next, state.left) = (None, 0);
        let number = self.geometry.page_of(last) + 1;
        if number < self.geometry.pages_in(self.geometry.block_of(last))
            && let Some((next, left)) = self.good_pages_from(Ppn(last.0 + 1))
        {
            let state = &mut self.planes[plane.0 as usize];
            (state.next, state.left) = (Some(next), left);
            return;
        }
        self.close(plane, last);
    }

    /// The block of a page is full, or given up as it is.
    pub(super) fn close(&mut self, plane: PlaneId, page: Ppn) {
        let state = &mut self.planes[plane.0 as usize];
        state.closes += 1;
        let index = self.geometry.block_index_of(page);
        self.closed[index] = state.closes;
        self.score[index] = (self.score[index] & !OPEN) + self.failed_in(index);
        // Many programs of other planes come before the next one here: enough time to fetch where that is noted.
        let next = self.geometry.ppn(plane, self.plane(plane).cursor, 0);
        self.reverse_map.prefetch(plane, next);
    }

    /// Programs a page of a plane that is not filled in order, beyond those of its block that have been programmed;
    /// it is not valid yet.
    pub fn program_at(&mut self, ppn: Ppn, lpn: u32, contents: C) {
        let index = self.geometry.block_index_of(ppn);
        if self.score[index] == FREE {
            self.score[index] = OPEN;
        }
        if self.geometry.page_of(ppn) + 1 == self.geometry.pages && self.score[index] & OPEN != 0 {
            self.score[index] = (self.score[index] & !OPEN) + self.failed_in(index);
        }
        self.reverse_map.set(self.geometry.plane_of(ppn), ppn, lpn);
        if C::KEEP {
            self.set_contents(ppn, contents);
        }
    }

    /// A programmed page has these contents.
    pub fn set_contents(&mut self, ppn: Ppn, contents: C) {
        self.contents.set(u64::from(ppn.0), contents.plus(1, self.initial_contents_of(ppn)));
    }

    /// Erases a block of a plane that is not filled in order, however much of it was programmed; no page is valid.
    pub fn erase_any(&mut self, plane: PlaneId, block: u32) {
        let index = self.geometry.block_index(plane, block);
        let score = self.score[index];
        let valid = if score & OPEN != 0 { score & !OPEN } else { score - self.failed_in(index) };
        assert!(score == FREE || valid == 0, "only a block without valid pages is erased");
        self.score[index] = FREE;
        self.erases[index] += 1;
        self.unblot(plane, block);
    }

    /// The place that a plane's first stream programs next; none if there is no room.
    #[must_use]
    pub fn next_place(&self, plane: PlaneId) -> Option<Ppn> {
        let opens = || Some(self.geometry.ppn(plane, self.next_block(Some(0), plane)?, 0));
        self.front(Some(0), plane).or_else(opens)
    }

    /// The block that a stream of a plane opens next, if it is between blocks; none where there is none.
    #[must_use]
    pub fn next_block(&self, stream: Option<u8>, plane: PlaneId) -> Option<u32> {
        if stream == Some(SLC_STREAM) {
            return self.next_cache_block(plane);
        }
        let (from, victim) = (self.planes[plane.0 as usize].cursor, self.victims.get(plane.0 as usize));
        let usable = |block: &u32| {
            let index = self.geometry.block_index(plane, *block);
            let clean = self.clean.get(index).is_some_and(|&clean| clean > 0) && victim != Some(block);
            self.score[index] == FREE || clean
        };
        let taken_over = || self.open_blocks(plane).next().map(|next| self.geometry.block_of(next));
        (from..self.geometry.blocks).chain(0..from).find(usable).or_else(taken_over)
    }

    #[inline(never)]
    pub(super) fn open_next(&mut self, plane: PlaneId) -> Ppn {
        let FilledBlocks { first: from, end } = self.filled;
        if !self.clean.is_empty()
            && from == 0
            && let Some(next) = self.reopen(plane)
        {
            return next;
        }
        if self.planes[plane.0 as usize].free_blocks == 0 {
            return self.take_over(plane).expect("a program needs an erased block, or an open one");
        }
        let state = &mut self.planes[plane.0 as usize];
        let first = self.geometry.block_index(plane, from);
        let scores = &mut self.score[first..first + (end - from) as usize];
        let cursor = (state.cursor - from) as usize;
        let free = scores[cursor..].iter().position(|&s| s == FREE).map(|at| at + cursor);
        let at = free.or_else(|| scores[..cursor].iter().position(|&s| s == FREE));
        let at = at.expect("as many erased blocks as are counted");
        scores[at] = OPEN;
        let block = from + at as u32;
        state.cursor = if block + 1 == end { from } else { block + 1 };
        state.free_blocks -= 1;
        self.openings += 1;
        self.opened[first + at] = self.openings;
        let (next, left) = self
            .good_pages_from(self.geometry.ppn(plane, block, 0))
            .expect("a block that goes on has a page that has not failed");
        self.planes[plane.0 as usize].left = left;
        next
    }

    /// Prefetches the counts of a page's block.
    #[inline]
    pub fn prefetch(&self, ppn: Ppn) {
        crate::kernel::prefetch(&self.score, self.geometry.block_index_of(ppn));
    }

    /// Prefetches a plane's state.
    #[inline]
    pub fn prefetch_plane(&self, plane: PlaneId) {
        crate::kernel::prefetch(&self.planes, plane.0 as usize);
    }

    /// Prefetches the entries for the next program of a plane.
    #[inline]
    pub fn prefetch_next(&self, plane: PlaneId) {
        if let Some(ppn) = self.plane(plane).next {
            self.reverse_map.prefetch(plane, ppn);
            self.prefetch(ppn);
        }
    }

    /// A programmed page holds the current contents of its logical page.
    #[inline]
    pub fn validate(&mut self, ppn: Ppn) {
        self.score[self.geometry.block_index_of(ppn)] += 1;
    }

    /// Invalidates a valid page.
    #[inline]
    pub fn invalidate(&mut self, ppn: Ppn) {
        let score = &mut self.score[self.geometry.block_index_of(ppn)];
        debug_assert!(*score & !OPEN != 0, "a valid page is in a block with valid pages");
        *score -= 1;
    }

    /// Erases a block of which no page is valid.
    pub fn erase(&mut self, plane: PlaneId, block: u32) {
        let index = self.geometry.block_index(plane, block);
        let failed = self.failed_in(index);
        assert_eq!(self.score[index], failed, "only a sealed block without valid pages is erased");
        self.score[index] = FREE;
        self.erases[index] += 1;
        self.unblot(plane, block);
        self.erase_handles(plane, block);
        let clean = self.give_up_clean(index);
        let stream = self.stream_of_block(block);
        self.exchange(plane, stream);
        let state = &mut self.planes[plane.0 as usize];
        state.erases += 1;
        state.free_blocks += 1;
        state.free_pages += self.geometry.pages_in(block) - u32::from(failed) - clean;
        self.exchange(plane, stream);
    }
}
