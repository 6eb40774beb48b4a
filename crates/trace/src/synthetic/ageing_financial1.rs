//! `ageing-financial1`: a stand-in for financial1 in the ageing study of Kim, Park and Shin.
//!
//! *Published* (Table 1): 77 % writes, and 8, printed as the number of requests. It can only be the mean gap
//! between two requests in ms: a week divided by the requests of the MSR Cambridge traces, or 12 hours
//! over Financial1's.
//!
//! *Ours*, not given in the paper; in each case the plainest choice that fits:
//! - 5,334,948 requests, the public trace's number;
//! - sizes 1 and 2 KiB (25 % each), 4 KiB (43.75 %), 8 KiB (6.25 %), as in `sirf-fin1`;
//! - Zipf (θ = 0.9) over 4 GiB, aligned to 1 KiB: most requests come back to a small part of the drive;
//! - arrivals in bursts, as recorded: one gap in ten is a pause, the others are of a hundredth of the mean.

use super::draw::Bursts;
use super::{PLAIN, Places, Recipe};

pub(super) const RECIPE: Recipe = Recipe {
    source: include_str!("ageing_financial1.rs"),
    name: "ageing-financial1",
    summary: "as financial1 in Table 1 of the ageing study: 77 % writes, one request in 8 ms, in bursts",
    places: Places::Zipf,
    requests: 5_334_948,
    write: 0.77,
    size: Some("1KiB:0.25/2KiB:0.25/4KiB:0.4375/8KiB:0.0625"),
    footprint: Some("4GiB"),
    rate: Some(1000.0 / 8.0),
    bursts: Some(Bursts { pauses: 0.1, speedup: 100.0 }),
    theta: 0.9,
    ..PLAIN
};
