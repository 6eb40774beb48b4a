//! # What it does
//! Every page has an entry of its own in the memory of the controller, and may lie anywhere. It is the map of the leaf
//! itself (`ftl/map.rs`); no node stands above it.
//!
//! # What it costs
//! Four bytes of memory a page, and no operation.
//!
//! # Source
//! Ban, "Flash file system", United States Patent 5,404,485, 1995.

use super::{Below, Entry};

pub(super) const ENTRY: Entry = Entry {
    name: "page",
    summary: "every page has an entry, all of them in memory",
    source: include_str!("page.rs"),
    below: Below::Itself,
    least_spare: (0, ""),
    build: |_| None,
};
