//! Random draws that are equal on every machine: integer thresholds, and a logarithm in pure Rust.

use super::Size;
use crate::random::Random;

/// 2⁶⁴.
const WHOLE: f64 = 18_446_744_073_709_551_616.0;

/// Something that happens with a fixed probability.
pub(super) struct Chance {
    /// The event happens if 64 random bits are below this.
    threshold: u128,
}

impl Chance {
    pub(super) fn new(share: f64) -> Self {
        Chance { threshold: (share * WHOLE) as u128 }
    }

    #[inline]
    pub(super) fn draw(&self, stream: &mut Random) -> bool {
        u128::from(stream.bits()) < self.threshold
    }
}

/// Sizes, each as often as its weight says.
pub(super) struct Sizes {
    /// For each size but the last one: 64 random bits below it, and not below the one before, mean this size.
    thresholds: Vec<u64>,
    bytes: Vec<u32>,
}

impl Sizes {
    pub(super) fn new(sizes: &[Size]) -> Self {
        let total: f64 = sizes.iter().map(|size| size.weight).sum();
        let mut below = 0.0;
        let thresholds = sizes.iter().map(|size| {
            below += size.weight;
            (below / total * WHOLE) as u64
        });
        Sizes {
            thresholds: thresholds.take(sizes.len() - 1).collect(),
            bytes: sizes.iter().map(|size| size.bytes).collect(),
        }
    }

    #[inline]
    pub(super) fn draw(&self, stream: &mut Random) -> u32 {
        if self.thresholds.is_empty() {
            return self.bytes[0];
        }
        let bits = stream.bits();
        let index = self.thresholds.iter().position(|&threshold| bits < threshold);
        self.bytes[index.unwrap_or(self.thresholds.len())]
    }
}

/// Arrivals in bursts.
#[derive(Clone, Copy)]
pub(super) struct Bursts {
    /// The share of gaps that are pauses between bursts: 0.1 makes bursts of ten requests on average.
    pub(super) pauses: f64,
    /// How much faster requests come within a burst than in the mean.
    pub(super) speedup: f64,
}

/// The mean of the next gap.
pub(super) enum Gaps {
    /// The same for all gaps: Poisson arrivals.
    Even { mean_ns: f64 },
    /// Short within a burst, long between two.
    Bursts { within_ns: f64, pause_ns: f64, pauses: Chance, stream: Random },
}

impl Gaps {
    fn new(per_second: f64, bursts: Option<Bursts>, seed: u64) -> Self {
        let mean_ns = 1e9 / per_second;
        let Some(Bursts { pauses, speedup }) = bursts else { return Gaps::Even { mean_ns } };
        let within_ns = mean_ns / speedup;
        // The mean of the other gaps, so that the rate is kept.
        let pause_ns = (mean_ns - (1.0 - pauses) * within_ns) / pauses;
        Gaps::Bursts {
            within_ns,
            pause_ns,
            pauses: Chance::new(pauses),
            stream: Random::stream(seed, "bursts"),
        }
    }

    #[inline]
    fn mean_ns(&mut self) -> f64 {
        match self {
            Gaps::Even { mean_ns } => *mean_ns,
            Gaps::Bursts { within_ns, pause_ns, pauses, stream } => {
                if pauses.draw(stream) {
                    *pause_ns
                } else {
                    *within_ns
                }
            }
        }
    }
}

/// When requests arrive.
pub(super) enum Arrivals {
    /// Closed loop: the replay decides.
    AtOnce,
    /// Gaps drawn from the exponential distribution; the first request arrives at 0.
    Timed {
        gaps: Gaps,
        now_ns: u64,
        /// The next gap, plus the fraction of 1 ns left from the gap before, so that rounding does not change the rate.
        waiting_ns: f64,
        stream: Random,
    },
}

impl Arrivals {
    pub(super) fn timed(per_second: f64, bursts: Option<Bursts>, seed: u64) -> Self {
        let gaps = Gaps::new(per_second, bursts, seed);
        Arrivals::Timed { gaps, now_ns: 0, waiting_ns: 0.0, stream: Random::stream(seed, "arrivals") }
    }

    #[inline]
    pub(super) fn next_ns(&mut self) -> u64 {
        match self {
            Arrivals::AtOnce => 0,
            Arrivals::Timed { gaps, now_ns, waiting_ns, stream } => {
                let whole_ns = *waiting_ns as u64;
                *now_ns = now_ns.saturating_add(whole_ns);
                *waiting_ns -= whole_ns as f64;
                // Above 0 and up to 1, so that the logarithm is finite.
                let share = ((stream.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
                *waiting_ns -= libm::log(share) * gaps.mean_ns();
                *now_ns
            }
        }
    }
}
