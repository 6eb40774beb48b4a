//! `atc08-iozone`: a stand-in for the IOzone trace of Agrawal et al., USENIX ATC 2008.
//!
//! *Published*: a file system benchmark on one SSD; cleaned blocks are empty (efficiency 100 %). The extract
//! that comes with the extension has 107 requests per second, all of them writes, 360 KB on average.
//!
//! *Ours*: 256 KiB (50 %), 384 KiB (25 %) and 512 KiB (25 %), the mean 352 KiB; in order through 4 GiB, over
//! and over, so that a block is rewritten as a whole.

use super::{PLAIN, Places, Recipe};

pub(super) const RECIPE: Recipe = Recipe {
    source: include_str!("atc08_iozone.rs"),
    name: "atc08-iozone",
    summary: "as IOzone in Design Tradeoffs for SSD Performance: long sequential writes",
    places: Places::Sequential,
    requests: 100_000,
    write: 1.0,
    size: Some("256KiB:0.5/384KiB:0.25/512KiB:0.25"),
    footprint: Some("4GiB"),
    rate: Some(107.0),
    ..PLAIN
};
