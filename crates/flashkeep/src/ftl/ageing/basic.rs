//! # What it does
//! Every block has its first ⌈ratio · pages⌉ pages written and invalid, until the plane has as many as asked; the rest
//! is clean and is written before anything is erased.
//!
//! # What it costs
//! A block that is collected before its turn gives up its clean pages.
//!
//! # Source
//! SSDSim's `make_aged`, which writes one page more a block and lets the last one exceed the plane's share.

use super::{Aged, Model};

/// All blocks alike.
pub(super) const MODEL: Model = Model {
    name: "basic",
    summary: "every block written in part, all of it invalid (SSDSim)",
    source: include_str!("basic.rs"),
    leaves_valid: false,
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
