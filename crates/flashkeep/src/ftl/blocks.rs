//! Blocks and planes: what is programmed, what is valid, what is free. Enforces the physics: pages of a block are
//! programmed in order, only after an erase, and only programmed pages are read.

use crate::engine::Contents;
use crate::media::{Geometry, PlaneId, Ppn};

/// A block's score: valid pages while it is sealed; with [`OPEN`] set while it is being filled; [`FREE`] when
/// erased. So the least score of a plane is its best victim, found by a vectorised scan.
pub(super) const OPEN: u16 = 0x8000;
pub(super) const FREE: u16 = 0xFFFF;

/// Blocks between the first blocks of neighbouring planes.
const STAGGER: u32 = 61;

/// The state of a plane.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plane {
    /// The next page of the block being filled, if any.
    next: Option<Ppn>,
    /// How many pages it has left.
    left: u32,
    /// Where the search for the next free block starts.
    cursor: u32,
    /// Erased blocks.
    free_blocks: u32,
    /// Pages that can be programmed before the next erase.
    pub free_pages: u32,
    /// Blocks sealed so far.
    seals: u32,
}

/// All blocks of a drive.
#[derive(Clone, Debug)]
pub struct Blocks<C> {
    geometry: Geometry,
    planes: Vec<Plane>,
    score: Vec<u16>,
    /// When each block was sealed, counted in its plane.
    sealed: Vec<u32>,
    erases: Vec<u32>,
    /// The logical page that each physical page was programmed for.
    owner: Vec<u32>,
    /// What each physical page holds; empty where contents are nothing.
    contents: Vec<C>,
}

impl<C: Contents> Blocks<C> {
    /// Erased blocks. Touches memory for blocks, not for pages.
    #[must_use]
    pub fn new(geometry: &Geometry) -> Self {
        // Planes start at different blocks: at the same one, the pages that they program side by side would lie a
        // power of two apart in memory and push each other out of the processor's cache.
        let plane = |number: u32| Plane {
            cursor: number.wrapping_mul(STAGGER) % geometry.blocks,
            free_blocks: geometry.blocks,
            free_pages: geometry.blocks * geometry.pages,
            ..Plane::default()
        };
        let contents = if C::KEEP { geometry.ppn_space() } else { 0 };
        Blocks {
            planes: (0..geometry.plane_count()).map(plane).collect(),
            score: vec![FREE; geometry.block_space()],
            sealed: vec![0; geometry.block_space()],
            erases: vec![0; geometry.block_space()],
            owner: vec![0; geometry.ppn_space()],
            contents: vec![C::default(); contents],
            geometry: geometry.clone(),
        }
    }

    /// A plane's state.
    #[must_use]
    #[inline]
    pub fn plane(&self, plane: PlaneId) -> &Plane {
        &self.planes[plane.0 as usize]
    }

    /// Whether the host may program a page: a block's worth stays back for collection.
    #[must_use]
    #[inline]
    pub fn has_room(&self, plane: PlaneId) -> bool {
        self.plane(plane).free_pages > self.geometry.pages
    }

    /// Programs the next page of a plane for `lpn`; it is not valid yet.
    ///
    /// # Panics
    /// Where no page is free: whoever programs has made sure.
    #[inline]
    pub fn program(&mut self, plane: PlaneId, lpn: u32, contents: C) -> Ppn {
        let ppn = match self.planes[plane.0 as usize].next {
            Some(ppn) => ppn,
            None => self.open_next(plane),
        };
        let state = &mut self.planes[plane.0 as usize];
        state.left -= 1;
        state.free_pages -= 1;
        state.next = Some(Ppn(ppn.0 + 1));
        if state.left == 0 {
            state.next = None;
            state.seals += 1;
            let index = self.geometry.block_index_of(ppn);
            self.sealed[index] = state.seals;
            self.score[index] &= !OPEN;
        }
        self.owner[ppn.0 as usize] = lpn;
        if C::KEEP {
            self.contents[ppn.0 as usize] = contents;
        }
        ppn
    }

    fn open_next(&mut self, plane: PlaneId) -> Ppn {
        let blocks = self.geometry.blocks;
        let state = &mut self.planes[plane.0 as usize];
        assert!(state.free_blocks > 0, "a program needs an erased block");
        let first = self.geometry.block_index(plane, 0);
        let scores = &mut self.score[first..first + blocks as usize];
        let from = state.cursor as usize;
        let free = scores[from..].iter().position(|&s| s == FREE).map(|at| at + from);
        let block = free.or_else(|| scores[..from].iter().position(|&s| s == FREE));
        let block = block.expect("as many erased blocks as are counted");
        scores[block] = OPEN;
        state.cursor = if block + 1 == scores.len() { 0 } else { block as u32 + 1 };
        state.free_blocks -= 1;
        state.left = self.geometry.pages;
        self.geometry.ppn(plane, block as u32, 0)
    }

    /// A programmed page holds the current contents of its logical page.
    #[inline]
    pub fn validate(&mut self, ppn: Ppn) {
        self.score[self.geometry.block_index_of(ppn)] += 1;
    }

    /// A valid page no longer does.
    #[inline]
    pub fn invalidate(&mut self, ppn: Ppn) {
        let score = &mut self.score[self.geometry.block_index_of(ppn)];
        debug_assert!(*score & !OPEN != 0, "a valid page is in a block with valid pages");
        *score -= 1;
    }

    /// Erases a block of which no page is valid.
    pub fn erase(&mut self, plane: PlaneId, block: u32) {
        let index = self.geometry.block_index(plane, block);
        assert_eq!(self.score[index], 0, "only a sealed block without valid pages is erased");
        self.score[index] = FREE;
        self.erases[index] += 1;
        let state = &mut self.planes[plane.0 as usize];
        state.free_blocks += 1;
        state.free_pages += self.geometry.pages;
    }

    /// Whether a sealed block has no valid page.
    #[must_use]
    pub fn is_garbage(&self, plane: PlaneId, block: u32) -> bool {
        self.score[self.geometry.block_index(plane, block)] == 0
    }

    /// A block of a plane that has been programmed at least in part, other than `except`.
    ///
    /// # Panics
    /// Where there is none.
    #[must_use]
    pub fn programmed_block(&self, plane: PlaneId, except: u32) -> u32 {
        let mut blocks = (0..).zip(self.scores(plane));
        let found = blocks.find(|&(block, &score)| block != except && score != FREE);
        found.expect("a plane that collects has other blocks in use").0
    }

    /// Whether a page has been programmed since its block's last erase.
    #[must_use]
    #[inline]
    pub fn is_programmed(&self, ppn: Ppn) -> bool {
        let score = self.score[self.geometry.block_index_of(ppn)];
        if score & OPEN == 0 {
            return true;
        }
        score != FREE && self.plane(self.geometry.plane_of(ppn)).next.is_some_and(|next| ppn < next)
    }

    /// The logical page that a physical one was programmed for.
    #[must_use]
    #[inline]
    pub fn owner(&self, ppn: Ppn) -> u32 {
        self.owner[ppn.0 as usize]
    }

    /// From now on the page belongs to another logical page.
    pub fn rename(&mut self, ppn: Ppn, lpn: u32) {
        self.owner[ppn.0 as usize] = lpn;
    }

    /// What a page holds.
    #[must_use]
    #[inline]
    pub fn contents(&self, ppn: Ppn) -> C {
        if C::KEEP { self.contents[ppn.0 as usize] } else { C::default() }
    }

    /// The scores of a plane's blocks, for victim policies.
    #[must_use]
    pub fn scores(&self, plane: PlaneId) -> &[u16] {
        let first = self.geometry.block_index(plane, 0);
        &self.score[first..first + self.geometry.blocks as usize]
    }

    /// When each of a plane's blocks was sealed, counted in the plane, for victim policies.
    #[must_use]
    pub fn sealed(&self, plane: PlaneId) -> &[u32] {
        let first = self.geometry.block_index(plane, 0);
        &self.sealed[first..first + self.geometry.blocks as usize]
    }

    /// Erases of a plane's blocks.
    #[must_use]
    pub fn erases(&self, plane: PlaneId) -> &[u32] {
        let first = self.geometry.block_index(plane, 0);
        &self.erases[first..first + self.geometry.blocks as usize]
    }

    /// Valid pages of each of a plane's blocks.
    pub fn valid_counts(&self, plane: PlaneId) -> impl Iterator<Item = u16> {
        self.scores(plane).iter().map(|&score| if score == FREE { 0 } else { score & !OPEN })
    }
}
