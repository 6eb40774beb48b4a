//! `sequential`: each request starts where the one before ended, rounded up to `align`; where it would run
//! beyond the footprint's end, it starts again at the front.

use super::places::{Footprint, Place};
use super::{PLAIN, Places, Recipe};
use crate::Op;

pub(super) const RECIPE: Recipe = Recipe {
    source: include_str!("sequential.rs"),
    name: "sequential",
    summary: "one request after another through the footprint, over and over",
    places: Places::Sequential,
    ..PLAIN
};

/// Goes through the footprint.
pub(super) struct Sequential {
    footprint: Footprint,
    end: u64,
}

impl Sequential {
    pub(super) fn new(footprint: Footprint) -> Self {
        Sequential { footprint, end: 0 }
    }
}

impl Place for Sequential {
    #[inline]
    fn next(&mut self, length: u32, _: Op) -> u64 {
        let start = self.end.checked_next_multiple_of(self.footprint.align_bytes);
        let last = self.footprint.bytes - u64::from(length);
        let offset = start.filter(|start| *start <= last).unwrap_or(0);
        self.end = offset + u64::from(length);
        offset
    }
}
