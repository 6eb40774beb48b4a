//! Wires the house: workload → host → buffer → redundancy → FTLs → flash → report, and turns the clock.

use crate::buffer::{Below, Buffer, Hits};
use crate::drive::{Counters, Drive, Work};
use crate::engine::{Contents, Engine, Finished, NodeId, Page, Scheme, Ticket, Token, Version};
use crate::error::{DriveError, Error};
use crate::faults::{What, events};
use crate::host::{Addresses, Interleave, Placement, Range, Span as Sectors, Window, fragments};
use crate::job::{Job, Outcome, Progress, RequestRecord};
use crate::kernel::{Arena, Id, SimTime, Span};
use crate::mapping;
use crate::output;
use crate::report::{Phases, Statistics, WorkloadFacts};
use crate::schemes;
use crate::shelf::{Deeds, Hardware};
use crate::spec::{self, Evict, Existing, HostOrder, LateRequests, PartialWrites, Resolved};
use crate::workload::{Replay, Requests, Workload};
use flashkeep_trace::{Op, Provenance, Request};
use std::ops::ControlFlow;

mod age;
mod build;
mod end;
mod image;
mod life;
mod link;
mod memory;
mod outside;
mod power;
mod strike;
mod timeline;
mod untimed;
mod volumes;

pub use build::{Built, Plot, build, build_shelf};
use life::Marks;
use link::Link;
use memory::Gauge;
use outside::Outside;
use power::Ledger;
use strike::Blows;
use volumes::Volumes;

/// Requests between two looks at whether to stop.
const LOOK: u64 = 8192;

/// Pages that are created at once before time 0.
const PREPARED: usize = 4096;

/// How many requests ahead map entries are asked for.
const AHEAD: usize = 6;

/// Runs a job to its end; `progress` is called every few thousand requests and may stop it.
///
/// # Errors
/// [`Error`] says whose fault it is and what to do.
pub fn run(job: &Job, progress: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<Outcome, Error> {
    let mut set = job.set.clone();
    set.extend(job.existing.iter().map(|existing| format!("start.existing={existing}")));
    if job.existing.as_deref().is_some_and(|existing| existing != "reads") {
        set.push("start.scan=false".to_owned());
    }
    let drive = spec::load(&job.drive, &set).map_err(|error| name_option(error, job))?;
    let mut workload = Workload::new(job, &drive)?;
    check_ageing(job, &drive)?;
    check_shelf(job, &drive)?;
    check_scan(&drive, &workload)?;
    let mut notes = Vec::new();
    if let (Replay::Closed(depth), bound @ 1..) = (workload.replay, drive.spec.host.queue_depth)
        && depth > bound
    {
        notes.push(format!(
            "the closed loop keeps {bound} requests outstanding, not {depth}: host.queue_depth lets no more in"
        ));
    }
    loop {
        // What pages say of themselves after a power cut stands in their contents.
        let power = asks_for_power_cuts(job, &drive)?;
        let tried = if job.verify || power {
            begin::<Token>(job, &drive, &workload, &notes, progress)
        } else {
            begin::<()>(job, &drive, &workload, &notes, progress)
        };
        match tried {
            Err(Stop::SecondDevice) => {
                workload.placement = Placement::Compact;
                notes.push(
                    "the trace has several devices whose sizes it does not tell: they were kept apart by placing \
                     1 MiB extents at first touch, as --compact does; --merge-devices lays them over each other"
                        .to_owned(),
                );
            }
            Err(Stop::Error(error)) => return Err(error),
            Ok(outcome) => return Ok(outcome),
        }
    }
}

/// One run, over a drive's flash or over a shelf.
fn begin<C: Contents>(
    job: &Job,
    drive: &Resolved,
    workload: &Workload<'_>,
    notes: &[String],
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Outcome, Stop> {
    if drive.is_shelf() {
        return Simulation::<C, _>::new(job, drive, workload, build_shelf(drive, job.seed.unwrap_or(1))?)?
            .run(notes, progress);
    }
    Simulation::<C, Drive<C>>::new(job, drive, workload, build(drive)?)?.run(notes, progress)
}

/// Whether the power is to fail.
fn asks_for_power_cuts(job: &Job, drive: &Resolved) -> Result<bool, Error> {
    let events = events(&job.fail, job.scenario.as_deref(), drive)?;
    let power = events.iter().any(|event| event.what == What::Power);
    let ways = [
        (job.untimed, "--untimed"),
        (job.condition, "--condition"),
        (job.aged.is_some(), "--aged"),
        (job.save_aged.is_some(), "--save-aged"),
    ];
    match ways.into_iter().find(|&(given, _)| given && power) {
        Some((_, option)) => {
            Err(Error::Option(format!("--fail power@…: not simulated yet together with {option}")))
        }
        None => Ok(power),
    }
}

/// A value given by `--existing` is a mistake of that option, not of a key.
fn name_option(error: DriveError, job: &Job) -> Error {
    match &job.existing {
        Some(found) if error.field.as_deref() == Some("start.existing") => {
            Error::Option(format!("--existing: found `{found}`; `reads`, `all` and `none` are accepted"))
        }
        _ => Error::Drive(error),
    }
}

/// The ways to have a drive that is not new do not go together, and only what is at rest can be saved.
fn check_ageing(job: &Job, drive: &Resolved) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::Option(why.to_owned()));
    match (&job.aged, job.condition, drive.ageing().is_some()) {
        (Some(_), true, _) => {
            refuse("--aged begins with a drive that is not new; --condition cannot go with it")
        }
        (_, true, true) => {
            refuse("--condition writes the drive, ageing.model says how it was written: one of them")
        }
        _ if job.save_aged.is_some() && !job.untimed && !job.traces.is_empty() => {
            refuse("--save-aged saves a drive at rest, after an untimed run: add --untimed")
        }
        _ => Ok(()),
    }
}

/// What only the flash of a single drive can be asked.
fn check_shelf(job: &Job, drive: &Resolved) -> Result<(), Error> {
    let asked = [
        (job.condition, "--condition"),
        (job.aged.is_some(), "--aged"),
        (job.save_aged.is_some(), "--save-aged"),
        (job.map.is_some(), "--map"),
        (job.operations.is_some(), "--operations"),
        (job.timeline.is_some(), "--timeline"),
    ];
    match asked.into_iter().find(|&(given, _)| given && drive.is_shelf()) {
        Some((_, option)) => Err(Error::Option(format!(
            "{option}: for a drive of flash alone; {} is {}",
            drive.path,
            if drive.is_disk() { "a disk" } else { "an array" }
        ))),
        None => Ok(()),
    }
}

fn check_scan(drive: &Resolved, workload: &Workload<'_>) -> Result<(), Error> {
    let scans = drive.spec.start.scan && drive.spec.start.existing == Existing::Reads;
    if scans && workload.is_stream() {
        return Err(Error::Option(format!(
            "{}: start.scan reads the whole workload before time 0, which standard input does not allow; give a file, \
             or --existing all or none, or --set start.scan=false",
            drive.path
        )));
    }
    Ok(())
}

/// Why a run came to no result.
enum Stop {
    /// A second device turned up and nothing says where it lies.
    SecondDevice,
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Error(error)
    }
}

/// A request in the drive.
#[derive(Debug, Default)]
struct InFlight<C> {
    number: u64,
    arrival: SimTime,
    /// The controller's memory alone served it.
    from_memory: bool,
    counted: bool,
    /// Whose it is, in an array of several volumes.
    volume: u32,
    record: RequestRecord,
    /// For the link to the host: what crosses it, where it is on the drive, and how flash came to an end with it.
    op: Option<Op>,
    sectors: u64,
    ranges: Vec<Range>,
    finished: Option<Finished>,
    /// What its reads ought to bring.
    expected: Vec<(u32, C)>,
    /// What it writes: pages, and which versions; only where the power is to fail.
    written: Vec<(u32, u16)>,
}

/// What there was when counting began.
#[derive(Clone, Debug, Default)]
struct Baseline {
    at: SimTime,
    counters: Counters,
    work: Work,
    hits: Hits,
    mapping: mapping::Counts,
    busy: [Vec<Span>; 2],
    devices: Vec<Deeds>,
}

/// Whether a page brought a later version of itself than was expected.
#[cold]
fn is_newer<C: Contents>(found: C, expected: C) -> bool {
    let versions = Version::of(found.stamp()).zip(Version::of(expected.stamp()));
    versions.is_some_and(|(found, expected)| found.is_newer_than(expected))
}

/// One run.
struct Simulation<'a, C: Contents, H> {
    job: &'a Job,
    resolved: &'a Resolved,
    workload: &'a Workload<'a>,
    drive: H,
    engine: Engine<schemes::Any, C>,
    buffer: Buffer<C>,
    addresses: Addresses,
    window: Window,
    in_flight: Arena<InFlight<C>>,
    finished: Vec<Finished>,
    ranges: Vec<Range>,
    /// Kept for its memory.
    spread: Vec<Range>,
    /// Those that wait for a place in the queue, if it is not simply their turn.
    outside: Option<Outside>,
    /// The volumes of an array that have a workload each.
    volumes: Option<Volumes>,
    /// How units of an array become stripes.
    interleave: Option<Interleave>,
    /// How full a backup's memory is.
    gauge: Option<Gauge>,
    /// The link to the host, if it takes time.
    link: Option<Link>,
    /// What is still to happen to the drive.
    blows: Blows,
    phases: Phases,
    marks: Marks,
    /// What the host was promised, where the power is to fail.
    ledger: Option<Box<Ledger>>,
    /// What each drive or disk is, in order of leaves.
    plots: Vec<Plot>,
    leaf_count: u16,
    statistics: Statistics,
    baseline: Baseline,
    facts: WorkloadFacts,
    records: Vec<RequestRecord>,
    warmup: u64,
    admitted: u64,
    misplaced: u64,
    now: SimTime,
    last: SimTime,
    /// Everything is done at once when it is asked.
    untimed: bool,
    resolved_bytes: u64,
    /// Pages on the short way of an untimed run, kept for their memory.
    pages: Vec<u32>,
    /// What came of conditioning it.
    conditioned: Option<serde_json::Value>,
    /// Erases of each block before time 0; empty where there were none.
    erases_before: Vec<u32>,
    page_shift: Option<u32>,
    /// Pages that are written as one.
    logical_page: u32,
    /// A write of a part of a page is one of all of it.
    whole_pages: bool,
}

impl<'a, C: Contents, H: Hardware<C>> Simulation<'a, C, H> {
    fn new(
        job: &'a Job,
        drive: &'a Resolved,
        workload: &'a Workload<'a>,
        built: Built<H>,
    ) -> Result<Self, Error> {
        let Built { mut hardware, tree, mut controller, plots, leaf_count } = built;
        // Who only wants a drive saved wants no time to pass.
        let untimed = job.untimed || job.traces.is_empty();
        if untimed {
            hardware.set_untimed(true);
            controller.xor = Span::ZERO;
        }
        if let (Some(path), Some(flash)) = (&job.operations, hardware.flash_mut()) {
            flash.log_operations(output::operations(path, flash.geometry().clone(), flash.pools())?);
        }
        if let Some(flash) = hardware.flash_mut() {
            timeline::start(job, untimed, flash)?;
        }
        let pages = u32::try_from(drive.logical_pages()).expect("checked when the drive was resolved");
        let sectors = u32::try_from(drive.page_sectors()).expect("at most 64");
        let dram = drive.buffer_bytes() / u64::from(drive.spec.flash.sector_bytes);
        let depth = match workload.replay {
            Replay::Open => drive.spec.host.queue_depth,
            Replay::Closed(depth) => match drive.spec.host.queue_depth {
                0 => depth,
                bound => depth.min(bound),
            },
        };
        hardware.seed(job.seed.unwrap_or(1));
        let counters = hardware.counters();
        let mut engine = Engine::new(tree);
        engine.controller = controller;
        let grain = engine.scheme(NodeId::ROOT).map_or(u32::MAX, Scheme::grain);
        let stripe = (drive.spec.buffer.evict == Evict::Stripe && grain < u32::MAX).then_some(grain);
        let spares = drive.members() as u16..drive.parts() as u16;
        let bytes = drive.page_bytes();
        let [unit, data] = drive.units();
        let whole_pages = drive.spec.ftl.partial_writes == PartialWrites::Whole;
        Ok(Simulation {
            job,
            resolved: drive,
            workload,
            engine,
            blows: Blows::new(job, drive, workload, spares)?,
            phases: Phases::default(),
            marks: Marks::default(),
            ledger: None,
            plots,
            leaf_count,
            buffer: Buffer::new(pages, sectors, dram, stripe, drive.spec.start.existing),
            outside: (workload.replay == Replay::Open && drive.spec.host.order == HostOrder::CLook)
                .then(Outside::default),
            volumes: Volumes::new(workload, drive.capacity_bytes(), depth, job.merge_devices)?,
            gauge: (drive.scheme().name == "backup").then(|| Gauge::new(drive.disks())),
            interleave: Interleave::new(bytes, unit, data),
            link: Link::new(drive.spec.host.link_us_per_sector),
            addresses: Addresses::new(drive.capacity_bytes(), workload.placement, job.merge_devices),
            // Each volume has a closed loop of its own.
            window: match workload.volumes {
                1 => Window::new(depth, workload.replay != Replay::Open),
                _ if workload.replay != Replay::Open => Window::new(0, true),
                _ => Window::new(depth, false),
            },
            in_flight: Arena::default(),
            finished: Vec::new(),
            ranges: Vec::new(),
            spread: Vec::new(),
            statistics: Statistics::default(),
            baseline: Baseline { counters, ..Baseline::default() },
            facts: WorkloadFacts {
                provenance: Provenance::default(),
                requests: [0; 3],
                bytes: [0; 2],
                span: Span::ZERO,
                skipped: 0,
                overlapping: 0,
            },
            records: Vec::new(),
            warmup: workload.warmup()?,
            admitted: 0,
            misplaced: 0,
            now: SimTime::ZERO,
            last: SimTime::ZERO,
            untimed,
            resolved_bytes: drive.capacity_bytes(),
            pages: Vec::new(),
            conditioned: None,
            erases_before: Vec::new(),
            logical_page: drive.logical_page(),
            whole_pages,
            page_shift: bytes.is_power_of_two().then(|| bytes.trailing_zeros()),
            drive: hardware,
        })
    }

    fn run(
        mut self,
        notes: &[String],
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Outcome, Stop> {
        let mut requests = self.workload.requests()?;
        self.facts.provenance = requests.provenance.clone();
        if C::KEEP && asks_for_power_cuts(self.job, self.resolved)? {
            self.flash_mut().expect_power_cuts();
        }
        self.prepare(progress)?;
        if self.drive.flash().is_some_and(Drive::expects_power_cuts) {
            let pages = self.buffer.pages();
            self.ledger = Some(Box::new(Ledger::new(pages.len(), |page| pages.sectors(page) != 0)));
        }
        self.replay(&mut requests, progress)?;
        let tally = self.tally();
        self.phases.end(self.now.max(self.last), tally.clone());
        if self.admitted == 0 && !self.job.traces.is_empty() {
            let message = "holds no request that the drive could be asked".to_owned();
            let path = self.facts.provenance.name.clone();
            return Err(Stop::Error(Error::Trace(flashkeep_trace::TraceError::new(&path, message))));
        }
        if self.admitted <= self.warmup && self.warmup > 0 {
            return Err(Stop::Error(Error::Option(format!(
                "--warmup: {} requests are left out of every statistic, and the workload has only {}",
                self.warmup, self.admitted
            ))));
        }
        if !self.engine.is_untroubled() {
            self.read_everything();
        }
        if self.job.verify {
            self.drive.audit();
        }
        if let Some(path) = &self.job.map {
            let pages = self.buffer.pages().len();
            output::map(path, self.flash(), pages, &|page| self.engine.places(page))?;
        }
        let (end, flash) = (self.last.max(self.now), self.drive.flash_mut());
        let log_notes = flash.map(|flash| flash.log_notes(end)).unwrap_or_default();
        self.drive.close_log().map_err(Error::Output)?;
        let volumes = self.volumes.as_ref();
        self.facts.skipped = volumes.map_or_else(|| requests.skipped(), Volumes::skipped) + self.misplaced;
        self.facts.overlapping = volumes.map_or_else(|| self.addresses.overlapping(), Volumes::overlapping);
        self.watch_life();
        let mut warnings = self.resolved.warnings.clone();
        warnings.extend(self.obituary());
        warnings.extend(notes.iter().cloned());
        warnings.extend(log_notes);
        warnings.extend(self.volumes.as_ref().map_or_else(|| requests.warnings(), Volumes::warnings));
        warnings.extend(self.conditioned.as_ref().filter(|found| found["steady"] == false).map(|found| {
            format!(
                "conditioning: no steady state after {} rounds; condition.most_rounds allows more, condition.round \
                 longer ones",
                found["rounds"]
            )
        }));
        warnings.extend(
            self.blows.left().map(|event| format!("--fail {event}: the run ended before it happened")),
        );
        let summary = self.summary(&tally, warnings);
        if let Some(path) = &self.job.save_aged {
            self.save(path)?;
        }
        Ok(Outcome { summary, requests: self.records })
    }

    /// The flash of a drive: what an array is asked for that only drives have is refused before.
    fn flash(&self) -> &Drive<C> {
        self.drive.flash().expect("a drive, as was checked")
    }

    fn flash_mut(&mut self) -> &mut Drive<C> {
        self.drive.flash_mut().expect("a drive, as was checked")
    }

    // ---------------------------------------------------------------- before time 0

    fn prepare(&mut self, progress: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<(), Stop> {
        let start = &self.resolved.spec.start;
        let scans = start.scan && start.existing == Existing::Reads;
        if let Some(path) = &self.job.aged {
            self.load(path)?;
            return if scans { self.scan(progress) } else { Ok(()) };
        }
        let only_saves = self.job.traces.is_empty() && self.resolved.ageing().is_none();
        if self.job.condition || only_saves {
            return self.condition(progress);
        }
        if let Some((model, wish)) = self.resolved.ageing() {
            self.age(model, &wish, progress)?;
        }
        if start.existing == Existing::All {
            self.create_all();
        }
        if scans { self.scan(progress) } else { Ok(()) }
    }

    fn create_all(&mut self) {
        let pages = self.buffer.pages().len();
        for first in (0..pages).step_by(PREPARED) {
            self.create_run(first, (pages - first).min(PREPARED as u32));
        }
    }

    fn create_run(&mut self, first: u32, count: u32) {
        let request = self.engine.open(u32::MAX, 0);
        let Simulation { engine, drive, buffer, now, .. } = self;
        let mut nothing = Vec::new();
        let mut below = Below { engine, leaves: drive, now: *now, request, expected: &mut nothing };
        buffer.create_run(first, count, &mut below);
        self.end_preparation(request);
    }

    /// Creates what the workload reads, sector by sector, as SSDSim does.
    fn scan(&mut self, progress: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<(), Stop> {
        self.each_read(progress, |this, fragment| {
            let request = this.engine.open(u32::MAX, 0);
            let Simulation { engine, drive, buffer, now, .. } = this;
            let mut nothing = Vec::new();
            let mut below = Below { engine, leaves: drive, now: *now, request, expected: &mut nothing };
            buffer.create(fragment, &mut below);
            this.end_preparation(request);
        })
    }

    fn end_preparation(&mut self, request: Ticket) {
        self.engine.close(&mut self.drive, self.now, request);
        self.end_finished();
    }

    fn end_finished(&mut self) {
        for at in 0..self.engine.finished().len() {
            let join = self.engine.finished()[at].join;
            self.engine.forget(join);
        }
        self.engine.finished().clear();
    }

    // ---------------------------------------------------------------- the clock

    fn replay(
        &mut self,
        requests: &mut Requests,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let closed = self.workload.replay != Replay::Open;
        let straight = self.straight_leaf();
        let mut next = if self.volumes.is_some() { None } else { self.next_placed(requests)? };
        loop {
            let event = self.drive.next_event().min(self.engine.next_due());
            let blow = self.blows.next_at;
            let admission = match &next {
                None if self.volumes.is_some() => self.next_from_volumes(),
                Some(_) if closed => self.window.room_at(self.now),
                Some(request) if self.outside.is_none() => {
                    self.window.room_at(SimTime(request.arrival_ns).max(self.now))
                }
                None if self.outside.is_none() => SimTime::NEVER,
                _ => self.next_from_outside(next.as_ref()),
            };
            let crossing = self.link.as_ref().map_or(SimTime::NEVER, Link::next_at);
            let limit = admission.min(blow).min(crossing);
            if event <= limit {
                if event == SimTime::NEVER {
                    break;
                }
                if self.ledger.is_some() {
                    self.end_recovery();
                }
                self.happen(limit);
            } else if crossing <= limit {
                self.now = self.now.max(crossing);
                self.cross();
                self.collect_finished();
            } else if blow <= admission {
                // At the end, when nothing else is to come, nothing fails any more; what failed is still replaced.
                let comes = next.is_some() || self.volumes.as_ref().is_some_and(Volumes::has_next);
                if !comes && event == SimTime::NEVER && !self.blows.replaces_next() {
                    break;
                }
                self.strike_by_time();
            } else {
                self.now = admission;
                if self.ledger.is_some() {
                    self.end_recovery();
                }
                if self.admitted >= self.blows.next_count {
                    self.strike_by_count();
                }
                if self.watch_life() {
                    next = None;
                    continue;
                }
                if self.outside.is_some() {
                    if self.take_from_outside(&mut next) {
                        next = self.next_placed(requests)?;
                    }
                    continue;
                }
                if self.volumes.as_ref().is_some_and(Volumes::has_next) {
                    if let Some(request) = self.take_from_volumes()? {
                        self.admit(&request, closed);
                    }
                    if self.admitted.is_multiple_of(LOOK) {
                        self.look(self.volumes.as_ref().and_then(Volumes::share_done), progress)?;
                    }
                    continue;
                }
                let Some(request) = next else { break };
                if let Some(leaf) = straight
                    && event == SimTime::NEVER
                    && self.goes_straight(&request)
                {
                    next = self.write_straight(leaf, &request, requests, closed, progress)?;
                    continue;
                }
                self.admit(&request, closed);
                if self.admitted.is_multiple_of(LOOK) {
                    self.look(requests.share_done(), progress)?;
                }
                next = self.next_placed(requests)?;
            }
        }
        self.end_requests(SimTime::NEVER);
        self.end_recovery();
        let quiet = self.engine.is_quiet() && self.link.as_ref().is_none_or(Link::is_quiet);
        assert!(next.is_none() && quiet, "everything that was asked is done at the end");
        Ok(())
    }

    /// When the next request of a volume comes in.
    #[inline(never)]
    fn next_from_volumes(&mut self) -> SimTime {
        let room = self.window.room_at(self.now);
        let volumes = self.volumes.as_mut().expect("there are volumes");
        volumes.next_at(self.now, room)
    }

    /// The next instant at which a request arrives, or one that has arrived comes in.
    #[inline(never)]
    fn next_from_outside(&self, next: Option<&Request>) -> SimTime {
        let waits = self.outside.as_ref().is_some_and(|outside| !outside.is_empty());
        let admission = if waits { self.window.room_at(self.now) } else { SimTime::NEVER };
        let arrival = next.map_or(SimTime::NEVER, |request| SimTime(request.arrival_ns).max(self.now));
        admission.min(arrival)
    }

    /// Lets in who comes next; whether the one that arrives next has been taken in, or waits outside.
    #[inline(never)]
    fn take_from_outside(&mut self, next: &mut Option<Request>) -> bool {
        let room = |this: &Self| this.window.room_at(this.now) <= this.now;
        let outside = self.outside.as_mut().expect("requests wait outside");
        let arrives = outside.is_empty() || self.window.room_at(self.now) > self.now;
        if arrives && let Some(request) = next.take() {
            outside.arrive(request, std::mem::take(&mut self.ranges));
        }
        if room(self)
            && let Some((request, mut ranges)) = self.outside.as_mut().and_then(Outside::next)
        {
            std::mem::swap(&mut self.ranges, &mut ranges);
            self.admit(&request, false);
            std::mem::swap(&mut self.ranges, &mut ranges);
        }
        arrives
    }

    /// Lets the drive go on until something is done, or something else is next.
    #[inline]
    fn happen(&mut self, admission: SimTime) {
        let due = self.engine.next_due();
        let until = admission.min(due);
        while !self.drive.has_done() && self.drive.step(until) {}
        if self.drive.has_done() {
            self.now = self.drive.now();
            self.engine.settle(&mut self.drive, self.now);
        } else if due <= admission && due < SimTime::NEVER {
            self.now = due;
            self.engine.advance(&mut self.drive, due);
        }
        self.collect_finished();
        if !self.phases.is_empty() {
            self.watch_phase();
        }
    }

    fn look(
        &self,
        share: Option<f64>,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let report = Progress { requests: self.admitted, share, simulated_ns: self.now.0 };
        match progress(report) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Stop::Error(Error::Interrupted)),
        }
    }

    // ---------------------------------------------------------------- requests

    /// The next request that has a place on the drive.
    #[inline]
    fn next_placed(&mut self, requests: &mut Requests) -> Result<Option<Request>, Stop> {
        while let Some(request) = requests.next()? {
            self.prefetch(requests);
            if self.locate(&request, self.admitted + self.misplaced + 1)? {
                return Ok(Some(request));
            }
        }
        Ok(None)
    }

    #[inline]
    fn prefetch(&self, requests: &Requests) {
        if let (Some(shift), Some(ahead)) = (self.page_shift, requests.ahead(AHEAD))
            && self.workload.placement == Placement::AsIs
            && self.interleave.is_none()
        {
            let page = Page((ahead.offset >> shift) as u32);
            self.buffer.prefetch(page);
            if let Some(scheme) = self.engine.scheme(NodeId::ROOT) {
                scheme.prefetch(page, |member, page| self.drive.prefetch(member.0, page));
            }
        }
    }

    /// Finds a request's place on the drive; false where it has none and is left out.
    #[inline]
    fn locate(&mut self, request: &Request, number: u64) -> Result<bool, Stop> {
        match self.addresses.place(request) {
            Ok(ranges) => {
                self.ranges.clear();
                self.ranges.extend_from_slice(ranges);
                if self.interleave.is_some() {
                    self.interleave();
                }
                Ok(true)
            }
            Err(crate::host::AddressError::SecondDevice) if !self.workload.is_stream() => {
                Err(Stop::SecondDevice)
            }
            Err(_) if self.workload.skips_misplaced() => {
                self.misplaced += 1;
                Ok(false)
            }
            Err(error) => {
                let name = &self.facts.provenance.name;
                Err(Stop::Error(self.workload.misplaced(error, number, request, name)))
            }
        }
    }

    /// Takes what was located to where the array's scheme has it.
    #[inline(never)]
    fn interleave(&mut self) {
        if let Some(interleave) = self.interleave {
            interleave.spread(&mut self.ranges, &mut self.spread);
        }
    }

    fn admit(&mut self, request: &Request, closed: bool) {
        if self.admitted == self.warmup {
            self.begin_counting();
        }
        if self.gauge.is_some() {
            self.look_at_memory();
        }
        let id = self.in_flight.claim();
        let number = self.admitted;
        self.admitted += 1;
        let arrival = if closed { self.now } else { SimTime(request.arrival_ns) };
        let admitted = self.now;
        self.window.enter(arrival, admitted);
        if let Some(volumes) = &mut self.volumes {
            volumes.enter(admitted);
            self.in_flight[id].volume = volumes.current as u32;
        }
        if self.resolved.spec.host.late_requests == LateRequests::FromArrival {
            self.now = arrival.max(self.ledger.as_ref().map_or(SimTime::ZERO, |ledger| ledger.ready()));
        }
        self.drive.admit(admitted, self.now);
        self.facts.span = self.facts.span.max(arrival.since(SimTime::ZERO));
        self.facts.requests[request.op as usize] += 1;
        if request.op != Op::Trim {
            self.facts.bytes[request.op as usize] += u64::from(request.length);
        }
        let this = &mut self.in_flight[id];
        this.expected.clear();
        (this.number, this.arrival) = (number, arrival);
        this.counted = number >= self.warmup;
        this.record = RequestRecord {
            arrival_ns: arrival.0,
            offset: self.ranges[0].offset,
            length: request.length,
            op: request.op as u8,
            ..RequestRecord::default()
        };
        if self.link.is_none() {
            return self.ask(id, request.op);
        }
        this.op = Some(request.op);
        let sector = u64::from(self.resolved.spec.flash.sector_bytes);
        let sectors = |range: &Range| Sectors::of_bytes(range.offset, range.length, sector).count;
        this.sectors = self.ranges.iter().map(sectors).sum();
        this.ranges.clone_from(&self.ranges);
        self.come(id);
        self.collect_finished();
    }

    /// A request that the link has let in is given to the drive; the one that was located last stays so.
    fn submit(&mut self, id: Id<InFlight<C>>) {
        std::mem::swap(&mut self.ranges, &mut self.in_flight[id].ranges);
        self.drive.admit(self.now, self.now);
        let op = self.in_flight[id].op.expect("it came by the link");
        self.ask(id, op);
        std::mem::swap(&mut self.ranges, &mut self.in_flight[id].ranges);
    }

    /// Asks the drive for what was located last.
    #[inline]
    fn ask(&mut self, id: Id<InFlight<C>>, op: Op) {
        let ticket = self.engine.open(id.raw(), 0);
        let mut pages = 0;
        let asked = match op {
            Op::Read => self.each_fragment(ticket, id, Buffer::read),
            Op::Write => {
                if self.whole_pages {
                    self.widen();
                }
                let asked = self.each_fragment(ticket, id, |buffer, fragment, below| {
                    pages += u64::from(fragment.count);
                    buffer.write(fragment, below)
                });
                if self.logical_page > 1 {
                    self.write_the_rest(ticket, id);
                }
                asked
            }
            Op::Trim => self.each_fragment(ticket, id, |buffer, fragment, below| {
                buffer.trim(fragment, below);
                false
            }),
        };
        self.in_flight[id].from_memory = !asked;
        if self.ledger.is_some() && op != Op::Read {
            self.note_versions(id, op == Op::Trim);
        }
        if self.in_flight[id].counted {
            self.statistics.pages_written += pages;
        }
        self.engine.close(&mut self.drive, self.now, ticket);
        self.collect_finished();
    }

    /// What is written in part is written whole.
    #[cold]
    fn widen(&mut self) {
        let page = self.resolved.page_bytes();
        for range in &mut self.ranges {
            let end = (range.offset + range.length).next_multiple_of(page);
            range.offset -= range.offset % page;
            range.length = end - range.offset;
        }
    }

    /// The rest of each logical page that was written in part.
    #[cold]
    fn write_the_rest(&mut self, request: Ticket, id: Id<InFlight<C>>) {
        let (size, pages) = (u64::from(self.logical_page), u64::from(self.buffer.pages().len()));
        for at in 0..self.ranges.len() {
            let Range { offset, length } = self.ranges[at];
            let touched = Sectors::of_bytes(offset, length, self.resolved.page_bytes());
            let (first, last) = (touched.first, touched.first + touched.count);
            let before = first / size * size..first;
            let after = last..last.next_multiple_of(size).min(pages);
            for page in before.chain(after) {
                let Simulation { engine, drive, buffer, now, in_flight, .. } = self;
                let expected = &mut in_flight[id].expected;
                let mut below = Below { engine, leaves: drive, now: *now, request, expected };
                buffer.rewrite(page as u32, &mut below);
            }
        }
    }

    /// Does something with each fragment of the request that was located last; whether any of it needed flash.
    #[inline]
    fn each_fragment(
        &mut self,
        request: Ticket,
        id: Id<InFlight<C>>,
        mut act: impl FnMut(&mut Buffer<C>, crate::host::Fragment, &mut Below<'_, schemes::Any, C, H>) -> bool,
    ) -> bool {
        let sector_bytes = u64::from(self.resolved.spec.flash.sector_bytes);
        let page_sectors = self.buffer.page_sectors();
        let mut asked = false;
        for at in 0..self.ranges.len() {
            let Range { offset, length } = self.ranges[at];
            for fragment in fragments(Sectors::of_bytes(offset, length, sector_bytes), page_sectors) {
                let Simulation { engine, drive, buffer, now, in_flight, .. } = self;
                let expected = &mut in_flight[id].expected;
                let mut below = Below { engine, leaves: drive, now: *now, request, expected };
                asked |= act(buffer, fragment, &mut below);
            }
        }
        asked
    }

    fn begin_counting(&mut self) {
        if !self.blows.is_empty() {
            let tally = self.tally();
            self.phases.begin("before", None, self.now, tally);
        }
        if let Some(gauge) = &mut self.gauge {
            gauge.restart(self.now);
        }
        self.baseline = Baseline {
            at: if self.warmup == 0 { SimTime::ZERO } else { self.now },
            counters: self.drive.counters(),
            work: self.drive.work().unwrap_or_default(),
            hits: self.buffer.hits,
            mapping: self.mapping_counts().unwrap_or_default(),
            busy: self.drive.busy(),
            devices: self.drive.devices(self.now),
        };
    }

    #[inline(always)]
    fn collect_finished(&mut self) {
        if self.ledger.is_some() {
            return self.hold_finished();
        }
        if !self.engine.finished().is_empty() {
            self.finish_all();
        }
    }

    #[inline(never)]
    fn finish_all(&mut self) {
        std::mem::swap(self.engine.finished(), &mut self.finished);
        for at in 0..self.finished.len() {
            let finished = self.finished[at];
            self.finish(finished);
        }
        self.finished.clear();
    }

    #[inline(always)]
    fn finish(&mut self, mut finished: Finished) {
        let this = &self.in_flight[Id::new(finished.tag)];
        if self.untimed {
            (finished.acknowledged, finished.service) = (self.now.max(this.arrival), Span::ZERO);
        } else if this.from_memory {
            let memory = self.drive.memory_time();
            (finished.acknowledged, finished.service) = (finished.acknowledged + memory, memory);
        }
        if self.link.is_some() {
            return self.go(finished, finished.acknowledged);
        }
        self.conclude(finished, finished.acknowledged);
    }

    /// A request is over for the host at `acknowledged`.
    #[inline(always)]
    fn conclude(&mut self, finished: Finished, acknowledged: SimTime) {
        let id = Id::new(finished.tag);
        let service = finished.service;
        let this = &mut self.in_flight[id];
        if self.ledger.is_none() {
            self.window.leave(acknowledged);
        }
        if let Some(volumes) = &mut self.volumes {
            volumes.leave(this.volume as usize, acknowledged);
        }
        self.last = self.last.max(acknowledged);
        let response = acknowledged.since(this.arrival);
        this.record.response_ns = response.0;
        this.record.service_ns = service.0;
        let statistics = &mut self.statistics;
        if C::KEEP && finished.lost == 0 {
            let troubled = !self.engine.is_untroubled();
            let pages = self.engine.pages(finished.join);
            for &(slot, expected) in &this.expected {
                statistics.checked_reads += 1;
                let found = pages[slot as usize];
                // A read that had to be had otherwise may see what was written since.
                let newer = || troubled && is_newer(found, expected);
                statistics.wrong_reads += u64::from(found != expected && !newer());
            }
        }
        if this.counted {
            statistics.digest.add(this.number, acknowledged.0, service.0);
            if !self.phases.is_empty() && !self.untimed {
                self.phases.add(this.record.op == Op::Read as u8, response);
            }
            if this.record.op == Op::Read as u8 {
                if !self.untimed {
                    statistics.read_response.add(response.0);
                    statistics.read_service.add(service.0);
                }
                statistics.bytes_read += u64::from(this.record.length);
            } else {
                if !self.untimed {
                    statistics.write_response.add(response.0);
                    statistics.write_service.add(service.0);
                }
                let written = this.record.op == Op::Write as u8;
                statistics.bytes_written += u64::from(this.record.length) * u64::from(written);
            }
        }
        if self.job.keep_requests {
            let at = this.number as usize;
            if self.records.len() <= at {
                self.records.resize(at + 1, RequestRecord::default());
            }
            self.records[at] = this.record;
        }
        if self.job.timeline.is_some() {
            self.tell_request(id, acknowledged);
        }
        self.engine.forget(finished.join);
        self.in_flight.release(id);
    }
}
