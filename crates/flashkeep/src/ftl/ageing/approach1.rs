//! # What it does
//! Blocks are fully written one after the other, as a drive does, until the plane has the requested number of
//! pages; the last block is open. All pages are invalid.
//!
//! # What it costs
//! GC of such a block moves nothing.
//!
//! # Source
//! Kim, Park and Shin's study of ageing in SSDSim, the first approach.

use super::{Aged, AgedOptions, Model};
use crate::options::OptionsPart;

/// Full blocks, all of them invalid.
pub(super) const MODEL: Model = Model {
    name: "approach1",
    summary: "full blocks, all pages invalid",
    source: include_str!("approach1.rs"),
    leaves_valid: false,
    fills: false,
    options: &[OptionsPart::of::<AgedOptions>()],
    blocks: |wish, _| {
        let (full, rest) = (wish.written / wish.pages, wish.written % wish.pages);
        let mut aged = vec![Aged { written: wish.pages, valid: 0 }; full as usize];
        aged.extend((rest > 0).then_some(Aged { written: rest, valid: 0 }));
        aged
    },
};
