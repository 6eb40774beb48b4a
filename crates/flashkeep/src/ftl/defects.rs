//! Failed flash: planes, blocks and pages that are never used again, and pages whose contents cannot be read.
//! This state is not consulted as long as nothing has failed.
//!
//! A failed block permanently has the score of an open block without valid pages: it is neither a victim nor
//! free. In a closed block every failed page counts as a valid one, because collecting it gains nothing.

use super::blocks::{Blocks, FREE, OPEN, Plane};
use crate::engine::Contents;
use crate::flash::{PlaneId, Ppn};

/// The failed parts; each list is sorted.
#[derive(Clone, Debug, Default)]
pub(super) struct Defects {
    planes: Vec<PlaneId>,
    /// Places in arrays of blocks; none of a failed plane.
    blocks: Vec<usize>,
    /// None of a failed block.
    pub(super) pages: Vec<Ppn>,
    /// A bit for every page; empty while every page can be read.
    unreadable: Vec<u64>,
}

fn insert<T: Ord>(list: &mut Vec<T>, what: T) {
    if let Err(at) = list.binary_search(&what) {
        list.insert(at, what);
    }
}

impl<C: Contents> Blocks<C> {
    /// Whether a plane has failed.
    #[must_use]
    pub fn is_dead(&self, plane: PlaneId) -> bool {
        self.defects.planes.binary_search(&plane).is_ok()
    }

    /// Whether a block has failed, by itself or with its plane.
    #[must_use]
    pub fn is_failed_block(&self, plane: PlaneId, block: u32) -> bool {
        let index = self.geometry.block_index(plane, block);
        self.is_dead(plane) || self.defects.blocks.binary_search(&index).is_ok()
    }

    /// Whether a page has failed, by itself or with its block.
    #[must_use]
    pub fn is_failed(&self, ppn: Ppn) -> bool {
        let (plane, block) = (self.geometry.plane_of(ppn), self.geometry.block_of(ppn));
        self.is_failed_block(plane, block) || self.defects.pages.binary_search(&ppn).is_ok()
    }

    /// Whether a page is the only one of its block that has not failed.
    #[must_use]
    pub fn is_last_good(&self, ppn: Ppn) -> bool {
        let others = self.geometry.pages_in(self.geometry.block_of(ppn)) - 1;
        u32::from(self.failed_in(self.geometry.block_index_of(ppn))) == others && !self.is_failed(ppn)
    }

    /// Whether a page is unreadable.
    #[must_use]
    pub fn is_unreadable(&self, ppn: Ppn) -> bool {
        let word = self.defects.unreadable.get(ppn.0 as usize / 64);
        word.is_some_and(|word| word >> (ppn.0 % 64) & 1 == 1)
    }

    /// Whether a page from `first` on, before `end`, has failed by itself or is unreadable.
    pub(super) fn has_defects(&self, first: Ppn, end: Ppn) -> bool {
        let at = self.defects.pages.partition_point(|&page| page < first);
        let has_failed = self.defects.pages.get(at).is_some_and(|&page| page < end);
        has_failed || (self.has_unreadable() && (first.0..end.0).any(|page| self.is_unreadable(Ppn(page))))
    }

    /// Marks the page as unreadable until its block is erased.
    pub fn poison(&mut self, ppn: Ppn) {
        if self.defects.unreadable.is_empty() {
            self.defects.unreadable = vec![0; self.geometry.ppn_space().div_ceil(64)];
        }
        self.defects.unreadable[ppn.0 as usize / 64] |= 1 << (ppn.0 % 64);
    }

    /// Whether a page has ever become unreadable.
    #[must_use]
    pub fn has_unreadable(&self) -> bool {
        !self.defects.unreadable.is_empty()
    }

    /// A page holds other data than were written.
    pub fn corrupt(&mut self, ppn: Ppn) {
        if C::KEEP {
            self.set_contents(ppn, self.contents(ppn).corrupted());
        }
    }

    /// What an erased block held is forgotten, unreadable or not.
    pub(super) fn unblot(&mut self, plane: PlaneId, block: u32) {
        if self.defects.unreadable.is_empty() {
            return;
        }
        for page in 0..self.geometry.pages {
            let ppn = self.geometry.ppn(plane, block, page);
            self.defects.unreadable[ppn.0 as usize / 64] &= !(1 << (ppn.0 % 64));
        }
    }

    /// Failed pages of a block.
    pub(super) fn failed_in(&self, index: usize) -> u16 {
        if self.defects.pages.is_empty() {
            return 0;
        }
        let pages = &self.defects.pages;
        let before = |end: usize| pages.partition_point(|&ppn| self.geometry.block_index_of(ppn) < end);
        (before(index + 1) - before(index)) as u16
    }

    /// The first page of a block from `from` on that has not failed, and how many follow each other from there.
    pub(super) fn good_pages_from(&self, from: Ppn) -> Option<(Ppn, u32)> {
        let pages = self.geometry.pages_in(self.geometry.block_of(from));
        let end = from.0 + (pages - self.geometry.page_of(from));
        if self.defects.pages.is_empty() {
            return Some((from, end - from.0));
        }
        let good = |ppn: &u32| self.defects.pages.binary_search(&Ppn(*ppn)).is_err();
        let first = (from.0..end).find(good)?;
        Some((Ppn(first), (first..end).take_while(good).count() as u32))
    }

    /// A page of a block that stays in use is never programmed again; it is not valid.
    pub fn retire_page(&mut self, ppn: Ppn) {
        let (plane, index) = (self.geometry.plane_of(ppn), self.geometry.block_index_of(ppn));
        insert(&mut self.defects.pages, ppn);
        self.planes[plane.0 as usize].free_pages -= self.give_up_clean(index);
        let stream = self.stream_of(plane, index);
        self.exchange(plane, stream);
        self.count_out(plane, index, ppn);
        self.exchange(plane, stream);
    }

    /// A page that has failed is neither valid nor free.
    fn count_out(&mut self, plane: PlaneId, index: usize, ppn: Ppn) {
        let score = &mut self.score[index];
        let state = &mut self.planes[plane.0 as usize];
        if *score & OPEN == 0 {
            *score += 1;
        } else if self.anywhere {
            // What the plane has free is not counted.
        } else if *score == FREE {
            state.free_pages -= 1;
        } else if let Some(next) = state.next
            && next <= ppn
            && self.geometry.block_index_of(next) == index
        {
            state.free_pages -= 1;
            self.look_ahead(plane, next);
        }
    }

    /// A page of the open block that waits to be programmed, from `next` on, has failed.
    fn look_ahead(&mut self, plane: PlaneId, next: Ppn) {
        match self.good_pages_from(next) {
            Some((next, left)) => {
                let state = &mut self.planes[plane.0 as usize];
                (state.next, state.left) = (Some(next), left);
            }
            None => self.go_on_after(plane, next),
        }
    }

    /// A block is never used again; none of its pages is valid.
    pub fn retire_block(&mut self, plane: PlaneId, block: u32) {
        let index = self.geometry.block_index(plane, block);
        self.planes[plane.0 as usize].free_pages -= self.give_up_clean(index);
        let stream = self.stream_of(plane, index);
        self.exchange(plane, stream);
        self.count_block_out(plane, block, index);
        self.exchange(plane, stream);
        self.defects.pages.retain(|&ppn| self.geometry.block_index_of(ppn) != index);
        insert(&mut self.defects.blocks, index);
    }

    /// A block that was retired for its last erase has not had it: it is erased, as it was when it was retired.
    pub fn reinstate_block(&mut self, plane: PlaneId, block: u32) {
        let index = self.geometry.block_index(plane, block);
        self.defects.blocks.retain(|&failed| failed != index);
        self.score[index] = FREE;
        if self.anywhere {
            return;
        }
        let stream = self.stream_of_block(block);
        self.exchange(plane, stream);
        let state = &mut self.planes[plane.0 as usize];
        state.free_blocks += 1;
        state.free_pages += self.geometry.pages_in(block);
        self.exchange(plane, stream);
    }

    /// A new block, erased and never worn, replaces one that has failed by itself; returns how often the old one was
    /// erased.
    pub fn renew_block(&mut self, plane: PlaneId, block: u32) -> u32 {
        self.reinstate_block(plane, block);
        self.forget_handles(plane, block);
        self.unblot(plane, block);
        let index = self.geometry.block_index(plane, block);
        self.forget_initial(index..index + 1);
        std::mem::take(&mut self.erases[index])
    }

    /// A page that had failed by itself can be programmed again when its turn comes; whether there was one.
    pub fn renew_page(&mut self, ppn: Ppn) -> bool {
        let Ok(at) = self.defects.pages.binary_search(&ppn) else { return false };
        self.defects.pages.remove(at);
        let (plane, index) = (self.geometry.plane_of(ppn), self.geometry.block_index_of(ppn));
        let stream = self.stream_of(plane, index);
        self.exchange(plane, stream);
        let (score, state) = (&mut self.score[index], &mut self.planes[plane.0 as usize]);
        if *score & OPEN == 0 {
            *score -= 1;
        } else if self.anywhere {
            // What the plane has free is not counted.
        } else if *score == FREE {
            state.free_pages += 1;
        } else if let Some(next) = state.next
            && next < ppn
            && self.geometry.block_index_of(next) == index
        {
            state.free_pages += 1;
            self.look_ahead(plane, next);
        }
        self.exchange(plane, stream);
        true
    }

    /// Removes the free pages of a failed block from the counts.
    fn count_block_out(&mut self, plane: PlaneId, block: u32, index: usize) {
        if self.anywhere {
            self.score[index] = OPEN;
            return;
        }
        let (next, end) = (self.planes[plane.0 as usize].next, self.geometry.pages_in(block));
        let first_free = match next.filter(|&next| self.geometry.block_index_of(next) == index) {
            Some(next) => self.geometry.page_of(next),
            None if self.score[index] == FREE => 0,
            None => end,
        };
        let pages = (first_free..end).map(|page| self.geometry.ppn(plane, block, page));
        let lost = pages.filter(|ppn| self.defects.pages.binary_search(ppn).is_err()).count() as u32;
        let state = &mut self.planes[plane.0 as usize];
        state.free_pages -= lost;
        if self.score[index] == FREE {
            state.free_blocks -= 1;
        } else if first_free < end {
            (state.next, state.left) = (None, 0);
        }
        self.score[index] = OPEN;
    }

    /// A plane is never used again; none of its pages is valid.
    pub fn retire_plane(&mut self, plane: PlaneId) {
        let first = self.geometry.block_index(plane, 0);
        let blocks = first..first + self.geometry.blocks as usize;
        self.score[blocks.clone()].fill(OPEN);
        for index in blocks.clone() {
            self.give_up_clean(index);
        }
        let state = &mut self.planes[plane.0 as usize];
        *state = Plane { cursor: state.cursor, ..Plane::default() };
        self.close_aside(plane);
        self.retire_cache(plane);
        let blocks = first..first + self.geometry.all_blocks() as usize;
        self.defects.pages.retain(|&ppn| self.geometry.plane_of(ppn) != plane);
        self.defects.blocks.retain(|index| !blocks.contains(index));
        insert(&mut self.defects.planes, plane);
    }

    /// A new plane, erased and never worn, replaces one that has failed; returns how often the old one's blocks were
    /// erased.
    pub fn renew_plane(&mut self, plane: PlaneId) -> u64 {
        self.defects.planes.retain(|&dead| dead != plane);
        let first = self.geometry.block_index(plane, 0);
        let blocks = first..first + self.geometry.blocks as usize;
        self.score[blocks.clone()].fill(FREE);
        self.closed[blocks.clone()].fill(0);
        let old = self.erases[blocks.clone()].iter().copied().map(u64::from).sum();
        self.forget_initial(blocks.clone());
        self.erases[blocks].fill(0);
        (0..self.geometry.blocks).for_each(|block| self.unblot(plane, block));
        (0..self.geometry.all_blocks()).for_each(|block| self.forget_handles(plane, block));
        self.planes[plane.0 as usize] = Plane::erased(&self.geometry, plane);
        self.close_aside(plane);
        self.renew_cache(plane);
        old
    }

    /// Pages of a plane that have not failed, without those of its cache.
    #[must_use]
    pub fn good_pages(&self, plane: PlaneId) -> u32 {
        if self.is_dead(plane) {
            return 0;
        }
        let first = self.geometry.block_index(plane, 0);
        let plane_blocks = first..first + self.geometry.blocks as usize;
        let blocks = self.defects.blocks.iter().filter(|index| plane_blocks.contains(index)).count() as u32;
        let here = |ppn: Ppn| self.geometry.plane_of(ppn) == plane && !self.geometry.is_slc(ppn);
        let pages = self.defects.pages.iter().filter(|&&ppn| here(ppn)).count();
        (self.geometry.blocks - blocks) * self.geometry.pages - pages as u32
    }

    /// Programmable pages of a plane that is filled in order, and of its cache, counted one by one.
    ///
    /// # Panics
    /// Where fewer or more blocks are erased than are counted.
    #[must_use]
    pub fn count_free(&self, plane: PlaneId) -> [u32; 2] {
        let (blocks, all) = (self.geometry.blocks, self.geometry.all_blocks());
        let open: Vec<Ppn> = self.open_blocks(plane).collect();
        let free = self.count_free_among(plane, 0..blocks, &open);
        assert_eq!(free.0, self.plane(plane).free_blocks, "erased blocks of {plane:?}");
        if all == blocks {
            return [free.1 + self.clean_pages(plane), 0];
        }
        let open: Vec<Ppn> = self.next_in_cache(plane).into_iter().collect();
        let cached = self.count_free_among(plane, blocks..all, &open);
        assert_eq!(cached.0, self.cache(plane).free_blocks, "erased blocks of the cache of {plane:?}");
        [free.1 + self.clean_pages(plane), cached.1]
    }

    /// Erased blocks of some of a plane's, and programmable pages in them, where these pages of open ones are next.
    fn count_free_among(&self, plane: PlaneId, blocks: std::ops::Range<u32>, open: &[Ppn]) -> (u32, u32) {
        let pages_in = |block| self.geometry.pages_in(block);
        let block = |n: u32| (0..pages_in(n)).map(move |page| self.geometry.ppn(plane, n, page));
        let free = blocks.filter(|&n| self.score[self.geometry.block_index(plane, n)] == FREE);
        let free: Vec<u32> = free.collect();
        let end = |next: Ppn| next.0 + pages_in(self.geometry.block_of(next)) - self.geometry.page_of(next);
        let rest = open.iter().flat_map(|&next| (next.0..end(next)).map(Ppn));
        let pages = free.iter().copied().flat_map(block).chain(rest);
        (free.len() as u32, pages.filter(|&ppn| !self.is_failed(ppn)).count() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::{FlashSpec, Geometry};

    /// A page that fails while its block is erased, and is renewed while it is programmed, once took a free page away.
    #[test]
    fn planes_that_are_programmed_anywhere_count_nothing_free() {
        let spec = FlashSpec { blocks_per_plane: 2, pages_per_block: 2, ..FlashSpec::default() };
        let geometry = Geometry::new(&spec);
        let mut blocks: Blocks<()> = Blocks::programmed_anywhere(&geometry);
        let plane = PlaneId(0);
        for _ in 0..3 {
            blocks.retire_page(geometry.ppn(plane, 0, 1));
            blocks.program_at(geometry.ppn(plane, 0, 0), 7, ());
            assert!(blocks.renew_page(geometry.ppn(plane, 0, 1)));
            blocks.erase_any(plane, 0);
            (0..2).for_each(|block| blocks.retire_block(plane, block));
            assert!((0..2).all(|block| blocks.is_failed_block(plane, block)));
            (0..2).for_each(|block| {
                blocks.renew_block(plane, block);
            });
            assert_eq!(blocks.plane(plane).free_pages, 4);
        }
    }
}
