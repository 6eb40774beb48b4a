//! `sirf-build`: a stand-in for the Build trace of the SIRF-1 paper.
//!
//! *Published* (Table III): 209,020 requests, 28.1 % writes, 28 requests a second, 8 KB a request; a Windows build
//! server, a low load.
//!
//! *Ours*, because the table leaves it open, each the plainest choice that fits:
//! - sizes 4 KiB (62.5 %), 8 KiB (18.75 %), 16 KiB (12.5 %), 32 KiB (6.25 %): small files and read-ahead on clusters
//!   of 4 KiB; the mean is exactly 8 KiB;
//! - Poisson arrivals at the published rate;
//! - Zipf (θ = 0.9) over 8 GiB, aligned to 4 KiB: headers and tools are read over and over;
//! - three requests in ten go on where the one before ended: files are read from front to back.

use super::{Places, Recipe};

pub(super) const RECIPE: Recipe = Recipe {
    name: "sirf-build",
    summary: "as Build in SIRF-1's Table III: 28 % writes of 8 KiB, 28 a second",
    places: Places::Zipf,
    requests: 209_020,
    write: 0.281,
    size: Some("4KiB:0.625/8KiB:0.1875/16KiB:0.125/32KiB:0.0625"),
    footprint: Some("8GiB"),
    rate: Some(28.0),
    theta: 0.9,
    continued: 0.3,
};
