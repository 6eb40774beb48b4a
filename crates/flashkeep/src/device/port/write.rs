//! Writes of a port: to its cache or below it, with the old part of a page that is written in part.

use super::cache::side_by_side;
use super::{CachedContents, CachedSectors, Fragment, Merge, PartialPages, Port, PortBackend, Run};
use crate::device::command::{Origin, Sectors};
use crate::device::contents::Contents;

impl<C: Contents> Port<C> {
    /// Writes a fragment, whose pages are to hold `contents`; false if the cache took all of it without evicting.
    #[inline]
    pub fn write(
        &mut self,
        fragment: Fragment,
        origin: Origin,
        at: u32,
        contents: impl Fn(u64) -> C,
        behind: &mut impl PortBackend<C>,
    ) -> bool {
        if self.cache.is_some() {
            let mut evicted = false;
            for n in 0..fragment.count {
                let page = fragment.page + u64::from(n);
                let kept = CachedContents { newest: contents(page), origin };
                evicted |= self.hold(page, fragment.mask, kept, behind);
            }
            return evicted;
        }
        if self.copies.is_some() {
            self.copy_written(fragment, &contents, behind);
        }
        let Fragment { page, count, mask, continues } = fragment;
        if mask == self.pages.whole() {
            self.note_run(page, count, &contents);
            let continues = continues && self.parts == PartialPages::PassOn;
            behind.write(Run { continues, ..Run::whole(page, count) }, origin, Some(at), contents);
        } else {
            self.store(page, mask, CachedContents { newest: contents(page), origin }, continues, behind);
        }
        true
    }

    /// A fragment is written below the port: keeps a copy, unless something has failed there, so that the write may have
    /// no effect.
    #[inline(never)]
    fn copy_written(
        &mut self,
        fragment: Fragment,
        contents: &impl Fn(u64) -> C,
        behind: &impl PortBackend<C>,
    ) {
        let Some(copies) = &mut self.copies else { return };
        copies.go_on(behind.now(), behind.failures());
        for page in fragment.page..fragment.page + u64::from(fragment.count) {
            if behind.stores() {
                copies.write(page, fragment.mask, contents(page));
            } else {
                copies.forget(page);
            }
        }
    }

    /// Pages change below the port by other ways.
    #[inline]
    pub(super) fn forget_copies(&mut self, first: u64, count: u32) {
        if let Some(copies) = &mut self.copies {
            (first..first + u64::from(count)).for_each(|page| copies.forget(page));
        }
    }

    /// Writes a fragment past the cache, together with what the cache holds of a page that is written in part. The cache
    /// holds nothing of these pages any more.
    pub fn force(
        &mut self,
        fragment: Fragment,
        origin: Origin,
        contents: impl Fn(u64) -> C,
        behind: &mut impl PortBackend<C>,
    ) {
        if self.copies.is_some() {
            self.copy_written(fragment, &contents, behind);
        }
        let Fragment { page, count, mask, .. } = fragment;
        let mut held = 0;
        for page in page..page + u64::from(count) {
            held |= self.cached(page);
            if let Some(cache) = &mut self.cache {
                cache.remove(page);
            }
        }
        if mask == self.pages.whole() {
            self.note_run(page, count, &contents);
            return behind.write(Run::whole(page, count), origin, Some(0), contents);
        }
        let kept = CachedContents { newest: contents(page), origin };
        self.store(page, mask | held, kept, false, behind);
    }

    /// Writes whole pages of which the cache holds nothing.
    #[inline]
    pub fn write_run(
        &mut self,
        first: u64,
        count: u32,
        origin: Origin,
        at: Option<u32>,
        contents: impl Fn(u64) -> C,
        behind: &mut impl PortBackend<C>,
    ) {
        self.forget_copies(first, count);
        self.note_run(first, count, &contents);
        behind.write(Run::whole(first, count), origin, at, contents);
    }

    /// Records that whole pages are written below the port.
    #[inline]
    pub(super) fn note_run(&mut self, first: u64, count: u32, contents: &impl Fn(u64) -> C) {
        if self.parts == PartialPages::AsTheyAre {
            return;
        }
        self.pages.set_run(first, count.into());
        if C::KEEP {
            (first..first + u64::from(count)).for_each(|page| self.set_stored(page, contents(page)));
        }
    }

    /// Writes the sectors of a page below the port, merged with those that are there already.
    pub(super) fn store(
        &mut self,
        page: u64,
        mask: u64,
        kept: CachedContents<C>,
        continues: bool,
        behind: &mut impl PortBackend<C>,
    ) {
        let CachedContents { newest, origin } = kept;
        if self.parts == PartialPages::AsTheyAre {
            let sectors = Sectors::first(self.pages.sectors_of(mask));
            return behind.write(Run::part(page, sectors), origin, None, |_| newest);
        }
        let (old, was) = (self.pages.sectors(page), self.stored(page));
        let all = old | mask;
        self.pages.set(page, all);
        self.set_stored(page, newest);
        let part =
            self.pages.part(mask).filter(|_| self.parts == PartialPages::PassOn && behind.is_healthy());
        if let Some(sectors) = part {
            let run = Run { continues, ..Run::part(page, sectors) };
            return behind.write(run, origin, None, |_| newest);
        }
        // A device that merges by itself treats a number of sectors as the first ones of a page: it is given all.
        let count = |mask| if self.parts == PartialPages::PassOn { 0 } else { self.pages.sectors_of(mask) };
        if old & !mask == 0 {
            let run = Run::part(page, Sectors::first(count(all)));
            return behind.write(run, origin, None, |_| newest);
        }
        behind.merge(Merge::new(page, [count(old & !mask), count(all)], origin), newest.plus(1, was));
    }

    /// Rewrites a page unchanged, because another page of the same logical page is written.
    pub fn rewrite(&mut self, page: u64, handle: u8, behind: &mut impl PortBackend<C>) {
        let exists = self.pages.sectors(page);
        if exists != 0 {
            let sectors = self.pages.sectors_of(exists);
            behind.merge(Merge::new(page, [sectors; 2], Origin::host(handle)), C::default());
        }
    }

    /// Writes sectors of a page to the cache, which evicts the least recently used pages if it has no room.
    fn hold(
        &mut self,
        page: u64,
        mask: u64,
        kept: CachedContents<C>,
        behind: &mut impl PortBackend<C>,
    ) -> bool {
        let cache = self.cache.as_mut().expect("there is a cache");
        let (slot, needed) = cache.open(page, mask, kept, kept.origin.cache_share);
        let mut evicted = false;
        while self.cache.as_mut().is_some_and(|cache| cache.make_room(needed, page)) {
            self.evict(behind);
            evicted = true;
        }
        let cache = self.cache.as_mut().expect("there is a cache");
        if evicted && let Some(next) = cache.next_victim(page) {
            self.pages.prefetch(next);
            behind.prefetch(next);
        }
        cache.add(slot, needed, kept);
        evicted
    }

    /// Writes all that the cache holds below the port.
    pub fn write_back(&mut self, behind: &mut impl PortBackend<C>) {
        let sectors = self.flush_all(behind);
        if let Some(cache) = &mut self.cache {
            cache.write_back.leaving -= sectors;
        }
    }

    /// Writes evicted pages below the port: consecutive whole pages with the same cause and handle as one run.
    pub(super) fn evict(&mut self, behind: &mut impl PortBackend<C>) {
        let leaving = self.cache.as_mut().expect("there is a cache").leaving();
        self.protection.note_evicted(&leaving);
        let mut rest = &leaving[..];
        while let Some(&(page, held)) = rest.first() {
            let origin = held.what.origin;
            let alike = rest.iter().take_while(|(_, held)| held.what.origin == origin).count();
            let run = side_by_side(rest, self.pages.whole()).min(alike);
            if run < 2 {
                self.store(page, held.sectors, held.what, false, behind);
            } else {
                let newest = |of: u64| rest[(of - page) as usize].1.what.newest;
                self.write_run(page, run as u32, origin, None, newest, behind);
            }
            rest = &rest[run.max(1)..];
        }
        if self.logical_page > 1 {
            self.rewrite_the_rest(&leaving, behind);
        }
        self.cache.as_mut().expect("there is a cache").gone(leaving);
    }

    /// A logical page is written as a whole if a part of it leaves the cache: its other pages are rewritten unchanged.
    #[cold]
    fn rewrite_the_rest(
        &mut self,
        leaving: &[(u64, CachedSectors<CachedContents<C>>)],
        behind: &mut impl PortBackend<C>,
    ) {
        let logical = u64::from(self.logical_page);
        let mut before = None;
        for &(page, held) in leaving {
            let first = page - page % logical;
            if before.replace(first) == Some(first) {
                continue;
            }
            for page in first..(first + logical).min(self.pages.len()) {
                if !leaving.iter().any(|&(left, _)| left == page) {
                    self.rewrite(page, held.what.origin.handle, behind);
                }
            }
        }
    }
}
