//! Several threads that each go through the footprint in order, and requests with random places between them.

use super::draw::Chance;
use super::places::{Footprint, Place};
use crate::Op;
use crate::random::Random;

/// The number of threads that read, and of threads that write.
const THREADS: usize = 4;
/// The mean number of requests in a thread's sequence.
const LONG: f64 = 32.0;

/// Places by `P`, but some requests continue where the last one of a thread ended. Reads and writes have threads of
/// their own.
pub(super) struct Threads<P> {
    places: P,
    footprint: Footprint,
    of_a_thread: Chance,
    goes_on: Chance,
    stream: Random,
    /// Where each thread's last request ended, reads and writes.
    ends: [[Option<u64>; THREADS]; 2],
}

impl<P> Threads<P> {
    /// A share `continued` of all requests continues a sequence, at most 1 − 1/32.
    pub(super) fn new(places: P, footprint: Footprint, continued: f64, stream: Random) -> Self {
        let goes_on = 1.0 - 1.0 / LONG;
        assert!(continued <= goes_on, "no sequence is longer than a thread's");
        Threads {
            places,
            footprint,
            of_a_thread: Chance::new(continued / goes_on),
            goes_on: Chance::new(goes_on),
            stream,
            ends: [[None; THREADS]; 2],
        }
    }
}

impl<P: Place> Place for Threads<P> {
    fn next(&mut self, length: u32, op: Op) -> u64 {
        if !self.of_a_thread.draw(&mut self.stream) {
            return self.places.next(length, op);
        }
        let thread = self.stream.below(THREADS as u64) as usize;
        let goes_on = self.goes_on.draw(&mut self.stream);
        let end = &mut self.ends[usize::from(op == Op::Write)][thread];
        let fits = |end: &u64| goes_on && *end <= self.footprint.bytes - u64::from(length);
        let offset = end.filter(fits).unwrap_or_else(|| self.places.next(length, op));
        *end = Some(offset + u64::from(length));
        offset
    }
}
