//! A write cache that survives a power loss: capacitors let the device save what the cache holds, and what has left it
//! and has not reached the media. That takes no time. After the power loss the owner compares the saved pages with what is
//! below the port, and writes out those that are newer, as if the cache evicted them.

use super::{CachedContents, CachedSectors, Port, PortBackend};
use crate::device::contents::Contents;
use crate::kernel::{FixedMap, sorted};

/// What a port knows of its protected cache.
#[derive(Clone, Debug)]
pub(super) struct ProtectedCache<C> {
    is_on: bool,
    /// Whether the power may fail, so that evicted pages are remembered.
    remembers: bool,
    /// The newest contents of each page that has left the cache, and the sectors that were written, whether or not they
    /// have reached the media.
    evicted: SavedPages<C>,
    /// What has been saved in a power loss and not been written out.
    saved: SavedPages<C>,
}

type SavedPages<C> = FixedMap<u64, CachedSectors<CachedContents<C>>>;

impl<C> Default for ProtectedCache<C> {
    fn default() -> Self {
        let (evicted, saved) = Default::default();
        ProtectedCache { is_on: false, remembers: false, evicted, saved }
    }
}

impl<C: Contents> ProtectedCache<C> {
    /// These pages leave the cache.
    #[inline]
    pub(super) fn note_evicted(&mut self, leaving: &[(u64, CachedSectors<CachedContents<C>>)]) {
        if self.remembers {
            leaving.iter().for_each(|&(page, held)| add(&mut self.evicted, page, held));
        }
    }

    /// Pages are written past the cache.
    #[inline]
    pub(super) fn forget_all(&mut self, first: u64, count: u32) {
        if self.remembers {
            (first..first + u64::from(count)).for_each(|page| self.forget(page));
        }
    }

    /// A page is trimmed.
    #[inline]
    pub(super) fn forget(&mut self, page: u64) {
        if self.remembers {
            self.evicted.remove(&page);
            self.saved.remove(&page);
        }
    }

    /// The device fails or is replaced.
    pub(super) fn forget_everything(&mut self) {
        self.evicted.clear();
        self.saved.clear();
    }
}

/// Adds newer sectors of a page.
fn add<C: Contents>(pages: &mut SavedPages<C>, page: u64, newer: CachedSectors<CachedContents<C>>) {
    let held = pages.entry(page).or_default();
    *held = CachedSectors { sectors: held.sectors | newer.sectors, what: newer.what };
}

impl<C: Contents> Port<C> {
    /// The same port, whose cache survives a power loss if it is `protected`.
    #[must_use]
    pub fn with_protection(mut self, protected: bool) -> Self {
        self.protection.is_on = protected && self.cache.is_some();
        self
    }

    /// Whether the cache survives a power loss: what it holds is durable.
    #[must_use]
    #[inline]
    pub fn is_protected(&self) -> bool {
        self.protection.is_on
    }

    /// The power will fail.
    pub fn expect_power_cuts(&mut self) {
        self.protection.remembers = self.protection.is_on;
    }

    /// The power fails: saves what the cache holds, and what has left it.
    pub(super) fn save_protected(&mut self) {
        let (protection, cache) = (&mut self.protection, &self.cache);
        if let (true, Some(cache)) = (protection.is_on, cache) {
            let evicted = std::mem::take(&mut protection.evicted);
            sorted(&evicted).into_iter().for_each(|(page, held)| add(&mut protection.saved, page, held));
            cache.pages().for_each(|(page, held)| add(&mut protection.saved, page, held));
        }
    }

    /// The contents that were saved of a page, unless they are `behind` the port already.
    pub fn saved(&mut self, page: u64, behind: Option<C>) -> Option<C> {
        let saved = self.protection.saved.get(&page)?.what.newest;
        if Some(saved) == behind {
            self.protection.saved.remove(&page);
            return None;
        }
        Some(saved)
    }

    /// Writes the saved pages below the port, as if the cache evicted them.
    pub fn write_out_saved(&mut self, behind: &mut impl PortBackend<C>) {
        let saved = std::mem::take(&mut self.protection.saved);
        for (page, held) in sorted(&saved) {
            self.protection.evicted.insert(page, held);
            self.write_run(page, 1, held.what.origin, None, |_| held.what.newest, behind);
        }
    }

    /// These pages were not below the port before the power failed.
    pub fn forget_saved(&mut self, lacked: impl Fn(u64) -> bool) {
        self.protection.saved.retain(|&page, _| !lacked(page));
    }

    /// After a power cut, the cache holds the saved pages again, also those that had left it, until the owner has it write
    /// them out: all but those that are `dropped`, which is asked with each page and its contents.
    pub fn restore_saved(&mut self, mut dropped: impl FnMut(u64, C) -> bool) {
        let saved = std::mem::take(&mut self.protection.saved);
        for (page, held) in sorted(&saved) {
            if let (false, Some(cache)) = (dropped(page, held.what.newest), &mut self.cache) {
                cache.restore(page, held, held.what.origin.cache_share);
            }
        }
    }

    /// A page that the cache holds is wrong.
    pub fn discard(&mut self, page: u64) {
        if let Some(cache) = &mut self.cache {
            cache.remove(page);
        }
        self.protection.forget(page);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{EvictedPages, PartialPages};
    use super::*;
    use crate::device::command::Origin;
    use crate::device::contents::Token;

    fn held(sectors: u64, stamp: u64) -> CachedSectors<CachedContents<Token>> {
        CachedSectors { sectors, what: CachedContents { newest: Token(stamp), origin: Origin::host(0) } }
    }

    #[test]
    fn what_was_held_and_what_had_left_is_in_the_cache_again() {
        let mut port = Port::new(8, 4, 4, EvictedPages::default(), PartialPages::Merge).with_protection(true);
        port.expect_power_cuts();
        port.protection.note_evicted(&[(1, held(0b0011, 10)), (2, held(0b1111, 20)), (3, held(0b1111, 30))]);
        port.protection.note_evicted(&[(1, held(0b0100, 11))]);
        let cache = port.cache.as_mut().expect("there is one");
        cache.restore(2, held(0b0001, 21), 0);
        cache.restore(4, held(0b0001, 40), 0);
        port.cut_power();
        assert!(!port.holds_pages());
        port.forget_saved(|page| page == 3);
        port.restore_saved(|_, contents| contents == Token(40));
        assert_eq!((port.newest(1), port.cached(1)), (Some(Token(11)), 0b0111));
        assert_eq!((port.newest(2), port.cached(2)), (Some(Token(21)), 0b1111));
        assert_eq!((port.newest(3), port.newest(4)), (None, None));
        // More than there is room for.
        assert_eq!(port.held(), 7);
        port.fail();
        port.cut_power();
        port.restore_saved(|_, _| false);
        assert!(!port.holds_pages(), "a device that failed has lost it");
    }
}
