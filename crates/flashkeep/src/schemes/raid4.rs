//! # What it does
//! Stripes across all members, of one page each: data, and their XOR on the last member, written together. An update of
//! a part of a stripe reads what it must to work the parity out: the old data and the old parity (read-modify-write),
//! or the data that stay (reconstruct-write), whichever are fewer pages. Pages that were never written, or trimmed,
//! are known zeros and are not read. The old version of a page that is written in part has just been read and is
//! not read again.
//!
//! With `redundancy.incomplete = "wait"`, a stripe that has never been full has no parity until it is, or until the host
//! has been idle for `redundancy.idle_ms`.
//!
//! # What it costs
//! One member of flash. Every write of any stripe writes the last member: with small random updates it works as hard as
//! all the others together, and it wears out first.
//!
//! # What it survives
//! Any one of the units it runs over, at any time; with `incomplete = "wait"` not the pages that wait.
//!
//! # Example
//! `flashkeep compare synth:sirf-build 8CM-64 --set redundancy.scheme=raid4`
//!
//! # Source
//! Patterson, Gibson and Katz, "A case for redundant arrays of inexpensive disks (RAID)", SIGMOD 1988.

use super::parity::{Fixed, Parity};
use super::{Entry, Idle, Incompletes, Inside, Options, Part, Rebuilds, Striping, Sums, members};

pub(super) const ENTRY: Entry = Entry {
    name: "raid4",
    summary: "RAID-4: one parity, on the last member",
    source: include_str!("raid4.rs"),
    options: &[
        Part::of::<Inside>(),
        Part::of::<Striping>(),
        Part::of::<Incompletes>(),
        Part::of::<Idle>(),
        Part::of::<Sums>(),
        Part::of::<Rebuilds>(),
    ],
    members: members::one_parity,
    data_members: |members, _| members - 1,
    survives: |_| 1,
    over_drives: members::over_one_parity,
    ..Entry::BASE
};

/// One parity, on the last member.
pub type Raid4 = Parity<Fixed>;

pub(super) fn build(options: &Options<'_>) -> Raid4 {
    Raid4::new(options)
}
