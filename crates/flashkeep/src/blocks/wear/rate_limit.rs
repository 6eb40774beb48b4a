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

/// Worn blocks less often.
pub(super) const POLICY: Levelling = Levelling {
    name: "rate-limit",
    summary: "worn blocks are reclaimed less often",
    source: include_str!("rate_limit.rs"),
    keys: &["rate_limit_below", "rate_limit_window"],
    migrates: false,
    judge,
};

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
