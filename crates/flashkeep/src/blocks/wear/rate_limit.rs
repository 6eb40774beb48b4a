//! # What it does
//! A block with less than X of its plane's average life left is reclaimed only with a certain probability;
//! otherwise the next proposal of the victim policy is judged. With r = life / average the probability is (r
//! − (X − W)) / W. With the default W = X this is r / X, from 1 down to 0 at the end of the block's life.
//! With a smaller window W, blocks below X − W are never reclaimed.
//!
//! # What it costs
//! Blocks with more valid pages are reclaimed instead. These are counted with the cause `wear`.
//!
//! # Source
//! Agrawal et al., USENIX ATC 2008, section 3.6. The window is in the program published with it, whose
//! formula divides by X − r; we assume that this is a slip.

use super::{Levelling, Wear, WearVerdict};
use crate::options::{Options, OptionsPart, WrongOption};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Worn blocks less often.
pub(super) const POLICY: Levelling = Levelling {
    name: "rate-limit",
    summary: "worn blocks are reclaimed less often",
    source: include_str!("rate_limit.rs"),
    options: &[OptionsPart::of::<RateLimitOptions>()],
    check,
    judge,
    ..Levelling::BASE
};

/// How seldom worn blocks are reclaimed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct RateLimitOptions {
    /// `rate-limit`: a block with less than this share of its plane's average remaining life is reclaimed less often.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub(super) rate_limit_below: f64,
    /// `rate-limit`: the width of the range below that in which the probability falls from 1 to 0.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub(super) rate_limit_window: f64,
}

impl Default for RateLimitOptions {
    fn default() -> Self {
        RateLimitOptions { rate_limit_below: 0.8, rate_limit_window: 0.8 }
    }
}

pub(super) fn check(options: &Options) -> Result<(), WrongOption> {
    let RateLimitOptions { rate_limit_below: below, rate_limit_window: window } = options.read();
    if window <= below {
        return Ok(());
    }
    let message = format!(
        "found {window}; at most ftl.wear.rate_limit_below ({below}) is accepted: the probability falls from 1 \
         there to 0 over this distance"
    );
    Err(WrongOption { key: "ftl.wear.rate_limit_window", message })
}

pub(super) fn judge(wear: &Wear<'_>) -> WearVerdict {
    let super::Limits { rate_limit_below: below, rate_limit_window: window, .. } = wear.limits;
    if !below.exceeds(wear.remaining) {
        return WearVerdict::Take;
    }
    let super::Remaining { left, of } = wear.remaining;
    // r and the chance as fractions over 1000 · of, and over window · of.
    let least = u128::from(below.0.saturating_sub(window.0)) * of;
    let (chance, of) = ((left * 1000).saturating_sub(least), u128::from(window.0) * of);
    // Both shortened to what a draw can be multiplied with.
    let shift = (128 - of.leading_zeros()).saturating_sub(64);
    let drawn = (u128::from(wear.draw) * (of >> shift)) >> 64;
    let taken = drawn < chance >> shift;
    if taken { WearVerdict::Take } else { WearVerdict::Pass }
}
