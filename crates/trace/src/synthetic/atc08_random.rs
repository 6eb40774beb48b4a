//! `atc08-random`: the random validation runs of the SSD extension of DiskSim, request by request.
//!
//! *Published* (the extension's parameter files): 2,000 requests per second, gaps uniform up to 1 ms, sizes
//! exponential with a mean of 8 sectors, places uniform over 877,363 pages, 250,000 or 5,000,000 requests
//! that all read or all write. With `--seed 1` the numbers are DiskSim's own ([`super::disksim`]).

use super::{PLAIN, Places, Recipe};

pub(super) const RECIPE: Recipe = Recipe {
    source: include_str!("atc08_random.rs"),
    name: "atc08-random",
    summary: "DiskSim's SSD extension: its random validation runs, 2,000 a second, 6.3 KiB on average",
    places: Places::Disksim,
    requests: 250_000,
    write: 1.0,
    size: Some("4KiB"),
    footprint: Some("3593678848"),
    rate: Some(2000.0),
    ..PLAIN
};
