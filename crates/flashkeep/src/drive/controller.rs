//! The controller: dies, channels, and the operations that wait for them. It knows physical pages, and asks the backends
//! what to program next.

use super::*;

/// Grants operations of physical pages to dies and channels, and so decides when they end.
#[derive(Clone)]
pub(super) struct Controller<C> {
    /// The fixed properties of the flash array.
    pub(super) flash: FlashArray,
    /// The state of dies and channels, and their events.
    pub(super) dies: Dies,
    /// Operations that wait for dies and channels, or are in progress.
    pub(super) queues: Queues<C>,
    pub(super) reads: ReadRules,
    /// Which code path commands and programs take.
    pub(super) paths: Paths,
    pub(super) accounts: DriveAccounts,
    /// Completions that the engine has not taken yet.
    pub(super) done: Vec<Done<C>>,
    pub(super) scratch: Scratch,
    /// Where the time of commands goes, if that is measured.
    pub(super) latencies: Option<Box<DriveLatencies>>,
    /// What is under way, if operations are suspended for reads.
    pub(super) suspension: Option<Box<Suspension>>,
    /// Bit errors, if reads of healthy flash can fail.
    pub(super) errors: Option<Box<ReadErrors>>,
    pub(super) now: SimTime,
    /// When the last request was admitted.
    pub(super) admitted: SimTime,
}
