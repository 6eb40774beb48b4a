//! The probability that a fleet of redundant arrays loses data.
//!
//! | module | contents |
//! |---|---|
//! | [`times`] | distributions of lives, repairs and other times |
//! | [`model`] | a group of drives: its tolerance, failures, wear, repairs, latent errors and correlations |
//! | [`fatal`] | codes that survive some patterns of more failures than others |
//! | [`chain`] | the Markov chain of a group whose times are all exponential |
//! | [`exact`] | the transient solution of that chain, without cancellation |
//! | [`biasing`] | forcing and balanced failure biasing on that chain |
//! | [`group`] | a group of drives, event by event, with any distributions |
//! | [`plain`], [`splitting`] | Monte Carlo and fixed splitting on these events |
//! | [`sampling`] | batches of paths on threads, their sums, and when to stop |
//! | [`estimate`] | chooses a method and reports |
//! | [`levels`] | arrays of arrays |
//! | `joint` | the Markov chain of several groups under a level with redundancy |
//!
//! Times are in hours, and a year has 8,760. Random numbers are functions of the seed and of the number of a batch,
//! and sums are added in the order of batches, so results do not depend on the number of threads. Logarithms and powers
//! are those of `libm`, which are the same on every machine.
//!
//! ```
//! use flashkeep_fleet::estimate::{Wanted, estimate};
//! use flashkeep_fleet::model::Group;
//! use flashkeep_fleet::times::{Life, Time};
//!
//! let group = Group::new(8, 2, Life::of_afr(0.01)?, Time::exponential("repair", 24.0)?)?;
//! let found = estimate(&group, &Wanted { years: 5.0, ..Wanted::default() })?;
//! assert!((found.p_loss.value / 6.393618e-9 - 1.0).abs() < 1e-6);
//! # Ok::<(), flashkeep_fleet::Invalid>(())
//! ```
#![forbid(unsafe_code)]

pub mod biasing;
pub mod chain;
pub mod estimate;
pub mod exact;
pub mod fatal;
pub mod group;
mod joint;
pub mod levels;
pub mod model;
pub mod plain;
pub mod sampling;
mod shared;
pub mod splitting;
pub mod times;

/// Hours in a year.
pub const YEAR: f64 = 8760.0;

pub use flashkeep_errors::Invalid;
pub(crate) use flashkeep_errors::within;
