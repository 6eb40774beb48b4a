//! Read access to blocks and pages: valid counts, logical pages, contents, erase counts; and their initial
//! state after ageing.

use super::blocks::{Blocks, FREE, OPEN};
use crate::blocks::EraseUnits;
use crate::engine::Contents;
use crate::flash::{PlaneId, Ppn};
use crate::kernel::Sparse;

impl<C: Contents> Blocks<C> {
    /// Whether a closed block has no valid page.
    #[must_use]
    pub fn is_garbage(&self, plane: PlaneId, block: u32) -> bool {
        let index = self.geometry.block_index(plane, block);
        self.score[index] == self.failed_in(index)
    }

    /// Whether a block has been programmed since its last erase, and may be again.
    #[must_use]
    pub fn holds_data(&self, plane: PlaneId, block: u32) -> bool {
        self.score[self.geometry.block_index(plane, block)] != FREE && !self.is_failed_block(plane, block)
    }

    /// Whether all of its pages have been programmed, and the free pages of its plane suffice for those that are valid.
    #[must_use]
    pub fn can_move(&self, plane: PlaneId, block: u32) -> bool {
        self.is_closed(plane, block) && self.valid_in(plane, block) <= self.plane(plane).free_pages
    }

    /// Whether all of its pages have been programmed.
    #[must_use]
    pub fn is_closed(&self, plane: PlaneId, block: u32) -> bool {
        self.score[self.geometry.block_index(plane, block)] & OPEN == 0
    }

    /// Valid pages of a closed block.
    #[must_use]
    pub fn valid_in(&self, plane: PlaneId, block: u32) -> u32 {
        let index = self.geometry.block_index(plane, block);
        u32::from(self.score[index] - self.failed_in(index))
    }

    /// A page of a plane that has been programmed and has not failed, in a block other than `except`.
    #[must_use]
    pub fn programmed_page(&self, plane: PlaneId, except: u32) -> Option<Ppn> {
        let blocks = (0..).zip(self.scores(plane));
        let used = blocks.filter(|&(block, &score)| block != except && score != FREE);
        let mut pages = used.flat_map(|(block, _)| {
            (0..self.geometry.pages).map(move |page| self.geometry.ppn(plane, block, page))
        });
        pages.find(|&ppn| self.is_programmed(ppn) && !self.is_failed(ppn))
    }

    /// Whether a page has been programmed since its block's last erase.
    #[must_use]
    #[inline]
    pub fn is_programmed(&self, ppn: Ppn) -> bool {
        let score = self.score[self.geometry.block_index_of(ppn)];
        if score & OPEN == 0 {
            return true;
        }
        score != FREE && self.open_from(ppn).is_some_and(|next| ppn < next)
    }

    /// The logical page that a physical one was programmed for.
    #[must_use]
    #[inline]
    pub fn owner(&self, ppn: Ppn) -> u32 {
        self.reverse_map.get(self.geometry.plane_of(ppn), ppn)
    }

    /// Adds the logical pages that these physical pages were programmed for to a list.
    pub fn list_owners(&self, first: Ppn, count: u32, to: &mut Vec<u32>) {
        self.reverse_map.list(self.geometry.plane_of(first), first, count as usize, to);
    }

    /// Assigns the physical page to another logical page.
    pub fn remap(&mut self, ppn: Ppn, lpn: u32) {
        self.reverse_map.set(self.geometry.plane_of(ppn), ppn, lpn);
    }

    /// The contents of a page.
    #[must_use]
    #[inline]
    pub fn contents(&self, ppn: Ppn) -> C {
        if !C::KEEP {
            return C::default();
        }
        self.contents.get(u64::from(ppn.0)).plus(1, self.initial_contents_of(ppn))
    }

    /// The contents of every physical page, if contents are kept.
    #[must_use]
    pub fn all_contents(&self) -> &Sparse<C> {
        &self.contents
    }

    /// Sets the contents of every physical page.
    pub fn set_all_contents(&mut self, contents: Sparse<C>) {
        self.contents = contents;
    }

    /// The scores of a plane's blocks, for victim policies: without those that have one bit per cell.
    #[must_use]
    pub fn scores(&self, plane: PlaneId) -> &[u16] {
        let first = self.geometry.block_index(plane, 0);
        &self.score[first..first + self.geometry.blocks as usize]
    }

    /// The blocks of a plane, as victim policies and wear leveling see them.
    #[must_use]
    #[inline]
    pub fn of_plane(&self, plane: PlaneId) -> PlaneBlocks<'_, C> {
        PlaneBlocks { blocks: self, plane }
    }

    /// Erases of a plane's blocks, without those that have one bit per cell.
    #[must_use]
    pub fn erases(&self, plane: PlaneId) -> &[u32] {
        let first = self.geometry.block_index(plane, 0);
        &self.erases[first..first + self.geometry.blocks as usize]
    }

    /// Valid pages of each of a plane's blocks.
    pub fn valid_counts(&self, plane: PlaneId) -> impl Iterator<Item = u16> {
        let first = self.geometry.block_index(plane, 0);
        let indices = first..first + self.geometry.all_blocks() as usize;
        indices.map(|index| (index, self.score[index])).map(|(index, score)| match score {
            FREE => 0,
            score if score & OPEN != 0 => score & !OPEN,
            score => score - self.failed_in(index),
        })
    }

    /// After a power cut: the valid pages of every block are these.
    pub fn recount(&mut self, valid: &[u16]) {
        for (index, &valid) in valid.iter().enumerate() {
            let failed = self.failed_in(index);
            let score = &mut self.score[index];
            match *score {
                FREE => {}
                open if open & OPEN != 0 => *score = OPEN | valid,
                _ => *score = valid + failed,
            }
        }
    }

    /// When the block of a page was closed, counted in its plane; one that is being filled comes after all others.
    #[must_use]
    pub fn block_age(&self, ppn: Ppn) -> u32 {
        let index = self.geometry.block_index_of(ppn);
        if self.score[index] & OPEN != 0 { u32::MAX } else { self.closed[index] }
    }

    /// A block is erased once more that is erased already.
    pub fn wear_out(&mut self, plane: PlaneId, block: u32) {
        let index = self.geometry.block_index(plane, block);
        self.erases[index] += 1;
        let stream = self.stream_of_block(block);
        self.exchange(plane, stream);
        self.planes[plane.0 as usize].erases += 1;
        self.exchange(plane, stream);
    }
}

/// The blocks of a plane, among which a victim is chosen.
#[derive(Clone, Copy, Debug)]
pub struct PlaneBlocks<'a, C> {
    blocks: &'a Blocks<C>,
    plane: PlaneId,
}

impl<C: Contents> EraseUnits for PlaneBlocks<'_, C> {
    type Score = u16;

    fn scores(&self) -> &[u16] {
        self.blocks.scores(self.plane)
    }

    fn closed_at(&self) -> &[u32] {
        let first = self.blocks.geometry.block_index(self.plane, 0);
        &self.blocks.closed[first..first + self.blocks.geometry.blocks as usize]
    }

    fn closings(&self) -> u32 {
        self.blocks.plane(self.plane).closes
    }

    fn worth(&self) -> u16 {
        self.blocks.worth()
    }

    fn pages(&self) -> u32 {
        self.blocks.geometry.pages
    }

    fn valid_in(&self, block: u32) -> u32 {
        self.blocks.valid_in(self.plane, block)
    }

    fn erases_of(&self, block: u32) -> u32 {
        self.blocks.erases_of(self.plane, block)
    }

    fn erases(&self) -> u64 {
        self.blocks.plane(self.plane).erases.into()
    }
}
