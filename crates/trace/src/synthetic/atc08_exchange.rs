//! `atc08-exchange`: a stand-in for the Exchange trace of Agrawal et al., USENIX ATC 2008.
//!
//! *Published*: a mail server, reads to writes as 3:2; it needs ten of the paper's SSDs.
//!
//! *Ours*: sizes of 4 KiB (25 %), 8 KiB (50 %), 16 KiB (20 %), 32 KiB (5 %), since an Exchange database of
//! the time has pages of 4 and 8 KB and writes neighbours together; Zipf (θ = 0.9) over 16 GiB; 500 requests
//! per second and drive.

use super::{PLAIN, Places, Recipe};

pub(super) const RECIPE: Recipe = Recipe {
    source: include_str!("atc08_exchange.rs"),
    name: "atc08-exchange",
    summary: "as Exchange in Design Tradeoffs for SSD Performance: three reads for two writes",
    places: Places::Zipf,
    requests: 200_000,
    write: 0.4,
    size: Some("4KiB:0.25/8KiB:0.5/16KiB:0.2/32KiB:0.05"),
    footprint: Some("16GiB"),
    rate: Some(500.0),
    theta: 0.9,
    ..PLAIN
};
