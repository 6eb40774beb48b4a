//! # What it does
//! As `approach1`, but some pages of each full block are valid: a random share for each block, uniform
//! between 0 and twice the mean (above one half: between twice the mean less 1, and 1). Then single pages are
//! added or removed in random blocks until the plane has exactly mean · pages of its full blocks, rounded
//! once.
//!
//! # What it costs
//! GC must move the valid pages of such a block.
//!
//! # Source
//! Kim, Park and Shin's study of ageing in SSDSim, the second approach. The paper says that the share is
//! random, but not its distribution. The distribution is ours, and so is the rule that the open block has no
//! valid pages (its figure 3).

use super::{AgedOptions, Model, approach1};
use crate::options::OptionsPart;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Full blocks, a part of each valid.
pub(super) const MODEL: Model = Model {
    name: "approach2",
    summary: "full blocks, each with a random share of valid pages",
    source: include_str!("approach2.rs"),
    leaves_valid: true,
    fills: false,
    options: &[OptionsPart::of::<AgedOptions>(), OptionsPart::of::<ValidOptions>()],
    blocks: |wish, random| {
        let mut aged = (approach1::MODEL.blocks)(wish, random);
        let full = wish.written / wish.pages;
        // The rarer kind of page is drawn: valid ones, or the others.
        let rare = u128::from(wish.valid_ppm.min(1_000_000 - wish.valid_ppm));
        let few = wish.valid_ppm <= 500_000;
        let most = u128::from(wish.pages);
        for block in &mut aged[..full as usize] {
            // Twice the mean times a number from 0 to 2³², rounded.
            let drawn = (((2 * rare * most * u128::from(random.bits() >> 32) / 1_000_000) + (1 << 31)) >> 32)
                .min(most);
            block.valid = (if few { drawn } else { most - drawn }) as u32;
        }
        let wanted = wish.valid_in(full);
        let mut found: u64 = aged.iter().map(|block| u64::from(block.valid)).sum();
        while found != wanted {
            let block = &mut aged[random.below(u64::from(full)) as usize];
            if found < wanted && block.valid < wish.pages {
                (block.valid, found) = (block.valid + 1, found + 1);
            } else if found > wanted && block.valid > 0 {
                (block.valid, found) = (block.valid - 1, found - 1);
            }
        }
        aged
    },
};

/// The pages that stay valid.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ValidOptions {
    /// With `approach2`: the mean share of valid pages in full blocks.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub valid_ratio: f64,
}
