//! A pseudo-random order of all numbers below a limit, in both directions and without a table.

use flashkeep_trace::random::Random;

/// All numbers below a limit, each at one rank.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct Permutation {
    limit: u32,
    /// All ones, as many as the largest number has bits.
    mask: u32,
    half: u32,
    shift: u32,
    factors: [u32; 2],
}

/// The inverse of an odd factor modulo 2³²: each step of Newton's doubles the bits that fit.
fn inverse(factor: u32) -> u32 {
    (0..5).fold(factor, |inverse, _| inverse.wrapping_mul(2_u32.wrapping_sub(factor.wrapping_mul(inverse))))
}

impl Permutation {
    /// An order of the numbers below `limit`.
    #[must_use]
    pub fn new(limit: u32, random: &mut Random) -> Self {
        let bits = (limit.max(2) - 1).ilog2() + 1;
        let [first, second, shift] = [0; 3].map(|_: u8| random.bits() as u32);
        Permutation {
            limit,
            mask: ((1_u64 << bits) - 1) as u32,
            half: bits / 2 + 1,
            shift,
            factors: [first | 1, second | 1],
        }
    }

    /// The numbers that are put in order.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// The largest number of as many bits.
    #[must_use]
    pub fn mask(&self) -> u32 {
        self.mask
    }

    /// A bijection of the numbers up to the mask: each step is invertible within these bits.
    #[must_use]
    #[inline]
    pub fn scatter(&self, at: u32) -> u32 {
        let Permutation { mask, half, shift, factors: [first, second], .. } = *self;
        let at = at.wrapping_add(shift).wrapping_mul(first) & mask;
        let at = at ^ (at >> half);
        let at = at.wrapping_mul(second) & mask;
        at ^ (at >> half)
    }

    /// The inverse of [`Permutation::scatter`]; a shift by half of the bits or more is its own.
    fn gather(&self, at: u32) -> u32 {
        let Permutation { mask, half, shift, factors, .. } = *self;
        let [first, second] = factors.map(inverse);
        let at = at ^ (at >> half);
        let at = at.wrapping_mul(second) & mask;
        let at = at ^ (at >> half);
        at.wrapping_mul(first).wrapping_sub(shift) & mask
    }

    /// The number at a rank below the limit. Numbers beyond the limit are ranks of others, and lead back in the end.
    #[must_use]
    pub fn at(&self, rank: u32) -> u32 {
        debug_assert!(rank < self.limit);
        let mut at = self.scatter(rank);
        while at >= self.limit {
            at = self.scatter(at);
        }
        at
    }

    /// The rank of a number below the limit.
    #[must_use]
    pub fn rank(&self, number: u32) -> u32 {
        debug_assert!(number < self.limit);
        let mut at = self.gather(number);
        while at >= self.limit {
            at = self.gather(at);
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_rank_of_its_own() {
        for limit in [1, 2, 3, 64, 65, 1000, 70_001] {
            for seed in 0..5 {
                let order = Permutation::new(limit, &mut Random::stream(seed, "test"));
                let mut numbers: Vec<u32> = (0..limit).map(|rank| order.at(rank)).collect();
                assert!((0..limit).all(|rank| order.rank(numbers[rank as usize]) == rank));
                assert!(limit < 64 || !numbers.is_sorted());
                numbers.sort_unstable();
                assert!(numbers.into_iter().eq(0..limit), "{limit}");
            }
        }
        let all = Permutation::new(u32::MAX, &mut Random::stream(1, "test"));
        assert!([0, 1, 77, u32::MAX - 1].into_iter().all(|rank| all.rank(all.at(rank)) == rank));
    }
}
