//! Splits a request's sectors into logical pages: a partial page, a run of whole pages and a partial page, each of
//! which may be missing.

use crate::device::port::{Fragment, whole};

/// A range of sectors of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectorRange {
    /// The first.
    pub first: u64,
    /// Their number, at least one.
    pub count: u64,
}

impl SectorRange {
    /// The sectors that a range of bytes touches.
    #[must_use]
    pub fn of_bytes(offset: u64, length: u64, sector_bytes: u64) -> SectorRange {
        let first = offset / sector_bytes;
        SectorRange { first, count: (offset + length).div_ceil(sector_bytes) - first }
    }
}

/// The pages that a range of sectors touches, in order.
#[inline]
pub fn fragments(offset: u64, length: u64, sector_bytes: u64, page_sectors: u32) -> Fragments {
    let bytes = sector_bytes * u64::from(page_sectors);
    // Most requests are whole pages whose size is a power of two: these are split without a division.
    if length > 0 && bytes.is_power_of_two() && (offset | length) & (bytes - 1) == 0 {
        let shift = bytes.trailing_zeros();
        return Fragments { whole: (length >> shift) as u32, at: offset >> shift, end: 0, page_sectors };
    }
    let SectorRange { first, count } = SectorRange::of_bytes(offset, length, sector_bytes);
    Fragments { whole: 0, at: first, end: first + count, page_sectors }
}

/// The iterator that [`fragments`] returns.
#[derive(Clone, Debug)]
pub struct Fragments {
    /// The whole pages from page `at` on, if there is nothing else.
    whole: u32,
    /// The next sector, and the one after the last.
    at: u64,
    end: u64,
    page_sectors: u32,
}

impl Iterator for Fragments {
    type Item = Fragment;

    #[inline]
    fn next(&mut self) -> Option<Fragment> {
        let count = std::mem::take(&mut self.whole);
        if count > 0 {
            let mask = whole(self.page_sectors);
            return Some(Fragment { page: self.at, count, mask, continues: false });
        }
        if self.at >= self.end {
            return None;
        }
        Some(self.cut())
    }
}

impl Fragments {
    #[inline(never)]
    fn cut(&mut self) -> Fragment {
        let Fragments { at, end, page_sectors, .. } = *self;
        let size = u64::from(page_sectors);
        let (page, within) = (at / size, at % size);
        let pages = if within == 0 { (end - at) / size } else { 0 };
        if pages > 0 {
            self.at = at + pages * size;
            let (mask, continues) = (whole(page_sectors), self.at < end);
            return Fragment { page, count: pages as u32, mask, continues };
        }
        self.at = (at + size - within).min(end);
        let (mask, continues) = (whole((self.at - at) as u32) << within, self.at < end);
        Fragment { page, count: 1, mask, continues }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(first: u64, count: u64, page_sectors: u32) -> Vec<(u64, u32, u64)> {
        let bytes = fragments(first * 512, count * 512, 512, page_sectors);
        bytes.map(|f| (f.page, f.count, f.mask)).collect()
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
        fn every_sector_once(
            first in 0u64..500,
            count in 1u64..300,
            page_sectors in 1u32..=64,
            sector in prop::sample::select(vec![512, 520, 4096]),
        ) {
            let mut seen = Vec::new();
            for f in fragments(first * sector, count * sector, sector, page_sectors) {
                for page in f.page..f.page + u64::from(f.count) {
                    let bits = (0..page_sectors).filter(|bit| f.mask >> bit & 1 == 1);
                    seen.extend(bits.map(|bit| page * u64::from(page_sectors) + u64::from(bit)));
                }
            }
            prop_assert_eq!(seen, (first..first + count).collect::<Vec<_>>());
        }
    }
}
