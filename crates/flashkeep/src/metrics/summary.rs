//! The summary of a run: its JSON is an interface for scripts.

use super::conditioned::Conditioning;
use super::counts::{BufferHits, Operations, Utilization, WriteAmplification, per};
use super::disk::DiskActivity;
use super::economy::Economy;
use super::energy::Energy;
use super::histogram::TimesByOperation;
use super::members::Member;
use super::phases::PhaseFigures;
use super::wear::Wear;
use super::wear_out::WearOut;
use super::{
    Digest, FigureEntry, FigureShape, Histogram, IfAny, MemberActivity, Reported, RunPhases, WearFacts,
    figures, plain, unit,
};
use crate::config::Resolved;
use crate::device::port::Hits;
use crate::drive::{Counters, OpKind, OperationTimes};
use crate::kernel::{SimTime, Span};
use crate::mapping::Counts;
use crate::schemes;
use flashkeep_trace::Provenance;
use serde_json::{Value, json};

/// Statistics that every request adds to.
#[derive(Clone, Debug, Default)]
pub struct RequestStatistics {
    /// Response times of reads.
    pub read_response: Histogram,
    /// Response times of writes and trims.
    pub write_response: Histogram,
    /// Service times of reads.
    pub read_service: Histogram,
    /// Service times of writes and trims.
    pub write_service: Histogram,
    /// Bytes that counted requests read.
    pub bytes_read: u64,
    /// Bytes that counted requests wrote.
    pub bytes_written: u64,
    /// Logical pages that writes touched, whole or in part.
    pub pages_written: u64,
    /// Reads whose contents were compared with the expected ones.
    pub checked_reads: u64,
    /// Reads that returned other contents.
    pub wrong_reads: u64,
    /// The digest.
    pub digest: Digest,
}

/// Statistics of the workload.
#[derive(Clone, Debug)]
pub struct WorkloadFacts {
    /// Its name and format.
    pub provenance: Provenance,
    /// Numbers of reads, writes and trims.
    pub requests: [u64; 3],
    /// Bytes read and written, warm-up included.
    pub bytes: [u64; 2],
    /// From the first arrival to the last.
    pub span: Span,
    /// Records that could not be read.
    pub skipped: u64,
    /// Requests whose address was taken modulo the capacity.
    pub overlapping: u64,
}

/// The effects of a power cut, and the costs of the recovery.
#[derive(Clone, Copy, Debug, Default)]
pub struct PowerCut {
    /// From the cut until requests were accepted again.
    pub recovery: Span,
    /// Requests under way that were not acknowledged.
    pub interrupted: u64,
    /// Pages whose newest acknowledged version was in volatile memory.
    pub volatile_pages_lost: u64,
    /// Pages read to restore the map.
    pub reads: u64,
    /// Blocks whose erase was started again.
    pub erases: u64,
}

/// The inputs of a summary.
pub struct Facts<'a> {
    /// The drive.
    pub drive: &'a Resolved,
    /// The seed.
    pub seed: u64,
    /// The workload.
    pub workload: &'a WorkloadFacts,
    /// What was counted request by request.
    pub statistics: &'a RequestStatistics,
    /// Flash operations for the counted requests.
    pub counters: &'a Counters,
    /// Busy times of arrays and pins for them, if the drive file gives their currents.
    pub work: Option<OperationTimes>,
    /// Hits and misses of the DRAM.
    pub hits: Hits,
    /// When counting began.
    pub from: SimTime,
    /// The end of the run.
    pub until: SimTime,
    /// The largest number of requests that had arrived and were not done.
    pub queue_max: usize,
    /// The time that each channel was in use, and that each unit was busy, while requests were counted.
    pub busy: [Vec<Span>; 2],
    /// The time of which these are a share.
    pub busy_within: Span,
    /// The wear of the flash.
    pub wear: WearFacts,
    /// The section of the scheme, if it has figures of its own: its key and the figures.
    pub scheme: Option<(&'static str, Value)>,
    /// The members of an array.
    pub members: Vec<MemberActivity<'a>>,
    /// Valid pages at the end, and all pages.
    pub filled: (u64, u64),
    /// Unrecoverable pages, each counted once.
    pub lost_pages: u64,
    /// Page reads of a failed unit that another copy or parity served.
    pub reconstructed_reads: u64,
    /// Page-nanoseconds that one more failure would have cost; none without redundancy.
    pub unprotected_page_ns: Option<u128>,
    /// For untimed runs: whether requests had arrival times.
    pub untimed: Option<bool>,
    /// The result of conditioning the drive.
    pub conditioned: Option<Conditioning>,
    /// The phases before, during and after failures.
    pub phases: &'a RunPhases,
    /// The map's name and counts, unless it is a page map in memory.
    pub mapping: Option<(&'static str, Counts)>,
    /// Power cuts and recoveries.
    pub power_cuts: &'a [PowerCut],
    /// Warnings.
    pub warnings: Vec<String>,
}

figures! {
    /// The report of a run: `summary.json`.
    pub struct Summary {
        /// Version of this format.
        schema: u64 => plain().derived(),
        /// Version of flashkeep.
        flashkeep: &'static str => plain().derived(),
        /// Seed of the random streams.
        seed: u64 => plain(),
        /// SHA-256 over the times of all requests and all figures that are part of it.
        digest: String => plain().derived(),
        /// The resolved drive, with every default.
        drive: Value => plain().derived(),
        /// Bytes that the host can use.
        capacity_bytes: u64 => unit("bytes").higher(),
        /// The workload.
        workload: Workload => plain(),
        /// Simulated time in which requests were counted; none if nothing took time and requests have no arrivals.
        simulated_s: Option<f64> => unit("s"),
        /// Remarks on figures that could mislead.
        warnings: Vec<String> => plain().derived(),
        /// Response times, from the arrival of a request to its acknowledgement.
        response_us: TimesByOperation => plain().heading("Response time, µs"),
        /// Service times, from the first grant of a resource to completion, without waiting in between.
        service_us: TimesByOperation => plain(),
        /// Requests that had arrived and were not done.
        queue: Queue => plain(),
        /// Work done in each simulated second.
        throughput: Throughput => plain().heading("Throughput"),
        /// Flash operations in pages (erases: blocks) by kind and cause.
        operations: Operations => plain(),
        /// Pages programmed for each page that the host wrote.
        write_amplification: WriteAmplification => plain().heading("Pages programmed for each page written"),
        /// Hits and misses of the DRAM write cache.
        buffer: BufferHits => plain(),
        /// How the flash has worn; none for a disk.
        wear: Option<Wear> => plain().heading("Wear and use"),
        /// How busy channels and dies were; none for a disk.
        utilization: Option<Utilization> => plain().heading("Wear and use"),
        /// The share of the pages that hold valid data at the end.
        fill: Option<f64> => unit("share"),
        /// Reads of pages that were never written, which cost no flash time.
        reads_of_nothing: u64 => unit("pages"),
        /// Reads served from the controller's memory because the page was on its way to the flash.
        reads_from_memory: u64 => unit("pages").higher(),
        /// The members of an array, or the parts of a drive that its redundancy works across.
        members: Vec<Member> => plain(),
        /// Whether contents were right, and what failures cost.
        integrity: Integrity => plain().heading("Integrity"),
        /// The redundancy and what it takes of the flash.
        redundancy: Redundancy => plain().heading("Redundancy"),
        /// The run before, during and after each failure.
        phases: Vec<PhaseFigures> => plain(),
        /// How often planes worked together and cache registers overlapped; only with such commands.
        commands: IfAny<Commands> => plain().heading("Several at once"),
        /// How full flash pages were that hold several logical pages; only with such pages.
        packing: IfAny<Packing> => plain().heading("Pages programmed for each page written"),
        /// How logical pages were found; only with maps other than a page map in memory.
        mapping: IfAny<MappingFigures> => plain().heading("Map"),
    }
}

figures! {
    /// The sections of a summary after those of the scheme.
    pub struct Rest {
        /// How the drive was conditioned; only if it was.
        conditioning: IfAny<Conditioning> => plain().heading("Before time 0"),
        /// True if nothing took time; left out otherwise.
        untimed: IfAny<bool> => plain(),
        /// Energy; none if the drive file gives no currents or powers.
        energy: Option<Energy> => plain().derived().heading("Energy"),
        /// Cost and life; only for arrays and for drives with a price.
        economy: IfAny<Economy> => plain().derived().heading("Money and life"),
        /// How far apart members wear out; only for arrays whose members have erase budgets.
        wear_out: IfAny<WearOut> => plain().derived().heading("Wear and use"),
        /// Operations of a disk, and its time by activity; only for a lone disk.
        disk: IfAny<DiskActivity> => plain().derived(),
        /// Time and memory that the run took on this machine: the only section that differs between equal runs.
        run: IfAny<Machine> => plain().derived(),
    }
}

figures! {
    /// The workload.
    pub struct Workload {
        /// Its path, or the text of a synthetic workload.
        name: String => plain().derived(),
        /// The format of the trace.
        format: String => plain(),
        /// Whether it was generated rather than recorded.
        synthetic: bool => plain(),
        /// Requests, warm-up included.
        requests: u64 => unit("requests"),
        /// Reads.
        reads: u64 => unit("requests"),
        /// Writes.
        writes: u64 => unit("requests"),
        /// Trims.
        trims: u64 => unit("requests"),
        /// Bytes read.
        bytes_read: u64 => unit("bytes"),
        /// Bytes written.
        bytes_written: u64 => unit("bytes"),
        /// Time from the first arrival to the last.
        span_s: f64 => unit("s"),
        /// Records that could not be read and were skipped.
        skipped: u64 => unit("records").lower(),
        /// Requests whose address was taken modulo the capacity.
        overlapping: u64 => unit("requests").lower(),
    }
}

figures! {
    /// Requests that had arrived and were not done.
    pub struct Queue {
        /// Mean number of such requests.
        mean: Option<f64> => unit("requests").lower(),
        /// Largest number of such requests.
        max: Option<usize> => unit("requests").lower(),
    }
}

figures! {
    /// Work done in each simulated second.
    pub struct Throughput {
        /// Requests done in a second.
        iops: Option<f64> => unit("requests/s").higher().row("requests a second"),
        /// MiB read in a second.
        read_mib_s: Option<f64> => unit("MiB/s").higher().row("read, MiB/s"),
        /// MiB written in a second.
        write_mib_s: Option<f64> => unit("MiB/s").higher().row("written, MiB/s"),
    }
}

figures! {
    /// Whether contents were right, and what failures and power cuts cost.
    pub struct Integrity {
        /// Reads whose contents were compared with what was written.
        checked_reads: u64 => unit("reads").row("reads checked"),
        /// Reads that returned something else.
        wrong_reads: u64 => unit("reads").lower().row("reads wrong"),
        /// Pages lost, each counted once.
        lost_pages: u64 => unit("pages").lower().row("pages lost"),
        /// Page reads of a failed part that another copy or parity served.
        reconstructed_reads: u64 => unit("pages").lower().row("reads reconstructed"),
        /// Pages that one more failure would have cost, times how long; none without redundancy.
        unprotected_page_s: Option<f64> => unit("page·s").lower().row("unprotected page-seconds"),
        /// Time from the last failure until full redundancy; none if it was not reached.
        time_to_full_redundancy_s: Option<f64> => unit("s").lower().row("until redundant again, s"),
        /// Power cuts.
        power_cuts: usize => unit("cuts").row("power cuts"),
        /// Requests under way at a power cut that were not acknowledged.
        interrupted_requests: u64 => unit("requests").lower().row("requests interrupted"),
        /// Acknowledged pages whose newest version was in volatile memory at a power cut.
        volatile_pages_lost: u64 => unit("pages").lower().row("pages lost that were volatile"),
        /// Time from each power cut until requests were accepted again.
        recovery_us: Vec<f64> => unit("µs").lower().row("  until requests were accepted again, µs"),
        /// Pages read to restore the map.
        recovery_reads: u64 => unit("pages").lower().row("  pages read to find the map"),
        /// Blocks whose erase was started again.
        recovery_erases: u64 => unit("erases").lower(),
    }
}

figures! {
    /// The redundancy and what it takes of the flash.
    pub struct Redundancy {
        /// The scheme.
        scheme: String => plain(),
        /// Members in use.
        members: u32 => unit("members"),
        /// Hot spares.
        spares: u32 => unit("members"),
        /// Failures that it survives for certain.
        survives: u32 => unit("failures").higher().row("failures survived"),
        /// What fails: a member, or a part of a drive.
        unit: &'static str => plain(),
        /// The share of the flash that the host can use.
        capacity_share: Option<f64> => unit("share").higher().row("share of the flash that the host can use"),
    }
}

figures! {
    /// How often planes worked together and cache registers overlapped.
    pub struct Commands {
        /// Multi-plane operations.
        multi_plane: MultiPlane => plain(),
        /// Operations through a cache register.
        cache: CacheCommands => plain(),
        /// Pages left unprogrammed so that planes stay at the same offset.
        wasted_pages: u64 => unit("pages").lower().row("pages left out for them"),
    }
}

figures! {
    /// Multi-plane operations.
    pub struct MultiPlane {
        /// Multi-plane reads.
        read: u64 => unit("operations").row("multi-plane reads"),
        /// Multi-plane programs.
        program: u64 => unit("operations").row("multi-plane programs"),
        /// Multi-plane erases.
        erase: u64 => unit("operations").row("multi-plane erases"),
    }
}

figures! {
    /// Operations through a cache register.
    pub struct CacheCommands {
        /// Reads through a cache register.
        read: u64 => unit("operations").row("reads through a cache register"),
        /// Programs through a cache register.
        program: u64 => unit("operations").row("programs through a cache register"),
    }
}

figures! {
    /// How full flash pages were that hold several logical pages.
    pub struct Packing {
        /// Logical pages that a flash page holds.
        places: u32 => unit("pages"),
        /// Places that were left empty.
        empty_places: u64 => unit("pages").lower(),
        /// Whole flash pages.
        flash_pages: FlashPages => plain(),
    }
}

figures! {
    /// Operations on whole flash pages.
    pub struct FlashPages {
        /// Flash pages read.
        read: u64 => unit("pages").lower().row("flash pages read"),
        /// Flash pages programmed.
        program: u64 => unit("pages").lower().row("flash pages programmed"),
    }
}

figures! {
    /// How logical pages were found.
    pub struct MappingFigures {
        /// The map.
        map: &'static str => plain(),
        /// Lookups whose entry was in memory.
        hits: u64 => unit("lookups").higher().row("entries found in memory"),
        /// Lookups whose entry had to be read from the flash.
        misses: u64 => unit("lookups").lower().row("entries not there"),
        /// Misses as a share of all lookups.
        miss_rate: Option<f64> => unit("share").lower().row("  share"),
        /// Entries evicted from memory.
        evictions: u64 => unit("entries").lower(),
        /// Translation pages written because an evicted entry had changed.
        write_backs: u64 => unit("pages").lower().row("translation pages written back"),
        /// Translation pages written because garbage collection moved pages whose entries were not in memory.
        moved_updates: u64 => unit("pages").lower().row("  for pages that were moved"),
        /// Log blocks that became data blocks without a copy.
        switch_merges: u64 => unit("merges").row("switch merges"),
        /// Log blocks that became data blocks after the rest was copied.
        partial_merges: u64 => unit("merges").lower().row("partial merges"),
        /// Blocks merged from several blocks.
        full_merges: u64 => unit("merges").lower().row("full merges"),
    }
}

figures! {
    /// Time and memory that the run took on this machine.
    pub struct Machine {
        /// Time on the wall clock.
        wall_s: f64 => unit("s").lower(),
        /// Requests simulated in a second.
        requests_per_s: f64 => unit("requests/s").higher(),
        /// Pages read, programmed and copied in a second.
        page_operations_per_s: f64 => unit("pages/s").higher(),
        /// Most memory in use.
        peak_rss_mib: f64 => unit("MiB").lower(),
        /// Threads that simulated.
        threads: u64 => unit("threads"),
    }
}

/// The shape of every possible summary, with the sections of all schemes.
pub(super) fn shape() -> Vec<FigureEntry> {
    let of = |shape| if let FigureShape::Group(group) = shape { group.entries } else { Vec::new() };
    [of(Summary::shape()), schemes::figures(), of(Rest::shape())].concat()
}

/// The summary of a run.
#[must_use]
pub fn summary(facts: &Facts<'_>) -> Value {
    let seconds = facts.until.since(facts.from).0 as f64 / 1e9;
    let mut summary = head(facts, seconds).to_json();
    if let Some((section, figures)) = &facts.scheme {
        summary[*section] = figures.clone();
    }
    let rest = Rest {
        conditioning: IfAny(facts.conditioned.clone()),
        untimed: IfAny(facts.untimed.map(|_| true)),
        energy: super::energy::energy(facts),
        economy: IfAny(super::economy::economy(facts)),
        wear_out: IfAny(match facts.drive.is_array() {
            true => super::wear_out::wear_out(&facts.members, facts.lost_pages),
            false => None,
        }),
        disk: IfAny(None),
        run: IfAny(None),
    };
    extend(&mut summary, &rest.to_json());
    summary["digest"] = json!(facts.statistics.digest.finish(&summary));
    if facts.drive.is_disk()
        && let [only] = &facts.members[..]
    {
        let mut disk = only.figures(seconds).to_json();
        for section in ["disk", "energy", "utilization", "wear"] {
            summary[section] = disk[section].take();
        }
    } else {
        summary["wear"]["erases_histogram"] = facts.wear.histogram().to_json();
    }
    summary
}

/// The sections before those of the scheme.
fn head(facts: &Facts<'_>, seconds: f64) -> Summary {
    let (statistics, drive, counters) = (facts.statistics, facts.drive, facts.counters);
    // An untimed run without arrival times has no simulated time.
    let passes = facts.untimed != Some(false);
    let hits = BufferHits::new(facts.hits);
    Summary {
        schema: 1,
        flashkeep: env!("CARGO_PKG_VERSION"),
        seed: facts.seed,
        digest: String::new(),
        drive: drive.to_json(),
        capacity_bytes: drive.capacity_bytes(),
        workload: workload(facts.workload),
        simulated_s: passes.then_some(seconds),
        warnings: warnings(facts),
        response_us: TimesByOperation::new(&statistics.read_response, &statistics.write_response),
        service_us: TimesByOperation::new(&statistics.read_service, &statistics.write_service),
        queue: queue(facts, seconds),
        throughput: throughput(facts, seconds),
        operations: Operations::new(|kind, cause| counters.of(kind, cause)),
        write_amplification: WriteAmplification::new(counters, drive.places(), statistics.pages_written),
        buffer: hits,
        wear: Some(facts.wear.wear()),
        utilization: Some(match facts.untimed {
            Some(_) => Utilization::untimed(),
            None => Utilization::new(&facts.busy, facts.busy_within),
        }),
        fill: per(facts.filled.0 as f64, facts.filled.1 as f64),
        reads_of_nothing: counters.reads_of_nothing,
        reads_from_memory: counters.reads_from_memory,
        members: match drive.is_array() {
            true => super::members::of_array(&facts.members, seconds),
            false => super::members::of_drive(counters),
        },
        integrity: integrity(facts, passes),
        redundancy: redundancy(drive),
        phases: facts.phases.figures(),
        commands: IfAny(drive.spec.flash.commands.are_used().then(|| commands(counters))),
        packing: IfAny(
            (drive.places() > 1 && facts.untimed.is_none()).then(|| packing(counters, drive.places())),
        ),
        // A page map in memory has no counts.
        mapping: IfAny(facts.mapping.map(|(name, counts)| mapping(name, &counts))),
    }
}

fn extend(object: &mut Value, more: &Value) {
    if let (Some(object), Some(more)) = (object.as_object_mut(), more.as_object()) {
        object.extend(more.clone());
    }
}

fn workload(facts: &WorkloadFacts) -> Workload {
    let [reads, writes, trims] = facts.requests;
    Workload {
        name: facts.provenance.name.clone(),
        format: facts.provenance.format.clone(),
        synthetic: facts.provenance.synthetic,
        requests: reads + writes + trims,
        reads,
        writes,
        trims,
        bytes_read: facts.bytes[0],
        bytes_written: facts.bytes[1],
        span_s: facts.span.0 as f64 / 1e9,
        skipped: facts.skipped,
        overlapping: facts.overlapping,
    }
}

fn queue(facts: &Facts<'_>, seconds: f64) -> Queue {
    let statistics = facts.statistics;
    let waiting_ns = statistics.read_response.sum_ns() + statistics.write_response.sum_ns();
    match facts.untimed {
        Some(_) => Queue { mean: None, max: None },
        None => Queue { mean: per(waiting_ns as f64, seconds * 1e9), max: Some(facts.queue_max) },
    }
}

fn throughput(facts: &Facts<'_>, seconds: f64) -> Throughput {
    let statistics = facts.statistics;
    let requests = statistics.read_response.count() + statistics.write_response.count();
    let seconds = if facts.untimed.is_some() { 0.0 } else { seconds };
    let mib = |bytes: u64| per(bytes as f64 / f64::from(1 << 20), seconds);
    Throughput {
        iops: per(requests as f64, seconds),
        read_mib_s: mib(statistics.bytes_read),
        write_mib_s: mib(statistics.bytes_written),
    }
}

fn integrity(facts: &Facts<'_>, passes: bool) -> Integrity {
    let cuts = facts.power_cuts;
    let sum = |of: fn(&PowerCut) -> u64| cuts.iter().map(of).sum::<u64>();
    let unprotected = facts.unprotected_page_ns.map(|page_ns| page_ns as f64 / 1e9);
    Integrity {
        checked_reads: facts.statistics.checked_reads,
        wrong_reads: facts.statistics.wrong_reads,
        lost_pages: facts.lost_pages,
        reconstructed_reads: facts.reconstructed_reads,
        unprotected_page_s: unprotected.filter(|_| passes),
        time_to_full_redundancy_s: facts.phases.recovery().map(|span| span.0 as f64 / 1e9),
        power_cuts: cuts.len(),
        interrupted_requests: sum(|cut| cut.interrupted),
        volatile_pages_lost: sum(|cut| cut.volatile_pages_lost),
        recovery_us: cuts.iter().map(|cut| cut.recovery.0 as f64 / 1e3).collect(),
        recovery_reads: sum(|cut| cut.reads),
        recovery_erases: sum(|cut| cut.erases),
    }
}

fn commands(counters: &Counters) -> Commands {
    let of = |counts: [u64; OpKind::ALL.len()], kind: OpKind| counts[kind as usize];
    let (multi_plane, cache) = (counters.multi_plane, counters.cache);
    Commands {
        multi_plane: MultiPlane {
            read: of(multi_plane, OpKind::Read),
            program: of(multi_plane, OpKind::Program),
            erase: of(multi_plane, OpKind::Erase),
        },
        cache: CacheCommands { read: of(cache, OpKind::Read), program: of(cache, OpKind::Program) },
        wasted_pages: counters.wasted_pages,
    }
}

fn packing(counters: &Counters, places: u32) -> Packing {
    let pages = |kind: OpKind| counters.total(kind) - counters.along[kind as usize];
    Packing {
        places,
        empty_places: counters.empty_places,
        flash_pages: FlashPages { read: pages(OpKind::Read), program: pages(OpKind::Program) },
    }
}

fn mapping(map: &'static str, counts: &Counts) -> MappingFigures {
    let asked = counts.hits + counts.misses;
    MappingFigures {
        map,
        hits: counts.hits,
        misses: counts.misses,
        miss_rate: per(counts.misses as f64, asked as f64),
        evictions: counts.evictions,
        write_backs: counts.write_backs,
        moved_updates: counts.moved_updates,
        switch_merges: counts.switch_merges,
        partial_merges: counts.partial_merges,
        full_merges: counts.full_merges,
    }
}

fn redundancy(drive: &Resolved) -> Redundancy {
    let (survives, unit) = drive.survives();
    Redundancy {
        scheme: drive.grouped.as_ref().unwrap_or(&drive.spec.redundancy).scheme.clone(),
        members: drive.members(),
        spares: drive.parts() - drive.members(),
        survives,
        unit,
        capacity_share: per(drive.capacity_bytes() as f64, drive.physical_bytes() as f64),
    }
}

/// Remarks on figures that could mislead.
fn warnings(facts: &Facts<'_>) -> Vec<String> {
    let mut all = facts.warnings.clone();
    let programs = facts.counters.total(OpKind::Program);
    if facts.counters.total(OpKind::Erase) == 0 && programs > 0 && facts.filled.1 > 0 {
        let share = facts.filled.0 as f64 / facts.filled.1.max(1) as f64 * 100.0;
        let soft = facts.drive.spec.ftl.gc.soft_threshold.map_or_else(String::new, |soft| {
            format!(
                "; ftl.gc.soft_threshold = {soft} has a plane collected that has less than this share free"
            )
        });
        all.push(format!(
            "collection never ran: the flash held valid data in {share:.1} % of its pages at the end{soft}"
        ));
    }
    if programs == 0 && facts.statistics.pages_written > 0 {
        all.push("the DRAM took every write: no page was programmed".to_owned());
    }
    let statistics = facts.statistics;
    let count = statistics.read_response.count() + statistics.write_response.count();
    if count > 0 && count < 10_000 {
        all.push(format!("p99.99 needs 10,000 requests; there were {count}"));
    }
    if let Some(saturated) = saturation(facts, count) {
        all.push(saturated);
    }
    if facts.counters.reads_of_nothing > 0 {
        let reads = facts.counters.reads_of_nothing;
        all.push(format!("{reads} page reads asked for pages never written; they cost no flash time"));
    }
    all
}

/// Warns if the drive cannot keep up with the trace: waiting times then grow without bound, and means have no meaning.
fn saturation(facts: &Facts<'_>, count: u64) -> Option<String> {
    let arrivals = facts.workload.span;
    let overtime = facts.until.since(facts.from).0.saturating_sub(arrivals.0);
    let busy = facts.workload.provenance.depth.is_none() && arrivals.0 > 0 && count > 100;
    (busy && overtime > arrivals.0 / 20).then(|| {
        format!(
            "the workload saturates the drive: it was still busy {:.1} s after the last of {:.1} s of arrivals; \
             mean response times grow with the length of the trace",
            overtime as f64 / 1e9,
            arrivals.0 as f64 / 1e9,
        )
    })
}
