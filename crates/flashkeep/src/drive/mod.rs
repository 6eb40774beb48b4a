//! A drive: a controller ([`controller`]), which owns dies, channels and time, and backends ([`backends`]), which own pages:
//! FTLs or physical pages, and NVRAMs beside them. Each takes the other as the last argument of what it cannot do alone;
//! of the backends the controller knows only the trait [`PageOwner`](controller::PageOwner).
//!
//! Commands wait in queues of the resource they need: reads with their unit (chip, die or plane), writes in a write
//! queue until a unit that may take them is idle. Whenever a channel becomes free or gets work, it is *visited*
//! ([`visit`]): the scheduler picks one operation and grants it, and its end is known from then on. The release of a
//! resource for which no operation waits is a number, not an event.

mod backends;
mod build;
mod concerns;
mod controller;
mod counters;
mod device;
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
pub use device::{Age, BlockDevice, InjectFaults, Inspect, Observe, Recover, Snapshot};
pub use faults::{Concerned, Fault, Slowness};
pub use holds::{BusyPeriod, HostRequest, LoggedOperation, Resource, RunState};
pub use life::DriveLife;
pub use logs::{DeviceObserver, DiskAccess, RunEvent, Told};
pub use parameters::Parameters;
pub use recovery::Recovery;
pub use wear::BlockErases;

use crate::engine::{BackendId, Contents, Page, ReadEstimate};
use crate::flash::{Geometry, Pools, Ppn};
use crate::ftl::{Blocks, MapEntry};
use crate::kernel::{SimTime, Span};
use backends::{DriveBackends, Halves};
use controller::Controller;

/// A drive: all its backends and their flash.
#[derive(Clone)]
pub struct Drive<C> {
    controller: Controller<C>,
    backends: DriveBackends<C>,
}

impl<C: Contents> Drive<C> {
    /// A created page fills a slot; die queues take turns, and so do the planes of each.
    pub fn fill_slot(&mut self, backend: BackendId, lpn: u32, contents: C) {
        self.backends.fill_slot(backend, lpn, contents, &mut self.controller)
    }

    /// Both halves, for what happens to the drive as a whole.
    fn halves(&mut self) -> Halves<'_, C> {
        Halves { controller: &mut self.controller, backends: &mut self.backends }
    }

    /// The seed of the drive's errors.
    pub fn seed_errors(&mut self, seed: u64) {
        self.controller.errors.seed(seed);
    }

    /// From now on reports are kept until they are taken ([`Drive::take_told`]).
    pub fn keep_told(&mut self) {
        self.controller.start_watch().kept.get_or_insert_default();
    }

    /// The reports since the last call, in order.
    pub fn take_told(&mut self) -> impl Iterator<Item = Told> + '_ {
        self.controller.accounts.take_told()
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

    /// Whether no operation waits or is in progress that a request waits for.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.controller.is_quiet()
    }

    /// The run ends at `end`: logs get the operations under way.
    pub fn log_under_way(&mut self, end: SimTime) {
        self.controller.log_under_way(end, &self.backends);
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

    /// Whether the blocks that a fault strikes have had, on average, all their erases.
    #[must_use]
    pub fn is_worn(&self, what: Fault) -> bool {
        self.backends.is_worn(what)
    }

    /// Busy times of arrays and pins; none if they are not recorded.
    #[must_use]
    pub fn work(&self) -> Option<&OperationTimes> {
        self.controller.accounts.work()
    }

    /// Writes whole pages of a backend, one after the other, for the host: what
    /// [`submit`](crate::engine::Backends::submit) would do, without anybody who is answered.
    pub fn write_untimed(&mut self, backend: BackendId, pages: &[u32]) {
        self.halves().write_untimed(backend, pages)
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

    /// How long a read of the backend's page submitted at `now` is expected to take.
    #[must_use]
    pub fn expected_at(&self, now: SimTime, backend: BackendId, page: Page) -> ReadEstimate {
        let at = usize::from(backend.0);
        match self.backends.ftl.get(at).map(|_| self.backends.ftl.maps().get(at, page.low())) {
            Some(MapEntry::At(ppn)) => self.controller.expected_read(now, ppn, &self.backends),
            _ => ReadEstimate::default(),
        }
    }
}
