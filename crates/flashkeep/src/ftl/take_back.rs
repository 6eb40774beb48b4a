//! Operations that were granted and had not begun when the power failed: flash is as it was before them.

use super::blocks::{Blocks, FREE, OPEN};
use crate::engine::Contents;
use crate::flash::{PlaneId, Ppn};

impl<C: Contents> Blocks<C> {
    /// The last program of a plane, or the last but those that were taken back, has not taken place: its page is the next
    /// one, and the block is erased if it has no other. False where that cannot be: it was not the last one of its block, the
    /// block has failed pages, or several streams may have filled it. Valid pages are not recounted.
    pub fn take_back_program(&mut self, ppn: Ppn) -> bool {
        let (plane, index) = (self.geometry.plane_of(ppn), self.geometry.block_index_of(ppn));
        if self.failed_in(index) > 0 {
            return false;
        }
        let stream = self.stream_of(plane, index);
        self.exchange(plane, stream);
        let is_last = self.is_last_program(ppn);
        if is_last {
            self.handles.take_back(ppn);
            let (first, score) = (self.geometry.page_of(ppn) == 0, self.score[index] & !OPEN);
            let state = &mut self.planes[plane.0 as usize];
            state.free_pages += 1;
            (state.next, state.left) = if first { (None, 0) } else { (Some(ppn), state.left + 1) };
            state.free_blocks += u32::from(first);
            self.score[index] = if first { FREE } else { OPEN | score };
        }
        self.exchange(plane, stream);
        is_last
    }

    /// Whether a page is the last one that the stream in front has programmed.
    fn is_last_program(&self, ppn: Ppn) -> bool {
        let next = self.plane(self.geometry.plane_of(ppn)).next;
        match self.score[self.geometry.block_index_of(ppn)] {
            FREE => false,
            score if score & OPEN != 0 => next == Some(Ppn(ppn.0 + 1)),
            _ => {
                let pages = self.geometry.pages_in(self.geometry.block_of(ppn));
                next.is_none() && self.has_one_stream() && self.geometry.page_of(ppn) + 1 == pages
            }
        }
    }

    /// The last erase of a block has not taken place: it is closed, as it was.
    pub fn take_back_erase(&mut self, plane: PlaneId, block: u32) {
        let index = self.geometry.block_index(plane, block);
        assert_eq!(self.score[index], FREE, "nothing was programmed since");
        let failed = self.failed_in(index);
        self.score[index] = failed;
        self.erases[index] -= 1;
        let stream = self.stream_of_block(block);
        self.exchange(plane, stream);
        let state = &mut self.planes[plane.0 as usize];
        state.erases -= 1;
        state.free_blocks -= 1;
        state.free_pages -= self.geometry.pages_in(block) - u32::from(failed);
        self.exchange(plane, stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::{FlashSpec, Geometry};

    const PLANE: PlaneId = PlaneId(1);

    fn blocks() -> Blocks<()> {
        let spec = FlashSpec { blocks_per_plane: 4, pages_per_block: 4, ..FlashSpec::default() };
        Blocks::new(&Geometry::new(&spec))
    }

    fn programmed(pages: u32) -> (Blocks<()>, Vec<Ppn>) {
        let mut blocks = blocks();
        let ppns = (0..pages).map(|page| blocks.program(PLANE, page, ())).collect();
        (blocks, ppns)
    }

    fn state(blocks: &Blocks<()>) -> (Option<Ppn>, [u32; 3], &[u16]) {
        let plane = blocks.plane(PLANE);
        (plane.next, [plane.left, plane.free_pages, plane.free_blocks], &blocks.score)
    }

    #[test]
    fn programs_that_are_taken_back_leave_nothing() {
        for all in 0..=16 {
            for kept in 0..=all {
                let (mut blocks, ppns) = programmed(all);
                for &ppn in ppns[kept as usize..].iter().rev() {
                    assert!(blocks.take_back_program(ppn), "{kept} of {all}");
                }
                assert_eq!(state(&blocks), state(&programmed(kept).0), "{kept} of {all}");
                for page in kept..16 {
                    blocks.program(PLANE, page, ());
                }
                assert_eq!(blocks.plane(PLANE).free_pages, 0);
            }
        }
    }

    #[test]
    fn only_the_last_program_of_a_block_can_be_taken_back() {
        let (mut blocks, ppns) = programmed(7);
        for ppn in [ppns[3], ppns[5], Ppn(ppns[6].0 + 1)] {
            assert!(!blocks.take_back_program(ppn));
        }
        blocks.retire_page(ppns[4]);
        assert!(!blocks.take_back_program(ppns[6]), "a page of the block has failed");
    }
}
