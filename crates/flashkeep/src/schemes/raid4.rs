//! # What it does
//! Stripes of one page per member: data, and their XOR on the last member, written together. An update of
//! part of a stripe first reads the pages that the new parity needs: the old data and the old parity
//! (read-modify-write) or the unchanged data (reconstruct-write), whichever are fewer. Pages that were never
//! written, or trimmed, are known zeros and are not read. The old version of a page in a partial-page write
//! has just been read and is not read again.
//!
//! With `redundancy.incomplete = "wait"`, a stripe that has never been full gets its parity when it is full,
//! or when the host has been idle for `redundancy.idle_ms`.
//!
//! # What it costs
//! One member of flash. Every write of any stripe writes the last member: with small random updates it does
//! as much work as all the others together, and wears out first.
//!
//! # What it survives
//! Any one of the units it runs over, at any time; with `incomplete = "wait"` not the pages of stripes that
//! wait.
//!
//! # Example
//! `flashkeep compare synth:sirf-build 8CM-64 --set redundancy.scheme=raid4`
//!
//! # Source
//! Patterson, Gibson and Katz, "A case for redundant arrays of inexpensive disks (RAID)", SIGMOD 1988.

use super::parity::{self, Fixed, Parity};
use super::{SchemeEntry, SchemeOptions};

pub(super) const ENTRY: SchemeEntry = SchemeEntry {
    name: "raid4",
    summary: "RAID-4: one parity, on the last member",
    source: include_str!("raid4.rs"),
    ..parity::WRITTEN_TOGETHER
};

/// One parity, on the last member.
pub type Raid4 = Parity<Fixed>;

pub(super) fn build(options: &SchemeOptions<'_>) -> Raid4 {
    Raid4::new(options)
}
