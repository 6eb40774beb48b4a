//! `atc08-tpcc`: a stand-in for the TPC-C trace of Agrawal et al., USENIX ATC 2008.
//!
//! *Published*: requests of 8 KB, "twice as many reads" as writes; alignment is important. The paper's SSDs
//! are six on 14 RAID controllers' disks, and a gang of eight packages serves 1,087 of its requests per
//! second.
//!
//! *Ours*, because the paper leaves it open: uniform over the footprint (a database of 16,000 warehouses has
//! hot pages in the host's memory), 500 requests per second and drive, Poisson, so that a gang of eight
//! packages that share a bus is busy a fifth of the time and one of sixteen with twice the requests two
//! fifths.

use super::{PLAIN, Places, Recipe};

pub(super) const RECIPE: Recipe = Recipe {
    source: include_str!("atc08_tpcc.rs"),
    name: "atc08-tpcc",
    summary: "as TPC-C in Design Tradeoffs for SSD Performance: 8 KiB, one write for two reads",
    places: Places::Random,
    requests: 200_000,
    write: 1.0 / 3.0,
    size: Some("8KiB"),
    footprint: Some("16GiB"),
    rate: Some(500.0),
    ..PLAIN
};
