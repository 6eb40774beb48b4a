//! `dvs-financial`: a stand-in for the Financial workload of the DVS-RAID paper.
//!
//! *Published* (Table 2): writes of 10.9 KB on average, 28.8 GB in all; by the text "a random write intensive
//! workload" of transaction processing with "many small random writes", from the UMass repository.
//!
//! *Ours*, not given in the paper; in each case the plainest choice that fits:
//! - a KB is 1,024 bytes and a GB 2³⁰, as in `dvs-sequential`: 2,770,548 writes make 28.8 GB;
//! - 76.8 % writes, the share of Financial1, as the repository's other trace of the kind mostly reads: with
//!   the reads, 3,607,485 requests. Reads are as long as writes. Neither are as short as Financial1's 3 KB:
//!   the paper's table does not say what was merged, or rounded to pages;
//! - sizes 4 KiB (37.5 %), 8 KiB (32.5 %), 16 KiB (17.5 %), 32 KiB (12.5 %): the mean is exactly 10.9 KiB,
//!   and seven writes in eight are less than a stripe. Whole pages, so that no page is merged and every read
//!   on behalf of a write is a read for parity;
//! - Zipf (θ = 0.9) over 4 GiB, aligned to 4 KiB: hot accounts and logs, as in `sirf-fin1`;
//! - 83 requests per second: that many over the 12.1 hours of Financial1;
//! - in bursts, as recorded: one gap in ten, drawn at random, is a pause, and the others are of a sixth of
//!   the mean gap. Both are exponential, with means of 102 and 2.0 ms. So requests of a burst meet, though
//!   the drive is idle most of the time, and 6.1 % of the gaps exceed 50 ms: DVS-RAID writes a partial parity
//!   for some forty pages, far more than in the paper's other workloads. The gaps' deviation is 3.7 times
//!   their mean. In the first 10,000 requests of the public trace it is 3.2 times, 45 % of the gaps are below
//!   0.1 ms and 16 % exceed 50 ms.

use super::draw::Bursts;
use super::{PLAIN, Places, Recipe};

pub(super) const RECIPE: Recipe = Recipe {
    source: include_str!("dvs_financial.rs"),
    name: "dvs-financial",
    summary: "as Financial in DVS-RAID's Table 2: 77 % writes of 10.9 KiB, 28.8 GiB, 83 a second in bursts",
    places: Places::Zipf,
    requests: 3_607_485,
    write: 0.768,
    size: Some("4KiB:0.375/8KiB:0.325/16KiB:0.175/32KiB:0.125"),
    footprint: Some("4GiB"),
    rate: Some(83.0),
    bursts: Some(Bursts { pauses: 0.1, speedup: 6.0 }),
    theta: 0.9,
    ..PLAIN
};
