//! # What it does
//! Reclaims the block that the victim policy chose, however worn it is.
//!
//! # What it costs
//! Wear follows the workload.
//!
//! # Source
//! The first row of the wear table in Agrawal et al., USENIX ATC 2008.

use super::Levelling;

/// No levelling.
pub(super) const POLICY: Levelling = Levelling {
    name: "none",
    summary: "wear follows the workload",
    source: include_str!("none.rs"),
    ..Levelling::BASE
};
