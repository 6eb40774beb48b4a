//! `[redundancy]`: the scheme, and what its options are.

use super::Shares;
use super::names;
use crate::flash::Across;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The redundancy inside the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RedundancySpec {
    /// A scheme's name, as `flashkeep schemes` lists them.
    #[schemars(extend("enum" = names()))]
    pub scheme: String,
    /// What its members are made of: `channel`, `chip` or `die`.
    pub across: Across,
    /// How many members; all of that level where left out (a mirror's groups: 2).
    #[schemars(range(min = 2, max = 255))]
    pub width: Option<u32>,
    /// In an array: consecutive KiB on one member before the next has its turn; 0: the members lie one after another
    /// (`none` only).
    #[schemars(range(min = 0.0, max = 1e9))]
    pub stripe_kib: f64,
    /// Which copy a mirror reads: `round-robin`, `least-busy`, or that of the `first` member which has the page.
    pub read_policy: ReadPolicy,
    /// A mirror acknowledges a write when `all` copies are acknowledged, or the `first`.
    pub acknowledge: MirrorAcknowledge,
    /// What of a stripe that has never been written in full: `zeros` (its other pages are known zeros, so it has
    /// parity from its first page on) or `wait` (its parity is written when it is full, in idle time, or at the
    /// end).
    pub incomplete: Incomplete,
    /// A stripe of `dvs` that has waited so long for more data is given a parity of its own, ms; 0: after each
    /// request that leaves one open.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub timeout_ms: f64,
    /// Without host requests for so long, parity that was put off is written, ms.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub idle_ms: f64,
    /// Address space for old versions of pages, as a share of each member's pages; it is taken from the
    /// over-provisioned ones.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub shadow: f64,
    /// The non-volatile memory for partial parities, MiB.
    #[schemars(range(max = 1_048_576.0), extend("exclusiveMinimum" = 0.0))]
    pub nvram_mib: f64,
    /// What one page takes to or from that memory, µs.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub nvram_us: f64,
    /// `backup`: what a GB (10⁹ bytes) of that memory costs, USD.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub nvram_price_per_gb: Option<f64>,
    /// The log on disks of `hpda`, `griffin` and `i-cash` (of deltas), MiB; at most what the disks have left.
    #[schemars(range(max = 16_777_216.0), extend("exclusiveMinimum" = 0.0))]
    pub log_mib: f64,
    /// The log of `griffin` migrates when its oldest entry is so old, s.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub migrate_after_s: f64,
    /// The log of `griffin` migrates when it is filled to this share.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub migrate_at: f64,
    /// The log of `griffin` migrates when more than this share of page reads goes to the disk.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub migrate_reads: f64,
    /// Members of `spd-raid4` that have the parity, the last ones.
    #[schemars(range(min = 2, max = 253))]
    pub parity_drives: u32,
    /// A partial parity is committed when collection is about to move an old version that it needs.
    pub commit_on_collection: bool,
    /// The narrowest stripe of `lifespan`, parity included: it decides the capacity.
    #[schemars(range(min = 2, max = 255))]
    pub narrowest: u32,
    /// The chance of losing a stripe that `lifespan` tolerates.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub stripe_loss: f64,
    /// Raw bit error rate of a block that has never been erased.
    #[schemars(range(max = 0.5), extend("exclusiveMinimum" = 0.0))]
    pub rber_new: f64,
    /// Raw bit error rate after `rber_cycles` erases; in between and beyond, it grows exponentially.
    #[schemars(range(max = 0.5), extend("exclusiveMinimum" = 0.0))]
    pub rber_worn: f64,
    /// Erases after which a block's bit error rate is `rber_worn`.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub rber_cycles: u32,
    /// Bits that the code of each 512 bytes corrects.
    #[schemars(range(min = 0, max = 512))]
    pub ecc_bits: u32,
    /// The shares of all parities that the members of `diff-raid` have: the first one's, the others having equal parts
    /// of the rest, or a list of each one's; they add up to 1.
    pub shares: Shares,
    /// What adding a page to a parity takes the controller, µs.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub xor_us: f64,
    /// Units that are kept empty, each to stand in for a member that fails.
    #[schemars(range(max = 254))]
    pub spares: u32,
    /// The share of its time that a rebuild works; the rest is the host's.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub rebuild_share: f64,
    /// `i-cash`: the share of pages that are like a reference, which others are not (Yang and Ren: 85 % under sysbench).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub similar_share: f64,
    /// `i-cash`: the share of pages that are references (Yang and Ren: 1 % under sysbench).
    #[schemars(range(min = 1e-6, max = 0.5))]
    pub reference_share: f64,
    /// `i-cash`: what the difference to a reference takes, bytes (ours).
    #[schemars(range(min = 1, max = 4096))]
    pub delta_bytes: u32,
    /// `i-cash`: it is looked for what is alike after so many pages read or written (Yang and Ren: 2,000 I/Os).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub scan_every: u32,
    /// `i-cash`: among so many pages, those used last (Yang and Ren: 4,000).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub scan_pages: u32,
    /// `backup`: a segment of a disk, data or free, KiB (2 MB: Fan, section 2.3).
    #[schemars(range(min = 1, max = 1_048_576))]
    pub segment_kib: u32,
    /// `backup`: data segments of a disk for each free one ("dozens": Fan, section 2.2; 32 is ours).
    #[schemars(range(min = 1, max = 65_536))]
    pub free_every: u32,
    /// `backup`: free segments beside each other that are recalled in one pass (Fan, figure 2: 3).
    #[schemars(range(min = 1, max = 64))]
    pub recall_segments: u32,
    /// `backup`: with a greater share of a disk's free segments in use they are recalled though the host writes (ours).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub recall_share: f64,
    /// `backup`: after so long without writes free segments are recalled, ms (ours).
    #[schemars(range(min = 0.0, max = 1e9))]
    pub recall_idle_ms: f64,
    /// `backup`: which disk has which part of an SSD: `interleaved` or `contiguous`.
    pub spread: Spread,
}

/// Which disk backs up which part of an SSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// Segments go to the disks in turn, so that all of them take part in a burst on one place (ours).
    Interleaved,
    /// Each disk has one stretch of every SSD.
    Contiguous,
}

/// What of a stripe that has never been written in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Incomplete {
    /// Its other pages are known zeros.
    Zeros,
    /// It waits for the rest, unprotected.
    Wait,
}

/// Which copy a mirror reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadPolicy {
    /// Each page read goes to the next copy in turn.
    RoundRobin,
    /// The copy whose chip and channel are free soonest; in turn where they are equal.
    LeastBusy,
    /// That of the first member that has the page: of a drive and a disk, the drive.
    First,
}

/// When a mirror acknowledges a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MirrorAcknowledge {
    /// When every copy is acknowledged.
    All,
    /// When the first copy is.
    First,
}

impl Default for RedundancySpec {
    fn default() -> Self {
        RedundancySpec {
            scheme: "none".into(),
            across: Across::Channel,
            width: None,
            stripe_kib: 64.0,
            read_policy: ReadPolicy::RoundRobin,
            acknowledge: MirrorAcknowledge::All,
            incomplete: Incomplete::Zeros,
            timeout_ms: 50.0,
            idle_ms: 10.0,
            shadow: 0.02,
            nvram_mib: 1.0,
            nvram_us: 1.0,
            nvram_price_per_gb: None,
            log_mib: 1024.0,
            migrate_after_s: 60.0,
            migrate_at: 0.9,
            migrate_reads: 0.05,
            parity_drives: 2,
            commit_on_collection: false,
            narrowest: 4,
            stripe_loss: 1e-12,
            rber_new: 1e-6,
            rber_worn: 1e-4,
            rber_cycles: 5000,
            ecc_bits: 8,
            shares: Shares::First(0.4),
            xor_us: 0.0,
            spares: 0,
            rebuild_share: 0.5,
            similar_share: 0.85,
            reference_share: 0.01,
            delta_bytes: 512,
            scan_every: 2000,
            scan_pages: 4000,
            segment_kib: 2048,
            free_every: 32,
            recall_segments: 3,
            recall_share: 0.75,
            recall_idle_ms: 10.0,
            spread: Spread::Interleaved,
        }
    }
}
