//! `random`: every place at a multiple of `align` where the request fits in the footprint is equally likely.

use super::places::{Footprint, Place};
use super::{PLAIN, Places, Recipe};
use crate::Op;
use crate::random::Random;

pub(super) const RECIPE: Recipe = Recipe {
    source: include_str!("random.rs"),
    name: "random",
    summary: "every place of the footprint equally likely",
    places: Places::Random,
    ..PLAIN
};

/// Any place.
pub(super) struct Uniform {
    footprint: Footprint,
    stream: Random,
    /// The last length and its number of slots: most workloads have few lengths, and division is slow.
    slots: (u32, u64),
}

impl Uniform {
    pub(super) fn new(footprint: Footprint, stream: Random) -> Self {
        Uniform { footprint, stream, slots: (0, 1) }
    }
}

impl Place for Uniform {
    #[inline]
    fn next(&mut self, length: u32, _: Op) -> u64 {
        if self.slots.0 != length {
            self.slots = (length, self.footprint.last_slot(length) + 1);
        }
        self.stream.below(self.slots.1) * self.footprint.align_bytes
    }
}
