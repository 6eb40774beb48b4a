//! A drive's leaves: FTLs, or raw flash, over the dies they share channels with, and NVRAMs beside them.
//!
//! Commands wait in queues of the resource they need: reads with their unit (chip, die or plane), writes in a pool
//! until a unit that may take them is idle. Whenever a channel falls free or gets something to do, it is *visited*
//! ([`visit`]): the scheduler picks one action, which is granted, and its end is known from then on. A resource that
//! falls free with nobody waiting is a number, not an event.

mod addresses;
mod age;
mod audit;
mod before;
mod build;
mod cache;
mod choose;
mod collect;
mod copyback;
mod counters;
mod dies;
mod faults;
mod gc;
mod holds;
mod image;
mod leaf;
mod limit;
mod logs;
mod look;
mod multiplane;
mod nvram;
mod packing;
mod parameters;
mod power;
mod program;
mod queue;
mod raw;
mod read;
mod recovery;
mod renew;
mod retire;
mod rounds;
mod soft;
mod sources;
mod streams;
mod submit;
#[cfg(test)]
mod tests;
mod untimed;
mod versions;
mod visit;
mod work;
mod write;

pub use crate::flash::Kind;
pub use counters::Counters;
pub use dies::Operation;
pub use faults::Fault;
pub use holds::{Hold, HostRequest, Resource};
pub use leaf::LeafKind;
pub use logs::{Alone, Logs, Told};
pub use nvram::Nvram;
pub use parameters::Parameters;
pub use recovery::Recovery;
pub use retire::Life;
pub use work::Work;

use crate::engine::{Contents, Done};
use crate::flash::{
    Acknowledge, BusUse, CommandsSpec, Domain, Geometry, Level, MultiPlane, PlaneId, Pools, Ppn, Round, Rows,
    Scheduler, Timing, UnitId,
};
#[cfg(test)]
use crate::ftl::Entry;
use crate::ftl::allocation::Order;
use crate::ftl::{Allocation, Blocks, Copyback, GcRun, InFlight, Maps, PlaneChoice};
use crate::kernel::{Agenda, Arena, Id, SimTime, Span};
use choose::Chooser;
use dies::{Channel, Unit};
use leaf::{Ftl, Lane, Renamed};
use packing::Packing;
use power::Power;
use program::PageWrite;
use queue::{NOT_YET, Op, Queue};
use streams::Streams;
use work::Watch;

/// Whoever is told of each flash operation.
pub trait Log: Send {
    /// An operation, when its end is known.
    fn add(&mut self, operation: &Operation);

    /// A channel or a unit is in use, told when it is granted.
    fn hold(&mut self, _hold: &Hold) {}

    /// A request of the host is over.
    fn request(&mut self, _request: &HostRequest) {}

    /// What whoever reads it ought to know, of a run that ended at `_end`.
    fn note(&self, _end: SimTime) -> Option<String> {
        None
    }

    /// There will be no more.
    ///
    /// # Errors
    /// What could not be written, in words.
    fn close(self: Box<Self>) -> Result<(), String>;
}

/// What a gang of channels that share their control lines does: operations that have begun together.
#[derive(Clone, Copy, Debug, Default)]
struct GangRound {
    begun: SimTime,
    end: SimTime,
}

/// A plane's collection.
#[derive(Clone, Copy, Debug, Default)]
struct Collection {
    queued: bool,
    next: Option<PlaneId>,
    victim: Option<u32>,
    cursor: u32,
    /// With `parity-skip`: pages that its moves have taken, those left out included.
    spent: u32,
    levelled: Levelled,
}

/// What wear levelling has to do with a victim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Levelled {
    /// Nothing.
    #[default]
    No,
    /// Another one was passed over.
    Instead,
    /// Once it is erased, the data of this block are to be moved into it.
    Into(u32),
    /// Its data are moved into the held block.
    Out,
}

/// All leaves of a drive and the flash below them.
#[derive(Clone)]
pub struct Drive<C> {
    /// Whether all leaves are FTLs that take their time and nothing has failed yet: commands go the short way.
    plain: bool,
    /// Whether pages are programmed one by one, all of them as long, in one open block a plane, and nobody is told or
    /// keeps older versions: what the hot path asks instead of each of these ([`Drive::simplify`]).
    simple: bool,
    /// Whether there are more planes than the processor keeps open blocks' tables at hand for.
    many_planes: bool,
    /// Whether commands are done when they are submitted, and whether what is being done so counts.
    untimed: bool,
    counting: bool,
    /// The owners of a victim's pages, kept for their memory.
    owners: Vec<u32>,
    /// Pages that ageing has left valid and that nobody has yet.
    slots: age::Slots,
    /// Whether something has failed.
    damaged: bool,
    /// Whether the flash leaves are raw.
    raw: bool,
    /// Whether FTLs tell of pages of their shadow that are about to be collected.
    notify_leaving: bool,
    /// Whether FTLs tell of pages that collection moves.
    notify_moves: bool,
    /// Where FTLs place pages as long as all of their planes are there.
    configured: Allocation,
    geometry: Geometry,
    /// What each plane of the geometry consists of.
    planes: Pools,
    timing: Timing,
    scheduler: Scheduler,
    chooser: Chooser,
    acknowledge: Acknowledge,
    bus: BusUse,
    commands: CommandsSpec,
    /// Whether pages of the flash have several places each; what is known of them besides.
    packs: bool,
    packing: Packing,
    /// Pages of each plane's victim that have been read and not yet programmed; with some that are neither any more.
    hands: Vec<Vec<Ppn>>,
    /// Whether reads join others: of several planes, or places.
    joins_reads: bool,
    /// Consecutive pages that the address binds to the same place.
    stride: u32,
    /// Whether planes are bound, or chosen, but not channels: who comes first in a pool decides which channels may take
    /// it.
    selective: bool,
    /// Channels that share their control lines, and what each gang of them does.
    gang: usize,
    rounds: Vec<GangRound>,
    /// Where units work in rounds: the one that is being put together.
    in_step: Round,
    gc: GcRun,
    coalesce: bool,
    plane_choice: PlaneChoice,
    /// Pages on their way are read from flash, behind their program.
    read_behind: bool,
    /// Each block has a summary behind its data.
    summaries: bool,
    /// What noting the place of a program takes, and whether that stays without power.
    map_write: Span,
    map_survives: bool,
    /// Planes are collected also while nothing waits for them.
    background: bool,
    copyback: Copyback,
    /// A plane with fewer free pages collects.
    collect_below: u32,
    /// A plane with fewer free pages collects, if only in idle moments.
    look_below: u32,
    /// Units whose release somebody minds although nothing waits for them: with cache programs, or a soft threshold.
    minds_units: bool,
    blocks: Blocks<C>,
    /// Which open block a page goes to.
    streams: Streams,
    life: Life,
    /// The flash leaves; the NVRAMs' numbers follow theirs.
    ftls: Vec<Ftl>,
    maps: Maps,
    nvrams: Vec<Nvram<C>>,
    /// In raw leaves: the first page of each block that may be written next.
    raw_next: Vec<u32>,
    lanes: Vec<Lane>,
    /// Which lane each plane is in.
    lane_of: Vec<u32>,
    pools: Vec<Queue>,
    /// Pools in which writes wait.
    pools_waiting: u32,
    units: Vec<Unit>,
    /// When each unit is free; [`SimTime::NEVER`] while it reads or holds a page for the channel.
    free_at: Vec<SimTime>,
    /// With cache programs: when each unit can take the data of its next program.
    accepts_at: Vec<SimTime>,
    units_per_channel: usize,
    /// Which unit each plane is in.
    unit_of: Vec<UnitId>,
    channels: Vec<Channel>,
    collections: Vec<Collection>,
    ops: Arena<Op>,
    /// The version of the copy that each write in flight replaces; untouched where planes take turns.
    replaces: Vec<versions::Replaced>,
    /// The pages of writes in flight; untouched where contents are nothing.
    carried: Vec<Vec<C>>,
    /// What one program takes, and planes that could take more: empty in between.
    pages: Vec<PageWrite>,
    free_planes: Vec<PlaneId>,
    agenda: Agenda,
    done: Vec<Done<C>>,
    sequence: u64,
    now: SimTime,
    /// When the last request was admitted.
    admitted: SimTime,
    counters: Counters,
    /// Counted where the drive says what it draws.
    work: Option<Box<Work>>,
    watch: Option<Box<Watch>>,
    /// What is kept in a drive that is to lose its power.
    power: Option<Box<Power>>,
}

impl<C: Contents> Drive<C> {
    /// Where each flash operation is told, besides other logs.
    pub fn log_operations(&mut self, log: Box<dyn Log>) {
        self.start_watch().logs.push(log);
    }

    /// Whoever is told of operations is told of channels and units, too.
    fn start_watch(&mut self) -> &mut Watch {
        let mut watch = self.watch.take().unwrap_or_default();
        watch.told.resize(self.units.len() + self.channels.len(), SimTime::ZERO);
        let watch = self.watch.insert(watch);
        // Whoever is watched does nothing simply.
        self.simple = false;
        watch
    }

    /// What the logs have to say of a run that ended at `end`.
    #[must_use]
    pub fn log_notes(&self, end: SimTime) -> Vec<String> {
        self.watch.iter().flat_map(|watch| &watch.logs).filter_map(|log| log.note(end)).collect()
    }

    /// Ends the logs of operations.
    ///
    /// # Errors
    /// What could not be written of them.
    pub fn close_log(&mut self) -> Result<(), String> {
        let logs = self.watch.as_mut().map(|watch| std::mem::take(&mut watch.logs));
        logs.into_iter().flatten().try_for_each(|log| log.close())
    }

    /// What the controller's memory takes to serve.
    #[must_use]
    pub fn memory_time(&self) -> Span {
        self.timing.memory
    }

    /// The instant of the next event, [`SimTime::NEVER`] where nothing is pending.
    #[must_use]
    #[inline]
    pub fn next_event(&self) -> SimTime {
        self.agenda.next()
    }

    /// Does what is due next, if it is due by `until`; false where nothing is.
    #[inline(always)]
    pub fn step(&mut self, until: SimTime) -> bool {
        let Some((now, slot)) = self.agenda.first(until) else { return false };
        self.now = now;
        let units = self.units.len();
        self.agenda.begin(slot);
        if slot < units {
            self.unit_wakes(now, UnitId(slot as u32));
        } else {
            self.visit(now, slot - units);
        }
        // Most events are followed by the next one of the same resource, which may be due at once.
        self.agenda.end(slot);
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

    #[inline]
    fn unit_of_page(&self, ppn: Ppn) -> UnitId {
        self.unit_of[self.geometry.plane_of(ppn).0 as usize]
    }

    #[inline]
    fn is_idle(&self, now: SimTime, unit: UnitId) -> bool {
        self.free_at[unit.0 as usize] <= now
    }

    #[inline(always)]
    fn claim(&mut self, op: Op) -> Id<Op> {
        let id = self.ops.claim();
        self.sequence += 1;
        self.ops[id] = Op { sequence: self.sequence, ..op };
        id
    }

    /// Takes operations out of a pool.
    fn take_from_pool(&mut self, pool: u32, which: impl Fn(&Op) -> bool) -> Vec<Id<Op>> {
        let queue = &mut self.pools[pool as usize];
        let before = queue.head.is_some();
        let taken = queue.take(&mut self.ops, which);
        self.pools_waiting -= u32::from(before && !queue.head.is_some());
        taken
    }

    /// A write is over that found no place, or needs none any more.
    fn answer_unplaced(&mut self, now: SimTime, op: Id<Op>) {
        if !self.is_nobodys(op) {
            let Op { ticket, command, .. } = self.ops[op];
            self.answer(ticket, u32::from(command.count), now, Span::ZERO, C::default());
        }
        self.ops.release(op);
    }
}
