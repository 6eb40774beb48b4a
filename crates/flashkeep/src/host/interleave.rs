//! Who is whose neighbour in an array that stripes.
//!
//! Schemes see stripes of one page a member, data pages of a stripe being consecutive. The host sees units: so many
//! consecutive pages on one member, then on the next. This is the way from one to the other, a permutation of pages:
//! unit `n`, page `k` of it, is page `k` of row `n / data`, and data page `n % data` there.

use super::Range;

/// The permutation of an array's pages.
#[derive(Clone, Copy, Debug)]
pub struct Interleave {
    page: u64,
    unit: u64,
    data: u64,
}

impl Interleave {
    /// Units of `unit` pages of `page` bytes over `data` members; none where nothing moves.
    #[must_use]
    pub fn new(page: u64, unit: u64, data: u64) -> Option<Interleave> {
        (unit > 1 && data > 1).then_some(Interleave { page, unit, data })
    }

    /// The scheme's page that a page of the host's is.
    #[inline]
    fn place(&self, page: u64) -> u64 {
        let (unit, within) = (page / self.unit, page % self.unit);
        (unit / self.data * self.unit + within) * self.data + unit % self.data
    }

    /// Takes ranges of the host's to where the scheme has them, in order of its addresses; `scratch` is kept for its
    /// memory.
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
    fn it_is_a_permutation_that_keeps_rows_together() {
        let map = Interleave::new(4096, 4, 3).expect("pages move");
        let mut places: Vec<u64> = (0..48).map(|page| map.place(page)).collect();
        // The first unit is the first data page of the first four stripes, the second unit the second.
        assert_eq!(places[..8], [0, 3, 6, 9, 1, 4, 7, 10]);
        places.sort_unstable();
        assert!(places.into_iter().eq(0..48));
    }

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
