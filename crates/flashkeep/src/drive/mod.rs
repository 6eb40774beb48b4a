//! A drive: a controller ([`controller`]), which owns dies, channels and time, and backends ([`backends`]), which own pages:
//! FTLs or physical pages, and NVRAMs beside them. Each takes the other as the last argument of what it cannot do alone.
//!
//! Commands wait in queues of the resource they need: reads with their unit (chip, die or plane), writes in a write
//! queue until a unit that may take them is idle. Whenever a channel becomes free or gets work, it is *visited*
//! ([`visit`]): the scheduler picks one operation and grants it, and its end is known from then on. The release of a
//! resource for which no operation waits is a number, not an event.

mod backends;
mod build;
mod controller;
mod counters;
mod faults;
mod holds;
mod life;
mod logs;
mod look;
mod parameters;
mod recovery;
mod submit;
#[cfg(test)]
mod tests;
mod wear;

pub use crate::flash::OpKind;
pub use backends::{FlashBackendKind, Nvram};
pub use controller::{ErrorCounts, OperationTimes};
pub use counters::{ByKindAndCause, Counters, SlcCounts};
pub use faults::{Concerned, Fault, Slowness};
pub use holds::{BusyPeriod, HostRequest, LoggedOperation, Resource, RunState};
pub use life::DriveLife;
pub use logs::{Alone, DeviceObserver, DiskAccess, Told};
pub use parameters::Parameters;
pub use recovery::Recovery;
pub use wear::BlockErases;

use crate::engine::{BackendId, Contents, Page, ReadEstimate};
use crate::flash::{Geometry, Pools, Ppn, UnitId};
use crate::ftl::ageing::{Model, Wish};
use crate::ftl::{Blocks, MapEntry};
use crate::kernel::{SimTime, Span};
use crate::snapshot::{Reader, Writer};
use backends::DriveBackends;
use controller::Controller;

/// An observer of flash operations.
pub trait OperationObserver: Send {
    /// An operation, when its end is known.
    fn add(&mut self, operation: &LoggedOperation);

    /// A channel or a unit is in use, reported when it is granted.
    fn hold(&mut self, _hold: &BusyPeriod) {}

    /// A request of the host is over.
    fn request(&mut self, _request: &HostRequest) {}

    /// A request begins ([`DeviceObserver::opened`]).
    fn opened(&mut self, _age: u32, _number: u64) {}

    /// The state of the run ([`DeviceObserver::state`]).
    fn state(&mut self, _state: &RunState) {}

    /// Something happens ([`DeviceObserver::mark`]).
    fn mark(&mut self, _at: SimTime, _text: &str) {}

    /// Warnings for the reader of the log of a run that ended at `_end`.
    fn note(&self, _end: SimTime) -> Option<String> {
        None
    }

    /// Ends the log.
    ///
    /// # Errors
    /// A message, if the log could not be written.
    fn close(self: Box<Self>) -> Result<(), String>;
}

/// A drive: all its backends and their flash.
#[derive(Clone)]
pub struct Drive<C> {
    controller: Controller<C>,
    backends: DriveBackends<C>,
}

impl<C: Contents> Drive<C> {
    /// Handles the next event if it is due by `until`; false if none is.
    #[inline(always)]
    pub fn step(&mut self, until: SimTime) -> bool {
        let Some((now, slot)) = self.controller.dies.pop_due(until) else { return false };
        self.controller.now = now;
        let units = self.controller.dies.unit_count();
        if slot < units {
            self.controller.unit_wakes(now, UnitId(slot as u32), &mut self.backends);
        } else if slot - units < self.controller.dies.channel_count() {
            self.controller.channel_wakes(now, slot - units, &mut self.backends);
        } else if self.controller.open.may_exist()
            && slot - units - self.controller.dies.channel_count() < units
        {
            self.controller.settle_unit(
                now,
                UnitId((slot - units - self.controller.dies.channel_count()) as u32),
                &mut self.backends,
            );
        } else {
            self.backends.scrub(now, &mut self.controller);
        }
        true
    }

    /// The number of empty slots.
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.backends.immediate.slots()
    }

    /// Whether a backend's page may go to one of the slots that are left, or to anywhere, as flash is not being aged.
    #[must_use]
    pub fn has_slot(&self, backend: BackendId, page: Page) -> bool {
        self.backends.immediate.has_slot(usize::from(backend.0), page.low(), &self.backends.ftl)
    }

    /// A created page fills a slot; die queues take turns, and so do the planes of each.
    pub fn fill_slot(&mut self, backend: BackendId, lpn: u32, contents: C) {
        self.backends.fill_slot(backend, lpn, contents, &mut self.controller)
    }

    /// Valid pages, and pages there are.
    #[must_use]
    pub fn filled(&self) -> (u64, u64) {
        self.backends.ftl.filled()
    }

    /// The run's seed, from which the random numbers of policies come.
    pub fn seed(&mut self, seed: u64) {
        self.backends.gc.seed(seed)
    }

    /// The seed of the drive's errors.
    pub fn seed_errors(&mut self, seed: u64) {
        self.controller.errors.seed(seed);
    }

    /// What error correction had to do; none without an error model.
    #[must_use]
    pub fn error_counts(&self) -> Option<ErrorCounts> {
        self.controller.errors.counts()
    }

    /// Resets the counts of read errors.
    pub fn reset_error_counts(&mut self) {
        self.controller.errors.reset_counts();
    }

    /// Whether it has failed.
    #[must_use]
    pub fn is_dead(&self, backend: BackendId) -> bool {
        self.backends.is_dead(backend)
    }

    /// Passes a request of the host on to the logs.
    pub fn tell_request(&mut self, request: &HostRequest) {
        self.controller.accounts.tell_request(request)
    }

    /// Passes on to the logs which request the commands of an age are for.
    pub fn tell_opened(&mut self, age: u32, number: u64) {
        self.controller.accounts.tell_opened(age, number)
    }

    /// Passes the state of the run on to the logs.
    pub fn tell_state(&mut self, state: &RunState) {
        self.controller.accounts.tell_state(state)
    }

    /// Passes an event of the run on to the logs.
    pub fn tell_mark(&mut self, at: SimTime, text: &str) {
        self.controller.accounts.tell_mark(at, text)
    }

    /// Measures where the time of commands goes, from now on.
    pub fn break_down(&mut self) {
        let Controller { probe, dies, .. } = &mut self.controller;
        probe.start(dies.unit_count(), dies.channel_count());
    }

    /// From now on reports are kept until they are taken ([`Drive::take_told`]).
    pub fn keep_told(&mut self) {
        self.controller.start_watch().kept.get_or_insert_default();
    }

    /// The reports since the last call, in order.
    pub fn take_told(&mut self) -> impl Iterator<Item = Told> + '_ {
        self.controller.accounts.take_told()
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        self.controller.accounts.counters()
    }

    /// The geometry.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.controller.flash.geometry
    }

    /// What each plane of the geometry consists of.
    #[must_use]
    pub fn pools(&self) -> Pools {
        self.controller.flash.pools
    }

    /// Blocks and planes.
    #[must_use]
    pub fn blocks(&self) -> &Blocks<C> {
        self.backends.ftl.blocks()
    }

    /// Where an FTL has a page.
    #[must_use]
    pub fn lookup(&self, backend: BackendId, page: Page) -> MapEntry {
        self.backends.ftl.lookup(backend, page)
    }

    /// Pages of a backend, those of its hidden range left out.
    #[must_use]
    pub fn pages(&self, backend: BackendId) -> u32 {
        self.backends.pages(backend)
    }

    /// The number of flash backends: FTLs, or backends of physical pages.
    #[must_use]
    pub fn ftl_count(&self) -> u16 {
        self.backends.ftl.count() as u16
    }

    /// How long each channel has been in use.
    #[must_use]
    pub fn channel_busy(&self) -> Vec<Span> {
        self.controller.dies.channel_busy()
    }

    /// How long each unit has been busy.
    #[must_use]
    pub fn unit_busy(&self) -> Vec<Span> {
        self.controller.dies.unit_busy()
    }

    /// When all channels and units are free, as far as is known.
    #[must_use]
    pub fn at_rest(&self) -> SimTime {
        self.controller.dies.at_rest()
    }

    /// Erased blocks that are free.
    #[must_use]
    pub fn free_blocks(&self) -> u64 {
        self.backends.ftl.free_blocks()
    }

    /// Whether no part has failed and no page is unreadable.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.backends.health.is_healthy()
    }

    /// Whether every page that it holds can be read: what failed has been replaced, and held nothing else.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.backends.is_sound()
    }

    /// Prefetches the map entry of a page.
    #[inline]
    pub fn prefetch(&self, backend: BackendId, page: Page) {
        self.backends.ftl.prefetch(backend, page)
    }

    /// Whether no operation waits or is in progress that a request waits for.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.controller.is_quiet()
    }

    /// After the last request nothing is scrubbed.
    pub fn end_scrubbing(&mut self) {
        self.backends.maintenance.end_scrubbing(&mut self.controller)
    }

    /// Scrubbing continues after a power loss.
    pub fn scrub_from(&mut self, ready: SimTime) {
        self.backends.maintenance.scrub_from(ready, &mut self.controller)
    }

    /// Adds an observer that is notified of each flash operation, in addition to others.
    pub fn log_operations(&mut self, log: Box<dyn OperationObserver>) {
        self.controller.start_watch().logs.push(log);
    }

    /// The warnings of the logs of a run that ended at `end`.
    #[must_use]
    pub fn log_notes(&self, end: SimTime) -> Vec<String> {
        self.controller.accounts.log_notes(end)
    }

    /// The run ends at `end`: logs get the operations under way.
    pub fn log_under_way(&mut self, end: SimTime) {
        self.controller.log_under_way(end, &self.backends);
    }

    /// Ends the logs of operations of a run that ended at `end`.
    ///
    /// # Errors
    /// A message, if a log could not be written.
    pub fn close_log(&mut self, end: SimTime) -> Result<(), String> {
        self.log_under_way(end);
        self.controller.accounts.close_log()
    }

    /// The time of a request that the controller's memory serves.
    #[must_use]
    pub fn memory_time(&self) -> Span {
        self.controller.flash.timing.memory
    }

    /// The instant of the next event, [`SimTime::NEVER`] where nothing is pending.
    #[must_use]
    #[inline]
    pub fn next_event(&self) -> SimTime {
        self.controller.dies.next_event()
    }

    /// A request is admitted at `admitted` and served from `now` on, which may be earlier.
    #[inline]
    pub fn admit(&mut self, admitted: SimTime, now: SimTime) {
        self.controller.admitted = admitted;
        self.controller.now = now;
    }

    /// The instant of the last step.
    #[must_use]
    #[inline]
    pub fn now(&self) -> SimTime {
        self.controller.now
    }

    /// All parts have come: the channels are offered the writes in turn and serve what the scheduler puts first. False if
    /// nothing has come.
    pub(crate) fn begin_parts(&mut self, now: SimTime) -> bool {
        self.backends.begin_parts(now, &mut self.controller)
    }

    /// Pages of a physical-page backend's groups.
    ///
    /// # Panics
    /// With a backend that has no physical pages.
    #[must_use]
    pub fn physical_superblock_pages(&self, backend: BackendId) -> u32 {
        self.backends.ftl.physical_superblock_pages(backend)
    }

    /// Groups of a physical-page backend.
    ///
    /// # Panics
    /// With a backend that has no physical pages.
    #[must_use]
    pub fn physical_superblocks(&self, backend: BackendId) -> u32 {
        self.backends.ftl.physical_superblocks(backend)
    }

    /// The physical page of an address of a physical-page backend.
    ///
    /// # Panics
    /// With a backend that has no physical pages.
    #[must_use]
    pub fn physical_place(&self, backend: BackendId, page: Page) -> Ppn {
        self.backends.ftl.physical_place(backend, page)
    }

    /// The number of the last write.
    #[must_use]
    pub fn last_number(&self) -> u64 {
        self.controller.queues.last_number()
    }

    /// The next write has a higher number than this.
    pub fn number_from(&mut self, last: u64) {
        self.controller.queues.number_from(last)
    }

    /// Whether it does.
    #[must_use]
    pub fn expects_power_cuts(&self) -> bool {
        self.backends.power.is_kept()
    }

    /// The wear of the drive.
    #[must_use]
    pub fn life(&self) -> &DriveLife {
        self.backends.health.life()
    }

    /// Whether the blocks that a fault strikes have had, on average, all their erases.
    #[must_use]
    pub fn is_worn(&self, what: Fault) -> bool {
        self.backends.is_worn(what)
    }

    /// The other erases of every block: those before time 0, and those that have made room for pages that existed then.
    #[must_use]
    pub fn erases_before(&self) -> &BlockErases {
        self.backends.health.all_erases_before()
    }

    /// Busy times of arrays and pins; none if they are not recorded.
    #[must_use]
    pub fn work(&self) -> Option<&OperationTimes> {
        self.controller.accounts.work()
    }

    /// Ages every plane of the first backends; pages created from now on fill the slots until [`Drive::end_ageing`].
    ///
    /// # Panics
    /// With physical-page backends, or flash that has been used.
    pub fn begin_ageing(&mut self, model: Model, wish: &Wish, seed: u64, backends: u16) {
        self.backends.begin_ageing(model, wish, seed, backends, &mut self.controller)
    }

    /// From now on pages are created as usual. Slots that no page has filled become invalid pages.
    pub fn end_ageing(&mut self) {
        self.backends.end_ageing(&mut self.controller)
    }

    /// Sets the time to 0; from now on commands complete at submission, or take time again.
    ///
    /// # Panics
    /// Where something is under way.
    pub fn set_untimed(&mut self, untimed: bool) {
        self.backends.set_untimed(untimed, &mut self.controller)
    }

    /// Forgets what has been counted.
    pub fn reset_counters(&mut self) {
        self.backends.ftl.reset_counters(&mut self.controller)
    }

    /// Writes whole pages of a backend, one after the other, for the host: what
    /// [`submit`](crate::engine::Backends::submit) would do, without anybody who is answered.
    pub fn write_untimed(&mut self, backend: BackendId, pages: &[u32]) {
        self.backends.write_untimed(backend, pages, &mut self.controller)
    }

    /// The power fails at `now` and returns immediately: everything in volatile memory is lost, and the maps are
    /// restored from flash. The caller must not submit commands before [`Recovery::ready`].
    ///
    /// # Panics
    /// If no power cut was expected ([`Drive::expect_power_cuts`]).
    #[cold]
    pub fn cut_power(&mut self, now: SimTime) -> Recovery {
        self.backends.cut_power(now, &mut self.controller)
    }

    /// The power will fail during the run: from now on the drive keeps recovery data.
    pub fn expect_power_cuts(&mut self) {
        self.backends.expect_power_cuts(&mut self.controller)
    }

    /// Checks that map and reverse map are each other's inverse, also for the copies that writes in flight replace, that
    /// every block counts its valid pages, that every plane counts what it has free and every backend its erases, and that
    /// nothing lies on what has failed; not of a drive of 32 Mi pages and more.
    ///
    /// # Panics
    /// If the state contradicts itself, which is a mistake in the simulator.
    pub fn audit(&self) {
        self.backends.audit(&self.controller)
    }

    /// Adds the state of a drive that is at rest and of which nothing has failed; with what its pages hold, if that is
    /// anything.
    ///
    /// # Panics
    /// Where something is under way, or has failed.
    pub fn save(&self, snapshot: &mut Writer) {
        self.backends.save(snapshot, &self.controller)
    }

    /// Takes over a state.
    ///
    /// # Errors
    /// In words: it is not one of a drive like this.
    pub fn load(&mut self, snapshot: &mut Reader) -> Result<(), String> {
        self.backends.load(snapshot, &mut self.controller)
    }

    /// The contents of a backend's page, including writes in flight; none if the page does not exist or cannot be read.
    /// Without time and side effects.
    #[must_use]
    pub fn contents_of(&self, backend: BackendId, page: Page) -> Option<C> {
        self.backends.contents_of(backend, page, &self.controller)
    }

    /// A lower bound of the waiting time of a read of the backend's page submitted at `now`.
    #[must_use]
    pub fn backlog_at(&self, now: SimTime, backend: BackendId, page: Page) -> Span {
        self.backends.ftl.backlog_at(now, backend, page, &self.controller)
    }

    /// The drive is member `member` of `members` that collect in turns.
    pub fn take_place(&mut self, member: u64, members: u64) {
        self.backends.gc.take_place(member, members);
    }

    /// Collections that have ended in their turn, and out of it; none without turns.
    #[must_use]
    pub fn ended_in_turns(&self) -> Option<[u64; 2]> {
        self.backends.gc.ended_in_turns()
    }

    /// How long a read of the backend's page submitted at `now` is expected to take.
    #[must_use]
    pub fn expected_at(&self, now: SimTime, backend: BackendId, page: Page) -> ReadEstimate {
        let at = usize::from(backend.0);
        match self.backends.ftl.get(at).map(|_| self.backends.ftl.maps().get(at, page.low())) {
            Some(MapEntry::At(ppn)) => self.controller.expected_read(now, ppn, &self.backends),
            _ => ReadEstimate::default(),
        }
    }

    /// From now on planes are collected below `ftl.gc.threshold` only.
    pub fn end_idling(&mut self) {
        self.backends.end_idling(&mut self.controller)
    }

    /// Time 0: erases so far are not this run's.
    pub fn begin_wear(&mut self) {
        self.backends.begin_wear(&mut self.controller)
    }
}
