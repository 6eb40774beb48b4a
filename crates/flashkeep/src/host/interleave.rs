//! Address interleaving of an array that stripes: the host's addresses are mapped to the addresses of the
//! array's scheme before any other code sees them, so that a row of chunks is one run.

use super::Range;
use crate::engine::{ChunkOrder, Page};

/// The permutation of an array's pages.
#[derive(Clone, Copy, Debug)]
pub struct Interleave {
    /// Bytes of a page.
    page: u64,
    units: ChunkOrder,
}

impl Interleave {
    /// Units of `unit` pages of `page` bytes over `data` members; none if the permutation is the identity.
    #[must_use]
    pub fn new(page: u64, unit: u32, data: u32) -> Option<Interleave> {
        Some(Interleave { page, units: ChunkOrder::new(unit, data)? })
    }

    /// The page of the scheme for a page of the host.
    #[must_use]
    #[inline]
    pub fn place(&self, page: u64) -> u64 {
        self.units.inner(Page(page)).0
    }

    /// The page of the host for a page of the scheme.
    #[must_use]
    pub fn origin(&self, page: u64) -> u64 {
        self.units.outer(Page(page)).0
    }

    /// Maps ranges of the host to ranges of the scheme, in order of the scheme's addresses; `scratch` is kept to reuse
    /// its memory.
    #[inline(never)]
    pub fn spread(&self, ranges: &mut Vec<Range>, scratch: &mut Vec<Range>) {
        scratch.clear();
        for range in ranges.iter() {
            let (mut at, end) = (range.offset, range.offset + range.length);
            while at < end {
                let (page, within) = (at / self.page, at % self.page);
                let length = (self.page - within).min(end - at);
                scratch.push(Range { offset: self.place(page) * self.page + within, length });
                at += length;
            }
        }
        scratch.sort_unstable_by_key(|range| range.offset);
        ranges.clear();
        for &range in scratch.iter() {
            match ranges.last_mut() {
                Some(last) if last.offset + last.length == range.offset => last.length += range.length,
                _ => ranges.push(range),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_rows_of_units_are_one_range() {
        let map = Interleave::new(4096, 4, 3).expect("pages move");
        let mut scratch = Vec::new();
        let mut row = vec![Range { offset: 12 * 4096, length: 12 * 4096 }];
        map.spread(&mut row, &mut scratch);
        assert_eq!(row, [Range { offset: 12 * 4096, length: 12 * 4096 }]);
        let mut some = vec![Range { offset: 3 * 4096 + 512, length: 4096 }];
        map.spread(&mut some, &mut scratch);
        let pieces = [Range { offset: 4096, length: 512 }, Range { offset: 9 * 4096 + 512, length: 3584 }];
        assert_eq!(some, pieces);
        assert!(Interleave::new(4096, 1, 3).is_none() && Interleave::new(4096, 16, 1).is_none());
    }
}
