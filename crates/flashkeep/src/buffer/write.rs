//! Writes: what goes to flash at once, what the DRAM takes, and what it gives up for that.

use super::{Below, Buffer, Versions, expected};
use crate::engine::{Contents, Flags, Leaves, Merge, Page, Scheme, Verb};
use crate::front::side_by_side;
use crate::host::Fragment;

impl<C: Contents> Buffer<C> {
    /// Writes a fragment; false where the DRAM took all of it without giving anything up.
    pub fn write<S: Scheme, L: Leaves<C>>(
        &mut self,
        fragment: Fragment,
        below: &mut Below<'_, S, C, L>,
    ) -> bool {
        if self.dram.is_some() {
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
        let newest = self.oracle.write(page);
        let dram = self.dram.as_mut().expect("there is DRAM");
        let held = if C::KEEP { dram.get(page) } else { None };
        let in_flash = held.map_or(in_flash, |held| held.what.in_flash);
        let versions = Versions { in_flash, newest };
        let needed = dram.open(page, mask, versions);
        let mut gave = false;
        while self.dram.as_mut().is_some_and(|dram| dram.make_room(needed, page)) {
            self.give_up(below);
            gave = true;
        }
        self.dram.as_mut().expect("there is DRAM").add(page, needed, versions);
        gave
    }

    /// What leaves the DRAM goes to flash: whole pages that lie side by side as one run.
    fn give_up<S: Scheme, L: Leaves<C>>(&mut self, below: &mut Below<'_, S, C, L>) {
        let leaving = self.dram.as_mut().expect("there is DRAM").leaving();
        let mut at = 0;
        while at < leaving.len() {
            let run = side_by_side(&leaving[at..], self.pages.whole());
            let (page, held) = leaving[at];
            if run < 2 {
                self.store(page, held.sectors, held.what.in_flash, held.what.newest, below);
            } else {
                self.pages.set_run(page, run as u32);
                let newest = |of: u32| leaving[at + (of - page) as usize].1.what.newest;
                below.run(Verb::Write, page, run as u32, 0, Flags::NONE, newest);
            }
            at += run.max(1);
        }
        self.dram.as_mut().expect("there is DRAM").gone(leaving);
    }

    /// The pages are zeros from now on; a part of a page that is trimmed stays as it is.
    pub fn trim<S: Scheme, L: Leaves<C>>(&mut self, fragment: Fragment, below: &mut Below<'_, S, C, L>) {
        if fragment.mask != self.pages.whole() {
            return;
        }
        for page in fragment.page..fragment.page + fragment.count {
            self.pages.set(page, 0);
            self.oracle.trim(page);
            if let Some(dram) = &mut self.dram {
                dram.remove(page);
            }
        }
        below.run(Verb::Trim, fragment.page, fragment.count, 0, Flags::NONE, |_| C::default());
    }
}
