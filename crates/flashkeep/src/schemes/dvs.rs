//! # What it does
//! Dynamic and variable-size striping: as `ds`, but when data have waited `redundancy.timeout_ms` for more
//! data, they get a parity of their own at the next member of the superpage, and the superpage continues behind it with
//! another stripe. The parity of the superpage's last stripe is where a full stripe would have it. If only one slot
//! is left at the timeout, this slot is wasted. With a timeout of 0, every request that leaves a stripe open
//! closes it.
//!
//! Over drives a superblock is an extent of `redundancy.extent_kib` on each of them, erased by a TRIM, and every write
//! also writes a page of a journal, which is read after a power loss.
//!
//! # What it costs
//! One member's worth of capacity. No reads; (k + 1)/k programs per page in a stripe of k data pages, N/(N −
//! 1) if the host is busy. More parities leave more garbage, but GC drops them and writes full stripes.
//!
//! # What it survives
//! Any one of the units it runs over, and any one page of each stripe: two failed units lose nothing if no
//! stripe has pages on both. Data wait for their parity no longer than the timeout. Without a replacement,
//! stripes are rewritten over the remaining members, as far as there is room. With a hot spare, the stripes
//! are completed in place.
//!
//! # Example
//! `flashkeep run 8CM-256 synth:sirf-fin1 --set redundancy.scheme=dvs --set redundancy.timeout_ms=50`
//!
//! # Source
//! Kim, Lee, Choi, Lee and Noh, "Enhancing SSD Reliability through Efficient RAID Support" (APSys 2012):
//! stripes and partial stripes, section 3.1 and figure 2; GC, section 3.2 and figure 3; the 50 ms, section 4.
//! The paper closes a stripe when a request comes too long after the last one; here a timer does, which
//! protects the data sooner. The paper does not say what happens to a last slot: its parity would take the
//! slot, or the data of the next stripe would have none.

use super::log::{self, Policy, StripeLog, Widths};
use super::{Extents, Inside, Members, OptionsPart, Reads, Rebuilds, SchemeEntry, SchemeOptions, Sums};
use crate::kernel::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const ENTRY: SchemeEntry = SchemeEntry {
    name: "dvs",
    summary: "DVS-RAID: stripes in arrival order, closed early if no more data arrive",
    source: include_str!("dvs.rs"),
    options: &[
        OptionsPart::of::<Inside>(),
        OptionsPart::of::<Extents>(),
        OptionsPart::of::<DvsOptions>(),
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

/// Options of `dvs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct DvsOptions {
    /// A stripe of `dvs` that has waited this long for more data is given a parity of its own, ms; 0: after each
    /// request that leaves one open.
    #[schemars(range(min = 0.0, max = 1e9), extend("examples" = [0.6, 1000]))]
    pub(super) timeout_ms: f64,
}

impl Default for DvsOptions {
    fn default() -> Self {
        DvsOptions { timeout_ms: 50.0 }
    }
}

/// Dynamic and variable-size striping.
pub type Dvs = StripeLog;

pub(super) fn build(options: &SchemeOptions<'_>) -> Dvs {
    let timeout = Span((options.redundancy.read::<DvsOptions>().timeout_ms * 1e6).ceil() as u64);
    let policy = Policy { timeout: Some(timeout), widths: Widths::all(options.members) };
    StripeLog::new(options, policy)
}
