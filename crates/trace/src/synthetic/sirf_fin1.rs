//! `sirf-fin1`: a stand-in for the Financial1 trace of the SIRF-1 paper.
//!
//! *Published* (Table III): 5,334,948 requests, 76.8 % writes, 123 requests per second, 3 KB a request;
//! transaction processing, small and random, mostly writes.
//!
//! *Ours*, not given in the table; in each case the plainest choice that fits:
//! - sizes 1 KiB and 2 KiB (25 % each), 4 KiB (43.75 %), 8 KiB (6.25 %): the mean is exactly 3 KiB;
//! - aligned to 1 KiB, as the public trace's requests are not aligned to pages either: a request may touch
//!   two pages and writes mostly are of parts of pages, which is what the paper's read-before-update costs
//!   come from;
//! - Poisson arrivals at the published rate; the recorded ones come in bursts, so that queues are shorter
//!   here;
//! - Zipf (θ = 0.9) over 4 GiB: hot accounts and logs.

use super::{PLAIN, Places, Recipe};

pub(super) const RECIPE: Recipe = Recipe {
    source: include_str!("sirf_fin1.rs"),
    name: "sirf-fin1",
    summary: "as Financial1 in SIRF-1's Table III: 77 % writes of 3 KiB, 123 a second",
    places: Places::Zipf,
    requests: 5_334_948,
    write: 0.768,
    size: Some("1KiB:0.25/2KiB:0.25/4KiB:0.4375/8KiB:0.0625"),
    footprint: Some("4GiB"),
    rate: Some(123.0),
    theta: 0.9,
    ..PLAIN
};
