//! Lifetime: the P/E cycles that a chip bears.

use crate::chain::ReadChain;
use crate::rber::{Conditions, Rber};

/// No lifetime is looked for beyond this many P/E cycles.
pub const MOST_CYCLES: u64 = 10_000_000;

/// The first P/E cycle at which the UBER, after all stages of the read chain, exceeds `target` for data that is `days` old in
/// a block with `reads` reads a page. 0 where a new block exceeds it; no value if it takes more than [`MOST_CYCLES`].
///
/// JESD218 asks of client drives 1e-15 after a year at 30 °C without power, of enterprise drives 1e-16 after three
/// months at 40 °C (noted from memory).
#[must_use]
pub fn first_cycle(rber: &Rber, chain: &ReadChain, target: f64, days: f64, reads: f64) -> Option<u64> {
    first_where(|cycles| {
        let conditions = Conditions { cycles: cycles as f64, days, reads };
        chain.uber(rber.at(conditions, 1.0)) > target
    })
}

/// The first P/E cycle, up to [`MOST_CYCLES`], at which `exceeds` is true. It must stay true from there on: the RBER does not
/// fall while cycles rise.
#[must_use]
pub fn first_where(exceeds: impl Fn(u64) -> bool) -> Option<u64> {
    if !exceeds(MOST_CYCLES) {
        return None;
    }
    let (mut low, mut high) = (0, MOST_CYCLES);
    while low < high {
        let middle = low + (high - low) / 2;
        if exceeds(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low)
}
