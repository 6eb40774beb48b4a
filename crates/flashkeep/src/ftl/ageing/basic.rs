//! # What it does
//! The first ⌈ratio · pages⌉ pages of every block are written and invalid, until the plane has the requested
//! number. The rest of each block is clean and is written before any erase.
//!
//! # What it costs
//! A block that GC collects before its turn loses its clean pages.
//!
//! # Source
//! SSDSim's `make_aged`, which writes one more page per block and lets the last block exceed the plane's
//! share.

use super::{Aged, AgedOptions, Model};
use crate::options::OptionsPart;

/// All blocks alike.
pub(super) const MODEL: Model = Model {
    name: "basic",
    summary: "every block partly written, all pages invalid (SSDSim)",
    source: include_str!("basic.rs"),
    leaves_valid: false,
    fills: false,
    options: &[OptionsPart::of::<AgedOptions>()],
    blocks: |wish, _| {
        let mut left = wish.written;
        let mut next = || {
            let written = wish.written_each.min(left);
            left -= written;
            (written > 0).then_some(Aged { written, valid: 0 })
        };
        std::iter::from_fn(&mut next).collect()
    },
};
