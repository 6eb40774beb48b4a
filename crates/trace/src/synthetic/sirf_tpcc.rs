//! `sirf-tpcc`: a stand-in for the TPC-C trace of the SIRF-1 paper.
//!
//! *Published* (Table III): 368,606 requests, 33.5 % writes, 301 requests per second, 8 KB a request; a
//! database server, predominantly random.
//!
//! *Ours*, not given in the table; in each case the plainest choice that fits:
//! - sizes 8 KiB (7 in 8), 4 KiB (1 in 12) and 16 KiB (1 in 24): the database's pages of 8 KiB, a log's
//!   clusters and some pages read together; the mean is exactly 8 KiB;
//! - Poisson arrivals at the published rate;
//! - Zipf (θ = 0.6, a mild skew) over 16 GiB, aligned to 4 KiB: TPC-C's own access is skewed (Leutenegger and
//!   Dias 1993), and the database's buffer has taken the steepest part of it.

use super::{PLAIN, Places, Recipe};

pub(super) const RECIPE: Recipe = Recipe {
    source: include_str!("sirf_tpcc.rs"),
    name: "sirf-tpcc",
    summary: "as TPC-C in SIRF-1's Table III: 34 % writes of 8 KiB, 301 a second",
    places: Places::Zipf,
    requests: 368_606,
    write: 0.335,
    size: Some("8KiB:21/4KiB:2/16KiB:1"),
    footprint: Some("16GiB"),
    rate: Some(301.0),
    theta: 0.6,
    ..PLAIN
};
