//! # What it does
//! RAID-5 with two parities: P, the XOR of the data, and Q, the sum of the data, each multiplied by another
//! power of the generator of GF(2⁸). P moves one member to the left from stripe to stripe; Q is on the member
//! after it. Updates are read-modify-write, with reads of both parities, or reconstruct-write, whichever
//! reads fewer pages.
//!
//! # What it costs
//! Two members of flash. A full-stripe write costs two more programs; a single page written at random costs
//! three reads and three programs.
//!
//! # What it survives
//! Any two of the units it runs over, at any time; with `redundancy.incomplete = "wait"` not the pages of
//! stripes that have never been full.
//!
//! # Example
//! `flashkeep compare synth:sirf-build 8CM-64 --set redundancy.scheme=raid6`
//!
//! # Source
//! Anvin, "The mathematics of RAID-6", 2004.

use super::parity::{self, Parity, Rotated};
use super::{SchemeEntry, SchemeOptions, members};

pub(super) const ENTRY: SchemeEntry = SchemeEntry {
    name: "raid6",
    summary: "RAID-6: two parities, rotating over the members",
    source: include_str!("raid6.rs"),
    members: members::two_parities,
    data_members: Some(|members, _| members - 2),
    survives: |_| 2,
    over_drives: members::over_two_parities,
    formula: |members| members::terms_with_parities(members, 2),
    ..parity::WRITTEN_TOGETHER
};

/// Two parities, rotated.
pub type Raid6 = Parity<Rotated<2>>;

pub(super) fn build(options: &SchemeOptions<'_>) -> Raid6 {
    Raid6::new(options)
}
