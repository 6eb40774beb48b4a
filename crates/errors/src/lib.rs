//! The error model of flash: how many bits of a page are wrong, and what a controller makes of them.
//!
//! | module | question |
//! |---|---|
//! | [`rber`] | what share of the bits read is wrong (RBER), from wear, retention and reads |
//! | [`table`] | the same, from measurements in a CSV file |
//! | [`ecc`] | how likely is it that a codeword, or a page, cannot be corrected |
//! | [`chain`] | which stage of a read succeeds: hard decoding, retries, soft decoding |
//! | [`stripe`] | how likely is it that parity cannot help |
//! | [`lifetime`] | after how many P/E cycles is the UBER too high |
//! | [`field`] | how often whole drives report uncorrectable errors in the field |
//! | [`factors`], [`draw`] | differences between blocks and layers, and the random numbers they come from |
//!
//! A simulator needs three calls: [`Rber::at`](rber::Rber::at) for the page that is read,
//! [`uniform`](draw::uniform) for the read's number, and [`ReadChain::read`](chain::ReadChain::read) for what happens.
//! Nothing here keeps state, so no result depends on the order of calls or on threads. Logarithms and powers are those
//! of `libm`, which are the same on every machine.
//!
//! ```
//! use flashkeep_errors::{chain::{ReadChain, Retry}, draw::uniform, ecc::Code, rber::{Conditions, Rber, preset}};
//!
//! let rber = Rber::kim(preset("tlc-72l").unwrap().model);
//! let chain = ReadChain::new(Code::new(9200, 8192, 72, None)?, Retry::new(4, 0.72, 0.0)?);
//! let worn = rber.at(Conditions { cycles: 3000.0, days: 365.0, reads: 0.0 }, 1.0);
//! let read = chain.read(worn, 16, uniform(1, 77, 5, 3000, 0));
//! assert_eq!(read.retries, 2);
//! # Ok::<(), flashkeep_errors::Invalid>(())
//! ```
#![forbid(unsafe_code)]

pub mod chain;
pub mod draw;
pub mod ecc;
pub mod factors;
pub mod field;
pub mod lifetime;
pub mod rber;
pub mod stripe;
pub mod table;

/// A value that makes no sense: which one, the value found, and the accepted ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The value's name in a drive file: `corrects`.
    pub field: &'static str,
    /// States the value found and the values accepted.
    pub message: String,
}

impl Invalid {
    /// A value of `field` that is not accepted.
    pub fn new(field: &'static str, message: impl Into<String>) -> Self {
        Invalid { field, message: message.into() }
    }
}

impl std::fmt::Display for Invalid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

impl std::error::Error for Invalid {}

/// Refuses a value that is not a number between two bounds (both accepted).
///
/// # Errors
/// The value found, and the bounds.
pub fn within(field: &'static str, value: f64, low: f64, high: f64) -> Result<f64, Invalid> {
    if value >= low && value <= high {
        return Ok(value);
    }
    Err(Invalid::new(field, format!("{value} is not accepted: from {low} to {high}")))
}
