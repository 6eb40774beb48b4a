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
use crate::engine::{Breakdown, Contents, Done};
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
    /// Programs take this path.
    pub(in crate::drive) fn take_path(&mut self, programs: Programs) {
        self.paths.programs = programs;
    }

    /// Commands go to FTLs that are whole and timed, or are looked at one by one (`checked`).
    pub(in crate::drive) fn check_commands(&mut self, checked: bool) {
        self.paths.commands = Commands::of_mapped(!checked);
    }

    #[inline(always)]
    pub(in crate::drive) fn takes_commands_directly(&self) -> bool {
        self.paths.commands == Commands::Direct
    }

    /// Where the time of completed commands went, if that is measured.
    #[inline]
    pub(in crate::drive) fn breakdowns(&mut self) -> Option<&mut Vec<Breakdown>> {
        self.latencies.as_mut().map(|latencies| &mut latencies.done)
    }

    /// Whether pages on their way to flash are read from there, behind their program.
    pub(in crate::drive) fn reads_behind_writes(&self) -> bool {
        self.reads.behind
    }

    /// Whatever waits or is in progress is lost.
    pub(in crate::drive) fn lose_power(&mut self) {
        self.queues.clear();
        self.forget_all_doomed();
        self.done.clear();
        self.dies.clear();
    }

    /// Observers of operations are told of channels and units as well.
    pub(in crate::drive) fn start_watch(&mut self) -> &mut Watch {
        let mut watch = self.accounts.watch.take().unwrap_or_default();
        watch.told.resize(self.dies.unit_count() + self.dies.channels.len(), SimTime::ZERO);
        let watch = self.accounts.watch.insert(watch);
        // A drive with an observer does not use the fast path.
        self.paths.programs = Programs::Full;
        watch
    }

    /// Ends a write that found no place or no longer needs one.
    pub(in crate::drive) fn answer_unplaced(&mut self, now: SimTime, op: Id<DriveOp>) {
        self.forget_under_way(op);
        if !self.queues.is_unasked(op) {
            let DriveOp { token, command, .. } = self.queues[op];
            let spent = self.breakdown_of_unplaced(now, op);
            self.done.push(Done { spent, ..Done::at(token, u32::from(command.count), now) });
        }
        self.answer_behind(now, op);
        self.queues.ops.release(op);
    }
}
