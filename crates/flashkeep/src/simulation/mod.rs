//! Connects workload, host interface, redundancy, FTLs, flash and report, and advances the clock.

use crate::config::{self, DriveFiles, Resolved};
use crate::device::command::Origin;
use crate::device::latency::PARTS;
use crate::device::port::{Hits, Link, Port};
use crate::devices::{Body, DeviceStatistics};
use crate::disk::Surface;
use crate::drive::{Counters, DeviceObserver, Drive, ErrorCounts, OperationTimes};
use crate::engine::{BackendId, Contents, Engine, Finished, NodeId, OpenRequest, Page, ReadCounts, Token};
use crate::error::Error;
use crate::ftl::{HandleCounts, MapEntry};
use crate::host::{
    AddressMode, Addresses, Arbitration, Existing, Expected, HandleRanges, Handles, HostAccess, HostOrder,
    HostPages, HostQueue, HostSpec, Interleave, PartialWrites, PriorityClass, Range, fragments,
};
use crate::job::{Halt, Job, Progress, RequestRecord, RunOutcome};
use crate::kernel::{Arena, SimTime, Span, check_room, free_large_tables};
use crate::mapping;
use crate::metrics::{RequestStatistics, RunPhases, Series, Tally, WorkloadFacts, called};
use crate::output::{self, Platters, Site, Sites, Spot};
use crate::workload::{Replay, Requests, Workload};
use crate::{schemes, session};
use flashkeep_trace::{Op, Provenance};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

mod age;
mod age_blocks;
mod age_log;
mod arrived;
mod build;
mod checks;
mod clock;
mod end;
mod fail_slow;
mod flow_operations;
mod flows;
mod flush;
mod inject;
mod latency;
mod life;
mod link;
mod live;
mod memory;
mod power;
mod requests;
mod series;
mod snapshot;
mod start;
mod timeline;
mod untimed;

use arrived::ArrivedRequests;
use build::port_options;
pub use build::{Built, DevicePlacement, build, build_array};
use checks::{asks_for_power_cuts, check_ageing, check_places, check_scan, name_option};
use end::CountedRun;
use flow_operations::FlowOperations;
use flows::Flows;
use inject::FaultEvents;
use life::{Marks, WriteGate};
use live::LiveRecord;
pub use live::{Held, LiveDevice, LiveEvent, PagePart, VolatilePage, serve};
use memory::Occupancy;
use power::DurabilityOracle;

/// The number of requests between two checks for an interruption.
const LOOK: u64 = 8192;

/// The number of requests by which map entries are prefetched ahead.
const AHEAD: usize = 6;

/// Runs a job to its end; `progress` is called every few thousand requests and may stop it.
///
/// # Errors
/// [`Error`] says which input is wrong and what to do.
pub fn run(job: &Job, progress: &mut dyn FnMut(Progress) -> ControlFlow<Halt>) -> Result<RunOutcome, Error> {
    let job = &*session::applied(job)?;
    let drive = load_drive(job)?;
    let mut workload = checked_workload(job, &drive)?;
    let mut notes = notes_of(&workload, &drive);
    loop {
        // Recovery needs page contents, which have the OOB metadata.
        let power = asks_for_power_cuts(job, &drive)?;
        let tried = if job.verify || power {
            begin::<Token>(job, &drive, &workload, &notes, progress)
        } else {
            begin::<()>(job, &drive, &workload, &notes, progress)
        };
        match tried {
            Err(Stop::SecondDevice) => {
                workload.placement = AddressMode::Compact;
                notes.push(
                    "the trace has several devices of unknown size: they were kept apart by placing 1 MiB \
                     extents at their first access, as --compact does; --merge-devices merges them"
                        .to_owned(),
                );
            }
            Err(Stop::Error(error)) => return Err(error),
            Ok(outcome) => return Ok(outcome),
        }
    }
}

/// The drive of a job.
fn load_drive(job: &Job) -> Result<Resolved, Error> {
    let mut set = job.set.clone();
    set.extend(job.existing.iter().map(|existing| format!("start.existing={existing}")));
    if job.existing.as_deref().is_some_and(|existing| existing != "reads") {
        set.push("start.scan=false".to_owned());
    }
    let files = Rc::new(DriveFiles::new(job.drive_files.clone(), job.copies.clone()));
    let load = |set: &[String]| {
        config::load_with(&files, &job.drive, job.drive_text.as_deref(), set)
            .map_err(|error| name_option(error, job))
    };
    let mut drive = load(&set)?;
    if (job.aged.is_some() || job.condition) && drive.starts_steady {
        // The saved state, or conditioning, takes the place of what the drive file says.
        set.push("start.existing=reads".to_owned());
        drive = load(&set)?;
    }
    Ok(drive)
}

/// The workload of a job, its options checked.
fn checked_workload<'a>(job: &'a Job, drive: &Resolved) -> Result<Workload<'a>, Error> {
    let workload = Workload::new(job, drive)?;
    check_ageing(job, drive)?;
    check_scan(drive, &workload)?;
    check_places(job)?;
    Ok(workload)
}

/// What the user should know of how the requests of a workload are admitted.
fn notes_of(workload: &Workload<'_>, drive: &Resolved) -> Vec<String> {
    let host = &drive.spec.host;
    let bounded = |name: &str, replay: Replay, bound: fn(&HostSpec, u32) -> u32| {
        let (Replay::Closed(depth) | Replay::Batch(depth)) = replay else { return None };
        let (bound, key) = match bound(host, depth) {
            bound if bound == depth => return None,
            bound if bound == host.queue_depth => (bound, "host.queue_depth"),
            bound if bound == host.entries => (bound, "host.entries"),
            bound => (bound, "host.fetch"),
        };
        let of = if name.is_empty() { String::new() } else { format!(" of {name}") };
        let outstanding = format!("the closed loop{of} keeps {bound} requests outstanding, not {depth}");
        Some(format!("{outstanding}: {key} admits no more"))
    };
    let mut notes: Vec<String> = match &workload.flows[..] {
        [] => bounded("", workload.replay, HostSpec::bounded_alone).into_iter().collect(),
        flows => {
            flows.iter().filter_map(|flow| bounded(&flow.name, flow.replay, HostSpec::bounded)).collect()
        }
    };
    notes.dedup();
    notes.extend(notes_of_queues(workload, host));
    notes
}

/// What host queues make of several workloads, where a user may expect something else.
fn notes_of_queues(workload: &Workload<'_>, host: &HostSpec) -> Vec<String> {
    let mut notes = Vec::new();
    if !workload.flows.is_empty() && host.order == HostOrder::CLook {
        notes.push("host.order: no effect with several workloads, which host.arbitration orders".to_owned());
    }
    let order = host.arbitration;
    let classes = workload.flows.iter().any(|flow| flow.class != PriorityClass::default());
    let weights = workload.flows.iter().any(|flow| flow.weight != 1);
    let ignored = [
        (classes && order != Arbitration::Priority, "priorities"),
        (weights && order != Arbitration::Weighted, "weights"),
    ];
    let ignored: Vec<&str> = ignored.into_iter().filter(|&(is, _)| is).map(|(_, what)| what).collect();
    if !ignored.is_empty() {
        let (order, what) = (serde_json::json!(order), ignored.join(" and "));
        notes.push(format!("host.arbitration = {order} does not use the {what} of flows"));
    }
    if workload.flows.len() > 1 && order != Arbitration::RoundRobin && host.admitted() == 0 {
        let limits = "host.queue_depth or host.fetch";
        notes.push(format!("host.arbitration: no effect without {limits}: no request waits in a host queue"));
    }
    notes
}

/// One run, over a drive alone or over the devices of an array.
fn begin<C: Contents>(
    job: &Job,
    drive: &Resolved,
    workload: &Workload<'_>,
    notes: &[String],
    progress: &mut dyn FnMut(Progress) -> ControlFlow<Halt>,
) -> Result<RunOutcome, Stop> {
    free_large_tables();
    check_memory::<C>(drive);
    if drive.is_device_set() {
        return Simulation::<C, _>::new(job, drive, workload, build_array(drive, job.seed.unwrap_or(1)))?
            .run(notes, progress);
    }
    Simulation::<C, Drive<C>>::new(job, drive, workload, build(drive, job.seed.unwrap_or(1)))?
        .run(notes, progress)
}

/// Bytes that a run which keeps contents needs at least for each page of a full drive.
const KEPT: u64 = 15;
const KEPT_ADVICE: &str = "--verify and power losses keep the contents of each page of full drives behind redundancy \
    or with static allocation: smaller drives (flash.blocks_per_plane) or start.existing = \"reads\" need less";

/// Ends the run if the largest table of a drive does not fit in memory, its reverse map; or what a run that keeps contents
/// has of the pages of full drives where these do not follow from a rule. All other tables have memory for written pages only.
fn check_memory<C: Contents>(drive: &Resolved) {
    if !drive.is_device_set() {
        check_room(drive.logical_pages().saturating_mul(size_of::<u32>() as u64), "");
    }
    let by_rule = !drive.is_array() && drive.members() == 1 && drive.spec.ftl.allocation == "dynamic";
    if C::KEEP && !by_rule && matches!(drive.spec.start.existing, Existing::All | Existing::Steady) {
        check_room(pages_of_drives(drive).saturating_mul(KEPT), KEPT_ADVICE);
    }
}

/// The pages of a drive, or of all drives of an array.
fn pages_of_drives(drive: &Resolved) -> u64 {
    match drive.disk() {
        None if drive.is_array() => drive.array.iter().map(pages_of_drives).sum(),
        None => drive.logical_pages(),
        Some(_) => 0,
    }
}

/// The drives, or the lone disk, for output files.
fn sites<C: Contents>(hardware: &impl Body<C>, resolved: &Resolved, placements: &[DevicePlacement]) -> Sites {
    if let Some(disk) = resolved.disk() {
        return Sites::Disk(Platters { surface: Surface::new(disk), page_sectors: disk.page_sectors() });
    }
    let site = |(device, placement): (u16, &DevicePlacement)| {
        let drive = hardware.drive(device)?;
        let member = called(&placement.path);
        Some(Site { member, geometry: drive.geometry().clone(), pools: drive.pools() })
    };
    Sites::Flash((0..).zip(placements).map(site).collect())
}

/// Why a run has no result.
enum Stop {
    /// The trace has a second device, and no option says where it is placed.
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
struct OutstandingRequest<C> {
    number: u64,
    arrival: SimTime,
    /// Whether the controller's memory served it alone.
    from_memory: bool,
    counted: bool,
    /// When it began to be served, and when it had crossed the link.
    admitted: SimTime,
    received: SimTime,
    /// Its flow, of several.
    flow: u32,
    record: RequestRecord,
    /// For the link to the host: the sectors that cross it, its ranges on the drive, and its completion by the device.
    op: Option<Op>,
    sectors: u64,
    ranges: Vec<Range>,
    finished: Option<Finished>,
    /// The expected results of its reads.
    expected: Vec<Expected<C>>,
    /// The pages and versions that it writes; only in runs with power cuts.
    written: Vec<(u64, u16)>,
    /// In a live device: its ranges before parts of pages are widened.
    asked: Vec<Range>,
    /// The host asked for FUA.
    fua: bool,
    /// Where the pages of a write come from.
    origin: Origin,
    /// A FLUSH, or a write with FUA: it ends when its pages are durable.
    durable: bool,
}

/// Counters at an instant.
#[derive(Clone, Debug, Default)]
struct Totals {
    /// What error correction had to do since counting began.
    errors: Option<ErrorCounts>,
    /// Pages that redundancy restored because they could not be read.
    recovered: u64,
    at: SimTime,
    /// When all operations granted by then have ended.
    at_rest: SimTime,
    counters: Counters,
    work: Option<OperationTimes>,
    hits: Hits,
    /// The sectors that caches hold.
    held: u64,
    mapping: Option<mapping::Counts>,
    reads: ReadCounts,
    /// Collections that have ended in their turn, and out of it.
    turns: Option<[u64; 2]>,
    busy: [Vec<Span>; 2],
    devices: Vec<DeviceStatistics>,
    /// What the placement handles of a lone drive have programmed.
    handles: Vec<HandleCounts>,
    member_hits: Vec<Option<Hits>>,
    queue_full: Span,
}

/// One run: one device, one workload.
struct Simulation<'a, C: Contents, H> {
    job: &'a Job,
    resolved: &'a Resolved,
    workload: &'a Workload<'a>,
    device: Device<C, H>,
    host: Host<C>,
    failures: Failures,
    clock: RunClock,
    accounts: RunAccounts,
    /// The record of a device that is asked from outside.
    live: Option<Box<LiveRecord>>,
}

/// A drive, a disk or an array: the schemes with their ports, and what they run over.
struct Device<C: Contents, H> {
    /// Drives, disks and memories.
    body: H,
    engine: Engine<schemes::Any, C>,
    /// The pages as the host knows them.
    pages: HostPages<C>,
    /// What each drive or disk is, in order of backends.
    placements: Vec<DevicePlacement>,
    backend_count: u16,
}

/// The host: outstanding requests, their places, and waiting requests.
struct Host<C: Contents> {
    addresses: Addresses,
    window: HostQueue,
    in_flight: Arena<OutstandingRequest<C>>,
    finished: Vec<Finished>,
    ranges: Vec<Range>,
    /// Kept to reuse its memory.
    spread: Vec<Range>,
    /// Requests that wait for a place in the queue, if they do not enter in order of arrival.
    arrived: Option<ArrivedRequests>,
    /// Workloads beside each other.
    flows: Option<Flows>,
    /// Whether observers are notified of each request that is submitted.
    tells_opened: bool,
    /// Flash operations of each tenant.
    operations: Option<Arc<FlowOperations>>,
    /// How chunks of an array become stripes.
    interleave: Option<Interleave>,
    warmup: u64,
    admitted: u64,
    /// The placement handles that writes can name.
    handles: Handles,
    handle_ranges: HandleRanges,
    /// Requests that have arrived, where they wait in the host.
    seen: u64,
    misplaced: u64,
    /// Pages on the fast path of an untimed run; kept to reuse the memory.
    pages: Vec<u32>,
    page_shift: Option<u32>,
    /// The number of pages that are written as one logical page.
    logical_page: u32,
    /// Whether a write of a part of a page writes all of it.
    whole_pages: bool,
}

impl<C: Contents, H> Device<C, H> {
    /// The host's port.
    #[inline]
    fn port(&self) -> &Port<C> {
        self.engine.ports().host()
    }

    /// A request of the host, as it is submitted.
    #[inline]
    fn access<'b>(
        &'b mut self,
        now: SimTime,
        request: OpenRequest,
        expected: &'b mut Vec<Expected<C>>,
    ) -> HostAccess<'b, schemes::Any, C, H> {
        let Device { engine, body, pages, .. } = self;
        HostAccess { engine, backends: body, pages, now, request, expected, origin: Origin::host(0) }
    }
}

impl<C: Contents, H: Body<C>> Device<C, H> {
    /// When something happens next below the host's link.
    #[inline(always)]
    fn next_event(&self) -> SimTime {
        self.body.next_event().min(self.engine.next_due())
    }

    /// When the host's link is free for what waits for it.
    #[inline(always)]
    fn next_crossing(&self) -> SimTime {
        self.engine.ports().host_link().map_or(SimTime::NEVER, Link::next_at)
    }

    /// The places of the copies of a page on flash or on a lone disk; none for copies that are unmapped or on other
    /// devices.
    fn copies(&self, page: Page, resolved: &Resolved) -> Vec<Option<Spot>> {
        let find = |(backend, page): (BackendId, Page)| {
            if resolved.is_disk() {
                return self.body.contents_of(backend, page).map(|_| Spot::Disk(page));
            }
            let device =
                self.placements.iter().position(|placement| placement.backends.contains(&backend.0))?;
            let within = BackendId(backend.0 - self.placements[device].backends.start);
            match self.body.drive(device as u16)?.lookup(within, page) {
                MapEntry::At(ppn) => Some(Spot::Flash(device as u16, ppn)),
                _ => None,
            }
        };
        self.engine.tree().places(page).into_iter().map(find).collect()
    }

    /// How long arrays and pins of a lone drive worked, if the drive file says what they draw.
    fn work(&self) -> Option<&OperationTimes> {
        self.body.flash().and_then(Drive::work)
    }

    /// The flash of a lone drive; the caller has checked that it is one.
    fn flash_mut(&mut self) -> &mut Drive<C> {
        self.body.flash_mut().expect("a drive, as was checked")
    }
}

/// The failures of the run.
struct Failures {
    /// The fault events to come.
    fault_events: FaultEvents,
    /// The durability oracle, if the power will fail.
    durability: Option<Box<DurabilityOracle>>,
    write_gate: WriteGate,
}

/// The time of the run.
#[derive(Default)]
struct RunClock {
    now: SimTime,
    last: SimTime,
    /// Whether operations take no time.
    untimed: bool,
    /// Whether the caller ended the replay early.
    interrupted: bool,
    /// Whether drives work also while nothing is asked of them, until the last request is over.
    scrubs: bool,
    /// Whether caches wrote back by themselves.
    drains: bool,
    /// Pages of a rebuild after which no more requests come, if it ends with the last request.
    most_rebuilt: Option<u64>,
    /// Whether that was so.
    sampled: bool,
}

/// Statistics and results.
struct RunAccounts {
    statistics: RequestStatistics,
    /// The counters when counting began.
    baseline: Totals,
    /// All counters when counting ended.
    counted: Option<CountedRun>,
    /// The start of busy times of counted requests; earlier than the baseline if late requests are served from their
    /// arrival on.
    busy_from: SimTime,
    phases: RunPhases,
    marks: Marks,
    /// The same for each drive of an array, in order of backends.
    ends: Vec<Marks>,
    /// The occupancy of a backup's memory.
    occupancy: Option<Occupancy>,
    facts: WorkloadFacts,
    records: Vec<RequestRecord>,
    /// Where the time of each of them went, if that is measured.
    record_parts: Vec<[u64; PARTS]>,
    /// Whether requests spend time in flash and outside the host queue only, and lists do not keep where.
    flash_only: bool,
    resolved_bytes: u64,
    /// The result of conditioning, if there was any.
    conditioned: Option<crate::metrics::Conditioning>,
    /// Figures over time, if the job asks for them.
    series: Option<Box<Series>>,
    /// When a timeline shows the state of the run next, besides the ends of requests.
    shown_at: SimTime,
    /// Whether the end of each request is reported to a timeline or a series.
    tells_requests: bool,
}

impl<C: Contents> Host<C> {
    /// The page of the host that a page of the scheme is.
    fn page_of(&self, page: u64) -> u64 {
        self.interleave.map_or(page, |interleave| interleave.origin(page))
    }

    fn new(job: &Job, drive: &Resolved, workload: &Workload<'_>) -> Result<Self, Error> {
        let host = &drive.spec.host;
        let bytes = drive.page_bytes();
        let [unit, data] = drive.units();
        let sorts = workload.replay == Replay::Open && host.order == HostOrder::CLook;
        let handles = Handles::new(drive.handles(), job.ignore_handles);
        Ok(Host {
            arrived: (sorts && workload.flows.is_empty()).then(ArrivedRequests::default),
            operations: None,
            tells_opened: job.operations.is_some() || workload.has_tenants,
            flows: Flows::new(workload, drive, job.merge_devices)?,
            interleave: Interleave::new(bytes, unit, data),
            addresses: Addresses::new(drive.capacity_bytes(), workload.placement, job.merge_devices),
            window: match workload.replay {
                _ if !workload.flows.is_empty() => Flows::device_queue(workload, host),
                Replay::Batch(depth) => HostQueue::in_batches(host.bounded_alone(depth)),
                Replay::Closed(depth) => HostQueue::new(host.bounded_alone(depth), true),
                Replay::Open => HostQueue::new(host.admitted(), false),
            },
            in_flight: Arena::default(),
            finished: Vec::new(),
            ranges: Vec::new(),
            spread: Vec::new(),
            warmup: workload.warmup()?,
            admitted: 0,
            handles,
            handle_ranges: HandleRanges::new(&job.handle, drive.capacity_bytes(), handles)?,
            seen: 0,
            misplaced: 0,
            pages: Vec::new(),
            page_shift: bytes.is_power_of_two().then(|| bytes.trailing_zeros()),
            logical_page: drive.logical_page(),
            whole_pages: drive.spec.ftl.partial_writes == PartialWrites::Whole,
        })
    }
}

impl RunAccounts {
    fn new(drive: &Resolved, counters: Counters, devices: usize) -> Self {
        RunAccounts {
            statistics: RequestStatistics::default(),
            baseline: Totals { counters, ..Totals::default() },
            counted: None,
            busy_from: SimTime::ZERO,
            phases: RunPhases::default(),
            marks: Marks::default(),
            ends: vec![Marks::default(); devices],
            occupancy: drive.scheme().shows_occupancy.then(|| Occupancy::new(drive.disks())),
            facts: WorkloadFacts {
                provenance: Provenance::default(),
                requests: [0; Op::COUNT],
                fua_writes: 0,
                bytes: [0; 2],
                span: Span::ZERO,
                skipped: 0,
                overlapping: 0,
                sha256: None,
            },
            records: Vec::new(),
            record_parts: Vec::new(),
            flash_only: false,
            resolved_bytes: drive.capacity_bytes(),
            conditioned: None,
            series: None,
            shown_at: SimTime::NEVER,
            tells_requests: false,
        }
    }
}

impl<'a, C: Contents, H: Body<C>> Simulation<'a, C, H> {
    fn new(
        job: &'a Job,
        drive: &'a Resolved,
        workload: &'a Workload<'a>,
        built: Built<H>,
    ) -> Result<Self, Error> {
        let Built { mut hardware, tree, controller, placements, backend_count } = built;
        // A job that only saves a drive takes no simulated time.
        let untimed = job.untimed || !job.has_workload();
        if untimed {
            hardware.set_untimed(true);
        }
        hardware.seed(job.seed.unwrap_or(1));
        let counters = hardware.counters();
        let mut engine = Engine::new(tree);
        engine.tree_mut().controller = controller;
        engine.schedule_mut().untimed = untimed;
        let options = port_options(drive, engine.tree().scheme(NodeId::ROOT), true);
        engine.ports_mut().set_host(options);
        engine.ports_mut().host_mut().divide_cache(&workload.cache_shares());
        let spares = drive.members() as u16..drive.parts() as u16;
        let device = Device {
            body: hardware,
            engine,
            pages: HostPages::new(drive.spec.start.existing),
            backend_count,
            placements,
        };
        let mut accounts = RunAccounts::new(drive, counters, device.placements.len());
        accounts.series = series::of(job, untimed)?;
        accounts.tells_requests = job.timeline.is_some() || accounts.series.is_some();
        let fault_events = FaultEvents::new(job, drive, workload, spares)?;
        Ok(Simulation {
            job,
            resolved: drive,
            workload,
            device,
            host: Host::new(job, drive, workload)?,
            failures: Failures { fault_events, durability: None, write_gate: WriteGate::default() },
            clock: RunClock {
                untimed,
                most_rebuilt: workload.most_rebuilt()?.map(|bytes| bytes.div_ceil(drive.page_bytes())),
                ..RunClock::default()
            },
            accounts,
            live: None,
        })
    }

    fn run(
        mut self,
        notes: &[String],
        progress: &mut dyn FnMut(Progress) -> ControlFlow<Halt>,
    ) -> Result<RunOutcome, Stop> {
        let mut requests = self.workload.requests()?;
        self.accounts.facts.provenance = requests.provenance.clone();
        if let ([flow], Some((first, _))) =
            (&self.workload.flows[..], &mut self.accounts.facts.provenance.extent)
        {
            *first += flow.offset;
        }
        self.begin(progress)?;
        if self.job.has_workload() {
            self.replay(&mut requests, progress)?;
        }
        self.device.engine.work_mut().break_down(false);
        self.check_counted()?;
        self.conclude_run(&requests, notes)
    }

    /// Prepares the device; then time 0 begins.
    fn begin(&mut self, progress: &mut dyn FnMut(Progress) -> ControlFlow<Halt>) -> Result<(), Stop> {
        let logs = self.logs()?;
        let loses_power = C::KEEP && asks_for_power_cuts(self.job, self.resolved)?;
        // A drive that is saved with its contents is saved with its OOB areas: its power may fail later.
        if loses_power || (C::KEEP && self.job.save_aged.is_some()) {
            self.device.body.expect_power_cuts();
            self.device.engine.tree_mut().expect_power_cuts();
            self.device.engine.ports_mut().expect_power_cuts();
        }
        if self.failures.fault_events.has_slow_parts() {
            self.device.body.expect_slow_parts();
        }
        self.prepare(progress)?;
        logs.into_iter().for_each(|log| self.device.body.log(log));
        // Pages that were created before time 0 may have needed GC.
        self.device.body.begin_wear();
        self.device.engine.tree_mut().exposure_mut().set_rescued(0);
        if loses_power {
            let Device { engine, pages, .. } = &self.device;
            let existing = engine.ports().host().pages().existing();
            let oracle = DurabilityOracle::new(existing, pages.versions());
            self.failures.durability = Some(Box::new(oracle));
        }
        if self.host.warmup == 0 {
            // Work that the start leaves, such as GC of an aged drive, takes time and is counted.
            self.begin_counting(SimTime::ZERO);
        }
        if !self.clock.untimed && !self.job.no_breakdown {
            self.break_down();
        }
        self.clock.scrubs = self.resolved.error_models().any(|model| model.scrub.is_some());
        self.accounts.begin_showing(self.job, &mut self.failures);
        Ok(())
    }

    /// Refuses a run without any request that counts.
    fn check_counted(&self) -> Result<(), Stop> {
        if self.clock.interrupted && self.host.admitted <= self.host.warmup {
            return Err(Stop::Error(Error::Interrupted)); // nothing has been counted
        }
        if self.host.admitted == 0 && self.failures.write_gate.refused > 0 {
            return Err(Stop::Error(self.failures.ended_before_time_0(self.resolved)));
        }
        if self.host.admitted == 0 && self.job.has_workload() {
            let message = "has no request that the drive can serve".to_owned();
            let path = self.accounts.facts.provenance.name.clone();
            return Err(Stop::Error(Error::Trace(flashkeep_trace::TraceError::new(&path, message))));
        }
        if self.host.admitted <= self.host.warmup && self.host.warmup > 0 {
            return Err(Stop::Error(Error::Option(format!(
                "--warmup: {} requests are left out of every statistic, and the workload has only {}",
                self.host.warmup, self.host.admitted
            ))));
        }
        Ok(())
    }

    /// The results of a run whose requests are over.
    fn conclude_run(mut self, requests: &Requests, notes: &[String]) -> Result<RunOutcome, Stop> {
        // The last request may end after the last event.
        let end = self.clock.now.max(self.clock.last);
        self.look_at_life();
        let counted = self.accounts.counted.take().unwrap_or_else(|| self.count_up());
        // So may programs: whether a completion that is waited for shows their end must not matter.
        let end_of_phases = end.max(self.device.body.at_rest());
        let tally = self.device.tally_until(end_of_phases, self.resolved, &self.clock);
        let end_of_life_warning = self.end_of_life_warning();
        counted.logged.clone().map_err(Error::Output)?;
        let series = self.end_series(end)?;
        if self.may_have_lost() {
            self.find_lost_pages();
        }
        // Pages that the final read finds lost were lost in the last phase.
        let lost = self.device.engine.tree().exposure().lost().count();
        self.accounts.phases.end(end_of_phases, Tally { lost, ..tally.clone() });
        if self.job.verify {
            self.device.body.audit();
        }
        if let Some(path) = self.job.map.as_ref().filter(|_| !self.clock.interrupted) {
            let sites = sites::<C>(&self.device.body, self.resolved, &self.device.placements);
            output::map(path, &sites, self.device.port().pages().len(), &|page| {
                self.device.copies(page, self.resolved)
            })?;
        }
        let flows = self.host.flows.as_ref();
        self.accounts.facts.skipped =
            flows.map_or_else(|| requests.skipped(), Flows::skipped) + self.host.misplaced;
        self.accounts.facts.sha256 = requests.sha256();
        self.accounts.facts.overlapping =
            flows.map_or_else(|| self.host.addresses.overlapping(), Flows::overlapping);
        let warnings = self.warnings(
            requests,
            [end_of_life_warning.into_iter().collect(), notes.to_vec(), counted.log_notes.clone()].concat(),
        );
        let summary = self.summary(&counted, &tally, warnings);
        if let Some(path) = self.job.save_aged.as_ref().filter(|_| !self.clock.interrupted) {
            self.save(path).map_err(|error| match error {
                Error::Option(why) => Error::Option(format!("--save-aged: {why}")),
                other => other,
            })?;
        }
        let RunAccounts { records: requests, record_parts: parts, .. } = self.accounts;
        Ok(RunOutcome { summary, requests, parts, series })
    }

    /// What a user should know of the results; `notes` come after what the drive file warns of.
    fn warnings(&self, requests: &Requests, notes: Vec<String>) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.clock.interrupted {
            let admitted = self.host.admitted;
            warnings.push(format!("interrupted: the figures are of the first {admitted} requests"));
        }
        if self.clock.sampled {
            let (admitted, size) = (self.host.admitted, self.job.stop_rebuild.as_deref().unwrap_or_default());
            warnings.push(format!(
                "--stop-rebuild {size}: the run ended when that was rebuilt, after {admitted} requests"
            ));
        }
        if self.device.engine.schedule().gave_up_rebuilds() {
            let pages = self.device.engine.tree().exposure().pages();
            warnings.push(format!(
                "a rebuild was given up: members lose pages as fast as it restores them; {pages} \
                 pages are exposed"
            ));
        }
        warnings.extend(self.resolved.warnings.iter().cloned());
        warnings.extend(notes);
        warnings.extend(self.host.flows.as_ref().map_or_else(|| requests.warnings(), Flows::warnings));
        warnings.extend(self.accounts.conditioned.as_ref().filter(|found| !found.steady).map(|found| {
            format!(
                "conditioning: no steady state after {} rounds; set condition.most_rounds for more, or \
                 condition.round for longer ones",
                found.rounds
            )
        }));
        warnings.extend(
            self.failures
                .fault_events
                .left()
                .map(|event| format!("--fail {event}: the run ended before it happened")),
        );
        warnings
    }

    /// The logs that the job asks for. They begin at time 0.
    fn logs(&mut self) -> Result<Vec<Box<dyn DeviceObserver>>, Error> {
        let sites = sites::<C>(&self.device.body, self.resolved, &self.device.placements);
        let operations = self.job.operations.as_ref();
        let operations = operations.map(|path| output::operations(path, sites.clone())).transpose()?;
        let timeline = timeline::of(self.job, self.clock.untimed, sites)?;
        // Nothing is seen of operations without time.
        let counts = (self.workload.has_tenants && !self.clock.untimed).then(|| {
            let counts = FlowOperations::new(self.workload.flows.len());
            let observer = counts.observer();
            self.host.operations = Some(counts);
            observer
        });
        Ok(operations.into_iter().chain(timeline).chain(counts).collect())
    }
}
