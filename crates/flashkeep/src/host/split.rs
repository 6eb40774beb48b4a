//! A request's sectors as logical pages: at most a part of a page, a run of whole ones, a part of a page.

/// Sectors of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub first: u64,
    /// How many, at least one.
    pub count: u64,
}

impl Span {
    /// The sectors that bytes touch.
    #[must_use]
    pub fn of_bytes(offset: u64, length: u64, sector_bytes: u64) -> Span {
        let first = offset / sector_bytes;
        Span { first, count: (offset + length).div_ceil(sector_bytes) - first }
    }
}

/// A run of logical pages of each of which the same sectors are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The first page.
    pub page: u32,
    /// How many pages; 1 where only a part of the page is meant.
    pub count: u32,
    /// The sectors of each page, a bit each.
    pub mask: u64,
}

/// The mask of a whole page.
#[must_use]
pub fn whole(page_sectors: u32) -> u64 {
    if page_sectors == 64 { u64::MAX } else { (1 << page_sectors) - 1 }
}

/// The pages of a span of sectors, in order.
pub fn fragments(span: Span, page_sectors: u32) -> impl Iterator<Item = Fragment> {
    let size = u64::from(page_sectors);
    let end = span.first + span.count;
    let mut at = span.first;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let (page, within) = (at / size, at % size);
        let pages = if within == 0 { (end - at) / size } else { 0 };
        let fragment = if pages > 0 {
            Fragment { page: page as u32, count: pages as u32, mask: whole(page_sectors) }
        } else {
            let sectors = (size - within).min(end - at);
            let mask = whole(sectors as u32) << within;
            Fragment { page: page as u32, count: 1, mask }
        };
        at = if pages > 0 { at + pages * size } else { (at + size - within).min(end) };
        Some(fragment)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(first: u64, count: u64, page_sectors: u32) -> Vec<(u32, u32, u64)> {
        fragments(Span { first, count }, page_sectors).map(|f| (f.page, f.count, f.mask)).collect()
    }

    #[test]
    fn head_middle_tail() {
        assert_eq!(cut(6, 11, 4), [(1, 1, 0b1100), (2, 2, 0b1111), (4, 1, 0b0001)]);
        assert_eq!(cut(5, 2, 4), [(1, 1, 0b0110)]);
        assert_eq!(cut(4, 8, 4), [(1, 2, 0b1111)]);
        assert_eq!(cut(0, 64, 64), [(0, 1, u64::MAX)]);
    }

    proptest! {
        #[test]
        fn every_sector_once(first in 0u64..500, count in 1u64..300, page_sectors in 1u32..=64) {
            let mut seen = Vec::new();
            for f in fragments(Span { first, count }, page_sectors) {
                for page in f.page..f.page + f.count {
                    let bits = (0..page_sectors).filter(|bit| f.mask >> bit & 1 == 1);
                    seen.extend(bits.map(|bit| u64::from(page) * u64::from(page_sectors) + u64::from(bit)));
                }
            }
            prop_assert_eq!(seen, (first..first + count).collect::<Vec<_>>());
        }
    }
}
