//! A drive's leaves: FTLs, or physical pages, over the dies they share channels with, and NVRAMs beside them.
//!
//! Commands wait in queues of the resource they need: reads with their unit (chip, die or plane), writes in a write
//! queue until a unit that may take them is idle. Whenever a channel becomes free or gets work, it is *visited*
//! ([`visit`]): the scheduler picks one operation and grants it, and its end is known from then on. The release of a
//! resource for which no operation waits is a number, not an event.

mod addresses;
mod age;
mod audit;
mod backend;
mod before;
mod behind;
mod build;
mod by_address;
mod cache;
mod choose;
mod collect;
mod collection;
mod copyback;
mod counters;
mod created;
mod deal;
mod dies;
mod errors;
mod faults;
mod gangs;
mod gc;
mod holds;
mod latency;
mod limit;
mod logs;
mod look;
mod maintenance;
mod multiplane;
mod nvram;
mod older;
mod open_latency;
mod overflow;
mod packing;
mod parameters;
mod parts;
mod physical;
mod power;
mod program;
mod queue;
mod read;
mod recovery;
mod renew;
mod retire;
mod retry;
mod rounds;
mod slc;
mod snapshot;
mod soft;
mod sources;
mod spread;
mod streams;
mod submit;
mod suspend;
#[cfg(test)]
mod tests;
mod under_way;
mod untimed;
mod versions;
mod visit;
mod wear;
mod work;
mod write;

pub use crate::flash::OpKind;
pub use backend::FlashBackendKind;
pub use counters::{ByKindAndCause, Counters, SlcCounts};
pub use dies::LoggedOperation;
pub use errors::ErrorCounts;
pub use faults::Fault;
pub use holds::{BusyPeriod, HostRequest, Resource, RunState};
pub use logs::{Alone, DeviceObserver, DiskAccess, Told};
pub use nvram::Nvram;
pub use parameters::Parameters;
pub use recovery::Recovery;
pub use retire::DriveLife;
pub use wear::BlockErases;
pub use work::OperationTimes;

use crate::engine::{Contents, Done};
use crate::flash::{FlashArray, Scheduler, UnitId};
#[cfg(test)]
use crate::ftl::MapEntry;
use crate::ftl::allocation::PagePlacement;
use crate::kernel::{Id, SimTime, Span};
use backend::{DieQueue, Ftl, Remapped, Translation};
use collection::PlaneCollection;
use dies::Dies;
use errors::ReadErrors;
use faults::DriveHealth;
use gc::Gc;
use latency::DriveLatencies;
use maintenance::Maintenance;
use packing::Packing;
use parts::Parts;
use power::Power;
use program::{Paths, Programs, Scratch};
use queue::{DriveOp, OpQueue, Queues};
use read::ReadRules;
use slc::SlcPolicy;
use under_way::Suspension;
use untimed::Immediate;
use work::{DriveAccounts, Watch};

/// An observer of flash operations.
pub trait OperationObserver: Send {
    /// An operation, when its end is known.
    fn add(&mut self, operation: &LoggedOperation);

    /// A channel or a unit is in use, told when it is granted.
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
    /// The fixed properties of the flash array.
    flash: FlashArray,
    /// The state of dies and channels, and their events.
    dies: Dies,
    /// Address mapping and blocks.
    ftl: Translation<C>,
    /// Placement of pages by the FTLs.
    placement: PagePlacement,
    /// Logical pages that share pages of the flash.
    packing: Packing,
    /// Operations that wait for dies and channels, or are in progress.
    queues: Queues<C>,
    /// What has come of a request whose parts come now.
    parts: Parts,
    reads: ReadRules,
    gc: Gc,
    /// The SLC cache.
    slc: SlcPolicy,
    /// The immediate driver: pages that are placed without time.
    immediate: Immediate,
    /// Which code path commands and programs take.
    paths: Paths,
    health: DriveHealth,
    accounts: DriveAccounts,
    /// Recovery data, kept in a drive that will lose its power.
    power: Option<Box<Power>>,
    /// Non-volatile memories beside the flash, whose numbers as leaves follow those of the flash.
    nvrams: Vec<Nvram<C>>,
    /// Completions that the engine has not taken yet.
    done: Vec<Done<C>>,
    scratch: Scratch,
    /// Where the time of commands goes, if that is measured.
    latencies: Option<Box<DriveLatencies>>,
    /// What is under way, if operations are suspended for reads.
    suspension: Option<Box<Suspension>>,
    /// Bit errors, if reads of healthy flash can fail.
    errors: Option<Box<ReadErrors>>,
    /// What keeps data readable.
    maintenance: Maintenance,
    now: SimTime,
    /// When the last request was admitted.
    admitted: SimTime,
}

impl<C: Contents> Drive<C> {
    /// An observer that is told of each flash operation, in addition to others.
    pub fn log_operations(&mut self, log: Box<dyn OperationObserver>) {
        self.start_watch().logs.push(log);
    }

    /// Observers of operations are told of channels and units as well.
    fn start_watch(&mut self) -> &mut Watch {
        let mut watch = self.accounts.watch.take().unwrap_or_default();
        watch.told.resize(self.dies.units.len() + self.dies.channels.len(), SimTime::ZERO);
        let watch = self.accounts.watch.insert(watch);
        // A drive with an observer does not use the fast path.
        self.paths.programs = Programs::Full;
        watch
    }

    /// The warnings of the logs of a run that ended at `end`.
    #[must_use]
    pub fn log_notes(&self, end: SimTime) -> Vec<String> {
        self.accounts.watch.iter().flat_map(|watch| &watch.logs).filter_map(|log| log.note(end)).collect()
    }

    /// Ends the logs of operations.
    ///
    /// # Errors
    /// A message, if a log could not be written.
    pub fn close_log(&mut self) -> Result<(), String> {
        let logs = self.accounts.watch.as_mut().map(|watch| std::mem::take(&mut watch.logs));
        logs.into_iter().flatten().try_for_each(|log| log.close())
    }

    /// The time of a request that the controller's memory serves.
    #[must_use]
    pub fn memory_time(&self) -> Span {
        self.flash.timing.memory
    }

    /// The instant of the next event, [`SimTime::NEVER`] where nothing is pending.
    #[must_use]
    #[inline]
    pub fn next_event(&self) -> SimTime {
        self.dies.agenda.next()
    }

    /// Handles the next event if it is due by `until`; false if none is.
    #[inline(always)]
    pub fn step(&mut self, until: SimTime) -> bool {
        let Some((now, slot)) = self.dies.agenda.pop_due(until) else { return false };
        self.now = now;
        let units = self.dies.units.len();
        if slot < units {
            self.unit_wakes(now, UnitId(slot as u32));
        } else if slot - units < self.dies.channels.len() {
            self.channel_wakes(now, slot - units);
        } else if self.suspension.is_some() && slot - units - self.dies.channels.len() < units {
            self.settle_unit(now, UnitId((slot - units - self.dies.channels.len()) as u32));
        } else {
            self.scrub(now);
        }
        true
    }

    /// A request is admitted at `admitted` and served from `now` on, which may be earlier.
    #[inline]
    pub fn admit(&mut self, admitted: SimTime, now: SimTime) {
        self.admitted = admitted;
        self.now = now;
    }

    /// The instant of what was done last.
    #[must_use]
    #[inline]
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// Ends a write that found no place or no longer needs one.
    fn answer_unplaced(&mut self, now: SimTime, op: Id<DriveOp>) {
        self.forget_under_way(op);
        if !self.is_unasked(op) {
            let DriveOp { token, command, .. } = self.queues.ops[op];
            let spent = self.breakdown_of_unplaced(now, op);
            self.done.push(Done { spent, ..Done::at(token, u32::from(command.count), now) });
        }
        self.answer_behind(now, op);
        self.queues.ops.release(op);
    }
}
