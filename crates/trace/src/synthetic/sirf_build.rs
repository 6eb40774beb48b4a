//! `sirf-build`: a stand-in for the Build trace of the SIRF-1 paper.
//!
//! *Published* (Table III): 209,020 requests, 28.1 % writes, 28 requests per second, 8 KB a request; a
//! Windows build server, a low load.
//!
//! *Ours*, not given in the table; in each case the plainest choice that fits:
//! - sizes 4 KiB (10 %), 8 KiB (85 %), 16 KiB (5 %): the mean is exactly 8 KiB, and most requests are of the
//!   mean size. The table gives no spread, but the paper's own result narrows it: a mirror can speed up reads
//!   of one page only by shorter queues, so reads that gain 44.5 % on an idle drive are mostly of two pages;
//! - Poisson arrivals at the published rate;
//! - Zipf (θ = 0.9) over 8 GiB, aligned to 4 KiB: headers and tools are read over and over;
//! - three requests in ten continue where the one before ended: files are read from front to back.

use super::{PLAIN, Places, Recipe};

pub(super) const RECIPE: Recipe = Recipe {
    source: include_str!("sirf_build.rs"),
    name: "sirf-build",
    summary: "as Build in SIRF-1's Table III: 28 % writes of 8 KiB, 28 a second",
    places: Places::Zipf,
    requests: 209_020,
    write: 0.281,
    size: Some("4KiB:0.1/8KiB:0.85/16KiB:0.05"),
    footprint: Some("8GiB"),
    rate: Some(28.0),
    theta: 0.9,
    continued: 0.3,
    ..PLAIN
};
