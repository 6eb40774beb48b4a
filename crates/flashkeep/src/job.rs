//! One job: a drive, a workload and options in; a summary out. The input and output of [`run`](crate::run).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// All inputs of a run. Field names are the options of the command line.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Job {
    /// A preset's name, or the path of a drive file (it has a `/` or ends in `.toml`).
    pub drive: String,
    /// The text of the drive file, if it is not in a file; `drive` stands for the path in messages then.
    pub drive_text: Option<String>,
    /// Drive files by their paths, in the place of those on disk: the drive's, and those of its bases and members.
    pub drive_files: BTreeMap<String, String>,
    /// Where other files lie that drives name (`errors.file`), by the paths that the drives have for them. The summary
    /// names the copies.
    pub copies: BTreeMap<String, String>,
    /// `key=value` pairs that override the drive file: `redundancy.scheme=mirror`.
    pub set: Vec<String>,
    /// Trace files (`-` for standard input), directories or patterns of them, or `synth:…` workloads. Several are one trace,
    /// or those of an array's volumes.
    pub traces: Vec<String>,
    /// Several traces all begin at time 0, and their devices are different ones.
    pub overlay: bool,
    /// The workload so many times, one after the other.
    pub repeat: Option<u64>,
    /// Traces in memory, by the name that they have in `traces`.
    #[serde(skip)]
    pub in_memory: BTreeMap<String, Arc<[u8]>>,
    /// The format of the trace files; detected if left out.
    pub format: Option<String>,
    /// Bytes in a sector of the trace file, if not 512.
    pub sector_bytes: Option<u32>,
    /// The event of a recording of the block layer that counts as a request: `Q`, `D` or `C`.
    pub action: Option<String>,
    /// The columns of a table: `time=0:us,op=3,offset=1:sectors,size=2`.
    pub columns: Option<String>,
    /// The run's seed (1 if left out).
    pub seed: Option<u64>,
    /// The largest number of requests.
    pub limit: Option<u64>,
    /// `open` or `closed`.
    pub replay: Option<String>,
    /// Requests outstanding in a closed loop.
    pub depth: Option<u32>,
    /// Arrival times are multiplied by this.
    pub time_scale: Option<f64>,
    /// Place extents of 1 MiB at first touch, and keep devices apart.
    pub compact: bool,
    /// Take addresses modulo the capacity.
    pub wrap: bool,
    /// Treat all devices of the trace as one.
    pub merge_devices: bool,
    /// `refuse` or `skip` records that cannot be read.
    pub bad_records: Option<String>,
    /// `reads`, `all` or `none`; the drive file's `start.existing` if left out.
    pub existing: Option<String>,
    /// The number of first requests that statistics leave out, or a percentage such as `10%`.
    pub warmup: Option<String>,
    /// What fails, and when: `chip:3.0@10s`, `page:0.0.0.0.7.5@5000req,transient`.
    pub fail: Vec<String>,
    /// A file of such events.
    pub scenario: Option<PathBuf>,
    /// Write the drive before time 0 until it is in a steady state (`condition` in the drive file).
    pub condition: bool,
    /// Start with the drive that was saved in this file.
    pub aged: Option<PathBuf>,
    /// Save the drive's final state in this file; only for an untimed run, or one without a trace.
    pub save_aged: Option<PathBuf>,
    /// Do not measure where response times go.
    pub no_breakdown: bool,
    /// Skip timing: report counts, wear and integrity only.
    pub untimed: bool,
    /// Keep page contents as tokens and check every read.
    pub verify: bool,
    /// After the last request, write all caches back, and count that.
    pub flush_at_end: bool,
    /// A rebuild ends with the last request: what is not rebuilt by then stays missing. `end`; or a size such as `1GiB`,
    /// and no more requests come once that is rebuilt.
    pub stop_rebuild: Option<String>,
    /// Write each flash operation to this file (CSV: time, place, kind, cause).
    pub operations: Option<PathBuf>,
    /// Write the busy periods of each channel and unit to this file, as trace events in JSON.
    pub timeline: Option<PathBuf>,
    /// The part of the run that the timeline shows: `10s..12s`.
    pub timeline_window: Option<String>,
    /// Keep figures over time in the outcome: the length of an interval (`10ms`), or their largest number (`200`).
    pub series: Option<String>,
    /// Write the logical-to-physical map at the end to this file (CSV, a column per copy).
    pub map: Option<PathBuf>,
    /// Keep arrival and response of every request in the outcome.
    pub keep_requests: bool,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Requests finished.
    pub requests: u64,
    /// The share of the workload that is done, 0 to 1, if it is known.
    pub share: Option<f64>,
    /// Simulated time, ns.
    pub simulated_ns: u64,
}

/// How a run ends that its caller stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// At once, without a result.
    AtOnce,
    /// After the requests that have been admitted: the result is that of a workload that ends there.
    AfterAdmitted,
}

/// One finished request, kept if [`Job::keep_requests`] is set.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestRecord {
    /// Arrival, simulated ns.
    pub arrival_ns: u64,
    /// From arrival to acknowledgement, ns.
    pub response_ns: u64,
    /// From the first grant of a resource to completion, without waiting in between, ns.
    pub service_ns: u64,
    /// First byte on the drive.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// 0 read, 1 write, 2 trim, 3 flush.
    pub op: u8,
}

/// A column of figures over time.
#[derive(Clone, Debug, PartialEq)]
pub enum SeriesColumn {
    /// Counts and instants.
    Count(Vec<u64>),
    /// Figures that may have no value, which is NaN.
    Number(Vec<f64>),
}

/// Columns by name.
pub type SeriesColumns = Vec<(String, SeriesColumn)>;

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOutcome {
    /// The contents of `summary.json` (docs/metrics.md).
    pub summary: serde_json::Value,
    /// Every request, if [`Job::keep_requests`] is set.
    pub requests: Vec<RequestRecord>,
    /// Where the response time of each of them went, ns, in the order of `latency_us`; empty if that was not measured.
    pub parts: Vec<[u64; 16]>,
    /// Figures over time, if [`Job::series`] is set.
    pub series: SeriesColumns,
}
