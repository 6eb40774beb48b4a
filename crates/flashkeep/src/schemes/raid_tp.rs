//! # What it does
//! RAID with three parities (triple-parity RAID, RAID-TP, RAID-Z3): P, the XOR of the data, Q, the sum of the
//! data, each multiplied by another power of the generator of GF(2⁸), and R, the same with the squares of these
//! powers. P moves one member to the left from stripe to stripe; Q and R are on the members after it. Updates
//! are read-modify-write, with reads of the three parities, or reconstruct-write, whichever reads fewer pages.
//!
//! # What it costs
//! Three members of flash. A full-stripe write costs three more programs; a single page written at random
//! costs four reads and four programs.
//!
//! # What it survives
//! Any three of the units it runs over, at any time; with `redundancy.incomplete = "wait"` not the pages of
//! stripes that have never been full.
//!
//! # Example
//! `flashkeep compare synth:sirf-build 8CM-64 --set redundancy.scheme=raid-tp`
//!
//! # Source
//! Leventhal, "Triple-parity RAID and beyond", ACM Queue 2009. The coefficients are those of Anvin, "The
//! mathematics of RAID-6", 2004, with their squares as the third row.

use super::parity::{self, Parity, Rotated};
use super::{SchemeEntry, SchemeOptions, TriedWith, members};

pub(super) const ENTRY: SchemeEntry = SchemeEntry {
    name: "raid-tp",
    summary: "triple-parity RAID: three parities, rotating over the members",
    source: include_str!("raid_tp.rs"),
    members: members::three_parities,
    data_members: Some(|members, _| members - 3),
    survives: |_| 3,
    over_drives: members::over_three_parities,
    formula: |members| members::terms_with_parities(members, 3),
    tried_with: &[TriedWith::BASE, TriedWith { parts: 6, drives: 6, ..TriedWith::BASE }],
    ..parity::WRITTEN_TOGETHER
};

/// Three parities, rotated.
pub type RaidTp = Parity<Rotated<3>>;

pub(super) fn build(options: &SchemeOptions<'_>) -> RaidTp {
    RaidTp::new(options)
}
