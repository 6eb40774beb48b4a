//! Stateless random numbers for policies: each is a function of the decision's index.

use flashkeep_trace::random::{Random, mix};

/// The random numbers of one decision.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomStream(u64);

impl RandomStream {
    /// The stream `name` of a run with `seed`.
    #[must_use]
    pub fn stream(seed: u64, name: &str) -> RandomStream {
        RandomStream(Random::stream(seed, name).bits())
    }

    /// The random numbers of decision `turn`.
    #[must_use]
    pub fn turn(self, turn: u64) -> RandomStream {
        RandomStream(mix(self.0 ^ mix(turn)))
    }

    /// The `n`th 64 bits.
    #[must_use]
    #[inline]
    pub fn bits(self, n: u32) -> u64 {
        mix(self.0.wrapping_add(u64::from(n)))
    }

    /// The `n`th number, below `bound`.
    #[must_use]
    #[inline]
    pub fn below(self, n: u32, bound: u32) -> u32 {
        ((u128::from(self.bits(n)) * u128::from(bound)) >> 64) as u32
    }
}
