//! Where the pages of a drive in steady state are at time 0.
//!
//! Pages have ranks in a pseudo-random order. The ranks of a block follow each other; within a block, valid pages lie at
//! the shuffled numbers that follow `from`.

use crate::flash::{Geometry, Ppn};
use crate::kernel::{Permutation, Random};

/// No block, and no number of a page.
const NONE: u32 = u32::MAX;

/// The places of pages at time 0.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct SteadyPlaces {
    /// Of each backend; none if its maps have all entries.
    backends: Vec<Option<SteadyBackend>>,
    /// The end of each backend's blocks in `blocks`.
    ends: Vec<usize>,
    /// Blocks with valid pages: those of a backend side by side, in the order of ranks.
    blocks: Vec<SteadyBlock>,
    /// The number of each block of the drive in `blocks`.
    of_block: Vec<u32>,
    page_bits: u32,
    /// The page numbers of a block in random order, twice.
    shuffled: Vec<u32>,
    /// Where each of them is in it first.
    position: Vec<u32>,
}

/// A backend's pages.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct SteadyBackend {
    order: Permutation,
    /// For each group of as many ranks as a block has pages, the block of the first of them.
    block_of: Vec<u32>,
    /// Pages that have places.
    pages: u32,
}

/// A block with valid pages. There are hundreds of thousands, anywhere in which a lookup needs one: 16 bytes each.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct SteadyBlock {
    first: Ppn,
    /// The rank of its first valid page.
    rank: u32,
    valid: u32,
    /// Where its page numbers begin in the shuffled ones; `NONE` if its first pages are valid.
    from: u32,
}

impl SteadyPlaces {
    /// Places of nothing yet; `shuffled` are the page numbers of a block in random order, twice.
    #[must_use]
    pub fn new(geometry: &Geometry, shuffled: Vec<u32>) -> Self {
        let pages = shuffled.len() / 2;
        let mut position = vec![0; pages];
        (0..).zip(&shuffled[..pages]).for_each(|(at, &number)| position[number as usize] = at);
        SteadyPlaces {
            backends: Vec::new(),
            ends: Vec::new(),
            blocks: Vec::new(),
            of_block: vec![NONE; geometry.block_space()],
            page_bits: geometry.bits().0,
            shuffled,
            position,
        }
    }

    /// The next backend's pages have no places.
    pub fn skip_backend(&mut self) {
        self.backends.push(None);
        self.ends.push(self.blocks.len());
    }

    /// The next backend has `pages` pages, whose blocks are added now.
    pub fn add_backend(&mut self, pages: u32, random: &mut Random) {
        self.backends.push(Some(SteadyBackend {
            order: Permutation::new(pages, random),
            block_of: Vec::new(),
            pages: 0,
        }));
        self.ends.push(self.blocks.len());
    }

    /// The next block of the backend that was added last.
    ///
    /// # Panics
    /// Without such a backend, or if it has fewer pages.
    pub fn add_block(&mut self, first: Ppn, valid: u32, from: Option<u32>) {
        let of = self.backends.last_mut().and_then(Option::as_mut).expect("a backend with places");
        if valid == 0 {
            return;
        }
        assert!(valid <= of.order.limit() - of.pages, "no more places than pages");
        self.of_block[(first.0 >> self.page_bits) as usize] = self.blocks.len() as u32;
        self.blocks.push(SteadyBlock { first, rank: of.pages, valid, from: from.unwrap_or(NONE) });
        of.pages += valid;
        while (of.block_of.len() as u32) << self.page_bits < of.pages {
            of.block_of.push(self.blocks.len() as u32 - 1);
        }
        *self.ends.last_mut().expect("a backend with places") += 1;
    }

    /// A backend's pages have no places any more.
    pub fn remove_backend(&mut self, backend: usize) {
        if let Some(of) = self.backends.get_mut(backend) {
            *of = None;
        }
    }

    /// Whether pages of a backend have places.
    #[must_use]
    pub fn has_backend(&self, backend: usize) -> bool {
        self.backends.get(backend).is_some_and(Option::is_some)
    }

    /// The pages of a backend for which its blocks had no room.
    pub fn without_place(&self, backend: usize) -> impl Iterator<Item = u32> {
        let of = self.backends.get(backend).and_then(Option::as_ref);
        of.into_iter().flat_map(|of| (of.pages..of.order.limit()).map(|rank| of.order.at(rank)))
    }

    /// The place of a page.
    #[must_use]
    pub fn at(&self, backend: usize, lpn: u32) -> Option<Ppn> {
        let of = self.backends.get(backend)?.as_ref()?;
        if lpn >= of.order.limit() {
            return None;
        }
        let rank = of.order.rank(lpn);
        let first = *of.block_of.get((rank >> self.page_bits) as usize)? as usize;
        let block =
            self.blocks[first..self.ends[backend]].iter().find(|block| rank - block.rank < block.valid)?;
        let number = rank - block.rank;
        let page = if block.from == NONE { number } else { self.shuffled[(block.from + number) as usize] };
        Some(Ppn(block.first.0 + page))
    }

    /// How many pages have their places in a block.
    #[must_use]
    pub fn pages_in(&self, first: Ppn) -> u32 {
        let at = self.of_block[(first.0 >> self.page_bits) as usize] as usize;
        let has_backend = self.has_backend(self.ends.partition_point(|&end| end <= at));
        self.blocks.get(at).filter(|_| has_backend).map_or(0, |block| block.valid)
    }

    /// The page whose place this is.
    #[must_use]
    pub fn owner(&self, ppn: Ppn) -> Option<u32> {
        let at = *self.of_block.get((ppn.0 >> self.page_bits) as usize)? as usize;
        let block = self.blocks.get(at)?;
        let page = ppn.0 - block.first.0;
        let number = match block.from {
            NONE => page,
            from => {
                let at = *self.position.get(page as usize)?;
                if at >= from { at - from } else { at + self.position.len() as u32 - from }
            }
        };
        let of = self.backends[self.ends.partition_point(|&end| end <= at)].as_ref()?;
        (number < block.valid).then(|| of.order.at(block.rank + number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::{FlashSpec, PlaneId};
    use crate::ftl::ageing::shuffled;

    #[test]
    fn places_and_owners_are_inverse() {
        let spec = FlashSpec { channels: 2, blocks_per_plane: 5, pages_per_block: 6, ..FlashSpec::default() };
        let geometry = Geometry::new(&spec);
        let random = &mut Random::stream(1, "test");
        let mut places = SteadyPlaces::new(&geometry, shuffled(6, random));
        places.skip_backend();
        places.add_backend(17, random);
        let block = |plane, block| geometry.ppn(PlaneId(plane), block, 0);
        let added = [(block(0, 4), 5, Some(2)), (block(1, 0), 6, Some(5)), (block(0, 1), 0, Some(1))];
        added.into_iter().for_each(|(first, valid, from)| places.add_block(first, valid, from));
        places.add_block(block(1, 3), 4, None);
        assert_eq!((places.has_backend(0), places.has_backend(1), places.at(0, 3)), (false, true, None));
        let mut found: Vec<Ppn> = (0..20).filter_map(|lpn| places.at(1, lpn)).collect();
        assert!((0..20).all(|lpn| places.at(1, lpn).is_none_or(|ppn| places.owner(ppn) == Some(lpn))));
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), 15);
        let without: Vec<u32> = places.without_place(1).collect();
        assert!(without.len() == 2 && without.iter().all(|&lpn| lpn < 17 && places.at(1, lpn).is_none()));
        let in_block = |first: Ppn| (0..6).map(move |page| Ppn(first.0 + page));
        let owned = |first| in_block(first).filter(|&ppn| places.owner(ppn).is_some()).count();
        let counts = [block(0, 4), block(1, 0), block(0, 1), block(1, 3), block(1, 4)].map(owned);
        assert_eq!(counts, [5, 6, 0, 4, 0]);
        assert!(in_block(block(1, 3)).take(4).all(|ppn| places.owner(ppn).is_some()));
        places.remove_backend(1);
        assert!((0..20).all(|lpn| places.at(1, lpn).is_none()));
    }
}
