//! The expected contents of every logical page: the page's version determines its contents.
//!
//! Two bytes per page that has been written; the token of a version repeats after 65,536 writes of the same page.

use crate::engine::{Contents, FixedMap, Version};
use crate::kernel::Sparse;
use std::marker::PhantomData;

/// The expected result of a read.
#[derive(Clone, Copy, Debug)]
pub struct Expected<C> {
    /// The page's place in its request.
    pub slot: u32,
    page: u64,
    contents: C,
    /// If the page was a known zero: the newest version that a trim discarded.
    trimmed: Option<u16>,
}

impl<C: Contents> Expected<C> {
    /// The contents.
    #[must_use]
    pub fn contents(&self) -> C {
        self.contents
    }
}

/// The expected contents of every page; empty if contents are not kept.
#[derive(Clone, Debug)]
pub struct Oracle<C> {
    versions: Sparse<u16>,
    /// For each page that has been trimmed, its version at the last trim.
    trimmed: FixedMap<u64, u16>,
    /// Pages that hold other contents than their latest version, because of a power cut.
    fallen_back: FixedMap<u64, C>,
    contents: PhantomData<C>,
}

/// Pages that have never been written.
impl<C> Default for Oracle<C> {
    fn default() -> Self {
        Oracle::restored(Sparse::default())
    }
}

impl<C> Oracle<C> {
    /// An oracle with these numbers of writes.
    #[must_use]
    pub fn restored(versions: Sparse<u16>) -> Self {
        let (trimmed, fallen_back) = (FixedMap::default(), FixedMap::default());
        Oracle { versions, trimmed, fallen_back, contents: PhantomData }
    }
}

impl<C: Contents> Oracle<C> {
    /// The number of writes of each page.
    #[must_use]
    pub fn versions(&self) -> &Sparse<u16> {
        &self.versions
    }

    /// The contents of a page that exists.
    #[must_use]
    #[inline]
    pub fn current(&self, page: u64) -> C {
        if !C::KEEP {
            return C::default();
        }
        if !self.fallen_back.is_empty()
            && let Some(&contents) = self.fallen_back.get(&page)
        {
            return contents;
        }
        C::token(Version::Written(page, self.version(page)).stamp())
    }

    /// The number of writes of a page, modulo 2¹⁶; only if contents are kept.
    #[must_use]
    #[inline]
    pub fn version(&self, page: u64) -> u16 {
        self.versions.get(page)
    }

    /// Until it is written, the page is expected to hold this.
    pub fn fall_back(&mut self, page: u64, contents: C) {
        self.fallen_back.remove(&page);
        if contents != self.current(page) {
            self.fallen_back.insert(page, contents);
        }
    }

    /// Sets the contents of a page before its first write, if they become known later.
    #[must_use]
    pub fn before(&self, page: u64) -> C {
        C::token(Version::Before(page).stamp())
    }

    /// Until it is written, the page is expected to be a known zero.
    pub fn trim(&mut self, page: u64) {
        if C::KEEP {
            self.trimmed.insert(page, self.version(page));
        }
    }

    /// The expected result of a read that is submitted now.
    #[must_use]
    pub fn expect(&self, slot: u32, page: u64, contents: C) -> Expected<C> {
        let trimmed = if contents == C::default() { self.trimmed.get(&page).copied() } else { None };
        Expected { slot, page, contents, trimmed }
    }

    /// Whether the contents returned by a read are right. A read that involved a repair or that a scheme redirected
    /// (`may_be_newer`) may also return the contents of writes and trims since the read was submitted.
    #[must_use]
    pub fn accepts(&self, expected: &Expected<C>, found: C, may_be_newer: bool) -> bool {
        found == expected.contents || may_be_newer && self.is_newer(expected, found)
    }

    #[cold]
    fn is_newer(&self, expected: &Expected<C>, found: C) -> bool {
        let Expected { page, contents, trimmed, .. } = *expected;
        let than = match (Version::of(contents.stamp()), trimmed) {
            (Some(version), _) if contents != C::default() => version,
            (_, Some(version)) => Version::Written(page, version),
            _ => Version::Before(page),
        };
        if found == C::default() {
            let trimmed = self.trimmed.get(&page).map(|&version| Version::Written(page, version));
            return trimmed.is_some_and(|trimmed| trimmed == than || trimmed.is_newer_than(than));
        }
        Version::of(found.stamp()).is_some_and(|found| found.is_newer_than(than))
    }

    /// Counts a write of the page and returns the page's new contents.
    #[inline]
    pub fn write(&mut self, page: u64) -> C {
        if C::KEEP {
            self.versions.set(page, self.versions.get(page).wrapping_add(1));
            if !self.fallen_back.is_empty() {
                self.fallen_back.remove(&page);
            }
        }
        self.current(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Token;

    #[test]
    fn only_what_took_part_in_a_repair_may_be_newer_and_nothing_may_be_older() {
        let mut oracle = Oracle::<Token>::default();
        let zero = Token::default();
        let of_nothing = oracle.expect(0, 2, zero);
        let first = oracle.write(2);
        let of_first = oracle.expect(0, 2, first);
        let second = oracle.write(2);
        let of_second = oracle.expect(0, 2, second);
        assert!(oracle.accepts(&of_first, first, false) && !oracle.accepts(&of_first, second, false));
        assert!(oracle.accepts(&of_first, second, true) && !oracle.accepts(&of_second, first, true));
        assert!(oracle.accepts(&of_nothing, second, true) && !oracle.accepts(&of_nothing, second, false));
        assert!(!oracle.accepts(&of_first, zero, true), "it has not been trimmed");
        oracle.trim(2);
        let of_trimmed = oracle.expect(0, 2, zero);
        assert!(oracle.accepts(&of_first, zero, true) && oracle.accepts(&of_second, zero, true));
        assert!(!oracle.accepts(&of_second, zero, false));
        assert!(!oracle.accepts(&of_trimmed, second, true), "what was trimmed does not come back");
        let third = oracle.write(2);
        assert!(oracle.accepts(&of_trimmed, third, true));
        assert!(!oracle.accepts(&oracle.expect(0, 2, third), zero, true), "the trim came before it");
        assert!(!oracle.accepts(&of_first, oracle.current(3), true), "another page");
    }
}
