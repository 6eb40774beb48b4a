//! # What it does
//! Dynamic striping, a log-structured scheme: pages are written in the order of their arrival, independent of
//! their addresses, each to the next member of a superpage (page r of every member). The controller accumulates the
//! parity on the way. When a superpage has its N − 1 data pages, the parity goes to member N − 1 − (r mod N). An
//! overwritten page goes to the open superpage like any other. Its old copy stays readable, and part of its stripe,
//! until GC reclaims its superblock (the same block of every member): GC copies the valid pages into new
//! stripes of a reserved superblock, then erases the victim. The scheme is its own translation layer.
//!
//! Over drives a superblock is an extent of `redundancy.extent_kib` on each of them, erased by a TRIM, and every write
//! also writes a page of a journal, which is read after a power loss.
//!
//! # What it costs
//! One member's worth of capacity. One parity page per N − 1 data pages, and no reads: N/(N − 1) programs per
//! page, for random and sequential writes. GC works on the blocks of all members at a time. Until a superpage is
//! full, its pages have no parity on flash. The failure of one unit is survived nevertheless, with the sum in
//! the controller's memory, but not a power loss after it.
//!
//! # What it survives
//! Any one of the units it runs over. Without a replacement, stripes are rewritten over the remaining
//! members, as far as there is room. With a hot spare, the stripes are completed in place.
//!
//! # Example
//! `flashkeep run 8CM-256 synth:sirf-fin1 --set redundancy.scheme=ds`
//!
//! # Source
//! Kim, Lee, Choi, Lee and Noh, "Enhancing SSD Reliability through Efficient RAID Support" (APSys 2012),
//! section 4, which compares it with DVS-RAID. Ours: GC starts when `ftl.gc.threshold` of the superblocks are
//! left, or one, and the host uses the rest of the superblock that GC copied to.

use super::log::{self, Policy, StripeLog, Widths};
use super::{Extents, Inside, Members, OptionsPart, Reads, Rebuilds, SchemeEntry, SchemeOptions, Sums};

pub(super) const ENTRY: SchemeEntry = SchemeEntry {
    name: "ds",
    summary: "DS-RAID: stripes in arrival order, parity when a row is full",
    source: include_str!("ds.rs"),
    options: &[
        OptionsPart::of::<Inside>(),
        OptionsPart::of::<Extents>(),
        OptionsPart::of::<Sums>(),
        OptionsPart::of::<Rebuilds>(),
        OptionsPart::of::<Reads>(),
    ],
    members: log::members,
    data_members: Some(log::data_in_whole_superpage),
    survives: |_| 1,
    kind: Members::Physical,
    over_drives: |members, redundancy| log::over_drives(members, redundancy, log::data_in_whole_superpage),
    ..SchemeEntry::BASE
};

/// Dynamic striping.
pub type Ds = StripeLog;

pub(super) fn build(options: &SchemeOptions<'_>) -> Ds {
    let policy = Policy { timeout: None, widths: Widths::all(options.members) };
    StripeLog::new(options, policy)
}
