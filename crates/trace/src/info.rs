//! What is in a trace.

use std::collections::HashMap;

use serde::Serialize;

use crate::hasher::FixedState;
use crate::{Op, Request, Source, TraceError};

/// What is in a trace. A figure without a value is `None`.
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
    /// Seconds from the first arrival to the last.
    pub span_s: f64,
    /// Requests a second of the span; `None` where all arrive at the same instant.
    pub rate_per_s: Option<f64>,
    /// The mean length in KiB.
    pub mean_kib: Option<f64>,
    /// Distinct bytes that requests touch, in whole sectors of 512 bytes.
    pub footprint_bytes: u64,
    /// The first byte beyond the request that reaches furthest: the smallest drive that holds the trace. Devices
    /// are laid over one another.
    pub max_address: Option<u64>,
    /// Devices.
    pub devices: u64,
    /// Maximal runs of requests that each start where the previous one of the same device and op ended.
    pub sequences: u64,
    /// The mean length of such a run in KiB.
    pub mean_sequence_kib: Option<f64>,
    /// What looks wrong.
    pub warnings: Vec<String>,
}

/// Reads `source` to its end, or to its first `limit` requests, and says what is in it.
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
    of_op: [u64; 3],
    bytes: u64,
    last_ns: u64,
    max_address: u64,
    footprint: Footprint,
    sequences: u64,
    /// Of each device, where its last request of each op ended.
    ends: Vec<[Option<u64>; 3]>,
}

impl Tally {
    fn add(&mut self, request: &Request) {
        let op = match request.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim => 2,
        };
        let end = request.offset + u64::from(request.length);
        self.requests += 1;
        self.of_op[op] += 1;
        self.bytes += u64::from(request.length);
        self.last_ns = request.arrival_ns;
        self.max_address = self.max_address.max(end);
        self.footprint.touch(request);
        let device = request.device as usize;
        if device >= self.ends.len() {
            self.ends.resize(device + 1, [None; 3]);
        }
        let continued = self.ends[device][op].replace(end) == Some(request.offset);
        self.sequences += u64::from(!continued);
    }

    fn finish(self, format: String, warnings: Vec<String>) -> Info {
        let kib = |count: u64| (count > 0).then(|| self.bytes as f64 / 1024.0 / count as f64);
        let span_s = self.last_ns as f64 / 1e9;
        Info {
            format,
            requests: self.requests,
            reads: self.of_op[0],
            writes: self.of_op[1],
            trims: self.of_op[2],
            span_s,
            rate_per_s: (self.last_ns > 0).then(|| self.requests as f64 / span_s),
            mean_kib: kib(self.requests),
            footprint_bytes: self.footprint.sectors * SECTOR,
            max_address: (self.requests > 0).then_some(self.max_address),
            devices: self.ends.len() as u64,
            sequences: self.sequences,
            mean_sequence_kib: kib(self.sequences),
            warnings,
        }
    }
}

const SECTOR: u64 = 512;

/// Which sectors have been touched: a bit each, 64 of them to a word.
#[derive(Default)]
struct Footprint {
    words: HashMap<(u32, u64), u64, FixedState>,
    sectors: u64,
}

impl Footprint {
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
            span_s: 0.001,
            rate_per_s: Some(6000.0),
            mean_kib: Some(41.0 / 2.0 / 6.0),
            footprint_bytes: (24 + 1 + 8) * 512,
            max_address: Some(101 * 512),
            devices: 2,
            sequences: 4,
            mean_sequence_kib: Some(41.0 / 2.0 / 4.0),
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
        assert_eq!(keys.len(), 14);
    }

    #[test]
    fn footprints_are_exact_across_words() {
        let found = of("0 0 60 10 1\n0 0 60 200 1\n0 0 255 5 1\n", None);
        assert_eq!(found.footprint_bytes, 200 * 512);
    }
}
