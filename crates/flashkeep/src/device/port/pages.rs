//! The sectors of each page that exist below the port: a set of pages, and a mask for pages that exist in part.

use super::super::command::Sectors;
use crate::kernel::{Bits, Sparse};
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
    len: u64,
    page_sectors: u32,
    /// Pages of which some sectors exist.
    exists: Bits,
    /// Pages that existed and were trimmed.
    gone: Bits,
    /// The missing sectors of each page that exists, in the narrowest integers that hold a page's mask.
    missing: MissingSectors,
    /// Whether any page exists in part.
    partial: bool,
}

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
enum MissingSectors {
    Byte(Sparse<u8>),
    Word(Sparse<u16>),
    Long(Sparse<u32>),
    Full(Sparse<u64>),
}

impl MissingSectors {
    fn get(&self, page: u64) -> u64 {
        match self {
            MissingSectors::Byte(masks) => u64::from(masks.get(page)),
            MissingSectors::Word(masks) => u64::from(masks.get(page)),
            MissingSectors::Long(masks) => u64::from(masks.get(page)),
            MissingSectors::Full(masks) => masks.get(page),
        }
    }

    fn set(&mut self, page: u64, mask: u64) {
        match self {
            MissingSectors::Byte(masks) => masks.set(page, mask as u8),
            MissingSectors::Word(masks) => masks.set(page, mask as u16),
            MissingSectors::Long(masks) => masks.set(page, mask as u32),
            MissingSectors::Full(masks) => masks.set(page, mask),
        }
    }
}

impl SectorMap {
    /// Pages of which nothing exists.
    #[must_use]
    pub fn new(len: u64, page_sectors: u32) -> Self {
        let missing = match page_sectors {
            0..=8 => MissingSectors::Byte(Sparse::default()),
            9..=16 => MissingSectors::Word(Sparse::default()),
            17..=32 => MissingSectors::Long(Sparse::default()),
            _ => MissingSectors::Full(Sparse::default()),
        };
        SectorMap {
            len,
            page_sectors,
            exists: Bits::default(),
            gone: Bits::default(),
            missing,
            partial: false,
        }
    }

    /// The number of pages.
    #[must_use]
    pub fn len(&self) -> u64 {
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

    /// The pages of which some sectors exist.
    #[must_use]
    pub fn existing(&self) -> &Bits {
        &self.exists
    }

    /// The pages that exist, or existed before they were trimmed, ascending.
    #[must_use]
    pub fn ever_existing(&self) -> Vec<u64> {
        let mut pages = self.exists.clone();
        self.gone.runs().for_each(|run| pages.set_run(run, true));
        pages.iter().collect()
    }

    /// Prefetches a page's bit.
    #[inline]
    pub fn prefetch(&self, page: u64) {
        self.exists.prefetch(page);
    }

    /// The sectors that exist of a page.
    #[must_use]
    #[inline]
    pub fn sectors(&self, page: u64) -> u64 {
        match (self.exists.has(page), self.partial) {
            (false, _) => 0,
            (true, false) => self.whole(),
            (true, true) => self.whole() & !self.missing.get(page),
        }
    }

    /// Whether all of a page exists.
    #[must_use]
    #[inline]
    pub fn is_whole(&self, page: u64) -> bool {
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
    pub fn missing(&self, from: u64, most: u64) -> Range<u64> {
        let first = self.exists.next(from, self.len, false);
        first..self.exists.next(first, first.saturating_add(most).min(self.len), true)
    }

    /// The number of sectors of a page that exist, as in commands. A page of which nothing exists is read as a whole:
    /// the device below handles that.
    #[must_use]
    pub fn count(&self, page: u64) -> u16 {
        self.sectors_of(self.sectors(page))
    }

    /// Records that these sectors of a page exist.
    pub fn set(&mut self, page: u64, sectors: u64) {
        if self.exists.set(page, sectors != 0) && sectors == 0 {
            self.gone.set(page, true);
        }
        let missing = if sectors == 0 { 0 } else { self.whole() & !sectors };
        self.partial |= missing != 0;
        if self.partial {
            self.missing.set(page, missing);
        }
    }

    /// Records that these pages exist as a whole.
    pub fn set_all(&mut self, pages: &[u32]) {
        for (at, &page) in pages.iter().enumerate() {
            if let Some(&ahead) = pages.get(at + AHEAD) {
                self.prefetch(ahead.into());
            }
            self.set_run(page.into(), 1);
        }
    }

    /// Records that a run of pages exists as a whole.
    #[inline]
    pub fn set_run(&mut self, first: u64, count: u64) {
        if !self.partial {
            return self.exists.set_run(first..first + count, true);
        }
        let whole = self.whole();
        for page in first..first + count {
            self.set(page, whole);
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
            let exist: Vec<u64> = (0..200).filter(|&page| pages.is_whole(page)).collect();
            assert_eq!(exist, (first..first + count).collect::<Vec<_>>());
        }
    }
}
