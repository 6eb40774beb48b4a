//! Several open blocks per plane: one for each stream of pages, so that pages with different lifetimes do not
//! share blocks. In addition one *held* block: a worn block that receives cold data.
//!
//! The first stream's open block is in [`Plane`](super::Plane), where a drive with one stream looks; this
//! module costs such a drive nothing. The open block of another stream is swapped in while a page of it is
//! programmed.
//!
//! # Room
//! The free pages of a plane are those of its erased blocks and of all its open ones except the held one.
//! With s streams, s blocks' worth of free pages are reserved: a stream whose block is full then finds an
//! erased one, also while GC moves the pages of a victim. If a failure of flash breaks this rule, the stream
//! takes over another's open block. So a plane with a free page can always program a page, whichever stream
//! it belongs to.
//!
//! A plane is at its end when only the reserved pages are free and all its garbage is in open blocks. If k of
//! these are open and have l pages left, l ≥ k ≥ 1, the garbage is at most k blocks less l pages, and the
//! erased blocks are at most s blocks less l pages, so at most s − 1: together with l less than 2s blocks. A
//! drive that has 2s spare blocks in each plane never reaches that state; with a held block it needs one
//! more.

use super::blocks::{Blocks, FREE, OPEN};
use super::slc::SLC_STREAM;
use crate::engine::Contents;
use crate::flash::{PlaneId, Ppn};

/// An open block: its next page, and how many follow until one that has failed, or the end.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct OpenBlock {
    next: Option<Ppn>,
    left: u32,
}

/// The open blocks beyond the first of each plane.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Aside {
    fronts: Vec<OpenBlock>,
    per_plane: u8,
    /// The last of a plane is the held one.
    holds: bool,
}

impl Aside {
    fn of(&self, plane: PlaneId) -> std::ops::Range<usize> {
        let first = plane.0 as usize * usize::from(self.per_plane);
        first..first + usize::from(self.per_plane)
    }
}

impl<C: Contents> Blocks<C> {
    /// From now on planes have this many streams, and may `hold` one more block. Nothing has been programmed yet. The
    /// room that this needs is described at the head of `ftl/streams.rs`.
    pub fn set_streams(&mut self, streams: u8, hold: bool) {
        let per_plane = streams - 1 + u8::from(hold);
        let fronts = vec![OpenBlock::default(); self.planes.len() * usize::from(per_plane)];
        self.aside = Aside { fronts, per_plane, holds: hold };
        self.reserve = u32::from(streams) * self.geometry.pages;
    }

    /// Free pages of each plane that are kept from the host.
    #[must_use]
    pub fn reserve(&self) -> u32 {
        self.reserve
    }

    /// [`Blocks::program`], in a stream of its own; 0 is the first.
    #[inline(never)]
    pub fn program_in(&mut self, stream: u8, plane: PlaneId, lpn: u32, contents: C) -> Ppn {
        self.exchange(plane, stream);
        let ppn = self.program(plane, lpn, contents);
        self.exchange(plane, stream);
        ppn
    }

    /// The page that a stream programs next; it has one from now on where it was between blocks.
    pub fn next_in(&mut self, stream: u8, plane: PlaneId) -> Ppn {
        self.exchange(plane, stream);
        let next = match self.planes[plane.0 as usize].next {
            Some(next) => next,
            None => self.open_next(plane),
        };
        self.planes[plane.0 as usize].next = Some(next);
        self.exchange(plane, stream);
        next
    }

    /// A stream's open block changes places with the first one's; a second time undoes it.
    pub(super) fn exchange(&mut self, plane: PlaneId, stream: u8) {
        if stream == 0 {
            return;
        }
        if stream == SLC_STREAM {
            return self.exchange_cache(plane);
        }
        let at = self.aside.of(plane).start + usize::from(stream) - 1;
        let front = &mut self.aside.fronts[at];
        let state = &mut self.planes[plane.0 as usize];
        std::mem::swap(&mut front.next, &mut state.next);
        std::mem::swap(&mut front.left, &mut state.left);
    }

    /// Whether planes have one open block, beside that of a cache.
    pub(super) fn has_one_stream(&self) -> bool {
        self.aside.per_plane == 0
    }

    /// The stream whose open block is the one at `index`; 0 where there is none.
    pub(super) fn stream_of(&self, plane: PlaneId, index: usize) -> u8 {
        if index - self.geometry.block_index(plane, 0) >= self.geometry.blocks as usize {
            return SLC_STREAM;
        }
        let fronts = &self.aside.fronts[self.aside.of(plane)];
        let is_in =
            |front: &OpenBlock| front.next.is_some_and(|next| self.geometry.block_index_of(next) == index);
        fronts.iter().position(is_in).map_or(0, |at| at as u8 + 1)
    }

    /// The next page of the open block that a page is in.
    pub(super) fn open_from(&self, ppn: Ppn) -> Option<Ppn> {
        let plane = self.geometry.plane_of(ppn);
        match self.stream_of(plane, self.geometry.block_index_of(ppn)) {
            0 => self.planes[plane.0 as usize].next,
            SLC_STREAM => self.next_in_cache(plane),
            stream => self.open_block_aside(stream, plane),
        }
    }

    /// The page that a stream but the first programs next.
    pub(super) fn open_block_aside(&self, stream: u8, plane: PlaneId) -> Option<Ppn> {
        self.aside.fronts[self.aside.of(plane).start + usize::from(stream) - 1].next
    }

    fn streams_aside(&self, plane: PlaneId) -> std::ops::Range<usize> {
        let all = self.aside.of(plane);
        all.start..all.end - usize::from(self.aside.holds)
    }

    /// The next pages of a plane's open blocks, the held one left out.
    pub(super) fn open_blocks(&self, plane: PlaneId) -> impl Iterator<Item = Ppn> {
        let aside = &self.aside.fronts[self.streams_aside(plane)];
        let first = self.planes[plane.0 as usize].next;
        first.into_iter().chain(aside.iter().filter_map(|front| front.next))
    }

    /// No block is erased: the stream that must be programmed continues in another one's.
    pub(super) fn take_over(&mut self, plane: PlaneId) -> Option<Ppn> {
        let aside = self.streams_aside(plane);
        let front = self.aside.fronts[aside].iter_mut().find(|front| front.next.is_some())?;
        let OpenBlock { next, left } = std::mem::take(front);
        let state = &mut self.planes[plane.0 as usize];
        (state.next, state.left) = (next, left);
        next
    }

    /// A plane has no open block but perhaps its first.
    pub(super) fn close_aside(&mut self, plane: PlaneId) {
        let aside = self.aside.of(plane);
        self.aside.fronts[aside].fill(OpenBlock::default());
    }

    // ---------------------------------------------------------------- the held block

    /// A block that has just been erased is kept for what [`Blocks::program_held`] moves into it.
    pub fn hold(&mut self, plane: PlaneId, block: u32) {
        let (next, left) = self
            .good_pages_from(self.geometry.ppn(plane, block, 0))
            .expect("a block that goes on has a page that has not failed");
        let index = self.geometry.block_index(plane, block);
        assert_eq!(self.score[index], FREE, "only an erased block is held");
        self.score[index] = OPEN;
        let pages = self.geometry.pages - u32::from(self.failed_in(index));
        let state = &mut self.planes[plane.0 as usize];
        state.free_blocks -= 1;
        state.free_pages -= pages;
        let held = self.held(plane).expect("a drive that holds blocks");
        self.aside.fronts[held] = OpenBlock { next: Some(next), left };
    }

    fn held(&self, plane: PlaneId) -> Option<usize> {
        self.aside.holds.then(|| self.aside.of(plane).end - 1)
    }

    /// Whether the held block has a page to program.
    #[must_use]
    pub fn has_held(&self, plane: PlaneId) -> bool {
        self.held(plane).is_some_and(|held| self.aside.fronts[held].next.is_some())
    }

    /// The page of the held block that is programmed next.
    #[must_use]
    pub fn next_held(&self, plane: PlaneId) -> Option<Ppn> {
        self.held(plane).and_then(|held| self.aside.fronts[held].next)
    }

    /// [`Blocks::program`], into the held block.
    pub fn program_held(&mut self, plane: PlaneId, lpn: u32, contents: C) -> Ppn {
        // Its pages are not counted as free, and `program` counts one off.
        self.planes[plane.0 as usize].free_pages += 1;
        self.program_in(self.aside.per_plane, plane, lpn, contents)
    }

    /// The held block is closed as it is; one that nothing was moved into is erased like others.
    pub fn let_go(&mut self, plane: PlaneId) {
        let Some(OpenBlock { next: Some(next), .. }) =
            self.held(plane).map(|held| std::mem::take(&mut self.aside.fronts[held]))
        else {
            return;
        };
        let index = self.geometry.block_index_of(next);
        let first = Ppn(next.0 - self.geometry.page_of(next));
        if self.good_pages_from(first).is_some_and(|(first, _)| first < next) {
            return self.close(plane, next);
        }
        self.score[index] = FREE;
        let pages = self.geometry.pages - u32::from(self.failed_in(index));
        let state = &mut self.planes[plane.0 as usize];
        state.free_blocks += 1;
        state.free_pages += pages;
    }

    /// How often a block was erased.
    #[must_use]
    pub fn erases_of(&self, plane: PlaneId, block: u32) -> u32 {
        self.erases[self.geometry.block_index(plane, block)]
    }
}
