//! `dvs-sequential`: a stand-in for the Sequential workload of the DVS-RAID paper.
//!
//! *Published* (Table 2): writes of 9.1 KB on average, 18 GB in all; by the text a synthetic workload too,
//! which accesses data "sequentially one by one".
//!
//! *Ours*, not given in the paper; in each case the plainest choice that fits:
//! - a KB is 1,024 bytes and a GB 2³⁰, as the paper's 4 KB pages and 256 KB blocks (64 pages) ask for:
//!   2,074,108 requests make 18 GB;
//! - no reads: the table speaks of writes only, and parity is what the workload is about;
//! - sizes 4 KiB (32.5 %), 8 KiB (37.5 %), 16 KiB (30 %): the mean is exactly 9.1 KiB. Whole pages, so that
//!   no page is merged and every read on behalf of a write is a read for parity;
//! - 24 GiB, the most in round figures that RAID-5 on the paper's drive leaves to the host (32 GiB less 5 %
//!   spare and less an eighth). The 18 GB end before the footprint is covered: on an empty drive all are new
//!   data that fill whole stripes, which is how the paper explains that RAID-5 does well here. Further
//!   requests start again at the front;
//! - Poisson arrivals, 500 per second: about a tenth of what RAID-5 can sustain if every request updates
//!   parity, so that it is not saturated during GC either. Gaps of 50 ms, which close a stripe early in
//!   DVS-RAID, do not occur.

use super::{PLAIN, Places, Recipe};

pub(super) const RECIPE: Recipe = Recipe {
    source: include_str!("dvs_sequential.rs"),
    name: "dvs-sequential",
    summary: "as Sequential in DVS-RAID's Table 2: writes of 9.1 KiB, 18 GiB, 500 a second",
    places: Places::Sequential,
    requests: 2_074_108,
    write: 1.0,
    size: Some("4KiB:0.325/8KiB:0.375/16KiB:0.3"),
    footprint: Some("24GiB"),
    rate: Some(500.0),
    ..PLAIN
};
