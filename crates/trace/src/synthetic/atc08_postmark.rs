//! `atc08-postmark`: a stand-in for the Postmark trace of Agrawal et al., USENIX ATC 2008.
//!
//! *Published*: a file system benchmark on one SSD; cleaned blocks are empty (efficiency 100 %).
//!
//! *Ours*: 90 % writes, as the benchmark's small files live in the host's memory; 64 KiB (60 %), 128 KiB (30
//! %) and 256 KiB (10 %), in order through 2 GiB as its log-like flushes go; 100 requests per second.

use super::{PLAIN, Places, Recipe};

pub(super) const RECIPE: Recipe = Recipe {
    source: include_str!("atc08_postmark.rs"),
    name: "atc08-postmark",
    summary: "as Postmark in Design Tradeoffs for SSD Performance: flushes of small files",
    places: Places::Sequential,
    requests: 100_000,
    write: 0.9,
    size: Some("64KiB:0.6/128KiB:0.3/256KiB:0.1"),
    footprint: Some("2GiB"),
    rate: Some(100.0),
    ..PLAIN
};
