//! # What it does
//! Stripes become narrower as the flash wears: as `ds`, but a stripe is closed after n − 1 data pages. For
//! each superblock, n is the largest number of units, up to all members, for which the probability of losing
//! a stripe stays below `redundancy.stripe_loss`, but at least `redundancy.narrowest`. A stripe is lost when
//! two of its pages are unreadable. The probability of an unreadable page follows from the raw bit error
//! rate, which grows with the superblock's erases from `rber_new` through `rber_worn` at `rber_cycles`, and
//! from the code, which corrects `ecc_bits` of each 512 bytes. With `errors.model` it is that of the model instead, with its
//! code and retries, for data as old as `errors.uber_days`.
//!
//! Over drives a superblock is an extent of `redundancy.extent_kib` on each of them, erased by a TRIM, and every write
//! also writes a page of a journal, which is read after a power loss.
//!
//! # What it costs
//! Capacity as with the narrowest stripes: the additional room of wider ones serves as over-provisioning as
//! long as it lasts. n/(n − 1) programs per page, no reads.
//!
//! # What it survives
//! Any one of the units it runs over, and any one page of each stripe. Data of an open stripe have no parity
//! on flash; the controller's memory has it.
//!
//! # Example
//! `flashkeep run 8CM-256 synth:sirf-fin1 --set redundancy.scheme=lifespan --set redundancy.narrowest=4`
//!
//! # Source
//! Lee, Lee, Koh and Bahn, "A lifespan-aware reliability scheme for RAID-based flash storage" (SAC 2011),
//! whose abstract says that the number of parities grows with the error rate. The rule, and stripes in
//! arrival order, are ours.

use super::log::{self, Policy, Reliability, StripeLog, Widths};
use super::{
    Extents, Inside, Members, OptionsPart, Reads, Rebuilds, RedundancySpec, SchemeEntry, SchemeOptions, Sums,
    WornFlash,
};
use flashkeep_errors::stripe::Stripe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const ENTRY: SchemeEntry = SchemeEntry {
    name: "lifespan",
    summary: "stripes in arrival order, narrower as the flash wears",
    source: include_str!("lifespan.rs"),
    options: &[
        OptionsPart::of::<Inside>(),
        OptionsPart::of::<Extents>(),
        OptionsPart::of::<LifespanOptions>(),
        OptionsPart::of::<Sums>(),
        OptionsPart::of::<Rebuilds>(),
        OptionsPart::of::<Reads>(),
    ],
    members: log::members,
    data_members: Some(data_in_superpage),
    stripe: Some(stripe),
    survives: |_| 1,
    kind: Members::Physical,
    over_drives: |members, redundancy| log::over_drives(members, redundancy, data_in_superpage),
    ..SchemeEntry::BASE
};

/// Options of `lifespan`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct LifespanOptions {
    /// The narrowest stripe of `lifespan`, parity included: it decides the capacity.
    #[schemars(range(min = 2, max = 255), extend("examples" = [3, 4]))]
    pub(super) narrowest: u32,
    /// The chance of losing a stripe that `lifespan` tolerates.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub(super) stripe_loss: f64,
    /// Raw bit error rate of a block that has never been erased.
    #[schemars(range(max = 0.5), extend("exclusiveMinimum" = 0.0))]
    pub(super) rber_new: f64,
    /// Raw bit error rate after `rber_cycles` erases; in between and beyond, it grows exponentially.
    #[schemars(range(max = 0.5), extend("exclusiveMinimum" = 0.0))]
    pub(super) rber_worn: f64,
    /// Erases after which a block's bit error rate is `rber_worn`.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub(super) rber_cycles: u32,
    /// Bits that the code of each 512 bytes corrects.
    #[schemars(range(min = 0, max = 512))]
    pub(super) ecc_bits: u32,
}

impl Default for LifespanOptions {
    fn default() -> Self {
        LifespanOptions {
            narrowest: 4,
            stripe_loss: 1e-12,
            rber_new: 1e-6,
            rber_worn: 1e-4,
            rber_cycles: 5000,
            ecc_bits: 8,
        }
    }
}

/// Stripes that get narrower with wear.
pub type Lifespan = StripeLog;

fn data_in_superpage(members: u32, redundancy: &RedundancySpec) -> u32 {
    log::data_in_superpage(members, redundancy.read::<LifespanOptions>().narrowest)
}

/// The stripes of superblocks after this number of P/E cycles.
fn stripe(members: u32, worn: &WornFlash<'_>) -> Stripe {
    let (options, members) = (worn.redundancy.read(), u8::try_from(members).unwrap_or(u8::MAX));
    let reliability = Reliability::new(&options, worn.page_bytes, Some(worn.errors), worn.cycles);
    Stripe { others: u32::from(Widths::by_wear(members, &reliability).after(0)) - 1, spare: 0 }
}

pub(super) fn build(options: &SchemeOptions<'_>) -> Lifespan {
    let before = options.errors.and_then(|errors| errors.cycles).unwrap_or_default();
    let reliability =
        Reliability::new(&options.redundancy.read(), options.page_bytes, options.errors, before);
    let policy = Policy { timeout: None, widths: Widths::by_wear(options.members, &reliability) };
    StripeLog::new(options, policy)
}
