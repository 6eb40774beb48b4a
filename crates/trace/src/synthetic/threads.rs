//! Several threads that each go through the footprint in order, and requests with random places between them.

use super::draw::Chance;
use super::places::{Footprint, Place};
use super::rewrites::{Rewrites, Written};
use crate::Op;
use crate::random::Random;

/// The number of threads that read, and of threads that write.
const THREADS: usize = 4;
/// The mean number of requests in a thread's sequence.
const LONG: f64 = 32.0;

/// Reads at places by `P` and writes at places by [`Rewrites`], but some requests continue where the last one of a
/// thread ended. Reads and writes have threads of their own.
pub(super) struct Threads<P> {
    places: P,
    rewrites: Rewrites,
    footprint: Footprint,
    of_a_thread: Chance,
    goes_on: Chance,
    stream: Random,
    /// Where each reading thread's last request ended.
    reading: [Option<u64>; THREADS],
    writing: [Option<WriteSequence>; THREADS],
}

/// What a thread writes in order.
#[derive(Clone, Copy)]
struct WriteSequence {
    start: u64,
    /// Where its last request ended.
    end: u64,
    /// Where the earlier sequence ended that it writes again.
    earlier: Option<u64>,
}

impl WriteSequence {
    /// Whether a request of `length` continues it. A sequence that is written again ends where it did before, to the
    /// nearest request.
    fn goes_on(&self, length: u32, draw: bool) -> bool {
        self.earlier.map_or(draw, |earlier| self.end + u64::from(length / 2) < earlier)
    }
}

impl<P> Threads<P> {
    /// A share `continued` of all requests continues a sequence, at most 1 − 1/32.
    pub(super) fn new(
        places: P,
        rewrites: Rewrites,
        footprint: Footprint,
        continued: f64,
        stream: Random,
    ) -> Self {
        let goes_on = 1.0 - 1.0 / LONG;
        assert!(continued <= goes_on, "no sequence is longer than a thread's");
        Threads {
            places,
            rewrites,
            footprint,
            of_a_thread: Chance::new(continued / goes_on),
            goes_on: Chance::new(goes_on),
            stream,
            reading: [None; THREADS],
            writing: [None; THREADS],
        }
    }

    /// The place of a thread's next write.
    fn write(&mut self, thread: usize, length: u32, draw: bool) -> u64 {
        let fits = |end: u64| end <= self.footprint.bytes - u64::from(length);
        if let Some(sequence) = &mut self.writing[thread] {
            if fits(sequence.end) && sequence.goes_on(length, draw) {
                let offset = sequence.end;
                sequence.end += u64::from(length);
                return offset;
            }
            if sequence.earlier.is_none() {
                self.rewrites.ended(Written { start: sequence.start, end: sequence.end });
            }
        }
        let earlier = self.rewrites.sequence().filter(|earlier| fits(earlier.start));
        let start = earlier.map_or_else(|| self.rewrites.fresh(length), |earlier| earlier.start);
        let (end, earlier) = (start + u64::from(length), earlier.map(|earlier| earlier.end));
        self.writing[thread] = Some(WriteSequence { start, end, earlier });
        start
    }
}

impl<P: Place> Place for Threads<P> {
    fn next(&mut self, length: u32, op: Op) -> u64 {
        let writes = op == Op::Write;
        if !self.of_a_thread.draw(&mut self.stream) {
            return if writes { self.rewrites.single(length) } else { self.places.next(length, op) };
        }
        let thread = self.stream.below(THREADS as u64) as usize;
        let goes_on = self.goes_on.draw(&mut self.stream);
        if writes {
            return self.write(thread, length, goes_on);
        }
        let end = &mut self.reading[thread];
        let fits = |end: &u64| goes_on && *end <= self.footprint.bytes - u64::from(length);
        let offset = end.filter(fits).unwrap_or_else(|| self.places.next(length, op));
        *end = Some(offset + u64::from(length));
        offset
    }
}
