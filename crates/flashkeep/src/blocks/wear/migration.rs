//! # What it does
//! If the block to be reclaimed has less than Y of its plane's average life left, the coldest data of the
//! plane are moved into it: those of the block that was closed longest ago and is not as worn itself. That
//! block is reclaimed instead, and the worn one rests under data that are not rewritten. The rest of the worn
//! block stays unused until it is reclaimed again.
//!
//! # What it costs
//! The valid pages of the coldest block are moved once more (cause `migrate`).
//!
//! # Source
//! Agrawal et al., USENIX ATC 2008, section 3.6. There the coldest block is the one erased longest ago,
//! however worn, and its pages keep their numbers; here they are written consecutively.

use super::{Levelling, Wear, WearVerdict};
use crate::options::OptionsPart;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cold data into worn blocks.
pub(super) const POLICY: Levelling = Levelling {
    name: "migration",
    summary: "the coldest data move into a reclaimed worn block",
    source: include_str!("migration.rs"),
    options: &[OptionsPart::of::<MigrationOptions>()],
    migrates: true,
    judge: |wear| migrate(wear).unwrap_or(WearVerdict::Take),
    ..Levelling::BASE
};

/// When data are moved.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct MigrationOptions {
    /// `migration`: a block with less than this share of its plane's average remaining life gets the coldest data.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub(super) migrate_below: f64,
}

impl Default for MigrationOptions {
    fn default() -> Self {
        MigrationOptions { migrate_below: 0.85 }
    }
}

/// Whether a block is to get the coldest data.
pub(super) fn migrate(wear: &Wear<'_>) -> Option<WearVerdict> {
    let below = wear.limits.migrate_below;
    if !below.exceeds(wear.remaining) {
        return None;
    }
    (wear.coldest)(below).map(WearVerdict::Migrate)
}
