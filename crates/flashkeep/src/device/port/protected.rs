//! A write cache that survives a power loss: capacitors let the device save what the cache holds, and what has left it
//! and has not reached the media. That takes no time. After the power loss the owner compares the saved pages with what is
//! behind the port, and writes out those that are newer, as if the cache evicted them.

use super::{CachedContents, CachedSectors, Port, PortBackend};
use crate::device::command::Cause;
use crate::device::contents::Contents;
use crate::kernel::{FixedMap, sorted};

/// What a port knows of its protected cache.
#[derive(Clone, Debug)]
pub(super) struct ProtectedCache<C> {
    is_on: bool,
    /// Whether the power may fail, so that evicted pages are remembered.
    remembers: bool,
    /// The newest contents of each page that has left the cache, whether or not it has reached the media.
    evicted: FixedMap<u32, C>,
    /// What has been saved in a power loss and not been written out.
    saved: FixedMap<u32, C>,
}

impl<C> Default for ProtectedCache<C> {
    fn default() -> Self {
        let (evicted, saved) = Default::default();
        ProtectedCache { is_on: false, remembers: false, evicted, saved }
    }
}

impl<C: Contents> ProtectedCache<C> {
    /// These pages leave the cache.
    #[inline]
    pub(super) fn note_evicted(&mut self, leaving: &[(u32, CachedSectors<CachedContents<C>>)]) {
        if self.remembers {
            self.evicted.extend(leaving.iter().map(|(page, held)| (*page, held.what.newest)));
        }
    }

    /// Pages are written past the cache.
    #[inline]
    pub(super) fn forget_all(&mut self, first: u32, count: u32) {
        if self.remembers {
            (first..first + count).for_each(|page| self.forget(page));
        }
    }

    /// A page is trimmed.
    #[inline]
    pub(super) fn forget(&mut self, page: u32) {
        if self.remembers {
            self.evicted.remove(&page);
            self.saved.remove(&page);
        }
    }
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
            protection.saved.extend(sorted(&evicted));
            protection.saved.extend(cache.pages().map(|(page, held)| (page, held.what.newest)));
        }
    }

    /// The contents that were saved of a page, unless they are `behind` the port already.
    pub fn saved(&mut self, page: u32, behind: Option<C>) -> Option<C> {
        let saved = self.protection.saved.get(&page).copied()?;
        if Some(saved) == behind {
            self.protection.saved.remove(&page);
            return None;
        }
        Some(saved)
    }

    /// Writes the saved pages behind the port, as if the cache evicted them.
    pub fn write_out_saved(&mut self, behind: &mut impl PortBackend<C>) {
        let saved = std::mem::take(&mut self.protection.saved);
        for (page, contents) in sorted(&saved) {
            self.protection.evicted.insert(page, contents);
            self.write_run(page, 1, Cause::Host, None, |_| contents, behind);
        }
    }
}
