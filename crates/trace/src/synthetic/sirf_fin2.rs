//! `sirf-fin2`: a stand-in for the Financial2 trace of the SIRF-1 paper.
//!
//! *Published* (Table III): 3,698,863 requests, 17.7 % writes, 92 requests per second, 4 KB a request;
//! transaction processing, small and random, mostly reads.
//!
//! *Ours*, not given in the table; in each case the plainest choice that fits:
//! - sizes 1 KiB (12.5 %), 2 KiB (37.5 %), 4 KiB (28.125 %), 8 KiB (18.75 %), 16 KiB (3.125 %): the mean is
//!   exactly 4 KiB, and a fifth of the reads has pages to read in parallel;
//! - aligned to 1 KiB, as the public trace's requests are not aligned to pages either;
//! - Poisson arrivals at the published rate; the recorded ones come in bursts, so that queues are shorter
//!   here;
//! - Zipf (θ = 0.9) over 4 GiB: hot accounts.

use super::{PLAIN, Places, Recipe};

pub(super) const RECIPE: Recipe = Recipe {
    source: include_str!("sirf_fin2.rs"),
    name: "sirf-fin2",
    summary: "as Financial2 in SIRF-1's Table III: 18 % writes of 4 KiB, 92 a second",
    places: Places::Zipf,
    requests: 3_698_863,
    write: 0.177,
    size: Some("1KiB:0.125/2KiB:0.375/4KiB:0.28125/8KiB:0.1875/16KiB:0.03125"),
    footprint: Some("4GiB"),
    rate: Some(92.0),
    theta: 0.9,
    ..PLAIN
};
