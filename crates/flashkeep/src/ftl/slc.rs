//! The blocks of each plane that have one bit per cell: a write cache, filled in order and emptied from its oldest block
//! on.
//!
//! Such a block is like others, with fewer pages. The cache of a plane has its own erased blocks, free pages and open
//! block: the state of a second [`Plane`]. While one of its pages is programmed, or one of its blocks erased or
//! retired, that state takes the place of the plane's own, as the open block of a stream does
//! ([`Blocks::exchange`](super::blocks::Blocks)). So a drive without a cache pays nothing.

use super::blocks::{Blocks, FREE, OPEN, Plane};
use crate::engine::Contents;
use crate::flash::{Geometry, PlaneId, Ppn};
use serde::{Deserialize, Serialize};

/// The stream of the pages that go to the cache.
pub const SLC_STREAM: u8 = u8::MAX;

/// The blocks of a plane that are being filled: from one number to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FilledBlocks {
    pub(super) first: u32,
    pub(super) end: u32,
}

impl FilledBlocks {
    /// Those that hold the data of the drive.
    pub(super) fn of_data(geometry: &Geometry) -> FilledBlocks {
        FilledBlocks { first: 0, end: geometry.blocks }
    }
}

/// The caches of all planes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SlcCache {
    /// While one of them is programmed, the state of the plane's other blocks is here.
    planes: Vec<Plane>,
    #[serde(skip)]
    filled: FilledBlocks,
    /// Pages of each block that have been programmed, and moved out, since its last erase; plane by plane.
    written: Vec<u16>,
    moved: Vec<u16>,
}

impl SlcCache {
    /// Empty caches.
    pub(super) fn new(geometry: &Geometry) -> SlcCache {
        let planes = geometry.plane_count() as usize;
        let blocks = planes * geometry.slc.blocks as usize;
        let caches = if geometry.slc.blocks > 0 { planes } else { 0 };
        SlcCache {
            planes: vec![Plane::erased_cache(geometry); caches],
            filled: FilledBlocks { first: geometry.blocks, end: geometry.all_blocks() },
            written: vec![0; blocks],
            moved: vec![0; blocks],
        }
    }

    /// Takes over a state that was saved.
    fn restore(&mut self, saved: SlcCache) {
        *self = SlcCache { filled: self.filled, ..saved };
    }
}

impl Plane {
    /// The cache of an erased plane.
    pub(super) fn erased_cache(geometry: &Geometry) -> Plane {
        Plane {
            cursor: geometry.blocks,
            free_blocks: geometry.slc.blocks,
            free_pages: geometry.slc.blocks * geometry.slc.pages,
            ..Plane::default()
        }
    }
}

impl<C: Contents> Blocks<C> {
    /// The caches.
    #[must_use]
    pub fn slc(&self) -> &SlcCache {
        &self.slc
    }

    /// Takes over saved caches.
    pub fn restore_slc(&mut self, saved: SlcCache) {
        self.slc.restore(saved);
    }

    /// The state of a plane's cache.
    ///
    /// # Panics
    /// If the drive has none.
    #[must_use]
    pub fn cache(&self, plane: PlaneId) -> &Plane {
        &self.slc.planes[plane.0 as usize]
    }

    /// Whether a page can be programmed in the cache of a plane.
    #[must_use]
    #[inline]
    pub fn has_cache_room(&self, plane: PlaneId) -> bool {
        self.slc.planes.get(plane.0 as usize).is_some_and(|cache| cache.free_pages > 0)
    }

    /// The number of a block of the cache among those of all planes.
    fn cache_index(&self, plane: PlaneId, block: u32) -> usize {
        (plane.0 * self.geometry.slc.blocks + block - self.geometry.blocks) as usize
    }

    /// [`Blocks::program`], into the cache of a plane.
    pub fn program_in_cache(&mut self, plane: PlaneId, lpn: u32, contents: C) -> Ppn {
        let ppn = self.program_in(SLC_STREAM, plane, lpn, contents);
        let at = self.cache_index(plane, self.geometry.block_of(ppn));
        self.slc.written[at] += 1;
        ppn
    }

    /// A page has been moved out of the cache.
    pub fn note_folded(&mut self, from: Ppn) {
        let at = self.cache_index(self.geometry.plane_of(from), self.geometry.block_of(from));
        self.slc.moved[at] += 1;
    }

    /// A block of the cache is about to be erased: pages that were programmed in it and never moved out.
    pub fn count_dead(&mut self, plane: PlaneId, block: u32) -> u64 {
        let at = self.cache_index(plane, block);
        let (written, moved) = (&mut self.slc.written[at], &mut self.slc.moved[at]);
        u64::from(std::mem::take(written).saturating_sub(std::mem::take(moved)))
    }

    /// The block of a plane's cache that was closed first, of those that are closed.
    #[must_use]
    pub fn oldest_cached(&self, plane: PlaneId) -> Option<u32> {
        let blocks = self.geometry.blocks..self.geometry.all_blocks();
        let index = |block: &u32| self.geometry.block_index(plane, *block);
        blocks.filter(|block| self.score[index(block)] < OPEN).min_by_key(|block| self.closed[index(block)])
    }

    /// Blocks of a plane's cache that are closed.
    #[must_use]
    pub fn closed_cached(&self, plane: PlaneId) -> u32 {
        let first = self.geometry.block_index(plane, self.geometry.blocks);
        let scores = &self.score[first..first + self.geometry.slc.blocks as usize];
        scores.iter().filter(|&&score| score < OPEN).count() as u32
    }

    /// A plane's state and that of its cache change places; a second time undoes it.
    pub(super) fn exchange_cache(&mut self, plane: PlaneId) {
        let at = plane.0 as usize;
        std::mem::swap(&mut self.planes[at], &mut self.slc.planes[at]);
        std::mem::swap(&mut self.filled, &mut self.slc.filled);
    }

    /// The block of a plane's cache that is opened next.
    pub(super) fn next_cache_block(&self, plane: PlaneId) -> Option<u32> {
        let from = self.cache(plane).cursor;
        let circle = (from..self.geometry.all_blocks()).chain(self.geometry.blocks..from);
        circle.into_iter().find(|&block| self.score[self.geometry.block_index(plane, block)] == FREE)
    }

    /// The next page of a plane's cache.
    pub(super) fn next_in_cache(&self, plane: PlaneId) -> Option<Ppn> {
        self.slc.planes.get(plane.0 as usize).and_then(|cache| cache.next)
    }

    /// The stream whose state counts a block's pages as free: none of its own but for those of the cache.
    pub(super) fn stream_of_block(&self, block: u32) -> u8 {
        if self.geometry.is_slc_block(block) { SLC_STREAM } else { 0 }
    }

    /// The cache of a plane has failed with it.
    pub(super) fn retire_cache(&mut self, plane: PlaneId) {
        self.clear_cache(plane, Plane { cursor: self.geometry.blocks, ..Plane::default() }, OPEN);
    }

    /// The cache of a plane is new, as the plane is.
    pub(super) fn renew_cache(&mut self, plane: PlaneId) {
        self.clear_cache(plane, Plane::erased_cache(&self.geometry), FREE);
    }

    fn clear_cache(&mut self, plane: PlaneId, state: Plane, score: u16) {
        let Some(cache) = self.slc.planes.get_mut(plane.0 as usize) else { return };
        *cache = state;
        for block in self.geometry.blocks..self.geometry.all_blocks() {
            let index = self.geometry.block_index(plane, block);
            (self.score[index], self.closed[index], self.erases[index]) = (score, 0, 0);
            self.unblot(plane, block);
            self.count_dead(plane, block);
        }
    }
}
