//! Writes to places that were written before.

use super::draw::Chance;
use super::places::{Footprint, Place};
use super::random::Uniform;
use crate::Op;
use crate::random::Random;

/// The number of places that are remembered for each length, and of sequences: 8 and 16 MiB. Older ones are forgotten
/// in turn.
const REMEMBERED: usize = 1 << 20;

/// Something that was written.
#[derive(Clone, Copy)]
pub(super) struct Written {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// The places of writes, new ones and earlier ones.
pub(super) struct Rewrites {
    again: Chance,
    fresh: Uniform,
    stream: Random,
    /// The places of single requests, by length: a request of the same length rewrites all of it.
    singles: Vec<(u32, Remembered)>,
    /// Sequences that have ended.
    sequences: Remembered,
}

impl Rewrites {
    /// A share `again` of the writes has been written before.
    pub(super) fn new(again: f64, footprint: Footprint, seed: u64) -> Self {
        Rewrites {
            again: Chance::new(again),
            fresh: Uniform::new(footprint, Random::stream(seed, "written")),
            stream: Random::stream(seed, "rewrites"),
            singles: Vec::new(),
            sequences: Remembered::default(),
        }
    }

    /// The place of a single write.
    pub(super) fn single(&mut self, length: u32) -> u64 {
        let known = match self.singles.iter().position(|(known, _)| *known == length) {
            Some(known) => known,
            None => {
                self.singles.push((length, Remembered::default()));
                self.singles.len() - 1
            }
        };
        let again = self.again.draw(&mut self.stream);
        if let Some(old) = self.singles[known].1.any(&mut self.stream).filter(|_| again) {
            return old.start;
        }
        let start = self.fresh.next(length, Op::Write);
        self.singles[known].1.add(Written { start, end: start + u64::from(length) });
        start
    }

    /// The earlier sequence that a new one writes again, if it does.
    pub(super) fn sequence(&mut self) -> Option<Written> {
        let again = self.again.draw(&mut self.stream);
        self.sequences.any(&mut self.stream).filter(|_| again)
    }

    /// The start of a sequence that is not written again.
    pub(super) fn fresh(&mut self, length: u32) -> u64 {
        self.fresh.next(length, Op::Write)
    }

    /// A sequence of new places has ended.
    pub(super) fn ended(&mut self, sequence: Written) {
        self.sequences.add(sequence);
    }
}

/// The latest writes.
#[derive(Default)]
struct Remembered {
    all: Vec<Written>,
    /// The next one to be forgotten.
    next: usize,
}

impl Remembered {
    fn add(&mut self, written: Written) {
        if self.all.len() < REMEMBERED {
            self.all.push(written);
        } else {
            self.all[self.next] = written;
            self.next = (self.next + 1) % REMEMBERED;
        }
    }

    /// One of them, each equally likely.
    fn any(&self, stream: &mut Random) -> Option<Written> {
        (!self.all.is_empty()).then(|| self.all[stream.below(self.all.len() as u64) as usize])
    }
}
