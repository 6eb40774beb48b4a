//! Above the redundancy: which sectors of a page exist, what the DRAM holds, and the one place where the old part of
//! a page is merged with the new (a drive without DRAM has a buffer of size 0).

mod options;
mod pages;
mod write;

pub use options::{Existing, PartialWrites};
pub use pages::Pages;

use crate::engine::{Command, Contents, Engine, Flags, Leaves, Merge, Page, Scheme, Ticket, Verb};
use crate::front::{Dram, Hits};
use crate::host::{Expected, Fragment, Oracle};
use crate::image::{Reader, Writer};
use crate::kernel::SimTime;

/// What is known of a page in DRAM.
#[derive(Clone, Copy, Debug, Default)]
struct Versions<C> {
    /// What flash holds for it meanwhile.
    in_flash: C,
    /// What it holds for the host.
    newest: C,
}

/// The buffer of a drive.
#[derive(Clone, Debug)]
pub struct Buffer<C> {
    pages: Pages,
    dram: Option<Dram<Versions<C>>>,
    existing: Existing,
    /// What each page ought to hold.
    oracle: Oracle<C>,
    /// Pages that were read, having been neither written nor there before time 0.
    pub first_touches: u64,
}

/// What the buffer works through: the tree below, and the request above.
pub struct Below<'a, S, C, L> {
    /// The executor.
    pub engine: &'a mut Engine<S, C>,
    /// The leaves.
    pub leaves: &'a mut L,
    /// The instant.
    pub now: SimTime,
    /// The request.
    pub request: Ticket,
    /// What its reads must return.
    pub expected: &'a mut Vec<Expected<C>>,
}

impl<S: Scheme, C: Contents, L: Leaves<C>> Below<'_, S, C, L> {
    fn run(
        &mut self,
        verb: Verb,
        page: u32,
        count: u32,
        sectors: u16,
        flags: Flags,
        contents: impl Fn(u32) -> C,
    ) {
        let mut at = 0;
        while at < count {
            let piece = (count - at).min(u32::from(u16::MAX));
            let ticket = self.engine.extend(self.request, (at..at + piece).map(|n| contents(page + n)));
            let mut command = Command::new(verb, Page(page + at), piece as u16);
            (command.sectors, command.flags) = (sectors, flags);
            self.engine.submit(self.leaves, self.now, command, ticket);
            at += piece;
        }
    }

    /// Reads pages, which must return `contents`.
    fn read(&mut self, oracle: &Oracle<C>, page: u32, count: u32, sectors: u16, contents: impl Fn(u32) -> C) {
        self.expect(oracle, page, count, contents);
        self.run(Verb::Read, page, count, sectors, Flags::NONE, |_| C::default());
    }

    #[inline]
    fn expect(&mut self, oracle: &Oracle<C>, page: u32, count: u32, contents: impl Fn(u32) -> C) {
        if C::KEEP {
            let first = self.engine.pages(self.request.owner).len() as u32;
            let expect = |n| oracle.expect(first + n, page + n, contents(page + n));
            self.expected.extend((0..count).map(expect));
        }
    }

    fn merge(&mut self, merge: Merge, difference: C) {
        let ticket = self.engine.extend(self.request, std::iter::once(difference));
        self.engine.merge(self.leaves, self.now, merge, ticket);
    }
}

impl<C: Contents> Buffer<C> {
    /// The buffer of a drive of `pages` pages of `page_sectors` sectors, with DRAM for `dram_sectors`, which gives up
    /// stripes of so many pages together, if it does.
    #[must_use]
    pub fn new(
        pages: u32,
        page_sectors: u32,
        dram_sectors: u64,
        stripe: Option<u32>,
        existing: Existing,
    ) -> Self {
        Buffer {
            pages: Pages::new(pages, page_sectors),
            dram: Dram::new(dram_sectors, stripe),
            existing,
            oracle: Oracle::new(pages),
            first_touches: 0,
        }
    }

    /// Whether the DRAM holds anything.
    #[must_use]
    pub fn holds_pages(&self) -> bool {
        self.dram.as_ref().is_some_and(|dram| !dram.is_empty())
    }

    /// Sector hits and misses of the DRAM.
    #[must_use]
    pub fn hits(&self) -> Hits {
        self.dram.as_ref().map_or(Hits::default(), |dram| dram.hits)
    }

    /// Adds which pages there are, and what they ought to hold.
    pub fn save(&self, image: &mut Writer) {
        image.put(&self.pages);
        image.put(self.oracle.versions());
    }

    /// Takes over which pages there are.
    ///
    /// # Errors
    /// In words: it is not the state of such a drive.
    pub fn load(&mut self, image: &mut Reader) -> Result<(), String> {
        self.pages = image.take()?;
        let versions = image.take()?;
        if C::KEEP {
            self.oracle = Oracle::restored(versions);
        }
        Ok(())
    }

    /// Whole pages have been written by a way that does not lead through here.
    pub fn set_written(&mut self, pages: &[u32]) {
        self.pages.set_all(pages);
    }

    /// Asks for a page's bit before it is wanted.
    #[inline]
    pub fn prefetch(&self, page: Page) {
        self.pages.prefetch(page.0);
    }

    /// Sectors in a page.
    #[must_use]
    pub fn page_sectors(&self) -> u32 {
        self.pages.page_sectors()
    }

    /// Which sectors of each page exist in flash.
    #[must_use]
    pub fn pages(&self) -> &Pages {
        &self.pages
    }

    /// Pages come to exist before time 0 (or, at first touch, as if they had been there).
    pub fn create<S: Scheme, L: Leaves<C>>(&mut self, fragment: Fragment, below: &mut Below<'_, S, C, L>) {
        for page in fragment.page..fragment.page + fragment.count {
            let old = self.pages.sectors(page);
            self.pages.set(page, old | fragment.mask);
            if old == 0 {
                let contents = self.contents_before(page);
                below.run(Verb::Write, page, 1, 0, Flags::BEFORE, |_| contents);
            }
        }
    }

    /// What a page held before time 0: not what the DRAM holds for it meanwhile.
    fn contents_before(&mut self, page: u32) -> C {
        if C::KEEP
            && let Some(dram) = &mut self.dram
            && let Some(held) = dram.get(page)
        {
            let before = self.oracle.before(page);
            dram.set(page, Versions { in_flash: before, ..held.what });
            return before;
        }
        self.oracle.current(page)
    }

    /// A run of whole pages comes to exist before time 0, none of which did.
    pub fn create_run<S: Scheme, L: Leaves<C>>(
        &mut self,
        first: u32,
        count: u32,
        below: &mut Below<'_, S, C, L>,
    ) {
        self.pages.set_run(first, count);
        let oracle = &self.oracle;
        below.run(Verb::Write, first, count, 0, Flags::BEFORE, |page| oracle.current(page));
    }

    /// Writes a run of whole pages past the DRAM.
    pub fn write_run<S: Scheme, L: Leaves<C>>(
        &mut self,
        first: u32,
        count: u32,
        below: &mut Below<'_, S, C, L>,
    ) {
        if C::KEEP {
            for page in first..first + count {
                self.oracle.write(page);
            }
        }
        self.pages.set_run(first, count);
        let oracle = &self.oracle;
        below.run(Verb::Write, first, count, 0, Flags::NONE, |page| oracle.current(page));
    }

    /// Reads a fragment; false where the DRAM had all of it.
    pub fn read<S: Scheme, L: Leaves<C>>(
        &mut self,
        fragment: Fragment,
        below: &mut Below<'_, S, C, L>,
    ) -> bool {
        self.touch(fragment, below);
        if self.dram.is_some() {
            let pages = fragment.page..fragment.page + fragment.count;
            let mut asked = false;
            for page in pages {
                asked |= self.read_through(page, fragment.mask, below);
            }
            return asked;
        }
        let mut at = fragment.page;
        let end = fragment.page + fragment.count;
        while at < end {
            // Without DRAM whole pages come, or what there is of them; whole ones as one run.
            let run = (at..end).take_while(|&page| self.pages.is_whole(page)).count() as u32;
            let sectors = if run > 0 { 0 } else { self.pages.count(at) };
            let run = run.max(1);
            let (oracle, pages) = (&self.oracle, &self.pages);
            below.read(oracle, at, run, sectors, |page| expected(oracle, pages, page));
            at += run;
        }
        true
    }

    /// Whether there is DRAM, which may have the newest version of a page alone.
    #[must_use]
    pub fn has_dram(&self) -> bool {
        self.dram.is_some()
    }

    /// Whether a read returned what it must ([`Oracle::accepts`]).
    #[must_use]
    pub fn accepts(&self, expected: &Expected<C>, found: C, may_be_newer: bool) -> bool {
        self.oracle.accepts(expected, found, may_be_newer)
    }

    /// How often a page has been written (modulo 2¹⁶); only where contents are something.
    #[must_use]
    pub fn version(&self, page: u32) -> u16 {
        self.oracle.version(page)
    }

    /// The power fails: the DRAM is empty.
    pub fn forget(&mut self) {
        if let Some(dram) = &mut self.dram {
            dram.clear();
        }
    }

    /// After that a page is found to hold this: whatever the host had been told.
    pub fn fall_back(&mut self, page: u32, contents: C) {
        if contents == C::default() {
            return self.pages.set(page, 0);
        }
        self.oracle.fall_back(page, contents);
        if self.pages.sectors(page) == 0 {
            self.pages.set(page, self.pages.whole());
        }
    }

    /// Reads a page, whatever it holds, without time.
    pub fn look<S: Scheme, L: Leaves<C>>(&self, page: u32, below: &mut Below<'_, S, C, L>) {
        below.run(Verb::Read, page, 1, 0, Flags::BEFORE, |_| C::default());
    }

    /// Whether a page is in flash, and nothing newer of it in the DRAM.
    #[must_use]
    pub fn is_in_flash(&self, page: u32) -> bool {
        self.pages.sectors(page) != 0 && self.dram.as_ref().is_none_or(|dram| dram.get(page).is_none())
    }

    /// Reads a page as it is in flash, without time.
    pub fn read_back<S: Scheme, L: Leaves<C>>(&self, page: u32, below: &mut Below<'_, S, C, L>) {
        let contents = expected(&self.oracle, &self.pages, page);
        below.expect(&self.oracle, page, 1, |_| contents);
        below.run(Verb::Read, page, 1, 0, Flags::BEFORE, |_| C::default());
    }

    /// A page that is read for the first time may have been there before time 0.
    fn touch<S: Scheme, L: Leaves<C>>(&mut self, fragment: Fragment, below: &mut Below<'_, S, C, L>) {
        if self.existing != Existing::Reads {
            return;
        }
        for page in fragment.page..fragment.page + fragment.count {
            let held = self.dram.as_ref().and_then(|dram| dram.get(page)).map_or(0, |held| held.sectors);
            if (self.pages.sectors(page) | held) & fragment.mask == 0 {
                self.first_touches += 1;
                let mask = self.pages.whole();
                self.create(Fragment { page, count: 1, mask }, below);
                below.engine.settle(below.leaves, below.now);
            }
        }
    }

    fn read_through<S: Scheme, L: Leaves<C>>(
        &mut self,
        page: u32,
        mask: u64,
        below: &mut Below<'_, S, C, L>,
    ) -> bool {
        let (held, missing) = self.dram.as_mut().expect("there is DRAM").read(page, mask);
        if missing == 0 {
            return false;
        }
        let (oracle, pages) = (&self.oracle, &self.pages);
        let in_flash = held.map_or_else(|| expected(oracle, pages, page), |held| held.what.in_flash);
        below.read(oracle, page, 1, self.pages.sectors_of(missing), |_| in_flash);
        true
    }
}

/// What a page in flash ought to hold, the DRAM holding none of it.
fn expected<C: Contents>(oracle: &Oracle<C>, pages: &Pages, page: u32) -> C {
    if C::KEEP && pages.sectors(page) != 0 { oracle.current(page) } else { C::default() }
}
