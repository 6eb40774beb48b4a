//! The summary of a run, as scripts rely on it.

use super::Reported;
use super::counts::{BufferHits, operations, per, utilization, write_amplification};
use super::histogram::times;
use super::{Digest, Histogram, MemberFacts, Phases, WearFacts};
use crate::config::Resolved;
use crate::drive::{Counters, Kind, Work};
use crate::front::Hits;
use crate::kernel::{SimTime, Span};
use crate::mapping::Counts;
use flashkeep_trace::Provenance;
use serde_json::{Value, json};

/// What is counted request by request.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
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
    /// Reads that were compared with what they ought to bring.
    pub checked_reads: u64,
    /// Reads that brought something else.
    pub wrong_reads: u64,
    /// Everything, as one number.
    pub digest: Digest,
}

/// What there was in the workload.
#[derive(Clone, Debug)]
pub struct WorkloadFacts {
    /// What it is.
    pub provenance: Provenance,
    /// Requests that read, write, trim.
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

/// What a power cut did, and what its recovery took.
#[derive(Clone, Copy, Debug, Default)]
pub struct PowerCut {
    /// From the cut until requests were taken again.
    pub recovery: Span,
    /// Requests under way, which were not acknowledged.
    pub interrupted: u64,
    /// Pages whose newest acknowledged version was not on flash.
    pub volatile_pages_lost: u64,
    /// Pages read to find the map again.
    pub reads: u64,
    /// Blocks whose erase was begun anew.
    pub erases: u64,
}

/// Everything that a summary is made from.
pub struct Facts<'a> {
    /// The drive.
    pub drive: &'a Resolved,
    /// The seed.
    pub seed: u64,
    /// The workload.
    pub workload: &'a WorkloadFacts,
    /// What was counted request by request.
    pub statistics: &'a Statistics,
    /// What the flash did for the counted requests.
    pub counters: &'a Counters,
    /// How long arrays and pins worked for them, where the drive says what they draw.
    pub work: Option<Work>,
    /// What the DRAM had.
    pub hits: Hits,
    /// From where counting began.
    pub from: SimTime,
    /// The end.
    pub until: SimTime,
    /// Most requests at once that had arrived and were not done.
    pub queue_max: usize,
    /// Time each channel was in use, and each unit busy, while counting.
    pub busy: [Vec<Span>; 2],
    /// The time that this is a part of.
    pub busy_within: Span,
    /// How the flash has worn.
    pub wear: WearFacts,
    /// What a backup has done, where that is the scheme.
    pub backup: Option<Value>,
    /// The members of an array.
    pub members: Vec<MemberFacts<'a>>,
    /// Valid pages at the end, and pages there are.
    pub filled: (u64, u64),
    /// Pages that nothing could bring back, each once.
    pub lost_pages: u64,
    /// Page reads that a failed unit would have served, and another copy or parity did.
    pub reconstructed_reads: u64,
    /// Page-nanoseconds that one more failure would have cost; none where nothing is protected to begin with.
    pub unprotected_page_ns: Option<u128>,
    /// Nothing took time; whether requests had arrival times.
    pub untimed: Option<bool>,
    /// What came of conditioning the drive.
    pub conditioned: Option<Value>,
    /// Before, during and after what failed.
    pub phases: &'a Phases,
    /// What the map did, where it is not a page map: its name, and its counts.
    pub mapping: Option<(&'static str, Counts)>,
    /// What the power did.
    pub power_cuts: &'a [PowerCut],
    /// What is to be said besides.
    pub warnings: Vec<String>,
}

/// The summary of a run.
#[must_use]
pub fn summary(facts: &Facts<'_>) -> Value {
    let statistics = facts.statistics;
    let waiting_ns = statistics.read_response.sum_ns() + statistics.write_response.sum_ns();
    let seconds = facts.until.since(facts.from).0 as f64 / 1e9;
    let mut summary = json!({
        "schema": 1,
        "flashkeep": env!("CARGO_PKG_VERSION"),
        "seed": facts.seed,
        "digest": null,
        "drive": facts.drive.to_json(),
        "capacity_bytes": facts.drive.capacity_bytes(),
        "workload": workload(facts.workload),
        "simulated_s": seconds,
        "warnings": warnings(facts),
        "response_us": times(&statistics.read_response, &statistics.write_response),
        "service_us": times(&statistics.read_service, &statistics.write_service),
        "queue": {
            "mean": per(waiting_ns as f64, seconds * 1e9),
            "max": facts.queue_max,
        },
        "throughput": throughput(statistics, seconds),
        "operations": operations(|kind, cause| facts.counters.of(kind, cause)),
        "write_amplification": write_amplification(facts.counters, facts.drive.places(), statistics.pages_written),
        "buffer": BufferHits::new(facts.hits).to_json(),
        "wear": facts.wear.to_json(),
        "utilization": utilization(&facts.busy, facts.busy_within),
        "fill": per(facts.filled.0 as f64, facts.filled.1 as f64),
        "reads_of_nothing": facts.counters.reads_of_nothing,
        "reads_from_memory": facts.counters.reads_from_memory,
        "members": match facts.drive.is_array() {
            true => super::members::of_array(&facts.members, seconds),
            false => super::members::of_drive(facts.counters),
        },
        "integrity": {
            "checked_reads": statistics.checked_reads, "wrong_reads": statistics.wrong_reads,
            "lost_pages": facts.lost_pages, "reconstructed_reads": facts.reconstructed_reads,
            "unprotected_page_s": facts.unprotected_page_ns.map(|page_ns| page_ns as f64 / 1e9),
            "time_to_full_redundancy_s": facts.phases.recovery().map(|span| span.0 as f64 / 1e9),
        },
        "redundancy": redundancy(facts.drive),
        "phases": facts.phases.to_json(),
    });
    if facts.drive.spec.flash.commands.are_used() {
        summary["commands"] = commands(facts.counters);
    }
    if facts.drive.places() > 1 && facts.untimed.is_none() {
        summary["packing"] = packing(facts.counters, facts.drive.places());
    }
    // A page map does nothing that would have to be counted.
    if let Some((name, counts)) = facts.mapping {
        summary["mapping"] = mapping(name, &counts);
    }
    if let Some(backup) = &facts.backup {
        summary["backup"] = backup.clone();
    }
    if let Some(conditioned) = &facts.conditioned {
        summary["conditioning"] = conditioned.clone();
    }
    if let Some(arrivals) = facts.untimed {
        leave_times_out(&mut summary, arrivals);
    }
    let power = power(facts.power_cuts);
    if !facts.power_cuts.is_empty() {
        extend(&mut summary["integrity"], &power);
    }
    summary["digest"] = json!(statistics.digest.finish(&summary));
    // After the digest: it follows from what went in, and from what the drive file says of currents.
    summary["energy"] = super::energy::energy(facts);
    // So do these, and from what its members' operations and wear say.
    if let Some(economy) = super::economy::economy(facts) {
        summary["economy"] = economy;
    }
    if facts.drive.is_array()
        && let Some(wear_out) = super::wear_out::wear_out(&facts.members, facts.lost_pages)
    {
        summary["wear_out"] = wear_out;
    }
    if !facts.drive.is_disk() {
        // The digest has its mean, spread and ends.
        summary["wear"]["erases_histogram"] = facts.wear.histogram();
    }
    if let [only] = &facts.members[..]
        && facts.drive.is_disk()
    {
        let mut disk = only.to_json(seconds);
        for section in ["disk", "energy", "utilization", "wear"] {
            summary[section] = disk[section].take();
        }
    }
    extend(&mut summary["integrity"], &power);
    summary
}

/// What has no value where nothing took time, and, without arrival times, no time passed.
fn leave_times_out(summary: &mut Value, arrivals: bool) {
    summary["untimed"] = json!(true);
    for (table, figures) in
        [("queue", &["mean", "max"][..]), ("throughput", &["iops", "read_mib_s", "write_mib_s"])]
    {
        figures.iter().for_each(|&figure| summary[table][figure] = Value::Null);
    }
    summary["utilization"] = json!({ "channel": [], "die_mean": null, "die_max": null });
    if !arrivals {
        summary["simulated_s"] = Value::Null;
        summary["integrity"]["unprotected_page_s"] = Value::Null;
    }
}

/// What the power cuts did, all in all, and how long each recovery took.
fn power(cuts: &[PowerCut]) -> Value {
    let sum = |of: fn(&PowerCut) -> u64| cuts.iter().map(of).sum::<u64>();
    json!({
        "power_cuts": cuts.len(),
        "interrupted_requests": sum(|cut| cut.interrupted),
        "volatile_pages_lost": sum(|cut| cut.volatile_pages_lost),
        "recovery_us": cuts.iter().map(|cut| cut.recovery.0 as f64 / 1e3).collect::<Vec<_>>(),
        "recovery_reads": sum(|cut| cut.reads),
        "recovery_erases": sum(|cut| cut.erases),
    })
}

fn extend(object: &mut Value, more: &Value) {
    if let (Some(object), Some(more)) = (object.as_object_mut(), more.as_object()) {
        object.extend(more.clone());
    }
}

fn workload(facts: &WorkloadFacts) -> Value {
    let [reads, writes, trims] = facts.requests;
    json!({
        "name": facts.provenance.name, "format": facts.provenance.format,
        "synthetic": facts.provenance.synthetic,
        "requests": reads + writes + trims, "reads": reads, "writes": writes, "trims": trims,
        "bytes_read": facts.bytes[0], "bytes_written": facts.bytes[1],
        "span_s": facts.span.0 as f64 / 1e9,
        "skipped": facts.skipped, "overlapping": facts.overlapping,
    })
}

fn throughput(statistics: &Statistics, seconds: f64) -> Value {
    let requests = statistics.read_response.count() + statistics.write_response.count();
    let mib = |bytes: u64| per(bytes as f64 / f64::from(1 << 20), seconds);
    json!({
        "iops": per(requests as f64, seconds),
        "read_mib_s": mib(statistics.bytes_read),
        "write_mib_s": mib(statistics.bytes_written),
    })
}

/// How often planes worked side by side and cache registers overlapped, and what was left out for it.
fn commands(counters: &Counters) -> Value {
    let of = |counts: [u64; 3], kind: Kind| counts[kind as usize];
    let (multi_plane, cache) = (counters.multi_plane, counters.cache);
    json!({
        "multi_plane": {
            "read": of(multi_plane, Kind::Read), "program": of(multi_plane, Kind::Program),
            "erase": of(multi_plane, Kind::Erase),
        },
        "cache": { "read": of(cache, Kind::Read), "program": of(cache, Kind::Program) },
        "wasted_pages": counters.wasted_pages,
    })
}

/// How full the pages of the flash were that have several places each.
fn packing(counters: &Counters, places: u32) -> Value {
    let pages = |kind: Kind| counters.total(kind) - counters.along[kind as usize];
    json!({
        "places": places, "empty_places": counters.empty_places,
        "flash_pages": { "read": pages(Kind::Read), "program": pages(Kind::Program) },
    })
}

/// How pages were found.
fn mapping(name: &str, counts: &Counts) -> Value {
    let asked = counts.hits + counts.misses;
    json!({
        "map": name,
        "hits": counts.hits, "misses": counts.misses, "miss_rate": per(counts.misses as f64, asked as f64),
        "evictions": counts.evictions, "write_backs": counts.write_backs, "moved_updates": counts.moved_updates,
        "switch_merges": counts.switch_merges, "partial_merges": counts.partial_merges,
        "full_merges": counts.full_merges,
    })
}

/// What the flash is given up for.
fn redundancy(drive: &Resolved) -> Value {
    let (survives, unit) = drive.survives();
    json!({
        "scheme": drive.spec.redundancy.scheme, "members": drive.members(), "spares": drive.parts() - drive.members(),
        "survives": survives, "unit": unit,
        "capacity_share": per(drive.capacity_bytes() as f64, drive.physical_bytes() as f64),
    })
}

/// What would mislead if it were not said.
fn warnings(facts: &Facts<'_>) -> Vec<String> {
    let mut all = facts.warnings.clone();
    let programs = facts.counters.total(Kind::Program);
    if facts.counters.total(Kind::Erase) == 0 && programs > 0 && facts.filled.1 > 0 {
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

/// A trace that the drive cannot keep up with: requests wait longer and longer, and means say nothing.
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
