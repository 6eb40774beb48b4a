//! Logical pages that are programmed together: the free slots of the word line that a stream programs next, and slots
//! that stay empty.

use super::blocks::Blocks;
use super::slc::SLC_STREAM;
use crate::engine::Contents;
use crate::flash::{PlaneId, Ppn};

/// An open block of a plane, by its stream; none is the held one.
type Stream = Option<u8>;

impl<C: Contents> Blocks<C> {
    /// This many places may stay empty while the pages of a block are moved: one that has no more than that to gain is
    /// left alone. Nothing has been programmed yet.
    pub fn set_padding(&mut self, padding: u32) {
        self.padding = padding as u16;
    }

    /// Places that may stay empty while the pages of a block are moved.
    #[must_use]
    pub fn padding(&self) -> u16 {
        self.padding
    }

    /// Valid pages from which on collecting a block gains nothing.
    #[must_use]
    pub fn worth(&self) -> u16 {
        self.pages() - self.padding
    }

    /// A state that was loaded knows neither the flash's pages nor what may stay empty in them.
    pub fn pack_as(&mut self, before: &Blocks<C>) {
        (self.padding, self.anywhere) = (before.padding, before.anywhere);
        (self.geometry.places, self.geometry.word_line) = (before.geometry.places, before.geometry.word_line);
        self.geometry.slc = before.geometry.slc;
        (self.filled, self.slc) = (before.filled, before.slc.clone());
    }

    /// The page that a stream programs next; none where it is between blocks.
    #[must_use]
    pub fn front(&self, stream: Stream, plane: PlaneId) -> Option<Ppn> {
        match stream {
            Some(0) => self.plane(plane).next,
            Some(SLC_STREAM) => self.next_in_cache(plane),
            Some(stream) => self.open_block_aside(stream, plane),
            None => self.next_held(plane),
        }
    }

    /// Places left in the word line that a stream programs next; it has one from now on.
    pub fn places_left(&mut self, stream: Stream, plane: PlaneId) -> u32 {
        let next = match stream {
            Some(stream) => self.next_in(stream, plane),
            None => self.next_held(plane).expect("a held block with a page to program"),
        };
        let together = self.geometry.word_line_of(self.geometry.block_of(next));
        let left = together - self.geometry.page_of(next) % together;
        let good = |ppn: &u32| self.defects.pages.binary_search(&Ppn(*ppn)).is_err();
        if self.defects.pages.is_empty() { left } else { (next.0..next.0 + left).filter(good).count() as u32 }
    }

    /// Whether the next page of a stream has its place in the same word line as one that it has programmed.
    #[must_use]
    pub fn goes_on(&self, stream: Stream, plane: PlaneId, programmed: Ppn) -> bool {
        self.front(stream, plane).is_some_and(|next| self.geometry.share_a_word_line(next, programmed))
    }

    /// Programs the next pages of a stream, which hold nothing yet: the first one's place. None where they are not the
    /// first of a word line, or where one of them has failed.
    pub fn set_aside(&mut self, stream: u8, plane: PlaneId, count: u32) -> Option<Ppn> {
        let next = self.next_in(stream, plane);
        self.exchange(plane, stream);
        let is_whole = self.geometry.page_of(next).is_multiple_of(count) && self.plane(plane).left >= count;
        let first = is_whole.then_some(next);
        if let Some(first) = first {
            let index = self.geometry.block_index_of(first);
            self.program_unnamed(plane, count);
            self.score[index] -= count as u16;
        }
        self.exchange(plane, stream);
        first
    }

    /// A page gets a place that has been set aside.
    pub fn fill(&mut self, ppn: Ppn, lpn: u32, contents: C) {
        self.reverse_map.set(self.geometry.plane_of(ppn), ppn, lpn);
        if C::KEEP {
            self.contents.set(u64::from(ppn.0), contents);
        }
    }

    /// A stream leaves its next page out, whichever it is: it stays empty until its block is erased.
    pub fn leave_empty(&mut self, stream: Stream, plane: PlaneId) -> Ppn {
        match stream {
            Some(stream) => self.program_in(stream, plane, 0, C::default()),
            None => self.program_held(plane, 0, C::default()),
        }
    }
}
