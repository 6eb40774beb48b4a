//! # What it does
//! Serves reads and writes in the order of their arrival, as far as their dies are free; GC continues when
//! its die is free.
//!
//! # What it costs
//! A read waits for the writes that came before it.
//!
//! # Source
//! The baseline of every comparison of schedulers.

use super::{Class, Scheduler};

/// First come, first served.
pub(super) const RULE: Scheduler = Scheduler {
    name: "fifo",
    summary: "in order of arrival",
    source: include_str!("fifo.rs"),
    order: [Class::Collect, Class::DataOut, Class::Read, Class::Write],
    by_age: true,
    collection_holds_channel: false,
};
