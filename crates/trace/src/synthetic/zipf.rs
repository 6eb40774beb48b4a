//! `zipf`: the k-th most popular place has weight k^−θ; `theta=0` is `random`.
//!
//! Ranks are drawn by rejection-inversion (Hörmann and Derflinger: Rejection-inversion to generate variates from
//! monotone discrete distributions. ACM TOMACS 6(3), 1996), which needs no table however large the footprint.
//!
//! Popular places must not be neighbours, or a few blocks and channels would get all requests. So ranks go to places
//! through a fixed bijection, the same for every seed: a four-round Feistel network over two digits of about √n,
//! applied again where it leaves the n places. A request too long for its place goes to the last one it fits.

use super::places::{Footprint, Place};
use super::{PLAIN, Places, Recipe};
use crate::Op;
use crate::random::{Random, mix};

pub(super) const RECIPE: Recipe = Recipe {
    source: include_str!("zipf.rs"),
    name: "zipf",
    summary: "a few places of the footprint much more popular than others",
    places: Places::Zipf,
    ..PLAIN
};

/// Skewed places.
pub(super) struct Zipf {
    footprint: Footprint,
    ranks: Ranks,
    scatter: Scatter,
    stream: Random,
}

impl Zipf {
    pub(super) fn new(footprint: Footprint, slots: u64, theta: f64, stream: Random) -> Self {
        Zipf { footprint, ranks: Ranks::new(slots, theta), scatter: Scatter::new(slots), stream }
    }
}

impl Place for Zipf {
    fn next(&mut self, length: u32, _: Op) -> u64 {
        let rank = self.ranks.draw(&mut self.stream);
        let slot = self.scatter.place(rank).min(self.footprint.last_slot(length));
        slot * self.footprint.align_bytes
    }
}

/// Ranks 0 to n − 1, rank k with weight (k+1)^−θ.
struct Ranks {
    count: u64,
    theta: f64,
    /// The area under the hat from where rank 1 begins to where the last one ends.
    area_from: f64,
    area_to: f64,
    /// A rank whose variate lies no further below it than this is accepted without another look.
    squeeze: f64,
}

impl Ranks {
    fn new(count: u64, theta: f64) -> Self {
        let mut ranks = Ranks { count, theta, area_from: 0.0, area_to: 0.0, squeeze: 0.0 };
        ranks.area_from = ranks.area(1.5) - 1.0;
        ranks.area_to = ranks.area(count as f64 + 0.5);
        ranks.squeeze = 2.0 - ranks.area_inverse(ranks.area(2.5) - ranks.weight(2.0));
        ranks
    }

    fn weight(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// ∫ t^−θ dt from 1 to x, which is the logarithm where θ = 1 and close to it where θ is.
    fn area(&self, x: f64) -> f64 {
        let log = libm::log(x);
        log * over(libm::expm1, (1.0 - self.theta) * log)
    }

    fn area_inverse(&self, area: f64) -> f64 {
        // Rounding may carry the argument of the logarithm below −1.
        let power = ((1.0 - self.theta) * area).max(-1.0);
        libm::exp(area * over(libm::log1p, power))
    }

    fn draw(&self, stream: &mut Random) -> u64 {
        loop {
            let share = (stream.bits() >> 11) as f64 / (1_u64 << 53) as f64;
            let area = self.area_to + share * (self.area_from - self.area_to);
            let x = self.area_inverse(area);
            let rank = ((x + 0.5) as u64).clamp(1, self.count);
            let k = rank as f64;
            if k - x <= self.squeeze || area >= self.area(k + 0.5) - self.weight(k) {
                return rank - 1;
            }
        }
    }
}

/// `function(x) / x` for a function with f(0) = 0 and f′(0) = 1, by its first terms where x is near 0.
fn over(function: fn(f64) -> f64, x: f64) -> f64 {
    if x.abs() > 1e-8 { function(x) / x } else { 1.0 }
}

/// A bijection of 0 to n − 1 that scatters neighbours.
struct Scatter {
    count: u64,
    high: u64,
    low: u64,
}

impl Scatter {
    fn new(count: u64) -> Self {
        let mut high = count.isqrt().max(1);
        if high * high < count {
            high += 1;
        }
        Scatter { count, high, low: count.div_ceil(high) }
    }

    fn place(&self, rank: u64) -> u64 {
        let mut value = rank;
        loop {
            value = self.once(value);
            if value < self.count {
                return value;
            }
        }
    }

    /// A bijection of 0 to `high × low` − 1; the product is slightly more than n.
    fn once(&self, value: u64) -> u64 {
        let (mut high, mut low) = (value / self.low, value % self.low);
        for round in 0..2 {
            high = add_below(high, below(mix(low ^ (2 * round) << 56), self.high), self.high);
            low = add_below(low, below(mix(high ^ (2 * round + 1) << 56), self.low), self.low);
        }
        high * self.low + low
    }
}

/// 64 mixed bits scaled to below `bound`.
fn below(bits: u64, bound: u64) -> u64 {
    ((u128::from(bits) * u128::from(bound)) >> 64) as u64
}

/// (a + b) mod `bound`, both being below it.
fn add_below(a: u64, b: u64, bound: u64) -> u64 {
    let sum = a + b;
    if sum >= bound { sum - bound } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scattering_is_a_bijection() {
        for count in (1..300).chain([1000, 4096, 65_537]) {
            let scatter = Scatter::new(count);
            let mut seen = vec![false; count as usize];
            for rank in 0..count {
                let place = scatter.place(rank) as usize;
                assert!(!std::mem::replace(&mut seen[place], true), "{count}: {place} twice");
            }
        }
    }

    #[test]
    fn popular_places_are_no_neighbours() {
        let scatter = Scatter::new(1 << 20);
        let mut top: Vec<u64> = (0..100).map(|rank| scatter.place(rank)).collect();
        top.sort_unstable();
        let neighbours = top.windows(2).filter(|pair| pair[1] - pair[0] < 8).count();
        assert!(neighbours <= 2, "{neighbours}");
        for eighth in 0..8 {
            let there = top.iter().filter(|&&place| place % 8 == eighth).count();
            assert!((4..=24).contains(&there), "{there} of 100 in one of 8 ways");
        }
    }

    #[test]
    fn ranks_have_the_weights_of_zipfs_law() {
        for theta in [0.0, 0.5, 0.99, 1.0, 1.2, 3.0] {
            let ranks = Ranks::new(1000, theta);
            let mut stream = Random::stream(1, "test");
            let mut counts = vec![0_u32; 1000];
            const DRAWS: u32 = 400_000;
            for _ in 0..DRAWS {
                counts[ranks.draw(&mut stream) as usize] += 1;
            }
            let weight = |rank: usize| libm::pow(rank as f64 + 1.0, -theta);
            let total: f64 = (0..1000).map(weight).sum();
            for rank in [0, 1, 2, 5, 10, 100, 999] {
                let expected = weight(rank) / total * f64::from(DRAWS);
                let off = (f64::from(counts[rank]) - expected).abs();
                assert!(
                    off <= 5.0 * libm::sqrt(expected) + 1.0,
                    "theta {theta} rank {rank}: {off} off {expected}"
                );
            }
        }
    }

    #[test]
    fn one_place_is_enough() {
        let ranks = Ranks::new(1, 0.99);
        let mut stream = Random::stream(1, "test");
        assert!((0..100).all(|_| ranks.draw(&mut stream) == 0));
    }
}
