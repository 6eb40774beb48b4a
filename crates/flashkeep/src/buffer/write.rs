//! Writes: what goes to flash at once, what the DRAM takes, and what it gives up for that.

use super::{Below, Buffer, Held, expected};
use crate::engine::{Contents, Flags, Leaves, Merge, Page, Scheme, Verb};
use crate::host::Fragment;

impl<C: Contents> Buffer<C> {
    /// Writes a fragment; false where the DRAM took all of it without giving anything up.
    pub fn write<S: Scheme, L: Leaves<C>>(
        &mut self,
        fragment: Fragment,
        below: &mut Below<'_, S, C, L>,
    ) -> bool {
        if self.lru.is_some() {
            let mut gave = false;
            for page in fragment.page..fragment.page + fragment.count {
                gave |= self.hold(page, fragment.mask, below);
            }
            return gave;
        }
        if fragment.mask == self.pages.whole() {
            self.write_run(fragment.page, fragment.count, below);
        } else {
            let old = expected(&self.oracle, &self.pages, fragment.page);
            let new = self.oracle.write(fragment.page);
            self.store(fragment.page, fragment.mask, old, new, below);
        }
        true
    }

    /// Writes a page again as it is: it belongs to a logical page of which another one is written.
    pub fn rewrite<S: Scheme, L: Leaves<C>>(&mut self, page: u32, below: &mut Below<'_, S, C, L>) {
        let exists = self.pages.sectors(page);
        if exists != 0 {
            let sectors = self.pages.sectors_of(exists);
            let merge = Merge { page: Page(page), old_sectors: sectors, all_sectors: sectors };
            below.merge(merge, C::default());
        }
    }

    /// The sectors of a page go to flash, together with those that are there already.
    fn store<S: Scheme, L: Leaves<C>>(
        &mut self,
        page: u32,
        mask: u64,
        old_contents: C,
        new_contents: C,
        below: &mut Below<'_, S, C, L>,
    ) {
        let old = self.pages.sectors(page);
        let all = old | mask;
        self.pages.set(page, all);
        let all_sectors = self.pages.sectors_of(all);
        if old & !mask == 0 {
            below.run(Verb::Write, page, 1, all_sectors, Flags::NONE, |_| new_contents);
            return;
        }
        let old_sectors = self.pages.sectors_of(old & !mask);
        let merge = Merge { page: Page(page), old_sectors, all_sectors };
        below.merge(merge, new_contents.plus(1, old_contents));
    }

    /// The DRAM takes sectors of a page, giving up what was used longest ago.
    fn hold<S: Scheme, L: Leaves<C>>(
        &mut self,
        page: u32,
        mask: u64,
        below: &mut Below<'_, S, C, L>,
    ) -> bool {
        let in_flash = expected(&self.oracle, &self.pages, page);
        let new = self.oracle.write(page);
        let lru = self.lru.as_mut().expect("there is DRAM");
        let held = lru.touch(page);
        let hit = held.map_or(0, |held| held.sectors) & mask;
        let needed = mask & !hit;
        self.hits.write_hits += u64::from(hit.count_ones());
        self.hits.write_misses += u64::from(needed.count_ones());
        if held.is_none() {
            lru.insert(page, Held { sectors: 0, in_flash, newest: new });
        }
        let mut gave = false;
        // The page itself was just used, so it is given up last, and there is room for a page.
        while self.lru.as_ref().is_some_and(|lru| lru.free() < u64::from(needed.count_ones())) {
            let lru = self.lru.as_mut().expect("there is DRAM");
            let (victim, held) = lru.evict().expect("a full buffer holds something");
            match self.stripe {
                None => self.store(victim, held.sectors, held.in_flash, held.newest, below),
                Some(stripe) => self.give_up_stripe(victim, held, stripe, page, below),
            }
            gave = true;
        }
        self.lru.as_mut().expect("there is DRAM").add(page, needed, new);
        gave
    }

    /// A page, and with it what else the DRAM holds of its stripe but for `kept`, goes to flash: whole pages that lie
    /// side by side as one run.
    fn give_up_stripe<S: Scheme, L: Leaves<C>>(
        &mut self,
        victim: u32,
        held: Held<C>,
        stripe: u32,
        kept: u32,
        below: &mut Below<'_, S, C, L>,
    ) {
        let first = victim - victim % stripe;
        let lru = self.lru.as_mut().expect("there is DRAM");
        let mut gone = |page: u32| if page == victim { Some(held) } else { lru.remove(page) };
        let mut pages = std::mem::take(&mut self.leaving);
        let others = (first..first + stripe).filter(|&page| page != kept);
        pages.extend(others.filter_map(|page| Some((page, gone(page)?))));
        let whole = self.pages.whole();
        let mut at = 0;
        while at < pages.len() {
            let side_by_side =
                |&n: &usize| pages[n].1.sectors == whole && pages[n].0 == pages[at].0 + (n - at) as u32;
            let run = (at..pages.len()).take_while(side_by_side).count();
            let (page, held) = pages[at];
            if run < 2 {
                self.store(page, held.sectors, held.in_flash, held.newest, below);
            } else {
                self.pages.set_run(page, run as u32);
                let newest = |of: u32| pages[at + (of - page) as usize].1.newest;
                below.run(Verb::Write, page, run as u32, 0, Flags::NONE, newest);
            }
            at += run.max(1);
        }
        pages.clear();
        self.leaving = pages;
    }

    /// The pages are zeros from now on; a part of a page that is trimmed stays as it is.
    pub fn trim<S: Scheme, L: Leaves<C>>(&mut self, fragment: Fragment, below: &mut Below<'_, S, C, L>) {
        if fragment.mask != self.pages.whole() {
            return;
        }
        for page in fragment.page..fragment.page + fragment.count {
            self.pages.set(page, 0);
            if let Some(lru) = &mut self.lru {
                lru.remove(page);
            }
        }
        below.run(Verb::Trim, fragment.page, fragment.count, 0, Flags::NONE, |_| C::default());
    }
}
