//! The controller: dies, channels, and the operations that wait for them. It knows physical pages, and asks the backends
//! what to program next.

mod behind;
mod build;
mod cache;
mod dies;
mod errors;
mod gangs;
mod holds;
mod interrupt;
mod latency;
mod multiplane;
mod open_latency;
mod physical;
mod program;
mod queue;
mod read;
mod retry;
mod rounds;
mod sources;
mod spread;
mod suspend;
mod under_way;
mod visit;
mod work;

pub(super) use dies::{BusyUnitState, Dies, UnitPhase};
pub use errors::ErrorCounts;
pub(super) use errors::{Course, ReadErrors, Verdict};
pub(super) use program::{Full, Manner, PageWrite, Paths, ProgramMode, Programs, Scratch};
pub(super) use queue::{DriveOp, OpQueue, Queues};
pub(super) use read::{Commands, ReadRules};
pub(super) use sources::{Next, Taker};
pub(super) use under_way::Suspension;
pub(super) use work::DriveAccounts;
pub use work::OperationTimes;

use crate::drive::Parameters;
use crate::engine::{Contents, Done};
use crate::flash::FlashArray;
use crate::kernel::{Id, SimTime};
use latency::DriveLatencies;
use work::Watch;

/// Grants operations of physical pages to dies and channels, and so decides when they end.
#[derive(Clone)]
pub(super) struct Controller<C> {
    /// The fixed properties of the flash array.
    pub(super) flash: FlashArray,
    /// The state of dies and channels, and their events.
    pub(super) dies: Dies,
    /// Operations that wait for dies and channels, or are in progress.
    pub(super) queues: Queues<C>,
    pub(super) reads: ReadRules,
    /// Which code path commands and programs take.
    pub(super) paths: Paths,
    pub(super) accounts: DriveAccounts,
    /// Completions that the engine has not taken yet.
    pub(super) done: Vec<Done<C>>,
    pub(super) scratch: Scratch,
    /// Where the time of commands goes, if that is measured.
    pub(super) latencies: Option<Box<DriveLatencies>>,
    /// What is under way, if operations are suspended for reads.
    pub(super) suspension: Option<Box<Suspension>>,
    /// Bit errors, if reads of healthy flash can fail.
    pub(super) errors: Option<Box<ReadErrors>>,
    pub(super) now: SimTime,
    /// When the last request was admitted.
    pub(super) admitted: SimTime,
}

impl<C: Contents> Controller<C> {
    /// Observers of operations are told of channels and units as well.
    pub(in crate::drive) fn start_watch(&mut self) -> &mut Watch {
        let mut watch = self.accounts.watch.take().unwrap_or_default();
        watch.told.resize(self.dies.units.len() + self.dies.channels.len(), SimTime::ZERO);
        let watch = self.accounts.watch.insert(watch);
        // A drive with an observer does not use the fast path.
        self.paths.programs = Programs::Full;
        watch
    }

    /// Ends a write that found no place or no longer needs one.
    pub(in crate::drive) fn answer_unplaced(&mut self, now: SimTime, op: Id<DriveOp>) {
        self.forget_under_way(op);
        if !self.queues.is_unasked(op) {
            let DriveOp { token, command, .. } = self.queues.ops[op];
            let spent = self.breakdown_of_unplaced(now, op);
            self.done.push(Done { spent, ..Done::at(token, u32::from(command.count), now) });
        }
        self.answer_behind(now, op);
        self.queues.ops.release(op);
    }
}
