//! The host's side of its port: the expected contents of each page, the pages that existed before time 0, and requests to
//! the port.

use super::{Existing, Expected, Oracle};
use crate::device::command::Origin;
use crate::device::contents::Contents;
use crate::device::port::{Fragment, Port, Run};
use crate::engine::{
    Backends, Command, Engine, Flags, OpenRequest, Page, PortCaller, PortSubtree, Scheme, Verb,
};
use crate::kernel::{Bits, SimTime};
use crate::snapshot::{Reader, Writer};

/// The pages of a drive or an array as the host knows them.
#[derive(Clone, Debug)]
pub struct HostPages<C> {
    existing: Existing,
    /// The expected contents of each page.
    oracle: Oracle<C>,
    /// Pages that have been trimmed, if reads create pages: a read does not bring those back.
    trimmed: Bits,
}

/// A request of the host as it is submitted to the host's port, with what is below.
pub struct HostAccess<'a, S, C, L> {
    /// The executor, which has the port.
    pub engine: &'a mut Engine<S, C>,
    /// The backends.
    pub backends: &'a mut L,
    /// The pages as the host knows them.
    pub pages: &'a mut HostPages<C>,
    /// The instant.
    pub now: SimTime,
    /// The request.
    pub request: OpenRequest,
    /// The expected results of its reads.
    pub expected: &'a mut Vec<Expected<C>>,
    /// Where the pages of its writes come from.
    pub origin: Origin,
}

/// Takes down what reads are expected to return.
struct ExpectedReads<'a, C> {
    oracle: &'a Oracle<C>,
    expected: &'a mut Vec<Expected<C>>,
}

impl<C: Contents> PortCaller<C> for ExpectedReads<'_, C> {
    #[inline]
    fn note_read(&mut self, slot: u32, pages: Run, stored: impl Fn(u64) -> C) {
        if C::KEEP {
            let expect = |n: u32| {
                let page = pages.page + u64::from(n);
                self.oracle.expect(slot + n, page, stored(page))
            };
            self.expected.extend((0..pages.count).map(expect));
        }
    }

    fn note_copied(&mut self, slot: u32, page: u64) {
        if C::KEEP {
            self.expected.push(self.oracle.expect(slot, page, self.oracle.current(page)));
        }
    }
}

impl<C: Contents> HostPages<C> {
    /// Pages that have never been written.
    #[must_use]
    pub fn new(existing: Existing) -> Self {
        HostPages { existing, oracle: Oracle::default(), trimmed: Bits::default() }
    }

    /// Adds to a snapshot which pages exist below the port, and their expected contents.
    pub fn save(&self, port: &Port<C>, snapshot: &mut Writer) {
        snapshot.put(port.pages());
        snapshot.put(self.oracle.versions());
        snapshot.put(&self.trimmed);
    }

    /// Takes over from a snapshot which pages exist.
    ///
    /// # Errors
    /// A message, if the state is not that of such a drive.
    pub fn load(&mut self, port: &mut Port<C>, snapshot: &mut Reader) -> Result<(), String> {
        *port.pages_mut() = snapshot.take()?;
        let versions = snapshot.take()?;
        self.trimmed = snapshot.take()?;
        if C::KEEP {
            self.oracle = Oracle::restored(versions);
            for (page, _) in self.oracle.versions().iter() {
                port.set_stored(page, self.oracle.current(page));
            }
        }
        Ok(())
    }

    /// Whether a read returned the right contents ([`Oracle::accepts`]).
    #[must_use]
    pub fn accepts(&self, expected: &Expected<C>, found: C, may_be_newer: bool) -> bool {
        self.oracle.accepts(expected, found, may_be_newer)
    }

    /// The number of writes of a page, modulo 2¹⁶; only if contents are kept.
    #[must_use]
    pub fn version(&self, page: u64) -> u16 {
        self.oracle.version(page)
    }

    /// The same of all pages that were written.
    pub fn versions(&self) -> impl Iterator<Item = (u64, u16)> {
        self.oracle.versions().iter()
    }

    /// After a power cut, a page is found to hold this version, which may be older than the last one acknowledged.
    pub fn fall_back(&mut self, page: u64, contents: C) {
        if contents != C::default() {
            self.oracle.fall_back(page, contents);
        }
    }

    /// The host writes pages: counts a new version of each.
    #[inline]
    fn count_versions(&mut self, first: u64, count: u32) {
        if C::KEEP {
            for page in first..first + u64::from(count) {
                self.oracle.write(page);
            }
        }
    }

    /// The host trims whole pages.
    fn trim(&mut self, first: u64, count: u32) {
        for page in first..first + u64::from(count) {
            self.oracle.trim(page);
            if self.existing == Existing::Reads {
                self.trimmed.set(page, true);
            }
        }
    }
}

impl<S: Scheme, C: Contents, L: Backends<C>> HostAccess<'_, S, C, L> {
    /// Has the port work for a command over this number of pages, with these contents.
    #[inline(always)]
    fn call<T>(
        &mut self,
        (verb, flags): (Verb, Flags),
        (first, count): (u64, u32),
        contents: impl Fn(&Oracle<C>, u64) -> C,
        work: impl FnOnce(&mut Port<C>, &mut PortSubtree<'_, S, C, L, ExpectedReads<'_, C>>, &Oracle<C>) -> T,
    ) -> T {
        let HostAccess { engine, backends, pages, now, request, expected, origin } = self;
        let flags = flags.for_handle(origin.handle);
        let oracle = &pages.oracle;
        let places = (first..first + u64::from(count)).map(|page| contents(oracle, page));
        let token = engine.work_mut().extend(*request, places);
        let command = Command { flags, ..Command::new(verb, Page(first), 1) };
        let caller = ExpectedReads { oracle, expected };
        engine.call_host_port(*backends, *now, (command, token), caller, |port, below| {
            work(port, below, oracle)
        })
    }

    /// Reads a fragment; false if the controller's memory had all of it.
    #[inline]
    pub fn read(&mut self, fragment: Fragment) -> bool {
        self.touch(fragment);
        let Fragment { page, count, .. } = fragment;
        self.call(
            (Verb::Read, Flags::NONE),
            (page, count),
            |_, _| C::default(),
            |port, below, _| port.read(fragment, 0, below),
        )
    }

    /// Writes a fragment; false if the cache took all of it without evicting.
    #[inline]
    pub fn write(&mut self, fragment: Fragment) -> bool {
        let Fragment { page, count, .. } = fragment;
        let origin = self.origin;
        self.pages.count_versions(page, count);
        self.call((Verb::Write, Flags::NONE), (page, count), Oracle::current, |port, below, oracle| {
            port.write(fragment, origin, 0, |page| oracle.current(page), below)
        })
    }

    /// Writes a fragment past the caches (FUA).
    pub fn force(&mut self, fragment: Fragment) {
        let Fragment { page, count, .. } = fragment;
        let origin = self.origin;
        self.pages.count_versions(page, count);
        let flags = Flags::FUA.with(Flags::SOON);
        self.call((Verb::Write, flags), (page, count), Oracle::current, |port, below, oracle| {
            port.force(fragment, origin, |page| oracle.current(page), below);
        });
    }

    /// Writes a run of whole pages past the cache.
    pub fn write_run(&mut self, first: u64, count: u32) {
        let origin = self.origin;
        self.pages.count_versions(first, count);
        self.call((Verb::Write, Flags::NONE), (first, count), Oracle::current, |port, below, oracle| {
            port.write_run(first, count, origin, Some(0), |page| oracle.current(page), below);
        });
    }

    /// Writes a page again as it is: it belongs to a logical page of which another one is written.
    pub fn rewrite(&mut self, page: u64) {
        let handle = self.origin.handle;
        self.call((Verb::Write, Flags::NONE), (page, 0), Oracle::current, |port, below, _| {
            port.rewrite(page, handle, below);
        });
    }

    /// Trims whole pages, which are zeros from now on; a page that is trimmed in part stays as it is. False if that
    /// takes only the controller's memory time.
    pub fn trim(&mut self, fragment: Fragment) -> bool {
        let Fragment { page, count, mask, .. } = fragment;
        if mask == self.engine.ports().host().pages().whole() {
            self.pages.trim(page, count);
        }
        self.call(
            (Verb::Trim, Flags::NONE),
            (page, count),
            |_, _| C::default(),
            |port, below, _| port.trim(fragment, 0, below),
        )
    }

    /// Creates pages before time 0 (or, at first touch, as if they had existed).
    pub fn create(&mut self, fragment: Fragment) {
        for page in fragment.page..fragment.page + u64::from(fragment.count) {
            let port = self.engine.ports().host();
            // Without the contents that the cache holds meanwhile.
            let contents = match port.pages().sectors(page) {
                _ if !C::KEEP => C::default(),
                0 if port.newest(page).is_some() => self.pages.oracle.before(page),
                0 => self.pages.oracle.current(page),
                _ => port.stored(page),
            };
            self.call(
                (Verb::Write, Flags::BEFORE),
                (page, 1),
                |_, _| contents,
                |port, below, _| {
                    port.create(page, fragment.mask, 0, contents, below);
                },
            );
        }
    }

    /// Creates a run of whole pages before time 0, none of which existed.
    pub fn create_run(&mut self, first: u64, count: u32) {
        self.call((Verb::Write, Flags::BEFORE), (first, count), Oracle::current, |port, below, oracle| {
            port.create_run(first, count, 0, |page| oracle.current(page), below);
        });
    }

    /// Reads a page as it is below the port, without time, whether or not it exists.
    pub fn look(&mut self, page: u64) {
        let token = self.engine.work_mut().extend(self.request, std::iter::once(C::default()));
        let read = Command { flags: Flags::BEFORE, ..Command::new(Verb::Read, Page(page), 1) };
        self.engine.submit(self.backends, self.now, read, token);
    }

    /// The same, and compares it with what is expected there.
    pub fn read_back(&mut self, page: u64) {
        let stored = self.engine.ports().host().stored(page);
        let slot = self.engine.work_mut().pages(self.request.owner).len() as u32;
        let HostAccess { pages, expected, .. } = self;
        ExpectedReads { oracle: &pages.oracle, expected }.note_read(slot, Run::of_page(page), |_| stored);
        self.look(page);
    }

    /// A page that is read before it is written or trimmed existed before time 0.
    #[inline]
    fn touch(&mut self, fragment: Fragment) {
        if self.pages.existing != Existing::Reads {
            return;
        }
        for page in fragment.page..fragment.page + u64::from(fragment.count) {
            let port = self.engine.ports().host();
            let exists = (port.pages().sectors(page) | port.cached(page)) & fragment.mask != 0;
            if !exists && !self.pages.trimmed.has(page) {
                let mask = port.pages().whole();
                self.create(Fragment { page, count: 1, mask, continues: false });
                self.engine.settle(self.backends, self.now);
            }
        }
    }
}
