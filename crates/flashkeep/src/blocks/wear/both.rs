//! # What it does
//! Moves the coldest data into a worn block (`migration`). If there are none to move, it reclaims the worn
//! block less often (`rate-limit`).
//!
//! # What it costs
//! The costs of both.
//!
//! # Source
//! Agrawal et al., USENIX ATC 2008, section 3.6.

use super::{Levelling, Wear, migration, rate_limit};
use crate::options::OptionsPart;

/// Migration, and rate limiting where that cannot be.
pub(super) const POLICY: Levelling = Levelling {
    name: "both",
    summary: "migration, and rate-limit if there is nothing to migrate",
    source: include_str!("both.rs"),
    options: &[
        OptionsPart::of::<migration::MigrationOptions>(),
        OptionsPart::of::<rate_limit::RateLimitOptions>(),
    ],
    check: rate_limit::check,
    migrates: true,
    judge: |wear: &Wear<'_>| migration::migrate(wear).unwrap_or_else(|| rate_limit::judge(wear)),
};
