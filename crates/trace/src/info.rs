//! Statistics of a trace.

use std::collections::{HashMap, VecDeque};

use serde::Serialize;

use crate::hasher::FixedState;
use crate::{Op, Request, Source, TraceError};

/// Statistics of a trace. A figure without a value is `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Info {
    /// The format's name.
    pub format: String,
    /// All requests.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes among them.
    pub writes: u64,
    /// Trims among them.
    pub trims: u64,
    /// Flushes among them.
    pub flushes: u64,
    /// Writes that must be durable before they are acknowledged (FUA).
    pub fua_writes: u64,
    /// Seconds from the first arrival to the last.
    pub span_s: f64,
    /// Requests a second of the span; `None` where all arrive at the same instant.
    pub rate_per_s: Option<f64>,
    /// The mean length in KiB, without flushes.
    pub mean_kib: Option<f64>,
    /// Distinct bytes that requests touch, in whole sectors of 512 bytes.
    pub footprint_bytes: u64,
    /// The first byte beyond the request that reaches furthest: the smallest drive that holds the trace. Devices
    /// are laid over one another.
    pub max_address: Option<u64>,
    /// Devices.
    pub devices: u64,
    /// Sequences: a request goes on with one if it starts where one of the 256 requests before it, of the same device
    /// and op, ended, and no other has gone on from there. So threads whose requests alternate each have their own.
    pub sequences: u64,
    /// The mean length of a sequence in KiB.
    pub mean_sequence_kib: Option<f64>,
    /// Unbroken sequences: a request goes on with one if it starts where the last one of the same device and op ended.
    pub unbroken_sequences: u64,
    /// The mean length of a write in KiB.
    pub mean_write_kib: Option<f64>,
    /// Sequences of writes.
    pub write_sequences: u64,
    /// The mean length of a sequence of writes in KiB.
    pub mean_write_sequence_kib: Option<f64>,
    /// The lengths of reads in KiB.
    pub read_kib: Option<Lengths>,
    /// The lengths of writes in KiB.
    pub write_kib: Option<Lengths>,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// The share of writes among reads and writes.
    pub write_share: Option<f64>,
    /// GB written a day at the trace's pace.
    pub written_gb_per_day: Option<f64>,
    /// Distinct bytes that were read, in whole sectors.
    pub footprint_read_bytes: u64,
    /// Distinct bytes that were written, in whole sectors.
    pub footprint_written_bytes: u64,
    /// The share of the written bytes that replace bytes that the trace has written before, and not trimmed since.
    pub overwrite_share: Option<f64>,
    /// Between a write and the write that replaces it: bytes that the trace writes, the median over replaced bytes, to 3 %.
    pub median_overwrite_distance_bytes: Option<u64>,
    /// The share of requests with data that go on with a sequence.
    pub sequential_share: Option<f64>,
    /// Requests in the busiest second, counted from the first request.
    pub peak_rate_per_s: Option<u64>,
    /// The busiest second over the mean; for traces of at least 2 s.
    pub burstiness: Option<f64>,
    /// The requests that a drive of a fixed latency has outstanding when a request arrives, itself included.
    pub queue_depth: Option<QueueDepth>,
    /// What can be done next.
    pub next: Vec<String>,
    /// Warnings about implausible contents.
    pub warnings: Vec<String>,
}

/// Percentiles of lengths, in KiB.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lengths {
    /// Half of the requests are no longer.
    pub p50: f64,
    /// 90 % are no longer.
    pub p90: f64,
    /// 99 % are no longer.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

/// Requests outstanding on a model drive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QueueDepth {
    /// What each request takes on that drive, however many there are.
    pub latency_us: f64,
    /// The mean over requests.
    pub mean: f64,
    /// 99 % of the requests meet no more.
    pub p99: u64,
    /// The most.
    pub max: u64,
}

/// Reads `source` to its end, or its first `limit` requests, and returns their statistics.
///
/// Memory grows with the footprint: some 160 bytes for each 32 KiB of the trace's space that is touched.
///
/// # Errors
/// A record that cannot be read.
pub fn info(source: &mut dyn Source, limit: Option<u64>) -> Result<Info, TraceError> {
    let mut tally = Tally::default();
    let mut batch = Vec::new();
    let limit = limit.unwrap_or(u64::MAX);
    while tally.requests < limit && source.fill(&mut batch)? > 0 {
        let wanted = (limit - tally.requests).min(batch.len() as u64) as usize;
        batch[..wanted].iter().for_each(|request| tally.add(request));
        batch.clear();
    }
    let provenance = source.provenance();
    let mut warnings = source.warnings();
    if provenance.depth.is_some() {
        warnings.push("a closed loop: arrivals come from the replay, so there is no span and no rate".into());
    }
    Ok(tally.finish(provenance.format, warnings))
}

#[derive(Default)]
struct Tally {
    requests: u64,
    of_op: [u64; Op::COUNT],
    fua_writes: u64,
    bytes: [u64; 3],
    last_ns: u64,
    max_address: u64,
    footprint: TouchedSectors,
    lengths: [HashMap<u32, u64, FixedState>; 2],
    /// The length that came last, and how often in a row: it is counted when another comes.
    same: [(u32, u64); 2],
    pace: Pace,
    sequences: [u64; 3],
    unbroken: u64,
    /// For each device and op.
    ends: Vec<[Ends; 3]>,
}

impl Tally {
    fn add(&mut self, request: &Request) {
        let op = request.op as usize;
        self.requests += 1;
        self.of_op[op] += 1;
        self.fua_writes += u64::from(request.fua);
        self.last_ns = request.arrival_ns;
        let device = request.device as usize;
        if device >= self.ends.len() {
            self.ends.resize(device + 1, Default::default());
        }
        if request.op == Op::Flush {
            return;
        }
        self.pace.arrive(request.arrival_ns);
        if op < 2 {
            self.count_length(op, request.length);
        }
        let end = request.offset + u64::from(request.length);
        self.bytes[op] += u64::from(request.length);
        self.max_address = self.max_address.max(end);
        self.footprint.touch(request);
        let (goes_on, unbroken) = self.ends[device][op].follow(request.offset, end);
        self.sequences[op] += u64::from(!goes_on);
        self.unbroken += u64::from(!unbroken);
    }

    #[inline]
    fn count_length(&mut self, op: usize, length: u32) {
        let (same, count) = &mut self.same[op];
        if *same == length {
            *count += 1;
            return;
        }
        if *count > 0 {
            *self.lengths[op].entry(*same).or_insert(0) += *count;
        }
        (*same, *count) = (length, 1);
    }

    fn finish(mut self, format: String, warnings: Vec<String>) -> Info {
        for op in 0..2 {
            self.count_length(op, u32::MAX);
        }
        let mean = |bytes: u64, count: u64| (count > 0).then(|| bytes as f64 / 1024.0 / count as f64);
        let (bytes, sequences) = (self.bytes.iter().sum(), self.sequences.iter().sum());
        let [reads, writes, trims, flushes] = self.of_op;
        let with_data = reads + writes + trims;
        let ([_, written, _], [_, write_sequences, _]) = (self.bytes, self.sequences);
        let span_s = self.last_ns as f64 / 1e9;
        let share = |part: u64, all: u64| (all > 0).then(|| part as f64 / all as f64);
        let rate_per_s = (self.last_ns > 0).then(|| self.requests as f64 / span_s);
        let peak = self.pace.peak().filter(|_| self.last_ns > 0);
        let mut info = Info {
            format,
            requests: self.requests,
            reads,
            writes,
            trims,
            flushes,
            fua_writes: self.fua_writes,
            span_s,
            rate_per_s,
            mean_kib: mean(bytes, with_data),
            footprint_bytes: self.footprint.sectors * SECTOR,
            max_address: (with_data > 0).then_some(self.max_address),
            devices: self.ends.len() as u64,
            sequences,
            mean_sequence_kib: mean(bytes, sequences),
            unbroken_sequences: self.unbroken,
            mean_write_kib: mean(written, writes),
            write_sequences,
            mean_write_sequence_kib: mean(written, write_sequences),
            read_kib: lengths_of(&self.lengths[0]),
            write_kib: lengths_of(&self.lengths[1]),
            read_bytes: self.bytes[0],
            written_bytes: written,
            write_share: share(writes, reads + writes),
            written_gb_per_day: (self.last_ns > 0).then(|| written as f64 / 1e9 / span_s * 86_400.0),
            footprint_read_bytes: self.footprint.read * SECTOR,
            footprint_written_bytes: self.footprint.written * SECTOR,
            overwrite_share: share(self.footprint.overwritten * SECTOR, written).map(|share| share.min(1.0)),
            median_overwrite_distance_bytes: self.footprint.distances.median().map(|pages| pages * PAGE),
            sequential_share: share(with_data - sequences, with_data),
            peak_rate_per_s: peak,
            burstiness: peak.zip(rate_per_s).filter(|_| span_s >= 2.0).map(|(peak, rate)| peak as f64 / rate),
            queue_depth: self.pace.depth().filter(|_| self.last_ns > 0),
            next: Vec::new(),
            warnings,
        };
        info.next = advice(&info);
        info
    }
}

/// At most this many requests of the same device and op may lie between two requests of a sequence.
///
/// The hybrid backup (Fan) restores sequences in three free segments of 2 MiB at a time: 219 requests of 7 pages.
const WINDOW: usize = 256;

/// Where requests of one device and op ended.
#[derive(Clone, Default)]
struct Ends {
    /// The last [`WINDOW`] of them, or [`TAKEN`] where another request has gone on from there.
    recent: Vec<u64>,
    /// Where the next one goes.
    next: usize,
    last: Option<u64>,
}

/// An address at which no request starts.
const TAKEN: u64 = u64::MAX;

impl Ends {
    /// Adds a request. Returns whether it continues a sequence, and whether it continues that of the request before it.
    fn follow(&mut self, start: u64, end: u64) -> (bool, bool) {
        let unbroken = self.last.replace(end) == Some(start);
        let found = self.recent.iter().position(|&recent| recent == start);
        if let Some(found) = found {
            self.recent[found] = TAKEN;
        }
        if self.recent.len() < WINDOW {
            self.recent.push(end);
        } else {
            self.recent[self.next] = end;
        }
        self.next = (self.next + 1) % WINDOW;
        (found.is_some(), unbroken)
    }
}

const SECTOR: u64 = 512;

/// The page of which the time of the last write is kept.
const PAGE: u64 = 4096;

/// The sectors that requests have touched: one bit each, 64 to a word.
#[derive(Default)]
struct TouchedSectors {
    words: HashMap<(u32, u64), Word, FixedState>,
    sectors: u64,
    read: u64,
    written: u64,
    /// Sectors that were written again.
    overwritten: u64,
    /// Bytes written so far.
    bytes: u64,
    /// For each page of words that were written: the pages that the trace had written when it was written last.
    at: Vec<[u32; 8]>,
    /// In pages, for each sector that was written again.
    distances: Distances,
}

/// 64 sectors.
#[derive(Default)]
struct Word {
    touched: u64,
    read: u64,
    written: u64,
    /// Written, and not trimmed since.
    live: u64,
    /// Where [`TouchedSectors::at`] has its pages, plus 1; 0 if none was written.
    at: u32,
}

impl TouchedSectors {
    fn touch(&mut self, request: &Request) {
        let first = request.offset / SECTOR;
        let last = (request.offset + u64::from(request.length) - 1) / SECTOR;
        let now = (self.bytes / PAGE) as u32;
        for number in first / 64..=last / 64 {
            let from = first.max(number * 64) % 64;
            let to = last.min(number * 64 + 63) % 64;
            let mask = (u64::MAX << from) & (u64::MAX >> (63 - to));
            let word = self.words.entry((request.device, number)).or_default();
            self.sectors += u64::from((mask & !word.touched).count_ones());
            word.touched |= mask;
            match request.op {
                Op::Read => {
                    self.read += u64::from((mask & !word.read).count_ones());
                    word.read |= mask;
                }
                Op::Write => {
                    self.written += u64::from((mask & !word.written).count_ones());
                    word.written |= mask;
                    let again = mask & word.live;
                    self.overwritten += u64::from(again.count_ones());
                    if word.at == 0 {
                        self.at.push([0; 8]);
                        word.at = self.at.len() as u32;
                    }
                    let pages = &mut self.at[word.at as usize - 1];
                    for page in from / 8..=to / 8 {
                        let sectors = (again >> (page * 8) & 0xFF).count_ones();
                        let at = std::mem::replace(&mut pages[page as usize], now);
                        if sectors > 0 {
                            self.distances.add(now.wrapping_sub(at), sectors.into());
                        }
                    }
                    word.live |= mask;
                }
                _ => word.live &= !mask,
            }
        }
        if request.op == Op::Write {
            self.bytes += u64::from(request.length);
        }
    }
}

/// How many distances of a power of two are distinguished.
const STEPS_LOG2: u32 = 5;

/// A histogram of distances: exact below 2^6, then with 32 steps for each power of two.
#[derive(Default)]
struct Distances {
    counts: Vec<u64>,
    all: u64,
}

impl Distances {
    fn add(&mut self, distance: u32, count: u64) {
        let shift = distance.checked_ilog2().unwrap_or(0).saturating_sub(STEPS_LOG2);
        let at = ((shift as usize) << STEPS_LOG2) + (distance >> shift) as usize;
        if self.counts.len() <= at {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += count;
        self.all += count;
    }

    fn median(&self) -> Option<u64> {
        let mut below = 0;
        let at = self.counts.iter().position(|count| {
            below += count;
            below * 2 >= self.all && self.all > 0
        })?;
        let steps = 1 << STEPS_LOG2;
        let shift = (at / steps).saturating_sub(1);
        Some(((at - shift * steps) as u64) << shift)
    }
}

/// What each request takes on the model drive.
const LATENCY_NS: u64 = 100_000;

/// More requests outstanding at once are not counted: the clock is too coarse for such a drive.
const DEPTH_MAX: usize = 1 << 20;

/// Arrivals in time.
#[derive(Default)]
struct Pace {
    second: u64,
    in_second: u64,
    peak: u64,
    /// When requests that are outstanding arrived.
    outstanding: VecDeque<u64>,
    /// How many requests met each depth.
    depths: Vec<u64>,
}

impl Pace {
    fn arrive(&mut self, at_ns: u64) {
        let second = at_ns / 1_000_000_000;
        self.in_second = if second == self.second { self.in_second + 1 } else { 1 };
        self.second = second;
        self.peak = self.peak.max(self.in_second);
        while self.outstanding.front().is_some_and(|&arrived| arrived + LATENCY_NS <= at_ns) {
            self.outstanding.pop_front();
        }
        if self.outstanding.len() < DEPTH_MAX {
            self.outstanding.push_back(at_ns);
        }
        let depth = self.outstanding.len();
        if self.depths.len() <= depth {
            self.depths.resize(depth + 1, 0);
        }
        self.depths[depth] += 1;
    }

    fn peak(&self) -> Option<u64> {
        (self.peak > 0).then_some(self.peak)
    }

    fn depth(&self) -> Option<QueueDepth> {
        let all: u64 = self.depths.iter().sum();
        let sum: u128 =
            self.depths.iter().zip(0_u128..).map(|(&count, depth)| u128::from(count) * depth).sum();
        let mut below = 0;
        let p99 = self.depths.iter().position(|count| {
            below += count;
            below * 100 >= all * 99
        })?;
        (all > 0).then(|| QueueDepth {
            latency_us: LATENCY_NS as f64 / 1000.0,
            mean: sum as f64 / all as f64,
            p99: p99 as u64,
            max: self.depths.len() as u64 - 1,
        })
    }
}

/// Percentiles of lengths that were counted.
fn lengths_of(counts: &HashMap<u32, u64, FixedState>) -> Option<Lengths> {
    let mut sorted: Vec<(u32, u64)> = counts.iter().map(|(&length, &count)| (length, count)).collect();
    sorted.sort_unstable();
    let all: u64 = sorted.iter().map(|(_, count)| count).sum();
    let kib = |length: u32| f64::from(length) / 1024.0;
    let percentile = |percent: u64| {
        let mut below = 0;
        let found = sorted.iter().find(|(_, count)| {
            below += count;
            below * 100 >= all * percent
        });
        found.map(|(length, _)| kib(*length))
    };
    Some(Lengths {
        p50: percentile(50)?,
        p90: percentile(90)?,
        p99: percentile(99)?,
        max: kib(sorted.last()?.0),
    })
}

/// What can be done next with a trace.
fn advice(info: &Info) -> Vec<String> {
    use crate::hints::size;
    let mut next = Vec::new();
    if let Some(end) = info.max_address {
        let compact = size(info.footprint_bytes);
        next.push(if info.devices > 1 {
            format!(
                "{} devices: --compact keeps them apart (at least {compact}), --merge-devices lays them over one another \
                 ({})",
                info.devices,
                size(end)
            )
        } else {
            format!("a drive of {} or more holds it; with --compact one of some {compact}", size(end))
        });
    }
    if info.span_s == 0.0 && info.requests > 1 {
        next.push("there are no times: --replay closed --depth N".into());
    }
    let rewritten = info.written_bytes as f64 / info.footprint_written_bytes.max(1) as f64;
    if info.writes > 0 && rewritten < 3.0 {
        next.push(format!(
            "what it writes is written {rewritten:.1} times over: for garbage collection and wear start full (--existing \
             all, or --set ageing.model=steady), or --repeat N"
        ));
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpenOptions, open_reader};

    fn of(text: &'static str, limit: Option<u64>) -> Info {
        let mut source = open_reader("t", Box::new(text.as_bytes()), &OpenOptions::default()).unwrap();
        info(&mut *source, limit).unwrap()
    }

    #[test]
    fn every_figure_is_what_it_says() {
        let found = of(
            "1000 0 0 8 1\n1000 0 8 8 1\n2000 1 16 8 0\n501000 0 100 1 0\n1001000 0 16 8 1\n1001000 0 4 8 1\n",
            None,
        );
        let expected = Info {
            format: "ssdsim".into(),
            requests: 6,
            reads: 4,
            writes: 2,
            trims: 0,
            flushes: 0,
            fua_writes: 0,
            span_s: 0.001,
            rate_per_s: Some(6000.0),
            mean_kib: Some(41.0 / 2.0 / 6.0),
            footprint_bytes: (24 + 1 + 8) * 512,
            max_address: Some(101 * 512),
            devices: 2,
            sequences: 4,
            mean_sequence_kib: Some(41.0 / 2.0 / 4.0),
            unbroken_sequences: 4,
            mean_write_kib: Some((8.0 + 1.0) / 2.0 / 2.0),
            write_sequences: 2,
            mean_write_sequence_kib: Some((8.0 + 1.0) / 2.0 / 2.0),
            read_kib: Some(Lengths { p50: 4.0, p90: 4.0, p99: 4.0, max: 4.0 }),
            write_kib: Some(Lengths { p50: 0.5, p90: 4.0, p99: 4.0, max: 4.0 }),
            read_bytes: 32 * 512,
            written_bytes: 9 * 512,
            write_share: Some(1.0 / 3.0),
            written_gb_per_day: Some(9.0 * 512.0 / 1e9 / 0.001 * 86_400.0),
            footprint_read_bytes: 24 * 512,
            footprint_written_bytes: 9 * 512,
            overwrite_share: Some(0.0),
            median_overwrite_distance_bytes: None,
            sequential_share: Some(1.0 / 3.0),
            peak_rate_per_s: Some(6),
            burstiness: None,
            queue_depth: Some(QueueDepth { latency_us: 100.0, mean: 10.0 / 6.0, p99: 3, max: 3 }),
            next: found.next.clone(),
            warnings: Vec::new(),
        };
        assert_eq!(found, expected);
        assert_eq!(found.next.len(), 2, "{:?}", found.next);
    }

    #[test]
    fn a_limit_ends_it_and_figures_without_a_value_are_null() {
        let found = of("7 0 0 8 1\n9 0 8 8 1\n", Some(1));
        assert_eq!((found.requests, found.span_s, found.rate_per_s), (1, 0.0, None));
        let json = serde_json::to_value(found).unwrap();
        assert!(json["rate_per_s"].is_null());
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(keys.len(), 35);
    }

    #[test]
    fn flushes_count_and_touch_nothing() {
        let text = "8,0 0 1 0.1 7 Q FWFS 8 + 8 [x]\n8,0 0 1 0.2 7 Q FN [x]\n8,16 0 1 0.3 7 Q FN [x]\n";
        let found = of(text, None);
        assert_eq!((found.requests, found.writes, found.flushes, found.fua_writes), (4, 1, 3, 1));
        assert_eq!((found.mean_kib, found.footprint_bytes, found.sequences), (Some(4.0), 4096, 1));
        assert_eq!((found.devices, found.max_address), (2, Some(16 * 512)));
        let alone = of("8,0 0 1 0.1 7 Q FN [x]\n", None);
        assert_eq!((alone.requests, alone.mean_kib, alone.max_address), (1, None, None));
    }

    /// Figure 2(d) of the hybrid backup: requests 1 and 3 of one thread, request 2 of another.
    #[test]
    fn a_sequence_goes_on_behind_another_threads_request() {
        let found = of(
            "0 0 0 8 0\n1000 0 800 8 0\n2000 0 8 8 0\n3000 0 808 8 0\n4000 0 16 8 1\n5000 1 16 8 0\n",
            None,
        );
        assert_eq!((found.writes, found.write_sequences), (5, 3), "the other device's is one of its own");
        assert_eq!((found.sequences, found.unbroken_sequences), (4, 6));
        assert_eq!((found.mean_write_kib, found.mean_write_sequence_kib), (Some(4.0), Some(20.0 / 3.0)));
    }

    #[test]
    fn one_end_is_gone_on_from_once_and_not_for_ever() {
        assert_eq!(of("0 0 0 8 0\n1000 0 8 8 0\n2000 0 8 8 0\n", None).write_sequences, 2);
        let after = |others: u64| {
            let others =
                (1..=others).map(|other| format!("{other}000 0 {}00 8 0\n", other)).collect::<String>();
            let text = format!("0 0 0 8 0\n{others}999000 0 8 8 0\n");
            of(text.leak(), None).write_sequences
        };
        assert_eq!((after(255), after(256)), (256, 258), "256 requests before it, and no more");
    }

    #[test]
    fn overwrites_and_their_distance_are_found() {
        // 64 KiB in pages, twice: half of the written pages are replaced, 16 pages after they were written.
        let text: String = (0..32).map(|n| format!("{}000000 0 {} 8 0\n", n, n % 16 * 8)).collect();
        let found = of(text.leak(), None);
        assert_eq!(found.overwrite_share, Some(0.5));
        assert_eq!(found.median_overwrite_distance_bytes, Some(16 * 4096));
        assert_eq!((found.footprint_written_bytes, found.footprint_read_bytes), (65_536, 0));
        let trimmed = of(
            "8,0 0 1 0.1 7 Q W 0 + 8 [x]\n8,0 0 1 0.2 7 Q D 0 + 8 [x]\n8,0 0 1 0.3 7 Q W 0 + 8 [x]\n",
            None,
        );
        assert_eq!((trimmed.overwrite_share, trimmed.footprint_written_bytes), (Some(0.0), 4096));
    }

    #[test]
    fn distances_are_right_to_3_percent() {
        for distance in [0, 1, 31, 32, 63, 64, 1000, 123_456, u32::MAX] {
            let mut distances = Distances::default();
            distances.add(distance, 3);
            let found = distances.median().unwrap();
            let off = u64::from(distance) - found;
            assert!(off * 32 <= u64::from(distance), "{distance}: {found}");
        }
        assert_eq!(Distances::default().median(), None);
    }

    #[test]
    fn bursts_and_depths_are_found() {
        // Ten at once in second 3 of ten, else one a second.
        let text: String = (0..10)
            .flat_map(|s| std::iter::repeat_n(s, if s == 3 { 11 } else { 1 }))
            .zip(0..)
            .map(|(s, n)| format!("{s}000000000 0 {} 8 1\n", n * 100))
            .collect();
        let found = of(text.leak(), None);
        assert_eq!((found.peak_rate_per_s, found.requests, found.span_s), (Some(11), 20, 9.0));
        assert!((found.burstiness.unwrap() - 11.0 / (20.0 / 9.0)).abs() < 1e-9);
        let depth = found.queue_depth.unwrap();
        assert_eq!((depth.max, depth.p99), (11, 11));
        assert!((depth.mean - (9.0 + 66.0) / 20.0).abs() < 1e-9);
    }

    #[test]
    fn footprints_are_exact_across_words() {
        let found = of("0 0 60 10 1\n0 0 60 200 1\n0 0 255 5 1\n", None);
        assert_eq!(found.footprint_bytes, 200 * 512);
    }
}
