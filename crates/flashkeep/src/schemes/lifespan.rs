//! # What it does
//! Stripes that get narrower as the flash wears: as `ds`, but a stripe is closed after n − 1 data pages. For each
//! group of blocks, n is the largest number of units, up to all members, with which the chance of losing a stripe
//! stays below `redundancy.stripe_loss`, but never below `redundancy.narrowest`. A stripe is lost when two of its pages
//! cannot be read; that a page cannot follows from the raw bit error rate, which grows with the group's erases from
//! `rber_new` through `rber_worn` at `rber_cycles`, and from the code, which corrects `ecc_bits` of each 512 bytes.
//!
//! # What it costs
//! Capacity as with the narrowest stripes: the room that wider ones leave is over-provisioning as long as it lasts.
//! n/(n − 1) programs a page, no reads.
//!
//! # What it survives
//! Any one of the units it runs over, and any one page of each stripe. Data that wait for their stripe to fill have no
//! parity on flash; the controller's memory has it.
//!
//! # Example
//! `flashkeep run 8CM-256 synth:sirf-fin1 --set redundancy.scheme=lifespan --set redundancy.narrowest=4`
//!
//! # Source
//! Lee, Lee, Koh and Bahn, "A lifespan-aware reliability scheme for RAID-based flash storage" (SAC 2011), whose abstract
//! says that the number of parities grows with the error rate. The rule, and stripes in the order of arrival, are ours.

use super::log::{self, Log, Policy, Reliability, Widths};
use super::{Entry, Members, Options, members};

pub(super) const ENTRY: Entry = Entry {
    name: "lifespan",
    summary: "stripes in the order of arrival, narrower where the flash is worn",
    source: include_str!("lifespan.rs"),
    keys: &[
        "across",
        "width",
        "narrowest",
        "stripe_loss",
        "rber_new",
        "rber_worn",
        "rber_cycles",
        "ecc_bits",
        "xor_us",
        "spares",
        "rebuild_share",
    ],
    members: log::members,
    data_members: |members, redundancy| log::data_in_row(members, redundancy.narrowest),
    survives: |_| 1,
    kind: Members::Raw,
    memory: false,
    over_drives: members::in_the_log,
};

/// Stripes that get narrower with wear.
pub type Lifespan = Log;

pub(super) fn build(options: &Options<'_>) -> Lifespan {
    let reliability = Reliability::new(options.redundancy, options.page_bytes);
    let policy = Policy { timeout: None, widths: Widths::by_wear(options.members, &reliability) };
    Log::new(options, policy)
}
