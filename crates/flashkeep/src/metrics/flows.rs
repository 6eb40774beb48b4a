//! Workloads beside each other: those of the volumes of an array, and of tenants.

use super::counts::{Operations, per};
use super::histogram::TimesByOperation;
use super::latency::{BreakdownSums, LatencyByOperation};
use super::sections::Throughput;
use super::{Histogram, figures, plain, unit};
use crate::drive::{ByKindAndCause, OpKind};
use crate::kernel::Span;
use flashkeep_trace::Op;

/// Statistics of the counted requests of a flow.
#[derive(Clone, Debug, Default)]
pub struct FlowStatistics {
    /// Numbers of reads, writes, trims and flushes.
    requests: [u64; Op::COUNT],
    /// Logical pages that reads and writes touched, whole or in part.
    pages: [u64; 2],
    bytes: [u64; 2],
    read: Histogram,
    write: Histogram,
    flush: Histogram,
    breakdowns: Option<Box<[BreakdownSums; 2]>>,
}

impl FlowStatistics {
    /// A request that touches this many logical pages was admitted.
    pub fn admit(&mut self, op: Op, pages: u64) {
        self.requests[op as usize] += 1;
        if matches!(op, Op::Read | Op::Write) {
            self.pages[op as usize] += pages;
        }
    }

    /// A request, an [`Op`] as a number, was acknowledged; without a response time in untimed runs.
    pub fn conclude(&mut self, op: u8, bytes: u32, response: Option<Span>) {
        if op <= Op::Write as u8 {
            self.bytes[usize::from(op)] += u64::from(bytes);
        }
        let times = match op {
            op if op == Op::Read as u8 => &mut self.read,
            op if op == Op::Flush as u8 => &mut self.flush,
            _ => &mut self.write,
        };
        if let Some(Span(ns)) = response {
            times.add(ns);
        }
    }

    /// Where response times went: the sums of reads, and of writes and trims.
    pub fn breakdowns(&mut self) -> &mut [BreakdownSums; 2] {
        self.breakdowns.get_or_insert_default()
    }

    /// The figures of a volume with this workload, in a run of this many seconds.
    pub(super) fn figures(&self, workload: &str, seconds: f64) -> VolumeFigures {
        let [reads, writes, trims, flushes] = self.requests;
        let done = self.read.count() + self.write.count();
        let mib = |bytes: u64| per(bytes as f64 / f64::from(1 << 20), seconds);
        VolumeFigures {
            workload: workload.to_owned(),
            requests: self.requests.iter().sum(),
            reads,
            writes,
            trims,
            flushes,
            pages_read: self.pages[0],
            pages_written: self.pages[1],
            bytes_read: self.bytes[0],
            bytes_written: self.bytes[1],
            response_us: TimesByOperation::new(&self.read, &self.write, &self.flush),
            latency_us: self.breakdowns.as_deref().map(LatencyByOperation::new),
            throughput: Throughput {
                iops: per(done as f64, seconds),
                read_mib_s: mib(self.bytes[0]),
                write_mib_s: mib(self.bytes[1]),
            },
        }
    }
}

/// A flow at the end of a run.
#[derive(Clone, Debug)]
pub struct FlowFacts<'a> {
    /// Its name; a volume has none.
    pub name: &'a str,
    /// Its workload.
    pub workload: &'a str,
    /// Its requests.
    pub statistics: &'a FlowStatistics,
    /// Flash operations that its requests have caused; none if they were not counted.
    pub operations: Option<ByKindAndCause>,
}

impl FlowFacts<'_> {
    /// The figures of a tenant in a run of this many seconds. `page_bytes` are those of a page of flash, if all that it
    /// writes is programmed for its own requests.
    pub(super) fn figures(&self, seconds: f64, page_bytes: Option<u64>) -> FlowFigures {
        let of = self.statistics.figures(self.workload, seconds);
        let programmed = |counts: &ByKindAndCause| counts[OpKind::Program as usize].iter().sum::<u64>();
        let programmed = self.operations.as_ref().map(programmed).zip(page_bytes);
        FlowFigures {
            name: self.name.to_owned(),
            workload: of.workload,
            requests: of.requests,
            reads: of.reads,
            writes: of.writes,
            trims: of.trims,
            flushes: of.flushes,
            bytes_read: of.bytes_read,
            bytes_written: of.bytes_written,
            response_us: of.response_us,
            latency_us: of.latency_us,
            throughput: of.throughput,
            operations: Operations::new(|kind, cause| {
                Some(self.operations.as_ref()?[kind as usize][cause as usize])
            }),
            waf_bytes: programmed
                .and_then(|(pages, bytes)| per((pages * bytes) as f64, of.bytes_written as f64)),
            slowdown: None,
        }
    }
}

figures! {
    /// A workload beside others (`--flow`).
    pub struct FlowFigures {
        /// Its name.
        name: String => plain(),
        /// Its workload: the path of a trace, or the text of a synthetic workload.
        workload: String => plain(),
        /// Its requests, without those of the warm-up.
        requests: u64 => unit("requests"),
        /// Reads.
        reads: u64 => unit("requests"),
        /// Writes.
        writes: u64 => unit("requests"),
        /// Trims.
        trims: u64 => unit("requests"),
        /// Flushes.
        flushes: u64 => unit("requests"),
        /// Bytes read.
        bytes_read: u64 => unit("bytes"),
        /// Bytes written.
        bytes_written: u64 => unit("bytes"),
        /// Response times of its requests, from their arrival in the host queue.
        response_us: TimesByOperation => plain(),
        /// Where they went; none for untimed runs, and if that was not measured.
        latency_us: Option<LatencyByOperation> => plain(),
        /// Its share of the work done in each simulated second of the run.
        throughput: Throughput => plain(),
        /// Flash operations that its requests asked for: data, copies, parities, merges and tables, not what drives do by
        /// themselves, such as garbage collection, nor what a write cache writes back; no values for untimed runs.
        operations: Operations<Option<u64>> => plain(),
        /// Bytes programmed for its requests (`operations`) for each byte that it wrote; none without writes, for arrays,
        /// and for drives with a write cache, whose programs are no request's.
        waf_bytes: Option<f64> => unit("ratio").lower(),
        /// Mean response time of all its requests over that of the flow alone on the drive; none without `--alone`.
        slowdown: Option<f64> => unit("ratio").lower(),
    }
}

figures! {
    /// A volume of an array that has a workload of its own.
    pub struct VolumeFigures {
        /// Its workload: the path of a trace, or the text of a synthetic workload.
        workload: String => plain(),
        /// Its requests, without those of the warm-up.
        requests: u64 => unit("requests"),
        /// Reads.
        reads: u64 => unit("requests"),
        /// Writes.
        writes: u64 => unit("requests"),
        /// Trims.
        trims: u64 => unit("requests"),
        /// Flushes.
        flushes: u64 => unit("requests"),
        /// Logical pages that its reads touched, whole or in part, each time.
        pages_read: u64 => unit("pages"),
        /// Logical pages that its writes touched, whole or in part, each time.
        pages_written: u64 => unit("pages"),
        /// Bytes read.
        bytes_read: u64 => unit("bytes"),
        /// Bytes written.
        bytes_written: u64 => unit("bytes"),
        /// Response times of its requests.
        response_us: TimesByOperation => plain(),
        /// Where they went; none for untimed runs, and if that was not measured.
        latency_us: Option<LatencyByOperation> => plain(),
        /// Its share of the work done in each simulated second of the run.
        throughput: Throughput => plain(),
    }
}
