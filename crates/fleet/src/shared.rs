//! Factors of hazards that the drives of a group share: a gamma number, or 1.

use flashkeep_errors::draw::Stream;

/// A gamma factor of shape 1/`inverse_shape`, or 1 if that is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shared {
    inverse_shape: f64,
    scale: f64,
}

impl Shared {
    /// A factor of mean 1 and this variance.
    pub(crate) fn of_variance(variance: f64) -> Shared {
        Shared { inverse_shape: variance, scale: variance }
    }

    /// A factor whose logarithm has the mean 0 and this standard deviation.
    pub(crate) fn of_log_spread(spread: f64) -> Shared {
        if spread == 0.0 {
            return Shared::of_variance(0.0);
        }
        // The variance of the logarithm of a gamma number is the trigamma function of its shape, which falls.
        let (mut low, mut high) = (-60.0_f64, 60.0_f64);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            if trigamma(libm::exp(middle)) > spread * spread { low = middle } else { high = middle }
        }
        let shape = libm::exp((low + high) / 2.0);
        Shared { inverse_shape: 1.0 / shape, scale: libm::exp(-digamma(shape)) }
    }

    /// The logarithm of the probability that nothing has happened whose hazard, without the factor, is this one.
    pub(crate) fn log_none(&self, hazard: f64) -> f64 {
        if self.inverse_shape > 0.0 {
            -libm::log1p(self.scale * hazard) / self.inverse_shape
        } else {
            -hazard
        }
    }

    /// The hazard, without the factor, at which this is the logarithm of the probability.
    pub(crate) fn hazard_at(&self, log_none: f64) -> f64 {
        if self.inverse_shape > 0.0 {
            libm::expm1(-self.inverse_shape * log_none) / self.scale
        } else {
            -log_none
        }
    }

    /// The factor of a group in which this number of events have happened (0 or 1) by the time of this hazard: gamma
    /// again.
    pub(crate) fn draw(&self, hazard: f64, happened: f64, stream: &mut Stream) -> f64 {
        if self.inverse_shape == 0.0 {
            return 1.0;
        }
        let shape = 1.0 / self.inverse_shape + happened;
        stream.gamma(shape) * shape / (1.0 / self.scale + hazard)
    }
}

/// The derivative of ln Γ, by its asymptotic series above 8.
fn digamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 8.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    sum + libm::log(x) - 0.5 / x - square * (1.0 / 12.0 - square * (1.0 / 120.0 - square / 252.0))
}

/// The derivative of that one.
fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 8.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    sum + 1.0 / x + square / 2.0 + square / x * (1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0))
}

#[cfg(test)]
mod tests {
    use super::{Shared, Stream, digamma, trigamma};

    #[test]
    fn derivatives_of_ln_gamma_are_those_of_tables() {
        let euler = 0.577_215_664_901_532_9;
        let squares = std::f64::consts::PI * std::f64::consts::PI;
        for (found, expected) in [
            (digamma(1.0), -euler),
            (digamma(0.5), -euler - 2.0 * std::f64::consts::LN_2),
            (trigamma(1.0), squares / 6.0),
            (trigamma(0.5), squares / 2.0),
        ] {
            assert!((found / expected - 1.0).abs() < 1e-8, "{found} instead of {expected}");
        }
    }

    #[test]
    fn the_spread_is_that_of_the_logarithm() {
        for spread in [0.05, 1.0, 3.0] {
            let shared = Shared::of_log_spread(spread);
            let mut stream = Stream::new(1, "test", 0);
            let drawn: Vec<f64> =
                (0..40_000).map(|_| libm::log(shared.draw(0.0, 0.0, &mut stream))).collect();
            let mean = drawn.iter().sum::<f64>() / 40_000.0;
            let square = drawn.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 40_000.0;
            assert!(mean.abs() < 0.03 * spread, "{mean}");
            assert!((libm::sqrt(square) / spread - 1.0).abs() < 0.04, "{square}");
        }
    }
}
