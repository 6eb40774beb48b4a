//! Similarity of pages, and the scan of recently used pages for references and similar ones.

use crate::kernel::Bits;
use flashkeep_trace::random::mix;

/// The similarity of the contents of pages, in place of signatures: a page in each family is its reference; of the others
/// many are like the reference of some family, and the rest are like nothing. A hash of the page's number
/// decides which.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(in crate::schemes) struct Likeness {
    /// Pages of a family; the last one has the rest besides.
    family: u32,
    families: u32,
    /// Of 2³² pages that are no references, those that are like one.
    similar: u64,
}

/// Pages of a family at this share of references.
fn family(reference_share: f64) -> u64 {
    (1.0 / reference_share).round() as u64
}

/// Of a drive's pages, those that the host sees: each family's reference has a copy besides.
pub(super) fn offered(pages: u64, reference_share: f64) -> u64 {
    let family = family(reference_share);
    pages - pages.div_ceil(family + 1)
}

impl Likeness {
    pub(super) fn new(pages: u64, reference_share: f64, similar_share: f64) -> Self {
        let family = family(reference_share).min(pages.max(1));
        let others = 1.0 - 1.0 / family as f64;
        let similar = if others > 0.0 { (similar_share / others).min(1.0) } else { 0.0 };
        Likeness {
            family: family as u32,
            families: (pages / family).max(1) as u32,
            similar: (similar * (1_u64 << 32) as f64).round() as u64,
        }
    }

    #[cfg(test)]
    fn families(&self) -> u32 {
        self.families
    }

    /// The page that is a family's reference.
    pub(in crate::schemes) fn reference(&self, family: u32) -> u32 {
        family * self.family + (mix(u64::from(family) | 1 << 40) % u64::from(self.family)) as u32
    }

    /// The family whose reference a page is.
    pub(in crate::schemes) fn referred(&self, page: u32) -> Option<u32> {
        let family = (page / self.family).min(self.families - 1);
        (self.reference(family) == page).then_some(family)
    }

    /// The family whose reference a page is like; a reference is like itself.
    pub(in crate::schemes) fn like(&self, page: u32) -> Option<u32> {
        let hash = mix(u64::from(page) | 1 << 41);
        let like = || (mix(hash) % u64::from(self.families)) as u32;
        self.referred(page).or_else(|| (hash >> 32 < self.similar).then(like))
    }
}

/// The pages that were used last.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Recent {
    most: usize,
    /// Those that the last scan saw, the latest first.
    list: Vec<u32>,
    /// The pages used since, the latest last.
    since: Vec<u32>,
    /// Kept for their memory.
    spare: Vec<u32>,
    seen: Bits,
}

impl Recent {
    pub(super) fn new(most: u32) -> Self {
        Recent { most: most as usize, ..Recent::default() }
    }

    /// A page is used; how many were since the last scan.
    pub(super) fn touch(&mut self, page: u32) -> usize {
        self.since.push(page);
        self.since.len()
    }

    /// The pages at the head of a list that is kept by last use, each once.
    pub(super) fn scan(&mut self) -> &[u32] {
        self.spare.clear();
        let Recent { most, list, since, spare, seen } = self;
        for &page in since.iter().rev().chain(list.iter()) {
            if spare.len() == *most {
                break;
            }
            if seen.set(page, true) {
                spare.push(page);
            }
        }
        for &page in spare.iter() {
            seen.set(page, false);
        }
        std::mem::swap(&mut self.list, &mut self.spare);
        self.since.clear();
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_what_was_asked_for() {
        let likeness = Likeness::new(1_000_000, 0.01, 0.85);
        let references = (0..1_000_000).filter(|&page| likeness.referred(page).is_some()).count();
        let similar = (0..1_000_000).filter(|&page| likeness.like(page).is_some()).count() - references;
        assert_eq!(references, 10_000, "one a family");
        assert!((similar as f64 / 850_000.0 - 1.0).abs() < 0.002, "{similar}");
        for family in 0..likeness.families() {
            let reference = likeness.reference(family);
            assert_eq!(
                (likeness.referred(reference), likeness.like(reference)),
                (Some(family), Some(family))
            );
        }
        assert_eq!(offered(101, 0.01), 100);
        assert_eq!((offered(5, 0.5), offered(6, 0.5)), (3, 4));
    }

    #[test]
    fn the_latest_come_first_and_once() {
        let mut recent = Recent::new(3);
        assert_eq!([5, 7, 5, 9].map(|page| recent.touch(page)), [1, 2, 3, 4]);
        assert_eq!(recent.scan(), [9, 5, 7]);
        assert_eq!((recent.touch(7), recent.touch(1)), (1, 2));
        assert_eq!(recent.scan(), [1, 7, 9]);
        assert_eq!(recent.scan(), [1, 7, 9]);
    }
}
