//! # What it does
//! Every page has its own entry in the controller's memory, and may be anywhere. The FTL itself implements
//! this map (`ftl/map.rs`).
//!
//! # What it costs
//! Four bytes of memory per page, and no operation.
//!
//! # Source
//! Ban, "Flash file system", United States Patent 5,404,485, 1995.

use super::{BackendKind, MappingEntry};

pub(super) const ENTRY: MappingEntry = MappingEntry {
    name: "page",
    summary: "an entry per page, all in memory",
    source: include_str!("page.rs"),
    below: BackendKind::Itself,
    least_spare: (0, ""),
    own_victim: None,
    options: &[],
    build: |_| None,
};
