//! A drive's leaves: FTLs, or raw flash, over the dies they share channels with, and NVRAMs beside them.
//!
//! Commands wait in queues of the resource they need: reads with their unit (chip, die or plane), writes in a pool
//! until a unit that may take them is idle. Whenever a channel falls free or gets something to do, it is *visited*
//! ([`visit`]): the scheduler picks one action, which is granted, and its end is known from then on. A resource that
//! falls free with nobody waiting is a number, not an event.

mod age;
mod audit;
mod cache;
mod choose;
mod collect;
mod copyback;
mod counters;
mod faults;
mod image;
mod limit;
mod media;
mod multiplane;
mod nvram;
mod power;
mod raw;
mod read;
mod recovery;
mod retire;
mod soft;
mod streams;
#[cfg(test)]
mod tests;
mod untimed;
mod visit;
mod work;
mod write;

pub use counters::{Counters, Kind};
pub use faults::Fault;
pub use media::Operation;
pub use recovery::Recovery;
pub use retire::Life;
pub use work::Work;

use crate::engine::{Below, Command, Contents, Done, LeafId, Leaves, Page, Spare, Ticket, Verb};
use crate::ftl::allocation::Order;
use crate::ftl::{Allocation, Blocks, Entry, Map, Victim};
use crate::kernel::{Agenda, Arena, Id, SimTime, Span};
use crate::media::{Domain, Geometry, PlaneId, Ppn, Rows, Scheduler, Timing, UnitId};
use crate::spec::{
    Acknowledge, BusUse, CommandsSpec, Copyback, GcRun, InFlight, Level, MultiPlane, PlaneChoice, Resolved,
};
use choose::Chooser;
use limit::Limit;
use media::{Channel, Unit};
use multiplane::Share;
use nvram::Nvram;
use power::Power;
use streams::Streams;
use work::Watch;

/// Whoever is told of each flash operation.
pub trait Log: Send {
    /// An operation, when its end is known.
    fn add(&mut self, operation: &Operation);

    /// There will be no more.
    ///
    /// # Errors
    /// What could not be written, in words.
    fn close(self: Box<Self>) -> Result<(), String>;
}

/// What the flash leaves of a drive are: all of them the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafKind {
    /// An FTL. Both kinds of pages together must leave two blocks of every plane unused.
    Mapped {
        /// Pages that it exports.
        pages: u32,
        /// Pages beyond those, to which a scheme renames what it still needs ([`Verb::Rename`]).
        shadow: u32,
        /// Whether it says of each page of the shadow that its block is about to be collected
        /// ([`Part::Leaving`](crate::engine::Part::Leaving)).
        notify_leaving: bool,
        /// Whether it says of each page that collection has moved it ([`Part::Moved`](crate::engine::Part::Moved)).
        notify_moves: bool,
    },
    /// Pages by their physical numbers ([`Rows`]): a group after the other, a group being the same block of every
    /// plane. A group's pages are written in ascending order (which may leave some out) and are erased together, by
    /// trimming whole groups.
    Raw,
    /// The same, but a group is a single block; they go over the planes in turn.
    Blocks,
}

/// What waits or is being done: a read of one page, or the rest of a run of writes. In a raw leaf also an erase, or
/// the trim that it is a part of.
#[derive(Clone, Copy, Debug, Default)]
struct Op {
    ticket: Ticket,
    command: Command,
    /// Pages of a write that have found their place; erases of a trim that are still to come.
    placed: u16,
    ftl: u16,
    sequence: u64,
    next: Id<Op>,
    previous: Id<Op>,
    ppn: Ppn,
    acknowledged: SimTime,
    durable: SimTime,
    service: Span,
}

/// Where a read will find a page that is not in flash yet: known when the read is granted.
const NOT_YET: Ppn = Ppn(u32::MAX);

/// Operations in the order in which their requests came; within a request, in the order in which they came.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    head: Id<Op>,
    tail: Id<Op>,
}

impl Queue {
    /// Adds an operation; nearly always it is the youngest, so its place is sought from the end.
    #[inline]
    fn push(&mut self, ops: &mut Arena<Op>, op: Id<Op>) {
        let age = ops[op].ticket.age;
        let mut after = self.tail;
        while after.is_some() && (age.wrapping_sub(ops[after].ticket.age) as i32) < 0 {
            after = ops[after].previous;
        }
        let before = if after.is_some() { ops[after].next } else { self.head };
        ops[op].previous = after;
        ops[op].next = before;
        if after.is_some() {
            ops[after].next = op
        } else {
            self.head = op
        }
        if before.is_some() { ops[before].previous = op } else { self.tail = op }
    }

    /// Adds an operation behind all others, whatever its age.
    fn push_last(&mut self, ops: &mut Arena<Op>, op: Id<Op>) {
        (ops[op].previous, ops[op].next) = (self.tail, Id::NONE);
        if self.tail.is_some() {
            ops[self.tail].next = op
        } else {
            self.head = op
        }
        self.tail = op;
    }

    /// Takes out all operations that `which` picks, in order.
    fn take(&mut self, ops: &mut Arena<Op>, which: impl Fn(&Op) -> bool) -> Vec<Id<Op>> {
        let (mut kept, mut taken) = (Queue::default(), Vec::new());
        let mut at = self.head;
        while at.is_some() {
            let next = ops[at].next;
            if which(&ops[at]) {
                taken.push(at)
            } else {
                kept.push_last(ops, at)
            }
            at = next;
        }
        *self = kept;
        taken
    }

    #[inline]
    fn pop(&mut self, ops: &mut Arena<Op>) -> Id<Op> {
        let head = self.head;
        self.head = std::mem::replace(&mut ops[head].next, Id::NONE);
        if self.head.is_some() {
            ops[self.head].previous = Id::NONE;
        } else {
            self.tail = Id::NONE;
        }
        head
    }

    /// Takes one out, wherever it stands.
    fn remove(&mut self, ops: &mut Arena<Op>, op: Id<Op>) {
        let Op { previous, next, .. } = ops[op];
        if previous.is_some() {
            ops[previous].next = next
        } else {
            self.head = next
        }
        if next.is_some() { ops[next].previous = previous } else { self.tail = previous }
    }

    /// Sends every operation that waits for a page elsewhere, where `elsewhere` says so.
    fn redirect(&self, ops: &mut Arena<Op>, elsewhere: impl Fn(Ppn) -> Option<Ppn>) {
        let mut at = self.head;
        while at.is_some() {
            if let Some(ppn) = elsewhere(ops[at].ppn) {
                ops[at].ppn = ppn;
            }
            at = ops[at].next;
        }
    }

    fn any(&self, ops: &Arena<Op>, mut test: impl FnMut(&Op) -> bool) -> bool {
        let mut at = self.head;
        while at.is_some() {
            if test(&ops[at]) {
                return true;
            }
            at = ops[at].next;
        }
        false
    }
}

/// The planes of one unit that one FTL rules over, and the pool that they take writes from.
#[derive(Clone, Debug)]
struct Lane {
    ftl: u16,
    unit: UnitId,
    planes: Vec<PlaneId>,
    turn: u32,
    pool: u32,
}

/// One FTL, or raw leaf: a member of the tree.
#[derive(Clone, Debug)]
struct Ftl {
    map: Map,
    /// The pages that it exports; those beyond are its shadow.
    pages: u32,
    /// Of a raw leaf: where its pages are.
    rows: Option<Rows>,
    /// All of its planes have failed.
    dead: bool,
    /// How much it can map, once part of it has failed.
    limit: Option<Limit>,
    domain: Domain,
    allocation: Allocation,
    /// Its pools; with one for the whole domain, `first_pool` alone.
    first_pool: u32,
    /// Its lanes, in order of channel and unit.
    lanes: std::ops::Range<u32>,
    /// The channel, within the domain, where the next write is offered first.
    turn: u32,
    /// Its lanes in the order in which pages without time are put into them, channel by channel, and the next one.
    in_turn: Vec<u32>,
    untimed_turn: usize,
    erases: u64,
    /// Writes in flight of which a page was renamed; nearly always empty.
    renamed: Vec<Renamed>,
}

/// Where the pages of a write in flight belong that are no longer all at the addresses they were written to.
#[derive(Clone, Debug)]
struct Renamed {
    op: u32,
    /// The address of each page; none for a page that has been written again, trimmed or renamed away.
    owners: Vec<Option<u32>>,
}

impl Ftl {
    /// The addresses of a write's pages, where they are not what they were.
    fn owners(&mut self, op: u32) -> Option<&mut Vec<Option<u32>>> {
        self.renamed.iter_mut().find(|renamed| renamed.op == op).map(|renamed| &mut renamed.owners)
    }

    /// A page that a write in flight carries is given up.
    fn displace(&mut self, op: u32, lpn: u32) {
        if let Some(owners) = self.owners(op)
            && let Some(owner) = owners.iter_mut().find(|owner| **owner == Some(lpn))
        {
            *owner = None;
        }
    }

    fn lanes_range(&self) -> std::ops::Range<usize> {
        self.lanes.start as usize..self.lanes.end as usize
    }
}

/// What a gang of channels that share their control lines does: operations that have begun together.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
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
    /// A page on its way, read and not yet programmed.
    moving: Option<Ppn>,
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
pub struct Drive<C> {
    /// Whether all leaves are FTLs that take their time and nothing has failed yet: commands go the short way.
    plain: bool,
    /// Whether pages are programmed one by one, all of them as long, in one open block a plane, and nobody is told or
    /// keeps older versions: what the hot path asks instead of each of these ([`Drive::simplify`]).
    simple: bool,
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
    timing: Timing,
    scheduler: Scheduler,
    chooser: Chooser,
    acknowledge: Acknowledge,
    bus: BusUse,
    commands: CommandsSpec,
    /// Whether programs take the way of several pages at once, or through a cache register.
    joins: bool,
    /// `flash.commands.register_ns`.
    register: Span,
    /// Whether all pages take as long to program, and the channel is held for transfers only.
    uniform: bool,
    /// Channels that share their control lines, and what each gang of them does.
    gang: usize,
    rounds: Vec<Round>,
    gc: GcRun,
    coalesce: bool,
    plane_choice: PlaneChoice,
    /// Pages on their way are read from flash, behind their program.
    read_behind: bool,
    /// Each block has a summary behind its data.
    summaries: bool,
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
    replaces: Vec<write::Replaced>,
    /// The pages of writes in flight; untouched where contents are nothing.
    carried: Vec<Vec<C>>,
    /// What one multi-plane program takes, and planes that could take more: empty in between.
    shares: Vec<Share>,
    free_planes: Vec<PlaneId>,
    agenda: Agenda,
    done: Vec<Done<C>>,
    sequence: u64,
    now: SimTime,
    /// When the last request was admitted.
    admitted: SimTime,
    counters: Counters,
    watch: Option<Box<Watch>>,
    /// What is kept in a drive that is to lose its power.
    power: Option<Box<Power>>,
}

impl<C: Contents> Drive<C> {
    /// The flash of a drive, erased, a leaf of that kind for each of `domains`.
    #[must_use]
    pub fn new(
        drive: &Resolved,
        domains: &[Domain],
        kind: LeafKind,
        scheduler: Scheduler,
        victim: Victim,
    ) -> Self {
        let geometry = Geometry::new(&drive.spec.flash);
        let threshold = drive.spec.ftl.gc.threshold * geometry.pages_per_plane() as f64;
        let raw = matches!(kind, LeafKind::Raw | LeafKind::Blocks);
        // A block's worth of free pages for each stream is kept from the host, so collection starts before it is reached.
        let collect_below = (threshold as u32).max(u32::from(drive.streams()) * geometry.pages + 1);
        let soft = drive.spec.ftl.gc.soft_threshold.filter(|_| !raw).unwrap_or(0.0);
        let soft_below = (soft * geometry.pages_per_plane() as f64) as u32;
        let commands = &drive.spec.flash.commands;
        let mut this = Drive {
            plain: !raw,
            simple: false,
            untimed: false,
            counting: false,
            owners: Vec::new(),
            slots: age::Slots::default(),
            damaged: false,
            raw,
            notify_leaving: matches!(kind, LeafKind::Mapped { notify_leaving: true, .. }),
            notify_moves: matches!(kind, LeafKind::Mapped { notify_moves: true, .. }),
            // The order in which the rows of a raw leaf go over its planes, each of which takes its own.
            configured: if raw {
                Allocation::Static(Order::new(&Level::ALL, 1))
            } else {
                Allocation::new(drive.allocation, drive.stride())
            },
            timing: Timing::new(drive),
            scheduler,
            chooser: Chooser::new(drive, victim),
            streams: Streams::default(),
            life: Life::new(drive),
            acknowledge: drive.spec.flash.acknowledge,
            bus: drive.spec.flash.bus,
            commands: commands.clone(),
            joins: !raw && (commands.multi_plane != MultiPlane::Off || commands.cache_program),
            register: Span(drive.timing.register_ns),
            uniform: drive.page_types.is_single() && drive.spec.flash.bus == BusUse::Transfers,
            gang: drive.spec.flash.control_gang as usize,
            rounds: vec![Round::default(); (geometry.channels / drive.spec.flash.control_gang) as usize],
            gc: drive.spec.ftl.gc.run,
            coalesce: drive.spec.ftl.coalesce_reads,
            plane_choice: drive.spec.ftl.plane_choice,
            read_behind: drive.spec.ftl.read_in_flight == InFlight::Flash,
            summaries: drive.spec.flash.summary_page,
            background: drive.spec.ftl.gc.background,
            copyback: drive.spec.ftl.gc.copyback,
            collect_below,
            look_below: collect_below.max(soft_below),
            minds_units: commands.cache_program || soft_below > collect_below,
            blocks: Blocks::new(&geometry),
            ftls: Vec::new(),
            nvrams: Vec::new(),
            raw_next: vec![0; if raw { geometry.block_space() } else { 0 }],
            lanes: Vec::new(),
            lane_of: vec![0; geometry.plane_count() as usize],
            pools: Vec::new(),
            pools_waiting: 0,
            units: media::units(&geometry),
            free_at: vec![SimTime::ZERO; geometry.unit_count() as usize],
            accepts_at: vec![SimTime::ZERO; geometry.unit_count() as usize],
            units_per_channel: geometry.units_per_channel() as usize,
            unit_of: (0..geometry.plane_count()).map(|plane| geometry.unit_of(PlaneId(plane))).collect(),
            channels: media::channels(&geometry),
            collections: vec![Collection::default(); geometry.plane_count() as usize],
            ops: Arena::default(),
            replaces: Vec::new(),
            carried: Vec::new(),
            shares: Vec::new(),
            free_planes: Vec::new(),
            agenda: Agenda::new((geometry.unit_count() + geometry.channels) as usize),
            done: Vec::new(),
            sequence: 0,
            now: SimTime::ZERO,
            admitted: SimTime::ZERO,
            counters: Counters::new(domains.len()),
            watch: drive.draws().then(|| Box::new(Watch { work: Some(Work::default()), ..Watch::default() })),
            power: None,
            geometry,
        };
        for domain in domains {
            this.add_leaf(domain, kind, domains.len() > 1);
        }
        if !raw {
            this.set_streams(drive);
        }
        this.simplify();
        this
    }

    /// Finds out whether programs take the short way. What fails later does not change it.
    fn simplify(&mut self) {
        self.simple = !self.raw
            && !self.joins
            && self.uniform
            && !self.summaries
            && self.plane_choice == PlaneChoice::InTurn
            && !self.streams.are_several()
            && self.watch.is_none()
            && self.power.is_none();
    }

    fn add_leaf(&mut self, domain: &Domain, kind: LeafKind, siblings: bool) {
        let leaf = self.ftls.len();
        let first_lane = self.lanes.len() as u32;
        for plane in domain.planes(&self.geometry) {
            let unit = self.geometry.unit_of(plane);
            let found = self.lanes[first_lane as usize..].iter().position(|lane| lane.unit == unit);
            let lane = found.map_or(self.lanes.len(), |at| at + first_lane as usize);
            if lane == self.lanes.len() {
                let channel = &mut self.channels[self.geometry.channel_of(unit) as usize];
                channel.lanes.push((lane as u32, unit.0 - channel.first_unit));
                self.lanes.push(Lane { ftl: leaf as u16, unit, planes: Vec::new(), turn: 0, pool: 0 });
            }
            self.lanes[lane].planes.push(plane);
            self.lane_of[plane.0 as usize] = lane as u32;
        }
        let lanes = first_lane..self.lanes.len() as u32;
        let (pages, shadow, rows) = match kind {
            LeafKind::Mapped { pages, shadow, .. } => (pages, shadow, None),
            LeafKind::Raw | LeafKind::Blocks => {
                let single = kind == LeafKind::Blocks;
                let rows = Rows::new(&self.geometry, domain);
                let rows = if single { rows.by_block() } else { rows };
                (rows.pages(), 0, Some(rows))
            }
        };
        self.ftls.push(Ftl {
            map: Map::new(pages + shadow),
            pages,
            rows,
            dead: false,
            limit: None,
            domain: *domain,
            allocation: self.allocation_of(domain),
            first_pool: self.pools.len() as u32,
            in_turn: self.lanes_in_turn(lanes.clone(), domain.extent[0], siblings),
            lanes,
            turn: 0,
            untimed_turn: 0,
            erases: 0,
            renamed: Vec::new(),
        });
        self.assign_pools(leaf);
    }

    /// Says which pool each lane of a leaf takes from; whatever waits has been taken out before.
    fn assign_pools(&mut self, leaf: usize) {
        let Ftl { first_pool, allocation, domain, lanes, .. } = &self.ftls[leaf];
        let mut needed = self.pools.len();
        for at in lanes.clone() {
            let lane = &mut self.lanes[at as usize];
            let place = self.geometry.place(lane.planes[0]);
            let pool = match allocation {
                Allocation::Dynamic => 0,
                Allocation::Partial(order) => {
                    order.index(domain, self.geometry.unit_levels(), domain.within(place))
                }
                Allocation::Static(_) => at - lanes.start,
            };
            lane.pool = first_pool + pool;
            needed = needed.max(lane.pool as usize + 1);
        }
        self.pools.resize(needed, Queue::default());
    }

    /// Lanes, which come channel by channel, one of each channel after the other. Where there are several FTLs each
    /// round begins one channel further on: a scheme that reads its members in turn, page by page, would otherwise
    /// ask for pages of always the same channels.
    fn lanes_in_turn(&self, lanes: std::ops::Range<u32>, channels: u32, siblings: bool) -> Vec<u32> {
        let per_channel = (lanes.end - lanes.start) / channels;
        let skew = |n: u32| if siblings { n } else { 0 };
        let nth = |n: u32| (0..channels).map(move |at| (at + skew(n)) % channels * per_channel + n);
        (0..per_channel).flat_map(nth).map(|lane| lanes.start + lane).collect()
    }

    /// How pages are placed in a domain: in a single plane there is no choice, and so nothing to work out.
    fn allocation_of(&self, domain: &Domain) -> Allocation {
        let choice = self.raw || domain.plane_count() > 1;
        if choice { self.configured.clone() } else { Allocation::Dynamic }
    }

    /// Where each flash operation is told.
    pub fn log_operations(&mut self, log: Box<dyn Log>) {
        self.watch.get_or_insert_default().log = Some(log);
        self.simplify();
    }

    /// Ends the log of operations.
    ///
    /// # Errors
    /// What could not be written of it.
    pub fn close_log(&mut self) -> Result<(), String> {
        let log = self.watch.as_mut().and_then(|watch| watch.log.take());
        log.map_or(Ok(()), |log| log.close())
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
    #[inline]
    pub fn step(&mut self, until: SimTime) -> bool {
        let Some((now, slot)) = self.agenda.first(until) else { return false };
        self.now = now;
        let units = self.units.len();
        if slot < units {
            self.unit_wakes(now, UnitId(slot as u32));
        } else {
            self.visit(now, slot - units);
        }
        // Most events are followed by the next one of the same resource: only one that was not is taken out.
        if self.agenda.at(slot) == now {
            self.agenda.set(slot, SimTime::NEVER);
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

    /// Whether something has been done that nobody has taken in.
    #[must_use]
    #[inline]
    pub fn has_done(&self) -> bool {
        !self.done.is_empty()
    }

    /// What has been counted.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The geometry.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Blocks and planes.
    #[must_use]
    pub fn blocks(&self) -> &Blocks<C> {
        &self.blocks
    }

    /// Where an FTL has a page.
    #[must_use]
    pub fn lookup(&self, leaf: LeafId, page: Page) -> Entry {
        self.ftls[usize::from(leaf.0)].map.get(page.0)
    }

    /// What a leaf's page holds, writes that are under way included; none where nothing is there, or nothing that can
    /// be read. Takes no time and disturbs nothing.
    #[must_use]
    pub fn contents_of(&self, leaf: LeafId, page: Page) -> Option<C> {
        let at = usize::from(leaf.0);
        let Some(ftl) = self.ftls.get(at) else { return self.nvram(leaf).contents(page.0) };
        match ftl.map.get(page.0) {
            Entry::Unmapped => None,
            Entry::Pending(op) => Some(self.carried_page(at, op, page.0)),
            Entry::At(ppn) => (!self.blocks.is_unreadable(ppn)).then(|| self.blocks.contents(ppn)),
        }
    }

    /// Pages of a leaf, those of its shadow left out.
    #[must_use]
    pub fn pages(&self, leaf: LeafId) -> u32 {
        self.ftls.get(usize::from(leaf.0)).map_or_else(|| self.nvram(leaf).len(), |ftl| ftl.pages)
    }

    /// Flash leaves: FTLs, or raw ones.
    #[must_use]
    pub fn ftl_count(&self) -> u16 {
        self.ftls.len() as u16
    }

    /// How long each channel has been in use.
    #[must_use]
    pub fn channel_busy(&self) -> Vec<Span> {
        self.channels.iter().map(|channel| channel.busy).collect()
    }

    /// How long each unit has been busy.
    #[must_use]
    pub fn unit_busy(&self) -> Vec<Span> {
        self.units.iter().map(|unit| unit.busy).collect()
    }

    /// Whether nothing of it has failed or been spoilt.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        !self.damaged
    }

    /// Asks the processor for the map entry of a page that will soon be wanted.
    #[inline]
    pub fn prefetch(&self, leaf: LeafId, page: Page) {
        self.ftls[usize::from(leaf.0)].map.prefetch(page.0);
    }

    /// Whether nothing waits and nothing is under way that somebody waits for.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.ops.live() == 0 && self.done.is_empty()
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

    /// Metadata: the pages are zeros from now on.
    fn trim(&mut self, ftl: usize, command: &Command) {
        for lpn in command.start.0..command.end() {
            self.forget(ftl, lpn);
            if self.power.is_some() {
                self.note_trim(ftl, lpn);
            }
        }
    }

    /// What a page held is garbage, and it holds nothing.
    #[inline]
    fn forget(&mut self, ftl: usize, lpn: u32) {
        if self.power.is_some() {
            self.drop_version(ftl, lpn);
        }
        self.give_up(ftl, lpn);
        self.ftls[ftl].map.set(lpn, Entry::Unmapped);
    }

    /// What a page held is garbage; the caller says what it holds instead.
    #[inline]
    fn give_up(&mut self, ftl: usize, lpn: u32) {
        match self.ftls[ftl].map.get(lpn) {
            Entry::At(ppn) if self.power.is_some() && self.outlive(ftl, lpn, ppn) => {}
            _ => self.give_up_plainly(ftl, lpn),
        }
    }

    /// The same where no older versions are kept.
    #[inline(always)]
    fn give_up_plainly(&mut self, ftl: usize, lpn: u32) {
        match self.ftls[ftl].map.get(lpn) {
            Entry::At(ppn) => self.discard(ppn),
            Entry::Pending(op) if !self.ftls[ftl].renamed.is_empty() => self.ftls[ftl].displace(op, lpn),
            Entry::Pending(_) | Entry::Unmapped => {}
        }
    }

    /// A physical page is garbage; its plane may have waited for some.
    #[inline]
    fn discard(&mut self, ppn: Ppn) {
        self.blocks.invalidate(ppn);
        let plane = self.geometry.plane_of(ppn);
        if !self.blocks.has_room(plane) {
            self.ask_for_collection(plane);
            self.wake_collector(self.now, plane);
        }
    }

    /// Metadata: the pages' contents get another address; what stood there is garbage.
    fn rename(&mut self, ftl: usize, command: &Command) {
        for n in 0..u32::from(command.count) {
            let (from, to) = (command.start.0 + n, command.to.0 + n);
            self.forget(ftl, to);
            let entry = self.ftls[ftl].map.get(from);
            match entry {
                Entry::At(ppn) => self.blocks.rename(ppn, to),
                Entry::Pending(op) => self.rename_in_flight(ftl, op, from, to),
                Entry::Unmapped => {}
            }
            self.ftls[ftl].map.set(to, entry);
            self.ftls[ftl].map.set(from, Entry::Unmapped);
            if self.power.is_some() {
                self.note_rename(ftl, from, to, entry);
            }
        }
    }

    /// A page that is still on its way gets another address.
    fn rename_in_flight(&mut self, ftl: usize, op: u32, from: u32, to: u32) {
        if self.ftls[ftl].owners(op).is_none() {
            let Command { start, count, .. } = self.ops[Id::new(op)].command;
            let map = &self.ftls[ftl].map;
            let pages = start.0..start.0 + u32::from(count);
            let owners = pages.map(|lpn| (map.get(lpn) == Entry::Pending(op)).then_some(lpn)).collect();
            self.ftls[ftl].renamed.push(Renamed { op, owners });
        }
        let owners = self.ftls[ftl].owners(op).expect("just made sure");
        let owner = owners.iter_mut().find(|owner| **owner == Some(from));
        *owner.expect("a pending page is one of its operation's") = Some(to);
    }

    /// A command for an FTL of which nothing has failed.
    #[inline(always)]
    fn submit_plainly(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: &Command,
        ticket: Ticket,
        contents: &[C],
    ) {
        match command.verb {
            Verb::Read => self.read(now, ftl, command, ticket),
            Verb::Write => self.write(now, ftl, command, ticket, contents),
            Verb::Trim => self.trim(ftl, command),
            Verb::Rename => self.rename(ftl, command),
        }
        if matches!(command.verb, Verb::Trim | Verb::Rename) {
            self.answer(ticket, u32::from(command.count), now, Span::ZERO, C::default());
        }
    }

    /// A command in a drive of which something has failed, or whose leaves are not all FTLs.
    #[inline(never)]
    fn submit_otherwise(
        &mut self,
        now: SimTime,
        leaf: LeafId,
        command: &Command,
        ticket: Ticket,
        contents: &[C],
    ) {
        let ftl = usize::from(leaf.0);
        let Some(this) = self.ftls.get(ftl) else {
            return self.ask_nvram(now, leaf, command, ticket, contents);
        };
        if this.dead {
            return self.answer_for_dead(now, leaf, command, ticket);
        }
        let limited = this.limit.is_some();
        if self.damaged && !self.raw && command.verb == Verb::Write {
            self.forget_unreadable(ftl, command);
        }
        match (command.verb, self.raw) {
            (Verb::Read, true) if self.untimed => self.submit_untimed(now, ftl, command, ticket, contents),
            (Verb::Write, true) => self.write_raw(now, ftl, command, ticket, contents),
            (Verb::Trim, true) => self.trim_raw(now, ftl, command, ticket),
            (Verb::Rename, true) => panic!("raw pages have no other address"),
            (_, false) if limited => self.submit_damaged(now, ftl, command, ticket, contents),
            (Verb::Read, true) | (_, false) => self.submit_apart(now, ftl, command, ticket, contents),
        }
    }

    /// [`Self::submit_plainly`], a second time: where it is called from the short way it is a part of that.
    #[inline(never)]
    fn submit_apart(&mut self, now: SimTime, ftl: usize, command: &Command, ticket: Ticket, contents: &[C]) {
        if self.untimed {
            return self.submit_untimed(now, ftl, command, ticket, contents);
        }
        self.submit_plainly(now, ftl, command, ticket, contents);
    }

    fn answer(&mut self, ticket: Ticket, pages: u32, at: SimTime, service: Span, contents: C) {
        self.done.push(Done { service, contents, ..Done::at(ticket, pages, at) });
    }
}

impl<C: Contents> Leaves<C> for Drive<C> {
    #[inline]
    fn submit(&mut self, now: SimTime, leaf: LeafId, command: &Command, ticket: Ticket, contents: &[C]) {
        self.now = now;
        if self.plain {
            self.submit_plainly(now, usize::from(leaf.0), command, ticket, contents);
        } else {
            self.submit_otherwise(now, leaf, command, ticket, contents);
        }
    }

    fn done(&mut self) -> &mut Vec<Done<C>> {
        &mut self.done
    }
}

impl<C: Contents> Below for Drive<C> {
    fn backlog(&self, leaf: LeafId, page: Page) -> Span {
        match self.ftls.get(usize::from(leaf.0)).map(|ftl| ftl.map.get(page.0)) {
            Some(Entry::At(ppn)) => self.wait_for(self.unit_of_page(ppn)),
            _ => Span::ZERO,
        }
    }

    fn wear(&self, leaf: LeafId) -> u64 {
        self.ftls.get(usize::from(leaf.0)).map_or(0, |ftl| ftl.erases)
    }

    fn room(&self, leaf: LeafId) -> u64 {
        let Some(ftl) = self.ftls.get(usize::from(leaf.0)).filter(|ftl| ftl.rows.is_none()) else {
            return u64::MAX;
        };
        let planes = self.lanes[ftl.lanes_range()].iter().flat_map(|lane| &lane.planes);
        let free =
            planes.map(|&plane| self.blocks.plane(plane).free_pages.saturating_sub(self.collect_below));
        free.map(u64::from).sum()
    }

    fn spare(&self, leaf: LeafId, page: Page) -> Option<Spare> {
        self.spare_of(usize::from(leaf.0), page.0)
    }

    fn is_erased(&self, leaf: LeafId, page: Page) -> bool {
        let ppn = self.raw_place(leaf, page);
        self.raw_next[self.geometry.block_index_of(ppn)] <= self.geometry.page_of(ppn)
    }

    fn holds(&self, leaf: LeafId, page: Page) -> bool {
        match self.ftls.get(usize::from(leaf.0)) {
            Some(ftl) => ftl.map.get(page.0) != Entry::Unmapped,
            None => self.nvram(leaf).holds(page.0),
        }
    }
}
