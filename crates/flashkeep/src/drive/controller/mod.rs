//! The controller: dies, channels, and the operations that wait for them. It knows physical pages, and asks the backends
//! what to program next.

mod build;
mod cache;
mod collection_reads;
mod dies;
mod errors;
mod gangs;
mod holds;
mod interrupt;
mod interrupted;
mod latency;
mod multiplane;
mod open_operations;
mod owner;
mod physical;
mod probe;
mod program;
mod queue;
mod read;
mod read_from_flash;
mod retry;
mod rounds;
mod sources;
mod spread;
mod suspend;
mod under_way;
mod visit;
mod work;

pub(super) use collection_reads::CollectionRead;
pub(super) use dies::{BusyUnitState, Channel};
pub use errors::ErrorCounts;
pub(super) use errors::{BitErrors, ReadAttempts, Verdict};
pub(super) use owner::{OwnerRules, PageOwner};
pub(super) use program::{Full, Manner, PageWrite, ProgramMode, Programs};
pub(super) use queue::{DriveOp, UNASKED};
pub(super) use read::Commands;
pub(super) use rounds::BATCH;
pub(super) use sources::{Next, Taker};
pub(super) use under_way::Flight;
pub use work::OperationTimes;

use crate::drive::{Counters, DeviceObserver, Parameters, Told};
use crate::engine::{Breakdown, Contents, Done, Part};
use crate::flash::{FlashArray, Ppn, Scheduler, UnitId};
use crate::kernel::{Agenda, Arena, Id, SimTime};
use collection_reads::CollectionReads;
use gangs::GangRound;
use open_operations::OpenOperations;
use probe::LatencyProbe;
use read_from_flash::ReadBehindWrite;
use rounds::OpenRound;
use spread::PoolUnits;

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
    /// Reads for collections whose data are still in their die.
    collection_reads: CollectionReads,
    /// What never changes of the backends.
    rules: OwnerRules,
    pub(super) accounts: DriveAccounts,
    /// Completions that the engine has not taken yet.
    pub(super) done: Vec<Done<C>>,
    pub(super) scratch: Scratch,
    /// Where the time of commands goes, if that is measured.
    pub(super) probe: LatencyProbe,
    /// The operations whose ends may move, if operations are suspended for reads.
    pub(super) open: OpenOperations,
    pub(super) errors: BitErrors,
    pub(super) now: SimTime,
    /// When the last request was admitted.
    pub(super) admitted: SimTime,
}

/// The state of dies and channels, and the events that they wait for.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Dies {
    /// The scheduling rule.
    scheduler: Scheduler,
    units: Vec<BusyUnitState>,
    /// When each unit is free; [`SimTime::NEVER`] while it reads or holds a page for the channel.
    free_at: Vec<SimTime>,
    /// With cache programs: when each unit can take the data of its next program.
    accepts_at: Vec<SimTime>,
    /// Until when each unit has worked for something else than folding, if it has.
    worked: Vec<Option<SimTime>>,
    channels: Vec<Channel>,
    /// Units of a channel.
    per_channel: usize,
    /// Which unit each plane is in, or the first of a pool's.
    of_plane: Vec<UnitId>,
    /// Where pools have several units: which one each block is in.
    spread: Option<Box<PoolUnits>>,
    /// Whether the release of a unit matters even if its queues are empty: with cache programs, a soft threshold, or
    /// pools of several units.
    wake_on_release: bool,
    gangs: Gangs,
    /// With rounds: the round that is being assembled.
    open_round: OpenRound,
    /// A slot for each unit, then one for each channel. Where operations are suspended, one for each unit follows: when
    /// its operation is over. With scrubbing, its next read is the last one.
    agenda: Agenda,
}

/// Operations in the order in which their requests came; within a request, in the order in which they came.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::drive) struct OpQueue {
    head: Id<DriveOp>,
    tail: Id<DriveOp>,
}

/// Operations that wait for dies and channels, or are in progress.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct Queues<C> {
    /// The write queues; each write waits in the queue of the dies that may take it.
    write_queues: Vec<OpQueue>,
    /// The write queues that are not empty.
    waiting: u32,
    /// Operations that wait or are under way.
    ops: Arena<DriveOp>,
    /// The number of the last operation.
    sequence: u64,
    /// The copy that each page of a write in flight replaces, as long as that is so.
    older: Vec<Vec<Option<Ppn>>>,
    /// The contents of writes in flight; unused if contents are not kept.
    carried: Vec<Vec<C>>,
    /// Reads of pages that have no place yet.
    behind: Vec<ReadBehindWrite>,
}

/// How reads are served.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct ReadRules {
    /// Whether a read may bring up pages of several planes, or all that are waited for of a flash page.
    joins: bool,
    /// Whether a program may have several pages, which are all in the controller's memory meanwhile.
    together: bool,
    /// Whether a read of a page that is already being read on the same channel rides along.
    coalesce: bool,
    /// Whether pages on their way to flash are read from there, after their program.
    behind: bool,
}

/// The code paths of a drive.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct Paths {
    commands: Commands,
    programs: Programs,
}

/// Lists that are empty between two programs, kept to reuse their memory.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct Scratch {
    /// The pages of one program.
    pages: Vec<PageWrite>,
}

/// Counters and observers.
#[derive(Clone, Default)]
pub(in crate::drive) struct DriveAccounts {
    counters: Counters,
    /// The number of units, which come before channels in the lists of [`Watch`].
    units: usize,
    /// Busy times, if the drive file gives currents.
    work: Option<Box<OperationTimes>>,
    watch: Option<Box<Watch>>,
}

/// The observers of operations.
#[derive(Default)]
pub(in crate::drive) struct Watch {
    pub logs: Vec<Box<dyn DeviceObserver>>,
    /// Until when logs have been notified that each unit, and then each channel, is in use; empty without logs.
    pub told: Vec<SimTime>,
    /// Reports that another component passes on.
    pub kept: Option<Vec<Told>>,
}

/// Channels that share their control lines.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Gangs {
    /// Channels per gang; 1 if each has control lines of its own.
    size: usize,
    /// The state of each gang.
    rounds: Vec<GangRound>,
}

impl<C: Contents> Controller<C> {
    /// All operations that wait or are in progress are lost.
    pub(in crate::drive) fn lose_power(&mut self) {
        self.queues.clear();
        self.collection_reads.clear();
        self.errors.forget_all_doomed();
        self.done.clear();
        self.dies.clear();
    }

    /// Notifies observers of operations of the use of channels and units as well.
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
        self.open.forget_write(op);
        if !self.queues.is_unasked(op) {
            let DriveOp { token, command, since, .. } = self.queues[op];
            let spent = self.probe.list(|| Breakdown::of(Part::Die, now.since(since)));
            self.done.push(Done { spent, ..Done::at(token, u32::from(command.count), now) });
        }
        self.answer_behind(now, op);
        self.queues.release(op);
    }
}

impl Paths {
    /// Programs take this path.
    pub(in crate::drive) fn take(&mut self, programs: Programs) {
        self.programs = programs;
    }

    /// Commands go to FTLs that are whole and timed, or are looked at one by one (`checked`).
    pub(in crate::drive) fn check_commands(&mut self, checked: bool) {
        self.commands = Commands::of_mapped(!checked);
    }

    #[inline(always)]
    pub(in crate::drive) fn are_direct(&self) -> bool {
        self.commands == Commands::Direct
    }
}

impl ReadRules {
    /// Whether pages on their way to flash are read from there, after their program.
    pub(in crate::drive) fn wait_for_writes(&self) -> bool {
        self.behind
    }
}
