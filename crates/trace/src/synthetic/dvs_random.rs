//! `dvs-random`: a stand-in for the Random workload of the DVS-RAID paper.
//!
//! *Published* (Table 2): writes of 12.6 KB on average, 18 GB in all; by the text a synthetic workload too,
//! which accesses data "randomly with uniform distribution".
//!
//! *Ours*, not given in the paper; in each case the plainest choice that fits:
//! - a KB is 1,024 bytes and a GB 2³⁰, as in `dvs-sequential`: 1,497,966 requests make 18 GB;
//! - no reads: the table speaks of writes only, and parity is what the workload is about;
//! - sizes 4 KiB (25 %), 8 KiB (35 %), 16 KiB (25 %), 32 KiB (15 %): the mean is exactly 12.6 KiB, and most
//!   writes are less than a stripe of seven pages of data. Whole pages, so that no page is merged;
//! - 24 GiB, as in `dvs-sequential`: all but the whole drive, whichever of the paper's schemes it has;
//! - Poisson arrivals, 200 per second. On a full drive with 5 % to spare, GC moves several pages for each
//!   written page, and parity adds half as much again: by a first-order model of ours, RAID-5 is then two
//!   fifths busy, and would be saturated just below 500 per second. One gap in 22,000 exceeds 50 ms, so that
//!   DVS-RAID closes hardly any stripe early.

use super::{PLAIN, Places, Recipe};

pub(super) const RECIPE: Recipe = Recipe {
    source: include_str!("dvs_random.rs"),
    name: "dvs-random",
    summary: "as Random in DVS-RAID's Table 2: writes of 12.6 KiB, 18 GiB, 200 a second",
    places: Places::Random,
    requests: 1_497_966,
    write: 1.0,
    size: Some("4KiB:0.25/8KiB:0.35/16KiB:0.25/32KiB:0.15"),
    footprint: Some("24GiB"),
    rate: Some(200.0),
    ..PLAIN
};
