//! # What it does
//! Dynamic striping: pages are written in the order in which they arrive, whichever addresses they have, each to the next
//! member of a row (page r of every member). Once a row has its N − 1 data pages, their parity, which the controller
//! has added up on the way, goes to member N − 1 − (r mod N). A page that is written again goes to the open row like
//! any other; its old copy stays readable, and part of its stripe, until the group of blocks that it lies in (the same
//! block of every member) is cleaned: what the group still holds is copied into new stripes of a group that is kept
//! empty, and it is erased. The scheme is its own translation layer.
//!
//! # What it costs
//! One member's worth of capacity. One parity page for N − 1 data pages, and no reads: N/(N − 1) programs a page, at
//! random as well as in sequence. Cleaning works on the blocks of all members at a time. Until a row is full, its
//! pages have no parity on flash: one unit's failure is survived all the same, from the sum in the controller's memory,
//! but not a power failure after it.
//!
//! # What it survives
//! Any one of the units it runs over. Without a replacement, stripes are written over the members that are left, as far
//! as there is room for that; into a spare unit, the stripes are completed in place.
//!
//! # Example
//! `flashkeep run 8CM-256 synth:sirf-fin1 --set redundancy.scheme=ds`
//!
//! # Source
//! Kim, Lee, Choi, Lee and Noh, "Enhancing SSD Reliability through Efficient RAID Support" (APSys 2012), section 4,
//! where it is what DVS-RAID is compared with. When cleaning begins (`ftl.gc.threshold` of the groups are left, or one)
//! and that what is left of a cleaned group's new place goes to the host are choices of ours.

use super::log::{self, Log, Policy, Widths};
use super::{Entry, Inside, Members, Options, Part, Rebuilds, Sums, members};

pub(super) const ENTRY: Entry = Entry {
    name: "ds",
    summary: "DS-RAID: stripes in the order of arrival, parity when a row is full",
    source: include_str!("ds.rs"),
    options: &[Part::of::<Inside>(), Part::of::<Sums>(), Part::of::<Rebuilds>()],
    members: log::members,
    data_members: |members, _| members - 1,
    survives: |_| 1,
    kind: Members::Raw,
    over_drives: members::in_the_log,
    ..Entry::BASE
};

/// Dynamic striping.
pub type Ds = Log;

pub(super) fn build(options: &Options<'_>) -> Ds {
    let policy = Policy { timeout: None, widths: Widths::all(options.members) };
    Log::new(options, policy)
}
