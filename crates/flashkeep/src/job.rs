//! One job: a drive, a workload and options in; a summary out. The input and output of [`run`](crate::run).
//!
//! An option of a run has one line, in the table below. The fields of [`Job`], the options of the command line with
//! their help, the options of the Python interface with their types, and those of plans of sweeps follow from it.

mod option;

pub use option::{OptionScope, RunOption};
use option::{OptionScope::*, flag, job, value, word};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

job! {
    /// All inputs of a run: what it is given, and its options.
    given {
        /// A preset's name, or the path of a drive file (it has a `/` or ends in `.toml`).
        drive: String,
        /// The text of the drive file, if it is not in a file; `drive` represents the path in messages then.
        drive_text: Option<String>,
        /// Drive files by their paths, in the place of those on disk: the drive's, and those of its bases and members.
        drive_files: BTreeMap<String, String>,
        /// Where other files lie that drives name (`errors.file`), by the paths that the drives have for them. The
        /// summary names the copies.
        copies: BTreeMap<String, String>,
        /// Trace files (`-` for standard input), directories or patterns of them, or `synth:…` workloads. Several are
        /// one trace, or those of an array's volumes.
        traces: Vec<String>,
        /// Traces in memory, by the name that they have in `traces`.
        #[serde(skip)]
        in_memory: BTreeMap<String, Arc<[u8]>>,
        /// The power may fail though no event says so: writes are recorded as in a run with power cuts.
        expects_power_cuts: bool,
        /// Run this flow alone, by its number.
        only_flow: Option<usize>,
        /// Keep arrival and response of every request in the outcome.
        keep_requests: bool,
    }
    options {
        /// Set a key of the drive: redundancy.scheme=mirror; repeatable.
        set: Vec<String> => Drive, value("KEY=VALUE").read_as("assignment");
        /// Seed of every random stream (default 1).
        seed: Option<u64> => Seed, value("N");
        /// Read at most N requests.
        limit: Option<u64> => Reading, value("N").least(1);
        /// Format of each trace file (default: detected).
        format: Option<String> => Reading, value("NAME");
        /// Bytes per sector of the trace (default 512).
        sector_bytes: Option<u32> => Reading, value("N").least(1);
        /// Columns of a table in a text: time=0:us,op=3,offset=1:sectors,size=2:B.
        columns: Option<String> => Reading, value("MAP").read_as("assignment");
        /// Refuse records that cannot be read (default), or skip and count them.
        bad_records: Option<String> => Reading, word("refuse|skip");
        /// Events of blktrace that are requests: Q (queued, default), D (issued), C (completed).
        action: Option<String> => Reading, word("Q|D|C");
        /// Several traces all begin at time 0, each with devices of its own (default: they are one trace); an array with
        /// several volumes always gets one each.
        overlay: bool => Reading, flag();
        /// The workload N times, one after the other.
        repeat: Option<u64> => Reading, value("N").least(1);
        /// Open: requests arrive at their times; closed: when one of --depth has ended; batch: --depth at a time, when
        /// all of the ones before have ended.
        replay: Option<String> => Replaying, word("open|closed|batch");
        /// Requests outstanding in a closed loop.
        depth: Option<u32> => Replaying, value("N").least(1);
        /// Multiply arrival times: 0.5 is twice the load.
        time_scale: Option<f64> => Placing, value("F");
        /// Place 1 MiB extents in order of their first access, so that larger address ranges fit.
        compact: bool => Placing, flag();
        /// Take addresses modulo the capacity, as older simulators do.
        wrap: bool => Placing, flag();
        /// Merge the trace's devices into one address space.
        merge_devices: bool => Placing, flag();
        /// Pages that exist before time 0: those that are read, all, none (a new drive), or steady: all, after random
        /// writes.
        existing: Option<String> => Replaying, word("reads|all|none|steady");
        /// A workload beside others, NAME=WORKLOAD[,replay=open|closed][,depth=D][,priority=urgent|high|medium|low][,weight=W]
        /// [,volume=V][,handle=H][,cache_share=S], each with a host queue; commas within synth:… are written `;`; repeatable.
        flow: Vec<String> => Running, value("NAME=WORKLOAD");
        /// A TOML file of [[flow]]s with name, workload, replay, depth, priority, weight, volume, handle,
        /// cache_share.
        flows: Option<PathBuf> => Running, value("FILE");
        /// Also run each flow alone, and report by which factor its response times grow beside the others.
        alone: bool => Running, flag();
        /// Writes to the addresses from A to B of the device have placement handle H, whichever the workload names:
        /// 48MiB..1GiB=1, 1GiB..=2; repeatable.
        handle: Vec<String> => Running, value("A..B=H");
        /// Writes with a placement handle that the drive does not have get handle 0: what the same workload costs without
        /// separation.
        ignore_handles: bool => Running, flag();
        /// Leave the first requests out of all statistics: a number, or a share.
        warmup: Option<String> => Running, value("N|P%").read_as("warmup");
        /// Inject a failure: chip:3.0@10s, block:0.0.0.0.7@5000req, page:0.0.0.0.7.5@50%,transient, power@1s; or a slow part:
        /// slow:chip:3.0@10s,factor=10,for=5s, stall:channel:1@50%,for=100ms; repeatable.
        fail: Vec<String> => Running, value("WHAT@WHEN");
        /// A TOML file of [[event]]s with what, when, transient, replace_after, factor, for.
        scenario: Option<PathBuf> => Running, value("FILE");
        /// Track page contents as tokens and check every read.
        verify: bool => Running, flag();
        /// Write all buffers back after the last request, and count it.
        flush_at_end: bool => Running, flag();
        /// End a rebuild with the last request (end), or the requests once SIZE is rebuilt (1GiB): its speed is that beside
        /// the workload.
        stop_rebuild: Option<String> => Running, value("end|SIZE");
        /// Do not measure where response times go (latency_us).
        no_breakdown: bool => Running, flag();
        /// Skip timing: report counts, wear and integrity only.
        untimed: bool => Running, flag();
        /// First write the drive until random writes are in a steady state ([condition]).
        condition: bool => Starting, flag();
        /// Start with a drive saved by `age` or --save-aged.
        aged: Option<PathBuf> => Starting, value("FILE");
        /// Also write figures over time to --out: an interval's length (10ms), or how many at most (200).
        series: Option<String> => Series, value("TIME|N").read_as("count").least(1);
        /// Write each flash operation to a CSV file.
        operations: Option<PathBuf> => Writing, value("FILE");
        /// Write a timeline of each channel and die as trace events, for Perfetto.
        timeline: Option<PathBuf> => Writing, value("FILE");
        /// Limit the timeline to a part of the run: 10s..12s, 500ms.., ..30us.
        timeline_window: Option<String> => Writing, value("A..B");
        /// Write the final map from logical to physical pages to a CSV file.
        map: Option<PathBuf> => Writing, value("FILE");
        /// Save the drive at the end of an untimed run.
        save_aged: Option<PathBuf> => Writing, value("FILE");
    }
}

impl Job {
    /// Whether its workloads are flows.
    #[must_use]
    pub fn has_flows(&self) -> bool {
        !self.flow.is_empty() || self.flows.is_some()
    }

    /// Whether it has requests: a job without any only saves a drive.
    #[must_use]
    pub fn has_workload(&self) -> bool {
        !self.traces.is_empty() || self.has_flows()
    }
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
