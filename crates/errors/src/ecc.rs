//! Error correction: how likely it is that a codeword has more wrong bits than its code corrects.
//!
//! Bits fail independently, so that a codeword of n bits, of which t are corrected, fails with probability P =
//! P[Bin(n, RBER) > t] (the regularised incomplete beta function I_RBER(t + 1, n − t)). Real pages vary more than
//! that (Taranalli, Uchikawa and Siegel fit beta-binomials); [`factors`](crate::factors) are for that. LDPC codes
//! have no t: two thresholds represent hard and soft decoding.

use crate::stripe::any;
use crate::{Invalid, within};

/// A code: what its codewords consist of, and how many wrong bits it corrects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    codeword_bits: u32,
    user_bits: u32,
    corrects: u32,
    corrects_soft: Option<u32>,
}

impl Code {
    /// A code of `codeword_bits` (at most 2²⁴) with `user_bits` of data that corrects `corrects` wrong bits, or
    /// `corrects_soft` by soft decoding.
    pub fn new(
        codeword_bits: u32,
        user_bits: u32,
        corrects: u32,
        corrects_soft: Option<u32>,
    ) -> Result<Self, Invalid> {
        let bits = |field, value: u32, low: u32, high: u32| {
            within(field, f64::from(value), f64::from(low), f64::from(high)).map(|_| value)
        };
        bits("codeword_bits", codeword_bits, 1, 1 << 24)?;
        bits("user_bits", user_bits, 1, codeword_bits)?;
        bits("corrects", corrects, 0, codeword_bits - 1)?;
        if let Some(soft) = corrects_soft {
            bits("corrects_soft", soft, corrects, codeword_bits - 1)?;
        }
        Ok(Code { codeword_bits, user_bits, corrects, corrects_soft })
    }

    /// Bits of a codeword, n.
    #[must_use]
    pub fn codeword_bits(&self) -> u32 {
        self.codeword_bits
    }

    /// Bits of data in a codeword, k.
    #[must_use]
    pub fn user_bits(&self) -> u32 {
        self.user_bits
    }

    /// Wrong bits that hard decoding corrects, t.
    #[must_use]
    pub fn corrects(&self) -> u32 {
        self.corrects
    }

    /// Wrong bits that soft decoding corrects, where there is soft decoding.
    #[must_use]
    pub fn corrects_soft(&self) -> Option<u32> {
        self.corrects_soft
    }

    /// The uncorrectable bit error rate: failed codewords for each bit of data read.
    #[must_use]
    pub fn uber(&self, codeword_failure: f64) -> f64 {
        codeword_failure / f64::from(self.user_bits)
    }

    /// The RBER at which hard decoding has this UBER. No value if it is not reached below 0.5 or is exceeded at 1e-300.
    #[must_use]
    pub fn rber_at_uber(&self, uber: f64) -> Option<f64> {
        let target = libm::log(uber * f64::from(self.user_bits));
        let at = |ln_rber: f64| ln_tail(self.codeword_bits, self.corrects, libm::exp(ln_rber)).0;
        let (mut low, mut high) = (libm::log(1e-300), libm::log(0.5));
        if !(at(low) <= target && target <= at(high)) {
            return None;
        }
        // Each step halves the interval; 64 of them leave less than the rounding error of its ends.
        for _ in 0..64 {
            let middle = 0.5 * (low + high);
            if at(middle) < target { low = middle } else { high = middle }
        }
        Some(libm::exp(0.5 * (low + high)))
    }
}

/// The probability that more than `corrects` of `codeword_bits` are wrong. Relative error below 1e-9 where the result is
/// above 1e-300; less than about 1e-308 is 0.
#[must_use]
pub fn codeword_failure(codeword_bits: u32, corrects: u32, rber: f64) -> f64 {
    libm::exp(ln_tail(codeword_bits, corrects, rber).0)
}

/// The logarithm of P[Bin(n, p) > t], and its derivative by ln p.
///
/// One term comes from Loader's saddle-point expansion (*Fast and accurate computation of binomial probabilities*, 2000),
/// whose error grows with the logarithm of the result and not with n; its neighbours follow by their ratio, and the shorter
/// of both sides is summed.
fn ln_tail(n: u32, t: u32, p: f64) -> (f64, f64) {
    let (count, first) = (f64::from(n), f64::from(t) + 1.0);
    if t >= n || p <= 0.0 {
        return (f64::NEG_INFINITY, first);
    }
    let odds = p / (1.0 - p);
    let ln_first = ln_term(count, first, p);
    let mut sum = 1.0;
    let mut term = 1.0;
    if first > count * p {
        let mut wrong = first;
        while wrong < count && term > 1e-17 * sum {
            term *= (count - wrong) / (wrong + 1.0) * odds;
            sum += term;
            wrong += 1.0;
        }
        // d I_p(a, b) / d ln p = a times the first term.
        return (ln_first + libm::log(sum), first / sum);
    }
    let mut wrong = first - 1.0;
    sum = 0.0;
    while wrong >= 0.0 && (sum == 0.0 || term > 1e-17 * sum) {
        term *= (wrong + 1.0) / ((count - wrong) * odds);
        sum += term;
        wrong -= 1.0;
    }
    let first_term = libm::exp(ln_first);
    let below = (first_term * sum).min(1.0);
    (libm::log1p(-below), first * first_term / (1.0 - below).max(f64::MIN_POSITIVE))
}

/// ln P[Bin(n, p) = x] for 0 < x ≤ n.
fn ln_term(n: f64, x: f64, p: f64) -> f64 {
    if x == n {
        return n * libm::log(p);
    }
    let rest = n - x;
    stirling_error(n)
        - stirling_error(x)
        - stirling_error(rest)
        - deviance(x, n * p)
        - deviance(rest, n * (1.0 - p))
        + 0.5 * libm::log(n / (std::f64::consts::TAU * x * rest))
}

/// ln n! less Stirling's approximation of it, for whole n > 0.
fn stirling_error(n: f64) -> f64 {
    if n <= 15.0 {
        let factorial = (1..=n as u32).map(f64::from).product::<f64>();
        return libm::log(factorial) - (n + 0.5) * libm::log(n) + n - 0.5 * libm::log(std::f64::consts::TAU);
    }
    let square = n * n;
    let terms = [1.0 / 12.0, 1.0 / 360.0, 1.0 / 1260.0, 1.0 / 1680.0, 1.0 / 1188.0, 691.0 / 360_360.0];
    terms.iter().rev().fold(0.0, |sum, term| term - sum / square) / n
}

/// x·ln(x/m) + m − x, without cancellation where x is near m.
fn deviance(x: f64, m: f64) -> f64 {
    let share = (x - m) / (x + m);
    if share.abs() >= 0.1 {
        return x * libm::log(x / m) + m - x;
    }
    // With x = m·(1 + v)/(1 − v): the series of the inverse hyperbolic tangent of v.
    let mut sum = (x - m) * share;
    let mut power = 2.0 * x * share;
    for odd in 1..60 {
        power *= share * share;
        let next = sum + power / f64::from(2 * odd + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// How likely a codeword fails, over the logarithm of the RBER: [`codeword_failure`] at the price of two logarithms.
///
/// Between 1e-8 and 0.5 there are 256 points a decade, with the exact slope at each (cubic Hermite interpolation), and the
/// relative error is below 1e-6 where the probability is above 1e-30. Below 1e-8 the value is computed.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureTable {
    codeword_bits: u32,
    corrects: u32,
    /// ln P at each point, and how much it rises in one step.
    points: Vec<(f64, f64)>,
}

const POINTS_PER_DECADE: f64 = 256.0;
const LEAST: f64 = 1e-8;
const STEP: f64 = std::f64::consts::LN_10 / POINTS_PER_DECADE;

impl FailureTable {
    /// The table for codewords of `codeword_bits` of which `corrects` are corrected.
    #[must_use]
    pub fn new(codeword_bits: u32, corrects: u32) -> Self {
        let steps = libm::ceil((libm::log(0.5) - libm::log(LEAST)) / STEP) as u32;
        let point = |step: u32| {
            let rber = libm::exp(libm::log(LEAST) + f64::from(step) * STEP);
            let (ln, slope) = ln_tail(codeword_bits, corrects, rber);
            (ln, slope * STEP)
        };
        FailureTable { codeword_bits, corrects, points: (0..=steps).map(point).collect() }
    }

    /// The probability that one codeword fails. An RBER above 0.5 is 0.5.
    #[must_use]
    pub fn codeword(&self, rber: f64) -> f64 {
        if rber < LEAST {
            return codeword_failure(self.codeword_bits, self.corrects, rber);
        }
        let place = (libm::log(rber.min(0.5)) - libm::log(LEAST)) / STEP;
        let step = (place.max(0.0) as usize).min(self.points.len() - 2);
        let (low, low_slope) = self.points[step];
        let (high, high_slope) = self.points[step + 1];
        let x = (place - step as f64).clamp(0.0, 1.0);
        let rise = high - low;
        let bend = low_slope - rise + (low_slope + high_slope - 2.0 * rise) * -x;
        let ln = low + rise * x + x * (1.0 - x) * bend;
        libm::exp(ln).min(1.0)
    }

    /// The probability that at least one of `codewords` fails.
    #[must_use]
    pub fn probability(&self, rber: f64, codewords: u32) -> f64 {
        any(self.codeword(rber), codewords)
    }

    /// The same in units of 2⁻⁶⁴: a uniform 64-bit number below it means failure. 1 is 2⁶⁴ − 1.
    #[must_use]
    pub fn failure_threshold(&self, rber: f64, codewords: u32) -> u64 {
        threshold(self.probability(rber, codewords))
    }
}

/// A probability in units of 2⁻⁶⁴, at most 2⁶⁴ − 1.
#[must_use]
pub fn threshold(probability: f64) -> u64 {
    (probability * 18_446_744_073_709_551_616.0) as u64
}
