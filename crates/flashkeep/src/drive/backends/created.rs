//! The pages that have been created of a backend all of whose pages have places.

use crate::kernel::Bits;
use std::ops::Range;

/// A set of pages below a limit: runs, and single ones.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Created {
    limit: u32,
    /// Apart from each other, ascending.
    runs: Vec<Range<u32>>,
    single: Bits,
}

impl Created {
    pub(super) fn none_of(limit: u32) -> Self {
        Created { limit, runs: Vec::new(), single: Bits::default() }
    }

    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    pub(in crate::drive) fn has(&self, page: u32) -> bool {
        let after = self.runs.partition_point(|run| run.end <= page);
        self.single.has(page) || self.runs.get(after).is_some_and(|run| run.contains(&page))
    }

    /// Adds pages; returns how many are new. Longer runs come in order, and hold none of the pages that are there.
    pub(super) fn add(&mut self, pages: Range<u32>) -> u64 {
        let pages = pages.start..pages.end.min(self.limit);
        if pages.len() <= 1 {
            return pages.filter(|&page| !self.has(page) && self.single.set(page, true)).count() as u64;
        }
        let count = u64::from(pages.end - pages.start);
        match self.runs.last_mut() {
            Some(last) if last.end == pages.start => last.end = pages.end,
            _ => self.runs.push(pages),
        }
        count
    }

    /// The pages below the limit that are not in the set.
    pub(in crate::drive) fn others(&self) -> impl Iterator<Item = u32> {
        let ends = std::iter::once(0).chain(self.runs.iter().map(|run| run.end));
        let starts = self.runs.iter().map(|run| run.start).chain(std::iter::once(self.limit));
        ends.zip(starts).flat_map(|(from, to)| from..to).filter(|&page| !self.single.has(page))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_created_once() {
        let mut created = Created::none_of(22);
        let news = [created.add(2..6), created.add(6..9), created.add(12..20), created.add(9..10)];
        assert_eq!(created.add(22..23), 0);
        assert_eq!((news, created.add(9..10), created.add(13..14)), ([4, 3, 8, 1], 0, 0));
        assert_eq!(created.runs, [2..9, 12..20]);
        assert!(created.has(2) && created.has(9) && !created.has(10) && !created.has(20));
        assert_eq!(created.others().collect::<Vec<_>>(), [0, 1, 10, 11, 20, 21]);
    }
}
