//! # What it does
//! SSDSim's rule: a pending collection goes first, and while its chip is still busy the channel serves
//! nothing else; then the first waiting read whose chip is idle; then data out; then a write on an idle chip.
//!
//! # What it costs
//! Commands go before data, so a chip with a page in its register waits while other chips are started; all
//! operations on a channel wait for GC.
//!
//! # Source
//! Hu et al., "Performance impact and interplay of SSD parallelism through advanced commands, allocation
//! strategy and data granularity", ICS 2011, and the behaviour of the simulator published with it.

use super::{Class, Scheduler};

/// Collection, read commands, data out, writes.
pub(super) const RULE: Scheduler = Scheduler {
    name: "ssdsim",
    summary: "GC, then read commands, then data, then writes; pending GC blocks its channel",
    source: include_str!("ssdsim.rs"),
    order: [Class::Collect, Class::Read, Class::DataOut, Class::Write],
    by_age: false,
    collection_holds_channel: true,
};
