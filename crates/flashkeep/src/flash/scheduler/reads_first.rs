//! # What it does
//! Starts reads first (a command is short, and the array then works while others use the channel), then
//! transfers data that wait in a register, then continues GC, then starts writes.
//!
//! # What it costs
//! Writes wait for reads and for GC of their own die.
//!
//! # Source
//! SSDSim's order of reads and writes (Hu et al., ICS 2011), with GC competing page by page; our default.

use super::{Class, Scheduler};

/// Read commands, data out, collection, writes.
pub(super) const RULE: Scheduler = Scheduler {
    name: "reads-first",
    summary: "read commands, then data waiting in registers, then GC, then writes",
    source: include_str!("reads_first.rs"),
    order: [Class::Read, Class::DataOut, Class::Collect, Class::Write],
    by_age: false,
    collection_holds_channel: false,
};
