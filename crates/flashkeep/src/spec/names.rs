//! The names that a drive file may choose from, where the choice is a policy rather than an enum of the keys.

/// Redundancy schemes: `redundancy.scheme`.
pub const SCHEMES: &[&str] = &["none", "mirror"];

/// Victim policies: `ftl.gc.victim`.
pub const VICTIMS: &[&str] = &["greedy", "fifo"];

/// Schedulers: `flash.scheduler`.
pub const SCHEDULERS: &[&str] = &["reads-first", "ssdsim", "fifo"];
