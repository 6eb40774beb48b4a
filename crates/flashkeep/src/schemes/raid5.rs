//! # What it does
//! Stripes of one page per member: data, and their XOR, written together. Parity moves one member to the left
//! from stripe to stripe; the data count upwards over the members and skip it. An update of part of a stripe
//! first reads the pages that the new parity needs: the old data and the old parity (read-modify-write) or
//! the unchanged data (reconstruct-write), whichever are fewer. Pages that were never written, or trimmed,
//! are known zeros and are not read. The old version of a page in a partial-page write has just been read and
//! is not read again.
//!
//! With `redundancy.incomplete = "wait"`, a stripe that has never been full gets its parity when it is full,
//! which costs no reads, or when the host has been idle for `redundancy.idle_ms`.
//!
//! # What it costs
//! One member of flash. A full-stripe write costs one more program; a single page written at random costs two
//! reads and two programs.
//!
//! # What it survives
//! Any one of the units it runs over, at any time; with `incomplete = "wait"` not the pages of stripes that
//! wait.
//!
//! # Example
//! `flashkeep compare synth:sirf-build 8CM-64 --set redundancy.scheme=raid5 --set redundancy.across=chip`
//!
//! # Source
//! Patterson, Gibson and Katz, "A case for redundant arrays of inexpensive disks (RAID)", SIGMOD 1988. Inside
//! a drive it is the baseline of Kim, Lee, Choi, Lee and Noh, "Enhancing SSD reliability through efficient
//! RAID support" (DVS-RAID), whose figure 1 gives the rotation and the choice between the two update methods,
//! and whose stripes wait until they are full.

use super::parity::{self, Parity, Rotated};
use super::{SchemeEntry, SchemeOptions, TriedWith, members};

pub(super) const ENTRY: SchemeEntry = SchemeEntry {
    name: "raid5",
    summary: "RAID-5: one parity, rotating over the members",
    source: include_str!("raid5.rs"),
    formula: |members| members::terms_with_parities(members, 1),
    tried_with: &[TriedWith::BASE, TriedWith { parts: 3, drives: 3, ..TriedWith::BASE }],
    ..parity::WRITTEN_TOGETHER
};

/// One parity, rotated.
pub type Raid5 = Parity<Rotated<1>>;

pub(super) fn build(options: &SchemeOptions<'_>) -> Raid5 {
    Raid5::new(options)
}
