//! # What it does
//! Finishes what has been begun: data that wait in a register leave first, which frees their die; then reads
//! are started, then collections go on, then writes are started.
//!
//! # What it costs
//! Writes wait behind reads and behind a collection of their own die.
//!
//! # Source
//! The order in which controllers of today serve a bus; our default.

use super::{Class, Scheduler};

/// Data out, reads, collection, writes.
pub const RULE: Scheduler = Scheduler {
    name: "data-first",
    summary: "data waiting in registers, then reads, then collection, then writes",
    order: [Class::DataOut, Class::Read, Class::Collect, Class::Write],
    by_age: false,
    collection_holds_channel: false,
};
