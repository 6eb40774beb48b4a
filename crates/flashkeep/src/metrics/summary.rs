//! The summary of a run, from its statistics.

use super::conditioned::Conditioning;
use super::counts::{BufferHits, Operations, Utilization, WriteAmplification, per};
use super::errors::{ErrorEffects, ErrorFigures, ErrorsLeft};
use super::flows::{FlowFacts, FlowFigures, VolumeFigures};
use super::histogram::TimesByOperation;
use super::latency::{BreakdownSums, LatencyByOperation};
use super::members::{cached_bytes, programmed_bytes, runs_left};
use super::rebuilds::{self, Rebuild};
use super::sections::{
    CacheCommands, Commands, FlashPages, GcTurnFigures, Integrity, MappingFigures, MultiPlane, Packing,
    Queue, ReadsAround, Redundancy, Rest, Saturation, SlcCacheFigures, Summary, Suspensions, Throughput,
    Workload,
};
use super::wear::{CountedWrites, ENOUGH};
use super::{
    Digest, FigureEntry, FigureShape, Histogram, IfAny, MemberActivity, Reported, RunPhases, WearFacts,
};
use crate::config::Resolved;
use crate::device::latency::Part;
use crate::device::port::Hits;
use crate::drive::{Counters, ErrorCounts, OpKind, OperationTimes, SlcCounts};
use crate::engine::ReadCounts;
use crate::flash::{CommandsSpec, Suspend};
use crate::ftl::HandleCounts;
use crate::kernel::{SimTime, Span};
use crate::mapping::Counts;
use crate::schemes;
use flashkeep_trace::{HANDLES, Op, Provenance};
use serde_json::{Value, json};

/// Statistics that every request adds to.
#[derive(Clone, Debug, Default)]
pub struct RequestStatistics {
    /// Response times of reads.
    pub read_response: Histogram,
    /// Response times of writes and trims.
    pub write_response: Histogram,
    /// Response times of flushes.
    pub flush_response: Histogram,
    /// Service times of flushes.
    pub flush_service: Histogram,
    /// Service times of reads.
    pub read_service: Histogram,
    /// Service times of writes and trims.
    pub write_service: Histogram,
    /// Bytes that counted requests read.
    pub bytes_read: u64,
    /// Bytes that counted requests wrote.
    pub bytes_written: u64,
    /// Of these, the bytes of each placement handle.
    pub handle_bytes: [u64; HANDLES as usize],
    /// Logical pages that writes touched, whole or in part.
    pub pages_written: u64,
    /// Reads whose contents were compared with the expected ones.
    pub checked_reads: u64,
    /// Pages whose contents were compared when all pages were read back at the end.
    pub pages_read_back: u64,
    /// Reads that returned other contents.
    pub wrong_reads: u64,
    /// Counted reads that ended in an error.
    pub failed_reads: u64,
    /// Where the response times of reads, and of writes and trims, went; none if that is not measured.
    pub breakdowns: Option<Box<[BreakdownSums; 2]>>,
    /// The digest.
    pub digest: Digest,
}

/// Statistics of the workload.
#[derive(Clone, Debug)]
pub struct WorkloadFacts {
    /// Its name and format.
    pub provenance: Provenance,
    /// Numbers of reads, writes, trims and flushes.
    pub requests: [u64; Op::COUNT],
    /// Writes that must be durable before they are acknowledged.
    pub fua_writes: u64,
    /// Bytes read and written, warm-up included.
    pub bytes: [u64; 2],
    /// From the first arrival to the last.
    pub span: Span,
    /// Records that could not be read.
    pub skipped: u64,
    /// Requests whose address was taken modulo the capacity.
    pub overlapping: u64,
    /// SHA-256 of a stream that was read to its end; none for files, which can be read again.
    pub sha256: Option<String>,
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
    /// The counts of each request.
    pub statistics: &'a RequestStatistics,
    /// Flash operations for the counted requests.
    pub counters: &'a Counters,
    /// Busy times of arrays and pins for them, if the drive file gives their currents.
    pub work: Option<OperationTimes>,
    /// Errors of the drives, and what came of them; none without an error model.
    pub errors: Option<(ErrorCounts, ErrorEffects)>,
    /// Hits and misses of the DRAM.
    pub hits: Hits,
    /// When counting began.
    pub from: SimTime,
    /// The end of the run.
    pub until: SimTime,
    /// The largest number of requests that had arrived and were not done.
    pub queue_max: usize,
    /// How long requests waited because the host queue was full.
    pub queue_full: Span,
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
    /// What placement handles programmed while requests were counted; empty where there is one, and for arrays.
    pub handles: Vec<HandleCounts>,
    /// The sectors that caches held when counting began, and when it ended.
    pub held: [u64; 2],
    /// How the drive starts, in words.
    pub start: String,
    /// Valid pages at the end, and all pages.
    pub filled: (u64, u64),
    /// Unrecoverable pages, each counted once.
    pub lost_pages: u64,
    /// Page reads of a failed unit that another copy or parity served.
    pub reconstructed_reads: u64,
    /// Reads around busy parts, if any node may do that.
    pub reads: Option<ReadCounts>,
    /// Collections that have ended in their turn, and out of it.
    pub turns: Option<[u64; 2]>,
    /// Page-nanoseconds that one more failure would have cost; none without redundancy.
    pub unprotected_page_ns: Option<u128>,
    /// Whether the caller ended the run early.
    pub interrupted: bool,
    /// For untimed runs: whether requests had arrival times.
    pub untimed: Option<bool>,
    /// The result of conditioning the drive.
    pub conditioned: Option<Conditioning>,
    /// Workloads beside each other.
    pub flows: Vec<FlowFacts<'a>>,
    /// Whether these are tenants, not the volumes of an array.
    pub has_tenants: bool,
    /// The phases before, during and after failures.
    pub phases: &'a RunPhases,
    /// The map's name and counts, unless it is a page map in memory.
    pub mapping: Option<(&'static str, Counts)>,
    /// Power cuts and recoveries.
    pub power_cuts: &'a [PowerCut],
    /// Warnings.
    pub warnings: Vec<String>,
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
        interrupted: IfAny(facts.interrupted.then_some(true)),
        saturation: IfAny(saturation(facts)),
        errors: IfAny(errors(facts)),
        energy: super::energy::energy(facts),
        economy: IfAny(super::economy::economy(facts)),
        wear_out: IfAny(match facts.drive.is_array() {
            true => super::wear_out::wear_out(&facts.members, facts.lost_pages),
            false => None,
        }),
        disk: IfAny(None),
        options: IfAny(None),
        command: IfAny(None),
        drive_changes: IfAny(None),
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
    let rebuilds = if facts.untimed.is_some() { Vec::new() } else { rebuilds::rebuilds(facts.phases, drive) };
    let (volumes, flows) = flows(facts, timed_seconds(facts, seconds));
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
        dram_bytes: memory_bytes(drive),
        start: facts.start.clone(),
        workload: workload(facts.workload),
        simulated_s: passes.then_some(seconds),
        warnings: warnings(facts, &rebuilds),
        response_us: TimesByOperation::new(
            &statistics.read_response,
            &statistics.write_response,
            &statistics.flush_response,
        ),
        service_us: TimesByOperation::new(
            &statistics.read_service,
            &statistics.write_service,
            &statistics.flush_service,
        ),
        latency_us: statistics.breakdowns.as_ref().map(|sums| LatencyByOperation::new(sums)),
        queue: queue(facts, seconds),
        throughput: throughput(facts, seconds),
        operations: Operations::new(|kind, cause| counters.of(kind, cause)),
        waf_bytes: per(programmed(facts) as f64, statistics.bytes_written as f64),
        write_amplification: WriteAmplification::new(counters, drive.word_line(), statistics.pages_written),
        buffer: hits,
        wear: Some(facts.wear.wear(counted_writes(facts, seconds))),
        utilization: Some(match facts.untimed {
            Some(_) => Utilization::untimed(),
            None => Utilization::new(&facts.busy, facts.busy_within),
        }),
        fill: per(facts.filled.0 as f64, facts.filled.1 as f64),
        unmapped_reads: counters.unmapped_reads,
        reads_from_memory: counters.reads_from_memory,
        members: match drive.is_array() {
            true => super::members::of_array(&facts.members, seconds),
            false => super::members::of_drive(counters),
        },
        integrity: integrity(facts, passes),
        redundancy: redundancy(drive),
        phases: facts.phases.figures(),
        rebuilds,
        volumes,
        flows,
        fairness: None,
        handles: IfAny(super::handles::handles(facts)),
        commands: IfAny(commands(&drive.spec.flash.commands, counters)),
        packing: IfAny((drive.word_line() > 1 && facts.untimed.is_none()).then(|| packing(counters, drive))),
        slc_cache: IfAny(has_cache(drive).then(|| slc_cache(counters))),
        // A page map in memory has no counts.
        mapping: IfAny(facts.mapping.map(|(name, counts)| mapping(name, &counts))),
        reads_around: IfAny(facts.reads.map(|counts| ReadsAround {
            redirected: counts.redirected,
            hedged: IfAny(drive.hedges_reads().then_some(counts.hedged)),
            hedge_won: IfAny(drive.hedges_reads().then_some(counts.hedge_won)),
            extra_reads: counts.extra_host + counts.extra_update,
            extra_update_reads: counts.extra_update,
        })),
        gc_turns: IfAny(facts.turns.map(|[in_turn, out_of_turn]| GcTurnFigures { in_turn, out_of_turn })),
    }
}

/// The volumes of an array, or the tenants.
fn flows(facts: &Facts<'_>, seconds: f64) -> (Vec<VolumeFigures>, Vec<FlowFigures>) {
    if facts.has_tenants {
        let own = !facts.drive.is_array() && !facts.drive.is_disk() && memory_bytes(facts.drive) == 0;
        let page_bytes = own.then(|| facts.drive.page_bytes());
        return (Vec::new(), facts.flows.iter().map(|flow| flow.figures(seconds, page_bytes)).collect());
    }
    let volume = |flow: &FlowFacts<'_>| flow.statistics.figures(flow.workload, seconds);
    (facts.flows.iter().map(volume).collect(), Vec::new())
}

/// Errors of all drives; none without an error model.
fn errors(facts: &Facts<'_>) -> Option<ErrorFigures> {
    let (counts, effects) = facts.errors.as_ref()?;
    let left = ErrorsLeft::new(counts, facts.drive);
    Some(ErrorFigures::new(counts, *effects, facts.drive.error_models(), left))
}

/// Bytes programmed by all drives, and written by all disks.
fn programmed(facts: &Facts<'_>) -> u64 {
    if facts.drive.is_array() {
        facts.members.iter().map(MemberActivity::programmed).sum()
    } else {
        programmed_bytes(facts.counters, facts.drive)
    }
}

/// The bytes programmed as a share of the flash.
fn programmed_share(facts: &Facts<'_>) -> f64 {
    per(programmed(facts) as f64, facts.drive.physical_bytes() as f64).unwrap_or(0.0)
}

/// What the life of the drive follows from. An array lives as long as the first of its members.
fn counted_writes(facts: &Facts<'_>, seconds: f64) -> CountedWrites {
    let runs_left = if facts.drive.is_array() {
        facts.members.iter().filter_map(MemberActivity::runs_left).min_by(f64::total_cmp)
    } else {
        let cached = cached_bytes(facts.counters, facts.drive);
        let programmed = programmed_bytes(facts.counters, facts.drive) - cached;
        runs_left(facts.drive, &facts.wear.before, programmed)
    };
    // An untimed run without arrival times has no time, and so no day.
    let seconds = if facts.untimed == Some(false) { 0.0 } else { seconds };
    CountedWrites {
        bytes: facts.statistics.bytes_written,
        seconds,
        programmed: programmed_share(facts),
        runs_left,
    }
}

fn extend(object: &mut Value, more: &Value) {
    if let (Some(object), Some(more)) = (object.as_object_mut(), more.as_object()) {
        object.extend(more.clone());
    }
}

fn workload(facts: &WorkloadFacts) -> Workload {
    let [reads, writes, trims, flushes] = facts.requests;
    Workload {
        name: facts.provenance.name.clone(),
        format: facts.provenance.format.clone(),
        synthetic: facts.provenance.synthetic,
        requests: facts.requests.iter().sum(),
        reads,
        writes,
        trims,
        flushes,
        fua_writes: facts.fua_writes,
        bytes_read: facts.bytes[0],
        bytes_written: facts.bytes[1],
        span_s: facts.span.0 as f64 / 1e9,
        skipped: facts.skipped,
        overlapping: facts.overlapping,
        sha256: facts.sha256.clone(),
    }
}

fn queue(facts: &Facts<'_>, seconds: f64) -> Queue {
    let statistics = facts.statistics;
    let times = [&statistics.read_response, &statistics.write_response, &statistics.flush_response];
    let waiting_ns: u128 = times.into_iter().map(Histogram::sum_ns).sum();
    match facts.untimed {
        Some(_) => Queue { mean: None, max: None, full: None },
        None => Queue {
            mean: per(waiting_ns as f64, seconds * 1e9),
            max: Some(facts.queue_max),
            full: per(facts.queue_full.0 as f64, seconds * 1e9),
        },
    }
}

/// The time to which work is related; 0 if it has no meaning.
fn timed_seconds(facts: &Facts<'_>, seconds: f64) -> f64 {
    if facts.untimed.is_some() { 0.0 } else { seconds }
}

fn throughput(facts: &Facts<'_>, seconds: f64) -> Throughput {
    let statistics = facts.statistics;
    let requests = statistics.read_response.count() + statistics.write_response.count();
    let seconds = timed_seconds(facts, seconds);
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
        pages_read_back: facts.statistics.pages_read_back,
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

fn commands(used: &CommandsSpec, counters: &Counters) -> Option<Commands> {
    let suspends = used.suspend != Suspend::Off;
    let of = |counts: [u64; OpKind::ALL.len()], kind: OpKind| counts[kind as usize];
    let (multi_plane, cache) = (counters.multi_plane, counters.cache);
    let suspensions = counters.suspensions;
    (used.are_used() || suspends).then(|| Commands {
        multi_plane: MultiPlane {
            read: of(multi_plane, OpKind::Read),
            program: of(multi_plane, OpKind::Program),
            erase: of(multi_plane, OpKind::Erase),
        },
        cache: CacheCommands { read: of(cache, OpKind::Read), program: of(cache, OpKind::Program) },
        suspended: IfAny(suspends.then(|| Suspensions {
            program: of(suspensions, OpKind::Program) + of(suspensions, OpKind::Copyback),
            erase: of(suspensions, OpKind::Erase),
        })),
        wasted_pages: counters.wasted_pages,
    })
}

fn packing(counters: &Counters, drive: &Resolved) -> Packing {
    let pages = |kind: OpKind| counters.total(kind) - counters.along[kind as usize];
    let word_lines = |kind: OpKind| pages(kind) - counters.joined[kind as usize];
    let several = drive.word_line() > drive.places();
    let (filled, empty) = (counters.total(OpKind::Program), counters.empty_places);
    Packing {
        places: drive.places(),
        empty_places: empty,
        filled: per(filled as f64, (filled + empty) as f64),
        flash_pages: FlashPages { read: pages(OpKind::Read), program: pages(OpKind::Program) },
        word_lines: IfAny(several.then(|| word_lines(OpKind::Program))),
    }
}

/// Whether a drive, or any member of an array, has an SLC cache.
fn has_cache(drive: &Resolved) -> bool {
    match drive.is_array() {
        true => drive.array.iter().any(has_cache),
        false => !drive.is_disk() && drive.spec.flash.slc.blocks > 0,
    }
}

fn slc_cache(counters: &Counters) -> SlcCacheFigures {
    let SlcCounts { written, bypassed, folded, died, erases } = counters.slc;
    SlcCacheFigures {
        written,
        bypassed,
        share: per(written as f64, (written + bypassed) as f64),
        folded,
        died,
        erases,
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
fn warnings(facts: &Facts<'_>, rebuilds: &[Rebuild]) -> Vec<String> {
    let mut all = facts.warnings.clone();
    let programs = facts.counters.total(OpKind::Program);
    let short = short_life(facts);
    // A run that is too short for a life is too short for collections: one note is enough.
    if short.is_none() && facts.counters.total(OpKind::Erase) == 0 && programs > 0 && facts.filled.1 > 0 {
        let share = facts.filled.0 as f64 / facts.filled.1.max(1) as f64 * 100.0;
        let soft = facts.drive.spec.ftl.gc.soft_threshold.map_or_else(String::new, |soft| {
            format!(
                "; ftl.gc.soft_threshold = {soft} has a plane collected that has less than this share free"
            )
        });
        all.push(format!(
            "garbage collection never ran: the flash held valid data in {share:.1} % of its pages at the end{soft}"
        ));
    }
    all.extend(taken_by_memory(facts));
    all.extend(kept_in_memory(facts, programs));
    all.extend(no_link(facts));
    all.extend(cold_map(facts));
    let statistics = facts.statistics;
    let count = statistics.read_response.count() + statistics.write_response.count();
    if count > 0 && count < 10_000 {
        all.push(format!("p99.99 needs 10,000 requests; there were {count}"));
    }
    all.extend(saturation(facts).as_ref().map(saturation_note));
    all.extend(short);
    all.extend(rebuilds::notes(rebuilds));
    all.extend(limits(facts));
    if facts.counters.unmapped_reads > 0 {
        let reads = facts.counters.unmapped_reads;
        all.push(format!(
            "{reads} page reads asked for pages never written, or trimmed; they cost no flash time"
        ));
    }
    all
}

/// Warns if what the DRAM gained or lost while counting changes the write amplification: what it holds at the end has not
/// been programmed.
fn kept_in_memory(facts: &Facts<'_>, programs: u64) -> Option<String> {
    let bytes = u64::from(facts.drive.spec.flash.sector_bytes);
    let [before, after] = facts.held.map(|sectors| sectors * bytes);
    let written = facts.statistics.bytes_written;
    // What fits has a note of its own.
    let matters =
        programs > 0 && written > memory_bytes(facts.drive) && before.abs_diff(after) > written / 50;
    matters.then(|| {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        format!(
            "the host wrote {:.1} MiB; the DRAM held {:.1} MiB of written data when counting began and {:.1} MiB when it \
             ended, and write amplification counts programs only (longer runs, or --flush-at-end)",
            mib(written),
            mib(before),
            mib(after)
        )
    })
}

/// The load on the drive and what it did, if it cannot keep up with the trace: it is still busy for more than 5 % of
/// the time of all arrivals after the last one.
fn saturation(facts: &Facts<'_>) -> Option<Saturation> {
    let requests = facts.statistics.read_response.count() + facts.statistics.write_response.count();
    let last = SimTime(facts.workload.span.0);
    let (arrivals, overtime) = (last.0.checked_sub(facts.from.0)?, facts.until.0.saturating_sub(last.0));
    let open = facts.workload.provenance.depth.is_none() && facts.untimed.is_none();
    let seconds = |ns: u64| ns as f64 / 1e9;
    (open && arrivals > 0 && requests > 100 && overtime > arrivals / 20).then(|| Saturation {
        offered_iops: requests as f64 / seconds(arrivals),
        reached_iops: requests as f64 / seconds(arrivals + overtime),
        busy_after_s: seconds(overtime),
    })
}

/// Waiting times of a drive that cannot keep up grow without bound, and means have no meaning.
fn saturation_note(found: &Saturation) -> String {
    let Saturation { offered_iops: offered, reached_iops: reached, busy_after_s: after } = found;
    format!(
        "the workload saturates the drive: it cannot carry {offered:.0} requests/s and reaches {reached:.0}, still busy \
         {after:.1} s after the last arrival; response times grow with the length of the trace"
    )
}

/// Warns if a limit rather than the flash determines response times.
fn limits(facts: &Facts<'_>) -> Vec<String> {
    let Some(sums) = &facts.statistics.breakdowns else { return Vec::new() };
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let most = |part| sums.each_ref().map(|sums| sums.share(part));
    let mut all = Vec::new();
    let [reads, writes] = most(Part::Queue);
    let seconds = facts.until.since(facts.from).0;
    if reads.max(writes) > 0.1 && facts.queue_full > Span::ZERO && seconds > 0 {
        let (what, share) = if reads > writes { ("read", reads) } else { ("write", writes) };
        all.push(format!(
            "the host queue (depth {}) was full for {} of the time, and {} of the {what} time was spent waiting \
             outside it: host.queue_depth and bursts of the workload determine response times, not the flash alone",
            facts.drive.spec.host.queue_depth,
            percent(facts.queue_full.0 as f64 / seconds as f64),
            percent(share),
        ));
    }
    let [_, evictions] = most(Part::Buffer);
    if evictions > 0.5 {
        all.push(format!(
            "{} of the write time was spent waiting for evictions: the write cache was full and written back only \
             to make room",
            percent(evictions)
        ));
    }
    all
}

/// The bytes of data that the DRAM of a drive, or of all of an array, holds.
fn memory_bytes(drive: &Resolved) -> u64 {
    let own = if drive.writes_through() { 0 } else { drive.buffer_bytes() };
    own + drive.array.iter().map(memory_bytes).sum::<u64>()
}

/// Warns if the DRAM holds all that was written: response times of writes are not those of the flash.
fn taken_by_memory(facts: &Facts<'_>) -> Option<String> {
    let (written, memory) = (facts.statistics.bytes_written, memory_bytes(facts.drive));
    if written == 0 || memory == 0 {
        return None;
    }
    if programmed(facts) == 0 {
        return Some("the DRAM took every write: no page was programmed".to_owned());
    }
    (written <= memory).then(|| {
        format!(
            "the run wrote {:.1} MiB, which fit into the {:.1} MiB of DRAM: response times, throughput and \
             amplification of writes are those of the DRAM; a longer run, or --warmup, shows the flash",
            written as f64 / 1_048_576.0,
            memory as f64 / 1_048_576.0
        )
    })
}

/// The bytes a second that the fastest link of drives carries: PCIe 5.0 with four lanes.
const FASTEST_LINK: f64 = 15.75e9;

/// Warns of more throughput than a link carries, where there is none.
fn no_link(facts: &Facts<'_>) -> Option<String> {
    let (drive, statistics) = (facts.drive, facts.statistics);
    if facts.untimed.is_some() || drive.is_device_set() || drive.spec.host.has_link() {
        return None;
    }
    let seconds = facts.until.since(facts.from).0 as f64 / 1e9;
    let rate = per((statistics.bytes_read + statistics.bytes_written) as f64, seconds)?;
    (rate > FASTEST_LINK).then(|| {
        format!(
            "{:.1} GB/s crossed the host interface, more than any link of a drive carries (15.75 GB/s by PCIe 5.0 with four \
             lanes): the drive has no host.link_us_per_sector",
            rate / 1e9
        )
    })
}

/// Warns if next to no entry of the map's cache was used.
fn cold_map(facts: &Facts<'_>) -> Option<String> {
    let (map, counts) = facts.mapping?;
    let asked = counts.hits + counts.misses;
    (map == "dftl" && counts.misses > 0 && counts.hits * 100 < asked).then(|| {
        format!(
            "{} of {asked} map entries that were looked up were in the cache of {} entries for each member: the workload \
             uses few pages again, or the run is too short to show it",
            counts.hits,
            facts.drive.map_cache_entries()
        )
    })
}

/// Warns if no life follows from the run, or if it is extrapolated from a run that did not fill the flash once: its write
/// amplification is not yet that of a drive in use.
fn short_life(facts: &Facts<'_>) -> Option<String> {
    let (programmed, flash) = (programmed(facts), facts.drive.physical_bytes());
    let has_budget = |drive: &Resolved| drive.spec.ftl.wear.erase_budget.is_some();
    let budget = has_budget(facts.drive) || facts.members.iter().any(|member| has_budget(member.drive));
    let share = programmed_share(facts);
    if budget && programmed > 0 && share < ENOUGH {
        return Some(format!(
            "no life, TBW or DWPD: they need a run that programs a tenth of the flash, and this one programmed {:.2} %; \
             a longer one, such as --untimed with more requests, has them",
            share * 100.0
        ));
    }
    (budget && programmed > 0 && programmed < flash).then(|| {
        format!(
            "TBW and DWPD are extrapolated from a run that programmed {:.2} % of the flash once, at {:.2} bytes \
             for each byte written; a longer run, or one on an aged drive, may need more",
            programmed as f64 / flash as f64 * 100.0,
            per(programmed as f64, facts.statistics.bytes_written as f64).unwrap_or_default(),
        )
    })
}
