//! The interface of all ways to choose places.

use super::draw::Chance;
use crate::Op;
use crate::random::Random;

/// The bytes that requests stay within, and the multiples at which they start.
#[derive(Clone, Copy)]
pub(super) struct Footprint {
    pub(super) bytes: u64,
    pub(super) align_bytes: u64,
}

impl Footprint {
    /// The last slot at which a request of `length` fits.
    #[inline]
    pub(super) fn last_slot(&self, length: u32) -> u64 {
        (self.bytes - u64::from(length)) / self.align_bytes
    }
}

/// A way to choose the place of the next request.
pub(super) trait Place: Send {
    /// Where the next request, an `op` of `length` bytes, starts, counted from the footprint's start. It ends within the
    /// footprint, which is at least as long.
    fn next(&mut self, length: u32, op: Op) -> u64;
}

/// Places chosen by another rule, but some requests continue where the one before ended.
pub(super) struct Runs<P> {
    places: P,
    footprint: Footprint,
    continued: Chance,
    stream: Random,
    end: Option<u64>,
}

impl<P> Runs<P> {
    pub(super) fn new(places: P, footprint: Footprint, continued: Chance, stream: Random) -> Self {
        Runs { places, footprint, continued, stream, end: None }
    }
}

impl<P: Place> Place for Runs<P> {
    fn next(&mut self, length: u32, op: Op) -> u64 {
        let continued = self.continued.draw(&mut self.stream);
        let fits = |end: &u64| *end <= self.footprint.bytes - u64::from(length);
        let offset = match self.end.filter(fits) {
            Some(end) if continued => end,
            _ => self.places.next(length, op),
        };
        self.end = Some(offset + u64::from(length));
        offset
    }
}
