//! `sirf-exchange`: a stand-in for the Exchange trace of the SIRF-1 paper.
//!
//! *Published* (Table III): 67,087 requests, 69.7 % writes, 14 requests per second, 12 KB a request; a mail
//! server, mostly random, a low and fairly even load.
//!
//! *Ours*, not given in the table; in each case the plainest choice that fits:
//! - sizes 8 KiB (75 %), 16 and 32 KiB (12.5 % each): Exchange's database pages of 8 KiB, alone and a few
//!   together; the mean is exactly 12 KiB, and a quarter of the requests has pages to read in parallel;
//! - Poisson arrivals at the published rate;
//! - Zipf (θ = 0.9) over 8 GiB, aligned to 8 KiB: mailboxes are many and differ in use; the footprint fits
//!   the smallest of the paper's drives (32 GB) and exceeds every drive's buffer.

use super::{PLAIN, Places, Recipe};

pub(super) const RECIPE: Recipe = Recipe {
    source: include_str!("sirf_exchange.rs"),
    name: "sirf-exchange",
    summary: "as Exchange in SIRF-1's Table III: 70 % writes of 12 KiB, 14 a second",
    places: Places::Zipf,
    requests: 67_087,
    write: 0.697,
    size: Some("8KiB:0.75/16KiB:0.125/32KiB:0.125"),
    footprint: Some("8GiB"),
    rate: Some(14.0),
    theta: 0.9,
    ..PLAIN
};
