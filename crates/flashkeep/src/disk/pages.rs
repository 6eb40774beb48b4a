//! Contents of pages. Most of a disk is never accessed: there it takes one number per 64 pages, and more only
//! for pages that have been written since they were created.

use crate::engine::Contents;
use crate::kernel::Bits;
use std::ops::Range;

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
    /// Where there is no chunk, the pages before this one have what they were created with ([`Contents::initial`]).
    created: u32,
}

impl<C: Contents> DiskPages<C> {
    pub(super) fn new(len: u32) -> Self {
        DiskPages { index: vec![0; len.div_ceil(CHUNK) as usize], chunks: Vec::new(), len, created: 0 }
    }

    pub(super) fn len(&self) -> u32 {
        self.len
    }

    fn chunk(&self, page: u32) -> Option<&Chunk<C>> {
        let number = self.index[(page / CHUNK) as usize] as usize;
        (number > 0).then(|| &self.chunks[number - 1])
    }

    fn chunk_mut(&mut self, page: u32) -> &mut Chunk<C> {
        let at = page / CHUNK;
        if self.index[at as usize] == 0 {
            let initial = |bit| self.initial(at * CHUNK + bit);
            let held = (0..CHUNK).filter(|&bit| initial(bit).is_some()).map(|bit| 1 << bit).sum();
            let contents = std::array::from_fn(|bit| initial(bit as u32).unwrap_or_default());
            self.chunks.push(Chunk { held, unreadable: 0, contents });
            self.index[at as usize] = self.chunks.len() as u32;
        }
        &mut self.chunks[self.index[at as usize] as usize - 1]
    }

    /// Pages get the contents that the host's pages of the same numbers begin with; only those from 0 on by a rule.
    pub(super) fn create(&mut self, pages: Range<u32>) {
        if pages.start <= self.created && self.chunks.is_empty() {
            self.created = self.created.max(pages.end);
        } else {
            pages.for_each(|page| self.write(page, C::initial(page.into())));
        }
    }

    /// What a page was created with by the rule.
    fn initial(&self, page: u32) -> Option<C> {
        (page < self.created).then(|| C::initial(page.into()))
    }

    /// The pages before this one were created by a rule.
    pub(super) fn created(&self) -> u32 {
        self.created
    }

    /// The pages of chunks from these pages on.
    fn runs(&self, is_one: impl Fn(u32) -> bool) -> impl Iterator<Item = Range<u32>> {
        let firsts = (0..self.index.len() as u32).map(|at| at * CHUNK).filter(move |&first| is_one(first));
        firsts.map(|first| first..first.saturating_add(CHUNK).min(self.len))
    }

    /// The pages of the chunks that exist.
    fn in_chunks(&self) -> impl Iterator<Item = Range<u32>> {
        self.runs(|first| self.chunk(first).is_some())
    }

    /// The pages that are not known to be as they were created.
    pub(super) fn changed(&self) -> Bits {
        let mut changed = Bits::default();
        changed.set_run(self.created.into()..self.len.into(), true);
        self.in_chunks().for_each(|pages| changed.set_run(pages.start.into()..pages.end.into(), true));
        changed
    }

    /// The pages that it holds, in order.
    pub(super) fn held(&self) -> impl Iterator<Item = u32> + '_ {
        let may_hold = |first| first < self.created || self.chunk(first).is_some();
        self.runs(may_hold).flatten().filter(|&page| self.holds(page))
    }

    pub(super) fn holds(&self, page: u32) -> bool {
        self.chunk(page).map_or(page < self.created, |chunk| chunk.held >> (page % CHUNK) & 1 != 0)
    }

    pub(super) fn is_unreadable(&self, page: u32) -> bool {
        self.chunk(page).is_some_and(|chunk| chunk.unreadable >> (page % CHUNK) & 1 != 0)
    }

    /// The pages before the first one were created by a rule; the others of these have these contents, or are empty.
    pub(super) fn state(&self) -> (u32, Vec<(u32, Option<u64>)>) {
        let of = |page| (page, self.holds(page).then(|| self.contents(page).stamp()));
        (self.created, self.in_chunks().flatten().map(of).collect())
    }

    /// Restores such a state.
    pub(super) fn restore(&mut self, (created, pages): (u32, Vec<(u32, Option<u64>)>)) {
        self.created = created;
        for (page, stamp) in pages {
            match stamp {
                Some(stamp) => self.write(page, C::token(stamp)),
                None => self.forget(page),
            }
        }
    }

    /// What a page holds; nothing where it holds none.
    pub(super) fn contents(&self, page: u32) -> C {
        match self.chunk(page) {
            Some(chunk) => chunk.contents[(page % CHUNK) as usize],
            None => self.initial(page).unwrap_or_default(),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Token;

    #[test]
    fn pages_created_by_a_rule_are_as_if_they_had_been_written() {
        let (mut by_rule, mut by_writes) = (DiskPages::<Token>::new(1000), DiskPages::new(1000));
        by_rule.create(0..700);
        (0..700).for_each(|page| by_writes.write(page, Token::initial(page.into())));
        assert!(by_rule.changed().iter().eq(700..1000));
        for pages in [&mut by_rule, &mut by_writes] {
            pages.write(130, Token(5));
            pages.write(800, Token(6));
            pages.forget(699);
            pages.poison(3);
            pages.lose(400);
        }
        let mut loaded = DiskPages::<Token>::new(1000);
        loaded.restore(by_rule.state());
        let of = |pages: &DiskPages<Token>| -> Vec<_> {
            (0..1000).map(|page| (pages.holds(page), pages.contents(page))).collect()
        };
        assert!(of(&by_rule) == of(&by_writes));
        assert!((0..1000).all(|page| by_rule.is_unreadable(page) == by_writes.is_unreadable(page)));
        assert!(
            by_rule.held().eq(by_writes.held())
                && by_rule.changed().has(130_u32)
                && !by_rule.changed().has(500_u32)
        );
        let held =
            |pages: &DiskPages<Token>| -> Vec<_> { pages.held().map(|page| pages.contents(page)).collect() };
        assert!(held(&loaded) == held(&by_rule));
    }
}
