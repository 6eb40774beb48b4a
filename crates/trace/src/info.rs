//! Statistics of a trace.

use std::collections::HashMap;

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
    /// Warnings about implausible contents.
    pub warnings: Vec<String>,
}

/// Reads `source` to its end, or its first `limit` requests, and returns their statistics.
///
/// Memory grows with the footprint: some 40 bytes for each 32 KiB of the trace's space that is touched.
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
        let end = request.offset + u64::from(request.length);
        self.bytes[op] += u64::from(request.length);
        self.max_address = self.max_address.max(end);
        self.footprint.touch(request);
        let (goes_on, unbroken) = self.ends[device][op].follow(request.offset, end);
        self.sequences[op] += u64::from(!goes_on);
        self.unbroken += u64::from(!unbroken);
    }

    fn finish(self, format: String, warnings: Vec<String>) -> Info {
        let mean = |bytes: u64, count: u64| (count > 0).then(|| bytes as f64 / 1024.0 / count as f64);
        let (bytes, sequences) = (self.bytes.iter().sum(), self.sequences.iter().sum());
        let [reads, writes, trims, flushes] = self.of_op;
        let with_data = reads + writes + trims;
        let ([_, written, _], [_, write_sequences, _]) = (self.bytes, self.sequences);
        let span_s = self.last_ns as f64 / 1e9;
        Info {
            format,
            requests: self.requests,
            reads,
            writes,
            trims,
            flushes,
            fua_writes: self.fua_writes,
            span_s,
            rate_per_s: (self.last_ns > 0).then(|| self.requests as f64 / span_s),
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
            warnings,
        }
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

/// The sectors that requests have touched: one bit each, 64 to a word.
#[derive(Default)]
struct TouchedSectors {
    words: HashMap<(u32, u64), u64, FixedState>,
    sectors: u64,
}

impl TouchedSectors {
    fn touch(&mut self, request: &Request) {
        let first = request.offset / SECTOR;
        let last = (request.offset + u64::from(request.length) - 1) / SECTOR;
        for word in first / 64..=last / 64 {
            let from = first.max(word * 64) % 64;
            let to = last.min(word * 64 + 63) % 64;
            let touched = (u64::MAX << from) & (u64::MAX >> (63 - to));
            let known = self.words.entry((request.device, word)).or_insert(0);
            self.sectors += u64::from((touched & !*known).count_ones());
            *known |= touched;
        }
    }
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
            warnings: Vec::new(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_limit_ends_it_and_figures_without_a_value_are_null() {
        let found = of("7 0 0 8 1\n9 0 8 8 1\n", Some(1));
        assert_eq!((found.requests, found.span_s, found.rate_per_s), (1, 0.0, None));
        let json = serde_json::to_value(found).unwrap();
        assert!(json["rate_per_s"].is_null());
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(keys.len(), 20);
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
    fn footprints_are_exact_across_words() {
        let found = of("0 0 60 10 1\n0 0 60 200 1\n0 0 255 5 1\n", None);
        assert_eq!(found.footprint_bytes, 200 * 512);
    }
}
