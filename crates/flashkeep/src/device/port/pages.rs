//! The sectors of each page that exist behind the port: one bit per page, and a mask for pages that exist in part.

use super::super::command::Sectors;
use crate::kernel::prefetch;
use std::ops::Range;

/// The distance of prefetches in a list of pages.
const AHEAD: usize = 24;

/// The mask of a whole page.
#[must_use]
pub fn whole(page_sectors: u32) -> u64 {
    if page_sectors == 64 { u64::MAX } else { (1 << page_sectors) - 1 }
}

/// The sectors of every page.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct SectorMap {
    len: u32,
    page_sectors: u32,
    /// One bit per page: whether some of it exists.
    exists: Vec<u64>,
    /// The missing sectors of each page that exists, in the narrowest integers that hold a page's mask; memory is
    /// touched only for pages that exist in part.
    missing: MissingSectors,
    /// Whether any page exists in part.
    partial: bool,
}

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
enum MissingSectors {
    Byte(Vec<u8>),
    Word(Vec<u16>),
    Long(Vec<u32>),
    Full(Vec<u64>),
}

impl MissingSectors {
    fn get(&self, page: usize) -> u64 {
        match self {
            MissingSectors::Byte(masks) => u64::from(masks[page]),
            MissingSectors::Word(masks) => u64::from(masks[page]),
            MissingSectors::Long(masks) => u64::from(masks[page]),
            MissingSectors::Full(masks) => masks[page],
        }
    }

    fn set(&mut self, page: usize, mask: u64) {
        match self {
            MissingSectors::Byte(masks) => masks[page] = mask as u8,
            MissingSectors::Word(masks) => masks[page] = mask as u16,
            MissingSectors::Long(masks) => masks[page] = mask as u32,
            MissingSectors::Full(masks) => masks[page] = mask,
        }
    }
}

impl SectorMap {
    /// Pages of which nothing exists.
    #[must_use]
    pub fn new(len: u32, page_sectors: u32) -> Self {
        let count = len as usize;
        let missing = match page_sectors {
            0..=8 => MissingSectors::Byte(vec![0; count]),
            9..=16 => MissingSectors::Word(vec![0; count]),
            17..=32 => MissingSectors::Long(vec![0; count]),
            _ => MissingSectors::Full(vec![0; count]),
        };
        SectorMap { len, page_sectors, exists: vec![0; count.div_ceil(64)], missing, partial: false }
    }

    /// The number of pages.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Sectors in a page.
    #[must_use]
    pub fn page_sectors(&self) -> u32 {
        self.page_sectors
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The mask of a whole page.
    #[must_use]
    pub fn whole(&self) -> u64 {
        whole(self.page_sectors)
    }

    #[inline]
    fn exists(&self, page: u32) -> bool {
        self.exists[page as usize / 64] >> (page % 64) & 1 == 1
    }

    /// Prefetches a page's bit.
    #[inline]
    pub fn prefetch(&self, page: u32) {
        prefetch(&self.exists, page as usize / 64);
    }

    /// The sectors that exist of a page.
    #[must_use]
    #[inline]
    pub fn sectors(&self, page: u32) -> u64 {
        match (self.exists(page), self.partial) {
            (false, _) => 0,
            (true, false) => self.whole(),
            (true, true) => self.whole() & !self.missing.get(page as usize),
        }
    }

    /// Whether all of a page exists.
    #[must_use]
    #[inline]
    pub fn is_whole(&self, page: u32) -> bool {
        self.sectors(page) == self.whole()
    }

    /// The number of sectors in a mask, as in commands: 0 for a whole page.
    #[must_use]
    #[inline]
    pub fn sectors_of(&self, mask: u64) -> u16 {
        if mask == self.whole() { 0 } else { mask.count_ones() as u16 }
    }

    /// Consecutive sectors as in commands; none if the mask has gaps.
    #[must_use]
    pub fn part(&self, mask: u64) -> Option<Sectors> {
        if mask == self.whole() {
            return Some(Sectors::ALL);
        }
        let first = mask.trailing_zeros();
        let count = mask.count_ones();
        let consecutive = count > 0 && mask == whole(count) << first;
        consecutive.then_some(Sectors { first: first as u8, count: count as u16 })
    }

    /// The runs of consecutive sectors in a mask.
    pub fn runs(&self, mask: u64) -> impl Iterator<Item = Sectors> {
        let page = self.whole();
        let mut rest = mask;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let first = rest.trailing_zeros();
            let count = (rest >> first).trailing_ones();
            let run = whole(count) << first;
            rest &= !run;
            let part = Sectors { first: first as u8, count: count as u16 };
            Some(if run == page { Sectors::ALL } else { part })
        })
    }

    /// The mask of sectors as commands carry them.
    #[must_use]
    pub fn mask(&self, sectors: Sectors) -> u64 {
        match u32::from(sectors.count) {
            0 => self.whole(),
            count => whole(count.min(self.page_sectors)) << sectors.first & self.whole(),
        }
    }

    /// The next run of pages of which nothing exists, of at most this many; empty at the end.
    #[must_use]
    pub fn missing(&self, from: u32, most: u32) -> Range<u32> {
        let first = self.next(from, self.len, u64::MAX);
        first..self.next(first, first.saturating_add(most).min(self.len), 0)
    }

    /// The next page whose bit is not that of `skipped`, or the end.
    fn next(&self, from: u32, end: u32, skipped: u64) -> u32 {
        let mut at = from;
        while at < end {
            let others = (self.exists[at as usize / 64] ^ skipped) >> (at % 64);
            if others != 0 {
                return (at + others.trailing_zeros()).min(end);
            }
            at += 64 - at % 64;
        }
        end
    }

    /// The number of sectors of a page that exist, as in commands. A page of which nothing exists is read as a whole:
    /// the device below handles that.
    #[must_use]
    pub fn count(&self, page: u32) -> u16 {
        self.sectors_of(self.sectors(page))
    }

    /// Records that these sectors of a page exist.
    pub fn set(&mut self, page: u32, sectors: u64) {
        let bit = 1 << (page % 64);
        let word = &mut self.exists[page as usize / 64];
        *word = if sectors == 0 { *word & !bit } else { *word | bit };
        let missing = if sectors == 0 { 0 } else { self.whole() & !sectors };
        self.partial |= missing != 0;
        if self.partial {
            self.missing.set(page as usize, missing);
        }
    }

    /// Records that these pages exist as a whole.
    pub fn set_all(&mut self, pages: &[u32]) {
        for (at, &page) in pages.iter().enumerate() {
            if let Some(&ahead) = pages.get(at + AHEAD) {
                self.prefetch(ahead);
            }
            self.set_run(page, 1);
        }
    }

    /// Records that a run of pages exists as a whole.
    #[inline]
    pub fn set_run(&mut self, first: u32, count: u32) {
        if !self.partial {
            return self.set_bits(first, count);
        }
        let whole = self.whole();
        for page in first..first + count {
            self.set(page, whole);
        }
    }

    #[inline]
    fn set_bits(&mut self, first: u32, count: u32) {
        let (mut at, end) = (first, first + count);
        while at < end {
            let bits = (end - at).min(64 - at % 64);
            self.exists[at as usize / 64] |= (u64::MAX >> (64 - bits)) << (at % 64);
            at += bits;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_pages_are_found_run_by_run() {
        let mut pages = SectorMap::new(300, 8);
        assert_eq!(pages.missing(7, 1000), 7..300);
        pages.set_run(0, 70);
        pages.set_run(90, 110);
        assert_eq!(pages.missing(0, 1000), 70..90);
        assert_eq!(pages.missing(0, 5), 70..75);
        assert_eq!(pages.missing(90, 64), 200..264);
        assert_eq!(pages.missing(300, 64), 300..300);
        pages.set_run(200, 100);
        assert_eq!(pages.missing(90, 64), 300..300);
    }

    #[test]
    fn a_run_of_pages_exists_from_its_first_to_its_last_page() {
        for (first, count) in [(0, 1), (3, 61), (60, 8), (63, 130), (64, 64), (199, 1), (5, 0)] {
            let mut pages = SectorMap::new(200, 8);
            pages.set_run(first, count);
            let exist: Vec<u32> = (0..200).filter(|&page| pages.is_whole(page)).collect();
            assert_eq!(exist, (first..first + count).collect::<Vec<_>>());
        }
    }
}
