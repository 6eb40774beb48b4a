//! The host's side of a port: the expected contents of each page, the pages that existed before time 0, and the port's
//! requests to the tree below.

mod options;

pub use options::{Existing, PartialWrites};

use crate::device::contents::Contents;
use crate::device::port::{Fragment, Hits, Merge, Port, PortBackend, Run, SectorMap};
use crate::engine::{Backends, Cause, Command, Engine, Flags, OpenRequest, Page, Scheme, Verb};
use crate::host::{Expected, Oracle};
use crate::kernel::{Bits, SimTime};
use crate::snapshot::{Reader, Writer};

/// The port of a drive or an array as the host sees it.
#[derive(Clone, Debug)]
pub struct Buffer<C> {
    port: Port<C>,
    existing: Existing,
    /// The expected contents of each page.
    oracle: Oracle<C>,
    /// Pages that have been trimmed, if reads create pages: a read does not bring those back.
    trimmed: Bits,
    /// Pages that were read although they had not been written and did not exist before time 0.
    pub first_touches: u64,
}

/// The context of a port's work: the tree below, and the request above.
pub struct HostContext<'a, S, C, L> {
    /// The executor.
    pub engine: &'a mut Engine<S, C>,
    /// The backends.
    pub backends: &'a mut L,
    /// The instant.
    pub now: SimTime,
    /// The request.
    pub request: OpenRequest,
    /// The expected results of its reads.
    pub expected: &'a mut Vec<Expected<C>>,
}

impl<S: Scheme, C: Contents, L: Backends<C>> HostContext<'_, S, C, L> {
    #[inline]
    fn run(&mut self, verb: Verb, pages: Run, flags: Flags, contents: impl Fn(u64) -> C) {
        let Run { page, count, sectors, continues } = pages;
        let flags = if continues { flags.with(Flags::CONTINUES) } else { flags };
        let mut at = 0;
        while at < count {
            let piece = (count - at).min(u32::from(u16::MAX));
            let token =
                self.engine.extend(self.request, (at..at + piece).map(|n| contents(page + u64::from(n))));
            let command =
                Command { flags, ..Command::new(verb, Page(page + u64::from(at)), piece as u16).of(sectors) };
            self.engine.submit(self.backends, self.now, command, token);
            at += piece;
        }
    }

    /// Records the expected contents of pages that are read.
    #[inline]
    fn expect(&mut self, oracle: &Oracle<C>, page: u64, count: u32, contents: impl Fn(u64) -> C) {
        if C::KEEP {
            let first = self.engine.pages(self.request.owner).len() as u32;
            let expect = |n| oracle.expect(first + n, page + u64::from(n), contents(page + u64::from(n)));
            self.expected.extend((0..count).map(expect));
        }
    }

    /// Reads a page as it is behind the port, without time.
    fn look(&mut self, page: u64) {
        self.run(Verb::Read, Run::of_page(page), Flags::BEFORE, |_| C::default());
    }
}

/// The tree behind the host's port, and the contents that the host expects.
struct HostBackend<'a, 'b, S, C, L> {
    below: &'a mut HostContext<'b, S, C, L>,
    oracle: &'a Oracle<C>,
    flags: Flags,
}

impl<'a, 'b, S, C, L> HostBackend<'a, 'b, S, C, L> {
    fn of(below: &'a mut HostContext<'b, S, C, L>, oracle: &'a Oracle<C>) -> Self {
        HostBackend { below, oracle, flags: Flags::NONE }
    }
}

impl<S: Scheme, C: Contents, L: Backends<C>> PortBackend<C> for HostBackend<'_, '_, S, C, L> {
    #[inline]
    fn read(&mut self, pages: Run, _: u32, stored: impl Fn(u64) -> C, _: Option<C>) {
        self.below.expect(self.oracle, pages.page, pages.count, stored);
        self.below.run(Verb::Read, pages, Flags::NONE, |_| C::default());
    }

    fn hit(&mut self, _: u32, _: C) {}

    #[inline]
    fn write(&mut self, pages: Run, _: Cause, _: Option<u32>, contents: impl Fn(u64) -> C) {
        self.below.run(Verb::Write, pages, self.flags, contents);
    }

    fn merge(&mut self, merge: Merge, difference: C) {
        let HostContext { engine, backends, now, request, .. } = &mut *self.below;
        let token = engine.extend(*request, std::iter::once(difference));
        let merge = Merge { flags: self.flags, ..merge };
        engine.merge(*backends, *now, merge, token);
    }

    #[inline]
    fn trim(&mut self, pages: Run, _: u32) {
        self.below.run(Verb::Trim, pages, Flags::NONE, |_| C::default());
    }

    fn create(&mut self, pages: Run, _: u32, contents: impl Fn(u64) -> C) {
        self.below.run(Verb::Write, pages, Flags::BEFORE, contents);
    }

    fn copied(&mut self, page: u64, _: u32, contents: C) {
        let oracle = self.oracle;
        self.below.expect(oracle, page, 1, |page| oracle.current(page));
        let HostContext { engine, request, .. } = &mut *self.below;
        engine.extend(*request, std::iter::once(contents));
    }

    fn is_healthy(&self) -> bool {
        self.below.engine.is_healthy()
    }

    fn stores(&self) -> bool {
        self.below.engine.heals_in_passing()
    }

    fn failures(&self) -> u64 {
        self.below.engine.failures()
    }

    fn now(&self) -> SimTime {
        self.below.now
    }

    fn places(&mut self, _: u32) -> (u32, u32) {
        let HostContext { engine, request, .. } = &mut *self.below;
        (request.owner.raw(), engine.pages(request.owner).len() as u32)
    }
}

impl<C: Contents> Buffer<C> {
    /// The buffer for a drive or array behind this port.
    #[must_use]
    pub fn new(port: Port<C>, existing: Existing) -> Self {
        let oracle = Oracle::default();
        Buffer { port, existing, oracle, trimmed: Bits::default(), first_touches: 0 }
    }

    /// Sector hits and misses of the cache, or of the clean copies.
    #[must_use]
    pub fn hits(&self) -> Hits {
        self.port.hits().unwrap_or_default()
    }

    /// The cache writes back no longer by itself; whether it did.
    pub fn stop_writing_back(&mut self) -> bool {
        self.port.stop_writing_back()
    }

    /// The sectors that the cache holds.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.port.held()
    }

    /// Adds to a snapshot which pages exist, and their expected contents.
    pub fn save(&self, snapshot: &mut Writer) {
        snapshot.put(self.port.pages());
        snapshot.put(self.oracle.versions());
        snapshot.put(&self.trimmed);
    }

    /// Takes over from a snapshot which pages exist.
    ///
    /// # Errors
    /// A message, if the state is not that of such a drive.
    pub fn load(&mut self, snapshot: &mut Reader) -> Result<(), String> {
        *self.port.pages_mut() = snapshot.take()?;
        let versions = snapshot.take()?;
        self.trimmed = snapshot.take()?;
        if C::KEEP {
            self.oracle = Oracle::restored(versions);
            for page in self.port.pages().existing().iter().collect::<Vec<_>>() {
                self.port.set_stored(page, self.oracle.current(page));
            }
        }
        Ok(())
    }

    /// Records that whole pages were written without this port.
    pub fn set_written(&mut self, pages: &[u32]) {
        self.port.pages_mut().set_all(pages);
    }

    /// The same for a run of pages.
    pub fn set_written_run(&mut self, first: u64, count: u64) {
        self.port.pages_mut().set_run(first, count);
    }

    /// Prefetches a page's bit.
    #[inline]
    pub fn prefetch(&self, page: Page) {
        self.port.pages().prefetch(page.0);
    }

    /// Sectors in a page.
    #[must_use]
    pub fn page_sectors(&self) -> u32 {
        self.port.pages().page_sectors()
    }

    /// The sectors of each page that exist behind the port.
    #[must_use]
    pub fn pages(&self) -> &SectorMap {
        self.port.pages()
    }

    /// Creates pages before time 0 (or, at first touch, as if they had existed).
    pub fn create<S: Scheme, L: Backends<C>>(
        &mut self,
        fragment: Fragment,
        below: &mut HostContext<'_, S, C, L>,
    ) {
        for page in fragment.page..fragment.page + u64::from(fragment.count) {
            // Without the contents that the cache holds meanwhile.
            let cached = C::KEEP && self.port.newest(page).is_some();
            let contents = if cached { self.oracle.before(page) } else { self.oracle.current(page) };
            let mut tree = HostBackend::of(below, &self.oracle);
            self.port.create(page, fragment.mask, 0, contents, &mut tree);
        }
    }

    /// Creates a run of whole pages before time 0, none of which existed.
    pub fn create_run<S: Scheme, L: Backends<C>>(
        &mut self,
        first: u64,
        count: u32,
        below: &mut HostContext<'_, S, C, L>,
    ) {
        let oracle = &self.oracle;
        self.port.create_run(
            first,
            count,
            0,
            |page| oracle.current(page),
            &mut HostBackend::of(below, oracle),
        );
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

    /// Writes a run of whole pages past the cache.
    pub fn write_run<S: Scheme, L: Backends<C>>(
        &mut self,
        first: u64,
        count: u32,
        below: &mut HostContext<'_, S, C, L>,
    ) {
        self.count_versions(first, count);
        let oracle = &self.oracle;
        let mut tree = HostBackend::of(below, oracle);
        self.port.write_run(first, count, Cause::Host, Some(0), |page| oracle.current(page), &mut tree);
    }

    /// Writes a fragment; false if the cache took all of it without evicting.
    #[inline]
    pub fn write<S: Scheme, L: Backends<C>>(
        &mut self,
        fragment: Fragment,
        below: &mut HostContext<'_, S, C, L>,
    ) -> bool {
        self.count_versions(fragment.page, fragment.count);
        let oracle = &self.oracle;
        let mut tree = HostBackend::of(below, oracle);
        self.port.write(fragment, Cause::Host, 0, |page| oracle.current(page), &mut tree)
    }

    /// Writes a fragment past the caches (FUA).
    pub fn force<S: Scheme, L: Backends<C>>(
        &mut self,
        fragment: Fragment,
        below: &mut HostContext<'_, S, C, L>,
    ) {
        self.count_versions(fragment.page, fragment.count);
        let oracle = &self.oracle;
        let mut tree = HostBackend { flags: Flags::FUA.with(Flags::SOON), ..HostBackend::of(below, oracle) };
        self.port.force(fragment, Cause::Host, |page| oracle.current(page), &mut tree);
    }

    /// The pages that the sectors in the cache would fill.
    #[must_use]
    pub fn held_pages(&self) -> u64 {
        self.port.held().div_ceil(u64::from(self.page_sectors()))
    }

    /// Whether the cache holds pages.
    #[must_use]
    pub fn holds_pages(&self) -> bool {
        self.port.holds_pages()
    }

    /// Writes a page again as it is: it belongs to a logical page of which another one is written.
    pub fn rewrite<S: Scheme, L: Backends<C>>(&mut self, page: u64, below: &mut HostContext<'_, S, C, L>) {
        self.port.rewrite(page, &mut HostBackend::of(below, &self.oracle));
    }

    /// Trims whole pages, which are zeros from now on; a page that is trimmed in part stays as it is. False if that
    /// takes only the controller's memory time.
    pub fn trim<S: Scheme, L: Backends<C>>(
        &mut self,
        fragment: Fragment,
        below: &mut HostContext<'_, S, C, L>,
    ) -> bool {
        if fragment.mask == self.port.pages().whole() {
            let creates = self.existing == Existing::Reads;
            for page in fragment.page..fragment.page + u64::from(fragment.count) {
                self.oracle.trim(page);
                if creates {
                    self.trimmed.set(page, true);
                }
            }
        }
        self.port.trim(fragment, 0, &mut HostBackend::of(below, &self.oracle))
    }

    /// Writes all that the cache holds to the device.
    pub fn write_back<S: Scheme, L: Backends<C>>(&mut self, below: &mut HostContext<'_, S, C, L>) {
        self.port.write_back(&mut HostBackend::of(below, &self.oracle));
    }

    /// Whether a victim of the cache is to be written back now.
    #[inline]
    pub fn wants_flush(&mut self) -> bool {
        self.port.wants_flush()
    }

    /// Writes a victim back ([`Port::flush_next`]).
    pub fn flush_next<S: Scheme, L: Backends<C>>(&mut self, below: &mut HostContext<'_, S, C, L>) -> u64 {
        self.port.flush_next(&mut HostBackend::of(below, &self.oracle))
    }

    /// Writes all victims back ([`Port::flush_all`]).
    pub fn flush_all<S: Scheme, L: Backends<C>>(&mut self, below: &mut HostContext<'_, S, C, L>) -> u64 {
        self.port.flush_all(&mut HostBackend { flags: Flags::SOON, ..HostBackend::of(below, &self.oracle) })
    }

    /// When victims will have been written ([`Port::flush_ends`]).
    pub fn flush_ends(&mut self, sectors: u64, at: SimTime) {
        self.port.flush_ends(sectors, at);
    }

    /// Victims may have been written by now ([`Port::go_on_flushing`]).
    pub fn go_on_flushing(&mut self, now: SimTime) {
        self.port.go_on_flushing(now);
    }

    /// No request is in progress since an instant ([`Port::begin_idle`]).
    pub fn begin_idle(&mut self, since: SimTime) -> Option<SimTime> {
        self.port.begin_idle(since)
    }

    /// A request is in progress ([`Port::end_idle`]).
    pub fn end_idle(&mut self) {
        self.port.end_idle();
    }

    /// Reads a fragment; false if the controller's memory had all of it.
    #[inline]
    pub fn read<S: Scheme, L: Backends<C>>(
        &mut self,
        fragment: Fragment,
        below: &mut HostContext<'_, S, C, L>,
    ) -> bool {
        self.touch(fragment, below);
        self.port.read(fragment, 0, &mut HostBackend::of(below, &self.oracle))
    }

    /// Whether there is a cache, which may hold the only newest version of a page.
    #[must_use]
    pub fn has_cache(&self) -> bool {
        self.port.has_cache()
    }

    /// Whether it keeps clean copies.
    #[must_use]
    #[inline]
    pub fn has_copies(&self) -> bool {
        self.port.has_copies()
    }

    /// A request that reads ends ([`Port::end_reads`]).
    pub fn end_reads(&mut self, request: u32, at: SimTime, contents: impl Fn(u32) -> Option<C>) {
        self.port.end_reads(request, at, contents);
    }

    /// Drops all clean copies ([`Port::drop_copies`]).
    pub fn drop_copies(&mut self) {
        self.port.drop_copies();
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

    /// Whether what the cache holds is durable.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        self.port.is_protected()
    }

    /// The power will fail.
    pub fn expect_power_cuts(&mut self) {
        self.port.expect_power_cuts();
    }

    /// After a power cut: the contents of a page that a protected cache has saved, if they are not `behind` it.
    pub fn saved(&mut self, page: u64, behind: Option<C>) -> Option<C> {
        self.port.saved(page, behind)
    }

    /// Writes out what a protected cache has saved ([`Port::write_out_saved`]).
    pub fn write_out_saved<S: Scheme, L: Backends<C>>(&mut self, below: &mut HostContext<'_, S, C, L>) {
        self.port.write_out_saved(&mut HostBackend::of(below, &self.oracle));
    }

    /// The power fails: the cache loses its contents, unless it is protected.
    pub fn forget(&mut self) {
        self.port.cut_power();
    }

    /// After a power cut, a page is found to hold this version, which may be older than the last one acknowledged.
    pub fn fall_back(&mut self, page: u64, contents: C) {
        if contents != C::default() {
            self.oracle.fall_back(page, contents);
        }
        self.port.fall_back(page, contents);
    }

    /// Reads a page without time, whether or not it exists.
    pub fn look<S: Scheme, L: Backends<C>>(&self, page: u64, below: &mut HostContext<'_, S, C, L>) {
        below.look(page);
    }

    /// Pages of which the cache holds sectors.
    pub fn cached_pages(&self) -> impl Iterator<Item = u64> + '_ {
        self.port.cached_pages()
    }

    /// Whether a page exists behind the port, and the cache holds no newer sectors of it.
    #[must_use]
    pub fn is_in_flash(&self, page: u64) -> bool {
        self.port.pages().sectors(page) != 0 && self.port.cached(page) == 0
    }

    /// Reads a page as it is behind the port, without time.
    pub fn read_back<S: Scheme, L: Backends<C>>(&self, page: u64, below: &mut HostContext<'_, S, C, L>) {
        below.expect(&self.oracle, page, 1, |page| self.port.stored(page));
        below.look(page);
    }

    /// A page that is read before it is written or trimmed existed before time 0.
    #[inline]
    fn touch<S: Scheme, L: Backends<C>>(&mut self, fragment: Fragment, below: &mut HostContext<'_, S, C, L>) {
        if self.existing != Existing::Reads {
            return;
        }
        for page in fragment.page..fragment.page + u64::from(fragment.count) {
            let exists = (self.port.pages().sectors(page) | self.port.cached(page)) & fragment.mask != 0;
            if !exists && !self.trimmed.has(page) {
                self.first_touches += 1;
                let mask = self.port.pages().whole();
                self.create(Fragment { page, count: 1, mask, continues: false }, below);
                below.engine.settle(below.backends, below.now);
            }
        }
    }
}
