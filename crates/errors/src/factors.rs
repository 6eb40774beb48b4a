//! Blocks and layers differ: a log-normal factor on the RBER of each.
//!
//! The factors have mean 1, not median 1: constants are fitted to means over many blocks, and a spread around them
//! should leave a drive's mean RBER where it was. A factor's median is thus exp(−σ²/2). With σ = 0 a factor is exactly 1.

use crate::draw::Stream;

fn factor(seed: u64, name: &str, index: u64, sigma: f64) -> f64 {
    if sigma == 0.0 {
        return 1.0;
    }
    libm::exp(sigma * Stream::new(seed, name, index).normal() - 0.5 * sigma * sigma)
}

/// The factor of a block. `sigma` is the standard deviation of its logarithm.
#[must_use]
pub fn block(seed: u64, block: u64, sigma: f64) -> f64 {
    factor(seed, "errors: blocks", block, sigma)
}

/// The factor of a layer (of all blocks). `sigma` is the standard deviation of its logarithm.
#[must_use]
pub fn layer(seed: u64, layer: u64, sigma: f64) -> f64 {
    factor(seed, "errors: layers", layer, sigma)
}
