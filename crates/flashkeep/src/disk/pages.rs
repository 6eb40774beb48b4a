//! Contents of pages. Most of a disk is never accessed: there it takes one number per 64 pages, and more only
//! for pages with contents.

use crate::engine::Contents;

/// Pages of a chunk.
const CHUNK: u32 = 64;

#[derive(Clone, Debug)]
struct Chunk<C> {
    held: u64,
    unreadable: u64,
    contents: [C; CHUNK as usize],
}

/// What each page holds.
#[derive(Clone, Debug)]
pub(super) struct DiskPages<C> {
    /// The number of each chunk, counted from 1.
    index: Vec<u32>,
    chunks: Vec<Chunk<C>>,
    len: u32,
}

impl<C: Contents> DiskPages<C> {
    pub(super) fn new(len: u32) -> Self {
        DiskPages { index: vec![0; len.div_ceil(CHUNK) as usize], chunks: Vec::new(), len }
    }

    pub(super) fn len(&self) -> u32 {
        self.len
    }

    fn chunk(&self, page: u32) -> Option<&Chunk<C>> {
        let number = self.index[(page / CHUNK) as usize] as usize;
        (number > 0).then(|| &self.chunks[number - 1])
    }

    fn chunk_mut(&mut self, page: u32) -> &mut Chunk<C> {
        let number = &mut self.index[(page / CHUNK) as usize];
        if *number == 0 {
            self.chunks.push(Chunk { held: 0, unreadable: 0, contents: [C::default(); CHUNK as usize] });
            *number = self.chunks.len() as u32;
        }
        &mut self.chunks[*number as usize - 1]
    }

    /// The pages that it holds, in order.
    pub(super) fn held(&self) -> impl Iterator<Item = u32> + '_ {
        let chunks = (0..).zip(&self.index).filter(|(_, number)| **number > 0);
        chunks.flat_map(|(at, &number)| {
            let held = self.chunks[number as usize - 1].held;
            (0..CHUNK).filter(move |bit| held >> bit & 1 != 0).map(move |bit| at * CHUNK + bit)
        })
    }

    pub(super) fn holds(&self, page: u32) -> bool {
        self.chunk(page).is_some_and(|chunk| chunk.held >> (page % CHUNK) & 1 != 0)
    }

    pub(super) fn is_unreadable(&self, page: u32) -> bool {
        self.chunk(page).is_some_and(|chunk| chunk.unreadable >> (page % CHUNK) & 1 != 0)
    }

    /// What a page holds; nothing where it holds none.
    pub(super) fn contents(&self, page: u32) -> C {
        self.chunk(page).map_or_else(C::default, |chunk| chunk.contents[(page % CHUNK) as usize])
    }

    pub(super) fn write(&mut self, page: u32, contents: C) {
        let (chunk, bit) = (self.chunk_mut(page), 1 << (page % CHUNK));
        chunk.held |= bit;
        chunk.unreadable &= !bit;
        chunk.contents[(page % CHUNK) as usize] = contents;
    }

    pub(super) fn forget(&mut self, page: u32) {
        if self.holds(page) || self.is_unreadable(page) {
            let (chunk, bit) = (self.chunk_mut(page), 1 << (page % CHUNK));
            chunk.held &= !bit;
            chunk.unreadable &= !bit;
            chunk.contents[(page % CHUNK) as usize] = C::default();
        }
    }

    /// A page holds nothing any more, and reads of it fail until it is written.
    pub(super) fn lose(&mut self, page: u32) {
        self.poison(page);
        let (chunk, bit) = (self.chunk_mut(page), 1 << (page % CHUNK));
        chunk.held &= !bit;
    }

    /// What a page holds cannot be read any more.
    pub(super) fn poison(&mut self, page: u32) {
        if self.holds(page) {
            self.chunk_mut(page).unreadable |= 1 << (page % CHUNK);
        }
    }
}
