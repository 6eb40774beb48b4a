//! `ageing-ts`: a stand-in for ts_0 in the ageing study of Kim, Park and Shin.
//!
//! *Published* (Table 1): 82 % writes, and 388, printed as the number of requests. It can only be the mean
//! gap between two requests in ms: a week divided by the requests of the MSR Cambridge traces, or 12
//! hours over Financial1's.
//!
//! *Ours*, not given in the paper; in each case the plainest choice that fits:
//! - 1,801,734 requests, the public trace's number;
//! - sizes 4 KiB (60 %), 8 KiB (20 %), 16 KiB (15 %), 32 KiB (5 %): a mean of 8 KiB;
//! - Zipf (θ = 0.9) over 2 GiB, aligned to 4 KiB: most requests come back to a small part of the drive;
//! - arrivals in bursts, as recorded: one gap in ten is a pause, the others are of a hundredth of the mean.

use super::draw::Bursts;
use super::{PLAIN, Places, Recipe};

pub(super) const RECIPE: Recipe = Recipe {
    source: include_str!("ageing_ts.rs"),
    name: "ageing-ts",
    summary: "as ts_0 in Table 1 of the ageing study: 82 % writes, one request in 388 ms, in bursts",
    places: Places::Zipf,
    requests: 1_801_734,
    write: 0.82,
    size: Some("4KiB:0.6/8KiB:0.2/16KiB:0.15/32KiB:0.05"),
    footprint: Some("2GiB"),
    rate: Some(1000.0 / 388.0),
    bursts: Some(Bursts { pauses: 0.1, speedup: 100.0 }),
    theta: 0.9,
    ..PLAIN
};
