//! Flushes after writes, writes that must be durable at once, and trims: what databases and file systems add to any workload; and
//! the placement handle of its writes.

use super::draw::Chance;
use crate::random::Random;
use crate::{BATCH, Op, Provenance, Request, Source, TraceError};

/// The keys `flush_every`, `fua` and `trim`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CommandKeys {
    /// A flush follows each that many writes.
    pub(super) flush_every: Option<u64>,
    /// The share of writes with FUA.
    pub(super) fua: f64,
    /// The share of requests that are trims instead.
    pub(super) trim: f64,
    /// The placement handle of writes.
    pub(super) handle: u8,
}

impl CommandKeys {
    pub(super) fn is_needed(self) -> bool {
        self.flush_every.is_some() || self.fua > 0.0 || self.trim > 0.0 || self.handle > 0
    }
}

/// A workload with flushes, FUA and trims. Its other requests are those of the workload without them; the flushes are counted
/// among the requests, so that the number of requests is as given.
pub(super) struct Durable {
    source: Box<dyn Source>,
    batch: Vec<Request>,
    next: usize,
    flush_every: Option<u64>,
    /// Writes since the last flush.
    unflushed: u64,
    fua: Chance,
    stream: Random,
    trims: Chance,
    trim_stream: Random,
    handle: u8,
    requests: u64,
    made: u64,
}

impl Durable {
    pub(super) fn boxed(source: Box<dyn Source>, keys: CommandKeys, seed: u64) -> Box<dyn Source> {
        Box::new(Durable {
            requests: source.total().unwrap_or(u64::MAX),
            source,
            batch: Vec::new(),
            next: 0,
            flush_every: keys.flush_every,
            unflushed: 0,
            fua: Chance::new(keys.fua),
            stream: Random::stream(seed, "fua"),
            trims: Chance::new(keys.trim),
            trim_stream: Random::stream(seed, "trims"),
            handle: keys.handle,
            made: 0,
        })
    }

    fn next(&mut self) -> Result<Option<Request>, TraceError> {
        if self.flush_every == Some(self.unflushed) {
            self.unflushed = 0;
            // Something was written, so there is a request before.
            let write = self.batch[self.next - 1];
            return Ok(Some(Request::flush(write.arrival_ns, write.device)));
        }
        if self.next == self.batch.len() {
            self.batch.clear();
            self.next = 0;
            if self.source.fill(&mut self.batch)? == 0 {
                return Ok(None);
            }
        }
        let mut request = self.batch[self.next];
        self.next += 1;
        if self.trims.draw(&mut self.trim_stream) {
            request.op = Op::Trim;
        }
        if request.op == Op::Write {
            self.unflushed += 1;
            request.fua = self.fua.draw(&mut self.stream);
            request.handle = self.handle;
        }
        Ok(Some(request))
    }
}

impl Source for Durable {
    fn fill(&mut self, batch: &mut Vec<Request>) -> Result<usize, TraceError> {
        let before = batch.len();
        while batch.len() - before < BATCH && self.made < self.requests {
            let Some(request) = self.next()? else { break };
            batch.push(request);
            self.made += 1;
        }
        Ok(batch.len() - before)
    }

    fn total(&self) -> Option<u64> {
        self.source.total()
    }

    fn has_handles(&self) -> bool {
        self.handle > 0
    }

    fn share_done(&self) -> Option<f64> {
        Some(self.made as f64 / self.requests as f64)
    }

    fn provenance(&self) -> Provenance {
        self.source.provenance()
    }
}
